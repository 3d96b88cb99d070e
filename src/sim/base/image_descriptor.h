/* image_descriptor.h - descriptors of images and samplers
 *
 * An instruction takes an image's descriptor (T#, eight dwords) and a sampler's
 * (S#, four) from scalar registers. The runtime encodes them, the interpreter
 * decodes them; both come here. Fields are where AMD's ROCr and ISA manuals
 * have them; each generation has its own places.
 *
 * Limits, each refused with a sentence: linear images alone (no swizzle mode),
 * no samples (MSAA), no compression, no formats of blocks or video.
 */
#ifndef SIM_BASE_IMAGE_DESCRIPTOR_H
#define SIM_BASE_IMAGE_DESCRIPTOR_H

#include "processor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_IMAGE_WORDS = 8,
    SIM_SAMPLER_WORDS = 4,
    SIM_IMAGE_MAX_LEVELS = 17,
    SIM_IMAGE_ALIGN = 256 /* alignment of the base address */
};

/* The hardware's numbers, of all generations. */
enum sim_image_type {
    SIM_IMAGE_1D = 8,
    SIM_IMAGE_2D,
    SIM_IMAGE_3D,
    SIM_IMAGE_CUBE, /* arrays of cubes too */
    SIM_IMAGE_1D_ARRAY,
    SIM_IMAGE_2D_ARRAY,
    SIM_IMAGE_2D_MSAA,
    SIM_IMAGE_2D_MSAA_ARRAY
};

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

/* The texel's channel, or constant, for a component of the result. */
enum sim_select {
    SIM_SELECT_0,
    SIM_SELECT_1,
    SIM_SELECT_X = 4,
    SIM_SELECT_Y,
    SIM_SELECT_Z,
    SIM_SELECT_W
};

struct sim_image {
    uint64_t base; /* a multiple of SIM_IMAGE_ALIGN */
    enum sim_image_type type;
    enum sim_data_format data;
    enum sim_number_format number;
    uint8_t select[4];      /* enum sim_select */
    uint32_t width, height; /* size of level 0 in texels; 1D: height 1 */
    /* 3D: slices. Arrays and cubes: the last layer (or face) that can be
     * reached, plus 1. Else 1. */
    uint32_t depth;
    uint32_t first_layer;
    uint32_t nlevels;                 /* levels in memory, 1 or more */
    uint32_t first_level, last_level; /* range in reach */
    /*
     * Texels from one row of level 0 to the next. 0: sim_image_layout()'s own.
     * Descriptors have a field for it in images of one level: on gfx9 always,
     * from gfx10.3 on of 1D, 2D, and of no others.
     */
    uint32_t pitch;
    uint32_t min_lod; /* in 256ths of a level */
};

/* Address modes, the hardware's numbers. */
enum sim_clamp {
    SIM_CLAMP_WRAP,
    SIM_CLAMP_MIRROR,
    SIM_CLAMP_EDGE,
    SIM_CLAMP_MIRROR_ONCE_EDGE,
    SIM_CLAMP_HALF_BORDER, /* not out */
    SIM_CLAMP_MIRROR_ONCE_HALF_BORDER,
    SIM_CLAMP_BORDER,
    SIM_CLAMP_MIRROR_ONCE_BORDER
};

enum sim_border {
    SIM_BORDER_TRANSPARENT_BLACK, /* 0, 0, 0, 0 */
    SIM_BORDER_OPAQUE_BLACK,      /* 0, 0, 0, 1 */
    SIM_BORDER_OPAQUE_WHITE,      /* 1, 1, 1, 1 */
    SIM_BORDER_PALETTE            /* refused */
};

struct sim_sampler {
    enum sim_clamp clamp[3]; /* x, y, z */
    bool linear_mag, linear_min;
    /* z of 3D, between levels: 0 none (z: as x and y), 1 point, 2 linear */
    uint8_t z_filter, mip_filter;
    bool unnormalised; /* coordinates count texels */
    uint8_t compare;   /* image_sample_c: 0 never, < = <= > != >= always */
    uint8_t reduction; /* 0 the weighted sum, 1 minimum, 2 maximum */
    bool truncates;    /* nearest: toward zero where it would round */
    bool no_cube_wrap; /* a cube's faces end at their edges */
    bool keeps_srgb;   /* sRGB texels are not made linear */
    bool forces_srgb;  /* UNORM texels are */
    uint8_t aniso;     /* anisotropy; ignored by filters */
    uint32_t min_lod, max_lod; /* in 256ths of a level */
    int32_t lod_bias;          /* the same */
    enum sim_border border;
};

/*
 * Each function here returns false where a value has no place in this
 * target's descriptor or makes no sense; `why` then says so in words that
 * complete "the image descriptor ...", or "the sampler descriptor ...".
 * Descriptors that come from anywhere may be decoded: the struct's fields are
 * in range afterwards, and sim_image_layout() succeeds.
 */
#define SIM_IMAGE_WHY 160

bool sim_image_encode(const struct sim_image *image,
                      const struct sim_target *target,
                      uint32_t words[SIM_IMAGE_WORDS], char why[SIM_IMAGE_WHY]);
bool sim_image_decode(const uint32_t words[SIM_IMAGE_WORDS],
                      const struct sim_target *target, struct sim_image *image,
                      char why[SIM_IMAGE_WHY]);
bool sim_sampler_encode(const struct sim_sampler *sampler,
                        const struct sim_target *target,
                        uint32_t words[SIM_SAMPLER_WORDS],
                        char why[SIM_IMAGE_WHY]);
bool sim_sampler_decode(const uint32_t words[SIM_SAMPLER_WORDS],
                        const struct sim_target *target,
                        struct sim_sampler *sampler, char why[SIM_IMAGE_WHY]);

/* ---- formats ---- */

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

/* ---- where texels lie ----
 *
 * As AMD's address library lays out linear images: texel (x, y) of slice or
 * layer z on level l is at
 *
 *   base + z * slice_nbytes + level[l].offset + (y * level[l].pitch + x) * size
 *
 * Rows are multiples of 256 bytes, but where the descriptor's pitch says else.
 * gfx9 puts the levels below each other, the largest first, with one pitch;
 * later generations one behind the other, the smallest first, each with its
 * own pitch.
 */
struct sim_image_level {
    uint64_t offset;
    uint32_t width, height, depth; /* depth: 1 but of 3D */
    uint32_t pitch;                /* texels */
};

struct sim_image_layout {
    uint64_t slice_nbytes; /* a layer, or slice of a 3D image, all levels */
    uint64_t nbytes;       /* all */
    uint32_t texel_nbytes;
    struct sim_image_level level[SIM_IMAGE_MAX_LEVELS];
};

bool sim_image_layout(const struct sim_image *image,
                      const struct sim_target *target,
                      struct sim_image_layout *layout, char why[SIM_IMAGE_WHY]);

static inline bool sim_image_is_array(enum sim_image_type type)
{
    return type == SIM_IMAGE_1D_ARRAY || type == SIM_IMAGE_2D_ARRAY ||
           type == SIM_IMAGE_CUBE;
}

static inline bool sim_image_is_1d(enum sim_image_type type)
{
    return type == SIM_IMAGE_1D || type == SIM_IMAGE_1D_ARRAY;
}

#endif
