/* test_comm.c - groups of 2, 4 and 8 GPUs in one process, and in several
 *
 * On simulated GPUs it runs once for each processor of KPK_SIM_DEVICES, with
 * so many devices of it, in processes of their own: the runtime reads the
 * variable once. A machine with GPUs runs it on them, of which a single
 * one serves two ranks, and through the library of KPK_NCCL_LIBRARY or
 * KPK_RCCL_LIBRARY. With FULL=1 every processor runs every number of ranks.
 *
 * Ends with "N passed, M failed".
 */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "calls.h"

#include "../../kernels/host/comm_inside.h" /* workspaces */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void open_group(struct group *g, uint32_t limit_ms)
{
    kpk_comm_options options = options_of_tests;
    kpk_instance *insts[MOST];
    void *buffers[MOST];

    options.limit_ms = limit_ms;
    for (uint32_t r = 0; r < g->n; r++) {
        open_rank(g, r, (int)r);
        insts[r] = g->ranks[r].inst;
        buffers[r] = g->ranks[r].in;
    }
    need(kpk_comm_open(insts, g->n, &options, &g->comm), "opening a group");
    need(kpk_comm_register(g->comm, buffers, OUT_NBYTES), "registering");
}

static void close_group(struct group *g)
{
    check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
    for (uint32_t r = 0; r < g->n; r++)
        close_rank(g, r);
}

static void check_all(const struct group *g)
{
    float *out[MOST];

    for (uint32_t r = 0; r < g->n; r++) {
        out[r] = malloc(OUT_NBYTES);
        if (!out[r])
            exit(2);
        fetch(g, r, out[r]);
    }
    check_results(g->n, out);
    for (uint32_t r = 0; r < g->n; r++)
        free(out[r]);
}

/* A call on all ranks at once. */
static void launch_all(struct group *g, uint32_t c)
{
    const void *in[MOST];
    void *out[MOST], *streams[MOST];
    kpk_comm_plan plan;

    for (uint32_t r = 0; r < g->n; r++) {
        in[r] = g->ranks[r].in + c * LARGEST;
        out[r] = g->ranks[r].out + c * LARGEST;
        streams[r] = g->ranks[r].stream;
    }
    need(kpk_comm_choose(g->comm, calls[c].op, KPK_COMM_F32, calls[c].n, &plan),
         "a plan");
    out[g->n - 1] = NULL; /* no rank may start then */
    check(kpk_comm_launch_all(g->comm, &plan, calls[c].root, in, out,
                              streams) == KPK_ERR_ARG,
          "no output on the last rank");
    if (calls[c].op == KPK_COMM_ALL_REDUCE) {
        kpk_comm_plan nothing;

        out[g->n - 1] = (void *)in[g->n - 1];
        check(kpk_comm_launch_all(g->comm, &plan, calls[c].root, in, out,
                                  streams) == KPK_ERR_ARG &&
                  strstr(kpk_error_message(), "not on rank 0"),
              "in place on the last rank alone");
        need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 0,
                             &nothing),
             "a plan");
        check(kpk_comm_launch_all(g->comm, &nothing, 0, in, out, streams) ==
                  KPK_OK,
              "no elements, in place on the last rank alone");
        out[g->n - 1] = g->ranks[g->n - 1].out + c * LARGEST;
        out[0] = (void *)in[0];
        check(kpk_comm_launch_all(g->comm, &plan, calls[c].root, in, out,
                                  streams) == KPK_ERR_ARG &&
                  strstr(kpk_error_message(), "on rank 0, and not on rank 1"),
              "in place on rank 0 alone");
        out[0] = g->ranks[0].out + c * LARGEST;
    }
    out[g->n - 1] = g->ranks[g->n - 1].out + c * LARGEST;
    need(kpk_comm_launch_all(g->comm, &plan, calls[c].root, in, out, streams),
         plan.kernel);
}

static void check_calls_in_a_row(struct group *g)
{
    for (uint32_t c = 0; c < CALLS; c++) {
        if (c % 2)
            launch_all(g, c);
        for (uint32_t r = 0; c % 2 == 0 && r < g->n; r++)
            launch(g, c, r);
    }
    check_all(g);
}

/* Each rank records the calls in a graph and launches it three times. */
static void check_graphs(struct group *g)
{
    void *graphs[MOST], *execs[MOST];

    for (uint32_t r = 0; r < g->n; r++) {
        const struct rank *k = &g->ranks[r];

        clear(g, r);
        need(kpk_capture_begin(k->inst, k->stream, KPK_CAPTURE_THREAD),
             "recording");
        for (uint32_t c = 0; c < CALLS; c++)
            launch(g, c, r);
        need(kpk_capture_end(k->inst, k->stream, &graphs[r]), "recording");
        need(kpk_graph_instantiate(k->inst, graphs[r], &execs[r]), "a graph");
    }
    for (int again = 0; again < 3; again++)
        for (uint32_t r = 0; r < g->n; r++)
            need(kpk_graph_launch(g->ranks[r].inst, execs[r],
                                  g->ranks[r].stream),
                 "a graph");
    check_all(g);
    for (uint32_t r = 0; r < g->n; r++) {
        need(kpk_graph_exec_destroy(g->ranks[r].inst, execs[r]), "a graph");
        need(kpk_graph_destroy(g->ranks[r].inst, graphs[r]), "a graph");
    }
}

/* A large call in place, in a buffer that is not registered. */
static void check_unregistered(struct group *g, kpk_comm_op op, const char *why)
{
    const struct rank *k = &g->ranks[0];
    kpk_comm_plan plan;

    need(kpk_comm_choose(g->comm, op, KPK_COMM_F32, 1 << 20, &plan), "a plan");
    check(plan.registered == 1, "a large message");
    check(kpk_comm_launch(g->comm, &plan, 0, 0, k->out, k->out, k->stream) ==
                  KPK_ERR_ARG &&
              strstr(kpk_error_message(), why) &&
              strstr(kpk_error_message(), "in no registered buffer"),
          "a buffer that is not registered");
}

static void check_errors(struct group *g)
{
    struct rank *k = &g->ranks[0];
    kpk_comm_plan plan;
    kpk_comm *none = NULL;
    kpk_instance *one[] = {k->inst};

    check(kpk_comm_open(one, 1, NULL, &none) == KPK_ERR_ARG && !none,
          "a group of one");
    check(kpk_comm_open(NULL, 2, NULL, &none) == KPK_ERR_ARG, "no instances");
    check(kpk_comm_choose(g->comm, (kpk_comm_op)9, KPK_COMM_F32, 1, &plan) ==
              KPK_ERR_ARG,
          "an operation that there is not");
    check(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, (kpk_comm_type)9, 1,
                          &plan) == KPK_ERR_ARG,
          "a type that there is not");
    check_unregistered(g, KPK_COMM_BROADCAST, "reads the inputs");
    if (kpk_instance_device(k->inst)->platform == KPK_CUDA)
        check_unregistered(g, KPK_COMM_ALL_REDUCE, "writes into the outputs");
    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 1 << 20,
                         &plan),
         "a plan");
    check(kpk_comm_launch(g->comm, &plan, g->n, 0, k->in, k->out, k->stream) ==
              KPK_ERR_ARG,
          "a rank that there is not");
    check(kpk_comm_launch(g->comm, &plan, 0, 0, NULL, k->out, k->stream) ==
              KPK_ERR_ARG,
          "no input");
    check(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 0,
                          &plan) == KPK_OK &&
              kpk_comm_launch(g->comm, &plan, 0, 0, NULL, NULL, k->stream) ==
                  KPK_OK,
          "no elements");
    check(kpk_comm_check(g->comm, g->n) == KPK_ERR_ARG, "no such rank");
}

/* ---- the ways of a message ---- */

static const struct {
    const char *name;
    kpk_comm_options options; /* with which messages of WAY_NBYTES take it */
} ways[] = {
    {"_small_",
     {.small_nbytes = 8000, .medium_nbytes = 128, .large_nbytes = 4000}},
    {"_medium_",
     {.small_nbytes = 16, .medium_nbytes = 8000, .large_nbytes = 4000}},
    {"_pushed_",
     {.small_nbytes = 16, .medium_nbytes = 128, .large_nbytes = 4000}},
};
enum { NWAYS = sizeof(ways) / sizeof(ways[0]), WAY_NBYTES = 7996 };

/* Numbers of the type from 0.0078 to 1.9, of either sign. */
static void make_input(uint32_t rank, kpk_comm_type type,
                       uint16_t out[WAY_NBYTES / 2])
{
    uint32_t state = 12345 + rank;

    for (size_t i = 0; i < WAY_NBYTES / 2; i++) {
        state = state * 1664525 + 1013904223;
        out[i] = (uint16_t)(state >> 16);
        if (type != KPK_COMM_F32 || i % 2)
            out[i] = (uint16_t)((out[i] & 0x83ff) | 0x3c00);
    }
}

/* Sums of the same numbers by a way: all ranks', one after the other. No buffer
 * is registered, for none is in place. */
static void sum_by_way(struct group *g, size_t w, kpk_comm_type type,
                       uint16_t *sums)
{
    const uint32_t n = WAY_NBYTES / (type == KPK_COMM_F32 ? 4u : 2u);
    uint16_t input[WAY_NBYTES / 2];
    kpk_instance *insts[MOST];
    void *buffers[MOST];
    kpk_comm_plan plan;

    for (uint32_t r = 0; r < g->n; r++) {
        insts[r] = g->ranks[r].inst;
        buffers[r] = g->ranks[r].in;
        make_input(r, type, input);
        need(kpk_copy_to(insts[r], buffers[r], input, WAY_NBYTES), "a copy");
    }
    need(kpk_comm_open(insts, g->n, &ways[w].options, &g->comm), "opening");
    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, type, n, &plan),
         "a plan");
    check(strstr(plan.kernel, ways[w].name) != NULL, plan.kernel);
    for (uint32_t r = 0; r < g->n; r++)
        need(kpk_comm_launch(g->comm, &plan, r, 0, buffers[r], g->ranks[r].out,
                             g->ranks[r].stream),
             plan.kernel);
    for (uint32_t r = 0; r < g->n; r++) {
        need(kpk_comm_sync(g->comm, r, g->ranks[r].stream), plan.kernel);
        need(kpk_copy_from(insts[r], sums + r * (WAY_NBYTES / 2),
                           g->ranks[r].out, WAY_NBYTES),
             "a copy");
    }
    check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
}

/* Of 2 ranks no sum takes numbered words, unless these are asked for. */
static void check_way_of_sums(struct group *g)
{
    static const kpk_comm_options given[] = {
        {.medium_nbytes = 10000, .large_nbytes = 40000},
        {.small_nbytes = 8000, .medium_nbytes = 10000, .large_nbytes = 40000}};
    kpk_instance *insts[MOST];
    kpk_comm_plan plan;

    for (uint32_t r = 0; r < g->n; r++)
        insts[r] = g->ranks[r].inst;
    for (int i = 0; i < 2; i++) {
        const bool plain = g->n == 2 && i == 0;

        need(kpk_comm_open(insts, g->n, &given[i], &g->comm), "opening");
        need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 64,
                             &plan),
             "a plan");
        check(strcmp(plan.kernel, plain ? "all_reduce_medium_f32"
                                        : "all_reduce_small_f32") == 0,
              plan.kernel);
        need(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, 1, 64, 0, &plan),
             "a plan");
        check(strcmp(plan.kernel, plain ? "all_reduce_norm_medium_f32"
                                        : "all_reduce_norm_small_f32") == 0,
              plan.kernel);
        check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
    }
}

/* All ranks have the same bits, and in all ways. */
static void check_ways(struct group *g)
{
    static uint16_t sums[NWAYS][MOST][WAY_NBYTES / 2];

    for (uint32_t r = 0; r < g->n; r++)
        open_rank(g, r, (int)r);
    for (int type = KPK_COMM_F16; type <= KPK_COMM_F32; type++)
        for (size_t w = 0; w < NWAYS; w++) {
            sum_by_way(g, w, (kpk_comm_type)type, sums[w][0]);
            for (uint32_t r = 0; r < g->n; r++)
                check(memcmp(sums[w][r], sums[0][0], WAY_NBYTES) == 0,
                      ways[w].name);
        }
    check_way_of_sums(g);
    for (uint32_t r = 0; r < g->n; r++)
        close_rank(g, r);
}

/* Numbers of calls begin again behind the largest. */
static void check_last_numbers(struct group *g)
{
    uint32_t epoch[COMM_BLOCKS];

    open_group(g, 60000);
    for (size_t i = 0; i < COMM_BLOCKS; i++)
        epoch[i] = UINT32_MAX - 5;
    for (uint32_t r = 0; r < g->n; r++)
        need(kpk_copy_to(g->ranks[r].inst, g->comm->workspaces[r] + COMM_EPOCH,
                         epoch, sizeof(epoch)),
             "a copy");
    check_calls_in_a_row(g);
    need(kpk_copy_from(g->ranks[0].inst, epoch,
                       g->comm->workspaces[0] + COMM_EPOCH, sizeof(epoch)),
         "a copy");
    check(epoch[0] > 1 && epoch[0] < CALLS, "the number after the largest");
    close_group(g);
}

/* ---- refused calls ---- */

/* Options and sizes that a group refuses. */
static void check_sizes(struct group *g)
{
    static const struct {
        kpk_comm_options options;
        const char *what;
    } refused[] = {
        {{.small_nbytes = (1 << 20) + 1}, "small messages"},
        {{.medium_nbytes = UINT64_MAX}, "medium messages"},
        {{.large_nbytes = UINT64_MAX}, "large messages"},
    };
    kpk_instance *insts[MOST];
    kpk_comm *none = NULL;
    kpk_comm_plan plan;

    for (uint32_t r = 0; r < g->n; r++)
        insts[r] = g->ranks[r].inst;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        check(kpk_comm_open(insts, g->n, &refused[i].options, &none) ==
                      KPK_ERR_ARG &&
                  !none,
              refused[i].what);
    check(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32,
                          UINT64_C(1) << 62, &plan) == KPK_ERR_ARG,
          "more elements than an address space has");
}

static void check_norm_errors(struct group *g)
{
    static const struct {
        uint32_t columns, padded;
        const char *what;
    } refused[] = {
        {0, 0, "rows without columns"},
        {5, 0, "rows of odd columns"},
        {64, 33, "blocks of odd columns"},
        {64, 32, "fewer columns of blocks than of numbers"},
        {1 << 20, 0, "a row that does not fit"},
    };
    const struct rank *k = &g->ranks[0];
    kpk_comm_norm_args norm = {
        .in = k->in, .sum = k->out, .out = k->out + 64, .eps = 1};
    kpk_comm_plan plan, other;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        check(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, 1, refused[i].columns,
                                   refused[i].padded, &plan) == KPK_ERR_ARG,
              refused[i].what);
    check(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, UINT32_MAX, 1u << 31, 0,
                               &plan) == KPK_ERR_ARG,
          "more rows than an address space has");
    need(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, 1, 64, 0, &plan),
         "a plan of a norm");
    need(
        kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 64, &other),
        "a plan");
    check(kpk_comm_launch(g->comm, &plan, 0, 0, k->in, k->out, k->stream) ==
              KPK_ERR_ARG,
          "a norm's plan for another call");
    check(kpk_comm_norm(g->comm, &other, 0, &norm, k->stream) == KPK_ERR_ARG,
          "another call's plan for a norm");
    check(kpk_comm_norm(g->comm, &plan, g->n, &norm, k->stream) == KPK_ERR_ARG,
          "a norm on a rank that there is not");
    norm.in = k->in + 1;
    check(kpk_comm_norm(g->comm, &plan, 0, &norm, k->stream) == KPK_ERR_ARG,
          "an input between pieces");
    norm.in = NULL;
    check(kpk_comm_norm(g->comm, &plan, 0, &norm, k->stream) == KPK_ERR_ARG,
          "a norm of nothing");
}

/*
 * Rank `killed` never makes the call: all other ranks time out and name it. On
 * a loaded machine a short limit makes other ranks late, too: returns false if
 * a message names another rank, which is a failure in the last try only.
 */
static bool miss(struct group *g, uint32_t c, uint32_t killed,
                 uint32_t limit_ms, bool last_try)
{
    char name[48];
    uint32_t wrong = 0;
    kpk_comm_norm_args norm = {.eps = 1};
    kpk_comm_plan plan;
    void *buffers[MOST];

    open_group(g, limit_ms);
    for (uint32_t r = 0; r < g->n; r++)
        for (int again = 0; again < 3; again++) /* the later ones wait not */
            if (r != killed)
                launch(g, c, r);
    for (uint32_t r = 0; r < g->n; r++)
        need(kpk_sync(g->ranks[r].inst, g->ranks[r].stream), "waiting");
    snprintf(name, sizeof(name), "for rank %u for %u ms in vain",
             (unsigned)killed, (unsigned)limit_ms);
    for (uint32_t r = 0; r < g->n; r++) {
        if (r == killed)
            continue;
        check(kpk_comm_check(g->comm, r) == KPK_ERR_TIMEOUT,
              "a rank that does not come");
        wrong += !strstr(kpk_error_message(), name);
    }
    if (wrong == 0 || last_try)
        check(wrong == 0, "the rank's number");
    need(kpk_comm_choose(g->comm, calls[c].op, KPK_COMM_F32, calls[c].n, &plan),
         "a plan");
    check(kpk_comm_launch(g->comm, &plan, killed, calls[c].root,
                          g->ranks[killed].in, g->ranks[killed].out,
                          g->ranks[killed].stream) == KPK_ERR_TIMEOUT &&
              strstr(kpk_error_message(), "Close it and open another one"),
          "a launch after that");
    norm.in = norm.sum = g->ranks[killed].in;
    norm.out = g->ranks[killed].out;
    need(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, 1, 4, 0, &plan), "a plan");
    check(kpk_comm_norm(g->comm, &plan, killed, &norm,
                        g->ranks[killed].stream) == KPK_ERR_TIMEOUT,
          "a norm after that");
    for (uint32_t r = 0; r < g->n; r++)
        buffers[r] = g->ranks[r].in;
    check(kpk_comm_register(g->comm, buffers, 4) == KPK_ERR_TIMEOUT,
          "registering after that");
    check(kpk_comm_check(g->comm, killed) == KPK_ERR_TIMEOUT,
          "who has not waited");
    close_group(g);
    return wrong == 0;
}

enum { NORM_ROWS = 3, NORM_COLUMNS = 2048, NORM_N = NORM_ROWS * NORM_COLUMNS };

/* Element i of an input. With a `scale` of 1e30 squares are out of range. */
static float norm_input(uint32_t r, size_t i, float scale)
{
    return (float)((int)((i * 37 + r * 11) % 101) - 50) * scale;
}

static void launch_norm(struct group *g, uint32_t r, float scale)
{
    static float host[NORM_N];
    const struct rank *k = &g->ranks[r];
    const kpk_comm_norm_args norm = {
        .in = k->in, .sum = k->out, .out = k->out + NORM_N, .eps = 1};
    kpk_comm_plan plan;

    for (size_t i = 0; i < NORM_N; i++)
        host[i] = norm_input(r, i, scale);
    need(kpk_copy_to(k->inst, k->in, host, sizeof(host)), "a copy");
    need(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, NORM_ROWS, NORM_COLUMNS, 0,
                              &plan),
         "a plan of a norm");
    need(kpk_comm_norm(g->comm, &plan, r, &norm, k->stream), plan.kernel);
}

/* Holds the sums and norms of a rank against double precision. */
static bool normed(const struct group *g, uint32_t r, float scale)
{
    static float got[2][NORM_N];
    double sums[NORM_N];
    size_t wrong = 0;

    need(kpk_sync(g->ranks[r].inst, g->ranks[r].stream), "waiting");
    need(kpk_copy_from(g->ranks[r].inst, got, g->ranks[r].out, sizeof(got)),
         "a copy");
    for (size_t row = 0; row < NORM_ROWS; row++) {
        double squares = 0, root;

        for (size_t i = row * NORM_COLUMNS; i < (row + 1) * NORM_COLUMNS; i++) {
            sums[i] = 0;
            for (uint32_t s = 0; s < g->n; s++)
                sums[i] += (double)norm_input(s, i, scale);
            squares += sums[i] * sums[i];
        }
        root = sqrt(squares / NORM_COLUMNS + 1);
        for (size_t i = row * NORM_COLUMNS; i < (row + 1) * NORM_COLUMNS; i++) {
            wrong += !(fabs((double)got[0][i] - sums[i]) <= 1e-5 * root);
            wrong += !(fabs((double)got[1][i] - sums[i] / root) <= 1e-5);
        }
    }
    return wrong == 0;
}

/* Norms of rows that blocks share, in a cluster on GPUs that have clusters.
 * Then a rank waits alone, and all of its blocks end. */
static void check_norms(struct group *g)
{
    static const float scales[] = {1, 1e30F, 1};
    kpk_comm_options options = {
        .medium_nbytes = 40000, .large_nbytes = 40000, .limit_ms = 60000};
    kpk_instance *insts[MOST];

    for (uint32_t r = 0; r < g->n; r++) {
        open_rank(g, r, (int)r);
        insts[r] = g->ranks[r].inst;
    }
    need(kpk_comm_open(insts, g->n, &options, &g->comm), "opening");
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        for (uint32_t r = 0; r < g->n; r++)
            launch_norm(g, r, scales[i]);
        for (uint32_t r = 0; r < g->n; r++)
            check(normed(g, r, scales[i]), "a norm");
    }
    check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
    options.limit_ms = 50;
    need(kpk_comm_open(insts, g->n, &options, &g->comm), "opening");
    launch_norm(g, 0, 1);
    need(kpk_sync(insts[0], g->ranks[0].stream), "waiting");
    check(kpk_comm_check(g->comm, 0) == KPK_ERR_TIMEOUT,
          "a norm without the others");
    check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
    for (uint32_t r = 0; r < g->n; r++)
        close_rank(g, r);
}

/* Each rank in turn, by a small call and by a large one. */
static void check_killed(struct group *g)
{
    static const uint32_t of[] = {0 /* small */, 4 /* large */};

    for (uint32_t killed = 0; killed < g->n; killed++)
        for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
            uint32_t limit_ms = 50;

            while (!miss(g, of[i], killed, limit_ms, limit_ms > 10000))
                limit_ms *= 4;
        }
}

static void run(uint32_t ranks)
{
    struct group g = {.n = ranks};

    open_group(&g, 60000);
    check_calls_in_a_row(&g);
    check_graphs(&g);
    check_errors(&g);
    check_sizes(&g);
    check_norm_errors(&g);
    check_no_memory(&g);
    close_group(&g);
    check_ways(&g);
    check_last_numbers(&g);
    check_norms(&g);
    check_killed(&g);
    open_group(&g, 60000); /* another one works */
    check_calls_in_a_row(&g);
    close_group(&g);
}

/* ---- all tests ---------------------------------------------------------- */

/* Runs in a child, whose counts come by a pipe: the parent must not have
 * called the runtime when it forks again. */
static void run_apart(const char *devices, void (*run_them)(uint32_t),
                      uint32_t ranks)
{
    unsigned counts[2] = {0, 1};
    int ends[2], status = 0;
    pid_t child;

    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        exit(2);
    if (child == 0) {
        if (devices)
            (void)setenv("KPK_SIM_DEVICES", devices, 1);
        passed = failed = 0;
        run_them(ranks);
        counts[0] = passed;
        counts[1] = failed;
        fflush(stdout);
        _exit(write(ends[1], counts, sizeof(counts)) != sizeof(counts));
    }
    close(ends[1]);
    check(read(ends[0], counts, sizeof(counts)) == sizeof(counts),
          "counts of the process");
    check(waitpid(child, &status, 0) == child && status == 0,
          "the end of the process");
    close(ends[0]);
    passed += counts[0];
    failed += counts[1];
}

static char *list_of(const char *target, uint32_t ranks)
{
    static char devices[1024];

    devices[0] = 0;
    for (uint32_t r = 0; r < ranks; r++)
        snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices),
                 "%s%s", r ? "," : "", target);
    return *target ? devices : NULL;
}

/* In one process, and up to 4 ranks in one each. */
static void run_on(const char *target, uint32_t ranks)
{
    const char *devices = list_of(target, ranks);
    char name[128];

    snprintf(name, sizeof(name), "%u x %s", (unsigned)ranks, target);
    where = name;
    run_apart(devices, run, ranks);
    if (ranks <= 4) {
        snprintf(name, sizeof(name), "%u processes x %s", (unsigned)ranks,
                 target);
        run_processes(devices, NULL, ranks);
    }
    where = "";
}

/* By a library, which does not mind the target. */
static void run_stand_in(const char *target)
{
    where = "2 by a library";
    run_apart(list_of(target, 2), run_by_library, 2);
    run_processes(list_of(target, 2), stand_in(), 2);
    where = "3 by a library";
    run_processes(list_of(target, 3), stand_in(), 3);
    where = "10 by a library";
    run_apart(list_of(target, MOST_BY_LIBRARY), run_by_library,
              MOST_BY_LIBRARY);
    where = "";
}

/* Asks how many GPUs the machine has, in a child. */
static uint32_t devices_here(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int count = 0;

        _exit(kpk_device_count(&count) == KPK_OK && count < 100 ? count : 0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? (uint32_t)WEXITSTATUS(status)
               : 0;
}

int main(void)
{
    const char *listed = getenv("KPK_SIM_DEVICES");
    char *targets = listed ? strdup(listed) : NULL;
    const uint32_t count = listed ? 0 : devices_here();
    const char *nccl = getenv("KPK_NCCL_LIBRARY");
    const char *own = nccl ? nccl : getenv("KPK_RCCL_LIBRARY");
    unsigned nth = 0;

    for (char *t = targets ? strtok(targets, ",") : NULL; t;
         t = strtok(NULL, ",")) {
        for (uint32_t ranks = 2; ranks <= MOST; ranks *= 2)
            if (ranks == 2 || nth % 2 == ranks / 8 || getenv("FULL"))
                run_on(t, ranks);
        if (nth == 0)
            run_stand_in(t);
        nth++;
    }
    free(targets);
    if (!listed && count == 0) {
        puts("SKIPPED: no GPU, and no KPK_SIM_DEVICES\n"
             "0 passed, 0 failed, 1 skipped");
        return 0;
    }
    if (count == 1) { /* two ranks share the GPU */
        ndevices = 1;
        run_on("", 2);
    }
    for (uint32_t ranks = 2; ranks <= MOST && ranks <= count; ranks *= 2) {
        run_on("", ranks);
        if (!own)
            continue;
        where = own;
        run_apart(NULL, run_by_own_library, ranks);
        run_processes(NULL, own, ranks);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
