/* counters.h - what a launch did, counted */
#ifndef SIM_BASE_COUNTERS_H
#define SIM_BASE_COUNTERS_H

#include "pipe_work.h"

#include <stdint.h>

/* Counters of one launch; sums over all waves. */
struct sim_stats {
    uint64_t waves, workgroups;
    uint64_t insns;      /* executed by waves */
    uint64_t lane_insns; /* vector instructions times active lanes */
    uint64_t valu, salu, vmem, smem, lds, branch, matrix, other;
    uint64_t bytes_read, bytes_written; /* by lanes' requests (vmem) */
    /* whole 64-byte memory segments touched per instruction, in bytes */
    uint64_t segment_bytes_read, segment_bytes_written;
    uint64_t lds_bytes, lds_bank_conflicts; /* extra cycles */
    uint32_t vgprs, sgprs, lds_nbytes, scratch_nbytes;
    uint32_t occupancy_waves; /* per SIMD, from registers and LDS */
    struct sim_work work;     /* counted for bounds only */
};

/* Adds the counters of `from`, and copies its kernel's registers, LDS, scratch
 * and occupancy. */
void sim_stats_add(struct sim_stats *to, const struct sim_stats *from);

/* Prints the counters of a launch of a kernel (NULL: unknown) to stderr. */
void sim_stats_print(const char *kernel, const char *target_id,
                     const struct sim_stats *stats);

#endif
