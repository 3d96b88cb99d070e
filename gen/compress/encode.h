/* encode.h - kpack-compress's calls into libzstd
 *
 * All print what went wrong and return false on failure.
 */
#ifndef KPK_GEN_ENCODE_H
#define KPK_GEN_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    const void *data;
    size_t nbytes;
};

/* The level of estimates: the cheapest that finds repeats. */
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

#endif
