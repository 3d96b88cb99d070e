/* source.h - finds a kernel's function in the IR of its source */
#ifndef KPK_GEN_SOURCE_H
#define KPK_GEN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/codeobj.h"
#include "read/csv.h"
#include "read/ir.h"

struct source {
    const struct ir_kernel *kernel; /* NULL if unknown */
    bool is_alias;
    size_t rule; /* row of aliases.csv, for an alias */
};

/* Finds a kernel's function in the IR, by the kernel's name or by a rule of
 * `aliases`, which may be NULL. */
struct source source_find(const struct ir *ir, const struct csv *aliases,
                          const char *module, const char *kernel);

/* The record that lists a function's types: the result's, then the
 * parameters'. */
unsigned source_types(const struct ir *ir, const struct source *source);

/*
 * source_name_args() names unnamed arguments after the function's parameters,
 * if the function has as many parameters as the kernel has arguments. False if
 * out of memory.
 */
bool source_name_args(struct codeobj *co, const struct ir *ir,
                      const struct csv *aliases, const char *module);

#endif
