/*
 * formats.h - the GGUF formats that weights have, a row each
 *
 * Every list follows from these rows: the exported kernels (quantized.hip,
 * mmvq_gguf.hip, moe.hip), their launch shapes (quantized.csv.c) and the rows
 * of their tests. A new format is a row here, a struct in legacy.h, k.h or
 * codes.h that describes its blocks, and its elements in plain C in
 * tests/kernels/gguf_ref.c. Plain C reads this file, too.
 *
 *   name lower short   the format in the names of exported kernels, which
 *                      callers spell in three ways
 *   type               the struct
 *   tiled              the struct that tiled products use
 *   column             how the product with an f32 column is called:
 *                        cuda   its name ends in _cuda
 *                        plain  it does not
 *                        grid   the same, and it has no argument nrows
 *   experts            yes: there is a product for mixtures of experts
 *   counts             the unit of dequantize_block_'s last argument: blocks,
 *                      elements, or nothing without such an argument
 *   threads, elems     of a workgroup of dequantize_block_ as launched
 *   join               workgroups of dequantize_block_ joined into one
 *   threads, columns   of a workgroup of get_rows_
 *   rows, cols         of a workgroup's tile in tiled products
 *   passes             over the tile's columns, if a single pass would run out
 *                      of registers
 *
 * The launch shapes are the callers', and the same on every target.
 */
#pragma once

/* clang-format off */
#define GGUF_WEIGHTS(X)                                                                                             \
    /*                                                                    dequantize_  get_rows_ tile            */ \
    /* name   lower   short   type    tiled         column experts counts     th.  el. j.  th. cols   r.   c. p. */ \
    X(q4_0,   q4_0,   q4_0,   Q4_0,   Q4_0,         cuda,  no,  blocks,    32, 256, 4, 256, 512, 128,  64,  1)      \
    X(q4_1,   q4_1,   q4_1,   Q4_1,   Q4_1,         cuda,  no,  blocks,    32, 256, 4, 256, 512, 128,  64,  1)      \
    X(q5_0,   q5_0,   q5_0,   Q5_0,   Q5_0_centred, cuda,  no,  elements, 256, 512, 8, 256, 512,  64, 128,  1)      \
    X(q5_1,   q5_1,   q5_1,   Q5_1,   Q5_1,         cuda,  no,  elements, 256, 512, 8, 256, 512,  64, 128,  1)      \
    X(q8_0,   q8_0,   q8_0,   Q8_0,   Q8_0,         cuda,  yes, blocks,    32, 256, 4, 256, 512,  64, 128,  1)      \
    X(q2_K,   q2_k,   q2k,    Q2_K,   Q2_K_folded,  plain, yes, nothing,   64, 256, 4,  64, 256, 128,  64,  1)      \
    X(q3_K,   q3_k,   q3k,    Q3_K,   Q3_K_folded,  plain, yes, nothing,   64, 256, 4,  64, 256, 128, 128,  2)      \
    X(q4_K,   q4_k,   q4k,    Q4_K,   Q4_K,         plain, yes, nothing,   32, 256, 4,  32, 256, 128,  64,  1)      \
    X(q5_K,   q5_k,   q5k,    Q5_K,   Q5_K,         grid,  yes, nothing,   64, 256, 4,  64, 256, 128,  64,  1)      \
    X(q6_K,   q6_k,   q6k,    Q6_K,   Q6_K,         plain, yes, nothing,   64, 256, 4,  64, 256,  64,  64,  1)      \
    X(iq4_nl, iq4_nl, iq4_nl, IQ4_NL, IQ4_NL,       cuda,  yes, blocks,    32, 256, 4, 256, 512, 128,  64,  1)      \
    X(iq4_xs, iq4_xs, iq4_xs, IQ4_XS, IQ4_XS,       plain, yes, nothing,   32, 256, 4,  32, 256, 128,  64,  1)      \
    X(mxfp4,  mxfp4,  mxfp4,  MXFP4,  MXFP4,        cuda,  yes, blocks,    32, 256, 4, 256, 512, 128,  64,  1)

/* weights in floats, without blocks: type, and the columns of dequantize_block_,
 * get_rows_ and the tile as above. Their products take f32 columns. */
#define GGUF_FLOAT_WEIGHTS(X)                 \
    X(bf16, 256, 512, 8, 256, 256, 64, 64)    \
    X(f16,  256, 512, 8, 256, 256, 64, 64)

/* formats that are dequantized and never multiplied: name, type, and the columns
 * of dequantize_block_ as above */
#define GGUF_NUMBERS(X) \
    X(q8_K, Q8_K, nothing, 32, 256, 4)
/* clang-format on */

/* elements in a unit of the counting argument; 0: no such argument */
#define GGUF_UNIT_blocks 32
#define GGUF_UNIT_elements 1
#define GGUF_UNIT_nothing 0
