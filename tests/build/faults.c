/* faults.c - the call that FAIL_AT counts to fails: of memory, or of files
 *
 * FAULT says of which: `memory` is malloc() and its like, `files` what opens,
 * reads, writes, closes and renames files. COUNT_TO names a file that gets the
 * number of such calls at the program's end. Calls at exit, such as libgcov's,
 * are neither counted nor fail; nor are calls on standard error, where the
 * sentences go.
 *
 * A loop makes one call over and over. Calls are told apart by their stacks,
 * and only the first four calls with one stack are counted: before and after a
 * call there is something to be undone.
 *
 * Preloaded, it stands between a program and the C library. A program with a
 * sanitizer, which has an allocator of its own, is linked with it: -DLINKED and
 * --wrap of each function.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

enum kind { MEMORY, FILES };

enum { TIMES = 4, FRAMES = 10, WAYS = 1 << 16 };

static long count, fail_at;
static enum kind fault;
static int begun, ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Set while the stack is read, which may itself ask for memory. */
static __thread int reading __attribute__((tls_model("initial-exec")));
/* By hash; one that does not fit in anymore is not counted. */
static struct {
    uint64_t way;
    int times;
} ways[WAYS];

static void note_end(void)
{
    ended = 1;
}

/* FNV-1a over where the calls return to. */
static uint64_t hash_stack(void)
{
    void *frames[FRAMES];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int n;

    reading = 1;
    n = backtrace(frames, FRAMES);
    reading = 0;
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
    return hash | 1;
}

/* Counts this call's stack; returns how often the program had the same one. */
static int times_here(void)
{
    const uint64_t way = hash_stack();
    size_t i = (way >> 20) % WAYS;

    for (size_t tries = 0; tries < WAYS; tries++, i = (i + 1) % WAYS) {
        if (ways[i].way == 0)
            ways[i].way = way;
        if (ways[i].way == way)
            return ++ways[i].times;
    }
    return TIMES + 1;
}

static int fails(enum kind kind, int error)
{
    int now = 0;

    if (!begun || ended || kind != fault || reading)
        return 0;
    (void)pthread_mutex_lock(&lock);
    if (times_here() <= TIMES) {
        reading = 1;
        if (!count++)
            (void)atexit(note_end);
        reading = 0;
        now = count == fail_at;
    }
    (void)pthread_mutex_unlock(&lock);
    if (now)
        errno = error;
    return now;
}

/* Not a stream of memory's. */
static int is_file(FILE *f)
{
    return f != stderr && fileno(f) >= 0;
}

/* A stream's call, which leaves the mark that ferror() asks for. */
static int stream_fails(FILE *f)
{
    if (!is_file(f) || !fails(FILES, EIO))
        return 0;
    f->_flags |= 0x20; /* _IO_ERR_SEEN */
    return 1;
}

/* ---- each function, declared, found and replaced -------------------- */

/* clang-format off */
#define FUNCTIONS(X)                                                          \
    X(FILE *, fopen, (const char *, const char *))                            \
    X(int, fclose, (FILE *))                                                  \
    X(size_t, fread, (void *, size_t, size_t, FILE *))                        \
    X(size_t, fwrite, (const void *, size_t, size_t, FILE *))                 \
    X(int, fputs, (const char *, FILE *))                                     \
    X(int, fputc, (int, FILE *))                                              \
    X(int, fgetc, (FILE *))                                                   \
    X(char *, fgets, (char *, int, FILE *))                                   \
    X(ssize_t, getline, (char **, size_t *, FILE *))                          \
    X(int, fseek, (FILE *, long, int))                                        \
    X(int, vfprintf, (FILE *, const char *, va_list))                         \
    X(int, fflush, (FILE *))                                                  \
    X(int, stat, (const char *, struct stat *))                               \
    X(int, lstat, (const char *, struct stat *))                              \
    X(int, fstat, (int, struct stat *))                                       \
    X(int, mkdir, (const char *, mode_t))                                     \
    X(DIR *, opendir, (const char *))                                         \
    X(struct dirent *, readdir, (DIR *))                                      \
    X(int, rename, (const char *, const char *))
/* clang-format on */

#ifdef LINKED
#define NAME(name) __wrap_##name
#define REAL(name) __real_##name
#define X(result, name, parameters) result __real_##name parameters;
FUNCTIONS(X)
void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t n, size_t nbytes);
void *__real_realloc(void *memory, size_t nbytes);
#undef X
static void find_all(void)
{
}
#else
#define NAME(name) name
#define REAL(name) (find_all(), real.name)
void *__libc_malloc(size_t nbytes);
void *__libc_calloc(size_t n, size_t nbytes);
void *__libc_realloc(void *memory, size_t nbytes);
static struct {
#define X(result, name, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
} real = {.malloc = __libc_malloc,
          .calloc = __libc_calloc,
          .realloc = __libc_realloc};

/* Libraries of C++ call these while they are loaded, before begin(). */
static void find_all(void)
{
    static int found;
    void *at;

    if (found)
        return;
    found = 1;
#define X(result, name, parameters)                                            \
    at = dlsym(RTLD_NEXT, #name);                                              \
    memcpy(&real.name, &at, sizeof(at));
    FUNCTIONS(X)
#undef X
}
#endif

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");
    const char *kind = getenv("FAULT");

    find_all();
    fail_at = at ? strtol(at, NULL, 10) : 0;
    fault = kind && strcmp(kind, "files") == 0 ? FILES : MEMORY;
    (void)hash_stack(); /* the first time it loads a library */
    begun = 1;
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("COUNT_TO");
    FILE *file = name ? REAL(fopen)(name, "w") : NULL;
    char text[24];

    if (!file)
        return;
    (void)snprintf(text, sizeof(text), "%ld\n", count);
    (void)REAL(fputs)(text, file);
    (void)REAL(fclose)(file);
}

#define REPLACE(kind, error, failed, result, name, parameters, arguments)      \
    result NAME(name) parameters;                                              \
    result NAME(name) parameters                                               \
    {                                                                          \
        return fails(kind, error) ? (failed) : REAL(name) arguments;           \
    }
REPLACE(MEMORY, ENOMEM, NULL, void *, malloc, (size_t n), (n))
REPLACE(MEMORY, ENOMEM, NULL, void *, calloc, (size_t n, size_t m), (n, m))
REPLACE(MEMORY, ENOMEM, NULL, void *, realloc, (void *p, size_t n), (p, n))
REPLACE(FILES, EACCES, NULL, FILE *, fopen, (const char *p, const char *m),
        (p, m))
REPLACE(FILES, EACCES, -1, int, stat, (const char *p, struct stat *s), (p, s))
REPLACE(FILES, EACCES, -1, int, lstat, (const char *p, struct stat *s), (p, s))
REPLACE(FILES, EIO, -1, int, fstat, (int f, struct stat *s), (f, s))
REPLACE(FILES, ENOSPC, -1, int, mkdir, (const char *p, mode_t m), (p, m))
REPLACE(FILES, EMFILE, NULL, DIR *, opendir, (const char *p), (p))
REPLACE(FILES, EIO, NULL, struct dirent *, readdir, (DIR * d), (d))
/* It leaves no mark. */
REPLACE(FILES, EIO, -1, int, fseek, (FILE * f, long at, int whence),
        (f, at, whence))
REPLACE(FILES, EXDEV, -1, int, rename, (const char *p, const char *q), (p, q))

/* The file is closed all the same. */
int NAME(fclose)(FILE *f);
int NAME(fclose)(FILE *f)
{
    const int failed = is_file(f) && fails(FILES, ENOSPC);
    const int result = REAL(fclose)(f);

    if (!failed)
        return result;
    errno = ENOSPC;
    return EOF;
}

#define REPLACE_STREAM(failed, result, name, parameters, f, arguments)         \
    result NAME(name) parameters;                                              \
    result NAME(name) parameters                                               \
    {                                                                          \
        return stream_fails(f) ? (failed) : REAL(name) arguments;              \
    }
REPLACE_STREAM(0, size_t, fread, (void *p, size_t n, size_t m, FILE *f), f,
               (p, n, m, f))
REPLACE_STREAM(0, size_t, fwrite, (const void *p, size_t n, size_t m, FILE *f),
               f, (p, n, m, f))
REPLACE_STREAM(EOF, int, fputs, (const char *s, FILE *f), f, (s, f))
REPLACE_STREAM(EOF, int, fputc, (int c, FILE *f), f, (c, f))
REPLACE_STREAM(EOF, int, fgetc, (FILE * f), f, (f))
REPLACE_STREAM(NULL, char *, fgets, (char *s, int n, FILE *f), f, (s, n, f))
REPLACE_STREAM(-1, ssize_t, getline, (char **s, size_t *n, FILE *f), f,
               (s, n, f))
REPLACE_STREAM(-1, int, vfprintf, (FILE * f, const char *s, va_list a), f,
               (f, s, a))
REPLACE_STREAM(EOF, int, fflush, (FILE * f), f, (f))

/* Functions that compilers substitute for the functions above, or the reverse.
 */
int NAME(putc)(int c, FILE *f);
int NAME(putc)(int c, FILE *f)
{
    return NAME(fputc)(c, f);
}

int NAME(putchar)(int c);
int NAME(putchar)(int c)
{
    return NAME(fputc)(c, stdout);
}

int NAME(puts)(const char *s);
int NAME(puts)(const char *s)
{
    return NAME(fputs)(s, stdout) == EOF ? EOF : NAME(fputc)('\n', stdout);
}

int NAME(fprintf)(FILE *f, const char *format, ...);
int NAME(fprintf)(FILE *f, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = NAME(vfprintf)(f, format, args);
    va_end(args);
    return n;
}

int NAME(printf)(const char *format, ...);
int NAME(printf)(const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = NAME(vfprintf)(stdout, format, args);
    va_end(args);
    return n;
}
