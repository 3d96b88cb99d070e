/* alias.h - the rules by which kernels have second names: aliases.csv
 *
 * Columns: module, text, alias. Every kernel of the module ("*": of any) whose
 * name contains `text` has a second name, in which each occurrence is replaced
 * by `alias`.
 */
#ifndef KPK_GEN_ALIAS_H
#define KPK_GEN_ALIAS_H

#include <stdbool.h>
#include <stddef.h>

#include "read/csv.h"

#define ALIAS_NAME_MAX 512

/* Whether a file has the columns module, text and alias. */
bool alias_is_table(const struct csv *table);

/* The name that rule `row` gives to kernel `name` of a module; false if none.
 */
bool alias_make(const struct csv *table, size_t row, const char *module,
                const char *name, char out[ALIAS_NAME_MAX]);

/*
 * alias_of() finds the rule of aliases.csv that makes `alias` from kernel
 * `name` of a module. Returns the row of the rule, or table->nrows without one.
 */
size_t alias_of(const struct csv *table, const char *module, const char *name,
                const char *alias);

/*
 * alias_retype() gives the host type of pointers to `host` under the alias that
 * row `rule` makes. Names of kernels end in their types: if ucopy_f16 is also
 * ucopy_i16, pointers to f16 are pointers to i16 there. With two types in a
 * name, inputs (pointers to const) have the first type and outputs the second.
 *
 *   host         a host type, "uint32_t"
 *   is_input     the pointer is to const
 *
 * Returns the host type to write, `host` itself if the alias changes nothing.
 */
const char *alias_retype(const struct csv *table, size_t rule, const char *host,
                         bool is_input);

#endif
