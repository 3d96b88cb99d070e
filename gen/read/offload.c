/* offload.c - reads LLVM's offload binaries */
#include "read/offload.h"

#include "base/number.h"

#include <string.h>

static const unsigned char magic[] = {0x10, 0xff, 0x10, 0xad};

/* The header: magic, version, size, where the records of the images begin, and
 * the size of the only one (version 1) or their number (version 2). A record:
 * two kinds of 16 bits, flags; offset and number of its strings; offset and
 * size of its image. A string: where its key is and its value, both ending with
 * NUL, and, in version 2, the value's size. */
enum {
    HEADER_NBYTES = 32,
    RECORD_NBYTES = 40,
    IMAGES_MAX = 4096,
    STRINGS_MAX = 4096
};

bool offload_is(const void *data, size_t nbytes)
{
    return nbytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

static bool damaged(struct offload *offload, const char *message)
{
    offload->message = message;
    return false;
}

static bool inside(const struct offload *offload, uint64_t at, uint64_t nbytes)
{
    return at <= offload->nbytes && nbytes <= offload->nbytes - at;
}

bool offload_open(struct offload *offload, const void *data, size_t nbytes)
{
    uint64_t size, at;

    *offload = (struct offload){.data = data, .nbytes = nbytes};
    if (nbytes < HEADER_NBYTES)
        return damaged(offload,
                       "the offload binary is truncated in its header");
    offload->version = (unsigned)number_read(offload->data + 4, 4);
    size = number_read(offload->data + 8, 8);
    at = number_read(offload->data + 16, 8);
    offload->nimages =
        offload->version == 1 ? 1 : number_read(offload->data + 24, 8);
    if (offload->version < 1 || offload->version > 2)
        return damaged(offload, "an offload binary of another version than 1 "
                                "and 2, which can be read");
    if (size > nbytes)
        return damaged(offload, "the offload binary is truncated");
    if (size < HEADER_NBYTES)
        return damaged(offload, "the offload binary's size is absurd");
    offload->nbytes = (size_t)size;
    if (offload->nimages > IMAGES_MAX)
        return damaged(offload, "the offload binary's number of images is "
                                "absurd");
    if (!inside(offload, at, RECORD_NBYTES * offload->nimages))
        return damaged(offload, "the offload binary's list of images lies "
                                "outside it");
    offload->at = (size_t)at;
    return true;
}

/* The length of the text at offset `at`, up to a NUL or the end. */
static size_t text_nbytes(const struct offload *offload, uint64_t at)
{
    return at < offload->nbytes ? strnlen((const char *)offload->data + at,
                                          offload->nbytes - (size_t)at)
                                : 0;
}

/* Copies a value, cut to the room; no meaningful name is longer. */
static bool copy_text(struct offload *offload, uint64_t at, uint64_t nbytes,
                      char out[OFFLOAD_TEXT_MAX])
{
    if (!inside(offload, at, nbytes) || nbytes >= OFFLOAD_TEXT_MAX)
        return damaged(offload, "the offload binary's triple or processor is "
                                "absurd");
    memcpy(out, offload->data + at, (size_t)nbytes);
    out[nbytes] = '\0';
    return true;
}

static bool is_key(const struct offload *offload, uint64_t at, const char *key)
{
    return text_nbytes(offload, at) == strlen(key) &&
           memcmp(offload->data + at, key, strlen(key)) == 0;
}

static bool read_strings(struct offload *offload, uint64_t at, uint64_t n,
                         struct offload_image *out)
{
    const unsigned nbytes = offload->version == 1 ? 16 : 24;

    if (n > STRINGS_MAX || !inside(offload, at, n * nbytes))
        return damaged(offload, "the offload binary's strings lie outside it");
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *record = offload->data + at + i * nbytes;
        const uint64_t key = number_read(record, 8);
        const uint64_t value = number_read(record + 8, 8);
        char *text = is_key(offload, key, "triple") ? out->triple
                     : is_key(offload, key, "arch") ? out->target
                                                    : NULL;

        if (text &&
            !copy_text(offload, value,
                       offload->version == 1 ? text_nbytes(offload, value)
                                             : number_read(record + 16, 8),
                       text))
            return false;
    }
    return true;
}

bool offload_next(struct offload *offload, struct offload_image *out)
{
    const unsigned char *record = offload->data + offload->at;
    uint64_t at, nbytes;

    if (offload->next == offload->nimages)
        return false;
    *out = (struct offload_image){.triple = ""};
    if (!read_strings(offload, number_read(record + 8, 8),
                      number_read(record + 16, 8), out))
        return false;
    at = number_read(record + 24, 8);
    nbytes = number_read(record + 32, 8);
    if (!inside(offload, at, nbytes))
        return damaged(offload, "the offload binary is truncated: an image "
                                "lies outside it");
    out->data = offload->data + at;
    out->nbytes = (size_t)nbytes;
    offload->at += RECORD_NBYTES;
    offload->next++;
    return true;
}

bool offload_image_is_gpu(const struct offload_image *image)
{
    return strncmp(image->triple, "amdgcn", 6) == 0 ||
           strncmp(image->triple, "nvptx", 5) == 0;
}
