/* codeobj_read.c - reads a code object from its file */
#include "read/codeobj_read.h"

#include <stdlib.h>

#include "util/file.h"

/* A larger file is a mistake or an attack. */
#define FILE_NBYTES_MAX (1u << 30)

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
