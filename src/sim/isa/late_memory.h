/* late_memory.h - memory operations of a wave that are performed later
 *
 * Used under KPK_SIM_WEAK. A load, an atomic or a write-back is kept with its
 * addresses and values, and performed later, in any order: at the latest by the
 * wait that completes it, or earlier, at random by the seed. Stores wait in
 * their CU, see caches.h. Operations on the same bytes keep their order within
 * a wave. Operations of different waves of a CU keep it if one of them writes,
 * because they go through one cache.
 *
 * If a wave ends before its operations are performed, atomics stay, and with
 * them the group; loads and write-backs are dropped.
 *
 * Callers test w->memory first, so that other launches take no longer.
 */
#ifndef SIM_ISA_LATE_MEMORY_H
#define SIM_ISA_LATE_MEMORY_H

#include "atomic.h"
#include "caches.h"
#include "lane_places.h"

/* More operations make one perform. */
enum { MEMORY_OPS = 16 };

typedef void memory_op_fn(struct wave *w, const struct memory_op *op);

struct memory_op {
    struct memory_op *next, **link; /* of its CU's */
    struct wave *w;
    memory_op_fn *perform; /* NULL: a free slot */
    const struct insn *insn;
    uint64_t pc, mask, serial;
    bool writes;
    const struct sim_alloc *memory;
    uint64_t lanes;
    uint8_t *at[MAX_LANES], *lowest, *end; /* host addresses */
    struct form form;
    bool returns;
    struct operand dst;
    /* Of an atomic. */
    atomic_fn *fn;
    uint64_t data[MAX_LANES], compare[MAX_LANES];
    /* Of a write-back. */
    uint64_t order;
};

struct late_memory {
    struct cu *cu;
    uint64_t id;     /* of the wave, in this launch */
    uint64_t serial; /* of the running instruction */
    unsigned nops;
    uint64_t stalled;    /* until this turn */
    uint32_t scalar[16]; /* bytes as a scalar load sees them */
    struct memory_op op[MEMORY_OPS];
};

/* A wave begins, and is over, with all that it left. */
void sim_memory_begin(struct wave *w);
void sim_memory_end(struct wave *w);

/* Keeps an operation of the running instruction, whose places are checked. */
void sim_memory_keep(struct wave *w, const struct memory_op *op);

/* Before an access to bytes that is not kept: older ones of the CU to the same
 * bytes are performed. */
void sim_memory_order(struct wave *w, const uint8_t *at, unsigned n,
                      bool writes);
/* The same for bytes that are then read, or written, in memory itself. */
void sim_memory_open(struct wave *w, const struct sim_alloc *a, uint8_t *at,
                     unsigned n, bool writes);
/* A store of the running instruction. */
void sim_memory_store(struct wave *w, const struct sim_alloc *a, uint8_t *at,
                      unsigned n, const uint8_t *from);
/* Called before an instruction that writes registers: performs older loads to
 * these registers. */
void sim_memory_registers(struct wave *w, const struct insn *in);

/* Whether a wave lingers at a wait for some turns. */
bool sim_memory_lingers(struct wave *w);
/* Performs an instruction's kept operations, except stores. */
void sim_memory_perform(struct wave *w, uint64_t serial);
/* A wait has completed an instruction, or all operations of a counter. */
void sim_memory_complete(struct wave *w, uint64_t serial);
void sim_memory_waited(struct wave *w);

/* Called after each instruction of the wave, and after each turn of its group.
 */
void sim_memory_step(struct wave *w, const struct insn *in);
void sim_memory_turn(struct caches *c);

#endif
