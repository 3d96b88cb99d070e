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

/* The causal kernel of gfx942 multiplies by Q's and K's scales once more with
 * each tile of a workgroup: their product is 1. Kernels for fp8 take
 * head / (hq / hk) by a shift: hq / hk is a power of two. */
static const float descale[3] = {0.5f, 2, 1.25f};

/* A case's operands and results, and how they lie. */
struct operands {
    struct layout lq, lk, lv, lo;
    size_t rows_q, rows_k;
    void *q, *k, *v;
    uint16_t *out;
    float *lse, scale;
};

static bool is_fp8(const struct attention *a)
{
    return type_nbytes(a->type) == 1;
}

static struct operands make_operands(const struct attention *a,
                                     const struct attention_case *c)
{
    struct operands x = {.lq = lay_out(a, c, c->sq, c->hq, a->dqk),
                         .lk = lay_out(a, c, c->sk, c->hk, a->dqk),
                         .lv = lay_out(a, c, c->sk, c->hk, a->dv),
                         .lo = lay_out(a, c, c->sq, c->hq, a->dv),
                         .scale = 1 / sqrtf((float)a->dqk)};

    x.rows_q = x.lq.start[c->nbatch];
    x.rows_k = x.lk.start[c->nbatch];
    x.q = random_values(a->type, x.rows_q * c->hq * a->dqk, 1);
    x.k = random_values(a->type, x.rows_k * c->hk * a->dqk, 1);
    x.v = random_values(a->type, x.rows_k * c->hk * a->dv, 1);
    x.out = aiter_host(x.rows_q * c->hq * a->dv * 2);
    x.lse = aiter_host(x.rows_q * c->hq * 4);
    return x;
}

/* Small arrays on the device: where sequences of Q and of K begin, of `group`
 * alone, and scales of Q, K and V, of fp8 alone. */
struct arrays {
    void *starts[2], *scales[3];
};

static struct arrays make_arrays(struct subject *s, const struct attention *a,
                                 const struct attention_case *c,
                                 const struct operands *x)
{
    struct arrays on = {{NULL, NULL}, {NULL, NULL, NULL}};
    uint32_t starts[2][5];

    for (unsigned b = 0; b <= c->nbatch; b++) {
        starts[0][b] = (uint32_t)x->lq.start[b];
        starts[1][b] = (uint32_t)x->lk.start[b];
    }
    for (unsigned n = 0; a->group && n < 2; n++)
        on.starts[n] = aiter_device(s, starts[n], 4 * (c->nbatch + 1));
    for (unsigned n = 0; is_fp8(a) && n < 3; n++)
        on.scales[n] = aiter_device(s, &descale[n], 4);
    return on;
}

static unsigned longest_query(const struct attention_case *c)
{
    unsigned most = 0;

    for (unsigned b = 0; b < c->nbatch; b++)
        if (c->sq[b] > most)
            most = c->sq[b];
    return most;
}

/* A workgroup of a causal kernel takes a tile from the front and one from the
 * end. */
static void launch_over_tiles(struct subject *s, const struct attention *a,
                              const struct attention_case *c, unsigned longest,
                              const kpk_value *values, size_t n)
{
    unsigned ntiles = (longest + a->tile - 1) / a->tile;

    if (a->causal && !a->split_heads)
        ntiles = (ntiles + 1) / 2;
    aiter_launch(s, a->group || a->split_heads ? c->hq : ntiles,
                 a->group         ? c->nbatch
                 : a->split_heads ? ntiles
                                  : c->hq,
                 a->group ? ntiles : c->nbatch, a->dqk == 192 ? 256 : 512,
                 values, n);
}

/* Runs the kernel; results go to x->out and x->lse. */
static void run_kernel(struct subject *s, const struct attention *a,
                       const struct attention_case *c, const struct operands *x)
{
    const size_t width = type_nbytes(a->type);
    const size_t nout = x->rows_q * c->hq * a->dv, nlse = x->rows_q * c->hq;
    const unsigned tuning = a->split_heads ? 0 : a->causal && c->hq % 8 ? 3 : 5;
    const unsigned longest = longest_query(c);
    const struct arrays on = make_arrays(s, a, c, x);
    void *o = aiter_device_filled(s, 0xff, nout * 2); /* NaN */
    void *l = aiter_device_filled(s, 0xff, nlse * 4);
    const kpk_value values[] = {
        kpk_ptr(o),
        kpk_ptr(aiter_device(s, x->q, x->rows_q * c->hq * a->dqk * width)),
        kpk_ptr(aiter_device(s, x->k, x->rows_k * c->hk * a->dqk * width)),
        kpk_ptr(aiter_device(s, x->v, x->rows_k * c->hk * a->dv * width)),
        kpk_ptr(c->lse ? l : NULL),
        kpk_f32(x->scale),
        kpk_u32(longest),
        kpk_u32((uint32_t)(x->lq.row * width)),
        kpk_u32((uint32_t)(a->tile * x->lq.row * width)),
        kpk_u32((uint32_t)(x->lq.head * width)),
        kpk_u32((uint32_t)(x->lq.batch * width)),
        kpk_u32(c->hq / c->hk),
        kpk_u32((uint32_t)(x->lk.row * width)),
        kpk_u32((uint32_t)(x->lk.head * width)),
        kpk_u32((uint32_t)(x->lk.batch * width)),
        kpk_u32(tuning),
        kpk_u32(c->lse),
        kpk_u32(c->sk[0]),
        kpk_u32(a->dqk),
        kpk_u32(a->dv),
        kpk_u32(c->hq),
        kpk_u32((uint32_t)(x->lv.row * width)),
        kpk_u32((uint32_t)(x->lv.head * width)),
        kpk_u32((uint32_t)(x->lv.batch * width)),
        kpk_u32((uint32_t)(x->lo.row * 2)),
        kpk_u32((uint32_t)(x->lo.head * 2)),
        kpk_u32((uint32_t)(x->lo.batch * 2)),
        kpk_ptr(on.starts[0]),
        kpk_ptr(on.starts[1]),
        kpk_u32((uint32_t)(4 * (a->group ? x->rows_q : c->sq[0]))),
        kpk_ptr(on.starts[0]),
        kpk_ptr(on.starts[1]),
        kpk_ptr(on.scales[0]),
        kpk_ptr(on.scales[1]),
        kpk_ptr(on.scales[2]),
        kpk_u32(0),
        kpk_u32(0),
        kpk_u32(0),
        kpk_u32(0),
        kpk_u32(0),
        kpk_u32(0)};

    launch_over_tiles(s, a, c, longest, values,
                      sizeof(values) / sizeof(values[0]));
    aiter_fetch(s, x->out, o, nout * 2);
    aiter_fetch(s, x->lse, l, nlse * 4);
}

/* How many keys row i of sequence b sees. */
static long keys_seen(const struct attention *a, const struct attention_case *c,
                      unsigned b, unsigned i)
{
    long n = c->sk[b];

    if (a->causal)
        n = (long)i + c->sk[b] - c->sq[b] + 1;
    return n > (long)c->sk[b] ? c->sk[b] : n;
}

/* The largest error of a row by what rounding allows. p: the keys' weights,
 * which add up to sum. */
static double row_error(const struct attention *a, const struct operands *x,
                        unsigned b, unsigned h, unsigned hk, unsigned i,
                        const double *p, double sum, long nkeys)
{
    double worst = 0;

    for (unsigned d = 0; d < a->dv; d++) {
        double want = 0, size = 0, got, error;

        for (long j = 0; j < nkeys; j++) {
            const double term =
                p[j] / sum *
                get(a->type, x->v,
                    at(&x->lv, a->group, b, hk, (unsigned)j) + d) *
                (is_fp8(a) ? (double)descale[2] : 1);

            want += term;
            size += fabs(term);
        }
        got = get(BF16, x->out, at(&x->lo, a->group, b, h, i) + d);
        /* P is rounded to bf16 or to 8 bits, the result to bf16. */
        error = fabs(got - want) / (size * (is_fp8(a) ? 0x1.8p-4 : 0x1p-7) +
                                    fabs(want) * 0x1p-8 + 1e-6);
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

/* Row i of head h of sequence b; p has room for its keys. */
static void judge_row(struct subject *s, const struct attention *a,
                      const struct attention_case *c, const struct operands *x,
                      unsigned b, unsigned h, unsigned i, double *p)
{
    const unsigned hk = h / (c->hq / c->hk);
    const double factor =
        (double)x->scale * (is_fp8(a) ? (double)(descale[0] * descale[1]) : 1);
    const size_t at_lse = a->group ? h * x->rows_q + x->lq.start[b] + i
                                   : ((size_t)b * c->hq + h) * c->sq[0] + i;
    const long nkeys = keys_seen(a, c, b, i);
    double peak = -INFINITY, sum = 0, worst;

    if (nkeys <= 0)
        return;
    for (long j = 0; j < nkeys; j++) {
        p[j] = factor * score(a, x->q, at(&x->lq, a->group, b, h, i), x->k,
                              at(&x->lk, a->group, b, hk, (unsigned)j));
        peak = fmax(peak, p[j]);
    }
    for (long j = 0; j < nkeys; j++)
        sum += p[j] = exp(p[j] - peak);
    worst = row_error(a, x, b, h, hk, i, p, sum, nkeys);
    if (!(worst <= 1))
        wrong(s,
              "batch %u heads %u/%u lengths %u/%u: row %u of head "
              "%u is off by %.3g times what rounding allows",
              c->nbatch, c->hq, c->hk, c->sq[b], c->sk[b], i, h, worst);
    if (c->lse && !(fabs((double)x->lse[at_lse] - (peak + log(sum))) <=
                    (is_fp8(a) ? 1e-2 : 2e-3)))
        wrong(s,
              "batch %u heads %u/%u lengths %u/%u: lse of row %u "
              "of head %u is %g, not %g",
              c->nbatch, c->hq, c->hk, c->sq[b], c->sk[b], i, h,
              (double)x->lse[at_lse], peak + log(sum));
}

static void run_case(struct subject *s, const struct attention *a,
                     const struct attention_case *c)
{
    const struct operands x = make_operands(a, c);
    double *p = aiter_host(sizeof(*p) * (x.rows_k + 1));

    run_kernel(s, a, c, &x);
    for (unsigned b = 0; b < c->nbatch; b++)
        for (unsigned h = 0; h < c->hq; h++)
            for (unsigned i = 0; i < c->sq[b]; i++)
                judge_row(s, a, c, &x, b, h, i, p);
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
