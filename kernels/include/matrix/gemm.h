/*
 * gemm.h - a tile of C = alpha A B + beta C + bias by the units of unit.h
 *
 * A workgroup makes Size x Size results. It walks along K in steps of 128 bytes
 * of A's rows and B's columns: 64 elements of f16, 32 of f32, 16 of f64. A
 * thread brings 64 bytes of each operand from memory into registers while the
 * step before is multiplied, and from there into LDS.
 *
 * Where K is not contiguous in memory, a thread brings small blocks, which it
 * turns over in registers. Rows that are not there are taken from the last
 * ones; what was computed with them is not stored. A step that K does not
 * fill, and an operand of fewer rows than such a block has, go to LDS element
 * by element, with zeros behind the end of K.
 *
 * In LDS a row of a step has 8 pieces of 16 bytes. A piece's place in its row
 * depends on the row, so that the lanes of a wave, which read one piece of each
 * row, and write one of every fourth row, find it in different banks.
 */
#pragma once

#include "division.h"
#include "early.h"
#include "matrix/unit.h"
#if KPK_SM >= 80
#include "nvidia/async_tile.h"
#endif
#if KPK_WARPGROUPS
#include "nvidia/mapped_tile.h"
#include "nvidia/tile_turns.h"
#include "nvidia/warpgroup_tile.h"
#endif

/* The arguments of a kernel. Sums, and alpha and beta, are of type S. */
template <typename T> struct Gemm {
    typedef typename sum_of<T>::type S;

    const T *a, *b;
    T *c;
    const T *bias; /* [n] or null */
    S *partial;    /* [splits][batch][m][n]; null if splits is 1 */
    u32 m, n, k, lda, ldb, ldc;
    i64 stride_a, stride_b, stride_c;
    u32 batch, splits;
    S alpha, beta;
};

/*
 * The arguments, read again from where the launch put them. AMD's compiler
 * would keep all that it works out of them in scalar registers, through loops
 * that need nothing of it, and there are too few. Kernels whose parameters are
 * those of Gemm only.
 */
template <typename T> DEV const Gemm<T> &read_again(const Gemm<T> &g)
{
#if KPK_NVIDIA
    return g;
#else
    auto *args = __builtin_amdgcn_kernarg_segment_ptr();

    (void)g;
    asm volatile("" : "+s"(args));
    return *(const Gemm<T> *)args;
#endif
}

/* One of the matrices of a batch, and the part of K that a split takes. */
struct GemmPart {
    u64 b; /* in the batch */
    u64 split;
    u32 k_begin, k_end;
};

constexpr u32 step_nbytes = 128;
constexpr u32 step_pieces = step_nbytes / sizeof(Piece);

template <typename T> DEV void split_k(const Gemm<T> &g, GemmPart &part)
{
    constexpr u32 step = step_nbytes / sizeof(T);
    const u64 steps = div_up(g.k, step), each = div_up(steps, (u64)g.splits);

    part.k_begin = (u32)min_of(part.split * each * step, (u64)g.k);
    part.k_end = (u32)min_of((part.split + 1) * each * step, (u64)g.k);
}

/* What one of `sharers` takes of a part's K. */
template <typename T> DEV void share_k(GemmPart &part, u32 which, u32 sharers)
{
    constexpr u32 step = step_nbytes / sizeof(T);
    const u32 end = part.k_end;
    const u64 each =
        (u64)div_up(div_up(end - part.k_begin, step), sharers) * step;

    part.k_end = (u32)min_of(part.k_begin + (which + 1) * each, (u64)end);
    part.k_begin = (u32)min_of(part.k_begin + which * each, (u64)end);
}

/* fn(part) for the parts of this block's z */
template <typename T, class Fn> DEV void each_part(const Gemm<T> &gemm, Fn fn)
{
    GemmPart part;

    if (gemm.batch == 0)
        return;
    part.split = blockIdx.z / gemm.batch;
    part.b = blockIdx.z % gemm.batch;
    NO_UNROLL
    for (;;) {
        const Gemm<T> &g = read_again(gemm);

        if (part.split >= g.splits)
            break;
        split_k(g, part);
        fn(part);
        part.split += gridDim.z / g.batch;
        part.b += gridDim.z % g.batch;
        if (part.b >= g.batch) {
            part.b -= g.batch;
            part.split++;
        }
    }
}

/*
 * fn(x, y) for the tiles of this block's x and y. Of across x down blocks one
 * has a tile of them all, and the others have none. Those that have come first:
 * AMD's chips of up to 8 dies deal blocks to the dies in turn, x by x, so each
 * die gets as many.
 */
template <u32 rows, u32 cols, u32 down, u32 across, typename T, class Fn>
DEV void each_tile(const Gemm<T> &g, Fn fn)
{
    const u32 nx = div_up((u32)gridDim.x, down);
    const u32 ny = div_up((u32)gridDim.y, across);
    u32 x0 = blockIdx.x, y0 = blockIdx.y;

    if (down * across > 1) {
        const u64 block = x0 + (u64)gridDim.x * y0;

        if (block >= (u64)nx * ny)
            return;
        y0 = (u32)divide(block, (u64)nx);
        x0 = (u32)(block - (u64)y0 * nx);
    }
    NO_UNROLL
    for (u32 y = y0; y < div_up(read_again(g).n, cols); y += ny) {
        NO_UNROLL
        for (u32 x = x0; x < div_up(read_again(g).m, rows); x += nx)
            fn(x, y);
    }
}

/* Results of one part go to C, or to where the splits are joined. */
template <typename T> struct GemmOut {
    typedef typename Gemm<T>::S S;
    const Gemm<T> &g;
    T *c;
    S *partial;

    DEV_MEMBER GemmOut(const Gemm<T> &gemm, const GemmPart &part)
        : g(gemm), c(gemm.c + (i64)part.b * gemm.stride_c), partial(nullptr)
    {
        if (g.splits > 1)
            partial =
                g.partial + (part.split * g.batch + part.b) * g.m * (u64)g.n;
    }
    DEV_MEMBER void put(u32 row, u32 col, S sum) const
    {
        if (partial)
            partial[(u64)row * g.n + col] = sum;
        else
            finish(row, col, sum);
    }
    DEV_MEMBER void finish(u32 row, u32 col, S sum) const
    {
        T *at = c + ((u64)row * g.ldc + col);
        S v = value(col, sum);

        if (g.beta != 0)
            v += g.beta * (S)*at;
        *at = convert<T>(v);
    }
    /* this one and the next */
    DEV_MEMBER void put_pair(u32 row, u32 col, const Pack<S, 2> &sum) const
    {
        T *at = c + ((u64)row * g.ldc + col);

        S *const part = partial + ((u64)row * g.n + col);

        if (partial && is_aligned(part, sizeof(sum)))
            store_pack(part, sum);
        else if (partial || g.beta != 0 || !is_aligned(at, 2 * sizeof(T))) {
            put(row, col, sum[0]);
            put(row, col + 1, sum[1]);
        } else {
            store_pack(at, Pack<T, 2>{{convert<T>(value(col, sum[0])),
                                       convert<T>(value(col + 1, sum[1]))}});
        }
    }
    /* Whether store_pair() may be used: pairs are aligned, and nothing is read.
     */
    DEV_MEMBER bool takes_pairs() const
    {
        return partial ? is_aligned(partial, 2 * sizeof(S)) && g.n % 2 == 0
                       : g.beta == 0 && is_aligned(c, 2 * sizeof(T)) &&
                             g.ldc % 2 == 0;
    }
    DEV_MEMBER void store_pair(u32 row, u32 col, const Pack<S, 2> &sum) const
    {
        if (partial)
            store_pack(partial + ((u64)row * g.n + col), sum);
        else
            store_pack(c + ((u64)row * g.ldc + col),
                       Pack<T, 2>{{convert<T>(value(col, sum[0])),
                                   convert<T>(value(col + 1, sum[1]))}});
    }
    /* Whether aligned pieces of 16 bytes may be stored, of value() alone. */
    DEV_MEMBER bool takes_pieces() const
    {
        return !partial && g.beta == 0 && is_aligned(c, 16) &&
               g.ldc % per16<T>::value == 0;
    }
    DEV_MEMBER Pack<S, 2> bias_pair(u32 col) const
    {
        return g.bias ? Pack<S, 2>{{(S)g.bias[col], (S)g.bias[col + 1]}}
                      : Pack<S, 2>{};
    }
    DEV_MEMBER S value(u32 col, S sum) const
    {
        const S v = g.alpha * sum;

        return g.bias ? v + (S)g.bias[col] : v;
    }
};

/* n elements at p, which need not be aligned to more than one */
template <u32 n, typename T> DEV Pack<T, n> load_anywhere(const T *p)
{
    Pack<T, n> v;

#if KPK_NVIDIA
    if constexpr (sizeof(v) > 16) {
        const Pack<T, n / 2> low = load_anywhere<n / 2>(p);
        const Pack<T, n / 2> high = load_anywhere<n / 2>(p + n / 2);

        UNROLL
        for (u32 i = 0; i < n / 2; i++)
            v[i] = low[i], v[n / 2 + i] = high[i];
        return v;
    } else if (is_aligned(p, sizeof(v))) {
        return load_pack<n>(p);
    }
    if (sizeof(T) < 4 && is_aligned(p, 4)) {
        UNROLL
        for (u32 i = 0; i < n; i += 2) {
            const Pack<T, 2> two = load_pack<2>(p + i);

            v[i] = two[0], v[i + 1] = two[1];
        }
        return v;
    }
    UNROLL
    for (u32 i = 0; i < n; i++)
        v[i] = p[i];
#else
    __builtin_memcpy(&v, p, sizeof(v));
#endif
    return v;
}

/* The piece at p, of which `left` elements are there, with zeros behind. */
template <typename T> DEV Piece load_piece(const T *p, u32 left)
{
    constexpr u32 n = per16<T>::value;
    Pack<T, n> v = {};

    if (left >= n)
        return bits_as<Piece>(load_anywhere<n>(p));
    UNROLL
    for (u32 i = 0; i + 1 < n; i++) {
        if (i < left)
            v[i] = p[i];
    }
    return bits_as<Piece>(v);
}

/* ---- LDS ------------------------------------------------------------------
 */

/* where a piece of a row is, counted in pieces; the same in all 16 rows */
template <u32 Step = step_nbytes> DEV u32 piece_at(u32 row, u32 piece)
{
    static_assert(Step == 128 || Step == 64, "a line of LDS, or half of one");
    if (KPK_NVIDIA &&
        Step == 128) /* what depends on the row, worked out once */
        return (row * step_pieces + (row % 8 ^ row / 8 % 2 * 2)) ^ piece;
    if (Step == 64) /* two rows share a line */
        return row / 2 * step_pieces +
               ((row % 2 * 4 + piece) ^ row / 2 % step_pieces);
    return row * step_pieces + (piece ^ row % 8 ^ row / 8 % 2 * 2);
}

/* ---- an operand's way into LDS ---------------------------------------------
 */

/*
 * Along: K is contiguous. `extent` rows from row0 on are in the matrix, at
 * least one. From: what its elements are in memory, if they are not T.
 */
template <typename T, u32 Size, u32 Threads, bool Along, u32 Step = step_nbytes,
          typename From = T>
struct Operand {
    static constexpr u32 step = Step / sizeof(T);
    static constexpr u32 row_pieces = Step / sizeof(Piece);
    /* what a thread brings at a time: block_k x block_rows elements */
    static constexpr u32 block_k =
        Along ? per16<T>::value : (sizeof(T) == 2 ? 4 : 2);
    static constexpr u32 block_rows = Along ? 1 : 32 / sizeof(T) / block_k;
    static constexpr u32 blocks =
        Size * step / (Threads * block_k * block_rows);
    static constexpr u32 loads = Along ? 1 : block_k;
    static constexpr u32 load_elems = Along ? block_k : block_rows;
    typedef Pack<From, load_elems> Load;

    const From *base; /* of row0 and k 0 */
    const char *next; /* what load() brings, with each block's offset */
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
        /* the last block may begin in front of row0, and those behind it are
         * the last one again: see row_in_lds() */
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
    /* Blocks of 16 lanes: 4 along rows, 4 along K, so that what they write
     * together is in different banks. */
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
     * Where row r of block i goes. A block that was moved back begins with rows
     * of the one before: those go behind the rows that are there. On AMD a
     * block keeps to its own rows, so that each is written, and by one thread.
     */
    DEV_MEMBER u32 row_in_lds(u32 i, u32 r) const
    {
        if (KPK_NVIDIA)
            return (row[i] + r) % Size;
        return row_of(i) + (row[i] + r) % block_rows;
    }
    /* the same element by element, of what is there */
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

/* ---- the products -----------------------------------------------------------
 */

/* The results of one of the waves of a tile M x N: `rows` x `cols` units. */
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
        /* numbers of 64 bits on FMA take so many registers as it is */
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
     * neighbouring lanes, by way of LDS. All waves take part, and what was in
     * LDS must not be needed any more.
     */
    template <class Fn> DEV_MEMBER void each(u8 *lds, Fn fn) const
    {
        /* units that fit LDS side by side, a row of them for each wave */
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

/* ---- a tile
 * ------------------------------------------------------------------ */

/*
 * Adds the products of a and b along K to `product`.
 *
 * flip: where the next step goes in LDS, from this one, if there is room for
 * two; else 0, and all waves wait until a step is done with.
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
        if (flip) /* what the tile before left in LDS is read */
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

#if KPK_SM >= 80
#if KPK_WARPGROUPS
typedef u32 TileIndex; /* see has_few() */
#else
typedef u64 TileIndex;

/* Which tiles are a block's: those at the distance of the grid's blocks. */
struct TileTurns {
    static constexpr bool shared = false;
    u64 at, step, count;

    DEV_MEMBER TileTurns(u64 block, u64 blocks, u64 tiles, u32)
        : at(block), step(blocks), count(tiles)
    {
    }
    DEV_MEMBER bool more() const
    {
        return at < count;
    }
    DEV_MEMBER void next()
    {
        at += step;
    }
};
#endif

/*
 * All parts' tiles in a sequence; a block's are those at the distance of the
 * grid's blocks. A part's tiles come in strips of a few tiles of rows, column
 * by column: what blocks of one time read of A and of B is about as much.
 */
template <typename T, u32 Rows, u32 Cols> struct TileOrder {
    const Gemm<T> &g;

    struct Place {
        GemmPart part;
        u32 row0, col0;
        bool shared; /* by the blocks of a cluster */
    };
    static DEV_MEMBER u64 block()
    {
        return blockIdx.x +
               (u64)gridDim.x * (blockIdx.y + (u64)gridDim.y * blockIdx.z);
    }
    static DEV_MEMBER u64 blocks()
    {
        return (u64)gridDim.x * gridDim.y * gridDim.z;
    }
    DEV_MEMBER u64 of_part() const
    {
        return (u64)div_up(g.m, Rows) * div_up(g.n, Cols);
    }
    DEV_MEMBER u64 count() const
    {
        return of_part() * g.batch * g.splits;
    }
    /* Whether the tiles, and their products with small numbers, fit 32 bits:
     * unless there are very many tiny matrices. */
    DEV_MEMBER bool has_few() const
    {
        return (f32)of_part() * (f32)g.batch * (f32)g.splits < 0x1p30f;
    }
    template <typename I> DEV_MEMBER Place place(I tile) const
    {
        constexpr u32 strip = 2048 / Rows;
        const I each = (I)of_part();
        const u32 down = div_up(g.m, Rows), across = div_up(g.n, Cols);
        I which = 0, at = tile;
        u32 first = 0, width = down;
        Place p;

        if (__builtin_expect(tile >= each, 0)) {
            which = tile / each;
            at -= which * each;
        }
        if (down > strip) {
            const I of_strip = (I)strip * across, strips = at / of_strip;

            at -= strips * of_strip;
            first = (u32)strips * strip;
            width = min_of(strip, down - first);
        }
        const u32 column = (width & (width - 1)) == 0
                               ? (u32)(at >> log2_of(width))
                               : (u32)(at / width);

        p.part = {which, 0, 0, g.k};
        if (__builtin_expect(g.splits > 1, 0)) { /* else spare the divisions */
            const I split = which / g.batch;

            p.part.split = split;
            p.part.b = which - split * g.batch;
            split_k(g, p.part);
        }
        p.row0 = (first + ((u32)at - column * width)) * Rows;
        p.col0 = column * Cols;
        return p;
    }
};

/* A block's tiles of C, as AsyncTile asks for them. */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct GemmTiles : TileOrder<T, Rows, Cols> {
    typedef TileOrder<T, Rows, Cols> Order;
    typedef typename Order::Place Place;
    using Order::g;
    TileTurns turns;
    Place ahead; /* of the tile whose turn it is */

    DEV_MEMBER explicit GemmTiles(const Gemm<T> &gemm)
        : Order{gemm},
          turns(Order::block(), Order::blocks(), Order::count(), Tile::shares)
    {
        find();
    }
    DEV_MEMBER bool more() const
    {
        return turns.more();
    }
#if KPK_WARPGROUPS
    DEV_MEMBER bool is_last() const
    {
        return turns.is_last();
    }
#endif
    DEV_MEMBER void find()
    {
        if (!more())
            return;
        ahead = Order::place(turns.at);
#if KPK_WARPGROUPS
        ahead.shared = turns.shared;
        if (turns.shared)
            share_k<T>(ahead.part, cluster_rank(), cluster_blocks());
#endif
    }
    DEV_MEMBER Place next()
    {
        const Place now = ahead;

        turns.next();
        find();
        return now;
    }
    /* Whether it is for all matrices, whose rows are aligned, in the LDS that
     * there is. */
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= Tile::lds_nbytes &&
               (sizeof(TileIndex) > 4 || Order{g}.has_few()) &&
               Tile::CopyA::fits(g.a, g.lda, g.batch, g.stride_a) &&
               Tile::CopyB::fits(g.b, g.ldb, g.batch, g.stride_b);
    }
    DEV_MEMBER typename Tile::Start begin(const Tile &tile,
                                          typename Tile::CopyA &a,
                                          typename Tile::CopyB &b) const
    {
        const Place &p = ahead;

        a = typename Tile::CopyA(g.a + (i64)p.part.b * g.stride_a, p.row0, g.m,
                                 g.lda, p.part.k_begin);
        b = typename Tile::CopyB(g.b + (i64)p.part.b * g.stride_b, p.col0, g.n,
                                 g.ldb, p.part.k_begin);
        return {p.part.k_end - p.part.k_begin,
                tile.works(g.m - p.row0, g.n - p.col0)};
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);
        const u32 row0 = p.row0, col0 = p.col0;

#if KPK_WARPGROUPS
        if (takes_pieces(out)) {
            tile.store_rows(lds, out.c + ((u64)row0 * g.ldc + col0), g.ldc,
                            g.alpha, there(p),
                            [&](u32 c) { return bias_pair(out, col0 + c); });
            return;
        }
#else
        if (out.takes_pieces() && Rows <= g.m - row0 && Cols <= g.n - col0) {
            tile.store_rows(lds, out.c + ((u64)row0 * g.ldc + col0), g.ldc,
                            g.alpha,
                            [&](u32 c) { return out.bias_pair(col0 + c); });
            return;
        }
#endif
        tile.each_pair(lds, [&](u32 r, u32 c, const Pack<f32, 2> &sums) {
            put_pair(out, p, r, c, sums);
        });
    }
    DEV_MEMBER void put_pair(const GemmOut<T> &out, const Place &p, u32 r,
                             u32 c, const Pack<f32, 2> &sums) const
    {
        if (r >= g.m - p.row0 || c >= g.n - p.col0)
            return;
        if (c + 1 < g.n - p.col0)
            out.put_pair(p.row0 + r, p.col0 + c, sums);
        else
            out.put(p.row0 + r, p.col0 + c, sums[0]);
    }
#if KPK_WARPGROUPS
    /* Whether results may be stored as pieces, which lie in C or not. */
    DEV_MEMBER bool takes_pieces(const GemmOut<T> &out) const
    {
        return out.takes_pieces() && g.n % per16<T>::value == 0;
    }
    DEV_MEMBER Pack<f32, 2> bias_pair(const GemmOut<T> &out, u32 col) const
    {
        return col < g.n ? out.bias_pair(col) : Pack<f32, 2>{};
    }
    DEV_MEMBER typename Tile::Extent there(const Place &p) const
    {
        return {(i32)min_of(g.m - p.row0, Rows),
                (i32)min_of(g.n - p.col0, Cols)};
    }
#endif
#if KPK_WARPGROUPS
    DEV_MEMBER void share(Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);
        const bool pieces = takes_pieces(out);

        tile.each_shared(
            lds, more(), [&](u32 r0, u32 c0, u32 cols, const f32 *sums) {
                const u32 l = threadIdx.x % 32;

                NO_UNROLL
                for (u32 c = l % 8 * 8; c < cols; c += 64) {
                    _Pragma("unroll 2") for (u32 r = l / 8; r < 16; r += 4)
                        put_piece(out, pieces, p, r0 + r, c0 + c,
                                  sums + r * Tile::rows_pitch + c);
                }
            });
    }
    /* Eight sums of a row. pieces: they may be stored as one. */
    DEV_MEMBER void put_piece(const GemmOut<T> &out, bool pieces,
                              const Place &p, u32 r, u32 c,
                              const f32 *sums) const
    {
        Pack<T, 8> v;

        if (r >= g.m - p.row0 || c >= g.n - p.col0)
            return;
        if (!pieces) {
            NO_UNROLL
            for (u32 i = 0; i < 8; i += 2)
                put_pair(out, p, r, c + i, load_pack<2>(sums + i));
            return;
        }
        UNROLL
        for (u32 i = 0; i < 8; i += 4) {
            const Pack<f32, 4> four = load_pack<4>(sums + i);

            UNROLL
            for (u32 e = 0; e < 4; e++)
                v[i + e] = convert<T>(out.value(p.col0 + c + i + e, four[e]));
        }
        store_piece(out.c + ((u64)(p.row0 + r) * g.ldc + p.col0 + c), v);
    }
#endif
};

#if KPK_WARPGROUPS
/* Tiles whose steps come by maps. */
template <typename T, bool TransA, bool TransB, u32 Rows, u32 Cols, class Tile>
struct MappedTiles {
    typedef TileOrder<T, Rows, Cols> Order;
    const Gemm<T> &g;
    u32 down, of_part; /* tiles of a column, of a matrix */
    u32 first, apart, count;

    struct Place {
        u32 row0, col0, b, z_a, z_b;
    };

    DEV_MEMBER explicit MappedTiles(const Gemm<T> &gemm)
        : g(gemm), down(div_up(gemm.m, Rows)),
          of_part(down * div_up(gemm.n, Cols)), first((u32)Order::block()),
          apart((u32)Order::blocks()), count(0)
    {
        const u32 all = of_part * gemm.batch;

        if (first < all)
            count = (all - first - 1) / apart + 1;
    }
    /* Whether all is as maps need it, and results go to C by pieces. */
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        const u32 most = 0x7fffffff;
        const bool one = g.batch == 1;

        return dynamic_lds_nbytes() >= Tile::lds_nbytes && Order{g}.has_few() &&
               Order::blocks() < 1u << 30 && cluster_blocks() == 1 &&
               (f32)Order{g}.count() * (f32)(g.k / wgmma_k + 1) < 0x1p31f &&
               Tile::CopyA::fits(g.a, g.lda, g.batch, g.stride_a) &&
               Tile::CopyB::fits(g.b, g.ldb, g.batch, g.stride_b) &&
               (one || (g.stride_a >= 0 && g.stride_b >= 0)) && g.m <= most &&
               g.n <= most && g.k <= most && g.k > 0 && g.splits == 1 &&
               g.beta == 0 && is_aligned(g.c, 16) && g.ldc % 8 == 0 &&
               g.n % 8 == 0 && (one || g.stride_c % 8 == 0);
    }
    DEV_MEMBER u32 steps() const
    {
        return div_up(g.k, wgmma_k);
    }
    /* in the order of TileOrder */
    DEV_MEMBER Place place(u32 i) const
    {
        constexpr u32 strip = 2048 / Rows;
        u32 at = first + i * apart, b = 0, top = 0, width = down;

        if (at >= of_part) {
            b = at / of_part;
            at -= b * of_part;
        }
        if (down > strip) {
            const u32 of_strip = strip * (of_part / down);
            const u32 strips = at / of_strip;

            at -= strips * of_strip;
            top = strips * strip;
            width = min_of(strip, down - top);
        }
        const u32 column = at / width;

        return {(top + at - column * width) * Rows, column * Cols, b,
                g.stride_a == 0 ? 0 : b, g.stride_b == 0 ? 0 : b};
    }
    DEV_MEMBER TensorShape shape_a() const
    {
        return Tile::A::shape(g.a, g.m, g.k, g.lda, g.batch, g.stride_a);
    }
    DEV_MEMBER TensorShape shape_b() const
    {
        return Tile::B::shape(g.b, g.n, g.k, g.ldb, g.batch, g.stride_b);
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, GemmPart{p.b, 0, 0, g.k});

        tile.store_rows(
            lds, out.c + ((u64)p.row0 * g.ldc + p.col0), g.ldc, g.alpha,
            {(i32)min_of(g.m - p.row0, Rows), (i32)min_of(g.n - p.col0, Cols)},
            [&](u32 c) {
                return p.col0 + c < g.n ? out.bias_pair(p.col0 + c)
                                        : Pack<f32, 2>{};
            });
    }
};
#endif

/* The tiles of Tiles, if they are for what there is. */
template <class Tiles, class Tile, typename T>
DEV bool gemm_by(const Gemm<T> &g)
{
    /* sectors of memory must not be cut in two by what is in front */
    extern __shared__ __attribute__((aligned(128))) u8 lines[];

    if (!Tiles::fits(g))
        return false;

    Tiles tiles(g);
    Tile tile;

    tile.run(lines, tiles);
    return true;
}

template <typename T, bool TransA, bool TransB, u32 Size> struct AsyncGemm {
#if KPK_WARPGROUPS
#define TILE_OF(size, rows, cols, deep, stages, more, shares, apart)           \
    mapped<rows, cols, KPK_WARPGROUP_LDS(rows, cols, deep, stages, more)>(     \
        g) ||                                                                  \
        gemm_by<GemmTiles<T, rows, cols,                                       \
                          Warpgroups<rows, cols, deep, stages, more, shares,   \
                                     apart>>,                                  \
                Warpgroups<rows, cols, deep, stages, more, shares, apart>>(g)
#define LACKS(size, rows, cols, deep, stages, more, shares, apart)             \
    (lds < KPK_WARPGROUP_LDS(rows, cols, deep, stages, more))
    template <u32 Rows, u32 Cols, u32 Deep, u32 Stages, u32 More, u32 Shares,
              bool Apart>
    using Warpgroups =
        WarpgroupTile<T, !TransA, TransB, Rows, Cols,
                      (Size / 64 - Apart) / min_of(Deep, Size / 64 - Apart),
                      min_of(Deep, Size / 64 - Apart), Stages, More, Shares,
                      Apart, div_up(Deep, Size / 64 - Apart)>;

    /* By maps, if the tile is so large that its steps take longer than a
     * thread's starting of copies, and if maps may be used. */
    template <u32 Rows, u32 Cols, u32 Lds>
    static DEV_MEMBER bool mapped(const Gemm<T> &g)
    {
        if constexpr (!TransA && Lds > 113 * 1024 && Cols >= 128 &&
                      Rows * Cols > 64 * 128) {
            typedef MappedTile<T, !TransA, TransB, Rows, Cols,
                               mapped_stages(Rows, Cols, Lds)>
                Tile;

            return gemm_by<MappedTiles<T, TransA, TransB, Rows, Cols, Tile>,
                           Tile>(g);
        }
        return false;
    }
    /* The first tile for which there is LDS. All are asked for it in one place:
     * on a way from tile to tile the code of each would have to come from
     * memory. */
    static DEV_MEMBER bool fast(const Gemm<T> &g)
    {
        const u32 lds = dynamic_lds_nbytes();

        if constexpr (Size == 128 && TransB) {
            switch (KPK_WARPGROUP_MIDDLE(LACKS) + KPK_WARPGROUP_BROAD(LACKS) +
                    KPK_WARPGROUP_EVEN(LACKS) + KPK_WARPGROUP_WIDE(LACKS) +
                    KPK_WARPGROUP_SLIM(LACKS) + KPK_WARPGROUP_THIN(LACKS) +
                    KPK_WARPGROUP_LONG(LACKS)) {
            case 0:
                return KPK_WARPGROUP_MIDDLE(TILE_OF);
            case 1:
                return KPK_WARPGROUP_BROAD(TILE_OF);
            case 2:
                return KPK_WARPGROUP_EVEN(TILE_OF);
            case 3:
                return KPK_WARPGROUP_WIDE(TILE_OF);
            case 4:
                return KPK_WARPGROUP_SLIM(TILE_OF);
            case 5:
                return KPK_WARPGROUP_THIN(TILE_OF);
            case 6:
                return KPK_WARPGROUP_LONG(TILE_OF);
            }
        } else if constexpr (Size == 128) {
            switch (KPK_WARPGROUP_EVEN(LACKS) + KPK_WARPGROUP_WIDE(LACKS) +
                    KPK_WARPGROUP_LONG(LACKS)) {
            case 0:
                return KPK_WARPGROUP_EVEN(TILE_OF);
            case 1:
                return KPK_WARPGROUP_WIDE(TILE_OF);
            case 2:
                return KPK_WARPGROUP_LONG(TILE_OF);
            }
        } else if constexpr (TransB) {
            switch (KPK_WARPGROUP_LONE(LACKS) + KPK_WARPGROUP_LEAN(LACKS) +
                    KPK_WARPGROUP_FLAT(LACKS) + KPK_WARPGROUP_FINE(LACKS) +
                    KPK_WARPGROUP_LOW(LACKS) + KPK_WARPGROUP_SMALL(LACKS) +
                    KPK_WARPGROUP_TWICE(LACKS) + KPK_WARPGROUP_HALF(LACKS)) {
            case 0:
                return KPK_WARPGROUP_LONE(TILE_OF);
            case 1:
                return KPK_WARPGROUP_LEAN(TILE_OF);
            case 2:
                return KPK_WARPGROUP_FLAT(TILE_OF);
            case 3:
                return KPK_WARPGROUP_FINE(TILE_OF);
            case 4:
                return KPK_WARPGROUP_LOW(TILE_OF);
            case 5:
                return KPK_WARPGROUP_SMALL(TILE_OF);
            case 6:
                return KPK_WARPGROUP_TWICE(TILE_OF);
            case 7:
                return KPK_WARPGROUP_HALF(TILE_OF);
            }
        } else {
            switch (KPK_WARPGROUP_LONE(LACKS) + KPK_WARPGROUP_FLAT(LACKS) +
                    KPK_WARPGROUP_SMALL(LACKS) + KPK_WARPGROUP_TWICE(LACKS) +
                    KPK_WARPGROUP_HALF(LACKS)) {
            case 0:
                return KPK_WARPGROUP_LONE(TILE_OF);
            case 1:
                return KPK_WARPGROUP_FLAT(TILE_OF);
            case 2:
                return KPK_WARPGROUP_SMALL(TILE_OF);
            case 3:
                return KPK_WARPGROUP_TWICE(TILE_OF);
            case 4:
                return KPK_WARPGROUP_HALF(TILE_OF);
            }
        }
        return false;
    }
#undef LACKS
#undef TILE_OF
#else
    /* The larger tiles are of 256 rows. */
    static constexpr u32 rows = Size == 128 ? 2 * Size : Size;
    typedef AsyncTile<T, !TransA, TransB, rows, Size, Size / 2, Size / 2> Tile;

    static DEV_MEMBER bool fast(const Gemm<T> &g)
    {
        return gemm_by<GemmTiles<T, rows, Size, Tile>, Tile>(g);
    }
#endif
    typedef TileOrder<T, Size, Size> Order;
    /* What a tile is about, where a function finds it that is not inlined. */
    struct Call {
        Gemm<T> g;
        typename Order::Place at;
    };
    /*
     * Operands that are not aligned; and, a result a thread, launches that gave
     * no LDS. Not inlined, so that its registers are not the usual way's.
     */
    static __device__ __noinline__ void other_tile(const Call &call, u8 *lds)
    {
        constexpr u32 nbytes = 2 * Size * step_nbytes;

        if (dynamic_lds_nbytes() >= 2 * nbytes)
            gemm_tile<T, TransA, TransB, Size, Size, 2 * Size, step_nbytes>(
                call.g, call.at.part, call.at.row0, call.at.col0, lds, nbytes);
        else
            plain_tile(call);
    }
    static DEV_MEMBER void plain_tile(const Call &call)
    {
        const Gemm<T> &g = call.g;
        const GemmPart &part = call.at.part;
        const T *const a = g.a + (i64)part.b * g.stride_a;
        const T *const b = g.b + (i64)part.b * g.stride_b;
        const GemmOut<T> out(g, part);

        NO_UNROLL
        for (u32 i = threadIdx.x; i < Size * Size; i += 2 * Size) {
            const u32 r = call.at.row0 + i / Size;
            const u32 c = call.at.col0 + i % Size;
            typename Gemm<T>::S sum = 0;

            if (r >= g.m || c >= g.n)
                continue;
            NO_UNROLL
            for (u32 k = part.k_begin; k < part.k_end; k++)
                sum +=
                    (float)a[TransA ? (u64)k * g.lda + r : (u64)r * g.lda + k] *
                    (float)b[TransB ? (u64)c * g.ldb + k : (u64)k * g.ldb + c];
            out.put(r, c, sum);
        }
    }
    static DEV_MEMBER void run(const Gemm<T> &g)
    {
        extern __shared__ __attribute__((aligned(128))) u8 lines[];
        __shared__ Call call;
        const Order order{g};

        if (fast(g))
            return;
        wait_for_launch_before();
        NO_UNROLL
        for (u64 t = order.block(); t < order.count(); t += order.blocks()) {
            /* by all: if some lanes alone called the division, the compiler
             * would take all warps that come back from it for split */
            const typename Order::Place at = order.place(t);

            __syncthreads();
            if (threadIdx.x == 0)
                call.g = g, call.at = at;
            __syncthreads();
            other_tile(call, lines);
        }
    }
};
#endif

#if KPK_WARPGROUPS
/*
 * Tiles of few rows of C: the columns of B are the rows of the instructions,
 * which are never fewer than 64, and the rows of A their columns.
 */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct FewTiles : GemmTiles<T, Rows, Cols, Tile> {
    typedef GemmTiles<T, Rows, Cols, Tile> G;
    typedef typename G::Place Place;
    using G::ahead;
    using G::g;

    DEV_MEMBER explicit FewTiles(const Gemm<T> &gemm) : G(gemm)
    {
    }
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= Tile::lds_nbytes &&
               TileOrder<T, Rows, Cols>{g}.has_few() &&
               Tile::CopyA::fits(g.b, g.ldb, g.batch, g.stride_b) &&
               Tile::CopyB::fits(g.a, g.lda, g.batch, g.stride_a);
    }
    DEV_MEMBER typename Tile::Start begin(const Tile &, typename Tile::CopyA &a,
                                          typename Tile::CopyB &b) const
    {
        const Place &p = ahead;

        a = typename Tile::CopyA(g.b + (i64)p.part.b * g.stride_b, p.col0, g.n,
                                 g.ldb, p.part.k_begin);
        b = typename Tile::CopyB(g.a + (i64)p.part.b * g.stride_a, p.row0, g.m,
                                 g.lda, p.part.k_begin);
        return {p.part.k_end - p.part.k_begin, true};
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *) const
    {
        const GemmOut<T> out(g, p.part);

        tile.each_sum([&](u32 c, u32 r, f32 sum) { put(out, p, r, c, sum); });
    }
    DEV_MEMBER void put(const GemmOut<T> &out, const Place &p, u32 r, u32 c,
                        f32 sum) const
    {
        if (r < g.m - p.row0 && c < g.n - p.col0)
            out.put(p.row0 + r, p.col0 + c, sum);
    }
    DEV_MEMBER void share(Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);

        tile.each_shared(
            lds, G::more(), [&](u32 c0, u32 r0, u32 rows, const f32 *sums) {
                NO_UNROLL
                for (u32 e = threadIdx.x % 32; e < 16 * rows; e += 32)
                    put(out, p, r0 + e / 16, c0 + e % 16,
                        sums[e % 16 * Tile::rows_pitch + e / 16]);
            });
    }
};
#endif

#if KPK_SM >= 80
#include "nvidia/copied_tile.h"
#if KPK_WARPGROUPS
#include "nvidia/limb_tile.h"
#endif

/* Tiles of f32 and f64, if operands are aligned to `Once` bytes and the launch
 * gave LDS for two steps; `lds` has room for a third. */
template <typename T, bool TransA, bool TransB, u32 Size, u32 Once>
DEV bool gemm_by_copies(const Gemm<T> &g, u8 *lds, u8 *more_lds)
{
    typedef CopiedTile<T, !TransA, TransB, Size, Once> Tile;

    if (!Tile::fits(g))
        return false;
    each_part(g, [&](const GemmPart &part) {
        each_tile<Size, Size, 1, 1>(g, [&](u32 x, u32 y) {
            Tile::run(g, part, x * Size, y * Size, more_lds, lds);
        });
    });
    return true;
}
#endif

/*
 * What a block of `Size` makes at a time. Where matrix instructions are so fast
 * that LDS could not keep up, two or four large tiles of f16 and bf16 are made
 * as one, in steps of half the length, so that two such blocks fit LDS.
 */
template <typename T, u32 Size> struct GemmShape {
    static constexpr bool joins = sizeof(T) == 2 && Size == 128;
    static constexpr u32 down = joins && matrix_rate >= 1024 ? 2 : 1;
    static constexpr u32 across = joins && matrix_rate >= 2048 ? 2 : 1;
    static constexpr u32 m = down * Size, n = across * Size;
    static constexpr u32 step = down > 1 ? step_nbytes / 2 : step_nbytes;
};

template <typename T, bool TransA, bool TransB, u32 Size>
DEV void gemm(const Gemm<T> &g)
{
#if KPK_SM >= 80
    if constexpr (sizeof(T) == 2) {
        if (!KPK_WARPGROUPS) /* those of warpgroups wait later */
            wait_for_launch_before();
        AsyncGemm<T, TransA, TransB, Size>::run(g);
        return;
    }
#endif
    typedef GemmShape<T, Size> Shape;
    constexpr u32 nbytes = (Shape::m + Shape::n) * Shape::step;
    __shared__ __attribute__((aligned(16))) u8 lds[nbytes];
#if KPK_SM >= 80
    LDS_BYTES(more_lds);
    const bool two = dynamic_lds_nbytes() >= 2 * nbytes;
    u8 *const steps = two ? more_lds : lds;
    const u32 flip = two ? nbytes : 0;

#if KPK_WARPGROUPS
    if constexpr (is_same<T, f32>::value) {
        if (LimbGemm<TransA, TransB, Size>::run(g, more_lds))
            return;
    }
#endif
    if constexpr (sizeof(T) > 2) {
        if (gemm_by_copies<T, TransA, TransB, Size, 16>(g, lds, more_lds))
            return;
    }
    if constexpr (sizeof(T) == 8) {
        if (gemm_by_copies<T, TransA, TransB, Size, 8>(g, lds, more_lds))
            return;
    }
#else
    u8 *const steps = lds;
    const u32 flip = 0;
#endif

    each_part(g, [&](const GemmPart &part) {
        each_tile<Shape::m, Shape::n, Shape::down, Shape::across>(
            g, [&](u32 x, u32 y) {
                gemm_tile<T, TransA, TransB, Shape::m, Shape::n, 2 * Size,
                          Shape::step>(g, part, x * Shape::m, y * Shape::n,
                                       steps, flip);
            });
    });
}
