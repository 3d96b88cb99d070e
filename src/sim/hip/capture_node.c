/* capture_node.c - calls on a captured stream, recorded as nodes of its graph
 */
#include "capture_node.h"

#include "capture_state.h"
#include "fill_op.h"
#include "graph.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "process_state.h"

/* Adds a node behind the stream's tail; the tail is the node then. */
static hipError_t add_behind(struct queue *q, enum node_type type,
                             hipGraphNode_t *out)
{
    struct capture *c = capture_of(q);
    hipError_t error;

    if (c->invalid)
        return hipErrorStreamCaptureInvalidated;
    error = graph_add(c->graph, type, q->tail, q->ntail, out);
    if (error == hipSuccess) {
        (*out)->captured = true;
        if (!capture_set_tail(q, out, 1, false))
            error = hipErrorOutOfMemory;
    }
    return error;
}

hipError_t capture_launch(struct queue *q, const struct launch *l)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_KERNEL, &node);

    if (error != hipSuccess)
        return error;
    return graph_node_set_kernel(&node->u.kernel, l,
                                 l->stub ? l->stub : (const void *)l->function);
}

hipError_t capture_copy(struct queue *q, const hipMemcpy3DParms *p)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEMCPY, &node);

    if (error == hipSuccess)
        node->u.copy = *p;
    return error;
}

hipError_t capture_fill(struct queue *q, const struct fill *fill)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEMSET, &node);

    if (error == hipSuccess)
        node->u.fill = *fill;
    return error;
}

hipError_t capture_host(struct queue *q, hipHostFn_t function, void *data)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_HOST, &node);

    if (error == hipSuccess)
        node->u.host = (hipHostNodeParams){function, data};
    return error;
}

hipError_t capture_alloc(struct queue *q, struct device *device, uint64_t size,
                         void **ptr)
{
    enum { PINNED = 1, ON_DEVICE = 1 };
    hipMemAllocNodeParams p = {
        .poolProps = {.allocType = PINNED,
                      .location = {ON_DEVICE, device->ordinal}},
        .bytesize = size};
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEM_ALLOC, &node);

    if (error == hipSuccess)
        error = graph_node_set_alloc(node, &p);
    *ptr = p.dptr;
    return error;
}

hipError_t capture_free(struct queue *q, void *ptr)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEM_FREE, &node);

    if (error == hipSuccess && graph_node_set_free(node, ptr) != hipSuccess)
        node->u.memory.params.dptr = ptr; /* memory of a pool */
    return error;
}

hipError_t capture_record_node(struct queue *q, hipEvent_t event)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_EVENT_RECORD, &node);

    if (error == hipSuccess)
        node->u.event = event;
    return error;
}
