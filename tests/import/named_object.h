/* named_object.h - a relocatable object of one kernel, `k`, as second names are
 * given to */
#ifndef IMPORT_NAMED_OBJECT_H
#define IMPORT_NAMED_OBJECT_H

#include "elf_header.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the metadata, as msgpack: the key of the list of kernels, and k's
 * entry. */
#define KERNELS_KEY                                                            \
    "\xae"                                                                     \
    "amdhsa.kernels"
#define KERNEL_K "\x82\xa5.name\xa1k\xa7.symbol\xa4k.kd"

enum { NOTE_ROOM = 1024, NAMED_ROOM = 16 };

/* A note, symbols and their names. */
struct named_object {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    struct {
        Elf64_Nhdr head;
        char name[8];
        char data[NOTE_ROOM];
    } note;
    Elf64_Sym symbols[3];
    char names[NAMED_ROOM];
};

static inline void set_metadata(struct named_object *o, const char *data,
                                size_t nbytes)
{
    if (nbytes > NOTE_ROOM)
        abort();
    memset(o->note.data, 0, NOTE_ROOM);
    memcpy(o->note.data, data, nbytes);
    o->note.head.n_descsz = (uint32_t)nbytes;
    o->sections[1].sh_size = offsetof(struct named_object, note.data) -
                             offsetof(struct named_object, note) +
                             (nbytes + 3) / 4 * 4;
}
#define SET_METADATA(o, text) set_metadata(o, text, sizeof(text) - 1)

static inline void named_object(struct named_object *o)
{
    memset(o, 0, sizeof(*o));
    o->header = relocatable_header(offsetof(struct named_object, sections), 4);
    o->header.e_machine = 224;
    o->sections[1] = (Elf64_Shdr){
        .sh_type = SHT_NOTE, .sh_offset = offsetof(struct named_object, note)};
    o->sections[2] =
        (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                     .sh_link = 3,
                     .sh_offset = offsetof(struct named_object, symbols),
                     .sh_size = sizeof(o->symbols)};
    o->sections[3] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB,
                     .sh_offset = offsetof(struct named_object, names),
                     .sh_size = NAMED_ROOM};
    o->note.head = (Elf64_Nhdr){.n_namesz = 7, .n_type = 32};
    memcpy(o->note.name, "AMDGPU", 7);
    SET_METADATA(o, "\x82" KERNELS_KEY "\x91" KERNEL_K "\xa1x\x01");
    memcpy(o->names, "\0k\0k.kd", 8);
    o->symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = 1, .st_value = 5};
    o->symbols[2] = (Elf64_Sym){.st_name = 3, .st_shndx = 1, .st_value = 6};
}

#endif
