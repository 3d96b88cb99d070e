/* layers.h - the table of steps of a layer, and running them */
#ifndef MODEL_LAYERS_H
#define MODEL_LAYERS_H

#include "parts.h"

extern const struct step layer_steps[NSTEPS];

/* Numbers of a token's value. */
uint32_t width_of(const struct sizes *s, enum value value);

/* Keys that a group's last token may see. */
uint32_t keys_of(const struct group *g);
/* Attention for window layers, or for full layers. */
struct attention attention_of(const struct model *model,
                              const struct shard *shard, bool window);
/* Rows of a value times a matrix; out has one every `stride` numbers. */
bool multiply(struct shard *shard, const struct matrix *m, enum value in,
              uint32_t n, float *out, uint32_t stride, struct fault *fault);
/* Adds a pending RESULT of n tokens to the stream. */
bool add_pending(struct shard *shard, uint32_t n, struct fault *fault);
/* The same, and its norm to NORMED; `blocks`: as blocks alone. */
bool norm_stream(struct shard *shard, const float *weight, uint32_t n,
                 bool blocks, struct fault *fault);
/* How the run's tokens are rotated, for all layers of a device. */
bool make_turns(const struct model *model, struct shard *shard,
                struct fault *fault);
/* All devices' parts of a layer, each step on all before the next one. */
bool run_layer(struct model *model, struct layer *parts, struct fault *fault);

#endif
