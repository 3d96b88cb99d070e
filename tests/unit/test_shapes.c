/* test_shapes.c - every kernel of the pack has a launch shape that it accepts,
 * and none spills registers, be it to memory or to lanes of a VGPR */
#include "unit.h"

#include "kpack/candle.h"
#include "plain_index.h"

/* Row lengths that the tables of row kernels tell apart. */
static const uint64_t columns[] = {1, 33, 1000, 4096, 100003, 4194304};

static void check_shape(const kpk_module *module, size_t kernel)
{
    kpk_kernel_decl decl;
    kpk_attrs attrs;

    assert_ok(kpk_module_kernel(module, kernel, &decl));
    assert_ok(kpk_module_attrs(module, kernel, 0, &attrs));
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        kpk_shape s;
        kpk_status st =
            kpk_module_shape(module, kernel, NULL, 1000, columns[i], &s);

        if (st != KPK_OK)
            fail_msg("%s", kpk_error_message());
        if (s.block[0] * s.block[1] * s.block[2] > attrs.max_block ||
            s.block[0] * s.block[1] * s.block[2] == 0 || s.grid[0] == 0)
            fail_msg("%s: block %u x %u, grid %u; the kernel takes at most %u "
                     "threads",
                     decl.name, s.block[0], s.block[1], s.grid[0],
                     attrs.max_block);
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
        cmocka_unit_test(test_no_kernel_spills_registers),
        cmocka_unit_test(test_every_table_has_its_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
