/*
 * gguf_formats.h - the types of GGUF tensors, a row each
 *
 * Every list follows from these rows: the exported kernels (quantized.hip,
 * mmvq_gguf.hip, moe.hip, low_bit.hip), their launch shapes (quantized.csv.c),
 * the rows of their tests and benchmarks, the types that the language model
 * reads (src/model/gguf.c) and its tests make, and those that the backend of
 * llama.cpp takes (src/ggml/launch.c). A new format is a row here, a struct in
 * kernels/include/gguf that describes its blocks, and its elements in plain C
 * in tests/kernels/gguf_ref.c.
 *
 *   name lower short   the format in the names of exported kernels, which
 *                      callers spell in three ways
 *   type               the struct; also the name that GGUF's tools print
 *   no.                the type's number in a file, as in ggml's enum ggml_type
 *   elements, bytes    of a block
 *   d, m               offsets of the f16 scales in a block, -1: none
 *   tiled              the struct that tiled products use
 *   column             how the product with an f32 column is called:
 *                        cuda   its name ends in _cuda
 *                        plain  it does not
 *                        grid   the same, and it has no argument nrows
 *   counts             the unit of dequantize_block_'s last argument: blocks,
 *                      elements, or nothing without such an argument
 *   threads, elems     of a workgroup of dequantize_block_ as launched
 *   join               workgroups of dequantize_block_ joined into one
 *   threads, columns   of a workgroup of get_rows_
 *   rows, cols         of a workgroup's tile in tiled products
 *   passes             over the tile's columns, if a single pass would run out
 *                      of registers
 *
 * The launch shapes are the callers', the same on every target. On AMD's GPUs
 * kernels/quantized.csv.c recommends finer grids for few columns.
 */
#ifndef KPK_GGUF_FORMATS_H
#define KPK_GGUF_FORMATS_H

/* clang-format off */
#define GGUF_WEIGHTS(X)                                                                                                          \
    /*                                a block                                     dequantize_block_     get_rows_  tile       */ \
    /* name   lower   short   type   no. el.  by.   d   m  tiled           column counts    th.  el. j.  th.  co.  r.   c. p. */ \
    X(q4_0,   q4_0,   q4_0,   Q4_0,    2,  32,  18,   0, -1, Q4_0,         cuda,  blocks,    32, 256, 4, 256, 512, 128,  64, 1)  \
    X(q4_1,   q4_1,   q4_1,   Q4_1,    3,  32,  20,   0,  2, Q4_1,         cuda,  blocks,    32, 256, 4, 256, 512, 128,  64, 1)  \
    X(q5_0,   q5_0,   q5_0,   Q5_0,    6,  32,  22,   0, -1, Q5_0_centred, cuda,  elements, 256, 512, 8, 256, 512,  64, 128, 1)  \
    X(q5_1,   q5_1,   q5_1,   Q5_1,    7,  32,  24,   0,  2, Q5_1,         cuda,  elements, 256, 512, 8, 256, 512,  64, 128, 1)  \
    X(q8_0,   q8_0,   q8_0,   Q8_0,    8,  32,  34,   0, -1, Q8_0,         cuda,  blocks,    32, 256, 4, 256, 512,  64, 128, 1)  \
    X(q2_K,   q2_k,   q2k,    Q2_K,   10, 256,  84,  80, 82, Q2_K_folded,  plain, nothing,   64, 256, 4,  64, 256, 128,  64, 1)  \
    X(q3_K,   q3_k,   q3k,    Q3_K,   11, 256, 110, 108, -1, Q3_K_folded,  plain, nothing,   64, 256, 4,  64, 256, 128, 128, 2)  \
    X(q4_K,   q4_k,   q4k,    Q4_K,   12, 256, 144,   0,  2, Q4_K,         plain, nothing,   32, 256, 4,  32, 256, 128,  64, 1)  \
    X(q5_K,   q5_k,   q5k,    Q5_K,   13, 256, 176,   0,  2, Q5_K,         grid,  nothing,   64, 256, 4,  64, 256, 128,  64, 1)  \
    X(q6_K,   q6_k,   q6k,    Q6_K,   14, 256, 210, 208, -1, Q6_K,         plain, nothing,   64, 256, 4,  64, 256,  64,  64, 1)  \
    X(iq4_nl, iq4_nl, iq4_nl, IQ4_NL, 20,  32,  18,   0, -1, IQ4_NL,       cuda,  blocks,    32, 256, 4, 256, 512, 128,  64, 1)  \
    X(iq4_xs, iq4_xs, iq4_xs, IQ4_XS, 23, 256, 136,   0, -1, IQ4_XS,       plain, nothing,   32, 256, 4,  32, 256, 128,  64, 1)  \
    X(mxfp4,  mxfp4,  mxfp4,  MXFP4,  39,  32,  17,  -1, -1, MXFP4,        cuda,  blocks,    32, 256, 4, 256, 512, 128,  64, 1)

/* weights that are numbers, which have no blocks: name, type, no., bytes, and
 * the same columns of dequantize_block_, get_rows_ and the tile. Their products
 * take f32 columns. */
#define GGUF_FLOAT_WEIGHTS(X)                            \
    X(bf16, BF16, 30, 2, 256, 512, 8, 256, 256, 64, 64)  \
    X(f16,  F16,   1, 2, 256, 512, 8, 256, 256, 64, 64)

/* formats that are only turned into numbers: name, type, no., elements,
 * bytes, d, m, and the columns of dequantize_block_ */
#define GGUF_NUMBERS(X) \
    X(q8_K, Q8_K, 15, 256, 292, -1, -1, nothing, 32, 256, 4)

/* weights of one to four bits, module low_bit: the same columns */
#define GGUF_LOW_BIT(X)                                              \
    X(iq2_xxs, IQ2_XXS, 16, 256,  66,  0, -1, elements, 64, 256, 4)  \
    X(iq2_xs,  IQ2_XS,  17, 256,  74,  0, -1, elements, 64, 256, 4)  \
    X(iq3_xxs, IQ3_XXS, 18, 256,  98,  0, -1, elements, 64, 256, 4)  \
    X(iq1_s,   IQ1_S,   19, 256,  50,  0, -1, elements, 64, 256, 4)  \
    X(iq3_s,   IQ3_S,   21, 256, 110,  0, -1, elements, 64, 256, 4)  \
    X(iq2_s,   IQ2_S,   22, 256,  82,  0, -1, elements, 64, 256, 4)  \
    X(iq1_m,   IQ1_M,   29, 256,  56, -1, -1, elements, 64, 256, 4)  \
    X(tq1_0,   TQ1_0,   34, 256,  54, 52, -1, elements, 64, 256, 4)  \
    X(tq2_0,   TQ2_0,   35, 256,  66, 64, -1, elements, 64, 256, 4)  \
    X(nvfp4,   NVFP4,   40,  64,  36, -1, -1, elements, 64, 256, 4)

/* types that no kernel here reads: type, no., elements, bytes */
#define GGUF_OTHER_TYPES(X)    \
    X(Q8_1,     9,  32,  36)   \
    X(I8,      24,   1,   1)   \
    X(I16,     25,   1,   2)   \
    X(I32,     26,   1,   4)   \
    X(I64,     27,   1,   8)   \
    X(F64,     28,   1,   8)
/* clang-format on */

/* elements in a unit of the counting argument; 0: no such argument */
#define GGUF_UNIT_blocks 32
#define GGUF_UNIT_elements 1
#define GGUF_UNIT_nothing 0

/* Products of blocks read columns as Q8_1, in rows of a multiple of 512
 * elements: zeros stand behind a column's own. */
#define GGUF_Q8_1_COLUMNS(columns) (((columns) + 511) / 512 * 512)
#define GGUF_Q8_1_NBYTES(columns) (GGUF_Q8_1_COLUMNS(columns) / 32 * 36)

#endif
