/*
 * score_layout.h - where a wave's scores are, so that they need not move
 *
 * Two products follow each other: scores S = Q K^T, then O += P V with P, the
 * exponentials of the scores. A lane keeps its part of S, rounds it, and uses
 * it as an operand of the second product. This needs no exchange if a lane's
 * results of one query are also its share of an operand's row (matrix_unit.h
 * has both layouts). AMD's matrix units therefore compute S^T = K Q^T, with a
 * query in each column, and O^T = V^T P^T; NVIDIA's compute S and O.
 *
 * Keys may stand in any rows of a unit. K's rows go to LDS in an order
 * (Scores::place) that makes a lane's keys consecutive: the keys of 16 bytes of
 * P are then in their natural order, in which V's rows lie. V's columns are
 * ordered alike, so that a lane's results of O are neighbours.
 *
 *   targets       a lane's queries      of 16 results of a query it has
 *   mfma          l%16                  4: lane group l/16
 *   wmma, gfx12   l%16                  8: l/16
 *   wmma, gfx11   l%16                  8: l/16; both halves need all of P
 *   mma           l/4, l/4+8            4: l%4
 *   fma           l%8, l%8+8            4: l/8; P goes from lane to lane
 *   fma, wave64   l%8, l%8+8            2: l/8; the same
 */
#pragma once

#include "matrix/target_unit.h"

template <typename T> struct Scores {
    typedef Unit<T> U;

    static constexpr bool has_matrix = U::is_matrix;
    /* rows of S's units are keys, and rows of O's units are columns of V */
    static constexpr bool turned = !KPK_NVIDIA || !has_matrix;
    static constexpr u32 slots =
        KPK_NVIDIA || !has_matrix ? 2 : 1;          /* queries */
    static constexpr u32 each = U::results / slots; /* results of a query */
    static constexpr u32 lane_groups = 16 / each;
    /* keys whose scores make whole operands: `tiles` units of S */
    static constexpr u32 keys = U::k < 16 ? 16 : U::k;
    static constexpr u32 tiles = keys / 16;
    static constexpr u32 run = keys / lane_groups; /* keys in a row per lane */
    static constexpr u32 operands = keys / U::k;

    /* the result of slot s and number e < each */
    static DEV_MEMBER constexpr u32 result(u32 s, u32 e)
    {
        if (slots == 1)
            return e;
        return has_matrix ? e / 2 * 4 + s * 2 + e % 2 : e * 2 + s;
    }
    static DEV_MEMBER u32 query(u32 s)
    {
        if (slots == 1)
            return lane_id() % 16;
        return (has_matrix ? lane_id() / 4 : lane_id() % 8) + 8 * s;
    }
    static DEV_MEMBER u32 lane_group()
    {
        if (slots == 1)
            return lane_id() / 16;
        return has_matrix ? lane_id() % 4 : lane_id() / 8;
    }
    /* A unit's row (NVIDIA: column) with number e of lane group g. */
    static DEV_MEMBER constexpr u32 unit_row(u32 g, u32 e)
    {
        if (!has_matrix)
            return g + lane_groups * e;
        if (KPK_NVIDIA)
            return e / 2 * 8 + 2 * g + e % 2;
        return KPK_WMMA == 11 ? 2 * e + g : each * g + e;
    }
    /* The row of S's units for key `key` of a group of `keys`. */
    static DEV_MEMBER u32 place(u32 key)
    {
        constexpr u32 in_tile = run / tiles;

        return key % run / in_tile * 16 + unit_row(key / run, key % in_tile);
    }
    /* the row of O's units for element d of 16 */
    static DEV_MEMBER u32 place_d(u32 d)
    {
        return unit_row(d / each, d % each);
    }
    /* op over the lanes that share a query */
    template <class Op> static DEV_MEMBER f32 join(f32 v, Op op)
    {
        if constexpr (slots == 1) {
            if (matrix_wave == 64)
                v = op(v, shfl_xor(v, 32, 64));
            return op(v, lane_xor<16>(v));
        } else if constexpr (has_matrix) {
            return join_lanes<4>(v, op);
        } else {
            if (matrix_wave == 64)
                v = op(v, shfl_xor(v, 32, 64));
            v = op(v, lane_xor<8>(v));
            return op(v, lane_xor<16>(v));
        }
    }
};

/* K and Q as operands of a unit: K is A if turned, else B. */
template <typename T, bool turned> struct RolesOf {
    typedef typename Unit<T>::A Keys;
    typedef typename Unit<T>::B Queries;
    static DEV_MEMBER void multiply(typename Unit<T>::D &d, const Keys &k,
                                    const Queries &q)
    {
        Unit<T>::multiply(d, k, q);
    }
};
template <typename T> struct RolesOf<T, false> {
    typedef typename Unit<T>::B Keys;
    typedef typename Unit<T>::A Queries;
    static DEV_MEMBER void multiply(typename Unit<T>::D &d, const Keys &k,
                                    const Queries &q)
    {
        Unit<T>::multiply(d, q, k);
    }
};
template <typename T> using Roles = RolesOf<T, Scores<T>::turned>;

/* Two neighbours, for which gfx90a and gfx942 have packed instructions. */
#if KPK_NVIDIA
typedef Pack<f32, 2> Pair;

DEV Pair fused_pair(const Pair &a, f32 b, f32 c)
{
    return {{fused(a[0], b, c), fused(a[1], b, c)}};
}
DEV Pair add_pair(const Pair &a, const Pair &b)
{
    return {{a[0] + b[0], a[1] + b[1]}};
}
#else
typedef f32 Pair __attribute__((ext_vector_type(2)));

DEV Pair fused_pair(Pair a, f32 b, f32 c)
{
    return __builtin_elementwise_fma(a, Pair{b, b}, Pair{c, c});
}
DEV Pair add_pair(Pair a, Pair b)
{
    return a + b;
}
#endif

/*
 * Converts P to T. AMD's code truncates, which takes one instruction for two
 * numbers; rounding takes three. `factor` compensates the average loss: all P
 * are multiplied by it, and sums of P before truncation are divided by it. A
 * power of two stays exact. NVIDIA's code rounds, by one instruction.
 */
template <typename T> struct p_excess {
#if KPK_NVIDIA
    static constexpr f32 factor = 1, log2 = 0;
#else
    static constexpr bool is_bf16 = is_same<T, bf16>::value;
    static constexpr f32 factor = 1 + (is_bf16 ? 0x1.6ap-9f : 0x1.6ap-12f);
    static constexpr f32 log2 = is_bf16 ? 0.00397936f : 0.000498054f;
#endif
};
template <typename T> DEV u32 pack_two(const Pair &v)
{
#if KPK_NVIDIA
    return bits_as<u32>(Pack<T, 2>{{convert<T>(v[0]), convert<T>(v[1])}});
#else
    if constexpr (is_same<T, bf16>::value)
        return __builtin_amdgcn_perm(bits_as<u32>(v[1]), bits_as<u32>(v[0]),
                                     0x07060302u);
    else
        return bits_as<u32>(__builtin_amdgcn_cvt_pkrtz(v[0], v[1]));
#endif
}

/*
 * A lane's P of one query, `run` keys in pairs, to operands: words[s] for slot
 * s.
 */
template <typename T>
DEV void share_out(const u32 (&words)[Scores<T>::slots][Scores<T>::run / 2],
                   typename Roles<T>::Queries (&out)[Scores<T>::operands])
{
    typedef Scores<T> S;

    if constexpr (!S::has_matrix) {
        constexpr u32 each = S::run / 2; /* words of a lane */

        UNROLL
        for (u32 p = 0; p < S::operands; p++) {
            UNROLL
            for (u32 s = 0; s < S::slots; s++) {
                UNROLL
                for (u32 w = 0; w < 4; w++)
                    out[p].col[s].v[w] =
                        lane_read(words[s][w % each],
                                  lane_id() % 8 + 8 * ((4 * p + w) / each));
            }
        }
#if KPK_WMMA == 11
    } else if constexpr (true) {
        const bool upper = lane_id() >= 16;

        UNROLL
        for (u32 w = 0; w < 4; w++) {
            const u32 own = words[0][w];
            const u32 other = (u32)__builtin_amdgcn_permlanex16(
                (int)own, (int)own, 0x76543210, (int)0xfedcba98u, false, false);

            out[0].piece[0].v[w] = upper ? other : own;
            out[0].piece[1].v[w] = upper ? own : other;
        }
#endif
    } else {
        UNROLL
        for (u32 s = 0; s < S::slots; s++) {
            UNROLL
            for (u32 w = 0; w < 4; w++)
                out[0].piece[s].v[w] = words[s][w];
        }
    }
}

/* Whether the condition holds in any lane of the wave. */
DEV bool any_lane(bool condition)
{
#if KPK_NVIDIA
    return __any_sync(0xffffffffu, condition);
#elif KPK_TARGET_WAVE == 64
    return __builtin_amdgcn_ballot_w64(condition) != 0;
#else
    return __builtin_amdgcn_ballot_w32(condition) != 0;
#endif
}

/* 2^x by the hardware's instruction: results below 2^-126 may be zero */
DEV f32 exp2_fast(f32 x)
{
#if KPK_NVIDIA
    f32 y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return __builtin_amdgcn_exp2f(x);
#endif
}
