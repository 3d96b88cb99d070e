/* import_table.h - configuration tables from the CSV files in a tree */
#ifndef KPK_GEN_IMPORT_TABLE_H
#define KPK_GEN_IMPORT_TABLE_H

#include "pack/imported.h"

/* Makes tables from the CSV files. Call it after import_modules(). */
void import_tables(struct import *in);

/* The text of a cell, "" if the row's file has no such column. */
const char *import_cell(const struct import_table *table,
                        const struct import_row *row, size_t column);

#endif
