/* sum.c - sum_*: sums added to the output's old values */
#include "reduce.h"

#include <assert.h>
#include <math.h>

static const struct sum_case {
    const char *name;
    size_t rank, dims[4];
    enum kt_order order;
    size_t nsum, sum[3]; /* ascending */
    unsigned grid, block;
} sum_cases[] = {
    {"one", 1, {1}, 0, 1, {0}, 1, 1024},
    {"all", 2, {9, 101}, 0, 2, {0, 1}, 1, 1024},
    {"last, few outputs", 2, {5, 400}, KT_SLICED, 1, {1}, 2, 256},
    {"first, many outputs", 2, {40, 70}, 0, 1, {0}, 1, 32},
    {"middle", 3, {4, 70, 3}, KT_TRANSPOSED, 1, {1}, 4, 64},
    {"outer two of three", 3, {6, 8, 5}, 0, 2, {0, 1}, 1, 1024},
    {"first and last", 3, {6, 4, 50}, 0, 2, {0, 2}, 3, 128},
    {"broadcast", 2, {7, 50}, KT_BROADCAST_OUTER, 1, {1}, 7, 64},
    {"none", 2, {4, 5}, 0, 0, {0}, 1, 96},
};
#define NSUM_CASES (sizeof(sum_cases) / sizeof(sum_cases[0]))

static void run_sum_case(struct kt *t, const struct sum_case *c,
                         enum kt_type type)
{
    const struct kt_layout layout = kt_layout(c->rank, c->dims, c->order);
    size_t info[16], used = 0;
    size_t numel = layout.numel, num_dims = c->rank, nsum = c->nsum;
    size_t terms = 1, n_out;

    for (size_t d = 0; d < c->rank; d++)
        info[used++] = layout.dims[d];
    for (size_t d = 0; d < c->rank; d++)
        info[used++] = layout.strides[d];
    for (size_t s = 0; s < c->nsum; s++) {
        info[used++] = layout.dims[c->sum[s]];
        terms *= layout.dims[c->sum[s]];
    }
    assert(terms > 0);
    n_out = numel / terms;
    for (size_t s = 0; s < c->nsum; s++) {
        size_t stride = 1;

        for (size_t d = c->sum[s] + 1; d < c->rank; d++)
            stride *= layout.dims[d];
        info[used++] = stride;
    }
    void *x = kt_host(t, type, layout.extent, KT_SMALL, numel);
    void *out = kt_host(t, type, n_out, KT_SMALL, numel + 1);
    kt_real *want = kt_alloc(t, n_out * sizeof(*want));
    kt_real *scale = kt_alloc(t, n_out * sizeof(*scale));

    for (size_t o = 0; o < n_out; o++) {
        want[o] = kt_get(type, out, o);
        scale[o] = fabsl(want[o]);
    }
    for (size_t i = 0; i < numel; i++) {
        size_t o = 0, rest = i, unit = 1;

        for (size_t d = c->rank; d-- > 0;) {
            bool reduced = false;

            for (size_t s = 0; s < c->nsum; s++)
                reduced = reduced || c->sum[s] == d;
            if (!reduced) {
                o += rest % layout.dims[d] * unit;
                unit *= layout.dims[d];
            }
            rest /= layout.dims[d];
        }
        const kt_real v = kt_get(type, x, kt_offset(&layout, i));

        want[o] += v;
        scale[o] += fabsl(v);
    }
    const void *src = kt_device(t, x, layout.extent * kt_size(type), 0);
    const void *infos = kt_device(t, info, used * sizeof(info[0]), 0);
    void *dst = kt_device(t, out, n_out * kt_size(type), 0);

    reduce_name_case(t, c->name, terms, c->block);
    if (!KT_LAUNCH(t, c->grid, c->block, 0, numel, num_dims, nsum, infos, src,
                   dst))
        return;
    kt_read(t, out, dst, n_out * kt_size(type));
    if (kt_is_float(type))
        kt_check(t, type, out, want, n_out,
                 (struct kt_gate){
                     0.5L, (kt_real)(terms + 1) * reduce_inner_roundoff(type),
                     scale, false});
    else
        kt_check(t, type, out, want, n_out, KT_EXACT);
}

void reduce_run_sum(struct kt *t, const struct kt_row *row)
{
    for (size_t c = 0; c < NSUM_CASES; c++)
        if (kt_turn(t))
            run_sum_case(t, &sum_cases[c], row->a);
}
