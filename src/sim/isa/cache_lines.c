/* cache_lines.c - the lines that a cache holds */
#include "cache_lines.h"

#include <stdlib.h>
#include <string.h>

static unsigned first_of(line_mask m)
{
    const uint64_t low = (uint64_t)m;

    return (unsigned)(low ? __builtin_ctzll(low)
                          : 64 + __builtin_ctzll((uint64_t)(m >> 64)));
}

void sim_line_copy(uint8_t *to, const uint8_t *from, line_mask bytes)
{
    while (bytes) {
        const unsigned first = first_of(bytes);
        const line_mask rest = ~(bytes >> first);
        const unsigned n = rest ? first_of(rest) : LINE_NBYTES;

        memcpy(to + first, from + first, n);
        bytes &= ~line_bytes(first, n);
    }
}

static unsigned bucket_of(const struct cache *c, const uint8_t *at)
{
    const uint64_t key = (uintptr_t)at / LINE_NBYTES;

    return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
           (c->nbuckets - 1);
}

/* The link to a line, or the one at which it would stand. */
static struct cache_line **place(const struct cache *c, const uint8_t *at)
{
    struct cache_line **p = &c->bucket[bucket_of(c, at)];

    while (*p && (*p)->at != at)
        p = &(*p)->next;
    return p;
}

struct cache_line *sim_cache_find(const struct cache *c, const uint8_t *at)
{
    return c->nlines ? *place(c, at) : NULL;
}

/* Room for one more line. */
static bool grow(struct cache *c)
{
    enum { FIRST = 64 };
    struct cache grown = *c;

    if (c->nlines < 2 * c->nbuckets)
        return true;
    grown.nbuckets = c->nbuckets ? 4 * c->nbuckets : FIRST;
    grown.bucket = calloc(grown.nbuckets, sizeof(*grown.bucket));
    if (!grown.bucket)
        return c->nbuckets > 0;
    for (unsigned k = 0; k < c->nbuckets; k++)
        for (struct cache_line *l = c->bucket[k], *next; l; l = next) {
            struct cache_line **p = &grown.bucket[bucket_of(&grown, l->at)];

            next = l->next;
            l->next = *p;
            *p = l;
        }
    free(c->bucket);
    *c = grown;
    return true;
}

static void drop(struct cache *c, struct cache_line **p)
{
    struct cache_line *l = *p;

    *p = l->next;
    free(l);
    c->nlines--;
}

struct cache_line *sim_cache_get(struct cache *c, uint8_t *at)
{
    struct cache_line *l = sim_cache_find(c, at), **p;

    if (l)
        return l;
    if (c->most && c->nlines >= c->most)
        sim_cache_evict(c, (uintptr_t)at / LINE_NBYTES);
    l = grow(c) ? calloc(1, sizeof(*l)) : NULL;
    if (!l)
        return NULL;
    l->at = at;
    p = &c->bucket[bucket_of(c, at)];
    l->next = *p;
    *p = l;
    c->nlines++;
    return l;
}

void sim_line_write_back(struct cache_line *l, line_mask bytes)
{
    sim_line_copy(l->at, l->bytes, l->dirty & bytes);
    l->dirty &= ~bytes;
}

void sim_cache_write_back(struct cache *c)
{
    for (unsigned k = 0; k < c->nbuckets && c->nlines; k++)
        for (struct cache_line *l = c->bucket[k]; l; l = l->next)
            sim_line_write_back(l, l->dirty);
}

void sim_cache_invalidate(struct cache *c)
{
    for (unsigned k = 0; k < c->nbuckets && c->nlines; k++)
        for (struct cache_line **p = &c->bucket[k]; *p;) {
            (*p)->valid = (*p)->dirty;
            if ((*p)->valid)
                p = &(*p)->next;
            else
                drop(c, p);
        }
}

void sim_cache_evict(struct cache *c, uint64_t random)
{
    for (unsigned k = 0; k < c->nbuckets && c->nlines; k++) {
        struct cache_line **p = &c->bucket[(random + k) & (c->nbuckets - 1)];

        if (!*p)
            continue;
        sim_line_write_back(*p, (*p)->dirty);
        drop(c, p);
        return;
    }
}

void sim_cache_free(struct cache *c)
{
    for (unsigned k = 0; k < c->nbuckets; k++)
        while (c->bucket[k])
            drop(c, &c->bucket[k]);
    free(c->bucket);
    *c = (struct cache){0};
}
