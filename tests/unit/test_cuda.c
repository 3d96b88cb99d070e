/* test_cuda.c - the same calls on CUDA's driver, beside HIP
 *
 * The driver is the fake of fake_cuda.c.
 */
#include "unit_checks.h"

#include "cuda_pack.h"
#include "fake_cuda.h"
#include "fake_hip.h"
#include "system.h"
#include "test_pack.h"

#include <stdbool.h>
#include <stdlib.h>

static struct fake_cuda *cuda;
static struct fake_hip *hip;

/* ---- refused objects, and an object of an older CUDA ------------------ */

BLOB(torn_ptx, 13, ".version\0 7.8");
BLOB(short_ptx, 7, ".versio");
BLOB(other_amd, 128, ELF(64, 62));
BLOB(other_cubin, 128, ELF(0x41, 62));
BLOB(older_cubin, 128, ELF(0x33, 190));

/* clang-format off */
static const struct kpk_code_object torn_objects[] = {
    {COMPUTE_80, 78, &torn_ptx.head, attrs, {0}, NULL},
    {GFX90A, 5, &cubin.head, attrs, {0}, NULL},
    {SM_90, 130, &amd.head, attrs, {0}, NULL}};
static const struct kpk_code_object short_objects[] = {
    {COMPUTE_80, 78, &short_ptx.head, attrs, {0}, NULL},
    {GFX90A, 5, &other_amd.head, attrs, {0}, NULL},
    {SM_90, 130, &other_cubin.head, attrs, {0}, NULL}};
static const uint32_t older_symbols[] = {SCALE, BOTH};
static const struct kpk_code_object older_objects[] = {
    {COMPUTE_80, 78, &ptx.head, attrs, {0}, NULL},
    {GFX90A, 5, &other_amd.head, attrs, {0}, NULL},
    {SM_90, 140, &older_cubin.head, attrs, {0}, older_symbols}};
/* clang-format on */

MODULE(torn, torn_objects);
MODULE(shortened, short_objects);
/* A cubin with an older ABI, from a newer CUDA; kernels with swapped names. */
MODULE(older, older_objects);

/* Devices 0 and 1 are HIP's, 2 (sm_90) and 3 (sm_120) CUDA's. */
static kpk_instance *open_on(int device)
{
    kpk_instance *gpu = NULL;

    assert_ok(kpk_open(&pack, device, &gpu));
    return gpu;
}

static int reset(void **state)
{
    (void)state;
    fake_hip_reset(hip);
    fake_cuda_reset(cuda);
    return 0;
}

/* Nothing is left over: no context, no memory, no wrong use. */
static int check_clean(void **state)
{
    (void)state;
    assert_int_equal(cuda->depth(), 0);
    assert_int_equal(cuda->live, 0);
    assert_int_equal(cuda->nviolations, 0);
    return 0;
}

/* Runs first: nothing has asked for a CUDA device yet. */
static void test_hip_devices_leave_cuda_alone(void **state)
{
    const kpk_kernel *k;
    kpk_device device;
    kpk_instance *gpu;
    int n = 0;

    (void)state;
    assert_ok(kpk_platform_device_count(KPK_HIP, &n));
    assert_int_equal(n, 2);
    gpu = open_on(0);
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_ok(kpk_device_get(1, &device));
    assert_int_equal(device.platform, KPK_HIP);
    assert_int_equal(device.index, 1);
    assert_ok(kpk_close(gpu));
    /* Nor where one of HIP's will do, or is asked for and will not. */
    gpu = open_on(KPK_ANY_DEVICE);
    assert_int_equal(kpk_instance_ordinal(gpu), 0);
    assert_ok(kpk_close(gpu));
    assert_status(kpk_open(&test_pack_nvidia, 0, &gpu), KPK_ERR_NO_TARGET);
    assert_null(strstr(kpk_error_message(), "would run it"));
    assert_int_equal(cuda->ncalls, 0);
}

static void test_any_device_may_be_of_cuda(void **state)
{
    kpk_instance *gpu;

    (void)state;
    assert_ok(kpk_open(&test_pack_nvidia, KPK_ANY_DEVICE, &gpu));
    assert_int_equal(kpk_instance_ordinal(gpu), 2);
    assert_ok(kpk_close(gpu));
    assert_status(kpk_open(&test_pack, 3, &gpu), KPK_ERR_NO_TARGET);
    assert_message("Device 0 (gfx90a:sramecc+:xnack-) would run it");
}

static void test_devices_are_numbered_hip_first(void **state)
{
    kpk_device device;
    const char *path = NULL;
    int version = 0;
    int n = 0;

    (void)state;
    assert_ok(kpk_device_count(&n));
    assert_int_equal(n, 4);
    assert_ok(kpk_device_get(3, &device));
    assert_int_equal(device.platform, KPK_CUDA);
    assert_int_equal(device.index, 1);
    assert_string_equal(device.target, "sm_120");
    assert_string_equal(device.name, "Fake CUDA 1");
    assert_status(kpk_device_get(4, &device), KPK_ERR_NO_DEVICE);
    assert_message("there are 4 GPUs: the highest number is 3");
    assert_ok(kpk_driver_info(KPK_CUDA, &version, &path));
    assert_int_equal(version, 13000);
    assert_non_null(strstr(path, driver_file("fake_cuda.so")));
    assert_ok(kpk_driver_info(KPK_HIP, &version, &path));
    assert_int_equal(version, hip->version);
    assert_status(kpk_driver_info((kpk_platform)2, NULL, NULL), KPK_ERR_ARG);
    assert_message("kpk_driver_info: 2 is neither KPK_HIP nor KPK_CUDA");
    cuda->ndevices = 1; /* read when the driver was started, and no more */
    assert_ok(kpk_platform_device_count(KPK_CUDA, &n));
    assert_int_equal(n, 2);
    n = -5;
    assert_status(kpk_platform_device_count((kpk_platform)2, &n), KPK_ERR_ARG);
    assert_message("kpk_platform_device_count: 2 is neither");
    assert_int_equal(n, -5);
}

static void test_device_has_every_number(void **state)
{
    kpk_device d;

    (void)state;
    assert_ok(kpk_device_get(2, &d));
    assert_int_equal(d.memory_nbytes, (uint64_t)80 << 30);
    assert_int_equal(d.lds_nbytes, 232448);
    assert_int_equal(d.wave_size, 32);
    assert_int_equal(d.max_block, 1024);
    assert_int_equal(d.max_block_dim[0], 1024);
    assert_int_equal(d.max_block_dim[1], 1023);
    assert_int_equal(d.max_block_dim[2], 64);
    assert_int_equal(d.max_grid[0], 2147483647);
    assert_int_equal(d.max_grid[1], 65535);
    assert_int_equal(d.max_grid[2], 65534);
    assert_int_equal(d.compute_units, 132);
    assert_int_equal(d.cooperative, 1);
    assert_int_equal(d.cooperative_multi, 0);
}

static void test_cubin_and_ptx_are_launched(void **state)
{
    (void)state;
    for (int device = 2; device < 4; device++) {
        kpk_instance *gpu = open_on(device);
        kpk_shape shape = {{3, 2, 1}, {64, 4, 1}, 100000};
        const kpk_kernel *k;
        kpk_selection selection;
        void *x = NULL;
        double by = 2;

        assert_ok(kpk_instance_selection(gpu, "both", &selection));
        assert_string_equal(selection.target,
                            device == 2 ? "sm_90" : "compute_80");
        assert_ok(kpk_malloc(gpu, 64, &x));
        assert_ok(kpk_kernel_get(gpu, "scale", &k));
        assert_int_equal(cuda->nptx, device == 3);
        assert_int_equal(cuda->dynamic_shared, 232448 - 2448);
        assert_ok(
            kpk_launch(k, &shape, KPK_STREAM_PER_THREAD, KPK_ARGS(x, by)));
        assert_string_equal(cuda->last.kernel, "scale");
        assert_int_equal(cuda->last.device, device - 2);
        assert_int_equal(cuda->last.grid[1], 2);
        assert_int_equal(cuda->last.block[1], 4);
        assert_int_equal(cuda->last.shared_nbytes, 100000);
        assert_ptr_equal(cuda->last.stream, KPK_STREAM_PER_THREAD);
        assert_int_equal(cuda->last.param, (uintptr_t)x);
        assert_ok(kpk_free(gpu, x));
        assert_ok(kpk_close(gpu));
    }
}

static void test_launch_in_clusters(void **state)
{
    kpk_instance *gpu = open_on(2), *before_clusters;
    kpk_launch_options options = {.shape = {{6, 2, 1}, {64, 1, 1}, 512},
                                  .cluster = {3, 0, 1}};
    unsigned char buffer[16] = {7};
    uint64_t x = 9;
    double by = 1;
    const kpk_kernel *k;

    (void)state;
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_string_equal(cuda->last.kernel, "scale");
    assert_int_equal(cuda->last.grid[0], 6);
    assert_int_equal(cuda->last.grid[1], 2);
    assert_int_equal(cuda->last.block[0], 64);
    assert_int_equal(cuda->last.shared_nbytes, 512);
    assert_int_equal(cuda->last.param, 9);
    assert_int_equal(cuda->last.cluster[0], 3);
    assert_int_equal(cuda->last.cluster[1], 1);
    assert_int_equal(cuda->last.cluster[2], 1);
    options.packed = buffer;
    options.packed_nbytes = sizeof(buffer);
    assert_ok(kpk_launch_ex(k, &options, NULL, 0));
    assert_int_equal(cuda->last.param, 7);
    assert_int_equal(cuda->last.cluster[0], 3);
    options.packed = NULL;
    options.packed_nbytes = 0;

    cuda->fail_name = "cuLaunchKernelEx";
    cuda->fail_error = 912; /* too large a cluster */
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_DRIVER);
    assert_message("cuLaunchKernelEx");
    cuda->fail_name = NULL;
    options.start_event = buffer;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_ARG);
    options.start_event = NULL;
    options.flags = KPK_LAUNCH_COOPERATIVE;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_ARG);
    assert_message("a launch in clusters takes no events and no flags");
    options.flags = 0;
    options.cluster[1] = 4;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_SHAPE);
    assert_message("6 x 2 x 1 blocks is no multiple of clusters of 3 x 4 x 1");
    options.cluster[0] = 0;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_SHAPE);
    options.cluster[0] = options.cluster[1] = 1; /* none */
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->last.cluster[0], 0);

    cuda->capability[1] = 89;
    before_clusters = open_on(3);
    options.cluster[2] = 2;
    assert_ok(kpk_kernel_get(before_clusters, "scale", &k));
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)),
                  KPK_ERR_UNSUPPORTED);
    assert_message("(sm_89) has no clusters of blocks");
    assert_ok(kpk_close(before_clusters));
    assert_ok(kpk_close(gpu));
}

static void test_launch_begins_early_if_the_kernel_waits(void **state)
{
    kpk_instance *gpu = open_on(2), *of_ptx = open_on(3);
    kpk_launch_options options = {.shape = {{6, 2, 1}, {64, 1, 1}, 512},
                                  .stream = &options,
                                  .flags = KPK_LAUNCH_EARLY};
    unsigned char buffer[16] = {7};
    uint64_t x = 9;
    double by = 1;
    kpk_attrs attrs_of;
    const kpk_kernel *k, *no_wait, *ptx_has_none;

    (void)state;
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_ok(kpk_kernel_get(gpu, "both", &no_wait));
    assert_ok(kpk_kernel_get(of_ptx, "scale", &ptx_has_none));
    assert_ok(kpk_kernel_attrs(k, &attrs_of));
    assert_int_equal(attrs_of.waits, 1);
    assert_ok(kpk_kernel_attrs(ptx_has_none, &attrs_of));
    assert_int_equal(attrs_of.waits, 0);

    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_string_equal(cuda->last.kernel, "scale");
    assert_int_equal(cuda->last.early, 1);
    assert_int_equal(cuda->last.cluster[0], 0);
    assert_int_equal(cuda->last.grid[0], 6);
    assert_int_equal(cuda->last.grid[1], 2);
    assert_int_equal(cuda->last.block[0], 64);
    assert_int_equal(cuda->last.shared_nbytes, 512);
    assert_ptr_equal(cuda->last.stream, &options);
    assert_int_equal(cuda->last.param, 9);
    options.cluster[0] = 3;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->last.early, 1);
    assert_int_equal(cuda->last.cluster[0], 3);
    options.cluster[0] = 0;
    options.packed = buffer;
    options.packed_nbytes = sizeof(buffer);
    assert_ok(kpk_launch_ex(k, &options, NULL, 0));
    assert_int_equal(cuda->last.early, 1);
    assert_int_equal(cuda->last.param, 7);

    /* a kernel without a wait does not begin early */
    assert_ok(kpk_launch_ex(no_wait, &options, NULL, 0));
    assert_string_equal(cuda->last.kernel, "both");
    assert_int_equal(cuda->last.early, 0);
    assert_ok(kpk_launch_ex(ptx_has_none, &options, NULL, 0));
    assert_int_equal(cuda->last.early, 0);
    assert_int_equal(cuda->last.extra_nbytes, 16);
    options.packed = NULL;
    options.packed_nbytes = 0;
    options.cluster[0] = 2;
    assert_ok(kpk_launch_ex(ptx_has_none, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->last.early, 0);
    assert_int_equal(cuda->last.cluster[0], 2);
    options.cluster[0] = 0;

    /* nor what is launched in a way that cannot */
    options.start_event = buffer;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->last.early, 0);
    options.start_event = NULL;
    options.flags |= KPK_LAUNCH_COOPERATIVE;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->last.cooperative, 1);
    assert_int_equal(cuda->last.early, 0);

    options.flags = KPK_LAUNCH_EARLY;
    cuda->fail_name = "cuLaunchKernelEx";
    cuda->fail_error = 700;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_DRIVER);
    assert_message("cuLaunchKernelEx");
    cuda->fail_name = NULL;
    options.shape.block[0] = 257;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_SHAPE);
    options.flags = 2 * KPK_LAUNCH_EARLY;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_ARG);
    assert_ok(kpk_close(gpu));
    assert_ok(kpk_close(of_ptx));
}

static void test_every_way_to_launch(void **state)
{
    kpk_instance *gpu = open_on(2);
    kpk_launch_options options = {.shape = {{2, 1, 1}, {64, 1, 1}, 0}};
    unsigned char buffer[16] = {0};
    uint64_t x = 7;
    double by = 1;
    const kpk_kernel *k, *unlisted;
    kpk_launch_item item = {.shape = options.shape, .stream = &options};
    kpk_arg list[2] = {KPK_ARG(x), KPK_ARG(by)};

    (void)state;
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_ok(kpk_launch_packed(k, &options.shape, NULL, buffer, 16));
    assert_int_equal(cuda->last.extra_nbytes, 16);
    cuda->own_shared = 232448; /* the whole limit: nothing left to allow */
    cuda->dynamic_shared = 7;
    assert_ok(kpk_kernel_get(gpu, "both", &unlisted));
    assert_int_equal(cuda->dynamic_shared, 7);
    cuda->own_shared = 0;
    assert_ok(kpk_launch_packed(unlisted, &options.shape, NULL, buffer, 16));
    assert_int_equal(cuda->last.extra_nbytes, 16);
    options.start_event = options.stop_event = buffer;
    options.flags = KPK_LAUNCH_ANY_ORDER;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->nevents, 2);
    assert_int_equal(cuda->last.grid[0], 2); /* blocks, of threads again */
    options.start_event = NULL;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->nevents, 3);
    options.start_event = buffer;
    options.stop_event = NULL;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->nevents, 4);
    cuda->fail_name = "cuEventRecord";
    cuda->fail_error = 400;
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_DRIVER);
    options.stop_event = buffer; /* must not be recorded */
    cuda->fail_name = "cuLaunchKernel";
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_DRIVER);
    assert_int_equal(cuda->nevents, 5);
    cuda->fail_name = NULL;
    options.start_event = options.stop_event = NULL;
    options.flags = KPK_LAUNCH_COOPERATIVE;
    assert_ok(kpk_launch_ex(k, &options, KPK_ARGS(x, by)));
    assert_int_equal(cuda->last.cooperative, 1);
    options.shape.grid[0] = 265; /* 132 multiprocessors hold two each */
    assert_status(kpk_launch_ex(k, &options, KPK_ARGS(x, by)), KPK_ERR_SHAPE);
    item.kernel = k;
    item.args = list;
    item.nargs = 2;
    assert_ok(kpk_launch_all(&item, 1, 0));
    assert_status(kpk_launch_all(&item, 1, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_UNSUPPORTED);
    assert_message("a cooperative launch over several devices needs "
                   "cuLaunchCooperativeKernelMultiDevice, which newer");
    assert_ok(kpk_close(gpu));
}

static void test_memory_and_variables(void **state)
{
    kpk_instance *gpu = open_on(3);
    const char text[8] = "0123456";
    char back[8] = "";
    void *x = &back;
    size_t nbytes;

    (void)state;
    assert_ok(kpk_malloc(gpu, 0, &x));
    assert_null(x);
    assert_ok(kpk_free(gpu, NULL));
    assert_ok(kpk_malloc(gpu, 8, &x));
    assert_ok(kpk_copy_to(gpu, x, text, 8));
    assert_ok(kpk_copy_from(gpu, back, x, 8));
    assert_string_equal(back, text);
    assert_ok(kpk_fill(gpu, x, 'z', 7));
    assert_ok(kpk_copy_from(gpu, back, x, 8));
    assert_string_equal(back, "zzzzzzz");
    assert_ok(kpk_copy_to(gpu, NULL, NULL, 0));
    assert_ok(kpk_fill(gpu, NULL, 1, 0));
    assert_ok(kpk_sync(gpu, NULL));
    assert_ok(kpk_free(gpu, x));
    assert_ok(kpk_global(gpu, "both", "table", &x, &nbytes));
    assert_int_equal(nbytes, 64);
    assert_ok(kpk_global_write(gpu, "both", "table", 4, text, 8));
    assert_ok(kpk_global_read(gpu, "both", "table", 4, back, 8));
    assert_string_equal(back, text);
    assert_status(kpk_global(gpu, "both", "chair", &x, &nbytes),
                  KPK_ERR_NO_GLOBAL);
    assert_int_equal(kpk_error_driver(), 500);
    assert_status(kpk_texture(gpu, "both", "table", &x), KPK_ERR_UNSUPPORTED);
    assert_message("a texture reference needs cuModuleGetTexRef, which newer "
                   "releases of the CUDA driver have dropped");
    assert_message("cuTexObjectCreate()");
    assert_ok(kpk_close(gpu));
}

/* By the driver's own names, too. */
static void test_success_without_a_result_is_refused(void **state)
{
    kpk_instance *gpu = open_on(2);
    const kpk_kernel *k;
    kpk_shape shape;
    uint32_t blocks;
    void *x;

    (void)state;
    cuda->lie_name = "cuModuleGetFunction";
    assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_DRIVER);
    assert_message(": cuModuleGetFunction returned success, but no function");
    cuda->lie_name = "cuModuleGetGlobal_v2";
    assert_status(kpk_global(gpu, "both", "table", &x, NULL), KPK_ERR_DRIVER);
    assert_message(": cuModuleGetGlobal returned success, but no address");
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    cuda->lie_name = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
    assert_status(kpk_occupancy(k, 64, 0, &blocks), KPK_ERR_DRIVER);
    assert_message("cuOccupancyMaxActiveBlocksPerMultiprocessor returned "
                   "success and an impossible number, -1");
    cuda->lie_name = "cuOccupancyMaxPotentialBlockSize";
    assert_status(kpk_occupancy_shape(k, 0, 64, &shape), KPK_ERR_DRIVER);
    assert_message("cuOccupancyMaxPotentialBlockSize returned success and an "
                   "impossible number, 0");
    assert_ok(kpk_close(gpu));
}

static void test_what_the_driver_says_of_a_kernel(void **state)
{
    kpk_instance *gpu = open_on(2);
    const kpk_kernel *k;
    kpk_shape shape;
    uint32_t blocks;
    int value;

    (void)state;
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_ok(kpk_kernel_driver_attr(k, (kpk_driver_attr)4, &value));
    assert_int_equal(value, 1004);
    assert_ok(kpk_occupancy(k, 256, 0, &blocks));
    assert_int_equal(blocks, 2);
    assert_ok(kpk_occupancy(k, 1025, 0, &blocks)); /* the kernel takes 1024 */
    assert_int_equal(blocks, 0);
    assert_ok(kpk_occupancy_shape(k, 0, 128, &shape));
    assert_int_equal(shape.grid[0], 264);
    assert_int_equal(shape.block[0], 128);
    assert_ok(kpk_close(gpu));
}

/* The host's own context stays where it was, below ours. */
static void test_current_context_is_the_same_after_every_call(void **state)
{
    kpk_instance *gpu = open_on(2);
    kpk_shape shape = {{1, 1, 1}, {1, 1, 1}, 0};
    uint64_t x = 0;
    double by = 1;
    const kpk_kernel *k;
    void *ptr;

    (void)state;
    cuda->push_own();
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_int_equal(cuda->depth(), 1);
    assert_int_equal(cuda->current(), -1);
    assert_ok(kpk_launch(k, &shape, NULL, KPK_ARGS(x, by)));
    assert_ok(kpk_malloc(gpu, 4, &ptr));
    assert_ok(kpk_free(gpu, ptr));
    cuda->fail_name = "cuLaunchKernel";
    assert_status(kpk_launch(k, &shape, NULL, KPK_ARGS(x, by)), KPK_ERR_DRIVER);
    cuda->fail_name = NULL;
    assert_ok(kpk_close(gpu));
    assert_int_equal(cuda->depth(), 1);
    assert_int_equal(cuda->current(), -1);
}

static int pop_own(void **state)
{
    assert_int_equal(cuda->depth(), 1);
    cuda->pop();
    return check_clean(state);
}

static void test_one_process_with_an_instance_on_each(void **state)
{
    kpk_instance *amd_gpu = open_on(0);
    kpk_instance *nvidia_gpu = open_on(2);
    kpk_shape shape = {{1, 1, 1}, {8, 1, 1}, 0};
    uint64_t x = 1;
    double by = 1;
    const kpk_kernel *a;
    const kpk_kernel *n;
    kpk_launch_item items[2];

    (void)state;
    assert_ok(kpk_kernel_get(amd_gpu, "scale", &a));
    assert_ok(kpk_kernel_get(nvidia_gpu, "scale", &n));
    assert_ok(kpk_launch(a, &shape, NULL, KPK_ARGS(x, by)));
    assert_string_equal(hip->last.kernel, "scale");
    assert_string_equal(cuda->last.kernel, "");
    assert_ok(kpk_launch(n, &shape, NULL, KPK_ARGS(x, by)));
    assert_string_equal(cuda->last.kernel, "scale");
    for (int i = 0; i < 2; i++) {
        const kpk_arg list[2] = {KPK_ARG(x), KPK_ARG(by)};

        items[i] = (kpk_launch_item){.kernel = i ? n : a,
                                     .shape = shape,
                                     .stream = &shape,
                                     .args = list,
                                     .nargs = 2};
        if (i)
            assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_COOPERATIVE),
                          KPK_ERR_UNSUPPORTED);
    }
    assert_ok(kpk_close(nvidia_gpu));
    assert_ok(kpk_close(amd_gpu));
}

/* Tries AMD's GPUs and NVIDIA's together, and several of NVIDIA's. */
static void test_cuda_has_no_cooperation_of_devices(void **state)
{
    static const int devices[][2] = {{2, 3}, {0, 2}, {2, 0}};
    static int stream[2];
    const uint64_t x = 1;
    const double by = 1;
    const kpk_arg list[2] = {KPK_ARG(x), KPK_ARG(by)};

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        kpk_launch_item items[2];
        kpk_instance *gpu[2];

        for (int k = 0; k < 2; k++) {
            gpu[k] = open_on(devices[i][k]);
            items[k] = (kpk_launch_item){.shape = {{1, 1, 1}, {8, 1, 1}, 0},
                                         .stream = &stream[k],
                                         .args = list,
                                         .nargs = 2};
            assert_ok(kpk_kernel_get(gpu[k], "scale", &items[k].kernel));
        }
        assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_COOPERATIVE),
                      KPK_ERR_UNSUPPORTED);
        if (devices[i][0] == 0)
            assert_message("device 2 (sm_90) does not do cooperative launches "
                           "over several devices");
        else
            assert_message("needs cuLaunchCooperativeKernelMultiDevice, which "
                           "newer releases of the CUDA driver have dropped and "
                           "kpack leaves alone. Launch on each device");
        assert_string_equal(hip->last.kernel, "");
        assert_string_equal(cuda->last.kernel, "");
        assert_ok(kpk_launch_all(items, 2, 0)); /* separate launches */
        assert_string_equal(cuda->last.kernel, "scale");
        assert_ok(kpk_close(gpu[0]));
        assert_ok(kpk_close(gpu[1]));
        hip->last.kernel[0] = cuda->last.kernel[0] = '\0';
    }
}

static void test_failures_name_the_drivers_call(void **state)
{
    kpk_instance *gpu = open_on(2);
    const kpk_kernel *k;
    void *x;

    (void)state;
    cuda->fail_name = "cuModuleLoadData";
    cuda->fail_error = 209;
    assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_DRIVER);
    assert_message("cuModuleLoadData returned CUDA_ERROR_NO_BINARY_FOR_GPU "
                   "(209), made up");
    assert_int_equal(kpk_error_driver(), 209);
    cuda->fail_name = "cuMemAlloc_v2";
    cuda->fail_error = 999; /* which has no name */
    assert_status(kpk_malloc(gpu, 4, &x), KPK_ERR_DRIVER);
    assert_message("cuMemAlloc returned an unnamed error (999)");
    assert_ok(kpk_close(gpu));
}

static void test_load_failures_say_what_to_do(void **state)
{
    kpk_instance *gpu = open_on(3);
    const kpk_kernel *k;

    (void)state;
    cuda->log = "ptxas fatal : Unsupported .version 9.9\nmore";
    assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_DRIVER);
    assert_message("(its compiler says: ptxas fatal : Unsupported .version "
                   "9.9)");
    assert_ok(kpk_close(gpu));
    cuda->log = "";
    {
        const kpk_module *const list[] = {&older};

        cuda->fail_name = "cuModuleLoadData";
        cuda->fail_error = 200;
        assert_ok(kpk_open_modules(list, 1, 2, &gpu));
        assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_DRIVER);
        assert_message("(it was made by CUDA 14.0, this driver is for 13.0: "
                       "update the driver");
        assert_ok(kpk_close(gpu));
        assert_ok(kpk_open_modules(modules, 1, 2, &gpu));
        assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_DRIVER);
        assert_false(says("it was made by"));
        assert_ok(kpk_close(gpu));
        assert_ok(kpk_open_modules(modules, 1, 3, &gpu)); /* PTX */
        assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_DRIVER);
        assert_false(says("it was made by"));
        assert_ok(kpk_close(gpu));
        cuda->fail_name = NULL;
    }
}

/* A kernel may have a name of its own in a code object. */
static void test_kernel_is_found_by_its_code_objects_name(void **state)
{
    const kpk_module *const list[] = {&older};
    const kpk_shape shape = {{1, 1, 1}, {1, 1, 1}, 0};
    kpk_instance *gpu;
    const kpk_kernel *k;
    uint64_t x = 0;
    double by = 1;

    (void)state;
    assert_ok(kpk_open_modules(list, 1, 2, &gpu));
    assert_ok(kpk_kernel_get(gpu, "scale", &k));
    assert_ok(kpk_launch(k, &shape, NULL, KPK_ARGS(x, by)));
    assert_string_equal(cuda->last.kernel, "both");
    assert_string_equal(kpk_kernel_name(k), "scale");
    assert_ok(kpk_close(gpu));
}

/* A device that stays current is told of, be it the only failure or not. */
static void test_device_that_stays_current_is_told(void **state)
{
    kpk_instance *gpu = open_on(2);
    void *x = NULL;

    (void)state;
    cuda->fail_error = 700;
    cuda->fail_name = "cuCtxPopCurrent_v2";
    assert_status(kpk_malloc(gpu, 8, &x), KPK_ERR_DRIVER);
    assert_message("the call did its work, but cannot take CUDA device 0 back "
                   "from this thread: it is current now");
    cuda->pop();
    cuda->fail_name = NULL;
    atomic_store(&cuda->fail_in, 3); /* after cuCtxGetCurrent and ...Push */
    cuda->fail_later = 1;
    assert_status(kpk_malloc(gpu, 8, &x), KPK_ERR_DRIVER);
    assert_message("cuMemAlloc returned");
    assert_message("After that cuCtxPopCurrent() returned 700: CUDA device 0 "
                   "is current now");
    cuda->fail_later = 0;
    atomic_store(&cuda->fail_in, -1);
    cuda->pop();
    assert_null(x);
    assert_ok(kpk_close(gpu));
    /* the block that the first call gave back while no context was current */
    atomic_store(&cuda->live, 0);
    atomic_store(&cuda->nviolations, 0);
}

static void test_damaged_objects_are_refused(void **state)
{
    static const struct {
        const kpk_module *module;
        int device;
        const char *says;
    } cases[] = {
        {&torn, 2, "does not start as a cubin does"},
        {&torn, 3, "has a byte 0, which PTX has not"},
        {&shortened, 0, "is an ELF file for another machine than AMDGPU"},
        {&shortened, 2, "is an ELF file for another machine than CUDA"},
        {&shortened, 3, "is shorter than PTX can be"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const kpk_kernel *k;
        kpk_instance *gpu;

        assert_ok(kpk_open_modules(&cases[i].module, 1, cases[i].device, &gpu));
        assert_status(kpk_kernel_get(gpu, "scale", &k), KPK_ERR_FORMAT);
        assert_message(cases[i].says);
        assert_ok(kpk_close(gpu));
    }
}

/* Every call of the driver's fails in turn: a status, a sentence, and nothing
 * left behind. */
static void test_each_call_fails_in_turn(void **state)
{
    int n = 1;
    bool done = false;

    (void)state;
    for (; !done; n++) {
        kpk_shape shape = {{1, 1, 1}, {1, 1, 1}, 0};
        kpk_instance *gpu = NULL;
        const kpk_kernel *k;
        uint64_t x = 0;
        double by = 1;
        void *ptr = NULL;
        kpk_status st;

        assert_true(n < 100);
        atomic_store(&cuda->fail_in, n);
        st = kpk_open(&pack, 2, &gpu);
        if (st == KPK_OK)
            st = kpk_kernel_get(gpu, "scale", &k);
        if (st == KPK_OK)
            st = kpk_malloc(gpu, 8, &ptr);
        if (st == KPK_OK)
            st = kpk_launch(k, &shape, NULL, KPK_ARGS(x, by));
        if (st == KPK_OK)
            st = kpk_copy_to(gpu, ptr, &x, 8);
        if (st == KPK_OK)
            st = kpk_sync(gpu, NULL);
        done = atomic_load(&cuda->fail_in) > 0;
        atomic_store(&cuda->fail_in, -1);
        if (done)
            assert_int_equal(st, KPK_OK);
        else if (st != KPK_ERR_DRIVER || !strstr(kpk_error_message(), "cu"))
            fail_msg("call %d fails: %s \"%s\"", n, kpk_status_name(st),
                     kpk_error_message());
        if (gpu)
            assert_ok(kpk_free(gpu, ptr));
        assert_ok(kpk_close(gpu));
        assert_int_equal(cuda->live, 0);
        /* Where cuCtxPopCurrent() itself failed, the message said so. */
        if (cuda->depth() > 0) {
            assert_true(says("cuCtxPopCurrent"));
            cuda->pop();
        }
    }
    assert_true(n > 20);
}

/* CUDA sets no argument itself. */
static void test_pointers_to_shared_memory_are_passed_on(void **state)
{
    const kpk_shape shape = {{1, 1, 1}, {64, 1, 1}, 512};
    const struct {
        uint32_t x, y;
    } at = {0, 256}; /* the fake reads 8 bytes of the first argument */
    kpk_instance *gpu;
    const kpk_kernel *k;

    (void)state;
    assert_ok(kpk_open(&test_pack_nvidia, 2, &gpu));
    assert_ok(kpk_kernel_get(gpu, "two_shared", &k));
    assert_ok(kpk_launch(k, &shape, NULL, KPK_ARGS(at.x, at.y)));
    assert_string_equal(cuda->last.kernel, "two_shared");
    assert_ok(kpk_close(gpu));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, check_clean)
    const struct CMUnitTest tests[] = {
        TEST(test_hip_devices_leave_cuda_alone),
        TEST(test_devices_are_numbered_hip_first),
        TEST(test_any_device_may_be_of_cuda),
        TEST(test_device_has_every_number),
        TEST(test_cubin_and_ptx_are_launched),
        TEST(test_launch_in_clusters),
        TEST(test_launch_begins_early_if_the_kernel_waits),
        TEST(test_every_way_to_launch),
        TEST(test_memory_and_variables),
        TEST(test_success_without_a_result_is_refused),
        TEST(test_what_the_driver_says_of_a_kernel),
        cmocka_unit_test_setup_teardown(
            test_current_context_is_the_same_after_every_call, reset, pop_own),
        TEST(test_one_process_with_an_instance_on_each),
        TEST(test_cuda_has_no_cooperation_of_devices),
        TEST(test_failures_name_the_drivers_call),
        TEST(test_load_failures_say_what_to_do),
        TEST(test_kernel_is_found_by_its_code_objects_name),
        TEST(test_device_that_stays_current_is_told),
        TEST(test_damaged_objects_are_refused),
        TEST(test_pointers_to_shared_memory_are_passed_on),
        TEST(test_each_call_fails_in_turn),
    };
    char path[FAKE_PATH_MAX];

    hip = fake_hip_load("fake_hip.so");
    cuda = fake_cuda_load(path);
    set_variable("KPK_CUDA_LIBRARY", path);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
