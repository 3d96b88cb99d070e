/*
 * comm/summed_norm.h - a row's sum over the ranks, its residual and RMS norm
 *
 * in        [rows, n] of T of each rank
 * residual  [rows, n] of T, null for 0; the same on all ranks
 * sum       [rows, n] of T: the ranks' sum, rounded to T, + residual; may be
 *           residual
 * alpha     [n] of T, null for 1
 * out       the norm of `sum` times alpha, as numbers or Q8_1 blocks:
 * to_numbers and to_q8_1 of fused/add_norm.h
 *
 * Rows are whole pieces of 16 bytes, and all is aligned to 16 bytes. Blocks are
 * any power of two of threads from 32 to 512. Block b takes the rows b, b +
 * grid and so on, of all ranks' shares too. On NVIDIA's GPUs `parts` blocks, a
 * power of two up to 8, may share a row of up to `held` pieces a thread, in a
 * grid of rows * parts blocks: these go by summed_norm_at_once(). AMD's GPUs
 * have too few scalar registers for rows in registers. The steps are those of
 * an all-reduce and of rmsnorm_add or add_rmsnorm_quantize_q8_1_quants after
 * it.
 *
 * `small` sends a row's pieces as small.h does, and `medium` as medium.h does.
 * `large` adds up a share of each row and writes it to all ranks' workspaces,
 * as large.h does. Each rank then norms all rows.
 */
#pragma once

#include "comm/large.h"
#include "comm/medium.h"
#include "comm/small.h"
#include "fused/add_norm.h"
#if KPK_SM >= 90
#include "nvidia/copy/cluster.h"
#endif

/* A kernel's last arguments. */
template <typename T> struct NormCall {
    const T *residual;
    T *sum;
    const T *alpha;
    void *out;
    u32 rows, n;
    u32 n_padded; /* padded row length; only for Q8_1 results */
    f32 eps;
    u32 parts; /* blocks that share a row */
    u32 step;  /* rows of a block in a step */
};

#define NORM_PARAMETERS(T)                                                     \
    const T *residual, T *sum, const T *alpha, void *out, u32 rows, u32 n,     \
        u32 n_padded, f32 eps, u32 parts, u32 step
#define NORM_CALL(T)                                                           \
    NormCall<T>                                                                \
    {                                                                          \
        residual, sum, alpha, out, rows, n, n_padded, eps, parts, step         \
    }

/* The arguments, read again for each step as RankPointers are. */
template <typename T, u32 offset> struct NormArguments {
    NormCall<T> given;

    DEV_MEMBER NormCall<T> read() const
    {
#if KPK_NVIDIA
        return given;
#else
        return *arguments_from<NormCall<T>>(offset);
#endif
    }
};

/* The address of row r's norm. */
template <typename T, bool Blocks>
DEV auto norm_out(const NormCall<T> &c, u32 r)
{
    if constexpr (Blocks) {
        const u32 blocks = c.n_padded / q8_1_elems;

        return to_q8_1<T, true>{static_cast<u8 *>(c.out) +
                                    (u64)r * blocks * q8_1_nbytes,
                                c.n, blocks * q8_1_elems};
    } else {
        return to_numbers<T>{static_cast<T *>(c.out) + (u64)r * c.n, c.n};
    }
}

/* A piece of the residual, from element `at` on, if there is one. */
template <typename T> DEV Piece<T> residual_at(const NormCall<T> &c, u64 at)
{
    return c.residual ? load_pack<per16<T>::value>(c.residual + at)
                      : Piece<T>{};
}

/* A piece of the ranks' sum and the residual, from element `at` on: to `sum`
 * too. */
template <typename T>
DEV Piece<T> add_residual(const NormCall<T> &c, u64 at, const Piece<T> &r,
                          const Piece<T> &summed)
{
    constexpr u32 each = per16<T>::value;
    Piece<T> v = summed;

    if (c.residual)
        v = sum_of_two<T>(v, r);
    store_pack<each>(c.sum + at, v);
    return v;
}

/* The norm of a row of `sum`, which the block has just written. */
template <bool Blocks, typename T>
DEV void norm_row_of(const NormCall<T> &c, u32 r,
                     const team_scratch<f32> &scratch)
{
    const team t = block_team();
    const T *row = c.sum + (u64)r * c.n;
    const auto out = norm_out<T, Blocks>(c, r);
    norm_added<T, decltype(norm_out<T, Blocks>(c, r))> f = {
        {t, scratch, row, nullptr, nullptr, c.alpha, c.n, c.eps}, out};

    if (!KPK_NVIDIA)
        f.all(true, max_of(c.n, f.out.end()));
    else if (!f.template stream<per16<T>::value>()) /* only long rows */
        f.out.again(f.row);
    __syncthreads(); /* the next row uses the same scratch */
}

/* ---- rows in registers --------------------------------------------------- */

/* Pieces of a row that a thread holds, at most: 16 numbers. */
template <typename T> constexpr u32 held = 16 / per16<T>::value;

/* LDS of a block's sums; of squares out of range in f64; and of the words that
 * a cluster's blocks store for each other. */
struct NormScratch {
    const team_scratch<f32> &narrow;
    const team_scratch<f64> &wide;
    u64 *told;
};
#define NORM_SCRATCH(name)                                                     \
    BLOCK_SCRATCH(f32, name##_narrow);                                         \
    __shared__ f64 name##_wide_slots[2][max_groups];                           \
    __shared__ u64                                                             \
        name##_told[KPK_SM >= 90 ? COMM_MOST_PARTS * max_groups : 1];          \
    const team_scratch<f64> name##_wide = {name##_wide_slots, nullptr};        \
    const NormScratch name = {name##_narrow, name##_wide, name##_told}

/* A part's sum, in words with the number of the call: as small.h's. */
DEV void tell_part(const CommGroup &g, u64 *words, f32 v)
{
    const u64 flag = (u64)g.call << 32;

    system_store_two(words, flag | bits_as<u32>(v), flag);
}
DEV void tell_part(const CommGroup &g, u64 *words, f64 v)
{
    const u64 flag = (u64)g.call << 32, bits = bits_as<u64>(v);

    system_store_two(words + 2, flag | (u32)bits, flag | bits >> 32);
}
DEV f32 told_part(CommGroup &g, const u64 *words, f32)
{
    u64 w[2];

    wait_until<true>(g, [&](u32 &) {
        system_load_two(words, w);
        return w[0] >> 32 == g.call;
    });
    return bits_as<f32>((u32)w[0]);
}
DEV f64 told_part(CommGroup &g, const u64 *words, f64)
{
    u64 w[2];

    wait_until<true>(g, [&](u32 &) {
        system_load_two(words + 2, w);
        return w[0] >> 32 == g.call && w[1] >> 32 == g.call;
    });
    return bits_as<f64>((u64)(u32)w[0] | w[1] << 32);
}

/* Whether the blocks that share a row are a cluster. */
DEV bool are_cluster(u32 parts)
{
#if KPK_SM >= 90
    return parts > 1 && cluster_blocks() == parts;
#else
    (void)parts;
    return false;
#endif
}

/* Clears the words of this block's LDS through which the cluster's blocks
 * exchange sums; called before pieces are loaded. */
DEV void begin_cluster(u32 parts, const NormScratch &scratch)
{
#if KPK_SM >= 90
    if (threadIdx.x < parts * (blockDim.x / group_size))
        scratch.told[threadIdx.x] = 0;
    cluster_arrive_shown();
#else
    (void)parts;
    (void)scratch;
#endif
}

/* After begin_cluster() of all of the cluster's blocks. */
DEV void meet_cluster()
{
#if KPK_SM >= 90
    __syncwarp();
    cluster_wait();
#endif
}

/*
 * The sum of all threads' v in a cluster, in one order in all of its blocks;
 * once in a launch, after meet_cluster(). Each group of lanes stores its sum in
 * the LDS of all blocks, in words with the number of the call: as small.h's. A
 * block ends when all words have come to it, so none is stored to a block that
 * has ended. The wait has no limit: all groups of the cluster run, and a group
 * whose own wait for a peer was in vain stores its sum, too.
 */
DEV f32 sum_of_cluster(const CommGroup &g, u32 parts,
                       const NormScratch &scratch, f32 v)
{
    f32 sum = 0;

#if KPK_SM >= 90
    const u32 groups = blockDim.x / group_size;

    v = join_lanes(v, plus());
    if (lane_id() < parts)
        cluster_store(scratch.told + cluster_rank() * groups +
                          threadIdx.x / group_size,
                      (u64)g.call << 32 | bits_as<u32>(v), lane_id());
    NO_UNROLL
    for (u32 i = lane_id(); i < groups * parts; i += group_size) {
        u64 word;

        do
            word = cluster_load(scratch.told + i);
        while (word >> 32 != g.call);
        sum += bits_as<f32>((u32)word);
    }
    sum = join_lanes(sum, plus());
#else
    (void)g;
    (void)parts;
    (void)scratch;
    (void)v;
#endif
    return sum;
}

/*
 * The sum of all threads' v in the blocks that share a row, added in the same
 * order in every block.
 */
template <typename A>
DEV A sum_of_row(CommGroup &g, u32 parts, u32 turn,
                 const team_scratch<A> &scratch, A v)
{
    v = team_reduce(block_team(), scratch, turn, v, plus());
    if (parts == 1)
        return v;

    u64 *words = reinterpret_cast<u64 *>(g.own + COMM_PARTS) +
                 (u64)blockIdx.x / parts * parts * COMM_PART_WORDS;
    A told = 0;

    if (threadIdx.x == 0)
        tell_part(g, words + blockIdx.x % parts * COMM_PART_WORDS, v);
    if (lane_id() < parts)
        told = told_part(g, words + lane_id() * COMM_PART_WORDS, v);
    /* needs all lanes, which leave the wait one by one */
    return join_lanes(told, plus());
}

/* The blocks that share a row, and a thread's part of it: the pieces from
 * `first` on, `size` apart. */
struct RowPart {
    u32 parts, first, size;
    bool clustered;

    DEV_MEMBER RowPart(u32 blocks)
        : parts(blocks),
          first((blockIdx.x & (blocks - 1)) * blockDim.x + threadIdx.x),
          size(blocks * blockDim.x), clustered(are_cluster(blocks))
    {
    }
};

/* V numbers, scaled, from a column on, which is not in the row for all lanes of
 * a group. */
template <bool Blocks, u32 V, typename T>
DEV void put_normed(const NormCall<T> &c, u32 r, u32 column, const f32 *v)
{
    const auto out = norm_out<T, Blocks>(c, r);

    if constexpr (Blocks) {
        if (column / (group_size * V) * (group_size * V) < out.end())
            store_q8_1<V, true>(v, out.blocks, column, column < out.end());
    } else if (column < c.n) {
        write_columns<V>(out.dst + column, v);
    }
}

/* Norms a part of a row whose squares are out of range. It reads `sum`, of
 * which each thread has written the elements that it reads. */
template <bool Blocks, typename T, typename Arguments>
DEV void norm_wide(CommGroup &g, const Arguments &args, u32 r,
                   const RowPart &part, const NormScratch &scratch)
{
    constexpr u32 V = per16<T>::value;
    const NormCall<T> c = args.read();
    const T *row = c.sum + (u64)r * c.n;
    const u32 end = Blocks ? max_of(c.n, c.n_padded) : c.n;
    f64 squares = 0;

    NO_UNROLL
    for (u32 column = part.first * V; column < c.n; column += part.size * V)
        NO_UNROLL
    for (u32 k = 0; k < V; k++) {
        const f64 v = (f64)convert<f32>(row[column + k]);

        squares = fused(v, v, squares);
    }
    squares = sum_of_row(g, part.parts, 0, scratch.wide, squares);

    const f64 scale = reciprocal_root(squares / (f64)c.n + (f64)c.eps);

    NO_UNROLL
    for (u32 column = part.first * V; column - lane_id() % group_size * V < end;
         column += part.size * V) {
        f32 v[V];

        UNROLL
        for (u32 k = 0; k < V; k++) {
            v[k] = column < c.n
                       ? (f32)((f64)convert<f32>(row[column + k]) * scale)
                       : 0.0f;
            if (c.alpha && column < c.n)
                v[k] *= convert<f32>(c.alpha[column + k]);
        }
        put_normed<Blocks, V>(c, r, column, v);
    }
}

/* A piece's numbers. */
template <typename T, u32 V> DEV void spread(const Piece<T> &p, f32 (&v)[V])
{
    if constexpr (is_same<T, bf16>::value) { /* the upper half of an f32 */
        const Pack<u32, V / 2> w = bits_as<Pack<u32, V / 2>>(p);

        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] =
                bits_as<f32>(i % 2 ? w[i / 2] & 0xffff0000u : w[i / 2] << 16);
    } else {
        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] = convert<f32>(p[i]);
    }
}

/* own[k] is piece i + k * step of `in`, if k is below `there`. */
template <typename T, u32 K>
DEV void load_own(const T *in, u64 i, u64 step, u32 there, Piece<T> (&own)[K])
{
    UNROLL
    for (u32 k = 0; k < K; k++)
        if (k < there)
            own[k] = load_pack<per16<T>::value>(in + (i + k * step) *
                                                         per16<T>::value);
}

/* The same by volatile loads, which compilers do not move behind comm_call().
 * Pieces that do not exist are undefined. */
template <typename T, u32 K>
DEV void load_own_now(const T *in, u64 i, u64 step, u32 there,
                      Piece<T> (&own)[K])
{
    UNROLL
    for (u32 k = 0; k < K; k++) {
        const T *from = in + (k < there ? i + k * step : 0) * per16<T>::value;
        Pack<u64, 2> w;

        system_load_two(reinterpret_cast<const u64 *>(from), &w[0]);
        own[k] = bits_as<Piece<T>>(w);
    }
}

/*
 * Norms a block's part of row r. ask(i, step, there, pieces) loads this rank's
 * pieces and may send them; then, with the same arguments, fetch() makes
 * pieces[k] the ranks' sum of piece i + k * step of the rows, rounded, if k is
 * below `there`. `turn` alternates from row to row. Every thread comes. Only:
 * the block has no other row, and its call is counted here.
 */
template <bool Blocks, u32 K, bool Only, typename T, typename Arguments,
          typename Ask, typename Fetch>
DEV void norm_held(CommGroup &g, const Arguments &args, u32 r,
                   const RowPart &part, u32 turn, const NormScratch &scratch,
                   Ask ask, Fetch fetch)
{
    constexpr u32 V = per16<T>::value;
    const u32 n = args.read().n;
    const f32 share = one_over_count((f32)n);
    const u64 first = (u64)r * (n / V) + part.first;
    Piece<T> sums[K], residual[K], weight[K];
    f32 v[K][V], some[4] = {0, 0, 0, 0};
    u32 there = 0;

    UNROLL
    for (u32 k = 0; k < K; k++)
        there += (k * part.size + part.first) * V < n;
    ask(first, part.size, there, sums);
    {
        const NormCall<T> c = args.read();

        UNROLL
        for (u32 k = 0; k < K; k++) { /* while other ranks' pieces arrive */
            residual[k] = k < there
                              ? residual_at(c, (first + k * part.size) * V)
                              : Piece<T>{};
            if (c.alpha)
                weight[k] = load_pack<V>(
                    c.alpha +
                    (k < there ? (k * part.size + part.first) * V : 0));
        }
    }
    fetch(first, part.size, there, sums);
    {
        const NormCall<T> c = args.read();

        UNROLL
        for (u32 k = 0; k < K; k++) {
            sums[k] = k < there ? add_residual(c, (first + k * part.size) * V,
                                               residual[k], sums[k])
                                : Piece<T>{};
            spread<T>(sums[k], v[k]);
            UNROLL
            for (u32 i = 0; i < V; i++)
                some[i % 4] = fused(v[k][i], v[k][i], some[i % 4]);
        }
    }
    f32 squares = (some[0] + some[1]) + (some[2] + some[3]);

    if (part.clustered) /* late, so that this wait is short */
        meet_cluster();
    squares = part.clustered
                  ? sum_of_cluster(g, part.parts, scratch, squares)
                  : sum_of_row(g, part.parts, turn, scratch.narrow, squares);
    if constexpr (Only)
        comm_count(g); /* before the row is written */

    const NormCall<T> c = args.read();
    const f32 mean = rounded_product(squares, share) + c.eps;

    if (squares_in_range<T>(mean)) {
        const f32 scale = reciprocal_root(mean);

        UNROLL
        for (u32 k = 0; k < K; k++) {
            f32 w[V];

            spread<T>(weight[k], w);
            UNROLL
            for (u32 i = 0; i < V; i++) {
                v[k][i] *= scale;
                if (c.alpha)
                    v[k][i] *= w[i];
            }
            put_normed<Blocks, V>(c, r, (k * part.size + part.first) * V, v[k]);
        }
    } else {
        norm_wide<Blocks, T>(g, args, r, part, scratch);
    }
}

/* One block norms a row of any length, which it reads again from `sum`. */
template <bool Blocks, typename T, typename Arguments, typename Ask,
          typename Fetch>
DEV void norm_streamed(const Arguments &args, u32 r, const NormScratch &scratch,
                       Ask ask, Fetch fetch)
{
    constexpr u32 V = per16<T>::value;

    {
        const NormCall<T> c = args.read();
        const u32 pieces = c.n / V;
        const u64 first = (u64)r * pieces, end = first + pieces;

        NO_UNROLL
        for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
            const Piece<T> residual = residual_at(c, i * V);
            Piece<T> sum[1];

            ask(i, 0, 1, sum);
            fetch(i, 0, 1, sum);
            add_residual(c, i * V, residual, sum[0]);
        }
    }
    __syncthreads();
    norm_row_of<Blocks>(args.read(), r, scratch.narrow);
}

/* Columns that a row's blocks write. */
template <bool Blocks, typename T> DEV u32 columns_of(const NormCall<T> &c)
{
    return Blocks ? max_of(c.n, c.n_padded) : c.n;
}

/* One block norms row r, one of several that it takes in turn. */
template <bool Blocks, typename T, typename Arguments, typename Ask,
          typename Fetch>
DEV void norm_one(CommGroup &g, const Arguments &args, u32 r, u32 turn,
                  const NormScratch &scratch, Ask ask, Fetch fetch)
{
    if constexpr (KPK_NVIDIA) {
        const u32 columns = columns_of<Blocks>(args.read());
        const u32 room = blockDim.x * per16<T>::value;

        if (columns <= room) {
            norm_held<Blocks, 1, false, T>(g, args, r, RowPart(1), turn,
                                           scratch, ask, fetch);
            return;
        }
        if (columns <= held<T> * room) {
            norm_held<Blocks, held<T>, false, T>(g, args, r, RowPart(1), turn,
                                                 scratch, ask, fetch);
            return;
        }
    }
    norm_streamed<Blocks, T>(args, r, scratch, ask, fetch);
}

/* ---- the ways of a row --------------------------------------------------- */

/* The rows of this block, j from 0 on. */
struct BlockRows {
    u32 count;

    DEV_MEMBER BlockRows(u32 rows)
        : count(blockIdx.x < rows ? div_up<u32>(rows - blockIdx.x, gridDim.x)
                                  : 0)
    {
    }
    static DEV_MEMBER u32 row(u32 j)
    {
        return blockIdx.x + j * gridDim.x;
    }
};

/*
 * Norms rows that are exchanged as words: post(i, piece) sends piece i to the
 * other ranks, and get_box() is the mailbox for their pieces.
 */
template <bool Blocks, typename T, typename Arguments, typename Post,
          typename Box>
DEV void summed_norms(CommGroup &g, const T *in, const Arguments &args,
                      const NormScratch &scratch, Post post, Box get_box)
{
    constexpr u32 each = per16<T>::value;
    const u32 pieces = args.read().n / each;
    const BlockRows rows(args.read().rows);
    const auto box = get_box();

    in_steps<false>(
        g, rows.count, args.read().step,
        [&](u32 from, u32 to) {
            NO_UNROLL
            for (u32 j = from; j < to; j++) {
                const u64 first = (u64)rows.row(j) * pieces;

                for_pieces<2>(
                    first + threadIdx.x, blockDim.x, first + pieces,
                    first + pieces,
                    [&](u64 at, auto count) {
                        Piece<T> p[count.value];

                        load_pieces(in, at, blockDim.x, p);
                        UNROLL
                        for (u32 k = 0; k < count.value; k++)
                            post(at + k * blockDim.x, p[k]);
                    },
                    [&](u64 at) { post(at, load_pack<each>(in + at * each)); });
            }
        },
        [&](u32 from, u32 to) {
            NO_UNROLL
            for (u32 j = from; j < to; j++)
                norm_one<Blocks, T>(
                    g, args, rows.row(j), j % 2, scratch,
                    [&](u64 i, u64 step, u32 there, auto &own) {
                        load_own(in, i, step, there, own);
                    },
                    [&](u64 i, u64 step, u32 there, auto &sums) {
                        receive_sums<T, true>(g, box, i, step, there, sums);
                    });
        });
}

/* The same for one row that fits the registers of the blocks that share it. Its
 * time depends on the number of instructions. So work that needs only arguments
 * is done before the previous launch ends, and pieces are loaded once, while
 * the load of the call's number is in flight. */
template <bool Blocks, u32 K, typename T, typename Arguments, typename Post,
          typename Box>
DEV void summed_norm_at_once(CommGroup &g, const T *in, const Arguments &args,
                             u32 r, const RowPart &part,
                             const NormScratch &scratch, Post post, Box get_box)
{
    comm_meet(g, part.first | r);
    norm_held<Blocks, K, true, T>(
        g, args, r, part, 0, scratch,
        [&](u64 i, u64 step, u32 there, auto &own) {
            load_own_now(in, i, step, there, own);
            comm_call(g);
            UNROLL
            for (u32 k = 0; k < K; k++)
                if (k < there)
                    post(i + k * step, own[k]);
        },
        [&](u64 i, u64 step, u32 there, auto &sums) {
            receive_sums<T, true>(g, get_box(), i, step, there, sums);
        });
}

template <bool Blocks, typename T, typename Arguments, typename Post,
          typename Box>
DEV void summed_norm_posted(CommGroup &g, const T *in, const Arguments &args,
                            Post post, Box get_box)
{
    NORM_SCRATCH(scratch);

    if constexpr (KPK_NVIDIA) {
        const NormCall<T> c = args.read();
        const u32 columns = columns_of<Blocks>(c);
        const u32 room = c.parts * blockDim.x * per16<T>::value;

        if (c.rows * c.parts == gridDim.x && columns <= held<T> * room) {
            const RowPart part(c.parts);
            const u32 r = blockIdx.x >> log2_of(c.parts);

            if (part.clustered)
                begin_cluster(c.parts, scratch);
            if (columns <= room)
                summed_norm_at_once<Blocks, 1>(g, in, args, r, part, scratch,
                                               post, get_box);
            else
                summed_norm_at_once<Blocks, held<T>>(g, in, args, r, part,
                                                     scratch, post, get_box);
            return;
        }
    }
    comm_begin(g);
    summed_norms<Blocks>(g, in, args, scratch, post, get_box);
    comm_end(g);
}

template <typename T, bool Blocks>
DEV void summed_norm_small(CommGroup &g, const T *in,
                           const NormArguments<T, COMM_ARGUMENTS + 8> &args)
{
    summed_norm_posted<Blocks>(
        g, in, args,
        [&](u64 i, const Piece<T> &piece) {
            send_to_others<T, true>(g, i, [&](u32, u64) { return piece; });
        },
        [&] { return small_box(g); });
}

template <typename T, bool Blocks>
DEV void
summed_norm_medium(CommGroup &g, const MediumSlots &slots, const T *in,
                   const NormArguments<T, COMM_ARGUMENTS + 3 * 8> &args)
{
    summed_norm_posted<Blocks>(
        g, in, args,
        [&](u64 i, const Piece<T> &piece) { push_piece(g, slots, i, piece); },
        [&] { return slots.box(g); });
}

template <typename T, bool Blocks>
DEV void summed_norm_large(
    CommGroup &g, const CommInputs<T> &in, const CommTargets<T> &to,
    const NormArguments<T, COMM_ARGUMENTS + 2 * COMM_RANKS * 8> &args)
{
    constexpr u32 each = per16<T>::value, line = COMM_LINE / sizeof(T);
    NORM_SCRATCH(scratch);
    const u32 n = args.read().n;
    const u64 stride = div_up(n, line) * line; /* of rows in a workspace */
    const u64 share = div_up<u64>(stride, g.ranks * line) * line;
    const u64 begin = min_of<u64>(g.rank * share, n);
    const u64 end = min_of<u64>(begin + share, n);
    const BlockRows rows(args.read().rows);

    meet_others(g, COMM_BEGUN);
    in_steps<true>(
        g, rows.count, args.read().step,
        [&](u32 from, u32 to_row) {
            NO_UNROLL
            for (u32 j = from; j < to_row; j++) {
                const u32 r = rows.row(j);

                NO_UNROLL
                for (u64 i = begin / each + threadIdx.x; i < end / each;
                     i += blockDim.x) {
                    Piece<T> all[COMM_RANKS];

                    pull_piece<T, true>(g, in, (u64)r * n, n, i, all);
                    put_sum(g, to, r * stride, n, i, sum_of<T>(g, all));
                }
            }
        },
        [&](u32 from, u32 to_row) {
            NO_UNROLL
            for (u32 j = from; j < to_row; j++) {
                const u32 r = rows.row(j);
                const T *row = to[g.rank] + r * stride;

                norm_one<Blocks, T>(
                    g, args, r, j % 2, scratch,
                    [&](u64 i, u64 step, u32 there, auto &sums) {
                        load_own(row, i - (u64)r * (n / each), step, there,
                                 sums);
                    },
                    [](u64, u64, u32, auto &) {});
            }
        });
    comm_end(g);
}
