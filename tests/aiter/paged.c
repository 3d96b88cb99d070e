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

enum { MAX_BATCH = 4, MAX_LENGTH = 2048, MAX_WIDTH = 576 };

/* One head's query over `n` keys. */
struct question {
    const double *q;
    const double *k, *v; /* [n] rows, `stride` apart */
    const double *p_scale;
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

static void run_pa_case(struct subject *s, const struct pa *a, unsigned nheads,
                        unsigned nbatch, const unsigned *lengths)
{
    enum { D = 128 };
    const size_t width = type_nbytes(a->cache), x = 16 / width;
    const bool quantized = width == 1;
    unsigned most = 0, nblocks = 0, at = 0;
    uint32_t *table, starts[MAX_BATCH + 1], context[MAX_BATCH];
    const unsigned nq = nheads * a->gqa, nrows = nbatch * a->nnew;
    const double limit = quantized ? 0.12 : a->type == F16 ? 0.004 : 0.012;
    void *q, *k, *v, *on_device;
    float *ks, *vs;
    double *row_q, *rows_k, *rows_v, want[D], is[D];
    uint16_t *out = aiter_host(2ul * nrows * nq * D);

    for (unsigned b = 0; b < nbatch; b++) {
        const unsigned n = (lengths[b] + a->block - 1) / a->block;

        nblocks += n;
        most = n > most ? n : most;
        context[b] = lengths[b];
        starts[b] = b * a->nnew;
    }
    starts[nbatch] = nbatch * a->nnew;
    nblocks += 2;                /* that nobody uses */
    nblocks += nblocks % 7 == 0; /* makes block numbers differ */
    table = aiter_host(4ul * nbatch * most);
    for (unsigned b = 0; b < nbatch; b++)
        for (unsigned n = 0; n < (lengths[b] + a->block - 1) / a->block; n++)
            table[b * most + n] = (at++ * 7 + 3) % nblocks;
    q = random_values(a->type, (size_t)nrows * nq * D, 1);
    k = random_values(a->cache, (size_t)nblocks * nheads * a->block * D,
                      quantized ? 40 : 1);
    v = random_values(a->cache, (size_t)nblocks * nheads * a->block * D,
                      quantized ? 40 : 1);
    ks = aiter_host(4ul * nblocks * nheads * a->block);
    vs = aiter_host(4ul * nblocks * nheads * a->block);
    for (size_t n = 0; n < (size_t)nblocks * nheads * a->block; n++) {
        ks[n] = (float)(uniform(0.7, 1.4) / 40);
        vs[n] = (float)(uniform(0.7, 1.4) / 40);
    }
    on_device = aiter_device_filled(s, 0xff, 2ul * nrows * nq * D);
    {
        const size_t ncache = (size_t)nblocks * nheads * a->block * D * width;
        const size_t nscales = 4ul * nblocks * nheads * a->block;
        kpk_value values[] = {
            kpk_ptr(on_device),
            kpk_ptr(aiter_device(s, q, 2ul * nrows * nq * D)),
            kpk_ptr(aiter_device(s, k, ncache)),
            kpk_ptr(aiter_device(s, v, ncache)),
            kpk_ptr(aiter_device(s, table, 4ul * nbatch * most)),
            kpk_ptr(aiter_device(s, context, 4ul * nbatch)),
            kpk_ptr(quantized ? aiter_device(s, ks, nscales) : NULL),
            kpk_ptr(quantized ? aiter_device(s, vs, nscales) : NULL),
            kpk_f32((float)(1.4426950408889634 / sqrt(D))),
            kpk_u32(most),
            kpk_u32(nheads),
            kpk_u32(2 * nq * D),
            kpk_u32((uint32_t)(nheads * a->block * D * width)),
            kpk_u32((uint32_t)(a->block * D * width)),
            kpk_u32(a->nnew - 1),
            kpk_u32(a->gqa),
            kpk_ptr(aiter_device(s, starts, 4ul * (nbatch + 1)))};

        if (s->old) { /* the number of new tokens was not there */
            values[14] = values[15];
            values[15] = values[16];
        }
        aiter_launch(s, nheads, nbatch, 1, 256, values,
                     sizeof(values) / sizeof(values[0]) - s->old);
    }
    aiter_fetch(s, out, on_device, 2ul * nrows * nq * D);
    row_q = aiter_host(sizeof(double) * D);
    rows_k = aiter_host(sizeof(double) * D * MAX_LENGTH);
    rows_v = aiter_host(sizeof(double) * D * MAX_LENGTH);
    for (unsigned b = 0; b < nbatch; b++)
        for (unsigned h = 0; h < nheads; h++) {
            for (unsigned j = 0; j < lengths[b]; j++) {
                const size_t block = table[b * most + j / a->block];
                const size_t in = j % a->block, bh = block * nheads + h;
                const size_t token = bh * a->block + in;
                const double k_scale = quantized ? (double)ks[token] : 1;
                const double v_scale = quantized ? (double)vs[token] : 1;

                for (size_t d = 0; d < D; d++) {
                    const size_t at_k =
                        ((bh * (D / x) + d / x) * a->block + in) * x + d % x;
                    const size_t at_v =
                        ((bh * (a->block / x) + in / x) * D + d) * x + in % x;

                    rows_k[j * D + d] = k_scale * get(a->cache, k, at_k);
                    rows_v[j * D + d] = v_scale * get(a->cache, v, at_v);
                }
            }
            for (unsigned i = 0; i < a->nnew * a->gqa; i++) {
                const unsigned t = i / a->gqa;
                const size_t row =
                    (size_t)(b * a->nnew + t) * nq + h * a->gqa + i % a->gqa;
                const struct question ask = {
                    .q = row_q,
                    .k = rows_k,
                    .v = rows_v,
                    .n = lengths[b] - (a->causal ? a->nnew - 1 - t : 0),
                    .dqk = D,
                    .dv = D,
                    .stride = D,
                    .scale = 1 / sqrt(D)};

                for (unsigned d = 0; d < D; d++) {
                    row_q[d] = get(a->type, q, row * D + d);
                    is[d] = get(a->type, out, row * D + d);
                }
                answer(&ask, want);
                if (!(distance(is, want, D) <= limit))
                    wrong(s,
                          "%u heads, length %u, token %u, head %u: off by %.3g "
                          "(within %g)",
                          nq, lengths[b], t, h * a->gqa + i % a->gqa,
                          distance(is, want, D), limit);
            }
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

static void run_mla_case(struct subject *s, const struct mla *a,
                         unsigned nbatch, const unsigned *lengths,
                         unsigned nsplits)
{
    enum { DQK = 576, DV = 512 };
    const size_t width = type_nbytes(a->type);
    const bool fp8 = width == 1;
    const unsigned nrows = nbatch * a->nnew, nheads = a->gqa;
    const float scales[2] = {0.75f, a->unscaled ? 1 : 0.5f};
    const double limit = fp8 ? 0.08 : 0.012;
    uint32_t starts[MAX_BATCH + 1] = {0}, tokens[MAX_BATCH + 1] = {0};
    uint32_t splits[MAX_BATCH + 1] = {0}, last[MAX_BATCH], *pages;
    const size_t nparts = (size_t)nrows * nsplits * nheads;
    float *parts = aiter_host(4 * nparts * DV), *lse = aiter_host(4 * nparts);
    void *q, *cache, *out_parts, *out_lse;
    double *row_q, *rows, want[DV], is[DV];
    unsigned npages, npadding;

    for (unsigned b = 0; b < nbatch; b++) {
        starts[b + 1] = starts[b] + a->nnew;
        tokens[b + 1] = tokens[b] + lengths[b];
        splits[b + 1] = splits[b] + nsplits;
        last[b] = 1;
    }
    npages = tokens[nbatch] + 3; /* one token per page */
    while (npages % 11 == 0)
        npages++;
    npadding = nheads == 8;
    pages = aiter_host(4ul * tokens[nbatch]);
    for (unsigned j = 0; j < tokens[nbatch]; j++)
        pages[j] = (j * 11 + 5) % npages;
    /* Kernels for 8 heads read some bytes beyond the last row of Q, and of the
     * cache. */
    q = random_values(a->type, ((size_t)nrows * nheads + 16) * DQK, 1);
    cache = random_values(a->type, (size_t)(npages + npadding) * DQK, 1);
    out_parts = aiter_device_filled(s, 0, 4 * nparts * DV);
    out_lse = aiter_device_filled(s, 0xff, 4 * nparts);
    {
        const kpk_value values[] = {
            kpk_ptr(out_parts),
            kpk_ptr(out_lse),
            kpk_ptr(
                aiter_device(s, q,
                             ((size_t)nrows * nheads + (nheads == 8 ? 16 : 0)) *
                                 DQK * width)),
            kpk_ptr(aiter_device(s, cache,
                                 (size_t)(npages + npadding) * DQK * width)),
            kpk_ptr(aiter_device(s, tokens, 4ul * (nbatch + 1))),
            kpk_ptr(aiter_device(s, pages, 4ul * tokens[nbatch])),
            kpk_ptr(aiter_device(s, last, 4ul * nbatch)),
            kpk_f32((float)(1 / sqrt(DQK))),
            kpk_u32(a->gqa * (a->counts_heads ? 1 : a->nnew)),
            kpk_u32(nsplits),
            kpk_u32((uint32_t)(nheads * DQK * width * a->nnew)),
            kpk_u32((uint32_t)(DQK * width)),
            kpk_u32(0),
            kpk_ptr(aiter_device(s, starts, 4ul * (nbatch + 1))),
            kpk_ptr(aiter_device(s, splits, 4ul * (nbatch + 1))),
            kpk_ptr(NULL),
            kpk_ptr(fp8 ? aiter_device(s, &scales[0], 4) : NULL),
            kpk_ptr(fp8 ? aiter_device(s, &scales[1], 4) : NULL),
            kpk_u32(0),
            kpk_ptr(NULL),
            kpk_ptr(NULL),
            kpk_u32(1),
            kpk_u32(0)};

        aiter_launch(s, (a->nnew * a->gqa + a->tile - 1) / a->tile, nbatch,
                     nsplits, 256, values, sizeof(values) / sizeof(values[0]));
    }
    aiter_fetch(s, parts, out_parts, 4 * nparts * DV);
    aiter_fetch(s, lse, out_lse, 4 * nparts);
    row_q = aiter_host(sizeof(double) * DQK);
    rows = aiter_host(sizeof(double) * DQK * MAX_LENGTH);
    for (unsigned b = 0; b < nbatch; b++) {
        for (unsigned j = 0; j < lengths[b]; j++)
            for (size_t d = 0; d < DQK; d++)
                rows[j * DQK + d] =
                    (fp8 ? (double)scales[1] : 1) *
                    get(a->type, cache, (size_t)pages[tokens[b] + j] * DQK + d);
        for (unsigned i = 0; i < a->nnew * nheads; i++) {
            const unsigned t = i / nheads;
            const size_t row = (size_t)b * a->nnew * nheads + i;
            const struct question ask = {.q = row_q,
                                         .k = rows,
                                         .v = rows,
                                         .n = lengths[b] -
                                              (a->causal ? a->nnew - 1 - t : 0),
                                         .dqk = DQK,
                                         .dv = DV,
                                         .stride = DQK,
                                         .scale = 1 / sqrt(DQK)};
            double wanted_lse, sum = 0, most = -INFINITY;

            for (unsigned d = 0; d < DQK; d++)
                row_q[d] = (fp8 ? (double)scales[0] : 1) *
                           get(a->type, q, row * DQK + d);
            wanted_lse = answer(&ask, want);
            memset(is, 0, sizeof(is));
            for (unsigned k = 0; k < nsplits; k++)
                most = fmax(
                    most,
                    (double)
                        lse[((size_t)(b * a->nnew + t) * nsplits + k) * nheads +
                            i % nheads]);
            for (unsigned k = 0; k < nsplits; k++) {
                const size_t part =
                    ((size_t)(b * a->nnew + t) * nsplits + k) * nheads +
                    i % nheads;
                const double weight = exp((double)lse[part] - most);

                sum += weight;
                for (unsigned d = 0; d < DV; d++)
                    is[d] += weight * (double)parts[part * DV + d];
            }
            for (unsigned d = 0; d < DV; d++)
                is[d] /= sum;
            if (!(distance(is, want, DV) <= limit) ||
                !(fabs(most + log(sum) - wanted_lse) <= (fp8 ? 0.05 : 5e-3)))
                wrong(s,
                      "length %u, token %u, head %u: off by %.3g (within %g), "
                      "lse %g, not %g",
                      lengths[b], t, i % nheads, distance(is, want, DV), limit,
                      most + log(sum), wanted_lse);
        }
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
