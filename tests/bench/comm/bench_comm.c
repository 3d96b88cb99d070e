/* bench_comm.c - how long the calls of a group take, recorded in graphs
 *
 *     bench_comm RANKS [try GLOB]
 *
 * Prints a row of CSV for each call and size: who, call, ranks, bytes,
 * microseconds, kernel and shape. A graph of each rank has 50 calls; a time is
 * the median of 30 launches of all ranks' graphs, by the host's clock. Before
 * that each result is checked against double precision. Ranks have different
 * inputs, and must have the same bits of sums.
 *
 * `try` measures many shapes of the kernels that match GLOB, by 12 launches,
 * instead of those that the plan has.
 */
#include "kpack/candle/comm_group.h"

#include <fnmatch.h>
#include <math.h>
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
    MOST = KPK_COMM_MOST_RANKS
};
static const float eps = 1e-5F; /* of norms */
static const uint64_t sizes[] = {8 << 10,   16 << 10,  32 << 10,  64 << 10,
                                 128 << 10, 256 << 10, 512 << 10, 1 << 20,
                                 2 << 20,   4 << 20,   16 << 20,  64 << 20};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 64 << 20 };
enum {
    MOST_SMALL = 1 << 20,
    MOST_CHECKED = 4 << 20, /* of many shapes */
    MOST_BLOCKS = 128,
    MOST_EACH = 16, /* pieces of a thread, in fewer blocks than the most */
    PIECE = 16,
    ALL = 1 << 20 /* steps in one */
};

struct rank {
    kpk_instance *inst;
    void *stream, *graph, *exec;
    char *in, *residual, *sum, *out;
    uint16_t *numbers; /* what `in` gets, in bf16 */
};

static struct rank ranks[MOST];
static uint16_t *residuals; /* of all ranks; the first row is the weight, too */
static uint32_t nranks;
static kpk_comm *comm;
static int ncalls = CALLS, nlaunches = LAUNCHES;
static int nwrong; /* calls that gave wrong results */

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
    const kpk_comm_norm_args args = {.in = k->in,
                                     .residual = k->residual,
                                     .sum = k->sum,
                                     .weight = k->residual,
                                     .out = k->out,
                                     .eps = eps};

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

/* ---- checks ---- */

static void *allocate(size_t nbytes)
{
    void *p = malloc(nbytes);

    if (!p)
        exit(2);
    return p;
}

/* n numbers of bf16, up to 2 and of both signs. */
static uint16_t *make_numbers(size_t n, uint32_t seed)
{
    uint16_t *numbers = allocate(n * sizeof(*numbers));
    uint32_t state = seed * 2654435761U + 1;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525U + 1013904223U;
        numbers[i] = (uint16_t)((state >> 16 & 0x807f) | /* sign, mantissa */
                                (122 + (state >> 26) % 6) << 7);
    }
    return numbers;
}

static double bf16_at(const uint16_t *numbers, size_t i)
{
    const uint32_t bits = (uint32_t)numbers[i] << 16;
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static double f16_of(uint16_t bits) /* finite */
{
    const int exponent = bits >> 10 & 31;
    const double mantissa = bits & 1023;
    const double v = exponent ? ldexp(1 + mantissa / 1024, exponent - 15)
                              : ldexp(mantissa, -24);

    return bits & 0x8000 ? -v : v;
}

static void fill(uint64_t nbytes)
{
    for (uint32_t r = 0; r < nranks; r++) {
        struct rank *k = &ranks[r];

        need(kpk_copy_to(k->inst, k->in, k->numbers, nbytes));
        need(kpk_copy_to(k->inst, k->residual, residuals, nbytes));
        need(kpk_sync(k->inst, NULL)); /* streams do not wait for it */
    }
}

/* A number is rounded to 8 bits once for each step: by 2^-8 of it, or less. */
static size_t wrong_sums(const struct what *w, const uint16_t *got, size_t n)
{
    const double half = 0x1p-8;
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++) {
        double want = 0, room = 0;

        for (uint32_t r = 0; r < nranks; r++) {
            want += bf16_at(ranks[r].numbers, i);
            room += fabs(bf16_at(ranks[r].numbers, i)) * 0x1p-22;
        }
        room += fabs(want) * half;
        if (w->norm) {
            want += bf16_at(residuals, i);
            room += fabs(want) * half * 1.01;
        }
        wrong += !(fabs(bf16_at(got, i) - want) <= room);
    }
    return wrong;
}

/* A row's norm of its sums, as numbers or in blocks. */
static size_t wrong_norms(const uint16_t *sum, const char *out, size_t columns,
                          int blocks)
{
    double squares = 0, scale;
    size_t wrong = 0;

    for (size_t i = 0; i < columns; i++)
        squares += bf16_at(sum, i) * bf16_at(sum, i);
    scale = 1 / sqrt(squares / (double)columns + (double)eps);
    for (size_t i = 0; i < columns; i++) {
        const double want = bf16_at(sum, i) * scale * bf16_at(residuals, i);
        const char *block = out + i / 32 * 36;
        uint16_t d;

        memcpy(&d, blocks ? block : out + 2 * i, sizeof(d));
        wrong += blocks ? !(fabs(f16_of(d) * (signed char)block[4 + i % 32] -
                                 want) <= 0.57 * f16_of(d))
                        : !(fabs(bf16_at(&d, 0) - want) <=
                            fabs(want) * (0x1p-8 + 0x1p-16));
    }
    return wrong;
}

static size_t wrong_rows(const struct what *w, uint32_t r, const uint16_t *sums,
                         uint64_t nbytes)
{
    const size_t columns = w->plan.columns, rows = nbytes / 2 / columns;
    const size_t row_nbytes =
        w->plan.padded ? w->plan.padded / 32 * 36 : columns * 2;
    char *out = allocate(rows * row_nbytes);
    size_t wrong = 0;

    need(kpk_copy_from(ranks[r].inst, out, ranks[r].out, rows * row_nbytes));
    for (size_t i = 0; i < rows; i++)
        wrong += wrong_norms(sums + i * columns, out + i * row_nbytes, columns,
                             w->plan.padded != 0);
    free(out);
    return wrong;
}

static void check(const struct what *w, uint64_t nbytes)
{
    uint16_t *first = allocate(nbytes), *got = allocate(nbytes);

    fill(nbytes);
    for (uint32_t r = 0; r < nranks; r++)
        start(w, r);
    for (uint32_t r = 0; r < nranks; r++) {
        const char *sum = w->norm       ? ranks[r].sum
                          : w->in_place ? ranks[r].in
                                        : ranks[r].out;
        size_t wrong;

        need(kpk_sync(ranks[r].inst, ranks[r].stream));
        need(kpk_comm_check(comm, r));
        need(kpk_copy_from(ranks[r].inst, r ? got : first, sum, nbytes));
        wrong = r ? memcmp(first, got, nbytes) != 0
                  : wrong_sums(w, first, nbytes / 2);
        if (w->norm)
            wrong += wrong_rows(w, r, first, nbytes);
        if (wrong) {
            fprintf(stderr, "bench_comm: %s of %llu bytes: %zu wrong\n",
                    w->plan.kernel, (unsigned long long)nbytes, wrong);
            nwrong++;
        }
    }
    free(first);
    free(got);
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
    static const uint32_t steps[] = {1, 2, 4, ALL};
    struct what w = {.name = "all_reduce", .in_place = 1};
    const uint64_t pieces = nbytes / PIECE;

    need(kpk_comm_choose(comm, KPK_COMM_ALL_REDUCE, KPK_COMM_BF16, nbytes / 2,
                         &w.plan));
    for (uint32_t threads = 128; threads <= 512; threads *= 2)
        for (uint32_t blocks = 4; blocks <= MOST_BLOCKS; blocks *= 2) {
            const uint64_t each = (uint64_t)threads * blocks;

            if (each > pieces)
                break;
            if (each * MOST_EACH < pieces && blocks < MOST_BLOCKS)
                continue;
            if (each * 8 >= pieces && nbytes <= MOST_SMALL &&
                take_kernel(&w, "all_reduce", "small", glob))
                measure_shape(&w, nbytes, blocks, threads, 1);
            for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
                if ((i == 0 || steps[i - 1] * each < pieces) &&
                    take_kernel(&w, "all_reduce", "medium", glob))
                    measure_shape(&w, nbytes, blocks, threads, steps[i]);
            for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
                if ((i == 0 || steps[i - 1] * each * nranks < pieces) &&
                    nbytes >= 64 << 10 &&
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

            if (threads * parts * (parts > 1 ? 2 : 4) < pieces ||
                (parts > 1 && rows * parts > MOST_BLOCKS))
                continue;
            w.plan.parts = parts;
            for (w.plan.clustered = parts > 1;; w.plan.clustered = 0) {
                if (nbytes <= MOST_SMALL &&
                    take_kernel(&w, w.name, "small", glob))
                    measure_shape(&w, nbytes, blocks, threads, 1);
                for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                    if (i > 0 && steps[i - 1] * blocks >= rows * parts)
                        break;
                    if (take_kernel(&w, w.name, "medium", glob))
                        measure_shape(&w, nbytes, blocks, threads, steps[i]);
                    if (parts == 1 && nbytes >= 128 << 10 &&
                        take_kernel(&w, w.name, "large", glob))
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
        k->numbers = make_numbers(LARGEST / 2, r);
    }
    residuals = make_numbers(LARGEST / 2, MOST);
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
    return nwrong != 0;
}
