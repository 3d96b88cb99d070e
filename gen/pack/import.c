/* import.c - a tree of prebuilt code objects becomes a pack */
#include "pack/import.h"

#include <stdio.h>

#include "pack/import_modules.h"
#include "pack/import_scan.h"
#include "pack/import_table.h"

bool import_tree(struct import *in)
{
    import_scan(in);
    import_modules(in);
    import_tables(in);
    if (in->nbad)
        fprintf(stderr,
                "kpack-gen: %zu of the files of %s cannot be imported; nothing "
                "was written\n",
                in->nbad, in->root);
    return in->nbad == 0;
}
