/* model.c - a language model on one GPU, or its layers spread over several
 *
 * What a layer does is a table of steps below, the same for all architectures:
 * a step whose weights a model does not have is left out. Each step reads one
 * value and writes another; values are buffers of a device. ADD_NORM first adds
 * what it reads to the residual stream, unless that has been done.
 *
 * K and V of all tokens so far are kept per layer and sequence, as rows of
 * [context, kv_heads, head].
 */
#include "model.h"

#include "driver.h"
#include "ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

/* Values of a run's tokens, a row each. */
enum value {
    STREAM, /* the residual stream */
    NORMED,
    QUERY,
    KEY,
    VALUE,
    MIXED, /* attention's result */
    GATE,
    UP,
    RESULT, /* of attention or of the inner layer, back at the width */
    SPARE,  /* swapped with what a step cannot write in place */
    NVALUES
};

enum op { ADD_NORM, NORM, PRODUCT, BIAS, NORM_HEADS, ROTATE, ATTEND, GATED };

struct step {
    enum op op;
    const char *tensor; /* blk.N.* */
    enum value in, out;
    bool optional;
};

/* clang-format off */
static const struct step layer_steps[] = {
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

enum { NSTEPS = sizeof(layer_steps) / sizeof(layer_steps[0]) };

/* ---- the model ---- */

struct layer {
    struct matrix weights[NSTEPS]; /* data NULL: the step is left out */
    float *keys, *values;          /* [sequences, context, kv_heads, head] */
    size_t shard;
};

/* Tokens of one sequence in a run. */
struct group {
    size_t first; /* of the run's tokens */
    uint32_t n, sequence, position;
};

/* Views of strided launches: dimensions and strides, in device memory. */
enum { VIEW_BIAS = 0, VIEW_ARGMAX = 18, VIEW_MASKS = 24, MASK_VIEW = 9 };

/* A device's part of a model. */
struct shard {
    struct gpu *gpu;
    float *value[NVALUES];
    void *q8;           /* a value as Q8_1 blocks */
    const float *in_q8; /* which value that is; NULL: none */
    bool pending;       /* RESULT is to be added to STREAM */
    float *factors;     /* of rotations; or NULL */
    float *masks[2];    /* of all groups */
    float *scores;
    size_t *views; /* and what else is told of a run, see gather_inputs() */
};

struct model {
    struct sizes sizes;
    struct model_options options;
    size_t nshards;
    struct shard shards[MODEL_MOST_DEVICES];
    struct layer *layers;
    struct matrix embeds;              /* on the first device */
    struct matrix output_norm, output; /* on the last */
    uint32_t *best;                    /* on the last: likeliest tokens */
    float *logits;                     /* on the last, [answers, vocabulary] */
    /* of the run */
    struct group *groups;
    size_t ngroups, ntokens, nwanted;
    void *staging; /* what is copied to the devices */
};

const struct sizes *model_sizes(const struct model *model)
{
    return &model->sizes;
}

uint64_t model_allocated(const struct model *model)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < model->nshards; i++)
        sum += gpu_allocated(model->shards[i].gpu);
    return sum;
}

static uint32_t width_of(const struct sizes *s, enum value value)
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

static uint32_t widest(const struct sizes *s)
{
    uint32_t most = 0;

    for (int v = 0; v < NVALUES; v++)
        if (width_of(s, (enum value)v) > most)
            most = width_of(s, (enum value)v);
    return most;
}

/* Elements of a token in a value's buffer. Those that SPARE is swapped with are
 * as large as it. */
static uint32_t room_of(const struct sizes *s, enum value value)
{
    uint32_t most = width_of(s, value);
    bool swapped = value == SPARE;

    for (size_t i = 0; i < NSTEPS; i++)
        swapped = swapped ||
                  (layer_steps[i].out == value && layer_steps[i].in == value);
    for (size_t i = 0; swapped && i < NSTEPS; i++)
        if (layer_steps[i].in == layer_steps[i].out &&
            width_of(s, layer_steps[i].out) > most)
            most = width_of(s, layer_steps[i].out);
    return most;
}

/* ---- weights ---- */

/* Where tensors are copied from, and how far that is. */
struct loader {
    const struct gguf *gguf;
    struct model *model;
    bool *used; /* tensors of the file */
    uint64_t done, total;
    struct fault *fault;
};

static bool copy_bytes(struct loader *l, struct gpu *gpu, uint8_t *to,
                       const uint8_t *from, uint64_t nbytes)
{
    const struct model_options *options = &l->model->options;

    for (uint64_t at = 0, n; at < nbytes; at += n) {
        n = nbytes - at < 16U << 20 ? nbytes - at : 16U << 20;
        if (!gpu_write(gpu, to + at, from + at, n, l->fault))
            return false;
        l->done += n;
        if (options->progress)
            options->progress(options->progress_context, l->done, l->total);
    }
    return true;
}

static bool copy_tensor(struct loader *l, struct gpu *gpu,
                        const struct gguf_tensor *t, struct matrix *m)
{
    const size_t n = (size_t)m->rows * m->columns;
    const bool wide = t->format->id == 1 || t->format->id == 30;
    void *data = NULL, *wider = NULL;
    bool good;

    good = gpu_alloc(gpu, t->nbytes, "weights", &data, l->fault) &&
           copy_bytes(l, gpu, data, t->data, t->nbytes);
    m->format = t->format;
    m->data = data;
    m->row_nbytes = t->nbytes / m->rows;
    if (!good || !wide)
        return good;
    m->format = tensor_format_of(0);
    m->row_nbytes = (uint64_t)m->columns * sizeof(float);
    good = gpu_alloc(gpu, n * sizeof(float), "weights", &wider, l->fault) &&
           op_widen(gpu, t->format, data, n, wider, l->fault) &&
           gpu_wait(gpu, l->fault) && gpu_free(gpu, data, l->fault);
    m->data = wider;
    return good;
}

/* A tensor [rows, columns] to a device; rows 1: one of numbers. */
static bool load(struct loader *l, size_t shard, const char *name,
                 uint32_t rows, uint32_t columns, bool optional,
                 struct matrix *out)
{
    const struct gguf *g = l->gguf;
    const struct gguf_tensor *t = gguf_find_tensor(g, name);

    if (!t)
        return optional ||
               fail(l->fault,
                    "%s has no tensor %s, which architecture %s needs", g->path,
                    name, l->model->sizes.arch->name);
    if (t->dim[0] != columns || t->dim[1] != rows || t->dim[2] != 1 ||
        t->dim[3] != 1)
        return fail(l->fault,
                    "%s: tensor %s is %" PRIu64 " x %" PRIu64
                    ", by the model's sizes it should be %" PRIu32
                    " x %" PRIu32,
                    g->path, name, t->dim[1], t->dim[0], rows, columns);
    if (!op_takes(t->format) || (rows == 1 && t->format->lower))
        return fail(l->fault,
                    "%s: tensor %s has type %s, for which there are no "
                    "kernels%s",
                    g->path, name, t->format->name,
                    rows == 1 ? " here: F32, F16 and BF16 can be used"
                              : ": requantize the model, to Q4_K or Q8_0 for "
                                "instance");
    l->used[t - g->tensors] = true;
    out->rows = rows;
    out->columns = columns;
    return copy_tensor(l, l->model->shards[shard].gpu, t, out);
}

static bool load_layer(struct loader *l, uint32_t number)
{
    const struct sizes *s = &l->model->sizes;
    struct layer *layer = &l->model->layers[number];

    for (size_t i = 0; i < NSTEPS; i++) {
        const struct step *step = &layer_steps[i];
        uint32_t rows = 1, columns = width_of(s, step->out);
        char name[96];

        if (!step->tensor)
            continue;
        if (step->op == PRODUCT) {
            rows = columns;
            columns = width_of(s, step->in);
        } else if (step->op == NORM_HEADS) {
            columns = s->head;
        }
        (void)snprintf(name, sizeof(name), "blk.%" PRIu32 ".%s", number,
                       step->tensor);
        if (!load(l, layer->shard, name, rows, columns, step->optional,
                  &layer->weights[i]))
            return false;
    }
    return true;
}

/* Tensors that no step uses would change what the model says. */
static bool check_unused(const struct loader *l)
{
    const struct gguf *g = l->gguf;

    for (uint64_t i = 0; i < g->ntensors; i++)
        if (!l->used[i] && !text_is(g->tensors[i].name, "rope_freqs.weight"))
            return fail(l->fault,
                        "%s has tensor " TEXT_FORMAT
                        ", which this program has no use for in architecture "
                        "%s",
                        g->path, TEXT_ARGS(g->tensors[i].name),
                        l->model->sizes.arch->name);
    return true;
}

static bool load_all(struct loader *l)
{
    struct model *model = l->model;
    const struct sizes *s = &model->sizes;
    const size_t last = model->nshards - 1;
    const char *output = gguf_find_tensor(l->gguf, "output.weight")
                             ? "output.weight"
                             : "token_embd.weight";

    if (!load(l, 0, "token_embd.weight", s->vocabulary, s->width, false,
              &model->embeds) ||
        !load(l, last, "output_norm.weight", 1, s->width, false,
              &model->output_norm))
        return false;
    for (uint32_t i = 0; i < s->layers; i++)
        if (!load_layer(l, i))
            return false;
    /* one matrix for both, where they are on one device */
    if (*output == 't' && last == 0) {
        model->output = model->embeds;
        return check_unused(l);
    }
    return load(l, last, output, s->vocabulary, s->width, false,
                &model->output) &&
           check_unused(l);
}

static bool load_weights(const struct gguf *gguf, struct model *model,
                         struct fault *fault)
{
    struct loader l = {.gguf = gguf, .model = model, .fault = fault};
    bool good;

    l.used = calloc(gguf->ntensors + 1, sizeof(*l.used));
    if (!l.used)
        return fail(fault, "no memory for the tensors of %s", gguf->path);
    for (uint64_t i = 0; i < gguf->ntensors; i++)
        l.total += gguf->tensors[i].nbytes;
    good = load_all(&l);
    free(l.used);
    return good;
}

/* ---- buffers ---- */

static uint64_t cache_nbytes(const struct model *model)
{
    const struct sizes *s = &model->sizes;

    return (uint64_t)model->options.sequences * model->options.context *
           s->kv_heads * s->head * sizeof(float);
}

/* What a device needs beside weights, K and V. */
static bool make_buffers(struct model *model, struct shard *shard,
                         struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const uint64_t batch = model->options.batch;
    const uint64_t keys = batch * model->options.context;
    const char *what = "the values of a run";
    bool good = true;

    for (int v = 0; v < NVALUES; v++) {
        const uint64_t width = room_of(s, (enum value)v);

        good = good && gpu_alloc(shard->gpu, batch * width * sizeof(float),
                                 what, (void **)&shard->value[v], fault);
    }
    for (int w = 0; w < 2; w++)
        good = good &&
               (batch == 1 || gpu_alloc(shard->gpu, keys * sizeof(float), what,
                                        (void **)&shard->masks[w], fault));
    if (good && s->factors)
        good = gpu_alloc(shard->gpu, s->head / 2 * sizeof(float), what,
                         (void **)&shard->factors, fault) &&
               gpu_write(shard->gpu, shard->factors, s->factors,
                         s->head / 2 * sizeof(float), fault);
    return good &&
           gpu_alloc(shard->gpu,
                     op_quantized_nbytes(widest(s), (uint32_t)batch), what,
                     &shard->q8, fault) &&
           gpu_alloc(shard->gpu, 2 * s->heads * keys * sizeof(float),
                     "attention", (void **)&shard->scores, fault) &&
           gpu_alloc(shard->gpu,
                     (VIEW_MASKS + batch * MASK_VIEW) * sizeof(size_t) +
                         3 * batch * sizeof(uint32_t),
                     what, (void **)&shard->views, fault);
}

static bool make_caches(struct model *model, struct fault *fault)
{
    for (uint32_t i = 0; i < model->sizes.layers; i++) {
        struct layer *layer = &model->layers[i];
        struct gpu *gpu = model->shards[layer->shard].gpu;

        if (!gpu_alloc(gpu, cache_nbytes(model), "K and V",
                       (void **)&layer->keys, fault) ||
            !gpu_alloc(gpu, cache_nbytes(model), "K and V",
                       (void **)&layer->values, fault))
            return false;
    }
    return true;
}

static bool make_ends(struct model *model, struct fault *fault)
{
    const uint64_t batch = model->options.batch;
    const uint64_t answers = model->options.answers;
    struct gpu *last = model->shards[model->nshards - 1].gpu;
    const char *what = "a run's tokens";

    model->groups = calloc(batch, sizeof(*model->groups));
    model->staging = malloc(batch * (model->options.context * sizeof(float) +
                                     (MASK_VIEW + 2) * sizeof(size_t)) +
                            VIEW_MASKS * sizeof(size_t));
    if (!model->groups || !model->staging)
        return fail(fault, "no memory for %s", what);
    return gpu_alloc(last, answers * sizeof(uint32_t), what,
                     (void **)&model->best, fault) &&
           gpu_alloc(last, answers * model->sizes.vocabulary * sizeof(float),
                     "logits", (void **)&model->logits, fault);
}

/* Whether all devices together have room at all, before anything is copied. In
 * f64, for the options may ask for more than 64 bits of bytes. */
static bool check_memory(const struct gguf *gguf, const struct model *model,
                         struct fault *fault)
{
    const struct model_options *o = &model->options;
    const double row = 8.0 * model->sizes.kv_heads * model->sizes.head;
    const double mib = 1 << 20;
    double room = 0, need = row * model->sizes.layers * o->sequences;

    need *= o->context;
    for (uint64_t i = 0; i < gguf->ntensors; i++)
        need += (double)gguf->tensors[i].nbytes;
    for (size_t i = 0; i < model->nshards; i++)
        room += (double)gpu_device(model->shards[i].gpu)->memory_nbytes;
    return need <= room ||
           fail(fault,
                "too little memory: %s and %" PRIu32 " tokens of context need "
                "%.0f MiB, and the device%s %.0f MiB. Give a smaller "
                "--context, more --devices or a smaller model",
                gguf->path, o->context, need / mib,
                model->nshards > 1 ? "s have" : " has", room / mib);
}

static bool open_model(const struct gguf *gguf, struct model *model,
                       struct fault *fault)
{
    const struct model_options *o = &model->options;

    if (!sizes_read(gguf, &model->sizes, fault))
        return false;
    if (o->ndevices == 0 || o->ndevices > MODEL_MOST_DEVICES ||
        o->ndevices > model->sizes.layers)
        return fail(fault,
                    "%" PRIu32 " layers cannot be split over %zu devices",
                    model->sizes.layers, o->ndevices);
    if (o->context == 0 || o->sequences == 0 || o->batch == 0)
        return fail(fault, "context, sequences and batch are 1 at least");
    model->layers = calloc(model->sizes.layers, sizeof(*model->layers));
    if (!model->layers)
        return fail(fault, "no memory for %" PRIu32 " layers",
                    model->sizes.layers);
    for (size_t i = 0; i < o->ndevices; i++, model->nshards++)
        if (!gpu_open(o->devices[i], &model->shards[i].gpu, fault))
            return false;
    for (uint32_t i = 0; i < model->sizes.layers; i++)
        model->layers[i].shard =
            (size_t)i * model->nshards / model->sizes.layers;
    if (!check_memory(gguf, model, fault) ||
        !load_weights(gguf, model, fault) || !make_caches(model, fault) ||
        !make_ends(model, fault))
        return false;
    for (size_t i = 0; i < model->nshards; i++)
        if (!make_buffers(model, &model->shards[i], fault))
            return false;
    return true;
}

bool model_open(const struct gguf *gguf, const struct model_options *options,
                struct model **out, struct fault *fault)
{
    struct model *model = calloc(1, sizeof(*model));

    if (!model)
        return fail(fault, "no memory for a model");
    model->options = *options;
    if (options->answers == 0)
        model->options.answers = options->sequences;
    if (open_model(gguf, model, fault)) {
        *out = model;
        return true;
    }
    model_close(model);
    return false;
}

void model_close(struct model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->nshards; i++)
        gpu_close(model->shards[i].gpu);
    free(model->layers);
    free(model->groups);
    free(model->staging);
    free(model);
}

/* ---- a run: what is told to the devices ---- */

static bool find_groups(struct model *model, const struct model_token *tokens,
                        size_t n, struct fault *fault)
{
    const struct model_options *o = &model->options;

    model->ngroups = model->nwanted = 0;
    model->ntokens = n;
    if (n == 0 || n > o->batch)
        return fail(fault, "a run of %zu tokens; 1 to %" PRIu32 " are possible",
                    n, o->batch);
    for (size_t i = 0; i < n; i++) {
        const struct model_token *t = &tokens[i];
        struct group *g = &model->groups[model->ngroups];

        if (t->id >= model->sizes.vocabulary || t->sequence >= o->sequences)
            return fail(fault,
                        "token %" PRIu32 " of sequence %" PRIu32
                        " is out of range",
                        t->id, t->sequence);
        if (t->position >= o->context)
            return fail(fault,
                        "the text is longer than the %" PRIu32
                        " tokens of the context: give a larger --context",
                        o->context);
        model->nwanted += t->wanted;
        if (i > 0 && t->sequence == tokens[i - 1].sequence) {
            if (t->position != tokens[i - 1].position + 1)
                return fail(fault, "positions of a sequence have a gap");
            g[-1].n++;
            continue;
        }
        *g = (struct group){i, 1, t->sequence, t->position};
        model->ngroups++;
    }
    return model->nwanted <= o->answers ||
           fail(fault, "%zu answers are wanted, %" PRIu32 " are possible",
                model->nwanted, o->answers);
}

/* Keys that a group's last token may see. */
static uint32_t keys_of(const struct group *g)
{
    return g->position + g->n;
}

/* 0 where a token sees a key, -infinity where it does not; of groups of several
 * tokens. */
static bool send_masks(struct model *model, struct shard *shard, bool window,
                       struct fault *fault)
{
    const uint32_t reach = window ? model->sizes.window : UINT32_MAX;
    float *mask = model->staging;
    size_t n = 0;

    for (size_t i = 0; i < model->ngroups; i++) {
        const struct group *g = &model->groups[i];

        for (uint32_t row = 0; g->n > 1 && row < g->n; row++)
            for (uint32_t key = 0; key < keys_of(g); key++) {
                const uint32_t at = g->position + row;

                mask[n++] = key <= at && at - key < reach ? 0 : -INFINITY;
            }
    }
    return n == 0 || gpu_write(shard->gpu, shard->masks[window], mask,
                               n * sizeof(float), fault);
}

/* Views, then the tokens' numbers and positions and the wanted rows, for all
 * devices in one piece: each copy waits for the device. */
static size_t gather_inputs(struct model *model,
                            const struct model_token *tokens)
{
    static const enum value biased[] = {QUERY, KEY, RESULT};
    const struct sizes *s = &model->sizes;
    const size_t n = model->ntokens;
    size_t *views = model->staging, count = VIEW_MASKS;
    uint32_t *numbers, *rows;

    memset(views, 0, VIEW_MASKS * sizeof(*views));
    for (size_t i = 0; i < 3; i++)
        op_add_row_info((uint32_t)n, width_of(s, biased[i]),
                        views + VIEW_BIAS + 6 * i);
    op_argmax_info((uint32_t)model->nwanted, s->vocabulary,
                   views + VIEW_ARGMAX);
    for (size_t i = 0; i < model->ngroups; i++, count += MASK_VIEW)
        op_mask_info(s->heads, model->groups[i].n, keys_of(&model->groups[i]),
                     views + count);
    numbers = (uint32_t *)(void *)(views + count);
    rows = numbers + 2 * n;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = tokens[i].id;
        numbers[n + i] = tokens[i].position;
        if (tokens[i].wanted)
            *rows++ = (uint32_t)i;
    }
    return (size_t)((char *)rows - (char *)views);
}

/* Where a device has them. */
static const uint32_t *ids_of(const struct model *model,
                              const struct shard *shard)
{
    return (const uint32_t *)(const void *)(shard->views + VIEW_MASKS +
                                            model->ngroups * MASK_VIEW);
}

static const int32_t *positions_of(const struct model *model,
                                   const struct shard *shard)
{
    return (const int32_t *)(ids_of(model, shard) + model->ntokens);
}

static const uint32_t *rows_of(const struct model *model,
                               const struct shard *shard)
{
    return ids_of(model, shard) + 2 * model->ntokens;
}

static bool send_run(struct model *model, const struct model_token *tokens,
                     struct fault *fault)
{
    for (size_t i = 0; i < model->nshards; i++) {
        struct shard *shard = &model->shards[i];

        shard->in_q8 = NULL;
        shard->pending = false;
        if (!gpu_write(shard->gpu, shard->views, model->staging,
                       gather_inputs(model, tokens), fault))
            return false;
        for (int w = 0; w < (model->sizes.window ? 2 : 1); w++)
            if (!send_masks(model, shard, w, fault))
                return false;
    }
    return true;
}

/* ---- a run: the steps ---- */

static void swap_spare(struct shard *shard, enum value value)
{
    float *old = shard->value[value];

    shard->value[value] = shard->value[SPARE];
    shard->value[SPARE] = old;
}

static bool multiply(struct shard *shard, const struct matrix *m, enum value in,
                     uint32_t n, float *out, struct fault *fault)
{
    const float *x = shard->value[in];

    if (m->format->lower && shard->in_q8 != x) {
        if (!op_quantize(shard->gpu, x, m->columns, n, shard->q8, fault))
            return false;
        shard->in_q8 = x;
    }
    return op_product(shard->gpu, m, x, shard->q8, n, out, fault);
}

/* The stream plus what is to be added to it, and the norm of that. */
static bool add_norm(const struct sizes *s, struct shard *shard,
                     const struct matrix *weight, uint32_t n,
                     struct fault *fault)
{
    float *const *value = shard->value;

    if (!shard->pending)
        return op_norm(shard->gpu, value[STREAM], weight->data, n, s->width,
                       s->eps, value[NORMED], fault);
    shard->pending = false;
    return op_add_norm(shard->gpu, value[STREAM], value[RESULT], weight->data,
                       n, s->width, s->eps, value[NORMED], fault);
}

/* The same without a norm. */
static bool add_pending(const struct sizes *s, struct shard *shard, size_t n,
                        struct fault *fault)
{
    float *stream = shard->value[STREAM];

    if (!shard->pending)
        return true;
    shard->pending = false;
    return op_add(shard->gpu, stream, shard->value[RESULT], n * s->width,
                  stream, fault);
}

static bool rotate(const struct model *model, const struct shard *shard,
                   bool window, enum value value, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const struct rotation r = {
        .positions = positions_of(model, shard),
        .factors = shard->factors,
        .base = window ? s->window_base : s->base,
        .stretch = window ? 1 : s->stretch,
        .pairs = s->arch->pairs,
    };

    return op_rotate(shard->gpu, shard->value[value], &r,
                     (uint32_t)model->ntokens,
                     value == QUERY ? s->heads : s->kv_heads, s->head, fault);
}

/* K and V of the run's tokens join those of their sequences; then each token
 * sees what is before it. */
static bool attend(struct model *model, uint32_t number, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const struct layer *layer = &model->layers[number];
    struct shard *shard = &model->shards[layer->shard];
    const bool window = has_window(s, number);
    const size_t row = (size_t)s->kv_heads * s->head;
    const size_t width = (size_t)s->heads * s->head;
    size_t masked = 0;

    for (size_t i = 0; i < model->ngroups; i++) {
        const struct group *g = &model->groups[i];
        const size_t start = (size_t)g->sequence * model->options.context;
        const size_t to = (start + g->position) * row, from = g->first * row;
        /* one token sees all that it is given */
        const uint32_t skipped = g->n == 1 && window && keys_of(g) > s->window
                                     ? keys_of(g) - s->window
                                     : 0;
        const struct attention a = {
            .q = shard->value[QUERY] + g->first * width,
            .k = layer->keys + (start + skipped) * row,
            .v = layer->values + (start + skipped) * row,
            .out = shard->value[MIXED] + g->first * width,
            .scores = shard->scores,
            .mask = g->n > 1 ? shard->masks[window] + masked : NULL,
            .info = shard->views + VIEW_MASKS + i * MASK_VIEW,
            .n = g->n,
            .keys = keys_of(g) - skipped,
            .heads = s->heads,
            .kv_heads = s->kv_heads,
            .head = s->head,
            .scale = s->scale,
        };

        masked += g->n > 1 ? (size_t)g->n * keys_of(g) : 0;
        if (!op_copy(shard->gpu, shard->value[KEY] + from, layer->keys + to,
                     g->n * row, fault) ||
            !op_copy(shard->gpu, shard->value[VALUE] + from, layer->values + to,
                     g->n * row, fault) ||
            !op_attend(shard->gpu, &a, fault))
            return false;
    }
    return true;
}

static const size_t *bias_view(const struct shard *shard, enum value value)
{
    const size_t number = value == QUERY ? 0 : value == RESULT ? 2 : 1;

    return shard->views + VIEW_BIAS + 6 * number;
}

static bool run_step(struct model *model, uint32_t number, size_t index,
                     struct fault *fault)
{
    const struct step *step = &layer_steps[index];
    const struct sizes *s = &model->sizes;
    const struct layer *layer = &model->layers[number];
    const struct matrix *m = &layer->weights[index];
    struct shard *shard = &model->shards[layer->shard];
    struct gpu *gpu = shard->gpu;
    const uint32_t n = (uint32_t)model->ntokens;
    const uint32_t width = width_of(s, step->out);
    const uint32_t heads = step->out == QUERY ? s->heads : s->kv_heads;
    /* what is written is not what it was */
    const bool in_place = step->in == step->out;
    float *in = shard->value[step->in];
    float *out = shard->value[in_place ? SPARE : step->out];
    bool good = false;

    switch (step->op) {
    case ADD_NORM:
        good = add_norm(s, shard, m, n, fault);
        break;
    case NORM:
        good = op_norm(gpu, in, m->data, n, width, s->eps, out, fault);
        break;
    case NORM_HEADS:
        good =
            op_norm(gpu, in, m->data, n * heads, s->head, s->eps, out, fault);
        break;
    case PRODUCT:
        good = multiply(shard, m, step->in, n, out, fault);
        break;
    case BIAS:
        return op_add_row(gpu, in, m->data, n, width,
                          bias_view(shard, step->out), fault);
    case ROTATE:
        return rotate(model, shard, has_window(s, number), step->out, fault);
    case ATTEND:
        good = attend(model, number, fault);
        break;
    case GATED:
        good = op_gate(gpu, s->arch->gelu, out, in, (size_t)n * width, fault);
        break;
    }
    if (shard->in_q8 == out)
        shard->in_q8 = NULL;
    if (in_place)
        swap_spare(shard, step->out);
    shard->pending = shard->pending || step->out == RESULT;
    return good;
}

/* The stream goes to the next device. */
static bool hand_over(struct model *model, size_t from, struct fault *fault)
{
    struct shard *a = &model->shards[from], *b = &model->shards[from + 1];

    return add_pending(&model->sizes, a, model->ntokens, fault) &&
           gpu_wait(a->gpu, fault) && gpu_wait(b->gpu, fault) &&
           driver_copy_peer(gpu_device(b->gpu), b->value[STREAM],
                            gpu_device(a->gpu), a->value[STREAM],
                            model->ntokens * model->sizes.width * sizeof(float),
                            fault);
}

static bool run_output(struct model *model, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    struct shard *shard = &model->shards[model->nshards - 1];
    const struct matrix stream = {tensor_format_of(0), shard->value[STREAM],
                                  (uint32_t)model->ntokens, s->width,
                                  (uint64_t)s->width * sizeof(float)};
    const uint32_t n = (uint32_t)model->nwanted;

    if (n == 0)
        return true;
    shard->in_q8 = NULL;
    return add_pending(s, shard, model->ntokens, fault) &&
           op_rows(shard->gpu, &stream, rows_of(model, shard), n,
                   shard->value[RESULT], fault) &&
           op_norm(shard->gpu, shard->value[RESULT], model->output_norm.data, n,
                   s->width, s->eps, shard->value[NORMED], fault) &&
           multiply(shard, &model->output, NORMED, n, model->logits, fault);
}

bool model_run(struct model *model, const struct model_token *tokens, size_t n,
               struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    struct shard *first = &model->shards[0];

    if (!find_groups(model, tokens, n, fault) ||
        !send_run(model, tokens, fault) ||
        !op_rows(first->gpu, &model->embeds, ids_of(model, first), (uint32_t)n,
                 first->value[STREAM], fault) ||
        (s->arch->scaled_embeds &&
         !op_scale(first->gpu, first->value[STREAM], n * s->width,
                   sqrtf((float)s->width), fault)))
        return false;
    for (uint32_t layer = 0; layer < s->layers; layer++) {
        const size_t shard = model->layers[layer].shard;

        if (layer > 0 && model->layers[layer - 1].shard != shard &&
            !hand_over(model, shard - 1, fault))
            return false;
        for (size_t step = 0; step < NSTEPS; step++)
            if ((!layer_steps[step].optional ||
                 model->layers[layer].weights[step].data) &&
                !run_step(model, layer, step, fault))
                return false;
    }
    return run_output(model, fault);
}

bool model_likeliest(struct model *model, uint32_t *ids, struct fault *fault)
{
    struct shard *shard = &model->shards[model->nshards - 1];
    const uint32_t n = (uint32_t)model->nwanted;

    return n == 0 ||
           (op_argmax(shard->gpu, model->logits, n, model->sizes.vocabulary,
                      shard->views + VIEW_ARGMAX, model->best, fault) &&
            gpu_read(shard->gpu, ids, model->best, n * sizeof(*ids), fault));
}

bool model_logits(struct model *model, size_t i, float *logits,
                  struct fault *fault)
{
    const size_t n = model->sizes.vocabulary;

    return gpu_read(model->shards[model->nshards - 1].gpu, logits,
                    model->logits + i * n, n * sizeof(*logits), fault);
}
