/* part.h - writes the C of one part of a pack: its modules and their parts */
#ifndef KPK_GEN_PART_H
#define KPK_GEN_PART_H

#include <stdio.h>

#include "pack/contents.h"

/*
 * part_write() writes the tables of a part.
 *
 *   bin  where the code objects of an imported part go, each behind its head;
 *        NULL of a built one, whose code objects are C of their own
 *
 * Whether all was written is for ferror() to say.
 */
void part_write(FILE *f, FILE *bin, const struct pack_part *part);

/* The C name of a part's modules: that of a module, or of the array of them. */
char *part_symbol(const struct pack_part *part);

#endif
