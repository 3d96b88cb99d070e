/*
 * attend_mma.h - attention of many queries by mma.sync, on sm_80 and later
 *
 * A workgroup of 8 warps takes 128 queries and walks over the keys that they
 * see. K and V of some keys are a stage; while one is worked on, others are on
 * their way to LDS by cp.async. Each warp takes all keys of a stage for its own
 * queries (attend_warp.h). There is LDS for two workgroups on a multiprocessor:
 * one's matrix instructions run beside the other's exponentials.
 */
#pragma once

#include "nvidia/attention/attend_rows.h"
#include "nvidia/attention/attend_shapes.h"
#include "nvidia/copy/ring.h"

template <u32 D> struct AttendManyShape;
template <u32 D> struct AttendFallbackShape;
#define SHAPE_OF(Name, D, Keys, AtOnce, Stages, QInLds, Blocks)                \
    template <> struct Name<D> {                                               \
        static constexpr u32 keys = Keys, at_once = AtOnce, stages = Stages;   \
        static constexpr bool q_in_lds = QInLds;                               \
        static constexpr u32 threads = 256, blocks = Blocks;                   \
        static constexpr u32 lds_nbytes = ATTEND_LDS(D, Keys, Stages);         \
    };
#define SHAPE(...) SHAPE_OF(AttendManyShape, __VA_ARGS__)
ATTEND_SHAPES(SHAPE)
#undef SHAPE
#define SHAPE(...) SHAPE_OF(AttendFallbackShape, __VA_ARGS__)
ATTEND_FALLBACK_SHAPES(SHAPE)
#undef SHAPE
#undef SHAPE_OF

/*
 * A warp's 16 queries, and `Keys` keys at once, 16 to 64. QInLds: operands of Q
 * are read again for all keys.
 */
template <typename T, u32 D, u32 Keys, bool QInLds, class Form>
struct ManyWarp : ManyRows<T, D, Keys, Form> {
    typedef ManyRows<T, D, Keys, Form> Base;
    typedef AttendLines<D> Lines;
    typedef typename Base::Rows Rows;
    typedef typename Base::Scores Scores;
    typedef typename Base::Operands Operands;
    typedef AttendLines<QInLds ? D : 64> Slab; /* 16 rows of Q in LDS */
    using Base::o, Base::row0, Base::tiles;

    static constexpr u32 steps = D / 16;
    /* for begin(), and if QInLds for good */
    static constexpr u32 slab_nbytes = 16 * Slab::nbytes;

    u32 q[QInLds ? 1 : steps][4];
    u32 k_lds, v_lds, q_lds; /* this lane's first ldmatrix addresses */

    /* slab: LDS that no other warp needs */
    DEV_MEMBER void begin(const AttentionArgs &a, const Sequence &s,
                          const Rows &rows, u32 b, i32 first_row, u32 slab)
    {
        const u32 lane = threadIdx.x % 32;

        Base::begin(s, rows, first_row, 16);
        k_lds = Lines::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
        v_lds = Lines::at(lane % 16, lane / 16);
        q_lds = slab + Slab::at(lane % 16, lane / 16);
        UNROLL
        for (u32 c = 0; c < (QInLds ? 1 : D / 64); c++) {
            constexpr u32 pieces = Slab::pieces;

            __syncwarp();
            _Pragma("unroll 4") for (u32 i = lane; i < 16 * pieces; i += 32)
                store_piece(slab + Slab::at(i / pieces, i % pieces),
                            rows.template piece<T>(a, s, b,
                                                   row0 + (i32)(i / pieces),
                                                   c * pieces + i % pieces));
            __syncwarp();
            if constexpr (!QInLds) {
                UNROLL
                for (u32 k = 0; k < 4; k++)
                    load_matrices(q[c * 4 + k], Slab::further(q_lds, k * 2));
            }
        }
        __syncwarp();
    }
    DEV_MEMBER void multiply_keys(Scores &x, u32 lds) const
    {
        UNROLL
        for (u32 i = 0; i < tiles * 4; i++)
            x[i / 4][i % 4] = 0;
        UNROLL
        for (u32 k = 0; k < steps; k++) {
            const u32 at = lds + Lines::further(k_lds, k * 2);
            u32 with[4];

            if constexpr (QInLds) {
                load_matrices(with, Slab::further(q_lds, k * 2));
            } else {
                UNROLL
                for (u32 e = 0; e < 4; e++)
                    with[e] = q[k][e];
            }
            UNROLL
            for (u32 t = 0; t < tiles; t += 2) {
                u32 y[4];

                load_matrices(y, at + t * 8 * Lines::nbytes);
                MmaOp<T>::call(x[t], with, y[0], y[1]);
                MmaOp<T>::call(x[t + 1], with, y[2], y[3]);
            }
        }
    }
    DEV_MEMBER void add_values(const Operands &p, u32 lds)
    {
        UNROLL
        for (u32 t = 0; t < tiles; t += 2) {
            const u32 a[4] = {p[t][0], p[t][1], p[t + 1][0], p[t + 1][1]};

            UNROLL
            for (u32 n = 0; n < D / 8; n += 2) {
                u32 y[4];

                load_matrices_trans(y, lds + Lines::further(v_lds, n) +
                                           t * 8 * Lines::nbytes);
                MmaOp<T>::call(o[n], a, y[0], y[1]);
                MmaOp<T>::call(o[n + 1], a, y[2], y[3]);
            }
        }
    }
};

template <typename T, u32 D, class Shape, class Form> struct AttendMany {
    static constexpr u32 threads = Shape::threads, warps = threads / 32;
    static constexpr u32 keys = Shape::keys, at_once = Shape::at_once;
    static constexpr u32 half_nbytes = keys * D * 2; /* K, or V */
    static constexpr u32 stage_nbytes = 2 * half_nbytes;
    typedef ManyWarp<T, D, at_once, Shape::q_in_lds, Form> Warp;
    typedef typename Warp::Rows Rows;
    typedef typename Warp::Lines Lines;
    static_assert(warps * Warp::slab_nbytes <= ATTEND_STATIC_LDS, "for Q");
    static constexpr i32 queries = (i32)(warps * 16);

    /* Queries from first on. */
    static DEV_MEMBER void run(const AttentionArgs &a, u32 b, u32 head,
                               i32 first, u32 lds, u32 lds_q)
    {
        const u32 t = threadIdx.x, warp = t / 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);
        const AttendKeysValues<PlainFormat<T>> of(a, s, b, rows.key_head(a));
        const KeySpan span =
            seen_by(s, first, min_of(first + queries, rows.nrows) - 1);
        const i32 start = span.first / (i32)keys * (i32)keys;
        CopyRing<Shape::stages, stage_nbytes> ring(lds);
        i32 copied = start;
        Warp w;

        const auto copy = [&](u32 stage) {
            if (copied < span.end) {
                copy_lines<Lines, keys, threads>(stage, a, b, of.k, a.d,
                                                 of.aligned, copied, span, t);
                copy_lines<Lines, keys, threads>(stage + half_nbytes, a, b,
                                                 of.v, Form::d_v(a), of.aligned,
                                                 copied, span, t);
            }
            copied += (i32)keys;
        };

        __syncthreads();
        w.begin(a, s, rows, b, first + (i32)(warp * 16),
                lds_q + warp * Warp::slab_nbytes);
        __syncthreads();
        NO_UNROLL
        for (u32 i = 1; i < Shape::stages; i++)
            ring.fill(copy);
        NO_UNROLL
        for (i32 key0 = start; key0 < span.end; key0 += (i32)keys) {
            ring.template wait<Shape::stages - 1>();
            __syncthreads();
            ring.fill(copy);
            UNROLL
            for (u32 c = 0; c < keys; c += at_once) {
                if (w.sees_any(key0 + (i32)c))
                    take(w, a, b, rows, key0 + (i32)c,
                         ring.to_read() + c * Warp::Lines::nbytes);
            }
            ring.release();
        }
        async_copies_wait<0>();
        w.store(a, b, head);
    }
    static DEV_MEMBER void take(Warp &w, const AttentionArgs &a, u32 b,
                                const Rows &rows, i32 key0, u32 lds)
    {
        typename Warp::Scores x;
        typename Warp::Operands p;

        w.multiply_keys(x, lds);

        const f32 factor =
            w.finish(x, a, b, rows, key0, [&](u32 i, u32, i32 key) {
                return w.mask_of(a, b, rows, i, key);
            });

        w.raise(x, factor);
        w.exponentials(x, factor);
        w.round(x, p);
        w.add_values(p, lds + half_nbytes);
    }
    /* Makes this workgroup's tiles: 128 queries of a head and sequence each. */
    static DEV_MEMBER void all(const AttentionArgs &a, u32 lds, u32 lds_q)
    {
        NO_UNROLL
        for (u32 b = blockIdx.z; b < a.b; b += gridDim.z) {
            const i32 nq = Sequence(a, b).nq;

            NO_UNROLL
            for (u32 h = blockIdx.y; h < a.h; h += gridDim.y) {
                /* the last queries first: they see most if a mask hides keys */
                NO_UNROLL
                for (u32 at = blockIdx.x;
                     nq > 0 && at <= (u32)(nq - 1) / (u32)queries;
                     at += gridDim.x) {
                    run(a, b, h, ((nq - 1) / queries - (i32)at) * queries, lds,
                        lds_q);
                }
            }
        }
    }
};

/* False, and nothing is done, without the recommended launch's LDS. own:
 * ATTEND_STATIC_LDS bytes */
template <typename T, u32 D, class Form>
DEV bool attend_many(const AttentionArgs &a, u32 own)
{
    typedef AttendManyShape<D> Shape;
    extern __shared__ __attribute__((aligned(128))) u8 given[];

    if (dynamic_lds_nbytes() < Shape::lds_nbytes)
        return false;
    AttendMany<T, D, Shape, Form>::all(a, (u32)__cvta_generic_to_shared(given),
                                       own);
    return true;
}

/* Without the recommended launch, by 256 threads, with own LDS alone. */
template <typename T, u32 D, class Form>
DEV void attend_fallback(const AttentionArgs &a, u32 own)
{
    typedef AttendFallbackShape<D> Shape;
    static_assert(Shape::lds_nbytes <= ATTEND_STATIC_LDS && !Shape::q_in_lds,
                  "stages, where Q has been before");

    if (threadIdx.x < Shape::threads)
        AttendMany<T, D, Shape, Form>::all(a, own, own);
}
