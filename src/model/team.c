/* team.c - GPUs that each have a slice of every tensor, and add up */
#include "team.h"

#include "meeting.h"

#include <kpack/candle/comm_group.h>

#include <stdlib.h>
#include <string.h>

struct team {
    kpk_comm *comm;
    uint32_t first, ranks, limit_ms;
    size_t n; /* ranks of this process */
    struct gpu *gpus[KPK_COMM_MOST_RANKS];
};

static bool open_comm(struct team *team, const struct team_options *o,
                      struct fault *fault)
{
    const kpk_comm_options options = {
        .small_nbytes = o->small_nbytes,
        .large_nbytes = o->most_nbytes,
        .limit_ms = o->limit_ms,
    };
    kpk_instance *insts[KPK_COMM_MOST_RANKS] = {NULL};
    kpk_status st;

    for (size_t i = 0; i < team->n; i++)
        insts[i] = gpu_instance(team->gpus[i]);
    st = o->meeting
             ? kpk_comm_open_rank(insts[0], o->rank, o->ranks, &options,
                                  meeting_gather, o->meeting, &team->comm)
             : kpk_comm_open(insts, o->ranks, &options, &team->comm);
    return check(st, "--split tensor", fault);
}

/* Sums with a norm have no other way than the kernels. */
static bool has_kernels(const struct team *team, uint32_t columns,
                        struct fault *fault)
{
    kpk_comm_plan plan;

    return check(
        kpk_comm_choose_norm(team->comm, KPK_COMM_F32, 1, columns, 0, &plan),
        "--split tensor needs GPUs that reach each other's memory", fault);
}

bool team_open(struct gpu *const *gpus, size_t n, const struct team_options *o,
               struct team **out, struct fault *fault)
{
    struct team *team = calloc(1, sizeof(*team));

    if (!team)
        return fail(fault, "no memory for %u GPUs", (unsigned)o->ranks);
    team->first = o->rank;
    team->ranks = o->ranks;
    team->limit_ms = o->limit_ms ? o->limit_ms : 10000;
    team->n = n;
    for (size_t i = 0; i < n; i++)
        team->gpus[i] = gpus[i];
    if (open_comm(team, o, fault) && has_kernels(team, o->columns, fault)) {
        *out = team;
        return true;
    }
    team_close(team);
    return false;
}

void team_close(struct team *team)
{
    if (!team)
        return;
    for (size_t i = 0; team->comm && i < team->n; i++)
        (void)kpk_comm_sync(team->comm, team->first + (uint32_t)i,
                            gpu_stream(team->gpus[i]));
    (void)kpk_comm_close(team->comm);
    free(team);
}

bool team_share(struct team *team, void *const *buffers, uint64_t nbytes,
                struct fault *fault)
{
    void *all[KPK_COMM_MOST_RANKS] = {NULL};

    for (size_t i = 0; i < team->n; i++)
        all[team->first + i] = buffers[i];
    return check(kpk_comm_register(team->comm, all, nbytes),
                 "sharing a run's values", fault);
}

double team_limit_s(const struct team *team)
{
    return team->limit_ms / 1e3;
}

/* Takes the first sentence of the group's message; the second one is for
 * programmers. */
static bool missed(struct fault *fault)
{
    const char *said = kpk_error_message();

    return fail(fault,
                "--split tensor: %.*s. Start all processes again; --limit-ms "
                "gives more time",
                (int)strcspn(said, "."), said);
}

bool team_check(struct team *team, struct fault *fault)
{
    kpk_status st = KPK_OK;

    for (size_t i = 0; st == KPK_OK && i < team->n; i++)
        st = kpk_comm_check(team->comm, team->first + (uint32_t)i);
    return st == KPK_ERR_TIMEOUT ? missed(fault)
                                 : check(st, "--split tensor", fault);
}

bool team_sum(struct team *team, size_t i, const struct team_sum *s,
              struct fault *fault)
{
    const kpk_comm_norm_args args = {
        .in = s->x,
        .residual = s->stream,
        .sum = s->stream ? s->stream : s->alone,
        .weight = s->weight,
        .out = s->q8 ? s->q8 : s->out,
        .eps = s->eps,
    };
    kpk_comm_plan plan;

    return check(kpk_comm_choose_norm(
                     team->comm, KPK_COMM_F32, s->rows, s->columns,
                     s->q8 ? op_quantized_columns(s->columns) : 0, &plan),
                 "a sum", fault) &&
           check(kpk_comm_norm(team->comm, &plan, team->first + (uint32_t)i,
                               &args, gpu_stream(team->gpus[i])),
                 "a sum", fault);
}

bool team_gather(struct team *team, size_t i, const float *x, size_t n,
                 float *out, struct fault *fault)
{
    kpk_comm_plan plan;

    return check(kpk_comm_choose(team->comm, KPK_COMM_ALL_GATHER, KPK_COMM_F32,
                                 n, &plan),
                 "logits", fault) &&
           check(kpk_comm_launch(team->comm, &plan, team->first + (uint32_t)i,
                                 0, x, out, gpu_stream(team->gpus[i])),
                 "logits", fault);
}
