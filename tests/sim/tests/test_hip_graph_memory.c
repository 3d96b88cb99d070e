/* test_hip_graph_memory.c - memory that graphs allocate and free, and nodes by
 * the driver's structures */
#define _GNU_SOURCE
#include "hip_test.h"

#include <stdbool.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As HIP has them from 5.5 on. */
struct alloc_params {
    struct {
        int type, handle_types;
        hipMemLocation location;
        void *security;
        unsigned char reserved[64];
    } pool;
    const hipMemAccessDesc *access;
    size_t naccess, nbytes;
    void *ptr;
};
hipError_t hipGraphAddMemAllocNode(hipGraphNode_t *node, hipGraph_t graph,
                                   const hipGraphNode_t *deps, size_t ndeps,
                                   struct alloc_params *p);
hipError_t hipGraphAddMemFreeNode(hipGraphNode_t *node, hipGraph_t graph,
                                  const hipGraphNode_t *deps, size_t ndeps,
                                  void *ptr);
hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node,
                                         struct alloc_params *p);
hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void *ptr);
hipError_t hipDeviceGetGraphMemAttribute(int device, int attribute,
                                         void *value);
hipError_t hipDeviceSetGraphMemAttribute(int device, int attribute,
                                         void *value);
hipError_t hipDeviceGraphMemTrim(int device);

/* HIP_MEMCPY3D and HIP_MEMSET_NODE_PARAMS as of 6.0. */
struct box {
    size_t src_x, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    void *src_device, *src_array;
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host, *dst_device, *dst_array;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
};
struct driver_fill {
    void *dst;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};
enum { HOST = 1, DEVICE = 2, ARRAY = 10, UNIFIED = 11 };
hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph,
                                    const hipGraphNode_t *deps, size_t ndeps,
                                    const struct box *p, hipCtx_t context);
hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph,
                                    const hipGraphNode_t *deps, size_t ndeps,
                                    const struct driver_fill *p,
                                    hipCtx_t context);
hipError_t hipDrvGraphMemcpyNodeGetParams(hipGraphNode_t node, struct box *p);
hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                          const struct box *p);
hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t exec,
                                              hipGraphNode_t node,
                                              const struct box *p,
                                              hipCtx_t context);
hipError_t hipDrvGraphExecMemsetNodeSetParams(hipGraphExec_t exec,
                                              hipGraphNode_t node,
                                              const struct driver_fill *p,
                                              hipCtx_t context);

enum { N = 1000 };
enum { USED, USED_HIGH, RESERVED, RESERVED_HIGH };

static hipStream_t s;

static int set_up(void **state)
{
    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    EXPECT(hipSuccess, hipStreamDestroy(s));
    return 0;
}

static struct alloc_params of_size(size_t n)
{
    return (struct alloc_params){
        .pool = {.type = hipMemAllocationTypePinned,
                 .location = {hipMemLocationTypeDevice, 0}},
        .nbytes = n};
}

static void expect_attribute(int attribute, uint64_t want)
{
    uint64_t value = ~want;

    EXPECT(hipSuccess, hipDeviceGetGraphMemAttribute(0, attribute, &value));
    assert_int_equal(value, want);
}

/* A graph that allocates, fills and copies out; it frees, or the caller does.
 */
static hipGraph_t filling_graph(unsigned *out, unsigned **memory, bool frees)
{
    struct alloc_params p = of_size(N * 4);
    hipMemsetParams fill = {
        .elementSize = 4, .height = 1, .value = 7, .width = N};
    hipGraphNode_t a, b, c, d;
    hipGraph_t graph;

    EXPECT(hipSuccess, hipGraphCreate(&graph, 0));
    EXPECT(hipSuccess, hipGraphAddMemAllocNode(&a, graph, NULL, 0, &p));
    assert_non_null(p.ptr);
    *memory = fill.dst = p.ptr;
    EXPECT(hipSuccess, hipGraphAddMemsetNode(&b, graph, &a, 1, &fill));
    EXPECT(hipSuccess, hipGraphAddMemcpyNode1D(&c, graph, &b, 1, out, p.ptr,
                                               N * 4, hipMemcpyDeviceToHost));
    if (frees)
        EXPECT(hipSuccess, hipGraphAddMemFreeNode(&d, graph, &c, 1, p.ptr));
    return graph;
}

static void launch(hipGraphExec_t exec)
{
    EXPECT(hipSuccess, hipGraphLaunch(exec, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
}

static void test_memory_lives_from_node_to_node(void **state)
{
    unsigned out[N] = {0}, *memory, i;
    size_t before, now;
    uint64_t zero = 0;
    hipGraph_t graph;
    hipGraphExec_t exec;

    (void)state;
    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    graph = filling_graph(out, &memory, true);
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    EXPECT(hipErrorNotSupported, /* one at a time */
           hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    expect_attribute(USED_HIGH, 0);
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    for (i = 0; i < 3; i++)
        launch(exec);
    for (i = 0; i < N; i++)
        assert_int_equal(out[i], 7);
    expect_attribute(USED, 0);
    expect_attribute(RESERVED, 0);
    expect_attribute(USED_HIGH, N * 4);
    expect_attribute(RESERVED_HIGH, N * 4);
    EXPECT(hipSuccess, hipDeviceSetGraphMemAttribute(0, USED_HIGH, &zero));
    expect_attribute(USED_HIGH, 0);
    expect_attribute(RESERVED_HIGH, N * 4);
    EXPECT(hipSuccess, hipDeviceSetGraphMemAttribute(0, RESERVED_HIGH, &zero));
    EXPECT(hipSuccess, hipMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
    /* The memory is unmapped between launches. */
    EXPECT(hipErrorInvalidValue, hipFree(memory));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
}

/* hipFree(), hipFreeAsync() and another graph may free it as well, to the byte
 * that was asked for until then. */
static void test_memory_outlives_its_graph(void **state)
{
    unsigned out[N] = {0}, *memory, i;
    size_t before, now;
    hipGraph_t graph, freeing;
    hipGraphNode_t node;
    hipGraphExec_t exec, exec2;

    (void)state;
    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    graph = filling_graph(out, &memory, false);
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    for (i = 0; i < 3; i++) {
        launch(exec);
        expect_attribute(USED, N * 4);
        EXPECT(hipSuccess, hipMemGetInfo(&now, NULL));
        assert_int_equal(before - now, N * 4);
        EXPECT(hipSuccess, hipMemset(memory, (int)i, N * 4));
        EXPECT(hipErrorInvalidValue, hipMemset(memory, 0, N * 4 + 1));
        EXPECT(hipSuccess, hipDeviceSynchronize());
        EXPECT(hipErrorInvalidValue, hipGraphLaunch(exec, s)); /* not freed */
        if (i == 0) {
            EXPECT(hipSuccess, hipFree(memory));
        } else if (i == 1) {
            EXPECT(hipSuccess, hipFreeAsync(memory, s));
            EXPECT(hipSuccess, hipStreamSynchronize(s));
        } else {
            EXPECT(hipSuccess, hipGraphCreate(&freeing, 0));
            EXPECT(hipSuccess,
                   hipGraphAddMemFreeNode(&node, freeing, NULL, 0, memory));
            EXPECT(hipErrorInvalidValue, /* twice */
                   hipGraphAddMemFreeNode(&node, freeing, NULL, 0, memory));
            EXPECT(hipSuccess,
                   hipGraphInstantiate(&exec2, freeing, NULL, NULL, 0));
            launch(exec2);
            EXPECT(hipSuccess, hipGraphExecDestroy(exec2));
            EXPECT(hipSuccess, hipGraphDestroy(freeing));
        }
        expect_attribute(USED, 0);
    }
    /* Destroyed, and the memory is there still. */
    launch(exec);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipMemcpy(out, memory, N * 4, hipMemcpyDeviceToHost));
    assert_int_equal(out[N - 1], 7);
    EXPECT(hipSuccess, hipFree(memory));
    EXPECT(hipErrorInvalidValue, hipFree(memory));
    EXPECT(hipSuccess, hipMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
    EXPECT(hipSuccess, hipDeviceGraphMemTrim(0));
}

static void test_memory_is_freed_at_the_next_launch(void **state)
{
    enum { AUTO_FREE = 1 };
    unsigned out[N] = {0}, *memory, i;
    hipGraph_t graph = filling_graph(out, &memory, false);
    hipGraphExec_t exec;

    (void)state;
    EXPECT(hipSuccess, hipGraphInstantiateWithFlags(&exec, graph, AUTO_FREE));
    for (i = 0; i < 3; i++)
        launch(exec);
    expect_attribute(USED, N * 4);
    EXPECT(hipSuccess, hipFree(memory));
    expect_attribute(USED, 0);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

/* 1: delay the next mapping of shared memory; 2: the delay has begun. */
static atomic_int slow_mapping;

/* In place of the C library's. */
void *mmap(void *at, size_t n, int access, int flags, int fd, off_t offset)
{
    int armed = 1;

    if ((flags & MAP_SHARED) && (flags & MAP_FIXED) &&
        atomic_compare_exchange_strong(&slow_mapping, &armed, 2))
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    return (void *)syscall(SYS_mmap, at, n, access, flags, fd, offset);
}

/* A call may name graph memory while the stream is mapping it. */
static void test_memory_may_be_named_while_it_is_mapped(void **state)
{
    struct alloc_params p = of_size(N * 4);
    hipGraphExec_t exec;
    hipGraphNode_t node;
    hipGraph_t graph;
    unsigned out = 0;

    (void)state;
    EXPECT(hipSuccess, hipGraphCreate(&graph, 0));
    EXPECT(hipSuccess, hipGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    slow_mapping = 1;
    EXPECT(hipSuccess, hipGraphLaunch(exec, s));
    while (slow_mapping != 2)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    EXPECT(hipSuccess, hipMemsetD32Async(p.ptr, 5, N, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(&out, p.ptr, 4, hipMemcpyDeviceToHost));
    assert_int_equal(out, 5);
    EXPECT(hipSuccess, hipFree(p.ptr));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

static void test_capture_of_stream_ordered_memory(void **state)
{
    enum { ALLOC = 10, FREE = 11 };
    unsigned out[N] = {0}, *memory = NULL, i;
    size_t n = 4;
    hipGraphNode_t nodes[4];
    hipGraphNodeType type;
    hipGraph_t graph;
    hipGraphExec_t exec;

    (void)state;
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipSuccess, hipMallocAsync((void **)&memory, N * 4, s));
    EXPECT(hipSuccess, hipMemsetD32Async(memory, 3, N, s));
    EXPECT(hipSuccess,
           hipMemcpyAsync(out, memory, N * 4, hipMemcpyDeviceToHost, s));
    EXPECT(hipSuccess, hipFreeAsync(memory, s));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphGetNodes(graph, nodes, &n));
    assert_int_equal(n, 4);
    EXPECT(hipSuccess, hipGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, ALLOC);
    EXPECT(hipSuccess, hipGraphNodeGetType(nodes[3], &type));
    assert_int_equal(type, FREE);
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    launch(exec);
    launch(exec);
    for (i = 0; i < N; i++)
        assert_int_equal(out[i], 3);
    expect_attribute(USED, 0);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

/* A pool's memory stays allocated until the graph with the free runs. */
static void test_captured_free_of_a_pools_memory(void **state)
{
    enum { FREE = 11 };
    hipGraphNode_t node;
    hipGraphNodeType type;
    hipGraph_t graph, copy;
    hipGraphExec_t exec;
    size_t n = 1;
    void *memory, *gone = NULL;

    (void)state;
    EXPECT(hipSuccess, hipMallocAsync(&memory, 64, s));
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    EXPECT(hipErrorInvalidValue, hipFreeAsync((char *)memory + 4, s));
    EXPECT(hipSuccess, hipFreeAsync(memory, s));
    EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
    EXPECT(hipSuccess, hipGraphGetNodes(graph, &node, &n));
    EXPECT(hipSuccess, hipGraphNodeGetType(node, &type));
    assert_int_equal(type, FREE);
    EXPECT(hipSuccess, hipGraphMemFreeNodeGetParams(node, &gone));
    assert_ptr_equal(gone, memory);
    EXPECT(hipSuccess, hipGraphClone(&copy, graph));
    EXPECT(hipSuccess, hipGraphDestroy(copy));
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    EXPECT(hipSuccess, hipMemsetAsync(memory, 1, 64, s));
    launch(exec);
    EXPECT(hipErrorInvalidValue, hipFreeAsync(memory, s));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

static void test_memory_nodes_ask_and_refuse(void **state)
{
    struct alloc_params p = of_size(64), bad = p, got;
    hipGraphNode_t a, f;
    hipGraph_t graph;
    uint64_t value = 1;
    void *ptr = NULL;
    char *plain;

    (void)state;
    EXPECT(hipSuccess, hipGraphCreate(&graph, 0));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemAllocNode(NULL, graph, NULL, 0, &p));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemAllocNode(&a, NULL, NULL, 0, &p));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemAllocNode(&a, graph, NULL, 1, &p));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemAllocNode(&a, graph, NULL, 0, NULL));
    bad.nbytes = 0;
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemAllocNode(&a, graph, NULL, 0, &bad));
    bad = p;
    bad.pool.location.id = 1; /* only device 0 exists */
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemAllocNode(&a, graph, NULL, 0, &bad));
    EXPECT(hipSuccess, hipGraphAddMemAllocNode(&a, graph, NULL, 0, &p));
    EXPECT(hipSuccess, hipGraphMemAllocNodeGetParams(a, &got));
    assert_ptr_equal(got.ptr, p.ptr);
    assert_int_equal(got.nbytes, 64);
    EXPECT(hipSuccess, hipMalloc((void **)&plain, 64));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemFreeNode(&f, graph, &a, 1, plain));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemFreeNode(&f, graph, &a, 1, (char *)p.ptr + 1));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddMemFreeNode(&f, graph, &a, 1, NULL));
    EXPECT(hipSuccess, hipGraphAddMemFreeNode(&f, graph, &a, 1, p.ptr));
    EXPECT(hipSuccess, hipGraphMemFreeNodeGetParams(f, &ptr));
    assert_ptr_equal(ptr, p.ptr);
    EXPECT(hipErrorInvalidValue, hipGraphMemFreeNodeGetParams(a, &ptr));
    EXPECT(hipErrorInvalidValue, hipGraphMemAllocNodeGetParams(f, &got));
    EXPECT(hipErrorInvalidDevice,
           hipDeviceGetGraphMemAttribute(1, USED, &value));
    EXPECT(hipErrorInvalidValue, hipDeviceGetGraphMemAttribute(0, 4, &value));
    EXPECT(hipErrorInvalidValue, hipDeviceGetGraphMemAttribute(0, USED, NULL));
    EXPECT(hipErrorInvalidValue,
           hipDeviceSetGraphMemAttribute(0, USED, &value));
    EXPECT(hipErrorInvalidDevice, hipDeviceGraphMemTrim(1));
    EXPECT(hipSuccess, hipFree(plain));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
}

/* ---- the driver's structures -------------------------------------------- */

enum { W = 8, H = 4, PITCH = 32 };

static struct driver_fill fill_all(void *device, unsigned value)
{
    return (struct driver_fill){.dst = device,
                                .value = value,
                                .element = 1,
                                .width = PITCH * H,
                                .height = 1};
}

/* Columns 1 to 4 of rows 1 and 2, to column 3. */
static struct box part_in(const void *host, void *device)
{
    return (struct box){.src_x = 1,
                        .src_y = 1,
                        .src_type = HOST,
                        .src_host = host,
                        .src_pitch = W,
                        .src_height = H,
                        .dst_x = 3,
                        .dst_y = 1,
                        .dst_type = DEVICE,
                        .dst_device = device,
                        .dst_pitch = PITCH,
                        .dst_height = H,
                        .width = 4,
                        .height = 2,
                        .depth = 1};
}

static struct box all_out(void *device, void *host)
{
    return (struct box){.src_type = DEVICE,
                        .src_device = device,
                        .src_pitch = PITCH,
                        .dst_type = HOST,
                        .dst_host = host,
                        .dst_pitch = W,
                        .width = W,
                        .height = H,
                        .depth = 1};
}

static void test_nodes_by_driver_structures(void **state)
{
    unsigned char host[H][W], back[H][W] = {{0}}, *device;
    hipGraphNode_t fill_node, in, out;
    struct driver_fill fill;
    struct box p, got;
    hipGraphExec_t exec;
    hipGraph_t graph;
    hipCtx_t context;
    int x, y;

    (void)state;
    for (y = 0; y < H; y++)
        for (x = 0; x < W; x++)
            host[y][x] = (unsigned char)(16 * y + x);
    EXPECT(hipSuccess, hipCtxCreate(&context, 0, 0));
    EXPECT(hipSuccess, hipMalloc((void **)&device, PITCH * H));
    EXPECT(hipSuccess, hipGraphCreate(&graph, 0));
    fill = fill_all(device, 0xee);
    EXPECT(hipSuccess, hipDrvGraphAddMemsetNode(&fill_node, graph, NULL, 0,
                                                &fill, context));
    p = part_in(host, device);
    EXPECT(hipErrorInvalidValue,
           hipDrvGraphAddMemcpyNode(&in, graph, &fill_node, 1, &p, NULL));
    EXPECT(hipErrorInvalidValue,
           hipDrvGraphAddMemcpyNode(&in, graph, &fill_node, 1, NULL, context));
    EXPECT(hipSuccess,
           hipDrvGraphAddMemcpyNode(&in, graph, &fill_node, 1, &p, context));
    memset(&got, 0xff, sizeof(got));
    EXPECT(hipSuccess, hipDrvGraphMemcpyNodeGetParams(in, &got));
    assert_memory_equal(&got, &p, sizeof(p));
    p = all_out(device, back);
    EXPECT(hipSuccess,
           hipDrvGraphAddMemcpyNode(&out, graph, &in, 1, &p, context));
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    launch(exec);
    for (y = 0; y < H; y++)
        for (x = 0; x < W; x++)
            assert_int_equal(back[y][x], (y == 1 || y == 2) && x >= 3 && x < 7
                                             ? host[y][x - 2]
                                             : 0xee);
    /* The instantiated copy is changed to one row. */
    EXPECT(hipSuccess, hipDrvGraphMemcpyNodeGetParams(in, &p));
    p.height = 1;
    EXPECT(hipSuccess,
           hipDrvGraphExecMemcpyNodeSetParams(exec, in, &p, context));
    fill = fill_all(device, 0x11);
    EXPECT(hipSuccess,
           hipDrvGraphExecMemsetNodeSetParams(exec, fill_node, &fill, context));
    launch(exec);
    assert_int_equal(back[1][3], host[1][1]);
    assert_int_equal(back[2][3], 0x11);
    p.width = PITCH; /* beyond the pitch of the source */
    EXPECT(hipErrorInvalidValue, hipDrvGraphMemcpyNodeSetParams(in, &p));
    EXPECT(hipErrorInvalidValue, hipDrvGraphMemcpyNodeSetParams(fill_node, &p));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipFree(device));
    EXPECT(hipSuccess, hipCtxDestroy(context));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_lives_from_node_to_node),
        cmocka_unit_test(test_memory_outlives_its_graph),
        cmocka_unit_test(test_memory_is_freed_at_the_next_launch),
        cmocka_unit_test(test_memory_may_be_named_while_it_is_mapped),
        cmocka_unit_test(test_capture_of_stream_ordered_memory),
        cmocka_unit_test(test_captured_free_of_a_pools_memory),
        cmocka_unit_test(test_memory_nodes_ask_and_refuse),
        cmocka_unit_test(test_nodes_by_driver_structures),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
