/* import_scan.h - the files of a tree
 *
 * Names. A folder called as a target ID ("gfx942") says what the code objects
 * in it are for, and is no part of a module's name: DIR/gfx942/fmoe/silu/x.co
 * and DIR/gfx950/fmoe/silu/x.co are two code objects of module "fmoe/silu/x".
 * The folder behind it ("fmoe") is the kind. The tables of CSV files below
 * belong to a module with the kind's name, and each kind is an archive member
 * of its own. Outside of such folders a file's name may end in a target ID
 * instead, as in x-gfx942.hsaco.
 */
#ifndef KPK_GEN_IMPORT_SCAN_H
#define KPK_GEN_IMPORT_SCAN_H

#include "pack/imported.h"

/* Finds the files and reads them: code objects, and CSV files. */
void import_scan(struct import *in);

#endif
