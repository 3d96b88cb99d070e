/*
 * attend_mma.h - attention of many queries by mma.sync, on sm_80 and later
 *
 * A workgroup of 8 warps takes 128 queries and loops over the keys that they
 * see. A stage holds K and V of some keys; while warps compute one stage,
 * cp.async fills others. Each warp processes all keys of a stage for its own
 * queries (attend_warp.h). LDS suffices for two workgroups per multiprocessor,
 * so that one's matrix instructions overlap the other's exponentials.
 */
#pragma once

#include "nvidia/attention/attend_shapes.h"
#include "nvidia/attention/attend_warp.h"
#include "nvidia/copy/ring.h"

template <u32 D> struct AttendManyShape;
template <u32 D> struct AttendFallbackShape;
#define SHAPE_OF(Name, D, Keys, AtOnce, Stages, QInLds, Blocks)                \
    template <> struct Name<D> {                                               \
        static constexpr u32 keys = Keys, at_once = AtOnce, stages = Stages;   \
        static constexpr bool q_in_lds = QInLds;                               \
        static constexpr u32 threads = 256, blocks = Blocks;                   \
        static constexpr u32 lds_nbytes = ATTEND_LDS(D, Keys, Stages, QInLds); \
    };
#define SHAPE(...) SHAPE_OF(AttendManyShape, __VA_ARGS__)
ATTEND_SHAPES(SHAPE)
#undef SHAPE
#define SHAPE(...) SHAPE_OF(AttendFallbackShape, __VA_ARGS__)
ATTEND_FALLBACK_SHAPES(SHAPE)
#undef SHAPE
#undef SHAPE_OF

template <typename T, u32 D, class Shape, class Form> struct AttendMany {
    static constexpr u32 threads = Shape::threads, warps = threads / 32;
    static constexpr u32 keys = Shape::keys, at_once = Shape::at_once;
    static constexpr u32 half_nbytes = keys * D * 2; /* K, or V */
    static constexpr u32 stage_nbytes = 2 * half_nbytes;
    typedef AttendWarp<T, D, at_once, false, Shape::q_in_lds, Form> Warp;
    typedef typename Warp::Rows Rows;
    typedef typename Warp::Lines Lines;
    static constexpr u32 q_nbytes =
        Shape::q_in_lds ? warps * Warp::slab_nbytes : 0;
    static constexpr u32 ring_nbytes = Shape::stages * stage_nbytes;
    static_assert(q_nbytes + ring_nbytes <= Shape::lds_nbytes &&
                      warps * Warp::slab_nbytes <= q_nbytes + ring_nbytes,
                  "what a workgroup has of LDS");
    static constexpr i32 queries = (i32)(warps * 16);

    /* Queries from first on. */
    static DEV_MEMBER void run(const AttentionArgs &a, u32 b, u32 head,
                               i32 first, u32 lds_q)
    {
        const u32 t = threadIdx.x, warp = t / 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);
        const u32 key_head = rows.key_head(a);
        const AttendKeys k(a, s, b, key_head, a.k, a.k_batch, a.k_row,
                           a.k_head);
        const AttendKeys v(a, s, b, key_head, a.v, a.v_batch, a.v_row,
                           a.v_head);
        const bool aligned = k.is_aligned() && v.is_aligned();
        const KeySpan span =
            seen_by(s, first, min_of(first + queries, rows.nrows) - 1);
        const i32 start = span.first / (i32)keys * (i32)keys;
        CopyRing<Shape::stages, stage_nbytes> ring(lds_q + q_nbytes);
        i32 copied = start;
        Warp w;

        const auto copy = [&](u32 stage) {
            if (copied < span.end) {
                copy_lines<Lines, keys, threads>(stage, a, b, k, a.d, aligned,
                                                 copied, span, t);
                copy_lines<Lines, keys, threads>(stage + half_nbytes, a, b, v,
                                                 Form::d_v(a), aligned, copied,
                                                 span, t);
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
                    take(w, a, b, head, key0 + (i32)c,
                         ring.to_read() + c * Warp::Lines::nbytes);
            }
            ring.release();
        }
        async_copies_wait<0>();
        w.store(a, b, head);
    }
    static DEV_MEMBER void take(Warp &w, const AttentionArgs &a, u32 b,
                                u32 head, i32 key0, u32 lds)
    {
        typename Warp::Scores x;
        typename Warp::Operands p;
        const f32 factor = w.score(x, a, b, head, key0, lds);

        w.exponentials(x, factor);
        w.round(x, p);
        w.add_values(p, lds + half_nbytes);
    }
    /* Computes this workgroup's tiles of 128 queries of one head and
     * sequence. */
    static DEV_MEMBER void all(const AttentionArgs &a, u32 lds)
    {
        NO_UNROLL
        for (u32 b = blockIdx.z; b < a.b; b += gridDim.z) {
            const i32 nq = Sequence(a, b).nq;

            NO_UNROLL
            for (u32 h = blockIdx.y; h < a.h; h += gridDim.y) {
                /* The last queries first: with a causal mask they take
                 * longest. */
                NO_UNROLL
                for (u32 at = blockIdx.x;
                     nq > 0 && at <= (u32)(nq - 1) / (u32)queries;
                     at += gridDim.x) {
                    run(a, b, h, ((nq - 1) / queries - (i32)at) * queries, lds);
                }
            }
        }
    }
};

/* False, and nothing is done, without the recommended launch's LDS. */
template <typename T, u32 D, class Form>
DEV bool attend_many(const AttentionArgs &a)
{
    typedef AttendManyShape<D> Shape;
    extern __shared__ __attribute__((aligned(128))) u8 given[];

    if (dynamic_lds_nbytes() < Shape::lds_nbytes)
        return false;
    AttendMany<T, D, Shape, Form>::all(a, (u32)__cvta_generic_to_shared(given));
    return true;
}

/* Without the recommended launch, by 256 threads. own: ATTEND_STATIC_LDS bytes
 */
template <typename T, u32 D, class Form>
DEV void attend_fallback(const AttentionArgs &a, u32 own)
{
    typedef AttendFallbackShape<D> Shape;
    static_assert(Shape::lds_nbytes <= ATTEND_STATIC_LDS, "two stages");

    if (threadIdx.x < Shape::threads)
        AttendMany<T, D, Shape, Form>::all(a, own);
}
