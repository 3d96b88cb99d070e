/* plain_index.h - the index of a table that is written by hand */
#ifndef PLAIN_INDEX_H
#define PLAIN_INDEX_H

#include "kpack/format.h"

#include <string.h>

static inline int plain_order(const char *strings, const struct kpk_table *t,
                              size_t column, size_t a, size_t b)
{
    const union kpk_cell_data *x = &t->cells[a * t->ncolumns + column];
    const union kpk_cell_data *y = &t->cells[b * t->ncolumns + column];

    if (column == t->ncolumns)
        return strcmp(strings + t->keys[a].target, strings + t->keys[b].target);
    if (t->columns[column].type == KPK_CELL_STRING)
        return strcmp(strings + x->s, strings + y->s);
    if (t->columns[column].type == KPK_CELL_FLOAT)
        return (x->f > y->f) - (x->f < y->f);
    return (x->i > y->i) - (x->i < y->i);
}

/* Room: codes [groups * (ncolumns + 1) * KPK_GROUP_NROWS], rows [nrows *
 * (ncolumns + 1)], first [ncolumns + 2]. */
static inline void plain_index(const char *strings, const struct kpk_table *t,
                               uint16_t *codes, uint32_t *rows, uint32_t *first)
{
    const size_t stride = ((size_t)t->ncolumns + 1) * KPK_GROUP_NROWS;

    first[0] = 0;
    for (size_t c = 0; c <= t->ncolumns; c++) {
        uint32_t *values = rows + first[c];
        size_t n = 0;

        for (uint32_t r = 0; r < t->nrows; r++) {
            size_t at = 0;

            while (at < n && plain_order(strings, t, c, values[at], r) < 0)
                at++;
            if (at < n && plain_order(strings, t, c, values[at], r) == 0)
                continue;
            memmove(values + at + 1, values + at, (n - at) * sizeof(*values));
            values[at] = r;
            n++;
        }
        for (size_t r = 0; r < t->nrows; r++) {
            size_t at = 0;

            while (plain_order(strings, t, c, values[at], r) != 0)
                at++;
            codes[r / KPK_GROUP_NROWS * stride + c * KPK_GROUP_NROWS +
                  r % KPK_GROUP_NROWS] = (uint16_t)at;
        }
        first[c + 1] = first[c] + (uint32_t)n;
    }
}

/* Whether each row's code refers to a row with the same value, and values
 * ascend. */
static inline int plain_index_is_right(const char *strings,
                                       const struct kpk_table *t)
{
    const struct kpk_table_index *index = t->index;
    const size_t stride = ((size_t)t->ncolumns + 1) * KPK_GROUP_NROWS;

    if (!index || index->first[0] != 0)
        return 0;
    for (size_t c = 0; c <= t->ncolumns; c++) {
        const uint32_t *values = index->rows + index->first[c];
        const uint32_t n = index->first[c + 1] - index->first[c];

        for (uint32_t v = 1; v < n; v++)
            if (plain_order(strings, t, c, values[v - 1], values[v]) >= 0)
                return 0;
        for (size_t r = 0; r < t->nrows; r++) {
            const uint16_t code =
                index->codes[r / KPK_GROUP_NROWS * stride +
                             c * KPK_GROUP_NROWS + r % KPK_GROUP_NROWS];

            if (code >= n || plain_order(strings, t, c, values[code], r) != 0)
                return 0;
        }
    }
    return 1;
}

#endif
