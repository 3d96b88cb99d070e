/* aiter_gemm.c - D = A B^T in bf16: bf16gemm
 *
 * In names: MxN: the tile; bshuffle, bpreshuffle: B in the order of the matrix
 * unit; clean: adds up splits of K through counters of tiles; the first type:
 * fp32bf16 writes either, bf16 that alone, outf32 f32.
 */
#include "aiter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Groups of 16 rows and 32 columns; in a group 4 blocks of 8 columns, in a
 * block the rows. */
static void shuffle(const uint16_t *b, uint16_t *out, unsigned n, unsigned k)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < k; j++)
            out[((((size_t)(i / 16) * (k / 32) + j / 32) * 4 + j % 32 / 8) *
                     16 +
                 i % 16) *
                    8 +
                j % 8] = b[(size_t)i * k + j];
}

struct gemm_case {
    unsigned m, ntiles, k, splits;
    bool out_bf16, bias;
};

static void run_case(struct subject *s, unsigned tile_m, unsigned tile_n,
                     const struct gemm_case *c)
{
    const unsigned n = c->ntiles * tile_n;
    const enum type out = c->out_bf16 ? BF16 : F32;
    const size_t nout = (size_t)c->m * n, width = type_nbytes(out);
    const unsigned ntiles_m = (c->m + tile_m - 1) / tile_m;
    const bool clean = has(s, "clean");
    /* An older kernel, without bias and counters. */
    const bool old = has(s, "outf32");
    uint16_t *a = random_values(BF16, (size_t)c->m * c->k, 1);
    uint16_t *b = random_values(BF16, (size_t)n * c->k, 1);
    uint16_t *bias = random_values(BF16, n, 3);
    uint16_t *stored = aiter_host(2 * (size_t)n * c->k);
    void *got = aiter_host(nout * width);
    /* Splits are added up in memory, which the counters' way clears itself. */
    void *d = aiter_device_filled(s, c->splits > 1 && !clean ? 0 : 0xff,
                                  nout * width);
    const size_t ncounters = (size_t)ntiles_m * ((n + 63) / 64);
    uint32_t *counters = aiter_host(4 * ncounters);
    void *on_device = aiter_device(s, counters, 4 * ncounters);
    double most = 0;

    if (has(s, "shuffle"))
        shuffle(b, stored, n, c->k);
    else
        memcpy(stored, b, 2 * (size_t)n * c->k);
    {
        const kpk_value values[] = {
            kpk_ptr(d),
            kpk_ptr(NULL),
            kpk_ptr(aiter_device(s, a, 2 * (size_t)c->m * c->k)),
            kpk_ptr(aiter_device(s, stored, 2 * (size_t)n * c->k)),
            kpk_f32(1),
            kpk_f32(0),
            kpk_u32(old ? (uint32_t)(n * width) : 0),
            kpk_u32(0),
            kpk_u32((uint32_t)(n * width)),
            kpk_u32(0),
            kpk_u32(2 * c->k),
            kpk_u32(0),
            kpk_u32(2 * c->k),
            kpk_u32(0),
            kpk_u32(c->m),
            kpk_u32(n),
            kpk_u32(c->k),
            kpk_u32(c->splits),
            kpk_u32(c->out_bf16),
            kpk_ptr(c->bias ? aiter_device(s, bias, 2ul * n) : NULL),
            kpk_u32(c->bias),
            kpk_ptr(c->splits > 1 && clean ? on_device : NULL)};

        aiter_launch(s, c->ntiles, ntiles_m, c->splits, 256, values,
                     sizeof(values) / sizeof(values[0]));
    }
    aiter_fetch(s, got, d, nout * width);
    for (unsigned i = 0; i < c->m; i++)
        for (unsigned j = 0; j < n; j++) {
            double want = c->bias ? get(BF16, bias, j) : 0, size = fabs(want);
            double bound;

            for (unsigned k = 0; k < c->k; k++) {
                const double term = get(BF16, a, (size_t)i * c->k + k) *
                                    get(BF16, b, (size_t)j * c->k + k);

                want += term;
                size += fabs(term);
            }
            /* Partial sums of bf16 are rounded with each split. */
            bound = size * (c->k * 0x1p-24) +
                    (c->out_bf16
                         ? c->splits * (fabs(want) + sqrt(c->k) * 3) * 0x1p-8
                         : 0);
            most = fmax(most,
                        fabs(get(out, got, (size_t)i * n + j) - want) / bound);
            if (!(fabs(get(out, got, (size_t)i * n + j) - want) <= bound))
                wrong(s, "%u x %u x %u, %u splits: [%u][%u] is %g, not %g",
                      c->m, n, c->k, c->splits, i, j,
                      get(out, got, (size_t)i * n + j), want);
        }
    aiter_forget(s);
}

void run_bf16gemm(struct subject *s)
{
    static const struct gemm_case cases[] = {
        {1, 1, 256, 1, false, false},  {77, 2, 320, 1, true, true},
        {33, 1, 448, 2, false, true},  {40, 1, 320, 3, true, false},
        {100, 1, 256, 1, false, true},
    };
    unsigned tile[2];
    const bool big = has(s, "256x256"), old = has(s, "outf32");

    if (sizes_of(s, tile, 2) != 2)
        left_out("its name does not say what it is");
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct gemm_case c = cases[n];

        /* Adapts the case to the kernel's options. */
        if (big)
            c.out_bf16 = true;
        if (big || old)
            c.bias = false;
        if (old)
            c.out_bf16 = false;
        if (!has(s, "splitk"))
            c.splits = 1;
        if (has(s, "clean") && c.splits == 1)
            c.splits = 2; /* AITER's host gives it no other */
        run_case(s, tile[0], tile[1], &c);
    }
}
