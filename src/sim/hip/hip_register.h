/* hip_register.h - kernels and variables of programs, from their fat binaries
 */
#ifndef SIM_HIP_REGISTER_H
#define SIM_HIP_REGISTER_H

#include "kernel_op.h"

/* A `__global__` function's stub on a device. */
hipError_t registered_function(const void *stub, struct device *device,
                               hipFunction_t *out);
/* A `__device__` variable's host shadow on the current device. */
hipError_t registered_variable(const void *shadow, uint64_t *address,
                               uint64_t *size);
/* Launches a `__global__` function; takes over the reference to the queue. */
hipError_t registered_launch(const void *stub, dim3 grid, dim3 block,
                             size_t shared, struct launch *l,
                             struct queue *queue);
void registered_shutdown(void);

#endif
