/* config_table.h - a CSV file as the configuration table of a module
 *
 * Columns: `kernel` names a kernel of the module, or several with a glob;
 * `target`, if there is one, a processor, empty for any. The cells of every
 * other column decide its type: integers, floats or strings.
 */
#ifndef KPK_GEN_CONFIG_TABLE_H
#define KPK_GEN_CONFIG_TABLE_H

#include "base/codeobj.h"
#include "pack/contents.h"
#include "read/csv.h"

#include <stdint.h>

struct config_table {
    struct csv *csv; /* the table's text lies here */
    char *name;      /* the file's name less folder and ".csv" */
    size_t kernel_column, target_column; /* csv->ncolumns if there is none */
    size_t *columns;                     /* of csv, for each column of table */
    struct pack_table table;
};

/*
 * config_table_read() reads the CSV and checks it against the kernels of `co`.
 * NULL on failure, with `FILE:LINE: what` in error.
 */
struct config_table *config_table_read(const char *path,
                                       const struct codeobj *co,
                                       char error[CSV_ERROR_MAX]);
void config_table_free(struct config_table *table);

/*
 * config_column_type() finds the type of a file's column: the type of its first
 * cell, or float if that is integer and a later cell is a float.
 *
 *   empty_is_zero  whether an empty cell fits any type
 *   known          false if all cells are empty; the type is string then
 *
 * False if cells have conflicting types, with `FILE:LINE: what` in error.
 */
bool config_column_type(const struct csv *csv, size_t column,
                        bool empty_is_zero, enum kpk_cell_type *type,
                        bool *known, char error[CSV_ERROR_MAX]);

/* Whether a row's target is a processor. */
bool config_is_processor(const char *name);

#endif
