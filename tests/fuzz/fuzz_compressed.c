/* fuzz_compressed.c - compressed bundles of any bytes, and changes of them
 *
 * A changed byte in compressed data mostly makes the data useless. So this
 * program compresses the input's bytes itself; the input says how, and which
 * byte of the result to change to which value.
 */
#include "base/bundle.h"
#include "fuzz.h"
#include "made_code_object.h"

enum { CONTROL_NBYTES = 8 };

static void walk(const unsigned char *data, size_t nbytes)
{
    static volatile unsigned char sink;
    struct bundle bundle;
    struct bundle_entry entry;
    char target[BUNDLE_TARGET_MAX];

    if (!bundle_open(&bundle, data, nbytes)) {
        FUZZ_ASSERT(bundle.message);
        return;
    }
    while (bundle_next(&bundle, &entry)) {
        if (entry.nbytes)
            sink = entry.data[0] ^ entry.data[entry.nbytes - 1];
        (void)bundle_entry_target(&entry, target);
    }
    (void)sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char error[BUNDLE_ERROR_MAX] = "";
    unsigned char *packed, *plain = NULL;
    size_t n, plain_nbytes = 0, used = 0, at;

    if (nbytes < CONTROL_NBYTES)
        return 0;
    packed = compress_bundle(data + CONTROL_NBYTES, nbytes - CONTROL_NBYTES,
                             1 + data[0] % 3u, data[1] % 2u, &n);
    /* The beginning is most worth changing. */
    at = (data[2] | (size_t)data[3] << 8) % n;
    packed[data[4] & 1 ? at % 32 % n : at] ^= data[5];
    if (data[6] & 1)
        n -= data[7] % n;
    if (bundle_kind(packed, n) == BUNDLE_COMPRESSED) {
        if (bundle_expand(packed, n, &plain, &plain_nbytes, &used, error)) {
            FUZZ_ASSERT(used > 0 && used <= n);
            FUZZ_ASSERT(data[5] || (data[6] & 1) ||
                        plain_nbytes == nbytes - CONTROL_NBYTES);
            walk(plain, plain_nbytes);
            free(plain);
        } else {
            /* An unchanged bundle can be expanded. */
            FUZZ_ASSERT(*error &&
                        (data[5] || (data[6] & 1) ||
                         bundle_kind(data + CONTROL_NBYTES,
                                     nbytes - CONTROL_NBYTES) != BUNDLE_PLAIN));
        }
    }
    free(packed);
    return 0;
}
