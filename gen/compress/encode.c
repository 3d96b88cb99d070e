/* encode.c - kpack-compress's calls into libzstd */
#include "compress/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

/* Repeats are found over any distance that two code objects can have. */
enum { WINDOW_LOG_MIN = 20, WINDOW_LOG_MAX = 27 };

bool no_memory(void)
{
    (void)fputs("kpack-compress: out of memory\n", stderr);
    return false;
}

static int window_log(size_t nbytes)
{
    int log = WINDOW_LOG_MIN;

    while (log < WINDOW_LOG_MAX && ((size_t)1 << log) < nbytes)
        log++;
    return log;
}

static bool run(struct bytes content, const struct bytes *prefix,
                const struct bytes *dictionary, int level, void **out,
                size_t *out_nbytes)
{
    const size_t room = ZSTD_compressBound(content.nbytes);
    const size_t all = content.nbytes + (prefix ? prefix->nbytes : 0);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    void *to = malloc(room);
    size_t n = 0;

    if (context && to) {
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog,
                                     window_log(all));
        /* The checksum replaces a hash of the content by the runtime. */
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        if (prefix)
            n = ZSTD_CCtx_refPrefix(context, prefix->data, prefix->nbytes);
        if (dictionary)
            n = ZSTD_CCtx_loadDictionary(context, dictionary->data,
                                         dictionary->nbytes);
        if (!ZSTD_isError(n))
            n = ZSTD_compress2(context, to, room, content.data, content.nbytes);
        if (ZSTD_isError(n))
            (void)fprintf(stderr, "kpack-compress: zstd: %s\n",
                          ZSTD_getErrorName(n));
    } else {
        (void)no_memory();
    }
    if (!context || !to || ZSTD_isError(n)) {
        free(to);
        (void)ZSTD_freeCCtx(context);
        return false;
    }
    (void)ZSTD_freeCCtx(context);
    *out = to;
    *out_nbytes = n;
    return true;
}

bool compress(struct bytes content, const struct bytes *prefix, int level,
              void **out, size_t *out_nbytes)
{
    return run(content, prefix, NULL, level, out, out_nbytes);
}

bool compress_trained(struct bytes content, struct bytes dictionary, int level,
                      void **out, size_t *out_nbytes)
{
    return run(content, NULL, &dictionary, level, out, out_nbytes);
}

bool compressed_size(struct bytes content, const struct bytes *prefix,
                     int level, size_t *out)
{
    void *unused;

    if (!run(content, prefix, NULL, level, &unused, out))
        return false;
    free(unused);
    return true;
}

bool compressed_size_trained(struct bytes content, struct bytes dictionary,
                             int level, size_t *out)
{
    void *unused;

    if (!run(content, NULL, &dictionary, level, &unused, out))
        return false;
    free(unused);
    return true;
}
