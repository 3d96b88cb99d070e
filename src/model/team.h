/* team.h - GPUs that each have a slice of every tensor, and add up their parts
 *
 * A product with a slice's columns is one part of a sum. The GPUs add the parts
 * up by module comm, without waits on the host. All ranks make the same calls
 * in the same order.
 */
#ifndef MODEL_TEAM_H
#define MODEL_TEAM_H

#include "ops.h"

struct team;

/* Connects processes with one rank each; see meeting.h. */
struct meeting;

struct team_options {
    uint32_t ranks;          /* of the team; see slice_of() */
    uint32_t rank;           /* of this process's first GPU; others follow */
    struct meeting *meeting; /* for a team over several processes, else NULL */
    uint32_t limit_ms;       /* see struct model_options */
    uint32_t small_nbytes;   /* see struct model_options */
    uint32_t columns;        /* row length of a sum */
    uint64_t most_nbytes;    /* size of the largest sum */
};

/* Opens a team with n GPUs of this process. */
bool team_open(struct gpu *const *gpus, size_t n, const struct team_options *o,
               struct team **out, struct fault *fault);
/* Call it before the GPUs are closed; NULL does nothing. */
void team_close(struct team *team);
/* Registers memory for inputs of calls: [n] pointers, each to the start of an
 * allocation on a GPU of this process. */
bool team_share(struct team *team, void *const *buffers, uint64_t nbytes,
                struct fault *fault);
/* The time limit of a GPU's wait for another rank. */
double team_limit_s(const struct team *team);
/* Waits for the GPUs' work. False if a wait for another rank timed out. */
bool team_check(struct team *team, struct fault *fault);

/* A sum over all ranks and its norm; rows and columns as in op_add_norm(). */
struct team_sum {
    const float *x; /* this rank's part of the sum */
    float *stream;  /* the sum is added to it; NULL: there is no stream */
    float *alone;   /* gets the sum if `stream` is NULL */
    const float *weight;
    uint32_t rows, columns;
    float eps;
    float *out; /* the norm, if q8 is NULL */
    void *q8;   /* the norm, quantized, or NULL */
};

/* Starts the part of this process's GPU number i. */
bool team_sum(struct team *team, size_t i, const struct team_sum *s,
              struct fault *fault);
/* out [ranks, n]: all ranks' x [n] */
bool team_gather(struct team *team, size_t i, const float *x, size_t n,
                 float *out, struct fault *fault);

#endif
