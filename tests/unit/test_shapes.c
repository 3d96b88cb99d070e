/* test_shapes.c - every kernel of the pack has a launch shape that it accepts,
 * and none spills registers, be it to memory or to lanes of a VGPR */
#include "unit_checks.h"

#include "kpack/candle.h"
#include "plain_index.h"

#include <stdbool.h>

/* Row lengths that the tables of row kernels tell apart, and the shared memory
 * that every target has. */
static const uint64_t columns[] = {1, 33, 1000, 4096, 100003, 4194304};
static const uint64_t counts[] = {
    0, 1, 1000, 65536, 200000000, UINT64_C(1) << 33, UINT64_C(1) << 40};
enum { LDS_NBYTES = 65536, MOST_IN_Y = 65535 };

/* The row that a shape comes from, found once more: the first one of the
 * kernel whose range has `ncolumns`. */
struct row {
    size_t table, row;
};

static int64_t number(const kpk_module *module, struct row at,
                      const char *column, int64_t missing)
{
    kpk_cell cell;
    size_t c;

    if (kpk_table_find_column(module, at.table, column, &c) != KPK_OK)
        return missing;
    assert_ok(kpk_table_cell(module, at.table, at.row, c, &cell));
    return cell.i;
}

static bool is_nvidia(const char *target)
{
    return strncmp(target, "sm_", 3) == 0 ||
           strncmp(target, "compute_", 8) == 0;
}

/* The first of AMD's: NVIDIA's have rows of their own, with more LDS. */
static const char *amd_target(const kpk_module *module)
{
    kpk_object object;
    size_t i = 0;

    do
        assert_ok(kpk_module_object_info(module, i++, &object));
    while (is_nvidia(object.target));
    return object.target;
}

static struct row find_row(const kpk_module *module, const char *kernel,
                           uint64_t n, uint64_t ncolumns)
{
    struct row at = {0, 0};
    kpk_table_decl table;
    kpk_row row;

    assert_ok(
        kpk_module_find_table(module, kpk_module_name(module), &at.table));
    assert_ok(kpk_module_table(module, at.table, &table));
    for (; at.row < table.nrows; at.row++) {
        assert_ok(kpk_table_row(module, at.table, at.row, &row));
        if (strcmp(row.kernel, kernel) == 0 && !is_nvidia(row.target) &&
            (uint64_t)number(module, at, "min_n", 0) <= n &&
            n % (uint64_t)number(module, at, "n_multiple", 1) == 0 &&
            (uint64_t)number(module, at, "min_columns", 0) <= ncolumns &&
            (uint64_t)number(module, at, "max_columns", INT64_MAX) >= ncolumns)
            return at;
    }
    fail_msg("no row for %s", kernel);
    return at;
}

/* Blocks that cover n; at least one. */
static uint64_t needed(uint64_t n, int64_t each)
{
    const uint64_t blocks =
        each > 0 ? (n + (uint64_t)each - 1) / (uint64_t)each : 1;

    return blocks ? blocks : 1;
}

static void check_one(const kpk_module *module, size_t kernel, uint64_t n,
                      uint64_t ncolumns)
{
    kpk_kernel_decl decl;
    kpk_shape s = {{0}, {0}, 0};
    kpk_status st =
        kpk_module_shape(module, kernel, amd_target(module), n, ncolumns, &s);
    bool named = false;
    struct row at;
    uint64_t x, y, threads, most;
    bool loops, y_loops, launchable;

    assert_ok(kpk_module_kernel(module, kernel, &decl));
    if (st != KPK_OK)
        named = strstr(kpk_error_message(), decl.name) != NULL;
    at = find_row(module, decl.name, n, ncolumns);
    x = needed(n, number(module, at, "grid_x_each", 1));
    most = (uint64_t)number(module, at, "grid_x_most", 0);
    x = most && x > most ? most : x;
    y = needed(ncolumns, number(module, at, "grid_y_each", 0));
    loops = number(module, at, "grid_x_loops", 0) != 0;
    y_loops = number(module, at, "grid_y_loops", 0) != 0;
    launchable = x * (uint64_t)number(module, at, "block_x", 0) <= UINT32_MAX &&
                 x <= INT32_MAX;
    if ((y > MOST_IN_Y && !y_loops) || (!launchable && !loops)) {
        if (st != KPK_ERR_SHAPE || !named)
            fail_msg("%s, n %llu, columns %llu: %s, grid %u x %u", decl.name,
                     (unsigned long long)n, (unsigned long long)ncolumns,
                     kpk_status_name(st), s.grid[0], s.grid[1]);
        return;
    }
    assert_ok(st);
    threads = (uint64_t)s.block[0] * s.block[1];
    y = y > MOST_IN_Y ? MOST_IN_Y : y;
    if ((launchable && s.grid[0] != x) || s.grid[1] != y || s.grid[2] != 1 ||
        s.grid[0] == 0 || (uint64_t)s.grid[0] * s.block[0] > UINT32_MAX ||
        s.block[2] != 1)
        fail_msg("%s, n %llu, columns %llu: grid %u x %u, block %u x %u",
                 decl.name, (unsigned long long)n, (unsigned long long)ncolumns,
                 s.grid[0], s.grid[1], s.block[0], s.block[1]);
    for (size_t o = 0; o < kpk_module_object_count(module); o++) {
        kpk_object object;
        kpk_attrs attrs;

        assert_ok(kpk_module_object_info(module, o, &object));
        assert_ok(kpk_module_attrs(module, kernel, o, &attrs));
        if (is_nvidia(object.target))
            continue;
        if (threads == 0 || threads > attrs.max_block ||
            s.shared_nbytes + attrs.lds_nbytes > LDS_NBYTES)
            fail_msg("%s: block %u x %u of at most %u threads, %u bytes of "
                     "shared memory beside %u",
                     decl.name, s.block[0], s.block[1], attrs.max_block,
                     s.shared_nbytes, attrs.lds_nbytes);
    }
}

static void check_shape(const kpk_module *module, size_t kernel)
{
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
            check_one(module, kernel, counts[k], columns[i]);
}

static bool is_named(const char *kernel, const char *family)
{
    return strncmp(kernel, family, strlen(family)) == 0;
}

/* These learn from the grid alone how many rows there are: softmax.h, norm.h.
 */
static void check_rows_are_exact(const kpk_module *module, size_t kernel,
                                 const char *name, const char *target)
{
    const bool softmax =
        is_named(name, "softmax_f") || is_named(name, "softmax_b");

    if (!softmax && !is_named(name, "rmsnorm_f") &&
        !is_named(name, "rmsnorm_b") && !is_named(name, "layernorm_"))
        return;
    for (uint64_t n = 1; n <= 40; n++)
        for (uint64_t ncolumns = 1; ncolumns < 10000; ncolumns += 61) {
            kpk_shape s;

            assert_ok(
                kpk_module_shape(module, kernel, target, n, ncolumns, &s));
            if (n != (uint64_t)s.grid[0] * s.block[softmax ? 0 : 1])
                fail_msg("%s on %s, %llu rows of %llu: %u blocks of %u x %u",
                         name, target, (unsigned long long)n,
                         (unsigned long long)ncolumns, s.grid[0], s.block[0],
                         s.block[1]);
        }
}

static void test_norms_and_softmax_have_blocks_for_just_their_rows(void **state)
{
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx1030",
                                          "gfx1201", "sm_90"};

    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_candle, m);

        for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
            kpk_kernel_decl decl;

            assert_ok(kpk_module_kernel(module, k, &decl));
            for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++)
                check_rows_are_exact(module, k, decl.name, targets[t]);
        }
    }
}

static void test_every_kernel_has_a_shape_that_it_accepts(void **state)
{
    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_candle, m);

        for (size_t k = 0; k < kpk_module_kernel_count(module); k++)
            check_shape(module, k);
    }
}

/* The rows of block formats all follow from one table of ours. This is the
 * second source: what candle's callers launch for 8192 x 4096. */
static void test_block_formats_have_the_callers_shapes(void **state)
{
    static const struct {
        const char *kernel;
        unsigned grid[2], block[2];
    } want[] = {
        {"mul_mat_q4_0", {64, 64}, {32, 4}},
        {"mul_mat_q4_1", {64, 64}, {32, 4}},
        {"mul_mat_q5_0", {128, 32}, {32, 4}},
        {"mul_mat_q5_1", {128, 32}, {32, 4}},
        {"mul_mat_q8_0", {128, 32}, {32, 4}},
        {"mul_mat_q2_K", {64, 64}, {32, 4}},
        {"mul_mat_q3_K", {64, 32}, {32, 4}},
        {"mul_mat_q4_K", {64, 64}, {32, 4}},
        {"mul_mat_q5_K", {64, 64}, {32, 4}},
        {"mul_mat_q6_K", {128, 64}, {32, 4}},
        {"dequantize_block_q4_0_f32", {32, 1}, {32, 1}},
        {"dequantize_block_q5_1_f16", {16, 1}, {256, 1}},
        {"dequantize_block_q2_K_f32", {32, 1}, {64, 1}},
        {"dequantize_block_q4_K_f16", {32, 1}, {32, 1}},
        {"dequantize_block_q8_K_f32", {32, 1}, {32, 1}},
        {"get_rows_q5_0", {8192, 8}, {256, 1}},
        {"get_rows_q4_K", {8192, 16}, {32, 1}},
        {"get_rows_q6_K", {8192, 16}, {64, 1}},
        {"get_rows_bf16", {8192, 16}, {256, 1}},
        {"mul_mat_vec_q8_0_q8_1_cuda1", {8192, 1}, {32, 4}},
        {"mul_mat_vec_q2_K_q8_1_cuda4", {4096, 1}, {32, 4}},
        {"mul_mat_vec_q5_K_q8_1_cuda5", {4096, 1}, {32, 2}},
        {"dequantize_mul_mat_vec_q4_0_cuda", {8192, 1}, {32, 1}},
        {"dequantize_mul_mat_vec_q5_k", {8192, 1}, {32, 1}},
        {"indexed_moe_forward_q3k_q8_1", {8192, 4096}, {32, 4}},
        {"quantize_q8_1", {32, 4096}, {256, 1}},
        /* kpack's own */
        {"dequantize_block_bf16_f16", {16, 1}, {256, 1}},
        {"mul_mat_vec_f16_f32_cuda8", {4096, 1}, {32, 2}},
        {"mul_mat_bf16", {128, 64}, {128, 1}},
    };
    const kpk_module *module = NULL;

    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *at = kpk_pack_module(&kpk_candle, m);

        if (strcmp(kpk_module_name(at), "quantized") == 0)
            module = at;
    }
    if (!module)
        skip(); /* a pack of other modules */
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        uint64_t n = 8192;
        kpk_shape s;
        size_t k;

        /* elements and padded columns are what these two are asked for */
        assert_ok(kpk_module_find_kernel(module, want[i].kernel, &k));
        assert_ok(kpk_module_shape(module, k, amd_target(module), n, 4096, &s));
        if (s.grid[0] != want[i].grid[0] || s.grid[1] != want[i].grid[1] ||
            s.block[0] != want[i].block[0] || s.block[1] != want[i].block[1])
            fail_msg("%s: want grid %u x %u, block %u x %u; got grid %u x %u, "
                     "block %u x %u",
                     want[i].kernel, want[i].grid[0], want[i].grid[1],
                     want[i].block[0], want[i].block[1], s.grid[0], s.grid[1],
                     s.block[0], s.block[1]);
    }
}

/* whether or not the pack has code for sm_90 */
static void test_products_have_compact_grids_on_sm_90(void **state)
{
    static const struct {
        const char *kernel;
        uint64_t rows;
        unsigned grid;
    } want[] = {
        {"mul_mat_vec_q4_0_q8_1_cuda1", 4095, 4095},
        {"mul_mat_vec_q4_0_q8_1_cuda1", 4096, 512},
        {"mul_mat_vec_q4_0_q8_1_cuda1", 14337, 1793},
        {"mul_mat_vec_q8_0_q8_1_cuda1", 14337, 14337},
        {"mmvq_gguf_q8_0_bf16_plain_cuda1", 14337, 14337},
        {"mul_mat_vec_q4_K_q8_1_cuda2", 14336, 7168},
        {"mul_mat_vec_mxfp4_q8_1_cuda8", 14336, 7168},
        {"mul_mat_vec_bf16_f32_cuda1", 14336, 14336},
        {"mul_mat_vec_f16_f32_cuda5", 14336, 7168},
        {"mmvq_gguf_q6_k_f16_plain_cuda1", 4095, 4095},
        {"mmvq_gguf_q6_k_f16_plain_cuda1", 14336, 1792},
        {"mmvq_gguf_q6_k_bf16_plain_cuda4", 14336, 7168},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const kpk_module *module = NULL;
        kpk_shape s;
        size_t k;

        for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++)
            if (kpk_module_find_kernel(kpk_pack_module(&kpk_candle, m),
                                       want[i].kernel, &k) == KPK_OK)
                module = kpk_pack_module(&kpk_candle, m);
        if (!module)
            continue; /* a pack of other modules */
        assert_ok(kpk_module_find_kernel(module, want[i].kernel, &k));
        assert_ok(kpk_module_shape(module, k, "sm_90", want[i].rows, 0, &s));
        if (s.grid[0] != want[i].grid || s.grid[1] != 1)
            fail_msg("%s, %llu rows: want grid %u, got %u x %u", want[i].kernel,
                     (unsigned long long)want[i].rows, want[i].grid, s.grid[0],
                     s.grid[1]);
    }
}

static void test_few_columns_have_fine_grids(void **state)
{
    static const struct {
        const char *kernel, *target;
        uint64_t rows, columns;
        unsigned grid[2];
    } want[] = {
        {"mul_mat_q4_K", "gfx942", 8192, 9, {256, 1}},
        {"mul_mat_q4_K", "gfx1030", 8192, 64, {256, 1}},
        {"mul_mat_q4_K", "gfx1030", 8192, 65, {64, 2}},
        {"mul_mat_q6_K", "gfx1100", 8192, 64, {512, 1}},
        {"mul_mat_q4_K", "sm_90", 8192, 9, {256, 1}},
        {"mul_mat_q4_K", "sm_90", 8192, 128, {256, 2}},
        {"mul_mat_q4_K", "sm_90", 8192, 129, {64, 3}},
        {"mul_mat_q4_K", "sm_90", 4224, 32, {132, 2}},
        {"mul_mat_q4_K", "sm_90", 4224, 33, {132, 1}},
        {"mul_mat_q4_K", "sm_90", 4225, 32, {133, 1}},
        {"mul_mat_q4_K", "sm_90", 10000, 48, {313, 1}},
        {"mul_mat_q4_K", "sm_90", 10000, 49, {79, 1}},
        {"mul_mat_q3_K", "sm_90", 10000, 49, {79, 1}},
        {"mul_mat_q8_0", "sm_90", 10000, 96, {313, 2}},
        {"mul_mat_q8_0", "sm_90", 10000, 97, {157, 1}},
        {"mul_mat_mxfp4", "sm_90", 8192, 9, {64, 1}},
        {"mul_mat_q4_K", "sm_80", 8192, 9, {64, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
            const kpk_module *module = kpk_pack_module(&kpk_candle, m);
            kpk_shape s;
            size_t k;

            if (kpk_module_find_kernel(module, want[i].kernel, &k) != KPK_OK)
                continue;
            assert_ok(kpk_module_shape(module, k, want[i].target, want[i].rows,
                                       want[i].columns, &s));
            assert_int_equal(s.grid[0], want[i].grid[0]);
            assert_int_equal(s.grid[1], want[i].grid[1]);
        }
}

static void test_no_kernel_spills_registers(void **state)
{
    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_candle, m);

        for (size_t k = 0; k < kpk_module_kernel_count(module); k++)
            for (size_t o = 0; o < kpk_module_object_count(module); o++) {
                kpk_kernel_decl decl;
                kpk_object object;
                kpk_attrs attrs;

                assert_ok(kpk_module_kernel(module, k, &decl));
                assert_ok(kpk_module_object(module, o, &object));
                assert_ok(kpk_module_attrs(module, k, o, &attrs));
                if (attrs.vgpr_spills || attrs.sgpr_spills)
                    fail_msg("%s on %s: %u VGPRs and %u SGPRs spilled",
                             decl.name, object.target, attrs.vgpr_spills,
                             attrs.sgpr_spills);
            }
    }
}

static void test_every_table_has_its_index(void **state)
{
    size_t ntables = 0;

    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_candle, m);

        for (uint32_t i = 0; i < module->ntables; i++, ntables++)
            if (!plain_index_is_right(module->strings, &module->tables[i]))
                fail_msg("table %u of module %s", i, kpk_module_name(module));
    }
    assert_true(ntables > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_has_a_shape_that_it_accepts),
        cmocka_unit_test(
            test_norms_and_softmax_have_blocks_for_just_their_rows),
        cmocka_unit_test(test_block_formats_have_the_callers_shapes),
        cmocka_unit_test(test_products_have_compact_grids_on_sm_90),
        cmocka_unit_test(test_few_columns_have_fine_grids),
        cmocka_unit_test(test_no_kernel_spills_registers),
        cmocka_unit_test(test_every_table_has_its_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
