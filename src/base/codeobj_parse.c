/* codeobj_parse.c - reads a code object by the reader of its kind */
#include "codeobj_parse.h"

#include <stdlib.h>
#include <string.h>

#include "amdgpu_elf.h"
#include "cubin.h"
#include "elf64.h"
#include "ptx.h"

struct codeobj *codeobj_parse(const char *path, const void *data, size_t nbytes,
                              char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj *co = calloc(1, sizeof(*co));
    struct elf64 elf;
    bool ok = false;

    if (!co || !(co->path = strdup(path)) || !(co->data = malloc(nbytes + 1))) {
        codeobj_fail(error, "out of memory");
        goto out;
    }
    memcpy(co->data, data, nbytes);
    co->nbytes = nbytes;
    if (ptx_is(data, nbytes))
        ok = ptx_read(co, error);
    else if (!elf64_open(&elf, co->data, nbytes))
        codeobj_fail(error, "not an ELF file");
    else if (cubin_is(&elf))
        ok = cubin_read(co, &elf, error);
    else
        ok = amdgpu_elf_read(co, &elf, error);
out:
    if (!ok) {
        codeobj_free(co);
        co = NULL;
    }
    return co;
}
