/* shapes_launch.c - families of kernels, launched as candle's hosts do */
#include "shapes.h"

#include "base/gguf_formats.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

/* The type that a kernel's name ends with, or that it names `back` words from
 * the end: 1 in cast_f32_f16 is f32. */
static size_t size_named(const char *kernel, unsigned back)
{
    static const struct {
        const char *name;
        size_t nbytes;
    } types[] = {{"f8_e4m3", 1}, {"e4m3", 1}, {"bf16", 2}, {"u8", 1},
                 {"u32", 4},     {"i64", 8},  {"f16", 2},  {"f32", 4},
                 {"f64", 8},     {"i16", 2},  {"i32", 4}};
    const char *end = kernel + strlen(kernel);

    for (;;) {
        const char *word = end;

        while (word > kernel && word[-1] != '_')
            word--;
        for (size_t i = 0; back == 0 && i < sizeof(types) / sizeof(types[0]);
             i++)
            if (strlen(types[i].name) == (size_t)(end - word) &&
                memcmp(types[i].name, word, (size_t)(end - word)) == 0)
                return types[i].nbytes;
        if (back == 0 || word <= kernel)
            return 4;
        end = word - 1;
        back--;
    }
}

static uint64_t product(const struct shape *s)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < SHAPE_MAX_SIZES; i++)
        n *= s->n[i] ? s->n[i] : 1;
    return n;
}

/* cudarc's LaunchConfig::for_num_elems() */
static void a_thread_each(struct bench_launch *l, uint64_t n)
{
    l->grid[0] = (unsigned)div_up(n, 1024);
    l->block[0] = 1024;
}

/* ---- elementwise ---- */

/*
 * Layouts: the last operand is a row for all rows ("bias") or a number for each
 * of n[1] planes ("channel"); the only one has its first two dimensions
 * transposed ("heads"); where's condition serves all of the first dimension,
 * and its second operand is one number ("mask"). Hosts describe no layout where
 * all is contiguous.
 */
static void arg_layout(struct bench_launch *l, const struct shape *s,
                       unsigned operands)
{
    const unsigned rank = s->n[2] ? 3 : 2;
    uint64_t dims[3] = {s->n[0], s->n[1], s->n[2]};
    uint64_t info[3 + 3 * 3];

    bench_arg(l, product(s));
    if (s->layout[0] == 0) {
        bench_arg(l, 2);
        bench_arg(l, 0);
        return;
    }
    if (strcmp(s->layout, "heads") == 0) {
        dims[0] = s->n[1];
        dims[1] = s->n[0];
    }
    memcpy(info, dims, rank * sizeof(dims[0]));
    for (unsigned o = 0; o < operands; o++) {
        uint64_t *stride = info + rank * (o + 1);

        stride[rank - 1] = 1;
        for (unsigned d = rank - 1; d > 0; d--)
            stride[d - 1] = stride[d] * dims[d];
        if (strcmp(s->layout, "mask") == 0) { /* condition, number, scores */
            if (o == 0)
                stride[0] = 0;
            if (o == 1)
                memset(stride, 0, rank * sizeof(stride[0]));
        } else if (o + 1 == operands && strcmp(s->layout, "bias") == 0) {
            stride[0] = 0;
        } else if (o + 1 == operands && strcmp(s->layout, "channel") == 0) {
            stride[0] = stride[2] = 0;
            stride[1] = 1;
        } else if (strcmp(s->layout, "heads") == 0) {
            stride[0] = dims[2];
            stride[1] = dims[0] * dims[2];
        }
    }
    bench_arg(l, rank);
    bench_arg(l, shape_upload(info, rank * (operands + 1) * sizeof(info[0])));
}

static void unary(struct bench_launch *l, struct shape_use *use,
                  const struct shape *s)
{
    const uint64_t n = product(s);
    const size_t to = size_named(s->kernel, 0);
    const size_t from =
        strncmp(s->kernel, "cast_", 5) == 0 ? size_named(s->kernel, 1) : to;

    (void)use;
    a_thread_each(l, n);
    arg_layout(l, s, 1);
    bench_arg(l, shape_memory(n * from));
    bench_arg(l, shape_memory(n * to));
    l->nbytes = (double)(n * (from + to));
}

static void affine(struct bench_launch *l, struct shape_use *use,
                   const struct shape *s)
{
    unary(l, use, s);
    bench_arg_f32(l, 1.5f); /* any bits will do for the other types */
    bench_arg_f32(l, 0.25f);
}

static void binary(struct bench_launch *l, struct shape_use *use,
                   const struct shape *s)
{
    const uint64_t n = product(s);
    const size_t size = size_named(s->kernel, 0);
    const uint64_t second = strcmp(s->layout, "") == 0       ? n
                            : strcmp(s->layout, "bias") == 0 ? n / s->n[0]
                                                             : s->n[1];

    (void)use;
    a_thread_each(l, n);
    arg_layout(l, s, 2);
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(second * size));
    bench_arg(l, shape_memory(n * size));
    l->nbytes = (double)((2 * n + second) * size);
}

/* "mask": u8 [rows, columns] for all heads, a number, f32 scores */
static void where(struct bench_launch *l, struct shape_use *use,
                  const struct shape *s)
{
    const uint64_t n = product(s);
    const size_t size = size_named(s->kernel, 0);
    const uint64_t mask_nbytes = n / s->n[0] * size_named(s->kernel, 1);

    (void)use;
    a_thread_each(l, n);
    arg_layout(l, s, 3);
    bench_arg(l, shape_memory(mask_nbytes));
    bench_arg(l, shape_memory(size));
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(n * size));
    l->nbytes = (double)(mask_nbytes + 2 * n * size);
}

/* d1 x d2, and the pitch of what it is copied into */
static void copy2d(struct bench_launch *l, struct shape_use *use,
                   const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1];
    const size_t size = size_named(s->kernel, 0);

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(s->n[0] * s->n[2] * size));
    bench_arg(l, s->n[0]);
    bench_arg(l, s->n[1]);
    bench_arg(l, s->n[1]);
    bench_arg(l, s->n[2]);
    l->nbytes = (double)(2 * n * size);
}

/* ---- rows ---- */

static void norm(struct bench_launch *l, const struct shape *s,
                 unsigned weights)
{
    const uint64_t rows = s->n[0], cols = s->n[1];
    const size_t size = size_named(s->kernel, 0);

    l->grid[0] = (unsigned)rows;
    l->block[0] = cols < 1024 ? 32 : 1024;
    bench_arg(l, shape_memory(rows * cols * size));
    bench_arg(l, shape_memory(rows * cols * size));
    for (unsigned i = 0; i < weights; i++)
        bench_arg(l, shape_memory(cols * size));
    bench_arg(l, cols);
    bench_arg(l, l->block[0]);
    bench_arg_f32(l, 1e-5f);
    l->nbytes = (double)((2 * rows + weights) * cols * size);
}

static void rmsnorm(struct bench_launch *l, struct shape_use *use,
                    const struct shape *s)
{
    (void)use;
    norm(l, s, 1);
}

static void layernorm(struct bench_launch *l, struct shape_use *use,
                      const struct shape *s)
{
    (void)use;
    norm(l, s, 2);
}

static void softmax(struct bench_launch *l, struct shape_use *use,
                    const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1];
    const size_t size = size_named(s->kernel, 0);

    (void)use;
    l->grid[0] = (unsigned)s->n[0];
    l->block[1] = 32;
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, s->n[1]);
    l->nbytes = (double)(2 * n * size);
}

/* "columns": a result's numbers lie n[0] apart */
static void fast(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const uint64_t rows = s->n[0], cols = s->n[1];
    const int apart = strcmp(s->layout, "columns") == 0;
    const uint64_t info[] = {rows, cols, apart ? 1 : cols, apart ? rows : 1};
    const size_t size = size_named(s->kernel, 0);
    unsigned block = 1;

    (void)use;
    while (block < cols && block < 1024)
        block *= 2;
    l->grid[0] = (unsigned)rows;
    l->block[0] = block;
    bench_arg(l, rows * cols);
    bench_arg(l, cols);
    bench_arg(l, 2);
    bench_arg(l, shape_upload(info, sizeof(info)));
    bench_arg(l, shape_memory(rows * cols * size));
    bench_arg(l, shape_memory(rows * 8));
    l->nbytes = (double)(rows * (cols + 1) * size);
}

/* ids x columns, of a table with so many rows */
static void index_select(struct bench_launch *l, struct shape_use *use,
                         const struct shape *s)
{
    enum { MOST = 4096 };
    const uint64_t nids = at_most(s->n[0], MOST), cols = s->n[1];
    const uint64_t info[] = {nids, 1};
    const size_t size = size_named(s->kernel, 0);
    uint32_t ids[MOST];

    (void)use;
    for (uint64_t i = 0; i < nids; i++)
        ids[i] = (uint32_t)((i + shape_turn() * nids) * 2654435761u % s->n[2]);
    a_thread_each(l, nids * cols);
    bench_arg(l, nids * cols);
    bench_arg(l, 1);
    bench_arg(l, shape_upload(info, sizeof(info)));
    bench_arg(l, shape_upload(ids, nids * sizeof(ids[0])));
    bench_arg(l, shape_kept(s->n[2] * cols * size));
    bench_arg(l, shape_memory(nids * cols * size));
    bench_arg(l, 1);
    bench_arg(l, s->n[2]);
    bench_arg(l, nids);
    bench_arg(l, cols);
    l->nbytes = (double)(2 * nids * cols * size);
}

/* heads x tokens x width; rope_thd has the tokens first */
static void rope(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const int thd = strncmp(s->kernel, "rope_thd_", 9) == 0;
    const uint64_t h = s->n[thd], t = s->n[!thd], d = s->n[2], n = h * t * d;
    const size_t size = size_named(s->kernel, 0);

    (void)use;
    a_thread_each(l, n / 2);
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(t * d / 2 * size));
    bench_arg(l, shape_memory(t * d / 2 * size));
    bench_arg(l, shape_memory(n * size));
    if (thd) {
        bench_arg(l, 1);
        bench_arg(l, t);
        bench_arg(l, h);
        bench_arg(l, d);
    } else {
        bench_arg(l, h);
        bench_arg(l, t * d);
        if (strncmp(s->kernel, "rope_i_", 7) != 0)
            bench_arg(l, d);
    }
    bench_arg(l, 0);
    l->nbytes = (double)((2 * n + t * d) * size);
}

/* ---- quantized ---- */

static const struct format {
    const char *name;
    unsigned elements, nbytes; /* of a block */
    unsigned rows, columns;    /* tile of mul_mat_* */
} formats[] = {
#define FORMAT(name, lower, short, type, number, elements, bytes, d, m, tiled, \
               column, counts, threads, elems, join, row_threads, row_columns, \
               rows, cols, passes)                                             \
    {#name, elements, bytes, rows, cols},
#define LOW_BIT(name, type, number, elements, bytes, ...)                      \
    {#name, elements, bytes, 64, 64},
    GGUF_WEIGHTS(FORMAT) GGUF_LOW_BIT(LOW_BIT)
#undef LOW_BIT
#undef FORMAT
};

/* Some kernels are named in lower case. */
static const struct format *format_of(const char *kernel)
{
    for (const char *at = kernel; *at; at++)
        for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
            if (strncasecmp(at, formats[i].name, strlen(formats[i].name)) == 0)
                return &formats[i];
    bench_die(kernel, "no quantized format of shapes_launch.c");
}

/* Activations come in rows padded to a multiple of 512, as blocks of q8_1. */
static uint64_t padded(uint64_t columns)
{
    return div_up(columns, 512) * 512;
}

/* All launches share the columns. */
static void arg_product(struct bench_launch *l, struct shape_use *use,
                        const struct shape *s, const struct format *f)
{
    const uint64_t m = s->n[0], k = s->n[1], n = s->n[2];
    const uint64_t blocks = padded(m * k) / f->elements;

    use->weight_nbytes = blocks * f->nbytes;
    bench_arg(l, shape_memory(use->weight_nbytes));
    bench_arg(l, shape_kept(shape_q8_1_nbytes(n * padded(k))));
    bench_arg(l, shape_memory(m * n * 4));
    l->nbytes = (double)use->weight_nbytes;
}

/* rows x columns of the weights x columns of activations, up to 8 */
static void mat_vec(struct bench_launch *l, struct shape_use *use,
                    const struct shape *s)
{
    const int of_blocks = strncmp(s->kernel, "mmvq_", 5) == 0;
    const uint64_t m = s->n[0], k = s->n[1], n = s->n[2];

    l->grid[0] = (unsigned)(n == 1 ? m : div_up(m, 2));
    l->block[0] = 32;
    l->block[1] = n <= 4 ? 4 : 2;
    arg_product(l, use, s, format_of(s->kernel));
    bench_arg(l, k);
    bench_arg(l, m);
    bench_arg(l, of_blocks ? padded(k) / 32 : padded(k));
    bench_arg(l, m);
}

/* rows x columns of the weights; the column is f32 */
static void dequantize_mat_vec(struct bench_launch *l, struct shape_use *use,
                               const struct shape *s)
{
    const struct format *f = format_of(s->kernel);
    const uint64_t m = s->n[0], k = s->n[1];

    l->grid[0] = (unsigned)m;
    l->block[0] = 32;
    use->weight_nbytes = m * k / f->elements * f->nbytes;
    bench_arg(l, shape_memory(use->weight_nbytes));
    bench_arg(l, shape_kept(k * 4));
    bench_arg(l, shape_memory(m * 4));
    bench_arg(l, k);
    if (strcmp(f->name, "q5_K") != 0) /* which asks the grid */
        bench_arg(l, m);
    l->nbytes = (double)use->weight_nbytes;
}

static void mat_mul(struct bench_launch *l, struct shape_use *use,
                    const struct shape *s)
{
    const struct format *f = format_of(s->kernel);
    const uint64_t m = s->n[0], k = s->n[1], n = s->n[2];

    l->grid[0] = (unsigned)div_up(m, f->rows);
    l->grid[1] = (unsigned)div_up(n, f->columns);
    l->block[0] = 32;
    l->block[1] = 4;
    arg_product(l, use, s, f);
    bench_arg(l, k);
    bench_arg(l, m);
    bench_arg(l, n);
    bench_arg(l, padded(k));
    bench_arg(l, m);
    l->nops = 2.0 * (double)(m * n * k);
}

static void quantize(struct bench_launch *l, struct shape_use *use,
                     const struct shape *s)
{
    const uint64_t rows = s->n[0], k = s->n[1];

    const size_t size = size_named(s->kernel, 0);

    (void)use;
    l->grid[0] = (unsigned)div_up(padded(k), 256);
    l->grid[1] = (unsigned)rows;
    l->block[0] = 256;
    bench_arg(l, shape_memory(rows * k * size));
    bench_arg(l, shape_memory(shape_q8_1_nbytes(rows * padded(k))));
    bench_arg(l, k);
    bench_arg(l, padded(k));
    l->nbytes = (double)(rows * k * size + shape_q8_1_nbytes(rows * padded(k)));
}

/* ---- images ---- */

static uint64_t places(uint64_t side, uint64_t kernel, uint64_t stride,
                       uint64_t padding)
{
    return (side + 2 * padding - kernel) / stride + 1;
}

/* channels x side x channels out x kernel's side x stride, one image; it keeps
 * the size but for the stride. Patches, which do not overlap, have no padding.
 */
static void conv(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const int dims = strncmp(s->kernel, "conv1d", 6) == 0 ? 1 : 2;
    const uint64_t c = s->n[0], side = s->n[1], o = s->n[2], k = s->n[3];
    const uint64_t stride = s->n[4], padding = stride < k ? k / 2 : 0;
    const uint64_t out = places(side, k, stride, padding);
    const uint64_t area = dims == 1 ? side : side * side;
    const uint64_t taps = dims == 1 ? k : k * k;
    const uint64_t nout = o * (dims == 1 ? out : out * out);
    const uint64_t line[] = {1, c, side, c * side, side, 1,
                             o, c, k,    c * k,    k,    1};
    const uint64_t square[] = {1, c, side, side, c * area, area, side, 1,
                               o, c, k,    k,    c * taps, taps, k,    1};
    const size_t size = size_named(s->kernel, 0);

    (void)use;
    a_thread_each(l, nout);
    bench_arg(l, c * area);
    for (int i = 0; i < dims; i++)
        bench_arg(l, out);
    bench_arg(l, stride);
    bench_arg(l, padding);
    bench_arg(l, 1);
    bench_arg(l, dims == 1 ? shape_upload(line, sizeof(line))
                           : shape_upload(square, sizeof(square)));
    bench_arg(l, shape_memory(c * area * size));
    bench_arg(l, shape_memory(o * c * taps * size));
    bench_arg(l, shape_memory(nout * size));
    l->nbytes = (double)((c * area + o * c * taps + nout) * size);
    l->nops = 2.0 * (double)(nout * c * taps);
}

static void arg_image(struct bench_launch *l, const struct shape *s)
{
    const uint64_t c = s->n[0], side = s->n[1];
    const uint64_t info[] = {1,           c,    side, side, c * side * side,
                             side * side, side, 1};

    bench_arg(l, shape_upload(info, sizeof(info)));
    bench_arg(l, shape_memory(c * side * side * size_named(s->kernel, 0)));
}

/* channels x side x kernel's side x stride */
static void im2col(struct bench_launch *l, struct shape_use *use,
                   const struct shape *s)
{
    const uint64_t c = s->n[0], side = s->n[1], k = s->n[2];
    const uint64_t out = places(side, k, s->n[3], k / 2);
    const uint64_t n = out * out * c * k * k;
    const size_t size = size_named(s->kernel, 0);

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, n);
    bench_arg(l, out);
    bench_arg(l, out);
    bench_arg(l, k);
    bench_arg(l, k);
    bench_arg(l, s->n[3]);
    bench_arg(l, k / 2);
    bench_arg(l, 1);
    arg_image(l, s);
    bench_arg(l, shape_memory(n * size));
    l->nbytes = (double)((c * side * side + n) * size);
}

static void pool(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const uint64_t c = s->n[0], side = s->n[1], k = s->n[2];
    const uint64_t out = places(side, k, s->n[3], 0), n = c * out * out;
    const size_t size = size_named(s->kernel, 0);

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, c * side * side);
    bench_arg(l, k);
    bench_arg(l, k);
    bench_arg(l, s->n[3]);
    bench_arg(l, s->n[3]);
    arg_image(l, s);
    bench_arg(l, shape_memory(n * size));
    l->nbytes = (double)((c * side * side + n) * size);
}

const struct shape_family *shape_family_of(const char *kernel)
{
    static const struct shape_family families[] = {
        {"mul_mat_vec_*", 3, mat_vec},
        {"mul_mat_*", 3, mat_mul},
        {"dequantize_mul_mat_vec_*", 2, dequantize_mat_vec},
        {"quantize_q8_1", 2, quantize},
        {"mmvq_gguf_quantize_*", 2, quantize},
        {"mmvq_gguf_*", 3, mat_vec},
        {"rmsnorm_*", 2, rmsnorm},
        {"layernorm_*", 2, layernorm},
        {"softmax_*", 2, softmax},
        {"fast_*", 2, fast},
        {"is_*", 3, index_select},
        {"rope_*", 3, rope},
        {"copy2d_*", 3, copy2d},
        {"where_*", 3, where},
        {"affine_*", 2, affine},
        {"cast_*", 2, unary},
        {"conv[12]d_*", 5, conv},
        {"im2col_*", 4, im2col},
        {"*_pool2d_*", 4, pool},
        {"b*", 2, binary},
        {"u*", 2, unary},
    };

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (fnmatch(families[i].kernels, kernel, 0) == 0)
            return &families[i];
    return NULL;
}
