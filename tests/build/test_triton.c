/* test_triton.c - Triton's JSON files, and what an import takes from them
 *
 * Texts are laid out as Triton 3.9 writes them; code objects are made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "made_code_object.h"
#include "pack/import.h"
#include "pack/import_triton.h"
#include "read/codeobj_read.h"
#include "read/triton.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The generator frees nothing: it ends when its output is written. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

#define TARGET                                                                 \
    "\"target\": {\"backend\": \"hip\", \"arch\": \"gfx942\", \"warp_size\": " \
    "64}"
#define LAUNCH "\"num_warps\": 4, \"num_ctas\": 1, \"shared\": 16384"
#define SCRATCH                                                                \
    "\"global_scratch_size\": 96, \"global_scratch_align\": 128, "             \
    "\"profile_scratch_size\": 0, \"profile_scratch_align\": 1"
#define NAME "\"name\": \"softmax\""

static const struct text {
    const char *json;
    enum triton_status status;
    const char *says; /* message for bad JSON */
} texts[] = {
    {"{" TARGET ", " LAUNCH ", " SCRATCH ", " NAME "}", TRITON_READ, NULL},
    {"{" LAUNCH "}", TRITON_READ, NULL},
    {"{}", TRITON_OTHER, NULL},
    {"[1, 2]", TRITON_OTHER, NULL},
    {"7", TRITON_OTHER, NULL},
    {"{\"num_warps\": 4}", TRITON_OTHER, NULL},
    {"{\"shared\": 4}", TRITON_OTHER, NULL},
    {"", TRITON_BAD, "no JSON that can be read"},
    {"{" LAUNCH, TRITON_BAD, "no JSON that can be read"},
    {"kernels", TRITON_BAD, "no JSON that can be read"},
    {"{\"num_warps\": 0, \"shared\": 0}", TRITON_BAD, "num_warps is no number"},
    {"{\"num_warps\": 1025, \"shared\": 0}", TRITON_BAD, "num_warps"},
    {"{\"num_warps\": 1e300, \"shared\": 0}", TRITON_BAD, "num_warps"},
    {"{\"num_warps\": 1.5, \"shared\": 0}", TRITON_BAD, "num_warps"},
    {"{\"num_warps\": \"4\", \"shared\": 0}", TRITON_BAD, "num_warps"},
    {"{\"num_warps\": null, \"shared\": 0}", TRITON_BAD, "num_warps"},
    {"{\"num_warps\": 4, \"shared\": -1}", TRITON_BAD, "shared is no number"},
    {"{\"num_warps\": 4, \"shared\": 4294967296}", TRITON_BAD, "shared"},
    {"{" LAUNCH ", \"global_scratch_size\": []}", TRITON_BAD,
     "global_scratch_size is no number"},
    /* other values than text are ignored */
    {"{" LAUNCH ", \"name\": 7, \"target\": {\"arch\": 90}}", TRITON_READ,
     NULL},
    {"{" LAUNCH ", \"target\": \"gfx942\"}", TRITON_READ, NULL},
};

static void test_texts_are_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char error[TRITON_ERROR_MAX] = "";
        struct triton t;
        const enum triton_status status =
            triton_parse(texts[i].json, strlen(texts[i].json), &t, error);

        if (status != texts[i].status ||
            (texts[i].says && !strstr(error, texts[i].says)))
            fail_msg("%s: status %d, \"%s\"", texts[i].json, (int)status,
                     error);
        if (status != TRITON_READ)
            continue;
        assert_int_equal(t.num_warps, 4);
        assert_int_equal(t.num_ctas, 1);
        assert_int_equal(t.shared_nbytes, 16384);
        assert_int_equal(t.nscratch, i == 0 ? 2 : 0);
        assert_int_equal(t.global_scratch_nbytes, i == 0 ? 96 : 0);
        assert_int_equal(t.global_scratch_align, i == 0 ? 128 : 0);
        assert_string_equal(t.kernel, i == 0 ? "softmax" : "");
        assert_string_equal(t.processor, i == 0 ? "gfx942" : "");
    }
}

static void test_a_name_that_is_too_long_is_none(void **state)
{
    char json[TRITON_NAME_MAX + 200], error[TRITON_ERROR_MAX];
    struct triton t;

    (void)state;
    for (int more = 0; more < 2; more++) {
        snprintf(json, sizeof(json), "{" LAUNCH ", \"name\": \"%0*d\"}",
                 TRITON_NAME_MAX - 1 + more, 0);
        assert_int_equal(triton_parse(json, strlen(json), &t, error),
                         TRITON_READ);
        assert_int_equal(strlen(t.kernel), more ? 0 : TRITON_NAME_MAX - 1);
    }
}

/* ---- beside a code object ------------------------------------------------ */

/* x, y, n and what Triton adds: without names, as it leaves them. */
static const struct made_arg args[] = {{NULL, 0, 8, "global_buffer"},
                                       {NULL, 8, 8, "global_buffer"},
                                       {NULL, 16, 4, "by_value"},
                                       {NULL, 24, 8, "global_buffer"},
                                       {NULL, 32, 8, "global_buffer"}};
enum { NARGS = sizeof(args) / sizeof(args[0]) };

static const struct beside {
    const char *json;
    size_t nargs;     /* of the kernel */
    const char *says; /* NULL: accepted */
    const char *names[2];
} besides[] = {
    {"{" TARGET ", " LAUNCH ", " SCRATCH ", " NAME "}",
     NARGS,
     NULL,
     {"global_scratch", "profile_scratch"}},
    {"{" LAUNCH ", \"global_scratch_size\": 0}",
     NARGS,
     NULL,
     {"", "global_scratch"}}, /* from a release with one scratch pointer */
    {"{" LAUNCH "}", NARGS, NULL, {"", ""}},
    {"{" LAUNCH ", \"triton_version\": \"3.4.0\"}",
     NARGS,
     NULL,
     {"", "global_scratch"}},
    {"{" LAUNCH ", \"triton_version\": \"3.2.0\"}", NARGS, NULL, {"", ""}},
    {"{" LAUNCH ", \"triton_version\": \"3.5.1\", \"profile_scratch_size\": 0}",
     NARGS,
     NULL,
     {"global_scratch", "profile_scratch"}},
    {"{" LAUNCH ", " SCRATCH "}",
     2,
     NULL,
     {"global_scratch", "profile_scratch"}},
    {"{" LAUNCH ", " SCRATCH "}",
     1,
     "does not end with 2 pointers to scratch memory",
     {""}},
    {"{" LAUNCH ", " SCRATCH "}",
     4, /* a number is the last but one */
     "does not end with 2 pointers to scratch memory",
     {""}},
    {"{" LAUNCH ", \"name\": \"other\"}",
     NARGS,
     "is about kernel 'other', which the code beside it does not have",
     {""}},
    {"{" LAUNCH ", \"target\": {\"arch\": \"gfx90a\"}}",
     NARGS,
     "is about a kernel for gfx90a, but the code beside it is for gfx942",
     {""}},
    {"{" LAUNCH ", \"target\": {\"arch\": \"gfx94\"}}",
     NARGS,
     "is about a kernel for gfx94,",
     {""}},
    {"{\"num_warps\": 8, \"shared\": 0}",
     NARGS,
     "8 warps are 512 threads, which kernel softmax cannot have",
     {""}},
    {"{\"num_warps\": 4, \"shared\": -1}", NARGS, "shared is no number", {""}},
};

/* An import of one code object for gfx942 with at most 256 threads. */
static struct import_object object_with(size_t nargs)
{
    const struct made_object spec = {.kernel = "softmax",
                                     .e_flags = 0x54c,
                                     .abi_version = 3,
                                     .wave_size = 64,
                                     .kernarg_nbytes = 40,
                                     .args = args,
                                     .nargs = nargs};
    char error[CODEOBJ_ERROR_MAX] = "";
    size_t nbytes;
    unsigned char *data = make_object(&spec, &nbytes);
    struct codeobj *co = codeobj_parse("softmax.hsaco", data, nbytes, error);

    if (!co)
        fail_msg("%s", error);
    free(data);
    return (struct import_object){.object.co = co};
}

/* Imports a text as a file; what is printed, to be freed. */
static char *import_text(struct import *in, struct import_object *object,
                         const char *json)
{
    char path[] = "/tmp/kpack-triton-XXXXXX";
    const int fd = mkstemp(path);
    FILE *terminal = stderr;
    char *printed = NULL;
    size_t nprinted;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), strlen(json));
    assert_int_equal(close(fd), 0);
    stderr = open_memstream(&printed, &nprinted);
    assert_non_null(stderr);
    import_triton(in, object, path);
    (void)fclose(stderr);
    stderr = terminal;
    (void)unlink(path);
    return printed;
}

static void test_a_kernel_takes_its_block_and_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(besides) / sizeof(besides[0]); i++) {
        const struct beside *b = &besides[i];
        struct import in = {.pack = "p", .root = "."};
        struct import_object object = object_with(b->nargs);
        const struct codeobj_kernel *k = &object.object.co->kernels[0];
        char *printed = import_text(&in, &object, b->json);

        if (in.nbad != (b->says != NULL) ||
            (b->says ? !strstr(printed, b->says) : *printed != '\0'))
            fail_msg("case %zu: %s", i, printed);
        assert_int_equal(object.triton != NULL, !b->says);
        assert_int_equal(k->attrs.reqd_block[0], 256);
        assert_int_equal(k->attrs.least_shared_nbytes, b->says ? 0 : 16384);
        for (size_t n = 0; !b->says && n < 2; n++)
            assert_string_equal(k->args[k->nargs - 2 + n].name, b->names[n]);
        free(printed);
        free((void *)object.triton);
        codeobj_free((struct codeobj *)object.object.co);
    }
}

/* A kernel in clusters has a block, but no shape. */
static void test_rows_are_those_of_triton_without_clusters(void **state)
{
    static const char *const jsons[] = {
        "{" TARGET ", " LAUNCH ", " SCRATCH "}",
        "{\"num_warps\": 4, \"num_ctas\": 2, \"shared\": 8}", "{}"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct import in = {.pack = "p", .root = "."};
        struct import_object object = object_with(NARGS), *order = &object;
        const struct import_module module = {"softmax", "", 0, 1};
        char *printed = import_text(&in, &object, jsons[i]);
        const struct pack_table *table;

        in.order = &order;
        table = import_triton_table(&in, &module);
        assert_int_equal(in.nbad, 0);
        assert_int_equal(table != NULL, i == 0);
        assert_int_equal(strstr(printed, "in clusters of 2 blocks") != NULL,
                         i == 1);
        if (table) {
            assert_int_equal(table->nrows, 1);
            assert_string_equal(table->rows[0].target, "");
            assert_string_equal(table->columns[0].name, "block_x");
            assert_string_equal(table->rows[0].cells[0], "256");
            assert_string_equal(table->columns[3].name, "shared_nbytes");
            assert_string_equal(table->rows[0].cells[3], "16384");
            assert_string_equal(table->columns[5].name, "global_scratch_size");
            assert_string_equal(table->rows[0].cells[5], "96");
        }
        free(printed);
        codeobj_free((struct codeobj *)object.object.co);
    }
}

static void test_a_file_that_is_not_there_is_refused(void **state)
{
    char error[TRITON_ERROR_MAX];
    struct triton t;

    (void)state;
    assert_int_equal(triton_read("/nowhere/x.json", &t, error), TRITON_BAD);
    assert_string_equal(error, "No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_read_or_refused),
        cmocka_unit_test(test_a_name_that_is_too_long_is_none),
        cmocka_unit_test(test_a_kernel_takes_its_block_and_names),
        cmocka_unit_test(test_rows_are_those_of_triton_without_clusters),
        cmocka_unit_test(test_a_file_that_is_not_there_is_refused),
    };

    return cmocka_run_group_tests_name("triton", tests, NULL, NULL);
}
