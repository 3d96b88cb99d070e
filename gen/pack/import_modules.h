/* import_modules.h - modules of the code objects in a tree */
#ifndef KPK_GEN_IMPORT_MODULES_H
#define KPK_GEN_IMPORT_MODULES_H

#include "pack/imported.h"

/* Makes modules of the objects, and sorts the objects by module. */
void import_modules(struct import *in);

#endif
