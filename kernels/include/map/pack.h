/* pack.h - loads and stores of one operand's pack, whole or in part */
#pragma once

#include "map/view.h"

/* A pack's first coordinates in the View, and its number of elements. */
struct PackPlace {
    u32 at[MAX_GROUPS];
    u32 count;
};

template <u32 nops>
DEV u64 offset_at(const View<nops> &view, u32 o, const PackPlace &place)
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
template <u32 nops> DEV void step_on(const View<nops> &view, PackPlace &place)
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
                         PackPlace place)
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
                          const T *p, const PackPlace &place)
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
                       const PackPlace &place)
{
    if (place.count < k || place.at[0] + k > view.dim[0] ||
        (!aligned && view.stride[o][0] != 0))
        return load_steps<k>(view, o, p, place);
    return load_in_row<k>(view, o, aligned, p, place);
}

/*
 * Loads the first count elements at p: all k by one load if `whole`, else four
 * at a time, as in load_steps().
 */
template <u32 k, typename T>
DEV Raw<T, k> load_some(const T *p, u32 count, bool whole)
{
    if (whole)
        return load_raw<k>(p);
    constexpr u32 each = k < 4 ? k : 4;
    Pack<Raw<T, each>, k / each> ring = {};
    NO_UNROLL
    for (u32 done = 0; done < k; done += each) {
        Pack<T, each> part = {}; /* no compiler may guess missing elements */
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
