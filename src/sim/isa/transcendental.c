/* transcendental.c - reciprocals, roots, logarithms, exponentials, sine
 *
 * Hardware gives these to 1 ulp. Here f32 and f16 results are computed in f64
 * and rounded once, so they are the correctly rounded value but for a few
 * cases in a billion; f64 reciprocals and roots, where hardware has 29 bits or
 * so, are correctly rounded as well. Rules that the manuals state exactly hold:
 * denormal f32 operands and results are flushed whatever MODE says, f16 and
 * f64 ones are not; sine and cosine take revolutions, give 0 and 1 beyond 256
 * revolutions, and NaN for an infinity.
 */
#include "fp.h"
#include "vop.h"

static inline double flush_in(float x)
{
    return fabsf(x) < 0x1p-126f ? copysign(0.0, (double)x) : (double)x;
}

static inline float flush_out(double x)
{
    float f = (float)x;

    return fabsf(f) < 0x1p-126f ? copysignf(0.0f, f) : f;
}

/* The default NaN for an operand that has no result, a NaN operand itself. */
static inline double invalid(double x)
{
    return x != x ? x : bits_f64(NAN_f64);
}

static double rcp(double x)
{
    return 1.0 / x;
}

static double rsq(double x)
{
    return x < 0.0 || x != x ? invalid(x)
           : x == 0.0        ? copysign((double)INFINITY, x)
                             : 1.0 / sqrt(x);
}

static double root(double x)
{
    return x < 0.0 || x != x ? invalid(x) : sqrt(x);
}

static double lg(double x)
{
    return x < 0.0 || x != x ? invalid(x) : log2(x);
}

#define TWO_PI 6.283185307179586477

/* sin(2 pi r) for |r| <= 1/2: exact where the sine is 0 or 1. */
static double sin_turn(double r)
{
    if (fabs(r) > 0.25)
        r = copysign(0.5 - fabs(r), r);
    return fabs(r) == 0.25 ? copysign(1.0, r) : sin(r * TWO_PI);
}

static double sine(double x)
{
    if (!isfinite(x))
        return invalid(x);
    return fabs(x) > 256.0 ? 0.0 : x == 0.0 ? x : sin_turn(x - rint(x));
}

static double cosine(double x)
{
    if (!isfinite(x))
        return invalid(x);
    return fabs(x) > 256.0 ? 1.0 : sin_turn(0.25 - fabs(x - rint(x)));
}

/* clang-format off */
#define TRANS_TABLE(X)   \
    X(rcp,  rcp(x))      \
    X(rsq,  rsq(x))      \
    X(sqrt, root(x))     \
    X(exp,  exp2(x))     \
    X(log,  lg(x))       \
    X(sin,  sine(x))     \
    X(cos,  cosine(x))

#define TRANS_ALIASES(X)                     \
    X(v_rcp_iflag_f32, v_rcp_f32)            \
    X(v_exp_legacy_f32, v_exp_f32)           \
    X(v_log_legacy_f32, v_log_f32)
/* clang-format on */

#define TRANS_LANE(name, value)                                                \
    static float name##_f32(float a)                                           \
    {                                                                          \
        double x = flush_in(a);                                                \
        return flush_out(value);                                               \
    }                                                                          \
    static half_t name##_f16(half_t a)                                         \
    {                                                                          \
        double x = (double)a;                                                  \
        return f16_of_f64(value);                                              \
    }
TRANS_TABLE(TRANS_LANE)

#define TRANS_RUN(name, value)                                                 \
    VOP_RUN1(v_##name##_f32, f32, f32, d = name##_f32(a))                      \
    VOP_RUN1(v_##name##_f16, f16, f16, d = name##_f16(a))
TRANS_TABLE(TRANS_RUN)
VOP_RUN1(v_rcp_f64, f64, f64, d = rcp(a))
VOP_RUN1(v_rsq_f64, f64, f64, d = rsq(a))
VOP_RUN1(v_sqrt_f64, f64, f64, d = root(a))

/* ---- gfx12: from a scalar to a scalar ---- */

static float modified(const struct wave *w, const struct insn *in, float x)
{
    static const float scale[] = {1, 2, 4, 0.5f};

    x *= scale[in->omod];
    if (in->flags & F_CLAMP)
        x = x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
    (void)w;
    return x;
}

#define SCALAR_RUN(name, value)                                                \
    static void run_v_s_##name##_f32(struct wave *w, const struct insn *in)    \
    {                                                                          \
        SRC(a, 1, f32);                                                        \
        float d = modified(w, in, name##_f32(GET(a, f32, 0)));                 \
        sim_dst_scalar32(w, &in->op[0], f32_bits(d));                          \
    }                                                                          \
    static void run_v_s_##name##_f16(struct wave *w, const struct insn *in)    \
    {                                                                          \
        SRC(a, 1, f16);                                                        \
        float d = modified(w, in, (float)name##_f16(GET(a, f16, 0)));          \
        sim_dst_scalar32(w, &in->op[0], f16_bits((half_t)d));                  \
    }
#define SCALAR_TABLE(X) X(rcp, ) X(rsq, ) X(sqrt, ) X(exp, ) X(log, )
SCALAR_TABLE(SCALAR_RUN)

#define TRANS_ROW(name, value)                                                 \
    VOP_ROW1(v_##name##_f32, f32, f32, )                                       \
    VOP_ROW1(v_##name##_f16, f16, f16, )
/* The result type is u32: the destination is no vector register. */
#define SCALAR_ROW(name, value)                                                \
    {"v_s_" #name "_f32",                                                      \
     run_v_s_##name##_f32,                                                     \
     CLASS_VALU,                                                               \
     {T_u32, T_f32},                                                           \
     0},                                                                       \
        {"v_s_" #name "_f16",                                                  \
         run_v_s_##name##_f16,                                                 \
         CLASS_VALU,                                                           \
         {T_u32, T_f16},                                                       \
         0},

static const struct insn_row rows[] = {
    TRANS_TABLE(TRANS_ROW) VOP_ROW1(v_rcp_f64, f64, f64, )
        VOP_ROW1(v_rsq_f64, f64, f64, ) VOP_ROW1(v_sqrt_f64, f64, f64, )
            SCALAR_TABLE(SCALAR_ROW)};
static const struct insn_alias aliases[] = {TRANS_ALIASES(ALIAS)};

ROW_SET(transcendental, rows, aliases);
