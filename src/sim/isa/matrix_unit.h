/* matrix_unit.h - formats and operands of MFMA, SMFMAC and WMMA */
#ifndef SIM_ISA_MATRIX_UNIT_H
#define SIM_ISA_MATRIX_UNIT_H

#include "minifloat.h"
#include "vop.h"

enum matrix_format {
    FMT_FP8,
    FMT_BF8,
    FMT_FP6,
    FMT_BF6,
    FMT_FP4, /* so far as cbsz and blgp number them in f8f6f4 */
    FMT_F32,
    FMT_XF32, /* f32 of which 10 bits of the mantissa count */
    FMT_F16,
    FMT_BF16,
    FMT_F64,
    FMT_I8,
    FMT_U8,
    FMT_I4,
    FMT_U4,
    FMT_I32
};

struct matrix {
    uint8_t m, n, k, blocks;
    uint8_t a, b, d; /* enum matrix_format; C is of D's */
};

unsigned sim_format_bits(enum matrix_format format);

/* Reads element `index` from one lane's registers, elements of `bits` bits. */
uint64_t sim_tuple_element(struct wave *w, const struct operand *o,
                           unsigned lane, unsigned index, unsigned bits);

/* An element of a floating-point format as the number that it stands for. */
float sim_format_f32(const struct wave *w, enum matrix_format format,
                     uint64_t bits);

/* ---- whole operands ----
 *
 * Lanes hold A and B so that, for one k, the rows of A (columns of B) are
 * neighbours: one element of lanes in a row. So an operand is unpacked once,
 * element by element, and a product takes a pointer into it for each k.
 */

enum { MATRIX_ELEMENTS = 32, MATRIX_K = 128, MATRIX_SIDE = 32 };

/* Elements of lanes, as numbers: v[element][lane]. */
struct elements_f32 {
    float v[MATRIX_ELEMENTS][MAX_LANES];
};
struct elements_i32 {
    int32_t v[MATRIX_ELEMENTS][MAX_LANES];
};

/* The first n elements of all lanes. */
void sim_unpack_f32(struct wave *w, const struct operand *o,
                    enum matrix_format format, unsigned n,
                    struct elements_f32 *to);
void sim_unpack_i32(struct wave *w, const struct operand *o,
                    enum matrix_format format, unsigned n,
                    struct elements_i32 *to);

/* acc[i * n + j] += a[k][i] * b[k][j]: in the order of k, fused. n is 4, 16
 * or 32. */
void sim_multiply_f32(unsigned m, unsigned n, unsigned nk,
                      const float *const *a, const float *const *b, float *acc);
void sim_multiply_i32(unsigned m, unsigned n, unsigned nk,
                      const int32_t *const *a, const int32_t *const *b,
                      int32_t *acc);

#endif
