/* import_modules.h - groups the code objects of a tree into modules */
#ifndef KPK_GEN_IMPORT_MODULES_H
#define KPK_GEN_IMPORT_MODULES_H

#include "pack/imported.h"

/* Groups the objects into modules, and sorts the objects by module. */
void import_modules(struct import *in);

#endif
