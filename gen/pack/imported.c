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

const struct import_ending import_endings[] = {
    {".co", false},    {".hsaco", false}, {".hipfb", false}, {".fatbin", false},
    {".o", false},     {".so", true},     {".a", true},      {".out", false},
    {".cubin", false}, {".ptx", false},   {".kpack", false}, {NULL, false},
};

const struct import_ending *import_ending_of(const char *file)
{
    const char *dot = strrchr(file, '.');
    const struct import_ending *ending = import_endings;

    while (dot && ending->text && strcmp(dot, ending->text) != 0)
        ending++;
    return dot && ending->text ? ending : NULL;
}
