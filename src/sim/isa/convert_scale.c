/* convert_scale.c - gfx950's conversions with a scale, for MX formats
 *
 * The scale is an f32 of which the exponent counts, 2^(E - 127): values are
 * divided by it on the way to 4, 6 and 8 bits, multiplied on the way back.
 * Between one and 32 values are converted per lane; where they take part of a
 * register, op_sel says which and the rest is kept:
 *
 *   to 8 bits, a pair       the last op_sel bit: which half of D
 *   to 8 bits at random,    op_sel[3:2]: which byte of D
 *   to 4 bits, a pair
 *   from 8 bits, a pair     op_sel[0]: which half of the source
 *   from 8 bits, one,       op_sel[1:0]: which byte of the source
 *   from 4 bits, a pair     (and one f16: op_sel[2] which half of D)
 *
 * Numbers too large become the largest one in formats without infinity, and
 * in the others if MODE's FP16_OVFL is set.
 */
#include "matrix_unit.h"

/* How the operands of a row stand. */
enum shape {
    PAIR,        /* d, packed pair (f16, bf16) or code(s), scale */
    TWO,         /* d, f32, f32, scale */
    RANDOM,      /* d, value(s), noise, scale */
    INTERLEAVED, /* d, 16 values, 16 values, scale: taken in turn */
    WIDE_RANDOM  /* d, 32 values, noise, scale */
};

struct scaled {
    uint8_t from, to; /* enum matrix_format */
    uint8_t count;
    uint8_t shape; /* enum shape */
};

static const struct minifloat *small_format(unsigned format)
{
    switch (format) {
    case FMT_FP8:
        return &sim_fp8_ocp;
    case FMT_BF8:
        return &sim_bf8_ocp;
    case FMT_FP6:
        return &sim_fp6;
    case FMT_BF6:
        return &sim_bf6;
    case FMT_FP4:
        return &sim_fp4;
    default:
        return NULL;
    }
}

static float scale_of(uint32_t bits)
{
    return (float)ldexp(1.0, (int)(bits >> 23 & 255) - 127);
}

/* Bits to skip in a source that holds more than is converted. */
static unsigned source_skip(const struct insn *in, const struct scaled *s)
{
    if (s->count > 2 || !small_format(s->from))
        return 0;
    if (s->from == FMT_FP4 || s->count == 1)
        return 8 * (in->op_sel & 3);
    return in->op_sel & 1 ? 16 : 0;
}

/* Where the result starts in D, and whether the rest of D is kept. */
static unsigned result_skip(const struct insn *in, const struct scaled *s,
                            bool *partial)
{
    unsigned nsrc = in->nops - 1;

    *partial = s->count * sim_format_bits((enum matrix_format)s->to) < 32;
    if (!*partial)
        return 0;
    if (!small_format(s->to)) /* one f16 */
        return in->op_sel & 4 ? 16 : 0;
    if (s->to == FMT_FP4 || s->shape == RANDOM)
        return 8 * (in->op_sel >> 2 & 3);
    return in->op_sel >> nsrc & 1 ? 16 : 0;
}

static double source_value(struct wave *w, const struct insn *in,
                           const struct scaled *s, unsigned lane, unsigned n)
{
    unsigned bits = sim_format_bits((enum matrix_format)s->from);
    const struct operand *o = &in->op[1];
    unsigned element = source_skip(in, s) / bits + n;
    double x;

    if (s->shape == TWO) {
        o += n;
        element = 0;
    } else if (s->shape == INTERLEAVED) {
        o += n % 2;
        element = n / 2;
    }
    x = (double)sim_format_f32(w, (enum matrix_format)s->from,
                               sim_tuple_element(w, o, lane, element, bits));
    x = o->abs ? fabs(x) : x;
    return o->neg ? -x : x;
}

/* To 16 bits and more there is one rounding, to nearest. */
static uint32_t encode(struct wave *w, const struct scaled *s, double x,
                       bool random, uint32_t noise)
{
    const struct minifloat *m = small_format(s->to);

    if (m)
        return sim_minifloat_encode(m, (float)x, random, noise,
                                    w->mode & MODE_FP16_OVFL);
    return s->to == FMT_F32   ? f32_bits((float)x)
           : s->to == FMT_F16 ? f16_bits(f16_of_f64(x))
                              : bf16_of_f32((float)x);
}

static void convert(struct wave *w, const struct insn *in,
                    const struct scaled *s)
{
    const struct operand *d = &in->op[0];
    unsigned bits = sim_format_bits((enum matrix_format)s->to);
    unsigned nregs = (s->count * bits + 31) / 32;
    bool random = s->shape == RANDOM || s->shape == WIDE_RANDOM;
    bool narrows = small_format(s->to) != NULL, partial;
    unsigned skip = result_skip(in, s, &partial);
    unsigned at_scale = in->nops - 1u;
    uint64_t mask = w->mask;

    for (unsigned lane = 0; lane < w->nlanes; lane++) {
        uint32_t out[33] = {0};
        float scale;
        uint32_t noise;

        if (!(mask >> lane & 1))
            continue;
        scale = scale_of(
            (uint32_t)sim_tuple_element(w, &in->op[at_scale], lane, 0, 32));
        noise = random ? (uint32_t)sim_tuple_element(w, &in->op[2], lane, 0, 32)
                       : 0;
        if (partial)
            out[0] = (*tuple_reg(w, d, 0))[lane] &
                     ~(((1u << (s->count * bits)) - 1) << skip);
        for (unsigned n = 0; n < s->count; n++) {
            double x = source_value(w, in, s, lane, n);
            unsigned at = skip + n * bits;
            uint64_t code;

            x = narrows ? x / (double)scale : x * (double)scale;
            code = (uint64_t)encode(w, s, x, random, noise) << at % 32;
            out[at / 32] |= (uint32_t)code;
            out[at / 32 + 1] |= (uint32_t)(code >> 32);
        }
        for (unsigned r = 0; r < nregs; r++)
            (*tuple_reg(w, d, r))[lane] = out[r];
    }
}

/* clang-format off */
#define TO_TABLE(X, small, SMALL)                                        \
    X(v_cvt_scalef32_pk_##small##_f32,    F32,  SMALL, 2, TWO)           \
    X(v_cvt_scalef32_pk_##small##_f16,    F16,  SMALL, 2, PAIR)          \
    X(v_cvt_scalef32_pk_##small##_bf16,   BF16, SMALL, 2, PAIR)
#define FROM_TABLE(X, small, SMALL)                                      \
    X(v_cvt_scalef32_pk_f32_##small,      SMALL, F32,  2, PAIR)          \
    X(v_cvt_scalef32_pk_f16_##small,      SMALL, F16,  2, PAIR)          \
    X(v_cvt_scalef32_pk_bf16_##small,     SMALL, BF16, 2, PAIR)
#define BYTE_TABLE(X, small, SMALL)                                      \
    X(v_cvt_scalef32_sr_##small##_f32,    F32,  SMALL, 1, RANDOM)        \
    X(v_cvt_scalef32_sr_##small##_f16,    F16,  SMALL, 1, RANDOM)        \
    X(v_cvt_scalef32_sr_##small##_bf16,   BF16, SMALL, 1, RANDOM)        \
    X(v_cvt_scalef32_f32_##small,         SMALL, F32,  1, PAIR)          \
    X(v_cvt_scalef32_f16_##small,         SMALL, F16,  1, PAIR)
#define WIDE_TABLE(X, small, SMALL)                                      \
    X(v_cvt_scalef32_2xpk16_##small##_f32, F32, SMALL, 32, INTERLEAVED)  \
    X(v_cvt_scalef32_pk32_##small##_f16,  F16,  SMALL, 32, PAIR)         \
    X(v_cvt_scalef32_pk32_##small##_bf16, BF16, SMALL, 32, PAIR)         \
    X(v_cvt_scalef32_sr_pk32_##small##_f32,  F32,  SMALL, 32, WIDE_RANDOM) \
    X(v_cvt_scalef32_sr_pk32_##small##_f16,  F16,  SMALL, 32, WIDE_RANDOM) \
    X(v_cvt_scalef32_sr_pk32_##small##_bf16, BF16, SMALL, 32, WIDE_RANDOM) \
    X(v_cvt_scalef32_pk32_f32_##small,    SMALL, F32,  32, PAIR)         \
    X(v_cvt_scalef32_pk32_f16_##small,    SMALL, F16,  32, PAIR)         \
    X(v_cvt_scalef32_pk32_bf16_##small,   SMALL, BF16, 32, PAIR)
#define SCALE_TABLE(X)                                                   \
    TO_TABLE(X, fp8, FP8) TO_TABLE(X, bf8, BF8) TO_TABLE(X, fp4, FP4)    \
    FROM_TABLE(X, fp8, FP8) FROM_TABLE(X, bf8, BF8) FROM_TABLE(X, fp4, FP4) \
    BYTE_TABLE(X, fp8, FP8) BYTE_TABLE(X, bf8, BF8)                      \
    WIDE_TABLE(X, fp6, FP6) WIDE_TABLE(X, bf6, BF6)                      \
    X(v_cvt_scalef32_sr_pk_fp4_f32,       F32,  FP4,  2, RANDOM)         \
    X(v_cvt_scalef32_sr_pk_fp4_f16,       F16,  FP4,  2, RANDOM)         \
    X(v_cvt_scalef32_sr_pk_fp4_bf16,      BF16, FP4,  2, RANDOM)
/* clang-format on */

#define SCALE_RUN(name, from, to, count, shape)                                \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        static const struct scaled s = {FMT_##from, FMT_##to, count, shape};   \
        convert(w, in, &s);                                                    \
    }
SCALE_TABLE(SCALE_RUN)

#define SCALE_ROW(name, from, to, count, shape)                                \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_VALU,                                                               \
     {T_tuple, T_tuplef32, T_tuplef32, T_tuplef32},                            \
     0},

static const struct insn_row rows[] = {SCALE_TABLE(SCALE_ROW)};

ROW_SET_NO_ALIASES(convert_scale, rows);
