/* hip_properties.h - a device's properties and attributes in HIP */
#ifndef SIM_HIP_PROPERTIES_H
#define SIM_HIP_PROPERTIES_H

#include "process_state.h"

/* HIP's multiprocessors: compute units, from gfx10 on pairs of compute units.
 */
uint32_t device_multiprocessors(const struct sim_target *t);
/* Most threads resident on one multiprocessor. */
uint32_t device_resident_threads(const struct sim_target *t);
/* Whether a device has images, and so arrays and textures. */
bool device_has_images(const struct device *device);
/* hipErrorNotSupported if the current device has none. */
hipError_t device_images_here(void);

#endif
