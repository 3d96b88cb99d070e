/* layers.c - the table of steps of a layer, and running them
 *
 * All architectures share the steps of a layer: a step without weights in the
 * model is left out. Each step reads one value and writes another; values are
 * buffers of a device. ADD_NORM first adds its input to the residual stream,
 * unless an earlier step has added it.
 *
 * Devices with a slice of each tensor (split.h) run the same steps with fewer
 * heads and narrower inner layers. RESULT is then a part of a sum, which
 * ADD_NORM completes: one launch adds up the devices' parts, adds the sum to
 * the stream and norms it (team.h).
 *
 * Adjacent steps share a launch if a kernel does both: the steps of Q, K and V;
 * a product and the quantization of its input; products of the same value whose
 * weights and results are contiguous.
 */
#include "layers.h"

/* clang-format off */
const struct step layer_steps[NSTEPS] = {
    /*                                                        needed by        else of */
    {ADD_NORM,   "attn_norm.weight",           RESULT, NORMED, ALL_ARCHS,      0},
    {PRODUCT,    "attn_q.weight",              NORMED, QUERY,  ALL_ARCHS,      0},
    {PRODUCT,    "attn_k.weight",              NORMED, KEY,    ALL_ARCHS,      0},
    {PRODUCT,    "attn_v.weight",              NORMED, VALUE,  ALL_ARCHS,      0},
    {HEAD_BIAS,  "attn_q.bias",                QUERY,  QUERY,  0,              ALL_ARCHS},
    {HEAD_BIAS,  "attn_k.bias",                KEY,    KEY,    0,              ALL_ARCHS},
    {HEAD_BIAS,  "attn_v.bias",                VALUE,  VALUE,  0,              ALL_ARCHS},
    {HEAD_NORM,  "attn_q_norm.weight",         QUERY,  QUERY,  QWEN3 | GEMMA3, 0},
    {HEAD_NORM,  "attn_k_norm.weight",         KEY,    KEY,    QWEN3 | GEMMA3, 0},
    {HEADS,      NULL,                         QUERY,  QUERY,  0,              0},
    {ATTEND,     NULL,                         QUERY,  MIXED,  0,              0},
    {PRODUCT,    "attn_output.weight",         MIXED,  RESULT, ALL_ARCHS,      0},
    {BIAS,       "attn_output.bias",           RESULT, RESULT, 0,              LLAMA},
    {NORM,       "post_attention_norm.weight", RESULT, RESULT, GEMMA3,         0},
    {ADD_NORM,   "ffn_norm.weight",            RESULT, NORMED, ALL_ARCHS,      0},
    {PRODUCT,    "ffn_gate.weight",            NORMED, GATE,   ALL_ARCHS,      0},
    {PRODUCT,    "ffn_up.weight",              NORMED, UP,     ALL_ARCHS,      0},
    {GATED,      NULL,                         UP,     GATE,   0,              0},
    {PRODUCT,    "ffn_down.weight",            GATE,   RESULT, ALL_ARCHS,      0},
    {NORM,       "post_ffw_norm.weight",       RESULT, RESULT, GEMMA3,         0},
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

/* Numbers of a token's Q, K and V together. */
static uint32_t heads_width(const struct sizes *s)
{
    return (s->heads + 2 * s->kv_heads) * s->head;
}

static bool is_blocks(const struct matrix *m)
{
    return m->format->elems > 1;
}

/* Whether gate and up of a token are adjacent. Only the step that quantizes
 * their product can read this layout. */
static bool gates_blocks(const struct layer *layer)
{
    return is_blocks(&layer->weights[DOWN]);
}

/* Numbers from token to token. */
static uint32_t stride_of(const struct sizes *s, const struct layer *layer,
                          enum value value)
{
    switch (value) {
    case QUERY:
    case KEY:
    case VALUE:
        return heads_width(s);
    case GATE:
    case UP:
        return gates_blocks(layer) ? 2 * s->inner : s->inner;
    default:
        return width_of(s, value);
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
    const struct sizes *s = &shard->slice.sizes;
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
        .workspace_nbytes = shard->splits_nbytes,
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

bool multiply(struct shard *shard, const struct matrix *m, enum value in,
              uint32_t n, float *out, uint32_t stride, struct fault *fault)
{
    const float *x = shard->value[in];

    if (is_blocks(m) && shard->in_q8 != x) {
        if (!op_quantize(shard->gpu, x, m->columns, n, shard->q8, fault))
            return false;
        shard->in_q8 = x;
    }
    return op_product(shard->gpu, m, x, shard->q8, n, out, stride, fault);
}

/* Whether every step that reads the norm multiplies by a quantized matrix. */
static bool only_blocks(const struct layer *layer, size_t norm)
{
    for (size_t i = norm + 1; i < NSTEPS && layer_steps[i].op != ADD_NORM; i++)
        if (layer_steps[i].in == NORMED && !is_blocks(&layer->weights[i]))
            return false;
    return true;
}

/* Adds up the devices' parts of RESULT, and adds the sum to the stream if there
 * is one. The sum's norm goes to `out`, or to q8. */
static bool sum_parts(struct shard *shard, float *stream, const float *weight,
                      uint32_t n, float *out, void *q8, struct fault *fault)
{
    const struct team_sum sum = {
        .x = shard->value[RESULT],
        .stream = stream,
        .alone = shard->value[NORMED], /* its old content is not read again */
        .weight = weight,
        .rows = n,
        .columns = shard->slice.sizes.width,
        .eps = shard->slice.sizes.eps,
        .out = out,
        .q8 = q8,
    };

    shard->partial = false;
    return team_sum(shard->team, shard->place, &sum, fault);
}

/* RESULT's norm that has been put off. */
static bool norm_pending(struct shard *shard, uint32_t n, struct fault *fault)
{
    const struct sizes *s = &shard->slice.sizes;
    const float *post = shard->post;
    float *old = shard->value[RESULT], *to = shard->value[SPARE];
    bool good;

    if (!post)
        return true;
    good = shard->partial
               ? sum_parts(shard, NULL, post, n, to, NULL, fault)
               : op_norm(shard->gpu, old, post, n, s->width, s->eps, to, fault);
    shard->value[RESULT] = to;
    shard->value[SPARE] = old;
    shard->post = NULL;
    return good;
}

bool norm_stream(struct shard *shard, const float *weight, uint32_t n,
                 bool blocks, struct fault *fault)
{
    const struct sizes *s = &shard->slice.sizes;
    struct gpu *gpu = shard->gpu;
    float *const *value = shard->value;
    const bool pending = shard->pending;
    const float *post;

    shard->in_q8 = NULL; /* it may hold the last norm */
    if ((!blocks || shard->partial) && !norm_pending(shard, n, fault))
        return false;
    post = shard->post;
    shard->pending = false;
    shard->post = NULL;
    if (blocks)
        shard->in_q8 = value[NORMED];
    if (shard->partial)
        return sum_parts(shard, value[STREAM], weight, n, value[NORMED],
                         blocks ? shard->q8 : NULL, fault);
    if (!blocks)
        return pending ? op_add_norm(gpu, value[STREAM], value[RESULT], weight,
                                     n, s->width, s->eps, value[NORMED], fault)
                       : op_norm(gpu, value[STREAM], weight, n, s->width,
                                 s->eps, value[NORMED], fault);
    if (post)
        return op_norm_add_norm_quantize(gpu, value[STREAM], value[RESULT],
                                         post, weight, n, s->width, s->eps,
                                         shard->q8, fault);
    return op_add_norm_quantize(gpu, value[STREAM],
                                pending ? value[RESULT] : NULL, weight, n,
                                s->width, s->eps, shard->q8, fault);
}

bool add_pending(struct shard *shard, uint32_t n, struct fault *fault)
{
    float *stream = shard->value[STREAM];

    if (!norm_pending(shard, n, fault))
        return false;
    if (!shard->pending)
        return true;
    shard->pending = false;
    return op_add(shard->gpu, stream, shard->value[RESULT],
                  (size_t)n * shard->slice.sizes.width, stream, fault);
}

bool make_turns(const struct model *model, struct shard *shard,
                struct fault *fault)
{
    const struct sizes *s = &model->sizes;

    for (int window = 0; window < (s->window ? 2 : 1); window++) {
        const struct rotation r = {
            .positions = shard->inputs.places,
            .factors = shard->factors,
            .base = window ? s->window_base : s->base,
            .stretch = window ? 1 : s->stretch,
            .yarn = s->yarn,
            .ramp = {s->ramp[0], s->ramp[1]},
            .longer = s->longer,
        };

        if (!op_turns(shard->gpu, &r, (uint32_t)model->ntokens, s->head,
                      shard->turns[window], fault))
            return false;
    }
    return true;
}

/* Applies biases, norms and rotation to all heads, and stores K and V in the
 * cache. */
static bool run_heads(const struct model *model, const struct layer *layer,
                      struct fault *fault)
{
    const struct shard *shard = &model->shards[layer->shard];
    const struct sizes *s = &shard->slice.sizes;
    const struct heads h = {
        .qkv = shard->value[QUERY],
        .bias = layer->weights[Q_BIAS].data,
        .q_norm = layer->weights[Q_NORM].data,
        .k_norm = layer->weights[K_NORM].data,
        .turns = shard->turns[layer->window],
        .heads = s->heads,
        .eps = s->eps,
        .pairs = s->arch->pairs,
        .rows = shard->inputs.rows,
    };

    return op_heads(shard->gpu, &h, &layer->cache, (uint32_t)model->ntokens,
                    shard->q16, fault);
}

/* Each token attends to the cached K and V of earlier tokens and its own. */
static bool attend(struct model *model, const struct layer *layer,
                   struct fault *fault)
{
    struct shard *shard = &model->shards[layer->shard];
    const struct attention a = attention_of(model, shard, layer->window);
    const kpk_attention_plan *plan = &shard->plan[layer->window];
    const bool blocks = is_blocks(&layer->weights[ATTENDED]);
    const bool at_once = blocks && plan->quantizes;
    const uint32_t width = a.heads * a.head;

    if (!op_attend(shard->gpu, &a, plan, &layer->cache, shard->q16,
                   shard->mixed16, at_once ? shard->q8 : NULL, fault))
        return false;
    if (!blocks)
        return op_widen(shard->gpu, false, shard->mixed16,
                        (size_t)a.ntokens * width, shard->value[MIXED], fault);
    shard->in_q8 = shard->value[MIXED];
    return at_once || op_quantize16(shard->gpu, shard->mixed16, width,
                                    a.ntokens, shard->q8, fault);
}

static bool gate(struct model *model, const struct layer *layer,
                 struct fault *fault)
{
    struct shard *shard = &model->shards[layer->shard];
    const struct sizes *s = &shard->slice.sizes;
    float *const *value = shard->value;
    const uint32_t n = (uint32_t)model->ntokens;

    if (!gates_blocks(layer))
        return op_gate(shard->gpu, s->arch->gelu, value[GATE], value[UP],
                       (size_t)n * s->inner, fault);
    shard->in_q8 = value[GATE];
    return op_gate_quantize(shard->gpu, s->arch->gelu, value[GATE], value[UP],
                            n, s->inner, stride_of(s, layer, GATE), shard->q8,
                            fault);
}

/* How many steps from one on are a single launch: products of the same value,
 * whose weights follow each other, and their values for each token. */
static size_t joined(const struct model *model, const struct layer *layer,
                     size_t first)
{
    const struct shard *shard = &model->shards[layer->shard];
    const struct sizes *s = &shard->slice.sizes;
    float *const *value = shard->value;
    size_t i = first;

    for (; i + 1 < NSTEPS; i++) {
        const struct step *a = &layer_steps[i], *b = a + 1;
        const struct matrix *m = &layer->weights[i];

        if (a->op != PRODUCT || b->op != PRODUCT || a->in != b->in ||
            value[b->out] != value[a->out] + width_of(s, a->out) ||
            m->format != m[1].format ||
            (const uint8_t *)m->data + m->rows * m->row_nbytes != m[1].data)
            break;
    }
    return i - first + 1;
}

/* Runs `count` joined steps as one launch. */
static bool run_steps(struct model *model, struct layer *layer, size_t index,
                      size_t count, struct fault *fault)
{
    const struct step *step = &layer_steps[index];
    struct shard *shard = &model->shards[layer->shard];
    const struct sizes *s = &shard->slice.sizes;
    struct matrix m = layer->weights[index];
    const uint32_t n = (uint32_t)model->ntokens, width = width_of(s, step->out);
    uint32_t stride = stride_of(s, layer, step->out);
    float *in = shard->value[step->in], *out = shard->value[step->out];

    if (shard->in_q8 == out)
        shard->in_q8 = NULL;
    shard->pending = shard->pending || step->out == RESULT;
    switch (step->op) {
    case ADD_NORM:
        return norm_stream(shard, m.data, n, only_blocks(layer, index), fault);
    case NORM: /* runs with the step that adds RESULT, or before it */
        shard->post = m.data;
        return true;
    case PRODUCT:
        for (size_t i = 1; i < count; i++)
            m.rows += layer->weights[index + i].rows;
        if (stride < m.rows) /* of one token */
            stride = m.rows;
        shard->partial = shard->team && step->out == RESULT;
        return multiply(shard, &m, step->in, n, out, stride, fault);
    case BIAS:
        return n == 1 ? op_add(shard->gpu, in, m.data, width, out, fault)
                      : op_add_row(shard->gpu, in, m.data, n, width,
                                   shard->inputs.view, fault);
    case HEADS:
        return run_heads(model, layer, fault);
    case ATTEND:
        return attend(model, layer, fault);
    case GATED:
        return gate(model, layer, fault);
    case HEAD_BIAS:
    case HEAD_NORM:
        break;
    }
    return true;
}

/* Places values that lie side by side: Q, K and V; gate and up. */
static void place_neighbours(struct model *model, const struct layer *layer)
{
    const struct sizes *s = &model->shards[layer->shard].slice.sizes;
    float **value = model->shards[layer->shard].value;

    value[KEY] = value[QUERY] + width_of(s, QUERY);
    value[VALUE] = value[KEY] + width_of(s, KEY);
    value[UP] = value[GATE] +
                (gates_blocks(layer) ? 1 : model->ntokens) * (size_t)s->inner;
}

/* Runs step i on a device, with the following steps that share its launch.
 * *next is the first step that has not been run. */
static bool run_next(struct model *model, struct layer *layer, size_t i,
                     size_t *next, struct fault *fault)
{
    size_t count;

    if (i < *next || (layer_steps[i].tensor && !layer->weights[i].data))
        return true;
    count = joined(model, layer, i);
    *next = i + count;
    return run_steps(model, layer, i, count, fault);
}

/* A driver may wait until its device is idle when it loads a kernel. A sum ends
 * when all devices have launched it. So all launch a sum before any of them
 * runs the next step; kernels of the same step are loaded by gpu_open(). */
bool run_layer(struct model *model, struct layer *parts, struct fault *fault)
{
    size_t next[MODEL_MOST_DEVICES] = {0};

    for (size_t p = 0; p < model->parts; p++)
        place_neighbours(model, &parts[p]);
    for (size_t i = 0; i < NSTEPS; i++)
        for (size_t p = 0; p < model->parts; p++)
            if (!run_next(model, &parts[p], i, &next[p], fault))
                return false;
    return true;
}
