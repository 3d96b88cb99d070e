/* team.h - GPUs that each have a slice of every tensor, and add up
 *
 * Each product of a slice's columns is a part of a sum, which the GPUs add up
 * themselves, by module comm: the host waits for nothing. All ranks make the
 * same calls in the same order.
 */
#ifndef MODEL_TEAM_H
#define MODEL_TEAM_H

#include "ops.h"

struct team;

/* Where processes meet that have a rank each; see meeting.h. */
struct meeting;

struct team_options {
    uint32_t ranks;          /* of the team; slice_of() says how many */
    uint32_t rank;           /* of the first GPU here; the others follow */
    struct meeting *meeting; /* of several processes, else NULL */
    uint32_t limit_ms;       /* see struct model_options */
    uint32_t small_nbytes;   /* the same */
    uint32_t columns;        /* of a row of a sum */
    uint64_t most_nbytes;    /* of a sum */
};

/* n GPUs of this process. */
bool team_open(struct gpu *const *gpus, size_t n, const struct team_options *o,
               struct team **out, struct fault *fault);
/* Before its GPUs are closed; NULL does nothing. */
void team_close(struct team *team);
/* Makes memory known in which inputs of calls lie: [n], at the beginning of an
 * allocation of each GPU of this process. */
bool team_share(struct team *team, void *const *buffers, uint64_t nbytes,
                struct fault *fault);
/* How long a GPU waits. */
double team_limit_s(const struct team *team);
/* Whether every GPU has had what it waited for; waits for what they do. */
bool team_check(struct team *team, struct fault *fault);

/* A sum of all ranks, and the next step; rows and columns as op_add_norm()'s.
 */
struct team_sum {
    const float *x; /* this rank's part of it */
    float *stream;  /* the sum is added to it; NULL: it stands alone, */
    float *alone;   /* here */
    const float *weight;
    uint32_t rows, columns;
    float eps;
    float *out; /* the norm, */
    void *q8;   /* or the norm quantized, if it is not NULL */
};

/* Number i of this process's GPUs does its part. */
bool team_sum(struct team *team, size_t i, const struct team_sum *s,
              struct fault *fault);
/* out [ranks, n]: all ranks' x [n] */
bool team_gather(struct team *team, size_t i, const float *x, size_t n,
                 float *out, struct fault *fault);

#endif
