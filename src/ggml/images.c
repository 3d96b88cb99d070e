/* images.c - windows over images, and images of another size */
#include "images.h"

/* Inserts a dimension of one element before dimension d of a view. */
static void insert_dim(kpk_ggml_tensor *v, size_t d)
{
    for (size_t i = 3; i > d; i--) {
        v->ne[i] = v->ne[i - 1];
        v->nb[i] = v->nb[i - 1];
    }
    v->ne[d] = 1;
}

/* A line is an image of one row. */
static bool im2col(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *kernel = t->src[0], *x = t->src[1];
    const int32_t *p = t->op_params;
    const bool flat = p[6] == 0;
    kpk_ggml_tensor in = view_of(x), out = view_of(t);
    kpk_ggml_window w = {{(uint32_t)kernel->ne[0], 1},
                         {(uint32_t)p[0], 1},
                         {(uint32_t)p[2], 0},
                         {(uint32_t)p[4], 1}};

    if (flat) {
        if (x->ne[3] != 1)
            return false;
        insert_dim(&in, 1);
        insert_dim(&out, 2);
    } else {
        w.size[1] = (uint32_t)kernel->ne[1];
        w.step[1] = (uint32_t)p[1];
        w.padding[1] = (uint32_t)p[3];
        w.dilation[1] = (uint32_t)p[5];
    }
    return launch(run, named(named("ggml_im2col", x->type).text, t->type).text,
                  count(&out), 0, KPK_ARGS(in, out, w));
}

/* Averages of a line divide by the inputs under the window, those of an image
 * by its size. */
static bool pool(struct run *run, const struct ggml_tensor *t)
{
    const int32_t *p = t->op_params;
    const bool flat = t->op == GGML_OP_POOL_1D;
    const kpk_ggml_tensor in = view_of(t->src[0]), out = view_of(t);
    const kpk_ggml_window w = {
        {(uint32_t)p[1], flat ? 1 : (uint32_t)p[2]},
        {(uint32_t)p[flat ? 2 : 3], flat ? 1 : (uint32_t)p[4]},
        {(uint32_t)p[flat ? 3 : 5], flat ? 0 : (uint32_t)p[6]},
        {1, 1}};
    const uint32_t divisor = flat ? 0 : w.size[0] * w.size[1];
    const char *kind = p[0] == GGML_OP_POOL_MAX   ? "ggml_pool_max"
                       : p[0] == GGML_OP_POOL_AVG ? "ggml_pool_average"
                                                  : NULL;

    return kind && is_f32(t) &&
           launch(run, named(kind, t->src[0]->type).text, count(&out), 0,
                  KPK_ARGS(in, out, w, divisor));
}

static bool conv_transpose_1d(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[1];
    const kpk_ggml_tensor weights = view_of(t->src[0]), in = view_of(x);
    const kpk_ggml_tensor out = view_of(t);
    const uint32_t step = (uint32_t)t->op_params[0];

    return is_f32(t) && is_f32(x) && x->ne[2] * x->ne[3] == 1 &&
           t->op_params[1] == 0 && t->op_params[2] == 1 &&
           launch(run, named("ggml_conv_transpose_1d", t->src[0]->type).text,
                  count(&out), 0, KPK_ARGS(weights, in, out, step));
}

static bool upscale(struct run *run, const struct ggml_tensor *t)
{
    static const char *const kinds[] = {
        [GGML_SCALE_MODE_NEAREST] = "ggml_upscale_nearest_f32",
        [GGML_SCALE_MODE_BILINEAR] = "ggml_upscale_bilinear_f32",
        [GGML_SCALE_MODE_BICUBIC] = "ggml_upscale_bicubic_f32"};
    const struct ggml_tensor *x = t->src[0];
    const int32_t flags = t->op_params[0], mode = flags & 0xff;
    const bool corners = (flags & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0;
    const kpk_ggml_tensor in = view_of(x), out = view_of(t);
    kpk_ggml_scale s = {.offset = corners ? 0 : 0.5f};

    for (size_t d = 0; d < 4; d++)
        s.factor[d] = corners && d < 2 && t->ne[d] > 1 && x->ne[d] > 1
                          ? (float)(t->ne[d] - 1) / (float)(x->ne[d] - 1)
                          : (float)t->ne[d] / (float)x->ne[d];
    return mode < GGML_SCALE_MODE_COUNT && is_f32(t) && is_f32(x) &&
           !(flags & GGML_SCALE_FLAG_ANTIALIAS) &&
           launch(run, kinds[mode], count(&out), 0, KPK_ARGS(in, out, s));
}

bool image(struct run *run, const struct ggml_tensor *t)
{
    switch (t->op) {
    case GGML_OP_IM2COL:
        return im2col(run, t);
    case GGML_OP_POOL_1D:
    case GGML_OP_POOL_2D:
        return pool(run, t);
    case GGML_OP_CONV_TRANSPOSE_1D:
        return conv_transpose_1d(run, t);
    case GGML_OP_UPSCALE:
        return upscale(run, t);
    default:
        return false;
    }
}
