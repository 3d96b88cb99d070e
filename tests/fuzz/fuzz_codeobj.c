/* fuzz_codeobj.c - any bytes as a code object, for the generator */
#include "base/target_id.h"
#include "base/unwaited.h"
#include "mutate.h"
#include "object.h"

static void use(struct codeobj *co)
{
    FUZZ_ASSERT(target_is_amd(co->target) || target_is_nvidia(co->target) ||
                co->cov == 3);
}

static void note(void *user, const char *function, uint64_t offset)
{
    (void)user;
    FUZZ_ASSERT(*function && offset % 4 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    unwaited_find(data, nbytes, note, NULL);
    return fuzz_object(data, nbytes, use);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed)
{
    return mutate_elf(data, nbytes, most, seed);
}
