/* table_index.h - writes the index by which a configuration table is searched
 */
#ifndef KPK_GEN_TABLE_INDEX_H
#define KPK_GEN_TABLE_INDEX_H

#include <stdio.h>

#include "pack/contents.h"

/* Writes index_NUMBER, which is 0 for a table that can have none: the runtime
 * searches such a table row by row. */
void table_index_write(FILE *f, const struct pack_table *table, size_t number);

#endif
