/* rows_elementwise.c - affine, fill, ternary, binary, unary, cast and sort */
#include "gpu_bench.h"

#define N (UINT64_C(1) << 28)
#define SIDE UINT64_C(16384) /* SIDE * SIDE = N */

/* p[0], p[1]: input and output type; p[2]: layout; p[3]: launch shape. */
enum { CONTIGUOUS, TRANSPOSED, BROADCAST_ROW };
/* One thread an element in blocks of 1024 is what callers of the CUDA kernels
 * launch; 32 bytes of the widest operand a thread in blocks of 256 is what
 * kpack recommends. */
enum { CONTRACT, RECOMMENDED };

static void shape(struct bench_launch *l, const struct bench_row *row)
{
    const size_t a = bench_size((enum bench_type)row->p[0]);
    const size_t b = bench_size((enum bench_type)row->p[1]);
    const size_t per_thread = 16 / (a > b ? a : b) * 2;

    l->block[0] = row->p[3] == CONTRACT ? 1024 : 256;
    l->grid[0] =
        (unsigned)(row->p[3] == CONTRACT ? N / 1024 : N / 256 / per_thread);
}

/* dims and `groups` stride groups; the last group has the row's layout. */
static void arg_info(struct bench_launch *l, const struct bench_row *row,
                     size_t groups)
{
    uint64_t info[2 + 3 * 2] = {SIDE, SIDE};

    for (size_t g = 0; g < groups; g++) {
        info[2 + 2 * g] = SIDE;
        info[3 + 2 * g] = 1;
    }
    if (row->p[2] == TRANSPOSED) {
        info[2 * groups] = 1;
        info[2 * groups + 1] = SIDE;
    } else if (row->p[2] == BROADCAST_ROW) {
        info[2 * groups] = 0;
    }
    bench_arg(l, N);
    bench_arg(l, 2);
    bench_arg(l, row->p[2] == CONTIGUOUS
                     ? 0
                     : bench_upload(info, (2 + 2 * groups) * 8));
}

static void unary(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type a = (enum bench_type)row->p[0];
    const enum bench_type b = (enum bench_type)row->p[1];

    shape(l, row);
    arg_info(l, row, 1);
    bench_arg(l, bench_random(a, N));
    bench_arg(l, bench_empty(N * bench_size(b)));
    l->nbytes = (double)(N * (bench_size(a) + bench_size(b)));
}

static void affine(struct bench_launch *l, const struct bench_row *row)
{
    unary(l, row);
    bench_arg_f32(l, 1.5f); /* any bits will do for the other types */
    bench_arg_f32(l, 0.25f);
}

static void binary(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type a = (enum bench_type)row->p[0];
    const enum bench_type b = (enum bench_type)row->p[1];
    const uint64_t rhs = row->p[2] == BROADCAST_ROW ? SIDE : N;

    shape(l, row);
    arg_info(l, row, 2);
    bench_arg(l, bench_random(a, N));
    bench_arg(l, bench_random(a, rhs));
    bench_arg(l, bench_empty(N * bench_size(b)));
    l->nbytes = (double)((N + rhs) * bench_size(a) + N * bench_size(b));
}

/* Condition of p[0], values of p[1]; the host never passes a null info. */
static void ternary(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type id = (enum bench_type)row->p[0];
    const enum bench_type type = (enum bench_type)row->p[1];
    const uint64_t info[] = {SIDE, SIDE, SIDE, 1, SIDE, 1, SIDE, 1};

    shape(l, row);
    bench_arg(l, N);
    bench_arg(l, 2);
    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, bench_random(id, N));
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_empty(N * bench_size(type)));
    l->nbytes = (double)(N * (bench_size(id) + 3 * bench_size(type)));
}

static void fill(struct bench_launch *l, const struct bench_row *row)
{
    const size_t size = bench_size((enum bench_type)row->p[0]);

    shape(l, row);
    bench_arg(l, bench_empty(N * size));
    bench_arg(l, 42);
    bench_arg(l, N);
    l->nbytes = (double)(N * size);
}

/* p[4] columns; rows fill N keys. GB/s here counts a key read and an index
 * written; Tops/s counts keys. */
static void sort(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const unsigned cols = (unsigned)row->p[4];
    const uint64_t n = N / 4;

    l->grid[0] = (unsigned)(n / cols);
    l->block[0] = cols < 1024 ? cols : 1024;
    l->shared_nbytes = 4 * cols;
    bench_arg(l, bench_random(type, n));
    bench_arg(l, bench_empty(n * 4));
    bench_arg(l, cols);
    bench_arg(l, cols);
    l->nbytes = (double)(n * (bench_size(type) + 4));
    l->nops = (double)n;
}

#define BOTH(module, symbol, prepare, a, b, layout, text)                      \
    {module, symbol, text ", contract", prepare, {a, b, layout, CONTRACT}},    \
    {                                                                          \
        module, symbol, text ", recommended", prepare,                         \
        {                                                                      \
            a, b, layout, RECOMMENDED                                          \
        }                                                                      \
    }
#define CONT(module, symbol, prepare, a, b)                                    \
    BOTH(module, symbol, prepare, a, b, CONTIGUOUS, "contiguous")

const struct bench_row bench_elementwise[] = {
    CONT("affine", "affine_f32", affine, BENCH_F32, BENCH_F32),
    CONT("affine", "affine_f16", affine, BENCH_F16, BENCH_F16),
    CONT("affine", "affine_bf16", affine, BENCH_BF16, BENCH_BF16),
    CONT("affine", "affine_u8", affine, BENCH_U8, BENCH_U8),
    CONT("fill", "fill_f32", fill, BENCH_F32, BENCH_F32),
    CONT("fill", "fill_u8", fill, BENCH_U8, BENCH_U8),
    CONT("binary", "badd_f32", binary, BENCH_F32, BENCH_F32),
    CONT("binary", "badd_f64", binary, BENCH_F64, BENCH_F64),
    CONT("binary", "badd_f16", binary, BENCH_F16, BENCH_F16),
    CONT("binary", "badd_bf16", binary, BENCH_BF16, BENCH_BF16),
    CONT("binary", "badd_u8", binary, BENCH_U8, BENCH_U8),
    CONT("binary", "bdiv_f32", binary, BENCH_F32, BENCH_F32),
    CONT("binary", "lt_f32", binary, BENCH_F32, BENCH_U8),
    BOTH("binary", "badd_f32", binary, BENCH_F32, BENCH_F32, BROADCAST_ROW,
         "broadcast row"),
    BOTH("binary", "badd_f16", binary, BENCH_F16, BENCH_F16, BROADCAST_ROW,
         "broadcast row"),
    CONT("unary", "uneg_f32", unary, BENCH_F32, BENCH_F32),
    CONT("unary", "ugelu_f32", unary, BENCH_F32, BENCH_F32),
    CONT("unary", "ugelu_f16", unary, BENCH_F16, BENCH_F16),
    CONT("unary", "ugelu_erf_f16", unary, BENCH_F16, BENCH_F16),
    CONT("unary", "usilu_f32", unary, BENCH_F32, BENCH_F32),
    CONT("unary", "usilu_bf16", unary, BENCH_BF16, BENCH_BF16),
    CONT("unary", "uexp_f32", unary, BENCH_F32, BENCH_F32),
    CONT("unary", "usin_f32", unary, BENCH_F32, BENCH_F32),
    CONT("unary", "uexp_f64", unary, BENCH_F64, BENCH_F64),
    BOTH("unary", "ucopy_f32", unary, BENCH_F32, BENCH_F32, TRANSPOSED,
         "transposed 16384^2"),
    BOTH("unary", "ucopy_f16", unary, BENCH_F16, BENCH_F16, TRANSPOSED,
         "transposed 16384^2"),
    BOTH("unary", "ucopy_u8", unary, BENCH_U8, BENCH_U8, TRANSPOSED,
         "transposed 16384^2"),
    CONT("cast", "cast_f32_f16", unary, BENCH_F32, BENCH_F16),
    CONT("cast", "cast_f16_f32", unary, BENCH_F16, BENCH_F32),
    CONT("cast", "cast_f32_bf16", unary, BENCH_F32, BENCH_BF16),
    CONT("cast", "cast_u8_f32", unary, BENCH_U8, BENCH_F32),
    BOTH("ternary", "where_u8_f32", ternary, BENCH_U8, BENCH_F32, CONTIGUOUS,
         "contiguous"),
    BOTH("ternary", "where_u8_f16", ternary, BENCH_U8, BENCH_F16, CONTIGUOUS,
         "contiguous"),
    {"sort", "asort_asc_f32", "rows of 1024", sort, {BENCH_F32, 0, 0, 0, 1024}},
    {"sort", "asort_asc_f32", "rows of 128", sort, {BENCH_F32, 0, 0, 0, 128}},
    {"sort",
     "asort_desc_f16",
     "rows of 4096",
     sort,
     {BENCH_F16, 0, 0, 0, 4096}},
    {0},
};
