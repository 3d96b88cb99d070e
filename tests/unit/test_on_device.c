/* test_on_device.c - every way to launch, and HIP's word on every kernel
 *
 * On the devices that there are: the simulated ones in `make check`, or real
 * ones. Without any it says so and passes.
 */
#define _GNU_SOURCE
#include "unit_checks.h"

#include <dlfcn.h>
#include <string.h>

extern const kpk_pack kpk_candle; /* kpack/candle.h has it, too */

enum { N = 1003, MAX_DEVICES = 8 };

static int ndevices;

/* vector_add on one device: c = a + b. */
struct addition {
    kpk_instance *inst;
    const kpk_kernel *kernel;
    void *a, *b, *c;
    uint32_t n;
    kpk_shape shape;
};

static void begin(struct addition *add, int device)
{
    float host[N];

    assert_ok(kpk_open(&kpk_candle, device, &add->inst));
    assert_ok(kpk_kernel_get(add->inst, "vector_add", &add->kernel));
    add->n = N;
    add->shape = kpk_shape_1d(N, 128);
    assert_ok(kpk_malloc(add->inst, sizeof(host), &add->a));
    assert_ok(kpk_malloc(add->inst, sizeof(host), &add->b));
    assert_ok(kpk_malloc(add->inst, sizeof(host), &add->c));
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    assert_ok(kpk_copy_to(add->inst, add->a, host, sizeof(host)));
    for (int i = 0; i < N; i++)
        host[i] = (float)(2 * i + 1);
    assert_ok(kpk_copy_to(add->inst, add->b, host, sizeof(host)));
    assert_ok(kpk_fill(add->inst, add->c, 0xff, sizeof(host)));
}

/* The sums are right; wipes them for the next launch. */
static void check_sums(struct addition *add, const char *how)
{
    float host[N];

    assert_ok(kpk_sync(add->inst, NULL));
    assert_ok(kpk_sync(add->inst, KPK_STREAM_PER_THREAD));
    assert_ok(kpk_copy_from(add->inst, host, add->c, sizeof(host)));
    for (int i = 0; i < N; i++) {
        const float wanted = (float)(3 * i + 1);

        if (host[i] != wanted)
            fail_msg("%s on %s: element %d is %g, not %g", how,
                     kpk_instance_device(add->inst)->target, i, (double)host[i],
                     (double)wanted);
    }
    assert_ok(kpk_fill(add->inst, add->c, 0xff, sizeof(host)));
}

static void end(struct addition *add)
{
    assert_ok(kpk_free(add->inst, add->a));
    assert_ok(kpk_free(add->inst, add->b));
    assert_ok(kpk_free(add->inst, add->c));
    assert_ok(kpk_close(add->inst));
}

static void launch_every_way(struct addition *add)
{
    const kpk_device *device = kpk_instance_device(add->inst);
    struct {
        void *a, *b, *c;
        uint32_t n;
    } packed = {add->a, add->b, add->c, add->n};
    kpk_launch_options options = {.shape = add->shape};
    kpk_status st;
    int version;

    assert_ok(kpk_launch(add->kernel, &add->shape, NULL,
                         KPK_ARGS(add->a, add->b, add->c, add->n)));
    check_sums(add, "kpk_launch");
    assert_ok(kpk_launch_packed(add->kernel, &add->shape, NULL, &packed,
                                sizeof(packed)));
    check_sums(add, "kpk_launch_packed");
    st = kpk_launch(add->kernel, &add->shape, KPK_STREAM_PER_THREAD,
                    KPK_ARGS(add->a, add->b, add->c, add->n));
    assert_ok(kpk_driver_info(KPK_HIP, &version, NULL));
    if (version < 50300000) {
        assert_int_equal(st, KPK_ERR_UNSUPPORTED);
    } else {
        assert_ok(st);
        check_sums(add, "the thread's own stream");
    }
    options.flags = KPK_LAUNCH_ANY_ORDER;
    options.packed = &packed;
    options.packed_nbytes = sizeof(packed);
    st = kpk_launch_ex(add->kernel, &options, NULL, 0);
    if (st != KPK_ERR_UNSUPPORTED) {
        assert_ok(st);
        check_sums(add, "KPK_LAUNCH_ANY_ORDER, packed");
    }
    options.flags = KPK_LAUNCH_COOPERATIVE;
    st = kpk_launch_ex(add->kernel, &options, NULL, 0);
    if (device->cooperative) {
        assert_ok(st);
        check_sums(add, "KPK_LAUNCH_COOPERATIVE, packed");
    } else {
        assert_int_equal(st, KPK_ERR_UNSUPPORTED);
    }
}

static void test_every_way_to_launch_computes_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < ndevices; i++) {
        struct addition add;

        begin(&add, i);
        launch_every_way(&add);
        end(&add);
    }
}

static void test_launch_all_runs_on_all_devices(void **state)
{
    struct addition adds[MAX_DEVICES] = {{0}};
    kpk_arg args[MAX_DEVICES][4];
    kpk_launch_item items[MAX_DEVICES];

    (void)state;
    for (int i = 0; i < ndevices; i++) {
        struct addition *add = &adds[i];

        begin(add, i);
        args[i][0] = (kpk_arg){&add->a, sizeof(void *)};
        args[i][1] = (kpk_arg){&add->b, sizeof(void *)};
        args[i][2] = (kpk_arg){&add->c, sizeof(void *)};
        args[i][3] = (kpk_arg){&add->n, sizeof(add->n)};
        items[i] = (kpk_launch_item){add->kernel, add->shape, NULL, args[i], 4};
    }
    assert_ok(kpk_launch_all(items, (size_t)ndevices, 0));
    for (int i = 0; i < ndevices; i++) {
        check_sums(&adds[i], "kpk_launch_all");
        end(&adds[i]);
    }
}

/* ---- HIP's word on every kernel ----------------------------------------- */

static void compare_attrs(const kpk_kernel *kernel, const kpk_device *device)
{
    kpk_attrs attrs;
    int hip[4];

    assert_ok(kpk_kernel_attrs(kernel, &attrs));
    assert_ok(
        kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_MAX_BLOCK, &hip[0]));
    assert_ok(
        kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_LDS_NBYTES, &hip[1]));
    assert_ok(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_SCRATCH_NBYTES,
                                     &hip[2]));
    assert_ok(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_VGPRS, &hip[3]));
    if (attrs.max_block != (uint32_t)hip[0] ||
        attrs.lds_nbytes != (uint32_t)hip[1] ||
        attrs.scratch_nbytes != (uint32_t)hip[2] ||
        attrs.vgprs != (uint32_t)hip[3])
        fail_msg("%s on %s: block, LDS, scratch, VGPRs are %u %u %u %u in the "
                 "tables, %d %d %d %d by HIP",
                 kpk_kernel_name(kernel), device->target, attrs.max_block,
                 attrs.lds_nbytes, attrs.scratch_nbytes, attrs.vgprs, hip[0],
                 hip[1], hip[2], hip[3]);
}

static void test_attributes_agree_with_hip_for_every_kernel(void **state)
{
    size_t ncompared = 0;

    (void)state;
    for (int i = 0; i < ndevices; i++) {
        kpk_instance *inst;

        assert_ok(kpk_open(&kpk_candle, i, &inst));
        for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
            const kpk_module *module = kpk_pack_module(&kpk_candle, m);

            for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
                kpk_kernel_decl decl;
                const kpk_kernel *kernel;

                assert_ok(kpk_module_kernel(module, k, &decl));
                assert_ok(kpk_kernel_get_in(inst, kpk_module_name(module),
                                            decl.name, &kernel));
                compare_attrs(kernel, kpk_instance_device(inst));
                ncompared++;
            }
        }
        assert_ok(kpk_close(inst));
    }
    assert_true(ncompared > 0);
}

static void test_symbols_are_the_kernels_of_the_tables(void **state)
{
    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_candle, m);

        for (size_t o = 0; o < kpk_module_object_count(module); o++) {
            kpk_symbol symbols[512];
            size_t nkernels = 0;
            size_t n;

            assert_ok(kpk_module_symbols(module, o, symbols, 512, &n));
            assert_true(n <= 512);
            for (size_t i = 0; i < n; i++)
                nkernels += symbols[i].kind == KPK_SYMBOL_KERNEL;
            assert_int_equal(nkernels, kpk_module_kernel_count(module));
        }
    }
}

/* The simulated GPU's fault goes with hipDeviceReset(). A real one's stays
 * until the process ends, so it is left alone here. */
static void test_fault_is_told_when_the_device_is_opened(void **state)
{
    const kpk_shape shape = kpk_shape_1d(N, 128);
    uint32_t n = N;
    void *nowhere = NULL, *library;
    const char *path;
    int (*reset)(void);
    int version = 0;
    const kpk_kernel *kernel;
    kpk_instance *inst, *again;

    (void)state;
    if (kpk_driver_info(KPK_HIP, &version, &path) != KPK_OK ||
        version < 70000000)
        skip(); /* ends the process */
    library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    if (!dlsym(library, "kpkSimLastFault")) /* AMD's own runtime */
        skip();
    assert_ok(kpk_open(&kpk_candle, 0, &inst));
    assert_ok(kpk_kernel_get(inst, "vector_add", &kernel));
    assert_ok(kpk_launch(kernel, &shape, NULL,
                         KPK_ARGS(nowhere, nowhere, nowhere, n)));
    assert_status(kpk_sync(inst, NULL), KPK_ERR_DRIVER);
    assert_message("Start the program again");
    assert_status(kpk_open(&kpk_candle, 0, &again), KPK_ERR_DRIVER);
    assert_message("after a fault in this process: hipDeviceSynchronize "
                   "returned hipErrorIllegalAddress");
    *(void **)&reset = dlsym(library, "hipDeviceReset");
    assert_int_equal(reset(), 0);
    assert_ok(kpk_open(&kpk_candle, 0, &again));
    assert_ok(kpk_close(again));
    assert_ok(kpk_close(inst));
    assert_int_equal(dlclose(library), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_to_launch_computes_the_same),
        cmocka_unit_test(test_launch_all_runs_on_all_devices),
        cmocka_unit_test(test_attributes_agree_with_hip_for_every_kernel),
        cmocka_unit_test(test_symbols_are_the_kernels_of_the_tables),
        cmocka_unit_test(test_fault_is_told_when_the_device_is_opened),
    };

    if (kpk_device_count(&ndevices) != KPK_OK || ndevices == 0) {
        printf("left out, no device: %s\n", kpk_error_message());
        return 0;
    }
    if (ndevices > MAX_DEVICES)
        ndevices = MAX_DEVICES;
    if (!kpk_pack_find(&kpk_candle, "vector_add")) {
        printf("left out, the pack was built without vector_add\n");
        return 0;
    }
    return cmocka_run_group_tests_name("on_device", tests, NULL, NULL);
}
