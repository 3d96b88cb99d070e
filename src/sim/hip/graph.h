/* graph.h - graphs, their nodes, and what captures streams into them
 *
 * A node keeps what the call that it stands for was given, with arguments of
 * kernels by value; launching a graph makes those calls again, node after node
 * in an order that the edges allow, on the stream that it is launched into.
 *
 * Threads: as in HIP, a graph belongs to one thread at a time. Captures share
 * state under a lock in capture.c.
 */
#ifndef SIM_HIP_GRAPH_H
#define SIM_HIP_GRAPH_H

#include "runtime.h"

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
    void **params;  /* into bytes; NULL where there is a packed buffer */
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
    bool captured; /* by the capture that goes on */
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

struct ihipGraph {
    hipGraphNode_t *nodes; /* in order of creation */
    size_t nnodes;
    bool is_clone;
    struct held *held; /* users' objects, graph_attr.c */
};

/* A copy of a graph, taken at instantiation, with its nodes' running order. */
struct hipGraphExec {
    hipGraph_t graph;
    const struct ihipGraph *source; /* setters take this graph's nodes */
    hipGraphNode_t *order;
    uint64_t flags;
};

/* ---- graph.c ---- */

hipGraph_t graph_new(void);
void graph_free(hipGraph_t graph);
hipGraph_t graph_clone(hipGraph_t graph);
/* A node with these dependencies, which have to be the graph's and differ. */
hipError_t graph_add(hipGraph_t graph, enum node_type type,
                     const hipGraphNode_t *deps, size_t ndeps,
                     hipGraphNode_t *out);
void graph_remove(hipGraphNode_t node);
bool node_add_dep(hipGraphNode_t node, hipGraphNode_t dep);
hipGraphNode_t graph_node_by_id(hipGraph_t graph, uint64_t id);
/* Every node behind those that it depends on; NULL on a cycle. Free it. */
hipGraphNode_t *graph_order(hipGraph_t graph);
/* Copies `count` nodes out by HIP's rule for lists. */
hipError_t give_nodes(hipGraphNode_t *out, size_t *n,
                      const hipGraphNode_t *nodes, size_t count);

/* ---- graph_node.c ---- */

hipError_t alloc_node_set(hipGraphNode_t node, hipMemAllocNodeParams *p);
hipError_t free_node_set(hipGraphNode_t node, void *ptr);
hipError_t kernel_node_set(struct kernel_node *k, const struct launch *launch,
                           const void *func);
/* Copies the work (union u) of another node of the same type. */
hipError_t node_copy_work(hipGraphNode_t to, const struct hipGraphNode *from);
void node_free_work(hipGraphNode_t node);

/* ---- graph_attr.c ---- */

/* Holds what another graph holds; lets go of all. */
bool graph_hold_as(hipGraph_t graph, const struct ihipGraph *from);
void graph_let_go(hipGraph_t graph);

/* ---- graph_memory.c ---- */

struct graph_memory;
struct graph_memory *graph_memory_new(struct device *device, uint64_t size);
void *graph_memory_address(const struct graph_memory *m);
struct graph_memory *graph_memory_ref(struct graph_memory *m);
void graph_memory_unref(struct graph_memory *m);
/* With a reference, the memory that begins there, if no node frees it yet. */
struct graph_memory *graph_memory_to_free(const void *ptr);
/* A graph with it becomes instantiated, which it may be once, or no more. */
bool graph_memory_claim(struct graph_memory *m, bool claim);
/* Allocates or frees on the queue. */
hipError_t graph_memory_run(struct graph_memory *m, bool allocates,
                            struct queue *q);
bool graph_memory_is_allocated(const struct graph_memory *m);

/* ---- graph_exec.c ---- */

hipError_t graph_run(hipGraphNode_t *order, size_t n, struct queue *q);

#endif
