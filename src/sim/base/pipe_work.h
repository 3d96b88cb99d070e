/* pipe_work.h - a launch's work in each pipe, in the pipe's own cycles
 *
 * Counted where KPK_SIM_STATS=bounds (or sim_config.bounds) is set, and zero
 * otherwise. time_bounds.h turns it into bounds of time on a card.
 */
#ifndef SIM_BASE_PIPE_WORK_H
#define SIM_BASE_PIPE_WORK_H

#include <stdint.h>

/* X(name, its name in reports): the issue rates of vector instructions */
#define SIM_RATES_TABLE(X)                                                     \
    X(FULL, "full")                                                            \
    X(HALF, "half")                                                            \
    X(QUARTER, "quarter")                                                      \
    X(TRANS, "transcendental")                                                 \
    X(PACKED, "packed")                                                        \
    X(DUAL, "dual issue")                                                      \
    X(F64, "f64")
enum sim_rate {
#define X(name, word) SIM_RATE_##name,
    SIM_RATES_TABLE(X)
#undef X
        SIM_NRATES
};

/* Dies of the card that has the most; groups are assigned to dies in turn. */
enum { SIM_DIES = 8 };

struct sim_work {
    /* Vector ALU, by rate; cycles of one SIMD. */
    uint64_t valu_insns[SIM_NRATES], valu_cycles[SIM_NRATES];
    uint64_t trans_cycles; /* RDNA's transcendental unit */
    /* Matrix instructions; cycles of one SIMD's matrix unit. */
    uint64_t matrix_insns, matrix_cycles;
    uint64_t matrix_blocks_valu; /* part with the vector ALU busy, too */
    uint64_t matrix_unknown;     /* instructions without published cycles */
    uint64_t salu_insns;
    /* LDS; cycles of one compute unit. */
    uint64_t lds_insns, lds_cycles, lds_conflict_cycles;
    /* Vector memory: pieces of cache lines that each instruction touches. */
    uint64_t vmem_insns, segments64, segments128, scratch_bytes;
    /* Atomics on memory: an instruction makes a request for each 64 bytes that
     * it touches. atomic_hottest: turns of the most contended piece. */
    uint64_t atomic_lanes, atomic_requests, atomic_hottest;
    /* Distinct bytes of memory, and the distinct aligned segments that contain
     * them: the least traffic, if caches hold everything that is used again.
     */
    uint64_t read_bytes, read_segments64, read_segments128;
    uint64_t written_bytes, written_segments32, written_segments128;
    uint64_t untracked; /* accesses not recorded for lack of room */
    /* Bytes of loads, in whole segments of 64, and the number of times that
     * waves wait for memory, one latency each. */
    uint64_t load_bytes, load_waits;
    /* Groups that access memory by vector instructions, and for each die the
     * segments of 64 bytes that its groups touch. */
    uint64_t working_groups, die_segments[SIM_DIES];
    uint32_t wave_size, waves_per_group, groups_share_cus;
    uint32_t waves_by_registers; /* waves that fit a SIMD's registers */
    uint32_t groups_by_lds;      /* groups that fit the LDS of a CU, or WGP */
};

#endif
