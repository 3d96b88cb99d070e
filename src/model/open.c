/* open.c - opens a model: its devices, their parts of it, and their memory */
#include "open.h"
#include "layers.h"
#include "meeting.h"
#include "weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const split_names[NSPLIT_TYPES] = {
    [SPLIT_LAYERS] = "layer", [SPLIT_TENSORS] = "tensor"};

/* ---- buffers ---- */

static uint32_t widest(const struct sizes *s)
{
    uint32_t most = 0;

    for (int v = 0; v < NVALUES; v++)
        if (width_of(s, (enum value)v) > most)
            most = width_of(s, (enum value)v);
    return most;
}

/* The sum of all values' widths: numbers for a token. */
static uint64_t values_of(const struct sizes *s)
{
    uint64_t sum = 0;

    for (int v = 0; v < NVALUES; v++)
        sum += width_of(s, (enum value)v);
    return sum;
}

/* Allocates a device's buffers besides weights, K and V. */
static bool make_buffers(struct model *model, struct shard *shard,
                         struct fault *fault)
{
    const struct sizes *s = &shard->slice.sizes;
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
        {&shard->splits, shard->splits_nbytes},
        {&shard->turns[0], batch * s->head * sizeof(float)},
        {&shard->turns[1], s->window ? batch * s->head * sizeof(float) : 0},
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

    for (size_t i = 0; i < model->sizes.layers * model->parts; i++) {
        struct layer *layer = &model->layers[i];
        const struct shard *shard = &model->shards[layer->shard];

        layer->cache.rows = (uint64_t)o->sequences * o->context;
        layer->cache.kv_heads = shard->slice.sizes.kv_heads;
        layer->cache.head = model->sizes.head;
        layer->cache.type = o->cache;
        if (!gpu_alloc(shard->gpu, op_cache_nbytes(&layer->cache), "K and V",
                       &layer->cache.data, fault))
            return false;
    }
    return true;
}

/* Allocates the other buffers of a device that ends runs. */
static bool make_end(struct model *model, struct shard *shard,
                     struct fault *fault)
{
    const uint64_t batch = model->options.batch;
    const uint64_t answers = model->options.answers;
    const uint64_t work_nbytes = answers * 2 * sizeof(uint64_t);
    const uint64_t all = model->sizes.vocabulary;
    const uint64_t own = shard->slice.sizes.vocabulary;
    struct gpu *gpu = shard->gpu;
    const char *what = "a run's tokens";
    void *zeros = calloc(1, work_nbytes);
    bool good = zeros || fail(fault, "no memory for %s", what);

    good = good &&
           gpu_alloc(gpu, answers * sizeof(uint32_t), what,
                     (void **)&shard->best, fault) &&
           gpu_alloc(gpu, work_nbytes, what, &shard->work, fault) &&
           gpu_write(gpu, shard->work, zeros, work_nbytes, fault) &&
           gpu_alloc(gpu, answers * all * sizeof(float), "logits",
                     (void **)&shard->logits, fault) &&
           gpu_alloc(gpu, inputs_words_up(batch) * sizeof(uint32_t), what,
                     (void **)&shard->up, fault);
    free(zeros);
    shard->own_logits = shard->logits;
    return good && (own == all ||
                    gpu_alloc(gpu, answers * own * sizeof(float), "logits",
                              (void **)&shard->own_logits, fault));
}

static bool make_ends(struct model *model, struct fault *fault)
{
    const uint64_t batch = model->options.batch;

    model->groups = calloc(batch, sizeof(*model->groups));
    model->staging = malloc(inputs_nbytes(batch));
    model->recording.next = calloc(batch, sizeof(*model->recording.next));
    if (!model->groups || !model->staging || !model->recording.next)
        return fail(fault, "no memory for a run's tokens");
    for (size_t i = 0; i < model->nshards; i++)
        if (ends_run(model, i) && !make_end(model, &model->shards[i], fault))
            return false;
    return true;
}

/* Registers buffers of sums and logits, which devices of a team read from each
 * other. */
static bool share_buffers(struct model *model, struct fault *fault)
{
    const struct shard *any = &model->shards[0];
    const uint64_t batch = model->options.batch;
    void *values[MODEL_MOST_DEVICES], *logits[MODEL_MOST_DEVICES];

    for (size_t i = 0; i < model->nshards; i++) {
        values[i] = model->shards[i].values;
        logits[i] = model->shards[i].own_logits;
    }
    return team_share(model->team, values,
                      batch * NWIDE * model->sizes.width * sizeof(float),
                      fault) &&
           team_share(model->team, logits,
                      (uint64_t)model->options.answers *
                          any->slice.sizes.vocabulary * sizeof(float),
                      fault);
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
    if (o->ranks)
        need /= o->ranks; /* other processes hold the other ranks' parts */
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

/* ---- devices ---- */

/* Options of devices that go together. */
static bool check_options(const struct model *model, struct fault *fault)
{
    const struct model_options *o = &model->options;

    if (o->context == 0 || o->sequences == 0 || o->batch == 0)
        return fail(fault, "context, sequences and batch are 1 at least");
    if (o->ranks && (o->split != SPLIT_TENSORS || !o->meet))
        return fail(fault, "--rank is for --split tensor, and wants --meet");
    if (o->ranks && (o->ndevices != 1 || o->rank >= o->ranks || o->ranks < 2))
        return fail(fault,
                    "--rank %" PRIu32 "/%" PRIu32 " with %zu devices: ranks "
                    "are two at least, counted from 0, and have a device each",
                    o->rank, o->ranks, o->ndevices);
    if (o->meet && !o->ranks)
        return fail(fault, "--meet %s: it wants --rank", o->meet);
    if (o->ndevices == 0 || o->ndevices > MODEL_MOST_DEVICES)
        return fail(fault, "%zu devices: 1 to %d are possible", o->ndevices,
                    MODEL_MOST_DEVICES);
    if (o->split == SPLIT_LAYERS && o->ndevices > model->sizes.layers)
        return fail(fault,
                    "%" PRIu32 " layers cannot be split over %zu devices",
                    model->sizes.layers, o->ndevices);
    return true;
}

/* Devices that share the tensors, here or in all processes. */
static uint32_t ranks_of(const struct model_options *o)
{
    return o->ranks ? o->ranks : (uint32_t)o->ndevices;
}

/* Computes each device's slice of the model and its layers. */
static bool make_slices(const struct gguf *gguf, struct model *model,
                        struct fault *fault)
{
    const struct model_options *o = &model->options;
    const uint32_t ranks = ranks_of(o);
    const bool tensors = o->split == SPLIT_TENSORS && ranks > 1;

    model->parts = tensors ? o->ndevices : 1;
    model->layers =
        calloc(model->sizes.layers * model->parts, sizeof(*model->layers));
    if (!model->layers)
        return fail(fault, "no memory for %" PRIu32 " layers",
                    model->sizes.layers);
    for (size_t i = 0; i < o->ndevices; i++) {
        struct shard *shard = &model->shards[i];
        struct sizes *s = &shard->slice.sizes;

        shard->place = i;
        shard->rank = tensors ? o->rank + (uint32_t)i : 0;
        shard->slice = slice_whole(&model->sizes);
        if (tensors && !slice_of(gguf, &model->sizes, ranks, shard->rank,
                                 &shard->slice, fault))
            return false;
        /* enough to split the keys of a token of each sequence */
        shard->splits_nbytes =
            op_attend_workspace(o->sequences, s->heads, s->head);
    }
    for (uint32_t i = 0; i < model->sizes.layers * model->parts; i++) {
        struct layer *layer = &model->layers[i];

        layer->number = i / (uint32_t)model->parts;
        layer->window = has_window(&model->sizes, layer->number);
        layer->shard = tensors ? i % model->parts
                               : (size_t)i * o->ndevices / model->sizes.layers;
    }
    return true;
}

/* A device's data for the devices of other processes. */
struct told {
    char target[sizeof(((kpk_device *)NULL)->target)];
    uint64_t alike;
};

/* All have the same bits only if all run the same code with the same input. */
static bool check_alike(const struct model *model, struct fault *fault)
{
    struct told all[MODEL_MOST_DEVICES];
    size_t n = model->nshards;

    for (size_t i = 0; i < n; i++) {
        memcpy(all[i].target, gpu_device(model->shards[i].gpu)->target,
               sizeof(all[i].target));
        all[i].alike = model->options.alike;
    }
    if (model->meeting) {
        const struct told own = all[0];

        n = model->options.ranks;
        if (meeting_gather(model->meeting, &own, all, sizeof(own)) != 0)
            return fail(fault, "--meet %s: another process has ended",
                        model->options.meet);
    }
    for (size_t i = 0; i < n; i++) {
        all[i].target[sizeof(all[i].target) - 1] = 0;
        if (strcmp(all[i].target, all[0].target) != 0)
            return fail(fault,
                        "--split tensor: GPUs 0 and %zu of it are %s and %s; "
                        "one kind is wanted",
                        i, all[0].target, all[i].target);
        if (all[i].alike != all[0].alike)
            return fail(fault,
                        "--meet %s: ranks 0 and %zu have different options, "
                        "prompts or files",
                        model->options.meet, i);
    }
    return true;
}

/* Devices that share the tensors become a team. */
static bool make_team(struct model *model, struct fault *fault)
{
    const struct model_options *o = &model->options;
    const struct team_options team = {
        .ranks = ranks_of(o),
        .rank = o->rank,
        .meeting = model->meeting,
        .limit_ms = o->limit_ms,
        .small_nbytes = o->small_nbytes,
        .columns = model->sizes.width,
        .most_nbytes =
            (uint64_t)o->batch * (model->sizes.width + 32) * sizeof(float),
    };
    struct gpu *gpus[MODEL_MOST_DEVICES];

    if (o->split != SPLIT_TENSORS || team.ranks < 2)
        return true;
    for (size_t i = 0; i < model->nshards; i++) {
        gpus[i] = model->shards[i].gpu;
        if (!gpu_can_record(gpus[i]))
            return fail(fault, "--split tensor: no stream: %s",
                        kpk_error_message());
    }
    if (!check_alike(model, fault) ||
        !team_open(gpus, model->nshards, &team, &model->team, fault))
        return false;
    for (size_t i = 0; i < model->nshards; i++)
        model->shards[i].team = model->team;
    return true;
}

/* Whether launches can be recorded on all devices that do whole runs. */
static bool can_record(const struct model *model)
{
    for (size_t i = 0; i < model->nshards; i++)
        if (model->options.unrecorded || !begins_run(model, i) ||
            !ends_run(model, i) || !gpu_can_record(model->shards[i].gpu))
            return false;
    return true;
}

static bool open_model(const struct gguf *gguf, struct model *model,
                       struct fault *fault)
{
    const struct model_options *o = &model->options;

    if (!sizes_read(gguf, &model->sizes, fault) ||
        !check_options(model, fault) || !make_slices(gguf, model, fault))
        return false;
    /* before a driver starts threads, because it sets the process's umask */
    if (o->ranks &&
        !meeting_open(o->meet, o->rank, o->ranks, &model->meeting, fault))
        return false;
    for (size_t i = 0; i < o->ndevices; i++, model->nshards++)
        if (!gpu_open(o->devices[i], &model->shards[i].gpu, fault))
            return false;
    if (!check_memory(gguf, model, fault) || !make_team(model, fault) ||
        !load_weights(gguf, model, fault) || !make_caches(model, fault) ||
        !make_ends(model, fault))
        return false;
    for (size_t i = 0; i < model->nshards; i++)
        if (!make_buffers(model, &model->shards[i], fault))
            return false;
    model->records = can_record(model);
    return !model->team || share_buffers(model, fault);
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
    team_close(model->team);
    meeting_close(model->meeting);
    for (size_t i = 0; i < model->nshards; i++)
        gpu_close(model->shards[i].gpu);
    free(model->layers);
    free(model->groups);
    free(model->staging);
    free(model->recording.next);
    free(model);
}
