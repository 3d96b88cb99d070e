/* split.h - which slice of every tensor a device has
 *
 * A device's slice of a model is a model of its own, with fewer heads, narrower
 * inner layers and a part of the vocabulary. Products whose results it has
 * alone take rows of a matrix, as Q, K, V, gate and up do. Products of such
 * results take columns, and are parts of a sum.
 */
#ifndef MODEL_SPLIT_H
#define MODEL_SPLIT_H

#include "arch.h"

struct slice {
    struct sizes sizes;  /* of the slice */
    struct sizes before; /* heads, inner elements and tokens that lie before it;
                          * width 0, because no value as wide is split */
};

/* The whole model. */
struct slice slice_whole(const struct sizes *s);
/*
 * Slice number `rank` of `ranks`. Heads of Q go with the heads of K and V that
 * they share. If there are more ranks than heads of K and V, several ranks have
 * the same one of these, and a part of its heads of Q each.
 */
bool slice_of(const struct gguf *gguf, const struct sizes *s, uint32_t ranks,
              uint32_t rank, struct slice *out, struct fault *fault);

#endif
