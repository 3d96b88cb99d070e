/* table_bench.c - how long kpk_table_select() takes over 500 rows
 *
 * The table is like those of inference stacks: a GEMM with a kernel for each
 * tile, on two processors. Queries do not name the kernel, so the search looks
 * at every row. It runs with the index that a pack has, and without.
 */
#include "kpack.h"
#include "kpack/format.h"
#include "plain_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NROWS = 500, NCOLUMNS = 8, REPEATS = 100, ROUNDS = 3000 };
enum { TILE_M, TILE_N, PRESHUFFLE, SPLIT_K, SUB_K, BIAS, DTYPE, SPEED };

static char strings[64 * 1024];
static uint32_t strings_nbytes = 1;

static uint32_t add_string(const char *text)
{
    const uint32_t at = strings_nbytes;
    const size_t n = strlen(text) + 1;

    memcpy(strings + at, text, n);
    strings_nbytes += (uint32_t)n;
    return at;
}

static struct kpk_kernel_desc kernels[NROWS];
static struct kpk_row_key keys[NROWS];
static union kpk_cell_data cells[NROWS][NCOLUMNS];
static struct kpk_column columns[NCOLUMNS];
static struct kpk_table table;
static struct kpk_module module;

static uint16_t codes[8 * (NCOLUMNS + 1) * KPK_GROUP_NROWS];
static uint32_t values[NROWS * (NCOLUMNS + 1)];
static uint32_t first[NCOLUMNS + 2];
static const struct kpk_table_index table_index = {codes, values, first};

static void make_table(void)
{
    static const char *const names[NCOLUMNS] = {
        "tileM", "tileN", "bPreshuffle", "splitK",
        "subK",  "bias",  "dtype",       "speed"};
    static const char *const types[2] = {"bf16", "fp32"};
    static const char *const targets[2] = {"gfx942", "gfx950"};
    static const int tiles[6] = {32, 48, 64, 96, 128, 256};
    uint32_t type_at[2], target_at[2];

    for (int i = 0; i < 2; i++) {
        type_at[i] = add_string(types[i]);
        target_at[i] = add_string(targets[i]);
    }
    for (int i = 0; i < NCOLUMNS; i++)
        columns[i] = (struct kpk_column){add_string(names[i]),
                                         i == DTYPE   ? KPK_CELL_STRING
                                         : i == SPEED ? KPK_CELL_FLOAT
                                                      : KPK_CELL_INT};
    for (int r = 0; r < NROWS; r++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "gemm_%04d", r / 2);
        kernels[r].name = add_string(name);
        keys[r].kernel = (uint32_t)r / 2;
        keys[r].target = target_at[r % 2];
        cells[r][TILE_M].i = tiles[r / 2 % 6];
        cells[r][TILE_N].i = tiles[r / 12 % 6];
        cells[r][PRESHUFFLE].i = r / 72 % 2;
        cells[r][SPLIT_K].i = r / 144 % 2;
        cells[r][SUB_K].i = 64;
        cells[r][BIAS].i = r % 7 != 0;
        cells[r][DTYPE].s = type_at[r / 2 % 2];
        cells[r][SPEED].f = r * 0.25;
    }
    table = (struct kpk_table){.name = columns[0].name,
                               .ncolumns = NCOLUMNS,
                               .nrows = NROWS,
                               .columns = columns,
                               .keys = keys,
                               .cells = &cells[0][0]};
    plain_index(strings, &table, codes, values, first);
    module = (struct kpk_module){.format = KPK_FORMAT_VERSION,
                                 .strings = strings,
                                 .kernels = kernels,
                                 .nkernels = NROWS,
                                 .tables = &table,
                                 .ntables = 1};
}

/* Fewest rounds over 304 compute units, then the least rows beyond M. */
static double rounds(size_t row, const kpk_number *row_cells, void *context)
{
    const int32_t *mn = context;
    const int32_t m = (int32_t)row_cells[TILE_M].i;
    const int32_t n = (int32_t)row_cells[TILE_N].i;
    const int32_t tiles_m = (mn[0] + m - 1) / m;
    const int32_t tiles = tiles_m * (mn[1] / n);
    const int32_t rounds_taken = (tiles + 303) / 304;

    (void)row;
    return rounds_taken * 1e6 + (tiles_m * m - mn[0]);
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Nanoseconds of one selection, the best of several rounds. */
static double measure(const kpk_query *query)
{
    double best = 1e300;
    size_t row = 0;

    for (int round = 0; round < ROUNDS; round++) {
        const double begin = seconds();

        for (int i = 0; i < REPEATS; i++) {
            if (kpk_table_select(&module, 0, query, &row)) {
                (void)fprintf(stderr, "%s\n", kpk_error_message());
                exit(1);
            }
        }
        if (seconds() - begin < best)
            best = seconds() - begin;
    }
    return best / REPEATS * 1e9;
}

int main(void)
{
    static int32_t mn[2] = {1000, 4096};
    const kpk_condition conditions[] = {{TILE_N, KPK_DIVIDES, 4096, NULL},
                                        {PRESHUFFLE, KPK_EQUAL, 0, NULL},
                                        {BIAS, KPK_AT_LEAST, 1, NULL},
                                        {SPLIT_K, KPK_EQUAL, 0, NULL},
                                        {DTYPE, KPK_EQUAL, 0, "bf16"}};
    const struct {
        const char *what;
        kpk_query query;
    } rows[] = {
        {"a GEMM tile: 5 conditions and a cost, on gfx942",
         {NULL, "gfx942:sramecc+:xnack-", conditions, 5, rounds, mn}},
        {"the same on any processor", {NULL, NULL, conditions, 5, rounds, mn}},
        {"a cost for every row", {NULL, NULL, NULL, 0, rounds, mn}},
        {"one kernel of the table",
         {"gemm_0120", "gfx942", conditions, 0, NULL, NULL}},
    };

    make_table();
    for (int indexed = 1; indexed >= 0; indexed--) {
        table.index = indexed ? &table_index : NULL;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            printf("%-50s %-10s %8.0f ns\n", rows[i].what,
                   indexed ? "index" : "no index", measure(&rows[i].query));
    }
    return 0;
}
