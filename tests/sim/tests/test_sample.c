/* test_sample.c - samplers: clamps, filters, levels, comparison, gathers
 *
 * A reference in double mixes texels by the same rules, found anew: coordinates
 * are a product of floats, rounded to 8 bits of fraction.
 */
#include "image_test.h"

static const char *const targets[] = {"gfx906", "gfx1030", "gfx1100",
                                      "gfx1201"};
enum { NUM_TARGETS = sizeof(targets) / sizeof(targets[0]) };

/* ---- the reference ---- */

static double eighth(double v)
{
    const double whole = trunc(v);

    return whole + round((v - whole) * 256) / 256;
}

/* Steps from -1 down are 0 up, and from n up n - 1 down, until inside. */
static int64_t reflect(int64_t i, int64_t n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

/* -1: the border. */
static int64_t clamped(enum sim_clamp mode, int64_t i, int64_t n)
{
    switch (mode) {
    case SIM_CLAMP_WRAP:
        while (i < 0)
            i += n;
        return i % n;
    case SIM_CLAMP_MIRROR:
        return reflect(i, n);
    case SIM_CLAMP_MIRROR_ONCE_EDGE:
        i = i < 0 ? -1 - i : i;
        return i < n ? i : n - 1;
    case SIM_CLAMP_EDGE:
        return i < 0 ? 0 : i < n ? i : n - 1;
    case SIM_CLAMP_MIRROR_ONCE_BORDER:
        i = i < 0 ? -1 - i : i;
        return i < n ? i : -1;
    default:
        return i < n && i >= 0 ? i : -1;
    }
}

struct query {
    const struct test_image *t;
    const struct sim_sampler *s;
    float at[3];
    int64_t layer, offset[3];
    bool compares;
    float reference;
};

/* No query is without an image; the linter does not see it. */
static const struct test_image *image_of(const struct query *q)
{
    if (!q->t)
        abort();
    return q->t;
}

static unsigned naxes_of(const struct test_image *t)
{
    return t->image.type == SIM_IMAGE_3D ? 3
           : t->image.type == SIM_IMAGE_1D ||
                   t->image.type == SIM_IMAGE_1D_ARRAY
               ? 1
               : 2;
}

static void texel_of(const struct query *q, unsigned level, const int64_t i[3],
                     double v[4])
{
    const enum sim_border border = q->s->border;
    const unsigned naxes = naxes_of(image_of(q));
    const int64_t z = naxes == 3 ? i[2] : q->layer;

    if (i[0] < 0 || i[1] < 0 || z < 0)
        for (unsigned c = 0; c < 4; c++)
            v[c] = border == SIM_BORDER_OPAQUE_WHITE ||
                   (border == SIM_BORDER_OPAQUE_BLACK && c == 3);
    else
        image_value(q->t, image_texel(q->t, level, i[0], i[1], z), v);
    if (q->compares) {
        const double r = q->reference, x = v[0];
        const bool results[8] = {false, r<x, r == x, r <= x, r> x, r != x,
                                 r >= x, true};

        v[0] = results[q->s->compare];
        v[1] = v[2] = 0;
        v[3] = 1;
    }
}

/* The two texels of an axis and the second one's weight. */
static double axis(const struct query *q, unsigned k, unsigned level,
                   bool linear, int64_t i[2])
{
    const struct sim_image_level *l = &image_of(q)->layout.level[level];
    const uint32_t size = k == 0 ? l->width : k == 1 ? l->height : l->depth;
    const float c = q->s->unnormalised ? q->at[k] : q->at[k] * (float)size;
    const double f = linear ? eighth((double)c - 0.5) : eighth(c);
    const enum sim_clamp mode =
        q->t->image.type == SIM_IMAGE_CUBE ? SIM_CLAMP_EDGE : q->s->clamp[k];

    for (unsigned j = 0; j < 2; j++)
        i[j] = clamped(mode, (int64_t)floor(f) + q->offset[k] + j, size);
    return linear ? f - floor(f) : 0;
}

static void sampled(const struct query *q, unsigned level, bool linear,
                    double out[4])
{
    const unsigned naxes = naxes_of(image_of(q));
    int64_t i[3][2] = {{0}};
    double w[3] = {0};

    for (unsigned k = 0; k < naxes; k++)
        w[k] = axis(q, k, level, linear, i[k]);
    for (unsigned c = 0; c < 4; c++)
        out[c] = q->s->reduction == 1 ? 1e300 : q->s->reduction ? -1e300 : 0;
    for (unsigned n = 0; n < 8; n++) {
        const int64_t at[3] = {i[0][n & 1], i[1][n >> 1 & 1], i[2][n >> 2]};
        double weight = 1, v[4];

        for (unsigned k = 0; k < 3; k++)
            weight *= n >> k & 1 ? w[k] : 1 - w[k];
        if (weight == 0)
            continue;
        texel_of(q, level, at, v);
        for (unsigned c = 0; c < 4; c++)
            out[c] = q->s->reduction == 1   ? fmin(out[c], v[c])
                     : q->s->reduction == 2 ? fmax(out[c], v[c])
                                            : out[c] + weight * v[c];
    }
}

/* The sampler's result at a given level. */
static void levelled(const struct query *q, double level, double out[4])
{
    const struct sim_image *i = &q->t->image;
    const double most = i->last_level - i->first_level;
    bool linear;
    double low, far[4] = {0}, part;

    level = fmin(fmax(level, q->s->min_lod / 256.0), q->s->max_lod / 256.0);
    level = eighth(level);
    linear = level <= 0 ? q->s->linear_mag : q->s->linear_min;
    level = fmin(fmax(level, 0), most);
    if (q->s->mip_filter == 0)
        level = 0;
    if (q->s->mip_filter == 1)
        level = fmin(floor(level + 0.5), most);
    low = floor(level);
    part = level - low;
    sampled(q, i->first_level + (unsigned)low, linear, out);
    if (part == 0)
        return;
    sampled(q, i->first_level + (unsigned)low + 1, linear, far);
    for (unsigned c = 0; c < 4; c++)
        out[c] = out[c] * (1 - part) + far[c] * part;
}

static void expect(const struct query *q, const char *what, unsigned lane,
                   const struct asm_state *st, const double want[4])
{
    for (unsigned c = 0; c < 4; c++) {
        const uint32_t bits = st->v[DATA_VGPR + c][lane];
        const double got = q->t->image.number == SIM_NUMBER_UINT
                               ? (double)bits
                               : (double)as_float(bits);

        if (fabs(got - want[c]) > 1e-6 * fmax(1, fabs(want[c])))
            fail_msg("%s: %s: type %u, clamp %u, mag %d, min %d, levels %u, "
                     "unnormalised %d: lane %u at %.9g %.9g %.9g layer %d, "
                     "component %u: want %.9g, got %.9g",
                     q->t->target, what, (unsigned)q->t->image.type,
                     (unsigned)q->s->clamp[0], q->s->linear_mag,
                     q->s->linear_min, q->s->mip_filter, q->s->unnormalised,
                     lane, q->at[0], q->at[1], q->at[2], (int)q->layer, c,
                     want[c], got);
    }
}

/* ---- coordinates ---- */

static const struct sim_image shapes[] = {
    {.type = SIM_IMAGE_1D, .width = 37, .height = 1, .depth = 1, .nlevels = 6},
    {.type = SIM_IMAGE_2D, .width = 16, .height = 9, .depth = 1, .nlevels = 5},
    {.type = SIM_IMAGE_3D, .width = 7, .height = 5, .depth = 6, .nlevels = 3},
    {.type = SIM_IMAGE_1D_ARRAY,
     .width = 21,
     .height = 1,
     .depth = 5,
     .nlevels = 5},
    {.type = SIM_IMAGE_2D_ARRAY,
     .width = 6,
     .height = 11,
     .depth = 4,
     .nlevels = 4},
    {.type = SIM_IMAGE_CUBE,
     .width = 8,
     .height = 8,
     .depth = 12,
     .nlevels = 4}};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct test_image *float_image(const char *target, unsigned shape,
                                      bool levels)
{
    struct sim_image image = shapes[shape];

    image.data = SIM_DATA_32_32_32_32;
    image.number = SIM_NUMBER_FLOAT;
    if (!levels)
        image.nlevels = 1;
    image.first_level = levels;
    image.last_level = image.nlevels - 1;
    return image_new(target, image);
}

/* Picks a layer coordinate, which may lie between two layers, and sets q->layer
 * to the nearest layer of the image. */
static float layer_coord(const struct test_image *t, struct query *q,
                         unsigned lane)
{
    const int last = (int)t->image.depth - 1;
    const double wish = between(-1.4, last + 1.4);

    if (t->image.type == SIM_IMAGE_CUBE) { /* eight a cube, six in memory */
        const unsigned cube = lane % 2, face = (unsigned)image_random() % 6;

        q->layer = 6 * cube + face;
        return (float)(8 * cube + face);
    }
    q->layer = (int64_t)nearbyint((double)(float)wish);
    q->layer = q->layer < 0 ? 0 : q->layer > last ? last : q->layer;
    return (float)wish;
}

/* Puts random coordinates into v[first...]; queries to compare with. */
static void random_coords(const struct test_image *t, struct asm_state *st,
                          const struct sim_sampler *s, unsigned first,
                          struct query q[64])
{
    const unsigned naxes = naxes_of(t);
    const uint32_t size[3] = {t->image.width, t->image.height, t->image.depth};
    const bool cube = t->image.type == SIM_IMAGE_CUBE;

    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        q[lane] = (struct query){.t = t, .s = s};
        for (unsigned k = 0; k < naxes; k++) {
            float v = (float)(cube           ? between(1, 2)
                              : lane % 7 < 5 ? between(-0.3, 1.3)
                                             : between(-9, 9));

            if (s->unnormalised)
                v *= (float)size[k];
            q[lane].at[k] = cube ? v - 1 : v;
            st->v[first + k][lane] = as_bits(v);
        }
        if (sim_image_is_array(t->image.type))
            st->v[first + naxes][lane] =
                as_bits(layer_coord(t, &q[lane], lane));
    }
}

/* ---- clamps and filters ---- */

static const enum sim_clamp clamps[] = {
    SIM_CLAMP_WRAP,   SIM_CLAMP_MIRROR,
    SIM_CLAMP_EDGE,   SIM_CLAMP_MIRROR_ONCE_EDGE,
    SIM_CLAMP_BORDER, SIM_CLAMP_MIRROR_ONCE_BORDER};

static void check_filter(const char *target, const char *name, unsigned shape,
                         struct sim_sampler s)
{
    struct test_image *t = float_image(target, shape, false);
    struct asm_state *st = image_state(t, &s);
    struct query q[64] = {{0}};
    double want[4] = {0};

    random_coords(t, st, &s, 0, q);
    asm_run(st, image_text(t, name, 4, image_ncoords(t->image.type), 15, ""));
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        sampled(&q[lane], 0, s.linear_mag, want);
        expect(&q[lane], name, lane, st, want);
    }
    asm_free(st);
    image_free(t);
}

static void test_every_clamp_and_filter_of_every_shape(void **state)
{
    (void)state;
    image_seed(1);
    for (unsigned n = 0; n <= NUM_TARGETS; n++) /* gfx90a has the plain one */
        for (unsigned shape = 0; shape < NUM_SHAPES; shape++)
            for (unsigned c = 0; c < 6; c++)
                for (unsigned kind = 0; kind < 4; kind++) {
                    struct sim_sampler s = {.clamp = {clamps[c],
                                                      clamps[(c + kind) % 6],
                                                      clamps[(c + 1) % 6]},
                                            .linear_mag = kind & 1,
                                            .linear_min = kind & 1,
                                            .unnormalised = kind >> 1,
                                            .border = (enum sim_border)(c % 3),
                                            .max_lod = 4095};

                    if (n == NUM_TARGETS)
                        check_filter("gfx90a", "image_sample", shape, s);
                    else
                        check_filter(targets[n],
                                     c % 2 ? "image_sample_lz" : "image_sample",
                                     shape, s);
                }
}

static void test_least_and_most_instead_of_the_sum(void **state)
{
    (void)state;
    image_seed(2);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (uint8_t reduction = 1; reduction < 3; reduction++)
            check_filter(
                targets[n], "image_sample_lz", 1,
                (struct sim_sampler){.clamp = {SIM_CLAMP_EDGE, SIM_CLAMP_EDGE},
                                     .linear_mag = true,
                                     .linear_min = true,
                                     .reduction = reduction});
}

static const struct {
    enum sim_data_format data;
    enum sim_number_format number;
} formats[] = {{SIM_DATA_8_8_8_8, SIM_NUMBER_UNORM},
               {SIM_DATA_8_8_8_8, SIM_NUMBER_SRGB},
               {SIM_DATA_16_16, SIM_NUMBER_SNORM},
               {SIM_DATA_16_16_16_16, SIM_NUMBER_FLOAT},
               {SIM_DATA_8, SIM_NUMBER_UINT},
               {SIM_DATA_32_32, SIM_NUMBER_UINT}};

static void test_filters_mix_what_formats_mean(void **state)
{
    static const struct sim_sampler s = {
        .clamp = {SIM_CLAMP_BORDER, SIM_CLAMP_BORDER},
        .linear_mag = true,
        .linear_min = true,
        .border = SIM_BORDER_OPAQUE_WHITE};

    (void)state;
    image_seed(3);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
            struct sim_image image = shapes[1];
            struct test_image *t;
            struct asm_state *st;
            struct query q[64] = {{0}};

            image.nlevels = 1;
            image.data = formats[f].data;
            image.number = formats[f].number;
            t = image_new(targets[n], image);
            st = image_state(t, &s);
            random_coords(t, st, &s, 0, q);
            asm_run(st, image_text(t, "image_sample_lz", 4, 2, 15, ""));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                double want[4] = {0};

                /* integers are not mixed */
                sampled(&q[lane], 0, !image_is_integer(t), want);
                expect(&q[lane], "formats", lane, st, want);
            }
            asm_free(st);
            image_free(t);
        }
}

static void test_srgb_can_be_kept_and_forced(void **state)
{
    (void)state;
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned forces = 0; forces < 2; forces++) {
            const struct sim_sampler s = {.keeps_srgb = !forces,
                                          .forces_srgb = forces};
            struct sim_image image = shapes[0];
            struct test_image *t;
            struct asm_state *st;
            double v;

            image.nlevels = 1;
            image.data = SIM_DATA_8;
            image.number = forces ? SIM_NUMBER_UNORM : SIM_NUMBER_SRGB;
            t = image_new(targets[n], image);
            t->memory->bytes[0] = 100;
            st = image_state(t, &s);
            memset(st->v[0], 0, sizeof(st->v[0]));
            asm_run(st, image_text(t, "image_sample_lz", 1, 1, 1, ""));
            v = 100 / 255.0;
            if (forces)
                v = pow((v + 0.055) / 1.055, 2.4);
            assert_true(fabs(as_float(st->v[DATA_VGPR][0]) - v) < 1e-7);
            asm_free(st);
            image_free(t);
        }
}

/* Where OCKL's floor and reciprocal lead: a little below a texel's edge. */
static void test_nearest_rounds_to_8_bits_unless_it_truncates(void **state)
{
    (void)state;
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned truncates = 0; truncates < 2; truncates++) {
            const struct sim_sampler s = {.truncates = truncates,
                                          .unnormalised = true};
            struct test_image *t = float_image(targets[n], 0, false);
            struct asm_state *st = image_state(t, &s);
            static const float at[] = {2.999f, 2.997f, 3.0f, 2.5f};

            for (unsigned lane = 0; lane < 4; lane++)
                st->v[0][lane] = as_bits(at[lane]);
            st->s[SREG_EXEC] = 15;
            st->s[SREG_EXEC + 1] = 0;
            asm_run(st, image_text(t, "image_sample_lz", 4, 1, 15, ""));
            for (unsigned lane = 0; lane < 4; lane++) {
                const int x = lane == 2 || (lane == 0 && !truncates) ? 3 : 2;

                assert_int_equal(st->v[DATA_VGPR][lane],
                                 dword_at(image_texel(t, 0, x, 0, 0)));
            }
            asm_free(st);
            image_free(t);
        }
}

/* ---- levels ---- */

static struct sim_sampler level_sampler(unsigned kind)
{
    return (struct sim_sampler){
        .clamp = {SIM_CLAMP_EDGE, SIM_CLAMP_WRAP, SIM_CLAMP_MIRROR},
        .linear_mag = kind & 1,
        .linear_min = kind >> 1 & 1,
        .mip_filter = (uint8_t)(kind % 3),
        .min_lod = kind & 4 ? 128 : 0,
        .max_lod = kind & 8 ? 400 : 4095,
        .lod_bias = kind & 1 ? -100 : 33};
}

static void test_given_levels_biases_and_least_levels(void **state)
{
    (void)state;
    image_seed(4);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned shape = 0; shape < NUM_SHAPES; shape++)
            for (unsigned kind = 0; kind < 12; kind++) {
                const struct sim_sampler s = level_sampler(kind);
                struct test_image *t = float_image(targets[n], shape, true);
                struct asm_state *st = image_state(t, &s);
                const unsigned nc = image_ncoords(t->image.type);
                struct query q[64] = {{0}};
                float level[64] = {0};

                random_coords(t, st, &s, 0, q);
                for (unsigned lane = 0; lane < st->wave_size; lane++) {
                    level[lane] = (float)between(-2, 6);
                    st->v[nc][lane] = as_bits(level[lane]);
                }
                asm_run(st, image_text(t, "image_sample_l", 4, nc + 1, 15, ""));
                for (unsigned lane = 0; lane < st->wave_size; lane++) {
                    double want[4] = {0};

                    levelled(&q[lane], (double)level[lane] + s.lod_bias / 256.0,
                             want);
                    expect(&q[lane], "level", lane, st, want);
                }
                asm_free(st);
                image_free(t);
            }
}

/* Gradients: steps in texels of the first level, the longer one counts. */
static double gradient_level(const struct test_image *t,
                             const struct sim_sampler *s, unsigned naxes,
                             const float g[2][3])
{
    const struct sim_image_level *l = &t->layout.level[t->image.first_level];
    const uint32_t size[3] = {l->width, l->height, l->depth};
    double length[2] = {0};

    for (unsigned d = 0; d < 2; d++) {
        for (unsigned k = 0; k < naxes; k++)
            length[d] += pow((double)g[d][k] * size[k], 2);
        length[d] = sqrt(length[d]);
    }
    return log2(fmax(length[0], length[1])) + s->lod_bias / 256.0;
}

static void check_gradients(const char *target, unsigned shape, unsigned kind,
                            bool halves, bool has_least)
{
    const struct sim_sampler s = level_sampler(kind);
    struct test_image *t = float_image(target, shape, true);
    struct asm_state *st = image_state(t, &s);
    const unsigned nc = image_ncoords(t->image.type), naxes = naxes_of(t);
    const unsigned ng = halves ? (naxes + 1) / 2 : naxes;
    const bool a16 = halves && strcmp(target, "gfx906") == 0;
    struct query q[64] = {{0}};
    float g[64][2][3] = {{{0}}};
    char name[64];

    random_coords(t, st, &s, 2 * ng, q);
    for (unsigned lane = 0; lane < st->wave_size; lane++)
        for (unsigned d = 0; d < 2; d++)
            for (unsigned k = 0; k < naxes; k++) {
                uint32_t *reg = &st->v[d * ng + (halves ? k / 2 : k)][lane];
                __extension__ _Float16 h =
                    (_Float16)ldexp(between(-1, 1), image_random() % 5 - 5);
                uint16_t bits;

                g[lane][d][k] = (float)h;
                memcpy(&bits, &h, 2);
                if (!halves)
                    *reg = as_bits(g[lane][d][k]);
                else
                    *reg =
                        k % 2 ? (*reg & 0xffff) | (uint32_t)bits << 16 : bits;
            }
    for (unsigned lane = 0; lane < st->wave_size; lane++)
        st->v[2 * ng + nc][lane] = as_bits(1.25f);
    snprintf(name, sizeof(name), "image_sample_d%s%s", has_least ? "_cl" : "",
             halves ? "_g16" : "");
    if (a16) { /* gfx9 has no such names, and A16 for all coordinates */
        asm_free(st);
        image_free(t);
        return;
    }
    asm_run(st, image_text(t, name, 4, 2 * ng + nc + has_least, 15, ""));
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        double want[4] = {0}, level = gradient_level(t, &s, naxes, g[lane]);

        if (fabs(level * 256 - floor(level * 256) - 0.5) < 1e-4)
            continue; /* between two roundings */
        level = fmin(fmax(level, s.min_lod / 256.0), s.max_lod / 256.0);
        if (has_least) /* overrides the other bounds */
            level = fmax(level, 1.25);
        if (has_least && s.max_lod < 4095)
            continue;
        levelled(&q[lane], level, want);
        expect(&q[lane], name, lane, st, want);
    }
    asm_free(st);
    image_free(t);
}

static void test_gradients_choose_the_level(void **state)
{
    (void)state;
    image_seed(5);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned shape = 0; shape < NUM_SHAPES; shape++)
            for (unsigned kind = 0; kind < 12; kind++)
                check_gradients(targets[n], shape, kind, kind % 4 == 3,
                                kind % 5 == 4);
}

/* Gradients come from groups of four lanes, which are 2 x 2 pixels. */
static void test_squares_of_lanes_choose_the_level(void **state)
{
    (void)state;
    image_seed(6);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned biased = 0; biased < 2; biased++) {
            const struct sim_sampler s = {.mip_filter = 2,
                                          .linear_mag = true,
                                          .linear_min = true,
                                          .max_lod = 4095};
            struct test_image *t = float_image(targets[n], 1, true);
            struct asm_state *st = image_state(t, &s);
            struct query q[64] = {{0}};

            random_coords(t, st, &s, biased, q);
            for (unsigned lane = 0; lane < st->wave_size; lane++)
                st->v[0][lane] = biased ? as_bits(0.75f) : st->v[0][lane];
            /* inactive lanes still count as neighbours */
            st->s[SREG_EXEC] = 0x77777777;
            asm_run(st,
                    image_text(t, biased ? "image_sample_b" : "image_sample", 4,
                               2 + biased, 15, ""));
            for (unsigned lane = 0; lane < 32; lane++) {
                const struct query *first = &q[lane & ~3u];
                double want[4] = {0}, level;
                float g[2][3] = {{0}};

                if (lane % 4 == 3)
                    continue;
                for (unsigned k = 0; k < 2; k++) {
                    g[0][k] = first[1].at[k] - first[0].at[k];
                    g[1][k] = first[2].at[k] - first[0].at[k];
                }
                level = gradient_level(t, &s, 2, g) + (biased ? 0.75 : 0);
                if (fabs(level * 256 - floor(level * 256) - 0.5) < 1e-3)
                    continue;
                levelled(&q[lane], level, want);
                expect(&q[lane], "square", lane, st, want);
            }
            asm_free(st);
            image_free(t);
        }
}

static void test_get_lod_gives_the_level_bounded_and_not(void **state)
{
    (void)state;
    image_seed(7);
    for (unsigned n = 0; n < NUM_TARGETS; n++) {
        const struct sim_sampler s = {.mip_filter = 2, .max_lod = 4095};
        struct test_image *t = float_image(targets[n], 1, true);
        struct asm_state *st = image_state(t, &s);

        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            /* a step to the right is two texels of 8, one down four of 4 */
            st->v[0][lane] = as_bits(lane % 2 ? 0.25f : 0);
            st->v[1][lane] = as_bits(lane / 2 % 2 ? 16 : 0);
        }
        asm_run(st, image_text(t, "image_get_lod", 2, 2, 3, ""));
        assert_true(as_float(st->v[DATA_VGPR][5]) == 3);
        assert_true(as_float(st->v[DATA_VGPR + 1][5]) == 6);
        asm_free(st);
        image_free(t);
    }
}

/* ---- the rest of an instruction's coordinates ---- */

static void test_offsets_move_by_texels(void **state)
{
    (void)state;
    image_seed(8);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned shape = 0; shape < 5; shape++) {
            const struct sim_sampler s = {
                .clamp = {SIM_CLAMP_WRAP, SIM_CLAMP_WRAP, SIM_CLAMP_WRAP},
                .linear_mag = true,
                .linear_min = true};
            struct test_image *t = float_image(targets[n], shape, false);
            struct asm_state *st = image_state(t, &s);
            struct query q[64] = {{0}};

            random_coords(t, st, &s, 1, q);
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                st->v[0][lane] = 0;
                for (unsigned k = 0; k < 3; k++) {
                    q[lane].offset[k] = image_random() % 64 - 32;
                    st->v[0][lane] |= ((uint32_t)q[lane].offset[k] & 63)
                                      << 8 * k;
                }
            }
            asm_run(st, image_text(t, "image_sample_lz_o", 4,
                                   1 + image_ncoords(t->image.type), 15, ""));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                double want[4] = {0};

                sampled(&q[lane], 0, true, want);
                expect(&q[lane], "offset", lane, st, want);
            }
            asm_free(st);
            image_free(t);
        }
}

static void test_comparison_comes_before_the_filter(void **state)
{
    (void)state;
    image_seed(9);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (uint8_t compare = 0; compare < 8; compare++) {
            const struct sim_sampler s = {
                .clamp = {SIM_CLAMP_EDGE, SIM_CLAMP_BORDER},
                .linear_mag = true,
                .linear_min = true,
                .compare = compare};
            struct test_image *t = float_image(targets[n], 1, false);
            struct asm_state *st = image_state(t, &s);
            struct query q[64] = {{0}};

            random_coords(t, st, &s, 1, q);
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                q[lane].compares = true;
                q[lane].reference = (float)between(-8, 8);
                if (lane % 3 == 0) /* equal to one */
                    q[lane].reference = as_float(
                        dword_at(image_texel(t, 0, image_random() % 16, 2, 0)));
                st->v[0][lane] = as_bits(q[lane].reference);
            }
            asm_run(st, image_text(t, "image_sample_c_lz", 4, 3, 15, ""));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                double want[4] = {0};

                sampled(&q[lane], 0, true, want);
                expect(&q[lane], "compare", lane, st, want);
            }
            asm_free(st);
            image_free(t);
        }
}

static void test_gathers_give_four_texels_of_a_component(void **state)
{
    static const unsigned order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};

    (void)state;
    image_seed(10);
    for (unsigned n = 0; n < NUM_TARGETS; n++)
        for (unsigned c = 0; c < 4; c++)
            for (unsigned shape = 1; shape < 5; shape += 3) {
                const struct sim_sampler s = {
                    .clamp = {SIM_CLAMP_MIRROR, SIM_CLAMP_BORDER},
                    .border = SIM_BORDER_OPAQUE_BLACK,
                    .unnormalised = c & 1};
                struct test_image *t = float_image(targets[n], shape, false);
                struct asm_state *st = image_state(t, &s);
                struct query q[64] = {{0}};

                random_coords(t, st, &s, 0, q);
                asm_run(st,
                        image_text(t, "image_gather4_lz", 4,
                                   image_ncoords(t->image.type), 1u << c, ""));
                for (unsigned lane = 0; lane < st->wave_size; lane++) {
                    int64_t x[2], y[2];
                    double want[4] = {0}, v[4] = {0};

                    axis(&q[lane], 0, 0, true, x);
                    axis(&q[lane], 1, 0, true, y);
                    for (unsigned k = 0; k < 4; k++) {
                        const int64_t at[3] = {x[order[k][0]], y[order[k][1]]};

                        texel_of(&q[lane], 0, at, v);
                        want[k] = v[c];
                    }
                    expect(&q[lane], "gather", lane, st, want);
                }
                asm_free(st);
                image_free(t);
            }
}

static void test_halves_of_coordinates_and_results(void **state)
{
    (void)state;
    image_seed(11);
    for (unsigned n = 0; n < NUM_TARGETS; n++) {
        const struct sim_sampler s = {
            .linear_mag = true, .linear_min = true, .unnormalised = true};
        struct test_image *t = float_image(targets[n], 1, false);
        struct asm_state *st = image_state(t, &s);
        struct query q[64] = {{0}};

        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            q[lane] = (struct query){.t = t, .s = &s};
            st->v[0][lane] = 0;
            for (unsigned k = 0; k < 2; k++) {
                __extension__ _Float16 h = (_Float16)between(0, 16);
                uint16_t bits;

                memcpy(&bits, &h, 2);
                q[lane].at[k] = (float)h;
                st->v[0][lane] |= (uint32_t)bits << 16 * k;
            }
        }
        asm_run(st, image_text(t, "image_sample", 2, 1, 15, " a16 d16"));
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            double want[4] = {0};

            sampled(&q[lane], 0, true, want);
            for (unsigned c = 0; c < 4; c++) {
                const uint16_t bits =
                    (uint16_t)(st->v[DATA_VGPR + c / 2][lane] >> 16 * (c % 2));
                __extension__ _Float16 h;

                memcpy(&h, &bits, 2);
                assert_true(fabs((double)h - want[c]) <=
                            fmax(fabs(want[c]), 0.0001) / 2047);
            }
        }
        asm_free(st);
        image_free(t);
    }
}

/* ---- whatever comes ---- */

static const uint32_t odd_floats[] = {0x7fc00000, 0xffc00000, 0x7f800000,
                                      0xff800000, 0x7f7fffff, 0xff7fffff,
                                      0x80000000, 1,          0x4effffff};

static void mutate(uint32_t *words, unsigned n)
{
    for (int k = image_random() % 4; k >= 0; k--)
        words[(unsigned)image_random() % n] ^= 1u << image_random() % 32;
    if (image_random() % 8 == 0)
        words[(unsigned)image_random() % n] = (uint32_t)image_random() << 1;
}

static void test_any_descriptors_run_or_fault_with_a_sentence(void **state)
{
    static const struct {
        const char *name;
        unsigned ndata, more, dmask;
    } kinds[] = {{"image_sample", 4, 0, 15},    {"image_sample_l", 4, 1, 15},
                 {"image_gather4_lz", 4, 0, 2}, {"image_load", 4, 0, 15},
                 {"image_store_mip", 4, 1, 15}, {"image_get_resinfo", 4, 0, 15},
                 {"image_get_lod", 2, 0, 3},    {"image_sample_c_lz", 1, 1, 1}};
    unsigned ran = 0, faulted = 0;

    (void)state;
    image_seed(12);
    for (unsigned n = 0; n < 1600; n++) {
        const unsigned kind = (unsigned)image_random() % 8;
        const struct sim_sampler s = level_sampler(n % 16);
        const unsigned shape = 1 + n % 5;
        struct test_image *t =
            float_image(targets[n % NUM_TARGETS], kind == 2 ? 1 : shape, n & 1);
        struct asm_state *st = image_state(t, &s);
        const unsigned nc =
            kind == 5 ? 1 : image_ncoords(t->image.type) + kinds[kind].more;

        for (unsigned k = 0; k < 6; k++)
            for (unsigned lane = 0; lane < st->wave_size; lane++)
                st->v[k][lane] = lane % 4 ? as_bits((float)between(-3, 3))
                                          : odd_floats[image_random() % 9];
        mutate(&st->s[IMAGE_SGPR], SIM_IMAGE_WORDS);
        mutate(&st->s[SAMPLER_SGPR], SIM_SAMPLER_WORDS);
        if (asm_try(st, image_text(t, kinds[kind].name, kinds[kind].ndata, nc,
                                   kinds[kind].dmask, ""))) {
            ran++;
        } else {
            faulted++;
            assert_true(strlen(st->fault.text) > 60);
        }
        asm_free(st);
        image_free(t);
    }
    assert_true(ran > 100 && faulted > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_clamp_and_filter_of_every_shape),
        cmocka_unit_test(test_least_and_most_instead_of_the_sum),
        cmocka_unit_test(test_filters_mix_what_formats_mean),
        cmocka_unit_test(test_srgb_can_be_kept_and_forced),
        cmocka_unit_test(test_nearest_rounds_to_8_bits_unless_it_truncates),
        cmocka_unit_test(test_given_levels_biases_and_least_levels),
        cmocka_unit_test(test_gradients_choose_the_level),
        cmocka_unit_test(test_squares_of_lanes_choose_the_level),
        cmocka_unit_test(test_get_lod_gives_the_level_bounded_and_not),
        cmocka_unit_test(test_offsets_move_by_texels),
        cmocka_unit_test(test_comparison_comes_before_the_filter),
        cmocka_unit_test(test_gathers_give_four_texels_of_a_component),
        cmocka_unit_test(test_halves_of_coordinates_and_results),
        cmocka_unit_test(test_any_descriptors_run_or_fault_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
