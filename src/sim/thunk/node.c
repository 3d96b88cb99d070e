/* node.c - the one clock, and which release asks */
#include "node.h"

#include <time.h>

bool thunk_is_dtif;

uint64_t thunk_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
