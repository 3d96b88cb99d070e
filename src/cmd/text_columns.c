/* text_columns.c - text in aligned columns on standard output */
#include "text_columns.h"
#include "xmalloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    size_t ncolumns;
    bool right[TABLE_MAX_COLUMNS];
    size_t ncells; /* the titles are the first row */
    size_t room;
    char **cells;
};

static void add(struct table *table, const char *text)
{
    const size_t nbytes = strlen(text) + 1;
    char *cell = cmd_malloc(nbytes);

    if (table->ncells == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->cells =
            cmd_realloc(table->cells, table->room * sizeof(*table->cells));
    }
    memcpy(cell, text, nbytes);
    table->cells[table->ncells++] = cell;
}

struct table *table_new(const char *titles)
{
    struct table *table = cmd_calloc(1, sizeof(*table));
    const char *at = titles;

    while (*at && table->ncolumns < TABLE_MAX_COLUMNS) {
        char title[32];
        size_t n;

        table->right[table->ncolumns] = *at == '>';
        at += *at == '>';
        n = strcspn(at, " ");
        (void)snprintf(title, sizeof(title), "%.*s", (int)n, at);
        table->ncolumns++;
        add(table, title);
        at += n + (at[n] == ' ');
    }
    return table;
}

void table_cell(struct table *table, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add(table, text);
}

static void print_cell(const struct table *table, size_t i, size_t width)
{
    const char *text = table->cells[i];
    const size_t column = i % table->ncolumns;
    const int pad = (int)(width - strlen(text));
    const bool last = column + 1 == table->ncolumns;

    if (table->right[column])
        printf("%*s%s", pad, "", text);
    else
        printf("%s%*s", text, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", stdout);
}

void table_print(struct table *table)
{
    size_t widths[TABLE_MAX_COLUMNS] = {0};

    for (size_t i = 0; i < table->ncells; i++) {
        size_t n = strlen(table->cells[i]);

        if (widths[i % table->ncolumns] < n)
            widths[i % table->ncolumns] = n;
    }
    for (size_t i = 0; i < table->ncells; i++) {
        print_cell(table, i, widths[i % table->ncolumns]);
        free(table->cells[i]);
    }
    free(table->cells);
    free(table);
}
