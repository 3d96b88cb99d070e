/* group_races.c - workgroups of a launch that touch a byte of memory out of
 * order
 *
 * A byte has five marks: for the last group that wrote it, for two readers and
 * for two groups that updated it by atomics. A mark says how often its group
 * had synchronized before the access; the group's list of times says when the
 * group synchronized next.
 */
#include "group_races.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_NBYTES = 1024, FEWEST_SLOTS = 256 };

struct mark {
    uint32_t group; /* + 1; 0 is none */
    uint32_t nsyncs;
};

enum { WRITER, READER, UPDATER = READER + 2, NMARKS = UPDATER + 2 };

struct page {
    uint64_t number; /* address / PAGE_NBYTES */
    struct mark marks[PAGE_NBYTES][NMARKS];
};

/* Times at which a group synchronized: values of a counter that every group's
 * synchronization advances. */
struct group_times {
    uint64_t *times;
    uint32_t n, room;
};

struct races {
    struct page **slots;
    size_t nslots, npages;
    struct group_times *groups;
    uint64_t ngroups;
    uint64_t now;
    uint64_t last_group, last_insn;
};

struct races *sim_races_new(uint64_t ngroups)
{
    struct races *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->groups = calloc(ngroups, sizeof(*r->groups));
    r->slots = calloc(FEWEST_SLOTS, sizeof(*r->slots));
    r->nslots = FEWEST_SLOTS;
    r->ngroups = ngroups;
    r->last_group = UINT64_MAX;
    if (r->groups && r->slots)
        return r;
    sim_races_free(r);
    return NULL;
}

void sim_races_free(struct races *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->slots && i < r->nslots; i++)
        free(r->slots[i]);
    for (uint64_t g = 0; r->groups && g < r->ngroups; g++)
        free(r->groups[g].times);
    free(r->slots);
    free(r->groups);
    free(r);
}

/* ---- pages ---- */

static struct page **find_slot(struct page **slots, size_t n, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n - 1);

    while (slots[at] && slots[at]->number != number)
        at = (at + 1) & (n - 1);
    return &slots[at];
}

static void more_slots(struct races *r)
{
    const size_t n = 2 * r->nslots;
    struct page **slots = calloc(n, sizeof(*slots));

    if (!slots)
        return;
    for (size_t i = 0; i < r->nslots; i++)
        if (r->slots[i])
            *find_slot(slots, n, r->slots[i]->number) = r->slots[i];
    free(r->slots);
    r->slots = slots;
    r->nslots = n;
}

static struct page *page_of(struct races *r, uint64_t number)
{
    struct page **slot = find_slot(r->slots, r->nslots, number);
    struct page *page = *slot;

    if (page)
        return page;
    if (2 * r->npages >= r->nslots) {
        more_slots(r);
        slot = find_slot(r->slots, r->nslots, number);
    }
    if (r->npages + 1 < r->nslots) /* one stays free, for the search to end */
        page = calloc(1, sizeof(*page));
    if (page) {
        page->number = number;
        *slot = page;
        r->npages++;
    }
    return page;
}

/* ---- order ---- */

void sim_races_sync(struct races *r, uint64_t group, uint64_t insn)
{
    struct group_times *g = &r->groups[group];

    if (group == r->last_group && insn == r->last_insn)
        return;
    r->last_group = group;
    r->last_insn = insn;
    if (g->n == g->room) {
        const uint32_t room = g->room ? 2 * g->room : 8;
        uint64_t *times = realloc(g->times, room * sizeof(*times));

        if (!times)
            return;
        g->times = times;
        g->room = room;
    }
    g->times[g->n++] = ++r->now;
}

/* Nothing before, or the group's own, or in order. */
static bool is_before(const struct races *r, const struct mark *m,
                      uint64_t group)
{
    const struct group_times *other, *own = &r->groups[group];

    if (m->group == 0 || m->group == group + 1)
        return true;
    other = &r->groups[m->group - 1];
    return m->nsyncs < other->n && own->n > 0 &&
           other->times[m->nsyncs] < own->times[own->n - 1];
}

/* The first mark of a race with an access; NULL if there is none. */
static const struct mark *find_race(const struct races *r,
                                    const struct mark marks[NMARKS],
                                    uint64_t group, enum race_access how)
{
    static const bool races_with[][NMARKS] = {
        [RACE_READ] = {[WRITER] = true, [UPDATER] = true, [UPDATER + 1] = true},
        [RACE_WRITE] = {true, true, true, true, true},
        [RACE_ATOMIC] = {[WRITER] = true, [READER] = true, [READER + 1] = true},
    };

    for (int i = 0; i < NMARKS; i++)
        if (races_with[how][i] && !is_before(r, &marks[i], group))
            return &marks[i];
    return NULL;
}

static void set_mark(const struct races *r, struct mark marks[NMARKS],
                     uint64_t group, enum race_access how)
{
    const uint32_t n = r->groups[group].n;
    /* An atomic synchronizes first, so its own synchronization orders it. */
    const struct mark mine = {(uint32_t)group + 1,
                              how == RACE_ATOMIC && n ? n - 1 : n};
    struct mark *two = &marks[how == RACE_READ ? READER : UPDATER];

    if (how == RACE_WRITE)
        marks[WRITER] = mine;
    else if (is_before(r, &two[0], group))
        two[0] = mine;
    else
        two[1] = mine;
}

bool sim_races_note(struct races *r, uint64_t group, uint64_t at, unsigned n,
                    enum race_access how, const uint8_t *was,
                    const uint8_t *becomes, struct race *out)
{
    for (unsigned i = 0; i < n; i++) {
        struct page *p = page_of(r, (at + i) / PAGE_NBYTES);
        struct mark *marks = p ? p->marks[(at + i) % PAGE_NBYTES] : NULL;
        const bool same = becomes && was[i] == becomes[i];
        const struct mark *other =
            p && !same ? find_race(r, marks, group, how) : NULL;

        if (other) {
            out->at = at + i;
            out->group = other->group - 1;
            out->how = other == &marks[WRITER]   ? RACE_WRITE
                       : other < &marks[UPDATER] ? RACE_READ
                                                 : RACE_ATOMIC;
            return true;
        }
        if (p)
            set_mark(r, marks, group, how);
    }
    return false;
}
