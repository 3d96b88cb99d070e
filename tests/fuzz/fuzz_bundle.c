/* fuzz_bundle.c - any bytes as an offload bundle, plain or compressed, or as an
 * offload binary */
#include "base/bundle.h"
#include "fuzz.h"
#include "read/offload.h"

static volatile uint8_t sink;

/* Reads the first and last byte of all that a bundle points to. */
static void walk(const uint8_t *data, size_t nbytes)
{
    struct bundle bundle;
    struct bundle_entry entry;
    char target[BUNDLE_TARGET_MAX];
    uint64_t n = 0;

    if (bundle_open(&bundle, data, nbytes))
        while (bundle_next(&bundle, &entry)) {
            n++;
            if (entry.nbytes)
                sink = entry.data[0] ^ entry.data[entry.nbytes - 1];
            if (entry.id_nbytes)
                sink = (uint8_t)entry.id[entry.id_nbytes - 1];
            if (bundle_entry_target(&entry, target))
                FUZZ_ASSERT(strlen(target) < BUNDLE_TARGET_MAX);
        }
    FUZZ_ASSERT(bundle.message ||
                (n == bundle.nentries && bundle.extent <= nbytes));
}

static void walk_offload(const uint8_t *data, size_t nbytes)
{
    struct offload offload;
    struct offload_image image;
    uint64_t n = 0;

    if (offload_open(&offload, data, nbytes))
        while (offload_next(&offload, &image)) {
            n++;
            if (image.nbytes)
                sink = image.data[0] ^ image.data[image.nbytes - 1];
            FUZZ_ASSERT(strlen(image.triple) + strlen(image.target) <
                        (size_t)2 * OFFLOAD_TEXT_MAX - 1);
            sink = offload_image_is_gpu(&image);
        }
    FUZZ_ASSERT(offload.message ||
                (n == offload.nimages && offload.nbytes <= nbytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char error[BUNDLE_ERROR_MAX] = "";
    unsigned char *plain;
    size_t plain_nbytes, used = 0;

    if (offload_is(data, nbytes))
        walk_offload(data, nbytes);
    switch (bundle_kind(data, nbytes)) {
    case BUNDLE_NONE:
        break;
    case BUNDLE_PLAIN:
        walk(data, nbytes);
        break;
    case BUNDLE_COMPRESSED:
        if (!bundle_expand(data, nbytes, &plain, &plain_nbytes, &used, error)) {
            FUZZ_ASSERT(*error);
            break;
        }
        FUZZ_ASSERT(used > 0 && used <= nbytes);
        walk(plain, plain_nbytes);
        free(plain);
        break;
    }
    return 0;
}
