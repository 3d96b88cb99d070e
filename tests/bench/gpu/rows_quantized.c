/* rows_quantized.c - GGUF block formats: products and dequantisation */
#include "bench.h"

/* p[0]: elements and p[1]: bytes of a block; p[2], p[3]: where its f16 scales
 * are and how many; then what the kernel needs. */
#define Q4_0 32, 18, 0, 1
#define Q4_1 32, 20, 0, 2
#define Q5_0 32, 22, 0, 1
#define Q8_0 32, 34, 0, 1
#define Q2_K 256, 84, 80, 2
#define Q3_K 256, 110, 108, 1
#define Q4_K 256, 144, 0, 2
#define Q5_K 256, 176, 0, 2
#define Q6_K 256, 210, 208, 1

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

/* p[4] activation columns; GB/s counts the weights. */
static void mat_vec(struct bench_launch *l, const struct bench_row *row)
{
    const uint64_t n = (uint64_t)row->p[4];

    l->grid[0] = (unsigned)(n == 1 ? ROWS : ROWS / 2);
    l->block[0] = 32;
    l->block[1] = n <= 4 ? 4 : 2;
    bench_arg(l, weights(row, ROWS * COLS));
    bench_arg(l, bench_blocks(n * COLS / 32, 36, 0, 2));
    bench_arg(l, bench_empty(n * ROWS * 4));
    bench_arg(l, COLS);
    bench_arg(l, ROWS);
    bench_arg(l, COLS);
    bench_arg(l, ROWS);
    l->nbytes = weight_bytes(row, ROWS * COLS);
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

#define MAT_VEC(name, ...)                                                     \
    {"quantized",                                                              \
     "mul_mat_vec_" name "_q8_1_cuda1",                                        \
     "131072x4096, 1 column",                                                  \
     mat_vec,                                                                  \
     {__VA_ARGS__, 1}},                                                        \
        {"quantized",                                                          \
         "mul_mat_vec_" name "_q8_1_cuda4",                                    \
         "131072x4096, 4 columns",                                             \
         mat_vec,                                                              \
         {__VA_ARGS__, 4}},                                                    \
    {                                                                          \
        "quantized", "mul_mat_vec_" name "_q8_1_cuda8",                        \
            "131072x4096, 8 columns", mat_vec,                                 \
        {                                                                      \
            __VA_ARGS__, 8                                                     \
        }                                                                      \
    }

const struct bench_row bench_quantized[] = {
    MAT_VEC("q4_0", Q4_0),
    MAT_VEC("q8_0", Q8_0),
    MAT_VEC("q5_0", Q5_0),
    MAT_VEC("q2_K", Q2_K),
    MAT_VEC("q3_K", Q3_K),
    MAT_VEC("q4_K", Q4_K),
    MAT_VEC("q5_K", Q5_K),
    MAT_VEC("q6_K", Q6_K),
    {"quantized",
     "dequantize_mul_mat_vec_q4_0_cuda",
     "131072x4096",
     dmmv,
     {Q4_0}},
    {"quantized", "dequantize_mul_mat_vec_q4_k", "131072x4096", dmmv, {Q4_K}},
    {"quantized",
     "dequantize_block_q4_0_f32",
     "536870912 elements",
     dequantize,
     {Q4_0, 32, 256, 1, 4}},
    {"quantized",
     "dequantize_block_q8_0_f32",
     "536870912 elements",
     dequantize,
     {Q8_0, 32, 256, 1, 4}},
    {"quantized",
     "dequantize_block_q5_0_f32",
     "536870912 elements",
     dequantize,
     {Q5_0, 256, 512, 2, 4}},
    {"quantized",
     "dequantize_block_q4_K_f32",
     "536870912 elements",
     dequantize,
     {Q4_K, 32, 256, 0, 4}},
    {"quantized",
     "dequantize_block_q6_K_f32",
     "536870912 elements",
     dequantize,
     {Q6_K, 64, 256, 0, 4}},
    {"quantized",
     "dequantize_block_q4_K_f16",
     "536870912 elements",
     dequantize,
     {Q4_K, 32, 256, 0, 2}},
    {"quantized", "quantize_q8_1", "32768x4096", quantize, {0}},
    {"quantized", "mul_mat_q4_0", "4096x4096x512", mat_mul, {Q4_0, 64, 128}},
    {"quantized", "mul_mat_q8_0", "4096x4096x512", mat_mul, {Q8_0, 128, 64}},
    {"quantized", "mul_mat_q4_K", "4096x4096x512", mat_mul, {Q4_K, 64, 128}},
    {"quantized", "mul_mat_q5_K", "4096x4096x512", mat_mul, {Q5_K, 64, 128}},
    {"quantized", "mul_mat_q6_K", "4096x4096x512", mat_mul, {Q6_K, 64, 64}},
    {0},
};
