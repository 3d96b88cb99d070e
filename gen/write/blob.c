/* blob.c - writes the head that a blob begins with
 *
 * The numbers are written as they lie in memory, which is little-endian, as
 * is everything that runs on a machine with an AMD GPU.
 */
#include "write/blob.h"

#include <string.h>

#include "base/sha256.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "blobs are little-endian"
#endif

enum { ALIGNMENT = 64 };

/* The next string's place. */
static uint32_t place(uint32_t *end, const char *text)
{
    uint32_t at = *end;

    *end += (uint32_t)strlen(text) + 1;
    return at;
}

void blob_write_head(FILE *f, const struct blob_info *info)
{
    static const unsigned char tail[] = {KPK_BLOB_MAGIC_TAIL};
    struct kpk_blob head;
    uint32_t end = sizeof(head);

    memset(&head, 0, sizeof(head));
    memcpy(head.magic, "KPACK BLOB", 10);
    memcpy(head.magic + 10, tail, sizeof(tail));
    head.version = KPK_BLOB_VERSION;
    head.nbytes = info->nbytes;
    head.stored_nbytes = info->stored_nbytes;
    head.codec = info->codec;
    head.kind = info->kind;
    sha256(info->content, info->nbytes, head.sha256);
    if (info->reference)
        memcpy(head.reference, info->reference, sizeof(head.reference));
    head.cov = info->cov;
    head.pack = place(&end, info->pack);
    head.module = place(&end, info->module);
    head.target = place(&end, info->target);
    head.data_at = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    (void)fwrite(&head, sizeof(head), 1, f);
    (void)fwrite(info->pack, strlen(info->pack) + 1, 1, f);
    (void)fwrite(info->module, strlen(info->module) + 1, 1, f);
    (void)fwrite(info->target, strlen(info->target) + 1, 1, f);
    for (; end < head.data_at; end++)
        (void)fputc(0, f);
}

void blob_write_plain_head(FILE *f, const char *pack, const char *module,
                           const struct codeobj *co)
{
    blob_write_head(f, &(struct blob_info){.kind = KPK_BLOB_CODE_OBJECT,
                                           .pack = pack,
                                           .module = module,
                                           .target = co->target,
                                           .cov = co->cov,
                                           .content = co->data,
                                           .nbytes = co->nbytes,
                                           .codec = KPK_CODEC_NONE,
                                           .stored_nbytes = co->nbytes});
}
