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

#include "base/amdgpu_metadata.h"
#include "base/target_id.h"
#include "read/codeobj_read.h"

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

/* A kernel's required and optional keys, in a map of n entries. */
#define KERNEL(n, name, wave)                                                  \
    MAP_##n                                                                    \
        "\xa5.name\xa1" name                                                   \
        "\xb5.kernarg_segment_size\x08\xb6.kernarg_segment_align\x08"          \
        "\xb9.group_segment_fixed_size\x00\xbb.private_segment_fixed_size\x00" \
        "\xb8.max_flat_workgroup_size\x40\xab.vgpr_count\x08"                  \
        "\xaf.wavefront_size" wave
#define MAP_8 "\x88"
#define MAP_9 "\x89"
#define REQD "\xb4.reqd_workgroup_size"
#define ARGS "\xa5.args"
#define OFFSET "\xa7.offset"
#define SIZE "\xa5.size"
#define KIND "\xab.value_kind"
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
    {NOTE("\xa1x"), "not a msgpack map"},
    {NOTE(KERNELS "\x91\x82\xa5.name\xa1k\xb5.kernarg_segment_size\xa1x"),
     ".kernarg_segment_size is no number"},
    {NOTE(KERNELS "\x91" KERNEL(8, "k", "\x30")), "is 48, neither 32 nor 64"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") REQD "\x05"), "is no triple"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") REQD "\x92\x01\x01"), "is no triple"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") REQD "\x93\x01\x01\xff"), "is no triple"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x05"), ".args is no list"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x91\x80"), "without .offset, .size or .value_kind"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x91\x83" OFFSET "\x00" SIZE "\x08" KIND "\x05"),
     "without .offset, .size or .value_kind"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x91\x82" OFFSET "\x00" KIND "\xa8" "by_value"),
     "without .offset, .size or .value_kind"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x91\x83" OFFSET "\xce\xff\xff\xff\xff" SIZE "\x08"
          KIND "\xa8" "by_value"), "an argument ends at byte 4294967303, past any"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x92\x83" OFFSET "\x00" SIZE "\x08" KIND "\xa8" "by_value"
          "\x83" OFFSET "\x04" SIZE "\x04" KIND "\xa8" "by_value"), "argument 1 overlaps the one before"},
    {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\x91\x84\xa5.name\x05" OFFSET "\x00" SIZE "\x08"
          KIND "\xa8" "by_value"), ".name is no string"},
    {NOTE(KERNELS "\x92" KERNEL(8, "k", "\x40") KERNEL(8, "k", "\x20")), "two kernels are called k"},
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
        if (amdgpu_metadata_read(co, c->note, c->nbytes, error))
            fail_msg("note %zu: accepted", i);
        if (!strstr(error, c->error))
            fail_msg("note %zu: wanted '%s', got '%s'", i, c->error, error);
        codeobj_free(co);
    }
}

/* A list of nulls, longer than any compiler makes. */
static void test_metadata_without_bounds_is_refused(void **state)
{
    static const struct {
        const char *before;
        size_t nbefore, n;
        const char *error;
    } cases[] = {
        {NOTE(KERNELS "\x91" KERNEL(9, "k", "\x40") ARGS "\xdc\x10\x01"), 4097,
         ".args is no list that can be read"},
        {NOTE(KERNELS "\xdd\x00\x01\x00\x01"), 65537,
         "amdhsa.kernels is no list that can be read"},
        {NOTE(KERNELS "\xdd\x01\x00\x00\x00"), (size_t)1 << 24,
         "the metadata note has 16777237 bytes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t nbytes = cases[i].nbefore + cases[i].n;
        struct codeobj *co = calloc(1, sizeof(*co));
        char error[CODEOBJ_ERROR_MAX] = "";
        char *note = malloc(nbytes);

        assert_true(co && note);
        memset(note, 0xc0, nbytes);
        memcpy(note, cases[i].before, cases[i].nbefore);
        if (amdgpu_metadata_read(co, note, nbytes, error) ||
            !strstr(error, cases[i].error))
            fail_msg("case %zu: %s", i, error);
        free(note);
        codeobj_free(co);
    }
}

/* Optional keys of a kernel, and kinds of arguments. */
static void test_metadata_is_read(void **state)
{
    static const char note[] = KERNELS
        "\x91\x8b\xa5.name\xa1k"
        "\xb5.kernarg_segment_size\x40\xb6.kernarg_segment_align\x08"
        "\xb9.group_segment_fixed_size\x00\xbb.private_segment_fixed_size\x00"
        "\xb8.max_flat_workgroup_size\x40\xab.vgpr_count\x08"
        "\xaf.wavefront_size\x20\xb3.uses_dynamic_stack\xc3" REQD
        "\x93\x10\x02\x01" ARGS "\x95"
        "\x83" OFFSET "\x00" SIZE "\x08" KIND "\xad"
        "global_buffer"
        "\x84\xa5.name\xa1s" OFFSET "\x08" SIZE "\x08" KIND "\xb6"
        "dynamic_shared_pointer"
        "\x83" OFFSET "\x10" SIZE "\x08" KIND "\xa5"
        "image"
        "\x83" OFFSET "\x18" SIZE "\x04" KIND "\xa8"
        "by_value"
        "\x83" OFFSET "\x20" SIZE "\x04" KIND "\xb4"
        "hidden_block_count_x";
    struct codeobj *co = calloc(1, sizeof(*co));
    char error[CODEOBJ_ERROR_MAX] = "";
    const struct codeobj_kernel *k;

    (void)state;
    assert_non_null(co);
    if (!amdgpu_metadata_read(co, note, sizeof(note) - 1, error))
        fail_msg("%s", error);
    assert_int_equal(co->nkernels, 1);
    k = &co->kernels[0];
    assert_int_equal(k->nargs, 4);
    assert_int_equal(k->args[0].kind, KPK_ARG_GLOBAL_BUFFER);
    assert_int_equal(k->args[1].kind, KPK_ARG_DYNAMIC_SHARED_POINTER);
    assert_string_equal(k->args[1].name, "s");
    assert_int_equal(k->args[2].kind, KPK_ARG_OTHER);
    assert_int_equal(k->args[3].kind, KPK_ARG_BY_VALUE);
    assert_int_equal(k->attrs.has_hidden_args, 1);
    assert_int_equal(k->attrs.uses_dynamic_stack, 1);
    assert_int_equal(k->attrs.reqd_block[0], 16);
    assert_int_equal(k->attrs.reqd_block[1], 2);
    assert_int_equal(codeobj_packed_nbytes(k), 28);
    codeobj_free(co);
}

static void test_targets_are_told_from_other_names(void **state)
{
    static const char *const good[] = {
        "gfx942", "gfx90a:xnack+", "gfx90a:sramecc-:xnack-", "gfx11-generic",
        "gfx9-4-generic:sramecc+"};
    static const char *const bad[] = {"",
                                      "gfx",
                                      "gfx942:",
                                      "gfx942:xnack",
                                      "gfx942:xnack?",
                                      "gfx942x",
                                      "gfx942:foo+",
                                      "fx942",
                                      "gfx90a:xnack+:xnack+x"};
    static const char *const nvidia[] = {"sm_90", "sm_90a", "sm_100f",
                                         "compute_80", "compute_120a"};
    static const char *const not_nvidia[] = {"sm_",      "sm_9",   "sm_090",
                                             "sm_9000",  "sm_90b", "sm_90aa",
                                             "compute_", "gfx942", "sm90"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!target_is_amd(good[i]))
            fail_msg("%s is no target", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (target_is_amd(bad[i]))
            fail_msg("'%s' is a target", bad[i]);
    for (size_t i = 0; i < sizeof(nvidia) / sizeof(nvidia[0]); i++)
        if (!target_is_nvidia(nvidia[i]))
            fail_msg("%s is no target of NVIDIA's", nvidia[i]);
    for (size_t i = 0; i < sizeof(not_nvidia) / sizeof(not_nvidia[0]); i++)
        if (target_is_nvidia(not_nvidia[i]))
            fail_msg("'%s' is a target of NVIDIA's", not_nvidia[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_is_the_one_compiled_for),
        cmocka_unit_test(test_vector_add_has_its_abi),
        cmocka_unit_test(test_cut_file_is_refused),
        cmocka_unit_test(test_damaged_file_is_read_safely),
        cmocka_unit_test(test_metadata_that_lies_is_refused),
        cmocka_unit_test(test_metadata_without_bounds_is_refused),
        cmocka_unit_test(test_metadata_is_read),
        cmocka_unit_test(test_targets_are_told_from_other_names),
    };

    return cmocka_run_group_tests_name("codeobj", tests, find_files,
                                       forget_files);
}
