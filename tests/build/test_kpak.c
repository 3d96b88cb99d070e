/* test_kpak.c - the readers of AMD's archives, and of libraries that refer to
 * them, on made, cut and lying files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "base/hipk.h"
#include "base/kpak.h"
#include "made_kpak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char content[] = "not a code object, but bytes of one";
static const struct made_kpak_entry made[] = {
    {"lib/libb.so#1", "gfx942", content, sizeof(content)},
    {"lib/libb.so#1", "gfx90a:xnack+", content, 9},
    {"lib/libb.so#0", "gfx942", content, 7},
    {"pa/pa_bf16_a_name_of_more_than_31_bytes.co", "gfx942", content, 3}};
enum { NMADE = sizeof(made) / sizeof(made[0]) };

/* Bytes whose end a sanitizer watches. */
static unsigned char *exact(const void *data, size_t nbytes)
{
    unsigned char *copy = malloc(nbytes ? nbytes : 1);

    assert_non_null(copy);
    if (nbytes)
        memcpy(copy, data, nbytes);
    return copy;
}

static void test_entries_are_sorted_and_stored_as_they_are(void **state)
{
    static const size_t order[NMADE] = {2, 1, 0, 3};
    size_t nbytes;
    unsigned char *data = make_kpak("blas", made, NMADE, false, &nbytes);
    struct kpak kpak;

    (void)state;
    assert_true(kpak_is(data, nbytes));
    assert_true(kpak_open(&kpak, data, nbytes));
    assert_string_equal(kpak.group, "blas");
    assert_string_equal(kpak.family, "gfx942");
    assert_int_equal(kpak.ntargets, 2);
    assert_string_equal(kpak.targets[1], "gfx90a:xnack+");
    assert_false(kpak.zstd);
    assert_int_equal(kpak.n, NMADE);
    for (size_t i = 0; i < NMADE; i++) {
        const struct made_kpak_entry *want = &made[order[i]];

        assert_string_equal(kpak.entries[i].key, want->key);
        assert_string_equal(kpak.entries[i].target, want->target);
        assert_int_equal(kpak.entries[i].nbytes, want->nbytes);
        assert_int_equal(kpak.entries[i].stored_nbytes, want->nbytes);
        assert_memory_equal(kpak.entries[i].stored, want->data, want->nbytes);
    }
    kpak_close(&kpak);
    free(data);
}

static void test_frames_lie_in_the_block(void **state)
{
    size_t nbytes;
    unsigned char *data = make_kpak("", made, NMADE, true, &nbytes);
    struct kpak kpak;

    (void)state;
    assert_true(kpak_open(&kpak, data, nbytes));
    assert_true(kpak.zstd);
    assert_string_equal(kpak.group, "");
    for (size_t i = 0; i < NMADE; i++)
        assert_memory_equal(kpak.entries[i].stored, "\x28\xb5\x2f\xfd", 4);
    kpak_close(&kpak);
    free(data);
}

static void test_an_archive_without_entries(void **state)
{
    size_t nbytes;
    unsigned char *data = make_kpak("none", made, 0, false, &nbytes);
    struct kpak kpak;

    (void)state;
    assert_true(kpak_open(&kpak, data, nbytes));
    assert_int_equal(kpak.n, 0);
    kpak_close(&kpak);
    free(data);
}

static void test_archives_cut_anywhere_are_refused(void **state)
{
    size_t nbytes;

    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        unsigned char *data = make_kpak("blas", made, NMADE, zstd, &nbytes);

        for (size_t n = 0; n < nbytes; n++) {
            unsigned char *cut = exact(data, n);
            struct kpak kpak;

            assert_false(kpak_open(&kpak, cut, n));
            assert_true(*kpak.error);
            kpak_close(&kpak);
            free(cut);
        }
        free(data);
    }
}

static unsigned char *find(unsigned char *data, size_t nbytes, const char *what)
{
    const size_t n = strlen(what);

    for (size_t i = 0; i + n <= nbytes; i++)
        if (memcmp(data + i, what, n) == 0)
            return data + i;
    fail_msg("no %s in it", what);
    return NULL;
}

/* A case writes `put` over an archive, `skip` bytes behind the start of `what`,
 * and expects a refusal with `words`. */
static void test_lying_archives_are_refused(void **state)
{
    static const struct {
        bool zstd;
        const char *what;
        int skip; /* bytes from its first one on */
        const char *put;
        const char *words;
    } lies[] = {
        {false, "KPAK", 0, "KPAC", "begin with KPAK"},
        {false, "KPAK", 4, "\2", "of version 2; 1 can be read"},
        {false, "KPAK", 8, "\1", "damaged"},
        {false, "KPAK", 15, "\1", "truncated: its table of contents begins"},
        {false, "format_version", 14, "\2", "of format version 2"},
        {false, "format_version", 14, "\xc0", "format_version is no number"},

        {false, "group_name", 10, "\x04", "bytes follow its table"},
        {false, "blas", 0, "b as", "group_name is not of printable"},
        {false, "gfx_arches", 0, "x", "no list named gfx_arches"},
        {false, "gfx_arches\x92\xa6gfx942", 12, "gfx940", "mislabelled"},
        {false, "gfx_arches", 12, "g x", "a target ID of gfx_arches is not"},
        {false, "none", 0, "nope", "compression scheme is not known"},
        {false, "none", 0, "\xff", "compression scheme is not known"},
        {false, "blobs", 0, "x", "no list of blobs"},
        {false, "blobs", 6, "\xc0", "bytes follow its table"},
        {false, "offset", 6, "\x01", "blob 0 lies outside"},
        {false, "offset", 6, "\xc0", "a blob's offset is no number"},
        {false, "offset", 0, "x", "no a blob's offset"},
        {false, "size", 4, "\x7f", "cannot be"},
        {false, "ordinal", 7, "\x04", "has ordinal 4, and 4 are stored"},
        {false, "ordinal", 7, "\xc2", "ordinal is no number"},
        {false, "ordinal", 0, "x", "no an entry's ordinal"},
        {false, "original_size", 13, "\x01", "1 bytes, which the 36"},
        {false, "original_size", 0, "x", "no an entry's original_size"},
        {false, "hsaco", 0, "bcode", "of another type than hsaco"},
        {false, "libb.so#0", 8, "1", "is there twice"},
        {false, "toc", 0, "x", "no map named toc"},
        {false, "lib/libb", 0, "\xff", "a binary's name in its table"},
        {true, "zstd_offset", 11, "\x01", "frames lie outside the file"},
        {true, "zstd_offset", 0, "x", "no zstd_offset"},
        {true, "zstd_size", 9, "\x03", "frames lie outside the file"},
        {true, "zstd_size", 0, "x", "no zstd_size"},
        {true, "KPAK", 67, "\x7f", "number of zstd frames is absurd"},
        {true, "KPAK", 64, "\x05", "zstd frame 4 lies outside their block"},
        {true, "KPAK", 71, "\x7f", "zstd frame 0 lies outside their block"},
        {true, "original_size", 13, "\x00", "0 bytes, which the"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        size_t nbytes;
        unsigned char *data =
            make_kpak("blas", made, NMADE, lies[i].zstd, &nbytes);
        const size_t nput = strlen(lies[i].put);
        struct kpak kpak;
        bool ok;

        memcpy(find(data, nbytes, lies[i].what) + lies[i].skip, lies[i].put,
               nput ? nput : 1);
        ok = kpak_open(&kpak, data, nbytes);
        if ((ok || !strstr(kpak.error, lies[i].words)))
            fail_msg("lie %zu: wanted '%s', got '%s'", i, lies[i].words,
                     ok ? "success" : kpak.error);
        kpak_close(&kpak);
        free(data);
    }
}

static void test_bytes_behind_the_table_are_refused(void **state)
{
    size_t nbytes;
    unsigned char *data = make_kpak("blas", made, NMADE, false, &nbytes);
    unsigned char *longer = calloc(1, nbytes + 1);
    struct kpak kpak;

    (void)state;
    assert_non_null(longer);
    memcpy(longer, data, nbytes);
    assert_false(kpak_open(&kpak, longer, nbytes + 1));
    assert_non_null(strstr(kpak.error, "1 bytes follow"));
    kpak_close(&kpak);
    free(longer);
    free(data);
}

static void test_a_frame_cannot_promise_more_than_zstd_makes(void **state)
{
    static const struct made_kpak_entry one = {"k", "gfx942", content,
                                               sizeof(content)};
    size_t nbytes;
    unsigned char *data = make_kpak("blas", &one, 1, true, &nbytes);
    unsigned char *size = find(data, nbytes, "original_size") + 13;
    unsigned char *longer = calloc(1, nbytes + 4);
    const size_t at = (size_t)(size - data);
    struct kpak kpak;

    (void)state;
    assert_non_null(longer);
    memcpy(longer, data, at);
    memcpy(longer + at, "\xce\x7f\xff\xff\xff", 5);
    memcpy(longer + at + 5, data + at + 1, nbytes - at - 1);
    assert_false(kpak_open(&kpak, longer, nbytes + 4));
    assert_non_null(strstr(kpak.error, "cannot be"));
    kpak_close(&kpak);
    free(longer);
    free(data);
}

/* ---- libraries ----------------------------------------------------------- */

static char first[] = "../.kpack/rand_lib_@GFXARCH@.kpack", second[] = "x";
static char *const paths[] = {first, second};

static void test_a_library_says_where_its_code_is(void **state)
{
    size_t nbytes;
    unsigned char *data = make_hipk("lib/librocrand.so", paths, 2, 3, &nbytes);
    struct hipk hipk;

    (void)state;
    assert_int_equal(hipk_open(&hipk, data, nbytes), HIPK_MOVED);
    assert_string_equal(hipk.name, "lib/librocrand.so");
    assert_int_equal(hipk.npaths, 2);
    assert_string_equal(hipk.paths[0], first);
    assert_int_equal(hipk.nunits, 3);
    hipk_close(&hipk);
    free(data);
}

static void test_cut_libraries_are_none_or_damaged(void **state)
{
    size_t nbytes;
    unsigned char *data = make_hipk("lib/librocrand.so", paths, 2, 3, &nbytes);

    (void)state;
    for (size_t n = 0; n < nbytes; n++) {
        unsigned char *cut = exact(data, n);
        struct hipk hipk;

        assert_int_not_equal(hipk_open(&hipk, cut, n), HIPK_MOVED);
        hipk_close(&hipk);
        free(cut);
    }
    free(data);
}

static void test_lying_libraries_are_refused(void **state)
{
    static const struct {
        const char *what;
        int skip;
        const char *put;
        const char *words;
    } lies[] = {
        {"kernel_name", 0, "x", "no kernel_name"},
        {"kernel_name", 11, "\xc0", "no kernel_name of"},
        {"kernel_name", 11, "\x01", "no kernel_name of"},
        {"kpack_search_paths", 0, "x", "no kpack_search_paths"},
        {"kpack_search_paths", 18, "\x81", "not one list of 1 to 64"},
        {"lib/librocrand.so", 3, "\n", "kernel_name is not of printable"},
        {"../.kpack", 2, " ", "search path is not of printable"},
        {"HIPK", 3, "F", "wrapper 0 is not marked HIPK"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        size_t nbytes;
        unsigned char *data =
            make_hipk("lib/librocrand.so", paths, 2, 3, &nbytes);
        struct hipk hipk;
        enum hipk_kind kind;

        memcpy(find(data, nbytes, lies[i].what) + lies[i].skip, lies[i].put,
               strlen(lies[i].put));
        kind = hipk_open(&hipk, data, nbytes);
        if (kind != HIPK_DAMAGED || !strstr(hipk.error, lies[i].words))
            fail_msg("lie %zu: wanted '%s', got '%s'", i, lies[i].words,
                     kind == HIPK_DAMAGED ? hipk.error : "success");
        hipk_close(&hipk);
        free(data);
    }
}

static void test_paths_lead_from_the_folder_of_the_library(void **state)
{
    static const char *const cases[][3] = {
        {"/t/lib", "../.kpack/x_@GFXARCH@.kpack",
         "/t/.kpack/x_@GFXARCH@.kpack"},
        {"/t/lib", "./x//y/.", "/t/lib/x/y"},
        {"/t/lib", "../../../../etc", "/etc"},
        {"/", "x", "/x"},
        {"/t", "/opt/../x", "/x"},
        {"/t", "..", "/"},
        {"/t", "@GFXARCH@/../x", "/t/x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = hipk_resolve(cases[i][0], cases[i][1]);

        assert_non_null(out);
        assert_string_equal(out, cases[i][2]);
        free(out);
    }
}

/* One target stands for all placeholders of a path. */
static void test_placeholders_find_targets(void **state)
{
    static const char *const files[] = {
        "a_gfx942.kpack", "a_gfx90a:xnack+.kpack", "a_gfx.kpack",
        "a_other.kpack",  "gfx942_gfx942",         "gfx942_gfx950"};
    static const struct {
        const char *path;
        const char *found[2];
    } cases[] = {
        {"a_@GFXARCH@.kpack", {"a_gfx90a:xnack+.kpack", "a_gfx942.kpack"}},
        {"@GFXARCH@_@GFXARCH@", {"gfx942_gfx942"}},
        {"a_gfx.kpack", {"a_gfx.kpack"}},
        {"b_@GFXARCH@.kpack", {NULL}},
        {"b_gfx942.kpack", {NULL}},
        {"none/a_@GFXARCH@.kpack", {NULL}},
        {"a_@GFXARCH@.kpack/none", {NULL}},
    };
    char folder[] = "/tmp/test_kpak.XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = hipk_resolve(folder, files[i]);
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        fclose(f);
        free(path);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *path = hipk_resolve(folder, cases[i].path);
        char **found;
        size_t n;

        assert_true(hipk_find(path, &found, &n));
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(k < n, cases[i].found[k] != NULL);
            if (k < n) {
                assert_string_equal(found[k] + strlen(folder) + 1,
                                    cases[i].found[k]);
                free(found[k]);
            }
        }
        free(found);
        free(path);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = hipk_resolve(folder, files[i]);

        unlink(path);
        free(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_sorted_and_stored_as_they_are),
        cmocka_unit_test(test_frames_lie_in_the_block),
        cmocka_unit_test(test_an_archive_without_entries),
        cmocka_unit_test(test_archives_cut_anywhere_are_refused),
        cmocka_unit_test(test_lying_archives_are_refused),
        cmocka_unit_test(test_bytes_behind_the_table_are_refused),
        cmocka_unit_test(test_a_frame_cannot_promise_more_than_zstd_makes),
        cmocka_unit_test(test_a_library_says_where_its_code_is),
        cmocka_unit_test(test_cut_libraries_are_none_or_damaged),
        cmocka_unit_test(test_lying_libraries_are_refused),
        cmocka_unit_test(test_paths_lead_from_the_folder_of_the_library),
        cmocka_unit_test(test_placeholders_find_targets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
