/* vop3.c - vector instructions with three sources, and others that exist only
 * in the long encoding */
#include "minmax.h"
#include "vop.h"

static inline int32_t sext24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

static inline uint32_t bfe_u32(uint32_t a, uint32_t b, uint32_t c)
{
    return a >> (b & 31) & ((1u << (c & 31)) - 1);
}

static inline int32_t bfe_i32(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t n = c & 31, field = bfe_u32(a, b, c);
    uint32_t sign = n ? 1u << (n - 1) : 0;

    return (int32_t)((field ^ sign) - sign);
}

/* A byte of {a, b}, with b as the low dword; or a repeated sign bit, 0 or 255.
 */
static inline uint32_t perm_byte(uint64_t ab, uint32_t sel)
{
    sel &= 255;
    if (sel < 8)
        return (uint32_t)(ab >> (sel * 8)) & 255;
    if (sel < 12) /* sign of byte 1, 3, 5 or 7, in all bits */
        return ab >> ((sel - 8) * 16 + 15) & 1 ? 255 : 0;
    return sel == 12 ? 0 : 255;
}

static inline uint32_t perm_b32(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t ab = (uint64_t)a << 32 | b;

    return perm_byte(ab, c) | perm_byte(ab, c >> 8) << 8 |
           perm_byte(ab, c >> 16) << 16 | perm_byte(ab, c >> 24) << 24;
}

static inline uint32_t abs_diff(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

static inline uint32_t byte_of(uint32_t x, unsigned n)
{
    return x >> (8 * n) & 255;
}

/* Sum of absolute differences of four bytes. */
static inline uint32_t sad_u8(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;

    for (unsigned n = 0; n < 4; n++)
        sum += abs_diff(byte_of(a, n), byte_of(b, n));
    return sum;
}

/* The same; bytes that are 0 in b, the reference, do not count. */
static inline uint32_t msad_u8(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;

    for (unsigned n = 0; n < 4; n++)
        sum += byte_of(b, n) ? abs_diff(byte_of(a, n), byte_of(b, n)) : 0;
    return sum;
}

/* Four sums, at byte offsets 0 to 3 of a, added to the 16-bit parts of c. */
static inline uint64_t qsad_pk(uint64_t a, uint32_t b, uint64_t c, bool masked)
{
    uint64_t d = 0;

    for (unsigned n = 0; n < 4; n++) {
        uint32_t part = (uint32_t)(a >> (8 * n));
        uint32_t sum = masked ? msad_u8(part, b) : sad_u8(part, b);

        sum += (uint32_t)(c >> (16 * n)) & 0xffff;
        d |= (uint64_t)(sum > 0xffff ? 0xffff : sum) << (16 * n);
    }
    return d;
}

static inline uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t d = 0;

    for (unsigned n = 0; n < 4; n++)
        d |= ((byte_of(a, n) + byte_of(b, n) + (c >> (8 * n) & 1)) >> 1)
             << (8 * n);
    return d;
}

/* a rounded to 0 ... 255 and put into byte b of c. */
static inline uint32_t cvt_pk_u8_f32(float a, uint32_t b, uint32_t c)
{
    float in = a > 0.0f ? a < 255.0f ? a : 255.0f : 0.0f;
    unsigned shift = (b & 3) * 8;

    return (c & ~(255u << shift)) | (uint32_t)(int32_t)rintf(in) << shift;
}

/* Each bit of d is looked up in an 8-bit table by the bits of a, b and c. */
static inline uint32_t bitop3(uint32_t a, uint32_t b, uint32_t c,
                              unsigned table)
{
    uint32_t d = 0;

    for (unsigned n = 0; n < 8; n++)
        if (table >> n & 1)
            d |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    return d;
}

static inline uint16_t ashr_pk(int32_t a, int32_t b, uint32_t c, int32_t lo,
                               int32_t hi)
{
    uint32_t x = (uint32_t)clamp_i32(a >> (c & 31), lo, hi) & 255;
    uint32_t y = (uint32_t)clamp_i32(b >> (c & 31), lo, hi) & 255;

    return (uint16_t)(x | y << 8);
}

static inline float mul_dx9(float a, float b)
{
    return a == 0.0f || b == 0.0f ? 0.0f : a * b;
}

/* ---- cube maps: the axis of largest magnitude, z before y before x ---- */

enum axis { AXIS_X, AXIS_Y, AXIS_Z };

static inline enum axis major(float x, float y, float z)
{
    if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
        return AXIS_Z;
    return fabsf(y) >= fabsf(x) ? AXIS_Y : AXIS_X;
}

static inline float along(float x, float y, float z)
{
    enum axis axis = major(x, y, z);

    return axis == AXIS_Z ? z : axis == AXIS_Y ? y : x;
}

static inline float cube_s(float x, float y, float z)
{
    enum axis axis = major(x, y, z);

    return axis == AXIS_Z   ? z < 0.0f ? -x : x
           : axis == AXIS_Y ? x
           : x < 0.0f       ? z
                            : -z;
}

static inline float cube_t(float x, float y, float z)
{
    return major(x, y, z) != AXIS_Y ? -y : y < 0.0f ? -z : z;
}

/* Lighting: a * b, or the least number where b or c leave no light. */
static inline float mullit(float a, float b, float c)
{
    bool none = !(b > -0x1.fffffep127f) || !(c > 0.0f);

    return none ? -0x1.fffffep127f : mul_dx9(a, b);
}

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MED3(a, b, c) MAX(MIN(a, b), MIN(MAX(a, b), c))
#define CLAMPED (in->flags & F_CLAMP)
#define U16(x) (uint16_t)(x)

/* clang-format off */
#define VOP3_TABLE(X)                                                        \
    /* mnemonic        d    a    b    c    what one lane does */             \
    X(v_bfe_u32,      u32, u32, u32, u32, d = bfe_u32(a, b, c))              \
    X(v_bfe_i32,      i32, u32, u32, u32, d = bfe_i32(a, b, c))              \
    X(v_bfi_b32,      u32, u32, u32, u32, d = (a & b) | (~a & c))            \
    X(v_alignbit_b32, u32, u32, u32, u32,                                    \
      d = (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)))                   \
    X(v_alignbyte_b32, u32, u32, u32, u32,                                   \
      d = (uint32_t)(((uint64_t)a << 32 | b) >> (8 * (c & 3))))              \
    X(v_perm_b32,     u32, u32, u32, u32, d = perm_b32(a, b, c))             \
    X(v_and_or_b32,   u32, u32, u32, u32, d = (a & b) | c)                   \
    X(v_or3_b32,      u32, u32, u32, u32, d = a | b | c)                     \
    X(v_xor3_b32,     u32, u32, u32, u32, d = a ^ b ^ c)                     \
    X(v_xad_u32,      u32, u32, u32, u32, d = (a ^ b) + c)                   \
    X(v_add3_u32,     u32, u32, u32, u32, d = a + b + c)                     \
    X(v_add_lshl_u32, u32, u32, u32, u32, d = (a + b) << (c & 31))           \
    X(v_lshl_add_u32, u32, u32, u32, u32, d = (a << (b & 31)) + c)           \
    X(v_lshl_or_b32,  u32, u32, u32, u32, d = a << (b & 31) | c)             \
    X(v_lshl_add_u64, u64, u64, u32, u64, d = (a << (b & 63)) + c)           \
    X(v_min3_u32,     u32, u32, u32, u32, d = MIN(MIN(a, b), c))             \
    X(v_max3_u32,     u32, u32, u32, u32, d = MAX(MAX(a, b), c))             \
    X(v_med3_u32,     u32, u32, u32, u32, d = MED3(a, b, c))                 \
    X(v_min3_i32,     i32, i32, i32, i32, d = MIN(MIN(a, b), c))             \
    X(v_max3_i32,     i32, i32, i32, i32, d = MAX(MAX(a, b), c))             \
    X(v_med3_i32,     i32, i32, i32, i32, d = MED3(a, b, c))                 \
    X(v_maxmin_u32,   u32, u32, u32, u32, d = MIN(MAX(a, b), c))             \
    X(v_minmax_u32,   u32, u32, u32, u32, d = MAX(MIN(a, b), c))             \
    X(v_maxmin_i32,   i32, i32, i32, i32, d = MIN(MAX(a, b), c))             \
    X(v_minmax_i32,   i32, i32, i32, i32, d = MAX(MIN(a, b), c))             \
    X(v_mad_i32_i24,  i32, u32, u32, i32,                                    \
      d = CLAMPED ? clamp_i32((int64_t)sext24(a) * sext24(b) + c,            \
                              INT32_MIN, INT32_MAX)                          \
                  : (int32_t)((int64_t)sext24(a) * sext24(b) + c))           \
    X(v_mad_u32_u24,  u32, u32, u32, u32,                                    \
      d = sat_mad_u32((a & 0xffffff), (b & 0xffffff), c, CLAMPED))           \
    X(v_mad_u32_u16,  u32, u16, u16, u32,                                    \
      d = sat_mad_u32(a, b, c, CLAMPED))                                     \
    X(v_mad_i32_i16,  i32, i16, i16, i32,                                    \
      d = CLAMPED ? clamp_i32((int64_t)a * b + c, INT32_MIN, INT32_MAX)      \
                  : (int32_t)((int64_t)a * b + c))                           \
    X(v_sad_u8,       u32, u32, u32, u32, d = sad_u8(a, b) + c)              \
    X(v_sad_hi_u8,    u32, u32, u32, u32, d = (sad_u8(a, b) << 16) + c)      \
    X(v_sad_u16,      u32, u32, u32, u32,                                    \
      d = abs_diff(a & 0xffff, b & 0xffff) + abs_diff(a >> 16, b >> 16) + c) \
    X(v_sad_u32,      u32, u32, u32, u32, d = abs_diff(a, b) + c)            \
    X(v_msad_u8,      u32, u32, u32, u32, d = msad_u8(a, b) + c)             \
    X(v_qsad_pk_u16_u8,  u64, u64, u32, u64, d = qsad_pk(a, b, c, false))    \
    X(v_mqsad_pk_u16_u8, u64, u64, u32, u64, d = qsad_pk(a, b, c, true))     \
    X(v_lerp_u8,      u32, u32, u32, u32, d = lerp_u8(a, b, c))              \
    X(v_cvt_pk_u8_f32, u32, f32, u32, u32, d = cvt_pk_u8_f32(a, b, c))       \
    X(v_bitop3_b32,   u32, u32, u32, u32, d = bitop3(a, b, c, in->bitop3))   \
    X(v_bitop3_b16,   u16, u16, u16, u16, d = U16(bitop3(a, b, c, in->bitop3))) \
    X(v_ashr_pk_i8_i32, u16, i32, i32, u32, d = ashr_pk(a, b, c, -128, 127)) \
    X(v_ashr_pk_u8_i32, u16, i32, i32, u32, d = ashr_pk(a, b, c, 0, 255))    \
    /* f32 */                                                                \
    X(v_fma_f32,      f32, f32, f32, f32, d = fmaf(a, b, c))                 \
    X(v_mad_f32,      f32, f32, f32, f32, d = (float)(a * b) + c)            \
    X(v_mad_legacy_f32, f32, f32, f32, f32, d = mul_dx9(a, b) + c)           \
    X(v_fma_legacy_f32, f32, f32, f32, f32,                                  \
      d = a == 0.0f || b == 0.0f ? c : fmaf(a, b, c))                        \
    X(v_min3_f32,     f32, f32, f32, f32,                                    \
      d = min_f32(min_f32(F32(a), F32(b), RULE), F32(c), RULE))              \
    X(v_max3_f32,     f32, f32, f32, f32,                                    \
      d = max_f32(max_f32(F32(a), F32(b), RULE), F32(c), RULE))              \
    X(v_med3_f32,     f32, f32, f32, f32, d = med3_f32(F32(a), F32(b), F32(c), RULE)) \
    X(v_maxmin_f32,   f32, f32, f32, f32,                                    \
      d = min_f32(max_f32(F32(a), F32(b), RULE), F32(c), RULE))              \
    X(v_minmax_f32,   f32, f32, f32, f32,                                    \
      d = max_f32(min_f32(F32(a), F32(b), RULE), F32(c), RULE))              \
    X(v_minimum3_f32, f32, f32, f32, f32,                                    \
      d = minimum_f32(minimum_f32(F32(a), F32(b)), F32(c)))                  \
    X(v_maximum3_f32, f32, f32, f32, f32,                                    \
      d = maximum_f32(maximum_f32(F32(a), F32(b)), F32(c)))                  \
    X(v_maximumminimum_f32, f32, f32, f32, f32,                              \
      d = minimum_f32(maximum_f32(F32(a), F32(b)), F32(c)))                  \
    X(v_minimummaximum_f32, f32, f32, f32, f32,                              \
      d = maximum_f32(minimum_f32(F32(a), F32(b)), F32(c)))                  \
    X(v_cubeid_f32,   f32, f32, f32, f32,                                    \
      d = 2.0f * (float)major(a, b, c) + (along(a, b, c) < 0.0f ? 1.0f : 0.0f)) \
    X(v_cubema_f32,   f32, f32, f32, f32, d = 2.0f * along(a, b, c))         \
    X(v_cubesc_f32,   f32, f32, f32, f32, d = cube_s(a, b, c))               \
    X(v_cubetc_f32,   f32, f32, f32, f32, d = cube_t(a, b, c))               \
    X(v_mullit_f32,   f32, f32, f32, f32, d = mullit(a, b, c))               \
    X(v_div_fixup_f32, f32, f32, f32, f32, d = div_fixup_f32(a, b, c))       \
    X(v_div_fmas_f32, f32, f32, f32, f32,                                    \
      d = div_fmas_f32(a, b, c, mask_sreg(w, SREG_VCC) >> i & 1))            \
    /* f64 */                                                                \
    X(v_fma_f64,      f64, f64, f64, f64, d = fma(a, b, c))                  \
    X(v_div_fixup_f64, f64, f64, f64, f64, d = div_fixup_f64(a, b, c))       \
    X(v_div_fmas_f64, f64, f64, f64, f64,                                    \
      d = div_fmas_f64(a, b, c, mask_sreg(w, SREG_VCC) >> i & 1))            \
    /* f16 */                                                                \
    X(v_fma_f16,      f16, f16, f16, f16, d = fma_f16(a, b, c))              \
    X(v_mad_f16,      f16, f16, f16, f16, d = mad_f16(a, b, c))              \
    X(v_min3_f16,     f16, f16, f16, f16,                                    \
      d = min_f16(min_f16(F16(a), F16(b), RULE), F16(c), RULE))              \
    X(v_max3_f16,     f16, f16, f16, f16,                                    \
      d = max_f16(max_f16(F16(a), F16(b), RULE), F16(c), RULE))              \
    X(v_med3_f16,     f16, f16, f16, f16, d = med3_f16(F16(a), F16(b), F16(c), RULE)) \
    X(v_maxmin_f16,   f16, f16, f16, f16,                                    \
      d = min_f16(max_f16(F16(a), F16(b), RULE), F16(c), RULE))              \
    X(v_minmax_f16,   f16, f16, f16, f16,                                    \
      d = max_f16(min_f16(F16(a), F16(b), RULE), F16(c), RULE))              \
    X(v_minimum3_f16, f16, f16, f16, f16,                                    \
      d = minimum_f16(minimum_f16(F16(a), F16(b)), F16(c)))                  \
    X(v_maximum3_f16, f16, f16, f16, f16,                                    \
      d = maximum_f16(maximum_f16(F16(a), F16(b)), F16(c)))                  \
    X(v_maximumminimum_f16, f16, f16, f16, f16,                              \
      d = minimum_f16(maximum_f16(F16(a), F16(b)), F16(c)))                  \
    X(v_minimummaximum_f16, f16, f16, f16, f16,                              \
      d = maximum_f16(minimum_f16(F16(a), F16(b)), F16(c)))                  \
    X(v_div_fixup_f16, f16, f16, f16, f16, d = div_fixup_f16(a, b, c))       \
    /* 16-bit integers */                                                    \
    X(v_mad_u16,      u16, u16, u16, u16,                                    \
      d = CLAMPED ? U16(MIN((uint64_t)a * b + c, 0xffff))                    \
                  : U16((uint32_t)a * b + c))                                \
    X(v_mad_i16,      i16, i16, i16, i16,                                    \
      d = (int16_t)(CLAMPED ? clamp_i32((int64_t)a * b + c, -32768, 32767)   \
                            : (int32_t)((uint32_t)(a * b) + (uint32_t)c)))   \
    X(v_min3_u16,     u16, u16, u16, u16, d = MIN(MIN(a, b), c))             \
    X(v_max3_u16,     u16, u16, u16, u16, d = MAX(MAX(a, b), c))             \
    X(v_med3_u16,     u16, u16, u16, u16, d = MED3(a, b, c))                 \
    X(v_min3_i16,     i16, i16, i16, i16, d = MIN(MIN(a, b), c))             \
    X(v_max3_i16,     i16, i16, i16, i16, d = MAX(MAX(a, b), c))             \
    X(v_med3_i16,     i16, i16, i16, i16, d = MED3(a, b, c))

#define VOP3_ALIASES(X)                                                \
    X(v_fma_dx9_zero_f32,  v_fma_legacy_f32)                           \
    X(v_min3_num_f32,   v_min3_f32)                                    \
    X(v_max3_num_f32,   v_max3_f32)                                    \
    X(v_med3_num_f32,   v_med3_f32)                                    \
    X(v_min3_num_f16,   v_min3_f16)                                    \
    X(v_max3_num_f16,   v_max3_f16)                                    \
    X(v_med3_num_f16,   v_med3_f16)                                    \
    X(v_maxmin_num_f32, v_maxmin_f32)                                  \
    X(v_minmax_num_f32, v_minmax_f32)                                  \
    X(v_maxmin_num_f16, v_maxmin_f16)                                  \
    X(v_minmax_num_f16, v_minmax_f16)                                  \
    X(v_mad_co_u64_u32, v_mad_u64_u32)                                 \
    X(v_mad_co_i64_i32, v_mad_i64_i32)
/* clang-format on */

static inline uint32_t sat_mad_u32(uint32_t a, uint32_t b, uint32_t c,
                                   bool clamped)
{
    uint64_t d = (uint64_t)a * b + c;

    return clamped && d > UINT32_MAX ? UINT32_MAX : (uint32_t)d;
}

VOP3_TABLE(VOP_RUN3)
VOP_RUN2_ACC(v_cvt_pkaccum_u8_f32, u32, f32, u32, d = cvt_pk_u8_f32(a, b, d))

/* ---- 64-bit multiply-add, whose carry goes to a lane mask ---- */

static void run_v_mad_u64_u32(struct wave *w, const struct insn *in)
{
    uint64_t out = 0;
    SRC(a, 2, u32);
    SRC(b, 3, u32);
    SRC(c, 4, u64);
    DST(u64);

    LANES(i)
    {
        uint64_t product = (uint64_t)a_raw[i] * b_raw[i];
        uint64_t d = product + c_raw[i];

        out |= (uint64_t)(d < product) << i;
        d_raw[i] = CLAMPED && d < product ? UINT64_MAX : d;
    }
    DST_DONE(u64);
    sim_dst_mask(w, &in->op[1], out & w->mask);
}

static void run_v_mad_i64_i32(struct wave *w, const struct insn *in)
{
    uint64_t out = 0;
    SRC(a, 2, i32);
    SRC(b, 3, i32);
    SRC(c, 4, i64);
    DST(u64);

    LANES(i)
    {
        int64_t product = (int64_t)GET(a, i32, i) * GET(b, i32, i);
        int64_t c = GET(c, i64, i), sum;
        bool overflow = __builtin_add_overflow(product, c, &sum);

        if (CLAMPED && overflow)
            sum = c < 0 ? INT64_MIN : INT64_MAX;
        out |= (uint64_t)overflow << i;
        d_raw[i] = (uint64_t)sum;
    }
    DST_DONE(u64);
    sim_dst_mask(w, &in->op[1], out & w->mask);
}

/* ---- division ---- */

#define DIV_SCALE_RUN(type)                                                    \
    static void run_v_div_scale_##type(struct wave *w, const struct insn *in)  \
    {                                                                          \
        uint64_t out = 0;                                                      \
        SRC(a, 2, type);                                                       \
        SRC(b, 3, type);                                                       \
        SRC(c, 4, type);                                                       \
        DST(type);                                                             \
                                                                               \
        for (unsigned i = 0; i < w->nlanes; i++) {                             \
            bool vcc;                                                          \
                                                                               \
            put_##type(&d_raw[i],                                              \
                       div_scale_##type(GET(a, type, i), GET(b, type, i),      \
                                        GET(c, type, i), &vcc));               \
            out |= (uint64_t)vcc << i;                                         \
        }                                                                      \
        DST_DONE(type);                                                        \
        sim_dst_mask(w, &in->op[1], out & w->mask);                            \
    }
DIV_SCALE_RUN(f32)
DIV_SCALE_RUN(f64)

/* Four masked sums of differences, added to the four registers of c. */
static void run_v_mqsad_u32_u8(struct wave *w, const struct insn *in)
{
    const struct operand *c = &in->op[3];
    uint32_t sums[4][MAX_LANES];
    SRC(a, 1, u64);
    SRC(b, 2, u32);

    for (unsigned n = 0; n < 4; n++)
        for (unsigned i = 0; i < w->nlanes; i++) {
            uint32_t part = (uint32_t)(a_raw[i] >> (8 * n));
            uint32_t add = c->kind == OPERAND_VGPR
                               ? w->v[c->reg + n][i]
                               : (uint32_t)(n ? 0 : c->value);
            uint64_t sum = (uint64_t)msad_u8(part, b_raw[i]) + add;

            sums[n][i] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
        }
    for (unsigned n = 0; n < 4; n++) {
        struct operand d = in->op[0];

        d.reg = (uint16_t)(d.reg + n);
        sim_write32(w, &d, sums[n]);
    }
}

/* gfx9 keeps the older forms, which clear the high half. */
#define LEGACY_ROW(name, t)                                                    \
    {"v_" #name "_legacy_" #t,                                                 \
     run_v_##name##_##t,                                                       \
     CLASS_VALU,                                                               \
     {T_##t, T_##t, T_##t, T_##t},                                             \
     ROW_ZERO_HIGH},

static const struct insn_row rows[] = {
    VOP3_TABLE(VOP_ROW3) VOP_ROW2_ACC(v_cvt_pkaccum_u8_f32, u32, f32, u32, ){
        "v_mad_u64_u32",
        run_v_mad_u64_u32,
        CLASS_VALU,
        {T_u64, T_mask, T_u32, T_u32, T_u64},
        ROW_SDST},
    {"v_mad_i64_i32",
     run_v_mad_i64_i32,
     CLASS_VALU,
     {T_i64, T_mask, T_i32, T_i32, T_i64},
     ROW_SDST},
    {"v_div_scale_f32",
     run_v_div_scale_f32,
     CLASS_VALU,
     {T_f32, T_mask, T_f32, T_f32, T_f32},
     ROW_SDST},
    {"v_div_scale_f64",
     run_v_div_scale_f64,
     CLASS_VALU,
     {T_f64, T_mask, T_f64, T_f64, T_f64},
     ROW_SDST},
    LEGACY_ROW(mad, f16) LEGACY_ROW(fma, f16) LEGACY_ROW(div_fixup, f16)
        LEGACY_ROW(mad, u16)
            LEGACY_ROW(mad, i16){"v_mqsad_u32_u8",
                                 run_v_mqsad_u32_u8,
                                 CLASS_VALU,
                                 {T_tuple, T_u64, T_u32, T_tuple},
                                 0},
};
static const struct insn_alias aliases[] = {VOP3_ALIASES(ALIAS)};

ROW_SET(vop3, rows, aliases);
