/* test_vop3.c - vector instructions of three sources */
#include "valu.h"

#include <stdio.h>

static float (*volatile fma32)(float, float, float) = fmaf;
static double (*volatile fma64)(double, double, double) = fma;

static uint32_t field(uint32_t a, uint32_t b, uint32_t c, bool is_signed)
{
    uint32_t n = c % 32, d = 0;

    for (uint32_t i = 0; i < n; i++)
        if (b % 32 + i < 32 && (a >> (b % 32 + i) & 1))
            d |= 1u << i;
    if (is_signed && n && (d >> (n - 1) & 1))
        for (uint32_t i = n; i < 32; i++)
            d |= 1u << i;
    return d;
}

static uint32_t perm(uint32_t a, uint32_t b, uint32_t sel)
{
    uint8_t from[8], d[4];
    uint32_t r;

    memcpy(from, &b, 4);
    memcpy(from + 4, &a, 4);
    for (int i = 0; i < 4; i++) {
        uint8_t s = (uint8_t)(sel >> (8 * i));

        d[i] = s < 8     ? from[s]
               : s == 8  ? (from[1] & 0x80 ? 255 : 0)
               : s == 9  ? (from[3] & 0x80 ? 255 : 0)
               : s == 10 ? (from[5] & 0x80 ? 255 : 0)
               : s == 11 ? (from[7] & 0x80 ? 255 : 0)
               : s == 12 ? 0
                         : 255;
    }
    memcpy(&r, d, 4);
    return r;
}

static uint32_t sad(uint64_t a, uint64_t b, int bits, bool masked)
{
    uint32_t sum = 0;

    for (int at = 0; at < 32; at += bits) {
        int64_t x = (int64_t)(a >> at & ((UINT64_C(1) << bits) - 1));
        int64_t y = (int64_t)(b >> at & ((UINT64_C(1) << bits) - 1));

        if (!masked || y)
            sum += (uint32_t)(x > y ? x - y : y - x);
    }
    return sum;
}

static uint64_t quad_sad(uint64_t a, uint32_t b, uint64_t c, bool masked)
{
    uint64_t d = 0;

    for (int n = 0; n < 4; n++) {
        uint64_t s = sad((uint32_t)(a >> (8 * n)), b, 8, masked) +
                     (uint64_t)(uint16_t)(c >> (16 * n));

        d |= (s < 65536 ? s : 65535) << (16 * n);
    }
    return d;
}

static int64_t middle(int64_t a, int64_t b, int64_t c)
{
    int64_t low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

static int64_t least(int64_t a, int64_t b, int64_t c)
{
    return fmin(fmin((double)a, (double)b), (double)c) == (double)a ? a
           : b < c                                                  ? b
                                                                    : c;
}

static int64_t most(int64_t a, int64_t b, int64_t c)
{
    return -least(-a, -b, -c);
}

static int64_t s24(uint32_t a)
{
    int64_t x = a % 0x1000000;

    return x >= 0x800000 ? x - 0x1000000 : x;
}

static int64_t limited(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* clang-format off */
#define integers(X)                                                           \
    X(ALL, v_bfe_u32, u32, u32, u32, u32, d = field(a, b, c, false))          \
    X(ALL, v_bfe_i32, u32, u32, u32, u32, d = field(a, b, c, true))           \
    X(ALL, v_bfi_b32, u32, u32, u32, u32, d = ((b ^ c) & a) ^ c)              \
    X(ALL, v_alignbit_b32, u32, u32, u32, u32,                                \
      d = c % 32 ? b >> c % 32 | a << (32 - c % 32) : b)                      \
    X(ALL, v_alignbyte_b32, u32, u32, u32, u32,                               \
      d = c % 4 ? b >> 8 * (c % 4) | a << (32 - 8 * (c % 4)) : b)             \
    X(ALL, v_perm_b32, u32, u32, u32, u32, d = perm(a, b, c))                 \
    X(ALL, v_and_or_b32, u32, u32, u32, u32, d = c | (b & a))                 \
    X(ALL, v_or3_b32, u32, u32, u32, u32, d = ~(~a & ~b & ~c))                \
    X(GFX10_UP, v_xor3_b32, u32, u32, u32, u32, d = c ^ b ^ a)                \
    X(ALL, v_xad_u32, u32, u32, u32, u32, d = c + (b ^ a))                    \
    X(ALL, v_add3_u32, u32, u32, u32, u32, d = c + b + a)                     \
    X(ALL, v_add_lshl_u32, u32, u32, u32, u32,                                \
      d = (uint32_t)((uint64_t)(a + b) << c % 32))                            \
    X(ALL, v_lshl_add_u32, u32, u32, u32, u32,                                \
      d = c + (uint32_t)((uint64_t)a << b % 32))                              \
    X(ALL, v_lshl_or_b32, u32, u32, u32, u32,                                 \
      d = c | (uint32_t)((uint64_t)a << b % 32))                              \
    X(ALL, v_min3_u32, u32, u32, u32, u32, d = (uint32_t)least(a, b, c))      \
    X(ALL, v_max3_u32, u32, u32, u32, u32, d = (uint32_t)most(a, b, c))       \
    X(ALL, v_med3_u32, u32, u32, u32, u32, d = (uint32_t)middle(a, b, c))     \
    X(ALL, v_min3_i32, i32, i32, i32, i32, d = (int32_t)least(a, b, c))       \
    X(ALL, v_max3_i32, i32, i32, i32, i32, d = (int32_t)most(a, b, c))        \
    X(ALL, v_med3_i32, i32, i32, i32, i32, d = (int32_t)middle(a, b, c))      \
    X(GFX11_12, v_maxmin_u32, u32, u32, u32, u32, d = a > b ? a : b;          \
      d = d < c ? d : c)                                                      \
    X(GFX11_12, v_minmax_u32, u32, u32, u32, u32, d = a < b ? a : b;          \
      d = d > c ? d : c)                                                      \
    X(GFX11_12, v_maxmin_i32, i32, i32, i32, i32, d = a > b ? a : b;          \
      d = d < c ? d : c)                                                      \
    X(GFX11_12, v_minmax_i32, i32, i32, i32, i32, d = a < b ? a : b;          \
      d = d > c ? d : c)                                                      \
    X(ALL, v_mad_i32_i24, u32, u32, u32, u32,                                 \
      d = (uint32_t)(s24(a) * s24(b) + (int64_t)c))                           \
    X(ALL, v_mad_u32_u24, u32, u32, u32, u32,                                 \
      d = (uint32_t)((uint64_t)(a % 0x1000000) * (b % 0x1000000) + c))        \
    X(ALL | WHOLE_REGISTERS, v_mad_u32_u16, u32, u16, u16, u32,               \
      d = (uint32_t)((uint64_t)a * b + c))                                    \
    X(ALL | WHOLE_REGISTERS, v_mad_i32_i16, u32, i16, i16, u32,               \
      d = (uint32_t)((int64_t)a * b + (int64_t)c))                            \
    X(ALL, v_sad_u8, u32, u32, u32, u32, d = sad(a, b, 8, false) + c)         \
    X(ALL, v_sad_hi_u8, u32, u32, u32, u32,                                   \
      d = (sad(a, b, 8, false) << 16) + c)                                    \
    X(ALL, v_sad_u16, u32, u32, u32, u32, d = sad(a, b, 16, false) + c)       \
    X(ALL, v_sad_u32, u32, u32, u32, u32, d = sad(a, b, 32, false) + c)       \
    X(ALL, v_msad_u8, u32, u32, u32, u32, d = sad(a, b, 8, true) + c)         \
    X(ALL, v_qsad_pk_u16_u8, u64, u64, u32, u64, d = quad_sad(a, b, c, false)) \
    X(ALL, v_mqsad_pk_u16_u8, u64, u64, u32, u64, d = quad_sad(a, b, c, true)) \
    X(ALL, v_lerp_u8, u32, u32, u32, u32, d = 0;                              \
      for (int n = 0; n < 32; n += 8)                                         \
          d |= ((a >> n & 255) + (b >> n & 255) + (c >> n & 1)) / 2 << n)     \
    X(ALL, v_cvt_pk_u8_f32, u32, f32, u32, u32,                               \
      uint32_t byte = (uint32_t)rint(isnan(a) ? 0 : fmin(fmax(a, 0), 255));   \
      d = (c & ~(255u << 8 * (b % 4))) | byte << 8 * (b % 4))                 \
    X(GFX9, v_cvt_pkaccum_u8_f32, u32, f32, u32, none,                        \
      uint32_t byte = (uint32_t)rint(isnan(a) ? 0 : fmin(fmax(a, 0), 255));   \
      d = (old & ~(255u << 8 * (b % 4))) | byte << 8 * (b % 4))               \
    X(ON_942 | ON_950, v_lshl_add_u64, u64, u64, u32, u64, d = c + (a << b % 64))

#define halves(X)                                                             \
    X(ALL, v_mad_u16, u16, u16, u16, u16,                                     \
      d = (uint16_t)((uint64_t)a * b + c))                                    \
    X(ALL, v_mad_i16, u16, u16, u16, u16,                                     \
      d = (uint16_t)((uint64_t)a * b + c))                                    \
    X(ALL, v_min3_u16, u16, u16, u16, u16, d = (uint16_t)least(a, b, c))      \
    X(ALL, v_max3_u16, u16, u16, u16, u16, d = (uint16_t)most(a, b, c))       \
    X(ALL, v_med3_u16, u16, u16, u16, u16, d = (uint16_t)middle(a, b, c))     \
    X(ALL, v_min3_i16, i16, i16, i16, i16, d = (int16_t)least(a, b, c))       \
    X(ALL, v_max3_i16, i16, i16, i16, i16, d = (int16_t)most(a, b, c))        \
    X(ALL, v_med3_i16, i16, i16, i16, i16, d = (int16_t)middle(a, b, c))

/* Exact in 128 bits, then rounded once. */
static uint16_t fused16(uint16_t a, uint16_t b, uint16_t c)
{
    __float128 x = num16(a), y = num16(b), z = num16(c), s = x * y + z;
    long double r = (long double)s;

    /* The sum of at most 41 + 40 bits may not fit: keep that bits were lost. */
    if ((__float128)r != s && r == (long double)(double)r)
        r += (s > (__float128)r ? 1 : -1) * fabsl(r) * 0x1p-60L;
    return valu_round16(r);
}

static double median(double a, double b, double c)
{
    double low = fmin(a, b), high = fmax(a, b);

    if (isnan(a) || isnan(b) || isnan(c))
        return fmin(low, c);
    return c < low ? low : c > high ? high : c;
}

#define floats(X)                                                             \
    X(ALL, v_fma_f32, f32, f32, f32, f32, d = fma32(a, b, c))                 \
    X(ALL, v_fma_f64, f64, f64, f64, f64, d = fma64(a, b, c))                 \
    X(ALL, v_fma_f16, f16, u16, u16, u16, uint16_t r = fused16(a, b, c);      \
      memcpy(&d, &r, 2))                                                      \
    X(ON_906 | ON_90A, v_mad_f32, f32, f32, f32, f32, volatile float p = a;   \
      p *= b; d = p + c)

/* gfx9 to gfx11 name them so, gfx12 has "num" in the middle. */
#define orders(X)                                                             \
    X(GFX9_TO_11, min3, "v_min3_f32 D, A, B, C", f32, f32, f32, f32,          \
      d = fminf(fminf(a, b), c))                                              \
    X(GFX9_TO_11, max3, "v_max3_f32 D, A, B, C", f32, f32, f32, f32,          \
      d = fmaxf(fmaxf(a, b), c))                                              \
    X(GFX9_TO_11, med3, "v_med3_f32 D, A, B, C", f32, f32, f32, f32,          \
      d = (float)median(a, b, c))                                             \
    X(GFX12, med3_num, "v_med3_num_f32 D, A, B, C", f32, f32, f32, f32,       \
      d = (float)median(a, b, c))                                             \
    X(GFX12, max3_num, "v_max3_num_f32 D, A, B, C", f32, f32, f32, f32,       \
      d = fmaxf(fmaxf(a, b), c))                                              \
    X(GFX12, maximum3, "v_maximum3_f32 D, A, B, C", f32, f32, f32, f32,       \
      d = isnan(a) || isnan(b) || isnan(c) ? NAN : fmaxf(fmaxf(a, b), c))     \
    X(GFX12, minimum3, "v_minimum3_f32 D, A, B, C", f32, f32, f32, f32,       \
      d = isnan(a) || isnan(b) || isnan(c) ? NAN : fminf(fminf(a, b), c))     \
    X(GFX12, maximumminimum, "v_maximumminimum_f32 D, A, B, C", f32, f32,     \
      f32, f32, d = isnan(a) || isnan(b) || isnan(c) ? NAN                    \
                    : fminf(fmaxf(a, b), c))                                  \
    X(GFX12, minimummaximum, "v_minimummaximum_f32 D, A, B, C", f32, f32,     \
      f32, f32, d = isnan(a) || isnan(b) || isnan(c) ? NAN                    \
                    : fmaxf(fminf(a, b), c))                                  \
    X(GFX12, maxmin_num, "v_maxmin_num_f32 D, A, B, C", f32, f32, f32, f32,   \
      d = fminf(fmaxf(a, b), c))                                              \
    X(GFX12, minmax_num, "v_minmax_num_f32 D, A, B, C", f32, f32, f32, f32,   \
      d = fmaxf(fminf(a, b), c))                                              \
    X(GFX12, min3_num, "v_min3_num_f32 D, A, B, C", f32, f32, f32, f32,       \
      d = fminf(fminf(a, b), c))                                              \
    X(GFX11, minmax, "v_minmax_f32 D, A, B, C", f32, f32, f32, f32,           \
      d = fmaxf(fminf(a, b), c))                                              \
    X(GFX11, maxmin, "v_maxmin_f32 D, A, B, C", f32, f32, f32, f32,           \
      d = fminf(fmaxf(a, b), c))

#define wide(X)                                                               \
    X(GFX9_TO_11, mad_u64, "v_mad_u64_u32 D, W, A, B, C", u64, u32, u32, u64, \
      unsigned __int128 s = (unsigned __int128)a * b + c; d = (uint64_t)s;    \
      l->mask_out = s >> 64)                                                  \
    X(GFX12, mad_co_u64, "v_mad_co_u64_u32 D, W, A, B, C", u64, u32, u32,     \
      u64, unsigned __int128 s = (unsigned __int128)a * b + c;                \
      d = (uint64_t)s; l->mask_out = s >> 64)                                 \
    X(GFX9_TO_11, mad_i64, "v_mad_i64_i32 D, W, A, B, C", i64, i32, i32, i64, \
      __int128 s = (__int128)a * b + c; d = (int64_t)s;                       \
      l->mask_out = s != (int64_t)s)                                          \
    X(GFX12, mad_co_i64, "v_mad_co_i64_i32 D, W, A, B, C", i64, i32, i32,     \
      i64, __int128 s = (__int128)a * b + c; d = (int64_t)s;                  \
      l->mask_out = s != (int64_t)s)                                          \
    X(ALL, mad24_sat, "v_mad_u32_u24 D, A, B, C clamp", u32, u32, u32, u32,   \
      d = (uint32_t)limited((int64_t)((uint64_t)(a % 0x1000000) *             \
          (b % 0x1000000) + c), 0, UINT32_MAX))                               \
    X(ALL, mad24i_sat, "v_mad_i32_i24 D, A, B, C clamp", i32, u32, u32, i32,  \
      d = (int32_t)limited(s24(a) * s24(b) + c, INT32_MIN, INT32_MAX))        \
    X(ON_950, bitop3, "v_bitop3_b32 D, A, B, C bitop3:0x6c", u32, u32, u32,   \
      u32, d = 0; for (int n = 0; n < 32; n++) d |= (uint32_t)(0x6c >>        \
      ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n)         \
    X(ON_950, ashr_pk, "v_ashr_pk_u8_i32 D, A, B, C", u16, i32, i32, u32,     \
      d = (uint16_t)(limited(a >> c % 32, 0, 255) |                           \
                     limited(b >> c % 32, 0, 255) << 8))                      \
    X(GFX9 | GFX10, op_sel_high, "v_mad_u16 D, A, B, C op_sel:[1,0,1,0]",     \
      u16, u32, u16, u32, d = (uint16_t)((a >> 16) * b + (c >> 16)))
/* clang-format on */

VALU_TEST(integers)
VALU_TEST(halves)
VALU_TEST(floats)
VALU_TEXT_TEST(wide)

/* ---- min, max and median of three, of numbers that are not special ---- */

/* Without signalling NaN and with zeros of one sign. */
#define TAME_FN(targets, mnemonic, text, dt, at, bt, ct, expr)                 \
    static void ref_##mnemonic(struct valu_lane *l)                            \
    {                                                                          \
        float a = as_f32((uint32_t)l->a), b = as_f32((uint32_t)l->b);          \
        float c = as_f32((uint32_t)l->c), d;                                   \
                                                                               \
        expr;                                                                  \
        l->d = bits_of(d);                                                     \
    }
orders(TAME_FN)

    /* The same instruction of f16 orders the same values rounded to f16. */
    static void check_f16_order(const char *target, const char *f32_text,
                                const struct asm_state *f32)
{
    bool true16 = strcmp(target, "gfx1030") != 0;
    struct asm_state *st = asm_new(target, 32);
    const char *name_end = strstr(f32_text, "_f32");
    char text[64];

    snprintf(text, sizeof(text),
             true16 ? "%.*s_f16 v0.l, v1.l, v2.l, v3.l"
                    : "%.*s_f16 v0, v1, v2, v3",
             (int)(name_end - f32_text), f32_text);
    for (int i = 0; i < 32; i++)
        for (int k = 1; k < 4; k++)
            st->v[k][i] = valu_round16(as_f32(f32->v[k][i]));
    asm_run(st, text);
    for (int i = 0; i < 32; i++) {
        float want = as_f32(f32->v[0][i]);
        uint16_t got = (uint16_t)st->v[0][i];

        if (isnan(want) ? !isnan(num16(got)) : valu_round16(want) != got)
            fail_msg("%s: lane %d: want %a, got %#x", text, i, (double)want,
                     got);
    }
    asm_free(st);
}

static void test_three_way_order(void **state)
{
    static const struct valu_case cases[] = {orders(VALU_TEXT_ROW)};
    static const uint32_t values[] = {0xff800000, 0xc1000000, 0xbf800000,
                                      0x00000001, 0x3f000000, 0x42000000,
                                      0x7f800000, 0x7fc00000};

    (void)state;
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        const char *target = cases[n].targets & ON_1201   ? "gfx1201"
                             : cases[n].targets & ON_1030 ? "gfx1030"
                                                          : "gfx1100";
        char text[64];

        snprintf(text, sizeof(text), "%.*sv0, v1, v2, v3",
                 (int)(strchr(cases[n].text, 'D') - cases[n].text),
                 cases[n].text);
        for (int at = 0; at < 512; at += 32) {
            struct asm_state *st = asm_new(target, 32);

            for (int i = 0; i < 32; i++) {
                st->v[1][i] = values[(at + i) % 8];
                st->v[2][i] = values[(at + i) / 8 % 8];
                st->v[3][i] = values[(at + i) / 64];
            }
            asm_run(st, text);
            for (int i = 0; i < 32; i++) {
                struct valu_lane l = {
                    .a = st->v[1][i], .b = st->v[2][i], .c = st->v[3][i]};

                cases[n].run(&l);
                if (isnan(as_f32((uint32_t)l.d)) ? !isnan(as_f32(st->v[0][i]))
                                                 : l.d != st->v[0][i])
                    fail_msg("%s of %#x, %#x, %#x: want %#x, got %#x",
                             cases[n].text, st->v[1][i], st->v[2][i],
                             st->v[3][i], (uint32_t)l.d, st->v[0][i]);
            }
            check_f16_order(target, cases[n].text, st);
            asm_free(st);
        }
    }
}

/* ---- cube maps ---- */

static void test_cube_faces(void **state)
{
    /* direction, then face, twice the major axis, s and t */
    static const float cases[][7] = {
        {3, 1, 2, 0, 6, -2, -1}, {-3, 1, 2, 1, -6, 2, -1},
        {1, 3, 2, 2, 6, 1, 2},   {1, -3, 2, 3, -6, 1, -2},
        {1, 2, 3, 4, 6, 1, -2},  {1, 2, -3, 5, -6, -1, -2},
        {2, 2, 2, 4, 4, 2, -2},  {2, -2, 1, 3, -4, 2, -1},
    };
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++)
            st->v[1 + k][i] = bits_of(cases[i][k]);
    asm_run(st, "v_cubeid_f32 v4, v1, v2, v3\nv_cubema_f32 v5, v1, v2, v3\n"
                "v_cubesc_f32 v6, v1, v2, v3\nv_cubetc_f32 v7, v1, v2, v3");
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(st->v[4 + k][i], bits_of(cases[i][3 + k]));
    asm_free(st);
}

/* ---- division: what the compiler makes of a / b ---- */

static const char divide32[] = "v_div_scale_f32 v4, s[10:11], v2, v2, v1\n"
                               "v_div_scale_f32 v5, vcc, v1, v2, v1\n"
                               "v_rcp_f32 v6, v4\n"
                               "v_fma_f32 v7, -v4, v6, 1.0\n"
                               "v_fma_f32 v6, v7, v6, v6\n"
                               "v_mul_f32 v7, v5, v6\n"
                               "v_fma_f32 v8, -v4, v7, v5\n"
                               "v_fma_f32 v7, v8, v6, v7\n"
                               "v_fma_f32 v4, -v4, v7, v5\n"
                               "v_div_fmas_f32 v4, v4, v6, v7\n"
                               "v_div_fixup_f32 v0, v4, v2, v1\n";

static const char divide64[] =
    "v_div_scale_f64 v[10:11], s[10:11], v[4:5], v[4:5], v[2:3]\n"
    "v_rcp_f64 v[12:13], v[10:11]\n"
    "v_div_scale_f64 v[14:15], vcc, v[2:3], v[4:5], v[2:3]\n"
    "v_fma_f64 v[16:17], -v[10:11], v[12:13], 1.0\n"
    "v_fma_f64 v[12:13], v[12:13], v[16:17], v[12:13]\n"
    "v_fma_f64 v[16:17], -v[10:11], v[12:13], 1.0\n"
    "v_fma_f64 v[12:13], v[12:13], v[16:17], v[12:13]\n"
    "v_mul_f64 v[16:17], v[14:15], v[12:13]\n"
    "v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]\n"
    "v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]\n"
    "v_div_fixup_f64 v[0:1], v[10:11], v[4:5], v[2:3]\n";

static void test_division_is_rounded_right(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct asm_state *st = asm_new("gfx942", 64);
        volatile float one = 1;

        for (int i = 0; i < 64; i++) {
            st->v[1][i] = (uint32_t)valu_operand(T_f32);
            st->v[2][i] = (uint32_t)valu_operand(T_f32);
        }
        asm_run(st, divide32);
        for (int i = 0; i < 64; i++) {
            float a = as_f32(st->v[1][i]) * one, b = as_f32(st->v[2][i]);
            float want = a / b, got = as_f32(st->v[0][i]);

            if (isnan(want) ? !isnan(got) : bits_of(want) != bits_of(got))
                fail_msg("%a / %a: want %a, got %a", (double)a, (double)b,
                         (double)want, (double)got);
        }
        asm_free(st);
    }
}

static void test_f64_division_is_rounded_right(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct asm_state *st = asm_new("gfx90a", 64);

        for (int i = 0; i < 64; i++)
            for (int k = 2; k < 6; k += 2) {
                uint64_t v = valu_operand(T_f64);

                st->v[k][i] = (uint32_t)v;
                st->v[k + 1][i] = (uint32_t)(v >> 32);
            }
        asm_run(st, divide64);
        for (int i = 0; i < 64; i++) {
            uint64_t u[3];
            double x[3];
            volatile double want;

            for (int k = 0; k < 3; k++)
                u[k] = st->v[2 * (size_t)k][i] | (uint64_t)st->v[2 * k + 1][i]
                                                     << 32;
            memcpy(x, u, sizeof(x));
            want = x[1] / x[2];
            if (isnan(want) ? !isnan(x[0])
                            : want != x[0] || !signbit(want) != !signbit(x[0]))
                fail_msg("%a / %a: want %a, got %a", x[1], x[2], want, x[0]);
        }
        asm_free(st);
    }
}

/* ---- 2/pi ---- */

static void test_trig_preop_gives_two_over_pi_in_parts(void **state)
{
    /* The parts of 53 bits add up to 2/pi to 159 bits. */
    struct asm_state *st = asm_new("gfx942", 64);
    long double sum = 0;

    (void)state;
    for (int i = 0; i < 64; i++) {
        st->v[2][i] = 0;
        st->v[3][i] = 0x3ff00000; /* 1.0 */
    }
    asm_run(st, "v_trig_preop_f64 v[4:5], v[2:3], 0\n"
                "v_trig_preop_f64 v[6:7], v[2:3], 1\n"
                "v_mov_b32 v3, 0x7e000000\n" /* 2^993 */
                "v_trig_preop_f64 v[8:9], v[2:3], 0\n");
    for (int k = 4; k < 8; k += 2) {
        uint64_t u = st->v[k][9] | (uint64_t)st->v[k + 1][9] << 32;
        double x;

        memcpy(&x, &u, 8);
        sum += x;
    }
    assert_true(sum == 0.636619772367581343075535053490057448L);
    /* Beyond the first bits, scaled by 2^128: less than 2^-(993 - 55 - 128) */
    {
        uint64_t u = st->v[8][9] | (uint64_t)st->v[9][9] << 32;
        double x;

        memcpy(&x, &u, 8);
        assert_true(x > 0 && x < 0x1p-800);
    }
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_three_way_order),
        cmocka_unit_test(test_cube_faces),
        cmocka_unit_test(test_division_is_rounded_right),
        cmocka_unit_test(test_f64_division_is_rounded_right),
        cmocka_unit_test(test_trig_preop_gives_two_over_pi_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
