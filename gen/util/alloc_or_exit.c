/* alloc_or_exit.c - memory of a command that has no use without it */
/* For fopencookie; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "util/alloc_or_exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_exit(void *memory)
{
    if (memory)
        return memory;
    fputs("kpack-gen: out of memory\n", stderr);
    exit(1);
}

void *alloc_new(size_t n, size_t nbytes)
{
    return or_exit(calloc(n ? n : 1, nbytes));
}

void *alloc_grow(void *array, size_t n, size_t nbytes)
{
    if (n && (n & (n - 1)) != 0) /* room is the next power of two */
        return array;
    return or_exit(realloc(array, (n ? 2 * n : 1) * nbytes));
}

void alloc_none(void)
{
    (void)or_exit(NULL);
}

/* open_memstream() does not tell of writes that it has no memory for. */
struct sink {
    char **text;
    size_t *nbytes;
};

static ssize_t append(void *cookie, const char *from, size_t n)
{
    const struct sink *sink = cookie;

    *sink->text = or_exit(realloc(*sink->text, *sink->nbytes + n + 1));
    memcpy(*sink->text + *sink->nbytes, from, n);
    *sink->nbytes += n;
    (*sink->text)[*sink->nbytes] = '\0';
    return (ssize_t)n;
}

/* For ftell(). */
static int tell(void *cookie, off64_t *position, int whence)
{
    const struct sink *sink = cookie;

    (void)whence;
    *position = (off64_t)*sink->nbytes;
    return 0;
}

static int end(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *alloc_stream(char **text, size_t *nbytes)
{
    struct sink *sink = alloc_new(1, sizeof(*sink));

    *text = alloc_new(1, 1);
    *nbytes = 0;
    *sink = (struct sink){text, nbytes};
    return or_exit(fopencookie(
        sink, "w",
        (cookie_io_functions_t){.write = append, .seek = tell, .close = end}));
}

char *alloc_vtext(const char *format, va_list args)
{
    va_list again;
    char *text;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = alloc_new((size_t)n + 1, 1);
    vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *alloc_text(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = alloc_vtext(format, args);
    va_end(args);
    return text;
}
