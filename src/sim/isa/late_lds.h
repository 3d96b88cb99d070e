/* late_lds.h - LDS operations of a wave that LDS performs later
 *
 * Under KPK_SIM_WEAK. A card queues the LDS operations of each wave; those of
 * different waves meet in any order until a wait. So an operation is kept, with
 * its registers, and performed behind older ones of its wave: at the latest by
 * a wait that completes it, earlier as the seed has it. Seed 0 is as late as
 * may be; others give each instruction of the wave a chance of 1/2, 1/8 or
 * 1/64. A wave that has no instruction left for it, because it waits at a
 * barrier or has ended, performs its operations within some turns.
 *
 * A load to LDS reads memory when it is issued, and fills LDS later: any time
 * until its own wait, whatever the wave's other operations do. A store from LDS
 * reads LDS and writes memory as late.
 *
 * Callers test w->late first, so that nothing is spent without the switch.
 */
#ifndef SIM_ISA_LATE_LDS_H
#define SIM_ISA_LATE_LDS_H

#include "lane_places.h"
#include "wave.h"

/* More operations make the oldest perform; registers of one's sources. */
enum { LATE_OPS = 16, LATE_MOVES = 16, LATE_REGISTERS = 6 };

struct late_op {
    const struct insn *insn;
    uint64_t pc, mask;
    uint32_t m0;
    vreg kept[LATE_REGISTERS];
};

/* Writes nbytes for each lane: `values`, or those of LDS that they point to. */
typedef void late_move_fn(struct wave *w, const struct places *places,
                          unsigned nbytes, const vreg values[4]);
struct late_move {
    const struct insn *insn;
    uint64_t pc, serial; /* late_memory.h's number of the instruction */
    struct places places;
    unsigned nbytes;
    late_move_fn *move;
    vreg values[4];
};

struct late {
    uint64_t issued, performed; /* how many operations */
    uint64_t moves, moved;      /* how many between LDS and memory */
    uint64_t random;
    unsigned turns;              /* since the wave last had none left */
    struct late_op op[LATE_OPS]; /* number k at k % LATE_OPS */
    struct late_move move[LATE_MOVES];
};

/* Whether an instruction is kept, to be performed later. One that touches LDS
 * and is not kept performs what is older first. */
bool sim_late_takes(struct wave *w, const struct insn *in);

/* Performs all operations up to a number. */
void sim_late_perform(struct wave *w, uint64_t number);

/* The same of moves. The running one is kept with its values. */
void sim_late_keep(struct wave *w, const struct places *places, unsigned nbytes,
                   const vreg values[4], late_move_fn *move);
void sim_late_move(struct wave *w, uint64_t number);

/* After each instruction of the wave, and after each turn of its group. */
void sim_late_step(struct wave *w);
void sim_late_turn(struct wave *w);

#endif
