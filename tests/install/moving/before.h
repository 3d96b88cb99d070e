/* before.h - what the programs that call HIP themselves share */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIP(call)                                                              \
    do {                                                                       \
        hipError_t error_ = (call);                                            \
        if (error_ != hipSuccess) {                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,      \
                    hipGetErrorString(error_));                                \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#if HIP_VERSION < 50500000 /* newer than the header of HIP 5.2 */
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned shared,
                                            hipStream_t stream, void **params);
#endif
