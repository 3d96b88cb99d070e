/* layers.c - the table of steps of a layer, and running them
 *
 * What a layer does is the same for all architectures: a step whose weights a
 * model does not have is left out. Each step reads one value and writes
 * another; values are buffers of a device. ADD_NORM first adds what it reads to
 * the residual stream, unless that has been done.
 *
 * Where a run has one token, neighbouring steps of a kind are one launch, if
 * their values follow each other in memory, and their weights: products of the
 * same value, biases, rotations, what is kept of K and V.
 */
#include "parts.h"

/* clang-format off */
const struct step layer_steps[NSTEPS] = {
    {ADD_NORM,   "attn_norm.weight",           RESULT, NORMED, false},
    {PRODUCT,    "attn_q.weight",              NORMED, QUERY,  false},
    {PRODUCT,    "attn_k.weight",              NORMED, KEY,    false},
    {PRODUCT,    "attn_v.weight",              NORMED, VALUE,  false},
    {BIAS,       "attn_q.bias",                QUERY,  QUERY,  true},
    {BIAS,       "attn_k.bias",                KEY,    KEY,    true},
    {BIAS,       "attn_v.bias",                VALUE,  VALUE,  true},
    {NORM_HEADS, "attn_q_norm.weight",         QUERY,  QUERY,  true},
    {NORM_HEADS, "attn_k_norm.weight",         KEY,    KEY,    true},
    {ROTATE,     NULL,                         QUERY,  QUERY,  false},
    {ROTATE,     NULL,                         KEY,    KEY,    false},
    {KEEP,       NULL,                         KEY,    KEY,    false},
    {KEEP,       NULL,                         VALUE,  VALUE,  false},
    {ATTEND,     NULL,                         QUERY,  MIXED,  false},
    {PRODUCT,    "attn_output.weight",         MIXED,  RESULT, false},
    {BIAS,       "attn_output.bias",           RESULT, RESULT, true},
    {NORM,       "post_attention_norm.weight", RESULT, RESULT, true},
    {ADD_NORM,   "ffn_norm.weight",            RESULT, NORMED, false},
    {PRODUCT,    "ffn_gate.weight",            NORMED, GATE,   false},
    {PRODUCT,    "ffn_up.weight",              NORMED, UP,     false},
    {GATED,      NULL,                         UP,     GATE,   false},
    {PRODUCT,    "ffn_down.weight",            GATE,   RESULT, false},
    {NORM,       "post_ffw_norm.weight",       RESULT, RESULT, true},
};
/* clang-format on */

uint32_t width_of(const struct sizes *s, enum value value)
{
    switch (value) {
    case QUERY:
    case MIXED:
        return s->heads * s->head;
    case KEY:
    case VALUE:
        return s->kv_heads * s->head;
    case GATE:
    case UP:
        return s->inner;
    default:
        return s->width;
    }
}

/* ---- attention ---- */

uint32_t keys_of(const struct group *g)
{
    return g->position + g->n;
}

struct attention attention_of(const struct model *model,
                              const struct shard *shard, bool window)
{
    const struct sizes *s = &model->sizes;
    const bool one = model->ngroups == 1;
    uint32_t keys = 256; /* doubled, so that longer texts' launches are alike */
    struct attention a = {
        .tokens = shard->inputs.tokens,
        .keys = shard->inputs.keys,
        .pages = one ? NULL : shard->inputs.pages,
        .page = one ? model->groups[0].sequence : 0,
        .context = model->options.context,
        .groups = (uint32_t)model->ngroups,
        .ntokens = (uint32_t)model->ntokens,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .head = s->head,
        .window = window ? s->window : 0,
        .scale = s->scale,
        .workspace = shard->splits,
        .workspace_nbytes = model->splits_nbytes,
    };

    for (size_t i = 0; i < model->ngroups; i++) {
        const struct group *g = &model->groups[i];

        a.most_tokens = g->n > a.most_tokens ? g->n : a.most_tokens;
        a.most_keys = keys_of(g) > a.most_keys ? keys_of(g) : a.most_keys;
    }
    while (a.most_tokens == 1 && keys < a.most_keys && keys < 1U << 31)
        keys *= 2;
    if (a.most_tokens == 1)
        a.most_keys = keys;
    return a;
}

/* ---- steps ---- */

static void swap_spare(struct shard *shard, enum value value)
{
    float *old = shard->value[value];

    shard->value[value] = shard->spare[value];
    shard->spare[value] = old;
}

/* Q and K where V follows them; spares lie behind values. */
static void place_heads(struct shard *shard)
{
    for (int v = QUERY; v <= KEY; v++)
        if (shard->value[v] > shard->spare[v])
            swap_spare(shard, (enum value)v);
}

bool multiply(struct shard *shard, const struct matrix *m, enum value in,
              uint32_t n, float *out, struct fault *fault)
{
    const float *x = shard->value[in];

    if (m->format->elems > 1 && shard->in_q8 != x) {
        if (!op_quantize(shard->gpu, x, m->columns, n, shard->q8, fault))
            return false;
        shard->in_q8 = x;
    }
    return op_product(shard->gpu, m, x, shard->q8, n, out, fault);
}

/* Whether all that reads a norm multiplies it with quantised matrices. */
static bool only_blocks(const struct layer *layer, size_t norm)
{
    for (size_t i = norm + 1; i < NSTEPS && layer_steps[i].op != ADD_NORM; i++)
        if (layer_steps[i].in == NORMED && layer->weights[i].format->elems == 1)
            return false;
    return true;
}

/* The stream plus what is to be added to it, and the norm of that. */
static bool add_norm(struct model *model, const struct layer *layer,
                     size_t step, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    struct shard *shard = &model->shards[layer->shard];
    float *const *value = shard->value;
    const float *weight = layer->weights[step].data;
    const uint32_t n = (uint32_t)model->ntokens;

    shard->in_q8 = NULL; /* it may be of the last norm */
    if (!shard->pending)
        return op_norm(shard->gpu, value[STREAM], weight, n, s->width, s->eps,
                       value[NORMED], fault);
    shard->pending = false;
    if (!only_blocks(layer, step))
        return op_add_norm(shard->gpu, value[STREAM], value[RESULT], weight, n,
                           s->width, s->eps, value[NORMED], fault);
    shard->in_q8 = value[NORMED];
    return op_add_norm_quantize(shard->gpu, value[STREAM], value[RESULT],
                                weight, n, s->width, s->eps, shard->q8, fault);
}

bool add_pending(const struct sizes *s, struct shard *shard, size_t n,
                 struct fault *fault)
{
    float *stream = shard->value[STREAM];

    if (!shard->pending)
        return true;
    shard->pending = false;
    return op_add(shard->gpu, stream, shard->value[RESULT], n * s->width,
                  stream, fault);
}

/* So many heads of each token. */
static bool rotate(const struct model *model, const struct layer *layer,
                   float *x, uint32_t heads, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const struct shard *shard = &model->shards[layer->shard];
    const struct rotation r = {
        .positions = shard->inputs.places,
        .factors = shard->factors,
        .base = layer->window ? s->window_base : s->base,
        .stretch = layer->window ? 1 : s->stretch,
        .pairs = s->arch->pairs,
    };

    return op_rotate(shard->gpu, x, &r, (uint32_t)model->ntokens, heads,
                     s->head, fault);
}

/* Each token sees what is kept of those before it, and of itself. */
static bool attend(const struct model *model, const struct layer *layer,
                   struct fault *fault)
{
    const struct shard *shard = &model->shards[layer->shard];
    const struct attention a = attention_of(model, shard, layer->window);
    const size_t n = (size_t)a.ntokens * a.heads * a.head;

    return op_narrow(shard->gpu, shard->value[QUERY], n, shard->q16, fault) &&
           op_attend(shard->gpu, &a, &shard->plan[layer->window], &layer->cache,
                     shard->q16, shard->mixed16, fault) &&
           op_widen(shard->gpu, false, shard->mixed16, n, shard->value[MIXED],
                    fault);
}

/* How many steps from one on are a single launch: of a run of one token, those
 * whose weights and values follow each other. */
static size_t joined(const struct model *model, const struct layer *layer,
                     size_t first)
{
    float *const *value = model->shards[layer->shard].value;
    size_t i = first;

    for (; model->ntokens == 1 && i + 1 < NSTEPS; i++) {
        const struct step *a = &layer_steps[i], *b = a + 1;
        const struct matrix *m = &layer->weights[i];

        if (a->op != b->op ||
            value[b->out] != value[a->out] + width_of(&model->sizes, a->out))
            break;
        if (a->op != ROTATE && a->op != KEEP &&
            !((a->op == BIAS || (a->op == PRODUCT && a->in == b->in)) &&
              m->data && m->format == m[1].format &&
              (const uint8_t *)m->data + m->rows * m->row_nbytes == m[1].data))
            break;
    }
    return i - first + 1;
}

static const size_t *bias_view(const struct shard *shard, enum value value)
{
    const size_t number = value == QUERY ? 0 : value == RESULT ? 2 : 1;

    return shard->inputs.views + VIEW * number;
}

/* `count` steps that are joined. */
static bool run_steps(struct model *model, struct layer *layer, size_t index,
                      size_t count, struct fault *fault)
{
    const struct step *step = &layer_steps[index];
    const struct sizes *s = &model->sizes;
    struct shard *shard = &model->shards[layer->shard];
    struct gpu *gpu = shard->gpu;
    struct matrix m = layer->weights[index];
    const uint32_t n = (uint32_t)model->ntokens;
    uint32_t width = 0;
    float *in = shard->value[step->in], *out = shard->value[step->out];
    bool good = false;

    for (size_t i = 0; i < count; i++)
        width += width_of(s, step[i].out);
    if (step->op == NORM || step->op == NORM_HEADS) {
        swap_spare(shard, step->out);
        out = shard->value[step->out];
    }
    switch (step->op) {
    case ADD_NORM:
        good = add_norm(model, layer, index, fault);
        break;
    case NORM:
        good = op_norm(gpu, in, m.data, n, width, s->eps, out, fault);
        break;
    case NORM_HEADS:
        good = op_norm(gpu, in, m.data, n * (width / s->head), s->head, s->eps,
                       out, fault);
        break;
    case PRODUCT:
        m.rows = width;
        good = multiply(shard, &m, step->in, n, out, fault);
        break;
    case BIAS:
        good = n == 1 ? op_add(gpu, in, m.data, width, out, fault)
                      : op_add_row(gpu, in, m.data, n, width,
                                   bias_view(shard, step->out), fault);
        break;
    case ROTATE:
        good = rotate(model, layer, in, width / s->head, fault);
        break;
    case KEEP:
        good =
            op_keep(gpu, &layer->cache, in, step->in == KEY ? 0 : s->kv_heads,
                    width / s->head, shard->inputs.rows, n, fault);
        break;
    case ATTEND:
        good = attend(model, layer, fault);
        break;
    case GATED:
        good = op_gate(gpu, s->arch->gelu, out, in, (size_t)n * width, fault);
        break;
    }
    if (step->op != ADD_NORM && shard->in_q8 == out)
        shard->in_q8 = NULL;
    shard->pending = shard->pending || step->out == RESULT;
    return good;
}

bool run_layer(struct model *model, struct layer *layer, struct fault *fault)
{
    place_heads(&model->shards[layer->shard]);
    for (size_t i = 0, count; i < NSTEPS; i += count) {
        count = 1;
        if (layer_steps[i].optional && !layer->weights[i].data)
            continue;
        count = joined(model, layer, i);
        if (!run_steps(model, layer, i, count, fault))
            return false;
    }
    return true;
}
