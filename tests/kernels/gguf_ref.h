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

#include "base/gguf_formats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* by the types' numbers in files */
enum gguf_id {
#define GGUF_WEIGHTS_ID(name, lower, short, type, number, ...)                 \
    GGUF_##type = number,
#define GGUF_NUMBERS_ID(name, type, number, ...) GGUF_##type = number,
    GGUF_WEIGHTS(GGUF_WEIGHTS_ID) GGUF_NUMBERS(GGUF_NUMBERS_ID)
        GGUF_LOW_BIT(GGUF_NUMBERS_ID)
};

enum gguf_bias {
    GGUF_NO_BIAS,
    GGUF_BIAS_S,    /* the stored sum s of each Q8_1 block */
    GGUF_BIAS_QUANT /* each d * q */
};

struct gguf_element {
    double scale, bias;
    int quant;
};

struct gguf_format {
    const char *name;
    size_t elems, nbytes;
    int d, m;           /* offsets of the f16 scales, -1: none */
    size_t align;       /* alignment of a block in an array */
    enum gguf_bias vec; /* in mat-vec and expert products */
    enum gguf_bias tile;
    double least;  /* m / d of blocks whose numbers are around 0 */
    bool exponent; /* byte 0 is the scale's exponent */
    struct gguf_element (*element)(const uint8_t *block, size_t e);
};

/* NULL: gguf_formats.h has no blocks with this number. */
const struct gguf_format *gguf_format_of(uint32_t number);

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
