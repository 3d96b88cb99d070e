/* library.c - groups of one process that go through a stand-in for RCCL */
/* For setenv and RTLD_NOLOAD; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "calls.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *stand_in(void)
{
    static char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);
    char *slash;

    path[n > 0 ? n : 0] = 0;
    slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, 20, "stand_in.so");
    return path;
}

static int calls_of_library(void)
{
    void *handle = dlopen(stand_in(), RTLD_NOW | RTLD_NOLOAD);
    atomic_int *n = handle ? dlsym(handle, "stand_in_ncalls") : NULL;

    return n ? atomic_load(n) : -1;
}

static kpk_status open_by(struct group *g, uint32_t by_library,
                          uint32_t limit_ms)
{
    kpk_comm_options options = options_of_tests;
    kpk_instance *insts[MOST_BY_LIBRARY] = {NULL};

    options.by_library = by_library;
    options.limit_ms = limit_ms;
    for (uint32_t r = 0; r < g->n; r++)
        insts[r] = g->ranks[r].inst;
    return kpk_comm_open(insts, g->n, &options, &g->comm);
}

/* Without a library, and with one that is none. */
static void check_absence(struct group *g)
{
    (void)setenv("KPK_RCCL_LIBRARY", "/nowhere", 1);
    check(open_by(g, 1, 1000) == KPK_ERR_UNSUPPORTED &&
              strstr(kpk_error_message(), "needs RCCL, because the options ask "
                                          "for a library") &&
              strstr(kpk_error_message(), "KPK_RCCL_LIBRARY names /nowhere"),
          "a library that is not there");
    (void)setenv("KPK_RCCL_LIBRARY", "libm.so.6", 1);
    check(open_by(g, 1, 1000) == KPK_ERR_UNSUPPORTED &&
              strstr(kpk_error_message(), "is no RCCL that kpack can use: it "
                                          "has no nccl"),
          "a library that is another");
    (void)unsetenv("KPK_RCCL_LIBRARY");
    if (!dlopen("librccl.so.1", RTLD_NOW))
        check(open_by(g, 1, 1000) == KPK_ERR_UNSUPPORTED &&
                  strstr(kpk_error_message(), "no RCCL: librccl.so.1 is") &&
                  strstr(kpk_error_message(), "Install ROCm's RCCL"),
              "no library");
}

/* All calls, by launches of all ranks at once. The stand-in takes half of them
 * one by one: it waits in the stream alone. */
static void check_calls(struct group *g, bool of_stand_in)
{
    const void *in[MOST_BY_LIBRARY];
    void *out[MOST_BY_LIBRARY], *streams[MOST_BY_LIBRARY];
    float *results[MOST_BY_LIBRARY];
    const int before = calls_of_library() > 0 ? calls_of_library() : 0;
    kpk_comm_plan plan;

    for (uint32_t c = 0; c < CALLS; c++) {
        for (uint32_t r = 0; r < g->n; r++) {
            in[r] = g->ranks[r].in + c * LARGEST;
            out[r] = g->ranks[r].out + c * LARGEST;
            streams[r] = g->ranks[r].stream;
        }
        need(kpk_comm_choose(g->comm, calls[c].op, KPK_COMM_F32, calls[c].n,
                             &plan),
             "a plan");
        check(strncmp(plan.kernel, "nccl", 4) == 0 && !plan.registered,
              "a plan of the library's");
        if (c % 2 || !of_stand_in)
            need(kpk_comm_launch_all(g->comm, &plan, calls[c].root, in, out,
                                     streams),
                 "all ranks at once");
        else
            for (uint32_t r = 0; r < g->n; r++)
                launch(g, c, r);
    }
    for (uint32_t r = 0; r < g->n; r++) {
        results[r] = malloc(OUT_NBYTES);
        if (!results[r])
            exit(2);
        fetch(g, r, results[r]);
    }
    check_results(g->n, results);
    check(!of_stand_in || calls_of_library() == before + (int)g->n * CALLS,
          "the library's calls");
    for (uint32_t r = 0; r < g->n; r++)
        free(results[r]);
}

static void check_missing_rank(struct group *g)
{
    kpk_comm_plan plan;

    need(open_by(g, 1, 200), "opening");
    for (uint32_t r = 0; r + 1 < g->n; r++)
        launch(g, 0, r);
    for (uint32_t r = 0; r + 1 < g->n; r++)
        check(kpk_comm_sync(g->comm, r, g->ranks[r].stream) == KPK_ERR_TIMEOUT,
              "a rank that does not come");
    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F32, 4, &plan),
         "a plan");
    check(kpk_comm_launch(g->comm, &plan, 0, 0, g->ranks[0].in, g->ranks[0].out,
                          g->ranks[0].stream) == KPK_ERR_TIMEOUT,
          "a launch after that");
    check(kpk_comm_close(g->comm) == KPK_OK, "closing");
    for (uint32_t r = 0; r < g->n; r++) /* the abort has ended them */
        need(kpk_sync(g->ranks[r].inst, g->ranks[r].stream), "a stream");
}

static void check_arguments(struct group *g)
{
    kpk_comm_plan plan;
    void *none[MOST_BY_LIBRARY] = {0};

    need(kpk_comm_choose(g->comm, KPK_COMM_ALL_REDUCE, KPK_COMM_F16, 4, &plan),
         "a plan");
    check(kpk_comm_launch_all(g->comm, &plan, 0, NULL, none, none) ==
              KPK_ERR_ARG,
          "no inputs");
    check(kpk_comm_launch(g->comm, &plan, 0, 0, g->ranks[0].in, g->ranks[0].out,
                          g->ranks[0].stream) == KPK_ERR_DRIVER &&
              strstr(kpk_error_message(), "ncclAllReduce of RCCL 2.22.3 (") &&
              strstr(kpk_error_message(), "returned 4, invalid argument"),
          "what the stand-in cannot do");
    check(kpk_comm_choose_norm(g->comm, KPK_COMM_F32, 1, 4, 0, &plan) ==
                  KPK_ERR_UNSUPPORTED &&
              strstr(kpk_error_message(), "goes through RCCL 2.22.3 ("),
          "a norm by the library");
    check(kpk_comm_register(g->comm, none, 4) == KPK_ERR_ARG, "no buffers");
    check(kpk_comm_sync(g->comm, g->n, NULL) == KPK_ERR_ARG, "no such rank");
}

void run_by_library(uint32_t n)
{
    static struct group g;

    g.n = n;
    for (uint32_t r = 0; r < n; r++)
        open_rank(&g, r, (int)r);
    check_absence(&g);
    (void)setenv("KPK_RCCL_LIBRARY", stand_in(), 1);
    need(open_by(&g, n <= MOST, 60000), "opening"); /* more need a library */
    check(strncmp(kpk_comm_engine(g.comm), "RCCL 2.22.3 (", 13) == 0 &&
              strstr(kpk_comm_engine(g.comm), "stand_in.so"),
          "the engine's name");
    check_calls(&g, true);
    check_arguments(&g);
    check(kpk_comm_close(g.comm) == KPK_OK, "closing");
    check_missing_rank(&g);
    if (n <= MOST) {
        need(open_by(&g, 0, 1000), "opening");
        check(strcmp(kpk_comm_engine(g.comm), "module comm") == 0,
              "the engine of a group that needs no library");
        check(kpk_comm_close(g.comm) == KPK_OK, "closing");
    }
    for (uint32_t r = 0; r < n; r++)
        close_rank(&g, r);
}

void run_by_own_library(uint32_t n)
{
    static struct group g;

    g.n = n;
    for (uint32_t r = 0; r < n; r++)
        open_rank(&g, r, (int)r);
    need(open_by(&g, 1, 60000), "opening");
    printf("by %s\n", kpk_comm_engine(g.comm));
    check_calls(&g, false);
    check(kpk_comm_close(g.comm) == KPK_OK, "closing");
    for (uint32_t r = 0; r < n; r++)
        close_rank(&g, r);
}
