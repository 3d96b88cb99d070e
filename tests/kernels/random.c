/* random.c - Philox's numbers: known answers, bits, moments, distributions */
#include "harness.h"

#include "philox_ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_random;

/* Philox 4x32-10 in the known-answer tests of its authors' library, Random123:
 * counter, key, words */
static const struct known_answer {
    uint64_t seed, low, high;
    uint32_t words[4];
} known_answers[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {UINT64_MAX,
     UINT64_MAX,
     UINT64_MAX,
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {UINT64_C(0x299f31d0a4093822),
     UINT64_C(0x85a308d3243f6a88),
     UINT64_C(0x0370734413198a2e),
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void check_reference(struct kt *t)
{
    t->what = "known answers";
    for (size_t i = 0; i < sizeof(known_answers) / sizeof(known_answers[0]);
         i++) {
        const struct known_answer *k = &known_answers[i];
        uint32_t words[4];

        philox_ref(k->seed, k->low, k->high, words);
        t->checks++;
        if (memcmp(words, k->words, sizeof(words)) != 0)
            kt_fail(t, "answer %zu: the test's own Philox is wrong", i);
    }
}

/* the words that element e is made of: its own, and its pair's */
struct element {
    uint64_t own, a, b; /* 64 bits each, of which 32 count for small types */
    unsigned place;     /* of the pair */
};

static struct element element(uint64_t seed, uint64_t e)
{
    const unsigned i = (unsigned)(e % 4), pair = i & 2;
    uint32_t words[4], more[4];
    uint64_t wide[4];

    philox_ref(seed, e / 4, 0, words);
    philox_ref(seed, e / 4, 1, more);
    for (int k = 0; k < 4; k++)
        wide[k] = (uint64_t)words[k] << 32 | more[k];
    return (struct element){wide[i], wide[pair], wide[pair + 1], i & 1};
}

/* ---- uniform: to the bit ---- */

static kt_real just_below(enum kt_type type, kt_real v)
{
    kt_real step = kt_ulp(type, v);
    uint64_t code;

    /* below a power of two numbers lie twice as close */
    code = kt_encode(type, v - step / 2);
    if (kt_get(type, &code, 0) == v)
        code = kt_encode(type, v - step);
    return kt_get(type, &code, 0);
}

/* the half word that element e of f16 or bf16 is made of */
static uint16_t half_word(uint64_t seed, uint64_t e)
{
    uint32_t words[4];

    philox_ref(seed, e / 8, 0, words);
    return (uint16_t)(words[e / 2 % 4] >> (e % 2 * 16));
}

static kt_real uniform(enum kt_type type, uint64_t seed, uint64_t e,
                       kt_real low, kt_real high)
{
    const uint64_t word = element(seed, e).own;
    kt_real v;
    uint64_t code;

    if (type == KT_F64) {
        const double u = ldexp((double)(word >> 11), -53);

        v = fma(u, (double)high, fma(-u, (double)low, (double)low));
    } else {
        const float u = type == KT_F32 ? ldexpf((float)(word >> 40), -24)
                                       : ldexpf((float)half_word(seed, e), -16);

        v = fmaf(u, (float)high, fmaf(-u, (float)low, (float)low));
    }
    code = kt_encode(type, v);
    v = kt_get(type, &code, 0);
    return v >= high ? just_below(type, high) : v < low ? low : v;
}

static const struct stream {
    size_t n;
    uint64_t seed, offset;
    unsigned grid, block;
    size_t lead;
} streams[] = {
    {1, 0, 0, 1, 32, 0},
    {4, 0, 0, 1, 64, 0},
    {1000, 7, 0, 1, 64, 0},
    {1003, 7, 0, 3, 256, 1},
    {997, 7, 5, 2, 1024, 0},
    {997, 7, 6, 40, 32, 1},
    {4096, UINT64_C(0x123456789abcdef0), UINT64_C(0x3fffffffd), 2, 96, 0},
    {4099, UINT64_MAX, UINT64_C(1) << 63, 2, 256, 0},
    {0, 1, 2, 1, 64, 0},
    /* many for each thread; the lower half of the counter passes its end, of
     * f32's and normal numbers' blocks of four and of uniform ones of eight */
    {8203, 11, UINT64_C(0x400000000) - 3000, 1, 64, 0},
    {16411, 11, UINT64_C(0x800000000) - 6000, 2, 32, 0},
    {8200, 11, 0, 1, 48, 0},
};
#define NSTREAMS (sizeof(streams) / sizeof(streams[0]))

/* One launch; its numbers, or NULL. */
static void *launch(struct kt *t, enum kt_type type, const struct stream *s,
                    kt_real a, kt_real b)
{
    const size_t size = kt_size(type), nbytes = s->n * size;
    void *out = kt_device(t, NULL, nbytes, s->lead * size);
    void *got = kt_alloc(t, nbytes);
    uint64_t n = s->n, first, second;

    kt_put(type, &first, 0, a);
    kt_put(type, &second, 0, b);
    if (!kt_launch(t, (const unsigned[3]){s->grid, 1, 1},
                   (const unsigned[3]){s->block, 1, 1}, 0,
                   (const kpk_arg[]){{&out, sizeof(out)},
                                     {&n, sizeof(n)},
                                     {&s->seed, sizeof(s->seed)},
                                     {&s->offset, sizeof(s->offset)},
                                     {&first, size},
                                     {&second, size}},
                   6))
        return NULL;
    kt_read(t, got, out, nbytes);
    return got;
}

static kt_real in_type(enum kt_type type, kt_real v)
{
    const uint64_t code = kt_encode(type, v);

    return kt_get(type, &code, 0);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/*
 * Moments, and Kolmogorov and Smirnov's distance, of numbers that should be
 * uniform in [0, 1) or standard normal. `grain` is what the type rounds by. The
 * limits are passed by chance once in 1000 seeds; the seed is fixed.
 */
static void check_distribution(struct kt *t, double *x, size_t n, bool normal,
                               double grain)
{
    const double root = sqrt((double)n);
    const double want[4] = {normal ? 0 : 0.5, normal ? 1 : 1.0 / 3,
                            normal ? 0 : 0.25, normal ? 3 : 0.2};
    /* standard deviations of the powers: E x^2k - (E x^k)^2 */
    const double sigma[4] = {normal ? 1 : 0.2887, normal ? 1.4143 : 0.2982,
                             normal ? 3.8730 : 0.2835,
                             normal ? 9.7980 : 0.2667};
    double sum[4] = {0}, serial = 0, distance = 0;

    for (size_t i = 0; i < n; i++) {
        double power = 1;

        for (int k = 0; k < 4; k++)
            sum[k] += power *= x[i];
        if (i > 0)
            serial += (x[i] - want[0]) * (x[i - 1] - want[0]);
    }
    t->checks += 6;
    for (int k = 0; k < 4; k++)
        if (fabs(sum[k] / (double)n - want[k]) >
            3.3 * sigma[k] / root + 4 * grain)
            kt_fail(t, "moment %d: %g, not %g", k + 1, sum[k] / (double)n,
                    want[k]);
    if (fabs(serial / (double)n) > 3.3 * sigma[0] * sigma[0] / root + grain)
        kt_fail(t, "neighbours correlate: %g", serial / (double)n);
    qsort(x, n, sizeof(*x), ascending);
    for (size_t i = 0; i < n; i++) {
        const double p = normal ? normal_below(x[i]) : x[i];

        distance = fmax(distance, fabs(p - (double)i / (double)n));
        distance = fmax(distance, fabs((double)(i + 1) / (double)n - p));
    }
    if (distance > 1.95 / root + grain)
        kt_fail(t, "distance %g of %zu numbers", distance, n);
}

/* The same numbers by another grid, and the last of them by a jump. */
static void check_again(struct kt *t, enum kt_type type, const struct stream *s,
                        const void *got, kt_real a, kt_real b)
{
    const size_t size = kt_size(type);
    struct stream other = *s;
    const char *again;

    other.grid = 7;
    other.block = 160;
    other.lead = 0;
    again = launch(t, type, &other, a, b);
    if (again)
        kt_check_bytes(t, again, got, s->n * size, "another grid");
    if (s->n < 100)
        return;
    other.offset = s->offset + 77;
    other.n = s->n - 77;
    again = launch(t, type, &other, a, b);
    if (again)
        kt_check_bytes(t, again, (const char *)got + 77 * size, other.n * size,
                       "a later part");
}

static const struct stream long_stream = {40000, 20261122, 0, 5, 256, 0};

static void check_long(struct kt *t, enum kt_type type, bool normal)
{
    void *got = launch(t, type, &long_stream, 0, 1);
    double *x = kt_alloc(t, long_stream.n * sizeof(*x));

    t->what = "distribution";
    for (size_t i = 0; got && i < long_stream.n; i++)
        x[i] = (double)kt_get(type, got, i);
    if (got)
        check_distribution(t, x, long_stream.n, normal, (double)kt_eps(type));
}

static void run_uniform(struct kt *t, const struct kt_row *row)
{
    static const kt_real ranges[][2] = {
        {0, 1}, {-1, 1}, {1, 1.0009765625L}, {-65504, 65504}, {-3, -1}, {2, 2}};
    const enum kt_type type = row->a;

    check_reference(t);
    for (size_t i = 0; i < NSTREAMS; i++)
        for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
            const struct stream *s = &streams[i];
            const kt_real low = in_type(type, ranges[r][0]);
            kt_real high = in_type(type, ranges[r][1]);
            kt_real *want = kt_alloc(t, s->n * sizeof(*want));
            char *text = kt_alloc(t, 96), *got;

            if (r == 2 && type == KT_BF16)
                high = in_type(type, 1.015625L);
            snprintf(text, 96, "n %zu, offset %llx, from %Lg to %Lg", s->n,
                     (unsigned long long)s->offset, low, high);
            t->what = text;
            got = launch(t, type, s, low, high);
            if (!got)
                return;
            for (size_t k = 0; k < s->n; k++)
                want[k] = low == high ? low
                                      : uniform(type, s->seed, s->offset + k,
                                                low, high);
            kt_check(t, type, got, want, s->n, KT_EXACT);
            if (r == 0)
                check_again(t, type, s, got, low, high);
        }
    /* the known answer, without the reference between */
    t->what = "Philox's answer to 0";
    void *got = launch(t, type, &streams[1], 0, 1);

    for (size_t i = 0; got && (type == KT_F32 || type == KT_F64) && i < 4;
         i++) {
        const kt_real u = kt_get(type, got, i);
        const uint32_t upper = (uint32_t)ldexpl(u, 24);

        t->checks++;
        if (upper != known_answers[0].words[i] >> 8)
            kt_fail(t, "element %zu begins with %06x", i, upper);
    }
    check_long(t, type, false);
}

/* ---- normal ---- */

static kt_real normal(enum kt_type type, const struct element *e, kt_real *size)
{
    const kt_real turn = 6.283185307179586476925286766559L;
    kt_real u, angle, r;

    if (type == KT_F64) {
        u = ldexpl((kt_real)((e->a >> 11) + 1), -53);
        angle = turn * ldexpl((kt_real)(e->b >> 11), -53);
    } else {
        u = fmaf((float)(e->a >> 32), 0x1p-32f, 0x1p-33f);
        angle = turn * ldexpl((kt_real)(e->b >> 40), -24);
    }
    r = sqrtl(-2 * logl(u));
    *size = r;
    return r * (e->place ? sinl(angle) : cosl(angle));
}

static void run_normal(struct kt *t, const struct kt_row *row)
{
    static const kt_real ranges[][2] = {{0, 1}, {3, 0.25L}, {-1, 100}, {5, 0}};
    const enum kt_type type = row->a;
    const kt_real v = type == KT_F64 ? 0x1p-53L : 0x1p-24L;
    const bool amd = strncmp(t->target, "gfx", 3) == 0;
    /* units of the number's radius: NVIDIA's sine errs by nine of them */
    const kt_real units = amd || type == KT_F64 ? 6 : type == KT_F32 ? 24 : 32;

    for (size_t i = 0; i < NSTREAMS; i++)
        for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
            const struct stream *s = &streams[i];
            const kt_real mean = ranges[r][0], std = ranges[r][1];
            kt_real *want = kt_alloc(t, s->n * sizeof(*want));
            kt_real *scale = kt_alloc(t, s->n * sizeof(*scale));
            char *text = kt_alloc(t, 96), *got;

            snprintf(text, 96, "n %zu, offset %llx, mean %Lg, std %Lg", s->n,
                     (unsigned long long)s->offset, mean, std);
            t->what = text;
            got = launch(t, type, s, mean, std);
            if (!got)
                return;
            for (size_t k = 0; k < s->n; k++) {
                const struct element e = element(s->seed, s->offset + k);

                want[k] = mean + std * normal(type, &e, &scale[k]);
                scale[k] *= std;
                if (kt_size(type) < 4) /* rounded to f32 first */
                    scale[k] += fabsl(want[k]) / units;
            }
            kt_check(t, type, got, want, s->n,
                     (struct kt_gate){0.5L, units * v, scale, false});
            if (r == 0)
                check_again(t, type, s, got, mean, std);
        }
    check_long(t, type, true);
}

#define ROWS(T, TYPE)                                                          \
    {"rand_uniform_" #T, run_uniform, TYPE, TYPE, NULL},                       \
    {                                                                          \
        "rand_normal_" #T, run_normal, TYPE, TYPE, NULL                        \
    }

static const struct kt_row rows[] = {ROWS(f32, KT_F32), ROWS(f64, KT_F64),
                                     ROWS(f16, KT_F16), ROWS(bf16, KT_BF16)};

KT_MAIN(kpk_module_random, rows)
