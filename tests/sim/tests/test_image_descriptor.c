/* test_image_descriptor.c - descriptors of images and samplers, and layouts
 *
 * The words below are put together by hand from the fields that ROCr's headers
 * and the ISA manuals give.
 */
#include "image_test.h"
#include "sim/base/image_descriptor.h"

static const char *const targets[] = {
    "gfx900", "gfx90a", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1201"};
enum { NUM_TARGETS = sizeof(targets) / sizeof(targets[0]) };

/* 100 x 50 texels of four floats at 0x123456789a00, shown as z, y, x, 1. */
static const struct sim_image plain = {.base = UINT64_C(0x123456789a00),
                                       .type = SIM_IMAGE_2D,
                                       .data = SIM_DATA_32_32_32_32,
                                       .number = SIM_NUMBER_FLOAT,
                                       .select = {6, 5, 4, 1},
                                       .width = 100,
                                       .height = 50,
                                       .depth = 1,
                                       .nlevels = 1,
                                       .pitch = 112};

static const struct {
    const char *target;
    uint32_t words[SIM_IMAGE_WORDS];
} plain_words[] = {
    {"gfx90a",
     {0x3456789a, 0x12 | 14u << 20 | 7u << 26, 99 | 49 << 14,
      6 | 5 << 3 | 4 << 6 | 1 << 9 | 9u << 28, 111 << 13}},
    {"gfx1030",
     {0x3456789a, 0x12 | 77u << 20 | 3u << 30, 24 | 49 << 14,
      6 | 5 << 3 | 4 << 6 | 1 << 9 | 9u << 28, 111}},
    {"gfx1100",
     {0x3456789a, 0x12 | 63u << 20 | 3u << 30, 24 | 49 << 14,
      6 | 5 << 3 | 4 << 6 | 1 << 9 | 9u << 28, 111}},
    {"gfx1201",
     {0x3456789a, 0x12 | 63u << 17 | 3u << 30, 24 | 49 << 14,
      6 | 5 << 3 | 4 << 6 | 1 << 9 | 9u << 28, 111}},
};

/* 64 x 32 x 3 layers of bytes, four levels, of which 1 and 2 show; layer 1 on
 */
static const struct sim_image array = {.base = 0x10000,
                                       .type = SIM_IMAGE_2D_ARRAY,
                                       .data = SIM_DATA_8,
                                       .number = SIM_NUMBER_UNORM,
                                       .select = {4, 0, 0, 1},
                                       .width = 64,
                                       .height = 32,
                                       .depth = 3,
                                       .first_layer = 1,
                                       .nlevels = 4,
                                       .first_level = 1,
                                       .last_level = 2,
                                       .min_lod = 0x180};

static const struct {
    const char *target;
    uint32_t words[SIM_IMAGE_WORDS];
} array_words[] = {
    /* the pitch is the height of all levels: 32 + 16 + 8 + 4 */
    {"gfx90a",
     {0x100, 0x180 << 8 | 1u << 20, 63 | 31 << 14,
      4 | 1 << 9 | 1 << 12 | 2 << 16 | 13u << 28, 2 | 59 << 13, 1 | 3u << 28}},
    {"gfx1030",
     {0x100, 0x180 << 8 | 1u << 20 | 3u << 30, 15 | 31 << 14,
      4 | 1 << 9 | 1 << 12 | 2 << 16 | 13u << 28, 2 | 1 << 16, 3 << 4}},
    {"gfx1100",
     {0x100, 3 << 16 | 1u << 20 | 3u << 30, 15 | 31 << 14,
      4 | 1 << 9 | 1 << 12 | 2 << 16 | 13u << 28, 2 | 1 << 16, 0, 0x180 >> 5}},
    {"gfx1201",
     {0x100, 3 << 12 | 1u << 17 | 1 << 25 | 3u << 30, 15 | 31 << 14,
      4 | 1 << 9 | 2 << 15 | 13u << 28, 2 | 1 << 16, 0, 0x180 >> 6}},
};

static void expect_words(const struct sim_image *image, const char *target,
                         const uint32_t *want)
{
    uint32_t words[SIM_IMAGE_WORDS];
    char why[SIM_IMAGE_WHY] = "";

    if (!sim_image_encode(image, sim_target_by_name(target), words, why))
        fail_msg("%s: the image descriptor %s", target, why);
    for (unsigned k = 0; k < SIM_IMAGE_WORDS; k++)
        if (words[k] != want[k])
            fail_msg("%s: dword %u: want %#x, got %#x", target, k, want[k],
                     words[k]);
}

static void test_image_words_are_those_of_the_manuals(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        expect_words(&plain, plain_words[k].target, plain_words[k].words);
        expect_words(&array, array_words[k].target, array_words[k].words);
    }
}

static void test_every_format_comes_back_on_every_target(void **state)
{
    unsigned n = 0;

    (void)state;
    for (unsigned t = 0; t < NUM_TARGETS; t++)
        for (unsigned d = 0; d < sizeof(datas) / sizeof(datas[0]); d++)
            for (unsigned f = 0; f <= SIM_NUMBER_SRGB; f++) {
                const struct sim_target *target =
                    sim_target_by_name(targets[t]);
                struct sim_image image = plain, back;
                uint32_t words[SIM_IMAGE_WORDS];
                char why[SIM_IMAGE_WHY];

                image.data = datas[d];
                image.number = (enum sim_number_format)f;
                image.pitch = 0;
                if (!sim_image_encode(&image, target, words, why))
                    continue;
                n++;
                if (!sim_image_decode(words, target, &back, why))
                    fail_msg("%s: %s", targets[t], why);
                assert_int_equal(back.data, image.data);
                assert_int_equal(back.number, image.number);
                assert_true(
                    target->major == 9 ||
                    sim_format_encode(image.data, image.number, target) != 0);
            }
    assert_int_equal(n, 4 * 72 + 3 * 70); /* gfx11 on has two fewer */
}

static bool same_image(const struct sim_image *a, const struct sim_image *b)
{
    return a->base == b->base && a->type == b->type && a->data == b->data &&
           a->number == b->number && a->width == b->width &&
           a->height == b->height && a->depth == b->depth &&
           a->first_layer == b->first_layer && a->nlevels == b->nlevels &&
           a->first_level == b->first_level && a->last_level == b->last_level &&
           a->min_lod == b->min_lod && memcmp(a->select, b->select, 4) == 0;
}

static void test_images_of_every_type_and_size_come_back(void **state)
{
    (void)state;
    image_seed(1);
    for (unsigned n = 0; n < 20000; n++) {
        const struct sim_target *target =
            sim_target_by_name(targets[n % NUM_TARGETS]);
        struct sim_image image = plain, back;
        struct sim_image_layout before, after;
        uint32_t words[SIM_IMAGE_WORDS], most;
        char why[SIM_IMAGE_WHY];

        image.type = (enum sim_image_type)(SIM_IMAGE_1D + image_random() % 6);
        image.data = datas[image_random() % 14];
        image.number = SIM_NUMBER_UINT;
        if (!sim_format_of(image.data, image.number))
            continue;
        image.base =
            (uint64_t)(image_random() & 0xffffff) << 16 & ~UINT64_C(255);
        image.width = 1 + (uint32_t)image_random() % 16384;
        image.height = sim_image_is_1d(image.type) ? 1
                       : image.type == SIM_IMAGE_CUBE
                           ? image.width
                           : 1 + (uint32_t)image_random() % 16384;
        image.pitch = 0;
        if (image.type == SIM_IMAGE_3D || sim_image_is_array(image.type)) {
            image.depth = 1 + (uint32_t)image_random() % 8192;
            image.first_layer = (uint32_t)image_random() % image.depth;
        }
        most = image.width > image.height ? image.width : image.height;
        while (image_random() % 3 && most >> image.nlevels &&
               image.nlevels < 15)
            image.nlevels++;
        image.last_level = (uint32_t)image_random() % image.nlevels;
        image.first_level = (uint32_t)image_random() % (image.last_level + 1);
        image.min_lod = (uint32_t)image_random() % 4096;
        if (!sim_image_encode(&image, target, words, why)) {
            /* gfx9's field for the height of all levels has 16 bits, and its
             * longest rows have more texels than gfx10's field for a pitch */
            continue;
        }
        if (!sim_image_decode(words, target, &back, why))
            fail_msg("%s: %s", target->name, why);
        assert_true(same_image(&image, &back));
        assert_true(sim_image_layout(&image, target, &before, why));
        assert_true(sim_image_layout(&back, target, &after, why));
        assert_memory_equal(&before, &after, sizeof(before));
    }
}

static void test_layouts_are_those_of_the_address_library(void **state)
{
    struct sim_image_layout l;
    char why[SIM_IMAGE_WHY];

    (void)state;
    /* bytes, 64 x 32 and three more levels: rows of 256 */
    assert_true(
        sim_image_layout(&array, sim_target_by_name("gfx90a"), &l, why));
    assert_int_equal(l.slice_nbytes, 60 * 256);
    assert_int_equal(l.nbytes, 3 * 60 * 256);
    assert_int_equal(l.level[0].offset, 0);
    assert_int_equal(l.level[1].offset, 32 * 256);
    assert_int_equal(l.level[3].offset, 56 * 256);
    assert_int_equal(l.level[3].width, 8);
    assert_int_equal(l.level[3].pitch, 256);
    assert_true(
        sim_image_layout(&array, sim_target_by_name("gfx1100"), &l, why));
    assert_int_equal(l.level[3].offset, 0);
    assert_int_equal(l.level[2].offset, 4 * 256);
    assert_int_equal(l.level[0].offset, 28 * 256);
    assert_int_equal(l.slice_nbytes, 60 * 256);
    /* the given pitch; its own is a multiple of 256 bytes, of 128 on gfx12 */
    assert_true(
        sim_image_layout(&plain, sim_target_by_name("gfx90a"), &l, why));
    assert_int_equal(l.level[0].pitch, 112);
    assert_int_equal(l.nbytes, 112 * 16 * 50);
    for (unsigned t = 0; t < NUM_TARGETS; t++) {
        struct sim_image image = plain;

        image.width = 97;
        image.pitch = 0;
        assert_true(
            sim_image_layout(&image, sim_target_by_name(targets[t]), &l, why));
        assert_int_equal(l.level[0].pitch,
                         strcmp(targets[t], "gfx1201") ? 112 : 104);
    }
}

/* Values that encode() and decode() must refuse, with a word of their message.
 */
#define BAD_IMAGES(X)                                                          \
    X(type, (enum sim_image_type)3, "no image")                                \
    X(type, SIM_IMAGE_2D_MSAA, "samples")                                      \
    X(data, (enum sim_data_format)15, "format 15")                             \
    X(number, SIM_NUMBER_UNORM, "number format 0")                             \
    X(base, 0x1010, "multiple of 256")                                         \
    X(width, 0, "0x50x1")                                                      \
    X(height, 0, "100x0")                                                      \
    X(depth, 0, "x0 texels")                                                   \
    X(depth, 2, "without depth")                                               \
    X(nlevels, 0, "0 levels")                                                  \
    X(nlevels, 8, "8 levels")                                                  \
    X(last_level, 1, "levels 0 to 1 of 1")                                     \
    X(pitch, 96, "pitch of 96")                                                \
    X(pitch, 101, "multiple of")                                               \
    X(width, 1 << 20, "pitch of 112")                                          \
    X(select[2], 3, "channel 3")

static void test_senseless_images_are_refused_with_a_sentence(void **state)
{
    (void)state;
    for (unsigned t = 0; t < NUM_TARGETS; t++) {
        const struct sim_target *target = sim_target_by_name(targets[t]);
        struct sim_image image;
        uint32_t words[SIM_IMAGE_WORDS];
        char why[SIM_IMAGE_WHY];

        if (strcmp(targets[t], "gfx1010") == 0)
            continue; /* has no pitch, and says so first */
#define X(field, value, word)                                                  \
    image = plain;                                                             \
    image.field = value;                                                       \
    assert_false(sim_image_encode(&image, target, words, why));                \
    if (!strstr(why, word))                                                    \
        fail_msg("%s, " #field ": '%s' lacks '" word "'", targets[t], why);
        BAD_IMAGES(X)
#undef X
        image = plain;
        image.width = image.height = 1 << 17;
        image.pitch = 0;
        assert_false(sim_image_encode(&image, target, words, why));
        assert_non_null(strstr(why, "no room"));
    }
}

static void test_any_words_decode_or_are_refused(void **state)
{
    (void)state;
    image_seed(2);
    for (unsigned n = 0; n < 200000; n++) {
        const struct sim_target *target =
            sim_target_by_name(targets[n % NUM_TARGETS]);
        uint32_t words[SIM_IMAGE_WORDS], again[SIM_IMAGE_WORDS];
        struct sim_image_layout layout;
        struct sim_image image;
        struct sim_sampler sampler;
        char why[SIM_IMAGE_WHY] = "";

        for (unsigned k = 0; k < SIM_IMAGE_WORDS; k++)
            words[k] =
                (uint32_t)image_random() << 1 ^ (uint32_t)image_random() >> 3;
        if (n & 1) { /* few levels, linear, not compressed: gets further */
            words[1] &= 0xf3f0ffff;
            words[3] &= 0xf0000fff;
            words[5] &= 0x00001fff;
            words[6] = 0;
        }
        if (sim_image_decode(words, target, &image, why)) {
            assert_true(sim_image_layout(&image, target, &layout, why));
            assert_true(sim_image_encode(&image, target, again, why));
        } else {
            assert_true(strlen(why) > 10);
        }
        if (!sim_sampler_decode(words, target, &sampler, why))
            assert_true(strlen(why) > 10);
    }
}

static void test_swizzled_and_compressed_images_are_refused(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        const struct sim_target *target =
            sim_target_by_name(plain_words[k].target);
        uint32_t words[SIM_IMAGE_WORDS];
        struct sim_image image;
        char why[SIM_IMAGE_WHY];

        memcpy(words, plain_words[k].words, sizeof(words));
        assert_true(sim_image_decode(words, target, &image, why));
        assert_int_equal(image.pitch, 112);
        words[3] |= 9 << 20;
        assert_false(sim_image_decode(words, target, &image, why));
        assert_non_null(strstr(why, "swizzle mode 9"));
        words[3] &= ~(31u << 20);
        words[6] |= 1 << 21;
        assert_false(sim_image_decode(words, target, &image, why));
        assert_non_null(strstr(why, "compressed"));
    }
}

static void test_sampler_words_are_those_of_the_manuals(void **state)
{
    static const struct sim_sampler sampler = {
        .clamp = {SIM_CLAMP_MIRROR, SIM_CLAMP_EDGE, SIM_CLAMP_BORDER},
        .linear_mag = true,
        .z_filter = 2,
        .mip_filter = 1,
        .unnormalised = true,
        .compare = 3,
        .reduction = 2,
        .truncates = true,
        .keeps_srgb = true,
        .min_lod = 0x100,
        .max_lod = 0xfff,
        .lod_bias = -256,
        .border = SIM_BORDER_OPAQUE_WHITE};
    uint32_t first =
        1 | 2 << 3 | 6 << 6 | 3 << 12 | 1 << 15 | 1 << 27 | 2 << 29;
    uint32_t third = 0x3f00 | 1 << 20 | 2 << 24 | 1 << 26;
    uint32_t words[SIM_SAMPLER_WORDS];
    char why[SIM_IMAGE_WHY];

    (void)state;
    for (unsigned t = 0; t < NUM_TARGETS; t++) {
        const struct sim_target *target = sim_target_by_name(targets[t]);
        struct sim_sampler back;

        assert_true(sim_sampler_encode(&sampler, target, words, why));
        assert_int_equal(words[0], first | (target->major > 9) * (1u << 31));
        assert_int_equal(words[1], target->major < 12 ? 0x100 | 0xfff << 12
                                                      : 0x100 | 0xfff << 13);
        assert_int_equal(words[2], third);
        assert_int_equal(words[3], 2u << 30 | (target->major == 9) << 12);
        assert_true(sim_sampler_decode(words, target, &back, why));
        assert_memory_equal(&back.clamp, &sampler.clamp, sizeof(back.clamp));
        assert_int_equal(back.lod_bias, -256);
        assert_true(back.linear_mag && !back.linear_min && back.truncates &&
                    back.keeps_srgb && !back.forces_srgb && back.unnormalised);
        assert_int_equal(back.max_lod, 0xfff);
        assert_int_equal(back.border, SIM_BORDER_OPAQUE_WHITE);
    }
}

static void test_samplers_that_are_not_there_are_refused(void **state)
{
    const struct sim_target *target = sim_target_by_name("gfx1100");
    uint32_t words[SIM_SAMPLER_WORDS] = {0};
    struct sim_sampler sampler;
    char why[SIM_IMAGE_WHY];

    (void)state;
    assert_true(sim_sampler_decode(words, target, &sampler, why));
    words[0] = SIM_CLAMP_HALF_BORDER;
    assert_false(sim_sampler_decode(words, target, &sampler, why));
    assert_non_null(strstr(why, "address mode 4"));
    words[0] = 0;
    words[3] = 3u << 30;
    assert_false(sim_sampler_decode(words, target, &sampler, why));
    assert_non_null(strstr(why, "palette"));
    sampler = (struct sim_sampler){.max_lod = 5000};
    assert_false(sim_sampler_encode(&sampler, target, words, why));
    assert_non_null(strstr(why, "5000/256"));
    sampler = (struct sim_sampler){.lod_bias = 0x2000};
    assert_false(sim_sampler_encode(&sampler, target, words, why));
    assert_non_null(strstr(why, "bias"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image_words_are_those_of_the_manuals),
        cmocka_unit_test(test_every_format_comes_back_on_every_target),
        cmocka_unit_test(test_images_of_every_type_and_size_come_back),
        cmocka_unit_test(test_layouts_are_those_of_the_address_library),
        cmocka_unit_test(test_senseless_images_are_refused_with_a_sentence),
        cmocka_unit_test(test_any_words_decode_or_are_refused),
        cmocka_unit_test(test_swizzled_and_compressed_images_are_refused),
        cmocka_unit_test(test_sampler_words_are_those_of_the_manuals),
        cmocka_unit_test(test_samplers_that_are_not_there_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
