/* config.h - the switches of a process
 *
 * Switches are read from the environment once per process:
 *   KPK_SIM_THREADS=N      worker threads (default: the machine's cores)
 *   KPK_SIM_STATS=1|bounds print the counters of every launch to stderr, or
 *                          lower bounds of its time on a card (time_bounds.h)
 *   KPK_SIM_UNINIT=0|1     report reads of LDS, scratch or device memory that
 *                          nothing wrote (default 0)
 *   KPK_SIM_RACES=0|1      report data races: in LDS between waves, in memory
 *                          between workgroups (default 0)
 *   KPK_SIM_WEAK=SEED[,PART,...]
 *                          complete memory operations no earlier than a card
 *                          must, see isa/pending.h; 1: at once (default).
 * Parts: registers, lds, caches; else all KPK_SIM_BARRIERS=0|1|2 barriers that
 * not all work-items reach: 0 silent, 1 ended waves are warned of, 2 an error
 * (default 1) KPK_SIM_LARGE_BAR=0|1  let the host reach device memory (default
 * 0) KPK_SIM_SLICE=N        instructions of a wave before the next one's turn
 *                          (default 64); 1: all step by step
 *   KPK_SIM_MAX_INSNS=N    instructions a wave may execute (default 2^33)
 *   KPK_SIM_TRACE=1|waits  print every executed instruction to stderr, or
 *                          what each wait completes (with KPK_SIM_WEAK)
 */
#ifndef SIM_BASE_CONFIG_H
#define SIM_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* Registers are always watched. */
enum weak_part { WEAK_LDS = 1, WEAK_CACHES = 2, WEAK_ALL = 3 };

struct sim_config {
    unsigned threads;
    bool stats, uninit, races, trace, trace_waits, dropped;
    unsigned barriers;
    bool large_bar; /* the host reaches device memory; set before any is made */
    bool bounds, print_bounds; /* count work for bounds; print bounds */
    uint64_t max_insns, slice;
    uint64_t weak;       /* a seed; 1: operations complete at once */
    unsigned weak_parts; /* bits of enum weak_part */
};

const struct sim_config *sim_config(void);
/* Lets tests and hosts change the switches between launches. */
struct sim_config *sim_config_mutable(void);

#endif
