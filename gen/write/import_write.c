/* import_write.c - writes an imported pack: a table and a data file a kind
 *
 *   kind.KIND.c    modules and tables of a kind, and the pack kpk_PACK_KIND
 *   kind.KIND.bin  its code objects, each with its head (struct kpk_blob)
 *   pack.c         the pack of all kinds, kpk_PACK
 *   PACK.h         the header
 *   kinds.mk       IMPORT_KINDS, for the rules that compile all this; it comes
 *                  last, so that a run that was broken off is done again
 *
 * Lists of arguments that kernels share are written once: hand-written kernels
 * of a kind mostly take the same. The same tree gives the same bytes.
 */
#include "model/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text_table.h"
#include "write/blob.h"
#include "write/tables.h"

enum { BLOB_ALIGNMENT = 64 };

/* Kinds that have one name in C. */
struct kind {
    char *name;      /* part of C identifiers */
    size_t *modules; /* numbers in import.modules, sorted by name */
    size_t nmodules;
    struct import_table **tables; /* sorted by kind and name */
    size_t ntables;
};

struct writer {
    const struct import *in;
    const char *out;
    struct kind *kinds; /* sorted by name */
    size_t nkinds;
    size_t *index; /* of each module of the import in its kind */
};

/* ---- kinds --------------------------------------------------------------- */

static char *c_name(const char *kind)
{
    char *name = import_text("%s", *kind ? kind : "top");

    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return name;
}

static struct kind *find_kind(struct writer *w, const char *kind)
{
    char *name = c_name(kind);

    for (size_t i = 0; i < w->nkinds; i++)
        if (strcmp(w->kinds[i].name, name) == 0) {
            free(name);
            return &w->kinds[i];
        }
    w->kinds = import_grow(w->kinds, w->nkinds, sizeof(*w->kinds));
    w->kinds[w->nkinds] = (struct kind){.name = name};
    return &w->kinds[w->nkinds++];
}

static int by_kind_name(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void make_kinds(struct writer *w)
{
    const struct import *in = w->in;

    for (size_t m = 0; m < in->nmodules; m++)
        (void)find_kind(w, in->modules[m].kind);
    for (size_t t = 0; t < in->ntables; t++)
        (void)find_kind(w, in->tables[t].kind);
    if (w->kinds)
        qsort(w->kinds, w->nkinds, sizeof(*w->kinds), by_kind_name);
    w->index = import_alloc(in->nmodules, sizeof(*w->index));
    for (size_t m = 0; m < in->nmodules; m++) {
        struct kind *k = find_kind(w, in->modules[m].kind);

        k->modules = import_grow(k->modules, k->nmodules, sizeof(*k->modules));
        w->index[m] = k->nmodules;
        k->modules[k->nmodules++] = m;
    }
    for (size_t t = 0; t < in->ntables; t++) {
        struct kind *k = find_kind(w, in->tables[t].kind);

        k->tables = import_grow(k->tables, k->ntables, sizeof(*k->tables));
        k->tables[k->ntables++] = &in->tables[t];
    }
}

/* ---- one kind ------------------------------------------------------------ */

/* Where lists of arguments begin that were written already. */
struct arg_lists {
    struct {
        const struct codeobj_kernel *kernel; /* one that has the list */
        size_t first;
    } * lists;
    size_t n;
    size_t nargs;
};

static uint32_t text(struct strings *s, const char *string)
{
    const uint32_t at = strings_add(s, string);

    if (at == UINT32_MAX) {
        fputs("kpack-gen: no memory or room for strings\n", stderr);
        exit(1);
    }
    return at;
}

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

/* The first argument's number; writes those that are new. Few lists differ, and
 * a kernel's is mostly that of the kernel before. */
static size_t first_arg(FILE *f, struct strings *s, struct arg_lists *lists,
                        const struct codeobj_kernel *k)
{
    enum { LOOK_BACK = 64 };
    const size_t stop = lists->n > LOOK_BACK ? lists->n - LOOK_BACK : 0;
    const size_t first = lists->nargs;

    for (size_t i = lists->n; i-- > stop;)
        if (same_list(lists->lists[i].kernel, k))
            return lists->lists[i].first;
    lists->lists = import_grow(lists->lists, lists->n, sizeof(*lists->lists));
    lists->lists[lists->n].kernel = k;
    lists->lists[lists->n++].first = first;
    for (size_t i = 0; i < k->nargs; i++)
        tables_write_arg(f, text(s, k->args[i].name), &k->args[i]);
    lists->nargs += k->nargs;
    return first;
}

static const struct import_object *object_of(const struct writer *w, size_t m,
                                             size_t i)
{
    return w->in->order[w->in->modules[m].first + i];
}

/* Arguments go straight to the file, kernels are kept until they have ended. */
static void write_kernels(FILE *f, const struct writer *w, const struct kind *k,
                          struct strings *s)
{
    struct arg_lists lists = {0};
    size_t *firsts, n = 0;

    for (size_t i = 0; i < k->nmodules; i++)
        n += object_of(w, k->modules[i], 0)->co->nkernels;
    firsts = import_alloc(n, sizeof(*firsts));
    n = 0;
    fputs("static const struct kpk_arg_desc args[] = {\n", f);
    for (size_t i = 0; i < k->nmodules; i++) {
        const struct codeobj *co = object_of(w, k->modules[i], 0)->co;

        for (size_t j = 0; j < co->nkernels; j++)
            firsts[n++] = first_arg(f, s, &lists, &co->kernels[j]);
    }
    fputs("    {0, 0, 0, 0}, /* ends the list */\n};\n\n"
          "static const struct kpk_kernel_desc kernels[] = {\n",
          f);
    n = 0;
    for (size_t i = 0; i < k->nmodules; i++) {
        const struct codeobj *co = object_of(w, k->modules[i], 0)->co;

        for (size_t j = 0; j < co->nkernels; j++)
            fprintf(f, "    {%u, %zu, %zu, %u},\n",
                    (unsigned)text(s, co->kernels[j].name), firsts[n++],
                    co->kernels[j].nargs,
                    (unsigned)tables_explicit_nbytes(&co->kernels[j]));
    }
    fputs("    {0, 0, 0, 0}, /* ends the list */\n};\n\n", f);
    free(lists.lists);
    free(firsts);
}

/* Writes each object's head and bytes to `bin`, its record to `f`. */
static void write_objects(FILE *f, FILE *bin, const struct writer *w,
                          const struct kind *k, struct strings *s)
{
    uint64_t nattrs = 0;

    fputs("static const struct kpk_kernel_attrs attrs[] = {\n", f);
    for (size_t i = 0; i < k->nmodules; i++)
        for (size_t j = 0; j < w->in->modules[k->modules[i]].nobjects; j++) {
            const struct codeobj *co = object_of(w, k->modules[i], j)->co;

            for (size_t n = 0; n < co->nkernels; n++)
                tables_write_attrs(f, &co->kernels[n].attrs);
        }
    fputs("    {.kernarg_nbytes = 0}, /* ends the list */\n};\n\n"
          "static const struct kpk_code_object objects[] = {\n",
          f);
    for (size_t i = 0; i < k->nmodules; i++) {
        const struct import_module *m = &w->in->modules[k->modules[i]];

        for (size_t j = 0; j < m->nobjects; j++) {
            const struct import_object *o = object_of(w, k->modules[i], j);
            const struct codeobj *co = o->co;

            fprintf(f,
                    "    {.target = %u, .cov = %u,\n"
                    "     .blob = (const struct kpk_blob *)(data + %ld),\n"
                    "     .attrs = attrs + %llu,\n     .sha256 = {",
                    (unsigned)text(s, co->target), co->cov, ftell(bin),
                    (unsigned long long)nattrs);
            tables_write_sha256(f, o->sha256);
            fputs("}},\n", f);
            nattrs += co->nkernels;
            blob_write_head(bin,
                            &(struct blob_info){.kind = KPK_BLOB_CODE_OBJECT,
                                                .pack = w->in->pack,
                                                .module = m->name,
                                                .target = co->target,
                                                .cov = co->cov,
                                                .content = co->data,
                                                .nbytes = co->nbytes,
                                                .codec = KPK_CODEC_NONE,
                                                .stored_nbytes = co->nbytes});
            (void)fwrite(co->data, co->nbytes, 1, bin);
            while (ftell(bin) % BLOB_ALIGNMENT)
                if (fputc(0, bin) == EOF)
                    break;
        }
    }
    fputs("    {.target = 0}, /* ends the list */\n};\n\n", f);
}

static size_t kernel_number(const struct codeobj *co, const char *name)
{
    size_t i = 0;

    while (i < co->nkernels && strcmp(co->kernels[i].name, name) != 0)
        i++;
    return i;
}

static const char *text_of_cell(const void *table, size_t row, size_t column)
{
    const struct import_table *t = table;

    return column < t->ncolumns ? import_cell(t, &t->rows[row], column)
                                : t->rows[row].target;
}

static enum kpk_cell_type type_of_column(const void *table, size_t column)
{
    return ((const struct import_table *)table)->columns[column].type;
}

static void write_table(FILE *f, const struct writer *w,
                        const struct import_table *t, size_t number,
                        struct strings *s)
{
    const struct tables_cells cells = {t, t->nrows, t->ncolumns, text_of_cell,
                                       type_of_column};

    fprintf(f, "static const struct kpk_column columns_%zu[] = {\n", number);
    for (size_t c = 0; c < t->ncolumns; c++)
        tables_write_column(f, text(s, t->columns[c].name), t->columns[c].type);
    fprintf(f,
            "    {0, 0},\n};\nstatic const struct kpk_row_key keys_%zu[] = {\n",
            number);
    for (size_t r = 0; r < t->nrows; r++) {
        const struct import_row *row = &t->rows[r];
        const struct codeobj *co = object_of(w, row->module, 0)->co;

        fprintf(f, "    {%zu, %u, %zu},\n", kernel_number(co, row->kernel),
                (unsigned)text(s, row->target), w->index[row->module]);
    }
    fprintf(f,
            "    {0, 0, 0},\n};\nstatic const union kpk_cell_data cells_%zu[] "
            "= {\n",
            number);
    for (size_t r = 0; r < t->nrows; r++) {
        fputs("   ", f);
        for (size_t c = 0; c < t->ncolumns; c++) {
            const enum kpk_cell_type type = t->columns[c].type;
            const char *cell = import_cell(t, &t->rows[r], c);

            fputc(' ', f);
            tables_write_cell(f, type, cell,
                              type == KPK_CELL_STRING ? text(s, cell) : 0);
            fputc(',', f);
        }
        fputc('\n', f);
    }
    fputs("    {0},\n};\n\n", f);
    tables_write_index(f, &cells, number);
}

static void write_tables(FILE *f, const struct writer *w, const struct kind *k,
                         struct strings *s)
{
    for (size_t i = 0; i < k->ntables; i++)
        write_table(f, w, k->tables[i], i, s);
    if (k->ntables == 0)
        return;
    fputs("static const struct kpk_table tables[] = {\n", f);
    for (size_t i = 0; i < k->ntables; i++)
        fprintf(f,
                "    {%u, %zu, %zu, columns_%zu, keys_%zu, cells_%zu, "
                "kpk_i_%s__%s, index_%zu},\n",
                (unsigned)text(s, k->tables[i]->name), k->tables[i]->ncolumns,
                k->tables[i]->nrows, i, i, i, w->in->pack, k->name, i);
    fputs("};\n\n", f);
}

/* A module of the written pack, the holders of tables among them. */
struct entry {
    const char *name;
    const char *kind; /* as in C */
    size_t number;    /* in the kind's array */
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = strcmp(x->kind, y->kind);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Returns how many there are. */
static size_t add_entries(const struct writer *w, const struct kind *k,
                          struct entry *out)
{
    size_t n = 0;

    for (; n < k->nmodules; n++)
        out[n] = (struct entry){w->in->modules[k->modules[n]].name, k->name, n};
    for (size_t t = 0; t < k->ntables; t++) {
        if (t && strcmp(k->tables[t]->kind, k->tables[t - 1]->kind) == 0)
            continue;
        out[n] = (struct entry){k->tables[t]->holder, k->name, n};
        n++;
    }
    return n;
}

/* Of nkinds kinds, sorted by name. */
static struct entry *list_entries(const struct writer *w,
                                  const struct kind *kinds, size_t nkinds,
                                  size_t *n)
{
    struct entry *entries;
    size_t most = 0;

    for (size_t k = 0; k < nkinds; k++)
        most += kinds[k].nmodules + kinds[k].ntables;
    entries = import_alloc(most, sizeof(*entries));
    *n = 0;
    for (size_t k = 0; k < nkinds; k++)
        *n += add_entries(w, &kinds[k], entries + *n);
    qsort(entries, *n, sizeof(*entries), by_name);
    return entries;
}

static void write_modules(FILE *f, const struct writer *w, const struct kind *k,
                          struct strings *s)
{
    size_t kernel = 0, object = 0, end;

    fprintf(f, "const struct kpk_module kpk_i_%s__%s[] = {\n", w->in->pack,
            k->name);
    for (size_t i = 0; i < k->nmodules; i++) {
        const struct import_module *m = &w->in->modules[k->modules[i]];
        const size_t nkernels = object_of(w, k->modules[i], 0)->co->nkernels;

        fprintf(f,
                "    {.format = KPK_FORMAT_VERSION, .name = %u,\n"
                "     .strings = strings, .kernels = kernels + %zu,\n"
                "     .nkernels = %zu, .args = args,\n"
                "     .objects = objects + %zu, .nobjects = %zu},\n",
                (unsigned)text(s, m->name), kernel, nkernels, object,
                m->nobjects);
        kernel += nkernels;
        object += m->nobjects;
    }
    for (size_t t = 0; t < k->ntables; t = end) {
        for (end = t + 1; end < k->ntables; end++)
            if (strcmp(k->tables[t]->kind, k->tables[end]->kind) != 0)
                break;
        fprintf(f,
                "    {.format = KPK_FORMAT_VERSION, .name = %u,\n"
                "     .strings = strings, .kernels = kernels, .args = args,\n"
                "     .objects = objects, .tables = tables + %zu,\n"
                "     .ntables = %zu},\n",
                (unsigned)text(s, k->tables[t]->holder), t, end - t);
    }
    fputs("};\n\n", f);
}

static void write_pack(FILE *f, const struct writer *w, const char *symbol,
                       const char *name, const struct kind *kinds,
                       size_t nkinds)
{
    size_t n;
    struct entry *entries = list_entries(w, kinds, nkinds, &n);

    fputs("static const struct kpk_module *const modules[] = {\n", f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "    &kpk_i_%s__%s[%zu],\n", w->in->pack, entries[i].kind,
                entries[i].number);
    fprintf(f,
            "};\n\nextern HIDDEN const struct kpk_pack kpk_%s;\n"
            "const struct kpk_pack kpk_%s = {\n"
            "    KPK_FORMAT_VERSION, %zu, \"%s\", modules,\n};\n",
            symbol, symbol, n, name);
    free(entries);
}

static void write_top(FILE *f, const struct writer *w)
{
    fputs("/* Written by kpack-gen; do not edit. */\n"
          "#include \"kpack/format.h\"\n\n"
          "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n",
          f);
    for (size_t i = 0; i < w->nkinds; i++)
        fprintf(f, "extern HIDDEN const struct kpk_module kpk_i_%s__%s[];\n",
                w->in->pack, w->kinds[i].name);
    fputc('\n', f);
}

static void write_kind(FILE *f, FILE *bin, const struct writer *w,
                       const struct kind *k)
{
    struct strings *body = strings_new();
    char *symbol = import_text("%s_%s", w->in->pack, k->name);
    char *name = import_text("%s/%s", w->in->pack, k->name);

    if (!body)
        exit(1);
    write_top(f, w);
    fprintf(f,
            "extern HIDDEN const unsigned char kpk_i_%s_data[];\n"
            "#define data kpk_i_%s_data\n\n",
            symbol, symbol);
    write_kernels(f, w, k, body);
    write_objects(f, bin, w, k, body);
    write_tables(f, w, k, body);
    for (size_t i = 0; i < k->nmodules; i++) /* before the strings are ended */
        (void)text(body, w->in->modules[k->modules[i]].name);
    for (size_t t = 0; t < k->ntables; t++)
        (void)text(body, k->tables[t]->holder);
    strings_write(f, body);
    write_modules(f, w, k, body);
    write_pack(f, w, symbol, name, k, 1);
    strings_free(body);
    free(symbol);
    free(name);
}

/* ---- the whole ----------------------------------------------------------- */

static void write_all(FILE *f, const struct writer *w)
{
    write_top(f, w);
    write_pack(f, w, w->in->pack, w->in->pack, w->kinds, w->nkinds);
}

static size_t count_objects(const struct writer *w, const struct kind *k)
{
    size_t n = 0;

    for (size_t i = 0; i < k->nmodules; i++)
        n += w->in->modules[k->modules[i]].nobjects;
    return n;
}

static void write_header(FILE *f, const struct writer *w)
{
    const char *pack = w->in->pack;

    fprintf(f,
            "/* %s.h - pack %s, imported. Written by kpack-gen; do not edit.\n"
            " *\n"
            " * Each kind of kernels is a pack as well: a program that names "
            "only that one\n"
            " * links no other. `kpack list` shows modules and kernels.\n"
            " */\n"
            "#ifndef KPACK_PACK_%s_H\n"
            "#define KPACK_PACK_%s_H\n\n"
            "#include <kpack.h>\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "extern const kpk_pack kpk_%s;\n\n",
            pack, pack, pack, pack, pack);
    for (size_t i = 0; i < w->nkinds; i++) {
        const struct kind *k = &w->kinds[i];

        fprintf(f,
                "/* code objects: %zu, modules: %zu, tables: %zu */\n"
                "extern const kpk_pack kpk_%s_%s;\n",
                count_objects(w, k), k->nmodules, k->ntables, pack, k->name);
    }
    fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", f);
}

static void write_makefile(FILE *f, const struct writer *w)
{
    fputs("IMPORT_KINDS :=", f);
    for (size_t i = 0; i < w->nkinds; i++)
        fprintf(f, " %s", w->kinds[i].name);
    fputc('\n', f);
}

static FILE *open_out(const struct writer *w, const char *name,
                      const char *ending)
{
    char *path = import_text("%s/%s%s", w->out, name, ending);
    FILE *f = fopen(path, "wb");

    if (!f)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    free(path);
    return f;
}

/* Whether all that was written to a file got there. */
static bool close_out(const struct writer *w, FILE *f, const char *name)
{
    const bool written = !ferror(f);

    if (fclose(f) == 0 && written)
        return true;
    fprintf(stderr, "%s/%s: %s\n", w->out, name, strerror(errno));
    return false;
}

static bool write_one(const struct writer *w, const char *name,
                      const char *ending,
                      void (*write)(FILE *f, const struct writer *w))
{
    FILE *f = open_out(w, name, ending);

    if (!f)
        return false;
    write(f, w);
    return close_out(w, f, name);
}

static bool write_kind_files(const struct writer *w, const struct kind *k)
{
    char *name = import_text("kind.%s", k->name);
    FILE *f = open_out(w, name, ".c");
    FILE *bin = open_out(w, name, ".bin");
    bool ok = f && bin;

    if (ok)
        write_kind(f, bin, w, k);
    if (f)
        ok &= close_out(w, f, name);
    if (bin)
        ok &= close_out(w, bin, name);
    free(name);
    return ok;
}

/* As mkdir -p does. */
static bool make_folder(const char *path)
{
    char *part = import_text("%s", path);
    bool ok = true;

    for (char *c = part + 1; ok; c++) {
        const char end = *c;

        if (end && end != '/')
            continue;
        *c = '\0';
        ok = mkdir(part, 0777) == 0 || errno == EEXIST;
        *c = end;
        if (!end)
            break;
    }
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    free(part);
    return ok;
}

bool import_write(const struct import *in, const char *out)
{
    struct writer w = {.in = in, .out = out};
    bool ok = make_folder(out);

    make_kinds(&w);
    for (size_t i = 0; ok && i < w.nkinds; i++)
        ok = write_kind_files(&w, &w.kinds[i]);
    ok = ok && write_one(&w, "pack", ".c", write_all) &&
         write_one(&w, in->pack, ".h", write_header) &&
         write_one(&w, "kinds", ".mk", write_makefile);
    for (size_t i = 0; i < w.nkinds; i++) {
        free(w.kinds[i].name);
        free(w.kinds[i].modules);
        free(w.kinds[i].tables);
    }
    free(w.kinds);
    free(w.index);
    return ok;
}
