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

/* A decoder kept for the next use: making one takes as long as decoding a small
 * code object. A thread that finds no spare decoder makes one; a thread that
 * returns its decoder and finds a spare frees one of the two. */
static ZSTD_DCtx *spare;

static ZSTD_DCtx *take_decoder(void)
{
    ZSTD_DCtx *taken = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);

    return taken ? taken : ZSTD_createDCtx();
}

static void put_decoder(ZSTD_DCtx *decoder)
{
    (void)ZSTD_freeDCtx(__atomic_exchange_n(&spare, decoder, __ATOMIC_ACQ_REL));
}

/* Runs when a plug-in that contains kpack is unloaded. */
__attribute__((destructor)) static void free_spare(void)
{
    put_decoder(NULL);
}

/* A dictionary that begins with zstd's magic has been trained; any other is
 * content to refer to, which is what zstd takes it for. Frames carry a hash of
 * what they decode to, so a changed byte does not go unseen. */
static const char *decode(void *dst, size_t dst_nbytes, const void *src,
                          size_t src_nbytes, const void *dictionary,
                          size_t dictionary_nbytes)
{
    ZSTD_DCtx *context = take_decoder();
    size_t n;

    if (!context)
        return KPK_CODEC_NO_MEMORY;
    n = ZSTD_decompress_usingDict(context, dst, dst_nbytes, src, src_nbytes,
                                  dictionary, dictionary_nbytes);
    put_decoder(context);
    if (ZSTD_isError(n))
        return ZSTD_getErrorName(n);
    return n == dst_nbytes ? NULL : "it is shorter than it should be";
}

const struct kpk_codec KPK_CODEC = {KPK_CODEC_ZSTD, "zstd", decode};
struct kpk_cache KPK_CACHE;
