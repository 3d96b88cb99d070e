/* paged.c - attention of one or a few new tokens over a paged cache: pa, mla
 *
 * pa: keys lie as [block][head][d / x][token][x], values as
 * [block][head][token / x][d][x], x values taking 16 bytes. In names: the type
 * of Q; noquant, pertokenFp8, pertokenInt8: how the cache is stored, with a
 * scale for each token and head; gqaN: query heads of each head; mtp: several
 * new tokens, msk1: of which each sees those before it; hp, uhp: precision.
 *
 * mla: the cache has one head of 576 values, of which 512 are the value too. In
 * names: aNwM: bits of Q and of the cache; gqa; qseqlen: new tokens; mask0,
 * msk0: all see all. A kernel computes parts of the sequence, and the host
 * joins the parts by their logarithms of sums.
 */
#include "aiter.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BATCH = 4, MAX_LENGTH = 2048 };

/* One head's query over `n` keys. */
struct question {
    const double *q;
    const double *k, *v; /* [n] rows, `stride` apart */
    unsigned n, dqk, dv, stride;
    double scale;
};

/* Computes attention into `out`; returns log(sum). n is not 0. */
static double answer(const struct question *x, double *out)
{
    static double p[MAX_LENGTH];
    double peak = -INFINITY, sum = DBL_MIN;

    for (unsigned j = 0; j < x->n; j++) {
        p[j] = 0;
        for (unsigned d = 0; d < x->dqk; d++)
            p[j] += x->q[d] * x->k[(size_t)j * x->stride + d];
        p[j] *= x->scale;
        peak = fmax(peak, p[j]);
    }
    for (unsigned j = 0; j < x->n; j++)
        sum += p[j] = exp(p[j] - peak);
    memset(out, 0, sizeof(*out) * x->dv);
    for (unsigned j = 0; j < x->n; j++)
        for (unsigned d = 0; d < x->dv; d++)
            out[d] += p[j] / sum * x->v[(size_t)j * x->stride + d];
    return peak + log(sum);
}

/* How far a vector is off, by its length. */
static double distance(const double *is, const double *want, unsigned n)
{
    double off = 0, size = 0;

    for (unsigned d = 0; d < n; d++) {
        off += (is[d] - want[d]) * (is[d] - want[d]);
        size += want[d] * want[d];
    }
    return sqrt(off / size);
}

/* ---- pa ---- */

struct pa {
    enum type type, cache;
    unsigned gqa, block, nnew;
    bool causal;
};

enum { D = 128 };

/* A case: sequences in a cache of blocks, new tokens, and results. */
struct pa_case {
    unsigned nheads, nbatch; /* heads of the cache, sequences */
    const unsigned *lengths;
    unsigned nq, nrows;     /* heads of Q, new tokens */
    unsigned most, nblocks; /* blocks of the longest sequence, of the cache */
    uint32_t *table, starts[MAX_BATCH + 1], context[MAX_BATCH];
    void *q, *k, *v;
    float *ks, *vs; /* scales */
    uint16_t *out;
};

static bool is_quantized(const struct pa *a)
{
    return type_nbytes(a->cache) == 1;
}

static unsigned blocks_of(const struct pa *a, unsigned length)
{
    return (length + a->block - 1) / a->block;
}

/* Deals the cache's blocks to the sequences, neighbours far apart. */
static void deal_blocks(const struct pa *a, struct pa_case *c)
{
    unsigned at = 0;

    for (unsigned b = 0; b < c->nbatch; b++) {
        const unsigned n = blocks_of(a, c->lengths[b]);

        c->nblocks += n;
        c->most = n > c->most ? n : c->most;
        c->context[b] = c->lengths[b];
        c->starts[b] = b * a->nnew;
    }
    c->starts[c->nbatch] = c->nbatch * a->nnew;
    c->nblocks += 2;                   /* that nobody uses */
    c->nblocks += c->nblocks % 7 == 0; /* makes block numbers differ */
    c->table = aiter_host(4ul * c->nbatch * c->most);
    for (unsigned b = 0; b < c->nbatch; b++)
        for (unsigned n = 0; n < blocks_of(a, c->lengths[b]); n++)
            c->table[b * c->most + n] = (at++ * 7 + 3) % c->nblocks;
}

static struct pa_case make_pa_case(const struct pa *a, unsigned nheads,
                                   unsigned nbatch, const unsigned *lengths)
{
    struct pa_case c = {.nheads = nheads,
                        .nbatch = nbatch,
                        .lengths = lengths,
                        .nq = nheads * a->gqa,
                        .nrows = nbatch * a->nnew};
    const double deviation = is_quantized(a) ? 40 : 1;
    size_t ntokens;

    c.out = aiter_host(2ul * c.nrows * c.nq * D);
    deal_blocks(a, &c);
    ntokens = (size_t)c.nblocks * nheads * a->block;
    c.q = random_values(a->type, (size_t)c.nrows * c.nq * D, 1);
    c.k = random_values(a->cache, ntokens * D, deviation);
    c.v = random_values(a->cache, ntokens * D, deviation);
    c.ks = aiter_host(4 * ntokens);
    c.vs = aiter_host(4 * ntokens);
    for (size_t n = 0; n < ntokens; n++) {
        c.ks[n] = (float)(uniform(0.7, 1.4) / 40);
        c.vs[n] = (float)(uniform(0.7, 1.4) / 40);
    }
    return c;
}

static void launch_pa(struct subject *s, const struct pa *a,
                      const struct pa_case *c)
{
    const size_t width = type_nbytes(a->cache);
    const size_t nscales = 4ul * c->nblocks * c->nheads * a->block;
    const size_t ncache = nscales / 4 * D * width;
    const size_t nout = 2ul * c->nrows * c->nq * D;
    void *out = aiter_device_filled(s, 0xff, nout);
    kpk_value values[] = {
        kpk_ptr(out),
        kpk_ptr(aiter_device(s, c->q, nout)),
        kpk_ptr(aiter_device(s, c->k, ncache)),
        kpk_ptr(aiter_device(s, c->v, ncache)),
        kpk_ptr(aiter_device(s, c->table, 4ul * c->nbatch * c->most)),
        kpk_ptr(aiter_device(s, c->context, 4ul * c->nbatch)),
        kpk_ptr(is_quantized(a) ? aiter_device(s, c->ks, nscales) : NULL),
        kpk_ptr(is_quantized(a) ? aiter_device(s, c->vs, nscales) : NULL),
        kpk_f32((float)(1.4426950408889634 / sqrt(D))),
        kpk_u32(c->most),
        kpk_u32(c->nheads),
        kpk_u32(2 * c->nq * D),
        kpk_u32((uint32_t)(c->nheads * a->block * D * width)),
        kpk_u32((uint32_t)(a->block * D * width)),
        kpk_u32(a->nnew - 1),
        kpk_u32(a->gqa),
        kpk_ptr(aiter_device(s, c->starts, 4ul * (c->nbatch + 1)))};

    if (s->old) { /* the number of new tokens was not there */
        values[14] = values[15];
        values[15] = values[16];
    }
    aiter_launch(s, c->nheads, c->nbatch, 1, 256, values,
                 sizeof(values) / sizeof(values[0]) - s->old);
    aiter_fetch(s, c->out, out, nout);
}

/* K and V of a sequence's head, a row a token. */
static void read_cache(const struct pa *a, const struct pa_case *c, unsigned b,
                       unsigned h, double *rows_k, double *rows_v)
{
    const size_t x = 16 / type_nbytes(a->cache);

    for (unsigned j = 0; j < c->lengths[b]; j++) {
        const size_t block = c->table[b * c->most + j / a->block];
        const size_t in = j % a->block, bh = block * c->nheads + h;
        const size_t token = bh * a->block + in;
        const double k_scale = is_quantized(a) ? (double)c->ks[token] : 1;
        const double v_scale = is_quantized(a) ? (double)c->vs[token] : 1;

        for (size_t d = 0; d < D; d++) {
            const size_t at_k =
                ((bh * (D / x) + d / x) * a->block + in) * x + d % x;
            const size_t at_v =
                ((bh * (a->block / x) + in / x) * D + d) * x + in % x;

            rows_k[j * D + d] = k_scale * get(a->cache, c->k, at_k);
            rows_v[j * D + d] = v_scale * get(a->cache, c->v, at_v);
        }
    }
}

/* Checks the query heads of the cache's head h, for the new tokens of sequence
 * b. */
static void judge_pa(struct subject *s, const struct pa *a,
                     const struct pa_case *c, unsigned b, unsigned h,
                     const double *rows_k, const double *rows_v)
{
    const double limit = is_quantized(a)  ? 0.12
                         : a->type == F16 ? 0.004
                                          : 0.012;
    double row_q[D], want[D], is[D];

    for (unsigned i = 0; i < a->nnew * a->gqa; i++) {
        const unsigned t = i / a->gqa, head = h * a->gqa + i % a->gqa;
        const size_t row = (size_t)(b * a->nnew + t) * c->nq + head;
        const struct question ask = {.q = row_q,
                                     .k = rows_k,
                                     .v = rows_v,
                                     .n = c->lengths[b] -
                                          (a->causal ? a->nnew - 1 - t : 0),
                                     .dqk = D,
                                     .dv = D,
                                     .stride = D,
                                     .scale = 1 / sqrt(D)};

        for (unsigned d = 0; d < D; d++) {
            row_q[d] = get(a->type, c->q, row * D + d);
            is[d] = get(a->type, c->out, row * D + d);
        }
        answer(&ask, want);
        if (!(distance(is, want, D) <= limit))
            wrong(s,
                  "%u heads, length %u, token %u, head %u: off by %.3g "
                  "(within %g)",
                  c->nq, c->lengths[b], t, head, distance(is, want, D), limit);
    }
}

static void run_pa_case(struct subject *s, const struct pa *a, unsigned nheads,
                        unsigned nbatch, const unsigned *lengths)
{
    const struct pa_case c = make_pa_case(a, nheads, nbatch, lengths);
    double *rows_k = aiter_host(sizeof(double) * D * MAX_LENGTH);
    double *rows_v = aiter_host(sizeof(double) * D * MAX_LENGTH);

    launch_pa(s, a, &c);
    for (unsigned b = 0; b < nbatch; b++)
        for (unsigned h = 0; h < nheads; h++) {
            read_cache(a, &c, b, h, rows_k, rows_v);
            judge_pa(s, a, &c, b, h, rows_k, rows_v);
        }
    aiter_forget(s);
}

void run_pa(struct subject *s)
{
    static const unsigned one[] = {130}, several[] = {37, 300, 16, 77};
    static const unsigned longer[] = {1030, 512};
    struct pa a = {.type = has(s, "pa_fp16") ? F16 : BF16,
                   .gqa = number_behind(s, "gqa", 0),
                   .block = has(s, "gqa10") ? 1024 : 16,
                   .nnew = number_behind(s, "qlen", 1),
                   .causal = has(s, "msk1")};

    if (has(s, "_ps"))
        left_out("persistent kernels need a list of work, made by AITER");
    if (!a.gqa)
        left_out("its name does not say what it is");
    a.cache = has(s, "Int8")  ? INT8
              : has(s, "Fp8") ? (s->gfx950 ? FP8 : FP8_FNUZ)
                              : a.type;
    if (has(s, "mtp") && a.gqa == 8)
        a.nnew = 2;
    run_pa_case(s, &a, 1, 1, one);
    run_pa_case(s, &a, 2, a.block == 16 ? 4 : 2,
                a.block == 16 ? several : longer);
}

/* ---- mla ---- */

struct mla {
    enum type type;
    unsigned gqa, nnew, tile;
    bool causal, counts_heads; /* s_MQA is gqa alone */
    bool unscaled;             /* values are not multiplied by their scale */
};

enum { DQK = 576, DV = 512 };

/* A case: sequences in a cache of a token a page, new tokens, and results, in
 * nsplits parts of each sequence. */
struct mla_case {
    unsigned nbatch, nsplits;
    const unsigned *lengths;
    unsigned npages, npadding;
    size_t nrows, nparts; /* new tokens' heads; the same in parts */
    uint32_t starts[MAX_BATCH + 1], tokens[MAX_BATCH + 1];
    uint32_t splits[MAX_BATCH + 1], last[MAX_BATCH], *pages;
    void *q, *cache;
    float scales[2]; /* Q's, the cache's */
    float *parts, *lse;
};

static bool is_fp8(const struct mla *a)
{
    return type_nbytes(a->type) == 1;
}

static struct mla_case make_mla_case(const struct mla *a, unsigned nbatch,
                                     const unsigned *lengths, unsigned nsplits)
{
    struct mla_case c = {.nbatch = nbatch,
                         .nsplits = nsplits,
                         .lengths = lengths,
                         .nrows = (size_t)nbatch * a->nnew * a->gqa,
                         .npadding = a->gqa == 8,
                         .scales = {0.75f, a->unscaled ? 1 : 0.5f}};

    c.nparts = c.nrows * nsplits;
    c.parts = aiter_host(4 * c.nparts * DV);
    c.lse = aiter_host(4 * c.nparts);
    for (unsigned b = 0; b < nbatch; b++) {
        c.starts[b + 1] = c.starts[b] + a->nnew;
        c.tokens[b + 1] = c.tokens[b] + lengths[b];
        c.splits[b + 1] = c.splits[b] + nsplits;
        c.last[b] = 1;
    }
    c.npages = c.tokens[nbatch] + 3; /* one token per page */
    while (c.npages % 11 == 0)
        c.npages++;
    c.pages = aiter_host(4ul * c.tokens[nbatch]);
    for (unsigned j = 0; j < c.tokens[nbatch]; j++)
        c.pages[j] = (j * 11 + 5) % c.npages;
    /* Kernels for 8 heads read some bytes beyond the last row of Q, and of the
     * cache. */
    c.q = random_values(a->type, (c.nrows + 16) * DQK, 1);
    c.cache = random_values(a->type, (size_t)(c.npages + c.npadding) * DQK, 1);
    return c;
}

static void launch_mla(struct subject *s, const struct mla *a,
                       const struct mla_case *c)
{
    const size_t width = type_nbytes(a->type);
    const unsigned nbatch = c->nbatch;
    const size_t nq = c->nrows + (c->npadding ? 16 : 0);
    void *parts = aiter_device_filled(s, 0, 4 * c->nparts * DV);
    void *lse = aiter_device_filled(s, 0xff, 4 * c->nparts);
    const kpk_value values[] = {
        kpk_ptr(parts),
        kpk_ptr(lse),
        kpk_ptr(aiter_device(s, c->q, nq * DQK * width)),
        kpk_ptr(aiter_device(s, c->cache,
                             (size_t)(c->npages + c->npadding) * DQK * width)),
        kpk_ptr(aiter_device(s, c->tokens, 4ul * (nbatch + 1))),
        kpk_ptr(aiter_device(s, c->pages, 4ul * c->tokens[nbatch])),
        kpk_ptr(aiter_device(s, c->last, 4ul * nbatch)),
        kpk_f32((float)(1 / sqrt(DQK))),
        kpk_u32(a->gqa * (a->counts_heads ? 1 : a->nnew)),
        kpk_u32(c->nsplits),
        kpk_u32((uint32_t)(a->gqa * DQK * width * a->nnew)),
        kpk_u32((uint32_t)(DQK * width)),
        kpk_u32(0),
        kpk_ptr(aiter_device(s, c->starts, 4ul * (nbatch + 1))),
        kpk_ptr(aiter_device(s, c->splits, 4ul * (nbatch + 1))),
        kpk_ptr(NULL),
        kpk_ptr(is_fp8(a) ? aiter_device(s, &c->scales[0], 4) : NULL),
        kpk_ptr(is_fp8(a) ? aiter_device(s, &c->scales[1], 4) : NULL),
        kpk_u32(0),
        kpk_ptr(NULL),
        kpk_ptr(NULL),
        kpk_u32(1),
        kpk_u32(0)};

    aiter_launch(s, (a->nnew * a->gqa + a->tile - 1) / a->tile, nbatch,
                 c->nsplits, 256, values, sizeof(values) / sizeof(values[0]));
    aiter_fetch(s, c->parts, parts, 4 * c->nparts * DV);
    aiter_fetch(s, c->lse, lse, 4 * c->nparts);
}

/* A head's result out of its parts, the first of which is `first`; they lie
 * gqa apart. Returns the logarithm of the sum. */
static double join(const struct mla *a, const struct mla_case *c, size_t first,
                   double *is)
{
    double most = -INFINITY, sum = DBL_MIN; /* nsplits > 0 */

    for (unsigned k = 0; k < c->nsplits; k++)
        most = fmax(most, (double)c->lse[first + (size_t)k * a->gqa]);
    memset(is, 0, sizeof(*is) * DV);
    for (unsigned k = 0; k < c->nsplits; k++) {
        const size_t part = first + (size_t)k * a->gqa;
        const double weight = exp((double)c->lse[part] - most);

        sum += weight;
        for (unsigned d = 0; d < DV; d++)
            is[d] += weight * (double)c->parts[part * DV + d];
    }
    for (unsigned d = 0; d < DV; d++)
        is[d] /= sum;
    return most + log(sum);
}

/* Checks the heads of the new tokens of sequence b; rows holds its cache. */
static void judge_mla(struct subject *s, const struct mla *a,
                      const struct mla_case *c, unsigned b, const double *rows)
{
    const double limit = is_fp8(a) ? 0.08 : 0.012;
    double row_q[DQK], want[DV], is[DV];

    for (unsigned i = 0; i < a->nnew * a->gqa; i++) {
        const unsigned t = i / a->gqa, head = i % a->gqa;
        const size_t token = (size_t)b * a->nnew + t;
        const struct question ask = {.q = row_q,
                                     .k = rows,
                                     .v = rows,
                                     .n = c->lengths[b] -
                                          (a->causal ? a->nnew - 1 - t : 0),
                                     .dqk = DQK,
                                     .dv = DV,
                                     .stride = DQK,
                                     .scale = 1 / sqrt(DQK)};
        double wanted_lse, lse;

        for (unsigned d = 0; d < DQK; d++)
            row_q[d] = (is_fp8(a) ? (double)c->scales[0] : 1) *
                       get(a->type, c->q, (token * a->gqa + head) * DQK + d);
        wanted_lse = answer(&ask, want);
        lse = join(a, c, token * c->nsplits * a->gqa + head, is);
        if (!(distance(is, want, DV) <= limit) ||
            !(fabs(lse - wanted_lse) <= (is_fp8(a) ? 0.05 : 5e-3)))
            wrong(s,
                  "length %u, token %u, head %u: off by %.3g (within %g), "
                  "lse %g, not %g",
                  c->lengths[b], t, head, distance(is, want, DV), limit, lse,
                  wanted_lse);
    }
}

static void run_mla_case(struct subject *s, const struct mla *a,
                         unsigned nbatch, const unsigned *lengths,
                         unsigned nsplits)
{
    const struct mla_case c = make_mla_case(a, nbatch, lengths, nsplits);
    double *rows = aiter_host(sizeof(double) * DQK * MAX_LENGTH);

    launch_mla(s, a, &c);
    for (unsigned b = 0; b < nbatch; b++) {
        for (unsigned j = 0; j < lengths[b]; j++)
            for (size_t d = 0; d < DQK; d++)
                rows[j * DQK + d] =
                    (is_fp8(a) ? (double)c.scales[1] : 1) *
                    get(a->type, c.cache,
                        (size_t)c.pages[c.tokens[b] + j] * DQK + d);
        judge_mla(s, a, &c, b, rows);
    }
    aiter_forget(s);
}

void run_mla(struct subject *s)
{
    static const unsigned one[] = {300}, several[] = {129, 257};
    struct mla a = {.type = !has(s, "a8w8") ? BF16
                            : s->gfx950     ? FP8
                                            : FP8_FNUZ,
                    .gqa = 16,
                    .nnew = number_behind(s, "qseqlen", 1),
                    .tile = 128,
                    .causal = !has(s, "msk0")};

    if (has(s, "pfl"))
        left_out("there is no reference for prefill in pieces");
    if (has(s, "_ps"))
        left_out("persistent kernels need a list of work, made by AITER");
    if (has(s, "a16w8"))
        left_out("there is no reference for a cache of mixed types");
    if (has(s, "gqaratio"))
        a.gqa = number_behind(s, "gqaratio", 0);
    else if (has(s, "mqa"))
        a.gqa = number_behind(s, "mqa", 0);
    else if (has(s, "qh128"))
        a.gqa = 128;
    else if (has(s, "1TG"))
        a.gqa = has(s, "64mx1") ? 64 : 32;
    else if (has(s, "m16x4"))
        a.nnew = 4;
    else if (has(s, "m32x4"))
        a.nnew = 8;
    else
        left_out("its name does not say what it is");
    if (has(s, "subQ"))
        a.tile = number_behind(s, "subQ", 0);
    else if (a.gqa == 32 || a.gqa == 64 || has(s, "qh64"))
        a.tile = 64;
    else if (a.gqa == 8)
        a.tile = 8 * a.nnew;
    if (has(s, "qseqlen2_gqaratio8") && !has(s, "causal"))
        a.causal = false;
    a.unscaled = has(s, "a8w8_qh8_qseqlen1_gqaratio8_v1");
    a.counts_heads = a.gqa == 8 && a.nnew == 2;
    run_mla_case(s, &a, 1, one, 2);
    run_mla_case(s, &a, 2, several, 2);
}
