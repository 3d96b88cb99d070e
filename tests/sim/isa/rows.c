/* rows.c - finds the row of a mnemonic in the tables of all encodings */
#include "rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define X(encoding) &sim_rows_##encoding,
static const struct row_set *const sets[] = {ROW_SETS(X)};
#undef X

enum { NUM_SETS = sizeof(sets) / sizeof(sets[0]), NUM_BUCKETS = 8192 };

static struct {
    const char *name;
    const struct insn_row *row;
} buckets[NUM_BUCKETS]; /* open addressing; filled once, then read only */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t hash(const char *name)
{
    uint32_t h = 2166136261u;

    while (*name)
        h = (h ^ (uint8_t)*name++) * 16777619u;
    return (h ^ h >> 15) % NUM_BUCKETS;
}

static size_t find_bucket(const char *name)
{
    size_t b = hash(name);

    while (buckets[b].name && strcmp(buckets[b].name, name) != 0)
        b = (b + 1) % NUM_BUCKETS;
    return b;
}

static void insert(const char *name, const struct insn_row *row)
{
    size_t b = find_bucket(name);

    if (!buckets[b].name) { /* the first of two rows of one name counts */
        buckets[b].name = name;
        buckets[b].row = row;
    }
}

static void build(void)
{
    for (size_t s = 0; s < NUM_SETS; s++)
        for (size_t r = 0; r < sets[s]->nrows; r++)
            insert(sets[s]->rows[r].name, &sets[s]->rows[r]);
    for (size_t s = 0; s < NUM_SETS; s++)
        for (size_t a = 0; a < sets[s]->naliases; a++) {
            const struct insn_alias *alias = &sets[s]->aliases[a];
            const struct insn_row *row = buckets[find_bucket(alias->row)].row;

            if (row)
                insert(alias->name, row);
        }
}

const struct insn_row *sim_row_find(const char *name)
{
    pthread_once(&once, build);
    return buckets[find_bucket(name)].row;
}
