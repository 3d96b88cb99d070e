/* graph.h - graphs and their nodes
 *
 * A node keeps what the call that it stands for was given, with arguments of
 * kernels by value; launching a graph makes those calls again, node after node
 * in an order that the edges allow, on the stream that it is launched into.
 *
 * Threads: as in HIP, a graph belongs to one thread at a time. Captures share
 * state under a lock in capture_state.c.
 */
#ifndef SIM_HIP_GRAPH_H
#define SIM_HIP_GRAPH_H

#include "fill_op.h"
#include "kernel_op.h"

typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipGraphExec *hipGraphExec_t;

typedef struct {
    dim3 blockDim;
    void **extra;
    void *func;
    dim3 gridDim;
    void **kernelParams;
    unsigned sharedMemBytes;
} hipKernelNodeParams;

typedef struct {
    hipHostFn_t fn;
    void *userData;
} hipHostNodeParams;

/* hipGraphNodeType */
enum node_type {
    NODE_KERNEL,
    NODE_MEMCPY,
    NODE_MEMSET,
    NODE_HOST,
    NODE_GRAPH,
    NODE_EMPTY,
    NODE_WAIT_EVENT,
    NODE_EVENT_RECORD,
    NODE_MEM_ALLOC = 10,
    NODE_MEM_FREE,
    NODE_BATCH = 14
};

/* A launch with arguments of its own. */
struct kernel_node {
    const void *func; /* the program's pointer */
    struct launch launch;
    uint8_t *bytes; /* the arguments' values, or the packed buffer */
    void **params;  /* pointers into `bytes`; NULL with a packed buffer */
    size_t nbytes;
    void *extra[5];
    int attribute; /* last one set, 0: none */
    unsigned char value[64];
};

/* An allocating node's parameters and memory. A freeing node uses the memory
 * and its address alone. */
typedef struct {
    hipMemPoolProps poolProps;
    const hipMemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    void *dptr;
} hipMemAllocNodeParams;

struct graph_memory;

struct memory_node {
    struct graph_memory *memory; /* NULL: a pool's is freed */
    hipMemAllocNodeParams params;
};

/* A node with waits for values in memory and writes of them. */
typedef struct {
    hipCtx_t ctx;
    unsigned count;
    hipStreamBatchMemOpParams *paramArray; /* the node's own */
    unsigned flags;
} hipBatchMemOpNodeParams;

struct hipGraphNode {
    hipGraph_t graph;
    enum node_type type;
    uint64_t id; /* the same in clones */
    bool enabled;
    bool captured; /* by the current capture */
    hipGraphNode_t *deps;
    size_t ndeps;
    union {
        struct kernel_node kernel;
        hipMemcpy3DParms copy;
        struct fill fill;
        hipHostNodeParams host;
        hipEvent_t event;
        hipGraph_t child;
        struct memory_node memory;
        hipBatchMemOpNodeParams batch;
    } u;
};

struct user_held;

struct ihipGraph {
    hipGraphNode_t *nodes; /* in order of creation */
    size_t nnodes;
    bool is_clone;
    struct user_held *held; /* users' objects */
};

/* A copy of a graph, taken at instantiation, with its nodes' running order. */
struct hipGraphExec {
    hipGraph_t graph;
    const struct ihipGraph *source; /* setters take this graph's nodes */
    hipGraphNode_t *order;
    uint64_t flags;
};

hipGraph_t graph_new(void);
void graph_free(hipGraph_t graph);
hipGraph_t graph_clone(hipGraph_t graph);
/* A node with these dependencies, which have to be the graph's and differ. */
hipError_t graph_add(hipGraph_t graph, enum node_type type,
                     const hipGraphNode_t *deps, size_t ndeps,
                     hipGraphNode_t *out);
void graph_remove(hipGraphNode_t node);
hipGraphNode_t graph_node_by_id(hipGraph_t graph, uint64_t id);
/* All nodes, each after its dependencies; NULL on a cycle. The caller frees the
 * list. */
hipGraphNode_t *graph_order(hipGraph_t graph);

bool graph_node_add_dep(hipGraphNode_t node, hipGraphNode_t dep);
void graph_node_drop_dep(hipGraphNode_t node, const struct hipGraphNode *dep);
bool graph_node_depends_on(const struct hipGraphNode *node,
                           const struct hipGraphNode *dep);

/* A node's work. */
hipError_t graph_node_set_alloc(hipGraphNode_t node, hipMemAllocNodeParams *p);
hipError_t graph_node_set_free(hipGraphNode_t node, void *ptr);
hipError_t graph_node_set_kernel(struct kernel_node *k,
                                 const struct launch *launch, const void *func);
hipError_t graph_node_set_batch(hipGraphNode_t node,
                                const hipBatchMemOpNodeParams *p);
/* Copies the work (union u) of another node of the same type. */
hipError_t graph_node_copy_work(hipGraphNode_t to,
                                const struct hipGraphNode *from);

#endif
