/* test_ipc.c - memory that several processes use; on both drivers */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "both_fakes.h"

#include "cuda.h"
#include "hip.h"

static void *imported(void)
{
    return is_hip() ? fake->imported : cuda->imported;
}

static void test_bytes_of_export_reach_import(void **state)
{
    kpk_ipc_memory memory;
    void *ptr = NULL, *there = NULL;

    (void)state;
    assert_ok(kpk_malloc(inst, 16, &ptr));
    memset(&memory, 0xff, sizeof(memory));
    assert_ok(kpk_ipc_export(inst, ptr, &memory));
    assert_int_equal(memory.bytes[63], 0);
    assert_ok(kpk_ipc_import(inst, &memory, &there));
    assert_ptr_equal(imported(), ptr);
    assert_non_null(there);
    assert_ok(kpk_ipc_close(inst, there));
    assert_ok(kpk_ipc_close(inst, NULL));
    assert_ok(kpk_free(inst, ptr));
}

static void test_hip_before_6_takes_no_flag(void **state)
{
    static const struct {
        int major;
        unsigned flags;
    } releases[] = {{5, 0}, {6, 1}, {7, 1}};
    const int major = kpk_i_hip.major;
    kpk_ipc_memory memory;
    void *there = NULL;

    (void)state;
    memset(&memory, 0, sizeof(memory));
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
        kpk_i_hip.major = releases[i].major;
        assert_ok(kpk_ipc_import(inst, &memory, &there));
        assert_int_equal(fake->flags, releases[i].flags);
        assert_ok(kpk_ipc_close(inst, there));
    }
    kpk_i_hip.major = major;
}

static void test_import_of_nothing_is_an_error(void **state)
{
    kpk_ipc_memory memory;
    void *there = &memory;

    (void)state;
    memset(&memory, 0, sizeof(memory));
    fake->lie_name = "hipIpcOpenMemHandle";
    cuda->lie_name = "cuIpcOpenMemHandle_v2";
    assert_status(kpk_ipc_import(inst, &memory, &there), KPK_ERR_DRIVER);
    assert_message("returned success, but made nothing on device");
    assert_ptr_equal(there, &memory);
}

static void test_failures_say_what_was_asked(void **state)
{
    kpk_ipc_memory memory;
    void *ptr = NULL, *there = &memory;

    (void)state;
    memset(&memory, 0, sizeof(memory));
    assert_ok(kpk_malloc(inst, 16, &ptr));
    fake->fail_error = cuda->fail_error = 1;
    fake->fail_name = "hipIpcGetMemHandle";
    cuda->fail_name = "cuIpcGetMemHandle";
    assert_status(kpk_ipc_export(inst, ptr, &memory), KPK_ERR_DRIVER);
    assert_message("it must be the start of an allocation: ");
    fake->fail_name = "hipIpcOpenMemHandle";
    cuda->fail_name = "cuIpcOpenMemHandle_v2";
    assert_status(kpk_ipc_import(inst, &memory, &there), KPK_ERR_DRIVER);
    assert_message("the process must live");
    assert_ptr_equal(there, &memory);
    fake->fail_name = "hipIpcCloseMemHandle";
    cuda->fail_name = "cuIpcCloseMemHandle";
    assert_status(kpk_ipc_close(inst, ptr), KPK_ERR_DRIVER);
    assert_message("memory of another process");
    fake->fail_name = cuda->fail_name = NULL;
    assert_ok(kpk_free(inst, ptr));
}

static void test_half_of_an_import_is_undone(void **state)
{
    kpk_ipc_memory memory;
    void *there = &memory;

    (void)state;
    memset(&memory, 0, sizeof(memory));
    fake->fail_name = "hipSetDevice";
    fake->fail_nth = 2;
    assert_status(kpk_ipc_import(inst, &memory, &there), KPK_ERR_DRIVER);
    assert_message("the call did its work");
    assert_ptr_equal(there, &memory);
    assert_int_equal(fake->live, 0);
    fake->set_current(0);
}

static void test_drivers_without_the_calls_are_told(void **state)
{
    struct kpk_i_gpu *gpu = is_hip() ? &kpk_i_hip : &kpk_i_cuda;
    const struct kpk_i_gpu whole = *gpu;
    kpk_ipc_memory memory;
    void *there = NULL;

    (void)state;
    memset(&memory, 0, sizeof(memory));
    gpu->hipIpcCloseMemHandle = NULL;
    assert_status(kpk_ipc_close(inst, &memory), KPK_ERR_UNSUPPORTED);
    assert_message("memory of another process needs ");
    assert_status(kpk_ipc_import(inst, &memory, &there), KPK_ERR_UNSUPPORTED);
    gpu->hipIpcCloseMemHandle = whole.hipIpcCloseMemHandle;
    gpu->hipIpcOpenMemHandle = NULL;
    assert_status(kpk_ipc_import(inst, &memory, &there), KPK_ERR_UNSUPPORTED);
    gpu->hipIpcGetMemHandle = NULL;
    assert_status(kpk_ipc_export(inst, &memory, &memory), KPK_ERR_UNSUPPORTED);
    assert_message("memory for other processes needs ");
    *gpu = whole;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(hip, test_bytes_of_export_reach_import),
        ON(cuda, test_bytes_of_export_reach_import),
        ON(hip, test_hip_before_6_takes_no_flag),
        ON(hip, test_import_of_nothing_is_an_error),
        ON(cuda, test_import_of_nothing_is_an_error),
        ON(hip, test_failures_say_what_was_asked),
        ON(cuda, test_failures_say_what_was_asked),
        ON(hip, test_half_of_an_import_is_undone),
        ON(hip, test_drivers_without_the_calls_are_told),
        ON(cuda, test_drivers_without_the_calls_are_told),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("ipc", tests, NULL, NULL);
}
