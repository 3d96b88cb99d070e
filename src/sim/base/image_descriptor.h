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

#include "image_layout.h"

enum { SIM_IMAGE_WORDS = 8, SIM_SAMPLER_WORDS = 4 };

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
    bool truncates;    /* nearest: truncates coordinates, does not round */
    bool no_cube_wrap; /* a cube's faces end at their edges */
    bool keeps_srgb;   /* sRGB texels are not converted to linear */
    bool forces_srgb;  /* UNORM texels are converted like sRGB texels */
    uint8_t aniso;     /* anisotropy; ignored by filters */
    uint32_t min_lod, max_lod; /* in 256ths of a level */
    int32_t lod_bias;          /* in 256ths of a level */
    enum sim_border border;
};

/*
 * Each function here returns false where a value has no place in this
 * target's descriptor or makes no sense; `why` then says so in words that
 * complete "the image descriptor ...", or "the sampler descriptor ...".
 * Descriptors that come from anywhere may be decoded: the struct's fields are
 * in range afterwards, and sim_image_layout() succeeds.
 */
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

#endif
