/*
 * ggml_tensor.h - arguments of module ggml's kernels: tensors with strides, by
 * value
 *
 * Only the tensors' data is in device memory, so a host uploads nothing before
 * a launch and keeps nothing until its end.
 */
#ifndef KPACK_GGML_TENSOR_H
#define KPACK_GGML_TENSOR_H

#include <stdint.h>

/*
 * A tensor of up to four dimensions, innermost first, with strides of any
 * number of bytes. An absent dimension has one element. In tensors of GGUF's
 * blocks ne[0] counts elements, and the blocks of a row are contiguous. A
 * kernel takes up to 2^31 elements, or 2^31 rows if its comment says so.
 */
typedef struct kpk_ggml_tensor {
    void *data; /* device memory; NULL for an absent optional tensor */
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
 * How ggml_upscale_KIND_f32 maps place i of the result to the input, in each
 * dimension: (i + offset) / factor - offset. In dimensions 2 and 3, and in all
 * dimensions for the nearest element, it is i / factor rounded down.
 */
typedef struct kpk_ggml_scale {
    float factor[4];
    float offset;
} kpk_ggml_scale;

/* The first element's index in another tensor, in each dimension. */
typedef struct kpk_ggml_place {
    uint32_t i[4];
} kpk_ggml_place;

/* How ggml_rope_T rotates pairs, by YaRN's formulas. */
typedef struct kpk_ggml_rope {
    float base, scale, ext, attn, corr_low, corr_high;
    uint32_t n_dims; /* pair j turns by base^(-2 j / n_dims) per position */
    uint32_t first;  /* the first rotated element of a row */
    uint32_t turned; /* the number of rotated elements */
    uint32_t halves; /* 1: a pair has one element of each half of the rotated
                      * elements; 0: two adjacent elements */
    uint32_t back;   /* 1: rotate by the negative angles */
    /*
     * If not all 0, a token has four positions: the first pairs[0] pairs use
     * the first position, the next pairs[1] the second, and so on, repeatedly.
     */
    uint32_t pairs[4];
    uint32_t in_turn; /* 1: instead pairs use the first three positions in turn,
                       * up to pairs 3 pairs[0], 3 pairs[1], 3 pairs[2] */
    uint32_t restart; /* 1: j counts from 0 for each position */
} kpk_ggml_rope;

/* The tensors of ggml_heads_to_cache_f32. */
typedef struct kpk_ggml_heads {
    kpk_ggml_tensor q, k; /* [d, heads, tokens] f32 */
    kpk_ggml_tensor v;    /* [columns, tokens] f32 */
    kpk_ggml_tensor keys; /* rows of f16 */
    kpk_ggml_tensor values;
    kpk_ggml_tensor key_ids; /* each token's row of keys */
    kpk_ggml_tensor value_ids;
    void *queries;    /* [d, heads, tokens] f16 */
    float factor;     /* of the queries */
    uint32_t wide;    /* 1: ids are i64, 0: i32 */
    uint32_t at_once; /* heads that a thread rotates; at least 1 */
} kpk_ggml_heads;

/* ggml_choose_experts_f32 chooses among at most this many experts. */
enum { KPK_GGML_MOST_EXPERTS = 512 };

#endif
