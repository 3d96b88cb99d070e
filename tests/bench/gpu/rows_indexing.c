/* rows_indexing.c - index_select, gather, index_add, scatter */
#include "bench.h"

#include <stdlib.h>

#define N (UINT64_C(1) << 28)

/* p[0]: type; p[1]: size of the inner dimensions (right); p[2]: 1 for ids that
 * are the same along a row. */

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
    const uint64_t right = (uint64_t)row->p[1], n = N / right;
    const uint64_t info[] = {n, 1};

    l->grid[0] = (unsigned)(N / 1024);
    l->block[0] = 1024;
    bench_arg(l, N);
    bench_arg(l, 1);
    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, upload_ids(n, (uint32_t)n, 1));
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_empty(N * bench_size(type)));
    bench_arg(l, 1);
    bench_arg(l, n);
    bench_arg(l, n);
    bench_arg(l, right);
    l->nbytes = (double)(2 * N * bench_size(type) + 4 * n);
}

static void gather(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], n = N / right;

    l->grid[0] = (unsigned)(N / 1024);
    l->block[0] = 1024;
    bench_arg(l, N);
    bench_arg(l, upload_ids(N, (uint32_t)n, row->p[2] ? right : 1));
    bench_arg(l, bench_random(type, N));
    bench_arg(l, bench_empty(N * bench_size(type)));
    bench_arg(l, 1);
    bench_arg(l, n);
    bench_arg(l, n);
    bench_arg(l, right);
    l->nbytes = (double)(N * (2 * bench_size(type) + 4));
}

/* left = 1024 * 1024 / right columns of 256 sources into 256 rows. */
static void index_add(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], ids = 256;
    const uint64_t left = N / 4 / right / ids;

    l->grid[0] = (unsigned)(left * right / 1024);
    l->block[0] = 1024;
    bench_arg(l, upload_ids(ids, (uint32_t)ids, 1));
    bench_arg(l, ids);
    bench_arg(l, bench_random(type, N / 4));
    bench_arg(l, bench_random(type, N / 4));
    bench_arg(l, left);
    bench_arg(l, ids);
    bench_arg(l, ids);
    bench_arg(l, right);
    l->nbytes = 0.75 * (double)(N * bench_size(type));
}

static void scatter(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t right = (uint64_t)row->p[1], dim = 256;
    const uint64_t left = N / 4 / right / dim;

    l->grid[0] = (unsigned)(left * right / 1024);
    l->block[0] = 1024;
    bench_arg(l, upload_ids(N / 4, (uint32_t)dim, 1));
    bench_arg(l, bench_random(type, N / 4));
    bench_arg(l, bench_random(type, N / 4));
    bench_arg(l, left);
    bench_arg(l, dim);
    bench_arg(l, dim);
    bench_arg(l, right);
    l->nbytes = 0.25 * (double)(N * (2 * bench_size(type) + 4));
}

const struct bench_row bench_indexing[] = {
    {"indexing", "is_u32_f32", "rows of 4096", index_select, {BENCH_F32, 4096}},
    {"indexing", "is_u32_f32", "rows of 128", index_select, {BENCH_F32, 128}},
    {"indexing", "is_u32_f16", "rows of 4096", index_select, {BENCH_F16, 4096}},
    {"indexing", "is_u32_u8", "rows of 4096", index_select, {BENCH_U8, 4096}},
    {"indexing",
     "gather_u32_f32",
     "whole rows of 4096",
     gather,
     {BENCH_F32, 4096, 1}},
    {"indexing", "gather_u32_f32", "right 4096", gather, {BENCH_F32, 4096}},
    {"indexing",
     "gather_u32_f16",
     "whole rows of 4096",
     gather,
     {BENCH_F16, 4096, 1}},
    {"indexing", "gather_u32_f16", "right 4096", gather, {BENCH_F16, 4096}},
    {"indexing", "ia_u32_f32", "right 1024", index_add, {BENCH_F32, 1024}},
    {"indexing", "ia_u32_f16", "right 1024", index_add, {BENCH_F16, 1024}},
    {"indexing", "sa_u32_f32", "right 1024", scatter, {BENCH_F32, 1024}},
    {"indexing", "s_u32_f32", "right 1024", scatter, {BENCH_F32, 1024}},
    {0},
};
