/* caches.c - what the caches of a card may show to its waves */
#include "caches.h"

#include "../base/processor.h"
#include "scope_rules.h"

#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { DIES_MI300X = 8, DIES_GFX125 = 2, STORES_MOST = 256 };
/* Numbers of lines: a CU's cache, a shader array's cache, a die's L2. */
enum {
    CU_LINES = 256,
    CU_LINES_GFX9 = 128,
    ARRAY_LINES = 1024,
    L2_LINES = 32768,
    NEWEST_LINES = 1 << 20
};

/* ---- memory that an L2 caches incoherently ---- */

/*
 * Rows by the driver's memory types: 1 where an L2 holds lines that others do
 * not see, because they are cached and no probe drops them (NC; RW of a device
 * with several L2s or beside others). Memory of this device, of another, of the
 * host; coarse-grained, fine-grained. gfx9 and gfx10 have no instruction that
 * writes an L2 back, so their own memory is never apart.
 */
/* clang-format off */
static const struct {
    uint8_t families;
    bool apart[3][2];
} memory_types[] = {
    {FAMILY_GFX9,                      {{0, 0}, {0, 0}, {0, 0}}},
    {FAMILY_GFX90A,                    {{1, 0}, {1, 0}, {1, 0}}},
    {FAMILY_GFX94,                     {{1, 1}, {1, 0}, {0, 0}}},
    {FAMILY_GFX10 | FAMILY_GFX11,      {{0, 0}, {1, 0}, {1, 0}}},
    {FAMILY_GFX120,                    {{1, 1}, {1, 1}, {1, 1}}},
    {FAMILY_GFX125,                    {{1, 1}, {1, 0}, {0, 0}}},
};
/* clang-format on */

static bool is_apart(const struct caches *c, const struct sim_alloc *a)
{
    const int own = c->run->dispatch->device->ordinal;
    const unsigned family = sim_family_of(c->run->target);
    const unsigned whose = a->kind != SIM_MEM_DEVICE ? 2 : a->device != own;
    size_t i = 0;

    if (a->kind == SIM_MEM_CODE || a->kind == SIM_MEM_INTERNAL)
        return false;
    while (!(memory_types[i].families & family))
        i++;
    return memory_types[i].apart[whose][a->fine_grained];
}

/* ---- chance and place ---- */

static uint64_t next_random(struct caches *c)
{
    c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return c->random >> 33;
}

uint64_t sim_caches_random(struct caches *c, uint64_t n)
{
    return next_random(c) % n;
}

bool sim_caches_chance(struct caches *c, unsigned of)
{
    return next_random(c) % of == 0;
}

bool sim_caches_step(struct caches *c)
{
    static const unsigned of[] = {2, 8, 64};
    const uint64_t seed = c->run->config.weak;

    return seed && sim_caches_chance(c, of[seed % COUNT(of)]);
}

bool sim_caches_late(struct caches *c)
{
    return !c->run->config.weak || sim_caches_chance(c, 2);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

struct cu *sim_caches_cu(struct caches *c, uint64_t group, unsigned wave)
{
    const uint64_t seed = c->run->config.weak;
    struct die *d = &c->die[group % c->ndies];
    uint64_t cu = group / c->ndies, other = wave;

    if (seed) {
        cu = mix(mix(seed) + group) >> 8;
        other = mix(mix(mix(seed) + group) + wave) >> 8;
    }
    if (c->splits && c->run->target->major == 9)
        cu = other;
    else if (c->splits)
        cu = (cu & ~UINT64_C(1)) | (other & 1);
    return &d->cu[cu % DIE_CUS];
}

/* Whether waves of a group run on several CUs: in RDNA's WGP mode, a bit of
 * rsrc1, and with tgsplit of gfx90a and gfx94x. On gfx125x a WGP has one cache.
 */
static bool splits_groups(const struct run *run)
{
    const unsigned family = sim_family_of(run->target);

    if (family & (FAMILY_GFX90A | FAMILY_GFX94))
        return run->rsrc3 >> 16 & 1;
    return family & (FAMILY_GFX10 | FAMILY_GFX11 | FAMILY_GFX120) &&
           run->rsrc1 >> 29 & 1;
}

struct caches *sim_caches_new(const struct run *run)
{
    const unsigned family = sim_family_of(run->target);
    struct caches *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->run = run;
    c->ndies = family == FAMILY_GFX94    ? DIES_MI300X
               : family == FAMILY_GFX125 ? DIES_GFX125
                                         : 1;
    c->die = calloc(c->ndies, sizeof(*c->die));
    if (!c->die) {
        free(c);
        return NULL;
    }
    /* gfx12's array cache holds nothing, but its scopes are distinguished. */
    c->has_arrays = family & (FAMILY_GFX10 | FAMILY_GFX11 | FAMILY_GFX120);
    c->splits = splits_groups(run);
    /* LLVM lets no wave wait for its stores where its group shares a cache,
     * and a later release by another wave of the group must cover them. */
    c->in_order = run->target->major == 9 && !c->splits;
    c->device = c->ndies > 1 ? LEVEL_MEMORY : LEVEL_L2;
    c->random = mix(run->config.weak + 1);
    c->newest.most = c->who.most = NEWEST_LINES;
    for (unsigned d = 0; d < c->ndies; d++) {
        struct die *die = &c->die[d];

        die->l2.most = L2_LINES;
        for (unsigned k = 0; k < DIE_ARRAYS; k++)
            die->array[k].most = ARRAY_LINES;
        for (unsigned k = 0; k < DIE_SCALAR_CACHES; k++)
            die->scalar[k].most = CU_LINES_GFX9;
        for (unsigned k = 0; k < DIE_CUS; k++) {
            die->cu[k].die = d;
            die->cu[k].number = k;
            die->cu[k].lines.most =
                run->target->major == 9 ? CU_LINES_GFX9 : CU_LINES;
        }
    }
    return c;
}

static struct cache *array_of(struct caches *c, const struct cu *cu)
{
    return &c->die[cu->die].array[cu->number * DIE_ARRAYS / DIE_CUS];
}

static struct cache *scalar_of(struct caches *c, const struct cu *cu)
{
    return &c->die[cu->die].scalar[cu->number * DIE_SCALAR_CACHES / DIE_CUS];
}

static struct cache *l2_of(struct caches *c, const struct cu *cu)
{
    return &c->die[cu->die].l2;
}

void sim_caches_free(struct caches *c)
{
    if (!c)
        return;
    sim_caches_perform_all(c);
    for (unsigned d = 0; d < c->ndies; d++) {
        struct die *die = &c->die[d];

        sim_cache_write_back(&die->l2);
        sim_cache_free(&die->l2);
        for (unsigned k = 0; k < DIE_ARRAYS; k++)
            sim_cache_free(&die->array[k]);
        for (unsigned k = 0; k < DIE_SCALAR_CACHES; k++)
            sim_cache_free(&die->scalar[k]);
        for (unsigned k = 0; k < DIE_CUS; k++)
            sim_cache_free(&die->cu[k].lines);
    }
    sim_cache_free(&c->newest);
    sim_cache_free(&c->who);
    free(c->stored);
    free(c->die);
    free(c);
}

/* ---- scopes ---- */

enum cache_level sim_load_level(const struct caches *c, const struct insn *in)
{
    if (in->reach & REACH_LOAD)
        return in->reach & REACH_SYSTEM ? LEVEL_MEMORY : c->device;
    /* Workgroup scope. On gfx9 only groups on several CUs pass the CU's cache.
     */
    if (in->reach & REACH_LOAD_GROUP &&
        (c->run->target->major > 9 || c->splits))
        return LEVEL_ARRAY;
    return LEVEL_CU;
}

enum cache_level sim_store_level(const struct caches *c, const struct insn *in)
{
    if (in->reach & REACH_STORE)
        return in->reach & REACH_SYSTEM ? LEVEL_MEMORY : c->device;
    /* On gfx125 a store of smaller scope is done once its WGP sees it. */
    return sim_family_of(c->run->target) == FAMILY_GFX125 ? LEVEL_CU : LEVEL_L2;
}

/* ---- lines ---- */

/* The bytes of a line that belong to an allocation. */
static line_mask in_memory(const struct sim_alloc *a, const uint8_t *line)
{
    const int64_t first = a->bytes - line;
    const int64_t end = first + (int64_t)a->size;
    const unsigned from = first < 0 ? 0 : (unsigned)first;
    const unsigned to = end > LINE_NBYTES ? LINE_NBYTES : (unsigned)end;

    return line_bytes(from, to - from);
}

static const uint8_t *fetch_l2(struct caches *c, const struct cu *cu,
                               const struct sim_alloc *a, uint8_t *line)
{
    struct cache *l2 = l2_of(c, cu);
    struct cache_line *l;
    line_mask lacks;

    if (!is_apart(c, a))
        return line;
    l = sim_cache_get(l2, line);
    if (!l)
        return line;
    lacks = in_memory(a, line) & ~l->valid;
    sim_line_copy(l->bytes, line, lacks);
    l->valid |= lacks;
    return l->bytes;
}

/* The line's copy in a cache above the L2, filled from the level below. */
static struct cache_line *fill(struct cache *cache, const uint8_t *below,
                               const struct sim_alloc *a, uint8_t *line)
{
    struct cache_line *l = sim_cache_get(cache, line);

    if (l) {
        const line_mask lacks = in_memory(a, line) & ~l->valid;

        sim_line_copy(l->bytes, below, lacks);
        l->valid |= lacks;
    }
    return l;
}

static const uint8_t *fetch_array(struct caches *c, const struct cu *cu,
                                  const struct sim_alloc *a, uint8_t *line,
                                  line_mask want)
{
    const struct cache_line *l;
    const uint8_t *below;

    if (!c->has_arrays)
        return fetch_l2(c, cu, a, line);
    l = sim_cache_find(array_of(c, cu), line);
    if (l && !(want & ~l->valid))
        return l->bytes;
    below = fetch_l2(c, cu, a, line);
    l = fill(array_of(c, cu), below, a, line);
    return l ? l->bytes : below;
}

static const uint8_t *fetch_cu(struct caches *c, struct cu *cu,
                               const struct sim_alloc *a, uint8_t *line,
                               line_mask want)
{
    struct cache_line *l = sim_cache_find(&cu->lines, line);
    const uint8_t *below;

    if (l && !(want & ~l->valid))
        return l->bytes;
    below = fetch_array(c, cu, a, line, want);
    l = fill(&cu->lines, below, a, line);
    if (!l)
        return below;
    for (const struct cache_store *s = cu->oldest; s; s = s->next)
        if (s->at == line)
            sim_line_copy(l->bytes, s->bytes, s->mask);
    return l->bytes;
}

/* ---- stores ---- */

/* A store leaves its CU: caches that it passes have its bytes, too. */
static void pass(struct caches *c, struct cu *cu, const struct cache_store *s)
{
    struct cache_line *l = sim_cache_find(array_of(c, cu), s->at);

    if (l) {
        sim_line_copy(l->bytes, s->bytes, s->mask);
        l->valid |= s->mask;
    }
    if (is_apart(c, s->memory) && s->level != LEVEL_MEMORY &&
        (l = sim_cache_get(l2_of(c, cu), s->at))) {
        sim_line_copy(l->bytes, s->bytes, s->mask);
        l->valid |= s->mask;
        l->dirty |= s->mask;
        return;
    }
    l = sim_cache_find(l2_of(c, cu), s->at);
    if (l) {
        sim_line_copy(l->bytes, s->bytes, s->mask);
        l->valid |= s->mask;
        l->dirty &= ~s->mask;
    }
    sim_line_copy(s->at, s->bytes, s->mask);
}

/* Performs a store, behind older ones to the same bytes. */
static void perform(struct caches *c, struct cu *cu, struct cache_store *s)
{
    struct cache_store **p = &cu->oldest, *before = NULL;

    while (*p != s) {
        if ((*p)->at == s->at && (*p)->mask & s->mask) {
            perform(c, cu, *p);
            p = &cu->oldest;
            before = NULL;
            continue;
        }
        before = *p;
        p = &(*p)->next;
    }
    *p = s->next;
    if (cu->newest == s)
        cu->newest = before;
    cu->nstores--;
    pass(c, cu, s);
    free(s);
}

/* Performs the stores for which `rule` is true; `s` is the candidate. */
#define PERFORM_WHERE(c, cu, rule)                                             \
    for (struct cache_store *s = (cu)->oldest, *next; s; s = next) {           \
        next = s->next;                                                        \
        if (rule)                                                              \
            perform(c, cu, s);                                                 \
    }

static void perform_bytes(struct caches *c, struct cu *cu, const uint8_t *line,
                          line_mask bytes)
{
    PERFORM_WHERE(c, cu, s->at == line && s->mask & bytes)
}

void sim_caches_complete(struct caches *c, struct cu *cu, uint64_t wave,
                         uint64_t serial)
{
    PERFORM_WHERE(c, cu,
                  s->wave == wave && s->serial == serial &&
                      (s->level > LEVEL_CU || (s->waited = true, false)))
}

void sim_caches_complete_group(struct caches *c, struct cu *cu, uint64_t group)
{
    PERFORM_WHERE(c, cu, s->group == group)
}

void sim_caches_write_back(struct caches *c, struct cu *cu, uint64_t order,
                           enum cache_level level)
{
    PERFORM_WHERE(c, cu, s->order < order)
    if (level == LEVEL_MEMORY)
        sim_cache_write_back(l2_of(c, cu));
}

void sim_caches_perform_any(struct caches *c, struct cu *cu)
{
    struct cache_store *s = cu->oldest;

    if (!s)
        return;
    for (uint64_t k = next_random(c) % cu->nstores; k > 0; k--)
        s = s->next;
    perform(c, cu, s);
}

void sim_caches_perform_all(struct caches *c)
{
    for (unsigned d = 0; d < c->ndies; d++)
        for (unsigned k = 0; k < DIE_CUS; k++) {
            struct cu *cu = &c->die[d].cu[k];

            PERFORM_WHERE(c, cu, true)
        }
}

/* Before bytes change: waves elsewhere may have loaded the old ones. */
static void load_elsewhere(struct caches *c, const struct cu *cu,
                           const struct sim_alloc *a, uint8_t *line)
{
    const line_mask want = in_memory(a, line);

    for (unsigned d = 0; d < c->ndies; d++)
        for (unsigned k = 0; k < DIE_CUS; k++) {
            struct cu *other = &c->die[d].cu[k];

            if (other == cu || !other->nwaves || !sim_caches_late(c))
                continue;
            fetch_cu(c, other, a, line, want);
            fill(scalar_of(c, other), fetch_array(c, other, a, line, want), a,
                 line);
        }
}

static void write_line(struct caches *c, struct cu *cu,
                       const struct cache_store *as, const struct sim_alloc *a,
                       uint8_t *line, unsigned first, unsigned n,
                       const uint8_t *from)
{
    const line_mask mask = line_bytes(first, n);
    struct cache_line *l = sim_cache_find(&cu->lines, line);
    struct cache_store *s = cu->newest;

    if (!s || s->at != line || s->wave != as->wave || s->serial != as->serial) {
        perform_bytes(c, cu, line, mask);
        load_elsewhere(c, cu, a, line);
        if (cu->nstores >= STORES_MOST)
            perform(c, cu, cu->oldest);
        s = calloc(1, sizeof(*s));
        if (!s)
            return;
        *s = *as;
        s->at = line;
        s->memory = a;
        s->order = c->order++;
        if (cu->oldest)
            cu->newest->next = s;
        else
            cu->oldest = s;
        cu->newest = s;
        cu->nstores++;
    }
    memcpy(s->bytes + first, from, n);
    s->mask |= mask;
    if (l) {
        memcpy(l->bytes + first, from, n);
        l->valid |= mask;
    }
}

/* ---- accesses ---- */

/* Runs a statement for the part of [at, at + n) in each line: `line`, the
 * part's first byte in it, its size `part`, and `done` bytes before. */
#define EACH_LINE(at, n, ...)                                                  \
    for (unsigned done = 0, part; done < (n); done += part) {                  \
        uint8_t *const line = line_of((at) + done);                            \
        const unsigned first = (unsigned)((at) + done - line);                 \
                                                                               \
        part = LINE_NBYTES - first;                                            \
        part = part > (n)-done ? (n)-done : part;                              \
        __VA_ARGS__;                                                           \
    }

static void read_line(struct caches *c, struct cu *cu,
                      const struct sim_alloc *a, uint8_t *line, unsigned first,
                      unsigned n, enum cache_level level, uint8_t *to)
{
    const line_mask want = line_bytes(first, n);
    const uint8_t *bytes = line;
    struct cache_line *l;

    if (level > LEVEL_CU)
        perform_bytes(c, cu, line, want);
    switch (level) {
    case LEVEL_CU:
        bytes = fetch_cu(c, cu, a, line, want);
        break;
    case LEVEL_ARRAY:
        bytes = fetch_array(c, cu, a, line, want);
        break;
    case LEVEL_L2:
        bytes = fetch_l2(c, cu, a, line);
        break;
    case LEVEL_MEMORY:
        l = sim_cache_find(l2_of(c, cu), line);
        if (l)
            sim_line_write_back(l, want);
        break;
    }
    memcpy(to, bytes + first, n);
}

void sim_caches_read(struct caches *c, struct cu *cu, const struct sim_alloc *a,
                     uint8_t *at, unsigned n, enum cache_level level,
                     uint8_t *to)
{
    EACH_LINE(at, n, read_line(c, cu, a, line, first, part, level, to + done))
}

static void read_scalar_line(struct caches *c, struct cu *cu,
                             const struct sim_alloc *a, uint8_t *line,
                             unsigned first, unsigned n, uint8_t *to)
{
    const line_mask want = line_bytes(first, n);
    const struct cache_line *l = sim_cache_find(scalar_of(c, cu), line);
    const uint8_t *bytes;

    if (l && !(want & ~l->valid)) {
        bytes = l->bytes;
    } else {
        bytes = fetch_array(c, cu, a, line, want);
        l = fill(scalar_of(c, cu), bytes, a, line);
        bytes = l ? l->bytes : bytes;
    }
    memcpy(to, bytes + first, n);
}

void sim_caches_read_scalar(struct caches *c, struct cu *cu,
                            const struct sim_alloc *a, uint8_t *at, unsigned n,
                            uint8_t *to)
{
    EACH_LINE(at, n, read_scalar_line(c, cu, a, line, first, part, to + done))
}

void sim_caches_write(struct caches *c, struct cu *cu,
                      const struct cache_store *as, const struct sim_alloc *a,
                      uint8_t *at, unsigned n, const uint8_t *from)
{
    EACH_LINE(at, n, write_line(c, cu, as, a, line, first, part, from + done))
}

static void forget(struct cache *cache, const uint8_t *line, line_mask bytes)
{
    struct cache_line *l = sim_cache_find(cache, line);

    if (l) {
        sim_line_write_back(l, bytes);
        l->valid &= ~bytes;
    }
}

void sim_caches_open(struct caches *c, struct cu *cu, uint8_t *at, unsigned n)
{
    EACH_LINE(at, n, {
        const line_mask bytes = line_bytes(first, part);

        perform_bytes(c, cu, line, bytes);
        forget(l2_of(c, cu), line, bytes);
        forget(array_of(c, cu), line, bytes);
        forget(&cu->lines, line, bytes);
    })
}

void sim_caches_expose(struct caches *c, const struct cu *cu,
                       const struct sim_alloc *a, uint8_t *at, unsigned n)
{
    EACH_LINE(at, n, {
        (void)first;
        load_elsewhere(c, cu, a, line);
    })
}

/* ---- invalidations ---- */

void sim_caches_invalidate(struct caches *c, struct cu *cu, unsigned reach)
{
    if (reach & REACH_DROPS_L0 &&
        (!(reach & REACH_GROUP_ONLY) || c->run->target->major > 9 || c->splits))
        sim_cache_invalidate(&cu->lines);
    if (reach & REACH_DROPS_L1)
        sim_cache_invalidate(array_of(c, cu));
    if (reach & REACH_DROPS_L2)
        sim_cache_invalidate(l2_of(c, cu));
    if (reach & REACH_DROPS_SCALAR)
        sim_cache_invalidate(scalar_of(c, cu));
}

void sim_caches_evict_any(struct caches *c, struct cu *cu)
{
    sim_cache_evict(&cu->lines, next_random(c));
    sim_cache_evict(array_of(c, cu), next_random(c));
    sim_cache_evict(scalar_of(c, cu), next_random(c));
    sim_cache_evict(l2_of(c, cu), next_random(c));
}
