/* processes.c - a group has a process for each rank, and one is killed
 *
 * The parent never calls the runtime, as drivers do not survive fork(). It and
 * its children share a page: bytes of the gathers, results, and counts.
 */
/* For setenv and MAP_ANONYMOUS; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "calls.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CARD_NBYTES = 512, NOBODY = MOST, MISNAMED = 3 };

/* The ranks' gathers: each rank writes its bytes of gather number k, then sets
 * arrived[rank] to k. Two slots are enough, as no rank is two gathers ahead. */
struct meeting {
    uint32_t n;
    atomic_uint arrived[MOST];
    unsigned char bytes[2][MOST][CARD_NBYTES];
};

static struct shared {
    struct meeting first, second; /* all ranks meet, then survivors */
    atomic_bool gone;             /* a process has been killed */
    atomic_uint passed, failed;
    float results[MOST][CALLS * LARGEST];
} * shared;

static bool by_library; /* whatever the GPUs reach */
static bool simulated;

struct caller {
    struct meeting *meeting;
    uint32_t rank;
};

static bool all_there(struct meeting *m, unsigned k)
{
    for (uint32_t r = 0; r < m->n; r++)
        if (atomic_load(&m->arrived[r]) < k)
            return false;
    return true;
}

static int gather(void *what, const void *mine, void *all, size_t nbytes)
{
    const struct timespec pause = {.tv_nsec = 200000};
    const struct caller *c = what;
    struct meeting *m = c->meeting;
    const unsigned k = atomic_load(&m->arrived[c->rank]) + 1;

    if (nbytes > CARD_NBYTES)
        return 2;
    memcpy(m->bytes[k % 2][c->rank], mine, nbytes);
    atomic_store(&m->arrived[c->rank], k);
    while (!all_there(m, k)) {
        if (m == &shared->first && atomic_load(&shared->gone))
            return 1;
        nanosleep(&pause, NULL);
    }
    for (uint32_t r = 0; r < m->n; r++)
        memcpy((char *)all + r * nbytes, m->bytes[k % 2][r], nbytes);
    return 0;
}

static void open_over(struct group *g, struct caller *c, int device,
                      uint32_t limit_ms)
{
    kpk_comm_options options = options_of_tests;
    void *buffers[MOST] = {0};

    options.limit_ms = limit_ms;
    options.by_library = by_library && !simulated;
    g->n = c->meeting->n;
    open_rank(g, c->rank, device);
    buffers[c->rank] = g->ranks[c->rank].in;
    need(kpk_comm_open_rank(g->ranks[c->rank].inst, c->rank, g->n, &options,
                            gather, c, &g->comm),
         "opening a rank");
    check(strstr(kpk_comm_engine(g->comm), by_library ? "CCL " : "module comm"),
          "the engine");
    need(kpk_comm_register(g->comm, buffers, OUT_NBYTES), "registering");
}

static void close_over(struct group *g, uint32_t rank)
{
    check(kpk_comm_close(g->comm) == KPK_OK, "closing a group");
    close_rank(g, rank);
}

static void make_calls(struct group *g, uint32_t rank)
{
    for (uint32_t c = 0; c < CALLS; c++)
        launch(g, c, rank);
}

/* Makes the calls, then a graph of them, which it launches three times. */
static void work(struct group *g, uint32_t rank)
{
    const struct rank *k = &g->ranks[rank];
    void *graph, *exec;

    make_calls(g, rank);
    if (by_library) { /* the stand-in cannot be recorded */
        fetch(g, rank, shared->results[rank]);
        return;
    }
    need(kpk_sync(k->inst, k->stream), "waiting");
    clear(g, rank);
    need(kpk_capture_begin(k->inst, k->stream, KPK_CAPTURE_THREAD), "a graph");
    make_calls(g, rank);
    need(kpk_capture_end(k->inst, k->stream, &graph), "a graph");
    need(kpk_graph_instantiate(k->inst, graph, &exec), "a graph");
    for (int again = 0; again < 3; again++)
        need(kpk_graph_launch(k->inst, exec, k->stream), "a graph");
    fetch(g, rank, shared->results[rank]);
    need(kpk_graph_exec_destroy(k->inst, exec), "a graph");
    need(kpk_graph_destroy(k->inst, graph), "a graph");
}

static void check_errors(struct group *g, uint32_t rank)
{
    const uint32_t other = (rank + 1) % g->n;
    kpk_comm_plan plan;

    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 4, &plan),
         "a plan");
    check(kpk_comm_launch(g->comm, &plan, other, 0, g->ranks[rank].in,
                          g->ranks[rank].out, NULL) == KPK_ERR_ARG &&
              strstr(kpk_error_message(), "is another process's"),
          "a launch of another process's rank");
    check(kpk_comm_check(g->comm, other) == KPK_ERR_ARG,
          "a check of another process's rank");
}

/* Rank 1's first calls of these fail on simulated GPUs. Its memory of others is
 * then out of reach for a group that has no library. */
static const char faults[] = "hipExtMallocWithFlags:1=hipErrorOutOfMemory,"
                             "hipIpcOpenMemHandle:1=hipErrorOutOfMemory";

/* One rank has other options, then no memory, then no way: all fail. */
static void check_refusals(struct caller *c)
{
    static const char *const why[][2] = {
        /* rank 1's message, the other ranks' message */
        {"have different options", " and 1 have different options"},
        {"hipExtMallocWithFlags returned", "rank 1 cannot make a workspace"},
        {"hipIpcOpenMemHandle returned", "rank 1 cannot reach the memory"},
    };
    kpk_comm_options options = options_of_tests;
    struct group g = {.n = c->meeting->n};

    open_rank(&g, c->rank, (int)c->rank);
    for (int i = 0; i < (simulated ? 3 : 1); i++) {
        kpk_comm *none = NULL;

        options.limit_ms = i == 0 && c->rank == 1 ? 100 : 200;
        check(kpk_comm_open_rank(g.ranks[c->rank].inst, c->rank, g.n, &options,
                                 gather, c, &none) != KPK_OK &&
                  !none,
              "ranks that do not fit together");
        check(strstr(kpk_error_message(), why[i][c->rank != 1]) != NULL,
              "why they do not");
    }
    close_rank(&g, c->rank);
}

/* The other ranks time out waiting for rank `killed`, then form a group without
 * it. */
static void survive(struct group *g, uint32_t rank, uint32_t killed,
                    uint32_t limit_ms)
{
    struct group again = {.n = g->n - 1};
    struct caller c = {&shared->second, rank - (rank > killed)};
    const struct rank *k = &g->ranks[rank];
    kpk_comm_plan plan;
    char name[64];

    make_calls(g, rank);
    check(kpk_comm_sync(g->comm, rank, k->stream) == KPK_ERR_TIMEOUT,
          "a killed process");
    snprintf(name, sizeof(name), "rank %u waited for rank %u for %u ms in vain",
             (unsigned)rank, (unsigned)killed, (unsigned)limit_ms);
    if (!by_library && !strstr(kpk_error_message(), name))
        _exit(MISNAMED);
    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 4, &plan),
         "a plan");
    check(kpk_comm_launch(g->comm, &plan, rank, 0, k->in, k->out, k->stream) ==
              KPK_ERR_TIMEOUT,
          "a launch after that");
    close_over(g, rank);
    if (again.n < KPK_COMM_LEAST_RANKS)
        return;
    open_over(&again, &c, (int)rank, options_of_tests.limit_ms);
    work(&again, c.rank);
    close_over(&again, c.rank);
}

static void be_rank(uint32_t rank, uint32_t killed, uint32_t limit_ms)
{
    struct caller c = {&shared->first, rank};
    struct group g = {.n = 0};

    if (killed == NOBODY && !by_library)
        check_refusals(&c);
    open_over(&g, &c, (int)rank, limit_ms);
    if (killed == NOBODY) {
        work(&g, rank);
        check_errors(&g, rank);
        close_over(&g, rank);
    } else if (rank == killed) {
        for (uint32_t i = 0; i < CALLS / 2; i++)
            launch(&g, i, rank);
        (void)raise(SIGKILL); /* while they run */
    } else {
        survive(&g, rank, killed, limit_ms);
    }
}

/* In the child. */
static void start(const char *devices, const char *library, uint32_t rank,
                  uint32_t killed, uint32_t limit_ms)
{
    if (devices)
        (void)setenv("KPK_SIM_DEVICES", devices, 1);
    if (devices && !library && killed == NOBODY && rank == 1)
        (void)setenv("KPK_SIM_FAULTS", faults, 1);
    if (devices)
        (void)setenv("KPK_RCCL_LIBRARY", library ? library : "/nowhere", 1);
    by_library = library != NULL;
    simulated = devices != NULL;
    if (devices && library) /* why the library is needed */
        (void)setenv("KPK_SIM_FAULTS",
                     "hipIpcOpenMemHandle=hipErrorInvalidValue", 1);
    passed = failed = 0;
    be_rank(rank, killed, limit_ms);
    atomic_fetch_add(&shared->passed, passed);
    atomic_fetch_add(&shared->failed, failed);
    fflush(stdout);
    _exit(0);
}

/* False if a rank has missed another one than the killed. */
static bool run_once(const char *devices, const char *library, uint32_t n,
                     uint32_t killed, uint32_t limit_ms)
{
    pid_t children[MOST];
    bool named = true;

    memset(shared, 0, sizeof(*shared));
    shared->first.n = n;
    shared->second.n = n - 1;
    fflush(stdout);
    for (uint32_t r = 0; r < n; r++) {
        children[r] = fork();
        if (children[r] < 0)
            exit(2);
        if (children[r] == 0)
            start(devices, library, r, killed, limit_ms);
    }
    for (uint32_t left = n; left > 0; left--) {
        int status = 0;
        const pid_t child = waitpid(-1, &status, 0);

        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            atomic_store(&shared->gone, true);
        if (WIFEXITED(status) && WEXITSTATUS(status) == MISNAMED) {
            named = false; /* kills the ranks that would wait for it */
            for (uint32_t r = 0; r < n; r++)
                if (children[r] != child)
                    (void)kill(children[r], SIGKILL);
        } else if (named && (killed == NOBODY || child != children[killed])) {
            check(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "the end of a process");
        }
    }
    return named;
}

static void run_killed(const char *devices, const char *library, uint32_t n,
                       uint32_t killed)
{
    float *out[MOST];

    for (uint32_t limit_ms = killed == NOBODY ? options_of_tests.limit_ms : 500;
         !run_once(devices, library, n, killed, limit_ms); limit_ms *= 4)
        if (!check(limit_ms < 10000, "the killed rank's number"))
            return;
    passed += atomic_load(&shared->passed);
    failed += atomic_load(&shared->failed);
    for (uint32_t r = 0; r < n; r++)
        out[r] = shared->results[r];
    if (killed == NOBODY)
        check_results(n, out);
    else if (n > KPK_COMM_LEAST_RANKS)
        check_results(n - 1, out);
}

void run_processes(const char *devices, const char *library, uint32_t n)
{
    const uint32_t each = getenv("FULL") ? 1 : n - 1;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        exit(2);
    for (uint32_t killed = 0; killed < n; killed += each)
        run_killed(devices, library, n, killed);
    run_killed(devices, library, n, NOBODY);
    munmap(shared, sizeof(*shared));
}
