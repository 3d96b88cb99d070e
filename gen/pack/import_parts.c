/* import_parts.c - an imported tree as parts of a pack, one for each kind */
#include "pack/import_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pack/import_table.h"
#include "pack/import_triton.h"
#include "util/alloc_or_exit.h"

/* Kinds that have one name in C. */
struct kind {
    char *name;      /* part of C identifiers */
    size_t *modules; /* numbers in import.modules, sorted by name */
    size_t nmodules;
    const struct import_table **tables; /* sorted by kind and name */
    size_t ntables;
};

struct kinds {
    const struct import *in;
    struct kind *kinds; /* sorted by name */
    size_t n;
    size_t *index; /* [nmodules of the import]: a module's place in its kind */
};

/* ---- kinds --------------------------------------------------------------- */

static char *c_name(const char *kind)
{
    char *name = alloc_text("%s", *kind ? kind : "top");

    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return name;
}

static struct kind *find_kind(struct kinds *all, const char *kind)
{
    char *name = c_name(kind);

    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->kinds[i].name, name) == 0) {
            free(name);
            return &all->kinds[i];
        }
    all->kinds = alloc_grow(all->kinds, all->n, sizeof(*all->kinds));
    all->kinds[all->n] = (struct kind){.name = name};
    return &all->kinds[all->n++];
}

static int by_name(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void find_kinds(struct kinds *all)
{
    const struct import *in = all->in;

    for (size_t m = 0; m < in->nmodules; m++)
        (void)find_kind(all, in->modules[m].kind);
    for (size_t t = 0; t < in->ntables; t++)
        (void)find_kind(all, in->tables[t].kind);
    if (all->kinds)
        qsort(all->kinds, all->n, sizeof(*all->kinds), by_name);
    all->index = alloc_new(in->nmodules, sizeof(*all->index));
    for (size_t m = 0; m < in->nmodules; m++) {
        struct kind *k = find_kind(all, in->modules[m].kind);

        k->modules = alloc_grow(k->modules, k->nmodules, sizeof(*k->modules));
        all->index[m] = k->nmodules;
        k->modules[k->nmodules++] = m;
    }
    for (size_t t = 0; t < in->ntables; t++) {
        struct kind *k = find_kind(all, in->tables[t].kind);

        k->tables =
            alloc_grow(k->tables, k->ntables, sizeof(struct import_table *));
        k->tables[k->ntables++] = &in->tables[t];
    }
}

/* ---- their parts --------------------------------------------------------- */

static struct pack_module module_of(const struct import *in,
                                    const struct import_module *m)
{
    const struct pack_object **objects =
        alloc_new(m->nobjects, sizeof(struct pack_object *));
    const struct codeobj *reference = NULL; /* NVIDIA's tell less */
    const struct pack_table **tables =
        alloc_new(1, sizeof(struct pack_table *));

    for (size_t i = 0; i < m->nobjects; i++) {
        objects[i] = &in->order[m->first + i]->object;
        if (!reference || (codeobj_is_nvidia(reference) &&
                           !codeobj_is_nvidia(objects[i]->co)))
            reference = objects[i]->co;
    }
    tables[0] = import_triton_table(in, m);
    return (struct pack_module){.name = m->name,
                                .objects = objects,
                                .nobjects = m->nobjects,
                                .reference = reference,
                                .tables = tables,
                                .ntables = tables[0] != NULL};
}

static const struct pack_table *table_of(const struct kinds *all,
                                         const struct import_table *t)
{
    struct pack_table *out = alloc_new(1, sizeof(*out));

    *out = (struct pack_table){.name = t->name,
                               .columns = t->columns,
                               .ncolumns = t->ncolumns,
                               .nrows = t->nrows,
                               .spans = true};
    out->rows = alloc_new(t->nrows, sizeof(*out->rows));
    for (size_t r = 0; r < t->nrows; r++) {
        const struct import_row *row = &t->rows[r];
        const char **cells = alloc_new(t->ncolumns, sizeof(char *));

        for (size_t c = 0; c < t->ncolumns; c++)
            cells[c] = import_cell(t, row, c);
        out->rows[r] = (struct pack_row){all->index[row->module], row->number,
                                         row->target, cells};
    }
    return out;
}

/* The tables of one holder from number `first` on; returns how many. */
static size_t add_holder(const struct kinds *all, const struct kind *k,
                         size_t first, struct pack_module *out)
{
    const struct pack_table **tables =
        alloc_new(k->ntables - first, sizeof(struct pack_table *));
    size_t n = 0;

    while (first + n < k->ntables &&
           strcmp(k->tables[first]->kind, k->tables[first + n]->kind) == 0) {
        tables[n] = table_of(all, k->tables[first + n]);
        n++;
    }
    *out = (struct pack_module){
        .name = k->tables[first]->holder, .tables = tables, .ntables = n};
    return n;
}

struct pack_part *import_parts(const struct import *in, size_t *n)
{
    struct kinds all = {.in = in};
    struct pack_part *parts;

    find_kinds(&all);
    parts = alloc_new(all.n, sizeof(*parts));
    for (size_t i = 0; i < all.n; i++) {
        const struct kind *k = &all.kinds[i];
        struct pack_part *part = &parts[i];

        *part = (struct pack_part){
            .pack = in->pack, .name = k->name, .imported = true};
        part->modules =
            alloc_new(k->nmodules + k->ntables, sizeof(*part->modules));
        while (part->nmodules < k->nmodules) {
            const size_t m = part->nmodules;

            part->modules[part->nmodules++] =
                module_of(in, &in->modules[k->modules[m]]);
        }
        for (size_t t = 0; t < k->ntables;)
            t += add_holder(&all, k, t, &part->modules[part->nmodules++]);
    }
    *n = all.n;
    return parts;
}
