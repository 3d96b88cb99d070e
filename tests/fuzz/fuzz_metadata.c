/* fuzz_metadata.c - any bytes as the metadata note of a code object */
#include "base/amdgpu_metadata.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char error[CODEOBJ_ERROR_MAX] = "";
    struct codeobj *co = calloc(1, sizeof(*co));
    uint8_t *note = malloc(nbytes + !nbytes); /* exact, for ASan */

    if (!co || !note)
        abort();
    if (nbytes)
        memcpy(note, data, nbytes);
    if (!amdgpu_metadata_read(co, note, nbytes, error))
        FUZZ_ASSERT(*error);
    free(note);
    codeobj_free(co);
    return 0;
}
