/* tree.h - writes an imported pack: a table and a data file for each kind */
#ifndef KPK_GEN_TREE_H
#define KPK_GEN_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "pack/contents.h"

/*
 * tree_write() creates a folder and writes into it:
 *
 *   kind.KIND.c    modules and tables of a kind, and the pack kpk_PACK_KIND
 *   kind.KIND.bin  its code objects, each with its head (struct kpk_blob)
 *   pack.c         the pack of all kinds, kpk_PACK
 *   PACK.h         the header
 *   PACK_launch.h  an empty header of launchers
 *   kinds.mk       KPACK_IMPORT_KINDS, for the rules that compile these files;
 *                  it is written last, so that an interrupted run is repeated
 *
 * The same tree gives the same bytes. False, after a message, if a file cannot
 * be written.
 */
bool tree_write(const char *folder, const char *pack,
                const struct pack_part *parts, size_t nparts);

#endif
