/* fast.c - fast_*: along an axis of rows and columns */
#include "reduce.h"

#include <math.h>
#include <string.h>

static kt_real roundoff(enum kt_type type)
{
    return kt_eps(type) / 2;
}

/* changes to random elements */
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

static bool is_sum(enum op op)
{
    return op == SUM || op == SMALL_SUM;
}

/* whether the contract has the case for the operation and the type */
static bool fast_applies(const struct fast_case *c, enum op op,
                         enum kt_type type)
{
    size_t n = 1;

    for (size_t d = 0; d < c->rank; d++)
        n *= c->dims[d];
    if (n == 0)
        return is_sum(op);
    if (is_arg(op) && c->nsum > 1)
        return false;
    if (c->twist == SOME_NAN || c->twist == NANS)
        return kt_is_float(type);
    if (c->twist == LARGE) /* f32 and f64 have nothing to leave */
        return is_sum(op) && type != KT_F32 && type != KT_F64;
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
            if (is_sum(op))
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
    case SMALL_SUM:
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
    const bool small = op == SMALL_SUM; /* an output a thread */
    const size_t block = c->block ? c->block
                         : small  ? 256
                                  : power_of_two_from(R > 1024 ? 1024 : R);
    const size_t threads = small ? 1 : block; /* for an output */
    void *x = kt_host(t, type, layout.extent, KT_SMALL, 7 * R + n_out);

    twist_data(c, op, type, x, layout.extent);

    const size_t lead = c->lead * kt_size(type);
    size_t count = small ? n_out : layout.numel, num_dims = c->rank;
    const void *src = kt_device(t, x, layout.extent * kt_size(type), lead);
    const void *infos = kt_device(t, info, 2 * c->rank * sizeof(info[0]), 0);
    void *dst = kt_device(t, NULL, n_out * kt_size(out_type), 0);
    void *got = kt_alloc(t, n_out * kt_size(out_type));
    struct line_results r = {kt_alloc(t, n_out * sizeof(kt_real)),
                             kt_alloc(t, n_out * sizeof(kt_real)),
                             kt_alloc(t, n_out * 8)};
    kt_real *line = kt_alloc(t, R * sizeof(*line));
    int64_t *ints = kt_alloc(t, R * sizeof(*ints));

    reduce_name_case(t, c->name, R, block);
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
    const size_t all = small ? (n_out + block - 1) / block : n_out;
    const size_t grids[] = {all, (all + 2) / 3, all + 3, (all + 15) / 16};

    for (size_t g = 0; g < 4; g++) {
        if (g > 0 &&
            (g < 3 ? (c->block != 0 && !small) || R == 0 : threads != 64))
            continue;
        if (kpk_fill(t->inst, dst, 0xA5, n_out * kt_size(out_type)) != KPK_OK ||
            !KT_LAUNCH(t, (unsigned)grids[g], (unsigned)block, 0, count, R,
                       num_dims, infos, src, dst))
            return;
        kt_read(t, got, dst, n_out * kt_size(out_type));
        if (is_sum(op) && (type == KT_F16 || type == KT_BF16))
            kt_check(t, type, got, r.want, n_out,
                     (struct kt_gate){0.5L, kt_depth(R, threads) * V, r.scale,
                                      false});
        else
            kt_check_bits(t, out_type, got, r.exact, n_out);
        if (is_sum(op) && (type == KT_F32 || type == KT_F64))
            kt_check(t, type, got, r.want, n_out,
                     (struct kt_gate){0, kt_depth(R, threads) * roundoff(type),
                                      r.scale, false});
    }
}

/*
 * Grids so large that a block takes its neighbours' outputs too. Their rows are
 * PERIOD over and over: a row's result depends on its values alone, so each
 * must have the bits of its first copy, and the reference is one of few rows.
 */
static const struct shared_case {
    enum op op;
    enum kt_type type;
    size_t rows, R;
    unsigned block;
    size_t lead;
    bool columns; /* column by column in memory */
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

    reduce_name_case(t, "shared blocks", R, c->block);
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
            (struct kt_gate){0.5L, kt_depth(R, c->block) * V, r.scale, false});
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

void reduce_run_fast(struct kt *t, const struct kt_row *row)
{
    const enum op op = *(const enum op *)row->detail;

    for (size_t c = 0; c < NSHARED_CASES; c++)
        if (shared_cases[c].op == op && shared_cases[c].type == row->a &&
            kt_turn(t))
            run_shared_case(t, &shared_cases[c]);

    for (size_t c = 0; c < NFAST_CASES; c++)
        if (fast_applies(&fast_cases[c], op, row->a) && kt_turn(t))
            run_fast_case(t, &fast_cases[c], op, row->a);
}
