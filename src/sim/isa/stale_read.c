/* stale_read.c - loads that miss what another wave has stored */
#include "stale_read.h"

#include "fault_report.h"
#include "late_memory.h"
#include "scope_rules.h"
#include "swap_loop.h"

#include <stdio.h>
#include <stdlib.h>

enum { STORES_MOST = 1 << 20 };

struct stored {
    const char *name;
    uint64_t pc, group, wave, serial;
    uint32_t number; /* of the wave in its group */
    struct cu *cu;
};

/* The running store's number among all, from 1 on; 0 if there are too many. */
static uint32_t number_of(struct wave *w)
{
    const struct late_memory *m = w->memory;
    struct caches *c = w->run->caches;
    struct stored *s;

    s = c->nstored ? &c->stored[c->nstored - 1] : NULL;
    if (s && s->wave == m->id && s->serial == m->serial)
        return c->nstored;
    if (!c->stored || c->nstored == c->most_stored) {
        const uint32_t most = c->most_stored ? 2 * c->most_stored : 64;

        s = most > STORES_MOST ? NULL
                               : realloc(c->stored, most * sizeof(*c->stored));
        if (!s)
            return 0;
        c->stored = s;
        c->most_stored = most;
    }
    c->stored[c->nstored] = (struct stored){w->insn->row->name,
                                            w->insn_pc - w->run->entry,
                                            w->group->index,
                                            m->id,
                                            m->serial,
                                            w->index,
                                            m->cu};
    return ++c->nstored;
}

void sim_stale_note(struct wave *w, uint8_t *at, unsigned n,
                    const uint8_t *bytes)
{
    struct caches *c = w->run->caches;
    const uint32_t number = number_of(w);

    for (unsigned done = 0, part; done < n; done += part) {
        uint8_t *const line = line_of(at + done);
        const unsigned first = (unsigned)(at + done - line);
        struct cache_line *newest = sim_cache_get(&c->newest, line);
        struct cache_line *who = sim_cache_get(&c->who, line);

        part = LINE_NBYTES - first < n - done ? LINE_NBYTES - first : n - done;
        if (!newest || !who)
            return;
        memcpy(newest->bytes + first, bytes + done, part);
        newest->valid |= line_bytes(first, part);
        for (unsigned k = first / 4; k <= (first + part - 1) / 4; k++)
            memcpy(who->bytes + 4ull * k, &number, sizeof(number));
    }
}

/* ---- the report ---- */

/* Whether a store is still in its CU. *waited: a wait has completed it. */
static bool is_under_way(const struct stored *s, const uint8_t *at,
                         bool *waited)
{
    uint8_t *const line = line_of((uint8_t *)at);

    for (const struct cache_store *p = s->cu->oldest; p; p = p->next)
        if (p->wave == s->wave && p->serial == s->serial && p->at == line &&
            p->mask >> (at - line) & 1) {
            *waited = p->waited;
            return true;
        }
    return false;
}

static bool is_dirty(const struct caches *c, const struct stored *s,
                     const uint8_t *at)
{
    uint8_t *const line = line_of((uint8_t *)at);
    const struct cache_line *l = sim_cache_find(&c->die[s->cu->die].l2, line);

    return l && l->dirty >> (at - line) & 1;
}

static void narrow_note(char *text, size_t size, const struct cu *cu,
                        enum narrow k)
{
    if (cu->narrow[k])
        snprintf(text, size, " (%s at +0x%llx has too small a scope)",
                 cu->narrow[k], (unsigned long long)cu->narrow_pc[k]);
}

static void report(struct wave *w, const uint8_t *at, uint32_t number, int lane)
{
    const struct caches *c = w->run->caches;
    const struct scope_rules *rules = sim_scope_rules(w->target);
    const struct stored *s = &c->stored[number - 1];
    const uint32_t *counts = w->run->ngroups;
    char what[200], narrow[96] = "";
    bool waited = false;

    if (is_under_way(s, at, &waited) && !waited) {
        snprintf(what, sizeof(what),
                 "the store is under way: the writer lacks a wait for it");
    } else if (waited ||
               (is_dirty(c, s, at) && s->cu->die != w->memory->cu->die)) {
        narrow_note(narrow, sizeof(narrow), s->cu, NARROW_WRITE_BACK);
        snprintf(
            what, sizeof(what), "the writer lacks '%s' and a wait for it%s",
            rules->write_back ? rules->write_back : "a write-back", narrow);
    } else {
        narrow_note(narrow, sizeof(narrow), w->memory->cu, NARROW_INVALIDATION);
        snprintf(what, sizeof(what),
                 "a cache has older bytes: the reader lacks %s%s",
                 rules->invalidate, narrow);
    }
    sim_warn(w, SIM_FAULT_STALE, lane,
             "does not see what workgroup (%u,%u,%u), wave %u stored by %s at "
             "+0x%llx: %s",
             (unsigned)(s->group % counts[0]),
             (unsigned)(s->group / counts[0] % counts[1]),
             (unsigned)(s->group / counts[0] / counts[1]), s->number, s->name,
             (unsigned long long)s->pc, what);
}

/* Whether any byte of [at, at + n) has been stored as another one. */
static bool is_newer(const struct caches *c, uint8_t *at, unsigned n,
                     const uint8_t *bytes)
{
    const struct cache_line *l = sim_cache_find(&c->newest, line_of(at));
    const unsigned first = (unsigned)(at - line_of(at));

    if (first + n > LINE_NBYTES) /* in two lines */
        return true;
    return l && l->valid & line_bytes(first, n) &&
           memcmp(l->bytes + first, bytes, n) != 0;
}

void sim_stale_check(struct wave *w, uint8_t *at, unsigned n,
                     const uint8_t *bytes, bool passes, int lane)
{
    const struct caches *c = w->run->caches;

    if (c->newest.nlines == 0 || !is_newer(c, at, n, bytes))
        return;
    for (unsigned i = 0; i < n; i++) {
        uint8_t *const line = line_of(at + i);
        const unsigned k = (unsigned)(at + i - line);
        const struct cache_line *l = sim_cache_find(&c->newest, line);
        uint32_t number;

        if (!l || !(l->valid >> k & 1) || l->bytes[k] == bytes[i])
            continue;
        if (sim_swap_loop_follows(w))
            return;
        l = sim_cache_find(&c->who, line);
        if (!l) /* there were too many */
            return;
        memcpy(&number, l->bytes + k / 4 * 4, sizeof(number));
        if (number && (!passes || is_dirty(c, &c->stored[number - 1], at + i)))
            report(w, at + i, number, lane);
        return;
    }
}
