/* products.c - products of matrices */
#include "products.h"

#include "base/gguf_formats.h"

#include <kpack/candle/gemm_plan.h>

#include <stdio.h>

/* Up to these, columns are few. */
enum { MOST_COLUMNS = 8 };

/* Bytes for sums of splits. */
enum { MOST_SUMS = 16 << 20 };

/*
 * A product of more than FEW_COLUMNS with LARGE_ELEMENTS or more has just as
 * many blocks as run at once. Blocks that begin early crowd the multiprocessors
 * that the previous launch leaves free, and take up to twice their time on an
 * H200. Small launches between such products gain nothing by beginning early.
 */
enum { FEW_COLUMNS = 4, LARGE_ELEMENTS = 4 << 20 };

/* A product of one matrix; columns are f32, or Q8_1 made of them. */
struct product {
    enum ggml_type type;
    const void *matrix, *in;
    void *out;
    int32_t columns, rows, n;
};

int32_t blocks_columns(int64_t columns)
{
    return (int32_t)GGUF_Q8_1_COLUMNS(columns);
}

size_t blocks_nbytes(int64_t columns, int64_t n)
{
    return (size_t)(GGUF_Q8_1_NBYTES(columns) * n);
}

/* Whether a product of n columns reads them as Q8_1: module low_bit multiplies
 * many by tiles of f32. */
static bool reads_blocks(enum ggml_type type, int64_t n)
{
    return ggml_is_quantized(type) && !(n > MOST_COLUMNS && is_low_bit(type));
}

/* The number of columns, up to n, that one launch multiplies. Module low_bit
 * has kernels for 1, 2, 4 and 8. */
static int32_t columns_at_once(enum ggml_type type, int32_t n)
{
    while (is_low_bit(type) && (n & (n - 1)) != 0)
        n &= n - 1;
    return n;
}

/* NULL without launching */
static const char *past(const void *p, size_t nbytes)
{
    return p ? (const char *)p + nbytes : NULL;
}

/* up to MOST_COLUMNS; `in` are Q8_1 or f32, in_columns numbers apart */
static bool product_of_few(struct run *run, const struct product *p,
                           const void *in, int32_t in_columns)
{
    const bool quantized = ggml_is_quantized(p->type);
    const size_t column = quantized ? blocks_nbytes(in_columns, 1)
                                    : (size_t)in_columns * sizeof(float);
    char name[64];

    for (int32_t done = 0, n; done < p->n; done += n) {
        const void *from = past(in, (size_t)done * column);
        const void *to =
            past(p->out, (size_t)done * (size_t)p->rows * sizeof(float));

        n = columns_at_once(p->type, p->n - done);
        (void)snprintf(name, sizeof(name), "mul_mat_vec_%s_%s_cuda%d",
                       type_name(p->type), quantized ? "q8_1" : "f32", n);
        if (!launch(run, name, (uint64_t)p->rows, 0,
                    KPK_ARGS(p->matrix, from, to, p->columns, p->rows,
                             in_columns, p->rows)))
            return false;
    }
    return true;
}

/* `blocks` is memory for the columns as Q8_1, which may be `made` already. */
static bool product(struct run *run, const struct product *p, void *blocks,
                    bool made)
{
    const bool as_blocks = reads_blocks(p->type, p->n);
    const int32_t in_columns =
        as_blocks ? blocks_columns(p->columns) : p->columns;
    const void *in = as_blocks ? blocks : p->in;
    struct kernel_name name = named("mul_mat", p->type);

    if (as_blocks && !made &&
        !launch(run, "quantize_q8_1_quants", (uint64_t)in_columns,
                (uint64_t)p->n, KPK_ARGS(p->in, in, p->columns, in_columns)))
        return false;
    if (run->fork && run->launching &&
        !gpu_check(kpk_event_record(run->inst, run->forked, run->stream),
                   "a product"))
        return false;
    run->large =
        p->n > FEW_COLUMNS && (int64_t)p->rows * p->columns >= LARGE_ELEMENTS;
    if (p->n <= MOST_COLUMNS)
        return product_of_few(run, p, in, in_columns);
    if (is_low_bit(p->type)) /* tiles of f32 columns */
        name = named(name.text, GGML_TYPE_F32);
    return launch(run, name.text, (uint64_t)p->rows, (uint64_t)p->n,
                  KPK_ARGS(p->matrix, in, p->out, p->columns, p->rows, p->n,
                           in_columns, p->rows));
}

/* A matrix of f32 whose rows or columns are contiguous: elements from one to
 * the next, 0 if neither are. */
static int64_t lead_f32(const struct ggml_tensor *t, bool *transposed)
{
    const size_t stride = t->nb[0] == sizeof(float) ? t->nb[1] : t->nb[0];

    *transposed = t->nb[0] != sizeof(float);
    if ((*transposed && t->nb[1] != sizeof(float)) ||
        stride / sizeof(float) > UINT32_MAX)
        return 0;
    return (int64_t)(stride / sizeof(float));
}

/* Columns times the matrix's transpose. Matrices that follow each other in
 * dimension 2, or share one of m, are a batch. */
static bool mul_mat_f32(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    const int64_t share2 = x->ne[2] / m->ne[2], share3 = x->ne[3] / m->ne[3];
    const int64_t batch = share2 == 1 ? x->ne[2] : share2;
    bool x_transposed, m_transposed;
    const int64_t lda = lead_f32(x, &x_transposed);
    const int64_t ldb = lead_f32(m, &m_transposed);
    const kpk_gemm_product matrices = {.type = KPK_GEMM_F32,
                                       .trans_a = x_transposed,
                                       .trans_b = !m_transposed,
                                       .m = (uint32_t)x->ne[1],
                                       .n = (uint32_t)m->ne[1],
                                       .k = (uint32_t)m->ne[0],
                                       .batch = (uint32_t)batch};
    kpk_gemm_plan plan;

    if (lda < x->ne[x_transposed] || ldb < m->ne[m_transposed] || !is_f32(x) ||
        x->ne[2] / batch * x->ne[3] > MOST_LAUNCHES || x->ne[1] > UINT32_MAX ||
        m->ne[1] > UINT32_MAX || m->ne[0] > UINT32_MAX || batch > UINT16_MAX ||
        kpk_gemm_choose(run->inst, &kpk_module_gemm, &matrices, 0, &plan) !=
            KPK_OK)
        return false;
    if (!run->launching)
        return true;
    for (int64_t i3 = 0; i3 < x->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < x->ne[2]; i2 += batch) {
            const kpk_gemm_operands operands = {
                .a = at(x, i2, i3),
                .b = at(m, i2 / share2, i3 / share3),
                .c = (void *)at(t, i2, i3),
                .lda = (uint32_t)lda,
                .ldb = (uint32_t)ldb,
                .ldc = (uint32_t)m->ne[1],
                .stride_a = (int64_t)(x->nb[2] / sizeof(float)),
                .stride_b =
                    share2 == 1 ? (int64_t)(m->nb[2] / sizeof(float)) : 0,
                .stride_c = (int64_t)(t->nb[2] / sizeof(float)),
                .alpha = 1};

            if (!gpu_check(kpk_gemm_launch(run->inst, &matrices, &plan,
                                           &operands, NULL, run->stream),
                           "a product"))
                return false;
        }
    return true;
}

/* Whether module quantized can multiply these matrices and columns. */
static bool are_weights(const struct ggml_tensor *m,
                        const struct ggml_tensor *x)
{
    return type_name(m->type) && m->type != GGML_TYPE_I32 && is_matrix(m) &&
           x->ne[2] * x->ne[3] <= MOST_LAUNCHES &&
           m->ne[0] <= INT32_MAX - 512 && m->ne[1] <= INT32_MAX &&
           x->ne[1] <= UINT16_MAX;
}

/* Weights without gaps by module quantized: a launch for each matrix. */
static bool mul_mat_weights(struct run *run, const struct ggml_tensor *t,
                            const struct ggml_tensor *x)
{
    const struct ggml_tensor *m = t->src[0];
    const int64_t share2 = x->ne[2] / m->ne[2], share3 = x->ne[3] / m->ne[3];
    size_t nbytes;
    bool made = false;
    void *blocks;

    if (!are_weights(m, x))
        return false;
    run->waits = !is_constant(m);
    nbytes = blocks_nbytes(m->ne[0], x->ne[1]);
    blocks = x == t->src[1] && x->ne[2] * x->ne[3] == 1 &&
                     reads_blocks(m->type, x->ne[1])
                 ? shared(run, x, nbytes, &made)
                 : scratch(run, nbytes);
    for (int64_t i3 = 0; i3 < x->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < x->ne[2]; i2++) {
            const struct product p = {.type = m->type,
                                      .matrix = at(m, i2 / share2, i3 / share3),
                                      .in = at(x, i2, i3),
                                      .out = (void *)at(t, i2, i3),
                                      .columns = (int32_t)m->ne[0],
                                      .rows = (int32_t)m->ne[1],
                                      .n = (int32_t)x->ne[1]};

            if (!product(run, &p, blocks, made))
                return false;
            if (!run->launching)
                return true; /* all take the same kernels */
        }
    return true;
}

/*
 * Whether x may be rounded to numbers, or to Q8_1. ggml_prec_set_src() sets the
 * parameter, and its types are in order of their precision.
 */
static bool may_round_to(const struct ggml_tensor *t, enum ggml_type type)
{
    const int32_t asked = t->op_params[3];

    return asked == GGML_PREC_UNDEFINED ||
           asked >= (type == GGML_TYPE_BF16  ? GGML_PREC_BF16
                     : type == GGML_TYPE_F16 ? GGML_PREC_F16
                                             : GGML_PREC_Q8);
}

/*
 * Whether to use module gemm for few columns, too, as on NVIDIA's GPUs. Its
 * launches take as long for eight columns as for two, but a product needs two
 * more launches.
 */
static bool few_by_gemm(const struct run *run, const struct ggml_tensor *t)
{
    enum { PRODUCTS = 32 << 20 };
    const struct ggml_tensor *m = t->src[0];

    return t->ne[1] > 1 && m->ne[0] * m->ne[1] * t->ne[1] >= PRODUCTS &&
           kpk_instance_device(run->inst)->platform == KPK_CUDA;
}

/*
 * Columns times one matrix of f16 or bf16 by module gemm: columns are rounded
 * to its type, and the results of many, as ggml's CUDA backend does. Sums are
 * f32.
 */
static bool mul_mat_numbers(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    const bool few = x->ne[1] <= MOST_COLUMNS;
    const kpk_gemm_product product = {
        .type = m->type == GGML_TYPE_F16 ? KPK_GEMM_F16 : KPK_GEMM_BF16,
        .trans_b = 1,
        .m = (uint32_t)x->ne[1],
        .n = (uint32_t)m->ne[1],
        .k = (uint32_t)m->ne[0],
        .batch = 1};
    struct ggml_tensor columns, made = *t;
    kpk_ggml_tensor from, to = view_of(t);
    kpk_gemm_operands operands;
    kpk_gemm_plan plan;
    void *workspace;

    if ((m->type != GGML_TYPE_F16 && m->type != GGML_TYPE_BF16) ||
        t->op_params[0] == GGML_PREC_F32 || !may_round_to(t, m->type) ||
        (few && !few_by_gemm(run, t)) || x->ne[2] * x->ne[3] != 1 ||
        !is_matrix(m) || !ggml_is_contiguous(t) || x->ne[1] > UINT32_MAX ||
        m->ne[1] > UINT32_MAX || m->ne[0] > UINT32_MAX ||
        (few ? kpk_gemm_choose_sums(run->inst, &kpk_module_gemm, &product,
                                    MOST_SUMS, &plan)
             : kpk_gemm_choose(run->inst, &kpk_module_gemm, &product, 0,
                               &plan)) != KPK_OK)
        return false;
    run->scratch_used = 0;
    if (!converted(run, x, m->type, &columns))
        return false;
    workspace = scratch(run, plan.workspace_nbytes);
    made.type = m->type;
    for (size_t d = 0; d < 4; d++)
        made.nb[d] = t->nb[d] / 2;
    made.data = few ? t->data : scratch(run, ggml_nbytes(t) / 2);
    operands = (kpk_gemm_operands){.a = columns.data,
                                   .b = m->data,
                                   .c = made.data,
                                   .lda = product.k,
                                   .ldb = product.k,
                                   .ldc = product.n,
                                   .alpha = 1};
    from = view_of(&made);
    if (run->launching &&
        !gpu_check(kpk_gemm_launch(run->inst, &product, &plan, &operands,
                                   workspace, run->stream),
                   "a product"))
        return false;
    if (few)
        return true;
    join_dims(2, (kpk_ggml_tensor *[]){&to, &from});
    return launch(run, named(named("ggml_copy", m->type).text, t->type).text,
                  count(&to), 0, KPK_ARGS(from, to));
}

/* Any strides and batches in one launch, 32 threads an element. */
static bool mul_mat_any(struct run *run, const struct ggml_tensor *t,
                        const struct ggml_tensor *chosen)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    const kpk_ggml_tensor left = view_of(m), right = view_of(x);
    const kpk_ggml_tensor ids =
        chosen ? view_of(chosen) : (kpk_ggml_tensor){.ne = {1, 1, 1, 1}};
    const kpk_ggml_tensor out = view_of(t);

    return (!ggml_is_quantized(m->type) || has_rows(m)) &&
           launch(run, named(named("ggml_mul_mat", m->type).text, x->type).text,
                  count(&out), 0, KPK_ARGS(left, right, ids, out));
}

/* Few elements of many matrices, as in attention by products. */
static bool is_small(const struct ggml_tensor *t)
{
    return t->ne[1] <= 8 && t->ne[2] * t->ne[3] > 4;
}

/* Whether x may be rounded as product() rounds it. */
static bool may_round(const struct ggml_tensor *t)
{
    const enum ggml_type type = t->src[0]->type;

    return (!ggml_is_quantized(type) && t->ne[1] <= MOST_COLUMNS) ||
           may_round_to(t, type);
}

bool mul_mat(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    const bool as_it_is = is_f32(x) && is_matrix(x);
    struct ggml_tensor columns;

    run->large = false;
    if (is_small(t) && mul_mat_any(run, t, NULL))
        return true;
    if (is_f32(m) && mul_mat_f32(run, t))
        return true;
    if (mul_mat_numbers(run, t))
        return true;
    run->scratch_used = 0;
    if (!is_f32(m) && is_matrix(m) && may_round(t) &&
        (as_it_is || converted(run, x, GGML_TYPE_F32, &columns)) &&
        mul_mat_weights(run, t, as_it_is ? x : &columns))
        return true;
    run->scratch_used = 0;
    if (run->shared_uses == 0) /* no blocks were made of x */
        run->shared_of = NULL;
    return mul_mat_any(run, t, NULL);
}

bool mul_mat_reads_blocks(const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];

    return !is_small(t) && reads_blocks(m->type, x->ne[1]) && may_round(t) &&
           is_f32(x) && is_matrix(x) && x->ne[2] * x->ne[3] == 1 &&
           are_weights(m, x);
}

bool mul_mat_of_rows(struct run *run, const struct ggml_tensor *t, int64_t rows,
                     int n, void *out)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    const struct product p = {.type = m->type,
                              .matrix = m->data,
                              .in = x->data,
                              .out = out,
                              .columns = (int32_t)m->ne[0],
                              .rows = (int32_t)rows,
                              .n = (int32_t)x->ne[1]};
    bool made = false, again;
    void *blocks;

    run->scratch_used = 0;
    run->waits = !is_constant(m);
    blocks = shared(run, x, blocks_nbytes(m->ne[0], x->ne[1]), &made);
    for (int i = 1; i < n; i++) /* each product counts as one reader */
        if (run->shared_of == x)
            (void)shared(run, x, 0, &again);
    return rows <= INT32_MAX && product(run, &p, blocks, made);
}

bool mul_mat_two(struct run *run, const struct ggml_tensor *a,
                 const struct ggml_tensor *b)
{
    void *const stream = run->stream;
    bool good, joined;

    run->scratch_used = 0;
    run->fork = true;
    good = mul_mat(run, a);
    run->fork = false;
    if (!run->launching)
        return good && mul_mat(run, b);
    if (!good || !gpu_check(kpk_stream_wait(run->inst, run->side, run->forked),
                            "a product"))
        return false;
    run->stream = run->side;
    good = mul_mat(run, b);
    run->stream = stream;
    /* also without all of b's launches: the caller makes both again */
    joined =
        gpu_check(kpk_event_record(run->inst, run->joined, run->side),
                  "a product") &&
        gpu_check(kpk_stream_wait(run->inst, stream, run->joined), "a product");
    return good && joined;
}

/* ---- mixtures of experts ---- */

/*
 * With an average of up to MOST_ROWS_APART rows per matrix, the matrix is read
 * once for each row. More rows share a matrix in tiles of TILE_ROWS; the grid
 * has SIDE_BY_SIDE times the average number of tiles per matrix.
 */
enum { MOST_ROWS_APART = 2, TILE_ROWS = 64, SIDE_BY_SIDE = 2 };

/* A product of each token with the matrices that ids choose for it. */
struct experts {
    int32_t columns, rows, n; /* columns and rows of each of n matrices */
    int32_t used, tokens;     /* used: matrices per token */
    int32_t inputs;           /* columns of a token: `used`, or 1 for all */
    int32_t results;          /* rows of the result */
};

static bool experts_of(const struct ggml_tensor *t, struct experts *e)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];

    *e = (struct experts){.columns = (int32_t)m->ne[0],
                          .rows = (int32_t)m->ne[1],
                          .n = (int32_t)m->ne[2],
                          .used = (int32_t)t->ne[1],
                          .tokens = (int32_t)t->ne[2],
                          .inputs = (int32_t)x->ne[1],
                          .results = (int32_t)(t->ne[1] * t->ne[2])};
    return ggml_is_contiguous(m) && ggml_is_contiguous(t) &&
           has_rows(t->src[2]) && m->ne[0] <= INT32_MAX - 512 &&
           m->ne[1] <= INT32_MAX && m->ne[2] < INT32_MAX &&
           (x->ne[1] == 1 || x->ne[1] == t->ne[1]) && t->ne[2] <= UINT16_MAX &&
           t->ne[1] <= UINT16_MAX;
}

/* Names of module moe are in small letters, as q4_k; those of module quantized
 * for experts lack the underscore before the k, too. */
static struct kernel_name expert_name(const char *before, enum ggml_type type,
                                      const char *after, bool joined)
{
    struct kernel_name name = {""};
    char suffix[sizeof(name.text)] = "";
    size_t n = 0;

    for (const char *c = type_name(type); *c && n + 1 < sizeof(suffix); c++)
        if (*c != '_' || c[1] != 'K' || !joined)
            suffix[n++] = *c == 'K' ? 'k' : *c;
    (void)snprintf(name.text, sizeof(name.text), "%s_%s%s", before, suffix,
                   after);
    return name;
}

/* The columns as Q8_1: in memory for several nodes, if they lie without gaps.
 */
static bool columns_as_blocks(struct run *run, const struct ggml_tensor *x,
                              const struct experts *e, const void **blocks)
{
    const int32_t in_columns = blocks_columns(e->columns);
    const uint64_t n = (uint64_t)e->inputs * (uint64_t)e->tokens;
    const bool as_it_is = is_f32(x) && ggml_is_contiguous(x);
    const size_t nbytes = blocks_nbytes(e->columns, (int64_t)n);
    struct ggml_tensor columns = *x;
    bool made = false;

    if (nbytes > INT32_MAX || /* offsets in tiles */
        (!as_it_is && !converted(run, x, GGML_TYPE_F32, &columns)))
        return false;
    *blocks = as_it_is ? shared(run, x, nbytes, &made) : scratch(run, nbytes);
    return made ||
           launch(run, "quantize_q8_1_quants", (uint64_t)in_columns, n,
                  KPK_ARGS(columns.data, *blocks, e->columns, in_columns));
}

/* Each row of the result reads its matrix. */
static bool rows_apart(struct run *run, const struct ggml_tensor *t,
                       const struct experts *e)
{
    const struct ggml_tensor *m = t->src[0];
    const int32_t in_columns = blocks_columns(e->columns);
    struct ggml_tensor ids = *t->src[2];
    const void *blocks;

    return columns_as_blocks(run, t->src[1], e, &blocks) &&
           (ggml_is_contiguous(&ids) ||
            converted(run, t->src[2], GGML_TYPE_I32, &ids)) &&
           launch_planes(
               run,
               expert_name("indexed_moe_forward", m->type, "_q8_1", true).text,
               (uint64_t)e->rows, (uint64_t)e->tokens, (uint32_t)e->used,
               KPK_ARGS(m->data, blocks, ids.data, t->data, e->rows, e->columns,
                        e->tokens, e->used, in_columns, e->inputs));
}

/* Rows of the result are sorted by their matrices, and share them. */
static bool rows_sorted(struct run *run, const struct ggml_tensor *t,
                        const struct experts *e)
{
    const struct ggml_tensor *m = t->src[0], *ids = t->src[2];
    const int64_t stride = (int64_t)(ids->nb[1] / sizeof(int32_t));
    const int32_t shared = e->used / e->inputs; /* rows with one input */
    const int32_t in_columns = blocks_columns(e->columns);
    const uint32_t tiles =
        (uint32_t)(e->results / (e->n * TILE_ROWS) + 1) * SIDE_BY_SIDE;
    const bool quantized = ggml_is_quantized(m->type);
    const void *weights = NULL, *blocks = NULL;
    const size_t of_rows = whole(sizeof(int32_t) * (size_t)e->results);
    struct ggml_tensor columns = *t->src[1];
    void *sorted;
    const void *first;
    bool made;

    if (quantized ? !columns_as_blocks(run, t->src[1], e, &blocks)
                  : !converted(run, t->src[1], m->type, &columns))
        return false;
    sorted = sorted_rows(run, ids,
                         of_rows + sizeof(int32_t) * ((size_t)e->n + 1), &made);
    first = past(sorted, of_rows);
    if (!made && !launch(run, "moe_sort_ids", 0, 0,
                         KPK_ARGS(ids->data, stride, sorted, first, e->used,
                                  e->results, e->n)))
        return false;
    if (quantized)
        return launch_planes(
            run, expert_name("moe_mul_mat", m->type, "", false).text,
            (uint64_t)e->n, (uint64_t)e->rows, tiles,
            KPK_ARGS(m->data, blocks, sorted, first, t->data, e->n, shared,
                     e->results, e->rows, e->columns, in_columns));
    return launch(run, expert_name("moe_gemm", m->type, "_f32", false).text,
                  (uint64_t)e->n, (uint64_t)e->rows,
                  KPK_ARGS(columns.data, m->data, sorted, first, weights,
                           t->data, e->n, shared, e->results, e->rows,
                           e->columns));
}

static bool mul_mat_experts(struct run *run, const struct ggml_tensor *t)
{
    const enum ggml_type type = t->src[0]->type;
    struct experts e;

    if (!type_name(type) || !experts_of(t, &e) || !may_round_to(t, type))
        return false;
    return ggml_is_quantized(type) &&
                   e.results <= MOST_ROWS_APART * (int64_t)e.n
               ? rows_apart(run, t, &e)
               : rows_sorted(run, t, &e);
}

bool mul_mat_id_reads_blocks(const struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    struct run ask = {.inst = run->inst};

    return ggml_is_quantized(m->type) && is_f32(x) && ggml_is_contiguous(x) &&
           t->src[2]->type == GGML_TYPE_I32 && mul_mat_experts(&ask, t);
}

bool mul_mat_id(struct run *run, const struct ggml_tensor *t)
{
    if (t->src[2]->type != GGML_TYPE_I32)
        return false;
    run->large = false;
    if (mul_mat_experts(run, t))
        return true;
    run->scratch_used = 0;
    if (run->shared_uses == 0) /* no blocks were made of x */
        run->shared_of = NULL;
    return mul_mat_any(run, t, t->src[2]);
}
