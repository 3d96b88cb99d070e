/* test_launch_ex.c - events, flags, cooperation, several devices at once */
#include "unit_checks.h"

#include "fake_hip.h"
#include "hip.h"
#include "test_pack.h"

static struct fake_hip *fake;
static kpk_instance *inst;
static int start;
static int stop;
static int stream;

static struct kpk_i_gpu bound; /* whole, however a test leaves it */

static int open_pack(void **state)
{
    (void)state;
    fake_hip_reset(fake);
    if (!bound.hipMalloc && kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_OK)
        bound = kpk_i_hip;
    kpk_i_hip = bound;
    return kpk_open(&test_pack, 0, &inst) == KPK_OK ? 0 : -1;
}

static int close_pack(void **state)
{
    (void)state;
    return kpk_close(inst) == KPK_OK && fake->live == 0 &&
                   fake->nviolations == 0
               ? 0
               : -1;
}

static const kpk_kernel *get(const char *name)
{
    const kpk_kernel *kernel = NULL;

    assert_ok(kpk_kernel_get(inst, name, &kernel));
    return kernel;
}

static void test_events_and_order_go_through_ext_launch_in_threads(void **state)
{
    const kpk_kernel *kernel = get("scale");
    const kpk_launch_options options = {.shape = {{5, 2, 3}, {64, 2, 1}, 256},
                                        .stream = &stream,
                                        .flags = KPK_LAUNCH_ANY_ORDER,
                                        .start_event = &start,
                                        .stop_event = &stop};
    void *x = (void *)0x1234;
    uint32_t n = 9;
    float by = 1;

    (void)state;
    fake->param_nbytes[0] = 8;
    fake->param_nbytes[1] = 4;
    assert_ok(kpk_launch_ex(kernel, &options, KPK_ARGS(x, n, by)));
    assert_string_equal(fake->last.call, "hipExtModuleLaunchKernel");
    assert_int_equal(fake->last.grid[0], 5 * 64);
    assert_int_equal(fake->last.grid[1], 2 * 2);
    assert_int_equal(fake->last.grid[2], 3);
    assert_int_equal(fake->last.block[0], 64);
    assert_int_equal(fake->last.shared_nbytes, 256);
    assert_int_equal(fake->last.flags, 1);
    assert_ptr_equal(fake->last.stream, &stream);
    assert_ptr_equal(fake->last.start_event, &start);
    assert_ptr_equal(fake->last.stop_event, &stop);
    assert_int_equal(fake->last.params[0], 0x1234);
    assert_int_equal(fake->last.params[1], 9);
}

static void test_plain_options_are_a_plain_launch(void **state)
{
    const kpk_kernel *kernel = get("slots");
    kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 2, 1}, 0},
                                  .stream = KPK_STREAM_PER_THREAD};
    void *x = (void *)0x1234;
    uint32_t n = 9;
    unsigned char buffer[32] = {1, 2, 3};

    (void)state;
    assert_ok(kpk_launch_ex(kernel, &options, KPK_ARGS(x, n)));
    assert_string_equal(fake->last.call, "hipModuleLaunchKernel");
    assert_true(fake->last.has_params);
    assert_int_equal((uintptr_t)fake->last.stream, 2); /* hipStreamPerThread */
    options.packed = buffer;
    options.packed_nbytes = sizeof(buffer);
    assert_ok(kpk_launch_ex(kernel, &options, NULL, 0));
    assert_true(fake->last.has_extra);
    assert_memory_equal(fake->last.extra, buffer, 32);
}

static void test_packed_buffer_with_events_is_taken_apart(void **state)
{
    const kpk_kernel *kernel = get("slots");
    unsigned char buffer[20];
    const kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 2, 1}, 0},
                                        .stop_event = &stop,
                                        .packed = buffer,
                                        .packed_nbytes = sizeof(buffer)};
    kpk_launch_options shorter = options;
    uint64_t x = 0x1122334455667788;
    uint32_t n = 5;

    (void)state;
    memset(buffer, 0xee, sizeof(buffer));
    memcpy(buffer, &x, 8);
    memcpy(buffer + 16, &n, 4);
    fake->param_nbytes[0] = 8;
    fake->param_nbytes[1] = 8;
    fake->param_nbytes[2] = 4;
    fake->param_nbytes[3] = 8; /* the padding that the buffer leaves out */
    assert_ok(kpk_launch_ex(kernel, &options, NULL, 0));
    assert_int_equal(fake->last.params[0], 0x1122334455667788);
    assert_int_equal(fake->last.params[2], 5);
    assert_int_equal(fake->last.params[3], 0);
    shorter.packed_nbytes = 19;
    assert_status(kpk_launch_ex(kernel, &shorter, NULL, 0),
                  KPK_ERR_KERNEL_ARGS);
}

static void
test_cooperative_launch_is_limited_to_what_runs_at_once(void **state)
{
    const kpk_kernel *kernel = get("noargs");
    /* 228 compute units of 2 blocks each; 1 with much shared memory */
    kpk_launch_options options = {.shape = {{456, 1, 1}, {64, 1, 1}, 0},
                                  .flags = KPK_LAUNCH_COOPERATIVE};

    (void)state;
    assert_ok(kpk_launch_ex(kernel, &options, NULL, 0));
    assert_string_equal(fake->last.call, "hipModuleLaunchCooperativeKernel");
    assert_int_equal(fake->last.grid[0], 456);
    options.shape.grid[0] = 457;
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_SHAPE);
    assert_message("a cooperative launch of grid 457 x 1 x 1 has more blocks "
                   "than device 0 runs at once: 2 on each of 228");
    options.shape.grid[0] = 4;
    options.shape.grid[1] = 65536;
    options.shape.grid[2] = 65535;
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_SHAPE);
    options.shape = (kpk_shape){{229, 1, 1}, {64, 1, 1}, 40000};
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_SHAPE);
    assert_int_equal(fake->nlaunches, 1);
}

static void test_clusters_are_not_of_hip(void **state)
{
    const kpk_launch_options options = {.shape = {{4, 1, 1}, {64, 1, 1}, 0},
                                        .cluster = {2, 1, 1}};

    (void)state;
    assert_status(kpk_launch_ex(get("noargs"), &options, NULL, 0),
                  KPK_ERR_UNSUPPORTED);
    assert_message("noargs: HIP launches no clusters of blocks");
    assert_int_equal(fake->nlaunches, 0);
}

static void test_early_launch_is_an_ordinary_one_of_hip(void **state)
{
    const kpk_launch_options options = {.shape = {{4, 1, 1}, {64, 1, 1}, 0},
                                        .flags = KPK_LAUNCH_EARLY};

    (void)state;
    assert_ok(kpk_launch_ex(get("noargs"), &options, NULL, 0));
    assert_string_equal(fake->last.call, "hipModuleLaunchKernel");
    assert_int_equal(fake->last.grid[0], 4);
    assert_int_equal(fake->nlaunches, 1);
}

static void test_cooperative_launch_needs_a_device_that_can(void **state)
{
    const kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 1, 1}, 0},
                                        .flags = KPK_LAUNCH_COOPERATIVE};
    const kpk_kernel *kernel;
    kpk_instance *other;

    (void)state;
    fake->not_cooperative = 1;
    assert_ok(kpk_open(&test_pack, 0, &other));
    assert_ok(kpk_kernel_get(other, "noargs", &kernel));
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0),
                  KPK_ERR_UNSUPPORTED);
    assert_message("device 0 (gfx90a:sramecc+:xnack-) does not do cooperative");
    assert_ok(kpk_close(other));
}

static void test_options_that_exclude_each_other_are_refused(void **state)
{
    const kpk_kernel *kernel = get("noargs");
    kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 1, 1}, 0}};
    unsigned char buffer[8];
    uint32_t n = 1;

    (void)state;
    options.flags = KPK_LAUNCH_NO_PRE_SYNC;
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_ARG);
    options.flags = KPK_LAUNCH_COOPERATIVE | KPK_LAUNCH_ANY_ORDER;
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_ARG);
    options.flags = KPK_LAUNCH_COOPERATIVE;
    options.start_event = &start;
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_ARG);
    assert_message("takes no events");
    options.flags = 0;
    options.packed = buffer;
    assert_status(kpk_launch_ex(kernel, &options, KPK_ARGS(n)), KPK_ERR_ARG);
    options.packed = NULL;
    options.packed_nbytes = 8;
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_ARG);
    assert_status(kpk_launch_ex(NULL, &options, NULL, 0), KPK_ERR_ARG);
    assert_status(kpk_launch_ex(kernel, NULL, NULL, 0), KPK_ERR_ARG);
    /* The shape is checked on every way. */
    options = (kpk_launch_options){.shape = {{1, 1, 1}, {0, 1, 1}, 0},
                                   .stop_event = &stop};
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_SHAPE);
    assert_int_equal(fake->nlaunches, 0);
}

static void test_launch_all_checks_all_before_starting_one(void **state)
{
    kpk_instance *other;
    const kpk_kernel *there;
    uint32_t n = 1;
    const kpk_arg arg = {&n, 4};
    kpk_launch_item items[2] = {{.shape = {{1, 1, 1}, {64, 1, 1}, 0}},
                                {.shape = {{2, 1, 1}, {64, 1, 1}, 0}}};

    (void)state;
    assert_ok(kpk_open(&test_pack, 1, &other));
    assert_ok(kpk_kernel_get(other, "noargs", &there));
    items[0].kernel = get("noargs");
    items[1].kernel = there;
    assert_ok(kpk_launch_all(items, 2, 0));
    assert_int_equal(fake->nlaunches, 2);
    assert_int_equal(fake->last.device, 1);
    assert_int_equal(fake->last.grid[0], 2);
    items[1].args = &arg;
    items[1].nargs = 1;
    assert_status(kpk_launch_all(items, 2, 0), KPK_ERR_KERNEL_ARGS);
    assert_int_equal(fake->nlaunches, 2);
    assert_ok(kpk_launch_all(NULL, 0, 0));
    assert_status(kpk_launch_all(NULL, 1, 0), KPK_ERR_ARG);
    assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_ANY_ORDER), KPK_ERR_ARG);
    assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_NO_PRE_SYNC),
                  KPK_ERR_ARG);
    assert_ok(kpk_close(other));
}

/* HIP 5.2 crashes when it launches on the thread's own stream. */
static void test_launch_all_checks_every_stream_first(void **state)
{
    kpk_launch_item items[2] = {{.shape = {{1, 1, 1}, {64, 1, 1}, 0}},
                                {.shape = {{2, 1, 1}, {64, 1, 1}, 0}}};

    (void)state;
    items[0].kernel = items[1].kernel = get("noargs");
    items[1].stream = KPK_STREAM_PER_THREAD;
    assert_ok(kpk_launch_all(items, 2, 0)); /* HIP 6 does it */
    assert_int_equal(fake->nlaunches, 2);
    items[1].kernel = NULL;
    assert_status(kpk_launch_all(items, 2, 0), KPK_ERR_ARG);
    assert_message("the kernel of item 1 is NULL");
    assert_int_equal(fake->nlaunches, 2);
}

static void test_cooperative_launch_over_devices_is_one_call(void **state)
{
    kpk_instance *other;
    const kpk_kernel *there;
    int stream_there;
    void *x = (void *)0x77;
    uint32_t n = 1;
    float by = 1;
    const kpk_arg args[] = {{&x, 8}, {&n, 4}, {&by, 4}};
    kpk_launch_item items[2] = {{.shape = {{7, 1, 1}, {64, 1, 1}, 0}},
                                {.shape = {{7, 1, 1}, {64, 1, 1}, 0}}};

    (void)state;
    assert_ok(kpk_open(&test_pack, 1, &other));
    assert_ok(kpk_kernel_get(other, "scale", &there));
    items[0].kernel = get("scale");
    items[0].stream = &stream;
    items[1].kernel = there;
    items[1].stream = &stream_there;
    for (int i = 0; i < 2; i++) {
        items[i].args = args;
        items[i].nargs = 3;
    }
    fake->param_nbytes[0] = 8;
    assert_ok(kpk_launch_all(items, 2,
                             KPK_LAUNCH_COOPERATIVE | KPK_LAUNCH_NO_POST_SYNC));
    assert_string_equal(fake->last.call,
                        "hipModuleLaunchCooperativeKernelMultiDevice");
    assert_int_equal(fake->last.nlaunches, 2);
    assert_int_equal(fake->last.flags, 2);
    assert_int_equal(fake->last.device, 1);
    assert_int_equal(fake->last.grid[0], 7);
    assert_int_equal(fake->last.params[0], 0x77);
    assert_ptr_equal(fake->last.stream, &stream_there);

    items[1].stream = NULL;
    assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_ARG);
    assert_message("item 1 (scale) has no stream of its own");
    items[1] = items[0];
    assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_ARG);
    assert_message("items 0 and 1 are both on device 0");
    assert_ok(kpk_close(other));
}

/* The message names the function that a HIP lacks; kpack looks for the function
 * before any other work. */
static void test_launch_without_its_function_is_refused(void **state)
{
    const kpk_launch_options events = {.shape = {{1, 1, 1}, {64, 1, 1}, 0},
                                       .start_event = &start};
    const kpk_launch_options together = {.shape = {{1000, 1, 1}, {64, 1, 1}, 0},
                                         .flags = KPK_LAUNCH_COOPERATIVE};
    const kpk_launch_item item = {
        get("noargs"), {{1, 1, 1}, {64, 1, 1}, 0}, &stream, NULL, 0};

    (void)state;
    kpk_i_hip.hipExtModuleLaunchKernel = NULL;
    assert_status(kpk_launch_ex(get("noargs"), &events, NULL, 0),
                  KPK_ERR_UNSUPPORTED);
    assert_message("a launch with events or flags needs "
                   "hipExtModuleLaunchKernel, which HIP 6.3");
    kpk_i_hip.hipModuleLaunchCooperativeKernel = NULL;
    assert_status(kpk_launch_ex(get("noargs"), &together, NULL, 0),
                  KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleLaunchCooperativeKernel, which");
    kpk_i_hip.hipModuleLaunchCooperativeKernelMultiDevice = NULL;
    assert_status(kpk_launch_all(&item, 1, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleLaunchCooperativeKernelMultiDevice, which");
    kpk_i_hip = bound;
    assert_int_equal(fake->nlaunches, 0);
    /* Without occupancy HIP itself is left to refuse a grid. */
    kpk_i_hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = NULL;
    assert_ok(kpk_launch_ex(get("noargs"), &together, NULL, 0));
    kpk_i_hip = bound;
    assert_status(kpk_launch_ex(get("noargs"), &together, NULL, 0),
                  KPK_ERR_SHAPE);
    assert_ok(kpk_launch_ex(get("noargs"), &events, NULL, 0));
    assert_ptr_equal(fake->last.start_event, &start);
}

static void test_unloaded_kernel_is_refused_on_every_way(void **state)
{
    kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 1, 1}, 0},
                                  .flags = KPK_LAUNCH_ANY_ORDER};
    kpk_launch_item item = {get("noargs"), options.shape, &stream, NULL, 0};

    (void)state;
    assert_ok(kpk_unload(inst, "alpha"));
    assert_status(kpk_launch_ex(item.kernel, &options, NULL, 0),
                  KPK_ERR_UNLOADED);
    assert_status(kpk_launch_all(&item, 1, 0), KPK_ERR_UNLOADED);
    assert_status(kpk_launch_all(&item, 1, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_UNLOADED);
    options.flags = KPK_LAUNCH_COOPERATIVE;
    assert_status(kpk_launch_ex(item.kernel, &options, NULL, 0),
                  KPK_ERR_UNLOADED);
    kpk_i_hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = NULL;
    assert_status(kpk_launch_ex(item.kernel, &options, NULL, 0),
                  KPK_ERR_UNLOADED);
    assert_int_equal(fake->nlaunches, 0);
}

static void test_limits_of_launches_on_several_devices(void **state)
{
    const kpk_kernel *kernel = get("noargs");
    kpk_launch_item items[KPK_MAX_COOPERATIVE + 1];
    kpk_instance *other;

    (void)state;
    for (int i = 0; i <= KPK_MAX_COOPERATIVE; i++)
        items[i] = (kpk_launch_item){
            kernel, {{1, 1, 1}, {64, 1, 1}, 0}, &stream, NULL, 0};
    assert_status(
        kpk_launch_all(items, KPK_MAX_COOPERATIVE + 1, KPK_LAUNCH_COOPERATIVE),
        KPK_ERR_ARG);
    assert_message("17 kernels together, 16 is the most");
    assert_status(
        kpk_launch_all(items, 1, KPK_LAUNCH_COOPERATIVE | KPK_LAUNCH_ANY_ORDER),
        KPK_ERR_ARG);
    assert_message("do not belong to a cooperative launch");
    items[1].nargs = 3;
    assert_status(kpk_launch_all(items, 2, 0), KPK_ERR_KERNEL_ARGS);
    items[1].shape.grid[0] = 0;
    assert_status(kpk_launch_all(items, 2, 0), KPK_ERR_SHAPE);
    fake->not_cooperative_multi = 1;
    assert_ok(kpk_open(&test_pack, 0, &other));
    assert_ok(kpk_kernel_get(other, "noargs", &items[0].kernel));
    assert_status(kpk_launch_all(items, 1, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_UNSUPPORTED);
    assert_message("does not do cooperative launches over several devices");
    assert_ok(kpk_close(other));
    /* A list is left where HIP refuses a launch. */
    items[0].kernel = kernel;
    items[1] = items[0];
    fake->fail_name = "hipModuleLaunchKernel";
    fake->fail_nth = 1;
    assert_status(kpk_launch_all(items, 2, 0), KPK_ERR_DRIVER);
    assert_int_equal(fake->nlaunches, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pack, close_pack)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_events_and_order_go_through_ext_launch_in_threads),
        TEST(test_plain_options_are_a_plain_launch),
        TEST(test_packed_buffer_with_events_is_taken_apart),
        TEST(test_cooperative_launch_is_limited_to_what_runs_at_once),
        TEST(test_clusters_are_not_of_hip),
        TEST(test_early_launch_is_an_ordinary_one_of_hip),
        TEST(test_cooperative_launch_needs_a_device_that_can),
        TEST(test_options_that_exclude_each_other_are_refused),
        TEST(test_launch_all_checks_all_before_starting_one),
        TEST(test_launch_all_checks_every_stream_first),
        TEST(test_cooperative_launch_over_devices_is_one_call),
        TEST(test_launch_without_its_function_is_refused),
        TEST(test_unloaded_kernel_is_refused_on_every_way),
        TEST(test_limits_of_launches_on_several_devices),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("launch_ex", tests, NULL, NULL);
}
