/* hip_api.h - the HIP functions that kpack calls, all of them, once
 *
 * kpack is built without HIP's headers, so the types of the functions are here,
 * too. Handles are pointers to types that stay incomplete and enumerations are
 * ints, as HIP's ABI has them on every platform that it runs on.
 * tests/unit/test_hip_types.c holds the rows against the real header, and so
 * defines KPK_HIP_ROWS_ALONE.
 *
 * A row: needed (its absence makes a HIP library useless to kpack) or not
 * (calls that want it fail with KPK_ERR_UNSUPPORTED), result type, name,
 * argument types. A call to a new function starts with a row here.
 *
 * The first table is in HIP since 5.2 at the latest; rows of the second came
 * later and are absent from older headers and libraries.
 */
#ifndef KPK_HIP_API_H
#define KPK_HIP_API_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define KPK_HIP_TABLE(X)                                                       \
    X(true,  hipError_t,   hipRuntimeGetVersion, (int *))                      \
    X(true,  const char *, hipGetErrorName, (hipError_t))                      \
    X(true,  const char *, hipGetErrorString, (hipError_t))                    \
    X(true,  hipError_t,   hipGetDeviceCount, (int *))                         \
    X(true,  hipError_t,   hipGetDevice, (int *))                              \
    X(true,  hipError_t,   hipSetDevice, (int))                                \
    X(true,  hipError_t,   hipGetDeviceProperties, (hipDeviceProp_t *, int))   \
    X(true,  hipError_t,   hipDeviceSynchronize, (void))                       \
    X(true,  hipError_t,   hipModuleLoadData, (hipModule_t *, const void *))   \
    X(true,  hipError_t,   hipModuleUnload, (hipModule_t))                     \
    X(true,  hipError_t,   hipModuleGetFunction,                               \
      (hipFunction_t *, hipModule_t, const char *))                            \
    X(true,  hipError_t,   hipModuleLaunchKernel,                              \
      (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned,        \
       unsigned, unsigned, hipStream_t, void **, void **))                     \
    X(true,  hipError_t,   hipMalloc, (void **, size_t))                       \
    X(true,  hipError_t,   hipFree, (void *))                                  \
    X(true,  hipError_t,   hipMemcpy,                                          \
      (void *, const void *, size_t, hipMemcpyKind))                           \
    X(true,  hipError_t,   hipMemset, (void *, int, size_t))                   \
    X(true,  hipError_t,   hipExtMallocWithFlags,                              \
      (void **, size_t, unsigned))                                             \
    X(true,  hipError_t,   hipDeviceCanAccessPeer, (int *, int, int))          \
    X(true,  hipError_t,   hipDeviceEnablePeerAccess, (int, unsigned))         \
    X(true,  hipError_t,   hipStreamSynchronize, (hipStream_t))                \
    X(true,  hipError_t,   hipStreamCreateWithFlags,                           \
      (hipStream_t *, unsigned))                                               \
    X(true,  hipError_t,   hipStreamDestroy, (hipStream_t))                    \
    X(true,  hipError_t,   hipStreamQuery, (hipStream_t))                      \
    X(true,  hipError_t,   hipStreamWaitEvent,                                 \
      (hipStream_t, hipEvent_t, unsigned))                                     \
    X(true,  hipError_t,   hipEventCreateWithFlags, (hipEvent_t *, unsigned))  \
    X(true,  hipError_t,   hipEventDestroy, (hipEvent_t))                      \
    X(true,  hipError_t,   hipEventRecord, (hipEvent_t, hipStream_t))          \
    X(true,  hipError_t,   hipEventQuery, (hipEvent_t))                        \
    X(true,  hipError_t,   hipEventSynchronize, (hipEvent_t))                  \
    X(true,  hipError_t,   hipEventElapsedTime,                                \
      (float *, hipEvent_t, hipEvent_t))                                       \
    X(true,  hipError_t,   hipMemcpyAsync,                                     \
      (void *, const void *, size_t, hipMemcpyKind, hipStream_t))              \
    X(true,  hipError_t,   hipMemcpyPeerAsync,                                 \
      (void *, int, const void *, int, size_t, hipStream_t))                   \
    X(true,  hipError_t,   hipMemsetAsync,                                     \
      (void *, int, size_t, hipStream_t))                                      \
    X(true,  hipError_t,   hipHostMalloc, (void **, size_t, unsigned))         \
    X(true,  hipError_t,   hipHostFree, (void *))                              \
    X(true,  hipError_t,   hipMemGetInfo, (size_t *, size_t *))                \
    X(true,  hipError_t,   hipDeviceGetAttribute,                              \
      (int *, hipDeviceAttribute_t, int))                                      \
    X(true,  hipError_t,   hipStreamBeginCapture,                              \
      (hipStream_t, hipStreamCaptureMode))                                     \
    X(true,  hipError_t,   hipStreamEndCapture, (hipStream_t, hipGraph_t *))   \
    X(true,  hipError_t,   hipGraphLaunch, (hipGraphExec_t, hipStream_t))      \
    X(true,  hipError_t,   hipGraphDestroy, (hipGraph_t))                      \
    X(true,  hipError_t,   hipGraphExecDestroy, (hipGraphExec_t))              \
    X(false, hipError_t,   hipGraphInstantiate,                                \
      (hipGraphExec_t *, hipGraph_t, hipGraphNode_t *, char *, size_t))        \
    X(false, hipError_t,   hipStreamIsCapturing,                               \
      (hipStream_t, hipStreamCaptureStatus *))                                 \
    X(false, hipError_t,   hipIpcGetMemHandle, (hipIpcMemHandle_t *, void *))  \
    X(false, hipError_t,   hipIpcOpenMemHandle,                                \
      (void **, hipIpcMemHandle_t, unsigned))                                  \
    X(false, hipError_t,   hipIpcCloseMemHandle, (void *))                     \
    X(false, hipError_t,   hipModuleLoadDataEx,                                \
      (hipModule_t *, const void *, unsigned, hipJitOption *, void **))        \
    X(false, hipError_t,   hipModuleGetGlobal,                                 \
      (void **, size_t *, hipModule_t, const char *))                          \
    X(false, hipError_t,   hipModuleGetTexRef,                                 \
      (textureReference **, hipModule_t, const char *))                        \
    X(false, hipError_t,   hipFuncGetAttribute,                                \
      (int *, hipFunction_attribute, hipFunction_t))                           \
    X(false, hipError_t,   hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, \
      (int *, hipFunction_t, int, size_t))                                     \
    X(false, hipError_t,   hipModuleOccupancyMaxPotentialBlockSize,            \
      (int *, int *, hipFunction_t, size_t, int))

#define KPK_HIP_NEWER_TABLE(X)                                                 \
    X(false, hipError_t,   hipGetDevicePropertiesR0600,                        \
      (hipDeviceProp_tR0600 *, int))                                           \
    X(false, hipError_t,   hipExtModuleLaunchKernel,                           \
      (hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,        \
       uint32_t, size_t, hipStream_t, void **, void **, hipEvent_t,            \
       hipEvent_t, uint32_t))                                                  \
    X(false, hipError_t,   hipModuleLaunchCooperativeKernel,                   \
      (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned,        \
       unsigned, unsigned, hipStream_t, void **))                              \
    X(false, hipError_t,   hipModuleLaunchCooperativeKernelMultiDevice,        \
      (hipFunctionLaunchParams *, unsigned, unsigned))
/* clang-format on */

#ifndef KPK_HIP_ROWS_ALONE

typedef int hipError_t;
typedef int hipMemcpyKind;
typedef int hipDeviceAttribute_t;
typedef int hipJitOption;
typedef int hipStreamCaptureMode;
typedef int hipStreamCaptureStatus;
typedef int hipFunction_attribute;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct textureReference textureReference;

/* Memory, for another process. */
typedef struct hipIpcMemHandle_st {
    char bytes[64];
} hipIpcMemHandle_t;

/* One kernel of a cooperative launch over several devices. */
typedef struct hipFunctionLaunchParams {
    hipFunction_t function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_nbytes;
    hipStream_t stream;
    void **params;
} hipFunctionLaunchParams;
_Static_assert(sizeof(hipFunctionLaunchParams) == 56 &&
                   offsetof(hipFunctionLaunchParams, shared_nbytes) == 32 &&
                   offsetof(hipFunctionLaunchParams, stream) == 40 &&
                   offsetof(hipFunctionLaunchParams, params) == 48,
               "HIP's hipFunctionLaunchParams, since 5.5");

/* Two layouts, read by offset: see hip_device.c. */
typedef struct hipDeviceProp_t hipDeviceProp_t;
typedef struct hipDeviceProp_tR0600 hipDeviceProp_tR0600;

/* The values that kpack looks at. They are the same in every release. */
enum {
    hipSuccess = 0,
    hipErrorOutOfMemory = 2,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidContext = 201,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorPeerAccessAlreadyEnabled = 704,
    hipErrorNotSupported = 801,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipDeviceMallocUncached = 3,
    hipIpcMemLazyEnablePeerAccess = 1 /* 0 before HIP 6 */
};

#endif /* KPK_HIP_ROWS_ALONE */

#endif
