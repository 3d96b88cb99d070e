/* test_scaled.c - gfx950's conversions with a scale, each by its name */
#include "formats.h"

#include <stdio.h>

enum { F32, F16, BF16, NUM_TYPES };
static const char *const type_names[NUM_TYPES] = {"f32", "f16", "bf16"};

static uint32_t type_bits(unsigned type, double x)
{
    return type == F32   ? bits_of((float)x)
           : type == F16 ? valu_round16(x)
                         : valu_round_bf16(x);
}

static double type_value(unsigned type, uint32_t bits)
{
    return type == F32   ? (double)as_f32(bits)
           : type == F16 ? num16((uint16_t)bits)
                         : (double)as_f32(bits << 16);
}

/* A number near one of the format times 2^e, not beyond its largest. */
static double some_number(const struct format *f, int e)
{
    int code = (int)(valu_random() % (unsigned)largest_code(f));
    double low = value_of(f, code), high = value_of(f, code + 1);
    double x = low + (high - low) * (double)(valu_random() % 256) / 256;

    return ldexp(valu_random() & 1 ? -x : x, e);
}

/* A number of a format times 2^e that type has, too. */
static double some_shared(const struct format *f, int e, unsigned type)
{
    double x;

    do {
        x = some_number(f, e);
    } while (type == F16 && fabs(x) > 65504);
    return x;
}

/* The code next to x on the side of zero. */
static int cut_code(const struct format *f, double x)
{
    int best = 0;

    for (int c = 0; c < 1 << (f->bits - 1); c++)
        if (isfinite(value_of(f, c)) && value_of(f, c) <= fabs(x))
            best = c;
    return best | (signbit(x) ? 1 << (f->bits - 1) : 0);
}

enum { SCALE = 9, NOISE = 10, EXPONENT = 2 }; /* v9: 2^2, and a mantissa */

static struct asm_state *scaled_state(void)
{
    struct asm_state *st = asm_new("gfx950", 64);

    for (unsigned i = 0; i < 64; i++) {
        st->v[SCALE][i] = bits_of(6.5f); /* of which 4 counts */
        st->v[NOISE][i] = i & 1 ? UINT32_MAX : 0;
    }
    return st;
}

static const struct format *const bytes[] = {&fp8_ocp, &bf8_ocp, &fp4};
static const struct format *const sixes[] = {&fp6, &bf6};

/* v1 (and v2) get numbers of the type, two f16 in v1; x what they are. */
static void put_pair_of(struct asm_state *st, unsigned type,
                        const struct format *f, unsigned i, double x[2])
{
    uint32_t raw[2];

    for (unsigned k = 0; k < 2; k++) {
        raw[k] = type_bits(type, some_shared(f, EXPONENT, type));
        x[k] = ldexp(type_value(type, raw[k]), -EXPONENT);
    }
    st->v[1][i] = type == F32 ? raw[0] : raw[0] | raw[1] << 16;
    if (type == F32)
        st->v[2][i] = raw[1];
}

static void expect(const char *text, unsigned lane, uint32_t want, uint32_t got)
{
    if (want != got)
        fail_msg("%s: lane %u: want %#x, got %#x", text, lane, want, got);
}

static void test_pairs_of_each_type(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 3; n++)
        for (unsigned t = 0; t < NUM_TYPES; t++) {
            const struct format *f = bytes[n];
            struct asm_state *st = scaled_state();
            uint32_t all = (1u << 2 * f->bits) - 1;
            double x[64][2];
            char text[128];

            for (unsigned i = 0; i < 64; i++) {
                put_pair_of(st, t, f, i, x[i]);
                st->v[0][i] = 0x9abcdef0 + i;
            }
            snprintf(text, sizeof(text), "v_cvt_scalef32_pk_%s_%s v0, v1, %sv9",
                     f->name, type_names[t], t == F32 ? "v2, " : "");
            asm_run(st, text);
            for (unsigned i = 0; i < 64; i++) {
                uint32_t want = 0;

                for (unsigned k = 0; k < 2; k++)
                    want |= (uint32_t)saturated(f, x[i][k])
                            << k * (unsigned)f->bits;
                expect(text, i, ((0x9abcdef0 + i) & ~all) | want, st->v[0][i]);
            }
            asm_free(st);
        }
}

static void test_pairs_come_back_in_each_type(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 3; n++)
        for (unsigned t = 0; t < NUM_TYPES; t++) {
            const struct format *f = bytes[n];
            struct asm_state *st = scaled_state();
            bool four = f->bits == 4;
            char text[128];

            for (unsigned i = 0; i < 64; i++)
                st->v[1][i] = (uint32_t)valu_random();
            snprintf(text, sizeof(text),
                     "v_cvt_scalef32_pk_%s_%s %s, v1, v9 op_sel:[%s]",
                     type_names[t], f->name, t == F32 ? "v[4:5]" : "v4",
                     four ? "0,1" : "1,0");
            asm_run(st, text);
            for (unsigned i = 0; i < 64; i++)
                for (unsigned k = 0; k < 2; k++) {
                    unsigned at = 16 + k * (unsigned)f->bits;
                    int code = (int)(st->v[1][i] >> at & ((1u << f->bits) - 1));
                    double x = ldexp(value_of(f, code), EXPONENT);
                    uint32_t got = t == F32 ? st->v[4 + k][i]
                                            : st->v[4][i] >> 16 * k & 0xffff;

                    if (isnan(x))
                        assert_true(isnan(type_value(t, got)));
                    else
                        expect(text, i, type_bits(t, x), got);
                }
            asm_free(st);
        }
}

static void test_single_bytes_come_back(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++)
        for (unsigned t = 0; t < 2; t++) {
            const struct format *f = bytes[n];
            struct asm_state *st = scaled_state();
            char text[128];

            for (unsigned i = 0; i < 64; i++) {
                st->v[1][i] = (uint32_t)valu_random();
                st->v[4][i] = 0x12345678;
            }
            snprintf(text, sizeof(text),
                     "v_cvt_scalef32_%s_%s v4, v1, v9 op_sel:[1,0%s]",
                     type_names[t], f->name, t == F16 ? ",1" : "");
            asm_run(st, text);
            for (unsigned i = 0; i < 64; i++) {
                double x =
                    ldexp(value_of(f, (int)(st->v[1][i] >> 8 & 255)), EXPONENT);
                uint32_t got = t == F32 ? st->v[4][i] : st->v[4][i] >> 16;

                if (isnan(x))
                    assert_true(isnan(type_value(t, got)));
                else
                    expect(text, i, type_bits(t, x), got);
                if (t == F16)
                    assert_int_equal(st->v[4][i] & 0xffff, 0x5678);
            }
            asm_free(st);
        }
}

/* Without noise the fraction is cut off; with all of it, what is not exact
 * goes to the next code. */
static uint32_t random_code(const struct format *f, double x, bool noise)
{
    int low = cut_code(f, x);

    return (uint32_t)(noise && value_of(f, low) != x ? low + 1 : low);
}

static void test_random_rounding_by_extremes_of_noise(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 3; n++)
        for (unsigned t = 0; t < NUM_TYPES; t++) {
            const struct format *f = bytes[n];
            bool pair = f->bits == 4;
            struct asm_state *st = scaled_state();
            double x[64][2];
            char text[128];

            for (unsigned i = 0; i < 64; i++) {
                put_pair_of(st, t, f, i, x[i]);
                st->v[0][i] = 0x9abcdef0;
            }
            snprintf(text, sizeof(text),
                     "v_cvt_scalef32_sr_%s%s_%s v0, %s, v10, v9",
                     pair ? "pk_" : "", f->name, type_names[t],
                     pair && t == F32 ? "v[2:3]" : "v1");
            if (pair && t == F32) { /* two registers */
                memcpy(st->v[3], st->v[2], sizeof(st->v[3]));
                memcpy(st->v[2], st->v[1], sizeof(st->v[2]));
            }
            asm_run(st, text);
            for (unsigned i = 0; i < 64; i++) {
                uint32_t want = random_code(f, x[i][0], i & 1);

                if (pair)
                    want |= random_code(f, x[i][1], i & 1) << 4;
                expect(text, i, 0x9abcde00 | want, st->v[0][i]);
            }
            asm_free(st);
        }
}

/* ---- 32 values of six bits ---- */

static void put_wide(struct asm_state *st, unsigned type,
                     const struct format *f, double x[64][32])
{
    for (unsigned i = 0; i < 64; i++)
        for (unsigned k = 0; k < 32; k++) {
            uint32_t raw = type_bits(type, some_shared(f, EXPONENT, type));
            uint32_t *reg = &st->v[32 + (type == F32 ? k : k / 2)][i];

            x[i][k] = ldexp(type_value(type, raw), -EXPONENT);
            if (type == F32 || k % 2 == 0)
                *reg = raw;
            else
                *reg |= raw << 16;
        }
}

static void check_wide(const struct format *f, unsigned type, bool random)
{
    static double x[64][32];
    struct asm_state *st = scaled_state();
    char text[128];

    put_wide(st, type, f, x);
    snprintf(text, sizeof(text), "v_cvt_scalef32_%spk32_%s_%s v[0:5], %s%s, v9",
             random ? "sr_" : "", f->name, type_names[type],
             type == F32 ? "v[32:63]" : "v[32:47]", random ? ", v10" : "");
    asm_run(st, text);
    for (unsigned i = 0; i < 64; i++)
        for (int k = 0; k < 32; k++)
            expect(text, i,
                   random ? random_code(f, x[i][k], i & 1)
                          : (uint32_t)saturated(f, x[i][k]),
                   (uint32_t)code_at(st, 0, i, 6, k));
    asm_free(st);
}

static void test_32_values_of_each_type(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++)
        for (unsigned t = 0; t < NUM_TYPES; t++) {
            check_wide(sixes[n], t, true);
            if (t != F32)
                check_wide(sixes[n], t, false);
        }
}

static void test_32_values_come_back_in_each_type(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++)
        for (unsigned t = 0; t < NUM_TYPES; t++) {
            struct asm_state *st = scaled_state();
            char text[128];

            for (unsigned i = 0; i < 64; i++)
                for (unsigned r = 0; r < 6; r++)
                    st->v[r][i] = (uint32_t)valu_random();
            snprintf(text, sizeof(text),
                     "v_cvt_scalef32_pk32_%s_%s %s, v[0:5], v9", type_names[t],
                     sixes[n]->name, t == F32 ? "v[32:63]" : "v[32:47]");
            asm_run(st, text);
            for (unsigned i = 0; i < 64; i++)
                for (int k = 0; k < 32; k++) {
                    double x = ldexp(
                        value_of(sixes[n], code_at(st, 0, i, 6, k)), EXPONENT);
                    uint32_t reg = st->v[32 + (t == F32 ? k : k / 2)][i];

                    expect(text, i, type_bits(t, x),
                           t == F32 ? reg : reg >> 16 * (k % 2) & 0xffff);
                }
            asm_free(st);
        }
}

/* ---- to 16 bits at random, and what makes the noise ---- */

static void test_random_rounding_to_16_bits(void **state)
{
    struct asm_state *st = scaled_state();

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        st->v[1][i] = bits_of(1 + (float)(valu_random() % 8192) * 0x1p-23f);
        st->v[4][i] = st->v[5][i] = 0x77770000;
        st->v[6][i] = (uint32_t)valu_random();
    }
    asm_run(st, "v_cvt_sr_bf16_f32 v4, v1, v10\n"
                "v_cvt_sr_f16_f32 v5, v1, v10\nv_prng_b32 v7, v6");
    for (unsigned i = 0; i < 64; i++) {
        uint32_t u = st->v[1][i], rest = u & 0xffff, rest16 = u & 0x1fff;

        assert_int_equal(st->v[4][i] & 0xffff, (u >> 16) + (i & 1 && rest));
        assert_int_equal(st->v[5][i] & 0xffff,
                         0x3c00 + ((u & 0x7fffff) >> 13) + (i & 1 && rest16));
        assert_int_equal(st->v[7][i],
                         st->v[6][i] << 1 ^ (st->v[6][i] >> 31 ? 197 : 0));
    }
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_of_each_type),
        cmocka_unit_test(test_pairs_come_back_in_each_type),
        cmocka_unit_test(test_single_bytes_come_back),
        cmocka_unit_test(test_random_rounding_by_extremes_of_noise),
        cmocka_unit_test(test_32_values_of_each_type),
        cmocka_unit_test(test_32_values_come_back_in_each_type),
        cmocka_unit_test(test_random_rounding_to_16_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
