/* caches.h - what the caches of a card may show to its waves
 *
 * Under KPK_SIM_WEAK. A launch has dies, each with an L2 cache and eight
 * compute units (CUs), each with a cache of its own; gfx10 to gfx1201 have two
 * caches of shader arrays between them, and two CUs share a scalar cache. Where
 * all that touch some memory meet in one L2, the simulator's memory is this L2.
 *
 * A store is seen by its own CU when it is issued, by others when it is
 * performed: at the latest by a wait, earlier as the seed has it. A line that a
 * cache holds stays until it is invalidated, evicted, or written through this
 * cache. Before bytes change the adversary loads the old ones into caches of
 * others, as a wave there might have done.
 *
 * Whoever performs what is late_memory.h's part.
 */
#ifndef SIM_ISA_CACHES_H
#define SIM_ISA_CACHES_H

#include "cache_lines.h"
#include "wave.h"

/* From where a load is answered, to where a store is performed. */
enum cache_level { LEVEL_CU, LEVEL_ARRAY, LEVEL_L2, LEVEL_MEMORY };

enum narrow { NARROW_WRITE_BACK, NARROW_INVALIDATION, NARROW_KINDS };

enum { DIE_CUS = 8, DIE_ARRAYS = 2, DIE_SCALAR_CACHES = 4 };

/* Bytes of one line that a store instruction has not performed yet. */
struct cache_store {
    struct cache_store *next; /* younger */
    uint8_t *at;              /* the line */
    line_mask mask;
    uint8_t bytes[LINE_NBYTES];
    const struct sim_alloc *memory;
    uint64_t wave, serial; /* whose, see struct late_memory */
    uint64_t order;        /* among all stores */
    uint64_t group;
    uint8_t level;
    bool waited; /* and yet not performed, because its scope is too small */
};

struct memory_op;

struct cu {
    struct cache lines;
    struct cache_store *oldest, *newest;
    unsigned nstores;
    unsigned nwaves;       /* that run on it */
    struct memory_op *ops; /* of its waves, not performed */
    unsigned die, number;
    /* Its last write-back and invalidation that do not reach the device. */
    uint64_t narrow_pc[NARROW_KINDS];
    const char *narrow[NARROW_KINDS];
};

struct die {
    struct cache l2, array[DIE_ARRAYS], scalar[DIE_SCALAR_CACHES];
    struct cu cu[DIE_CUS];
};

struct stored; /* a store that a stale read may miss, see stale_read.h */

struct caches {
    const struct run *run;
    struct die *die;
    unsigned ndies;
    bool has_arrays;
    bool splits;   /* waves of a group are on several CUs */
    bool in_order; /* a CU's waits cover its whole group, see caches.c */
    enum cache_level device; /* where all CUs meet */
    uint64_t random, order, turns, waves;
    /* Of each byte stored in this launch: the newest, and of each dword which
     * store. */
    struct cache newest, who;
    struct stored *stored;
    uint32_t nstored, most_stored;
};

struct caches *sim_caches_new(const struct run *run);
/* Everything is performed and written back. */
void sim_caches_free(struct caches *c);

/* A number below n; true once in `of` times. */
uint64_t sim_caches_random(struct caches *c, uint64_t n);
bool sim_caches_chance(struct caches *c, unsigned of);
/* The seed's own chance: once in 2, 8 or 64 times; never if the seed is 0. */
bool sim_caches_step(struct caches *c);
/* Half of the time, and always if the seed is 0. */
bool sim_caches_late(struct caches *c);

/* The CU of a wave. */
struct cu *sim_caches_cu(struct caches *c, uint64_t group, unsigned wave);

enum cache_level sim_load_level(const struct caches *c, const struct insn *in);
enum cache_level sim_store_level(const struct caches *c, const struct insn *in);

/* Bytes [at, at + n) of an allocation: as a load of a CU sees them, as a scalar
 * load does, and as a store leaves them, whose wave, instruction, group and
 * level `as` has. */
void sim_caches_read(struct caches *c, struct cu *cu, const struct sim_alloc *a,
                     uint8_t *at, unsigned n, enum cache_level level,
                     uint8_t *to);
void sim_caches_read_scalar(struct caches *c, struct cu *cu,
                            const struct sim_alloc *a, uint8_t *at, unsigned n,
                            uint8_t *to);
void sim_caches_write(struct caches *c, struct cu *cu,
                      const struct cache_store *as, const struct sim_alloc *a,
                      uint8_t *at, unsigned n, const uint8_t *from);

/* Before memory itself is read or written for a CU, and after it was written:
 * the CU's stores to it are performed, and caches on its way lack it. */
void sim_caches_open(struct caches *c, struct cu *cu, uint8_t *at, unsigned n);
void sim_caches_expose(struct caches *c, const struct cu *cu,
                       const struct sim_alloc *a, uint8_t *at, unsigned n);

/* Performs stores of a CU: an instruction's, a group's, those older than one;
 * one by chance. */
void sim_caches_complete(struct caches *c, struct cu *cu, uint64_t wave,
                         uint64_t serial);
void sim_caches_complete_group(struct caches *c, struct cu *cu, uint64_t group);
void sim_caches_write_back(struct caches *c, struct cu *cu, uint64_t order,
                           enum cache_level level);
void sim_caches_perform_any(struct caches *c, struct cu *cu);
void sim_caches_perform_all(struct caches *c);

/* By bits of enum reach. */
void sim_caches_invalidate(struct caches *c, struct cu *cu, unsigned reach);
/* Lines of a CU, of its array and of its die. */
void sim_caches_evict_any(struct caches *c, struct cu *cu);

#endif
