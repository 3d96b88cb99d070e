/* pending.h - memory operations of a wave that a wait has not completed yet
 *
 * Under KPK_SIM_WEAK and KPK_SIM_RACES. The interpreter finishes each
 * instruction before the next; a card does not: a register that a load writes
 * holds its value when a wait says so. From a load to that wait its registers
 * are poison under KPK_SIM_WEAK: a wave that reads or writes one faults, with
 * the load, the register and the wait that is missing. Exact, whatever the
 * seed.
 *
 * Callers test w->pending first, so that nothing is spent without the switch.
 */
#ifndef SIM_ISA_PENDING_H
#define SIM_ISA_PENDING_H

#include "race_clocks.h"
#include "waits.h"
#include "wave.h"

/* More than any counter holds. An operation has a slot while one of the
 * counters still holds it. */
enum { PENDING_MOST = 64, PENDING_OPS = (NUM_COUNTERS - 1) * PENDING_MOST };

struct pending_op {
    const struct insn *insn;
    uint64_t pc;
    uint64_t lanes;   /* that get a value */
    uint8_t counters; /* that have not said that it is done; 0: a free slot */
    bool returns;
    uint64_t late;   /* late_lds.h performs up to this number; 0: nothing */
    uint64_t memory; /* its serial in late_memory.h */
    struct race_times times;
};

struct pending {
    unsigned nreturns; /* operations that will write a register */
    unsigned newest;   /* slot */
    bool overlaps;     /* two of them may write one register */
    struct pending_op op[PENDING_OPS];
    uint16_t queue[NUM_COUNTERS][PENDING_MOST]; /* of slots, oldest first */
    uint8_t nqueue[NUM_COUNTERS];
    uint64_t v[512], a[512], s[NUM_SREGS]; /* lanes that are poison */
};

/* Before an instruction runs: false, with a fault, if it touches poison. */
bool sim_pending_allows(struct wave *w, const struct insn *in);

/* Called after an instruction ran: records its pending operation, or completes
 * the operations that it waited for. */
void sim_pending_note(struct wave *w, const struct insn *in);

#endif
