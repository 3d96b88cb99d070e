/* test_streams_on_device.c - streams, events, copies, memory and graphs
 *
 * On the devices that there are: the simulated ones in `make check`, or real
 * ones. Without any it says so and passes.
 */
#include "unit_checks.h"

#include <stdbool.h>

extern const kpk_pack kpk_candle; /* kpack/candle.h has it, too */

enum { N = 1003, NBYTES = N * sizeof(float) };

static int ndevices;

/* Two rows of pinned memory, which are added to each other in a stream. */
struct row {
    kpk_instance *inst;
    const kpk_kernel *add;
    kpk_shape shape;
    void *stream;
    float *host; /* [2][N] */
    void *a, *b, *c;
};

static void begin(struct row *r, int device)
{
    void *host;

    assert_ok(kpk_open(&kpk_candle, device, &r->inst));
    assert_ok(kpk_kernel_get(r->inst, "vector_add", &r->add));
    assert_ok(kpk_stream_create(r->inst, KPK_STREAM_NON_BLOCKING, &r->stream));
    assert_ok(kpk_malloc_host(r->inst, (size_t)2 * NBYTES, &host));
    r->host = host;
    r->shape = kpk_shape_1d(N, 128);
    assert_ok(kpk_malloc(r->inst, NBYTES, &r->a));
    assert_ok(kpk_malloc(r->inst, NBYTES, &r->b));
    assert_ok(kpk_malloc(r->inst, NBYTES, &r->c));
    for (int i = 0; i < 2 * N; i++)
        r->host[i] = (float)(i % 97);
}

static void end(struct row *r)
{
    assert_ok(kpk_free(r->inst, r->a));
    assert_ok(kpk_free(r->inst, r->b));
    assert_ok(kpk_free(r->inst, r->c));
    assert_ok(kpk_free_host(r->inst, r->host));
    assert_ok(kpk_stream_destroy(r->inst, r->stream));
    assert_ok(kpk_close(r->inst));
}

/* c = host[0] + host[1], back in host[0]; all of it as work of the stream. */
static void add_in_stream(struct row *r)
{
    uint32_t n = N;

    assert_ok(kpk_copy_to_async(r->inst, r->a, r->host, NBYTES, r->stream));
    assert_ok(kpk_copy_to_async(r->inst, r->c, r->host + N, NBYTES, r->stream));
    assert_ok(kpk_copy_async(r->inst, r->b, r->c, NBYTES, r->stream));
    assert_ok(kpk_fill_async(r->inst, r->c, 0xff, NBYTES, r->stream));
    assert_ok(kpk_launch(r->add, &r->shape, r->stream,
                         KPK_ARGS(r->a, r->b, r->c, n)));
    assert_ok(kpk_copy_from_async(r->inst, r->host, r->c, NBYTES, r->stream));
}

/* After `times` additions. */
static void check_sums(const struct row *r, int times)
{
    for (int i = 0; i < N; i++) {
        const float wanted = (float)(i % 97) + (float)(times * ((i + N) % 97));

        if (r->host[i] != wanted)
            fail_msg("element %d is %g, not %g", i, (double)r->host[i],
                     (double)wanted);
    }
}

static void test_work_of_a_stream_is_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < ndevices; i++) {
        void *start, *stop;
        float ms = -1;
        int done = 0;
        struct row r;

        begin(&r, i);
        assert_ok(kpk_event_create(r.inst, 0, &start));
        assert_ok(kpk_event_create(r.inst, KPK_EVENT_SLEEP, &stop));
        assert_ok(kpk_event_record(r.inst, start, r.stream));
        add_in_stream(&r);
        assert_ok(kpk_event_record(r.inst, stop, r.stream));
        assert_ok(kpk_event_sync(r.inst, stop));
        assert_ok(kpk_event_query(r.inst, stop, &done));
        assert_int_equal(done, 1);
        assert_ok(kpk_event_elapsed(r.inst, start, stop, &ms));
        assert_true(ms >= 0);
        check_sums(&r, 1);
        add_in_stream(&r);
        assert_ok(kpk_sync(r.inst, r.stream));
        assert_ok(kpk_stream_query(r.inst, r.stream, &done));
        assert_int_equal(done, 1);
        check_sums(&r, 2);
        assert_ok(kpk_event_destroy(r.inst, start));
        assert_ok(kpk_event_destroy(r.inst, stop));
        end(&r);
    }
}

/* The second stream copies what the first one made. */
static void test_stream_waits_for_an_event_of_another(void **state)
{
    struct row r;
    void *later, *event;

    (void)state;
    begin(&r, 0);
    assert_ok(kpk_stream_create(r.inst, 0, &later));
    assert_ok(kpk_event_create(r.inst, KPK_EVENT_NO_TIMING, &event));
    add_in_stream(&r);
    assert_ok(kpk_event_record(r.inst, event, r.stream));
    assert_ok(kpk_stream_wait(r.inst, later, event));
    assert_ok(kpk_copy_from_async(r.inst, r.host, r.c, NBYTES, later));
    assert_ok(kpk_sync(r.inst, later));
    check_sums(&r, 1);
    assert_ok(kpk_event_destroy(r.inst, event));
    assert_ok(kpk_stream_destroy(r.inst, later));
    end(&r);
}

static void test_bytes_reach_a_peer(void **state)
{
    struct row from, to;

    (void)state;
    begin(&from, 0);
    begin(&to, ndevices - 1); /* the same device, if there is one */
    if (from.inst != to.inst && kpk_instance_device(from.inst)->platform !=
                                    kpk_instance_device(to.inst)->platform) {
        assert_status(kpk_copy_peer_async(to.inst, to.a, from.inst, from.a,
                                          NBYTES, to.stream),
                      KPK_ERR_UNSUPPORTED);
    } else {
        assert_ok(kpk_copy_to(from.inst, from.a, from.host, NBYTES));
        memset(to.host, 0, NBYTES);
        assert_ok(kpk_copy_peer_async(to.inst, to.a, from.inst, from.a, NBYTES,
                                      to.stream));
        assert_ok(
            kpk_copy_from_async(to.inst, to.host, to.a, NBYTES, to.stream));
        assert_ok(kpk_sync(to.inst, to.stream));
        assert_memory_equal(to.host, from.host, NBYTES);
    }
    end(&to);
    end(&from);
}

/* HIP before 6.0 records no launch of a module's kernel, and lets calls pass
 * that later ones forbid. */
static bool records(void)
{
    kpk_device device;
    int version;

    assert_ok(kpk_device_get(0, &device));
    assert_ok(kpk_driver_info(device.platform, &version, NULL));
    return device.platform != KPK_HIP || version >= 60000000;
}

static void test_graph_repeats_what_was_recorded(void **unused)
{
    kpk_capture_state state;
    void *graph, *exec;
    struct row r;

    (void)unused;
    if (!records())
        skip();
    begin(&r, 0);
    assert_ok(kpk_capture_begin(r.inst, r.stream, KPK_CAPTURE_THREAD));
    add_in_stream(&r);
    assert_ok(kpk_capture_query(r.inst, r.stream, &state));
    assert_int_equal(state, KPK_CAPTURE_ACTIVE);
    assert_ok(kpk_capture_end(r.inst, r.stream, &graph));
    check_sums(&r, 0); /* nothing has run */
    assert_ok(kpk_graph_instantiate(r.inst, graph, &exec));
    assert_ok(kpk_graph_destroy(r.inst, graph));
    for (int i = 1; i <= 3; i++) {
        assert_ok(kpk_graph_launch(r.inst, exec, r.stream));
        assert_ok(kpk_sync(r.inst, r.stream));
        check_sums(&r, i);
    }
    assert_ok(kpk_graph_exec_destroy(r.inst, exec));
    end(&r);
}

static void test_forbidden_call_breaks_a_recording(void **unused)
{
    kpk_capture_state state;
    void *graph = &graph, *block;
    struct row r;

    (void)unused;
    if (!records())
        skip();
    begin(&r, 0);
    assert_ok(kpk_capture_begin(r.inst, r.stream, KPK_CAPTURE_THREAD));
    assert_status(kpk_sync(r.inst, r.stream), KPK_ERR_DRIVER);
    assert_ok(kpk_capture_query(r.inst, r.stream, &state));
    assert_int_equal(state, KPK_CAPTURE_BROKEN);
    assert_status(kpk_capture_end(r.inst, r.stream, &graph), KPK_ERR_DRIVER);
    assert_ptr_equal(graph, &graph);
    assert_ok(kpk_malloc(r.inst, 64, &block)); /* forbidden no more */
    assert_ok(kpk_free(r.inst, block));
    assert_ok(kpk_stream_destroy(r.inst, r.stream)); /* HIP's stays broken */
    assert_ok(kpk_stream_create(r.inst, 0, &r.stream));
    add_in_stream(&r);
    assert_ok(kpk_sync(r.inst, r.stream));
    check_sums(&r, 1);
    end(&r);
}

/* Blocks of the pool go round while kernels use them. */
static void test_memory_is_reused_in_order(void **state)
{
    enum { ROUNDS = 10 };
    uint32_t n = N;
    void *other, *first = NULL;
    size_t used, idle;
    struct row r;

    (void)state;
    begin(&r, 0);
    assert_ok(kpk_stream_create(r.inst, KPK_STREAM_NON_BLOCKING, &other));
    for (int i = 0; i < ROUNDS; i++) {
        void *on = i % 4 == 3 ? other : r.stream, *x, *y;

        assert_ok(kpk_malloc_async(r.inst, NBYTES, on, &x));
        assert_ok(kpk_malloc_async(r.inst, NBYTES, on, &y));
        first = first ? first : x;
        assert_ok(kpk_copy_to_async(r.inst, x, r.host, NBYTES, on));
        assert_ok(kpk_copy_to_async(r.inst, y, r.host + N, NBYTES, on));
        assert_ok(kpk_launch(r.add, &r.shape, on, KPK_ARGS(x, y, y, n)));
        assert_ok(kpk_copy_from_async(r.inst, r.host, y, NBYTES, on));
        assert_ok(kpk_free_async(r.inst, y, on));
        assert_ok(kpk_free_async(r.inst, x, on));
        if (on == other || i % 4 == 2)
            assert_ok(kpk_sync(r.inst, on));
    }
    assert_ok(kpk_sync(r.inst, r.stream));
    check_sums(&r, ROUNDS);
    assert_ok(kpk_pool_info(r.inst, &used, &idle));
    assert_int_equal(used, 0);
    assert_true(idle >= 2 * (size_t)NBYTES && idle < 5 * (size_t)NBYTES);
    assert_ok(kpk_pool_trim(r.inst));
    assert_ok(kpk_pool_info(r.inst, NULL, &idle));
    assert_int_equal(idle, 0);
    assert_ok(kpk_stream_destroy(r.inst, other));
    end(&r);
}

static void test_recording_takes_no_memory_of_the_pool(void **unused)
{
    void *graph, *block = &block;
    struct row r;

    (void)unused;
    begin(&r, 0);
    assert_ok(kpk_capture_begin(r.inst, r.stream, KPK_CAPTURE_THREAD));
    assert_status(kpk_malloc_async(r.inst, 64, r.stream, &block),
                  KPK_ERR_UNSUPPORTED);
    assert_ptr_equal(block, &block);
    assert_ok(kpk_fill_async(r.inst, r.a, 0, NBYTES, r.stream));
    assert_ok(kpk_capture_end(r.inst, r.stream, &graph)); /* not broken */
    assert_ok(kpk_graph_destroy(r.inst, graph));
    end(&r);
}

static void test_driver_tells_of_its_devices(void **state)
{
    (void)state;
    for (int i = 0; i < ndevices; i++) {
        enum { MULTIPROCESSORS_OF_CUDA = 16 };
        size_t unused = 0, all = 0;
        int units = 0;
        kpk_instance *inst;
        const kpk_device *device;

        assert_ok(kpk_open(&kpk_candle, i, &inst));
        device = kpk_instance_device(inst);
        assert_ok(kpk_memory_info(inst, &unused, &all));
        assert_true(unused <= all && all <= device->memory_nbytes && all);
        if (device->platform == KPK_CUDA) {
            assert_ok(kpk_device_attr(inst, MULTIPROCESSORS_OF_CUDA, &units));
            assert_int_equal(units, device->compute_units);
        }
        assert_status(kpk_device_attr(inst, -1, &units), KPK_ERR_DRIVER);
        assert_ok(kpk_close(inst));
    }
}

static void test_first_device_of_hip_is_current(void **state)
{
    int device = 7;

    (void)state;
    if (kpk_platform_device_count(KPK_HIP, &device) != KPK_OK || device == 0)
        skip();
    assert_ok(kpk_current_device(KPK_HIP, &device));
    assert_int_equal(device, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_of_a_stream_is_in_order),
        cmocka_unit_test(test_stream_waits_for_an_event_of_another),
        cmocka_unit_test(test_bytes_reach_a_peer),
        cmocka_unit_test(test_graph_repeats_what_was_recorded),
        cmocka_unit_test(test_forbidden_call_breaks_a_recording),
        cmocka_unit_test(test_memory_is_reused_in_order),
        cmocka_unit_test(test_recording_takes_no_memory_of_the_pool),
        cmocka_unit_test(test_driver_tells_of_its_devices),
        cmocka_unit_test(test_first_device_of_hip_is_current),
    };

    if (kpk_device_count(&ndevices) != KPK_OK || ndevices == 0) {
        printf("left out, no device: %s\n", kpk_error_message());
        return 0;
    }
    if (!kpk_pack_find(&kpk_candle, "vector_add")) {
        printf("left out, the pack was built without vector_add\n");
        return 0;
    }
    return cmocka_run_group_tests_name("streams_on_device", tests, NULL, NULL);
}
