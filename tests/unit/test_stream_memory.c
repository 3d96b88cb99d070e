/* test_stream_memory.c - the pool: the streams that get a freed block, and when
 */
#include "both_fakes.h"
#include "hip.h"

#include <pthread.h>

static int stream, other; /* addresses alone count */

static void *get(size_t nbytes, void *of)
{
    void *ptr = NULL;

    assert_ok(kpk_malloc_async(inst, nbytes, of, &ptr));
    return ptr;
}

static void check_info(size_t used, size_t idle)
{
    size_t now_used = 0, now_idle = 0;

    assert_ok(kpk_pool_info(inst, &now_used, &now_idle));
    assert_int_equal(now_used, used);
    assert_int_equal(now_idle, idle);
}

static void test_freed_block_serves_its_stream_at_once(void **state)
{
    void *first;

    (void)state;
    fake->not_ready = cuda->not_ready = 1; /* no event passes */
    first = get(1000, &stream);
    check_info(1024, 0);
    assert_ok(kpk_free_async(inst, first, &stream));
    check_info(0, 1024);
    assert_ptr_equal(get(1010, &stream), first);
    check_info(1024, 0);
    assert_ok(kpk_free_async(inst, first, &stream));
}

static void test_other_stream_gets_it_after_the_event(void **state)
{
    void *first, *second;

    (void)state;
    fake->not_ready = cuda->not_ready = 1;
    first = get(64, &stream);
    assert_ok(kpk_free_async(inst, first, &stream));
    second = get(64, &other);
    assert_ptr_not_equal(second, first);
    assert_ok(kpk_free_async(inst, second, &other));
    check_info(0, 1024);
    fake->not_ready = cuda->not_ready = 0;
    assert_ptr_equal(get(64, &stream), first); /* not the last that was freed */
    assert_ptr_equal(get(64, &stream), second);
    assert_ok(kpk_free_async(inst, first, &other));
    assert_ok(kpk_free_async(inst, second, &stream));
    assert_ptr_equal(get(64, NULL), second);
    assert_ok(kpk_free_async(inst, second, NULL));
}

/* The freeing stream records the event, not the allocating one.
 */
static void test_event_is_of_the_stream_that_frees(void **state)
{
    void *ptr = get(64, &stream);

    (void)state;
    assert_null(fake->recorded_event);
    assert_ok(kpk_free_async(inst, ptr, &other));
    assert_non_null(fake->recorded_event);
    assert_ptr_equal(fake->recorded_stream, &other);
    assert_int_equal(fake->flags, 2); /* without timing */
    fake->not_ready = 1;
    assert_ptr_equal(get(64, &other), ptr);
    assert_ok(kpk_free_async(inst, ptr, &stream));
    assert_ptr_equal(fake->recorded_stream, &stream);
    assert_ptr_not_equal(get(64, &other), ptr);
}

static void test_handle_made_anew_is_another_stream(void **state)
{
    void *of, *ptr, *second;

    (void)state;
    assert_ok(kpk_stream_create(inst, 0, &of));
    ptr = get(64, of);
    second = get(64, &other);
    assert_ok(kpk_free_async(inst, second, &other));
    assert_ok(kpk_free_async(inst, ptr, of));
    assert_ok(kpk_stream_destroy(inst, of));
    assert_ok(kpk_stream_create(inst, 0, &of));
    assert_ok(kpk_stream_destroy(inst, of));
    fake->not_ready = 1;
    assert_ptr_equal(get(64, &other), second);
    assert_ptr_not_equal(get(64, of), ptr);
    fake->not_ready = 0;
    assert_ptr_equal(get(64, of), ptr);
}

static void *get_in_thread(void *ptr)
{
    return get(64, KPK_STREAM_PER_THREAD) == ptr ? ptr : NULL;
}

static void test_per_thread_stream_is_each_threads_own(void **state)
{
    void *ptr = get(64, KPK_STREAM_PER_THREAD);
    pthread_t thread;
    void *same;

    (void)state;
    fake->not_ready = 1;
    assert_ok(kpk_free_async(inst, ptr, KPK_STREAM_PER_THREAD));
    assert_int_equal(pthread_create(&thread, NULL, get_in_thread, ptr), 0);
    assert_int_equal(pthread_join(thread, &same), 0);
    assert_null(same);
    assert_ptr_equal(get(64, KPK_STREAM_PER_THREAD), ptr);
}

static void test_sizes_are_rounded_by_six_percent_at_most(void **state)
{
    (void)state;
    for (size_t nbytes = 1; nbytes < 3000000; nbytes += 1 + nbytes / 7) {
        size_t used;
        void *ptr = get(nbytes, NULL);

        assert_ok(kpk_pool_info(inst, &used, NULL));
        assert_true(used >= nbytes);
        assert_true(used == 512 || used <= nbytes + nbytes / 16 + 1);
        assert_ok(kpk_free_async(inst, ptr, NULL));
        assert_ptr_equal(get(used, NULL), ptr); /* the class's own size */
        assert_ok(kpk_free_async(inst, ptr, NULL));
    }
    assert_ok(kpk_pool_trim(inst));
    check_info(0, 0);
    assert_int_equal(fake->live, 0);
    assert_ok(kpk_pool_trim(inst));
}

/* More blocks than the table of those in use has places. */
static void test_many_blocks_are_found_again(void **state)
{
    enum { MANY = 1500 };
    const size_t nbytes = (size_t)MANY * 512;
    static void *blocks[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++)
        blocks[i] = get(64, NULL);
    check_info(nbytes, 0);
    for (int i = 0; i < MANY; i++)
        assert_ok(kpk_free_async(inst, blocks[i], NULL));
    check_info(0, nbytes);
}

/* Each thread has a stream of its own, and finds its bytes as it left them. */
static void *allocate_and_free(void *of)
{
    enum { ROUNDS = 200, NBYTES = 600 };
    unsigned char *blocks[3] = {NULL};
    const unsigned char mark = *(unsigned char *)of;

    for (int i = 0; i < ROUNDS; i++) {
        unsigned char **b = &blocks[i % 3];

        for (int k = 0; *b && k < NBYTES; k++)
            if ((*b)[k] != mark)
                return of;
        if (kpk_free_async(inst, *b, of) != KPK_OK ||
            kpk_malloc_async(inst, NBYTES, of, (void **)b) != KPK_OK)
            return of;
        memset(*b, mark, NBYTES);
    }
    for (int i = 0; i < 3; i++)
        if (kpk_free_async(inst, blocks[i], of) != KPK_OK)
            return of;
    return NULL;
}

static void test_threads_share_the_pool(void **state)
{
    enum { NTHREADS = 8 };
    pthread_t threads[NTHREADS];
    unsigned char streams[NTHREADS];
    void *failed;

    (void)state;
    for (int i = 0; i < NTHREADS; i++) {
        streams[i] = (unsigned char)(i + 1);
        assert_int_equal(
            pthread_create(&threads[i], NULL, allocate_and_free, &streams[i]),
            0);
    }
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_ok(kpk_pool_trim(inst));
    check_info(0, 0);
}

static void test_no_bytes_and_too_many(void **state)
{
    void *ptr = &ptr;

    (void)state;
    assert_ok(kpk_malloc_async(inst, 0, NULL, &ptr));
    assert_null(ptr);
    assert_ok(kpk_free_async(inst, NULL, NULL));
    ptr = &ptr;
    assert_status(kpk_malloc_async(inst, ((size_t)1 << 61) + 1, NULL, &ptr),
                  KPK_ERR_ARG);
    assert_message("2305843009213693953 bytes are more than any device has");
    fake->fail_name = "hipMalloc"; /* the fake's would reserve it */
    assert_status(kpk_malloc_async(inst, (size_t)1 << 61, NULL, &ptr),
                  KPK_ERR_DRIVER);
    assert_ptr_equal(ptr, &ptr);
}

static void test_full_device_gets_idle_blocks_back(void **state)
{
    void *idle = get(4096, NULL), *ptr = NULL;

    (void)state;
    fake->fail_name = "hipMalloc";
    fake->fail_error = 2; /* hipErrorOutOfMemory */
    assert_status(kpk_malloc_async(inst, 64, NULL, &ptr), KPK_ERR_DRIVER);
    assert_message("cannot allocate 64 bytes on device 1, beside 4096 that are "
                   "in use in the pool: hipMalloc returned");
    assert_ok(kpk_free_async(inst, idle, NULL));
    fake->fail_nth = 1;
    assert_ok(kpk_malloc_async(inst, 64, NULL, &ptr));
    check_info(512, 0);
    assert_int_equal(fake->nsyncs, 1); /* work may still use the block */
    assert_ok(kpk_free_async(inst, ptr, NULL));
    fake->fail_name = "hipMalloc";
    fake->fail_nth = 0;
    assert_status(kpk_malloc_async(inst, 4096, NULL, &ptr), KPK_ERR_DRIVER);
    check_info(0, 0);
}

static void test_failing_trim_keeps_the_blocks(void **state)
{
    static const char *const calls[] = {"hipDeviceSynchronize",
                                        "hipEventDestroy", "hipFree"};
    void *ptr = get(64, NULL), *more = get(64, NULL);

    (void)state;
    assert_ok(kpk_free_async(inst, ptr, NULL));
    assert_ok(kpk_free_async(inst, more, NULL));
    for (size_t i = 0; i < 3; i++) {
        fake->fail_name = calls[i];
        assert_status(kpk_pool_trim(inst), KPK_ERR_DRIVER);
        assert_message(calls[i]);
        check_info(0, 1024);
    }
    fake->fail_error = 2; /* while the device is full, too */
    fake->fail_name = "hipMalloc";
    fake->fail_nth = 1;
    fake->lie_name = NULL;
    assert_ok(kpk_malloc_async(inst, 4096, NULL, &ptr));
    check_info(4096, 0);
}

/* The device is full, and what is idle cannot be given back. */
static void test_full_device_that_takes_nothing_back(void **state)
{
    void *ptr = get(64, NULL), *out = &out;

    (void)state;
    assert_ok(kpk_free_async(inst, ptr, NULL));
    fake->fail_in = 4; /* after hipGetDevice, hipSetDevice, the capture's */
    fake->fail_all_later = 1;
    fake->fail_error = 2;
    assert_status(kpk_malloc_async(inst, 4096, NULL, &out), KPK_ERR_DRIVER);
    assert_ptr_equal(out, &out);
    fake->fail_all_later = 0;
    fake->fail_in = -1;
    fake->set_current(0);
    check_info(0, 512);
}

static void test_unknown_pointer_is_refused(void **state)
{
    void *ptr = get(64, NULL);
    int here;

    (void)state;
    assert_status(kpk_free_async(inst, &here, NULL), KPK_ERR_ARG);
    assert_message("is no memory that kpk_malloc_async() of this instance");
    assert_ok(kpk_free_async(inst, ptr, NULL));
    assert_status(kpk_free_async(inst, ptr, NULL), KPK_ERR_ARG);
    assert_message("or it was freed before");
}

static void test_recording_stream_takes_no_part(void **state)
{
    const struct kpk_i_gpu bound = kpk_i_hip;
    void *ptr = get(64, &stream), *out = &out;

    (void)state;
    fake->capturing = cuda->capturing = &stream;
    assert_status(kpk_malloc_async(inst, 64, &stream, &out),
                  KPK_ERR_UNSUPPORTED);
    assert_message("Allocate the memory before kpk_capture_begin()");
    assert_status(kpk_free_async(inst, ptr, &stream), KPK_ERR_UNSUPPORTED);
    assert_ptr_equal(out, &out);
    assert_ok(kpk_free_async(inst, ptr, &other));
    assert_ptr_equal(get(64, &other), ptr);
    kpk_i_hip.hipStreamIsCapturing = NULL; /* HIP cannot tell */
    if (kpk_instance_device(inst)->platform == KPK_HIP)
        assert_ok(kpk_malloc_async(inst, 64, &stream, &out));
    kpk_i_hip = bound;
    fake->capturing = cuda->capturing = NULL;
}

static void test_each_failure_leaves_the_pool_as_it_was(void **state)
{
    void *ptr, *out = &out;

    (void)state;
    fake->lie_name = "hipMalloc";
    assert_status(kpk_malloc_async(inst, 64, NULL, &out), KPK_ERR_DRIVER);
    assert_message("hipMalloc returned success, but made nothing");
    fake->lie_name = "hipEventCreateWithFlags";
    ptr = get(64, NULL);
    assert_status(kpk_free_async(inst, ptr, NULL), KPK_ERR_DRIVER);
    assert_message(
        "hipEventCreateWithFlags returned success, but made nothing");
    fake->lie_name = NULL;
    fake->fail_name = "hipEventRecord";
    assert_status(kpk_free_async(inst, ptr, NULL), KPK_ERR_DRIVER);
    assert_message("cannot free ");
    check_info(512, 0);
    fake->fail_name = NULL;
    assert_ok(kpk_free_async(inst, ptr, &stream));
    fake->fail_name = "hipEventQuery";
    assert_status(kpk_malloc_async(inst, 64, NULL, &out), KPK_ERR_DRIVER);
    assert_message("failed that used memory of the pool");
    fake->fail_name = "hipStreamIsCapturing";
    assert_status(kpk_malloc_async(inst, 64, NULL, &out), KPK_ERR_DRIVER);
    assert_ptr_equal(out, &out);
    fake->fail_name = "hipSetDevice";
    fake->fail_nth = 2; /* the current device does not come back */
    assert_status(kpk_malloc_async(inst, 64, &stream, &out), KPK_ERR_DRIVER);
    assert_message("the call did its work");
    fake->set_current(0);
    check_info(0, 512);
}

static void test_close_gives_all_back(void **state)
{
    (void)state;
    assert_ok(kpk_free_async(inst, get(64, NULL), NULL));
    (void)get(5000, &stream);
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->live + cuda->live, 0);
    (void)open_on_hip(NULL);
}

static void test_close_tells_what_failed(void **state)
{
    (void)state;
    assert_ok(kpk_load(inst, "alpha"));
    (void)get(64, NULL);
    (void)get(64, NULL);
    fake->fail_name = "hipFree";
    fake->fail_nth = 1; /* the second block is freed nevertheless */
    assert_status(kpk_close(inst), KPK_ERR_DRIVER);
    assert_message("cannot give back 512 bytes of device 1");
    assert_int_equal(fake->live, 1);
    (void)open_on_hip(NULL);
    (void)get(64, NULL);
    fake->fail_name = "hipSetDevice";
    assert_status(kpk_close(inst), KPK_ERR_DRIVER);
    assert_int_equal(fake->live, 1);
    (void)open_on_hip(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(hip, test_freed_block_serves_its_stream_at_once),
        ON(cuda, test_freed_block_serves_its_stream_at_once),
        ON(hip, test_other_stream_gets_it_after_the_event),
        ON(cuda, test_other_stream_gets_it_after_the_event),
        ON(hip, test_event_is_of_the_stream_that_frees),
        ON(hip, test_handle_made_anew_is_another_stream),
        ON(hip, test_per_thread_stream_is_each_threads_own),
        ON(hip, test_sizes_are_rounded_by_six_percent_at_most),
        ON(hip, test_many_blocks_are_found_again),
        ON(hip, test_threads_share_the_pool),
        ON(hip, test_no_bytes_and_too_many),
        ON(hip, test_full_device_gets_idle_blocks_back),
        ON(hip, test_failing_trim_keeps_the_blocks),
        ON(hip, test_full_device_that_takes_nothing_back),
        ON(hip, test_unknown_pointer_is_refused),
        ON(hip, test_recording_stream_takes_no_part),
        ON(cuda, test_recording_stream_takes_no_part),
        ON(hip, test_each_failure_leaves_the_pool_as_it_was),
        ON(hip, test_close_gives_all_back),
        ON(hip, test_close_tells_what_failed),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("stream_memory", tests, NULL, NULL);
}
