/* bundle.h - reads clang's offload bundles, plain and compressed
 *
 * A bundle holds the code objects of several targets: plain ones begin with
 * "__CLANG_OFFLOAD_BUNDLE__", compressed ones ("CCOB", versions 1 to 3) expand
 * to a plain one. Layouts: clang's ClangOffloadBundler documentation. Every
 * number is held against the bytes at hand before it is followed, and what is
 * allocated is bounded by what the input really expands to.
 */
#ifndef KPK_GEN_BUNDLE_H
#define KPK_GEN_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUNDLE_ERROR_MAX 256
#define BUNDLE_TARGET_MAX 64

enum bundle_kind { BUNDLE_NONE, BUNDLE_PLAIN, BUNDLE_COMPRESSED };

/* By the first bytes. */
enum bundle_kind bundle_kind(const void *data, size_t nbytes);

/* A walk over the entries of a plain bundle. */
struct bundle {
    const unsigned char *data;
    size_t nbytes; /* SIZE_MAX if it is not known */
    uint64_t nentries;
    uint64_t next;       /* number of the next entry */
    size_t at;           /* offset of this entry's record */
    size_t extent;       /* end of the records and entries seen so far */
    const char *message; /* NULL, or the fault of the bundle */
};

struct bundle_entry {
    const char *id; /* "hipv4-amdgcn-amd-amdhsa--gfx942"; not terminated */
    size_t id_nbytes;
    const unsigned char *data;
    size_t nbytes;
};

/*
 * bundle_open() starts the walk, bundle_next() takes one entry. Both return
 * false and set bundle->message if the bundle is damaged. bundle_next() also
 * returns false at the end, with a message of NULL.
 */
bool bundle_open(struct bundle *bundle, const void *data, size_t nbytes);
bool bundle_next(struct bundle *bundle, struct bundle_entry *out);

/*
 * bundle_entry_target() copies the target ID of an entry for HIP on AMDGPU;
 * false for any other entry: the host's, another vendor's, SPIR-V.
 */
bool bundle_entry_target(const struct bundle_entry *entry,
                         char out[BUNDLE_TARGET_MAX]);

/*
 * bundle_expand() expands a compressed bundle.
 *
 *   nbytes  SIZE_MAX if not known
 *   out     the plain bundle, to be freed; out_nbytes its size
 *   used    how much of the input the compressed bundle takes; may be NULL
 *
 * False with a sentence in error if it cannot be expanded.
 */
bool bundle_expand(const void *data, size_t nbytes, unsigned char **out,
                   size_t *out_nbytes, size_t *used,
                   char error[BUNDLE_ERROR_MAX]);

#endif
