/* caches.h - what the caches of a card may show to its waves
 *
 * Used under KPK_SIM_WEAK. A launch runs on dies. A die has an L2 cache and
 * eight compute units (CUs), and a CU has a cache. gfx10 to gfx1201 have two
 * shader-array caches between the CUs and the L2; two CUs share a scalar cache.
 * If all CUs that access some memory share one L2, the simulator's memory
 * serves as this L2.
 *
 * A store is visible to its own CU when it is issued, and to others when it is
 * performed: by a wait at the latest, earlier if the seed says so. A cached
 * line stays until it is invalidated, evicted, or written through this cache.
 * Before bytes change, the simulator loads the old bytes into other CUs'
 * caches, as a wave there might have done.
 *
 * late_memory.h decides when each store is performed.
 */
#ifndef SIM_ISA_CACHES_H
#define SIM_ISA_CACHES_H

#include "cache_lines.h"
#include "wave.h"

/* The level from which a load reads, or to which a store is performed. */
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
    /* The CU's last write-back and invalidation with less than device scope. */
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
    enum cache_level device; /* the level that all CUs share */
    uint64_t random, order, turns, waves;
    /* For each byte stored in this launch its newest value, and for each dword
     * the store. */
    struct cache newest, who;
    struct stored *stored;
    uint32_t nstored, most_stored;
};

struct caches *sim_caches_new(const struct run *run);
/* Performs all stores and writes all caches back. */
void sim_caches_free(struct caches *c);

/* A random number below n; true once in `of` times. */
uint64_t sim_caches_random(struct caches *c, uint64_t n);
bool sim_caches_chance(struct caches *c, unsigned of);
/* True with the seed's probability: 1/2, 1/8 or 1/64; never for seed 0. */
bool sim_caches_step(struct caches *c);
/* True half of the time; always for seed 0. */
bool sim_caches_late(struct caches *c);

/* The CU of a wave. */
struct cu *sim_caches_cu(struct caches *c, uint64_t group, unsigned wave);

enum cache_level sim_load_level(const struct caches *c, const struct insn *in);
enum cache_level sim_store_level(const struct caches *c, const struct insn *in);

/* Reads or writes bytes [at, at + n) of an allocation: by a vector load of a
 * CU, by a scalar load, and by a store. `as` has the store's wave, instruction,
 * group and level. */
void sim_caches_read(struct caches *c, struct cu *cu, const struct sim_alloc *a,
                     uint8_t *at, unsigned n, enum cache_level level,
                     uint8_t *to);
void sim_caches_read_scalar(struct caches *c, struct cu *cu,
                            const struct sim_alloc *a, uint8_t *at, unsigned n,
                            uint8_t *to);
void sim_caches_write(struct caches *c, struct cu *cu,
                      const struct cache_store *as, const struct sim_alloc *a,
                      uint8_t *at, unsigned n, const uint8_t *from);

/* Called before memory itself is read or written for a CU. open() performs the
 * CU's stores to these bytes and drops the bytes from its caches. expose(),
 * called before open() for a write, loads the old bytes into other CUs' caches.
 */
void sim_caches_open(struct caches *c, struct cu *cu, uint8_t *at, unsigned n);
void sim_caches_expose(struct caches *c, const struct cu *cu,
                       const struct sim_alloc *a, uint8_t *at, unsigned n);

/* Performs stores of a CU: an instruction's; a group's; all older than `order`;
 * one at random; all. */
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
