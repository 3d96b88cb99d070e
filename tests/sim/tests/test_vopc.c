/* test_vopc.c - vector compares and the masks that they write */
#include "valu.h"

#include <stdio.h>

static bool unordered(double a, double b)
{
    return isnan(a) || isnan(b);
}

static int order(double a, double b)
{
    return a < b ? -1 : a > b;
}

static uint32_t class_of(double x, bool signalling, double least_normal)
{
    static const uint8_t positive[] = {9, 8, 7, 6}, negative[] = {2, 3, 4, 5};
    int kind = isinf(x) ? 0 : fabs(x) >= least_normal ? 1 : x != 0 ? 2 : 3;

    if (isnan(x))
        return signalling ? 1 : 2;
    return 1u << (signbit(x) ? negative : positive)[kind];
}

/* The bit goes to the mask; there is no vector result. */
#define HIT(x)                                                                 \
    l->mask_out = (x);                                                         \
    d = 0
#define NUM(X, t, v)                                                           \
    X(ALL, v_cmp_lt_##t, "v_cmp_lt_" #t "_e64 W, A, B", none, t, t, none,      \
      HIT(!unordered(v(a), v(b)) && order(v(a), v(b)) < 0))                    \
    X(ALL, v_cmp_eq_##t, "v_cmp_eq_" #t "_e64 W, A, B", none, t, t, none,      \
      HIT(!unordered(v(a), v(b)) && order(v(a), v(b)) == 0))                   \
    X(ALL, v_cmp_le_##t, "v_cmp_le_" #t "_e64 W, A, B", none, t, t, none,      \
      HIT(!unordered(v(a), v(b)) && order(v(a), v(b)) <= 0))                   \
    X(ALL, v_cmp_gt_##t, "v_cmp_gt_" #t "_e64 W, A, B", none, t, t, none,      \
      HIT(!unordered(v(a), v(b)) && order(v(a), v(b)) > 0))                    \
    X(ALL, v_cmp_lg_##t, "v_cmp_lg_" #t "_e64 W, A, B", none, t, t, none,      \
      HIT(!unordered(v(a), v(b)) && order(v(a), v(b)) != 0))                   \
    X(ALL, v_cmp_ge_##t, "v_cmp_ge_" #t "_e64 W, A, B", none, t, t, none,      \
      HIT(!unordered(v(a), v(b)) && order(v(a), v(b)) >= 0))                   \
    X(ALL, v_cmp_o_##t, "v_cmp_o_" #t "_e64 W, A, B", none, t, t, none,        \
      HIT(!unordered(v(a), v(b))))                                             \
    X(ALL, v_cmp_u_##t, "v_cmp_u_" #t "_e64 W, A, B", none, t, t, none,        \
      HIT(unordered(v(a), v(b))))                                              \
    X(ALL, v_cmp_nge_##t, "v_cmp_nge_" #t "_e64 W, A, B", none, t, t, none,    \
      HIT(unordered(v(a), v(b)) || order(v(a), v(b)) < 0))                     \
    X(ALL, v_cmp_nlg_##t, "v_cmp_nlg_" #t "_e64 W, A, B", none, t, t, none,    \
      HIT(unordered(v(a), v(b)) || order(v(a), v(b)) == 0))                    \
    X(ALL, v_cmp_ngt_##t, "v_cmp_ngt_" #t "_e64 W, A, B", none, t, t, none,    \
      HIT(unordered(v(a), v(b)) || order(v(a), v(b)) <= 0))                    \
    X(ALL, v_cmp_nle_##t, "v_cmp_nle_" #t "_e64 W, A, B", none, t, t, none,    \
      HIT(unordered(v(a), v(b)) || order(v(a), v(b)) > 0))                     \
    X(ALL, v_cmp_neq_##t, "v_cmp_neq_" #t "_e64 W, A, B", none, t, t, none,    \
      HIT(unordered(v(a), v(b)) || order(v(a), v(b)) != 0))                    \
    X(ALL, v_cmp_nlt_##t, "v_cmp_nlt_" #t "_e64 W, A, B", none, t, t, none,    \
      HIT(unordered(v(a), v(b)) || order(v(a), v(b)) >= 0))                    \
    X(GFX9_TO_11, v_cmp_f_##t, "v_cmp_f_" #t "_e64 W, A, B", none, t, t, none, \
      HIT(false))                                                              \
    X(GFX9 | GFX10, v_cmp_tru_##t, "v_cmp_tru_" #t "_e64 W, A, B", none, t, t, \
      none, HIT(true))

#define INT(X, on, t)                                                          \
    X(on, v_cmp_lt_##t, "v_cmp_lt_" #t "_e64 W, A, B", none, t, t, none,       \
      HIT(!(b <= a)))                                                          \
    X(on, v_cmp_eq_##t, "v_cmp_eq_" #t "_e64 W, A, B", none, t, t, none,       \
      HIT((a ^ b) == 0))                                                       \
    X(on, v_cmp_le_##t, "v_cmp_le_" #t "_e64 W, A, B", none, t, t, none,       \
      HIT(!(b < a)))                                                           \
    X(on, v_cmp_gt_##t, "v_cmp_gt_" #t "_e64 W, A, B", none, t, t, none,       \
      HIT(!(b >= a)))                                                          \
    X(on, v_cmp_ne_##t, "v_cmp_ne_" #t "_e64 W, A, B", none, t, t, none,       \
      HIT((a ^ b) != 0))                                                       \
    X(on, v_cmp_ge_##t, "v_cmp_ge_" #t "_e64 W, A, B", none, t, t, none,       \
      HIT(!(b > a)))

#define SAME(x) (double)(x)
#define HALF(x) half_number(x)
static double half_number(half_t x)
{
    uint16_t u;

    memcpy(&u, &x, 2);
    return num16(u);
}

#define floats32(X) NUM(X, f32, SAME)
#define floats64(X) NUM(X, f64, SAME)
#define floats16(X) NUM(X, f16, HALF)
#define whole(X)                                                               \
    INT(X, ALL, u32)                                                           \
    INT(X, ALL, i32)                                                           \
    INT(X, ALL, u64) INT(X, ALL, i64) INT(X, ALL, u16) INT(X, ALL, i16)
#define classes(X)                                                             \
    X(ALL, class32, "v_cmp_class_f32 W, A, B", none, u32, u32, none,           \
      HIT(class_of(as_f32(a), !(a & 0x400000), 0x1p-126) & b))                 \
    X(ALL, class16, "v_cmp_class_f16 W, A, B", none, u16, u16, none,           \
      HIT(class_of(num16(a), !(a & 0x200), 0x1p-14) & b))                      \
    X(ALL, class64, "v_cmp_class_f64 W, A, B", none, f64, u32, none,           \
      HIT(class_of(a, !(l->a & 0x8000000000000), 0x1p-1022) & b))

VALU_TEXT_TEST(floats32)
VALU_TEXT_TEST(floats64)
VALU_TEXT_TEST(floats16)
VALU_TEXT_TEST(whole)
VALU_TEXT_TEST(classes)

/* ---- v_cmpx and lanes that are off ---- */

static void test_cmp_gives_zero_for_lanes_that_are_off(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[SREG_EXEC] = 0x0f0f0f0f;
    st->s[SREG_EXEC + 1] = 0x80000001;
    asm_run(st, "v_cmp_eq_u32 vcc, v1, v1");
    assert_int_equal(st->s[SREG_VCC], 0x0f0f0f0f);
    assert_int_equal(st->s[SREG_VCC + 1], 0x80000001);
    asm_free(st);
}

static void test_cmpx_of_gfx9_writes_exec_and_a_mask(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        st->v[1][i] = i;
    st->s[SREG_EXEC] = 0xffff;
    asm_run(st, "v_cmpx_lt_u32_e64 s[8:9], v1, 8\n"
                "v_mov_b32 v2, 7");
    assert_int_equal(st->s[8], 0xff);
    assert_int_equal(st->s[9], 0);
    assert_int_equal(st->s[SREG_EXEC], 0xff);
    assert_int_equal(st->s[SREG_EXEC + 1], 0);
    assert_int_equal(st->v[2][7], 7);
    assert_int_not_equal(st->v[2][8], 7);
    asm_free(st);
}

static void test_cmpx_of_gfx10_up_writes_exec_alone(void **state)
{
    static const char *const on[] = {"gfx1030", "gfx1100", "gfx1201"};

    (void)state;
    for (int t = 0; t < 3; t++) {
        struct asm_state *st = asm_new(on[t], 32);

        for (unsigned i = 0; i < 32; i++)
            st->v[1][i] = i;
        st->s[SREG_VCC] = 0x12345678;
        asm_run(st, "v_cmpx_lt_u32_e32 8, v1\nv_cmpx_gt_u32_e64 12, v1");
        assert_int_equal(st->s[SREG_EXEC], 0x0e00);
        assert_int_equal(st->s[SREG_VCC], 0x12345678);
        asm_free(st);
    }
}

/* Every v_cmpx gives EXEC what its v_cmp, tested above, gives a mask. */
static void check_cmpx(const char *target, const char *condition,
                       const char *type, enum lane_type lane)
{
    bool gfx9 = strncmp(target, "gfx9", 4) == 0;
    bool true16 = type[1] == '1' && (strncmp(target, "gfx11", 5) == 0 ||
                                     strncmp(target, "gfx12", 5) == 0);
    bool wide = type[1] == '6';
    bool class = strcmp(condition, "class") == 0;
    const char *a = wide ? "v[2:3]" : true16 ? "v2.l" : "v2";
    const char *b = wide && !class ? "v[4:5]" : true16 ? "v4.l" : "v4";
    struct asm_state *st = asm_new(target, gfx9 ? 64 : 32);
    char text[256];

    for (unsigned i = 0; i < 64; i++)
        for (unsigned k = 2; k < 6; k += 2) {
            uint64_t v = valu_operand(k == 4 && class ? T_u32 : lane);

            st->v[k][i] = (uint32_t)v;
            st->v[k + 1][i] = (uint32_t)(v >> 32);
        }
    if (gfx9)
        snprintf(text, sizeof(text),
                 "v_cmp_%s_%s_e64 s[8:9], %s, %s\n"
                 "v_cmpx_%s_%s_e64 s[10:11], %s, %s",
                 condition, type, a, b, condition, type, a, b);
    else
        snprintf(text, sizeof(text),
                 "v_cmp_%s_%s_e64 s8, %s, %s\nv_cmpx_%s_%s_e64 %s, %s",
                 condition, type, a, b, condition, type, a, b);
    asm_run(st, text);
    if (st->s[8] != st->s[SREG_EXEC] ||
        (gfx9 && (st->s[9] != st->s[SREG_EXEC + 1] || st->s[10] != st->s[8] ||
                  st->s[11] != st->s[9])))
        fail_msg("v_cmpx_%s_%s on %s: EXEC is %#x, the mask %#x", condition,
                 type, target, st->s[SREG_EXEC], st->s[8]);
    asm_free(st);
}

static void test_each_cmpx_agrees_with_its_cmp(void **state)
{
    static const char *const targets[] = {"gfx942", "gfx1030", "gfx1100",
                                          "gfx1201"};
    static const char *const of_floats[] = {
        "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",    "u",
        "nge", "nlg", "ngt", "nle", "neq", "nlt", "class"};
    static const char *const of_integers[] = {"lt", "eq", "le",
                                              "gt", "ne", "ge"};
    static const struct {
        const char *name;
        enum lane_type lane;
    } types[] = {{"f16", T_f16}, {"f32", T_f32}, {"f64", T_f64},
                 {"i16", T_i16}, {"u16", T_u16}, {"i32", T_i32},
                 {"u32", T_u32}, {"i64", T_i64}, {"u64", T_u64}};

    (void)state;
    for (size_t p = 0; p < 4; p++)
        for (size_t t = 0; t < 9; t++) {
            bool is_float = types[t].name[0] == 'f';

            for (size_t c = 0; c < (is_float ? 15 : 6); c++)
                check_cmpx(targets[p], is_float ? of_floats[c] : of_integers[c],
                           types[t].name, types[t].lane);
        }
}

static void test_cmp_that_is_always_true_or_false(void **state)
{
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    asm_run(st, "v_cmp_t_u32_e64 s0, v0, v1\nv_cmp_f_i32_e64 s1, v0, v1\n"
                "v_cmp_t_f32_e64 s2, v0, v1\nv_cmp_f_f64_e64 s3, 0, 0\n"
                "v_cmp_t_i64_e64 s4, 0, 0\nv_cmp_f_u64_e64 s5, 0, 0");
    for (int k = 0; k < 6; k++)
        assert_int_equal(st->s[k], k % 2 ? 0 : UINT32_MAX);
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats32),
        cmocka_unit_test(test_floats64),
        cmocka_unit_test(test_floats16),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_cmp_gives_zero_for_lanes_that_are_off),
        cmocka_unit_test(test_cmpx_of_gfx9_writes_exec_and_a_mask),
        cmocka_unit_test(test_cmpx_of_gfx10_up_writes_exec_alone),
        cmocka_unit_test(test_each_cmpx_agrees_with_its_cmp),
        cmocka_unit_test(test_cmp_that_is_always_true_or_false),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
