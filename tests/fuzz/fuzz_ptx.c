/* fuzz_ptx.c - any bytes as PTX, whose entries the generator lists */
#include "base/target_id.h"
#include "fuzz.h"
#include "read/codeobj_read.h"

enum { MOST_NBYTES = 65536 };

static void check(const char *text, size_t nbytes)
{
    char error[CODEOBJ_ERROR_MAX] = "";
    struct codeobj *co = codeobj_parse("fuzz", text, nbytes, error);

    if (!co) {
        FUZZ_ASSERT(*error);
        return;
    }
    FUZZ_ASSERT(target_is_amd(co->target) || target_is_nvidia(co->target));
    for (size_t i = 0; i < co->nkernels; i++) {
        const struct codeobj_kernel *k = &co->kernels[i];

        FUZZ_ASSERT(*k->name && strlen(k->name) < nbytes);
        for (size_t j = 1; j < k->nargs; j++)
            FUZZ_ASSERT(k->args[j].offset >=
                        (uint64_t)k->args[j - 1].offset + k->args[j - 1].size);
    }
    codeobj_free(co);
}

/* Reads the input unchanged, and behind a valid head of PTX. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char head[] =
        ".version 7.8\n.target sm_80\n.address_size 64\n";
    char *text;

    if (nbytes > MOST_NBYTES)
        return 0;
    check((const char *)data, nbytes);
    text = malloc(sizeof(head) + nbytes);
    if (!text)
        abort();
    memcpy(text, head, sizeof(head) - 1);
    if (nbytes)
        memcpy(text + sizeof(head) - 1, data, nbytes);
    check(text, sizeof(head) - 1 + nbytes);
    free(text);
    return 0;
}
