/* quantized.c - the GGUF kernels against references in double
 *
 * Dequantizing, rows and Q8_1 must be exact. Products must stay within the
 * rounding of f32 sums: T units in the last place of the sum of all terms'
 * magnitudes, T = columns / 32 + 16, as the kernels' specification sets it.
 * Where a reference is not finite, so must be the result, and no other element
 * may be touched by it.
 */
#include "float_weights.h"
#include "gguf_numbers.h"
#include "gguf_product.h"

#include "../../kernels/include/quantized/few_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_quantized;

static void run_tiled(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const bool k = gguf_format_of(p->id)->elems == 256;
    const size_t rows = p->tile_rows, cols = p->tile_cols;
    const struct product_case cases[] = {
        {"random", 1, 1, 1, GGUF_RANDOM, TAME},
        {"random", rows + 1, k ? 1 : 3, 9, GGUF_RANDOM, TAME},
        {"hostile", rows - 1, k ? 2 : 7, 4, GGUF_EXTREME, HOSTILE},
        {"hostile", rows, k ? 1 : 3, cols - 1, GGUF_RANDOM, HOSTILE},
        {"random", 5, k ? 3 : 9, cols + 1, GGUF_RANDOM, TAME},
        {"whole", 2 * rows, k ? 1 : 4, 2 * cols, GGUF_RANDOM, TAME},
        {"long", 2, k ? 5 : 37, 3, GGUF_RANDOM, TAME},
        {"scales", 11, k ? 1 : 8, cols, GGUF_SCALES, TAME},
        {"nonfinite", rows + 2, 1, 5, GGUF_NONFINITE, TAME},
        {"zero", 3, 2, 2, GGUF_ZERO, TAME},
        {"poisoned", 7, k ? 3 : 5, 3, GGUF_RANDOM, POISONED},
        {"cut", 9, 3, 5, GGUF_RANDOM, CUT},
        {"faint", 17, k ? 2 : 6, 19, GGUF_RANDOM, FAINT},
        {"large columns", 17, k ? 2 : 7, 19, GGUF_RANDOM, LARGE},
        {"large columns", rows + 1, k ? 1 : 4, cols + 1, GGUF_RANDOM, LARGE},
        {"small columns", 17, k ? 2 : 6, 19, GGUF_RANDOM, SMALL},
        /* more columns than a tile of few has */
        {"long", 2, k ? 5 : 37, 17, GGUF_RANDOM, TAME},
        {"nonfinite", 3, 1, 17, GGUF_NONFINITE, TAME},
        {"poisoned", 7, k ? 3 : 5, 18, GGUF_RANDOM, POISONED},
        {"cut", 9, 3, 20, GGUF_RANDOM, CUT},
    };
    /* K in parts: without a rest, with one, of fewer blocks than parts; also in
     * grids as fine as tiles of few columns */
    const size_t fine = strncmp(t->target, "sm_", 3) == 0
                            ? GGUF_FINE_ROWS
                            : rows / GGUF_FEW_PARTS;
    const struct product_case few[] = {
        {"few", 2 * fine + 1, k ? 4 : 8, 16, GGUF_RANDOM, TAME},
        {"few", fine, k ? 7 : 13, 15, GGUF_RANDOM, HOSTILE},
        {"few", 3 * fine - 1, k ? 1 : 3, 9, GGUF_EXTREME, HOSTILE},
        {"few, poisoned", fine + 3, k ? 5 : 17, 2, GGUF_RANDOM, POISONED},
        {"few, cut", fine + 1, k ? 2 : 6, 11, GGUF_RANDOM, CUT},
        {"few, nonfinite", fine + 2, k ? 3 : 9, 5, GGUF_NONFINITE, TAME},
        {"few, large", fine + 1, k ? 3 : 11, 16, GGUF_RANDOM, LARGE},
        {"few, none", 3, 0, 4, GGUF_RANDOM, TAME},
        {"two tiles", 2 * fine - 1, k ? 3 : 10, 20, GGUF_RANDOM, POISONED},
        {"most", fine + 1, k ? 1 : 5, GGUF_FINE_COLUMNS, GGUF_RANDOM, LARGE},
        {"two columns of tiles", 2 * fine, k ? 3 : 20, 100, GGUF_RANDOM, TAME},
        {"several stages", fine + 2, k ? 11 : 85, 41, GGUF_RANDOM, TAME},
    };
    static const double example[] = {347604,    888153.06,  1422216, 1944456,
                                     869780.69, 2483145,    4105096, 5675912,
                                     1391908.6, 4078099.75, 6787976, 9407368,
                                     1914080.5, 5673137.5,  9470856, 13138824};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_product(t, row, &cases[i]);
    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        run_product(t, row, &few[i]);
        run_product_on(t, row, &few[i],
                       (unsigned)((few[i].nrows + fine - 1) / fine));
    }
    if (p->id == GGUF_Q4_0)
        run_example(t, 256, 4, 0.25f, example);
}

/* ---- dequantize_mul_mat_vec_* ---- */

static void run_float_mat_vec(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const struct gguf_format *f = gguf_format_of(p->id);
    static const struct {
        size_t nrows, nblocks;
        enum gguf_data data;
        float unit; /* y is -4 to 4 units */
    } cases[] = {{1, 1, GGUF_RANDOM, 1},
                 {3, 2, GGUF_EXTREME, 1},
                 {5, 3, GGUF_RANDOM, 1},
                 {3, 35, GGUF_SCALES, 1},
                 {4, 4, GGUF_ZERO, 1},
                 {6, 5, GGUF_NONFINITE, 1},
                 /* quants times y are no f32, elements times y are */
                 {2, 3, GGUF_TINY, 0x1p125f}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const size_t nrows = cases[c].nrows, nblocks = cases[c].nblocks;
        const size_t k = nblocks * f->elems;
        const double rounding = ((double)k / 32 + 24) * 0x1p-24;
        float *y = kt_host(t, KT_F32, k, KT_SMALL, c);
        const void *dy;
        float *got = kt_alloc(t, nrows * sizeof(*got));
        float *dst = kt_device(t, NULL, nrows * sizeof(*dst), 0);
        int32_t ncols = (int32_t)k, rows = (int32_t)nrows;
        uint8_t *w;
        const void *vx = device_blocks(t, p->id, nrows * nblocks, cases[c].data,
                                       0, c % 2 ? f->align : 0, &w);

        for (size_t i = 0; i < k; i++)
            y[i] *= cases[c].unit;
        dy = kt_device(t, y, k * sizeof(*y), c % 2 ? sizeof(*y) : 0);
        name_case(t, "float column", nrows, k);
        if (p->id == GGUF_Q5_K
                ? !KT_LAUNCH(t, (unsigned)nrows, 32, 0, vx, dy, dst, ncols)
                : !KT_LAUNCH(t, (unsigned)nrows, 32, 0, vx, dy, dst, ncols,
                             rows))
            return;
        kt_read(t, got, dst, nrows * sizeof(*got));
        for (size_t r = 0; r < nrows; r++) {
            struct gguf_row wr =
                gguf_row(p->id, w + r * nblocks * f->nbytes, k, false);
            const struct gguf_sum sum = gguf_float_product(&wr, y);

            check_near(t, r, (double)got[r], sum.value + 0 * sum.size,
                       rounding * sum.size);
            gguf_row_free(&wr);
        }
    }
}

/* ---- indexed_moe_forward_* ---- */

static void run_moe(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const struct gguf_format *f = gguf_format_of(p->id);
    enum { EXPERTS = 4, BATCH = 2, TOPK = 3 };
    static const uint32_t ids[BATCH * TOPK] = {3, 0, 1, 1, 3, 2};
    const void *dids = kt_device(t, ids, sizeof(ids), 0);
    /* the last two in compact grids, which NVIDIA's GPUs have */
    const size_t cases = strncmp(t->target, "sm_", 3) == 0 ? 6 : 4;

    for (size_t c = 0; c < cases; c++) {
        const size_t inputs = c % 2 ? TOPK : 1, n = c < 4 ? 1 + 2 * c : 35;
        const size_t nblocks = f->elems == 32 ? 9 + 4 * c : 1 + c;
        const size_t k = nblocks * f->elems, padded = round_up(k, 512);
        const size_t y_stride = padded / 32 * Q8_1_NBYTES;
        const size_t ninputs = BATCH * inputs, ndst = n * BATCH * TOPK;
        const double rounding = ((double)k / 32 + 16) * 0x1p-24;
        float *x = kt_host(t, KT_F32, ninputs * k, KT_SMALL, c);
        uint8_t *y = kt_alloc(t, ninputs * y_stride), *w;
        const void *vx = device_blocks(t, p->id, EXPERTS * n * nblocks,
                                       c == 3 ? GGUF_NONFINITE : GGUF_RANDOM, 0,
                                       c == 2 ? f->align : 0, &w);
        float *dst = kt_device(t, NULL, ndst * sizeof(*dst), 0);
        float *got = kt_alloc(t, ndst * sizeof(*got));
        int32_t n32 = (int32_t)n, k32 = (int32_t)k, batch = BATCH, topk = TOPK;
        int32_t padded32 = (int32_t)padded, dim1 = (int32_t)inputs;
        const void *vy;

        name_case(t, inputs == 1 ? "one input" : "inputs", n, k);
        for (size_t i = 0; i < ninputs; i++)
            q8_1_quantize(x + i * k, k, padded, y + i * y_stride);
        vy = kt_device(t, y, ninputs * y_stride, 0);
        if (!kt_launch(
                t, (const unsigned[3]){c < 4 ? (unsigned)n : 2, BATCH, TOPK},
                (const unsigned[3]){32, 4, 1}, 0,
                KPK_ARGS(vx, vy, dids, dst, n32, k32, batch, topk, padded32,
                         dim1)))
            return;
        kt_read(t, got, dst, ndst * sizeof(*got));
        for (size_t i = 0; i < ndst; i++) {
            const size_t task = i / n;
            const size_t input = inputs == 1 ? task / TOPK : task;
            struct gguf_row wr = gguf_row(
                p->id, w + (ids[task] * n + i % n) * nblocks * f->nbytes, k,
                false);
            const struct gguf_sum sum = gguf_product(&wr, y + input * y_stride);

            check_near(t, i, (double)got[i], sum.value + 0 * sum.size,
                       rounding * sum.size);
            gguf_row_free(&wr);
        }
    }
}

/* ---- the table ---- */

/* clang-format off */
#define DEQUANTIZE(name, id, counts, threads, elems, join)                      \
    {"dequantize_block_" #name "_f32", run_dequantize, KT_F32, KT_F32,          \
     &(const struct dequantize_shape){GGUF_##id, elems, threads,                \
                                      GGUF_UNIT_##counts}},                     \
    {"dequantize_block_" #name "_f16", run_dequantize, KT_F16, KT_F32,          \
     &(const struct dequantize_shape){GGUF_##id, elems, threads,                \
                                      GGUF_UNIT_##counts}},
#define GET_FLOAT_ROWS(name, type)                                              \
    {"get_rows_" name, run_get_float_rows, type, KT_F32, NULL}
#define FLOAT_MAT_VEC(name, id)                                                 \
    PRODUCT("dequantize_mul_mat_vec_" name, run_float_mat_vec, KT_F32, id, 1, 1,\
            1, false, false)
#define FLOAT_MAT_VEC_cuda(lower, id) FLOAT_MAT_VEC(#lower "_cuda", id)
#define FLOAT_MAT_VEC_plain(lower, id) FLOAT_MAT_VEC(#lower, id)
#define FLOAT_MAT_VEC_grid(lower, id) FLOAT_MAT_VEC(#lower, id)
#define EXPERTS(name, id)                                                       \
    PRODUCT("indexed_moe_forward_" #name "_q8_1", run_moe, KT_F32, id, 1, 1, 1, \
            false, false)
#define FORMAT(name, lower, short, id, number, elements, bytes, d, m, tiled,    \
               column, counts, threads, elems, join, row_threads,               \
               row_columns, rows, cols, passes)                                 \
    DEQUANTIZE(name, id, counts, threads, elems, join)                          \
    {"get_rows_" #name, run_get_rows, KT_F32, KT_F32,                           \
     &(const struct rows_shape){GGUF_##id, row_threads, row_columns}},          \
    FLOAT_MAT_VEC_##column(lower, GGUF_##id)                                    \
    MAT_VEC("mul_mat_vec_" #name "_q8_1", KT_F32, GGUF_##id, false)                                                    \
    PRODUCT("mul_mat_" #name, run_tiled, KT_F32, GGUF_##id, 0, rows, cols, false, false)                              \
    EXPERTS(short, GGUF_##id)

#define FLOATS_f16 KT_F16
#define FLOATS_bf16 KT_BF16
#define FLOATS(name, type, number, bytes, threads, elems, join, row_threads,    \
               row_columns, rows, cols)                                         \
    FLOAT_WEIGHTS(#name, FLOATS_##name, threads, elems, rows, cols)             \
    GET_FLOAT_ROWS(#name, FLOATS_##name),
#define NUMBERS(name, id, number, elements, bytes, d, m, ...)                   \
    DEQUANTIZE(name, id, __VA_ARGS__)

static const struct kt_row rows[] = {
    GGUF_WEIGHTS(FORMAT)
    GGUF_NUMBERS(NUMBERS)
    GGUF_FLOAT_WEIGHTS(FLOATS)
    GET_FLOAT_ROWS("f32", KT_F32),
    {"quantize_q8_1", run_quantize, KT_F32, KT_F32, NULL},
    {"quantize_q8_1_quants", run_quantize_quants, KT_F32, KT_F32, NULL},
};
/* clang-format on */

KT_MAIN(kpk_module_quantized, rows)
