/* fmoe.c - a layer of experts in one kernel: fmoe
 *
 * In names: the type of the result; how weights and inputs are stored
 * (pertokenFp8, pertokenInt8, blockscaleFp8); g1u1: gate and up, g1u0: gate
 * alone; multix, and int8 with g1u0: inputs scaled for each expert; tkw1: the
 * expert's weight counts before the activation; silu, gelu; MxN: rows and
 * columns of a workgroup; ps: a grid of the card's size.
 */
#include "aiter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct moe {
    enum type out, type; /* type of results; of inputs and weights */
    unsigned tile_m, tile_n;
    bool gate_and_up, per_expert, early_weight, gelu, persistent, two_groups;
    bool blocks; /* a scale for 128 x 128 weights and for 128 inputs */
};

enum { TOKENS = 9, EXPERTS = 3, TOPK = 2, BLOCK = 128 };

/* The scale of w[row][column], of `ncolumns`. */
static size_t scale_of(const struct moe *m, size_t row, size_t column,
                       size_t ncolumns)
{
    return m->blocks ? row / BLOCK * (ncolumns / BLOCK) + column / BLOCK : row;
}

/* Weights are in the order of the matrix unit: of 16 rows and 32 columns first
 * those of 16 bytes. */
static void *shuffle(enum type t, const void *w, size_t nrows, size_t ncols)
{
    const size_t width = type_nbytes(t), kpack = 16 / width;
    uint8_t *out = aiter_host(nrows * ncols * width);

    for (size_t i = 0; i < nrows; i++)
        for (size_t j = 0; j < ncols; j++) {
            const size_t to =
                (((i / 16 * (ncols / 32) + j / 32) * (32 / kpack) +
                  j % 32 / kpack) *
                     16 +
                 i % 16) *
                    kpack +
                j % kpack;

            memcpy(out + to * width,
                   (const uint8_t *)w + (i * ncols + j) * width, width);
        }
    return out;
}

static double activate(const struct moe *m, double x)
{
    return m->gelu ? 0.5 * x * (1 + erf(x / sqrt(2))) : x / (1 + exp(-x));
}

/* How far off a value of an activation is when it is stored. */
static double rounding(enum type t, double x, double most)
{
    return t == INT8 ? most / 254
           : t == FP8 || t == FP8_FNUZ
               ? fabs(x) * 0x1p-4 + most * 0x1p-12
               : fabs(x) * (t == F16 ? 0x1p-11 : 0x1p-8);
}

/* Sizes, values and routing of one case. */
struct layer {
    unsigned dim, inter, nup; /* nup: rows of an expert's w1 */
    /* Rows of x; those behind them that are read and do not count; matrices in
     * w2; scales of an expert's w1 and w2, of x, of the whole w2. */
    unsigned nx, npadding, nw2, n1, n2, nxs, nw2s;
    void *x, *w1, *w2;
    float *xs, *w1s, *w2s, *smooth;
    unsigned chosen[TOKENS][TOPK];
    double weight[TOKENS][TOPK];
};

/* Tokens by expert, in blocks of tile_m. */
struct routing {
    unsigned most_blocks;
    int32_t *ids, *experts, valid[2];
    float *weights;
};

static bool is_quantized(const struct moe *m)
{
    return type_nbytes(m->type) == 1;
}

static void fill_uniform(float *a, unsigned n, double times, double over)
{
    for (unsigned i = 0; i < n; i++)
        a[i] = (float)(uniform(0.7, 1.4) * times / over);
}

static struct layer make_layer(const struct moe *m, unsigned dim,
                               unsigned inter)
{
    const bool quantized = is_quantized(m);
    const double spread = !quantized ? 1 : m->type == INT8 ? 40 : 60;
    struct layer l = {.dim = dim, .inter = inter};

    l.nup = inter * (m->gate_and_up ? 2 : 1);
    /* With g1u0 the rows of the padding are read, though they do not count. */
    l.nx = m->per_expert ? TOKENS * TOPK : TOKENS;
    l.npadding = m->per_expert && !m->gate_and_up ? TOKENS + 1 : 0;
    l.nw2 = EXPERTS + m->blocks;
    l.x = random_values(m->type, (size_t)(l.nx + l.npadding) * dim, spread);
    l.w1 = random_values(m->type, (size_t)EXPERTS * l.nup * dim,
                         quantized ? spread : 0.05);
    l.w2 = random_values(m->type, (size_t)l.nw2 * dim * inter,
                         quantized ? spread : 0.05);
    /* Scales of an expert's weights, and of inputs: [block][token] or [row]. */
    l.n1 = m->blocks ? l.nup / BLOCK * (dim / BLOCK) : l.nup;
    l.n2 = m->blocks ? dim / BLOCK * (inter / BLOCK) : dim;
    l.nxs = m->blocks ? TOKENS * (dim / BLOCK) : l.nx + l.npadding;
    /* Some kernels read a tile of w2 and its scales ahead, behind the last. */
    l.nw2s = EXPERTS * l.n2 + (m->blocks ? 16 : 0);
    l.xs = aiter_host(4ul * l.nxs);
    l.w1s = aiter_host(4ul * EXPERTS * l.n1);
    l.w2s = aiter_host(4ul * l.nw2s);
    l.smooth = aiter_host(4ul * EXPERTS * inter);
    fill_uniform(l.xs, l.nxs, 1, spread);
    fill_uniform(l.w1s, EXPERTS * l.n1, 0.05, spread);
    fill_uniform(l.w2s, EXPERTS * l.n2, 0.05, spread);
    fill_uniform(l.smooth, EXPERTS * inter, 1, 1);
    for (unsigned t = 0; t < TOKENS; t++)
        for (unsigned k = 0; k < TOPK; k++) {
            l.chosen[t][k] = (t / 2 + k) % (EXPERTS - (t < 4 ? 1u : 0u));
            l.weight[t][k] = (double)(float)uniform(0.1, 0.9);
        }
    return l;
}

/* An expert's last block is filled with a token that is not there, and so are
 * the blocks behind the last expert's. */
static struct routing sort_tokens(const struct moe *m, const struct layer *l)
{
    const int32_t nobody = TOKENS | TOPK << 24;
    struct routing r = {.valid = {0, TOKENS}};
    unsigned nblocks = 0;

    r.most_blocks =
        (TOKENS * TOPK + EXPERTS * m->tile_m - TOPK + m->tile_m - 1) /
        m->tile_m;
    r.ids = aiter_host(4ul * r.most_blocks * m->tile_m);
    r.weights = aiter_host(4ul * r.most_blocks * m->tile_m);
    r.experts = aiter_host(4ul * r.most_blocks);
    for (unsigned e = 0; e < EXPERTS; e++) {
        unsigned n = 0;

        for (unsigned t = 0; t < TOKENS; t++)
            for (unsigned k = 0; k < TOPK; k++)
                if (l->chosen[t][k] == e) {
                    const size_t at = (size_t)nblocks * m->tile_m + n++;

                    r.ids[at] = (int32_t)(t | k << 24);
                    r.weights[at] = (float)l->weight[t][k];
                }
        for (unsigned from = nblocks;
             n && nblocks * m->tile_m < from * m->tile_m + n;)
            r.experts[nblocks++] = (int32_t)e;
        for (size_t at = (size_t)nblocks * m->tile_m; n % m->tile_m; n++) {
            const size_t left = m->tile_m - n % m->tile_m;

            r.ids[at - left] = nobody;
            r.weights[at - left] = 0;
        }
    }
    r.valid[0] = (int32_t)(nblocks * m->tile_m);
    for (size_t at = (size_t)r.valid[0]; at < (size_t)r.most_blocks * m->tile_m;
         at++)
        r.ids[at] = nobody;
    return r;
}

static void launch_layer(struct subject *s, const struct moe *m,
                         const struct layer *l, const struct routing *r,
                         void *out)
{
    const bool quantized = is_quantized(m);
    const size_t width = type_nbytes(m->type);
    const unsigned dim = l->dim, inter = l->inter;
    const size_t nw1 = (size_t)EXPERTS * l->nup, nw2 = (size_t)l->nw2 * dim;
    const unsigned across = (inter + m->tile_n - 1) / m->tile_n;
    const unsigned x_grid =
        m->persistent ? s->ncus * (m->two_groups ? 2 : 1) : across;
    const kpk_value values[] = {
        kpk_ptr(out),
        kpk_ptr(
            aiter_device(s, l->x, (size_t)(l->nx + l->npadding) * dim * width)),
        kpk_ptr(aiter_device(s, shuffle(m->type, l->w1, nw1, dim),
                             nw1 * dim * width)),
        kpk_ptr(aiter_device(s, r->valid, sizeof(r->valid))),
        kpk_ptr(aiter_device(s, shuffle(m->type, l->w2, nw2, inter),
                             nw2 * inter * width)),
        kpk_ptr(quantized ? aiter_device(s, l->xs, 4ul * l->nxs) : NULL),
        kpk_ptr(quantized ? aiter_device(s, l->w1s, 4ul * EXPERTS * l->n1)
                          : NULL),
        kpk_ptr(quantized ? aiter_device(s, l->w2s, 4ul * l->nw2s) : NULL),
        kpk_ptr(m->per_expert
                    ? aiter_device(s, l->smooth, 4ul * EXPERTS * inter)
                    : NULL),
        kpk_ptr(aiter_device(s, r->ids, 4ul * r->most_blocks * m->tile_m)),
        kpk_ptr(aiter_device(s, r->weights, 4ul * r->most_blocks * m->tile_m)),
        kpk_ptr(aiter_device(s, r->experts, 4ul * r->most_blocks)),
        kpk_u32(dim),
        kpk_u32(inter),
        kpk_u32(TOKENS),
        kpk_u32(EXPERTS),
        kpk_u32((uint32_t)(dim * width)),
        kpk_u32((uint32_t)(dim * width)),
        kpk_u32((uint32_t)(inter * width)),
        kpk_u32(2 * dim),
        kpk_u32((uint32_t)(l->nup * dim * width)),
        kpk_u32((uint32_t)(dim * inter * width)),
        kpk_u32(quantized ? 4 * l->n1 : 0),
        kpk_u32(quantized ? 4 * l->n2 : 0),
        kpk_u32(4 * inter),
        kpk_u32(TOPK),
        kpk_u32(m->persistent ? x_grid / across * across : 0),
        kpk_u32(across)};

    aiter_launch(s, x_grid, m->persistent ? 1 : r->most_blocks, 1, 256, values,
                 sizeof(values) / sizeof(values[0]));
}

/* Writes the input of w2 for the token's k-th expert to h; returns the largest
 * magnitude. */
static double hidden(const struct moe *m, const struct layer *l, unsigned t,
                     unsigned k, double *h)
{
    const unsigned e = l->chosen[t][k];
    const size_t row = m->per_expert ? (size_t)k * TOKENS + t : t;
    double most = 0;

    for (unsigned j = 0; j < l->inter; j++) {
        double sum[2] = {0, 0};

        for (unsigned g = 0; g < (m->gate_and_up ? 2u : 1u); g++) {
            const size_t at = (size_t)e * l->nup + g * l->inter + j;

            for (unsigned d = 0; d < l->dim; d++) {
                const size_t x_scale =
                    m->blocks ? d / BLOCK * TOKENS + row : row;
                double term = get(m->type, l->x, row * l->dim + d) *
                              get(m->type, l->w1, at * l->dim + d);

                if (is_quantized(m))
                    term *= (double)l->xs[x_scale] *
                            (double)l->w1s[scale_of(m, at, d, l->dim)];
                sum[g] += term;
            }
            if (m->early_weight)
                sum[g] *= l->weight[t][k];
        }
        h[j] = activate(m, sum[0]) * (m->gate_and_up ? sum[1] : 1);
        if (m->per_expert)
            h[j] *= (double)l->smooth[(size_t)e * l->inter + j];
        most = fmax(most, fabs(h[j]));
    }
    return most;
}

/* Adds what the token's k-th expert makes of h to a row of the result; size and
 * bound are what rounding of results and of h is measured by. */
static void add_expert(const struct moe *m, const struct layer *l, unsigned t,
                       unsigned k, const double *h, double most, double *want,
                       double *size, double *bound)
{
    const double scale = m->early_weight ? 1 : l->weight[t][k];

    for (unsigned d = 0; d < l->dim; d++) {
        const size_t at = (size_t)l->chosen[t][k] * l->dim + d;
        double sum = 0, squares = 0;

        for (unsigned j = 0; j < l->inter; j++) {
            const double w =
                get(m->type, l->w2, at * l->inter + j) *
                (is_quantized(m) ? (double)l->w2s[scale_of(m, at, j, l->inter)]
                                 : 1);
            const double off = rounding(m->type, h[j], most) * w;

            sum += h[j] * w;
            squares += off * off;
        }
        want[d] += sum * scale;
        size[d] += fabs(sum * scale);
        bound[d] += 5 * sqrt(squares) * fabs(scale);
    }
}

static void judge(struct subject *s, const struct moe *m, const struct layer *l,
                  const void *got)
{
    const size_t nbytes = sizeof(double) * l->dim;
    double *h = aiter_host(sizeof(*h) * l->inter);
    double *want = aiter_host(nbytes), *bound = aiter_host(nbytes);
    double *size = aiter_host(nbytes);

    for (unsigned t = 0; t < TOKENS; t++) {
        memset(want, 0, nbytes);
        memset(bound, 0, nbytes);
        memset(size, 0, nbytes);
        for (unsigned k = 0; k < TOPK; k++) {
            const double most = hidden(m, l, t, k, h);

            add_expert(m, l, t, k, h, most, want, size, bound);
        }
        for (unsigned d = 0; d < l->dim; d++) {
            const double is = get(m->out, got, (size_t)t * l->dim + d);
            const double most =
                bound[d] + size[d] * 4 * (m->out == F16 ? 0x1p-10 : 0x1p-7) +
                1e-6;

            if (!(fabs(is - want[d]) <= most))
                wrong(s, "%u x %u: [%u][%u] is %g, not %g (within %g)", l->dim,
                      l->inter, t, d, is, want[d], most);
        }
    }
}

static void run_case(struct subject *s, const struct moe *m, unsigned dim,
                     unsigned inter)
{
    const struct layer l = make_layer(m, dim, inter);
    const struct routing r = sort_tokens(m, &l);
    const size_t nbytes = (size_t)TOKENS * dim * 2;
    void *out = aiter_device_filled(s, 0, nbytes);
    uint16_t *got = aiter_host(nbytes);

    launch_layer(s, m, &l, &r, out);
    aiter_fetch(s, got, out, nbytes);
    judge(s, m, &l, got);
    aiter_forget(s);
}

void run_fmoe(struct subject *s)
{
    struct moe m = {.out = strncmp(s->name, "fmoe_fp16", 9) ? BF16 : F16,
                    .gate_and_up = has(s, "g1u1"),
                    .per_expert = has(s, "multix") || has(s, "Int8_g1u0"),
                    .early_weight = has(s, "tkw1"),
                    .gelu = has(s, "gelu"),
                    .persistent = has(s, "_ps_") ||
                                  has(s, "blockscaleFp8_g1u1_vs_gelu_32x384") ||
                                  has(s, "g1u1_novs_gelu_32x384"),
                    .two_groups = has(s, "2tg")};
    unsigned tile[2];

    if (sizes_of(s, tile, 2) != 2)
        left_out("its name does not say what it is");
    m.tile_m = tile[0];
    m.tile_n = tile[1];
    if (has(s, "Int8_g1u1_tkw1"))
        left_out("AITER's host launches it with no type: its code is for fp8");
    if (has(s, "blockscaleBf16") || has(s, "a16_") || has(s, "MXfp4") ||
        has(s, "int4") || has(s, "smf") || has(s, "inlv"))
        left_out("there is no reference for its way to store");
    if (has(s, "flat") || has(s, "emsort"))
        left_out("it sorts the tokens itself");
    m.blocks = has(s, "blockscale");
    m.type = has(s, "Int8")  ? INT8
             : has(s, "Fp8") ? (s->gfx950 ? FP8 : FP8_FNUZ)
                             : m.out;
    /* atm_opt adds a tile of 256 columns to memory two tiles after it was
     * computed, and moves its pointer from the third tile on: the second of two
     * tiles would go to the first one's columns.
     */
    run_case(s, &m, has(s, "atm_opt") ? 1024 : 512, m.tile_n);
}
