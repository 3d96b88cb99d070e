/* libzstd.c - libzstd, loaded when a file with a compressed pack is looked at
 *
 * The command is built without libzstd's headers and starts without the
 * library, as most packs need neither. Types and values are those of zstd.h,
 * stable since 1.4.
 */
#include "libzstd.h"
#include "os.h"
#include "xmalloc.h"

#include "../os.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define ZSTD_TABLE(X)                                                          \
    X(void *,       ZSTD_createDCtx, (void))                                   \
    X(size_t,       ZSTD_freeDCtx, (void *))                                   \
    X(size_t,       ZSTD_decompress_usingDict,                                 \
      (void *, void *, size_t, const void *, size_t, const void *, size_t))    \
    X(void *,       ZSTD_createCCtx, (void))                                   \
    X(size_t,       ZSTD_freeCCtx, (void *))                                   \
    X(size_t,       ZSTD_CCtx_setParameter, (void *, int, int))                \
    X(size_t,       ZSTD_compress2,                                            \
      (void *, void *, size_t, const void *, size_t))                          \
    X(size_t,       ZSTD_compressBound, (size_t))                              \
    X(unsigned,     ZSTD_isError, (size_t))                                    \
    X(const char *, ZSTD_getErrorName, (size_t))
/* clang-format on */

enum { COMPRESSION_LEVEL = 100, CHECKSUM_FLAG = 201, LEVEL = 19 };

static struct {
#define X(result, name, args) result(*name) args;
    ZSTD_TABLE(X)
#undef X
} zstd;

const char *zstd_load(void)
{
    static bool loaded;
    static char why[512];
    void *library;

    if (loaded)
        return NULL;
    library = kpk_i_library_open(os_zstd);
    if (!library) {
        const char *error = kpk_i_library_error();

        (void)snprintf(why, sizeof(why),
                       "it is compressed, and %s does not load here: %s",
                       os_zstd, error ? error : "no reason given");
        return why;
    }
#define X(result, name, args)                                                  \
    {                                                                          \
        void *address = kpk_i_library_symbol(library, #name);                  \
        if (!address) {                                                        \
            (void)snprintf(why, sizeof(why), "this machine's %s has no %s",    \
                           os_zstd, #name);                                    \
            return why;                                                        \
        }                                                                      \
        memcpy(&zstd.name, &address, sizeof(address));                         \
    }
    ZSTD_TABLE(X)
#undef X
    loaded = true;
    return NULL;
}

/* NULL, or the fault that libzstd's answer is. */
static const char *fault_of(size_t answer)
{
    enum { MEMORY_ALLOCATION = 64 }; /* ZSTD_error_memory_allocation */

    if (!zstd.ZSTD_isError(answer))
        return NULL;
    if (answer == (size_t)-MEMORY_ALLOCATION)
        cmd_no_memory();
    return zstd.ZSTD_getErrorName(answer);
}

const char *zstd_decode(void *dst, size_t dst_nbytes, const void *src,
                        size_t src_nbytes, const void *dictionary,
                        size_t dictionary_nbytes)
{
    void *context = zstd.ZSTD_createDCtx();
    const char *fault;
    size_t n;

    if (!context)
        cmd_no_memory();
    n = zstd.ZSTD_decompress_usingDict(context, dst, dst_nbytes, src,
                                       src_nbytes, dictionary,
                                       dictionary_nbytes);
    (void)zstd.ZSTD_freeDCtx(context);
    fault = fault_of(n);
    return fault || n == dst_nbytes ? fault : "it decompresses to fewer bytes";
}

const char *zstd_encode(const void *src, size_t src_nbytes, void **dst,
                        size_t *dst_nbytes)
{
    const size_t room = zstd.ZSTD_compressBound(src_nbytes);
    void *context = zstd.ZSTD_createCCtx();
    const char *fault;
    void *to;

    if (!context)
        cmd_no_memory();
    to = cmd_malloc(room);
    (void)zstd.ZSTD_CCtx_setParameter(context, COMPRESSION_LEVEL, LEVEL);
    (void)zstd.ZSTD_CCtx_setParameter(context, CHECKSUM_FLAG, 1);
    *dst_nbytes = zstd.ZSTD_compress2(context, to, room, src, src_nbytes);
    (void)zstd.ZSTD_freeCCtx(context);
    fault = fault_of(*dst_nbytes);
    if (fault)
        free(to);
    else
        *dst = to;
    return fault;
}
