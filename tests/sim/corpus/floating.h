/* floating.h - float arithmetic that IEEE 754 defines to the bit */
#include "corpus.h"

/* Conversions that C leaves undefined out of range are kept inside it. */
DEVICE static inline float clamp32(float v, float limit)
{
    return v != v ? 0 : v < -limit ? -limit : v > limit ? limit : v;
}

DEVICE static inline double clamp64(double v, double limit)
{
    return v != v ? 0 : v < -limit ? -limit : v > limit ? limit : v;
}

LANE_TEST(float32, 3, 26)
{
    const float a = bits_as<float>(in[0]), b = bits_as<float>(in[1]);
    const float c = bits_as<float>(in[2]);

    out[0] = bits_f32(a + b);
    out[1] = bits_f32(a - b);
    out[2] = bits_f32(a * b);
    out[3] = bits_f32(a / b);
    out[4] = bits_f32(__builtin_sqrtf(a));
    out[5] = bits_f32(__builtin_fmaf(a, b, c));
    out[6] = bits_f32(a * b + c);
    out[7] = bits_f32(__builtin_floorf(a));
    out[8] = bits_f32(__builtin_ceilf(a));
    out[9] = bits_f32(__builtin_truncf(a));
    out[10] = bits_f32(__builtin_rintf(a));
    out[11] = bits_f32(__builtin_fabsf(a) - b);
    out[12] = bits_f32(-a * b);
    out[13] = bits_f32(__builtin_copysignf(a, b));
    out[14] = (a < b) | (u32)(a <= b) << 1 | (u32)(a == b) << 2 |
              (u32)(a != b) << 3 | (u32)(a > b) << 4 | (u32)(a >= b) << 5 |
              (u32)__builtin_isunordered(a, b) << 6;
    out[15] = (u32)(i32)clamp32(a, 2147483520.0f);
    out[16] = (u32)clamp32(__builtin_fabsf(a), 4294967040.0f);
    out[17] = bits_f32((float)(i32)in[0]);
    out[18] = bits_f32((float)in[0]);
    put_pair(out + 19, (u64)(i64)clamp32(a, 9.2e18f));
    out[21] = bits_f32((float)((u64)in[0] << 32 | in[1]));
    out[22] = bits_f32((float)(i64)((u64)in[0] << 32 | in[1]));
    out[23] = a != a || b != b ? 0 : bits_f32(a < b ? a : b);
    out[24] = bits_f16((f16)a);
    out[25] = bits_f32((float)(u8)in[0] + (float)(u8)(in[0] >> 16));
}

LANE_TEST(float64, 6, 40)
{
    const double a = bits_as<double>(pair(in)),
                 b = bits_as<double>(pair(in + 2));
    const double c = bits_as<double>(pair(in + 4));

    put_pair(out, bits_f64(a + b));
    put_pair(out + 2, bits_f64(a - b));
    put_pair(out + 4, bits_f64(a * b));
    put_pair(out + 6, bits_f64(a / b));
    put_pair(out + 8, bits_f64(__builtin_sqrt(a)));
    put_pair(out + 10, bits_f64(__builtin_fma(a, b, c)));
    put_pair(out + 12, bits_f64(__builtin_floor(a)));
    put_pair(out + 14, bits_f64(__builtin_ceil(a)));
    put_pair(out + 16, bits_f64(__builtin_trunc(a)));
    put_pair(out + 18, bits_f64(__builtin_rint(a)));
    put_pair(out + 20, bits_f64(-a * __builtin_fabs(b)));
    put_pair(out + 22, bits_f64(__builtin_copysign(a, b)));
    out[24] = (a < b) | (u32)(a <= b) << 1 | (u32)(a == b) << 2 |
              (u32)(a != b) << 3 | (u32)(a > b) << 4 | (u32)(a >= b) << 5 |
              (u32)__builtin_isunordered(a, b) << 6;
    out[25] = (u32)(i32)clamp64(a, 2147483647.0);
    out[26] = (u32)clamp64(__builtin_fabs(a), 4294967295.0);
    out[27] = bits_f32((float)a);
    put_pair(out + 28, bits_f64((double)(i64)pair(in)));
    put_pair(out + 30, bits_f64((double)pair(in)));
    put_pair(out + 32, (u64)(i64)clamp64(a, 9.2e18));
    put_pair(out + 34, (u64)clamp64(__builtin_fabs(a), 1.8e19));
    put_pair(out + 36, bits_f64((double)(i32)in[0] + (double)in[1]));
    put_pair(out + 38, bits_f64((double)bits_as<float>(in[0])));
}

LANE_TEST(float16, 3, 18)
{
    const f16 a = bits_as<f16>((u16)in[0]), b = bits_as<f16>((u16)in[1]);
    const f16 c = bits_as<f16>((u16)in[2]);

    out[0] = bits_f16(a + b);
    out[1] = bits_f16(a - b);
    out[2] = bits_f16(a * b);
    out[3] = bits_f16(a / b);
    out[4] = bits_f16((f16)__builtin_floorf((float)a));
    out[5] = bits_f16((f16)__builtin_ceilf((float)a));
    out[6] = bits_f16(-a);
    out[7] = bits_f16(a < (f16)0 ? -a : a);
    out[8] = bits_f32((float)a * (float)b + (float)c);
    out[9] = (a < b) | (u32)(a == b) << 1 | (u32)(a >= b) << 2;
    out[10] = bits_f16((f16)(i16)in[0]);
    out[11] = bits_f16((f16)(u16)in[0]);
    out[12] = a != a ? 0 : (u32)(i32)clamp32((float)a, 32767);
    out[13] = a != a || b != b ? 0 : bits_f16(a > b ? a : b);
    out[14] = bits_f16((f16)((double)a * (double)b));
    out[15] = bits_f16((f16)(a * b) + c);
    out[16] = bits_f16((f16)bits_as<float>(in[0]));
    out[17] = bits_f16((f16)(float)(in[1] >> 12));
}

typedef f16 f16x2 __attribute__((ext_vector_type(2)));

LANE_TEST(float16_packed, 3, 10)
{
    const f16x2 a = bits_as<f16x2>(in[0]), b = bits_as<f16x2>(in[1]);
    const f16x2 c = bits_as<f16x2>(in[2]);
    const f16x2 sum = a + b, product = a * b, mixed = a.yx * b + c;

    out[0] = bits_f16(sum.x);
    out[1] = bits_f16(sum.y);
    out[2] = bits_f16(product.x);
    out[3] = bits_f16(product.y);
    out[4] = bits_f16(mixed.x);
    out[5] = bits_f16(mixed.y);
    out[6] = bits_f16((-a - b).x);
    out[7] = bits_f16((a - b.xx).y);
    out[8] = bits_f32((float)a.x * (float)b.y + bits_as<float>(in[2]));
    out[9] = bits_f32((float)a.y + (float)b.x);
}

/* Chains that amplify one wrong bit: logistic map, Newton, Horner. */
LANE_TEST(float_chain, 2, 4)
{
    float x = (float)(in[0] >> 8) * 0x1p-24f, h = 0;
    double y = (double)(in[1] >> 4) * 0x1p-28 + 0.5, r = y;
    f16 z = (f16)((float)(in[0] & 0xff) * 0x1p-8f);

    for (int i = 0; i < 40; i++) {
        x = 3.75f * x * (1.0f - x);
        h = h * 0.5f + x;
        r = 0.5 * (r + y / r);
        z = z * (f16)1.5f - (f16)(float)(z > (f16)1.0f);
    }
    out[0] = bits_f32(x + h);
    put_pair(out + 1, bits_f64(r));
    out[3] = bits_f16(z);
}
