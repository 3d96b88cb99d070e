/* source.c - finds a kernel's function in the IR of its source */
#include "pack/source.h"

#include <stdlib.h>
#include <string.h>

#include "pack/alias.h"

struct source source_find(const struct ir *ir, const struct csv *aliases,
                          const char *module, const char *kernel)
{
    struct source found = {NULL, false, 0};

    for (size_t i = 0; i < ir_nkernels(ir); i++)
        if (strcmp(ir_kernel(ir, i)->name, kernel) == 0) {
            found.kernel = ir_kernel(ir, i);
            return found;
        }
    for (size_t i = 0; aliases && i < ir_nkernels(ir); i++) {
        found.rule = alias_of(aliases, module, ir_kernel(ir, i)->name, kernel);
        if (found.rule < aliases->nrows) {
            found.kernel = ir_kernel(ir, i);
            found.is_alias = true;
            break;
        }
    }
    return found;
}

unsigned source_types(const struct ir *ir, const struct source *source)
{
    return ir_ref(ir, ir_ref(ir, source->kernel->subprogram, "type"), "types");
}

static bool name_args(struct codeobj_kernel *k, const struct ir *ir,
                      const struct source *source)
{
    char name[256];

    for (size_t a = 0; a < k->nargs; a++) {
        char *copy;

        if (*k->args[a].name ||
            !ir_parameter(ir, source->kernel->subprogram, (unsigned)a + 1, name,
                          sizeof(name)))
            continue;
        copy = strdup(name);
        if (!copy)
            return false;
        free(k->args[a].name);
        k->args[a].name = copy;
    }
    return true;
}

bool source_name_args(struct codeobj *co, const struct ir *ir,
                      const struct csv *aliases, const char *module)
{
    for (size_t i = 0; i < co->nkernels; i++) {
        struct codeobj_kernel *k = &co->kernels[i];
        const struct source source = source_find(ir, aliases, module, k->name);

        if (source.kernel &&
            ir_list_count(ir, source_types(ir, &source)) == k->nargs + 1 &&
            !name_args(k, ir, &source))
            return false;
    }
    return true;
}
