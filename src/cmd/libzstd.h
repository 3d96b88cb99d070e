/* libzstd.h - libzstd, if the machine has it */
#ifndef KPK_CMD_LIBZSTD_H
#define KPK_CMD_LIBZSTD_H

#include <stddef.h>

/* zstd_load() loads the library when a compressed pack is met; the others want
 * it loaded. They return NULL, or the reason why not. */
const char *zstd_load(void);
const char *zstd_decode(void *dst, size_t dst_nbytes, const void *src,
                        size_t src_nbytes, const void *dictionary,
                        size_t dictionary_nbytes);
const char *zstd_encode(const void *src, size_t src_nbytes, void **dst,
                        size_t *dst_nbytes);

#endif
