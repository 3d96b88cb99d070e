/* hip_occupancy.h - functions' attributes, blocks that fit a multiprocessor */
#ifndef SIM_HIP_OCCUPANCY_H
#define SIM_HIP_OCCUPANCY_H

#include "abi.h"

#include <stddef.h>

int occupancy_blocks(hipFunction_t function, int block, size_t dynamic);

/* The work of hipFuncGetAttribute() and hipFuncSetAttribute(). */
hipError_t kernel_attribute(hipFunction_t function, int which, int *value);
hipError_t kernel_set_attribute(hipFunction_t function, int which, int value);

#endif
