/* bench_comm.c - how long the calls of a group take, recorded in graphs
 *
 *     bench_comm RANKS [try GLOB]
 *
 * Prints a row of CSV for each call and size: who, call, ranks, bytes,
 * microseconds, kernel and shape. A graph of each rank has 50 calls; a time is
 * the median of 30 launches of all ranks' graphs, by the host's clock. Each
 * result is checked: all inputs are ones.
 *
 * `try` measures many shapes of the kernels that match GLOB, by 12 launches,
 * instead of those that the plan has.
 */
#include "kpack/candle/comm_group.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const kpk_module kpk_module_comm;

enum {
    CALLS = 50,
    LAUNCHES = 30,
    WARM = 5,
    COLUMNS = 8192,
    MOST = KPK_COMM_MOST_RANKS,
    ONE = 0x3f80 /* in bf16 */
};
static const uint64_t sizes[] = {8 << 10,   16 << 10,  32 << 10,  64 << 10,
                                 128 << 10, 256 << 10, 512 << 10, 1 << 20,
                                 2 << 20,   4 << 20,   16 << 20,  64 << 20};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 64 << 20 };
enum {
    MOST_SMALL = 1 << 20,
    MOST_CHECKED = 4 << 20, /* of many shapes */
    MOST_BLOCKS = 128,
    PIECE = 16,
    ALL = 1 << 20 /* steps in one */
};

struct rank {
    kpk_instance *inst;
    void *stream, *graph, *exec;
    char *in, *residual, *sum, *out;
};

static struct rank ranks[MOST];
static uint32_t nranks;
static kpk_comm *comm;
static int ncalls = CALLS, nlaunches = LAUNCHES;

static void need(kpk_status st)
{
    if (st != KPK_OK) {
        fprintf(stderr, "bench_comm: %s\n", kpk_error_message());
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A rank's launch, which is measured. */
struct what {
    const char *name;
    kpk_comm_plan plan;
    int norm, in_place;
};

static void start(const struct what *w, uint32_t r)
{
    struct rank *k = &ranks[r];
    const kpk_comm_norm_args args = {k->in,  k->residual, k->sum,
                                     k->sum, k->out,      1e-5F};

    if (w->norm)
        need(kpk_comm_norm(comm, &w->plan, r, &args, k->stream));
    else
        need(kpk_comm_launch(comm, &w->plan, r, 0, k->in,
                             w->in_place ? k->in : k->out, k->stream));
}

static void launch_all(void)
{
    for (uint32_t r = 0; r < nranks; r++)
        need(kpk_graph_launch(ranks[r].inst, ranks[r].exec, ranks[r].stream));
    for (uint32_t r = 0; r < nranks; r++)
        need(kpk_sync(ranks[r].inst, ranks[r].stream));
}

static void fill(uint64_t nbytes)
{
    static uint16_t *ones;

    if (!ones) {
        ones = malloc(LARGEST);
        if (!ones)
            exit(2);
        for (size_t i = 0; i < LARGEST / 2; i++)
            ones[i] = ONE;
    }
    for (uint32_t r = 0; r < nranks; r++) {
        need(kpk_copy_to(ranks[r].inst, ranks[r].in, ones, nbytes));
        need(kpk_copy_to(ranks[r].inst, ranks[r].residual, ones, nbytes));
        need(kpk_sync(ranks[r].inst, NULL)); /* streams do not wait for it */
    }
}

/* Inputs are ones, so a call gives nranks everywhere. */
static void check(const struct what *w, uint64_t nbytes)
{
    const float want = (float)nranks + (w->norm ? 1 : 0);

    fill(nbytes);
    for (uint32_t r = 0; r < nranks; r++)
        start(w, r);
    for (uint32_t r = 0; r < nranks; r++) {
        const char *sum = w->norm       ? ranks[r].sum
                          : w->in_place ? ranks[r].in
                                        : ranks[r].out;
        uint16_t *got = malloc(nbytes);
        size_t wrong = 0;

        if (!got)
            exit(2);
        need(kpk_sync(ranks[r].inst, ranks[r].stream));
        need(kpk_comm_check(comm, r));
        need(kpk_copy_from(ranks[r].inst, got, sum, nbytes));
        for (size_t i = 0; i < nbytes / 2; i++) {
            const uint32_t bits = (uint32_t)got[i] << 16;
            float v;

            memcpy(&v, &bits, sizeof(v));
            wrong += v != want;
        }
        if (wrong) {
            fprintf(stderr, "bench_comm: %s of %llu bytes: %zu wrong\n",
                    w->plan.kernel, (unsigned long long)nbytes, wrong);
            exit(1);
        }
        free(got);
    }
}

static void measure(const struct what *w, uint64_t nbytes)
{
    double times[LAUNCHES] = {0};

    if (nlaunches == LAUNCHES || nbytes <= MOST_CHECKED)
        check(w, nbytes);
    for (uint32_t r = 0; r < nranks; r++) {
        struct rank *k = &ranks[r];

        need(kpk_capture_begin(k->inst, k->stream, KPK_CAPTURE_THREAD));
        for (int i = 0; i < ncalls; i++)
            start(w, r);
        need(kpk_capture_end(k->inst, k->stream, &k->graph));
        need(kpk_graph_instantiate(k->inst, k->graph, &k->exec));
    }
    for (int i = -WARM; i < nlaunches; i++) {
        const double begin = now_us();

        launch_all();
        if (i >= 0)
            times[i] = (now_us() - begin) / ncalls;
    }
    for (uint32_t r = 0; r < nranks; r++) {
        need(kpk_comm_check(comm, r));
        need(kpk_graph_exec_destroy(ranks[r].inst, ranks[r].exec));
        need(kpk_graph_destroy(ranks[r].inst, ranks[r].graph));
    }
    qsort(times, (size_t)nlaunches, sizeof(times[0]), compare);
    printf("kpack,%s,%u,%llu,%.2f,%s %ux%u", w->name, (unsigned)nranks,
           (unsigned long long)nbytes, times[nlaunches / 2], w->plan.kernel,
           (unsigned)w->plan.shape.grid[0], (unsigned)w->plan.shape.block[0]);
    if (w->plan.parts > 1)
        printf(" %u parts%s", (unsigned)w->plan.parts,
               w->plan.clustered ? " in a cluster" : "");
    if (w->plan.medium || (w->norm && w->plan.registered))
        printf(" step %u", (unsigned)w->plan.step);
    puts("");
    fflush(stdout);
}

/* ---- shapes ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The kernel `name` of a call, where GLOB asks for it. */
static int take_kernel(struct what *w, const char *call, const char *way,
                       const char *glob)
{
    kpk_comm_plan *p = &w->plan;

    snprintf(p->kernel, sizeof(p->kernel), "%s_%s_bf16", call, way);
    p->medium = strcmp(way, "medium") == 0 || strcmp(way, "pushed") == 0;
    p->registered = strcmp(way, "large") == 0 || strcmp(way, "pushed") == 0;
    return fnmatch(glob, p->kernel, 0) == 0;
}

static void measure_shape(struct what *w, uint64_t nbytes, uint32_t blocks,
                          uint32_t threads, uint32_t step)
{
    w->plan.shape.grid[0] = blocks;
    w->plan.shape.block[0] = threads;
    w->plan.step = step;
    measure(w, nbytes);
}

static void try_sums(const char *glob, uint64_t nbytes)
{
    static const uint32_t steps[] = {1, 2, 4, 8, ALL};
    struct what w = {.name = "all_reduce", .in_place = 1};
    const uint64_t pieces = nbytes / PIECE;

    need(kpk_comm_choose(comm, KPK_COMM_ALL_REDUCE, KPK_COMM_BF16, nbytes / 2,
                         &w.plan));
    for (uint32_t threads = 128; threads <= 512; threads *= 2)
        for (uint32_t blocks = 8; blocks <= MOST_BLOCKS; blocks *= 2) {
            const uint64_t each = (uint64_t)threads * blocks;

            if (each > pieces)
                break;
            if (each * 8 >= pieces && nbytes <= MOST_SMALL &&
                take_kernel(&w, "all_reduce", "small", glob))
                measure_shape(&w, nbytes, blocks, threads, 1);
            if (blocks < 32 || threads < 256 || nbytes < 64 << 10)
                continue;
            for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
                if ((i == 0 || steps[i - 1] * each < pieces) &&
                    nbytes <= MOST_CHECKED &&
                    (steps[i] == ALL || steps[i] * each * 8 >= pieces) &&
                    take_kernel(&w, "all_reduce", "medium", glob))
                    measure_shape(&w, nbytes, blocks, threads, steps[i]);
            for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
                if ((i == 0 || steps[i - 1] * each * nranks < pieces) &&
                    (steps[i] == ALL ||
                     steps[i] * each * 8 * nranks >= pieces) &&
                    take_kernel(&w, "all_reduce", "pushed", glob))
                    measure_shape(&w, nbytes, blocks, threads, steps[i]);
        }
}

static void try_norms(const char *glob, uint64_t nbytes, int padded)
{
    static const uint32_t steps[] = {1, 2, 4, ALL};
    struct what w = {
        .name = padded ? "all_reduce_norm_q8_1" : "all_reduce_norm", .norm = 1};
    const uint64_t n = nbytes / 2;
    const uint32_t columns = (uint32_t)least(n, COLUMNS);
    const uint32_t rows = (uint32_t)(n / columns), pieces = columns / 8;

    need(kpk_comm_choose_norm(comm, KPK_COMM_BF16, rows, columns,
                              padded ? columns : 0, &w.plan));
    for (uint32_t threads = 128; threads <= 512; threads *= 2)
        for (uint32_t parts = 1; parts <= 8 && threads * parts <= pieces;
             parts *= 2) {
            const uint32_t blocks =
                (uint32_t)least((uint64_t)rows * parts, MOST_BLOCKS);

            if (threads * parts * 4 < pieces ||
                (parts > 1 && rows * parts > MOST_BLOCKS))
                continue;
            w.plan.parts = parts;
            for (w.plan.clustered = parts > 1;; w.plan.clustered = 0) {
                if (nbytes <= MOST_SMALL &&
                    take_kernel(&w, w.name, "small", glob))
                    measure_shape(&w, nbytes, blocks, threads, 1);
                for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                    if ((i > 0 && steps[i - 1] * blocks >= rows * parts) ||
                        nbytes < 128 << 10)
                        break;
                    if (take_kernel(&w, w.name, "medium", glob))
                        measure_shape(&w, nbytes, blocks, threads, steps[i]);
                    if (parts == 1 && take_kernel(&w, w.name, "large", glob))
                        measure_shape(&w, nbytes, blocks, threads, steps[i]);
                }
                if (!w.plan.clustered)
                    break;
            }
        }
}

static void try_all(const char *glob)
{
    nlaunches = 12;
    fill(LARGEST);
    for (size_t i = 0; i < NSIZES; i++) {
        ncalls = sizes[i] <= MOST_SMALL ? 50 : 20;
        try_sums(glob, sizes[i]);
        try_norms(glob, sizes[i], 0);
        try_norms(glob, sizes[i], 1);
    }
}

static void open_all(const kpk_comm_options *options)
{
    const kpk_module *module = &kpk_module_comm;
    kpk_instance *insts[MOST];
    void *buffers[MOST];

    for (uint32_t r = 0; r < nranks; r++) {
        struct rank *k = &ranks[r];

        need(kpk_open_modules(&module, 1, (int)r, &k->inst));
        need(kpk_stream_create(k->inst, KPK_STREAM_NON_BLOCKING, &k->stream));
        need(kpk_malloc(k->inst, LARGEST, (void **)&k->in));
        need(kpk_malloc(k->inst, LARGEST, (void **)&k->residual));
        need(kpk_malloc(k->inst, LARGEST, (void **)&k->sum));
        need(kpk_malloc(k->inst, LARGEST, (void **)&k->out));
        insts[r] = k->inst;
        buffers[r] = k->in;
    }
    need(kpk_comm_open(insts, nranks, options, &comm));
    need(kpk_comm_register(comm, buffers, LARGEST));
}

static void measure_plans(uint64_t nbytes)
{
    struct what w[] = {{.name = "all_reduce", .in_place = 1},
                       {.name = "all_reduce to another buffer"},
                       {.name = "all_reduce_norm", .norm = 1},
                       {.name = "all_reduce_norm_q8_1", .norm = 1}};
    const uint64_t n = nbytes / 2;
    const uint32_t columns = (uint32_t)least(n, COLUMNS);

    for (size_t j = 0; j < sizeof(w) / sizeof(w[0]); j++) {
        if (w[j].norm)
            need(kpk_comm_choose_norm(comm, KPK_COMM_BF16,
                                      (uint32_t)(n / columns), columns,
                                      j == 3 ? columns : 0, &w[j].plan));
        else
            need(kpk_comm_choose(comm, KPK_COMM_ALL_REDUCE, KPK_COMM_BF16, n,
                                 &w[j].plan));
        measure(&w[j], nbytes);
    }
}

int main(int argc, char **argv)
{
    static const kpk_comm_options wide = {
        .small_nbytes = MOST_SMALL, .medium_nbytes = LARGEST, .limit_ms = 2000};
    const int tries = argc == 4 && strcmp(argv[2], "try") == 0;

    nranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    if (nranks < KPK_COMM_LEAST_RANKS || nranks > MOST ||
        (argc != 2 && !tries)) {
        fprintf(stderr, "usage: bench_comm RANKS [try GLOB]\n");
        return 2;
    }
    open_all(tries ? &wide : NULL);
    if (tries)
        try_all(argv[3]);
    for (size_t i = 0; i < NSIZES && !tries; i++)
        measure_plans(sizes[i]);
    need(kpk_comm_close(comm));
    return 0;
}
