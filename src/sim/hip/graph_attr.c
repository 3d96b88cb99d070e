/* graph_attr.c - attributes of kernel nodes, and what users tie to graphs
 *
 * A node holds the one attribute that was set last. None has an effect here:
 * cooperative kernels always fit or are refused at their launch, priorities and
 * windows are the hardware's.
 *
 * A user object is destroyed with its last reference; graphs, their clones and
 * instantiated ones hold references of their own.
 */
#include "graph.h"

#include <limits.h>
#include <stdlib.h>
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

struct hipUserObject {
    void *pointer;
    hipHostFn_t destroy;
    unsigned refs;
};
typedef struct hipUserObject *hipUserObject_t;

/* Drops n references, or the rest if fewer are left. */
static void release(hipUserObject_t object, unsigned n)
{
    if (object->refs < n)
        return;
    object->refs -= n;
    if (object->refs)
        return;
    handle_remove(object, HANDLE_USER_OBJECT);
    object->destroy(object->pointer);
    free(object);
}

static bool is_count(unsigned n)
{
    return n != 0 && n <= INT_MAX;
}

HIP_API hipError_t hipUserObjectCreate(hipUserObject_t *out, void *pointer,
                                       hipHostFn_t destroy, unsigned refs,
                                       unsigned flags)
{
    enum { NO_DESTRUCTOR_SYNC = 1 };
    hipUserObject_t object;

    ENTER();
    if (!out || !destroy || !is_count(refs) || flags != NO_DESTRUCTOR_SYNC)
        LEAVE(hipErrorInvalidValue);
    object = calloc(1, sizeof(*object));
    if (!object || !handle_add(object, HANDLE_USER_OBJECT)) {
        free(object);
        LEAVE(hipErrorOutOfMemory);
    }
    *object = (struct hipUserObject){pointer, destroy, refs};
    *out = object;
    LEAVE(hipSuccess);
}

/* An object that is gone is no error, as in AMD's runtime. */
HIP_API hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned n)
{
    ENTER();
    if (!object || !is_count(n))
        LEAVE(hipErrorInvalidValue);
    if (handle_valid(object, HANDLE_USER_OBJECT))
        release(object, n);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned n)
{
    ENTER();
    if (!object || !is_count(n))
        LEAVE(hipErrorInvalidValue);
    if (handle_valid(object, HANDLE_USER_OBJECT))
        object->refs += n;
    LEAVE(hipSuccess);
}

/* A graph's references to one object. */
struct held {
    struct held *next;
    hipUserObject_t object;
    unsigned refs;
};

static struct held *held_by(hipGraph_t graph,
                            const struct hipUserObject *object)
{
    struct held *h;

    for (h = graph->held; h && h->object != object; h = h->next)
        ;
    return h;
}

static bool hold(hipGraph_t graph, hipUserObject_t object, unsigned n)
{
    struct held *h = held_by(graph, object);

    if (!h) {
        h = calloc(1, sizeof(*h));
        if (!h)
            return false;
        h->object = object;
        h->next = graph->held;
        graph->held = h;
    }
    h->refs += n;
    return true;
}

bool graph_hold_as(hipGraph_t graph, const struct ihipGraph *from)
{
    const struct held *h;

    for (h = from->held; h; h = h->next) {
        if (!handle_valid(h->object, HANDLE_USER_OBJECT))
            continue;
        if (!hold(graph, h->object, h->refs))
            return false;
        h->object->refs += h->refs;
    }
    return true;
}

void graph_let_go(hipGraph_t graph)
{
    while (graph->held) {
        struct held *h = graph->held;

        graph->held = h->next;
        if (handle_valid(h->object, HANDLE_USER_OBJECT))
            release(h->object, h->refs);
        free(h);
    }
}

HIP_API hipError_t hipGraphRetainUserObject(hipGraph_t graph,
                                            hipUserObject_t object, unsigned n,
                                            unsigned flags)
{
    enum { MOVE = 1 }; /* the caller's references become the graph's */

    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !object || !is_count(n) ||
        flags > MOVE)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(object, HANDLE_USER_OBJECT))
        LEAVE(hipSuccess);
    if (!hold(graph, object, n))
        LEAVE(hipErrorOutOfMemory);
    if (flags != MOVE)
        object->refs += n;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphReleaseUserObject(hipGraph_t graph,
                                             hipUserObject_t object, unsigned n)
{
    struct held *h;

    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !object || !is_count(n))
        LEAVE(hipErrorInvalidValue);
    h = held_by(graph, object);
    if (!h || h->refs < n || !handle_valid(object, HANDLE_USER_OBJECT))
        LEAVE(hipSuccess);
    h->refs -= n;
    release(object, n);
    LEAVE(hipSuccess);
}
