/* fuse.h - computes several nodes of a graph by one launch */
#ifndef KPK_GGML_FUSE_H
#define KPK_GGML_FUSE_H

#include "launch.h"

#include <ggml-impl.h>

/*
 * fuse_nodes() asks for, or launches, the nodes from `first` on that a row of
 * the table covers. The launch stores the last result, as numbers or as Q8_1.
 * Another result may be left out if no further node reads it.
 *
 * Returns their number; 0 if no row does, or without run->fusing.
 */
int fuse_nodes(struct run *run, const struct ggml_cgraph *graph, int first);

/*
 * Products of MANY_COLUMNS or more keep the GPU busy while the host makes later
 * launches. Two of them run at the same time. Graphs with one are not recorded,
 * so that a recording has one stream.
 */
enum { MANY_COLUMNS = 64 };

/*
 * fuse_products() is the same for two products of many columns that do not
 * depend on each other: the second one takes the multiprocessors that the first
 * one's last workgroups leave. The nodes are counted with views between them.
 */
int fuse_products(struct run *run, const struct ggml_cgraph *graph, int first);

/*
 * fuse_gate() is the same for two products, of one input by matrices that lie
 * one behind the other in memory, and the GLU of both, which products with
 * blocks read: one product, and blocks.
 */
int fuse_gate(struct run *run, const struct ggml_cgraph *graph, int first);

/*
 * fuse_norm() is RMS_NORM of x + residual, times weights: rows of f32 without
 * gaps. residual and weights may be NULL, and so may sum, which takes
 * x + residual.
 */
bool fuse_norm(struct run *run, const struct ggml_tensor *x,
               const struct ggml_tensor *residual,
               const struct ggml_tensor *weights, const struct ggml_tensor *sum,
               const struct ggml_tensor *out, float eps);

#endif
