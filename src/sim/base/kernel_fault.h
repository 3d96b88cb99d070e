/* kernel_fault.h - how a kernel failed */
#ifndef SIM_BASE_KERNEL_FAULT_H
#define SIM_BASE_KERNEL_FAULT_H

#include <stdint.h>

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
    SIM_FAULT_UNWAITED,     /* a register whose load was not waited for */
    SIM_FAULT_STALE,        /* a load that misses a store; a warning alone */
    SIM_FAULT_DROPPED,      /* the card ignores it; reported only on request */
    SIM_FAULT_DESCRIPTOR    /* an image's or a sampler's descriptor is invalid,
                               or not simulated */
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

#endif
