/* object.h - any bytes as a code object, for the targets of its kinds */
#ifndef FUZZ_OBJECT_H
#define FUZZ_OBJECT_H

#include "fuzz.h"
#include "read/codeobj_read.h"

/* Reads an object. A refused one has a sentence; an accepted one is whole. */
static inline int fuzz_object(const uint8_t *data, size_t nbytes,
                              void (*use)(struct codeobj *co))
{
    char error[CODEOBJ_ERROR_MAX] = "";
    struct codeobj *co = codeobj_parse("fuzz", data, nbytes, error);

    FUZZ_ASSERT(co || *error);
    for (size_t i = 0; co && i < co->nkernels; i++) {
        const struct codeobj_kernel *k = &co->kernels[i];

        FUZZ_ASSERT(*k->name &&
                    (i == 0 || strcmp(co->kernels[i - 1].name, k->name) < 0));
        for (size_t j = 0; j < k->nargs; j++)
            FUZZ_ASSERT(k->args[j].name &&
                        (uint64_t)k->args[j].offset + k->args[j].size <=
                            UINT32_MAX);
        (void)codeobj_packed_nbytes(k);
    }
    if (co)
        use(co);
    codeobj_free(co);
    return 0;
}

#endif
