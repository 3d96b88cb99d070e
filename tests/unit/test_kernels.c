/* test_kernels.c - all kernels of a module at once, under typed launchers */
#include "unit_checks.h"

#include "fake_hip.h"
#include "header_layout.h"
#include "test_pack.h"

static struct fake_hip *fake;
static kpk_instance *inst;

enum { NOARGS = 1, SCALE = 2, NKERNELS = 8 }; /* of module alpha */

static int open_pack(void **state)
{
    (void)state;
    fake_hip_reset(fake);
    return kpk_open(&test_pack, 0, &inst) == KPK_OK ? 0 : -1;
}

static int close_pack(void **state)
{
    (void)state;
    return kpk_close(inst) == KPK_OK && fake->live == 0 ? 0 : -1;
}

static const kpk_kernels *get_alpha(void)
{
    const kpk_kernels *kernels = NULL;

    assert_ok(kpk_kernels_get(inst, &test_module_alpha,
                              header_layout(&test_module_alpha), &kernels));
    return kernels;
}

static void test_get_loads_the_module_and_no_kernel(void **state)
{
    const kpk_kernels *kernels = get_alpha();

    (void)state;
    assert_int_equal(fake->nloads, 1);
    assert_int_equal(fake->nlookups, 0);
    assert_ptr_equal(get_alpha(), kernels);
    assert_int_equal(fake->nloads, 1);
}

static void test_launch_finds_the_kernel_once(void **state)
{
    const kpk_kernels *kernels = get_alpha();
    const kpk_shape shape = kpk_shape_1d(1000, 256);
    void *x = &inst;
    uint32_t n = 1000, by = 3;
    const void *const args[] = {&x, &n, &by};
    int calls;

    (void)state;
    fake->param_nbytes[0] = 8;
    fake->param_nbytes[1] = fake->param_nbytes[2] = 4;
    assert_ok(kpk_kernels_launch(kernels, SCALE, &shape, NULL, args));
    assert_int_equal(fake->nlookups, 1);
    assert_string_equal(fake->last.kernel, "scale");
    assert_int_equal(fake->last.params[1], 1000);
    assert_int_equal(fake->last.params[2], 3);
    calls = fake->ncalls;
    assert_ok(kpk_kernels_launch(kernels, SCALE, &shape, NULL, args));
    assert_int_equal(fake->nlookups, 1);
    /* as many calls into HIP as a launch of the kernel by itself */
    calls = fake->ncalls - calls;
    {
        const kpk_kernel *scale;
        int before;

        assert_ok(kpk_kernel_get(inst, "scale", &scale));
        before = fake->ncalls;
        assert_ok(kpk_launch(scale, &shape, NULL, KPK_ARGS(x, n, by)));
        assert_int_equal(fake->ncalls - before, calls);
    }
}

static void test_launch_is_checked_as_any(void **state)
{
    const kpk_kernels *kernels = get_alpha();
    const kpk_shape bad = {{1, 1, 1}, {0, 1, 1}, 0};
    const kpk_shape shape = kpk_shape_1d(1, 1);

    (void)state;
    assert_status(kpk_kernels_launch(kernels, NOARGS, &bad, NULL, NULL),
                  KPK_ERR_SHAPE);
    assert_status(kpk_kernels_launch(kernels, NKERNELS, &shape, NULL, NULL),
                  KPK_ERR_ARG);
    assert_message("alpha has 8 kernels, so none has the number 8");
    assert_status(kpk_kernels_launch(kernels, SCALE, &shape, NULL, NULL),
                  KPK_ERR_ARG);
    assert_message("args is NULL");
    assert_status(kpk_kernels_launch(NULL, 0, &shape, NULL, NULL), KPK_ERR_ARG);
    assert_message("kernels is NULL");
    assert_int_equal(fake->nlaunches, 0);
}

static void test_get_refuses_headers_of_another_build(void **state)
{
    const kpk_kernels *kernels = NULL;

    (void)state;
    assert_status(kpk_kernels_get(inst, &test_module_alpha,
                                  header_layout(&test_module_alpha) + 1,
                                  &kernels),
                  KPK_ERR_FORMAT);
    assert_message("module alpha are not of the build that was linked");
    assert_null(kernels);
    assert_int_equal(fake->nloads, 0);
}

static void test_get_refuses_modules_of_another_instance(void **state)
{
    const kpk_module *only[] = {&test_module_beta};
    const kpk_kernels *kernels = NULL;
    kpk_instance *other;

    (void)state;
    assert_ok(kpk_open_modules(only, 1, 0, &other));
    assert_status(kpk_kernels_get(other, &test_module_alpha,
                                  header_layout(&test_module_alpha), &kernels),
                  KPK_ERR_NO_MODULE);
    assert_message("module alpha of this header is not among the 1");
    assert_status(kpk_kernels_get(NULL, &test_module_alpha, 0, &kernels),
                  KPK_ERR_ARG);
    assert_status(kpk_kernels_get(other, NULL, 0, &kernels), KPK_ERR_ARG);
    assert_status(kpk_kernels_get(other, &test_module_beta, 0, NULL),
                  KPK_ERR_ARG);
    assert_null(kernels);
    assert_ok(kpk_close(other));
}

/* kpk_launch() behaves the same, see test_instance.c. */
static void test_launch_after_unload_wants_the_module_loaded(void **state)
{
    const kpk_kernels *kernels = get_alpha();
    const kpk_shape shape = kpk_shape_1d(1, 1);

    (void)state;
    assert_ok(kpk_kernels_launch(kernels, NOARGS, &shape, NULL, NULL));
    assert_ok(kpk_unload(inst, "alpha"));
    assert_status(kpk_kernels_launch(kernels, NOARGS, &shape, NULL, NULL),
                  KPK_ERR_UNLOADED);
    assert_message("load it again with kpk_load()");
    assert_ok(kpk_load(inst, "alpha"));
    assert_ok(kpk_kernels_launch(kernels, NOARGS, &shape, NULL, NULL));
    assert_int_equal(fake->nloads, 2);
}

static void test_failures_of_hip_are_told(void **state)
{
    const kpk_kernels *kernels = NULL;
    const kpk_shape shape = kpk_shape_1d(1, 1);

    (void)state;
    fake->fail_name = "hipModuleLoadData";
    fake->fail_error = 2;
    assert_status(kpk_kernels_get(inst, &test_module_alpha,
                                  header_layout(&test_module_alpha), &kernels),
                  KPK_ERR_DRIVER);
    assert_null(kernels);
    fake->fail_name = NULL;
    kernels = get_alpha();
    fake->fail_name = "hipModuleGetFunction";
    assert_status(kpk_kernels_launch(kernels, NOARGS, &shape, NULL, NULL),
                  KPK_ERR_DRIVER);
    fake->fail_name = NULL;
    assert_ok(kpk_kernels_launch(kernels, NOARGS, &shape, NULL, NULL));
}

static void test_kernel_without_a_list_has_no_typed_launch(void **state)
{
    const kpk_kernels *kernels = NULL;
    const kpk_shape shape = kpk_shape_1d(1, 1);
    size_t unlisted;

    (void)state;
    assert_ok(kpk_module_find_kernel(&test_module_beta, "unlisted", &unlisted));
    assert_ok(kpk_kernels_get(inst, &test_module_beta,
                              header_layout(&test_module_beta), &kernels));
    assert_status(kpk_kernels_launch(kernels, unlisted, &shape, NULL, NULL),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("Use kpk_launch_packed()");
    assert_int_equal(fake->nlaunches, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pack, close_pack)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_get_loads_the_module_and_no_kernel),
        TEST(test_launch_finds_the_kernel_once),
        TEST(test_launch_is_checked_as_any),
        TEST(test_get_refuses_headers_of_another_build),
        TEST(test_get_refuses_modules_of_another_instance),
        TEST(test_launch_after_unload_wants_the_module_loaded),
        TEST(test_failures_of_hip_are_told),
        TEST(test_kernel_without_a_list_has_no_typed_launch),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
