/* wave.h - the state of a running wave, its workgroup and its dispatch */
#ifndef SIM_ISA_WAVE_H
#define SIM_ISA_WAVE_H

#include "../base/allocation.h"
#include "../base/config.h"
#include "../base/counters.h"
#include "../base/dispatch_packet.h"
#include "../base/kernel_fault.h"
#include "insn.h"
#include "race_clocks.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_LANES = 64 };

/* One vector register: a 32-bit value per lane. */
typedef uint32_t vreg[MAX_LANES] __attribute__((aligned(64)));

/* The windows of the flat address space that lead to LDS and to scratch. */
#define SHARED_BASE UINT64_C(0x0001000000000000)
#define PRIVATE_BASE UINT64_C(0x0002000000000000)
/* The address of scratch on targets whose kernels compute it: each wave of a
 * workgroup has its own part. The range is unmapped on the host. */
#define SCRATCH_BASE UINT64_C(0x00003f0000000000)

enum wave_state {
    WAVE_RUNS,
    WAVE_YIELDS,     /* gives way to others (s_sleep), then runs on */
    WAVE_AT_BARRIER, /* waits for the workgroup */
    WAVE_ENDED,
    WAVE_FAULTED
};

/* Bits of MODE that the interpreter obeys (6.8 of the ABI facts). */
enum {
    MODE_ROUND32 = 0, /* shift of two bits */
    MODE_ROUND64 = 2,
    MODE_DENORM32 = 4,
    MODE_DENORM64 = 6,
    MODE_DX10_CLAMP = 1 << 8,
    MODE_IEEE = 1 << 9,
    MODE_FP16_OVFL = 1 << 23,
    MODE_GPR_IDX_EN = 1 << 27, /* gfx9 */
    MODE_VSKIP = 1 << 28       /* gfx9 */
};

/* A wave's loads in flight, counted for bounds (work_count.c). */
struct flight;
/* Its memory operations under way, see pending.h. */
struct pending;
/* Its LDS operations that are not performed, see late_lds.h. */
struct late;
/* Its memory operations that are not, see late_memory.h. */
struct late_memory;
/* What caches show to a launch's waves, see caches.h. */
struct caches;

struct sim_code; /* decoded instructions of one allocation, see code.h */

/* State shared by the waves of one dispatch. */
struct run {
    const struct sim_dispatch *dispatch;
    const struct sim_target *target;
    struct sim_config config;
    unsigned wave_size;
    /* Registers of a wave, by the kernel descriptor. In a unified file (from
     * gfx90a on) v reaches beyond first_agpr, and a0 is v[first_agpr]. */
    unsigned nvgprs, nagprs;
    unsigned nregs;          /* VGPRs and AGPRs, each counted once */
    unsigned first_agpr;     /* index of a0 in the file */
    uint64_t entry;          /* address of the first instruction */
    uint32_t scratch_nbytes; /* per lane */
    uint32_t lds_nbytes;     /* of a workgroup */
    uint32_t ngroups[3];
    uint32_t nwaves; /* per workgroup */
    uint32_t rsrc1, rsrc2, rsrc3, properties, preload;
    uint64_t packet, queue;
    struct touched *touched; /* memory's bytes; NULL if not asked for */
    struct races *races;     /* between groups; NULL if not asked for */
    struct caches *caches;   /* NULL: memory is seen by all at once */
    /* The program's own memory that was touched, on devices with XNACK. */
    struct sim_pageable *_Atomic pageable;
};

/* gfx12: a barrier of some of a group's waves, numbered from 1. */
enum { NUM_NAMED_BARRIERS = 17 };
struct named_barrier {
    unsigned members, signals;
};

struct group {
    struct run *run;
    uint64_t index; /* x + y * nx + z * nx * ny */
    uint32_t id[3];
    unsigned nwaves;
    unsigned barrier_waiting; /* waves at the barrier */
    unsigned barrier_signals; /* gfx12: signals since the last completion */
    unsigned barrier_phase;
    struct named_barrier named[NUM_NAMED_BARRIERS];
    unsigned nended;
    uint16_t lds_epoch; /* barriers passed, from 1 on: they order accesses */
    bool faulted;
    uint8_t *lds;
    uint32_t lds_used;    /* bytes that may have been written, from 0 on */
    uint8_t *lds_written; /* a byte per LDS byte, NULL if not asked for */
    uint32_t *lds_marks;  /* see lds_marks.h; NULL: not watched */
    struct wave *waves;
    struct sim_stats stats;
    struct sim_fault fault;
    uint64_t ninsns; /* for the scheduler */
};

struct wave {
    vreg *v;       /* vector registers */
    vreg *a;       /* accumulation registers, among v's or behind them */
    uint64_t mask; /* lanes that this instruction writes: EXEC, less what DPP
                      switched off. Set before every instruction. */
    uint64_t full; /* a bit for each lane */
    unsigned nlanes;
    bool scc;
    uint8_t state;   /* enum wave_state */
    bool fp_default; /* MODE's rounding and denormals are the host's default */
    bool flushes16;  /* MODE flushes some denormals of f16 */
    uint8_t fp_now;  /* enum fp_rule that the host computes by, if it is not */
    uint32_t mode;
    uint64_t pc;             /* address of the next instruction */
    uint64_t insn_pc;        /* address of the running instruction */
    const struct insn *insn; /* the running instruction */
    uint32_t s[NUM_SREGS] __attribute__((aligned(64)));
    struct group *group;
    struct run *run;
    const struct sim_target *target;
    struct sim_code *code; /* contains pc */
    unsigned index;        /* in the workgroup */
    unsigned nvgprs, nagprs;
    /* How many VGPRs and AGPRs, from number 0 on, its instructions have named.
     * Higher registers still have their initial values. */
    unsigned used_vgprs, used_agprs;
    uint32_t *scratch; /* dword d of lane l at [d * nlanes + l] */
    uint8_t *scratch_written;
    uint64_t scratch_base;  /* address that FLAT_SCRATCH must hold */
    unsigned barrier_phase; /* phase of the wave's last signal (gfx12) */
    uint64_t barrier_pc;    /* pc of the last barrier */
    uint64_t start_exec;    /* lanes that hold a work-item */
    uint64_t absent;        /* subset that was off at barrier_pc */
    bool split_barrier;     /* it waits in s_barrier_wait */
    uint8_t joined;         /* the wave's named barrier; 0: none */
    bool joined_done;       /* completed since the wave last waited */
    bool waits_for_joined;
    bool gws_waits; /* waits at a barrier of the whole grid */
    bool gws_flag;  /* the barrier's flag on arrival */
    bool never_ran; /* no work-item of it is in the grid */
    uint64_t ninsns;
    unsigned nclocks; /* reads of a clock since the wave last waited */
    bool gpr_idx;     /* MODE_GPR_IDX_EN, on targets that have it */
    bool vskip;       /* MODE_VSKIP, likewise */
    const struct sim_alloc *last_hit[2]; /* of memory accesses */
    const uint8_t *stores;      /* bytes of the running store, if known */
    struct flight *flight;      /* NULL: its work is not counted */
    struct pending *pending;    /* NULL: operations complete at once */
    struct late *late;          /* NULL: LDS performs at once */
    struct late_memory *memory; /* NULL: memory performs at once */
    struct race_order order;    /* with other groups, if races are looked for */
    /* What swap_loop.h has answered, by the load's place in the code. */
    struct swap_loop {
        uint64_t load_pc;
        bool follows;
    } swap_loop[16];
};

static inline uint64_t sreg64(const struct wave *w, unsigned reg)
{
    uint64_t v;

    memcpy(&v, &w->s[reg], sizeof(v));
    return v;
}

static inline void set_sreg64(struct wave *w, unsigned reg, uint64_t v)
{
    memcpy(&w->s[reg], &v, sizeof(v));
}

/* Lane masks take one SGPR in a wave of 32 lanes and two in one of 64. */
static inline uint64_t mask_sreg(const struct wave *w, unsigned reg)
{
    return w->nlanes == 32 ? w->s[reg] : sreg64(w, reg);
}

static inline void set_mask_sreg(struct wave *w, unsigned reg, uint64_t mask)
{
    if (w->nlanes == 32)
        w->s[reg] = (uint32_t)mask;
    else
        set_sreg64(w, reg, mask);
}

static inline void wave_uses(struct wave *w, unsigned nvgprs, unsigned nagprs)
{
    if (nvgprs > w->used_vgprs)
        w->used_vgprs = nvgprs;
    if (nagprs > w->used_agprs)
        w->used_agprs = nagprs;
}

static inline uint64_t wave_exec(const struct wave *w)
{
    return mask_sreg(w, SREG_EXEC);
}

/* Jumps; `pc` is an address. A wrong one faults at the next fetch. */
static inline void wave_jump(struct wave *w, uint64_t pc)
{
    w->pc = pc;
}

#endif
