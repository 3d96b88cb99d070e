/* test_stream.c - streams and events, on both drivers */
#include "both_fakes.h"

static void test_stream_and_event_of_hip_reach_it(void **state)
{
    void *stream, *event;

    (void)state;
    assert_ok(kpk_stream_create(inst, KPK_STREAM_NON_BLOCKING, &stream));
    assert_int_equal(fake->flags, 1); /* hipStreamNonBlocking */
    assert_ok(kpk_event_create(inst, KPK_EVENT_NO_TIMING, &event));
    assert_int_equal(fake->flags, 2); /* hipEventDisableTiming */
    assert_ok(kpk_event_record(inst, event, stream));
    assert_ptr_equal(fake->recorded_event, event);
    assert_ptr_equal(fake->recorded_stream, stream);
    assert_ok(kpk_stream_wait(inst, NULL, event));
    assert_ptr_equal(fake->waited_event, event);
    assert_null(fake->waited_stream);
    assert_ok(kpk_event_sync(inst, event));
    assert_int_equal(fake->nsyncs, 1);
    assert_ok(kpk_event_destroy(inst, event));
    assert_ok(kpk_stream_destroy(inst, stream));
    assert_int_equal(fake->get_current(), 0);
}

static void test_query_tells_done_from_not_yet_and_failed(void **state)
{
    void *stream, *event;
    int done = 7;

    (void)state;
    assert_ok(kpk_stream_create(inst, 0, &stream));
    assert_ok(kpk_event_create(inst, 0, &event));
    assert_ok(kpk_stream_query(inst, stream, &done));
    assert_int_equal(done, 1);
    fake->not_ready = cuda->not_ready = 1;
    assert_ok(kpk_stream_query(inst, stream, &done));
    assert_int_equal(done, 0);
    done = 7;
    assert_ok(kpk_event_query(inst, event, &done));
    assert_int_equal(done, 0);
    fake->not_ready = cuda->not_ready = 0;
    assert_ok(kpk_event_query(inst, event, &done));
    assert_int_equal(done, 1);
    done = 7;
    fake->fail_name = "hipStreamQuery";
    cuda->fail_name = "cuStreamQuery";
    assert_status(kpk_stream_query(inst, stream, &done), KPK_ERR_DRIVER);
    assert_message("has failed: ");
    fake->fail_name = "hipEventQuery";
    cuda->fail_name = "cuEventQuery";
    assert_status(kpk_event_query(inst, event, &done), KPK_ERR_DRIVER);
    assert_message("work before an event of device ");
    assert_int_equal(done, 7);
    assert_ok(kpk_event_destroy(inst, event));
    assert_ok(kpk_stream_destroy(inst, stream));
}

static void test_time_between_events_is_told(void **state)
{
    void *start, *stop;
    float ms = 7;

    (void)state;
    assert_ok(kpk_event_create(inst, KPK_EVENT_SLEEP, &start));
    assert_ok(kpk_event_create(inst, 0, &stop));
    assert_ok(kpk_event_elapsed(inst, start, stop, &ms));
    assert_true(ms == 2.5f);
    fake->fail_name = "hipEventElapsedTime";
    cuda->fail_name = "cuEventElapsedTime";
    assert_status(kpk_event_elapsed(inst, start, stop, &ms), KPK_ERR_DRIVER);
    assert_message("both must have been recorded");
    assert_true(ms == 2.5f);
    assert_ok(kpk_event_destroy(inst, start));
    assert_ok(kpk_event_destroy(inst, stop));
}

static void test_unknown_flags_are_refused(void **state)
{
    void *out = &out;

    (void)state;
    assert_status(kpk_stream_create(inst, 2, &out), KPK_ERR_ARG);
    assert_message("flags 0x2 has bits other than KPK_STREAM_NON_BLOCKING");
    assert_status(kpk_event_create(inst, 6, &out), KPK_ERR_ARG);
    assert_message("flags 0x6 has bits other than KPK_EVENT_SLEEP");
    assert_ptr_equal(out, &out);
}

static void test_success_that_makes_nothing_is_refused(void **state)
{
    void *out = &out;

    (void)state;
    fake->lie_name = "hipStreamCreateWithFlags";
    cuda->lie_name = "cuStreamCreate";
    assert_status(kpk_stream_create(inst, 0, &out), KPK_ERR_DRIVER);
    assert_message("returned success, but made nothing on device");
    fake->lie_name = "hipEventCreateWithFlags";
    cuda->lie_name = "cuEventCreate";
    assert_status(kpk_event_create(inst, 0, &out), KPK_ERR_DRIVER);
    assert_message("returned success, but made nothing on device");
    assert_ptr_equal(out, &out);
}

/* The current device does not come back: nothing is left behind. */
static void test_half_a_creation_is_undone(void **state)
{
    void *out = &out;

    (void)state;
    for (int i = 0; i < 2; i++) {
        fake->fail_name = "hipSetDevice";
        fake->fail_nth = 2;
        assert_status(i ? kpk_event_create(inst, 0, &out)
                        : kpk_stream_create(inst, 0, &out),
                      KPK_ERR_DRIVER);
        assert_message("the call did its work");
        assert_ptr_equal(out, &out);
        assert_int_equal(fake->live, 0);
        fake->set_current(0);
    }
}

static void test_null_handle_is_destroyed(void **state)
{
    (void)state;
    fake->fail_name = "hipStreamDestroy";
    assert_ok(kpk_stream_destroy(inst, NULL));
    fake->fail_name = "hipEventDestroy";
    assert_ok(kpk_event_destroy(inst, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(hip, test_stream_and_event_of_hip_reach_it),
        ON(hip, test_query_tells_done_from_not_yet_and_failed),
        ON(cuda, test_query_tells_done_from_not_yet_and_failed),
        ON(hip, test_time_between_events_is_told),
        ON(cuda, test_time_between_events_is_told),
        ON(hip, test_unknown_flags_are_refused),
        ON(hip, test_success_that_makes_nothing_is_refused),
        ON(cuda, test_success_that_makes_nothing_is_refused),
        ON(hip, test_half_a_creation_is_undone),
        ON(hip, test_null_handle_is_destroyed),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
