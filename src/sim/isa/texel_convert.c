/* texel_convert.c - between a texel's bytes and the values that kernels see */
#include "texel_convert.h"

#include "fp.h"

#include <string.h>

/* ---- fields of a texel ---- */

static uint32_t get_field(const uint8_t *bytes, unsigned bit, unsigned nbits)
{
    uint64_t v = 0;

    memcpy(&v, bytes + bit / 8, (bit % 8 + nbits + 7) / 8);
    return (uint32_t)(v >> bit % 8 & ((UINT64_C(1) << nbits) - 1));
}

static void put_field(uint8_t *bytes, unsigned bit, unsigned nbits,
                      uint32_t value)
{
    uint64_t v = (uint64_t)value << bit % 8;
    uint64_t mask = ((UINT64_C(1) << nbits) - 1) << bit % 8;

    for (unsigned k = 0; k < (bit % 8 + nbits + 7) / 8; k++) {
        uint8_t m = (uint8_t)(mask >> 8 * k);

        bytes[bit / 8 + k] =
            (uint8_t)((bytes[bit / 8 + k] & ~m) | ((uint8_t)(v >> 8 * k) & m));
    }
}

static int32_t sign_extend(uint32_t v, unsigned nbits)
{
    return (int32_t)(v << (32 - nbits)) >> (32 - nbits);
}

/* ---- floats of 10, 11 and 16 bits ---- */

/* Unpacks an unsigned float with five exponent bits, as in f16. */
static float unpack_float(uint32_t v, unsigned nbits)
{
    if (nbits == 32)
        return bits_f32(v);
    return (float)bits_f16((uint16_t)(nbits == 16 ? v : v << (15 - nbits)));
}

/* The nearest of `fraction` bits behind the point, without a sign. */
static uint32_t shorten(float v, unsigned fraction)
{
    const uint32_t infinity = 31u << fraction;
    uint32_t bits;
    int exponent;

    if (isnan(v))
        return infinity | 1;
    if (!(v > 0))
        return 0;
    if (isinf(v))
        return infinity;
    exponent = ilogbf(v) < -14 ? -14 : ilogbf(v);
    if (exponent > 15)
        return infinity - 1;
    bits = ((uint32_t)(exponent + 14) << fraction) +
           (uint32_t)nearbyint(ldexp(v, (int)fraction - exponent));
    return bits < infinity ? bits : infinity - 1;
}

static uint32_t pack_float(float v, unsigned nbits)
{
    return nbits == 32   ? f32_bits(v)
           : nbits == 16 ? f16_bits((half_t)v)
                         : shorten(v, nbits - 5);
}

/* ---- sRGB, IEC 61966-2-1 ---- */

static double from_srgb(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double to_srgb(double v)
{
    if (!(v > 0))
        return 0;
    if (v >= 1)
        return 1;
    return v < 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

/* ---- one channel ---- */

static double limit(double v, double least, double most)
{
    return isnan(v) ? 0 : v < least ? least : v > most ? most : v;
}

static uint32_t unpack_channel(uint32_t v, unsigned nbits,
                               enum sim_number_format number, bool is_alpha)
{
    double most = (double)((UINT64_C(1) << nbits) - 1);
    double signed_most = (double)((UINT64_C(1) << (nbits - 1)) - 1);
    int32_t s = sign_extend(v, nbits);
    double linear;

    switch (number) {
    case SIM_NUMBER_UINT:
        return v;
    case SIM_NUMBER_SINT:
        return (uint32_t)s;
    case SIM_NUMBER_USCALED:
        return f32_bits((float)v);
    case SIM_NUMBER_SSCALED:
        return f32_bits((float)s);
    case SIM_NUMBER_FLOAT:
        return f32_bits(unpack_float(v, nbits));
    case SIM_NUMBER_SNORM: /* both lowest values are -1 */
        return f32_bits((float)limit(s / signed_most, -1, 1));
    default:
        linear = v / most;
        if (number == SIM_NUMBER_SRGB && !is_alpha)
            linear = from_srgb(linear);
        return f32_bits((float)linear);
    }
}

static uint32_t pack_channel(uint32_t bits, unsigned nbits,
                             enum sim_number_format number, bool is_alpha)
{
    double most = (double)((UINT64_C(1) << nbits) - 1);
    double signed_most = (double)((UINT64_C(1) << (nbits - 1)) - 1);
    float f = bits_f32(bits);

    switch (number) {
    case SIM_NUMBER_UINT:
        return (uint32_t)limit(bits, 0, most);
    case SIM_NUMBER_SINT:
        return (uint32_t)(int32_t)limit((int32_t)bits, -signed_most - 1,
                                        signed_most);
    case SIM_NUMBER_USCALED:
        return (uint32_t)limit(truncf(f), 0, most);
    case SIM_NUMBER_SSCALED:
        return (uint32_t)(int32_t)limit(truncf(f), -signed_most - 1,
                                        signed_most);
    case SIM_NUMBER_FLOAT:
        return pack_float(f, nbits);
    case SIM_NUMBER_SNORM:
        return (uint32_t)(int32_t)nearbyint(limit(f, -1, 1) * signed_most);
    default:
        return (uint32_t)nearbyint((number == SIM_NUMBER_SRGB && !is_alpha
                                        ? to_srgb(f)
                                        : limit(f, 0, 1)) *
                                   most);
    }
}

/* ---- texels ---- */

uint32_t sim_texel_one(enum sim_number_format number)
{
    return sim_number_is_integer(number) ? 1 : f32_bits(1);
}

void sim_texel_unpack(const struct sim_texel_format *format,
                      enum sim_number_format number, const uint8_t *bytes,
                      uint32_t channel[4])
{
    unsigned bit = 0;

    for (unsigned c = 0; c < 4; c++) {
        channel[c] = c == 3 ? sim_texel_one(number) : 0;
        if (c >= format->nchannels)
            continue;
        channel[c] = unpack_channel(get_field(bytes, bit, format->nbits[c]),
                                    format->nbits[c], number, c == 3);
        bit += format->nbits[c];
    }
}

void sim_texel_pack(const struct sim_texel_format *format,
                    enum sim_number_format number, const uint32_t channel[4],
                    uint8_t *bytes)
{
    unsigned bit = 0;

    for (unsigned c = 0; c < format->nchannels; c++) {
        put_field(bytes, bit, format->nbits[c],
                  pack_channel(channel[c], format->nbits[c], number, c == 3));
        bit += format->nbits[c];
    }
}

uint16_t sim_texel_narrow(enum sim_number_format number, uint32_t v)
{
    int32_t s = (int32_t)v;

    if (number == SIM_NUMBER_UINT)
        return (uint16_t)(v > UINT16_MAX ? UINT16_MAX : v);
    if (number == SIM_NUMBER_SINT)
        return (uint16_t)(s > INT16_MAX   ? INT16_MAX
                          : s < INT16_MIN ? INT16_MIN
                                          : s);
    return f16_bits((half_t)bits_f32(v));
}

uint32_t sim_texel_widen(enum sim_number_format number, uint16_t v)
{
    if (number == SIM_NUMBER_UINT)
        return v;
    if (number == SIM_NUMBER_SINT)
        return (uint32_t)(int32_t)(int16_t)v;
    return f32_bits((float)bits_f16(v));
}

void sim_texel_select(const uint8_t select[4], enum sim_number_format number,
                      const uint32_t channel[4], uint32_t component[4])
{
    for (unsigned c = 0; c < 4; c++)
        component[c] = select[c] >= SIM_SELECT_X
                           ? channel[select[c] - SIM_SELECT_X]
                       : select[c] == SIM_SELECT_1 ? sim_texel_one(number)
                                                   : 0;
}

void sim_texel_unselect(const uint8_t select[4], const uint32_t component[4],
                        uint32_t channel[4])
{
    for (unsigned c = 0; c < 4; c++)
        channel[c] = 0;
    for (unsigned c = 4; c-- > 0;)
        if (select[c] >= SIM_SELECT_X)
            channel[select[c] - SIM_SELECT_X] = component[c];
}
