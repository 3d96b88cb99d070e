/* scan.h - a file that was read, and the code objects that were found in it */
#ifndef KPK_CMD_SCAN_H
#define KPK_CMD_SCAN_H

#include "os.h"

#include "kpack/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct found {
    const char *file;     /* the scan's, or an archive that a library wants */
    size_t at;            /* of the head, from the file's start; in AMD's
                           * archives the place of the stored bytes */
    struct kpk_blob head; /* a copy */
    const char *pack;     /* the scan's; printable */
    const char *module;
    const char *target;
    const unsigned char *stored;
    const char *fault; /* NULL, or how the head contradicts the file: then
                        * the rest of this is not set */
    int failed_at;     /* the depth of references from which its content could
                        * not be had, so that no file has it tried for ever;
                        * 0 if it was not tried or can be had */
};

/* Part of a file: its first byte, and the one behind its last. */
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
    bool cut; /* the file's own headers state more than there is */
};

/* Reads the file. False, with a sentence printed, if it cannot be read. Freed
 * by scan_free() either way. */
bool scan_read(const char *path, struct scan *out);
void scan_free(struct scan *scan);

/* Adds an empty one to what was found. */
struct found *scan_add(struct scan *scan);

/* Decodes what needs nothing else of the file; as scan_content(), but without
 * the SHA-256. */
const char *scan_decode(const struct found *found, unsigned char **out);

/* A code object, not a dictionary, that is there and has a sound head. */
bool scan_is_object(const struct found *found);

/*
 * scan_content() decodes what is stored and holds it against its SHA-256. AMD's
 * archives have none: theirs is computed when they are scanned.
 *
 *   out  [found->head.nbytes], to be freed by the caller
 *
 * Returns NULL, or why the content is not to be had.
 */
const char *scan_content(const struct scan *scan, const struct found *found,
                         unsigned char **out);

#endif
