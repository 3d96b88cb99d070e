/* compress.h - what the files of kpack-compress share */
#ifndef KPK_GEN_COMPRESS_H
#define KPK_GEN_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "read/codeobj.h"

struct bytes {
    const void *data;
    size_t nbytes;
};

/* zstd.c: all print what went wrong and return false on failure. */

/* How sizes are estimated: of the cheap levels the one that finds repeats. */
enum { QUICK_LEVEL = 3 };

/*
 * compress() compresses content, against `prefix` unless that is NULL;
 * compress_trained() with a dictionary that zstd has trained.
 *
 *   out  the result, to be freed by the caller
 */
bool compress(struct bytes content, const struct bytes *prefix, int level,
              void **out, size_t *out_nbytes);
bool compress_trained(struct bytes content, struct bytes dictionary, int level,
                      void **out, size_t *out_nbytes);

/* The sizes alone. */
bool compressed_size(struct bytes content, const struct bytes *prefix,
                     int level, size_t *out);
bool compressed_size_trained(struct bytes content, struct bytes dictionary,
                             int level, size_t *out);

/* Says so; false. */
bool no_memory(void);

/*
 * plan_references() says what each of a module's code objects is compressed
 * against: references[i] is the number of another one, or i for none.
 */
bool plan_references(const struct bytes *contents, size_t n,
                     size_t *references);

#endif
