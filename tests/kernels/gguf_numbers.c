/* gguf_numbers.c - GGUF blocks to numbers, and chosen rows: exact */
#include "gguf_numbers.h"
#include "gguf_product.h"

#include <math.h>

/* Numbers that must be exact; any infinity or NaN is as good as another. */
static void check_exact(struct kt *t, enum kt_type type, const void *got,
                        const float *want, size_t n)
{
    kt_real *w = kt_alloc(t, n * sizeof(*w));
    uint8_t code[4];

    for (size_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, got, i);

        kt_put(type, code, 0, (kt_real)want[i]);
        w[i] = kt_get(type, code, 0);
        if (!isfinite(want[i]) && !isfinite(v))
            w[i] = v;
    }
    kt_check(t, type, got, w, n, KT_EXACT);
}

static const struct data_case {
    const char *name;
    enum gguf_data data;
} all_data[] = {
    {"random", GGUF_RANDOM},       {"zero", GGUF_ZERO},
    {"extreme", GGUF_EXTREME},     {"scales", GGUF_SCALES},
    {"nonfinite", GGUF_NONFINITE},
};
static const struct data_case every_code = {"every byte", GGUF_CODES};
#define NDATA (sizeof(all_data) / sizeof(all_data[0]))

/* ---- dequantize_block_* ---- */

void run_dequantize(struct kt *t, const struct kt_row *row)
{
    const struct dequantize_shape *s = row->detail;
    const struct gguf_format *f = gguf_format_of(s->id);
    /* the last: working workgroups make more than two passes */
    static const size_t counts[] = {1, 3, 7, 8, 9, 15, 16, 17, 40, 256, 1093};
    const size_t ncounts = sizeof(counts) / sizeof(counts[0]);

    for (size_t c = 0; c < ncounts - (f->elems > 32); c++) {
        const struct data_case *d =
            counts[c] == 256 ? &every_code : &all_data[c % NDATA];
        const size_t n = counts[c] * f->elems;
        const unsigned grid = (unsigned)((n + s->elems - 1) / s->elems);
        const size_t lead = c % 2 ? f->align : 0;
        uint8_t *host;
        const void *x =
            device_blocks(t, s->id, counts[c], d->data, 0, lead, &host);
        void *y = kt_device(t, NULL, n * kt_size(row->a),
                            c % 3 == 2 ? kt_size(row->a) : 0);
        void *got = kt_alloc(t, n * kt_size(row->a));
        float *want = kt_alloc(t, n * sizeof(*want));
        int32_t count = (int32_t)(s->unit ? n / s->unit : 0);

        name_case(t, d->name, counts[c], f->elems);
        gguf_dequantize(s->id, host, n, want);
        if (s->unit ? !KT_LAUNCH(t, grid, s->threads, 0, x, y, count)
                    : !KT_LAUNCH(t, grid, s->threads, 0, x, y))
            return;
        kt_read(t, got, y, n * kt_size(row->a));
        check_exact(t, row->a, got, want, n);
    }
}

/* ---- get_rows_* ---- */

static const uint32_t row_ids[] = {4, 0, 2, 2, 4, 1};
#define NIDS (sizeof(row_ids) / sizeof(row_ids[0]))
#define NSOURCE 5

static bool launch_get_rows(struct kt *t, const void *src, size_t ne00,
                            size_t nb01, size_t per_group, unsigned threads,
                            float *got)
{
    const void *ids = kt_device(t, row_ids, sizeof(row_ids), 0);
    float *dst = kt_device(t, NULL, NIDS * ne00 * sizeof(float), 0);
    int64_t n = (int64_t)ne00;

    if (!kt_launch(t,
                   (const unsigned[3]){
                       NIDS, (unsigned)((ne00 + per_group - 1) / per_group), 1},
                   (const unsigned[3]){threads, 1, 1}, 0,
                   KPK_ARGS(src, ids, dst, n, nb01)))
        return false;
    kt_read(t, got, dst, NIDS * ne00 * sizeof(float));
    return true;
}

void run_get_rows(struct kt *t, const struct kt_row *row)
{
    const struct rows_shape *s = row->detail;
    const struct gguf_format *f = gguf_format_of(s->id);
    static const size_t legacy[] = {32, 512 + 32, 1312}, k[] = {256, 768, 1024};

    for (size_t c = 0; c < 3; c++) {
        const size_t ne00 = f->elems == 32 ? legacy[c] : k[c];
        /* rows may have gaps between them */
        const size_t used = ne00 / f->elems * f->nbytes;
        const size_t nb01 = used + (c == 1 ? f->nbytes : 0);
        const struct data_case *d = &all_data[c == 2 ? 4 : 3 * c];
        uint8_t *host;
        const void *src =
            device_blocks(t, s->id, nb01 / f->nbytes * NSOURCE, d->data, 0,
                          c == 1 ? f->align : 0, &host);
        float *got = kt_alloc(t, NIDS * ne00 * sizeof(*got));
        float *want = kt_alloc(t, NIDS * ne00 * sizeof(*want));

        name_case(t, d->name, NIDS, ne00);
        for (size_t i = 0; i < NIDS; i++)
            gguf_dequantize(s->id, host + row_ids[i] * nb01, ne00,
                            want + i * ne00);
        if (!launch_get_rows(t, src, ne00, nb01, s->per_group, s->threads, got))
            return;
        check_exact(t, KT_F32, got, want, NIDS * ne00);
    }
}

void run_get_float_rows(struct kt *t, const struct kt_row *row)
{
    static const size_t lengths[] = {1, 31, 257, 600};

    for (size_t c = 0; c < sizeof(lengths) / sizeof(lengths[0]); c++) {
        const size_t ne00 = lengths[c];
        const void *host = kt_host(t, row->a, NSOURCE * ne00, KT_HOSTILE, c);
        const void *src = kt_device(t, host, NSOURCE * ne00 * kt_size(row->a),
                                    kt_size(row->a));
        float *got = kt_alloc(t, NIDS * ne00 * sizeof(*got));
        float *want = kt_alloc(t, NIDS * ne00 * sizeof(*want));

        name_case(t, "hostile", NIDS, ne00);
        for (size_t i = 0; i < NIDS * ne00; i++)
            want[i] = (float)kt_get(row->a, host,
                                    row_ids[i / ne00] * ne00 + i % ne00);
        if (!launch_get_rows(t, src, ne00, 0, 256, 256, got))
            return;
        kt_check_bits(t, KT_F32, got, want, NIDS * ne00);
    }
}
