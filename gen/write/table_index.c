/* table_index.c - writes the index by which a configuration table is searched
 *
 * Each column's cells are sorted; a value's number among the column's different
 * values is its code. The order is the runtime's: integers, floats, text as
 * strcmp.
 */
#include "write/table_index.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc_or_exit.h"

struct value {
    enum kpk_cell_type type;
    const char *text;
    int64_t i;
    double f;
    size_t row;
};

static int by_value(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    switch (x->type) {
    case KPK_CELL_INT:
        return (x->i > y->i) - (x->i < y->i);
    case KPK_CELL_FLOAT:
        return (x->f > y->f) - (x->f < y->f);
    default:
        return strcmp(x->text, y->text);
    }
}

/* Sorts by value, equal values by row, so that a table always gives the same
 * bytes. */
static int by_value_and_row(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    const int order = by_value(a, b);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static void sort_column(const struct pack_table *t, size_t column,
                        struct value *values)
{
    for (size_t r = 0; r < t->nrows; r++) {
        const bool is_cell = column < t->ncolumns;
        const char *text =
            is_cell ? t->rows[r].cells[column] : t->rows[r].target;
        const enum kpk_cell_type type =
            is_cell ? t->columns[column].type : KPK_CELL_STRING;

        values[r] = (struct value){.type = type, .text = text, .row = r};
        if (type == KPK_CELL_INT)
            values[r].i = strtoll(text, NULL, 10);
        else if (type == KPK_CELL_FLOAT)
            values[r].f = strtod(text, NULL);
    }
    qsort(values, t->nrows, sizeof(*values), by_value_and_row);
}

/* Codes of a column into [nrows], and a row for each value into `rows`, which
 * has n already; false if there are too many for a code. */
static bool number_values(const struct value *values, size_t nrows,
                          uint16_t *codes, uint32_t *rows, size_t *n)
{
    const size_t first = *n;

    for (size_t k = 0; k < nrows; k++) {
        if (k == 0 || by_value(&values[k - 1], &values[k]) != 0) {
            if (*n - first > UINT16_MAX)
                return false;
            rows[(*n)++] = (uint32_t)values[k].row;
        }
        codes[values[k].row] = (uint16_t)(*n - first - 1);
    }
    return true;
}

static void write_codes(FILE *f, const struct pack_table *t, size_t number,
                        const uint16_t *codes)
{
    fprintf(f, "static const uint16_t codes_%zu[] = {\n", number);
    for (size_t group = 0; group < t->nrows; group += KPK_GROUP_NROWS) {
        for (size_t c = 0; c <= t->ncolumns; c++) {
            fputs("    ", f);
            for (size_t r = group; r < group + KPK_GROUP_NROWS; r++)
                fprintf(f, "%u,", r < t->nrows ? codes[c * t->nrows + r] : 0u);
            fputc('\n', f);
        }
    }
    fputs("    0,\n};\n", f);
}

static void write_numbers(FILE *f, const char *name, size_t number,
                          const uint32_t *numbers, size_t n)
{
    fprintf(f, "static const uint32_t %s_%zu[] = {", name, number);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s%u,", i % 12 ? " " : "\n    ", (unsigned)numbers[i]);
    fputs("\n    0,\n};\n", f);
}

void table_index_write(FILE *f, const struct pack_table *t, size_t number)
{
    const size_t ncolumns = t->ncolumns + 1; /* with the target */
    const size_t ncells = ncolumns * t->nrows;
    struct value *values = alloc_new(t->nrows, sizeof(*values));
    uint16_t *codes = alloc_new(ncells, sizeof(*codes));
    uint32_t *rows = alloc_new(ncells, sizeof(*rows));
    uint32_t *first = alloc_new(ncolumns + 1, sizeof(*first));
    bool good = true;
    size_t n = 0;

    for (size_t c = 0; c < ncolumns && good; c++) {
        sort_column(t, c, values);
        good = number_values(values, t->nrows, codes + c * t->nrows, rows, &n);
        first[c + 1] = (uint32_t)n;
    }
    if (good) {
        write_codes(f, t, number, codes);
        write_numbers(f, "values", number, rows, n);
        write_numbers(f, "first", number, first, ncolumns + 1);
        fprintf(f,
                "static const struct kpk_table_index index_%zu[] = {{codes_%zu,"
                " values_%zu, first_%zu}};\n\n",
                number, number, number, number);
    } else {
        fprintf(f, "#define index_%zu 0\n\n", number);
    }
    free(values);
    free(codes);
    free(rows);
    free(first);
}
