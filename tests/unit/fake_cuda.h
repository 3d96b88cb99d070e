/* fake_cuda.h - the fake CUDA driver's settings by a test, and its records
 *
 * fake_cuda.c is a shared library that looks like libcuda.so.1 and runs
 * nothing. It exports one object of this type, called `fake_cuda`, beside the
 * driver's functions; fake_cuda_load() in fake_load.c finds it.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_PATH_MAX 4096
#define FAKE_CUDA_DEPTH 8 /* contexts that a thread can push */

struct fake_cuda {
    /* Set by the test. */
    int ndevices;
    int capability[4];     /* 90 is sm_90 */
    int version;           /* 13000 */
    int init_error;        /* what cuInit() returns */
    const char *fail_name; /* fails every call to this function ... */
    int fail_nth;          /* ... or, if not 0, the nth, from 1 ... */
    int fail_error;        /* ... with this error */
    atomic_int fail_in;    /* > 0: counts calls down, fails the last; -1 off */
    int fail_later;        /* ... and every later call */
    const char *lie_name;  /* this function succeeds without a result */
    int no_context;        /* a context is retained, and is none */
    int own_shared;        /* a function's own shared memory; 0: 2448 bytes */
    int own_device;        /* device of a context of the host's own */
    int not_ready;         /* work is not done yet */
    int slow;              /* retaining a context takes a while */
    const char *log;       /* log of PTX's compiler on a failure */

    /* Read by the test. */
    atomic_int ncalls;
    int nfailed; /* calls that fail_name failed */
    int nth;     /* calls to that function */
    atomic_int ninits;
    atomic_int nretains;
    atomic_int live;        /* modules and allocations not given back */
    atomic_int nviolations; /* a call without its device's context current */
    int nptx;               /* modules made of PTX */
    int noptions;           /* last given to cuModuleLoadDataEx */
    int dynamic_shared;     /* last allowed for a function */
    int nevents;            /* recorded */
    void *imported;         /* by the last cuIpcOpenMemHandle */
    int peers[2];           /* devices of the last peer copy: to, from */
    void *capturing;        /* the stream that records */
    void *graph_stream;     /* the last cuGraphLaunch */
    void *copy_stream;      /* the last copy or fill in one */
    struct {
        char kernel[64];
        unsigned grid[3];
        unsigned block[3];
        unsigned shared_nbytes;
        int device;
        int cooperative;
        unsigned cluster[3]; /* zeros: launched without */
        int early;           /* may begin before the launch in front ends */
        void *stream;
        uint64_t param; /* the first, of 8 bytes, if there are params */
        size_t extra_nbytes;
    } last;

    /* The library's own: a context of the host's, current until pop();
     * how many contexts are on the thread's stack, and the top one's device,
     * -1 for the host's own and without any. */
    void (*push_own)(void);
    void (*pop)(void);
    int (*depth)(void);
    int (*current)(void);
};

/* Loads fake_cuda.so from the folder of the running program and resets its
 * object. The runtime finds it if KPK_CUDA_LIBRARY is `path`. Does not return
 * without it. */
struct fake_cuda *fake_cuda_load(char path[FAKE_PATH_MAX]);
void fake_cuda_reset(struct fake_cuda *fake);

#endif
