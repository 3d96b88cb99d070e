/*
 * conv_plan.h - how a block makes a convolution by matrix instructions
 *
 * y[o, p] = sum over k of w[o, k] x[p, k] is a product of matrices: k counts
 * input channels and the taps of each, p counts images, rows and columns. A
 * transposed convolution is such a product for each remainder of its outputs
 * (axis.h), which is called a part here. A plain one has one part.
 *
 * A tile is 32, 64 or 128 output channels by some positions, 32 by 32 for each
 * warp. With few tiles, a tile has fewer positions, and groups of warps split
 * its terms. Each lane of the first warp works out the time of another tile;
 * the fastest one wins.
 */
#pragma once

#include "nvidia/conv/conv_mma.h"

/*
 * A row of an operand: an output channel of the kernel, or a position. Its term
 * k lies at row.at + term.at, in bytes from where the tile's operand begins.
 *
 * The taps of a position that lie in the image are first <= n < end along an
 * axis. A row's word has 0x7f + first in one byte and 0x80 - end in the next,
 * of columns and then of rows; a term's word takes n from the one and adds it
 * to the other. The tap is outside if bit 7 of a byte of the sum is set. If
 * images have no rows, two fields of 16 bits take the bytes' place.
 */
struct ConvRow {
    i32 at;
    u32 outside;
};
struct alignas(8) ConvTerm {
    i32 at;
    u32 tap;
};

struct TapWords {
    u32 bits; /* of a field */

    DEV_MEMBER explicit TapWords(bool flat) : bits(flat ? 16 : 8)
    {
    }
    DEV_MEMBER u32 mask() const
    {
        return bits == 8 ? 0x80808080u : 0x80008000u;
    }
    /* more taps along an axis would carry into the next field */
    DEV_MEMBER u32 most_taps() const
    {
        return (1u << (bits - 2)) - 1;
    }
    DEV_MEMBER u32 all_inside() const
    {
        return ~mask();
    }
    DEV_MEMBER u32 no_row() const
    {
        return ~mask() + most_taps();
    }
    DEV_MEMBER u32 no_term() const
    {
        return most_taps() + 2;
    }
    DEV_MEMBER u32 term(u32 h, u32 w) const
    {
        const u32 row = bits == 8 ? ((h << 8) - h) << 16 : 0;

        return row + (w << bits) - w;
    }
    DEV_MEMBER u32 row(const Axis<i32> &ah, i32 h, const Axis<i32> &aw,
                       i32 w) const
    {
        return field(aw, w) + (bits == 8 ? field(ah, h) << 16 : 0);
    }
    DEV_MEMBER u32 field(const Axis<i32> &a, i32 i) const
    {
        const i32 q = a.input(i, 0), last = a.length - 1;
        const i32 most = (i32)most_taps(), step = max_of(a.reach, -a.reach);
        const i32 before = a.reach < 0 ? q - last : -q;
        const i32 after = a.reach < 0 ? q : last - q;
        const i32 by = max_of(step, 1);
        const i32 first = before > 0 ? min_of((before - 1) / by + 1, most) : 0;
        const i32 end = after >= 0 ? min_of(after / by + 1, most) : 0;
        const u32 half = 1u << (bits - 1);

        return half - 1 + (u32)first + ((half - (u32)end) << bits);
    }
};

/* How an operand's rows come to LDS. */
enum {
    conv_gather,    /* element by element */
    conv_along_k,   /* in pieces of terms that lie side by side */
    conv_along_rows /* in pieces of rows that lie side by side */
};

template <typename T> struct ConvPlan {
    static constexpr u32 row_terms = 32 / sizeof(T); /* of a row of LDS */
    static constexpr u32 log_least_m = 5, most_log_splits = 4;
    static constexpr u32 most_stages = 3;
    static constexpr u32 lds_nbytes = stages_bytes;

    struct Operand {
        const T *from; /* the tile's */
        u32 way;       /* see above */
        u32 log_grain; /* bytes of a piece, if it has a way of pieces */
        u32 log_rows;
        u32 rows_at;  /* LDS of the rows' ConvRow */
        u32 stage_at; /* in a stage */
        u32 pitch;    /* from a piece of 16 bytes of terms to the next, or from
                         term to term if rows lie side by side */
        u32 block_nbytes; /* of row_terms terms */
    };
    /* A tile's numbers. */
    struct Layout {
        Operand operand[2]; /* w, x */
        u32 log_m, log_n, log_splits;
        u32 log_blocks; /* of row_terms terms, in a stage */
        u32 stages, stage_nbytes, terms_at, ring_at;
        u32 columns, plane, count; /* positions: in a row, an image, all */
        u32 tiles_o, part_tiles, tiles;
        bool inside; /* all taps are in the image */
        bool groups; /* warpgroups multiply, not warps */

        DEV_MEMBER u32 stage_terms() const
        {
            return row_terms << log_blocks;
        }
    };
    /* The plan of a launch, and the tile at hand, in LDS. */
    struct Shape : Layout {
        Conv v;
        const T *x, *w;
        T *y;
        /* the tile's part, first channel, position and image */
        Axis<i32> ah, aw;
        u32 taps, terms, turns, o0, p0, image;
        u32 per_taps,
            per_across; /* Divisor's m of taps, and of a row of them */
    };

    /* Offsets in a tile and its operands fit 31 bits, and taps their fields. */
    static DEV_MEMBER bool fits(const Conv &v)
    {
        constexpr u64 half = 1ull << 31;
        const u32 threads = (u32)blockDim.x;

        if ((threads & (threads - 1)) != 0 || threads < 32 || !v.is_small())
            return false;
        const u64 plane = (u64)rows(v) * columns(v);
        const u64 positions = v.x.b * plane;
        const u64 images = min_of((u32)v.x.b, threads / rows(v) + 2);
        const u64 reach = images * v.x.sb + v.x.c * v.x.sc +
                          (v.x.h + 2 * v.padding) * v.x.sh +
                          (v.x.w + 2 * v.padding) * v.x.sw +
                          v.dilation * (v.w.kh * v.x.sh + v.w.kw * v.x.sw);
        const u64 kernel =
            128 * v.w.so + v.x.c * v.w.sc + v.w.kh * v.w.sh + v.w.kw * v.w.sw;
        const u64 taps = v.w.kh * v.w.kw;
        const u32 most = TapWords(v.flat).most_taps();

        return (is_inside(v) ||
                (fullest_h(v) <= most && fullest_w(v) <= most)) &&
               positions < half / 2 && reach * sizeof(T) < half &&
               kernel * sizeof(T) < half && v.x.c * taps < half / 2 &&
               v.x.c * taps * taps < half * 2 &&
               positions * v.w.outputs < 1ull << 40 &&
               v.x.b * v.w.outputs < half;
    }
    static DEV_MEMBER bool is_inside(const Conv &v)
    {
        return !v.transposed && v.is_inside();
    }
    static DEV_MEMBER u32 rows(const Conv &v)
    {
        return div_up((u32)v.h_out, (u32)v.remainders_h());
    }
    static DEV_MEMBER u32 columns(const Conv &v)
    {
        return div_up((u32)v.w_out, (u32)v.remainders_w());
    }
    /* the most taps of a part: those of the remainder that tap 0 goes to */
    static DEV_MEMBER u32 fullest_h(const Conv &v)
    {
        return (u32)v.template axis_h<i32>(fullest(v)).taps;
    }
    static DEV_MEMBER u32 fullest_w(const Conv &v)
    {
        return (u32)v.template axis_w<i32>(fullest(v)).taps;
    }
    static DEV_MEMBER u64 fullest(const Conv &v)
    {
        const u32 stride = (u32)v.stride, past = (u32)v.padding % stride;

        return v.transposed && past > 0 ? stride - past : 0;
    }

    /*
     * Writes the plan to `at`; at.tiles is 0 if there is none. The first warp
     * calls it.
     */
    static DEV_MEMBER void plan(const Conv &v, const T *x, const T *w, T *y,
                                u32 room, Shape &at)
    {
        constexpr u32 too_much = (1u << 27) - 1;
        const u32 lane = threadIdx.x;
        const bool possible = fits(v);
        Layout mine;
        u32 cost = too_much;

        if (lane == 0)
            at.tiles = 0;
        if (possible && lane < 24 && lane % 8 <= most_log_splits) {
            mine.log_m = log_least_m + lane / 8;
            mine.log_splits = lane % 8;
            cost = min_of(try_tile(v, x, w, room, mine), too_much);
        }
        u32 best = cost << 5 | lane;

        UNROLL
        for (u32 i = 1; i < 32; i *= 2)
            best = min_of(best, __shfl_xor_sync(0xffffffffu, best, i));
        if (best >> 5 == too_much || lane != best % 32)
            return;
        static_cast<Layout &>(at) = mine;
        at.v = v;
        at.x = x;
        at.w = w;
        at.y = y;
    }
    /* Fills in a tile of 1 << log_m channels; returns its cost. */
    static DEV_MEMBER u32 try_tile(const Conv &v, const T *x, const T *w,
                                   u32 room, Layout &at)
    {
        constexpr u32 never = ~0u;
        const u32 log_outputs = log2_of(blockDim.x) + 5;

        if (log_outputs < at.log_m + at.log_splits + 5)
            return never;
        at.log_n = log_outputs - at.log_m - at.log_splits;
        at.columns = (u32)columns(v);
        at.plane = (u32)rows(v) * at.columns;
        at.count = (u32)v.x.b * at.plane;
        at.inside = is_inside(v);
        at.tiles_o = div_up((u32)v.w.outputs, 1u << at.log_m);

        const u64 part_tiles =
            (u64)div_up(at.count, 1u << at.log_n) * at.tiles_o;
        const u64 tiles = part_tiles * v.remainders_h() * v.remainders_w();

        if (tiles >= 1ull << 30)
            return never;
        at.part_tiles = (u32)part_tiles;
        at.tiles = (u32)tiles;
        choose_ways(v, x, w, at);

        const u32 terms = (u32)v.x.c * fullest_h(v) * fullest_w(v);

        return divide_lds(room, terms, at) ? cost(terms, at) : never;
    }
    static DEV_MEMBER void choose_ways(const Conv &v, const T *x, const T *w,
                                       Layout &at)
    {
        const u32 taps = (u32)(v.w.kh * v.w.kw);
        const u32 plane = plane_grain(v, x, at), patch = patch_grain(v, x, at);
        const u32 kernel = kernel_grain(v, w, taps);
        Operand &a = at.operand[0], &b = at.operand[1];

        a.log_rows = at.log_m;
        a.way = kernel >= 4 ? conv_along_k : conv_gather;
        a.log_grain = log2_of(kernel);
        b.log_rows = at.log_n;
        b.way = plane >= 4               ? conv_along_rows
                : patch >= 2 * sizeof(T) ? conv_along_k
                                         : conv_gather;
        b.log_grain = log2_of(b.way == conv_along_rows ? plane : patch);
        at.groups = conv_has_groups<T> && b.way != conv_along_rows &&
                    at.log_m >= 6 && at.log_n >= 6;
        /* apart in banks: 8 pieces, or terms */
        a.pitch = (16u << a.log_rows) + 16;
        a.block_nbytes = 2 * a.pitch;
        a.stage_at = 0;
        b.pitch = (16u << b.log_rows) + 16;
        b.block_nbytes = 2 * b.pitch;
        if (b.way == conv_along_rows) {
            b.pitch = ((u32)sizeof(T) << at.log_n) + sizeof(T) * 8;
            b.block_nbytes = row_terms * b.pitch;
        }
    }
    static DEV_MEMBER u32 low_bit(u64 elements, const T *at)
    {
        const u32 v = (u32)(u64)at | (u32)(elements * sizeof(T)) | 16;

        return v & (0 - v);
    }
    /* bytes of the kernel's rows that lie side by side, from any row's begin */
    static DEV_MEMBER u32 kernel_grain(const Conv &v, const T *w, u32 taps)
    {
        const bool whole = !v.transposed && (v.w.kw == 1 || v.w.sw == 1) &&
                           (v.w.kh == 1 || v.w.sh == v.w.kw) &&
                           (v.x.c == 1 || v.w.sc == taps);
        const u64 steps = v.x.c * taps | (v.w.outputs > 1 ? v.w.so : 0);

        return whole ? low_bit(steps, w) : 1;
    }
    /* the same of planes, where a position is one element of each channel */
    static DEV_MEMBER u32 plane_grain(const Conv &v, const T *x,
                                      const Layout &at)
    {
        const bool whole = at.inside && v.w.kh * v.w.kw == 1 && v.stride == 1 &&
                           (v.w_out == 1 || v.x.sw == 1) &&
                           (v.h_out == 1 || v.x.sh == v.w_out);
        const u64 steps =
            (v.x.b > 1 ? v.x.sb : 0) | (v.x.c > 1 ? v.x.sc : 0) | at.plane;

        return whole ? low_bit(steps, x) : 1;
    }
    /* the same of windows */
    static DEV_MEMBER u32 patch_grain(const Conv &v, const T *x,
                                      const Layout &at)
    {
        const bool whole = at.inside && v.x.sw == 1 && v.dilation == 1;
        const u64 steps = v.w.kw | (v.w_out > 1 ? v.stride : 0) |
                          (v.h_out > 1 ? v.stride * v.x.sh : 0) |
                          (v.w.kh > 1 ? v.dilation * v.x.sh : 0) |
                          (v.x.c > 1 ? v.x.sc : 0) | (v.x.b > 1 ? v.x.sb : 0);

        return whole ? low_bit(steps, x) : 1;
    }
    /* LDS: rows, two stages' terms, and a ring that a tile's sums take over */
    static DEV_MEMBER bool divide_lds(u32 room, u32 terms, Layout &at)
    {
        Operand &a = at.operand[0], &b = at.operand[1];
        const u32 sums = (1u << (at.log_m - 2 + at.log_splits)) *
                         ((1u << at.log_n) + 16) * (u32)sizeof(f32);

        a.rows_at = 0;
        b.rows_at = (u32)sizeof(ConvRow) << at.log_m;
        at.terms_at = b.rows_at + ((u32)sizeof(ConvRow) << at.log_n);
        at.log_blocks = max_of(at.log_splits, terms <= row_terms       ? 0u
                                              : terms <= row_terms * 2 ? 1u
                                                                       : 2u);
        NO_UNROLL
        for (;; at.log_blocks--) {
            at.ring_at = at.terms_at + 4 * (u32)sizeof(ConvTerm) *
                                           (row_terms << at.log_blocks);
            at.ring_at = div_up(at.ring_at, 128u) * 128;
            b.stage_at = a.block_nbytes << at.log_blocks;
            at.stage_nbytes = b.stage_at + (b.block_nbytes << at.log_blocks);

            const u32 ring = room - min_of(room, at.ring_at);

            at.stages = min_of(ring / at.stage_nbytes, most_stages);
            if (at.stages >= 2 || at.log_blocks == at.log_splits)
                return at.stages > 0 && sums <= ring;
        }
    }
    /* In cycles, roughly, as measured on an H200. */
    static DEV_MEMBER u32 cost(u32 terms, const Layout &at)
    {
        constexpr u32 warp_step = sizeof(T) == 2 ? 17 : 60;
        const u32 warps = blockDim.x / 32 / (at.groups ? 2 : 1);
        const u32 fill = ((1u << at.log_m) / 4 + (1u << at.log_n))
                         << at.log_blocks;
        const u32 steps = (1u << at.log_blocks) >> at.log_splits;
        const u32 stage =
            steps * warps * warp_step + fill + (at.stages == 1 ? 1200 : 200);
        const u32 stages = div_up(terms, at.stage_terms());
        const u32 beside =
            3000 + (1u << at.log_m << at.log_n << at.log_splits) / 8;
        u32 multiprocessors;

        asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
        multiprocessors = min_of(multiprocessors, (u32)gridDim.x);
        return (u32)min_of(((u64)stages * stage + beside) *
                                   div_up(at.tiles, multiprocessors) >>
                               4,
                           (u64)~0u);
    }
};
