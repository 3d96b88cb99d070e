/*
 * implicit_gemm.h - plain convolutions by matrix instructions
 *
 * y[o, p] = sum over k of w[o, k] x[p, k]: a product of matrices, where k
 * counts channels and taps as they lie in the kernel, and p images, rows and
 * columns of outputs. A block makes tiles of 64 channels by 256 positions with
 * the units of matrix_unit.h, along k in steps of 128 bytes. The kernel is
 * loaded like gemm's operands. A lane loads the image elements of its positions
 * for a few k; neighbouring lanes have neighbouring positions. An element
 * outside the image gets an offset behind the end of x: AMD's buffers give
 * zeros there.
 *
 * Zeros for padding are the same as dropped terms unless a kernel element is
 * infinite or NaN. Then the sum is NaN: such outputs are computed again, term
 * by term. gfx90a takes subnormal f16 and bf16 as zeros.
 */
#pragma once

#include "conv/image_tile.h"
#if !KPK_NVIDIA
#include "matrix/gemm_tile.h"
#endif

/* NVIDIA's targets use conv_slab.h instead. */
#if KPK_NVIDIA
#define KPK_CONV_MATRIX 0
#elif __has_builtin(__builtin_amdgcn_make_buffer_rsrc) && (KPK_MFMA || KPK_WMMA)
#define KPK_CONV_MATRIX 1
#else
#define KPK_CONV_MATRIX 0
#endif

#if KPK_CONV_MATRIX

constexpr u32 buffer_end = 0x80000000u;

/* A buffer whose reads at or behind offset 2^31 - 1 give zero. */
typedef __amdgpu_buffer_rsrc_t ImageBuffer;

DEV ImageBuffer image_buffer(const void *base)
{
#if KPK_TARGET_MAJOR == 9
    constexpr int format = 0x00020000; /* 32 bits, no swizzling */
#elif KPK_TARGET_MAJOR == 10
    constexpr int format = 0x31014000;
#else
    constexpr int format = 0x31004000;
#endif
    return __builtin_amdgcn_make_buffer_rsrc(const_cast<void *>(base), 0,
                                             (int)(buffer_end - 1), format);
}

template <typename T>
DEV T load_buffer(ImageBuffer image, u32 offset, u32 uniform_offset)
{
    if constexpr (sizeof(T) == 2)
        return bits_as<T>(__builtin_amdgcn_raw_buffer_load_b16(
            image, (int)offset, (int)uniform_offset, 0));
    else
        return bits_as<T>(__builtin_amdgcn_raw_buffer_load_b32(
            image, (int)offset, (int)uniform_offset, 0));
}

DEV u32 lane_value(u32 v, u32 lane)
{
    return (u32)__builtin_amdgcn_readlane((int)v, (int)lane);
}

DEV u64 uniform64(u64 v)
{
    return uniform((u32)v) | (u64)uniform((u32)(v >> 32)) << 32;
}

/* p / plane for a p below plane + N. Most images need no division. */
template <u32 N> DEV u32 images_before(u32 p, u32 plane)
{
    return plane >= N ? p >= plane : p / plane;
}

/*
 * Copies the image to LDS as rows of 128 bytes along K, one for each of N
 * positions. Each lane copies one piece of the rows of two positions.
 */
template <typename T, u32 N, u32 Threads> struct ImageOperand {
    static constexpr u32 n16 = per16<T>::value;
    static constexpr u32 sets = 2;         /* of positions */
    static constexpr u32 none = 31;        /* a tap that no position has */
    static constexpr u32 most_taps = none; /* of padded images */
    static_assert(N * step_pieces == sets * Threads, "all pieces of a step");

    ImageBuffer image;
    u32 c_offset, h_offset, w_offset; /* bytes from channel to channel... */
    u32 taps, kw, terms;
    u32 per_taps, per_kw; /* 2^32 divided by taps, and by kw */
    u32 position[sets];   /* in the tile */
    /* outside: bit 31 - t is set if tap t is outside the image. More taps than
     * bits occur only without padding, where all are inside. */
    u32 offset[sets], outside[sets];
    T in[sets][n16];

    /* positions from `first` on, of `count` in all */
    DEV_MEMBER ImageOperand(const Conv &v, const T *x, u32 first, u32 count)
    {
        const u32 wave = uniform(threadIdx.x / matrix_wave);
        const u32 across = uniform((u32)v.w_out);
        const u32 plane = uniform((u32)v.h_out) * across;
        const u32 stride = uniform((u32)v.stride),
                  pad = uniform((u32)v.padding);
        const u32 pad_h = uniform(v.flat ? 0 : pad);
        const u32 dilation = uniform((u32)v.dilation);
        const u32 kh = uniform((u32)v.w.kh);
        const u32 sh = uniform((u32)v.x.sh), sw = uniform((u32)v.x.sw);
        const u32 height = uniform((u32)v.x.h), width = uniform((u32)v.x.w);
        const u32 b0 = first / plane;

        kw = uniform((u32)v.w.kw);
        taps = kh * kw;
        terms = uniform((u32)v.x.c) * taps;
        per_taps = inverse(taps), per_kw = inverse(kw);
        c_offset = uniform((u32)v.x.sc) * (u32)sizeof(T);
        h_offset = dilation * sh * (u32)sizeof(T);
        w_offset = dilation * sw * (u32)sizeof(T);
        /* begins at the padding's corner, so that offsets are not negative */
        image = image_buffer(reinterpret_cast<const void *>(
            uniform64((u64)x + (b0 * v.x.sb - (u64)pad_h * sh - (u64)pad * sw) *
                                   sizeof(T))));
        UNROLL
        for (u32 i = 0; i < sets; i++) {
            position[i] =
                (wave / step_pieces * sets + i) * matrix_wave + lane_id();
            const u32 p = first - b0 * plane + position[i];
            const u32 b = images_before<N>(p, plane);
            const u32 row = (p - b * plane) / across;
            const u32 top = row * stride;
            const u32 left = (p - b * plane - row * across) * stride;
            u32 row_bits = 0, bits = 1u << (31 - none);

            offset[i] =
                (b * (u32)v.x.sb + top * sh + left * sw) * (u32)sizeof(T);
            NO_UNROLL
            for (u32 k = 0; k < kw && is_listed(); k++)
                row_bits = row_bits * 2 + (left + k * dilation - pad >= width);
            NO_UNROLL
            for (u32 k = 0; k < kh && is_listed(); k++)
                bits |= (top + k * dilation - pad_h < height ? row_bits
                                                             : (1u << kw) - 1)
                        << (32 - (k + 1) * kw);
            outside[i] = first + position[i] < count ? bits : ~0u;
        }
    }
    /* Whether `outside` has a bit for each tap. */
    DEV_MEMBER bool is_listed() const
    {
        return taps <= most_taps;
    }
    /* n / d is n * inverse(d) / 2^32 for n * d < 2^32 */
    static DEV_MEMBER u32 inverse(u32 d)
    {
        return d > 1 ? 0xffffffffu / d + 1 : 0;
    }
    static DEV_MEMBER u32 divide_by(u32 n, u32 d, u32 inverse_of_d)
    {
        return d > 1 ? (u32)((u64)n * inverse_of_d >> 32) : n;
    }
    static DEV_MEMBER u32 piece()
    {
        return uniform(threadIdx.x / matrix_wave) % step_pieces;
    }
    /* Loads the step from k0 on. Each lane computes the address of one k for
     * all lanes. */
    DEV_MEMBER void load(u32 k0)
    {
        const u32 k = k0 + piece() * n16 + lane_id() % n16;
        const u32 c = divide_by(k, taps, per_taps), tap = k - c * taps;
        const u32 h = divide_by(tap, kw, per_kw), w = tap - h * kw;
        const u32 at = c * c_offset + h * h_offset + w * w_offset;
        const u32 shift = k < terms ? is_listed() ? tap : 0 : none;
        const u32 from = k < terms ? at : 0;

        UNROLL
        for (u32 e = 0; e < n16; e++) {
            const u32 s = lane_value(shift, e), o = lane_value(from, e);

            UNROLL
            for (u32 i = 0; i < sets; i++)
                in[i][e] = load_buffer<T>(
                    image, offset[i] | (outside[i] << s & buffer_end), o);
        }
    }
    DEV_MEMBER void store(u8 *lds) const
    {
        UNROLL
        for (u32 i = 0; i < sets; i++) {
            Pack<T, n16> out;

            UNROLL
            for (u32 e = 0; e < n16; e++)
                out[e] = in[i][e];
            store_pack(
                reinterpret_cast<T *>(lds + piece_at(position[i], piece()) *
                                                sizeof(Piece)),
                out);
        }
    }
};

template <typename T> struct ConvMatrix {
    static constexpr bool exists =
        Unit<T>::is_matrix && traits<T>::is_float && sizeof(T) <= 4;
    static constexpr u32 M = 64, N = 256, threads = 1024, waves_across = 8;
    static constexpr u32 lds_nbytes = (M + N) * step_nbytes;
    static constexpr u32 step = step_nbytes / sizeof(T);
    typedef Product<T, M, N, threads, step_nbytes, waves_across> Tile;
    /* half of the waves bring the kernel */
    typedef Operand<T, M, threads / 2, true> Weights;

    const Conv &v;
    const T *RESTRICT x;
    const T *RESTRICT w;
    T *RESTRICT y;
    u8 *lds;

    /* Whether there are tiles enough, and offsets fit; for one thread to ask.
     */
    static DEV_MEMBER bool takes(const Conv &v)
    {
        constexpr u64 enough_tiles = 12, least_terms = 32;
        constexpr u64 most_taps = ImageOperand<T, N, threads>::most_taps;
        const u64 taps = v.w.kh * v.w.kw, plane = v.h_out * v.w_out;
        const u64 positions = v.x.b * plane, terms = v.x.c * taps;
        const u64 images = min_of(v.x.b, N / plane + 2);
        const u64 reach = images * v.x.sb + v.x.c * v.x.sc +
                          (v.x.h + 2 * v.padding) * v.x.sh +
                          (v.x.w + 2 * v.padding) * v.x.sw +
                          v.dilation * (v.w.kh * v.x.sh + v.w.kw * v.x.sw);

        return blockDim.x == threads && v.is_small() &&
               (taps <= most_taps || v.is_inside()) && terms >= least_terms &&
               terms * taps < 1ull << 31 && positions < 1ull << 30 &&
               reach * sizeof(T) < 1ull << 31 &&
               v.w.so * M * sizeof(T) < 1ull << 31 &&
               images * plane * v.w.outputs < 1ull << 31 &&
               v.x.b * v.w.outputs < 1ull << 31 &&
               (v.w.kw == 1 || v.w.sw == 1) &&
               (v.w.kh == 1 || v.w.sh == v.w.kw) &&
               (v.x.c == 1 || v.w.sc == taps) &&
               div_up(positions, (u64)N) * div_up(v.w.outputs, (u64)M) >=
                   enough_tiles;
    }
    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        const u32 plane = uniform((u32)(v.h_out * v.w_out));
        const u32 count = uniform((u32)v.x.b) * plane;
        const u32 outputs = uniform((u32)v.w.outputs);
        const u32 down = div_up(outputs, M);
        const u64 tiles = (u64)down * div_up(count, N);

        NO_UNROLL
        for (u64 tile = blocks.number; tile < tiles; tile += blocks.count) {
            const u64 turn = divide(tile, down);

            one_tile((u32)(tile - turn * down) * M, (u32)turn * N, outputs,
                     count, plane);
        }
    }
    DEV_MEMBER void one_tile(u32 o0, u32 p0, u32 outputs, u32 count,
                             u32 plane) const
    {
        u8 *const lds_w = lds, *const lds_x = lds + M * step_nbytes;
        const bool brings =
            uniform(threadIdx.x / matrix_wave) < threads / 2 / matrix_wave;
        ImageOperand<T, N, threads> image(v, x, p0, count);
        Weights weights(w, o0, outputs, uniform((u32)v.w.so));
        const u32 terms = image.terms;
        Tile tile;

        weights.begin(0);
        if (brings && terms >= step)
            weights.load();
        image.load(0);
        NO_UNROLL
        for (u32 k = 0; k < terms; k += step) {
            __syncthreads();
            if (brings) {
                if (terms - k >= step)
                    weights.store(lds_w);
                else
                    weights.store_ends(lds_w, k, terms);
            }
            image.store(lds_x);
            __syncthreads();
            if (terms - k > step) {
                if (brings && terms - k >= 2 * step)
                    weights.load();
                image.load(k + step);
            }
            tile.multiply(lds_w, lds_x);
        }
        __syncthreads();
        const u32 b0 = uniform(p0 / plane);
        T *const to = y + (u64)(b0 * outputs + o0) * plane;

        tile.each(lds, [&](u32 row, u32 col, f32 sum) {
            const u32 p = p0 - b0 * plane + col;

            if (o0 + row >= outputs || p0 + col >= count)
                return;
            const u32 b = images_before<N>(p, plane), at = p - b * plane;

            to[(b * outputs + row) * plane + at] =
                sum == sum || v.padding == 0 ? convert<T>(sum)
                                             : again(o0 + row, b0 + b, at);
        });
    }
    DEV_MEMBER T again(u32 o, u32 b, u32 at) const
    {
        const u32 across = (u32)v.w_out, row = at / across;

        return conv_point(v, v.template axis_h<i32>(0),
                          v.template axis_w<i32>(0), x, w, b, o, (i32)row,
                          (i32)(at - row * across));
    }
};
#endif
