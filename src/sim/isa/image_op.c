/* image_op.c - operands and texels of image instructions */
#include "image_op.h"
#include "work_count.h"

#include "fault_report.h"
#include "fp.h"

#include <stdio.h>

/* ---- shapes ---- */

/* Coordinates and gradients (of one direction) by the type of an image. */
static const struct shape {
    const char *name;
    uint8_t ncoords, ngradients;
} shapes[] = {
    [SIM_IMAGE_1D] = {"1D", 1, 1},
    [SIM_IMAGE_2D] = {"2D", 2, 2},
    [SIM_IMAGE_3D] = {"3D", 3, 3},
    [SIM_IMAGE_CUBE] = {"cube", 3, 2},
    [SIM_IMAGE_1D_ARRAY] = {"1D array", 2, 1},
    [SIM_IMAGE_2D_ARRAY] = {"2D array", 3, 2},
};

/*
 * From gfx10 on the instruction has a number of coordinates, and the descriptor
 * gives their meaning. If the image has no layers, the layer is ignored, which
 * HIP's functions for cubes rely on. On gfx9 a bit of the instruction says
 * "array".
 */
static bool fits(const struct wave *w, const struct insn *in,
                 enum sim_image_type type)
{
    if (w->target->major == 9)
        return !sim_image_is_array(type) || (in->flags & F_ARRAY);
    if (in->dim == type)
        return true;
    return (in->dim == SIM_IMAGE_1D_ARRAY && type == SIM_IMAGE_1D) ||
           (in->dim == SIM_IMAGE_2D_ARRAY && type == SIM_IMAGE_2D) ||
           (in->dim == SIM_IMAGE_CUBE &&
            (type == SIM_IMAGE_2D || type == SIM_IMAGE_2D_ARRAY));
}

static bool check_shape(struct image_op *op)
{
    const enum sim_image_type type = op->image.type;
    const enum sim_image_type dim =
        op->w->target->major == 9 ? type : (enum sim_image_type)op->in->dim;

    if (dim < SIM_IMAGE_1D || dim > SIM_IMAGE_2D_ARRAY ||
        !fits(op->w, op->in, type)) {
        sim_fault_raise(op->w, SIM_FAULT_DESCRIPTOR, -1, op->image.base,
                        "the instruction is for %s images, the image "
                        "descriptor is of a %s one",
                        op->w->target->major == 9 ? "single"
                        : dim >= SIM_IMAGE_1D && dim <= SIM_IMAGE_2D_ARRAY
                            ? shapes[dim].name
                            : "other",
                        shapes[type].name);
        return false;
    }
    op->ncoords = op->what & IMAGE_NO_PLACE ? 0 : shapes[dim].ncoords;
    op->ngradients = shapes[dim].ngradients;
    return true;
}

/* ---- coordinates ---- */

/* Assigns registers to the coordinates; returns how many there must be. */
static unsigned place_coords(struct image_op *op)
{
    const bool a16 = op->in->flags & F_A16;
    const bool g16 =
        op->what & IMAGE_GRADIENTS16 || (a16 && op->w->target->major == 9);
    unsigned n = 0, body;

    op->at_offset = (uint8_t)n;
    n += op->what & IMAGE_OFFSETS ? 1 : 0;
    op->at_bias = (uint8_t)n;
    n += op->what & IMAGE_BIAS ? 1 : 0;
    op->at_compare = (uint8_t)n;
    n += op->what & IMAGE_COMPARES ? 1 : 0;
    op->at_gradients = (uint8_t)n;
    if (op->what & IMAGE_GRADIENTS)
        n += 2 * (g16 ? (op->ngradients + 1) / 2 : op->ngradients);
    op->at_body = (uint8_t)n;
    body = op->ncoords;
    if (op->what & (IMAGE_LEVEL | IMAGE_LEAST_LEVEL))
        body++;
    return n + (a16 ? (body + 1) / 2 : body);
}

static bool check_coords(struct image_op *op, const struct operand *address)
{
    unsigned n = place_coords(op);
    bool listed = op->in->naddress != 0;

    if (listed ? n > op->in->naddress : address->reg + n > op->w->nvgprs) {
        sim_fault_raise(op->w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                        "the image takes %u registers of coordinates from v%u "
                        "on, and %u are there",
                        n, address->reg,
                        listed ? op->in->naddress
                               : op->w->nvgprs - address->reg);
        return false;
    }
    return true;
}

uint32_t sim_image_coord(const struct image_op *op, unsigned n, unsigned lane)
{
    const struct insn *in = op->in;

    return op->w->v[in->naddress ? in->address[n] : in->op[1].reg + n][lane];
}

uint32_t sim_image_body(const struct image_op *op, unsigned n, unsigned lane)
{
    if (!(op->in->flags & F_A16))
        return sim_image_coord(op, op->at_body + n, lane);
    return sim_image_coord(op, op->at_body + n / 2, lane) >> 16 * (n % 2) &
           0xffff;
}

float sim_image_body_float(const struct image_op *op, unsigned n, unsigned lane)
{
    uint32_t v = sim_image_body(op, n, lane);

    return op->in->flags & F_A16 ? (float)bits_f16((uint16_t)v) : bits_f32(v);
}

/* ---- opening ---- */

static bool has_images(const struct sim_target *t)
{
    return t->major != 9 || t->minor == 0;
}

static bool check_modifiers(struct wave *w, const struct insn *in)
{
    const char *name = in->flags & F_TFE    ? "tfe"
                       : in->flags & F_LWE  ? "lwe"
                       : in->flags & F_R128 ? "r128"
                                            : NULL;

    if (name)
        sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                        "the simulator does not have the modifier %s", name);
    return !name;
}

bool sim_image_open(struct wave *w, const struct insn *in,
                    const struct operand *image, const struct operand *sampler,
                    unsigned what, struct image_op *op)
{
    char why[SIM_IMAGE_WHY] = "";

    op->w = w;
    op->in = in;
    op->what = what;
    op->ntexels = 0;
    if (!check_modifiers(w, in))
        return false;
    if (!has_images(w->target)) {
        sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                        "%s has no image instructions", w->target->name);
        return false;
    }
    if (!sim_image_decode(&w->s[image->reg], w->target, &op->image, why) ||
        !sim_image_layout(&op->image, w->target, &op->layout, why)) {
        sim_fault_raise(w, SIM_FAULT_DESCRIPTOR, -1, op->image.base,
                        "the image descriptor in s[%u:%u] %s", image->reg,
                        image->reg + SIM_IMAGE_WORDS - 1u, why);
        return false;
    }
    if (sampler && !sim_sampler_decode(&w->s[sampler->reg], w->target,
                                       &op->sampler, why)) {
        sim_fault_raise(w, SIM_FAULT_DESCRIPTOR, -1, 0,
                        "the sampler descriptor in s[%u:%u] %s", sampler->reg,
                        sampler->reg + SIM_SAMPLER_WORDS - 1u, why);
        return false;
    }
    op->format = sim_format_of(op->image.data, op->image.number);
    op->number = op->image.number;
    if (sampler && op->number == SIM_NUMBER_SRGB && op->sampler.keeps_srgb)
        op->number = SIM_NUMBER_UNORM;
    if (sampler && op->number == SIM_NUMBER_UNORM && op->sampler.forces_srgb)
        op->number = SIM_NUMBER_SRGB;
    op->unnormalised =
        sampler && (op->sampler.unnormalised || in->flags & F_UNORM);
    return check_shape(op) && check_coords(op, &in->op[1]);
}

/* ---- texels ---- */

uint64_t sim_image_texel_at(const struct image_op *op, unsigned level,
                            uint32_t x, uint32_t y, uint32_t z)
{
    const struct sim_image_level *l = &op->layout.level[level];

    return op->image.base + z * op->layout.slice_nbytes + l->offset +
           ((uint64_t)y * l->pitch + x) * op->layout.texel_nbytes;
}

bool sim_image_fetch(struct image_op *op, unsigned level, uint32_t x,
                     uint32_t y, uint32_t z, int lane, uint32_t channel[4])
{
    const uint64_t at = sim_image_texel_at(op, level, x, y, z);
    const uint8_t *bytes =
        sim_global(op->w, at, op->format->nbytes, ACCESS_READ, lane);

    if (!bytes)
        return false;
    op->texel[op->ntexels++] = at;
    sim_texel_unpack(op->format, op->number, bytes, channel);
    return true;
}

void sim_image_count_loads(const struct image_op *op)
{
    sim_vmem_count(op->w, op->texel, op->ntexels, op->format->nbytes,
                   WORK_LOADS);
}

/* ---- results ---- */

void sim_image_result(const struct image_op *op, unsigned lane,
                      const uint32_t component[4])
{
    const struct insn *in = op->in;
    unsigned n = 0;

    for (unsigned c = 0; c < 4; c++) {
        uint32_t *reg;

        /* A gather returns one component of four texels. */
        if (!(op->what & IMAGE_GATHERS) && !(in->dmask >> c & 1))
            continue;
        if (!(in->flags & F_D16)) {
            (*tuple_reg(op->w, &in->op[0], n++))[lane] = component[c];
            continue;
        }
        reg = &(*tuple_reg(op->w, &in->op[0], n / 2))[lane];
        *reg = n % 2 ? (*reg & 0xffff) |
                           (uint32_t)sim_texel_narrow(op->number, component[c])
                               << 16
                     : sim_texel_narrow(op->number, component[c]);
        n++;
    }
}
