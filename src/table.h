/* table.h - the configuration tables of a module */
#ifndef KPK_TABLE_H
#define KPK_TABLE_H

#include "internal.h"

#pragma GCC visibility push(hidden)

kpk_status kpk_i_check_table(const kpk_module *module, size_t table);

bool kpk_i_find_column(const kpk_module *module, const struct kpk_table *t,
                       const char *name, size_t *out);

/* Is the row for this processor? A target ID's settings do not matter. */
bool kpk_i_for_target(const kpk_module *module, const struct kpk_row_key *key,
                      const char *target);

const char *kpk_i_row_kernel(const kpk_module *module,
                             const struct kpk_table *t, size_t row);

/* The rows of one kernel stand together, by its name: the first that is not
 * below it. */
size_t kpk_i_first_row_of(const kpk_module *module, const struct kpk_table *t,
                          const char *kernel);

#pragma GCC visibility pop

#endif
