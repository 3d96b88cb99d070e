/* import.h - a tree of prebuilt code objects, on its way to a pack
 *
 * The steps, a file each: import_scan() finds the files and reads them,
 * import_modules() makes modules of the code objects, import_tables() makes
 * tables of the CSV files. import_parts() then makes what is written.
 */
#ifndef KPK_GEN_IMPORT_H
#define KPK_GEN_IMPORT_H

#include "pack/imported.h"

/*
 * import_tree() reads a tree by these steps. It returns false after it has
 * reported a fault of a file.
 */
bool import_tree(struct import *in);

#endif
