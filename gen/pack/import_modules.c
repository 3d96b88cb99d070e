/* import_modules.c - code objects of a tree become modules, by their names */
#include "pack/import_modules.h"

#include <stdlib.h>
#include <string.h>

#include "pack/objects_agree.h"
#include "util/alloc_or_exit.h"

static int by_module(const void *a, const void *b)
{
    const struct import_object *x = *(struct import_object *const *)a;
    const struct import_object *y = *(struct import_object *const *)b;
    int order = strcmp(x->place.module, y->place.module);

    if (order == 0)
        order = strcmp(x->object.co->target, y->object.co->target);
    return order ? order : strcmp(x->place.file, y->place.file);
}

static void refuse_twins(struct import *in)
{
    for (size_t i = 1; i < in->nobjects; i++) {
        const struct import_object *a = in->order[i - 1], *b = in->order[i];

        if (strcmp(a->place.module, b->place.module) == 0 &&
            strcmp(a->object.co->target, b->object.co->target) == 0)
            import_bad(
                in, b->place.file,
                "a second code object of module %s for %s, after %s; remove "
                "one of the two",
                b->place.module, b->object.co->target, a->place.file);
    }
}

/* The number of the module in [first, in->nmodules) that an object is like. */
static size_t find_like(const struct import *in, size_t first,
                        const struct import_object *object)
{
    size_t m = first;

    while (m < in->nmodules &&
           !objects_alike(in->order[in->modules[m].first]->object.co,
                          object->object.co))
        m++;
    return m;
}

static int by_class(const void *a, const void *b)
{
    const struct import_object *x = *(struct import_object *const *)a;
    const struct import_object *y = *(struct import_object *const *)b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return strcmp(x->object.co->target, y->object.co->target);
}

void import_modules(struct import *in)
{
    size_t first = 0; /* module of the present name */

    in->order = alloc_new(in->nobjects, sizeof(*in->order));
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
            in->modules = alloc_grow(in->modules, m, sizeof(*in->modules));
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
