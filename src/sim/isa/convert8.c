/* convert8.c - conversions between f32 and 8-bit floats, rounding at random
 *
 * A number too large becomes NaN or infinity, or the largest one if MODE's
 * FP16_OVFL is set. Random rounding takes its noise from the high bits of the
 * second source.
 */
#include "minifloat.h"
#include "vop.h"

#define OVERFLOW_CLAMPS (w->mode & MODE_FP16_OVFL)

/* ---- from 8 bits: the byte comes from SDWA or byte_sel ---- */

#define FROM8_RUN(format)                                                      \
    VOP_RUN1(v_cvt_f32_##format, f32, u32,                                     \
             d = sim_minifloat_decode(sim_##format(w->target),                 \
                                      a >> (8 * in->byte_sel) & 255))          \
    static void run_v_cvt_pk_f32_##format(struct wave *w,                      \
                                          const struct insn *in)               \
    {                                                                          \
        const struct minifloat *m = sim_##format(w->target);                   \
        SRC(a, 1, u16);                                                        \
        uint64_t d[MAX_LANES];                                                 \
                                                                               \
        LANES(i)                                                               \
        d[i] =                                                                 \
            f32_bits(sim_minifloat_decode(m, a_raw[i] & 255)) |                \
            (uint64_t)f32_bits(sim_minifloat_decode(m, a_raw[i] >> 8 & 255))   \
                << 32;                                                         \
        sim_write64(w, &in->op[0], d);                                         \
    }
FROM8_RUN(fp8)
FROM8_RUN(bf8)

/* ---- to 8 bits: a pair into half of the register, or one into a byte ---- */

static void write_part(struct wave *w, const struct insn *in,
                       const uint32_t *value, unsigned shift, uint32_t mask)
{
    const uint32_t *old = *tuple_reg(w, &in->op[0], 0);
    uint32_t d[MAX_LANES];

    LANES(i)
    d[i] = (old[i] & ~(mask << shift)) | (value[i] & mask) << shift;
    sim_write32(w, &in->op[0], d);
}

static void pack8(struct wave *w, const struct insn *in,
                  const struct minifloat *m)
{
    uint32_t value[MAX_LANES];
    SRC(a, 1, f32);
    SRC(b, 2, f32);

    LANES(i)
    value[i] =
        sim_minifloat_encode(m, GET(a, f32, i), false, 0, OVERFLOW_CLAMPS) |
        sim_minifloat_encode(m, GET(b, f32, i), false, 0, OVERFLOW_CLAMPS) << 8;
    write_part(w, in, value, in->op[0].hi || (in->op_sel & 4) ? 16 : 0, 0xffff);
}

static void random8(struct wave *w, const struct insn *in,
                    const struct minifloat *m)
{
    unsigned byte =
        in->byte_sel | (in->op_sel >> 2 & 1) | (in->op_sel >> 3 & 1) << 1;
    uint32_t value[MAX_LANES];
    SRC(a, 1, f32);
    SRC(b, 2, u32);

    LANES(i)
    value[i] = sim_minifloat_encode(m, GET(a, f32, i), true, b_raw[i],
                                    OVERFLOW_CLAMPS);
    write_part(w, in, value, 8 * byte, 0xff);
}

#define TO8_RUN(format)                                                        \
    static void run_v_cvt_pk_##format##_f32(struct wave *w,                    \
                                            const struct insn *in)             \
    {                                                                          \
        pack8(w, in, sim_##format(w->target));                                 \
    }                                                                          \
    static void run_v_cvt_sr_##format##_f32(struct wave *w,                    \
                                            const struct insn *in)             \
    {                                                                          \
        random8(w, in, sim_##format(w->target));                               \
    }
TO8_RUN(fp8)
TO8_RUN(bf8)

/* ---- to 16 bits at random ---- */

static inline uint16_t random_bf16(float x, uint32_t noise)
{
    uint32_t u = f32_bits(x);

    if ((u & 0x7fffffff) >= 0x7f800000)
        return bf16_of_f32(x);
    return (uint16_t)((u + (noise >> 16)) >> 16);
}

/* The noise lies below the bits that an f16 keeps of a normal number. */
static inline uint16_t random_f16(float x, uint32_t noise)
{
    uint32_t u = f32_bits(x);

    if ((u & 0x7fffffff) >= 0x7f800000)
        return f16_bits((half_t)x);
    return f16_rtz(bits_f32(u + (noise >> 19)));
}

VOP_RUN2(v_cvt_sr_bf16_f32, bf16, f32, u32, d = random_bf16(a, b))
VOP_RUN2(v_cvt_sr_f16_f32, u16, f32, u32, d = random_f16(a, b))

/* A linear feedback shift register, the source of such noise. */
VOP_RUN1(v_prng_b32, u32, u32, d = a << 1 ^ (a >> 31 ? 197 : 0))

static const struct insn_row rows[] = {
    VOP_ROW1(v_cvt_f32_fp8, f32, u32, ) VOP_ROW1(v_cvt_f32_bf8, f32, u32, )
        VOP_ROW1(v_cvt_pk_f32_fp8, pkf32, u16, )
            VOP_ROW1(v_cvt_pk_f32_bf8, pkf32, u16, )
                VOP_ROW2(v_cvt_pk_fp8_f32, u32, f32, f32, )
                    VOP_ROW2(v_cvt_pk_bf8_f32, u32, f32, f32, )
                        VOP_ROW2(v_cvt_sr_fp8_f32, u32, f32, u32, )
                            VOP_ROW2(v_cvt_sr_bf8_f32, u32, f32, u32, )
                                VOP_ROW2(v_cvt_sr_bf16_f32, bf16, f32, u32, )
                                    VOP_ROW2(v_cvt_sr_f16_f32, u16, f32, u32, )
                                        VOP_ROW1(v_prng_b32, u32, u32, )};

ROW_SET_NO_ALIASES(convert8, rows);
