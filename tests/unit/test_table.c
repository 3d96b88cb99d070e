/* test_table.c - configuration tables: walking, selecting, launch shapes */
#include "unit_checks.h"

#include "kpack/format.h"
#include "plain_index.h"
#include "table.h"

#include <math.h>
#include <string.h>

/* A module of two kernels with one table of GEMM tiles and launch shapes:
 *
 *   kernel,target,block_x,grid_x_each,min_columns,max_columns,tile_n,cost,kind,
 *       grid_x_loops,grid_y_each
 *   gemm,,256,1024,0,99,64,1.5,wide,0,0      row 0
 *   gemm,gfx942,512,2048,0,99,128,0.5,wide,0,0
 *   gemm,,128,512,100,200000,96,2.5,tall,0,2   row 2
 *   other,,64,64,0,99,32,9.0,tall,1,0
 */
static const char strings[] = "\0m\0gemm\0other\0gfx942\0block_x\0grid_x_each\0"
                              "min_columns\0max_columns\0tile_n\0cost\0kind\0"
                              "wide\0tall\0grid_x_loops\0grid_y_each\0gfx1*";
enum {
    S_M = 1,
    S_GEMM = 3,
    S_OTHER = 8,
    S_GFX942 = 14,
    S_BLOCK = 21,
    S_EACH = 29,
    S_MIN = 41,
    S_MAX = 53,
    S_TILE = 65,
    S_COST = 72,
    S_KIND = 77,
    S_WIDE = 82,
    S_TALL = 87,
    S_LOOPS = 92,
    S_EACH_Y = 105,
    S_GFX1 = 117
};

static const struct kpk_kernel_desc kernels[] = {{S_GEMM, 0, 0, 0},
                                                 {S_OTHER, 0, 0, 0}};
static const struct kpk_column columns[] = {
    {S_BLOCK, KPK_CELL_INT},   {S_EACH, KPK_CELL_INT},
    {S_MIN, KPK_CELL_INT},     {S_MAX, KPK_CELL_INT},
    {S_TILE, KPK_CELL_INT},    {S_COST, KPK_CELL_FLOAT},
    {S_KIND, KPK_CELL_STRING}, {S_LOOPS, KPK_CELL_INT},
    {S_EACH_Y, KPK_CELL_INT}};
enum { BLOCK, EACH, MIN, MAX, TILE, COST, KIND, LOOPS, EACH_Y, NCOLUMNS };
static const struct kpk_row_key keys[] = {
    {0, 0, 0}, {0, S_GFX942, 0}, {0, 0, 0}, {1, 0, 0}};
#define ROW(block, each, min, max, tile, cost, kind, loops, each_y)            \
    {.i = (block)}, {.i = (each)}, {.i = (min)}, {.i = (max)}, {.i = (tile)},  \
        {.f = (cost)}, {.s = (kind)}, {.i = (loops)},                          \
    {                                                                          \
        .i = (each_y)                                                          \
    }
static const union kpk_cell_data cells[] = {
    ROW(256, 1024, 0, 99, 64, 1.5, S_WIDE, 0, 0),
    ROW(512, 2048, 0, 99, 128, 0.5, S_WIDE, 0, 0),
    ROW(128, 512, 100, 200000, 96, 2.5, S_TALL, 0, 2),
    ROW(64, 64, 0, 99, 32, 9.0, S_TALL, 1, 0)};
static const struct kpk_table tables[] = {
    {S_M, NCOLUMNS, 4, columns, keys, cells, NULL, NULL}};
static const struct kpk_module module = {.format = KPK_FORMAT_VERSION,
                                         .name = S_M,
                                         .strings = strings,
                                         .kernels = kernels,
                                         .nkernels = 2,
                                         .tables = tables,
                                         .ntables = 1};

static void test_strings_of_the_test_stand_where_it_says(void **state)
{
    (void)state;
    assert_string_equal(strings + S_KIND, "kind");
    assert_string_equal(strings + S_TALL, "tall");
    assert_string_equal(strings + S_LOOPS, "grid_x_loops");
    assert_string_equal(strings + S_EACH_Y, "grid_y_each");
    assert_string_equal(strings + S_GFX1, "gfx1*");
}

static void test_table_is_found_by_name(void **state)
{
    kpk_table_decl decl;
    size_t t = 9;

    (void)state;
    assert_int_equal(kpk_module_table_count(&module), 1);
    assert_int_equal(kpk_module_find_table(&module, "m", &t), KPK_OK);
    assert_int_equal(t, 0);
    assert_int_equal(kpk_module_table(&module, 0, &decl), KPK_OK);
    assert_string_equal(decl.name, "m");
    assert_int_equal(decl.nrows, 4);
    assert_int_equal(decl.ncolumns, NCOLUMNS);
    assert_int_equal(kpk_module_find_table(&module, "no", &t), KPK_ERR_NO_ROW);
    assert_non_null(strstr(kpk_error_message(), "\"no\""));
}

static void test_cells_have_the_type_of_their_column(void **state)
{
    kpk_column_decl column;
    const kpk_number *numbers;
    kpk_cell cell;
    kpk_row row;
    size_t c;

    (void)state;
    assert_int_equal(kpk_table_find_column(&module, 0, "cost", &c), KPK_OK);
    assert_int_equal(c, COST);
    assert_int_equal(kpk_table_column(&module, 0, c, &column), KPK_OK);
    assert_int_equal(column.type, KPK_TYPE_FLOAT);
    assert_int_equal(kpk_table_cell(&module, 0, 2, COST, &cell), KPK_OK);
    assert_true(cell.f == 2.5 && cell.i == 0);
    assert_int_equal(kpk_table_cell(&module, 0, 1, BLOCK, &cell), KPK_OK);
    assert_true(cell.i == 512 && cell.f == 512.0);
    assert_int_equal(kpk_table_cell(&module, 0, 3, KIND, &cell), KPK_OK);
    assert_string_equal(cell.s, "tall");
    assert_int_equal(kpk_table_numbers(&module, 0, 2, &numbers), KPK_OK);
    assert_true(numbers[COST].f == 2.5 && numbers[MAX].i == 200000);
    assert_int_equal(kpk_table_row(&module, 0, 1, &row), KPK_OK);
    assert_string_equal(row.kernel, "gemm");
    assert_string_equal(row.target, "gfx942");
}

static void test_numbers_out_of_range_are_refused(void **state)
{
    kpk_column_decl column;
    kpk_table_decl decl;
    const kpk_number *numbers;
    kpk_cell cell;
    kpk_row row;
    size_t c = 7;

    (void)state;
    assert_int_equal(kpk_module_table(&module, 1, &decl), KPK_ERR_ARG);
    assert_int_equal(kpk_table_column(&module, 0, NCOLUMNS, &column),
                     KPK_ERR_ARG);
    assert_int_equal(kpk_table_row(&module, 0, 4, &row), KPK_ERR_ARG);
    assert_int_equal(kpk_table_numbers(&module, 0, 4, &numbers), KPK_ERR_ARG);
    assert_int_equal(kpk_table_numbers(&module, 0, 0, NULL), KPK_ERR_ARG);
    assert_int_equal(kpk_table_cell(&module, 0, 0, NCOLUMNS, &cell),
                     KPK_ERR_ARG);
    assert_int_equal(kpk_table_find_column(&module, 0, "x", &c),
                     KPK_ERR_NO_ROW);
    assert_int_equal(c, 7);
}

static const struct select_case {
    const char *kernel, *target;
    kpk_condition condition;
    int row; /* -1: none */
} select_cases[] = {
    /* clang-format off */
    /* kernel   target             column  op            value         row */
    {"gemm",    NULL,             {TILE,   KPK_DIVIDES,  192, NULL},    0},
    {"gemm",    NULL,             {TILE,   KPK_DIVIDES,  256, NULL},    0},
    {"gemm",    NULL,             {TILE,   KPK_EQUAL,    128, NULL},    1},
    {"gemm",    "gfx942:xnack-",  {TILE,   KPK_AT_LEAST, 100, NULL},    1},
    {"gemm",    "gfx90a:xnack-",  {TILE,   KPK_AT_LEAST, 100, NULL},   -1},
    {"gemm",    "gfx9420",        {TILE,   KPK_AT_LEAST, 100, NULL},   -1},
    {"gemm",    NULL,             {TILE,   KPK_AT_MOST,  63,  NULL},   -1},
    {NULL,      NULL,             {TILE,   KPK_AT_MOST,  63,  NULL},    3},
    {NULL,      NULL,             {KIND,   KPK_EQUAL,    0,   "tall"},  2},
    {NULL,      NULL,             {KIND,   KPK_AT_LEAST, 0,   "tall"}, -1},
    {NULL,      NULL,             {COST,   KPK_AT_LEAST, 2,   NULL},    2},
    {"other",   NULL,             {COST,   KPK_AT_MOST,  9,   NULL},    3},
    /* clang-format on */
};

static void test_select_finds_the_row_that_meets_conditions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(select_cases) / sizeof(select_cases[0]);
         i++) {
        const struct select_case *c = &select_cases[i];
        const kpk_query query = {.kernel = c->kernel,
                                 .target = c->target,
                                 .conditions = &c->condition,
                                 .nconditions = 1};
        size_t row = 77;
        kpk_status st = kpk_table_select(&module, 0, &query, &row);

        if ((c->row < 0 && st == KPK_ERR_NO_ROW && row == 77) ||
            (st == KPK_OK && (int)row == c->row))
            continue;
        fail_msg("case %zu: want row %d, got %zu, %s", i, c->row, row,
                 kpk_status_name(st));
    }
}

static double by_cost(size_t row, const kpk_number *cells_of_row, void *context)
{
    (*(int *)context)++;
    assert_true(cells_of_row[TILE].i == cells[row * NCOLUMNS + TILE].i);
    return cells_of_row[COST].f;
}

/* Row number *first costs NaN; a later row costs less. */
static double by_cost_of_some(size_t row, const kpk_number *row_cells,
                              void *first)
{
    (void)row_cells;
    return row == *(const size_t *)first ? NAN : 7 - (double)row;
}

static void test_cost_that_is_no_number_is_not_the_least(void **state)
{
    size_t first = 0;
    kpk_query query = {
        .kernel = "gemm", .cost = by_cost_of_some, .context = &first};
    size_t row;

    (void)state;
    assert_ok(kpk_table_select(&module, 0, &query, &row));
    assert_int_equal(row, 2);
    first = 2; /* the last one */
    assert_ok(kpk_table_select(&module, 0, &query, &row));
    assert_int_equal(row, 1);
}

static void test_select_takes_the_least_cost(void **state)
{
    int asked = 0;
    kpk_query query = {.kernel = "gemm", .cost = by_cost, .context = &asked};
    size_t row;

    (void)state;
    assert_int_equal(kpk_table_select(&module, 0, &query, &row), KPK_OK);
    assert_int_equal(row, 1);
    assert_int_equal(asked, 3);
    query.target = "gfx1100";
    assert_int_equal(kpk_table_select(&module, 0, &query, &row), KPK_OK);
    assert_int_equal(row, 0);
}

/* ---- many rows, against the plainest way to search them ---- */

enum { MANY = 1300, BIG_COLUMNS = 5 };
static union kpk_cell_data many_cells[MANY][BIG_COLUMNS];
static struct kpk_row_key many_keys[MANY];
static const struct kpk_column many_columns[BIG_COLUMNS] = {
    {S_TILE, KPK_CELL_INT},
    {S_MIN, KPK_CELL_INT},
    {S_COST, KPK_CELL_FLOAT},
    {S_KIND, KPK_CELL_STRING},
    {S_MAX, KPK_CELL_INT}};
enum { GROUPS = (MANY + KPK_GROUP_NROWS - 1) / KPK_GROUP_NROWS };
static uint16_t many_codes[GROUPS * (BIG_COLUMNS + 1) * KPK_GROUP_NROWS];
static uint32_t many_values[MANY * (BIG_COLUMNS + 1)];
static uint32_t many_first[BIG_COLUMNS + 2];
static const struct kpk_table_index many_index = {many_codes, many_values,
                                                  many_first};
/* The same with and without an index. */
static const struct kpk_table many_tables[] = {
    {S_M, BIG_COLUMNS, MANY, many_columns, many_keys, &many_cells[0][0], NULL,
     &many_index},
    {S_M, BIG_COLUMNS, MANY, many_columns, many_keys, &many_cells[0][0], NULL,
     NULL}};
static const struct kpk_module many = {.format = KPK_FORMAT_VERSION,
                                       .name = S_M,
                                       .strings = strings,
                                       .kernels = kernels,
                                       .nkernels = 2,
                                       .tables = many_tables,
                                       .ntables = 2};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void fill_many(uint32_t *seed)
{
    static const int64_t odd[] = {0,  -1, -3,        1,         2,    3,
                                  16, 32, INT64_MIN, INT64_MAX, 4096, 48};

    for (int r = 0; r < MANY; r++) {
        many_keys[r].kernel = r >= 900;
        many_keys[r].target = next_random(seed) % 3 ? 0 : S_GFX942;
        many_cells[r][0].i = odd[next_random(seed) % 12];
        many_cells[r][1].i = odd[next_random(seed) % 12];
        many_cells[r][2].f = next_random(seed) % 7 - 3.0;
        many_cells[r][3].s = next_random(seed) % 2 ? S_WIDE : S_TALL;
        /* the divisors of 5040 are more spans than a search keeps */
        many_cells[r][4].i = next_random(seed) % 100;
    }
    plain_index(strings, many_tables, many_codes, many_values, many_first);
}

static int number_holds(kpk_op op, double cell, double value)
{
    return op == KPK_EQUAL      ? cell == value
           : op == KPK_AT_LEAST ? cell >= value
           : op == KPK_AT_MOST  ? cell <= value
                                : 0;
}

static int plain_holds(int row, const kpk_condition *c)
{
    const union kpk_cell_data cell = many_cells[row][c->column];

    switch (c->column) {
    case 2:
        return number_holds(c->op, cell.f, (double)c->i);
    case 3:
        return c->op == KPK_EQUAL && strcmp(strings + cell.s, c->s) == 0;
    default:
        break;
    }
    if (c->op == KPK_DIVIDES)
        return cell.i != 0 && (cell.i == -1 || c->i % cell.i == 0);
    return c->op == KPK_EQUAL      ? cell.i == c->i
           : c->op == KPK_AT_LEAST ? cell.i >= c->i
                                   : cell.i <= c->i;
}

static double many_cost(size_t row, const kpk_number *row_cells, void *context)
{
    (void)context;
    return row_cells[2].f * 1000 + (double)(row * 7919 % 1000);
}

static int plain_select(const kpk_query *query)
{
    int best = -1;
    double least = 0;

    for (int r = 0; r < MANY; r++) {
        const double cost =
            query->cost
                ? many_cost((size_t)r, (const kpk_number *)many_cells[r], NULL)
                : 0;
        int all = (!query->kernel || strcmp(query->kernel, "gemm") == 0
                       ? !query->kernel || r < 900
                       : r >= 900) &&
                  (!query->target || !many_keys[r].target ||
                   strncmp(query->target, "gfx942", 6) == 0);

        for (size_t i = 0; i < query->nconditions; i++)
            all = all && plain_holds(r, &query->conditions[i]);
        if (all && (best < 0 || cost < least)) {
            best = r;
            least = cost;
        }
    }
    return best;
}

static void test_select_agrees_with_a_plain_search_of_many_rows(void **state)
{
    static const char *const kernel_names[] = {NULL, "gemm", "other"};
    static const char *const targets[] = {NULL, "gfx942:xnack-", "gfx90a"};
    static const int64_t asked[] = {0,  1,    16,        96,
                                    -1, 5040, INT64_MIN, INT64_MAX};
    uint32_t seed = 7;
    int nfound = 0;

    (void)state;
    fill_many(&seed);
    for (int i = 0; i < 3000; i++) {
        kpk_condition conditions[5];
        const kpk_query query = {kernel_names[next_random(&seed) % 3],
                                 targets[next_random(&seed) % 3],
                                 conditions,
                                 next_random(&seed) % 6,
                                 i % 2 ? many_cost : NULL,
                                 NULL};
        size_t row = MANY;
        kpk_status st;
        int wanted;

        for (int k = 0; k < 5; k++)
            conditions[k] = (kpk_condition){next_random(&seed) % BIG_COLUMNS,
                                            (kpk_op)(next_random(&seed) % 4),
                                            asked[next_random(&seed) % 8],
                                            k % 2 ? "wide" : "tall"};
        wanted = plain_select(&query);
        st = kpk_table_select(&many, (size_t)i / 2 % 2, &query, &row);
        if (wanted < 0 ? st != KPK_ERR_NO_ROW
                       : st != KPK_OK || row != (size_t)wanted)
            fail_msg("query %d: wanted row %d, got %zu, %s", i, wanted, row,
                     kpk_status_name(st));
        nfound += wanted >= 0;
    }
    assert_true(nfound > 300);
}

static void test_select_refuses_a_column_that_is_not_there(void **state)
{
    const kpk_condition condition = {NCOLUMNS, KPK_EQUAL, 1, NULL};
    const kpk_query query = {.conditions = &condition, .nconditions = 1};
    size_t row;

    (void)state;
    assert_int_equal(kpk_table_select(&module, 0, &query, &row), KPK_ERR_ARG);
    assert_int_equal(kpk_table_select(&module, 0, NULL, &row), KPK_ERR_ARG);
}

static void test_shape_follows_target_and_columns(void **state)
{
    kpk_shape s;

    (void)state;
    assert_int_equal(kpk_module_shape(&module, 0, "gfx1100", 5000, 50, &s),
                     KPK_OK);
    assert_int_equal(s.block[0], 256);
    assert_int_equal(s.grid[0], 5);
    assert_int_equal(s.grid[1], 1);
    assert_int_equal(kpk_module_shape(&module, 0, "gfx1100", 0, 500, &s),
                     KPK_OK);
    assert_int_equal(s.block[0], 128);
    assert_int_equal(s.grid[0], 1);
    assert_int_equal(s.grid[1], 250);
    assert_int_equal(kpk_module_shape(&module, 0, NULL, 1, 200001, &s),
                     KPK_ERR_NO_ROW);
    assert_non_null(strstr(kpk_error_message(), "gemm"));
    assert_int_equal(kpk_module_shape(&module, 2, NULL, 1, 1, &s), KPK_ERR_ARG);
}

static void test_row_is_for_processors_that_begin_as_its_target(void **state)
{
    static const struct kpk_row_key key = {0, S_GFX1, 0};
    static const char *const its[] = {"gfx1030", "gfx1201", "gfx12-generic"};
    static const char *const others[] = {"gfx942:xnack-", "gfx", "sm_120", ""};

    (void)state;
    for (size_t i = 0; i < sizeof(its) / sizeof(its[0]); i++)
        assert_true(kpk_i_for_target(&module, &key, its[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(kpk_i_for_target(&module, &key, others[i]));
    assert_true(kpk_i_for_target(&module, &key, NULL));
}

/* The grid that a kernel needs is one that HIP launches, or it is refused;
 * only kernels that loop get a smaller one. */
static void test_shape_covers_all_or_is_refused(void **state)
{
    /* clang-format off */
    static const struct {
        size_t kernel;
        uint64_t n, columns;
        uint32_t grid[2]; /* 0: refused */
        const char *says;
    } cases[] = {
        /* 2^32 / 256 - 1 blocks of 1024 each */
        {0, 16777215ull * 1024, 0, {16777215, 1}, NULL},
        {0, 16777215ull * 1024 + 1, 0, {0, 0}, "gemm: 17179868161 in x take 16777216 blocks of 256 threads, and HIP launches 16777215 at most"},
        {0, UINT64_MAX, 0, {0, 0}, "18014398509481984 blocks"},
        {0, 1, 131070, {1, 65535}, NULL},
        {0, 1, 131071, {0, 0}, "131071 in y take 65536 blocks of 1 threads, and HIP launches 65535"},
        {1, UINT64_MAX, 0, {67108863, 1}, NULL}, /* loops */
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kpk_shape s = {{7, 7, 7}, {7, 7, 7}, 7};
        const kpk_status st =
            kpk_module_shape(&module, cases[i].kernel, "gfx90a", cases[i].n,
                             cases[i].columns, &s);

        if (cases[i].says) {
            assert_status(st, KPK_ERR_SHAPE);
            assert_message(cases[i].says);
            assert_int_equal(s.grid[0] + s.block[0], 14); /* left alone */
            continue;
        }
        assert_ok(st);
        assert_int_equal(s.grid[0], cases[i].grid[0]);
        assert_int_equal(s.grid[1], cases[i].grid[1]);
        assert_true((uint64_t)s.grid[0] * s.block[0] < UINT64_C(1) << 32);
    }
}

static void test_every_call_refuses_numbers_that_are_too_large(void **state)
{
    const kpk_query query = {.kernel = NULL};
    const kpk_condition condition = {0, KPK_EQUAL, 1, NULL};
    const kpk_query broken = {.nconditions = 1};
    const kpk_query unknown = {
        .kernel = "none", .conditions = &condition, .nconditions = 1};
    kpk_column_decl column;
    const kpk_number *numbers;
    kpk_cell cell;
    size_t at;

    (void)state;
    assert_status(kpk_table_column(&module, 1, 0, &column), KPK_ERR_ARG);
    assert_message("module m has 1 configuration tables, so none has the "
                   "number 1");
    assert_status(kpk_table_find_column(&module, 1, "cost", &at), KPK_ERR_ARG);
    assert_status(kpk_table_numbers(&module, 1, 0, &numbers), KPK_ERR_ARG);
    assert_status(kpk_table_cell(&module, 0, 4, 0, &cell), KPK_ERR_ARG);
    assert_message("table m of module m has 4 rows, so none has the number 4");
    assert_status(kpk_table_select(&module, 1, &query, &at), KPK_ERR_ARG);
    assert_status(kpk_table_select(&module, 0, &broken, &at), KPK_ERR_ARG);
    assert_message("query->conditions is NULL");
    assert_status(kpk_table_select(&module, 0, &unknown, &at),
                  KPK_ERR_NO_KERNEL);
}

/* An operator that is none holds for nothing, as text compared with none. */
static void test_conditions_that_mean_nothing_hold_for_nothing(void **state)
{
    const kpk_condition conditions[] = {{TILE, (kpk_op)9, 64, NULL},
                                        {COST, (kpk_op)9, 1, NULL},
                                        {KIND, KPK_EQUAL, 0, NULL},
                                        {KIND, KPK_AT_MOST, 0, "wide"}};
    uint32_t seed = 3;
    size_t row;

    (void)state;
    fill_many(&seed);
    for (size_t i = 0; i < 4; i++) {
        kpk_condition condition = conditions[i];
        kpk_query query = {.conditions = &condition, .nconditions = 1};

        assert_status(kpk_table_select(&module, 0, &query, &row),
                      KPK_ERR_NO_ROW);
        condition.column = condition.column == TILE   ? 0
                           : condition.column == COST ? 2
                                                      : 3;
        for (size_t t = 0; t < 2; t++)
            assert_status(kpk_table_select(&many, t, &query, &row),
                          KPK_ERR_NO_ROW);
    }
    {
        /* few rows are not worth the index */
        struct kpk_table few = many_tables[0];
        struct kpk_module of_few = many;
        const kpk_query query = {.kernel = NULL};

        few.nrows = 5;
        of_few.tables = &few;
        assert_ok(kpk_table_select(&of_few, 0, &query, &row));
        assert_int_equal(row, 0);
    }
}

/* A row may say how many blocks are the most that a kernel has use for. */
static void test_shape_keeps_to_the_most_blocks_of_its_row(void **state)
{
    enum {
        AT_BLOCK = 1,
        AT_EACH = 9,
        AT_MOST = 21,
        AT_K = 33,
        AT_L = 35,
        AT_M = 37
    };
    static const char words[] = "\0block_x\0grid_x_each\0grid_x_most\0k\0l\0m";
    static const struct kpk_kernel_desc three[] = {
        {AT_K, 0, 0, 0}, {AT_L, 0, 0, 0}, {AT_M, 0, 0, 0}};
    static const struct kpk_column all[] = {{AT_BLOCK, KPK_CELL_INT},
                                            {AT_EACH, KPK_CELL_INT},
                                            {AT_MOST, KPK_CELL_INT}};
    static const struct kpk_row_key rows[] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    static const union kpk_cell_data values[] = {
        {.i = 256}, {.i = 100}, {.i = 7},
        {.i = 256}, {.i = 100}, {.i = 0},
        {.i = 256}, {.i = 100}, {.i = INT64_C(1) << 40}};
    static const struct kpk_table table = {AT_K, 3,      3,    all,
                                           rows, values, NULL, NULL};
    static const struct kpk_module limited = {.format = KPK_FORMAT_VERSION,
                                              .name = AT_K,
                                              .strings = words,
                                              .kernels = three,
                                              .nkernels = 3,
                                              .tables = &table,
                                              .ntables = 1};
    static const struct {
        uint64_t n;
        uint32_t grid; /* grid by the row with a limit */
    } cases[] = {{0, 1},   {1, 1},   {600, 6},
                 {601, 7}, {701, 7}, {UINT64_C(1) << 50, 7}};
    kpk_shape s;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(kpk_module_shape(&limited, 0, NULL, cases[i].n, 0, &s));
        assert_int_equal(s.grid[0], cases[i].grid);
    }
    /* 0 is no limit, nor is more than any grid can have. */
    for (size_t k = 1; k <= 2; k++) {
        assert_ok(kpk_module_shape(&limited, k, NULL, 701, 0, &s));
        assert_int_equal(s.grid[0], 8);
        assert_status(
            kpk_module_shape(&limited, k, NULL, UINT64_C(1) << 50, 0, &s),
            KPK_ERR_SHAPE);
    }
}

/* Tables that are not about shapes, or about others' kernels. */
static void test_shape_is_of_a_table_of_the_modules_own(void **state)
{
    static const struct kpk_column odd_columns[] = {{S_BLOCK, KPK_CELL_STRING}};
    static const struct kpk_column plain_columns[] = {{S_TILE, KPK_CELL_INT}};
    static const struct kpk_row_key odd_keys[] = {{1, S_GFX942, 0}};
    static const union kpk_cell_data odd_cells[] = {{.s = S_WIDE}};
    const struct kpk_table odd_tables[] = {
        {S_M, 1, 1, plain_columns, odd_keys, odd_cells, NULL, NULL},
        {S_M, 1, 1, odd_columns, odd_keys, odd_cells, &module, NULL},
        {S_M, 1, 1, odd_columns, odd_keys, odd_cells, NULL, NULL}};
    static const struct kpk_column ranged_columns[] = {{S_BLOCK, KPK_CELL_INT},
                                                       {S_MIN, KPK_CELL_INT}};
    static const union kpk_cell_data ranged_cells[] = {{.i = 64}, {.i = 10}};
    static const struct kpk_row_key ranged_keys[] = {{1, 0, 0}};
    static const struct kpk_table ranged = {
        S_M, 2, 1, ranged_columns, ranged_keys, ranged_cells, NULL, NULL};
    struct kpk_module odd = module;
    kpk_shape s;

    (void)state;
    odd.tables = odd_tables;
    odd.ntables = 0;
    assert_status(kpk_module_shape(&odd, 1, NULL, 1, 1, &s), KPK_ERR_NO_ROW);
    odd.ntables = 2;
    assert_status(kpk_module_shape(&odd, 1, NULL, 1, 1, &s), KPK_ERR_NO_ROW);
    odd.ntables = 3;
    assert_status(kpk_module_shape(&odd, 0, NULL, 1, 1, &s), KPK_ERR_NO_ROW);
    assert_status(kpk_module_shape(&odd, 1, "gfx90a", 1, 1, &s),
                  KPK_ERR_NO_ROW);
    /* block_x is text, so the block is 0, which every launch refuses */
    assert_ok(kpk_module_shape(&odd, 1, "gfx942", 1, 1, &s));
    assert_int_equal(s.block[0], 0);
    assert_status(kpk_module_shape(&odd, 1, "gfx942", 5, 1, &s), KPK_ERR_SHAPE);
    /* fewer columns than any row covers, and more */
    odd.tables = &ranged;
    odd.ntables = 1;
    assert_status(kpk_module_shape(&odd, 1, NULL, 1, 9, &s), KPK_ERR_NO_ROW);
    assert_ok(kpk_module_shape(&odd, 1, NULL, 1, 10, &s));
    assert_status(kpk_module_shape(&module, 1, NULL, 1, 100, &s),
                  KPK_ERR_NO_ROW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_of_the_test_stand_where_it_says),
        cmocka_unit_test(test_table_is_found_by_name),
        cmocka_unit_test(test_cells_have_the_type_of_their_column),
        cmocka_unit_test(test_numbers_out_of_range_are_refused),
        cmocka_unit_test(test_select_finds_the_row_that_meets_conditions),
        cmocka_unit_test(test_select_takes_the_least_cost),
        cmocka_unit_test(test_cost_that_is_no_number_is_not_the_least),
        cmocka_unit_test(test_select_agrees_with_a_plain_search_of_many_rows),
        cmocka_unit_test(test_select_refuses_a_column_that_is_not_there),
        cmocka_unit_test(test_shape_follows_target_and_columns),
        cmocka_unit_test(test_row_is_for_processors_that_begin_as_its_target),
        cmocka_unit_test(test_shape_covers_all_or_is_refused),
        cmocka_unit_test(test_every_call_refuses_numbers_that_are_too_large),
        cmocka_unit_test(test_conditions_that_mean_nothing_hold_for_nothing),
        cmocka_unit_test(test_shape_keeps_to_the_most_blocks_of_its_row),
        cmocka_unit_test(test_shape_is_of_a_table_of_the_modules_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
