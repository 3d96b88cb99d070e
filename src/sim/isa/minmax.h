/* minmax.h - minimum and maximum by MODE's rules */
#ifndef SIM_ISA_MINMAX_H
#define SIM_ISA_MINMAX_H

#include "fp.h"
#include "wave.h"

/* gfx12 has no MODE.IEEE, and its instructions have other names (min_num). */
static inline enum nan_rule nan_rule(const struct wave *w)
{
    if (w->target->major >= 12)
        return NAN_NUM;
    return w->mode & MODE_IEEE ? NAN_SNAN_WINS : NAN_LOSES;
}

/* Comparing moves bits, so the host's switch does not flush what comes out;
 * compilers use v_max to flush (llvm.canonicalize). */
#define MINMAX_OPERAND(type, real, raw, shift)                                 \
    static inline real operand_##type(const struct wave *w, real x)            \
    {                                                                          \
        bool keep = w->mode >> (shift)&1;                                      \
        raw u = type##_bits(x);                                                \
                                                                               \
        return keep || (u & INF_##type) ? x                                    \
                                        : bits_##type((raw)(u & SIGN_##type)); \
    }
MINMAX_OPERAND(f16, half_t, uint16_t, MODE_DENORM64)
MINMAX_OPERAND(f32, float, uint32_t, MODE_DENORM32)
MINMAX_OPERAND(f64, double, uint64_t, MODE_DENORM64)

/* In a row's expression. */
#define F16(x) operand_f16(w, x)
#define F32(x) operand_f32(w, x)
#define F64(x) operand_f64(w, x)
#define RULE nan_rule(w)

#endif
