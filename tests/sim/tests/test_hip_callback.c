/* test_hip_callback.c - functions of the host that streams call
 *
 * As HIP's manual says, a function runs when earlier operations on the stream
 * are done, and holds later operations up.
 */
#define _GNU_SOURCE
#include "hip_test.h"

#include "sim/hip/kpk_sim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PER_THREAD ((hipStream_t)2)

enum { N = 64, MAX_CALLS = 64 };

/* The callbacks in order: ID, stream, status, thread. */
struct call {
    int id;
    hipStream_t stream;
    hipError_t status;
    pthread_t thread;
    unsigned seen; /* a kernel's output, read by the callback */
};
static struct call calls[MAX_CALLS];
static atomic_int ncalls;
static atomic_bool open_now;
static unsigned *watched; /* pinned memory */

static void note(int id, hipStream_t stream, hipError_t status)
{
    struct call *c = &calls[atomic_load(&ncalls)];

    c->id = id;
    c->stream = stream;
    c->status = status;
    c->thread = pthread_self();
    c->seen = watched ? watched[N - 1] : 0;
    atomic_fetch_add(&ncalls, 1);
}

static void plain(void *data)
{
    note(*(int *)data, NULL, hipSuccess);
}

static void with_status(hipStream_t stream, hipError_t status, void *data)
{
    note(*(int *)data, stream, status);
}

static void wait_until_open(void *data)
{
    (void)data;
    while (!atomic_load(&open_now))
        usleep(100);
}

static hipModule_t module;

static void start(void)
{
    static void *volatile image; /* stays with the module; no leak */
    size_t n;

    image = read_api("gfx942", &n);
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess,
           hipHostMalloc((void **)&watched, N * sizeof(*watched), 0));
    memset(watched, 0, N * sizeof(*watched));
}

/* c[i] = c[i] * 2 + k of the watched memory */
static void step(hipStream_t s, unsigned k)
{
    unsigned n = N;
    void *params[] = {&watched, &k, &n};
    hipFunction_t f;

    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "step"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, s, params, NULL));
}

static const char *const one[] = {"KPK_SIM_DEVICES=gfx942", NULL};

/* Between two kernels a function sees what the first did, and no more. */
static void in_order(void)
{
    hipStream_t created, streams[3];
    int ids[6] = {0, 1, 2, 3, 4, 5}, i;

    start();
    EXPECT(hipSuccess, hipStreamCreate(&created));
    streams[0] = NULL;
    streams[1] = PER_THREAD;
    streams[2] = created;
    for (i = 0; i < 3; i++) {
        memset(watched, 0, N * sizeof(*watched));
        atomic_store(&ncalls, 0);
        step(streams[i], 1);
        EXPECT(hipSuccess, hipLaunchHostFunc(streams[i], plain, &ids[0]));
        step(streams[i], 1);
        EXPECT(hipSuccess,
               hipStreamAddCallback(streams[i], with_status, &ids[1], 0));
        step(streams[i], 1);
        EXPECT(hipSuccess, hipLaunchHostFunc(streams[i], plain, &ids[2]));
        EXPECT(hipSuccess, hipStreamSynchronize(streams[i]));
        assert_int_equal(atomic_load(&ncalls), 3);
        assert_int_equal(calls[0].id, 0);
        assert_int_equal(calls[1].id, 1);
        assert_int_equal(calls[2].id, 2);
        assert_int_equal(calls[0].seen, 1);
        assert_int_equal(calls[1].seen, 3);
        assert_int_equal(calls[2].seen, 7);
        assert_int_equal(calls[1].status, hipSuccess);
        assert_ptr_equal(calls[1].stream, streams[i]);
        assert_false(pthread_equal(calls[0].thread, pthread_self()));
    }
    EXPECT(hipSuccess, hipStreamDestroy(created));
}

static void test_functions_run_in_their_streams_order(void **state)
{
    (void)state;
    in_child(one, in_order);
}

static void hold_up(void)
{
    hipStream_t s, other;
    hipEvent_t event;
    int id = 9;

    start();
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&event));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_until_open, NULL));
    EXPECT(hipSuccess, hipEventRecord(event, s));
    step(s, 1);
    EXPECT(hipErrorNotReady, hipStreamQuery(s));
    EXPECT(hipErrorNotReady, hipEventQuery(event));
    /* Another stream goes on, and one that waits for the event does not. */
    EXPECT(hipSuccess, hipLaunchHostFunc(other, plain, &id));
    EXPECT(hipSuccess, hipStreamSynchronize(other));
    assert_int_equal(atomic_load(&ncalls), 1);
    EXPECT(hipSuccess, hipStreamWaitEvent(other, event, 0));
    EXPECT(hipSuccess, hipLaunchHostFunc(other, plain, &id));
    usleep(20000);
    assert_int_equal(atomic_load(&ncalls), 1);
    assert_int_equal(watched[0], 0);
    atomic_store(&open_now, true);
    EXPECT(hipSuccess, hipDeviceSynchronize()); /* waits for functions too */
    assert_int_equal(atomic_load(&ncalls), 2);
    assert_int_equal(watched[0], 1);
    EXPECT(hipSuccess, hipEventQuery(event));
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamDestroy(other));
}

static void test_a_function_holds_up_its_stream_alone(void **state)
{
    (void)state;
    in_child(one, hold_up);
}

/* The legacy default stream waits for functions of blocking streams. */
static void default_stream(void)
{
    hipStream_t blocking;
    int id = 1;

    start();
    EXPECT(hipSuccess, hipStreamCreate(&blocking));
    EXPECT(hipSuccess, hipLaunchHostFunc(blocking, wait_until_open, NULL));
    EXPECT(hipSuccess, hipLaunchHostFunc(NULL, plain, &id));
    usleep(20000);
    assert_int_equal(atomic_load(&ncalls), 0);
    EXPECT(hipErrorNotReady, hipStreamQuery(NULL));
    atomic_store(&open_now, true);
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&ncalls), 1);
    EXPECT(hipSuccess, hipStreamDestroy(blocking));
}

static void test_default_stream_waits_for_functions(void **state)
{
    (void)state;
    in_child(one, default_stream);
}

/* A destroyed stream still calls functions submitted before. */
static void destroyed_stream(void)
{
    hipStream_t s;
    int ids[8], i;

    start();
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_until_open, NULL));
    for (i = 0; i < 8; i++) {
        ids[i] = i;
        EXPECT(hipSuccess, hipLaunchHostFunc(s, plain, &ids[i]));
    }
    EXPECT(hipSuccess, hipStreamDestroy(s));
    atomic_store(&open_now, true);
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(atomic_load(&ncalls), 8);
    for (i = 0; i < 8; i++)
        assert_int_equal(calls[i].id, i);
}

static void test_destroyed_stream_calls_its_functions(void **state)
{
    (void)state;
    in_child(one, destroyed_stream);
}

/* A kernel's fault reaches the callback as its status. */
static void after_a_fault(void)
{
    int id = 3;
    long far = 1 << 20;
    void *params[] = {&watched, &far};
    hipFunction_t f;

    start();
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "store_at"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipStreamAddCallback(NULL, with_status, &id, 0));
    EXPECT(hipErrorIllegalAddress, hipStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&ncalls), 1);
    assert_int_equal(calls[0].status, hipErrorIllegalAddress);
    kpkSimClearFault();
    EXPECT(hipSuccess, hipStreamAddCallback(NULL, with_status, &id, 0));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_int_equal(calls[1].status, hipSuccess);
}

static void test_callback_is_told_of_a_fault(void **state)
{
    (void)state;
    in_child(one, after_a_fault);
}

static void refusals(void)
{
    int id = 0;
    hipStream_t gone;

    start();
    EXPECT(hipSuccess, hipStreamCreate(&gone));
    EXPECT(hipSuccess, hipStreamDestroy(gone));
    EXPECT(hipErrorInvalidValue, hipLaunchHostFunc(NULL, NULL, &id));
    EXPECT(hipErrorInvalidValue, hipStreamAddCallback(NULL, NULL, &id, 0));
    EXPECT(hipErrorInvalidValue,
           hipStreamAddCallback(NULL, with_status, &id, 1));
    EXPECT(hipErrorContextIsDestroyed, hipLaunchHostFunc(gone, plain, &id));
    EXPECT(hipErrorContextIsDestroyed,
           hipStreamAddCallback(gone, with_status, &id, 0));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(atomic_load(&ncalls), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    in_child(one, refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_run_in_their_streams_order),
        cmocka_unit_test(test_a_function_holds_up_its_stream_alone),
        cmocka_unit_test(test_default_stream_waits_for_functions),
        cmocka_unit_test(test_destroyed_stream_calls_its_functions),
        cmocka_unit_test(test_callback_is_told_of_a_fault),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
