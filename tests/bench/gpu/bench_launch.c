/* bench_launch.c - arguments of launches, random numbers, the end on a fault */
#define _GNU_SOURCE
#include "bench_launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_arg(struct bench_launch *launch, uint64_t value)
{
    if (launch->nargs == BENCH_MAX_ARGS)
        bench_die("bench_arg", "too many arguments in one row");
    launch->args[launch->nargs++] = value;
}

void bench_arg_f32(struct bench_launch *launch, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, 4);
    bench_arg(launch, bits);
}

uint32_t bench_next_random(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13; /* Marsaglia's xorshift64 */
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

void bench_die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}
