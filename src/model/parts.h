/* parts.h - what a model is made of: the steps of a layer, and devices' parts
 *
 * For model.c, weights.c and layers.c alone.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model_options.h"
#include "ops.h"

/* ---- the steps ---- */

/* Values of a run's tokens, a row each. */
enum value {
    STREAM, /* the residual stream */
    NORMED,
    QUERY, /* a token's Q, K and V follow each other */
    KEY,
    VALUE,
    MIXED, /* attention's result */
    GATE,  /* see gates_blocks() */
    UP,
    RESULT, /* output of attention or the inner layer, as wide as the stream */
    NVALUES
};

enum op {
    ADD_NORM,
    NORM,
    PRODUCT,
    BIAS,
    HEAD_BIAS, /* runs inside HEADS, like HEAD_NORM: no launch of its own */
    HEAD_NORM,
    HEADS,
    ATTEND,
    GATED
};

struct step {
    enum op op;
    const char *tensor; /* blk.N.* */
    enum value in, out;
    unsigned needed, may; /* architectures whose layers have it; may have it */
};

/* Numbers of steps in the table whose weights other code uses. */
enum { Q_BIAS = 4, Q_NORM = 7, K_NORM, ATTENDED = 11, DOWN = 18, NSTEPS = 20 };

/* ---- the model ---- */

struct layer {
    struct matrix weights[NSTEPS]; /* data NULL: the step is left out */
    struct cache cache;            /* rows of [sequences, context] */
    bool window;                   /* the layer sees a window only */
    size_t shard;
};

/* Tokens of one sequence in a run. */
struct group {
    size_t first; /* its number in the run */
    uint32_t n, sequence, position;
};

/* A run's inputs on a device; one block of memory, because each copy waits. */
struct inputs {
    size_t *view;    /* shape for adding RESULT's bias, see op_add_row_info() */
    int64_t *rows;   /* [tokens] of the caches */
    uint32_t *ids;   /* [tokens] */
    int32_t *places; /* [tokens]: positions */
    int32_t *tokens; /* [groups + 1], see struct attention */
    int32_t *keys;   /* [groups + 1] */
    int32_t *pages;  /* [groups] */
    uint32_t *wanted; /* tokens with an answer */
};

enum { VIEW = 6 };

/* A device's part of a model. */
struct shard {
    struct gpu *gpu;
    float *values;         /* memory for every value and the spare */
    float *value[NVALUES]; /* the run's values, see place_values() */
    float *spare;          /* swapped with RESULT, which is normed into it */
    void *q16, *mixed16;   /* attention's in f16 */
    void *q8;              /* a value as Q8_1 blocks */
    const float *in_q8;    /* the value whose blocks q8 has; NULL: none */
    bool pending;          /* RESULT is to be added to STREAM */
    const float *post;     /* after a norm of this weight; or NULL */
    float *factors;        /* rotation factors; or NULL */
    float *turns[2];       /* rotations: full layers, window layers */
    void *told;            /* inputs */
    struct inputs inputs;
    void *splits;               /* attention's workspace */
    kpk_attention_plan plan[2]; /* full layers, window layers */
};

/*
 * A recording of a run's launches. The next run replays it if it is of the same
 * kind: one more token for each of the same number of sequences, all with
 * answers, on one device. Tokens, places and lengths differ between such runs
 * and are read from device memory.
 */
struct recording {
    uint32_t tokens, keys, page; /* the last run's; see struct attention */
    enum { NEW, SEEN, RECORDED } state;
    bool ahead;     /* the run behind the last one is under way: */
    uint32_t *next; /* [tokens] of these */
    uint32_t *up;   /* on the device: how what it is told counts up */
    size_t nup;     /* for so many tokens; 0: for none */
};

struct model {
    struct sizes sizes;
    struct model_options options;
    size_t nshards;
    struct shard shards[MODEL_MOST_DEVICES];
    struct layer *layers;
    struct matrix embeds;              /* on the first device */
    struct matrix output_norm, output; /* on the last */
    uint32_t *best;                    /* on the last: tokens that are next */
    void *work;                        /* on the last, of op_argmax() */
    float *logits;                     /* on the last, [answers, vocabulary] */
    /* of the run */
    struct group *groups;
    size_t ngroups, ntokens, nwanted;
    void *staging;          /* the inputs, to be copied to the devices */
    uint64_t splits_nbytes; /* size of `splits` on each device */
    bool records;
    struct recording recording;
};

#endif
