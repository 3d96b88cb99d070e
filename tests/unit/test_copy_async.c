/* test_copy_async.c - copies and fills in a stream, pinned memory, and what the
 * driver says of a device; on both drivers */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "both_fakes.h"

static int stream; /* only its address counts */

static void check_stream(void)
{
    assert_ptr_equal(is_hip() ? fake->copy_stream : cuda->copy_stream, &stream);
    fake->copy_stream = cuda->copy_stream = NULL;
}

static void test_bytes_go_there_and_back_in_the_stream(void **state)
{
    const char *text = "there and back";
    char back[16] = "";
    void *x, *y;

    (void)state;
    assert_ok(kpk_malloc(inst, 16, &x));
    assert_ok(kpk_malloc(inst, 16, &y));
    assert_ok(kpk_copy_to_async(inst, x, text, 15, &stream));
    check_stream();
    assert_true(!is_hip() || fake->copy_kind == 1);
    assert_ok(kpk_copy_async(inst, y, x, 15, &stream));
    check_stream();
    assert_true(!is_hip() || fake->copy_kind == 3);
    assert_ok(kpk_fill_async(inst, y, 'T', 1, &stream));
    check_stream();
    assert_ok(kpk_copy_from_async(inst, back, y, 15, &stream));
    check_stream();
    assert_true(!is_hip() || fake->copy_kind == 2);
    assert_string_equal(back, "There and back");
    assert_ok(kpk_free(inst, x));
    assert_ok(kpk_free(inst, y));
}

static void test_no_bytes_never_reach_the_driver(void **state)
{
    const int before = fake->ncalls + cuda->ncalls;

    (void)state;
    assert_ok(kpk_copy_to_async(inst, NULL, NULL, 0, &stream));
    assert_ok(kpk_copy_from_async(inst, NULL, NULL, 0, &stream));
    assert_ok(kpk_copy_async(inst, NULL, NULL, 0, &stream));
    assert_ok(kpk_copy_peer_async(inst, NULL, inst, NULL, 0, &stream));
    assert_ok(kpk_fill_async(inst, NULL, 7, 0, &stream));
    assert_int_equal(fake->ncalls + cuda->ncalls, before);
}

static void test_peers_are_the_drivers_numbers(void **state)
{
    char from[8] = "peer", to[8] = "";
    kpk_instance *other;

    (void)state;
    assert_ok(kpk_open(is_hip() ? &test_pack : &test_pack_nvidia,
                       is_hip() ? 0 : 2, &other));
    assert_ok(kpk_copy_peer_async(inst, to, other, from, 8, &stream));
    check_stream();
    assert_string_equal(to, "peer");
    assert_int_equal(is_hip() ? fake->peers[0] : cuda->peers[0], 1);
    assert_int_equal(is_hip() ? fake->peers[1] : cuda->peers[1], 0);
    assert_ok(kpk_close(other));
}

/* CUDA makes the other device's context for the copy. */
static void test_peer_without_a_context_is_told(void **state)
{
    char bytes[8] = "";
    kpk_instance *other;

    (void)state;
    assert_ok(kpk_open(&test_pack_nvidia, 2, &other));
    assert_ok(kpk_sync(inst, NULL)); /* makes its own */
    cuda->fail_name = "cuDevicePrimaryCtxRetain";
    assert_status(kpk_copy_peer_async(inst, bytes, other, bytes, 8, NULL),
                  KPK_ERR_DRIVER);
    assert_message("from device 2 to device 3: cuDevicePrimaryCtxRetain "
                   "returned");
    cuda->fail_name = NULL;
    assert_ok(kpk_close(other));
}

static void test_no_copy_between_hip_and_cuda(void **state)
{
    char bytes[8];
    kpk_instance *other;

    (void)state;
    assert_ok(kpk_open(&test_pack_nvidia, 2, &other));
    assert_status(kpk_copy_peer_async(inst, bytes, other, bytes, 8, NULL),
                  KPK_ERR_UNSUPPORTED);
    assert_message("from device 2 (sm_90) to device 1 (gfx1100): they have "
                   "different drivers. Copy through memory of the host");
    assert_ok(kpk_close(other));
}

static void test_pinned_memory_is_for_all_devices(void **state)
{
    void *ptr = &ptr;

    (void)state;
    assert_ok(kpk_malloc_host(inst, 0, &ptr));
    assert_null(ptr);
    assert_ok(kpk_malloc_host(inst, 16, &ptr));
    assert_true(!is_hip() || fake->flags == 1); /* portable */
    memset(ptr, 7, 16);
    assert_ok(kpk_free_host(inst, ptr));
    assert_ok(kpk_free_host(inst, NULL));
    ptr = &ptr;
    fake->lie_name = "hipHostMalloc";
    cuda->lie_name = "cuMemHostAlloc";
    assert_status(kpk_malloc_host(inst, 16, &ptr), KPK_ERR_DRIVER);
    assert_message("returned success, but made nothing on device");
    assert_ptr_equal(ptr, &ptr);
}

static void test_half_of_pinned_memory_is_undone(void **state)
{
    void *ptr = &ptr;

    (void)state;
    fake->fail_name = "hipSetDevice";
    fake->fail_nth = 2;
    assert_status(kpk_malloc_host(inst, 16, &ptr), KPK_ERR_DRIVER);
    assert_message("the call did its work");
    assert_ptr_equal(ptr, &ptr);
    assert_int_equal(fake->live, 0);
    fake->set_current(0);
}

static void test_memory_and_attributes_are_of_the_device(void **state)
{
    size_t unused = 0, all = 0;
    int value = 0;

    (void)state;
    assert_ok(kpk_memory_info(inst, &unused, &all));
    assert_int_equal(unused, (size_t)2 << 30);
    assert_int_equal(all, (size_t)2 << 34);
    assert_ok(kpk_memory_info(inst, NULL, NULL));
    assert_ok(kpk_device_attr(inst, 16, &value));
    assert_int_equal(value, is_hip() ? 1016 : 132);
    value = 7;
    fake->fail_name = "hipDeviceGetAttribute";
    cuda->fail_name = "cuDeviceGetAttribute";
    assert_status(kpk_device_attr(inst, 16, &value), KPK_ERR_DRIVER);
    assert_message("cannot tell attribute 16 of device ");
    fake->fail_name = "hipMemGetInfo";
    cuda->fail_name = "cuMemGetInfo_v2";
    assert_status(kpk_memory_info(inst, &unused, &all), KPK_ERR_DRIVER);
    assert_int_equal(value, 7);
}

static void test_current_device_has_kpacks_number(void **state)
{
    int device = 7;

    (void)state;
    assert_ok(kpk_current_device(KPK_HIP, &device));
    assert_int_equal(device, 0);
    fake->set_current(1);
    assert_ok(kpk_current_device(KPK_HIP, &device));
    assert_int_equal(device, 1);
    fake->set_current(0);
    device = 7;
    assert_status(kpk_current_device(KPK_CUDA, &device), KPK_ERR_NO_DEVICE);
    assert_message("no device of the CUDA driver is current on this thread: "
                   "cuCtxGetDevice returned 201");
    assert_int_equal(kpk_error_driver(), 201);
    cuda->push_own();
    cuda->own_device = 1;
    assert_ok(kpk_current_device(KPK_CUDA, &device));
    assert_int_equal(device, 3); /* HIP has two */
    cuda->own_device = 9;        /* more than were counted */
    assert_status(kpk_current_device(KPK_CUDA, &device), KPK_ERR_DRIVER);
    assert_int_equal(kpk_error_driver(), 101);
    cuda->fail_name = "cuDeviceGet";
    assert_status(kpk_current_device(KPK_CUDA, &device), KPK_ERR_DRIVER);
    assert_message("cannot find out the current device: cuDeviceGet returned");
    cuda->pop();
    fake->fail_name = "hipGetDeviceCount";
    assert_status(kpk_current_device(KPK_CUDA, &device), KPK_ERR_DRIVER);
    fake->fail_name = "hipGetDevice";
    fake->fail_error = 100;
    assert_status(kpk_current_device(KPK_HIP, &device), KPK_ERR_NO_DEVICE);
    assert_status(kpk_current_device((kpk_platform)7, &device), KPK_ERR_ARG);
    assert_message("kpk_current_device: 7 is neither KPK_HIP nor KPK_CUDA");
    assert_int_equal(device, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(cuda, test_peer_without_a_context_is_told), /* before all others */
        ON(hip, test_bytes_go_there_and_back_in_the_stream),
        ON(cuda, test_bytes_go_there_and_back_in_the_stream),
        ON(hip, test_no_bytes_never_reach_the_driver),
        ON(cuda, test_no_bytes_never_reach_the_driver),
        ON(hip, test_peers_are_the_drivers_numbers),
        ON(cuda, test_peers_are_the_drivers_numbers),
        ON(hip, test_no_copy_between_hip_and_cuda),
        ON(hip, test_pinned_memory_is_for_all_devices),
        ON(cuda, test_pinned_memory_is_for_all_devices),
        ON(hip, test_half_of_pinned_memory_is_undone),
        ON(hip, test_memory_and_attributes_are_of_the_device),
        ON(cuda, test_memory_and_attributes_are_of_the_device),
        ON(hip, test_current_device_has_kpacks_number),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("copy_async", tests, NULL, NULL);
}
