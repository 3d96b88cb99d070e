/* test_nvidia.c - the readers of cubins and PTX, on good and damaged files */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "made_cubin.h"
#include "read/codeobj_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct made_param params[] = {{0, 8}, {8, 8}, {16, 2}, {20, 4}};
static const struct made_cubin plain = {.kernel = "scale",
                                        .sm = 90,
                                        .release = 130,
                                        .params = params,
                                        .nparams = COUNT(params),
                                        .param_nbytes = 24,
                                        .registers = 32,
                                        .stack_nbytes = 16,
                                        .shared_nbytes = 0x458};

static struct codeobj *parse(const void *data, size_t nbytes,
                             char error[CODEOBJ_ERROR_MAX])
{
    error[0] = '\0';
    return codeobj_parse("made", data, nbytes, error);
}

static struct codeobj *read_made(const struct made_cubin *spec)
{
    char error[CODEOBJ_ERROR_MAX];
    size_t nbytes;
    unsigned char *data = make_cubin(spec, &nbytes);
    struct codeobj *co = parse(data, nbytes, error);

    free(data);
    if (!co)
        fail_msg("a cubin is refused: %s", error);
    return co;
}

static void refuse_made(const struct made_cubin *spec, const char *says)
{
    char error[CODEOBJ_ERROR_MAX];
    size_t nbytes;
    unsigned char *data = make_cubin(spec, &nbytes);
    struct codeobj *co = parse(data, nbytes, error);

    free(data);
    assert_null(co);
    if (!strstr(error, says))
        fail_msg("wanted \"%s\", got \"%s\"", says, error);
}

static void test_cubin_tells_target_release_and_parameters(void **state)
{
    struct codeobj *co = read_made(&plain);
    const struct codeobj_kernel *k = &co->kernels[0];

    (void)state;
    assert_string_equal(co->target, "sm_90");
    assert_int_equal(co->cov, 130);
    assert_int_equal(co->nkernels, 1);
    assert_string_equal(k->name, "scale");
    assert_int_equal(k->nargs, COUNT(params));
    for (size_t i = 0; i < COUNT(params); i++) {
        assert_int_equal(k->args[i].offset, params[i].offset);
        assert_int_equal(k->args[i].size, params[i].nbytes);
        assert_int_equal(k->args[i].kind, KPK_ARG_UNKNOWN);
    }
    assert_int_equal(k->attrs.kernarg_nbytes, 24);
    assert_int_equal(k->attrs.vgprs, 32);
    assert_int_equal(k->attrs.scratch_nbytes, 16);
    assert_int_equal(k->attrs.lds_nbytes, 0x58); /* without the reserved part */
    assert_int_equal(k->attrs.max_block, 1024);
    assert_int_equal(k->attrs.wave_size, 32);
    assert_int_equal(k->attrs.waits, 0);
    codeobj_free(co);
}

static void test_cubin_tells_whether_a_kernel_waits(void **state)
{
    struct made_cubin spec = plain;
    struct codeobj *co;

    (void)state;
    spec.waits = true;
    co = read_made(&spec);
    assert_int_equal(co->kernels[0].attrs.waits, 1);
    codeobj_free(co);
}

/* As nvcc 13 lists a kernel's (struct of 6000 bytes, pointer). */
static void test_cubin_tells_parameters_beyond_4_KiB(void **state)
{
    static const struct made_param large[] = {{0, 6000}, {6000, 8}};
    struct made_cubin spec = plain;
    struct codeobj *co;

    (void)state;
    spec.large_params = true;
    spec.params = large;
    spec.nparams = COUNT(large);
    spec.param_nbytes = 6008;
    co = read_made(&spec);
    assert_int_equal(co->kernels[0].nargs, COUNT(large));
    for (size_t i = 0; i < COUNT(large); i++) {
        assert_int_equal(co->kernels[0].args[i].offset, large[i].offset);
        assert_int_equal(co->kernels[0].args[i].size, large[i].nbytes);
    }
    assert_int_equal(co->kernels[0].attrs.kernarg_nbytes, 6008);
    codeobj_free(co);
    spec.param_nbytes = 6007;
    refuse_made(&spec, "more than the kernel takes: scale");
}

static void test_cubin_of_cuda_12_and_sm_80(void **state)
{
    struct made_cubin spec = plain;
    struct codeobj *co;

    (void)state;
    spec.before_13 = true;
    spec.sm = 80;
    spec.release = 124;
    co = read_made(&spec);
    assert_string_equal(co->target, "sm_80");
    assert_int_equal(co->cov, 124);
    assert_int_equal(co->kernels[0].attrs.lds_nbytes, 0x458);
    codeobj_free(co);
    spec.sm = 90;
    spec.accelerators = true;
    co = read_made(&spec);
    assert_string_equal(co->target, "sm_90a");
    assert_false(codeobj_take_target(co, "sm_90f"));
    assert_true(codeobj_take_target(co, "sm_90a"));
    codeobj_free(co);
    spec.sm = 89; /* not the only one of its major version */
    co = read_made(&spec);
    assert_string_equal(co->target, "sm_89a");
    assert_false(codeobj_take_target(co, "sm_89"));
    codeobj_free(co);
}

/* nvcc -G leaves functions to be called. */
static void test_cubin_counts_the_stack_of_what_is_called(void **state)
{
    struct made_cubin spec = plain;
    struct codeobj *co;

    (void)state;
    spec.calls_stack_nbytes = 56;
    co = read_made(&spec);
    assert_int_equal(co->kernels[0].attrs.lds_nbytes, 0x58);
    assert_int_equal(co->kernels[0].attrs.scratch_nbytes, 56);
    assert_int_equal(co->kernels[0].attrs.uses_dynamic_stack, 0);
    codeobj_free(co);
    spec.sm = 80;
    spec.calls_stack_nbytes = 8; /* below the kernel's own */
    co = read_made(&spec);
    assert_int_equal(co->kernels[0].attrs.lds_nbytes, 0x458);
    assert_int_equal(co->kernels[0].attrs.scratch_nbytes, 16);
    codeobj_free(co);
    spec.calls_stack_nbytes = UINT32_MAX; /* it calls itself */
    co = read_made(&spec);
    assert_int_equal(co->kernels[0].attrs.scratch_nbytes, 16);
    assert_int_equal(co->kernels[0].attrs.uses_dynamic_stack, 1);
    codeobj_free(co);
}

static void test_cubin_has_the_kernels_that_a_host_can_name(void **state)
{
    struct made_cubin spec = plain;
    struct codeobj *co;

    (void)state;
    spec.is = MADE_WEAK_KERNEL; /* an instance of a template */
    co = read_made(&spec);
    assert_int_equal(co->nkernels, 1);
    codeobj_free(co);
    spec.is = MADE_DEVICE_FUNCTION;
    refuse_made(&spec, "no kernels");
}

/* The header has the number alone; the assembler's options tell the rest. */
static void test_cubin_tells_its_suffix(void **state)
{
    static const struct {
        const char *options, *target;
        const char *fits, *does_not; /* labels */
    } cases[] = {
        {NULL, "sm_90", "sm_90a", "sm_80"},
        {"ptxas", "sm_90", "sm_90f", "compute_90"},
        {"x\0-arch sm_90 -m 64", "sm_90", "sm_90f", "sm_900"},
        {"-arch sm_90 -m 64 ", "sm_90", "sm_90", "sm_90a"},
        {"-arch sm_90a -m 64 ", "sm_90a", "sm_90a", "sm_80"},
        {"-arch sm_90a", "sm_90a", "sm_90", "sm_90f"}, /* no other 9.x */
        {"-m 64 -arch sm_90a", "sm_90a", "sm_90a", "sm_90f"},
        {"-arch sm_90f", "sm_90f", "sm_90f", "sm_90a"},
        {"-arch sm_900 ", "sm_90", "sm_90a", "sm_90aa"}, /* another number */
        {"-arch sm_9", "sm_90", "sm_90a", "sm_9"},
        {"-arch sm_80a ", "sm_90", "sm_90a", "sm_90b"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct made_cubin spec = plain;
        struct codeobj *co;

        spec.options = cases[i].options;
        co = read_made(&spec);
        assert_string_equal(co->target, cases[i].target);
        assert_false(codeobj_take_target(co, cases[i].does_not));
        assert_string_equal(co->target, cases[i].target);
        assert_true(codeobj_take_target(co, cases[i].fits));
        assert_string_equal(co->target, cases[i].fits);
        codeobj_free(co);
    }
}

/* 65536 registers of a multiprocessor, and what __launch_bounds__ says. */
static void test_cubin_bounds_the_block(void **state)
{
    static const struct {
        uint32_t registers, max_threads, reqd, max_block;
    } cases[] = {{128, 0, 0, 512}, {32, 256, 0, 256}, {255, 1024, 0, 256},
                 {65, 0, 0, 896},  {64, 0, 0, 1024},  {32, 0, 64, 64},
                 {0, 0, 0, 1024}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct made_cubin spec = plain;
        struct codeobj *co;

        spec.registers = cases[i].registers;
        spec.max_threads[0] = cases[i].max_threads;
        spec.reqd_block[0] = cases[i].reqd;
        for (int d = 1; d < 3; d++)
            spec.max_threads[d] = spec.reqd_block[d] = 1;
        co = read_made(&spec);
        assert_int_equal(co->kernels[0].attrs.max_block, cases[i].max_block);
        assert_int_equal(co->kernels[0].attrs.reqd_block[0], cases[i].reqd);
        codeobj_free(co);
    }
}

static void test_cubin_refuses_parameters_that_cannot_be(void **state)
{
    static const struct made_param overlapping[] = {{0, 8}, {4, 8}};
    static const struct made_param empty[] = {{0, 0}};
    struct made_cubin spec = plain;

    (void)state;
    spec.param_nbytes = 23;
    refuse_made(&spec, "more than the kernel takes: scale");
    spec = plain;
    spec.params = overlapping;
    spec.nparams = COUNT(overlapping);
    refuse_made(&spec, "gaps or overlap: scale");
    spec.params = empty;
    spec.nparams = COUNT(empty);
    refuse_made(&spec, "gaps or overlap: scale");
    spec = plain;
    spec.extra_tag = 0x45;
    refuse_made(&spec, "a short record of a parameter of scale");
}

/* Whatever is cut off or flipped: refused, or read without a fault. */
static void test_cubin_damage_is_survived(void **state)
{
    char error[CODEOBJ_ERROR_MAX];
    size_t nbytes;
    unsigned char *good = make_cubin(&plain, &nbytes);
    unsigned char *bad = malloc(nbytes);
    uint32_t seed = 1;

    (void)state;
    assert_non_null(bad);
    for (size_t n = 0; n < nbytes; n++)
        assert_null(parse(good, n, error));
    for (int i = 0; i < 20000; i++) {
        memcpy(bad, good, nbytes);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            bad[(seed >> 8) % nbytes] ^= (unsigned char)(1u << (seed & 7));
        }
        codeobj_free(parse(bad, nbytes, error));
    }
    free(bad);
    free(good);
}

static const char ptx[] =
    "// made\n.version 7.8\n.target sm_90a, texmode_independent\n"
    ".address_size 64\n/* .entry not_me */\n"
    ".file 1 \"a.cu .entry nor_me { \"\n"
    ".visible .func (.param .b32 r) helper(.param .b32 x)\n{ ret; }\n"
    ".visible .entry scale(\n"
    "\t.param .u64 .ptr .global .align 1 scale_param_0,\n"
    "\t.param .align 8 .b8 scale_param_1[24],\n"
    "\t.param .u8 scale_param_2,\n"
    "\t.param .f64 scale_param_3\n)\n"
    ".maxntid 256, 2, 1\n.minnctapersm 2\n{\n\t{ griddepcontrol.wait; }\n}\n"
    ".visible .entry empty()\n.reqntid 64\n{ ret; }\n";

static void test_ptx_tells_target_version_and_parameters(void **state)
{
    static const struct codeobj_arg wanted[] = {
        {NULL, 0, 8, KPK_ARG_GLOBAL_BUFFER},
        {NULL, 8, 24, KPK_ARG_BY_VALUE},
        {NULL, 32, 1, KPK_ARG_UNKNOWN},
        {NULL, 40, 8, KPK_ARG_UNKNOWN}};
    char error[CODEOBJ_ERROR_MAX];
    struct codeobj *co = parse(ptx, sizeof(ptx) - 1, error);
    const struct codeobj_kernel *k;

    (void)state;
    assert_string_equal(error, "");
    assert_non_null(co);
    assert_string_equal(co->target, "compute_90a");
    assert_int_equal(co->cov, 78);
    assert_int_equal(co->nkernels, 2);
    assert_string_equal(co->kernels[0].name, "empty");
    assert_int_equal(co->kernels[0].nargs, 0);
    assert_int_equal(co->kernels[0].attrs.reqd_block[0], 64);
    assert_int_equal(co->kernels[0].attrs.max_block, 64);
    assert_int_equal(co->kernels[0].attrs.waits, 0);
    k = &co->kernels[1];
    assert_string_equal(k->name, "scale");
    assert_int_equal(k->attrs.max_block, 512);
    assert_int_equal(k->attrs.waits, 1);
    assert_int_equal(k->attrs.kernarg_nbytes, 48);
    assert_int_equal(k->nargs, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_int_equal(k->args[i].offset, wanted[i].offset);
        assert_int_equal(k->args[i].size, wanted[i].size);
        assert_int_equal(k->args[i].kind, wanted[i].kind);
    }
    codeobj_free(co);
}

#define PTX ".version 7.8\n.target sm_80\n"

static void test_ptx_refuses_what_is_none(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {".version 7.8\n.target sm_80\n", "no .entry"},
        {".version 7.8\n.entry a() { }", "no .target"},
        {".version seven\n", "no version"},
        {".version 7.8\n.target gfx942\n", "no target"},
        {".version 7.8\n.target sm_80\n.entry a(", "truncated"},
        {".version 7.8\n.target sm_80\n.entry a() { {", "truncated"},
        {".version 7.8\n.target sm_80\n.entry a();", "without a body"},
        {".version 7.8\n.target sm_80\n.entry a(.param x) { }", "a type"},
        {".version 7.8\n.target sm_80\n.entry a(.param .b8 x[0]) { }",
         "a type"},
        {".version 7.8\n.target sm_80\n.entry a(.param .b8 x[-1]) { }",
         "too large"},
        {".version 7.8\n.target sm_80\n.entry a() {}\n.entry a() {}",
         "two entries of one name"},
        {".version 100.0\n", "no version"},
        {".version 7.\n", "no version"},
        {".version 7.88\n", "no version"},
        {".version 78\n", "no version"},
        {".version", "no version"},
        {".version 7.8\n.target", "no target"},
        {".version 7.8\n.target sm_90 .target sm_1234567", "no target"},
        {".version 7.8\n.target sm_9", "a target that is none"},
        {PTX ".entry", "the file ends at an entry"},
        {PTX ".entry a", "the file ends at an entry"},
        {PTX ".entry a(.param .b8 x,", "the file ends at an entry"},
        {PTX ".entry a(x) { }", "no parameter"},
        {PTX ".entry a(.param .align x .b8 y) { }", "no number"},
        {PTX ".entry a(.param .align", "the file ends"},
        {PTX ".entry a(.param .align 4097 .b8 y) { }", "too large"},
        {PTX ".entry a(.param .b8 x[1} { }", "a damaged parameter"},
        {PTX ".entry a(.param .b8 x[1", "a damaged parameter"},
        {PTX ".entry a(.param .b128 x) { }", "a type"},
        {PTX ".entry a(.param .x8 x) { }", "a type"},
        {PTX ".entry a(.param . x) { }", "a type"},
        {PTX ".entry a() .maxntid 1, 2, 3, 4 { }",
         "more than three dimensions"},
        {PTX ".entry a() .maxntid x { }", "no number"},
        {PTX ".entry a() .reqntid 1048577 { }", "too large"},
        {PTX ".entry a() .reqntid 64", "without a body"},
        {PTX ".func f() { \"unended", "truncated: the file ends within"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char error[CODEOBJ_ERROR_MAX];

        assert_null(parse(cases[i].text, strlen(cases[i].text), error));
        if (!strstr(error, cases[i].says))
            fail_msg("case %zu: wanted \"%s\", got \"%s\"", i, cases[i].says,
                     error);
    }
}

/* More parameters than any kernel has, a byte that no text has, and a word that
 * is longer than any is read in pieces. */
static void test_ptx_without_bounds_is_refused(void **state)
{
    enum { N = 5000 };
    char error[CODEOBJ_ERROR_MAX], *text = NULL;
    struct codeobj *co;
    size_t nbytes;
    FILE *f = open_memstream(&text, &nbytes);

    (void)state;
    assert_non_null(f);
    fputs(PTX ".entry a(.param .b8 p", f);
    for (int i = 0; i < N; i++)
        fputs(", .param .b8 p", f);
    fputs(") { }", f);
    assert_int_equal(fclose(f), 0);
    assert_null(parse(text, nbytes, error));
    assert_non_null(strstr(error, "too many parameters"));
    text[nbytes - 1] = '\0';
    assert_null(parse(text, nbytes, error));
    assert_non_null(strstr(error, "a byte 0 in the text"));
    free(text);
    f = open_memstream(&text, &nbytes);
    assert_non_null(f);
    fprintf(f, PTX "%05000d .entry a() { }", 0);
    assert_int_equal(fclose(f), 0);
    co = parse(text, nbytes, error);
    assert_non_null(co);
    assert_int_equal(co->nkernels, 1);
    codeobj_free(co);
    free(text);
}

static void test_ptx_cut_anywhere_is_survived(void **state)
{
    char error[CODEOBJ_ERROR_MAX];

    (void)state;
    /* Without its last line end the text is still whole. */
    for (size_t n = 0; n < sizeof(ptx) - 2; n++) {
        struct codeobj *co = parse(ptx, n, error);

        /* Whole up to the first entry's end, it is a file of one kernel. */
        assert_true(!co || co->nkernels == 1);
        codeobj_free(co);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cubin_tells_target_release_and_parameters),
        cmocka_unit_test(test_cubin_tells_whether_a_kernel_waits),
        cmocka_unit_test(test_cubin_tells_parameters_beyond_4_KiB),
        cmocka_unit_test(test_cubin_of_cuda_12_and_sm_80),
        cmocka_unit_test(test_cubin_counts_the_stack_of_what_is_called),
        cmocka_unit_test(test_cubin_has_the_kernels_that_a_host_can_name),
        cmocka_unit_test(test_cubin_tells_its_suffix),
        cmocka_unit_test(test_cubin_bounds_the_block),
        cmocka_unit_test(test_cubin_refuses_parameters_that_cannot_be),
        cmocka_unit_test(test_cubin_damage_is_survived),
        cmocka_unit_test(test_ptx_tells_target_version_and_parameters),
        cmocka_unit_test(test_ptx_refuses_what_is_none),
        cmocka_unit_test(test_ptx_without_bounds_is_refused),
        cmocka_unit_test(test_ptx_cut_anywhere_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
