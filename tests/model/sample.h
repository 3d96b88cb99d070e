/* sample.h - which token comes next */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "fault.h"

#include <stddef.h>
#include <stdint.h>

struct sampler {
    float temperature; /* 0: the likeliest always */
    uint32_t top_k;    /* of so many likeliest only; 0: of all */
    float top_p;       /* of the likeliest that have this share together */
    uint64_t state;    /* the seed at first */
};

/* A token of n logits; the same seed gives the same ones. */
bool sample(struct sampler *sampler, const float *logits, uint32_t n,
            uint32_t *out, struct fault *fault);

#endif
