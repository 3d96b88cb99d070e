/* config_table.c - a CSV file as the configuration table of a module */
#include "model/config_table.h"

#include "target_table.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Globs multiply rows; no table of a sane pack comes near. */
#define MAX_ROWS 1000000u

static bool fail(const struct config_table *t, size_t csv_row, char *error,
                 const char *what, const char *text)
{
    snprintf(error, CSV_ERROR_MAX, "%.200s:%zu: %s '%.100s'", t->csv->path,
             t->csv->lines[csv_row], what, text);
    return false;
}

static const char *csv_cell(const struct csv *csv, size_t row, size_t column)
{
    return csv->cells[row * csv->ncolumns + column];
}

const char *config_table_cell(const struct config_table *table, size_t row,
                              size_t column)
{
    return csv_cell(table->csv, table->rows[row].csv_row,
                    table->columns[column]);
}

const char *config_table_target(const struct config_table *table, size_t row)
{
    if (table->target_column == table->csv->ncolumns)
        return "";
    return csv_cell(table->csv, table->rows[row].csv_row, table->target_column);
}

static enum kpk_cell_type type_of(const char *cell)
{
    char *end;

    if (!*cell)
        return KPK_CELL_STRING;
    errno = 0;
    (void)strtoll(cell, &end, 10);
    if (!*end && errno == 0)
        return KPK_CELL_INT;
    errno = 0;
    return isfinite(strtod(cell, &end)) && !*end && errno == 0
               ? KPK_CELL_FLOAT
               : KPK_CELL_STRING;
}

bool config_column_type(const struct csv *csv, size_t column,
                        bool empty_is_zero, enum kpk_cell_type *type,
                        bool *known, char error[CSV_ERROR_MAX])
{
    *known = false;
    *type = KPK_CELL_STRING;
    for (size_t row = 0; row < csv->nrows; row++) {
        const char *cell = csv_cell(csv, row, column);
        const enum kpk_cell_type this_type = type_of(cell);

        if (!*cell && empty_is_zero)
            continue;
        if (!*known || (*type == KPK_CELL_INT && this_type == KPK_CELL_FLOAT))
            *type = this_type;
        *known = true;
        if (this_type != KPK_CELL_STRING || *type == KPK_CELL_STRING)
            continue;
        snprintf(error, CSV_ERROR_MAX,
                 "%.200s:%zu: column %.100s holds numbers above this line, but "
                 "not '%.100s'",
                 csv->path, csv->lines[row], csv->names[column], cell);
        return false;
    }
    return true;
}

bool config_is_processor(const char *name)
{
#define X(processor, ...)                                                      \
    if (strcmp(name, #processor) == 0)                                         \
        return true;
    KPK_PROCESSOR_TABLE(X)
#undef X
    return false;
}

/* Counts, and then writes, the rows that a line of the file stands for. */
static bool expand(struct config_table *t, const struct codeobj *co,
                   char *error)
{
    const struct csv *csv = t->csv;

    for (size_t row = 0; row < csv->nrows; row++) {
        const char *glob = csv_cell(csv, row, t->kernel_column);
        size_t before = t->nrows;

        if (t->target_column < csv->ncolumns) {
            const char *target = csv_cell(csv, row, t->target_column);

            if (*target && !config_is_processor(target))
                return fail(t, row, error, "no such processor:", target);
        }
        for (uint32_t k = 0; k < co->nkernels; k++) {
            if (fnmatch(glob, co->kernels[k].name, 0) != 0)
                continue;
            if (t->nrows == MAX_ROWS)
                return fail(t, row, error, "too many rows at kernel", glob);
            if (t->rows)
                t->rows[t->nrows] = (struct config_row){k, row};
            t->nrows++;
        }
        if (t->nrows == before)
            return fail(t, row, error, "the module has no kernel", glob);
    }
    return true;
}

static int by_kernel(const void *a, const void *b)
{
    const struct config_row *x = a, *y = b;

    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return (x->csv_row > y->csv_row) - (x->csv_row < y->csv_row);
}

static char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');

    return strndup(base, dot ? (size_t)(dot - base) : strlen(base));
}

static bool find_columns(struct config_table *t, char *error)
{
    const struct csv *csv = t->csv;

    t->kernel_column = csv_column(csv, "kernel");
    t->target_column = csv_column(csv, "target");
    if (t->kernel_column == csv->ncolumns) {
        snprintf(error, CSV_ERROR_MAX, "%.300s:1: no column is named 'kernel'",
                 csv->path);
        return false;
    }
    t->columns = calloc(csv->ncolumns, sizeof(*t->columns));
    t->types = calloc(csv->ncolumns, sizeof(*t->types));
    if (!t->columns || !t->types)
        return false;
    for (size_t i = 0; i < csv->ncolumns; i++)
        if (i != t->kernel_column && i != t->target_column)
            t->columns[t->ncolumns++] = i;
    for (size_t i = 0; i < t->ncolumns; i++) {
        bool known;

        if (!config_column_type(csv, t->columns[i], false, &t->types[i], &known,
                                error))
            return false;
    }
    return true;
}

struct config_table *config_table_read(const char *path,
                                       const struct codeobj *co,
                                       char error[CSV_ERROR_MAX])
{
    struct config_table *t = calloc(1, sizeof(*t));

    snprintf(error, CSV_ERROR_MAX, "%.300s: out of memory", path);
    if (!t)
        return NULL;
    t->name = base_name(path);
    if (!t->name)
        goto failed;
    t->csv = csv_read(path, error);
    if (!t->csv || !find_columns(t, error) || !expand(t, co, error))
        goto failed;
    t->rows = calloc(t->nrows ? t->nrows : 1, sizeof(*t->rows));
    if (!t->rows) {
        snprintf(error, CSV_ERROR_MAX, "%.300s: out of memory", path);
        goto failed;
    }
    t->nrows = 0;
    (void)expand(t, co, error); /* the same walk again, writing this time */
    qsort(t->rows, t->nrows, sizeof(*t->rows), by_kernel);
    return t;
failed:
    config_table_free(t);
    return NULL;
}

void config_table_free(struct config_table *table)
{
    if (!table)
        return;
    csv_free(table->csv);
    free(table->name);
    free(table->columns);
    free(table->types);
    free(table->rows);
    free(table);
}
