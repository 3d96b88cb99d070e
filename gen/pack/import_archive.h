/* import_archive.h - the code objects of one of AMD's kernel archives */
#ifndef KPK_GEN_IMPORT_ARCHIVE_H
#define KPK_GEN_IMPORT_ARCHIVE_H

#include "pack/imported.h"

/* Takes the code objects of an archive, unless it has been read. */
void import_archive(struct import *in, const struct import_place *place,
                    const unsigned char *data, size_t nbytes);

/* The number of the archive of that path without links; in->narchives if it
 * has not been read. */
size_t import_find_archive(const struct import *in, const char *real);

#endif
