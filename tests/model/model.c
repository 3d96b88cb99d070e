/* model.c - a language model on one GPU, or its layers spread over several
 *
 * What a layer does is a table of steps below, the same for all architectures:
 * a step whose weights a model does not have is left out. Each step reads one
 * value and writes another; values are buffers of a device. ADD_NORM first adds
 * what it reads to the residual stream, unless that has been done.
 *
 * Where a run has one token, neighbouring steps of a kind are one launch, if
 * their values follow each other in memory, and their weights: products of the
 * same value, biases, rotations, what is kept of K and V.
 *
 * K and V of all tokens so far are kept per layer: a row for each token of the
 * context of each sequence.
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
    QUERY, /* with K and V behind it */
    KEY,
    VALUE,
    MIXED, /* attention's result */
    GATE,  /* with UP behind it */
    UP,
    RESULT, /* of attention or of the inner layer, back at the width */
    NVALUES
};

enum op {
    ADD_NORM,
    NORM,
    PRODUCT,
    BIAS,
    NORM_HEADS,
    ROTATE,
    KEEP,
    ATTEND,
    GATED
};

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

enum { NSTEPS = sizeof(layer_steps) / sizeof(layer_steps[0]) };

/* ---- the model ---- */

struct layer {
    struct matrix weights[NSTEPS]; /* data NULL: the step is left out */
    struct cache cache;            /* rows of [sequences, context] */
    bool window;                   /* whether it sees one only */
    size_t shard;
};

/* Tokens of one sequence in a run. */
struct group {
    size_t first; /* of the run's tokens */
    uint32_t n, sequence, position;
};

/* What a device is told of a run; in one piece, for each copy waits. */
struct inputs {
    size_t *views;    /* of biases, see op_add_row_info() */
    int64_t *rows;    /* [tokens] of the caches */
    uint32_t *ids;    /* [tokens] */
    int32_t *places;  /* [tokens]: positions */
    int32_t *tokens;  /* [groups + 1], see struct attention */
    int32_t *keys;    /* [groups + 1] */
    int32_t *pages;   /* [groups] */
    uint32_t *wanted; /* tokens whose answers are */
};

enum { NVIEWS = 3, VIEW = 6 };

/* A device's part of a model. */
struct shard {
    struct gpu *gpu;
    float *values;         /* all of them, and the spares */
    float *value[NVALUES]; /* of the run, see place_values() */
    float *spare[NVALUES]; /* swapped with what a step cannot write in place */
    void *q16, *mixed16;   /* attention's in f16 */
    void *q8;              /* a value as Q8_1 blocks */
    const float *in_q8;    /* which value that is; NULL: none */
    bool pending;          /* RESULT is to be added to STREAM */
    float *factors;        /* of rotations; or NULL */
    void *told;            /* inputs */
    struct inputs inputs;
    void *splits;               /* attention's workspace */
    kpk_attention_plan plan[2]; /* of layers that see all; that have a window */
};

/*
 * A run's launches, replayed by the next run of its kind: one more token for
 * each of as many sequences, all with answers, on one device. What else differs
 * between such runs is in device memory: tokens, places, lengths.
 */
struct recording {
    uint32_t tokens, keys, page; /* of the last run; see struct attention */
    enum { NEW, SEEN, RECORDED } state;
};

struct model {
    struct sizes sizes;
    struct model_options options;
    size_t nshards;
    struct shard shards[MODEL_MOST_DEVICES];
    struct layer *layers;
    struct matrix embeds;              /* on the first device */
    struct matrix output_norm, output; /* on the last */
    uint32_t *best;                    /* on the last: tokens that are next */
    void *work;                        /* on the last, of op_argmax() */
    float *logits;                     /* on the last, [answers, vocabulary] */
    /* of the run */
    struct group *groups;
    size_t ngroups, ntokens, nwanted;
    void *staging; /* what is copied to the devices */
    bool records;
    struct recording recording;
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

static bool is_wide(const struct gguf_tensor *t)
{
    return t->format->id == 1 || t->format->id == 30;
}

/* What it takes on a device, where F16 and BF16 become F32. */
static uint64_t device_nbytes(const struct gguf_tensor *t)
{
    return is_wide(t) ? 2 * t->nbytes : t->nbytes;
}

/* To device memory of device_nbytes(). */
static bool copy_tensor(struct loader *l, struct gpu *gpu,
                        const struct gguf_tensor *t, void *to, struct matrix *m)
{
    const size_t n = (size_t)m->rows * m->columns;
    void *data = to;
    bool good;

    m->format = is_wide(t) ? tensor_format_of(0) : t->format;
    m->data = to;
    m->row_nbytes = device_nbytes(t) / m->rows;
    if (!is_wide(t))
        return copy_bytes(l, gpu, to, t->data, t->nbytes);
    good = gpu_alloc(gpu, t->nbytes, "weights", &data, l->fault) &&
           copy_bytes(l, gpu, data, t->data, t->nbytes) &&
           op_widen(gpu, t->format->id == 30, data, n, to, l->fault) &&
           gpu_wait(gpu, l->fault);
    return good && gpu_free(gpu, data, l->fault);
}

/* A tensor that the model has, [rows, columns], rows 1: one of numbers; *out
 * is NULL if it is optional and not there. */
static bool find_tensor(struct loader *l, const char *name, uint32_t rows,
                        uint32_t columns, bool optional,
                        const struct gguf_tensor **out)
{
    const struct gguf *g = l->gguf;
    const struct gguf_tensor *t = gguf_find_tensor(g, name);

    *out = t;
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
    if (!op_takes(t->format) || (rows == 1 && t->format->elems > 1))
        return fail(l->fault,
                    "%s: tensor %s has type %s, for which there are no "
                    "kernels%s",
                    g->path, name, t->format->name,
                    rows == 1 ? " here: F32, F16 and BF16 can be used"
                              : ": requantize the model, to Q4_K or Q8_0 for "
                                "instance");
    l->used[t - g->tensors] = true;
    return true;
}

/* One that lies alone. */
static bool load(struct loader *l, size_t shard, const char *name,
                 uint32_t rows, uint32_t columns, struct matrix *out)
{
    struct gpu *gpu = l->model->shards[shard].gpu;
    const struct gguf_tensor *t;
    void *to;

    out->rows = rows;
    out->columns = columns;
    return find_tensor(l, name, rows, columns, false, &t) &&
           gpu_alloc(gpu, device_nbytes(t), "weights", &to, l->fault) &&
           copy_tensor(l, gpu, t, to, out);
}

/* A step's weights, and their sizes. */
static bool find_weights(struct loader *l, uint32_t layer, size_t step,
                         struct matrix *m, const struct gguf_tensor **out)
{
    const struct step *p = &layer_steps[step];
    const struct sizes *s = &l->model->sizes;
    char name[96];

    *out = NULL;
    if (!p->tensor)
        return true;
    m->rows = p->op == PRODUCT ? width_of(s, p->out) : 1;
    m->columns = p->op == PRODUCT      ? width_of(s, p->in)
                 : p->op == NORM_HEADS ? s->head
                                       : width_of(s, p->out);
    (void)snprintf(name, sizeof(name), "blk.%" PRIu32 ".%s", layer, p->tensor);
    return find_tensor(l, name, m->rows, m->columns, p->optional, out);
}

/* Whether two steps' weights may lie one behind the other, for a launch that
 * does both: see joined(). */
static bool are_neighbours(const struct gguf_tensor *const t[], size_t i)
{
    const struct step *a = &layer_steps[i], *b = a + 1;

    return i + 1 < NSTEPS && t[i] && t[i + 1] && a->op == b->op &&
           (a->op == BIAS || (a->op == PRODUCT && a->in == b->in)) &&
           t[i]->format == t[i + 1]->format && device_nbytes(t[i]) % 16 == 0;
}

static bool load_layer(struct loader *l, uint32_t number)
{
    struct layer *layer = &l->model->layers[number];
    struct gpu *gpu = l->model->shards[layer->shard].gpu;
    const struct gguf_tensor *t[NSTEPS];

    for (size_t i = 0; i < NSTEPS; i++)
        if (!find_weights(l, number, i, &layer->weights[i], &t[i]))
            return false;
    for (size_t i = 0, end; i < NSTEPS; i = end) {
        uint64_t nbytes = 0;
        void *to = NULL;

        for (end = i; end == i || are_neighbours(t, end - 1); end++)
            nbytes += t[end] ? device_nbytes(t[end]) : 0;
        if (nbytes && !gpu_alloc(gpu, nbytes, "weights", &to, l->fault))
            return false;
        for (uint8_t *at = to; i < end && t[i]; at += device_nbytes(t[i++]))
            if (!copy_tensor(l, gpu, t[i], at, &layer->weights[i]))
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

    if (!load(l, 0, "token_embd.weight", s->vocabulary, s->width,
              &model->embeds) ||
        !load(l, last, "output_norm.weight", 1, s->width, &model->output_norm))
        return false;
    for (uint32_t i = 0; i < s->layers; i++)
        if (!load_layer(l, i))
            return false;
    /* one matrix for both, where they are on one device */
    if (*output == 't' && last == 0) {
        model->output = model->embeds;
        return check_unused(l);
    }
    return load(l, last, output, s->vocabulary, s->width, &model->output) &&
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

/* Whether a step replaces the value by what it cannot write in place. */
static bool has_spare(enum value value)
{
    for (size_t i = 0; i < NSTEPS; i++)
        if (layer_steps[i].in == value && layer_steps[i].out == value &&
            (layer_steps[i].op == NORM || layer_steps[i].op == NORM_HEADS))
            return true;
    return false;
}

/* Numbers of a token's values, and of its spares. */
static uint64_t values_of(const struct sizes *s)
{
    uint64_t sum = 0;

    for (int v = 0; v < NVALUES; v++)
        sum += (1 + has_spare((enum value)v)) *
               (uint64_t)width_of(s, (enum value)v);
    return sum;
}

/* Values of n tokens lie one behind the other, spares behind all of them. */
static void place_values(const struct sizes *s, struct shard *shard, size_t n)
{
    float *at = shard->values;

    for (int v = 0; v < NVALUES; v++) {
        shard->value[v] = at;
        at += n * width_of(s, (enum value)v);
    }
    for (int v = 0; v < NVALUES; v++)
        if (has_spare((enum value)v)) {
            shard->spare[v] = at;
            at += n * width_of(s, (enum value)v);
        }
}

/* Of n tokens, each a group at most. */
static size_t inputs_nbytes(size_t n)
{
    return NVIEWS * VIEW * sizeof(size_t) + n * sizeof(int64_t) +
           (6 * n + 2) * sizeof(int32_t);
}

static struct inputs place_inputs(void *base, size_t n, size_t groups)
{
    struct inputs in;

    in.views = base;
    in.rows = (int64_t *)(void *)(in.views + NVIEWS * VIEW);
    in.ids = (uint32_t *)(void *)(in.rows + n);
    in.places = (int32_t *)(void *)(in.ids + n);
    in.tokens = in.places + n;
    in.keys = in.tokens + groups + 1;
    in.pages = in.keys + groups + 1;
    in.wanted = (uint32_t *)(void *)(in.pages + groups);
    return in;
}

/* Enough to split the keys of a token of each sequence. */
static uint64_t splits_nbytes(const struct model *model)
{
    return op_attend_workspace(model->options.sequences, model->sizes.heads,
                               model->sizes.head);
}

/* What a device needs beside weights, K and V. */
static bool make_buffers(struct model *model, struct shard *shard,
                         struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const uint64_t batch = model->options.batch;
    const uint64_t halves = 2 * batch * s->heads * s->head;
    const struct {
        void *to;
        uint64_t nbytes;
    } rows[] = {
        {&shard->values, batch * values_of(s) * sizeof(float)},
        {&shard->q16, halves},
        {&shard->mixed16, halves},
        {&shard->q8, op_quantized_nbytes(widest(s), (uint32_t)batch)},
        {&shard->told, inputs_nbytes(batch)},
        {&shard->splits, splits_nbytes(model)},
        {&shard->factors, s->factors ? s->head / 2 * sizeof(float) : 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *data = NULL;

        if (rows[i].nbytes && !gpu_alloc(shard->gpu, rows[i].nbytes,
                                         "the values of a run", &data, fault))
            return false;
        memcpy(rows[i].to, &data, sizeof(data));
    }
    return !s->factors || gpu_write(shard->gpu, shard->factors, s->factors,
                                    s->head / 2 * sizeof(float), fault);
}

static bool make_caches(struct model *model, struct fault *fault)
{
    const struct model_options *o = &model->options;

    for (uint32_t i = 0; i < model->sizes.layers; i++) {
        struct layer *layer = &model->layers[i];

        layer->cache.rows = (uint64_t)o->sequences * o->context;
        layer->cache.kv_heads = model->sizes.kv_heads;
        layer->cache.head = model->sizes.head;
        layer->cache.type = o->cache;
        if (!gpu_alloc(model->shards[layer->shard].gpu,
                       op_cache_nbytes(&layer->cache), "K and V",
                       &layer->cache.data, fault))
            return false;
    }
    return true;
}

static bool make_ends(struct model *model, struct fault *fault)
{
    static const uint64_t zeros[2];
    const uint64_t batch = model->options.batch;
    const uint64_t answers = model->options.answers;
    struct gpu *last = model->shards[model->nshards - 1].gpu;
    const char *what = "a run's tokens";

    model->groups = calloc(batch, sizeof(*model->groups));
    model->staging = malloc(inputs_nbytes(batch));
    if (!model->groups || !model->staging)
        return fail(fault, "no memory for %s", what);
    return gpu_alloc(last, answers * sizeof(uint32_t), what,
                     (void **)&model->best, fault) &&
           gpu_alloc(last, sizeof(zeros), what, &model->work, fault) &&
           gpu_write(last, model->work, zeros, sizeof(zeros), fault) &&
           gpu_alloc(last, answers * model->sizes.vocabulary * sizeof(float),
                     "logits", (void **)&model->logits, fault);
}

/* Whether all devices together have room at all, before anything is copied. In
 * f64, for the options may ask for more than 64 bits of bytes. */
static bool check_memory(const struct gguf *gguf, const struct model *model,
                         struct fault *fault)
{
    const struct model_options *o = &model->options;
    const struct cache row = {.type = o->cache,
                              .rows = 1,
                              .kv_heads = model->sizes.kv_heads,
                              .head = model->sizes.head};
    const double mib = 1 << 20;
    double room = 0;
    double need = (double)op_cache_nbytes(&row) * model->sizes.layers;

    need *= (double)o->sequences * o->context;
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
    for (uint32_t i = 0; i < model->sizes.layers; i++) {
        model->layers[i].shard =
            (size_t)i * model->nshards / model->sizes.layers;
        model->layers[i].window = has_window(&model->sizes, i);
    }
    if (!check_memory(gguf, model, fault) ||
        !load_weights(gguf, model, fault) || !make_caches(model, fault) ||
        !make_ends(model, fault))
        return false;
    for (size_t i = 0; i < model->nshards; i++)
        if (!make_buffers(model, &model->shards[i], fault))
            return false;
    model->records = model->nshards == 1 && !o->unrecorded &&
                     gpu_can_record(model->shards[0].gpu);
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

/* In staging; where devices have them depends on the same two counts. */
static size_t gather_inputs(struct model *model,
                            const struct model_token *tokens)
{
    static const enum value biased[NVIEWS] = {QUERY, KEY, RESULT};
    const struct sizes *s = &model->sizes;
    const size_t n = model->ntokens;
    struct inputs in = place_inputs(model->staging, n, model->ngroups);

    for (size_t i = 0; i < NVIEWS; i++)
        op_add_row_info((uint32_t)n, width_of(s, biased[i]),
                        in.views + VIEW * i);
    in.tokens[0] = in.keys[0] = 0;
    for (size_t i = 0; i < model->ngroups; i++) {
        const struct group *g = &model->groups[i];

        in.tokens[i + 1] = (int32_t)(g->first + g->n);
        in.keys[i + 1] = in.keys[i] + (int32_t)keys_of(g);
        in.pages[i] = (int32_t)g->sequence;
    }
    for (size_t i = 0; i < n; i++) {
        in.ids[i] = tokens[i].id;
        in.places[i] = (int32_t)tokens[i].position;
        in.rows[i] = (int64_t)tokens[i].sequence * model->options.context +
                     tokens[i].position;
        if (tokens[i].wanted)
            *in.wanted++ = (uint32_t)i;
    }
    return (size_t)((char *)in.wanted - (char *)model->staging);
}

/* Of layers that have a window, or of those that see all. */
static struct attention attention_of(const struct model *model,
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
        .workspace_nbytes = splits_nbytes(model),
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

static bool send_run(struct model *model, const struct model_token *tokens,
                     struct fault *fault)
{
    const size_t nbytes = gather_inputs(model, tokens);

    for (size_t i = 0; i < model->nshards; i++) {
        struct shard *shard = &model->shards[i];

        place_values(&model->sizes, shard, model->ntokens);
        shard->inputs =
            place_inputs(shard->told, model->ntokens, model->ngroups);
        shard->in_q8 = NULL;
        shard->pending = false;
        if (!gpu_write(shard->gpu, shard->told, model->staging, nbytes, fault))
            return false;
        for (int w = 0; w < (model->sizes.window ? 2 : 1); w++) {
            const struct attention a = attention_of(model, shard, w);

            if (!op_attend_plan(shard->gpu, &a, model->options.cache,
                                &shard->plan[w], fault))
                return false;
        }
    }
    return true;
}

/* ---- a run: the steps ---- */

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

static bool multiply(struct shard *shard, const struct matrix *m, enum value in,
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

/* Whether all that reads a norm multiplies it with matrices that its blocks
 * will do for. */
static bool only_blocks(const struct layer *layer, size_t norm, uint32_t n)
{
    for (size_t i = norm + 1; i < NSTEPS && layer_steps[i].op != ADD_NORM; i++)
        if (layer_steps[i].in == NORMED &&
            (layer->weights[i].format->elems == 1 ||
             op_takes_sums(layer->weights[i].format, n)))
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
    if (!only_blocks(layer, step, n))
        return op_add_norm(shard->gpu, value[STREAM], value[RESULT], weight, n,
                           s->width, s->eps, value[NORMED], fault);
    shard->in_q8 = value[NORMED];
    return op_add_norm_quantize(shard->gpu, value[STREAM], value[RESULT],
                                weight, n, s->width, s->eps, shard->q8, fault);
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

static bool run_layer(struct model *model, struct layer *layer,
                      struct fault *fault)
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
           op_rows(shard->gpu, &stream, shard->inputs.wanted, n,
                   shard->value[RESULT], fault) &&
           op_norm(shard->gpu, shard->value[RESULT], model->output_norm.data, n,
                   s->width, s->eps, shard->value[NORMED], fault) &&
           multiply(shard, &model->output, NORMED, n, model->logits, fault);
}

static bool launch_all(struct model *model, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const uint32_t n = (uint32_t)model->ntokens;
    struct shard *first = &model->shards[0];

    if (!op_rows(first->gpu, &model->embeds, first->inputs.ids, n,
                 first->value[STREAM], fault) ||
        (s->arch->scaled_embeds &&
         !op_scale(first->gpu, first->value[STREAM], (size_t)n * s->width,
                   sqrtf((float)s->width), fault)))
        return false;
    for (uint32_t layer = 0; layer < s->layers; layer++) {
        const size_t shard = model->layers[layer].shard;

        if (layer > 0 && model->layers[layer - 1].shard != shard &&
            !hand_over(model, shard - 1, fault))
            return false;
        if (!run_layer(model, &model->layers[layer], fault))
            return false;
    }
    return run_output(model, fault);
}

/* Whether the run's launches are like the last one's, and recorded. */
static void look_back(struct model *model)
{
    const struct attention a = attention_of(model, &model->shards[0], false);
    struct recording *last = &model->recording;
    const struct recording now = {a.ntokens, a.most_keys, a.page, NEW};

    if (!model->records || a.most_tokens > 1 || model->nwanted < a.ntokens ||
        now.tokens != last->tokens || now.keys != last->keys ||
        now.page != last->page)
        *last = now;
}

bool model_run(struct model *model, const struct model_token *tokens, size_t n,
               struct fault *fault)
{
    struct recording *recording = &model->recording;
    struct gpu *gpu = model->shards[0].gpu;
    bool good;

    if (!find_groups(model, tokens, n, fault) ||
        !send_run(model, tokens, fault))
        return false;
    look_back(model);
    if (recording->state == RECORDED)
        return gpu_replay(gpu, fault);
    /* the first run of a kind loads its kernels, the second is recorded */
    if (recording->state == NEW || !gpu_record(gpu)) {
        recording->state = model->records ? SEEN : NEW;
        return launch_all(model, fault);
    }
    good = launch_all(model, fault);
    if (gpu_recorded(gpu) && good) {
        recording->state = RECORDED;
        return gpu_replay(gpu, fault);
    }
    model->records = false;
    recording->state = NEW;
    return good && send_run(model, tokens, fault) && launch_all(model, fault);
}

bool model_replays(const struct model *model)
{
    return model->recording.state == RECORDED;
}

bool model_likeliest(struct model *model, uint32_t *ids, struct fault *fault)
{
    struct gpu *gpu = model->shards[model->nshards - 1].gpu;
    const size_t n = model->nwanted, width = model->sizes.vocabulary;

    for (size_t i = 0; i < n; i++)
        if (!op_argmax(gpu, model->logits + i * width, (uint32_t)width,
                       model->work, model->best + i, fault))
            return false;
    return n == 0 || gpu_read(gpu, ids, model->best, n * sizeof(*ids), fault);
}

bool model_choose(struct model *model, struct sampler *sampler, uint32_t *ids,
                  struct fault *fault)
{
    struct gpu *gpu = model->shards[model->nshards - 1].gpu;
    const size_t n = model->nwanted, width = model->sizes.vocabulary;

    if (sampler->temperature <= 0)
        return model_likeliest(model, ids, fault);
    for (size_t i = 0; i < n; i++)
        if (!op_sample(gpu, model->logits + i * width, (uint32_t)width,
                       sampler->top_k, sampler->top_p, sampler->temperature,
                       sampler->seed, sampler->drawn++, model->best + i, fault))
            return false;
    if (n > 0 && !gpu_read(gpu, ids, model->best, n * sizeof(*ids), fault))
        return false;
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= width)
            return fail(fault, "the model's logits are no numbers");
    return true;
}

bool model_logits(struct model *model, size_t i, float *logits,
                  struct fault *fault)
{
    const size_t n = model->sizes.vocabulary;

    return gpu_read(model->shards[model->nshards - 1].gpu, logits,
                    model->logits + i * n, n * sizeof(*logits), fault);
}
