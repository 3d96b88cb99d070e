/* memory.c - memory of a command that has no use without it */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

static void *or_exit(void *memory)
{
    if (memory)
        return memory;
    fputs("kpack-gen: out of memory\n", stderr);
    exit(1);
}

void *memory_new(size_t n, size_t nbytes)
{
    return or_exit(calloc(n ? n : 1, nbytes));
}

void *memory_grow(void *array, size_t n, size_t nbytes)
{
    if (n && (n & (n - 1)) != 0) /* room is the next power of two */
        return array;
    return or_exit(realloc(array, (n ? 2 * n : 1) * nbytes));
}

char *memory_vtext(const char *format, va_list args)
{
    va_list again;
    char *text;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = memory_new((size_t)n + 1, 1);
    vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *memory_text(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = memory_vtext(format, args);
    va_end(args);
    return text;
}
