/* fuzz_codeobj.c - any bytes as a code object, for the generator and for the
 * runtime's symbol list */
#include "fuzz.h"
#include "read/codeobj.h"

/* What was read must be whole: names end, arguments are in bounds. */
static void use(const struct codeobj *co)
{
    for (size_t i = 0; i < co->nkernels; i++) {
        FUZZ_ASSERT(*co->kernels[i].name);
        FUZZ_ASSERT(i == 0 ||
                    strcmp(co->kernels[i - 1].name, co->kernels[i].name) < 0);
        for (size_t j = 0; j < co->kernels[i].nargs; j++)
            FUZZ_ASSERT(co->kernels[i].args[j].offset +
                            (uint64_t)co->kernels[i].args[j].size <=
                        UINT32_MAX);
    }
    FUZZ_ASSERT(codeobj_is_target(co->target) || co->cov == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char error[CODEOBJ_ERROR_MAX] = "";
    struct codeobj *co = codeobj_parse("fuzz", data, nbytes, error);

    if (co)
        use(co);
    else
        FUZZ_ASSERT(*error);
    codeobj_free(co);
    return 0;
}
