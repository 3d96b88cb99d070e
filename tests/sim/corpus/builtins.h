/* builtins.h - single instructions by their builtins, and what they stand for
 *
 * Each is written once for the device and once in plain C after the manuals.
 * Where a target lacks an instruction, the kernel uses the plain form.
 */
#include "corpus.h"

#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) ||       \
    defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1030__)
#define HAS_SDOT 1
#else
#define HAS_SDOT 0
#endif
#if defined(__gfx1100__) || defined(__gfx1150__) || defined(__gfx1200__) ||    \
    defined(__gfx1201__)
#define HAS_SUDOT 1
#else
#define HAS_SUDOT 0
#endif
#define HAS_UDOT (HAS_SDOT || HAS_SUDOT)
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1200__) ||      \
    defined(__gfx1201__)
#define HAS_FP8 1
#else
#define HAS_FP8 0
#endif

DEVICE static inline u32 byte_of(u32 x, u32 n)
{
    return x >> (8 * n) & 255;
}

/* ---- bytes ---- */

DEVICE static inline u32 plain_perm(u32 a, u32 b, u32 select)
{
    const u64 all = (u64)a << 32 | b;
    u32 d = 0;

    for (u32 i = 0; i < 4; i++) {
        const u32 s = byte_of(select, i);
        const u32 v = s < 8     ? (u32)(all >> 8 * s) & 255
                      : s < 12  ? (all >> (16 * (s - 8) + 15) & 1) * 255
                      : s == 12 ? 0
                                : 255;

        d |= v << 8 * i;
    }
    return d;
}

DEVICE static inline u32 plain_sad(u32 a, u32 b, u32 c, bool masked)
{
    for (u32 i = 0; i < 4; i++) {
        const u32 x = byte_of(a, i), y = byte_of(b, i);

        if (!masked || y)
            c += x > y ? x - y : y - x;
    }
    return c;
}

DEVICE static inline u32 plain_sad16(u32 a, u32 b, u32 c)
{
    for (u32 i = 0; i < 32; i += 16) {
        const u32 x = a >> i & 0xffff, y = b >> i & 0xffff;

        c += x > y ? x - y : y - x;
    }
    return c;
}

DEVICE static inline u64 plain_qsad(u64 a, u32 b, u64 c, bool masked)
{
    u64 d = 0;

    for (u32 i = 0; i < 4; i++) {
        const u32 s = plain_sad((u32)(a >> 8 * i), b,
                                (u32)(c >> 16 * i) & 0xffff, masked);

        d |= (u64)(s > 0xffff ? 0xffff : s) << 16 * i;
    }
    return d;
}

DEVICE static inline u32 plain_lerp(u32 a, u32 b, u32 c)
{
    u32 d = 0;

    for (u32 i = 0; i < 4; i++)
        d |= ((byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1)
             << 8 * i;
    return d;
}

LANE_TEST(builtin_bytes, 6, 14)
{
    const u32 a = in[0], b = in[1], c = in[2];
    const u64 w = pair(in), v = pair(in + 3);
    const u32 select = c & 0x0f0f0f0f;

#if DEVICE_ONLY
    out[0] = __builtin_amdgcn_perm(a, b, select);
    out[1] = __builtin_amdgcn_alignbit(a, b, c);
    out[2] = __builtin_amdgcn_alignbyte(a, b, c);
    out[3] = __builtin_amdgcn_sad_u8(a, b, c);
    out[4] = __builtin_amdgcn_msad_u8(a, b, c);
    out[5] = __builtin_amdgcn_sad_hi_u8(a, b, c);
    out[6] = __builtin_amdgcn_sad_u16(a, b, c);
    out[7] = __builtin_amdgcn_lerp(a, b, c);
    put_pair(out + 8, __builtin_amdgcn_qsad_pk_u16_u8(w, c, v));
    put_pair(out + 10, __builtin_amdgcn_mqsad_pk_u16_u8(w, c, v));
    out[12] = __builtin_amdgcn_ubfe(a, b & 31, c & 31);
    out[13] = (u32)__builtin_amdgcn_sbfe((i32)a, b & 31, c & 31);
#else
    const u32 n = c & 31;

    out[0] = plain_perm(a, b, select);
    out[1] = (u32)(((u64)a << 32 | b) >> n);
    out[2] = (u32)(((u64)a << 32 | b) >> 8 * (c & 3));
    out[3] = plain_sad(a, b, c, false);
    out[4] = plain_sad(a, b, c, true);
    out[5] = (plain_sad(a, b, 0, false) << 16) + c;
    out[6] = plain_sad16(a, b, c);
    out[7] = plain_lerp(a, b, c);
    put_pair(out + 8, plain_qsad(w, c, v, false));
    put_pair(out + 10, plain_qsad(w, c, v, true));
    out[12] = n ? a >> (b & 31) & ((1u << n) - 1) : 0;
    out[13] =
        n == 0 ? 0 : (u32)((i32)((a >> (b & 31)) << (32 - n)) >> (32 - n));
    if (n && (b & 31) + n > 32) /* the bits past the end are zeros */
        out[13] = (a >> (b & 31)) & ((1u << n) - 1);
#endif
}

/* ---- packing ---- */

DEVICE static inline u32 rtz16(float v)
{
    u32 u = bits_as<u32>(v), sign = u >> 16 & 0x8000;
    const u32 e = u >> 23 & 255, m = (u & 0x7fffff) | 0x800000;

    u &= 0x7fffffff;
    if (u > 0x7f800000)
        return 0x7e00;
    if (u == 0x7f800000)
        return sign | 0x7c00;
    if (e > 142)
        return sign | 0x7bff;
    if (e < 103)
        return sign;
    if (e < 113)
        return sign | m >> (126 - e);
    return sign | (e - 112) << 10 | (m >> 13 & 0x3ff);
}

DEVICE static inline u32 clamp_u(i64 v, i64 low, i64 high)
{
    return (u32)(v < low ? low : v > high ? high : v);
}

DEVICE static inline float plain_number(u32 bits)
{
    const float v = bits_as<float>(bits);

    return v != v ? 0.75f : v;
}

LANE_TEST(builtin_packing, 3, 12)
{
    const u32 a = in[0], b = in[1];
    const float x = plain_number(a), y = plain_number(b),
                z = plain_number(in[2]);
    const float s = (float)((i32)a >> 12) * 0x1p-19f;
    const float t = (float)((i32)b >> 12) * 0x1p-19f;

#if DEVICE_ONLY
    typedef short i16x2 __attribute__((ext_vector_type(2)));
    const i16x2 i = __builtin_amdgcn_cvt_pk_i16((i32)a >> 8, (i32)b >> 8);
    const auto u = __builtin_amdgcn_cvt_pk_u16(a >> 8, b >> 8);
    const auto n = __builtin_amdgcn_cvt_pknorm_i16(s, t);
    const auto m = __builtin_amdgcn_cvt_pknorm_u16(s, t);
    const auto p = __builtin_amdgcn_cvt_pkrtz(x, y);

    out[0] = bits_as<u32>(i);
    out[1] = bits_as<u32>(u);
    out[2] = bits_as<u32>(n);
    out[3] = bits_as<u32>(m);
    out[4] = bits_as<u32>(p);
    out[5] = __builtin_amdgcn_cvt_pk_u8_f32(x, b & 3, in[2]);
    out[6] = bits_f32(__builtin_amdgcn_fmed3f(x, y, z));
    out[7] = bits_f32(__builtin_amdgcn_fractf(x < 1e30f && x > -1e30f ? x : 0));
    out[8] = bits_f32(__builtin_amdgcn_frexp_mantf(x));
    out[9] = (u32)__builtin_amdgcn_frexp_expf(x);
    out[10] = bits_f32(__builtin_amdgcn_ldexpf(x, (i32)b >> 23));
    out[11] = __builtin_amdgcn_classf(bits_as<float>(a), (int)(b & 0x3ff));
#else
    const float lo = x < y ? x : y, hi = x < y ? y : x;
    const float in_byte = x < 0 ? 0 : x > 255 ? 255 : x;
    const u32 shift = 8 * (b & 3), e = a >> 23 & 255;
    const bool quiet = a >> 22 & 1, negative = a >> 31;
    u32 bit;
    int exponent = 0;
    float f = x - __builtin_floorf(x);

    out[0] = (clamp_u((i32)a >> 8, -32768, 32767) & 0xffff) |
             clamp_u((i32)b >> 8, -32768, 32767) << 16;
    out[1] = clamp_u(a >> 8, 0, 65535) | clamp_u(b >> 8, 0, 65535) << 16;
    out[2] = ((u32)(i32)__builtin_rint((double)s * 32767) & 0xffff) |
             (u32)(i32)__builtin_rint((double)t * 32767) << 16;
    out[3] = (u32)__builtin_rint((s < 0 ? 0 : (double)s) * 65535) |
             (u32)__builtin_rint((t < 0 ? 0 : (double)t) * 65535) << 16;
    out[4] = rtz16(x) | rtz16(y) << 16;
    out[5] = (in[2] & ~(255u << shift)) | (u32)__builtin_rintf(in_byte)
                                              << shift;
    out[6] = bits_f32(z < lo ? lo : z > hi ? hi : z);
    out[7] = !(x < 1e30f && x > -1e30f) ? 0 : f >= 1 ? 0x3f7fffff : bits_f32(f);
    out[8] = bits_f32(__builtin_isinf(x) ? x : __builtin_frexpf(x, &exponent));
    out[9] = __builtin_isinf(x) ? 0 : (u32)exponent;
    out[10] = bits_f32(__builtin_ldexpf(x, (i32)b >> 23));
    bit = e == 255 && (a & 0x7fffff) ? (quiet ? 1 : 0)
          : e == 255                 ? (negative ? 2 : 9)
          : e                        ? (negative ? 3 : 8)
          : a & 0x7fffff             ? (negative ? 4 : 7)
                                     : (negative ? 5 : 6);
    out[11] = b >> bit & 1;
#endif
    /* zeros of both signs may stand for each other in the middle of three */
    if (x == 0 || y == 0 || z == 0)
        out[6] = 0;
}

/* ---- dot products ---- */

DEVICE static inline i64 plain_dot(u32 a, u32 b, u32 bits, bool sa, bool sb)
{
    i64 sum = 0;

    for (u32 i = 0; i < 32; i += bits) {
        const u32 x = a << (32 - bits - i), y = b << (32 - bits - i);
        const u32 s = 32 - bits;

        sum += (sa ? (i64)((i32)x >> s) : (i64)(x >> s)) *
               (sb ? (i64)((i32)y >> s) : (i64)(y >> s));
    }
    return sum;
}

DEVICE static inline u32 saturated(i64 v, bool is_signed)
{
    return is_signed ? clamp_u(v, -2147483648LL, 2147483647LL)
                     : clamp_u(v, 0, 4294967295LL);
}

LANE_TEST(builtin_dots, 3, 16)
{
    const u32 a = in[0], b = in[1], c = in[2];
    const i32 sc = (i32)c;

#if HAS_UDOT
    out[0] = __builtin_amdgcn_udot4(a, b, c, false);
    out[1] = __builtin_amdgcn_udot4(a, b, c, true);
    out[2] = __builtin_amdgcn_udot8(a, b, c, false);
    out[3] = __builtin_amdgcn_udot8(a, b, c, true);
#else
    out[0] = (u32)plain_dot(a, b, 8, false, false) + c;
    out[1] = saturated(plain_dot(a, b, 8, false, false) + c, false);
    out[2] = (u32)plain_dot(a, b, 4, false, false) + c;
    out[3] = saturated(plain_dot(a, b, 4, false, false) + c, false);
#endif
#if HAS_SDOT
    out[4] = (u32)__builtin_amdgcn_sdot4((i32)a, (i32)b, sc, false);
    out[5] = (u32)__builtin_amdgcn_sdot4((i32)a, (i32)b, sc, true);
    out[6] = (u32)__builtin_amdgcn_sdot8((i32)a, (i32)b, sc, false);
    out[7] = (u32)__builtin_amdgcn_sdot8((i32)a, (i32)b, sc, true);
#else
    out[4] = (u32)plain_dot(a, b, 8, true, true) + c;
    out[5] = saturated(plain_dot(a, b, 8, true, true) + sc, true);
    out[6] = (u32)plain_dot(a, b, 4, true, true) + c;
    out[7] = saturated(plain_dot(a, b, 4, true, true) + sc, true);
#endif
#if HAS_SUDOT
    out[8] =
        (u32)__builtin_amdgcn_sudot4(true, (i32)a, false, (i32)b, sc, false);
    out[9] =
        (u32)__builtin_amdgcn_sudot4(false, (i32)a, true, (i32)b, sc, true);
    out[10] =
        (u32)__builtin_amdgcn_sudot8(true, (i32)a, false, (i32)b, sc, true);
    out[11] =
        (u32)__builtin_amdgcn_sudot8(true, (i32)a, true, (i32)b, sc, false);
#else
    out[8] = (u32)plain_dot(a, b, 8, true, false) + c;
    out[9] = saturated(plain_dot(a, b, 8, false, true) + sc, true);
    out[10] = saturated(plain_dot(a, b, 4, true, false) + sc, true);
    out[11] = (u32)plain_dot(a, b, 4, true, true) + c;
#endif
#if HAS_SDOT
    typedef short i16x2 __attribute__((ext_vector_type(2)));
    typedef unsigned short u16x2 __attribute__((ext_vector_type(2)));

    out[12] = (u32)__builtin_amdgcn_sdot2(bits_as<i16x2>(a), bits_as<i16x2>(b),
                                          sc, false);
    out[13] = (u32)__builtin_amdgcn_sdot2(bits_as<i16x2>(a), bits_as<i16x2>(b),
                                          sc, true);
    out[14] =
        __builtin_amdgcn_udot2(bits_as<u16x2>(a), bits_as<u16x2>(b), c, false);
    out[15] =
        __builtin_amdgcn_udot2(bits_as<u16x2>(a), bits_as<u16x2>(b), c, true);
#else
    out[12] = (u32)plain_dot(a, b, 16, true, true) + c;
    out[13] = saturated(plain_dot(a, b, 16, true, true) + sc, true);
    out[14] = (u32)plain_dot(a, b, 16, false, false) + c;
    out[15] = saturated(plain_dot(a, b, 16, false, false) + c, false);
#endif
}

/* Small whole numbers, whose sums are exact in any order. */
LANE_TEST(builtin_float_dots, 3, 2)
{
    const float c = (float)((i32)in[2] >> 20);
    f16 a[2], b[2];

    for (u32 i = 0; i < 2; i++) {
        a[i] = (f16)(float)(i32)((in[0] >> 8 * i & 63) - 32);
        b[i] = (f16)(float)(i32)((in[1] >> 8 * i & 63) - 32);
    }
    out[1] = bits_f16(a[0]) | bits_f16(b[1]) << 16;
#if HAS_UDOT
    typedef f16 f16x2 __attribute__((ext_vector_type(2)));

    out[0] = bits_f32(__builtin_amdgcn_fdot2((f16x2){a[0], a[1]},
                                             (f16x2){b[0], b[1]}, c, false));
#else
    out[0] =
        bits_f32((float)a[0] * (float)b[0] + (float)a[1] * (float)b[1] + c);
#endif
}

/* ---- 8-bit floats: sums that tell both encodings apart by their targets -- */

/* Both encodings (bias 8 without infinities, OCP's bias 7) hold these. */
LANE_TEST(builtin_fp8, 2, 6)
{
    static const float values[8] = {0, 0.5f, -1, 1.5f, 3, -20, 0.0625f, 240};
    const float a = values[in[0] & 7], b = values[in[0] >> 3 & 7];

#if HAS_FP8
    const int p = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, (int)in[1], false);
    const int q = __builtin_amdgcn_cvt_pk_bf8_f32(b, a, p, true);

    out[0] = bits_f32(__builtin_amdgcn_cvt_f32_fp8(p, 0));
    out[1] = bits_f32(__builtin_amdgcn_cvt_f32_fp8(p, 1));
    out[2] = bits_f32(__builtin_amdgcn_cvt_f32_bf8(q, 2));
    out[3] = bits_f32(__builtin_amdgcn_cvt_f32_bf8(q, 3));
    out[4] = (u32)p >> 16;
    out[5] = bits_f32(__builtin_amdgcn_cvt_f32_fp8(
        __builtin_amdgcn_cvt_sr_fp8_f32(a, in[1], 0, 2), 2));
#else
    out[0] = bits_f32(a);
    out[1] = bits_f32(b);
    /* two bits of mantissa: 240 has three and lies in the middle */
    out[2] = bits_f32(b == 240 ? 256 : b);
    out[3] = bits_f32(a == 240 ? 256 : a);
    out[4] = in[1] >> 16;
    out[5] = bits_f32(a);
#endif
}
