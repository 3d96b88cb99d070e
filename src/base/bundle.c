/* bundle.c - reads clang's offload bundles, plain and compressed */
#define ZLIB_CONST /* input is not written to */
#include "bundle.h"

#include "number.h"

#include <inttypes.h>
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
    PLAIN_MAGIC_NBYTES = sizeof(plain_magic) - 1,
    PLAIN_HEADER_NBYTES = PLAIN_MAGIC_NBYTES + 8,
    ENTRY_NBYTES = 24, /* offset, size and length of the ID that follows */
    ENTRIES_MAX = 4096
};

/* Nothing sensible expands to more. */
#define EXPANDED_MAX (UINT64_C(4) << 30)

enum bundle_kind bundle_kind(const void *data, size_t nbytes)
{
    if (nbytes >= 4 && memcmp(data, compressed_magic, 4) == 0)
        return BUNDLE_COMPRESSED;
    /* By strncmp, for an image of unknown size may be a shorter string. */
    if (nbytes >= PLAIN_MAGIC_NBYTES &&
        strncmp(data, plain_magic, PLAIN_MAGIC_NBYTES) == 0)
        return BUNDLE_PLAIN;
    return BUNDLE_NONE;
}

/* ---- plain bundles ------------------------------------------------------ */

static bool damaged(struct bundle *bundle, const char *message)
{
    bundle->message = message;
    return false;
}

bool bundle_open(struct bundle *bundle, const void *data, size_t nbytes)
{
    *bundle = (struct bundle){
        .data = data, .nbytes = nbytes, .at = PLAIN_HEADER_NBYTES};
    if (nbytes < PLAIN_HEADER_NBYTES)
        return damaged(bundle, "the bundle is truncated in its header");
    bundle->nentries = number_read(bundle->data + PLAIN_MAGIC_NBYTES, 8);
    if (bundle->nentries > ENTRIES_MAX)
        return damaged(bundle, "the bundle's number of entries is absurd");
    bundle->extent = PLAIN_HEADER_NBYTES;
    return true;
}

bool bundle_next(struct bundle *bundle, struct bundle_entry *out)
{
    const unsigned char *record = bundle->data + bundle->at;
    uint64_t offset, length, id;

    if (bundle->next == bundle->nentries)
        return false;
    if (bundle->nbytes - bundle->at < ENTRY_NBYTES)
        return damaged(bundle, "the bundle is truncated in its list");
    offset = number_read(record, 8);
    length = number_read(record + 8, 8);
    id = number_read(record + 16, 8);
    bundle->at += ENTRY_NBYTES;
    if (id > bundle->nbytes - bundle->at)
        return damaged(bundle, "the bundle is truncated in its list");
    if (offset > bundle->nbytes || length > bundle->nbytes - offset)
        return damaged(bundle,
                       "the bundle is truncated: an entry lies outside it");
    *out = (struct bundle_entry){(const char *)bundle->data + bundle->at,
                                 (size_t)id, bundle->data + offset,
                                 (size_t)length};
    bundle->at += (size_t)id;
    bundle->next++;
    if (bundle->extent < bundle->at)
        bundle->extent = bundle->at;
    if (length && bundle->extent < offset + length)
        bundle->extent = (size_t)(offset + length);
    return true;
}

/* "KIND-amdgcn-amd-amdhsa-ENVIRONMENT-TARGETID" with KIND hip or hipv4 and
 * ENVIRONMENT mostly empty. */
bool bundle_entry_target(const struct bundle_entry *entry,
                         char out[BUNDLE_TARGET_MAX])
{
    static const char *const prefixes[] = {
        "hipv4-amdgcn-amd-amdhsa-unknown-", "hip-amdgcn-amd-amdhsa-unknown-",
        "hipv4-amdgcn-amd-amdhsa--",        "hip-amdgcn-amd-amdhsa--",
        "hipv4-amdgcn-amd-amdhsa-",         "hip-amdgcn-amd-amdhsa-"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const size_t used = strlen(prefixes[i]);
        const size_t left =
            entry->id_nbytes > used ? entry->id_nbytes - used : 0;

        if (left == 0 || memcmp(entry->id, prefixes[i], used) != 0)
            continue;
        if (left >= BUNDLE_TARGET_MAX)
            return false;
        memcpy(out, entry->id + used, left);
        out[left] = '\0';
        return strlen(out) == left;
    }
    return false;
}

/* ---- compressed bundles ------------------------------------------------- */

__attribute__((format(__printf__, 2, 3))) static bool
fail(char error[BUNDLE_ERROR_MAX], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, BUNDLE_ERROR_MAX, format, args);
    va_end(args);
    return false;
}

/* Offsets of the header's fields, by version; 0: no such field. */
static const struct layout {
    unsigned total, total_nbytes;
    unsigned expanded, expanded_nbytes;
    unsigned header_nbytes;
} layouts[] = {
    [1] = {0, 0, 8, 4, 20},
    [2] = {8, 4, 12, 4, 24},
    [3] = {8, 8, 16, 8, 32},
};

struct compressed {
    const unsigned char *data;
    size_t nbytes; /* SIZE_MAX if no one says */
    size_t header_nbytes;
    uint64_t expanded;
    unsigned method;
};

/* Output expanded so far. The buffer grows with the output and not by what the
 * header promises, so that a lie costs no memory. */
struct sink {
    unsigned char *data;
    size_t used, room, most;
};

/* Without any room left at its end, a stream may still have its trailer. */
static bool make_room(struct sink *sink)
{
    size_t room = sink->room ? 2 * sink->room : (size_t)1 << 16;
    unsigned char *data;

    if (room > sink->most)
        room = sink->most;
    if (sink->used < sink->room || sink->room == room)
        return true;
    data = realloc(sink->data, room);
    if (!data)
        return false;
    sink->data = data;
    sink->room = room;
    return true;
}

/* Each function expands c->data and returns how many bytes of it were read; 0
 * on failure. */

static size_t expand_zlib(const struct compressed *c, struct sink *sink)
{
    z_stream z = {0};
    size_t used = 0;
    int status = Z_OK;

    if (inflateInit(&z) != Z_OK)
        return 0;
    z.next_in = c->data;
    z.avail_in = c->nbytes > UINT_MAX ? UINT_MAX : (uInt)c->nbytes;
    while (status == Z_OK) {
        size_t left;

        if (!make_room(sink))
            break;
        left = sink->room - sink->used;
        z.next_out = sink->data + sink->used;
        z.avail_out = left > UINT_MAX ? UINT_MAX : (uInt)left;
        left = z.avail_out;
        status = inflate(&z, Z_NO_FLUSH);
        sink->used += left - z.avail_out;
    }
    if (status == Z_STREAM_END)
        used = z.total_in;
    inflateEnd(&z);
    return used;
}

static size_t expand_zstd(const struct compressed *c, struct sink *sink)
{
    /* Reads no more than the frame's own block headers say there is. */
    const size_t most = ZSTD_compressBound((size_t)c->expanded) + 64;
    const size_t frame = ZSTD_findFrameCompressedSize(
        c->data, c->nbytes < most ? c->nbytes : most);
    ZSTD_DStream *z = ZSTD_isError(frame) ? NULL : ZSTD_createDStream();
    ZSTD_inBuffer in = {c->data, frame, 0};
    size_t status = 1;

    while (z && status != 0 && !ZSTD_isError(status)) {
        const size_t before = in.pos + sink->used;
        ZSTD_outBuffer out;

        if (!make_room(sink))
            break;
        out = (ZSTD_outBuffer){sink->data, sink->room, sink->used};
        status = ZSTD_decompressStream(z, &out, &in);
        if (in.pos + out.pos == before && status != 0)
            break; /* neither takes nor gives: the frame is cut */
        sink->used = out.pos;
    }
    ZSTD_freeDStream(z);
    return z && status == 0 ? frame : 0;
}

static const struct {
    const char *name;
    size_t (*expand)(const struct compressed *c, struct sink *sink);
} methods[] = {{"zlib", expand_zlib}, {"zstd", expand_zstd}};

static bool read_header(struct compressed *c, const unsigned char *data,
                        size_t nbytes, char error[BUNDLE_ERROR_MAX])
{
    const struct layout *layout;
    unsigned version;
    uint64_t total;

    if (nbytes < 8)
        return fail(error, "the compressed bundle is truncated in its header");
    version = (unsigned)number_read(data + 4, 2);
    c->method = (unsigned)number_read(data + 6, 2);
    if (version < 1 || version >= sizeof(layouts) / sizeof(layouts[0]))
        return fail(error,
                    "compressed bundle of version %u; 1 to 3 can be read",
                    version);
    if (c->method >= sizeof(methods) / sizeof(methods[0]))
        return fail(error,
                    "compressed bundle of method %u; 0 (zlib) and 1 (zstd) "
                    "can be read",
                    c->method);
    layout = &layouts[version];
    if (nbytes < layout->header_nbytes)
        return fail(error, "the compressed bundle is truncated in its header");
    total = layout->total_nbytes
                ? number_read(data + layout->total, (int)layout->total_nbytes)
                : nbytes;
    if (total < layout->header_nbytes)
        return fail(error, "the compressed bundle's size is absurd");
    if (total > nbytes)
        return fail(error,
                    "the compressed bundle is truncated: %" PRIu64
                    " bytes long, %zu are there",
                    total, nbytes);
    c->header_nbytes = layout->header_nbytes;
    c->data = data + layout->header_nbytes;
    c->nbytes =
        total == SIZE_MAX ? SIZE_MAX : (size_t)total - layout->header_nbytes;
    c->expanded =
        number_read(data + layout->expanded, (int)layout->expanded_nbytes);
    if (c->expanded == 0 || c->expanded > EXPANDED_MAX)
        return fail(error,
                    "the compressed bundle says that it expands to %" PRIu64
                    " bytes",
                    c->expanded);
    return true;
}

bool bundle_expand(const void *data, size_t nbytes, unsigned char **out,
                   size_t *out_nbytes, size_t *used,
                   char error[BUNDLE_ERROR_MAX])
{
    struct compressed c = {0};
    struct sink sink = {0};
    size_t taken;

    if (!read_header(&c, data, nbytes, error))
        return false;
    sink.most = (size_t)c.expanded;
    taken = methods[c.method].expand(&c, &sink);
    if (taken == 0 || sink.used != c.expanded ||
        bundle_kind(sink.data, sink.used) != BUNDLE_PLAIN) {
        free(sink.data);
        return fail(error,
                    "the compressed bundle cannot be expanded with %s to the "
                    "%" PRIu64 " bytes of a bundle: damaged",
                    methods[c.method].name, c.expanded);
    }
    *out = sink.data;
    *out_nbytes = sink.used;
    if (used)
        *used = c.header_nbytes + taken;
    return true;
}
