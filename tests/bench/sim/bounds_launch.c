/* bounds_launch.c - families of kernels that real models launch rarely
 *
 * Launched as candle's hosts do, at shapes of tests/bench/sim/bounds.csv.
 */
#include "bounds_launch.h"

#include "../../../kernels/host/attention_args.h"
#include "base/gguf_formats.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static size_t size_of(const char *kernel)
{
    static const struct {
        const char *end;
        size_t nbytes;
    } types[] = {
        {"_u8", 1}, {"_bf16", 2}, {"_f16", 2}, {"_i64", 8}, {"_f64", 8}};
    const size_t n = strlen(kernel);

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const size_t m = strlen(types[i].end);

        if (n > m && strcmp(kernel + n - m, types[i].end) == 0)
            return types[i].nbytes;
    }
    return 4;
}

static void a_thread_each(struct bench_launch *l, uint64_t n)
{
    l->grid[0] = (unsigned)div_up(n, 1024);
    l->block[0] = 1024;
}

/* n: two dimensions, of which the source has the second outermost */
static void transposed(struct bench_launch *l, struct shape_use *use,
                       const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1];
    const uint64_t info[] = {s->n[0], s->n[1], 1, s->n[0]};
    const size_t size = size_of(s->kernel);

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, n);
    bench_arg(l, 2);
    bench_arg(l, shape_upload(info, sizeof(info)));
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(n * size));
    l->nbytes = 2. * (double)(n * size);
}

/* two contiguous operands, a byte each */
static void compare(struct bench_launch *l, struct shape_use *use,
                    const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1];
    const size_t size = size_of(s->kernel);

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, n);
    bench_arg(l, 2);
    bench_arg(l, 0);
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, shape_memory(n));
    l->nbytes = (double)(n * (2 * size + 1));
}

static void fill(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1];
    const size_t size = size_of(s->kernel);

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, shape_memory(n * size));
    bench_arg(l, 42);
    bench_arg(l, n);
    l->nbytes = (double)(n * size);
}

enum { MOST_IDS = 1 << 16 };

/* Ids below `limit`, a power of two, each `repeats` times in turn. */
static uint64_t ids(uint64_t n, uint64_t limit, uint64_t repeats)
{
    static uint32_t v[MOST_IDS];

    if (n > MOST_IDS)
        bench_die("bounds", "more ids than bounds_launch.c has room for");
    for (uint64_t i = 0; i < n; i++)
        v[i] = (uint32_t)(i / repeats * UINT64_C(2654435761) & (limit - 1));
    return shape_upload(v, n * sizeof(v[0]));
}

/* left x rows x right, an id for each element */
static void gather(struct bench_launch *l, struct shape_use *use,
                   const struct shape *s)
{
    const uint64_t left = s->n[0], n = s->n[1], right = s->n[2];
    const uint64_t all = left * n * right;
    const size_t size = size_of(s->kernel);

    (void)use;
    a_thread_each(l, all);
    bench_arg(l, all);
    bench_arg(l, ids(all, n, right));
    bench_arg(l, shape_memory(all * size));
    bench_arg(l, shape_memory(all * size));
    bench_arg(l, left);
    bench_arg(l, n);
    bench_arg(l, n);
    bench_arg(l, right);
    l->nbytes = (double)(all * (2 * size + 4));
}

/* left x rows x right into as many; ia_*: an id for each row, else element */
static void scatter(struct bench_launch *l, struct shape_use *use,
                    const struct shape *s)
{
    const int by_row = strncmp(s->kernel, "ia_", 3) == 0;
    const int adds = by_row || strncmp(s->kernel, "sa_", 3) == 0;
    const uint64_t left = s->n[0], n = s->n[1], right = s->n[2];
    const uint64_t all = left * n * right;
    const size_t size = size_of(s->kernel);

    (void)use;
    a_thread_each(l, left * right);
    bench_arg(l, ids(by_row ? n : all, n, by_row ? 1 : right));
    if (by_row)
        bench_arg(l, n);
    bench_arg(l, shape_memory(all * size));
    bench_arg(l, shape_memory(all * size));
    bench_arg(l, left);
    bench_arg(l, n);
    bench_arg(l, n);
    bench_arg(l, right);
    l->nbytes =
        (double)(all * ((adds ? 3 : 2) * size) + 4 * (by_row ? n : all));
}

/* rows x columns of keys */
static void sort(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const uint64_t rows = s->n[0], cols = s->n[1];

    (void)use;
    l->grid[0] = (unsigned)rows;
    l->block[0] = cols < 1024 ? (unsigned)cols : 1024;
    l->shared_nbytes = (unsigned)(4 * cols);
    bench_arg(l, shape_memory(rows * cols * size_of(s->kernel)));
    bench_arg(l, shape_memory(rows * cols * 4));
    bench_arg(l, cols);
    bench_arg(l, cols);
    l->nbytes = (double)(rows * cols * (size_of(s->kernel) + 4));
}

static void sort_tiles(struct bench_launch *l, struct shape_use *use,
                       const struct shape *s)
{
    const uint64_t rows = s->n[0], cols = s->n[1];

    (void)use;
    l->grid[0] = (unsigned)((cols + 2047) / 2048);
    l->grid[1] = (unsigned)rows;
    l->block[0] = 512;
    bench_arg(l, shape_memory(rows * cols * size_of(s->kernel)));
    bench_arg(l, shape_memory(rows * cols * 8));
    bench_arg(l, cols);
    l->nbytes = (double)(rows * cols * (size_of(s->kernel) + 8));
}

/* Runs of 2048 items; a merge takes items of a pair in turns. */
static void sort_merge(struct bench_launch *l, struct shape_use *use,
                       const struct shape *s)
{
    const uint64_t rows = s->n[0], cols = s->n[1], run = 2048;
    uint64_t *items = malloc(rows * cols * sizeof(*items));

    (void)use;
    if (!items)
        bench_die("bounds", "out of memory");
    for (uint64_t i = 0; i < rows * cols; i++)
        items[i] = i % cols % run * 2 + i % cols / run % 2;
    l->grid[0] = (unsigned)((cols + 1023) / 1024);
    l->grid[1] = (unsigned)rows;
    l->block[0] = 256;
    bench_arg(l, shape_upload(items, rows * cols * sizeof(*items)));
    bench_arg(l, shape_memory(rows * cols * 8));
    bench_arg(l, 0);
    bench_arg(l, cols);
    bench_arg(l, run);
    l->nbytes = (double)(rows * cols * 16);
    free(items);
}

/* m x n x k, of one matrix; tiles as gemm.csv says */
static void gemm(struct bench_launch *l, struct shape_use *use,
                 const struct shape *s)
{
    const uint64_t m = s->n[0], n = s->n[1], k = s->n[2];
    const int f64 = strstr(s->kernel, "_f64_") != NULL;
    const size_t size = f64 ? 8 : strstr(s->kernel, "_f32_") ? 4 : 2;
    const int trans_a = s->kernel[5] == 't', trans_b = s->kernel[6] == 't';
    const double one = 1;
    uint64_t bits;

    (void)use;
    bench_arg(l, shape_memory(m * k * size));
    bench_arg(l, shape_memory(k * n * size));
    bench_arg(l, shape_memory(m * n * size));
    bench_arg(l, 0); /* no bias, no partial sums */
    bench_arg(l, 0);
    bench_arg(l, m);
    bench_arg(l, n);
    bench_arg(l, k);
    bench_arg(l, trans_a ? m : k);
    bench_arg(l, trans_b ? k : n);
    bench_arg(l, n);
    for (int i = 0; i < 3; i++)
        bench_arg(l, 0);
    bench_arg(l, 1);
    bench_arg(l, 1);
    memcpy(&bits, &one, sizeof(bits));
    if (f64)
        bench_arg(l, bits);
    else
        bench_arg_f32(l, 1);
    bench_arg(l, 0);
    l->nbytes = (double)((m * k + k * n + m * n) * size);
    l->nops = 2. * (double)(m * n * k);
}

/* ---- steps of language models ---- */

/* rows x columns, a block a row */
static void a_block_each(struct bench_launch *l, const struct shape *s)
{
    l->grid[0] = (unsigned)s->n[0];
    l->block[0] = s->n[1] < 1024 ? 128 : 256;
}

static void rmsnorm_add(struct bench_launch *l, struct shape_use *use,
                        const struct shape *s)
{
    const uint64_t nbytes = s->n[0] * s->n[1] * size_of(s->kernel);

    (void)use;
    a_block_each(l, s);
    for (int i = 0; i < 4; i++)
        bench_arg(l, shape_memory(nbytes));
    bench_arg(l, shape_memory(s->n[1] * size_of(s->kernel)));
    bench_arg(l, s->n[1]);
    bench_arg(l, l->block[0]);
    bench_arg_f32(l, 1e-5f);
    l->nbytes = 4. * (double)nbytes + (double)(s->n[1] * size_of(s->kernel));
}

static void rmsnorm_quantize(struct bench_launch *l, struct shape_use *use,
                             const struct shape *s)
{
    const uint64_t nbytes = s->n[0] * s->n[1] * size_of(s->kernel);
    const uint64_t padded = div_up(s->n[1], 512) * 512;

    (void)use;
    a_block_each(l, s);
    for (int i = 0; i < 3; i++)
        bench_arg(l, shape_memory(nbytes));
    bench_arg(l, shape_memory(s->n[1] * size_of(s->kernel)));
    bench_arg(l, shape_memory(shape_q8_1_nbytes(s->n[0] * padded)));
    bench_arg(l, s->n[1]);
    bench_arg(l, padded);
    bench_arg_f32(l, 1e-5f);
    l->nbytes = (double)(3 * nbytes + s->n[1] * size_of(s->kernel) +
                         shape_q8_1_nbytes(s->n[0] * padded));
}

static void gated(struct bench_launch *l, struct shape_use *use,
                  const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1];

    (void)use;
    a_thread_each(l, n);
    bench_arg(l, n);
    for (int i = 0; i < 3; i++)
        bench_arg(l, shape_memory(n * size_of(s->kernel)));
    l->nbytes = 3. * (double)(n * size_of(s->kernel));
}

/* rows x columns x rows of the mask */
static void softmax_masked(struct bench_launch *l, struct shape_use *use,
                           const struct shape *s)
{
    const uint64_t nbytes = s->n[0] * s->n[1] * size_of(s->kernel);
    const uint64_t mask = s->n[2] * s->n[1] * size_of(s->kernel);

    (void)use;
    a_block_each(l, s);
    bench_arg(l, shape_memory(nbytes));
    bench_arg(l, shape_memory(mask));
    bench_arg(l, shape_memory(nbytes));
    bench_arg(l, s->n[1]);
    bench_arg(l, s->n[2]);
    bench_arg_f32(l, 0.125f);
    l->nbytes = 2. * (double)nbytes + (double)mask;
}

/* tokens x heads x d, all of it turned */
static void rope_pos(struct bench_launch *l, struct shape_use *use,
                     const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1] * s->n[2];

    (void)use;
    l->grid[0] = (unsigned)div_up(n / 2, 256);
    l->block[0] = 256;
    bench_arg(l, shape_memory(n * size_of(s->kernel)));
    bench_arg(l, ids(s->n[0], 1 << 16, 1));
    bench_arg(l, 0);
    bench_arg(l, shape_memory(n * size_of(s->kernel)));
    for (int i = 0; i < 3; i++)
        bench_arg(l, s->n[i]);
    bench_arg(l, s->n[2]);
    bench_arg_f32(l, 500000);
    bench_arg_f32(l, 1);
    bench_arg_f32(l, 0);
    bench_arg_f32(l, 1);
    bench_arg_f32(l, 0);
    bench_arg_f32(l, 0);
    bench_arg(l, strcmp(s->layout, "halves") == 0);
    l->nbytes = 2. * (double)(n * size_of(s->kernel));
}

static void argmax_last(struct bench_launch *l, struct shape_use *use,
                        const struct shape *s)
{
    const uint64_t zero[2] = {0, 0};

    (void)use;
    l->grid[0] = (unsigned)div_up(s->n[1], 2048);
    l->block[0] = 256;
    bench_arg(l, shape_memory(s->n[0] * s->n[1] * size_of(s->kernel)));
    bench_arg(l, shape_memory(4));
    bench_arg(l, shape_upload(zero, sizeof(zero)));
    bench_arg(l, s->n[0]);
    bench_arg(l, s->n[1]);
    l->nbytes = (double)(s->n[1] * size_of(s->kernel));
}

/* one row, from which k numbers are kept */
static void sample(struct bench_launch *l, struct shape_use *use,
                   const struct shape *s)
{
    (void)use;
    l->grid[0] = 1;
    l->block[0] = 1024;
    bench_arg(l, shape_memory(s->n[0] * size_of(s->kernel)));
    bench_arg(l, shape_memory(4));
    bench_arg(l, s->n[0]);
    bench_arg(l, s->n[1]);
    bench_arg_f32(l, 0.95f);
    bench_arg_f32(l, 0.8f);
    bench_arg(l, 1);
    bench_arg(l, 1);
    l->nbytes = (double)(s->n[0] * size_of(s->kernel));
}

/* n[0] x n[1] numbers */
static void random_numbers(struct bench_launch *l, struct shape_use *use,
                           const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1],
                   one = size_of(s->kernel) == 8   ? 0x3ff0000000000000
                         : size_of(s->kernel) == 4 ? 0x3f800000
                                                   : 0x3c00;

    (void)use;
    l->grid[0] = (unsigned)div_up(n, 1024);
    l->block[0] = 256;
    bench_arg(l, shape_memory(n * size_of(s->kernel)));
    bench_arg(l, n);
    bench_arg(l, 42);
    bench_arg(l, 0);
    bench_arg(l, 0);
    bench_arg(l, one);
    l->nbytes = (double)(n * size_of(s->kernel));
}

/* ---- attention ---- */

/* The head size, from the number behind a kernel's type. */
static uint32_t head_size(const char *kernel)
{
    const char *name = strstr(kernel, "f16_");

    return name ? (uint32_t)strtoul(name + 4, NULL, 10) : 64;
}

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* adds K and V of `nbytes` each to a struct with the other fields set */
static void attend(struct bench_launch *l, kpk_attention_args *a, double nbytes)
{
    uint64_t words[sizeof(*a) / sizeof(uint64_t)];
    const double q = (double)a->b * a->seqlen_q * a->h * a->d;

    a->q = at(shape_memory((uint64_t)q * 2));
    a->k = at(shape_memory((uint64_t)nbytes));
    a->v = at(shape_memory((uint64_t)nbytes));
    a->o = at(shape_memory((uint64_t)q * 2));
    a->q_head = a->o_head = a->k_head = a->v_head = a->d;
    a->q_row = a->o_row = (int64_t)a->h * a->d;
    a->k_row = a->v_row = (int64_t)a->h_k * a->d;
    a->q_batch = a->o_batch = a->q_row * a->seqlen_q;
    a->k_batch = a->v_batch = a->k_row * a->seqlen_k;
    a->scale = 0.1f;
    a->window_left = a->window_right = -1;
    memcpy(words, a, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        bench_arg(l, words[i]);
    l->nbytes = 2 * nbytes + 4 * q;
    l->nops = 4. * q * a->seqlen_k;
}

/* queries x keys x heads */
static void attention(struct bench_launch *l, struct shape_use *use,
                      const struct shape *s)
{
    kpk_attention_args a = {.b = 1,
                            .h = (uint32_t)s->n[2],
                            .h_k = (uint32_t)s->n[2],
                            .d = head_size(s->kernel),
                            .seqlen_q = (uint32_t)s->n[0],
                            .seqlen_k = (uint32_t)s->n[1]};

    (void)use;
    attend(l, &a, (double)(s->n[1] * s->n[2] * a.d * 2));
    l->grid[0] = (unsigned)((s->n[0] + 127) / 128);
    l->grid[1] = a.h;
    l->block[0] = 256;
}

/* sequences x keys x heads of K x heads for each of them, four if left out; a
 * split of 512 keys */
static void attention_decode(struct bench_launch *l, struct shape_use *use,
                             const struct shape *s)
{
    enum { SPLIT = 512 };
    const uint64_t group = s->n[3] ? s->n[3] : 4;
    const uint64_t blocks_nbytes = strstr(s->kernel, "_q8_0")   ? 34
                                   : strstr(s->kernel, "_q4_0") ? 18
                                                                : 64;
    kpk_attention_args a = {.b = (uint32_t)s->n[0],
                            .h = (uint32_t)(s->n[2] * group),
                            .h_k = (uint32_t)s->n[2],
                            .d = head_size(s->kernel),
                            .seqlen_q = 1,
                            .seqlen_k = (uint32_t)s->n[1],
                            .splits = (uint32_t)(s->n[1] / SPLIT)};
    const uint64_t blocks = s->n[0] * s->n[1] * s->n[2] * a.d / 32;

    (void)use;
    a.partial = at(shape_memory((uint64_t)a.splits * a.b * a.h * (a.d + 1) *
                                sizeof(float)));
    attend(l, &a, (double)(blocks * blocks_nbytes));
    l->grid[0] = a.splits;
    l->grid[1] = a.h_k;
    l->grid[2] = a.b;
    l->block[0] = 128;
}

/* ---- quantized ---- */

static const struct format {
    const char *name;
    unsigned elements, nbytes; /* of a block */
    unsigned threads,
        each;      /* dequantize_block_*: threads, elements per group */
    unsigned unit; /* elements in one of the third argument; 0: none */
} formats[] = {
#define SPELLED(spelling, elements, bytes, threads, elems, counts)             \
    {#spelling, elements, bytes, threads, elems, GGUF_UNIT_##counts},
#define FORMAT(name, lower, short, type, number, elements, bytes, d, m, tiled, \
               column, counts, threads, elems, ...)                            \
    SPELLED(name, elements, bytes, threads, elems, counts)                     \
    SPELLED(lower, elements, bytes, threads, elems, counts)                    \
    SPELLED(short, elements, bytes, threads, elems, counts)
#define FLOATS(name, type, number, bytes, threads, elems, ...)                 \
    SPELLED(name, 1, bytes, threads, elems, elements)
#define LOW_BIT(name, type, number, elements, bytes, d, m, counts, threads,    \
                elems, ...)                                                    \
    SPELLED(name, elements, bytes, threads, elems, counts)
    /* others have f16 in their name, too */
    GGUF_WEIGHTS(FORMAT) GGUF_LOW_BIT(LOW_BIT) GGUF_FLOAT_WEIGHTS(FLOATS)};

static const struct format *format_of(const char *kernel)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strstr(kernel, formats[i].name))
            return &formats[i];
    bench_die(kernel, "no quantized format of bounds_launch.c");
}

static uint64_t weights(const struct format *f, uint64_t n)
{
    return n / f->elements * f->nbytes;
}

/* n[0] x n[1] elements */
static void dequantize(struct bench_launch *l, struct shape_use *use,
                       const struct shape *s)
{
    const struct format *f = format_of(s->kernel);
    const uint64_t n = s->n[0] * s->n[1];
    const size_t size = size_of(s->kernel);

    (void)use;
    l->grid[0] = (unsigned)(n / f->each);
    l->block[0] = f->threads;
    bench_arg(l, shape_memory(weights(f, n)));
    bench_arg(l, shape_memory(n * size));
    if (f->unit)
        bench_arg(l, n / f->unit);
    l->nbytes = (double)(weights(f, n) + n * size);
}

/* rows x columns of f32 activations, one column of them */
static void dequantize_mat_vec(struct bench_launch *l, struct shape_use *use,
                               const struct shape *s)
{
    const uint64_t rows = s->n[0], cols = s->n[1];
    const struct format *f = format_of(s->kernel);

    (void)use;
    l->grid[0] = (unsigned)rows;
    l->block[0] = 32;
    bench_arg(l, shape_memory(weights(f, rows * cols)));
    bench_arg(l, shape_memory(cols * 4));
    bench_arg(l, shape_memory(rows * 4));
    bench_arg(l, cols);
    bench_arg(l, rows); /* some take the grid's */
    l->nbytes = (double)(weights(f, rows * cols) + 4 * (rows + cols));
}

/* rows x columns of f16 or bf16 weights x columns of f32 */
static void float_weights(struct bench_launch *l, struct shape_use *use,
                          const struct shape *s)
{
    const uint64_t rows = s->n[0], k = s->n[1], cols = s->n[2];
    const int tile = strstr(s->kernel, "_cuda") == NULL;

    (void)use;
    l->grid[0] = (unsigned)(tile ? rows / 64 : cols == 1 ? rows : rows / 2);
    l->grid[1] = (unsigned)(tile ? cols / 64 : 1);
    l->block[0] = tile ? 128 : 32;
    l->block[1] = tile ? 1 : cols > 4 ? 2 : 4;
    bench_arg(l, shape_memory(rows * k * 2));
    bench_arg(l, shape_memory(cols * k * 4));
    bench_arg(l, shape_memory(rows * cols * 4));
    bench_arg(l, k);
    bench_arg(l, rows);
    if (tile)
        bench_arg(l, cols);
    bench_arg(l, k);
    bench_arg(l, rows);
    l->nbytes = (double)(rows * k * 2 + cols * (k + rows) * 4);
}

/* ids x columns of a table with n[2] rows */
static void get_rows(struct bench_launch *l, struct shape_use *use,
                     const struct shape *s)
{
    const uint64_t n = s->n[0], cols = s->n[1];
    const struct format *f = format_of(s->kernel);

    (void)use;
    l->grid[0] = (unsigned)n;
    l->grid[1] = (unsigned)(cols / (f->elements == 32 ? 512 : 256));
    l->block[0] = f->elements == 32 ? 256 : f->threads;
    bench_arg(l, shape_memory(weights(f, s->n[2] * cols)));
    bench_arg(l, ids(n, s->n[2], 1));
    bench_arg(l, shape_memory(n * cols * 4));
    bench_arg(l, cols);
    bench_arg(l, weights(f, cols));
    l->nbytes = (double)(weights(f, n * cols) + n * cols * 4);
}

/* tokens x experts chosen x rows x columns, each expert once */
static void moe(struct bench_launch *l, struct shape_use *use,
                const struct shape *s)
{
    const uint64_t tokens = s->n[0], chosen = s->n[1], n = s->n[2];
    const uint64_t cols = s->n[3], pairs = tokens * chosen;
    const struct format *f = format_of(s->kernel);

    (void)use;
    l->grid[0] = (unsigned)n;
    l->grid[1] = (unsigned)tokens;
    l->grid[2] = (unsigned)chosen;
    l->block[0] = 32;
    l->block[1] = 4;
    bench_arg(l, shape_memory(weights(f, pairs * n * cols)));
    bench_arg(l, shape_memory(shape_q8_1_nbytes(tokens * cols)));
    bench_arg(l, ids(pairs, pairs, 1));
    bench_arg(l, shape_memory(pairs * n * 4));
    bench_arg(l, n);
    bench_arg(l, cols);
    bench_arg(l, tokens);
    bench_arg(l, chosen);
    bench_arg(l, cols);
    bench_arg(l, 1);
    l->nbytes = (double)(weights(f, pairs * n * cols) + pairs * n * 4) +
                36. / 32 * (double)(tokens * cols);
}

/*
 * experts x rows of each x n x k. An expert's rows are neighbours, and the
 * numbers of all rows and experts follow from that.
 */
static void expert_rows(struct bench_launch *l, const struct shape *s,
                        int offsets)
{
    static int32_t v[MOST_IDS];
    const uint64_t experts = s->n[0], m = experts * s->n[1];

    if (m >= MOST_IDS)
        bench_die("bounds", "more rows than bounds_launch.c has room for");
    for (uint64_t i = 0; i < m; i++)
        v[i] = (int32_t)i;
    bench_arg(l, shape_upload(v, m * sizeof(v[0])));
    for (uint64_t i = 0; i <= m; i++)
        v[i] = (int32_t)(offsets ? i * s->n[1] : i / s->n[1]);
    bench_arg(l, shape_upload(v, (offsets ? experts + 1 : m) * sizeof(v[0])));
}

static void moe_sizes(struct bench_launch *l, const struct shape *s)
{
    bench_arg(l, s->n[0]);
    bench_arg(l, 1);
    bench_arg(l, s->n[0] * s->n[1]);
    bench_arg(l, s->n[2]);
    bench_arg(l, s->n[3]);
}

static void moe_tiles(struct bench_launch *l, struct shape_use *use,
                      const struct shape *s)
{
    const uint64_t m = s->n[0] * s->n[1], n = s->n[2], k = s->n[3];
    const int gguf = strstr(s->kernel, "gguf") != NULL;
    const uint64_t all = s->n[0] * n * k;
    const uint64_t w = gguf ? weights(format_of(s->kernel), all) : 2 * all;

    (void)use;
    l->grid[0] = (unsigned)s->n[0];
    l->grid[1] = (unsigned)div_up(n, 64);
    l->block[0] = 128;
    bench_arg(l, shape_memory(m * k * 2));
    bench_arg(l, shape_memory(w));
    expert_rows(l, s, 1);
    bench_arg(l, 0);
    bench_arg(l, shape_memory(m * n * 4));
    moe_sizes(l, s);
    l->nbytes = (double)(m * k * 2 + w + m * n * (gguf ? 4 : 2));
    l->nops = 2. * (double)(m * n * k);
}

static void moe_rows(struct bench_launch *l, struct shape_use *use,
                     const struct shape *s)
{
    const uint64_t m = s->n[0] * s->n[1], n = s->n[2], k = s->n[3];
    const uint64_t w = weights(format_of(s->kernel), s->n[0] * n * k);

    (void)use;
    l->grid[0] = (unsigned)div_up(n, 4);
    l->grid[1] = (unsigned)m;
    l->block[0] = 32;
    l->block[1] = 4;
    bench_arg(l, shape_memory(w));
    bench_arg(l, shape_memory(shape_q8_1_nbytes(m * k)));
    expert_rows(l, s, 0);
    bench_arg(l, 0);
    bench_arg(l, shape_memory(m * n * 4));
    moe_sizes(l, s);
    bench_arg(l, k);
    l->nbytes = (double)(shape_q8_1_nbytes(m * k) + w + m * n * 4);
}

/* tokens x experts x chosen */
static void moe_topk(struct bench_launch *l, struct shape_use *use,
                     const struct shape *s)
{
    const uint64_t n = s->n[0] * s->n[1], chosen = s->n[0] * s->n[2];

    (void)use;
    l->grid[0] = (unsigned)div_up(s->n[0], 4);
    l->block[0] = 128;
    bench_arg(l, shape_memory(n * size_of(s->kernel)));
    bench_arg(l, 0);
    bench_arg(l, shape_memory(chosen * 4));
    bench_arg(l, shape_memory(chosen * 4));
    for (int i = 0; i < 3; i++)
        bench_arg(l, s->n[i]);
    bench_arg(l, 2);
    l->nbytes = (double)(n * size_of(s->kernel) + chosen * 8);
}

/* ---- images ---- */

/* channels x side x channels out x kernel's side x stride */
static void conv_transpose2d(struct bench_launch *l, struct shape_use *use,
                             const struct shape *s)
{
    const uint64_t c = s->n[0], side = s->n[1], o = s->n[2], k = s->n[3];
    const uint64_t out = (side - 1) * s->n[4] + k;
    const uint64_t info[] = {
        1, c, side, side, c * side * side, side * side, side, 1,
        c, o, k,    k,    o * k * k,       k * k,       k,    1};
    const size_t size = size_of(s->kernel);

    (void)use;
    a_thread_each(l, o * out * out);
    bench_arg(l, c * side * side);
    bench_arg(l, out);
    bench_arg(l, out);
    bench_arg(l, s->n[4]);
    bench_arg(l, 0);
    bench_arg(l, 0);
    bench_arg(l, 1);
    bench_arg(l, shape_upload(info, sizeof(info)));
    bench_arg(l, shape_memory(c * side * side * size));
    bench_arg(l, shape_memory(c * o * k * k * size));
    bench_arg(l, shape_memory(o * out * out * size));
    l->nbytes =
        (double)((c * side * side + c * o * k * k + o * out * out) * size);
}

const struct shape_family *bounds_family_of(const struct shape *shape)
{
    static const struct {
        const char *layout;
        struct shape_family family;
    } families[] = {
        {"transposed", {"u*", 2, transposed}},
        {"", {"lt_*", 2, compare}},
        {"", {"fill_*", 2, fill}},
        {"", {"gather_*", 3, gather}},
        {"", {"ia_*", 3, scatter}},
        {"", {"s_u*", 3, scatter}},
        {"", {"sa_*", 3, scatter}},
        {"", {"gemm_*_m*", 3, gemm}},
        {"", {"rmsnorm_add_*", 2, rmsnorm_add}},
        {"", {"add_rmsnorm_quantize_*", 2, rmsnorm_quantize}},
        {"", {"silu_mul_*", 2, gated}},
        {"", {"gelu_mul_*", 2, gated}},
        {"", {"softmax_masked_*", 3, softmax_masked}},
        {"", {"rope_pos_*", 3, rope_pos}},
        {"halves", {"rope_pos_*", 3, rope_pos}},
        {"", {"argmax_last_*", 2, argmax_last}},
        {"", {"sample_*", 2, sample}},
        {"", {"rand_*", 2, random_numbers}},
        {"", {"moe_gemm_gguf_prefill_*", 4, moe_tiles}},
        {"", {"moe_gemm_gguf_*", 4, moe_rows}},
        {"", {"moe_gemm_*", 4, moe_tiles}},
        {"", {"moe_topk_*", 3, moe_topk}},
        {"", {"attention_decode_*", 3, attention_decode}},
        {"", {"attention_*", 3, attention}},
        {"", {"asort_tiles_*", 2, sort_tiles}},
        {"", {"asort_merge_wide", 2, sort_merge}},
        {"", {"asort_*", 2, sort}},
        {"", {"dequantize_block_*", 2, dequantize}},
        {"", {"dequantize_mul_mat_vec_*", 2, dequantize_mat_vec}},
        {"", {"mul_mat_vec_*_f32_cuda?", 3, float_weights}},
        {"", {"mul_mat_f16", 3, float_weights}},
        {"", {"mul_mat_bf16", 3, float_weights}},
        {"", {"get_rows_*", 3, get_rows}},
        {"", {"indexed_moe_*", 4, moe}},
        {"", {"conv_transpose2d_*", 5, conv_transpose2d}},
    };

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (strcmp(families[i].layout, shape->layout) == 0 &&
            fnmatch(families[i].family.kernels, shape->kernel, 0) == 0)
            return &families[i].family;
    return shape_family_of(shape->kernel);
}
