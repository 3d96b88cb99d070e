/* insn_rows.c - finds the row of a mnemonic in the tables of all encodings */
#include "insn_rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(encoding) &sim_rows_##encoding,
static const struct row_set *const sets[] = {ROW_SETS(X)};
#undef X

enum { NUM_SETS = sizeof(sets) / sizeof(sets[0]), NUM_BUCKETS = 8192 };

struct bucket {
    const char *name;
    const struct insn_row *row;
};

static struct bucket buckets[NUM_BUCKETS]; /* filled once, then read only */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t hash(const char *name)
{
    uint32_t h = 2166136261u;

    while (*name)
        h = (h ^ (uint8_t)*name++) * 16777619u;
    return (h ^ h >> 15) % NUM_BUCKETS;
}

/* Open addressing: a name's bucket, or the free one where it would go. */
static struct bucket *find_bucket(struct bucket *table, const char *name)
{
    size_t b = hash(name);

    while (table[b].name && strcmp(table[b].name, name) != 0)
        b = (b + 1) % NUM_BUCKETS;
    return &table[b];
}

/* Adds a name to the table. For a row `of` is `name`, for an alias the mnemonic
 * of its row. */
static bool insert(struct bucket *table, const char *name, const char *of,
                   const struct insn_row *row, char fault[ROW_FAULT_MAX])
{
    struct bucket *b = find_bucket(table, name);

    if (b->name)
        snprintf(fault, ROW_FAULT_MAX,
                 "%s %s is there twice: as %s and as %s; take one out",
                 of == name ? "row" : "alias", name, b->row->name, of);
    else
        *b = (struct bucket){name, row};
    return b->row == row && b->name == name;
}

static size_t count_names(const struct row_set *const joined[], size_t nsets)
{
    size_t n = 0;

    for (size_t s = 0; s < nsets; s++)
        n += joined[s]->nrows + joined[s]->naliases;
    return n;
}

static bool join(const struct row_set *const joined[], size_t nsets,
                 struct bucket *table, char fault[ROW_FAULT_MAX])
{
    if (count_names(joined, nsets) > NUM_BUCKETS / 2) {
        snprintf(fault, ROW_FAULT_MAX, "%zu names are too many for %d buckets",
                 count_names(joined, nsets), NUM_BUCKETS);
        return false;
    }
    for (size_t s = 0; s < nsets; s++)
        for (size_t r = 0; r < joined[s]->nrows; r++) {
            const struct insn_row *row = &joined[s]->rows[r];

            if (!insert(table, row->name, row->name, row, fault))
                return false;
        }
    for (size_t s = 0; s < nsets; s++)
        for (size_t a = 0; a < joined[s]->naliases; a++) {
            const struct insn_alias *alias = &joined[s]->aliases[a];
            const struct insn_row *row = find_bucket(table, alias->row)->row;

            if (!row) {
                snprintf(fault, ROW_FAULT_MAX,
                         "alias %s is of row %s, which is not there",
                         alias->name, alias->row);
                return false;
            }
            if (strcmp(alias->name, alias->row) == 0)
                continue; /* a table's old and new name are one */
            if (!insert(table, alias->name, alias->row, row, fault))
                return false;
        }
    return true;
}

bool sim_rows_check(const struct row_set *const checked[], size_t nsets,
                    char fault[ROW_FAULT_MAX])
{
    struct bucket *table = calloc(NUM_BUCKETS, sizeof(*table));
    bool ok;

    if (!table) {
        snprintf(fault, ROW_FAULT_MAX, "out of memory");
        return false;
    }
    ok = join(checked, nsets, table, fault);
    free(table);
    return ok;
}

static void build(void)
{
    char fault[ROW_FAULT_MAX];

    if (join(sets, NUM_SETS, buckets, fault))
        return;
    fprintf(stderr, "simulated GPU: tables of instructions: %s\n", fault);
    abort();
}

const struct insn_row *sim_row_find(const char *name)
{
    pthread_once(&once, build);
    return find_bucket(buckets, name)->row;
}
