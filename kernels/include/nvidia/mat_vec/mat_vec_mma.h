/* mat_vec_mma.h - the products of mat_vec.h on sm_80 for many columns: mma */
#pragma once

#include "early.h"
#include "gguf/k.h"
#include "gguf/legacy.h"
#include "nvidia/copy/async_copy.h"
#include "nvidia/unit/q8_1_mma.h"
#include "quantized/mat_vec_rows.h"

/*
 * Five columns and more have as many bytes as the rows, so a workgroup takes 16
 * rows for each copy of the columns, and the matrix unit multiplies. Its warps
 * take the row's steps of Blocks Q8_1 blocks in turn. A warp copies a step's
 * bytes of all rows and columns to LDS, for itself alone, up to Stages steps
 * ahead. The granules of 16 bytes of all rows are dealt out to the lanes in
 * order, so a row's granules are asked for together. A lane's addresses move by
 * the same bytes from step to step, and are worked out once.
 *
 * Where a format has a table (has_scale_table), the lanes of a warp share the
 * work on scales and biases: they put the scales of rows and columns there as
 * floats, and read a step's quants to registers before they multiply. So its
 * place in LDS is free early, and the copies that come next are asked for at
 * once. The biases make a separate product by mma with one number for each
 * block instead of 32: in f16, or in bf16 with each float split in three. Both
 * are exact.
 *
 * All rows are aligned to 16, and columns. Nothing behind the matrix is read.
 * The columns' padding is, up to a whole granule.
 */
template <class F> constexpr bool has_scale_table = false;
template <> constexpr bool has_scale_table<Q4_0> = true;
template <> constexpr bool has_scale_table<Q4_K> = true;
template <> constexpr bool has_scale_table<Q5_K> = true;

template <int Blocks> struct MmaTable {
    /* eight rows, or the blocks that lanes write at once, lie in different
     * banks */
    static constexpr int stride = 12;

    float row[16][stride];    /* scales of the rows' blocks */
    u32 bias[16][Blocks / 2]; /* biases, two to a word, f16 or bf16 */
    float d[Blocks][stride];  /* the columns' scales */
    float dmin[16];           /* the rows' factors of biases, negative */
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
    /* granules of a row, and of a column: odd numbers, so that eight rows lie
     * in different banks */
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

    const u8 *x, *y;      /* the first row and column */
    u32 from_x[x_pieces]; /* offsets of this lane's granules, in granules */
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

    /* Copies the granules of a step below x_end and y_end; if Whole, all
     * granules. */
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

        /* keeps the bases: a granule's address then takes one instruction */
        if constexpr (has_scale_table<F>)
            asm("" : "+l"(x_step), "+l"(y_step));
        /* gaps between rows in LDS may get bytes of the next step */
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

    /* A lane's registers for a step, besides the table: its quants, and d and s
     * of blocks 2 (l % 4) and the next in column l / 4. */
    struct Quants {
        u32 x[Blocks][4], y[Blocks][2];
        u32 of_column[2];
    };

    static DEV_MEMBER const u32 *column_of(const typename Lds::Stage &in)
    {
        return reinterpret_cast<const u32 *>(
            in.y +
            min_of((int)(threadIdx.x % 32) / 4, N - 1) * Lds::y_granules * 16);
    }

    static DEV_MEMBER void read(Quants &q, const typename Lds::Stage &in,
                                int place)
    {
        constexpr bool legacy = F::elems == 32;
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 *quants = column_of(in) + 1 + t;
        const u8 *row = in.x + g * Lds::x_granules * 16 + place;

        UNROLL
        for (int b = 0; b < Blocks; b++) {
            UNROLL
            for (int i = 0; i < 2; i++)
                q.y[b][i] = quants[9 * b + 4 * i];
            UNROLL
            for (int i = 0; i < 4; i++)
                q.x[b][i] = F::template quad<BlockPlace::lds>(
                                row + i % 2 * 8 * Lds::x_granules * 16 +
                                    (legacy ? b * F::bytes : 0),
                                legacy ? 0 : b / 2 * 2 + i / 2,
                                legacy ? i / 2 : b % 2, t)
                                .q;
        }
    }

    /* Fills in the table of a step; blocks behind the first `left` count 0. */
    static DEV_MEMBER void fill(MmaTable<Blocks> &table, Quants &q,
                                const typename Lds::Stage &in, int place,
                                int left)
    {
        static_assert(Blocks == 8, "a block of 256");
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 *column = column_of(in) + 2 * t * Q8_1::words;
        /* each lane has half of a row's blocks */
        const int row = lane / 2, first = 4 * (lane % 2);
        const u8 *x = in.x + row * Lds::x_granules * 16 + place;
        float d[4];
        u32 bias[2];

        UNROLL
        for (int i = 0; i < 2; i++) {
            q.of_column[i] = 2 * t + i < left ? column[i * Q8_1::words] : 0;
            table.d[2 * t + i][g] = half_to_float(q.of_column[i]);
        }
        if constexpr (F::elems == 32) { /* bias / scale is the same for all */
            u32 head[4];

            UNROLL
            for (int i = 0; i < 4; i++) {
                head[i] = load_u16(x + (first + i) * F::bytes);
                head[i] = first + i < left ? head[i] : 0;
                d[i] = half_to_float(head[i]);
            }
            UNROLL
            for (int i = 0; i < 2; i++)
                bias[i] = __byte_perm(head[2 * i], head[2 * i + 1], 0x5410);
        } else {
            const KHead head = KHead::load<BlockPlace::lds>(x);
            const float scale = head.d(), start = -0x1p23f * scale;
            u32 sc, mn;

            head.four_pairs(first != 0, sc, mn);
            UNROLL
            for (int i = 0; i < 4; i++)
                d[i] = fmaf(bits_as<float>(
                                __byte_perm(sc, 0x4b000000u, 0x7540u + (u32)i)),
                            scale, start);
            UNROLL
            for (int i = 0; i < 2; i++)
                bias[i] = bf16_of_bytes(mn, i);
            if (first == 0)
                table.dmin[row] = -head.dmin();
        }
        *reinterpret_cast<float4 *>(&table.row[row][first]) =
            make_float4(d[0], d[1], d[2], d[3]);
        *reinterpret_cast<uint2 *>(&table.bias[row][first / 2]) =
            make_uint2(bias[0], bias[1]);
    }

    /* the common factor of the sums of biases */
    static DEV_MEMBER constexpr float bias_factor()
    {
        if constexpr (F::elems == 32)
            return F::bias_factor;
        return 1;
    }

    /* bytes 2 i and 2 i + 1, which are below 128, as bf16 */
    static DEV_MEMBER u32 bf16_of_bytes(u32 bytes, int i)
    {
        u32 r; /* 128 more, less 128 */

        asm("fma.rn.bf16x2 %0, %1, %2, %3;"
            : "=r"(r)
            : "r"(__byte_perm(bytes, 0x43u, i == 0 ? 0x4140u : 0x4342u)),
              "r"(0x3f803f80u), "r"(0xc300c300u));
        return r;
    }

    /* acc plus the table's biases times the column's word of this lane */
    template <bool Half>
    static DEV_MEMBER void add_biases(float (&acc)[4], const u32 (&bias)[2],
                                      u32 column)
    {
        if constexpr (Half)
            asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                : "r"(bias[0]), "r"(bias[1]), "r"(column));
        else
            asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
                "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                : "r"(bias[0]), "r"(bias[1]), "r"(column));
    }

    /* d times the sums of the quants of column l / 4, blocks 2 (l % 4) and the
     * next */
    static DEV_MEMBER void column_sums(float (&sum)[2], const Quants &q)
    {
        const int g = (int)(threadIdx.x % 32) / 4;
        int total[4][4] = {}; /* added up side by side */

        UNROLL
        for (int b = 0; b < Blocks; b++)
            mma_16_onto(total[b % 4], q.y[b][0], q.y[b][1],
                        g == b ? 0x01010101u : 0);
        UNROLL
        for (int i = 0; i < 2; i++) {
            int of_block = sum_start;

            UNROLL
            for (int j = 0; j < 4; j++)
                of_block += total[j][i] + total[j][2 + i];
            sum[i] = (bits_as<float>(of_block) - sum_start_as_float) *
                     half_to_float(q.of_column[i]);
        }
    }

    /* adds a step's products to acc, and the biases' products to biased */
    static DEV_MEMBER void multiply_tabled(float (&acc)[4], float (&biased)[4],
                                           const MmaTable<Blocks> &table,
                                           const Quants &q)
    {
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 bias[2] = {table.bias[g][t], table.bias[g + 8][t]};

        if constexpr (F::elems == 32) {
            add_biases<true>(
                biased, bias,
                __byte_perm(q.of_column[0], q.of_column[1], 0x7632));
        } else {
            float sum[2], of_step[4] = {};

            column_sums(sum, q);
            UNROLL
            for (int i = 0; i < 3; i++) { /* exact: three parts of bf16 */
                add_biases<false>(of_step, bias,
                                  __byte_perm(bits_as<u32>(sum[0]),
                                              bits_as<u32>(sum[1]), 0x7632));
                UNROLL
                for (int c = 0; c < 2; c++)
                    sum[c] -=
                        bits_as<float>(bits_as<u32>(sum[c]) & 0xffff0000u);
            }
            UNROLL
            for (int i = 0; i < 4; i++)
                biased[i] =
                    fmaf(table.dmin[g + i / 2 * 8], of_step[i], biased[i]);
        }
        UNROLL
        for (int b = 0; b < Blocks; b++) {
            const float2 d =
                *reinterpret_cast<const float2 *>(&table.d[b][2 * t]);
            const float minus[2] = {-sum_start_as_float * d.x,
                                    -sum_start_as_float * d.y};
            int dot[4];

            mma_32(dot, q.x[b], q.y[b][0], q.y[b][1], sum_start);
            UNROLL
            for (int i = 0; i < 4; i++)
                acc[i] = fmaf(table.row[g + i / 2 * 8][b],
                              fmaf(bits_as<float>(dot[i]), i % 2 ? d.y : d.x,
                                   minus[i % 2]),
                              acc[i]);
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
        for (int first = warp * 32; first < N * rows; first += 32 * warps) {
            const int at = first + lane, row = at % rows, col = at / rows;
            const bool has_one = at < N * rows && row0 + row < m.nrows;
            float sum = 0;

            UNROLL
            for (int w = 0; has_one && w < warps; w++)
                sum += lds.part[w][row][col];
            redo_sums<F>(sum, m, row0 + row, col);
            if (has_one)
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
        float acc[1][1][4] = {}, biased[4] = {};

        wait_for_launch_before();
        NO_UNROLL
        for (int i = 0; i < Stages; i++)
            copy(to + i * stage_bytes, warp + i * warps);
        NO_UNROLL
        for (int step = warp; step * Blocks < nblocks; step += warps) {
            async_copies_wait<Stages - 1>();
            __syncwarp();
            if constexpr (has_scale_table<F>) {
                Quants q;

                read(q, lds.stage[warp][place], step_place(step));
                fill(lds.table[warp], q, lds.stage[warp][place],
                     step_place(step), nblocks - step * Blocks);
                __syncwarp();
                copy(to + place * stage_bytes, step + Stages * warps);
                multiply_tabled(acc[0][0], biased, lds.table[warp], q);
            } else {
                multiply(acc, lds.stage[warp][place], step);
                __syncwarp();
                copy(to + place * stage_bytes, step + Stages * warps);
            }
            place = place + 1 < Stages ? place + 1 : 0;
        }
        if constexpr (has_scale_table<F>) {
            UNROLL
            for (int i = 0; i < 4; i++)
                acc[0][0][i] = fmaf(bias_factor(), biased[i], acc[0][0][i]);
        }
        store(acc[0][0], lds, m, row0);
    }
};
