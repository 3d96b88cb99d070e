/* test_convert8.c - formats of 4, 6 and 8 bits, and conversions with a scale
 *
 * Expected values come from a search: a code's value is worked out from its
 * fields, and a number's code is the nearest of all codes.
 */
#include "formats.h"

#include <stdio.h>

static const struct format *format_on(const char *target, const char *name)
{
    bool fnuz = strcmp(target, "gfx942") == 0;

    return name[0] == 'f' ? fnuz ? &fp8_fnuz : &fp8_ocp
           : fnuz         ? &bf8_fnuz
                          : &bf8_ocp;
}

static bool same_f32(double want, uint32_t got)
{
    return isnan(want) ? isnan(as_f32(got)) : bits_of((float)want) == got;
}

static const struct {
    const char *target;
    unsigned wave;
} machines[] = {{"gfx942", 64}, {"gfx950", 64}, {"gfx1201", 32}};
static const char *const names[] = {"fp8", "bf8"};

#define EACH(m, n)                                                             \
    for (size_t m = 0; m < 3; m++)                                             \
        for (size_t n = 0; n < 2; n++)

static void test_every_code_has_its_value(void **state)
{
    (void)state;
    EACH(m, n)
    {
        const struct format *f = format_on(machines[m].target, names[n]);

        for (int first = 0; first < 256; first += (int)machines[m].wave) {
            struct asm_state *st =
                asm_new(machines[m].target, machines[m].wave);
            char text[256];

            for (unsigned i = 0; i < machines[m].wave; i++)
                st->v[1][i] = (unsigned)first + i + 0xab00 +
                              (((unsigned)first + i) << 16);
            snprintf(text, sizeof(text),
                     "v_cvt_f32_%s v0, v1\nv_cvt_pk_f32_%s v[2:3], %s",
                     names[n], names[n], m == 2 ? "v1.l" : "v1");
            asm_run(st, text);
            for (unsigned i = 0; i < machines[m].wave; i++) {
                double want = value_of(f, first + (int)i);

                if (!same_f32(want, st->v[0][i]) ||
                    !same_f32(want, st->v[2][i]) ||
                    !same_f32(value_of(f, 0xab), st->v[3][i]))
                    fail_msg("%s %s code %#x: want %a, got %#x, %#x",
                             machines[m].target, names[n], first + (int)i, want,
                             st->v[0][i], st->v[2][i]);
            }
            asm_free(st);
        }
    }
}

/* Numbers around those of the format. */
static float around(const struct format *f)
{
    double x = value_of(f, (int)(valu_random() % (1u << f->bits)));

    switch (valu_random() % 6) {
    case 0:
        return as_f32((uint32_t)valu_operand(T_f32));
    case 1:
        return (float)(x * 1.0625);
    case 2:
        return (float)(x * 1.03125);
    case 3:
        return nextafterf((float)(x * 1.0625), 0);
    default:
        return (float)(x * (0.5 + (double)(valu_random() % 4096) / 2048));
    }
}

static void test_numbers_get_the_nearest_code(void **state)
{
    (void)state;
    EACH(m, n)
    for (unsigned ovfl = 0; ovfl < 2; ovfl++) {
        const struct format *f = format_on(machines[m].target, names[n]);

        for (int round = 0; round < 12; round++) {
            struct asm_state *st =
                asm_new(machines[m].target, machines[m].wave);
            char text[256];

            st->mode |= ovfl ? MODE_FP16_OVFL : 0;
            for (unsigned i = 0; i < machines[m].wave; i++) {
                st->v[0][i] = 0x12345678;
                st->v[1][i] = bits_of(around(f));
                st->v[2][i] = bits_of(around(f));
            }
            snprintf(text, sizeof(text), "v_cvt_pk_%s_f32 %s, v1, v2%s",
                     names[n], m == 2 ? "v0.h" : "v0",
                     m == 2 ? "" : " op_sel:[0,0,1]");
            asm_run(st, text);
            for (unsigned i = 0; i < machines[m].wave; i++)
                for (int k = 0; k < 2; k++) {
                    float x = as_f32(st->v[1 + k][i]);
                    int want = nearest_code(f, (double)x);
                    int got = (int)(st->v[0][i] >> (16 + 8 * k) & 255);

                    assert_int_equal(st->v[0][i] & 0xffff, 0x5678);
                    if (want < 0 && (!ovfl || isnan(x))) {
                        double v = value_of(f, got);

                        /* infinity if the format has one, else NaN */
                        if (!isnan(v) && !(f->ieee && isinf(v) && !isnan(x)))
                            fail_msg("%s of %a gives %#x", text, (double)x,
                                     got);
                        continue;
                    }
                    if (want < 0)
                        want = largest_code(f) | (signbit(x) ? 0x80 : 0);
                    if (want != got)
                        fail_msg("%s of %a on %s: want %#x, got %#x", text,
                                 (double)x, machines[m].target, (unsigned)want,
                                 (unsigned)got);
                }
            asm_free(st);
        }
    }
}

static void test_random_rounding_takes_a_neighbour(void **state)
{
    (void)state;
    EACH(m, n)
    {
        struct asm_state *st = asm_new(machines[m].target, machines[m].wave);
        const struct format *f = format_on(machines[m].target, names[n]);
        int low = 0x30, ups = 0;
        double a = value_of(f, low), b = value_of(f, low + 1);
        char text[128];

        /* A quarter of the way between two numbers: a quarter go up. */
        for (unsigned i = 0; i < machines[m].wave; i++) {
            st->v[0][i] = 0;
            st->v[1][i] = bits_of((float)(a + (b - a) / 4));
            st->v[2][i] = i << (m == 2 ? 27 : 26);
        }
        snprintf(text, sizeof(text), "v_cvt_sr_%s_f32 v0, v1, v2 %s", names[n],
                 m == 2 ? "byte_sel:2" : "op_sel:[0,0,0,1]");
        asm_run(st, text);
        for (unsigned i = 0; i < machines[m].wave; i++) {
            int got = (int)(st->v[0][i] >> 16);

            assert_int_equal(st->v[0][i] & 0xffff, 0);
            assert_in_range(got, low, low + 1);
            ups += got - low;
        }
        assert_int_equal(ups, machines[m].wave / 4);
        asm_free(st);
    }
}

/* ---- with a scale ---- */

static void test_pairs_are_divided_by_the_scale(void **state)
{
    struct asm_state *st = asm_new("gfx950", 64);

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        st->v[0][i] = st->v[3][i] = st->v[4][i] = 0x11223344;
        st->v[1][i] = bits_of((float)(valu_random() % 4000) / 100 - 20);
        st->v[2][i] = bits_of((float)(valu_random() % 4000) / 100 - 20);
        st->v[5][i] = valu_round16(as_f32(st->v[1][i])) |
                      (uint32_t)valu_round16(as_f32(st->v[2][i])) << 16;
    }
    asm_run(st, "v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, 4.0 op_sel:[0,0,0,1]\n"
                "v_cvt_scalef32_pk_fp8_f32 v3, v1, v2, 0.5 op_sel:[0,0,0,1]\n"
                "v_cvt_scalef32_pk_bf8_f16 v4, v5, 2.0\n"
                "v_cvt_scalef32_pk_f32_fp4 v[6:7], v0, 4.0 op_sel:[0,1]\n"
                "v_cvt_scalef32_pk_f16_fp8 v8, v3, 0.5 op_sel:[1,0]\n"
                "v_cvt_scalef32_f32_fp8 v9, v3, 1.0 op_sel:[1,1]");
    for (unsigned i = 0; i < 64; i++) {
        double x[2] = {as_f32(st->v[1][i]), as_f32(st->v[2][i])};
        uint32_t want4 = 0, want8 = 0, want16 = 0;

        for (int k = 0; k < 2; k++) {
            double h = num16((uint16_t)(st->v[5][i] >> (16 * k)));

            want4 |= (uint32_t)saturated(&fp4, x[k] / 4) << (4 * k);
            want8 |= (uint32_t)nearest_code(&fp8_ocp, x[k] * 2) << (8 * k);
            want16 |= (uint32_t)nearest_code(&bf8_ocp, h / 2) << (8 * k);
            assert_int_equal(
                st->v[6 + k][i],
                bits_of(
                    (float)(4 * value_of(&fp4, saturated(&fp4, x[k] / 4)))));
            assert_int_equal(
                st->v[8][i] >> (16 * k) & 0xffff,
                valu_round16(0.5 * value_of(&fp8_ocp,
                                            nearest_code(&fp8_ocp, x[k] * 2))));
        }
        assert_int_equal(st->v[0][i], 0x11003344 | want4 << 16);
        assert_int_equal(st->v[3][i], 0x3344 | want8 << 16);
        assert_int_equal(st->v[4][i], 0x11220000 | want16);
        assert_true(
            same_f32(value_of(&fp8_ocp, (int)(want8 >> 8)), st->v[9][i]));
    }
    asm_free(st);
}

static void test_32_values_of_six_bits(void **state)
{
    static const struct format *const formats[] = {&fp6, &bf6};

    (void)state;
    for (int n = 0; n < 2; n++) {
        const struct format *f = formats[n];
        struct asm_state *st = asm_new("gfx950", 64);
        char text[512];

        for (unsigned i = 0; i < 64; i++)
            for (unsigned k = 0; k < 32; k++)
                st->v[32 + k][i] = bits_of(around(f) * 4);
        snprintf(text, sizeof(text),
                 "v_cvt_scalef32_2xpk16_%s_f32 v[0:5], v[32:47], v[48:63], "
                 "4.0\n"
                 "v_cvt_scalef32_pk32_f32_%s v[64:95], v[0:5], 1.0\n"
                 "v_cvt_scalef32_pk32_f16_%s v[96:111], v[0:5], 1.0\n"
                 "v_cvt_scalef32_pk32_%s_f16 v[8:13], v[96:111], 1.0",
                 f->name, f->name, f->name, f->name);
        asm_run(st, text);
        for (unsigned i = 0; i < 64; i++)
            for (int k = 0; k < 32; k++) {
                /* The two sources come in turn. */
                float x = as_f32(st->v[32 + k / 2 + 16 * (k % 2)][i]);
                int got = code_at(st, 0, i, 6, k);
                int want = saturated(f, (double)x / 4);

                if (isnan(x))
                    continue;
                if (got != want)
                    fail_msg("%s of %a: want %#x, got %#x", f->name,
                             (double)x / 4, (unsigned)want, (unsigned)got);
                assert_int_equal(st->v[64 + k][i],
                                 bits_of((float)value_of(f, got)));
                assert_int_equal(code_at(st, 8, i, 6, k), got);
            }
        asm_free(st);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_has_its_value),
        cmocka_unit_test(test_numbers_get_the_nearest_code),
        cmocka_unit_test(test_random_rounding_takes_a_neighbour),
        cmocka_unit_test(test_pairs_are_divided_by_the_scale),
        cmocka_unit_test(test_32_values_of_six_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
