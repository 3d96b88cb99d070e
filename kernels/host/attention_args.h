/*
 * attention_args.h - the one argument of module attention's kernels, in two
 * forms
 *
 * Softmax(scale Q K^T + mask) V, for every sequence of a batch and every head.
 * Fill it in by name; a member left out is zero, which means absent. Windows
 * alone are absent below zero:
 *
 *     kpk_attention_args a = {.q = q, .k = k, .v = v, .o = o, ...,
 *                             .window_left = -1, .window_right = 0}; // causal
 *
 * Pointers are device memory. Strides are elements, of any sign and size; the
 * innermost dimension, d, is contiguous. Strides of K and V in blocks of 32
 * (q8_0, q4_0) are elements too, and multiples of 32.
 */
#ifndef KPACK_ATTENTION_ARGS_H
#define KPACK_ATTENTION_ARGS_H

#include <stdint.h>

typedef struct kpk_attention_args {
    const void *q, *k, *v; /* [seqlen, heads, d] of each sequence */
    void *o;               /* the same, of q's shape */
    float *lse;     /* out: ln of the sums of exp; -infinity if a row sees
                     * no key. [b, h, seqlen_q], or [h, total_q] if
                     * unpadded_lse; NULL: not wanted */
    float *partial; /* workspace of splits: [splits, total_q, h] times d
                     * and 1 numbers; NULL if splits is 1 */
    const float *alibi_slopes; /* [h], or [b, h] by alibi_batch: the slope times
                                * the distance of query and key is taken off */
    /* [b + 1]: sequence i has rows cu[i] to cu[i + 1] of one array. With them
     * seqlen_q and seqlen_k are the longest. */
    const int32_t *cu_seqlens_q, *cu_seqlens_k;
    const int32_t *block_table;   /* [b, pages of a sequence]: numbers of pages
                                   * of page_size rows of K and V; k_batch and
                                   * v_batch are then strides of pages, and
                                   * cu_seqlens_k only gives lengths */
    const int32_t *prefix_ranges; /* [b, max_prefix_ranges, 2]: positions from,
                                   * to; positions of a range see each other
                                   * regardless of windows */
    int64_t q_batch, k_batch, v_batch, o_batch;
    int64_t q_row, k_row, v_row, o_row;
    int64_t q_head, k_head, v_head, o_head;
    uint32_t alibi_batch, block_table_batch, prefix_batch; /* elements */
    uint32_t page_size, max_prefix_ranges;
    uint32_t b, h, h_k, d; /* h_k divides h: h / h_k heads share a head of K */
    uint32_t seqlen_q, seqlen_k;
    uint32_t total_q; /* rows of q of all sequences; 0: b times seqlen_q */
    uint32_t splits;  /* parts of the keys in attention_decode_*; 0 is 1 */
    uint32_t unpadded_lse;
    float scale, softcap; /* scores: softcap tanh(scale q k / softcap) */
    /*
     * Query i of a sequence stands at position i + seqlen_k - seqlen_q, and
     * sees keys from window_left before it to window_right behind it; below 0:
     * any. Causal: -1, 0.
     */
    int32_t window_left, window_right;
    /* instead of o, where a plan says that its kernel can (attention_plan.h):
     * [total_q, h * d], rounded to Q8_1 blocks as quantize_q8_1_quants_f16
     * does, a row padded with zeros to 512; NULL: o is wanted */
    void *o_q8_1;
} kpk_attention_args;

/*
 * The one argument of the kernels of the second form, attention2_*: all of the
 * first form, and more. Members called reserved are room for later ones and
 * must be zero.
 *
 *     kpk_attention2_args a = {.base = {.q = q, ..., .d = 576}, .d_v = 512};
 */
typedef struct kpk_attention2_args {
    kpk_attention_args base; /* d is the width of Q and K */
    const float *sinks; /* [h]: one more score for each row of a head, which
                         * has no key and no value: it adds exp(sinks[i]) to the
                         * divisor of the weights, and to lse. A row that sees
                         * no key gives 0, and the sink as lse */
    const void *mask;   /* f16, [seqlen_q, seqlen_k] of each sequence and head:
                         * added to scores after scale and softcap, -infinity
                         * hides a key. The innermost dimension is contiguous, a
                         * stride may be 0. With a mask alibi_slopes are factors
                         * of it instead of distances. Rows and keys are counted
                         * from each sequence's first */
    int64_t mask_batch, mask_head, mask_row; /* elements */
    uint32_t d_v; /* width of V and O, a multiple of 8; 0: d */
    uint32_t q_type, o_type, mask_type; /* reserved */
    uint64_t reserved[4];
} kpk_attention2_args;

#endif
