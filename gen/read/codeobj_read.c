/* codeobj_read.c - reads a code object by the reader of its kind */
#include "read/codeobj_read.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "read/amdgpu_elf.h"
#include "read/cubin.h"
#include "read/ptx.h"
#include "util/file.h"

/* A pack of more than this is a mistake or an attack. */
#define FILE_NBYTES_MAX (1u << 30)

struct codeobj *codeobj_parse(const char *path, const void *data, size_t nbytes,
                              char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj *co = calloc(1, sizeof(*co));
    Elf *elf = NULL;
    bool ok = false;

    if (!co || !(co->path = strdup(path)) || !(co->data = malloc(nbytes + 1))) {
        codeobj_fail(error, "out of memory");
        goto out;
    }
    memcpy(co->data, data, nbytes);
    co->nbytes = nbytes;
    if (ptx_is(data, nbytes)) {
        ok = ptx_read(co, error);
        goto out;
    }
    elf_version(EV_CURRENT);
    elf = elf_memory((char *)co->data, nbytes);
    if (!elf) {
        codeobj_fail(error, "not an ELF file");
        goto out;
    }
    if (cubin_is(elf)) {
        ok = cubin_read(co, elf, error);
        goto out;
    }
    ok = amdgpu_elf_read(co, elf, error);
out:
    if (elf)
        elf_end(elf);
    if (!ok) {
        codeobj_free(co);
        co = NULL;
    }
    return co;
}

struct codeobj *codeobj_read(const char *path, char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj *co;
    unsigned char *data;
    size_t nbytes;

    if (!file_read(path, FILE_NBYTES_MAX, &data, &nbytes, error))
        return NULL;
    co = codeobj_parse(path, data, nbytes, error);
    free(data);
    return co;
}
