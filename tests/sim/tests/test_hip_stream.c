/* test_hip_stream.c - streams, events, callbacks: what runs before what
 *
 * A stream is held up by a host function that waits for a gate, so that the
 * tests decide when it goes on and nothing depends on speed.
 */
#include "hip_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PER_THREAD ((hipStream_t)2)
#define LEGACY ((hipStream_t)1)

/* The one _spt function here that HIP's header does not declare. */
hipError_t hipMemsetAsync_spt(void *dst, int value, size_t n,
                              hipStream_t stream);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct gate {
    bool open;
};

static void wait_at(void *pointer)
{
    const struct gate *gate = pointer;

    pthread_mutex_lock(&lock);
    while (!gate->open)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void open_gate(struct gate *gate)
{
    pthread_mutex_lock(&lock);
    gate->open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void nap(void)
{
    struct timespec t = {0, 20000000};

    nanosleep(&t, NULL);
}

static double clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- streams ------------------------------------------------------------ */

static void test_handles(void **state)
{
    int unknown, priority, least, greatest;
    hipStream_t bad = (hipStream_t)(void *)&unknown, s;
    unsigned flags;
    hipDevice_t device;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipStreamCreate(NULL));
    EXPECT(hipErrorInvalidValue, hipStreamCreateWithFlags(&s, 2));
    EXPECT(hipErrorContextIsDestroyed, hipStreamSynchronize(bad));
    EXPECT(hipErrorContextIsDestroyed, hipStreamQuery(bad));
    EXPECT(hipErrorContextIsDestroyed, hipStreamDestroy(bad));
    EXPECT(hipErrorInvalidHandle, hipStreamDestroy(NULL));
    EXPECT(hipErrorInvalidHandle, hipStreamDestroy(PER_THREAD));
    EXPECT(hipSuccess, hipDeviceGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 1);
    assert_int_equal(greatest, -1);
    EXPECT(hipSuccess, hipStreamCreateWithPriority(&s, 1, -7));
    EXPECT(hipSuccess, hipStreamGetPriority(s, &priority));
    assert_int_equal(priority, -1); /* clamped */
    EXPECT(hipSuccess, hipStreamGetFlags(s, &flags));
    assert_int_equal(flags, 1);
    EXPECT(hipSuccess, hipStreamGetDevice(s, &device));
    assert_int_equal(device, 0);
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipErrorContextIsDestroyed, hipStreamSynchronize(s));
    EXPECT(hipErrorContextIsDestroyed, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    EXPECT(hipSuccess, hipStreamSynchronize(LEGACY));
    EXPECT(hipSuccess, hipStreamSynchronize(PER_THREAD));
}

static void test_stream_is_asynchronous_and_in_order(void **state)
{
    struct gate gate = {false};
    unsigned char *p, back[64];
    hipStream_t s;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64));
    EXPECT(hipSuccess, hipMemset(p, 0, 64));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_at, &gate));
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, s)); /* returns at once */
    EXPECT(hipSuccess, hipMemsetAsync(p, 2, 32, s));
    EXPECT(hipErrorNotReady, hipStreamQuery(s));
    nap();
    EXPECT(hipSuccess, hipMemcpy(back, p, 64, hipMemcpyDeviceToHost));
    assert_int_equal(back[0], 0); /* the gate holds the work back */
    open_gate(&gate);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipStreamQuery(s));
    EXPECT(hipSuccess, hipMemcpy(back, p, 64, hipMemcpyDeviceToHost));
    assert_int_equal(back[31], 2);
    assert_int_equal(back[32], 1);
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipStreamDestroy(s));
}

/* The default stream and blocking streams wait for each other's work; other
 * streams do not take part. */
static void test_default_stream(void **state)
{
    struct gate first = {false}, second = {false};
    hipStream_t blocking, other;
    unsigned char *p;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&blocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64));
    EXPECT(hipSuccess, hipLaunchHostFunc(blocking, wait_at, &first));
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, NULL));
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, other));
    EXPECT(hipSuccess, hipStreamSynchronize(other)); /* not held up */
    nap();
    EXPECT(hipErrorNotReady, hipStreamQuery(NULL));
    open_gate(&first);
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    EXPECT(hipSuccess, hipStreamQuery(blocking));

    EXPECT(hipSuccess, hipLaunchHostFunc(NULL, wait_at, &second));
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, blocking));
    EXPECT(hipSuccess, hipMemsetAsync_spt(p, 1, 64, NULL)); /* this thread's */
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, other));
    EXPECT(hipSuccess, hipStreamSynchronize(other));
    nap();
    EXPECT(hipErrorNotReady, hipStreamQuery(blocking));
    EXPECT(hipErrorNotReady, hipStreamQuery(PER_THREAD));
    EXPECT(hipErrorNotReady, hipStreamQuery_spt(NULL));
    open_gate(&second);
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipStreamQuery(PER_THREAD));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipStreamDestroy(blocking));
    EXPECT(hipSuccess, hipStreamDestroy(other));
}

/* A destroyed stream still does what it was given. */
static void test_destroyed_stream_finishes(void **state)
{
    struct gate gate = {false};
    unsigned char *p, back = 0;
    hipStream_t s;
    hipEvent_t done;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 1));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&done));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_at, &gate));
    EXPECT(hipSuccess, hipMemsetAsync(p, 9, 1, s));
    EXPECT(hipSuccess, hipEventRecord(done, s));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipErrorNotReady, hipEventQuery(done));
    open_gate(&gate);
    EXPECT(hipSuccess, hipEventSynchronize(done));
    EXPECT(hipSuccess, hipMemcpy(&back, p, 1, hipMemcpyDeviceToHost));
    assert_int_equal(back, 9);
    EXPECT(hipSuccess, hipEventDestroy(done));
    EXPECT(hipSuccess, hipFree(p));
}

static void *open_soon(void *gate)
{
    nap();
    open_gate(gate);
    return NULL;
}

/* Waiting for the device includes destroyed streams. */
static void test_device_waits_for_destroyed_streams(void **state)
{
    unsigned char *p, back;
    int how;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 1));
    for (how = 0; how < 3; how++) {
        struct gate gate = {false};
        pthread_t opener;
        hipStream_t s;

        EXPECT(hipSuccess, hipMemset(p, 0, 1));
        EXPECT(hipSuccess, hipStreamCreate(&s));
        EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_at, &gate));
        EXPECT(hipSuccess, hipMemsetAsync(p, 9, 1, s));
        EXPECT(hipSuccess, hipStreamDestroy(s));
        assert_int_equal(pthread_create(&opener, NULL, open_soon, &gate), 0);
        back = 0;
        if (how == 1)
            EXPECT(hipSuccess, hipDeviceSynchronize());
        if (how == 2) /* nor is the memory gone before its last use */
            EXPECT(hipSuccess, hipFree(p));
        else
            EXPECT(hipSuccess, hipMemcpy(&back, p, 1, hipMemcpyDeviceToHost));
        if (how < 2)
            assert_int_equal(back, 9);
        pthread_join(opener, NULL);
        EXPECT(hipSuccess, hipDeviceSynchronize());
    }
}

static void test_small_answers_about_streams(void **state)
{
    unsigned flags;
    hipStream_t s;
    hipEvent_t e;
    int *managed, *device;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipEventCreate(&e));
    EXPECT(hipErrorInvalidValue, hipStreamWaitEvent(s, e, 1));
    EXPECT(hipSuccess, hipStreamWaitEvent(s, e, 0));
    EXPECT(hipErrorInvalidValue,
           hipEventCreateWithFlags(&e, 0x40000000u | 0x80000000u));
    EXPECT(hipErrorInvalidValue, hipStreamGetFlags(s, NULL));
    EXPECT(hipSuccess, hipStreamGetFlags(s, &flags));
    EXPECT(hipSuccess, hipMallocManaged((void **)&managed, 64, 1));
    EXPECT(hipSuccess, hipMalloc((void **)&device, 64));
    EXPECT(hipSuccess,
           hipStreamAttachMemAsync(s, managed, 0, hipMemAttachSingle));
    EXPECT(hipSuccess,
           hipStreamAttachMemAsync(s, managed, 64, hipMemAttachHost));
    EXPECT(hipErrorInvalidValue,
           hipStreamAttachMemAsync(s, managed, 60, hipMemAttachHost));
    EXPECT(hipErrorInvalidValue, hipStreamAttachMemAsync(s, managed, 0, 3));
    EXPECT(hipErrorInvalidValue,
           hipStreamAttachMemAsync(NULL, managed, 0, hipMemAttachSingle));
    EXPECT(hipErrorInvalidValue,
           hipStreamAttachMemAsync(s, NULL, 0, hipMemAttachHost));
    EXPECT(hipErrorInvalidValue,
           hipStreamAttachMemAsync(s, device, 0, hipMemAttachHost));
    EXPECT(hipSuccess, hipFree(device));
    EXPECT(hipSuccess, hipFree(managed));
    EXPECT(hipSuccess, hipEventDestroy(e));
    EXPECT(hipSuccess, hipStreamDestroy(s));
}

static void flags_of_the_default_stream(void)
{
    unsigned flags;

    EXPECT(hipErrorInvalidValue, hipStreamGetFlags(NULL, &flags));
}

/* ---- events ------------------------------------------------------------- */

static void test_event_errors(void **state)
{
    hipEvent_t e, quiet, never;
    int unknown;
    hipEvent_t bad = (hipEvent_t)(void *)&unknown;
    float ms;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipEventCreate(NULL));
    EXPECT(hipErrorInvalidValue, hipEventCreateWithFlags(&e, 0x100));
    EXPECT(hipErrorInvalidValue,
           hipEventCreateWithFlags(&e, hipEventInterprocess));
    EXPECT(hipSuccess, hipEventCreate(&e));
    EXPECT(hipSuccess, hipEventCreate(&never));
    EXPECT(hipSuccess, hipEventCreateWithFlags(&quiet, hipEventDisableTiming));
    EXPECT(hipErrorInvalidHandle, hipEventRecord(NULL, NULL));
    EXPECT(hipErrorInvalidHandle, hipEventRecord(bad, NULL));
    EXPECT(hipErrorContextIsDestroyed,
           hipEventRecord(e, (hipStream_t)(void *)&unknown));
    EXPECT(hipErrorInvalidHandle, hipEventQuery(NULL));
    EXPECT(hipErrorInvalidHandle, hipEventSynchronize(NULL));
    EXPECT(hipSuccess, hipEventQuery(never));
    EXPECT(hipSuccess, hipEventSynchronize(never));
    EXPECT(hipErrorInvalidHandle, hipStreamWaitEvent(NULL, NULL, 0));
    EXPECT(hipErrorInvalidHandle,
           hipStreamWaitEvent((hipStream_t)(void *)&unknown, e, 0));
    EXPECT(hipSuccess, hipStreamWaitEvent(NULL, never, 0));
    EXPECT(hipSuccess, hipEventRecord(e, NULL));
    EXPECT(hipSuccess, hipEventRecord(quiet, NULL));
    EXPECT(hipSuccess, hipEventSynchronize(quiet));
    EXPECT(hipErrorInvalidValue, hipEventElapsedTime(NULL, e, e));
    EXPECT(hipErrorInvalidHandle, hipEventElapsedTime(&ms, e, NULL));
    EXPECT(hipErrorInvalidHandle, hipEventElapsedTime(&ms, e, never));
    EXPECT(hipErrorInvalidHandle, hipEventElapsedTime(&ms, e, quiet));
    EXPECT(hipSuccess, hipEventElapsedTime(&ms, e, e));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipErrorInvalidHandle, hipEventRecord(e, NULL)); /* of device 0 */
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipErrorInvalidHandle, hipEventDestroy(NULL));
    EXPECT(hipErrorContextIsDestroyed, hipEventDestroy(bad));
    EXPECT(hipSuccess, hipEventDestroy(e));
    EXPECT(hipErrorContextIsDestroyed, hipEventDestroy(e));
    EXPECT(hipSuccess, hipEventDestroy(quiet));
    EXPECT(hipSuccess, hipEventDestroy(never));
}

static void test_events_order_streams_and_measure(void **state)
{
    struct gate gate = {false};
    hipStream_t a, b;
    hipEvent_t start, stop;
    const double before = clock_ms();
    unsigned char *p;
    float ms = 0;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&start));
    EXPECT(hipSuccess, hipEventCreate(&stop));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64));
    EXPECT(hipSuccess, hipEventRecord(start, a));
    EXPECT(hipSuccess, hipLaunchHostFunc(a, wait_at, &gate));
    EXPECT(hipSuccess, hipEventRecord(stop, a));
    EXPECT(hipSuccess, hipStreamWaitEvent(b, stop, 0));
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, b));
    EXPECT(hipSuccess, hipEventSynchronize(start));
    EXPECT(hipErrorNotReady, hipEventElapsedTime(&ms, start, stop));
    nap();
    EXPECT(hipErrorNotReady, hipEventQuery(stop));
    EXPECT(hipErrorNotReady, hipStreamQuery(b));
    open_gate(&gate);
    EXPECT(hipSuccess, hipStreamSynchronize(b));
    EXPECT(hipSuccess, hipEventQuery(stop));
    EXPECT(hipSuccess, hipEventElapsedTime(&ms, start, stop));
    assert_true(ms >= 19); /* the nap was in between */
    assert_true(ms <= clock_ms() - before + 1);
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipEventDestroy(start));
    EXPECT(hipSuccess, hipEventDestroy(stop));
    EXPECT(hipSuccess, hipStreamDestroy(a));
    EXPECT(hipSuccess, hipStreamDestroy(b));
}

/* ---- the rest ----------------------------------------------------------- */

static void count(hipStream_t stream, hipError_t status, void *data)
{
    (void)stream;
    *(int *)data += status == hipSuccess;
}

static void test_callbacks(void **state)
{
    int calls = 0, i;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipStreamAddCallback(NULL, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue, hipStreamAddCallback(NULL, count, &calls, 1));
    for (i = 0; i < 10; i++)
        EXPECT(hipSuccess, hipStreamAddCallback(NULL, count, &calls, 0));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_int_equal(calls, 10);
}

/* Pinned memory is read when the copy runs, other memory before the call
 * returns. */
static void test_asynchronous_copies(void **state)
{
    struct gate gate = {false};
    unsigned char *pinned, *p, plain[16], back[16];
    hipStream_t s;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, 16, 0));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 16));
    memset(plain, 7, 16);
    EXPECT(hipSuccess, hipMemcpyAsync(p, plain, 16, hipMemcpyHostToDevice, s));
    memset(plain, 0, 16);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(back, p, 16, hipMemcpyDeviceToHost));
    assert_int_equal(back[3], 7);
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_at, &gate));
    EXPECT(hipSuccess, hipMemcpyAsync(p, pinned, 16, hipMemcpyHostToDevice, s));
    memset(pinned, 8, 16);
    open_gate(&gate);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(back, p, 16, hipMemcpyDeviceToHost));
    assert_int_equal(back[3], 8);
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipHostFree(pinned));
    EXPECT(hipSuccess, hipStreamDestroy(s));
}

static void test_values_in_memory(void **state)
{
    hipStream_t s;
    uint32_t *p, back;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 8));
    EXPECT(hipSuccess, hipMemset(p, 0, 8));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess,
           hipStreamWaitValue32(s, p, 5, hipStreamWaitValueEq, ~0u));
    EXPECT(hipSuccess, hipStreamWriteValue32(s, p + 1, 77, 0));
    nap();
    EXPECT(hipErrorNotReady, hipStreamQuery(s));
    EXPECT(hipSuccess, hipStreamWriteValue32(NULL, p, 5, 0));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(&back, p + 1, 4, hipMemcpyDeviceToHost));
    assert_int_equal(back, 77);
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipStreamDestroy(s));
}

static void *use_thread_stream(void *pointer)
{
    unsigned char *p = pointer;

    if (hipMemsetAsync(p, 3, 64, PER_THREAD) != hipSuccess)
        return (void *)1;
    return NULL; /* without waiting: the stream ends with its thread */
}

static void test_per_thread_streams_end_with_their_threads(void **state)
{
    unsigned char *p, back = 0;
    pthread_t thread;
    void *result;
    int i;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64));
    for (i = 0; i < 20; i++) {
        assert_int_equal(pthread_create(&thread, NULL, use_thread_stream, p),
                         0);
        pthread_join(thread, &result);
        assert_null(result);
    }
    EXPECT(hipSuccess, hipDeviceSynchronize());
    do
        EXPECT(hipSuccess, hipMemcpy(&back, p + 63, 1, hipMemcpyDeviceToHost));
    while (back != 3);
    EXPECT(hipSuccess, hipFree(p));
}

struct called {
    hipStream_t stream;
    hipError_t status;
    unsigned char seen;
    const unsigned char *pinned;
};

static void note_call(hipStream_t stream, hipError_t status, void *pointer)
{
    struct called *c = pointer;

    c->stream = stream;
    c->status = status;
    c->seen = c->pinned[63];
}

/* A second thread, whose per-thread stream differs from its creator's. */
static void *work_beside(void *pointer)
{
    unsigned char *p = pointer;

    if (hipStreamQuery(PER_THREAD) != hipSuccess ||
        hipMemsetAsync_spt(p, 4, 64, NULL) != hipSuccess ||
        hipStreamSynchronize_spt(NULL) != hipSuccess)
        return (void *)1;
    return p[63] == 4 ? NULL : (void *)2;
}

/* The legacy default stream waits for the held one, other threads do not. */
static void test_each_thread_has_its_stream(void **state)
{
    struct gate gate = {false};
    struct called called = {.status = hipErrorUnknown};
    unsigned char *p, *other;
    hipStream_t beside;
    pthread_t thread;
    void *result;

    (void)state;
    EXPECT(hipSuccess, hipHostMalloc((void **)&p, 64, 0));
    EXPECT(hipSuccess, hipHostMalloc((void **)&other, 64, 0));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&beside, hipStreamNonBlocking));
    memset(p, 0, 64);
    called.pinned = p;
    EXPECT(hipSuccess, hipLaunchHostFunc(PER_THREAD, wait_at, &gate));
    EXPECT(hipSuccess, hipMemsetAsync_spt(p, 9, 64, NULL));
    EXPECT(hipSuccess, hipStreamAddCallback(PER_THREAD, note_call, &called, 0));
    assert_int_equal(pthread_create(&thread, NULL, work_beside, other), 0);
    pthread_join(thread, &result);
    assert_null(result);
    EXPECT(hipSuccess, hipStreamSynchronize(beside));
    EXPECT(hipErrorNotReady, hipStreamQuery_spt(NULL));
    EXPECT(hipSuccess, hipMemsetAsync(other, 5, 64, NULL));
    nap();
    EXPECT(hipErrorNotReady, hipStreamQuery(NULL));
    assert_int_equal(other[63], 4);
    assert_int_equal(p[63], 0);
    open_gate(&gate);
    EXPECT(hipSuccess, hipStreamSynchronize(PER_THREAD));
    assert_int_equal(called.status, hipSuccess);
    assert_int_equal(called.seen, 9); /* after the memset */
    assert_ptr_equal(called.stream, PER_THREAD);
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_int_equal(other[63], 5);
    EXPECT(hipErrorInvalidHandle, hipStreamDestroy(PER_THREAD));
    EXPECT(hipSuccess, hipStreamDestroy(beside));
    EXPECT(hipSuccess, hipHostFree(p));
    EXPECT(hipSuccess, hipHostFree(other));
}

/* Exits with a stream that is held up: the process ends nevertheless. */
static void leave_work_behind(void)
{
    hipStream_t s;
    uint32_t *p;

    EXPECT(hipSuccess, hipMalloc((void **)&p, 4));
    EXPECT(hipSuccess, hipMemset(p, 0, 4));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess,
           hipStreamWaitValue32(s, p, 1, hipStreamWaitValueEq, ~0u));
}

static void slow_copy(void)
{
    hipEvent_t start, stop;
    char *p, host[4];
    float ms;

    EXPECT(hipSuccess, hipMalloc((void **)&p, 4));
    EXPECT(hipSuccess, hipEventCreate(&start));
    EXPECT(hipSuccess, hipEventCreate(&stop));
    EXPECT(hipSuccess, hipEventRecord(start, NULL));
    EXPECT(hipSuccess, hipMemcpy(p, host, 4, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipEventRecord(stop, NULL));
    EXPECT(hipSuccess, hipEventSynchronize(stop));
    EXPECT(hipSuccess, hipEventElapsedTime(&ms, start, stop));
    assert_true(ms >= 50);
    EXPECT(hipSuccess, hipEventDestroy(start));
    EXPECT(hipSuccess, hipEventDestroy(stop));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_in_other_processes(void **state)
{
    static const char *const plain[] = {NULL};
    static const char *const slow[] = {"KPK_SIM_COPY_DELAY_US=50000", NULL};

    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};
    (void)state;
    in_child(six, flags_of_the_default_stream);
    in_child(plain, leave_work_behind);
    in_child(slow, slow_copy);
}

/* Bits for compute units, on gfx11 for pairs of them. */
static void masks_of_compute_units(void)
{
    uint32_t mask[16], want[16] = {0}, none[2] = {0};
    hipStream_t all, some;
    int device, n, i, words;

    EXPECT(hipSuccess, hipGetDeviceCount(&n));
    assert_int_equal(n, 2);
    for (device = 0; device < n; device++) {
        EXPECT(hipSuccess, hipSetDevice(device));
        EXPECT(hipSuccess,
               hipDeviceGetAttribute(&i, hipDeviceAttributeMultiprocessorCount,
                                     device));
        words = (i + 31) / 32;
        memset(want, 0, sizeof(want));
        while (i-- > 0)
            want[i / 32] |= 1u << i % 32;
        EXPECT(hipErrorInvalidValue,
               hipExtStreamGetCUMask(NULL, (uint32_t)words - 1, mask));
        EXPECT(hipErrorInvalidValue,
               hipExtStreamGetCUMask(NULL, (uint32_t)words, NULL));
        EXPECT(hipSuccess, hipExtStreamGetCUMask(NULL, (uint32_t)words, mask));
        assert_memory_equal(mask, want, (size_t)words * 4);
        EXPECT(hipErrorInvalidValue,
               hipExtStreamCreateWithCUMask(&all, 0, mask));
        EXPECT(hipErrorInvalidValue,
               hipExtStreamCreateWithCUMask(&all, 1, NULL));
        EXPECT(hipSuccess, hipExtStreamCreateWithCUMask(&all, 2, none));
        EXPECT(hipSuccess, hipExtStreamGetCUMask(all, 16, mask));
        assert_memory_equal(mask, want, (size_t)words * 4);
        mask[0] = 0xc;
        for (i = 1; i < 16; i++)
            mask[i] = UINT32_MAX;
        EXPECT(hipSuccess, hipExtStreamCreateWithCUMask(&some, 16, mask));
        want[0] = 0xc;
        EXPECT(hipSuccess, hipExtStreamGetCUMask(some, (uint32_t)words, mask));
        assert_memory_equal(mask, want, (size_t)words * 4);
        EXPECT(hipSuccess, hipStreamDestroy(all));
        EXPECT(hipSuccess, hipStreamDestroy(some));
    }
}

static void test_masks_of_compute_units(void **state)
{
    static const char *const two[] = {"KPK_SIM_DEVICES=gfx942,gfx1100", NULL};

    (void)state;
    in_child(two, masks_of_compute_units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_other_processes),
        cmocka_unit_test(test_masks_of_compute_units),
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_stream_is_asynchronous_and_in_order),
        cmocka_unit_test(test_default_stream),
        cmocka_unit_test(test_destroyed_stream_finishes),
        cmocka_unit_test(test_device_waits_for_destroyed_streams),
        cmocka_unit_test(test_small_answers_about_streams),
        cmocka_unit_test(test_event_errors),
        cmocka_unit_test(test_events_order_streams_and_measure),
        cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_asynchronous_copies),
        cmocka_unit_test(test_values_in_memory),
        cmocka_unit_test(test_per_thread_streams_end_with_their_threads),
        cmocka_unit_test(test_each_thread_has_its_stream),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
