/* elf64.h - the parts of a little-endian ELF file of 64 bits
 *
 * Every place that the file states is held against the file's size: what lies
 * outside is not there. Nothing is copied; headers may lie at any address.
 */
#ifndef KPK_BASE_ELF64_H
#define KPK_BASE_ELF64_H

#include "elf_types.h"

#include <stdbool.h>
#include <stddef.h>

struct elf64 {
    const unsigned char *data;
    size_t nbytes;
    Elf64_Ehdr head;
    size_t nsegments, nsections; /* that lie in the file */
    size_t stated_nsections;
    size_t names; /* section of the sections' names */
};

/* False if the file does not begin as an ELF file, of any class and byte order:
 * `head` is then to be judged by the caller. */
bool elf64_open(struct elf64 *out, const void *data, size_t nbytes);

/* Number i, below nsegments or nsections. */
Elf64_Phdr elf64_segment(const struct elf64 *elf, size_t i);
Elf64_Shdr elf64_section(const struct elf64 *elf, size_t i);

/* A section's bytes in the file; NULL if it has none, or not all are there. */
const unsigned char *elf64_content(const struct elf64 *elf,
                                   const Elf64_Shdr *section);

/* A string of a string table, by the table's section; NULL if it is none. */
const char *elf64_string(const struct elf64 *elf, size_t table, size_t at);

/* Entry i of a symbol table, and its name; NULL if there is none. */
const char *elf64_symbol(const struct elf64 *elf, const Elf64_Shdr *table,
                         size_t i, Elf64_Sym *out);

#endif
