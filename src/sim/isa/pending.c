/* pending.c - memory operations of a wave that a wait has not completed yet */
#include "pending.h"

#include "fault_report.h"
#include "late_lds.h"
#include "late_memory.h"
#include "race_order.h"

#include <stdio.h>

/* A run of registers of one file. */
struct registers {
    uint8_t file; /* enum operand_kind */
    uint16_t first, n;
};

static struct registers registers_of(const struct operand *o)
{
    return (struct registers){o->kind, o->reg, o->width ? o->width : 1};
}

/* The lanes of a register that are poison; of a scalar one all or none. */
static uint64_t *poison_of(struct pending *p, unsigned file, unsigned reg)
{
    return file == OPERAND_SGPR   ? &p->s[reg]
           : file == OPERAND_AGPR ? &p->a[reg]
                                  : &p->v[reg];
}

/* Whether an operation under way will write a register. */
static bool covers(const struct pending_op *op, unsigned file, unsigned reg)
{
    struct registers r;

    if (!op->counters || !op->returns)
        return false;
    r = registers_of(&op->insn->op[0]);
    return r.file == file && reg >= r.first && reg < (unsigned)r.first + r.n;
}

/* ---- poison ---- */

/* Sets a register's poison to the lanes that pending operations will write. */
static void set_poison(struct pending *p, unsigned file, unsigned reg)
{
    uint64_t lanes = 0;

    for (unsigned k = 0; p->overlaps && k < PENDING_OPS; k++)
        if (covers(&p->op[k], file, reg))
            lanes |= p->op[k].lanes;
    *poison_of(p, file, reg) = lanes;
}

/* Marks the registers that an operation will write as poison. */
static void poison(struct pending *p, const struct pending_op *op)
{
    const struct registers r = registers_of(&op->insn->op[0]);

    for (unsigned k = 0; k < r.n; k++) {
        uint64_t *lanes = poison_of(p, r.file, r.first + k);

        p->overlaps |= *lanes != 0;
        *lanes |= op->lanes;
    }
}

static void cure(struct pending *p, const struct pending_op *op)
{
    const struct registers r = registers_of(&op->insn->op[0]);

    p->overlaps &= p->nreturns > 0;
    for (unsigned k = 0; k < r.n; k++)
        set_poison(p, r.file, r.first + k);
}

/* Whether an operand is a register that a load may write. SREG_NULL is none. */
static bool is_register(const struct operand *o)
{
    return o->kind == OPERAND_VGPR || o->kind == OPERAND_AGPR ||
           (o->kind == OPERAND_SGPR && o->reg != SREG_NULL);
}

/* ---- the report ---- */

static const char *counter_name(const struct wave *w, enum counter c)
{
    static const char *const gfx12[NUM_COUNTERS] = {
        "",       "loadcnt", "storecnt", "samplecnt",
        "bvhcnt", "dscnt",   "kmcnt",    "asynccnt"};
    static const char *const before[NUM_COUNTERS] = {
        "", "vmcnt", "vscnt", "vmcnt", "vmcnt", "lgkmcnt", "lgkmcnt", ""};

    return w->target->major >= 12 ? gfx12[c] : before[c];
}

static enum issue_order order_of(const struct pending *p, enum counter c,
                                 unsigned at)
{
    const struct waits *waits = &p->op[p->queue[c][at]].insn->waits;

    return (enum issue_order)waits->order[waits->counter[0] != c];
}

/* The largest N of a wait that completes a counter's operation. N are under way
 * then, so at most N of its kind, and a kind completes in order. */
static unsigned wait_for(const struct pending *p, enum counter c, unsigned at)
{
    const enum issue_order order = order_of(p, c, at);
    unsigned newer = 0;

    for (unsigned k = at + 1; order != ORDER_NONE && k < p->nqueue[c]; k++)
        newer += order_of(p, c, k) == order;
    return newer;
}

static unsigned place_of(const struct pending *p, enum counter c, unsigned slot)
{
    unsigned at = 0;

    while (p->queue[c][at] != slot)
        at++;
    return at;
}

/* "s_waitcnt vmcnt(1) lgkmcnt(0)", or gfx12's "s_wait_loadcnt 0x1". */
static void missing_wait(const struct wave *w, unsigned slot, char text[80])
{
    const struct pending_op *op = &w->pending->op[slot];
    const bool gfx12 = w->target->major >= 12;
    int n = snprintf(text, 80, "%s", gfx12 ? "" : "s_waitcnt");

    for (unsigned k = 0; k < 2; k++) {
        const enum counter c = (enum counter)op->insn->waits.counter[k];

        if (c == COUNTER_NONE || !(op->counters >> k & 1))
            continue;
        n += snprintf(text + n, 80 - (size_t)n,
                      gfx12 ? "%ss_wait_%s 0x%x" : "%s%s(%u)",
                      gfx12 && n == 0 ? ""
                      : gfx12         ? ", "
                                      : " ",
                      counter_name(w, c),
                      wait_for(w->pending, c, place_of(w->pending, c, slot)));
    }
}

static void report(struct wave *w, unsigned slot, struct registers r, int lane,
                   bool writes)
{
    const struct pending_op *op = &w->pending->op[slot];
    const char file = r.file == OPERAND_VGPR   ? 'v'
                      : r.file == OPERAND_AGPR ? 'a'
                                               : 's';
    char wait[80], name[16];

    missing_wait(w, slot, wait);
    snprintf(name, sizeof(name), "%c%u", file, r.first);
    if (file == 's' && r.first >= SREG_TTMP)
        snprintf(name, sizeof(name), "ttmp%u", r.first - SREG_TTMP);
    else if (file == 's' && r.first >= SREG_VCC)
        snprintf(name, sizeof(name), "vcc");
    sim_fault_raise(w, SIM_FAULT_UNWAITED, lane, 0,
                    "%s %s, which %s at +0x%llx may not have brought: '%s' is "
                    "missing",
                    writes ? "writes" : "reads", name, op->insn->row->name,
                    (unsigned long long)(op->pc - w->run->entry), wait);
}

/* ---- the check ---- */

/* Loads of one type write their registers in order, except on gfx12. */
static bool follows_in_order(const struct wave *w, const struct insn *in,
                             const struct pending_op *op)
{
    return w->target->major < 12 && in->waits.returns && in->waits.type &&
           in->waits.type == op->insn->waits.type;
}

static bool allows_register(struct wave *w, const struct insn *in,
                            unsigned file, unsigned reg, uint64_t lanes,
                            bool writes)
{
    struct pending *p = w->pending;
    const bool scalar = file == OPERAND_SGPR;

    if (!(*poison_of(p, file, reg) & lanes))
        return true;
    for (unsigned k = 0; k < PENDING_OPS; k++) {
        const struct pending_op *op = &p->op[k];

        if (!covers(op, file, reg) || !(op->lanes & lanes) ||
            (writes && follows_in_order(w, in, op)))
            continue;
        report(w, k, (struct registers){(uint8_t)file, (uint16_t)reg, 1},
               scalar ? -1 : __builtin_ctzll(op->lanes & lanes), writes);
        return false;
    }
    return true;
}

static bool allows_operands(struct wave *w, const struct insn *in)
{
    const uint64_t lanes = in->waits.all_lanes ? w->full : w->mask;
    const unsigned first = in->waits.first_read;

    for (unsigned k = 0; k < in->nops; k++) {
        const struct registers r = registers_of(&in->op[k]);

        for (unsigned i = 0; is_register(&in->op[k]) && i < r.n; i++)
            if (!allows_register(w, in, r.file, r.first + i,
                                 r.file == OPERAND_SGPR ? w->full : lanes,
                                 k < first))
                return false;
    }
    for (unsigned k = 0; k < in->naddress; k++)
        if (!allows_register(w, in, OPERAND_VGPR, in->address[k], lanes, false))
            return false;
    return true;
}

static bool allows_vcc(struct wave *w, const struct insn *in)
{
    for (unsigned k = 0; k < w->nlanes / 32; k++)
        if (!allows_register(w, in, OPERAND_SGPR, SREG_VCC + k, w->full, false))
            return false;
    return true;
}

bool sim_pending_allows(struct wave *w, const struct insn *in)
{
    if (w->pending->nreturns == 0 || !in->row)
        return true;
    return (!in->waits.reads_vcc || allows_vcc(w, in)) &&
           allows_operands(w, in) &&
           (!in->pair || allows_operands(w, in->pair));
}

/* ---- operations come and go ---- */

static void complete(struct wave *w, enum counter c, unsigned at)
{
    struct pending *p = w->pending;
    struct pending_op *op = &p->op[p->queue[c][at]];
    const bool second = op->insn->waits.counter[0] != c;

    memmove(&p->queue[c][at], &p->queue[c][at + 1],
            (p->nqueue[c] - at - 1u) * sizeof(p->queue[c][0]));
    p->nqueue[c]--;
    op->counters &= (uint8_t) ~(1u << second);
    if (op->counters)
        return;
    if (op->late && op->insn->waits.lds == LDS_MOVED)
        sim_late_move(w, op->late);
    else if (op->late)
        sim_late_perform(w, op->late);
    if (w->memory)
        sim_memory_complete(w, op->memory);
    if (w->run->races)
        sim_order_complete(w, op->insn, &op->times);
    if (!op->returns)
        return;
    p->nreturns--;
    cure(p, op);
}

static void trace_wait(const struct wave *w, enum counter c, unsigned at)
{
    const struct pending_op *op = &w->pending->op[w->pending->queue[c][at]];
    const uint32_t *id = w->group->id;

    fprintf(stderr, "%s %u,%u,%u wave %u +0x%04llx waits for +0x%04llx %s\n",
            w->run->dispatch->kernel_name, id[0], id[1], id[2], w->index,
            (unsigned long long)(w->insn_pc - w->run->entry),
            (unsigned long long)(op->pc - w->run->entry), op->insn->row->name);
}

/* Completes all that must be done when a counter is `most` or less. */
static void run_down(struct wave *w, enum counter c, unsigned most, bool traced)
{
    const struct pending *p = w->pending;

    if (p->nqueue[c] <= most)
        return;
    for (unsigned at = 0; at < p->nqueue[c];)
        if (wait_for(p, c, at) >= most) {
            if (traced)
                trace_wait(w, c, at);
            complete(w, c, at);
        } else {
            at++;
        }
}

/* Operations that a wait completes may be performed in another order. */
static void perform_what_completes(struct wave *w, const struct waits *waits)
{
    const struct pending *p = w->pending;

    for (unsigned c = COUNTER_LOAD; c < NUM_COUNTERS; c++)
        for (unsigned at = 0; waits->most[c] != NO_WAIT && at < p->nqueue[c];
             at++)
            if (wait_for(p, (enum counter)c, at) >= waits->most[c])
                sim_memory_perform(w, p->op[p->queue[c][at]].memory);
}

/* Whether a wait completes an operation. */
static bool completes(const struct pending *p, const struct waits *waits)
{
    bool any = false;

    for (unsigned c = COUNTER_LOAD; c < NUM_COUNTERS; c++)
        any |= waits->most[c] != NO_WAIT && p->nqueue[c] > waits->most[c];
    return any;
}

static void run_wait(struct wave *w, const struct waits *waits)
{
    if (w->memory && completes(w->pending, waits) && sim_memory_lingers(w))
        return;
    if (w->memory && sim_caches_late(w->run->caches))
        perform_what_completes(w, waits);
    for (unsigned c = COUNTER_LOAD; c < NUM_COUNTERS; c++)
        if (waits->most[c] != NO_WAIT)
            run_down(w, (enum counter)c, waits->most[c],
                     w->run->config.trace_waits);
    if (w->memory && waits->most[COUNTER_LOAD] == 0)
        sim_memory_waited(w);
}

static unsigned free_slot(struct pending *p)
{
    unsigned k = p->newest;

    do
        k = (k + 1) % PENDING_OPS;
    while (p->op[k].counters);
    p->newest = k;
    return k;
}

/* A card issues nothing that a full counter cannot count. */
static void make_room(struct wave *w, enum counter c, unsigned holds)
{
    run_down(w, c, holds - 1, false);
    while (w->pending->nqueue[c] == PENDING_MOST)
        complete(w, c, 0);
}

static void issue(struct wave *w, const struct insn *in)
{
    struct pending *p = w->pending;
    unsigned slot;
    struct pending_op *op;

    for (unsigned k = 0; k < 2; k++)
        if (in->waits.counter[k] != COUNTER_NONE)
            make_room(w, (enum counter)in->waits.counter[k],
                      in->waits.holds[k]);
    slot = free_slot(p);
    op = &p->op[slot];
    *op = (struct pending_op){.insn = in, .pc = w->insn_pc, .lanes = w->mask};
    op->returns = in->waits.returns && is_register(&in->op[0]) &&
                  w->run->config.weak != 1;
    if (w->late && in->waits.lds == LDS_MOVED)
        op->late = w->late->moves;
    else if (w->late && in->waits.lds != LDS_NOT)
        op->late = w->late->issued;
    if (w->memory)
        op->memory = w->memory->serial;
    if (w->run->races)
        op->times = sim_order_issue(w);
    if (in->op[0].kind == OPERAND_SGPR)
        op->lanes = w->full;
    for (unsigned k = 0; k < 2; k++) {
        const unsigned c = in->waits.counter[k];

        if (c == COUNTER_NONE)
            continue;
        p->queue[c][p->nqueue[c]++] = (uint16_t)slot;
        op->counters |= (uint8_t)(1u << k);
    }
    p->nreturns += op->returns;
    if (op->returns)
        poison(p, op);
}

/* The group's clock at the issue of the oldest one; 0 if none is under way. */
static uint32_t oldest(const struct pending *p)
{
    uint32_t clock = 0;

    for (unsigned c = COUNTER_LOAD; c < NUM_COUNTERS; c++)
        for (unsigned k = 0; k < p->nqueue[c]; k++) {
            const uint32_t its = p->op[p->queue[c][k]].times.clock;

            clock = !clock || its < clock ? its : clock;
        }
    return clock;
}

void sim_pending_note(struct wave *w, const struct insn *in)
{
    if (w->run->races)
        sim_order_drop(w, in);
    if (in->waits.is_wait)
        run_wait(w, &in->waits);
    else if (in->waits.counter[0] != COUNTER_NONE)
        issue(w, in);
    else
        return;
    if (w->run->races)
        w->order.oldest = oldest(w->pending);
}
