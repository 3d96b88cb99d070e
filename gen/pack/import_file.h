/* import_file.h - the code objects in one file of a tree */
#ifndef KPK_GEN_IMPORT_FILE_H
#define KPK_GEN_IMPORT_FILE_H

#include "pack/imported.h"

/*
 * import_file() takes the code objects of a file.
 *
 *   original  NULL, or the name of a file with a name of code beside a copy
 *             without one: x.co beside x.co.orig. Code in such a copy is passed
 *             over with a note.
 */
void import_file(struct import *in, const struct import_place *place,
                 const char *original);

#endif
