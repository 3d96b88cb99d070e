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

/* Whether a file's columns are those. */
bool alias_is_table(const struct csv *table);

/* The name that rule `row` gives to kernel `name` of a module; false if none.
 */
bool alias_make(const struct csv *table, size_t row, const char *module,
                const char *name, char out[ALIAS_NAME_MAX]);

/*
 * alias_of() finds what rule of aliases.csv made `alias` out of kernel `name`
 * of a module; the rule's row, or table->nrows if none did.
 */
size_t alias_of(const struct csv *table, const char *module, const char *name,
                const char *alias);

/*
 * alias_retype() says what a pointer to `host` is for the alias that row `rule`
 * made. Names of kernels end in their types: if ucopy_f16 is also ucopy_i16,
 * pointers to f16 are pointers to i16 there. With two types in a name, inputs
 * (pointers to const) have the first type and outputs the second.
 *
 *   host         a host type, "uint32_t"
 *   is_input     the pointer is to const
 *
 * Returns the host type to write, `host` itself if the alias changes nothing.
 */
const char *alias_retype(const struct csv *table, size_t rule, const char *host,
                         bool is_input);

#endif
