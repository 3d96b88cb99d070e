/* exec.c - the wave loop */
#include "exec.h"

#include "../base/pageable.h"
#include "barrier.h"
#include "basic_block.h"
#include "code_cache.h"
#include "decode.h"
#include "disassemble.h"
#include "fault_report.h"
#include "late_lds.h"
#include "late_memory.h"
#include "mode.h"
#include "pending.h"
#include "work_count.h"

#include <stdio.h>

/* Finds the code at pc; false, with a fault, if there is none. */
static bool find_code(struct wave *w)
{
    const struct sim_alloc *a = sim_mem_find(w->pc);

    w->insn = NULL;
    w->insn_pc = w->pc;
    if (!a || a->freed || a->kind != SIM_MEM_CODE) {
        sim_fault_raise(w, SIM_FAULT_MEMORY, -1, w->pc,
                        "jumped to an address that holds no code");
        return false;
    }
    if (w->pc & 3) {
        sim_fault_raise(w, SIM_FAULT_MISALIGNED, -1, w->pc,
                        "jumped to an address that is not a multiple of 4");
        return false;
    }
    w->code = sim_code_of(a, w->target);
    if (!w->code) {
        sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, w->pc,
                        "the simulator has no memory to decode instructions");
        return false;
    }
    return true;
}

static void trace(struct wave *w)
{
    char text[256];

    sim_disassemble(w->code, w->insn_pc, w->nlanes, text, sizeof(text));
    fprintf(stderr, "%u,%u,%u wave %u +0x%04llx exec %016llx %s\n",
            w->group->id[0], w->group->id[1], w->group->id[2], w->index,
            (unsigned long long)(w->insn_pc - w->run->entry),
            (unsigned long long)wave_exec(w), text);
}

static void check_registers(struct wave *w, const struct insn *in)
{
    bool agpr = in->nagprs > w->nagprs;

    sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                    "%c%u is used but the kernel was given %u of them",
                    agpr ? 'a' : 'v', (agpr ? in->nagprs : in->nvgprs) - 1u,
                    agpr ? w->nagprs : w->nvgprs);
}

/* Instructions that a wave has run in one slice, by class. */
struct counts {
    uint64_t insns[NUM_CLASSES];
    uint64_t lane_insns;
};

static void add_counts(struct wave *w, const struct counts *c)
{
    const uint64_t *count = c->insns;
    struct sim_stats *s = &w->group->stats;

    s->valu += count[CLASS_VALU];
    s->salu += count[CLASS_SALU];
    s->vmem += count[CLASS_VMEM];
    s->smem += count[CLASS_SMEM];
    s->lds += count[CLASS_LDS];
    s->branch += count[CLASS_BRANCH];
    s->matrix += count[CLASS_MATRIX];
    s->other += count[CLASS_OTHER];
    for (unsigned k = 0; k < NUM_CLASSES; k++) {
        s->insns += count[k];
        w->ninsns += count[k];
    }
    s->lane_insns += c->lane_insns;
}

/*
 * gfx9's s_set_gpr_idx_on: M0[7:0] is added to the register numbers of those
 * vector operands that M0[15:12] names (source 0, 1, 2, destination). A
 * destination that is read as well (v_mac, parts of a register) moves as one.
 */
static void run_indexed(struct wave *w, const struct insn *in)
{
    struct insn moved = *in;
    unsigned first = sim_first_source(in);
    unsigned index = w->s[SREG_M0] & 0xff, mode = w->s[SREG_M0] >> 12 & 15;

    for (unsigned k = 0; k < in->nops; k++) {
        unsigned bit = k < first ? 3 : k - first;
        struct operand *o = &moved.op[k];
        bool agpr = o->kind == OPERAND_AGPR;
        unsigned given = agpr ? w->nagprs : w->nvgprs;

        if ((o->kind != OPERAND_VGPR && !agpr) || bit > 3 || !(mode >> bit & 1))
            continue;
        if (o->reg + index + (o->width ? o->width : 1u) > given) {
            sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                            "M0 leads from %c%u to %c%u, but the kernel was "
                            "given %u registers",
                            agpr ? 'a' : 'v', o->reg, agpr ? 'a' : 'v',
                            o->reg + index, given);
            return;
        }
        o->reg = (uint16_t)(o->reg + index);
    }
    wave_uses(w, w->nvgprs, w->nagprs);
    if (!w->pending || sim_pending_allows(w, &moved))
        in->run(w, &moved);
}

/* The code that pc lies in, an instruction's beginning; NULL, with a fault. */
static struct sim_code *code_at_pc(struct wave *w)
{
    const uint64_t offset = w->pc - (w->code ? w->code->base : 0);

    if (w->code && offset < w->code->size && !(offset & 3))
        return w->code;
    return find_code(w) ? w->code : NULL;
}

static void no_memory(struct wave *w)
{
    w->insn = NULL;
    w->insn_pc = w->pc;
    sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, w->pc,
                    "the simulator has no memory to decode it");
}

/* Whether s_setvskip skips it: vector, matrix, memory and LDS instructions. */
static bool is_vector(const struct insn *in)
{
    return in->row && strncmp(in->row->name, "s_", 2) != 0;
}

/* Runs one instruction with every check and counter. */
static void run_one(struct wave *w, struct counts *c)
{
    struct sim_code *code = code_at_pc(w);
    const struct insn *in;

    if (!code)
        return;
    in = sim_decode(code, w->pc, w->nlanes);
    if (!in) {
        no_memory(w);
        return;
    }
    w->insn = in;
    w->insn_pc = w->pc;
    w->pc += in->size;
    if (w->vskip && is_vector(in))
        return;
    w->mask = wave_exec(w);
    c->insns[in->class]++;
    if (sim_class_on_lanes(in->class))
        c->lane_insns += (unsigned)__builtin_popcountll(w->mask);
    if (in->nvgprs > w->nvgprs || in->nagprs > w->nagprs) {
        check_registers(w, in);
        return;
    }
    wave_uses(w, in->nvgprs, in->nagprs);
    if (w->run->config.trace)
        trace(w);
    if (w->flight)
        sim_work_insn(w, in);
    if (w->pending && !sim_pending_allows(w, in))
        return;
    if (!w->fp_default && in->fp && in->fp != w->fp_now)
        sim_mode_obey(w, (enum fp_rule)in->fp);
    if (w->memory && in->waits.returns)
        sim_memory_registers(w, in);
    if (w->gpr_idx && (in->class == CLASS_VALU || in->class == CLASS_MATRIX))
        run_indexed(w, in);
    else if (!w->late || !sim_late_takes(w, in))
        in->run(w, in);
    if (w->pending && w->state != WAVE_FAULTED)
        sim_pending_note(w, in);
    if (w->late && w->state != WAVE_FAULTED)
        sim_late_step(w);
    if (w->memory)
        sim_memory_step(w, in);
    if (w->absent)
        sim_barrier_check_absent(w, in);
}

/* ---- blocks ---- */

/* Nothing is to be done between the instructions of a block. */
static bool runs_blocks(const struct wave *w)
{
    return w->fp_default && !w->gpr_idx && !w->vskip && !w->absent &&
           !w->flight && !w->pending && !w->run->config.trace;
}

/* The block at pc, usually one that has followed `last` before. */
static const struct block *next_block(struct wave *w, const struct block *last)
{
    _Atomic(const struct block *) *link =
        last ? &((struct block *)last)->next[w->pc != last->end] : NULL;
    const struct block *b =
        link ? atomic_load_explicit(link, memory_order_acquire) : NULL;
    struct sim_code *const code = w->code;

    if (b && b->begin == w->pc)
        return b;
    if (!code_at_pc(w))
        return NULL;
    b = sim_block_at(w->code, w->pc, w->nlanes);
    if (!b)
        no_memory(w);
    else if (link && w->code == code) /* which live equally long */
        atomic_store_explicit(link, b, memory_order_release);
    return b;
}

static void count_until(struct wave *w, const struct block *b, struct counts *c)
{
    for (uint64_t pc = b->begin; pc <= w->insn_pc;) {
        const struct insn *in = sim_decode(w->code, pc, w->nlanes);

        c->insns[in->class]++;
        pc += in->size;
    }
}

/* Runs a whole block; returns the number of its instructions. */
static unsigned run_block(struct wave *w, const struct block *b,
                          struct counts *c)
{
    const struct step *const end = b->steps + b->nsteps;
    const struct step *s = b->steps;
    uint64_t lane_insns = 0;

    w->pc = b->end;
    for (; s < end; s++) {
        if (s->quiet) {
            s->run(w, s->in);
            continue;
        }
        w->insn = s->in;
        w->insn_pc = b->begin + s->offset;
        if (s->on_lanes) {
            w->mask = wave_exec(w);
            lane_insns += (unsigned)__builtin_popcountll(w->mask);
        }
        s->run(w, s->in);
        if (w->state != WAVE_RUNS)
            break;
    }
    if (s == end && s > b->steps) { /* for a fault between two blocks */
        w->insn = s[-1].in;
        w->insn_pc = b->begin + s[-1].offset;
    }
    c->lane_insns += lane_insns;
    if (w->state == WAVE_FAULTED)
        count_until(w, b, c);
    else
        for (unsigned k = 0; k < NUM_CLASSES; k++)
            c->insns[k] += b->count[k];
    return b->ninsns;
}

/* Most blocks name none that the wave has not used already. */
static bool has_registers(struct wave *w, const struct block *b)
{
    if (b->nvgprs <= w->used_vgprs && b->nagprs <= w->used_agprs)
        return true;
    if (b->nvgprs > w->nvgprs || b->nagprs > w->nagprs)
        return false;
    wave_uses(w, b->nvgprs, b->nagprs);
    return true;
}

static void run_slice(struct wave *w, uint64_t quantum, struct counts *c)
{
    const struct block *last = NULL;
    uint64_t n = 0;

    while (n < quantum && w->state == WAVE_RUNS) {
        const struct block *b = runs_blocks(w) ? next_block(w, last) : NULL;

        if (b && b->ninsns <= quantum - n && has_registers(w, b)) {
            n += run_block(w, b, c);
            last = b;
        } else if (b && n && b->ninsns <= quantum) {
            return; /* the next slice has room for it */
        } else if (w->state == WAVE_RUNS) {
            run_one(w, c);
            n++;
            last = NULL;
        }
    }
}

/* The same if a kernel may access memory that the program frees meanwhile. */
static void run_guarded_slice(struct wave *w, uint64_t quantum,
                              struct counts *c)
{
    struct sim_landing landing = {.list = &w->run->pageable};

    if (sigsetjmp(landing.env, 0) == 0) {
        sim_pageable_guard(&landing);
        run_slice(w, quantum, c);
        sim_pageable_guard(NULL);
    } else {
        sim_fault_raise(w, SIM_FAULT_MEMORY, -1, landing.addr,
                        "touches 0x%llx, memory of the program that was "
                        "unmapped, or closed to it, while the kernel ran",
                        (unsigned long long)landing.addr);
    }
}

void sim_wave_run(struct wave *w, uint64_t quantum)
{
    enum { WAITS = 64 };
    struct counts count = {0};
    const unsigned host = sim_host_fp();

    if (w->state == WAVE_YIELDS) {
        w->state = WAVE_RUNS;
        w->nclocks = 0;
    }
    sim_mode_obey(w, FP_OF_32);
    if (w->run->dispatch->device->xnack == SIM_FEATURE_ON)
        run_guarded_slice(w, quantum, &count);
    else
        run_slice(w, quantum, &count);
    sim_host_fp_restore(host);
    add_counts(w, &count);
    if (w->ninsns > w->run->config.max_insns && w->state == WAVE_RUNS)
        sim_fault_raise(w, SIM_FAULT_BUDGET, -1, 0,
                        "the wave has run %llu instructions without coming to "
                        "an end (KPK_SIM_MAX_INSNS)",
                        (unsigned long long)w->ninsns);
    /* A wave that reads the clock repeatedly is waiting, so other waves run
     * meanwhile. */
    if (w->nclocks > WAITS && w->state == WAVE_RUNS)
        w->state = WAVE_YIELDS;
}
