/* test_comm.c - groups of 2, 4 and 8 GPUs in one process
 *
 * On simulated GPUs it runs once for each processor of KPK_SIM_DEVICES, with
 * so many devices of it, in a process of its own: the runtime reads the
 * variable once. On a machine with GPUs it takes as many as there are. With
 * FULL=1 every processor runs every number of ranks.
 *
 * Ends with "N passed, M failed".
 */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "kpack/candle/comm_group.h"
#include "kpack/types.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const kpk_module kpk_module_comm;

enum { MOST = KPK_COMM_MOST_RANKS, LARGEST = 20000, CALLS = 12 };

static unsigned passed, failed;
static const char *where = "";

static bool check(bool holds, const char *what)
{
    passed += holds;
    failed += !holds;
    if (!holds)
        printf("FAIL %s: %s: %s\n", where, what, kpk_error_message());
    return holds;
}

/* A failure ends the process: nothing after it can work. */
static void need(kpk_status st, const char *what)
{
    if (st != KPK_OK) {
        printf("FAIL %s: %s: %s\n%u passed, %u failed\n", where, what,
               kpk_error_message(), passed, failed + 1);
        exit(1);
    }
}

struct rank {
    kpk_instance *inst;
    void *stream;
    float *in, *out; /* [CALLS][LARGEST] each, on the device */
};

struct group {
    uint32_t n;
    struct rank ranks[MOST];
    kpk_comm *comm;
};

static float number(uint32_t call, uint32_t rank, size_t i)
{
    const uint32_t mixed =
        (uint32_t)(i * 2654435761u) ^ (call * 40503u + rank * 2246822519u);

    return (float)(int32_t)(mixed * 747796405u + 2891336453u) / 0x1p29f;
}

static void open_group(struct group *g, uint32_t limit_ms)
{
    const kpk_comm_options options = {
        .small_nbytes = 8000, .large_nbytes = 40000, .limit_ms = limit_ms};
    const kpk_module *module = &kpk_module_comm;
    const size_t nbytes = sizeof(float) * CALLS * LARGEST;
    kpk_instance *insts[MOST];
    void *buffers[MOST];
    float *host = malloc(nbytes);

    if (!host)
        exit(2);
    for (uint32_t r = 0; r < g->n; r++) {
        struct rank *k = &g->ranks[r];

        need(kpk_open_modules(&module, 1, (int)r, &k->inst), "opening");
        need(kpk_stream_create(k->inst, KPK_STREAM_NON_BLOCKING, &k->stream),
             "a stream");
        need(kpk_malloc(k->inst, nbytes, (void **)&k->in), "memory");
        need(kpk_malloc(k->inst, nbytes, (void **)&k->out), "memory");
        for (uint32_t c = 0; c < CALLS; c++)
            for (size_t i = 0; i < LARGEST; i++)
                host[c * LARGEST + i] = number(c, r, i);
        need(kpk_copy_to(k->inst, k->in, host, nbytes), "a copy");
        need(kpk_fill(k->inst, k->out, 0x55, nbytes), "a fill");
        need(kpk_sync(k->inst, NULL), "waiting");
        insts[r] = k->inst;
        buffers[r] = k->in;
    }
    free(host);
    need(kpk_comm_open(insts, g->n, &options, &g->comm), "opening a group");
    need(kpk_comm_register(g->comm, buffers, nbytes), "registering");
}

static void close_group(struct group *g)
{
    check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
    for (uint32_t r = 0; r < g->n; r++) {
        struct rank *k = &g->ranks[r];

        check(kpk_stream_destroy(k->inst, k->stream) == KPK_OK &&
                  kpk_free(k->inst, k->in) == KPK_OK &&
                  kpk_free(k->inst, k->out) == KPK_OK &&
                  kpk_close(k->inst) == KPK_OK,
              "closing");
    }
}

/* Calls of all kinds, small and large, in a row: none waits for the host. */
static const struct {
    kpk_comm_op op;
    uint32_t n, root;
} calls[CALLS] = {
    {KPK_COMM_ALL_REDUCE, 1, 0},        {KPK_COMM_BROADCAST, 700, 1},
    {KPK_COMM_BROADCAST, 1300, 1},      {KPK_COMM_BROADCAST, 3, 0},
    {KPK_COMM_ALL_REDUCE, LARGEST, 0},  {KPK_COMM_ALL_REDUCE, 2049, 0},
    {KPK_COMM_REDUCE_SCATTER, 501, 0},  {KPK_COMM_ALL_GATHER, 333, 0},
    {KPK_COMM_REDUCE_SCATTER, 2048, 0}, {KPK_COMM_ALL_GATHER, 2500, 0},
    {KPK_COMM_BROADCAST, LARGEST, 1},   {KPK_COMM_ALL_REDUCE, 9, 0},
};

static void launch(struct group *g, uint32_t c, uint32_t r)
{
    struct rank *k = &g->ranks[r];
    kpk_comm_plan plan;

    need(kpk_comm_choose(g->comm, calls[c].op, KPK_COMM_F32, calls[c].n, &plan),
         "a plan");
    need(kpk_comm_launch(g->comm, &plan, r, calls[c].root, k->in + c * LARGEST,
                         k->out + c * LARGEST, k->stream),
         plan.kernel);
}

/* Element i of what rank r gets of call c, and how far off it may be. */
static double wanted(uint32_t n, uint32_t c, uint32_t r, size_t i,
                     double *margin)
{
    const size_t count = calls[c].n;
    double sum = 0;

    *margin = 0;
    switch (calls[c].op) {
    case KPK_COMM_BROADCAST:
        return (double)number(c, calls[c].root, i);
    case KPK_COMM_ALL_GATHER:
        return (double)number(c, (uint32_t)(i / count), i % count);
    case KPK_COMM_REDUCE_SCATTER:
        i += r * count;
        break;
    case KPK_COMM_ALL_REDUCE:
        break;
    }
    for (uint32_t s = 0; s < n; s++) {
        sum += (double)number(c, s, i);
        *margin += fabs((double)number(c, s, i)) * n * 0x1p-24;
    }
    return sum;
}

static void check_call(const struct group *g, uint32_t c, float *const *out)
{
    const uint32_t n = g->n;
    const size_t count =
        (size_t)calls[c].n * (calls[c].op == KPK_COMM_ALL_GATHER ? n : 1);
    char what[96];
    size_t wrong = 0, untouched = 0;

    for (uint32_t r = 0; r < n; r++) {
        const float *got = out[r] + c * LARGEST;

        for (size_t i = 0; i < count; i++) {
            double margin;
            const double want = wanted(n, c, r, i, &margin);

            wrong += !(fabs((double)got[i] - want) <= margin);
        }
        if (calls[c].op == KPK_COMM_ALL_REDUCE)
            wrong += memcmp(got, out[0] + c * LARGEST, count * 4) != 0;
        for (size_t i = count; i < LARGEST; i++)
            untouched += memcmp(got + i, "\x55\x55\x55\x55", 4) == 0;
    }
    snprintf(what, sizeof(what), "call %u of %u elements: %zu wrong",
             (unsigned)c, (unsigned)calls[c].n, wrong);
    check(wrong == 0, what);
    check(untouched == n * (LARGEST - count), "bytes behind a result");
}

static void check_all(const struct group *g)
{
    const size_t nbytes = sizeof(float) * CALLS * LARGEST;
    float *out[MOST];

    for (uint32_t r = 0; r < g->n; r++) {
        const struct rank *k = &g->ranks[r];

        out[r] = malloc(nbytes);
        if (!out[r])
            exit(2);
        need(kpk_sync(k->inst, k->stream), "waiting for the calls");
        need(kpk_comm_check(g->comm, r), "the calls");
        need(kpk_copy_from(k->inst, out[r], k->out, nbytes), "a copy");
    }
    for (uint32_t c = 0; c < CALLS; c++)
        check_call(g, c, out);
    for (uint32_t r = 0; r < g->n; r++)
        free(out[r]);
}

static void clear(const struct group *g)
{
    for (uint32_t r = 0; r < g->n; r++) {
        const struct rank *k = &g->ranks[r];

        need(kpk_fill(k->inst, k->out, 0x55, sizeof(float) * CALLS * LARGEST),
             "a fill");
        need(kpk_sync(k->inst, NULL), "waiting");
    }
}

static void check_calls_in_a_row(struct group *g)
{
    for (uint32_t c = 0; c < CALLS; c++)
        for (uint32_t r = 0; r < g->n; r++)
            launch(g, c, r);
    check_all(g);
}

/* The same by a graph of each rank, which is launched three times. */
static void check_graphs(struct group *g)
{
    void *graphs[MOST], *execs[MOST];

    clear(g);
    for (uint32_t r = 0; r < g->n; r++) {
        const struct rank *k = &g->ranks[r];

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
    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 1 << 20,
                         &plan),
         "a plan");
    check(plan.registered == 1, "a large message");
    check(kpk_comm_launch(g->comm, &plan, 0, 0, k->out, k->out, k->stream) ==
                  KPK_ERR_ARG &&
              strstr(kpk_error_message(), "in no registered buffer"),
          "a buffer that is not registered");
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

/*
 * Rank `killed` does not come: all others end, and say whom they miss. A limit
 * that is short beside the machine's load lets them miss each other, too:
 * false if one names another rank, which fails the last try alone.
 */
static bool miss(struct group *g, uint32_t c, uint32_t killed,
                 uint32_t limit_ms, bool last_try)
{
    char name[48];
    uint32_t wrong = 0;
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
    for (uint32_t r = 0; r < g->n; r++)
        buffers[r] = g->ranks[r].in;
    check(kpk_comm_register(g->comm, buffers, 4) == KPK_ERR_TIMEOUT,
          "registering after that");
    check(kpk_comm_check(g->comm, killed) == KPK_ERR_TIMEOUT,
          "who has not waited");
    close_group(g);
    return wrong == 0;
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
    close_group(&g);
    check_killed(&g);
    open_group(&g, 60000); /* another one works */
    check_calls_in_a_row(&g);
    close_group(&g);
}

/* ---- processes ---------------------------------------------------------- */

/* run() on so many simulated devices, in a child; its counts come by a pipe. */
static void run_on(const char *target, uint32_t ranks)
{
    char devices[1024] = "", name[128];
    unsigned counts[2] = {0, 1};
    int ends[2], status = 0;
    pid_t child;

    for (uint32_t r = 0; r < ranks; r++)
        snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices),
                 "%s%s", r ? "," : "", target);
    snprintf(name, sizeof(name), "%u x %s", (unsigned)ranks, target);
    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        exit(2);
    if (child == 0) {
        setenv("KPK_SIM_DEVICES", devices, 1);
        where = name;
        passed = failed = 0;
        run(ranks);
        counts[0] = passed;
        counts[1] = failed;
        fflush(stdout);
        _exit(write(ends[1], counts, sizeof(counts)) != sizeof(counts));
    }
    close(ends[1]);
    if (read(ends[0], counts, sizeof(counts)) != sizeof(counts) ||
        waitpid(child, &status, 0) != child || status != 0)
        printf("FAIL %s: the process ended with %d\n", name, status);
    close(ends[0]);
    passed += counts[0];
    failed += counts[1];
}

int main(void)
{
    const char *listed = getenv("KPK_SIM_DEVICES");
    char *targets = listed ? strdup(listed) : NULL;
    unsigned nth = 0;
    int count = 0;

    for (char *t = targets ? strtok(targets, ",") : NULL; t;
         t = strtok(NULL, ",")) {
        for (uint32_t ranks = 2; ranks <= MOST; ranks *= 2)
            if (ranks == 2 || nth % 2 == ranks / 8 || getenv("FULL"))
                run_on(t, ranks);
        nth++;
    }
    free(targets);
    if (!listed && kpk_device_count(&count) == KPK_OK)
        for (uint32_t ranks = 2; ranks <= MOST && (int)ranks <= count;
             ranks *= 2)
            run(ranks);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
