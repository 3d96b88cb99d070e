/* loaded_object.c - a loaded code object */
#include "loaded_object.h"

#include "allocation.h"

#include <stdlib.h>
#include <string.h>

void sim_code_object_free(struct sim_code_object *object)
{
    uint32_t i, j;

    if (!object)
        return;
    for (i = 0; i < object->nkernels; i++) {
        for (j = 0; j < object->kernels[i].nargs; j++)
            free(object->kernels[i].args[j].name);
        free(object->kernels[i].args);
        free(object->kernels[i].name);
    }
    for (i = 0; i < object->nglobals; i++)
        free(object->globals[i].name);
    for (i = 0; i < object->nsegments; i++)
        sim_mem_free(object->segments[i]->base);
    for (i = 0; i < object->nformats; i++)
        free(object->formats[i].text);
    free(object->formats);
    free(object->kernels);
    free(object->globals);
    free(object);
}

const struct sim_kernel *
sim_code_object_kernel(const struct sim_code_object *object, const char *name)
{
    uint32_t i;

    for (i = 0; i < object->nkernels; i++)
        if (strcmp(object->kernels[i].name, name) == 0)
            return &object->kernels[i];
    return NULL;
}
