/* atomic.c - operations of atomic instructions */
#include "atomic.h"

#include "lane_types.h"

#include <math.h>

/* clang-format off */
#define INTEGER_FNS(X)                                                       \
    X(swap32,     data)                                                      \
    X(swap64,     data)                                                      \
    X(cmpswap32,  (uint32_t)old == (uint32_t)compare ? data : old)           \
    X(cmpswap64,  old == compare ? data : old)                               \
    X(add32,      old + data)                                                \
    X(add64,      old + data)                                                \
    X(sub32,      old - data)                                                \
    X(sub64,      old - data)                                                \
    X(rsub32,     data - old)                                                \
    X(rsub64,     data - old)                                                \
    X(smin32,     (int32_t)data < (int32_t)old ? data : old)                 \
    X(smin64,     (int64_t)data < (int64_t)old ? data : old)                 \
    X(umin32,     (uint32_t)data < (uint32_t)old ? data : old)               \
    X(umin64,     data < old ? data : old)                                   \
    X(smax32,     (int32_t)data > (int32_t)old ? data : old)                 \
    X(smax64,     (int64_t)data > (int64_t)old ? data : old)                 \
    X(umax32,     (uint32_t)data > (uint32_t)old ? data : old)               \
    X(umax64,     data > old ? data : old)                                   \
    X(and64,      old & data)                                                \
    X(or64,       old | data)                                                \
    X(xor64,      old ^ data)                                                \
    X(inc32,      (uint32_t)old >= (uint32_t)data ? 0 : old + 1)             \
    X(inc64,      old >= data ? 0 : old + 1)                                 \
    X(dec32,      (uint32_t)old == 0 || (uint32_t)old > (uint32_t)data       \
                      ? data : old - 1)                                      \
    X(dec64,      old == 0 || old > data ? data : old - 1)                   \
    X(clamp_sub32, (uint32_t)old < (uint32_t)data ? 0 : old - data)          \
    X(cond_sub32, (uint32_t)old >= (uint32_t)data ? old - data : old)
/* clang-format on */

#define INTEGER_FN(name, expr)                                                 \
    uint64_t sim_atomic_##name(uint64_t old, uint64_t data, uint64_t compare)  \
    {                                                                          \
        (void)old;                                                             \
        (void)data;                                                            \
        (void)compare;                                                         \
        return expr;                                                           \
    }
INTEGER_FNS(INTEGER_FN)

/* Minimum and maximum prefer a number to NaN and order -0 below +0. */
#define FLOAT_FNS(bits, real, get, put)                                        \
    uint64_t sim_atomic_fcmpswap##bits(uint64_t old, uint64_t data,            \
                                       uint64_t compare)                       \
    {                                                                          \
        return get(old) == get(compare) ? data : old;                          \
    }                                                                          \
    uint64_t sim_atomic_fmin##bits(uint64_t old, uint64_t data,                \
                                   uint64_t compare)                           \
    {                                                                          \
        real a = get(old), b = get(data);                                      \
                                                                               \
        (void)compare;                                                         \
        if (isnan(a) || isnan(b))                                              \
            return isnan(a) ? data : old;                                      \
        return b < a || (a == b && signbit(b)) ? data : old;                   \
    }                                                                          \
    uint64_t sim_atomic_fmax##bits(uint64_t old, uint64_t data,                \
                                   uint64_t compare)                           \
    {                                                                          \
        real a = get(old), b = get(data);                                      \
                                                                               \
        (void)compare;                                                         \
        if (isnan(a) || isnan(b))                                              \
            return isnan(a) ? data : old;                                      \
        return b > a || (a == b && !signbit(b)) ? data : old;                  \
    }                                                                          \
    uint64_t sim_atomic_fadd##bits(uint64_t old, uint64_t data,                \
                                   uint64_t compare)                           \
    {                                                                          \
        (void)compare;                                                         \
        return put(get(old) + get(data));                                      \
    }

static float value32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;

    return get_f32(&low);
}

static uint64_t bits32(float v)
{
    uint32_t bits;

    put_f32(&bits, v);
    return bits;
}

static double value64(uint64_t bits)
{
    return get_f64(&bits);
}

static uint64_t bits64(double v)
{
    uint64_t bits;

    put_f64(&bits, v);
    return bits;
}

FLOAT_FNS(32, float, value32, bits32)
FLOAT_FNS(64, double, value64, bits64)

static uint32_t add_half(uint32_t a, uint32_t b)
{
    uint32_t bits;

    put_f16(&bits, (half_t)(get_f16(&a) + get_f16(&b)));
    return bits;
}

uint64_t sim_atomic_pk_add_f16(uint64_t old, uint64_t data, uint64_t compare)
{
    uint32_t a = (uint32_t)old, b = (uint32_t)data;

    (void)compare;
    return add_half(a & 0xffff, b & 0xffff) | add_half(a >> 16, b >> 16) << 16;
}

/* bf16 is the upper half of f32; the sum is rounded to nearest even. */
static uint32_t add_bf16(uint32_t a, uint32_t b)
{
    float sum = value32((uint64_t)a << 16) + value32((uint64_t)b << 16);
    uint32_t bits = (uint32_t)bits32(sum);

    if (isnan(sum))
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint64_t sim_atomic_pk_add_bf16(uint64_t old, uint64_t data, uint64_t compare)
{
    uint32_t a = (uint32_t)old, b = (uint32_t)data;

    (void)compare;
    return add_bf16(a & 0xffff, b & 0xffff) | add_bf16(a >> 16, b >> 16) << 16;
}

/* Sums that flush denormal operands, denormal results, both. */
static float flushed32(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

#define FLUSHING_ADD(name, in, out)                                            \
    uint64_t sim_atomic_##name(uint64_t old, uint64_t data, uint64_t compare)  \
    {                                                                          \
        (void)compare;                                                         \
        return bits32(out(in(value32(old)) + in(value32(data))));              \
    }
FLUSHING_ADD(fadd32_daz, flushed32, )
FLUSHING_ADD(fadd32_ftz, , flushed32)
FLUSHING_ADD(fadd32_flush, flushed32, flushed32)
