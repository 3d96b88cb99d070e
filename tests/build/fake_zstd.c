/* fake_zstd.c - a libzstd that fails as FAKE_ZSTD says, for tests/build/zstd.sh
 *
 * FAKE_ZSTD names the function that fails, or how decoding does: `memory`,
 * `short`, `zeros`. REAL_ZSTD is the library that decodes otherwise. Compiled
 * with -DWITHOUT_NAME it lacks a function, as an old one would.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_ALLOCATION = 64, CORRUPTION = 20 };

static int fails(const char *what)
{
    const char *wanted = getenv("FAKE_ZSTD");

    return wanted && strcmp(wanted, what) == 0;
}

/* clang-format off */
#define FUNCTION(result, name, arguments) result name arguments; result name arguments
#ifndef WITHOUT_ZSTD_createDCtx
FUNCTION(void *, ZSTD_createDCtx, (void)) { return fails("createDCtx") ? NULL : malloc(1); }
#endif
#ifndef WITHOUT_ZSTD_freeDCtx
FUNCTION(size_t, ZSTD_freeDCtx, (void *context)) { free(context); return 0; }
#endif
#ifndef WITHOUT_ZSTD_decompress_usingDict
FUNCTION(size_t, ZSTD_decompress_usingDict, (void *context, void *dst, size_t n, const void *src, size_t nsrc,
                                             const void *dictionary, size_t ndictionary))
{
    void *real = dlopen(getenv("REAL_ZSTD"), RTLD_NOW | RTLD_LOCAL);
    void *(*create)(void);
    size_t (*decode)(void *, void *, size_t, const void *, size_t, const void *, size_t);
    size_t (*release)(void *);
    void *decoder;
    size_t answer;

    (void)context;
    memset(dst, 0, n);
    if (fails("memory"))
        return (size_t)-MEMORY_ALLOCATION;
    if (fails("short") || fails("zeros"))
        return n - (size_t)fails("short");
    if (!real)
        abort();
    *(void **)&create = dlsym(real, "ZSTD_createDCtx");
    *(void **)&decode = dlsym(real, "ZSTD_decompress_usingDict");
    *(void **)&release = dlsym(real, "ZSTD_freeDCtx");
    decoder = create();
    answer = decode(decoder, dst, n, src, nsrc, dictionary, ndictionary);
    (void)release(decoder);
    return answer;
}
#endif
#ifndef WITHOUT_ZSTD_createCCtx
FUNCTION(void *, ZSTD_createCCtx, (void)) { return fails("createCCtx") ? NULL : malloc(1); }
#endif
#ifndef WITHOUT_ZSTD_freeCCtx
FUNCTION(size_t, ZSTD_freeCCtx, (void *context)) { free(context); return 0; }
#endif
#ifndef WITHOUT_ZSTD_CCtx_setParameter
FUNCTION(size_t, ZSTD_CCtx_setParameter, (void *context, int name, int value))
{
    (void)context, (void)name, (void)value;
    return 0;
}
#endif
#ifndef WITHOUT_ZSTD_compress2
FUNCTION(size_t, ZSTD_compress2, (void *context, void *dst, size_t n, const void *src, size_t nsrc))
{
    (void)context, (void)dst, (void)n, (void)src, (void)nsrc;
    return fails("compress2") ? (size_t)-CORRUPTION : 0;
}
#endif
#ifndef WITHOUT_ZSTD_compressBound
FUNCTION(size_t, ZSTD_compressBound, (size_t n)) { return n; }
#endif
#ifndef WITHOUT_ZSTD_isError
FUNCTION(unsigned, ZSTD_isError, (size_t n)) { return n > (size_t)-120; }
#endif
#ifndef WITHOUT_ZSTD_getErrorName
FUNCTION(const char *, ZSTD_getErrorName, (size_t n)) { (void)n; return "made to fail"; }
#endif
