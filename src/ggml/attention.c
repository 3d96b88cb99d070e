/* attention.c - FLASH_ATTN_EXT by module attention */
#include "attention.h"

#include "products.h"

#include <kpack/candle/attention_plan.h>

/* A type of K and V in the terms of module attention. */
struct cache {
    enum ggml_type numbers; /* the type of Q and O */
    kpk_attention_type type;
    kpk_attention_cache cache;
};

static bool cache_of(enum ggml_type type, struct cache *out)
{
    static const struct {
        enum ggml_type type;
        struct cache cache;
    } caches[] = {
        {GGML_TYPE_F16, {GGML_TYPE_F16, KPK_ATTENTION_F16, KPK_ATTENTION_SAME}},
        {GGML_TYPE_BF16,
         {GGML_TYPE_BF16, KPK_ATTENTION_BF16, KPK_ATTENTION_SAME}},
        {GGML_TYPE_Q8_0,
         {GGML_TYPE_F16, KPK_ATTENTION_F16, KPK_ATTENTION_Q8_0}},
        {GGML_TYPE_Q4_0,
         {GGML_TYPE_F16, KPK_ATTENTION_F16, KPK_ATTENTION_Q4_0}},
    };

    for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
        if (caches[i].type == type) {
            *out = caches[i].cache;
            return true;
        }
    return false;
}

/* x as f16; blocks become f32 first. */
static bool as_f16(struct run *run, const struct ggml_tensor *x,
                   struct ggml_tensor *out)
{
    struct ggml_tensor numbers = *x;

    if (ggml_is_quantized(x->type) &&
        !converted(run, x, GGML_TYPE_F32, &numbers))
        return false;
    return converted(run, &numbers, GGML_TYPE_F16, out);
}

/* The stride of dimension d in elements. */
static int64_t step(const struct ggml_tensor *t, size_t d)
{
    return (int64_t)(t->nb[d] / ggml_type_size(t->type)) *
           ggml_blck_size(t->type);
}

/* A mask shared by heads or sequences has stride 0 in their dimension. */
static bool set_mask(const struct ggml_tensor *mask,
                     const struct ggml_tensor *q, kpk_attention2_args *a)
{
    if (!mask)
        return true;
    if (mask->type != GGML_TYPE_F16 || !has_rows(mask) ||
        (mask->ne[2] != 1 && mask->ne[2] != q->ne[2]) ||
        (mask->ne[3] != 1 && mask->ne[3] != q->ne[3]))
        return false;
    a->mask = mask->data ? mask->data : a; /* plans only test for NULL */
    a->mask_row = step(mask, 1);
    a->mask_head = mask->ne[2] == 1 ? 0 : step(mask, 2);
    a->mask_batch = mask->ne[3] == 1 ? 0 : step(mask, 3);
    return true;
}

static bool set_slopes(struct run *run, float max_bias, kpk_attention2_args *a)
{
    const uint32_t heads = a->base.h;
    float *slopes;

    if (max_bias <= 0)
        return true;
    slopes = scratch(run, heads * sizeof(*slopes));
    a->base.alibi_slopes = slopes;
    return launch(run, "ggml_alibi_slopes_f32", heads, 0,
                  KPK_ARGS(slopes, heads, max_bias));
}

/* K and V that module attention does not take, or not together, become f16. */
static bool becomes_halves(const struct ggml_tensor *t)
{
    struct cache cache;

    return !same_type(t->src[1], t->src[2]) ||
           !cache_of(t->src[1]->type, &cache);
}

bool attention_reads_halves(const struct ggml_tensor *t)
{
    struct cache cache;

    return becomes_halves(t) || (cache_of(t->src[1]->type, &cache) &&
                                 cache.numbers == GGML_TYPE_F16);
}

/* Q as the type of K and V. heads.c may have made it f16. */
static bool queries(struct run *run, const struct ggml_tensor *x,
                    enum ggml_type type, struct ggml_tensor *out)
{
    const struct ggml_tensor *all = x->view_src ? x->view_src : x;

    if (!run->half_of || all != run->half_of)
        return converted(run, x, type, out);
    *out = *x;
    out->type = GGML_TYPE_F16;
    out->data = run->half;
    for (size_t d = 0; d < 4; d++)
        out->nb[d] = x->nb[d] / 2;
    return true;
}

/* Writes the numbers of `from`, [width, heads, tokens, sequences], to the node
 * as f32, or to `blocks` as Q8_1. */
static bool finish(struct run *run, const struct ggml_tensor *t,
                   const struct ggml_tensor *from, void *blocks, bool to_blocks)
{
    const uint32_t rows = (uint32_t)(t->ne[2] * t->ne[3]);
    const int32_t columns = (int32_t)(t->ne[0] * t->ne[1]);
    const int32_t padded = blocks_columns(columns);
    kpk_ggml_tensor numbers = view_of(from), to = view_of(t);

    if (to_blocks)
        return launch(run, "quantize_q8_1_quants_f16",
                      (uint64_t)rows * (uint64_t)padded, 0,
                      KPK_ARGS(from->data, blocks, rows, columns, padded));
    join_dims(2, (kpk_ggml_tensor *[]){&to, &numbers});
    return launch(run, named(named("ggml_copy", from->type).text, t->type).text,
                  count(&to), 0, KPK_ARGS(numbers, to));
}

/*
 * Q is rounded to the type of K and V, and so is O before it becomes f32 or
 * blocks.
 */
static bool attend(struct run *run, const struct ggml_tensor *t, void *blocks,
                   bool to_blocks)
{
    const struct ggml_tensor *sinks = t->src[4];
    struct ggml_tensor q, k = *t->src[1], v = *t->src[2], o = *t;
    struct cache cache;
    kpk_attention2_args a = {.d_v = (uint32_t)t->ne[0]};
    kpk_attention_plan plan;
    void *workspace;

    if (!is_f32(t) || !is_f32(t->src[0]) || (sinks && !is_f32(sinks)))
        return false;
    if (becomes_halves(t) &&
        (!as_f16(run, t->src[1], &k) || !as_f16(run, t->src[2], &v)))
        return false;
    if (!cache_of(k.type, &cache) || !has_rows(&k) || !has_rows(&v) ||
        (to_blocks &&
         (cache.numbers != GGML_TYPE_F16 || !ggml_is_contiguous(t))) ||
        !queries(run, t->src[0], cache.numbers, &q))
        return false;
    o.type = cache.numbers;
    for (size_t d = 0; d < 4; d++)
        o.nb[d] = t->nb[d] / sizeof(float) * ggml_type_size(o.type);
    o.data = scratch(run, o.nb[3] * (size_t)o.ne[3]);
    a.base = (kpk_attention_args){.q = q.data,
                                  .k = k.data,
                                  .v = v.data,
                                  .o = o.data,
                                  .q_batch = step(&q, 3),
                                  .k_batch = step(&k, 3),
                                  .v_batch = step(&v, 3),
                                  .o_batch = step(&o, 3),
                                  .q_row = step(&q, 1),
                                  .k_row = step(&k, 1),
                                  .v_row = step(&v, 1),
                                  .o_row = step(&o, 2),
                                  .q_head = step(&q, 2),
                                  .k_head = step(&k, 2),
                                  .v_head = step(&v, 2),
                                  .o_head = step(&o, 1),
                                  .b = (uint32_t)q.ne[3],
                                  .h = (uint32_t)q.ne[2],
                                  .h_k = (uint32_t)k.ne[2],
                                  .d = (uint32_t)k.ne[0],
                                  .seqlen_q = (uint32_t)q.ne[1],
                                  .seqlen_k = (uint32_t)k.ne[1],
                                  .scale = param_f32(t, 0),
                                  .softcap = param_f32(t, 2),
                                  .window_left = -1,
                                  .window_right = -1};
    a.sinks = sinks ? (sinks->data ? sinks->data : (const void *)&a) : NULL;
    if (k.ne[3] != q.ne[3] || v.ne[3] != q.ne[3] || v.ne[2] != k.ne[2] ||
        !set_mask(t->src[3], &q, &a) || !set_slopes(run, param_f32(t, 1), &a) ||
        kpk_attention2_choose(run->inst, &kpk_module_attention, cache.type,
                              cache.cache, &a, UINT64_MAX, &plan) != KPK_OK)
        return false;
    workspace = scratch(run, plan.workspace_nbytes);
    if (to_blocks && plan.quantizes)
        a.base.o_q8_1 = blocks;
    if (run->launching &&
        !gpu_check(
            kpk_attention2_launch(run->inst, &a, &plan, workspace, run->stream),
            "attention"))
        return false;
    run->half_of = NULL;
    return a.base.o_q8_1 || finish(run, t, &o, blocks, to_blocks);
}

bool attention(struct run *run, const struct ggml_tensor *t)
{
    return attend(run, t, NULL, false);
}

bool attention_to_blocks(struct run *run, const struct ggml_tensor *t,
                         void *blocks)
{
    return attend(run, t, blocks, true);
}
