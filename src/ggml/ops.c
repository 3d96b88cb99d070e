/*
 * ops.c - operations of ggml as launches of the pack's kernels
 *
 * TABLE has a row for each operation. Its function looks at types, shapes and
 * strides and ends in launches. They are made if run->launching; else the
 * function only says whether it would make them.
 */
#include "ops.h"

#include <kpack/candle.h>
#include <kpack/candle/gemm_plan.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

const kpk_module *const ops_modules[] = {
    &kpk_module_affine,    &kpk_module_attention, &kpk_module_binary,
    &kpk_module_cast,      &kpk_module_fused,     &kpk_module_gemm,
    &kpk_module_quantized, &kpk_module_reduce,    &kpk_module_sort,
    &kpk_module_unary,
};
const size_t ops_nmodules = sizeof(ops_modules) / sizeof(ops_modules[0]);

/* Launches that one node may take; more of them are slower than the CPU. */
enum { MOST_LAUNCHES = 256 };

/* ---- launching ---- */

/* At the recommended shape for n and columns (kpk_kernel_shape()). */
static bool launch(const struct run *run, const char *name, uint64_t n,
                   uint64_t columns, const kpk_arg *args, size_t nargs)
{
    const kpk_kernel *kernel;
    kpk_shape shape;

    if (kpk_kernel_get(run->inst, name, &kernel) != KPK_OK ||
        kpk_kernel_shape(kernel, n, columns, &shape) != KPK_OK)
        return run->launching && gpu_check(KPK_ERR_NO_KERNEL, name);
    return !run->launching ||
           gpu_check(kpk_launch(kernel, &shape, run->stream, args, nargs),
                     name);
}

static bool copy(const struct run *run, void *to, const void *from,
                 size_t nbytes)
{
    return !run->launching || to == from ||
           gpu_check(kpk_copy_async(run->inst, to, from, nbytes, run->stream),
                     "a copy");
}

/* Memory for this node: the same for each call. NULL without launching. */
static void *scratch(struct run *run, size_t nbytes)
{
    if (!run->launching && nbytes > run->scratch_nbytes)
        run->scratch_nbytes = nbytes;
    return run->scratch;
}

/* ---- types and shapes ---- */

/* The pack's name of a type; NULL if it has none. */
static const char *type_name(enum ggml_type type)
{
    switch (type) {
    case GGML_TYPE_F32:
        return "f32";
    case GGML_TYPE_F16:
        return "f16";
    case GGML_TYPE_BF16:
        return "bf16";
    case GGML_TYPE_I32:
        return "i32";
    case GGML_TYPE_Q4_0:
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q5_0:
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q8_0:
    case GGML_TYPE_Q2_K:
    case GGML_TYPE_Q3_K:
    case GGML_TYPE_Q4_K:
    case GGML_TYPE_Q5_K:
    case GGML_TYPE_Q6_K:
    case GGML_TYPE_IQ4_NL:
    case GGML_TYPE_IQ4_XS:
    case GGML_TYPE_MXFP4:
        return ggml_type_name(type); /* GGUF's names are the pack's */
    default:
        return NULL;
    }
}

static bool is_float(const struct ggml_tensor *t)
{
    return t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_F16;
}

static bool is_f32(const struct ggml_tensor *t)
{
    return t->type == GGML_TYPE_F32;
}

static bool same_type(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    return a->type == b->type;
}

/* Rows and columns of a matrix are contiguous; matrices may lie anywhere. */
static bool is_matrix(const struct ggml_tensor *t)
{
    return t->nb[0] == ggml_type_size(t->type) &&
           t->nb[1] == ggml_row_size(t->type, t->ne[0]);
}

static const char *at(const struct ggml_tensor *t, int64_t i2, int64_t i3)
{
    return t->data ? (const char *)t->data + (size_t)i2 * t->nb[2] +
                         (size_t)i3 * t->nb[3]
                   : NULL;
}

static float param_f32(const struct ggml_tensor *t, size_t i)
{
    float value;

    memcpy(&value, &t->op_params[i], sizeof(value));
    return value;
}

/* NAME_TYPE, "" if the pack has no such type. */
struct kernel_name {
    char text[64];
};
static struct kernel_name named(const char *before, enum ggml_type type)
{
    struct kernel_name name = {""};
    const char *suffix = type_name(type);

    if (suffix)
        (void)snprintf(name.text, sizeof(name.text), "%s_%s", before, suffix);
    return name;
}

/* ---- elementwise, contiguous ---- */

static bool map(struct run *run, const struct ggml_tensor *t,
                const char *kernel)
{
    const struct ggml_tensor *x = t->src[0];
    const size_t n = (size_t)ggml_nelements(t), rank = 1, *info = NULL;

    return kernel && is_float(t) && same_type(t, x) && ggml_is_contiguous(t) &&
           ggml_is_contiguous(x) &&
           launch(run, named(kernel, t->type).text, n, 0,
                  KPK_ARGS(n, rank, info, x->data, t->data));
}

static bool sqr(struct run *run, const struct ggml_tensor *t)
{
    return map(run, t, "usqr");
}
static bool sqrt_of(struct run *run, const struct ggml_tensor *t)
{
    return map(run, t, "usqrt");
}
static bool log_of(struct run *run, const struct ggml_tensor *t)
{
    return map(run, t, "ulog");
}
static bool sin_of(struct run *run, const struct ggml_tensor *t)
{
    return map(run, t, "usin");
}
static bool cos_of(struct run *run, const struct ggml_tensor *t)
{
    return map(run, t, "ucos");
}

static bool unary(struct run *run, const struct ggml_tensor *t)
{
    static const char *const kernels[GGML_UNARY_OP_COUNT] = {
        [GGML_UNARY_OP_ABS] = "uabs",
        [GGML_UNARY_OP_SGN] = "usign",
        [GGML_UNARY_OP_NEG] = "uneg",
        [GGML_UNARY_OP_TANH] = "utanh",
        [GGML_UNARY_OP_RELU] = "urelu",
        [GGML_UNARY_OP_SIGMOID] = "usigmoid",
        [GGML_UNARY_OP_GELU] = "ugelu",
        [GGML_UNARY_OP_SILU] = "usilu",
        [GGML_UNARY_OP_EXP] = "uexp",
        [GGML_UNARY_OP_GELU_ERF] = "ugelu_erf",
        [GGML_UNARY_OP_FLOOR] = "ufloor",
        [GGML_UNARY_OP_CEIL] = "uceil",
        [GGML_UNARY_OP_ROUND] = "uround",
    };

    return map(run, t, kernels[ggml_get_unary_op(t)]);
}

static bool scale(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0];
    const size_t n = (size_t)ggml_nelements(t), rank = 1, *info = NULL;
    const float factor = param_f32(t, 0), more = param_f32(t, 1);

    return is_f32(t) && is_f32(x) && ggml_is_contiguous(t) &&
           ggml_is_contiguous(x) &&
           launch(run, "affine_f32", n, 0,
                  KPK_ARGS(n, rank, info, x->data, t->data, factor, more));
}

static bool combine(struct run *run, const struct ggml_tensor *t,
                    const char *kernel)
{
    const struct ggml_tensor *a = t->src[0], *b = t->src[1];
    const size_t n = (size_t)ggml_nelements(t), rank = 1, *info = NULL;

    return is_float(t) && same_type(t, a) && same_type(t, b) &&
           ggml_are_same_shape(a, b) && ggml_is_contiguous(t) &&
           ggml_is_contiguous(a) && ggml_is_contiguous(b) &&
           launch(run, named(kernel, t->type).text, n, 0,
                  KPK_ARGS(n, rank, info, a->data, b->data, t->data));
}

static bool add(struct run *run, const struct ggml_tensor *t)
{
    return combine(run, t, "badd");
}
static bool sub(struct run *run, const struct ggml_tensor *t)
{
    return combine(run, t, "bsub");
}
static bool mul(struct run *run, const struct ggml_tensor *t)
{
    return combine(run, t, "bmul");
}
static bool divide(struct run *run, const struct ggml_tensor *t)
{
    return combine(run, t, "bdiv");
}

static bool glu(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *gate = t->src[0], *up = t->src[1];
    const enum ggml_glu_op op = ggml_get_glu_op(t);
    const char *kernel = op == GGML_GLU_OP_SWIGLU  ? "silu_mul"
                         : op == GGML_GLU_OP_GEGLU ? "gelu_mul"
                                                   : NULL;
    const uint64_t n = (uint64_t)ggml_nelements(t);

    return kernel && up && is_float(t) && same_type(t, gate) &&
           same_type(t, up) && ggml_is_contiguous(t) &&
           ggml_is_contiguous(gate) && ggml_is_contiguous(up) &&
           launch(run, named(kernel, t->type).text, n, 0,
                  KPK_ARGS(n, gate->data, up->data, t->data));
}

/* CPY has its target as src[1], and its output is a view of it. */
static bool copy_of(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0];
    const size_t n = (size_t)ggml_nelements(t), rank = 1, *info = NULL;
    const bool numbers = !ggml_is_quantized(t->type) &&
                         !ggml_is_quantized(x->type) && type_name(x->type);

    if (!ggml_is_contiguous(t) || !ggml_is_contiguous(x))
        return false;
    if (same_type(t, x))
        return copy(run, t->data, x->data, ggml_nbytes(t));
    return numbers &&
           launch(run, named(named("cast", x->type).text, t->type).text, n, 0,
                  KPK_ARGS(n, rank, info, x->data, t->data));
}

/* ---- rows ---- */

static bool norm(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0];
    const void *none = NULL;
    const int32_t n = (int32_t)t->ne[0], block = 0; /* the launch tells */
    const float eps = param_f32(t, 0);

    return is_f32(t) && is_f32(x) && ggml_is_contiguous(x) &&
           t->ne[0] <= INT32_MAX &&
           launch(run, "layernorm_f32", (uint64_t)ggml_nrows(t), (uint64_t)n,
                  KPK_ARGS(x->data, t->data, none, none, n, block, eps));
}

static bool rms_norm(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0];
    const void *none = NULL;
    const int32_t n = (int32_t)t->ne[0], block = 0; /* the launch tells */
    const float eps = param_f32(t, 0);

    return is_f32(t) && is_f32(x) && ggml_is_contiguous(x) &&
           t->ne[0] <= INT32_MAX &&
           launch(run, "rmsnorm_f32", (uint64_t)ggml_nrows(t), (uint64_t)n,
                  KPK_ARGS(x->data, t->data, none, n, block, eps));
}

/* A mask of f32 that all sequences and heads share. */
static bool soft_max(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0], *mask = t->src[1];
    const void *mask_data = mask ? mask->data : NULL;
    const int32_t n = (int32_t)t->ne[0];
    const int32_t rows = mask ? (int32_t)x->ne[1] : 1;
    const float factor = param_f32(t, 0), max_bias = param_f32(t, 1);

    return is_f32(t) && is_f32(x) && ggml_is_contiguous(x) && !t->src[2] &&
           max_bias == 0 && t->ne[0] <= INT32_MAX &&
           (!mask || (is_f32(mask) && is_matrix(mask) && mask->ne[2] == 1 &&
                      mask->ne[3] == 1)) &&
           launch(run, "softmax_masked_f32", (uint64_t)ggml_nrows(t),
                  (uint64_t)n,
                  KPK_ARGS(x->data, mask_data, t->data, n, rows, factor));
}

static bool argsort(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0];
    const int32_t n = (int32_t)x->ne[0];
    int32_t power = 1;

    if (!is_f32(x) || !ggml_is_contiguous(x) || x->ne[0] > INT32_MAX / 2)
        return false;
    while (power < n)
        power *= 2;
    return launch(run,
                  t->op_params[0] == GGML_SORT_ORDER_ASC ? "asort_asc_f32"
                                                         : "asort_desc_f32",
                  (uint64_t)ggml_nrows(x), (uint64_t)n,
                  KPK_ARGS(x->data, t->data, n, power));
}

static bool get_rows(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *ids = t->src[1];
    const int64_t columns = m->ne[0];
    const size_t row_nbytes = m->nb[1];

    /* rows of numbers have no stride there */
    if (ids->type != GGML_TYPE_I32 || m->type == GGML_TYPE_I32 ||
        (!ggml_is_quantized(m->type) && !is_matrix(m)) || !is_f32(t) ||
        m->nb[0] != ggml_type_size(m->type) || ids->nb[0] != sizeof(int32_t) ||
        !ggml_is_contiguous(t) || m->ne[2] * m->ne[3] > MOST_LAUNCHES)
        return false;
    for (int64_t i3 = 0; i3 < m->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < m->ne[2]; i2++) {
            const char *from = at(m, i2, i3), *to = at(t, i2, i3);
            const char *which = ids->data ? (const char *)ids->data +
                                                (size_t)i2 * ids->nb[1] +
                                                (size_t)i3 * ids->nb[2]
                                          : NULL;

            if (!launch(run, named("get_rows", m->type).text,
                        (uint64_t)ids->ne[0], (uint64_t)columns,
                        KPK_ARGS(from, which, to, columns, row_nbytes)))
                return false;
        }
    return true;
}

/* The node is a view of the cache that it writes to. */
static bool set_rows(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0], *ids = t->src[1];
    const uint64_t n = (uint64_t)x->ne[1], rows = (uint64_t)t->ne[1];
    const uint32_t heads = 1, columns = (uint32_t)x->ne[0];
    const int64_t block = ggml_blck_size(t->type);
    const int64_t src_row = (int64_t)(x->nb[1] / sizeof(float));
    const int64_t row = (int64_t)(t->nb[1] / ggml_type_size(t->type)) * block;
    const int64_t none = 0;
    const char *kernel = t->type == GGML_TYPE_F16    ? "set_rows_f16_f32"
                         : t->type == GGML_TYPE_BF16 ? "set_rows_bf16_f32"
                         : t->type == GGML_TYPE_Q8_0 ? "set_rows_q8_0_f32"
                         : t->type == GGML_TYPE_Q4_0 ? "set_rows_q4_0_f32"
                                                     : NULL;

    if (!kernel || !is_f32(x) || x->nb[0] != sizeof(float) ||
        ids->type != GGML_TYPE_I64 || ids->nb[0] != sizeof(int64_t) ||
        t->nb[0] != ggml_type_size(t->type) ||
        x->ne[2] * x->ne[3] > MOST_LAUNCHES || x->ne[0] > INT32_MAX)
        return false;
    for (int64_t i3 = 0; i3 < x->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < x->ne[2]; i2++) {
            const char *from = at(x, i2, i3), *to = at(t, i2, i3);
            const char *which =
                ids->data ? (const char *)ids->data +
                                (size_t)(i2 % ids->ne[1]) * ids->nb[1] +
                                (size_t)(i3 % ids->ne[2]) * ids->nb[2]
                          : NULL;

            if (!launch(run, kernel, n * columns, 0,
                        KPK_ARGS(from, which, to, n, rows, heads, columns,
                                 src_row, none, row, none)))
                return false;
        }
    return true;
}

/*
 * Modes 0 and 2: pairs of neighbours, or of halves. YaRN's ramp is between the
 * dimensions that turn beta_fast and beta_slow times in n_ctx_orig positions.
 */
static bool rope(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *x = t->src[0], *positions = t->src[1];
    const void *factors = t->src[2] ? t->src[2]->data : NULL;
    const int32_t n_dims = t->op_params[1], mode = t->op_params[2];
    const int32_t n_ctx_orig = t->op_params[4];
    const float base = param_f32(t, 5), freq = param_f32(t, 6);
    const float ext = param_f32(t, 7), attn = param_f32(t, 8);
    const uint32_t tokens = (uint32_t)x->ne[2], heads = (uint32_t)x->ne[1];
    const uint32_t d = (uint32_t)x->ne[0], dims = (uint32_t)n_dims;
    const uint32_t flags = mode == GGML_ROPE_TYPE_NEOX;
    float corr[2];

    if (!is_float(t) || !same_type(t, x) || !ggml_is_contiguous(x) ||
        x->ne[3] != 1 || t->op_params[15] != 0 ||
        (mode != GGML_ROPE_TYPE_NORMAL && mode != GGML_ROPE_TYPE_NEOX) ||
        n_dims <= 0 || n_dims > x->ne[0] || n_dims % 2 != 0)
        return false;
    for (size_t i = 0; i < 2; i++)
        corr[i] = (float)n_dims *
                  logf((float)n_ctx_orig /
                       (param_f32(t, 9 + i) * 2 * 3.14159265358979f)) /
                  (2 * logf(base));
    corr[0] = fmaxf(0, floorf(corr[0]));
    corr[1] = fminf((float)n_dims - 1, ceilf(corr[1]));
    return launch(run, named("rope_pos", t->type).text,
                  (uint64_t)tokens * heads * (d / 2), 0,
                  KPK_ARGS(x->data, positions->data, factors, t->data, tokens,
                           heads, d, dims, base, freq, ext, attn, corr[0],
                           corr[1], flags));
}

/* ---- products ---- */

/* A product of one matrix; columns are f32, or Q8_1 made of them. */
struct product {
    enum ggml_type type;
    const void *matrix, *in;
    void *out;
    int32_t columns, rows, n;
};

/* Products read rows of a multiple of 512 elements. */
static int32_t padded(int32_t columns)
{
    return (columns + 511) / 512 * 512;
}

static bool product(struct run *run, const struct product *p)
{
    enum { MOST_COLUMNS = 8 };
    const bool blocks = ggml_is_quantized(p->type);
    const char *type = type_name(p->type);
    const int32_t in_columns = blocks ? padded(p->columns) : p->columns;
    const void *in = p->in;
    char name[64];

    if (blocks) {
        in = scratch(run, (size_t)in_columns / 32 * 36 * (size_t)p->n);
        if (!launch(run, "quantize_q8_1_quants", (uint64_t)in_columns,
                    (uint64_t)p->n,
                    KPK_ARGS(p->in, in, p->columns, in_columns)))
            return false;
    }
    if (p->n > MOST_COLUMNS)
        return launch(run, named("mul_mat", p->type).text, (uint64_t)p->rows,
                      (uint64_t)p->n,
                      KPK_ARGS(p->matrix, in, p->out, p->columns, p->rows, p->n,
                               in_columns, p->rows));
    (void)snprintf(name, sizeof(name), "mul_mat_vec_%s_%s_cuda%d", type,
                   blocks ? "q8_1" : "f32", p->n);
    return launch(run, name, (uint64_t)p->rows, 0,
                  KPK_ARGS(p->matrix, in, p->out, p->columns, p->rows,
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

    if (!lda || !ldb || !is_f32(x) ||
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

static bool mul_mat(struct run *run, const struct ggml_tensor *t)
{
    const struct ggml_tensor *m = t->src[0], *x = t->src[1];
    const int64_t share2 = x->ne[2] / m->ne[2], share3 = x->ne[3] / m->ne[3];

    if (is_f32(m))
        return mul_mat_f32(run, t);
    if (!type_name(m->type) || m->type == GGML_TYPE_I32 || !is_f32(x) ||
        !is_matrix(m) || !is_matrix(x) || x->ne[2] * x->ne[3] > MOST_LAUNCHES ||
        m->ne[0] > INT32_MAX - 512 || m->ne[1] > INT32_MAX ||
        x->ne[1] > UINT16_MAX)
        return false;
    for (int64_t i3 = 0; i3 < x->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < x->ne[2]; i2++) {
            const struct product p = {.type = m->type,
                                      .matrix = at(m, i2 / share2, i3 / share3),
                                      .in = at(x, i2, i3),
                                      .out = (void *)at(t, i2, i3),
                                      .columns = (int32_t)m->ne[0],
                                      .rows = (int32_t)m->ne[1],
                                      .n = (int32_t)x->ne[1]};

            if (!product(run, &p))
                return false;
        }
    return true;
}

/* ---- the table ---- */

/* clang-format off */
#define TABLE(X)                    \
    X(GGML_OP_ADD,      add)        \
    X(GGML_OP_SUB,      sub)        \
    X(GGML_OP_MUL,      mul)        \
    X(GGML_OP_DIV,      divide)     \
    X(GGML_OP_SQR,      sqr)        \
    X(GGML_OP_SQRT,     sqrt_of)    \
    X(GGML_OP_LOG,      log_of)     \
    X(GGML_OP_SIN,      sin_of)     \
    X(GGML_OP_COS,      cos_of)     \
    X(GGML_OP_UNARY,    unary)      \
    X(GGML_OP_GLU,      glu)        \
    X(GGML_OP_SCALE,    scale)      \
    X(GGML_OP_CPY,      copy_of)    \
    X(GGML_OP_DUP,      copy_of)    \
    X(GGML_OP_CONT,     copy_of)    \
    X(GGML_OP_NORM,     norm)       \
    X(GGML_OP_RMS_NORM, rms_norm)   \
    X(GGML_OP_SOFT_MAX, soft_max)   \
    X(GGML_OP_ROPE,     rope)       \
    X(GGML_OP_ARGSORT,  argsort)    \
    X(GGML_OP_GET_ROWS, get_rows)   \
    X(GGML_OP_SET_ROWS, set_rows)   \
    X(GGML_OP_MUL_MAT,  mul_mat)
/* clang-format on */

typedef bool serve(struct run *run, const struct ggml_tensor *node);

static serve *const table[GGML_OP_COUNT] = {
#define X(op, function) [op] = function,
    TABLE(X)
#undef X
};

bool ops_is_nothing(const struct ggml_tensor *node)
{
    return node->op == GGML_OP_NONE || node->op == GGML_OP_RESHAPE ||
           node->op == GGML_OP_VIEW || node->op == GGML_OP_PERMUTE ||
           node->op == GGML_OP_TRANSPOSE || ggml_is_empty(node);
}

bool ops_node(struct run *run, const struct ggml_tensor *node)
{
    return node->op < GGML_OP_COUNT && table[node->op] &&
           table[node->op](run, node);
}
