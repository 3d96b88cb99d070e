/* rows_reduce.c - row reductions, softmax, norms and rotary embeddings */
#include "gpu_bench.h"

#define N (UINT64_C(1) << 28)

/* p[0]: type; p[1]: columns; p[2]: threads a row, 0 for the contract's; p[3]:
 * rows, 0 for as many as 2^28 elements have; p[4]: 1 for columns of a matrix.
 */

static unsigned rows_of(const struct bench_row *row)
{
    return (unsigned)(row->p[3] ? (uint64_t)row->p[3]
                                : N / (uint64_t)row->p[1]);
}

static uint64_t elements_of(const struct bench_row *row)
{
    return (uint64_t)rows_of(row) * (uint64_t)row->p[1];
}

/* the power of two at or above n, at most 1024 */
static unsigned block_for(uint64_t n)
{
    unsigned block = 1;

    while (block < n && block < 1024)
        block *= 2;
    return block;
}

static void fast(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t cols = (uint64_t)row->p[1], rows = rows_of(row);
    const uint64_t n = rows * cols;
    const uint64_t lines[] = {rows, cols, cols, 1};
    const uint64_t columns[] = {rows, cols, 1, rows};
    const uint64_t *info = row->p[4] ? columns : lines;
    const size_t size = bench_size((enum bench_type)row->p[0]);

    l->grid[0] = (unsigned)rows;
    l->block[0] = row->p[2] ? (unsigned)row->p[2] : block_for(cols);
    bench_arg(l, n);
    bench_arg(l, cols);
    bench_arg(l, 2);
    bench_arg(l, bench_upload(info, sizeof(lines)));
    bench_arg(l, bench_random((enum bench_type)row->p[0], n));
    bench_arg(l, bench_empty(rows * 8));
    l->nbytes = (double)(n * size + rows * size);
}

static void softmax(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t n = elements_of(row);

    l->grid[0] = rows_of(row);
    l->block[1] = row->p[2] ? (unsigned)row->p[2] : 32;
    bench_arg(l, bench_random(type, n));
    bench_arg(l, bench_empty(n * bench_size(type)));
    bench_arg(l, (uint64_t)row->p[1]);
    l->nbytes = 2.0 * (double)(n * bench_size(type));
}

static void norm(struct bench_launch *l, const struct bench_row *row,
                 unsigned weights)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t cols = (uint64_t)row->p[1], n = elements_of(row);

    l->grid[0] = rows_of(row);
    l->block[0] = row->p[2] ? (unsigned)row->p[2] : cols < 1024 ? 32 : 1024;
    bench_arg(l, bench_random(type, n));
    bench_arg(l, bench_empty(n * bench_size(type)));
    for (unsigned i = 0; i < weights; i++)
        bench_arg(l, bench_random(type, cols));
    bench_arg(l, cols);
    bench_arg(l, l->block[0]);
    bench_arg_f32(l, 1e-5f);
    l->nbytes = 2.0 * (double)(n * bench_size(type));
}

static void rmsnorm(struct bench_launch *l, const struct bench_row *row)
{
    norm(l, row, 1);
}

static void layernorm(struct bench_launch *l, const struct bench_row *row)
{
    norm(l, row, 2);
}

/* (b, h, t, d) = (16, 32, p[3] or what makes N, 128), one table for all
 * batches; p[1]: thd; p[2]: halves of rows. */
static void rope(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t b = 16, h = 32, d = 128;
    const uint64_t t = row->p[3] ? (uint64_t)row->p[3] : N / (b * h * d);
    const uint64_t n = b * h * t * d;

    l->grid[0] = (unsigned)(n / 2 / 1024);
    l->block[0] = 1024;
    bench_arg(l, bench_random(type, n));
    bench_arg(l, bench_random(type, t * d / 2));
    bench_arg(l, bench_random(type, t * d / 2));
    bench_arg(l, bench_empty(n * bench_size(type)));
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
    l->nbytes = 2.0 * (double)(n * bench_size(type));
}

#define PACK(symbol, label, ...) BENCH_ROW("reduce", symbol, label, __VA_ARGS__)
#define BOTH(symbol, label, ...)                                               \
    BENCH_BOTH("reduce", "plain_rows", symbol, label, __VA_ARGS__)
#define FAST(T, type)                                                          \
    PACK("fast_sum_" T, "rows of 4096", fast, {type, 4096}),                   \
        PACK("fast_min_" T, "rows of 4096", fast, {type, 4096}),               \
        PACK("fast_max_" T, "rows of 4096", fast, {type, 4096}),               \
        PACK("fast_argmin_" T, "rows of 4096", fast, {type, 4096}),            \
        PACK("fast_argmax_" T, "rows of 4096", fast, {type, 4096})
#define LENGTHS(symbol, prepare, type)                                         \
    BOTH(symbol, "rows of 32", prepare, {type, 32}),                           \
        BOTH(symbol, "rows of 128", prepare, {type, 128}),                     \
        BOTH(symbol, "rows of 1000", prepare, {type, 1000, 0, 262144}),        \
        BOTH(symbol, "rows of 1024", prepare, {type, 1024}),                   \
        BOTH(symbol, "rows of 4095", prepare, {type, 4095, 0, 65536}),         \
        BOTH(symbol, "rows of 4096", prepare, {type, 4096}),                   \
        BOTH(symbol, "rows of 32768", prepare, {type, 32768}),                 \
        BOTH(symbol, "rows of 50257", prepare, {type, 50257, 0, 5120}),        \
        BOTH(symbol, "rows of 1048576", prepare, {type, 1048576}),             \
        BOTH(symbol, "8 rows of 4096", prepare, {type, 4096, 0, 8}),           \
        BOTH(symbol, "512 rows of 4096", prepare, {type, 4096, 0, 512}),       \
        BOTH(symbol, "1 row of 128256", prepare, {type, 128256, 0, 1})
#define COLUMNS(symbol, type)                                                  \
    BOTH(symbol, "columns of 4096", fast, {type, 4096, 0, 0, 1}),              \
        BOTH(symbol, "columns of 64", fast, {type, 64, 0, 0, 1})
#define WIDER(symbol, prepare, type)                                           \
    PACK(symbol, "rows of 4096, 256 threads", prepare, {type, 4096, 256})

static void nothing(struct bench_launch *l, const struct bench_row *row)
{
    l->grid[0] = (unsigned)row->p[0];
    l->block[0] = 1024;
}

const struct bench_row bench_reduce[] = {
    BENCH_ROW("plain_rows", "nothing", "8 blocks", nothing, {8}),
    BENCH_ROW("plain_rows", "nothing", "2048 blocks", nothing, {2048}),
    BENCH_ROW("plain_rows", "nothing", "262144 blocks", nothing, {262144}),
    LENGTHS("fast_sum_f32", fast, BENCH_F32),
    LENGTHS("fast_sum_f16", fast, BENCH_F16),
    LENGTHS("fast_max_f32", fast, BENCH_F32),
    LENGTHS("fast_argmax_f32", fast, BENCH_F32),
    LENGTHS("fast_argmax_f16", fast, BENCH_F16),
    BOTH("fast_sum_u8", "rows of 4096", fast, {BENCH_U8, 4096}),
    BOTH("fast_max_u8", "rows of 4096", fast, {BENCH_U8, 4096}),
    BOTH("fast_argmax_u8", "rows of 4096", fast, {BENCH_U8, 4096}),
    COLUMNS("fast_sum_f32", BENCH_F32),
    COLUMNS("fast_argmax_f16", BENCH_F16),
    WIDER("fast_sum_f32", fast, BENCH_F32),
    FAST("f32", BENCH_F32),
    FAST("f16", BENCH_F16),
    FAST("bf16", BENCH_BF16),
    FAST("f64", BENCH_F64),
    FAST("u8", BENCH_U8),
    FAST("u32", BENCH_U32),
    FAST("i64", BENCH_I64),
    LENGTHS("softmax_f32", softmax, BENCH_F32),
    LENGTHS("softmax_f16", softmax, BENCH_F16),
    WIDER("softmax_f32", softmax, BENCH_F32),
    WIDER("softmax_bf16", softmax, BENCH_BF16),
    LENGTHS("rmsnorm_f32", rmsnorm, BENCH_F32),
    LENGTHS("rmsnorm_f16", rmsnorm, BENCH_F16),
    WIDER("rmsnorm_f32", rmsnorm, BENCH_F32),
    LENGTHS("layernorm_f32", layernorm, BENCH_F32),
    LENGTHS("layernorm_f16", layernorm, BENCH_F16),
    WIDER("layernorm_f32", layernorm, BENCH_F32),
    BOTH("rope_i_f32", "d = 128", rope, {BENCH_F32, 0, 0}),
    BOTH("rope_f32", "d = 128", rope, {BENCH_F32, 0, 1}),
    BOTH("rope_thd_f32", "d = 128", rope, {BENCH_F32, 1, 0}),
    BOTH("rope_i_f16", "d = 128", rope, {BENCH_F16, 0, 0}),
    BOTH("rope_f16", "d = 128", rope, {BENCH_F16, 0, 1}),
    BOTH("rope_thd_f16", "d = 128", rope, {BENCH_F16, 1, 0}),
    BOTH("rope_f16", "d = 128, t = 1", rope, {BENCH_F16, 0, 1, 1}),
    BOTH("rope_f32", "d = 128, t = 16", rope, {BENCH_F32, 0, 1, 16}),
    {0},
};
