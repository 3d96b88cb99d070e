/* test_elf_types.c - base/elf_types.h agrees with the system's <elf.h> */
#define KPK_OWN_ELF_TYPES
#include "base/elf_types.h"

/* clang-format off */
#define NUMBERS(X)                                                             \
    X(SELFMAG) X(EI_CLASS) X(EI_DATA) X(EI_OSABI) X(EI_ABIVERSION)             \
    X(ELFCLASS64) X(ELFDATA2LSB) X(ET_REL) X(ET_EXEC) X(ET_DYN) X(PT_LOAD)     \
    X(PT_NOTE) X(SHN_UNDEF) X(SHN_XINDEX) X(SHT_PROGBITS) X(SHT_SYMTAB)        \
    X(SHT_STRTAB) X(SHT_RELA) X(SHT_NOBITS) X(SHT_REL) X(SHT_DYNSYM)           \
    X(STB_LOCAL) X(STT_OBJECT) X(STT_FUNC)
#define MEMBERS(X)                                                             \
    X(Ehdr, e_ident) X(Ehdr, e_type) X(Ehdr, e_machine) X(Ehdr, e_version)     \
    X(Ehdr, e_entry) X(Ehdr, e_phoff) X(Ehdr, e_shoff) X(Ehdr, e_flags)        \
    X(Ehdr, e_ehsize) X(Ehdr, e_phentsize) X(Ehdr, e_phnum)                    \
    X(Ehdr, e_shentsize) X(Ehdr, e_shnum) X(Ehdr, e_shstrndx)                  \
    X(Phdr, p_type) X(Phdr, p_flags) X(Phdr, p_offset) X(Phdr, p_vaddr)        \
    X(Phdr, p_paddr) X(Phdr, p_filesz) X(Phdr, p_memsz) X(Phdr, p_align)       \
    X(Shdr, sh_name) X(Shdr, sh_type) X(Shdr, sh_flags) X(Shdr, sh_addr)       \
    X(Shdr, sh_offset) X(Shdr, sh_size) X(Shdr, sh_link) X(Shdr, sh_info)      \
    X(Shdr, sh_addralign) X(Shdr, sh_entsize) X(Sym, st_name) X(Sym, st_info)  \
    X(Sym, st_other) X(Sym, st_shndx) X(Sym, st_value) X(Sym, st_size)         \
    X(Nhdr, n_namesz) X(Nhdr, n_descsz) X(Nhdr, n_type)
#define TYPES(X) X(Ehdr) X(Phdr) X(Shdr) X(Sym) X(Nhdr)
/* clang-format on */

/* Ours, under names that <elf.h> does not take. */
enum {
#define X(name) OWN_##name = (name),
    NUMBERS(X)
#undef X
        OWN_BIND = ELF64_ST_BIND(0x21),
    OWN_TYPE = ELF64_ST_TYPE(0x21)
};
static const char own_magic[] = ELFMAG;
#undef ELFMAG
#undef ELF64_ST_BIND
#undef ELF64_ST_TYPE

#define Elf64_Ehdr System_Ehdr
#define Elf64_Phdr System_Phdr
#define Elf64_Shdr System_Shdr
#define Elf64_Sym System_Sym
#define Elf64_Nhdr System_Nhdr
#include <elf.h>
#undef Elf64_Ehdr
#undef Elf64_Phdr
#undef Elf64_Shdr
#undef Elf64_Sym
#undef Elf64_Nhdr

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h wants the three above first */
#include <cmocka.h>

#include <string.h>

static void test_numbers_are_the_systems(void **state)
{
    (void)state;
#define X(name) assert_int_equal(OWN_##name, name);
    NUMBERS(X)
#undef X
    assert_int_equal(OWN_BIND, ELF64_ST_BIND(0x21));
    assert_int_equal(OWN_TYPE, ELF64_ST_TYPE(0x21));
    assert_string_equal(own_magic, ELFMAG);
}

static void test_structures_are_the_systems(void **state)
{
    (void)state;
#define X(type) assert_int_equal(sizeof(Elf64_##type), sizeof(System_##type));
    TYPES(X)
#undef X
#define X(type, member)                                                        \
    assert_int_equal(offsetof(Elf64_##type, member),                           \
                     offsetof(System_##type, member));                         \
    assert_int_equal(sizeof(((Elf64_##type *)0)->member),                      \
                     sizeof(((System_##type *)0)->member));
    MEMBERS(X)
#undef X
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_the_systems),
        cmocka_unit_test(test_structures_are_the_systems),
    };

    return cmocka_run_group_tests_name("elf_types", tests, NULL, NULL);
}
