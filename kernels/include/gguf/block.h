/* block.h - the terms that describe every GGUF block format */
#pragma once

#include "device.h"

/*
 * A format is a struct of static members; legacy.h, k.h and codes.h hold them
 * all. It gives the same bytes in two views, and every kernel uses one of them:
 *
 *   Quad    four neighbouring elements. Threads that take neighbouring quads
 *           store neighbouring vectors: dequantize and get_rows.
 *   Chunk   32 elements as two groups of 16, cut so that 16 neighbouring bytes
 *           of packed quants make one chunk: all products.
 *
 * A quad of one group of a chunk shares its bytes of packed quants with a quad
 * of the other group. In both views an element is scale * q + bias, q a signed
 * byte. scale and bias are products of an f16 with a small integer, so they are
 * exact, and so is scale * q: a fused multiply-add changes nothing.
 *
 *   elems, bytes     of a block
 *   chunks           elems / 32
 *   group_step       the groups of a chunk are 16 * group_step elements apart
 *   first_group(c)   group 0 of chunk c starts at element 16 * first_group(c)
 *   scale_width      elements that share a scale, 16 or 32
 *   bias_width       elements that share a bias, if it is not scale_width
 *   vec_bias         how mat-vec products apply the bias (Bias, below)
 *   tile_bias        the same for tiled products
 *   vec_offset       added to the quants of unpack() in mat-vec products
 *   bias_factor      of formats of 32 elements: bias / scale; 0: it varies
 *   Raw, load()      the bytes of a chunk, so that loads can be issued early
 *   unpack()         Raw to Chunk
 *   quad()           elements 4 i .. 4 i + 3 of a group of a chunk
 *
 * P of load<P>() and quad<P>() says where the block lies (BlockPlace, below).
 * Both never read before the array of blocks or behind the block, except up to
 * a word behind it in LDS.
 */

/* The factor of a group's bias in a product with Q8_1. */
enum class Bias {
    none,       /* the format has none */
    stored_sum, /* s of the Q8_1 block, which sums the original values */
    quant_sum   /* d times the sum of the Q8_1 quants of the group */
};

/* The base of formats without biases, in which groups of 16 elements lie in
 * order. */
struct ScaledBlock {
    static constexpr int group_step = 1, vec_offset = 0;
    static constexpr float bias_factor = 0;
    static constexpr Bias vec_bias = Bias::none;
    static constexpr Bias tile_bias = Bias::none;

    DEV int first_group(int chunk)
    {
        return 2 * chunk;
    }
};

/* F::bias_width, or else F::scale_width */
template <class F> struct bias_width {
    template <class G> static constexpr int of(int, int (*)[G::bias_width])
    {
        return G::bias_width;
    }
    template <class G> static constexpr int of(long, void *)
    {
        return G::scale_width;
    }
    static constexpr int value = of<F>(0, nullptr);
};

/* The variant of format F that mat-vec products use. */
template <class F> struct ForVec {
    typedef F type;
};

struct Quad {
    u32 q;
    float scale, bias;
};

struct Chunk {
    u32 q[8]; /* group g is words 4g .. 4g + 3 */
    float scale[2], bias[2];
};

/* of both groups */
DEV void set_scale(Chunk &c, float scale, float bias)
{
    c.scale[0] = c.scale[1] = scale;
    c.bias[0] = c.bias[1] = bias;
}

template <int N> struct Words {
    u32 w[N];
};

/* ---- loads ----
 *
 * AMD's loads take any address, so a vector load serves every format. On
 * NVIDIA a load must be aligned: Access gives the known alignment of the
 * address.
 */
enum class Access {
    byte,        /* any */
    byte_in_row, /* any, and the aligned word around it may be read */
    byte_in_lds, /* any, and the aligned word behind it may be read */
    even,        /* a multiple of 2 */
    even_in_row, /* even, and the aligned word around it may be read */
    even_in_lds, /* even, and the aligned word behind it may be read */
    word,        /* a multiple of 4 */
    vector       /* a multiple of 16 */
};

/* The memory that holds a block. */
enum class BlockPlace {
    anywhere, /* in global memory */
    aligned,  /* in an array that starts on a multiple of 16 bytes */
    lds       /* in an aligned array in LDS; bytes behind it may be read */
};

/* for formats whose blocks are aligned to 2 bytes */
DEV constexpr Access even_access(BlockPlace p)
{
    return p == BlockPlace::anywhere  ? Access::even
           : p == BlockPlace::aligned ? Access::even_in_row
                                      : Access::even_in_lds;
}

/* for formats whose blocks are not aligned */
DEV constexpr Access byte_access(BlockPlace p)
{
    return p == BlockPlace::anywhere  ? Access::byte
           : p == BlockPlace::aligned ? Access::byte_in_row
                                      : Access::byte_in_lds;
}

/* for formats whose blocks are aligned to 4 bytes */
DEV constexpr Access vector_access(BlockPlace p)
{
    return p == BlockPlace::anywhere ? Access::word : Access::vector;
}

DEV u16 load_u16(const u8 *p)
{
    return *reinterpret_cast<const u16 *>(p);
}

template <int N, Access A> DEV Words<N> load_words(const u8 *p)
{
    Words<N> r;
#if !KPK_NVIDIA
    constexpr bool odd = A == Access::byte || A == Access::byte_in_row ||
                         A == Access::byte_in_lds;
    struct __attribute__((packed, aligned(odd ? 1 : 2))) Unaligned {
        Words<N> words;
    };
    r = reinterpret_cast<const Unaligned *>(p)->words;
#else
    if constexpr (A == Access::vector) {
        static_assert(N == 4, "one 16-byte load");
        const uint4 v = *reinterpret_cast<const uint4 *>(p);
        r.w[0] = v.x, r.w[1] = v.y, r.w[2] = v.z, r.w[3] = v.w;
    } else if constexpr (A == Access::word) {
        UNROLL
        for (int i = 0; i < N; i++)
            r.w[i] = reinterpret_cast<const u32 *>(p)[i];
    } else if constexpr (A == Access::byte) {
        UNROLL
        for (int i = 0; i < N; i++)
            r.w[i] = p[4 * i] | (u32)p[4 * i + 1] << 8 |
                     (u32)p[4 * i + 2] << 16 | (u32)p[4 * i + 3] << 24;
    } else if constexpr (A == Access::byte_in_row || A == Access::byte_in_lds) {
        /* aligned words, shifted into place; of the last some bytes are used */
        const u32 odd = (u32) reinterpret_cast<u64>(p) & 3;
        const u8 *a = p - odd;
        u32 w[N + 1];

        UNROLL
        for (int i = 0; i < N; i++)
            w[i] = reinterpret_cast<const u32 *>(a)[i];
        if (A == Access::byte_in_lds) {
            w[N] = reinterpret_cast<const u32 *>(a)[N];
        } else {
            w[N] = 0;
            UNROLL
            for (u32 i = 0; i < 3; i++)
                w[N] |= i < odd ? (u32)a[4 * N + i] << (8 * i) : 0;
        }
        UNROLL
        for (int i = 0; i < N; i++)
            r.w[i] = __funnelshift_r(w[i], w[i + 1], odd * 8);
    } else if constexpr (A == Access::even_in_row) {
        /* aligned words, shifted into place; of the last only half is used */
        const u32 odd = (u32) reinterpret_cast<u64>(p) & 2;
        const u8 *a = p - odd;
        u32 w[N + 1];

        UNROLL
        for (int i = 0; i < N; i++)
            w[i] = reinterpret_cast<const u32 *>(a)[i];
        w[N] = odd ? load_u16(a + 4 * N) : 0;
        UNROLL
        for (int i = 0; i < N; i++)
            r.w[i] = __funnelshift_r(w[i], w[i + 1], odd * 8);
    } else if constexpr (A == Access::even_in_lds) {
        const u32 odd = (u32) reinterpret_cast<u64>(p) & 2;
        const u32 *a = reinterpret_cast<const u32 *>(p - odd);
        u32 w[N + 1];

        UNROLL
        for (int i = 0; i <= N; i++)
            w[i] = a[i];
        UNROLL
        for (int i = 0; i < N; i++)
            r.w[i] = __byte_perm(w[i], w[i + 1], odd ? 0x5432 : 0x3210);
    } else {
        UNROLL
        for (int i = 0; i < N; i++)
            r.w[i] = load_u16(p + 4 * i) | (u32)load_u16(p + 4 * i + 2) << 16;
    }
#endif
    return r;
}

/* an f16 and the N words behind it, which many a block begins with */
template <int N> struct HalfWords {
    u32 half; /* in the low 16 bits */
    Words<N> words;
};

#if KPK_NVIDIA
/* an f16 and N words from the word at a on, or from its middle on */
template <int N> DEV HalfWords<N> half_words_at(const u32 *a, bool odd)
{
    const u32 pick = odd ? 0x7654 : 0x5432;
    HalfWords<N> r;
    u32 w = a[0];

    r.half = odd ? w >> 16 : w;
    UNROLL
    for (int i = 0; i < N; i++) {
        const u32 next = a[i + 1];

        r.words.w[i] = __byte_perm(w, next, pick);
        w = next;
    }
    return r;
}
#endif

template <int N, Access A> DEV HalfWords<N> load_half_words(const u8 *p)
{
#if KPK_NVIDIA
    if constexpr (A == Access::even_in_lds) {
        const u32 odd = (u32) reinterpret_cast<u64>(p) & 2;

        return half_words_at<N>(reinterpret_cast<const u32 *>(p - odd), odd);
    }
#endif
    return {load_u16(p), load_words<N, A>(p + 2)};
}

template <Access A> DEV u32 load_word(const u8 *p)
{
    return load_words<1, A>(p).w[0];
}

template <BlockPlace P> struct PlaceOf {
    static constexpr BlockPlace place = P;
};

/* fn, told whether blocks are aligned. AMD needs no second version of the code.
 */
template <class Fn> DEV void with_place(bool aligned, Fn fn)
{
    if (!KPK_NVIDIA || aligned)
        fn(PlaceOf<BlockPlace::aligned>());
    else if constexpr (KPK_NVIDIA)
        fn(PlaceOf<BlockPlace::anywhere>());
}

/* ---- numbers ---- */

DEV float half_to_float(u32 bits) /* of the low 16 */
{
    return (float)f16{(u16)bits};
}

DEV u32 float_to_half(float x)
{
    return convert<f16>(x).bits;
}

/* x - c in each byte; the bytes of x and c are 0..127 */
DEV u32 sub_bytes(u32 x, u32 c)
{
    return ((x | 0x80808080u) - c) ^ 0x80808080u;
}

/* only the low five bits of n count */
DEV u32 rotate_right(u32 x, u32 n)
{
#if KPK_NVIDIA
    return __funnelshift_r(x, x, n);
#else
    return __builtin_rotateright32(x, n);
#endif
}

/* bit i of the low four to bit 0 of byte i */
DEV u32 spread_bits(u32 bits)
{
    return ((bits & 15u) * 0x00204081u) & 0x01010101u;
}

/* Signed byte i. On NVIDIA a conversion takes as long as eight other
 * instructions: there the byte becomes the low bits of 2^23. */
DEV float byte_to_float(u32 q, int i)
{
#if KPK_NVIDIA
    const u32 biased = q ^ 0x80808080u;

    return bits_as<float>(__byte_perm(biased, 0x4b000000u, 0x7540u + (u32)i)) -
           (0x1p23f + 128.0f);
#else
    return (float)((i8)(q >> (8 * i)));
#endif
}

/* element i of four */
DEV float quad_value(const Quad &q, int i)
{
    return fmaf(q.scale, byte_to_float(q.q, i), q.bias);
}

/* quad number e4 of a block, in the order of its elements */
template <class F, BlockPlace P> DEV Quad quad_of(const u8 *b, u32 e4)
{
    constexpr u32 step = F::group_step;
    const u32 group = e4 / 4;

    return F::template quad<P>(b,
                               (int)(group / (2 * step) * step + group % step),
                               (int)(group / step % 2), (int)(e4 % 4));
}

/* ---- Q8_1, the format of quantized activations ----
 * 32 elements, 36 bytes, aligned to 4: d f16 at 0, s f16 at 2, quants at 4 */
struct Q8_1 {
    static constexpr int elems = 32, bytes = 36, words = 9;
};

/* bytes of Q8_1 blocks for n elements, a multiple of 32 */
DEV size_t q8_1_bytes(int n)
{
    return (size_t)(n / Q8_1::elems) * Q8_1::bytes;
}
