/* bench_comm.c - how long the calls of a group take, recorded in graphs
 *
 *     bench_comm RANKS [THREADS BLOCKS]
 *
 * Prints a row of CSV for each call and size: who, call, ranks, bytes,
 * microseconds, kernel. A graph of each rank has 50 calls; a time is the median
 * of 30 launches of all ranks' graphs, by the host's clock. THREADS and BLOCKS
 * replace the plan's. Each result is checked: all inputs are ones.
 */
#include "kpack/candle/comm_group.h"

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
                                 4 << 20,   16 << 20,  64 << 20};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 64 << 20 };

struct rank {
    kpk_instance *inst;
    void *stream, *graph, *exec;
    char *in, *residual, *sum, *out;
};

static struct rank ranks[MOST];
static uint32_t nranks;
static kpk_comm *comm;

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

    check(w, nbytes);
    for (uint32_t r = 0; r < nranks; r++) {
        struct rank *k = &ranks[r];

        need(kpk_capture_begin(k->inst, k->stream, KPK_CAPTURE_THREAD));
        for (int i = 0; i < CALLS; i++)
            start(w, r);
        need(kpk_capture_end(k->inst, k->stream, &k->graph));
        need(kpk_graph_instantiate(k->inst, k->graph, &k->exec));
    }
    for (int i = -WARM; i < LAUNCHES; i++) {
        const double begin = now_us();

        launch_all();
        if (i >= 0)
            times[i] = (now_us() - begin) / CALLS;
    }
    for (uint32_t r = 0; r < nranks; r++) {
        need(kpk_comm_check(comm, r));
        need(kpk_graph_exec_destroy(ranks[r].inst, ranks[r].exec));
        need(kpk_graph_destroy(ranks[r].inst, ranks[r].graph));
    }
    qsort(times, LAUNCHES, sizeof(times[0]), compare);
    printf("kpack,%s,%u,%llu,%.2f,%s %ux%u\n", w->name, (unsigned)nranks,
           (unsigned long long)nbytes, times[LAUNCHES / 2], w->plan.kernel,
           (unsigned)w->plan.shape.grid[0], (unsigned)w->plan.shape.block[0]);
    fflush(stdout);
}

static void open_all(void)
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
    need(kpk_comm_open(insts, nranks, NULL, &comm));
    need(kpk_comm_register(comm, buffers, LARGEST));
}

int main(int argc, char **argv)
{
    const unsigned threads = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
    const unsigned blocks = argc > 3 ? (unsigned)atoi(argv[3]) : 0;

    nranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    if (nranks < KPK_COMM_LEAST_RANKS || nranks > MOST) {
        fprintf(stderr, "usage: bench_comm RANKS [THREADS BLOCKS]\n");
        return 2;
    }
    open_all();
    for (size_t i = 0; i < NSIZES; i++) {
        const uint64_t n = sizes[i] / 2;
        struct what w[] = {{.name = "all_reduce", .in_place = 1},
                           {.name = "all_reduce to another buffer"},
                           {.name = "all_reduce_norm", .norm = 1},
                           {.name = "all_reduce_norm_q8_1", .norm = 1}};

        for (size_t j = 0; j < sizeof(w) / sizeof(w[0]); j++) {
            const uint32_t columns =
                (uint32_t)(n < COLUMNS ? n : (uint64_t)COLUMNS);

            if (w[j].norm)
                need(kpk_comm_choose_norm(comm, KPK_COMM_BF16,
                                          (uint32_t)(n / columns), columns,
                                          j == 3 ? columns : 0, &w[j].plan));
            else
                need(kpk_comm_choose(comm, KPK_COMM_ALL_REDUCE, KPK_COMM_BF16,
                                     n, &w[j].plan));
            if (threads && w[j].norm)
                continue;
            if (threads) {
                w[j].plan.shape.block[0] = threads;
                w[j].plan.shape.grid[0] = blocks;
            }
            measure(&w[j], sizes[i]);
        }
    }
    need(kpk_comm_close(comm));
    return 0;
}
