/* hip_copy_driver.h - boxes as the driver's structure has them */
#ifndef SIM_HIP_COPY_DRIVER_H
#define SIM_HIP_COPY_DRIVER_H

#include "abi.h"

/* A box from the driver's structure and back. */
hipError_t copy_box_from_driver(const HIP_MEMCPY3D *p, hipMemcpy3DParms *box);
void copy_box_to_driver(const hipMemcpy3DParms *box, HIP_MEMCPY3D *p);

#endif
