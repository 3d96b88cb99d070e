/* hip_memory.h - memory that programs allocate */
#ifndef SIM_HIP_MEMORY_H
#define SIM_HIP_MEMORY_H

struct device;

/* Frees all that programs allocated on the device. */
void memory_free_device(const struct device *device);

#endif
