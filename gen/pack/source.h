/* source.h - what a kernel's source says of it: its function in the IR */
#ifndef KPK_GEN_SOURCE_H
#define KPK_GEN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "read/codeobj.h"
#include "read/csv.h"
#include "read/ir.h"

struct source {
    const struct ir_kernel *kernel; /* NULL if unknown */
    bool is_alias;
    size_t rule; /* row of aliases.csv, for an alias */
};

/* The function that a kernel of a module is, by its own name or by one of
 * `aliases`, which may be NULL. */
struct source source_find(const struct ir *ir, const struct csv *aliases,
                          const char *module, const char *kernel);

/* The list of a function's types: what it returns, then its parameters'. */
unsigned source_types(const struct ir *ir, const struct source *source);

/*
 * source_name_args() gives arguments that have no names the names of the
 * parameters, where the function has as many of them as the kernel of
 * arguments. False if out of memory.
 */
bool source_name_args(struct codeobj *co, const struct ir *ir,
                      const struct csv *aliases, const char *module);

#endif
