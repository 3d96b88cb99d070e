/* csv.h - reads the CSV files that lie beside kernels (RFC 4180)
 *
 * The first line that is not empty names the columns. A cell may be quoted; a
 * quote in it is doubled. Spaces around cells that are not quoted do not count.
 * Outside of quotes, comments count as blanks: between slash-star and
 * star-slash, over lines too, and to the end of the line from '#', from '//'
 * that no ':' precedes, and from ';' at the line's start or behind a blank.
 */
#ifndef KPK_GEN_CSV_H
#define KPK_GEN_CSV_H

#include <stddef.h>

#define CSV_ERROR_MAX 512

struct csv {
    char *path;
    size_t ncolumns, nrows;
    char **names;  /* [ncolumns] */
    char **cells;  /* [nrows * ncolumns] */
    size_t *lines; /* [nrows]: number of each row's line, from 1 */
    char *text;    /* text behind names and cells */
};

/*
 * csv_read() reads a file; csv_parse() bytes that are in memory already.
 * NULL on failure, with `FILE:LINE: what` in error. Free with csv_free().
 */
struct csv *csv_read(const char *path, char error[CSV_ERROR_MAX]);
struct csv *csv_parse(const char *path, const char *data, size_t nbytes,
                      char error[CSV_ERROR_MAX]);
void csv_free(struct csv *csv);

/* The column of that name, or csv->ncolumns. */
size_t csv_column(const struct csv *csv, const char *name);

#endif
