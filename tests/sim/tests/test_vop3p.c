/* test_vop3p.c - packed math, mixed precision, dot products */
#include "valu.h"

#define LO(x) ((uint16_t)(x))
#define HI(x) ((uint16_t)((x) >> 16))
#define PACK(lo, hi) d = (uint16_t)(lo) | (uint32_t)(uint16_t)(hi) << 16

static uint16_t add16(uint16_t a, uint16_t b)
{
    return valu_round16((long double)num16(a) + num16(b));
}

static uint16_t mul16(uint16_t a, uint16_t b)
{
    return valu_round16((long double)num16(a) * num16(b));
}

/* Products of 22 bits and sums of at most 41 + 11 bits: 64 hold them. */
static uint16_t fma16(uint16_t a, uint16_t b, uint16_t c)
{
    return valu_round16((long double)num16(a) * num16(b) + num16(c));
}

static int clamp16(int x, int lo, int hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* A number wins over NaN, +0 over -0 in max. */
static uint16_t order16(uint16_t a, uint16_t b, bool greater)
{
    double x = num16(a), y = num16(b);

    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0x7e00 : isnan(x) ? b : a;
    if (x == y)
        return greater == !!signbit(x) ? b : a;
    return (x > y) == greater ? a : b;
}

/* On gfx9 to gfx11 a signalling NaN wins; the last one named counts here. */
static uint16_t order16_ieee(uint16_t a, uint16_t b, bool greater)
{
    bool snan_a = isnan(num16(a)) && !(a & 0x200);
    bool snan_b = isnan(num16(b)) && !(b & 0x200);

    return snan_a || snan_b ? 0x7e00 : order16(a, b, greater);
}

static float lo32(uint64_t x)
{
    return as_f32((uint32_t)x);
}

static float hi32(uint64_t x)
{
    return as_f32((uint32_t)(x >> 32));
}

static uint64_t pair32(float lo, float hi)
{
    return bits_of(lo) | (uint64_t)bits_of(hi) << 32;
}

static float (*volatile fma32)(float, float, float) = fmaf;

/* Dot products flush denormals of f32, whatever MODE says. */
static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* An 8-bit float; e4m3 has NaN alone, e5m2 is like a short f16. */
static float small(uint32_t code, int mantissa, int bias)
{
    int e = (int)(code & 127) >> mantissa, m = (int)code % (1 << mantissa);
    double x =
        ldexp(m + (e ? 1 << mantissa : 0), (e ? e : 1) - bias - mantissa);

    if (mantissa == 2)
        return (float)num16((uint16_t)(code << 8));
    return (code & 127) == 127 ? NAN : (float)(code & 128 ? -x : x);
}

static int64_t dot(uint32_t a, uint32_t b, int bits, bool sa, bool sb)
{
    int64_t sum = 0;

    for (int n = 0; n < 32; n += bits) {
        int64_t x = a >> n & ((1 << bits) - 1), y = b >> n & ((1 << bits) - 1);

        if (sa && x >> (bits - 1))
            x -= INT64_C(1) << bits;
        if (sb && y >> (bits - 1))
            y -= INT64_C(1) << bits;
        sum += x * y;
    }
    return sum;
}

static int64_t limited(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* clang-format off */
#define packed(X)                                                             \
    X(ALL, v_pk_add_f16, pkf16, pkf16, pkf16, none,                           \
      PACK(add16(LO(a), LO(b)), add16(HI(a), HI(b))))                         \
    X(ALL, v_pk_mul_f16, pkf16, pkf16, pkf16, none,                           \
      PACK(mul16(LO(a), LO(b)), mul16(HI(a), HI(b))))                         \
    X(ALL, v_pk_fma_f16, pkf16, pkf16, pkf16, pkf16,                          \
      PACK(fma16(LO(a), LO(b), LO(c)), fma16(HI(a), HI(b), HI(c))))           \
    X(GFX9_TO_11, v_pk_min_f16, pkf16, pkf16, pkf16, none,                    \
      PACK(order16_ieee(LO(a), LO(b), false),                                 \
           order16_ieee(HI(a), HI(b), false)))                                \
    X(GFX9_TO_11, v_pk_max_f16, pkf16, pkf16, pkf16, none,                    \
      PACK(order16_ieee(LO(a), LO(b), true),                                  \
           order16_ieee(HI(a), HI(b), true)))                                 \
    X(GFX12, v_pk_max_num_f16, pkf16, pkf16, pkf16, none,                     \
      PACK(order16(LO(a), LO(b), true), order16(HI(a), HI(b), true)))         \
    X(GFX12, v_pk_min_num_f16, pkf16, pkf16, pkf16, none,                     \
      PACK(order16(LO(a), LO(b), false), order16(HI(a), HI(b), false)))       \
    X(GFX12, v_pk_maximum_f16, pkf16, pkf16, pkf16, none,                     \
      PACK(isnan(num16(LO(a))) || isnan(num16(LO(b)))                         \
             ? 0x7e00 : order16(LO(a), LO(b), true),                          \
           isnan(num16(HI(a))) || isnan(num16(HI(b)))                         \
             ? 0x7e00 : order16(HI(a), HI(b), true)))                         \
    X(GFX12, v_pk_minimum_f16, pkf16, pkf16, pkf16, none,                     \
      PACK(isnan(num16(LO(a))) || isnan(num16(LO(b)))                         \
             ? 0x7e00 : order16(LO(a), LO(b), false),                         \
           isnan(num16(HI(a))) || isnan(num16(HI(b)))                         \
             ? 0x7e00 : order16(HI(a), HI(b), false)))                        \
    X(ALL, v_pk_add_u16, u32, u32, u32, none,                                 \
      PACK(LO(a) + LO(b), HI(a) + HI(b)))                                     \
    X(ALL, v_pk_sub_u16, u32, u32, u32, none,                                 \
      PACK(LO(a) - LO(b), HI(a) - HI(b)))                                     \
    X(ALL, v_pk_add_i16, u32, u32, u32, none,                                 \
      PACK(LO(a) + LO(b), HI(a) + HI(b)))                                     \
    X(ALL, v_pk_sub_i16, u32, u32, u32, none,                                 \
      PACK(LO(a) - LO(b), HI(a) - HI(b)))                                     \
    X(ALL, v_pk_mul_lo_u16, u32, u32, u32, none,                              \
      PACK((uint32_t)LO(a) * LO(b), (uint32_t)HI(a) * HI(b)))                 \
    X(ALL, v_pk_mad_u16, u32, u32, u32, u32,                                  \
      PACK((uint32_t)LO(a) * LO(b) + LO(c), (uint32_t)HI(a) * HI(b) + HI(c))) \
    X(ALL, v_pk_mad_i16, u32, u32, u32, u32,                                  \
      PACK((uint32_t)LO(a) * LO(b) + LO(c), (uint32_t)HI(a) * HI(b) + HI(c))) \
    X(ALL, v_pk_min_u16, u32, u32, u32, none,                                 \
      PACK(fmin(LO(a), LO(b)), fmin(HI(a), HI(b))))                           \
    X(ALL, v_pk_max_u16, u32, u32, u32, none,                                 \
      PACK(fmax(LO(a), LO(b)), fmax(HI(a), HI(b))))                           \
    X(ALL, v_pk_min_i16, u32, u32, u32, none,                                 \
      PACK((int)fmin((int16_t)LO(a), (int16_t)LO(b)),                         \
           (int)fmin((int16_t)HI(a), (int16_t)HI(b))))                        \
    X(ALL, v_pk_max_i16, u32, u32, u32, none,                                 \
      PACK((int)fmax((int16_t)LO(a), (int16_t)LO(b)),                         \
           (int)fmax((int16_t)HI(a), (int16_t)HI(b))))                        \
    X(ALL, v_pk_lshlrev_b16, u32, u32, u32, none,                             \
      PACK((uint32_t)LO(b) << LO(a) % 16, (uint32_t)HI(b) << HI(a) % 16))     \
    X(ALL, v_pk_lshrrev_b16, u32, u32, u32, none,                             \
      PACK(LO(b) >> LO(a) % 16, HI(b) >> HI(a) % 16))                         \
    X(ALL, v_pk_ashrrev_i16, u32, u32, u32, none,                             \
      PACK((int16_t)LO(b) >> LO(a) % 16, (int16_t)HI(b) >> HI(a) % 16))       \
    X(GFX9 & ~ON_906, v_pk_add_f32, pkf32, pkf32, pkf32, none,                \
      d = pair32(lo32(a) + lo32(b), hi32(a) + hi32(b)))                       \
    X(GFX9 & ~ON_906, v_pk_mul_f32, pkf32, pkf32, pkf32, none,                \
      d = pair32(lo32(a) * lo32(b), hi32(a) * hi32(b)))                       \
    X(GFX9 & ~ON_906, v_pk_fma_f32, pkf32, pkf32, pkf32, pkf32,               \
      d = pair32(fma32(lo32(a), lo32(b), lo32(c)),                            \
                 fma32(hi32(a), hi32(b), hi32(c))))

#define selected(X)                                                           \
    X(ALL, swap_a, "v_pk_add_u16 D, A, B op_sel:[1,0] op_sel_hi:[0,1]", u32,  \
      u32, u32, none, PACK(HI(a) + LO(b), LO(a) + HI(b)))                     \
    X(ALL, all_low, "v_pk_add_u16 D, A, B op_sel_hi:[0,0]", u32, u32, u32,    \
      none, PACK(LO(a) + LO(b), LO(a) + LO(b)))                               \
    X(ALL, neg, "v_pk_mul_f16 D, A, B neg_lo:[1,0] neg_hi:[0,1]", pkf16,      \
      pkf16, pkf16, none, PACK(mul16(LO(a) ^ 0x8000, LO(b)),                  \
                               mul16(HI(a), HI(b) ^ 0x8000)))                 \
    X(ALL, constant, "v_pk_add_f16 D, A, 1.0 op_sel_hi:[1,0]", pkf16, pkf16,  \
      none, none, PACK(add16(LO(a), 0x3c00), add16(HI(a), 0x3c00)))           \
    X(ALL, pk_sat, "v_pk_add_u16 D, A, B clamp", u32, u32, u32, none,         \
      PACK(clamp16(LO(a) + LO(b), 0, 65535),                                  \
           clamp16(HI(a) + HI(b), 0, 65535)))                                 \
    X(ALL, pk_sat_i, "v_pk_sub_i16 D, A, B clamp", u32, u32, u32, none,       \
      PACK(clamp16((int16_t)LO(a) - (int16_t)LO(b), -32768, 32767),           \
           clamp16((int16_t)HI(a) - (int16_t)HI(b), -32768, 32767)))          \
    X(GFX9 & ~ON_906, pk_f32_sel,                                             \
      "v_pk_fma_f32 D, A, B, C op_sel:[1,0,0] op_sel_hi:[0,1,1] "             \
      "neg_lo:[0,1,0]", pkf32, pkf32, pkf32, pkf32,                           \
      d = pair32(fma32(hi32(a), -lo32(b), lo32(c)),                           \
                 fma32(lo32(a), hi32(b), hi32(c))))                           \
    X(GFX9 & ~ON_906, pk_mov, "v_pk_mov_b32 D, A, B op_sel:[1,0]", u64, u64,  \
      u64, none, d = a >> 32 | b << 32)                                       \
    X(ALL, mix_half,                                                          \
      "v_fma_mix_f32 D, A, B, C op_sel_hi:[1,0,0]", f32, u32, f32, f32,       \
      d = fma32((float)num16(LO(a)), b, c))                                   \
    X(ALL, mix_high, "v_fma_mix_f32 D, A, -B, |C| op_sel:[1,0,1] "            \
      "op_sel_hi:[1,0,1]", f32, u32, f32, u32,                                \
      d = fma32((float)num16(HI(a)), -b, fabsf((float)num16(HI(c)))))         \
    X(ALL, mixlo, "v_fma_mixlo_f16 D, A, B, C op_sel_hi:[1,1,1]", pkf16, u32, \
      u32, u32, d = (old & 0xffff0000u) | valu_round16((double)fma32(         \
      (float)num16(LO(a)), (float)num16(LO(b)), (float)num16(LO(c)))))        \
    X(ALL, mixhi, "v_fma_mixhi_f16 D, A, B, 0", pkf16, f32, f32, none,        \
      d = (old & 0xffff) |                                                    \
      (uint32_t)valu_round16((double)fma32(a, b, 0)) << 16)

#define dots(X)                                                               \
    X(ALL & ~GFX11_12, dot4_i8, "v_dot4_i32_i8 D, A, B, C", u32, u32, u32,    \
      u32, d = c + (uint32_t)dot(a, b, 8, true, true))                        \
    X(ALL, dot4_u8, "v_dot4_u32_u8 D, A, B, C", u32, u32, u32, u32,           \
      d = c + (uint32_t)dot(a, b, 8, false, false))                           \
    X(ALL, dot4_u8_sat, "v_dot4_u32_u8 D, A, B, C clamp", u32, u32, u32, u32, \
      d = (uint32_t)limited(c + dot(a, b, 8, false, false), 0, UINT32_MAX))   \
    X(ALL & ~GFX11_12, dot8_i4, "v_dot8_i32_i4 D, A, B, C", u32, u32, u32,    \
      u32, d = c + (uint32_t)dot(a, b, 4, true, true))                        \
    X(ALL, dot8_u4, "v_dot8_u32_u4 D, A, B, C", u32, u32, u32, u32,           \
      d = c + (uint32_t)dot(a, b, 4, false, false))                           \
    X(GFX11_12, iu8, "v_dot4_i32_iu8 D, A, B, C neg_lo:[1,0,0]", u32, u32,    \
      u32, u32, d = c + (uint32_t)dot(a, b, 8, true, false))                  \
    X(GFX11_12, iu8_sat, "v_dot4_i32_iu8 D, A, B, C neg_lo:[0,1,0] clamp",    \
      i32, u32, u32, i32, d = (int32_t)limited(c + dot(a, b, 8, false, true), \
      INT32_MIN, INT32_MAX))                                                  \
    X(GFX11_12, iu4, "v_dot8_i32_iu4 D, A, B, C neg_lo:[1,1,0]", u32, u32,    \
      u32, u32, d = c + (uint32_t)dot(a, b, 4, true, true))                   \
    X(GFX9 | GFX10, dot2_i16, "v_dot2_i32_i16 D, A, B, C", u32, u32, u32,     \
      u32, d = c + (uint32_t)dot(a, b, 16, true, true))                       \
    X(GFX9 | GFX10, dot2_u16, "v_dot2_u32_u16 D, A, B, C", u32, u32, u32,     \
      u32, d = c + (uint32_t)dot(a, b, 16, false, false))                     \
    X(GFX9 & ~ON_906, dot4c, "v_dot4c_i32_i8 D, A, B", u32, u32, u32, none,   \
      d = old + (uint32_t)dot(a, b, 8, true, true))                           \
    X(ON_90A | ON_942, dot8c, "v_dot8c_i32_i4 D, A, B", u32, u32, u32, none,  \
      d = old + (uint32_t)dot(a, b, 4, true, true))                           \
    X(ON_90A | ON_942, dot2c_i16, "v_dot2c_i32_i16 D, A, B", u32, u32, u32,   \
      none, d = old + (uint32_t)dot(a, b, 16, true, true))                    \
    X(GFX11_12, dot2_f16_f16, "v_dot2_f16_f16 D, A, B, C", f16, u32, u32,     \
      u16, uint16_t r = fma16(LO(a), LO(b), c); r = fma16(HI(a), HI(b), r);   \
      memcpy(&d, &r, 2))                                                      \
    X(GFX11, dot2acc, "v_dot2acc_f32_f16 D, A, B", f32, u32, u32, none,       \
      d = fma32((float)num16(LO(a)), (float)num16(LO(b)), flushed(old));               \
      d = fma32((float)num16(HI(a)), (float)num16(HI(b)), d); d = flushed(d))                 \
    X(ALL, dot2_f16, "v_dot2_f32_f16 D, A, B, C", f32, u32, u32, f32,         \
      d = fma32((float)num16(LO(a)), (float)num16(LO(b)), flushed(c));                 \
      d = fma32((float)num16(HI(a)), (float)num16(HI(b)), d); d = flushed(d))                 \
    X(GFX11_12 | ON_950, dot2_bf16, "v_dot2_f32_bf16 D, A, B, C", f32, u32,   \
      u32, f32, d = fma32(as_f32(a << 16), as_f32(b << 16), flushed(c));               \
      d = fma32(as_f32(a & 0xffff0000u), as_f32(b & 0xffff0000u), d); d = flushed(d))         \
    X(GFX12, dot4_ff, "v_dot4_f32_fp8_fp8 D, A, B, C", f32, u32, u32, f32,    \
      d = c; for (int n = 0; n < 32; n += 8)                                  \
          d = fma32(small(a >> n & 255, 3, 7), small(b >> n & 255, 3, 7), d)) \
    X(GFX12, dot4_bf, "v_dot4_f32_bf8_fp8 D, A, B, C", f32, u32, u32, f32,    \
      d = c; for (int n = 0; n < 32; n += 8)                                  \
          d = fma32(small(a >> n & 255, 2, 15), small(b >> n & 255, 3, 7), d)) \
    X(GFX12, dot4_bb, "v_dot4_f32_bf8_bf8 D, A, B, C", f32, u32, u32, f32,    \
      d = c; for (int n = 0; n < 32; n += 8)                                  \
          d = fma32(small(a >> n & 255, 2, 15), small(b >> n & 255, 2, 15),   \
                    d))                                                       \
    X(GFX12, dot4_f32, "v_dot4_f32_fp8_bf8 D, A, B, C", f32, u32, u32, f32,   \
      d = c; for (int n = 0; n < 32; n += 8)                                  \
          d = fma32(small(a >> n & 255, 3, 7), small(b >> n & 255, 2, 15), d)) \
    X(ON_90A | ON_942 | ON_1030, dot2c, "v_dot2c_f32_f16 D, A, B", f32, u32,  \
      u32, none, d = fma32((float)num16(LO(a)), (float)num16(LO(b)), flushed(old));    \
      d = fma32((float)num16(HI(a)), (float)num16(HI(b)), d); d = flushed(d))
/* clang-format on */

VALU_TEST(packed)
VALU_TEXT_TEST(selected)
VALU_TEXT_TEST(dots)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_selected),
        cmocka_unit_test(test_dots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
