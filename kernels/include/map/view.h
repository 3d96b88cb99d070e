/* view.h - the layout of a kernel's operands, dimensions merged */
#pragma once

#include "compare.h"

enum { MAX_GROUPS = 4 };

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
 * Whether several views would fill sm_NN's 32 registers per thread. Then
 * divisions are prepared, and the view is read again at each step; one view is
 * faster without this.
 */
template <u32 nops> constexpr bool is_tight = KPK_NVIDIA && (nops > 1);

enum Layout { LAYOUT_FLAT, LAYOUT_ROWS, LAYOUT_TILES, LAYOUT_ANY };

/*
 * Merged dimensions, innermost first; unused ones are 1 with stride 0.
 * LAYOUT_TILES exchanges dimensions: then the output has strides, too.
 */
template <u32 nops> struct View {
    Layout layout;
    u32 ngroups;
    u32 dim[MAX_GROUPS];
#if KPK_NVIDIA
    Divider divider[MAX_GROUPS]; /* divides by dim, if is_tight<> */
#endif
    u32 stride[nops][MAX_GROUPS];
    u32 out_stride[MAX_GROUPS]; /* for LAYOUT_TILES */
};

/* Moves every group one place outwards; the caller fills the first one. */
template <u32 nops> DEV void move_up(View<nops> &view)
{
    UNROLL
    for (u32 g = MAX_GROUPS - 1; g > 0; g--) {
        view.dim[g] = view.dim[g - 1];
        UNROLL
        for (u32 o = 0; o < nops; o++)
            view.stride[o][g] = view.stride[o][g - 1];
    }
}

/*
 * Merges dimensions: dimensions of size 1 go, and a dimension that continues
 * its outer neighbour, for every operand, joins it. From the outermost inwards,
 * so that the open group is always the first and older ones move up.
 */
#if KPK_NVIDIA
template <u32 nops>
DEV View<nops> merge_dims(u64 n, u64 rank, const size_t *info)
{
    View<nops> view;
    bool fits = n < 0xffff0000u;
    u32 ngroups = 0;
    u64 step[nops]; /* strides in the open group */
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
            move_up(view);
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
#else
/* Whether every operand is contiguous. */
template <u32 nops> DEV bool all_contiguous(u64 rank, constant_size *info)
{
    u64 run = 1;

    NO_UNROLL
    for (u64 d = rank; d-- > 0;) {
        UNROLL
        for (u32 o = 0; o < nops; o++)
            if (info[d] != 1 && info[(o + 1) * rank + d] != run)
                return false;
        run *= info[d];
    }
    return true;
}

/*
 * In 32 bits, and in few instructions: a compute unit of CDNA has one scalar
 * ALU for all of its waves.
 */
template <u32 nops>
DEV View<nops> merge_dims(u64 n, u64 rank, const size_t *sizes)
{
    constant_size *info = constant_sizes(sizes);
    View<nops> view;

    if (n >= 0xffff0000u) {
        view.layout =
            all_contiguous<nops>(rank, info) ? LAYOUT_FLAT : LAYOUT_ANY;
        return view;
    }
    const u32 row = (u32)rank * (u32)sizeof(*info);
    typedef const __attribute__((address_space(4))) u8 constant_byte;
    typedef const __attribute__((address_space(4))) u32 constant_u32;
    constant_byte *const bytes = (constant_byte *)info;
    u32 ngroups = 0, high = 0; /* bits of strides beyond 32 */

    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        view.dim[g] = 1;
        UNROLL
        for (u32 o = 0; o < nops; o++)
            view.stride[o][g] = g == 0;
    }
    NO_UNROLL
    for (u32 at = 0; at < row; at = compare_here(at + (u32)sizeof(*info))) {
        const u32 dim = *(constant_u32 *)(bytes + at);
        u32 next[nops], apart = 0;

        if (dim == 1)
            continue;
        UNROLL
        for (u32 o = 0; o < nops; o++) {
            const u64 stride =
                *(constant_size *)(bytes + (u32)(at + (o + 1) * row));

            next[o] = (u32)stride;
            high |= (u32)(stride >> 32);
            apart |=
                (view.stride[o][0] ^ next[o] * dim) | __umulhi(next[o], dim);
        }
        if (compare_here(ngroups) == 0) {
            view.dim[0] = dim;
            ngroups = 1;
        } else if (compare_here(apart) == 0) {
            view.dim[0] *= dim;
        } else {
            move_up(view);
            view.dim[0] = dim;
            ngroups++;
        }
        UNROLL
        for (u32 o = 0; o < nops; o++)
            view.stride[o][0] = next[o];
    }
    u32 strided = high | ngroups >> 1;

    UNROLL
    for (u32 o = 0; o < nops; o++)
        strided |= view.stride[o][0] ^ 1;
    view.ngroups = ngroups;
    view.layout = LAYOUT_ROWS;
    if (compare_here(strided) == 0)
        view.layout = LAYOUT_FLAT;
    else if (compare_here(high |
                          (max_of<u32>(ngroups, MAX_GROUPS) ^ MAX_GROUPS)) != 0)
        view.layout = LAYOUT_ANY;
    return view;
}
#endif

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
