/* launchers.h - writes the typed launchers of a module: kpack/PACK/MODULE.h */
#ifndef KPK_GEN_LAUNCHERS_H
#define KPK_GEN_LAUNCHERS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/codeobj.h"
#include "read/csv.h"
#include "read/ir.h"

/* The input of the launchers. All but the first three may be NULL. */
struct launchers_input {
    const char *pack, *module;
    const struct codeobj *object; /* any target's: kernels are the same */
    const struct ir *ir;          /* the source's; NULL without a source */
    const struct csv *types;      /* types.csv, see host_type.h */
    const struct csv *aliases;    /* aliases.csv, see alias.h */
    const char *const *taken;     /* headers' text; their names are taken */
    size_t ntaken;
};

/* False, and a sentence on standard error, if its source cannot be read. A
 * kernel whose signature is not known, or has no like in C, gets a comment that
 * says so and no launcher. */
bool launchers_write(FILE *f, const struct launchers_input *in);

/* A hash of the list of kernels and arguments. The runtime computes the same
 * hash from the table that a program was linked with (kernels.c). */
uint64_t launchers_layout(const struct codeobj *object);

#endif
