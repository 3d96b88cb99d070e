/* rows_quantized.c - GGUF block formats: products and dequantization */
#include "gpu_bench.h"

/* p[0]: elements and p[1]: bytes of a block; p[2], p[3]: where its f16 scales
 * are and how many; then what the kernel needs. */
#define Q4_0 32, 18, 0, 1
#define Q4_1 32, 20, 0, 2
#define Q5_0 32, 22, 0, 1
#define Q5_1 32, 24, 0, 2
#define Q8_0 32, 34, 0, 1
#define Q2_K 256, 84, 80, 2
#define Q3_K 256, 110, 108, 1
#define Q4_K 256, 144, 0, 2
#define Q5_K 256, 176, 0, 2
#define Q6_K 256, 210, 208, 1
#define Q8_K 256, 292, -1, 0

#define ROWS UINT64_C(131072)
#define COLS UINT64_C(4096)

static uint64_t weights(const struct bench_row *row, uint64_t n)
{
    return bench_blocks(n / (uint64_t)row->p[0], (size_t)row->p[1],
                        (int)row->p[2], (int)row->p[3]);
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

/* p[4]: threads a block; p[5]: elements a workgroup; p[6]: the third argument:
 * 0 none, 1 blocks, 2 elements; p[7]: bytes of an output element. */
static void dequantize(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t n = ROWS / 4 * COLS * 4;

    l->grid[0] = (unsigned)(n / (uint64_t)row->p[5]);
    l->block[0] = (unsigned)row->p[4];
    bench_arg(l, weights(row, n));
    bench_arg(l, bench_empty(n * (uint64_t)row->p[7]));
    if (row->p[6])
        bench_arg(l, row->p[6] == 1 ? n / 32 : n);
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

const struct bench_row bench_quantized[] = {
    MAT_VEC("q4_0", Q4_0),
    MAT_VEC("q4_1", Q4_1),
    MAT_VEC("q5_0", Q5_0),
    MAT_VEC("q5_1", Q5_1),
    MAT_VEC("q8_0", Q8_0),
    MAT_VEC("q2_K", Q2_K),
    MAT_VEC("q3_K", Q3_K),
    MAT_VEC("q4_K", Q4_K),
    MAT_VEC("q5_K", Q5_K),
    MAT_VEC("q6_K", Q6_K),
    MOE("q8_0", Q8_0),
    MOE("q2k", Q2_K),
    MOE("q3k", Q3_K),
    MOE("q4k", Q4_K),
    MOE("q5k", Q5_K),
    MOE("q6k", Q6_K),
    DMMV("q4_0_cuda", Q4_0),
    DMMV("q4_1_cuda", Q4_1),
    DMMV("q5_0_cuda", Q5_0),
    DMMV("q5_1_cuda", Q5_1),
    DMMV("q8_0_cuda", Q8_0),
    DMMV("q2_k", Q2_K),
    DMMV("q3_k", Q3_K),
    DMMV("q4_k", Q4_K),
    DMMV("q5_k", Q5_K),
    DMMV("q6_k", Q6_K),
    DEQUANTIZE("q4_0", Q4_0, 32, 256, 1),
    DEQUANTIZE("q4_1", Q4_1, 32, 256, 1),
    DEQUANTIZE("q5_0", Q5_0, 256, 512, 2),
    DEQUANTIZE("q5_1", Q5_1, 256, 512, 2),
    DEQUANTIZE("q8_0", Q8_0, 32, 256, 1),
    DEQUANTIZE("q2_K", Q2_K, 64, 256, 0),
    DEQUANTIZE("q3_K", Q3_K, 64, 256, 0),
    DEQUANTIZE("q4_K", Q4_K, 32, 256, 0),
    DEQUANTIZE("q5_K", Q5_K, 64, 256, 0),
    DEQUANTIZE("q6_K", Q6_K, 64, 256, 0),
    DEQUANTIZE("q8_K", Q8_K, 32, 256, 0),
    GET_ROWS("q4_0", Q4_0, 256, 512),
    GET_ROWS("q4_1", Q4_1, 256, 512),
    GET_ROWS("q5_0", Q5_0, 256, 512),
    GET_ROWS("q5_1", Q5_1, 256, 512),
    GET_ROWS("q8_0", Q8_0, 256, 512),
    GET_ROWS("q2_K", Q2_K, 64, 256),
    GET_ROWS("q3_K", Q3_K, 64, 256),
    GET_ROWS("q4_K", Q4_K, 32, 256),
    GET_ROWS("q5_K", Q5_K, 64, 256),
    GET_ROWS("q6_K", Q6_K, 64, 256),
    ROW("quantize_q8_1", "32768x4096", quantize, 0),
    MAT_MUL("q4_0", Q4_0, 64, 128),
    MAT_MUL("q4_1", Q4_1, 64, 128),
    MAT_MUL("q5_0", Q5_0, 128, 64),
    MAT_MUL("q5_1", Q5_1, 128, 64),
    MAT_MUL("q8_0", Q8_0, 128, 64),
    MAT_MUL("q2_K", Q2_K, 64, 128),
    MAT_MUL("q3_K", Q3_K, 128, 128),
    MAT_MUL("q4_K", Q4_K, 64, 128),
    MAT_MUL("q5_K", Q5_K, 64, 128),
    MAT_MUL("q6_K", Q6_K, 64, 64),
    {0},
};
/* clang-format on */
