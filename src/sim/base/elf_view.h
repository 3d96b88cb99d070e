/* elf_view.h - a code object while it is loaded: its file and its segments */
#ifndef SIM_BASE_ELF_VIEW_H
#define SIM_BASE_ELF_VIEW_H

#include "loaded_object.h"

#include <elf.h>

/* A code object while it is loaded. */
struct loader {
    const uint8_t *file;
    uint64_t size;
    Elf64_Ehdr header;
    Elf64_Phdr load[SIM_MAX_SEGMENTS]; /* PT_LOADs, ascending */
    uint32_t nload;
    Elf64_Phdr dynamic;
    bool has_dynamic;
    uint64_t lowest; /* page of the first p_vaddr */

    uint64_t symbols, nsymbols; /* table in the image, by the dynamic section */
    uint64_t strings, nstrings;

    struct sim_code_object *object;
    char *why;
};

/* Writes the sentence, and returns the status. */
enum sim_load_status sim_load_fail(struct loader *l,
                                   enum sim_load_status status,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The bytes of [offset, offset + n) of the file; NULL if it has not all. */
const uint8_t *sim_load_at_file(const struct loader *l, uint64_t offset,
                                uint64_t n);

/* The loaded bytes of [vaddr, vaddr + n); NULL if not all in one segment. */
uint8_t *sim_load_at_image(const struct loader *l, uint64_t vaddr, uint64_t n);

/* The device address of a virtual address of the file. */
uint64_t sim_load_address(const struct loader *l, uint64_t vaddr);

#endif
