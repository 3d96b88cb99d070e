/* matrix.c - what MFMA, SMFMAC and WMMA have in common */
#include "matrix.h"

unsigned sim_format_bits(enum matrix_format format)
{
    static const uint8_t bits[] = {
        [FMT_FP8] = 8,   [FMT_BF8] = 8,  [FMT_FP6] = 6,   [FMT_BF6] = 6,
        [FMT_FP4] = 4,   [FMT_F32] = 32, [FMT_XF32] = 32, [FMT_F16] = 16,
        [FMT_BF16] = 16, [FMT_F64] = 64, [FMT_I8] = 8,    [FMT_U8] = 8,
        [FMT_I4] = 4,    [FMT_U4] = 4,   [FMT_I32] = 32};

    return bits[format];
}

uint64_t sim_tuple_element(struct wave *w, const struct operand *o,
                           unsigned lane, unsigned index, unsigned bits)
{
    unsigned at = index * bits, shift = at % 32;
    uint64_t window;

    if (o->kind != OPERAND_VGPR && o->kind != OPERAND_AGPR) {
        /* A constant stands in every element. */
        uint64_t value = sim_src_scalar64(w, o);

        return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
    }
    window = (*tuple_reg(w, o, at / 32))[lane];
    if (shift + bits > 32)
        window |= (uint64_t)(*tuple_reg(w, o, at / 32 + 1))[lane] << 32;
    return bits == 64 ? window : window >> shift & ((UINT64_C(1) << bits) - 1);
}

void sim_tuple_set32(struct wave *w, const struct operand *o, unsigned lane,
                     unsigned index, uint32_t value)
{
    (*tuple_reg(w, o, index))[lane] = value;
}

float sim_format_f32(const struct wave *w, enum matrix_format format,
                     uint64_t bits)
{
    uint32_t u = (uint32_t)bits;

    switch (format) {
    case FMT_FP8:
        return sim_minifloat_decode(sim_fp8(w->target), u);
    case FMT_BF8:
        return sim_minifloat_decode(sim_bf8(w->target), u);
    case FMT_FP6:
        return sim_minifloat_decode(&sim_fp6, u);
    case FMT_BF6:
        return sim_minifloat_decode(&sim_bf6, u);
    case FMT_FP4:
        return sim_minifloat_decode(&sim_fp4, u);
    case FMT_F16:
        return (float)bits_f16((uint16_t)u);
    case FMT_BF16:
        return f32_of_bf16((uint16_t)u);
    case FMT_XF32:
        return bits_f32(u & 0xffffe000);
    default:
        return bits_f32(u);
    }
}

int32_t sim_format_i32(enum matrix_format format, uint64_t bits)
{
    switch (format) {
    case FMT_I8:
        return (int32_t)(bits << 24) >> 24;
    case FMT_I4:
        return (int32_t)(bits << 28) >> 28;
    default:
        return (int32_t)bits;
    }
}
