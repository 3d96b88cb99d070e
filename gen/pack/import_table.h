/* import_table.h - tables of the CSV files in a tree */
#ifndef KPK_GEN_IMPORT_TABLE_H
#define KPK_GEN_IMPORT_TABLE_H

#include "pack/imported.h"

/* Makes tables of the CSV files, when the modules are known. */
void import_tables(struct import *in);

/* The text of a cell, "" where the row's file has no such column. */
const char *import_cell(const struct import_table *table,
                        const struct import_row *row, size_t column);

#endif
