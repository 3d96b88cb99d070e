/* blob_head.h - whether a blob's head can be what the generator wrote
 *
 * The runtime follows a head only after this check: a damaged head would lead
 * out of the program, or ask for more memory than the machine has.
 */
#ifndef KPK_BLOB_HEAD_H
#define KPK_BLOB_HEAD_H

#include "kpack/format.h"

/* Head and names: longer than any file name. */
#define BLOB_HEAD_NBYTES_MAX 8192u
/* No code object is larger. */
#define BLOB_CONTENT_NBYTES_MAX ((uint64_t)1 << 30)

/* Whether the stored bytes can decompress to the head's number of bytes. A zstd
 * block takes at least 4 bytes and decompresses to at most 128 KiB. */
static inline int blob_size_is_possible(const struct kpk_blob *head)
{
    if (head->nbytes == 0)
        return 1;
    if (head->nbytes > BLOB_CONTENT_NBYTES_MAX)
        return 0;
    return head->codec == KPK_CODEC_NONE
               ? head->nbytes == head->stored_nbytes
               : (head->nbytes - 1) >> 17 < head->stored_nbytes / 4;
}

/* The fault of a head in words; NULL if it has none. */
static inline const char *blob_head_fault(const struct kpk_blob *head)
{
    if (head->version != KPK_BLOB_VERSION)
        return "a release of kpack made it whose heads are of another version";
    if (head->data_at < sizeof(*head) || head->data_at > BLOB_HEAD_NBYTES_MAX)
        return "its head states an impossible place";
    if (head->codec > KPK_CODEC_ZSTD || head->kind > KPK_BLOB_DICTIONARY)
        return "its head states an unknown kind";
    if (!blob_size_is_possible(head))
        return "its head states an impossible size";
    return NULL;
}

#endif
