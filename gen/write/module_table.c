/* module_table.c - writes build/gen/MODULE.c: struct kpk_module and its parts
 *
 * Strings stand in one array and are referred to by offset, so that a table
 * costs no relocation per kernel (kpack/format.h). Offset 0 is "".
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "write/tables.h"

/* Offsets are handed out in the order of writing: three walks over the same
 * lists (strings, records) must count alike, so each advances through here. */
static uint32_t take(uint32_t *next, const char *text)
{
    uint32_t at = *next;

    if (!*text)
        return 0;
    *next += (uint32_t)strlen(text) + 1;
    return at;
}

static void write_string(FILE *f, const char *text)
{
    if (!*text)
        return;
    fputs("    \"", f);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (isalnum(*c) || strchr("_.:+-$", *c))
            fputc(*c, f);
        else
            fprintf(f, "\\%03o", *c);
    fputs("\\0\"\n", f);
}

static void write_config_strings(FILE *f, const struct config_table *t)
{
    write_string(f, t->name);
    for (size_t c = 0; c < t->ncolumns; c++)
        write_string(f, t->csv->names[t->columns[c]]);
    for (size_t r = 0; r < t->nrows; r++)
        write_string(f, config_table_target(t, r));
    for (size_t r = 0; r < t->nrows; r++)
        for (size_t c = 0; c < t->ncolumns; c++)
            if (t->types[c] == KPK_CELL_STRING)
                write_string(f, config_table_cell(t, r, c));
}

static void write_strings(FILE *f, const char *name,
                          struct codeobj *const *objects, size_t nobjects,
                          struct config_table *const *configs, size_t nconfigs)
{
    const struct codeobj *first = objects[0];

    fputs("static const char strings[] =\n    \"\\0\"\n", f);
    write_string(f, name);
    for (size_t i = 0; i < nobjects; i++)
        write_string(f, objects[i]->target);
    for (size_t i = 0; i < first->nkernels; i++)
        write_string(f, first->kernels[i].name);
    for (size_t i = 0; i < first->nkernels; i++)
        for (size_t j = 0; j < first->kernels[i].nargs; j++)
            write_string(f, first->kernels[i].args[j].name);
    for (size_t i = 0; i < nconfigs; i++)
        write_config_strings(f, configs[i]);
    fputs("    ;\n\n", f);
}

/* C has no empty arrays; a module without kernels or arguments gets a row that
 * no count reaches. */
static void write_kernels(FILE *f, const struct codeobj *co, uint32_t *next)
{
    size_t first_arg = 0;

    fputs("static const struct kpk_kernel_desc kernels[] = {\n"
          "    /* name, first argument, arguments, their end */\n",
          f);
    for (size_t i = 0; i < co->nkernels; i++) {
        const struct codeobj_kernel *k = &co->kernels[i];

        fprintf(f, "    {%u, %zu, %zu, %u},\n", (unsigned)take(next, k->name),
                first_arg, k->nargs, (unsigned)tables_explicit_nbytes(k));
        first_arg += k->nargs;
    }
    fputs(co->nkernels ? "};\n\n" : "    {0, 0, 0, 0},\n};\n\n", f);
}

static void write_args(FILE *f, const struct codeobj *co, uint32_t *next)
{
    size_t n = 0;

    fputs("static const struct kpk_arg_desc args[] = {\n"
          "    /* name, offset, size, kind */\n",
          f);
    for (size_t i = 0; i < co->nkernels; i++) {
        const struct codeobj_kernel *k = &co->kernels[i];

        for (size_t j = 0; j < k->nargs; j++, n++)
            tables_write_arg(f, take(next, k->args[j].name), &k->args[j]);
    }
    fputs(n ? "};\n\n" : "    {0, 0, 0, 0},\n};\n\n", f);
}

static void write_attrs(FILE *f, const struct codeobj *co, size_t index)
{
    fprintf(f,
            "/* %s: kernarg, its alignment, LDS, scratch, block, required "
            "block,\n"
            " * VGPRs, AGPRs, SGPRs, VGPR and SGPR spills, wave, dynamic "
            "stack, hidden */\n"
            "static const struct kpk_kernel_attrs attrs_%zu[] = {\n",
            co->target, index);
    for (size_t i = 0; i < co->nkernels; i++)
        tables_write_attrs(f, &co->kernels[i].attrs);
    if (!co->nkernels)
        fputs("    {0, 0, 0, 0, 0, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, {0, "
              "0}},\n",
              f);
    fputs("};\n\n", f);
}

/*
 * The blob's symbol, as kpack.mk spells it: kpk_i_PACK__MODULE_TARGET with the
 * signs of features as _on and _off and what C does not take as '_'.
 */
static void blob_symbol(char *out, size_t nbytes, const char *pack,
                        const char *module, const char *target)
{
    size_t n = (size_t)snprintf(out, nbytes, "kpk_i_%s__%s_", pack, module);

    for (const char *c = target; *c && n + 5 < nbytes; c++) {
        if (*c == '+')
            n += (size_t)snprintf(out + n, nbytes - n, "_on");
        else if (*c == '-' && (c[1] == ':' || !c[1]))
            n += (size_t)snprintf(out + n, nbytes - n, "_off");
        else
            out[n++] = isalnum((unsigned char)*c) ? *c : '_';
    }
    out[n] = '\0';
}

static void write_blob_declarations(FILE *f, const char *pack, const char *name,
                                    struct codeobj *const *objects,
                                    size_t nobjects)
{
    char symbol[512];

    for (size_t i = 0; i < nobjects; i++) {
        blob_symbol(symbol, sizeof(symbol), pack, name, objects[i]->target);
        fprintf(f, "extern HIDDEN const unsigned char %s[];\n", symbol);
    }
    fputc('\n', f);
}

/* The same table serves a compressed pack and a plain one: the rules say
 * which it is when they compile it. */
static void write_codec(FILE *f, const char *pack, size_t nobjects)
{
    fprintf(f,
            "#ifdef KPK_COMPRESSED\n"
            "extern HIDDEN const struct kpk_codec kpk_i_%s__codec;\n"
            "extern HIDDEN const unsigned char kpk_i_%s__dictionary[];\n"
            "extern HIDDEN struct kpk_cache kpk_i_%s__dictionary_cache;\n"
            "static struct kpk_cache caches[%zu];\n"
            "#define CODEC &kpk_i_%s__codec, \\\n"
            "    (const struct kpk_blob *)kpk_i_%s__dictionary, caches, \\\n"
            "    &kpk_i_%s__dictionary_cache,\n"
            "#else\n"
            "#define CODEC 0, 0, 0, 0,\n"
            "#endif\n\n",
            pack, pack, pack, nobjects, pack, pack, pack);
}

static void write_objects(FILE *f, const char *pack, const char *name,
                          struct codeobj *const *objects, size_t nobjects,
                          uint32_t *next)
{
    char symbol[512];

    fputs("static const struct kpk_code_object objects[] = {\n", f);
    for (size_t i = 0; i < nobjects; i++) {
        const struct codeobj *co = objects[i];
        uint8_t digest[32];

        sha256(co->data, co->nbytes, digest);
        blob_symbol(symbol, sizeof(symbol), pack, name, co->target);
        fprintf(f,
                "    {%u, /* %s */\n"
                "     %u, (const struct kpk_blob *)%s, attrs_%zu,\n"
                "     {",
                (unsigned)take(next, co->target), co->target, co->cov, symbol,
                i);
        tables_write_sha256(f, digest);
        fputs("}},\n", f);
    }
    fputs("};\n\n", f);
}

static void write_cell(FILE *f, const struct config_table *t, size_t row,
                       size_t column, uint32_t *next)
{
    const char *cell = config_table_cell(t, row, column);
    const bool is_text = t->types[column] == KPK_CELL_STRING;

    tables_write_cell(f, t->types[column], cell,
                      is_text ? take(next, cell) : 0);
}

static const char *text_of_cell(const void *table, size_t row, size_t column)
{
    const struct config_table *t = table;

    return column < t->ncolumns ? config_table_cell(t, row, column)
                                : config_table_target(t, row);
}

static enum kpk_cell_type type_of_column(const void *table, size_t column)
{
    return ((const struct config_table *)table)->types[column];
}

/* What one configuration table points to; returns its name's offset. */
static uint32_t write_config(FILE *f, const struct config_table *t,
                             size_t index, uint32_t *next)
{
    const struct tables_cells cells = {t, t->nrows, t->ncolumns, text_of_cell,
                                       type_of_column};
    uint32_t name_at = take(next, t->name);

    fprintf(f, "static const struct kpk_column columns_%zu[] = {\n", index);
    for (size_t c = 0; c < t->ncolumns; c++)
        tables_write_column(f, take(next, t->csv->names[t->columns[c]]),
                            t->types[c]);
    fprintf(f, "%s};\nstatic const struct kpk_row_key keys_%zu[] = {\n",
            t->ncolumns ? "" : "    {0, 0},\n", index);
    for (size_t r = 0; r < t->nrows; r++)
        fprintf(f, "    {%u, %u, 0},\n", (unsigned)t->rows[r].kernel,
                (unsigned)take(next, config_table_target(t, r)));
    fprintf(f, "%s};\nstatic const union kpk_cell_data cells_%zu[] = {\n",
            t->nrows ? "" : "    {0, 0, 0},\n", index);
    for (size_t r = 0; r < t->nrows; r++) {
        fputs("    ", f);
        for (size_t c = 0; c < t->ncolumns; c++) {
            write_cell(f, t, r, c, next);
            fputs(c + 1 < t->ncolumns ? ", " : ",", f);
        }
        fputc('\n', f);
    }
    fprintf(f, "%s};\n\n", t->nrows && t->ncolumns ? "" : "    {0},\n");
    tables_write_index(f, &cells, index);
    return name_at;
}

/* The tables themselves; false if there are none. */
static bool write_configs(FILE *f, struct config_table *const *configs,
                          size_t nconfigs, uint32_t *next)
{
    uint32_t *names_at = calloc(nconfigs ? nconfigs : 1, sizeof(*names_at));

    if (!names_at || nconfigs == 0) {
        free(names_at);
        return false;
    }
    for (size_t i = 0; i < nconfigs; i++)
        names_at[i] = write_config(f, configs[i], i, next);
    fputs("static const struct kpk_table tables[] = {\n", f);
    for (size_t i = 0; i < nconfigs; i++)
        fprintf(f,
                "    {%u, %zu, %zu, columns_%zu, keys_%zu, cells_%zu, "
                "0, index_%zu},\n",
                (unsigned)names_at[i], configs[i]->ncolumns, configs[i]->nrows,
                i, i, i, i);
    fputs("};\n\n", f);
    free(names_at);
    return true;
}

void tables_write_module(FILE *f, const char *pack, const char *name,
                         struct codeobj *const *objects, size_t nobjects,
                         struct config_table *const *configs, size_t nconfigs)
{
    const char *tables;
    uint32_t next = 1;
    uint32_t name_at = take(&next, name);

    fprintf(f,
            "/* Written by kpack-gen; do not edit. The table of module %s. */\n"
            "#include \"kpack/format.h\"\n\n"
            "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n",
            name);
    write_blob_declarations(f, pack, name, objects, nobjects);
    write_codec(f, pack, nobjects);
    write_strings(f, name, objects, nobjects, configs, nconfigs);
    for (size_t i = 0; i < nobjects; i++)
        write_attrs(f, objects[i], i);
    write_objects(f, pack, name, objects, nobjects, &next);
    write_kernels(f, objects[0], &next);
    write_args(f, objects[0], &next);
    tables = write_configs(f, configs, nconfigs, &next) ? "tables" : "0";
    /* The short name is for programs that have one pack and declare a module
     * themselves; the pack's own table and its header use the full one. */
    fprintf(f,
            "extern HIDDEN const struct kpk_module kpk_module_%s__%s;\n"
            "const struct kpk_module kpk_module_%s__%s = {\n"
            "    KPK_FORMAT_VERSION, %u, strings, kernels, args, objects, %zu, "
            "%zu,\n    %s, %zu,\n    CODEC\n};\n"
            "extern HIDDEN const struct kpk_module kpk_module_%s\n"
            "    __attribute__((weak, alias(\"kpk_module_%s__%s\")));\n",
            pack, name, pack, name, (unsigned)name_at, objects[0]->nkernels,
            nobjects, tables, nconfigs, name, pack, name);
}
