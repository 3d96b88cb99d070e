/* cumsum.c - cumsum_*: rows by a block each, and by tiles */
#include "reduce.h"

#include <math.h>

static const struct cumsum_case {
    const char *name;
    size_t rows, n;
    unsigned block;
    size_t lead;
    bool in_place;
    int32_t tile; /* columns */
} row_cases[] =
    {
        {"one", 3, 1, 1, 0, false, 0},
        {"two threads", 2, 3, 4, 1, false, 0},
        {"half a group", 5, 37, 16, 1, true, 0},
        {"a group", 3, 128, 32, 0, false, 0},
        {"a group, many rounds", 2, 1001, 32, 1, true, 0},
        {"two groups", 2, 257, 64, 1, false, 0},
        {"candle's largest block", 2, 4095, 1024, 0, false, 0},
        {"two rounds", 1, 4097, 1024, 1, true, 0},
        {"many rounds", 2, 9001, 256, 1, false, 0},
        {"none", 2, 0, 64, 0, false, 0},
},
  tile_cases[] = {
      {"a tile", 2, 77, 256, 1, false, 77},
      {"tiles", 3, 1000, 64, 1, false, 300},
      {"tiles in place", 2, 4099, 256, 1, true, 512},
      {"candle's tiles", 2, 8200, 256, 0, false, 4096},
      {"a tile too many", 2, 600, 32, 0, false, 300},
};

/* want[i] is the sum of x[0 ... i], scale[i] of their magnitudes, `ints` holds
 * the codes where the type wraps */
struct sums {
    kt_real *want, *scale;
    void *ints;
};

static struct sums sums_of(struct kt *t, enum kt_type type, const void *x,
                           size_t rows, size_t n, size_t tile)
{
    const size_t all = rows * n;
    struct sums s = {kt_alloc(t, all * sizeof(*s.want)),
                     kt_alloc(t, all * sizeof(*s.scale)),
                     kt_alloc(t, all * kt_size(type))};

    for (size_t r = 0; r < rows; r++) {
        kt_real sum = 0, scale = 0;
        uint64_t wrapped = 0;

        for (size_t c = 0, i = r * n; c < n; c++, i++) {
            if (c % tile == 0)
                sum = scale = 0, wrapped = 0;
            s.want[i] = sum += kt_get(type, x, i);
            s.scale[i] = scale += fabsl(kt_get(type, x, i));
            if (!kt_is_float(type))
                kt_put_bits(type, s.ints, i,
                            wrapped += (uint64_t)kt_get_int(type, x, i));
        }
    }
    return s;
}

static void check_sums(struct kt *t, enum kt_type type, const void *device,
                       const struct sums *s, size_t all, kt_real depth)
{
    void *got = kt_alloc(t, all * kt_size(type));

    kt_read(t, got, device, all * kt_size(type));
    if (kt_is_float(type))
        kt_check(
            t, type, got, s->want, all,
            (struct kt_gate){0, depth * kt_eps(type) / 2, s->scale, false});
    else
        kt_check_bits(t, type, got, s->ints, all);
}

/* additions in a row: a thread's, the block's and the rounds' */
static kt_real depth_of(enum kt_type type, size_t n, size_t block)
{
    const size_t each = 16 / kt_size(type);

    return (kt_real)each + 12 + (kt_real)(n / (each * block));
}

static void run_rows(struct kt *t, const struct cumsum_case *c,
                     enum kt_type type)
{
    const size_t all = c->rows * c->n, nbytes = all * kt_size(type);
    const size_t lead = c->lead * kt_size(type);
    int32_t n_cols = (int32_t)c->n, n_threads = (int32_t)c->block;
    void *x = kt_host(t, type, all, KT_SMALL, all);
    const struct sums sums = sums_of(t, type, x, c->rows, c->n, c->n);
    void *src = kt_device(t, x, nbytes, lead);
    void *dst = c->in_place ? src : kt_device(t, NULL, nbytes, lead);

    reduce_name_case(t, c->name, c->n, c->block);
    if (KT_LAUNCH(t, (unsigned)c->rows, c->block, c->block * kt_size(type), src,
                  dst, n_cols, n_threads))
        check_sums(t, type, dst, &sums, all, depth_of(type, c->n, c->block));
}

static void run_tiles(struct kt *t, const struct cumsum_case *c,
                      enum kt_type type)
{
    const size_t all = c->rows * c->n, nbytes = all * kt_size(type);
    const size_t lead = c->lead * kt_size(type), tile = (size_t)c->tile;
    int32_t n_cols = (int32_t)c->n, n_threads = (int32_t)c->block;
    int32_t tile_size = c->tile, n_tiles = (int32_t)((c->n + tile - 1) / tile);
    const size_t nsums = c->rows * (size_t)n_tiles;
    void *x = kt_host(t, type, all, KT_SMALL, all);
    const struct sums sums = sums_of(t, type, x, c->rows, c->n, tile);
    struct sums last = {kt_alloc(t, nsums * sizeof(kt_real)),
                        kt_alloc(t, nsums * sizeof(kt_real)),
                        kt_alloc(t, nsums * kt_size(type))};
    void *src = kt_device(t, x, nbytes, lead);
    void *dst = c->in_place ? src : kt_device(t, NULL, nbytes, lead);
    void *of_tiles = kt_device(t, NULL, nsums * kt_size(type), lead);

    for (size_t s = 0; s < nsums; s++) {
        const size_t row = s / (size_t)n_tiles, in_row = s % (size_t)n_tiles;
        const size_t end = (in_row + 1) * tile;
        const size_t at = row * c->n + (end < c->n ? end : c->n) - 1;

        last.want[s] = sums.want[at];
        last.scale[s] = sums.scale[at];
        kt_put_bits(type, last.ints, s, kt_get_bits(type, sums.ints, at));
    }
    reduce_name_case(t, c->name, c->n, c->block);
    if (!kt_launch(t, (unsigned[]){(unsigned)c->rows, (unsigned)n_tiles, 1},
                   (unsigned[]){c->block, 1, 1}, c->block * kt_size(type),
                   KPK_ARGS(src, dst, of_tiles, n_cols, tile_size, n_tiles,
                            n_threads)))
        return;
    check_sums(t, type, dst, &sums, all, depth_of(type, tile, c->block));
    check_sums(t, type, of_tiles, &last, nsums, depth_of(type, tile, c->block));
}

static void run_offsets(struct kt *t, const struct cumsum_case *c,
                        enum kt_type type)
{
    const size_t all = c->rows * c->n, tile = (size_t)c->tile;
    const size_t lead = c->lead * kt_size(type);
    int32_t n_cols = (int32_t)c->n, tile_size = c->tile;
    int32_t n_tiles = (int32_t)((c->n + tile - 1) / tile);
    const size_t nsums = c->rows * (size_t)n_tiles;
    void *x = kt_host(t, type, all, KT_SMALL, all);
    void *offsets = kt_host(t, type, nsums, KT_SMALL, nsums);
    struct sums sums = {kt_alloc(t, all * sizeof(kt_real)),
                        kt_alloc(t, all * sizeof(kt_real)),
                        kt_alloc(t, all * kt_size(type))};
    void *dst = kt_device(t, x, all * kt_size(type), lead);
    void *of_tiles = kt_device(t, offsets, nsums * kt_size(type), lead);

    for (size_t i = 0; i < all; i++) {
        const size_t row = i / c->n, in_row = i % c->n / tile;
        const size_t s = row * (size_t)n_tiles + in_row - 1;
        const bool first = in_row == 0;
        const kt_real v = first ? 0 : kt_get(type, offsets, s);

        sums.want[i] = kt_get(type, x, i) + v;
        sums.scale[i] = fabsl(sums.want[i]);
        if (!kt_is_float(type))
            kt_put_bits(
                type, sums.ints, i,
                (uint64_t)kt_get_int(type, x, i) +
                    (first ? 0 : (uint64_t)kt_get_int(type, offsets, s)));
    }
    reduce_name_case(t, c->name, c->n, c->block);
    if (kt_launch(t, (unsigned[]){(unsigned)c->rows, (unsigned)n_tiles, 1},
                  (unsigned[]){c->block, 1, 1}, 0,
                  KPK_ARGS(dst, of_tiles, n_cols, tile_size, n_tiles)))
        check_sums(t, type, dst, &sums, all, 1);
}

void reduce_run_cumsum(struct kt *t, const struct kt_row *row)
{
    const enum cumsum kernel = *(const enum cumsum *)row->detail;

    if (kernel == CUMSUM_ROWS) {
        for (size_t c = 0; c < sizeof(row_cases) / sizeof(row_cases[0]); c++)
            if (kt_turn(t))
                run_rows(t, &row_cases[c], row->a);
        return;
    }
    for (size_t c = 0; c < sizeof(tile_cases) / sizeof(tile_cases[0]); c++)
        if (!kt_turn(t))
            continue;
        else if (kernel == CUMSUM_TILES)
            run_tiles(t, &tile_cases[c], row->a);
        else
            run_offsets(t, &tile_cases[c], row->a);
}
