/* touched.c - a bit for each byte of memory that a launch touches
 *
 * Memory is taken in pages of 32 KiB. A page has a bit for each byte, for
 * reads and for writes, so that one word of bits is a segment of 64 bytes.
 * Pages hang in a hash table without locks: a slot is filled once.
 */
#include "touched.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    PAGE_SHIFT = 15,
    PAGE_WORDS = (1 << PAGE_SHIFT) / 64,
    SLOT_BITS = 17, /* 4 GiB of touched memory */
    SLOTS = 1 << SLOT_BITS
};

struct page {
    uint64_t number; /* address >> PAGE_SHIFT */
    _Atomic uint64_t bits[2][PAGE_WORDS];
    _Atomic uint64_t turns[PAGE_WORDS]; /* atomics per 64 bytes */
};

struct touched {
    _Atomic(struct page *) slot[SLOTS];
};

struct touched *sim_touched_new(void)
{
    return calloc(1, sizeof(struct touched));
}

void sim_touched_free(struct touched *t)
{
    for (unsigned i = 0; t && i < SLOTS; i++)
        free(atomic_load(&t->slot[i]));
    free(t);
}

static struct page *page_of(struct touched *t, uint64_t number)
{
    size_t first = number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS);
    struct page *fresh = NULL;

    for (size_t i = 0; i < SLOTS; i++) {
        _Atomic(struct page *) *slot = &t->slot[(first + i) % SLOTS];
        struct page *p = atomic_load_explicit(slot, memory_order_acquire);

        if (!p) {
            if (!fresh && !(fresh = calloc(1, sizeof(*fresh))))
                return NULL;
            fresh->number = number;
            if (atomic_compare_exchange_strong(slot, &p, fresh))
                return fresh;
        }
        if (p->number == number) {
            free(fresh);
            return p;
        }
    }
    free(fresh);
    return NULL;
}

/* Most bytes have been touched before: a load then replaces the atomic. */
static void set_bits(_Atomic uint64_t *word, uint64_t bits)
{
    if ((atomic_load_explicit(word, memory_order_relaxed) & bits) != bits)
        atomic_fetch_or_explicit(word, bits, memory_order_relaxed);
}

bool sim_touched_note(struct touched *t, uint64_t at, unsigned n, bool write)
{
    do {
        unsigned bit = at & 63, here = n < 64 - bit ? n : 64 - bit;
        struct page *p = page_of(t, at >> PAGE_SHIFT);

        if (!p)
            return false;
        set_bits(&p->bits[write][at / 64 % PAGE_WORDS],
                 UINT64_MAX >> (64 - here) << bit);
        at += here;
        n -= here;
    } while (n);
    return true;
}

bool sim_touched_atomic(struct touched *t, uint64_t at, unsigned turns)
{
    struct page *p = page_of(t, at >> PAGE_SHIFT);

    if (p)
        atomic_fetch_add_explicit(&p->turns[at / 64 % PAGE_WORDS], turns,
                                  memory_order_relaxed);
    return p != NULL;
}

static unsigned popcount(uint64_t bits)
{
    return (unsigned)__builtin_popcountll(bits);
}

static void count_page(const struct page *p, struct sim_work *out)
{
    const uint64_t half = UINT32_MAX;

    for (unsigned i = 0; i < PAGE_WORDS; i += 2) {
        uint64_t r[2] = {p->bits[0][i], p->bits[0][i + 1]};
        uint64_t w[2] = {p->bits[1][i], p->bits[1][i + 1]};

        out->read_segments128 += (r[0] | r[1]) != 0;
        out->written_segments128 += (w[0] | w[1]) != 0;
        for (int k = 0; k < 2; k++) {
            out->read_bytes += popcount(r[k]);
            out->read_segments64 += r[k] != 0;
            out->written_bytes += popcount(w[k]);
            out->written_segments32 +=
                ((w[k] & half) != 0) + ((w[k] >> 32) != 0);
            if (p->turns[i + k] > out->atomic_hottest)
                out->atomic_hottest = p->turns[i + k];
        }
    }
}

void sim_touched_count(const struct touched *t, struct sim_work *out)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct page *p = atomic_load(&t->slot[i]);

        if (p)
            count_page(p, out);
    }
}
