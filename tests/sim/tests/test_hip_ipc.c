/* test_hip_ipc.c - memory and events that another process made
 *
 * Every case runs in a child, which forks before either side calls HIP; they
 * pass handles through pipes.
 */
#define _GNU_SOURCE
#include "hip_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3000 }; /* no whole page */
enum { LAZY = 1 }; /* hipIpcMemLazyEnablePeerAccess of HIP 6 and 7 */

static int to_other, from_other;
static pid_t other;

/* True in the second process, which ends with exit(0). */
static int split(void)
{
    int down[2], up[2];

    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    other = fork();
    assert_true(other >= 0);
    to_other = other ? down[1] : up[1];
    from_other = other ? up[0] : down[0];
    /* Closes the other process's ends: a read then ends with that process. */
    close(other ? down[0] : down[1]);
    close(other ? up[1] : up[0]);
    return other == 0;
}

static void put(const void *bytes, size_t n)
{
    assert_int_equal(write(to_other, bytes, n), n);
}

static void get(void *bytes, size_t n)
{
    assert_int_equal(read(from_other, bytes, n), n);
}

static void expect_exit(void)
{
    int status;

    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
}

/* ---- memory ------------------------------------------------------------- */

static void open_what_comes(void)
{
    hipIpcMemHandle_t handle, inner, bad;
    unsigned char host[N], *p, *q;
    int i;

    get(&handle, sizeof(handle));
    get(&inner, sizeof(inner));
    EXPECT(hipErrorInvalidValue, hipIpcOpenMemHandle(NULL, handle, LAZY));
    EXPECT(hipErrorInvalidValue, hipIpcOpenMemHandle((void **)&p, handle, 0));
    memset(&bad, 0, sizeof(bad));
    EXPECT(hipErrorInvalidValue, hipIpcOpenMemHandle((void **)&p, bad, LAZY));
    EXPECT(hipSuccess, hipIpcOpenMemHandle((void **)&p, handle, LAZY));
    EXPECT(hipSuccess, hipIpcOpenMemHandle((void **)&q, inner, LAZY));
    assert_ptr_equal(q, p + 100); /* inside the same mapping */
    EXPECT(hipSuccess, hipMemcpy(host, p, N, hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(host[i], (unsigned char)i);
    /* To the byte. */
    EXPECT(hipErrorInvalidValue,
           hipMemcpy(host, p + 1, N, hipMemcpyDeviceToHost));
    EXPECT(hipErrorInvalidValue, hipFree(p));
    EXPECT(hipSuccess, hipMemset(p, 0x5a, N));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipIpcCloseMemHandle(q));
    EXPECT(hipSuccess, hipMemset(p, 0x5b, 1)); /* opened twice */
    EXPECT(hipSuccess, hipIpcCloseMemHandle(p));
    EXPECT(hipErrorInvalidValue, hipIpcCloseMemHandle(p));
    EXPECT(hipErrorInvalidValue, hipMemset(p, 0, 1));
    exit(0);
}

static void share_memory(void)
{
    hipIpcMemHandle_t handle, inner;
    unsigned char host[N], *p, *pinned;
    int i;

    if (split())
        open_what_comes();
    for (i = 0; i < N; i++)
        host[i] = (unsigned char)i;
    EXPECT(hipSuccess, hipMalloc((void **)&p, N));
    EXPECT(hipSuccess, hipMemcpy(p, host, N, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue, hipIpcGetMemHandle(NULL, p));
    EXPECT(hipErrorInvalidValue, hipIpcGetMemHandle(&handle, NULL));
    EXPECT(hipErrorInvalidValue, hipIpcGetMemHandle(&handle, host));
    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, 64, 0));
    EXPECT(hipErrorInvalidValue, hipIpcGetMemHandle(&handle, pinned));
    EXPECT(hipSuccess, hipIpcGetMemHandle(&handle, p));
    EXPECT(hipSuccess, hipIpcGetMemHandle(&inner, p + 100));
    EXPECT(hipErrorInvalidContext, /* the process's own handle */
           hipIpcOpenMemHandle((void **)&pinned, handle, LAZY));
    put(&handle, sizeof(handle));
    put(&inner, sizeof(inner));
    expect_exit();
    EXPECT(hipSuccess, hipMemcpy(host, p, N, hipMemcpyDeviceToHost));
    assert_int_equal(host[0], 0x5b);
    for (i = 1; i < N; i++)
        assert_int_equal(host[i], 0x5a);
    EXPECT(hipErrorInvalidValue, hipIpcCloseMemHandle(p));
    EXPECT(hipSuccess, hipFree(p));
}

/* ---- pools -------------------------------------------------------------- */

static void import_what_comes(void)
{
    hipMemPoolPtrExportData data;
    hipMemPool_t pool;
    hipMemLocation where = {hipMemLocationTypeDevice, 0};
    hipMemAccessFlags flags;
    unsigned char *p, first;
    int token, empty = open("/dev/null", O_RDONLY);
    char path[64];

    get(&token, sizeof(token));
    get(&data, sizeof(data));
    /* as if the descriptor had been passed */
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getppid(), token);
    token = open(path, O_RDWR);
    assert_true(token >= 0 && empty >= 0);
    EXPECT(hipErrorInvalidValue, hipMemPoolImportFromShareableHandle(
                                     &pool, (void *)(uintptr_t)empty,
                                     hipMemHandleTypePosixFileDescriptor, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolImportFromShareableHandle(
               &pool, NULL, hipMemHandleTypePosixFileDescriptor, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)token,
                                               hipMemHandleTypeNone, 0));
    EXPECT(hipSuccess, hipMemPoolImportFromShareableHandle(
                           &pool, (void *)(uintptr_t)token,
                           hipMemHandleTypePosixFileDescriptor, 0));
    for (; where.id < 2; where.id++) { /* access set by the exporter */
        EXPECT(hipSuccess, hipMemPoolGetAccess(&flags, pool, &where));
        assert_int_equal(flags, where.id == 0 ? hipMemAccessFlagsProtReadWrite
                                              : hipMemAccessFlagsProtRead);
    }
    EXPECT(hipErrorInvalidValue, /* the other process allocates */
           hipMallocFromPoolAsync((void **)&p, 16, pool, NULL));
    EXPECT(hipErrorInvalidValue, hipMemPoolImportPointer(NULL, pool, &data));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolImportPointer((void **)&p, NULL, &data));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolImportPointer((void **)&p, pool, NULL));
    EXPECT(hipSuccess, hipMemPoolImportPointer((void **)&p, pool, &data));
    EXPECT(hipSuccess, hipMemcpy(&first, p, 1, hipMemcpyDeviceToHost));
    assert_int_equal(first, 0x33);
    EXPECT(hipSuccess, hipMemsetAsync(p, 0x44, N, NULL));
    EXPECT(hipSuccess, hipFreeAsync(p, NULL));
    EXPECT(hipErrorInvalidValue, hipFreeAsync(p, NULL));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
    exit(0);
}

static void share_pools(void)
{
    hipMemPoolProps props = {.allocType = hipMemAllocationTypePinned,
                             .handleTypes = hipMemHandleTypePosixFileDescriptor,
                             .location = {hipMemLocationTypeDevice, 0}};
    const hipMemAccessDesc second = {{hipMemLocationTypeDevice, 1},
                                     hipMemAccessFlagsProtRead};
    hipMemPoolPtrExportData data;
    hipMemPool_t pool, plain;
    unsigned char host[N], *p;
    int fd = -1, i;

    if (split())
        import_what_comes();
    EXPECT(hipSuccess, hipMemPoolCreate(&pool, &props));
    EXPECT(hipSuccess, hipMemPoolSetAccess(pool, &second, 1));
    props.handleTypes = hipMemHandleTypeNone;
    EXPECT(hipSuccess, hipMemPoolCreate(&plain, &props));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolExportToShareableHandle(
               &fd, plain, hipMemHandleTypePosixFileDescriptor, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolExportToShareableHandle(
               NULL, pool, hipMemHandleTypePosixFileDescriptor, 0));
    EXPECT(hipSuccess, hipMemPoolExportToShareableHandle(
                           &fd, pool, hipMemHandleTypePosixFileDescriptor, 0));
    assert_true(fd >= 0);
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&p, N, pool, NULL));
    EXPECT(hipSuccess, hipMemset(p, 0x33, N));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipErrorInvalidValue, hipMemPoolExportPointer(NULL, p));
    EXPECT(hipErrorInvalidValue, hipMemPoolExportPointer(&data, host));
    EXPECT(hipSuccess, hipMemPoolExportPointer(&data, p));
    put(&fd, sizeof(fd));
    put(&data, sizeof(data));
    expect_exit();
    EXPECT(hipSuccess, hipMemcpy(host, p, N, hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(host[i], 0x44);
    EXPECT(hipSuccess, hipFreeAsync(p, NULL));
}

/* ---- events ------------------------------------------------------------- */

static void set_gate(void *gate)
{
    __atomic_store_n((int *)gate, 1, __ATOMIC_RELEASE);
}

static void wait_for_what_comes(void)
{
    hipIpcEventHandle_t handle;
    hipStream_t s;
    hipEvent_t event;
    int behind = 0, byte = 0;

    get(&handle, sizeof(handle));
    EXPECT(hipErrorInvalidValue, hipIpcOpenEventHandle(NULL, handle));
    EXPECT(hipSuccess, hipIpcOpenEventHandle(&event, handle));
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipErrorNotReady, hipEventQuery(event)); /* recorded, not reached */
    EXPECT(hipSuccess, hipStreamWaitEvent(s, event, 0));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, set_gate, &behind));
    usleep(20000);
    assert_int_equal(__atomic_load_n(&behind, __ATOMIC_ACQUIRE), 0);
    put(&byte, sizeof(byte)); /* now it may go on */
    EXPECT(hipSuccess, hipEventSynchronize(event));
    EXPECT(hipSuccess, hipEventQuery(event));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    assert_int_equal(behind, 1);
    /* And the other way round. */
    EXPECT(hipSuccess, hipEventRecord(event, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    put(&byte, sizeof(byte));
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    exit(0);
}

static int gate;

static void wait_at_gate(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
        usleep(100);
}

static void share_events(void)
{
    hipIpcEventHandle_t handle;
    hipEvent_t event, plain;
    hipStream_t s;
    int byte;

    if (split())
        wait_for_what_comes();
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipEventCreate(&plain));
    EXPECT(hipErrorInvalidConfiguration, hipIpcGetEventHandle(&handle, plain));
    EXPECT(hipErrorInvalidValue, /* no times across processes */
           hipEventCreateWithFlags(&event, hipEventInterprocess));
    EXPECT(hipSuccess,
           hipEventCreateWithFlags(&event, hipEventInterprocess |
                                               hipEventDisableTiming));
    EXPECT(hipErrorInvalidValue, hipIpcGetEventHandle(NULL, event));
    EXPECT(hipSuccess, hipIpcGetEventHandle(&handle, event));
    EXPECT(hipErrorInvalidContext, hipIpcOpenEventHandle(&plain, handle));
    EXPECT(hipSuccess, hipEventQuery(event)); /* never recorded */
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_at_gate, NULL));
    EXPECT(hipSuccess, hipEventRecord(event, s));
    EXPECT(hipErrorNotReady, hipEventQuery(event));
    put(&handle, sizeof(handle));
    get(&byte, sizeof(byte));
    set_gate(&gate);
    EXPECT(hipSuccess, hipEventSynchronize(event));
    get(&byte, sizeof(byte));
    EXPECT(hipSuccess, hipEventSynchronize(event));
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipEventDestroy(plain));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    expect_exit();
}

/* ---- tests, each in a new process ---------------------------------------- */

static const char *const environment[] = {"KPK_SIM_DEVICES=gfx942", NULL};

static void test_memory(void **state)
{
    (void)state;
    in_child(environment, share_memory);
}

static void test_pools(void **state)
{
    static const char *const two[] = {"KPK_SIM_DEVICES=gfx942,gfx942", NULL};

    (void)state;
    in_child(two, share_pools);
}

static void test_events(void **state)
{
    (void)state;
    in_child(environment, share_events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
