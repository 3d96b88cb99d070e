/* matrix.h - what MFMA, SMFMAC and WMMA have in common */
#ifndef SIM_ISA_MATRIX_H
#define SIM_ISA_MATRIX_H

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

/* Element `index` (each of `bits` bits) of one lane's registers. */
uint64_t sim_tuple_element(struct wave *w, const struct operand *o,
                           unsigned lane, unsigned index, unsigned bits);
void sim_tuple_set32(struct wave *w, const struct operand *o, unsigned lane,
                     unsigned index, uint32_t value);

/* An element as the number that it stands for (integers too). */
float sim_format_f32(const struct wave *w, enum matrix_format format,
                     uint64_t bits);
int32_t sim_format_i32(enum matrix_format format, uint64_t bits);

#endif
