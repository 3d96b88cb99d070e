/* elementwise.c - sizes, layouts and launch shapes for elementwise kernels */
#include "elementwise.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* How a kernel is launched; every shape must give the same result. */
enum shape {
    CONTRACT,    /* a thread an element, 1024 a block: what candle launches */
    RECOMMENDED, /* 256 threads of 32 bytes each */
    ONE_BLOCK,   /* far fewer threads than elements */
    LARGE,       /* far more */
    ODD_BLOCK,   /* not a multiple of a wave */
    NSHAPES,
    /* only if a test asks for these: */
    LEAVING = NSHAPES, /* most blocks have nothing to do */
    SOME_LEAVING,      /* fewer blocks have nothing to do */
    TINY_BLOCKS        /* many small blocks, some have nothing to do */
};

static const char *const shape_names[] = {
    "1024 a block", "256 x 32 bytes",    "one block",         "large grid",
    "odd block",    "most blocks leave", "some blocks leave", "tiny blocks"};

/* One launch. */
struct ew_case {
    struct kt_layout layout[EW_MAX_INPUTS];
    bool info; /* or null */
    enum shape shape;
    enum kt_data data;
    size_t lead; /* elements by which pointers miss their alignment */
    enum { APART, NULL_INPUT, SAME } place;
};

static size_t widest(const struct ew *e)
{
    size_t size = kt_size(e->out);

    for (size_t k = 0; k < e->nin; k++)
        if (kt_size(e->in[k]) > size)
            size = kt_size(e->in[k]);
    return size;
}

static void set_shape(const struct ew *e, enum shape shape, size_t n,
                      unsigned grid[3], unsigned block[3])
{
    static const unsigned threads[] = {1024, 256, 64, 128, 100, 512, 512, 4};
    size_t each = 1;

    block[0] = threads[shape];
    if (shape == RECOMMENDED)
        each = 32 / widest(e);
    grid[0] = (unsigned)((n + block[0] * each - 1) / (block[0] * each));
    if (grid[0] == 0 || shape == ONE_BLOCK)
        grid[0] = 1;
    if (shape == LARGE)
        grid[0] = grid[0] * 3 + 5;
    if (shape == LEAVING) /* more than map.h asks for */
        grid[0] = 65536 / (unsigned)widest(e) + 3;
    if (shape == SOME_LEAVING) /* more than walk.h calls small */
        grid[0] = 304 * 16 / (unsigned)widest(e) + 1001;
    if (shape == TINY_BLOCKS) /* a thread a pack, or a few more */
        grid[0] = 2051;
    grid[1] = grid[2] = block[1] = block[2] = 1;
}

static void name_case(struct kt *t, const struct ew *e, const struct ew_case *c)
{
    char *text = kt_alloc(t, 256);
    size_t used = 0;

    for (size_t k = 0; k < e->nin; k++)
        used += (size_t)snprintf(text + used, 256 - used, "%s%s", k ? ", " : "",
                                 c->layout[k].name);
    snprintf(text + used, 256 - used, "; %s%s%s%s%s", shape_names[c->shape],
             c->info ? "" : "; null info", c->lead ? "; unaligned" : "",
             c->place == NULL_INPUT ? "; null input" : "",
             c->place == SAME ? "; in place" : "");
    t->what = text;
}

/* Memory for n wanted outputs: values, scales for gates, codes. */
static size_t wanted_nbytes(const struct ew *e, size_t n)
{
    return n * (2 * sizeof(kt_real) + kt_size(e->out));
}

/* From the inputs' host copies. */
static void fill_wanted(const struct ew *e, const struct ew_case *c,
                        const void *const host[], kt_real *value,
                        kt_real *scale, void *bits)
{
    for (size_t i = 0; i < c->layout[0].numel; i++) {
        struct ew_want want = {0, 1, 0};
        const void *element[EW_MAX_INPUTS] = {NULL};

        for (size_t k = 0; k < e->nin; k++) {
            const size_t at =
                c->place == NULL_INPUT ? i : kt_offset(&c->layout[k], i);

            element[k] = (const char *)host[k] + at * kt_size(e->in[k]);
        }
        e->want(e, element, &want);
        value[i] = want.value;
        scale[i] = want.scale;
        if (e->bits)
            kt_put_bits(e->out, bits, i, want.bits);
    }
}

static void check(struct kt *t, const struct ew *e, const struct ew_case *c,
                  const void *const host[], struct kt_shared *wanted,
                  const void *got)
{
    const size_t n = c->layout[0].numel;
    kt_real *value = wanted->data, *scale = value + n;
    void *bits = scale + n;
    struct kt_gate gate = e->gate;

    if (!wanted->filled)
        fill_wanted(e, c, host, value, scale, bits);
    wanted->filled = true;
    gate.scale = scale;
    if (e->bits)
        kt_check_bits(t, e->out, got, bits, n);
    else
        kt_check(t, e->out, got, value, n, gate);
}

/* Checks a case that some devices lack. */
static void check_alone(struct kt *t, const struct ew *e,
                        const struct ew_case *c, const void *const host[],
                        const void *got)
{
    const size_t n = c->layout[0].numel;
    struct kt_shared wanted = {.data = kt_alloc(t, wanted_nbytes(e, n))};

    check(t, e, c, host, &wanted, got);
}

/* The arguments of e, which are read at the launch. */
struct arguments {
    size_t n, rank;
    const size_t *info;
    void *in[EW_MAX_INPUTS], *out;
};

static bool launch(struct kt *t, const struct ew *e, const unsigned grid[3],
                   const unsigned block[3], const struct arguments *a)
{
    kpk_arg args[16] = {{&a->n, 8}, {&a->rank, 8}, {&a->info, 8}};
    size_t nargs = 3;

    for (size_t k = 0; k < e->nbefore; k++)
        args[nargs++] = e->before[k];
    for (size_t k = 0; k < e->nin; k++)
        args[nargs++] = (kpk_arg){&a->in[k], sizeof(a->in[k])};
    args[nargs++] = (kpk_arg){&a->out, sizeof(a->out)};
    for (size_t k = 0; k < e->nafter; k++)
        args[nargs++] = e->after[k];
    return kt_launch(t, grid, block, 0, args, nargs);
}

static void run_case(struct kt *t, const struct ew *e, const struct ew_case *c)
{
    if (!kt_turn(t))
        return;

    const size_t n = c->layout[0].numel;
    struct arguments a = {.n = n, .rank = c->layout[0].rank};
    const size_t out_size = kt_size(e->out);
    const size_t spare = n == 0 ? 16 : 0; /* elements that must stay */
    const struct kt_layout *layouts[EW_MAX_INPUTS];
    const void *host[EW_MAX_INPUTS] = {NULL};
    void *got = kt_alloc(t, (n + spare) * out_size);
    struct kt_shared *wanted = kt_shared(t, wanted_nbytes(e, n));
    unsigned grid[3], block[3];

    name_case(t, e, c);
    for (size_t k = 0; k < e->nin; k++) {
        const size_t size = kt_size(e->in[k]);
        size_t extent = c->layout[k].extent;
        void *data;

        if (c->place == NULL_INPUT && extent < n)
            extent = n; /* it lies in the output */
        data = kt_host(t, e->in[k], extent, c->data, 7 * k + n + c->shape);
        if (e->tame)
            e->tame(e, k, data, extent);
        host[k] = data;
        layouts[k] = &c->layout[k];
        if (k > 0 || c->place == APART)
            a.in[k] = kt_device(t, data, extent * size, c->lead * size);
    }
    a.out = kt_device(t, c->place == APART ? NULL : host[0],
                      (n + spare) * out_size, c->lead * out_size);
    if (c->place == SAME)
        a.in[0] = a.out;
    a.info = c->info ? kt_info(t, e->nin, layouts) : NULL;

    set_shape(e, c->shape, n, grid, block);
    if (!launch(t, e, grid, block, &a))
        return;
    kt_read(t, got, a.out, (n + spare) * out_size);
    check(t, e, c, host, wanted, got);
    if (spare) {
        void *untouched = kt_alloc(t, spare * out_size);

        memset(untouched, 0xA5, spare * out_size);
        kt_check_bytes(t, got, untouched, spare * out_size, "an empty output");
    }
}

/* All inputs contiguous in one dimension. */
static struct ew_case flat_case(const struct ew *e, size_t n, enum shape shape,
                                enum kt_data data)
{
    struct ew_case c = {.shape = shape, .data = data};

    for (size_t k = 0; k < e->nin; k++)
        c.layout[k] = kt_layout(1, &n, KT_CONTIGUOUS);
    return c;
}

static void run_sizes(struct kt *t, const struct ew *e)
{
    static const size_t sizes[] = {0, 1, 15, 1023, 1024, 1025, 9001};
    const enum kt_data data = e->no_hostile ? KT_SMALL : KT_HOSTILE;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct ew_case c = flat_case(e, sizes[s], CONTRACT, KT_SMALL);

        run_case(t, e, &c);
        c.data = data;
        c.shape = (enum shape)(1 + s % (NSHAPES - 1));
        c.info = sizes[s] != 0; /* one that describes a contiguous layout */
        run_case(t, e, &c);
    }
    for (enum shape shape = CONTRACT; shape < NSHAPES; shape++) {
        struct ew_case c = flat_case(e, 3001, shape, data);

        run_case(t, e, &c);
        c.lead = 1;
        run_case(t, e, &c);
    }
}

static const struct {
    size_t rank;
    size_t dims[KT_MAX_RANK];
} shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {261}},
    {2, {32, 64}},  /* rows of whole packs */
    {2, {33, 67}},  /* and not */
    {2, {7, 3}},    /* rows shorter than a pack */
    {2, {70, 130}}, /* several tiles, the last ones cut: for e->moves */
    {3, {5, 1, 48}},
    {3, {3, 40, 20}},
    {3, {24, 3, 40}}, /* transposed: contiguous along the third dimension */
    {4, {2, 3, 16, 8}},
    {4, {1, 9, 1, 5}},
    {5, {2, 3, 2, 5, 4}},
    {6, {2, 2, 3, 2, 3, 4}},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void run_large_grid(struct kt *t, const struct ew *e)
{
    static const enum kt_order orders[] = {KT_CONTIGUOUS, KT_TRANSPOSED,
                                           KT_BROADCAST_OUTER, KT_SLICED};
    static const size_t dims[2] = {70, 130};

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct ew_case c = flat_case(e, 0, LEAVING, KT_SMALL);

        c.info = orders[i] != KT_CONTIGUOUS;
        for (size_t k = 0; k < e->nin; k++)
            c.layout[k] = kt_layout(2, dims, orders[i]);
        run_case(t, e, &c);
        c.shape = SOME_LEAVING;
        run_case(t, e, &c);
        if (c.info) {
            c.shape = TINY_BLOCKS;
            run_case(t, e, &c);
        }
    }
}

/*
 * Two rows more than 2^32 elements apart. The simulated GPU gives memory to the
 * pages alone that are touched.
 */
static void run_far(struct kt *t, const struct ew *e)
{
    enum { COLUMNS = 40 };
    const size_t n = 2 * COLUMNS, apart = ((size_t)1 << 32) + 24;
    const size_t info[] = {2, COLUMNS, apart, 1};
    const size_t size = kt_size(e->in[0]);
    struct ew_case c = flat_case(e, n, CONTRACT, KT_SMALL);
    const void *host = kt_host(t, e->in[0], n, KT_SMALL, 11);
    struct arguments a = {
        .n = n,
        .rank = 2,
        .info = kt_device(t, info, sizeof(info), 0),
        .out = kt_device(t, NULL, n * kt_size(e->out), 0),
    };
    char *in;
    void *got = kt_alloc(t, n * kt_size(e->out));

    t->what = "rows 2^32 elements apart";
    if (!kt_device_holds(t, (apart + COLUMNS) * size))
        return;
    if (kpk_malloc(t->inst, (apart + COLUMNS) * size, &a.in[0]) != KPK_OK) {
        kt_fail(t, "%s", kpk_error_message());
        return;
    }
    in = a.in[0];
    kt_write(t, in, host, COLUMNS * size);
    kt_write(t, in + apart * size, (const char *)host + COLUMNS * size,
             COLUMNS * size);
    if (launch(t, e, (const unsigned[3]){1, 1, 1},
               (const unsigned[3]){1024, 1, 1}, &a)) {
        kt_read(t, got, a.out, n * kt_size(e->out));
        check_alone(t, e, &c, &host, got);
    }
    if (kpk_free(t->inst, in) != KPK_OK)
        kt_fail(t, "%s", kpk_error_message());
}

/* Launches for outputs of `layout`, all inputs alike; checks rows of them. */
static void run_rows(struct kt *t, const struct ew *e,
                     const struct kt_layout *layout, struct arguments *a,
                     const void *const host[])
{
    const struct kt_layout *layouts[EW_MAX_INPUTS] = {layout, layout, layout};
    const size_t columns = layout->dims[1], size = kt_size(e->out);
    const struct ew_case row = flat_case(e, columns, CONTRACT, KT_SMALL);
    void *got = kt_alloc(t, columns * size);
    unsigned grid[3], block[3];

    a->n = layout->numel;
    a->rank = layout->rank;
    a->info = kt_is_contiguous(layout) ? NULL : kt_info(t, e->nin, layouts);
    set_shape(e, RECOMMENDED, a->n, grid, block);
    if (!launch(t, e, grid, block, a))
        return;
    kt_read(t, got, a->out, columns * size);
    check_alone(t, e, &row, host, got);
    kt_check_rows(t, a->out, got, columns * size, a->n * size);
}

/*
 * More than 2^31 outputs, the rows of which repeat a row of each input; and, on
 * a real GPU, of as many inputs.
 */
static void run_huge(struct kt *t, const struct ew *e)
{
    enum { COLUMNS = 4112, BYTE = 0x35 };
    const size_t dims[2] = {((size_t)1 << 31) / COLUMNS + 2, COLUMNS};
    const struct kt_layout rows = kt_layout(2, dims, KT_BROADCAST_OUTER);
    const struct kt_layout flat = kt_layout(2, dims, KT_CONTIGUOUS);
    const void *host[EW_MAX_INPUTS] = {NULL};
    struct arguments a = {0};

    t->what = "more than 2^31 outputs, one row";
    a.out = kt_large_device(t, rows.numel * kt_size(e->out));
    if (!a.out)
        return;
    for (size_t k = 0; k < e->nin; k++) {
        void *data = kt_host(t, e->in[k], COLUMNS, KT_SMALL, 5 + k);

        if (e->tame)
            e->tame(e, k, data, COLUMNS);
        host[k] = data;
        a.in[k] = kt_device(t, data, COLUMNS * kt_size(e->in[k]), 0);
    }
    run_rows(t, e, &rows, &a, host);
    if (kt_is_simulated())
        return;
    t->what = "more than 2^31 outputs, contiguous";
    for (size_t k = 0; k < e->nin; k++) {
        const size_t size = kt_size(e->in[k]);
        void *data = kt_alloc(t, COLUMNS * size);

        memset(data, BYTE, COLUMNS * size);
        host[k] = data;
        a.in[k] = kt_large_device(t, flat.numel * size);
        if (!a.in[k] || kpk_fill(t->inst, a.in[k], BYTE, flat.numel * size))
            return;
    }
    run_rows(t, e, &flat, &a, host);
}

/* Each order for one input at a time, then for all, then a mixture. */
static void run_layouts(struct kt *t, const struct ew *e)
{
    unsigned turn = 0;

    for (size_t s = 0; s < N_SHAPES; s++) {
        if (shapes[s].dims[0] == 70 && !e->moves)
            continue;
        for (int order = 0; order < KT_NORDERS; order++)
            for (size_t which = 0; which <= e->nin; which++) {
                struct ew_case c = {
                    .info = true,
                    .shape = (enum shape)(turn++ % NSHAPES),
                    .data = e->no_hostile || turn % 2 ? KT_SMALL : KT_HOSTILE,
                };

                /* some shapes try one of several inputs at a time */
                if (e->nin > 1 && which < e->nin &&
                    (s + (size_t)order + which) % 3 != 0)
                    continue;
                if (e->nin == 1 && which == 1)
                    continue; /* "all" repeats this case */
                for (size_t k = 0; k < e->nin; k++) {
                    enum kt_order other = KT_CONTIGUOUS;

                    if (which == e->nin) /* a mixture in every other shape */
                        other = (enum kt_order)(((size_t)order + (s % 2) * k) %
                                                KT_NORDERS);
                    c.layout[k] =
                        kt_layout(shapes[s].rank, shapes[s].dims,
                                  k == which ? (enum kt_order)order : other);
                }
                run_case(t, e, &c);
            }
    }
}

/* Every input in an order of its own; the same cases on every run. */
static void run_any_layouts(struct kt *t, const struct ew *e)
{
    enum { CASES = 12, ELEMENTS = 1500 };
    uint64_t seed = 6;

    for (unsigned i = 0; i < CASES; i++) {
        struct ew_case c = {
            .info = true,
            .shape = (enum shape)(i % NSHAPES),
            .data = e->no_hostile || i % 2 ? KT_SMALL : KT_HOSTILE,
            .lead = i % 8 == 7,
        };
        const size_t rank = 1 + kt_random(&seed) % KT_MAX_RANK;
        size_t dims[KT_MAX_RANK], room = ELEMENTS;

        for (size_t d = rank; d-- > 0;) {
            const size_t most = d % 2 ? 6 : 40;

            assert(room > 0); /* no dimension takes more than is left */
            dims[d] = 1 + kt_random(&seed) % (room < most ? room : most);
            if (d + 1 == rank && i % 2 == 0)
                dims[d] = 32; /* rows of whole packs */
            room /= dims[d];
        }
        for (size_t k = 0; k < e->nin; k++)
            c.layout[k] = kt_any_layout(rank, dims, &seed);
        run_case(t, e, &c);
    }
}

static void run_in_place(struct kt *t, const struct ew *e)
{
    static const size_t dims[2] = {37, 29};

    for (enum shape shape = CONTRACT; shape < NSHAPES; shape++) {
        struct ew_case c = flat_case(e, 2050, shape, KT_SMALL);

        c.place = SAME;
        run_case(t, e, &c);
        c.place = NULL_INPUT;
        run_case(t, e, &c);
        c.lead = 1;
        run_case(t, e, &c);
        /* the strides of a null input mean nothing */
        c.lead = 0;
        c.info = true;
        c.layout[0] = kt_layout(2, dims, KT_TRANSPOSED);
        run_case(t, e, &c);
    }
}

void ew_run_values(struct kt *t, const struct ew *e)
{
    struct ew_case c = flat_case(e, 4099, CONTRACT, KT_SMALL);

    run_case(t, e, &c);
    if (!e->no_hostile) {
        c.data = KT_HOSTILE;
        run_case(t, e, &c);
    }
    if (e->all_codes) {
        c = flat_case(e, kt_size(e->in[0]) == 1 ? 256 : 65536, CONTRACT,
                      KT_CODES);
        run_case(t, e, &c);
    }
}

void ew_run(struct kt *t, const struct ew *e)
{
    /* f8e4m3 is a second name for f8_e4m3 or fp8_e4m3: one code for both */
    if (strstr(t->symbol, "f8e4m3")) {
        ew_run_values(t, e);
        return;
    }
    if (e->large_grid)
        run_large_grid(t, e);
    if (e->large_grid && e->nin == 1 && kt_size(e->in[0]) == 1)
        run_far(t, e);
    if (kt_is_simulated() ? e->huge && t->device == 0
                          : e->large_grid && kt_size(e->out) <= 4)
        run_huge(t, e);
    run_sizes(t, e);
    run_layouts(t, e);
    run_any_layouts(t, e);
    if (e->in_place)
        run_in_place(t, e);
    ew_run_values(t, e);
}
