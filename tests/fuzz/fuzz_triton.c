/* fuzz_triton.c - any bytes as a JSON file beside a code object */
#include "fuzz.h"
#include "read/triton.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char error[TRITON_ERROR_MAX] = "";
    char *text = malloc(nbytes + 1);
    struct triton triton;

    if (!text)
        abort();
    memcpy(text, data, nbytes);
    text[nbytes] = '\0';
    switch (triton_parse(text, nbytes, &triton, error)) {
    case TRITON_READ:
        FUZZ_ASSERT(triton.num_warps >= 1 && triton.num_ctas >= 1 &&
                    triton.nscratch <= 2 &&
                    strlen(triton.kernel) < TRITON_NAME_MAX);
        break;
    case TRITON_OTHER:
        break;
    case TRITON_BAD:
        FUZZ_ASSERT(*error);
        break;
    }
    free(text);
    return 0;
}
