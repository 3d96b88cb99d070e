/* group_races.h - workgroups of a launch that touch a byte of memory out of
 * order
 *
 * Two groups touch one byte, at least one of them writes, and not both by an
 * atomic: what is read, or stays, is up to chance. Groups order themselves by
 * synchronizing: an atomic, a load or store of the scope of the device, a
 * global barrier. An access is in front of another group's if its group has
 * synchronized after it, and the other one after that. The memory model asks
 * for more, so no order that a program may rely on is reported as a race.
 *
 * Not for several threads: a launch with race checks runs on one thread.
 */
#ifndef SIM_BASE_GROUP_RACES_H
#define SIM_BASE_GROUP_RACES_H

#include <stdbool.h>
#include <stdint.h>

struct races;

enum race_access { RACE_READ, RACE_WRITE, RACE_ATOMIC };

/* The other access of a race. */
struct race {
    uint64_t at;
    uint64_t group;
    enum race_access how;
};

/* NULL: no memory. */
struct races *sim_races_new(uint64_t ngroups);
void sim_races_free(struct races *r);

/* A group synchronizes, by one instruction: `insn` is a number for it. */
void sim_races_sync(struct races *r, uint64_t group, uint64_t insn);

/* A group touches [at, at + n); true if it races with an earlier access.
 * Without memory for marks the access is not watched. A store of the value that
 * the byte already has (`becomes` equals `was`) is no race: both orders give
 * the same. NULL for either if the value is unknown. */
bool sim_races_note(struct races *r, uint64_t group, uint64_t at, unsigned n,
                    enum race_access how, const uint8_t *was,
                    const uint8_t *becomes, struct race *out);

#endif
