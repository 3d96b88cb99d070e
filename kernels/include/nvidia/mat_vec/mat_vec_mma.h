/* mat_vec_mma.h - 16 rows times Q8_1 columns by the matrix unit */
#pragma once

#include "early.h"
#include "gguf/k.h"
#include "gguf/legacy.h"
#include "nvidia/copy/async_copy.h"
#include "nvidia/mat_vec/mat_vec_loop.h"
#include "nvidia/quantized/q8_1_mma.h"

/*
 * A feed of mat_vec_loop.h. Five columns and more have as many bytes as the
 * rows, so a workgroup takes 16 rows for each copy of the columns. Its warps
 * take the row's steps of 8 Q8_1 blocks in turn. A warp copies a step's bytes
 * of all rows and columns to LDS, for itself alone, up to Stages steps ahead.
 * The granules of 16 bytes of all rows are dealt out to the lanes in order, so
 * a row's granules are asked for together. A lane's addresses move by the same
 * bytes from step to step, and are worked out once.
 *
 * Where a format has a table (has_scale_table), the lanes of a warp share the
 * work on scales and minima: they put the scales of rows and columns there as
 * floats, and read a step's quants to registers before they multiply. So its
 * place in LDS is free early, and the copies that come next are asked for at
 * once. The minima make a separate product by mma with one number for each
 * block instead of 32, in bf16 with each float split in three: exact.
 *
 * All rows are aligned to 16, and columns. Nothing behind the matrix is read.
 * The columns' padding is, up to a whole granule.
 */
template <class F> constexpr bool has_scale_table = false;
template <> constexpr bool has_scale_table<Q4_K> = true;
template <> constexpr bool has_scale_table<Q5_K> = true;

template <bool Has> struct ScaleTable {
};
template <> struct ScaleTable<true> {
    /* eight rows, or the blocks that lanes write at once, lie in different
     * banks */
    static constexpr int stride = 12;

    __attribute__((aligned(16))) float row[16][stride]; /* of rows' blocks */
    u32 minima[16][4];  /* two to a word, bf16 */
    float d[8][stride]; /* of columns' blocks */
    float dmin[16];     /* the rows' factors of minima, negative */
};

template <class F, int N, int Stages> struct MmaFeed {
    static constexpr bool loops = false, on_lanes = false;
    static constexpr int warps = vec_warps<N>, splits = warps, stride = warps;
    static constexpr int rows = 16, blocks = 8, parts = 1, nsums = 4;
    static constexpr int x_bytes = blocks * 32 / F::elems * F::bytes;
    static constexpr int y_bytes = blocks * Q8_1::bytes;
    /* granules of a row and of a column, made odd to keep eight rows in
     * different banks */
    static constexpr int x_granules =
        (x_bytes + (x_bytes % 16 == 0 ? 0 : 14) + 15) / 16 | 1;
    static constexpr int y_granules = (y_bytes + 15) / 16 | 1;
    static constexpr int x_pieces = (rows * x_granules + 31) / 32;
    static constexpr int y_pieces = (N * y_granules + 31) / 32;

    struct Stage {
        u8 x[rows * x_granules * 16];
        u8 y[N * y_granules * 16];
    };

    struct Lds {
        __attribute__((aligned(16))) Stage stage[warps][Stages];
        ScaleTable<has_scale_table<F>> table[warps];
    };

    Stage *const stages; /* the warp's */
    ScaleTable<has_scale_table<F>> &table;
    const u32 lds;        /* address of the stages */
    int place = 0;        /* of the stage to multiply */
    const u8 *x, *y;      /* the first row and column */
    u32 from_x[x_pieces]; /* offsets of this lane's granules, in granules */
    u32 from_y[y_pieces];
    int nblocks; /* Q8_1 blocks of a row */

    template <typename T>
    DEV_MEMBER MmaFeed(Lds &l, const MatVec<T> &m, const Jobs &)
        : stages(l.stage[threadIdx.y]), table(l.table[threadIdx.y]),
          lds(lds_copy_address(stages->x + 16 * (threadIdx.x % 32))),
          nblocks(m.nblocks * (F::elems / 32))
    {
    }

    static DEV_MEMBER u32 split()
    {
        return threadIdx.y;
    }
    static DEV_MEMBER int first()
    {
        return (int)threadIdx.y;
    }
    DEV_MEMBER int steps() const
    {
        return (nblocks + blocks - 1) / blocks;
    }

    template <typename T> DEV_MEMBER void begin(const MatVec<T> &m, u32 row0)
    {
        const u32 row_bytes = (u32)m.nblocks * F::bytes;
        const int last = min_of(m.nrows - (int)row0, rows) - 1;

        x = m.w + (size_t)row0 * row_bytes;
        y = m.y;
        UNROLL
        for (int i = 0; i < x_pieces; i++)
            from_x[i] =
                (u32)min_of(granule(i) / x_granules, last) * (row_bytes / 16) +
                (u32)(granule(i) % x_granules);
        UNROLL
        for (int i = 0; i < y_pieces; i++)
            from_y[i] = (u32)min_of(granule(i) / y_granules, N - 1) *
                            (u32)(m.y_stride / 16) +
                        (u32)(granule(i) % y_granules);
        wait_for_launch_before();
        NO_UNROLL
        for (int i = 0; i < Stages; i++)
            copy(i, first() + i * warps);
    }
    DEV_MEMBER void begin_step(int) const
    {
    }

    /* the lane's granule number i of a step */
    static DEV_MEMBER int granule(int i)
    {
        return 32 * i + (int)(threadIdx.x % 32);
    }

    /* a step's offset in its granule, relative to the row's offset */
    static DEV_MEMBER u32 step_place(int step)
    {
        return x_bytes % 16 == 0 ? 0 : (u32)(step * x_bytes) & 15;
    }

    /* Copies the granules of a step below x_end and y_end; if Whole, all
     * granules. */
    template <bool Whole>
    DEV_MEMBER void copy_granules(u32 to, const u8 *x_step, const u8 *y_step,
                                  int x_end, int y_end) const
    {
        UNROLL
        for (int i = 0; i < x_pieces; i++)
            if ((32 * i + 31 < rows * x_granules ||
                 granule(i) < rows * x_granules) &&
                (Whole || granule(i) % x_granules < x_end))
                async_copy_16<Through::l2>(to + 512 * i,
                                           x_step + (u64)from_x[i] * 16);
        UNROLL
        for (int i = 0; i < y_pieces; i++)
            if ((32 * i + 31 < N * y_granules || granule(i) < N * y_granules) &&
                (Whole || granule(i) % y_granules < y_end))
                async_copy_16<Through::l1>(to + (u32)sizeof(Stage::x) + 512 * i,
                                           y_step + (u64)from_y[i] * 16);
    }

    /* brings a step to LDS, if there is one */
    DEV_MEMBER void copy(int number, int step) const
    {
        const u32 to = lds + (u32)(number * (int)sizeof(Stage));
        const int left = nblocks - step * blocks;
        const u8 *x_step = x + ((u32)(step * x_bytes) & ~15u);
        const u8 *y_step = y + (u32)(step * y_bytes);

        /* keeps the bases: a granule's address then takes one instruction */
        if constexpr (has_scale_table<F>)
            asm("" : "+l"(x_step), "+l"(y_step));
        /* gaps between rows in LDS may get bytes of the next step */
        if (left > blocks)
            copy_granules<true>(to, x_step, y_step, 0, 0);
        else if (left > 0)
            copy_granules<false>(
                to, x_step, y_step,
                (left * 32 / F::elems * F::bytes + (int)step_place(step) + 15) /
                    16,
                (left * Q8_1::bytes + 15) / 16);
        async_copies_end();
    }

    DEV_MEMBER void wait() const
    {
        async_copies_wait<Stages - 1>();
        __syncwarp();
    }
    DEV_MEMBER void multiply(float (&sums)[4], int step) const
    {
        const Stage &in = stages[place];
        const int left = nblocks - step * blocks;

        if constexpr (has_scale_table<F>) {
            Quants q;

            read(q, in, step_place(step));
            fill(q, in, step_place(step));
            __syncwarp();
            copy(place, step + Stages * warps);
            multiply_tabled(sums, q);
        } else {
            multiply_blocks(sums, in, step_place(step), left);
        }
    }
    DEV_MEMBER void release(int step)
    {
        if constexpr (!has_scale_table<F>) {
            __syncwarp();
            copy(place, step + Stages * warps);
        }
        place = place + 1 < Stages ? place + 1 : 0;
    }

    DEV_MEMBER void multiply_blocks(float (&sums)[4], const Stage &in, u32 at,
                                    int left) const
    {
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        float acc[1][1][4];
        BulkView<1> v;

        UNROLL
        for (int i = 0; i < 4; i++)
            acc[0][0][i] = sums[i];
        UNROLL
        for (int i = 0; i < 2; i++) {
            v.row[i] = in.x + (g + 8 * i) * x_granules * 16 + at;
            v.scale[i] = reinterpret_cast<const u32 *>(
                in.y + min_of(2 * t + i, N - 1) * y_granules * 16);
        }
        v.quants = column_of(in);
        v.tiles = 1;
        if constexpr (F::elems == 32) {
            if (left >= blocks) {
                UNROLL
                for (int b = 0; b < blocks; b++)
                    add_block<F, F::vec_bias, 0>(acc, v, b, 0, t);
            } else {
                NO_UNROLL
                for (int b = 0; b < left; b++)
                    add_block<F, F::vec_bias, 0>(acc, v, b, 0, t);
            }
        } else {
            constexpr int apart = F::group_step;

            UNROLL
            for (int i = 0; i < 8; i++)
                add_block<F, F::vec_bias, 0>(acc, v,
                                             i / apart * apart + 2 * i % apart,
                                             2 * i / apart % 2, t);
        }
        UNROLL
        for (int i = 0; i < 4; i++)
            sums[i] = acc[0][0][i];
    }

    static DEV_MEMBER const u32 *column_of(const Stage &in)
    {
        return reinterpret_cast<const u32 *>(
            in.y +
            min_of((int)(threadIdx.x % 32) / 4, N - 1) * y_granules * 16);
    }

    /* ---- by the table ---- */

    /* Lane l's operands of a step, besides the table: quants, and d of blocks
     * 2 (l % 4) and 2 (l % 4) + 1 in column l / 4. */
    struct Quants {
        u32 x[blocks][4], y[blocks][2];
        float d[2];
    };

    static DEV_MEMBER void read(Quants &q, const Stage &in, u32 at)
    {
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 *quants = column_of(in) + 1 + t;
        const u8 *row = in.x + g * x_granules * 16 + at;

        UNROLL
        for (int b = 0; b < blocks; b++) {
            UNROLL
            for (int i = 0; i < 2; i++)
                q.y[b][i] = quants[9 * b + 4 * i];
            UNROLL
            for (int i = 0; i < 4; i++)
                q.x[b][i] = F::template quad<BlockPlace::lds>(
                                row + i % 2 * 8 * x_granules * 16,
                                b / 2 * 2 + i / 2, b % 2, t)
                                .q;
        }
    }

    /* fills in the table of a step */
    DEV_MEMBER void fill(Quants &q, const Stage &in, u32 at) const
    {
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 *column = column_of(in) + 2 * t * Q8_1::words;
        /* each lane has half of a row's blocks */
        const int row = lane / 2, first = 4 * (lane % 2);
        const KHead head =
            KHead::load<BlockPlace::lds>(in.x + row * x_granules * 16 + at);
        const float scale = head.d(), start = -0x1p23f * scale;
        u32 sc, mn;
        float d[4];

        UNROLL
        for (int i = 0; i < 2; i++) {
            q.d[i] = half_to_float(column[i * Q8_1::words]);
            table.d[2 * t + i][g] = q.d[i];
        }
        head.four_pairs(first != 0, sc, mn);
        UNROLL
        for (int i = 0; i < 4; i++)
            d[i] = fmaf(
                bits_as<float>(__byte_perm(sc, 0x4b000000u, 0x7540u + (u32)i)),
                scale, start);
        *reinterpret_cast<float4 *>(&table.row[row][first]) =
            make_float4(d[0], d[1], d[2], d[3]);
        *reinterpret_cast<uint2 *>(&table.minima[row][first / 2]) =
            make_uint2(bf16_of_bytes(mn, 0), bf16_of_bytes(mn, 1));
        if (first == 0)
            table.dmin[row] = -head.dmin();
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

    /* acc plus the table's minima times the column's word of this lane */
    static DEV_MEMBER void add_minima(float (&acc)[4], const u32 (&minima)[2],
                                      u32 column)
    {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
            : "r"(minima[0]), "r"(minima[1]), "r"(column));
    }

    /* d times the sums of the quants of column l / 4, blocks 2 (l % 4) and the
     * next */
    static DEV_MEMBER void column_sums(float (&sum)[2], const Quants &q)
    {
        const int g = (int)(threadIdx.x % 32) / 4;
        int total[4][4] = {}; /* added up side by side */

        UNROLL
        for (int b = 0; b < blocks; b++)
            mma_16_onto(total[b % 4], q.y[b][0], q.y[b][1],
                        g == b ? 0x01010101u : 0);
        UNROLL
        for (int i = 0; i < 2; i++) {
            int of_block = sum_start;

            UNROLL
            for (int j = 0; j < 4; j++)
                of_block += total[j][i] + total[j][2 + i];
            sum[i] = (bits_as<float>(of_block) - sum_start_as_float) * q.d[i];
        }
    }

    /* adds a step's products */
    DEV_MEMBER void multiply_tabled(float (&acc)[4], const Quants &q) const
    {
        const int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane & 3;
        const u32 minima[2] = {table.minima[g][t], table.minima[g + 8][t]};
        float sum[2], of_minima[4] = {};

        column_sums(sum, q);
        UNROLL
        for (int i = 0; i < 3; i++) {
            add_minima(of_minima, minima,
                       __byte_perm(bits_as<u32>(sum[0]), bits_as<u32>(sum[1]),
                                   0x7632));
            UNROLL
            for (int c = 0; c < 2; c++)
                sum[c] -= bits_as<float>(bits_as<u32>(sum[c]) & 0xffff0000u);
        }
        UNROLL
        for (int i = 0; i < 4; i++)
            acc[i] = fmaf(table.dmin[g + i / 2 * 8], of_minima[i], acc[i]);
        UNROLL
        for (int b = 0; b < blocks; b++) {
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
};
