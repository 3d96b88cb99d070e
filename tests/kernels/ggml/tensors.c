/* tensors.c - tensors with strides for the tests of module ggml */
#include "ggml_test.h"

#include <math.h>
#include <string.h>

struct gt gt_make(struct kt *t, enum kt_type type, const uint32_t ne[4],
                  enum lie lie, enum kt_data what, uint64_t seed)
{
    struct gt g = {.type = type, .n = 1};
    int64_t step = (int64_t)kt_size(type);

    for (size_t i = 0; i < 4; i++) {
        const size_t d = lie == REVERSED ? 3 - i : i;

        g.t.ne[d] = ne[d];
        g.t.nb[d] = step;
        g.n *= ne[d];
        step *= (int64_t)ne[d] + (lie == GAPS ? 3 : 0);
    }
    for (size_t d = 0; g.n > 0 && d < 4; d++)
        g.nbytes += (size_t)g.t.nb[d] * (ne[d] - 1);
    g.nbytes += g.n > 0 ? kt_size(type) : 0;
    g.host = kt_host(t, type, g.nbytes / kt_size(type), what, seed);
    return g;
}

struct gt gt_blocks(struct kt *t, const struct gguf_format *f, uint32_t units,
                    const uint32_t ne[4])
{
    const uint32_t bytes[4] = {units * (uint32_t)f->nbytes, ne[1], ne[2],
                               ne[3]};
    struct gt g = gt_make(t, KT_U8, bytes, DENSE, KT_ZERO, 0);
    const int64_t gap = (int64_t)f->nbytes;

    g.t.nb[1] += gap;
    g.t.nb[2] = g.t.nb[1] * ne[1] + gap;
    g.t.nb[3] = g.t.nb[2] * ne[2] + gap;
    g.nbytes = (size_t)g.t.nb[3] * ne[3];
    g.host = kt_alloc(t, g.nbytes);
    g.t.ne[0] = units * (uint32_t)f->elems;
    g.t.nb[0] = (int64_t)f->nbytes;
    return g;
}

void gt_place(struct kt *t, struct gt *g)
{
    g->t.data = kt_device(t, g->host, g->nbytes, 0);
}

static size_t offset_of(const struct gt *g, const size_t place[4])
{
    size_t at = 0;

    for (size_t d = 0; d < 4; d++)
        at += place[d] * (size_t)g->t.nb[d];
    return at / kt_size(g->type);
}

static void place_of(const struct gt *g, size_t i, size_t place[4])
{
    for (size_t d = 0; d < 4; d++) {
        place[d] = i % g->t.ne[d];
        i /= g->t.ne[d];
    }
}

size_t gt_at(const struct gt *g, size_t i)
{
    size_t place[4];

    place_of(g, i, place);
    return offset_of(g, place);
}

kt_real gt_get(const struct gt *g, size_t i)
{
    return kt_get(g->type, g->host, gt_at(g, i));
}

size_t gt_repeated(const struct gt *g, const struct gt *to, size_t i)
{
    size_t place[4], at = 0;

    place_of(to, i, place);
    for (size_t d = 4; d-- > 0;)
        at = at * g->t.ne[d] + place[d] % g->t.ne[d];
    return at;
}

struct gt gt_result(struct kt *t, enum kt_type type, const uint32_t ne[4],
                    enum lie lie)
{
    struct gt g = gt_make(t, type, ne, lie, KT_ZERO, 0);

    memset(g.host, 0xA5, g.nbytes);
    gt_place(t, &g);
    return g;
}

void gt_check(struct kt *t, const struct gt *out, const kt_real *want,
              const bool *skip, struct kt_gate gate)
{
    const size_t size = kt_size(out->type);
    uint8_t *got = kt_alloc(t, out->nbytes), *mine = kt_alloc(t, out->n * size);
    kt_real *wanted = kt_alloc(t, out->n * sizeof(*wanted));
    kt_real *scale = kt_alloc(t, out->n * sizeof(*scale));
    size_t n = 0;

    kt_read(t, got, out->t.data, out->nbytes);
    for (size_t i = 0; i < out->n; i++) {
        uint8_t *from = got + gt_at(out, i) * size;

        if (skip && skip[i])
            continue;
        memcpy(mine + n * size, from, size);
        memset(from, 0xA5, size);
        wanted[n] = want[i];
        scale[n++] = gate.scale ? gate.scale[i] : 1;
    }
    gate.scale = gate.scale ? scale : NULL;
    kt_check(t, out->type, mine, wanted, n, gate);
    memset(out->host, 0xA5, out->nbytes);
    kt_check_bytes(t, got, out->host, out->nbytes, "bytes between elements");
}

kt_real gt_slope(size_t head, size_t heads, kt_real max_bias)
{
    size_t p = 1;

    if (max_bias == 0)
        return 1;
    while (2 * p <= heads)
        p *= 2;
    return head < p ? powl(2, -max_bias / p * (head + 1))
                    : powl(2, -max_bias / (2 * p) * (2 * (head - p) + 1));
}
