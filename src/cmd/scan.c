/* scan.c - finds the code objects in a file, and decodes them */
#include "scan.h"
#include "libzstd.h"
#include "xmalloc.h"

#include "base/file.h"
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool cannot_read(const char *path, const char *why)
{
    if (errno == ENOMEM)
        cmd_no_memory();
    (void)fprintf(stderr, "kpack: cannot read %s: %s\n", path, why);
    return false;
}

static void make_room(struct scan *out, size_t nbytes)
{
    if (!os_make_room(&out->room_of_bytes, nbytes))
        cmd_no_memory();
    out->bytes = out->room_of_bytes.bytes;
    out->nbytes = nbytes;
}

/* A file of unknown size, such as a pipe. */
static bool read_stream(FILE *file, struct scan *out)
{
    size_t room = 1 << 16, used = 0, n;
    unsigned char *bytes = NULL;

    do {
        bytes = cmd_realloc(bytes, room *= 2);
        n = fread(bytes + used, 1, room - used, file);
        used += n;
    } while (used == room);
    make_room(out, used);
    memcpy(out->bytes, bytes, used);
    free(bytes);
    out->data = cmd_calloc(1, sizeof(*out->data));
    out->data[out->ndata++] = (struct extent){0, used};
    return !ferror(file);
}

/* Finds the parts of a file that are no holes; the whole file if the system
 * does not report holes. */
static void find_data(FILE *file, uint64_t size, struct scan *out)
{
    size_t room = 0;
    uint64_t from, to = 0;

    while (to < size && os_next_data(file, to, size, &from, &to)) {
        if (out->ndata == room) {
            room = room * 2 + 16;
            out->data = cmd_realloc(out->data, room * sizeof(*out->data));
        }
        out->data[out->ndata++] = (struct extent){(size_t)from, (size_t)to};
    }
}

/* A file of known size; holes are zeros already. A file that has become shorter
 * since ends with zeros. */
static bool read_data(FILE *file, uint64_t size, struct scan *out)
{
    /* Before anything is read, for the stream keeps track of its place. */
    find_data(file, size, out);
    make_room(out, (size_t)size);
    for (size_t i = 0; i < out->ndata; i++) {
        const struct extent *part = &out->data[i];

        if (!file_seek(file, part->from))
            return false;
        (void)fread(out->bytes + part->from, 1, part->to - part->from, file);
        if (ferror(file))
            return false;
    }
    return true;
}

bool scan_read(const char *path, struct scan *out)
{
    FILE *file = file_open(path, "rb");
    enum file_kind kind;
    uint64_t nbytes;
    bool ok;

    memset(out, 0, sizeof(*out));
    out->path = path;
    if (!file)
        return cannot_read(path, strerror(errno));
    /* Some, such as /dev/zero, have no end. */
    kind = file_kind_of(file, &nbytes);
    if (kind == FILE_DEVICE) {
        (void)fclose(file);
        errno = 0;
        return cannot_read(path, "it is a device, and no file");
    }
    /* Files of /proc report a size of 0 even if they have content. */
    ok = kind == FILE_REGULAR && nbytes > 0 ? read_data(file, nbytes, out)
                                            : read_stream(file, out);
    if (!ok)
        (void)cannot_read(path, strerror(errno));
    (void)fclose(file);
    return ok;
}

struct found *scan_add(struct scan *scan)
{
    struct found *found;

    if (scan->n == scan->room) {
        scan->room = scan->room * 2 + 16;
        scan->found =
            cmd_realloc(scan->found, scan->room * sizeof(*scan->found));
    }
    found = &scan->found[scan->n++];
    memset(found, 0, sizeof(*found));
    found->file = scan->path;
    return found;
}

void scan_free(struct scan *scan)
{
    os_free_room(&scan->room_of_bytes);
    free(scan->data);
    free(scan->found);
}

bool scan_is_object(const struct found *found)
{
    return !found->fault && found->head.kind == KPK_BLOB_CODE_OBJECT &&
           found->head.nbytes > 0;
}

/* How often what is referred to may refer to more: an object to an object to
 * a dictionary. */
enum { DEPTH = 2 };
static const char *content(const struct scan *scan, const struct found *found,
                           int depth, unsigned char **out);

/* Decodes the object that `found` is compressed against; *out stays NULL if
 * there is none. */
static const char *reference(const struct scan *scan, const struct found *found,
                             int depth, unsigned char **out, size_t *nbytes)
{
    static const uint8_t none[32];
    const char *fault =
        "what it is compressed against is not in the file, or is damaged";

    if (found->head.codec == KPK_CODEC_NONE ||
        memcmp(found->head.reference, none, sizeof(none)) == 0)
        return NULL;
    for (size_t i = 0; depth > 0 && i < scan->n; i++) {
        struct found *other = &scan->found[i];

        if (other->fault || other == found || other->head.nbytes == 0 ||
            other->failed_at >= depth ||
            memcmp(other->head.sha256, found->head.reference, 32) != 0)
            continue;
        /* A program can hold a pack twice: any whole copy will do. */
        if (!content(scan, other, depth - 1, out)) {
            *nbytes = (size_t)other->head.nbytes;
            return NULL;
        }
        other->failed_at = depth;
    }
    return fault;
}

/* Decodes against something, which may be nothing. */
static const char *decode(const struct found *found, const void *against,
                          size_t against_nbytes, unsigned char **out)
{
    const struct kpk_blob *head = &found->head;
    unsigned char *bytes = cmd_malloc((size_t)head->nbytes);
    const char *fault = NULL;

    if (head->codec == KPK_CODEC_NONE)
        memcpy(bytes, found->stored, (size_t)head->nbytes);
    else
        fault =
            zstd_decode(bytes, (size_t)head->nbytes, found->stored,
                        (size_t)head->stored_nbytes, against, against_nbytes);
    if (fault)
        free(bytes);
    else
        *out = bytes;
    return fault;
}

static const char *content(const struct scan *scan, const struct found *found,
                           int depth, unsigned char **out)
{
    unsigned char *against = NULL;
    size_t against_nbytes = 0;
    unsigned char *bytes = NULL;
    const char *fault;
    uint8_t digest[32];

    fault = reference(scan, found, depth, &against, &against_nbytes);
    if (fault)
        return fault;
    fault = decode(found, against, against_nbytes, &bytes);
    free(against);
    if (fault)
        return fault;
    sha256(bytes, (size_t)found->head.nbytes, digest);
    if (memcmp(digest, found->head.sha256, sizeof(digest)) != 0) {
        free(bytes);
        return "its SHA-256 is not the one that it was packed with";
    }
    *out = bytes;
    return NULL;
}

const char *scan_decode(const struct found *found, unsigned char **out)
{
    const char *fault =
        found->head.codec == KPK_CODEC_ZSTD ? zstd_load() : NULL;

    return fault ? fault : decode(found, NULL, 0, out);
}

const char *scan_content(const struct scan *scan, const struct found *found,
                         unsigned char **out)
{
    /* First, for a reference that cannot be decoded seems to be damaged. */
    const char *fault =
        found->head.codec == KPK_CODEC_ZSTD ? zstd_load() : NULL;

    return fault ? fault : content(scan, found, DEPTH, out);
}
