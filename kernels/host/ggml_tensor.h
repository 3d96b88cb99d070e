/*
 * ggml_tensor.h - arguments of module ggml's kernels: tensors with strides, by
 * value
 *
 * Nothing of a launch lies in device memory but the tensors' data, so a host
 * has nothing to upload before it, nor to keep until it ends.
 */
#ifndef KPACK_GGML_TENSOR_H
#define KPACK_GGML_TENSOR_H

#include <stdint.h>

/*
 * Up to four dimensions, innermost first, each in steps of any number of bytes.
 * An absent dimension has one element. In tensors of GGUF's blocks ne[0] counts
 * elements, and the blocks of a row lie one behind the other. A kernel takes up
 * to 2^31 elements, or 2^31 rows where it says so.
 */
typedef struct kpk_ggml_tensor {
    void *data; /* device memory; NULL where a kernel's tensor may be absent */
    uint32_t ne[4];
    int64_t nb[4];
} kpk_ggml_tensor;

/* How ggml_rope_T turns its pairs; the formulas are YaRN's. */
typedef struct kpk_ggml_rope {
    float base, scale, ext, attn, corr_low, corr_high;
    uint32_t n_dims; /* pair j turns by base^(-2 j / n_dims) a position */
    uint32_t first;  /* the first element of a row that is turned, */
    uint32_t turned; /* and how many are */
    uint32_t halves; /* 1: a pair is one element of each half of these; 0: two
                      * neighbours */
    uint32_t back;   /* 1: by the negative angles */
    /*
     * Four positions of each token, if not all are 0: so many pairs have the
     * first, the second, the third, the fourth, and so on in turn.
     */
    uint32_t pairs[4];
    uint32_t in_turn; /* 1: instead neighbouring pairs have the first three in
                       * turn, up to pairs 3 pairs[0], 3 pairs[1], 3 pairs[2] */
    uint32_t restart; /* 1: the pairs of a position count from 0 */
} kpk_ggml_rope;

#endif
