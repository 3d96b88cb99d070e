/* hip_api.h - the HIP functions that kpack calls, all of them, once
 *
 * A row: needed (its absence makes a HIP library useless to kpack) or not
 * (calls that want it fail with KPK_ERR_UNSUPPORTED), result type, name,
 * argument types. A call to a new function starts with a row here.
 *
 * The first table is in HIP since 4.2; rows of the second came later and are
 * absent from older headers and libraries.
 */
#ifndef KPK_HIP_API_H
#define KPK_HIP_API_H

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
    X(true,  hipError_t,   hipStreamSynchronize, (hipStream_t))                \
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

#endif
