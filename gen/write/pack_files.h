/* pack_files.h - writes a pack's own table and headers */
#ifndef KPK_GEN_PACK_FILES_H
#define KPK_GEN_PACK_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "pack/contents.h"

/*
 * pack_write_table() writes kpk_SYMBOL, a pack that consists of parts: the
 * parts' modules, sorted by name. Of a built part only its name is used.
 */
void pack_write_table(FILE *f, const char *symbol, const char *name,
                      const struct pack_part *parts, size_t nparts);

/* Writes the header of a built pack. lists[i] is the output of
 * pack_write_kernels() for modules[i]; both are sorted by name. */
void pack_write_header(FILE *f, const char *pack, char *const *modules,
                       char *const *lists, size_t nmodules);
/* Writes a module's kernels and their arguments as lines of a comment. */
void pack_write_kernels(FILE *f, const struct codeobj *co);

/* Writes the header of an imported pack. */
void pack_write_import_header(FILE *f, const char *pack,
                              const struct pack_part *parts, size_t nparts);

/* Writes the header that includes all launchers. An imported pack has none:
 * give 0 modules. */
void pack_write_launchers(FILE *f, const char *pack, char *const *modules,
                          size_t nmodules);

#endif
