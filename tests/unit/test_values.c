/* test_values.c - packed arguments, held against layouts that others publish
 *
 * Hosts of prebuilt kernels fill such tables: a slot of 16 bytes for each
 * argument, or a compiler's layout. A row has a value's place; other bytes are
 * zero.
 */
#include "unit_checks.h"

/* Values that no two arguments share. */
static const char pointed_to[32];
#define NUMBER(i) (0xa0b0c000u + (uint32_t)(i))

/* ---- the published layouts ---- */

struct place {
    size_t offset;
    size_t nbytes;
};

static const struct place topksoftmax[] = {
    {0, 8},  /* T */ {16, 8},            /* W */
    {32, 8}, /* A */ {48, 4},            /* batch */
    {64, 4}, /* expert */ {80, 4},       /* topk */
    {96, 4}, /* renormalize */ {112, 4}, /* out_stride */
};

static const struct place bf16gemm[] = {
    {0, 8},   /* ptr_D */ {16, 8},       /* ptr_C */
    {32, 8},  /* ptr_A */ {48, 8},       /* ptr_B */
    {64, 4},  /* alpha */ {80, 4},       /* beta */
    {96, 4},  /* stride_D0 */ {112, 4},  /* stride_D1 */
    {128, 4}, /* stride_C0 */ {144, 4},  /* stride_C1 */
    {160, 4}, /* stride_A0 */ {176, 4},  /* stride_A1 */
    {192, 4}, /* stride_B0 */ {208, 4},  /* stride_B1 */
    {224, 4}, /* M */ {240, 4},          /* N */
    {256, 4}, /* K */ {272, 4},          /* splitk */
    {288, 4}, /* is_out_b16 */ {304, 8}, /* ptr_Bias */
    {320, 4}, /* add_bias */ {336, 8},   /* ptr_semaphore */
};

static const struct place fmha_fwd[] = {
    {0, 8},   /* out */ {16, 8},      /* Q */ {32, 8},        /* K */
    {48, 8},  /* V */ {64, 8},        /* LSE */ {80, 4},      /* scale */
    {96, 4},  /* length */ {112, 4},  /* Q row */ {128, 4},   /* Q tile */
    {144, 4}, /* Q head */ {160, 4},  /* Q batch */ {176, 4}, /* gqa */
    {192, 4}, /* K row */ {208, 4},   /* K head */ {224, 4},  /* K batch */
    {240, 4}, /* option */ {256, 4},  /* LSE? */ {272, 4},    /* K length */
    {288, 4}, /* QK dim */ {304, 4},  /* V dim */ {320, 4},   /* Q heads */
    {336, 4}, /* V row */ {352, 4},   /* V head */ {368, 4},  /* V batch */
    {384, 4}, /* O row */ {400, 4},   /* O head */ {416, 4},  /* O batch */
    {432, 8}, /* Q start */ {448, 8}, /* K start */ {464, 4}, /* LSE head */
    {480, 8}, /* Q pads */ {496, 8},                          /* K pads */
};

/* Made by a compiler: no slots, and no padding at the end. */
static const struct place topk_decode[] = {{0, 8},  {8, 8},  {16, 8},
                                           {24, 4}, {28, 4}, {32, 4}};
static const struct place topk_prefill[] = {{0, 8},  {8, 8},  {16, 8}, {24, 8},
                                            {32, 8}, {40, 8}, {48, 4}, {52, 4}};

static const struct layout_case {
    const char *name;
    kpk_layout layout;
    const struct place *places;
    size_t n;
    size_t nbytes;
} layout_cases[] = {
    {"topksoftmax", KPK_LAYOUT_SLOTS, topksoftmax, 8, 128},
    {"bf16gemm", KPK_LAYOUT_SLOTS, bf16gemm, 22, 352},
    {"bf16gemm without semaphore", KPK_LAYOUT_SLOTS, bf16gemm, 21, 336},
    {"fmha_fwd", KPK_LAYOUT_SLOTS, fmha_fwd, 32, 512},
    {"topk_per_row_decode", KPK_LAYOUT_NATURAL, topk_decode, 6, 36},
    {"topk_per_row_prefill", KPK_LAYOUT_NATURAL, topk_prefill, 8, 56},
    {"nothing in slots", KPK_LAYOUT_SLOTS, NULL, 0, 0},
};

static void test_layouts_are_the_published_ones_to_the_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(layout_cases) / sizeof(layout_cases[0]);
         i++) {
        const struct layout_case *c = &layout_cases[i];
        kpk_value values[32];
        unsigned char wanted[520] = {0};
        unsigned char got[520];
        size_t nbytes = 0;

        memset(got, 0xee, sizeof(got));
        memset(wanted + c->nbytes, 0xee, sizeof(wanted) - c->nbytes);
        for (size_t k = 0; k < c->n; k++) {
            const void *const pointer = pointed_to + k;
            const uint32_t number = NUMBER(k);

            values[k] =
                c->places[k].nbytes == 8 ? kpk_ptr(pointer) : kpk_u32(number);
            memcpy(wanted + c->places[k].offset,
                   c->places[k].nbytes == 8 ? (const void *)&pointer : &number,
                   c->places[k].nbytes);
        }
        assert_ok(
            kpk_values_pack(c->layout, values, c->n, got, c->nbytes, &nbytes));
        if (nbytes != c->nbytes)
            fail_msg("%s: %zu bytes, not %zu", c->name, nbytes, c->nbytes);
        for (size_t k = 0; k < sizeof(got); k++) {
            if (got[k] != wanted[k])
                fail_msg("%s: byte %zu is 0x%02x, not 0x%02x", c->name, k,
                         got[k], wanted[k]);
        }
    }
}

/* ---- every type, against what the C compiler does ---- */

struct all {
    float f;
    int8_t small[3];
    double d;
    int32_t i;
    uint64_t u;
    uint32_t n;
    int64_t s;
    void *p;
};

static void test_natural_layout_is_the_compilers(void **state)
{
    static const int8_t small[3] = {-1, 2, -3};
    struct all wanted;
    const kpk_value values[] = {kpk_f32(-1.5f),
                                kpk_bytes(small, 3, 1),
                                kpk_f64(0.1),
                                kpk_i32(-7),
                                kpk_u64(UINT64_MAX - 1),
                                kpk_u32(0x89abcdef),
                                kpk_i64(INT64_MIN + 5),
                                kpk_ptr(&wanted)};
    struct all got;
    size_t nbytes = 0;

    (void)state;
    memset(&wanted, 0, sizeof(wanted)); /* the padding, too */
    wanted.f = -1.5f;
    memcpy(wanted.small, small, 3);
    wanted.d = 0.1;
    wanted.i = -7;
    wanted.u = UINT64_MAX - 1;
    wanted.n = 0x89abcdef;
    wanted.s = INT64_MIN + 5;
    wanted.p = &wanted;
    assert_ok(kpk_values_pack(KPK_LAYOUT_NATURAL, values, 8, &got, sizeof(got),
                              &nbytes));
    assert_int_equal(nbytes, sizeof(wanted));
    assert_memory_equal(&got, &wanted, sizeof(wanted));
}

static void test_struct_wider_than_a_slot_takes_several(void **state)
{
    unsigned char wide[20];
    unsigned char got[64];
    const kpk_value values[] = {kpk_u32(1), kpk_bytes(wide, sizeof(wide), 4),
                                kpk_f32(2)};
    size_t nbytes = 0;
    float last;

    (void)state;
    memset(wide, 0x5a, sizeof(wide));
    assert_ok(kpk_values_pack(KPK_LAYOUT_SLOTS, values, 3, got, sizeof(got),
                              &nbytes));
    assert_int_equal(nbytes, 64);
    assert_memory_equal(got + 16, wide, sizeof(wide));
    assert_int_equal(got[36], 0);
    memcpy(&last, got + 48, sizeof(last));
    assert_true(last == 2.0f);
}

static void test_size_alone_is_asked_for_without_a_buffer(void **state)
{
    const kpk_value values[] = {kpk_ptr(NULL), kpk_u32(1)};
    size_t nbytes = 0;

    (void)state;
    assert_ok(kpk_values_pack(KPK_LAYOUT_SLOTS, values, 2, NULL, 0, &nbytes));
    assert_int_equal(nbytes, 32);
    assert_ok(kpk_values_pack(KPK_LAYOUT_NATURAL, values, 2, NULL, 0, &nbytes));
    assert_int_equal(nbytes, 12);
}

static void test_what_cannot_be_laid_out_is_refused(void **state)
{
    const unsigned char bytes[64] = {0};
    unsigned char buffer[64];
    const kpk_value fine[] = {kpk_u32(1), kpk_u32(2)};
    /* clang-format off */
    const struct {
        kpk_layout layout;
        kpk_value second;
        const char *says;
    } cases[] = {
        {KPK_LAYOUT_SLOTS,   kpk_bytes(NULL, 4, 4),          "value 1 is empty"},
        {KPK_LAYOUT_SLOTS,   kpk_bytes(bytes, 0, 4),         "value 1 is empty"},
        {KPK_LAYOUT_NATURAL, {NULL, 0, 9, 1},                "value 1 is empty"},
        {KPK_LAYOUT_NATURAL, kpk_bytes(bytes, 4, 0),         "alignment of 0"},
        {KPK_LAYOUT_NATURAL, kpk_bytes(bytes, 4, 3),         "alignment of 3"},
        {KPK_LAYOUT_SLOTS,   kpk_bytes(bytes, 4, 32),        "alignment of 32, slots have 16"},
        {KPK_LAYOUT_NATURAL, kpk_bytes(bytes, 64, 4),        "need 68 bytes, the buffer has 64"},
        {KPK_LAYOUT_SLOTS,   kpk_bytes(bytes, 64, 4),        "need 80 bytes"},
        {KPK_LAYOUT_NATURAL, kpk_bytes(bytes, SIZE_MAX, 1),  "larger than memory"},
        {KPK_LAYOUT_SLOTS,   kpk_bytes(bytes, SIZE_MAX - 20, 1), "need 18446744073709551615 bytes"},
        {(kpk_layout)2,      kpk_u32(2),                     "there is no layout 2"},
    };
    /* clang-format on */
    size_t nbytes = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const kpk_value values[] = {kpk_u32(1), cases[i].second};

        assert_status(kpk_values_pack(cases[i].layout, values, 2, buffer,
                                      sizeof(buffer), &nbytes),
                      KPK_ERR_ARG);
        assert_message(cases[i].says);
        assert_int_equal(nbytes, 77);
    }
    assert_status(
        kpk_values_pack(KPK_LAYOUT_SLOTS, NULL, 1, buffer, 64, &nbytes),
        KPK_ERR_ARG);
    assert_status(kpk_values_pack(KPK_LAYOUT_SLOTS, fine, 2, NULL, 64, &nbytes),
                  KPK_ERR_ARG);
    assert_message("buffer is NULL");
    assert_ok(kpk_values_pack(KPK_LAYOUT_SLOTS, fine, 2, buffer, 32, NULL));
    for (int layout = 0; layout < 2; layout++) {
        const kpk_value values[] = {kpk_bytes(bytes, SIZE_MAX - 3, 1),
                                    kpk_u64(1)};

        assert_status(
            kpk_values_pack((kpk_layout)layout, values, 2, NULL, 0, &nbytes),
            KPK_ERR_ARG);
        assert_message("with value 1 of 8 bytes the buffer would be larger");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_are_the_published_ones_to_the_byte),
        cmocka_unit_test(test_natural_layout_is_the_compilers),
        cmocka_unit_test(test_struct_wider_than_a_slot_takes_several),
        cmocka_unit_test(test_size_alone_is_asked_for_without_a_buffer),
        cmocka_unit_test(test_what_cannot_be_laid_out_is_refused),
    };

    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
