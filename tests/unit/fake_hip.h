/* fake_hip.h - what a test tells the fake HIP runtime, and reads from it
 *
 * fake_hip.c is a shared library that looks like libamdhip64.so and runs
 * nothing. It exports one object of this type, called `fake_hip`, beside HIP's
 * functions; fake_hip_load() in fake_load.c finds it.
 */
#ifndef FAKE_HIP_H
#define FAKE_HIP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_MAX_PARAMS 16

struct fake_launch {
    char kernel[64];
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_nbytes;
    int device;
    void *stream;
    int has_params;
    uint64_t params[FAKE_MAX_PARAMS]; /* one for each size in param_nbytes */
    int has_extra;
    size_t extra_nbytes;
    unsigned char extra[2048];
    const char *call;  /* the HIP function */
    void *start_event; /* of hipExtModuleLaunchKernel */
    void *stop_event;
    unsigned flags;     /* of the launch, or of one on several devices */
    unsigned nlaunches; /* launches in one call for several devices */
};

struct fake_hip {
    /* Set by the test. */
    int ndevices;
    const char *targets[4];
    int version;
    const char *fail_name; /* fails every call to this function ... */
    int fail_nth;   /* > 0: ... only call number fail_nth, from now on ... */
    int fail_error; /* ... with this error */
    atomic_int fail_in;    /* > 0: counts calls down, fails the last; -1 off */
    int fail_all_later;    /* and every later call */
    const char *lie_name;  /* this function succeeds with NULL, or below 0 */
    const char *hold_name; /* this function waits until `released` */
    atomic_int held;
    atomic_int released;
    unsigned param_nbytes[FAKE_MAX_PARAMS]; /* sizes to read from params */
    int not_cooperative;                    /* answers of device properties */
    int not_cooperative_multi;
    int blocks_per_unit; /* answer of the occupancy call */
    int not_ready;       /* queries say that work is not done yet */

    /* The library's own: changes the thread's current device, uncounted. */
    void (*set_current)(int device);

    int (*get_current)(void);

    /* Read by the test. */
    atomic_int ncalls;
    atomic_int nfailed; /* failed calls */
    atomic_int nloads;
    atomic_int nloads_of_device[4];
    atomic_int nlookups;
    atomic_int nunloads;
    atomic_int nlaunches;
    atomic_int nsyncs;
    atomic_int nsets; /* hipSetDevice */
    atomic_int live;  /* modules and allocations not given back */
    atomic_int nproc_addresses;
    atomic_int noptions; /* given to hipModuleLoadDataEx */
    int attribute;       /* last asked for */
    int block_limit;
    unsigned flags;      /* the last handle or host memory */
    void *waited_stream; /* the last hipStreamWaitEvent */
    void *waited_event;
    void *recorded_stream; /* the last hipEventRecord */
    void *recorded_event;
    int copy_kind;     /* the last hipMemcpyAsync */
    void *copy_stream; /* the last copy or fill in one */
    void *capturing;   /* the stream that records */
    int capture_mode;
    void *graph_stream; /* the last hipGraphLaunch */
    void *imported;     /* by the last hipIpcOpenMemHandle */
    int peers[2];       /* devices of the last hipMemcpyPeerAsync: to, from */
    atomic_int nviolations; /* uses that real HIP answers with an abort */
    struct fake_launch last;
};

/* Loads the library of that file name ("fake_hip.so") from the folder of the
 * running program and resets its object. Does not return without it. */
struct fake_hip *fake_hip_load(const char *file);
/* Settings and counters as at first; current device 0. */
void fake_hip_reset(struct fake_hip *fake);

#endif
