/* elf_types.h - ELF's structures and numbers, as <elf.h> has them
 *
 * Systems that have no ELF programs have no such header. Source: System V ABI,
 * "Object Files". tests/build/test_elf_types.c holds this file against <elf.h>.
 */
#ifndef KPK_BASE_ELF_TYPES_H
#define KPK_BASE_ELF_TYPES_H

#if defined(__has_include) && !defined(KPK_OWN_ELF_TYPES)
#if __has_include(<elf.h>)
#define KPK_HAS_ELF_H
#endif
#endif

#ifdef KPK_HAS_ELF_H
#include <elf.h>
#else

#include <stdint.h>

typedef struct {
    unsigned char e_ident[16];
    uint16_t e_type;
    uint16_t e_machine;
    uint32_t e_version;
    uint64_t e_entry;
    uint64_t e_phoff;
    uint64_t e_shoff;
    uint32_t e_flags;
    uint16_t e_ehsize;
    uint16_t e_phentsize;
    uint16_t e_phnum;
    uint16_t e_shentsize;
    uint16_t e_shnum;
    uint16_t e_shstrndx;
} Elf64_Ehdr;

typedef struct {
    uint32_t p_type;
    uint32_t p_flags;
    uint64_t p_offset;
    uint64_t p_vaddr;
    uint64_t p_paddr;
    uint64_t p_filesz;
    uint64_t p_memsz;
    uint64_t p_align;
} Elf64_Phdr;

typedef struct {
    uint32_t sh_name;
    uint32_t sh_type;
    uint64_t sh_flags;
    uint64_t sh_addr;
    uint64_t sh_offset;
    uint64_t sh_size;
    uint32_t sh_link;
    uint32_t sh_info;
    uint64_t sh_addralign;
    uint64_t sh_entsize;
} Elf64_Shdr;

typedef struct {
    uint32_t st_name;
    unsigned char st_info;
    unsigned char st_other;
    uint16_t st_shndx;
    uint64_t st_value;
    uint64_t st_size;
} Elf64_Sym;

typedef struct {
    uint32_t n_namesz;
    uint32_t n_descsz;
    uint32_t n_type;
} Elf64_Nhdr;

#define ELFMAG "\177ELF"
#define ELF64_ST_BIND(info) ((info) >> 4)
#define ELF64_ST_TYPE(info) ((info)&15)

enum {
    SELFMAG = 4,
    EI_CLASS = 4,
    EI_DATA = 5,
    EI_OSABI = 7,
    EI_ABIVERSION = 8,
    ELFCLASS64 = 2,
    ELFDATA2LSB = 1,
    ET_REL = 1,
    ET_EXEC = 2,
    ET_DYN = 3,
    PT_LOAD = 1,
    PT_NOTE = 4,
    SHN_UNDEF = 0,
    SHN_XINDEX = 0xffff,
    SHT_PROGBITS = 1,
    SHT_SYMTAB = 2,
    SHT_STRTAB = 3,
    SHT_RELA = 4,
    SHT_NOBITS = 8,
    SHT_REL = 9,
    SHT_DYNSYM = 11,
    STB_LOCAL = 0,
    STT_OBJECT = 1,
    STT_FUNC = 2
};

#endif

#endif
