/* test_objfile.c - archives and object files that `kpack prune` changes
 *
 * An object file is made here in which one section holds a blob, and then with
 * one thing in it that keeps the section from being made longer or shorter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "../../src/cmd/objfile.h"
#include "elf_header.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOB = 32, TAIL = 8 };

struct object {
    Elf64_Ehdr header;
    char blob[BLOB];
    char tail[TAIL];
    Elf64_Sym symbols[2];
    Elf64_Rela relocation;
    Elf64_Shdr sections[6]; /* none, blob, tail, symbols, relocations, room */
};

static void make(struct object *o)
{
    memset(o, 0, sizeof(*o));
    o->header = relocatable_header(offsetof(struct object, sections), 6);
    memset(o->blob, 'b', BLOB);
    memset(o->tail, 't', TAIL);
#define SECTION(member, type)                                                  \
    (Elf64_Shdr){.sh_type = type,                                              \
                 .sh_offset = offsetof(struct object, member),                 \
                 .sh_size = sizeof(o->member),                                 \
                 .sh_addralign = 8}
    o->sections[1] = SECTION(blob, SHT_PROGBITS);
    o->sections[2] = SECTION(tail, SHT_PROGBITS);
    o->sections[3] = SECTION(symbols, SHT_SYMTAB);
    o->sections[4] = SECTION(relocation, SHT_RELA);
    o->sections[4].sh_info = 2; /* of the tail */
    o->sections[5] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_size = 4096};
    o->symbols[1] = (Elf64_Sym){.st_shndx = 1, .st_size = BLOB};
}

/* A member with that content, to be freed. */
static struct objfile_bytes member_of(const void *content, size_t nbytes)
{
    struct objfile_bytes member = {malloc(nbytes), nbytes};

    assert_non_null(member.data);
    memcpy(member.data, content, nbytes);
    return member;
}

/* Gives the blob other content; the object then, to be freed, or NULL. */
static unsigned char *resize(const struct object *o, size_t nbytes,
                             size_t content_nbytes, size_t *out_nbytes)
{
    unsigned char content[64];
    const struct objfile_bytes with = {content, content_nbytes};
    struct objfile_bytes member = member_of(o, sizeof(*o));
    const size_t at = offsetof(struct object, blob);

    memset(content, 'n', sizeof(content));
    if (objfile_resize(&member, at, nbytes, &with)) {
        *out_nbytes = member.nbytes;
        return member.data;
    }
    assert_int_equal(member.nbytes, sizeof(*o)); /* as it was */
    assert_memory_equal(member.data, o, sizeof(*o));
    free(member.data);
    return NULL;
}

static void test_what_follows_moves_and_is_found(void **state)
{
    static const size_t sizes[] = {0, 8, 31, 32, 33, 64};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct object o;
        Elf64_Ehdr header;
        Elf64_Shdr sections[6];
        Elf64_Sym symbols[2];
        unsigned char *got;
        size_t nbytes;

        make(&o);
        got = resize(&o, BLOB, sizes[i], &nbytes);
        assert_non_null(got);
        memcpy(&header, got, sizeof(header));
        assert_int_equal(header.e_shoff + sizeof(sections), nbytes);
        memcpy(sections, got + header.e_shoff, sizeof(sections));
        assert_int_equal(sections[1].sh_size, sizes[i]);
        assert_true(!sizes[i] || got[sections[1].sh_offset] == 'n');
        assert_memory_equal(got + sections[2].sh_offset, o.tail, TAIL);
        memcpy(symbols, got + sections[3].sh_offset, sizeof(symbols));
        assert_int_equal(symbols[1].st_size, sizes[i]);
        assert_int_equal(sections[2].sh_offset % 8, 0);
        free(got);
    }
}

/* A file's size by its own headers; a truncated file states more than its
 * bytes. */
static void test_a_whole_size_is_known(void **state)
{
    const Elf64_Phdr segment = {.p_offset = 64, .p_filesz = 4096};
    struct object o;
    unsigned char *bytes = (unsigned char *)&o;

    (void)state;
    make(&o);
    o.header.e_phentsize = sizeof(Elf64_Phdr);
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), sizeof(o));
    for (size_t n = SELFMAG + 1; n < sizeof(o); n++) {
        unsigned char *cut = malloc(n); /* to the byte, for sanitizers */

        assert_non_null(cut);
        memcpy(cut, bytes, n);
        assert_true(objfile_whole_nbytes(cut, n) > n);
        free(cut);
    }
    o.sections[2].sh_size = sizeof(o); /* a section beyond the end */
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)),
                     o.sections[2].sh_offset + sizeof(o));
    o.sections[2].sh_type = SHT_NOBITS; /* which takes no room */
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), sizeof(o));
    o.sections[1].sh_size = UINT64_MAX; /* where no file ends */
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), sizeof(o));
    o.header.e_shnum = 0; /* segments instead: one, from the blob on */
    o.header.e_phoff = offsetof(struct object, blob);
    o.header.e_phnum = 1;
    memcpy(bytes + o.header.e_phoff, &segment, sizeof(segment));
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), 64 + 4096);
    o.header.e_phoff = UINT64_C(1) << 63; /* tables where no file goes to */
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), o.header.e_shoff);
    o.header.e_shoff = o.header.e_phoff - 64;
    o.header.e_shnum = 3;
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), 64);
    o.header.e_ident[EI_CLASS] = ELFCLASS32; /* not for us to say */
    assert_int_equal(objfile_whole_nbytes(bytes, sizeof(o)), 0);
    assert_int_equal(objfile_whole_nbytes((unsigned char *)"#!/bin/sh", 9), 0);
}

/* Section headers may stand in front of what moves; a symbol may say no size.
 */
static void test_headers_in_front_stay(void **state)
{
    struct object o;
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[2];
        char blob[BLOB];
        Elf64_Sym symbols[1];
    } front;
    struct objfile_bytes member;
    const struct objfile_bytes with = {(unsigned char *)"12345678", 8};
    Elf64_Ehdr header;
    unsigned char *got;
    size_t nbytes;

    (void)state;
    make(&o);
    memset(&front, 0, sizeof(front));
    front.header = o.header;
    front.header.e_shoff = sizeof(front.header);
    front.header.e_shnum = 2;
    front.sections[1] =
        (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                     .sh_offset = offsetof(__typeof__(front), blob),
                     .sh_size = BLOB};
    member = member_of(&front, sizeof(front));
    assert_true(objfile_resize(&member, offsetof(__typeof__(front), blob), BLOB,
                               &with));
    memcpy(&header, member.data, sizeof(header));
    assert_int_equal(header.e_shoff, sizeof(header));
    free(member.data);
    o.symbols[1].st_size = 0;
    got = resize(&o, BLOB, 8, &nbytes);
    assert_non_null(got);
    free(got);
}

#define DAMAGES(X)                                                             \
    X(o.header.e_ident[0] = 0)                                                 \
    X(o.header.e_ident[EI_CLASS] = ELFCLASS32)                                 \
    X(o.header.e_ident[EI_DATA] = ELFDATA2MSB)                                 \
    X(o.header.e_type = ET_DYN)                                                \
    X(o.header.e_shentsize = 40)                                               \
    X(o.header.e_phnum = 1)                                                    \
    X(o.header.e_shnum = 0)                                                    \
    X(o.header.e_shoff = sizeof(o) - 8)                                        \
    X(o.header.e_shoff = UINT64_MAX)                                           \
    X(o.sections[2].sh_size = sizeof(o))                                       \
    X(o.sections[2].sh_offset = UINT64_MAX)                                    \
    X(o.sections[2].sh_addralign = 24)                                         \
    X(o.sections[2].sh_addralign = 131072)                                     \
    X(o.sections[1].sh_size = BLOB + 1) /* it is not the blob's alone */       \
    X(o.sections[1].sh_offset--)                                               \
    X(o.sections[2] = o.sections[1]) /* two sections have it */                \
    X(o.sections[2].sh_offset -= 4)  /* another reaches into it */             \
    X((o.sections[2].sh_offset = sizeof(o.header) - 4,                         \
       o.sections[2].sh_size = 8))                                             \
    X(o.sections[1].sh_type = SHT_NOBITS)                                      \
    X(o.sections[4].sh_info = 1) /* it is relocated */                         \
    X((o.sections[4].sh_info = 1, o.sections[4].sh_type = SHT_REL))            \
    X(o.symbols[1].st_value = 1) /* a symbol points into it */

static void test_what_cannot_be_changed_stays(void **state)
{
    struct object o;
    size_t nbytes;

    (void)state;
#define X(damage)                                                              \
    make(&o);                                                                  \
    damage;                                                                    \
    if (resize(&o, BLOB, 8, &nbytes))                                          \
        fail_msg("changed in spite of %s", #damage);
    DAMAGES(X)
#undef X
    make(&o); /* headers that lie in the blob */
    o.header.e_shoff = offsetof(struct object, blob);
    o.header.e_shnum = 1;
    assert_null(resize(&o, BLOB, 8, &nbytes));
    make(&o);
    o.sections[4].sh_info = 1;
    o.sections[4].sh_size = 0; /* no relocation at all */
    free(resize(&o, BLOB, 8, &nbytes));
    for (size_t n = 0; n < sizeof(o.header); n++) {
        struct objfile_bytes cut = {(unsigned char *)&o, n};

        assert_false(objfile_resize(&cut, 0, 0, &(struct objfile_bytes){0}));
    }
}

/* The header itself is not to be replaced. */
static void test_the_elf_header_is_no_blob(void **state)
{
    struct object o;
    struct objfile_bytes member = {(unsigned char *)&o, sizeof(o)};
    const struct objfile_bytes with = {(unsigned char *)"x", 1};

    (void)state;
    make(&o);
    o.sections[2] =
        (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_offset = 32, .sh_size = 16};
    assert_false(objfile_resize(&member, 32, 16, &with));
}

/* ---- archives ------------------------------------------------------------ */

static bool keep_all(void *context, size_t from, struct objfile_bytes *member)
{
    (void)from;
    (void)member;
    ++*(int *)context;
    return true;
}

static bool stop(void *context, size_t from, struct objfile_bytes *member)
{
    (void)context;
    (void)from;
    (void)member;
    return false;
}

#define MEMBER(name, size) name "0           0     0     644     " size "`\n"
#define ELF "\177ELF and more"

static void test_archives_are_copied_or_refused(void **state)
{
    static const struct {
        const char *text;
        size_t nbytes;
        const char *fault; /* NULL: copied */
    } cases[] = {
#define TEXT(text) text, sizeof(text) - 1
        {TEXT("!<arch>\n"), NULL},
        {TEXT("!<arch>\n" MEMBER("a/              ", "13        ") ELF "\n"),
         NULL},
        {TEXT("!<arch>\n" MEMBER("a/              ", "4         ") "\177ELF"),
         NULL}, /* too short for one */
        {TEXT("!<arch>\n" MEMBER("a/              ", "14        ") ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\n" MEMBER("a/              ", "x         ") ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\n" MEMBER("a/              ", "1 3       ") ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\n" MEMBER("a/              ", "          ") ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\n" MEMBER("a/              ", "9999999999") ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\n" MEMBER("a/              ", "1/        ") ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\na/"), "damaged or cut short"},
        {TEXT("!<arch>\n"
              "a/              0           0     0     644     13        "
              "xx" ELF),
         "damaged or cut short"},
        {TEXT("!<arch>\n" MEMBER("/               ", "2         ") "ab"),
         "its symbol index is cut short"},
        {TEXT("!<arch>\n" MEMBER("/SYM64/         ", "4         ") "\0\0\0\0"),
         "its symbol index is cut short"},
        {TEXT("!<arch>\n" MEMBER("/               ", "4         ") "\0\0\0\1"),
         "its symbol index is cut short"},
        {TEXT("!<arch>\n" MEMBER("/               ",
                                 "8         ") "\0\0\0\1\0\0\0\7"),
         "names a place where no member begins"},
        {TEXT("!<arch>\n" MEMBER("/               ",
                                 "8         ") "\0\0\0\1\0\0\1\0"),
         "names a place where no member begins"},
        {TEXT("!<arch>\n" MEMBER("/               ",
                                 "8         ") "\0\0\0\1\0\0\0\10"),
         NULL},
        {TEXT("!<arch>\n" MEMBER("/SYM64/         ",
                                 "16        ") "\0\0\0\0\0\0\0\1"
                                               "\0\0\0\0\0\0\0\10"),
         NULL},
        {TEXT("!<arch>\n" MEMBER("#1/12           ", "14        ") ELF "\n"),
         "of BSD's or Darwin's kind"},
        {TEXT("!<arch>\n" MEMBER("__.SYMDEF       ", "0         ")),
         "of BSD's or Darwin's kind"},
        {TEXT("!<arch>\n" MEMBER(
             "/               ",
             "4         ") "\0\0\0\0" MEMBER("/               ",
                                             "4         ") "\0\0\0\0"),
         "of COFF's kind"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct objfile_bytes out = {NULL, 0};
        int nelf = 0;
        const char *fault =
            objfile_each_member((const unsigned char *)cases[i].text,
                                cases[i].nbytes, keep_all, &nelf, &out);

        if (!fault != !cases[i].fault ||
            (fault && !strstr(fault, cases[i].fault)))
            fail_msg("case %zu: %s", i, fault ? fault : "copied");
        if (fault)
            continue;
        assert_int_equal(nelf, strstr(cases[i].text + 8, ELF) != NULL);
        assert_int_equal(out.nbytes, cases[i].nbytes);
        assert_memory_equal(out.data, cases[i].text, out.nbytes);
        free(out.data);
    }
    assert_string_equal(
        objfile_each_member((const unsigned char *)cases[1].text,
                            cases[1].nbytes, stop, NULL, NULL),
        "");
    assert_true(objfile_is_archive((const unsigned char *)"!<arch>\n", 8));
    assert_false(objfile_is_archive((const unsigned char *)"!<arch>", 7));
    assert_false(objfile_is_archive((const unsigned char *)"!<thin>\n", 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_follows_moves_and_is_found),
        cmocka_unit_test(test_a_whole_size_is_known),
        cmocka_unit_test(test_headers_in_front_stay),
        cmocka_unit_test(test_what_cannot_be_changed_stays),
        cmocka_unit_test(test_the_elf_header_is_no_blob),
        cmocka_unit_test(test_archives_are_copied_or_refused),
    };

    return cmocka_run_group_tests_name("objfile", tests, NULL, NULL);
}
