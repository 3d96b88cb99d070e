/* gguf_ref.h - the GGUF block formats, element by element, for tests
 *
 * Written from the formats' bit layout and in double precision; the kernels
 * share none of it. An element of a block is
 *
 *     scale * quant + bias
 *
 * with an integer quant. A product with Q8_1 activations multiplies scale *
 * quant with d * q of the activation. The factor of the bias differs between
 * formats and kernels: enum gguf_bias.
 */
#ifndef GGUF_REF_H
#define GGUF_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gguf_id {
    GGUF_Q4_0,
    GGUF_Q4_1,
    GGUF_Q5_0,
    GGUF_Q5_1,
    GGUF_Q8_0,
    GGUF_Q2_K,
    GGUF_Q3_K,
    GGUF_Q4_K,
    GGUF_Q5_K,
    GGUF_Q6_K,
    GGUF_Q8_K,
    GGUF_IQ4_NL,
    GGUF_IQ4_XS,
    GGUF_MXFP4,
    GGUF_NFORMATS
};

enum gguf_bias {
    GGUF_NO_BIAS,
    GGUF_BIAS_S,    /* the stored sum s of each Q8_1 block */
    GGUF_BIAS_QUANT /* each d * q */
};

struct gguf_format {
    const char *name;
    size_t elems, nbytes;
    size_t align;       /* alignment of a block in an array */
    int d, m;           /* offsets of the f16 scales, -1: none */
    enum gguf_bias vec; /* in mat-vec and expert products */
    enum gguf_bias tile;
};

extern const struct gguf_format gguf_formats[GGUF_NFORMATS];

struct gguf_element {
    double scale, bias;
    int quant;
};

struct gguf_element gguf_element(enum gguf_id id, const uint8_t *block,
                                 size_t e);

/* n elements of consecutive blocks as numbers, rounded to f32 once. */
void gguf_dequantize(enum gguf_id id, const uint8_t *blocks, size_t n,
                     float *out);

/* ---- data ---- */

enum gguf_data {
    GGUF_RANDOM,   /* any quants, moderate scales */
    GGUF_CODES,    /* 256 blocks: every byte has every value */
    GGUF_ZERO,     /* all bytes zero */
    GGUF_EXTREME,  /* quants and inner scales all ones, or the most negative */
    GGUF_TINY,     /* any quants; the smallest scales */
    GGUF_SCALES,   /* any quants; zero, subnormal, negative, largest scales */
    GGUF_NONFINITE /* any quants; NaN and infinite scales among moderate ones */
};

void gguf_fill(enum gguf_id id, uint8_t *blocks, size_t nblocks,
               enum gguf_data what, uint64_t seed);

/* ---- Q8_1 ---- */

#define Q8_1_ELEMS 32
#define Q8_1_NBYTES 36

/* kx values, padded with zeros to kx_padded, a multiple of 32. */
void q8_1_quantize(const float *x, size_t kx, size_t kx_padded, uint8_t *out);
/* The same with d times the quants' sum for the numbers' sum. */
void q8_1_quantize_quants(const float *x, size_t kx, size_t kx_padded,
                          uint8_t *out);

/* ---- products ---- */

/* A row of weights, taken apart; both arrays are [n]. */
struct gguf_row {
    double *main; /* scale * quant */
    double *bias;
    size_t n;
    enum gguf_bias kind;
};

/* tile: as tiled products see it. Free main and bias. */
struct gguf_row gguf_row(enum gguf_id id, const uint8_t *blocks, size_t n,
                         bool tile);
void gguf_row_free(struct gguf_row *row);

struct gguf_sum {
    double value;
    double size; /* the same with every term made positive */
};

/* row times the Q8_1 blocks y */
struct gguf_sum gguf_product(const struct gguf_row *row, const uint8_t *y);
/* row, dequantized, times numbers */
struct gguf_sum gguf_float_product(const struct gguf_row *row, const float *x);
/* How far the former may be from the latter, y being x quantized. */
double gguf_quantization_error(const struct gguf_row *row, const float *x);

#endif
