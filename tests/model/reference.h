/* reference.h - a model's forward pass in double precision, for tests */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H

#include "arch.h"

/* What products with quantised matrices do to the numbers that they multiply.
 */
struct rounding {
    bool rounds;  /* they become Q8_1 blocks, as the kernels see them */
    size_t tiled; /* so many tokens go through tiled products, which treat the
                   * minima of some formats differently */
};

/*
 * logits [n, vocabulary] of n tokens of one sequence, on the weights as they
 * are in the file. Nothing else is quantised or rounded on the way.
 *
 * Written from the architectures' definitions. It shares with the program the
 * file's reader and the model's sizes.
 */
bool reference_run(const struct gguf *gguf, const uint32_t *tokens, size_t n,
                   const struct rounding *rounding, double *logits,
                   struct fault *fault);

#endif
