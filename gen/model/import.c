/* import.c - a tree of prebuilt code objects becomes a pack */
#include "model/import.h"

#include <stdlib.h>
#include <string.h>

#include "write/tables.h"

void import_bad(struct import *in, const char *file, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", file);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    in->nbad++;
}

static void *or_exit(void *memory)
{
    if (memory)
        return memory;
    fputs("kpack-gen: out of memory\n", stderr);
    exit(1);
}

void *import_alloc(size_t n, size_t nbytes)
{
    return or_exit(calloc(n ? n : 1, nbytes));
}

char *import_text(const char *format, ...)
{
    char *text;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = import_alloc((size_t)n + 1, 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void *import_grow(void *array, size_t n, size_t nbytes)
{
    if (n && (n & (n - 1)) != 0) /* room is the next power of two */
        return array;
    return or_exit(realloc(array, (n ? 2 * n : 1) * nbytes));
}

/* ---- modules ------------------------------------------------------------- */

static int by_module(const void *a, const void *b)
{
    const struct import_object *x = *(struct import_object *const *)a;
    const struct import_object *y = *(struct import_object *const *)b;
    int order = strcmp(x->place.module, y->place.module);

    if (order == 0)
        order = strcmp(x->co->target, y->co->target);
    return order ? order : strcmp(x->place.file, y->place.file);
}

static void refuse_twins(struct import *in)
{
    for (size_t i = 1; i < in->nobjects; i++) {
        const struct import_object *a = in->order[i - 1], *b = in->order[i];

        if (strcmp(a->place.module, b->place.module) == 0 &&
            strcmp(a->co->target, b->co->target) == 0)
            import_bad(in, b->place.file,
                       "a second code object of module %s for %s, after %s",
                       b->place.module, b->co->target, a->place.file);
    }
}

/* The number of the module in [first, in->nmodules) that an object is like. */
static size_t find_like(const struct import *in, size_t first,
                        const struct import_object *object)
{
    size_t m = first;

    while (m < in->nmodules &&
           !tables_alike(in->order[in->modules[m].first]->co, object->co))
        m++;
    return m;
}

static int by_class(const void *a, const void *b)
{
    const struct import_object *x = *(struct import_object *const *)a;
    const struct import_object *y = *(struct import_object *const *)b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return strcmp(x->co->target, y->co->target);
}

void import_modules(struct import *in)
{
    size_t first = 0; /* module of the present name */

    in->order = import_alloc(in->nobjects, sizeof(*in->order));
    for (size_t i = 0; i < in->nobjects; i++)
        in->order[i] = &in->objects[i];
    qsort(in->order, in->nobjects, sizeof(*in->order), by_module);
    refuse_twins(in);
    for (size_t i = 0; i < in->nobjects; i++) {
        struct import_object *object = in->order[i];
        const char *name = object->place.module;
        size_t m;

        if (i && strcmp(name, in->order[i - 1]->place.module) != 0)
            first = in->nmodules;
        m = find_like(in, first, object);
        if (m == in->nmodules) {
            in->modules = import_grow(in->modules, m, sizeof(*in->modules));
            in->modules[in->nmodules++] =
                (struct import_module){name, object->place.kind, i, 0};
        }
        object->module = m;
        in->modules[m].nobjects++;
    }
    /* So far `first` was any object of the module; now they come together. */
    qsort(in->order, in->nobjects, sizeof(*in->order), by_class);
    for (size_t m = 0, at = 0; m < in->nmodules; m++) {
        in->modules[m].first = at;
        at += in->modules[m].nobjects;
    }
}

/* ---- all of it ----------------------------------------------------------- */

bool import_tree(const char *pack, const char *out, const char *root)
{
    struct import in = {.pack = pack, .root = root};

    import_scan(&in);
    import_modules(&in);
    import_tables(&in);
    if (in.nbad) {
        fprintf(stderr,
                "kpack-gen: %zu of the files of %s cannot be "
                "imported; nothing was written\n",
                in.nbad, root);
        return false;
    }
    return import_write(&in, out);
}
