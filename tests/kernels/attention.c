/* attention.c - softmax(scale Q K^T + mask) V against double, and rows of
 * caches
 *
 * Tensors end where their last element does, and pages that no table names hold
 * NaN, so that the simulated GPU and the results show what is read beside what
 * lengths, windows and tables name. Bytes of O between rows must stay.
 */
#include "../../kernels/host/attention_args.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const kpk_module kpk_module_attention;

enum { MOST_B = 4, MOST_D = 576 };

enum cache { PLAIN, Q8_0, Q4_0 };

/* The kernel of a row. */
struct kind {
    uint32_t d;
    bool decode;
    enum cache cache;
    bool second; /* attention2_*, whose d is up to 512 for V */
};

enum layout {
    ROWS,   /* [b, seqlen, heads, d] */
    HEADS,  /* [b, heads, seqlen, d] */
    GAPS,   /* the first, with room between heads, rows and sequences */
    UPWARD, /* the first, with rows from the last one on */
};

enum numbers { SMALL, RISING, LARGE, SPECIAL };

/* f16 numbers, for all heads together or for each head */
enum mask { NO_MASK, SHARED_MASK, HEADS_MASK };

struct problem {
    const char *what;
    uint32_t h, h_k, d;
    uint32_t b, nq[MOST_B], nk[MOST_B];
    bool varlen; /* cu_seqlens instead of batches */
    int32_t left, right;
    float scale, softcap;
    bool alibi;
    uint32_t page; /* 0: not paged */
    const int32_t *ranges;
    uint32_t num_ranges, splits;
    enum layout layout;
    enum numbers numbers;
    size_t lead;      /* elements that pointers are off alignment */
    unsigned grid[3]; /* 0: the number of blocks */
    bool lse, unpadded;
    double scale_of_q;
    uint32_t d_v; /* 0: d */
    bool sinks;
    enum mask mask;
};

static uint32_t width_of_v(const struct problem *p)
{
    return p->d_v ? p->d_v : p->d;
}

/* ---- one of Q, K, V and O in memory ---- */

struct tensor {
    int64_t batch, row, head; /* elements */
    size_t extent, first;     /* elements; the first one's place */
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct tensor make_tensor(enum layout layout, uint32_t batches,
                                 uint32_t rows, uint32_t heads, uint32_t d,
                                 uint32_t align)
{
    const int64_t gap = layout == GAPS ? (int64_t)align : 0;
    struct tensor t = {0, 0, 0, 0, 0};

    if (layout == HEADS) {
        t.row = d, t.head = (int64_t)d * rows, t.batch = t.head * heads;
    } else {
        t.head = d + gap;
        t.row = t.head * heads + 3 * gap;
        t.batch = t.row * rows + gap;
    }
    if (batches && rows && heads)
        t.extent = (size_t)(t.batch * (batches - 1) + t.row * (rows - 1) +
                            t.head * (heads - 1) + d);
    if (layout == UPWARD && rows) {
        t.first = (size_t)(t.row * (rows - 1));
        t.row = -t.row;
    }
    return t;
}

static size_t at(const struct tensor *t, int64_t b, int64_t row, int64_t head,
                 int64_t e)
{
    return (size_t)((int64_t)t->first + b * t->batch + row * t->row +
                    head * t->head + e);
}

/* ---- blocks of 32 ---- */

static const struct {
    size_t nbytes;
} blocks[] = {[Q8_0] = {34}, [Q4_0] = {18}};

static size_t cache_nbytes(enum cache cache, enum kt_type type, size_t n)
{
    return cache == PLAIN ? n * kt_size(type)
                          : (n + 31) / 32 * blocks[cache].nbytes;
}

/* Element i, rounded to a type as the kernel does. */
static double cached(enum cache cache, enum kt_type type, const uint8_t *data,
                     size_t i)
{
    const uint8_t *block;
    uint64_t code;
    int q;

    if (cache == PLAIN)
        return (double)kt_get(type, data, i);
    block = data + i / 32 * blocks[cache].nbytes;
    q = cache == Q8_0 ? (int8_t)block[2 + i % 32]
                      : (block[2 + i % 16] >> (i % 32 / 16 * 4) & 15) - 8;
    code = kt_encode(type, kt_get(KT_F16, block, 0) * q);
    return (double)kt_get(type, &code, 0);
}

/* ---- the problem ---- */

struct run {
    struct kt *t;
    const struct kt_row *row;
    const struct kind *kind;
    const struct problem *p;
    struct tensor q, k, v, o;
    uint32_t most_q, most_k, total_q, total_k, pages; /* of a sequence */
    int32_t cu_q[MOST_B + 1], cu_k[MOST_B + 1];
    int32_t *table;
    uint8_t *data[3]; /* Q, K and V */
    float *slopes, *sinks;
    uint8_t *mask;
    int64_t mask_row, mask_head, mask_batch;
};

/* The number of an NVIDIA target; 0 on AMD. */
static unsigned sm_of(const struct kt *t)
{
    unsigned n = 0;

    return sscanf(t->target, "%*[a-z]_%u", &n) == 1 ? n : 0;
}

/* The type to which K and V in blocks are rounded. */
static enum kt_type cached_type(const struct run *r)
{
    return sm_of(r->t) >= 80 && r->kind->d <= 256 ? KT_F16 : r->row->a;
}

static void set_lengths(struct run *r)
{
    const struct problem *p = r->p;

    for (uint32_t i = 0; i < p->b; i++) {
        r->most_q = (uint32_t)larger(r->most_q, p->nq[i]);
        r->most_k = (uint32_t)larger(r->most_k, p->nk[i]);
        r->cu_q[i + 1] = r->cu_q[i] + (int32_t)p->nq[i];
        r->cu_k[i + 1] = r->cu_k[i] + (int32_t)p->nk[i];
    }
    r->total_q = p->varlen ? (uint32_t)r->cu_q[p->b] : p->b * r->most_q;
    r->total_k = (uint32_t)r->cu_k[p->b];
    if (p->page)
        r->pages = (r->most_k + p->page - 1) / p->page + 1;
}

static size_t q_at(const struct run *r, const struct tensor *t, uint32_t b,
                   uint32_t row, uint32_t head, uint32_t e)
{
    if (r->p->varlen)
        return at(t, 0, r->cu_q[b] + (int64_t)row, head, e);
    return at(t, b, row, head, e);
}

/* an element's place in K or V */
static size_t k_at(const struct run *r, const struct tensor *t, uint32_t b,
                   uint32_t key, uint32_t head, uint32_t e)
{
    const struct problem *p = r->p;

    if (p->page)
        return at(t, r->table[b * r->pages + key / p->page], key % p->page,
                  head, e);
    if (p->varlen)
        return at(t, 0, r->cu_k[b] + (int64_t)key, head, e);
    return at(t, b, key, head, e);
}

/* The first key that any query's window has: pages before may be gone. */
static uint32_t first_seen(const struct problem *p, uint32_t b)
{
    const int64_t first = (int64_t)p->nk[b] - p->nq[b] - p->left;

    return p->left < 0 || p->ranges || first < 0 ? 0 : (uint32_t)first;
}

/* Pages in random order; every third page is unused. */
static uint32_t make_table(struct run *r)
{
    const struct problem *p = r->p;
    const uint32_t n = p->b * r->pages;
    uint64_t seed = 7;
    uint32_t used = 0;

    r->table = kt_alloc(r->t, (n + 1) * sizeof(*r->table));
    for (uint32_t i = 0; i < n; i++)
        r->table[i] = (int32_t)(i + i / 2);
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = (uint32_t)(kt_random(&seed) % i);
        const int32_t v = r->table[i - 1];

        r->table[i - 1] = r->table[j], r->table[j] = v;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = i / r->pages, key = i % r->pages * p->page;

        used = (uint32_t)larger(used, r->table[i]);
        if (key >= p->nk[b] || key + p->page <= first_seen(p, b))
            r->table[i] = -1000000;
    }
    return used + 1;
}

static void put(struct run *r, unsigned which, size_t i, double v)
{
    kt_put(r->row->a, r->data[which], i, (kt_real)v);
}

static void make_numbers(struct run *r)
{
    const struct problem *p = r->p;
    const enum kt_type type = r->row->a;
    const enum cache cache = r->kind->cache;
    const double scale_of_q = p->scale_of_q != 0 ? p->scale_of_q : 1;

    r->data[0] = kt_host(r->t, type, r->q.extent, KT_SMALL, 1);
    for (unsigned i = 1; i < 3; i++) {
        const size_t extent = i == 1 ? r->k.extent : r->v.extent;

        if (cache == PLAIN) {
            r->data[i] = kt_host(r->t, type, extent, KT_SMALL, 1 + i);
        } else {
            const size_t n = cache_nbytes(cache, type, extent);
            const size_t each = blocks[cache].nbytes;
            uint64_t seed = i;

            r->data[i] = kt_alloc(r->t, n);
            for (size_t j = 0; j < n; j++)
                r->data[i][j] = (uint8_t)kt_random(&seed);
            for (size_t j = 0; j + each <= n; j += each)
                kt_put(KT_F16, r->data[i] + j, 0,
                       (cache == Q8_0 ? 0.03L : 0.4L) *
                           (kt_real)(kt_random(&seed) % 64 + 1) / 64);
        }
    }
    if (scale_of_q != 1)
        for (size_t i = 0; i < r->q.extent; i++)
            put(r, 0, i, (double)kt_get(type, r->data[0], i) * scale_of_q);
    if (cache != PLAIN)
        return;
    /* NaN in all of K and V, then the rows: no kernel may read between rows */
    for (unsigned i = 1; i < 3; i++) {
        const struct tensor *const t = i == 1 ? &r->k : &r->v;
        uint8_t *all = kt_alloc(r->t, t->extent * kt_size(type) + 1);

        memcpy(all, r->data[i], t->extent * kt_size(type));
        for (size_t j = 0; j < t->extent; j++)
            put(r, i, j, NAN);
        for (uint32_t b = 0; b < p->b; b++)
            for (uint32_t key = first_seen(p, b); key < p->nk[b]; key++)
                for (uint32_t h = 0; h < p->h_k; h++)
                    for (uint32_t e = 0; e < (i == 1 ? p->d : width_of_v(p));
                         e++) {
                        const size_t j = k_at(r, t, b, key, h, e);
                        double v = (double)kt_get(type, all, j);

                        /* every few keys a new maximum */
                        if (p->numbers == RISING && i == 1)
                            v = (key % 7 ? 0.25 : 1) * key / 16.0;
                        put(r, i, j, v);
                    }
    }
    if (p->numbers == RISING)
        for (size_t i = 0; i < r->q.extent; i++)
            put(r, 0, i, fabs((double)kt_get(type, r->data[0], i)) / 4);
    if (p->numbers == SPECIAL) {
        put(r, 0, q_at(r, &r->q, 0, p->nq[0] / 2, 0, 1), NAN);
        put(r, 0, q_at(r, &r->q, 0, 0, p->h - 1, 0), INFINITY);
        put(r, 1, k_at(r, &r->k, 0, p->nk[0] - 1, 0, p->d - 1), -INFINITY);
        put(r, 1, k_at(r, &r->k, 0, p->nk[0] / 2, p->h_k - 1, 0), 0);
    }
}

/* Sinks: none, small ones, one above all scores. */
static void make_sinks(struct run *r)
{
    static const float values[] = {0.5f, -INFINITY, 3, 1e4f, -1e30f};

    r->sinks = kt_alloc(r->t, r->p->h * sizeof(float) + 1);
    for (uint32_t i = 0; i < r->p->h; i++)
        r->sinks[i] = values[i % 5];
}

static size_t mask_at(const struct run *r, uint32_t b, uint32_t row,
                      uint32_t head, uint32_t key)
{
    return (size_t)(b * r->mask_batch + row * r->mask_row +
                    head * r->mask_head + key);
}

/* A sixth of the keys is hidden, all of some rows are; NaN where a sequence has
 * no row or no key, and between rows. */
static size_t make_mask(struct run *r)
{
    const struct problem *p = r->p;
    const uint32_t heads = p->mask == HEADS_MASK ? p->h : 1;
    uint64_t seed = 5;
    size_t n;

    r->mask_row = (int64_t)r->most_k + 3;
    r->mask_head = heads > 1 ? r->mask_row * r->most_q : 0;
    r->mask_batch = r->mask_row * r->most_q * heads;
    n = (size_t)(r->mask_batch * p->b);
    n = n > 3 ? n - 3 : 0; /* it ends with the last key */
    r->mask = kt_alloc(r->t, n * 2 + 1);
    for (size_t i = 0; i < n; i++)
        kt_put(KT_F16, r->mask, i, NAN);
    for (uint32_t b = 0; b < p->b; b++)
        for (uint32_t head = 0; head < heads; head++)
            for (uint32_t row = 0; row < p->nq[b]; row++)
                for (uint32_t key = 0; key < p->nk[b]; key++) {
                    const uint64_t v = kt_random(&seed) % 6;

                    kt_put(KT_F16, r->mask, mask_at(r, b, row, head, key),
                           v == 0 || row % 5 == 2 ? -INFINITY
                                                  : -(kt_real)(v - 1) / 2);
                }
    return n;
}

static bool sees(const struct problem *p, uint32_t b, int64_t position,
                 int64_t key)
{
    if ((p->left < 0 || key >= position - p->left) &&
        (p->right < 0 || key <= position + p->right))
        return true;
    for (uint32_t i = 0; i < p->num_ranges; i++) {
        const int32_t *range = p->ranges + (b * p->num_ranges + i) * 2;

        if (position >= range[0] && position < range[1] && key >= range[0] &&
            key < range[1])
            return true;
    }
    return false;
}

/* A row's result and how far off it may be; the same of the log of its sums. */
struct answer {
    double *value, *off; /* [d] */
    double lse, lse_off;
};

/* A query's head over n keys. Of its keys: x, scores, -INFINITY for a key that
 * it does not see; top, the largest score; off, the most that one is off. */
struct question {
    uint32_t b, row, head, h_k, n;
    double *x, top, off;
};

/* A score behind its mask or ALiBi; *o: how far it is off. */
static double biased(const struct run *r, const struct question *ask,
                     uint32_t key, double score, double *o)
{
    const struct problem *p = r->p;
    const double eps = (double)kt_eps(KT_F32);
    const double slope = p->alibi ? r->slopes[ask->b * p->h + ask->head] : 1;

    if (p->mask) {
        const double by = slope * (double)kt_get(KT_F16, r->mask,
                                                 mask_at(r, ask->b, ask->row,
                                                         ask->head, key));

        score += by;
        *o += 2 * eps * fabs(by) + 2 * eps * fabs(score);
    } else if (p->alibi) {
        const int64_t position = (int64_t)ask->row + ask->n - p->nq[ask->b];
        const double by = slope * fabs((double)(position - key));

        score -= by;
        *o += 2 * eps * by + 2 * eps * fabs(score);
    }
    return score;
}

static void score_keys(const struct run *r, enum kt_type kept,
                       struct question *ask)
{
    const struct problem *p = r->p;
    const enum kt_type type = r->row->a;
    const int64_t position = (int64_t)ask->row + ask->n - p->nq[ask->b];
    const double eps = (double)kt_eps(KT_F32);
    double q[MOST_D];

    ask->top = -INFINITY;
    ask->off = 0;
    for (uint32_t e = 0; e < p->d; e++)
        q[e] = (double)kt_get(type, r->data[0],
                              q_at(r, &r->q, ask->b, ask->row, ask->head, e));
    for (uint32_t key = 0; key < ask->n; key++) {
        double v = 0, abs = 0, o;

        ask->x[key] = -INFINITY;
        if (!sees(p, ask->b, position, key))
            continue;
        for (uint32_t e = 0; e < p->d; e++) {
            const double product =
                q[e] * cached(r->kind->cache, kept, r->data[1],
                              k_at(r, &r->k, ask->b, key, ask->h_k, e));

            v += product, abs += fabs(product);
        }
        v *= (double)p->scale, abs *= fabs((double)p->scale);
        o = (p->d + 8) * eps * abs + 2 * eps * fabs(v);
        if (p->softcap != 0) {
            v = (double)p->softcap * tanh(v / (double)p->softcap);
            o += 4 * eps * fabs((double)p->softcap);
        }
        v = biased(r, ask, key, v, &o);
        if (p->mask && v == -INFINITY)
            continue;
        ask->x[key] = v;
        if (!(v <= ask->top))
            ask->top = v;
        if (o > ask->off && isfinite(o))
            ask->off = o;
    }
}

/* Adds up V by the scores, and |V| in out->off; returns the weights' sum. */
static double add_values(const struct run *r, enum kt_type kept,
                         const struct question *ask, struct answer *out)
{
    double sum = 0;

    for (uint32_t key = 0; key < ask->n; key++) {
        const double weight =
            ask->x[key] == -INFINITY ? 0 : exp(ask->x[key] - ask->top);

        sum += weight;
        if (!(weight > 0) && !isnan(weight))
            continue;
        for (uint32_t e = 0; e < width_of_v(r->p); e++) {
            const double v = cached(r->kind->cache, kept, r->data[2],
                                    k_at(r, &r->v, ask->b, key, ask->h_k, e));

            out->value[e] += weight * v;
            out->off[e] += weight * fabs(v);
        }
    }
    return sum;
}

/* The total with the sink; a sink far above the sum leaves nothing of the sum.
 */
static void add_sink(double sink, struct answer *out, double *sum, double *off)
{
    const double over = sink - out->lse;
    const double all =
        over > 0 ? sink + log1p(exp(-over)) : out->lse + log1p(exp(over));

    *sum /= exp(out->lse - all);
    *off += 2 * (double)kt_eps(KT_F32) * (fabs(sink) + fabs(out->lse) + 4);
    out->lse = all;
}

/*
 * Exponentials are cut off to the kernel's type, and made larger by what that
 * loses on average: 0.65 units of theirs of the sum of p |v| at most. A score's
 * error e makes p (1 + e) of p, in sums above and below. It is (d + 8) 2^-23
 * times the sum of |q k|, as matrix instructions cut off, and 2^-22 times the
 * score, for exp2 and its argument; tanh is good to 2^-21. Sums over n keys add
 * (n + 8) 2^-23. gfx90a takes f16 below 2^-14 as zeros: what is below 2^-22 of
 * the largest p.
 */
static void solve(const struct run *r, uint32_t b, uint32_t row, uint32_t head,
                  double *x, struct answer *out)
{
    const struct problem *p = r->p;
    const enum kt_type type = r->row->a;
    const enum kt_type kept = r->kind->cache ? cached_type(r) : type;
    const double eps = (double)kt_eps(KT_F32);
    /* P above its largest that may be lost, for V below 4 */
    const double least =
        type == KT_F16 && strncmp(r->t->target, "gfx90a", 6) == 0 ? 0x1p-20
                                                                  : 0x1p-30;
    struct question ask = {.b = b,
                           .row = row,
                           .head = head,
                           .h_k = head / (p->h / p->h_k),
                           .n = p->nk[b],
                           .x = x};
    double sum, off;

    score_keys(r, kept, &ask);
    for (uint32_t e = 0; e < width_of_v(p); e++)
        out->value[e] = out->off[e] = 0;
    out->lse = p->sinks ? (double)r->sinks[head] : -INFINITY;
    out->lse_off = 2 * eps * fabs(out->lse);
    if (ask.top == -INFINITY)
        return;
    sum = add_values(r, kept, &ask, out);
    off = 2 * ask.off + (ask.n + 8) * eps;
    out->lse = ask.top + log(sum);
    if (p->sinks && r->sinks[head] != -INFINITY)
        add_sink((double)r->sinks[head], out, &sum, &off);
    for (uint32_t e = 0; e < width_of_v(p); e++) {
        out->value[e] /= sum;
        out->off[e] = out->off[e] / sum * (off + 0.65 * (double)kt_eps(type)) +
                      ask.n * least;
        if (!isfinite(out->off[e]))
            out->off[e] = 0;
    }
    out->lse_off = off + 4 * eps * (fabs(out->lse) + 32);
}

static void check_results(struct run *r, const void *old, const void *got,
                          const float *got_lse, size_t nlse)
{
    const struct problem *p = r->p;
    struct kt *t = r->t;
    const size_t n = r->o.extent;
    kt_real *want = kt_alloc(t, (n + 1) * sizeof(*want));
    kt_real *off = kt_alloc(t, (n + 1) * sizeof(*off));
    kt_real *want_lse = kt_alloc(t, (nlse + 1) * sizeof(*want_lse));
    kt_real *lse_off = kt_alloc(t, (nlse + 1) * sizeof(*lse_off));
    double *x = kt_alloc(t, (r->most_k + 1) * sizeof(*x));
    double value[MOST_D] = {0}, value_off[MOST_D] = {0};
    struct answer answer = {value, value_off, 0, 0};
    struct kt_gate gate = {0.51L, 1, off, false};

    for (size_t i = 0; i < n; i++)
        want[i] = kt_get(r->row->a, old, i);
    for (size_t i = 0; i < nlse; i++)
        want_lse[i] = 99;
    for (uint32_t b = 0; b < p->b; b++)
        for (uint32_t row = 0; row < p->nq[b]; row++)
            for (uint32_t head = 0; head < p->h; head++) {
                const size_t i =
                    p->unpadded ? (size_t)head * r->total_q +
                                      (p->varlen ? (uint32_t)r->cu_q[b]
                                                 : b * r->most_q) +
                                      row
                                : ((size_t)b * p->h + head) * r->most_q + row;

                solve(r, b, row, head, x, &answer);
                for (uint32_t e = 0; e < width_of_v(p); e++) {
                    const size_t j = q_at(r, &r->o, b, row, head, e);

                    want[j] = value[e], off[j] = value_off[e];
                }
                if (nlse)
                    want_lse[i] = answer.lse,
                    lse_off[i] = isfinite(answer.lse_off) ? answer.lse_off : 0;
            }
    kt_check(t, r->row->a, got, want, n, gate);
    gate.scale = lse_off;
    kt_check(t, KT_F32, got_lse, want_lse, nlse, gate);
}

/* A token's results as they were stored, as blocks of Q8_1: f16 scale, f16 sum
 * of the quants times that, 32 quants; zeros up to a multiple of 512. */
static void blocks_of(const struct run *r, const void *got, uint32_t b,
                      uint32_t row, size_t padded, uint8_t *made)
{
    const struct problem *p = r->p;
    const uint32_t d_v = width_of_v(p);

    for (size_t c = 0; c < padded; c += 32) {
        uint8_t *block = made + c / 32 * 36;
        float v[32] = {0}, most = 0, d, sum = 0;

        for (size_t i = 0; i < 32 && c < (size_t)p->h * d_v; i++) {
            const uint32_t e = (uint32_t)(c + i);

            v[i] = (float)kt_get(r->row->a, got,
                                 q_at(r, &r->o, b, row, e / d_v, e % d_v));
            most = fmaxf(most, fabsf(v[i]));
        }
        d = most < 127 * 0x1p-14f ? ceilf(most * 0x1p24f / 127) * 0x1p-24f
                                  : most / 127;
        for (size_t i = 0; i < 32; i++) {
            const float q = most == 0 ? 0 : roundf(v[i] / d);

            block[4 + i] = (uint8_t)(int8_t)q;
            sum += q;
        }
        kt_put(KT_F16, block, 0, d);
        kt_put(KT_F16, block, 1, sum * d);
    }
}

/* The first form's argument is what the second's begins with. */
static bool launch(struct run *r, const unsigned grid[3], unsigned threads,
                   size_t shared_nbytes, const kpk_attention2_args *a)
{
    return kt_launch(
        r->t, grid, (const unsigned[3]){threads, 1, 1}, shared_nbytes,
        (const kpk_arg[]){{a, r->kind->second ? sizeof(*a) : sizeof(a->base)}},
        1);
}

/* Blocks from a cluster equal the rounded numbers of the same launch with
 * stored numbers.
 */
static void check_blocks(struct run *r, kpk_attention2_args a, const void *got,
                         size_t shared_nbytes)
{
    const struct problem *p = r->p;
    struct kt *t = r->t;
    const size_t padded = ((size_t)p->h * width_of_v(p) + 511) / 512 * 512;
    const size_t row_nbytes = padded / 32 * 36;
    const size_t nbytes = row_nbytes * r->total_q;
    uint8_t *want = kt_alloc(t, row_nbytes), *made = kt_alloc(t, nbytes + 1);

    a.base.o_q8_1 = kt_device(t, NULL, nbytes, 0);
    if (!launch(r, (const unsigned[3]){p->splits, p->h_k, p->b}, 128,
                shared_nbytes, &a))
        return;
    kt_read(t, made, a.base.o_q8_1, nbytes);
    for (uint32_t b = 0; b < p->b; b++)
        for (uint32_t row = 0; row < p->nq[b]; row++) {
            const size_t first =
                (p->varlen ? (size_t)r->cu_q[b] : (size_t)b * r->most_q) + row;

            blocks_of(r, got, b, row, padded, want);
            t->checks += padded;
            if (memcmp(made + first * row_nbytes, want, row_nbytes) != 0)
                kt_fail(t, "row %u of sequence %u as blocks differs", row, b);
        }
}

static kpk_attention2_args make_args(struct run *r)
{
    const struct problem *p = r->p;
    struct kt *t = r->t;
    kpk_attention2_args all = {.d_v = p->d_v};
    kpk_attention_args a = {.q_batch = r->q.batch,
                            .k_batch = r->k.batch,
                            .v_batch = r->v.batch,
                            .o_batch = r->o.batch,
                            .q_row = r->q.row,
                            .k_row = r->k.row,
                            .v_row = r->v.row,
                            .o_row = r->o.row,
                            .q_head = r->q.head,
                            .k_head = r->k.head,
                            .v_head = r->v.head,
                            .o_head = r->o.head,
                            .b = p->b,
                            .h = p->h,
                            .h_k = p->h_k,
                            .d = p->d,
                            .seqlen_q = r->most_q,
                            .seqlen_k = r->most_k,
                            .splits = p->splits,
                            .scale = p->scale,
                            .softcap = p->softcap,
                            .window_left = p->left,
                            .window_right = p->right,
                            .unpadded_lse = p->unpadded};

    if (p->varlen) {
        a.cu_seqlens_q = kt_device(t, r->cu_q, (p->b + 1) * 4, 0);
        a.total_q = r->total_q;
    }
    if (p->varlen || p->page)
        a.cu_seqlens_k = kt_device(t, r->cu_k, (p->b + 1) * 4, 0);
    if (p->page) {
        a.block_table = kt_device(t, r->table, p->b * r->pages * 4, 0);
        a.block_table_batch = r->pages, a.page_size = p->page;
    }
    if (p->ranges) {
        a.prefix_ranges = kt_device(t, p->ranges, p->b * p->num_ranges * 8, 0);
        a.max_prefix_ranges = p->num_ranges;
        a.prefix_batch = 2 * p->num_ranges;
    }
    if (p->alibi) {
        a.alibi_slopes = kt_device(t, r->slopes, p->b * p->h * 4, 0);
        a.alibi_batch = p->h;
    }
    if (p->splits > 1 && !t->cluster)
        a.partial = kt_device(
            t, NULL,
            (size_t)p->splits * r->total_q * p->h * (width_of_v(p) + 1) * 4, 0);
    if (p->sinks) {
        make_sinks(r);
        all.sinks = kt_device(t, r->sinks, p->h * 4, 0);
    }
    if (p->mask) {
        const size_t n = make_mask(r);

        all.mask = kt_device(t, r->mask, n * 2, 2);
        all.mask_row = r->mask_row, all.mask_head = r->mask_head;
        all.mask_batch = r->mask_batch;
    }
    all.base = a;
    return all;
}

static struct tensor make_keys(const struct run *r, uint32_t all_pages,
                               uint32_t d)
{
    const struct problem *p = r->p;
    const uint32_t align = r->kind->cache == PLAIN ? 8 : 32;
    const uint32_t padded = (d + align - 1) / align * align;
    struct tensor t =
        make_tensor(p->layout,
                    p->page     ? all_pages
                    : p->varlen ? 1
                                : p->b,
                    p->page     ? p->page
                    : p->varlen ? r->total_k
                                : r->most_k,
                    p->h_k, padded, p->lead ? align == 8 ? 1 : 32 : align);

    if (r->kind->cache == PLAIN && t.extent)
        t.extent -= padded - d;
    return t;
}

static unsigned one_at_least(uint32_t n)
{
    return n ? n : 1;
}

static const char *const joins[2][2] = {
    {"attention_join_f16", "attention_join_bf16"},
    {"attention2_join_f16", "attention2_join_bf16"}};

static void run_with(struct kt *t, const struct kt_row *row,
                     const struct problem *p, unsigned threads,
                     size_t shared_nbytes)
{
    const struct kind *kind = row->detail;
    const enum kt_type type = row->a;
    const size_t size = kt_size(type), lead = p->lead * size;
    struct run r = {.t = t, .row = row, .kind = kind, .p = p};
    uint32_t all_pages = 0;
    kpk_attention2_args a;
    const char *symbol = t->symbol;
    char *k[2], *q, *o;
    void *old, *got;
    float *lse = NULL, *got_lse = NULL;
    size_t nlse = 0;
    unsigned grid[3];

    t->what = p->what;
    set_lengths(&r);
    if (p->page)
        all_pages = make_table(&r);
    r.q = make_tensor(p->layout, p->varlen ? 1 : p->b,
                      p->varlen ? r.total_q : r.most_q, p->h, p->d,
                      p->lead ? 1 : 8);
    r.o = make_tensor(p->layout, p->varlen ? 1 : p->b,
                      p->varlen ? r.total_q : r.most_q, p->h, width_of_v(p),
                      p->lead ? 1 : 8);
    r.k = make_keys(&r, all_pages, p->d);
    r.v = make_keys(&r, all_pages, width_of_v(p));
    r.slopes = kt_alloc(t, p->b * p->h * sizeof(float) + 1);
    for (uint32_t i = 0; i < p->b * p->h; i++)
        r.slopes[i] = 0.5f / (float)(i + 1);
    make_numbers(&r);
    a = make_args(&r);
    q = kt_device(t, r.data[0], r.q.extent * size, lead);
    for (unsigned i = 0; i < 2; i++)
        k[i] = kt_device(
            t, r.data[1 + i],
            cache_nbytes(kind->cache, type, i ? r.v.extent : r.k.extent),
            kind->cache == PLAIN ? lead : p->lead * 2);
    old = kt_host(t, type, r.o.extent, KT_SMALL, 9);
    got = kt_alloc(t, r.o.extent * size + 1);
    o = kt_device(t, old, r.o.extent * size, lead);
    a.base.q = q + r.q.first * size, a.base.o = o + r.o.first * size;
    a.base.k = k[0] + cache_nbytes(kind->cache, type, r.k.first);
    a.base.v = k[1] + cache_nbytes(kind->cache, type, r.v.first);
    if (p->lse) {
        nlse = p->unpadded ? (size_t)p->h * r.total_q
                           : (size_t)p->b * p->h * r.most_q;
        got_lse = kt_alloc(t, nlse * 4 + 1);
        for (size_t i = 0; i < nlse; i++)
            got_lse[i] = 99;
        lse = kt_device(t, got_lse, nlse * 4, 0);
        a.base.lse = lse;
    }
    grid[0] = one_at_least(kind->decode    ? p->splits
                           : kind->d > 256 ? (r.most_q + 31) / 32
                                           : (r.most_q + 127) / 128);
    grid[1] = kind->decode ? p->h_k : p->h;
    grid[2] = p->b;
    for (unsigned i = 0; i < 3; i++)
        if (p->grid[i])
            grid[i] = p->grid[i];
    if (!launch(&r, grid, threads, shared_nbytes, &a))
        return;
    if (p->splits > 1 && !t->cluster) {
        t->symbol = joins[kind->second][type != KT_F16];
        if (!launch(&r, (const unsigned[3]){r.total_q, p->h, 1}, 64, 0, &a))
            return;
        t->symbol = symbol;
    }
    kt_read(t, got, o, r.o.extent * size);
    if (p->lse)
        kt_read(t, got_lse, lse, nlse * 4);
    check_results(&r, old, got, got_lse, nlse);
    if (t->cluster && width_of_v(p) % 64 == 0)
        check_blocks(&r, a, got, shared_nbytes);
}

/* Whether the splits of a problem may be a cluster. Only code for sm_90 and
 * later has clusters; it is the code that waits for the launch before it. */
static bool joins_in_clusters(const struct kind *kind, const struct problem *p,
                              const kpk_kernel *kernel)
{
    kpk_attrs attrs;

    return kind->decode && kind->d <= 256 && p->splits > 1 && p->splits <= 8 &&
           !p->grid[0] && kpk_kernel_attrs(kernel, &attrs) == KPK_OK &&
           attrs.waits;
}

/* By the fewest threads that the file's comment names, and as is recommended:
 * with dynamic shared memory kernels go another way; and in clusters. */
static void run_problem(struct kt *t, const struct kt_row *row,
                        const struct problem *p)
{
    const struct kind *kind = row->detail;
    const kpk_kernel *kernel;
    kpk_shape shape;

    run_with(t, row, p, kind->decode ? 128 : 256, 0);
    if (kpk_kernel_get(t->inst, t->symbol, &kernel) != KPK_OK)
        return;
    if (kpk_kernel_shape(kernel, 1, 1, &shape) != KPK_OK)
        return;
    if (shape.shared_nbytes)
        run_with(t, row, p, shape.block[0], shape.shared_nbytes);
    if (joins_in_clusters(kind, p, kernel)) {
        t->cluster = p->splits;
        run_with(t, row, p, shape.block[0], shape.shared_nbytes);
        t->cluster = 0;
    }
}

/* One sequence, wholly visible. */
static struct problem plain(const char *what, const struct kind *kind,
                            uint32_t nq, uint32_t nk)
{
    return (struct problem){.what = what,
                            .h = 1,
                            .h_k = 1,
                            .d = kind->d,
                            .d_v = kind->d > 256 ? 512 : 0,
                            .b = 1,
                            .nq = {nq},
                            .nk = {nk},
                            .left = -1,
                            .right = -1,
                            .splits = 1,
                            .scale = 1 / sqrtf((float)kind->d),
                            .lse = true};
}

/* Rows of K and V so far apart that offsets do not fit 32 bits: as near ones.
 */
static void run_far(struct kt *t, const struct kt_row *row)
{
    enum { KEYS = 5, QUERIES = 3 };
    const struct kind *kind = row->detail;
    const int64_t d = kind->d, apart = INT64_C(1) << 30;
    const size_t size = kt_size(row->a), row_nbytes = kind->d * size;
    const char *k = kt_host(t, row->a, KEYS * kind->d, KT_SMALL, 1);
    const void *q = kt_host(t, row->a, QUERIES * kind->d, KT_SMALL, 2);
    void *got[2];
    char *far_k;
    kpk_attention_args a = {.q_row = d,
                            .o_row = d,
                            .b = 1,
                            .h = 1,
                            .h_k = 1,
                            .d = kind->d,
                            .seqlen_q = QUERIES,
                            .seqlen_k = KEYS,
                            .scale = 0.1f,
                            .window_left = -1,
                            .window_right = -1};

    t->what = "rows far apart";
    far_k = kt_large_device(t, (size_t)(apart * (KEYS - 1) + d) * size);
    if (!far_k)
        return;
    for (size_t i = 0; i < KEYS; i++)
        kt_write(t, far_k + i * (size_t)apart * size, k + i * row_nbytes,
                 row_nbytes);
    a.q = kt_device(t, q, QUERIES * row_nbytes, 0);
    for (unsigned i = 0; i < 2; i++) {
        a.k = a.v = i ? far_k : kt_device(t, k, KEYS * row_nbytes, 0);
        a.k_row = a.v_row = i ? apart : d;
        a.o = kt_device(t, NULL, QUERIES * row_nbytes, 0);
        got[i] = kt_alloc(t, QUERIES * row_nbytes);
        kt_launch(t, (const unsigned[3]){1, 1, 1},
                  (const unsigned[3]){kind->decode ? 128 : 256, 1, 1}, 0,
                  (const kpk_arg[]){{&a, sizeof(a)}}, 1);
        kt_read(t, got[i], a.o, QUERIES * row_nbytes);
    }
    kt_check_bits(t, row->a, got[1], got[0], (size_t)(QUERIES * d));
}

static void run_many(struct kt *t, const struct kt_row *row)
{
    static const int32_t ranges[] = {3, 40, 30, 31, 90, 200, 5, 2,
                                     0, 0,  9,  20, 1,  300, 0, 0};
    const struct kind *kind = row->detail;
    const uint32_t tile = 8192 / kind->d;
    struct problem p = plain("a tile of each", kind, 128, tile);

    run_problem(t, row, &p);
    p = plain("causal, a row over", kind, 129, tile + 1);
    p.right = 0, p.h = 2, p.d -= 8, p.layout = GAPS, p.lead = 1;
    run_problem(t, row, &p);
    p = plain("one", kind, 1, 1);
    p.d = 8;
    run_problem(t, row, &p);
    p = plain("more queries than keys, causal", kind, 37, 5);
    p.right = 0, p.h = 2, p.layout = HEADS;
    run_problem(t, row, &p);
    p = plain("no keys", kind, 3, 0);
    run_problem(t, row, &p);
    p = plain("varlen, heads share keys", kind, 20, 30);
    p.b = 4, p.nq[1] = 0, p.nk[1] = 3, p.nq[2] = 17, p.nk[2] = 0;
    p.nq[3] = 21, p.nk[3] = 2 * tile - 1, p.varlen = p.unpadded = true;
    p.h = 4, p.h_k = 2, p.right = 0, p.d = kind->d - 16;
    p.grid[0] = p.grid[1] = p.grid[2] = 1;
    run_problem(t, row, &p);
    p = plain("pages, windows, slopes", kind, 33, 150);
    p.b = 2, p.nq[1] = 16, p.nk[1] = 77, p.page = 16, p.left = 20, p.right = 3;
    p.varlen = true, p.alibi = true, p.h = 2, p.layout = UPWARD;
    run_problem(t, row, &p);
    p = plain("large pages, softcap", kind, 18, 2 * tile + 9);
    p.page = 2 * tile, p.softcap = 5, p.b = 1, p.varlen = true;
    p.scale_of_q = 8;
    run_problem(t, row, &p);
    p = plain("ranges besides windows", kind, 40, 130);
    p.b = 2, p.nq[1] = 40, p.nk[1] = 130, p.right = 0, p.left = 10;
    p.ranges = ranges, p.num_ranges = 4;
    run_problem(t, row, &p);
    p = plain("a grid for more queries, causal", kind, 300, 2 * tile + 1);
    p.right = 0, p.grid[0] = 1000, p.h = 2, p.h_k = 1, p.layout = HEADS;
    run_problem(t, row, &p);
    p = plain("many tiles, a window", kind, 129, 900);
    p.left = 700, p.right = 0, p.layout = HEADS;
    run_problem(t, row, &p);
    p = plain("scores that rise", kind, 9, 3 * tile + 1);
    p.numbers = RISING, p.layout = GAPS;
    run_problem(t, row, &p);
    p = plain("a negative scale", kind, 9, tile + 1);
    p.scale = -p.scale, p.h = 2;
    run_problem(t, row, &p);
    p = plain("infinities and no numbers", kind, 17, tile + 3);
    p.numbers = SPECIAL, p.h = 2, p.lse = false;
    run_problem(t, row, &p);
    if (row->a == KT_F16 && kind->d == 128)
        run_far(t, row);
}

static void run_decode(struct kt *t, const struct kt_row *row)
{
    static const int32_t ranges[] = {140, 150, 0, 9};
    const struct kind *kind = row->detail;
    const uint32_t tile = 8192 / kind->d;
    struct problem p = plain("one query, heads share keys", kind, 1, 3 * tile);

    p.h = 8, p.h_k = 2;
    run_problem(t, row, &p);
    p = plain("splits, slopes", kind, 1, 5 * tile + 3);
    p.h = 3, p.splits = 4, p.alibi = true, p.d -= kind->cache ? 0 : 8;
    p.layout = GAPS, p.lead = 1;
    run_problem(t, row, &p);
    p = plain("pages, more splits than tiles, causal", kind, 3, 2 * tile + 2);
    p.b = 3, p.nq[1] = 3, p.nk[1] = 1, p.nq[2] = 3, p.nk[2] = 40, p.right = 0;
    p.h = 4, p.h_k = 2, p.page = 32, p.splits = 5, p.grid[0] = p.grid[2] = 2;
    run_problem(t, row, &p);
    p = plain("a workgroup for some rows", kind, 7, tile + 30);
    p.h = 6, p.h_k = 2, p.right = 0, p.grid[1] = 4, p.scale_of_q = 40;
    run_problem(t, row, &p);
    if (kind->cache != PLAIN)
        return;
    p = plain("more rows than a block", kind, 7, tile + 1);
    p.h = 6, p.h_k = 2, p.left = 5, p.right = 0, p.unpadded = true;
    p.grid[0] = p.grid[1] = 1, p.splits = 2, p.b = 2;
    p.nq[1] = 5, p.nk[1] = 3 * tile, p.varlen = true;
    run_problem(t, row, &p);
    p = plain("ranges, softcap", kind, 4, 160);
    p.ranges = ranges, p.num_ranges = 2, p.left = 7, p.right = 0;
    p.softcap = 3, p.layout = HEADS, p.splits = 3;
    run_problem(t, row, &p);
    p = plain("splits of several sequences, causal", kind, 3, 6 * tile + 1);
    p.b = 2, p.nq[1] = 2, p.nk[1] = 2 * tile, p.varlen = true, p.right = 0;
    p.h = 6, p.h_k = 2, p.unpadded = true, p.splits = 8;
    run_problem(t, row, &p);
    p = plain("one query, heads by fours", kind, 1, 6 * tile + 5);
    p.h = 10, p.h_k = 2, p.splits = 8;
    run_problem(t, row, &p);
    p = plain("one query each, windows", kind, 1, 4 * tile);
    p.b = 3, p.nq[1] = p.nq[2] = 1, p.nk[1] = 7, p.nk[2] = 2 * tile + 1;
    p.varlen = true, p.left = (int32_t)(2 * tile) - 3, p.right = 0;
    p.h = 3, p.unpadded = true, p.splits = 4, p.d -= 8;
    run_problem(t, row, &p);
    p = plain("one query each, a page each", kind, 1, 3 * tile);
    p.b = 2, p.nq[1] = 1, p.nk[1] = 5 * tile, p.page = 5 * tile;
    p.h = 4, p.h_k = 2, p.splits = 3, p.layout = GAPS;
    run_problem(t, row, &p);
    p = plain("one query, pages", kind, 1, 3 * tile);
    p.page = tile, p.splits = 2, p.scale = -p.scale;
    run_problem(t, row, &p);
    p = plain("no keys", kind, 1, 0);
    p.splits = 2, p.h = 2;
    run_problem(t, row, &p);
    if (row->a == KT_F16 && kind->d == 64)
        run_far(t, row);
}

/* With scores so near each other that small sinks count beside them. */
static void add_sinks(struct problem *p)
{
    p->sinks = true, p->scale = 1 / (float)p->d;
}

/* Cases for the second form's additions to the first form. */
static void run_many2(struct kt *t, const struct kt_row *row)
{
    const struct kind *kind = row->detail;
    const uint32_t tile = kind->d > 256 ? 32 : 8192 / kind->d;
    struct problem p =
        plain("sinks, mask, V of half the width, causal", kind, 35, tile + 3);

    p.h = 5, add_sinks(&p), p.mask = SHARED_MASK, p.right = 0;
    p.d_v = kind->d / 2 + 8, p.b = 2, p.nq[1] = 3, p.nk[1] = 9;
    p.varlen = true;
    run_problem(t, row, &p);
    p = plain("sinks, a window, V wider than K", kind, 33, 2 * tile + 1);
    p.h = 4, p.h_k = 2, add_sinks(&p), p.left = 20, p.right = 0;
    p.d_v = kind->d > 256 ? 512 : kind->d, p.d = kind->d / 2;
    p.layout = GAPS, p.lead = 1;
    run_problem(t, row, &p);
    p = plain("masks of heads times slopes, more queries than keys", kind, 18,
              7);
    p.h = 2, p.mask = HEADS_MASK, p.alibi = true, p.varlen = true, p.right = 0;
    p.b = 2, p.nq[1] = 1, p.nk[1] = tile + 1;
    run_problem(t, row, &p);
    p = plain("no keys, sinks", kind, 3, 0);
    p.h = 3, add_sinks(&p);
    run_problem(t, row, &p);
    if (kind->d <= 256)
        return;
    p = plain("K of 576 and V of 512, pages", kind, 33, 77);
    p.page = 16, p.varlen = true, p.b = 2, p.nq[1] = 1, p.nk[1] = 33;
    p.left = 40, p.right = 3;
    run_problem(t, row, &p);
    p = plain("heads of 512, scores that rise", kind, 5, 3 * tile + 1);
    p.d = 512, p.numbers = RISING, p.layout = HEADS, p.unpadded = true;
    run_problem(t, row, &p);
    p = plain("columns of one part more, huge scores", kind, 9, tile + 5);
    p.d = p.d_v = 264, p.scale_of_q = 3000, p.right = 0, p.layout = UPWARD;
    run_problem(t, row, &p);
    p = plain("infinities and no numbers, sinks", kind, 17, tile + 3);
    p.numbers = SPECIAL, p.h = 2, p.lse = false, add_sinks(&p);
    run_problem(t, row, &p);
}

static void run_decode2(struct kt *t, const struct kt_row *row)
{
    const struct kind *kind = row->detail;
    const uint32_t tile = kind->d > 256 ? 32 : 8192 / kind->d;
    struct problem p =
        plain("sinks, splits, heads share keys", kind, 1, 3 * tile + 1);

    p.h = 10, p.h_k = 2, add_sinks(&p), p.splits = 3;
    p.d_v = kind->d > 256 ? 512 : kind->d / 2;
    run_problem(t, row, &p);
    p = plain("sinks, mask, slopes, V of another width", kind, 3, tile + 9);
    p.h = 4, p.h_k = 2, add_sinks(&p), p.mask = HEADS_MASK, p.alibi = true;
    p.d_v = kind->d / 2 + (kind->cache ? 0 : 8);
    run_problem(t, row, &p);
    if (kind->cache != PLAIN)
        return;
    p = plain("sinks, mask, more splits than tiles, no keys", kind, 2, tile);
    p.h = 5, add_sinks(&p), p.mask = SHARED_MASK, p.splits = 4, p.b = 2;
    p.nq[1] = 1, p.nk[1] = 0, p.varlen = true, p.right = 0;
    run_problem(t, row, &p);
    p = plain("sinks, a window, V wider than K", kind, 1, 2 * tile + 2);
    p.h = 5, add_sinks(&p), p.left = (int32_t)tile, p.right = 0;
    p.d_v = kind->d > 256 ? 512 : kind->d, p.d = kind->d / 2;
    p.splits = 2;
    run_problem(t, row, &p);
    if (kind->d <= 256)
        return;
    p = plain("heads of 512, softcap, pages, unaligned", kind, 3, 2 * tile + 7);
    p.d = 512, p.softcap = 3, p.h = 6, p.page = 20, p.splits = 2;
    p.layout = GAPS, p.lead = 1, p.right = 0;
    run_problem(t, row, &p);
    p = plain("infinities and no numbers", kind, 1, tile + 3);
    p.numbers = SPECIAL, p.h = 3, p.lse = false;
    run_problem(t, row, &p);
}

/* Joins partial results, which the decoding kernels make. */
static void run_join(struct kt *t, const struct kt_row *row)
{
    static const struct kind kinds[2] = {{64, true, PLAIN, false},
                                         {64, true, PLAIN, true}};
    static const char *const decodes[2][2] = {
        {"attention_decode_f16_64", "attention_decode_bf16_64"},
        {"attention2_decode_f16_64", "attention2_decode_bf16_64"}};
    const bool second = strstr(row->symbol, "attention2") != NULL;
    struct kt_row decode = *row;
    struct problem p = plain("joined", &kinds[second], 2, 300);

    decode.detail = &kinds[second];
    t->symbol = decodes[second][row->a != KT_F16];
    p.h = 2, p.splits = 3, p.b = 2, p.nq[1] = 2, p.nk[1] = 300;
    p.layout = UPWARD;
    if (second)
        p.h = 5, p.d_v = 40, add_sinks(&p);
    run_problem(t, &decode, &p);
    t->symbol = row->symbol;
}

/* ---- blocks to plain numbers ---- */

enum { UNPACKED_B = 2, UNPACKED_H = 2, UNPACKED_MOST = 7, CACHE_ROWS = 24 };
enum { UNPACKED_D = 72, UNPACKED_D_V = 40, CACHE_HEAD = 96 };

/* Blocks of any codes; their scales are exact. */
static uint8_t *make_cache(struct kt *t, enum cache cache, uint32_t seed)
{
    const size_t n = CACHE_ROWS * UNPACKED_H * CACHE_HEAD;
    const size_t each = blocks[cache].nbytes;
    uint8_t *data = kt_alloc(t, cache_nbytes(cache, KT_F16, n));

    for (size_t i = 0; i < n / 32 * each; i++)
        data[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    for (size_t i = 0; i < n / 32; i++)
        kt_put(KT_F16, data + i * each, 0, (double)(i % 9) / 64);
    return data;
}

/* Rows of two sequences, one behind the other, or in pages of four. */
static void run_unpack_of(struct kt *t, const struct kt_row *row, bool paged)
{
    static const int32_t cu[UNPACKED_B + 1] = {0, 5, 12};
    static const int32_t pages[UNPACKED_B][2] = {{3, 1}, {5, 0}};
    const enum cache cache = *(const enum cache *)row->detail;
    const int64_t cache_row = UNPACKED_H * CACHE_HEAD;
    const size_t n = (size_t)UNPACKED_B * UNPACKED_MOST * UNPACKED_H *
                     (UNPACKED_D + UNPACKED_D_V);
    const size_t nbytes =
        cache_nbytes(cache, row->a, CACHE_ROWS * (size_t)cache_row);
    const uint8_t *const data[2] = {make_cache(t, cache, 1),
                                    make_cache(t, cache, 2)};
    uint8_t *want = kt_alloc(t, n * 2), *got = kt_alloc(t, n * 2);
    kpk_attention2_args a = {.d_v = UNPACKED_D_V};
    size_t to = 0;

    memset(want, 0x77, n * 2);
    a.base =
        (kpk_attention_args){.k = kt_device(t, data[0], nbytes, 2),
                             .v = kt_device(t, data[1], nbytes, 2),
                             .partial = kt_device(t, want, n * 2, 0),
                             .cu_seqlens_k = kt_device(t, cu, sizeof(cu), 0),
                             .k_row = cache_row,
                             .v_row = cache_row,
                             .k_head = CACHE_HEAD,
                             .v_head = CACHE_HEAD,
                             .b = UNPACKED_B,
                             .h_k = UNPACKED_H,
                             .d = UNPACKED_D,
                             .seqlen_k = UNPACKED_MOST};
    if (paged) {
        a.base.block_table = kt_device(t, pages, sizeof(pages), 0);
        a.base.block_table_batch = 2, a.base.page_size = 4;
        a.base.k_batch = a.base.v_batch = 4 * cache_row;
    }
    for (unsigned v = 0; v < 2; v++) {
        const size_t width = v ? UNPACKED_D_V : UNPACKED_D;

        for (uint32_t key = 0; key < 12; key++)
            for (uint32_t i = 0; i < UNPACKED_H * width; i++) {
                const uint32_t b = key >= 5, in = key - (uint32_t)cu[b];
                const size_t from =
                    paged ? (size_t)pages[b][in / 4] * 4 + in % 4 : key;

                kt_put(row->a, want, to + key * UNPACKED_H * width + i,
                       cached(cache, row->a, data[v],
                              from * (size_t)cache_row +
                                  i / width * CACHE_HEAD + i % width));
            }
        to += (size_t)UNPACKED_B * UNPACKED_MOST * UNPACKED_H * width;
    }
    if (!kt_launch(t, (const unsigned[3]){3, 1, 1},
                   (const unsigned[3]){96, 1, 1}, 0,
                   (const kpk_arg[]){{&a, sizeof(a)}}, 1))
        return;
    kt_read(t, got, a.base.partial, n * 2);
    kt_check_bytes(t, got, want, n * 2, "K and V");
}

static void run_unpack(struct kt *t, const struct kt_row *row)
{
    t->what = "two sequences, one behind the other";
    run_unpack_of(t, row, false);
    t->what = "two sequences in pages";
    run_unpack_of(t, row, true);
}

/* ---- rows of a cache ---- */

enum store { TO_F16, TO_BF16, TO_Q8_0, TO_Q4_0 };
static const enum store stores[] = {TO_F16, TO_BF16, TO_Q8_0, TO_Q4_0};

/* Blocks as ggml's reference quantizes rows, in float as it does. */
static void quantize(enum store store, const float *x, uint8_t *block)
{
    float top = 0, scale, inverse;

    for (unsigned i = 0; i < 32; i++)
        if (fabsf(x[i]) > fabsf(top))
            top = x[i];
    scale = store == TO_Q8_0 ? fabsf(top) / 127 : top / -8;
    inverse = scale != 0 ? 1 / scale : 0;
    kt_put(KT_F16, block, 0, scale);
    if (store == TO_Q4_0)
        memset(block + 2, 0, 16);
    for (unsigned i = 0; i < 32; i++) {
        if (store == TO_Q8_0) {
            block[2 + i] = (uint8_t)(int8_t)roundf(x[i] * inverse);
        } else {
            volatile float product = x[i] * inverse;
            const int q = (int)(product + 8.5f);

            block[2 + i % 16] |= (uint8_t)((q > 15 ? 15 : q) << i / 16 * 4);
        }
    }
}

static void run_rows(struct kt *t, const struct kt_row *row)
{
    enum { N = 7, HEADS_ = 2, COLS = 72, DST_ROWS = 9 };
    static const int64_t ids[N] = {3, -1, 8, 9, 0, 5, INT64_C(1) << 40};
    const enum store store = *(const enum store *)row->detail;
    const bool is_block = store == TO_Q8_0 || store == TO_Q4_0;
    const size_t each = store == TO_Q8_0 ? 34 : store == TO_Q4_0 ? 18 : 2;
    const uint32_t heads = HEADS_, cols = COLS, most = is_block ? 96 : COLS;
    const int64_t src_head = COLS + 3, src_row = 2 * src_head + 1;
    const int64_t dst_head = is_block ? 96 * DST_ROWS : COLS + 1;
    const int64_t dst_row = is_block ? 96 : 2 * dst_head;
    const uint64_t n = N, dst_rows = DST_ROWS;
    const size_t nsrc = (size_t)(src_row * (N - 1) + src_head + COLS);
    const size_t ndst = (size_t)(dst_row * (DST_ROWS - 1) + dst_head) + most;
    const size_t nbytes = is_block ? ndst / 32 * each : ndst * 2;
    const void *src = kt_host(t, row->a, nsrc, KT_SMALL, 1);
    uint8_t *want = kt_alloc(t, nbytes), *got = kt_alloc(t, nbytes);
    const void *dsrc =
        kt_device(t, src, nsrc * kt_size(row->a), kt_size(row->a));
    const void *dids = kt_device(t, ids, sizeof(ids), 0);
    void *dst;

    t->what = "rows of two heads";
    memset(want, 0x77, nbytes);
    dst = kt_device(t, want, nbytes, 2);
    for (size_t i = 0; i < N; i++)
        for (size_t h = 0; h < heads && (uint64_t)ids[i] < dst_rows; h++)
            for (size_t c = 0; c < most; c += is_block ? 32 : 1) {
                const size_t to =
                    (size_t)(ids[i] * dst_row) + h * (size_t)dst_head + c;
                const size_t from =
                    i * (size_t)src_row + h * (size_t)src_head + c;
                float x[32] = {0};

                for (size_t e = 0; e < 32 && c + e < cols; e++)
                    x[e] = (float)kt_get(row->a, src, from + e);
                if (is_block)
                    quantize(store, x, want + to / 32 * each);
                else
                    kt_put(store == TO_F16 ? KT_F16 : KT_BF16, want, to, x[0]);
            }
    KT_LAUNCH(t, 2, 96, 0, dsrc, dids, dst, n, dst_rows, heads, cols, src_row,
              src_head, dst_row, dst_head);
    kt_read(t, got, dst, nbytes);
    kt_check_bytes(t, got, want, nbytes, "the cache");
}

#define KIND(form, d, cache, second)                                           \
    static const struct kind form##_decode_##d##_##cache = {d, true, cache,    \
                                                            second};
#define KINDS(form, d, second)                                                 \
    static const struct kind form##_many_##d = {d, false, PLAIN, second};      \
    KIND(form, d, PLAIN, second)                                               \
    KIND(form, d, Q8_0, second)                                                \
    KIND(form, d, Q4_0, second)
KINDS(attention, 64, false)
KINDS(attention, 128, false)
KINDS(attention, 256, false)
KINDS(attention2, 64, true)
KINDS(attention2, 128, true)
KINDS(attention2, 256, true)
KINDS(attention2, 576, true)

#define SIZE(form, run_many, run_decode, name, TYPE, d)                        \
    {#form "_" name "_" #d, run_many, TYPE, TYPE, &form##_many_##d},           \
        {#form "_decode_" name "_" #d, run_decode, TYPE, TYPE,                 \
         &form##_decode_##d##_PLAIN},                                          \
        {#form "_decode_" name "_" #d "_q8_0", run_decode, TYPE, TYPE,         \
         &form##_decode_##d##_Q8_0},                                           \
    {                                                                          \
#form "_decode_" name "_" #d "_q4_0", run_decode, TYPE, TYPE,          \
            &form##_decode_##d##_Q4_0                                          \
    }
#define SIZES(form, run_many, run_decode, name, TYPE)                          \
    SIZE(form, run_many, run_decode, name, TYPE, 64),                          \
        SIZE(form, run_many, run_decode, name, TYPE, 128),                     \
        SIZE(form, run_many, run_decode, name, TYPE, 256),                     \
    {                                                                          \
#form "_join_" name, run_join, TYPE, TYPE, NULL                        \
    }
#define FORMS(name, TYPE)                                                      \
    SIZES(attention, run_many, run_decode, name, TYPE),                        \
        SIZES(attention2, run_many2, run_decode2, name, TYPE),                 \
        SIZE(attention2, run_many2, run_decode2, name, TYPE, 576),             \
        {"attention2_q8_0_to_" name, run_unpack, TYPE, TYPE, &caches[Q8_0]},   \
    {                                                                          \
        "attention2_q4_0_to_" name, run_unpack, TYPE, TYPE, &caches[Q4_0]      \
    }
static const enum cache caches[] = {[Q8_0] = Q8_0, [Q4_0] = Q4_0};
#define ROWS_FROM(name, TYPE)                                                  \
    {"set_rows_f16_" name, run_rows, TYPE, TYPE, &stores[TO_F16]},             \
        {"set_rows_bf16_" name, run_rows, TYPE, TYPE, &stores[TO_BF16]},       \
        {"set_rows_q8_0_" name, run_rows, TYPE, TYPE, &stores[TO_Q8_0]},       \
    {                                                                          \
        "set_rows_q4_0_" name, run_rows, TYPE, TYPE, &stores[TO_Q4_0]          \
    }
static const struct kt_row rows[] = {
    FORMS("f16", KT_F16),
    FORMS("bf16", KT_BF16),
    ROWS_FROM("f16", KT_F16),
    ROWS_FROM("f32", KT_F32),
};

KT_MAIN(kpk_module_attention, rows)
