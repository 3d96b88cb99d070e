/* dispatch.h - runs one kernel dispatch on the simulated GPU
 *
 * A dispatch is what an AQL packet holds. Both front doors, the HIP functions
 * and the simulated thunk, come down to sim_dispatch_run().
 *
 * Switches are read from the environment once per process (sim_config()):
 *   KPK_SIM_THREADS=N      worker threads (default: the machine's cores)
 *   KPK_SIM_STATS=1|bounds print the counters of every launch to stderr, or
 *                          lower bounds of its time on a card (cards.h)
 *   KPK_SIM_UNINIT=0|1     report reads of LDS, scratch or device memory that
 *                          nothing wrote (default 0)
 *   KPK_SIM_RACES=0|1      report data races: in LDS between waves, in memory
 *                          between workgroups (default 0)
 *   KPK_SIM_BARRIERS=0|1|2 barriers that not all work-items reach: 0 silent, 1
 *                          ended waves are warned of, 2 an error (default 1)
 *   KPK_SIM_LARGE_BAR=0|1  let the host reach device memory (default 0)
 *   KPK_SIM_SLICE=N        instructions of a wave before the next one's turn
 *                          (default 64); 1: all step by step
 *   KPK_SIM_MAX_INSNS=N    instructions a wave may execute (default 2^33)
 *   KPK_SIM_TRACE=1        print every executed instruction to stderr
 */
#ifndef SIM_RUN_DISPATCH_H
#define SIM_RUN_DISPATCH_H

#include "../base/code_object.h"
#include "../base/pipe_work.h"

/* Global wave sync, which belongs to a queue. */
enum { SIM_GWS_RESOURCES = 64 };
struct sim_gws {
    struct sim_gws_resource {
        int32_t counter;
        bool flag; /* turns when a barrier is complete */
    } resource[SIM_GWS_RESOURCES];
};

struct sim_dispatch {
    struct sim_device *device;
    const char *kernel_name; /* for messages; NULL if unknown */
    uint64_t descriptor;     /* address of the kernel descriptor */
    uint64_t kernarg;        /* address of the filled kernarg segment */
    uint64_t packet;         /* address of the AQL packet, for dispatch_ptr */
    uint64_t queue;          /* address of the amd_queue_t, for queue_ptr */
    uint32_t grid[3];        /* work-items */
    uint16_t block[3];       /* work-items */
    uint32_t lds_nbytes;     /* static and dynamic */
    uint32_t scratch_nbytes; /* per work-item */
    struct sim_gws *gws;     /* NULL where the queue has none */
    uint32_t max_waves;      /* most waves under way at once; 0: no limit */
};

enum sim_fault_kind {
    SIM_FAULT_NONE,
    SIM_FAULT_MEMORY, /* outside every live allocation */
    SIM_FAULT_USE_AFTER_FREE,
    SIM_FAULT_READONLY,
    SIM_FAULT_MISALIGNED,
    SIM_FAULT_LDS, /* outside the workgroup's LDS */
    SIM_FAULT_SCRATCH,
    SIM_FAULT_UNINITIALISED,
    SIM_FAULT_RACE,
    SIM_FAULT_GROUP_RACE,
    SIM_FAULT_BARRIER,      /* waves ended or diverged around a barrier */
    SIM_FAULT_BUDGET,       /* instruction budget spent: endless loop */
    SIM_FAULT_UNKNOWN_INSN, /* no row for it in the tables */
    SIM_FAULT_ILLEGAL_INSN, /* not an instruction, s_endpgm never reached */
    SIM_FAULT_TRAP,         /* s_trap, e.g. __builtin_trap or assert */
    SIM_FAULT_DROPPED,      /* the card does nothing, where asked to say so */
    SIM_FAULT_DESCRIPTOR    /* an image's or a sampler's: makes no sense, or is
                               not simulated */
};

struct sim_fault {
    enum sim_fault_kind kind;
    uint64_t pc;      /* offset from the kernel's first instruction */
    uint64_t address; /* the address at fault, if any */
    uint32_t workgroup[3];
    uint32_t wave;  /* in the workgroup */
    int lane;       /* -1 if not a lane's doing */
    char text[512]; /* the full report, one or two sentences */
};

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

struct sim_alloc;
struct sim_code;

struct sim_config {
    unsigned threads;
    bool stats, uninit, races, trace, dropped;
    unsigned barriers;
    bool large_bar; /* the host reaches device memory; set before any is made */
    bool bounds, print_bounds; /* count what bounds need; print them */
    uint64_t max_insns, slice;
};

const struct sim_config *sim_config(void);
/* Lets tests and hosts change the switches between launches. */
struct sim_config *sim_config_mutable(void);

/*
 * Runs the dispatch to its end. Returns true, or false with *fault filled in
 * (the fault of the lowest workgroup that had one). *stats is added to if not
 * NULL. Blocking; several threads may run dispatches at once.
 */
bool sim_dispatch_run(const struct sim_dispatch *dispatch,
                      struct sim_stats *stats, struct sim_fault *fault);

/* Adds the counters of `from`, and copies its kernel's registers, LDS, scratch
 * and occupancy. */
void sim_stats_add(struct sim_stats *to, const struct sim_stats *from);

/* Prints the counters of a launch to stderr. */
void sim_stats_print(const struct sim_dispatch *dispatch,
                     const struct sim_stats *stats);

/* Whether an allocation's code bytes have changed since they were decoded. */
bool sim_code_is_stale(const struct sim_alloc *alloc);

/* Drops decoded instructions of an allocation (unload, code rewritten). */
void sim_code_drop(struct sim_code *code);

#endif
