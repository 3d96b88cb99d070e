/* scan.h - reads a file and finds the code objects in it */
#ifndef KPK_CMD_SCAN_H
#define KPK_CMD_SCAN_H

#include "os.h"

#include "kpack/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct found {
    const char *file;     /* the scan's, or an archive that a library wants */
    size_t at;            /* offset of the head in the file; in AMD's archives
                           * offset of the stored bytes */
    struct kpk_blob head; /* a copy */
    const char *pack;     /* the scan's; printable */
    const char *module;
    const char *target;
    const unsigned char *stored;
    const char *fault; /* NULL, or how the head contradicts the file; then
                        * the other fields are not set */
    int failed_at;     /* 0, or the depth of references at which decoding
                        * failed: it is not tried again from there, so that
                        * no file keeps the command busy for ever */
};

/* Bytes [from, to) of a file. */
struct extent {
    size_t from, to;
};

struct scan {
    const char *path;
    unsigned char *bytes;
    size_t nbytes;
    struct extent *data; /* parts outside holes, in file order */
    size_t ndata;
    struct os_room room_of_bytes;
    struct found *found; /* in the order of the file */
    size_t n, room;
    struct archives *archives; /* archive.h; NULL of other files */
    bool cut; /* the file is shorter than its own headers say */
};

/* Reads the file. False, with a sentence printed, if it cannot be read. Freed
 * by scan_free() either way. */
bool scan_read(const char *path, struct scan *out);
void scan_free(struct scan *scan);

/* Adds an empty element to found[]. */
struct found *scan_add(struct scan *scan);

/* Decodes content that refers to no other part of the file. As scan_content(),
 * but without the SHA-256. */
const char *scan_decode(const struct found *found, unsigned char **out);

/* Whether it is a code object, not a dictionary, with a sound head and stored
 * bytes. */
bool scan_is_object(const struct found *found);

/*
 * scan_content() decodes the stored bytes and checks their SHA-256. AMD's
 * archives store no hash, so the scan computes one.
 *
 *   out  [found->head.nbytes], to be freed by the caller
 *
 * Returns NULL, or the reason of the failure.
 */
const char *scan_content(const struct scan *scan, const struct found *found,
                         unsigned char **out);

#endif
