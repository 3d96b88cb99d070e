/* part.c - writes the C of one part of a pack
 *
 * Strings stand in one array and are referred to by offset, so that a table
 * costs no relocation per kernel (kpack/format.h). Lists of arguments that
 * kernels share are written once: hand-written kernels of a kind mostly take
 * the same. C has no empty arrays: each ends with a row that no count reaches.
 */
#include "write/part.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc_or_exit.h"
#include "util/text_table.h"
#include "write/blob.h"
#include "write/blob_symbol.h"
#include "write/records.h"
#include "write/table_index.h"

enum { BLOB_ALIGNMENT = 64 };

struct writer {
    FILE *f, *bin;
    const struct pack_part *part;
    struct strings *strings;
};

static unsigned text(const struct writer *w, const char *string)
{
    const uint32_t at = strings_add(w->strings, string);

    if (at == UINT32_MAX) {
        fputs("kpack-gen: no memory or room for strings\n", stderr);
        exit(1);
    }
    return at;
}

char *part_symbol(const struct pack_part *part)
{
    return alloc_text("%s_%s__%s", part->imported ? "kpk_i" : "kpk_module",
                      part->pack, part->name);
}

/* ---- kernels and arguments ----------------------------------------------- */

/* The argument lists written so far; kernels with equal lists share one. */
struct arg_lists {
    struct {
        const struct codeobj_kernel *kernel; /* a kernel with the list */
        size_t first;
    } * lists;
    size_t n;
    size_t nargs;
};

static bool same_list(const struct codeobj_kernel *a,
                      const struct codeobj_kernel *b)
{
    if (a->nargs != b->nargs)
        return false;
    for (size_t i = 0; i < a->nargs; i++)
        if (a->args[i].offset != b->args[i].offset ||
            a->args[i].size != b->args[i].size ||
            a->args[i].kind != b->args[i].kind ||
            strcmp(a->args[i].name, b->args[i].name) != 0)
            return false;
    return true;
}

/* Writes the kernel's arguments unless equal ones were written. The number of
 * the first one. Most kernels have the list of the kernel before. */
static size_t first_arg(const struct writer *w, struct arg_lists *lists,
                        const struct codeobj_kernel *k)
{
    enum { LOOK_BACK = 64 };
    const size_t stop = lists->n > LOOK_BACK ? lists->n - LOOK_BACK : 0;
    const size_t first = lists->nargs;

    for (size_t i = lists->n; i-- > stop;)
        if (same_list(lists->lists[i].kernel, k))
            return lists->lists[i].first;
    lists->lists = alloc_grow(lists->lists, lists->n, sizeof(*lists->lists));
    lists->lists[lists->n].kernel = k;
    lists->lists[lists->n++].first = first;
    for (size_t i = 0; i < k->nargs; i++)
        record_write_arg(w->f, text(w, k->args[i].name), &k->args[i]);
    lists->nargs += k->nargs;
    return first;
}

/* Calls `write` for the kernels of all modules, numbered. */
static size_t each_kernel(const struct writer *w, void *context,
                          void (*write)(const struct writer *w, void *context,
                                        size_t number,
                                        const struct codeobj_kernel *k))
{
    size_t n = 0;

    for (size_t m = 0; m < w->part->nmodules; m++) {
        const struct pack_module *module = &w->part->modules[m];
        const struct codeobj *co;

        if (module->nobjects == 0)
            continue;
        co = module->reference;
        for (size_t i = 0; i < co->nkernels; i++, n++)
            if (write)
                write(w, context, n, &co->kernels[i]);
    }
    return n;
}

struct firsts {
    struct arg_lists lists;
    size_t *first; /* first argument's number, per kernel */
};

static void write_args(const struct writer *w, void *context, size_t number,
                       const struct codeobj_kernel *k)
{
    struct firsts *firsts = context;

    firsts->first[number] = first_arg(w, &firsts->lists, k);
}

static void write_kernel(const struct writer *w, void *context, size_t number,
                         const struct codeobj_kernel *k)
{
    const struct firsts *firsts = context;

    fprintf(w->f, "    {%u, %zu, %zu, %u},\n", text(w, k->name),
            firsts->first[number], k->nargs,
            (unsigned)codeobj_packed_nbytes(k));
}

static void write_kernels(const struct writer *w)
{
    struct firsts firsts = {{0}, NULL};

    firsts.first = alloc_new(each_kernel(w, NULL, NULL), sizeof(size_t));
    fputs("static const struct kpk_arg_desc args[] = {\n"
          "    /* name, offset, size, kind */\n",
          w->f);
    each_kernel(w, &firsts, write_args);
    fputs("    {0, 0, 0, 0}, /* ends the list */\n};\n\n"
          "static const struct kpk_kernel_desc kernels[] = {\n"
          "    /* name, first argument, arguments, their end */\n",
          w->f);
    each_kernel(w, &firsts, write_kernel);
    fputs("    {0, 0, 0, 0}, /* ends the list */\n};\n\n", w->f);
    free(firsts.lists.lists);
    free(firsts.first);
}

/* ---- code objects -------------------------------------------------------- */

/* Calls `write` for the code objects of all modules. */
static void each_object(const struct writer *w,
                        void (*write)(const struct writer *w,
                                      const struct pack_module *module,
                                      const struct pack_object *object))
{
    for (size_t m = 0; m < w->part->nmodules; m++) {
        const struct pack_module *module = &w->part->modules[m];

        for (size_t i = 0; i < module->nobjects; i++)
            write(w, module, module->objects[i]);
    }
}

static void write_declaration(const struct writer *w,
                              const struct pack_module *module,
                              const struct pack_object *object)
{
    char symbol[BLOB_SYMBOL_MAX];

    blob_symbol(symbol, w->part->pack, module->name, object->co->target);
    fprintf(w->f, "extern HIDDEN const unsigned char %s[];\n", symbol);
}

static void write_attrs(const struct writer *w,
                        const struct pack_module *module,
                        const struct pack_object *object)
{
    (void)module;
    fprintf(w->f, "    /* %s */\n", object->co->target);
    for (size_t i = 0; i < object->co->nkernels; i++)
        record_write_attrs(w->f, &object->co->kernels[i].attrs);
}

/* Head and bytes go to the file of all code objects, aligned. */
static void write_blob(const struct writer *w, const struct pack_module *module,
                       const struct codeobj *co)
{
    blob_write_plain_head(w->bin, w->part->pack, module->name, co);
    (void)fwrite(co->data, co->nbytes, 1, w->bin);
    do { /* one NUL at least */
        if (fputc(0, w->bin) == EOF)
            break;
    } while (ftell(w->bin) % BLOB_ALIGNMENT);
}

/* Whether the object calls a kernel otherwise than the table. */
static bool has_symbols(const struct codeobj *co)
{
    for (size_t i = 0; i < co->nkernels; i++)
        if (co->kernels[i].symbol)
            return true;
    return false;
}

static void write_symbols(const struct writer *w,
                          const struct pack_module *module,
                          const struct pack_object *object)
{
    const struct codeobj *co = object->co;

    (void)module;
    if (!has_symbols(co))
        return;
    fprintf(w->f, "static const uint32_t symbols_%s[] = {", co->target);
    for (size_t i = 0; i < co->nkernels; i++) {
        const struct codeobj_kernel *k = &co->kernels[i];

        fprintf(w->f, "%s%u,", i % 8 ? " " : "\n    ",
                text(w, k->symbol ? k->symbol : k->name));
    }
    fputs("\n};\n\n", w->f);
}

static void write_object(const struct writer *w,
                         const struct pack_module *module,
                         const struct pack_object *object, size_t first_attrs)
{
    const struct codeobj *co = object->co;
    char blob[BLOB_SYMBOL_MAX];

    if (w->bin) {
        snprintf(blob, sizeof(blob), "(data + %ld)", ftell(w->bin));
        write_blob(w, module, co);
    } else {
        blob_symbol(blob, w->part->pack, module->name, co->target);
    }
    fprintf(w->f,
            "    {.target = %u, /* %s */\n"
            "     .cov = %u, .blob = (const struct kpk_blob *)%s,\n"
            "     .attrs = attrs + %zu,\n     .sha256 = {",
            text(w, co->target), co->target, co->cov, blob, first_attrs);
    record_write_sha256(w->f, object->sha256);
    fputs("}", w->f);
    if (has_symbols(co))
        fprintf(w->f, ",\n     .symbols = symbols_%s", co->target);
    fputs("},\n", w->f);
}

static void write_objects(const struct writer *w)
{
    size_t nattrs = 0;

    fputs("/* kernarg, its alignment, LDS, scratch, block, required block,\n"
          " * VGPRs, AGPRs, SGPRs, VGPR and SGPR spills, wave, dynamic stack, "
          "hidden,\n * waits, 0, least dynamic shared memory */\n"
          "static const struct kpk_kernel_attrs attrs[] = {\n",
          w->f);
    each_object(w, write_attrs);
    fputs("    {.kernarg_nbytes = 0}, /* ends the list */\n};\n\n", w->f);
    each_object(w, write_symbols);
    fputs("static const struct kpk_code_object objects[] = {\n", w->f);
    for (size_t m = 0; m < w->part->nmodules; m++) {
        const struct pack_module *module = &w->part->modules[m];

        for (size_t i = 0; i < module->nobjects; i++) {
            write_object(w, module, module->objects[i], nattrs);
            nattrs += module->objects[i]->co->nkernels;
        }
    }
    fputs("    {.target = 0}, /* ends the list */\n};\n\n", w->f);
}

/* ---- configuration tables ------------------------------------------------ */

static void write_row_cells(const struct writer *w, const struct pack_table *t,
                            size_t r)
{
    fputs("   ", w->f);
    for (size_t c = 0; c < t->ncolumns; c++) {
        const enum kpk_cell_type type = t->columns[c].type;
        const char *cell = t->rows[r].cells[c];

        fputc(' ', w->f);
        record_write_cell(w->f, type, cell,
                          type == KPK_CELL_STRING ? text(w, cell) : 0);
        fputc(',', w->f);
    }
    fputc('\n', w->f);
}

/* Writes the arrays behind table number n of the part. */
static void write_table(const struct writer *w, const struct pack_table *t,
                        size_t n)
{
    fprintf(w->f, "static const struct kpk_column columns_%zu[] = {\n", n);
    for (size_t c = 0; c < t->ncolumns; c++)
        record_write_column(w->f, text(w, t->columns[c].name),
                            t->columns[c].type);
    fprintf(w->f,
            "    {0, 0},\n};\nstatic const struct kpk_row_key keys_%zu[] = {\n",
            n);
    for (size_t r = 0; r < t->nrows; r++)
        fprintf(w->f, "    {%u, %u, %zu},\n", (unsigned)t->rows[r].kernel,
                text(w, t->rows[r].target), t->rows[r].module);
    fprintf(w->f,
            "    {0, 0, 0},\n};\nstatic const union kpk_cell_data cells_%zu[] "
            "= {\n",
            n);
    for (size_t r = 0; r < t->nrows; r++)
        write_row_cells(w, t, r);
    fputs("    {0},\n};\n\n", w->f);
    table_index_write(w->f, t, n);
}

static void write_tables(const struct writer *w)
{
    const struct pack_part *part = w->part;
    char *symbol = part_symbol(part);
    size_t n = 0;

    for (size_t m = 0; m < part->nmodules; m++)
        for (size_t t = 0; t < part->modules[m].ntables; t++)
            write_table(w, part->modules[m].tables[t], n++);
    if (part->imported)
        fprintf(w->f, "extern HIDDEN const struct kpk_module %s[];\n", symbol);
    fputs("static const struct kpk_table tables[] = {\n", w->f);
    n = 0;
    for (size_t m = 0; m < part->nmodules; m++)
        for (size_t i = 0; i < part->modules[m].ntables; i++, n++) {
            const struct pack_table *t = part->modules[m].tables[i];

            fprintf(w->f,
                    "    {%u, %zu, %zu, columns_%zu, keys_%zu, cells_%zu, %s, "
                    "index_%zu},\n",
                    text(w, t->name), t->ncolumns, t->nrows, n, n, n,
                    t->spans ? symbol : "0", n);
        }
    fputs("    {.name = 0}, /* ends the list */\n};\n\n", w->f);
    free(symbol);
}

/* ---- modules ------------------------------------------------------------- */

/* The same C code serves compressed and plain packs; the makefile's rules
 * choose when they compile it. */
static void write_codec(const struct writer *w)
{
    const char *pack = w->part->pack;

    fprintf(w->f,
            "#ifdef KPK_COMPRESSED\n"
            "extern HIDDEN const struct kpk_codec kpk_i_%s__codec;\n"
            "extern HIDDEN const unsigned char kpk_i_%s__dictionary[];\n"
            "extern HIDDEN struct kpk_cache kpk_i_%s__dictionary_cache;\n"
            "static struct kpk_cache caches[%zu];\n"
            "#define CODEC .codec = &kpk_i_%s__codec, \\\n"
            "    .dictionary = (const struct kpk_blob *)kpk_i_%s__dictionary, "
            "\\\n"
            "    .caches = caches, .dictionary_cache = "
            "&kpk_i_%s__dictionary_cache,\n"
            "#else\n"
            "#define CODEC\n"
            "#endif\n\n",
            pack, pack, pack, w->part->modules[0].nobjects, pack, pack, pack);
}

static void write_module(const struct writer *w, const struct pack_module *m,
                         size_t kernel, size_t object, size_t table)
{
    fprintf(w->f,
            "{.format = KPK_FORMAT_VERSION, .name = %u, .strings = strings,\n"
            "     .kernels = kernels + %zu, .nkernels = %zu, .args = args,\n"
            "     .objects = objects + %zu, .nobjects = %zu,\n"
            "     .tables = tables + %zu, .ntables = %zu,%s}",
            text(w, m->name), kernel, m->nobjects ? m->reference->nkernels : 0,
            object, m->nobjects, table, m->ntables,
            w->part->imported ? "" : "\n     CODEC\n    ");
}

static void write_modules(const struct writer *w)
{
    const struct pack_part *part = w->part;
    char *symbol = part_symbol(part);
    const char *array = part->imported ? "[]" : "";
    size_t kernel = 0, object = 0, table = 0;

    fprintf(w->f, "extern HIDDEN const struct kpk_module %s%s;\n", symbol,
            array);
    fprintf(w->f, "const struct kpk_module %s%s =%s\n    ", symbol, array,
            part->imported ? " {" : "");
    for (size_t i = 0; i < part->nmodules; i++) {
        const struct pack_module *m = &part->modules[i];

        write_module(w, m, kernel, object, table);
        fputs(part->imported ? ",\n    " : "", w->f);
        kernel += m->nobjects ? m->reference->nkernels : 0;
        object += m->nobjects;
        table += m->ntables;
    }
    fputs(part->imported ? "};\n\n" : ";\n", w->f);
    /* For programs that have one pack and declare a module themselves; the
     * pack's own table and its header use the full name. */
    if (!part->imported)
        fprintf(w->f,
                "extern HIDDEN const struct kpk_module kpk_module_%s\n"
                "    __attribute__((weak, alias(\"%s\")));\n",
                part->name, symbol);
    free(symbol);
}

/* ---- the whole ----------------------------------------------------------- */

/* The strings stand behind all that counts in them and before the modules. */
void part_write(FILE *f, FILE *bin, const struct pack_part *part)
{
    const struct writer w = {f, bin, part, strings_new()};

    if (!w.strings) {
        fputs("kpack-gen: out of memory\n", stderr);
        exit(1);
    }
    record_write_top(f, part->imported ? "kind" : "module", part->name);
    if (bin) {
        fprintf(f,
                "extern HIDDEN const unsigned char kpk_i_%s_%s_data[];\n"
                "#define data kpk_i_%s_%s_data\n\n",
                part->pack, part->name, part->pack, part->name);
    } else {
        each_object(&w, write_declaration);
        fputc('\n', f);
        write_codec(&w);
    }
    write_kernels(&w);
    write_objects(&w);
    write_tables(&w);
    for (size_t i = 0; i < part->nmodules; i++)
        (void)text(&w, part->modules[i].name);
    strings_write(f, w.strings);
    write_modules(&w);
    strings_free(w.strings);
}
