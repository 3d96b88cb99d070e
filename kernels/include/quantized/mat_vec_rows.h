/* mat_vec_rows.h - rows of a quantized matrix times columns, by a workgroup */
#pragma once

#include "early.h"
#include "quantized/chunk_dot.h"

/*
 * Warp here means 32 threads with neighbouring threadIdx.x, whatever the wave.
 *
 * Callers launch a workgroup per row or two. A row or two are too little work
 * for a workgroup's own cost, and each workgroup would read all columns again;
 * so one workgroup in a few takes vec_rows rows and the others leave at once.
 * The warps of a workgroup share its rows along K, in steps of 32 Q8_1 blocks:
 * of each row a lane takes one chunk of 32 weights. So even 1024 rows keep 256
 * workgroups of several warps busy, and no warp waits for another before the
 * sums are added up in the end. The columns' blocks of a step lie in LDS, each
 * warp's for itself, as they are: 9 words are an odd stride, so lanes with
 * neighbouring blocks use different banks.
 *
 * A warp has a chunk of each row for each lane in flight: 2.3 KB for 4 rows of
 * q4_0. The weights are loaded before the columns are, so the warp waits for
 * both at once. Addresses behind the row are moved to its last chunk, and their
 * results are not used.
 *
 *   gfx942, 304 CUs: 4096 rows are 1024 workgroups, 3.4 of them to a CU, with
 *   31 KB on their way; the memory's 5.3 TB/s need 17 KB a CU if it answers
 *   within a microsecond. Without dot4() bytes are taken apart, and fewer rows
 *   fit the registers.
 */
template <int N> constexpr int vec_warps = N <= 4 ? 4 : 2; /* as launched */
constexpr int vec_rows = has_dot4 ? 4 : 2;

template <int N, int Rows> struct VecLds {
    static constexpr int blocks = 32; /* Q8_1 blocks of a column in a step */
    static constexpr int column = blocks * Q8_1::words;

    __attribute__((aligned(16))) u32 y[vec_warps<N>][N * column];
    float part[vec_warps<N>][Rows * N];
};

/* Whether 16 bytes may be loaded at once from columns stride bytes apart. */
DEV bool copies_vectors(const u8 *y, size_t stride)
{
    return !KPK_NVIDIA || (is_aligned(y, 16) && stride % 16 == 0);
}

/* Copies nblocks Q8_1 blocks of N columns, stride bytes apart, to a warp's
 * LDS. */
template <int N>
DEV void stage_columns(u32 *lds, const u8 *y, size_t stride, int nblocks)
{
    constexpr int blocks = VecLds<N, 1>::blocks, column = VecLds<N, 1>::column;
    const int lane = (int)(threadIdx.x % 32);
    const int nwords = nblocks * Q8_1::words;

    if (nblocks == blocks && copies_vectors(y, stride)) {
        constexpr int vectors = column / 4;

        UNROLL
        for (int first = 0; first < N * vectors; first += 32) {
            const int at = first + lane, col = at / vectors, i = at % vectors;

            if (at < N * vectors)
                store_pack(lds + col * column + 4 * i,
                           bits_as<Pack<u32, 4>>(load_words<4, Access::vector>(
                               y + col * stride + 16 * i)));
        }
        return;
    }
    NO_UNROLL
    for (int col = 0; col < N; col++) {
        NO_UNROLL
        for (int i = lane; i < nwords; i += 32)
            lds[col * column + i] =
                load_word<Access::word>(y + col * stride + 4 * i);
    }
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

/* A quantized matrix, or one expert's matrix, with its columns and results. */
template <typename T> struct MatVec {
    const u8 *w, *y;
    T *dst;            /* [column, row] */
    int matrix_rows;   /* of w */
    int nrows;         /* rows to compute, as many as dst has */
    int nblocks;       /* of a row */
    size_t y_stride;   /* bytes from column to column */
    size_t dst_stride; /* elements from column to column */
};

/* Adds up the sums of all lanes and warps, and stores them to dst. Warps may
 * call it at different times. */
template <int N, int Rows, int Warps, typename T>
DEV void store_sums(float (&part)[Warps][Rows * N],
                    const float (&acc)[Rows * N], const MatVec<T> &m, int row0)
{
    constexpr int most = Rows * N < 32 ? Rows * N : 32;
    const int lane = (int)(threadIdx.x % 32), warp = (int)threadIdx.y;
    const int tid = warp * 32 + lane;

    UNROLL
    for (int first = 0; first < Rows * N; first += most) {
        float some[most];
        int index;

        UNROLL
        for (int i = 0; i < most; i++)
            some[i] = acc[first + i];

        const float sum = sum_lanes<16>(some, lane, index);

        if (index < most)
            part[warp][first + index] = sum;
    }
    __syncthreads();
    if (tid < Rows * N) {
        const int row = row0 + tid / N;
        float total = 0;

        UNROLL
        for (int i = 0; i < Warps; i++)
            total += part[i][tid];
        if (row < m.nrows)
            m.dst[(size_t)(tid % N) * m.dst_stride + (size_t)row] =
                convert<T>(total);
    }
}

/* dst[col * dst_stride + row] for rows row0 .. row0 + Rows - 1 below nrows, and
 * N columns */
template <class F, int N, int Rows, BlockPlace P, typename T>
DEV void mat_vec_rows(VecLds<N, Rows> &lds, const MatVec<T> &m, int row0)
{
    constexpr int blocks = VecLds<N, Rows>::blocks;
    const int lane = (int)(threadIdx.x % 32), warp = (int)threadIdx.y;
    const int total = m.nblocks * F::chunks;
    const size_t row_bytes = (size_t)m.nblocks * F::bytes;
    u32 *y = lds.y[warp];
    const u8 *row[Rows];
    float acc[Rows * N];

    wait_for_launch_before();
    UNROLL
    for (int r = 0; r < Rows; r++)
        row[r] = m.w + row_bytes * (size_t)min_of(row0 + r, m.nrows - 1);
    UNROLL
    for (int i = 0; i < Rows * N; i++)
        acc[i] = 0.0f;
    NO_UNROLL
    for (int first = warp * blocks; first < total;
         first += vec_warps<N> * blocks) {
        typename F::Raw raw[Rows];
        const int left = total - first, at = min_of(first + lane, total - 1);
        const int chunk = at % F::chunks;

        UNROLL
        for (int r = 0; r < Rows; r++)
            raw[r] = F::template load<P>(
                row[r] + (size_t)(at / F::chunks) * F::bytes, chunk);
        wave_sync(); /* the blocks before have been read */
        stage_columns<N>(y, m.y + (size_t)first * Q8_1::bytes, m.y_stride,
                         min_of(left, blocks));
        wave_sync();
        if (lane >= left)
            break;

        Chunk c[Rows];

        UNROLL
        for (int r = 0; r < Rows; r++)
            c[r] = F::unpack(raw[r], chunk);
        UNROLL
        for (int col = 0; col < N; col++) {
            const Activations a =
                read_activations<F>(y + col * VecLds<N, Rows>::column +
                                        (lane - lane % F::chunks) * Q8_1::words,
                                    chunk);

            UNROLL
            for (int r = 0; r < Rows; r++)
                acc[r * N + col] = add_product<F>(acc[r * N + col], c[r], a);
        }
    }
    store_sums<N, Rows>(lds.part, acc, m, row0);
}

/*
 * Where a workgroup was launched for every Launched rows, one in work_step does
 * the work of Job rows. work_step gives more workers than the work needs: the
 * surplus at the end of the grid leaves at once, while the last workers work.
 * In a small grid the first workgroups may do the work instead, in_front of the
 * others.
 */
template <int Job, int Launched>
constexpr u32 work_step = Job / Launched > 1 ? Job / Launched - 1 : 1;

template <int Job, int Launched> DEV bool is_working(bool in_front = false)
{
    return in_front || blockIdx.x % work_step<Job, Launched> == 0;
}

template <int Job, int Launched> DEV int first_row(bool in_front = false)
{
    return (int)(in_front ? blockIdx.x
                          : blockIdx.x / work_step<Job, Launched>)*Job;
}
