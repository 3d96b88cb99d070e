/* fused_rope.c - rope_pos, rope_table */
#include "fused.h"

#include <math.h>
#include <stdio.h>

/* ---- rope_pos ---- */

enum { FACTORS = 2, SAME = 4, LAUNCH_ONE = 8 };

static const struct rope_case {
    uint32_t tokens, heads, d, n_dims;
    float base, scale, ext, attn, low, high;
    unsigned how;
    size_t lead;
} rope_cases[] = {
    {1, 1, 2, 2, 10000, 1, 0, 1, 0, 0, 0, 0},
    {1, 32, 128, 128, 500000, 1, 0, 1, 0, 0, NEOX, 0},
    {3, 8, 128, 128, 500000, 1, 0, 1, 0, 0, NEOX | FACTORS | SAME, 0},
    {5, 3, 64, 64, 10000, 1, 0, 1, 0, 0, SAME, 0},
    {4, 2, 80, 32, 10000, 0.25f, 0, 1, 0, 0, NEOX, 0},
    {4, 2, 80, 32, 10000, 0.25f, 0, 0.5f, 0, 0, FACTORS, 1},
    {2, 3, 96, 96, 1e6f, 0.0625f, 1, 1, 10.5f, 30, NEOX, 0},
    {2, 3, 64, 64, 10000, 0.125f, 0.75f, 1.1f, 8, 8, FACTORS, 0},
    {2, 5, 7, 6, 10000, 1, 0, 1, 0, 0, NEOX, 0},
    {2, 5, 7, 6, 10000, 1, 0, 1, 0, 0, SAME, 0},
    {2, 2, 10, 6, 10000, 1, 0, 1, 0, 0, NEOX, 1},
    {2, 2, 6, 0, 10000, 1, 0, 1, 0, 0, NEOX, 0},
    {170, 9, 1400, 1400, 10000, 1, 0, 1, 0, 0, NEOX | LAUNCH_ONE, 0},
    {170, 9, 1400, 1400, 10000, 1, 0, 1, 0, 0, LAUNCH_ONE, 0},
    /* blocks that share the angles of a token */
    {520, 32, 128, 128, 500000, 1, 0, 1, 0, 0, NEOX | LAUNCH_ONE, 0},
    {300, 30, 160, 128, 10000, 0.25f, 0, 1, 0, 0, FACTORS | LAUNCH_ONE, 0},
    {300, 30, 160, 128, 1e6f, 0.25f, 1, 1, 9, 30, SAME | LAUNCH_ONE, 0},
};

/* Tokens' positions, divisors of angles and multipliers of lengths. */
struct places {
    int32_t *positions;
    float *factors;
    kt_real length;
};

static struct places places_of(struct kt *t, const struct rope_case *c)
{
    const uint32_t half = c->n_dims / 2;
    struct places p = {kt_alloc(t, c->tokens * sizeof(*p.positions)),
                       kt_alloc(t, (half + 1) * sizeof(*p.factors)),
                       c->ext != 0 ? c->attn * (1 - 0.1L * logl(c->scale))
                                   : c->attn};

    for (uint32_t i = 0; i < c->tokens; i++)
        p.positions[i] = i == 1 ? 1048575 : i == 2 ? 0 : (int32_t)(131 * i + 7);
    for (uint32_t j = 0; j < half; j++)
        p.factors[j] = 1 + (float)j / 8;
    return p;
}

/* The angle of a token's pair j. */
static kt_real angle_of(const struct rope_case *c, const struct places *p,
                        uint32_t token, uint32_t j)
{
    const kt_real span = fmaxl(0.001L, (kt_real)c->high - c->low);
    const kt_real whole = p->positions[token] *
                          powl(c->base, -2 * (kt_real)j / c->n_dims) /
                          (c->how & FACTORS ? p->factors[j] : 1);
    const kt_real ramp = 1 - fminl(1, fmaxl(0, ((kt_real)j - c->low) / span));
    const kt_real mix = c->ext * ramp;

    return whole * c->scale * (1 - mix) + whole * mix;
}

void fused_run_rope(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const uint32_t half = c->n_dims / 2;
        const size_t total = (size_t)c->tokens * c->heads * c->d;
        const bool neox = c->how & NEOX;
        /* compare only a sample of tokens in large cases */
        const uint32_t each = c->how & LAUNCH_ONE ? 53 : 1;
        void *x = kt_host(t, type, total, KT_SMALL, k);
        const struct places at = places_of(t, c);
        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        uint32_t flags = neox ? 1 : 0;
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "%ux%ux%u, %u dims, how %u", c->tokens, c->heads,
                 c->d, c->n_dims, c->how);
        t->what = text;
        for (size_t r = 0; r < (size_t)c->tokens * c->heads; r++)
            for (uint32_t j = 0; j < c->d; j++)
                want[r * c->d + j] = kt_get(type, x, r * c->d + j);
        for (uint32_t token = 0; token < c->tokens; token += each)
            for (uint32_t j = 0; j < half; j++) {
                const kt_real angle = angle_of(c, &at, token, j);
                const kt_real co = cosl(angle) * at.length;
                const kt_real si = sinl(angle) * at.length;

                for (uint32_t h = 0; h < c->heads; h++) {
                    const size_t first = ((size_t)token * c->heads + h) * c->d;
                    const size_t p = first + (neox ? j : 2 * j);
                    const size_t q = neox ? p + half : p + 1;
                    const kt_real a = kt_get(type, x, p);
                    const kt_real e = kt_get(type, x, q);

                    want[p] = a * co - e * si;
                    want[q] = a * si + e * co;
                    scale[p] = scale[q] =
                        (fabsl(a) + fabsl(e)) * fabsl(at.length);
                }
            }
        void *src = kt_device(t, x, total * size, c->lead * size);
        const void *dpos = kt_device(t, at.positions, c->tokens * 4, 0);
        const void *dfactors =
            c->how & FACTORS ? kt_device(t, at.factors, half * 4, 0) : NULL;
        void *dst = c->how & SAME
                        ? src
                        : kt_device(t, NULL, total * size, c->lead * size);
        uint8_t *got = kt_alloc(t, total * size);
        const size_t token_size = (size_t)c->heads * c->d;

        if (!KT_LAUNCH(t, 3, 256, 0, src, dpos, dfactors, dst, c->tokens,
                       c->heads, c->d, c->n_dims, c->base, c->scale, c->ext,
                       c->attn, c->low, c->high, flags))
            return;
        kt_read(t, got, dst, total * size);
        for (uint32_t token = 0; token < c->tokens; token += each)
            kt_check(t, type, got + token * token_size * size,
                     want + token * token_size, token_size,
                     (struct kt_gate){0.5L, 6 * V, scale + token * token_size,
                                      false});
    }
}

/* ---- rope_table ---- */

void fused_run_rope_table(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const uint32_t half = c->n_dims / 2, dims = 2 * half;
        const size_t total = (size_t)c->tokens * dims;
        const struct places at = places_of(t, c);
        kt_real *want = kt_alloc(t, (total + 1) * sizeof(*want));
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "%u tokens, %u dims, how %u", c->tokens, dims,
                       c->how);
        t->what = text;
        for (uint32_t i = 0; i < c->tokens * half; i++) {
            const kt_real angle = angle_of(c, &at, i / half, i % half);

            want[2 * (size_t)i] = cosl(angle) * at.length;
            want[2 * (size_t)i + 1] = sinl(angle) * at.length;
        }
        const void *dpos = kt_device(t, at.positions, c->tokens * 4, 0);
        const void *dfactors =
            c->how & FACTORS ? kt_device(t, at.factors, half * 4, 0) : NULL;
        void *dst = kt_device(t, NULL, total * 4, 0);
        float *got = kt_alloc(t, (total + 1) * 4);

        if (!KT_LAUNCH(t, 3, 128, 0, dpos, dfactors, dst, c->tokens, dims,
                       c->base, c->scale, c->ext, c->attn, c->low, c->high))
            return;
        kt_read(t, got, dst, total * 4);
        kt_check(t, KT_F32, got, want, total,
                 (struct kt_gate){0.5L, 4 * V * fabsl(at.length), NULL, false});
    }
}
