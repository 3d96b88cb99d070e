/* arch.h - the architectures that there are, and a model's sizes */
#ifndef MODEL_ARCH_H
#define MODEL_ARCH_H

#include "gguf.h"

/* Architectures, as bits of a set. */
enum { LLAMA = 1, QWEN2 = 2, QWEN3 = 4, GEMMA3 = 8, ALL_ARCHS = 15 };

/* How an architecture differs from the others. A model's tensors show further
 * steps, such as biases or norms of heads. */
struct arch {
    const char *name;   /* general.architecture, and the prefix of its keys */
    unsigned bit;       /* the architecture's bit */
    bool pairs;         /* rotates neighbours; else halves */
    bool gelu;          /* the gate's function; else silu */
    bool scaled_embeds; /* embeddings times sqrt(width) */
    uint32_t pattern;   /* with a window: one layer in so many sees all */
    bool factors;       /* rotations may have factors, a tensor */
};

/* A model's sizes. */
struct sizes {
    const struct arch *arch;
    uint32_t context; /* context in training */
    uint32_t vocabulary, width, layers, inner;
    uint32_t heads, kv_heads, head; /* head: of K, V and Q, in elements */
    uint32_t window;                /* 0: none */
    uint32_t pattern; /* one layer in `pattern` sees all keys; 0: none */
    const struct gguf_value *windows; /* instead: a flag for each layer */
    float eps;
    float base, window_base; /* bases of the rotations */
    float stretch;           /* divides positions, but not in window layers */
    bool yarn;               /* not all pairs of a head are stretched: */
    float ramp[2];           /* none up to ramp[0], all from ramp[1] on */
    float longer;            /* factor of rotated Q and K */
    float scale;             /* multiplies Q times K */
    const float *factors;    /* [head / 2] of the rotations; or NULL */
};

bool sizes_read(const struct gguf *gguf, struct sizes *out,
                struct fault *fault);
/* Whether a layer sees a window only. */
bool has_window(const struct sizes *sizes, uint32_t layer);
#endif
