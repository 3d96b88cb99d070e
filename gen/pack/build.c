/* build.c - reads a module's inputs: the words of `kpack-gen module` */
#include "pack/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/unwaited.h"
#include "pack/alias.h"
#include "pack/objects_agree.h"
#include "pack/source.h"
#include "read/codeobj_read.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"

#define HEADER_NBYTES_MAX ((size_t)1 << 24)

static bool fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

/* ---- words --------------------------------------------------------------- */

/* Readers report faults as `FILE: what`. */
static bool read_ir(struct build *b, const char *path)
{
    char error[IR_ERROR_MAX];

    b->ir = ir_read(path, error);
    return b->ir ? true : fail(path, error);
}

static bool read_csv(struct csv **out, const char *path)
{
    char error[CSV_ERROR_MAX];

    *out = csv_read(path, error);
    if (!*out)
        fprintf(stderr, "%s\n", error);
    return *out != NULL;
}

static bool read_types(struct build *b, const char *path)
{
    if (!read_csv(&b->types, path))
        return false;
    if (csv_column(b->types, "type") < b->types->ncolumns &&
        csv_column(b->types, "host") < b->types->ncolumns)
        return true;
    return fail(path,
                "wants the columns type and host, and header if there is one");
}

static bool read_aliases(struct build *b, const char *path)
{
    if (!read_csv(&b->aliases, path))
        return false;
    return alias_is_table(b->aliases)
               ? true
               : fail(path, "wants the columns module, text and alias");
}

/* Comments of C become blanks: a name in one is not taken. */
static void blank_comments(char *text)
{
    char *end;

    while ((text = strstr(text, "/*"))) {
        end = strstr(text + 2, "*/");
        end = end ? end + 2 : text + strlen(text);
        memset(text, ' ', (size_t)(end - text));
    }
}

static bool read_taken(struct build *b, const char *path)
{
    unsigned char *text;
    size_t nbytes;
    char why[FILE_ERROR_MAX];

    if (!file_read(path, HEADER_NBYTES_MAX, &text, &nbytes, why))
        return fail(path, why);
    blank_comments((char *)text);
    b->taken = alloc_grow(b->taken, b->ntaken, sizeof(char *));
    b->taken[b->ntaken++] = (char *)text;
    return true;
}

static const struct {
    const char *key;
    bool (*read)(struct build *b, const char *path);
    bool once;
} keys[] = {
    {"ir", read_ir, true},
    {"types", read_types, true},
    {"aliases", read_aliases, true},
    {"taken", read_taken, false},
};

static void warn_of(void *path, const char *function, uint64_t offset)
{
    fprintf(stderr, "%s: warning: %s at +0x%" PRIx64 ": " UNWAITED_ADVICE "\n",
            (const char *)path, function, offset);
}

static bool read_object(struct build *b, const char *target, const char *path)
{
    char error[CODEOBJ_ERROR_MAX];
    struct codeobj *co = codeobj_read(path, error);

    if (!co)
        return fail(path, error);
    b->objects = alloc_grow(b->objects, b->nobjects, sizeof(struct codeobj *));
    b->objects[b->nobjects++] = co;
    for (size_t i = 0; i + 1 < b->nobjects; i++)
        if (strcmp(b->objects[i]->target, target) == 0) {
            fprintf(stderr, "kpack-gen: %s is given twice\n", target);
            return false;
        }
    unwaited_find(co->data, co->nbytes, warn_of, co->path);
    if (codeobj_take_target(co, target))
        return true;
    fprintf(stderr, "%s: is for %s, not for %s\n", path, co->target, target);
    return false;
}

static bool read_word(struct build *b, const char *word, unsigned *seen)
{
    const char *sign = strchr(word, '=');
    char *key;
    size_t i = 0;
    bool ok;

    if (!sign) {
        fprintf(stderr, "kpack-gen: '%s' is not KEY=FILE\n", word);
        return false;
    }
    key = alloc_text("%.*s", (int)(sign - word), word);
    while (i < sizeof(keys) / sizeof(keys[0]) && strcmp(keys[i].key, key) != 0)
        i++;
    if (i == sizeof(keys) / sizeof(keys[0])) {
        ok = strcmp(key, "table") == 0 || read_object(b, key, sign + 1);
    } else if (keys[i].once && *seen >> i & 1u) {
        fprintf(stderr, "kpack-gen: %s is given twice\n", key);
        ok = false;
    } else {
        *seen |= 1u << i;
        ok = keys[i].read(b, sign + 1);
    }
    free(key);
    return ok;
}

static int by_target(const void *a, const void *b)
{
    const struct codeobj *x = *(struct codeobj *const *)a;
    const struct codeobj *y = *(struct codeobj *const *)b;

    return strcmp(x->target, y->target);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The CSV files, behind the code objects that they are checked against. */
static bool read_configs(struct build *b, char *const *words, size_t nwords)
{
    static const char key[] = "table=";
    const char **paths = alloc_new(nwords, sizeof(char *));
    char error[CSV_ERROR_MAX];
    bool ok = true;
    size_t n = 0;

    for (size_t i = 0; i < nwords; i++)
        if (strncmp(words[i], key, sizeof(key) - 1) == 0)
            paths[n++] = words[i] + sizeof(key) - 1;
    qsort(paths, n, sizeof(char *), by_text);
    b->configs = alloc_new(n, sizeof(struct config_table *));
    for (size_t i = 0; ok && i < n; i++) {
        b->configs[i] = config_table_read(paths[i], b->reference, error);
        ok = b->configs[i] != NULL;
        b->nconfigs += ok;
        if (!ok)
            fprintf(stderr, "%s\n", error);
    }
    free(paths);
    return ok;
}

/* ---- second names ------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct codeobj_kernel *)a)->name,
                  ((const struct codeobj_kernel *)b)->name);
}

static struct codeobj_kernel second_name(const struct codeobj_kernel *of,
                                         const char *name)
{
    struct codeobj_kernel k = *of;

    k.name = alloc_text("%s", name);
    k.symbol = alloc_text("%s", of->name);
    k.args = alloc_new(of->nargs + 1, sizeof(*k.args));
    for (size_t i = 0; i < of->nargs; i++) {
        k.args[i] = of->args[i];
        k.args[i].name = alloc_text("%s", of->args[i].name);
    }
    return k;
}

/* AMD's code objects export second names, NVIDIA's cannot: there the name is
 * the table's alone, and the symbol is the first. */
static void add_second_names(const struct build *b, struct codeobj *co)
{
    struct codeobj_kernel *all =
        alloc_new(co->nkernels * (b->aliases->nrows + 1), sizeof(*all));
    char name[ALIAS_NAME_MAX];
    size_t n = co->nkernels;

    memcpy(all, co->kernels, n * sizeof(*all));
    for (size_t i = 0; i < co->nkernels; i++)
        for (size_t row = 0; row < b->aliases->nrows; row++)
            if (alias_make(b->aliases, row, b->module, all[i].name, name))
                all[n++] = second_name(&all[i], name);
    free(co->kernels);
    co->kernels = all;
    co->nkernels = n;
    qsort(all, n, sizeof(*all), by_name);
}

/* ---- the part ------------------------------------------------------------ */

static void fill_part(struct build *b)
{
    b->contents = alloc_new(b->nobjects, sizeof(*b->contents));
    b->object_list = alloc_new(b->nobjects, sizeof(struct pack_object *));
    b->table_list = alloc_new(b->nconfigs, sizeof(struct pack_table *));
    for (size_t i = 0; i < b->nobjects; i++) {
        b->contents[i].co = b->objects[i];
        sha256(b->objects[i]->data, b->objects[i]->nbytes,
               b->contents[i].sha256);
        b->object_list[i] = &b->contents[i];
    }
    for (size_t i = 0; i < b->nconfigs; i++)
        b->table_list[i] = &b->configs[i]->table;
    b->only = (struct pack_module){.name = b->module,
                                   .objects = b->object_list,
                                   .nobjects = b->nobjects,
                                   .reference = b->reference,
                                   .tables = b->table_list,
                                   .ntables = b->nconfigs};
    b->part = (struct pack_part){
        .pack = b->pack, .name = b->module, .modules = &b->only, .nmodules = 1};
}

bool build_read(struct build *b, char *const *words, size_t nwords)
{
    unsigned seen = 0;

    for (size_t i = 0; i < nwords; i++)
        if (!read_word(b, words[i], &seen))
            return false;
    if (b->nobjects == 0) {
        fputs("kpack-gen: a module has one code object at least\n", stderr);
        return false;
    }
    qsort(b->objects, b->nobjects, sizeof(struct codeobj *), by_target);
    for (size_t i = 0; b->aliases && i < b->nobjects; i++)
        if (codeobj_is_nvidia(b->objects[i]))
            add_second_names(b, b->objects[i]);
    b->reference = objects_reference(b->objects, b->nobjects);
    if (!objects_agree(b->objects, b->nobjects) ||
        !read_configs(b, words, nwords))
        return false;
    for (size_t i = 0; b->ir && i < b->nobjects; i++)
        if (!source_name_args(b->objects[i], b->ir, b->aliases, b->module))
            return fail(b->objects[i]->path, "out of memory");
    fill_part(b);
    return true;
}

void build_free(struct build *b)
{
    for (size_t i = 0; i < b->nobjects; i++)
        codeobj_free(b->objects[i]);
    for (size_t i = 0; i < b->nconfigs; i++)
        config_table_free(b->configs[i]);
    for (size_t i = 0; i < b->ntaken; i++)
        free(b->taken[i]);
    ir_free(b->ir);
    csv_free(b->types);
    csv_free(b->aliases);
    free(b->objects);
    free(b->configs);
    free(b->taken);
    free(b->contents);
    free(b->object_list);
    free(b->table_list);
}
