/* image_format.h - the formats of texels, and the numbers that stand for them
 */
#ifndef SIM_BASE_IMAGE_FORMAT_H
#define SIM_BASE_IMAGE_FORMAT_H

#include "processor.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of each channel, the highest first (X lies lowest). gfx9's numbers. */
enum sim_data_format {
    SIM_DATA_8 = 1,
    SIM_DATA_16,
    SIM_DATA_8_8,
    SIM_DATA_32,
    SIM_DATA_16_16,
    SIM_DATA_10_11_11,
    SIM_DATA_11_11_10,
    SIM_DATA_10_10_10_2,
    SIM_DATA_2_10_10_10,
    SIM_DATA_8_8_8_8,
    SIM_DATA_32_32,
    SIM_DATA_16_16_16_16,
    SIM_DATA_32_32_32,
    SIM_DATA_32_32_32_32,
    SIM_DATA_5_6_5 = 16,
    SIM_DATA_1_5_5_5,
    SIM_DATA_5_5_5_1,
    SIM_DATA_4_4_4_4
};

/* Interpretation of a channel's bits; gfx9's numbers. */
enum sim_number_format {
    SIM_NUMBER_UNORM,
    SIM_NUMBER_SNORM,
    SIM_NUMBER_USCALED,
    SIM_NUMBER_SSCALED,
    SIM_NUMBER_UINT,
    SIM_NUMBER_SINT,
    SIM_NUMBER_FLOAT = 7,
    SIM_NUMBER_SRGB = 9
};

struct sim_texel_format {
    uint8_t nbytes;    /* of a texel */
    uint8_t nchannels; /* X, XY, XYZ or XYZW */
    uint8_t nbits[4];  /* widths of X, Y, Z, W; X lowest */
};

/* NULL if images have no such format. */
const struct sim_texel_format *sim_format_of(enum sim_data_format data,
                                             enum sim_number_format number);

/*
 * Between these and the one field that descriptors and typed buffer
 * instructions of gfx10 on have for both; 0 if there is none, and false.
 */
uint32_t sim_format_encode(enum sim_data_format data,
                           enum sim_number_format number,
                           const struct sim_target *target);
bool sim_format_decode(uint32_t code, const struct sim_target *target,
                       enum sim_data_format *data,
                       enum sim_number_format *number);

#endif
