/* objects_agree.c - checks that a module has the same kernels for all targets
 */
#include "pack/objects_agree.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
    [KPK_ARG_BY_VALUE] = "value",
    [KPK_ARG_GLOBAL_BUFFER] = "pointer",
    [KPK_ARG_DYNAMIC_SHARED_POINTER] = "shared pointer",
    [KPK_ARG_OTHER] = "handle",
    [KPK_ARG_UNKNOWN] = "parameter",
};

static bool same_arg(const struct codeobj_arg *p, const struct codeobj_arg *q)
{
    return p->offset == q->offset && p->size == q->size &&
           (p->kind == q->kind || p->kind == KPK_ARG_UNKNOWN ||
            q->kind == KPK_ARG_UNKNOWN);
}

/* NVIDIA's files name no arguments. */
static bool same_name(const struct codeobj *a, const struct codeobj *b,
                      const char *x, const char *y)
{
    return codeobj_is_nvidia(a) || codeobj_is_nvidia(b) || strcmp(x, y) == 0;
}

bool objects_alike(const struct codeobj *a, const struct codeobj *b)
{
    if (a->nkernels != b->nkernels)
        return false;
    for (size_t i = 0; i < a->nkernels; i++) {
        const struct codeobj_kernel *x = &a->kernels[i], *y = &b->kernels[i];

        if (strcmp(x->name, y->name) != 0 || x->nargs != y->nargs ||
            (x->nargs == 0 &&
             codeobj_packed_nbytes(x) != codeobj_packed_nbytes(y)))
            return false;
        for (size_t j = 0; j < x->nargs; j++)
            if (!same_arg(&x->args[j], &y->args[j]) ||
                !same_name(a, b, x->args[j].name, y->args[j].name))
                return false;
    }
    return true;
}

static bool args_agree(const struct codeobj *a, const struct codeobj_kernel *x,
                       const struct codeobj *b, const struct codeobj_kernel *y)
{
    if (x->nargs != y->nargs) {
        fprintf(stderr,
                "%s: kernel %s takes %zu arguments on %s, but %zu on %s\n",
                b->path, y->name, y->nargs, b->target, x->nargs, a->target);
        return false;
    }
    if (x->nargs == 0 && codeobj_packed_nbytes(x) != codeobj_packed_nbytes(y)) {
        fprintf(stderr,
                "%s: kernel %s has no list of arguments, and a segment of %u "
                "bytes on %s, but of %u on %s\n",
                b->path, y->name, (unsigned)codeobj_packed_nbytes(y), b->target,
                (unsigned)codeobj_packed_nbytes(x), a->target);
        return false;
    }
    for (size_t i = 0; i < x->nargs; i++) {
        const struct codeobj_arg *p = &x->args[i], *q = &y->args[i];

        if (same_arg(p, q))
            continue;
        fprintf(stderr,
                "%s: argument %zu of kernel %s is a %s of %u bytes at offset "
                "%u on %s, but a %s of %u bytes at offset %u on %s\n",
                b->path, i, y->name, kinds[q->kind], (unsigned)q->size,
                (unsigned)q->offset, b->target, kinds[p->kind],
                (unsigned)p->size, (unsigned)p->offset, a->target);
        return false;
    }
    return true;
}

/* Reports a kernel that one side lacks. */
static bool missing(const struct codeobj *b, const char *kernel,
                    const char *there, const char *not_there)
{
    fprintf(stderr, "%s: kernel %s is there for %s, but not for %s\n", b->path,
            kernel, there, not_there);
    return false;
}

/* Both lists are sorted, so the first difference is a kernel that is missing
 * on one side. */
static bool pair_agrees(const struct codeobj *a, const struct codeobj *b)
{
    for (size_t i = 0; i < a->nkernels && i < b->nkernels; i++) {
        const struct codeobj_kernel *x = &a->kernels[i], *y = &b->kernels[i];
        int order = strcmp(x->name, y->name);

        if (order < 0)
            return missing(b, x->name, a->target, b->target);
        if (order > 0)
            return missing(b, y->name, b->target, a->target);
        if (!args_agree(a, x, b, y))
            return false;
    }
    if (a->nkernels > b->nkernels)
        return missing(b, a->kernels[b->nkernels].name, a->target, b->target);
    if (a->nkernels < b->nkernels)
        return missing(b, b->kernels[a->nkernels].name, b->target, a->target);
    return true;
}

const struct codeobj *objects_reference(struct codeobj *const *objects,
                                        size_t nobjects)
{
    for (size_t i = 0; i < nobjects; i++)
        if (!codeobj_is_nvidia(objects[i]))
            return objects[i];
    return objects[0];
}

bool objects_agree(struct codeobj *const *objects, size_t nobjects)
{
    const struct codeobj *first = objects_reference(objects, nobjects);
    bool agree = true;

    for (size_t i = 0; i < nobjects; i++)
        if (objects[i] != first)
            agree &= pair_agrees(first, objects[i]);
    return agree;
}
