/* group_races.c - workgroups of a launch that touch a byte of memory out of
 * order
 *
 * A byte has five marks: for the last group that wrote it, for two readers and
 * for two groups that updated it by atomics. A mark has the clock of its group
 * at the access. A group's lists of releases say which accesses, by the group's
 * clock, are released by flags written from which time on; all groups share
 * this time. The bytes of a dword share their marks until an access touches a
 * part of a dword in their page.
 */
#include "group_races.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_NBYTES = 1024, FEWEST_SLOTS = 256 };

struct mark {
    uint32_t group; /* + 1; 0 is none */
    uint32_t clock;
};

enum { WRITER, READER, UPDATER = READER + 2, NMARKS = UPDATER + 2 };

struct page {
    uint64_t number; /* address / PAGE_NBYTES */
    unsigned unit;   /* bytes that share marks: 4 or 1 */
    struct mark (*marks)[NMARKS];
    uint64_t flag_times[PAGE_NBYTES / 4]; /* of each dword */
};

/* A flag written at `time` or later releases accesses before `clock`. Both
 * ascend. */
struct release {
    uint64_t time;
    uint32_t clock;
};

struct releases {
    struct release *list;
    uint32_t n, room;
};

/* Kinds of accesses, which are released separately. */
enum { OF_ATOMICS, OF_LOADS, OF_STORES, NRELEASES };

struct group_order {
    struct releases releases[NRELEASES];
    uint32_t clock;
    uint32_t written_back;     /* stores before this clock are */
    uint64_t seen;             /* time of the newest flag that it has read */
    uint64_t l0_drop, l1_drop; /* `seen` when it last dropped them */
};

struct races {
    struct page **slots;
    size_t nslots, npages;
    struct group_order *groups;
    uint64_t ngroups;
    uint64_t now;
};

static void free_page(struct page *page)
{
    if (page)
        free(page->marks);
    free(page);
}

struct races *sim_races_new(uint64_t ngroups)
{
    struct races *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->groups = calloc(ngroups, sizeof(*r->groups));
    r->slots = calloc(FEWEST_SLOTS, sizeof(*r->slots));
    r->nslots = FEWEST_SLOTS;
    r->ngroups = ngroups;
    for (uint64_t g = 0; r->groups && g < ngroups; g++)
        r->groups[g].clock = 1;
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
        free_page(r->slots[i]);
    for (uint64_t g = 0; r->groups && g < r->ngroups; g++)
        for (unsigned k = 0; k < NRELEASES; k++)
            free(r->groups[g].releases[k].list);
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

static struct page *new_page(uint64_t number)
{
    struct page *page = calloc(1, sizeof(*page));

    if (!page)
        return NULL;
    page->number = number;
    page->unit = 4;
    page->marks = calloc(PAGE_NBYTES / page->unit, sizeof(*page->marks));
    if (page->marks)
        return page;
    free(page);
    return NULL;
}

static bool split_dwords(struct page *page)
{
    struct mark(*marks)[NMARKS] = malloc(PAGE_NBYTES * sizeof(*marks));

    if (!marks)
        return false;
    for (size_t i = 0; i < PAGE_NBYTES; i++)
        memcpy(marks[i], page->marks[i / page->unit], sizeof(marks[i]));
    free(page->marks);
    page->marks = marks;
    page->unit = 1;
    return true;
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
        page = new_page(number);
    if (page) {
        *slot = page;
        r->npages++;
    }
    return page;
}

/* The page of an access to [at, at + n), which lies in one dword, with marks
 * that the access does not share with other bytes; NULL without memory. */
static struct page *page_to_mark(struct races *r, uint64_t at, unsigned n)
{
    struct page *page = page_of(r, at / PAGE_NBYTES);

    return page && (n % page->unit == 0 || split_dwords(page)) ? page : NULL;
}

/* ---- order ---- */

uint32_t sim_races_clock(const struct races *r, uint64_t group)
{
    return r->groups[group].clock;
}

void sim_races_tick(struct races *r, uint64_t group)
{
    r->groups[group].clock++;
}

/* Without memory the release is forgotten. */
static void add_release(struct races *r, struct releases *of, uint32_t clock)
{
    if (of->n && of->list[of->n - 1].clock >= clock)
        return;
    if (of->n == of->room) {
        const uint32_t room = of->room ? 2 * of->room : 8;
        struct release *list = realloc(of->list, room * sizeof(*list));

        if (!list)
            return;
        of->list = list;
        of->room = room;
    }
    of->list[of->n++] = (struct release){r->now, clock};
}

void sim_races_write_back(struct races *r, uint64_t group, uint32_t clock)
{
    struct group_order *g = &r->groups[group];

    if (clock > g->written_back)
        g->written_back = clock;
}

uint64_t sim_races_release(struct races *r, uint64_t group, uint32_t done,
                           bool writes_through)
{
    struct group_order *g = &r->groups[group];

    r->now++;
    add_release(r, &g->releases[OF_ATOMICS], g->clock + 1);
    add_release(r, &g->releases[OF_LOADS], done);
    add_release(r, &g->releases[OF_STORES],
                writes_through ? done : g->written_back);
    return r->now;
}

void sim_races_flag(struct races *r, uint64_t at, unsigned n, uint64_t time)
{
    for (uint64_t dword = at / 4; dword <= (at + n - 1) / 4; dword++) {
        struct page *p = page_of(r, dword * 4 / PAGE_NBYTES);

        if (p)
            p->flag_times[dword % (PAGE_NBYTES / 4)] = time;
    }
}

uint64_t sim_races_flag_time(struct races *r, uint64_t at, unsigned n)
{
    uint64_t time = 0;

    for (uint64_t dword = at / 4; dword <= (at + n - 1) / 4; dword++) {
        const struct page *p = page_of(r, dword * 4 / PAGE_NBYTES);
        const uint64_t that =
            p ? p->flag_times[dword % (PAGE_NBYTES / 4)] : r->now;

        if (that > time)
            time = that;
    }
    return time;
}

void sim_races_see(struct races *r, uint64_t group, uint64_t time)
{
    struct group_order *g = &r->groups[group];

    if (time > g->seen)
        g->seen = time;
}

void sim_races_drop(struct races *r, uint64_t group, bool l0, bool l1)
{
    struct group_order *g = &r->groups[group];

    if (l0)
        g->l0_drop = g->seen;
    if (l1)
        g->l1_drop = g->seen;
}

void sim_races_meet(struct races *r, uint64_t group)
{
    const uint32_t all = r->groups[group].clock + 1;

    sim_races_see(r, group, sim_races_release(r, group, all, true));
    sim_races_drop(r, group, true, true);
}

/* The first release that tells of an access; NULL if none does. */
static const struct release *find_release(const struct releases *of,
                                          uint32_t clock)
{
    uint32_t low = 0, high = of->n;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (of->list[middle].clock > clock)
            high = middle;
        else
            low = middle + 1;
    }
    return low < of->n ? &of->list[low] : NULL;
}

static unsigned releases_of(int mark)
{
    return mark == WRITER ? OF_STORES : mark < UPDATER ? OF_LOADS : OF_ATOMICS;
}

/* A load asks the caches, whereas stores and atomics go past them. */
static uint64_t sees(const struct group_order *own, enum race_access how)
{
    if (how != RACE_READ)
        return own->seen;
    return own->l0_drop < own->l1_drop ? own->l0_drop : own->l1_drop;
}

/* Nothing before, or the group's own, or in order. */
static bool is_before(const struct races *r, const struct mark *marks, int i,
                      uint64_t group, enum race_access how)
{
    const struct mark *m = &marks[i];
    const struct release *release;

    if (m->group == 0 || m->group == group + 1)
        return true;
    release = find_release(&r->groups[m->group - 1].releases[releases_of(i)],
                           m->clock);
    return release && release->time <= sees(&r->groups[group], how);
}

static enum race_lack find_lack(const struct races *r, const struct mark *m,
                                int i, uint64_t group)
{
    const struct releases *of = r->groups[m->group - 1].releases;
    const uint64_t seen = r->groups[group].seen;
    const struct release *release = find_release(&of[releases_of(i)], m->clock);

    if (release && release->time <= seen)
        return LACKS_INVALIDATION;
    release = find_release(&of[OF_LOADS], m->clock);
    if (release && release->time <= seen)
        return LACKS_WRITE_BACK;
    release = find_release(&of[OF_ATOMICS], m->clock);
    return release && release->time <= seen ? LACKS_WAIT : LACKS_FLAG;
}

/* The first mark of a race with an access; NMARKS if there is none. */
static int find_race(const struct races *r, const struct mark marks[NMARKS],
                     uint64_t group, enum race_access how)
{
    static const bool races_with[][NMARKS] = {
        [RACE_READ] = {[WRITER] = true, [UPDATER] = true, [UPDATER + 1] = true},
        [RACE_WRITE] = {true, true, true, true, true},
        [RACE_ATOMIC] = {[WRITER] = true, [READER] = true, [READER + 1] = true},
    };
    int i = 0;

    while (i < NMARKS &&
           !(races_with[how][i] && !is_before(r, marks, i, group, how)))
        i++;
    return i;
}

static void set_mark(const struct races *r, struct mark marks[NMARKS],
                     uint64_t group, enum race_access how)
{
    const struct mark mine = {(uint32_t)group + 1, r->groups[group].clock};
    const int two = how == RACE_READ ? READER : UPDATER;

    if (how == RACE_WRITE)
        marks[WRITER] = mine;
    else if (is_before(r, marks, two, group, how))
        marks[two] = mine;
    else
        marks[two + 1] = mine;
}

/* An access to bytes that share their marks. */
static bool note(struct races *r, struct mark marks[NMARKS], uint64_t group,
                 enum race_access how, bool changes, struct race *out)
{
    const int other = changes ? find_race(r, marks, group, how) : NMARKS;

    if (other == NMARKS) {
        set_mark(r, marks, group, how);
        return false;
    }
    out->group = marks[other].group - 1;
    out->how = other == WRITER   ? RACE_WRITE
               : other < UPDATER ? RACE_READ
                                 : RACE_ATOMIC;
    out->lack = find_lack(r, &marks[other], other, group);
    return true;
}

/* The first byte from `from` on that changes, `to` if none does. */
static unsigned first_change(const uint8_t *was, const uint8_t *becomes,
                             unsigned from, unsigned to)
{
    while (from < to && becomes && was[from] == becomes[from])
        from++;
    return from;
}

bool sim_races_note(struct races *r, uint64_t group, uint64_t at, unsigned n,
                    enum race_access how, const uint8_t *was,
                    const uint8_t *becomes, struct race *out)
{
    for (unsigned i = 0, next; i < n; i = next) {
        const unsigned in_dword = 4 - (unsigned)((at + i) % 4);
        unsigned changed;
        struct page *p;

        next = n - i < in_dword ? n : i + in_dword;
        p = page_to_mark(r, at + i, next - i);
        if (!p)
            continue;
        next = i + p->unit;
        changed = first_change(was, becomes, i, next);
        if (note(r, p->marks[(at + i) % PAGE_NBYTES / p->unit], group, how,
                 changed < next, out)) {
            out->at = at + changed;
            return true;
        }
    }
    return false;
}
