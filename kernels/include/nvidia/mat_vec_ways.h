/* mat_vec_ways.h - how sm_80 and later make the products of mat_vec.h */
#pragma once

#include "nvidia/mat_vec_pipe.h"
#if KPK_SM >= 90
#include "nvidia/mat_vec_bulk.h"
#endif

/*
 * Tuned on an H200, which starts 1.65 workgroups a nanosecond, those that leave
 * at once included, and reads 4.2 KB in that time. A short launch feels each
 * instruction in front of its first copy, and even those of ways it does not
 * take: so they are few.
 *
 *   bulk    (sm_90) so many workgroups that starting them is what takes the
 *           time: one in 16 or more works, and the copy engine feeds it
 *   usual   all rows and columns aligned to 16: a warp has few steps of them,
 *           and what counts is how soon it asks for them
 *   long    one column, longer rows or few of them: steps ahead, half as many
 *           rows a workgroup
 *   any     rows that begin anywhere
 *   plain   matrices or columns that are not aligned
 */
constexpr u32 few_groups = 1200, bulk_groups = 20000;
constexpr int usual_columns = 4096;

/* Of three or four columns eight rows at a time, where the format is narrow:
 * then reading the columns from LDS is what the time goes into. */
template <class F, int N>
constexpr int usual_rows = (N == 3 || N == 4) && PipeLds<F, N, 8, 1>::x_bytes <=
                                                     640
                               ? 8
                               : 4;

/* as many workgroups as a multiprocessor must have registers for */
template <class F, int N>
constexpr int vec_resident = N == 1                  ? 9
                             : N == 2                ? 8
                             : usual_rows<F, N> == 8 ? 4
                             : N <= 4                ? 5
                                                     : 8;

template <class F, int N, int Rows, int Stages, bool SamePlace> struct PipeWay {
    static constexpr int rows = Rows;
    typedef PipeLds<F, N, Rows, Stages> Lds;

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        MatVecPipe<F, N, Rows, Stages, SamePlace>(m, row0).run(lds, m, row0);
    }
};

template <class F, int N>
using UsualWay = PipeWay<F, N, usual_rows<F, N>, 1, true>;
template <class F, int N> using AnyWay = PipeWay<F, N, 4, 1, false>;
/* as many steps on their way as let six such workgroups share the LDS */
template <class F>
using LongWay =
    PipeWay<F, 1, 2, sizeof(PipeLds<F, 1, 2, 3>) <= 36 * 1024 ? 3 : 2, true>;

/* a row at a time, so that registers are few */
template <class F, int N> struct PlainWay {
    static constexpr int rows = 4;
    typedef VecLds<N, 1> Lds;

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

#if KPK_SM >= 90
template <class F, int N> struct BulkWay {
    static constexpr int rows = BulkShape<N>::rows;
    typedef BulkLds<F, N> Lds;

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        MatVecBulk<F, N>(m, row0).run(lds, m.dst, m.dst_stride);
    }
};
template <class F, int N> constexpr bool has_bulk = usual_rows<F, N> != 8;
#else
template <class F, int N> struct BulkWay; /* there is none */
template <class F, int N> constexpr bool has_bulk = false;
#endif

/* Whether the copy engine is faster with many workgroups: not with few columns
 * of a narrow format, but where rows are so short that there is no time for
 * more. */
template <class F, int N> DEV bool is_bulk(int ncols, u32 groups)
{
    if (N == 2 && PipeLds<F, N, 4, 1>::x_bytes <= 704 && ncols > 2048)
        return false;
    return groups >= bulk_groups;
}

/* LDS of the ways that not all have */
template <class F, int N, bool Has> struct BulkPart {
};
template <class F, bool Has> struct LongPart {
    typename LongWay<F>::Lds steps;
};
template <class F> struct LongPart<F, false> {
};
#if KPK_SM >= 90
template <class F, int N> struct BulkPart<F, N, true> {
    typename BulkWay<F, N>::Lds bulk;
};
#endif

template <class F, int N> union WaysLds {
    typename UsualWay<F, N>::Lds usual;
    typename AnyWay<F, N>::Lds any;
    typename PlainWay<F, N>::Lds plain;
    BulkPart<F, N, has_bulk<F, N>> many;
    LongPart<F, N == 1> far;
};

template <class F, int N, class Fn>
DEV void with_unusual_way(WaysLds<F, N> &lds, bool aligned, bool whole, Fn fn)
{
    if constexpr (N == 1) {
        if (aligned) { /* or it were usual */
            fn(LongWay<F>(), lds.far.steps);
            return;
        }
    }
    if (whole)
        fn(AnyWay<F, N>(), lds.any);
    else
        fn(PlainWay<F, N>(), lds.plain);
}

template <class F, int N, class Fn> DEV void with_way(int ncols, u32 odd, Fn fn)
{
    __shared__ WaysLds<F, N> lds;
    const u32 groups = gridDim.x * gridDim.y * gridDim.z;
    const bool whole = (odd & 15) == 0;

    if constexpr (has_bulk<F, N>) {
        if (is_bulk<F, N>(ncols, groups) && whole) {
            fn(BulkWay<F, N>(), lds.many.bulk);
            return;
        }
    }

    const bool aligned = ((odd | (u32)(ncols / F::elems) * F::bytes) & 15) == 0;
    const bool is_long =
        N == 1 && (ncols > usual_columns || groups < few_groups);

    /* the compiler lets this one be the way without jumps, if it comes last */
    if (!aligned || is_long)
        with_unusual_way<F, N>(lds, aligned, whole, fn);
    else
        fn(UsualWay<F, N>(), lds.usual);
}
