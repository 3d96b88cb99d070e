/* test_bundle.c - the bundle reader on made, cut and lying bundles */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "base/bundle.h"
#include "made_code_object.h"

#include <stdlib.h>
#include <string.h>

static const char content[] = "not a code object, but bytes";
static const struct made_entry entries[] = {
    {"host-x86_64-unknown-linux-gnu-", "", 0},
    {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", content,
     sizeof(content)},
    {"hip-amdgcn-amd-amdhsa-unknown-gfx1100", content, 7},
    {"cuda-nvptx64-nvidia-cuda--sm_90", content, 3},
    {"hip-spirv64-amd-amdhsa--amdgcnspirv", content, 3}};
enum { NENTRIES = sizeof(entries) / sizeof(entries[0]) };

/* Bytes whose end a sanitizer watches. */
static unsigned char *exact(const void *data, size_t nbytes)
{
    unsigned char *copy = malloc(nbytes ? nbytes : 1);

    assert_non_null(copy);
    memcpy(copy, data, nbytes);
    return copy;
}

static void check_entries(const unsigned char *data, size_t nbytes)
{
    struct bundle bundle;
    struct bundle_entry entry;
    char target[BUNDLE_TARGET_MAX];
    size_t n = 0;

    assert_true(bundle_open(&bundle, data, nbytes));
    for (; bundle_next(&bundle, &entry); n++) {
        assert_true(n < NENTRIES);
        assert_int_equal(entry.id_nbytes, strlen(entries[n].id));
        assert_memory_equal(entry.id, entries[n].id, entry.id_nbytes);
        assert_int_equal(entry.nbytes, entries[n].nbytes);
        assert_memory_equal(entry.data, entries[n].data, entry.nbytes);
        assert_int_equal(bundle_entry_target(&entry, target), n == 1 || n == 2);
        if (n == 1)
            assert_string_equal(target, "gfx90a:sramecc+:xnack-");
        if (n == 2)
            assert_string_equal(target, "gfx1100");
    }
    assert_null(bundle.message);
    assert_int_equal(n, NENTRIES);
    assert_int_equal(bundle.extent, nbytes);
}

static void test_entries_of_a_plain_bundle(void **state)
{
    size_t nbytes;
    unsigned char *data;

    (void)state;
    for (size_t alignment = 1; alignment <= 4096; alignment *= 64) {
        data = make_bundle(entries, NENTRIES, alignment, &nbytes);
        assert_int_equal(bundle_kind(data, nbytes), BUNDLE_PLAIN);
        check_entries(data, nbytes);
        free(data);
    }
}

static void test_compressed_bundles_of_every_version_and_method(void **state)
{
    size_t nbytes, packed_nbytes, out_nbytes, used;
    unsigned char *data = make_bundle(entries, NENTRIES, 64, &nbytes);
    char error[BUNDLE_ERROR_MAX];

    (void)state;
    for (unsigned version = 1; version <= 3; version++)
        for (unsigned method = 0; method < 2; method++) {
            unsigned char *out,
                *packed = compress_bundle(data, nbytes, version, method,
                                          &packed_nbytes);

            assert_int_equal(bundle_kind(packed, packed_nbytes),
                             BUNDLE_COMPRESSED);
            assert_true(bundle_expand(packed, packed_nbytes, &out, &out_nbytes,
                                      &used, error));
            assert_int_equal(used, packed_nbytes);
            assert_int_equal(out_nbytes, nbytes);
            check_entries(out, out_nbytes);
            free(out);
            free(packed);
        }
    free(data);
}

static void test_bundle_cut_at_any_byte_is_refused(void **state)
{
    size_t nbytes, packed_nbytes, out_nbytes;
    unsigned char *data = make_bundle(entries, NENTRIES, 1, &nbytes), *out;
    char error[BUNDLE_ERROR_MAX];

    (void)state;
    for (size_t n = 0; n < nbytes; n++) {
        unsigned char *cut = exact(data, n);
        struct bundle bundle;
        struct bundle_entry entry;

        if (bundle_open(&bundle, cut, n))
            while (bundle_next(&bundle, &entry))
                ;
        if (!bundle.message)
            fail_msg("cut to %zu of %zu bytes: accepted", n, nbytes);
        free(cut);
    }
    for (unsigned version = 1; version <= 3; version++)
        for (unsigned method = 0; method < 2; method++) {
            unsigned char *packed =
                compress_bundle(data, nbytes, version, method, &packed_nbytes);

            for (size_t n = 0; n < packed_nbytes; n++) {
                unsigned char *cut = exact(packed, n);

                if (bundle_expand(cut, n, &out, &out_nbytes, NULL, error))
                    fail_msg("version %u, method %u, cut to %zu of %zu bytes: "
                             "accepted",
                             version, method, n, packed_nbytes);
                free(cut);
            }
            free(packed);
        }
    free(data);
}

/* Given a format from before 1.0, libzstd takes no input, gives no output and
 * reports no error. */
static void test_a_frame_that_stands_still_is_refused(void **state)
{
    static const unsigned char data[178] = {
        'C', 'C', 'O', 'B', 1, 0,    1,    0,    0xe1, 0, 0, 0, 0,    0,   0,
        0,   0,   0,   0,   0, 0x26, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0x8c, 0xed};
    unsigned char *out;
    size_t nbytes;
    char error[BUNDLE_ERROR_MAX];

    (void)state;
    assert_false(bundle_expand(data, sizeof(data), &out, &nbytes, NULL, error));
}

/* Wrong numbers in the header and the list, and the message for each. */
static const struct lie {
    size_t at;
    uint64_t value;
    const char *says;
} lies[] = {
    {24, UINT64_MAX, "number of entries is absurd"},
    {24, 4097, "number of entries is absurd"},
    {24, 4096, "truncated"},
    {32, UINT64_MAX, "lies outside"},
    {32, 1 << 20, "lies outside"},
    {40, UINT64_MAX, "lies outside"},
    {48, UINT64_MAX, "truncated in its list"},
    {48, UINT64_MAX - 31, "truncated in its list"},
    {48, 1 << 20, "truncated in its list"},
};

static void test_lies_in_a_bundle_are_found(void **state)
{
    size_t nbytes;

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        unsigned char *data = make_bundle(entries, NENTRIES, 1, &nbytes);
        struct bundle bundle;
        struct bundle_entry entry;

        memcpy(data + lies[i].at, &lies[i].value, 8);
        if (bundle_open(&bundle, data, nbytes))
            while (bundle_next(&bundle, &entry))
                ;
        if (!bundle.message || !strstr(bundle.message, lies[i].says))
            fail_msg("case %zu: want \"%s\", got \"%s\"", i, lies[i].says,
                     bundle.message ? bundle.message : "a bundle");
        free(data);
    }
}

/* Version 3 with a wrong size of the output, up to absurd sizes. */
static void test_compressed_bundle_that_lies_is_refused_cheaply(void **state)
{
    static const uint64_t sizes[] = {
        0,         1, 100, 1 << 30, UINT64_C(4) << 30, (UINT64_C(4) << 30) + 1,
        UINT64_MAX};
    size_t nbytes, packed_nbytes, out_nbytes;
    unsigned char *data = make_bundle(entries, NENTRIES, 1, &nbytes), *out;
    char error[BUNDLE_ERROR_MAX];

    (void)state;
    for (unsigned method = 0; method < 2; method++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *packed =
                compress_bundle(data, nbytes, 3, method, &packed_nbytes);

            memcpy(packed + 16, &sizes[i], 8);
            *error = '\0';
            assert_false(bundle_expand(packed, packed_nbytes, &out, &out_nbytes,
                                       NULL, error));
            assert_true(strlen(error) > 0);
            free(packed);
        }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_of_a_plain_bundle),
        cmocka_unit_test(test_compressed_bundles_of_every_version_and_method),
        cmocka_unit_test(test_bundle_cut_at_any_byte_is_refused),
        cmocka_unit_test(test_a_frame_that_stands_still_is_refused),
        cmocka_unit_test(test_lies_in_a_bundle_are_found),
        cmocka_unit_test(test_compressed_bundle_that_lies_is_refused_cheaply),
    };

    return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
