/* launch.h - state and helpers for operations: tensors, scratch, launches */
#ifndef KPK_GGML_LAUNCH_H
#define KPK_GGML_LAUNCH_H

#include "gpu.h"

#include <kpack/candle.h>
#include <kpack/candle/ggml_tensor.h>

/* Nodes on the way to attention that become one launch, see heads.c. */
enum { MOST_GROUP_NODES = 12 };
enum { TABLES = 2 }; /* tables of angles: layers have at most two rotations */
struct angles {
    const void *positions, *factors;
    uint32_t tokens, unused;
    kpk_ggml_rope how;
    const struct ggml_tensor *rope; /* not compared */
};
struct group {
    int n, nodes[MOST_GROUP_NODES];    /* in order; n = 0: no open group */
    const struct ggml_tensor *rope;    /* of Q */
    const struct ggml_tensor *queries; /* Q as attention reads it */
    kpk_ggml_heads args;
    const void *norms[2]; /* weights by which Q and K are normed, or NULL */
    float eps;
};

/*
 * The same code tests whether a node is supported, measures its memory and
 * launches it, so that the answers agree. Only a launch has a stream.
 */
struct run {
    kpk_instance *inst;
    bool fusing; /* fuses a graph's nodes, and shares converted operands */
    bool launching;
    bool large;    /* the last product was large: nothing begins early */
    bool waits;    /* this node's launches do not begin early */
    bool no_early; /* no launch begins early */
    void *stream;
    void *side;                          /* another stream; NULL: none */
    void *forked, *joined;               /* events for `side` */
    bool fork;                           /* the next product records `forked` */
    char *shared;                        /* memory for nodes, if `launching` */
    size_t shared_nbytes;                /* the most that a node needs */
    const struct ggml_tensor *shared_of; /* `shared` has this one's numbers */
    int32_t shared_uses;  /* coming nodes that need the content of `shared` */
    char *sorted;         /* rows sorted by their experts, if `launching` */
    size_t sorted_nbytes; /* the most that a node needs */
    const struct ggml_tensor *sorted_of; /* the ids that chose the rows */
    size_t sorted_for;                   /* bytes of these sorted rows */
    char *heads;                  /* memory for heads.c, if `launching` */
    size_t heads_nbytes;          /* the most that a group of nodes needs */
    char *tables;                 /* memory for tables of angles, likewise */
    size_t table_room;            /* bytes reserved for each table */
    size_t table_nbytes;          /* the most that a table needs */
    struct angles angles[TABLES]; /* the tables' content */
    uint32_t ntables;             /* tables made so far */
    struct group group;           /* the open group of nodes of heads.c */
    const struct ggml_tensor *half_of; /* a tensor with a copy in f16 */
    void *half;                        /* the copy, in `heads` */
    char *scratch;                     /* memory for one node, if `launching` */
    size_t scratch_nbytes;             /* the most that a node needs */
    size_t scratch_used;               /* bytes used by this node so far */
};

/* The most launches of one node. */
enum { MOST_LAUNCHES = 256 };

/* ---- launches: without run->launching only whether they are possible ---- */

/*
 * Whether no node writes a tensor. A kernel that begins while the launch before
 * it runs (KPK_LAUNCH_EARLY) may read such a tensor before that launch ends. A
 * node that gives such a kernel any other tensor sets run->waits.
 */
bool is_constant(const struct ggml_tensor *t);

/* Launches a kernel in the recommended shape for n and columns
 * (kpk_kernel_shape()). False also if the pack has no such kernel. */
bool launch(const struct run *run, const char *name, uint64_t n,
            uint64_t columns, const kpk_arg *args, size_t nargs);
/* The same with `planes` in the grid's third dimension. */
bool launch_planes(const struct run *run, const char *name, uint64_t n,
                   uint64_t columns, uint32_t planes, const kpk_arg *args,
                   size_t nargs);
bool launch_copy(const struct run *run, void *to, const void *from,
                 size_t nbytes);
/* nbytes rounded up to a multiple of 256, where parts of memory begin. */
size_t whole(size_t nbytes);
/* Memory for this node, a new piece in each call. NULL without launching. */
void *scratch(struct run *run, size_t nbytes);
/*
 * Memory for a tensor's numbers as Q8_1, which several products read.
 *
 * shared_make() is for a node that writes the numbers. The next `uses` calls of
 * shared() with this tensor depend on them, because the numbers are nowhere
 * else. It is false if the memory still holds another tensor's numbers that
 * nodes depend on. shared() is for a node that reads the numbers: *made says
 * whether they are there; if not, the node writes them.
 */
bool shared_make(struct run *run, const struct ggml_tensor *of, size_t nbytes,
                 int32_t uses);
void *shared(struct run *run, const struct ggml_tensor *of, size_t nbytes,
             bool *made);
/* Memory for the rows that ids choose, sorted by expert; *made says whether the
 * rows are there. */
void *sorted_rows(struct run *run, const struct ggml_tensor *ids, size_t nbytes,
                  bool *made);
/* Called before a node that may overwrite a source of shared numbers, of sorted
 * rows or of a table of angles; these are then made anew. */
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
/* Whether a row's elements, or blocks, are contiguous. */
bool has_rows(const struct ggml_tensor *t);
/* The same for each matrix's rows; matrices may have any strides. */
bool is_matrix(const struct ggml_tensor *t);
const char *at(const struct ggml_tensor *t, int64_t i2, int64_t i3);
float param_f32(const struct ggml_tensor *t, size_t i);

/* Whether the memory of two tensors has a byte in common. */
bool overlap(const struct ggml_tensor *a, const struct ggml_tensor *b);

/* The kernels count a result's elements in 31 bits. */
bool fits(const struct ggml_tensor *t);
/* A tensor as an argument for the kernels of module ggml. */
kpk_ggml_tensor view_of(const struct ggml_tensor *t);
uint64_t count(const kpk_ggml_tensor *v);
uint64_t count_rows(const kpk_ggml_tensor *v);
/*
 * Joins dimensions that are contiguous in all views. All views have the first
 * one's shape, or are repeated to fill it.
 */
void join_dims(size_t n, kpk_ggml_tensor *const *views);

/* A node's whole tensor as contiguous numbers of another type, in scratch
 * memory; false if no kernel makes that. */
bool converted(struct run *run, const struct ggml_tensor *x,
               enum ggml_type type, struct ggml_tensor *out);

#endif
