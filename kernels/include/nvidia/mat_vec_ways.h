/* mat_vec_ways.h - how sm_80 and later make the products of mat_vec.h */
#pragma once

#include "nvidia/mat_vec_pipe.h"
#if KPK_SM >= 90
#include "nvidia/mat_vec_bulk.h"
#endif

/*
 * Tuned on an H200, which starts 1.65 workgroups a nanosecond, those that leave
 * at once included, and reads 4.2 KB in that time.
 *
 *   usual   rows of up to 4096 columns, all of them aligned to 16: a warp has
 *           one step of them, and what counts is how soon it asks for it and
 *           how many ask. One comparison leads there.
 *   long    one column, longer rows: steps ahead, half of the rows
 *   short   as usual, but for rows that begin anywhere
 *   bulk    (sm_90) so many workgroups that starting them is what takes the
 *           time: one in 16 or more works, and the copy engine feeds it
 */
constexpr u32 bulk_groups = 20000;
constexpr int usual_columns = 4096; /* where there is but one column */

/* whatever the addresses are: a row at a time, so that registers are few */
template <class F, int N, typename T>
DEV void mat_vec_plain(VecLds<N, 1> &lds, const MatVec<T> &m, int row0,
                       int rows)
{
    NO_UNROLL
    for (int row = row0; row < min_of(row0 + rows, m.nrows); row++) {
        mat_vec_rows<F, N, 1, Place::anywhere>(lds, m, row);
        __syncthreads(); /* the sums have been read */
    }
}

template <typename T> DEV bool is_copied_whole(const MatVec<T> &m)
{
    return is_aligned(m.w, 16) && is_aligned(m.y, 16) && m.y_stride % 16 == 0;
}

/* all rows and columns aligned to 16 */
template <class F, int N, int Rows, int Stages> struct AlignedWay {
    static constexpr int rows = Rows;
    typedef PipeLds<F, N, Rows, Stages> Lds;

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        MatVecPipe<F, N, Rows, Stages, true>(m, row0).run(lds, m, row0);
    }
};

template <class F, int N, int Rows, int Stages> struct AnyWay {
    static constexpr int rows = Rows;

    union Lds {
        PipeLds<F, N, Rows, Stages> pipe;
        VecLds<N, 1> plain;
    };

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        /* what the matrix ends within is not all its own */
        const bool cut =
            row0 + rows >= m.matrix_rows &&
            (u32)m.nblocks * F::bytes * (u32)m.matrix_rows % 16 != 0;

        if (!is_copied_whole(m) || cut)
            mat_vec_plain<F, N>(lds.plain, m, row0, rows);
        else
            MatVecPipe<F, N, Rows, Stages, false>(m, row0).run(lds.pipe, m,
                                                               row0);
    }
};

/* Of three or four columns eight rows at a time, where the format is narrow:
 * then reading the columns from LDS is what the time goes into. */
template <class F, int N>
constexpr int short_rows = (N == 3 || N == 4) && PipeLds<F, N, 8, 1>::x_bytes <=
                                                     640
                               ? 8
                               : 4;
template <class F, int N>
using UsualWay = AlignedWay<F, N, short_rows<F, N>, 1>;
template <class F, int N> using ShortWay = AnyWay<F, N, short_rows<F, N>, 1>;

/* as many steps on their way as let six such workgroups share the LDS */
template <class F>
constexpr int long_stages = sizeof(PipeLds<F, 1, 2, 3>) <= 36 * 1024 ? 3 : 2;
template <class F> using LongWay = AlignedWay<F, 1, 2, long_stages<F>>;
template <class F> using LongAnyWay = AnyWay<F, 1, 2, long_stages<F>>;

/* as many workgroups as a multiprocessor must have registers for */
template <class F, int N>
constexpr int vec_resident = N == 1                  ? 9
                             : N == 2                ? 8
                             : short_rows<F, N> == 8 ? 4
                             : N <= 4                ? 5
                                                     : 8;

#if KPK_SM >= 90
template <class F, int N> struct BulkWay {
    static constexpr int rows = BulkShape<N>::rows;

    union Lds {
        BulkLds<F, N> bulk;
        VecLds<N, 1> plain;
    };

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        if (is_copied_whole(m))
            MatVecBulk<F, N>(m, row0).run(lds.bulk, m.dst, m.dst_stride);
        else
            mat_vec_plain<F, N>(lds.plain, m, row0, rows);
    }
};
#endif

template <class F, int N> union WaysLds {
    typename UsualWay<F, N>::Lds usual;
    typename ShortWay<F, N>::Lds few;
#if KPK_SM >= 90
    typename BulkWay<F, N>::Lds bulk;
#endif
};
template <class F> union WaysLds<F, 1> {
    typename UsualWay<F, 1>::Lds usual;
    typename ShortWay<F, 1>::Lds few;
    typename LongWay<F>::Lds far;
    typename LongAnyWay<F>::Lds far_any;
#if KPK_SM >= 90
    typename BulkWay<F, 1>::Lds bulk;
#endif
};

template <class F, int N, class Fn>
DEV void with_unusual_way(WaysLds<F, N> &lds, bool many, bool is_long,
                          bool aligned, Fn fn)
{
#if KPK_SM >= 90
    if (many) {
        fn(BulkWay<F, N>(), lds.bulk);
        return;
    }
#endif
    if constexpr (N == 1) {
        if (is_long) {
            if (aligned)
                fn(LongWay<F>(), lds.far);
            else
                fn(LongAnyWay<F>(), lds.far_any);
            return;
        }
    }
    fn(ShortWay<F, N>(), lds.few);
}

template <class F, int N, class Fn> DEV void with_way(int ncols, u32 odd, Fn fn)
{
    __shared__ WaysLds<F, N> lds;
    const bool aligned = ((odd | (u32)(ncols / F::elems) * F::bytes) & 15) == 0;
    const bool is_long = N == 1 && ncols > usual_columns;
    const bool many =
        KPK_SM >= 90 && gridDim.x * gridDim.y * gridDim.z >= bulk_groups;

    /* A short launch feels each jump: the compiler lets the usual way be the
     * one without, if it comes last here. */
    if (!aligned || is_long || many)
        with_unusual_way<F, N>(lds, many, is_long, aligned, fn);
    else
        fn(UsualWay<F, N>(), lds.usual);
}
