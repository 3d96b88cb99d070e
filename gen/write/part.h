/* part.h - writes the C of one part of a pack: its modules and their parts */
#ifndef KPK_GEN_PART_H
#define KPK_GEN_PART_H

#include <stdio.h>

#include "pack/contents.h"

/*
 * part_write() writes the tables of a part.
 *
 *   bin  takes the code objects of an imported part, each behind its head; NULL
 * for a built part, whose code objects become C files of their own
 *
 * Ask ferror() whether all was written.
 */
void part_write(FILE *f, FILE *bin, const struct pack_part *part);

/* The C name of a part's module, or of its array of modules if it was
 * imported. */
char *part_symbol(const struct pack_part *part);

#endif
