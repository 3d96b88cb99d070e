/* csv.c - reads the CSV files beside kernels (RFC 4180) */
#include "read/csv.h"

#include "util/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds that no configuration table comes near; a hostile file must not make
 * the build allocate without end. */
#define MAX_BYTES ((size_t)64 << 20)
#define MAX_COLUMNS 256

struct reader {
    struct csv *csv;
    char *at, *end; /* unread text; cells are cut out of it in place */
    size_t line;
    size_t room; /* rows that cells and lines have room for */
    char *error;
};

static bool fail(struct reader *r, const char *what)
{
    snprintf(r->error, CSV_ERROR_MAX, "%.300s:%zu: %s", r->csv->path, r->line,
             what);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(char **begin, char *end)
{
    while (*begin < end && is_blank(**begin))
        (*begin)++;
    while (end > *begin && is_blank(end[-1]))
        end--;
    *end = '\0';
}

/* Cuts a quoted cell out; at points behind its closing quote afterwards. */
static bool quoted_cell(struct reader *r, char **out)
{
    char *to = ++r->at;

    *out = to;
    for (; r->at < r->end; r->at++) {
        if (*r->at == '\n')
            return fail(r, "a quoted cell is not closed on its line");
        if (*r->at == '"' && r->at + 1 < r->end && r->at[1] == '"')
            r->at++;
        else if (*r->at == '"')
            break;
        *to++ = *r->at;
    }
    if (r->at == r->end)
        return fail(r, "a quoted cell is not closed");
    *to = '\0';
    r->at++;
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    if (r->at < r->end && *r->at != ',' && *r->at != '\n' && *r->at != '\r')
        return fail(r, "text follows a quoted cell");
    return true;
}

/* Takes one cell; *last: the line's last one. */
static bool next_cell(struct reader *r, char **out, bool *last)
{
    char *begin = r->at, *stop;

    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    if (r->at < r->end && *r->at == '"') {
        if (!quoted_cell(r, out))
            return false;
        stop = NULL;
    } else {
        while (r->at < r->end && *r->at != ',' && *r->at != '\n')
            r->at++;
        stop = r->at;
        *out = begin;
    }
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    *last = r->at == r->end || *r->at != ',';
    if (r->at < r->end)
        r->at++;
    if (stop) {
        if (stop > begin && stop[-1] == '\r')
            stop--;
        trim(out, stop);
    }
    return true;
}

/* One line's cells into `cells`, which has room for MAX_COLUMNS. */
static bool next_line(struct reader *r, char **cells, size_t *n)
{
    bool last = false;

    for (*n = 0; !last; (*n)++) {
        if (*n == MAX_COLUMNS)
            return fail(r, "more than 256 columns");
        if (!next_cell(r, &cells[*n], &last))
            return false;
    }
    return true;
}

/* Whether a comment begins at text[i] that goes on to the end of its line. */
static bool at_line_comment(const char *text, size_t i)
{
    char before = '\n';

    if (i)
        before = text[i - 1];
    return text[i] == '#' ||
           (text[i] == '/' && text[i + 1] == '/' && before != ':') ||
           (text[i] == ';' && (is_blank(before) || before == '\n'));
}

/* Puts blanks in the place of comments, so that lines keep their numbers. A
 * quoted cell holds no comment. An unclosed cell ends with its line. The text
 * ends with a NUL. */
static void blank_comments(char *text)
{
    bool quoted = false;

    for (size_t i = 0; text[i];) {
        size_t end = i;

        if (text[i] == '\n')
            quoted = false;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && text[i] == '/' && text[i + 1] == '*') {
            const char *close = strstr(text + i + 2, "*/");

            end = close ? (size_t)(close - text) + 2 : i + strlen(text + i);
        } else if (!quoted && at_line_comment(text, i)) {
            end = i + strcspn(text + i, "\n");
        }
        if (end == i)
            i++; /* no comment */
        for (; i < end; i++)
            if (text[i] != '\n' && text[i] != '\r')
                text[i] = ' ';
    }
}

/* Skips empty lines; false at the end of the text. */
static bool at_line(struct reader *r)
{
    for (; r->at < r->end; r->line++) {
        char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        size_t n = (size_t)((stop ? stop : r->end) - r->at);

        if (strspn(r->at, " \t\r") < n)
            return true;
        r->at = stop ? stop + 1 : r->end;
    }
    return false;
}

static bool read_names(struct reader *r)
{
    struct csv *csv = r->csv;
    char *cells[MAX_COLUMNS];

    if (!at_line(r))
        return fail(r, "the file names no columns");
    if (!next_line(r, cells, &csv->ncolumns))
        return false;
    csv->names = malloc(csv->ncolumns * sizeof(*csv->names));
    if (!csv->names)
        return fail(r, "out of memory");
    memcpy(csv->names, cells, csv->ncolumns * sizeof(*csv->names));
    for (size_t i = 0; i < csv->ncolumns; i++) {
        if (!*csv->names[i])
            return fail(r, "a column has no name");
        if (csv_column(csv, csv->names[i]) != i)
            return fail(r, "two columns have one name");
    }
    r->line++;
    return true;
}

static bool more_room(struct reader *r)
{
    struct csv *csv = r->csv;
    size_t room = r->room ? 2 * r->room : 64;
    void *cells =
        realloc(csv->cells, room * csv->ncolumns * sizeof(*csv->cells));
    void *lines;

    if (!cells)
        return fail(r, "out of memory");
    csv->cells = cells;
    lines = realloc(csv->lines, room * sizeof(*csv->lines));
    if (!lines)
        return fail(r, "out of memory");
    csv->lines = lines;
    r->room = room;
    return true;
}

static bool read_rows(struct reader *r)
{
    struct csv *csv = r->csv;
    char *cells[MAX_COLUMNS], why[80];
    size_t n;

    for (; at_line(r); r->line++) {
        if (!next_line(r, cells, &n))
            return false;
        if (n != csv->ncolumns) {
            snprintf(why, sizeof(why), "%zu cells where %zu columns are named",
                     n, csv->ncolumns);
            return fail(r, why);
        }
        if (csv->nrows == r->room && !more_room(r))
            return false;
        memcpy(csv->cells + csv->nrows * n, cells, n * sizeof(*cells));
        csv->lines[csv->nrows++] = r->line;
    }
    return true;
}

struct csv *csv_parse(const char *path, const char *data, size_t nbytes,
                      char error[CSV_ERROR_MAX])
{
    struct csv *csv = calloc(1, sizeof(*csv));
    struct reader r = {.csv = csv, .line = 1, .error = error};

    snprintf(error, CSV_ERROR_MAX, "%.300s: out of memory", path);
    if (!csv)
        return NULL;
    csv->path = strdup(path);
    csv->text = malloc(nbytes + 1);
    if (!csv->path || !csv->text)
        goto failed;
    memcpy(csv->text, data, nbytes);
    csv->text[nbytes] = '\0';
    if (memchr(data, '\0', nbytes)) {
        snprintf(error, CSV_ERROR_MAX, "%.300s: not a text file", path);
        goto failed;
    }
    blank_comments(csv->text);
    r.at = csv->text;
    if (nbytes >= 3 && memcmp(r.at, "\xef\xbb\xbf", 3) == 0)
        r.at += 3; /* the byte order mark of UTF-8 */
    r.end = csv->text + nbytes;
    if (read_names(&r) && read_rows(&r))
        return csv;
failed:
    csv_free(csv);
    return NULL;
}

struct csv *csv_read(const char *path, char error[CSV_ERROR_MAX])
{
    struct csv *csv;
    unsigned char *data;
    size_t nbytes;
    char why[FILE_ERROR_MAX];

    if (!file_read(path, MAX_BYTES, &data, &nbytes, why)) {
        snprintf(error, CSV_ERROR_MAX, "%.300s: %s", path, why);
        return NULL;
    }
    csv = csv_parse(path, (const char *)data, nbytes, error);
    free(data);
    return csv;
}

void csv_free(struct csv *csv)
{
    if (!csv)
        return;
    free(csv->path);
    free(csv->names);
    free(csv->cells);
    free(csv->lines);
    free(csv->text);
    free(csv);
}

size_t csv_column(const struct csv *csv, const char *name)
{
    size_t i = 0;

    while (i < csv->ncolumns && strcmp(csv->names[i], name) != 0)
        i++;
    return i;
}
