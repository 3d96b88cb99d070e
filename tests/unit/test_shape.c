/* test_shape.c - whose rows of launch shapes count on a device; the shapes
 * themselves are in test_table.c */
#include "shape.h"
#include "unit_checks.h"

/* A module with one table of launch shapes,
 *
 *   kernel,target,block_x,shared_nbytes
 *   k,sm_80,256,3
 *   k,sm_86,256,2
 *   k,sm_90,256,5
 *   k,sm_90,256,1
 *   k,compute_90,256,4
 *   k,sm_100,256,4
 *   k,gfx942,256,0
 *   k,,256,0
 *
 * and a code object of each target of a case.
 */
static const char strings[] =
    "\0k\0block_x\0shared_nbytes\0sm_80\0sm_86\0sm_90\0compute_90\0sm_100\0"
    "gfx942\0grid_x_each\0min_n\0n_multiple\0"
    "min_columns\0max_columns\0block_y";

/* Where a string begins among them. */
static uint32_t at(const char *text)
{
    uint32_t offset = 1;

    while (strcmp(strings + offset, text) != 0) {
        offset += (uint32_t)strlen(strings + offset) + 1;
        assert_true(offset < sizeof(strings));
    }
    return offset;
}

static const struct {
    const char *target;
    int64_t shared;
} rows[] = {{"sm_80", 3},      {"sm_86", 2},  {"sm_90", 5},  {"sm_90", 1},
            {"compute_90", 4}, {"sm_100", 4}, {"gfx942", 0}, {"", 0}};
enum { NROWS = sizeof(rows) / sizeof(rows[0]), NCOLUMNS = 2 };

enum { NO_CODE = -1 };

static const struct rows_case {
    const char *device;
    const char *code; /* target of the module's code */
    const char *wanted;
    int64_t shared; /* first row's shared memory; NO_CODE: no code runs there */
} cases[] = {
    {NULL, "gfx942", NULL, NO_CODE},
    {"gfx942:xnack-", "gfx9-4-generic", "gfx942:xnack-", 0},
    {"sm_90", "sm_90", "sm_90", 5},
    {"sm_90", "sm_90a", "sm_90", 5},
    {"sm_90", "compute_90a", "sm_90", 5},
    {"sm_90", "compute_90", "compute_90", 4},
    {"sm_90", "compute_80", "sm_80", 3},
    {"sm_90", "compute_75", "compute_75", 0}, /* the rows of any target */
    {"sm_86", "sm_80", "sm_86", 2},           /* three do not fit */
    {"sm_89", "sm_80", "sm_80", 3},           /* no limit is known */
    {"sm_103", "sm_100f", "sm_100", 4},
    {"sm_103", "compute_100f", "sm_100", 4},
    {"sm_120", "gfx942", "sm_120", NO_CODE}, /* no code: the device's name */
    {"sm_90a", "gfx942", "sm_90", NO_CODE},  /* a target without a GPU */
    {"compute_90a", "gfx942", "sm_90", NO_CODE}, /* the same */
};

/* By kpk_kernel_shape(), of the first kernel as it runs on the device. The rows
 * that were found on opening give what a search gives. */
static uint32_t shared_of_shape(const kpk_module *module, const char *device)
{
    kpk_instance inst = {0};
    struct kpk_i_slot slot = {.module = module, .fits = true};
    kpk_kernel kernel = {.inst = &inst, .slot = &slot, .desc = module->kernels};
    kpk_shape searched, shape;

    slot.kernels = &kernel;
    (void)snprintf(inst.device.target, sizeof(inst.device.target), "%s",
                   device);
    assert_int_equal(kpk_kernel_shape(&kernel, 1, 0, &searched), KPK_OK);
    kpk_i_find_shapes(&slot, device);
    assert_true(kernel.rows != 0);
    assert_int_equal(kpk_kernel_shape(&kernel, 1, 0, &shape), KPK_OK);
    assert_memory_equal(&shape, &searched, sizeof(shape));
    return shape.shared_nbytes;
}

static void test_rows_are_those_of_the_code_that_runs(void **state)
{
    struct kpk_column columns[NCOLUMNS] = {{at("block_x"), KPK_CELL_INT},
                                           {at("shared_nbytes"), KPK_CELL_INT}};
    const struct kpk_kernel_desc kernel = {at("k"), 0, 0, 0};
    union kpk_cell_data cells[NROWS * NCOLUMNS];
    struct kpk_row_key keys[NROWS];
    const struct kpk_table table = {at("k"), NCOLUMNS, NROWS, columns,
                                    keys,    cells,    NULL,  NULL};
    struct kpk_module module = {.format = KPK_FORMAT_VERSION,
                                .name = at("k"),
                                .kernels = &kernel,
                                .nkernels = 1,
                                .nobjects = 1,
                                .tables = &table,
                                .ntables = 1};

    (void)state;
    for (size_t i = 0; i < NROWS; i++) {
        keys[i] = (struct kpk_row_key){
            0, rows[i].target[0] ? at(rows[i].target) : 0, 0};
        cells[i * NCOLUMNS].i = 256;
        cells[i * NCOLUMNS + 1].i = rows[i].shared;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[sizeof(strings) + 16], name[KPK_I_SM_NBYTES];
        const struct kpk_blob blob = {.nbytes = 1};
        const struct kpk_code_object object = {.target = sizeof(strings),
                                               .blob = &blob};
        const char *got;

        memcpy(text, strings, sizeof(strings));
        (void)snprintf(text + sizeof(strings), 16, "%s", cases[i].code);
        module.strings = text;
        module.objects = &object;
        (void)kpk_select(&module, "?", NULL);
        got = kpk_i_target_of_rows(&module, cases[i].device, name);
        assert_message("out is NULL"); /* it is no failure to have no code */
        if (!cases[i].wanted)
            assert_null(got);
        else
            assert_string_equal(got, cases[i].wanted);
        if (cases[i].shared != NO_CODE)
            assert_int_equal(shared_of_shape(&module, cases[i].device),
                             cases[i].shared);
    }
    module.strings = strings;
    module.nobjects = module.ntables = 0; /* no rows: nothing to choose */
    assert_string_equal(kpk_i_target_of_rows(&module, "sm_90", NULL), "sm_90");
}

/* An instance has a bit for each of a kernel's first 64 rows. */
static void test_rows_beyond_the_64th_count_too(void **state)
{
    enum { MANY_ROWS = 70 };
    const struct kpk_column columns[] = {{at("block_x"), KPK_CELL_INT},
                                         {at("min_n"), KPK_CELL_INT}};
    const struct kpk_kernel_desc desc = {at("k"), 0, 0, 0};
    const struct kpk_blob blob = {.nbytes = 1};
    const struct kpk_code_object object = {.target = at("gfx942"),
                                           .blob = &blob};
    static const struct kpk_row_key keys[MANY_ROWS];
    union kpk_cell_data cells[2 * MANY_ROWS];
    const struct kpk_table table = {at("k"), 2,     MANY_ROWS, columns,
                                    keys,    cells, NULL,      NULL};
    const struct kpk_module module = {.format = KPK_FORMAT_VERSION,
                                      .name = at("k"),
                                      .strings = strings,
                                      .kernels = &desc,
                                      .nkernels = 1,
                                      .objects = &object,
                                      .nobjects = 1,
                                      .tables = &table,
                                      .ntables = 1};
    kpk_instance inst = {.device = {.target = "gfx942"}};
    struct kpk_i_slot slot = {.module = &module, .fits = true};
    kpk_kernel kernel = {.inst = &inst, .slot = &slot, .desc = &desc};
    kpk_shape shape;

    (void)state;
    for (int i = 0; i < MANY_ROWS; i++) {
        cells[2 * i].i = 100 + i;
        cells[2 * i + 1].i = MANY_ROWS - 1 - i;
    }
    slot.kernels = &kernel;
    kpk_i_find_shapes(&slot, inst.device.target);
    for (uint32_t n = 0; n < MANY_ROWS; n++) {
        assert_ok(kpk_kernel_shape(&kernel, n, 0, &shape));
        assert_int_equal(shape.block[0], 100 + MANY_ROWS - 1 - n);
    }
}

/* Kernel k's shape for n, of three rows: block_x,grid_x_each and a third
 * column of that name. */
static kpk_status shape_by_rows(const char *third,
                                const union kpk_cell_data cells[9], uint64_t n,
                                kpk_shape *out)
{
    const struct kpk_column columns[] = {{at("block_x"), KPK_CELL_INT},
                                         {at("grid_x_each"), KPK_CELL_INT},
                                         {at(third), KPK_CELL_INT}};
    const struct kpk_kernel_desc kernel = {at("k"), 0, 0, 0};
    const struct kpk_row_key keys[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    const struct kpk_table table = {at("k"), 3,     3,    columns,
                                    keys,    cells, NULL, NULL};
    const struct kpk_module module = {.format = KPK_FORMAT_VERSION,
                                      .name = at("k"),
                                      .strings = strings,
                                      .kernels = &kernel,
                                      .nkernels = 1,
                                      .tables = &table,
                                      .ntables = 1};

    return kpk_module_shape(&module, 0, NULL, n, 0, out);
}

static uint32_t blocks_by_rows(const char *third,
                               const union kpk_cell_data cells[9], uint64_t n)
{
    kpk_shape shape;

    assert_ok(shape_by_rows(third, cells, n, &shape));
    return shape.grid[0];
}

static void test_row_is_for_no_fewer_than_min_n(void **state)
{
    const union kpk_cell_data cells[] = {{.i = 256}, {.i = 8}, {.i = 4096},
                                         {.i = 256}, {.i = 2}, {.i = 1000},
                                         {.i = 256}, {.i = 1}, {.i = 0}};
    static const uint32_t n_and_blocks[][2] = {
        {0, 1},      {1, 1},       {999, 999},  {1000, 500},
        {1001, 501}, {4095, 2048}, {4096, 512}, {14337, 1793}};

    (void)state;
    for (size_t i = 0; i < sizeof(n_and_blocks) / sizeof(n_and_blocks[0]); i++)
        assert_int_equal(blocks_by_rows("min_n", cells, n_and_blocks[i][0]),
                         n_and_blocks[i][1]);
}

static void test_row_is_for_multiples_of_n_multiple(void **state)
{
    const union kpk_cell_data cells[] = {{.i = 256}, {.i = 8}, {.i = 8},
                                         {.i = 256}, {.i = 2}, {.i = 2},
                                         {.i = 256}, {.i = 1}, {.i = 1}};
    static const uint32_t n_and_blocks[][2] = {
        {1, 1}, {2, 1}, {7, 7}, {8, 1}, {9, 9}, {10, 5}, {16, 2}, {1000, 125}};

    (void)state;
    for (size_t i = 0; i < sizeof(n_and_blocks) / sizeof(n_and_blocks[0]); i++)
        assert_int_equal(
            blocks_by_rows("n_multiple", cells, n_and_blocks[i][0]),
            n_and_blocks[i][1]);
}

/* Cells have 64 bits, and are compared with unsigned numbers. */
static void test_numbers_that_no_launch_has_are_refused(void **state)
{
    const int64_t more = INT64_C(0x100000040);
    const struct {
        const char *third;
        int64_t block, cell;
        kpk_status st;
        const char *says;
    } tried[] = {
        {"min_n", 64, 0, KPK_OK, NULL},
        {"min_n", 0xffffffff, 0, KPK_OK, NULL},
        {"min_n", more, 0, KPK_ERR_SHAPE, "k: block_x is 4294967360 in its"},
        {"min_n", -1, 0, KPK_ERR_SHAPE, "k: block_x is -1 in its row of"},
        {"block_y", 64, more, KPK_ERR_SHAPE, "k: block_y is 4294967360"},
        {"shared_nbytes", 64, more, KPK_ERR_SHAPE, "shared_nbytes is 42949"},
        {"shared_nbytes", 64, -1, KPK_ERR_SHAPE, "k: shared_nbytes is -1"},
        {"min_n", 64, -1, KPK_OK, NULL},
        {"min_columns", 64, -1, KPK_OK, NULL},
        {"max_columns", 64, -1, KPK_ERR_NO_ROW, "recommends no launch shape"},
        {"n_multiple", 64, -1, KPK_OK, NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
        union kpk_cell_data cells[9];
        kpk_shape shape = {{7, 7, 7}, {7, 7, 7}, 7};

        for (int row = 0; row < 9; row += 3) {
            cells[row].i = tried[i].block;
            cells[row + 1].i = 1;
            cells[row + 2].i = tried[i].cell;
        }
        assert_status(shape_by_rows(tried[i].third, cells, 1, &shape),
                      tried[i].st);
        if (tried[i].says)
            assert_message(tried[i].says);
        assert_true((shape.grid[0] == 7) == (tried[i].st != KPK_OK));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_those_of_the_code_that_runs),
        cmocka_unit_test(test_rows_beyond_the_64th_count_too),
        cmocka_unit_test(test_row_is_for_no_fewer_than_min_n),
        cmocka_unit_test(test_row_is_for_multiples_of_n_multiple),
        cmocka_unit_test(test_numbers_that_no_launch_has_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
