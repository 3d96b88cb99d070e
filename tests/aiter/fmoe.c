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

static void run_case(struct subject *s, const struct moe *m, unsigned dim,
                     unsigned inter)
{
    const bool quantized = type_nbytes(m->type) == 1;
    const size_t width = type_nbytes(m->type);
    const unsigned nup = inter * (m->gate_and_up ? 2 : 1);
    /* With g1u0 the rows of the padding are read, though they do not count. */
    const unsigned nx = m->per_expert ? TOKENS * TOPK : TOKENS;
    const unsigned npadding = m->per_expert && !m->gate_and_up ? TOKENS + 1 : 0;
    const unsigned nw2 = EXPERTS + m->blocks;
    const double spread = !quantized ? 1 : m->type == INT8 ? 40 : 60;
    void *x = random_values(m->type, (size_t)(nx + npadding) * dim, spread);
    void *w1 = random_values(m->type, (size_t)EXPERTS * nup * dim,
                             quantized ? spread : 0.05);
    void *w2 = random_values(m->type, (size_t)nw2 * dim * inter,
                             quantized ? spread : 0.05);
    /* Scales of an expert's weights, and of inputs: [block][token] or [row]. */
    const unsigned n1 = m->blocks ? nup / BLOCK * (dim / BLOCK) : nup;
    const unsigned n2 = m->blocks ? dim / BLOCK * (inter / BLOCK) : dim;
    const unsigned nxs = m->blocks ? TOKENS * (dim / BLOCK) : nx + npadding;
    float *xs = aiter_host(4ul * nxs), *w1s = aiter_host(4ul * EXPERTS * n1);
    /* Some kernels read a tile of w2 and its scales ahead, behind the last. */
    const unsigned nw2s = EXPERTS * n2 + (m->blocks ? 16 : 0);
    float *w2s = aiter_host(4ul * nw2s);
    float *smooth = aiter_host(4ul * EXPERTS * inter);
    unsigned chosen[TOKENS][TOPK];
    double weight[TOKENS][TOPK];
    const unsigned most_blocks =
        (TOKENS * TOPK + EXPERTS * m->tile_m - TOPK + m->tile_m - 1) /
        m->tile_m;
    int32_t *ids = aiter_host(4ul * most_blocks * m->tile_m);
    float *sorted = aiter_host(4ul * most_blocks * m->tile_m);
    int32_t *experts = aiter_host(4ul * most_blocks);
    int32_t valid[2] = {0, TOKENS};
    unsigned nblocks = 0, x_grid, y_grid, denominator;
    const size_t nout = (size_t)TOKENS * dim;
    void *out = aiter_device_filled(s, 0, nout * 2);
    uint16_t *got = aiter_host(nout * 2);
    double *h = aiter_host(sizeof(*h) * inter);
    double *want = aiter_host(sizeof(*want) * dim),
           *bound = aiter_host(sizeof(*bound) * dim);
    double *size = aiter_host(sizeof(*size) * dim);

    for (unsigned i = 0; i < nxs; i++)
        xs[i] = (float)(uniform(0.7, 1.4) / spread);
    for (unsigned i = 0; i < EXPERTS * n1; i++)
        w1s[i] = (float)(uniform(0.7, 1.4) * 0.05 / spread);
    for (unsigned i = 0; i < EXPERTS * n2; i++)
        w2s[i] = (float)(uniform(0.7, 1.4) * 0.05 / spread);
    for (unsigned i = 0; i < EXPERTS * inter; i++)
        smooth[i] = (float)uniform(0.7, 1.4);
    for (unsigned t = 0; t < TOKENS; t++)
        for (unsigned k = 0; k < TOPK; k++) {
            chosen[t][k] = (t / 2 + k) % (EXPERTS - (t < 4 ? 1u : 0u));
            weight[t][k] = (double)(float)uniform(0.1, 0.9);
        }
    for (unsigned e = 0; e < EXPERTS; e++) {
        unsigned n = 0;

        for (unsigned t = 0; t < TOKENS; t++)
            for (unsigned k = 0; k < TOPK; k++)
                if (chosen[t][k] == e) {
                    const size_t at = (size_t)nblocks * m->tile_m + n++;

                    ids[at] = (int32_t)(t | k << 24);
                    sorted[at] = (float)weight[t][k];
                }
        for (unsigned from = nblocks;
             n && nblocks * m->tile_m < from * m->tile_m + n;)
            experts[nblocks++] = (int32_t)e;
        for (size_t at = (size_t)nblocks * m->tile_m; n % m->tile_m; n++) {
            const size_t left = m->tile_m - n % m->tile_m;

            ids[at - left] = TOKENS | TOPK << 24;
            sorted[at - left] = 0;
        }
    }
    valid[0] = (int32_t)(nblocks * m->tile_m);
    for (size_t at = (size_t)valid[0]; at < (size_t)most_blocks * m->tile_m;
         at++)
        ids[at] = TOKENS | TOPK << 24;
    denominator = (inter + m->tile_n - 1) / m->tile_n;
    x_grid = m->persistent ? s->ncus * (m->two_groups ? 2 : 1) : denominator;
    y_grid = m->persistent ? 1 : most_blocks;
    {
        const kpk_value values[] = {
            kpk_ptr(out),
            kpk_ptr(aiter_device(s, x, (size_t)(nx + npadding) * dim * width)),
            kpk_ptr(aiter_device(
                s, shuffle(m->type, w1, (size_t)EXPERTS * nup, dim),
                (size_t)EXPERTS * nup * dim * width)),
            kpk_ptr(aiter_device(s, valid, sizeof(valid))),
            kpk_ptr(aiter_device(s,
                                 shuffle(m->type, w2, (size_t)nw2 * dim, inter),
                                 (size_t)nw2 * dim * inter * width)),
            kpk_ptr(quantized ? aiter_device(s, xs, 4ul * nxs) : NULL),
            kpk_ptr(quantized ? aiter_device(s, w1s, 4ul * EXPERTS * n1)
                              : NULL),
            kpk_ptr(quantized ? aiter_device(s, w2s, 4ul * nw2s) : NULL),
            kpk_ptr(m->per_expert
                        ? aiter_device(s, smooth, 4ul * EXPERTS * inter)
                        : NULL),
            kpk_ptr(aiter_device(s, ids, 4ul * most_blocks * m->tile_m)),
            kpk_ptr(aiter_device(s, sorted, 4ul * most_blocks * m->tile_m)),
            kpk_ptr(aiter_device(s, experts, 4ul * most_blocks)),
            kpk_u32(dim),
            kpk_u32(inter),
            kpk_u32(TOKENS),
            kpk_u32(EXPERTS),
            kpk_u32((uint32_t)(dim * width)),
            kpk_u32((uint32_t)(dim * width)),
            kpk_u32((uint32_t)(inter * width)),
            kpk_u32(2 * dim),
            kpk_u32((uint32_t)(nup * dim * width)),
            kpk_u32((uint32_t)(dim * inter * width)),
            kpk_u32(quantized ? 4 * n1 : 0),
            kpk_u32(quantized ? 4 * n2 : 0),
            kpk_u32(4 * inter),
            kpk_u32(TOPK),
            kpk_u32(m->persistent ? x_grid / denominator * denominator : 0),
            kpk_u32(denominator)};

        aiter_launch(s, x_grid, y_grid, 1, 256, values,
                     sizeof(values) / sizeof(values[0]));
    }
    aiter_fetch(s, got, out, nout * 2);

    for (unsigned t = 0; t < TOKENS; t++) {
        memset(want, 0, sizeof(*want) * dim);
        memset(bound, 0, sizeof(*bound) * dim);
        memset(size, 0, sizeof(*size) * dim);
        for (unsigned k = 0; k < TOPK; k++) {
            const unsigned e = chosen[t][k];
            const size_t row = m->per_expert ? (size_t)k * TOKENS + t : t;
            double most = 0;

            for (unsigned j = 0; j < inter; j++) {
                double sum[2] = {0, 0};

                for (unsigned g = 0; g < (m->gate_and_up ? 2u : 1u); g++) {
                    const size_t at = (size_t)e * nup + g * inter + j;

                    for (unsigned d = 0; d < dim; d++) {
                        const size_t x_scale =
                            m->blocks ? d / BLOCK * TOKENS + row : row;
                        double term = get(m->type, x, row * dim + d) *
                                      get(m->type, w1, at * dim + d);

                        if (quantized)
                            term *= (double)xs[x_scale] *
                                    (double)w1s[scale_of(m, at, d, dim)];
                        sum[g] += term;
                    }
                    if (m->early_weight)
                        sum[g] *= weight[t][k];
                }
                h[j] = activate(m, sum[0]) * (m->gate_and_up ? sum[1] : 1);
                if (m->per_expert)
                    h[j] *= (double)smooth[(size_t)e * inter + j];
                most = fmax(most, fabs(h[j]));
            }
            for (unsigned d = 0; d < dim; d++) {
                const double scale = m->early_weight ? 1 : weight[t][k];
                const size_t at = (size_t)e * dim + d;
                double sum = 0, squares = 0;

                for (unsigned j = 0; j < inter; j++) {
                    const double w =
                        get(m->type, w2, at * inter + j) *
                        (quantized ? (double)w2s[scale_of(m, at, j, inter)]
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
        for (unsigned d = 0; d < dim; d++) {
            const double is = get(m->out, got, (size_t)t * dim + d);
            const double most =
                bound[d] + size[d] * 4 * (m->out == F16 ? 0x1p-10 : 0x1p-7) +
                1e-6;

            if (!(fabs(is - want[d]) <= most))
                wrong(s, "%u x %u: [%u][%u] is %g, not %g (within %g)", dim,
                      inter, t, d, is, want[d], most);
        }
    }
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
