/* hip_types.h - stand-ins for the HIP types that hip_api.h names
 *
 * kpack is built without HIP's headers. Handles are pointers to types that
 * stay incomplete and enumerations are ints, as HIP's ABI has them on every
 * platform that it runs on; tests/unit/test_hip_types.c holds the function
 * types against the real header's.
 */
#ifndef KPK_HIP_TYPES_H
#define KPK_HIP_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
typedef int hipMemcpyKind;
typedef int hipJitOption;
typedef int hipFunction_attribute;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct textureReference textureReference;

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
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorNotFound = 500,
    hipErrorNotSupported = 801,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2
};

#endif
