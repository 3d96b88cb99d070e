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
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;

/* Two layouts, read by offset: see device.c. */
typedef struct hipDeviceProp_t hipDeviceProp_t;
typedef struct hipDeviceProp_tR0600 hipDeviceProp_tR0600;

/* The values that kpack looks at. They are the same in every release. */
enum {
    hipSuccess = 0,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2
};

#endif
