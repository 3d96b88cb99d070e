/*
 * map.h - out[i] = f(a[i], b[i], c[i]) over strided operands, any launch shape
 *
 * Operands are described as candle describes them: `info` holds the dimensions,
 * then one group of strides per operand, outermost first, strides in elements
 * and possibly 0; null means that all are contiguous. The output is contiguous.
 * Any grid and block of one dimension gives the same result.
 *
 * Work is cut into packs of k consecutive outputs, as many as make 16 bytes of
 * the widest type (pack_size()). Four ways to bring a pack's inputs into
 * registers:
 *
 *   flat     all contiguous and aligned: one load instruction per operand
 *   rows     at most 4 dimensions are left after merging those that all
 *            operands step through alike, and all numbers fit 32 bits: one
 *            division per dimension and pack, then steps along the row. An
 *            operand's row is loaded in one piece, or once if its stride is 0
 *   tiles    as rows, but one operand is contiguous along another dimension
 *            than the output: it goes through LDS in square tiles, so that
 *            both its loads and the stores run along contiguous memory
 *   each     everything else, 64-bit, element by element
 *
 * Launches come in two usual shapes: with a thread for every element (candle's:
 * 1024 a block), and with a thread for every pack. A small grid of the first
 * shape takes an element a thread, and no layout is worked out: a thread finds
 * its place in info (walk.h says why). In a larger one memory is busiest when
 * few blocks move several packs a thread, so that many loads are under way,
 * while the others leave at once (map/blocks.h). Smaller grids stride over the
 * packs.
 *
 * On sm_NN a block of 1024 threads must do with 32 registers a thread, or one
 * block alone keeps a multiprocessor: one thread works out the layout, and it
 * stays in LDS. On AMD it is scalar work and stays in scalar registers, in as
 * few instructions as can be (amd/scalar_rows.h).
 */
#pragma once

#include "division.h"
#include "map/apply.h"
#include "map/blocks.h"
#include "map/pack.h"
#if KPK_NVIDIA
#include "nvidia/map/low_latency.h"
#else
#include "amd/scalar_rows.h"
#endif
#include "map/transpose.h"
#include "map/view.h"

/* ---- packs in registers ---- */

/* All operands contiguous and aligned. */
template <u32 k, u32 nops, typename A, typename B, typename C>
struct FlatSource {
    typedef Inputs<k, A, B, C> Packs;
    const A *a;
    const B *b;
    const C *c;
    u64 n;

    DEV_MEMBER u32 count(u64 pack) const
    {
        const u64 left = n - pack * k;
        return left < k ? (u32)left : k;
    }
    DEV_MEMBER Packs load_some(u64 pack, u32 count) const
    {
        Packs in;
        in.a = ::load_some<k>(a + pack * k, count, count == k);
        if constexpr (nops > 1)
            in.b = ::load_some<k>(b + pack * k, count, count == k);
        if constexpr (nops > 2)
            in.c = ::load_some<k>(c + pack * k, count, count == k);
        return in;
    }
    DEV_MEMBER Packs load_whole(u64 pack) const
    {
        Packs in;
        in.a = load_raw<k>(a + pack * k);
        if constexpr (nops > 1)
            in.b = load_raw<k>(b + pack * k);
        if constexpr (nops > 2)
            in.c = load_raw<k>(c + pack * k);
        return in;
    }
};

#if KPK_NVIDIA
/* LAYOUT_ROWS: n is below 2^32. */
template <u32 k, u32 nops, typename A, typename B, typename C>
struct RowSource {
    typedef Inputs<k, A, B, C> Packs;
    const View<nops> &view;
    const A *a;
    const B *b;
    const C *c;
    u32 n;
    bool a_aligned, b_aligned, c_aligned;

    DEV_MEMBER u32 count(u64 pack) const
    {
        return min_of(k, n - (u32)pack * k);
    }
    DEV_MEMBER PackPlace place_of(u64 pack, u32 count) const
    {
        if constexpr (KPK_NVIDIA)
            forget_memory(); /* the view stays in LDS */
        PackPlace place;
        u32 rest = (u32)pack * k;
        place.count = count;
        UNROLL
        for (u32 g = 0; g < MAX_GROUPS; g++) {
            const bool last = g + 1 >= view.ngroups;
            const u32 outer = last ? 0 : quotient(view, g, rest);
            place.at[g] = last ? rest : rest - outer * view.dim[g];
            rest = outer;
        }
        return place;
    }
    DEV_MEMBER Packs load_some(u64 pack, u32 count) const
    {
        const PackPlace place = place_of(pack, count);
        Packs in;
        in.a = load_row<k>(view, 0, a_aligned, a, place);
        if constexpr (nops > 1)
            in.b = load_row<k>(view, 1, b_aligned, b, place);
        if constexpr (nops > 2)
            in.c = load_row<k>(view, 2, c_aligned, c, place);
        return in;
    }
    DEV_MEMBER Packs load_whole(u64 pack) const
    {
        const PackPlace place = place_of(pack, k);
        Packs in;
        in.a = load_in_row<k>(view, 0, a_aligned, a, place);
        if constexpr (nops > 1)
            in.b = load_in_row<k>(view, 1, b_aligned, b, place);
        if constexpr (nops > 2)
            in.c = load_in_row<k>(view, 2, c_aligned, c, place);
        return in;
    }
};
#endif

/*
 * Maps a thread's packs. The grid's first `nwhole` packs are loaded and stored
 * by one instruction each, `each` of them at a time.
 */
template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename Source,
          typename F>
DEV void map_packs(const Share &share, u64 npacks, u64 nwhole, bool out_aligned,
                   const Source &source, R *out, F f)
{
    u64 p = share.first;
    if constexpr (each > 1) {
        for (; p + (each - 1) * share.step < nwhole; p += each * share.step) {
            typename Source::Packs in[each];
            UNROLL
            for (u32 j = 0; j < each; j++)
                in[j] = source.load_whole(p + j * share.step);
            UNROLL
            for (u32 j = 0; j < each; j++)
                store_raw<k>(out + (p + j * share.step) * k,
                             apply<weight, k, nops, R>(f, in[j]));
        }
    }
    for (; p < npacks; p += share.step) {
        const bool whole = p < nwhole;
        const u32 count = whole ? k : source.count(p);
        typename Source::Packs in;
        if (whole)
            in = source.load_whole(p);
        else
            in = source.load_some(p, count);
        store_some<k>(out + p * k, apply<weight, k, nops, R>(f, in), count,
                      out_aligned && count == k);
    }
}
/* ---- the whole ---- */

template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_flat(const Blocks &blocks, u64 n, const A *a, const B *b,
                  const C *c, R *out, F f)
{
    const FlatSource<k, nops, A, B, C> source = {a, b, c, n};
    map_packs<weight, k, each, nops>(share_packs(blocks), n / k + (n % k != 0),
                                     n / k, true, source, out, f);
}

#if KPK_NVIDIA
template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_rows(const Blocks &blocks, u64 n, const View<nops> &view,
                  const A *a, const B *b, const C *c, R *out, F f)
{
    const bool steady = view.dim[0] % k == 0;
    const bool out_aligned = is_aligned(out, k * sizeof(R));
    RowSource<k, nops, A, B, C> source = {view,   a,     b,     c,
                                          (u32)n, false, false, false};
    source.a_aligned = steady && rows_aligned<k>(view, 0, a);
    bool pieces =
        steady && out_aligned && (source.a_aligned || view.stride[0][0] == 0);
    if constexpr (nops > 1) {
        source.b_aligned = steady && rows_aligned<k>(view, 1, b);
        pieces = pieces && (source.b_aligned || view.stride[1][0] == 0);
    }
    if constexpr (nops > 2) {
        source.c_aligned = steady && rows_aligned<k>(view, 2, c);
        pieces = pieces && (source.c_aligned || view.stride[2][0] == 0);
    }
    const u64 npacks = n / k + (n % k != 0);
    map_packs<weight, k, each, nops>(share_packs(blocks), npacks,
                                     pieces ? npacks : 0, out_aligned, source,
                                     out, f);
}
#endif

/* out[i] from the elements at at[] */
template <u32 nops, typename R, typename A, typename B, typename C, typename F>
DEV void map_one(u64 i, const u64 (&at)[nops], const A *a, const B *b,
                 const C *c, R *out, F f)
{
    if constexpr (nops == 1)
        out[i] = f(a[at[0]]);
    else if constexpr (nops == 2)
        out[i] = f(a[at[0]], b[at[1]]);
    else
        out[i] = f(a[at[0]], b[at[1]], c[at[2]]);
}

/* strided_offsets(); small_index: i is below 2^20 */
template <bool small_index, u32 nops>
DEV void small_offsets(u32 i, u32 rank, const size_t *info, u64 (&at)[nops])
{
#if KPK_NVIDIA
    if constexpr (small_index) {
        small_strided_offsets<nops>(i, rank, info, at);
        return;
    }
#endif
    strided_offsets<nops>(i, rank, info, at);
}

/* An element a thread, of a small grid that covers them all. */
template <bool small_index, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV void map_strided(u32 i, u32 n, u64 rank, const size_t *info, const A *a,
                     const B *b, const C *c, R *out, F f)
{
    u64 at[nops];

    if (i >= n)
        return;
    small_offsets<small_index, nops>(i, (u32)rank, info, at);
    map_one<nops>(i, at, a, b, c, out, f);
}

/* The same with info or without. A short f has a second copy of the code, for
 * contiguous operands. */
template <bool once, bool small_index, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_small(u32 i, u32 n, u64 rank, const size_t *info, const A *a,
                   const B *b, const C *c, R *out, F f)
{
    u64 at[nops];

    if (i >= n)
        return;
    if (!once && info == nullptr) {
        const u64 place = wide_index(i);

        UNROLL
        for (u32 o = 0; o < nops; o++)
            at[o] = place;
        map_one<nops>(place, at, a, b, c, out, f);
        return;
    }
    UNROLL
    for (u32 o = 0; o < nops; o++)
        at[o] = i;
    if (info != nullptr)
        small_offsets<small_index, nops>(i, (u32)rank, info, at);
    map_one<nops>(i, at, a, b, c, out, f);
}

/* Whatever the layout, an element at a time; contiguous without info. */
template <u32 nops, typename R, typename A, typename B, typename C, typename F>
DEV void map_each(const Blocks &blocks, u64 n, u64 rank, const size_t *info,
                  const A *a, const B *b, const C *c, R *out, F f)
{
    const Share share = share_packs(blocks);
    for (u64 i = share.first; i < n; i += share.step) {
        u64 at[nops];
        UNROLL
        for (u32 o = 0; o < nops; o++)
            at[o] = info == nullptr ? i : 0;
        u64 rest = i;
        for (u64 d = info == nullptr ? 0 : rank; d-- > 0 && rest != 0;) {
            const u64 dim = info[d], outer = divide(rest, dim);
            UNROLL
            for (u32 o = 0; o < nops; o++)
                at[o] += (rest - outer * dim) * info[(o + 1) * rank + d];
            rest = outer;
        }
        map_one<nops>(i, at, a, b, c, out, f);
    }
}

/*
 * Elements in a pack. On AMD the slowest functions take one element at a time:
 * two copies need more constants than there are SGPRs, and enough waves fit to
 * keep memory busy with 8 bytes a lane.
 */
template <Weight weight, u32 widest> DEV constexpr u32 pack_size()
{
    return weight == HEAVY && widest == 8 && !KPK_NVIDIA ? 1 : 16 / widest;
}

/*
 * Packs that a thread loads at once, and all packs of a thread if one block in
 * k * stay computes. In candle's launches fewer blocks are faster, as long as
 * they keep memory busy, which takes more packs with small types. Measured on
 * an H200 (tests/bench/results/models.csv).
 */
template <Weight weight, u32 nops, u32 k, u32 first, u32 widest> struct Shape {
    static constexpr bool slow = weight == HEAVY && widest == 8;
    static constexpr u32 each =
        nops == 3 || slow                                  ? 1
        : nops == 2                                        ? 2
        : weight == HEAVY || first * k < 16 || widest == 1 ? 4
                                                           : 2;
    static constexpr u32 stay = nops == 3                        ? 1
                                : nops == 2 && widest >= 4       ? 2
                                : nops == 2                      ? 8 / widest
                                : widest == 1                    ? 16
                                : widest == 2 || first != widest ? 8
                                : weight == HEAVY && KPK_NVIDIA  ? 8
                                                                 : 4;
    /* the most blocks of a small grid: ten for each multiprocessor if elements
     * have two bytes and are not only copied */
    static constexpr u32 small =
        KPK_NVIDIA && nops == 1 && first == 2 && weight != COPY ? 1320
                                                                : small_grid<k>;
};

/* Maps by the blocks that stay, in the way for the operands' layout. */
template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_by_layout(const Blocks &blocks, u64 n, u64 rank,
                       const size_t *info, const A *a, const B *b, const C *c,
                       R *out, F f)
{
    constexpr u32 each_row = weight == HEAVY ? 1 : 2;
    BLOCK_SHARED View<nops> view;
    if (info != nullptr) {
        if (fills_block_shared()) {
            view = merge_dims<nops>(n, rank, info);
            prepare_dividers(view);
            if constexpr (weight == COPY)
                if (view.layout == LAYOUT_ROWS)
                    find_transposed(view);
        }
        sync_block_shared();
        if (!KPK_NVIDIA && view.layout == LAYOUT_ROWS) {
            map_rows<weight, k, each_row, nops>(blocks, n, view, a, b, c, out,
                                                f);
            return;
        }
    }
    const Layout layout = info == nullptr ? LAYOUT_FLAT : view.layout;
    if (layout == LAYOUT_FLAT) {
        bool aligned =
            is_aligned(out, k * sizeof(R)) && is_aligned(a, k * sizeof(A));
        if constexpr (nops > 1)
            aligned = aligned && is_aligned(b, k * sizeof(B));
        if constexpr (nops > 2)
            aligned = aligned && is_aligned(c, k * sizeof(C));
        if (aligned)
            map_flat<weight, k, each, nops>(blocks, n, a, b, c, out, f);
        else
            map_each<nops>(blocks, n, 0, nullptr, a, b, c, out, f);
    } else if (KPK_NVIDIA && layout == LAYOUT_ROWS) {
        map_rows<weight, k, each_row, nops>(blocks, n, view, a, b, c, out, f);
    } else if (layout == LAYOUT_ANY) {
        map_each<nops>(blocks, n, rank, info, a, b, c, out, f);
    }
    if constexpr (weight == COPY)
        if (layout == LAYOUT_TILES)
            copy_tiles(blocks, view, a, out);
}

template <Weight weight, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV void map(u64 n, u64 rank, const size_t *info, const A *a, const B *b,
             const C *c, R *out, F f)
{
    constexpr u32 widest =
        max_of(max_of(operand_size<A>::value, operand_size<B>::value),
               max_of(operand_size<C>::value, operand_size<R>::value));
    constexpr u32 k = pack_size<weight, widest>();
    typedef Shape<weight, nops, k, operand_size<A>::value, widest> Best;
    constexpr u32 each = Best::each, stay = Best::stay, small = Best::small;

    /*
     * Most blocks of a large grid leave, so the test for leaving comes before
     * all other work. A small grid loads right after the test, because with 32
     * waves on a multiprocessor an instruction takes 8 cycles of a scheduler. A
     * heavy function is instantiated once for both layouts.
     */
    constexpr bool once = weight == HEAVY;
    constexpr bool quick = KPK_NVIDIA && nops <= 2 && !once;
    constexpr bool small_index = small <= 1024; /* elements below 2^20 */
    if (leaves_at_once<k, stay, small>())
        return;
    const u32 grid = blocks_anew();
#if KPK_NVIDIA
    if constexpr (quick) {
        const u32 threads = threads_anew();
        const u32 i = (u32)blockIdx.x * threads + thread_anew();

        if (grid <= small) {
            /* copies have strided operands as a rule, and the second case takes
             * a jump more */
            constexpr bool strided_first = weight == COPY;

            if (strided_first && info != nullptr) {
                if (n <= grid * threads) {
                    map_strided<small_index, nops>(i, (u32)n, rank, info, a, b,
                                                   c, out, f);
                    return;
                }
            } else if (info == nullptr) {
                const bool mine = i < (u32)n; /* and n, if all are covered */
                Inputs<1, A, B, C> in;

                in.a = load_now(a + wide_index(i), mine);
                if constexpr (nops > 1)
                    in.b = load_now(b + wide_index(i), mine);
                /* the other work while the loads are in flight */
                u64 to = __cvta_generic_to_global(out + wide_index(i));

                asm volatile("" : "+l"(to));
                if (n <= blocks_anew() * threads_anew()) {
                    if (mine)
                        store_raw<1>(
                            static_cast<R *>(__cvta_global_to_generic(to)),
                            apply<weight, 1, nops, R>(f, in));
                    return;
                }
            }
            if (!strided_first && n <= blocks_anew() * threads_anew()) {
                map_strided<small_index, nops>(i, (u32)n, rank, info, a, b, c,
                                               out, f);
                return;
            }
        }
    }
#endif
    if (!quick && grid <= small) {
        const u32 threads = threads_anew();
        if (n <= grid * threads) {
            map_small<once, small_index, nops>(
                (u32)blockIdx.x * threads + threadIdx.x, (u32)n, rank, info, a,
                b, c, out, f);
            return;
        }
    }
    if (leaves_middle_grid<k, small>())
        return;
    const Blocks blocks = staying_blocks<k, stay, small>(n, info != nullptr);
    if (!blocks.stays)
        return;
    map_by_layout<weight, k, each, nops>(blocks, n, rank, info, a, b, c, out,
                                         f);
}

/* ---- what kernels call ---- */

/* out[i] = f(in[i]); without `in`, in place: out[i] = f(out[i]) */
template <Weight weight = LIGHT, typename R, typename A, typename F>
DEV void map_unary(u64 n, u64 rank, const size_t *info, const A *in, R *out,
                   F f)
{
    if constexpr (sizeof(A) == sizeof(R)) {
        if (in == nullptr) {
            in = reinterpret_cast<const A *>(out);
            info = nullptr;
        }
    }
    map<weight, 1>(n, rank, info, in, (const None *)nullptr,
                   (const None *)nullptr, out, f);
}

template <typename R, typename A, typename B, typename F>
DEV void map_binary(u64 n, u64 rank, const size_t *info, const A *a, const B *b,
                    R *out, F f)
{
    map<LIGHT, 2>(n, rank, info, a, b, (const None *)nullptr, out, f);
}

template <typename R, typename A, typename B, typename C, typename F>
DEV void map_ternary(u64 n, u64 rank, const size_t *info, const A *a,
                     const B *b, const C *c, R *out, F f)
{
    map<LIGHT, 3>(n, rank, info, a, b, c, out, f);
}
