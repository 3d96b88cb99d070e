/* calls.c - a group of ranks, the calls that it makes, and their results */
#include "calls.h"

#include "kpack/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_comm;

unsigned passed, failed;
const char *where = "";
uint32_t ndevices;

bool check(bool holds, const char *what)
{
    passed += holds;
    failed += !holds;
    if (!holds)
        printf("FAIL %s: %s: %s\n", where, what, kpk_error_message());
    return holds;
}

void need(kpk_status st, const char *what)
{
    if (st != KPK_OK) {
        printf("FAIL %s: %s: %s\n%u passed, %u failed\n", where, what,
               kpk_error_message(), passed, failed + 1);
        exit(1);
    }
}

static float number(uint32_t call, uint32_t rank, size_t i)
{
    const uint32_t mixed =
        (uint32_t)(i * 2654435761u) ^ (call * 40503u + rank * 2246822519u);

    return (float)(int32_t)(mixed * 747796405u + 2891336453u) / 0x1p29f;
}

const kpk_comm_options options_of_tests = {.small_nbytes = 8000,
                                           .medium_nbytes = 10000,
                                           .large_nbytes = 40000,
                                           .limit_ms = 60000};

void open_rank(struct group *g, uint32_t r, int device)
{
    const kpk_module *module = &kpk_module_comm;
    struct rank *k = &g->ranks[r];
    float *host = malloc(OUT_NBYTES);

    if (!host)
        exit(2);
    if (ndevices)
        device %= (int)ndevices;
    need(kpk_open_modules(&module, 1, device, &k->inst), "opening");
    need(kpk_stream_create(k->inst, KPK_STREAM_NON_BLOCKING, &k->stream),
         "a stream");
    need(kpk_malloc(k->inst, OUT_NBYTES, (void **)&k->in), "memory");
    need(kpk_malloc(k->inst, OUT_NBYTES, (void **)&k->out), "memory");
    for (uint32_t c = 0; c < CALLS; c++)
        for (size_t i = 0; i < LARGEST; i++)
            host[c * LARGEST + i] = number(c, r, i);
    need(kpk_copy_to(k->inst, k->in, host, OUT_NBYTES), "a copy");
    free(host);
    clear(g, r);
}

void close_rank(struct group *g, uint32_t r)
{
    struct rank *k = &g->ranks[r];

    check(kpk_stream_destroy(k->inst, k->stream) == KPK_OK &&
              kpk_free(k->inst, k->in) == KPK_OK &&
              kpk_free(k->inst, k->out) == KPK_OK &&
              kpk_close(k->inst) == KPK_OK,
          "closing");
    k->inst = NULL;
}

void clear(const struct group *g, uint32_t r)
{
    const struct rank *k = &g->ranks[r];

    need(kpk_fill(k->inst, k->out, 0x55, OUT_NBYTES), "a fill");
    need(kpk_sync(k->inst, NULL), "waiting");
}

const struct call calls[CALLS] = {
    {KPK_COMM_ALL_REDUCE, 1, 0},        {KPK_COMM_BROADCAST, 700, 1},
    {KPK_COMM_BROADCAST, 1300, 1},      {KPK_COMM_BROADCAST, 3, 0},
    {KPK_COMM_ALL_REDUCE, LARGEST, 0},  {KPK_COMM_ALL_REDUCE, 2049, 0},
    {KPK_COMM_REDUCE_SCATTER, 501, 0},  {KPK_COMM_ALL_GATHER, 333, 0},
    {KPK_COMM_REDUCE_SCATTER, 2048, 0}, {KPK_COMM_ALL_GATHER, 2500, 0},
    {KPK_COMM_BROADCAST, LARGEST, 1},   {KPK_COMM_ALL_REDUCE, 9, 0},
};

void launch(struct group *g, uint32_t c, uint32_t r)
{
    struct rank *k = &g->ranks[r];
    kpk_comm_plan plan;

    need(kpk_comm_choose(g->comm, calls[c].op, KPK_COMM_F32, calls[c].n, &plan),
         "a plan");
    need(kpk_comm_launch(g->comm, &plan, r, calls[c].root, k->in + c * LARGEST,
                         k->out + c * LARGEST, k->stream),
         plan.kernel);
}

/* Element i of rank r's result of call c, and its largest error. */
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
    case KPK_COMM_NORM: /* of kernels/comm */
        break;
    }
    for (uint32_t s = 0; s < n; s++) {
        sum += (double)number(c, s, i);
        *margin += fabs((double)number(c, s, i)) * n * 0x1p-24;
    }
    return sum;
}

static bool same_bits(const void *a, const void *b, size_t nbytes)
{
    return memcmp(a, b, nbytes) == 0;
}

static void check_call(uint32_t n, uint32_t c, float *const *out)
{
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
            wrong += !same_bits(got, out[0] + c * LARGEST, count * 4);
        for (size_t i = count; i < LARGEST; i++)
            untouched += same_bits(got + i, "\x55\x55\x55\x55", 4);
    }
    snprintf(what, sizeof(what), "call %u of %u elements: %zu wrong",
             (unsigned)c, (unsigned)calls[c].n, wrong);
    check(wrong == 0, what);
    check(untouched == n * (LARGEST - count), "bytes behind a result");
}

void fetch(const struct group *g, uint32_t r, float *out)
{
    const struct rank *k = &g->ranks[r];

    need(kpk_comm_sync(g->comm, r, k->stream), "the calls");
    need(kpk_copy_from(k->inst, out, k->out, OUT_NBYTES), "a copy");
}

void check_results(uint32_t n, float *const *out)
{
    for (uint32_t c = 0; c < CALLS; c++)
        check_call(n, c, out);
}
