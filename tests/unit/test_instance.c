/* test_instance.c - opening, loading, fetching kernels, unloading, closing */
#include "unit_checks.h"

#include "fake_hip.h"
#include "kpack/format.h"
#include "test_pack.h"

#include <stdbool.h>

static struct fake_hip *fake;

static int reset(void **state)
{
    (void)state;
    fake_hip_reset(fake);
    return 0;
}

static void test_open_describes_device_and_loads_nothing(void **state)
{
    kpk_instance *inst;
    const kpk_device *device;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    device = kpk_instance_device(inst);
    assert_string_equal(device->target, "gfx90a:sramecc+:xnack-");
    assert_string_equal(device->name, "New Layout");
    assert_int_equal(kpk_instance_ordinal(inst), 0);
    assert_int_equal(fake->nloads, 0);
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->nsyncs, 0); /* nothing was loaded: nothing to do */
}

static void test_get_loads_a_module_once(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *scale;
    const kpk_kernel *again;
    const kpk_kernel *noargs;
    int calls;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &scale));
    assert_string_equal(kpk_kernel_name(scale), "scale");
    assert_ptr_equal(kpk_kernel_module(scale), &test_module_alpha);
    assert_int_equal(kpk_kernel_index(scale), 2);
    assert_int_equal(fake->nloads, 1);
    assert_int_equal(fake->nlookups, 1);
    calls = fake->ncalls;
    assert_ok(kpk_kernel_get(inst, "scale", &again));
    assert_ptr_equal(again, scale);
    assert_int_equal(fake->ncalls, calls); /* not one call into HIP */
    assert_ok(kpk_kernel_get(inst, "noargs", &noargs));
    assert_int_equal(fake->nloads, 1);
    assert_int_equal(fake->nlookups, 2);
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->nunloads, 1);
    assert_int_equal(fake->nsyncs, 1);
    assert_int_equal(fake->live, 0);
}

static void test_get_on_another_device_restores_the_current_one(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    assert_ok(kpk_open(&test_pack, 1, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_int_equal(fake->nloads_of_device[1], 1);
    assert_int_equal(fake->nloads_of_device[0], 0);
    assert_int_equal(fake->nsets, 2); /* there and back */
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->nviolations, 0);
    assert_int_equal(fake->live, 0);
}

static void test_get_says_what_is_missing(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel = (const kpk_kernel *)1;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_status(kpk_kernel_get(inst, "affine", &kernel), KPK_ERR_NO_KERNEL);
    assert_message("no kernel \"affine\" in the 2 modules");
    assert_status(kpk_kernel_get(inst, "", &kernel), KPK_ERR_NO_KERNEL);
    assert_status(kpk_kernel_get(inst, "twin", &kernel), KPK_ERR_AMBIGUOUS);
    assert_message("is in module alpha and in module beta");
    assert_status(kpk_kernel_get_in(inst, "gamma", "twin", &kernel),
                  KPK_ERR_NO_MODULE);
    assert_message("no module \"gamma\" among the 2");
    assert_status(kpk_kernel_get_in(inst, "beta", "scale", &kernel),
                  KPK_ERR_NO_KERNEL);
    assert_ptr_equal(kernel, (const kpk_kernel *)1); /* left alone */
    assert_int_equal(fake->nloads, 0);
    assert_ok(kpk_kernel_get_in(inst, "beta", "twin", &kernel));
    assert_ptr_equal(kpk_kernel_module(kernel), &test_module_beta);
    assert_status(kpk_kernel_get(NULL, "scale", &kernel), KPK_ERR_ARG);
    assert_status(kpk_kernel_get(inst, NULL, &kernel), KPK_ERR_ARG);
    assert_status(kpk_kernel_get(inst, "scale", NULL), KPK_ERR_ARG);
    assert_status(kpk_kernel_get_in(inst, NULL, "scale", &kernel), KPK_ERR_ARG);
    assert_ok(kpk_close(inst));
}

/* beta has nothing for gfx1100: it is no obstacle to alpha. */
static void
test_module_that_does_not_fit_fails_only_when_asked_for(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;
    kpk_selection selection;

    (void)state;
    assert_ok(kpk_open(&test_pack, 1, &inst));
    assert_ok(kpk_instance_selection(inst, "alpha", &selection));
    assert_string_equal(selection.target, "gfx11-generic");
    assert_int_equal(selection.fit, KPK_FIT_GENERIC);
    assert_status(kpk_instance_selection(inst, "beta", &selection),
                  KPK_ERR_NO_TARGET);
    assert_status(kpk_kernel_get(inst, "torn", &kernel), KPK_ERR_NO_TARGET);
    assert_message("no code object of module beta fits device gfx1100. It "
                   "holds: gfx1030, gfx90a.");
    assert_status(kpk_load(inst, "beta"), KPK_ERR_NO_TARGET);
    assert_ok(kpk_load(inst, NULL)); /* all that fit */
    assert_int_equal(fake->nloads, 1);
    assert_ok(kpk_close(inst));
}

static void test_open_fails_if_no_module_fits(void **state)
{
    const kpk_module *const beta = &test_module_beta;
    const kpk_module *const empty = &test_module_empty;
    kpk_instance *inst = (kpk_instance *)1;

    (void)state;
    assert_status(kpk_open_modules(&beta, 1, 1, &inst), KPK_ERR_NO_TARGET);
    assert_message("fits device gfx1100");
    assert_status(kpk_open_modules(&empty, 1, 0, &inst), KPK_ERR_NO_TARGET);
    assert_message("It holds: nothing");
    assert_ptr_equal(inst, (kpk_instance *)1);
}

static void test_open_modules_takes_any_order_and_no_twice(void **state)
{
    const kpk_module *const backwards[] = {&test_module_beta,
                                           &test_module_alpha};
    const kpk_module *const twice[] = {&test_module_alpha, &test_module_alpha};
    const kpk_module *const hole[] = {NULL};
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    assert_ok(kpk_open_modules(backwards, 2, 0, &inst));
    assert_ok(kpk_kernel_get_in(inst, "alpha", "twin", &kernel));
    assert_ok(kpk_kernel_get_in(inst, "beta", "twin", &kernel));
    assert_ok(kpk_close(inst));
    assert_status(kpk_open_modules(twice, 2, 0, &inst), KPK_ERR_ARG);
    assert_message("called \"alpha\"");
    assert_status(kpk_open_modules(hole, 1, 0, &inst), KPK_ERR_ARG);
    assert_status(kpk_open_modules(NULL, 1, 0, &inst), KPK_ERR_ARG);
    assert_status(kpk_open_modules(backwards, 2, 0, NULL), KPK_ERR_ARG);
    assert_ok(kpk_open_modules(NULL, 0, 0, &inst)); /* nothing in it */
    assert_status(kpk_kernel_get(inst, "scale", &kernel), KPK_ERR_NO_KERNEL);
    assert_ok(kpk_close(inst));
}

/* Device 0 is a gfx90a, device 1 a gfx1100. */
static void test_of_modules_of_one_name_the_one_that_fits_is_open(void **state)
{
    const kpk_module *const both[] = {&test_module_alpha_gfx11,
                                      &test_module_alpha_gfx90a};
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    assert_ok(kpk_open_modules(both, 2, 0, &inst));
    assert_ok(kpk_kernel_get_in(inst, "alpha", "torn", &kernel));
    assert_ptr_equal(kpk_kernel_module(kernel), &test_module_alpha_gfx90a);
    assert_ok(kpk_kernel_get(inst, "twin", &kernel));
    assert_status(kpk_kernel_get(inst, "scale", &kernel), KPK_ERR_NO_KERNEL);
    assert_ok(kpk_close(inst));
    assert_ok(kpk_open_modules(both, 2, 1, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_ptr_equal(kpk_kernel_module(kernel), &test_module_alpha_gfx11);
    assert_status(kpk_kernel_get_in(inst, "alpha", "torn", &kernel),
                  KPK_ERR_NO_KERNEL);
    assert_ok(kpk_close(inst));
}

/* Another module has a kernel of that name, but not for this device. */
static void test_kernel_that_fits_is_meant(void **state)
{
    const kpk_module *const both[] = {&test_module_alpha_gfx11,
                                      &test_module_beta};
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    for (int device = 0; device < 2; device++) {
        assert_ok(kpk_open_modules(both, 2, device, &inst));
        assert_ok(kpk_kernel_get(inst, "twin", &kernel));
        assert_ptr_equal(kpk_kernel_module(kernel), both[1 - device]);
        assert_ok(kpk_close(inst));
    }
}

/* A module does not fit, and there is no CUDA: neither is a failure here. */
static void test_success_leaves_the_last_failure_alone(void **state)
{
    const kpk_module *const both[] = {&test_module_alpha_gfx11,
                                      &test_module_beta};
    char before[256];
    kpk_instance *inst;
    int n;

    (void)state;
    fake->fail_name = "hipGetDeviceCount";
    assert_status(kpk_device_count(&n), KPK_ERR_DRIVER);
    (void)snprintf(before, sizeof(before), "%s", kpk_error_message());
    fake->fail_name = NULL;
    assert_ok(kpk_device_count(&n));
    assert_ok(kpk_open_modules(both, 2, 0, &inst));
    assert_ok(kpk_close(inst));
    assert_string_equal(kpk_error_message(), before);
    assert_int_equal(kpk_error_driver(), 999);
}

static void test_any_device_is_the_first_that_fits(void **state)
{
    const kpk_module *const beta = &test_module_beta;
    const kpk_module *const gfx11 = &test_module_alpha_gfx11;
    const kpk_module *const odd = &test_module_odd;
    const kpk_module *const old = &test_module_old_format;
    kpk_instance *inst;

    (void)state;
    assert_status(kpk_open_modules(&gfx11, 1, 99, &inst), KPK_ERR_NO_DEVICE);
    assert_ok(kpk_open_modules(&gfx11, 1, KPK_ANY_DEVICE, &inst));
    assert_int_equal(kpk_instance_ordinal(inst), 1);
    assert_ok(kpk_close(inst));
    assert_message("device 99"); /* device 0, which did not fit, left no word */
    assert_ok(kpk_open_modules(&beta, 1, KPK_ANY_DEVICE, &inst));
    assert_int_equal(kpk_instance_ordinal(inst), 0);
    assert_ok(kpk_close(inst));
    assert_ok(kpk_open_modules(NULL, 0, KPK_ANY_DEVICE, &inst));
    assert_ok(kpk_close(inst));
    assert_status(kpk_open_modules(&odd, 1, KPK_ANY_DEVICE, &inst),
                  KPK_ERR_NO_TARGET);
    assert_message("fits device gfx90a:sramecc+:xnack-. It holds: ");
    assert_message(". No other GPU of this machine would run it either");
    assert_status(kpk_open_modules(&old, 1, KPK_ANY_DEVICE, &inst),
                  KPK_ERR_FORMAT);
    fake->ndevices = 0;
    assert_status(kpk_open(&test_pack, KPK_ANY_DEVICE, &inst),
                  KPK_ERR_NO_DEVICE);
    assert_message("no device was found: neither HIP (");
    assert_message("sees a GPU");
}

static void test_open_names_a_device_that_would_fit(void **state)
{
    const kpk_module *const beta = &test_module_beta;
    const kpk_module *const odd = &test_module_odd;
    kpk_instance *inst;

    (void)state;
    assert_status(kpk_open_modules(&beta, 1, 1, &inst), KPK_ERR_NO_TARGET);
    assert_message("fits device gfx1100. It holds: gfx1030, gfx90a. ");
    assert_message(". Device 0 (gfx90a:sramecc+:xnack-) would run it: open "
                   "device 0, or KPK_ANY_DEVICE");
    assert_status(kpk_open_modules(&odd, 1, 0, &inst), KPK_ERR_NO_TARGET);
    assert_null(strstr(kpk_error_message(), "would run it"));
}

static void test_open_checks_device_and_format(void **state)
{
    const kpk_module *const old = &test_module_old_format;
    kpk_instance *inst;

    (void)state;
    assert_status(kpk_open(&test_pack, 2, &inst), KPK_ERR_NO_DEVICE);
    assert_message("device 2 was asked for, but there are 2 GPUs: the highest "
                   "number is 1");
    assert_status(kpk_open(&test_pack, -2, &inst), KPK_ERR_NO_DEVICE);
    fake->ndevices = 0;
    assert_status(kpk_open(&test_pack, 0, &inst), KPK_ERR_NO_DEVICE);
    assert_message("sees a GPU");
    fake->ndevices = 2;
    assert_status(kpk_open(NULL, 0, &inst), KPK_ERR_ARG);
    assert_status(kpk_open(&test_pack_old_format, 0, &inst), KPK_ERR_FORMAT);
    assert_status(kpk_open_modules(&old, 1, 0, &inst), KPK_ERR_FORMAT);
    assert_message("Build the pack and libkpack.a with the same release");
}

static void test_damaged_code_objects_never_reach_hip(void **state)
{
    static const struct {
        const kpk_module *module;
        const char *says;
    } cases[] = {{&test_module_not_elf, "does not start as an ELF file"},
                 {&test_module_short_elf, "(63 bytes) is shorter"},
                 {&test_module_other_machine, "for another machine"},
                 {&test_module_other_blob, "another one than the module's"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kpk_instance *inst;
        const kpk_kernel *kernel;

        assert_ok(kpk_open_modules(&cases[i].module, 1, 0, &inst));
        assert_status(kpk_kernel_get(inst, "torn", &kernel), KPK_ERR_FORMAT);
        assert_message(cases[i].says);
        assert_ok(kpk_close(inst));
    }
    assert_int_equal(fake->nloads, 0);
}

static void test_unload_cuts_off_old_handles_until_loaded_again(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;
    const kpk_kernel *again;
    const kpk_shape shape = kpk_shape_1d(1, 64);
    void *module;
    void *function;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_unload(inst, "alpha")); /* not loaded: nothing to do */
    assert_ok(kpk_kernel_get(inst, "noargs", &kernel));
    assert_ok(kpk_kernel_raw(kernel, &module, &function));
    assert_non_null(module);
    assert_non_null(function);
    assert_ok(kpk_unload(inst, "alpha"));
    assert_int_equal(fake->nunloads, 1);
    assert_int_equal(fake->nsyncs, 1);
    assert_status(kpk_launch(kernel, &shape, NULL, NULL, 0), KPK_ERR_UNLOADED);
    assert_message("module alpha of kernel noargs has been unloaded");
    assert_status(kpk_kernel_raw(kernel, &module, NULL), KPK_ERR_UNLOADED);
    assert_int_equal(fake->nlaunches, 0);
    assert_int_equal(fake->nloads, 1); /* a launch loads nothing */
    assert_ok(kpk_kernel_get(inst, "noargs", &again));
    assert_ptr_equal(again, kernel);
    assert_ok(kpk_launch(kernel, &shape, NULL, NULL, 0));
    assert_int_equal(fake->nloads, 2);
    assert_status(kpk_unload(inst, "gamma"), KPK_ERR_NO_MODULE);
    assert_ok(kpk_unload(inst, NULL));
    assert_int_equal(fake->nunloads, 2);
    /* However it is loaded again: the old handle works. */
    assert_ok(kpk_load(inst, "alpha"));
    assert_ok(kpk_launch(kernel, &shape, NULL, NULL, 0));
    assert_ok(kpk_unload(inst, "alpha"));
    assert_status(kpk_kernel_raw(kernel, NULL, &function), KPK_ERR_UNLOADED);
    assert_ok(kpk_global(inst, "alpha", "table", NULL, NULL));
    assert_ok(kpk_kernel_raw(kernel, NULL, &function));
    assert_ok(kpk_launch(kernel, &shape, NULL, NULL, 0));
    assert_int_equal(fake->nviolations, 0);
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->live, 0);
}

/* kpack takes HIP's target unchanged: future features, and text of unknown
 * form. */
static void test_device_with_unknown_features_is_opened(void **state)
{
    static const char long_one[] =
        "gfx90a:sramecc+:xnack-:a-feature-with-a-name-that-is-longer-than-any-"
        "that-anybody-has-ever-thought-of-for-a-feature-of-a-processor-of-any-"
        "kind-whatsoever+";
    static const char *const reported[] = {
        "gfx90a:sramecc+:xnack-:foo+", "gfx90a:sramecc+:xnack-:a+:b-:c+:d+:e-",
        "gfx90a:Foo_2=1:sramecc+::xnack-:", "gfx90a:xnack-:wave64", long_one};
    kpk_selection selection;
    kpk_instance *inst;

    (void)state;
    for (size_t i = 0; i < sizeof(reported) / sizeof(reported[0]); i++) {
        fake->targets[0] = reported[i];
        assert_ok(kpk_open(&test_pack, 0, &inst));
        assert_ok(kpk_instance_selection(inst, "alpha", &selection));
        assert_string_equal(selection.target, "gfx90a");
        assert_int_equal(selection.fit, KPK_FIT_ANY);
        assert_ok(kpk_close(inst));
    }
    fake->targets[0] = "gfx90a:foo+:xnack+";
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_instance_selection(inst, "alpha", &selection));
    assert_string_equal(selection.target, "gfx90a:xnack+");
    assert_ok(kpk_close(inst));
    fake->targets[0] = ""; /* HIP for NVIDIA's platform */
    assert_status(kpk_open(&test_pack, 0, &inst), KPK_ERR_NO_TARGET);
}

/* A device that stays current against the rule is told of, be it the only
 * failure or the second. */
static void test_device_that_stays_current_is_told(void **state)
{
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const kpk_kernel *kernel;
    kpk_instance *inst;

    (void)state;
    assert_ok(kpk_open(&test_pack, 1, &inst));
    assert_ok(kpk_kernel_get(inst, "noargs", &kernel));
    fake->fail_in = 3; /* after hipGetDevice, hipSetDevice(1) */
    fake->fail_all_later = 1;
    assert_status(kpk_launch(kernel, &shape, NULL, NULL, 0), KPK_ERR_DRIVER);
    assert_message("hipModuleLaunchKernel returned hipErrorUnknown (999)");
    assert_message("After that hipSetDevice(0) returned 999: device 1 is "
                   "current now, no longer device 0");
    assert_int_equal(kpk_error_driver(), 999);
    fake->fail_all_later = 0;
    fake->set_current(0);
    fake->fail_in = 4;
    assert_status(kpk_launch(kernel, &shape, NULL, NULL, 0), KPK_ERR_DRIVER);
    assert_message("the call did its work, but cannot make device 0 current "
                   "again; device 1 is now: hipSetDevice returned");
    fake->set_current(0);
    assert_ok(kpk_close(inst));
}

/* A success without a result is a failure. */
static void test_success_without_a_result_is_refused(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel = NULL;
    void *ptr = NULL;
    uint32_t blocks;
    kpk_shape shape;
    int n = 7;

    (void)state;
    fake->lie_name = "hipGetDeviceCount";
    assert_status(kpk_device_count(&n), KPK_ERR_DRIVER);
    assert_message("hipGetDeviceCount returned success and the number -1");
    assert_int_equal(n, 7);
    fake->lie_name = NULL;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    fake->lie_name = "hipModuleLoadData";
    assert_status(kpk_load(inst, "alpha"), KPK_ERR_DRIVER);
    assert_message("hipModuleLoadData returned success, but no module");
    fake->lie_name = "hipModuleLoadDataEx";
    assert_status(kpk_load_ex(inst, "alpha", 0, NULL, NULL), KPK_ERR_DRIVER);
    assert_message("hipModuleLoadDataEx returned success, but no module");
    fake->lie_name = "hipModuleGetFunction";
    assert_status(kpk_kernel_get(inst, "noargs", &kernel), KPK_ERR_DRIVER);
    assert_message("hipModuleGetFunction returned success, but no function");
    assert_null(kernel);
    fake->lie_name = "hipMalloc";
    assert_status(kpk_malloc(inst, 16, &ptr), KPK_ERR_DRIVER);
    assert_message("hipMalloc returned success, but made nothing");
    fake->lie_name = "hipModuleGetGlobal";
    assert_status(kpk_global(inst, "alpha", "table", &ptr, NULL),
                  KPK_ERR_DRIVER);
    assert_message("hipModuleGetGlobal returned success, but no address");
    fake->lie_name = "hipModuleGetTexRef";
    assert_status(kpk_texture(inst, "alpha", "table", &ptr), KPK_ERR_DRIVER);
    assert_message("hipModuleGetTexRef returned success, but no address");
    assert_null(ptr);
    fake->lie_name = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
    assert_ok(kpk_kernel_get(inst, "noargs", &kernel)); /* now it works */
    assert_status(kpk_occupancy(kernel, 64, 0, &blocks), KPK_ERR_DRIVER);
    assert_message("returned success and an impossible number, -1");
    fake->lie_name = "hipModuleOccupancyMaxPotentialBlockSize";
    assert_status(kpk_occupancy_shape(kernel, 0, 0, &shape), KPK_ERR_DRIVER);
    assert_status(kpk_occupancy_shape(kernel, 0, 64, &shape), KPK_ERR_DRIVER);
    fake->lie_name = NULL;
    assert_ok(kpk_occupancy_shape(kernel, 0, 64, &shape));
    assert_int_equal(kpk_error_driver(), 0);
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->live, 0);
}

static void test_attrs_are_those_of_the_selected_object(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;
    kpk_attrs attrs;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_ok(kpk_kernel_attrs(kernel, &attrs));
    assert_int_equal(attrs.max_block, 256);
    assert_status(kpk_kernel_attrs(NULL, &attrs), KPK_ERR_ARG);
    assert_status(kpk_kernel_attrs(kernel, NULL), KPK_ERR_ARG);
    assert_ok(kpk_close(inst));
}

/* Device 1 is a gfx1100 on which alpha's gfx11-generic code runs. */
static void test_shape_is_of_the_code_that_runs(void **state)
{
    const uint32_t blocks[] = {128, 64};
    kpk_instance *inst;
    const kpk_kernel *kernel;
    kpk_shape shape;

    (void)state;
    for (int device = 0; device < 2; device++) {
        assert_ok(kpk_open(&test_pack, device, &inst));
        assert_ok(kpk_kernel_get(inst, "scale", &kernel));
        assert_ok(kpk_kernel_shape(kernel, 1, 0, &shape));
        assert_int_equal(shape.block[0], blocks[device]);
        assert_ok(kpk_kernel_get(inst, "noargs", &kernel));
        assert_status(kpk_kernel_shape(kernel, 1, 0, &shape), KPK_ERR_NO_ROW);
        assert_ok(kpk_close(inst));
    }
}

static void test_close_takes_null_and_reports_failing_work(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    assert_ok(kpk_close(NULL));
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    fake->fail_name = "hipDeviceSynchronize";
    fake->fail_error = 700;
    assert_status(kpk_close(inst), KPK_ERR_DRIVER);
    assert_int_equal(kpk_error_driver(), 700);
    assert_message("work on device 0 (gfx90a:sramecc+:xnack-) failed");
    assert_int_equal(fake->live, 0); /* unloaded all the same */
}

static void test_refused_unload_keeps_the_module(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    fake->fail_name = "hipModuleUnload";
    fake->fail_error = 900;
    assert_status(kpk_unload(inst, "alpha"), KPK_ERR_DRIVER);
    assert_message("cannot unload module alpha from device 0: hipModuleUnload "
                   "returned hipErrorFake (900), made up");
    fake->fail_name = NULL;
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_int_equal(fake->nloads, 1);
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->live, 0);
}

static void test_load_failure_hints_at_a_hip_that_is_too_old(void **state)
{
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    fake->fail_name = "hipModuleLoadData";
    fake->fail_error = 209;
    assert_ok(kpk_open(&test_pack, 1, &inst));
    assert_status(kpk_kernel_get(inst, "scale", &kernel), KPK_ERR_DRIVER);
    assert_int_equal(kpk_error_driver(), 209);
    assert_message("cannot load module alpha, code object gfx11-generic, on "
                   "device 1 (gfx1100) (code object version 6 for a generic "
                   "target is read from HIP 6.4 on, this is HIP 6.3");
    assert_ok(kpk_close(inst));
}

/* Each call of HIP fails in turn, once or from then on. The caller always gets
 * a status with a message, and nothing leaks. */
static void test_every_failing_hip_call_is_survived(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        int n = 0;
        bool done = false;

        while (!done) {
            kpk_instance *inst = NULL;
            const kpk_kernel *kernel = NULL;
            const kpk_shape shape = kpk_shape_1d(1, 64);
            void *ptr = NULL;
            kpk_status st;

            assert_true(n < 200);
            fake_hip_reset(fake);
            fake->fail_all_later = later;
            fake->fail_in = ++n;
            st = kpk_open(&test_pack, 1, &inst);
            if (st == KPK_OK)
                st = kpk_kernel_get(inst, "noargs", &kernel);
            if (st == KPK_OK)
                st = kpk_launch(kernel, &shape, NULL, NULL, 0);
            if (st == KPK_OK)
                st = kpk_malloc(inst, 16, &ptr);
            if (st == KPK_OK)
                st = kpk_fill(inst, ptr, 1, 16);
            if (st == KPK_OK)
                st = kpk_sync(inst, NULL);
            done = fake->fail_in > 0; /* more failures than calls */
            if (!done) {
                assert_int_equal(st, KPK_ERR_DRIVER);
                assert_int_equal(kpk_error_driver(), 999);
                assert_message("hipErrorUnknown (999), unknown error");
            } else {
                assert_int_equal(st, KPK_OK);
            }
            fake->fail_in = -1;
            fake->fail_all_later = 0;
            if (ptr)
                assert_ok(kpk_free(inst, ptr));
            assert_ok(kpk_close(inst));
            /* A HIP that fails every call takes no memory back either. */
            assert_true(fake->live <= later);
        }
        assert_true(n > 15);
    }
}

static void test_open_takes_the_namesake_that_fits_better(void **state)
{
    const kpk_module *const both[] = {&test_module_beta,
                                      &test_module_beta_exact};
    const kpk_module *const swapped[] = {both[1], both[0]};
    kpk_selection selection;
    kpk_instance *inst;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(kpk_open_modules(i ? swapped : both, 2, 0, &inst));
        assert_ok(kpk_instance_selection(inst, "beta", &selection));
        assert_int_equal(selection.fit, KPK_FIT_EXACT);
        assert_ok(kpk_close(inst));
    }
    {
        const kpk_module *const alike[] = {&test_module_beta,
                                           &test_module_newest};

        assert_status(kpk_open_modules(alike, 2, 0, &inst), KPK_ERR_ARG);
        assert_message("two of the modules to be opened are called \"beta\"");
    }
    assert_ptr_equal(kpk_pack_find(&test_pack_namesakes, "alpha"),
                     &test_module_alpha_gfx11);
}

/* A module that holds tables alone is no obstacle, and no help. */
/* Several modules are called m, and the code of each fits the device as well as
 * that of the others: the newest target's is open, in whatever order they lie.
 */
static void test_of_namesakes_that_fit_alike_the_newest_is_open(void **state)
{
    enum { M = 1, K = 3, TARGETS = 5, NBYTES = 11, NTARGETS = 4 };
    static const char text[] = "\0m\0k\0compute_75\0compute_80\0sm_80\0....."
                               "sm_86";
    static const struct kpk_kernel_desc kernel = {K, 0, 0, 0};
    static const struct kpk_kernel_attrs attrs = {.max_block = 256};
    static const struct kpk_blob blob = {.nbytes = 128};
    struct kpk_code_object objects[NTARGETS];
    kpk_module modules[NTARGETS];
    kpk_selection selection;
    kpk_instance *inst;

    (void)state;
    fake->targets[0] = "sm_89";
    for (uint32_t i = 0; i < NTARGETS; i++) {
        objects[i] = (struct kpk_code_object){
            TARGETS + i * NBYTES, 0, &blob, &attrs, {0}, NULL};
        modules[i] = (kpk_module){.format = KPK_FORMAT_VERSION,
                                  .name = M,
                                  .strings = text,
                                  .kernels = &kernel,
                                  .nkernels = 1,
                                  .objects = &objects[i],
                                  .nobjects = 1};
    }
    for (unsigned order = 0; order < 256; order++) {
        const kpk_module *list[NTARGETS];
        unsigned seen = 0;

        for (unsigned i = 0; i < NTARGETS; i++) {
            list[i] = &modules[order >> 2 * i & 3u];
            seen |= 1u << (order >> 2 * i & 3u);
        }
        if (seen != 15) /* each once */
            continue;
        assert_ok(kpk_open_modules(list, NTARGETS, 0, &inst));
        assert_ok(kpk_instance_selection(inst, "m", &selection));
        assert_string_equal(selection.target, "sm_86");
        assert_ok(kpk_close(inst));
    }
    { /* Two modules that do not fit do no harm beside another module. */
        const kpk_module *list[] = {&modules[2], &modules[3],
                                    &test_module_alpha};

        assert_ok(kpk_open_modules(list, 3, 1, &inst));
        assert_ok(kpk_close(inst));
    }
    { /* Two modules that fit equally do no harm beside one that fits better. */
        const kpk_module again = modules[2];
        const kpk_module *list[] = {&modules[2], &again, &modules[3]};

        assert_ok(kpk_open_modules(list, 3, 0, &inst));
        assert_ok(kpk_close(inst));
        assert_status(kpk_open_modules(list, 2, 0, &inst), KPK_ERR_ARG);
        list[1] = list[2];
        list[2] = &again;
        assert_ok(kpk_open_modules(list, 3, 0, &inst));
        assert_ok(kpk_close(inst));
        list[2] = list[1];
        assert_status(kpk_open_modules(list, 3, 0, &inst), KPK_ERR_ARG);
        assert_message("two of the modules to be opened are called \"m\"");
    }
}

static void test_module_of_tables_needs_no_code(void **state)
{
    const kpk_module *const both[] = {&test_module_tables, &test_module_alpha};
    const kpk_query query = {.kernel = "scale", .target = "gfx90a"};
    size_t row = 7;
    const kpk_kernel *kernel = NULL;
    kpk_instance *inst;

    (void)state;
    assert_ok(kpk_open_modules(both, 2, 0, &inst));
    assert_ok(kpk_table_kernel(inst, &test_module_tables, 0, 0, &kernel));
    assert_string_equal(kpk_kernel_name(kernel), "scale");
    kernel = NULL;
    assert_ok(kpk_table_select(&test_module_tables, 0, &query, &row));
    assert_int_equal(row, 0);
    assert_status(kpk_table_kernel(inst, &test_module_tables, 0, 1, &kernel),
                  KPK_ERR_NO_TARGET);
    assert_message("row 1 of table alpha is about scale on gfx1030, but device "
                   "0 is gfx90a");
    assert_status(kpk_table_kernel(inst, &test_module_tables, 0, 2, &kernel),
                  KPK_ERR_ARG);
    assert_null(kernel);
    assert_ok(kpk_close(inst));
}

static void test_names_of_modules_that_are_not_open_are_refused(void **state)
{
    kpk_selection selection;
    kpk_instance *inst;
    int option = 1;
    void *value = NULL;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_status(kpk_load(inst, "gamma"), KPK_ERR_NO_MODULE);
    assert_status(kpk_load_ex(inst, "gamma", 1, &option, &value),
                  KPK_ERR_NO_MODULE);
    assert_status(kpk_instance_selection(inst, "gamma", &selection),
                  KPK_ERR_NO_MODULE);
    assert_ok(kpk_close(inst));
}

static void test_one_gpu_is_told_as_one(void **state)
{
    kpk_device device;

    (void)state;
    fake->ndevices = 1;
    assert_status(kpk_device_get(5, &device), KPK_ERR_NO_DEVICE);
    assert_message("there is 1 GPU: the highest number is 0");
}

static void test_error_without_a_name_is_told(void **state)
{
    int n;

    (void)state;
    fake->fail_name = "hipGetDeviceCount";
    fake->lie_name = "hipGetErrorName";
    assert_status(kpk_device_count(&n), KPK_ERR_DRIVER);
    assert_message("returned an unnamed error (999), no text");
}

/* Entries of a module that no device selects. */
static void test_what_was_pruned_is_not_told_of(void **state)
{
    kpk_selection selection;

    (void)state;
    assert_status(kpk_select(&test_module_odd, "gfx90a", &selection),
                  KPK_ERR_NO_TARGET);
    assert_message("It holds: gfx1030, no target! (not a target ID). Rebuild");
    fake->targets[0] = "sm_90";
    {
        const kpk_module *const odd = &test_module_odd;
        kpk_instance *inst;

        assert_status(kpk_open_modules(&odd, 1, 0, &inst), KPK_ERR_NO_TARGET);
        assert_message("fits device sm_90");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_open_describes_device_and_loads_nothing,
                               reset),
        cmocka_unit_test_setup(test_get_loads_a_module_once, reset),
        cmocka_unit_test_setup(
            test_get_on_another_device_restores_the_current_one, reset),
        cmocka_unit_test_setup(test_get_says_what_is_missing, reset),
        cmocka_unit_test_setup(
            test_module_that_does_not_fit_fails_only_when_asked_for, reset),
        cmocka_unit_test_setup(test_open_fails_if_no_module_fits, reset),
        cmocka_unit_test_setup(test_open_modules_takes_any_order_and_no_twice,
                               reset),
        cmocka_unit_test_setup(
            test_of_modules_of_one_name_the_one_that_fits_is_open, reset),
        cmocka_unit_test_setup(test_kernel_that_fits_is_meant, reset),
        cmocka_unit_test_setup(test_success_leaves_the_last_failure_alone,
                               reset),
        cmocka_unit_test_setup(test_any_device_is_the_first_that_fits, reset),
        cmocka_unit_test_setup(test_open_names_a_device_that_would_fit, reset),
        cmocka_unit_test_setup(test_open_checks_device_and_format, reset),
        cmocka_unit_test_setup(test_damaged_code_objects_never_reach_hip,
                               reset),
        cmocka_unit_test_setup(
            test_unload_cuts_off_old_handles_until_loaded_again, reset),
        cmocka_unit_test_setup(test_device_with_unknown_features_is_opened,
                               reset),
        cmocka_unit_test_setup(test_device_that_stays_current_is_told, reset),
        cmocka_unit_test_setup(test_success_without_a_result_is_refused, reset),
        cmocka_unit_test_setup(test_attrs_are_those_of_the_selected_object,
                               reset),
        cmocka_unit_test_setup(test_shape_is_of_the_code_that_runs, reset),
        cmocka_unit_test_setup(test_close_takes_null_and_reports_failing_work,
                               reset),
        cmocka_unit_test_setup(test_refused_unload_keeps_the_module, reset),
        cmocka_unit_test_setup(test_load_failure_hints_at_a_hip_that_is_too_old,
                               reset),
        cmocka_unit_test_setup(test_every_failing_hip_call_is_survived, reset),
        cmocka_unit_test_setup(test_open_takes_the_namesake_that_fits_better,
                               reset),
        cmocka_unit_test_setup(
            test_of_namesakes_that_fit_alike_the_newest_is_open, reset),
        cmocka_unit_test_setup(test_module_of_tables_needs_no_code, reset),
        cmocka_unit_test_setup(
            test_names_of_modules_that_are_not_open_are_refused, reset),
        cmocka_unit_test_setup(test_one_gpu_is_told_as_one, reset),
        cmocka_unit_test_setup(test_error_without_a_name_is_told, reset),
        cmocka_unit_test_setup(test_what_was_pruned_is_not_told_of, reset),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("instance", tests, NULL, NULL);
}
