/* test_vop2.c - vector instructions of two sources */
#include "valu.h"

static float flt(double x) /* one rounding, at run time */
{
    volatile double v = x;

    return (float)v;
}

static int32_t mul24_lo(uint32_t a, uint32_t b, bool is_signed)
{
    int64_t x = a & 0xffffff, y = b & 0xffffff;

    if (is_signed && x > 0x7fffff)
        x -= 0x1000000;
    if (is_signed && y > 0x7fffff)
        y -= 0x1000000;
    return (int32_t)(x * y);
}

static int64_t signed24(uint32_t a)
{
    int64_t x = a % 0x1000000;

    return x >= 0x800000 ? x - 0x1000000 : x;
}

static float num_f32(uint32_t a, uint32_t b, bool greater)
{
    float x = as_f32(a), y = as_f32(b);

    if (isnan(x) || isnan(y))
        return isnan(x) ? y : x;
    if (x == y)
        return !!signbit(x) == greater ? y : x;
    return (x > y) == greater ? x : y;
}

/* With MODE.IEEE a signalling NaN wins; gfx12 has no such bit. */
static float minmax_f32(struct valu_lane *l, bool greater)
{
    uint32_t a = (uint32_t)l->a, b = (uint32_t)l->b;
    bool snan_a = isnan(as_f32(a)) && !(a & 0x400000);
    bool snan_b = isnan(as_f32(b)) && !(b & 0x400000);

    if (strcmp(l->target, "gfx1201") != 0 && (snan_a || snan_b))
        return NAN;
    return num_f32(a, b, greater);
}

static bool is_snan64(uint64_t u)
{
    return (u & INT64_MAX) > 0x7ff0000000000000 && !(u & 0x8000000000000);
}

/* Toward zero: the nearest, or the one before it if that is larger. */
static uint32_t toward_zero16(float x)
{
    uint16_t r = valu_round16(x);

    if (isnan(x) || isinf(x))
        return r;
    return fabs(num16(r)) > fabs((double)x) ? r - 1u : r;
}

static uint32_t pair16(long double lo, long double hi)
{
    return (uint16_t)(int32_t)lo | (uint32_t)(uint16_t)(int32_t)hi << 16;
}

/* To nearest, ties to even, of a number between lo and 1 times n. */
static long double normalised(double x, double lo, double n)
{
    return rintl((isnan(x) ? 0 : x < lo ? lo : x > 1 ? 1 : (long double)x) * n);
}

static long double saturated(double x, double lo, double hi)
{
    return isnan(x) ? 0 : truncl(x < lo ? lo : x > hi ? hi : x);
}

/* clang-format off */
#define integers(X)                                                           \
    X(ALL,      v_and_b32,      u32, u32, u32, none, d = ~(~a | ~b))          \
    X(ALL,      v_or_b32,       u32, u32, u32, none, d = ~(~a & ~b))          \
    X(ALL,      v_xor_b32,      u32, u32, u32, none, d = (a | b) - (a & b))   \
    X(ALL,      v_xnor_b32,     u32, u32, u32, none,                          \
      d = (a & b) | ~(a | b))                                                 \
    X(ALL,      v_lshlrev_b32,  u32, u32, u32, none,                          \
      d = (uint32_t)((uint64_t)b << (a % 32)))                                \
    X(ALL,      v_lshrrev_b32,  u32, u32, u32, none,                          \
      d = (uint32_t)(((uint64_t)b << 32) >> (32 + a % 32)))                   \
    X(ALL,      v_ashrrev_i32,  i32, u32, i32, none,                          \
      d = (int32_t)floor((double)b / (double)(UINT64_C(1) << a % 32)))        \
    X(ALL & ~GFX10, v_lshrrev_b64, u64, u32, u64, none, d = b >> a % 64)      \
    X(ALL,      v_lshlrev_b64,  u64, u32, u64, none, d = b << a % 64)         \
    X(ALL,      v_ashrrev_i64,  i64, u32, i64, none, d = b >> a % 64)         \
    X(GFX9,     v_add_u32,      u32, u32, u32, none, d = a - ~b - 1)          \
    X(GFX9,     v_sub_u32,      u32, u32, u32, none, d = a + ~b + 1)          \
    X(GFX9,     v_subrev_u32,   u32, u32, u32, none, d = b + ~a + 1)          \
    X(GFX10_UP, v_add_nc_u32,   u32, u32, u32, none, d = a - ~b - 1)          \
    X(GFX10_UP, v_sub_nc_u32,   u32, u32, u32, none, d = a + ~b + 1)          \
    X(GFX10_UP, v_subrev_nc_u32, u32, u32, u32, none, d = b + ~a + 1)         \
    X(GFX9,     v_add_i32,      u32, u32, u32, none, d = b + a)               \
    X(GFX10_UP, v_add_nc_i32,   u32, u32, u32, none, d = b + a)               \
    X(GFX9,     v_sub_i32,      u32, u32, u32, none, d = a - b)               \
    X(ALL,      v_min_i32,      i32, i32, i32, none, d = b > a ? a : b)       \
    X(ALL,      v_max_i32,      i32, i32, i32, none, d = b > a ? b : a)       \
    X(ALL,      v_min_u32,      u32, u32, u32, none, d = b > a ? a : b)       \
    X(ALL,      v_max_u32,      u32, u32, u32, none, d = b > a ? b : a)       \
    X(ALL,      v_mul_i32_i24,  i32, u32, u32, none,                          \
      d = mul24_lo(a, b, true))                                               \
    X(ALL,      v_mul_u32_u24,  i32, u32, u32, none,                          \
      d = mul24_lo(a, b, false))                                              \
    X(ALL,      v_mul_hi_i32_i24, i32, u32, u32, none,                        \
      d = (int32_t)((signed24(a) * signed24(b) -                              \
                     (int64_t)((uint64_t)(signed24(a) * signed24(b)) %        \
                               0x100000000)) / 0x100000000))                  \
    X(ALL,      v_mul_hi_u32_u24, u32, u32, u32, none,                        \
      d = (uint32_t)((uint64_t)(a % 0x1000000) * (b % 0x1000000) /            \
                     0x100000000))                                            \
    X(ALL,      v_mul_lo_u32,   u32, u32, u32, none,                          \
      d = (uint32_t)((__int128)a * b))                                        \
    X(ALL,      v_mul_hi_u32,   u32, u32, u32, none,                          \
      d = (uint32_t)((unsigned __int128)a * b / 0x100000000))                 \
    X(ALL,      v_mul_hi_i32,   i32, i32, i32, none,                          \
      d = (int32_t)(((__int128)a * b) >> 32))                                 \
    X(ALL,      v_bfm_b32,      u32, u32, u32, none,                          \
      d = ~(UINT32_MAX << a % 32) << b % 32)                                  \
    X(ALL,      v_bcnt_u32_b32, u32, u32, u32, none,                          \
      d = b; for (int n = 0; n < 32; n++) d += a >> n & 1)                    \
    X(ALL,      v_cvt_pk_u16_u32, u32, u32, u32, none,                        \
      d = (uint32_t)fmin(a, 65535) + (uint32_t)fmin(b, 65535) * 65536)        \
    X(ALL,      v_cvt_pk_i16_i32, u32, i32, i32, none,                        \
      d = ((uint32_t)(int32_t)fmax(fmin(a, 32767), -32768) & 65535) |         \
          (uint32_t)(int32_t)fmax(fmin(b, 32767), -32768) << 16)

#define halves(X)                                                             \
    X(GFX9,     v_add_u16, u16, u16, u16, none, d = (uint16_t)(a + b))        \
    X(GFX9,     v_sub_u16, u16, u16, u16, none, d = (uint16_t)(a - b))        \
    X(GFX9,     v_subrev_u16, u16, u16, u16, none, d = (uint16_t)(b - a))     \
    X(GFX10_UP, v_add_nc_u16, u16, u16, u16, none, d = (uint16_t)(a + b))     \
    X(GFX10_UP, v_sub_nc_u16, u16, u16, u16, none, d = (uint16_t)(a - b))     \
    X(GFX10_UP, v_add_nc_i16, u16, u16, u16, none, d = (uint16_t)(a + b))     \
    X(GFX10_UP, v_sub_nc_i16, u16, u16, u16, none, d = (uint16_t)(a - b))     \
    X(ALL,      v_mul_lo_u16, u16, u16, u16, none,                            \
      d = (uint16_t)((uint64_t)a * b % 65536))                                \
    X(ALL,      v_lshlrev_b16, u16, u16, u16, none,                           \
      d = (uint16_t)((uint64_t)b << a % 16))                                  \
    X(ALL,      v_lshrrev_b16, u16, u16, u16, none,                           \
      d = (uint16_t)(b / (1 << a % 16)))                                      \
    X(ALL,      v_ashrrev_i16, i16, u16, i16, none,                           \
      d = (int16_t)floor(b / (double)(1 << a % 16)))                          \
    X(ALL,      v_min_u16, u16, u16, u16, none, d = b > a ? a : b)            \
    X(ALL,      v_max_u16, u16, u16, u16, none, d = b > a ? b : a)            \
    X(ALL,      v_min_i16, i16, i16, i16, none, d = b > a ? a : b)            \
    X(ALL,      v_max_i16, i16, i16, i16, none, d = b > a ? b : a)            \
    X(GFX11_12, v_and_b16, u16, u16, u16, none, d = a & b)                    \
    X(GFX11_12, v_or_b16,  u16, u16, u16, none, d = a | b)                    \
    X(GFX11_12, v_xor_b16, u16, u16, u16, none, d = a ^ b)

/* f16 as bits: rounded from the exact value by another way. */
#define f16(X)                                                                \
    X(ALL, v_add_f16, f16, u16, u16, none, uint16_t r =                       \
      valu_round16((long double)num16(a) + num16(b)); memcpy(&d, &r, 2))      \
    X(ALL, v_sub_f16, f16, u16, u16, none, uint16_t r =                       \
      valu_round16((long double)num16(a) - num16(b)); memcpy(&d, &r, 2))      \
    X(ALL, v_subrev_f16, f16, u16, u16, none, uint16_t r =                    \
      valu_round16((long double)num16(b) - num16(a)); memcpy(&d, &r, 2))      \
    X(ALL, v_mul_f16, f16, u16, u16, none, uint16_t r =                       \
      valu_round16((long double)num16(a) * num16(b)); memcpy(&d, &r, 2))      \
    X(ALL, v_ldexp_f16, f16, u16, i16, none, uint16_t r =                     \
      valu_round16(ldexpl(num16(a), b)); memcpy(&d, &r, 2))                   \
    X(ALL, v_pack_b32_f16, u32, u16, u16, none, d = a + 65536u * b)           \
    X(GFX10_UP, v_fmac_f16, f16, u16, u16, none, uint16_t o;                  \
      memcpy(&o, &old, 2); uint16_t r = valu_round16(                         \
          (long double)num16(a) * num16(b) + num16(o)); memcpy(&d, &r, 2))

#define f32(X)                                                                \
    X(ALL, v_add_f32, f32, f32, f32, none, d = flt((double)a + b))            \
    X(ALL, v_sub_f32, f32, f32, f32, none, d = flt((double)a - b))            \
    X(ALL, v_subrev_f32, f32, f32, f32, none, d = flt((double)b - a))         \
    X(ALL, v_mul_f32, f32, f32, f32, none, d = flt((double)a * b))            \
    X(GFX9_TO_11, v_min_f32, f32, u32, u32, none, d = minmax_f32(l, false))   \
    X(GFX9_TO_11, v_max_f32, f32, u32, u32, none, d = minmax_f32(l, true))    \
    X(GFX12, v_min_num_f32, f32, u32, u32, none, d = minmax_f32(l, false))    \
    X(GFX12, v_max_num_f32, f32, u32, u32, none, d = minmax_f32(l, true))     \
    X(GFX12, v_minimum_f32, f32, u32, u32, none,                              \
      d = isnan(as_f32(a)) || isnan(as_f32(b)) ? NAN : num_f32(a, b, false))  \
    X(GFX12, v_maximum_f32, f32, u32, u32, none,                              \
      d = isnan(as_f32(a)) || isnan(as_f32(b)) ? NAN : num_f32(a, b, true))   \
    X(GFX9 & ~(ON_942 | ON_950), v_mul_legacy_f32, f32, f32, f32, none,       \
      d = a == 0 || b == 0 ? 0 : flt((double)a * b))                          \
    X(GFX11_12, v_mul_dx9_zero_f32, f32, f32, f32, none,                      \
      d = a == 0 || b == 0 ? 0 : flt((double)a * b))                          \
    X(ALL, v_ldexp_f32, f32, f32, i32, none,                                  \
      d = isnan(a) ? a : ldexpf(a, b < -999 ? -999 : b > 999 ? 999 : b))      \
    X(GFX10_UP, v_fmac_f32, f32, f32, f32, none,                              \
      float (*volatile f)(float, float, float) = fmaf; d = f(a, b, old))

#define f64(X)                                                                \
    X(GFX9 | GFX10_11, v_add_f64, f64, f64, f64, none,                        \
      volatile double x = a; d = x + b)                                       \
    X(GFX12, v_add_f64_e32, f64, f64, f64, none, volatile double x = a;       \
      d = b + x)                                                              \
    X(ALL, v_mul_f64, f64, f64, f64, none, volatile double x = a; d = x * b)  \
    X(GFX9_TO_11, v_max_f64, f64, f64, f64, none,                             \
      d = is_snan64(l->a) || is_snan64(l->b) ? (double)NAN                      \
          : a == b ? (signbit(a) ? b : a) : fmax(a, b))                       \
    X(GFX9_TO_11, v_min_f64, f64, f64, f64, none,                             \
      d = is_snan64(l->a) || is_snan64(l->b) ? (double)NAN                      \
          : a == b && signbit(b) ? b : a == b ? a : fmin(a, b))               \
    X(ALL, v_ldexp_f64, f64, f64, i32, none,                                  \
      d = isnan(a) ? a : ldexp(a, b < -9999 ? -9999 : b > 9999 ? 9999 : b))   \
    X(ON_90A | ON_942 | ON_950, v_fmac_f64, f64, f64, f64, none,              \
      double (*volatile f)(double, double, double) = fma; d = f(a, b, old))

/* Pairs of 16 bits; NaN of pkrtz by halves. */
#define pairs(X)                                                              \
    X(GFX9, v_cvt_pkrtz_f16_f32, pkf16, f32, f32, none,                       \
      d = toward_zero16(a) | toward_zero16(b) << 16)                          \
    X(GFX11_12, v_cvt_pk_rtz_f16_f32, pkf16, f32, f32, none,                  \
      d = toward_zero16(a) | toward_zero16(b) << 16)                          \
    X(GFX9 | GFX10, v_cvt_pknorm_i16_f32, u32, f32, f32, none,                \
      d = pair16(normalised(a, -1, 32767), normalised(b, -1, 32767)))         \
    X(GFX9 | GFX10, v_cvt_pknorm_u16_f32, u32, f32, f32, none,                \
      d = pair16(normalised(a, 0, 65535), normalised(b, 0, 65535)))           \
    X(GFX11_12, v_cvt_pk_norm_i16_f32, u32, f32, f32, none,                   \
      d = pair16(normalised(a, -1, 32767), normalised(b, -1, 32767)))         \
    X(GFX11_12, v_cvt_pk_norm_u16_f32, u32, f32, f32, none,                   \
      d = pair16(normalised(a, 0, 65535), normalised(b, 0, 65535)))           \
    X(GFX9 | GFX10, v_cvt_pknorm_i16_f16, u32, u16, u16, none,                \
      d = pair16(normalised(num16(a), -1, 32767),                             \
                 normalised(num16(b), -1, 32767)))                            \
    X(GFX9 | GFX10, v_cvt_pknorm_u16_f16, u32, u16, u16, none,                \
      d = pair16(normalised(num16(a), 0, 65535),                              \
                 normalised(num16(b), 0, 65535)))                             \
    X(GFX11_12, v_cvt_pk_norm_i16_f16, u32, u16, u16, none,                   \
      d = pair16(normalised(num16(a), -1, 32767),                             \
                 normalised(num16(b), -1, 32767)))                            \
    X(GFX11_12, v_cvt_pk_norm_u16_f16, u32, u16, u16, none,                   \
      d = pair16(normalised(num16(a), 0, 65535),                              \
                 normalised(num16(b), 0, 65535)))                             \
    X(GFX11_12, v_cvt_pk_i16_f32, u32, f32, f32, none,                        \
      d = pair16(saturated(a, -32768, 32767), saturated(b, -32768, 32767)))   \
    X(GFX11_12, v_cvt_pk_u16_f32, u32, f32, f32, none,                        \
      d = pair16(saturated(a, 0, 65535), saturated(b, 0, 65535)))             \
    X(ON_950, v_cvt_pk_f16_f32, pkf16, f32, f32, none,                        \
      d = valu_round16(a) | (uint32_t)valu_round16(b) << 16)                  \
    X(ON_950, v_cvt_pk_bf16_f32, pkbf16, f32, f32, none,                      \
      d = valu_round_bf16(a) | (uint32_t)valu_round_bf16(b) << 16)            \
    X(GFX9 & ~ON_906, v_pk_fmac_f16, pkf16, u32, u32, none,                   \
      d = valu_round16((long double)num16((uint16_t)a) * num16((uint16_t)b) + \
                       num16((uint16_t)old)) |                                \
          (uint32_t)valu_round16((long double)num16((uint16_t)(a >> 16)) *    \
                                 num16((uint16_t)(b >> 16)) +                 \
                                 num16((uint16_t)(old >> 16))) << 16)

#define older(X)                                                              \
    X(ON_906 | ON_90A, v_mac_f32, f32, f32, f32, none,                        \
      volatile float p = a; p *= b; d = p + old)                              \
    X(GFX9, v_mad_legacy_f16, f16, u16, u16, u16,                             \
      uint16_t p = valu_round16((long double)num16(a) * num16(b));            \
      uint16_t r = valu_round16((long double)num16(p) + num16(c));            \
      memcpy(&d, &r, 2))                                                      \
    X(GFX9, v_mad_legacy_u16, u16, u16, u16, u16,                             \
      d = (uint16_t)((uint64_t)a * b + c))                                    \
    X(GFX9, v_mad_legacy_i16, u16, u16, u16, u16,                             \
      d = (uint16_t)((uint64_t)a * b + c))                                    \
    X(GFX11, v_fmac_dx9_zero_f32,    f32, f32, f32, none,                     \
      float (*volatile f)(float, float, float) = fmaf;                        \
      d = a == 0 || b == 0 ? old : f(a, b, old))                              \
    X(GFX11_12, v_fma_dx9_zero_f32, f32, f32, f32, f32,                       \
      float (*volatile f)(float, float, float) = fmaf;                        \
      d = a == 0 || b == 0 ? c : f(a, b, c))

/* IEEE 754-2019's minimum and maximum (gfx12): NaN wins. */
#define BOTH(x, y) (isnan(x) || isnan(y))
#define ieee2019(X)                                                           \
    X(GFX12, v_minimum_f64, f64, f64, f64, none, d = BOTH(a, b)               \
      ? (double)NAN : a == b ? (signbit(a) ? a : b) : fmin(a, b))             \
    X(GFX12, v_maximum_f64, f64, f64, f64, none, d = BOTH(a, b)               \
      ? (double)NAN : a == b ? (signbit(a) ? b : a) : fmax(a, b))             \
    X(GFX12, v_minimum_f16, f16, u16, u16, none, uint16_t r =                 \
      BOTH(num16(a), num16(b)) ? 0x7e00 : num16(a) == num16(b) ? a | b        \
      : valu_round16(fmin(num16(a), num16(b))); memcpy(&d, &r, 2))            \
    X(GFX12, v_maximum_f16, f16, u16, u16, none, uint16_t r =                 \
      BOTH(num16(a), num16(b)) ? 0x7e00 : num16(a) == num16(b) ? a & b        \
      : valu_round16(fmax(num16(a), num16(b))); memcpy(&d, &r, 2))            \
    X(ON_1030, v_fmac_legacy_f32, f32, f32, f32, none,                        \
      float (*volatile f)(float, float, float) = fmaf;                        \
      d = a == 0 || b == 0 ? old : f(a, b, old))                              \
    X(ON_1030, v_fma_legacy_f32, f32, f32, f32, f32,                          \
      float (*volatile f)(float, float, float) = fmaf;                        \
      d = a == 0 || b == 0 ? c : f(a, b, c))

#define masks(X)                                                              \
    X(ALL, cndmask, "v_cndmask_b32 D, A, B, M", u32, u32, u32, none,          \
      d = l->mask_in ? b : a)                                                 \
    X(GFX11_12, cndmask16, "v_cndmask_b16 D, A, B, M", u16, u16, u16, none,   \
      d = l->mask_in ? b : a)                                                 \
    X(ALL, cndmask_neg, "v_cndmask_b32_e64 D, -A, |B|, M", u32, u32, u32,     \
      none, d = l->mask_in ? b & INT32_MAX : a ^ 0x80000000)                  \
    X(GFX9, addc, "v_addc_co_u32 D, W, A, B, M", u32, u32, u32, none,         \
      uint64_t s = (uint64_t)a + b + l->mask_in; d = (uint32_t)s;             \
      l->mask_out = s > UINT32_MAX)                                           \
    X(GFX9, subb, "v_subb_co_u32 D, W, A, B, M", u32, u32, u32, none,         \
      int64_t s = (int64_t)a - b - l->mask_in; d = (uint32_t)s;               \
      l->mask_out = s < 0)                                                    \
    X(GFX9, subbrev, "v_subbrev_co_u32 D, W, A, B, M", u32, u32, u32, none,   \
      int64_t s = (int64_t)b - a - l->mask_in; d = (uint32_t)s;               \
      l->mask_out = s < 0)                                                    \
    X(GFX10_UP, add_ci, "v_add_co_ci_u32 D, W, A, B, M", u32, u32, u32, none, \
      uint64_t s = (uint64_t)a + b + l->mask_in; d = (uint32_t)s;             \
      l->mask_out = s > UINT32_MAX)                                           \
    X(GFX10_UP, sub_ci, "v_sub_co_ci_u32 D, W, A, B, M", u32, u32, u32, none, \
      int64_t s = (int64_t)a - b - l->mask_in; d = (uint32_t)s;               \
      l->mask_out = s < 0)                                                    \
    X(ALL, add_co, "v_add_co_u32 D, W, A, B", u32, u32, u32, none,            \
      d = a + b; l->mask_out = d < a)                                         \
    X(ALL, sub_co, "v_sub_co_u32 D, W, A, B", u32, u32, u32, none,            \
      d = a - b; l->mask_out = b > a)                                         \
    X(ALL, subrev_co, "v_subrev_co_u32 D, W, A, B", u32, u32, u32, none,      \
      d = b - a; l->mask_out = a > b)

/* Modifiers of sources and of the result. */
static float clamp01(float x)
{
    return isnan(x) || x <= 0 ? 0 : x > 1 ? 1 : x;
}

#define modifiers(X)                                                          \
    X(ALL, neg_abs, "v_add_f32_e64 D, -A, |B|", f32, f32, f32, none,          \
      d = flt(fabs((double)b) - a))                                           \
    X(ALL, neg_of_abs, "v_mul_f32_e64 D, -|A|, B", f32, f32, f32, none,       \
      d = flt(-fabs((double)a) * b))                                          \
    X(ALL, clamp, "v_add_f32_e64 D, A, B clamp", f32, f32, f32, none,         \
      d = clamp01(flt((double)a + b)))                                        \
    X(ALL, constant, "v_add_f32 D, 0.5, B", f32, f32, f32, none,              \
      d = flt(0.5 + b))                                                       \
    X(ALL, inverse_two_pi, "v_mul_f32 D, 0.15915494, B", f32, f32, f32, none, \
      d = flt((double)as_f32(0x3e22f983) * b))                                \
    X(ALL, literal, "v_add_f32 D, 0x40490fdb, B", f32, f32, f32, none,        \
      d = flt((double)as_f32(0x40490fdb) + b))                                \
    X(ON_942 | ON_950 | GFX10_UP, madk, "v_fmaak_f32 D, A, B, 0x40490fdb", f32, f32, f32, none,      \
      float (*volatile f)(float, float, float) = fmaf;                        \
      d = f(a, b, as_f32(0x40490fdb)))                                        \
    X(GFX9, add_sat, "v_add_u32_e64 D, A, B clamp", u32, u32, u32, none,      \
      d = (uint32_t)fmin((double)a + b, UINT32_MAX))                          \
    X(GFX10_UP, add_nc_sat, "v_add_nc_u32_e64 D, A, B clamp", u32, u32, u32,  \
      none, d = (uint32_t)fmin((double)a + b, UINT32_MAX))                    \
    X(GFX10_UP, add_i_sat, "v_add_nc_i32 D, A, B clamp", i32, i32, i32, none, \
      d = (int32_t)fmax(fmin((double)a + b, INT32_MAX), INT32_MIN))           \
    X(GFX9, add_u16_sat, "v_add_u16_e64 D, A, B clamp", u16, u16, u16, none,  \
      d = (uint16_t)fmin(a + b, 65535))                                       \
    X(GFX9, sub_u16_sat, "v_sub_u16_e64 D, A, B clamp", u16, u16, u16, none,  \
      d = (uint16_t)fmax(a - b, 0))
/* clang-format on */

VALU_TEST(integers)
VALU_TEST(halves)
VALU_TEST(f16)
VALU_TEST(f32)
VALU_TEST(f64)
VALU_TEST(pairs)
VALU_TEST(older)
VALU_TEST(ieee2019)
VALU_TEXT_TEST(masks)
VALU_TEXT_TEST(modifiers)

/* ---- omod: on when the MODE has f32 denormals off ---- */

static void test_omod_scales_the_result(void **state)
{
    struct asm_state *st = asm_new("gfx1030", 32);

    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        st->v[1][i] = bits_of((float)i);
        st->v[2][i] = bits_of(0.5f);
    }
    asm_run(st, "v_add_f32_e64 v3, v1, v2 mul:2\n"
                "v_add_f32_e64 v4, v1, v2 mul:4\n"
                "v_add_f32_e64 v5, v1, v2 div:2\n"
                "v_add_f32_e64 v6, v1, v2 clamp div:2");
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(st->v[3][i], bits_of(2 * i + 1.0f));
        assert_int_equal(st->v[4][i], bits_of(4 * i + 2.0f));
        assert_int_equal(st->v[5][i], bits_of(i / 2.0f + 0.25f));
        assert_int_equal(st->v[6][i], bits_of(i < 2 ? i / 2.0f + 0.25f : 1.0f));
    }
    asm_free(st);
}

/* ---- inactive lanes, other half of a register ---- */

static void test_lanes_that_are_off_keep_their_value(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        st->v[1][i] = i;
        st->v[3][i] = st->v[4][i] = 1000 + i;
        st->v[5][i] = 2000 + i;
    }
    st->s[SREG_EXEC] = 0x0000ffff;
    st->s[SREG_EXEC + 1] = 0x80000000;
    asm_run(st, "v_add_u32 v3, v1, v1\n"
                "v_lshlrev_b64 v[4:5], 1, v[4:5]\n"
                "v_add_co_u32 v6, s[10:11], v1, -1");
    for (unsigned i = 0; i < 64; i++) {
        bool on = i < 16 || i == 63;

        assert_int_equal(st->v[3][i], on ? 2 * i : 1000 + i);
        assert_int_equal(st->v[4][i], on ? 2 * (1000 + i) : 1000 + i);
        assert_int_equal(st->v[5][i], on ? 2 * (2000 + i) : 2000 + i);
    }
    /* Inactive lanes have a carry of 0, active lanes 1 but for lane 0. */
    assert_int_equal(st->s[10], 0x0000fffe);
    assert_int_equal(st->s[11], 0x80000000);
    asm_free(st);
}

static uint32_t high_half_after(const char *target, const char *text)
{
    struct asm_state *st = asm_new(target, 64);
    uint32_t v;

    st->v[0][5] = 0xabcd1234;
    st->v[1][5] = st->v[2][5] = st->v[3][5] = 0x00010001;
    asm_run(st, text);
    v = st->v[0][5] >> 16;
    asm_free(st);
    return v;
}

static void test_16_bit_results_clear_or_keep_the_high_half(void **state)
{
    (void)state;
    assert_int_equal(high_half_after("gfx942", "v_add_f16 v0, v1, v2"), 0);
    assert_int_equal(high_half_after("gfx942", "v_mul_lo_u16 v0, v1, v2"), 0);
    assert_int_equal(high_half_after("gfx90a", "v_cvt_f16_f32 v0, v1"), 0);
    assert_int_equal(
        high_half_after("gfx90a", "v_mad_legacy_u16 v0, v1, v2, v3"), 0);
    assert_int_equal(high_half_after("gfx90a", "v_mad_u16 v0, v1, v2, v3"),
                     0xabcd);
    assert_int_equal(high_half_after("gfx942", "v_fma_f16 v0, v1, v2, v3"),
                     0xabcd);
    assert_int_equal(high_half_after("gfx906", "v_mac_f16 v0, v1, v2"), 0xabcd);
    assert_int_equal(high_half_after("gfx1030", "v_add_f16 v0, v1, v2"),
                     0xabcd);
    assert_int_equal(high_half_after("gfx1030", "v_cvt_f16_f32 v0, v1"),
                     0xabcd);
    assert_int_equal(high_half_after("gfx1100", "v_add_f16 v0.l, v1.l, v2.l"),
                     0xabcd);
    assert_int_equal(
        high_half_after("gfx1100", "v_add_nc_u16 v0.h, v1.l, v2.h"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_f16),
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_ieee2019),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_modifiers),
        cmocka_unit_test(test_omod_scales_the_result),
        cmocka_unit_test(test_lanes_that_are_off_keep_their_value),
        cmocka_unit_test(test_16_bit_results_clear_or_keep_the_high_half),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
