/* test_types.c - small floats on the host, every bit pattern of each */
#include "unit_checks.h"

#include "kpack/types.h"

#include <math.h>

/* A format by its definition: sign, exponent, fraction. */
struct format {
    const char *name;
    unsigned exponent_bits, fraction_bits;
    bool has_infinity; /* else the largest exponent is one of numbers */
    unsigned count;
    float (*from)(unsigned bits);
    unsigned (*to)(float x);
};

#define FORMAT_CALLS(type)                                                     \
    static float from_##type(unsigned bits)                                    \
    {                                                                          \
        kpk_##type x;                                                          \
                                                                               \
        memset(&x, 0, sizeof(x));                                              \
        memcpy(&x, &bits, sizeof(x)); /* little-endian hosts */                \
        return kpk_from_##type(x);                                             \
    }                                                                          \
    static unsigned to_##type(float x)                                         \
    {                                                                          \
        const kpk_##type y = kpk_to_##type(x);                                 \
        unsigned bits = 0;                                                     \
                                                                               \
        memcpy(&bits, &y, sizeof(y));                                          \
        return bits;                                                           \
    }
FORMAT_CALLS(f16)
FORMAT_CALLS(bf16)
FORMAT_CALLS(f8_e4m3)
FORMAT_CALLS(f8_e5m2)

static const struct format formats[] = {
    {"f16", 5, 10, true, 0x10000, from_f16, to_f16},
    {"bf16", 8, 7, true, 0x10000, from_bf16, to_bf16},
    {"f8_e4m3", 4, 3, false, 0x100, from_f8_e4m3, to_f8_e4m3},
    {"f8_e5m2", 5, 2, true, 0x100, from_f8_e5m2, to_f8_e5m2},
};
#define NFORMATS (sizeof(formats) / sizeof(formats[0]))

/* The bits' value, in double. */
static double meaning(const struct format *f, unsigned bits)
{
    const unsigned fraction = bits & ((1u << f->fraction_bits) - 1);
    const unsigned top = (1u << f->exponent_bits) - 1;
    const unsigned exponent = bits >> f->fraction_bits & top;
    const int bias = (int)(top >> 1);
    const double sign = bits >= f->count / 2 ? -1 : 1;
    const double part = ldexp(fraction, -(int)f->fraction_bits);

    if (exponent == top && f->has_infinity)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == top && fraction == (1u << f->fraction_bits) - 1)
        return (double)NAN;
    if (exponent == 0)
        return sign * ldexp(part, 1 - bias);
    return sign * ldexp(1 + part, (int)exponent - bias);
}

static void check_bits(const struct format *f, float x, unsigned wanted)
{
    const unsigned got = f->to(x);

    if (got != wanted)
        fail_msg("%s of %a: wanted 0x%x, got 0x%x", f->name, (double)x, wanted,
                 got);
}

static void test_from_every_pattern_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < NFORMATS; i++)
        for (unsigned bits = 0; bits < formats[i].count; bits++) {
            const double wanted = meaning(&formats[i], bits);
            const float got = formats[i].from(bits);

            if (isnan(wanted) ? !isnan(got)
                              : (double)got != wanted ||
                                    !signbit(got) != !signbit(wanted))
                fail_msg("%s 0x%x: wanted %a, got %a", formats[i].name, bits,
                         wanted, (double)got);
        }
}

static void test_to_gives_every_pattern_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < NFORMATS; i++)
        for (unsigned bits = 0; bits < formats[i].count; bits++) {
            const float x = formats[i].from(bits);

            if (!isnan(x))
                check_bits(&formats[i], x, bits);
            else if (!isnan(formats[i].from(formats[i].to(x))))
                fail_msg("%s: NaN 0x%x does not stay NaN", formats[i].name,
                         bits);
        }
}

/* Between neighbours: nearer one, and at the middle the even one. */
static void test_to_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < NFORMATS; i++) {
        const struct format *f = &formats[i];
        const unsigned sign = f->count / 2;

        for (unsigned bits = 0; bits + 1 < sign; bits++) {
            const double low = meaning(f, bits), high = meaning(f, bits + 1);
            const float middle = (float)((low + high) / 2);

            if (isnan(high) || isinf(high))
                break;
            check_bits(f, middle, bits & 1 ? bits + 1 : bits);
            check_bits(f, -middle, sign | (bits & 1 ? bits + 1 : bits));
            check_bits(f, nextafterf(middle, 0), bits);
            check_bits(f, nextafterf(middle, INFINITY), bits + 1);
        }
    }
}

static void test_too_large_is_infinite_or_the_largest(void **state)
{
    (void)state;
    check_bits(&formats[0], 65519.996f, 0x7bff);
    check_bits(&formats[0], 65520, 0x7c00);
    check_bits(&formats[0], -INFINITY, 0xfc00);
    check_bits(&formats[1], 3.4e38f, 0x7f80);
    check_bits(&formats[1], INFINITY, 0x7f80);
    check_bits(&formats[2], 449, 0x7e);
    check_bits(&formats[2], 1e30f, 0x7e);
    check_bits(&formats[2], -INFINITY, 0xfe);
    check_bits(&formats[3], 61439, 0x7b);
    check_bits(&formats[3], 61440, 0x7c);
    check_bits(&formats[3], 1e30f, 0x7c);
}

static void test_types_have_the_sizes_of_the_gpu(void **state)
{
    (void)state;
    assert_int_equal(sizeof(kpk_f16), 2);
    assert_int_equal(sizeof(kpk_bf16), 2);
    assert_int_equal(sizeof(kpk_f8_e4m3), 1);
    assert_int_equal(sizeof(kpk_f8_e5m2), 1);
    assert_int_equal(sizeof(kpk_char3), 3);
    assert_int_equal(sizeof(kpk_uint3), 12);
    assert_int_equal(sizeof(kpk_float4), 16);
    assert_int_equal(sizeof(kpk_longlong4), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_every_pattern_is_exact),
        cmocka_unit_test(test_to_gives_every_pattern_back),
        cmocka_unit_test(test_to_rounds_to_nearest_even),
        cmocka_unit_test(test_too_large_is_infinite_or_the_largest),
        cmocka_unit_test(test_types_have_the_sizes_of_the_gpu),
    };

    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
