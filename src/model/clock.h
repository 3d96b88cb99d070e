/* clock.h - a clock that is never set */
#ifndef MODEL_CLOCK_H
#define MODEL_CLOCK_H

#include <time.h>

static inline double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
