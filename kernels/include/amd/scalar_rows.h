/*
 * scalar_rows.h - LAYOUT_ROWS on AMD, in few instructions of the scalar ALU
 *
 * CDNA's compute units have one scalar ALU for all of their waves. With two
 * packs a thread, working out the operands' layout keeps the scalar ALU busier
 * than DRAM. So numbers are 32 bits wide, and a condition is a comparison and a
 * jump in the place where it is needed (compare_here()): the compiler would
 * bring it into a mask first, and would join several such masks.
 */
#pragma once

#include "map/apply.h"
#include "map/blocks.h"

/*
 * 0 if one load can read a pack of the operand: elements are contiguous, and
 * rows start at multiples of k.
 */
template <u32 k, u32 nops, typename T>
DEV u32 row_gaps(const View<nops> &view, u32 o, const T *p)
{
    u32 low = (u32)(u64)p / (u32)sizeof(T);

    UNROLL
    for (u32 g = 1; g < MAX_GROUPS; g++)
        low |= view.stride[o][g];
    return (view.stride[o][0] ^ 1) | (low & (k - 1));
}

/* One operand; gaps is 0 if it has none. */
template <typename T> struct RowOperand {
    const T *p;
    u32 gaps;

    template <u32 k, u32 nops>
    DEV_MEMBER Raw<T, k> load_some(const View<nops> &view, u32 o,
                                   const PackPlace &place) const
    {
        return load_row<k>(view, o, gaps == 0, p, place);
    }
    /* a pack inside a row at p + offset, or one element repeated */
    template <u32 k> DEV_MEMBER Raw<T, k> load_whole(u64 offset) const
    {
        const T *const at = p + offset;
        Raw<T, k> raw;

        if (compare_here(gaps) == 0) {
            raw = load_raw<k>(at);
        } else {
            const T x = *at;
            Pack<T, k> v;

            UNROLL
            for (u32 e = 0; e < k; e++)
                v[e] = x;
            raw = bits_as<Raw<T, k>>(v);
        }
        return raw;
    }
};

template <u32 k, u32 nops, typename A, typename B, typename C>
struct ScalarRows {
    typedef Inputs<k, A, B, C> Packs;
    const View<nops> &view;
    RowOperand<A> a;
    RowOperand<B> b;
    RowOperand<C> c;

    /* coordinates from group g outwards */
    template <u32 g> DEV_MEMBER void split(PackPlace &place, u32 rest) const
    {
        place.at[g] = rest;
        if constexpr (g + 1 < MAX_GROUPS) {
            if (compare_here(view.ngroups) > g + 1) {
                const u32 outer = rest / view.dim[g];

                place.at[g] = rest - outer * view.dim[g];
                split<g + 1>(place, outer);
            } else {
                UNROLL
                for (u32 i = g + 1; i < MAX_GROUPS; i++)
                    place.at[i] = 0;
            }
        }
    }
    DEV_MEMBER Packs load_some(u32 pack, u32 count) const
    {
        PackPlace place;
        Packs in;

        place.count = count;
        split<0>(place, pack * k);
        in.a = a.template load_some<k>(view, 0, place);
        if constexpr (nops > 1)
            in.b = b.template load_some<k>(view, 1, place);
        if constexpr (nops > 2)
            in.c = c.template load_some<k>(view, 2, place);
        return in;
    }
    /*
     * The operands' offsets for `rest` elements, counted beyond groups 0 to g -
     * 1. A whole pack's step along group 0 is 1, or 0.
     */
    template <u32 g>
    DEV_MEMBER void add_offsets(u64 (&offset)[nops], u32 rest) const
    {
        u32 outer = 0;
        const bool more =
            g + 1 < MAX_GROUPS && compare_here(view.ngroups) > g + 1;

        if (more) {
            outer = rest / view.dim[g];
            rest -= outer * view.dim[g];
        }
        UNROLL
        for (u32 o = 0; o < nops; o++)
            if constexpr (g == 0)
                offset[o] = rest & (0 - view.stride[o][0]);
            else
                offset[o] += (u64)rest * view.stride[o][g];
        if constexpr (g + 1 < MAX_GROUPS)
            if (more)
                add_offsets<g + 1>(offset, outer);
    }
    DEV_MEMBER Packs load_whole(u32 pack) const
    {
        u64 offset[nops];
        Packs in;

        add_offsets<0>(offset, pack * k);
        in.a = a.template load_whole<k>(offset[0]);
        if constexpr (nops > 1)
            in.b = b.template load_whole<k>(offset[1]);
        if constexpr (nops > 2)
            in.c = c.template load_whole<k>(offset[2]);
        return in;
    }
};

/* n is below 2^32; `each` packs at once, one or two */
template <Weight weight, u32 k, u32 each, u32 nops, typename R, typename A,
          typename B, typename C, typename F>
DEV void map_rows(const Blocks &blocks, u64 n64, const View<nops> &view,
                  const A *a, const B *b, const C *c, R *out, F f)
{
    typedef ScalarRows<k, nops, A, B, C> Rows;
    const u32 n = (u32)n64, npacks = n / k + (n % k != 0);
    const u32 ragged = view.dim[0] & (k - 1);
    const u32 out_gap = (u32)(u64)out / (u32)sizeof(R) & (k - 1);
    Rows rows = {view, {a, 0}, {b, 0}, {c, 0}};
    /* 0 if all packs are whole, each a piece of its row or an element */
    u32 parts = ragged | out_gap;
    const Share share = share_packs(blocks);

    if (share.first >= npacks)
        return;
    rows.a.gaps = ragged | row_gaps<k>(view, 0, a);
    parts |= min_of(rows.a.gaps, view.stride[0][0]);
    if constexpr (nops > 1) {
        rows.b.gaps = ragged | row_gaps<k>(view, 1, b);
        parts |= min_of(rows.b.gaps, view.stride[1][0]);
    }
    if constexpr (nops > 2) {
        rows.c.gaps = ragged | row_gaps<k>(view, 2, c);
        parts |= min_of(rows.c.gaps, view.stride[2][0]);
    }
    /* a step beyond the end is as good as any other */
    const u32 step = (u32)min_of<u64>(share.step, npacks);
    u32 pack = (u32)share.first, left = npacks - pack;

    if (compare_here(parts) != 0) {
        for (;; pack += step, left -= step) {
            const u32 count = min_of(k, n - pack * k);

            store_some<k>(
                out + (u64)pack * k,
                apply<weight, k, nops, R>(f, rows.load_some(pack, count)),
                count, out_gap == 0 && count == k);
            if (left <= step)
                break;
        }
        return;
    }
    if constexpr (each > 1) {
        static_assert(each == 2, "what the loop has");
        while (left > step) {
            const u32 next = pack + step;
            const typename Rows::Packs x = rows.load_whole(pack);
            const typename Rows::Packs y = rows.load_whole(next);

            store_raw<k>(out + (u64)pack * k, apply<weight, k, nops, R>(f, x));
            store_raw<k>(out + (u64)next * k, apply<weight, k, nops, R>(f, y));
            pack = next + step;
            left -= step;
            left -= min_of(left, step);
        }
        if (left > 0)
            store_raw<k>(out + (u64)pack * k,
                         apply<weight, k, nops, R>(f, rows.load_whole(pack)));
    } else {
        for (;; pack += step, left -= step) {
            store_raw<k>(out + (u64)pack * k,
                         apply<weight, k, nops, R>(f, rows.load_whole(pack)));
            if (left <= step)
                break;
        }
    }
}
