/* reference.h - a model's forward pass in double precision, for tests */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H

#include "model/arch.h"
#include "model/cache.h"

/* Where the kernels round. */
struct rounding {
    bool rounds;  /* anything: else the rest does not count. The input of a
                   * quantized matrix becomes Q8_1 blocks; Q, K and V become f16,
                   * and so does attention's result */
    size_t tiled; /* so many tokens go through tiled products, which treat the
                   * minima of some formats differently, and round what they
                   * multiply with F16 or BF16 to that */
    bool cuts;    /* attention's weights are cut off to f16; else rounded */
    enum cache_type cache; /* format of K and V */
};

/*
 * logits [n, vocabulary] of n tokens of one sequence, on the weights as they
 * are in the file. Nothing else is quantized or rounded on the way.
 *
 * Written from the architectures' definitions. It shares with the program the
 * file's reader and the model's sizes.
 */
bool reference_run(const struct gguf *gguf, const uint32_t *tokens, size_t n,
                   const struct rounding *rounding, double *logits,
                   struct fault *fault);

#endif
