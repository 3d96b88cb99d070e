/* image_layout.h - an image and the addresses of its texels */
#ifndef SIM_BASE_IMAGE_LAYOUT_H
#define SIM_BASE_IMAGE_LAYOUT_H

#include "image_format.h"

enum {
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
    uint32_t first_level, last_level; /* range that instructions can access */
    /*
     * Texels from one row of level 0 to the next; 0: chosen by
     * sim_image_layout(). For images of one level descriptors have a field for
     * the pitch: on gfx9 of every type, from gfx10.3 on of 1D and 2D images.
     */
    uint32_t pitch;
    uint32_t min_lod; /* in 256ths of a level */
};

static inline bool sim_image_is_array(enum sim_image_type type)
{
    return type == SIM_IMAGE_1D_ARRAY || type == SIM_IMAGE_2D_ARRAY ||
           type == SIM_IMAGE_CUBE;
}

static inline bool sim_image_is_1d(enum sim_image_type type)
{
    return type == SIM_IMAGE_1D || type == SIM_IMAGE_1D_ARRAY;
}

/*
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
    uint32_t width, height, depth; /* depth: 1 except in 3D */
    uint32_t pitch;                /* texels */
};

struct sim_image_layout {
    uint64_t slice_nbytes; /* a layer, or slice of a 3D image, all levels */
    uint64_t nbytes;       /* all */
    uint32_t texel_nbytes;
    struct sim_image_level level[SIM_IMAGE_MAX_LEVELS];
};

/* False if the image makes no sense; `why` then says so in words that complete
 * "the image descriptor ...". */
#define SIM_IMAGE_WHY 160
bool sim_image_layout(const struct sim_image *image,
                      const struct sim_target *target,
                      struct sim_image_layout *layout, char why[SIM_IMAGE_WHY]);

#endif
