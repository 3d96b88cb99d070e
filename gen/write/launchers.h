/* launchers.h - writes the typed launchers of a module: kpack/PACK/MODULE.h */
#ifndef KPK_GEN_LAUNCHERS_H
#define KPK_GEN_LAUNCHERS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/codeobj.h"
#include "pack/source.h"
#include "read/csv.h"
#include "read/doc.h"
#include "read/ir.h"
#include "write/host_type.h"

#define LAUNCHER_NAME_MAX 512

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

/* A kernel's launcher, or the reason that it has none. */
struct launcher {
    const struct codeobj_kernel *kernel;
    struct source source;
    char name[LAUNCHER_NAME_MAX]; /* without kpk_ */
    char (*declarations)[HOST_TEXT_MAX];
    char (*names)[LAUNCHER_NAME_MAX];
    char why[HOST_TEXT_MAX]; /* "" if it has a launcher */
};

/* The launchers of a module, before they are written in some language. */
struct launchers {
    const struct launchers_input *in;
    struct host_types *types;
    struct launcher *of; /* [in->object->nkernels] */
    struct doc *doc;     /* the source's comments; NULL without a source */
};

/* `in` must outlive the result. NULL, and a sentence on standard error, if the
 * source cannot be read. */
struct launchers *launchers_new(const struct launchers_input *in);
void launchers_free(struct launchers *l);

/* A kernel without a known signature, or without an equivalent in C, gets a
 * comment in place of a launcher. */
void launchers_write(FILE *f, const struct launchers *l);

/* What is to be said of the module's source, and of a kernel: lines " * text",
 * safe within a comment. */
void launchers_write_about(FILE *f, const struct launchers *l);
void launcher_write_about(FILE *f, const struct launchers *l,
                          const struct launcher *one);

/* A hash of the list of kernels and arguments. The runtime computes the same
 * hash from the table that a program was linked with (kernels.c). */
uint64_t launchers_layout(const struct codeobj *object);

#endif
