/* no_memory.c - preloaded: the allocation that FAIL_AT counts to fails
 *
 * With FAIL_LATER set all after it fail, too. COUNT_TO names a file that gets
 * the number of allocations at the program's end. What runs at exit is not
 * counted and does not fail: that is libgcov's, if anything.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t nbytes);
void *__libc_calloc(size_t n, size_t nbytes);
void *__libc_realloc(void *memory, size_t nbytes);

static long count, fail_at;
static int fail_later;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");

    fail_at = at ? strtol(at, NULL, 10) : 0;
    fail_later = getenv("FAIL_LATER") != NULL;
    count = 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("COUNT_TO");
    const long total = count;
    FILE *file = name ? fopen(name, "w") : NULL;

    if (!file)
        return;
    (void)fprintf(file, "%ld\n", total);
    (void)fclose(file);
}

static int ended;

static void note_end(void)
{
    ended = 1;
}

static int fails(void)
{
    if (ended)
        return 0;
    if (!count++)
        (void)atexit(note_end);
    if (!fail_at || (fail_later ? count < fail_at : count != fail_at))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t nbytes)
{
    return fails() ? NULL : __libc_malloc(nbytes);
}

void *calloc(size_t n, size_t nbytes)
{
    return fails() ? NULL : __libc_calloc(n, nbytes);
}

void *realloc(void *memory, size_t nbytes)
{
    return fails() ? NULL : __libc_realloc(memory, nbytes);
}
