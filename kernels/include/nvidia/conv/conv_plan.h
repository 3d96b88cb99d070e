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

template <typename T> struct ConvPlan {
    static constexpr u32 row_channels = 32 / sizeof(T); /* in a row of LDS */
    static constexpr u32 threads = 1024;
    static constexpr u32 log_outputs = 15; /* a tile's outputs times splits */
    static constexpr u32 log_least_m = 5, log_most_m = 7, planners = 3 * 32;
    /* stages copied ahead, and tiles known at a time */
    static constexpr u32 most_ring = 4, most_turns = 8;
    static constexpr u32 most_taps = 64;
    static constexpr u32 most_entries = 4096;
    static constexpr u32 lds_nbytes = slab_bytes;

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
    /*
     * The plan of a launch, in LDS. A transposed convolution is a plain one for
     * each remainder of its outputs (axis.h). `v` is such a part: of stride 1,
     * with the most taps and positions that a part has. Taps come in reverse
     * order.
     */
    struct Shape {
        Conv v;
        Conv whole;        /* the convolution itself */
        Axis<i32> ah, aw;  /* of the part, as of pads and taps */
        u32 pad_h, pad_w;  /* entries before the image */
        u32 part_tiles;    /* of each part */
        u32 log_m;         /* output channels of a tile */
        u32 log_splits;    /* groups of warps that share a tile's taps */
        u32 log_blocks;    /* rows of channels at a time */
        u32 width, height; /* the padded image, as far as read */
        u32 across, down;  /* entries and rows from position to position */
        u32 entries;       /* in a slab, at most */
        u32 halo;          /* entries from a position's first tap to its last */
        /* tiles in a row of outputs, 0 for tiles that are not of one row; a
         * slab then has `segment` entries of each row that a tap reads */
        u32 parts, segment;
        u32 most_taps, taps, taps_once; /* once: as LDS has room for */
        u32 down_a_row;           /* entries from a row of taps to the next */
        u32 places_at, kernel_at; /* bytes into LDS, behind the slab */
        u32 count;                /* of positions */
        u32 tiles_o, tiles;
        Quotient by_w_out, by_h_out, by_width, by_height, by_segment, by_plane;
        /* where taps lie: bytes in the slab, elements in the kernel */
        u32 tap_offset[ConvPlan::most_taps], tap_place[ConvPlan::most_taps];
        const T *x, *w;
        T *y;
        u32 lines; /* a kernel's elements come 16 bytes at a time */
        /* direct: what is multiplied is copied to LDS without a slab, rows of
         * positions for windows of one tap, else patches. `1 << log_grain`
         * bytes of it lie side by side. */
        u32 direct, log_grain;
        /* patches: windows lie in the image and so do their rows, one piece
         * each. Channels and taps are numbered as they lie in the kernel. */
        u32 patches;
        u32 terms; /* if direct: channels, or channels times taps */
        u32 log_kernel_grain;
        /* ring_at: 0 if the ring lies where a tile's sums are stored, too.
         * pitch: bytes of a channel's row of positions; of 32 bytes of all
         * windows */
        u32 ring_at, ring_stages, stage_nbytes, pitch;
        Feed feed[2];
        Tile tile[most_turns];
        u32 cost[planners / 32];

        DEV_MEMBER u32 positions() const
        {
            return 1u << (log_outputs - log_m - log_splits);
        }
        /* bytes of one tap's rows of the kernel */
        DEV_MEMBER u32 step_nbytes() const
        {
            return (32u << log_m) + 16;
        }
        /* the entry of a position, counted from that of position 0 */
        DEV_MEMBER u32 entry_of(u32 p) const
        {
            const u32 w_out = (u32)v.w_out, h_out = (u32)v.h_out;
            const u32 row = p / w_out, image = row / h_out;

            return (image * height + (row - image * h_out) * down) * width +
                   (p - row * w_out) * across;
        }
    };

    /*
     * Fills `at` in, if offsets fit and LDS has room; see takes(). The first
     * `planners` threads call it, each lane for another tile: 32, 64 or 128
     * channels, by warp; as many positions as fill the block, or a half, a
     * quarter or an eighth; one, two or four rows of channels at a time; any
     * outputs, or those of one row.
     */
    static DEV_MEMBER void plan(const Conv &conv, const T *x, const T *w, T *y,
                                u32 room, Shape &at)
    {
        constexpr u64 least_terms = 16;
        /* three channels, say: direct.h is faster, but for single images */
        constexpr u64 few_outputs = 1u << 23;
        constexpr u32 too_much = (1u << 26) - 1;
        const u32 lane = lane_id(), warp = threadIdx.x / 32;

        at.cost[warp] = too_much << 5;
        if (blockDim.x != threads || !conv.is_small() ||
            conv.h_out * conv.w_out >= 1ull << 30)
            return;
        Conv v = conv.transposed ? largest_part(conv) : conv;
        const u64 taps64 = v.w.kh * v.w.kw;
        const bool patches = are_patches(v, x, w);

        if (taps64 > most_taps && !patches)
            return;
        const u32 taps = (u32)taps64, plane = (u32)v.h_out * (u32)v.w_out;
        const u32 kw = (u32)v.w.kw, dilation = (u32)v.dilation;
        const u32 log_m = log_least_m + warp;
        const u32 log_splits = lane % 4 + (log_m == log_least_m ? 2 : 0);
        const u32 log_blocks = lane / 4 % 4;
        const u32 log_wide = log_splits + log_blocks; /* if direct */
        const bool by_rows = lane / 16 != 0;
        const u32 n = 1u << (log_outputs - log_m - log_splits);
        const u64 positions = v.x.b * plane;
        const u64 images = min_of((u32)v.x.b, n / max_of(plane, 1u) + 2);
        const u64 reach = images * v.x.sb + v.x.c * v.x.sc +
                          (v.x.h + 2 * v.padding) * v.x.sh +
                          (v.x.w + 2 * v.padding) * v.x.sw +
                          v.dilation * (v.w.kh * v.x.sh + v.w.kw * v.x.sw);

        if (v.x.c * taps < least_terms ||
            (sizeof(T) == 4 && v.x.c * 2 < row_channels && !patches &&
             positions * v.w.outputs >= few_outputs) ||
            positions >= 1ull << 30 ||
            (v.w.so * sizeof(T) << log_most_m) >= 1ull << 31 ||
            positions * v.w.outputs >= 1ull << 40 ||
            v.x.b * v.w.outputs >= 1ull << 31 ||
            (!v.transposed &&
             ((kw != 1 && v.w.sw != 1) || (v.w.kh != 1 && v.w.sh != kw) ||
              (v.x.c != 1 && v.w.sc != taps))))
            return;

        if (taps == 1 && v.padding == 0 &&
            !v.transposed) { /* inputs between are skipped */
            v.x.sh *= v.flat ? 1 : v.stride;
            v.x.sw *= v.stride;
            v.x.h = v.h_out;
            v.x.w = v.w_out;
            v.stride = 1;
        }
        const u32 across = v.w_out == 1 ? 1 : (u32)v.stride;
        const u32 down = v.h_out == 1 ? 1 : (u32)v.stride;
        const u64 wide = (v.w_out - 1) * across + (u64)(kw - 1) * dilation + 1;
        const u64 high =
            v.flat ? 1 : (v.h_out - 1) * down + (v.w.kh - 1) * v.dilation + 1;

        if (wide >= 1ull << 31 || high >= 1ull << 31 ||
            wide * high >= 1ull << 31 || wide * high * v.x.b >= 1ull << 31)
            return;

        const u32 width = (u32)wide, height = (u32)high;
        const u32 b = (u32)v.x.b, c = (u32)v.x.c;
        const u32 w_out = (u32)v.w_out, h_out = (u32)v.h_out;
        const u32 tall = ((u32)v.w.kh - 1) * (v.flat ? 0 : dilation);
        const u32 halo = tall * width + (kw - 1) * dilation;
        const u32 rows = min_of((n - 1 + w_out - 1) / w_out, b * h_out - 1);
        const u32 turns = min_of((n - 1 + plane - 1) / plane, b - 1);
        const u32 per_row = down * width, per_image = h_out * down;
        const u64 segment = (u64)(n - 1) * across + (kw - 1) * dilation + 1;
        const u64 most =
            by_rows
                ? (u32)v.w.kh * segment
                : (u64)(n - 1) * across + 1 +
                      (u64)rows * (per_row - min_of(per_row, w_out * across)) +
                      (u64)turns * (height - min_of(height, per_image)) *
                          width +
                      halo;
        const u32 entries = (u32)min_of<u64>(most, most_entries + 1);
        const u32 step_nbytes = (32u << log_m) + 16;
        const u32 each = step_nbytes << log_blocks;
        const u32 kernel_at = entries * 32 << log_blocks;
        const u32 places_nbytes = div_up(entries, 4u) * 16;
        const u32 tiles_o = div_up((u32)v.w.outputs, 1u << log_m);
        const u32 parts = by_rows ? div_up(w_out, n) : 0;
        const u64 part_tiles =
            (u64)(by_rows ? b * h_out * parts : div_up((u32)positions, n)) *
            tiles_o;
        const u64 tiles =
            part_tiles * conv.remainders_h() * conv.remainders_w();
        const bool fits = entries <= most_entries && log_blocks < 3 &&
                          reach * sizeof(T) < 1ull << 31 &&
                          kernel_at + places_nbytes + each <= room &&
                          tiles < 1ull << 31;
        const u32 taps_once =
            fits ? min_of((room - kernel_at - places_nbytes) / each, taps) : 0;
        const u32 places_at = kernel_at + taps_once * each;

        /* direct: copies rows of positions unchanged, for kernels of one
         * element */
        constexpr u32 pad_nbytes = sizeof(T) == 2 ? 16 : 32;
        const u64 steps_of_x = (v.x.b > 1 ? v.x.sb : 0) | v.x.sc | plane;
        const u32 grain =
            patches ? patch_grain(v, x)
                    : low_bit((u32)(u64)x | (u32)(steps_of_x * sizeof(T)) | 16);
        const u32 terms = patches ? c * taps : c;
        const u32 kernel_nbytes = step_nbytes << log_wide;
        const u32 pitch = n * (u32)sizeof(T) + pad_nbytes;
        const u32 patches_pitch = n * 32 + 16;
        const u32 stage_nbytes =
            kernel_nbytes +
            ((patches ? patches_pitch : row_channels * pitch) << log_wide);
        const u32 ring_at =
            room > lds_nbytes ? part_nbytes(log_m, log_splits) : 0;
        const u32 ring_stages =
            min_of((room - ring_at) / stage_nbytes, most_ring);
        const bool lines = taps == 1 && !v.transposed && is_aligned(w, 16) &&
                           c * sizeof(T) % 16 == 0 &&
                           (v.w.outputs == 1 || v.w.so * sizeof(T) % 16 == 0);
        const bool direct =
            patches || (room > lds_nbytes && lines && v.padding == 0 &&
                        grain >= 4 && (v.x.w == 1 || v.x.sw == 1) &&
                        (v.x.h == 1 || v.x.sh == v.x.w * v.x.sw));
        u32 multiprocessors, least;

        asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
        multiprocessors = min_of(multiprocessors, (u32)gridDim.x);
        {
            /* in cycles, measured on an H200; each stage costs time beside its
             * products, so few large stages are faster */
            const bool roomy = room > lds_nbytes;
            const u32 step =
                sizeof(T) == 2 ? (roomy ? 540 : 600) : (roomy ? 1900 : 1500);
            const u32 once = row_channels << (direct ? log_wide : log_blocks);
            const u32 stages = div_up(direct ? terms : c, once);
            const u32 steps = div_up(
                (direct ? 1 : taps) * (once / row_channels), 1u << log_splits);
            const u32 slab = entries << log_blocks;
            const u32 kernel = (taps << (log_m + log_blocks)) / (lines ? 4 : 1);
            const u32 stage =
                direct  ? max_of(steps * step, stage_nbytes / 32) + 3200
                : roomy ? steps * step + slab + kernel * 3 + 3200
                        : steps * step + slab + kernel +
                              (taps_once < taps ? 3 : 1) * 1500;
            const u32 beside = direct ? 6400 : roomy ? 10500 : 2000;
            const u64 cost = (u64)div_up((u32)tiles, multiprocessors) *
                             ((u64)stages * stage + beside + (n << log_m) / 10);
            const bool possible =
                direct ? !by_rows && ring_stages >= 2 && tiles < 1ull << 31 &&
                             reach * sizeof(T) < 1ull << 31
                       : fits && taps <= most_taps &&
                             (log_blocks == 0 || taps_once == taps);

            least = possible && log_blocks < 3 &&
                            (log_blocks == 0 || (direct ? terms : c) > once / 2)
                        ? (u32)min_of<u64>(cost >> 6, too_much)
                        : too_much;
            least = least << 5 | lane;
        }
        u32 best = least;

        UNROLL
        for (u32 i = 1; i < 32; i *= 2)
            best = min_of(best, __shfl_xor_sync(0xffffffffu, best, i));
        at.cost[warp] = best;
        asm volatile("bar.sync 1, %0;" ::"n"(planners) : "memory");
        const u32 best_lane = best % 32;

        best >>= 5;
        if (best == too_much || !is_first(at, warp, best))
            return;
        if (lane != best_lane)
            return;
        at.v = v;
        at.whole = conv;
        at.ah = v.template axis_h<i32>(0);
        at.aw = v.template axis_w<i32>(0);
        at.pad_w = (u32)v.padding;
        at.pad_h = v.flat ? 0 : at.pad_w;
        at.part_tiles = (u32)part_tiles;
        at.down_a_row = by_rows ? (u32)segment : width * dilation;
        at.log_m = log_m;
        at.log_splits = log_splits;
        at.log_blocks = direct ? log_wide : log_blocks;
        at.width = width;
        at.height = height;
        at.across = across;
        at.down = down;
        at.entries = entries;
        at.halo = halo;
        at.parts = parts;
        at.segment = (u32)segment;
        at.most_taps = taps;
        at.taps = taps;
        at.taps_once = taps_once;
        at.places_at = places_at;
        at.kernel_at = kernel_at;
        at.count = (u32)positions;
        at.tiles_o = tiles_o;
        at.tiles = (u32)tiles;
        at.by_plane = to_divide_by(plane);
        at.by_w_out = to_divide_by(w_out);
        at.by_h_out = to_divide_by(h_out);
        at.by_width = to_divide_by(width);
        at.by_height = to_divide_by(height);
        at.by_segment = to_divide_by((u32)min_of<u64>(segment, 1u << 20));
        at.x = x;
        at.w = w;
        at.y = y;
        at.lines = lines;
        at.direct = direct;
        at.log_grain = log2_of(grain);
        at.patches = patches;
        at.terms = terms;
        at.log_kernel_grain = patches ? log2_of(kernel_grain(v, w)) : 4;
        at.ring_at = ring_at;
        at.ring_stages = ring_stages;
        at.stage_nbytes = stage_nbytes;
        at.pitch = patches ? patches_pitch : pitch;
    }
    /* whether one of the planners found a way: once all threads are here */
    static DEV_MEMBER bool takes(const Shape &at)
    {
        return blockDim.x == threads &&
               min_of(min_of(at.cost[0], at.cost[1]), at.cost[2]) >> 5 !=
                   (1u << 26) - 1;
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
    static DEV_MEMBER u32 low_bit(u32 v)
    {
        return v & (0 - v);
    }
    /* the remainder whose outputs take tap 0, and so the most taps */
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
    /* bytes of a row of a window that lie side by side, in all windows */
    static DEV_MEMBER u32 patch_grain(const Conv &v, const T *x)
    {
        const u64 steps = v.w.kw | (v.w_out > 1 ? v.stride : 0) |
                          (v.h_out > 1 ? v.stride * v.x.sh : 0) |
                          (v.w.kh > 1 ? v.dilation * v.x.sh : 0) |
                          (v.x.c > 1 ? v.x.sc : 0) | (v.x.b > 1 ? v.x.sb : 0);

        return low_bit((u32)(u64)x | (u32)(steps * sizeof(T)) | 16);
    }
    /* the same of the kernel's rows */
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
