/* bench_cuda.h - the CUDA driver functions that the benchmark calls
 *
 * Declared here and bound with dlopen(), so that the benchmark builds on a
 * machine without CUDA. Types and numbers are those of cuda.h 12 and 13.
 */
#ifndef BENCH_CUDA_API_H
#define BENCH_CUDA_API_H

#include <stddef.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

#define CUDA_TABLE(X) /* C name, exported name, arguments */                   \
    X(cuInit, cuInit, (unsigned))                                              \
    X(cuDeviceGet, cuDeviceGet, (CUdevice *, int))                             \
    X(cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice))               \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, CUdevice))      \
    X(cuDriverGetVersion, cuDriverGetVersion, (int *))                         \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                      \
      (CUcontext *, CUdevice))                                                 \
    X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                           \
    X(cuModuleLoad, cuModuleLoad, (CUmodule *, const char *))                  \
    X(cuModuleGetFunction, cuModuleGetFunction,                                \
      (CUfunction *, CUmodule, const char *))                                  \
    X(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))          \
    X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                      \
    X(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                  \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))      \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))            \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, (CUdeviceptr, CUdeviceptr, size_t))       \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                 \
      (CUdeviceptr, CUdeviceptr, size_t, CUstream))                            \
    X(cuMemsetD8, cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))         \
    X(cuLaunchKernel, cuLaunchKernel,                                          \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, CUstream, void **, void **))                                  \
    X(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))                  \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int))          \
    X(cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *))           \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,                \
      (CUgraphExec *, CUgraph, unsigned long long))                            \
    X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                   \
    X(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                   \
    X(cuGraphDestroy, cuGraphDestroy, (CUgraph))                               \
    X(cuCtxSynchronize, cuCtxSynchronize, (void))                              \
    X(cuEventCreate, cuEventCreate, (CUevent *, unsigned))                     \
    X(cuEventRecord, cuEventRecord, (CUevent, CUstream))                       \
    X(cuEventSynchronize, cuEventSynchronize, (CUevent))                       \
    X(cuEventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))     \
    X(cuGetErrorName, cuGetErrorName, (CUresult, const char **))

struct cuda_api {
#define CUDA_MEMBER(name, exported, args) CUresult(*name) args;
    CUDA_TABLE(CUDA_MEMBER)
#undef CUDA_MEMBER
};

extern struct cuda_api cuda;

/* Fills the table; ends the program without a driver. */
void bench_bind_cuda(void);
/* Ends the program if a call has failed. */
void bench_check(CUresult result, const char *what);
#define BENCH_CHECK(call) bench_check((call), #call)

#endif
