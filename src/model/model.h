/* model.h - a language model on one GPU, or spread over several */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "model_options.h"

struct model;

const struct sizes *model_sizes(const struct model *model);
uint64_t model_allocated(const struct model *model);

/* A token of a run. A sequence's tokens are adjacent. Positions continue from
 * the sequence's length so far: tokens see those of earlier runs. */
struct model_token {
    uint32_t id, sequence, position;
    bool wanted; /* the caller wants its answer */
};

/*
 * Runs n tokens, at most the options' batch. Afterwards there is one answer for
 * each wanted token, in order.
 */
bool model_run(struct model *model, const struct model_token *tokens, size_t n,
               struct fault *fault);
/* Whether the last run replayed recorded launches. */
bool model_replays(const struct model *model);
/* The likeliest next token of each answer. */
bool model_likeliest(struct model *model, uint32_t *ids, struct fault *fault);
/* How a token is chosen. */
struct sampler {
    float temperature; /* 0: the likeliest always */
    uint32_t top_k;    /* draw from the top_k likeliest tokens; 0: from all */
    float top_p;       /* draw from the likeliest with this total share */
    uint64_t seed;     /* the same seed gives the same tokens */
    uint64_t drawn;    /* how many tokens were drawn so far */
};

/* Draws a next token for each answer. */
bool model_choose(struct model *model, struct sampler *sampler, uint32_t *ids,
                  struct fault *fault);
/* The logits of answer number i, [vocabulary]. */
bool model_logits(struct model *model, size_t i, float *logits,
                  struct fault *fault);
/* The same, computed by one of the options' devices, if the model is split by
 * tensors so that all devices have the logits. */
bool model_logits_of(struct model *model, size_t device, size_t i,
                     float *logits, struct fault *fault);

#endif
