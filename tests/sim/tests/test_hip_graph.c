/* test_hip_graph.c - stream capture and graphs: what is recorded, replayed,
 * changed, asked and refused */
#define _GNU_SOURCE
#include "hip_test.h"

#include "../../scratch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node,
                                  unsigned enabled);
hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char *path,
                                 unsigned flags);
hipError_t hipGraphAddNode(hipGraphNode_t *node, hipGraph_t graph,
                           const hipGraphNode_t *deps, size_t ndeps,
                           const void *params);
hipError_t hipGraphNodeSetParams(hipGraphNode_t node, const void *params);
hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                     const void *params);
hipError_t hipUserObjectCreate(void **object, void *pointer,
                               void (*destroy)(void *), unsigned refs,
                               unsigned flags);
hipError_t hipUserObjectRelease(void *object, unsigned n);
hipError_t hipGraphRetainUserObject(hipGraph_t graph, void *object, unsigned n,
                                    unsigned flags);
hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from,
                                            hipGraphNode_t to);
hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph,
                                        const hipGraphNode_t *deps,
                                        const void *edge_data, size_t ndeps,
                                        int mode);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream,
                                   unsigned flags);

enum { N = 64 };

static void *image;
static hipModule_t module;
static hipFunction_t step; /* c[i] = c[i] * 2 + k */
static hipStream_t s;
static unsigned *data;

static int set_up(void **state)
{
    size_t n;

    (void)state;
    image = read_api("gfx942", &n);
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&step, module, "step"));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipMalloc((void **)&data, N * sizeof(*data)));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    EXPECT(hipSuccess, hipFree(data));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipModuleUnload(module));
    free(image);
    return 0;
}

static void launch_step(hipStream_t stream, unsigned k)
{
    unsigned n = N;
    void *params[] = {&data, &k, &n};

    EXPECT(hipSuccess, hipModuleLaunchKernel(step, 1, 1, 1, N, 1, 1, 0, stream,
                                             params, NULL));
}

static void fill(unsigned value)
{
    EXPECT(hipSuccess, hipMemsetD32(data, (int)value, N));
    EXPECT(hipSuccess, hipDeviceSynchronize());
}

static void expect_data(unsigned want)
{
    unsigned got[N], i;

    EXPECT(hipSuccess,
           hipMemcpy(got, data, sizeof(got), hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(got[i], want);
}

static hipGraphExec_t instantiated(hipGraph_t graph)
{
    hipGraphExec_t exec = NULL;

    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    return exec;
}

static void run(hipGraphExec_t exec)
{
    EXPECT(hipSuccess, hipGraphLaunch(exec, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
}

static void destroy(hipGraphExec_t exec, hipGraph_t graph)
{
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

static void add_to_count(void *pointer)
{
    (*(unsigned *)pointer)++;
}

/* ---- capture ------------------------------------------------------------ */

static void test_capture_records_and_replays(void **state)
{
    unsigned count = 0, back[N] = {0}, n = N, k = 1;
    void *params[] = {&data, &k, &n};
    hipStreamCaptureStatus status;
    hipGraph_t graph;
    hipGraphExec_t exec;
    size_t nnodes = 0;

    (void)state;
    fill(1);
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipSuccess, hipStreamIsCapturing(s, &status));
    assert_int_equal(status, hipStreamCaptureStatusActive);
    EXPECT(hipSuccess, hipMemsetAsync(data, 0, sizeof(unsigned) * N, s));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(step, 1, 1, 1, N, 1, 1, 0, s, params, NULL));
    k = 100; /* the value was taken */
    launch_step(s, 3);
    EXPECT(hipSuccess,
           hipMemcpyAsync(back, data, sizeof(back), hipMemcpyDeviceToHost, s));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, add_to_count, &count));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipStreamIsCapturing(s, &status));
    assert_int_equal(status, hipStreamCaptureStatusNone);
    EXPECT(hipSuccess, hipGraphGetNodes(graph, NULL, &nnodes));
    assert_int_equal(nnodes, 5);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    expect_data(1); /* nothing ran */
    assert_int_equal(count, 0);
    exec = instantiated(graph);
    EXPECT(hipSuccess, hipGraphDestroy(graph)); /* it has a copy */
    run(exec);
    run(exec);
    expect_data(5); /* (0 * 2 + 1) * 2 + 3 */
    assert_int_equal(count, 2);
    assert_int_equal(back[N - 1], 5);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipErrorInvalidValue, hipGraphExecDestroy(exec));
    EXPECT(hipErrorInvalidValue, hipGraphLaunch(exec, s));
}

/* Other streams take part through events, and have to come back. */
static void test_capture_of_several_streams(void **state)
{
    hipStream_t other;
    hipEvent_t forked, joined;
    hipGraph_t graph;
    hipGraphExec_t exec;
    size_t nedges = 0;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&other));
    EXPECT(hipSuccess, hipEventCreate(&forked));
    EXPECT(hipSuccess, hipEventCreate(&joined));
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipSuccess, hipMemsetAsync(data, 0, sizeof(unsigned) * N, s));
    EXPECT(hipSuccess, hipEventRecord(forked, s));
    EXPECT(hipSuccess, hipStreamWaitEvent(other, forked, 0));
    launch_step(other, 7);
    EXPECT(hipErrorStreamCaptureUnmatched, hipStreamEndCapture(other, &graph));
    EXPECT(hipSuccess, hipEventRecord(joined, other));
    EXPECT(hipSuccess, hipStreamWaitEvent(s, joined, 0));
    launch_step(s, 1);
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphGetEdges(graph, NULL, NULL, &nedges));
    /* Behind the fill and behind the other stream's kernel: the fill is in the
     * tail of the first stream still. */
    assert_int_equal(nedges, 3);
    exec = instantiated(graph);
    fill(9);
    run(exec);
    expect_data(15);
    destroy(exec, graph);
    /* The event is a plain one again. */
    EXPECT(hipSuccess, hipEventQuery(forked));
    /* Left apart: */
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipSuccess, hipEventRecord(forked, s));
    EXPECT(hipSuccess, hipStreamWaitEvent(other, forked, 0));
    launch_step(other, 7);
    EXPECT(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(s, &graph));
    assert_null(graph);
    /* And the streams work again. */
    launch_step(other, 7);
    EXPECT(hipSuccess, hipStreamSynchronize(other));
    EXPECT(hipSuccess, hipEventDestroy(forked));
    EXPECT(hipSuccess, hipEventDestroy(joined));
    EXPECT(hipSuccess, hipStreamDestroy(other));
}

static void test_external_event_record_is_a_node(void **state)
{
    hipEvent_t event;
    hipGraph_t graph;
    hipGraphExec_t exec;
    hipGraphNode_t node;
    hipGraphNodeType type;
    size_t one = 1;

    (void)state;
    EXPECT(hipSuccess, hipEventCreate(&event));
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipSuccess, hipEventRecordWithFlags(event, s, 1));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphGetNodes(graph, &node, &one));
    EXPECT(hipSuccess, hipGraphNodeGetType(node, &type));
    assert_int_equal(type, 7); /* as numbered from 6.0 on */
    exec = instantiated(graph);
    run(exec);
    EXPECT(hipSuccess, hipEventSynchronize(event));
    destroy(exec, graph);
    EXPECT(hipSuccess, hipEventDestroy(event));
}

static void expect_invalidated(void)
{
    hipStreamCaptureStatus status;
    hipGraph_t graph;

    EXPECT(hipSuccess, hipStreamIsCapturing(s, &status));
    assert_int_equal(status, hipStreamCaptureStatusInvalidated);
    EXPECT(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(s, &graph));
    assert_null(graph);
}

static void begin(hipStreamCaptureMode mode)
{
    EXPECT(hipSuccess, hipStreamBeginCapture(s, mode));
}

static void test_what_a_capture_forbids(void **state)
{
    hipStreamCaptureStatus status;
    hipStream_t blocking;
    hipGraph_t graph;
    hipEvent_t event;
    unsigned host[N] = {0};
    void *p;
    int unknown;

    (void)state;
    EXPECT(hipErrorStreamCaptureUnsupported,
           hipStreamBeginCapture(NULL, hipStreamCaptureModeGlobal));
    EXPECT(hipErrorContextIsDestroyed,
           hipStreamBeginCapture((hipStream_t)(void *)&unknown,
                                 hipStreamCaptureModeGlobal));
    EXPECT(hipErrorInvalidValue,
           hipStreamBeginCapture(s, (hipStreamCaptureMode)3));
    EXPECT(hipErrorIllegalState, hipStreamEndCapture(s, &graph));
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipErrorIllegalState,
           hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipErrorInvalidValue, hipStreamEndCapture(s, NULL));
    EXPECT(hipErrorStreamCaptureUnsupported, hipStreamSynchronize(s));
    EXPECT(hipErrorStreamCaptureInvalidated,
           hipMemsetAsync(data, 0, sizeof(host), s));
    expect_invalidated();
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipErrorStreamCaptureUnsupported, hipStreamQuery(s));
    expect_invalidated();
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipErrorStreamCaptureUnsupported, hipDeviceSynchronize());
    expect_invalidated();
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipErrorStreamCaptureImplicit,
           hipMemcpy(host, data, sizeof(host), hipMemcpyDeviceToHost));
    expect_invalidated();
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipErrorStreamCaptureUnsupported, hipMalloc(&p, 4));
    expect_invalidated();
    begin(hipStreamCaptureModeThreadLocal);
    EXPECT(hipErrorStreamCaptureUnsupported, hipMalloc(&p, 4));
    expect_invalidated();
    /* Nor may another stream be waited for, but in relaxed mode. */
    EXPECT(hipSuccess, hipStreamCreate(&blocking));
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipErrorStreamCaptureUnsupported, hipStreamSynchronize(blocking));
    expect_invalidated();
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipSuccess, hipStreamSynchronize(blocking));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipStreamDestroy(blocking));
    /* Waiting for what the stream did before. */
    EXPECT(hipSuccess, hipEventCreate(&event));
    EXPECT(hipSuccess, hipEventRecord(event, s));
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipErrorStreamCaptureIsolation, hipStreamWaitEvent(s, event, 0));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    /* Asking for, and waiting for, what is captured. */
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipSuccess, hipEventRecord(event, s));
    EXPECT(hipErrorCapturedEvent, hipEventQuery(event));
    expect_invalidated();
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipSuccess, hipEventRecord(event, s));
    EXPECT(hipErrorCapturedEvent, hipEventSynchronize(event));
    expect_invalidated();
    EXPECT(hipSuccess, hipEventDestroy(event));
    /* A blocking stream: the default stream would wait for it. */
    EXPECT(hipSuccess, hipStreamCreate(&blocking));
    EXPECT(hipSuccess,
           hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed));
    EXPECT(hipErrorStreamCaptureImplicit, hipStreamIsCapturing(NULL, &status));
    EXPECT(hipSuccess, hipStreamIsCapturing(blocking, &status));
    assert_int_equal(status, hipStreamCaptureStatusActive);
    /* But work on it is done, and minds no capture. */
    EXPECT(hipSuccess, hipMemsetAsync(data, 0, 4, NULL));
    EXPECT(hipSuccess, hipStreamEndCapture(blocking, &graph));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipStreamDestroy(blocking));
}

static void test_relaxed_mode_allows_allocating(void **state)
{
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    hipGraph_t graph;
    void *p;

    (void)state;
    begin(hipStreamCaptureModeRelaxed);
    EXPECT(hipSuccess, hipMalloc(&p, 4));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, hipStreamCaptureModeGlobal);
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipSuccess, hipMalloc(&p, 4));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, hipStreamCaptureModeRelaxed);
}

static void *end_in_thread(void *out)
{
    hipGraph_t graph;

    *(hipError_t *)out = hipStreamEndCapture(s, &graph);
    return NULL;
}

static void test_captures_end_in_their_thread(void **state)
{
    hipError_t error = hipSuccess;
    hipGraph_t graph;
    pthread_t thread;

    (void)state;
    begin(hipStreamCaptureModeThreadLocal);
    assert_int_equal(pthread_create(&thread, NULL, end_in_thread, &error), 0);
    pthread_join(thread, NULL);
    assert_int_equal(error, hipErrorStreamCaptureWrongThread);
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

static void test_captures_do_not_merge(void **state)
{
    hipStream_t other;
    hipEvent_t event;
    hipGraph_t graph;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&other));
    EXPECT(hipSuccess, hipEventCreate(&event));
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipSuccess,
           hipStreamBeginCapture(other, hipStreamCaptureModeGlobal));
    EXPECT(hipSuccess, hipEventRecord(event, s));
    EXPECT(hipErrorStreamCaptureMerge, hipStreamWaitEvent(other, event, 0));
    expect_invalidated();
    EXPECT(hipErrorStreamCaptureInvalidated,
           hipStreamEndCapture(other, &graph));
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipStreamDestroy(other));
}

/* As on AMD's runtime, such calls run during the capture and are not in the
 * graph. */
static void test_what_runs_at_once_on_a_captured_stream(void **state)
{
    unsigned *other, got = 0, called = 0;
    hipGraph_t inner, outer;
    hipGraphExec_t exec, all;
    hipEvent_t event;
    size_t n = 99;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&other, sizeof(unsigned) * N));
    EXPECT(hipSuccess, hipMemset(other, 1, sizeof(unsigned) * N));
    EXPECT(hipSuccess, hipEventCreate(&event));
    EXPECT(hipSuccess, hipEventRecord(event, NULL));
    begin(hipStreamCaptureModeGlobal);
    launch_step(s, 1);
    EXPECT(hipSuccess, hipMemcpyAsync(data + 1, data, sizeof(unsigned),
                                      hipMemcpyDeviceToDevice, s));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, add_to_count, &called));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &inner));
    exec = instantiated(inner);
    fill(0);

    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipSuccess, hipStreamWaitEvent(s, event, 0));
    EXPECT(hipSuccess, hipGraphLaunch(exec, s)); /* data[0] = 1 */
    EXPECT(hipSuccess, hipGraphLaunch(exec, s)); /* 2 * 1 + 1 */
    EXPECT(hipSuccess, hipMemcpyPeerAsync(other, 0, data, 0, 8, s));
    EXPECT(hipSuccess, hipStreamWriteValue32(s, other + 2, 77, 0));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &outer));
    EXPECT(hipSuccess, hipGraphGetNodes(outer, NULL, &n));
    assert_int_equal(n, 0);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    assert_int_equal(called, 2);
    EXPECT(hipSuccess, hipMemcpy(&got, other, 4, hipMemcpyDeviceToHost));
    assert_int_equal(got, 3);
    EXPECT(hipSuccess, hipMemcpy(&got, other + 2, 4, hipMemcpyDeviceToHost));
    assert_int_equal(got, 77);
    all = instantiated(outer);
    run(all);
    EXPECT(hipSuccess, hipMemcpy(&got, data, 4, hipMemcpyDeviceToHost));
    assert_int_equal(got, 3);
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipFree(other));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphExecDestroy(all));
    EXPECT(hipSuccess, hipGraphDestroy(inner));
    EXPECT(hipSuccess, hipGraphDestroy(outer));
}

/* Captured nodes come behind nodes of the given graph. The graph's other nodes
 * need not be joined. */
static void test_capture_into_a_graph(void **state)
{
    hipGraph_t graph, same;
    hipGraphNode_t root;
    hipGraphExec_t exec;
    size_t n = 1;

    (void)state;
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipSuccess, hipMemsetD32Async(data, 1, N, s));
    launch_step(s, 1);
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphGetRootNodes(graph, &root, &n));
    EXPECT(hipErrorInvalidValue,
           hipStreamBeginCaptureToGraph(s, graph, NULL, NULL, 1, 0));
    EXPECT(hipSuccess,
           hipStreamBeginCaptureToGraph(s, graph, &root, NULL, 1, 0));
    EXPECT(hipSuccess, hipLaunchHostFunc(s, add_to_count, &n));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &same));
    assert_ptr_equal(same, graph);
    exec = instantiated(graph);
    run(exec);
    expect_data(3);
    assert_int_equal(n, 2);
    destroy(exec, graph);
}

static void test_stream_destroyed_in_a_capture(void **state)
{
    hipStream_t own;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&own));
    EXPECT(hipSuccess, hipStreamBeginCapture(own, hipStreamCaptureModeGlobal));
    launch_step(own, 1);
    EXPECT(hipSuccess, hipStreamDestroy(own));
    EXPECT(hipSuccess, hipDeviceSynchronize()); /* no capture goes on */
}

/* ---- graphs made by hand ------------------------------------------------ */

static hipGraphNode_t kernel_node(hipGraph_t graph, const hipGraphNode_t *deps,
                                  size_t ndeps, unsigned k)
{
    unsigned n = N;
    void *params[] = {&data, &k, &n};
    hipKernelNodeParams p = {.blockDim = {N, 1, 1},
                             .func = step,
                             .gridDim = {1, 1, 1},
                             .kernelParams = params};
    hipGraphNode_t node = NULL;

    EXPECT(hipSuccess, hipGraphAddKernelNode(&node, graph, deps, ndeps, &p));
    return node;
}

static hipGraphNode_t fill_node(hipGraph_t graph, unsigned value)
{
    hipMemsetParams p = {
        .dst = data, .elementSize = 4, .height = 1, .value = value, .width = N};
    hipGraphNode_t node = NULL;

    EXPECT(hipSuccess, hipGraphAddMemsetNode(&node, graph, NULL, 0, &p));
    return node;
}

static hipGraph_t new_graph(void)
{
    hipGraph_t graph = NULL;

    EXPECT(hipSuccess, hipGraphCreate(&graph, 0));
    return graph;
}

/* The edges give the order, not the creation. */
static void test_edges_order_nodes(void **state)
{
    hipGraph_t graph = new_graph();
    hipGraphNode_t second = kernel_node(graph, NULL, 0, 5);
    hipGraphNode_t first = kernel_node(graph, NULL, 0, 1);
    hipGraphNode_t start = fill_node(graph, 1), from[2] = {first, start};
    hipGraphNode_t to[2] = {second, first}, got[3];
    hipGraphExec_t exec;
    size_t n = 3;

    (void)state;
    EXPECT(hipSuccess, hipGraphAddDependencies(graph, from, to, 2));
    EXPECT(hipErrorInvalidValue, hipGraphAddDependencies(graph, from, to, 1));
    EXPECT(hipErrorInvalidValue, hipGraphAddDependencies(graph, from, from, 1));
    EXPECT(hipSuccess, hipGraphGetRootNodes(graph, got, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(got[0], start);
    assert_null(got[1]);
    n = 3;
    EXPECT(hipSuccess, hipGraphNodeGetDependentNodes(start, got, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(got[0], first);
    n = 3;
    EXPECT(hipSuccess, hipGraphNodeGetDependencies(second, got, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(got[0], first);
    exec = instantiated(graph);
    run(exec);
    expect_data(11); /* (1 * 2 + 1) * 2 + 5 */
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    /* Round in a circle. */
    EXPECT(hipSuccess, hipGraphAddDependencies(graph, &second, &start, 1));
    EXPECT(hipErrorInvalidValue,
           hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    EXPECT(hipSuccess, hipGraphRemoveDependencies(graph, &second, &start, 1));
    EXPECT(hipErrorInvalidValue,
           hipGraphRemoveDependencies(graph, &second, &start, 1));
    EXPECT(hipSuccess, hipGraphDestroyNode(first));
    n = 3;
    EXPECT(hipSuccess, hipGraphNodeGetDependencies(second, got, &n));
    assert_int_equal(n, 0);
    EXPECT(hipErrorInvalidValue, hipGraphDestroyNode(first));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipErrorInvalidValue, hipGraphDestroy(graph));
}

static void test_nodes_of_every_kind(void **state)
{
    hipGraph_t graph = new_graph(), inner = new_graph();
    hipGraphNode_t node = fill_node(graph, 2), child, copy, host, record, wait;
    unsigned count = 0, back[N] = {0};
    hipHostNodeParams h = {add_to_count, &count}, told;
    hipMemcpy3DParms p;
    hipMemsetParams m;
    hipEvent_t event;
    hipGraphExec_t exec;

    (void)state;
    EXPECT(hipSuccess, hipEventCreate(&event));
    kernel_node(inner, NULL, 0, 1);
    EXPECT(hipSuccess,
           hipGraphAddChildGraphNode(&child, graph, &node, 1, inner));
    EXPECT(hipSuccess, hipGraphDestroy(inner)); /* it was copied */
    EXPECT(hipSuccess,
           hipGraphAddEventRecordNode(&record, graph, &child, 1, event));
    EXPECT(hipSuccess,
           hipGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    EXPECT(hipSuccess,
           hipGraphAddMemcpyNode1D(&copy, graph, &wait, 1, back, data,
                                   sizeof(back), hipMemcpyDeviceToHost));
    EXPECT(hipSuccess, hipGraphAddEmptyNode(&node, graph, &copy, 1));
    EXPECT(hipSuccess, hipGraphAddHostNode(&host, graph, &node, 1, &h));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddHostNode(&host, graph, &node, 1, NULL));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemcpyNode1D(&copy, graph, &wait, 1, data, data + 1,
                                   sizeof(back), hipMemcpyDeviceToDevice));
    exec = instantiated(graph);
    run(exec);
    assert_int_equal(back[N - 1], 5);
    assert_int_equal(count, 1);
    EXPECT(hipSuccess, hipEventQuery(event));
    EXPECT(hipSuccess, hipGraphHostNodeGetParams(host, &told));
    assert_ptr_equal(told.userData, &count);
    EXPECT(hipErrorInvalidValue, hipGraphHostNodeGetParams(copy, &told));
    EXPECT(hipSuccess, hipGraphMemcpyNodeGetParams(copy, &p));
    assert_ptr_equal(p.dstPtr.ptr, back);
    assert_int_equal(p.extent.width, sizeof(back));
    EXPECT(hipErrorInvalidValue, hipGraphMemsetNodeGetParams(copy, &m));
    destroy(exec, graph);
    EXPECT(hipSuccess, hipEventDestroy(event));
}

static void test_parameters_change(void **state)
{
    hipGraph_t graph = new_graph();
    hipGraphNode_t start = fill_node(graph, 1);
    hipGraphNode_t node = kernel_node(graph, &start, 1, 1);
    hipGraphExec_t exec = instantiated(graph);
    hipKernelNodeParams p;
    unsigned k = 40, n = N;
    void *params[] = {&data, &k, &n};

    (void)state;
    EXPECT(hipSuccess, hipGraphKernelNodeGetParams(node, &p));
    assert_ptr_equal(p.func, step);
    assert_int_equal(p.blockDim.x, N);
    assert_int_equal(*(unsigned *)p.kernelParams[1], 1);
    p.kernelParams = params;
    EXPECT(hipSuccess, hipGraphExecKernelNodeSetParams(exec, node, &p));
    k = 0;
    run(exec);
    expect_data(42);
    /* The graph's node keeps the old parameters until it gets new ones. */
    EXPECT(hipSuccess, hipGraphKernelNodeGetParams(node, &p));
    assert_int_equal(*(unsigned *)p.kernelParams[1], 1);
    k = 5;
    p.kernelParams = params;
    EXPECT(hipSuccess, hipGraphKernelNodeSetParams(node, &p));
    run(exec);
    expect_data(42);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    exec = instantiated(graph);
    run(exec);
    expect_data(7);
    p.blockDim.x = 2048;
    EXPECT(hipErrorInvalidConfiguration, hipGraphKernelNodeSetParams(node, &p));
    EXPECT(hipErrorInvalidValue,
           hipGraphExecKernelNodeSetParams(exec, start, &p));
    EXPECT(hipSuccess, hipGraphNodeSetEnabled(exec, node, 0));
    run(exec);
    expect_data(1);
    destroy(exec, graph);
}

static void test_graph_as_its_own_child(void **state)
{
    hipGraph_t graph = new_graph();
    hipGraphNode_t node, start = fill_node(graph, 3);
    hipGraphExec_t exec;

    (void)state;
    EXPECT(hipSuccess,
           hipGraphAddChildGraphNode(&node, graph, &start, 1, graph));
    kernel_node(graph, &node, 1, 1);
    exec = instantiated(graph);
    run(exec);
    expect_data(7);
    destroy(exec, graph);
}

/* The kind is in the parameters; numbers and places are those of 6.2. */
static void test_nodes_by_generic_parameters(void **state)
{
    struct {
        int type, reserved[3];
        union {
            long long size[29];
            hipMemsetParams fill;
        } u;
        long long reserved2;
    } p = {.type = 2};
    hipGraph_t graph = new_graph();
    hipGraphNode_t node;
    hipGraphExec_t exec;

    (void)state;
    p.u.fill = (hipMemsetParams){
        .dst = data, .elementSize = 4, .height = 1, .value = 6, .width = N};
    EXPECT(hipSuccess, hipGraphAddNode(&node, graph, NULL, 0, &p));
    exec = instantiated(graph);
    run(exec);
    expect_data(6);
    p.u.fill.value = 8;
    EXPECT(hipSuccess, hipGraphExecNodeSetParams(exec, node, &p));
    run(exec);
    expect_data(8);
    p.type = 3;
    EXPECT(hipErrorInvalidValue, hipGraphNodeSetParams(node, &p));
    p.type = 8; /* an external semaphore */
    EXPECT(hipErrorNotSupported, hipGraphAddNode(&node, graph, NULL, 0, &p));
    p.type = 32; /* none */
    EXPECT(hipErrorInvalidValue, hipGraphAddNode(&node, graph, NULL, 0, &p));
    destroy(exec, graph);
}

static hipGraph_t captured_fill_and_step(unsigned value, unsigned k)
{
    hipGraph_t graph;

    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipSuccess, hipMemsetD32Async(data, (int)value, N, s));
    launch_step(s, k);
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    return graph;
}

static hipGraph_t captured_steps(unsigned n)
{
    hipGraph_t graph;

    begin(hipStreamCaptureModeGlobal);
    while (n--)
        launch_step(s, 3);
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    return graph;
}

/* Updates from a graph, which goes. */
static void update(hipGraphExec_t exec, hipGraph_t graph,
                   hipGraphExecUpdateResult want)
{
    hipGraphExecUpdateResult result;
    hipGraphNode_t bad;

    EXPECT(want == hipGraphExecUpdateSuccess ? hipSuccess
                                             : hipErrorGraphExecUpdateFailure,
           hipGraphExecUpdate(exec, graph, &bad, &result));
    assert_int_equal(result, want);
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

/* As in inference loops: captures again and updates the graph's values. */
static void test_update_from_a_new_capture(void **state)
{
    hipGraph_t graph = captured_fill_and_step(1, 1);
    hipGraphExec_t exec = instantiated(graph);

    (void)state;
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    update(exec, captured_fill_and_step(10, 3), hipGraphExecUpdateSuccess);
    run(exec);
    expect_data(23);
    update(exec, captured_steps(2), hipGraphExecUpdateErrorNodeTypeChanged);
    launch_step(s, 0);
    update(exec, captured_steps(1), hipGraphExecUpdateErrorTopologyChanged);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
}

static void test_what_an_instantiated_node_may_not_change(void **state)
{
    hipGraph_t graph = new_graph(), other = new_graph();
    unsigned back[N] = {0};
    hipMemsetParams p = {
        .dst = data, .elementSize = 4, .height = 1, .value = 2, .width = N};
    hipGraphNode_t start = fill_node(graph, 1), copy, bad;
    hipGraphExecUpdateResult result;
    hipGraphExec_t exec;
    void *elsewhere;

    (void)state;
    EXPECT(hipSuccess,
           hipGraphAddMemcpyNode1D(&copy, graph, &start, 1, back, data,
                                   sizeof(back), hipMemcpyDeviceToHost));
    exec = instantiated(graph);
    EXPECT(hipErrorInvalidValue,
           hipGraphExecMemcpyNodeSetParams1D(
               exec, copy, data, back, sizeof(back), hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue, /* not: an unknown direction */
           hipGraphExecMemcpyNodeSetParams1D(exec, copy, back, data,
                                             sizeof(back), (hipMemcpyKind)-1));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipMalloc(&elsewhere, sizeof(back)));
    EXPECT(hipSuccess, hipSetDevice(0));
    p.dst = elsewhere;
    EXPECT(hipErrorInvalidValue,
           hipGraphExecMemsetNodeSetParams(exec, start, &p));
    p.dst = data;
    EXPECT(hipSuccess, hipGraphExecMemsetNodeSetParams(exec, start, &p));
    run(exec);
    assert_int_equal(back[0], 2); /* the copy has not changed */
    EXPECT(hipSuccess,
           hipGraphAddMemcpyNode1D(&copy, other, NULL, 0, data, back,
                                   sizeof(back), hipMemcpyHostToDevice));
    EXPECT(hipErrorGraphExecUpdateFailure,
           hipGraphExecUpdate(exec, other, &bad, &result));
    assert_int_equal(result, hipGraphExecUpdateErrorTopologyChanged);
    EXPECT(hipErrorInvalidValue,
           hipGraphInstantiateWithFlags(&exec, graph, 8 | 2));
    EXPECT(hipSuccess, hipFree(elsewhere));
    destroy(exec, graph);
    EXPECT(hipSuccess, hipGraphDestroy(other));
}

static void test_attributes_of_kernel_nodes(void **state)
{
    const hipKernelNodeAttrID cooperative = (hipKernelNodeAttrID)2;
    const hipKernelNodeAttrID priority = (hipKernelNodeAttrID)8;
    const hipKernelNodeAttrID unknown = (hipKernelNodeAttrID)3;
    hipGraph_t graph = new_graph();
    hipGraphNode_t a = kernel_node(graph, NULL, 0, 1);
    hipGraphNode_t b = kernel_node(graph, NULL, 0, 1), c = fill_node(graph, 1);
    hipKernelNodeAttrValue value = {.cooperative = 1}, got = {0};

    (void)state;
    EXPECT(hipSuccess, hipGraphKernelNodeSetAttribute(a, cooperative, &value));
    EXPECT(hipSuccess, hipGraphKernelNodeCopyAttributes(a, b));
    EXPECT(hipSuccess, hipGraphKernelNodeGetAttribute(b, cooperative, &got));
    assert_int_equal(got.cooperative, 1);
    EXPECT(hipErrorInvalidValue,
           hipGraphKernelNodeGetAttribute(b, priority, &got));
    EXPECT(hipErrorInvalidValue,
           hipGraphKernelNodeSetAttribute(a, unknown, &value));
    EXPECT(hipErrorInvalidValue,
           hipGraphKernelNodeSetAttribute(c, cooperative, &value));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

/* A user's object goes with the last graph that holds it. */
static void test_user_objects_live_as_long_as_their_graphs(void **state)
{
    hipGraph_t graph = new_graph();
    hipGraphExec_t exec;
    unsigned gone = 0;
    void *object;

    (void)state;
    EXPECT(hipErrorInvalidValue,
           hipUserObjectCreate(&object, &gone, add_to_count, 0, 1));
    EXPECT(hipSuccess, hipUserObjectCreate(&object, &gone, add_to_count, 1, 1));
    EXPECT(hipSuccess, hipGraphRetainUserObject(graph, object, 1, 0));
    EXPECT(hipSuccess, hipUserObjectRelease(object, 1));
    assert_int_equal(gone, 0);
    exec = instantiated(graph);
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    assert_int_equal(gone, 0);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    assert_int_equal(gone, 1);
    EXPECT(hipSuccess, hipUserObjectRelease(object, 1)); /* no error */
    assert_int_equal(gone, 1);
}

static void test_clones_and_pictures(void **state)
{
    char path[SCRATCH_PATH_MAX], text[512] = "";
    hipGraph_t graph = new_graph(), clone;
    hipGraphNode_t start = fill_node(graph, 1), found;
    hipGraphNode_t node = kernel_node(graph, &start, 1, 1);
    int file = scratch_file(path);
    hipGraphExec_t exec;
    FILE *dot;

    (void)state;
    assert_true(file >= 0);
    EXPECT(hipSuccess, hipGraphClone(&clone, graph));
    EXPECT(hipSuccess, hipGraphNodeFindInClone(&found, node, clone));
    assert_ptr_not_equal(found, node);
    EXPECT(hipErrorInvalidValue, hipGraphNodeFindInClone(&found, node, graph));
    EXPECT(hipSuccess, hipGraphDebugDotPrint(clone, path, 0));
    dot = fdopen(file, "r");
    assert_non_null(dot);
    assert_true(fread(text, 1, sizeof(text) - 1, dot) > 0);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "\"step\""));
    assert_non_null(strstr(text, "g0_0 -> g0_1"));
    (void)fclose(dot);
    (void)remove(path);
    exec = instantiated(clone);
    EXPECT(hipErrorInvalidValue, hipGraphNodeSetEnabled(exec, node, 0));
    EXPECT(hipSuccess, hipGraphNodeSetEnabled(exec, found, 0));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(clone));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

/* A graph's kernels outlive their module. */
static void test_graph_holds_its_kernels(void **state)
{
    hipModule_t own;
    hipFunction_t f;
    unsigned k = 1, n = N;
    void *params[] = {&data, &k, &n};
    hipGraph_t graph;
    hipGraphExec_t exec;

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&own, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "step"));
    begin(hipStreamCaptureModeGlobal);
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, s, params, NULL));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    exec = instantiated(graph);
    EXPECT(hipSuccess, hipModuleUnload(own));
    fill(4);
    run(exec);
    expect_data(9);
    destroy(exec, graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture_records_and_replays),
        cmocka_unit_test(test_capture_of_several_streams),
        cmocka_unit_test(test_external_event_record_is_a_node),
        cmocka_unit_test(test_what_a_capture_forbids),
        cmocka_unit_test(test_relaxed_mode_allows_allocating),
        cmocka_unit_test(test_captures_end_in_their_thread),
        cmocka_unit_test(test_captures_do_not_merge),
        cmocka_unit_test(test_what_runs_at_once_on_a_captured_stream),
        cmocka_unit_test(test_capture_into_a_graph),
        cmocka_unit_test(test_stream_destroyed_in_a_capture),
        cmocka_unit_test(test_edges_order_nodes),
        cmocka_unit_test(test_nodes_of_every_kind),
        cmocka_unit_test(test_graph_as_its_own_child),
        cmocka_unit_test(test_nodes_by_generic_parameters),
        cmocka_unit_test(test_parameters_change),
        cmocka_unit_test(test_update_from_a_new_capture),
        cmocka_unit_test(test_what_an_instantiated_node_may_not_change),
        cmocka_unit_test(test_attributes_of_kernel_nodes),
        cmocka_unit_test(test_user_objects_live_as_long_as_their_graphs),
        cmocka_unit_test(test_clones_and_pictures),
        cmocka_unit_test(test_graph_holds_its_kernels),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
