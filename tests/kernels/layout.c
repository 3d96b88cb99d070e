/* layout.c - shapes and strides of the kernels' `info` argument */
#include "harness.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const order_names[KT_NORDERS] = {
    [KT_CONTIGUOUS] = "contiguous",
    [KT_TRANSPOSED] = "transposed",
    [KT_SLICED] = "sliced",
    [KT_BROADCAST_OUTER] = "outer broadcast",
    [KT_BROADCAST_INNER] = "inner broadcast",
    [KT_BROADCAST_ALL] = "one element",
    [KT_ODD_UNIT] = "odd unit strides",
};

static void name_layout(struct kt_layout *l, const char *order)
{
    size_t used = 0;

    for (size_t d = 0; d < l->rank && used < sizeof(l->name); d++)
        used += (size_t)snprintf(l->name + used, sizeof(l->name) - used,
                                 "%s%zu", d ? "x" : "", l->dims[d]);
    if (used < sizeof(l->name))
        snprintf(l->name + used, sizeof(l->name) - used, "%s%s",
                 l->rank ? " " : "scalar ", order);
}

/* Strides of a dense array whose dims lie in memory in the given order. */
static void dense_strides(struct kt_layout *l, bool reversed, size_t gap)
{
    size_t step = 1;

    for (size_t k = 0; k < l->rank; k++) {
        const size_t d = reversed ? k : l->rank - 1 - k;

        l->strides[d] = step;
        step *= l->dims[d] + gap;
    }
}

static struct kt_layout of_dims(size_t rank, const size_t *dims)
{
    struct kt_layout l;

    assert(rank <= KT_MAX_RANK);
    memset(&l, 0, sizeof(l));
    l.rank = rank;
    l.numel = 1;
    for (size_t d = 0; d < rank; d++) {
        l.dims[d] = dims[d];
        l.numel *= dims[d];
    }
    return l;
}

static void set_extent(struct kt_layout *l)
{
    l->extent = l->numel ? 1 : 0;
    for (size_t d = 0; d < l->rank && l->numel; d++)
        l->extent += (l->dims[d] - 1) * l->strides[d];
}

struct kt_layout kt_layout(size_t rank, const size_t *dims, enum kt_order order)
{
    struct kt_layout l = of_dims(rank, dims);

    dense_strides(&l, order == KT_TRANSPOSED, order == KT_SLICED ? 3 : 0);
    if (order == KT_SLICED)
        for (size_t d = 0; d < rank; d++)
            l.strides[d] *= 2; /* every second element of longer rows */
    if (order == KT_BROADCAST_OUTER && rank)
        l.strides[0] = 0;
    if (order == KT_BROADCAST_INNER && rank) {
        l.strides[rank - 1] = 0;
        for (size_t d = 0; d + 1 < rank; d++)
            l.strides[d] /= dims[rank - 1] ? dims[rank - 1] : 1;
    }
    if (order == KT_BROADCAST_ALL)
        memset(l.strides, 0, sizeof(l.strides));
    if (order == KT_ODD_UNIT)
        for (size_t d = 0; d < rank; d++)
            if (dims[d] == 1)
                l.strides[d] = 77 + d;
    set_extent(&l);
    name_layout(&l, order_names[order]);
    return l;
}

struct kt_layout kt_any_layout(size_t rank, const size_t *dims, uint64_t *seed)
{
    struct kt_layout l = of_dims(rank, dims);
    size_t inner[KT_MAX_RANK] = {0}; /* dimensions from the inside out */
    size_t step = 1;

    for (size_t k = 0; k < rank; k++) { /* each goes to any place so far */
        const size_t at = kt_random(seed) % (k + 1);

        inner[k] = inner[at];
        inner[at] = rank - 1 - k;
    }
    for (size_t k = 0; k < rank; k++) {
        const size_t d = inner[k];
        const uint64_t choice = kt_random(seed) % 8;

        if (choice == 0)
            continue; /* a stride of 0 */
        if (choice < 3)
            step += kt_random(seed) % 5;
        if (choice == 3)
            step = (step + 15) / 16 * 16;
        l.strides[d] = step;
        step *= dims[d];
        if (dims[d] == 1)
            l.strides[d] = kt_random(seed);
    }
    set_extent(&l);
    name_layout(&l, "in any order");
    return l;
}

size_t kt_offset(const struct kt_layout *layout, size_t i)
{
    size_t offset = 0;

    for (size_t d = layout->rank; d-- > 0;) {
        offset += i % layout->dims[d] * layout->strides[d];
        i /= layout->dims[d];
    }
    return offset;
}

bool kt_is_contiguous(const struct kt_layout *layout)
{
    size_t acc = 1;

    for (size_t d = layout->rank; d-- > 0;) {
        if (layout->dims[d] > 1 && layout->strides[d] != acc)
            return false;
        acc *= layout->dims[d];
    }
    return true;
}
