/*
 * experts.c - the nodes around a mixture of experts, as one launch each
 *
 *     SOFT_MAX ARGSORT GET_ROWS (SUM_ROWS CLAMP DIV)
 *             a token's likeliest experts, and their weights, which may be
 *             divided by their sum
 *     MUL ADD ADD ...
 *             the experts' results times their weights, added up
 *
 * Views lie between these nodes. Results are the same numbers.
 */
#include "experts.h"

#include "nodes.h"

#include <math.h>

/* A row of f32 for each token, without gaps. */
static bool is_rows(const struct ggml_tensor *t)
{
    return is_f32(t) && ggml_is_contiguous(t) && t->ne[2] * t->ne[3] == 1;
}

/* ---- the choice ---- */

/* The division of the weights by their sum, if that is what follows them; its
 * last node, or `rows`. */
static int division(const struct ggml_cgraph *graph, int rows, float *least)
{
    const struct ggml_tensor *weights = graph->nodes[rows];
    const int sum = node_behind(graph, rows);
    const int clamp = node_behind(graph, sum);
    const int div = node_behind(graph, clamp);
    const struct ggml_tensor *of;

    if (!node_is(graph, sum, GGML_OP_SUM_ROWS) ||
        !node_is(graph, clamp, GGML_OP_CLAMP) ||
        !node_is(graph, div, GGML_OP_DIV))
        return rows;
    of = graph->nodes[sum]->src[0];
    *least = param_f32(graph->nodes[clamp], 0);
    return of->view_src == weights && of->ne[0] == weights->ne[1] &&
                   of->ne[1] == weights->ne[2] &&
                   graph->nodes[clamp]->src[0] == graph->nodes[sum] &&
                   graph->nodes[div]->src[0] == of &&
                   graph->nodes[div]->src[1] == graph->nodes[clamp] &&
                   ggml_is_contiguous(graph->nodes[div]) &&
                   node_uses(graph, rows) == 1 &&
                   node_uses_of(graph, of) == 2 && node_uses(graph, sum) == 1 &&
                   node_uses(graph, clamp) == 1 &&
                   param_f32(graph->nodes[clamp], 1) == INFINITY
               ? div
               : rows;
}

static int choice(struct run *run, const struct ggml_cgraph *graph, int first)
{
    const int sort = node_behind(graph, first);
    const int rows = node_behind(graph, sort);
    const struct ggml_tensor *probs = graph->nodes[first], *of, *ids;
    kpk_ggml_tensor logits, to_ids, to_weights, made;
    float least = 0;
    uint32_t whole;
    bool apart;
    int last;

    if (!node_is(graph, first, GGML_OP_SOFT_MAX) || probs->src[1] ||
        probs->src[2] || param_f32(probs, 0) != 1 ||
        !node_is(graph, sort, GGML_OP_ARGSORT) ||
        graph->nodes[sort]->src[0] != probs ||
        graph->nodes[sort]->op_params[0] != GGML_SORT_ORDER_DESC ||
        !node_is(graph, rows, GGML_OP_GET_ROWS))
        return 0;
    of = graph->nodes[rows]->src[0];
    ids = graph->nodes[rows]->src[1];
    if (of->view_src != probs || of->ne[0] != 1 || of->ne[1] != probs->ne[0] ||
        ids->view_src != graph->nodes[sort] ||
        ids->data != graph->nodes[sort]->data || ids->ne[1] != probs->ne[1] ||
        !is_rows(probs) || !is_rows(probs->src[0]) ||
        probs->ne[0] > KPK_GGML_MOST_EXPERTS || node_uses(graph, first) != 2 ||
        node_uses(graph, sort) != 1 || node_uses_of(graph, of) != 1)
        return 0;
    last = division(graph, rows, &least);
    whole = last != rows;
    logits = view_of(probs->src[0]);
    to_ids = view_of(ids);
    to_weights = view_of(graph->nodes[rows]);
    to_weights.data = graph->nodes[last]->data;
    made = to_weights;
    /* The weights may share memory with other tokens' logits, because ggml's
     * nodes, launched one by one, do not need these any more. */
    apart = probs->ne[1] > 1 && overlap_of(graph->nodes[last], probs->src[0]);
    run->scratch_used = 0;
    if (apart)
        made.data = scratch(run, ggml_nbytes(graph->nodes[last]));
    if (overlap_of(graph->nodes[sort], probs->src[0]) ||
        overlap_of(graph->nodes[sort], graph->nodes[last]) ||
        !launch(run, "ggml_choose_experts_f32", (uint64_t)probs->ne[1],
                (uint64_t)probs->ne[0],
                KPK_ARGS(logits, to_ids, made, whole, least)))
        return 0;
    return !apart || launch(run, "ggml_copy_f32_f32", count(&made), 0,
                            KPK_ARGS(made, to_weights))
               ? last - first + 1
               : 0;
}

/* ---- the sum ---- */

/* Whether t is expert e of the product, and the sum alone reads it. */
static bool is_part(const struct ggml_cgraph *graph,
                    const struct ggml_tensor *t,
                    const struct ggml_tensor *product, int64_t e)
{
    return t->view_src == product && node_uses_of(graph, t) == 1 &&
           t->view_offs == (size_t)e * product->nb[1] &&
           t->ne[0] == product->ne[0] && t->ne[1] == product->ne[2] &&
           t->nb[0] == product->nb[0] && t->nb[1] == product->nb[2] &&
           t->ne[2] * t->ne[3] == 1;
}

static int sum(struct run *run, const struct ggml_cgraph *graph, int first)
{
    const struct ggml_tensor *product = graph->nodes[first], *out, *w;
    kpk_ggml_tensor x, weights, to;
    int64_t n;
    int last = first;

    if (!node_is(graph, first, GGML_OP_MUL) || !is_f32(product) ||
        product->ne[1] < 2 || product->ne[3] != 1 ||
        product->flags & GGML_TENSOR_FLAG_OUTPUT)
        return 0;
    w = product->src[1];
    n = product->ne[1];
    if (!is_f32(product->src[0]) || !is_f32(w) || w->ne[0] != 1 ||
        w->ne[1] != n || w->ne[2] != product->ne[2] || w->ne[3] != 1 ||
        node_uses(graph, first) != n)
        return 0;
    for (int64_t e = 1; e < n; e++) {
        const int add = node_behind(graph, last);
        const struct ggml_tensor *t;

        if (!node_is(graph, add, GGML_OP_ADD))
            return 0;
        t = graph->nodes[add];
        if (!is_part(graph, t->src[1], product, e) ||
            (e == 1 ? !is_part(graph, t->src[0], product, 0)
                    : t->src[0] != graph->nodes[last] ||
                          node_uses(graph, last) != 1))
            return 0;
        last = add;
    }
    out = graph->nodes[last];
    if (!is_rows(out) || overlap_of(out, product->src[0]) || overlap_of(out, w))
        return 0;
    x = view_of(product->src[0]);
    weights = view_of(w);
    to = view_of(out);
    return launch(run, "ggml_add_up_experts_f32", count(&to), 0,
                  KPK_ARGS(x, weights, to))
               ? last - first + 1
               : 0;
}

int experts_nodes(struct run *run, const struct ggml_cgraph *graph, int first)
{
    const enum ggml_op op = graph->nodes[first]->op;

    if (!run->fusing)
        return 0;
    run->waits = false;
    return op == GGML_OP_SOFT_MAX ? choice(run, graph, first)
           : op == GGML_OP_MUL    ? sum(run, graph, first)
                                  : 0;
}
