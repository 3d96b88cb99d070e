/* generate.c - prompts go in, tokens come out */
#include "generate.h"

#include "clock.h"

#include <stdlib.h>

/* An answer in the making. */
struct lane {
    size_t answer;
    uint32_t position; /* position of the next token */
    uint32_t next;     /* the next token */
    bool done;
};

/* Takes a lane's next token; returns whether the lane continues. */
static bool take(struct generator *g, struct lane *lane, struct answer *answer,
                 struct fault *fault)
{
    lane->done = true;
    if (tokenizer_ends(g->tokenizer, lane->next)) {
        answer->stop = STOP_END;
        return true;
    }
    if (!tokens_add(&answer->made, lane->next, fault))
        return false;
    if (g->made)
        g->made(g->made_context, lane->answer, lane->next);
    if (answer->made.n >= g->tokens)
        answer->stop = STOP_TOKENS;
    else if (lane->position >= g->context)
        answer->stop = STOP_CONTEXT;
    else
        lane->done = false;
    return true;
}

/* Reads a prompt into sequence `number`, the batch's tokens at a time. */
static bool read_prompt(struct generator *g, struct lane *lane, uint32_t number,
                        const struct answer *answer, struct model_token *run,
                        struct fault *fault)
{
    const struct tokens *prompt = &answer->prompt;

    if (prompt->n > g->context)
        return fail(fault,
                    "a prompt has %zu tokens, and the context %u: give a "
                    "larger --context",
                    prompt->n, (unsigned)g->context);
    for (size_t at = 0, n; at < prompt->n; at += n) {
        n = prompt->n - at < g->batch ? prompt->n - at : g->batch;
        for (size_t i = 0; i < n; i++)
            run[i] = (struct model_token){prompt->id[at + i], number,
                                          (uint32_t)(at + i),
                                          at + i + 1 == prompt->n};
        if (!model_run(g->model, run, n, fault))
            return false;
    }
    lane->position = (uint32_t)prompt->n;
    return model_choose(g->model, &g->sampler, &lane->next, fault);
}

/* Makes a token for each unfinished lane; *going counts these lanes.
 */
static bool step_lanes(struct generator *g, struct lane *lanes, size_t n,
                       struct answer *answers, struct model_token *run,
                       uint32_t *ids, size_t *going, struct fault *fault)
{
    size_t count = 0, done = 0;

    for (size_t i = 0; i < n; i++)
        if (!lanes[i].done && count < g->batch)
            run[count++] = (struct model_token){lanes[i].next, (uint32_t)i,
                                                lanes[i].position++, true};
    *going = count;
    if (count == 0)
        return true;
    if (!model_run(g->model, run, count, fault) ||
        !model_choose(g->model, &g->sampler, ids, fault))
        return false;
    for (size_t i = 0; i < n && done < count; i++)
        if (!lanes[i].done) {
            lanes[i].next = ids[done++];
            if (!take(g, &lanes[i], &answers[lanes[i].answer], fault))
                return false;
        }
    return true;
}

/* Memory for n answers at once. */
struct room {
    struct lane *lanes;
    struct model_token *run;
    uint32_t *ids;
};

static bool generate_some(struct generator *g, struct answer *answers,
                          size_t first, size_t n, const struct room *room,
                          struct speeds *speeds, struct fault *fault)
{
    double start = seconds_now();
    size_t going = 1;

    for (size_t i = 0; i < n; i++) {
        struct lane *lane = &room->lanes[i];

        *lane = (struct lane){.answer = first + i};
        if (!read_prompt(g, lane, (uint32_t)i, &answers[first + i], room->run,
                         fault))
            return false;
        if (speeds->first_s == 0)
            speeds->first_s = seconds_now() - start;
        speeds->read += answers[first + i].prompt.n;
        if (!take(g, lane, &answers[first + i], fault))
            return false;
    }
    speeds->read_s += seconds_now() - start;
    start = seconds_now();
    while (going > 0) {
        if (!step_lanes(g, room->lanes, n, answers, room->run, room->ids,
                        &going, fault))
            return false;
        speeds->made += going;
    }
    speeds->made_s += seconds_now() - start;
    return true;
}

bool generate(struct generator *g, struct answer *answers, size_t n,
              struct speeds *speeds, struct fault *fault)
{
    const size_t most = g->batch > g->sequences ? g->batch : g->sequences;
    const struct room room = {
        .lanes = calloc(g->sequences, sizeof(struct lane)),
        .run = calloc(most, sizeof(struct model_token)),
        .ids = calloc(most, sizeof(uint32_t)),
    };
    bool good =
        (room.lanes && room.run && room.ids) ||
        fail(fault, "no memory for %u answers at once", (unsigned)g->sequences);

    for (size_t i = 0; good && i < n; i++)
        good = answers[i].prompt.n > 0 ||
               fail(fault,
                    "prompt number %zu is empty: the model has nothing "
                    "to go on from",
                    i + 1);
    for (size_t at = 0, count; good && at < n; at += count) {
        count = n - at < g->sequences ? n - at : g->sequences;
        good = generate_some(g, answers, at, count, &room, speeds, fault);
    }
    free(room.lanes);
    free(room.run);
    free(room.ids);
    return good;
}
