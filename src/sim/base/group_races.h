/* group_races.h - workgroups of a launch that touch a byte of memory out of
 * order
 *
 * Two groups touch one byte, at least one of them writes, and not both by an
 * atomic: what is read, or stays, is up to chance. Groups order themselves by
 * flags. One releases: its earlier accesses are done, and its stores where the
 * other group can see them, when it writes the flag. The other one acquires: it
 * reads the flag and drops what its caches hold. The caller says which accesses
 * are done, and when caches are dropped (isa/race_order.c).
 *
 * A flag is any dword that an atomic, or an access of the scope of the device,
 * touches. Who reads one comes after all that any group has released before the
 * flag was last written. The memory model asks for more, so no order that a
 * program may rely on is reported as a race.
 *
 * Not for several threads: a launch with race checks runs on one thread.
 */
#ifndef SIM_BASE_GROUP_RACES_H
#define SIM_BASE_GROUP_RACES_H

#include <stdbool.h>
#include <stdint.h>

struct races;

enum race_access { RACE_READ, RACE_WRITE, RACE_ATOMIC };

/* What is missing between the two accesses of a race. */
enum race_lack {
    LACKS_FLAG,        /* neither group reads a flag of the other */
    LACKS_WAIT,        /* the flag may be written before the earlier access */
    LACKS_WRITE_BACK,  /* the flag may be visible before the earlier store */
    LACKS_INVALIDATION /* this group may read values from before the flag */
};

/* The earlier access of a race. */
struct race {
    uint64_t at;
    uint64_t group;
    enum race_access how;
    enum race_lack lack;
};

/* NULL: no memory. */
struct races *sim_races_new(uint64_t ngroups);
void sim_races_free(struct races *r);

/* A group's clock counts its instructions that touch memory, from 1 on. */
uint32_t sim_races_clock(const struct races *r, uint64_t group);
void sim_races_tick(struct races *r, uint64_t group);

/* A write-back that a group issued at this clock is done: its stores before are
 * at the device, whichever wave made them. */
void sim_races_write_back(struct races *r, uint64_t group, uint32_t clock);

/* A group writes a flag, by one instruction: its accesses before clock `done`
 * are complete, and if `writes_through` its stores need no write-back. Atomics
 * up to now are at the device. The answer is for sim_races_flag(). */
uint64_t sim_races_release(struct races *r, uint64_t group, uint32_t done,
                           bool writes_through);
void sim_races_flag(struct races *r, uint64_t at, unsigned n, uint64_t time);

/* When the flag at [at, at + n) was last written, 0 for never. */
uint64_t sim_races_flag_time(struct races *r, uint64_t at, unsigned n);

/* A group has read a flag that was written at this time. */
void sim_races_see(struct races *r, uint64_t group, uint64_t time);

/* A group invalidates its compute unit's cache, or the caches behind it. */
void sim_races_drop(struct races *r, uint64_t group, bool l0, bool l1);

/* A group meets all others at a barrier of the grid. */
void sim_races_meet(struct races *r, uint64_t group);

/* A group touches [at, at + n); true if it races with an earlier access.
 * Without memory for marks the access is not watched. A store of the value that
 * the byte already has (`becomes` equals `was`) is no race: both orders give
 * the same. NULL for either if the value is unknown. */
bool sim_races_note(struct races *r, uint64_t group, uint64_t at, unsigned n,
                    enum race_access how, const uint8_t *was,
                    const uint8_t *becomes, struct race *out);

#endif
