/* import_host_elf.h - the code objects in objects and programs of the host */
#ifndef KPK_GEN_IMPORT_HOST_ELF_H
#define KPK_GEN_IMPORT_HOST_ELF_H

#include "pack/import_image.h"

/* Takes the code objects in the sections of an ELF file of the host. */
void import_host_elf(struct import_found *f, unsigned char *data,
                     size_t nbytes);

#endif
