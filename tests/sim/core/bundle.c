/* bundle.c - offload bundles, plain and compressed */
#define _GNU_SOURCE
#include "bundle.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const char plain_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char compressed_magic[] = "CCOB";

enum {
    PLAIN_MAGIC_NBYTES = 24,
    PLAIN_HEADER_NBYTES = 32,
    MAX_ENTRIES = 4096,
    METHOD_ZLIB = 0,
    METHOD_ZSTD = 1
};

/* Nothing sensible expands to more; a lie is not worth the attempt. */
#define MAX_EXPANDED ((uint64_t)4 << 30)

static enum sim_bundle_status fail(char *why, enum sim_bundle_status status,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum sim_bundle_status fail(char *why, enum sim_bundle_status status,
                                   const char *format, ...)
{
    va_list args;

    if (why) {
        va_start(args, format);
        vsnprintf(why, 256, format, args);
        va_end(args);
    }
    return status;
}

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, 8);
    return value;
}

static uint32_t u32_at(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, 4);
    return value;
}

/* ---- plain bundles ------------------------------------------------------ */

/*
 * "KIND-amdgcn-amd-amdhsa-ENVIRONMENT-TARGETID" with KIND hip or hipv4 and
 * ENVIRONMENT mostly empty. Copies the target ID.
 */
static bool target_of_entry(const char *id, size_t n, char out[64])
{
    static const char *const kinds[] = {"hipv4-amdgcn-amd-amdhsa-",
                                        "hip-amdgcn-amd-amdhsa-"};
    const char *dash;
    size_t i, used = 0;

    for (i = 0; i < 2 && !used; i++)
        if (n > strlen(kinds[i]) && memcmp(id, kinds[i], strlen(kinds[i])) == 0)
            used = strlen(kinds[i]);
    if (!used)
        return false;
    dash = memchr(id + used, '-', n - used);
    if (dash && (dash == id + used || (dash == id + used + 7 &&
                                       memcmp(id + used, "unknown", 7) == 0)))
        used = (size_t)(dash - id) + 1;
    if (n - used >= 64 || n == used)
        return false;
    memcpy(out, id + used, n - used);
    out[n - used] = '\0';
    return true;
}

static enum sim_bundle_status pick_plain(const struct sim_device *device,
                                         const uint8_t *image, size_t size,
                                         const void **elf, size_t *nbytes,
                                         char *why)
{
    uint64_t n, i, at = PLAIN_HEADER_NBYTES;
    char target[64];
    bool have_generic = false;

    if (size < PLAIN_HEADER_NBYTES ||
        (n = u64_at(image + PLAIN_MAGIC_NBYTES)) > MAX_ENTRIES)
        return fail(why, SIM_BUNDLE_CORRUPT, "the bundle's header is damaged");
    for (i = 0; i < n; i++) {
        uint64_t offset, length, name;

        if (size - at < 24)
            return fail(why, SIM_BUNDLE_CORRUPT, "the bundle is truncated");
        offset = u64_at(image + at);
        length = u64_at(image + at + 8);
        name = u64_at(image + at + 16);
        at += 24;
        if (name > size - at || offset > size || length > size - offset)
            return fail(why, SIM_BUNDLE_CORRUPT,
                        "entry %llu lies outside the bundle",
                        (unsigned long long)i);
        if (length && target_of_entry((const char *)image + at, name, target) &&
            sim_device_accepts_id(device, target, NULL)) {
            bool generic = strstr(target, "-generic") != NULL;

            if (!generic || !have_generic) {
                *elf = image + offset;
                *nbytes = length;
            }
            if (!generic)
                return SIM_BUNDLE_OK;
            have_generic = true;
        }
        at += name;
    }
    if (have_generic)
        return SIM_BUNDLE_OK;
    return fail(why, SIM_BUNDLE_NO_ENTRY,
                "none of the bundle's %llu entries is for %s",
                (unsigned long long)n, device->target_id);
}

/* ---- compressed bundles ------------------------------------------------- */

struct compressed {
    const uint8_t *data;
    uint64_t ndata; /* UINT64_MAX if no header says */
    uint64_t expanded;
    uint32_t method;
};

static bool read_compressed_header(const uint8_t *image, size_t size,
                                   struct compressed *c)
{
    uint64_t total, header;
    uint32_t version;

    if (size < 20)
        return false;
    version = u32_at(image + 4) & 0xffff;
    c->method = u32_at(image + 4) >> 16;
    switch (version) {
    case 1:
        header = 20;
        total = size;
        c->expanded = u32_at(image + 8);
        break;
    case 2:
        header = 24;
        total = u32_at(image + 8);
        c->expanded = u32_at(image + 12);
        break;
    case 3:
        if (size < 32)
            return false;
        header = 32;
        total = u64_at(image + 8);
        c->expanded = u64_at(image + 16);
        break;
    default:
        return false;
    }
    if (total < header || total > size)
        return false;
    c->data = image + header;
    c->ndata = total == SIZE_MAX ? UINT64_MAX : total - header;
    return c->expanded > 0 && c->expanded <= MAX_EXPANDED &&
           (c->method == METHOD_ZLIB || c->method == METHOD_ZSTD);
}

static bool expand_zlib(const struct compressed *c, uint8_t *out)
{
    z_stream z = {0};
    int status;

    z.next_in = (z_const Bytef *)(uintptr_t)c->data;
    z.avail_in = c->ndata > UINT_MAX ? UINT_MAX : (uInt)c->ndata;
    z.next_out = out;
    z.avail_out = c->expanded > UINT_MAX ? UINT_MAX : (uInt)c->expanded;
    if (inflateInit(&z) != Z_OK)
        return false;
    status = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return status == Z_STREAM_END && z.total_out == c->expanded;
}

static bool expand_zstd(const struct compressed *c, uint8_t *out)
{
    uint64_t bound = ZSTD_compressBound(c->expanded) + 64;
    size_t frame = ZSTD_findFrameCompressedSize(
        c->data, c->ndata < bound ? c->ndata : bound);

    return !ZSTD_isError(frame) &&
           ZSTD_decompress(out, c->expanded, c->data, frame) == c->expanded;
}

static enum sim_bundle_status pick_compressed(const struct sim_device *device,
                                              const uint8_t *image, size_t size,
                                              const void **elf, size_t *nbytes,
                                              void **expanded, char *why)
{
    enum sim_bundle_status status;
    struct compressed c;
    uint8_t *plain;
    bool ok;

    if (!read_compressed_header(image, size, &c))
        return fail(why, SIM_BUNDLE_CORRUPT,
                    "the compressed bundle's header is damaged");
    plain = malloc(c.expanded);
    if (!plain)
        return fail(why, SIM_BUNDLE_NO_MEMORY, "no memory for the bundle");
    ok = c.method == METHOD_ZLIB ? expand_zlib(&c, plain)
                                 : expand_zstd(&c, plain);
    if (!ok || c.expanded < PLAIN_MAGIC_NBYTES ||
        memcmp(plain, plain_magic, PLAIN_MAGIC_NBYTES) != 0) {
        free(plain);
        return fail(why, SIM_BUNDLE_CORRUPT,
                    "the compressed bundle cannot be expanded");
    }
    status = pick_plain(device, plain, c.expanded, elf, nbytes, why);
    if (status != SIM_BUNDLE_OK)
        free(plain);
    else
        *expanded = plain;
    return status;
}

enum sim_bundle_status sim_bundle_pick(const struct sim_device *device,
                                       const void *image, size_t size,
                                       const void **elf, size_t *nbytes,
                                       void **expanded, char why[256])
{
    *expanded = NULL;
    if (size >= 4 && memcmp(image, compressed_magic, 4) == 0)
        return pick_compressed(device, image, size, elf, nbytes, expanded, why);
    if (size >= PLAIN_MAGIC_NBYTES &&
        strncmp(image, plain_magic, PLAIN_MAGIC_NBYTES) == 0)
        return pick_plain(device, image, size, elf, nbytes, why);
    return SIM_BUNDLE_NONE;
}
