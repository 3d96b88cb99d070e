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
 * 1024 a block), and with a thread for every pack. Memory is busiest when few
 * blocks move several packs a thread, so that many loads are under way, while
 * the others leave at once (Team). Smaller grids stride over the packs.
 *
 * On sm_NN a block of 1024 threads must do with 32 registers a thread, or one
 * block alone keeps a multiprocessor: one thread works out the layout, and it
 * stays in LDS. On AMD it is scalar work and stays in scalar registers.
 */
#pragma once

#include "device.h"

struct None {
}; /* stands for an operand that a function does not have */

enum { MAX_GROUPS = 4 };

/* ---- layouts ---- */

/*
 * Division of any u32 by one number, which one thread prepares for a block on
 * sm_NN (Granlund and Montgomery, "Division by invariant integers using
 * multiplication", figure 4.1).
 */
#if KPK_NVIDIA
struct Divider {
    u32 factor, shift;

    DEV_MEMBER void prepare(u32 d)
    {
        shift = d > 1 ? 32 - (u32)__clz((int)(d - 1)) : 0;
        factor = (u32)((((1ull << shift) - d) << 32) / d) + 1;
    }
    DEV_MEMBER u32 divide(u32 n) const
    {
        const u32 high = __umulhi(n, factor);
        return shift == 0 ? n : (high + ((n - high) >> 1)) >> (shift - 1);
    }
};
#endif

/*
 * Where several views fill sm_NN's 32 registers a thread, so that divisions are
 * prepared and the view is read anew at each step. One view does better
 * without.
 */
template <u32 nops> constexpr bool is_tight = KPK_NVIDIA && (nops > 1);

enum Layout { LAYOUT_FLAT, LAYOUT_ROWS, LAYOUT_TILES, LAYOUT_ANY };

/*
 * Merged dimensions, innermost first; those not in use are 1 with stride 0.
 * LAYOUT_TILES exchanges dimensions: then the output has strides, too.
 */
template <u32 nops> struct View {
    Layout layout;
    u32 ngroups;
    u32 dim[MAX_GROUPS];
#if KPK_NVIDIA
    Divider divider[MAX_GROUPS]; /* by dim, where is_tight<> */
#endif
    u32 stride[nops][MAX_GROUPS];
    u32 out_stride[MAX_GROUPS]; /* for LAYOUT_TILES */
};

/*
 * Merges dimensions: those of size 1 go, and one that continues its outer
 * neighbour, for every operand, joins it. From the outermost inwards, so that
 * the open group is always the first and older ones move up.
 */
template <u32 nops>
DEV View<nops> merge_dims(u64 n, u64 rank, const size_t *info)
{
    View<nops> view;
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
    view.ngroups = ngroups;
    view.layout = flat                            ? LAYOUT_FLAT
                  : fits && ngroups <= MAX_GROUPS ? LAYOUT_ROWS
                                                  : LAYOUT_ANY;
    return view;
}

template <u32 nops> DEV void prepare_dividers(View<nops> &view)
{
    if constexpr (is_tight<nops>) {
        if (view.layout != LAYOUT_ROWS)
            return;
        NO_UNROLL
        for (u32 g = 0; g + 1 < view.ngroups; g++)
            view.divider[g].prepare(view.dim[g]);
    }
}

/* v / view.dim[g], g not the last group */
template <u32 nops> DEV u32 quotient(const View<nops> &view, u32 g, u32 v)
{
    if constexpr (is_tight<nops>)
        return view.divider[g].divide(v);
    else
        return v / view.dim[g];
}

/* ---- who does what ---- */

/*
 * The blocks that stay. With a thread for each of the n elements one block in k
 * is enough, and one in k * each if that still leaves MANY of them. Strided
 * operands cost a block its preparations, so there threads move STRIDED packs,
 * for grids with a thread for every pack, too. Those that stay lie in runs of
 * 8, as chips of up to 8 dies deal blocks to the dies in turn.
 *
 * In candle's shape most blocks come only to leave, and memory waits while they
 * do: what they ask is short and depends on no memory.
 */
enum { RUN = KPK_NVIDIA ? 1 : 8, MANY = 256, STRIDED = 8 };

struct Team {
    u32 block, nblocks; /* this block among those that stay */
    bool stays;
};

DEV constexpr u32 log2_of(u32 v)
{
    return v > 1 ? 1 + log2_of(v / 2) : 0;
}

/*
 * A large grid of large blocks has a thread for every element, or is so large
 * that it may do with a part of its blocks all the same.
 */
template <u32 apart> DEV bool is_large_grid()
{
    return blockDim.x >= 512 && gridDim.x >= MANY * apart;
}

/*
 * Most blocks of candle's shape, in as few instructions as will do. On sm_90
 * the two sizes must come by way of uniform registers, or all of those blocks
 * take a fifth longer: hence a comparison that has a uniform side, which the
 * compiler does not see through, and sizes that are read anew for what follows.
 */
template <u32 k, u32 each> DEV bool leaves_at_once()
{
#if KPK_NVIDIA
    u32 last = is_large_grid<k * each>() ? 0 : ~0u; /* that stays */
    asm("" : "+r"(last));
    return (blockIdx.x & (k * each - 1) * RUN) > last;
#else
    return is_large_grid<k * each>() &&
           (blockIdx.x & (k * each - 1) * RUN) != 0;
#endif
}

#if KPK_NVIDIA
#define SIZE_ANEW(name, reg, size)                                             \
    DEV u32 name()                                                             \
    {                                                                          \
        u32 n;                                                                 \
        asm volatile("mov.u32 %0, %%" reg ";" : "=r"(n));                      \
        return n;                                                              \
    }
#else
#define SIZE_ANEW(name, reg, size)                                             \
    DEV u32 name()                                                             \
    {                                                                          \
        return size;                                                           \
    }
#endif
SIZE_ANEW(blocks_anew, "nctaid.x", gridDim.x)
SIZE_ANEW(threads_anew, "ntid.x", blockDim.x)

template <u32 apart> DEV bool is_large_anew()
{
#if KPK_NVIDIA
    return threads_anew() >= 512 && blocks_anew() >= MANY * apart;
#else
    return is_large_grid<apart>();
#endif
}

template <u32 k, u32 each> DEV Team make_team(u64 n, bool strided)
{
    constexpr u32 k_bits = log2_of(k);
    const u32 grid = blocks_anew(), runs = blockIdx.x / RUN;
    const u64 threads = (u64)grid * threads_anew();
    constexpr u32 strided_bits = log2_of(STRIDED), each_bits = log2_of(each);
    const u32 more = strided ? max_of(strided_bits, each_bits) : each_bits;
    u32 shift = 0;
    if (is_large_anew<k * each>())
        shift = k_bits + more;
    else if (threads >= n)
        shift = k_bits;
    else if (strided && threads >= n / k && grid >= MANY * STRIDED)
        shift = more;
    const u32 apart = 1u << shift;
    Team team;
    team.stays = (runs & (apart - 1)) == 0;
    team.block = (runs >> shift) * RUN + blockIdx.x % RUN;
    team.nblocks = (grid / RUN >> shift) * RUN +
                   min_of<u32>(grid & (RUN * apart - 1), RUN);
    return team;
}

/* The packs of one thread: first, first + step, ... */
struct Share {
    u64 first, step;
};

DEV Share share_packs(const Team &team)
{
    const u32 threads = threads_anew(), thread = threadIdx.x;
    return Share{(u64)team.block * threads + thread,
                 (u64)team.nblocks * threads};
}

/* ---- one operand's pack ---- */

/* Where a pack starts: coordinates in the View, and how many elements it has.
 */
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
    if constexpr (is_tight<nops>)
        forget_memory();
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
DEV Raw<T, k> load_steps(const View<nops> &view, u32 o, const T *base,
                         Place place)
{
    constexpr u32 each = k < 4 ? k : 4;
    Pack<Raw<T, each>, k / each> ring;
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
        turn(ring, bits_as<Raw<T, each>>(part));
    }
    return bits_as<Raw<T, k>>(ring);
}

/* A pack inside a row that is aligned, or one element repeated. */
template <u32 k, u32 nops, typename T>
DEV Raw<T, k> load_in_row(const View<nops> &view, u32 o, bool aligned,
                          const T *p, const Place &place)
{
    p += offset_at(view, o, place);
    if (aligned)
        return load_raw<k>(p);
    Pack<T, k> v;
    const T x = *p;
    UNROLL
    for (u32 e = 0; e < k; e++)
        v[e] = x;
    return bits_as<Raw<T, k>>(v);
}

template <u32 k, u32 nops, typename T>
DEV Raw<T, k> load_row(const View<nops> &view, u32 o, bool aligned, const T *p,
                       const Place &place)
{
    if (place.count < k || place.at[0] + k > view.dim[0] ||
        (!aligned && view.stride[o][0] != 0))
        return load_steps<k>(view, o, p, place);
    return load_in_row<k>(view, o, aligned, p, place);
}

/*
 * The first count elements at p; all k in one load where `whole` says so.
 * Otherwise by fours, as in load_steps().
 */
template <u32 k, typename T>
DEV Raw<T, k> load_some(const T *p, u32 count, bool whole)
{
    if (whole)
        return load_raw<k>(p);
    constexpr u32 each = k < 4 ? k : 4;
    Pack<Raw<T, each>, k / each> ring;
    NO_UNROLL
    for (u32 done = 0; done < k; done += each) {
        Pack<T, each> part;
        UNROLL
        for (u32 e = 0; e < each; e++)
            if (done + e < count)
                part[e] = p[done + e];
        turn(ring, bits_as<Raw<T, each>>(part));
    }
    return bits_as<Raw<T, k>>(ring);
}

template <u32 k, typename T>
DEV void store_some(T *p, const Raw<T, k> &v, u32 count, bool whole)
{
    if (whole) {
        store_raw<k>(p, v);
        return;
    }
    constexpr u32 each = k < 4 ? k : 4;
    typedef Pack<Raw<T, each>, k / each> Ring;
    Ring ring = bits_as<Ring>(v);
    NO_UNROLL
    for (u32 done = 0; done < k; done += each) {
        const Pack<T, each> part = pack_of<each, T>(ring[0]);
        UNROLL
        for (u32 e = 0; e < each; e++)
            if (done + e < count)
                p[done + e] = part[e];
        turn(ring, ring[0]);
    }
}

/* ---- applying f ---- */

/*
 *   COPY   moves data: worth the code for tiles
 *   LIGHT  a few instructions
 *   HEAVY  many: looped over the elements of a pack, not repeated
 */
enum Weight { COPY, LIGHT, MILD, HEAVY };

template <typename T> struct operand_size {
    static constexpr u32 value = sizeof(T);
};
template <> struct operand_size<None> {
    static constexpr u32 value = 1;
};

/* One pack of every operand. */
template <u32 k, typename A, typename B, typename C> struct Inputs {
    Raw<A, k> a;
    Raw<B, k> b;
    Raw<C, k> c;
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

/*
 * In parts of four elements where f is heavy. Raw words go round in a ring, so
 * that only one part at a time is taken apart.
 */
template <Weight weight, u32 k, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV Raw<R, k> apply(F f, const Inputs<k, A, B, C> &in)
{
    /* f8 is decoded and encoded by a dozen instructions each */
    constexpr bool heavy = weight == HEAVY || is_same<A, f8>::value;
    if constexpr (heavy && nops < 3 && k >= 8) {
        constexpr u32 each = 4, nparts = k / each;
        typedef Pack<Raw<A, each>, nparts> RingA;
        typedef Pack<Raw<B, each>, nparts> RingB;
        RingA a = bits_as<RingA>(in.a);
        RingB b = bits_as<RingB>(in.b);
        Pack<Raw<R, each>, nparts> out;
        NO_UNROLL
        for (u32 w = 0; w < nparts; w++) {
            turn(out, bits_as<Raw<R, each>>(apply_all<R, each, nops>(
                          f, pack_of<each, A>(a[0]), pack_of<each, B>(b[0]),
                          Pack<C, each>())));
            turn(a, a[0]);
            if constexpr (nops > 1)
                turn(b, b[0]);
        }
        return bits_as<Raw<R, k>>(out);
    } else {
        return bits_as<Raw<R, k>>(apply_all<R, k, nops>(
            f, pack_of<k, A>(in.a), pack_of<k, B>(in.b), pack_of<k, C>(in.c)));
    }
}

/* ---- tiles through LDS ---- */

/*
 * A tile of nx by ny elements, about 16 KiB. Elements of less than 4 bytes that
 * neighbour along x share a cell, so that LDS moves 4 bytes or more at a time.
 * The pitch, in cells, puts a column's cells on different banks.
 */
template <typename T> struct tile {
    static constexpr u32 k = per16<T>::value;
    static constexpr u32 nx = k >= 16 ? 128 : k >= 4 ? 64 : 32;
    static constexpr u32 ny = 1024 * k / nx;
    static constexpr u32 group = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    static constexpr u32 pitch = nx / group + 1;
    typedef Raw<T, group> Cell;
};

DEV void exchange(u32 &a, u32 &b)
{
    const u32 t = a;
    a = b;
    b = t;
}

/*
 * Whether the input steps by more than one along the output's innermost
 * dimension and by one along another: that one is then exchanged with
 * dimension 1, in the view and in the output's strides.
 */
DEV void find_transposed(View<1> &view)
{
    u32 along = 0, stride = 1;
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        view.out_stride[g] = stride;
        stride *= view.dim[g];
        if (along == 0 && view.stride[0][g] == 1 && view.dim[g] >= 16)
            along = g;
    }
    if (along == 0 || view.stride[0][0] <= 1 || view.dim[0] < 16)
        return;
    view.layout = LAYOUT_TILES;
    UNROLL
    for (u32 g = 2; g < MAX_GROUPS; g++) {
        if (g != along)
            continue;
        exchange(view.dim[1], view.dim[g]);
        exchange(view.out_stride[1], view.out_stride[g]);
        exchange(view.stride[0][1], view.stride[0][g]);
    }
}

/*
 * A tile to lds[y][x]: its rows lie along y in memory. 32 lanes take 32 / k
 * packs of k rows of cells: no two of them write to one bank.
 */
template <typename T>
DEV void load_tile(const T *in, u32 stride, typename tile<T>::Cell *lds)
{
    constexpr u32 k = tile<T>::k, g = tile<T>::group, across = 32 / k;
    constexpr u32 ny = tile<T>::ny, pitch = tile<T>::pitch, batch = 4 / g;
    constexpr u32 nitems = tile<T>::nx / g * (ny / k);
    const u32 threads = blockDim.x;
    for (u32 e = threadIdx.x; e < nitems; e += batch * threads) {
        Raw<T, k> v[batch][g];
        UNROLL
        for (u32 j = 0; j < batch; j++) {
            const u32 at = e + j * threads;
            const u32 y = (at % across + at / 32 % (ny / 32) * across) * k;
            const u32 x = (at / across % k + at / ny * k) * g;
            UNROLL
            for (u32 r = 0; r < g; r++)
                if (at < nitems)
                    v[j][r] = load_raw<k>(in + (u64)(x + r) * stride + y);
        }
        UNROLL
        for (u32 j = 0; j < batch; j++) {
            const u32 at = e + j * threads;
            const u32 y = (at % across + at / 32 % (ny / 32) * across) * k;
            const u32 x = at / across % k + at / ny * k;
            if (at >= nitems)
                break;
            Pack<T, k> row[g];
            UNROLL
            for (u32 r = 0; r < g; r++)
                row[r] = pack_of<k, T>(v[j][r]);
            UNROLL
            for (u32 m = 0; m < k; m++) {
                Pack<T, g> cell;
                UNROLL
                for (u32 r = 0; r < g; r++)
                    cell[r] = row[r][m];
                lds[(y + m) * pitch + x] =
                    bits_as<typename tile<T>::Cell>(cell);
            }
        }
    }
}

/* 32 lanes take 8 packs of 4 rows: no two of them read from one bank. */
template <typename T>
DEV void store_tile(const typename tile<T>::Cell *lds, T *out, u32 stride)
{
    constexpr u32 k = tile<T>::k, ncells = k / tile<T>::group;
    constexpr u32 runs = tile<T>::nx / k / 8, nitems = 1024;
    NO_UNROLL
    for (u32 e = threadIdx.x; e < nitems; e += blockDim.x) {
        const u32 x = e % 8 + e / 32 % runs * 8;
        const u32 y = e / 8 % 4 + e / 32 / runs * 4;
        Pack<typename tile<T>::Cell, ncells> v;
        UNROLL
        for (u32 m = 0; m < ncells; m++)
            v[m] = lds[y * tile<T>::pitch + x * ncells + m];
        store_raw<k>(out + (u64)y * stride + x * k, bits_as<Raw<T, k>>(v));
    }
}

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
    DEV_MEMBER Place place_of(u64 pack, u32 count) const
    {
        if constexpr (KPK_NVIDIA)
            forget_memory(); /* the view stays in LDS */
        Place place;
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
        const Place place = place_of(pack, count);
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
        const Place place = place_of(pack, k);
        Packs in;
        in.a = load_in_row<k>(view, 0, a_aligned, a, place);
        if constexpr (nops > 1)
            in.b = load_in_row<k>(view, 1, b_aligned, b, place);
        if constexpr (nops > 2)
            in.c = load_in_row<k>(view, 2, c_aligned, c, place);
        return in;
    }
};

/*
 * All packs of a thread. Loading and storing takes an instruction each for the
 * grid's first `nwhole`; of those, `each` are loaded at once.
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

/* ---- the whole
 * ---------------------------------------------------------------------------
 */

template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_flat(const Team &team, u64 n, const A *a, const B *b, const C *c,
                  R *out, F f)
{
    const FlatSource<k, nops, A, B, C> source = {a, b, c, n};
    map_packs<weight, k, each, nops>(share_packs(team), n / k + (n % k != 0),
                                     n / k, true, source, out, f);
}

template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_rows(const Team &team, u64 n, const View<nops> &view, const A *a,
                  const B *b, const C *c, R *out, F f)
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
    map_packs<weight, k, each, nops>(share_packs(team), npacks,
                                     pieces ? npacks : 0, out_aligned, source,
                                     out, f);
}

/* A tile at an edge, or one that is not aligned: element by element. */
template <typename T>
DEV void copy_edge(const T *in, T *out, const View<1> &view, u32 have_x,
                   u32 have_y, T *lds)
{
    constexpr u32 nx = tile<T>::nx, ny = tile<T>::ny;
    constexpr u32 pitch = tile<T>::pitch * tile<T>::group; /* elements */

    __syncthreads();
    for (u32 e = threadIdx.x; e < nx * ny; e += blockDim.x)
        if (e / ny < have_x && e % ny < have_y)
            lds[e % ny * pitch + e / ny] =
                in[(u64)(e / ny) * view.stride[0][0] + e % ny];
    __syncthreads();
    for (u32 e = threadIdx.x; e < nx * ny; e += blockDim.x)
        if (e % nx < have_x && e / nx < have_y)
            out[(u64)(e / nx) * view.out_stride[1] + e % nx] =
                lds[e / nx * pitch + e % nx];
}

/*
 * LAYOUT_TILES. A block takes whole tiles, and all of its threads stay to the
 * end, for the barriers.
 */
template <typename T>
DEV void copy_tiles(const Team &team, const View<1> &view, const T *in, T *out)
{
    constexpr u32 nx = tile<T>::nx, ny = tile<T>::ny, k = tile<T>::k;
    __shared__ __attribute__((aligned(16)))
    typename tile<T>::Cell lds[ny * tile<T>::pitch];
    const bool aligned =
        is_aligned(in, 16) && is_aligned(out, 16) &&
        (view.stride[0][0] | view.stride[0][2] | view.stride[0][3] |
         view.out_stride[1] | view.out_stride[2] | view.out_stride[3]) %
                k ==
            0;
    const u32 across = div_up(view.dim[0], nx);
    const u32 down = div_up(view.dim[1], ny);
    const u32 ntiles = across * down * view.dim[2] * view.dim[3];

    for (u64 tile = team.block; tile < ntiles; tile += team.nblocks) {
        u32 rest = (u32)tile / across;
        const u32 x = ((u32)tile - rest * across) * nx;
        const u32 y = rest % down * ny;
        rest /= down;
        const u32 z = rest % view.dim[2], w = rest / view.dim[2];
        const T *from = in + (u64)x * view.stride[0][0] + y +
                        (u64)z * view.stride[0][2] + (u64)w * view.stride[0][3];
        T *to = out + x + (u64)y * view.out_stride[1] +
                (u64)z * view.out_stride[2] + (u64)w * view.out_stride[3];
        const u32 have_x = min_of(nx, view.dim[0] - x);
        const u32 have_y = min_of(ny, view.dim[1] - y);

        if (aligned && have_x == nx && have_y == ny) {
            __syncthreads(); /* the tile before is stored */
            load_tile(from, view.stride[0][0], lds);
            __syncthreads();
            store_tile(lds, to, view.out_stride[1]);
        } else {
            copy_edge(from, to, view, have_x, have_y, (T *)lds);
        }
    }
}

/* Whatever the layout, an element at a time; contiguous without info. */
template <u32 nops, typename R, typename A, typename B, typename C, typename F>
DEV void map_each(const Team &team, u64 n, u64 rank, const size_t *info,
                  const A *a, const B *b, const C *c, R *out, F f)
{
    const Share share = share_packs(team);
    for (u64 i = share.first; i < n; i += share.step) {
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

/*
 * Elements in a pack. On AMD the slowest functions go one by one: two copies of
 * one share more constants than there are SGPRs, and waves enough fit to keep
 * memory busy with 8 bytes a lane.
 */
template <Weight weight, u32 widest> DEV constexpr u32 pack_size()
{
    return weight == HEAVY && widest == 8 && !KPK_NVIDIA ? 1 : 16 / widest;
}

/*
 * Packs that a thread loads at once, and packs of a thread in all where one
 * block in k * stay works. In candle's shape the fewer stay the better, as long
 * as they keep memory busy; small types take more packs for that. Measured on
 * an H200 (tests/bench/results).
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
};

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
    constexpr u32 each = Best::each, stay = Best::stay;

    if (leaves_at_once<k, stay>())
        return;
    const Team team = make_team<k, stay>(n, info != nullptr);
    if (!team.stays)
        return;
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
            map_flat<weight, k, each, nops>(team, n, a, b, c, out, f);
        else
            map_each<nops>(team, n, 0, nullptr, a, b, c, out, f);
    } else if (layout == LAYOUT_ROWS) {
        map_rows<weight, k, weight == HEAVY ? 1 : 2, nops>(team, n, view, a, b,
                                                           c, out, f);
    } else if (layout == LAYOUT_ANY) {
        map_each<nops>(team, n, rank, info, a, b, c, out, f);
    }
    if constexpr (weight == COPY)
        if (layout == LAYOUT_TILES)
            copy_tiles(team, view, a, out);
}

/* ---- what kernels call ---- */

/* out[i] = f(in[i]); without `in`, in place: out[i] = f(out[i]) */
template <Weight weight = LIGHT, typename R, typename A, typename F>
DEV void map_unary(u64 n, u64 rank, const size_t *info, const A *in, R *out,
                   F f)
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
DEV void map_ternary(u64 n, u64 rank, const size_t *info, const A *a,
                     const B *b, const C *c, R *out, F f)
{
    map<LIGHT, 3>(n, rank, info, a, b, c, out, f);
}
