/* test_offload.c - the reader of offload binaries on made, cut and lying ones
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "made_code_object.h"
#include "read/offload.h"

#include <stdlib.h>
#include <string.h>

static const char content[] = "not a code object, but bytes";
static const struct made_image images[] = {
    {"amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-", content, sizeof(content)},
    {"nvptx64-nvidia-cuda", "sm_90", content, 7},
    {"x86_64-unknown-linux-gnu", NULL, "", 0},
    {NULL, "gfx942", content, 3},
    {"spirv64-amd-amdhsa", "amdgcnspirv", content, 1}};
enum { NIMAGES = sizeof(images) / sizeof(images[0]) };

static const char *text(const char *made)
{
    return made ? made : "";
}

static void test_images_of_both_versions(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 2; version++) {
        size_t nbytes, at = 0, n = 0;
        unsigned char *data = make_offload(images, NIMAGES, version, &nbytes);

        while (at < nbytes) {
            struct offload offload;
            struct offload_image image;

            assert_true(offload_is(data + at, nbytes - at));
            assert_true(offload_open(&offload, data + at, nbytes - at));
            assert_int_equal(offload.nimages, version == 1 ? 1 : NIMAGES);
            for (; offload_next(&offload, &image); n++) {
                assert_string_equal(image.triple, text(images[n].triple));
                assert_string_equal(image.target, text(images[n].target));
                assert_int_equal(image.nbytes, images[n].nbytes);
                assert_memory_equal(image.data, images[n].data, image.nbytes);
                assert_int_equal(offload_image_is_gpu(&image), n < 2);
            }
            assert_null(offload.message);
            at += offload.nbytes;
        }
        assert_int_equal(n, NIMAGES);
        assert_int_equal(at, nbytes);
        free(data);
    }
    assert_false(offload_is("\x10\xff\x10", 3));
    assert_false(offload_is("\x10\xff\x10\xae", 4));
}

/* The fault in a copy of some bytes, whose end a sanitizer watches; NULL
 * without a fault. */
static const char *fault_of(const unsigned char *data, size_t nbytes)
{
    unsigned char *exact = malloc(nbytes ? nbytes : 1);
    struct offload offload;
    struct offload_image image;

    assert_non_null(exact);
    memcpy(exact, data, nbytes);
    if (offload_open(&offload, exact, nbytes))
        while (offload_next(&offload, &image))
            ;
    free(exact);
    return offload.message;
}

static void test_one_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 2; version++) {
        size_t nbytes;
        unsigned char *data =
            make_offload(images, version == 1 ? 1 : NIMAGES, version, &nbytes);

        assert_null(fault_of(data, nbytes));
        for (size_t n = 0; n < nbytes; n++)
            if (!fault_of(data, n))
                fail_msg("version %u cut to %zu of %zu bytes: accepted",
                         version, n, nbytes);
        free(data);
    }
}

/* Numbers that lie, of one image with two strings: the header has 32 bytes, the
 * record 40, the first string is at byte 72. */
static const struct lie {
    size_t at, nbytes;
    uint64_t value;
    unsigned versions; /* 1, 2, or 3 for both */
    const char *says;
} lies[] = {
    {4, 4, 0, 3, "another version"},
    {4, 4, 3, 3, "another version"},
    {8, 8, 31, 3, "size is absurd"},
    {8, 8, UINT64_MAX, 3, "is truncated"},
    {16, 8, UINT64_MAX, 3, "list of images lies outside"},
    {16, 8, UINT64_MAX - 39, 3, "list of images lies outside"},
    {24, 8, 4097, 2, "number of images is absurd"},
    {24, 8, 4096, 2, "list of images lies outside"},
    {40, 8, UINT64_MAX, 3, "strings lie outside"},
    {48, 8, UINT64_MAX, 3, "strings lie outside"},
    {48, 8, 4096, 3, "strings lie outside"},
    {56, 8, UINT64_MAX, 3, "an image lies outside"},
    {64, 8, UINT64_MAX, 3, "an image lies outside"},
    {80, 8, UINT64_MAX, 2, "triple or processor is absurd"},
    {88, 8, UINT64_MAX, 2, "triple or processor is absurd"},
    {88, 8, OFFLOAD_TEXT_MAX, 2, "triple or processor is absurd"},
    {80, 8, UINT64_MAX, 1, "triple or processor is absurd"},
    {80, 8, 1 << 20, 1, "triple or processor is absurd"},
    {72, 8, UINT64_MAX, 3, NULL}, /* a key that no one asks for */
    {48, 8, 0, 3, NULL},          /* no strings at all */
};

static void test_lies_are_found(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 2; version++)
        for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            const struct lie *lie = &lies[i];
            size_t nbytes;
            unsigned char *data = make_offload(images, 1, version, &nbytes);
            const char *fault;

            memcpy(data + lie->at, &lie->value, lie->nbytes);
            fault =
                lie->versions & version ? fault_of(data, nbytes) : lie->says;
            if (!fault != !lie->says || (fault && !strstr(fault, lie->says)))
                fail_msg("version %u, case %zu: want \"%s\", got \"%s\"",
                         version, i, lie->says ? lie->says : "nothing",
                         fault ? fault : "nothing");
            free(data);
        }
}

/* Text that ends nowhere, or is longer than any name. */
static void test_texts_without_end_are_refused(void **state)
{
    static char wide[OFFLOAD_TEXT_MAX + 1];
    const struct made_image longest = {"t", wide, content, 1};
    size_t nbytes;
    unsigned char *data;

    (void)state;
    memset(wide, 'x', OFFLOAD_TEXT_MAX - 1);
    for (unsigned version = 1; version <= 2; version++) {
        data = make_offload(&longest, 1, version, &nbytes);
        assert_null(fault_of(data, nbytes));
        free(data);
    }
    wide[OFFLOAD_TEXT_MAX - 1] = 'x';
    for (unsigned version = 1; version <= 2; version++) {
        data = make_offload(&longest, 1, version, &nbytes);
        assert_non_null(fault_of(data, nbytes));
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_of_both_versions),
        cmocka_unit_test(test_one_cut_at_any_byte_is_refused),
        cmocka_unit_test(test_lies_are_found),
        cmocka_unit_test(test_texts_without_end_are_refused),
    };

    return cmocka_run_group_tests_name("offload", tests, NULL, NULL);
}
