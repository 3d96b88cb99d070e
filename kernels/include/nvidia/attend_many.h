/*
 * attend_many.h - attention of many queries on sm_80 and later
 *
 * A workgroup of 8 warps takes 128 queries, or 256 in a large grid. Each of its
 * groups of warps walks by itself over the keys that its queries see: so one
 * group's matrix instructions run beside another's exponentials. K and V of
 * some keys are a stage; while one is worked on, others are on their way to LDS
 * by cp.async. Each warp takes all keys of a stage for its own queries
 * (attend_warp.h).
 */
#pragma once

#include "nvidia/attend_shapes.h"
#include "nvidia/attend_warp.h"

template <u32 D> struct AttendManyShape;
#define SHAPE(D, Units, Groups, Keys, AtOnce, Stages, QInLds)                  \
    template <> struct AttendManyShape<D> {                                    \
        static constexpr u32 units = Units, groups = Groups;                   \
        static constexpr u32 keys = Keys, at_once = AtOnce, stages = Stages;   \
        static constexpr bool q_in_lds = QInLds;                               \
        static constexpr u32 lds_nbytes =                                      \
            ATTEND_LDS(D, Units, Groups, Keys, Stages, QInLds);                \
    };
ATTEND_SHAPES(SHAPE)
#undef SHAPE

template <typename T, u32 D, u32 Units> struct AttendMany {
    typedef AttendManyShape<D> Shape;
    static constexpr u32 threads = 256 / Shape::groups, warps = threads / 32;
    static constexpr u32 keys = Shape::keys, at_once = Shape::at_once;
    static constexpr u32 half_nbytes = keys * D * 2; /* K, or V */
    static constexpr u32 stage_nbytes = 2 * half_nbytes;
    typedef AttendWarp<T, D, Units, at_once, false, Shape::q_in_lds> Warp;
    typedef typename Warp::Rows Rows;
    static constexpr u32 q_nbytes =
        Shape::q_in_lds ? warps * Warp::slab_nbytes : 0;
    static constexpr u32 ring_nbytes = Shape::stages * stage_nbytes;
    static_assert(q_nbytes + ring_nbytes <= Shape::lds_nbytes / Shape::groups &&
                      warps * Warp::slab_nbytes <= q_nbytes + ring_nbytes,
                  "what a group has of LDS");
    /* of a group, of a workgroup */
    static constexpr i32 group_queries = (i32)(warps * Units * 16);
    static constexpr i32 queries = group_queries * (i32)Shape::groups;

    /* Queries of a group from first on. */
    static DEV_MEMBER void run(const AttentionArgs &a, u32 b, u32 head,
                               i32 first, u32 lds_q)
    {
        const u32 lds = lds_q + q_nbytes, end = lds + ring_nbytes;
        const u32 t = threadIdx.x % threads, warp = t / 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);
        const u32 key_head = rows.key_head(a);
        const AttendKeys k(a, s, b, key_head, a.k, a.k_batch, a.k_row,
                           a.k_head);
        const AttendKeys v(a, s, b, key_head, a.v, a.v_batch, a.v_row,
                           a.v_head);
        const bool aligned = k.is_aligned_to_16() && v.is_aligned_to_16();
        const KeySpan span =
            seen_by(s, first, min_of(first + group_queries, rows.nrows) - 1);
        const i32 start = span.first / (i32)keys * (i32)keys;
        u32 in = lds, out = lds; /* where copies go, what is worked on */
        i32 copied = start;
        Warp w;

        const auto copy = [&]() {
            if (copied < span.end) {
                copy_lines<D, keys, threads>(in, a, b, k, aligned, copied, span,
                                             t);
                copy_lines<D, keys, threads>(in + half_nbytes, a, b, v, aligned,
                                             copied, span, t);
            }
            async_copies_end();
            copied += (i32)keys;
            in = in + stage_nbytes == end ? lds : in + stage_nbytes;
        };

        sync();
        w.begin(a, s, rows, b, first + (i32)(warp * Units * 16),
                lds_q + warp * Warp::slab_nbytes);
        sync();
        NO_UNROLL
        for (u32 i = 1; i < Shape::stages; i++)
            copy();
        NO_UNROLL
        for (i32 key0 = start; key0 < span.end; key0 += (i32)keys) {
            async_copies_wait<(int)Shape::stages - 2>();
            sync();
            copy();
            UNROLL
            for (u32 c = 0; c < keys; c += at_once) {
                if (w.sees_any(key0 + (i32)c))
                    take(w, a, b, head, key0 + (i32)c,
                         out + c * Warp::Lines::nbytes);
            }
            out = out + stage_nbytes == end ? lds : out + stage_nbytes;
        }
        async_copies_wait<0>();
        finish(w, a, b, head);
    }
    /* waits for the group's other warps */
    static DEV_MEMBER void sync()
    {
        if (Shape::groups == 1)
            __syncthreads();
        else
            asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / threads),
                         "n"(threads)
                         : "memory");
    }
    static DEV_MEMBER void take(Warp &w, const AttentionArgs &a, u32 b,
                                u32 head, i32 key0, u32 lds)
    {
        typename Warp::Scores x;
        u32 p[Units][Warp::tiles][2];
        const f32 factor = w.score(x, a, b, head, key0, lds);

        w.exponentials(x, factor, p);
        w.add_values(p, lds + half_nbytes);
    }
    static DEV_MEMBER void finish(const Warp &w, const AttentionArgs &a, u32 b,
                                  u32 head)
    {
        const u32 lane = threadIdx.x % 32;
        const Sequence s(a, b);

        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                const f32 sum = w.sum(u, i);
                const f32 scale = reciprocal(sum);
                const i32 row = w.row0 + (i32)(u * 16 + lane / 4 + 8 * i);
                const AttendRow to(a, s, b, row, head);

                if (row >= s.nq)
                    continue;
                UNROLL
                for (u32 n = 0; n < D / 8; n++) {
                    const u32 d = n * 8 + lane % 4 * 2;
                    const f32 *v = w.o[u][n] + 2 * i;
                    const u32 two =
                        sum == 0 ? 0 : round_two<T>(v[0] * scale, v[1] * scale);

                    if (d < a.d)
                        store_anywhere((T *)a.o + to.at + d,
                                       bits_as<Pack<T, 2>>(two));
                }
                if (lane % 4 == 0)
                    to.set_lse(a, b, row, head, sum,
                               w.m[u][i] - p_lead<T> + log2f(sum));
            }
        }
    }
    /* All places of the grid that are this workgroup's. */
    static DEV_MEMBER void all(const AttentionArgs &a, u32 lds)
    {
        const u32 group = threadIdx.x / threads;

        NO_UNROLL
        for (u32 b = blockIdx.z; b < a.b; b += gridDim.z) {
            const i32 nq = Sequence(a, b).nq;

            NO_UNROLL
            for (u32 h = blockIdx.y; h < a.h; h += gridDim.y) {
                /* the last queries see most, where not all see all */
                NO_UNROLL
                for (u32 at = blockIdx.x;
                     nq > 0 && at <= (u32)(nq - 1) / (u32)queries;
                     at += gridDim.x) {
                    const i32 first = ((nq - 1) / queries - (i32)at) * queries +
                                      (i32)group * group_queries;

                    if (first < nq)
                        run(a, b, h, first,
                            lds + group * (Shape::lds_nbytes / Shape::groups));
                }
            }
        }
    }
};

DEV u32 multiprocessors()
{
    u32 n;

    asm("mov.u32 %0, %%nsmid;" : "=r"(n));
    return n;
}

/*
 * Warps have all queries that their registers hold in grids so large that the
 * device is full all the same. Without the launch's LDS it is done as on other
 * targets.
 */
template <typename T, u32 D> DEV void attend_many(const AttentionArgs &a)
{
    typedef AttendManyShape<D> Shape;
    extern __shared__ __attribute__((aligned(128))) u8 given[];
    const u32 lds = (u32)__cvta_generic_to_shared(given);
    const u64 blocks = (u64)gridDim.x * gridDim.y * gridDim.z;

    if (dynamic_lds_nbytes() < Shape::lds_nbytes)
        attention<T, D>(a);
    else if (Shape::units > 1 && blocks < 2 * multiprocessors())
        AttendMany<T, D, 1>::all(a, lds);
    else
        AttendMany<T, D, Shape::units>::all(a, lds);
}
