/* test_second_names.c - second names in a small object, and in damaged ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "named_object.h"
#include "scratch.h"
#include "write/second_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file rewritten by second_names_write() with some rules; NULL and an error
 * if it refuses. */
static char *run(const void *file, size_t nbytes, const char *rules,
                 size_t *out_nbytes, char error[SECOND_NAMES_ERROR_MAX])
{
    char path[SCRATCH_PATH_MAX];
    const int fd = scratch_file(path);
    char why[CSV_ERROR_MAX];
    struct csv *csv = csv_parse("a.csv", rules, strlen(rules), why);
    char *text;
    FILE *f;
    bool ok;

    assert_non_null(csv);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file, nbytes), nbytes);
    (void)close(fd);
    *error = '\0';
    f = tmpfile(); /* it is written from its beginning again at last */
    assert_non_null(f);
    ok = second_names_write(f, path, "m", csv, error);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *out_nbytes = (size_t)ftell(f);
    text = malloc(*out_nbytes + 1);
    assert_non_null(text);
    rewind(f);
    assert_int_equal(fread(text, 1, *out_nbytes, f), *out_nbytes);
    assert_int_equal(fclose(f), 0);
    (void)remove(path);
    csv_free(csv);
    if (ok)
        return text;
    free(text);
    return NULL;
}

static void test_a_second_name_has_symbols_and_metadata(void **state)
{
    char error[SECOND_NAMES_ERROR_MAX];
    struct named_object o;
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    Elf64_Sym symbols[5];
    const char *names, *note;
    Elf64_Nhdr head;
    size_t nbytes;
    char *got;

    (void)state;
    named_object(&o);
    got = run(&o, sizeof(o), "module,text,alias\nm,k,zz\n", &nbytes, error);
    if (!got)
        fail_msg("%s", error);
    memcpy(&header, got, sizeof(header));
    assert_int_equal(header.e_shoff + sizeof(sections), nbytes);
    memcpy(sections, got + header.e_shoff, sizeof(sections));
    assert_int_equal(sections[2].sh_size, sizeof(symbols));
    memcpy(symbols, got + sections[2].sh_offset, sizeof(symbols));
    names = got + sections[3].sh_offset;
    assert_string_equal(names + symbols[3].st_name, "zz");
    assert_string_equal(names + symbols[4].st_name, "zz.kd");
    assert_int_equal(symbols[3].st_value, 5);
    assert_int_equal(symbols[4].st_value, 6);
    note = got + sections[1].sh_offset;
    memcpy(&head, note, sizeof(head));
    assert_memory_equal(note + sizeof(head) + 8,
                        "\x82" KERNELS_KEY "\x92" KERNEL_K
                        "\x82\xa5.name\xa2zz\xa7.symbol\xa5zz.kd"
                        "\xa1x\x01",
                        head.n_descsz);
    free(got);
}

static void test_without_a_name_the_file_is_as_it_was(void **state)
{
    char error[SECOND_NAMES_ERROR_MAX];
    struct named_object o;
    size_t nbytes;
    char *got;

    (void)state;
    named_object(&o);
    got = run(&o, sizeof(o), "module,text,alias\nother,k,z\n", &nbytes, error);
    assert_non_null(got);
    assert_int_equal(nbytes, sizeof(o));
    assert_memory_equal(got, &o, sizeof(o));
    free(got);
    SET_METADATA(&o, "\x81" KERNELS_KEY "\x05"); /* no list: no kernels */
    got = run(&o, sizeof(o), "module,text,alias\n*,k,z\n", &nbytes, error);
    assert_non_null(got);
    free(got);
}

/* A kernel's name that there is no room for. */
static void set_long_name(struct named_object *o)
{
    static const char head[] =
        "\x81" KERNELS_KEY "\x91\x81\xa5.name\xda\x02\x00";
    char data[sizeof(head) - 1 + 512];

    memset(data, '0', sizeof(data));
    memcpy(data, head, sizeof(head) - 1);
    data[sizeof(head) - 1] = 'k';
    set_metadata(o, data, sizeof(data));
}

/* A change to the good object, and its error message. */
#define DAMAGES(X)                                                             \
    X(o.header.e_ident[1] = 'F', "not a relocatable object for AMDGPU")        \
    X(o.header.e_ident[EI_CLASS] = ELFCLASS32, "not a relocatable object")     \
    X(o.header.e_ident[EI_DATA] = ELFDATA2MSB, "not a relocatable object")     \
    X(o.header.e_type = ET_DYN, "not a relocatable object")                    \
    X(o.header.e_machine = EM_X86_64, "not a relocatable object")              \
    X(o.header.e_shentsize = 40, "its section headers lie outside the file")   \
    X(o.header.e_shnum = 0, "its section headers lie outside the file")        \
    X(o.header.e_shoff = sizeof(o) - 8, "headers lie outside the file")        \
    X(o.header.e_shoff = UINT64_MAX, "headers lie outside the file")           \
    X(o.sections[3].sh_size = sizeof(o), "section 3 lies outside the file")    \
    X(o.sections[1].sh_type = SHT_PROGBITS, "no symbols, or no AMDGPU")        \
    X(o.sections[2].sh_type = SHT_PROGBITS, "no symbols, or no AMDGPU")        \
    X(o.sections[2].sh_link = 4, "its symbols have no strings")                \
    X((o.sections[3].sh_type = SHT_NOBITS,                                     \
       o.sections[3].sh_offset = UINT64_C(1) << 40),                           \
      "its symbols have no strings")                                           \
    X(o.sections[2].sh_link = 1, "its symbols have no strings")                \
    X(o.sections[1].sh_size = 8, "no symbols, or no AMDGPU metadata note")     \
    X(o.note.head.n_namesz = 4096, "no AMDGPU metadata note")                  \
    X(o.note.head.n_descsz = 4096, "no AMDGPU metadata note")                  \
    X(o.note.head.n_type = 1, "no AMDGPU metadata note")                       \
    X((o.note.head.n_type = 1, o.note.head.n_descsz = 3,                       \
       o.sections[1].sh_size = 23),                                            \
      "no AMDGPU metadata note")                                               \
    X(o.note.head.n_namesz = 6, "no AMDGPU metadata note")                     \
    X(o.note.name[0] = 'B', "no AMDGPU metadata note")                         \
    X(o.note.data[0] = '\xc1', "the metadata note is not a msgpack map")       \
    X(o.note.head.n_descsz = 5, "the metadata note is not a msgpack map")      \
    X(SET_METADATA(&o, "\x81" KERNELS_KEY "\x91\x05"),                         \
      "a kernel without a name")                                               \
    X(SET_METADATA(&o, "\x81" KERNELS_KEY "\x91\x81\xa5.name\x05"),            \
      "a kernel without a name")                                               \
    X(SET_METADATA(&o,                                                         \
                   "\x81" KERNELS_KEY "\x92" KERNEL_K "\x81\xa5.name\xa1z"),   \
      "alias z of k is taken by z (a.csv)")                                    \
    X(SET_METADATA(&o, "\x81" KERNELS_KEY "\x92" KERNEL_K KERNEL_K),           \
      "alias z of k is taken by k")                                            \
    X(SET_METADATA(&o, "\x81" KERNELS_KEY "\x92\x80" KERNEL_K),                \
      "a kernel without a name")                                               \
    X(SET_METADATA(&o, "\x81" KERNELS_KEY "\x91\x81\xa5.name\xa3k\0k"),        \
      "the name of kernel k has a zero byte or 512 bytes")                     \
    X(set_long_name(&o), "the name of kernel k0000000000000000")               \
    X(o.symbols[1].st_shndx = SHN_UNDEF, "kernel k has no symbol k")           \
    X(o.symbols[1].st_name = 4096, "kernel k has no symbol k")                 \
    X(o.symbols[1].st_name = NAMED_ROOM - 1, "kernel k has no symbol k")       \
    X(o.names[1] = 'j', "kernel k has no symbol k")                            \
    X(o.names[7] = 'x', "kernel k has no symbol k.kd")                         \
    X(o.sections[2].sh_size = 8, "kernel k has no symbol k")

static void test_damaged_objects_are_refused(void **state)
{
    char error[SECOND_NAMES_ERROR_MAX];
    struct named_object o;
    size_t nbytes;
    char *got;

    (void)state;
#define X(damage, wanted)                                                      \
    named_object(&o);                                                          \
    damage;                                                                    \
    got = run(&o, sizeof(o), "module,text,alias\n*,k,z\n", &nbytes, error);    \
    if (got || !strstr(error, wanted))                                         \
        fail_msg("%s: %s", #damage, got ? "accepted" : error);
    DAMAGES(X)
#undef X
    named_object(&o);
    for (size_t n = 0; n < sizeof(o); n++) {
        got = run(&o, n, "module,text,alias\n*,k,z\n", &nbytes, error);
        if (got || !*error)
            fail_msg("cut to %zu bytes: accepted", n);
    }
}

static void test_other_files_are_refused(void **state)
{
    char error[SECOND_NAMES_ERROR_MAX];
    struct named_object o;
    size_t nbytes;

    (void)state;
    named_object(&o);
    assert_null(run(&o, sizeof(o), "module,text\nm,k\n", &nbytes, error));
    assert_string_equal(error,
                        "a.csv:1: wants the columns module, text and alias");
}

/* A note of someone else's comes first. */
static void test_the_metadata_is_found_behind_other_notes(void **state)
{
    static const char other[] = "\4\0\0\0\2\0\0\0\1\0\0\0GNU\0ab\0";
    char error[SECOND_NAMES_ERROR_MAX];
    struct named_object o, changed;
    size_t nbytes, n;
    char *got;

    (void)state;
    named_object(&o);
    changed = o;
    n = o.sections[1].sh_size;
    memcpy(&changed.note, other, sizeof(other) - 1 + 1);
    memcpy((char *)&changed.note + 20, &o.note, n);
    changed.sections[1].sh_size = n + 20;
    got = run(&changed, sizeof(changed), "module,text,alias\n*,k,z\n", &nbytes,
              error);
    if (!got)
        fail_msg("%s", error);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_second_name_has_symbols_and_metadata),
        cmocka_unit_test(test_without_a_name_the_file_is_as_it_was),
        cmocka_unit_test(test_damaged_objects_are_refused),
        cmocka_unit_test(test_other_files_are_refused),
        cmocka_unit_test(test_the_metadata_is_found_behind_other_notes),
    };

    return cmocka_run_group_tests_name("second_names", tests, NULL, NULL);
}
