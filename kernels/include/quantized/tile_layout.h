/* tile_layout.h - a step of a tiled product: shape, and place in LDS */
#pragma once

#include "dot4.h"
#include "gguf/block.h"
#include "matrix/target_unit.h"

/*
 * Tiled products walk along K in steps of 64 weights, which are two Q8_1 blocks
 * of each column: the blocks of one step stand 32 * group_step / 2 elements
 * apart, so that K formats hold the step's quants of a row in 32 neighbouring
 * bytes.
 *
 *   step s of a row    legacy formats: blocks 2 s and 2 s + 1
 *                      K formats: chunks 2 s and 2 s + 1; their groups 0 match
 *                      Q8_1 block 0 of the step, their groups 1 block 1
 *   IQ4_XS             chunks 2 s and 2 s + 1, each a Q8_1 block
 */
template <class F> struct TileStep {
    static constexpr bool legacy = F::chunks == 1;
    /* whether a chunk is a Q8_1 block */
    static constexpr bool whole = F::group_step == 1;
    static constexpr int scales = 32 / F::scale_width; /* to a Q8_1 block */
    static constexpr int biases = 32 / bias_width<F>::value;

    /* steps of a row of nblocks */
    static DEV_MEMBER int count(int nblocks)
    {
        return legacy ? (nblocks + 1) / 2 : nblocks * (F::chunks / 2);
    }
    /* block of a row and chunk in it of piece 0 or 1 */
    static DEV_MEMBER int block(int step, int piece)
    {
        return legacy ? 2 * step + piece : step / (F::chunks / 2);
    }
    static DEV_MEMBER int chunk(int step, int piece)
    {
        return legacy ? 0 : 2 * (step % (F::chunks / 2)) + piece;
    }
    /* Q8_1 block 0 or 1 */
    static DEV_MEMBER int column_block(int step, int which)
    {
        if (legacy)
            return 2 * step + which;
        if (whole)
            return block(step, 0) * F::chunks + chunk(step, which);
        return block(step, 0) * F::chunks +
               (F::first_group(chunk(step, 0)) + which * F::group_step) / 2;
    }
    /* the place of group g of a piece in the step, in units of 16 elements */
    static DEV_MEMBER int place(int piece, int g)
    {
        return whole ? 2 * piece + g : piece + 2 * g;
    }
};

constexpr int tile_threads = 128;

DEV int tile_thread()
{
    return (int)(threadIdx.y * 32 + threadIdx.x);
}

/*
 * A tile of few columns cuts K into Parts. It has its rows once for each part,
 * with the part's weights, and its columns likewise: tile row r is row
 * r % rows in part r / rows, and tile column c is column c % cols in part
 * c / cols. A part's rows are multiplied by the columns of the same part, and
 * the parts' sums are added at the end (store_parts()). So few rows fill the
 * threads of a workgroup, and a product has enough workgroups for a GPU.
 */
template <int Rows, int Cols, int Parts> struct TileCut {
    static constexpr bool is_cut = Parts > 1;
    static constexpr int tile_rows = Rows, rows = Rows / Parts;
    static constexpr int cols = Cols / Parts, parts = Parts;

    static DEV_MEMBER int row(int tile_row)
    {
        return Parts == 1 ? tile_row : tile_row % rows;
    }
    static DEV_MEMBER int part_of_row(int tile_row)
    {
        return Parts == 1 ? 0 : tile_row / rows;
    }
    static DEV_MEMBER int column(int tile_column)
    {
        return Parts == 1 ? tile_column : tile_column % cols;
    }
    static DEV_MEMBER int part_of_column(int tile_column)
    {
        return Parts == 1 ? 0 : tile_column / cols;
    }
};

/* The blocks of a part, from block `first` of a row on. Blocks behind the end
 * of the row are missing; its last block stands in for them. */
struct PartOfRow {
    int first, total;

    DEV_MEMBER u32 block(int i) const
    {
        return (u32)min_of(first + i, total - 1);
    }
    DEV_MEMBER bool has(int i) const
    {
        return first + i < total;
    }
};

/* Divides K into parts: a row of `total` blocks has parts of `blocks` blocks.
 */
struct RowParts {
    int blocks, total;

    /* part i; each block counts as `each` */
    DEV_MEMBER PartOfRow part(int i, int each = 1) const
    {
        return {i * blocks * each, total * each};
    }
};

/* A part is whole steps. */
template <class F, int Parts> DEV RowParts parts_of_row(int nblocks)
{
    constexpr int unit = Parts > 1 && TileStep<F>::legacy ? 2 : 1;

    if (Parts == 1)
        return {nblocks, nblocks};
    return {(nblocks + unit * Parts - 1) / (unit * Parts) * unit, nblocks};
}

/* Whether matrix instructions multiply the tiles (matrix_unit_tile.h), not
 * dot4(); whether they are WMMA. */
#if KPK_MFMA || KPK_WMMA
constexpr bool tile_has_units = true, tile_has_wmma = KPK_WMMA != 0;
#else
constexpr bool tile_has_units = false, tile_has_wmma = false;
#endif

/* Whether a lane holds one of a row's four pieces, with a part of each block.
 */
constexpr bool tile_has_quarters =
    KPK_MFMA || (KPK_WMMA == 12 && KPK_WMMA_WIDE);

/* 64 quants in 16 words, and for dot4() 4 to bring neighbouring rows to other
 * banks */
constexpr int tile_stride = tile_has_units ? 16 : 20;

/* Sums of integers begin here (matrix_unit_tile.h). */
constexpr u32 tile_magic = 0x4b400000u;
constexpr float tile_magic_float = 0x1.8p23f;

#if KPK_MFMA || KPK_WMMA
/*
 * For matrix instructions a row has four pieces of 16 bytes. Pieces change
 * places from row to row, so that lanes find them in different banks. `eighth`
 * 0..3 of a Q8_1 block are 8 quants, and lie where the lanes' pieces want them:
 *
 *   mfma    a lane has a piece: an eighth of block 0, and the same of block 1
 *   wmma 12 a lane has one of a block's pieces: an eighth of each half
 *   wmma 11 a lane has both pieces of a block
 *   wide    gfx12's in waves of 64: as mfma; where 16 quants have a scale, word
 * i of a half is in piece i (tile_by_words)
 *
 * Block 1 has the halves of its pieces in the opposite order of block 0, so
 * that adjacent threads, each of which stores one half, use different banks.
 */
DEV int tile_piece(int row, int piece)
{
    return row * tile_stride + 4 * (piece ^ (row / 2 % 4));
}

DEV int tile_eighth(int row, int block, int eighth)
{
    if (tile_has_quarters)
        return tile_piece(row, eighth) + 2 * block;
    if (KPK_WMMA == 12)
        return tile_piece(row, 2 * block + eighth % 2) +
               2 * (eighth / 2 ^ block);
    return tile_piece(row, 2 * block + eighth / 2) + 2 * (eighth % 2 ^ block);
}
#endif

/*
 * Whether columns lie in LDS as in memory ("raw"), with the two blocks of a
 * step one behind the other. Targets whose MFMA takes 32 quants in 16 cycles
 * use raw columns for all formats: they need few memory transactions and few
 * instructions. Targets whose MFMA takes 16 quants in 32 cycles use raw columns
 * for weights with a scale for every 16 elements. Other columns lie like rows
 * of x, with their scales as floats.
 *
 * An eighth of a raw block, and of the weights multiplied with it, is two
 * words. With 18 words from column to column, the lanes of a read then use
 * different banks. Instructions with eight bytes per lane read an eighth of
 * block 0, then one of block 1: word first_word(e) and the second word behind
 * it, so that half a block is two eighths. Instructions with a word per lane
 * read words e of both blocks, then words e + 4, half a block each.
 */
#if KPK_TARGET_MFMA >= 3
#define KPK_TILE_RAW 1
template <class F> constexpr bool tile_is_raw = true;
#else
#define KPK_TILE_RAW 0
#if KPK_MFMA
template <class F> constexpr bool tile_is_raw = F::scale_width == 16;
#else
template <class F> constexpr bool tile_is_raw = false;
#endif
#endif
constexpr bool raw_by_words = !KPK_TILE_RAW;

/* Whether word e of a lane's piece belongs to half e / 2 of block e % 2. Then
 * each instruction multiplies a half block. */
#if KPK_MFMA
template <class F>
constexpr bool tile_by_words = raw_by_words ? tile_is_raw<F> : false;
#elif KPK_WMMA_WIDE
template <class F>
constexpr bool tile_by_words = tile_has_quarters ? F::scale_width == 16 : false;
#endif

/* steps whose biases WMMA adds at once */
constexpr int tile_bias_steps = 8;

constexpr int raw_column = 2 * Q8_1::words;

/* K formats whose weights are an 8-bit integer times d */
template <class F> constexpr bool tile_one_scale = false;

DEV constexpr int first_word(int eighth)
{
    return eighth / 2 * 4 + eighth % 2;
}

template <class F, int Rows, int Cols> struct TileLds {
    static constexpr int scales = 2 * TileStep<F>::scales;
    static constexpr int biases = 2 * TileStep<F>::biases;
    static constexpr bool biased = F::tile_bias != Bias::none;
    static constexpr bool raw = tile_is_raw<F>;
    /* whether the sum of a Q8_1 block, and so a result, may be infinite */
    static constexpr bool asks_finite = F::tile_bias == Bias::stored_sum;
    /* whether all of a block's steps have one scale */
    static constexpr bool one_scale =
        (raw || KPK_WMMA_WIDE) && tile_one_scale<F>;
    /* whether the products of biases and s use f16, with one bias of x for each
     * Q8_1 block; K formats also multiply by dmin */
    static constexpr bool half_biases = raw && F::tile_bias == Bias::stored_sum;
    static constexpr bool minima = (half_biases || KPK_WMMA_WIDE) &&
                                   F::tile_bias == Bias::stored_sum &&
                                   !TileStep<F>::legacy;
    /* the same by WMMA, eight steps at a time, for formats with one bias */
    static constexpr bool step_biases = tile_has_wmma &&
                                        F::tile_bias == Bias::stored_sum &&
                                        TileStep<F>::legacy;
    /* the unit of the sums: the factor between d and the bias, if there is
     * one */
    static DEV_MEMBER constexpr float unit()
    {
        if constexpr ((half_biases || step_biases) && TileStep<F>::legacy)
            return F::bias_factor != 0 ? F::bias_factor : 1;
        else
            return 1;
    }
    /* distance between the scales of a step; they lie in different banks,
     * because adjacent threads store them */
    static constexpr int row_slot = Rows + (tile_has_units ? 16 : 0);
    static constexpr int col_slot = Cols + (tile_has_units ? 16 : 0);
    /* slots of biases; for raw columns neighbours by `which` and by `half` use
     * different banks */
    static constexpr int bias_slots = biases * row_slot + (raw ? 16 : 0);
    static DEV_MEMBER constexpr int bias_at(int which, int half)
    {
        return (2 * which + half) * row_slot + (raw ? 16 * which : 0);
    }

    __attribute__((aligned(16))) u32 x[Rows * tile_stride];
    __attribute__((aligned(16))) u32 y[Cols * (raw ? raw_column : tile_stride)];
    /* [scale of the step][row], [Q8_1 block][column]; y_sum is the factor of
     * the bias with the same number */
    __attribute__((
        aligned(16))) float x_scale[(one_scale ? 1 : scales) * row_slot];
#if KPK_MFMA || KPK_WMMA_WIDE
    /* -tile_magic_float times the scales; sums of quants take the registers
     * that this would need */
    static constexpr bool lesses =
        KPK_WMMA_WIDE || (!minima && F::tile_bias != Bias::quant_sum);
    __attribute__((aligned(
        16))) float x_less[lesses ? (one_scale ? 1 : scales) * row_slot : 4];
#else
    static constexpr bool lesses = false;
#endif
#if KPK_MFMA
    /* [step][row], for two steps: two f16, one per Q8_1 block */
    static constexpr int x_half_slot = row_slot, half_turns = 2;
    __attribute__((aligned(16))) u32 x_half[half_biases ? 2 * row_slot : 4];
#elif KPK_WMMA
    /* [step][row] and [step][column], two f16 for its Q8_1 blocks; four steps
     * on (wide: two, with minima one), neighbouring lanes read from other
     * banks */
    static constexpr int half_gap = !tile_has_quarters ? 4 : minima ? 16 : 8;
    static constexpr int x_half_slot = Rows + half_gap;
    static constexpr int y_half_slot = Cols + half_gap;
    /* with minima, the steps of a block */
    static constexpr int half_turns = minima ? 4 : tile_bias_steps;
    static constexpr bool halves = step_biases || minima;
    u32 x_half[halves ? half_turns * x_half_slot : 4];
    u32 y_half[halves ? half_turns * y_half_slot : 4];
#endif
    static constexpr bool own_biases =
        biased && !half_biases && !step_biases && !minima;
    __attribute__((aligned(16))) float x_bias[own_biases ? bias_slots : 4];
    __attribute__((aligned(16))) float x_min[minima ? row_slot : 4];
    __attribute__((aligned(16))) float y_scale[raw ? 4 : 2 * col_slot];
    __attribute__((
        aligned(16))) float y_sum[own_biases && !raw ? biases * col_slot : 4];

    /* the place of a row's scale; rows 64 apart, which adjacent threads store,
     * use different banks */
    static DEV_MEMBER constexpr int place(int row)
    {
        return raw ? row + row / 64 * 16 : row;
    }
};

/* 16 quants: sixteen 0..3 of a row's step, two to a Q8_1 block */
DEV void store_quants(u32 *lds, int row, int sixteen, const u32 *w)
{
#if KPK_MFMA || KPK_WMMA
    UNROLL
    for (int i = 0; i < 2; i++)
        store_pack(lds + tile_eighth(row, sixteen / 2, sixteen % 2 * 2 + i),
                   Pack<u32, 2>{{w[2 * i], w[2 * i + 1]}});
#else
    store_pack(lds + row * tile_stride + 4 * sixteen,
               Pack<u32, 4>{{w[0], w[1], w[2], w[3]}});
#endif
}

/* A chunk: one block of the step, or half of both. */
template <class F>
DEV void store_chunk(u32 *lds, int row, int piece, const u32 (&q)[8])
{
    typedef TileStep<F> Step;

#if KPK_MFMA || KPK_WMMA_WIDE
    constexpr bool raw = tile_is_raw<F>;

    if constexpr (tile_by_words<F>) { /* half of every piece */
        static_assert(!Step::whole, "halves of both blocks");
        UNROLL
        for (int e = 0; e < 4; e++)
            store_pack(lds + tile_piece(row, e) + 2 * piece,
                       Pack<u32, 2>{{q[e], q[4 + e]}});
        return;
    }
    if constexpr (tile_has_quarters && !Step::whole) { /* two whole pieces */
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int a = raw ? i : 2 * i, b = raw ? a + 2 : a + 1;

            store_pack(lds + tile_piece(row, 2 * piece + i),
                       Pack<u32, 4>{{q[a], q[b], q[4 + a], q[4 + b]}});
        }
        return;
    }
    if constexpr (raw) {
        UNROLL
        for (int e = 0; e < 4; e++)
            store_pack(lds + tile_eighth(row, piece, e),
                       Pack<u32, 2>{{q[first_word(e)], q[first_word(e) + 2]}});
        return;
    }
#endif
    UNROLL
    for (int g = 0; g < 2; g++)
        store_quants(lds, row, Step::place(piece, g), q + 4 * g);
}

/* A block of a column of F's products. */
template <class F>
DEV void store_column(u32 *lds, int col, int which, const u32 *w)
{
#if KPK_WMMA_WIDE
    if constexpr (tile_by_words<F>) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            u32 *at = lds + tile_piece(col, i) + which;
            /* columns eight apart store another half at once: other banks */
            const int half = col / 8 % 2;

            at[2 * half] = half ? w[4 + i] : w[i];
            at[2 - 2 * half] = half ? w[i] : w[4 + i];
        }
        return;
    }
#endif
    store_quants(lds, col, 2 * which, w);
    store_quants(lds, col, 2 * which + 1, w + 4);
}

#if KPK_MFMA
/* d and s of both blocks of a step */
template <class Lds> DEV Pack<u32, 2> column_heads(const Lds &lds, int col)
{
    return {{lds.y[col * raw_column], lds.y[col * raw_column + Q8_1::words]}};
}

/* an eighth of both blocks */
template <class Lds> DEV Piece column_piece(const Lds &lds, int col, int eighth)
{
    const u32 *a = lds.y + col * raw_column + 1 +
                   (raw_by_words ? eighth : first_word(eighth));
    const u32 *b = a + Q8_1::words;

    if (raw_by_words)
        return {{a[0], b[0], a[4], b[4]}};
    return {{a[0], a[2], b[0], b[2]}};
}
#endif

/* One of the f16 of a row or column in a step (TileLds::x_half). The last step
 * stores zeros for missing blocks. */
DEV void store_half(u32 *half, int slot, int at, int step, int which, u32 bits,
                    bool last)
{
    step %= tile_bias_steps;
    reinterpret_cast<u16 *>(half)[2 * (step * slot + at) + which] = (u16)bits;
    if (last)
        for (int k = step + 1; k < tile_bias_steps; k++)
            half[k * slot + at] = 0;
}

/*
 * Adds the parts' sums and stores the part of the tile that exists, of the
 * matrix's x_rows rows and y_cols columns. Overwrites lds.
 */
template <class Cut, class Lds, class Product, class Columns>
DEV void store_parts(Lds &lds, const Product &product, float *dst, int row0,
                     int col0, int x_rows, int y_cols, int dst_stride,
                     const Columns &columns)
{
    constexpr int results = Cut::rows * Cut::cols;
    float *sums = reinterpret_cast<float *>(&lds);

    static_assert(sizeof(float) * Cut::parts * results <= sizeof(Lds));
    __syncthreads();
    product.each([&](int r, int c, float sum) {
        sums[r / Cut::rows * results + c % Cut::cols * Cut::rows +
             r % Cut::rows] = sum;
    });
    __syncthreads();
    UNROLL
    for (int i = columns.thread(); i < results; i += tile_threads) {
        const int r = row0 + i % Cut::rows, c = col0 + i / Cut::rows;
        float sum = 0;

        UNROLL
        for (int p = 0; p < Cut::parts; p++)
            sum += sums[p * results + i];
        if (r < x_rows && c < y_cols)
            dst[(size_t)columns.to(c) * (size_t)dst_stride + (size_t)r] =
                sum * Lds::unit();
    }
    __syncthreads();
}

/* The slot for a column's number. A lane reads the numbers for its results in a
 * unit side by side. */
DEV int tile_column(int col)
{
#if KPK_WMMA == 11
    constexpr int results = (int)unit_results, step = 16 / results;

    return col / 16 * 16 + col % step * results + col % 16 / step;
#else
    return col;
#endif
}
