/* low_bit.c - GGUF's formats of one to four bits
 *
 * Numbers must be exact. Products keep the bounds of modules quantized and
 * ggml. mul_mat_F_f32 is held to sums of weights and columns that are rounded
 * to bf16: a unit in the last place of the sum of all terms' magnitudes for
 * each addition, since matrix units may cut off where they add.
 */
#include "ggml/ggml_test.h"
#include "gguf_numbers.h"
#include "gguf_product.h"

#include <math.h>

extern const kpk_module kpk_module_low_bit;

static double in_bf16(double v)
{
    uint8_t code[2];

    kt_put(KT_BF16, code, 0, (kt_real)v);
    return (double)kt_get(KT_BF16, code, 0);
}

/* rows and columns around a tile of 64 x 64 */
static const struct decoded_case {
    size_t nrows, nblocks, ncols, stride; /* of dst */
    enum gguf_data data;
} decoded_cases[] = {
    {1, 1, 1, 1, GGUF_RANDOM},      {65, 2, 9, 65, GGUF_RANDOM},
    {63, 1, 65, 70, GGUF_EXTREME},  {64, 3, 64, 64, GGUF_RANDOM},
    {7, 9, 3, 5, GGUF_RANDOM},      {5, 2, 2, 5, GGUF_SCALES},
    {66, 1, 5, 66, GGUF_NONFINITE},
};

/* A row's weights, and columns of k numbers that lie y_stride apart. */
static void check_decoded(struct kt *t, const struct decoded_case *c,
                          enum gguf_id id, const uint8_t *w, const float *y,
                          size_t y_stride, const float *got)
{
    const struct gguf_format *f = gguf_format_of(id);
    const size_t k = c->nblocks * f->elems;
    double *row = kt_alloc(t, k * sizeof(*row));
    const float untouched = 0;

    for (size_t r = 0; r < c->stride; r++) {
        for (size_t e = 0; e < k && r < c->nrows; e++) {
            const struct gguf_element v = gguf_element(
                id, w + (r * c->nblocks + e / f->elems) * f->nbytes,
                e % f->elems);

            row[e] = in_bf16(v.scale * v.quant);
        }
        for (size_t j = 0; j < c->ncols; j++) {
            double sum = 0, all = 0;

            if (r >= c->nrows) {
                kt_check_bytes(t, &got[j * c->stride + r], &untouched,
                               sizeof(untouched), "the gap in dst");
                continue;
            }
            for (size_t e = 0; e < k; e++) {
                const double v = row[e] * in_bf16((double)y[j * y_stride + e]);

                sum += v;
                all += fabs(v);
            }
            check_near(t, j * c->stride + r, (double)got[j * c->stride + r],
                       sum + 0 * all, ((double)k + 8) * 0x1p-23 * all);
        }
    }
}

static void run_decoded(struct kt *t, const struct kt_row *row)
{
    const enum gguf_id id = *(const enum gguf_id *)row->detail;
    const struct gguf_format *f = gguf_format_of(id);

    for (size_t i = 0; i < NCASES(decoded_cases); i++) {
        const struct decoded_case *c = &decoded_cases[i];
        const size_t k = c->nblocks * f->elems, y_stride = k + i % 3;
        const size_t ndst = c->ncols * c->stride * sizeof(float);
        float *y = kt_host(t, KT_F32, c->ncols * y_stride, KT_SMALL, i);
        float *got = kt_alloc(t, ndst);
        int32_t nx = (int32_t)k, rows = (int32_t)c->nrows;
        int32_t cols = (int32_t)c->ncols, ny = (int32_t)y_stride;
        int32_t stride = (int32_t)c->stride;
        const void *vx, *vy;
        uint8_t *w;
        void *dst;

        if (!kt_turn(t))
            continue;
        name_case(t, "decoded", c->nrows, k);
        for (size_t e = 0; e < c->ncols * y_stride; e++)
            if (e % y_stride >= k)
                y[e] = NAN; /* belongs to nobody */
        vx = device_blocks(t, id, c->nrows * c->nblocks, c->data, 0,
                           i % 2 ? f->align : 0, &w);
        vy = kt_device(t, y, c->ncols * y_stride * sizeof(*y), i % 2 ? 4 : 0);
        dst = kt_device(t, got, ndst, 0); /* zeros */
        if (!kt_launch(t,
                       (const unsigned[3]){(unsigned)(c->nrows + 63) / 64,
                                           (unsigned)(c->ncols + 63) / 64, 1},
                       (const unsigned[3]){128, 1, 1}, 0,
                       KPK_ARGS(vx, vy, dst, nx, rows, cols, ny, stride)))
            return;
        kt_read(t, got, dst, ndst);
        check_decoded(t, c, id, w, y, y_stride, got);
    }
}

/* clang-format off */
#define ID(id) &(const enum gguf_id){GGUF_##id}
#define DEQUANTIZE(name, id, type, T, threads, elems)                          \
    {"dequantize_block_" #name "_" type, run_dequantize, T, KT_F32,            \
     &(const struct dequantize_shape){GGUF_##id, elems, threads, 1}},
/* formats differ in their decoding, not in how waves share the rows */
#define MAT_VEC_OF(name, id, n, rows)                                          \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda" #n, run_mat_vec, KT_F32,         \
            GGUF_##id, n, rows, n, false, GGUF_##id != GGUF_IQ2_XXS)
#define FORMAT(name, id, number, elements, bytes, d, m, counts, threads,       \
               elems, join)                                                    \
    DEQUANTIZE(name, id, "f32", KT_F32, threads, elems)                        \
    DEQUANTIZE(name, id, "f16", KT_F16, threads, elems)                        \
    {"get_rows_" #name, run_get_rows, KT_F32, KT_F32,                          \
     &(const struct rows_shape){GGUF_##id, 64, 256}},                          \
    MAT_VEC_OF(name, id, 1, 1)                                                 \
    MAT_VEC_OF(name, id, 2, 2)                                                 \
    MAT_VEC_OF(name, id, 4, 2)                                                 \
    MAT_VEC_OF(name, id, 8, 2)                                                 \
    {"mul_mat_" #name "_f32", run_decoded, KT_F32, KT_F32, ID(id)},            \
    {"ggml_get_rows_" #name, ggml_run_get_rows, KT_U8, KT_F32, ID(id)},        \
    {"ggml_mul_mat_" #name "_f32", ggml_run_product, KT_U8, KT_F32, ID(id)},

static const struct kt_row rows[] = {
    GGUF_LOW_BIT(FORMAT)
};
/* clang-format on */

KT_MAIN(kpk_module_low_bit, rows)
