/* config_table.c - a CSV file as the configuration table of a module */
#include "pack/config_table.h"

#include "base/target_table.h"
#include "util/file.h"

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
    /* NVIDIA's, and PTX: newer ones than src/base/sm_table.h knows, too */
    const char *digits = strncmp(name, "sm_", 3) == 0        ? name + 3
                         : strncmp(name, "compute_", 8) == 0 ? name + 8
                                                             : "";

    return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

/* A processor, or the beginning of some of AMD's, "gfx1*". */
static bool names_processors(const char *target)
{
    const size_t n = strlen(target);

    if (n == 0 || target[n - 1] != '*')
        return config_is_processor(target);
#define X(processor, ...)                                                      \
    if (strncmp(target, #processor, n - 1) == 0)                               \
        return true;
    KPK_PROCESSOR_TABLE(X)
#undef X
    return false;
}

static const char *target_of(const struct config_table *t, size_t csv_row)
{
    return t->target_column < t->csv->ncolumns
               ? csv_cell(t->csv, csv_row, t->target_column)
               : "";
}

/* Counts the rows that the lines of the file stand for. */
static bool count_rows(struct config_table *t, const struct codeobj *co,
                       char *error)
{
    for (size_t row = 0; row < t->csv->nrows; row++) {
        const char *glob = csv_cell(t->csv, row, t->kernel_column);
        const char *target = target_of(t, row);
        const size_t before = t->table.nrows;

        if (*target && !names_processors(target))
            return fail(t, row, error, "no such processor:", target);
        for (size_t k = 0; k < co->nkernels; k++)
            t->table.nrows += fnmatch(glob, co->kernels[k].name, 0) == 0;
        if (t->table.nrows == before)
            return fail(t, row, error, "the module has no kernel", glob);
        if (t->table.nrows > MAX_ROWS)
            return fail(t, row, error, "too many rows at kernel", glob);
    }
    return true;
}

static bool add_row(struct config_table *t, uint32_t kernel, size_t csv_row)
{
    const char **cells = calloc(t->table.ncolumns + 1, sizeof(*cells));

    if (!cells)
        return false;
    for (size_t c = 0; c < t->table.ncolumns; c++)
        cells[c] = csv_cell(t->csv, csv_row, t->columns[c]);
    t->table.rows[t->table.nrows++] =
        (struct pack_row){0, kernel, target_of(t, csv_row), cells};
    return true;
}

/* By kernel, then as in the file. */
static bool add_rows(struct config_table *t, const struct codeobj *co)
{
    t->table.rows = calloc(t->table.nrows + 1, sizeof(*t->table.rows));
    if (!t->table.rows)
        return false;
    t->table.nrows = 0;
    for (uint32_t k = 0; k < co->nkernels; k++)
        for (size_t row = 0; row < t->csv->nrows; row++)
            if (fnmatch(csv_cell(t->csv, row, t->kernel_column),
                        co->kernels[k].name, 0) == 0 &&
                !add_row(t, k, row))
                return false;
    return true;
}

static char *base_name(const char *path)
{
    const char *base = file_name(path);
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
    t->table.columns = calloc(csv->ncolumns, sizeof(*t->table.columns));
    if (!t->columns || !t->table.columns)
        return false;
    for (size_t i = 0; i < csv->ncolumns; i++) {
        struct pack_column *column = &t->table.columns[t->table.ncolumns];

        if (i == t->kernel_column || i == t->target_column)
            continue;
        column->name = csv->names[i];
        t->columns[t->table.ncolumns++] = i;
        if (!config_column_type(csv, i, false, &column->type, &column->known,
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
    if (!t->csv || !find_columns(t, error) || !count_rows(t, co, error))
        goto failed;
    t->table.name = t->name;
    if (!add_rows(t, co)) {
        snprintf(error, CSV_ERROR_MAX, "%.300s: out of memory", path);
        goto failed;
    }
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
    free(table->table.columns);
    for (size_t r = 0; table->table.rows && r < table->table.nrows; r++)
        free(table->table.rows[r].cells);
    free(table->table.rows);
    free(table);
}
