/* reduce.c - reductions, softmax, norms and rotary embedding
 *
 * References are sums in kt_real, gates those of the kernels' specification:
 * P is the longest chain of additions of a launch, ceil(n / threads) +
 * log2(threads), u a type's unit roundoff and v = 2^-24 that of f32.
 */
#include "harness.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_reduce;

#define V 0x1p-24L /* unit roundoff of f32 */

static kt_real roundoff(enum kt_type type)
{
    return kt_eps(type) / 2;
}

/* what a type is computed in */
static kt_real inner_roundoff(enum kt_type type)
{
    return type == KT_F64 ? 0x1p-53L : V;
}

/* ceil(n / threads) + log2(threads) */
static kt_real depth(size_t n, size_t threads)
{
    const size_t rounds = (n + threads - 1) / threads;
    kt_real p = (kt_real)rounds;

    for (size_t t = threads; t > 1; t = (t + 1) / 2)
        p += 1;
    return p;
}

static void name_case(struct kt *t, const char *what, size_t n, size_t threads)
{
    char *text = kt_alloc(t, 128);

    snprintf(text, 128, "%s n=%zu block=%zu", what, n, threads);
    t->what = text;
}

/* ---- fast_*
 * ------------------------------------------------------------------ */

enum op { SUM, MIN, MAX, ARGMIN, ARGMAX };

/* what to do to the elements beyond random numbers */
enum twist {
    PLAIN,
    TIES,     /* few different values */
    EQUAL,    /* one value */
    IDENTITY, /* the operation's empty value everywhere */
    SOME_NAN, /* floats: a NaN here and there; each line that has one is ruled
               * by it, or passes over it */
    NANS,     /* floats: nothing else */
    LARGE,    /* sums that leave the type's range if kept in it */
};

struct fast_case {
    const char *name;
    size_t rank, dims[4];
    enum kt_order order;
    size_t nsum, sum[2]; /* reduced dims, as the caller lists them */
    enum twist twist;
    unsigned block; /* 0: the contract's */
    size_t lead;    /* elements in front of the data */
};

static const struct fast_case fast_cases[] = {
    {"1", 1, {1}, 0, 1, {0}, PLAIN, 0, 0},
    {"2", 1, {2}, 0, 1, {0}, PLAIN, 0, 0},
    {"3", 2, {5, 3}, 0, 1, {1}, PLAIN, 0, 1},
    {"31", 2, {3, 31}, 0, 1, {1}, PLAIN, 0, 0},
    {"32", 2, {3, 32}, 0, 1, {1}, TIES, 0, 0},
    {"33", 2, {3, 33}, 0, 1, {1}, PLAIN, 0, 1},
    {"63", 2, {3, 63}, 0, 1, {1}, TIES, 0, 0},
    {"64", 2, {2, 64}, 0, 1, {1}, PLAIN, 0, 0},
    {"65", 2, {2, 65}, 0, 1, {1}, SOME_NAN, 0, 0},
    {"1000", 2, {2, 1000}, 0, 1, {1}, TIES, 0, 1},
    {"1023", 1, {1023}, 0, 1, {0}, PLAIN, 0, 0},
    {"1024", 2, {2, 1024}, 0, 1, {1}, PLAIN, 0, 0},
    {"1025", 1, {1025}, 0, 1, {0}, SOME_NAN, 0, 0},
    {"4097", 2, {2, 4097}, 0, 1, {1}, PLAIN, 0, 1},
    {"4096 by 256", 2, {2, 4096}, 0, 1, {1}, TIES, 256, 0},
    {"4096 by 32", 1, {4096}, 0, 1, {0}, PLAIN, 32, 0},
    {"1000 by 64", 1, {1000}, 0, 1, {0}, SOME_NAN, 64, 1},
    {"1000 by 128", 1, {1000}, 0, 1, {0}, PLAIN, 128, 0},
    {"3000 by 512", 1, {3000}, 0, 1, {0}, TIES, 512, 0},
    {"32777", 1, {32777}, 0, 1, {0}, PLAIN, 0, 0},
    {"first dim", 2, {33, 5}, 0, 1, {0}, TIES, 0, 0},
    /* outputs side by side, enough for a block to take several */
    {"columns", 2, {300, 515}, 0, 1, {0}, TIES, 128, 1},
    {"columns, NaN", 2, {41, 520}, 0, 1, {0}, SOME_NAN, 64, 0},
    {"many columns", 2, {33, 4099}, 0, 1, {0}, PLAIN, 64, 0},
    {"two columns a thread", 2, {9, 4096}, 0, 1, {0}, PLAIN, 16, 0},
    {"columns of a block that is no power of two",
     2,
     {9, 600},
     0,
     1,
     {0},
     PLAIN,
     48,
     0},
    {"columns in the middle", 3, {3, 21, 512}, 0, 1, {1}, PLAIN, 32, 1},
    {"odd columns in the middle", 3, {3, 21, 345}, 0, 1, {1}, PLAIN, 32, 0},
    {"columns of two dims", 3, {5, 9, 520}, 0, 2, {0, 1}, PLAIN, 64, 0},
    {"columns, other order", 3, {5, 9, 520}, 0, 2, {1, 0}, PLAIN, 64, 0},
    {"columns of a part", 2, {50, 514}, KT_SLICED, 1, {0}, PLAIN, 64, 3},
    {"broadcast columns, many",
     2,
     {50, 512},
     KT_BROADCAST_INNER,
     1,
     {0},
     PLAIN,
     64,
     0},
    {"broadcast rows, many",
     2,
     {50, 512},
     KT_BROADCAST_OUTER,
     1,
     {0},
     PLAIN,
     64,
     0},
    /* short rows and columns, for a grid whose blocks have 16 outputs each */
    {"16 rows a block", 2, {37, 128}, 0, 1, {1}, PLAIN, 64, 0},
    {"16 rows a block, NaN", 2, {50, 77}, 0, 1, {1}, SOME_NAN, 64, 0},
    {"16 rows a block, ties", 2, {32, 40}, 0, 1, {1}, TIES, 64, 1},
    {"16 rows of one", 2, {35, 1}, 0, 1, {1}, PLAIN, 64, 0},
    {"16 rows, but one", 2, {1, 100}, 0, 1, {1}, PLAIN, 64, 0},
    {"16 rows, too long", 2, {17, 129}, 0, 1, {1}, PLAIN, 64, 0},
    {"16 rows of a part", 3, {2, 19, 37}, KT_SLICED, 1, {2}, TIES, 64, 3},
    {"16 columns a block", 2, {128, 39}, 0, 1, {0}, TIES, 64, 1},
    {"16 columns in the middle", 3, {3, 65, 32}, 0, 1, {1}, PLAIN, 64, 0},
    {"16 columns, left over", 3, {3, 65, 30}, 0, 1, {1}, PLAIN, 64, 0},
    {"middle dim", 3, {3, 40, 5}, 0, 1, {1}, PLAIN, 0, 0},
    {"many outputs", 2, {70, 9}, 0, 1, {1}, PLAIN, 0, 0},
    {"transposed", 2, {6, 70}, KT_TRANSPOSED, 1, {1}, PLAIN, 0, 1},
    {"narrowed", 3, {2, 3, 37}, KT_SLICED, 1, {2}, TIES, 0, 3},
    {"broadcast rows", 2, {4, 50}, KT_BROADCAST_OUTER, 1, {1}, PLAIN, 0, 0},
    {"broadcast columns", 2, {4, 50}, KT_BROADCAST_INNER, 1, {1}, PLAIN, 0, 0},
    {"odd unit strides", 3, {3, 1, 34}, KT_ODD_UNIT, 1, {2}, PLAIN, 0, 0},
    {"two dims, out of order", 3, {7, 5, 11}, 0, 2, {2, 0}, PLAIN, 0, 0},
    {"two dims of 4", 4, {3, 6, 5, 7}, KT_SLICED, 2, {1, 3}, PLAIN, 0, 0},
    {"rank 0", 0, {0}, 0, 0, {0}, PLAIN, 0, 0},
    {"equal", 2, {2, 77}, 0, 1, {1}, EQUAL, 0, 0},
    {"identities", 2, {2, 77}, 0, 1, {1}, IDENTITY, 0, 0},
    {"all NaN", 2, {2, 40}, 0, 1, {1}, NANS, 0, 0},
    {"large", 2, {2, 4000}, 0, 1, {1}, LARGE, 0, 0},
    {"empty", 2, {3, 0}, 0, 1, {1}, PLAIN, 0, 0},
};
#define NFAST_CASES (sizeof(fast_cases) / sizeof(fast_cases[0]))

static bool is_arg(enum op op)
{
    return op == ARGMIN || op == ARGMAX;
}

/* whether the contract has the case for the operation and the type */
static bool fast_applies(const struct fast_case *c, enum op op,
                         enum kt_type type)
{
    size_t n = 1;

    for (size_t d = 0; d < c->rank; d++)
        n *= c->dims[d];
    if (n == 0)
        return op == SUM;
    if (is_arg(op) && c->nsum > 1)
        return false;
    if (c->twist == SOME_NAN || c->twist == NANS)
        return kt_is_float(type);
    if (c->twist == LARGE) /* f32 and f64 have nothing to leave */
        return op == SUM && type != KT_F32 && type != KT_F64;
    return true;
}

static void twist_data(const struct fast_case *c, enum op op, enum kt_type type,
                       void *x, size_t n)
{
    const bool largest = op == MIN || op == ARGMIN;

    for (size_t i = 0; i < n; i++)
        switch (c->twist) {
        case PLAIN:
            break;
        case TIES:
            kt_put(type, x, i, (kt_real)(i * i % 7 % 4));
            break;
        case EQUAL:
            kt_put(type, x, i, 3);
            break;
        case IDENTITY:
            if (op == SUM)
                kt_put(type, x, i, kt_is_float(type) ? -0.0L : 0.0L);
            else
                kt_put(type, x, i, largest ? INFINITY : -INFINITY);
            break;
        case SOME_NAN:
            if (i % 41 == 20 && i % 3)
                kt_put(type, x, i, NAN);
            break;
        case NANS:
            kt_put(type, x, i, NAN);
            break;
        case LARGE:
            kt_put(type, x, i, kt_is_float(type) ? 30.0L : 200.0L);
            break;
        }
}

static size_t power_of_two_from(size_t n)
{
    size_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

/* float sums as the reference's kernel orders them */
static kt_real ordered_sum(enum kt_type type, const kt_real *x, size_t n,
                           size_t threads)
{
    double slot64[1024] = {0};
    float slot32[1024] = {0};

    for (size_t t = 0; t < threads; t++)
        for (size_t m = t; m < n; m += threads) {
            slot32[t] += (float)x[m];
            slot64[t] += (double)x[m];
        }
    for (size_t half = power_of_two_from(threads) / 2; half > 0; half /= 2)
        for (size_t t = 0; t < half; t++) {
            slot32[t] += slot32[t + half];
            slot64[t] += slot64[t + half];
        }
    return type == KT_F32 ? (kt_real)slot32[0] : (kt_real)slot64[0];
}

/* the extreme of a line, NaN as the kernel's type treats it */
static kt_real extreme(enum kt_type type, bool max, const kt_real *x, size_t n)
{
    const bool keeps_nan = type == KT_F16 || type == KT_BF16;
    kt_real best = max ? -INFINITY : INFINITY;

    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]) && keeps_nan)
            return x[i];
        if (max ? x[i] > best : x[i] < best)
            best = x[i];
    }
    return best;
}

/* NaN is the extreme; the first of several */
static size_t extreme_index(bool max, const kt_real *x, size_t n)
{
    size_t best = 0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return i;
        if (max ? x[i] > x[best] : x[i] < x[best])
            best = i;
    }
    return best;
}

struct line_results {
    kt_real *want, *scale; /* sums: of magnitudes */
    void *exact;           /* codes, where the result is exact */
};

static void reduce_line(enum op op, enum kt_type type, const kt_real *x,
                        const int64_t *ints, size_t n, size_t threads, size_t o,
                        struct line_results *r)
{
    uint64_t wrapped = 0;

    switch (op) {
    case SUM:
        r->want[o] = r->scale[o] = 0;
        for (size_t i = 0; i < n; i++) {
            r->want[o] += x[i];
            r->scale[o] += fabsl(x[i]);
            wrapped += (uint64_t)ints[i];
        }
        if (type == KT_F32 || type == KT_F64)
            kt_put(type, r->exact, o, ordered_sum(type, x, n, threads));
        else
            kt_put_bits(type, r->exact, o, wrapped);
        break;
    case MIN:
    case MAX:
        kt_put(type, r->exact, o, extreme(type, op == MAX, x, n));
        if (!kt_is_float(type)) {
            int64_t best = ints[0];

            for (size_t i = 1; i < n; i++)
                if (op == MAX ? ints[i] > best : ints[i] < best)
                    best = ints[i];
            kt_put_bits(type, r->exact, o, (uint64_t)best);
        }
        break;
    case ARGMIN:
    case ARGMAX:
        kt_put_bits(KT_U32, r->exact, o, extreme_index(op == ARGMAX, x, n));
        break;
    }
}

static void run_fast_case(struct kt *t, const struct fast_case *c, enum op op,
                          enum kt_type type)
{
    const struct kt_layout layout = kt_layout(c->rank, c->dims, c->order);
    const enum kt_type out_type = is_arg(op) ? KT_U32 : type;
    size_t info[8], order[4], kept = 0, R = 1, n_out = 1;

    /* the permuted view: kept dims, then the reduced ones as listed */
    for (size_t d = 0; d < c->rank; d++) {
        bool reduced = false;

        for (size_t s = 0; s < c->nsum; s++)
            reduced = reduced || c->sum[s] == d;
        if (!reduced) {
            order[kept++] = d;
            n_out *= c->dims[d];
        }
    }
    for (size_t s = 0; s < c->nsum; s++) {
        order[kept + s] = c->sum[s];
        R *= c->dims[c->sum[s]];
    }
    struct kt_layout view = layout;

    for (size_t d = 0; d < c->rank; d++) {
        info[d] = view.dims[d] = layout.dims[order[d]];
        info[c->rank + d] = view.strides[d] = layout.strides[order[d]];
    }
    const size_t threads =
        c->block ? c->block : power_of_two_from(R > 1024 ? 1024 : R);
    void *x = kt_host(t, type, layout.extent, KT_SMALL, 7 * R + n_out);

    twist_data(c, op, type, x, layout.extent);

    const size_t lead = c->lead * kt_size(type);
    size_t src_numel = layout.numel, num_dims = c->rank;
    const void *src = kt_device(t, x, layout.extent * kt_size(type), lead);
    const void *infos = kt_device(t, info, 2 * c->rank * sizeof(info[0]), 0);
    void *dst = kt_device(t, NULL, n_out * kt_size(out_type), 0);
    void *got = kt_alloc(t, n_out * kt_size(out_type));
    struct line_results r = {kt_alloc(t, n_out * sizeof(kt_real)),
                             kt_alloc(t, n_out * sizeof(kt_real)),
                             kt_alloc(t, n_out * 8)};
    kt_real *line = kt_alloc(t, R * sizeof(*line));
    int64_t *ints = kt_alloc(t, R * sizeof(*ints));

    name_case(t, c->name, R, threads);
    for (size_t o = 0; o < n_out; o++) {
        for (size_t i = 0; i < R; i++) {
            const size_t at = kt_offset(&view, o * R + i);

            line[i] = kt_get(type, x, at);
            ints[i] = kt_is_float(type) ? 0 : kt_get_int(type, x, at);
        }
        reduce_line(op, type, line, ints, R, threads, o, &r);
    }
    /* the host's grid, one that is too small or too large by a few, and what is
     * recommended for short rows */
    const size_t grids[] = {n_out, (n_out + 2) / 3, n_out + 3,
                            (n_out + 15) / 16};

    for (size_t g = 0; g < 4; g++) {
        if (g > 0 && (g < 3 ? c->block != 0 || R == 0 : threads != 64))
            continue;
        if (kpk_fill(t->inst, dst, 0xA5, n_out * kt_size(out_type)) != KPK_OK ||
            !KT_LAUNCH(t, (unsigned)grids[g], (unsigned)threads, 0, src_numel,
                       R, num_dims, infos, src, dst))
            return;
        kt_read(t, got, dst, n_out * kt_size(out_type));
        if (op == SUM && (type == KT_F16 || type == KT_BF16))
            kt_check(
                t, type, got, r.want, n_out,
                (struct kt_gate){0.5L, depth(R, threads) * V, r.scale, false});
        else
            kt_check_bits(t, out_type, got, r.exact, n_out);
        if (op == SUM && (type == KT_F32 || type == KT_F64))
            kt_check(t, type, got, r.want, n_out,
                     (struct kt_gate){0, depth(R, threads) * roundoff(type),
                                      r.scale, false});
    }
}

/*
 * Grids so large that a block takes its neighbours' outputs too. Their rows are
 * a few ones over and over: a row's result depends on its values alone, so each
 * must have the bits of its first copy, and the reference is one of few rows.
 */
enum { PERIOD = 7 };

static const struct shared_case {
    enum op op;
    enum kt_type type;
    size_t rows, R;
    unsigned block;
    size_t lead;
    bool columns; /* an element of all rows, then the next of all */
} shared_cases[] = {
    {SUM, KT_F32, 2053, 1030, 1024, 0, false},
    {SUM, KT_F32, 32773, 33, 1024, 1, false},
    {SUM, KT_F32, 4101, 700, 512, 0, false},
    {SUM, KT_F32, 8197, 258, 256, 1, false},
    {SUM, KT_F32, 16389, 130, 128, 0, false},
    {SUM, KT_F64, 2053, 1030, 1024, 0, false},
    {SUM, KT_F64, 16389, 130, 128, 0, false},
    {SUM, KT_F16, 32773, 1048, 1024, 0, false},
    {SUM, KT_BF16, 32773, 24, 1024, 0, false},
    {SUM, KT_F16, 32773, 41, 1024, 1, false},
    {SUM, KT_U8, 32773, 40, 1024, 0, false},
    {MAX, KT_F32, 32773, 41, 128, 1, false},
    {MIN, KT_BF16, 32773, 24, 1024, 0, false},
    {ARGMAX, KT_F32, 32773, 36, 1024, 0, false},
    {ARGMAX, KT_F16, 32773, 41, 128, 1, false},
    {SUM, KT_F32, 16389, 7, 1024, 1, true},
    {SUM, KT_F64, 8195, 21, 128, 0, true},
    {MAX, KT_F16, 16389, 7, 1024, 0, true},
    {ARGMIN, KT_U8, 16391, 9, 128, 0, true},
};
#define NSHARED_CASES (sizeof(shared_cases) / sizeof(shared_cases[0]))

static char *transposed(struct kt *t, const char *x, size_t rows, size_t R,
                        size_t size)
{
    char *y = kt_alloc(t, rows * R * size);

    for (size_t o = 0; o < rows; o++)
        for (size_t i = 0; i < R; i++)
            memcpy(y + (i * rows + o) * size, x + (o * R + i) * size, size);
    return y;
}

static void run_shared_case(struct kt *t, const struct shared_case *c)
{
    const enum kt_type out_type = is_arg(c->op) ? KT_U32 : c->type;
    const size_t row = c->R * kt_size(c->type), size = kt_size(out_type);
    const size_t lead = c->lead * kt_size(c->type);
    const size_t info[] = {c->rows, c->R, c->columns ? 1 : c->R,
                           c->columns ? c->rows : 1};
    size_t numel = c->rows * c->R, R = c->R, num_dims = 2;
    char *x = kt_alloc(t, c->rows * row);
    char *got = kt_alloc(t, c->rows * size),
         *want = kt_alloc(t, c->rows * size);
    struct line_results r = {kt_alloc(t, PERIOD * sizeof(kt_real)),
                             kt_alloc(t, PERIOD * sizeof(kt_real)),
                             kt_alloc(t, PERIOD * 8)};
    kt_real *line = kt_alloc(t, R * sizeof(*line));
    int64_t *ints = kt_alloc(t, R * sizeof(*ints));

    name_case(t, "shared blocks", R, c->block);
    kt_fill(c->type, x, PERIOD * R, KT_SMALL, R);
    for (size_t o = PERIOD; o < c->rows; o++)
        memcpy(x + o * row, x + o % PERIOD * row, row);
    for (size_t o = 0; o < PERIOD; o++) {
        for (size_t i = 0; i < R; i++) {
            line[i] = kt_get(c->type, x, o * R + i);
            ints[i] =
                kt_is_float(c->type) ? 0 : kt_get_int(c->type, x, o * R + i);
        }
        reduce_line(c->op, c->type, line, ints, R, c->block, o, &r);
    }
    const void *src = kt_device(
        t, c->columns ? transposed(t, x, c->rows, c->R, kt_size(c->type)) : x,
        c->rows * row, lead);
    const void *infos = kt_device(t, info, sizeof(info), 0);
    void *dst = kt_device(t, NULL, c->rows * size, 0);

    if (!KT_LAUNCH(t, (unsigned)c->rows, c->block, 0, numel, R, num_dims, infos,
                   src, dst))
        return;
    kt_read(t, got, dst, c->rows * size);
    if (c->op == SUM && (c->type == KT_F16 || c->type == KT_BF16))
        kt_check(
            t, c->type, got, r.want, PERIOD,
            (struct kt_gate){0.5L, depth(R, c->block) * V, r.scale, false});
    else
        kt_check_bits(t, out_type, got, r.exact, PERIOD);
    for (size_t o = 0; o < c->rows; o++)
        memcpy(want + o * size, got + o % PERIOD * size, size);
    kt_check_bytes(t, got, want, c->rows * size, "rows with the same values");
    /* nor does it depend on how many rows there are */
    numel = PERIOD * R;
    infos = kt_device(t, (size_t[]){PERIOD, c->R, info[2], info[3]},
                      sizeof(info), 0);
    if (!KT_LAUNCH(t, PERIOD, c->block, 0, numel, R, num_dims, infos, src, dst))
        return;
    kt_read(t, want, dst, PERIOD * size);
    kt_check_bytes(t, got, want, PERIOD * size, "the rows of a small grid");
}

static void run_fast(struct kt *t, const struct kt_row *row)
{
    const enum op op = *(const enum op *)row->detail;

    for (size_t c = 0; c < NSHARED_CASES; c++)
        if (shared_cases[c].op == op && shared_cases[c].type == row->a)
            run_shared_case(t, &shared_cases[c]);

    for (size_t c = 0; c < NFAST_CASES; c++)
        if (fast_applies(&fast_cases[c], op, row->a))
            run_fast_case(t, &fast_cases[c], op, row->a);
}

/* ---- sum_*: added to what is there ------------------------------------------
 */

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

    name_case(t, c->name, terms, c->block);
    if (!KT_LAUNCH(t, c->grid, c->block, 0, numel, num_dims, nsum, infos, src,
                   dst))
        return;
    kt_read(t, out, dst, n_out * kt_size(type));
    if (kt_is_float(type))
        kt_check(t, type, out, want, n_out,
                 (struct kt_gate){0.5L,
                                  (kt_real)(terms + 1) * inner_roundoff(type),
                                  scale, false});
    else
        kt_check(t, type, out, want, n_out, KT_EXACT);
}

static void run_sum(struct kt *t, const struct kt_row *row)
{
    for (size_t c = 0; c < NSUM_CASES; c++)
        run_sum_case(t, &sum_cases[c], row->a);
}

/* ---- softmax
 * ------------------------------------------------------------------ */

enum rows_data {
    SMALL,
    HUGE_SPREAD, /* +-1e4: exp() of the differences under- and overflows */
    ONE_MINUS_INF,
    ALL_MINUS_INF,
    WITH_NAN,
    WITH_INF,
    CONSTANT, /* 12345.678 */
    FAR_MEAN, /* 1000 and a little */
    BIG,      /* 7e9 */
    ZEROS,
};

static void fill_row(enum kt_type type, void *x, size_t first, size_t n,
                     enum rows_data what)
{
    for (size_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, x, first + i);

        switch (what) {
        case SMALL:
            break;
        case HUGE_SPREAD:
            kt_put(type, x, first + i, v * 2500);
            break;
        case ONE_MINUS_INF:
            if (i == n / 2)
                kt_put(type, x, first + i, -INFINITY);
            break;
        case ALL_MINUS_INF:
            kt_put(type, x, first + i, -INFINITY);
            break;
        case WITH_NAN:
            if (i == n / 3)
                kt_put(type, x, first + i, NAN);
            break;
        case WITH_INF:
            if (i == n / 3)
                kt_put(type, x, first + i, INFINITY);
            break;
        case CONSTANT:
            kt_put(type, x, first + i, 12345.678L);
            break;
        case FAR_MEAN:
            kt_put(type, x, first + i, 1000 + v);
            break;
        case BIG:
            kt_put(type, x, first + i, v * 1.75e9L);
            break;
        case ZEROS:
            kt_put(type, x, first + i, 0);
            break;
        }
    }
}

static const struct softmax_case {
    const char *name;
    size_t rows, n;
    enum rows_data data;
    unsigned block_x, block_y;
    size_t lead;
} softmax_cases[] = {
    {"", 3, 1, SMALL, 1, 32, 1},
    {"", 3, 2, SMALL, 1, 32, 0},
    {"", 3, 31, SMALL, 1, 32, 0},
    {"", 3, 32, SMALL, 1, 32, 0},
    {"", 3, 33, SMALL, 1, 32, 1},
    {"", 2, 64, HUGE_SPREAD, 1, 32, 0},
    {"", 2, 128, SMALL, 1, 32, 0},
    {"", 2, 256, SMALL, 1, 32, 0},
    {"", 2, 512, SMALL, 1, 32, 0},
    {"", 2, 1000, SMALL, 1, 32, 0},
    {"", 2, 1024, HUGE_SPREAD, 1, 32, 0},
    {"", 2, 1024, SMALL, 1, 32, 1},
    {"", 1, 4096, SMALL, 1, 32, 0},
    {"", 1, 4093, HUGE_SPREAD, 1, 32, 0},
    {"", 1, 20000, SMALL, 1, 32, 0},
    {"", 1, 20001, HUGE_SPREAD, 1, 32, 0},
    {"", 2, 4096, SMALL, 1, 256, 0},
    {"", 2, 1000, SMALL, 1, 64, 0},
    {"", 1, 9999, SMALL, 1, 128, 0},
    {"", 1, 33000, SMALL, 1, 512, 0},
    {"", 1, 40000, SMALL, 1, 1024, 0},
    {"two rows a block", 4, 100, SMALL, 2, 32, 0},
    {"many rows a block", 32, 40, HUGE_SPREAD, 16, 4, 0},
    {"one thread a row", 64, 5, SMALL, 64, 1, 0},
    {"odd block", 2, 777, SMALL, 1, 48, 0},
    {"one -inf", 2, 100, ONE_MINUS_INF, 1, 32, 0},
    {"one -inf", 1, 20001, ONE_MINUS_INF, 1, 32, 0},
    {"all -inf", 2, 100, ALL_MINUS_INF, 1, 32, 0},
    {"all -inf", 1, 17000, ALL_MINUS_INF, 1, 32, 0},
    {"NaN", 2, 100, WITH_NAN, 1, 32, 0},
    {"NaN", 1, 17000, WITH_NAN, 1, 32, 0},
    {"inf", 2, 4096, WITH_INF, 1, 32, 0},
};
#define NSOFTMAX_CASES (sizeof(softmax_cases) / sizeof(softmax_cases[0]))

static void run_softmax_case(struct kt *t, const struct softmax_case *c,
                             enum kt_type type)
{
    const size_t total = c->rows * c->n, size = kt_size(type);
    void *x = kt_host(t, type, total, KT_SMALL, c->n);
    kt_real *want = kt_alloc(t, total * sizeof(*want));
    kt_real *scale = kt_alloc(t, total * sizeof(*scale));
    const kt_real v = inner_roundoff(type);
    const kt_real p = depth(c->n, c->block_y);
    int32_t n = (int32_t)c->n;

    for (size_t r = 0; r < c->rows; r++) {
        kt_real most = -INFINITY, sum = 0;

        fill_row(type, x, r * c->n, c->n, c->data);
        for (size_t i = 0; i < c->n; i++)
            most = fmaxl(most, kt_get(type, x, r * c->n + i));
        for (size_t i = 0; i < c->n; i++)
            sum += expl(kt_get(type, x, r * c->n + i) - most);
        for (size_t i = 0; i < c->n; i++) {
            const kt_real d = kt_get(type, x, r * c->n + i) - most;

            want[r * c->n + i] = expl(d) / sum;
            scale[r * c->n + i] =
                want[r * c->n + i] * (p + 8 + (isfinite(d) ? fabsl(d) : 0));
        }
    }
    const void *src = kt_device(t, x, total * size, c->lead * size);
    void *dst = kt_device(t, NULL, total * size, c->lead * size);
    void *got = kt_alloc(t, total * size);
    char *what = kt_alloc(t, 128);

    snprintf(what, 128, "%s %zu rows of %zu, block %ux%u", c->name, c->rows,
             c->n, c->block_x, c->block_y);
    t->what = what;
    if (!kt_launch(t, (const unsigned[3]){(unsigned)c->rows / c->block_x, 1, 1},
                   (const unsigned[3]){c->block_x, c->block_y, 1}, 0,
                   KPK_ARGS(src, dst, n)))
        return;
    kt_read(t, got, dst, total * size);
    /* 1 ulp: half for the last rounding, and subnormals of expf() */
    kt_check(t, type, got, want, total, (struct kt_gate){1, v, scale, false});
}

static void run_softmax(struct kt *t, const struct kt_row *row)
{
    for (size_t c = 0; c < NSOFTMAX_CASES; c++)
        run_softmax_case(t, &softmax_cases[c], row->a);
}

/* ---- norms
 * ---------------------------------------------------------------------- */

static const struct norm_case {
    const char *name;
    size_t rows, n;
    enum rows_data data;
    unsigned block_x, block_y; /* 0: the contract's */
    bool alpha, beta;
    float eps;
    size_t lead;
} norm_cases[] = {
    {"", 3, 1, SMALL, 0, 1, true, true, 1e-5f, 1},
    {"", 3, 2, SMALL, 0, 1, true, false, 1e-5f, 0},
    {"", 3, 31, SMALL, 0, 1, false, true, 1e-5f, 0},
    {"", 3, 32, SMALL, 0, 1, true, true, 0, 0},
    {"", 3, 33, SMALL, 0, 1, false, false, 1e-5f, 1},
    {"", 2, 128, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 512, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1000, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1023, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1024, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1025, SMALL, 0, 1, true, true, 0, 0},
    {"", 2, 4096, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 1, 8192, SMALL, 0, 1, true, true, 1e-5f, 1},
    {"", 1, 16384, SMALL, 0, 1, true, false, 1e-5f, 0},
    {"", 1, 40000, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 1, 40001, SMALL, 0, 1, false, true, 1e-5f, 0},
    {"", 2, 2000, SMALL, 64, 1, true, true, 1e-5f, 0},
    {"", 1, 5000, SMALL, 128, 1, true, true, 1e-5f, 0},
    {"", 1, 5001, SMALL, 256, 1, true, true, 1e-5f, 0},
    {"", 1, 4096, SMALL, 512, 1, true, true, 1e-5f, 0},
    {"long in a small block", 1, 20000, SMALL, 32, 1, true, true, 1e-5f, 0},
    {"four rows a block", 8, 300, SMALL, 32, 4, true, true, 1e-5f, 0},
    {"rows of 8 threads", 16, 50, SMALL, 8, 16, true, true, 1e-5f, 0},
    {"odd block", 2, 500, SMALL, 48, 1, true, true, 1e-5f, 0},
    {"odd blocks of rows", 6, 100, SMALL, 20, 3, true, true, 1e-5f, 0},
    {"constant", 2, 1000, CONSTANT, 0, 1, true, true, 1e-5f, 0},
    {"constant", 1, 40000, CONSTANT, 0, 1, true, true, 1e-5f, 0},
    {"constant, eps 0", 2, 1000, CONSTANT, 0, 1, true, true, 0, 0},
    {"far mean", 2, 1000, FAR_MEAN, 0, 1, true, true, 1e-5f, 0},
    {"far mean", 1, 40000, FAR_MEAN, 0, 1, true, true, 1e-5f, 0},
    {"far mean", 2, 4096, FAR_MEAN, 0, 1, false, false, 1e-5f, 0},
    {"7e9", 2, 2000, BIG, 0, 1, true, true, 1e-5f, 0},
    {"zeros", 2, 100, ZEROS, 0, 1, true, true, 1e-5f, 0},
};
#define NNORM_CASES (sizeof(norm_cases) / sizeof(norm_cases[0]))

/* the row's reference and the bounds of its errors */
static void norm_reference(enum kt_type type, bool layer, const void *x,
                           size_t first, const void *alpha, const void *beta,
                           const struct norm_case *c, size_t threads,
                           kt_real *want, kt_real *bound)
{
    const kt_real v = inner_roundoff(type), p = depth(c->n, threads);
    const kt_real n = (kt_real)c->n;
    kt_real mean = 0, magnitude = 0, squares = 0, var = 0;

    for (size_t i = 0; i < c->n; i++) {
        const kt_real e = kt_get(type, x, first + i);

        mean += e / n;
        magnitude += fabsl(e) / n;
        squares += e * e / n;
    }
    for (size_t i = 0; i < c->n; i++) {
        const kt_real d = kt_get(type, x, first + i) - mean;

        var += d * d / n;
    }
    for (size_t i = 0; i < c->n; i++) {
        const kt_real e = kt_get(type, x, first + i);
        const kt_real a = alpha ? kt_get(type, alpha, i) : 1;
        const kt_real b = beta ? kt_get(type, beta, i) : 0;

        if (!layer) {
            want[i] = e / sqrtl(squares + (kt_real)c->eps) * a;
            bound[i] = fabsl(want[i]) * (p / 2 + 6) * v;
            continue;
        }
        const kt_real spread = sqrtl(var + (kt_real)c->eps);
        /* rows of one value, and eps = 0: beta */
        const kt_real z = spread > 0 ? (e - mean) / spread : 0;
        const kt_real q =
            spread > 0 ? (mean * mean + var) / (spread * spread) : 1;

        want[i] = z * a + b;
        bound[i] = fabsl(a) * v *
                       ((p + 4) * fminl(q, 4) * fabsl(z) + 4 * fabsl(z) +
                        (spread > 0 ? p * magnitude / spread : 0)) +
                   2 * v * fabsl(want[i]);
    }
}

static void run_norm_case(struct kt *t, const struct norm_case *c, bool layer,
                          enum kt_type type)
{
    const size_t total = c->rows * c->n, size = kt_size(type);
    const size_t lead = c->lead * size;
    int32_t n = (int32_t)c->n;
    int32_t block = (int32_t)(c->block_x    ? c->block_x
                              : c->n < 1024 ? 32
                                            : 1024);
    void *x = kt_host(t, type, total, KT_SMALL, c->n);
    void *alpha = c->alpha ? kt_host(t, type, c->n, KT_SMALL, 3) : NULL;
    void *beta = layer && c->beta ? kt_host(t, type, c->n, KT_SMALL, 4) : NULL;
    kt_real *want = kt_alloc(t, total * sizeof(*want));
    kt_real *bound = kt_alloc(t, total * sizeof(*bound));
    float eps = c->eps;

    for (size_t r = 0; r < c->rows; r++) {
        fill_row(type, x, r * c->n, c->n, c->data);
        norm_reference(type, layer, x, r * c->n, alpha, beta, c, (size_t)block,
                       want + r * c->n, bound + r * c->n);
    }
    const void *src = kt_device(t, x, total * size, lead);
    void *dst = kt_device(t, NULL, total * size, lead);
    const void *a = alpha ? kt_device(t, alpha, c->n * size, lead) : NULL;
    const void *b = beta ? kt_device(t, beta, c->n * size, lead) : NULL;
    void *got = kt_alloc(t, total * size);
    const unsigned grid[3] = {(unsigned)c->rows / c->block_y, 1, 1};
    const unsigned threads[3] = {(unsigned)block, c->block_y, 1};

    name_case(t, c->name, c->n, (size_t)block);
    if (layer ? !kt_launch(t, grid, threads, 0,
                           KPK_ARGS(src, dst, a, b, n, block, eps))
              : !kt_launch(t, grid, threads, 0,
                           KPK_ARGS(src, dst, a, n, block, eps)))
        return;
    kt_read(t, got, dst, total * size);
    kt_check(t, type, got, want, total,
             (struct kt_gate){0.5L, 1, bound, false});
}

/*
 * A grid so large that a block takes its neighbours' rows too, a few ones over
 * and over: each must come out as in a small grid.
 */
static void run_shared_norm(struct kt *t, bool layer, enum kt_type type,
                            size_t rows, size_t columns, unsigned threads)
{
    const size_t row = columns * kt_size(type);
    char *x = kt_alloc(t, rows * row), *got = kt_alloc(t, rows * row);
    const void *alpha = kt_host(t, type, columns, KT_SMALL, 3);
    int32_t n = (int32_t)columns, block = (int32_t)threads;
    float eps = 1e-5f;

    name_case(t, "shared blocks", columns, threads);
    kt_fill(type, x, PERIOD * columns, KT_SMALL, columns);
    for (size_t r = PERIOD; r < rows; r++)
        memcpy(x + r * row, x + r % PERIOD * row, row);
    const void *src = kt_device(t, x, rows * row, 0);
    const void *a = kt_device(t, alpha, row, 0), *b = NULL;
    void *dst = kt_device(t, NULL, rows * row, 0);

    for (size_t part = rows; part > 0; part = part == rows ? PERIOD : 0) {
        const unsigned grid[3] = {(unsigned)part, 1, 1};
        const unsigned shape[3] = {threads, 1, 1};

        if (layer ? !kt_launch(t, grid, shape, 0,
                               KPK_ARGS(src, dst, a, b, n, block, eps))
                  : !kt_launch(t, grid, shape, 0,
                               KPK_ARGS(src, dst, a, n, block, eps)))
            return;
        if (part == rows) {
            kt_read(t, got, dst, rows * row);
            kpk_fill(t->inst, dst, 0xA5, rows * row);
        }
    }
    kt_read(t, x, dst, PERIOD * row); /* what run_norm_case() checks */
    for (size_t r = 0; r < rows; r++)
        kt_check_bytes(t, got + r * row, x + r % PERIOD * row, row,
                       "the rows of a small grid");
}

static void run_norm(struct kt *t, const struct kt_row *row)
{
    const bool layer = *(const bool *)row->detail;

    if (row->a == KT_F32) { /* a pair of rows at once, and one by one */
        run_shared_norm(t, layer, row->a, 2053, 100, 1024);
        run_shared_norm(t, layer, row->a, 2053, 516, 1024);
        run_shared_norm(t, layer, row->a, 16389, 1100, 128);
    }
    if (row->a == KT_BF16) {
        run_shared_norm(t, layer, row->a, 16389, 80, 128);
        run_shared_norm(t, layer, row->a, 2053, 1288, 1024);
    }

    for (size_t c = 0; c < NNORM_CASES; c++) {
        const bool squares_overflow =
            norm_cases[c].data == BIG && row->a == KT_F16;

        if (!squares_overflow)
            run_norm_case(t, &norm_cases[c], layer, row->a);
    }
}

/* ---- rope
 * ----------------------------------------------------------------------- */

enum rope { ROPE_I, ROPE, ROPE_THD };

static const struct rope_case {
    const char *name;
    size_t b, h, t, d;
    size_t table_t; /* rows of the table, at least t */
    bool batches;   /* a table a batch */
} rope_cases[] = {
    {"d=2", 1, 1, 1, 2, 1, false},     {"d=64", 2, 3, 5, 64, 5, false},
    {"d=128", 1, 2, 3, 128, 3, false}, {"longer table", 2, 3, 4, 10, 9, false},
    {"t=1", 3, 2, 1, 6, 1, true},      {"3-D tables", 3, 2, 5, 8, 5, true},
    {"h > t", 2, 7, 3, 12, 3, true},   {"two blocks", 2, 3, 30, 16, 30, false},
};
#define NROPE_CASES (sizeof(rope_cases) / sizeof(rope_cases[0]))

static void run_rope_case(struct kt *t, const struct rope_case *c,
                          enum rope kind, enum kt_type type)
{
    const size_t total = c->b * c->h * c->t * c->d, size = kt_size(type);
    const size_t half = c->d / 2;
    const size_t entries = (c->batches ? c->b : 1) * c->table_t * half;
    const void *x = kt_host(t, type, total, KT_SMALL, total);
    const void *cosines = kt_host(t, type, entries, KT_SMALL, 5);
    const void *sines = kt_host(t, type, entries, KT_SMALL, 6);
    kt_real *want = kt_alloc(t, total * sizeof(*want));
    kt_real *scale = kt_alloc(t, total * sizeof(*scale));
    uint32_t b = (uint32_t)c->b, h = (uint32_t)c->h, tt = (uint32_t)c->t;
    uint32_t d = (uint32_t)c->d, bh = b * h, td = tt * d;
    uint32_t stride_b = c->batches ? h * tt * d : 0;

    for (size_t n = 0; n < c->b; n++)
        for (size_t k = 0; k < c->h * c->t; k++)
            for (size_t j = 0; j < half; j++) {
                /* rows are by head, then time; in rope_thd the other way */
                const size_t time = kind == ROPE_THD ? k / c->h : k % c->t;
                const size_t row = (n * c->h * c->t + k) * c->d;
                const size_t first = row + (kind == ROPE_I ? 2 * j : j);
                const size_t second = first + (kind == ROPE_I ? 1 : half);
                const size_t entry =
                    ((c->batches ? n * c->t : 0) + time) * half + j;
                const kt_real a = kt_get(type, x, first);
                const kt_real e = kt_get(type, x, second);
                const kt_real co = kt_get(type, cosines, entry);
                const kt_real si = kt_get(type, sines, entry);

                want[first] = a * co - e * si;
                scale[first] = fabsl(a * co) + fabsl(e * si);
                want[second] = a * si + e * co;
                scale[second] = fabsl(a * si) + fabsl(e * co);
            }
    const void *src = kt_device(t, x, total * size, size);
    const void *dcos = kt_device(t, cosines, entries * size, 0);
    const void *dsin = kt_device(t, sines, entries * size, size);
    void *dst = kt_device(t, NULL, total * size, 0);
    void *got = kt_alloc(t, total * size);
    const unsigned grid = (unsigned)((total / 2 + 1023) / 1024);
    bool ok;

    t->what = c->name;
    if (kind == ROPE_I)
        ok =
            KT_LAUNCH(t, grid, 1024, 0, src, dcos, dsin, dst, bh, td, stride_b);
    else if (kind == ROPE)
        ok = KT_LAUNCH(t, grid, 1024, 0, src, dcos, dsin, dst, bh, td, d,
                       stride_b);
    else
        ok = KT_LAUNCH(t, grid, 1024, 0, src, dcos, dsin, dst, b, tt, h, d,
                       stride_b);
    if (!ok)
        return;
    kt_read(t, got, dst, total * size);
    kt_check(t, type, got, want, total,
             (struct kt_gate){0.5L, 2 * inner_roundoff(type), scale, false});
}

static void run_rope(struct kt *t, const struct kt_row *row)
{
    for (size_t c = 0; c < NROPE_CASES; c++)
        run_rope_case(t, &rope_cases[c], *(const enum rope *)row->detail,
                      row->a);
}

/* ---- the table
 * ------------------------------------------------------------------ */

static const enum op op_sum = SUM, op_min = MIN, op_max = MAX;
static const enum op op_argmin = ARGMIN, op_argmax = ARGMAX;
static const enum rope rope_i = ROPE_I, rope_plain = ROPE, rope_thd = ROPE_THD;
static const bool rms = false, layer = true;

#define FAST(T, TYPE)                                                          \
    {"fast_sum_" #T, run_fast, TYPE, TYPE, &op_sum},                           \
        {"fast_min_" #T, run_fast, TYPE, TYPE, &op_min},                       \
        {"fast_max_" #T, run_fast, TYPE, TYPE, &op_max},                       \
        {"fast_argmin_" #T, run_fast, TYPE, TYPE, &op_argmin},                 \
    {                                                                          \
        "fast_argmax_" #T, run_fast, TYPE, TYPE, &op_argmax                    \
    }
#define ROWS(T, TYPE)                                                          \
    {"sum_" #T, run_sum, TYPE, TYPE, NULL},                                    \
        {"softmax_" #T, run_softmax, TYPE, TYPE, NULL},                        \
        {"rmsnorm_" #T, run_norm, TYPE, TYPE, &rms},                           \
        {"layernorm_" #T, run_norm, TYPE, TYPE, &layer},                       \
        {"rope_i_" #T, run_rope, TYPE, TYPE, &rope_i},                         \
        {"rope_" #T, run_rope, TYPE, TYPE, &rope_plain},                       \
    {                                                                          \
        "rope_thd_" #T, run_rope, TYPE, TYPE, &rope_thd                        \
    }

static const struct kt_row rows[] = {
    FAST(bf16, KT_BF16), FAST(f16, KT_F16),
    FAST(f32, KT_F32),   FAST(f64, KT_F64),
    FAST(u8, KT_U8),     FAST(u32, KT_U32),
    FAST(i64, KT_I64),   ROWS(bf16, KT_BF16),
    ROWS(f16, KT_F16),   ROWS(f32, KT_F32),
    ROWS(f64, KT_F64),   {"sum_u32", run_sum, KT_U32, KT_U32, NULL},
};

KT_MAIN(kpk_module_reduce, rows)
