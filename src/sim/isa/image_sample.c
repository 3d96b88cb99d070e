/* image_sample.c - image_sample, image_gather4
 *
 * A sampler turns coordinates into texels and mixes them. Along each axis a
 * coordinate, in texels, is rounded to 8 bits of fraction, as AMD's texture
 * units do and CUDA's guide says. Then
 *
 *   nearest   the texel that it lies in
 *   linear    half a texel less; the two texels around, with the fraction for
 *             a weight
 *
 * Sums are exact (double) and rounded once to float. Integer texels are always
 * sampled as nearest.
 *
 * Faces of a cube end at their edges; anisotropic filters are isotropic.
 */
#include "image_op.h"

#include "fault_report.h"
#include "fp.h"
#include "image_lod.h"

/* One lane's coordinates, layer, offset and reference value. */
struct spot {
    int lane;
    float coord[3]; /* x, y, z; normalised or in texels */
    uint32_t layer;
    int offset[3];
    float compare;
};

/* ---- where ---- */

/* False: the border's. */
static bool clamp(enum sim_clamp mode, int64_t i, uint32_t size, uint32_t *at)
{
    const int64_t n = size, twice = 2 * n;
    const bool once = mode == SIM_CLAMP_MIRROR_ONCE_EDGE ||
                      mode == SIM_CLAMP_MIRROR_ONCE_BORDER;

    if (once && i < 0)
        i = -1 - i;
    switch (mode) {
    case SIM_CLAMP_WRAP:
        i = (i % n + n) % n;
        break;
    case SIM_CLAMP_MIRROR:
        i = (i % twice + twice) % twice;
        i = i < n ? i : twice - 1 - i;
        break;
    case SIM_CLAMP_EDGE:
    case SIM_CLAMP_MIRROR_ONCE_EDGE:
        i = i < 0 ? 0 : i < n ? i : n - 1;
        break;
    default:
        break;
    }
    *at = (uint32_t)i;
    return i >= 0 && i < n;
}

/* Texels along one axis: one, or two with weights. */
struct axis {
    unsigned n;
    bool inside[2];
    uint32_t at[2];
    double weight[2];
};

static struct axis axis_of(const struct image_op *op, const struct spot *s,
                           unsigned k, uint32_t size, bool linear)
{
    const enum sim_clamp mode = op->image.type == SIM_IMAGE_CUBE
                                    ? SIM_CLAMP_EDGE
                                    : op->sampler.clamp[k];
    /* The hardware's product is a float's too. */
    const float in_texels =
        op->unnormalised ? s->coord[k] : s->coord[k] * (float)size;
    struct axis a = {.n = linear ? 2 : 1};
    double c;

    if (linear)
        c = sim_image_fixed((double)in_texels - 0.5);
    else if (op->sampler.truncates)
        c = floor(fmin(fmax(isnan(in_texels) ? 0 : in_texels, -1e9), 1e9));
    else
        c = sim_image_fixed(in_texels);
    a.weight[1] = linear ? c - floor(c) : 0;
    a.weight[0] = 1 - a.weight[1];
    for (unsigned j = 0; j < a.n; j++)
        a.inside[j] =
            clamp(mode, (int64_t)floor(c) + s->offset[k] + j, size, &a.at[j]);
    return a;
}

static struct axis no_axis(uint32_t at)
{
    return (struct axis){
        .n = 1, .inside = {true}, .at = {at}, .weight = {1, 0}};
}

/* ---- texels ---- */

static void border(const struct image_op *op, uint32_t channel[4])
{
    const uint32_t one = sim_texel_one(op->number);

    for (unsigned c = 0; c < 4; c++)
        channel[c] =
            op->sampler.border == SIM_BORDER_OPAQUE_WHITE ||
                    (op->sampler.border == SIM_BORDER_OPAQUE_BLACK && c == 3)
                ? one
                : 0;
}

static bool passes(unsigned function, float reference, float texel)
{
    switch (function) {
    case 0:
        return false;
    case 1:
        return reference < texel;
    case 2:
        return reference == texel;
    case 3:
        return reference <= texel;
    case 4:
        return reference > texel;
    case 5:
        return reference != texel;
    case 6:
        return reference >= texel;
    default:
        return true;
    }
}

static void compare(const struct image_op *op, const struct spot *s,
                    uint32_t channel[4])
{
    float reference = s->compare;

    if (op->number == SIM_NUMBER_UNORM)
        reference = fminf(fmaxf(reference, 0), 1);
    channel[0] = f32_bits(
        passes(op->sampler.compare, reference, bits_f32(channel[0])) ? 1 : 0);
    channel[1] = channel[2] = 0;
    channel[3] = f32_bits(1);
}

static bool texel(struct image_op *op, const struct spot *s, unsigned level,
                  bool inside, uint32_t x, uint32_t y, uint32_t z,
                  uint32_t channel[4])
{
    if (!inside)
        border(op, channel);
    else if (!sim_image_fetch(op, level, x, y, z, s->lane, channel))
        return false;
    if (op->what & IMAGE_COMPARES)
        compare(op, s, channel);
    return true;
}

/* ---- mixing ---- */

struct mix {
    double sum[4]; /* or the least or most so far */
    bool any;
};

static void add(struct mix *m, unsigned reduction, double weight,
                const double v[4])
{
    for (unsigned c = 0; c < 4; c++) {
        if (reduction == 0)
            m->sum[c] += weight * v[c];
        else if (!m->any)
            m->sum[c] = v[c];
        else
            m->sum[c] =
                reduction == 1 ? fmin(m->sum[c], v[c]) : fmax(m->sum[c], v[c]);
    }
    m->any = true;
}

struct axes {
    struct axis x, y, z;
};

static struct axes axes_of(const struct image_op *op, const struct spot *s,
                           unsigned level, bool linear)
{
    const struct sim_image_level *l = &op->layout.level[level];
    const uint8_t filter = op->sampler.z_filter;
    struct axes a = {axis_of(op, s, 0, l->width, linear), no_axis(0),
                     no_axis(s->layer)};

    if (!sim_image_is_1d(op->image.type))
        a.y = axis_of(op, s, 1, l->height, linear);
    if (op->image.type == SIM_IMAGE_3D)
        a.z = axis_of(op, s, 2, l->depth, filter ? filter == 2 : linear);
    return a;
}

/* One level's mix; integers: the texel itself, its bits in `bits`. */
static bool sample_level(struct image_op *op, const struct spot *s,
                         unsigned level, bool linear, struct mix *m,
                         uint32_t bits[4])
{
    const bool integer = sim_number_is_integer(op->number);
    const struct axes a = axes_of(op, s, level, linear && !integer);

    *m = (struct mix){.any = false};
    for (unsigned n = 0; n < a.x.n * a.y.n * a.z.n; n++) {
        const unsigned i = n % a.x.n, j = n / a.x.n % a.y.n,
                       k = n / a.x.n / a.y.n;
        const double weight = a.x.weight[i] * a.y.weight[j] * a.z.weight[k];
        double v[4];

        if (weight == 0) /* texels of weight 0 are not read */
            continue;
        if (!texel(op, s, level,
                   a.x.inside[i] && a.y.inside[j] && a.z.inside[k], a.x.at[i],
                   a.y.at[j], a.z.at[k], bits))
            return false;
        for (unsigned c = 0; c < 4; c++)
            v[c] = bits_f32(bits[c]);
        add(m, op->sampler.reduction, weight, v);
    }
    return true;
}

static bool sample(struct image_op *op, const struct spot *s,
                   const struct lod *lod, uint32_t channel[4])
{
    const bool linear =
        lod->magnifies ? op->sampler.linear_mag : op->sampler.linear_min;
    struct mix near, far;

    if (!sample_level(op, s, lod->level, linear, &near, channel))
        return false;
    if (sim_number_is_integer(op->number))
        return true;
    if (lod->far > 0) {
        uint32_t bits[4];

        if (!sample_level(op, s, lod->level + 1, linear, &far, bits))
            return false;
        for (unsigned c = 0; c < 4; c++)
            near.sum[c] =
                op->sampler.reduction == 1 ? fmin(near.sum[c], far.sum[c])
                : op->sampler.reduction == 2
                    ? fmax(near.sum[c], far.sum[c])
                    : near.sum[c] * (1 - lod->far) + far.sum[c] * lod->far;
    }
    for (unsigned c = 0; c < 4; c++)
        channel[c] = f32_bits((float)near.sum[c]);
    return true;
}

/* ---- coordinates of a lane ---- */

/* The layer: coord rounded to nearest even, clamped to the first and the last
 * layer. */
static uint32_t layer_of(const struct image_op *op, float coord)
{
    const uint32_t n = op->image.depth - op->image.first_layer;
    const double l = isnan(coord) ? 0 : nearbyintf(coord);

    return op->image.first_layer + (l <= 0 ? 0 : l >= n ? n - 1 : (uint32_t)l);
}

/* A cube's layer is 8 times the cube plus the face; memory has 6 a cube. */
static uint32_t face_of(const struct image_op *op, float coord)
{
    const double l = isnan(coord) || coord < 0 ? 0 : nearbyintf(coord);
    const double cube = floor(l / 8), face = fmin(l - 8 * cube, 5);

    return layer_of(op, (float)(6 * cube + face));
}

static int offset_of(const struct image_op *op, unsigned k, unsigned lane)
{
    uint32_t v = sim_image_coord(op, op->at_offset, lane) >> 8 * k;

    return (int32_t)(v << 26) >> 26; /* six bits with a sign */
}

static struct spot spot_of(const struct image_op *op, unsigned lane)
{
    const enum sim_image_type type = op->image.type;
    const unsigned naxes = type == SIM_IMAGE_3D    ? 3
                           : sim_image_is_1d(type) ? 1
                                                   : 2;
    struct spot s = {.lane = (int)lane};

    for (unsigned k = 0; k < naxes; k++) {
        s.coord[k] = sim_image_body_float(op, k, lane);
        if (type == SIM_IMAGE_CUBE) /* they go from 1 to 2 */
            s.coord[k] -= 1;
        if (op->what & IMAGE_OFFSETS)
            s.offset[k] = offset_of(op, k, lane);
    }
    if (type == SIM_IMAGE_CUBE)
        s.layer = face_of(op, sim_image_body_float(op, 2, lane));
    else if (sim_image_is_array(type))
        s.layer = layer_of(op, sim_image_body_float(op, naxes, lane));
    if (op->what & IMAGE_COMPARES)
        s.compare = bits_f32(sim_image_coord(op, op->at_compare, lane));
    return s;
}

/* ---- the instructions ---- */

static void run_sample(struct wave *w, const struct insn *in, unsigned what)
{
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], &in->op[3], IMAGE_SAMPLES | what,
                        &op))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(m);
        const struct spot s = spot_of(&op, lane);
        const struct lod lod = sim_image_lod(&op, lane);
        uint32_t channel[4], component[4];

        if (!sample(&op, &s, &lod, channel))
            return;
        sim_texel_select(op.image.select, op.number, channel, component);
        sim_image_result(&op, lane, component);
    }
    sim_image_count_loads(&op);
}

/* The four texels that a linear filter would mix, one component of each:
 * against the clock, from the lower left. */
static void run_gather(struct wave *w, const struct insn *in, unsigned what)
{
    static const uint8_t order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], &in->op[3],
                        IMAGE_SAMPLES | IMAGE_GATHERS | what, &op))
        return;
    if (__builtin_popcount(in->dmask) != 1 || op.ngradients < 2 ||
        op.image.type == SIM_IMAGE_3D) {
        sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                        "gathers one component of a 2D image, not dmask 0x%x",
                        in->dmask);
        return;
    }
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(m);
        const struct spot s = spot_of(&op, lane);
        const struct axes a =
            axes_of(&op, &s, sim_image_lod(&op, lane).level, true);
        uint32_t result[4];

        for (unsigned n = 0; n < 4; n++) {
            const unsigned i = order[n][0], j = order[n][1];
            uint32_t channel[4], component[4];

            if (!texel(&op, &s, sim_image_lod(&op, lane).level,
                       a.x.inside[i] && a.y.inside[j], a.x.at[i], a.y.at[j],
                       a.z.at[0], channel))
                return;
            sim_texel_select(op.image.select, op.number, channel, component);
            result[n] = component[__builtin_ctz(in->dmask)];
        }
        sim_image_result(&op, lane, result);
    }
    sim_image_count_loads(&op);
}

/* X(run, start of the name, end of the name, flags) */
/* clang-format off */
#define OFFSETS(X, run, name, what)                                            \
    X(run, name, , what)                                                       \
    X(run, name, _o, what | IMAGE_OFFSETS)
#define GATHER_KINDS(X, run, name, what)                                       \
    OFFSETS(X, run, name, what)                                                \
    OFFSETS(X, run, name##_cl, what | IMAGE_LEAST_LEVEL)                       \
    OFFSETS(X, run, name##_l, what | IMAGE_LEVEL)                              \
    OFFSETS(X, run, name##_b, what | IMAGE_BIAS)                               \
    OFFSETS(X, run, name##_b_cl, what | IMAGE_BIAS | IMAGE_LEAST_LEVEL)        \
    OFFSETS(X, run, name##_lz, what | IMAGE_LEVEL_0)
/* cd: hardware may take the four lanes' gradients for one. */
#define GRADIENT_KINDS(X, run, name, what)                                     \
    OFFSETS(X, run, name, what)                                                \
    OFFSETS(X, run, name##_cl, what | IMAGE_LEAST_LEVEL)                       \
    X(run, name, _g16, what | IMAGE_GRADIENTS16)                               \
    X(run, name##_cl, _g16, what | IMAGE_GRADIENTS16 | IMAGE_LEAST_LEVEL)      \
    X(run, name, _o_g16, what | IMAGE_GRADIENTS16 | IMAGE_OFFSETS)             \
    X(run, name##_cl, _o_g16,                                                  \
      what | IMAGE_GRADIENTS16 | IMAGE_LEAST_LEVEL | IMAGE_OFFSETS)
#define SAMPLES(X)                                                             \
    GATHER_KINDS(X, run_sample, image_sample, 0)                               \
    GRADIENT_KINDS(X, run_sample, image_sample_d, IMAGE_GRADIENTS)             \
    GRADIENT_KINDS(X, run_sample, image_sample_cd, IMAGE_GRADIENTS)            \
    GATHER_KINDS(X, run_sample, image_sample_c, IMAGE_COMPARES)                \
    GRADIENT_KINDS(X, run_sample, image_sample_c_d,                            \
                   IMAGE_COMPARES | IMAGE_GRADIENTS)                           \
    GRADIENT_KINDS(X, run_sample, image_sample_c_cd,                           \
                   IMAGE_COMPARES | IMAGE_GRADIENTS)                           \
    GATHER_KINDS(X, run_gather, image_gather4, 0)                              \
    GATHER_KINDS(X, run_gather, image_gather4_c, IMAGE_COMPARES)
/* clang-format on */

#define SAMPLE_RUN(run, name, end, what)                                       \
    static void run_##name##end(struct wave *w, const struct insn *in)         \
    {                                                                          \
        run(w, in, what);                                                      \
    }
SAMPLES(SAMPLE_RUN)

#define SAMPLE_TYPES                                                           \
    {                                                                          \
        T_tuple, T_tuple, T_tuple, T_tuple                                     \
    }
#define SAMPLE_ROW(run, name, end, what)                                       \
    {#name #end, run_##name##end, CLASS_VMEM, SAMPLE_TYPES, 0},

static const struct insn_row rows[] = {SAMPLES(SAMPLE_ROW)};

ROW_SET_NO_ALIASES(image_sample, rows);
