/* model.c - a language model on one GPU, or its layers spread over several
 *
 * K and V of all tokens so far are kept per layer: a row for each token of the
 * context of each sequence.
 */
#include "model.h"
#include "layers.h"
#include "weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static uint32_t widest(const struct sizes *s)
{
    uint32_t most = 0;

    for (int v = 0; v < NVALUES; v++)
        if (width_of(s, (enum value)v) > most)
            most = width_of(s, (enum value)v);
    return most;
}

/* ---- buffers ---- */

/* Numbers of a token's values. */
static uint64_t values_of(const struct sizes *s)
{
    uint64_t sum = 0;

    for (int v = 0; v < NVALUES; v++)
        sum += width_of(s, (enum value)v);
    return sum;
}

/* Values of n tokens lie one behind the other; of those that lie side by side
 * the layers know more. */
static void place_values(const struct sizes *s, struct shard *shard, size_t n)
{
    float *at = shard->values;

    for (int v = 0; v < NVALUES; v++) {
        shard->value[v] = at;
        at += n * width_of(s, (enum value)v);
    }
    shard->spare = at;
}

/* Size of the inputs for n tokens in up to n groups. */
static size_t inputs_nbytes(size_t n)
{
    return VIEW * sizeof(size_t) + n * sizeof(int64_t) +
           (6 * n + 2) * sizeof(int32_t);
}

/* Words of a run's inputs from `rows` to `keys`, which op_count_up() moves on
 * to the next token. */
static size_t words_up(size_t n)
{
    return 2 * n + n + n + 2 * (n + 1); /* rows, ids, places, tokens, keys */
}

static struct inputs place_inputs(void *base, size_t n, size_t groups)
{
    struct inputs in;

    in.view = base;
    in.rows = (int64_t *)(void *)(in.view + VIEW);
    in.ids = (uint32_t *)(void *)(in.rows + n);
    in.places = (int32_t *)(void *)(in.ids + n);
    in.tokens = in.places + n;
    in.keys = in.tokens + groups + 1;
    in.pages = in.keys + groups + 1;
    in.wanted = (uint32_t *)(void *)(in.pages + groups);
    return in;
}

/* Allocates a device's buffers besides weights, K and V. */
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
        {&shard->values, batch * (values_of(s) + s->width) * sizeof(float)},
        {&shard->q16, halves},
        {&shard->mixed16, halves},
        {&shard->q8, op_quantized_nbytes(widest(s), (uint32_t)batch)},
        {&shard->told, inputs_nbytes(batch)},
        {&shard->splits, model->splits_nbytes},
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
    const uint64_t batch = model->options.batch;
    const uint64_t answers = model->options.answers;
    const uint64_t work_nbytes = answers * 2 * sizeof(uint64_t);
    struct gpu *last = model->shards[model->nshards - 1].gpu;
    const char *what = "a run's tokens";
    void *zeros = calloc(1, work_nbytes);
    bool good;

    model->groups = calloc(batch, sizeof(*model->groups));
    model->staging = malloc(inputs_nbytes(batch));
    model->recording.next = calloc(batch, sizeof(*model->recording.next));
    good =
        (model->groups && model->staging && model->recording.next && zeros) ||
        fail(fault, "no memory for %s", what);
    good = good &&
           gpu_alloc(last, answers * sizeof(uint32_t), what,
                     (void **)&model->best, fault) &&
           gpu_alloc(last, work_nbytes, what, &model->work, fault) &&
           gpu_write(last, model->work, zeros, work_nbytes, fault) &&
           gpu_alloc(last, answers * model->sizes.vocabulary * sizeof(float),
                     "logits", (void **)&model->logits, fault) &&
           gpu_alloc(last, words_up(batch) * sizeof(uint32_t), what,
                     (void **)&model->recording.up, fault);
    free(zeros);
    return good;
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
    /* enough to split the keys of a token of each sequence */
    model->splits_nbytes = op_attend_workspace(o->sequences, model->sizes.heads,
                                               model->sizes.head);
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
    free(model->recording.next);
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

/* In staging; where devices have them depends on the same two counts. */
static size_t gather_inputs(struct model *model,
                            const struct model_token *tokens)
{
    const struct sizes *s = &model->sizes;
    const size_t n = model->ntokens;
    struct inputs in = place_inputs(model->staging, n, model->ngroups);

    op_add_row_info((uint32_t)n, s->width, in.view);
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
        shard->post = NULL;
        if (!gpu_write(shard->gpu, shard->told, model->staging, nbytes, fault))
            return false;
    }
    return true;
}

/* How attention is launched; a recording has that. */
static bool plan_run(struct model *model, struct fault *fault)
{
    for (size_t i = 0; i < model->nshards; i++) {
        struct shard *shard = &model->shards[i];

        for (int w = 0; w < (model->sizes.window ? 2 : 1); w++) {
            const struct attention a = attention_of(model, shard, w);

            if (!op_attend_plan(shard->gpu, &a, model->options.cache,
                                &shard->plan[w], fault))
                return false;
        }
    }
    return true;
}

/* ---- a run ---- */

/* The stream goes to the next device. */
static bool hand_over(struct model *model, size_t from, struct fault *fault)
{
    struct shard *a = &model->shards[from], *b = &model->shards[from + 1];

    return add_pending(&model->sizes, a, (uint32_t)model->ntokens, fault) &&
           gpu_wait(a->gpu, fault) && gpu_wait(b->gpu, fault) &&
           gpu_copy(b->gpu, b->value[STREAM], a->gpu, a->value[STREAM],
                    model->ntokens * model->sizes.width * sizeof(float), fault);
}

static bool run_output(struct model *model, struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    struct shard *shard = &model->shards[model->nshards - 1];
    const struct matrix stream = {tensor_format_of(0), shard->value[STREAM],
                                  (uint32_t)model->ntokens, s->width,
                                  (uint64_t)s->width * sizeof(float)};
    const uint32_t n = (uint32_t)model->nwanted;

    const float *weight = model->output_norm.data;

    if (n == 0)
        return true;
    /* norm all tokens in place, or gather the wanted ones first */
    if (n == model->ntokens &&
        !norm_stream(s, shard, weight, n, model->output.format->elems > 1,
                     fault))
        return false;
    if (n < model->ntokens) {
        shard->in_q8 = NULL;
        if (!add_pending(s, shard, (uint32_t)model->ntokens, fault) ||
            !op_rows(shard->gpu, &stream, shard->inputs.wanted, n,
                     shard->value[RESULT], fault) ||
            !op_norm(shard->gpu, shard->value[RESULT], weight, n, s->width,
                     s->eps, shard->value[NORMED], fault))
            return false;
    }
    return multiply(shard, &model->output, NORMED, n, model->logits,
                    s->vocabulary, fault);
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
        if ((layer == 0 || model->layers[layer - 1].shard != shard) &&
            !make_turns(model, &model->shards[shard], fault))
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

    if (model->records && a.most_tokens == 1 && model->nwanted == a.ntokens &&
        a.ntokens == last->tokens && a.most_keys == last->keys &&
        a.page == last->page)
        return;
    last->tokens = a.ntokens;
    last->keys = a.most_keys;
    last->page = a.page;
    last->state = NEW;
}

/* Whether a run is the one that is under way; if so, it has been done. */
static bool is_ahead(struct model *model, const struct model_token *tokens,
                     size_t n)
{
    struct recording *r = &model->recording;

    if (!r->ahead)
        return false;
    r->ahead = false;
    if (n != model->ntokens)
        return false;
    for (size_t i = 0; i < n; i++)
        if (tokens[i].id != r->next[i] || !tokens[i].wanted ||
            tokens[i].sequence != model->groups[i].sequence ||
            tokens[i].position != model->groups[i].position + 1)
            return false;
    for (size_t i = 0; i < n; i++)
        model->groups[i].position++;
    return true;
}

bool model_run(struct model *model, const struct model_token *tokens, size_t n,
               struct fault *fault)
{
    struct recording *recording = &model->recording;
    struct gpu *gpu = model->shards[0].gpu;
    bool good;

    if (is_ahead(model, tokens, n))
        return true;
    if (!find_groups(model, tokens, n, fault) ||
        !send_run(model, tokens, fault))
        return false;
    look_back(model);
    if (recording->state == RECORDED)
        return gpu_replay(gpu, fault);
    if (!plan_run(model, fault))
        return false;
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

/* ---- the next run, before it is asked for ---- */

/* By how much each word is higher for the next token of n sequences. */
static bool make_up(struct model *model, struct fault *fault)
{
    struct recording *r = &model->recording;
    const size_t n = model->ntokens;
    uint32_t *up;
    bool good;

    if (r->nup == n)
        return true;
    up = calloc(words_up(n), sizeof(*up));
    if (!up)
        return fail(fault, "no memory for %zu tokens", n);
    for (size_t i = 0; i < n; i++)
        up[2 * i] = 1;
    for (size_t i = 0; i < n; i++)
        up[3 * n + i] = 1;
    for (size_t i = 0; i <= n; i++)
        up[5 * n + 1 + i] = (uint32_t)i;
    good = gpu_write(model->shards[0].gpu, r->up, up, words_up(n) * sizeof(*up),
                     fault);
    free(up);
    r->nup = good ? n : 0;
    return good;
}

/* Whether the next token of each sequence is another replay. */
static bool has_next(struct model *model)
{
    struct attention a;

    if (!model->options.ahead || model->recording.state != RECORDED ||
        model->nwanted != model->ntokens)
        return false;
    for (size_t i = 0; i < model->ngroups; i++)
        if (model->groups[i].position + 1 >= model->options.context)
            return false;
    for (size_t i = 0; i < model->ngroups; i++)
        model->groups[i].position++;
    a = attention_of(model, &model->shards[0], false);
    for (size_t i = 0; i < model->ngroups; i++)
        model->groups[i].position--;
    return a.most_keys == model->recording.keys;
}

/* Writes the likeliest tokens to the next run's inputs, starts that run and
 * fetches the tokens. */
static bool run_ahead(struct model *model, uint32_t *ids, struct fault *fault)
{
    struct gpu *gpu = model->shards[0].gpu;
    struct recording *r = &model->recording;
    const struct inputs *in = &model->shards[0].inputs;
    const size_t n = model->ntokens;

    if (!make_up(model, fault) ||
        !op_argmax(gpu, model->logits, (uint32_t)n, model->sizes.vocabulary,
                   model->work, in->ids, fault) ||
        !gpu_fetch(gpu, in->ids, n * sizeof(*ids), fault) ||
        !op_count_up(gpu, (uint32_t *)(void *)in->rows, r->up, words_up(n),
                     fault) ||
        !gpu_replay(gpu, fault) ||
        !gpu_fetched(gpu, ids, n * sizeof(*ids), fault))
        return false;
    memcpy(r->next, ids, n * sizeof(*ids));
    r->ahead = true;
    return true;
}

static bool no_numbers(struct fault *fault)
{
    return fail(fault,
                "the model's logits are no numbers: the file is damaged, or an "
                "activation is larger than this program has room for: 8.3e6 "
                "times quantized weights, 65504 times F16 weights and in "
                "attention. Fetch the file again; if it ends here too, take "
                "the model in another type, such as BF16");
}

bool model_likeliest(struct model *model, uint32_t *ids, struct fault *fault)
{
    struct gpu *gpu = model->shards[model->nshards - 1].gpu;
    const size_t n = model->nwanted;
    const uint32_t width = model->sizes.vocabulary;

    if (has_next(model)) {
        if (!run_ahead(model, ids, fault))
            return false;
    } else if (n > 0 &&
               (!op_argmax(gpu, model->logits, (uint32_t)n, width, model->work,
                           model->best, fault) ||
                !gpu_read(gpu, ids, model->best, n * sizeof(*ids), fault))) {
        return false;
    }
    /* the first token is the likeliest too where none is a number */
    for (size_t i = 0; i < n; i++) {
        float logit = 0;

        if (ids[i] == 0 && !gpu_read(gpu, &logit, model->logits + i * width,
                                     sizeof(logit), fault))
            return false;
        if (!isfinite(logit))
            return no_numbers(fault);
    }
    return true;
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
            return no_numbers(fault);
    return true;
}

bool model_logits(struct model *model, size_t i, float *logits,
                  struct fault *fault)
{
    const size_t n = model->sizes.vocabulary;

    return gpu_read(model->shards[model->nshards - 1].gpu, logits,
                    model->logits + i * n, n * sizeof(*logits), fault);
}
