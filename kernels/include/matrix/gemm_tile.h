/*
 * gemm_tile.h - computes a tile of C by the matrix units of matrix_unit.h
 *
 * A workgroup computes Size x Size results. It loops over K in steps of 128
 * bytes of A's rows and B's columns: 64 elements of f16, 32 of f32, 16 of f64.
 * A thread loads 64 bytes of each operand to registers while the previous step
 * is multiplied, and then stores them to LDS.
 *
 * If K is not contiguous in memory, a thread loads small blocks and transposes
 * them in registers. Rows beyond the matrix repeat its last rows; their results
 * are not stored. The last, partial step along K, and an operand with fewer
 * rows than a block, are copied to LDS element by element, with zeros behind
 * the end of K.
 *
 * In LDS a row of a step has 8 pieces of 16 bytes. A piece's place in its row
 * depends on the row, so that lanes use different banks: the lanes of a wave
 * read one piece of each row, and write one piece of every fourth row.
 */
#pragma once

#include "matrix/gemm_args.h"

/* ---- LDS ------------------------------------------------------------ */

/* The place of a row's piece, counted in pieces; it repeats every 16 rows. */
template <u32 Step = step_nbytes> DEV u32 piece_at(u32 row, u32 piece)
{
    static_assert(Step == 128 || Step == 64, "a line of LDS, or half of one");
    if (KPK_NVIDIA &&
        Step == 128) /* the part that depends on the row is computed once */
        return (row * step_pieces + (row % 8 ^ row / 8 % 2 * 2)) ^ piece;
    if (Step == 64) /* two rows share a line */
        return row / 2 * step_pieces +
               ((row % 2 * 4 + piece) ^ row / 2 % step_pieces);
    return row * step_pieces + (piece ^ row % 8 ^ row / 8 % 2 * 2);
}

/* ---- an operand's way into LDS -------------------------------------- */

/*
 * Copies steps of one operand from memory to LDS: `Size` rows of A, or columns
 * of B, and `Step` bytes along K. Along: elements along K are neighbours in
 * memory. From: the type of the elements in memory, T in LDS. `extent` rows
 * from row0 on are in the matrix, at least one.
 */
template <typename T, u32 Size, u32 Threads, bool Along, u32 Step = step_nbytes,
          typename From = T>
struct Operand {
    static constexpr u32 step = Step / sizeof(T);
    static constexpr u32 row_pieces = Step / sizeof(Piece);
    /* a thread brings block_k x block_rows elements at a time */
    static constexpr u32 block_k =
        Along ? per16<T>::value : (sizeof(T) == 2 ? 4 : 2);
    static constexpr u32 block_rows = Along ? 1 : 32 / sizeof(T) / block_k;
    static constexpr u32 blocks =
        Size * step / (Threads * block_k * block_rows);
    static constexpr u32 loads = Along ? 1 : block_k;
    static constexpr u32 load_elems = Along ? block_k : block_rows;
    typedef Pack<From, load_elems> Load;

    const From *base; /* at row0 and k 0 */
    const char *next; /* load() reads here, plus each block's offset */
    u32 rows, extent, ld;
    u32 offset[blocks], row[blocks]; /* row: the first one's, less row0 */
    Load in[blocks][loads];

    DEV_MEMBER Operand(const From *matrix, u32 row0, u32 all_rows, u32 leading)
        : base(matrix + row0 * (Along ? (u64)leading : 1)), rows(all_rows),
          extent(all_rows - row0), ld(leading)
    {
    }
    /* Whether load() and store() may be used: offsets fit 32 bits, too. */
    DEV_MEMBER bool has_blocks() const
    {
        return rows >= block_rows && (u64)ld * Size * sizeof(From) < 1u << 31;
    }
    DEV_MEMBER void begin(u32 k0)
    {
        /* the last block may begin in front of row0, and blocks behind it
         * repeat it: see row_in_lds() */
        const u32 lead = rows == extent ? 0 : block_rows - 1;
        const u32 last = lead + extent - block_rows;

        next = reinterpret_cast<const char *>(base - lead +
                                              (Along ? (u64)k0 : (u64)k0 * ld));
        UNROLL
        for (u32 i = 0; i < blocks; i++) {
            const u32 r = min_of(lead + row_of(i), last);

            row[i] = Along ? row_of(i) : r - lead;
            offset[i] = (Along ? r * ld + k_of(i) : k_of(i) * ld + r) *
                        (u32)sizeof(From);
        }
    }
    /* 16 lanes copy 4 blocks along rows by 4 along K, so the lanes' writes go
     * to different banks. */
    static DEV_MEMBER u32 row_of(u32 i)
    {
        const u32 block = threadIdx.x + i * Threads;

        if (Along)
            return block / row_pieces;
        return (block % 4 + block / 16 % 4 * 4 +
                block / 64 % (Size / block_rows / 16) * 16) *
               block_rows;
    }
    static DEV_MEMBER u32 k_of(u32 i)
    {
        const u32 block = threadIdx.x + i * Threads;

        if (Along)
            return block % row_pieces * block_k;
        return (block / 4 % 4 + block / (4 * Size / block_rows) * 4) * block_k;
    }
    DEV_MEMBER void load()
    {
        UNROLL
        for (u32 i = 0; i < blocks; i++) {
            UNROLL
            for (u32 j = 0; j < loads; j++)
                in[i][j] =
                    load_anywhere<load_elems>(reinterpret_cast<const From *>(
                        next + (u64)j * ld * sizeof(From) + offset[i]));
        }
        next += (Along ? step : (u64)step * ld) * sizeof(From);
    }
    DEV_MEMBER void store(u8 *lds) const
    {
        UNROLL
        for (u32 i = 0; i < blocks; i++) {
            UNROLL
            for (u32 r = 0; r < block_rows; r++) {
                Pack<T, block_k> out;

                UNROLL
                for (u32 e = 0; e < block_k; e++)
                    out[e] = convert<T>(Along ? in[i][0][e]
                                              : in[i][Along ? 0 : e][r]);
                store_pack(element(lds, row_in_lds(i, r), k_of(i)), out);
            }
        }
    }
    /*
     * The place of row r of block i in LDS. A block that was moved back begins
     * with rows of the previous block, which are stored behind the matrix's
     * rows. On AMD a block stores only its own rows, so that exactly one thread
     * writes each row.
     */
    DEV_MEMBER u32 row_in_lds(u32 i, u32 r) const
    {
        if (KPK_NVIDIA)
            return (row[i] + r) % Size;
        return row_of(i) + (row[i] + r) % block_rows;
    }
    /* stores the elements that exist one by one, and zeros for the rest */
    DEV_MEMBER void store_ends(u8 *lds, u32 k0, u32 k_end) const
    {
        _Pragma("unroll 4") for (u32 i = threadIdx.x; i < Size * step;
                                 i += Threads)
        {
            const u32 k = Along ? i % step : i / Size;
            const u32 r = Along ? i / step : i % Size;
            T v = {};

            if (r < extent && k < k_end - k0)
                v = convert<T>(Along ? base[(u64)r * ld + k0 + k]
                                     : base[(u64)(k0 + k) * ld + r]);
            *element(lds, r, k) = v;
        }
    }
    static DEV_MEMBER T *element(u8 *lds, u32 r, u32 k)
    {
        constexpr u32 n = per16<T>::value;

        return reinterpret_cast<T *>(lds +
                                     piece_at<Step>(r, k / n) * sizeof(Piece)) +
               k % n;
    }
};

/* ---- the products --------------------------------------------------- */

/* One wave's results of an M x N tile: `rows` x `cols` units. */
template <typename T, u32 M, u32 N, u32 Threads, u32 Step = step_nbytes,
          u32 Across = Threads == 2 * matrix_wave ? 1 : 2>
struct Product {
    typedef Unit<T> U;
    static constexpr u32 row_pieces = Step / sizeof(Piece);
    static constexpr u32 waves = Threads / matrix_wave;
    static constexpr u32 waves_across = Across;
    static constexpr u32 cols = N / waves_across / 16;
    static constexpr u32 rows = M / (waves / waves_across) / 16;

    typename U::D sums[rows][cols];
    u32 row0, col0;

    DEV_MEMBER Product()
    {
        const u32 wave = uniform(threadIdx.x / matrix_wave);

        row0 = wave / waves_across * rows * 16;
        col0 = wave % waves_across * cols * 16;
        UNROLL
        for (u32 i = 0; i < rows; i++) {
            UNROLL
            for (u32 j = 0; j < cols; j++)
                sums[i][j] = typename U::D{};
        }
    }
    DEV_MEMBER void multiply(const u8 *a, const u8 *b)
    {
        if constexpr (U::is_matrix) {
            UNROLL
            for (u32 p = 0; p < row_pieces; p += U::pieces) {
                multiply_unit(a, b, p);
                if (matrix_wave == 32)
                    schedule_fence();
            }
        } else {
            NO_UNROLL
            for (u32 p = 0; p < row_pieces; p += U::pieces)
                multiply_unit(a, b, p);
        }
    }
    DEV_MEMBER void multiply_unit(const u8 *a, const u8 *b, u32 piece0)
    {
        const auto fetch = [=](const u8 *from, u32 unit_row) {
            return [=](u32 row, u32 piece) {
                return load_pack<4>(reinterpret_cast<const u32 *>(
                    from + unit_row * Step +
                    piece_at<Step>(row, piece0 + piece) * sizeof(Piece)));
            };
        };
        /* numbers of 64 bits on FMA already take many registers */
        constexpr u32 batch = U::is_matrix || sizeof(T) < 8 ? rows : 1;

        UNROLL
        for (u32 i0 = 0; i0 < rows; i0 += batch) {
            typename U::A x[batch];

            UNROLL
            for (u32 i = 0; i < batch; i++)
                x[i] = typename U::A(fetch(a, row0 + (i0 + i) * 16));
            UNROLL
            for (u32 j = 0; j < cols; j++) {
                const typename U::B y(fetch(b, col0 + j * 16));

                UNROLL
                for (u32 i = 0; i < batch; i++)
                    U::multiply(sums[i0 + i][j], x[i], y);
            }
            if (batch < rows)
                schedule_fence();
        }
    }
    /*
     * fn(row, column, sum) for each result, neighbouring columns in
     * neighbouring lanes, by way of LDS. All waves take part, and LDS must hold
     * nothing that is still needed.
     */
    template <class Fn> DEV_MEMBER void each(u8 *lds, Fn fn) const
    {
        /* units in a row of LDS, if each wave has one row of units */
        constexpr u32 room =
            (M + N) * Step / waves / 256 / sizeof(typename U::Sum);
        constexpr u32 across = room < cols ? room : cols;
        typename U::Sum *const slab =
            reinterpret_cast<typename U::Sum *>(lds) +
            uniform(threadIdx.x / matrix_wave) * across * 256;

        UNROLL
        for (u32 i = 0; i < rows; i++) {
            UNROLL
            for (u32 j0 = 0; j0 < cols; j0 += across) {
                wave_sync();
                UNROLL
                for (u32 j = 0; j < across; j++) {
                    UNROLL
                    for (u32 e = 0; e < U::results; e++)
                        slab[(U::row(e) * across + j) * 16 + U::col(e)] =
                            sums[i][j0 + j].v[e];
                }
                wave_sync();
                NO_UNROLL
                for (u32 e = lane_id(); e < across * 256; e += matrix_wave)
                    fn(row0 + i * 16 + e / (across * 16),
                       col0 + j0 * 16 + e % (across * 16), slab[e]);
            }
        }
    }
};

/* ---- a tile --------------------------------------------------------- */

/*
 * Adds the products of a and b along K to `product`.
 *
 * flip: the distance in LDS from this step to the next, if LDS has room for
 * two; else 0, and all waves wait until each step has been read.
 */
template <typename T, u32 M, u32 N, u32 Threads, u32 Step, u32 Across, class A,
          class B>
DEV void multiply_along_k(Product<T, M, N, Threads, Step, Across> &product,
                          A &a, B &b, u32 k0, u32 k_end, u8 *lds, u32 flip)
{
    constexpr u32 step = Step / sizeof(T);
    u8 *lds_a = lds, *lds_b = lds + M * Step;
    i32 to_other = (i32)flip;

    if (a.has_blocks() && b.has_blocks() && k_end - k0 >= step) {
        /* numbers of 64 bits on FMA leave no registers for the next step, and
         * take long enough without */
        constexpr bool early = Unit<T>::is_matrix || sizeof(T) < 8;

        a.begin(k0), b.begin(k0);
        if (early)
            a.load(), b.load();
        if (flip) /* wait until the previous tile has been read */
            __syncthreads();
        NO_UNROLL
        for (k0 += step;; k0 += step) {
            const bool more = k_end - k0 >= step;

            if (!early)
                a.load(), b.load();
            if (!flip)
                __syncthreads();
            a.store(lds_a), b.store(lds_b);
            __syncthreads();
            if (early && more)
                a.load(), b.load();
            product.multiply(lds_a, lds_b);
            lds_a += to_other, lds_b += to_other;
            to_other = -to_other;
            if (!more)
                break;
        }
    }
    lds_a = lds, lds_b = lds + M * Step;
    NO_UNROLL
    for (; k0 < k_end; k0 += step) {
        __syncthreads();
        a.store_ends(lds_a, k0, k_end);
        b.store_ends(lds_b, k0, k_end);
        __syncthreads();
        product.multiply(lds_a, lds_b);
    }
    __syncthreads();
}

template <typename T, bool TransA, bool TransB, u32 M, u32 N, u32 Threads,
          u32 Step>
DEV void gemm_tile(const Gemm<T> &gemm, const GemmPart &part, u32 row0,
                   u32 col0, u8 *lds, u32 flip)
{
    const Gemm<T> &g = read_again(gemm);
    Product<T, M, N, Threads, Step> product;
    Operand<T, M, Threads, !TransA, Step> a(g.a + (i64)part.b * g.stride_a,
                                            row0, g.m, g.lda);
    Operand<T, N, Threads, TransB, Step> b(g.b + (i64)part.b * g.stride_b, col0,
                                           g.n, g.ldb);

    multiply_along_k(product, a, b, part.k_begin, part.k_end, lds, flip);

    const Gemm<T> &again = read_again(g);
    const GemmOut<T> out(again, part);

    product.each(lds, [&](u32 row, u32 col, typename Gemm<T>::S sum) {
        if (row < again.m - row0 && col < again.n - col0)
            out.put(row0 + row, col0 + col, sum);
    });
}
