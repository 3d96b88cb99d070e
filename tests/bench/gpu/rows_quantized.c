/* rows_quantized.c - GGUF block formats: products and dequantization */
#include "gpu_bench.h"

#include "base/gguf_formats.h"

/* p[0]: elements and p[1]: bytes of a block; p[2], p[3]: offsets of its f16
 * scales, -1: none; then what the kernel needs. */
#define ROWS UINT64_C(131072)
#define COLS UINT64_C(4096)

static uint64_t weights(const struct bench_row *row, uint64_t n)
{
    return bench_blocks(n / (uint64_t)row->p[0], (size_t)row->p[1],
                        (int)row->p[2], (row->p[2] >= 0) + (row->p[3] >= 0));
}

static double weight_bytes(const struct bench_row *row, uint64_t n)
{
    const uint64_t nblocks = n / (uint64_t)row->p[0];

    return (double)(nblocks * (uint64_t)row->p[1]);
}

/* p[4] activation columns, p[5] rows; GB/s counts the weights. */
static void mat_vec(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t n = (uint64_t)row->p[4], rows = (uint64_t)row->p[5];

    l->grid[0] = (unsigned)(n == 1 ? rows : rows / 2);
    l->block[0] = 32;
    l->block[1] = n <= 4 ? 4 : 2;
    bench_arg(l, weights(row, rows * COLS));
    bench_arg(l, bench_blocks(n * COLS / 32, 36, 0, 2));
    bench_arg(l, bench_empty(n * rows * 4));
    bench_arg(l, COLS);
    bench_arg(l, rows);
    bench_arg(l, COLS);
    bench_arg(l, rows);
    l->nbytes = weight_bytes(row, rows * COLS);
}

/* 8 tokens, 8 of 64 experts for each: every expert's weights are read once */
static void moe(struct bench_launch *l, const struct bench_row *row)
{
    enum { TOKENS = 8, CHOSEN = 8, EXPERTS = 64, N = 2048 };
    uint32_t ids[TOKENS * CHOSEN];

    for (uint32_t i = 0; i < TOKENS * CHOSEN; i++)
        ids[i] = i * 37 % EXPERTS;
    l->grid[0] = N;
    l->grid[1] = TOKENS;
    l->grid[2] = CHOSEN;
    l->block[0] = 32;
    l->block[1] = 4;
    bench_arg(l, weights(row, EXPERTS * N * COLS));
    bench_arg(l, bench_blocks(TOKENS * COLS / 32, 36, 0, 2));
    bench_arg(l, bench_upload(ids, sizeof(ids)));
    bench_arg(l, bench_empty(TOKENS * CHOSEN * N * 4));
    bench_arg(l, N);
    bench_arg(l, COLS);
    bench_arg(l, TOKENS);
    bench_arg(l, CHOSEN);
    bench_arg(l, COLS);
    bench_arg(l, 1);
    l->nbytes = weight_bytes(row, TOKENS * CHOSEN * N * COLS);
}

/* 4096 rows of 4096; p[4]: threads a block; p[5]: columns a workgroup */
static void get_rows(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t n = 4096;
    static uint32_t ids[4096];

    for (uint32_t i = 0; i < n; i++)
        ids[i] = i * 2654435761u % ROWS;
    l->grid[0] = (unsigned)n;
    l->grid[1] = (unsigned)(COLS / (uint64_t)row->p[5]);
    l->block[0] = (unsigned)row->p[4];
    bench_arg(l, weights(row, ROWS * COLS));
    bench_arg(l, bench_upload(ids, sizeof(ids)));
    bench_arg(l, bench_empty(n * COLS * 4));
    bench_arg(l, COLS);
    bench_arg(l, COLS / (uint64_t)row->p[0] * (uint64_t)row->p[1]);
    l->nbytes = weight_bytes(row, n * COLS) + (double)(n * COLS * 4);
}

static void dmmv(struct bench_launch *l, const struct bench_row *row)
{
    l->grid[0] = (unsigned)ROWS;
    l->block[0] = 32;
    bench_arg(l, weights(row, ROWS * COLS));
    bench_arg(l, bench_random(BENCH_F32, COLS));
    bench_arg(l, bench_empty(ROWS * 4));
    bench_arg(l, COLS);
    bench_arg(l, ROWS);
    l->nbytes = weight_bytes(row, ROWS * COLS);
}

/* p[4]: threads a block; p[5]: elements a workgroup; p[6]: elements in one of
 * the third argument, 0: none; p[7]: bytes of an output element. */
static void dequantize(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t n = ROWS / 4 * COLS * 4;

    l->grid[0] = (unsigned)(n / (uint64_t)row->p[5]);
    l->block[0] = (unsigned)row->p[4];
    bench_arg(l, weights(row, n));
    bench_arg(l, bench_empty(n * (uint64_t)row->p[7]));
    if (row->p[6])
        bench_arg(l, n / (uint64_t)row->p[6]);
    l->nbytes = weight_bytes(row, n) + (double)(n * (uint64_t)row->p[7]);
}

/* 4096 x 4096 weights, 512 columns; p[4] columns and p[5] rows a workgroup. */
static void mat_mul(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t rows = 4096, cols = 512;

    l->grid[0] = (unsigned)(rows / (uint64_t)row->p[5]);
    l->grid[1] = (unsigned)(cols / (uint64_t)row->p[4]);
    l->block[0] = 32;
    l->block[1] = 4;
    bench_arg(l, weights(row, rows * COLS));
    bench_arg(l, bench_blocks(cols * COLS / 32, 36, 0, 2));
    bench_arg(l, bench_empty(rows * cols * 4));
    bench_arg(l, COLS);
    bench_arg(l, rows);
    bench_arg(l, cols);
    bench_arg(l, COLS);
    bench_arg(l, rows);
    l->nbytes = weight_bytes(row, rows * COLS);
    l->nops = 2.0 * (double)(rows * cols * COLS);
}

static void quantize(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t rows = 32768;

    (void)row;
    l->grid[0] = (unsigned)(COLS / 256);
    l->grid[1] = (unsigned)rows;
    l->block[0] = 256;
    bench_arg(l, bench_random(BENCH_F32, rows * COLS));
    bench_arg(l, bench_empty(rows * COLS / 32 * 36));
    bench_arg(l, COLS);
    bench_arg(l, COLS);
    l->nbytes = (double)(rows * COLS) * (4 + 36.0 / 32);
}

/* clang-format off */
#define ROW(symbol, label, run, ...) \
    {"quantized", symbol, label, run, {__VA_ARGS__}}
#define MAT_VEC(name, ...)                                                                             \
    ROW("mul_mat_vec_" name "_q8_1_cuda1", "4096x4096, 1 column", mat_vec, __VA_ARGS__, 1, 4096),      \
    ROW("mul_mat_vec_" name "_q8_1_cuda1", "131072x4096, 1 column", mat_vec, __VA_ARGS__, 1, ROWS),    \
    ROW("mul_mat_vec_" name "_q8_1_cuda4", "131072x4096, 4 columns", mat_vec, __VA_ARGS__, 4, ROWS),   \
    ROW("mul_mat_vec_" name "_q8_1_cuda8", "131072x4096, 8 columns", mat_vec, __VA_ARGS__, 8, ROWS)
#define MOE(name, ...) \
    ROW("indexed_moe_forward_" name "_q8_1", "64 of 2048x4096", moe, __VA_ARGS__)
#define DMMV(name, ...) \
    ROW("dequantize_mul_mat_vec_" name, "131072x4096", dmmv, __VA_ARGS__)
#define DEQUANTIZE(name, ...)                                                                          \
    ROW("dequantize_block_" name "_f32", "536870912 elements", dequantize, __VA_ARGS__, 4),            \
    ROW("dequantize_block_" name "_f16", "536870912 elements", dequantize, __VA_ARGS__, 2)
#define GET_ROWS(name, ...) \
    ROW("get_rows_" name, "4096 of 131072 rows of 4096", get_rows, __VA_ARGS__)
#define MAT_MUL(name, ...) \
    ROW("mul_mat_" name, "4096x4096x512", mat_mul, __VA_ARGS__)

/* a kind of rows from the row of a format */
#define MAT_VECS(name, lower, short, type, number, elements, bytes, d, m, ...)                         \
    MAT_VEC(#name, elements, bytes, d, m),
#define MOES(name, lower, short, type, number, elements, bytes, d, m, ...)                             \
    MOE(#short, elements, bytes, d, m),
#define COLUMN_cuda "_cuda"
#define COLUMN_plain ""
#define COLUMN_grid ""
#define DMMVS(name, lower, short, type, number, elements, bytes, d, m, tiled, column, ...)             \
    DMMV(#lower COLUMN_##column, elements, bytes, d, m),
#define DEQUANTIZES(name, lower, short, type, number, elements, bytes, d, m, tiled, column,            \
                    counts, threads, elems, ...)                                                       \
    DEQUANTIZE(#name, elements, bytes, d, m, threads, elems, GGUF_UNIT_##counts),
#define NUMBERS(name, type, number, elements, bytes, d, m, counts, threads, elems, join)               \
    DEQUANTIZE(#name, elements, bytes, d, m, threads, elems, GGUF_UNIT_##counts),
#define GET_ALL_ROWS(name, lower, short, type, number, elements, bytes, d, m, tiled, column,           \
                     counts, threads, elems, join, row_threads, row_columns, ...)                      \
    GET_ROWS(#name, elements, bytes, d, m, row_threads, row_columns),
#define MAT_MULS(name, lower, short, type, number, elements, bytes, d, m, tiled, column,               \
                 counts, threads, elems, join, row_threads, row_columns, rows, cols, passes)           \
    MAT_MUL(#name, elements, bytes, d, m, cols, rows),

const struct bench_row bench_quantized[] = {
    GGUF_WEIGHTS(MAT_VECS)
    GGUF_WEIGHTS(MOES)
    GGUF_WEIGHTS(DMMVS)
    GGUF_WEIGHTS(DEQUANTIZES)
    GGUF_NUMBERS(NUMBERS)
    GGUF_WEIGHTS(GET_ALL_ROWS)
    ROW("quantize_q8_1", "32768x4096", quantize, 0),
    GGUF_WEIGHTS(MAT_MULS)
    {0},
};
/* clang-format on */
