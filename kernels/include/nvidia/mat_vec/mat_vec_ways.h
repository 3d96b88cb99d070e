/* mat_vec_ways.h - how sm_80 and later make the products of mat_vec.h */
#pragma once

#include "gguf/k.h"
#include "gguf/legacy.h"
#include "nvidia/mat_vec/mat_vec_mma.h"
#include "nvidia/mat_vec/mat_vec_pipe.h"
#include "nvidia/mat_vec/mat_vec_straight.h"
#if KPK_SM >= 90
#include "nvidia/mat_vec/mat_vec_bulk.h"
#include "nvidia/mat_vec/mat_vec_sweep.h"
#endif

/*
 * Tuned on an H200, which starts 1.6 workgroups a nanosecond, even if they
 * leave at once and need few registers and little LDS; it reads 4.2 KB in the
 * same time. A short launch feels each instruction in front of its first copy,
 * even the tests for ways that it does not take: so these are few.
 *
 *   straight
 *           up to four columns times few or short rows: from memory to
 *           registers
 *   sweep   (sm_90) one column times rows aligned to 16 of more than 1024
 *           columns: where starting all workgroups takes too long, the first
 *           few make all rows, as they do in a compact grid; two to four
 *           columns times long rows of some formats
 *   bulk    (sm_90) so many workgroups that starting them takes the time: one
 *           in 10 or more works, and the copy engine feeds it
 *   short   two columns, more rows than `straight` takes, each so short that a
 *           warp reads it at once: no copies; two rows a warp if rows are few
 *   usual   all rows and columns aligned to 16: a warp has few steps, and the
 *           time depends on how soon it asks for them
 *   few     as usual, for two to four columns and so few rows that workgroups
 *           of two rows all run at once
 *   mma     five columns and more, if there are enough rows; four columns of
 *           Q4_K and Q5_K, if rows are many
 *   long    one column, longer rows or few rows: steps are copied ahead, and a
 *           workgroup has half as many rows
 *   any     rows that begin anywhere
 *   plain   matrices or columns that are not aligned
 */

/*
 * Thresholds count the rows of all matrices of a launch. A launch has a
 * workgroup for each row times one column, for every two rows times more;
 * groups_of<N, rows> is the number of workgroups for `rows` times N columns.
 */
template <int N> constexpr u32 launched_rows = N == 1 ? 1 : 2;
template <int N, u32 rows> constexpr u32 groups_of = rows / launched_rows<N>;

/* `usual` has at least as many rows with one column */
constexpr u32 least_usual = 1200;
/* `few` has at most as many */
constexpr u32 most_few = 1056;
/* the first workgroups make products of fewer rows */
constexpr u32 front_rows = 12000;
template <int N> constexpr u32 bulk_rows = N == 1 ? 20000 : 40000;
/* one column is swept from here on: rows of up to 2048 columns, longer rows */
constexpr u32 short_sweep_rows = 3000, sweep_rows = 6000;
constexpr u32 sweep_workers = 448; /* workgroups */
constexpr int short_columns = 1024, usual_columns = 4096;
/* the shortest rows that are swept with several columns, and with two: in the
 * other ways, fewer workgroups of Q4_0 share a multiprocessor */
constexpr int sweep_columns = 3072;
template <class F> constexpr int sweep_columns_of_two = 2048;
template <> constexpr int sweep_columns_of_two<Q4_0> = 1280;

DEV u32 launched_groups()
{
    return gridDim.x * gridDim.y * gridDim.z;
}

/* Rows of a workgroup: eight with three or four columns of a narrow format,
 * where reading the columns from LDS takes the time; else four. */
template <class F, int N>
constexpr int usual_rows = (N == 3 || N == 4) && PipeLds<F, N, 8, 1>::x_bytes <=
                                                     640
                               ? 8
                               : 4;

#if KPK_SM >= 90
template <class F, int N>
constexpr int sweep_resident = SweepShape<F, N>::resident;
#else
template <class F, int N> constexpr int sweep_resident = 0;
#endif
template <class F, int N> constexpr bool has_sweep = sweep_resident<F, N> != 0;

/* A way whose run() makes the rows of one job. */
struct JobWay {
    static constexpr bool all_rows = false;
};

template <class F, int N, int Rows, int Stages, bool SamePlace>
struct PipeWay : JobWay {
    static constexpr int rows = Rows;
    typedef PipeLds<F, N, Rows, Stages> Lds;

    static DEV_MEMBER bool in_front()
    {
        return Rows == 8 && launched_groups() < groups_of<N, front_rows>;
    }

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        MatVecPipe<F, N, Rows, Stages, SamePlace>(m, row0).run(lds, m, row0);
    }
};

/* The number of rows from which the matrix unit is faster: 2400 for formats
 * that unpack fast, 8192 for others, where more workgroups hide the unpacking,
 * 14000 for Q2_K, with two scales and two minima to 32 weights; 2000 for eight
 * columns of a format with tables. */
template <class F> struct mma_rows_of {
    static constexpr u32 value =
        F::scale_width == 16 && F::vec_bias != Bias::none ? 14000 : 8192;
};
template <> struct mma_rows_of<Q4_0> {
    static constexpr u32 value = 2400;
};
template <> struct mma_rows_of<Q4_1> : mma_rows_of<Q4_0> {
};
template <> struct mma_rows_of<Q8_0> : mma_rows_of<Q4_0> {
};
template <> struct mma_rows_of<Q4_K> : mma_rows_of<Q4_0> {
};
template <class F, int N>
constexpr u32 mma_rows =
    N == 8 && has_scale_table<F> ? 2000 : mma_rows_of<F>::value;

/* For four columns the matrix unit is faster if rows are many and not long. */
constexpr u32 mma_of_four_rows = 8000;
constexpr int mma_of_four_columns = 4096;
template <class F, int N>
constexpr bool has_mma_of_four =
    N == 4 && F::elems == 256 && has_scale_table<F>;
template <class F, int N>
constexpr bool has_mma = N > 4 || has_mma_of_four<F, N>;

/* A step of wide blocks is long in coming; of the others two stages leave room
 * for more workgroups. */
template <class F> constexpr bool is_wide = F::bytes * 32 / F::elems >= 32;

template <class F, int N> struct MmaWay : JobWay {
    static constexpr int rows = 16, blocks = 8, stages = is_wide<F> ? 3 : 2;
    typedef MmaLds<F, N, blocks, stages> Lds;

    static DEV_MEMBER bool in_front()
    {
        return launched_groups() < groups_of<N, bulk_rows<N>>;
    }
    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        MatVecMma<F, N, blocks, stages>(m, row0).run(lds, m, row0);
    }
};

template <class F, int N>
using UsualWay = PipeWay<F, N, usual_rows<F, N>, 1, true>;

/* `Each` rows a warp, columns too from memory */
template <class F, int N, int Each> struct ShortWay : JobWay {
    static constexpr int rows = vec_warps<N> * Each;
    struct Lds {
    };

    static DEV_MEMBER bool in_front()
    {
        return Each > 1;
    }
    template <typename T>
    static DEV_MEMBER void run(Lds &, const MatVec<T> &m, int row0)
    {
        constexpr int nsums = Each * N;
        const int lane = (int)(threadIdx.x % 32);
        const int row = row0 + Each * (int)threadIdx.y;
        const int total = m.nblocks * F::chunks;
        const u32 row_bytes = (u32)m.nblocks * F::bytes;
        const u8 *x = m.w + (size_t)row * row_bytes;
        const u32 next = row + Each <= m.nrows ? row_bytes : 0;
        float acc[nsums];
        int index;

        if (row >= m.nrows)
            return;
        UNROLL
        for (int i = 0; i < nsums; i++)
            acc[i] = 0.0f;
        NO_UNROLL
        for (int at = lane; at < total; at += 32) {
            const int chunk = at % F::chunks;
            typename F::Raw raw[Each];
            Activations a[N];

            UNROLL
            for (int r = 0; r < Each; r++)
                raw[r] = F::template load<BlockPlace::aligned>(
                    x + (u32)r * next + (size_t)(at / F::chunks) * F::bytes,
                    chunk);
            wait_for_launch_before();
            UNROLL
            for (int col = 0; col < N; col++)
                a[col] =
                    read_activations<F>(reinterpret_cast<const u32 *>(
                                            m.y + (size_t)col * m.y_stride +
                                            (size_t)(at - chunk) * Q8_1::bytes),
                                        chunk);
            UNROLL
            for (int r = 0; r < Each; r++) {
                const Chunk c = F::unpack(raw[r], chunk);

                UNROLL
                for (int col = 0; col < N; col++)
                    acc[r * N + col] =
                        add_product<F>(acc[r * N + col], c, a[col]);
            }
        }

        const float sum = sum_lanes<16>(acc, lane, index);

        const u32 at = (u32)index;
        const u32 col = Each == 1 ? at : at % N, r = Each == 1 ? 0 : at / N;

        if (at < nsums && (Each == 1 || row + (int)r < m.nrows))
            m.dst[(size_t)col * m.dst_stride + (size_t)row + r] =
                convert<T>(sum);
    }
};

template <class F, int N, int Rows, int Each> struct StraightWay {
    static constexpr bool all_rows = true;
    typedef MatVecStraight<F, N, Rows, Each> Way;
    typedef typename Way::Lds Lds;

    u32 lane, warp, job;

    template <typename T>
    DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, bool) const
    {
        if (job * Rows < (u32)m.nrows)
            Way{lane, warp}.run(lds, m, job * Rows);
    }
};

/* two rows a workgroup, so that few rows have more of them */
template <class F, int N> using FewWay = PipeWay<F, N, 2, 1, true>;
template <int N> constexpr bool has_few = N >= 2 && N <= 4;
template <class F, int N> using AnyWay = PipeWay<F, N, 4, 1, false>;
/* three steps in flight if six such workgroups then share the LDS, else two */
template <class F>
using LongWay =
    PipeWay<F, 1, 2, sizeof(PipeLds<F, 1, 2, 3>) <= 36 * 1024 ? 3 : 2, true>;

/* a row at a time, so that registers are few */
template <class F, int N> struct PlainWay : JobWay {
    static constexpr int rows = 4;
    typedef VecLds<N, 1> Lds;

    static DEV_MEMBER constexpr bool in_front()
    {
        return false;
    }

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        NO_UNROLL
        for (int row = row0; row < min_of(row0 + rows, m.nrows); row++) {
            mat_vec_rows<F, N, 1, BlockPlace::anywhere>(lds, m, row);
            __syncthreads(); /* the sums have been read */
        }
    }
};

/* Not for Q8_0, whose bytes take the time: each register counts there. */
template <class F, int N>
constexpr bool has_compact = N == 1 && has_column_chunk<F>;

/* All jobs of a workgroup of a compact grid, one after the other. A loop around
 * the other ways would cost registers there, so Looped is a way of its own. */
template <class Way> struct Looped {
    static constexpr bool all_rows = true;
    static constexpr int rows = Way::rows;

    template <class Lds, typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, bool)
    {
        NO_UNROLL
        for (u64 row0 = (u64)blockIdx.x * rows; row0 < (u64)m.nrows;
             row0 += (u64)gridDim.x * rows) {
            Way::run(lds, m, (int)row0);
            __syncthreads(); /* the sums have been read */
        }
    }
};

#if KPK_SM >= 90
template <class F, int N> struct BulkWay : JobWay {
    static constexpr int rows = BulkShape<F, N>::rows;
    typedef BulkLds<F, N> Lds;

    static DEV_MEMBER constexpr bool in_front()
    {
        return false;
    }

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        MatVecBulk<F, N>(m, row0).run(lds, m);
    }
};
/* Not for blocks of odd sizes: a matrix's end is copied by two bytes. */
template <class F, int N>
constexpr bool has_bulk = F::bytes % 2 == 0 &&
                          (N > 4 ? is_wide<F> : usual_rows<F, N> != 8);

/* How many workgroups of a full grid work. One column: sweep_workers, which
 * leave room for the workgroups without work. Two columns: as many as fit.
 * More: four per multiprocessor. With several columns, groups of rows are
 * spread evenly. */
template <class F, int N> struct SweepWay {
    static constexpr bool all_rows = true;
    static constexpr int rows = SweepLds<F, N>::rows;
    typedef SweepLds<F, N> Lds;

    static DEV_MEMBER u32 workers_of(u32 groups)
    {
        constexpr u32 most = (N == 2 ? sweep_resident<F, N> : 4) * 132;
        const u32 rounds = (groups + most - 1) / most;

        return N == 1 ? sweep_workers : (groups + rounds - 1) / rounds;
    }

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, bool compact)
    {
        const u32 groups = ((u32)m.nrows + rows - 1) / rows;
        const u32 workers =
            min_of(groups, compact ? gridDim.x : workers_of(groups));

        if (blockIdx.x < workers)
            MatVecSweep<F, N>(m, workers).run(lds, m);
    }
};
/* the fewest rows that are swept with several columns */
template <class F> constexpr u32 least_swept = is_wide<F> ? 3584 : 2048;
#else
template <class F, int N> struct BulkWay; /* there is none */
template <class F, int N> constexpr bool has_bulk = false;
template <class F, int N> struct SweepWay; /* there is none */
template <class F> constexpr u32 least_swept = 0;
#endif

/* Whether the copy engine is faster with many rows: not with few columns of a
 * narrow format, but where rows are so short that there is no time for more. */
template <class F, int N> DEV bool is_bulk(int ncols, u32 groups)
{
    if (N == 2 && PipeLds<F, N, 4, 1>::x_bytes <= 704 && ncols > 2048)
        return false;
    return groups >= groups_of<N, bulk_rows<N>>;
}

/* LDS of the ways that some formats or numbers of columns lack */
template <class F, int N, bool Has> struct BulkPart {
};
template <class F, bool Has> struct LongPart {
    typename LongWay<F>::Lds steps;
};
template <class F> struct LongPart<F, false> {
};
template <class F, int N, bool Has> struct SweepPart {
};
template <class F, int N, bool Has> struct MmaPart {
    typename MmaWay<F, N>::Lds steps;
};
template <class F, int N> struct MmaPart<F, N, false> {
};
#if KPK_SM >= 90
template <class F, int N> struct BulkPart<F, N, true> {
    typename BulkWay<F, N>::Lds bulk;
};
template <class F, int N> struct SweepPart<F, N, true> {
    typename SweepWay<F, N>::Lds groups;
};
#endif

template <class F, int N, bool Has> struct FewPart {
    typename FewWay<F, N>::Lds usual;
};
template <class F, int N> struct FewPart<F, N, false> {
};
template <class F, int N, bool Has> struct StraightPart {
    union {
        typename StraightWay<F, N, 4, 1>::Lds four;
        typename StraightWay<F, N, 4, 2>::Lds four_long;
    };
};
template <class F, int N> struct StraightPart<F, N, false> {
};
template <class F, bool Has> struct AlonePart {
    union {
        typename StraightWay<F, 1, 1, 1>::Lds one;
        typename StraightWay<F, 1, 1, 2>::Lds one_long;
        typename StraightWay<F, 1, 2, 2>::Lds two;
    };
};
template <class F> struct AlonePart<F, false> {
};

template <class F, int N> union WaysLds {
    StraightPart<F, N, (N <= 4)> straight;
    AlonePart<F, N == 1> alone;
    typename UsualWay<F, N>::Lds usual;
    typename AnyWay<F, N>::Lds any;
    typename PlainWay<F, N>::Lds plain;
    FewPart<F, N, has_few<N>> few;
    BulkPart<F, N, has_bulk<F, N>> many;
    LongPart<F, N == 1> far;
    MmaPart<F, N, has_mma<F, N>> mma;
    SweepPart<F, N, has_sweep<F, N>> sweep;
};

template <class F, int N, class Fn>
DEV void with_unusual_way(WaysLds<F, N> &lds, int ncols, bool aligned,
                          bool whole, Fn fn)
{
    if constexpr (N == 2) {
        if (ncols <= short_columns && whole) {
            typename ShortWay<F, N, 1>::Lds none;
            typename ShortWay<F, N, 2>::Lds none_of_two;

            if (launched_groups() < groups_of<N, front_rows>)
                fn(ShortWay<F, N, 2>(), none_of_two);
            else
                fn(ShortWay<F, N, 1>(), none);
            return;
        }
    }
    if constexpr (has_few<N>) {
        if (aligned && launched_groups() <= groups_of<N, most_few>) {
            fn(FewWay<F, N>(), lds.few.usual);
            return;
        }
    }
    if (aligned) { /* or one of the next two */
        if constexpr (N == 1)
            fn(LongWay<F>(), lds.far.steps);
        else
            fn(UsualWay<F, N>(), lds.usual);
    } else if (whole) {
        fn(AnyWay<F, N>(), lds.any);
    } else {
        fn(PlainWay<F, N>(), lds.plain);
    }
}

template <class F, int N, class Fn>
DEV void with_sweep(WaysLds<F, N> &lds, Fn fn)
{
    if constexpr (has_sweep<F, N>)
        fn(SweepWay<F, N>(), lds.sweep.groups);
}

/* Whether rows of whole blocks are not a multiple of 16 bytes. */
template <class F> DEV bool is_odd(int ncols)
{
    constexpr int low = F::bytes & -F::bytes; /* greatest power of two in it */

    return low < 16 && (ncols & (F::elems * (16 / min_of(low, 16)) - 1)) != 0;
}

/* whether rows that are aligned to 16 are swept, times one column */
DEV bool is_swept(int ncols, u32 rows)
{
    return rows >= (ncols <= 2048 ? short_sweep_rows : sweep_rows);
}

/* Workgroups that a multiprocessor has LDS for. */
template <class F, int N>
constexpr u32 lds_resident = 228 * 1024 / (1024 + (u32)sizeof(WaysLds<F, N>));
/* Workgroups that a multiprocessor must have registers for. With one column: as
 * many as LDS holds, at most 8; 9 for Q8_0, which has nothing to unpack. */
template <class F>
constexpr u32 one_resident = has_column_chunk<F>
                                 ? min_of(8u, lds_resident<F, 1>)
                                 : 9;
template <class F, int N>
constexpr u32 vec_resident = N == 1                  ? one_resident<F>
                             : has_sweep<F, N>       ? (u32)sweep_resident<F, N>
                             : N == 2                ? 8
                             : usual_rows<F, N> == 8 ? 4
                             : N <= 4                ? 5
                                                     : 8;

/*
 * Products straight from memory: more rows than these are made by other ways.
 *
 *   alone   one column: all rows find a place at once, each in a workgroup of
 *           its own: of up to 8192 columns; if they begin anywhere, though not
 *           all do
 *   pair    one column: two rows a workgroup, which leaves lanes without work:
 *           of up to 4096 columns
 *   front   rows of up to 2048 columns: each of the first workgroups makes four
 *           rows. In larger launches one workgroup in every few makes four: for
 *           up to 1024 columns, narrow formats, and rows that begin anywhere
 */
template <class F> struct Straight {
    static constexpr bool is_narrow = F::elems == 32 && !is_wide<F>;

    static constexpr u32 alone =
        132 * min_of(lds_resident<F, 1>, one_resident<F>);
    static constexpr u32 odd_alone = 1536;
    static constexpr u32 pair = is_wide<F> ? alone : 1056;
    static constexpr u32 front = 3000, long_front = is_wide<F> ? 2000 : front;
    static constexpr u32 spread = has_bulk<F, 1> ? bulk_rows<1> : ~0u;
    static constexpr u32 long_spread = is_narrow ? ~0u : long_front;

    /* Without jumps: at the beginning of a launch a jump costs more than the
     * code it skips. So most launches' question is asked as "not". */
    static DEV_MEMBER bool is_not_short(int ncols, u32 rows)
    {
        return (ncols > 2048) |
               (rows >= (ncols <= 1024 ? spread : long_spread));
    }

    /* For N columns. Unpacking two chunks of a K format is much work for a
     * lane. */
    template <int N> static DEV_MEMBER bool is_too_much(int ncols, u32 groups)
    {
        constexpr u32 most = groups_of<N, front>;
        constexpr u32 long_rows = F::elems == 32 ? front : N == 2 ? 2200 : 600;

        return (ncols > 2048) |
               (groups >= (ncols <= 1024 ? most : groups_of<N, long_rows>));
    }

    /* Whether a launch that is not short loads straight from memory. */
    static DEV_MEMBER bool is_straight(int ncols, u32 rows)
    {
        const bool odd = is_odd<F>(ncols);
        const u32 most = ncols <= 4096 ? pair : odd ? odd_alone : alone;
        const bool few = (ncols > 2048) & (ncols <= 8192) & (rows <= most);

        return few | is_spread(ncols);
    }

    /* many short rows that begin anywhere */
    static DEV_MEMBER bool is_spread(int ncols)
    {
        return !is_narrow &
               ((ncols > 1024) & (ncols <= 2048) & is_odd<F>(ncols));
    }
};

template <class F, class Fn>
DEV void with_straight_way(WaysLds<F, 1> &lds, int ncols, u32 rows, Fn fn)
{
    const u32 lane = threadIdx.x, warp = threadIdx.y, job = blockIdx.x;

    if (!Straight<F>::is_narrow && ncols <= 2048) {
        if (is_working<4, 1>())
            fn(StraightWay<F, 1, 4, 2>{lane, warp, job / work_step<4, 1>},
               lds.straight.four_long);
    } else if (ncols > 4096) {
        fn(StraightWay<F, 1, 1, 2>{lane, warp, job}, lds.alone.one_long);
    } else if (rows <= Straight<F>::alone) {
        fn(StraightWay<F, 1, 1, 1>{lane, warp, job}, lds.alone.one);
    } else {
        fn(StraightWay<F, 1, 2, 2>{lane, warp, job}, lds.alone.two);
    }
}

/* Whether this workgroup of a large grid has no work in the way that computes
 * the product. It then leaves at once, because starting and ending thousands of
 * such workgroups can take longer than the product. */
template <class F> DEV bool has_no_job(int ncols, u32 rows)
{
    if (has_sweep<F, 1> && !is_odd<F>(ncols) && ncols > short_columns)
        return blockIdx.x >= sweep_workers;
    if constexpr (has_bulk<F, 1>)
        if (rows >= bulk_rows<1> && !Straight<F>::is_spread(ncols))
            return !is_working<BulkWay<F, 1>::rows, 1>();
    static_assert(UsualWay<F, 1>::rows == AnyWay<F, 1>::rows, "either of them");
    return ncols <= usual_columns && !is_working<AnyWay<F, 1>::rows, 1>();
}

/* `full` is how many workgroups in x a grid has that is not compact. */
template <class F, int N, class Fn>
DEV void with_copying_way(WaysLds<F, N> &lds, int ncols, u32 odd, u32 full,
                          u32 groups, Fn fn)
{
    const bool whole = (odd & 15) == 0 && (N <= 4 || F::bytes % 2 == 0);
    const bool aligned = whole && !is_odd<F>(ncols);

    if constexpr (N == 1) {
        const bool compact = gridDim.x < full;

        if constexpr (has_sweep<F, N>) {
            if (aligned && ncols > short_columns &&
                (compact || is_swept(ncols, groups))) {
                fn(SweepWay<F, N>(), lds.sweep.groups);
                return;
            }
        }
        if (has_compact<F, N> && compact) {
            if (whole)
                fn(Looped<AnyWay<F, N>>(), lds.any);
            else
                fn(Looped<PlainWay<F, N>>(), lds.plain);
            return;
        }
    }
    if constexpr (has_bulk<F, N>) {
        bool bulk = is_bulk<F, N>(ncols, groups) && whole;

        /* four columns are swept, however many rows there are */
        if constexpr (N == 4 && has_sweep<F, N> && !is_wide<F>)
            bulk = bulk && (ncols < sweep_columns || is_odd<F>(ncols));
        if (bulk) {
            fn(BulkWay<F, N>(), lds.many.bulk);
            return;
        }
    }

    bool unusual = false;

    if constexpr (has_mma_of_four<F, N>) {
        if (aligned && groups >= groups_of<N, mma_of_four_rows> &&
            ncols <= mma_of_four_columns) {
            fn(MmaWay<F, N>(), lds.mma.steps);
            return;
        }
    }

    if constexpr (N == 1) /* not between the two */
        unusual = (u32)(ncols - short_columns - 1) >=
                      (u32)(usual_columns - short_columns) ||
                  groups < groups_of<N, least_usual>;
    else if constexpr (N == 2)
        unusual = ncols <= short_columns || groups <= groups_of<N, most_few>;
    else if constexpr (N <= 4)
        unusual = groups <= groups_of<N, most_few>;
    else
        unusual = groups < groups_of<N, mma_rows<F, N>>;

    /* the compiler lets the last one be the way without jumps */
    if (!aligned || unusual)
        with_unusual_way<F, N>(lds, ncols, aligned, whole, fn);
    else if (N > 1 && has_sweep<F, N> &&
             groups >= groups_of<N, least_swept<F>> &&
             ncols >= (N == 2 ? sweep_columns_of_two<F> : sweep_columns))
        with_sweep<F, N>(lds, fn);
    else if constexpr (N > 4)
        fn(MmaWay<F, N>(), lds.mma.steps);
    else
        fn(UsualWay<F, N>(), lds.usual);
}

/* A short launch executes few instructions before its first load. Its code lies
 * in front: a jump to instructions that are not fetched yet takes longer than
 * the code it skips. */
template <class F, int N, class Fn>
DEV void with_way(int ncols, u32 odd, u32 full, u32 planes, Fn fn)
{
    typedef Straight<F> S;

    const u32 groups = full * planes;
    const bool unusual = ((odd & 15) != 0) | (gridDim.x != full) | (ncols <= 0);
    u32 lane, warp, job;

    __shared__ WaysLds<F, N> lds;

    /* read here, early, so that no use of them waits */
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%tid.y;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(job));
    if constexpr (N == 1) {
        if (unusual | S::is_not_short(ncols, groups)) {
            const bool many = !unusual & is_swept(ncols, groups);

            if (many && has_no_job<F>(ncols, groups))
                return;
            if (!unusual & S::is_straight(ncols, groups))
                with_straight_way<F>(lds, ncols, groups, fn);
            else
                with_copying_way<F, N>(lds, ncols, odd, full, groups, fn);
            return;
        }
        if (groups >= (ncols <= 1024 ? S::front : S::long_front)) {
            if (!is_working<4, 1>())
                return;
            job /= work_step<4, 1>;
            asm volatile("" : "+r"(job)); /* the others take no part */
        }
    }
    if constexpr (N > 4) {
        with_copying_way<F, N>(lds, ncols, odd, full, groups, fn);
    } else {
        if (N > 1 && (unusual | S::template is_too_much<N>(ncols, groups)))
            with_copying_way<F, N>(lds, ncols, odd, full, groups, fn);
        else if (ncols <= 1024)
            fn(StraightWay<F, N, 4, 1>{lane, warp, job}, lds.straight.four);
        else
            fn(StraightWay<F, N, 4, 2>{lane, warp, job},
               lds.straight.four_long);
    }
}

/* The workgroups in x of a grid that is not compact; gridDim.x where no grid of
 * the format may be compact. */
template <class F, int N, int Launched> DEV u32 full_grid(int nrows)
{
    return has_compact<F, N> ? ((u32)nrows + (Launched - 1)) / Launched
                             : gridDim.x;
}

template <class F, int N, int Launched, class Make>
DEV void mat_vec_job(int nrows, int ncols, u32 odd, u32 planes, Make make)
{
    const u32 full = full_grid<F, N, Launched>(nrows);

    with_way<F, N>(ncols, odd, full, planes, [&](auto way, auto &lds) {
        if constexpr (decltype(way)::all_rows) {
            way.run(lds, make(), gridDim.x < full);
        } else {
            constexpr int rows = decltype(way)::rows;
            const bool in_front = way.in_front();
            const int row0 = first_row<rows, Launched>(in_front);

            if (is_working<rows, Launched>(in_front) && row0 < nrows)
                way.run(lds, make(), row0);
        }
    });
}
