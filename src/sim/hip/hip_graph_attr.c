/* hip_graph_attr.c - attributes of kernel nodes, user objects of graphs
 *
 * A node holds the one attribute that was set last. None has an effect here:
 * cooperative kernels always fit or are refused at their launch, priorities and
 * windows are the hardware's.
 */
#include "call.h"
#include "graph.h"
#include "handle.h"
#include "hip_user_object.h"

#include <string.h>

/* ---- attributes --------------------------------------------------------- */

enum {
    ATTRIBUTE_WINDOW = 1,
    ATTRIBUTE_COOPERATIVE = 2,
    ATTRIBUTE_PRIORITY = 8
};
enum { PERSISTING = 2 };

struct window {
    void *base;
    int hit;
    float hit_ratio;
    int miss;
    size_t nbytes;
};

static hipGraphNode_t kernel_node(hipGraphNode_t node)
{
    return handle_valid(node, HANDLE_NODE) && node->type == NODE_KERNEL ? node
                                                                        : NULL;
}

static size_t attribute_nbytes(int attribute)
{
    switch (attribute) {
    case ATTRIBUTE_WINDOW:
        return sizeof(struct window);
    case ATTRIBUTE_COOPERATIVE:
    case ATTRIBUTE_PRIORITY:
        return sizeof(int);
    default:
        return 0;
    }
}

static bool window_is_good(const void *value)
{
    struct window w;

    memcpy(&w, value, sizeof(w));
    return w.hit_ratio >= 0 && w.hit_ratio <= 1 && w.miss != PERSISTING &&
           w.nbytes == 0; /* devices have windows of no bytes */
}

HIP_API hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node,
                                                  int attribute,
                                                  const void *value)
{
    size_t n;

    ENTER();
    node = kernel_node(node);
    n = attribute_nbytes(attribute);
    if (!node || !value || n == 0 ||
        (attribute == ATTRIBUTE_WINDOW && !window_is_good(value)))
        LEAVE(hipErrorInvalidValue);
    memset(node->u.kernel.value, 0, sizeof(node->u.kernel.value));
    memcpy(node->u.kernel.value, value, n);
    node->u.kernel.attribute = attribute;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node,
                                                  int attribute, void *value)
{
    size_t n;

    ENTER();
    node = kernel_node(node);
    n = attribute_nbytes(attribute);
    if (!node || !value || n == 0 ||
        (node->u.kernel.attribute && node->u.kernel.attribute != attribute))
        LEAVE(hipErrorInvalidValue);
    memcpy(value, node->u.kernel.value, n);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from,
                                                    hipGraphNode_t to)
{
    ENTER();
    from = kernel_node(from);
    to = kernel_node(to);
    if (!from || !to)
        LEAVE(hipErrorInvalidValue);
    if (to->u.kernel.attribute &&
        to->u.kernel.attribute != from->u.kernel.attribute)
        LEAVE(hipErrorInvalidContext);
    to->u.kernel.attribute = from->u.kernel.attribute;
    memcpy(to->u.kernel.value, from->u.kernel.value,
           sizeof(to->u.kernel.value));
    LEAVE(hipSuccess);
}

/* ---- user objects ------------------------------------------------------- */

HIP_API hipError_t hipGraphRetainUserObject(hipGraph_t graph,
                                            hipUserObject_t object, unsigned n,
                                            unsigned flags)
{
    enum { MOVE = 1 }; /* the caller's references become the graph's */

    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !object ||
        !user_object_is_count(n) || flags > MOVE)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(object, HANDLE_USER_OBJECT))
        LEAVE(hipSuccess);
    if (!user_object_hold(&graph->held, object, n, flags == MOVE))
        LEAVE(hipErrorOutOfMemory);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphReleaseUserObject(hipGraph_t graph,
                                             hipUserObject_t object, unsigned n)
{
    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !object ||
        !user_object_is_count(n))
        LEAVE(hipErrorInvalidValue);
    user_object_give_back(graph->held, object, n);
    LEAVE(hipSuccess);
}
