/*
 * conv_plan.h - which tile makes a convolution on sm_80 and later
 *
 * A tile has 32, 64 or 128 output channels by as many positions as fill the
 * block. With few tiles, a tile has half the positions or fewer, and groups of
 * warps share its terms. Each lane of the first warps works out the LDS and the
 * time of another tile; the fastest one wins.
 */
#pragma once

#include "conv/image_tile.h"
#include "nvidia/copy/cluster.h"

/* the lowest bit of v that is set */
DEV u32 low_bit(u32 v)
{
    return v & (0 - v);
}

template <typename T> struct ConvPlan {
    static constexpr u32 row_channels = 32 / sizeof(T); /* in a row of LDS */
    static constexpr u32 threads = 1024;
    static constexpr u32 log_outputs = 15; /* a tile's outputs times splits */
    static constexpr u32 log_least_m = 5, log_most_m = 7;
    static constexpr u32 planners = 3 * 32, callers = planners + 2 * 32;
    /* stages copied ahead, and tiles known at a time */
    static constexpr u32 most_ring = 4, most_turns = 8;
    static constexpr u32 most_taps = 64;
    static constexpr u32 most_entries = 4096;
    static constexpr u32 lds_nbytes = slab_bytes;
    static constexpr u32 too_much = (1u << 26) - 1; /* a cost */

    /* a tile: its first channel and position, the end of its positions, its
     * first image, the entry of its first position or its column */
    struct Tile {
        u32 o0, p0, end, image, first;
        /* row and column of the first position in the output and of its entry
         * in the padded image; entries that are used */
        u32 h_out, w_out, h, w, entries;
    };
    /* If direct, the next copy: the number of the block's tile, the first
     * channel, the stage of the ring. */
    struct Feed {
        u32 tile, c, slot;
    };
    /* a divisor d for numbers below 2^13 + d */
    struct Quotient {
        u32 d, m;
    };
    static DEV_MEMBER Quotient to_divide_by(u32 d)
    {
        return {d, d < 1u << 15 ? Divisor(d).m : 0};
    }
    static DEV_MEMBER u32 divided(u32 n, u32 d, u32 m)
    {
        return d > 1 ? (u32)((u64)n * m >> 32) : n;
    }
    static DEV_MEMBER u32 quotient(u32 n, const Quotient &by)
    {
        return by.d >= 1u << 15 ? n >= by.d : divided(n, by.d, by.m);
    }
    /* A tile's numbers. */
    struct Layout {
        u32 part_tiles;    /* of each part */
        u32 log_m;         /* output channels of a tile */
        u32 log_splits;    /* groups of warps that share a tile's taps */
        u32 log_blocks;    /* rows of channels at a time */
        u32 width, height; /* the part of the padded image that is read */
        u32 across, down;  /* entries and rows between adjacent positions */
        u32 entries;       /* in a slab, at most */
        u32 halo;          /* entries from a position's first tap to its last */
        /* parts: tiles per row of outputs, or 0 if a tile may span rows. If
         * not 0, the slab has `segment` entries of each row that a tap reads */
        u32 parts, segment;
        /* taps: the most that a part has; taps_once: as many as fit LDS */
        u32 taps, taps_once;
        u32 down_a_row;           /* entries from a row of taps to the next */
        u32 places_at, kernel_at; /* bytes into LDS, behind the slab */
        u32 plane, count;         /* positions of an image, and of all */
        u32 tiles_o, tiles;
        /* 1: the kernel is copied 16 bytes at a time: lines, channels of one
         * tap; pieces, channels and taps as they lie in the kernel */
        u32 lines, pieces;
        /* direct: operands are copied to LDS without a slab: rows of positions
         * for windows of one tap, else patches. Copies have `1 << log_grain`
         * contiguous bytes. */
        u32 direct, log_grain;
        /* patches: no window leaves the image, and each row of a window is one
         * contiguous piece. Terms are numbered as they lie in the kernel. */
        u32 patches;
        u32 terms; /* if direct: channels, or channels times taps */
        u32 log_kernel_grain;
        /* ring_at: 0 if the ring shares its LDS with the tile's sums.
         * pitch: bytes of one channel's row of positions; if patches, of a row
         * with 32 bytes of each window */
        u32 ring_at, ring_stages, stage_nbytes, pitch;

        DEV_MEMBER u32 positions() const
        {
            return 1u << (log_outputs - log_m - log_splits);
        }
        /* bytes of one tap's rows of the kernel */
        DEV_MEMBER u32 step_nbytes() const
        {
            return (32u << log_m) + 16;
        }
    };
    /*
     * The plan of a launch, in LDS. A transposed convolution is a plain one for
     * each remainder of its outputs (axis.h). `v` is such a part: of stride 1,
     * with the most taps and positions that a part has. Taps come in reverse
     * order.
     */
    struct Shape : Layout {
        Conv v;
        Conv whole;       /* the whole convolution */
        Axis<i32> ah, aw; /* the part's pads and taps */
        u32 pad_h, pad_w; /* entries before the image */
        Quotient by_w_out, by_h_out, by_width, by_height, by_segment, by_plane;
        /* offsets of taps: in bytes of the slab, in elements of the kernel */
        u32 tap_offset[ConvPlan::most_taps], tap_place[ConvPlan::most_taps];
        const T *x, *w;
        T *y;
        Feed feed[2];
        Tile tile[most_turns];
        u32 accepted, cost[planners / 32];

        /* a position's entry, relative to the entry of position 0 */
        DEV_MEMBER u32 entry_of(u32 p) const
        {
            const u32 w_out = (u32)v.w_out, h_out = (u32)v.h_out;
            const u32 row = p / w_out, image = row / h_out;

            return (image * this->height + (row - image * h_out) * this->down) *
                       this->width +
                   (p - row * w_out) * this->across;
        }
    };

    /*
     * Fills `at` in, if offsets fit and LDS has room; see takes(). The first
     * `callers` threads call it, and each warp has a part: `planners` threads
     * choose the tile, a warp finds out whether a tile may be taken at all, and
     * a warp writes what is the same for all tiles.
     */
    static DEV_MEMBER void plan(const Conv &conv, const T *x, const T *w, T *y,
                                u32 room, Shape &at)
    {
        const u32 warp = threadIdx.x / 32;

        if (blockDim.x != threads)
            return;
        /* the remainders of a transposed convolution are found by loops */
        if (conv.transposed && !conv.is_small()) {
            at.accepted = 0;
            return;
        }
        Conv v = conv.transposed ? largest_part(conv) : conv;
        Layout mine;

        mine.patches = are_patches(v, x, w);
        if (warp == planners / 32)
            at.accepted = conv.is_small() &&
                          conv.h_out * conv.w_out < 1ull << 30 &&
                          accepts(v, mine.patches);
        skip_inputs(v);
        const bool fits = lay_out_image(v, mine);

        if (warp < planners / 32)
            choose(conv, v, x, w, room, fits, mine, at);
        else if (warp > planners / 32)
            describe(conv, v, x, w, y, mine, at);
    }
    /* Each lane tries another tile: 32, 64 or 128 channels, by warp; as many
     * positions as fill the block, or a half, a quarter or an eighth; one, two
     * or four rows of channels at a time; any outputs, or those of one row. */
    static DEV_MEMBER void choose(const Conv &conv, const Conv &v, const T *x,
                                  const T *w, u32 room, bool fits, Layout &mine,
                                  Shape &at)
    {
        const u32 lane = lane_id(), warp = threadIdx.x / 32;

        mine.log_m = log_least_m + warp;
        mine.log_splits = lane % 4 + (mine.log_m == log_least_m ? 2 : 0);
        mine.log_blocks = lane / 4 % 4;
        const u32 cost =
            fits ? cost_of(conv, v, x, w, room, lane / 16 != 0, mine)
                 : too_much;
        const u32 best = min_of_lanes(cost << 5 | lane);

        at.cost[warp] = best;
        asm volatile("bar.sync 1, %0;" ::"n"(planners) : "memory");
        if (best >> 5 == too_much || !is_first(at, warp, best >> 5) ||
            lane != best % 32)
            return;
        mine.log_blocks += mine.direct ? mine.log_splits : 0;
        static_cast<Layout &>(at) = mine;
        at.by_segment = to_divide_by(min_of(mine.segment, 1u << 20));
    }
    static DEV_MEMBER void describe(const Conv &conv, const Conv &v, const T *x,
                                    const T *w, T *y, const Layout &image,
                                    Shape &at)
    {
        at.v = v;
        at.whole = conv;
        at.ah = v.template axis_h<i32>(0);
        at.aw = v.template axis_w<i32>(0);
        at.pad_w = (u32)v.padding;
        at.pad_h = v.flat ? 0 : at.pad_w;
        at.by_plane = to_divide_by(image.plane);
        at.by_w_out = to_divide_by((u32)v.w_out);
        at.by_h_out = to_divide_by((u32)v.h_out);
        at.by_width = to_divide_by(image.width);
        at.by_height = to_divide_by(image.height);
        at.x = x;
        at.w = w;
        at.y = y;
    }
    static DEV_MEMBER u32 blocks_at_once()
    {
        return min_of(multiprocessors(), (u32)gridDim.x);
    }
    static DEV_MEMBER u32 min_of_lanes(u32 v)
    {
        UNROLL
        for (u32 i = 1; i < 32; i *= 2)
            v = min_of(v, __shfl_xor_sync(0xffffffffu, v, i));
        return v;
    }
    /* whether a tile can make this convolution, and offsets fit 32 bits */
    static DEV_MEMBER bool accepts(const Conv &v, bool patches)
    {
        constexpr u64 least_terms = 16;
        /* with few channels direct.h is faster, except for single images */
        constexpr u64 few_outputs = 1u << 23;
        const u64 taps = v.w.kh * v.w.kw;
        const u64 positions = v.x.b * v.h_out * v.w_out;

        return (taps <= most_taps || patches) && v.x.c * taps >= least_terms &&
               (sizeof(T) != 4 || v.x.c * 2 >= row_channels || patches ||
                positions * v.w.outputs < few_outputs) &&
               positions < 1ull << 30 &&
               (v.w.so * sizeof(T) << log_most_m) < 1ull << 31 &&
               positions * v.w.outputs < 1ull << 40 &&
               v.x.b * v.w.outputs < 1ull << 31 &&
               (v.transposed || ((v.w.kw == 1 || v.w.sw == 1) &&
                                 (v.w.kh == 1 || v.w.sh == v.w.kw) &&
                                 (v.x.c == 1 || v.w.sc == taps)));
    }
    /* Windows of one tap skip the inputs between them. */
    static DEV_MEMBER void skip_inputs(Conv &v)
    {
        if (v.w.kh * v.w.kw != 1 || v.padding != 0 || v.transposed)
            return;
        v.x.sh *= v.flat ? 1 : v.stride;
        v.x.sw *= v.stride;
        v.x.h = v.h_out;
        v.x.w = v.w_out;
        v.stride = 1;
    }
    /* the padded image; returns whether its entries have 31 bits */
    static DEV_MEMBER bool lay_out_image(const Conv &v, Layout &at)
    {
        const u32 kw = (u32)v.w.kw, dilation = (u32)v.dilation;

        at.across = v.w_out == 1 ? 1 : (u32)v.stride;
        at.down = v.h_out == 1 ? 1 : (u32)v.stride;
        const u64 wide =
            (v.w_out - 1) * at.across + (u64)(kw - 1) * dilation + 1;
        const u64 high =
            v.flat ? 1
                   : (v.h_out - 1) * at.down + (v.w.kh - 1) * v.dilation + 1;

        at.width = (u32)wide;
        at.height = (u32)high;
        at.taps = (u32)(v.w.kh * v.w.kw);
        at.plane = (u32)v.h_out * (u32)v.w_out;
        at.count = (u32)v.x.b * at.plane;
        at.halo = ((u32)v.w.kh - 1) * (v.flat ? 0 : dilation) * at.width +
                  (kw - 1) * dilation;
        return wide < 1ull << 31 && high < 1ull << 31 &&
               wide * high < 1ull << 31 && wide * high * v.x.b < 1ull << 31;
    }
    /* Plans a tile's layout in LDS; returns the time, or too_much if it does
     * not fit. */
    static DEV_MEMBER u32 cost_of(const Conv &conv, const Conv &v, const T *x,
                                  const T *w, u32 room, bool by_rows,
                                  Layout &at)
    {
        const u32 n = at.positions(), outputs = (u32)v.w.outputs;
        const u64 images = min_of((u32)v.x.b, n / max_of(at.plane, 1u) + 2);
        const u64 reach = images * v.x.sb + v.x.c * v.x.sc +
                          (v.x.h + 2 * v.padding) * v.x.sh +
                          (v.x.w + 2 * v.padding) * v.x.sw +
                          v.dilation * (v.w.kh * v.x.sh + v.w.kw * v.x.sw);

        at.tiles_o = div_up(outputs, 1u << at.log_m);
        at.parts = by_rows ? div_up((u32)v.w_out, n) : 0;
        const u64 part_tiles = (u64)(by_rows ? (u32)(v.x.b * v.h_out) * at.parts
                                             : div_up(at.count, n)) *
                               at.tiles_o;
        const u64 tiles =
            part_tiles * conv.remainders_h() * conv.remainders_w();

        at.part_tiles = (u32)part_tiles;
        at.tiles = (u32)tiles;
        at.lines = at.taps == 1 && !v.transposed && is_aligned(w, 16) &&
                   v.x.c * sizeof(T) % 16 == 0 &&
                   (outputs == 1 || v.w.so * sizeof(T) % 16 == 0);
        const bool fits = lay_out_slab(v, w, room, by_rows, at);

        lay_out_ring(v, x, w, room, at);
        const bool possible =
            at.direct ? !by_rows && at.ring_stages >= 2
                      : fits && at.taps <= most_taps &&
                            (at.log_blocks == 0 || at.taps_once == at.taps);

        return possible && at.log_blocks < 3 && tiles < 1ull << 31 &&
                       reach * sizeof(T) < 1ull << 31
                   ? time_of(v, room > lds_nbytes, at)
                   : too_much;
    }
    static DEV_MEMBER bool lay_out_slab(const Conv &v, const T *w, u32 room,
                                        bool by_rows, Layout &at)
    {
        const u32 n = at.positions(), b = (u32)v.x.b;
        const u32 w_out = (u32)v.w_out, h_out = (u32)v.h_out;
        const u32 reach_w = ((u32)v.w.kw - 1) * (u32)v.dilation;
        const u32 rows = min_of((n - 1 + w_out - 1) / w_out, b * h_out - 1);
        const u32 turns = min_of((n - 1 + at.plane - 1) / at.plane, b - 1);
        const u32 per_row = at.down * at.width, per_image = h_out * at.down;
        const u64 segment = (u64)(n - 1) * at.across + reach_w + 1;
        const u64 most =
            by_rows
                ? (u32)v.w.kh * segment
                : (u64)(n - 1) * at.across + 1 +
                      (u64)rows *
                          (per_row - min_of(per_row, w_out * at.across)) +
                      (u64)turns * (at.height - min_of(at.height, per_image)) *
                          at.width +
                      at.halo;
        const u32 each = at.step_nbytes() << at.log_blocks;

        at.segment = (u32)segment;
        at.down_a_row = by_rows ? at.segment : at.width * (u32)v.dilation;
        at.entries = (u32)min_of<u64>(most, most_entries + 1);
        at.kernel_at = at.entries * 32 << at.log_blocks;
        const u32 places_nbytes = div_up(at.entries, 4u) * 16;
        const bool fits = at.entries <= most_entries && at.log_blocks < 3 &&
                          at.kernel_at + places_nbytes + each <= room;

        at.taps_once =
            fits ? min_of((room - at.kernel_at - places_nbytes) / each, at.taps)
                 : 0;
        at.places_at = at.kernel_at + at.taps_once * each;
        at.pieces = sizeof(T) == 2 && !v.transposed &&
                    at.taps_once == at.taps && is_aligned(w, 16) &&
                    (v.x.c * at.taps | v.w.so) % per16<T>::value == 0;
        return fits;
    }
    /* direct: copies rows of positions unchanged, for kernels of one element */
    static DEV_MEMBER void lay_out_ring(const Conv &v, const T *x, const T *w,
                                        u32 room, Layout &at)
    {
        constexpr u32 pad_nbytes = sizeof(T) == 2 ? 16 : 32;
        const u32 n = at.positions(), c = (u32)v.x.c;
        const u32 log_wide = at.log_splits + at.log_blocks;
        const u64 steps_of_x = (v.x.b > 1 ? v.x.sb : 0) | v.x.sc | at.plane;
        const u32 grain =
            at.patches
                ? patch_grain(v, x)
                : low_bit((u32)(u64)x | (u32)(steps_of_x * sizeof(T)) | 16);

        at.log_grain = log2_of(grain);
        at.log_kernel_grain = at.patches ? log2_of(kernel_grain(v, w)) : 4;
        at.terms = at.patches ? c * at.taps : c;
        at.pitch = at.patches ? n * 32 + 16 : n * (u32)sizeof(T) + pad_nbytes;
        at.stage_nbytes =
            (at.step_nbytes() + (at.patches ? 1 : row_channels) * at.pitch)
            << log_wide;
        at.ring_at =
            room > lds_nbytes ? part_nbytes(at.log_m, at.log_splits) : 0;
        /* no more than a block's only tile has, and the one behind them */
        const u32 stages = div_up(at.terms, row_channels << log_wide);
        const u32 wanted = at.tiles <= blocks_at_once()
                               ? min_of(stages + 1, most_ring)
                               : most_ring;

        at.ring_stages = min_of((room - at.ring_at) / at.stage_nbytes, wanted);
        at.direct =
            at.patches ||
            (room > lds_nbytes && at.lines && v.padding == 0 && grain >= 4 &&
             (v.x.w == 1 || v.x.sw == 1) && (v.x.h == 1 || v.x.sh == v.x.w));
    }
    /* In cycles, measured on an H200; each stage costs time beside its
     * products, so few large stages are faster. roomy: more LDS than every
     * launch has. */
    static DEV_MEMBER u32 time_of(const Conv &v, bool roomy, const Layout &at)
    {
        const u32 n = at.positions(), direct = at.direct;
        const u32 terms = direct ? at.terms : (u32)v.x.c;
        const u32 step =
            sizeof(T) == 2 ? (roomy ? 540 : 600) : (roomy ? 1900 : 1500);
        const u32 once = row_channels
                         << (at.log_blocks + (direct ? at.log_splits : 0));
        const u32 stages = div_up(terms, once);
        const u32 steps = div_up((direct ? 1 : at.taps) * (once / row_channels),
                                 1u << at.log_splits);
        const u32 slab = at.entries << at.log_blocks;
        const u32 kernel =
            (at.taps << (at.log_m + at.log_blocks)) / (at.lines ? 4 : 1);
        const u32 stage =
            direct  ? max_of(steps * step, at.stage_nbytes / 32) + 3200
            : roomy ? steps * step + slab + kernel * 3 + 3200
                    : steps * step + slab + kernel +
                          (at.taps_once < at.taps ? 3 : 1) * 1500;
        const u32 beside = direct ? 6400 : roomy ? 10500 : 2000;
        const u64 turns = div_up(at.tiles, blocks_at_once());
        const u64 cost =
            turns * ((u64)stages * stage + beside + (n << at.log_m) / 10);

        return at.log_blocks == 0 || terms > once / 2
                   ? (u32)min_of<u64>(cost >> 6, too_much)
                   : too_much;
    }
    /* Whether a planner found a tile; call it after a barrier. */
    static DEV_MEMBER bool takes(const Shape &at)
    {
        return blockDim.x == threads && at.accepted != 0 &&
               min_of(min_of(at.cost[0], at.cost[1]), at.cost[2]) >> 5 !=
                   too_much;
    }
    static DEV_MEMBER bool is_first(const Shape &at, u32 warp, u32 best)
    {
        bool first = true;

        UNROLL
        for (u32 i = 0; i < planners / 32; i++)
            first =
                first && (i == warp || (i < warp ? at.cost[i] >> 5 > best
                                                 : at.cost[i] >> 5 >= best));
        return first;
    }
    /* the remainder of outputs that use tap 0: they have the most taps */
    static DEV_MEMBER u64 fullest(const Conv &v)
    {
        return (v.stride - v.padding % v.stride) % v.stride;
    }
    static DEV_MEMBER Conv largest_part(const Conv &whole)
    {
        const Axis<i32> h = whole.axis_h<i32>(fullest(whole));
        const Axis<i32> w = whole.axis_w<i32>(fullest(whole));
        Conv v = whole;

        v.w.kh = (u64)h.taps;
        v.w.kw = (u64)w.taps;
        v.h_out = whole.flat ? 1 : div_up(whole.h_out, whole.stride);
        v.w_out = div_up(whole.w_out, whole.stride);
        v.stride = 1;
        v.dilation = (u64)max_of(max_of(-h.reach, -w.reach), 1);
        return v;
    }
    /* the alignment of windows' rows, in contiguous bytes */
    static DEV_MEMBER u32 patch_grain(const Conv &v, const T *x)
    {
        const u64 steps = v.w.kw | (v.w_out > 1 ? v.stride : 0) |
                          (v.h_out > 1 ? v.stride * v.x.sh : 0) |
                          (v.w.kh > 1 ? v.dilation * v.x.sh : 0) |
                          (v.x.c > 1 ? v.x.sc : 0) | (v.x.b > 1 ? v.x.sb : 0);

        return low_bit((u32)(u64)x | (u32)(steps * sizeof(T)) | 16);
    }
    /* the same for the kernel's rows */
    static DEV_MEMBER u32 kernel_grain(const Conv &v, const T *w)
    {
        const u64 steps =
            v.x.c * v.w.kh * v.w.kw | (v.w.outputs > 1 ? v.w.so : 0);

        return low_bit((u32)(u64)w | (u32)(steps * sizeof(T)) | 16);
    }
    /* whether windows are copied as patches: there are too many taps for a
     * slab, or few channels would leave most of a slab empty */
    static DEV_MEMBER bool are_patches(const Conv &v, const T *x, const T *w)
    {
        const u64 taps = v.w.kh * v.w.kw;

        return !v.transposed && taps > 1 &&
               (taps > most_taps || v.x.c * 2 <= row_channels) &&
               v.is_inside() && (v.x.sw == 1 && v.dilation == 1) &&
               v.x.c * taps < 1ull << 31 && patch_grain(v, x) >= 4 &&
               kernel_grain(v, w) >= 4;
    }
    /* LDS that store() uses */
    static DEV_MEMBER u32 part_nbytes(u32 log_m, u32 log_splits)
    {
        const u32 n = 1u << (log_outputs - log_m - log_splits);

        return (1u << (log_m - 2 + log_splits)) * (n + 8) * (u32)sizeof(f32);
    }
};
