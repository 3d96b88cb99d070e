/* late_memory.c - memory operations of a wave that are performed later */
#include "late_memory.h"

#include "scope_rules.h"

#include <stddef.h>

/* ---- performing ---- */

static void unlink_op(struct memory_op *op)
{
    *op->link = op->next;
    if (op->next)
        op->next->link = op->link;
    op->w->memory->nops--;
    op->perform = NULL;
}

static void perform(struct memory_op *op)
{
    struct wave *w = op->w;
    const struct insn *in = w->insn;
    const uint64_t pc = w->insn_pc, mask = w->mask;
    const uint64_t serial = w->memory->serial;
    memory_op_fn *const fn = op->perform;

    unlink_op(op);
    w->insn = op->insn;
    w->insn_pc = op->pc;
    w->mask = op->mask;
    w->memory->serial = op->serial;
    fn(w, op);
    w->memory->serial = serial;
    w->insn = in;
    w->insn_pc = pc;
    w->mask = mask;
}

/* Performs one of the wave's operations, chosen at random. */
static void perform_any(struct wave *w)
{
    struct late_memory *m = w->memory;
    unsigned n = 0;

    if (m->nops == 0)
        return;
    for (unsigned k = 0; k < MEMORY_OPS; k++)
        if (m->op[k].perform) {
            n++;
            if (sim_caches_chance(w->run->caches, m->nops) || n == m->nops) {
                perform(&m->op[k]);
                return;
            }
        }
}

/* ---- order ---- */

static bool touches(const struct memory_op *op, const uint8_t *at, unsigned n)
{
    if (op->end <= at || op->lowest >= at + n)
        return false;
    for (uint64_t m = op->lanes; m; m &= m - 1) {
        const uint8_t *its = op->at[__builtin_ctzll(m)];

        if (its < at + n && its + op->form.nbytes > at)
            return true;
    }
    return false;
}

void sim_memory_order(struct wave *w, const uint8_t *at, unsigned n,
                      bool writes)
{
    for (struct memory_op *op = w->memory->cu->ops, *next; op; op = next) {
        next = op->next;
        if ((op->w == w || writes || op->writes) && touches(op, at, n))
            perform(op);
    }
}

void sim_memory_open(struct wave *w, const struct sim_alloc *a, uint8_t *at,
                     unsigned n, bool writes)
{
    struct caches *c = w->run->caches;
    struct cu *cu = w->memory->cu;

    sim_memory_order(w, at, n, writes);
    if (writes)
        sim_caches_expose(c, cu, a, at, n);
    sim_caches_open(c, cu, at, n);
}

void sim_memory_store(struct wave *w, const struct sim_alloc *a, uint8_t *at,
                      unsigned n, const uint8_t *from)
{
    struct caches *c = w->run->caches;
    const struct cache_store store = {.wave = w->memory->id,
                                      .serial = w->memory->serial,
                                      .group = w->group->index,
                                      .level =
                                          (uint8_t)sim_store_level(c, w->insn)};

    sim_memory_order(w, at, n, true);
    sim_caches_write(c, w->memory->cu, &store, a, at, n, from);
}

static bool overlap(const struct operand *a, const struct operand *b)
{
    const unsigned na = a->width ? a->width : 1, nb = b->width ? b->width : 1;

    return a->kind == b->kind && a->reg < b->reg + nb && b->reg < a->reg + na;
}

void sim_memory_registers(struct wave *w, const struct insn *in)
{
    struct late_memory *m = w->memory;

    for (unsigned k = 0; m->nops && k < MEMORY_OPS; k++)
        if (m->op[k].perform && m->op[k].returns &&
            overlap(&m->op[k].dst, &in->op[0]))
            perform(&m->op[k]);
}

/* ---- keeping ---- */

void sim_memory_begin(struct wave *w)
{
    struct late_memory *m = w->memory;
    struct caches *c = w->run->caches;

    memset(m, 0, offsetof(struct late_memory, op));
    for (unsigned k = 0; k < MEMORY_OPS; k++)
        m->op[k].perform = NULL;
    m->cu = sim_caches_cu(c, w->group->index, w->index);
    m->cu->nwaves++;
    m->id = ++c->waves;
    m->serial = 1;
}

void sim_memory_keep(struct wave *w, const struct memory_op *op)
{
    struct late_memory *m = w->memory;
    struct memory_op *slot = m->op;

    for (uint64_t l = op->lanes; l; l &= l - 1)
        sim_memory_order(w, op->at[__builtin_ctzll(l)], op->form.nbytes,
                         op->writes);
    if (m->nops == MEMORY_OPS)
        perform_any(w);
    while (slot->perform)
        slot++;
    *slot = *op;
    slot->w = w;
    slot->insn = w->insn;
    slot->pc = w->insn_pc;
    slot->mask = w->mask;
    slot->serial = m->serial;
    slot->next = m->cu->ops;
    slot->link = &m->cu->ops;
    if (slot->next)
        slot->next->link = &slot->next;
    m->cu->ops = slot;
    m->nops++;
}

/* ---- waits, write-backs, invalidations ---- */

/* Stalls the wave for some turns, so that other waves run between an operation
 * and the next instruction. */
static void stall(struct wave *w)
{
    enum { LONGEST = 7 }; /* as a power of two */
    struct caches *c = w->run->caches;

    w->state = WAVE_YIELDS;
    w->memory->stalled = c->turns + (1u << sim_caches_random(c, LONGEST));
}

bool sim_memory_lingers(struct wave *w)
{
    if (!w->run->config.weak || sim_caches_chance(w->run->caches, 2))
        return false;
    w->pc = w->insn_pc;
    stall(w);
    return true;
}

void sim_memory_perform(struct wave *w, uint64_t serial)
{
    struct late_memory *m = w->memory;

    for (unsigned k = 0; m->nops && k < MEMORY_OPS; k++)
        if (m->op[k].perform && m->op[k].serial == serial)
            perform(&m->op[k]);
}

void sim_memory_complete(struct wave *w, uint64_t serial)
{
    sim_memory_perform(w, serial);
    sim_caches_complete(w->run->caches, w->memory->cu, w->memory->id, serial);
}

void sim_memory_waited(struct wave *w)
{
    if (w->run->caches->in_order)
        sim_caches_complete_group(w->run->caches, w->memory->cu,
                                  w->group->index);
}

static void write_back(struct wave *w, const struct memory_op *op)
{
    struct caches *c = w->run->caches;

    sim_caches_write_back(c, w->memory->cu, op->order,
                          op->insn->reach & REACH_SYSTEM ? LEVEL_MEMORY
                                                         : c->device);
}

/* Performs an instruction's write-backs and invalidations. One with too small a
 * scope is recorded for the report. */
static void control(struct wave *w, const struct insn *in)
{
    struct caches *c = w->run->caches;
    struct cu *cu = w->memory->cu;
    const unsigned drops = REACH_DROPS_L0 | REACH_DROPS_L1;
    const enum narrow narrow = in->reach & REACH_NARROW_WRITE_BACK
                                   ? NARROW_WRITE_BACK
                                   : NARROW_INVALIDATION;

    if (in->reach & REACH_WRITES_BACK)
        sim_memory_keep(
            w, &(struct memory_op){.perform = write_back, .order = c->order});
    if (in->reach & (drops | REACH_DROPS_L2 | REACH_DROPS_SCALAR))
        sim_caches_invalidate(c, cu, in->reach);
    if (in->reach & (REACH_NARROW_WRITE_BACK | REACH_NARROW_INVALIDATION)) {
        cu->narrow[narrow] = in->row->name;
        cu->narrow_pc[narrow] = w->insn_pc - w->run->entry;
    }
}

/* ---- time ---- */

/* At the end of a wave, drops its operations that are not atomics. */
static void forget(struct wave *w)
{
    for (unsigned k = 0; w->memory->nops && k < MEMORY_OPS; k++)
        if (w->memory->op[k].perform && !w->memory->op[k].writes)
            unlink_op(&w->memory->op[k]);
}

void sim_memory_end(struct wave *w)
{
    struct late_memory *m = w->memory;

    if (!m->cu)
        return;
    forget(w);
    for (unsigned k = 0; m->nops && k < MEMORY_OPS; k++)
        if (m->op[k].perform)
            perform(&m->op[k]);
    m->cu->nwaves--;
    m->cu = NULL;
}

void sim_memory_step(struct wave *w, const struct insn *in)
{
    struct late_memory *m = w->memory;
    struct caches *c = w->run->caches;

    if (in->row && in->reach)
        control(w, in);
    m->serial++;
    if (w->state == WAVE_ENDED || w->state == WAVE_FAULTED) {
        forget(w);
        return;
    }
    if (in->class == CLASS_VMEM && w->state == WAVE_RUNS &&
        c->run->config.weak && sim_caches_chance(c, 4))
        stall(w);
    if (m->nops && sim_caches_step(c))
        perform_any(w);
    if (m->cu->oldest && sim_caches_step(c))
        sim_caches_perform_any(c, m->cu);
    if (sim_caches_step(c) && sim_caches_chance(c, 16))
        sim_caches_evict_any(c, m->cu);
}

/* Stores of waves that have ended go on, and nothing stays for ever. */
void sim_memory_turn(struct caches *c)
{
    enum { TURNS_MOST = 1024 };
    const bool all = ++c->turns % TURNS_MOST == 0;

    for (unsigned k = 0; k < c->ndies * DIE_CUS; k++) {
        struct cu *cu = &c->die[k / DIE_CUS].cu[k % DIE_CUS];

        while (all && cu->ops)
            perform(cu->ops);
        if (cu->ops && sim_caches_step(c) && sim_caches_chance(c, 4))
            perform_any(cu->ops->w);
        if (cu->oldest && sim_caches_step(c) && sim_caches_chance(c, 4))
            sim_caches_perform_any(c, cu);
        if (all)
            sim_caches_evict_any(c, cu);
    }
    if (all)
        sim_caches_perform_all(c);
}
