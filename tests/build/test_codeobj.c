/* test_codeobj.c - the code object reader, on good, cut and damaged files
 *
 * The good ones are those of the pack's vector_add, whose layout is its ABI:
 * three pointers and a u32. Damage is random but the same each run.
 */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "read/codeobj.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static glob_t files; /* B/hsaco/TARGET/vector_add.hsaco */

static int find_files(void **state)
{
    char pattern[4096];
    const char *b = getenv("B");

    (void)state;
    snprintf(pattern, sizeof(pattern), "%s/hsaco/*/vector_add.hsaco",
             b ? b : "build");
    if (glob(pattern, 0, NULL, &files) != 0) {
        fprintf(stderr, "no %s: run make first\n", pattern);
        return -1;
    }
    return 0;
}

static int forget_files(void **state)
{
    (void)state;
    globfree(&files);
    return 0;
}

static struct codeobj *read_good(const char *path)
{
    char error[CODEOBJ_ERROR_MAX] = "";
    struct codeobj *co = codeobj_read(path, error);

    if (!co)
        fail_msg("%s: %s", path, error);
    return co;
}

/* The folder's name is the target that the compiler was asked for. */
static void test_target_is_the_one_compiled_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct codeobj *co = read_good(files.gl_pathv[i]);
        const char *folder = strstr(files.gl_pathv[i], "/hsaco/");
        size_t n;

        assert(folder && co->target);
        folder += strlen("/hsaco/");
        n = strcspn(folder, "/");
        if (strlen(co->target) != n || strncmp(co->target, folder, n) != 0)
            fail_msg("%s: read as %s", files.gl_pathv[i], co->target);
        codeobj_free(co);
    }
}

static void test_vector_add_has_its_abi(void **state)
{
    static const struct {
        uint32_t offset, size;
        enum kpk_arg_kind kind;
    } wanted[] = {
        {0, 8, KPK_ARG_GLOBAL_BUFFER},
        {8, 8, KPK_ARG_GLOBAL_BUFFER},
        {16, 8, KPK_ARG_GLOBAL_BUFFER},
        {24, 4, KPK_ARG_BY_VALUE},
    };

    (void)state;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct codeobj *co = read_good(files.gl_pathv[i]);

        assert_int_equal(co->nkernels, 1);
        assert_string_equal(co->kernels[0].name, "vector_add");
        assert_int_equal(co->kernels[0].nargs, 4);
        for (size_t j = 0; j < 4; j++) {
            assert_int_equal(co->kernels[0].args[j].offset, wanted[j].offset);
            assert_int_equal(co->kernels[0].args[j].size, wanted[j].size);
            assert_int_equal(co->kernels[0].args[j].kind, wanted[j].kind);
        }
        assert_int_equal(co->kernels[0].attrs.max_block, 1024);
        assert_int_equal(co->kernels[0].attrs.lds_nbytes, 0);
        assert_int_equal(co->kernels[0].attrs.wave_size,
                         strncmp(co->target, "gfx9", 4) == 0 ? 64 : 32);
        assert_true(co->kernels[0].attrs.vgprs > 0);
        codeobj_free(co);
    }
}

/* The section headers come last, so that no cut is without damage. */
static void test_cut_file_is_refused(void **state)
{
    struct codeobj *co = read_good(files.gl_pathv[0]);

    (void)state;
    for (size_t n = 0; n < co->nbytes; n += n < 1024 ? 1 : 37) {
        char error[CODEOBJ_ERROR_MAX] = "";
        unsigned char *exact = malloc(n ? n : 1);
        struct codeobj *cut;

        assert_non_null(exact);
        memcpy(exact, co->data, n);
        cut = codeobj_parse("cut", exact, n, error);
        if (cut || !*error)
            fail_msg("cut to %zu of %zu bytes: accepted", n, co->nbytes);
        free(exact);
    }
    codeobj_free(co);
}

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* Must not crash, and says why when it refuses; sanitizers watch. */
static void test_damaged_file_is_read_safely(void **state)
{
    (void)state;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct codeobj *co = read_good(files.gl_pathv[i]);
        unsigned char *damaged = malloc(co->nbytes);

        assert_non_null(damaged);
        for (int round = 0; round < 3000; round++) {
            char error[CODEOBJ_ERROR_MAX] = "";
            struct codeobj *got;
            uint32_t hits = 1 + next_random() % 8;
            /* Headers and the note are near the front. */
            size_t span = round % 2 ? co->nbytes : 2048;

            memcpy(damaged, co->data, co->nbytes);
            while (hits--)
                damaged[next_random() % span] =
                    (unsigned char)(next_random() % 3 ? next_random() : 0xffu);
            got = codeobj_parse("damaged", damaged, co->nbytes, error);
            if (!got && !*error)
                fail_msg("round %d: refused without a word", round);
            codeobj_free(got);
        }
        free(damaged);
        codeobj_free(co);
    }
}

struct note_case {
    const char *note; /* msgpack */
    size_t nbytes;
    const char *error; /* part of the message */
};

#define NOTE(text) text, sizeof(text) - 1
#define KERNELS                                                                \
    "\x81\xae"                                                                 \
    "amdhsa.kernels"

/* Written by hand from the msgpack specification. */
/* clang-format off */
static const struct note_case note_cases[] = {
    {NOTE(""), "not a msgpack map"},
    {NOTE("\x93\x01\x02\x03"), "not a msgpack map"},
    {NOTE(KERNELS "\x05"), "no list"},
    {NOTE(KERNELS "\xdd\xff\xff\xff\xff"), "not a msgpack map"},
    {NOTE(KERNELS "\xdc\xff\xff"), "not a msgpack map"},
    {NOTE(KERNELS "\x91\x05"), "without a name"},
    {NOTE(KERNELS "\x91\x80"), "without a name"},
    {NOTE(KERNELS "\x91\x81\xa5.name\xa0"), "without a name"},
    {NOTE(KERNELS "\x91\x81\xa5.name\xa3" "a\0b"), "without a name"},
    {NOTE(KERNELS "\x91\x81\xa5.name\xa1k"), "missing"},
    {NOTE(KERNELS "\x91\x82\xa5.name\xa1k\xb5.kernarg_segment_size\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
     ".kernarg_segment_size is no number"},
    {NOTE(KERNELS "\x91\x82\xa5.name\xa1k\xb5.kernarg_segment_size\xff"),
     ".kernarg_segment_size is no number"},
};
/* clang-format on */

static void test_metadata_that_lies_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(note_cases) / sizeof(note_cases[0]); i++) {
        const struct note_case *c = &note_cases[i];
        struct codeobj *co = calloc(1, sizeof(*co));
        char error[CODEOBJ_ERROR_MAX] = "";

        assert_non_null(co);
        if (codeobj_read_metadata(co, c->note, c->nbytes, error))
            fail_msg("note %zu: accepted", i);
        if (!strstr(error, c->error))
            fail_msg("note %zu: wanted '%s', got '%s'", i, c->error, error);
        codeobj_free(co);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_is_the_one_compiled_for),
        cmocka_unit_test(test_vector_add_has_its_abi),
        cmocka_unit_test(test_cut_file_is_refused),
        cmocka_unit_test(test_damaged_file_is_read_safely),
        cmocka_unit_test(test_metadata_that_lies_is_refused),
    };

    return cmocka_run_group_tests_name("codeobj", tests, find_files,
                                       forget_files);
}
