/* fused.c - parts of models on libggml-kpack.so: fused and recorded, the
 * numbers are those of one launch for each node
 *
 *     fused DEVICE
 *
 * Each case is a part of llama.cpp's graphs with random weights. It is computed
 * three times by a context that fuses and records (launched, recorded,
 * replayed) and by one that does neither. All bits must be equal, and near
 * those of ggml's CPU backend. GGML_BACKEND_PATH names the library. With
 * counted_hip.so as KPK_HIP_LIBRARY, on a simulated gfx942, launches are
 * counted, too: so many as the case saves must be fewer.
 */
#include "counted_hip.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE = 256, MOST_TENSORS = 16, TIMES = 3 };

/* ---- a part of a model ---- */

struct part {
    const char *name;
    enum ggml_type type, value_type; /* of weights; of V's */
    int64_t width, d, heads, kv_heads, tokens, streams;
    bool normed, scaled, neox;
    int64_t experts, used, inner;
    bool divided;
    unsigned long saves; /* launches that fusion saves */
    /* How layers turn: A, B, C with factors, D with other positions that are
     * copied to the same place. NULL: one, A. */
    const char *layers;
    bool turned_in_place, scaled_in_place;
    bool one_product;   /* K and V are norms of one product */
    bool factors_later; /* factors change before the cache gets V */
};

/* Weights, which are made in order, inputs and results. */
struct graph {
    struct ggml_context *weights_ctx, *ctx;
    ggml_backend_buffer_t weights;
    ggml_gallocr_t memory;
    struct ggml_cgraph *graph;
    struct ggml_tensor *inputs[MOST_TENSORS], *outputs[MOST_TENSORS];
    int ninputs, noutputs;
    struct ggml_tensor *positions, *factors, *rows, *mask; /* of all layers */
};

static struct ggml_tensor *input(struct graph *g, enum ggml_type type,
                                 int64_t a, int64_t b)
{
    struct ggml_tensor *t = ggml_new_tensor_2d(g->ctx, type, a, b);

    ggml_set_input(t);
    g->inputs[g->ninputs++] = t;
    return t;
}

static struct ggml_tensor *weight(struct graph *g, enum ggml_type type,
                                  int64_t a, int64_t b, int64_t c)
{
    return ggml_new_tensor_3d(g->weights_ctx, type, a, b, c);
}

static struct ggml_tensor *normed(struct graph *g, struct ggml_tensor *x)
{
    return ggml_mul(g->ctx, ggml_rms_norm(g->ctx, x, 1e-6f),
                    weight(g, GGML_TYPE_F32, x->ne[0], 1, 1));
}

static struct ggml_tensor *turned(struct graph *g, const struct part *p,
                                  struct ggml_tensor *x, char layer,
                                  bool in_place)
{
    return (in_place ? ggml_rope_ext_inplace : ggml_rope_ext)(
        g->ctx, x, g->positions, layer == 'C' ? g->factors : NULL, (int)p->d,
        p->neox ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL, 4096,
        layer == 'B' ? 500 : 10000, 1, 0, 1, 32, 1);
}

/* As llm_graph_context::build_ffn() does. */
static struct ggml_tensor *inner(struct graph *g, const struct part *p,
                                 struct ggml_tensor *h)
{
    struct ggml_tensor *gate = weight(g, p->type, p->width, p->inner, 1);
    struct ggml_tensor *up = weight(g, p->type, p->width, p->inner, 1);
    struct ggml_tensor *down = weight(g, p->type, p->inner, p->width, 1);

    return ggml_mul_mat(g->ctx, down,
                        ggml_swiglu_split(g->ctx, ggml_mul_mat(g->ctx, gate, h),
                                          ggml_mul_mat(g->ctx, up, h)));
}

/* As llm_graph_context::build_attn() puts it together. */
static struct ggml_tensor *attention(struct graph *g, const struct part *p,
                                     struct ggml_tensor *x, char layer)
{
    struct ggml_context *c = g->ctx;
    const int64_t kv = p->d * p->kv_heads, q_rows = p->d * p->heads;
    const int64_t each = p->tokens / p->streams;
    const size_t row = ggml_row_size(GGML_TYPE_F16, kv);
    const size_t head = ggml_row_size(GGML_TYPE_F16, p->d);
    struct ggml_tensor *keys = input(g, GGML_TYPE_F16, kv, CACHE * p->streams);
    struct ggml_tensor *values =
        input(g, GGML_TYPE_F16, kv, CACHE * p->streams);
    struct ggml_tensor *wq = weight(g, p->type, p->width, q_rows, 1);
    struct ggml_tensor *wk = weight(g, p->type, p->width, kv, 1);
    struct ggml_tensor *wv = weight(g, p->value_type, p->width, kv, 1);
    struct ggml_tensor *wo = weight(g, p->type, q_rows, p->width, 1);
    struct ggml_tensor *h = normed(g, x);
    struct ggml_tensor *q =
        ggml_reshape_3d(c, ggml_mul_mat(c, wq, h), p->d, p->heads, p->tokens);
    struct ggml_tensor *k = ggml_reshape_3d(c, ggml_mul_mat(c, wk, h), p->d,
                                            p->kv_heads, p->tokens);
    struct ggml_tensor *v = p->one_product
                                ? ggml_rms_norm(c, k, 1e-6f)
                                : ggml_reshape_3d(c, ggml_mul_mat(c, wv, h),
                                                  p->d, p->kv_heads, p->tokens);
    struct ggml_tensor *o;

    if (p->normed) {
        q = normed(g, q);
        k = normed(g, k);
    }
    if (p->one_product)
        ggml_build_forward_expand(g->graph, k);
    q = turned(g, p, q, layer, p->turned_in_place);
    k = turned(g, p, k, layer, false);
    if (p->scaled)
        q = (p->scaled_in_place ? ggml_scale_inplace : ggml_scale)(c, q, 0.3f);
    ggml_build_forward_expand(g->graph, q);
    if (!p->one_product)
        ggml_build_forward_expand(g->graph, v);
    ggml_build_forward_expand(g->graph, k);
    if (p->one_product)
        ggml_build_forward_expand(g->graph, v);
    if (p->factors_later)
        ggml_build_forward_expand(g->graph,
                                  ggml_mul_inplace(c, g->factors, g->factors));
    ggml_build_forward_expand(
        g->graph,
        ggml_set_rows(c, keys, ggml_view_2d(c, k, kv, p->tokens, k->nb[2], 0),
                      g->rows));
    ggml_build_forward_expand(
        g->graph,
        ggml_set_rows(c, values, ggml_view_2d(c, v, kv, p->tokens, v->nb[2], 0),
                      g->rows));
    q = ggml_permute(c,
                     ggml_view_4d(c, q, p->d, p->heads, each, p->streams,
                                  q->nb[1], q->nb[2], q->nb[2] * (size_t)each,
                                  0),
                     0, 2, 1, 3);
    k = ggml_permute(c,
                     ggml_view_4d(c, keys, p->d, p->kv_heads, CACHE, p->streams,
                                  head, row, row * CACHE, 0),
                     0, 2, 1, 3);
    v = ggml_permute(c,
                     ggml_view_4d(c, values, p->d, p->kv_heads, CACHE,
                                  p->streams, head, row, row * CACHE, 0),
                     0, 2, 1, 3);
    o = ggml_flash_attn_ext(c, q, k, v, g->mask, 1 / sqrtf((float)p->d), 0, 0);
    ggml_prec_set_acc(o, GGML_PREC_F32);
    o = ggml_reshape_2d(c, o, o->ne[0] * o->ne[1], o->ne[2] * o->ne[3]);
    o = ggml_add(c, ggml_mul_mat(c, wo, o), x);
    if (p->inner)
        o = ggml_add(c, inner(g, p, normed(g, o)), o);
    ggml_build_forward_expand(g->graph, o);
    g->outputs[g->noutputs++] = keys;
    g->outputs[g->noutputs++] = values;
    return o;
}

static void layers(struct graph *g, const struct part *p, struct ggml_tensor *x)
{
    struct ggml_context *c = g->ctx;
    const char *const all = p->layers ? p->layers : "A";

    g->positions =
        ggml_reshape_1d(c, input(g, GGML_TYPE_I32, p->tokens, 1), p->tokens);
    g->rows =
        ggml_reshape_1d(c, input(g, GGML_TYPE_I64, p->tokens, 1), p->tokens);
    g->mask = ggml_reshape_4d(c, input(g, GGML_TYPE_F16, CACHE, p->tokens),
                              CACHE, p->tokens / p->streams, 1, p->streams);
    if (strchr(all, 'C'))
        g->factors =
            ggml_reshape_1d(c, input(g, GGML_TYPE_F32, p->d / 2, 1), p->d / 2);
    g->noutputs = 1;
    for (const char *layer = all; *layer; layer++) {
        if (*layer == 'D') {
            g->positions = ggml_cpy(c, input(g, GGML_TYPE_I32, p->tokens, 1),
                                    g->positions);
            ggml_build_forward_expand(g->graph, g->positions);
        }
        x = attention(g, p, x, *layer);
    }
    ggml_set_output(x);
    g->outputs[0] = x;
}

/* As llm_graph_context::build_moe_ffn() does. */
static void experts(struct graph *g, const struct part *p,
                    struct ggml_tensor *x)
{
    struct ggml_context *c = g->ctx;
    struct ggml_tensor *router =
        weight(g, GGML_TYPE_F32, p->width, p->experts, 1);
    struct ggml_tensor *gates =
        weight(g, p->type, p->width, p->inner, p->experts);
    struct ggml_tensor *ways_up =
        weight(g, p->type, p->width, p->inner, p->experts);
    struct ggml_tensor *ways_down =
        weight(g, p->type, p->inner, p->width, p->experts);
    struct ggml_tensor *h = normed(g, x);
    struct ggml_tensor *probs = ggml_soft_max(c, ggml_mul_mat(c, router, h));
    struct ggml_tensor *ids = ggml_argsort_top_k(c, probs, (int)p->used);
    struct ggml_tensor *w = ggml_get_rows(
        c, ggml_reshape_3d(c, probs, 1, p->experts, p->tokens), ids);
    struct ggml_tensor *gate, *up, *down, *all, *parts[MOST_TENSORS];

    if (p->divided) {
        struct ggml_tensor *sum;

        w = ggml_reshape_2d(c, w, p->used, p->tokens);
        sum = ggml_clamp(c, ggml_sum_rows(c, w), 6.103515625e-5f, INFINITY);
        w = ggml_reshape_3d(c, ggml_div(c, w, sum), 1, p->used, p->tokens);
    }
    ggml_build_forward_expand(g->graph, w);
    h = ggml_reshape_3d(c, h, p->width, 1, p->tokens);
    up = ggml_mul_mat_id(c, ways_up, h, ids);
    gate = ggml_mul_mat_id(c, gates, h, ids);
    down = ggml_mul_mat_id(c, ways_down, ggml_swiglu_split(c, gate, up), ids);
    down = ggml_mul(c, down, w);
    for (int64_t e = 0; e < p->used; e++) {
        parts[e] = ggml_view_2d(c, down, p->width, p->tokens, down->nb[2],
                                (size_t)e * down->nb[1]);
        ggml_build_forward_expand(g->graph, parts[e]);
    }
    all = parts[0];
    for (int64_t e = 1; e < p->used; e++)
        all = ggml_add(c, all, parts[e]);
    all = ggml_add(c, all, x);
    ggml_set_output(all);
    ggml_build_forward_expand(g->graph, all);
    g->outputs[g->noutputs++] = all;
}

/* ---- numbers ---- */

static float random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) / (float)(1 << 23) - 1;
}

static void *filled(const struct ggml_tensor *t, float centre, float size,
                    uint64_t seed)
{
    const int64_t n = ggml_nelements(t);
    float *numbers = malloc((size_t)n * sizeof(*numbers));
    void *data = malloc(ggml_nbytes(t));

    for (int64_t i = 0; i < n; i++)
        numbers[i] = centre + size * random_number(&seed);
    ggml_quantize_chunk(t->type, numbers, data, 0, ggml_nrows(t), t->ne[0],
                        NULL);
    free(numbers);
    return data;
}

static void set_weights(struct graph *g)
{
    uint64_t seed = 1;

    for (struct ggml_tensor *t = ggml_get_first_tensor(g->weights_ctx); t;
         t = ggml_get_next_tensor(g->weights_ctx, t)) {
        const bool norm = ggml_nrows(t) == 1;
        void *data =
            filled(t, norm ? 1 : 0, norm ? 0.3f : 1.7f / sqrtf((float)t->ne[0]),
                   seed++);

        ggml_backend_tensor_set(t, data, 0, ggml_nbytes(t));
        free(data);
    }
}

/* Positions, rows of the cache, and a mask that leaves out the others. */
static void set_inputs(const struct graph *g, const struct part *p)
{
    const int64_t each = p->tokens / p->streams;
    const struct ggml_tensor *const of_factors =
        g->factors ? g->factors->view_src : NULL;

    for (int n = 0; n < g->ninputs; n++) {
        const struct ggml_tensor *t = g->inputs[n];
        void *data = calloc(1, ggml_nbytes(t));

        if (t->type == GGML_TYPE_F32 || t->ne[1] >= CACHE) {
            free(data);
            data = filled(t, t == of_factors ? 2 : 0, 1, 100 + (uint64_t)n);
        }
        for (int64_t i = 0; t->type == GGML_TYPE_I32 && i < p->tokens; i++)
            ((int32_t *)data)[i] = (int32_t)(10 + n + i % each);
        for (int64_t i = 0; t->type == GGML_TYPE_I64 && i < p->tokens; i++)
            ((int64_t *)data)[i] = i / each * CACHE + 11 + i % each;
        for (int64_t i = 0; t->type == GGML_TYPE_F16 && t->ne[0] == CACHE &&
                            t->ne[1] == p->tokens && i < CACHE * p->tokens;
             i++)
            ((ggml_fp16_t *)data)[i] = ggml_fp32_to_fp16(
                i % CACHE <= 11 + i / CACHE % each ? 0 : -INFINITY);
        ggml_backend_tensor_set((struct ggml_tensor *)t, data, 0,
                                ggml_nbytes(t));
        free(data);
    }
}

/* ---- a case ---- */

static struct graph make(const struct part *p, ggml_backend_t backend)
{
    const struct ggml_init_params params = {
        .mem_size = 512 * ggml_tensor_overhead() + ggml_graph_overhead(),
        .no_alloc = true};
    struct graph g = {.weights_ctx = ggml_init(params),
                      .ctx = ggml_init(params)};
    struct ggml_tensor *x;

    g.graph = ggml_new_graph(g.ctx);
    x = input(&g, GGML_TYPE_F32, p->width, p->tokens);
    if (p->experts)
        experts(&g, p, x);
    else
        layers(&g, p, x);
    g.weights = ggml_backend_alloc_ctx_tensors(g.weights_ctx, backend);
    ggml_backend_buffer_set_usage(g.weights, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    g.memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    if (!ggml_gallocr_alloc_graph(g.memory, g.graph)) {
        (void)fputs("no memory for a graph\n", stderr);
        exit(1);
    }
    set_weights(&g);
    return g;
}

static void end(struct graph *g)
{
    ggml_gallocr_free(g->memory);
    ggml_backend_buffer_free(g->weights);
    ggml_free(g->ctx);
    ggml_free(g->weights_ctx);
}

/* Launches so far; 0 if nobody counts. */
static unsigned long launches(void)
{
    const char *const path = getenv("KPK_HIP_LIBRARY");
    void *const library = path ? dlopen(path, RTLD_NOW) : NULL;
    const struct counted_hip *(*counted)(void) =
        library
            ? (const struct counted_hip *(*)(void))dlsym(library, "counted_hip")
            : NULL;

    return counted ? counted()->launches : 0;
}

/* The results, one behind another; *n is their size. */
static uint8_t *compute(struct graph *g, const struct part *p,
                        ggml_backend_t backend, size_t *n)
{
    uint8_t *all;

    *n = 0;
    for (int i = 0; i < g->noutputs; i++)
        *n += ggml_nbytes(g->outputs[i]);
    all = malloc(*n);
    set_inputs(g, p);
    if (ggml_backend_graph_compute(backend, g->graph) != GGML_STATUS_SUCCESS) {
        (void)fprintf(stderr, "%s: the graph fails\n", p->name);
        exit(1);
    }
    *n = 0;
    for (int i = 0; i < g->noutputs; i++) {
        ggml_backend_tensor_get(g->outputs[i], all + *n, 0,
                                ggml_nbytes(g->outputs[i]));
        *n += ggml_nbytes(g->outputs[i]);
    }
    return all;
}

/* The square of the distance of the first result, by its own square. */
static double distance(const struct graph *g, const uint8_t *got,
                       const uint8_t *want)
{
    const float *a = (const float *)got, *b = (const float *)want;
    double of = 0, all = 0;

    for (int64_t i = 0; i < ggml_nelements(g->outputs[0]); i++) {
        of += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        all += (double)b[i] * b[i];
    }
    return of / all;
}

static int run(const struct part *p, ggml_backend_t fusing,
               ggml_backend_t plain, ggml_backend_t cpu)
{
    enum { MOST_DISTANCE_INVERSE = 2000 }; /* as test-backend-ops has it */
    struct graph a = make(p, fusing), b = make(p, plain), c = make(p, cpu);
    size_t n;
    const unsigned long before = launches();
    uint8_t *want = compute(&b, p, plain, &n), *cpus = compute(&c, p, cpu, &n);
    const unsigned long apart = launches() - before;
    const double far = distance(&b, want, cpus);
    int faults = 0;

    if (!(far * MOST_DISTANCE_INVERSE < 1)) {
        printf("%s: plain is %g from the CPU\n", p->name, far);
        faults++;
    }
    for (int time = 0; time < TIMES; time++) {
        const unsigned long from = launches();
        uint8_t *got = compute(&a, p, fusing, &n);
        const unsigned long saved = apart - (launches() - from);
        size_t other = 0, first = 0;

        if (time == 0 && saved != p->saves && apart > 0) {
            printf("%s: of %lu launches %lu are saved, not %lu\n", p->name,
                   apart, saved, p->saves);
            faults++;
        }
        for (size_t i = n; i-- > 0;) {
            other += got[i] != want[i];
            first = got[i] != want[i] ? i : first;
        }
        if (other) {
            printf("%s, time %d: %zu of %zu bytes are others, the first one is "
                   "%zu, %g from the plain one\n",
                   p->name, time, other, n, first, distance(&a, got, want));
            faults++;
        }
        free(got);
    }
    printf("%s: %s, %g from the CPU\n", p->name, faults ? "FAIL" : "OK", far);
    free(want);
    free(cpus);
    end(&a);
    end(&b);
    end(&c);
    return faults;
}

/* clang-format off */
#define F(name) #name, GGML_TYPE_##name, GGML_TYPE_##name
static const struct part parts[] = {
    /* weights of all, of V   width  d  heads  K's  tokens  streams */
    {F(Q4_0),                   256, 64,    4,   2,      1,       1, false, false, false, 0, 0, 512, false, 16},
    {F(Q4_0),                   256, 64,    4,   2,     70,       1, false, false, false, 0, 0, 512, false, 15},
    {F(Q8_0),                   256, 64,    9,   3,      1,       1, false, false, true,  0, 0, 0, false, 10},
    {"Q4_K, V Q6_K", GGML_TYPE_Q4_K, GGML_TYPE_Q6_K,
                                512, 128,   4,   4,      2,       1, false, false, false, 0, 0, 0, false, 9},
    {F(Q4_K),                   256, 64,    4,   1,      8,       8, false, false, true,  0, 0, 0, false, 10},
    {F(Q5_0),                   256, 64,    4,   2,     24,       1, false, false, false, 0, 0, 0, false, 10},
    {F(Q8_0),                   256, 64,    4,   2,      6,       2, true,  false, true,  0, 0, 0, false, 14},
    {F(Q4_1),                   512, 256,   4,   1,      1,       1, true,  true,  true,  0, 0, 0, false, 15},
    {F(F16),                    256, 64,    4,   2,      3,       1, false, false, false, 0, 0, 0, false, 1},
    {"turned in place", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .turned_in_place = true, .saves = 5},
    {"scaled in place", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .scaled = true, .scaled_in_place = true, .saves = 5},
    {"scaled in place, normed", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .normed = true, .scaled = true, .scaled_in_place = true, .saves = 7},
    {"K and V of one product", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .one_product = true, .saves = 4},
    {"layers AABCA", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .layers = "AABCA", .saves = 55},
    {"layers ADD", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .layers = "ADD", .saves = 30},
    {"factors that change", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0,
                                256, 64,    4,   2,      2,       1, .normed = true, .layers = "C", .factors_later = true, .saves = 7},
    /* experts, of a token, the inner width */
    {F(Q8_0),                   256, 0, 0, 0,            1,       1, false, false, false, 16, 4, 256, true, 11},
    {F(Q4_K),                   256, 0, 0, 0,            5,       1, false, false, false, 64, 8, 256, false, 12},
    {F(Q4_K),                   256, 0, 0, 0,           40,       1, false, false, false,  8, 2, 256, true, 10},
};
/* clang-format on */

int main(int argc, char **argv)
{
    ggml_backend_t fusing, plain, cpu;
    ggml_backend_dev_t device;
    int faults = 0;

    ggml_backend_load_all();
    device = argc == 2 ? ggml_backend_dev_by_name(argv[1]) : NULL;
    if (!device) {
        (void)fputs("usage: fused DEVICE\n", stderr);
        return 2;
    }
    fusing = ggml_backend_dev_init(device, NULL);
    (void)setenv("KPK_GGML_WITHOUT", "graphs,fusion,early", 1);
    plain = ggml_backend_dev_init(device, NULL);
    cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        faults += run(&parts[i], fusing, plain, cpu);
    ggml_backend_free(fusing);
    ggml_backend_free(plain);
    ggml_backend_free(cpu);
    printf("%d faults\n", faults);
    return faults != 0;
}
