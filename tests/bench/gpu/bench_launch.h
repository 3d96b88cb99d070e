/* bench_launch.h - a launch to be timed or counted, for bench-gpu and
 * bench-bounds */
#ifndef BENCH_GPU_LAUNCH_H
#define BENCH_GPU_LAUNCH_H

#include <stdint.h>

#define BENCH_MAX_ARGS 40

struct bench_launch {
    unsigned grid[3], block[3];
    unsigned shared_nbytes;
    uint64_t args[BENCH_MAX_ARGS]; /* each in the low bytes of its slot */
    unsigned nargs;
    double nbytes; /* bytes to be read and written */
    double nops;   /* arithmetic operations; 0: bound by memory */
};

/* Adds an argument of 4 or 8 bytes, or a float. */
void bench_arg(struct bench_launch *launch, uint64_t value);
void bench_arg_f32(struct bench_launch *launch, float value);

/* A random number, the same ones in each run. */
uint32_t bench_next_random(void);

/* Says what went wrong, and ends the program. */
void bench_die(const char *what, const char *why) __attribute__((noreturn));

#endif
