/* test_made.c - the code object reader on what hand-written kernels do, and on
 * files that are wrong in one way each
 *
 * The files are made here (code_object.h); the facts that they imitate are
 * those of AMD's own hand-written kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "base/amdgpu_metadata.h"
#include "base/msgpack_scan.h"
#include "made_code_object.h"
#include "pack/objects_agree.h"
#include "read/codeobj_read.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 64 };

static struct made_arg args[MAX_ARGS];

/* pointer, pointer, u32 in slots: 8 entries with the padding. */
static struct made_object plain_spec(void)
{
    return (struct made_object){.kernel = "_ZN5aiter4tileE",
                                .e_flags = 0x54c,
                                .abi_version = 3,
                                .wave_size = 64,
                                .kernarg_nbytes = 48,
                                .args = args,
                                .nargs = slot_args("ppu", args, MAX_ARGS)};
}

static struct codeobj *read_made(const struct made_object *spec)
{
    char error[CODEOBJ_ERROR_MAX] = "";
    size_t nbytes;
    unsigned char *data = make_object(spec, &nbytes);
    struct codeobj *co = codeobj_parse("made", data, nbytes, error);

    if (!co)
        fail_msg("%s", error);
    free(data);
    return co;
}

static void test_padding_is_listed_as_it_is(void **state)
{
    struct made_object spec = plain_spec();
    struct codeobj *co = read_made(&spec);

    (void)state;
    assert_string_equal(co->target, "gfx942");
    assert_int_equal(co->nkernels, 1);
    assert_int_equal(co->kernels[0].nargs, 8);
    assert_int_equal(co->kernels[0].attrs.kernarg_nbytes, 48);
    assert_int_equal(co->kernels[0].attrs.reqd_block[0], 256);
    assert_string_equal(co->kernels[0].args[1].name, "pad");
    assert_int_equal(co->kernels[0].args[1].size, 8);
    assert_int_equal(co->kernels[0].args[7].offset, 44);
    codeobj_free(co);
}

static void test_versions_and_flags(void **state)
{
    static const struct {
        uint32_t e_flags;
        unsigned abi_version;
        const char *target;
    } cases[] = {
        {0x54c, 2, "gfx942"},
        {0x54c, 3, "gfx942"},
        {0x54c, 4, "gfx942"},
        {0x54f, 3, "gfx950"},
        {0x549, 4, "gfx1250"}, /* bits it has not */
        {0xf4c, 3, "gfx942:sramecc+:xnack+"},
        {0x0100055f, 4, "gfx9-4-generic"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct made_object spec = plain_spec();
        struct codeobj *co;

        spec.e_flags = cases[i].e_flags;
        spec.abi_version = cases[i].abi_version;
        co = read_made(&spec);
        assert_string_equal(co->target, cases[i].target);
        assert_int_equal(co->cov, cases[i].abi_version + 2);
        codeobj_free(co);
    }
}

static void test_list_ends_before_or_behind_the_segment(void **state)
{
    static const uint32_t sizes[] = {0, 36, 48, 80, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct made_object spec = plain_spec();
        struct codeobj *co;

        spec.kernarg_nbytes = sizes[i];
        co = read_made(&spec);
        assert_int_equal(co->kernels[0].attrs.kernarg_nbytes, sizes[i]);
        assert_int_equal(co->kernels[0].nargs, 8);
        codeobj_free(co);
    }
}

/* A kernel without a list of arguments takes a packed buffer of the segment's
 * size. */
static void test_a_segment_without_a_list_is_one_buffer(void **state)
{
    struct made_object spec = plain_spec();
    struct codeobj *co = read_made(&spec), *other;

    (void)state;
    assert_int_equal(codeobj_packed_nbytes(&co->kernels[0]), 48);
    codeobj_free(co);
    spec.nargs = 0;
    spec.kernarg_nbytes = 64;
    co = read_made(&spec);
    assert_int_equal(co->kernels[0].nargs, 0);
    assert_int_equal(codeobj_packed_nbytes(&co->kernels[0]), 64);
    spec.kernarg_nbytes = 80;
    other = read_made(&spec);
    assert_false(objects_alike(co, other));
    assert_false(objects_agree((struct codeobj *[]){co, other}, 2));
    assert_true(objects_agree((struct codeobj *[]){co, co}, 2));
    codeobj_free(co);
    codeobj_free(other);
}

static void test_arguments_without_names(void **state)
{
    struct made_object spec = plain_spec();
    struct codeobj *co;

    (void)state;
    for (size_t i = 0; i < spec.nargs; i++)
        args[i].name = NULL;
    co = read_made(&spec);
    assert_string_equal(co->kernels[0].args[0].name, "");
    codeobj_free(co);
}

static void test_file_cut_at_any_byte_is_refused(void **state)
{
    struct made_object spec = plain_spec();
    size_t nbytes;
    unsigned char *data = make_object(&spec, &nbytes);

    (void)state;
    for (size_t n = 0; n < nbytes; n++) {
        char error[CODEOBJ_ERROR_MAX] = "";
        struct codeobj *co = codeobj_parse("cut", data, n, error);

        if (co || !*error)
            fail_msg("cut to %zu of %zu bytes: accepted", n, nbytes);
    }
    free(data);
}

/* ---- one wrong thing each ------------------------------------------------ */

#define EHDR(member) offsetof(Elf64_Ehdr, member)
#define PHDR(i, member)                                                        \
    sizeof(Elf64_Ehdr) + (i) * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, member)

static const struct wrong {
    const char *what;
    size_t at;
    int nbytes;
    uint64_t value;
    const char *says;
} wrongs[] = {
    {"32 bits", EI_CLASS, 1, ELFCLASS32, "not for AMDGPU"},
    {"big-endian", EI_DATA, 1, ELFDATA2MSB, "not for AMDGPU"},
    {"x86-64", EHDR(e_machine), 2, EM_X86_64, "machine 62"},
    {"another OS ABI", EI_OSABI, 1, 0, "not a linked code object"},
    {"not linked", EHDR(e_type), 2, ET_REL, "not a linked code object"},
    {"version 2", EI_ABIVERSION, 1, 0, "unknown code object version"},
    {"a later version", EI_ABIVERSION, 1, 5, "unknown code object version"},
    {"no processor", EHDR(e_flags), 4, 0x5ff, "unknown processor 0xff"},
    {"a feature not had", EHDR(e_flags), 4, 0x341, "no such feature"},
    {"old generic", EHDR(e_flags), 4, 0x54, "wants 6"},
    {"no segments", EHDR(e_phnum), 2, 0, "no segment to load"},
    {"segments beyond the end", EHDR(e_phoff), 8, 1 << 30, ""},
    {"many segments", EHDR(e_phnum), 2, 0xfffe, ""},
    {"nothing loaded", PHDR(0, p_type), 4, PT_NOTE, "no segment to load"},
    {"a segment beyond the end", PHDR(0, p_filesz), 8, 1 << 30, "truncated"},
    {"a segment that wraps", PHDR(0, p_offset), 8, UINT64_MAX, "truncated"},
    {"less memory than file", PHDR(0, p_memsz), 8, 1, "of a size that cannot"},
    {"too much memory", PHDR(0, p_memsz), 8, UINT64_MAX, "of a size that"},
    {"two that overlap", PHDR(1, p_type), 4, PT_LOAD, "overlaps"},
    {"no note", PHDR(1, p_type), 4, PT_NULL, "no AMDGPU metadata note"},
    {"a note beyond the end", PHDR(1, p_offset), 8, 1 << 30, "truncated"},
    {"a cut note", PHDR(1, p_filesz), 8, 100, "no AMDGPU metadata note"},
    {"sections beyond the end", EHDR(e_shoff), 8, 1 << 30, ""},
    {"no sections", EHDR(e_shnum), 2, 0, ""},
    {"many sections", EHDR(e_shnum), 2, 0xfeff, ""},
};

static void test_one_wrong_number_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        const struct wrong *w = &wrongs[i];
        char error[CODEOBJ_ERROR_MAX] = "";
        struct made_object spec = plain_spec();
        size_t nbytes;
        unsigned char *data = make_object(&spec, &nbytes);
        struct codeobj *co;

        memcpy(data + w->at, &w->value, (size_t)w->nbytes);
        co = codeobj_parse("wrong", data, nbytes, error);
        if (co || !*error || !strstr(error, w->says))
            fail_msg("%s: want \"%s\", got \"%s\"", w->what, w->says,
                     co ? "a code object" : error);
        free(data);
    }
}

/* Overlapping sections are read within their bounds, or refused. */
static void test_overlapping_sections_are_read_safely(void **state)
{
    struct made_object spec = plain_spec();
    size_t nbytes;
    unsigned char *data = make_object(&spec, &nbytes);
    Elf64_Ehdr e;
    Elf64_Shdr h[7];

    (void)state;
    memcpy(&e, data, sizeof(e));
    memcpy(h, data + e.e_shoff, sizeof(h));
    for (int i = 1; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            Elf64_Shdr over = h[i];
            char error[CODEOBJ_ERROR_MAX] = "";

            over.sh_offset = h[j].sh_offset;
            over.sh_size = nbytes - h[j].sh_offset;
            over.sh_link = (uint32_t)j;
            memcpy(data + e.e_shoff + (size_t)i * sizeof(over), &over,
                   sizeof(over));
            codeobj_free(codeobj_parse("over", data, nbytes, error));
            memcpy(data + e.e_shoff, h, sizeof(h));
        }
    free(data);
}

static void test_arguments_that_cannot_be(void **state)
{
    static const struct {
        struct made_arg arg;
        const char *says;
    } cases[] = {
        {{"x", 4, 8, NULL}, "overlaps"},
        {{"x", UINT32_MAX, 8, NULL}, "past any argument segment"},
        {{"x", 16, UINT32_MAX, NULL}, "past any argument segment"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[CODEOBJ_ERROR_MAX] = "";
        struct made_object spec = plain_spec();
        unsigned char *data;
        size_t nbytes;

        args[1] = cases[i].arg;
        spec.nargs = 2;
        data = make_object(&spec, &nbytes);
        assert_null(codeobj_parse("args", data, nbytes, error));
        if (!strstr(error, cases[i].says))
            fail_msg("want \"%s\", got \"%s\"", cases[i].says, error);
        free(data);
    }
}

/* ---- the note's msgpack -------------------------------------------------- */

static void test_msgpack_is_whole_and_shallow(void **state)
{
    static const struct {
        const char *data;
        size_t nbytes;
        bool whole;
    } cases[] = {
        {"", 0, false},
        {"\x00", 1, true},
        {"\xc1", 1, false},
        {"\x80", 1, true},
        {"\x81\xa1", 2, false},
        {"\x81\xa1k\x01", 4, true},
        {"\xdd\xff\xff\xff\xff", 5, false},
        {"\xdf\x80\x00\x00\x00", 5, false},
        {"\xdc\x00\x03\x01\x02", 5, false},
        {"\xdb\xff\xff\xff\xff", 5, false},
        {"\xc9\xff\xff\xff\xff\x00", 6, false},
        {"\xd8\x00", 2, false},
        {"\xcf\x00\x00\x00\x00\x00\x00\x00", 8, false},
        {"\x93\x91\x91\xc0\xc2\xca\x00\x00\x00\x00", 10, true},
    };
    char deep[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (msgpack_scan(cases[i].data, cases[i].nbytes) != cases[i].whole)
            fail_msg("case %zu: wanted %d", i, cases[i].whole);
    for (size_t depth = 1; depth < sizeof(deep); depth++) {
        memset(deep, 0x91, sizeof(deep));
        deep[depth] = 0;
        assert_int_equal(msgpack_scan(deep, depth + 1), depth < 16);
    }
}

static void test_two_kernels_of_one_name_are_refused(void **state)
{
    struct made_object spec = plain_spec();
    size_t nbytes;
    unsigned char *data, *note, *twice;
    char error[CODEOBJ_ERROR_MAX] = "";
    struct codeobj *co = calloc(1, sizeof(*co));
    size_t n;

    (void)state;
    assert_non_null(co);
    spec.nargs = 0;
    data = make_object(&spec, &nbytes);
    note = data;
    while (memcmp(note, "amdhsa.kernels", 14) != 0)
        note++;
    n = (size_t)(note - data) - 2; /* the map's and the string's first bytes */
    note = data + n;
    n = 0;
    while (memcmp(note + n,
                  "\xae"
                  "amdhsa.version",
                  15) != 0)
        n++;
    assert_true(n > 17);
    twice = malloc(2 * n + 1);
    assert_non_null(twice);
    /* {"amdhsa.kernels": [K, K]} of {"amdhsa.kernels": [K], ... */
    memcpy(twice, note, n);
    memcpy(twice + n, note + 17, n - 17);
    twice[0] = 0x81;
    twice[16] = 0x92;
    assert_false(amdgpu_metadata_read(co, twice, 2 * n - 17, error));
    assert_non_null(strstr(error, "two kernels are called"));
    free(twice);
    free(data);
    codeobj_free(co);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padding_is_listed_as_it_is),
        cmocka_unit_test(test_versions_and_flags),
        cmocka_unit_test(test_list_ends_before_or_behind_the_segment),
        cmocka_unit_test(test_a_segment_without_a_list_is_one_buffer),
        cmocka_unit_test(test_arguments_without_names),
        cmocka_unit_test(test_file_cut_at_any_byte_is_refused),
        cmocka_unit_test(test_one_wrong_number_is_refused),
        cmocka_unit_test(test_overlapping_sections_are_read_safely),
        cmocka_unit_test(test_arguments_that_cannot_be),
        cmocka_unit_test(test_msgpack_is_whole_and_shallow),
        cmocka_unit_test(test_two_kernels_of_one_name_are_refused),
    };

    return cmocka_run_group_tests_name("made", tests, NULL, NULL);
}
