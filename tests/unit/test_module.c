/* test_module.c - packs listed without a device */
#include "unit_checks.h"

#include "test_pack.h"

static void test_pack_lists_its_modules(void **state)
{
    (void)state;
    assert_string_equal(kpk_pack_name(&test_pack), "test");
    assert_int_equal(kpk_pack_module_count(&test_pack), 2);
    assert_ptr_equal(kpk_pack_module(&test_pack, 0), &test_module_alpha);
    assert_ptr_equal(kpk_pack_module(&test_pack, 1), &test_module_beta);
    assert_null(kpk_pack_module(&test_pack, 2));
    assert_ptr_equal(kpk_pack_find(&test_pack, "alpha"), &test_module_alpha);
    assert_ptr_equal(kpk_pack_find(&test_pack, "beta"), &test_module_beta);
    assert_null(kpk_pack_find(&test_pack, "aleph"));
    assert_null(kpk_pack_find(&test_pack, ""));
    assert_null(kpk_pack_find(&test_pack, NULL));
}

static void test_module_lists_kernels_and_arguments(void **state)
{
    kpk_kernel_decl kernel;
    kpk_arg_decl arg;
    size_t i;

    (void)state;
    assert_string_equal(kpk_module_name(&test_module_alpha), "alpha");
    assert_int_equal(kpk_module_kernel_count(&test_module_alpha), 8);
    assert_ok(kpk_module_find_kernel(&test_module_alpha, "scale", &i));
    assert_ok(kpk_module_kernel(&test_module_alpha, i, &kernel));
    assert_string_equal(kernel.name, "scale");
    assert_int_equal(kernel.nargs, 3);
    assert_int_equal(kernel.nargs_given, 3);
    assert_int_equal(kernel.packed_nbytes, 16);
    assert_ok(kpk_module_arg(&test_module_alpha, i, 0, &arg));
    assert_string_equal(arg.name, "x");
    assert_int_equal(arg.kind, KPK_KIND_BUFFER);
    assert_int_equal(arg.nbytes, 8);
    assert_ok(kpk_module_arg(&test_module_alpha, i, 2, &arg));
    assert_string_equal(arg.name, "by");
    assert_int_equal(arg.kind, KPK_KIND_VALUE);
    assert_int_equal(arg.offset, 12);
    assert_int_equal(arg.nbytes, 4);
    assert_false(arg.is_padding);
}

static void test_module_knows_padding_by_its_repeated_name(void **state)
{
    kpk_kernel_decl kernel;
    kpk_arg_decl arg;
    size_t i;

    (void)state;
    assert_ok(kpk_module_find_kernel(&test_module_alpha, "slots", &i));
    assert_ok(kpk_module_kernel(&test_module_alpha, i, &kernel));
    assert_int_equal(kernel.nargs, 4);
    assert_int_equal(kernel.nargs_given, 2);
    assert_ok(kpk_module_arg(&test_module_alpha, i, 1, &arg));
    assert_true(arg.is_padding);
    assert_ok(kpk_module_arg(&test_module_alpha, i, 2, &arg));
    assert_false(arg.is_padding);

    /* A single parameter called pad by the author. */
    assert_ok(kpk_module_find_kernel(&test_module_beta, "lone_pad", &i));
    assert_ok(kpk_module_kernel(&test_module_beta, i, &kernel));
    assert_int_equal(kernel.nargs_given, 2);
    assert_ok(kpk_module_arg(&test_module_beta, i, 1, &arg));
    assert_false(arg.is_padding);
}

static void test_module_lists_objects_and_attributes(void **state)
{
    kpk_object object;
    kpk_attrs attrs;
    size_t i;

    (void)state;
    assert_int_equal(kpk_module_object_count(&test_module_alpha), 3);
    assert_ok(kpk_module_object(&test_module_alpha, 0, &object));
    assert_string_equal(object.target, "gfx11-generic");
    assert_int_equal(object.cov, 6);
    assert_int_equal(object.nbytes, 128);
    assert_memory_equal(object.data, "\177ELF", 4);
    assert_int_equal(object.sha256[0], 0xab);
    assert_int_equal(object.sha256[1], 0xcd);
    assert_ok(kpk_module_find_object(&test_module_alpha, "gfx90a:xnack+", &i));
    assert_int_equal(i, 2);
    assert_ok(kpk_module_attrs(&test_module_alpha, 3, 2, &attrs));
    assert_int_equal(attrs.lds_nbytes, 1024);
    assert_int_equal(attrs.kernarg_nbytes, 264);
    assert_int_equal(attrs.max_block, 1024);
    assert_int_equal(attrs.vgprs, 24);
    assert_int_equal(attrs.wave_size, 64);
    assert_ok(kpk_module_attrs(&test_module_alpha, 4, 0, &attrs));
    assert_int_equal(attrs.reqd_block[0], 64);
    assert_int_equal(attrs.reqd_block[1], 2);
    assert_int_equal(attrs.reqd_block[2], 1);
}

static void test_module_refuses_numbers_out_of_range(void **state)
{
    const kpk_module *m = &test_module_alpha;
    kpk_kernel_decl kernel;
    kpk_object object;
    kpk_arg_decl arg;
    kpk_attrs attrs;
    size_t i;

    (void)state;
    assert_status(kpk_module_kernel(m, 8, &kernel), KPK_ERR_ARG);
    assert_message("module alpha has 8 kernels, so none has the number 8");
    assert_status(kpk_module_kernel(m, 0, NULL), KPK_ERR_ARG);
    assert_status(kpk_module_arg(m, 8, 0, &arg), KPK_ERR_ARG);
    assert_status(kpk_module_arg(m, 2, 3, &arg), KPK_ERR_ARG);
    assert_message("kernel scale has 3 arguments");
    assert_status(kpk_module_arg(m, 2, 0, NULL), KPK_ERR_ARG);
    assert_status(kpk_module_object(m, 3, &object), KPK_ERR_ARG);
    assert_status(kpk_module_object(m, 0, NULL), KPK_ERR_ARG);
    assert_status(kpk_module_attrs(m, 8, 0, &attrs), KPK_ERR_ARG);
    assert_status(kpk_module_attrs(m, 0, 3, &attrs), KPK_ERR_ARG);
    assert_status(kpk_module_attrs(m, 0, 0, NULL), KPK_ERR_ARG);
    assert_status(kpk_module_find_kernel(m, "affine", &i), KPK_ERR_NO_KERNEL);
    assert_message("module alpha has no kernel \"affine\" among its 8");
    assert_status(kpk_module_find_kernel(m, NULL, &i), KPK_ERR_ARG);
    assert_status(kpk_module_find_kernel(m, "scale", NULL), KPK_ERR_ARG);
    assert_status(kpk_module_find_object(m, "gfx90a:xnack-", &i),
                  KPK_ERR_NO_TARGET);
    assert_message("it has: gfx11-generic gfx90a gfx90a:xnack+");
    assert_status(kpk_module_find_object(m, NULL, &i), KPK_ERR_ARG);
    assert_status(kpk_module_find_object(m, "gfx90a", NULL), KPK_ERR_ARG);
}

static void test_status_has_a_name_and_a_text_for_every_row(void **state)
{
    (void)state;
#define X(name, number, text)                                                  \
    assert_int_equal(name, number);                                            \
    assert_string_equal(kpk_status_name(name), #name);                         \
    assert_string_equal(kpk_status_string(name), text);
    KPK_STATUS_TABLE(X)
#undef X
    assert_string_equal(kpk_status_name((kpk_status)-1), "KPK_ERR_UNKNOWN");
    assert_string_equal(kpk_status_string((kpk_status)1000), "unknown status");
}

static void test_version_agrees_with_the_header(void **state)
{
    char text[32];

    (void)state;
    snprintf(text, sizeof(text), "%d.%d.%d", kpk_version() / 10000,
             kpk_version() / 100 % 100, kpk_version() % 100);
    assert_string_equal(text, KPK_VERSION_STRING);
}

static void test_shape_1d_covers_n_within_the_limits(void **state)
{
    (void)state;
    assert_int_equal(kpk_shape_1d(1, 256).grid[0], 1);
    assert_int_equal(kpk_shape_1d(256, 256).grid[0], 1);
    assert_int_equal(kpk_shape_1d(257, 256).grid[0], 2);
    assert_int_equal(kpk_shape_1d(0, 256).grid[0], 1);
    assert_int_equal(kpk_shape_1d(UINT64_MAX, 256).grid[0], 0xffffffffu / 256);
    assert_int_equal(kpk_shape_1d(UINT64_MAX, 1).grid[0], 0x7fffffff);
    assert_int_equal(kpk_shape_1d(UINT64_MAX, 2).grid[0], 0x7fffffff);
    assert_int_equal(kpk_shape_1d(10, 64).block[0], 64);
    assert_int_equal(kpk_shape_1d(10, 64).grid[1], 1);
    assert_int_equal(kpk_shape_1d(10, 64).block[2], 1);
    assert_int_equal(kpk_shape_1d(10, 0).block[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack_lists_its_modules),
        cmocka_unit_test(test_module_lists_kernels_and_arguments),
        cmocka_unit_test(test_module_knows_padding_by_its_repeated_name),
        cmocka_unit_test(test_module_lists_objects_and_attributes),
        cmocka_unit_test(test_module_refuses_numbers_out_of_range),
        cmocka_unit_test(test_status_has_a_name_and_a_text_for_every_row),
        cmocka_unit_test(test_version_agrees_with_the_header),
        cmocka_unit_test(test_shape_1d_covers_n_within_the_limits),
    };

    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
