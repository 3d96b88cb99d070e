/* alias.c - the rules by which kernels have second names */
#include "pack/alias.h"

#include <stdio.h>
#include <string.h>

/* The words for types in kernels' names. */
static const struct {
    const char *word, *host;
} words[] = {
    {"u8", "uint8_t"},   {"u16", "uint16_t"}, {"u32", "uint32_t"},
    {"u64", "uint64_t"}, {"i8", "int8_t"},    {"i16", "int16_t"},
    {"i32", "int32_t"},  {"i64", "int64_t"},  {"f16", "kpk_f16"},
    {"f32", "float"},    {"f64", "double"},   {"bf16", "kpk_bf16"},
};

static const char *cell(const struct csv *table, size_t row, const char *name)
{
    const size_t column = csv_column(table, name);

    return column < table->ncolumns
               ? table->cells[row * table->ncolumns + column]
               : "";
}

/* Replaces each `text` in `name`; false if `name` has none, or without room. */
static bool replace(const char *name, const char *text, const char *by,
                    char out[ALIAS_NAME_MAX])
{
    const size_t ntext = strlen(text), nby = strlen(by);
    bool found = false;
    size_t n = 0;

    while (*name) {
        const bool here = ntext && strncmp(name, text, ntext) == 0;

        if (n + (here ? nby : 1) >= ALIAS_NAME_MAX)
            return false;
        memcpy(out + n, here ? by : name, here ? nby : 1);
        n += here ? nby : 1;
        name += here ? ntext : 1;
        found |= here;
    }
    out[n] = '\0';
    return found;
}

bool alias_is_table(const struct csv *table)
{
    return csv_column(table, "module") < table->ncolumns &&
           csv_column(table, "text") < table->ncolumns &&
           csv_column(table, "alias") < table->ncolumns;
}

bool alias_make(const struct csv *table, size_t row, const char *module,
                const char *name, char out[ALIAS_NAME_MAX])
{
    const char *of = cell(table, row, "module");

    return (strcmp(of, "*") == 0 || strcmp(of, module) == 0) &&
           replace(name, cell(table, row, "text"), cell(table, row, "alias"),
                   out);
}

size_t alias_of(const struct csv *table, const char *module, const char *name,
                const char *alias)
{
    char made[ALIAS_NAME_MAX];
    size_t row = 0;

    while (row < table->nrows && !(alias_make(table, row, module, name, made) &&
                                   strcmp(made, alias) == 0))
        row++;
    return row;
}

/* Finds up to two type words in a name, sets hosts[] to their host types and
 * returns their number. */
static size_t types_in(const char *name, const char *hosts[2])
{
    size_t n = 0;

    while (*name) {
        const size_t nbytes = strcspn(name, "_");

        for (size_t i = 0; n < 2 && i < sizeof(words) / sizeof(words[0]); i++)
            if (strlen(words[i].word) == nbytes &&
                strncmp(words[i].word, name, nbytes) == 0)
                hosts[n++] = words[i].host;
        name += nbytes;
        name += *name == '_';
    }
    return n;
}

const char *alias_retype(const struct csv *table, size_t rule, const char *host,
                         bool is_input)
{
    const char *from[2] = {"", ""}, *to[2] = {"", ""};
    const size_t n = types_in(cell(table, rule, "text"), from);
    const size_t which = n == 2 && !is_input;

    if (n == 0 || types_in(cell(table, rule, "alias"), to) != n ||
        strcmp(from[which], host) != 0)
        return host;
    return to[which];
}
