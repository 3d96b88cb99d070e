/* aiter_attention.c - attention of whole sequences: fmha_v3_fwd
 *
 * In names: hdN[xM], hdN_hdM: head dimensions of Q and K, of V; causal: aligned
 * to the bottom right; group: sequences of several lengths, one behind the
 * other; rtne, rtna, rtz: how P is rounded to bf16; fp8: 8-bit Q, K and V, each
 * with a scale.
 */
#include "aiter.h"

#include <math.h>
#include <string.h>

struct attention {
    enum type type;
    unsigned dqk, dv, tile;
    bool causal, group, split_heads; /* gfx942's 192 x 128 has another grid */
};

/* Lengths of the sequences; only `group` has different ones. */
struct attention_case {
    unsigned nbatch, hq, hk, sq[4], sk[4];
    bool lse, heads_first; /* memory is [b, h, s, d], else [b, s, h, d] */
};

static const struct attention_case cases[] = {
    {1, 2, 2, {128}, {128}, true, false},
    {1, 4, 2, {65}, {129}, false, true},
    {2, 2, 1, {256, 256}, {300, 300}, true, true},
    {1, 1, 1, {1}, {37}, false, false},
    {1, 4, 1, {300}, {577}, true, false},
    {1, 2, 2, {513}, {515}, false, false},
    {1, 8, 2, {31}, {64}, true, false},
    {1, 1, 1, {260}, {1}, true, false},
};

static const struct attention_case group_cases[] = {
    {3, 2, 1, {17, 256, 100}, {33, 300, 100}, true, false},
    {2, 1, 1, {1, 300}, {65, 301}, false, false},
    {4, 4, 2, {31, 1, 64, 129}, {31, 7, 128, 130}, true, false},
    {1, 2, 2, {257}, {513}, true, false},
};

/* Where row `i` of a head of a sequence begins, in elements. */
struct layout {
    size_t row, head, batch, start[5];
};

static struct layout lay_out(const struct attention *a,
                             const struct attention_case *c,
                             const unsigned *lengths, unsigned nheads,
                             unsigned width)
{
    struct layout l = {0};

    for (unsigned b = 0; b < c->nbatch; b++)
        l.start[b + 1] = l.start[b] + lengths[b];
    l.row = c->heads_first ? width : (size_t)width * nheads;
    l.head = c->heads_first ? (size_t)width * lengths[0] : width;
    l.batch = a->group ? 0 : (size_t)width * nheads * lengths[0];
    return l;
}

static size_t at(const struct layout *l, bool group, unsigned b, unsigned head,
                 unsigned i)
{
    return (group ? l->start[b] * l->row : b * l->batch) + head * l->head +
           i * l->row;
}

static double score(const struct attention *a, const void *q, size_t at_q,
                    const void *k, size_t at_k)
{
    double sum = 0;

    for (unsigned d = 0; d < a->dqk; d++)
        sum += get(a->type, q, at_q + d) * get(a->type, k, at_k + d);
    return sum;
}

static void run_case(struct subject *s, const struct attention *a,
                     const struct attention_case *c)
{
    const struct layout lq = lay_out(a, c, c->sq, c->hq, a->dqk);
    const struct layout lk = lay_out(a, c, c->sk, c->hk, a->dqk);
    const struct layout lv = lay_out(a, c, c->sk, c->hk, a->dv);
    const struct layout lo = lay_out(a, c, c->sq, c->hq, a->dv);
    const size_t rows_q = lq.start[c->nbatch], rows_k = lk.start[c->nbatch];
    const size_t nout = rows_q * c->hq * a->dv, nlse = rows_q * c->hq;
    const size_t width = type_nbytes(a->type);
    const bool fp8 = width == 1;
    const float scale = 1 / sqrtf((float)a->dqk);
    /* The causal kernel of gfx942 multiplies by Q's and K's scales once more
     * with each tile of a workgroup: their product is 1. Kernels for fp8 take
     * head / (hq / hk) by a shift: hq / hk is a power of two. */
    const float descale[3] = {0.5f, 2, 1.25f};
    void *q = random_values(a->type, rows_q * c->hq * a->dqk, 1);
    void *k = random_values(a->type, rows_k * c->hk * a->dqk, 1);
    void *v = random_values(a->type, rows_k * c->hk * a->dv, 1);
    uint16_t *out = aiter_host(nout * 2);
    float *lse = aiter_host(nlse * 4);
    uint32_t starts[2][5];
    unsigned most = 0, ntiles, x, y, z;
    double *p;
    void *on_device[2] = {NULL, NULL}, *scales[3] = {NULL, NULL, NULL};
    void *o = aiter_device_filled(s, 0xff, nout * 2); /* NaN */
    void *l = aiter_device_filled(s, 0xff, nlse * 4);
    unsigned tuning = 5;

    for (unsigned b = 0; b <= c->nbatch; b++) {
        starts[0][b] = (uint32_t)lq.start[b];
        starts[1][b] = (uint32_t)lk.start[b];
        if (b < c->nbatch && c->sq[b] > most)
            most = c->sq[b];
    }
    for (unsigned n = 0; a->group && n < 2; n++)
        on_device[n] = aiter_device(s, starts[n], 4 * (c->nbatch + 1));
    for (unsigned n = 0; fp8 && n < 3; n++)
        scales[n] = aiter_device(s, &descale[n], 4);
    if (a->causal && c->hq % 8)
        tuning = 3;
    if (a->split_heads)
        tuning = 0;
    {
        const kpk_value values[] = {
            kpk_ptr(o),
            kpk_ptr(aiter_device(s, q, rows_q * c->hq * a->dqk * width)),
            kpk_ptr(aiter_device(s, k, rows_k * c->hk * a->dqk * width)),
            kpk_ptr(aiter_device(s, v, rows_k * c->hk * a->dv * width)),
            kpk_ptr(c->lse ? l : NULL),
            kpk_f32(scale),
            kpk_u32(most),
            kpk_u32((uint32_t)(lq.row * width)),
            kpk_u32((uint32_t)(a->tile * lq.row * width)),
            kpk_u32((uint32_t)(lq.head * width)),
            kpk_u32((uint32_t)(lq.batch * width)),
            kpk_u32(c->hq / c->hk),
            kpk_u32((uint32_t)(lk.row * width)),
            kpk_u32((uint32_t)(lk.head * width)),
            kpk_u32((uint32_t)(lk.batch * width)),
            kpk_u32(tuning),
            kpk_u32(c->lse),
            kpk_u32(c->sk[0]),
            kpk_u32(a->dqk),
            kpk_u32(a->dv),
            kpk_u32(c->hq),
            kpk_u32((uint32_t)(lv.row * width)),
            kpk_u32((uint32_t)(lv.head * width)),
            kpk_u32((uint32_t)(lv.batch * width)),
            kpk_u32((uint32_t)(lo.row * 2)),
            kpk_u32((uint32_t)(lo.head * 2)),
            kpk_u32((uint32_t)(lo.batch * 2)),
            kpk_ptr(on_device[0]),
            kpk_ptr(on_device[1]),
            kpk_u32((uint32_t)(4 * (a->group ? rows_q : c->sq[0]))),
            kpk_ptr(on_device[0]),
            kpk_ptr(on_device[1]),
            kpk_ptr(scales[0]),
            kpk_ptr(scales[1]),
            kpk_ptr(scales[2]),
            kpk_u32(0),
            kpk_u32(0),
            kpk_u32(0),
            kpk_u32(0),
            kpk_u32(0),
            kpk_u32(0)};

        ntiles = (most + a->tile - 1) / a->tile;
        /* A workgroup takes a tile from the front and one from the end. */
        if (a->causal && !a->split_heads)
            ntiles = (ntiles + 1) / 2;
        x = a->group || a->split_heads ? c->hq : ntiles;
        y = a->group ? c->nbatch : a->split_heads ? ntiles : c->hq;
        z = a->group ? ntiles : c->nbatch;
        aiter_launch(s, x, y, z, a->dqk == 192 ? 256 : 512, values,
                     sizeof(values) / sizeof(values[0]));
    }
    aiter_fetch(s, out, o, nout * 2);
    aiter_fetch(s, lse, l, nlse * 4);

    p = aiter_host(sizeof(*p) * (rows_k + 1));
    for (unsigned b = 0; b < c->nbatch; b++)
        for (unsigned h = 0; h < c->hq; h++)
            for (unsigned i = 0; i < c->sq[b]; i++) {
                const unsigned hk = h / (c->hq / c->hk);
                const double factor =
                    (double)scale *
                    (fp8 ? (double)(descale[0] * descale[1]) : 1);
                double peak = -INFINITY, sum = 0, worst = 0;
                long last = c->sk[b];
                size_t at_lse = a->group
                                    ? h * rows_q + lq.start[b] + i
                                    : ((size_t)b * c->hq + h) * c->sq[0] + i;

                if (a->causal)
                    last = (long)i + c->sk[b] - c->sq[b] + 1;
                if (last > (long)c->sk[b])
                    last = c->sk[b];
                if (last <= 0)
                    continue; /* sees no key */
                for (long j = 0; j < last; j++) {
                    p[j] =
                        factor * score(a, q, at(&lq, a->group, b, h, i), k,
                                       at(&lk, a->group, b, hk, (unsigned)j));
                    peak = fmax(peak, p[j]);
                }
                for (long j = 0; j < last; j++)
                    sum += p[j] = exp(p[j] - peak);
                for (unsigned d = 0; d < a->dv; d++) {
                    double want = 0, size = 0, got, error;

                    for (long j = 0; j < last; j++) {
                        const double term =
                            p[j] / sum *
                            get(a->type, v,
                                at(&lv, a->group, b, hk, (unsigned)j) + d) *
                            (fp8 ? (double)descale[2] : 1);

                        want += term;
                        size += fabs(term);
                    }
                    got = get(BF16, out, at(&lo, a->group, b, h, i) + d);
                    /* P is rounded to bf16 or to 8 bits, the result to bf16. */
                    error =
                        fabs(got - want) / (size * (fp8 ? 0x1.8p-4 : 0x1p-7) +
                                            fabs(want) * 0x1p-8 + 1e-6);
                    if (!(error <= worst))
                        worst = error;
                }
                if (!(worst <= 1))
                    wrong(s,
                          "batch %u heads %u/%u lengths %u/%u: row %u of head "
                          "%u is off by %.3g times what rounding allows",
                          c->nbatch, c->hq, c->hk, c->sq[b], c->sk[b], i, h,
                          worst);
                if (c->lse && !(fabs((double)lse[at_lse] - (peak + log(sum))) <=
                                (fp8 ? 1e-2 : 2e-3)))
                    wrong(s,
                          "batch %u heads %u/%u lengths %u/%u: lse of row %u "
                          "of head %u is %g, not %g",
                          c->nbatch, c->hq, c->hk, c->sq[b], c->sk[b], i, h,
                          (double)lse[at_lse], peak + log(sum));
            }
    aiter_forget(s);
}

void run_fmha_fwd(struct subject *s)
{
    const unsigned dqk = number_behind(s, "hd", 128);
    const struct attention a = {.type = !has(s, "fp8") ? BF16
                                        : s->gfx950    ? FP8
                                                       : FP8_FNUZ,
                                .dqk = dqk,
                                .dv = dqk == 192 ? 128 : dqk,
                                .tile = dqk == 192 ? 128 : 256,
                                .causal = has(s, "causal"),
                                .group = has(s, "group"),
                                .split_heads = dqk == 192 && !s->gfx950};

    if (!s->gfx950 && a.type == BF16 && !has(s, "_rt"))
        left_out("on gfx942 AITER's host launches those that say how they "
                 "round");
    if (a.group)
        for (size_t n = 0; n < sizeof(group_cases) / sizeof(group_cases[0]);
             n++)
            run_case(s, &a, &group_cases[n]);
    else
        for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++)
            run_case(s, &a, &cases[n]);
}
