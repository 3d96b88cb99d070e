/* matrix_unit.c - formats and operands of MFMA, SMFMAC and WMMA */
#include "matrix_unit.h"

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

/* ---- whole operands ---- */

/* Reads element `index` from every lane. */
static void element_of_lanes(struct wave *w, const struct operand *o,
                             unsigned index, unsigned bits,
                             uint32_t out[MAX_LANES])
{
    const unsigned at = index * bits, shift = at % 32;
    const uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    const uint32_t *low, *high;

    if (o->kind != OPERAND_VGPR && o->kind != OPERAND_AGPR) {
        const uint32_t value = (uint32_t)sim_src_scalar64(w, o) & mask;

        LANES(i)
        out[i] = value;
        return;
    }
    low = *tuple_reg(w, o, at / 32);
    if (shift + bits <= 32) {
        LANES(i)
        out[i] = low[i] >> shift & mask;
        return;
    }
    high = *tuple_reg(w, o, at / 32 + 1);
    LANES(i)
    out[i] = (low[i] >> shift | high[i] << (32 - shift)) & mask;
}

void sim_unpack_f32(struct wave *w, const struct operand *o,
                    enum matrix_format format, unsigned n,
                    struct elements_f32 *to)
{
    const unsigned bits = sim_format_bits(format);
    uint32_t raw[MAX_LANES];

    for (unsigned e = 0; e < n; e++) {
        float *const v = to->v[e];

        element_of_lanes(w, o, e, bits, raw);
        switch (format) {
        case FMT_F32:
            memcpy(v, raw, sizeof(raw));
            break;
        case FMT_BF16:
            LANES(i)
            v[i] = f32_of_bf16((uint16_t)raw[i]);
            break;
        case FMT_F16:
            LANES(i)
            v[i] = (float)bits_f16((uint16_t)raw[i]);
            break;
        default:
            LANES(i)
            v[i] = sim_format_f32(w, format, raw[i]);
        }
    }
}

void sim_unpack_i32(struct wave *w, const struct operand *o,
                    enum matrix_format format, unsigned n,
                    struct elements_i32 *to)
{
    const unsigned bits = sim_format_bits(format);
    const bool is_signed = format == FMT_I8 || format == FMT_I4;
    const unsigned up = is_signed ? 32 - bits : 0;
    uint32_t raw[MAX_LANES];

    for (unsigned e = 0; e < n; e++) {
        element_of_lanes(w, o, e, bits, raw);
        LANES(i)
        to->v[e][i] = (int32_t)(raw[i] << up) >> up;
    }
}

/* A row of the result stays in host registers during the loop over k. */
#define MULTIPLY(name, type, n, sum)                                           \
    static void name##_##n(unsigned m, unsigned nk, const type *const *a,      \
                           const type *const *b, type *acc)                    \
    {                                                                          \
        for (unsigned i = 0; i < m; i++) {                                     \
            type row[n];                                                       \
                                                                               \
            memcpy(row, acc + (size_t)i * (n), sizeof(row));                   \
            for (unsigned k = 0; k < nk; k++) {                                \
                const type x = a[k][i];                                        \
                const type *const y = b[k];                                    \
                                                                               \
                for (unsigned j = 0; j < (n); j++)                             \
                    row[j] = sum;                                              \
            }                                                                  \
            memcpy(acc + (size_t)i * (n), row, sizeof(row));                   \
        }                                                                      \
    }
#define MULTIPLIES(name, type, sum)                                            \
    MULTIPLY(name, type, 4, sum)                                               \
    MULTIPLY(name, type, 16, sum)                                              \
    MULTIPLY(name, type, 32, sum)                                              \
    void sim_##name(unsigned m, unsigned n, unsigned nk, const type *const *a, \
                    const type *const *b, type *acc)                           \
    {                                                                          \
        if (n == 32)                                                           \
            name##_32(m, nk, a, b, acc);                                       \
        else if (n == 16)                                                      \
            name##_16(m, nk, a, b, acc);                                       \
        else                                                                   \
            name##_4(m, nk, a, b, acc);                                        \
    }
MULTIPLIES(multiply_f32, float, fmaf(x, y[j], row[j]))
MULTIPLIES(multiply_i32, int32_t, row[j] + x * y[j])
