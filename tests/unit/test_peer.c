/* test_peer.c - access between devices, and memory that no cache keeps; on both
 * drivers */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "both_fakes.h"

static kpk_instance *other;

static void open_other(void)
{
    assert_ok(kpk_open(is_hip() ? &test_pack : &test_pack_nvidia,
                       is_hip() ? 0 : 2, &other));
}

static void test_peer_is_enabled_from_the_instances_device(void **state)
{
    (void)state;
    open_other();
    assert_ok(kpk_peer_enable(inst, other));
    assert_int_equal(is_hip() ? fake->peers[0] : cuda->peers[0], 1);
    assert_int_equal(is_hip() ? fake->peers[1] : cuda->peers[1], 0);
    assert_ok(kpk_close(other));
}

static void test_second_time_is_a_success(void **state)
{
    (void)state;
    open_other();
    fake->fail_name = "hipDeviceEnablePeerAccess";
    cuda->fail_name = "cuCtxEnablePeerAccess";
    fake->fail_error = cuda->fail_error = 704; /* is enabled already */
    assert_ok(kpk_peer_enable(inst, other));
    fake->fail_error = cuda->fail_error = 1;
    assert_status(kpk_peer_enable(inst, other), KPK_ERR_DRIVER);
    assert_message("cannot give device ");
    assert_message("access to the memory of device ");
    assert_ok(kpk_close(other));
}

static void test_device_reaches_itself_without_a_call(void **state)
{
    const int before = fake->ncalls + cuda->ncalls;

    (void)state;
    assert_ok(kpk_peer_enable(inst, inst));
    assert_int_equal(fake->ncalls + cuda->ncalls, before);
}

static void test_devices_without_a_way_are_told(void **state)
{
    (void)state;
    open_other();
    fake->lie_name = "hipDeviceCanAccessPeer";
    cuda->lie_name = "cuDeviceCanAccessPeer";
    assert_status(kpk_peer_enable(inst, other), KPK_ERR_UNSUPPORTED);
    assert_message("the machine has no direct way between them. Copy by "
                   "kpk_copy_peer_async()");
    assert_ok(kpk_close(other));
}

static void test_failures_of_cuda_handles_are_told(void **state)
{
    (void)state;
    open_other();
    for (int nth = 1; nth <= 2; nth++) {
        cuda->fail_name = "cuDeviceGet";
        cuda->fail_nth = nth;
        assert_status(kpk_peer_enable(inst, other), KPK_ERR_DRIVER);
        assert_message("cannot tell whether device 3 reaches device 2: "
                       "cuDeviceGet returned");
    }
    assert_ok(kpk_close(other));
}

static void test_no_access_between_hip_and_cuda(void **state)
{
    (void)state;
    assert_ok(kpk_open(&test_pack_nvidia, 2, &other));
    assert_status(kpk_peer_enable(inst, other), KPK_ERR_UNSUPPORTED);
    assert_message("device 1 (gfx1100) cannot reach the memory of device 2 "
                   "(sm_90): they have different drivers");
    assert_ok(kpk_close(other));
}

static void test_uncached_memory_is_asked_for(void **state)
{
    void *ptr = &ptr;

    (void)state;
    assert_ok(kpk_malloc_uncached(inst, 0, &ptr));
    assert_null(ptr);
    assert_ok(kpk_malloc_uncached(inst, 16, &ptr));
    assert_true(!is_hip() || fake->flags == 3); /* hipDeviceMallocUncached */
    memset(ptr, 7, 16);
    assert_ok(kpk_free(inst, ptr));
    ptr = &ptr;
    fake->lie_name = "hipExtMallocWithFlags";
    cuda->lie_name = "cuMemAlloc_v2";
    assert_status(kpk_malloc_uncached(inst, 16, &ptr), KPK_ERR_DRIVER);
    assert_message("returned success, but made nothing on device");
    assert_ptr_equal(ptr, &ptr);
}

static void test_half_of_uncached_memory_is_undone(void **state)
{
    void *ptr = &ptr;

    (void)state;
    fake->fail_name = "hipSetDevice";
    fake->fail_nth = 2;
    assert_status(kpk_malloc_uncached(inst, 16, &ptr), KPK_ERR_DRIVER);
    assert_message("the call did its work");
    assert_ptr_equal(ptr, &ptr);
    assert_int_equal(fake->live, 0);
    fake->set_current(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(hip, test_peer_is_enabled_from_the_instances_device),
        ON(cuda, test_peer_is_enabled_from_the_instances_device),
        ON(hip, test_second_time_is_a_success),
        ON(cuda, test_second_time_is_a_success),
        ON(hip, test_device_reaches_itself_without_a_call),
        ON(cuda, test_device_reaches_itself_without_a_call),
        ON(hip, test_devices_without_a_way_are_told),
        ON(cuda, test_devices_without_a_way_are_told),
        ON(cuda, test_failures_of_cuda_handles_are_told),
        ON(hip, test_no_access_between_hip_and_cuda),
        ON(hip, test_uncached_memory_is_asked_for),
        ON(cuda, test_uncached_memory_is_asked_for),
        ON(hip, test_half_of_uncached_memory_is_undone),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}
