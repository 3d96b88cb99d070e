/* gemm_tile.c - selects a GEMM kernel out of its configuration table */
#include "gemm_tile.h"

/* The table's columns, by number and by name. */
enum { TILE_M, TILE_N, SPLIT_K, SUB_K, BIAS, PRESHUFFLE, NCOLUMNS };
static const char *const names[NCOLUMNS] = {"tileM", "tileN", "splitK",
                                            "subK",  "bias",  "bPreshuffle"};

struct ranking {
    const struct gemm_problem *problem;
    size_t column[NCOLUMNS]; /* columns' numbers in the table */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many workgroups share the K of a tile. */
static int64_t splits_of(const struct ranking *r, const kpk_number *row)
{
    const struct gemm_problem *p = r->problem;
    const int64_t tiles = p->n / row[r->column[TILE_N]].i *
                          ceil_div(p->m, row[r->column[TILE_M]].i);
    const int64_t parts = p->k / row[r->column[SUB_K]].i;
    const int64_t wanted = least(p->compute_units / tiles, least(16, parts));

    if (!row[r->column[SPLIT_K]].i || parts < 2)
        return 1;
    return wanted > 2 ? wanted : 2;
}

/* Less is better: rounds, then rows beyond M, idle units, and small tiles. */
static double cost(size_t number, const kpk_number *row, void *context)
{
    const struct ranking *r = context;
    const struct gemm_problem *p = r->problem;
    const int64_t tile_m = row[r->column[TILE_M]].i;
    const int64_t tile_n = row[r->column[TILE_N]].i;
    const int64_t groups =
        p->n / tile_n * ceil_div(p->m, tile_m) * splits_of(r, row);
    const int64_t rounds = ceil_div(groups, p->compute_units);
    const int64_t beyond = ceil_div(p->m, tile_m) * tile_m - p->m;
    const int64_t idle = rounds * p->compute_units - groups;
    const int64_t efficiency = tile_m * tile_n / (tile_m + tile_n);

    (void)number;
    return (((double)rounds * 256 + (double)beyond) * 4096 + (double)idle) *
               1024 -
           (double)efficiency;
}

kpk_status gemm_select(const kpk_module *kind, const char *target,
                       const struct gemm_problem *problem,
                       struct gemm_choice *out)
{
    struct ranking r = {problem, {0}};
    kpk_condition conditions[4];
    const kpk_query query = {NULL, target, conditions, 4, cost, &r};
    const kpk_number *row;
    kpk_status st = KPK_OK;

    for (int i = 0; i < NCOLUMNS && st == KPK_OK; i++)
        st = kpk_table_find_column(kind, 0, names[i], &r.column[i]);
    conditions[0] =
        (kpk_condition){r.column[TILE_N], KPK_DIVIDES, problem->n, NULL};
    conditions[1] = (kpk_condition){r.column[PRESHUFFLE], KPK_EQUAL, 0, NULL};
    conditions[2] =
        (kpk_condition){r.column[BIAS], KPK_AT_LEAST, problem->bias, NULL};
    conditions[3] =
        (kpk_condition){r.column[SPLIT_K], KPK_AT_MOST, problem->split, NULL};
    if (st == KPK_OK)
        st = kpk_table_select(kind, 0, &query, &out->row);
    if (st == KPK_OK)
        st = kpk_table_numbers(kind, 0, out->row, &row);
    if (st != KPK_OK)
        return st;
    out->tile_m = (uint32_t)row[r.column[TILE_M]].i;
    out->tile_n = (uint32_t)row[r.column[TILE_N]].i;
    out->splits = (uint32_t)splits_of(&r, row);
    return KPK_OK;
}
