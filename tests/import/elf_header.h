/* elf_header.h - the header of a relocatable object that a test makes */
#ifndef IMPORT_ELF_HEADER_H
#define IMPORT_ELF_HEADER_H

#include <elf.h>
#include <stddef.h>

/* With n section headers from the byte shoff on. */
static inline Elf64_Ehdr relocatable_header(size_t shoff, unsigned n)
{
    return (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                    ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                        .e_type = ET_REL,
                        .e_shoff = shoff,
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = (Elf64_Half)n};
}

#endif
