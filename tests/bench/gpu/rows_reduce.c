/* rows_reduce.c - row reductions, softmax, norms and rotary embeddings */
#include "bench.h"

#define N (UINT64_C(1) << 28)

/* p[0]: type; p[1]: columns; p[2]: threads a row, 0 for the contract's. */

static unsigned rows_of(const struct bench_row *row)
{
    return (unsigned)(N / (uint64_t)row->p[1]);
}

static void fast(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t cols = (uint64_t)row->p[1], rows = N / cols;
    const uint64_t info[] = {rows, cols, cols, 1};
    const size_t size = bench_size((enum bench_type)row->p[0]);

    l->grid[0] = (unsigned)rows;
    l->block[0] =
        row->p[2] ? (unsigned)row->p[2] : (cols < 1024 ? (unsigned)cols : 1024);
    bench_arg(l, N);
    bench_arg(l, cols);
    bench_arg(l, 2);
    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, bench_random((enum bench_type)row->p[0], N));
    bench_arg(l, bench_empty(rows * 8));
    l->nbytes = (double)(N * size + rows * size);
}

static void softmax(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];

    l->grid[0] = rows_of(row);
    l->block[1] = row->p[2] ? (unsigned)row->p[2] : 32;
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_empty(N * bench_size(type)));
    bench_arg(l, (uint64_t)row->p[1]);
    l->nbytes = 2.0 * (double)(N * bench_size(type));
}

static void norm(struct bench_launch *l, const struct bench_row *row,
                 unsigned weights)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t cols = (uint64_t)row->p[1];

    l->grid[0] = rows_of(row);
    l->block[0] = row->p[2] ? (unsigned)row->p[2] : cols < 1024 ? 32 : 1024;
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_empty(N * bench_size(type)));
    for (unsigned i = 0; i < weights; i++)
        bench_arg(l, bench_random(type, cols));
    bench_arg(l, cols);
    bench_arg(l, l->block[0]);
    bench_arg_f32(l, 1e-5f);
    l->nbytes = 2.0 * (double)(N * bench_size(type));
}

static void rmsnorm(struct bench_launch *l, const struct bench_row *row)
{
    norm(l, row, 1);
}

static void layernorm(struct bench_launch *l, const struct bench_row *row)
{
    norm(l, row, 2);
}

/* (b, h, t, d) = (16, 32, N / 65536, 128), one table for all batches. */
static void rope(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t b = 16, h = 32, d = 128, t = N / (b * h * d);

    l->grid[0] = (unsigned)(N / 2 / 1024);
    l->block[0] = 1024;
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_random(type, t * d / 2));
    bench_arg(l, bench_random(type, t * d / 2));
    bench_arg(l, bench_empty(N * bench_size(type)));
    if (row->p[1]) { /* rope_thd: b, t, h, d */
        bench_arg(l, b);
        bench_arg(l, t);
        bench_arg(l, h);
        bench_arg(l, d);
    } else {
        bench_arg(l, b * h);
        bench_arg(l, t * d);
        if (row->p[2])
            bench_arg(l, d);
    }
    bench_arg(l, 0);
    l->nbytes = 2.0 * (double)(N * bench_size(type));
}

#define FAST(symbol, type)                                                     \
    {                                                                          \
        "reduce", symbol, "rows of 4096", fast,                                \
        {                                                                      \
            type, 4096                                                         \
        }                                                                      \
    }
#define LENGTHS(symbol, prepare, type)                                         \
    {"reduce", symbol, "rows of 128", prepare, {type, 128}},                   \
        {"reduce", symbol, "rows of 1024", prepare, {type, 1024}},             \
        {"reduce", symbol, "rows of 4096", prepare, {type, 4096}},             \
        {"reduce",                                                             \
         symbol,                                                               \
         "rows of 4096, 256 threads",                                          \
         prepare,                                                              \
         {type, 4096, 256}},                                                   \
        {"reduce", symbol, "rows of 32768", prepare, {type, 32768}},           \
    {                                                                          \
        "reduce", symbol, "rows of 1048576", prepare,                          \
        {                                                                      \
            type, 1048576                                                      \
        }                                                                      \
    }

const struct bench_row bench_reduce[] = {
    LENGTHS("fast_sum_f32", fast, BENCH_F32),
    FAST("fast_sum_f16", BENCH_F16),
    FAST("fast_max_f32", BENCH_F32),
    FAST("fast_min_bf16", BENCH_BF16),
    FAST("fast_argmax_f32", BENCH_F32),
    FAST("fast_argmin_f16", BENCH_F16),
    FAST("fast_sum_f64", BENCH_F64),
    FAST("fast_sum_u8", BENCH_U8),
    LENGTHS("softmax_f32", softmax, BENCH_F32),
    {"reduce", "softmax_f16", "rows of 4096", softmax, {BENCH_F16, 4096}},
    {"reduce",
     "softmax_bf16",
     "rows of 4096, 256 threads",
     softmax,
     {BENCH_BF16, 4096, 256}},
    LENGTHS("rmsnorm_f32", rmsnorm, BENCH_F32),
    {"reduce", "rmsnorm_f16", "rows of 4096", rmsnorm, {BENCH_F16, 4096}},
    LENGTHS("layernorm_f32", layernorm, BENCH_F32),
    {"reduce", "layernorm_bf16", "rows of 4096", layernorm, {BENCH_BF16, 4096}},
    {"reduce", "rope_i_f32", "d = 128", rope, {BENCH_F32, 0, 0}},
    {"reduce", "rope_f32", "d = 128", rope, {BENCH_F32, 0, 1}},
    {"reduce", "rope_f16", "d = 128", rope, {BENCH_F16, 0, 1}},
    {"reduce", "rope_thd_f32", "d = 128", rope, {BENCH_F32, 1, 0}},
    {0},
};
