/* launch.h - how operations look at tensors and make launches */
#ifndef KPK_GGML_LAUNCH_H
#define KPK_GGML_LAUNCH_H

#include "gpu.h"

#include <kpack/candle.h>
#include <kpack/candle/ggml_tensor.h>

/* Nodes on the way to attention that become one launch, see heads.c. */
enum { MOST_GROUP_NODES = 12 };
enum { TABLES = 2 }; /* of angles: layers turn alike, or in two ways */
struct angles {
    const void *positions, *factors;
    uint32_t tokens, unused;
    kpk_ggml_rope how;
    const struct ggml_tensor *rope; /* not a part of what is compared */
};
struct group {
    int n, nodes[MOST_GROUP_NODES];    /* in order; 0: none is under way */
    const struct ggml_tensor *rope;    /* of Q */
    const struct ggml_tensor *queries; /* what attention reads of it */
    kpk_ggml_heads args;
    const void *norms[2]; /* weights by which Q and K are normed, or NULL */
    float eps;
};

/*
 * One node is asked, measured or launched by the same code, so that the answers
 * cannot differ: only a launch has a stream.
 */
struct run {
    kpk_instance *inst;
    bool fusing; /* a graph's nodes, and what they make of an operand */
    bool launching;
    bool large;    /* the last product was large: nothing begins early */
    bool waits;    /* this node's launches do not begin early */
    bool no_early; /* none does */
    void *stream;
    void *side;                          /* another stream; NULL: none */
    void *forked, *joined;               /* and events for it */
    bool fork;                           /* the next product records `forked` */
    char *shared;                        /* of `launching`: memory for nodes */
    size_t shared_nbytes;                /* the most that one wanted */
    const struct ggml_tensor *shared_of; /* what is in it is made of this one */
    int32_t shared_uses;  /* nodes that read it, and can read nothing else */
    char *sorted;         /* of `launching`: rows sorted by their experts */
    size_t sorted_nbytes; /* the most that one wanted */
    const struct ggml_tensor *sorted_of; /* the ids that chose them */
    size_t sorted_for;                   /* bytes that these took */
    char *heads;                  /* of `launching`: memory for heads.c */
    size_t heads_nbytes;          /* the most that a group of nodes wanted */
    char *tables;                 /* of `launching`: for tables of angles */
    size_t table_room;            /* of each */
    size_t table_nbytes;          /* the most that one wanted */
    struct angles angles[TABLES]; /* what is in them */
    uint32_t ntables;             /* made so far */
    struct group group;           /* the nodes of heads.c that are under way */
    const struct ggml_tensor *half_of; /* this one's numbers are f16, */
    void *half;                        /* and here, in `heads` */
    char *scratch;         /* of `launching`: memory for the node alone */
    size_t scratch_nbytes; /* the most that a node wanted */
    size_t scratch_used;   /* by this node */
};

/* Launches that one node may take. */
enum { MOST_LAUNCHES = 256 };

/* ---- launches: made if run->launching, else asked for ---- */

/*
 * Whether no node writes a tensor: kernels that begin while the launch before
 * runs (KPK_LAUNCH_EARLY) may read it before that ends. A node that gives them
 * another one sets run->waits.
 */
bool is_constant(const struct ggml_tensor *t);

/* At the recommended shape for n and columns (kpk_kernel_shape()). false also
 * if the pack has no such kernel. */
bool launch(const struct run *run, const char *name, uint64_t n,
            uint64_t columns, const kpk_arg *args, size_t nargs);
/* The same with `planes` in the grid's third dimension. */
bool launch_planes(const struct run *run, const char *name, uint64_t n,
                   uint64_t columns, uint32_t planes, const kpk_arg *args,
                   size_t nargs);
bool launch_copy(const struct run *run, void *to, const void *from,
                 size_t nbytes);
/* As many bytes as a part of memory takes: parts begin at multiples of 256. */
size_t whole(size_t nbytes);
/* Memory for this node, other for each call. NULL without launching. */
void *scratch(struct run *run, size_t nbytes);
/*
 * Memory for a tensor's numbers as Q8_1, which several products read.
 *
 * shared_make() is for a node that makes them: the next `uses` calls of
 * shared() with this tensor need them, since the numbers are nowhere else;
 * false if others are still needed. shared() is for a node that reads them:
 * *made tells that they are there; else the node makes them.
 */
bool shared_make(struct run *run, const struct ggml_tensor *of, size_t nbytes,
                 int32_t uses);
void *shared(struct run *run, const struct ggml_tensor *of, size_t nbytes,
             bool *made);
/* Memory for the rows that ids choose, sorted; *made tells that they are there.
 */
void *sorted_rows(struct run *run, const struct ggml_tensor *ids, size_t nbytes,
                  bool *made);
/* Comes before a node that may write to memory which shared numbers, sorted
 * rows, or a table of angles, were made of. */
void forget_made_of(struct run *run, const struct ggml_tensor *writes);

/* ---- names of kernels ---- */

struct kernel_name {
    char text[64];
};

/* Whether blocks of a type are module low_bit's. */
bool is_low_bit(enum ggml_type type);
/* The pack's name of a type; NULL if it has none. */
const char *type_name(enum ggml_type type);
/* NAME_TYPE, "" if the pack has no such type */
struct kernel_name named(const char *before, enum ggml_type type);
/* ggml_OP of a node, its operation, function or gate in small letters */
struct kernel_name named_as(const struct ggml_tensor *t);

/* ---- tensors ---- */

/* Whether a node is no work: a view, or empty. */
bool is_nothing(const struct ggml_tensor *node);

bool is_f32(const struct ggml_tensor *t);
bool same_type(const struct ggml_tensor *a, const struct ggml_tensor *b);
/* A row's elements, or blocks, lie one behind the other. */
bool has_rows(const struct ggml_tensor *t);
/* So do a matrix's rows; matrices may lie anywhere. */
bool is_matrix(const struct ggml_tensor *t);
const char *at(const struct ggml_tensor *t, int64_t i2, int64_t i3);
float param_f32(const struct ggml_tensor *t, size_t i);

/* Whether the memory of two tensors has a byte in common. */
bool overlap(const struct ggml_tensor *a, const struct ggml_tensor *b);

/* The kernels count a result's elements in 31 bits. */
bool fits(const struct ggml_tensor *t);
/* As the kernels of module ggml take a tensor. */
kpk_ggml_tensor view_of(const struct ggml_tensor *t);
uint64_t count(const kpk_ggml_tensor *v);
uint64_t count_rows(const kpk_ggml_tensor *v);
/*
 * Joins dimensions that lie one behind the other in all views. The others are
 * of the first one's shape, or repeated to fill it.
 */
void join_dims(size_t n, kpk_ggml_tensor *const *views);

/* A node's whole tensor as contiguous numbers of another type, in scratch
 * memory; false if no kernel makes that. */
bool converted(struct run *run, const struct ggml_tensor *x,
               enum ggml_type type, struct ggml_tensor *out);

#endif
