/* gpu_bench.h - times kernels on a GPU as a share of its own copy speed
 *
 * A row names a kernel of a module and a function that prepares its launch:
 * buffers, arguments, grid and the bytes that it must move. The benchmark
 * loads build/hsaco/sm_NN/MODULE.cubin, launches each row a few times
 * untimed, then times launches one by one with events and takes the median.
 * The copy ceiling is measured in the same run: a device-to-device copy of
 * 1 GiB by the driver.
 *
 * The cases of this program are large. The launches of real models are timed by
 * shapes.c.
 */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "bench_launch.h"

#include <stddef.h>
#include <stdint.h>

struct bench_row {
    const char *module, *symbol;
    const char *label; /* tells rows with the same symbol apart */
    void (*prepare)(struct bench_launch *launch, const struct bench_row *row);
    long p[8]; /* parameters for prepare */
};

/*
 * BENCH_ROW is a row. BENCH_BOTH is two: the kernel, and a plain version of it
 * in tests/bench/gpu/PLAIN.hip, timed one after the other.
 */
#define BENCH_ROW(module, symbol, label, ...)                                  \
    {                                                                          \
        module, symbol, label, __VA_ARGS__                                     \
    }
#define BENCH_BOTH(module, plain, symbol, label, ...)                          \
    BENCH_ROW(module, symbol, label, __VA_ARGS__),                             \
        BENCH_ROW(plain, symbol, label ", plain", __VA_ARGS__)

/* Device memory until the end of the row; exits with a sentence if there is
 * none. bench_random() holds random numbers that the type can hold. */
enum bench_type {
    BENCH_U8,
    BENCH_U32,
    BENCH_I64,
    BENCH_F16,
    BENCH_BF16,
    BENCH_F32,
    BENCH_F64
};
size_t bench_size(enum bench_type type);
uint64_t bench_empty(size_t nbytes);
uint64_t bench_random(enum bench_type type, size_t n);
uint64_t bench_upload(const void *data, size_t nbytes);
/* Random bytes, each masked: for packed formats. `f16_at` >= 0 puts a small
 * f16 number at that offset of each block of `block` bytes (twice if 2). */
uint64_t bench_blocks(size_t nblocks, size_t block, int f16_at, int nf16);

/* The tables, one a family; each ends with a row whose symbol is NULL. */
extern const struct bench_row bench_elementwise[];
extern const struct bench_row bench_indexing[];
extern const struct bench_row bench_conv[];
extern const struct bench_row bench_reduce[];
extern const struct bench_row bench_quantized[];

#endif
