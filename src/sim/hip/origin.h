/* origin.h - the functions that made an allocation (sim_alloc.origin) */
#ifndef SIM_HIP_ORIGIN_H
#define SIM_HIP_ORIGIN_H

enum origin {
    BY_RUNTIME,
    BY_MALLOC, /* hipMalloc and kin, hipMallocManaged */
    BY_HOST_MALLOC,
    BY_HOST_REGISTER,
    BY_POOL,
    BY_GRAPH,
    BY_IPC,
    BY_IMPORT
};

#endif
