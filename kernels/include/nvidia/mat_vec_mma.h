/* mat_vec_mma.h - the products of mat_vec.h on sm_80 for many columns: mma */
#pragma once

#include "early.h"
#include "gguf/k.h"
#include "nvidia/async_copy.h"
#include "nvidia/bulk_product.h"

/*
 * With five columns and more their bytes are as many as those of the rows, so
 * a workgroup takes 16 rows for each copy of them, and the matrix unit
 * multiplies. Its warps take the row's steps of Blocks Q8_1 blocks in turn. A
 * warp copies a step's bytes of all rows and columns to LDS, for itself alone,
 * up to Stages steps ahead. The granules of 16 bytes of all rows are dealt out
 * to the lanes in order, so those of a row are asked for together; where they
 * come from changes from step to step by the same bytes, and is worked out
 * once.
 *
 * The scales of Q4_K and Q5_K are long in unpacking, and four lanes need those
 * of a row. There the lanes of a warp share the work, and put floats in a table
 * before they multiply a step.
 *
 * All rows are aligned to 16, and columns. Nothing behind the matrix is read.
 * The columns' padding is, up to a whole granule.
 */
template <class F> constexpr bool has_scale_table = false;
template <> constexpr bool has_scale_table<Q4_K> = true;
template <> constexpr bool has_scale_table<Q5_K> = true;

template <int Blocks> struct MmaTable {
    /* eight rows, and the two floats that a lane reads of each, lie in
     * different banks */
    static constexpr int stride = 2 * Blocks + 2;

    float d[Blocks][8];     /* of the columns */
    float row[16 * stride]; /* a scale and a bias for each block */
};
template <int Warps, int Blocks, bool Has> struct MmaTables {
};
template <int Warps, int Blocks> struct MmaTables<Warps, Blocks, true> {
    __attribute__((aligned(16))) MmaTable<Blocks> table[Warps];
};

template <class F, int N, int Blocks, int Stages>
struct MmaLds : MmaTables<vec_warps<N>, Blocks, has_scale_table<F>> {
    static constexpr int warps = vec_warps<N>, rows = 16;
    static constexpr int x_bytes = Blocks * 32 / F::elems * F::bytes;
    static constexpr int y_bytes = Blocks * Q8_1::bytes;
    /* of a row, and of a column: an odd number, so that eight of them lie in
     * different banks */
    static constexpr int x_granules =
        (x_bytes + (x_bytes % 16 == 0 ? 0 : 14) + 15) / 16 | 1;
    static constexpr int y_granules = (y_bytes + 15) / 16 | 1;

    static constexpr int x_size = rows * x_granules * 16;

    struct Stage {
        u8 x[x_size];
        u8 y[N * y_granules * 16];
    };

    __attribute__((aligned(16))) Stage stage[warps][Stages];
    float part[warps][rows][8];
};

template <class F, int N, int Blocks, int Stages> struct MatVecMma {
    typedef MmaLds<F, N, Blocks, Stages> Lds;

    static constexpr int warps = vec_warps<N>, rows = Lds::rows;
    static constexpr int x_pieces = (rows * Lds::x_granules + 31) / 32;
    static constexpr int y_pieces = (N * Lds::y_granules + 31) / 32;

    const u8 *x, *y;      /* of the first row and column */
    u32 from_x[x_pieces]; /* how many granules on this lane's are */
    u32 from_y[y_pieces];
    int nblocks; /* Q8_1 blocks of a row */

    template <typename T> DEV_MEMBER MatVecMma(const MatVec<T> &m, int row0)
    {
        const u32 row_bytes = (u32)m.nblocks * F::bytes;
        const int last = min_of(m.nrows - row0, rows) - 1;

        x = m.w + (size_t)row0 * row_bytes;
        y = m.y;
        nblocks = m.nblocks * (F::elems / 32);
        UNROLL
        for (int i = 0; i < x_pieces; i++)
            from_x[i] = (u32)min_of(granule(i) / Lds::x_granules, last) *
                            (row_bytes / 16) +
                        (u32)(granule(i) % Lds::x_granules);
        UNROLL
        for (int i = 0; i < y_pieces; i++)
            from_y[i] = (u32)min_of(granule(i) / Lds::y_granules, N - 1) *
                            (u32)(m.y_stride / 16) +
                        (u32)(granule(i) % Lds::y_granules);
    }

    /* the lane's granule number i of a step */
    static DEV_MEMBER int granule(int i)
    {
        return 32 * i + (int)(threadIdx.x % 32);
    }

    /* where a step begins in the granules that its rows' beginnings are in */
    static DEV_MEMBER u32 step_place(int step)
    {
        return Lds::x_bytes % 16 == 0 ? 0 : (u32)(step * Lds::x_bytes) & 15;
    }

    /* the granules of a step that lie below x_end and y_end; all but those
     * that no row or column has, where Whole */
    template <bool Whole>
    DEV_MEMBER void copy_granules(u32 lds, const u8 *x_step, const u8 *y_step,
                                  int x_end, int y_end) const
    {
        UNROLL
        for (int i = 0; i < x_pieces; i++)
            if ((32 * i + 31 < rows * Lds::x_granules ||
                 granule(i) < rows * Lds::x_granules) &&
                (Whole || granule(i) % Lds::x_granules < x_end))
                async_copy_16<Through::l2>(lds + 512 * i,
                                           x_step + (u64)from_x[i] * 16);
        UNROLL
        for (int i = 0; i < y_pieces; i++)
            if ((32 * i + 31 < N * Lds::y_granules ||
                 granule(i) < N * Lds::y_granules) &&
                (Whole || granule(i) % Lds::y_granules < y_end))
                async_copy_16<Through::l1>(lds + (u32)Lds::x_size + 512 * i,
                                           y_step + (u64)from_y[i] * 16);
    }

    /* brings a step to LDS, if there is one */
    DEV_MEMBER void copy(u32 lds, int step) const
    {
        const int left = nblocks - step * Blocks;
        const u8 *x_step = x + ((u32)(step * Lds::x_bytes) & ~15u);
        const u8 *y_step = y + (u32)(step * Lds::y_bytes);

        /* each granule's address is then one instruction */
        if constexpr (has_scale_table<F>)
            asm("" : "+l"(x_step), "+l"(y_step));
        /* what stands between rows in LDS may hold bytes of the next step */
        if (left > Blocks)
            copy_granules<true>(lds, x_step, y_step, 0, 0);
        else if (left > 0)
            copy_granules<false>(
                lds, x_step, y_step,
                (left * 32 / F::elems * F::bytes + (int)step_place(step) + 15) /
                    16,
                (left * Q8_1::bytes + 15) / 16);
        async_copies_end();
    }

    /* of a step of one block of F, all of which is there */
    static DEV_MEMBER void fill(MmaTable<Blocks> &table,
                                const typename Lds::Stage &in)
    {
        static_assert(Blocks == 8, "a block of F");
        const int lane = (int)(threadIdx.x % 32);
        const u32 *column = reinterpret_cast<const u32 *>(
            in.y + min_of(lane % 8, N - 1) * Lds::y_granules * 16);
        /* each lane has half of a row's blocks */
        const int row = lane / 2, first = 4 * (lane % 2);
        const KHead head =
            KHead::load<BlockPlace::lds>(in.x + row * Lds::x_granules * 16);
        const float d = head.d(), dmin = -head.dmin();
        float *to = table.row + row * table.stride + 2 * first;
        u32 sc, mn;

        UNROLL
        for (int i = 0; i < 2; i++)
            table.d[4 * i + lane / 8][lane % 8] =
                half_to_float(column[(4 * i + lane / 8) * Q8_1::words]);
        head.four_pairs(first != 0, sc, mn);
        UNROLL
        for (int i = 0; i < 4; i++) {
            to[2 * i] = d * byte_of(sc, i);
            to[2 * i + 1] = dmin * byte_of(mn, i);
        }
    }

    /* byte i, without a sign */
    static DEV_MEMBER float byte_of(u32 bytes, int i)
    {
        return bits_as<float>(
                   __byte_perm(bytes, 0x4b000000u, 0x7540u + (u32)i)) -
               0x1p23f;
    }

    /* the products of a step of one block of F, with its table */
    static DEV_MEMBER void multiply_tabled(float (&acc)[4],
                                           const MmaTable<Blocks> &table,
                                           const typename Lds::Stage &in)
    {
        constexpr u32 ones = 0x01010101u,
                      all_ones[4] = {ones, ones, ones, ones};
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 *quants =
            reinterpret_cast<const u32 *>(in.y + min_of(g, N - 1) *
                                                     Lds::y_granules * 16) +
            1 + t;
        const u8 *row = in.x + g * Lds::x_granules * 16;
        const float *scales = table.row + g * table.stride;

        UNROLL
        for (int b = 0; b < Blocks; b++) {
            const u32 y[2] = {quants[9 * b], quants[9 * b + 4]};
            const float2 d =
                *reinterpret_cast<const float2 *>(&table.d[b][2 * t]);
            const float minus[2] = {-sum_start_as_float * d.x,
                                    -sum_start_as_float * d.y};
            u32 x[4];
            int dot[4], total[4];
            float2 scale[2];

            UNROLL
            for (int i = 0; i < 4; i++)
                x[i] = F::template quad<BlockPlace::lds>(
                           row + i % 2 * 8 * Lds::x_granules * 16,
                           b / 2 * 2 + i / 2, b % 2, t)
                           .q;
            UNROLL
            for (int i = 0; i < 2; i++)
                scale[i] = *reinterpret_cast<const float2 *>(
                    scales + i * 8 * table.stride + 2 * b);
            mma_32(total, all_ones, y[0], y[1], sum_start);
            mma_32(dot, x, y[0], y[1], sum_start);

            const float sum[2] = {
                fmaf(bits_as<float>(total[0]), d.x, minus[0]),
                fmaf(bits_as<float>(total[1]), d.y, minus[1])};

            UNROLL
            for (int i = 0; i < 4; i++) {
                acc[i] = fmaf(scale[i / 2].x,
                              fmaf(bits_as<float>(dot[i]), i % 2 ? d.y : d.x,
                                   minus[i % 2]),
                              acc[i]);
                acc[i] = fmaf(scale[i / 2].y, sum[i % 2], acc[i]);
            }
        }
    }

    DEV_MEMBER void multiply(float (&acc)[1][1][4],
                             const typename Lds::Stage &in, int step) const
    {
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const int left = nblocks - step * Blocks;
        BulkView<1> v;

        UNROLL
        for (int i = 0; i < 2; i++) {
            v.row[i] =
                in.x + (g + 8 * i) * Lds::x_granules * 16 + step_place(step);
            v.scale[i] = reinterpret_cast<const u32 *>(
                in.y + min_of(2 * t + i, N - 1) * Lds::y_granules * 16);
        }
        v.quants = reinterpret_cast<const u32 *>(
            in.y + min_of(g, N - 1) * Lds::y_granules * 16);
        if constexpr (F::elems == 32) {
            if (left >= Blocks) {
                UNROLL
                for (int b = 0; b < Blocks; b++)
                    add_block<F, F::vec_bias, 0>(acc, v, b, 0, t);
            } else {
                NO_UNROLL
                for (int b = 0; b < left; b++)
                    add_block<F, F::vec_bias, 0>(acc, v, b, 0, t);
            }
        } else {
            NO_UNROLL
            for (int b = 0; b < min_of(left, Blocks); b += 8) {
                UNROLL
                for (int i = 0; i < 8; i++) {
                    constexpr int apart = F::group_step;

                    add_block<F, F::vec_bias, 0>(
                        acc, v, i / apart * apart + 2 * i % apart,
                        2 * i / apart % 2, t);
                }
                UNROLL
                for (int i = 0; i < 2; i++) {
                    v.row[i] += F::bytes;
                    v.scale[i] += 8 * Q8_1::words;
                }
                v.quants += 8 * Q8_1::words;
            }
        }
    }

    template <typename T>
    DEV_MEMBER void store(const float (&acc)[4], Lds &lds, const MatVec<T> &m,
                          int row0) const
    {
        const int lane = (int)(threadIdx.x % 32), warp = (int)threadIdx.y;

        UNROLL
        for (int i = 0; i < 4; i++)
            lds.part[warp][lane / 4 + i / 2 * 8][2 * (lane & 3) + i % 2] =
                acc[i];
        __syncthreads();
        for (int at = warp * 32 + lane; at < N * rows; at += 32 * warps) {
            const int row = at % rows, col = at / rows;
            float sum = 0;

            UNROLL
            for (int w = 0; w < warps; w++)
                sum += lds.part[w][row][col];
            if (row0 + row < m.nrows)
                m.dst[(size_t)col * m.dst_stride + (size_t)(row0 + row)] =
                    convert<T>(sum);
        }
    }

    template <typename T>
    DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0) const
    {
        constexpr int stage_bytes = (int)sizeof(lds.stage[0][0]);
        const int warp = (int)threadIdx.y;
        const u32 to =
            lds_copy_address(lds.stage[warp][0].x + 16 * (threadIdx.x % 32));
        int place = 0;
        float acc[1][1][4] = {};

        wait_for_launch_before();
        NO_UNROLL
        for (int i = 0; i < Stages; i++)
            copy(to + i * stage_bytes, warp + i * warps);
        NO_UNROLL
        for (int step = warp; step * Blocks < nblocks; step += warps) {
            async_copies_wait<Stages - 1>();
            __syncwarp();
            if constexpr (has_scale_table<F>) {
                fill(lds.table[warp], lds.stage[warp][place]);
                __syncwarp();
                multiply_tabled(acc[0][0], lds.table[warp],
                                lds.stage[warp][place]);
            } else {
                multiply(acc, lds.stage[warp][place], step);
            }
            __syncwarp();
            copy(to + place * stage_bytes, step + Stages * warps);
            place = place + 1 < Stages ? place + 1 : 0;
        }
        store(acc[0][0], lds, m, row0);
    }
};
