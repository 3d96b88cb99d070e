/* import_triton.h - what Triton's JSON files add to the code objects of a tree
 */
#ifndef KPK_GEN_IMPORT_TRITON_H
#define KPK_GEN_IMPORT_TRITON_H

#include "pack/imported.h"

/* Uses the JSON file beside a code object, if it is Triton's. */
void import_triton(struct import *in, struct import_object *object,
                   const char *file);

/* The launch shapes of a module that Triton's files tell; NULL without any. */
const struct pack_table *import_triton_table(const struct import *in,
                                             const struct import_module *m);

#endif
