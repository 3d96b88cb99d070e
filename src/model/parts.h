/* parts.h - what a model is made of: the steps of a layer, and devices' parts
 *
 * For open.c, model.c, weights.c and layers.c alone.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "inputs.h"
#include "model_options.h"
#include "ops.h"
#include "split.h"
#include "team.h"

/* ---- the steps ---- */

/* Values of a run's tokens, a row each. The first four are as wide as the
 * stream, and so in one place on all devices. */
enum value {
    STREAM, /* the residual stream */
    NORMED,
    RESULT, /* output of attention or the inner layer */
    SPARE,  /* gets the norm of RESULT, then both are swapped */
    QUERY,  /* a token's Q, K and V follow each other */
    KEY,
    VALUE,
    MIXED, /* attention's result */
    GATE,  /* see gates_blocks() */
    UP,
    NVALUES,
    NWIDE = QUERY /* number of values as wide as the stream */
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
    unsigned needed, may; /* architectures that must have it; may have it */
};

/* Numbers of steps in the table whose weights other code uses. */
enum { Q_BIAS = 4, Q_NORM = 7, K_NORM, ATTENDED = 11, DOWN = 18, NSTEPS = 20 };

/* ---- the model ---- */

/* A device's part of a layer: its slices of the weights, K and V of its heads.
 */
struct layer {
    struct matrix weights[NSTEPS]; /* data NULL: the step is left out */
    struct cache cache;            /* rows of [sequences, context] */
    bool window;                   /* the layer sees a window only */
    uint32_t number;
    size_t shard;
};

/* Tokens of one sequence in a run. */
struct group {
    size_t first; /* its number in the run */
    uint32_t n, sequence, position;
};

/* A device's part of a model: some layers, or a slice of all of them. */
struct shard {
    struct gpu *gpu;
    struct team *team;    /* NULL if its results are not parts of sums */
    size_t place;         /* number among the team's GPUs in this process */
    uint32_t rank;        /* number among all GPUs of the team */
    struct slice slice;   /* of the model */
    struct matrix embeds; /* if it begins a run */
    struct matrix output_norm, output; /* if it ends one, as of the next five */
    uint32_t *best;                    /* tokens that are next */
    void *work;                        /* of op_argmax() */
    float *logits;                     /* [answers, vocabulary] */
    float *own_logits;                 /* the slice's; logits if not sliced */
    uint32_t *up;                      /* see struct recording */
    float *values;                     /* memory for every value */
    float *value[NVALUES]; /* the run's values, see place_values() */
    void *q16, *mixed16;   /* attention's in f16 */
    void *q8;              /* a value as Q8_1 blocks */
    const float *in_q8;    /* the value whose blocks q8 has; NULL: none */
    bool pending;          /* RESULT is to be added to STREAM */
    bool partial;          /* and is this device's part of a sum */
    const float *post;     /* after a norm of this weight; or NULL */
    float *factors;        /* rotation factors; or NULL */
    float *turns[2];       /* rotations: full layers, window layers */
    void *told;            /* inputs */
    struct inputs inputs;
    void *splits; /* attention's workspace */
    uint64_t splits_nbytes;
    kpk_attention_plan plan[2]; /* full layers, window layers */
};

/*
 * A recording of a run's launches. The next run replays it if it is of the same
 * kind: one more token for each of the same number of sequences, all with
 * answers, on devices that each do all layers. Tokens, places and lengths
 * differ between such runs and are read from device memory.
 */
struct recording {
    uint32_t tokens, keys, page; /* the last run's; see struct attention */
    enum { NEW, SEEN, RECORDED } state;
    bool ahead;     /* the next run has been started */
    uint32_t *next; /* [tokens] of that run */
    size_t nup;     /* number of tokens for which the shards' `up`, increments
                     * of their inputs, is set; 0: not set */
};

struct model {
    struct sizes sizes;
    struct model_options options;
    size_t nshards;
    struct shard shards[MODEL_MOST_DEVICES];
    struct team *team; /* of devices with a slice of each layer, or NULL */
    struct meeting *meeting; /* with other processes' devices, or NULL */
    struct layer *layers;    /* [layers][parts] */
    size_t parts; /* shards that do each layer, and begin and end runs */
    /* of the run */
    struct group *groups;
    size_t ngroups, ntokens, nwanted;
    void *staging; /* the inputs, to be copied to the devices */
    double began;  /* when its launches did */
    bool records;
    struct recording recording;
};

/* Whether a shard makes the stream of tokens, or logits of the stream. */
static inline bool begins_run(const struct model *model, size_t shard)
{
    return shard < model->parts;
}

static inline bool ends_run(const struct model *model, size_t shard)
{
    return shard + model->parts >= model->nshards;
}

#endif
