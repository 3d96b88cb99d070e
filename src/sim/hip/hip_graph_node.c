/* hip_graph_node.c - nodes by kind: added, asked, changed
 *
 * A change of a node's parameters comes in two forms, for the node of a graph
 * and for its copy in an instantiated one. Both find the node first (target())
 * and then do the same.
 */
#define _GNU_SOURCE
#include "allocation_lookup.h"
#include "call.h"
#include "copy_op.h"
#include "fill_op.h"
#include "graph.h"
#include "handle.h"
#include "hip_copy_driver.h"
#include "hip_register.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "stream_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"

#include <stdlib.h>

/* ---- kinds: from HIP's parameters to the node's content ------------------ */

static hipError_t set_kernel(hipGraphNode_t node, const hipKernelNodeParams *p)
{
    struct launch l = {.any_device = true};
    uint32_t blocks[3];
    hipError_t error;
    struct queue *q;

    if (!p || !p->func)
        return hipErrorInvalidValue;
    l.shared = p->sharedMemBytes;
    l.params = p->kernelParams;
    l.extra = p->extra;
    l.block[0] = p->blockDim.x;
    l.block[1] = p->blockDim.y;
    l.block[2] = p->blockDim.z;
    blocks[0] = p->gridDim.x;
    blocks[1] = p->gridDim.y;
    blocks[2] = p->gridDim.z;
    if (handle_valid(p->func, HANDLE_FUNCTION))
        l.function = p->func;
    else if (registered_function(p->func, thread_device(), &l.function) !=
             hipSuccess)
        return hipErrorInvalidDeviceFunction;
    q = stream_queue(NULL);
    if (!q)
        return hipErrorOutOfMemory;
    error = launch_check_blocks(&l, blocks, q);
    queue_unref(q);
    if (error == hipErrorInvalidValue &&
        (uint64_t)l.block[0] * l.block[1] * l.block[2] > 1024)
        error = hipErrorInvalidConfiguration;
    if (error == hipSuccess)
        error = graph_node_set_kernel(&node->u.kernel, &l, p->func);
    return error;
}

static hipError_t set_copy(hipGraphNode_t node, const hipMemcpy3DParms *p)
{
    hipError_t error = p ? copy_box_check(p) : hipErrorInvalidValue;

    if (error == hipSuccess)
        node->u.copy = *p;
    return error;
}

struct line {
    void *dst;
    const void *src;
    size_t n;
    int kind;
};

static hipError_t set_line(hipGraphNode_t node, const struct line *l)
{
    const hipMemcpy3DParms p = {
        .dstPtr = {l->dst, l->n, l->n, 1},
        .srcPtr = {(void *)(uintptr_t)l->src, l->n, l->n, 1},
        .extent = {l->n, 1, 1},
        .kind = (hipMemcpyKind)l->kind};

    if (!l->dst || !l->src || !l->n || l->dst == l->src)
        return hipErrorInvalidValue;
    return set_copy(node, &p);
}

/* A line to or from a device variable, whose address is found here. */
static hipError_t at_symbol(const void *symbol, size_t n, size_t offset,
                            void **address)
{
    uint64_t base, size;
    hipError_t error = symbol ? registered_variable(symbol, &base, &size)
                              : hipErrorInvalidSymbol;

    if (error != hipSuccess)
        return error;
    if (offset > size || n > size - offset)
        return hipErrorInvalidValue;
    *address = (void *)(uintptr_t)(base + offset);
    return hipSuccess;
}

typedef struct {
    void *dst;
    unsigned elementSize;
    size_t height, pitch;
    unsigned value;
    size_t width; /* elements */
} hipMemsetParams;

static hipError_t set_fill(hipGraphNode_t node, const hipMemsetParams *p)
{
    struct fill f;
    hipError_t error;

    if (!p || !p->dst || !p->width || !p->height ||
        (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
        (p->height > 1 && p->pitch < p->width * p->elementSize))
        return hipErrorInvalidValue;
    f = (struct fill){.dst = (uintptr_t)p->dst,
                      .width = p->width * p->elementSize,
                      .height = p->height,
                      .depth = 1,
                      .pitch = p->pitch,
                      .value = p->value,
                      .element = p->elementSize};
    error = fill_check(&f);
    if (error == hipSuccess)
        node->u.fill = f;
    return error;
}

static hipError_t set_host(hipGraphNode_t node, const hipHostNodeParams *p)
{
    if (!p || !p->fn)
        return hipErrorInvalidValue;
    node->u.host = *p;
    return hipSuccess;
}

static hipError_t set_event(hipGraphNode_t node, hipEvent_t event)
{
    if (!handle_valid(event, HANDLE_EVENT))
        return hipErrorInvalidValue;
    node->u.event = event;
    return hipSuccess;
}

static hipError_t set_child(hipGraphNode_t node, hipGraph_t child)
{
    hipGraph_t copy;

    if (!handle_valid(child, HANDLE_GRAPH) || child == node->graph)
        return hipErrorInvalidValue;
    copy = graph_clone(child);
    if (!copy)
        return hipErrorOutOfMemory;
    graph_free(node->u.child);
    node->u.child = copy;
    return hipSuccess;
}

static hipError_t set_driver_copy(hipGraphNode_t node, const HIP_MEMCPY3D *p)
{
    hipMemcpy3DParms box;
    const hipError_t error = copy_box_from_driver(p, &box);

    return error == hipSuccess ? set_copy(node, &box) : error;
}

/* The driver's has the members in another order. */
typedef struct {
    void *dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
} HIP_MEMSET_NODE_PARAMS;

static hipError_t set_driver_fill(hipGraphNode_t node,
                                  const HIP_MEMSET_NODE_PARAMS *p)
{
    hipMemsetParams same;

    if (!p)
        return hipErrorInvalidValue;
    same = (hipMemsetParams){.dst = p->dst,
                             .elementSize = p->elementSize,
                             .height = p->height,
                             .pitch = p->pitch,
                             .value = p->value,
                             .width = p->width};
    return set_fill(node, &same);
}

/* ---- adding ------------------------------------------------------------- */

/* Returns the node to the program, or removes it after an error. */
static hipError_t keep(hipError_t error, hipGraphNode_t node,
                       hipGraphNode_t *out)
{
    if (error != hipSuccess)
        graph_remove(node);
    else
        *out = node;
    return error;
}

#define NEW_NODE                                                               \
    hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *deps,         \
        size_t ndeps
#define ADD(type, set)                                                         \
    do {                                                                       \
        hipGraphNode_t node;                                                   \
        hipError_t error;                                                      \
                                                                               \
        ENTER();                                                               \
        if (!out)                                                              \
            LEAVE(hipErrorInvalidValue);                                       \
        error = graph_add(graph, type, deps, ndeps, &node);                    \
        LEAVE(error == hipSuccess ? keep(set, node, out) : error);             \
    } while (0)

HIP_API hipError_t hipGraphAddKernelNode(NEW_NODE, const hipKernelNodeParams *p)
{
    ADD(NODE_KERNEL, set_kernel(node, p));
}

HIP_API hipError_t hipGraphAddMemcpyNode(NEW_NODE, const hipMemcpy3DParms *p)
{
    ADD(NODE_MEMCPY, set_copy(node, p));
}

HIP_API hipError_t hipGraphAddMemcpyNode1D(NEW_NODE, void *dst, const void *src,
                                           size_t n, int kind)
{
    const struct line l = {dst, src, n, kind};

    ADD(NODE_MEMCPY, set_line(node, &l));
}

HIP_API hipError_t hipGraphAddMemsetNode(NEW_NODE, const hipMemsetParams *p)
{
    ADD(NODE_MEMSET, set_fill(node, p));
}

HIP_API hipError_t hipDrvGraphAddMemcpyNode(NEW_NODE, const HIP_MEMCPY3D *p,
                                            hipCtx_t context)
{
    if (!context)
        out = NULL; /* ADD() refuses NULL */
    ADD(NODE_MEMCPY, set_driver_copy(node, p));
}

HIP_API hipError_t hipDrvGraphAddMemsetNode(NEW_NODE,
                                            const HIP_MEMSET_NODE_PARAMS *p,
                                            hipCtx_t context)
{
    (void)context;
    ADD(NODE_MEMSET, set_driver_fill(node, p));
}

HIP_API hipError_t hipGraphAddBatchMemOpNode(NEW_NODE,
                                             const hipBatchMemOpNodeParams *p)
{
    ADD(NODE_BATCH, graph_node_set_batch(node, p));
}

HIP_API hipError_t hipGraphAddMemAllocNode(NEW_NODE, hipMemAllocNodeParams *p)
{
    ADD(NODE_MEM_ALLOC, graph_node_set_alloc(node, p));
}

HIP_API hipError_t hipGraphAddMemFreeNode(NEW_NODE, void *ptr)
{
    if (deps && !ndeps)
        out = NULL; /* refused, as by AMD's runtime */
    ADD(NODE_MEM_FREE, graph_node_set_free(node, ptr));
}

HIP_API hipError_t hipDrvGraphAddMemFreeNode(NEW_NODE, hipDeviceptr_t ptr)
{
    if (deps && !ndeps)
        out = NULL;
    ADD(NODE_MEM_FREE, graph_node_set_free(node, ptr));
}

HIP_API hipError_t hipGraphAddHostNode(NEW_NODE, const hipHostNodeParams *p)
{
    ADD(NODE_HOST, set_host(node, p));
}

HIP_API hipError_t hipGraphAddEmptyNode(NEW_NODE)
{
    ADD(NODE_EMPTY, hipSuccess);
}

HIP_API hipError_t hipGraphAddChildGraphNode(NEW_NODE, hipGraph_t child)
{
    hipGraph_t copy; /* taken first: the child may be the graph itself */
    hipGraphNode_t node;
    hipError_t error;

    ENTER();
    if (!out || !handle_valid(child, HANDLE_GRAPH))
        LEAVE(hipErrorInvalidValue);
    copy = graph_clone(child);
    if (!copy)
        LEAVE(hipErrorOutOfMemory);
    error = graph_add(graph, NODE_GRAPH, deps, ndeps, &node);
    if (error == hipSuccess) {
        node->u.child = copy;
        *out = node;
    } else {
        graph_free(copy);
    }
    LEAVE(error);
}

HIP_API hipError_t hipGraphAddEventRecordNode(NEW_NODE, hipEvent_t event)
{
    ADD(NODE_EVENT_RECORD, set_event(node, event));
}

HIP_API hipError_t hipGraphAddEventWaitNode(NEW_NODE, hipEvent_t event)
{
    ADD(NODE_WAIT_EVENT, set_event(node, event));
}

static hipError_t set_from_symbol(hipGraphNode_t node, void *dst,
                                  const void *symbol, size_t n, size_t offset,
                                  int kind)
{
    struct line l = {.dst = dst, .n = n, .kind = kind};
    void *at = NULL;
    hipError_t error = at_symbol(symbol, n, offset, &at);

    l.src = at;
    return error == hipSuccess ? set_line(node, &l) : error;
}

static hipError_t set_to_symbol(hipGraphNode_t node, const void *symbol,
                                const void *src, size_t n, size_t offset,
                                int kind)
{
    struct line l = {.src = src, .n = n, .kind = kind};
    hipError_t error = at_symbol(symbol, n, offset, &l.dst);

    return error == hipSuccess ? set_line(node, &l) : error;
}

HIP_API hipError_t hipGraphAddMemcpyNodeFromSymbol(NEW_NODE, void *dst,
                                                   const void *symbol, size_t n,
                                                   size_t offset, int kind)
{
    ADD(NODE_MEMCPY, set_from_symbol(node, dst, symbol, n, offset, kind));
}

HIP_API hipError_t hipGraphAddMemcpyNodeToSymbol(NEW_NODE, const void *symbol,
                                                 const void *src, size_t n,
                                                 size_t offset, int kind)
{
    ADD(NODE_MEMCPY, set_to_symbol(node, symbol, src, n, offset, kind));
}

/* The node itself, or its copy in an instantiated graph; NULL if it does not
 * exist or has another type. */
static hipGraphNode_t target(hipGraphExec_t exec, bool in_exec,
                             hipGraphNode_t node, enum node_type type)
{
    if (!handle_valid(node, HANDLE_NODE) || node->type != type)
        return NULL;
    if (!in_exec)
        return node;
    return handle_valid(exec, HANDLE_GRAPH_EXEC) && node->graph == exec->source
               ? graph_node_by_id(exec->graph, node->id)
               : NULL;
}

/* ---- nodes whose kind is a parameter --------------------------------------
 */

typedef struct {
    int type;
    int reserved[3];
    union {
        long long size[29];
        hipKernelNodeParams kernel;
        struct {
            int flags, reserved[3];
            hipMemcpy3DParms params;
        } copy;
        hipMemsetParams fill;
        hipHostNodeParams host;
        hipGraph_t child;
        hipEvent_t event;
        hipMemAllocNodeParams alloc;
        void *free;
    } u;
    long long reserved2;
} hipGraphNodeParams;

static hipError_t set_any(hipGraphNode_t node, hipGraphNodeParams *p)
{
    if (!p || p->type != (int)node->type)
        return hipErrorInvalidValue;
    switch (node->type) {
    case NODE_KERNEL:
        return set_kernel(node, &p->u.kernel);
    case NODE_MEMCPY:
        return set_copy(node, &p->u.copy.params);
    case NODE_MEMSET:
        return set_fill(node, &p->u.fill);
    case NODE_HOST:
        return set_host(node, &p->u.host);
    case NODE_GRAPH:
        return set_child(node, p->u.child);
    case NODE_WAIT_EVENT:
    case NODE_EVENT_RECORD:
        return set_event(node, p->u.event);
    case NODE_MEM_ALLOC: /* cannot be set again */
        return node->u.memory.memory ? hipErrorInvalidValue
                                     : graph_node_set_alloc(node, &p->u.alloc);
    case NODE_MEM_FREE:
        return node->u.memory.memory ? hipErrorInvalidValue
                                     : graph_node_set_free(node, p->u.free);
    case NODE_BATCH: /* which these parameters have no room for */
        return hipErrorInvalidValue;
    case NODE_EMPTY:
        break;
    }
    return hipSuccess;
}

HIP_API hipError_t hipGraphAddNode(NEW_NODE, hipGraphNodeParams *p)
{
    enum { LAST_NODE_TYPE = 14 }; /* batched operations on memory */
    hipGraphNode_t node;
    hipError_t error;

    ENTER();
    if (!out || !p)
        LEAVE(hipErrorInvalidValue);
    if (p->type < 0 || p->type > LAST_NODE_TYPE)
        LEAVE(hipErrorInvalidValue);
    if (p->type > NODE_EVENT_RECORD && p->type != NODE_MEM_ALLOC &&
        p->type != NODE_MEM_FREE)
        LEAVE(hipErrorNotSupported);
    error = graph_add(graph, (enum node_type)p->type, deps, ndeps, &node);
    LEAVE(error == hipSuccess ? keep(set_any(node, p), node, out) : error);
}

HIP_API hipError_t hipGraphNodeSetParams(hipGraphNode_t node,
                                         hipGraphNodeParams *p)
{
    ENTER();
    LEAVE(handle_valid(node, HANDLE_NODE) ? set_any(node, p)
                                          : hipErrorInvalidValue);
}

HIP_API hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec,
                                             hipGraphNode_t node,
                                             hipGraphNodeParams *p)
{
    hipGraphNode_t to;

    ENTER();
    to = handle_valid(node, HANDLE_NODE) ? target(exec, true, node, node->type)
                                         : NULL;
    LEAVE(to ? set_any(to, p) : hipErrorInvalidValue);
}

/* ---- changing ----------------------------------------------------------- */

/* X(name in graphs, name in instantiated ones, type, parameters, setter) */
/* clang-format off */
#define SETTERS(X)                                                                                      \
    X(hipGraphKernelNodeSetParams,           hipGraphExecKernelNodeSetParams,           NODE_KERNEL,       (const hipKernelNodeParams *p),  set_kernel(to, p))  \
    X(hipGraphMemcpyNodeSetParams,           hipGraphExecMemcpyNodeSetParams,           NODE_MEMCPY,       (const hipMemcpy3DParms *p),     set_copy(to, p))    \
    X(hipGraphMemcpyNodeSetParams1D,         hipGraphExecMemcpyNodeSetParams1D,         NODE_MEMCPY,       (void *dst, const void *src, size_t n, int kind), set_line(to, &((struct line){dst, src, n, kind}))) \
    X(hipGraphMemcpyNodeSetParamsFromSymbol, hipGraphExecMemcpyNodeSetParamsFromSymbol, NODE_MEMCPY,       (void *dst, const void *symbol, size_t n, size_t offset, int kind), set_from_symbol(to, dst, symbol, n, offset, kind)) \
    X(hipGraphMemcpyNodeSetParamsToSymbol,   hipGraphExecMemcpyNodeSetParamsToSymbol,   NODE_MEMCPY,       (const void *symbol, const void *src, size_t n, size_t offset, int kind), set_to_symbol(to, symbol, src, n, offset, kind)) \
    X(hipGraphMemsetNodeSetParams,           hipGraphExecMemsetNodeSetParams,           NODE_MEMSET,       (const hipMemsetParams *p),      set_fill(to, p))    \
    X(hipGraphHostNodeSetParams,             hipGraphExecHostNodeSetParams,             NODE_HOST,         (const hipHostNodeParams *p),    set_host(to, p))    \
    X(hipGraphEventRecordNodeSetEvent,       hipGraphExecEventRecordNodeSetEvent,       NODE_EVENT_RECORD, (hipEvent_t event),              set_event(to, event)) \
    X(hipGraphEventWaitNodeSetEvent,         hipGraphExecEventWaitNodeSetEvent,         NODE_WAIT_EVENT,   (hipEvent_t event),              set_event(to, event)) \
    X(hipGraphBatchMemOpNodeSetParams,       hipGraphExecBatchMemOpNodeSetParams,       NODE_BATCH,        (const hipBatchMemOpNodeParams *p), graph_node_set_batch(to, p))
/* clang-format on */

/*
 * Whether an instantiated node keeps its copy's direction; a fill keeps its
 * device and is of one row. keep_change() takes other changes back.
 */
static bool keeps_its_kind(const struct hipGraphNode *before,
                           const struct hipGraphNode *after)
{
    const struct fill *f = &before->u.fill, *g = &after->u.fill;
    struct sim_alloc a, b;

    if (after->type == NODE_MEMCPY)
        return before->u.copy.kind == after->u.copy.kind;
    if (after->type == NODE_MEMSET)
        return f->height == 1 && g->height == 1 &&
               allocation_find((const void *)(uintptr_t)f->dst, &a) &&
               allocation_find((const void *)(uintptr_t)g->dst, &b) &&
               a.device == b.device;
    return true;
}

static hipError_t keep_change(const struct hipGraphNode *before,
                              hipGraphNode_t node, hipError_t outcome)
{
    if (outcome == hipErrorInvalidMemcpyDirection) /* another than before */
        return hipErrorInvalidValue;
    if (outcome != hipSuccess || keeps_its_kind(before, node))
        return outcome;
    node->u = before->u; /* copies and fills own nothing */
    return hipErrorInvalidValue;
}

#define ARGUMENTS(...) __VA_ARGS__
#define SETTER(name, exec_name, type, parameters, set)                         \
    HIP_API hipError_t name(hipGraphNode_t node, ARGUMENTS parameters)         \
    {                                                                          \
        hipGraphNode_t to;                                                     \
                                                                               \
        ENTER();                                                               \
        to = target(NULL, false, node, type);                                  \
        LEAVE(to ? set : hipErrorInvalidValue);                                \
    }                                                                          \
    HIP_API hipError_t exec_name(hipGraphExec_t exec, hipGraphNode_t node,     \
                                 ARGUMENTS parameters)                         \
    {                                                                          \
        struct hipGraphNode before;                                            \
        hipGraphNode_t to;                                                     \
                                                                               \
        ENTER();                                                               \
        to = target(exec, true, node, type);                                   \
        if (!to)                                                               \
            LEAVE(hipErrorInvalidValue);                                       \
        before = *to;                                                          \
        LEAVE(keep_change(&before, to, set));                                  \
    }
SETTERS(SETTER)

HIP_API hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                                  const HIP_MEMCPY3D *p)
{
    hipGraphNode_t to;

    ENTER();
    to = target(NULL, false, node, NODE_MEMCPY);
    LEAVE(to ? set_driver_copy(to, p) : hipErrorInvalidValue);
}

HIP_API hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t exec,
                                                      hipGraphNode_t node,
                                                      const HIP_MEMCPY3D *p,
                                                      hipCtx_t context)
{
    struct hipGraphNode before;
    hipGraphNode_t to;

    ENTER();
    (void)context;
    to = target(exec, true, node, NODE_MEMCPY);
    if (!to)
        LEAVE(hipErrorInvalidValue);
    before = *to;
    LEAVE(keep_change(&before, to, set_driver_copy(to, p)));
}

HIP_API hipError_t hipDrvGraphExecMemsetNodeSetParams(
    hipGraphExec_t exec, hipGraphNode_t node, const HIP_MEMSET_NODE_PARAMS *p,
    hipCtx_t context)
{
    struct hipGraphNode before;
    hipGraphNode_t to;

    ENTER();
    (void)context;
    to = target(exec, true, node, NODE_MEMSET);
    if (!to)
        LEAVE(hipErrorInvalidValue);
    before = *to;
    LEAVE(keep_change(&before, to, set_driver_fill(to, p)));
}

/* Whether the new child graph has the same nodes and edges as the old one. */
static bool same_shape(hipGraph_t a, hipGraph_t b)
{
    size_t i;

    if (a->nnodes != b->nnodes)
        return false;
    for (i = 0; i < a->nnodes; i++)
        if (a->nodes[i]->type != b->nodes[i]->type ||
            a->nodes[i]->ndeps != b->nodes[i]->ndeps)
            return false;
    return true;
}

HIP_API hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec,
                                                       hipGraphNode_t node,
                                                       hipGraph_t child)
{
    hipGraphNode_t to;

    ENTER();
    to = target(exec, true, node, NODE_GRAPH);
    if (!to || !handle_valid(child, HANDLE_GRAPH))
        LEAVE(hipErrorInvalidValue);
    if (child == node->graph || !same_shape(to->u.child, child))
        LEAVE(hipErrorUnknown);
    LEAVE(set_child(to, child));
}

/* ---- asking ------------------------------------------------------------- */

static void tell_kernel(const struct hipGraphNode *node, hipKernelNodeParams *p)
{
    const struct kernel_node *k = &node->u.kernel;
    const struct launch *l = &k->launch;

    *p = (hipKernelNodeParams){
        .blockDim = {l->block[0], l->block[1], l->block[2]},
        .extra = l->extra,
        .func = (void *)(uintptr_t)k->func,
        .gridDim = {l->grid[0] / l->block[0], l->grid[1] / l->block[1],
                    l->grid[2] / l->block[2]},
        .kernelParams = l->params,
        .sharedMemBytes = (unsigned)l->shared};
}

static void tell_fill(const struct hipGraphNode *node, hipMemsetParams *p)
{
    const struct fill *f = &node->u.fill;

    *p = (hipMemsetParams){.dst = (void *)(uintptr_t)f->dst,
                           .elementSize = f->element,
                           .height = f->height,
                           .pitch = f->pitch,
                           .value = f->value,
                           .width = f->width / f->element};
}

/* X(name, node type, type of the answer, code) */
/* clang-format off */
#define GETTERS(X)                                                                            \
    X(hipGraphKernelNodeGetParams,     NODE_KERNEL,       hipKernelNodeParams, tell_kernel(node, out)) \
    X(hipGraphMemcpyNodeGetParams,     NODE_MEMCPY,       hipMemcpy3DParms,    *out = node->u.copy)    \
    X(hipGraphMemsetNodeGetParams,     NODE_MEMSET,       hipMemsetParams,     tell_fill(node, out))   \
    X(hipDrvGraphMemcpyNodeGetParams,  NODE_MEMCPY,       HIP_MEMCPY3D,        copy_box_to_driver(&node->u.copy, out)) \
    X(hipGraphMemAllocNodeGetParams,   NODE_MEM_ALLOC,    hipMemAllocNodeParams, *out = node->u.memory.params) \
    X(hipGraphMemFreeNodeGetParams,    NODE_MEM_FREE,     void *,              *out = node->u.memory.params.dptr) \
    X(hipGraphHostNodeGetParams,       NODE_HOST,         hipHostNodeParams,   *out = node->u.host)    \
    X(hipGraphEventRecordNodeGetEvent, NODE_EVENT_RECORD, hipEvent_t,          *out = node->u.event)   \
    X(hipGraphEventWaitNodeGetEvent,   NODE_WAIT_EVENT,   hipEvent_t,          *out = node->u.event)   \
    X(hipGraphChildGraphNodeGetGraph,  NODE_GRAPH,        hipGraph_t,          *out = node->u.child) \
    X(hipGraphBatchMemOpNodeGetParams, NODE_BATCH,        hipBatchMemOpNodeParams, *out = node->u.batch)
/* clang-format on */

#define GETTER(name, type, what, tell)                                         \
    HIP_API hipError_t name(hipGraphNode_t node, what *out)                    \
    {                                                                          \
        ENTER();                                                               \
        if (!out || !target(NULL, false, node, type))                          \
            LEAVE(hipErrorInvalidValue);                                       \
        tell;                                                                  \
        LEAVE(hipSuccess);                                                     \
    }
GETTERS(GETTER)

static bool can_be_disabled(const struct hipGraphNode *node)
{
    return node->type == NODE_KERNEL || node->type == NODE_MEMCPY ||
           node->type == NODE_MEMSET;
}

HIP_API hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec,
                                          hipGraphNode_t node, unsigned enabled)
{
    hipGraphNode_t to;

    ENTER();
    to = handle_valid(node, HANDLE_NODE) ? target(exec, true, node, node->type)
                                         : NULL;
    if (!to || !can_be_disabled(to))
        LEAVE(hipErrorInvalidValue);
    to->enabled = enabled != 0;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec,
                                          hipGraphNode_t node,
                                          unsigned *enabled)
{
    hipGraphNode_t to;

    ENTER();
    to = handle_valid(node, HANDLE_NODE) ? target(exec, true, node, node->type)
                                         : NULL;
    if (!to || !enabled || !can_be_disabled(to))
        LEAVE(hipErrorInvalidValue);
    *enabled = to->enabled;
    LEAVE(hipSuccess);
}
