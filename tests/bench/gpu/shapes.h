/* shapes.h - the launches of real models, from tests/bench/gpu/shapes.csv
 *
 * A row of the table names a kernel, a shape and the numbers of tokens to run
 * it with; shape_families[] says what a family's shape means and launches it as
 * candle's hosts do. `t` in a shape stands for the tokens: 32tx512 with 8
 * tokens is 256 x 512.
 */
#ifndef BENCH_GPU_SHAPES_H
#define BENCH_GPU_SHAPES_H

#include "bench_launch.h"

#include <stddef.h>
#include <stdint.h>

#define SHAPE_MAX_SIZES 6

struct shape {
    char kernel[64]; /* as exported */
    char layout[16]; /* layout of strided operands; "" for contiguous ones */
    char text[48];   /* the shape with its tokens put in */
    uint64_t n[SHAPE_MAX_SIZES];
    unsigned tokens;
};

/* n elements in blocks of Q8_1. */
static inline uint64_t shape_q8_1_nbytes(uint64_t n)
{
    return n / 32 * 36;
}

/* Weights of a launch, which leave the L2 between launches. */
struct shape_use {
    uint64_t weight_nbytes;
};

struct shape_family {
    const char *kernels; /* fnmatch() pattern; the first that fits is taken */
    unsigned nsizes;     /* numbers in the shape */
    void (*prepare)(struct bench_launch *launch, struct shape_use *use,
                    const struct shape *shape);
};

/* NULL if no family has the kernel. */
const struct shape_family *shape_family_of(const char *kernel);

/*
 * Memory for one launch, from a pool of random numbers that every float type
 * can hold. `kept` pieces are the same for all launches of a shape.
 */
uint64_t shape_memory(uint64_t nbytes);
uint64_t shape_kept(uint64_t nbytes);
/* The same with contents. */
uint64_t shape_upload(const void *data, size_t nbytes);
/* The launch's number within the shape: 0, 1, ... */
unsigned shape_turn(void);

/*
 * Times the rows of the table whose kernels fit `glob`, with the cubins of
 * folders[0] beside those of the other folders, in one run.
 */
int bench_shapes(const char *table, const char *glob,
                 const char *const *folders, unsigned nfolders);

/*
 * The launches of the whole table, without a GPU: kernel, number of arguments,
 * grid and block, a line each.
 */
int bench_list_shapes(const char *table);

#endif
