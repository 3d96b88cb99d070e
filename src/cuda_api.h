/* cuda_api.h - the functions of CUDA's driver that kpack calls, all of them
 *
 * A row: needed (its absence makes a libcuda useless to kpack) or not, name,
 * exported name, argument types. The exported names carry the version of the
 * signature, as cuda.h maps them. Every function returns a CUresult.
 */
#ifndef KPK_CUDA_API_H
#define KPK_CUDA_API_H

#include "hip_api.h"

#include <stddef.h>

/* Handles that HIP's callers hand on, unseen, are the same here. */
typedef hipError_t CUresult;
typedef hipModule_t CUmodule;
typedef hipFunction_t CUfunction;
typedef hipEvent_t CUevent;
typedef hipStream_t CUstream;
typedef hipGraph_t CUgraph;
typedef hipGraphExec_t CUgraphExec;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef hipIpcMemHandle_t CUipcMemHandle;
typedef struct CUctx_st *CUcontext;

/* The used part of cuda.h's CUlaunchAttribute and CUlaunchConfig. */
enum {
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

typedef struct CUlaunchAttribute {
    int id;
    int pad;
    union {
        unsigned cluster[3];
        int early;
        char all[64];
    } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned grid[3], block[3], shared_nbytes;
    CUstream stream;
    CUlaunchAttribute *attributes;
    unsigned nattributes;
} CUlaunchConfig;

/* clang-format off */
#define KPK_CUDA_TABLE(X)                                                     \
    X(true,  cuInit, cuInit, (unsigned))                                      \
    X(true,  cuDriverGetVersion, cuDriverGetVersion, (int *))                 \
    X(true,  cuGetErrorName, cuGetErrorName, (CUresult, const char **))       \
    X(true,  cuGetErrorString, cuGetErrorString, (CUresult, const char **))   \
    X(true,  cuDeviceGetCount, cuDeviceGetCount, (int *))                     \
    X(true,  cuDeviceGet, cuDeviceGet, (CUdevice *, int))                     \
    X(true,  cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice))       \
    X(true,  cuDeviceGetAttribute, cuDeviceGetAttribute,                      \
      (int *, int, CUdevice))                                                 \
    X(true,  cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice))     \
    X(true,  cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,              \
      (CUcontext *, CUdevice))                                                \
    X(true,  cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *))                 \
    X(true,  cuCtxGetDevice, cuCtxGetDevice, (CUdevice *))                    \
    X(true,  cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))              \
    X(true,  cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))              \
    X(true,  cuCtxSynchronize, cuCtxSynchronize, (void))                      \
    X(true,  cuModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))  \
    X(true,  cuModuleLoadDataEx, cuModuleLoadDataEx,                          \
      (CUmodule *, const void *, unsigned, int *, void **))                   \
    X(true,  cuModuleUnload, cuModuleUnload, (CUmodule))                      \
    X(true,  cuModuleGetFunction, cuModuleGetFunction,                        \
      (CUfunction *, CUmodule, const char *))                                 \
    X(true,  cuModuleGetGlobal, cuModuleGetGlobal_v2,                         \
      (CUdeviceptr *, size_t *, CUmodule, const char *))                      \
    X(true,  cuFuncGetAttribute, cuFuncGetAttribute,                          \
      (int *, int, CUfunction))                                               \
    X(true,  cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))  \
    X(true,  cuLaunchKernel, cuLaunchKernel,                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,          \
       unsigned, unsigned, CUstream, void **, void **))                       \
    X(false, cuLaunchKernelEx, cuLaunchKernelEx,                              \
      (const CUlaunchConfig *, CUfunction, void **, void **))                 \
    X(true,  cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))              \
    X(true,  cuMemFree, cuMemFree_v2, (CUdeviceptr))                          \
    X(true,  cuMemcpyHtoD, cuMemcpyHtoD_v2,                                   \
      (CUdeviceptr, const void *, size_t))                                    \
    X(true,  cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))    \
    X(true,  cuMemsetD8, cuMemsetD8_v2,                                       \
      (CUdeviceptr, unsigned char, size_t))                                   \
    X(true,  cuDeviceCanAccessPeer, cuDeviceCanAccessPeer,                    \
      (int *, CUdevice, CUdevice))                                            \
    X(true,  cuCtxEnablePeerAccess, cuCtxEnablePeerAccess,                    \
      (CUcontext, unsigned))                                                  \
    X(false, cuIpcGetMemHandle, cuIpcGetMemHandle,                            \
      (CUipcMemHandle *, CUdeviceptr))                                        \
    X(false, cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2,                       \
      (CUdeviceptr *, CUipcMemHandle, unsigned))                              \
    X(false, cuIpcCloseMemHandle, cuIpcCloseMemHandle, (CUdeviceptr))         \
    X(true,  cuStreamSynchronize, cuStreamSynchronize, (CUstream))            \
    X(true,  cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))          \
    X(true,  cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                 \
    X(true,  cuStreamQuery, cuStreamQuery, (CUstream))                        \
    X(true,  cuStreamWaitEvent, cuStreamWaitEvent,                            \
      (CUstream, CUevent, unsigned))                                          \
    X(true,  cuEventCreate, cuEventCreate, (CUevent *, unsigned))             \
    X(true,  cuEventDestroy, cuEventDestroy_v2, (CUevent))                    \
    X(true,  cuEventRecord, cuEventRecord, (CUevent, CUstream))               \
    X(true,  cuEventQuery, cuEventQuery, (CUevent))                           \
    X(true,  cuEventSynchronize, cuEventSynchronize, (CUevent))               \
    X(true,  cuEventElapsedTime, cuEventElapsedTime,                          \
      (float *, CUevent, CUevent))                                            \
    X(true,  cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                         \
      (CUdeviceptr, const void *, size_t, CUstream))                          \
    X(true,  cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                         \
      (void *, CUdeviceptr, size_t, CUstream))                                \
    X(true,  cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                         \
      (CUdeviceptr, CUdeviceptr, size_t, CUstream))                           \
    X(true,  cuMemcpyPeerAsync, cuMemcpyPeerAsync,                            \
      (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))     \
    X(true,  cuMemsetD8Async, cuMemsetD8Async,                                \
      (CUdeviceptr, unsigned char, size_t, CUstream))                         \
    X(true,  cuMemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))     \
    X(true,  cuMemFreeHost, cuMemFreeHost, (void *))                          \
    X(true,  cuMemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))             \
    X(true,  cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int))  \
    X(true,  cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *))   \
    X(true,  cuStreamIsCapturing, cuStreamIsCapturing, (CUstream, int *))     \
    X(true,  cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))           \
    X(true,  cuGraphDestroy, cuGraphDestroy, (CUgraph))                       \
    X(true,  cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))           \
    X(false, cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,        \
      (CUgraphExec *, CUgraph, unsigned long long))                           \
    X(false, cuLaunchCooperativeKernel, cuLaunchCooperativeKernel,            \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,          \
       unsigned, unsigned, CUstream, void **))                                \
    X(false, cuOccupancyMaxActiveBlocksPerMultiprocessor,                     \
      cuOccupancyMaxActiveBlocksPerMultiprocessor,                            \
      (int *, CUfunction, int, size_t))                                       \
    X(false, cuOccupancyMaxPotentialBlockSize,                                \
      cuOccupancyMaxPotentialBlockSize,                                       \
      (int *, int *, CUfunction, size_t (*)(int), size_t, int))

/* HIP functions, each with a CUDA function that takes the same arguments. All
 * other HIP functions have an adapter in cuda.c. */
#define KPK_CUDA_SAME_TABLE(X)                                                \
    X(hipRuntimeGetVersion, cuDriverGetVersion)                               \
    X(hipDeviceSynchronize, cuCtxSynchronize)                                 \
    X(hipModuleUnload, cuModuleUnload)                                        \
    X(hipFuncGetAttribute, cuFuncGetAttribute)                                \
    X(hipModuleLaunchCooperativeKernel, cuLaunchCooperativeKernel)            \
    X(hipStreamSynchronize, cuStreamSynchronize)                              \
    X(hipStreamCreateWithFlags, cuStreamCreate)                               \
    X(hipStreamDestroy, cuStreamDestroy)                                      \
    X(hipStreamQuery, cuStreamQuery)                                          \
    X(hipStreamWaitEvent, cuStreamWaitEvent)                                  \
    X(hipEventCreateWithFlags, cuEventCreate)                                 \
    X(hipEventDestroy, cuEventDestroy)                                        \
    X(hipEventRecord, cuEventRecord)                                          \
    X(hipEventQuery, cuEventQuery)                                            \
    X(hipEventSynchronize, cuEventSynchronize)                                \
    X(hipEventElapsedTime, cuEventElapsedTime)                                \
    X(hipHostMalloc, cuMemHostAlloc)                                          \
    X(hipHostFree, cuMemFreeHost)                                             \
    X(hipMemGetInfo, cuMemGetInfo)                                            \
    X(hipStreamBeginCapture, cuStreamBeginCapture)                            \
    X(hipStreamEndCapture, cuStreamEndCapture)                                \
    X(hipStreamIsCapturing, cuStreamIsCapturing)                              \
    X(hipGraphLaunch, cuGraphLaunch)                                          \
    X(hipGraphDestroy, cuGraphDestroy)                                        \
    X(hipGraphExecDestroy, cuGraphExecDestroy)                                \
    X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,                     \
      cuOccupancyMaxActiveBlocksPerMultiprocessor)
/* clang-format on */

#endif
