/* cache_lines.h - the lines that a cache holds
 *
 * A line stands for 128 bytes of memory where the simulator keeps them. It has
 * a bit for each byte that it holds, and one for each that memory lacks.
 */
#ifndef SIM_ISA_CACHE_LINES_H
#define SIM_ISA_CACHE_LINES_H

#include <stdbool.h>
#include <stdint.h>

enum { LINE_NBYTES = 128 };

__extension__ typedef unsigned __int128 line_mask; /* a bit for each byte */

struct cache_line {
    struct cache_line *next; /* of its bucket */
    uint8_t *at;             /* the bytes of memory */
    line_mask valid, dirty;
    uint8_t bytes[LINE_NBYTES];
};

struct cache {
    struct cache_line **bucket;      /* nbuckets, a power of two; grows */
    unsigned nbuckets, nlines, most; /* 0 for most: no limit */
};

/* Bytes [first, first + n) of a line. */
static inline line_mask line_bytes(unsigned first, unsigned n)
{
    const line_mask all = ~(line_mask)0;

    return (n < LINE_NBYTES ? ~(all << n) : all) << first;
}

static inline uint8_t *line_of(uint8_t *at)
{
    return at - ((uintptr_t)at & (LINE_NBYTES - 1));
}

/* Copies the bytes of a mask, each run at once. */
void sim_line_copy(uint8_t *to, const uint8_t *from, line_mask bytes);

/* The line at an address; NULL if the cache lacks it. */
struct cache_line *sim_cache_find(const struct cache *c, const uint8_t *at);
/* The same, made if need be; NULL without memory. */
struct cache_line *sim_cache_get(struct cache *c, uint8_t *at);

/* Dirty bytes of a mask go to memory, and are clean. */
void sim_line_write_back(struct cache_line *l, line_mask bytes);
void sim_cache_write_back(struct cache *c);
/* Forgets clean bytes. */
void sim_cache_invalidate(struct cache *c);
/* Forgets a line, written back, by a random number. */
void sim_cache_evict(struct cache *c, uint64_t random);
/* Forgets everything, and gives its own memory back. */
void sim_cache_free(struct cache *c);

#endif
