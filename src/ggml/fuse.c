/*
 * fuse.c - computes several nodes of a graph by one launch
 *
 * TABLE has a row for each sequence of nodes that a kernel serves. Results
 * equal those of separate launches: the same sums in the same order.
 */
#include "fuse.h"

#include "attention.h"
#include "nodes.h"
#include "products.h"

#include <stdio.h>

enum { MOST_NODES = 5 };

/* The nodes of a graph that match a row of TABLE. */
struct sequence {
    const struct ggml_cgraph *graph;
    int first, n;
    const struct ggml_tensor *nodes[MOST_NODES];
};
typedef bool serve(struct run *run, const struct sequence *s);

/* ---- tensors ---- */

static bool is_plain(const struct ggml_tensor *t)
{
    return is_f32(t) && ggml_is_contiguous(t);
}

/* A kernel reads a row before it writes the row: the two may be one tensor's
 * memory, and no other part of it. */
static bool may_write(const struct ggml_tensor *out,
                      const struct ggml_tensor *in)
{
    return !overlap_of(out, in) || out->data == in->data;
}

/* The operand of a node that is not `one`. */
static const struct ggml_tensor *other(const struct ggml_tensor *node,
                                       const struct ggml_tensor *one)
{
    return node->src[0] == one ? node->src[1] : node->src[0];
}

/* Whether t has the columns of rows alone. */
static bool is_row_of(const struct ggml_tensor *t,
                      const struct ggml_tensor *rows)
{
    return is_plain(t) && t->ne[0] == rows->ne[0] && ggml_nrows(t) == 1;
}

/* The products that read node i as Q8_1; 0 if anything else reads it. A view of
 * a node that nothing else reads may be given. */
static int32_t uses_as_blocks(const struct run *run,
                              const struct ggml_cgraph *graph, int i)
{
    const struct ggml_tensor *node = graph->nodes[i];
    const int32_t uses = ggml_node_get_use_count(graph, i);
    int32_t found = 0;

    if (node->flags & GGML_TENSOR_FLAG_OUTPUT ||
        (node->view_src && node->op != GGML_OP_RESHAPE))
        return 0;
    for (int j = i + 1; j < graph->n_nodes && found < uses; j++) {
        const struct ggml_tensor *t = graph->nodes[j];

        found +=
            t->src[1] == node && t->src[0] != node &&
            (t->flags & GGML_TENSOR_FLAG_COMPUTE) &&
            (t->op == GGML_OP_MUL_MAT      ? mul_mat_reads_blocks(t)
             : t->op == GGML_OP_MUL_MAT_ID ? mul_mat_id_reads_blocks(run, t)
                                           : false);
    }
    return found == uses ? uses : 0;
}

/* Prepares memory for node i's result as Q8_1, if no node needs other types. */
static bool make_blocks(struct run *run, const struct ggml_cgraph *graph, int i)
{
    const struct ggml_tensor *node = graph->nodes[i];
    const int32_t uses = uses_as_blocks(run, graph, i);

    return uses > 0 &&
           shared_make(run, node, blocks_nbytes(node->ne[0], ggml_nrows(node)),
                       uses);
}

/* ---- norms ---- */

bool fuse_norm(struct run *run, const struct ggml_tensor *x,
               const struct ggml_tensor *residual,
               const struct ggml_tensor *weights, const struct ggml_tensor *sum,
               const struct ggml_tensor *out, float eps)
{
    const void *added = residual ? residual->data : NULL;
    const void *alpha = weights ? weights->data : NULL;
    void *total = sum ? sum->data : NULL;
    const int32_t n = (int32_t)x->ne[0], unused = 0;

    run->waits = weights && !is_constant(weights);
    return x->ne[0] <= INT32_MAX &&
           launch(run, "rmsnorm_add_f32", (uint64_t)ggml_nrows(x),
                  (uint64_t)x->ne[0],
                  KPK_ARGS(x->data, added, out->data, total, alpha, n, unused,
                           eps));
}

/* The same to Q8_1. */
static bool norm_to_blocks(struct run *run, const struct ggml_tensor *x,
                           const struct ggml_tensor *residual,
                           const struct ggml_tensor *weights,
                           const struct ggml_tensor *sum, float eps)
{
    const void *added = residual ? residual->data : NULL;
    void *total = sum ? sum->data : NULL;
    void *blocks = run->shared;
    const int32_t n = (int32_t)x->ne[0], padded = blocks_columns(n);

    run->waits = !is_constant(weights);
    return launch(
        run, "add_rmsnorm_quantize_q8_1_quants_f32", (uint64_t)ggml_nrows(x),
        (uint64_t)x->ne[0],
        KPK_ARGS(x->data, added, total, weights->data, blocks, n, padded, eps));
}

/* Serves RMS_NORM and MUL, with or without an ADD before them. The ADD's sum is
 * stored if another node reads it. */
static bool norm_mul(struct run *run, const struct sequence *s)
{
    const struct ggml_tensor *add = s->n == 3 ? s->nodes[0] : NULL;
    const struct ggml_tensor *norm = s->nodes[s->n - 2];
    const struct ggml_tensor *out = s->nodes[s->n - 1];
    const struct ggml_tensor *x = add ? add->src[0] : norm->src[0];
    const struct ggml_tensor *residual = add ? add->src[1] : NULL;
    const struct ggml_tensor *sum =
        add && !ggml_node_has_n_uses(s->graph, s->first, 1) ? add : NULL;
    const struct ggml_tensor *weights = other(out, norm);
    const float eps = param_f32(norm, 0);

    if (!is_plain(x) || !is_plain(out) || !is_row_of(weights, out) ||
        !ggml_are_same_shape(norm, out) || x->ne[0] > INT32_MAX - 512 ||
        (residual && (!is_plain(residual) || !is_plain(add) ||
                      !ggml_are_same_shape(x, residual))) ||
        !may_write(sum, x) || !may_write(sum, residual) ||
        overlap_of(sum, weights))
        return false;
    if (make_blocks(run, s->graph, s->first + s->n - 1))
        return norm_to_blocks(run, x, residual, weights, sum, eps);
    return may_write(out, x) && may_write(out, residual) &&
           !overlap_of(out, weights) && !overlap_of(out, sum) &&
           fuse_norm(run, x, residual, weights, sum, out, eps);
}

/* A norm with weights, behind a sum with another one. There is a kernel for
 * Q8_1 alone. */
static bool norm_add_norm(struct run *run, const struct sequence *s)
{
    const struct ggml_tensor *first = s->nodes[0], *inner = s->nodes[1];
    const struct ggml_tensor *sum = s->nodes[2];
    const struct ggml_tensor *second = s->nodes[3], *out = s->nodes[4];
    const struct ggml_tensor *x = first->src[0], *residual = other(sum, inner);
    const struct ggml_tensor *inner_weights = other(inner, first);
    const struct ggml_tensor *weights = other(out, second);
    const float eps = param_f32(first, 0);
    const int32_t n = (int32_t)out->ne[0], padded = blocks_columns(n);
    void *blocks = run->shared;

    run->waits = !is_constant(inner_weights) || !is_constant(weights);
    return eps == param_f32(second, 0) && is_plain(x) && is_plain(residual) &&
           is_plain(sum) && is_plain(out) && out->ne[0] <= INT32_MAX - 512 &&
           ggml_are_same_shape(x, sum) && ggml_are_same_shape(residual, sum) &&
           is_row_of(inner_weights, out) && is_row_of(weights, out) &&
           may_write(sum, x) && may_write(sum, residual) &&
           !overlap_of(sum, inner_weights) && !overlap_of(sum, weights) &&
           make_blocks(run, s->graph, s->first + 4) &&
           launch(run, "rmsnorm_add_rmsnorm_quantize_q8_1_quants_f32",
                  (uint64_t)ggml_nrows(out), (uint64_t)out->ne[0],
                  KPK_ARGS(x->data, inner_weights->data, residual->data,
                           sum->data, weights->data, blocks, n, padded, eps));
}

/* ---- gates ---- */

/* Whether a node is gate times up, of two tensors, by a kernel that makes Q8_1;
 * its name. */
static bool is_gate(const struct ggml_tensor *out, struct kernel_name *name)
{
    const enum ggml_glu_op kind = ggml_get_glu_op(out);
    const char *function = kind == GGML_GLU_OP_SWIGLU  ? "silu"
                           : kind == GGML_GLU_OP_GEGLU ? "gelu"
                                                       : NULL;

    if (function)
        (void)snprintf(name->text, sizeof(name->text),
                       "%s_mul_quantize_q8_1_quants_f32", function);
    return function && out->src[1] && is_plain(out->src[0]) &&
           is_plain(out->src[1]) && is_plain(out) &&
           out->ne[0] <= INT32_MAX - 512 && ggml_nrows(out) <= UINT32_MAX;
}

/* Gate times up to Q8_1, where both have a row every `stride` numbers. */
static bool gate_blocks(struct run *run, const struct ggml_cgraph *graph, int i,
                        const struct kernel_name *name, const void *gate,
                        const void *up, uint64_t stride)
{
    const struct ggml_tensor *out = graph->nodes[i];
    const uint32_t rows = (uint32_t)ggml_nrows(out);
    const int32_t n = (int32_t)out->ne[0], padded = blocks_columns(n);
    void *blocks = run->shared;

    return make_blocks(run, graph, i) &&
           launch(run, name->text, rows * (uint64_t)padded, (uint64_t)padded,
                  KPK_ARGS(gate, up, blocks, rows, n, padded, stride));
}

static bool gate_to_blocks(struct run *run, const struct sequence *s)
{
    const struct ggml_tensor *out = s->nodes[0];
    struct kernel_name name;

    return is_gate(out, &name) &&
           gate_blocks(run, s->graph, s->first, &name, out->src[0]->data,
                       out->src[1]->data, (uint64_t)out->ne[0]);
}

/* Whether b's matrix follows a's in memory, so that both form one matrix. */
static bool follows(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    const struct ggml_tensor *m = a->src[0], *next = b->src[0];

    return m->data && m->type == next->type && m->ne[0] == next->ne[0] &&
           (const char *)next->data ==
               (const char *)m->data + (size_t)m->ne[1] * m->nb[1];
}

int fuse_gate(struct run *run, const struct ggml_cgraph *graph, int first)
{
    const int second = node_behind(graph, first);
    const int last = node_behind(graph, second);
    const struct run before = *run;
    const struct ggml_tensor *a = graph->nodes[first], *b, *out, *gate;
    struct kernel_name name;
    const char *made;
    int64_t rows;

    if (!run->fusing || !node_is(graph, first, GGML_OP_MUL_MAT) ||
        !node_is(graph, second, GGML_OP_MUL_MAT) ||
        !node_is(graph, last, GGML_OP_GLU))
        return 0;
    b = graph->nodes[second];
    out = graph->nodes[last];
    if (!follows(a, b)) {
        b = a;
        a = graph->nodes[second];
    }
    gate = out->src[0];
    rows = a->ne[0] + b->ne[0];
    if (!is_gate(out, &name) || !follows(a, b) || a->src[1] != b->src[1] ||
        a->ne[0] != b->ne[0] || a->ne[1] >= MANY_COLUMNS || rows > INT32_MAX ||
        (gate != a && gate != b) || out->src[1] != (gate == a ? b : a) ||
        node_uses(graph, first) != 1 || node_uses(graph, second) != 1 ||
        !mul_mat_reads_blocks(a) || !mul_mat_reads_blocks(b) ||
        !is_constant(a->src[0]) || !is_constant(b->src[0]) ||
        uses_as_blocks(run, graph, last) == 0 ||
        /* the input's blocks would be in scratch memory, too */
        (run->shared_of != a->src[1] && run->shared_uses > 0))
        return 0;
    run->scratch_used = 0;
    made = scratch(run, (size_t)(rows * a->ne[1]) * sizeof(float));
    if (mul_mat_of_rows(run, a, rows, 2, (void *)made)) {
        const char *behind =
            made ? made + a->ne[0] * (int64_t)sizeof(float) : made;

        run->waits = false;
        if (gate_blocks(run, graph, last, &name, gate == a ? made : behind,
                        gate == a ? behind : made, (uint64_t)rows))
            return last - first + 1;
    }
    *run = before;
    return 0;
}

/* ---- attention ---- */

/* Converts attention's result, reshaped to a row for each token, to Q8_1. */
static bool attention_blocks(struct run *run, const struct sequence *s)
{
    const struct ggml_tensor *t = s->nodes[0], *rows = s->nodes[1];

    return is_plain(t) && rows->view_src == t && rows->data == t->data &&
           rows->ne[0] == t->ne[0] * t->ne[1] &&
           rows->ne[1] == t->ne[2] * t->ne[3] &&
           rows->ne[0] <= INT32_MAX - 512 && rows->ne[1] <= UINT32_MAX &&
           make_blocks(run, s->graph, s->first + 1) &&
           attention_to_blocks(run, t, run->shared);
}

/* ---- the table ---- */

/* clang-format off */
#define TABLE(X)                                                               \
    /* function         stored   operations */                                 \
    X(norm_add_norm,    2,       GGML_OP_RMS_NORM, GGML_OP_MUL, GGML_OP_ADD,   \
                                 GGML_OP_RMS_NORM, GGML_OP_MUL)                \
    X(norm_mul,         0,       GGML_OP_ADD, GGML_OP_RMS_NORM, GGML_OP_MUL)   \
    X(norm_mul,         NO_NODE, GGML_OP_RMS_NORM, GGML_OP_MUL)                \
    X(gate_to_blocks,   NO_NODE, GGML_OP_GLU)                                  \
    X(attention_blocks, NO_NODE, GGML_OP_FLASH_ATTN_EXT, GGML_OP_RESHAPE)
/* clang-format on */

static const struct row {
    serve *serve;
    int stored; /* an earlier node whose result is stored, too, or NO_NODE */
    enum ggml_op ops[MOST_NODES]; /* up to GGML_OP_NONE */
} rows[] = {
#define X(function, stored, ...) {function, stored, {__VA_ARGS__}},
    TABLE(X)
#undef X
};

/* Each node reads the one before it. */
static bool matches(const struct row *row, struct sequence *s)
{
    for (s->n = 0; s->n < MOST_NODES && row->ops[s->n] != GGML_OP_NONE;
         s->n++) {
        const int i = s->first + s->n;
        const struct ggml_tensor *node;

        if (i >= s->graph->n_nodes)
            return false;
        node = s->graph->nodes[i];
        if (node->op != row->ops[s->n] || ggml_is_empty(node) ||
            !(node->flags & GGML_TENSOR_FLAG_COMPUTE))
            return false;
        if (s->n > 0) {
            const struct ggml_tensor *before = s->nodes[s->n - 1];

            if ((node->src[0] == before) == (node->src[1] == before) ||
                (s->n - 1 != row->stored &&
                 !ggml_node_has_n_uses(s->graph, i - 1, 1)))
                return false;
        }
        s->nodes[s->n] = node;
    }
    return true;
}

int fuse_nodes(struct run *run, const struct ggml_cgraph *graph, int first)
{
    const struct run before = *run;
    struct sequence s = {.graph = graph, .first = first};

    for (size_t r = 0; run->fusing && r < sizeof(rows) / sizeof(rows[0]); r++) {
        if (!matches(&rows[r], &s))
            continue;
        for (int i = 0; i < s.n; i++)
            forget_made_of(run, s.nodes[i]);
        run->scratch_used = 0;
        run->waits = false;
        if (rows[r].serve(run, &s))
            return s.n;
        *run = before; /* no blocks were made */
    }
    return 0;
}

int fuse_products(struct run *run, const struct ggml_cgraph *graph, int first)
{
    const struct ggml_tensor *a = graph->nodes[first], *b;
    const int second = node_behind(graph, first);

    if (!run->fusing || !run->side || !node_is(graph, first, GGML_OP_MUL_MAT) ||
        !node_is(graph, second, GGML_OP_MUL_MAT))
        return 0;
    b = graph->nodes[second];
    if (a->src[1] != b->src[1] || a->ne[1] < MANY_COLUMNS ||
        !mul_mat_reads_blocks(a) || !mul_mat_reads_blocks(b) ||
        !is_constant(a->src[0]) || !is_constant(b->src[0]) ||
        overlap_of(a, b) || overlap_of(b, a->src[1]) ||
        (run->shared_of != a->src[1] && run->shared_uses > 0) ||
        overlap_of(a, a->src[1]))
        return 0;
    return mul_mat_two(run, a, b) ? second - first + 1 : 0;
}
