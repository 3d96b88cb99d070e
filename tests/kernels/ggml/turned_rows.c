/* turned_rows.c - rotary embedding with one position a token, or four */
#include "ggml_test.h"

#include <math.h>

static const struct rope_case {
    uint32_t ne[4];
    enum lie from, to;
    bool factors;
    kpk_ggml_rope r;
} rope_cases[] = {
#define BASE .base = 10000, .scale = 1, .attn = 1
    {{2, 1, 1, 1}, DENSE, DENSE, false, {BASE, .n_dims = 2, .turned = 2}},
    {{64, 3, 5, 2},
     GAPS,
     REVERSED,
     false,
     {BASE, .n_dims = 64, .turned = 64, .halves = 1}},
    {{80, 2, 4, 1},
     DENSE,
     GAPS,
     true,
     {.base = 1e6f,
      .scale = 0.25f,
      .ext = 0.75f,
      .attn = 1.25f,
      .corr_low = 3.5f,
      .corr_high = 12,
      .n_dims = 32,
      .first = 16,
      .turned = 32,
      .back = 1}},
    {{48, 2, 3, 2},
     REVERSED,
     DENSE,
     true,
     {BASE, .n_dims = 40, .turned = 40, .halves = 1, .pairs = {4, 5, 3, 2}}},
    {{48, 2, 3, 1},
     DENSE,
     DENSE,
     false,
     {BASE, .n_dims = 48, .turned = 48, .halves = 1, .pairs = {8, 7, 6, 2},
      .in_turn = 1}},
    {{48, 1, 3, 1},
     DENSE,
     DENSE,
     true,
     {.base = 10000,
      .scale = 0.5f,
      .ext = 1,
      .attn = 1,
      .corr_low = 2,
      .corr_high = 15,
      .n_dims = 24,
      .turned = 48,
      .halves = 1,
      .pairs = {6, 10, 4, 4},
      .restart = 1}},
};

/* which of the four positions a pair has, and the number of its angle */
static size_t position_of(const kpk_ggml_rope *r, size_t pair, size_t *number)
{
    size_t all = 0, at, which = 0, begin = 0;

    *number = pair;
    for (size_t i = 0; i < 4; i++)
        all += r->pairs[i];
    if (all == 0)
        return 0;
    at = pair % all;
    if (r->in_turn)
        return at < 3 * (size_t)r->pairs[at % 3] ? at % 3 : 3;
    while (at - begin >= r->pairs[which])
        begin += r->pairs[which++];
    if (r->restart)
        *number = at - begin;
    return which;
}

/* The cosine and the sine of a token's pair j. factors may be NULL. */
static void turn_of(const kpk_ggml_rope *r, const int32_t *positions,
                    size_t tokens, size_t token, size_t j, const float *factors,
                    kt_real *cosine, kt_real *sine)
{
    const kt_real length =
        r->ext != 0 ? r->attn * (1 - 0.1L * logl(r->scale)) : r->attn;
    size_t number;
    const size_t which = position_of(r, j, &number);
    const kt_real whole = positions[which * tokens + token] *
                          powl(r->base, -2 * (kt_real)number / r->n_dims) /
                          (factors ? factors[j] : 1);
    const kt_real way = ((kt_real)j - r->corr_low) /
                        fmaxl(0.001L, (kt_real)r->corr_high - r->corr_low);
    const kt_real mix = r->ext * (1 - fminl(1, fmaxl(0, way)));
    const kt_real angle = whole * r->scale * (1 - mix) + whole * mix;

    *cosine = length * cosl(angle);
    *sine = length * sinl(r->back ? -angle : angle);
}

/* Turns a row of a token. `scale` gets the size to which each turned element's
 * error is relative. */
static void turn_row(const kpk_ggml_rope *r, const int32_t *positions,
                     size_t tokens, size_t token, const float *factors,
                     kt_real *x, kt_real *scale)
{
    const size_t half = r->turned / 2;
    const kt_real length =
        r->ext != 0 ? r->attn * (1 - 0.1L * logl(r->scale)) : r->attn;

    for (size_t j = 0; j < half; j++) {
        const size_t p = r->first + (r->halves ? j : 2 * j);
        const size_t q = p + (r->halves ? half : 1);
        const kt_real a = x[p], b = x[q];
        kt_real cosine, sine;

        turn_of(r, positions, tokens, token, j, factors, &cosine, &sine);
        x[p] = a * cosine - b * sine;
        x[q] = a * sine + b * cosine;
        scale[p] = scale[q] = 24 * length * (fabsl(a) + fabsl(b));
    }
}

static int32_t *make_positions(struct kt *t, size_t tokens)
{
    int32_t *positions = kt_alloc(t, 4 * tokens * sizeof(*positions));

    for (size_t i = 0; i < 4 * tokens; i++)
        positions[i] = (int32_t)(i * i * 131 + 7);
    return positions;
}

static float *make_factors(struct kt *t, size_t half)
{
    float *factors = kt_alloc(t, half * sizeof(*factors));

    for (size_t j = 0; j < half; j++)
        factors[j] = 1 + (float)j / 8;
    return factors;
}

void ggml_run_rope(struct kt *t, const struct kt_row *row)
{
    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const kpk_ggml_rope *r = &c->r;
        const size_t d = c->ne[0], tokens = c->ne[2], half = r->turned / 2;
        struct gt x = gt_make(t, row->a, c->ne, c->from, KT_SMALL, k);
        int32_t *positions = make_positions(t, tokens);
        float *factors = make_factors(t, half);
        kt_real *want = kt_alloc(t, x.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, x.n * sizeof(*scale));

        for (size_t i = 0; i < x.n; i++)
            want[i] = gt_get(&x, i);
        for (size_t i = 0; i < x.n / d; i++)
            turn_row(r, positions, tokens, i / c->ne[1] % tokens,
                     c->factors ? factors : NULL, want + i * d, scale + i * d);
        gt_place(t, &x);

        const struct gt out = gt_result(t, row->a, c->ne, c->to);
        const int32_t *dp =
            kt_device(t, positions, 4 * tokens * sizeof(*positions), 0);
        const float *df =
            c->factors ? kt_device(t, factors, half * sizeof(*factors), 0)
                       : NULL;

        t->what = "turned";
        if (!KT_LAUNCH(t, 2, 64, 0, x.t, dp, df, out.t, *r))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

void ggml_run_rope_table(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const kpk_ggml_rope *r = &c->r;
        const uint32_t tokens = c->ne[2], half = r->turned / 2;
        const uint32_t ne[4] = {2, half, tokens, 1};
        int32_t *positions = make_positions(t, tokens);
        float *factors = make_factors(t, half);
        const struct gt table = gt_result(t, KT_F32, ne, DENSE);
        kt_real *want = kt_alloc(t, table.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, table.n * sizeof(*scale));
        const int32_t *dp =
            kt_device(t, positions, 4 * tokens * sizeof(*positions), 0);
        const float *df =
            c->factors ? kt_device(t, factors, half * sizeof(*factors), 0)
                       : NULL;

        for (size_t i = 0; i < table.n; i += 2) {
            turn_of(r, positions, tokens, i / 2 / half, i / 2 % half,
                    c->factors ? factors : NULL, &want[i], &want[i + 1]);
            scale[i] = scale[i + 1] = 24 * r->attn;
        }
        t->what = "cosines and sines";
        if (!KT_LAUNCH(t, 2, 64, 0, dp, df, table.t.data, tokens, *r))
            return;
        gt_check(t, &table, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

/* ---- on the way to attention ---- */

/* The table that ggml_rope_table_f32 would make. */
static const float *make_table(struct kt *t, const int32_t *positions,
                               size_t tokens, const kpk_ggml_rope *r)
{
    const size_t half = r->turned / 2, n = 2 * half * tokens;
    float *table = kt_alloc(t, n * sizeof(*table));

    for (size_t i = 0; i < n; i += 2) {
        kt_real cosine, sine;

        turn_of(r, positions, tokens, i / 2 / half, i / 2 % half, NULL, &cosine,
                &sine);
        table[i] = (float)cosine;
        table[i + 1] = (float)sine;
    }
    return kt_device(t, table, n * sizeof(*table), 0);
}

enum { CACHE_ROWS = 9 };

static const struct heads_case {
    uint32_t d, heads, kv_heads, columns, tokens;
    float factor;
    uint32_t wide, at_once;
    kpk_ggml_rope r;
} heads_cases[] = {
    {2, 1, 1, 2, 1, 1, 0, 1, {BASE, .n_dims = 2, .turned = 2}},
    {64, 9, 3, 192, 1, 1, 1, 8, {BASE, .n_dims = 64, .turned = 64}},
    {80,
     3,
     1,
     24,
     5,
     0.25f,
     1,
     2,
     {BASE, .n_dims = 32, .turned = 32, .halves = 1}},
    {128, 4, 2, 256, 3, 1, 1, 1, {BASE, .n_dims = 128, .turned = 128}},
    {256,
     4,
     1,
     256,
     2,
     0.0625f,
     1,
     1,
     {BASE, .n_dims = 256, .turned = 256, .halves = 1}},
};

/* A tensor's wanted rows in the cache: those of tokens 1, 3, ... are missing.
 */
static void check_cache(struct kt *t, const struct gt *cache, const kt_real *x,
                        const kt_real *scale, const int64_t *ids, size_t tokens)
{
    const size_t columns = cache->t.ne[0];
    kt_real *want = kt_alloc(t, cache->n * sizeof(*want));
    kt_real *of = kt_alloc(t, cache->n * sizeof(*of));
    bool *skip = kt_alloc(t, cache->n * sizeof(*skip));

    for (size_t i = 0; i < cache->n; i++)
        skip[i] = true;
    for (size_t token = 0; token < tokens; token++)
        for (size_t c = 0; ids[token] >= 0 && c < columns; c++) {
            const size_t at = (size_t)ids[token] * columns + c;

            skip[at] = false;
            want[at] = x[token * columns + c];
            of[at] = scale ? scale[token * columns + c] : 0;
        }
    gt_check(t, cache, want, skip, (struct kt_gate){0.51L, V, of, false});
}

/* A head over its length, times weights. */
static void norm_row(kt_real *x, size_t n, kt_real eps, const float *weights)
{
    kt_real sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (size_t i = 0; i < n; i++)
        x[i] *= weights[i] / sqrtl(sum / (kt_real)n + eps);
}

static void run_heads(struct kt *t, const struct kt_row *row, bool normed)
{
    for (size_t k = 0; k < NCASES(heads_cases); k++) {
        const struct heads_case *c = &heads_cases[k];
        const uint32_t tokens = c->tokens;
        const float eps = k % 2 ? 1e-5f : 0.5f;
        float *weights[2];

        if (normed && c->d % 4 != 0)
            continue;
        for (size_t p = 0; p < 2; p++)
            weights[p] = kt_host(t, KT_F32, c->d, KT_SMALL, 50 + k + p);
        const uint32_t ne[3][4] = {{c->d, c->heads, tokens, 1},
                                   {c->d, c->kv_heads, tokens, 1},
                                   {c->columns, tokens, 1, 1}};
        const uint32_t keys_ne[4] = {c->d * c->kv_heads, CACHE_ROWS, 1, 1};
        const uint32_t values_ne[4] = {c->columns, CACHE_ROWS, 1, 1};
        const uint32_t ids_ne[4] = {tokens, 1, 1, 1};
        const int32_t *positions = make_positions(t, tokens);
        int64_t *rows = kt_alloc(t, tokens * sizeof(*rows));
        struct gt from[3], ids = gt_make(t, c->wide ? KT_I64 : KT_I32, ids_ne,
                                         DENSE, KT_ZERO, 0);
        kt_real *x[3], *scale[3];

        for (size_t i = 0; i < tokens; i++) {
            rows[i] = i % 2 ? -1 : (int64_t)(CACHE_ROWS - 1 - i);
            kt_put(ids.type, ids.host, i, (kt_real)rows[i]);
        }
        gt_place(t, &ids);
        for (size_t p = 0; p < 3; p++) {
            from[p] = gt_make(t, row->a, ne[p], normed ? DENSE : GAPS, KT_SMALL,
                              3 * k + p);
            x[p] = kt_alloc(t, from[p].n * sizeof(*x[p]));
            scale[p] = kt_alloc(t, from[p].n * sizeof(*scale[p]));
            for (size_t i = 0; i < from[p].n; i++)
                x[p][i] = gt_get(&from[p], i);
            for (size_t i = 0; p < 2 && normed && i < from[p].n; i += c->d)
                norm_row(x[p] + i, c->d, (kt_real)eps, weights[p]);
            for (size_t i = 0; p < 2 && i < from[p].n; i += c->d)
                turn_row(&c->r, positions, tokens, i / c->d / ne[p][1], NULL,
                         x[p] + i, scale[p] + i);
            gt_place(t, &from[p]);
        }
        for (size_t i = 0; i < from[0].n; i++) {
            x[0][i] *= c->factor;
            scale[0][i] *= c->factor;
        }

        const struct gt queries = gt_result(t, KT_F16, ne[0], DENSE);
        const struct gt keys = gt_result(t, KT_F16, keys_ne, DENSE);
        const struct gt values = gt_result(t, KT_F16, values_ne, DENSE);
        const float *table = make_table(t, positions, tokens, &c->r);
        const kpk_ggml_heads heads = {.q = from[0].t,
                                      .k = from[1].t,
                                      .v = from[2].t,
                                      .keys = keys.t,
                                      .values = values.t,
                                      .key_ids = ids.t,
                                      .value_ids = ids.t,
                                      .queries = queries.t.data,
                                      .factor = c->factor,
                                      .wide = c->wide,
                                      .at_once = c->at_once};

        const size_t nbytes = c->d * sizeof(float);
        const void *of_q = kt_device(t, weights[0], nbytes, 0);
        const void *of_k = kt_device(t, weights[1], nbytes, 0);

        t->what = "on the way to attention";
        if (!(normed
                  ? KT_LAUNCH(t, 3, 64, 0, heads, of_q, of_k, eps, table, c->r)
                  : KT_LAUNCH(t, 3, 64, 0, heads, table, c->r)))
            return;
        gt_check(t, &queries, x[0], NULL,
                 (struct kt_gate){0.51L, V, scale[0], false});
        check_cache(t, &keys, x[1], scale[1], rows, tokens);
        check_cache(t, &values, x[2], NULL, rows, tokens);
    }
}

void ggml_run_heads(struct kt *t, const struct kt_row *row)
{
    run_heads(t, row, false);
}

void ggml_run_normed_heads(struct kt *t, const struct kt_row *row)
{
    run_heads(t, row, true);
}
