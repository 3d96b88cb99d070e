/*
 * heads.c - Q, K and V on their way to attention, as one launch
 *
 * In llama.cpp's graphs the rotations of Q and K, the two writes to the cache
 * and attention do not follow each other, and attention wants Q as f16. A group
 * is
 *
 *     ROPE (SCALE)    Q, which attention alone reads
 *     ROPE SET_ROWS   K, which the cache alone reads
 *     SET_ROWS        V
 *
 * and the RMS_NORM and MUL that Q and K go through before, if both do. The
 * first nodes of a group do nothing, and the last one launches
 * ggml_heads_to_cache_f32, or ggml_norm_heads_to_cache_f32. If products with
 * blocks make Q, K and V of one input, they belong to the group, too: matrices
 * that lie one behind the other in memory are then one matrix. Results are the
 * same numbers.
 */
#include "heads.h"

#include "attention.h"
#include "nodes.h"
#include "ops.h"
#include "products.h"

#include <string.h>

enum {
    MOST_DISTANCE = 48 /* nodes, from the first one to attention */
};
/* An angle costs more than a pair's two numbers, but few tokens want threads.
 */
enum { MANY_TOKENS = 32, HEADS_AT_ONCE = 8 };
/* Columns of a head that is normed. */
enum { MOST_NORMED = 256 };
enum { Q, K, V, NPARTS };

/* Numbers of nodes; NO_NODE: not in the group. */
struct found {
    int product[NPARTS], norm[NPARTS], mul[NPARTS], rope[NPARTS], scale;
    int set[NPARTS], attention;
};

static const struct ggml_tensor *root(const struct ggml_tensor *t)
{
    return t->view_src ? t->view_src : t;
}

/* Whether only node `to` reads node i, directly or through views. */
static bool only_for(const struct ggml_cgraph *graph, int i, int to)
{
    const struct ggml_tensor *t = graph->nodes[i];

    for (int j = i + 1; j <= to; j++) {
        const struct ggml_tensor *next = graph->nodes[j];

        if (next->src[0] != t)
            continue;
        if (node_uses(graph, i) != 1)
            return false;
        if (j == to)
            return true;
        if (!is_nothing(next))
            return false;
        t = next;
        i = j;
    }
    return false;
}

/* The product that only node i reads, directly or reshaped; NO_NODE if there is
 * none. */
static int product_before(const struct ggml_cgraph *graph, int first, int i)
{
    const struct ggml_tensor *made = root(graph->nodes[i]->src[0]);

    for (int j = i - 1; j >= first; j--)
        if (graph->nodes[j] == made)
            return node_is(graph, j, GGML_OP_MUL_MAT) && only_for(graph, j, i)
                       ? j
                       : NO_NODE;
    return NO_NODE;
}

/* The node of the group that reads heads first: their norm, or their rotation.
 */
static int reader(const struct found *f, int part)
{
    return f->norm[part] != NO_NODE ? f->norm[part] : f->rope[part];
}

/* The norm in front of a rotation, if node `norm` is one. */
static void find_norm(const struct ggml_cgraph *graph, int norm, int part,
                      struct found *f)
{
    const int mul = node_behind(graph, norm);

    if (!node_is(graph, norm, GGML_OP_RMS_NORM) ||
        !node_is(graph, mul, GGML_OP_MUL) ||
        node_behind(graph, mul) != f->rope[part] ||
        !only_for(graph, norm, mul) || !only_for(graph, mul, f->rope[part]))
        return;
    f->norm[part] = norm;
    f->mul[part] = mul;
}

/* The number of the node before i that is no view; NO_NODE: none. */
static int node_before(const struct ggml_cgraph *graph, int i)
{
    for (i--; i >= 0; i--)
        if (!is_nothing(graph->nodes[i]))
            return i;
    return NO_NODE;
}

/* The group that begins with node `first`: a product, a norm or a rotation of
 * Q. */
static bool find(const struct ggml_cgraph *graph, int first, struct found *f)
{
    const bool products = node_is(graph, first, GGML_OP_MUL_MAT);
    const int norm = products ? node_behind(graph, first) : first;
    const bool normed = node_is(graph, norm, GGML_OP_RMS_NORM);
    const int rope =
        normed ? node_behind(graph, node_behind(graph, norm)) : norm;
    const struct ggml_tensor *q;
    int i, scale;

    if (!node_is(graph, rope, GGML_OP_ROPE))
        return false;
    memset(f, 0xff, sizeof(*f)); /* NO_NODE */
    q = graph->nodes[rope];
    f->rope[Q] = rope;
    scale = node_behind(graph, rope);
    if (node_is(graph, scale, GGML_OP_SCALE) &&
        graph->nodes[scale]->src[0] == q)
        f->scale = scale;
    i = f->scale != NO_NODE ? f->scale : rope;
    while (f->attention == NO_NODE) {
        const struct ggml_tensor *t;

        i = node_behind(graph, i);
        if (i == NO_NODE || i > first + MOST_DISTANCE)
            return false;
        t = graph->nodes[i];
        if (!(t->flags & GGML_TENSOR_FLAG_COMPUTE))
            return false;
        switch (t->op) {
        case GGML_OP_ROPE:
            if (f->rope[K] != NO_NODE || t->src[1] != q->src[1] ||
                t->src[2] != q->src[2] ||
                memcmp(t->op_params, q->op_params, sizeof(t->op_params)) != 0)
                return false;
            f->rope[K] = i;
            break;
        case GGML_OP_SET_ROWS:
            if (f->rope[K] != NO_NODE && f->set[K] == NO_NODE &&
                root(t->src[0]) == graph->nodes[f->rope[K]])
                f->set[K] = i;
            else if (f->set[V] == NO_NODE)
                f->set[V] = i;
            else
                return false;
            break;
        case GGML_OP_FLASH_ATTN_EXT:
            f->attention = i;
            break;
        case GGML_OP_MUL_MAT:
        case GGML_OP_ADD:
        case GGML_OP_RMS_NORM:
        case GGML_OP_MUL:
            if (f->set[K] != NO_NODE || f->set[V] != NO_NODE)
                return false;
            break;
        default:
            return false;
        }
    }
    if (f->rope[K] == NO_NODE || f->set[K] == NO_NODE || f->set[V] == NO_NODE)
        return false;
    if (normed) {
        find_norm(graph, norm, Q, f);
        find_norm(graph, node_before(graph, node_before(graph, f->rope[K])), K,
                  f);
        if (f->norm[Q] == NO_NODE || f->norm[K] == NO_NODE)
            return false;
    }
    if (!products)
        return true;
    f->product[Q] = product_before(graph, first, reader(f, Q));
    f->product[K] = product_before(graph, first, reader(f, K));
    f->product[V] = product_before(graph, first, f->set[V]);
    return f->product[Q] == first;
}

/* ---- recognizing a group ---- */

/* Whether SET_ROWS stores contiguous rows of f16, one for each token. */
static bool is_cache(const struct ggml_tensor *set, int64_t columns,
                     int64_t tokens)
{
    const struct ggml_tensor *x = set->src[0], *ids = set->src[1];

    return set->type == GGML_TYPE_F16 && has_rows(set) &&
           set->ne[0] == columns && set->ne[2] * set->ne[3] == 1 && is_f32(x) &&
           has_rows(x) && x->ne[0] == columns && x->ne[1] == tokens &&
           x->ne[2] * x->ne[3] == 1 && ids->ne[0] == tokens &&
           ggml_nelements(ids) == tokens &&
           (ids->type == GGML_TYPE_I64 || ids->type == GGML_TYPE_I32);
}

/* Heads of f32 that a rotation takes, and attention or the cache then gets. */
static bool is_turned(const struct ggml_tensor *rope)
{
    const struct ggml_tensor *x = rope->src[0];

    return is_f32(rope) && is_f32(x) && has_rows(x) &&
           ggml_is_contiguous(rope) && rope->ne[3] == 1 && rope->ne[0] % 2 == 0;
}

/* The weights of a norm before node MUL; NULL if the kernel does not take the
 * norm. */
static const struct ggml_tensor *norm_weights(const struct ggml_cgraph *graph,
                                              const struct found *f, int part)
{
    const struct ggml_tensor *norm = graph->nodes[f->norm[part]];
    const struct ggml_tensor *mul = graph->nodes[f->mul[part]];
    const struct ggml_tensor *x = norm->src[0], *rope;
    const struct ggml_tensor *w = mul->src[mul->src[0] == norm];

    rope = graph->nodes[f->rope[part]];
    return is_f32(x) && has_rows(x) && is_f32(w) && is_constant(w) &&
                   ggml_nelements(w) == x->ne[0] && has_rows(w) &&
                   (mul->src[0] == norm || mul->src[1] == norm) &&
                   ggml_are_same_shape(x, mul) && rope->src[0] == mul &&
                   x->ne[0] % 4 == 0 && x->ne[0] <= MOST_NORMED &&
                   ((uintptr_t)x->data | (uintptr_t)w->data | x->nb[1] |
                    x->nb[2]) %
                           16 ==
                       0
               ? w
               : NULL;
}

static bool norms_take_part(const struct ggml_cgraph *graph,
                            const struct found *f)
{
    return f->norm[Q] == NO_NODE ||
           (norm_weights(graph, f, Q) && norm_weights(graph, f, K) &&
            param_f32(graph->nodes[f->norm[Q]], 0) ==
                param_f32(graph->nodes[f->norm[K]], 0));
}

static bool takes_part(const struct ggml_cgraph *graph, const struct found *f)
{
    const struct ggml_tensor *q = graph->nodes[f->rope[Q]];
    const struct ggml_tensor *k = graph->nodes[f->rope[K]];
    const struct ggml_tensor *to_k = graph->nodes[f->set[K]];
    const struct ggml_tensor *to_v = graph->nodes[f->set[V]];
    const struct ggml_tensor *attention = graph->nodes[f->attention];
    const struct ggml_tensor *read = attention->src[0];
    const int last = f->scale != NO_NODE ? f->scale : f->rope[Q];
    const int64_t tokens = q->ne[2];

    /* a view of a node in place is one of that node's root: attention would not
     * know Q again */
    return norms_take_part(graph, f) && !q->view_src && !k->view_src &&
           !graph->nodes[last]->view_src && is_turned(q) && is_turned(k) &&
           k->ne[0] == q->ne[0] && k->ne[2] == tokens &&
           to_k->src[0]->data == k->data &&
           is_cache(to_k, k->ne[0] * k->ne[1], tokens) &&
           is_cache(to_v, to_v->ne[0], tokens) && to_v->ne[0] % 2 == 0 &&
           to_k->src[1]->type == to_v->src[1]->type &&
           (f->scale == NO_NODE || (param_f32(graph->nodes[f->scale], 1) == 0 &&
                                    only_for(graph, f->rope[Q], f->scale))) &&
           only_for(graph, last, f->attention) &&
           only_for(graph, f->rope[K], f->set[K]) &&
           read->data == graph->nodes[last]->data &&
           read->ne[1] * read->ne[3] == tokens && read->ne[2] == q->ne[1] &&
           read->nb[0] == q->nb[0] && read->nb[1] == q->nb[2] &&
           read->nb[2] == q->nb[1] &&
           (read->ne[3] == 1 ||
            read->nb[3] == q->nb[2] * (size_t)read->ne[1]) &&
           attention_reads_halves(attention);
}

static void add_node(struct group *g, int i)
{
    int at = g->n;

    if (i == NO_NODE)
        return;
    for (; at > 0 && g->nodes[at - 1] > i; at--)
        g->nodes[at] = g->nodes[at - 1];
    g->nodes[at] = i;
    g->n++;
}

/* Whether x, which node `from` reads, is the same when the group's last node
 * launches: nodes of the group are left out, and the ones between them must not
 * write there. */
static bool stays(const struct group *g, const struct ggml_cgraph *graph,
                  const struct ggml_tensor *x, int from)
{
    const int last = g->nodes[g->n - 1];

    for (int i = from + 1, at = 0; i < last; i++) {
        while (g->nodes[at] < i)
            at++;
        if (g->nodes[at] != i && !is_nothing(graph->nodes[i]) &&
            overlap_of(graph->nodes[i], x))
            return false;
    }
    return true;
}

/* The launch reads products in memory of its own. The nodes of SET_ROWS have
 * none between them that is not the group's. */
static bool all_stay(const struct group *g, const struct ggml_cgraph *graph,
                     const struct found *f, bool products)
{
    const struct ggml_tensor *q = graph->nodes[f->rope[Q]];
    const int of_q = reader(f, Q), of_k = reader(f, K);

    return (products || (stays(g, graph, graph->nodes[of_q]->src[0], of_q) &&
                         stays(g, graph, graph->nodes[of_k]->src[0], of_k))) &&
           stays(g, graph, q->src[1], f->rope[Q]) &&
           stays(g, graph, q->src[2], f->rope[Q]);
}

/* ---- products of one input ---- */

/* Whether the three products can be computed at the first one's position. */
static bool are_products(const struct ggml_cgraph *graph, const struct found *f)
{
    const struct ggml_tensor *x = graph->nodes[f->product[Q]]->src[1];

    for (int p = 0; p < NPARTS; p++) {
        const struct ggml_tensor *t, *m, *read;

        if (f->product[p] == NO_NODE)
            return false;
        t = graph->nodes[f->product[p]];
        m = t->src[0];
        read = graph->nodes[p == V ? f->set[V] : reader(f, p)]->src[0];
        if (t->src[1] != x || !is_constant(m) || m->ne[2] * m->ne[3] != 1 ||
            !mul_mat_reads_blocks(t) || read->data != t->data ||
            !ggml_is_contiguous(read) ||
            (f->norm[Q] != NO_NODE && m->ne[1] % 4 != 0) ||
            (p == V ? read->ne[0] : read->ne[0] * read->ne[1]) != t->ne[0])
            return false;
    }
    return true;
}

/* Computes the products of Q, K and V into `to`, at the places that the group's
 * args give. Matrices that are adjacent in memory are multiplied as one. */
static bool make_products(struct run *run, const struct ggml_cgraph *graph,
                          const struct found *f, char *to)
{
    const struct ggml_tensor *t[NPARTS];
    kpk_ggml_tensor *parts[NPARTS] = {&run->group.args.q, &run->group.args.k,
                                      &run->group.args.v};
    int order[NPARTS] = {Q, K, V};

    for (int p = 0; p < NPARTS; p++)
        t[p] = graph->nodes[f->product[p]];
    for (int i = 1; i < NPARTS; i++)
        for (int j = i;
             j > 0 && t[order[j]]->src[0]->data < t[order[j - 1]]->src[0]->data;
             j--) {
            const int other = order[j];

            order[j] = order[j - 1];
            order[j - 1] = other;
        }
    for (int i = 0, n; i < NPARTS; i += n) {
        const struct ggml_tensor *m = t[order[i]]->src[0];
        const size_t tokens = (size_t)t[order[i]]->ne[1];
        int64_t rows = m->ne[1], before = 0;

        for (n = 1; i + n < NPARTS; n++) {
            const struct ggml_tensor *next = t[order[i + n]]->src[0];

            if (next->type != m->type || !m->data ||
                (const char *)next->data !=
                    (const char *)m->data + (size_t)rows * m->nb[1])
                break;
            rows += next->ne[1];
        }
        if (!mul_mat_of_rows(run, t[order[i]], rows, n, to))
            return false;
        for (int j = i; j < i + n; j++) {
            const int p = order[j];

            parts[p]->data = to ? to + before * (int64_t)sizeof(float) : NULL;
            parts[p]->nb[p == V ? 1 : 2] = rows * (int64_t)sizeof(float);
            before += t[p]->ne[0];
        }
        if (to)
            to += (size_t)rows * tokens * sizeof(float);
    }
    return true;
}

/* ---- the group ---- */

static void describe(struct run *run, const struct ggml_cgraph *graph,
                     const struct found *f)
{
    const struct ggml_tensor *q = graph->nodes[f->rope[Q]];
    const struct ggml_tensor *to_k = graph->nodes[f->set[K]];
    const struct ggml_tensor *to_v = graph->nodes[f->set[V]];
    const struct ggml_tensor *scale =
        f->scale != NO_NODE ? graph->nodes[f->scale] : NULL;

    run->group = (struct group){.rope = q, .queries = scale ? scale : q};
    if (f->norm[Q] != NO_NODE) {
        run->group.norms[Q] = norm_weights(graph, f, Q)->data;
        run->group.norms[K] = norm_weights(graph, f, K)->data;
        run->group.eps = param_f32(graph->nodes[f->norm[Q]], 0);
    }
    run->group.args =
        (kpk_ggml_heads){.q = view_of(graph->nodes[reader(f, Q)]->src[0]),
                         .k = view_of(graph->nodes[reader(f, K)]->src[0]),
                         .v = view_of(to_v->src[0]),
                         .keys = view_of(to_k),
                         .values = view_of(to_v),
                         .key_ids = view_of(to_k->src[1]),
                         .value_ids = view_of(to_v->src[1]),
                         .queries = run->heads,
                         .factor = scale ? param_f32(scale, 0) : 1,
                         .wide = to_k->src[1]->type == GGML_TYPE_I64,
                         .at_once = q->ne[2] < MANY_TOKENS ? 1 : HEADS_AT_ONCE};
}

static enum heads begin(struct run *run, const struct ggml_cgraph *graph,
                        int first, const struct found *f)
{
    const struct ggml_tensor *q = graph->nodes[f->rope[Q]];
    const bool products = f->product[Q] == first;
    size_t nbytes = whole((size_t)ggml_nelements(q) * 2);
    char *made = run->heads ? run->heads + nbytes : NULL;

    if (products && !are_products(graph, f))
        return HEADS_NONE;
    describe(run, graph, f);
    for (int p = 0; p < NPARTS; p++) {
        add_node(&run->group, f->norm[p]);
        add_node(&run->group, f->mul[p]);
        add_node(&run->group, f->rope[p]);
        add_node(&run->group, f->set[p]);
        if (!products)
            continue;
        add_node(&run->group, f->product[p]);
        nbytes += (size_t)ggml_nelements(graph->nodes[f->product[p]]) * 4;
    }
    add_node(&run->group, f->scale);
    if (!all_stay(&run->group, graph, f, products)) {
        run->group.n = 0;
        return HEADS_NONE;
    }
    if (nbytes > run->heads_nbytes)
        run->heads_nbytes = nbytes;
    return !products || make_products(run, graph, f, made) ? HEADS_SERVED
                                                           : HEADS_FAILED;
}

static enum heads end(struct run *run)
{
    const struct group *g = &run->group;
    const kpk_ggml_heads *a = &g->args;
    const uint64_t heads = (uint64_t)a->q.ne[1] + a->k.ne[1];
    const uint64_t pairs = a->v.ne[0] / 2;
    const uint64_t threads = /* of a token */
        g->norms[Q]
            ? 32 * (heads + (pairs + 31) / 32)
            : a->q.ne[0] / 2 * ((heads + a->at_once - 1) / a->at_once) + pairs;

    run->half_of = g->queries;
    run->half = run->heads;
    run->waits = false;
    return ops_heads_to_cache(run, g, a->q.ne[2] * threads) ? HEADS_SERVED
                                                            : HEADS_FAILED;
}

enum heads heads_node(struct run *run, const struct ggml_cgraph *graph, int i)
{
    struct run ask = {.inst = run->inst};
    struct group *g = &run->group, asked = {.n = 0};
    struct found f;

    for (int at = 0; at < g->n; at++)
        if (g->nodes[at] == i) {
            if (at < g->n - 1)
                return HEADS_SERVED;
            g->n = 0;
            return end(run);
        }
    if (g->n > 0 || !run->fusing || !find(graph, i, &f) ||
        !takes_part(graph, &f))
        return HEADS_NONE;
    asked.rope = graph->nodes[f.rope[Q]];
    asked.norms[Q] = f.norm[Q] != NO_NODE ? asked.rope : NULL;
    if (!ops_heads_to_cache(&ask, &asked, 1))
        return HEADS_NONE;
    return begin(run, graph, i, &f);
}
