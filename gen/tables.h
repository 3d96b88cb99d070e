/* tables.h - writers of the generated C, and the checks before them */
#ifndef KPK_GEN_TABLES_H
#define KPK_GEN_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "codeobj.h"
#include "config_table.h"

/*
 * tables_agree() says whether every object holds the kernels of the first,
 * with the same argument layout. The sentence that says what differs goes to
 * stderr, as `FILE: what`.
 */
bool tables_agree(struct codeobj *const *objects, size_t nobjects);

/* The table of one module of a pack: build/gen/NAME.c. Objects sorted by
 * target, its configuration tables by name. */
void tables_write_module(FILE *f, const char *pack, const char *name,
                         struct codeobj *const *objects, size_t nobjects,
                         struct config_table *const *configs, size_t nconfigs);

/* The table of a pack: build/gen/pack.c. Modules sorted by name. */
void tables_write_pack(FILE *f, const char *pack, char *const *modules,
                       size_t nmodules);

/* The header of a pack; one object a module says what kernels it has. */
void tables_write_header(FILE *f, const char *pack, char *const *modules,
                         struct codeobj *const *objects, size_t nmodules);

#endif
