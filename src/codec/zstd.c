/* zstd.c - the decoder of packs made with COMPRESS=zstd
 *
 * Compiled into the pack, under names of its own (-DKPK_CODEC, -DKPK_CACHE), so
 * that packs of several vendors live in one program and libkpack.a itself
 * needs no library.
 */
#include "kpack/format.h"

#include <zstd.h>

extern const struct kpk_codec KPK_CODEC __attribute__((visibility("hidden")));
extern struct kpk_cache KPK_CACHE __attribute__((visibility("hidden")));

/* A dictionary that begins with zstd's magic has been trained; any other is
 * content to refer to, which is what zstd takes it for. Frames carry a hash of
 * what they decode to, so a changed byte does not go unseen. */
static const char *decode(void *dst, size_t dst_nbytes, const void *src,
                          size_t src_nbytes, const void *dictionary,
                          size_t dictionary_nbytes)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    size_t n;

    if (!context)
        return "zstd finds no memory for its decoder";
    n = ZSTD_decompress_usingDict(context, dst, dst_nbytes, src, src_nbytes,
                                  dictionary, dictionary_nbytes);
    (void)ZSTD_freeDCtx(context);
    if (ZSTD_isError(n))
        return ZSTD_getErrorName(n);
    return n == dst_nbytes ? NULL : "it is shorter than it should be";
}

const struct kpk_codec KPK_CODEC = {KPK_CODEC_ZSTD, "zstd", decode};
struct kpk_cache KPK_CACHE;
