/* vop1.c - vector instructions of one source: moves, conversions, bits,
 * rounding. Functions that need a series are in transcendental.c. */
#include "fp.h"
#include "vop.h"

/* Position of the highest bit that differs from the sign; -1 if none. */
static inline int32_t ffbh_i32(uint32_t a)
{
    uint32_t x = a ^ (uint32_t)((int32_t)a >> 31);

    return x ? __builtin_clz(x) : -1;
}

static inline uint32_t reverse_bits(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

static inline uint32_t sat_u8(int32_t x)
{
    return (uint32_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

/* clang-format off */
#define VOP1_TABLE(X)                                                        \
    /* mnemonic        d    a    what one lane does */                       \
    X(v_mov_b32,      u32, u32, d = a)                                       \
    X(v_mov_b64,      u64, u64, d = a)                                       \
    X(v_mov_b16,      u16, u16, d = a)                                       \
    X(v_not_b32,      u32, u32, d = ~a)                                      \
    X(v_not_b16,      u16, u16, d = (uint16_t)~a)                            \
    X(v_bfrev_b32,    u32, u32, d = reverse_bits(a))                         \
    X(v_ffbh_u32,     i32, u32, d = a ? __builtin_clz(a) : -1)               \
    X(v_ffbl_b32,     i32, u32, d = a ? __builtin_ctz(a) : -1)               \
    X(v_ffbh_i32,     i32, u32, d = ffbh_i32(a))                             \
    X(v_sat_pk_u8_i16, u16, u32,                                             \
      d = (uint16_t)(sat_u8((int16_t)a) | sat_u8((int32_t)a >> 16) << 8))    \
    /* integer to float and back */                                          \
    X(v_cvt_f32_i32,  f32, i32, d = (float)a)                                \
    X(v_cvt_f32_u32,  f32, u32, d = (float)a)                                \
    X(v_cvt_i32_f32,  i32, f32, d = i32_of_f32(a))                           \
    X(v_cvt_u32_f32,  u32, f32, d = u32_of_f32(a))                           \
    X(v_cvt_rpi_i32_f32, i32, f32, d = i32_of_f32(floorf(a + 0.5f)))         \
    X(v_cvt_flr_i32_f32, i32, f32, d = i32_of_f32(floorf(a)))                \
    X(v_cvt_f64_i32,  f64, i32, d = (double)a)                               \
    X(v_cvt_f64_u32,  f64, u32, d = (double)a)                               \
    X(v_cvt_i32_f64,  i32, f64, d = i32_of_f64(a))                           \
    X(v_cvt_u32_f64,  u32, f64, d = u32_of_f64(a))                           \
    X(v_cvt_f16_i16,  f16, i16, d = (half_t)(float)a)                        \
    X(v_cvt_f16_u16,  f16, u16, d = (half_t)(float)a)                        \
    X(v_cvt_i16_f16,  i16, f16, d = i16_of_f32((float)a))                    \
    X(v_cvt_u16_f16,  u16, f16, d = u16_of_f32((float)a))                    \
    X(v_cvt_i32_i16,  i32, i16, d = a)                                       \
    X(v_cvt_u32_u16,  u32, u16, d = a)                                       \
    X(v_cvt_f32_ubyte0, f32, u32, d = (float)(int32_t)(a & 255))             \
    X(v_cvt_f32_ubyte1, f32, u32, d = (float)(int32_t)(a >> 8 & 255))        \
    X(v_cvt_f32_ubyte2, f32, u32, d = (float)(int32_t)(a >> 16 & 255))       \
    X(v_cvt_f32_ubyte3, f32, u32, d = (float)(int32_t)(a >> 24))             \
    X(v_cvt_off_f32_i4, f32, u32,                                            \
      d = (float)((int32_t)(a << 28) >> 28) * 0.0625f)                       \
    X(v_cvt_norm_i16_f16, i16, f16, d = snorm16((float)a))                   \
    X(v_cvt_norm_u16_f16, u16, f16, d = unorm16((float)a))                   \
    /* between floats */                                                     \
    X(v_cvt_f16_f32,  f16, f32, d = (half_t)a)                               \
    X(v_cvt_f32_f16,  f32, f16, d = (float)a)                                \
    X(v_cvt_f32_bf16, f32, bf16, d = f32_of_bf16(a))                         \
    X(v_cvt_f32_f64,  f32, f64, d = (float)a)                                \
    X(v_cvt_f64_f32,  f64, f32, d = (double)a)                               \
    /* to whole numbers */                                                   \
    X(v_trunc_f32,    f32, f32, d = truncf(a))                               \
    X(v_ceil_f32,     f32, f32, d = ceilf(a))                                \
    X(v_rndne_f32,    f32, f32, d = __builtin_roundevenf(a))                 \
    X(v_floor_f32,    f32, f32, d = floorf(a))                               \
    X(v_fract_f32,    f32, f32, d = fract_f32(a))                            \
    X(v_trunc_f64,    f64, f64, d = trunc(a))                                \
    X(v_ceil_f64,     f64, f64, d = ceil(a))                                 \
    X(v_rndne_f64,    f64, f64, d = __builtin_roundeven(a))                  \
    X(v_floor_f64,    f64, f64, d = floor(a))                                \
    X(v_fract_f64,    f64, f64, d = fract_f64(a))                            \
    X(v_trunc_f16,    f16, f16, d = (half_t)truncf((float)a))                \
    X(v_ceil_f16,     f16, f16, d = (half_t)ceilf((float)a))                 \
    X(v_rndne_f16,    f16, f16, d = (half_t)__builtin_roundevenf((float)a))  \
    X(v_floor_f16,    f16, f16, d = (half_t)floorf((float)a))                \
    X(v_fract_f16,    f16, f16, d = fract_f16(a))                            \
    /* parts */                                                              \
    X(v_frexp_exp_i32_f32, i32, f32, d = frexp_exp_f32(a))                   \
    X(v_frexp_mant_f32,    f32, f32, d = frexp_mant_f32(a))                  \
    X(v_frexp_exp_i32_f64, i32, f64, d = frexp_exp_f64(a))                   \
    X(v_frexp_mant_f64,    f64, f64, d = frexp_mant_f64(a))                  \
    X(v_frexp_exp_i16_f16, i16, f16, d = (int16_t)frexp_exp_f16(a))          \
    X(v_frexp_mant_f16,    f16, f16, d = frexp_mant_f16(a))

#define VOP1_ALIASES(X)                                                      \
    X(v_clz_i32_u32,   v_ffbh_u32)                                           \
    X(v_ctz_i32_b32,   v_ffbl_b32)                                           \
    X(v_cls_i32,       v_ffbh_i32)                                           \
    X(v_cvt_nearest_i32_f32, v_cvt_rpi_i32_f32)                              \
    X(v_cvt_floor_i32_f32,   v_cvt_flr_i32_f32)                              \
    X(v_dual_mov_b32,  v_mov_b32)                                            \
    X(v_mov_b32_indirect, v_mov_b32)                                         \
    X(v_accvgpr_mov_b32,  v_mov_b32)                                         \
    X(v_accvgpr_read_b32, v_mov_b32)                                         \
    X(v_accvgpr_write_b32, v_mov_b32)                                        \
    X(v_accvgpr_read,  v_mov_b32)                                            \
    X(v_accvgpr_write, v_mov_b32)
/* clang-format on */

VOP1_TABLE(VOP_RUN1)

static void run_v_nop(struct wave *w, const struct insn *in)
{
    (void)w;
    (void)in;
}

static void run_v_swap_b32(struct wave *w, const struct insn *in)
{
    uint32_t *d = *tuple_reg(w, &in->op[0], 0);
    uint32_t *s = *tuple_reg(w, &in->op[1], 0);
    uint64_t mask = w->mask;

    LANES(i)
    {
        uint32_t differ = mask >> i & 1 ? d[i] ^ s[i] : 0;

        d[i] ^= differ;
        s[i] ^= differ;
    }
}

/* Each operand names half of a register. */
static void run_v_swap_b16(struct wave *w, const struct insn *in)
{
    uint32_t *d = *tuple_reg(w, &in->op[0], 0);
    uint32_t *s = *tuple_reg(w, &in->op[1], 0);
    unsigned dshift = in->op[0].hi ? 16 : 0, sshift = in->op[1].hi ? 16 : 0;

    for (unsigned i = 0; i < w->nlanes; i++) {
        uint32_t differ = (d[i] >> dshift ^ s[i] >> sshift) & 0xffff;

        if (w->mask >> i & 1) {
            d[i] ^= differ << dshift;
            s[i] ^= differ << sshift;
        }
    }
}

static const struct insn_row rows[] = {
    VOP1_TABLE(VOP_ROW1){"v_nop", run_v_nop, CLASS_VALU, {T_none}, ROW_RAW},
    {"v_clrexcp", run_v_nop, CLASS_VALU, {T_none}, ROW_RAW},
    {"v_pipeflush", run_v_nop, CLASS_VALU, {T_none}, ROW_RAW},
    {"v_swap_b32", run_v_swap_b32, CLASS_VALU, {T_u32, T_u32}, 0},
    {"v_swap_b16", run_v_swap_b16, CLASS_VALU, {T_u16, T_u16}, 0},
};
static const struct insn_alias aliases[] = {VOP1_ALIASES(ALIAS)};

ROW_SET(vop1, rows, aliases);
