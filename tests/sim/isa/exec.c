/* exec.c - the wave loop */
#include "exec.h"
#include "decode.h"
#include "work.h"

#include <fenv.h>
#include <stdio.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- MODE ---- */

/*
 * The host's rounding and denormal treatment for one kind of operation. Host
 * and GPU agree by default; a kernel that changes MODE is rare, so the cost of
 * switching does not matter. Lanes compute with SSE, whose one register is
 * much cheaper to save than all of fenv.
 */
#if defined(__SSE2__)
typedef unsigned host_fp;

static host_fp save_host_fp(void)
{
    return _mm_getcsr();
}

static void restore_host_fp(host_fp saved)
{
    _mm_setcsr(saved);
}

static void set_host_fp(uint32_t mode, unsigned round_shift,
                        unsigned denorm_shift)
{
    enum { FLUSH_SOURCES = 0x0040, FLUSH_RESULTS = 0x8000 };
    static const unsigned rounding[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP,
                                        _MM_ROUND_DOWN, _MM_ROUND_TOWARD_ZERO};
    unsigned denorm = mode >> denorm_shift & 3;
    unsigned csr = _mm_getcsr();

    csr &= ~(unsigned)(FLUSH_SOURCES | FLUSH_RESULTS | _MM_ROUND_MASK);
    csr |= rounding[mode >> round_shift & 3];
    csr |= denorm & 1 ? 0 : FLUSH_SOURCES;
    csr |= denorm & 2 ? 0 : FLUSH_RESULTS;
    _mm_setcsr(csr);
}
#else
typedef int host_fp;

static host_fp save_host_fp(void)
{
    return fegetround();
}

static void restore_host_fp(host_fp saved)
{
    fesetround(saved);
}

static void set_host_fp(uint32_t mode, unsigned round_shift,
                        unsigned denorm_shift)
{
    static const int rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                   FE_TOWARDZERO};

    (void)denorm_shift;
    fesetround(rounding[mode >> round_shift & 3]);
}
#endif

/* Lets the host compute as an instruction of this rule does. */
static void obey(struct wave *w, enum fp_rule rule)
{
    static const uint32_t keeps_denormals = 3 << MODE_DENORM32;

    if (rule == FP_FIXED)
        set_host_fp(keeps_denormals, MODE_ROUND32, MODE_DENORM32);
    else if (rule == FP_OF_64)
        set_host_fp(w->mode, MODE_ROUND64, MODE_DENORM64);
    else
        set_host_fp(w->mode, MODE_ROUND32, MODE_DENORM32);
    w->fp_now = (uint8_t)rule;
}

void sim_wave_set_mode(struct wave *w, uint32_t mode)
{
    enum { FP_BITS = 0xff, FP_DEFAULT = 0xf0 };

    w->mode = mode;
    w->fp_default = (mode & FP_BITS) == FP_DEFAULT;
    w->flushes16 = (mode >> MODE_DENORM64 & 3) != 3;
    w->gpr_idx = w->target->major == 9 && (mode & MODE_GPR_IDX_EN);
    obey(w, FP_OF_32);
}

/* ---- the loop ---- */

/* The code that pc lies in; false, with a fault, if it lies in none. */
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

static void watch(struct wave *w, const struct insn *in)
{
    if (w->run->config.trace)
        trace(w);
    if (w->flight)
        sim_work_insn(w, in);
}

static void check_registers(struct wave *w, const struct insn *in)
{
    bool agpr = in->nagprs > w->nagprs;

    sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                    "%c%u is used but the kernel was given %u of them",
                    agpr ? 'a' : 'v', (agpr ? in->nagprs : in->nvgprs) - 1u,
                    agpr ? w->nagprs : w->nvgprs);
}

static void add_counts(struct wave *w, const uint64_t count[NUM_CLASSES])
{
    struct sim_stats *s = &w->group->stats;

    s->valu += count[CLASS_VALU];
    s->salu += count[CLASS_SALU];
    s->vmem += count[CLASS_VMEM];
    s->smem += count[CLASS_SMEM];
    s->lds += count[CLASS_LDS];
    s->branch += count[CLASS_BRANCH];
    s->matrix += count[CLASS_MATRIX];
    s->other += count[CLASS_OTHER];
    for (unsigned c = 0; c < NUM_CLASSES; c++) {
        s->insns += count[c];
        w->ninsns += count[c];
    }
}

static bool on_vector_unit(unsigned class)
{
    return class == CLASS_VALU || class == CLASS_VMEM || class == CLASS_LDS ||
           class == CLASS_MATRIX;
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
    in->run(w, &moved);
}

static void run_slice(struct wave *w, uint64_t quantum,
                      uint64_t count[NUM_CLASSES])
{
    const bool watched = w->run->config.trace || w->flight;
    const unsigned slots = w->nlanes == 32;
    uint64_t lane_insns = 0;

    while (quantum-- && w->state == WAVE_RUNS) {
        struct sim_code *code = w->code;
        uint64_t offset = w->pc - (code ? code->base : 0);
        const struct insn *in;

        if (!code || offset >= code->size || (offset & 3)) {
            if (!find_code(w))
                break;
            code = w->code;
            offset = w->pc - code->base;
        }
        in = atomic_load_explicit(&code->slot[slots][offset / 4],
                                  memory_order_acquire);
        w->insn_pc = w->pc;
        if (!in) {
            in = sim_decode(code, w->pc, w->nlanes);
            if (!in) {
                w->insn = NULL;
                sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, w->pc,
                                "the simulator has no memory to decode it");
                break;
            }
        }
        w->insn = in;
        w->pc += in->size;
        w->mask = wave_exec(w);
        count[in->class]++;
        if (on_vector_unit(in->class))
            lane_insns += (unsigned)__builtin_popcountll(w->mask);
        if (in->nvgprs > w->nvgprs || in->nagprs > w->nagprs) {
            check_registers(w, in);
            break;
        }
        if (watched)
            watch(w, in);
        if (!w->fp_default && in->fp && in->fp != w->fp_now)
            obey(w, (enum fp_rule)in->fp);
        if (w->gpr_idx &&
            (in->class == CLASS_VALU || in->class == CLASS_MATRIX))
            run_indexed(w, in);
        else
            in->run(w, in);
        if (w->absent)
            sim_barrier_check_absent(w, in);
    }
    w->group->stats.lane_insns += lane_insns;
}

void sim_wave_run(struct wave *w, uint64_t quantum)
{
    uint64_t count[NUM_CLASSES] = {0};
    host_fp host = save_host_fp();

    if (w->state == WAVE_YIELDS)
        w->state = WAVE_RUNS;
    obey(w, FP_OF_32);
    run_slice(w, quantum, count);
    restore_host_fp(host);
    add_counts(w, count);
    if (w->ninsns > w->run->config.max_insns && w->state == WAVE_RUNS)
        sim_fault_raise(w, SIM_FAULT_BUDGET, -1, 0,
                        "the wave has run %llu instructions without coming to "
                        "an end (KPK_SIM_MAX_INSNS)",
                        (unsigned long long)w->ninsns);
}
