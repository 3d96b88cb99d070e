/* sample.c - which token comes next */
#include "sample.h"

#include <math.h>
#include <stdlib.h>

struct choice {
    float logit;
    uint32_t id;
};

/* Steele, Lea and Flood, 'Fast Splittable Pseudorandom Number Generators' */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int likelier_first(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    return x->logit != y->logit ? (x->logit < y->logit) - (x->logit > y->logit)
                                : (x->id > y->id) - (x->id < y->id);
}

/* One of n choices, the likeliest first. */
static uint32_t pick(const struct sampler *s, const struct choice *choices,
                     uint32_t n, double random)
{
    const double most = (double)choices[0].logit;
    double all = 0, share = 0, sum = 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        all += exp(((double)choices[i].logit - most) / (double)s->temperature);
    while (kept < n && (kept == 0 || share < (double)s->top_p * all))
        share += exp(((double)choices[kept++].logit - most) /
                     (double)s->temperature);
    for (uint32_t i = 0; i < kept; i++) {
        sum += exp(((double)choices[i].logit - most) / (double)s->temperature);
        if (random * share < sum)
            return choices[i].id;
    }
    return choices[kept - 1].id;
}

bool sample(struct sampler *sampler, const float *logits, uint32_t n,
            uint32_t *out, struct fault *fault)
{
    struct choice *choices = malloc((size_t)n * sizeof(*choices));
    uint32_t count = 0, best = 0;

    if (!choices)
        return fail(fault, "no memory for %u logits", (unsigned)n);
    for (uint32_t i = 0; i < n; i++) {
        if (logits[i] > logits[best] || isnan(logits[best]))
            best = i;
        if (!isnan(logits[i]))
            choices[count++] = (struct choice){logits[i], i};
    }
    *out = best;
    if (count == 0) {
        free(choices);
        return fail(fault, "the model's logits are no numbers");
    }
    if (sampler->temperature > 0) {
        qsort(choices, count, sizeof(*choices), likelier_first);
        if (sampler->top_k > 0 && sampler->top_k < count)
            count = sampler->top_k;
        *out = pick(sampler, choices, count, uniform(&sampler->state));
    }
    free(choices);
    return true;
}
