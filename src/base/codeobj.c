/* codeobj.c - functions that all readers of code objects share */
#include "codeobj.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target_id.h"

bool codeobj_fail(char error[CODEOBJ_ERROR_MAX], const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(error, CODEOBJ_ERROR_MAX, format, list);
    va_end(list);
    return false;
}

bool codeobj_is_nvidia(const struct codeobj *co)
{
    return target_is_nvidia(co->target);
}

bool codeobj_take_target(struct codeobj *co, const char *target)
{
    const size_t n = strlen(co->target);
    const bool is_hopper =
        strcmp(co->target, "sm_90a") == 0 && strcmp(target, "sm_90") == 0;

    if (strcmp(co->target, target) == 0)
        return true;
    if (is_hopper) {
        co->target[strlen(target)] = '\0';
        return true;
    }
    if (co->knows_suffix || strncmp(co->target, "sm_", 3) != 0 ||
        !target_is_nvidia(target) || strncmp(co->target, target, n) != 0 ||
        strspn(target + n, "af") != strlen(target + n))
        return false;
    snprintf(co->target, sizeof(co->target), "%s", target);
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct codeobj_kernel *x = a, *y = b;

    return strcmp(x->name, y->name);
}

const char *codeobj_sort(struct codeobj *co)
{
    if (co->nkernels)
        qsort(co->kernels, co->nkernels, sizeof(*co->kernels), by_name);
    for (size_t i = 1; i < co->nkernels; i++)
        if (strcmp(co->kernels[i - 1].name, co->kernels[i].name) == 0)
            return co->kernels[i].name;
    return NULL;
}

struct codeobj_kernel *codeobj_find(const struct codeobj *co, const char *name,
                                    size_t nbytes)
{
    size_t low = 0, high = co->nkernels;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        struct codeobj_kernel *k = &co->kernels[middle];
        int order = strncmp(k->name, name, nbytes);

        if (order == 0 && k->name[nbytes] == '\0')
            return k;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

uint32_t codeobj_packed_nbytes(const struct codeobj_kernel *k)
{
    /* Arguments ascend (amdgpu_metadata.c): the last one in the list ends last.
     */
    const struct codeobj_arg *last = k->nargs ? &k->args[k->nargs - 1] : NULL;

    if (last)
        return last->offset + last->size;
    return k->attrs.has_hidden_args ? 0 : k->attrs.kernarg_nbytes;
}

void codeobj_free(struct codeobj *co)
{
    if (!co)
        return;
    for (size_t i = 0; i < co->nkernels; i++) {
        for (size_t j = 0; j < co->kernels[i].nargs; j++)
            free(co->kernels[i].args[j].name);
        free(co->kernels[i].args);
        free(co->kernels[i].name);
        free(co->kernels[i].symbol);
    }
    free(co->kernels);
    free(co->data);
    free(co->path);
    free(co);
}
