/* fuzz_codeobj.c - any bytes as a code object, for the generator */
#include "base/target_id.h"
#include "mutate.h"
#include "object.h"

static void use(struct codeobj *co)
{
    FUZZ_ASSERT(target_is_amd(co->target) || target_is_nvidia(co->target) ||
                co->cov == 3);
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
