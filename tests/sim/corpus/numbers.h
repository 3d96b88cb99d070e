/* numbers.h - floats taken apart and put together, in every width
 *
 * Only what IEEE 754 and C define to the bit, for NaN and denormals too.
 */
#include "corpus.h"

typedef __bf16 bf16;
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));

DEVICE static inline u32 bits_bf16(bf16 v)
{
    return v != v ? 0x7fc0u : bits_as<u16>(v);
}

/* A number of these bits, never NaN: for operations whose NaN or zero may have
 * another sign on the CPU. */
DEVICE static inline float some_f32(u32 bits)
{
    const float v = bits_as<float>(bits);

    return v != v ? 1.5f : v;
}

DEVICE static inline double some_f64(u64 bits)
{
    const double v = bits_as<double>(bits);

    return v != v ? 2.5 : v;
}

LANE_TEST(float_classes, 5, 12)
{
    const float a = bits_as<float>(in[0]);
    const double b = bits_as<double>(pair(in + 1));
    const f16 h = bits_as<f16>((u16)in[3]);

    out[0] = (u32)__builtin_isnan(a) | (u32)(bool)__builtin_isinf(a) << 1 |
             (u32)__builtin_isfinite(a) << 2 | (u32)__builtin_isnormal(a) << 3 |
             (u32)(bool)__builtin_signbit(a) << 4;
    out[1] = (u32)__builtin_isfpclass(a, 0x003) |
             (u32)__builtin_isfpclass(a, 0x204) << 1 |
             (u32)__builtin_isfpclass(a, 0x090) << 2 |
             (u32)__builtin_isfpclass(a, 0x108) << 3 |
             (u32)__builtin_isfpclass(a, 0x060) << 4;
    out[2] = (u32)__builtin_isnan(b) | (u32)(bool)__builtin_isinf(b) << 1 |
             (u32)__builtin_isfinite(b) << 2 | (u32)__builtin_isnormal(b) << 3 |
             (u32)(bool)__builtin_signbit(b) << 4;
    out[3] = (u32)__builtin_isfpclass(b, 0x090) |
             (u32)__builtin_isfpclass(b, 0x264) << 1 |
             (u32)__builtin_isfpclass(b, 0x001) << 2;
    out[4] = (u32)__builtin_isfpclass(h, 0x090) |
             (u32)__builtin_isfpclass(h, 0x264) << 1 |
             (u32)__builtin_isfpclass(h, 0x108) << 2;
    out[5] = bits_as<u32>(-a);
    out[6] = bits_as<u32>(__builtin_fabsf(a));
    out[7] = bits_as<u16>(-h);
    out[8] = bits_as<u32>(__builtin_copysignf(a, (float)b));
    put_pair(out + 9, bits_as<u64>(-__builtin_fabs(b)));
    out[11] = a > 0 ? 1 : a < 0 ? 2 : a == 0 ? 3 : 4;
}

LANE_TEST(exponents, 6, 26)
{
    const float a = some_f32(in[0]);
    const double b = some_f64(pair(in + 1));
    const f16 h = bits_as<f16>((u16)in[3]);
    const i32 n = (i32)(in[4] % 400) - 200, far = (i32)(in[5] % 5000) - 2500;
    int e = 0, f = 0;
    const float m = __builtin_frexpf(a, &e);
    const double d = __builtin_frexp(b, &f);
    const bool plain32 = __builtin_isfinite(a), plain64 = __builtin_isfinite(b);

    out[0] = bits_f32(m);
    out[1] = plain32 ? (u32)e : 0;
    put_pair(out + 2, bits_f64(d));
    out[4] = plain64 ? (u32)f : 0;
    out[5] = bits_f32(__builtin_ldexpf(a, n));
    put_pair(out + 6, bits_f64(__builtin_ldexp(b, far)));
    out[8] = bits_f32(__builtin_ldexpf(a, far));
    put_pair(out + 9, bits_f64(__builtin_ldexp(b, n)));
    out[11] = bits_f16((f16)__builtin_ldexpf((float)h, (i32)(in[4] % 40) - 20));
    out[12] = bits_f32(__builtin_truncf(a));
    out[13] = bits_f32(a - __builtin_truncf(a));
    put_pair(out + 14, bits_f64(b - __builtin_floor(b)));
    out[16] = bits_f32(__builtin_roundevenf(a));
    put_pair(out + 17, bits_f64(__builtin_roundeven(b)));
    out[19] = bits_f32(__builtin_roundf(a));
    put_pair(out + 20, bits_f64(__builtin_round(b)));
    out[22] = bits_f16((f16)__builtin_roundevenf((float)h));
    out[23] = bits_f32(__builtin_nearbyintf(a) + __builtin_rintf(a * 0.5f));
    put_pair(out + 24, bits_f64(__builtin_ceil(b) - __builtin_trunc(b)));
}

DEVICE static inline double limited(double v, double low, double high)
{
    return v != v ? 0 : v < low ? low : v > high ? high : v;
}

LANE_TEST(conversions, 4, 40)
{
    const float a = bits_as<float>(in[0]);
    const double b = bits_as<double>(pair(in + 1));
    const f16 h = bits_as<f16>((u16)in[3]);
    const u64 w = pair(in);
    const double la = limited((double)a, -1e18, 1e18);
    const float fa = (float)la;

    out[0] = (u32)(i32)limited((double)a, -2147483648.0, 2147483647.0);
    out[1] = (u32)limited((double)a, 0, 4294967295.0);
    put_pair(out + 2, (u64)(i64)fa);
    put_pair(out + 4, (u64)(fa < 0 ? -fa : fa));
    out[6] = (u32)(i8)limited((double)a, -128, 127);
    out[7] = (u8)limited((double)a, 0, 255);
    out[8] = (u32)(i16)limited(b, -32768, 32767);
    out[9] = (u16)limited(b, 0, 65535);
    out[10] = bits_f32((float)w);
    out[11] = bits_f32((float)(i64)w);
    put_pair(out + 12, bits_f64((double)w));
    put_pair(out + 14, bits_f64((double)(i64)w));
    out[16] = bits_f16((f16)(float)(i32)in[0]);
    out[17] = bits_f16((f16)(i32)in[1]);
    out[18] = bits_f16((f16)in[0]);
    out[19] = bits_f16((f16)(i64)w);
    out[20] = bits_f16((f16)b);
    out[21] = bits_f16((f16)a);
    out[22] = bits_f32((float)h);
    put_pair(out + 23, bits_f64((double)h));
    out[25] = bits_f32((float)b);
    put_pair(out + 26, bits_f64((double)a));
    out[28] = (u32)(i32)limited((double)h, -70000, 70000);
    out[29] = bits_bf16((bf16)a);
    out[30] = bits_bf16((bf16)b);
    out[31] = bits_f32((float)bits_as<bf16>((u16)in[3]));
    out[32] = bits_f32((float)(i8)in[0] + (float)(u8)(in[0] >> 8));
    out[33] = bits_f32((float)(u8)(in[0] >> 24) * (float)(i16)in[1]);
    put_pair(out + 34, bits_f64((double)(u8)in[1] - (double)(i16)in[2]));
    out[36] =
        bits_f32((float)(in[0] >> 8 & 255)) ^ bits_f32((float)(bool)in[3]);
    out[37] = bits_bf16((bf16)(float)(i32)in[1]);
    out[38] = (u32)(a != 0) | (u32)(b != 0) << 1 | (u32)(h != (f16)0) << 2;
    out[39] = bits_bf16((bf16)(float)h);
}

LANE_TEST(bfloat16, 3, 14)
{
    const bf16 a = bits_as<bf16>((u16)in[0]), b = bits_as<bf16>((u16)in[1]);
    const bf16 c = bits_as<bf16>((u16)in[2]),
               d = bits_as<bf16>((u16)(in[0] >> 16));

    out[0] = bits_bf16(a + b);
    out[1] = bits_bf16(a - b);
    out[2] = bits_bf16(a * b);
    out[3] = bits_bf16(a / b);
    out[4] = bits_bf16(a * b + c);
    out[5] = bits_f32((float)a * (float)b + (float)c);
    out[6] = (u32)(a < b) | (u32)(a == b) << 1 | (u32)(a >= c) << 2 |
             (u32)(a != d) << 3;
    out[7] = bits_bf16(-a);
    out[8] = bits_bf16(a < (bf16)0.0f ? -a : a);
    out[9] = bits_bf16(a > b ? a : b);
    out[10] = bits_bf16((bf16)((float)a + (float)d));
    out[11] = bits_bf16(a + b + c + d);
    out[12] = (u32)(i32)limited((double)(float)a, -1e9, 1e9);
    out[13] = bits_bf16((a + d) * (b - c));
}

LANE_TEST(half_vectors, 4, 14)
{
    const f16x4 a = bits_as<f16x4>(pair(in)), b = bits_as<f16x4>(pair(in + 2));
    const f16x4 sum = a + b, product = a * b.wzyx, mix = a.yxwz - b * b;
    float dot = 0;

    for (int i = 0; i < 4; i++) {
        out[i] = bits_f16(sum[i]);
        out[4 + i] = bits_f16(product[i]);
        out[8 + i] = bits_f16(mix[i]);
        dot += (float)a[i] * (float)b[i];
    }
    out[12] = bits_f32(dot);
    out[13] = bits_f16(a.x < b.x ? a.y : b.y) | bits_f16(a.z > b.w ? a.w : -b.z)
                                                    << 16;
}

/* Sums and products with their rounding errors. */
LANE_TEST(double_double, 8, 10)
{
    const double a = some_f64(pair(in)), b = some_f64(pair(in + 2));
    const float x = some_f32(in[4]), y = some_f32(in[5]), z = some_f32(in[6]);
    const double s = a + b, t = s - a, e = (a - (s - t)) + (b - t);
    const float p = x * y, q = __builtin_fmaf(x, y, -p);
    const f32x2 v = {x, y}, w = {y, z}, r = v * w + (f32x2){z, x};

    put_pair(out, bits_f64(s));
    put_pair(out + 2, bits_f64(e));
    out[4] = bits_f32(p);
    out[5] = bits_f32(q);
    out[6] = bits_f32(r.x);
    out[7] = bits_f32(r.y);
    put_pair(out + 8, bits_f64(__builtin_fma(a, b, -(a * b))));
}

/* f32 addition in integers alone. */
DEVICE static inline u32 soft_add(u32 a, u32 b)
{
    u32 ea, eb, d, e;
    u64 ma, mb, m;
    u32 sign;

    if ((a & 0x7fffffff) < (b & 0x7fffffff)) {
        const u32 t = a;

        a = b;
        b = t;
    }
    ea = a >> 23 & 255;
    eb = b >> 23 & 255;
    ma = (u64)((a & 0x7fffff) | (ea ? 0x800000u : 0)) << 32;
    mb = (u64)((b & 0x7fffff) | (eb ? 0x800000u : 0)) << 32;
    e = ea ? ea : 1;
    d = e - (eb ? eb : 1);
    sign = a & 0x80000000;
    mb = d > 60 ? mb != 0 : mb >> d | ((mb & ((UINT64_C(1) << d) - 1)) != 0);
    m = (a ^ b) >> 31 ? ma - mb : ma + mb;
    if (m == 0)
        return a & b & 0x80000000;
    while (m >> 56) {
        m = m >> 1 | (m & 1);
        e++;
    }
    while (!(m >> 55) && e > 1) {
        m <<= 1;
        e--;
    }
    if ((m & 0xffffffff) > 0x80000000 ||
        ((m & 0xffffffff) == 0x80000000 && (m >> 32 & 1)))
        m += UINT64_C(1) << 32;
    m >>= 32;
    if (m >> 24) {
        m >>= 1;
        e++;
    }
    if (e >= 255)
        return sign | 0x7f800000;
    return sign | (u32)((m >> 23 ? e << 23 : 0) | (m & 0x7fffff));
}

LANE_TEST(soft_float, 2, 2)
{
    const u32 a = in[0], b = in[1];
    const bool numbers = (a >> 23 & 255) != 255 && (b >> 23 & 255) != 255;

    out[0] = numbers ? soft_add(a, b) : 0;
    out[1] = numbers ? bits_as<u32>(bits_as<float>(a) + bits_as<float>(b)) : 0;
}

LANE_TEST(mandelbrot, 2, 3)
{
    const double cr = (double)(in[0] >> 8) * 0x1p-22 - 2.0;
    const double ci = (double)(in[1] >> 8) * 0x1p-22 - 2.0;
    float fr = 0, fi = 0;
    double zr = 0, zi = 0;
    u32 n = 0, m = 0;

    while (n < 60 && zr * zr + zi * zi < 4) {
        const double t = zr * zr - zi * zi + cr;

        zi = 2 * zr * zi + ci;
        zr = t;
        n++;
    }
    while (m < 60 && fr * fr + fi * fi < 4) {
        const float t = fr * fr - fi * fi + (float)cr;

        fi = 2 * fr * fi + (float)ci;
        fr = t;
        m++;
    }
    out[0] = n | m << 16;
    put_pair(out + 1, bits_f64(zr - zi));
}

LANE_TEST(extremes, 6, 16)
{
    const float a = some_f32(in[0]), b = some_f32(in[1]), c = some_f32(in[2]);
    const double d = some_f64(pair(in + 3));
    const f16 h = bits_as<f16>((u16)in[5]),
              g = bits_as<f16>((u16)(in[5] >> 16));
    /* with zeros of both signs apart: which of them wins is open in C */
    const float x = a == 0 ? 1 : a, y = b == 0 ? 2 : b, z = c == 0 ? 3 : c;

    out[0] = bits_f32(__builtin_fminf(x, y));
    out[1] = bits_f32(__builtin_fmaxf(x, y));
    out[2] = bits_f32(__builtin_fmaxf(__builtin_fminf(x, y), z));
    out[3] = bits_f32(__builtin_fminf(__builtin_fmaxf(x, -10), 10));
    out[4] = bits_f32(__builtin_fminf(__builtin_fmaxf(a, 0.0f), 1.0f) + 1);
    put_pair(out + 5, bits_f64(__builtin_fmax(__builtin_fmin(d, 100), -3)));
    out[7] = bits_f32(__builtin_fminf(x, bits_as<float>(0x7fc00000u)));
    out[8] = h != h || g != g ? 0 : bits_f16(h > g ? h : g);
    out[9] = bits_f32(__builtin_fabsf(x) < __builtin_fabsf(y) ? -x : y * 2);
    out[10] = bits_f32(x * 4 - y * 0.5f);
    put_pair(out + 11, bits_f64(d * 2 + d * -0.5));
    out[13] = bits_f32((x + y) * 2.0f);
    out[14] = bits_f32(-(x * y));
    out[15] = bits_f32(__builtin_fmaf(-x, y, __builtin_fabsf(z)));
}
