/* indexing.c - index_select, gather, index_add, scatter and scatter_add
 *
 * Everything must be exact: sums are f32's for the small floats, in the order
 * of the indices, and rounded when four indices in a row, from a multiple of
 * four on, name other elements. The largest value of an index type means
 * 'nothing'; other ids that name no element are to be treated alike, and must
 * not make a kernel touch memory outside its buffers, which end where they end.
 */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_indexing;

/* ---- ids ------------------------------------------------------------ */

enum ids_data {
    IN_ORDER,
    RANDOM,
    DUPLICATES, /* three places, again and again */
    MARKERS,    /* the marker first, last and in between */
    ALL_MARKERS,
    HOSTILE,    /* negative, just past the end, the type's extremes */
    ROWS_ALIKE, /* one id for each run of `right` elements */
    LAST_ONES,  /* 253, 254, 255: the marker of u8 is never an element */
};

static bool is_signed_id(enum kt_type type)
{
    return type == KT_I16 || type == KT_I32 || type == KT_I64;
}

static int64_t marker(enum kt_type type)
{
    const int nbits = 8 * (int)kt_size(type) - (is_signed_id(type) ? 1 : 0);

    return (int64_t)(UINT64_MAX >> (64 - nbits));
}

static int64_t hostile_id(enum kt_type type, size_t i, size_t dim)
{
    const int64_t most = marker(type);
    const int64_t least = is_signed_id(type) ? -most - 1 : most - 1;
    const int64_t some[] = {least,
                            is_signed_id(type) ? -1 : most - 1,
                            (int64_t)dim,
                            (int64_t)dim + 1,
                            most - 1,
                            most,
                            (int64_t)(dim / 2),
                            is_signed_id(type) ? -(int64_t)dim : most};

    return some[i % (sizeof(some) / sizeof(some[0]))];
}

static void fill_ids(enum kt_type type, void *ids, size_t n, enum ids_data what,
                     size_t dim, size_t right)
{
    uint64_t state = n + dim;

    for (size_t i = 0; i < n; i++) {
        int64_t id = (int64_t)(kt_random(&state) % dim);

        switch (what) {
        case IN_ORDER:
            id = (int64_t)(i % dim);
            break;
        case RANDOM:
            break;
        case DUPLICATES:
            id = (int64_t)(i * i % 3 % dim);
            break;
        case MARKERS:
            if (i == 0 || i + 1 == n || i % 5 == 2)
                id = marker(type);
            break;
        case ALL_MARKERS:
            id = marker(type);
            break;
        case HOSTILE:
            id = i % 3 ? hostile_id(type, i, dim) : id;
            break;
        case ROWS_ALIKE:
            id = (int64_t)(i / right * 7 % dim);
            break;
        case LAST_ONES:
            id = (int64_t)(dim - 1 - i % 3);
            break;
        }
        kt_put_bits(type, ids, i, (uint64_t)id);
    }
}

/* the element that id i names, or -1 */
static int64_t named(enum kt_type type, const void *ids, size_t i, size_t dim)
{
    const int64_t id = kt_get_int(type, ids, i);

    return id == marker(type) || id < 0 || id >= (int64_t)dim ? -1 : id;
}

/* ---- cases ---------------------------------------------------------- */

/* shapes [left, dim, right] with `n` ids along dim */
struct index_case {
    const char *name;
    size_t left, dim, n, right;
    enum ids_data ids;
    size_t lead;          /* elements in front of the data */
    size_t stride;        /* stride of ids, for kernels with one */
    unsigned block, grid; /* 0: the contract's */
};

static const struct index_case cases[] = {
    {"one", 1, 1, 1, 1, IN_ORDER, 0, 1, 0, 0},
    {"left 1", 1, 7, 5, 6, RANDOM, 1, 1, 0, 0},
    {"right 1", 5, 7, 9, 1, RANDOM, 0, 1, 0, 0},
    {"both 1", 1, 9, 1023, 1, RANDOM, 0, 1, 0, 0},
    {"1025 of 1", 1, 9, 1025, 1, DUPLICATES, 1, 1, 0, 0},
    {"middle", 4, 6, 5, 33, RANDOM, 0, 1, 0, 0},
    {"wide rows", 2, 9, 5, 256, RANDOM, 0, 1, 0, 0},
    {"wide rows, off by one", 2, 9, 5, 256, ROWS_ALIKE, 1, 1, 0, 0},
    {"rows of 48", 3, 5, 7, 48, ROWS_ALIKE, 0, 1, 0, 0},
    {"duplicates", 2, 6, 50, 4, DUPLICATES, 0, 1, 0, 0},
    {"markers", 2, 6, 11, 16, MARKERS, 0, 1, 0, 0},
    {"markers in columns", 3, 6, 11, 5, MARKERS, 0, 1, 0, 0},
    {"all markers", 2, 6, 5, 8, ALL_MARKERS, 0, 1, 0, 0},
    {"hostile", 2, 6, 17, 16, HOSTILE, 0, 1, 0, 0},
    {"hostile, odd", 1, 5, 33, 3, HOSTILE, 1, 1, 0, 0},
    {"last of 256", 1, 256, 7, 3, LAST_ONES, 0, 1, 0, 0},
    {"strided ids", 2, 9, 7, 6, RANDOM, 0, 3, 0, 0},
    {"one id for all", 2, 9, 7, 16, RANDOM, 0, 0, 0, 0},
    {"small grid", 3, 20, 40, 31, RANDOM, 0, 1, 64, 2},
    {"odd block", 3, 20, 10, 32, RANDOM, 0, 1, 96, 0},
    {"large", 2, 40, 60, 128, RANDOM, 0, 1, 256, 0},
    {"no ids", 2, 6, 0, 4, IN_ORDER, 0, 1, 0, 1},
    /* some blocks leave at once */
    {"large grid", 2, 9, 7, 48, RANDOM, 0, 1, 1024, 2051},
};
#define NCASES (sizeof(cases) / sizeof(cases[0]))

static void shape(const struct index_case *c, size_t threads, unsigned *grid,
                  unsigned *block)
{
    *block = c->block ? c->block : 1024;
    *grid = c->grid ? c->grid : (unsigned)((threads + *block - 1) / *block);
}

static const void *device_copy(struct kt *t, enum kt_type type, const void *x,
                               size_t n, size_t lead)
{
    return kt_device(t, x, n * kt_size(type), lead * kt_size(type));
}

static void copy_element(enum kt_type type, void *to, size_t i,
                         const void *from, size_t k)
{
    const size_t size = kt_size(type);

    memcpy((char *)to + i * size, (const char *)from + k * size, size);
}

/* a small float's sum before it is rounded, and the four indices after which */
struct unrounded {
    float sum;
    size_t four;
};

/* to[i] += x[k] of index j; integers wrap */
static void add_element(enum kt_type type, void *to, size_t i, const void *x,
                        size_t k, size_t j, struct unrounded *sums)
{
    struct unrounded *s = &sums[i];

    if (type == KT_F64) {
        ((double *)to)[i] += ((const double *)x)[k];
    } else if (kt_is_float(type)) {
        /* none yet, or four that name others between */
        if (s->four == 0 || s->four < j / 4)
            s->sum = (float)kt_get(type, to, i);
        s->sum += (float)kt_get(type, x, k);
        s->four = j / 4 + 1;
        kt_put(type, to, i, s->sum);
    } else {
        kt_put_bits(type, to, i,
                    kt_get_bits(type, to, i) + kt_get_bits(type, x, k));
    }
}

/* ---- reads ---------------------------------------------------------- */

static void run_select_case(struct kt *t, const struct index_case *c,
                            enum kt_type id, enum kt_type type)
{
    if (!kt_turn(t))
        return;
    size_t numel = c->left * c->n * c->right, num_dims = 1;
    size_t left = c->left, dim = c->dim, n = c->n, right = c->right;
    const size_t extent = n ? (n - 1) * c->stride + 1 : 0;
    const size_t dims[2] = {n, c->stride};
    void *ids = kt_alloc(t, extent * kt_size(id));
    const void *x = kt_host(t, type, left * dim * right, KT_CODES, 1);
    void *want = kt_alloc(t, numel * kt_size(type));
    void *got = kt_alloc(t, numel * kt_size(type));

    fill_ids(id, ids, extent, c->ids, dim, 1);
    for (size_t i = 0; i < numel; i++) {
        const size_t l = i / right / n, j = i / right % n, r = i % right;
        const int64_t e = named(id, ids, j * c->stride, dim);

        if (e >= 0)
            copy_element(type, want, i, x, (l * dim + (size_t)e) * right + r);
    }
    const void *info = kt_device(t, dims, sizeof(dims), 0);
    const void *dids = device_copy(t, id, ids, extent, 0);
    const void *inp = device_copy(t, type, x, left * dim * right, c->lead);
    void *out =
        kt_device(t, NULL, numel * kt_size(type), c->lead * kt_size(type));
    unsigned grid, block;

    t->what = c->name;
    shape(c, numel, &grid, &block);
    if (!KT_LAUNCH(t, grid, block, 0, numel, num_dims, info, dids, inp, out,
                   left, dim, n, right))
        return;
    kt_read(t, got, out, numel * kt_size(type));
    kt_check_bits(t, type, got, want, numel);
}

/* ids of rank 2 and of rank 0 */
static void run_select_ranks(struct kt *t, enum kt_type id, enum kt_type type)
{
    const size_t dims[2] = {4, 3};
    const struct kt_layout layouts[] = {kt_layout(2, dims, KT_TRANSPOSED),
                                        kt_layout(0, dims, KT_CONTIGUOUS)};

    for (size_t k = 0; k < 2; k++) {
        const struct kt_layout *l = &layouts[k];
        size_t left = 2, dim = 5, n = l->numel, right = 3;
        size_t numel = left * n * right, num_dims = l->rank;
        void *ids = kt_alloc(t, l->extent * kt_size(id));
        const void *x = kt_host(t, type, left * dim * right, KT_CODES, 1);
        void *want = kt_alloc(t, numel * kt_size(type));
        void *got = kt_alloc(t, numel * kt_size(type));

        fill_ids(id, ids, l->extent, RANDOM, dim, 1);
        for (size_t i = 0; i < numel; i++) {
            const size_t j = kt_offset(l, i / right % n);
            const int64_t e = named(id, ids, j, dim);

            copy_element(type, want, i, x,
                         (i / right / n * dim + (size_t)e) * right + i % right);
        }
        const void *info = kt_info(t, 1, &l);
        const void *dids = device_copy(t, id, ids, l->extent, 0);
        const void *inp = device_copy(t, type, x, left * dim * right, 0);
        void *out = kt_device(t, NULL, numel * kt_size(type), 0);

        t->what = l->name;
        if (!KT_LAUNCH(t, 1, 1024, 0, numel, num_dims, info, dids, inp, out,
                       left, dim, n, right))
            return;
        kt_read(t, got, out, numel * kt_size(type));
        kt_check_bits(t, type, got, want, numel);
    }
}

/*
 * A source of more than 2^32 elements, of which few rows are named: the
 * simulated GPU gives memory to the pages alone that are touched.
 */
static void run_far(struct kt *t, bool select, enum kt_type type)
{
    enum { NIDS = 4, RIGHT = 48 };
    const size_t size = kt_size(type), row = RIGHT * size;
    size_t dim = ((size_t)1 << 32) / RIGHT + 1000, n = NIDS, right = RIGHT;
    size_t left = 1, numel = NIDS * RIGHT, num_dims = 1;
    const size_t info[2] = {NIDS, 1};
    const uint32_t named_rows[NIDS] = {(uint32_t)dim - 1, 0,
                                       (uint32_t)(dim / 2), 7};
    uint32_t ids[NIDS * RIGHT]; /* gather's: the same along a row */
    const char *want = kt_host(t, type, NIDS * RIGHT, KT_CODES, 1);
    void *got = kt_alloc(t, NIDS * row), *inp;
    void *out = kt_device(t, NULL, NIDS * row, 0);
    size_t nfree, total;
    bool ok;

    t->what = "rows beyond 2^32 elements";
    if (kpk_memory_info(t->inst, &nfree, &total) == KPK_OK && dim * row > total)
        return; /* the card is too small */
    if (kpk_malloc(t->inst, dim * row, &inp) != KPK_OK) {
        kt_fail(t, "%s", kpk_error_message());
        return;
    }
    for (size_t i = 0; i < NIDS * RIGHT; i++)
        ids[i] = named_rows[select ? i % NIDS : i / RIGHT];
    for (size_t i = 0; i < NIDS; i++)
        kt_write(t, (char *)inp + named_rows[i] * row, want + i * row, row);
    const void *dinfo = kt_device(t, info, sizeof(info), 0);
    const void *dids =
        kt_device(t, ids, (select ? NIDS : NIDS * RIGHT) * sizeof(ids[0]), 0);

    if (select)
        ok = KT_LAUNCH(t, 1, 1024, 0, numel, num_dims, dinfo, dids, inp, out,
                       left, dim, n, right);
    else
        ok = KT_LAUNCH(t, 1, 1024, 0, numel, dids, inp, out, left, dim, n,
                       right);
    if (ok) {
        kt_read(t, got, out, NIDS * row);
        kt_check_bits(t, type, got, want, NIDS * RIGHT);
    }
    if (kpk_free(t->inst, inp) != KPK_OK)
        kt_fail(t, "%s", kpk_error_message());
}

static void run_select(struct kt *t, const struct kt_row *row)
{
    if (row->a == KT_U32 && (row->b == KT_U8 || row->b == KT_F16))
        run_far(t, true, row->b);
    for (size_t k = 0; k < NCASES; k++)
        run_select_case(t, &cases[k], row->a, row->b);
    run_select_ranks(t, row->a, row->b);
}

static void run_gather(struct kt *t, const struct kt_row *row)
{
    const enum kt_type id = row->a, type = row->b;

    if (id == KT_U32 && (type == KT_U8 || type == KT_F16))
        run_far(t, false, type);
    for (size_t k = 0; k < NCASES; k++) {
        if (!kt_turn(t))
            continue;
        const struct index_case *c = &cases[k];
        size_t left = c->left, dim = c->dim, n = c->n, right = c->right;
        size_t numel = left * n * right;
        void *ids = kt_alloc(t, numel * kt_size(id));
        const void *x = kt_host(t, type, left * dim * right, KT_CODES, 1);
        void *want = kt_alloc(t, numel * kt_size(type));
        void *got = kt_alloc(t, numel * kt_size(type));

        fill_ids(id, ids, numel, c->ids, dim, right);
        for (size_t i = 0; i < numel; i++) {
            const int64_t e = named(id, ids, i, dim);

            if (e >= 0)
                copy_element(type, want, i, x,
                             (i / right / n * dim + (size_t)e) * right +
                                 i % right);
        }
        const void *dids = device_copy(t, id, ids, numel, c->lead);
        const void *inp = device_copy(t, type, x, left * dim * right, c->lead);
        void *out = kt_device(t, NULL, numel * kt_size(type), 0);
        unsigned grid, block;

        t->what = c->name;
        shape(c, numel, &grid, &block);
        if (!KT_LAUNCH(t, grid, block, 0, numel, dids, inp, out, left, dim, n,
                       right))
            return;
        kt_read(t, got, out, numel * kt_size(type));
        kt_check_bits(t, type, got, want, numel);
    }
}

/* ---- writes --------------------------------------------------------- */

enum write { INDEX_ADD, SCATTER_ADD, SCATTER };

static void run_write_case(struct kt *t, const struct index_case *c,
                           enum write kind, enum kt_type id, enum kt_type type)
{
    if (!kt_turn(t))
        return;
    size_t left = c->left, dim = c->dim, n = c->n, right = c->right;
    const size_t elements = left * n * right, total = left * dim * right;
    const size_t nids = kind == INDEX_ADD ? n : elements;
    void *ids = kt_alloc(t, nids * kt_size(id));
    const void *x = kt_host(t, type, elements, KT_SMALL, 2);
    void *want = kt_host(t, type, total, KT_SMALL, 3);
    struct unrounded *sums = kt_alloc(t, total * sizeof(*sums));

    fill_ids(id, ids, nids, c->ids, dim, right);

    const void *dids = device_copy(t, id, ids, nids, c->lead);
    const void *inp = device_copy(t, type, x, elements, c->lead);
    void *out =
        kt_device(t, want, total * kt_size(type), c->lead * kt_size(type));
    void *got = kt_alloc(t, total * kt_size(type));
    unsigned grid, block;

    for (size_t l = 0; l < left; l++)
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < right; r++) {
                const size_t p = (l * n + j) * right + r;
                const int64_t e =
                    named(id, ids, kind == INDEX_ADD ? j : p, dim);
                const size_t q = (l * dim + (size_t)e) * right + r;

                if (e < 0)
                    continue;
                if (kind == SCATTER)
                    copy_element(type, want, q, x, p);
                else
                    add_element(type, want, q, x, p, j, sums);
            }
    t->what = c->name;
    shape(c, left * right, &grid, &block);
    if (kind == INDEX_ADD ? !KT_LAUNCH(t, grid, block, 0, dids, n, inp, out,
                                       left, n, dim, right)
                          : !KT_LAUNCH(t, grid, block, 0, dids, inp, out, left,
                                       n, dim, right))
        return;
    kt_read(t, got, out, total * kt_size(type));
    kt_check_bits(t, type, got, want, total);
}

/*
 * Adds 3000 ones to one element, and in turn to four elements. Sums in f32 give
 * 3000; sums in f16 would stop at 2048, in bf16 at 256.
 */
static void run_ones(struct kt *t, const struct kt_row *row)
{
    enum { ONES = 3000, PLACES = 4 };
    const enum kt_type type = row->b;
    const size_t size = kt_size(type);
    const bool scatter = *(const enum write *)row->detail == SCATTER_ADD;
    size_t left = 1, n = ONES, dim = PLACES, right = 1;
    void *ids = kt_alloc(t, ONES * kt_size(row->a));
    void *ones = kt_alloc(t, ONES * size);

    for (size_t i = 0; i < ONES; i++)
        kt_put(type, ones, i, 1);
    for (size_t places = 1; places <= PLACES; places += PLACES - 1) {
        kt_real want[PLACES] = {0};
        void *got = kt_alloc(t, PLACES * size);

        for (size_t i = 0; i < ONES; i++) {
            kt_put(row->a, ids, i, (kt_real)(i % places));
            want[i % places]++;
        }
        const void *dids = device_copy(t, row->a, ids, ONES, 0);
        const void *inp = device_copy(t, type, ones, ONES, 0);
        void *out = kt_device(t, got, PLACES * size, 0);

        t->what = places == 1 ? "3000 ones" : "3000 ones in turn";
        if (scatter
                ? !KT_LAUNCH(t, 1, 32, 0, dids, inp, out, left, n, dim, right)
                : !KT_LAUNCH(t, 1, 32, 0, dids, n, inp, out, left, n, dim,
                             right))
            return;
        kt_read(t, got, out, PLACES * size);
        kt_check(t, type, got, want, PLACES, (struct kt_gate){.ulps = 0.5L});
    }
}

/* enough columns that index_add takes several at a time */
static const struct index_case many_columns = {"many columns", 1, 4, 5, 262144,
                                               DUPLICATES,     0, 1, 0, 0};

static void run_write(struct kt *t, const struct kt_row *row)
{
    const enum write kind = *(const enum write *)row->detail;

    for (size_t k = 0; k < NCASES; k++)
        run_write_case(t, &cases[k], kind, row->a, row->b);
    if (kind != SCATTER && kt_is_float(row->b) && row->a == KT_U32)
        run_ones(t, row);
    if (kind == INDEX_ADD && row->a == KT_U32 &&
        (row->b == KT_F32 || row->b == KT_F16))
        run_write_case(t, &many_columns, kind, row->a, row->b);
}

/* ---- the table ------------------------------------------------------ */

static const enum write writes[] = {INDEX_ADD, SCATTER_ADD, SCATTER};

#define WITH_F8(I, ID, T, TYPE)                                                \
    {"is_" #I "_" #T, run_select, ID, TYPE, NULL},                             \
        {"gather_" #I "_" #T, run_gather, ID, TYPE, NULL},                     \
        {"ia_" #I "_" #T, run_write, ID, TYPE, &writes[INDEX_ADD]},            \
    {                                                                          \
        "sa_" #I "_" #T, run_write, ID, TYPE, &writes[SCATTER_ADD]             \
    }
#define WITHOUT_F8(I, ID, T, TYPE)                                             \
    WITH_F8(I, ID, T, TYPE),                                                   \
    {                                                                          \
        "s_" #I "_" #T, run_write, ID, TYPE, &writes[SCATTER]                  \
    }
/* the other spelling is an alias */
#define F8(I, ID) WITH_F8(I, ID, f8_e4m3, KT_F8), WITH_F8(I, ID, f8e4m3, KT_F8)
#define INDEXED_BY(I, ID)                                                      \
    WITHOUT_F8(I, ID, bf16, KT_BF16), WITHOUT_F8(I, ID, f16, KT_F16),          \
        WITHOUT_F8(I, ID, f32, KT_F32), WITHOUT_F8(I, ID, f64, KT_F64),        \
        WITHOUT_F8(I, ID, u8, KT_U8), WITHOUT_F8(I, ID, u32, KT_U32),          \
        WITHOUT_F8(I, ID, i64, KT_I64), F8(I, ID)

static const struct kt_row rows[] = {
    INDEXED_BY(u8, KT_U8), INDEXED_BY(u32, KT_U32), INDEXED_BY(i64, KT_I64),
    F8(i16, KT_I16),       F8(i32, KT_I32),
};

KT_MAIN(kpk_module_indexing, rows)
