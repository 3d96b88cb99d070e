/* asm.h - runs a snippet of assembly on one simulated wave
 *
 * The snippet is assembled by LLVM for the target that the state names, with
 * s_endpgm appended, and runs from the registers of the state; what the wave
 * leaves is put back there.
 *
 *     struct asm_state *st = asm_new("gfx942", 64);
 *     st->v[1][0] = 5;
 *     asm_run(st, "v_add_u32 v0, v1, v1");     // fails the test on a fault
 *     assert_int_equal(st->v[0][0], 10);
 *     asm_free(st);
 */
#ifndef SIM_TESTS_ASM_H
#define SIM_TESTS_ASM_H

#include "sim/isa/wave.h"

struct asm_state {
    const char *target; /* processor name */
    unsigned wave_size;
    bool scc;
    uint32_t mode;
    uint32_t s[NUM_SREGS]; /* EXEC, VCC, M0 included: enum sreg */
    vreg v[256], a[256];
    uint8_t lds[65536];
    uint32_t scratch[64][64]; /* [dword][lane] */
    struct sim_stats stats;   /* the last run's */
    struct sim_fault fault;   /* the last asm_try()'s */
};

/* All lanes on, other registers filled with a pattern, MODE as HIP sets it. */
struct asm_state *asm_new(const char *target, unsigned wave_size);
void asm_free(struct asm_state *st);

/* Assembles and runs; false if the wave faulted (st->fault says how). Text
 * that LLVM does not assemble fails the running cmocka test. */
bool asm_try(struct asm_state *st, const char *text);

/* The same; a fault fails the running cmocka test with the report. */
void asm_run(struct asm_state *st, const char *text);

/*
 * Assembles a kernel and runs it as a dispatch of one-dimensional groups. The
 * kernarg pointer is in s[0:1], the group's ID in s2 (gfx12: ttmp9), the
 * work-item's in v0; there are 64 VGPRs, unless nregs says otherwise, and no
 * hidden arguments.
 */
struct asm_launch {
    const char *target;
    unsigned wave_size;
    const char *text;
    unsigned groups, block;
    unsigned lds_nbytes, scratch_nbytes;
    unsigned nregs;        /* 0: 64; from gfx90a on AGPRs are among them */
    unsigned accum_offset; /* where AGPRs begin there; 0: behind the VGPRs */
    const void *kernarg;
    unsigned kernarg_nbytes;
    bool split;             /* WGP mode; up to gfx950 tgsplit */
    struct sim_alloc *code; /* by asm_assemble() */
    struct sim_stats stats; /* out */
    struct sim_fault fault; /* out */
};

bool asm_dispatch(struct asm_launch *launch);

/* For several dispatches of one text: assembles it before, and frees it. */
void asm_assemble(struct asm_launch *launch);
void asm_discard(struct asm_launch *launch);

#endif
