/* image_op.h - operands and texels of image instructions
 *
 * An instruction gives coordinates in vector registers, an image's descriptor
 * and mostly a sampler's in scalar ones. sim_image_open() decodes both and
 * works out which register holds what; then each lane goes by itself. Texels
 * are read and written through access.h, so all its checks hold.
 *
 * Coordinates stand in this order, a register each: texel offsets, bias, what
 * to compare with, gradients, x, y, z or layer, and a level or a least one.
 * A16 puts two coordinates into a register, G16 two gradients.
 */
#ifndef SIM_ISA_IMAGE_OP_H
#define SIM_ISA_IMAGE_OP_H

#include "texel_convert.h"
#include "vmem.h"

/* Address operands beside x, y, z, and kinds of image instructions. */
enum {
    IMAGE_SAMPLES = 1 << 0, /* has a sampler; coordinates are floats */
    IMAGE_OFFSETS = 1 << 1,
    IMAGE_BIAS = 1 << 2,
    IMAGE_COMPARES = 1 << 3,
    IMAGE_GRADIENTS = 1 << 4,
    IMAGE_GRADIENTS16 = 1 << 5,
    IMAGE_LEVEL = 1 << 6, /* the last coordinate: a level, of all kinds */
    IMAGE_LEAST_LEVEL = 1 << 7,
    IMAGE_LEVEL_0 = 1 << 8,
    IMAGE_GATHERS = 1 << 9,
    IMAGE_NO_PLACE = 1 << 10 /* no x, y, z: image_get_resinfo */
};

struct image_op {
    struct wave *w;
    const struct insn *in;
    unsigned what; /* IMAGE_... */
    struct sim_image image;
    struct sim_image_layout layout;
    struct sim_sampler sampler;
    const struct sim_texel_format *format;
    enum sim_number_format number; /* number format for reads */
    unsigned ncoords, ngradients;  /* x, y, z...; of each direction */
    bool unnormalised;
    /* Numbers of the coordinates' registers. */
    uint8_t at_offset, at_bias, at_compare, at_gradients, at_body;
    unsigned ntexels; /* looked at so far, for the counters */
    uint64_t texel[MAX_TEXELS];
};

/* False, with a fault, if a descriptor or a modifier cannot be had. */
bool sim_image_open(struct wave *w, const struct insn *in,
                    const struct operand *image, const struct operand *sampler,
                    unsigned what, struct image_op *op);

/* The register that holds a lane's n-th coordinate, as it stands. */
uint32_t sim_image_coord(const struct image_op *op, unsigned n, unsigned lane);

/* Body coordinate n: x, y, z and what follows; integers and floats. */
uint32_t sim_image_body(const struct image_op *op, unsigned n, unsigned lane);
float sim_image_body_float(const struct image_op *op, unsigned n,
                           unsigned lane);

/* The address of a texel inside the image. */
uint64_t sim_image_texel_at(const struct image_op *op, unsigned level,
                            uint32_t x, uint32_t y, uint32_t z);

/* The channels of such a texel; false if it faulted. */
bool sim_image_fetch(struct image_op *op, unsigned level, uint32_t x,
                     uint32_t y, uint32_t z, int lane, uint32_t channel[4]);

/* Writes a lane's components, as DMASK and D16 say. */
void sim_image_result(const struct image_op *op, unsigned lane,
                      const uint32_t component[4]);

/* Adds the instruction's fetched texels to the counters; called last. */
void sim_image_count_loads(const struct image_op *op);

#endif
