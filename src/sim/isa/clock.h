/* clock.h - the clocks that kernels can read */
#ifndef SIM_ISA_CLOCK_H
#define SIM_ISA_CLOCK_H

#include "../base/processor.h"

#include <stdint.h>

/* One at a constant 100 MHz, one at the rate of the device's shaders
 * (clockRate). */
uint64_t sim_realtime(void);
uint64_t sim_shader_clock(const struct sim_target *target);

#endif
