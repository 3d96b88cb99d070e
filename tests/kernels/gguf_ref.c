/* gguf_ref.c - the GGUF block formats, element by element, for tests */
#include "gguf_ref.h"

#include "../../kernels/include/gguf/grid_points.h"
#include "harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double half_at(const uint8_t *p)
{
    return (double)kt_get(KT_F16, p, 0);
}

static unsigned bit(const uint8_t *bytes, size_t i)
{
    return (unsigned)bytes[i / 8] >> (i % 8) & 1;
}

/* low or high four bits */
static unsigned nibble(uint8_t byte, bool high)
{
    return high ? (unsigned)byte >> 4 : (unsigned)byte & 15;
}

/* the six-bit scale and min number j of Q4_K and Q5_K */
static void six_bits(const uint8_t *s, size_t j, unsigned *sc, unsigned *mn)
{
    if (j < 4) {
        *sc = s[j] & 63;
        *mn = s[j + 4] & 63;
    } else {
        *sc = (s[j + 4] & 15) + 16u * (s[j - 4] >> 6);
        *mn = (unsigned)(s[j + 4] >> 4) + 16u * (s[j] >> 6);
    }
}

static struct gguf_element q4_0(const uint8_t *b, size_t e)
{
    return (struct gguf_element){half_at(b), -8 * half_at(b),
                                 (int)nibble(b[2 + e % 16], e >= 16)};
}

static struct gguf_element q4_1(const uint8_t *b, size_t e)
{
    return (struct gguf_element){half_at(b), half_at(b + 2),
                                 (int)nibble(b[4 + e % 16], e >= 16)};
}

static struct gguf_element q5_0(const uint8_t *b, size_t e)
{
    return (struct gguf_element){
        half_at(b), -16 * half_at(b),
        (int)(nibble(b[6 + e % 16], e >= 16) + 16 * bit(b + 2, e))};
}

static struct gguf_element q5_1(const uint8_t *b, size_t e)
{
    return (struct gguf_element){
        half_at(b), half_at(b + 2),
        (int)(nibble(b[8 + e % 16], e >= 16) + 16 * bit(b + 4, e))};
}

static struct gguf_element q8_0(const uint8_t *b, size_t e)
{
    return (struct gguf_element){half_at(b), 0, (int8_t)b[2 + e]};
}

static struct gguf_element q2_k(const uint8_t *b, size_t e)
{
    const unsigned sc = b[e / 16];
    const uint8_t q = b[16 + 32 * (e / 128) + e % 32];

    return (struct gguf_element){half_at(b + 80) * (sc & 15),
                                 -half_at(b + 82) * (sc >> 4),
                                 q >> (2 * (e % 128 / 32)) & 3};
}

static struct gguf_element q3_k(const uint8_t *b, size_t e)
{
    const uint8_t *s = b + 96;
    const size_t j = e / 16;
    const unsigned low = j < 8 ? s[j] & 15u : s[j - 8] >> 4;
    const unsigned high = (unsigned)s[8 + j % 4] >> (2 * (j / 4)) & 3;
    const int two = b[32 + 32 * (e / 128) + e % 32] >> (2 * (e % 128 / 32)) & 3;
    const int third = b[e % 32] >> (e / 32) & 1;

    return (struct gguf_element){half_at(b + 108) *
                                     ((int)(low + 16 * high) - 32),
                                 0, two + 4 * third - 4};
}

/* Q4_K, and Q5_K with its fifth bits at qh */
static struct gguf_element q45_k(const uint8_t *b, const uint8_t *qs,
                                 const uint8_t *qh, size_t e)
{
    const size_t j = e / 32;
    unsigned sc, mn, q = nibble(qs[32 * (e / 64) + e % 32], j % 2 == 1);

    six_bits(b + 4, j, &sc, &mn);
    if (qh)
        q += 16u * (qh[e % 32] >> j & 1);
    return (struct gguf_element){half_at(b) * sc, -half_at(b + 2) * mn, (int)q};
}

static struct gguf_element q4_k(const uint8_t *b, size_t e)
{
    return q45_k(b, b + 16, NULL, e);
}

static struct gguf_element q5_k(const uint8_t *b, size_t e)
{
    return q45_k(b, b + 48, b + 16, e);
}

static struct gguf_element q6_k(const uint8_t *b, size_t e)
{
    const size_t half = e / 128, t = e % 128 / 32, l = e % 32;
    const unsigned low = nibble(b[64 * half + 32 * (t % 2) + l], t >= 2);
    const unsigned top = (unsigned)b[128 + 32 * half + l] >> (2 * t) & 3;

    return (struct gguf_element){half_at(b + 208) * (int8_t)b[192 + e / 16], 0,
                                 (int)(low + 16 * top) - 32};
}

static struct gguf_element q8_k(const uint8_t *b, size_t e)
{
    return (struct gguf_element){(double)kt_get(KT_F32, b, 0), 0,
                                 (int8_t)b[4 + e]};
}

/* the number for a code of IQ4_NL and IQ4_XS */
static int iq4_value(unsigned code)
{
    static const int values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

    return values[code];
}

static struct gguf_element iq4_nl(const uint8_t *b, size_t e)
{
    return (struct gguf_element){half_at(b), 0,
                                 iq4_value(nibble(b[2 + e % 16], e >= 16))};
}

static struct gguf_element iq4_xs(const uint8_t *b, size_t e)
{
    const size_t j = e / 32;
    const unsigned low = nibble(b[4 + j / 2], j % 2 == 1);
    const unsigned high = (b[2] | (unsigned)b[3] << 8) >> (2 * j) & 3;

    return (struct gguf_element){
        half_at(b) * ((int)(low + 16 * high) - 32), 0,
        iq4_value(nibble(b[8 + 16 * j + e % 16], e % 32 >= 16))};
}

/* a sign, two bits of exponent and one of mantissa, in halves */
static struct gguf_element mxfp4(const uint8_t *b, size_t e)
{
    const unsigned code = nibble(b[1 + e % 16], e >= 16);
    const int exponent = (int)(code >> 1 & 3), mantissa = (int)(code & 1);
    const int size = exponent ? (2 + mantissa) << (exponent - 1) : mantissa;

    return (struct gguf_element){ldexp(1, b[0] - 128), 0,
                                 code & 8 ? -size : size};
}

/* ---- grids ----
 *
 * The points of a grid as the formats' definition lists them, a byte for each
 * coordinate: a hash of that list tells whether grid_points.h is right.
 */
struct grid {
    const char *name;
    uint32_t bits[206];
    unsigned size, digits; /* a point has `size` digits of this base */
    uint8_t values[8];     /* of a digit; -1 is 255 */
    size_t n;
    uint64_t hash; /* FNV-1a of the list */
    uint8_t points[2048][8];
};

static struct grid iq2_xxs_grid = {.name = "IQ2_XXS",
                                   .bits = {GGUF_IQ2_XXS_POINTS},
                                   .size = 8,
                                   .digits = 3,
                                   .values = {8, 25, 43},
                                   .n = 256,
                                   .hash = 0xbb4ee025b5ac6e8e};
static struct grid iq2_xs_grid = {.name = "IQ2_XS",
                                  .bits = {GGUF_IQ2_XS_POINTS},
                                  .size = 8,
                                  .digits = 3,
                                  .values = {8, 25, 43},
                                  .n = 512,
                                  .hash = 0xc9b1ee61e79909bd};
static struct grid iq2_s_grid = {.name = "IQ2_S",
                                 .bits = {GGUF_IQ2_S_POINTS},
                                 .size = 8,
                                 .digits = 3,
                                 .values = {8, 25, 43},
                                 .n = 1024,
                                 .hash = 0x123edd38a3b62b90};
static struct grid iq1_grid = {.name = "IQ1",
                               .bits = {GGUF_IQ1_POINTS},
                               .size = 8,
                               .digits = 3,
                               .values = {255, 0, 1},
                               .n = 2048,
                               .hash = 0x6703ed863501ae2e};
static struct grid iq3_xxs_grid = {.name = "IQ3_XXS",
                                   .bits = {GGUF_IQ3_XXS_POINTS},
                                   .size = 4,
                                   .digits = 8,
                                   .values = {4, 12, 20, 28, 36, 44, 52, 62},
                                   .n = 256,
                                   .hash = 0xdfa5dc83d6a155d5};
static struct grid iq3_s_grid = {.name = "IQ3_S",
                                 .bits = {GGUF_IQ3_S_POINTS},
                                 .size = 4,
                                 .digits = 8,
                                 .values = {1, 3, 5, 7, 9, 11, 13, 15},
                                 .n = 512,
                                 .hash = 0xfa37020c25b44829};

/* Counts through all points, the first digit fastest. */
static void list_points(struct grid *g)
{
    uint64_t hash = 0xcbf29ce484222325;
    unsigned digit[9] = {0};
    size_t found = 0;

    for (size_t p = 0; digit[g->size] == 0; p++) {
        if (g->bits[p / 32] >> (p % 32) & 1) {
            for (size_t i = 0; i < g->size; i++) {
                g->points[found][i] = g->values[digit[i]];
                hash = (hash ^ g->points[found][i]) * 0x100000001b3;
            }
            found++;
        }
        for (size_t i = 0; ++digit[i] == g->digits && i < g->size; i++)
            digit[i] = 0;
    }
    if (found != g->n || hash != g->hash) {
        fprintf(stderr,
                "grid_points.h: %s has %zu points of hash %" PRIx64
                ", want %zu of %" PRIx64 "\n",
                g->name, found, hash, g->n, g->hash);
        abort();
    }
}

/* coordinate i of a point */
static int grid_value(struct grid *g, size_t point, size_t i)
{
    if (g->points[0][0] == 0) /* no grid's first point begins so */
        list_points(g);
    return (int8_t)g->points[point][i];
}

/* the sign of element e of eight; without eight bits the last one makes the
 * number of minus signs even */
static int sign_of(unsigned signs, size_t e, bool eight)
{
    unsigned all = 0;

    for (size_t i = 0; i < 7; i++)
        all += signs >> i & 1;
    return (e == 7 && !eight ? all % 2 : signs >> e & 1) ? -1 : 1;
}

static unsigned u16_at(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static uint32_t u32_at(const uint8_t *p)
{
    return u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
}

static struct gguf_element iq2_xxs(const uint8_t *b, size_t e)
{
    const uint8_t *group = b + 2 + e / 32 * 8;
    const uint32_t rest = u32_at(group + 4);
    const size_t eight = e % 32 / 8;

    return (struct gguf_element){
        half_at(b) * (0.5 + (rest >> 28)) / 4, 0,
        grid_value(&iq2_xxs_grid, group[eight], e % 8) *
            sign_of(rest >> (7 * eight) & 127, e % 8, false)};
}

static struct gguf_element iq2_xs(const uint8_t *b, size_t e)
{
    const unsigned word = u16_at(b + 2 + e / 8 * 2);
    const unsigned scale = nibble(b[66 + e / 32], e % 32 >= 16);

    return (struct gguf_element){half_at(b) * (0.5 + scale) / 4, 0,
                                 grid_value(&iq2_xs_grid, word % 512, e % 8) *
                                     sign_of(word / 512, e % 8, false)};
}

static struct gguf_element iq2_s(const uint8_t *b, size_t e)
{
    const unsigned high = b[66 + e / 32] >> (e % 32 / 8 * 2) & 3;
    const unsigned scale = nibble(b[74 + e / 32], e % 32 >= 16);

    return (struct gguf_element){
        half_at(b) * (0.5 + scale) / 4, 0,
        grid_value(&iq2_s_grid, b[2 + e / 8] + 256 * high, e % 8) *
            sign_of(b[34 + e / 8], e % 8, true)};
}

static struct gguf_element iq3_xxs(const uint8_t *b, size_t e)
{
    const uint32_t rest = u32_at(b + 66 + e / 32 * 4);

    return (struct gguf_element){
        half_at(b) * (0.5 + (rest >> 28)) / 2, 0,
        grid_value(&iq3_xxs_grid, b[2 + e / 4], e % 4) *
            sign_of(rest >> (e % 32 / 8 * 7) & 127, e % 8, false)};
}

static struct gguf_element iq3_s(const uint8_t *b, size_t e)
{
    const unsigned high = bit(b + 66, e / 4);
    const unsigned scale = nibble(b[106 + e / 64], e % 64 >= 32);

    return (struct gguf_element){
        half_at(b) * (1 + 2 * scale), 0,
        grid_value(&iq3_s_grid, b[2 + e / 4] + 256 * high, e % 4) *
            sign_of(b[74 + e / 8], e % 8, true)};
}

/* scale (2 n + 1) (g + 1/8) or (g - 1/8), in eighths */
static struct gguf_element iq1(double d, unsigned n, unsigned point, size_t e,
                               bool less)
{
    return (struct gguf_element){d * (2 * n + 1) / 8, 0,
                                 8 * grid_value(&iq1_grid, point, e % 8) +
                                     (less ? -1 : 1)};
}

static struct gguf_element iq1_s(const uint8_t *b, size_t e)
{
    const unsigned high = u16_at(b + 34 + e / 32 * 2);

    return iq1(half_at(b), high >> 12 & 7,
               b[2 + e / 8] + 256 * (high >> (e % 32 / 8 * 3) & 7), e,
               high >> 15 != 0);
}

static struct gguf_element iq1_m(const uint8_t *b, size_t e)
{
    const unsigned high = nibble(b[32 + e / 16], e % 16 >= 8);
    const unsigned n = u16_at(b + 48 + e / 64 * 2) >> (e % 64 / 16 * 3) & 7;
    uint8_t d[2];

    d[0] = (uint8_t)(b[49] >> 4 | (b[51] & 0xf0));
    d[1] = (uint8_t)(b[53] >> 4 | (b[55] & 0xf0));
    return iq1(half_at(d), n, b[e / 8] + 256 * (high & 7), e, (high & 8) != 0);
}

/* digit n of a byte that is a fraction of 256 in base 3 */
static int trit(uint8_t byte, size_t n)
{
    unsigned fraction = byte;

    while (n-- > 0)
        fraction = fraction * 3 % 256;
    return (int)(fraction * 3 / 256);
}

static struct gguf_element tq1_0(const uint8_t *b, size_t e)
{
    const int t = e < 160   ? trit(b[e % 32], e / 32)
                  : e < 240 ? trit(b[32 + e % 16], (e - 160) / 16)
                            : trit(b[48 + e % 4], (e - 240) / 4);

    return (struct gguf_element){half_at(b + 52), 0, t - 1};
}

static struct gguf_element tq2_0(const uint8_t *b, size_t e)
{
    const int t = b[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3;

    return (struct gguf_element){half_at(b + 64), 0, t - 1};
}

static struct gguf_element nvfp4(const uint8_t *b, size_t e)
{
    static const int sizes[8] = {0, 1, 2, 3, 4, 6, 8, 12}; /* halves */
    const unsigned code = nibble(b[4 + e / 16 * 8 + e % 8], e % 16 >= 8);
    const int exponent = b[e / 16] >> 3 & 15, mantissa = b[e / 16] & 7;
    const double scale =
        exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);

    return (struct gguf_element){b[e / 16] == 0x7f ? 0 : scale / 2, 0,
                                 code & 8 ? -sizes[code & 7] : sizes[code & 7]};
}

/* The fields of struct gguf_format from `align` on, which gguf_formats.h lacks.
 */
/* clang-format off */
#define OWN_Q4_0   2, GGUF_BIAS_S,     GGUF_BIAS_S,     0,     false, q4_0
#define OWN_Q4_1   4, GGUF_BIAS_S,     GGUF_BIAS_S,     -7.5,  false, q4_1
#define OWN_Q5_0   2, GGUF_BIAS_S,     GGUF_NO_BIAS,    0,     false, q5_0
#define OWN_Q5_1   4, GGUF_BIAS_S,     GGUF_BIAS_S,     -15.5, false, q5_1
#define OWN_Q8_0   2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, q8_0
#define OWN_Q2_K   4, GGUF_BIAS_QUANT, GGUF_BIAS_QUANT, 1.5,   false, q2_k
#define OWN_Q3_K   2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, q3_k
#define OWN_Q4_K   4, GGUF_BIAS_QUANT, GGUF_BIAS_S,     7.5,   false, q4_k
#define OWN_Q5_K   4, GGUF_BIAS_QUANT, GGUF_BIAS_S,     15.5,  false, q5_k
#define OWN_Q6_K   2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, q6_k
#define OWN_Q8_K   4, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, q8_k
#define OWN_IQ4_NL 2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq4_nl
#define OWN_IQ4_XS 4, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq4_xs
#define OWN_MXFP4  1, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     true,  mxfp4
#define OWN_IQ2_XXS 2, GGUF_NO_BIAS,   GGUF_NO_BIAS,    0,     false, iq2_xxs
#define OWN_IQ2_XS 2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq2_xs
#define OWN_IQ2_S  2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq2_s
#define OWN_IQ3_XXS 2, GGUF_NO_BIAS,   GGUF_NO_BIAS,    0,     false, iq3_xxs
#define OWN_IQ3_S  2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq3_s
#define OWN_IQ1_S  2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq1_s
#define OWN_IQ1_M  8, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, iq1_m
#define OWN_TQ1_0  2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, tq1_0
#define OWN_TQ2_0  2, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, tq2_0
#define OWN_NVFP4  4, GGUF_NO_BIAS,    GGUF_NO_BIAS,    0,     false, nvfp4

#define WEIGHTS(name, lower, short, type, number, elems, nbytes, d, m, ...)    \
    [number] = {#name, elems, nbytes, d, m, OWN_##type},
#define NUMBERS(name, type, number, elems, nbytes, d, m, ...)                  \
    [number] = {#name, elems, nbytes, d, m, OWN_##type},

static const struct gguf_format formats[] = {
    GGUF_WEIGHTS(WEIGHTS)
    GGUF_NUMBERS(NUMBERS)
    GGUF_LOW_BIT(NUMBERS)
};
/* clang-format on */

const struct gguf_format *gguf_format_of(uint32_t number)
{
    return number < sizeof(formats) / sizeof(formats[0]) && formats[number].name
               ? &formats[number]
               : NULL;
}

struct gguf_element gguf_element(enum gguf_id id, const uint8_t *block,
                                 size_t e)
{
    return formats[id].element(block, e);
}

void gguf_dequantize(enum gguf_id id, const uint8_t *blocks, size_t n,
                     float *out)
{
    const struct gguf_format *f = &formats[id];

    for (size_t i = 0; i < n; i++) {
        struct gguf_element e =
            gguf_element(id, blocks + i / f->elems * f->nbytes, i % f->elems);

        /* exact in double: f16 times small integers */
        out[i] = (float)(e.scale * e.quant + e.bias);
    }
}

/* ---- data ---- */

static void put_half(uint8_t *p, double v)
{
    kt_put(KT_F16, p, 0, (kt_real)v);
}

static double moderate(uint64_t *seed)
{
    return ((double)(kt_random(seed) >> 11) * 0x1p-53 - 0.5) / 16;
}

static double scale_of(enum gguf_data what, size_t i, uint64_t *seed)
{
    static const double special[] = {0,    0x1p-24,  -0x1p-24, 65504,
                                     -0.0, -65504.0, 0x1p-14,  -1};
    static const double wild[] = {NAN, 1, INFINITY, -INFINITY};

    if (what == GGUF_SCALES)
        return special[i % 8];
    if (what == GGUF_TINY)
        return 0x1p-24 * (1 + (double)(i % 3));
    if (what == GGUF_NONFINITE && i % 3 == 1)
        return wild[i / 3 % 4];
    return moderate(seed);
}

/* a scale's exponent: products fit f32, except for GGUF_CODES */
static uint8_t exponent_of(enum gguf_data what, size_t i, uint64_t *seed)
{
    static const uint8_t special[] = {0, 127, 1, 128, 2, 160, 3, 100};

    if (what == GGUF_SCALES)
        return special[i % 8];
    if (what == GGUF_TINY)
        return (uint8_t)(i % 3);
    return (uint8_t)(118 + kt_random(seed) % 10);
}

void gguf_fill(enum gguf_id id, uint8_t *blocks, size_t nblocks,
               enum gguf_data what, uint64_t seed)
{
    const struct gguf_format *f = &formats[id];

    for (size_t i = 0; i < nblocks; i++) {
        uint8_t *b = blocks + i * f->nbytes;

        if (what == GGUF_ZERO) {
            memset(b, 0, f->nbytes);
            continue;
        }
        for (size_t k = 0; k < f->nbytes; k++) {
            if (what == GGUF_CODES)
                b[k] = (uint8_t)(5 * i + 11 * k);
            else if (what == GGUF_EXTREME)
                b[k] = i % 2 == 0 ? 0xff : 0x80;
            else
                b[k] = (uint8_t)kt_random(&seed);
        }
        if (f->d >= 0)
            put_half(b + f->d, scale_of(what, i, &seed));
        if (f->m >= 0)
            put_half(b + f->m, scale_of(what, i / 2, &seed));
        if (f->exponent && what != GGUF_CODES)
            b[0] = exponent_of(what, i, &seed);
        if (id == GGUF_IQ1_M) { /* four nibbles */
            uint8_t d[2];

            put_half(d, scale_of(what, i, &seed));
            for (size_t k = 0; k < 4; k++)
                b[49 + 2 * k] = (uint8_t)((b[49 + 2 * k] & 15) |
                                          (d[k / 2] >> (k % 2 * 4) & 15) << 4);
        }
        if (id == GGUF_Q8_K)
            kt_put(KT_F32, b, 0, (kt_real)scale_of(what, i, &seed));
    }
}

/* ---- Q8_1 ---- */

/* the sum by a butterfly over 32 lanes, in the same order */
static float butterfly_sum(const float *x)
{
    float s[32];

    memcpy(s, x, sizeof(s));
    for (size_t d = 16; d > 0; d /= 2)
        for (size_t i = 0; i < d; i++)
            s[i] = s[i] + s[i + d];
    return s[0];
}

/* the scale for the greatest of 32 numbers: a 127th, or a multiple of 2^-24
 * where f16 has subnormal numbers only */
static float q8_1_scale(float amax)
{
    if (amax < 127 * 0x1p-14f)
        return ceilf(amax * 0x1p24f / 127) * 0x1p-24f;
    return amax / 127;
}

void q8_1_quantize(const float *x, size_t kx, size_t kx_padded, uint8_t *out)
{
    for (size_t b = 0; b < kx_padded / 32; b++, out += Q8_1_NBYTES) {
        float v[32], amax = 0;

        for (size_t i = 0; i < 32; i++) {
            v[i] = 32 * b + i < kx ? x[32 * b + i] : 0;
            if (fabsf(v[i]) > amax) /* false for any NaN */
                amax = fabsf(v[i]);
        }

        const float d = q8_1_scale(amax);

        for (size_t i = 0; i < 32; i++) {
            const float q = amax == 0 ? 0 : roundf(v[i] / d);

            out[4 + i] = (uint8_t)(isnan(q) ? 0 : (int)q);
        }
        put_half(out, (double)d);
        put_half(out + 2, (double)butterfly_sum(v));
    }
}

void q8_1_quantize_quants(const float *x, size_t kx, size_t kx_padded,
                          uint8_t *out)
{
    q8_1_quantize(x, kx, kx_padded, out);
    for (size_t b = 0; b < kx_padded / 32; b++, out += Q8_1_NBYTES) {
        float amax = 0;
        int sum = 0;

        for (size_t i = 0; i < 32; i++) {
            const float v = 32 * b + i < kx ? fabsf(x[32 * b + i]) : 0;

            if (v > amax)
                amax = v;
            sum += (int8_t)out[4 + i];
        }
        put_half(out + 2, (double)(q8_1_scale(amax) * (float)sum));
    }
}

/* ---- products ---- */

struct gguf_row gguf_row(enum gguf_id id, const uint8_t *blocks, size_t n,
                         bool tile)
{
    const struct gguf_format *f = &formats[id];
    struct gguf_row r = {malloc(n * sizeof(double) + 1),
                         malloc(n * sizeof(double) + 1), n,
                         tile ? f->tile : f->vec};

    if (!r.main || !r.bias)
        abort();
    for (size_t i = 0; i < n; i++) {
        struct gguf_element e =
            gguf_element(id, blocks + i / f->elems * f->nbytes, i % f->elems);

        r.main[i] = e.scale * e.quant;
        r.bias[i] = e.bias;
        if (r.kind == GGUF_NO_BIAS) { /* tiled q5_0 centres its quants */
            r.main[i] += e.bias;
            r.bias[i] = 0;
        }
    }
    return r;
}

void gguf_row_free(struct gguf_row *row)
{
    free(row->main);
    free(row->bias);
}

struct gguf_sum gguf_product(const struct gguf_row *row, const uint8_t *y)
{
    struct gguf_sum r = {0, 0};

    for (size_t b = 0; b < row->n / 32; b++, y += Q8_1_NBYTES) {
        const double d = half_at(y), s = half_at(y + 2);
        const double *main = row->main + 32 * b, *bias = row->bias + 32 * b;
        /* an infinite stored sum is replaced by the quants' sum */
        const bool stored = row->kind == GGUF_BIAS_S && !isinf(s);

        for (size_t i = 0; i < 32; i++) {
            const double x = d * (int8_t)y[4 + i];

            r.value += main[i] * x;
            r.size += fabs(main[i] * x);
            if (row->kind != GGUF_NO_BIAS && !stored) {
                r.value += bias[i] * x;
                r.size += fabs(bias[i] * x);
            }
        }
        if (stored) { /* one bias for 32 elements */
            r.value += bias[0] * s;
            r.size += fabs(bias[0] * s);
        }
    }
    return r;
}

struct gguf_sum gguf_float_product(const struct gguf_row *row, const float *x)
{
    struct gguf_sum r = {0, 0};

    for (size_t i = 0; i < row->n; i++) {
        r.value += (row->main[i] + row->bias[i]) * (double)x[i];
        r.size +=
            (fabs(row->main[i]) + fabs(row->bias[i])) * fabs((double)x[i]);
    }
    return r;
}

double gguf_quantization_error(const struct gguf_row *row, const float *x)
{
    double error = 0;

    for (size_t b = 0; b < row->n / 32; b++) {
        double amax = 0, sum = 0, size = 0, weights = 0, eps;
        bool stored;

        for (size_t i = 32 * b; i < 32 * b + 32; i++) {
            amax = fmax(amax, fabs((double)x[i]));
            sum += (double)x[i];
            size += fabs((double)x[i]);
        }
        /* else the sum of the quants is taken */
        stored = row->kind == GGUF_BIAS_S && fabs(sum) < 65504;
        for (size_t i = 32 * b; i < 32 * b + 32; i++)
            weights += fabs(row->main[i] + (stored ? 0 : row->bias[i]));
        /* half a step, and what f16 rounds; subnormal scales are not rounded */
        if (amax < 127 * 0x1p-14)
            eps = 0.5 * (double)q8_1_scale((float)amax);
        else
            eps = amax / 254 + 0x1p-11 * amax;
        eps *= 1 + 1e-6;
        error += eps * weights;
        if (stored)
            error += fabs(row->bias[32 * b]) *
                     (0x1p-11 * fabs(sum) + 0x1p-25 + 6 * 0x1p-24 * size);
    }
    return error;
}
