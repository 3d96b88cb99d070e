/* clock.c - the clocks that kernels can read */
#include "clock.h"

#include <time.h>

static uint64_t ticks(uint32_t khz)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * khz +
           (uint64_t)t.tv_nsec * khz / 1000000;
}

uint64_t sim_realtime(void)
{
    return ticks(100000);
}

uint64_t sim_shader_clock(const struct sim_target *target)
{
    return ticks(target->product->clock_khz);
}
