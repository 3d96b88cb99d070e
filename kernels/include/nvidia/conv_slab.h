/*
 * conv_slab.h - plain convolutions of f16, bf16 and f32 on sm_80 and later
 *
 * y[o, p] = sum over k of w[o, k] x[p, k]: a product of matrices. A block makes
 * tiles of 64 channels by 64 to 512 positions, positions counted over images,
 * rows and columns. It takes a row of 32 bytes of input channels at a time, or
 * two or four, and brings to LDS
 *
 *   the slab     all inputs under the tile with these channels, each read once:
 *                an entry for each place of the padded images from the first
 *                that a position reads to the last, its channels side by side
 *   the kernel   for each tap 64 such rows, one for each output channel; if not
 *                all taps fit, some at a time
 *
 * A tap moves all positions by the same number of entries, so the rows that
 * ldmatrix takes are the positions' entries, and no input is copied for a tap.
 * Where rows of outputs are too long for that, a tile is a part of one row, and
 * the slab as wide a part of each row of inputs that a tap reads.
 *
 * A warp makes 32 channels by 32 positions. Where tiles are few they are
 * narrower, and groups of warps share the taps of a tile: see plan().
 *
 * Zeros for padding are the same as dropped terms unless a kernel element is
 * infinite or NaN. Then the sum is NaN: such outputs are computed again, term
 * by term. So are all sums of f32 that are NaN, as SlabOp says.
 */
#pragma once

#include "conv/tile.h"
#include "matrix/unit.h"
#include "nvidia/matrix_copy.h"

/* 16 output channels by 16 positions, of each a row of 32 bytes of input
 * channels in LDS. */
template <typename T> struct SlabOp {
    struct Positions {
        u32 v[4];

        DEV_MEMBER explicit Positions(u32 lds)
        {
            load_matrices(v, lds);
        }
    };
    static DEV_MEMBER void multiply(f32 (&sums)[2][4], u32 lds,
                                    const Positions &b)
    {
        u32 a[4];

        load_matrices(a, lds);
        UNROLL
        for (u32 j = 0; j < 2; j++)
            MmaOp<T>::call(sums[j], a, b.v[j * 2], b.v[j * 2 + 1]);
    }
};

/*
 * f32 as the sum of two numbers of 11 bits, by tf32's instructions. The product
 * of the two lower ones, at most 2^-22 of the whole, is left out, and so are
 * the last bits of the lower ones. What is infinite becomes NaN. The matrix
 * units cut sums off: they add up 8 channels, and the rest is added with
 * rounding, or thousands of terms would all be too small.
 */
DEV void mma_tf32(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <> struct SlabOp<f32> {
    struct Split {
        u32 high[4], low[4];

        DEV_MEMBER explicit Split(u32 lds)
        {
            load_matrices(low, lds);
            UNROLL
            for (u32 i = 0; i < 4; i++) {
                high[i] = (low[i] + 0x1000) & 0xffffe000u;
                low[i] =
                    bits_as<u32>(bits_as<f32>(low[i]) - bits_as<f32>(high[i]));
            }
        }
    };
    typedef Split Positions;
    static DEV_MEMBER void multiply(f32 (&sums)[2][4], u32 lds,
                                    const Positions &b)
    {
        const Split a(lds);

        UNROLL
        for (u32 j = 0; j < 2; j++) {
            const u32 at = j * 2;
            f32 part[4] = {};

            mma_tf32(part, a.low, b.high[at], b.high[at + 1]);
            mma_tf32(part, a.high, b.low[at], b.low[at + 1]);
            mma_tf32(part, a.high, b.high[at], b.high[at + 1]);
            UNROLL
            for (u32 k = 0; k < 4; k++)
                sums[j][k] += part[k];
        }
    }
};

template <u32 Size> struct BitsOf {
    typedef u16 type;
};
template <> struct BitsOf<4> {
    typedef u32 type;
};

template <typename T> struct ConvSlab {
    static constexpr u32 row_channels = 32 / sizeof(T); /* of a row in LDS */
    static constexpr u32 n16 = per16<T>::value;
    typedef typename SlabOp<T>::Positions Positions;
    typedef typename BitsOf<sizeof(T)>::type Bits;
    static constexpr u32 threads = 1024;
    static constexpr u32 M = 64, most_positions = 512, most_taps = 64;
    static constexpr u32 most_entries = 4096;
    static constexpr u32 step_nbytes = M * 32 + 16; /* one tap's rows */
    static constexpr u32 lds_nbytes = slab_bytes;
    static constexpr u32 nothing = ~0u; /* in `places`: the padding */

    /* What is the same for all threads; in LDS, the first warp fills it in. */
    struct Shape {
        Conv v;
        u32 log_splits;    /* groups of warps that share a tile's taps */
        u32 log_blocks;    /* of rows of channels at a time */
        u32 width, height; /* of the padded images, as far as they are read */
        u32 across, down;  /* entries and rows from position to position */
        u32 entries;       /* of a slab, at most */
        u32 halo;          /* entries from a position's first tap to its last */
        /* if not 0, a tile is a part of a row of outputs, one of so many, and
         * its slab `segment` entries of each row that a tap reads */
        u32 parts, segment;
        u32 taps, taps_once;      /* once: as many as LDS has room for */
        u32 places_at, kernel_at; /* bytes into LDS, behind the slab */
        u32 count;                /* of positions */
        u32 tiles_o, tiles;
        u32 tap_offset[most_taps]; /* bytes */
        const T *x, *w;
        T *y;
        /* the tile: its first channel and position, the end of its positions,
         * its first image, the entry of its first position or its column */
        u32 o0, p0, end, image, first;
        u32 odd; /* one of its sums is NaN */

        DEV_MEMBER u32 positions() const
        {
            return most_positions >> log_splits;
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

    Shape &at;
    u8 *lds;

    /*
     * Whether offsets fit, and LDS has room; for all lanes of a warp to ask. If
     * so, fills `at` in. Each lane looks at another tile: 512 positions or a
     * half, a quarter, an eighth of them, by one, two or four rows of channels,
     * of any outputs or by rows of them.
     */
    static DEV_MEMBER bool plan(const Conv &conv, const T *x, const T *w, T *y,
                                Shape &at)
    {
        constexpr u64 least_terms = 16;
        const u32 lane = lane_id();
        Conv v = conv;
        const u64 taps64 = v.w.kh * v.w.kw;

        if (blockDim.x != threads || !v.is_small() || taps64 > most_taps ||
            v.h_out * v.w_out >= 1ull << 30)
            return false;
        const u32 taps = (u32)taps64, plane = (u32)v.h_out * (u32)v.w_out;
        const u32 kw = (u32)v.w.kw, dilation = (u32)v.dilation;
        const u64 positions = v.x.b * plane;
        const u64 images =
            min_of((u32)v.x.b, most_positions / max_of(plane, 1u) + 2);
        const u64 reach = images * v.x.sb + v.x.c * v.x.sc +
                          (v.x.h + 2 * v.padding) * v.x.sh +
                          (v.x.w + 2 * v.padding) * v.x.sw +
                          v.dilation * (v.w.kh * v.x.sh + v.w.kw * v.x.sw);

        if (v.x.c * taps < least_terms || positions >= 1ull << 30 ||
            reach * sizeof(T) >= 1ull << 31 ||
            v.w.so * M * sizeof(T) >= 1ull << 31 ||
            positions * v.w.outputs >= 1ull << 40 ||
            v.x.b * v.w.outputs >= 1ull << 31 || (kw != 1 && v.w.sw != 1) ||
            (v.w.kh != 1 && v.w.sh != kw) || (v.x.c != 1 && v.w.sc != taps))
            return false;
        if (taps == 1 && v.padding == 0) { /* what lies between is not read */
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
            return false;

        const u32 width = (u32)wide, height = (u32)high;
        const u32 b = (u32)v.x.b, c = (u32)v.x.c;
        const u32 w_out = (u32)v.w_out, h_out = (u32)v.h_out;
        const u32 halo = ((u32)v.w.kh - 1) * (v.flat ? 0 : dilation) * width +
                         (kw - 1) * dilation;
        const u32 log_splits = lane % 4, log_blocks = lane / 4 % 4;
        const bool by_rows = lane / 16 != 0;
        const u32 n = most_positions >> log_splits;
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
        const u32 each = step_nbytes << log_blocks;
        const u32 places_at = entries * 32 << log_blocks;
        const u32 kernel_at = places_at + div_up(entries, 4u) * 16;
        const u32 tiles_o = div_up((u32)v.w.outputs, M);
        const u32 parts = by_rows ? div_up(w_out, n) : 0;
        const u64 tiles =
            (u64)(by_rows ? b * h_out * parts : div_up((u32)positions, n)) *
            tiles_o;
        const bool fits = entries <= most_entries && log_blocks < 3 &&
                          kernel_at + each <= lds_nbytes && tiles < 1ull << 31;
        const u32 taps_once =
            fits ? min_of((lds_nbytes - kernel_at) / each, taps) : 0;
        u32 multiprocessors, least;

        asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
        multiprocessors = min_of(multiprocessors, (u32)gridDim.x);
        {
            /* in cycles, as found on an H200 */
            constexpr u32 step = sizeof(T) == 2 ? 600 : 1500, wait = 1500;
            const u32 stages = div_up(c, row_channels << log_blocks);
            const u32 steps = div_up(taps << log_blocks, 1u << log_splits);
            const u32 stage = steps * step +
                              ((entries + taps * 64) << log_blocks) +
                              (taps_once < taps ? 3 : 1) * wait;
            const u64 cost = (u64)div_up((u32)tiles, multiprocessors) *
                             ((u64)stages * stage + 2000 + 8 * n);

            least = fits && (log_blocks == 0 ||
                             (taps_once == taps && c > row_channels / 2
                                                           << log_blocks))
                        ? (u32)min_of<u64>(cost >> 6, (1u << 26) - 1)
                        : (1u << 26) - 1;
            least = least << 5 | lane;
        }
        u32 best = least;

        UNROLL
        for (u32 i = 1; i < 32; i *= 2)
            best = min_of(best, __shfl_xor_sync(0xffffffffu, best, i));
        if (best >> 5 == (1u << 26) - 1)
            return false;
        for (u32 t = lane; t < taps; t += 32) {
            const u32 row = t / kw, column = (t - row * kw) * dilation;
            const u32 best_lane = best % 32;
            const u32 down_a_row =
                best_lane < 16
                    ? width * dilation
                    : ((most_positions >> best_lane % 4) - 1) * across +
                          (kw - 1) * dilation + 1;

            at.tap_offset[t] = ((row * down_a_row + column) * 32)
                               << best_lane / 4 % 4;
        }
        if (least == best) {
            at.v = v;
            at.log_splits = log_splits;
            at.log_blocks = log_blocks;
            at.width = width;
            at.height = height;
            at.across = across;
            at.down = down;
            at.entries = entries;
            at.halo = halo;
            at.parts = parts;
            at.segment = (u32)segment;
            at.taps = taps;
            at.taps_once = taps_once;
            at.places_at = places_at;
            at.kernel_at = kernel_at;
            at.count = (u32)positions;
            at.tiles_o = tiles_o;
            at.tiles = (u32)tiles;
            at.x = x;
            at.w = w;
            at.y = y;
        }
        return true;
    }

    /* 16 bytes are moved so that 8 entries in a row lie in different banks */
    DEV_MEMBER u32 swizzled(u32 at_byte) const
    {
        return at_byte ^ (at_byte >> 3 & ((32u << at.log_blocks) - 16));
    }

    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        NO_UNROLL
        for (u32 tile = blocks.block; tile < at.tiles; tile += blocks.nblocks) {
            if (threadIdx.x == 0) {
                const u32 turn = tile / at.tiles_o;

                at.o0 = (tile - turn * at.tiles_o) * M;
                at.odd = 0;
                begin(turn);
            }
            __syncthreads();
            one_tile();
        }
    }
    /* the positions of a tile, for one thread */
    DEV_MEMBER void begin(u32 turn) const
    {
        if (at.parts == 0) {
            at.p0 = turn * at.positions();
            at.end = min_of(at.p0 + at.positions(), at.count);
            at.first = at.entry_of(at.p0);
            at.image = at.first / (at.width * at.height);
        } else {
            const u32 w_out = (u32)at.v.w_out, row = turn / at.parts;
            const u32 column = (turn - row * at.parts) * at.positions();

            at.p0 = row * w_out + column;
            at.end = row * w_out + min_of(column + at.positions(), w_out);
            at.first = column * at.across;
            at.image = row / (u32)at.v.h_out;
        }
    }
    /* this warp's place in the tile */
    DEV_MEMBER u32 row() const
    {
        return threadIdx.x / 32 % 2 * 32;
    }
    DEV_MEMBER u32 col() const
    {
        return threadIdx.x / 64 % (16 >> at.log_splits) * 32;
    }
    DEV_MEMBER u32 split() const
    {
        return threadIdx.x / 64 >> (4 - at.log_splits);
    }

    DEV_MEMBER void one_tile() const
    {
        u32 slab_lds[2];
        f32 sums[2][2][2][4] = {};

        list_places();
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const u32 l = threadIdx.x % 32;
            const u32 p = at.p0 + col() + i * 16 + l % 8 + l / 16 * 8;

            slab_lds[i] = p >= at.end     ? 0
                          : at.parts == 0 ? at.entry_of(p) - at.first
                                          : (p - at.p0) * at.across;
            slab_lds[i] = (slab_lds[i] * 32 << at.log_blocks) + l / 8 % 2 * 16;
        }
        __syncthreads();
        NO_UNROLL
        for (u32 c0 = 0; c0 < (u32)at.v.x.c;
             c0 += row_channels << at.log_blocks) {
            load_slab(c0);
            forget_memory();
            NO_UNROLL
            for (u32 t0 = 0; t0 < at.taps; t0 += at.taps_once) {
                load_kernel(c0, t0);
                __syncthreads();
                forget_memory();
                if (at.log_blocks == 0)
                    multiply<0>(sums, slab_lds, t0);
                else if (at.log_blocks == 1)
                    multiply<1>(sums, slab_lds, t0);
                else
                    multiply<2>(sums, slab_lds, t0);
                forget_memory();
                __syncthreads();
            }
        }
        forget_memory();
        store(sums);
        if (at.odd && (sizeof(T) == 4 || at.v.padding != 0))
            again();
        __syncthreads();
    }

    /* where each entry's input lies: bytes from that of the tile's first image
     */
    DEV_MEMBER void list_places() const
    {
        u32 *const places = reinterpret_cast<u32 *>(lds + at.places_at);
        const u32 pad = (u32)at.v.padding, pad_h = at.v.flat ? 0 : pad;
        const u32 n = at.parts == 0
                          ? at.entry_of(at.end - 1) + at.halo - at.first + 1
                          : at.entries;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < at.entries; i += threads) {
            u32 image = at.image, h, c;

            if (at.parts == 0) {
                const u32 row = (at.first + i) / at.width;

                image = row / at.height;
                h = row - image * at.height;
                c = at.first + i - row * at.width;
            } else {
                const u32 row = i / at.segment;

                h = (at.p0 / (u32)at.v.w_out - image * (u32)at.v.h_out) *
                        at.down +
                    row * (u32)at.v.dilation;
                c = at.first + i - row * at.segment;
            }
            h -= pad_h;
            c -= pad;
            places[i] = i < n && h < (u32)at.v.x.h && c < (u32)at.v.x.w
                            ? ((image - at.image) * (u32)at.v.x.sb +
                               h * (u32)at.v.x.sh + c * (u32)at.v.x.sw) *
                                  (u32)sizeof(T)
                            : nothing;
        }
    }

    DEV_MEMBER void load_slab(u32 c0) const
    {
        const u32 *const places =
            reinterpret_cast<const u32 *>(lds + at.places_at);
        const u32 log_pieces = 1 + at.log_blocks;
        const u32 warp = threadIdx.x / 32;
        const u32 piece = warp & ((1u << log_pieces) - 1);
        const u32 c = c0 + piece * n16,
                  left = (u32)at.v.x.c - min_of(c, (u32)at.v.x.c);
        const u8 *const from = reinterpret_cast<const u8 *>(
            at.x + at.image * at.v.x.sb + c * at.v.x.sc);
        const u64 channel = at.v.x.sc * sizeof(T);

        NO_UNROLL
        for (u32 e = (warp >> log_pieces) * 32 + threadIdx.x % 32;
             e < at.entries; e += threads >> log_pieces) {
            const u32 place = places[e], there = place != nothing ? left : 0;
            const u8 *it = from + place;
            Pack<Bits, n16> in;

            UNROLL
            for (u32 i = 0; i < n16; i++) {
                in[i] = i < there ? *reinterpret_cast<const Bits *>(it) : 0;
                it += channel;
            }
            store_pack(
                reinterpret_cast<Bits *>(
                    lds + swizzled((e * 32 << at.log_blocks) + piece * 16)),
                in);
        }
    }

    /* the kernel's taps t0 and so on, 4 bytes a lane: one channel or two */
    DEV_MEMBER void load_kernel(u32 c0, u32 t0) const
    {
        constexpr u32 batch = 2, log_pair = sizeof(T) == 2 ? 1 : 0;
        const u32 n = min_of(at.taps_once, at.taps - t0);
        const Divisor by_taps(n);
        const u32 log_words = 3 + at.log_blocks;
        const u32 all = (M << log_words) * n;
        const Bits *const from =
            reinterpret_cast<const Bits *>(at.w + at.o0 * at.v.w.so) +
            (u64)c0 * at.taps + t0;
        const u32 left_o = (u32)at.v.w.outputs - at.o0;
        const u32 left_c = (u32)at.v.x.c - c0;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < all; i += threads * batch) {
            u32 in[batch], to[batch];

            UNROLL
            for (u32 k = 0; k < batch; k++) {
                const u32 e = i + k * threads, line = by_taps.divide(e);
                const u32 o = line >> log_words, t = e - line * n;
                const u32 word = line & ((1u << log_words) - 1);
                const u32 c = word << log_pair;
                const Bits *const it =
                    from + (o * (u32)at.v.w.so + c * at.taps + t);
                const bool exists = e < all && o < left_o;

                to[k] = ((t << at.log_blocks) + word / 8) * step_nbytes +
                        o * 32 + (word / 4 % 2 ^ (o >> 2 & 1)) * 16 +
                        word % 4 * 4;
                in[k] = exists && c < left_c ? *it : 0;
                if (sizeof(T) == 2 && exists && c + 1 < left_c)
                    in[k] |= (u32)it[at.taps] << 16;
            }
            UNROLL
            for (u32 k = 0; k < batch; k++)
                if (i + k * threads < all)
                    *reinterpret_cast<u32 *>(lds + at.kernel_at + to[k]) =
                        in[k];
        }
    }

    template <u32 LogBlocks>
    DEV_MEMBER void multiply(f32 (&sums)[2][2][2][4], const u32 (&slab_lds)[2],
                             u32 t0) const
    {
        constexpr u32 mask = (32u << LogBlocks) - 16;
        const u32 l = threadIdx.x % 32, line = row() + l % 16, piece = l / 16;
        const u32 base = (u32)__cvta_generic_to_shared(lds);
        const u32 each = step_nbytes << at.log_splits;
        const u32 end =
            at.kernel_at +
            (min_of(at.taps_once, at.taps - t0) << LogBlocks) * step_nbytes;
        u32 s = split();

        NO_UNROLL
        for (u32 from = at.kernel_at + s * step_nbytes; from < end;
             from += each) {
            const u32 by = at.tap_offset[t0 + (s >> LogBlocks)] +
                           (s & ((1u << LogBlocks) - 1)) * 32;
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const u32 e = slab_lds[j] + by;
                const Positions b(base + (e ^ (e >> 3 & mask)));

                UNROLL
                for (u32 i = 0; i < 2; i++)
                    SlabOp<T>::multiply(sums[i][j],
                                        base + from + line * 32 +
                                            (piece ^ (line >> 2 & 1)) * 16 +
                                            i * 512,
                                        b);
            }
            s += 1u << at.log_splits;
        }
    }

    /* The sums of all groups, 16 channels of the tile at a time by way of LDS.
     */
    DEV_MEMBER void store(const f32 (&sums)[2][2][2][4]) const
    {
        const u32 l = threadIdx.x % 32;
        const u32 n = at.positions(), pitch = n + 8;
        f32 *const part = reinterpret_cast<f32 *>(lds);
        const u32 plane = (u32)(at.v.h_out * at.v.w_out);
        const bool fours = (at.parts == 0 ? plane : (u32)at.v.w_out) % 4 == 0 &&
                           is_aligned(at.y, 4 * sizeof(T));

        UNROLL
        for (u32 r = 0; r < 4; r++) {
            UNROLL
            for (u32 j = 0; j < 4; j++)
                store_pack(
                    part + (split() * 16 + row() / 4 + l / 4) * pitch + col() +
                        j * 8 + l % 4 * 2,
                    Pack<f32, 2>{{sums[r / 2][j / 2][j % 2][r % 2 * 2],
                                  sums[r / 2][j / 2][j % 2][r % 2 * 2 + 1]}});
            __syncthreads();
            if (fours)
                store_rows<4>(part, r * 8, plane, pitch);
            else
                store_rows<1>(part, r * 8, plane, pitch);
            __syncthreads();
        }
    }
    /* 16 rows: 8 channels of the tile from row0 on, and 8 of the 32 further on
     */
    template <u32 V>
    DEV_MEMBER void store_rows(const f32 *part, u32 row0, u32 plane,
                               u32 pitch) const
    {
        const u32 log_n = 9 - at.log_splits;
        const u32 outputs = (u32)at.v.w.outputs;

        NO_UNROLL
        for (u32 i = threadIdx.x * V; i < 16u << log_n; i += threads * V) {
            const u32 r = i >> log_n, col = i & ((1u << log_n) - 1);
            const u32 o = at.o0 + row0 + r % 8 + r / 8 * 32, p = at.p0 + col;
            Pack<f32, V> sum = load_pack<V>(part + r * pitch + col);
            Pack<T, V> out;
            bool odd = false;

            if (o >= outputs || p >= at.end)
                continue;
            NO_UNROLL
            for (u32 s = 1; s < 1u << at.log_splits; s++) {
                const Pack<f32, V> more =
                    load_pack<V>(part + (s * 16 + r) * pitch + col);

                UNROLL
                for (u32 k = 0; k < V; k++)
                    sum[k] += more[k];
            }
            UNROLL
            for (u32 k = 0; k < V; k++) {
                out[k] = convert<T>(sum[k]);
                odd = odd || sum[k] != sum[k];
            }
            const u32 image = p / plane, place = p - image * plane;
            T *const to = at.y + ((u64)image * outputs + o) * plane + place;

            store_pack<V>(to, out);
            if (odd)
                at.odd = 1;
        }
    }
    /* the tile's NaN, term by term, once all is stored and registers are free
     */
    DEV_MEMBER void again() const
    {
        const u32 plane = (u32)(at.v.h_out * at.v.w_out);
        const u32 across = (u32)at.v.w_out, outputs = (u32)at.v.w.outputs;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < M * at.positions(); i += threads) {
            const u32 o = at.o0 + i / at.positions();
            const u32 p = at.p0 + i % at.positions();
            const u32 image = p / plane, place = p - image * plane;

            if (o >= outputs || p >= at.end)
                continue;
            T *const to = at.y + ((u64)image * outputs + o) * plane + place;
            const f32 now = convert<f32>(*to);

            if (now != now)
                *to =
                    conv_point(at.v, at.v.template axis_h<i32>(0),
                               at.v.template axis_w<i32>(0), at.x, at.w, image,
                               o, (i32)(place / across), (i32)(place % across));
        }
    }
};
