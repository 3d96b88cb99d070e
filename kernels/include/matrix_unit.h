/*
 * matrix_unit.h - a wave's product D[16,16] += A[16,K] B[K,16], a row a target
 *
 * A and B^T lie in memory as 16 rows along K. A unit takes `pieces` pieces of
 * 16 bytes from each row; a lane passes its pieces to the instruction
 * unchanged. The order of k within a unit does not matter as long as A and B
 * agree, so one layout serves instructions of every depth. The table gives the
 * pieces of lane l.
 *
 *   row     targets         pieces  of A and B: (row, piece)  of D: row, column
 *   mfma    gfx908 gfx90a     4     (l%16, l/16)              4(l/16)+i, l%16
 *           gfx942 gfx950                                     (f64: 4i+l/16)
 *   wmma    gfx11             2     (l%16, 0), (l%16, 1)      2i+l/16, l%16
 *   the same, waves of 64     2     (l%16, 0), (l%16, 1)      4i+l/16, l%16
 *   wmma    gfx12, no gfx125x 2     (l%16, l/16)              8(l/16)+i, l%16
 *   the same, waves of 64     4     (l%16, l/16)              8(l/16%2)+4(l/32)
 *                                                             +i, l%16
 *   mma     sm_80 and later   4     (l/4, l%4), (l/4+8, l%4)  see mma_unit.h
 *   fma     elsewhere         1     A: (l/8 + i wave/8, 0)    l/8 + i wave/8,
 *                                   B: (l%8 + 8j, 0)          l%8 + 8j
 *
 * Types: i8 (sums in i32), f16 and bf16 (sums in f32), f32, f64. Where a target
 * has no matrix instruction for a type, its row is fma.
 *
 *   Unit<T>::Sum        the type of sums
 *   Unit<T>::pieces     of a row
 *   Unit<T>::k          elements in them
 *   Unit<T>::A, B       what a lane holds: A(fetch) asks fetch(row, piece) for
 *                       Pieces; all lanes of the wave take part
 *   Unit<T>::D          results[i] belongs to row(i) and col(i)
 *   Unit<T>::multiply(d, a, b)
 *
 * Where Unit<T>::is_matrix, on AMD:
 *   Unit<T>::parts      instructions of a multiply(); each takes as many bytes
 *                       of each lane's pieces, part i those from i / parts on
 *   Unit<T>::multiply_part(d, a, b, i)  gives d plus the products of part i
 *
 * gfx90a takes subnormal f16 and bf16 as zeros in its matrix instructions.
 */
#pragma once

#include "dot4.h"

/*
 * RDNA runs each kernel in waves of 32 or of 64. For the targets of
 * WAVES64_NAME (Makefile) a module is compiled in two parts for one code
 * object: part 64 has the kernels that run in waves of 64, part 32 the other
 * kernels. Elsewhere 0: all kernels, in the target's own waves. Everything is
 * inlined: a function of one part might be taken for its namesake in the other
 * part.
 */
#ifndef KPK_WAVES
#define KPK_WAVES 0
#endif

/* 16 bytes of a row */
typedef Pack<u32, 4> Piece;

#if KPK_TARGET_MFMA
#define KPK_MFMA 1
#else
#define KPK_MFMA 0
#endif
/* pairs of f16 that AMD's matrix instructions multiply in a clock and unit */
#if KPK_TARGET_MFMA >= 4
constexpr u32 matrix_rate = 2048;
#elif KPK_TARGET_MFMA == 3
constexpr u32 matrix_rate = 1024;
#else
constexpr u32 matrix_rate = 512;
#endif
#if KPK_TARGET_WMMA == 12
#define KPK_WMMA 12
#elif KPK_TARGET_WMMA == 11
#define KPK_WMMA 11
#else
#define KPK_WMMA 0
#endif
/* Whether it is WMMA in waves of 64: a lane has half of the sums. */
#define KPK_WMMA_WIDE (KPK_WMMA != 0 && KPK_WAVES == 64)
#if KPK_WAVES == 64 && !KPK_WMMA_WIDE
#error "this target has no row for waves of 64"
#endif

#if KPK_TARGET_WAVE != 64 && !KPK_WMMA_WIDE
constexpr u32 matrix_wave = 32;
#else
constexpr u32 matrix_wave = 64;
#endif

template <typename T> struct sum_of {
    typedef f32 type;
};
template <> struct sum_of<i8> {
    typedef int type;
};
template <> struct sum_of<f64> {
    typedef f64 type;
};

/* Part i of a piece as V: two of its words, or one. */
template <typename V> DEV V piece_part(const Piece &c, u32 i)
{
    V v;

    __builtin_memcpy(&v, &c.v[i * (sizeof(V) / 4)], sizeof(V));
    return v;
}

/* ---- sums without a matrix instruction ----------------------------------- */

DEV f32 f16_pair_dot(u32 a, u32 b, f32 sum)
{
#if KPK_TARGET_DOT4 == 1 && !KPK_TARGET_MFMA /* have v_dot2_f32_f16, too */
    typedef _Float16 half2 __attribute__((ext_vector_type(2)));

    return __builtin_amdgcn_fdot2(bits_as<half2>(a), bits_as<half2>(b), sum,
                                  false);
#else
    sum = fmaf((float)f16{(u16)a}, (float)f16{(u16)b}, sum);
    return fmaf((float)f16{(u16)(a >> 16)}, (float)f16{(u16)(b >> 16)}, sum);
#endif
}

/* sum + the products of two pieces' elements */
template <typename T> struct piece_dot;
template <> struct piece_dot<i8> {
    DEV_MEMBER static int of(const Piece &a, const Piece &b, int sum)
    {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            sum = dot4(a[i], b[i], sum);
        return sum;
    }
};
template <> struct piece_dot<f16> {
    DEV_MEMBER static f32 of(const Piece &a, const Piece &b, f32 sum)
    {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            sum = f16_pair_dot(a[i], b[i], sum);
        return sum;
    }
};
template <> struct piece_dot<bf16> {
    DEV_MEMBER static f32 of(const Piece &a, const Piece &b, f32 sum)
    {
        UNROLL
        for (u32 i = 0; i < 4; i++) {
            sum = fmaf(bits_as<f32>(a[i] << 16), bits_as<f32>(b[i] << 16), sum);
            sum = fmaf(bits_as<f32>(a[i] & 0xffff0000u),
                       bits_as<f32>(b[i] & 0xffff0000u), sum);
        }
        return sum;
    }
};
template <> struct piece_dot<f32> {
    DEV_MEMBER static f32 of(const Piece &a, const Piece &b, f32 sum)
    {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            sum = fmaf(bits_as<f32>(a[i]), bits_as<f32>(b[i]), sum);
        return sum;
    }
};
template <> struct piece_dot<f64> {
    DEV_MEMBER static f64 of(const Piece &a, const Piece &b, f64 sum)
    {
        UNROLL
        for (u32 i = 0; i < 2; i++)
            sum = __builtin_fma(piece_part<f64>(a, i), piece_part<f64>(b, i),
                                sum);
        return sum;
    }
};

template <typename T> struct FmaUnit {
    typedef typename sum_of<T>::type Sum;
    static constexpr bool is_matrix = false;
    static constexpr u32 pieces = 1;
    static constexpr u32 k = 16 / sizeof(T);
    static constexpr u32 step = matrix_wave / 8; /* from row to row of a lane */
    static constexpr u32 nrows = 16 / step, ncols = 2;
    static constexpr u32 results = nrows * ncols;

    struct A {
        Piece row[nrows];
        A() = default;
        template <class Fetch> DEV_MEMBER explicit A(Fetch fetch)
        {
            UNROLL
            for (u32 i = 0; i < nrows; i++)
                row[i] = fetch(lane_id() / 8 + i * step, 0u);
        }
    };
    struct B {
        Piece col[ncols];
        B() = default;
        template <class Fetch> DEV_MEMBER explicit B(Fetch fetch)
        {
            UNROLL
            for (u32 j = 0; j < ncols; j++)
                col[j] = fetch(lane_id() % 8 + j * 8, 0u);
        }
    };
    struct D {
        Sum v[results];
    };
    static DEV_MEMBER u32 row(u32 i)
    {
        return lane_id() / 8 + i / ncols * step;
    }
    static DEV_MEMBER u32 col(u32 i)
    {
        return lane_id() % 8 + i % ncols * 8;
    }
    static DEV_MEMBER void multiply(D &d, const A &a, const B &b)
    {
        UNROLL
        for (u32 i = 0; i < results; i++)
            d.v[i] =
                piece_dot<T>::of(a.row[i / ncols], b.col[i % ncols], d.v[i]);
    }
};

template <typename T> struct Unit : FmaUnit<T> {
};

/* ---- AMD's matrix instructions -------------------------------------- */

#if KPK_MFMA || KPK_WMMA

typedef _Float16 MatrixH4 __attribute__((ext_vector_type(4)));
typedef _Float16 MatrixH8 __attribute__((ext_vector_type(8)));
typedef _Float16 MatrixH16 __attribute__((ext_vector_type(16)));
typedef short MatrixS2 __attribute__((ext_vector_type(2)));
typedef short MatrixS4 __attribute__((ext_vector_type(4)));
typedef short MatrixS8 __attribute__((ext_vector_type(8)));
typedef short MatrixS16 __attribute__((ext_vector_type(16)));
typedef __bf16 MatrixB8 __attribute__((ext_vector_type(8)));
typedef int MatrixI2 __attribute__((ext_vector_type(2)));
typedef int MatrixI4 __attribute__((ext_vector_type(4)));

/* The instructions of a unit: there are `parts`, and each takes a `V` of a
 * lane's pieces. */
template <typename T> struct MatrixOp {
    static constexpr bool exists = false;
};

#if KPK_MFMA
constexpr u32 unit_pieces = 4, lane_pieces = 1, unit_results = 4;
#define MATRIX_OP(T, vector, builtin)                                          \
    template <> struct MatrixOp<T> {                                           \
        typedef vector V;                                                      \
        typedef typename sum_of<T>::type Sum;                                  \
        typedef Sum Sums __attribute__((ext_vector_type(unit_results)));       \
        static constexpr bool exists = true;                                   \
        static DEV_MEMBER Sums call(V a, V b, Sums d)                          \
        {                                                                      \
            return __builtin_amdgcn_mfma_##builtin(a, b, d, 0, 0, 0);          \
        }                                                                      \
    };
MATRIX_OP(f32, float, f32_16x16x4f32)
#if KPK_TARGET_MFMA >= 4
MATRIX_OP(f16, MatrixH8, f32_16x16x32_f16)
MATRIX_OP(bf16, MatrixB8, f32_16x16x32_bf16)
MATRIX_OP(i8, MatrixI4, i32_16x16x64_i8)
#else
MATRIX_OP(f16, MatrixH4, f32_16x16x16f16)
#if KPK_TARGET_MFMA == 1
MATRIX_OP(bf16, MatrixS2, f32_16x16x8bf16)
#else
MATRIX_OP(bf16, MatrixS4, f32_16x16x16bf16_1k)
#endif
#if KPK_TARGET_MFMA <= 2
MATRIX_OP(i8, int, i32_16x16x16i8)
#else
MATRIX_OP(i8, long, i32_16x16x32_i8)
#endif
#endif
#if KPK_TARGET_MFMA >= 2
MATRIX_OP(f64, double, f64_16x16x4f64)
#endif

#else
constexpr u32 unit_results = KPK_WMMA_WIDE ? 4 : 8;
#if KPK_WMMA == 11
constexpr u32 unit_pieces = 2, lane_pieces = 2;
#define WMMA_V(of_11, of_12, wide) of_11
#elif !KPK_WMMA_WIDE
constexpr u32 unit_pieces = 2, lane_pieces = 1;
#define WMMA_V(of_11, of_12, wide) of_12
#else
constexpr u32 unit_pieces = 4, lane_pieces = 1;
#define WMMA_V(of_11, of_12, wide) wide
#endif
#if KPK_WMMA == 11 && KPK_WMMA_WIDE
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w64
#elif KPK_WMMA == 11
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32
#elif KPK_WMMA_WIDE
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w64_gfx12
#else
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
#endif

#define MATRIX_OP(T, vector, ...)                                              \
    template <> struct MatrixOp<T> {                                           \
        typedef vector V;                                                      \
        typedef typename sum_of<T>::type Sum;                                  \
        typedef Sum Sums __attribute__((ext_vector_type(unit_results)));       \
        static constexpr bool exists = true;                                   \
        static DEV_MEMBER Sums call(V a, V b, Sums d)                          \
        {                                                                      \
            return __VA_ARGS__;                                                \
        }                                                                      \
    };
MATRIX_OP(f16, WMMA_V(MatrixH16, MatrixH8, MatrixH4),
          WMMA(f32_16x16x16_f16)(a, b, d))
MATRIX_OP(bf16, WMMA_V(MatrixS16, MatrixS8, MatrixS4),
          WMMA(f32_16x16x16_bf16)(a, b, d))
MATRIX_OP(i8, WMMA_V(MatrixI4, MatrixI2, int),
          WMMA(i32_16x16x16_iu8)(true, a, true, b, d, false))
#endif

template <typename T> struct MatrixUnit {
    typedef typename sum_of<T>::type Sum;
    static constexpr bool is_matrix = true;
    static constexpr u32 pieces = unit_pieces;
    static constexpr u32 k = 16 * pieces / sizeof(T);
    static constexpr u32 results = unit_results;

    struct Part {
        Piece piece[lane_pieces];
        Part() = default;
        template <class Fetch> DEV_MEMBER explicit Part(Fetch fetch)
        {
            UNROLL
            for (u32 i = 0; i < lane_pieces; i++)
                piece[i] = fetch(lane_id() % 16,
                                 lane_pieces == 1 ? lane_id() / 16 : i);
        }
    };
    typedef Part A;
    typedef Part B;
    struct D {
        Sum v[results];
    };
    static DEV_MEMBER u32 row(u32 i)
    {
        constexpr u32 step = 16 / results;

        if (KPK_WMMA == 11 || sizeof(Sum) == 8)
            return step * i + lane_id() / 16;
        if (KPK_WMMA_WIDE)
            return lane_id() / 16 % 2 * 8 + lane_id() / 32 * 4 + i;
        return lane_id() / 16 * results + i;
    }
    static DEV_MEMBER u32 col(u32)
    {
        return lane_id() % 16;
    }
    static constexpr u32 parts = sizeof(Part) / sizeof(typename MatrixOp<T>::V);
    static DEV_MEMBER D multiply_part(const D &d, const A &a, const B &b, u32 i)
    {
        typedef MatrixOp<T> Op;
        typename Op::V x[parts], y[parts];

        __builtin_memcpy(x, &a, sizeof(x));
        __builtin_memcpy(y, &b, sizeof(y));
        return bits_as<D>(Op::call(x[i], y[i], bits_as<typename Op::Sums>(d)));
    }
    static DEV_MEMBER void multiply(D &d, const A &a, const B &b)
    {
        UNROLL
        for (u32 i = 0; i < parts; i++)
            d = multiply_part(d, a, b, i);
    }
};

template <bool> struct pick_unit {
    template <typename T> using of = FmaUnit<T>;
};
template <> struct pick_unit<true> {
    template <typename T> using of = MatrixUnit<T>;
};
template <typename T> struct AmdUnit {
    typedef typename pick_unit<MatrixOp<T>::exists>::template of<T> type;
};
template <> struct Unit<i8> : AmdUnit<i8>::type {
};
template <> struct Unit<f16> : AmdUnit<f16>::type {
};
template <> struct Unit<bf16> : AmdUnit<bf16>::type {
};
template <> struct Unit<f32> : AmdUnit<f32>::type {
};
template <> struct Unit<f64> : AmdUnit<f64>::type {
};
#endif
