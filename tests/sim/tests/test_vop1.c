/* test_vop1.c - vector instructions of one source, series included */
#include "valu.h"

#include <stdio.h>

static float flt(double x)
{
    volatile double v = x;

    return (float)v;
}

/* Saturating truncation, NaN to 0. */
static int64_t saturate(double x, double lo, double hi)
{
    return (int64_t)(isnan(x) ? 0 : x < lo ? lo : x > hi ? hi : trunc(x));
}

static int leading(uint32_t x, bool sign)
{
    int n = 0;

    if (sign && x >> 31)
        x = ~x;
    while (n < 32 && !(x >> (31 - n) & 1))
        n++;
    return n == 32 ? -1 : n;
}

/* Nearest whole number, ties to even. */
static double nearest(double x)
{
    double f = floor(x), part = x - f;

    if (!isfinite(x) || part == 0)
        return x;
    f = part > 0.5 || (part == 0.5 && fmod(f, 2) != 0) ? f + 1 : f;
    return copysign(f, x);
}

static double ceiling(double x)
{
    return copysign(-floor(-x), x);
}

#define FROM16(x)                                                              \
    uint16_t r = valu_round16(x);                                              \
    memcpy(&d, &r, 2)
#define HALF num16(a)
/* Half of the values of a normalised format: to nearest, ties to even. */
#define NORM(x, lo, n)                                                         \
    (int32_t) nearest((isnan(x) ? 0 : x < lo ? lo : x > 1 ? 1 : (x)) * n)

/* clang-format off */
#define integers(X)                                                           \
    X(ALL, v_mov_b32, u32, u32, none, none, d = a)                            \
    X(ON_942 | ON_950, v_mov_b64, u64, u64, none, none, d = a)                \
    X(GFX11_12, v_mov_b16, u16, u16, none, none, d = a)                       \
    X(ALL, v_not_b32, u32, u32, none, none, d = UINT32_MAX - a)               \
    X(GFX11_12, v_not_b16, u16, u16, none, none, d = (uint16_t)(65535 - a))   \
    X(ALL, v_bfrev_b32, u32, u32, none, none,                                 \
      d = 0; for (int n = 0; n < 32; n++) d |= (a >> n & 1) << (31 - n))      \
    X(ALL, v_ffbh_u32, i32, u32, none, none, d = leading(a, false))           \
    X(ALL, v_ffbh_i32, i32, u32, none, none, d = leading(a, true))            \
    X(ALL, v_ffbl_b32, i32, u32, none, none,                                  \
      d = -1; for (int n = 31; n >= 0; n--) d = a >> n & 1 ? n : d)           \
    X(ALL | WHOLE_REGISTERS, v_sat_pk_u8_i16, u16, u32, none, none,           \
      d = (uint16_t)(saturate((int16_t)a, 0, 255) |                           \
                     saturate((int16_t)(a >> 16), 0, 255) << 8))              \
    X(GFX11_12, v_cvt_i32_i16, i32, i16, none, none, d = a)                   \
    X(GFX11_12, v_cvt_u32_u16, u32, u16, none, none, d = a)

#define conversions(X)                                                        \
    X(ALL, v_cvt_f32_i32, f32, i32, none, none, d = flt(a))                   \
    X(ALL, v_cvt_f32_u32, f32, u32, none, none, d = flt(a))                   \
    X(ALL, v_cvt_i32_f32, i32, f32, none, none,                               \
      d = (int32_t)saturate(a, INT32_MIN, INT32_MAX))                         \
    X(ALL, v_cvt_u32_f32, u32, f32, none, none,                               \
      d = (uint32_t)saturate(a, 0, UINT32_MAX))                               \
    X(ALL, v_cvt_flr_i32_f32, i32, f32, none, none,                           \
      d = (int32_t)saturate(floor(a), INT32_MIN, INT32_MAX))                  \
    X(GFX9 | GFX10, v_cvt_rpi_i32_f32, i32, f32, none, none,                  \
      d = (int32_t)saturate(floor((double)(a + 0.5f)), INT32_MIN, INT32_MAX)) \
    X(GFX11_12, v_cvt_nearest_i32_f32, i32, f32, none, none,                  \
      d = (int32_t)saturate(floor((double)(a + 0.5f)), INT32_MIN, INT32_MAX)) \
    X(ALL, v_cvt_f64_i32, f64, i32, none, none, d = (long double)a)           \
    X(ALL, v_cvt_f64_u32, f64, u32, none, none, d = (long double)a)           \
    X(ALL, v_cvt_i32_f64, i32, f64, none, none,                               \
      d = (int32_t)saturate(a, INT32_MIN, INT32_MAX))                         \
    X(ALL, v_cvt_u32_f64, u32, f64, none, none,                               \
      d = (uint32_t)saturate(a, 0, UINT32_MAX))                               \
    X(ALL, v_cvt_f64_f32, f64, f32, none, none, d = (long double)a)           \
    X(ALL, v_cvt_f32_f64, f32, f64, none, none, d = flt(a))                   \
    X(ALL, v_cvt_f16_f32, f16, f32, none, none, FROM16(a))                    \
    X(ALL, v_cvt_f32_f16, f32, u16, none, none, d = flt(num16(a)))            \
    X(ALL, v_cvt_f16_i16, f16, i16, none, none, FROM16(a))                    \
    X(ALL, v_cvt_f16_u16, f16, u16, none, none, FROM16(a))                    \
    X(ALL, v_cvt_i16_f16, i16, u16, none, none,                               \
      d = (int16_t)saturate(HALF, INT16_MIN, INT16_MAX))                      \
    X(ALL, v_cvt_u16_f16, u16, u16, none, none,                               \
      d = (uint16_t)saturate(HALF, 0, UINT16_MAX))                            \
    X(ALL, v_cvt_f32_ubyte0, f32, u32, none, none, d = (float)(a % 256))      \
    X(ALL, v_cvt_f32_ubyte1, f32, u32, none, none, d = (float)(a >> 8 & 255)) \
    X(ALL, v_cvt_f32_ubyte2, f32, u32, none, none, d = (float)(a >> 16 & 255)) \
    X(ALL, v_cvt_f32_ubyte3, f32, u32, none, none, d = (float)(a >> 24))      \
    X(ALL, v_cvt_off_f32_i4, f32, u32, none, none,                            \
      d = (float)(((int)(a % 16) ^ 8) - 8) / 16)                              \
    X(ALL, v_cvt_norm_i16_f16, i16, u16, none, none,                          \
      d = (int16_t)NORM(HALF, -1, 32767))                                     \
    X(ALL, v_cvt_norm_u16_f16, u16, u16, none, none,                          \
      d = (uint16_t)NORM(HALF, 0, 65535))                                     \
    X(ON_950, v_cvt_f32_bf16, f32, u16, none, none,                           \
      d = as_f32((uint32_t)a << 16))

#define whole_numbers(X)                                                      \
    X(ALL, v_trunc_f32, f32, f32, none, none,                                 \
      d = flt(a < 0 ? ceiling(a) : copysign(floor(fabs(a)), a)))              \
    X(ALL, v_ceil_f32, f32, f32, none, none, d = flt(ceiling(a)))             \
    X(ALL, v_floor_f32, f32, f32, none, none, d = flt(floor((double)a)))      \
    X(ALL, v_rndne_f32, f32, f32, none, none, d = flt(nearest(a)))            \
    X(ALL, v_fract_f32, f32, f32, none, none, d = fminf(                      \
      flt(a - floor((double)a)), 0x1.fffffep-1f); if (!isfinite(a)) d = NAN)  \
    X(ALL, v_trunc_f64, f64, f64, none, none,                                 \
      d = a < 0 ? ceiling(a) : copysign(floor(fabs(a)), a))                   \
    X(ALL, v_ceil_f64, f64, f64, none, none, d = ceiling(a))                  \
    X(ALL, v_floor_f64, f64, f64, none, none, d = (double)floorl(a))          \
    X(ALL, v_rndne_f64, f64, f64, none, none, d = nearest(a))                 \
    X(ALL, v_fract_f64, f64, f64, none, none, d = fmin(                       \
      (double)(a - floorl(a)), 0x1.fffffffffffffp-1);                         \
      if (!isfinite(a)) d = (double)NAN)                                      \
    X(ALL, v_trunc_f16, f16, u16, none, none, FROM16(trunc(HALF)))            \
    X(ALL, v_ceil_f16, f16, u16, none, none, FROM16(ceiling(HALF)))           \
    X(ALL, v_floor_f16, f16, u16, none, none, FROM16(floor(HALF)))            \
    X(ALL, v_rndne_f16, f16, u16, none, none, FROM16(nearest(HALF)))          \
    X(ALL, v_fract_f16, f16, u16, none, none, FROM16(isinf(HALF)              \
      ? (double)NAN : fmin(HALF - floor(HALF), 0x1.ffcp-1) + HALF * 0))       \
    X(ALL, v_frexp_mant_f32, f32, f32, none, none, int e;                     \
      d = frexpf(a, &e))                                                      \
    X(ALL, v_frexp_exp_i32_f32, i32, f32, none, none,                         \
      d = isfinite(a) && a != 0 ? ilogb(a) + 1 : 0)                           \
    X(ALL, v_frexp_mant_f64, f64, f64, none, none, int e; d = frexp(a, &e))   \
    X(ALL, v_frexp_exp_i32_f64, i32, f64, none, none,                         \
      d = isfinite(a) && a != 0 ? ilogb(a) + 1 : 0)                           \
    X(ALL, v_frexp_mant_f16, f16, u16, none, none, int e;                     \
      FROM16(frexp(HALF, &e)))                                                \
    X(ALL, v_frexp_exp_i16_f16, i16, u16, none, none,                         \
      d = (int16_t)(isfinite(HALF) && HALF != 0 ? ilogb(HALF) + 1 : 0))

/* Series: f32 flushes denormals on both sides, f16 does not. */
#define FLUSH(x) (fabsf(x) < 0x1p-126f ? copysignf(0, x) : (x))
#define IN ((long double)FLUSH(a))
#define OUT(x) d = FLUSH((float)(x))
static long double turns(long double x, bool cosine)
{
    const long double two_pi = 6.283185307179586476925286766559L;
    long double r = fmodl(x, 1);

    if (isinf(x) || isnan(x))
        return NAN;
    if (fabsl(x) > 256)
        return cosine;
    if (x == 0 && !cosine)
        return x;
    if (fmodl(r * 4, 1) == 0) { /* exact quarters */
        int q = (int)(r * 4) & 3;

        return cosine ? (q == 0) - (q == 2) : (q == 1) - (q == 3);
    }
    return cosine ? cosl(r * two_pi) : sinl(r * two_pi);
}

#define series(X)                                                             \
    X(ALL, v_rcp_f32, f32, f32, none, none, OUT(1 / IN))                      \
    X(ALL, v_rcp_iflag_f32, f32, f32, none, none, OUT(1 / IN))                \
    X(ALL, v_rsq_f32, f32, f32, none, none,                                   \
      OUT(IN == 0 ? 1 / IN : 1 / sqrtl(IN)))                                  \
    X(ALL, v_sqrt_f32, f32, f32, none, none, OUT(sqrtl(IN)))                  \
    X(ALL, v_exp_f32, f32, f32, none, none, OUT(exp2l(IN)))                   \
    X(ALL, v_log_f32, f32, f32, none, none, OUT(log2l(IN)))                   \
    X(ALL, v_rcp_f16, f16, u16, none, none, FROM16(1 / (long double)HALF))    \
    X(ALL, v_rsq_f16, f16, u16, none, none,                                   \
      FROM16(HALF == 0 ? 1 / (long double)HALF : 1 / sqrtl(HALF)))            \
    X(ALL, v_sqrt_f16, f16, u16, none, none, FROM16(sqrtl(HALF)))             \
    X(ALL, v_exp_f16, f16, u16, none, none, FROM16(exp2l(HALF)))              \
    X(ALL, v_log_f16, f16, u16, none, none, FROM16(log2l(HALF)))              \
    X(ALL, v_rcp_f64, f64, f64, none, none, volatile double one = 1;          \
      d = one / a)                                                            \
    X(ALL, v_sqrt_f64, f64, f64, none, none,                                  \
      double (*volatile f)(double) = sqrt; d = f(a))

/* Sine and cosine: to one unit in the last place. */
static void check_turns(const char *name, bool cosine)
{
    struct asm_state *st = asm_new("gfx942", 64);
    char text[64];

    snprintf(text, sizeof(text), "%s v2, v1", name);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 64; i++)
            st->v[1][i] = round == 0 ? bits_of((float)(i - 32) / 8)
                                     : (uint32_t)valu_operand(T_f32);
        asm_run(st, text);
        for (int i = 0; i < 64; i++) {
            float x = as_f32(st->v[1][i]), got = as_f32(st->v[2][i]);
            float want = (float)turns(FLUSH(x), cosine);
            float ulp = fabsf(nextafterf(want, 2) - want);

            if (isnan(want) ? !isnan(got)
                            : !(fabsf(got - want) <= ulp ||
                                (fabsf(want) < 0x1p-126f && got == 0)))
                fail_msg("%s of %a: want %a, got %a", name, (double)x,
                         (double)want, (double)got);
        }
    }
    asm_free(st);
}

static void test_sine_and_cosine_take_turns(void **state)
{
    (void)state;
    check_turns("v_sin_f32", false);
    check_turns("v_cos_f32", true);
}
/* clang-format on */

VALU_TEST(integers)
VALU_TEST(conversions)
VALU_TEST(whole_numbers)
VALU_TEST(series)

/* ---- MODE ---- */

static uint32_t with_mode(uint32_t clear, uint32_t set, const char *text,
                          uint32_t a, uint32_t b)
{
    struct asm_state *st = asm_new("gfx942", 64);
    uint32_t d;

    st->mode = (st->mode & ~clear) | set;
    st->v[1][3] = a;
    st->v[2][3] = b;
    asm_run(st, text);
    d = st->v[0][3];
    asm_free(st);
    return d;
}

static void test_mode_rounds_f32_and_f16_apart(void **state)
{
    /* 1 + 2^-30 toward +infinity, -infinity, zero */
    static const uint32_t want32[] = {0x3f800000, 0x3f800001, 0x3f800000,
                                      0x3f800000};
    static const uint32_t want16[] = {0x3c00, 0x3c01, 0x3c00, 0x3c00};

    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        assert_int_equal(
            with_mode(3, round, "v_add_f32 v0, v1, v2", 0x3f800000, 0x30800000),
            want32[round]);
        assert_int_equal(
            with_mode(12, round << 2, "v_add_f16 v0, v1, v2", 0x3c00, 0x0001),
            want16[round]);
        assert_int_equal(
            with_mode(12, round << 2, "v_cvt_f16_f32 v0, v1", 0x3f800001, 0),
            want16[round]);
        assert_int_equal(with_mode(12, round << 2, "v_add_f32 v0, v1, v2",
                                   0x3f800000, 0x30800000),
                         want32[0]);
    }
}

static void test_mode_flushes_denormals(void **state)
{
    (void)state;
    assert_int_equal(with_mode(0x30, 0, "v_add_f32 v0, v1, v2", 1, 1), 0);
    assert_int_equal(with_mode(0x30, 0x30, "v_add_f32 v0, v1, v2", 1, 1), 2);
    assert_int_equal(with_mode(0x30, 0, "v_max_f32 v0, v1, v2", 1, 2), 0);
    assert_int_equal(
        with_mode(0x30, 0, "v_med3_f32 v0, v1, v1, v2", 0x80000001, 0x80000002),
        0x80000000);
    assert_int_equal(with_mode(0x30, 0, "v_max_f16 v0, v1, v2", 1, 2), 2);
    assert_int_equal(with_mode(0xc0, 0, "v_max_f16 v0, v1, v2", 1, 2), 0);
    /* Results alone, then sources alone. */
    assert_int_equal(
        with_mode(0x30, 0x10, "v_mul_f32 v0, v1, v2", 0x800000, 0x3f000000), 0);
    assert_int_equal(
        with_mode(0x30, 0x10, "v_mul_f32 v0, v1, v2", 0x400000, 0x40000000),
        0x800000);
    assert_int_equal(
        with_mode(0x30, 0x20, "v_mul_f32 v0, v1, v2", 0x400000, 0x40000000), 0);
}

/* gfx12: the same series from a scalar to a scalar. */
static void test_scalar_series_agree_with_the_vector_ones(void **state)
{
    static const char *const names[] = {"rcp", "rsq", "sqrt", "exp", "log"};

    (void)state;
    for (int n = 0; n < 5; n++)
        for (int round = 0; round < 8; round++) {
            struct asm_state *st = asm_new("gfx1201", 32);
            char text[256];

            st->s[4] = st->v[1][0] = (uint32_t)valu_operand(T_f32);
            snprintf(text, sizeof(text),
                     "v_%s_f32 v2, v1\nv_s_%s_f32 s8, s4\n"
                     "v_%s_f16 v3.l, v1.l\nv_s_%s_f16 s9, s4\n"
                     "v_s_%s_f32 s10, -|s4| clamp",
                     names[n], names[n], names[n], names[n], names[n]);
            asm_run(st, text);
            assert_int_equal(st->s[8], st->v[2][0]);
            assert_int_equal(st->s[9] & 0xffff, st->v[3][0] & 0xffff);
            assert_true(as_f32(st->s[10]) >= 0 && as_f32(st->s[10]) <= 1);
            asm_free(st);
        }
}

static void test_no_operations(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);
    struct asm_state *before = asm_new("gfx942", 64);

    (void)state;
    asm_run(st, "v_nop\nv_clrexcp");
    assert_memory_equal(st->v, before->v, sizeof(st->v));
    asm_free(st);
    asm_free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_sine_and_cosine_take_turns),
        cmocka_unit_test(test_mode_rounds_f32_and_f16_apart),
        cmocka_unit_test(test_mode_flushes_denormals),
        cmocka_unit_test(test_scalar_series_agree_with_the_vector_ones),
        cmocka_unit_test(test_no_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
