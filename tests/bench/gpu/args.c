/* args.c - a launch's arguments, for the GPU's benchmark and for bounds.c */
#include "gpu_bench.h"

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
