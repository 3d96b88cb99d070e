/* rows_indexing.c - index_select, gather, index_add, scatter */
#include "gpu_bench.h"

#include <stdlib.h>

#define N (UINT64_C(1) << 28)

/* p[0]: type; p[1]: size of the inner dimensions (right); p[2]: 1 for ids that
 * are the same along a row; p[3]: elements, 0 for 2^28; p[4]: left, 0 for as
 * many as there are elements for. */

static uint64_t elements_of(const struct bench_row *row, uint64_t otherwise)
{
    return row->p[3] ? (uint64_t)row->p[3] : otherwise;
}

/*
 * `n` u32 ids below `limit`, a power of two, in a scattered order; each id
 * stands `repeats` times.
 */
static uint64_t upload_ids(size_t n, uint32_t limit, size_t repeats)
{
    uint32_t *ids = malloc(n * sizeof(*ids));
    uint64_t p;

    if (!ids)
        abort();
    for (size_t i = 0; i < n; i++) /* an odd factor permutes a power of two */
        ids[i] = (uint32_t)(i / repeats * UINT64_C(2654435761)) & (limit - 1);
    p = bench_upload(ids, n * sizeof(*ids));
    free(ids);
    return p;
}

static void index_select(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], all = elements_of(row, N);
    const uint64_t n = all / right, info[] = {n, 1};

    l->grid[0] = (unsigned)(all / 1024);
    l->block[0] = 1024;
    bench_arg(l, all);
    bench_arg(l, 1);
    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, upload_ids(n, (uint32_t)n, 1));
    bench_arg(l, bench_random(type, all));
    bench_arg(l, bench_empty(all * bench_size(type)));
    bench_arg(l, 1);
    bench_arg(l, n);
    bench_arg(l, n);
    bench_arg(l, right);
    l->nbytes = (double)(2 * all * bench_size(type) + 4 * n);
}

static void gather(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], all = elements_of(row, N);
    const uint64_t left = row->p[4] ? (uint64_t)row->p[4] : 1;
    const uint64_t n = all / right / left;

    l->grid[0] = (unsigned)(all / 1024);
    l->block[0] = 1024;
    bench_arg(l, all);
    bench_arg(l, upload_ids(all, (uint32_t)n, row->p[2] ? right : 1));
    bench_arg(l, bench_random(type, all));
    bench_arg(l, bench_empty(all * bench_size(type)));
    bench_arg(l, left);
    bench_arg(l, n);
    bench_arg(l, n);
    bench_arg(l, right);
    l->nbytes = (double)(all * (2 * bench_size(type) + 4));
}

/* a thread a column (left, right), 1024 a block */
static void columns(struct bench_launch *l, uint64_t n)
{
    l->grid[0] = (unsigned)((n + 1023) / 1024);
    l->block[0] = 1024;
}

/* left columns of 256 sources into 256 rows. */
static void index_add(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], ids = 256;
    const uint64_t all = elements_of(row, N / 4), left = all / right / ids;

    columns(l, left * right);
    bench_arg(l, upload_ids(ids, (uint32_t)ids, 1));
    bench_arg(l, ids);
    bench_arg(l, bench_random(type, all));
    bench_arg(l, bench_random(type, all));
    bench_arg(l, left);
    bench_arg(l, ids);
    bench_arg(l, ids);
    bench_arg(l, right);
    l->nbytes = 3.0 * (double)(all * bench_size(type));
}

static void scatter(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], dim = 256;
    const uint64_t all = elements_of(row, N / 4), left = all / right / dim;

    columns(l, left * right);
    bench_arg(l, upload_ids(all, (uint32_t)dim, row->p[2] ? right : 1));
    bench_arg(l, bench_random(type, all));
    bench_arg(l, bench_random(type, all));
    bench_arg(l, left);
    bench_arg(l, dim);
    bench_arg(l, dim);
    bench_arg(l, right);
    l->nbytes = (double)(all * (2 * bench_size(type) + 4));
}

#define BOTH(symbol, label, ...)                                               \
    BENCH_BOTH("indexing", "plain_rows", symbol, label, __VA_ARGS__)
#define SELECT(T, type)                                                        \
    BOTH("is_u32_" T, "rows of 4096", index_select, {type, 4096}),             \
        BOTH("is_u32_" T, "rows of 128", index_select, {type, 128}),           \
        BOTH("is_u32_" T, "rows of 1", index_select, {type, 1, 0, 1 << 24}),   \
        BOTH("is_u32_" T, "512 rows of 4096", index_select,                    \
             {type, 4096, 0, 1 << 21})
#define GATHER(T, type)                                                        \
    BOTH("gather_u32_" T, "whole rows of 4096", gather,                        \
         {type, 4096, 1, 1 << 26}),                                            \
        BOTH("gather_u32_" T, "right 4096", gather, {type, 4096, 0, 1 << 26}), \
        BOTH("gather_u32_" T, "right 1, 128 a row", gather,                    \
             {type, 1, 0, 1 << 26, 1 << 19}),                                  \
        BOTH("gather_u32_" T, "right 1, 65536 a row", gather,                  \
             {type, 1, 0, 1 << 26, 1 << 10})
#define WRITES(symbol, T, type, prepare)                                       \
    BOTH(symbol "_u32_" T, "right 1024", prepare, {type, 1024}),               \
        BOTH(symbol "_u32_" T, "right 1", prepare, {type, 1}),                 \
        BOTH(symbol "_u32_" T, "4096 columns", prepare,                        \
             {type, 4096, 0, 1 << 20})

const struct bench_row bench_indexing[] = {
    SELECT("f32", BENCH_F32),
    SELECT("f16", BENCH_F16),
    SELECT("u8", BENCH_U8),
    GATHER("f32", BENCH_F32),
    GATHER("f16", BENCH_F16),
    GATHER("u8", BENCH_U8),
    WRITES("ia", "f32", BENCH_F32, index_add),
    WRITES("ia", "f16", BENCH_F16, index_add),
    WRITES("ia", "u8", BENCH_U8, index_add),
    WRITES("s", "f32", BENCH_F32, scatter),
    WRITES("s", "f16", BENCH_F16, scatter),
    WRITES("sa", "f32", BENCH_F32, scatter),
    WRITES("sa", "f16", BENCH_F16, scatter),
    {0},
};
