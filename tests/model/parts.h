/* parts.h - what a model is made of: the steps of a layer, and devices' parts
 *
 * Shared by model.c, weights.c and layers.c alone.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model.h"
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
    RESULT, /* of attention or of the inner layer, back at the width */
    NVALUES
};

enum op {
    ADD_NORM,
    NORM,
    PRODUCT,
    BIAS,
    HEAD_BIAS, /* of HEADS, as is HEAD_NORM: no steps of their own */
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

/* Steps whose weights others ask for. */
enum { Q_BIAS = 4, Q_NORM = 7, K_NORM, ATTENDED = 11, DOWN = 18, NSTEPS = 20 };
extern const struct step layer_steps[NSTEPS];

/* Numbers of a token's value. */
uint32_t width_of(const struct sizes *s, enum value value);
/* Those of Q, K and V. */
uint32_t heads_width(const struct sizes *s);

/* ---- the model ---- */

struct layer {
    struct matrix weights[NSTEPS]; /* data NULL: the step is left out */
    struct cache cache;            /* rows of [sequences, context] */
    bool window;                   /* whether it sees one only */
    size_t shard;
};

/* Tokens of one sequence in a run. */
struct group {
    size_t first; /* of the run's tokens */
    uint32_t n, sequence, position;
};

/* What a device is told of a run; in one piece, for each copy waits. */
struct inputs {
    size_t *view;     /* of a bias of RESULT, see op_add_row_info() */
    int64_t *rows;    /* [tokens] of the caches */
    uint32_t *ids;    /* [tokens] */
    int32_t *places;  /* [tokens]: positions */
    int32_t *tokens;  /* [groups + 1], see struct attention */
    int32_t *keys;    /* [groups + 1] */
    int32_t *pages;   /* [groups] */
    uint32_t *wanted; /* tokens whose answers are */
};

enum { VIEW = 6 };

/* A device's part of a model. */
struct shard {
    struct gpu *gpu;
    float *values;         /* all of them, and the spares */
    float *value[NVALUES]; /* of the run, see place_values() */
    float *spare;          /* swapped with RESULT, which is normed into it */
    void *q16, *mixed16;   /* attention's in f16 */
    void *q8;              /* a value as Q8_1 blocks */
    const float *in_q8;    /* which value that is; NULL: none */
    bool pending;          /* RESULT is to be added to STREAM */
    const float *post;     /* after a norm of this weight; or NULL */
    float *factors;        /* of rotations; or NULL */
    float *turns[2];       /* rotations: of layers that see all; of others */
    void *told;            /* inputs */
    struct inputs inputs;
    void *splits;               /* attention's workspace */
    kpk_attention_plan plan[2]; /* of layers that see all; that have a window */
};

/*
 * A run's launches, replayed by the next run of its kind: one more token for
 * each of as many sequences, all with answers, on one device. What else differs
 * between such runs is in device memory: tokens, places, lengths.
 */
struct recording {
    uint32_t tokens, keys, page; /* of the last run; see struct attention */
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
    void *staging;          /* what is copied to the devices */
    uint64_t splits_nbytes; /* of each device's attention */
    bool records;
    struct recording recording;
};

/* weights.c: copies all weights to the devices. */
bool load_weights(const struct gguf *gguf, struct model *model,
                  struct fault *fault);

/* layers.c */

/* Keys that a group's last token may see. */
uint32_t keys_of(const struct group *g);
/* Of layers that have a window, or of those that see all. */
struct attention attention_of(const struct model *model,
                              const struct shard *shard, bool window);
/* Rows of a value times a matrix; out has one every `stride` numbers. */
bool multiply(struct shard *shard, const struct matrix *m, enum value in,
              uint32_t n, float *out, uint32_t stride, struct fault *fault);
/* What is to be added to the stream of n tokens, if it has not been. */
bool add_pending(const struct sizes *s, struct shard *shard, uint32_t n,
                 struct fault *fault);
/* The same, and its norm to NORMED; `blocks`: as blocks alone. */
bool norm_stream(const struct sizes *s, struct shard *shard,
                 const float *weight, uint32_t n, bool blocks,
                 struct fault *fault);
/* How the run's tokens are rotated, for all layers of a device. */
bool make_turns(const struct model *model, struct shard *shard,
                struct fault *fault);
bool run_layer(struct model *model, struct layer *layer, struct fault *fault);

#endif
