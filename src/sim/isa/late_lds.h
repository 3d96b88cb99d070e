/* late_lds.h - LDS operations of a wave that LDS performs later
 *
 * Used under KPK_SIM_WEAK. A card queues the LDS operations of each wave;
 * operations of different waves happen in any order until a wait. So the
 * simulator keeps an operation with its registers and performs it later, in the
 * wave's order: by the wait that completes it at the latest, earlier if the
 * seed says so. Seed 0 is as late as possible; with other seeds each of the
 * wave's instructions performs one with probability 1/2, 1/8 or 1/64. A wave
 * that is at a barrier or has ended performs its operations within some turns.
 *
 * A load to LDS reads memory when it is issued, and writes LDS at any time
 * until its own wait, independently of the wave's other operations. A store
 * from LDS likewise reads LDS and writes memory at any time until its wait.
 *
 * Callers test w->late first, so the simulator loses no time if KPK_SIM_WEAK is
 * not set.
 */
#ifndef SIM_ISA_LATE_LDS_H
#define SIM_ISA_LATE_LDS_H

#include "lane_places.h"
#include "wave.h"

/* The most operations and moves that are kept; one more performs the oldest.
 * LATE_REGISTERS: registers of an operation's sources. */
enum { LATE_OPS = 16, LATE_MOVES = 16, LATE_REGISTERS = 6 };

struct late_op {
    const struct insn *insn;
    uint64_t pc, mask;
    uint32_t m0;
    vreg kept[LATE_REGISTERS];
};

/* Writes nbytes for each lane: `values`, or the bytes in LDS at these offsets.
 */
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
    uint64_t issued, performed; /* numbers of operations */
    uint64_t moves, moved;      /* both, of copies between LDS and memory */
    uint64_t random;
    unsigned turns;              /* since no operation was pending */
    struct late_op op[LATE_OPS]; /* number k at k % LATE_OPS */
    struct late_move move[LATE_MOVES];
};

/* Whether an instruction is kept and performed later. An instruction on LDS
 * that is not kept performs the older ones first. */
bool sim_late_takes(struct wave *w, const struct insn *in);

/* Performs all operations up to number `number`. */
void sim_late_perform(struct wave *w, uint64_t number);

/* Keeps the current instruction's move with its values, and performs all moves
 * up to number `number`. */
void sim_late_keep(struct wave *w, const struct places *places, unsigned nbytes,
                   const vreg values[4], late_move_fn *move);
void sim_late_move(struct wave *w, uint64_t number);

/* Called after each instruction of the wave, and after each turn of its group.
 */
void sim_late_step(struct wave *w);
void sim_late_turn(struct wave *w);

#endif
