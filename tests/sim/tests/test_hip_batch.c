/* test_hip_batch.c - batches of copies and of values in memory, boxes between
 * devices, fills of elements in rectangles, attributes of streams
 *
 * These came with HIP 6.4 to 7.2; Debian's header does not know them.
 */
#define _GNU_SOURCE
#include "hip_test.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5 };
enum { WAIT_GEQ, WAIT_EQ };

struct value {
    int operation;
    void *address;
    uint64_t value;
    unsigned flags;
    void *alias;
    uint64_t pad;
};
_Static_assert(sizeof(struct value) == 48, "hipStreamBatchMemOpParams");

enum { IN_STREAM = 1, IN_CALL = 2, ANY_ORDER = 3 };

struct location {
    int type, id;
};

struct attributes {
    int order;
    struct location from, to;
    unsigned flags;
};

enum { POINTER = 1, ARRAY = 2 };

struct operand {
    int type;
    union {
        struct {
            void *at;
            size_t row, height;
            struct location hint;
        } pointer;
        struct {
            hipArray_t array;
            size_t x, y, z;
        } array;
    };
};
_Static_assert(sizeof(struct operand) == 40, "hipMemcpy3DOperand");

struct box {
    struct operand from, to;
    struct hipExtent extent;
    int order;
    unsigned flags;
};

struct peers {
    hipArray_t src_array;
    struct hipPos src_pos;
    struct hipPitchedPtr src;
    int src_device;
    hipArray_t dst_array;
    struct hipPos dst_pos;
    struct hipPitchedPtr dst;
    int dst_device;
    struct hipExtent extent;
};

union attribute {
    char bytes[64];
    int number;
};

hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count,
                               struct value *list, unsigned flags);
struct batch_node {
    hipCtx_t context;
    unsigned count;
    struct value *list;
    unsigned flags;
};
hipError_t hipGraphAddBatchMemOpNode(hipGraphNode_t *node, hipGraph_t graph,
                                     const hipGraphNode_t *deps, size_t ndeps,
                                     const struct batch_node *p);
hipError_t hipGraphBatchMemOpNodeGetParams(hipGraphNode_t node,
                                           struct batch_node *p);
hipError_t hipGraphBatchMemOpNodeSetParams(hipGraphNode_t node,
                                           struct batch_node *p);
hipError_t hipGraphExecBatchMemOpNodeSetParams(hipGraphExec_t exec,
                                               hipGraphNode_t node,
                                               const struct batch_node *p);
hipError_t hipMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes,
                               size_t count, struct attributes *attributes,
                               size_t *from, size_t n, size_t *failed,
                               hipStream_t stream);
hipError_t hipMemcpy3DBatchAsync(size_t count, struct box *list, size_t *failed,
                                 unsigned long long flags, hipStream_t stream);
hipError_t hipMemcpy3DPeer(struct peers *p);
hipError_t hipMemcpy3DPeerAsync(struct peers *p, hipStream_t stream);
hipError_t hipMemsetD2D8(void *dst, size_t pitch, unsigned char value,
                         size_t width, size_t height);
hipError_t hipMemsetD2D16(void *dst, size_t pitch, unsigned short value,
                          size_t width, size_t height);
hipError_t hipMemsetD2D32Async(void *dst, size_t pitch, unsigned value,
                               size_t width, size_t height, hipStream_t stream);
hipError_t hipStreamSetAttribute(hipStream_t stream, int which,
                                 const union attribute *value);
hipError_t hipStreamGetAttribute(hipStream_t stream, int which,
                                 union attribute *value);
hipError_t hipStreamCopyAttributes(hipStream_t dst, hipStream_t src);

#define BAD_STREAM ((hipStream_t)0x1234)

/* ---- values in memory --------------------------------------------------- */

/* The third write is behind a wait that another stream ends. */
static void test_batched_values_come_in_order(void **state)
{
    struct value list[] = {{.operation = WRITE_32, .value = 5},
                           {.operation = WAIT_32, .value = 5, .flags = WAIT_EQ},
                           {.operation = WAIT_64, .value = 7},
                           {.operation = WRITE_64, .value = 1ull << 40}};
    uint64_t back[3], *p;
    hipStream_t s, other;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, sizeof(back)));
    EXPECT(hipSuccess, hipMemset(p, 0, sizeof(back)));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    list[0].address = list[1].address = p;
    list[2].address = p + 1;
    list[3].address = p + 2;
    EXPECT(hipSuccess, hipStreamBatchMemOp(s, 4, list, 0));
    EXPECT(hipErrorNotReady, hipStreamQuery(s));
    EXPECT(hipSuccess,
           hipMemcpyAsync(back, p + 2, 8, hipMemcpyDeviceToHost, other));
    EXPECT(hipSuccess, hipStreamSynchronize(other));
    assert_true(back[0] == 0);
    EXPECT(hipSuccess, hipStreamWriteValue64(other, p + 1, 9, 0));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(back, p, sizeof(back), hipMemcpyDeviceToHost));
    assert_true(back[0] == 5);
    assert_true(back[2] == 1ull << 40);
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamDestroy(other));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_a_bad_batch_of_values_does_nothing(void **state)
{
    struct value list[257] = {{.operation = WRITE_32, .value = 5}};
    unsigned back = 1, *p;
    int i;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 8));
    EXPECT(hipSuccess, hipMemset(p, 0, 8));
    for (i = 0; i < 257; i++) {
        list[i] = list[0];
        list[i].address = p;
    }
    EXPECT(hipErrorInvalidValue, hipStreamBatchMemOp(NULL, 0, list, 0));
    EXPECT(hipErrorInvalidValue, hipStreamBatchMemOp(NULL, 257, list, 0));
    EXPECT(hipErrorInvalidValue, hipStreamBatchMemOp(NULL, 1, NULL, 0));
    EXPECT(hipErrorInvalidValue, hipStreamBatchMemOp(NULL, 1, list, 1));
    EXPECT(hipErrorContextIsDestroyed,
           hipStreamBatchMemOp(BAD_STREAM, 1, list, 0));
    list[1].operation = FLUSH;
    EXPECT(hipErrorInvalidValue, hipStreamBatchMemOp(NULL, 2, list, 0));
    list[1].operation = WRITE_64;
    list[1].address = p + 1; /* not aligned */
    EXPECT(hipErrorInvalidValue, hipStreamBatchMemOp(NULL, 2, list, 0));
    EXPECT(hipSuccess, hipMemcpy(&back, p, 4, hipMemcpyDeviceToHost));
    assert_int_equal(back, 0);
    list[1] = list[0];
    EXPECT(hipSuccess, hipStreamBatchMemOp(NULL, 256, list, 0));
    EXPECT(hipSuccess, hipMemcpy(&back, p, 4, hipMemcpyDeviceToHost));
    assert_int_equal(back, 5);
    EXPECT(hipSuccess, hipFree(p));
}

/* The node keeps the list as it was given; an instantiated one has its own. */
static void test_batches_of_values_in_graphs(void **state)
{
    enum { BATCH_NODE = 14 };
    struct value list[] = {{.operation = WAIT_32, .value = 1, .flags = WAIT_EQ},
                           {.operation = WRITE_64, .value = 1ull << 40}};
    struct batch_node p = {.count = 2, .list = list}, seen;
    hipGraphNodeType type;
    hipGraphNode_t node;
    hipGraphExec_t exec;
    uint64_t back, *at;
    hipGraph_t graph;
    hipStream_t s;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&at, 16));
    EXPECT(hipSuccess, hipMemset(at, 0, 16));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    list[0].address = at;
    list[1].address = at + 1;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipGraphCreate(&graph, 0));
    EXPECT(hipSuccess, hipGraphAddBatchMemOpNode(&node, graph, NULL, 0, &p));
    EXPECT(hipSuccess, hipGraphNodeGetType(node, &type));
    assert_int_equal(type, BATCH_NODE);
    list[1].value = 3; /* too late */
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    EXPECT(hipSuccess, hipGraphLaunch(exec, s));
    EXPECT(hipErrorNotReady, hipStreamQuery(s));
    EXPECT(hipSuccess, hipStreamWriteValue32(NULL, at, 1, 0));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(&back, at + 1, 8, hipMemcpyDeviceToHost));
    assert_true(back == 1ull << 40);

    EXPECT(hipSuccess, hipGraphBatchMemOpNodeGetParams(node, &seen));
    assert_int_equal(seen.count, 2);
    assert_ptr_not_equal(seen.list, list);
    assert_ptr_equal(seen.list[1].address, at + 1);
    assert_true(seen.list[1].value == 1ull << 40);
    EXPECT(hipSuccess, hipGraphExecBatchMemOpNodeSetParams(exec, node, &p));
    EXPECT(hipSuccess, hipGraphLaunch(exec, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(&back, at + 1, 8, hipMemcpyDeviceToHost));
    assert_int_equal(back, 3);
    EXPECT(hipSuccess, hipGraphBatchMemOpNodeGetParams(node, &seen));
    assert_true(seen.list[1].value == 1ull << 40);
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    list[1].value = 7;
    EXPECT(hipSuccess, hipGraphBatchMemOpNodeSetParams(node, &p));
    EXPECT(hipSuccess, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    EXPECT(hipSuccess, hipGraphLaunch(exec, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(&back, at + 1, 8, hipMemcpyDeviceToHost));
    assert_int_equal(back, 7);

    p.count = 0;
    EXPECT(hipErrorInvalidValue,
           hipGraphAddBatchMemOpNode(&node, graph, NULL, 0, &p));
    EXPECT(hipErrorInvalidValue, hipGraphBatchMemOpNodeSetParams(node, &p));
    p.count = 2;
    p.flags = 1;
    EXPECT(hipErrorInvalidValue,
           hipGraphAddBatchMemOpNode(&node, graph, NULL, 0, &p));
    p.flags = 0;
    list[1].operation = FLUSH;
    EXPECT(hipErrorInvalidValue,
           hipGraphAddBatchMemOpNode(&node, graph, NULL, 0, &p));
    EXPECT(hipErrorInvalidValue,
           hipGraphExecBatchMemOpNodeSetParams(exec, node, &p));
    EXPECT(hipErrorInvalidValue,
           hipGraphAddBatchMemOpNode(&node, graph, NULL, 0, NULL));
    EXPECT(hipErrorInvalidValue, hipGraphBatchMemOpNodeGetParams(node, NULL));
    EXPECT(hipSuccess, hipGraphLaunch(exec, s)); /* unchanged by failures */
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipGraphExecDestroy(exec));
    EXPECT(hipSuccess, hipGraphDestroy(graph));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipFree(at));
}

/* ---- copies ------------------------------------------------------------- */

static void test_batched_copies(void **state)
{
    char host[] = "one two three", back[14] = "";
    char *a, *b;
    hipStream_t s;
    size_t failed = 7, sizes[] = {14, 4, 10}, from[] = {0, 2};
    struct attributes how[] = {{.order = IN_CALL}, {.order = ANY_ORDER}};

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipMalloc((void **)&a, 14));
    EXPECT(hipSuccess, hipMalloc((void **)&b, 14));
    {
        void *dsts[] = {a, b, b + 4}, *srcs[] = {host, a + 4, a + 4};

        EXPECT(hipSuccess, hipMemcpyBatchAsync(dsts, srcs, sizes, 3, how, from,
                                               2, &failed, s));
    }
    assert_true(failed == SIZE_MAX);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemcpy(back, b, 14, hipMemcpyDeviceToHost));
    assert_string_equal(back, "two two three");
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipFree(a));
    EXPECT(hipSuccess, hipFree(b));
}

/* The source is on the stack of a function that has returned. */
static void copy_from_stack(char *pinned, char *to, hipStream_t s)
{
    struct attributes in_call = {.order = IN_CALL};
    size_t n = 4, first = 0;
    void *dst = to, *src = pinned;

    EXPECT(hipSuccess, hipMemcpyBatchAsync(&dst, &src, &n, 1, &in_call, &first,
                                           1, NULL, s));
    EXPECT(hipSuccess, hipStreamQuery(s));
    memset(pinned, 0, 4);
}

static void test_a_source_read_during_the_call_may_change(void **state)
{
    char *a, *pinned, back[4] = "";
    hipStream_t s;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipMalloc((void **)&a, 4));
    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, 4, 0));
    memcpy(pinned, "now", 4);
    copy_from_stack(pinned, a, s);
    EXPECT(hipSuccess, hipMemcpy(back, a, 4, hipMemcpyDeviceToHost));
    assert_string_equal(back, "now");
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipHostFree(pinned));
    EXPECT(hipSuccess, hipFree(a));
}

static void test_bad_batches_of_copies(void **state)
{
    char *a;
    void *dsts[2], *srcs[2];
    size_t sizes[] = {4, 8}, from[] = {0, 1}, failed = 7;
    struct attributes how[] = {{.order = IN_STREAM}, {.order = IN_STREAM}};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&a, 16));
    dsts[0] = a;
    srcs[0] = a + 4;
    dsts[1] = a + 8;
    srcs[1] = a + 12; /* four bytes are left */
#define BATCH(d, s, z, n, how, from, nhow)                                     \
    hipMemcpyBatchAsync(d, s, z, n, how, from, nhow, &failed, NULL)
    EXPECT(hipErrorInvalidValue, BATCH(NULL, srcs, sizes, 1, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue, BATCH(dsts, NULL, sizes, 1, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, NULL, 1, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 0, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 1, NULL, from, 1));
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 1, how, NULL, 1));
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 1, how, from, 2));
    assert_true(failed == SIZE_MAX);
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 2, how, from, 2));
    assert_int_equal(failed, 1);
    from[1] = 0; /* does not rise */
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 2, how, from, 2));
    how[0].order = 0;
    EXPECT(hipErrorInvalidValue, BATCH(dsts, srcs, sizes, 1, how, from, 1));
    how[0].order = IN_STREAM;
    how[0].flags = 0x200; /* a swap */
    EXPECT(hipErrorNotSupported, BATCH(dsts, srcs, sizes, 1, how, from, 1));
    EXPECT(hipSuccess, hipFree(a));
}

/* A box of 3 x 2 x 2 out of rows of 4 into an array of bytes, and back. */
static void test_batched_boxes(void **state)
{
    const struct hipChannelFormatDesc bytes = {8, 0, 0, 0,
                                               hipChannelFormatKindUnsigned};
    unsigned char host[16], back[12], *p;
    struct box list[2];
    hipArray_t array;
    size_t failed = 7;
    int i;

    (void)state;
    for (i = 0; i < 16; i++)
        host[i] = (unsigned char)i;
    EXPECT(hipSuccess, hipSetDevice(1)); /* the other has no images */
    EXPECT(hipSuccess, hipMalloc((void **)&p, 16));
    EXPECT(hipSuccess, hipMemcpy(p, host, 16, hipMemcpyHostToDevice));
    EXPECT(hipSuccess,
           hipMalloc3DArray(&array, &bytes, (struct hipExtent){4, 2, 2}, 0));
    memset(list, 0, sizeof(list));
    list[0].from.type = POINTER;
    list[0].from.pointer.at = p;
    list[0].from.pointer.row = 4;
    list[0].to.type = ARRAY;
    list[0].to.array.array = array;
    list[0].to.array.x = 1;
    list[0].extent = (struct hipExtent){3, 2, 2};
    list[0].order = list[1].order = IN_STREAM;
    list[1].from = list[0].to;
    list[1].to.type = POINTER;
    list[1].to.pointer.at = back;
    list[1].extent = list[0].extent;
    EXPECT(hipSuccess, hipMemcpy3DBatchAsync(2, list, &failed, 0, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    for (i = 0; i < 12; i++)
        assert_int_equal(back[i], i / 3 * 4 + i % 3);
    assert_true(failed == SIZE_MAX);
    list[1].order = 0;
    EXPECT(hipErrorInvalidValue,
           hipMemcpy3DBatchAsync(2, list, &failed, 0, NULL));
    assert_int_equal(failed, 1);
    EXPECT(hipErrorInvalidValue,
           hipMemcpy3DBatchAsync(2, list, &failed, 1, NULL));
    EXPECT(hipErrorInvalidValue,
           hipMemcpy3DBatchAsync(0, list, &failed, 0, NULL));
    EXPECT(hipSuccess, hipFreeArray(array));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipSetDevice(0));
}

static void test_boxes_between_devices(void **state)
{
    struct peers p = {.src_device = 0, .dst_device = 1};
    char host[24] = "abcdefghijklmnopqrstuvw", back[12] = "";
    char *a, *b;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&a, 24));
    EXPECT(hipSuccess, hipMemcpy(a, host, 24, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipMalloc((void **)&b, 12));
    EXPECT(hipSuccess, hipSetDevice(0));
    p.src = (struct hipPitchedPtr){a, 6, 6, 2};
    p.src_pos.x = 1;
    p.dst = (struct hipPitchedPtr){b, 3, 3, 2};
    p.extent = (struct hipExtent){3, 2, 2};
    EXPECT(hipSuccess, hipMemcpy3DPeer(&p));
    EXPECT(hipSuccess, hipMemcpy(back, b, 12, hipMemcpyDeviceToHost));
    assert_memory_equal(back, "bcdhijnoptuv", 12);
    p.src_pos.x = 0;
    EXPECT(hipSuccess, hipMemcpy3DPeerAsync(&p, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipMemcpy(back, b, 12, hipMemcpyDeviceToHost));
    assert_memory_equal(back, "abcghimnostu", 12);
    EXPECT(hipErrorInvalidValue, hipMemcpy3DPeer(NULL));
    p.dst_device = 2;
    EXPECT(hipErrorInvalidDevice, hipMemcpy3DPeer(&p));
    EXPECT(hipErrorInvalidDevice, hipMemcpy3DPeerAsync(&p, NULL));
    EXPECT(hipSuccess, hipFree(a));
    EXPECT(hipSuccess, hipFree(b));
}

/* ---- fills -------------------------------------------------------------- */

static void test_fills_of_elements_in_rectangles(void **state)
{
    unsigned short back[3][4];
    unsigned words[2][2];
    unsigned short *p;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, sizeof(back)));
    EXPECT(hipSuccess, hipMemset(p, 0, sizeof(back)));
    EXPECT(hipSuccess, hipMemsetD2D16(p, 8, 0x1234, 3, 2));
    EXPECT(hipSuccess, hipMemsetD2D8(p + 8, 8, 0x56, 3, 1));
    EXPECT(hipSuccess, hipMemcpy(back, p, sizeof(back), hipMemcpyDeviceToHost));
    assert_int_equal(back[0][0], 0x1234);
    assert_int_equal(back[1][2], 0x1234);
    assert_int_equal(back[1][3], 0);
    assert_int_equal(back[2][0], 0x5656);
    assert_int_equal(back[2][1], 0x56);
    EXPECT(hipSuccess, hipMemsetD2D32Async(p, 8, 0x89abcdefu, 1, 2, NULL));
    EXPECT(hipSuccess,
           hipMemcpy(words, p, sizeof(words), hipMemcpyDeviceToHost));
    assert_true(words[0][0] == 0x89abcdefu && words[1][0] == 0x89abcdefu);
    assert_int_equal(words[0][1], 0x1234);
    EXPECT(hipErrorInvalidValue, hipMemsetD2D16(p, 7, 1, 3, 2));
    EXPECT(hipErrorInvalidValue, hipMemsetD2D16(p, 8, 1, 5, 2));
    EXPECT(hipErrorInvalidValue, hipMemsetD2D16(p, 8, 1, 4, 4));
    EXPECT(hipErrorInvalidValue, hipMemsetD2D16(NULL, 8, 1, 4, 2));
    EXPECT(hipSuccess, hipFree(p));
}

/* ---- streams ------------------------------------------------------------ */

static void test_attributes_of_streams(void **state)
{
    enum { WINDOW = 1, POLICY = 3, PRIORITY = 8 };
    enum { AUTO = 1, YIELD = 3, BLOCKING = 4 };
    union attribute value;
    hipStream_t s, high;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipStreamCreateWithPriority(&high, 0, -1));
    EXPECT(hipSuccess, hipStreamGetAttribute(s, POLICY, &value));
    assert_int_equal(value.number, AUTO);
    EXPECT(hipSuccess, hipStreamGetAttribute(high, PRIORITY, &value));
    assert_int_equal(value.number, -1);
    value.number = YIELD;
    EXPECT(hipSuccess, hipStreamSetAttribute(s, POLICY, &value));
    EXPECT(hipSuccess, hipStreamCopyAttributes(high, s));
    value.number = 0;
    EXPECT(hipSuccess, hipStreamGetAttribute(high, POLICY, &value));
    assert_int_equal(value.number, YIELD);
    EXPECT(hipSuccess, hipStreamGetAttribute(high, PRIORITY, &value));
    assert_int_equal(value.number, -1); /* is not copied */
    value.number = BLOCKING + 1;
    EXPECT(hipErrorInvalidValue, hipStreamSetAttribute(s, POLICY, &value));
    value.number = 0;
    EXPECT(hipErrorInvalidValue, hipStreamSetAttribute(s, POLICY, &value));
    EXPECT(hipErrorInvalidValue, hipStreamSetAttribute(s, PRIORITY, &value));
    EXPECT(hipErrorInvalidValue, hipStreamGetAttribute(s, WINDOW, &value));
    EXPECT(hipErrorInvalidValue, hipStreamSetAttribute(s, POLICY, NULL));
    EXPECT(hipErrorInvalidValue, hipStreamGetAttribute(s, POLICY, NULL));
    EXPECT(hipErrorInvalidHandle,
           hipStreamGetAttribute(BAD_STREAM, POLICY, &value));
    value.number = AUTO;
    EXPECT(hipErrorInvalidHandle,
           hipStreamSetAttribute(BAD_STREAM, POLICY, &value));
    EXPECT(hipErrorInvalidValue, hipStreamCopyAttributes(s, BAD_STREAM));
    EXPECT(hipSuccess, hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
    EXPECT(hipErrorStreamCaptureUnsupported,
           hipStreamSetAttribute(s, POLICY, &value));
    {
        hipGraph_t graph;

        EXPECT(hipSuccess, hipStreamEndCapture(s, &graph));
        EXPECT(hipSuccess, hipGraphDestroy(graph));
    }
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamDestroy(high));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batched_values_come_in_order),
        cmocka_unit_test(test_a_bad_batch_of_values_does_nothing),
        cmocka_unit_test(test_batches_of_values_in_graphs),
        cmocka_unit_test(test_batched_copies),
        cmocka_unit_test(test_a_source_read_during_the_call_may_change),
        cmocka_unit_test(test_bad_batches_of_copies),
        cmocka_unit_test(test_batched_boxes),
        cmocka_unit_test(test_boxes_between_devices),
        cmocka_unit_test(test_fills_of_elements_in_rectangles),
        cmocka_unit_test(test_attributes_of_streams),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
