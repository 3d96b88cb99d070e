/* texel_convert.h - between a texel's bytes and the values that kernels see
 *
 * A value is the 32 bits of a register: a float, or an integer of formats UINT
 * and SINT.
 */
#ifndef SIM_ISA_TEXEL_CONVERT_H
#define SIM_ISA_TEXEL_CONVERT_H

#include "../base/image_descriptor.h"

enum { SIM_TEXEL_MOST_NBYTES = 16 };

static inline bool sim_number_is_integer(enum sim_number_format number)
{
    return number == SIM_NUMBER_UINT || number == SIM_NUMBER_SINT;
}

/* The bits of 1 for missing W channels and SIM_SELECT_1. */
uint32_t sim_texel_one(enum sim_number_format number);

/* Unpacks channels X, Y, Z, W; channels that the format lacks are 0, 0, 0, 1.
 */
void sim_texel_unpack(const struct sim_texel_format *format,
                      enum sim_number_format number, const uint8_t *bytes,
                      uint32_t channel[4]);

/*
 * Values that the format cannot hold become the nearest that it can, NaN 0 but
 * of floats; all is rounded to nearest, ties to even.
 */
void sim_texel_pack(const struct sim_texel_format *format,
                    enum sim_number_format number, const uint32_t channel[4],
                    uint8_t *bytes);

/* To and from the 16 bits of D16: what they do not hold becomes the nearest. */
uint16_t sim_texel_narrow(enum sim_number_format number, uint32_t v);
uint32_t sim_texel_widen(enum sim_number_format number, uint16_t v);

/* Map channels to components by a descriptor's selections, and back. If several
 * components select a channel, the first one is taken; unselected channels are
 * 0. */
void sim_texel_select(const uint8_t select[4], enum sim_number_format number,
                      const uint32_t channel[4], uint32_t component[4]);
void sim_texel_unselect(const uint8_t select[4], const uint32_t component[4],
                        uint32_t channel[4]);

#endif
