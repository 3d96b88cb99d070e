/* test_graph.c - recording streams and graphs, on both drivers */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "both_fakes.h"
#include "hip.h"

static int stream, other; /* addresses alone count */

static void test_recorded_graph_is_launched(void **unused)
{
    kpk_capture_state state = KPK_CAPTURE_BROKEN;
    void *graph, *exec;

    (void)unused;
    assert_ok(kpk_capture_query(inst, &stream, &state));
    assert_int_equal(state, KPK_CAPTURE_NONE);
    assert_ok(kpk_capture_begin(inst, &stream, KPK_CAPTURE_THREAD));
    assert_true(!is_hip() || fake->capture_mode == 1);
    assert_ok(kpk_capture_query(inst, &stream, &state));
    assert_int_equal(state, KPK_CAPTURE_ACTIVE);
    assert_ok(kpk_capture_query(inst, NULL, &state));
    assert_int_equal(state, KPK_CAPTURE_NONE);
    assert_ok(kpk_capture_end(inst, &stream, &graph));
    assert_ok(kpk_graph_instantiate(inst, graph, &exec));
    assert_ok(kpk_graph_destroy(inst, graph));
    assert_ok(kpk_graph_launch(inst, exec, &other));
    assert_ptr_equal(is_hip() ? fake->graph_stream : cuda->graph_stream,
                     &other);
    assert_ok(kpk_graph_exec_destroy(inst, exec));
    assert_ok(kpk_graph_destroy(inst, NULL));
    assert_ok(kpk_graph_exec_destroy(inst, NULL));
}

static void test_end_without_a_beginning_is_told(void **state)
{
    void *graph = &graph;

    (void)state;
    assert_status(kpk_capture_end(inst, &stream, &graph), KPK_ERR_DRIVER);
    assert_message("recorded is no graph: ");
    assert_ptr_equal(graph, &graph);
}

static void test_success_that_makes_nothing_is_refused(void **state)
{
    void *out = &out;

    (void)state;
    fake->lie_name = "hipStreamEndCapture";
    cuda->lie_name = "cuStreamEndCapture";
    assert_ok(kpk_capture_begin(inst, &stream, KPK_CAPTURE_GLOBAL));
    assert_status(kpk_capture_end(inst, &stream, &out), KPK_ERR_DRIVER);
    assert_message("EndCapture returned success, but made nothing");
    fake->lie_name = "hipGraphInstantiate";
    cuda->lie_name = "cuGraphInstantiateWithFlags";
    assert_status(kpk_graph_instantiate(inst, &stream, &out), KPK_ERR_DRIVER);
    assert_message("returned success, but made nothing");
    assert_ptr_equal(out, &out);
}

static void test_half_a_graph_is_undone(void **state)
{
    void *out = &out;

    (void)state;
    assert_ok(kpk_capture_begin(inst, &stream, KPK_CAPTURE_GLOBAL));
    for (int i = 0; i < 2; i++) {
        fake->fail_name = "hipSetDevice";
        fake->fail_nth = 2;
        assert_status(i ? kpk_graph_instantiate(inst, &stream, &out)
                        : kpk_capture_end(inst, &stream, &out),
                      KPK_ERR_DRIVER);
        assert_message("the call did its work");
        assert_ptr_equal(out, &out);
        assert_int_equal(fake->live, 0);
        fake->set_current(0);
    }
}

static void test_hip_without_the_functions_is_told(void **unused)
{
    const struct kpk_i_gpu bound = kpk_i_hip;
    kpk_capture_state state = KPK_CAPTURE_BROKEN;
    void *out = &out;

    (void)unused;
    kpk_i_hip.hipGraphInstantiate = NULL;
    kpk_i_hip.hipStreamIsCapturing = NULL;
    assert_status(kpk_graph_instantiate(inst, &stream, &out),
                  KPK_ERR_UNSUPPORTED);
    assert_message("a graph needs hipGraphInstantiate, which HIP ");
    assert_status(kpk_capture_query(inst, &stream, &state),
                  KPK_ERR_UNSUPPORTED);
    assert_message("the state of a recording needs hipStreamIsCapturing");
    assert_int_equal(state, KPK_CAPTURE_BROKEN);
    kpk_i_hip = bound;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(hip, test_recorded_graph_is_launched),
        ON(cuda, test_recorded_graph_is_launched),
        ON(hip, test_end_without_a_beginning_is_told),
        ON(cuda, test_end_without_a_beginning_is_told),
        ON(hip, test_success_that_makes_nothing_is_refused),
        ON(cuda, test_success_that_makes_nothing_is_refused),
        ON(hip, test_half_a_graph_is_undone),
        ON(hip, test_hip_without_the_functions_is_told),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
