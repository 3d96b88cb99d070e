/* mat_vec.h - quantised matrix times one to eight columns */
#pragma once

#include "gguf/block.h"

/*
 * Warp here means 32 threads with neighbouring threadIdx.x, whatever the wave.
 *
 * Callers launch a workgroup per row or two. That is too little work for its
 * own cost, so one workgroup in Join takes Warps * Rows rows and the others
 * leave at once; the working ones are spread evenly, so leaving hides behind
 * working. A warp takes Rows whole rows, a lane one chunk of 32 weights of each
 * at a time: no sum crosses a warp. The columns' blocks that Units chunks per
 * lane need lie in LDS, copied as they are: 9 words are an odd stride, so lanes
 * with neighbouring blocks use different banks.
 *
 *   Weights are loaded before the copy, so that Rows * Units chunks are on
 *   their way while the workgroup waits for the columns. Addresses behind the
 *   row are moved to its last chunk, and what they give is not used.
 */
template <int W, int R, int U> struct VecShapeOf {
    static constexpr int warps = W, rows = R, units = U;
};
/* columns: warps as launched, rows per warp, chunks per lane and row. Without
 * dot4() bytes are taken apart, and fewer rows fit the registers. */
#if KPK_SM >= 90
/* only for what mat_vec_bulk.h does not take: few registers are what counts */
template <int N> struct VecShape : VecShapeOf<N <= 4 ? 4 : 2, 1, 1> {
};
#else
constexpr int wide_rows = has_dot4 ? 4 : 2;
template <int N> struct VecShape : VecShapeOf<2, wide_rows, 1> {
};
template <> struct VecShape<1> : VecShapeOf<4, 2, 2> {
};
template <> struct VecShape<2> : VecShapeOf<4, 2, 2> {
};
template <> struct VecShape<3> : VecShapeOf<4, 2, 2> {
};
template <> struct VecShape<4> : VecShapeOf<4, 2, 2> {
};
#endif

template <int N> struct VecLds {
    static constexpr int blocks = 32 * VecShape<N>::units; /* of a column */
    static constexpr int column = blocks * Q8_1::words;
    static constexpr int words = N * column;
};

/* What one column gives to a chunk: 32 quants, d and the factor of the bias of
 * each group. */
struct Activations {
    u32 q[8];
    float d[2], s[2];
};

template <class F>
DEV Activations read_activations(const u32 *blocks, int chunk)
{
    Activations a;

    UNROLL
    for (int g = 0; g < 2; g++) {
        int group = F::first_group(chunk) + g * F::group_step;
        const u32 *b = blocks + (group >> 1) * Q8_1::words;

        a.d[g] = half_to_float(b[0]);
        UNROLL
        for (int i = 0; i < 4; i++)
            a.q[4 * g + i] = b[1 + 4 * (group & 1) + i];
        a.s[g] = 0.0f;
        if constexpr (F::vec_bias == Bias::stored_sum) {
            a.s[g] = half_to_float(b[0] >> 16);
        } else if constexpr (F::vec_bias == Bias::quant_sum) {
            int sum = 0;

            UNROLL
            for (int i = 0; i < 4; i++)
                sum = dot4(a.q[4 * g + i], 0x01010101u, sum);
            a.s[g] = a.d[g] * (float)(sum);
        }
    }
    return a;
}

/* acc plus the product of a chunk with a column */
template <class F>
DEV float add_product(float acc, const Chunk &c, const Activations &a)
{
    int sum[2] = {0, 0};

    UNROLL
    for (int i = 0; i < 8; i++)
        sum[i / 4] = dot4(c.q[i], a.q[i], sum[i / 4]);
    if constexpr (F::group_step == 1) { /* one scale, one Q8_1 block */
        acc = fmaf(c.scale[0], a.d[0] * (float)(sum[0] + sum[1]), acc);
        if constexpr (F::vec_bias != Bias::none)
            acc = fmaf(c.bias[0], a.s[0], acc);
    } else {
        UNROLL
        for (int g = 0; g < 2; g++) {
            acc = fmaf(c.scale[g], a.d[g] * (float)(sum[g]), acc);
            if constexpr (F::vec_bias != Bias::none)
                acc = fmaf(c.bias[g], a.s[g], acc);
        }
    }
    return acc;
}

/* Whether 16 bytes may be loaded at once from columns stride bytes apart. */
DEV bool copies_vectors(const u8 *y, size_t stride)
{
    return !KPK_NVIDIA || (is_aligned(y, 16) && stride % 16 == 0);
}

/* Copies nblocks Q8_1 blocks of N columns, stride bytes apart, to LDS. */
template <int N>
DEV void stage_columns(u32 *lds, const u8 *y, size_t stride, int nblocks)
{
    constexpr int threads = 32 * VecShape<N>::warps;
    constexpr int column = VecLds<N>::column;
    int tid = (int)(threadIdx.y * 32 + threadIdx.x);
    int nwords = nblocks * Q8_1::words;

    if (nblocks == VecLds<N>::blocks && copies_vectors(y, stride)) {
        constexpr int vectors = column / 4;

        UNROLL
        for (int first = 0; first < N * vectors; first += threads) {
            int at = first + tid, col = at / vectors, i = at % vectors;

            if (at < N * vectors)
                store_pack(lds + col * column + 4 * i,
                           bits_as<Pack<u32, 4>>(load_words<4, Access::vector>(
                               y + col * stride + 16 * i)));
        }
        return;
    }
    for (int col = 0; col < N; col++)
        for (int i = tid; i < nwords; i += threads)
            lds[col * column + i] =
                load_word<Access::word>(y + col * stride + 4 * i);
}

/*
 * The sums over 32 lanes of all v, one sum to a lane: its index in v goes to
 * index, a number past the end where the lane has none. Each step halves the
 * values that a lane carries, so 32 sums cost 31 exchanges.
 */
template <int Mask, int C>
DEV float sum_lanes(const float (&v)[C], int lane, int &index)
{
    if constexpr (Mask == 0) {
        static_assert(C == 1, "at most 32 values");
        index = 0;
        return v[0];
    } else {
        constexpr int half = (C + 1) / 2;
        const bool upper = (lane & Mask) != 0;
        float w[half];

        UNROLL
        for (int i = 0; i < half; i++) {
            if constexpr (C == 1) {
                w[i] = v[i] + lane_xor<Mask>(v[i]);
            } else {
                float high =
                    i + half < C ? v[i + half < C ? i + half : 0] : 0.0f;

                w[i] =
                    (upper ? high : v[i]) + lane_xor<Mask>(upper ? v[i] : high);
            }
        }
        float sum = sum_lanes<Mask / 2>(w, lane, index);

        index += upper ? half : 0;
        if (index >= C)
            index = 1 << 20;
        return sum;
    }
}

/*
 * dst[col * dst_stride + row] for rows row0 .. row0 + Warps * Rows - 1 that are
 * less than nrows, all N columns.
 */
template <class F, int N, Place P>
DEV void mat_vec_rows(u32 *lds, const u8 *w, const u8 *y, float *dst, int row0,
                      int nrows, int nblocks, size_t y_stride,
                      size_t dst_stride)
{
    constexpr int rows = VecShape<N>::rows, units = VecShape<N>::units;
    const int lane = (int)(threadIdx.x);
    const int total = nblocks * F::chunks;
    const size_t row_bytes = (size_t)(nblocks)*F::bytes;
    const u8 *row[rows];
    float acc[rows * N];

    row0 += (int)(threadIdx.y) * rows;
    UNROLL
    for (int r = 0; r < rows; r++)
        row[r] = w + row_bytes * (row0 + r < nrows ? row0 + r : nrows - 1);
    UNROLL
    for (int i = 0; i < rows * N; i++)
        acc[i] = 0.0f;

    for (int base = 0; base < total; base += 32 * units) {
        typename F::Raw raw[rows][units];
        int left = total - base;

        UNROLL
        for (int u = 0; u < units; u++) {
            int at = base + 32 * u + lane;

            at = at < total ? at : total - 1;
            UNROLL
            for (int r = 0; r < rows; r++)
                raw[r][u] = F::template load<P>(
                    row[r] + (size_t)(at / F::chunks) * F::bytes,
                    at % F::chunks);
        }
        if (base > 0)
            __syncthreads(); /* the blocks before are still read */
        stage_columns<N>(lds, y + (size_t)(base)*Q8_1::bytes, y_stride,
                         left < VecLds<N>::blocks ? left : VecLds<N>::blocks);
        __syncthreads();
        UNROLL
        for (int u = 0; u < units; u++) {
            int at = 32 * u + lane, chunk = at % F::chunks;
            Chunk c[rows];

            if (at >= left)
                break;
            UNROLL
            for (int r = 0; r < rows; r++)
                c[r] = F::unpack(raw[r][u], chunk);
            UNROLL
            for (int col = 0; col < N; col++) {
                Activations a = read_activations<F>(
                    lds + col * VecLds<N>::column + (at - chunk) * Q8_1::words,
                    chunk);

                UNROLL
                for (int r = 0; r < rows; r++)
                    acc[r * N + col] =
                        add_product<F>(acc[r * N + col], c[r], a);
            }
        }
    }

    int index;
    float sum = sum_lanes<16>(acc, lane, index);

    if (index < rows * N && row0 + index / N < nrows)
        dst[index % N * dst_stride + (size_t)(row0 + index / N)] = sum;
}

/*
 * Where a workgroup was launched for every Launched rows, one in work_step does
 * the work of Job rows. That is more of them than work asks for: what is left
 * at the end of the grid leaves at once, while the last ones work.
 */
template <int Job, int Launched>
constexpr u32 work_step = Job / Launched > 1 ? Job / Launched - 1 : 1;

template <int Job, int Launched> DEV bool is_working()
{
    return blockIdx.x % work_step<Job, Launched> == 0;
}

template <int Job, int Launched> DEV int first_row()
{
    return (int)(blockIdx.x / work_step<Job, Launched>)*Job;
}

/* A matrix in blocks, or an expert of several, and what it makes with columns.
 */
struct MatVec {
    const u8 *w, *y;
    float *dst;        /* [column, row] */
    int matrix_rows;   /* of w */
    int nrows;         /* of them, as many as dst has */
    int nblocks;       /* of a row */
    size_t y_stride;   /* bytes from column to column */
    size_t dst_stride; /* elements from column to column */
};

#if KPK_SM >= 90
#include "nvidia/mat_vec_bulk.h"
#else
/* the rows that a working workgroup makes of N columns */
template <int N> constexpr int job_rows = VecShape<N>::warps *VecShape<N>::rows;

/* rows row0 .. row0 + job_rows<N> - 1 */
template <class F, int N> DEV void mat_vec_job(const MatVec &m, int row0)
{
    __shared__ __attribute__((aligned(16))) u32 lds[VecLds<N>::words];

    with_place(is_aligned(m.w, 16), [&](auto place) {
        mat_vec_rows<F, N, decltype(place)::place>(lds, m.w, m.y, m.dst, row0,
                                                   m.nrows, m.nblocks,
                                                   m.y_stride, m.dst_stride);
    });
}
#endif

/* The kernel for N columns; nrows_y is the columns' stride in elements. */
template <class F, int N>
DEV void mat_vec(const void *vx, const void *vy, float *dst, int ncols_x,
                 int nrows_x, int nrows_y, int nrows_dst)
{
    constexpr int launched = N == 1 ? 1 : 2; /* rows per workgroup */
    const int row0 = first_row<job_rows<N>, launched>();
    const int nrows = nrows_x < nrows_dst ? nrows_x : nrows_dst;

    if (!is_working<job_rows<N>, launched>() || row0 >= nrows)
        return;

    const MatVec m = {static_cast<const u8 *>(vx),
                      static_cast<const u8 *>(vy),
                      dst,
                      nrows_x,
                      nrows,
                      ncols_x / F::elems,
                      (size_t)(nrows_y / Q8_1::elems) * Q8_1::bytes,
                      (size_t)(nrows_dst)};

    mat_vec_job<F, N>(m, row0);
}

/*
 * Mixture of experts: row blockIdx.x of expert ids[task] times the task's own
 * input, or one input per batch entry where input_dim1 is 1.
 * dst [batch, topk, n], grid (n, batch, topk).
 */
template <class F>
DEV void indexed_moe_forward(const void *weights, const void *inputs,
                             const u32 *ids, float *dst, int n, int k,
                             int k_padded, int input_dim1)
{
    const size_t task = (size_t)(blockIdx.y) * gridDim.z + blockIdx.z;
    const size_t input = input_dim1 == 1 ? blockIdx.y : task;
    const size_t blocks = (size_t)(k / F::elems);
    const size_t y_bytes = (size_t)(k_padded / Q8_1::elems) * Q8_1::bytes;
    const int row0 = first_row<job_rows<1>, 1>();

    if (!is_working<job_rows<1>, 1>() || row0 >= n)
        return;

    const MatVec m = {static_cast<const u8 *>(weights) +
                          ids[task] * (size_t)(n)*blocks * F::bytes,
                      static_cast<const u8 *>(inputs) + input * y_bytes,
                      dst + task * (size_t)(n),
                      n,
                      n,
                      (int)(blocks),
                      y_bytes,
                      0};

    mat_vec_job<F, 1>(m, row0);
}
