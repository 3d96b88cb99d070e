/*
 * map.h - out[i] = f(a[i], b[i], c[i]) over strided operands, any launch shape
 *
 * Operands are described as candle describes them: `info` holds the dimensions,
 * then one group of strides per operand, outermost first, strides in elements
 * and possibly 0; null means that all are contiguous. The output is contiguous.
 * Any grid and block of one dimension gives the same result.
 *
 * Work is cut into packs of k consecutive outputs, as many as make 16 bytes of
 * the widest type. Four ways to bring a pack's inputs into registers:
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
 * Launches come in two usual shapes. With a thread for every element (candle's:
 * 1024 a block) one block in k moves the packs of all k blocks and the others
 * leave at once: memory is busy while idle blocks are scheduled. With a thread
 * for every pack (kernels' recommended shape) and with smaller grids, threads
 * stride over the packs.
 */
#pragma once

#include "device.h"

struct None {
}; /* stands for an operand that a function does not have */

enum { MAX_GROUPS = 4 };

/* ---- layouts ---------------------------------------------------------------- */

enum Layout { LAYOUT_FLAT, LAYOUT_ROWS, LAYOUT_ANY };

/* Merged dimensions, innermost first; those not in use are 1 with stride 0. */
template <u32 nops> struct View {
    u32 dim[MAX_GROUPS];
    u32 stride[nops][MAX_GROUPS];
};

/*
 * Merges dimensions: those of size 1 go, and one that continues its outer
 * neighbour, for every operand, joins it. From the outermost inwards, so that
 * the open group is always the first and older ones move up.
 */
template <u32 nops>
DEV Layout merge_dims(u64 n, u64 rank, const size_t *info, View<nops> &view)
{
    if (info == nullptr)
        return LAYOUT_FLAT;
    bool fits = n < 0xffff0000u;
    u32 ngroups = 0;
    u64 step[nops]; /* of the open group */
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        view.dim[g] = 1;
        UNROLL
        for (u32 o = 0; o < nops; o++)
            view.stride[o][g] = 0;
    }
    UNROLL
    for (u32 o = 0; o < nops; o++)
        step[o] = 1;
    NO_UNROLL
    for (u64 d = 0; d < rank; d++) {
        const u64 dim = info[d];
        if (dim == 1)
            continue;
        bool joins = ngroups > 0;
        UNROLL
        for (u32 o = 0; o < nops; o++) {
            const u64 next = info[(o + 1) * rank + d];
            joins = joins && step[o] == next * dim;
            fits = fits && next >> 32 == 0;
            step[o] = next;
        }
        if (!joins) {
            UNROLL
            for (u32 g = MAX_GROUPS - 1; g > 0; g--) {
                view.dim[g] = view.dim[g - 1];
                UNROLL
                for (u32 o = 0; o < nops; o++)
                    view.stride[o][g] = view.stride[o][g - 1];
            }
            view.dim[0] = 1;
            ngroups++;
        }
        view.dim[0] *= (u32)dim;
        UNROLL
        for (u32 o = 0; o < nops; o++)
            view.stride[o][0] = (u32)step[o];
    }
    bool flat = ngroups <= 1;
    UNROLL
    for (u32 o = 0; o < nops; o++)
        flat = flat && step[o] == 1;
    if (flat)
        return LAYOUT_FLAT;
    return fits && ngroups <= MAX_GROUPS ? LAYOUT_ROWS : LAYOUT_ANY;
}

/* ---- who does what ----------------------------------------------------------- */

/*
 * The packs of one thread: first, first + step, ... below their number. With a
 * thread for each of the n elements, one block in k gets packs.
 */
struct Share {
    u64 first, step;
};

DEV Share share_packs(u64 n, u32 k)
{
    if (global_threads() < n)
        return Share{global_thread(), global_threads()};
    const u32 block = blockIdx.x;
    if (block % k != 0)
        return Share{~0ull, 0};
    return Share{(u64)(block / k) * (u32)blockDim.x + (u32)threadIdx.x,
                 (u64)div_up((u32)gridDim.x, k) * (u32)blockDim.x};
}

/* ---- one operand's pack -------------------------------------------------------- */

/* Where a pack starts: coordinates in the View, and how many elements it has. */
struct Place {
    u32 at[MAX_GROUPS];
    u32 count;
};

template <u32 nops>
DEV u64 offset_at(const View<nops> &view, u32 o, const Place &place)
{
    u64 offset = 0;
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++)
        offset += (u64)place.at[g] * view.stride[o][g];
    return offset;
}

/* Whether k elements along the innermost dimension may be loaded as one. */
template <u32 k, u32 nops, typename T>
DEV bool rows_aligned(const View<nops> &view, u32 o, const T *p)
{
    u32 low = view.stride[o][0] == 1 ? 0 : 1;
    UNROLL
    for (u32 g = 1; g < MAX_GROUPS; g++)
        low |= view.stride[o][g];
    return low % k == 0 && is_aligned(p, k * sizeof(T));
}

/*
 * A pack whose parts are made one after the other in a loop: the oldest leaves,
 * the new one enters at the end. No part is indexed by a variable, which would
 * put the pack into memory.
 */
template <typename Part, u32 n> DEV void turn(Pack<Part, n> &ring, Part part)
{
    UNROLL
    for (u32 r = 0; r + 1 < n; r++)
        ring[r] = ring[r + 1];
    ring[n - 1] = part;
}

/* One element on, over the ends of rows. */
template <u32 nops> DEV void step_on(const View<nops> &view, Place &place)
{
    bool carry = true;
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        place.at[g] += carry;
        carry = carry && place.at[g] == view.dim[g];
        place.at[g] = carry ? 0 : place.at[g];
    }
}

/* Elements by steps: four loads at once inside a row, else one by one. */
template <u32 k, u32 nops, typename T>
DEV Pack<T, k> load_steps(const View<nops> &view, u32 o, const T *base,
                          Place place)
{
    constexpr u32 each = k < 4 ? k : 4;
    Pack<Pack<T, each>, k / each> ring;
    NO_UNROLL
    for (u32 done = 0; done < k; done += each) {
        Pack<T, each> part;
        if (done + each <= place.count && place.at[0] + each < view.dim[0]) {
            const T *p = base + offset_at(view, o, place);
            UNROLL
            for (u32 e = 0; e < each; e++) {
                part[e] = *p;
                p += view.stride[o][0];
            }
            place.at[0] += each;
        } else {
            NO_UNROLL
            for (u32 e = done; e < done + each; e++) {
                T x = T();
                if (e < place.count)
                    x = base[offset_at(view, o, place)];
                turn(part, x);
                step_on(view, place);
            }
        }
        turn(ring, part);
    }
    return bits_as<Pack<T, k>>(ring);
}

template <u32 k, u32 nops, typename T>
DEV Pack<T, k> load_row(const View<nops> &view, u32 o, bool aligned, const T *p,
                        const Place &place)
{
    if (place.count < k || place.at[0] + k > view.dim[0] ||
        (!aligned && view.stride[o][0] != 0))
        return load_steps<k>(view, o, p, place);
    p += offset_at(view, o, place);
    if (aligned)
        return load_pack<k>(p);
    Pack<T, k> v;
    const T x = *p;
    UNROLL
    for (u32 e = 0; e < k; e++)
        v[e] = x;
    return v;
}

/*
 * The first count elements at p; all k in one load where `whole` says so.
 * Otherwise by fours, as in load_steps().
 */
template <u32 k, typename T>
DEV Pack<T, k> load_some(const T *p, u32 count, bool whole)
{
    if (whole)
        return load_pack<k>(p);
    constexpr u32 each = k < 4 ? k : 4;
    Pack<Pack<T, each>, k / each> ring;
    NO_UNROLL
    for (u32 done = 0; done < k; done += each) {
        Pack<T, each> part;
        UNROLL
        for (u32 e = 0; e < each; e++)
            if (done + e < count)
                part[e] = p[done + e];
        turn(ring, part);
    }
    return bits_as<Pack<T, k>>(ring);
}

template <u32 k, typename T>
DEV void store_some(T *p, const Pack<T, k> &v, u32 count, bool whole)
{
    if (whole) {
        store_pack<k>(p, v);
        return;
    }
    constexpr u32 each = k < 4 ? k : 4;
    typedef Pack<T, each> Part;
    typedef Pack<Part, k / each> Ring;
    Ring ring = bits_as<Ring>(v);
    NO_UNROLL
    for (u32 done = 0; done < k; done += each) {
        UNROLL
        for (u32 e = 0; e < each; e++)
            if (done + e < count)
                p[done + e] = ring[0][e];
        turn(ring, ring[0]);
    }
}

/* ---- applying f ------------------------------------------------------------------ */

/*
 *   COPY   moves data: worth the code for tiles
 *   LIGHT  a few instructions
 *   HEAVY  many: looped over the elements of a pack, not repeated
 */
enum Weight { COPY, LIGHT, HEAVY };

template <typename T> struct operand_size {
    static constexpr u32 value = sizeof(T);
};
template <> struct operand_size<None> {
    static constexpr u32 value = 1;
};

template <typename R, u32 n, u32 nops, typename F, typename A, typename B,
          typename C>
DEV Pack<R, n> apply_all(F f, const Pack<A, n> &a, const Pack<B, n> &b,
                         const Pack<C, n> &c)
{
    Pack<R, n> r;
    UNROLL
    for (u32 e = 0; e < n; e++) {
        if constexpr (nops == 1)
            r[e] = f(a[e]);
        else if constexpr (nops == 2)
            r[e] = f(a[e], b[e]);
        else
            r[e] = f(a[e], b[e], c[e]);
    }
    return r;
}

template <Weight weight, typename R, u32 k, u32 nops, typename F, typename A,
          typename B, typename C>
DEV Pack<R, k> apply(F f, const Pack<A, k> &a, const Pack<B, k> &b,
                     const Pack<C, k> &c)
{
    /* f8 is decoded and encoded by a dozen instructions each */
    constexpr bool heavy = weight == HEAVY || is_same<A, f8>::value;
    if constexpr (heavy && nops < 3 && k >= 8) {
        constexpr u32 each = k / 4;
        typedef Pack<A, each> PartA;
        typedef Pack<B, each> PartB;
        typedef Pack<R, each> PartR;
        Pack<PartA, 4> in_a = bits_as<Pack<PartA, 4>>(a);
        Pack<PartB, 4> in_b = bits_as<Pack<PartB, 4>>(b);
        Pack<PartR, 4> out;
        Pack<C, each> none;
        NO_UNROLL
        for (u32 w = 0; w < 4; w++) {
            turn(out, apply_all<R, each, nops>(f, in_a[0], in_b[0], none));
            turn(in_a, in_a[0]);
            if constexpr (nops > 1)
                turn(in_b, in_b[0]);
        }
        return bits_as<Pack<R, k>>(out);
    } else {
        return apply_all<R, k, nops>(f, a, b, c);
    }
}

/* ---- tiles through LDS --------------------------------------------------------------- */

template <u32 k> struct tile_side {
    static constexpr u32 value = k >= 8 ? 64 : 32;
};

DEV void exchange(u32 &a, u32 &b)
{
    const u32 t = a;
    a = b;
    b = t;
}

/*
 * Picks the operand to go through LDS: the first that steps by more than one
 * along the output's innermost dimension and by one along another. That other
 * dimension is exchanged with dimension 1, in the view and in the output's
 * strides. Returns nops if there is none.
 */
template <u32 nops>
DEV u32 find_transposed(View<nops> &view, u32 (&out_stride)[MAX_GROUPS])
{
    u32 chosen = nops, along = 1;
    UNROLL
    for (u32 o = 0; o < nops; o++) {
        UNROLL
        for (u32 g = 1; g < MAX_GROUPS; g++) {
            const bool fits = view.stride[o][0] > 1 && view.dim[0] >= 16 &&
                              view.stride[o][g] == 1 && view.dim[g] >= 16;
            along = fits && chosen == nops ? g : along;
            chosen = fits && chosen == nops ? o : chosen;
        }
    }
    UNROLL
    for (u32 g = 2; g < MAX_GROUPS; g++) {
        if (g != along)
            continue;
        exchange(view.dim[1], view.dim[g]);
        exchange(out_stride[1], out_stride[g]);
        UNROLL
        for (u32 o = 0; o < nops; o++)
            exchange(view.stride[o][1], view.stride[o][g]);
    }
    return chosen;
}

/*
 * Loads the tile that starts at `corner` into lds[along dim 1][along dim 0],
 * one element of padding a row: lanes that write a column or read a row meet
 * different banks.
 */
template <u32 k, u32 nops, typename T>
DEV void load_tile(const View<nops> &view, u32 o, const T *p,
                   const Place &corner, T *lds)
{
    constexpr u32 side = tile_side<k>::value;
    const bool aligned = (view.stride[o][0] | view.stride[o][2] |
                          view.stride[o][3]) % k == 0 &&
                         is_aligned(p, k * sizeof(T));
    p += offset_at(view, o, corner);
    for (u32 e = threadIdx.x; e < side * side / k; e += blockDim.x) {
        const u32 x = e / (side / k); /* along dim 0 */
        const u32 y = e % (side / k) * k;
        if (corner.at[0] + x >= view.dim[0] || corner.at[1] + y >= view.dim[1])
            continue;
        const u32 count = min_of(k, view.dim[1] - corner.at[1] - y);
        const Pack<T, k> v = load_some<k>(p + (u64)x * view.stride[o][0] + y,
                                          count, aligned && count == k);
        UNROLL
        for (u32 m = 0; m < k; m++)
            if (m < count)
                lds[(y + m) * (side + 1) + x] = v[m];
    }
}

/* ---- the whole --------------------------------------------------------------------------- */

/* All operands contiguous and aligned. */
template <Weight weight, u32 k, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV void map_flat(u64 n, const A *a, const B *b, const C *c, R *out, F f)
{
    const Share share = share_packs(n, k);
    const u64 npacks = n / k + (n % k != 0);
    for (u64 p = share.first; p < npacks; p += share.step) {
        const u64 i = p * k;
        const bool whole = n - i >= k;
        const u32 count = whole ? k : (u32)(n - i);
        Pack<A, k> va;
        Pack<B, k> vb;
        Pack<C, k> vc;
        va = load_some<k>(a + i, count, whole);
        if constexpr (nops > 1)
            vb = load_some<k>(b + i, count, whole);
        if constexpr (nops > 2)
            vc = load_some<k>(c + i, count, whole);
        store_some<k>(out + i, apply<weight, R, k, nops>(f, va, vb, vc), count,
                      whole);
    }
}

/* LAYOUT_ROWS. */
template <Weight weight, u32 k, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV void map_rows(u64 n, const View<nops> &view, const A *a, const B *b,
                  const C *c, R *out, F f)
{
    const bool steady = view.dim[0] % k == 0;
    const bool a_aligned = steady && rows_aligned<k>(view, 0, a);
    bool b_aligned = false, c_aligned = false;
    if constexpr (nops > 1)
        b_aligned = steady && rows_aligned<k>(view, 1, b);
    if constexpr (nops > 2)
        c_aligned = steady && rows_aligned<k>(view, 2, c);
    const bool out_aligned = is_aligned(out, k * sizeof(R));

    const Share share = share_packs(n, k);
    const u64 npacks = n / k + (n % k != 0);
    for (u64 p = share.first; p < npacks; p += share.step) {
        const u32 i = (u32)p * k; /* n is below 2^32 */
        Place place;
        place.count = min_of(k, (u32)n - i);
        u32 rest = i;
        UNROLL
        for (u32 g = 0; g + 1 < MAX_GROUPS; g++) {
            const u32 outer = rest != 0 ? rest / view.dim[g] : 0;
            place.at[g] = rest - outer * view.dim[g];
            rest = outer;
        }
        place.at[MAX_GROUPS - 1] = rest;

        Pack<A, k> va;
        Pack<B, k> vb;
        Pack<C, k> vc;
        va = load_row<k>(view, 0, a_aligned, a, place);
        if constexpr (nops > 1)
            vb = load_row<k>(view, 1, b_aligned, b, place);
        if constexpr (nops > 2)
            vc = load_row<k>(view, 2, c_aligned, c, place);
        store_some<k>(out + i, apply<weight, R, k, nops>(f, va, vb, vc),
                      place.count, out_aligned && place.count == k);
    }
}

/*
 * LAYOUT_ROWS with operand `turned` turned (find_transposed()). A block takes
 * whole tiles; if there are more blocks than tiles, blocks spread over the grid
 * take them. Every thread of a block stays to the end, for the barriers.
 */
template <Weight weight, u32 k, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV void map_tiles(const View<nops> &view, u32 turned,
                   const u32 (&out_stride)[MAX_GROUPS], const A *a, const B *b,
                   const C *c, R *out, F f)
{
    constexpr u32 side = tile_side<k>::value;
    __shared__ __attribute__((aligned(16))) u8 lds[side * (side + 1) * 16 / k];

    const bool a_aligned = rows_aligned<k>(view, 0, a);
    bool b_aligned = false, c_aligned = false;
    if constexpr (nops > 1)
        b_aligned = rows_aligned<k>(view, 1, b);
    if constexpr (nops > 2)
        c_aligned = rows_aligned<k>(view, 2, c);
    const bool out_aligned =
        is_aligned(out, k * sizeof(R)) &&
        (out_stride[1] | out_stride[2] | out_stride[3]) % k == 0;

    const u32 across = div_up(view.dim[0], side);
    const u32 down = div_up(view.dim[1], side);
    const u32 ntiles = across * down * view.dim[2] * view.dim[3];
    const u32 nblocks = gridDim.x;
    const u32 apart = nblocks > ntiles ? nblocks / ntiles : 1;
    const u32 block = blockIdx.x;
    u64 tile = block % apart == 0 ? block / apart : ntiles;

    for (; tile < ntiles; tile += nblocks / apart) {
        Place corner;
        u32 rest = (u32)tile;
        corner.at[0] = rest % across * side;
        rest /= across;
        corner.at[1] = rest % down * side;
        rest /= down;
        corner.at[2] = rest % view.dim[2];
        corner.at[3] = rest / view.dim[2];
        __syncthreads();
        if (turned == 0)
            load_tile<k>(view, 0, a, corner, (A *)lds);
        if constexpr (nops > 1)
            if (turned == 1)
                load_tile<k>(view, 1, b, corner, (B *)lds);
        if constexpr (nops > 2)
            if (turned == 2)
                load_tile<k>(view, 2, c, corner, (C *)lds);
        __syncthreads();
        for (u32 e = threadIdx.x; e < side * side / k; e += blockDim.x) {
            const u32 x = e % (side / k) * k;
            const u32 y = e / (side / k);
            Place place = corner;
            place.at[0] += x;
            place.at[1] += y;
            if (place.at[0] >= view.dim[0] || place.at[1] >= view.dim[1])
                continue;
            place.count = min_of(k, view.dim[0] - place.at[0]);
            u64 i = place.at[0];
            UNROLL
            for (u32 g = 1; g < MAX_GROUPS; g++)
                i += (u64)place.at[g] * out_stride[g];

            const u32 in_tile = y * (side + 1) + x;
            Pack<A, k> va;
            Pack<B, k> vb;
            Pack<C, k> vc;
            va = turned == 0
                     ? load_some<k>((const A *)lds + in_tile, place.count, false)
                     : load_row<k>(view, 0, a_aligned, a, place);
            if constexpr (nops > 1)
                vb = turned == 1 ? load_some<k>((const B *)lds + in_tile,
                                                place.count, false)
                                 : load_row<k>(view, 1, b_aligned, b, place);
            if constexpr (nops > 2)
                vc = turned == 2 ? load_some<k>((const C *)lds + in_tile,
                                                place.count, false)
                                 : load_row<k>(view, 2, c_aligned, c, place);
            store_some<k>(out + i, apply<weight, R, k, nops>(f, va, vb, vc),
                          place.count, out_aligned && place.count == k);
        }
    }
}

/* Whatever the layout, an element at a time; contiguous without info. */
template <u32 nops, typename R, typename A, typename B, typename C, typename F>
DEV void map_each(u64 n, u64 rank, const size_t *info, const A *a, const B *b,
                  const C *c, R *out, F f)
{
    for (u64 i = global_thread(); i < n; i += global_threads()) {
        u64 at[nops];
        UNROLL
        for (u32 o = 0; o < nops; o++)
            at[o] = info == nullptr ? i : 0;
        u64 rest = i;
        for (u64 d = info == nullptr ? 0 : rank; d-- > 0 && rest != 0;) {
            const u64 dim = info[d];
            const u64 outer = (rest | dim) >> 32 == 0
                                  ? (u64)((u32)rest / (u32)dim)
                                  : rest / dim;
            UNROLL
            for (u32 o = 0; o < nops; o++)
                at[o] += (rest - outer * dim) * info[(o + 1) * rank + d];
            rest = outer;
        }
        if constexpr (nops == 1)
            out[i] = f(a[at[0]]);
        else if constexpr (nops == 2)
            out[i] = f(a[at[0]], b[at[1]]);
        else
            out[i] = f(a[at[0]], b[at[1]], c[at[2]]);
    }
}

template <Weight weight, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV void map(u64 n, u64 rank, const size_t *info, const A *a, const B *b,
             const C *c, R *out, F f)
{
    constexpr u32 widest =
        max_of(max_of(operand_size<A>::value, operand_size<B>::value),
               max_of(operand_size<C>::value, operand_size<R>::value));
    constexpr u32 k = 16 / widest;

    if (n == 0)
        return;
    View<nops> view;
    const Layout layout = merge_dims(n, rank, info, view);
    if (layout == LAYOUT_FLAT) {
        bool aligned = is_aligned(out, k * sizeof(R)) &&
                       is_aligned(a, k * sizeof(A));
        if constexpr (nops > 1)
            aligned = aligned && is_aligned(b, k * sizeof(B));
        if constexpr (nops > 2)
            aligned = aligned && is_aligned(c, k * sizeof(C));
        if (aligned)
            map_flat<weight, k, nops>(n, a, b, c, out, f);
        else
            map_each<nops>(n, 0, nullptr, a, b, c, out, f);
        return;
    }
    if (layout == LAYOUT_ANY) {
        map_each<nops>(n, rank, info, a, b, c, out, f);
        return;
    }
    if constexpr (weight == COPY) {
        u32 out_stride[MAX_GROUPS] = {1, view.dim[0], view.dim[0] * view.dim[1],
                                      view.dim[0] * view.dim[1] * view.dim[2]};
        const u32 turned = find_transposed(view, out_stride);
        if (turned < nops) {
            map_tiles<weight, k, nops>(view, turned, out_stride, a, b, c, out, f);
            return;
        }
    }
    map_rows<weight, k, nops>(n, view, a, b, c, out, f);
}

/* ---- what kernels call ---------------------------------------------------------------------- */

/* out[i] = f(in[i]); without `in`, in place: out[i] = f(out[i]) */
template <Weight weight = LIGHT, typename R, typename A, typename F>
DEV void map_unary(u64 n, u64 rank, const size_t *info, const A *in, R *out, F f)
{
    if (in == nullptr) {
        in = reinterpret_cast<const A *>(out);
        info = nullptr;
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
DEV void map_ternary(u64 n, u64 rank, const size_t *info, const A *a, const B *b,
                     const C *c, R *out, F f)
{
    map<LIGHT, 3>(n, rank, info, a, b, c, out, f);
}
