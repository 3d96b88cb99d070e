/* float_weights.h - tests of f16 and bf16 weights, for rows of quantized.c */
#ifndef FLOAT_WEIGHTS_H
#define FLOAT_WEIGHTS_H

#include "harness.h"

/* A row's kernel, for weights of type row->a and results of type row->b. */
struct float_weights {
    unsigned threads, elems;           /* dequantize_block_'s workgroup */
    enum { WARP, COLUMNS, TILE } kind; /* of products */
    unsigned rows, cols;               /* a workgroup's, in a launch */
};

void run_floats_dequantize(struct kt *t, const struct kt_row *row);
void run_floats_product(struct kt *t, const struct kt_row *row);

/* clang-format off */
#define FLOATS_ROW(symbol, run, type, result, ...)                              \
    {symbol, run, type, result, &(const struct float_weights){__VA_ARGS__}},
#define FLOATS_COLUMNS(name, type, n, rows)                                     \
    FLOATS_ROW("mul_mat_vec_" name "_f32_cuda" #n, run_floats_product, type,    \
               KT_F32, 0, 0, COLUMNS, rows, n)
/* the rows of a type; the columns are those of GGUF_FLOAT_WEIGHTS */
#define FLOAT_WEIGHTS(name, type, threads, elems, tile_rows, tile_cols)         \
    FLOATS_ROW("dequantize_block_" name "_f32", run_floats_dequantize, type,    \
               KT_F32, threads, elems, WARP, 0, 0)                              \
    FLOATS_ROW("dequantize_block_" name "_f16", run_floats_dequantize, type,    \
               KT_F16, threads, elems, WARP, 0, 0)                              \
    FLOATS_ROW("dequantize_mul_mat_vec_" name, run_floats_product, type,        \
               KT_F32, 0, 0, WARP, 1, 1)                                        \
    FLOATS_COLUMNS(name, type, 1, 1)                                            \
    FLOATS_COLUMNS(name, type, 2, 2)                                            \
    FLOATS_COLUMNS(name, type, 3, 2)                                            \
    FLOATS_COLUMNS(name, type, 4, 2)                                            \
    FLOATS_COLUMNS(name, type, 5, 2)                                            \
    FLOATS_COLUMNS(name, type, 6, 2)                                            \
    FLOATS_COLUMNS(name, type, 7, 2)                                            \
    FLOATS_COLUMNS(name, type, 8, 2)                                            \
    FLOATS_ROW("mul_mat_" name, run_floats_product, type, KT_F32, 0, 0, TILE,   \
               tile_rows, tile_cols)
/* clang-format on */

#endif
