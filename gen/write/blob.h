/* blob.h - the head that a blob begins with (struct kpk_blob) */
#ifndef KPK_GEN_BLOB_H
#define KPK_GEN_BLOB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/codeobj.h"

/* A blob's content, and facts for its head that the content does not show. */
struct blob_info {
    enum kpk_blob_kind kind;
    const char *pack;
    const char *module; /* "" of a dictionary */
    const char *target; /* "" of a dictionary */
    unsigned cov;       /* 0 of a dictionary */
    const void *content;
    size_t nbytes;
    enum kpk_codec_number codec;
    size_t stored_nbytes;
    const uint8_t *reference; /* SHA-256 of the codec's dictionary, or NULL */
};

/* Writes the head with its strings and padding; the stored bytes follow. Errors
 * are left to ferror(). */
void blob_write_head(FILE *f, const struct blob_info *info);

/* Writes the head of a code object that is stored uncompressed. */
void blob_write_plain_head(FILE *f, const char *pack, const char *module,
                           const struct codeobj *co);

#endif
