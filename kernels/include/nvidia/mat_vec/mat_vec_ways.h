/* mat_vec_ways.h - how sm_80 and later make the products of mat_vec.h */
#pragma once

#include "gguf/formats.h"
#include "nvidia/copy/cluster.h"
#include "nvidia/mat_vec/mat_vec_feeds.h"
#include "nvidia/mat_vec/mat_vec_mma.h"

/*
 * The way of a launch is the first row of `ways` that fits the kernel's format
 * and columns and the launch. A way consists of a feed (mat_vec_feeds.h) and
 * its numbers only; a new way is a new row.
 *
 * A launch has a workgroup per row with one column, and per two rows with more
 * columns. An H200 starts at most 1.6 workgroups in a nanosecond, even if they
 * exit at once, and reads 4.2 KB in the same time. So if rows are many, few
 * workgroups compute, and the others exit before anything else, because their
 * instructions delay the computing ones. In a launch of 2 us each instruction
 * before the first load counts, too. A launch tests all rows of `ways` above
 * its own, so the rows for the shortest matrix rows come first, then the rows
 * for which many workgroups exit.
 */
namespace mat_vec_way
{
enum Feed {
    /* numbers of a row of `ways`: rows of a job, and stages or chunks */
    registers, /* loads to registers; the second number is a lane's chunks */
    copies,    /* asynchronous copies to LDS */
    mma,       /* asynchronous copies for the matrix unit; 16 rows */
    bulk,      /* bulk copies of sm_90 */
    plain      /* loads of any alignment, a row at a time */
};

/* Which operands are aligned to 16 bytes: none, the matrix and the columns, or
 * each row of the matrix, too. */
enum Aligned { nothing, matrix, rows };

/* Which workgroups compute. A compact grid has fewer workgroups than rows need:
 * all of its workgroups compute, and each takes more than one job. */
enum Workers {
    own,       /* the first workgroups, a job each. From Row::number rows on one
                * workgroup in every few, because the first ones would all start
                * late. Not for compact grids. */
    each_grid, /* as `own`; in a compact grid all workgroups */
    persistent /* Row::number tenths of a workgroup per multiprocessor */
};

/* Sets of formats: bit i is of row i of GGUF_WEIGHTS. */
#define ROW_OF(name, lower, short, F, ...) row_of_##F,
enum { GGUF_WEIGHTS(ROW_OF) };
#undef ROW_OF
template <class F> constexpr u64 bit_of = 0;
#define BIT_OF(name, lower, short, F, ...)                                     \
    template <> constexpr u64 bit_of<F> = u64(1) << row_of_##F;
GGUF_WEIGHTS(BIT_OF)
#undef BIT_OF
template <class... F> constexpr u64 set_of = (bit_of<F> | ...);

#define OF_32(name, lower, short, F, number, elements, ...)                    \
    | (elements == 32 ? bit_of<F> : 0)
constexpr u64 of_32 = 0 GGUF_WEIGHTS(OF_32), of_256 = ~of_32;
#undef OF_32
constexpr u64 all = ~u64(0), q8 = set_of<Q8_0>, mxfp4 = set_of<MXFP4>;
constexpr u64 nibbles = of_32 & ~q8;
constexpr u64 k = set_of<Q2_K, Q3_K, Q4_K, Q5_K, Q6_K>;
/* formats for which multiplying eight rows takes no longer than reading four
 * columns from LDS */
constexpr u64 narrow =
    set_of<Q4_0, Q4_1, Q2_K, Q3_K, Q4_K, IQ4_NL, IQ4_XS, MXFP4>;
/* formats that take `mma` for five to eight columns from 8192 rows on */
constexpr u64 of_8192 = ~(q8 | mxfp4 | set_of<Q4_0, Q4_1, Q2_K, Q4_K, Q5_K>);
constexpr u64 of_tables = set_of<Q4_K, Q5_K>; /* has_scale_table */

/* Limits of rows count the rows of all matrices of a launch; with the bit
 * `each` set they are rows per multiprocessor. */
constexpr u32 each = 1u << 31; /* alone: as many rows as resident workgroups */
constexpr u32 no_end = each - 1, never = no_end;
constexpr int any = 0x7fffffff;

struct Row {
    int least_columns, most_columns;
    u64 formats;
    Aligned aligned;
    u32 least_rows, most_rows;
    int least_length, most_length; /* weights of a row */
    Feed feed;
    int rows, stages;
    Workers workers;
    u32 number;
};

/* clang-format off */
constexpr Row ways[] = {
    /* columns        aligned rows of a launch    weights of a row */
    /*       formats                                               feed, its numbers   workers */
    {1, 1, all,       matrix,    1, no_end,          1, 1024,      registers, 4, 1,    own,  3001},
    {1, 1, nibbles,   matrix,    1, no_end,       1025, 2048,      registers, 4, 2,    own,  3001},
    {1, 1, ~q8,       rows,   6000, no_end,       1025, any,       bulk,      8, 2,    persistent, 34},
    {1, 1, of_256,    rows,   3001, no_end,       1025, 2048,      bulk,      8, 2,    persistent, 34},
    {1, 1, q8,        rows,  20000, no_end,       1025, any,       bulk,      8, 2,    persistent, 34},
    {1, 1, of_256,    matrix,    1, no_end,       1025, 2048,      registers, 4, 2,    own,  3001},
    {1, 1, q8,        matrix,    1, 3000,         1025, 2048,      registers, 4, 2,    own,  never},
    {1, 1, all,       matrix,    1, each,         2049, 4096,      registers, 1, 1,    own,  never},
    {1, 1, all,       matrix,    1, each | 8,     2049, 4096,      registers, 2, 2,    own,  never},
    {1, 1, all,       rows,      1, each,         4097, 8192,      registers, 1, 2,    own,  never},
    {1, 1, all,       rows,   1200, no_end,       1025, 4096,      copies,    4, 1,    own,  1},
    {1, 1, q8,        rows,      1, no_end,          0, any,       copies,    2, 2,    own,  never},
    {1, 1, ~q8,       rows,      1, no_end,          0, any,       copies,    2, 3,    own,  never},
    {1, 1, all,       matrix,    1, 1536,         4097, 8192,      registers, 1, 2,    own,  never},
    {1, 1, all,       matrix,    1, no_end,          0, any,       copies,    4, 1,    each_grid, 1},
    {1, 1, all,       nothing,   1, no_end,          0, any,       plain,     4, 1,    each_grid, 1},

    {2, 4, all,       matrix,    1, 3000,            1, 1024,      registers, 4, 1,    own,  never},
    {2, 4, of_32,     matrix,    1, 3000,         1025, 2048,      registers, 4, 2,    own,  never},
    {2, 2, of_256,    matrix,    1, 2200,         1025, 2048,      registers, 4, 2,    own,  never},
    {3, 4, of_256,    matrix,    1, 600,          1025, 2048,      registers, 4, 2,    own,  never},
    {2, 2, all,       matrix, 3001, no_end,          1, 1024,      registers, 8, 1,    own,  never},
    {2, 4, all,       rows,      1, each | 8,        0, any,       copies,    2, 1,    own,  never},
    {2, 2, k,         rows,   2048, no_end,       2048, any,       bulk,      8, 2,    persistent, 40},
    {2, 2, q8,        rows,   3584, no_end,       2048, any,       bulk,      8, 2,    persistent, 60},
    {2, 2, set_of<Q4_0>, rows, 2048, no_end,      1280, any,       bulk,      8, 2,    persistent, 40},
    {3, 4, set_of<Q4_0>, rows, 2048, no_end,      3072, any,       bulk,      8, 2,    persistent, 40},
    {4, 4, q8,        rows,  40000, no_end,       3072, any,       mma,      16, 2,    own,  1},
    {3, 4, q8,        rows,   3584, no_end,       3072, any,       bulk,      8, 3,    persistent, 40},
    {4, 4, of_tables, rows,   8000, no_end,          0, 4096,      mma,      16, 2,    own,  40000},
    {4, 4, set_of<Q4_1, Q5_0, Q5_1, Q5_K, Q6_K>,
                      rows,   2048, no_end,       3072, any,       bulk,      8, 2,    persistent, 40},
    {3, 4, narrow,    rows,      1, no_end,          0, any,       copies,    8, 1,    own,  12001},
    {2, 2, all,       rows,      1, no_end,          0, any,       copies,    4, 1,    own,  never},
    {2, 4, all,       matrix,    1, no_end,          0, any,       copies,    4, 1,    own,  never},

    {8, 8, set_of<Q5_K>, rows, 2000, no_end,         0, any,       mma,      16, 2,    own,  40000},
    {5, 8, set_of<Q4_0, Q4_1, Q4_K>, rows, 2000, no_end, 0, any,   mma,      16, 2,    own,  40000},
    {5, 8, q8,        rows,   2400, no_end,          0, any,       mma,      16, 3,    own,  40000},
    {5, 8, set_of<Q2_K>, rows, 14000, no_end,        0, any,       mma,      16, 2,    own,  40000},
    {5, 7, set_of<Q5_K>, rows, 8192, no_end,         0, any,       mma,      16, 2,    own,  40000},
    {5, 8, of_8192,   rows,   8192, no_end,          0, any,       mma,      16, 2,    own,  40000},
    {5, 8, ~mxfp4,    matrix,    1, no_end,          0, any,       copies,    4, 1,    own,  never},
    {2, 8, all,       nothing,   1, no_end,          0, any,       plain,     4, 1,    own,  never},
};
/* clang-format on */
constexpr int nways = sizeof(ways) / sizeof(ways[0]);

/* How many workgroups must fit a multiprocessor's registers. Exiting workgroups
 * hold as many registers as computing ones. */
struct Residents {
    int least_columns, most_columns;
    u64 formats;
    u32 residents;
};

/* clang-format off */
constexpr Residents residents[] = {
    {1, 1, all,          8},
    {2, 2, q8,           6},
    {2, 2, set_of<Q4_0, Q4_K, Q6_K>, 5},
    {2, 2, set_of<Q2_K, Q3_K, Q5_K>, 4},
    {3, 3, q8,           5},
    {3, 3, narrow,       4},
    {4, 4, all,          4},
    {3, 3, all,          5},
};
/* clang-format on */

/* ---- a row's way ---- */

/* loads with any alignment, one row at a time to save registers */
template <class F, int N, int Rows> struct PlainWay {
    typedef VecLds<N, 1> Lds;

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, const Jobs &jobs)
    {
        NO_UNROLL
        for (u32 row0 = jobs.row0; row0 < (u32)m.nrows; row0 += jobs.step) {
            NO_UNROLL
            for (u32 r = 0; r < Rows && row0 + r < (u32)m.nrows; r++) {
                mat_vec_rows<F, N, 1, BlockPlace::anywhere>(lds, m,
                                                            (int)(row0 + r));
                __syncthreads(); /* the sums have been read */
            }
        }
    }
};

template <class F, int N, int I, Feed = ways[I].feed> struct WayOf {
    typedef PlainWay<F, N, ways[I].rows> type;
};
template <class F, int N, int I> struct WayOf<F, N, I, registers> {
    typedef MatVecLoop<F, N, RegisterFeed<F, N, ways[I].rows, ways[I].stages>>
        type;
};
template <class F, int N, int I> struct WayOf<F, N, I, copies> {
    typedef MatVecLoop<
        F, N,
        CopyFeed<F, N, ways[I].rows, ways[I].stages, ways[I].aligned == rows,
                 ways[I].workers == each_grid>>
        type;
};
template <class F, int N, int I> struct WayOf<F, N, I, mma> {
    typedef MatVecLoop<F, N, MmaFeed<F, N, ways[I].stages>> type;
};
#if KPK_SM >= 90
template <class F, int N, int I> struct WayOf<F, N, I, bulk> {
    typedef MatVecLoop<F, N, BulkFeed<F, N, ways[I].rows, ways[I].stages>> type;
};
#endif

/* whether row I is for the kernel */
template <class F, int N, int I> DEV constexpr bool has_way()
{
    constexpr Row w = ways[I];

    return N >= w.least_columns && N <= w.most_columns &&
           (w.formats & bit_of<F>) != 0 && (w.feed != bulk || KPK_SM >= 90);
}

template <class F, int N, int I = 0> DEV constexpr u32 lds_nbytes()
{
    if constexpr (I == nways) {
        return 0;
    } else {
        constexpr u32 later = lds_nbytes<F, N, I + 1>();

        if constexpr (has_way<F, N, I>()) {
            constexpr u32 own = sizeof(typename WayOf<F, N, I>::type::Lds);

            return own > later ? own : later;
        }
        return later;
    }
}

/* Workgroups that a multiprocessor has LDS for. */
template <class F, int N>
constexpr u32 lds_residents = 228 * 1024 / (1024 + lds_nbytes<F, N>());
template <class F, int N> DEV constexpr u32 resident_groups()
{
    for (const Residents &r : residents)
        if (N >= r.least_columns && N <= r.most_columns &&
            (r.formats & bit_of<F>) != 0)
            return N == 1 && r.residents > lds_residents<F, N>
                       ? lds_residents<F, N>
                       : r.residents;
    return 8;
}

/* ---- a launch ---- */

struct Launch {
    int nrows, ncols;
    u32 all_rows; /* of all matrices; very many in a compact grid */
    /* low bits of all addresses and strides but rows', and is_compact */
    u32 irregular;
};
constexpr u32 is_compact = 16;

/* Whether rows of whole blocks are not a multiple of 16 bytes. */
template <class F> DEV bool is_odd(int ncols)
{
    constexpr int low = F::bytes & -F::bytes; /* greatest power of two in it */

    return low < 16 && (ncols & (F::elems * (16 / min_of(low, 16)) - 1)) != 0;
}

/* Whether way I fits the launch. It has no branches: at the start of a launch
 * a branch costs more than the code it skips. */
template <class F, int N, int I> DEV bool takes(const Launch &l)
{
    constexpr Row w = ways[I];
    bool fits = true;

    if (w.least_rows > 1)
        fits &= l.all_rows >= w.least_rows;
    if constexpr (w.most_rows >= each) {
        constexpr u32 of_each =
            w.most_rows != each
                ? w.most_rows - each
                : min_of(resident_groups<F, N>(), lds_residents<F, N>);

        fits &= l.all_rows <= multiprocessors() * of_each;
    } else if (w.most_rows != no_end) {
        fits &= l.all_rows <= w.most_rows;
    }
    fits &= (l.irregular & ((w.aligned == nothing ? 0 : 15) |
                            (w.workers == own ? is_compact : 0))) == 0;
    if (w.aligned == rows)
        fits &= !is_odd<F>(l.ncols);
    if (w.least_length > 0)
        fits &= l.ncols >= w.least_length;
    if (w.most_length != any)
        fits &= l.ncols <= w.most_length;
    return fits;
}

/* If workgroups are spread, one in `apart` computes. These are a few more than
 * there are jobs; the surplus ones have no rows and exit early. */
template <int Launched, int I>
constexpr u32 apart =
    ways[I].rows / Launched > 2 ? ways[I].rows / Launched - 1 : 1;

DEV bool is_compact_grid(const Launch &l)
{
    return (l.irregular & is_compact) != 0;
}

template <int I> DEV bool is_spread(const Launch &l)
{
    constexpr Row w = ways[I];

    return w.number != never && l.all_rows >= w.number &&
           (w.workers == own || !is_compact_grid(l));
}

template <int I> DEV u32 most_workers(const Launch &l)
{
    return ways[I].workers == persistent && !is_compact_grid(l)
               ? multiprocessors() * ways[I].number / 10
               : gridDim.x;
}

template <int Launched, int I> DEV bool has_jobs(const Launch &l)
{
    if constexpr (ways[I].workers != persistent) {
        const bool all_work = !is_spread<I>(l);
        const bool works = blockIdx.x % apart<Launched, I> == 0;

        return all_work | works;
    } else {
        return blockIdx.x < most_workers<I>(l);
    }
}

/* the jobs of a workgroup that has some */
template <int Launched, int I> DEV Jobs jobs_of(const Launch &l)
{
    constexpr Row w = ways[I];
    Jobs jobs;

    /* Each way reads these registers itself, so that the compiler computes
     * nothing from them before takes(). They are read early to hide the
     * latency. */
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(jobs.lane));
    asm volatile("mov.u32 %0, %%tid.y;" : "=r"(jobs.warp));
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(jobs.group));
    jobs.lane %= 32; /* tells the compiler the range */

    u32 group = jobs.group;

    jobs.step = (u32)l.nrows; /* one job */
    if constexpr (w.workers != persistent) {
        constexpr u32 gap = apart<Launched, I>;

        if (gap > 1 && is_spread<I>(l))
            group /= gap;
        if (w.workers == each_grid && is_compact_grid(l))
            jobs.step = gridDim.x * w.rows;
    } else {
        const u32 groups = ((u32)l.nrows + w.rows - 1) / w.rows;
        u32 workers = min_of(groups, most_workers<I>(l));

        if (w.least_columns > 1) {
            const u32 rounds = (groups + workers - 1) / workers;

            workers = (groups + rounds - 1) / rounds; /* equal parts */
        }
        jobs.step = workers * w.rows;
        if (group >= workers)
            group = groups; /* no rows */
    }
    jobs.row0 = group * w.rows;
    return jobs;
}

/* Ends the workgroup without a jump to the kernel's end: starting and ending
 * thousands of workgroups without jobs can take longer than the product. */
DEV void leave_if(bool leaves)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.ne.u32 p, %0, 0;\n\t"
                 "@p exit;\n\t"
                 "}" ::"r"((u32)leaves));
}

template <class F, int N, int Launched, int I = 0, class Make>
DEV void with_way(u8 *lds, const Launch &l, Make make)
{
    if constexpr (I < nways) {
        if constexpr (has_way<F, N, I>()) {
            typedef typename WayOf<F, N, I>::type Way;
            const bool is_taken = takes<F, N, I>(l);

            if (ways[I].number != never)
                leave_if(is_taken & !has_jobs<Launched, I>(l));
            if (is_taken) {
                Way::run(*reinterpret_cast<typename Way::Lds *>(lds), make(),
                         jobs_of<Launched, I>(l));
                return;
            }
        }
        with_way<F, N, Launched, I + 1>(lds, l, make);
    }
}
} // namespace mat_vec_way

template <class F, int N>
constexpr u32 vec_resident = mat_vec_way::resident_groups<F, N>();

/* Computes the workgroup's rows, if it has any. The launch has a workgroup for
 * every `Launched` of the nrows rows of each of `planes` matrices. */
template <class F, int N, int Launched, class Make>
DEV void mat_vec_job(int nrows, int ncols, u32 odd, u32 planes, Make make)
{
    constexpr u32 nbytes = mat_vec_way::lds_nbytes<F, N>();
    constexpr u32 compact = mat_vec_way::is_compact;
    const u32 full = ((u32)nrows + Launched - 1) / Launched;
    mat_vec_way::Launch l = {nrows, ncols, full * Launched * planes, odd & 15};

    if (N == 1 && gridDim.x < full) {
        l.all_rows = mat_vec_way::no_end;
        l.irregular |= compact;
    }
    asm("" : "+r"(l.all_rows), "+r"(l.irregular)); /* computed only once */

    __shared__ __attribute__((aligned(16))) u8 lds[nbytes];

    mat_vec_way::with_way<F, N, Launched>(lds, l, make);
}
