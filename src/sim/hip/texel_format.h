/* texel_format.h - elements of arrays and textures
 *
 * One, two or four channels, which HIP names in three ways.
 */
#ifndef SIM_HIP_TEXEL_FORMAT_H
#define SIM_HIP_TEXEL_FORMAT_H

#include "abi.h"

#include "../base/image_descriptor.h"

#include <stdbool.h>

enum { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };

/* An element of an array or a texture: one, two or four channels. */
struct texel {
    int format; /* hipArray_Format */
    unsigned channels;
};

/* Convert from HIP's three ways to describe a texel; false if it is invalid. */
bool texel_of_format(int format, unsigned channels, struct texel *out);
bool texel_of_desc(const hipChannelFormatDesc *desc, struct texel *out);
bool texel_of_view(int view_format, struct texel *out);

unsigned texel_nbytes(const struct texel *texel);
hipChannelFormatDesc texel_desc(const struct texel *texel);
/* An unknown format gives a description without channels, which every function
 * refuses. */
hipChannelFormatDesc texel_desc_of(int format, unsigned channels);
int texel_view(const struct texel *texel); /* hipResourceViewFormat */

/*
 * Sets the texel's formats and channels in the image, as the hardware reads
 * them. Behind the descriptor's eight dwords go the fields that AMD's device
 * library reads: its own numbers of type and order, the width. False if the
 * hardware has no such format.
 */
struct reading {
    bool normalized; /* 8 and 16-bit integers read as fractions */
    bool srgb;       /* matters to four channels alone */
};
enum {
    CHANNEL_TYPE = SIM_IMAGE_WORDS,
    CHANNEL_ORDER,
    ELEMENTS, /* of a row */
    IMAGE_OBJECT_WORDS = 12
};
bool texel_read(const struct texel *texel, const struct reading *reading,
                struct sim_image *image, uint32_t object[IMAGE_OBJECT_WORDS]);

#endif
