/* fuzz_cubin.c - any bytes as a cubin, whose kernels the generator lists */
#include "base/target_id.h"
#include "mutate.h"
#include "object.h"

#include <stdio.h>

/* A cubin for sm_90 may be one for sm_90a. */
static void use(struct codeobj *co)
{
    char target[CODEOBJ_TARGET_MAX + 2];

    if (!codeobj_is_nvidia(co))
        return;
    FUZZ_ASSERT(target_is_nvidia(co->target));
    (void)snprintf(target, sizeof(target), "%sa", co->target);
    if (codeobj_take_target(co, target))
        FUZZ_ASSERT(strcmp(co->target, target) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    return fuzz_object(data, nbytes, use);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed)
{
    return mutate_elf(data, nbytes, most, seed);
}
