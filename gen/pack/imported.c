/* imported.c - an import's faults, and its questions about paths */
#include "pack/imported.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void import_bad(struct import *in, const char *file, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", file);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    in->nbad++;
}

bool import_is_inside(const struct import *in, const char *real)
{
    const size_t n = strlen(in->real_root);

    /* The root folder / has a length of 1. */
    return strncmp(real, in->real_root, n) == 0 &&
           (n == 1 || real[n] == '/' || real[n] == '\0');
}

const char *const import_endings[] = {".co",    ".hsaco", ".hipfb", ".fatbin",
                                      ".o",     ".so",    ".a",     ".out",
                                      ".cubin", ".ptx",   ".kpack", NULL};

bool import_claims_code(const char *file)
{
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && import_endings[i]; i++)
        if (strcmp(dot, import_endings[i]) == 0)
            return true;
    return false;
}
