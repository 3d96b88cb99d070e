/* image_lod.c - a sampler's choice of an image's levels, image_get_lod
 *
 * Without a given level or gradients, the level follows from the lanes'
 * coordinates: four lanes in a row are a square, two wide, and the differences
 * of its first to its second and third lane are the gradients, as in a pixel
 * shader. Levels are rounded to 8 bits of fraction, like coordinates.
 */
#include "image_lod.h"

#include "fp.h"

enum { FRACTION = 256 };

double sim_image_fixed(double v)
{
    if (isnan(v))
        return 0;
    v = fmin(fmax(v, -1e9), 1e9);
    return round(v * FRACTION) / FRACTION;
}

static double gradient(const struct image_op *op, unsigned direction,
                       unsigned k, unsigned lane)
{
    const bool g16 = op->what & IMAGE_GRADIENTS16 ||
                     (op->in->flags & F_A16 && op->w->target->major == 9);
    const unsigned step = g16 ? (op->ngradients + 1) / 2 : op->ngradients;
    const unsigned at = op->at_gradients + direction * step;

    if (!g16)
        return bits_f32(sim_image_coord(op, at + k, lane));
    return (double)bits_f16(
        (uint16_t)(sim_image_coord(op, at + k / 2, lane) >> 16 * (k % 2)));
}

/* Derivative of coordinate k in x (direction 0) or y (1), from the lane's quad.
 */
static double difference(const struct image_op *op, unsigned direction,
                         unsigned k, unsigned lane)
{
    const unsigned first = lane & ~3u;

    return (double)sim_image_body_float(op, k, first + (direction ? 2 : 1)) -
           sim_image_body_float(op, k, first);
}

/* How many levels down a step to the next pixel is one texel long. */
static double level_of_steps(const struct image_op *op, unsigned lane)
{
    const struct sim_image_level *l = &op->layout.level[op->image.first_level];
    const uint32_t size[3] = {l->width, l->height, l->depth};
    const unsigned naxes = op->image.type == SIM_IMAGE_3D    ? 3
                           : sim_image_is_1d(op->image.type) ? 1
                                                             : 2;
    double longest = 0;

    for (unsigned direction = 0; direction < 2; direction++) {
        double square = 0;

        for (unsigned k = 0; k < naxes; k++) {
            double step = op->what & IMAGE_GRADIENTS
                              ? gradient(op, direction, k, lane)
                              : difference(op, direction, k, lane);

            if (!op->unnormalised)
                step *= size[k];
            square += step * step;
        }
        longest = fmax(longest, square);
    }
    return longest > 0 ? log2(longest) / 2 : -128;
}

/* Before and after it is put between bounds; counted from the first level. */
static double wanted_level(const struct image_op *op, unsigned lane)
{
    double bias = op->sampler.lod_bias / (double)FRACTION;

    if (op->what & IMAGE_LEVEL_0)
        return 0;
    if (op->what & IMAGE_BIAS) {
        uint32_t v = sim_image_coord(op, op->at_bias, lane);

        bias += op->in->flags & F_A16 ? (double)bits_f16((uint16_t)v)
                                      : (double)bits_f32(v);
    }
    return bias + (op->what & IMAGE_LEVEL
                       ? (double)sim_image_body_float(op, op->ncoords, lane)
                       : level_of_steps(op, lane));
}

static double bounded_level(const struct image_op *op, double level,
                            unsigned lane)
{
    const struct sim_image *i = &op->image;
    double least = op->sampler.min_lod / (double)FRACTION;

    level = fmax(level, least); /* NaN becomes the bound */
    level = fmin(level, op->sampler.max_lod / (double)FRACTION);
    if (op->what & IMAGE_LEAST_LEVEL)
        level = fmax(level, sim_image_body_float(op, op->ncoords, lane));
    level = fmax(level, i->min_lod / (double)FRACTION - i->first_level);
    return fmin(fmax(sim_image_fixed(level), -128), 128);
}

struct lod sim_image_lod(const struct image_op *op, unsigned lane)
{
    const struct sim_image *i = &op->image;
    const double most = i->last_level - i->first_level;
    struct lod lod = {.level = i->first_level, .magnifies = true};
    double level, inside;

    /* With one level and one filter nothing depends on it. */
    if (most == 0 && op->sampler.linear_mag == op->sampler.linear_min)
        return lod;
    level = bounded_level(op, wanted_level(op, lane), lane);
    lod.magnifies = level <= 0;
    inside = fmin(fmax(level, 0), most);
    if (op->sampler.mip_filter == 1) {
        lod.level += (unsigned)floor(fmin(inside + 0.5, most));
    } else if (op->sampler.mip_filter == 2) {
        lod.level += (unsigned)floor(inside);
        lod.far = inside - floor(inside);
    }
    return lod;
}

/* The level within the bounds, and as it would be without. */
static void run_image_get_lod(struct wave *w, const struct insn *in)
{
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], &in->op[3], IMAGE_SAMPLES, &op))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(m);
        const double most = op.image.last_level - op.image.first_level;
        const double wanted = wanted_level(&op, lane);
        const double bounded = bounded_level(&op, wanted, lane);
        const uint32_t result[4] = {
            f32_bits((float)fmin(fmax(bounded, 0), most)),
            f32_bits((float)wanted)};

        op.number = SIM_NUMBER_FLOAT; /* for D16 */
        sim_image_result(&op, lane, result);
    }
}

static const struct insn_row rows[] = {{"image_get_lod",
                                        run_image_get_lod,
                                        CLASS_VMEM,
                                        {T_tuple, T_tuple, T_tuple, T_tuple},
                                        0}};

ROW_SET_NO_ALIASES(image_lod, rows);
