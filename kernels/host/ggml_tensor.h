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

/*
 * A window that moves over an image; width and height. The input under tap t of
 * the window at place i is i step + t dilation - padding.
 */
typedef struct kpk_ggml_window {
    uint32_t size[2], step[2], padding[2], dilation[2];
} kpk_ggml_window;

/*
 * How ggml_upscale_KIND_f32 finds place i of a dimension in the smaller image,
 * or the larger one: (i + offset) / factor - offset; without the offset and
 * rounded down in dimensions 2 and 3, and in all of them for the nearest one.
 */
typedef struct kpk_ggml_scale {
    float factor[4];
    float offset;
} kpk_ggml_scale;

/* The first element's place in another tensor, in each dimension. */
typedef struct kpk_ggml_place {
    uint32_t i[4];
} kpk_ggml_place;

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

/* What ggml_heads_to_cache_f32 reads and writes. */
typedef struct kpk_ggml_heads {
    kpk_ggml_tensor q, k; /* [d, heads, tokens] f32 */
    kpk_ggml_tensor v;    /* [columns, tokens] f32 */
    kpk_ggml_tensor keys; /* rows of f16, */
    kpk_ggml_tensor values;
    kpk_ggml_tensor key_ids; /* and which one a token has */
    kpk_ggml_tensor value_ids;
    void *queries;    /* [d, heads, tokens] f16 */
    float factor;     /* of the queries */
    uint32_t wide;    /* 1: ids are i64, 0: i32 */
    uint32_t at_once; /* heads that a thread turns by one angle; at least 1 */
} kpk_ggml_heads;

/* The experts among which ggml_choose_experts_f32 chooses, at most. */
enum { KPK_GGML_MOST_EXPERTS = 512 };

#endif
