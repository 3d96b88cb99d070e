/* visible.h - devices that a process sees */
#ifndef SIM_HIP_VISIBLE_H
#define SIM_HIP_VISIBLE_H

#include "process_state.h"

/* Ordinals of the simulator, in HIP's order; returns their number. */
int visible_devices(int list[MAX_DEVICES]);

void device_uuid(const struct sim_device *d, char out[16]);

#endif
