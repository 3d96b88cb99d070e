/* scan.h - the code objects in somebody's file
 *
 * They are found by the magic of their heads (struct kpk_blob), whatever the
 * file is: program, shared object, archive, stripped or not. Nothing in the
 * file is believed before it is held against the file's size.
 */
#ifndef KPK_CMD_SCAN_H
#define KPK_CMD_SCAN_H

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
    const char *fault; /* NULL, or why the head is not to be believed: then
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
    void *map; /* memory behind `bytes` */
    size_t map_nbytes;
    struct found *found; /* in the order of the file */
    size_t n, room;
    struct archives *archives; /* archive.h; NULL of other files */
    bool cut; /* the file's own headers state more than there is */
};

/* Reads the file and finds what is in it. False, with a sentence printed, if
 * it cannot be read or holds no pack; that it was cut short is printed, too.
 * Freed by scan_free() either way. */
bool scan_file(const char *path, struct scan *out);
void scan_free(struct scan *scan);

/* The parts of scan_file(): reads the file, false with a sentence printed if it
 * cannot be read; and adds an empty one to what was found. */
bool scan_read(const char *path, struct scan *out);
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

/* zstd.c: libzstd, which zstd_load() loads when a compressed pack is met; the
 * others want it loaded. They return NULL, or the reason why not. */
const char *zstd_load(void);
const char *zstd_decode(void *dst, size_t dst_nbytes, const void *src,
                        size_t src_nbytes, const void *dictionary,
                        size_t dictionary_nbytes);
const char *zstd_encode(const void *src, size_t src_nbytes, void **dst,
                        size_t *dst_nbytes);

#endif
