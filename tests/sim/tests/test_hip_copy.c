/* test_hip_copy.c - when a copy returns, and what it comes behind
 *
 * A blocking copy within one device's memory returns before it is done, and so
 * does hipMemcpyPeer(): AMD's runtime waits only where the host could see a
 * difference. A copy on the stream of a device that none of the memory belongs
 * to goes to the default stream of the one that has it.
 */
#define _GNU_SOURCE
#include "hip_test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 64 };

hipError_t hipPointerSetAttribute(const void *value,
                                  hipPointer_attribute attribute,
                                  hipDeviceptr_t ptr);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Holds a stream up for as long as the test has the lock. */
static void wait_for_lock(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void sleep_a_little(void *done)
{
    usleep(50000);
    __atomic_store_n((bool *)done, true, __ATOMIC_RELEASE);
}

static char *memory(int device, char fill)
{
    char host[N], *p = NULL;

    EXPECT(hipSuccess, hipSetDevice(device));
    EXPECT(hipSuccess, hipMalloc((void **)&p, N));
    memset(host, fill, N);
    EXPECT(hipSuccess, hipMemcpy(p, host, N, hipMemcpyHostToDevice));
    return p;
}

static void expect_all(const char *p, char want)
{
    char got[N];
    int i;

    EXPECT(hipSuccess, hipMemcpy(got, p, N, hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(got[i], want);
}

static void within_a_device(void)
{
    char *a = memory(0, 1), *b = memory(0, 2), *c = memory(0, 3);
    const int yes = 1;
    hipStream_t busy;
    bool done = false;

    EXPECT(hipSuccess, hipStreamCreate(&busy));
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, wait_for_lock, NULL));
    EXPECT(hipSuccess, hipMemcpy(b, a, N, hipMemcpyDeviceToDevice));
    EXPECT(hipSuccess,
           hipMemcpy2D(c, 8, a, 8, 8, N / 8, hipMemcpyDeviceToDevice));
    EXPECT(hipErrorNotReady, hipStreamQuery(busy));
    pthread_mutex_unlock(&lock);
    expect_all(b, 1);
    expect_all(c, 1);
    /* Unless the memory is said to be copied while the host waits. */
    EXPECT(hipSuccess,
           hipPointerSetAttribute(&yes, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, sleep_a_little, &done));
    EXPECT(hipSuccess, hipMemcpy(b, a, N, hipMemcpyDeviceToDevice));
    assert_true(__atomic_load_n(&done, __ATOMIC_ACQUIRE));
    EXPECT(hipSuccess, hipStreamDestroy(busy));
}

static void test_copies_within_a_device_return_early(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, within_a_device);
}

/* Copies to host memory have finished when the call returns. */
static void with_the_hosts_memory(void)
{
    char *a = memory(0, 1), *pinned = NULL, *managed = NULL;
    hipStream_t busy;
    bool done = false;

    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, N, 0));
    EXPECT(hipSuccess, hipMallocManaged((void **)&managed, N, 1));
    EXPECT(hipSuccess, hipStreamCreate(&busy));
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, sleep_a_little, &done));
    EXPECT(hipSuccess, hipMemcpy(pinned, a, N, hipMemcpyDeviceToHost));
    assert_true(__atomic_load_n(&done, __ATOMIC_ACQUIRE));
    assert_int_equal(pinned[N - 1], 1);
    done = false;
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, sleep_a_little, &done));
    EXPECT(hipSuccess, hipMemcpy(managed, a, N, hipMemcpyDefault));
    assert_true(__atomic_load_n(&done, __ATOMIC_ACQUIRE));
    assert_int_equal(managed[N - 1], 1);
    EXPECT(hipSuccess, hipStreamDestroy(busy));
}

static void test_copies_with_host_memory_end_first(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, with_the_hosts_memory);
}

/* AMD's runtime copies from host to host in the call, behind the stream. */
static void from_host_to_host(void)
{
    char *a = memory(0, 1), *pinned = NULL, *other = NULL, *managed = NULL;
    hipStream_t busy;
    bool done = false;
    int i;

    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, N, 0));
    EXPECT(hipSuccess, hipHostMalloc((void **)&other, N, 0));
    EXPECT(hipSuccess, hipMallocManaged((void **)&managed, N, 1));
    EXPECT(hipSuccess, hipStreamCreate(&busy));
    for (i = 0; i < 3; i++) {
        done = false;
        memset(pinned, 5 + i, N);
        EXPECT(hipSuccess, hipLaunchHostFunc(busy, sleep_a_little, &done));
        EXPECT(hipSuccess,
               i == 0
                   ? hipMemcpyAsync(other, pinned, N, hipMemcpyHostToHost, busy)
               : i == 1
                   ? hipMemcpyAsync(managed, pinned, N, hipMemcpyDefault, busy)
                   : hipMemcpy2DAsync(other, 8, pinned, 8, 8, N / 8,
                                      hipMemcpyDefault, busy));
        assert_true(__atomic_load_n(&done, __ATOMIC_ACQUIRE));
        assert_int_equal((i == 1 ? managed : other)[N - 1], 5 + i);
    }
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, wait_for_lock, NULL));
    EXPECT(hipSuccess,
           hipMemcpyAsync(a, pinned, N, hipMemcpyHostToDevice, busy));
    EXPECT(hipErrorNotReady, hipStreamQuery(busy));
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess, hipStreamSynchronize(busy));
    expect_all(a, 7);
    EXPECT(hipSuccess, hipStreamDestroy(busy));
}

static void test_copies_from_host_to_host_end_first(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, from_host_to_host);
}

static void with_release_5(void)
{
    char *a = memory(0, 1), *b = memory(0, 2);
    hipStream_t busy;
    bool done = false;

    EXPECT(hipSuccess, hipStreamCreate(&busy));
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, sleep_a_little, &done));
    EXPECT(hipSuccess, hipMemcpy(b, a, N, hipMemcpyDeviceToDevice));
    assert_true(__atomic_load_n(&done, __ATOMIC_ACQUIRE));
}

static void test_release_5_waits(void **state)
{
    static const char *const five[] = {"KPK_SIM_HIP_VERSION=5", NULL};

    (void)state;
    in_child(five, with_release_5);
}

/* Behind what both devices do; and their memory may be freed at once. */
static void between_devices(void)
{
    char *a = memory(0, 1), *b = memory(1, 2);
    hipStream_t of_0, of_1;

    EXPECT(hipSuccess, hipStreamCreate(&of_1));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipStreamCreate(&of_0));
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(of_1, wait_for_lock, NULL));
    EXPECT(hipSuccess, hipMemcpyPeer(b, 1, a, 0, N));
    EXPECT(hipErrorNotReady, hipStreamQuery(NULL));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipErrorNotReady, hipStreamQuery(NULL));
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess, hipFree(a));
    expect_all(b, 1);
    a = memory(0, 3);
    EXPECT(hipSuccess, hipLaunchHostFunc(of_0, wait_for_lock, NULL));
    EXPECT(hipSuccess, hipMemcpyPeer(b, 1, a, 0, N));
    EXPECT(hipSuccess, hipFree(a));
    expect_all(b, 3);
    EXPECT(hipSuccess, hipStreamDestroy(of_0));
    EXPECT(hipSuccess, hipStreamDestroy(of_1));
}

static void test_copies_between_devices_return_early(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, between_devices);
}

/* A stream of device 1, memory of device 0. */
static void on_a_foreign_stream(void)
{
    char *a = memory(0, 1), *b = memory(0, 2), *pinned = NULL, host[N];
    hipStream_t busy, foreign;

    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, N, 0));
    EXPECT(hipSuccess, hipStreamCreate(&busy));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess,
           hipStreamCreateWithFlags(&foreign, hipStreamNonBlocking));
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, wait_for_lock, NULL));
    EXPECT(hipSuccess,
           hipMemcpyAsync(b, a, N, hipMemcpyDeviceToDevice, foreign));
    EXPECT(hipSuccess,
           hipMemcpyAsync(pinned, b, N, hipMemcpyDeviceToHost, foreign));
    usleep(20000);
    EXPECT(hipErrorNotReady, hipStreamQuery(foreign));
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess, hipStreamSynchronize(foreign));
    assert_int_equal(pinned[N - 1], 1);
    /* Behind the stream's own work as well, and before what comes later. */
    memset(host, 5, N);
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(foreign, wait_for_lock, NULL));
    EXPECT(hipSuccess,
           hipMemcpyAsync(b, a, N, hipMemcpyDeviceToDevice, foreign));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipErrorNotReady, hipStreamQuery(NULL));
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess,
           hipMemcpyAsync(a, host, N, hipMemcpyHostToDevice, foreign));
    expect_all(b, 1);
    expect_all(a, 5);
    EXPECT(hipSuccess, hipStreamDestroy(busy));
    EXPECT(hipSuccess, hipStreamDestroy(foreign));
}

static void test_copies_go_where_their_memory_is(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, on_a_foreign_stream);
}

/* Boxes of the program's own memory, which it may use again at once. */
static void boxes_of_plain_memory(void)
{
    char *a = memory(0, 1), host[2 * N];
    hipStream_t busy;

    EXPECT(hipSuccess, hipStreamCreate(&busy));
    memset(host, 6, sizeof(host));
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(busy, wait_for_lock, NULL));
    EXPECT(hipSuccess, hipMemcpy2DAsync(a, 8, host, 16, 8, N / 8,
                                        hipMemcpyHostToDevice, busy));
    EXPECT(hipErrorNotReady, hipStreamQuery(busy));
    memset(host, 7, sizeof(host));
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess, hipStreamSynchronize(busy));
    expect_all(a, 6);
    EXPECT(hipSuccess, hipStreamDestroy(busy));
}

static void test_boxes_of_plain_memory_are_put_aside(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, boxes_of_plain_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_within_a_device_return_early),
        cmocka_unit_test(test_copies_with_host_memory_end_first),
        cmocka_unit_test(test_copies_from_host_to_host_end_first),
        cmocka_unit_test(test_release_5_waits),
        cmocka_unit_test(test_copies_between_devices_return_early),
        cmocka_unit_test(test_copies_go_where_their_memory_is),
        cmocka_unit_test(test_boxes_of_plain_memory_are_put_aside),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
