/* import_triton.c - a code object with Triton's JSON file beside it
 *
 * A Triton program is a block. The JSON gives its warps and its dynamic shared
 * memory. Both become the kernel's row in a table of launch shapes, for
 * kpk_kernel_shape(), and a block of another size is refused when it is
 * launched. The arguments that Triton adds get their names.
 */
#include "pack/import_triton.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc_or_exit.h"

/* The number of the kernel that the JSON names; co->nkernels if the code object
 * lacks it. */
static size_t find_kernel(const struct codeobj *co, const struct triton *t)
{
    size_t i = 0;

    if (!*t->kernel)
        return co->nkernels == 1 ? 0 : co->nkernels;
    while (i < co->nkernels && strcmp(co->kernels[i].name, t->kernel) != 0)
        i++;
    return i;
}

static bool is_for(const struct codeobj *co, const char *processor)
{
    const size_t n = strlen(processor);

    return n == 0 || codeobj_is_nvidia(co) ||
           (strncmp(co->target, processor, n) == 0 &&
            (co->target[n] == '\0' || co->target[n] == ':'));
}

/* Triton's own arguments come last, are pointers and have no names. False if
 * these do not. */
static bool name_scratch(struct codeobj_kernel *k, unsigned nscratch)
{
    static const char *const names[] = {"global_scratch", "profile_scratch"};

    if (nscratch > sizeof(names) / sizeof(names[0]) || k->nargs < nscratch)
        return false;
    for (unsigned i = 0; i < nscratch; i++) {
        struct codeobj_arg *arg = &k->args[k->nargs - nscratch + i];

        if (arg->size != 8 || arg->kind == KPK_ARG_BY_VALUE || *arg->name)
            return false;
    }
    for (unsigned i = 0; i < nscratch; i++) {
        struct codeobj_arg *arg = &k->args[k->nargs - nscratch + i];

        free(arg->name);
        arg->name = alloc_text("%s", names[i]);
    }
    return true;
}

/* Adds the JSON's numbers to the kernel. Returns the fault of the JSON, or
 * NULL. */
static const char *take(struct codeobj *co, struct codeobj_kernel *k,
                        const struct triton *t)
{
    const uint64_t block = (uint64_t)t->num_warps * k->attrs.wave_size;
    uint32_t *reqd = k->attrs.reqd_block;

    if (!is_for(co, t->processor))
        return alloc_text("is about a kernel for %s, but the code beside it "
                          "is for %s",
                          t->processor, co->target);
    if ((k->attrs.max_block && block > k->attrs.max_block) ||
        (reqd[0] && block != (uint64_t)reqd[0] * reqd[1] * reqd[2]))
        return alloc_text("%u warps are %llu threads, which kernel %s cannot "
                          "have",
                          (unsigned)t->num_warps, (unsigned long long)block,
                          k->name);
    if (!name_scratch(k, t->nscratch))
        return alloc_text("kernel %s does not end with %u pointers to scratch "
                          "memory, as Triton's kernels do",
                          k->name, t->nscratch);
    reqd[0] = (uint32_t)block;
    reqd[1] = reqd[2] = 1;
    k->attrs.least_shared_nbytes = t->shared_nbytes;
    return NULL;
}

void import_triton(struct import *in, struct import_object *object,
                   const char *file)
{
    /* const only for others: it was just read, and has no other user yet */
    struct codeobj *co = (struct codeobj *)object->object.co;
    struct triton *t = alloc_new(1, sizeof(*t));
    char error[TRITON_ERROR_MAX];
    const enum triton_status status = triton_read(file, t, error);
    const size_t k = find_kernel(co, t);
    const char *fault = status == TRITON_BAD ? error : NULL;

    if (status == TRITON_READ)
        fault = k < co->nkernels
                    ? take(co, &co->kernels[k], t)
                    : alloc_text("is about kernel '%s', which the code beside "
                                 "it does not have",
                                 t->kernel);
    if (fault)
        import_bad(in, file, "%s", fault);
    if (fault || status == TRITON_OTHER) {
        free(t);
        return;
    }
    if (t->num_ctas > 1)
        fprintf(stderr,
                "%s: note: kernel %s is launched in clusters of %u blocks; no "
                "shape is recommended for it\n",
                file, co->kernels[k].name, (unsigned)t->num_ctas);
    object->triton = t;
    object->triton_kernel = (uint32_t)k;
}

/* ---- the table ----------------------------------------------------------- */

static const struct pack_column columns[] = {
    {"block_x", KPK_CELL_INT, true},
    {"grid_x_each", KPK_CELL_INT, true},
    {"grid_y_each", KPK_CELL_INT, true},
    {"shared_nbytes", KPK_CELL_INT, true},
    {"num_warps", KPK_CELL_INT, true},
    {"global_scratch_size", KPK_CELL_INT, true},
    {"global_scratch_align", KPK_CELL_INT, true},
    {"profile_scratch_size", KPK_CELL_INT, true},
    {"profile_scratch_align", KPK_CELL_INT, true},
};
enum { NCOLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const char **cells_of(const struct import_object *object)
{
    const struct triton *t = object->triton;
    const struct codeobj *co = object->object.co;
    const uint32_t values[NCOLUMNS] = {
        co->kernels[object->triton_kernel].attrs.reqd_block[0],
        1,
        1,
        t->shared_nbytes,
        t->num_warps,
        t->global_scratch_nbytes,
        t->global_scratch_align,
        t->profile_scratch_nbytes,
        t->profile_scratch_align};
    const char **cells = alloc_new(NCOLUMNS, sizeof(char *));

    for (size_t c = 0; c < NCOLUMNS; c++)
        cells[c] = alloc_text("%u", (unsigned)values[c]);
    return cells;
}

static int by_kernel(const void *a, const void *b)
{
    const struct pack_row *x = a, *y = b;

    return x->kernel != y->kernel ? (x->kernel < y->kernel ? -1 : 1)
                                  : strcmp(x->target, y->target);
}

const struct pack_table *import_triton_table(const struct import *in,
                                             const struct import_module *m)
{
    struct pack_table *table = alloc_new(1, sizeof(*table));

    *table = (struct pack_table){.name = "triton", .ncolumns = NCOLUMNS};
    table->columns = alloc_new(NCOLUMNS, sizeof(*table->columns));
    memcpy(table->columns, columns, sizeof(columns));
    table->rows = alloc_new(m->nobjects, sizeof(*table->rows));
    for (size_t i = 0; i < m->nobjects; i++) {
        const struct import_object *object = in->order[m->first + i];
        const char *target = object->object.co->target;

        if (!object->triton || object->triton->num_ctas > 1)
            continue;
        /* a module of one object has rows for any target */
        table->rows[table->nrows++] = (struct pack_row){
            0, object->triton_kernel,
            m->nobjects == 1
                ? ""
                : alloc_text("%.*s", (int)strcspn(target, ":"), target),
            cells_of(object)};
    }
    qsort(table->rows, table->nrows, sizeof(*table->rows), by_kernel);
    return table->nrows ? table : NULL;
}
