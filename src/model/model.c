/* model.c - a language model on one GPU, or spread over several
 *
 * K and V of all tokens so far are kept per layer: a row for each token of the
 * context of each sequence.
 *
 * Several devices split the layers, or the tensors. With split layers they work
 * one after another, each on the previous device's results. With split tensors
 * each device runs all layers with its slice of the weights, adds its parts of
 * sums to the other devices', and has all logits in the end.
 */
#include "model.h"
#include "clock.h"
#include "layers.h"

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

/* ---- a run: inputs of the devices ---- */

/* Places the values of n tokens one behind the other. layers.c interleaves some
 * values further. */
static void place_values(struct shard *shard, size_t n)
{
    float *at = shard->values;

    for (int v = 0; v < NVALUES; v++) {
        shard->value[v] = at;
        at += n * width_of(&shard->slice.sizes, (enum value)v);
    }
}

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

/* Writes the run's inputs to staging memory, with the layout that devices use.
 * Returns their size. */
static size_t gather_inputs(struct model *model,
                            const struct model_token *tokens)
{
    const struct sizes *s = &model->sizes;
    const size_t n = model->ntokens;
    struct inputs in = inputs_place(model->staging, n, model->ngroups);

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

        place_values(shard, model->ntokens);
        shard->inputs =
            inputs_place(shard->told, model->ntokens, model->ngroups);
        shard->in_q8 = NULL;
        shard->pending = shard->partial = false;
        shard->post = NULL;
        if (!gpu_write(shard->gpu, shard->told, model->staging, nbytes, fault))
            return false;
    }
    return true;
}

/* Plans the launches of attention, which a recording contains. */
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

    return add_pending(a, (uint32_t)model->ntokens, fault) &&
           gpu_wait(a->gpu, fault) && gpu_wait(b->gpu, fault) &&
           gpu_copy(b->gpu, b->value[STREAM], a->gpu, a->value[STREAM],
                    model->ntokens * model->sizes.width * sizeof(float), fault);
}

/* Adds the last pending result to the stream and computes the last norm. */
static bool run_output_norm(struct model *model, struct shard *shard,
                            struct fault *fault)
{
    const bool blocks = shard->output.format->elems > 1;

    return norm_stream(shard, shard->output_norm.data, (uint32_t)model->ntokens,
                       model->nwanted == model->ntokens && blocks, fault);
}

/* A device's slice of the logits of the answers. */
static bool run_output(struct model *model, struct shard *shard,
                       struct fault *fault)
{
    const uint32_t n = (uint32_t)model->nwanted;
    const uint32_t all = (uint32_t)model->ntokens;
    const uint32_t width = model->sizes.width;
    const struct matrix normed = {tensor_format_of(0), shard->value[NORMED],
                                  all, width, (uint64_t)width * sizeof(float)};

    /* Uses all tokens in place, or gathers the wanted ones. */
    return (n == all || op_rows(shard->gpu, &normed, shard->inputs.wanted, n,
                                shard->value[RESULT], fault)) &&
           multiply(shard, &shard->output, n == all ? NORMED : RESULT, n,
                    shard->own_logits, shard->output.rows, fault);
}

/* Each device of a team gets all logits of an answer. */
static bool gather_logits(const struct model *model, const struct shard *shard,
                          size_t answer, struct fault *fault)
{
    const size_t n = shard->output.rows, all = model->sizes.vocabulary;

    return shard->own_logits == shard->logits ||
           team_gather(shard->team, shard->place,
                       shard->own_logits + answer * n, n,
                       shard->logits + answer * all, fault);
}

static bool run_outputs(struct model *model, struct fault *fault)
{
    struct shard *shards = model->shards + model->nshards - model->parts;

    if (model->nwanted == 0)
        return true;
    for (size_t i = 0; i < model->parts; i++) /* all sums first: run_layer() */
        if (!run_output_norm(model, &shards[i], fault))
            return false;
    for (size_t i = 0; i < model->parts; i++)
        if (!run_output(model, &shards[i], fault))
            return false;
    for (size_t answer = 0; answer < model->nwanted; answer++)
        for (size_t i = 0; i < model->parts; i++)
            if (!gather_logits(model, &shards[i], answer, fault))
                return false;
    return true;
}

/* The stream of a run's tokens. */
static bool run_embeds(struct model *model, struct shard *shard,
                       struct fault *fault)
{
    const struct sizes *s = &model->sizes;
    const uint32_t n = (uint32_t)model->ntokens;
    float *stream = shard->value[STREAM];

    return op_rows(shard->gpu, &shard->embeds, shard->inputs.ids, n, stream,
                   fault) &&
           (!s->arch->scaled_embeds ||
            op_scale(shard->gpu, stream, (size_t)n * s->width,
                     sqrtf((float)s->width), fault));
}

static bool launch_all(struct model *model, struct fault *fault)
{
    for (size_t i = 0; i < model->parts; i++)
        if (!run_embeds(model, &model->shards[i], fault) ||
            !make_turns(model, &model->shards[i], fault))
            return false;
    for (uint32_t i = 0; i < model->sizes.layers; i++) {
        struct layer *layer = &model->layers[i * model->parts];

        if (i > 0 && model->parts == 1 && layer[-1].shard != layer->shard &&
            (!hand_over(model, layer[-1].shard, fault) ||
             !make_turns(model, &model->shards[layer->shard], fault)))
            return false;
        if (!run_layer(model, layer, fault))
            return false;
    }
    return run_outputs(model, fault);
}

/* ---- recorded runs ---- */

static bool replay(struct model *model, struct fault *fault)
{
    for (size_t i = 0; i < model->parts; i++)
        if (!gpu_replay(model->shards[i].gpu, fault))
            return false;
    return true;
}

/* Whether all devices' recordings are good. */
static bool end_recording(struct model *model, size_t n)
{
    bool good = true;

    for (size_t i = 0; i < n; i++)
        good = gpu_recorded(model->shards[i].gpu) && good;
    return good;
}

static bool start_recording(struct model *model)
{
    for (size_t i = 0; i < model->parts; i++)
        if (!gpu_record(model->shards[i].gpu)) {
            (void)end_recording(model, i);
            return false;
        }
    return true;
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

/* Whether a run that began then was complete. A wait in vain takes the whole
 * limit, so a shorter run needs no check. */
static bool all_came(const struct model *model, double began,
                     struct fault *fault)
{
    return !model->team ||
           seconds_now() - began < team_limit_s(model->team) / 2 ||
           team_check(model->team, fault);
}

bool model_run(struct model *model, const struct model_token *tokens, size_t n,
               struct fault *fault)
{
    struct recording *recording = &model->recording;
    bool good;

    if (is_ahead(model, tokens, n))
        return true;
    if (!find_groups(model, tokens, n, fault) ||
        !send_run(model, tokens, fault))
        return false;
    /* the inputs were copied behind the last run, which has ended; the next one
     * would not wait again for a device that is missed */
    if (!all_came(model, model->began, fault))
        return false;
    look_back(model);
    model->began = seconds_now();
    if (recording->state == RECORDED)
        return replay(model, fault);
    if (!plan_run(model, fault))
        return false;
    /* the first run of a kind loads its kernels, the second is recorded */
    if (recording->state == NEW || !start_recording(model)) {
        recording->state = model->records ? SEEN : NEW;
        return launch_all(model, fault);
    }
    good = launch_all(model, fault);
    if (end_recording(model, model->parts) && good) {
        recording->state = RECORDED;
        return replay(model, fault);
    }
    model->records = false;
    recording->state = NEW;
    return good && send_run(model, tokens, fault) && launch_all(model, fault);
}

bool model_replays(const struct model *model)
{
    return model->recording.state == RECORDED;
}

/* ---- answers ---- */

/* The device, or one of the devices, with a run's answers. */
static const struct shard *ending(const struct model *model)
{
    return &model->shards[model->nshards - 1];
}

/* ---- starting the next run before it is requested ---- */

/* Uploads each input word's increment for the next token of n sequences. */
static bool make_up(struct model *model, struct fault *fault)
{
    struct recording *r = &model->recording;
    const size_t n = model->ntokens;
    uint32_t *up;
    bool good = true;

    if (r->nup == n)
        return true;
    up = calloc(inputs_words_up(n), sizeof(*up));
    if (!up)
        return fail(fault, "no memory for %zu tokens", n);
    inputs_count_up(n, up);
    for (size_t i = 0; i < model->parts; i++)
        good = good && gpu_write(model->shards[i].gpu, model->shards[i].up, up,
                                 inputs_words_up(n) * sizeof(*up), fault);
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

/* The likeliest tokens become a device's next inputs. */
static bool take_likeliest(const struct model *model, const struct shard *shard,
                           struct fault *fault)
{
    const struct inputs *in = &shard->inputs;
    const size_t n = model->ntokens;

    return op_argmax(shard->gpu, shard->logits, (uint32_t)n,
                     model->sizes.vocabulary, shard->work, in->ids, fault) &&
           (shard != ending(model) ||
            gpu_fetch(shard->gpu, in->ids, n * sizeof(*in->ids), fault)) &&
           op_count_up(shard->gpu, (uint32_t *)(void *)in->rows, shard->up,
                       inputs_words_up(n), fault);
}

/* Writes the likeliest tokens to the next run's inputs, starts that run and
 * fetches the tokens. */
static bool run_ahead(struct model *model, uint32_t *ids, struct fault *fault)
{
    struct recording *r = &model->recording;
    const size_t nbytes = model->ntokens * sizeof(*ids);
    const double began = model->began;
    bool good = make_up(model, fault);

    for (size_t i = 0; good && i < model->parts; i++)
        good = take_likeliest(model, &model->shards[i], fault);
    model->began = seconds_now();
    if (!good || !replay(model, fault) ||
        !gpu_fetched(ending(model)->gpu, ids, nbytes, fault) ||
        !all_came(model, began, fault))
        return false;
    memcpy(r->next, ids, nbytes);
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
    const struct shard *shard = ending(model);
    struct gpu *gpu = shard->gpu;
    const size_t n = model->nwanted;
    const uint32_t width = model->sizes.vocabulary;

    if (has_next(model)) {
        if (!run_ahead(model, ids, fault))
            return false;
    } else if (n > 0 &&
               (!op_argmax(gpu, shard->logits, (uint32_t)n, width, shard->work,
                           shard->best, fault) ||
                !gpu_read(gpu, ids, shard->best, n * sizeof(*ids), fault) ||
                !all_came(model, model->began, fault))) {
        return false;
    }
    /* the first token also counts as likeliest if all logits are NaN */
    for (size_t i = 0; i < n; i++) {
        float logit = 0;

        if (ids[i] == 0 && !gpu_read(gpu, &logit, shard->logits + i * width,
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
    const struct shard *shard = ending(model);
    struct gpu *gpu = shard->gpu;
    const size_t n = model->nwanted, width = model->sizes.vocabulary;

    if (sampler->temperature <= 0)
        return model_likeliest(model, ids, fault);
    for (size_t i = 0; i < n; i++)
        if (!op_sample(gpu, shard->logits + i * width, (uint32_t)width,
                       sampler->top_k, sampler->top_p, sampler->temperature,
                       sampler->seed, sampler->drawn++, shard->best + i, fault))
            return false;
    if (n > 0 && (!gpu_read(gpu, ids, shard->best, n * sizeof(*ids), fault) ||
                  !all_came(model, model->began, fault)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= width)
            return no_numbers(fault);
    return true;
}

bool model_logits(struct model *model, size_t i, float *logits,
                  struct fault *fault)
{
    return model_logits_of(model, model->nshards - 1, i, logits, fault);
}

bool model_logits_of(struct model *model, size_t device, size_t i,
                     float *logits, struct fault *fault)
{
    const struct shard *shard = &model->shards[device];
    const size_t n = model->sizes.vocabulary;

    return gpu_read(shard->gpu, logits, shard->logits + i * n,
                    n * sizeof(*logits), fault) &&
           all_came(model, model->began, fault);
}
