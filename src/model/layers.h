/* layers.h - the table of steps of a layer, and running them */
#ifndef MODEL_LAYERS_H
#define MODEL_LAYERS_H

#include "parts.h"

extern const struct step layer_steps[NSTEPS];

/* How many numbers a value has per token. */
uint32_t width_of(const struct sizes *s, enum value value);

/* How many keys a group's last token may see. */
uint32_t keys_of(const struct group *g);
/* Arguments of attention, for layers with a window or for full layers. */
struct attention attention_of(const struct model *model,
                              const struct shard *shard, bool window);
/* Multiplies n rows of a value with a matrix. Rows of `out` are `stride`
 * numbers apart. */
bool multiply(struct shard *shard, const struct matrix *m, enum value in,
              uint32_t n, float *out, uint32_t stride, struct fault *fault);
/* Adds a pending RESULT of n tokens to the stream. */
bool add_pending(struct shard *shard, uint32_t n, struct fault *fault);
/* The same, and stores the stream's norm in NORMED, or with `blocks` only its
 * quantized form. */
bool norm_stream(struct shard *shard, const float *weight, uint32_t n,
                 bool blocks, struct fault *fault);
/* Computes the rotations of the run's tokens, for all layers of a device. */
bool make_turns(const struct model *model, struct shard *shard,
                struct fault *fault);
/* Runs a layer on all devices; each step runs on all before the next step. */
bool run_layer(struct model *model, struct layer *parts, struct fault *fault);

#endif
