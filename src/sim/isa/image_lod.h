/* image_lod.h - a sampler's choice of an image's levels */
#ifndef SIM_ISA_IMAGE_LOD_H
#define SIM_ISA_IMAGE_LOD_H

#include "image_op.h"

/* Levels to mix: `near` and the one behind it with weight `far`. */
struct lod {
    unsigned level;
    double far;
    bool magnifies;
};

struct lod sim_image_lod(const struct image_op *op, unsigned lane);

/* To 8 bits of fraction; any float, in bounds that integers have. */
double sim_image_fixed(double v);

#endif
