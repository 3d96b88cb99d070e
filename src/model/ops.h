/* ops.h - the steps of a model as launches of the pack's kernels
 *
 * Numbers are f32 and rows contiguous, unless something else is said. A launch
 * returns at once; gpu_wait() waits. Every call fails with a sentence.
 */
#ifndef MODEL_OPS_H
#define MODEL_OPS_H

#include "cache.h"
#include "error_text.h"
#include "gguf.h"

#include <kpack.h>
#include <kpack/candle/attention_plan.h>

struct gpu;

/* Whether a call succeeded. If not, the fault says what it was for and why it
 * failed. */
bool check(kpk_status status, const char *what, struct fault *fault);

bool gpu_open(int device, struct gpu **out, struct fault *fault);
/* Frees what gpu_alloc() gave out, too. NULL does nothing. */
void gpu_close(struct gpu *gpu);
const kpk_device *gpu_device(const struct gpu *gpu);
/* For calls that this header lacks. */
kpk_instance *gpu_instance(const struct gpu *gpu);
void *gpu_stream(const struct gpu *gpu);

/* Allocates device memory and counts it. The fault names `what` and the free
 * memory. */
bool gpu_alloc(struct gpu *gpu, uint64_t nbytes, const char *what, void **out,
               struct fault *fault);
bool gpu_free(struct gpu *gpu, void *data, struct fault *fault);
uint64_t gpu_allocated(const struct gpu *gpu);
bool gpu_write(struct gpu *gpu, void *to, const void *from, size_t nbytes,
               struct fault *fault);
bool gpu_read(struct gpu *gpu, void *to, const void *from, size_t nbytes,
              struct fault *fault);
/* Copies between devices of one driver when both have done their work; done
 * when it returns. */
bool gpu_copy(struct gpu *to_gpu, void *to, const struct gpu *from_gpu,
              const void *from, size_t nbytes, struct fault *fault);
bool gpu_wait(struct gpu *gpu, struct fault *fault);

/* Whether launches can be recorded; from then on they are on a stream for it.
 */
bool gpu_can_record(struct gpu *gpu);
/* Launches between gpu_record() and gpu_recorded() are recorded and not run.
 * False: the driver refuses, and nothing is recorded. */
bool gpu_record(struct gpu *gpu);
bool gpu_recorded(struct gpu *gpu);
bool gpu_replay(struct gpu *gpu, struct fault *fault);
/* On a device with a recorder, queues a copy from the device behind all earlier
 * launches; gpu_fetched() waits for this copy only. */
bool gpu_fetch(struct gpu *gpu, const void *from, size_t nbytes,
               struct fault *fault);
bool gpu_fetched(struct gpu *gpu, void *to, size_t nbytes, struct fault *fault);

/* A matrix of weights on a device, [rows, columns]. */
struct matrix {
    const struct tensor_format *format; /* a row's of F16 or BF16: F32 */
    const void *data;
    uint32_t rows, columns;
    uint64_t row_nbytes;
};

/* Whether the pack has kernels for matrices of a format. */
bool op_takes(const struct tensor_format *format);

/* out[i] = row ids[i] of m */
bool op_rows(struct gpu *gpu, const struct matrix *m, const uint32_t *ids,
             uint32_t n, float *out, struct fault *fault);
/* The size of q8, the Q8_1 blocks of n rows of x, as a product's input. */
uint64_t op_quantized_nbytes(uint32_t columns, uint32_t n);
/* Columns of a row of blocks, with the zeros that pad it. */
uint32_t op_quantized_columns(uint32_t columns);
bool op_quantize(struct gpu *gpu, const float *x, uint32_t columns, uint32_t n,
                 void *q8, struct fault *fault);
/* The same for an x of f16. */
bool op_quantize16(struct gpu *gpu, const void *x, uint32_t columns, uint32_t n,
                   void *q8, struct fault *fault);
/* out [n, m->rows], a row every `stride` numbers, = x m^T; q8 is x quantized,
 * and x may be NULL unless m is of numbers. More than 8 rows of x are rounded
 * to F16 or BF16 if m is. */
bool op_product(struct gpu *gpu, const struct matrix *m, const float *x,
                const void *q8, uint32_t n, float *out, uint32_t stride,
                struct fault *fault);

bool op_norm(struct gpu *gpu, const float *x, const float *weight,
             uint32_t rows, uint32_t columns, float eps, float *out,
             struct fault *fault);
/* x += by, n numbers. */
bool op_count_up(struct gpu *gpu, uint32_t *x, const uint32_t *by, size_t n,
                 struct fault *fault);
/* out may be a or b */
bool op_add(struct gpu *gpu, const float *a, const float *b, size_t n,
            float *out, struct fault *fault);
/* x [rows, columns] += row. info: device memory, see op_add_row_info() */
bool op_add_row(struct gpu *gpu, float *x, const float *row, uint32_t rows,
                uint32_t columns, const size_t *info, struct fault *fault);
void op_add_row_info(uint32_t rows, uint32_t columns, size_t info[6]);
/* stream += x; out = norm(stream) */
bool op_add_norm(struct gpu *gpu, float *stream, const float *x,
                 const float *weight, uint32_t rows, uint32_t columns,
                 float eps, float *out, struct fault *fault);
/* The same, quantized; x may be NULL: nothing is added. */
bool op_add_norm_quantize(struct gpu *gpu, float *stream, const float *x,
                          const float *weight, uint32_t rows, uint32_t columns,
                          float eps, void *q8, struct fault *fault);
/* The same, but x is normed first, with weights `inner`. */
bool op_norm_add_norm_quantize(struct gpu *gpu, float *stream, const float *x,
                               const float *inner, const float *weight,
                               uint32_t rows, uint32_t columns, float eps,
                               void *q8, struct fault *fault);
/* q8 = f(gate) * up, quantized; rows of gate and up are `stride` numbers apart
 */
bool op_gate_quantize(struct gpu *gpu, bool gelu, const float *gate,
                      const float *up, uint32_t rows, uint32_t columns,
                      uint32_t stride, void *q8, struct fault *fault);
/* gate = f(gate) * up */
bool op_gate(struct gpu *gpu, bool gelu, float *gate, const float *up, size_t n,
             struct fault *fault);
bool op_scale(struct gpu *gpu, float *x, size_t n, float by,
              struct fault *fault);

/* How heads are rotated by their tokens' positions. */
struct rotation {
    const int32_t *positions; /* [tokens] */
    const float *factors;     /* [head / 2] of the angles, or NULL */
    float base, stretch;
    bool yarn; /* yarn, ramp and longer: see struct sizes */
    float ramp[2];
    float longer;
    bool pairs; /* true: neighbours rotate together; false: halves */
};

/* out [tokens, head]: sines and cosines, for op_heads() */
bool op_turns(struct gpu *gpu, const struct rotation *r, uint32_t tokens,
              uint32_t head, float *out, struct fault *fault);
/* out [rows]: the first column with the largest number of the row. work: 16
 * bytes per row, zero before and after */
bool op_argmax(struct gpu *gpu, const float *x, uint32_t rows, uint32_t columns,
               void *work, uint32_t *out, struct fault *fault);

/* out: a column drawn by the probabilities that the logits x give; UINT32_MAX
 * if all are NaN. kernels/include/fused/sample.h explains the arguments. */
bool op_sample(struct gpu *gpu, const float *x, uint32_t columns,
               uint32_t top_k, float top_p, float temperature, uint64_t seed,
               uint64_t offset, uint32_t *out, struct fault *fault);
/* Converts f16 or bf16 to f32. */
bool op_widen(struct gpu *gpu, bool bf16, const void *from, size_t n, float *to,
              struct fault *fault);

/* ---- attention ---- */

/* K and V of a layer: rows of [2, kv_heads, head], K before V. A head's row
 * consists of whole blocks. */
struct cache {
    enum cache_type type;
    uint64_t rows;
    uint32_t kv_heads, head;
    void *data;
};

uint64_t op_cache_nbytes(const struct cache *cache);

/* The steps for Q, K and V of n tokens. Weights may be NULL. */
struct heads {
    float *qkv;        /* [n, heads + 2 kv_heads, head] */
    const float *bias; /* [heads + 2 kv_heads, head] */
    const float *q_norm, *k_norm;
    const float *turns; /* of op_turns() */
    uint32_t heads;
    float eps;
    bool pairs;          /* see struct rotation */
    const int64_t *rows; /* [n]: each token's row of the cache */
};

/* Biases, norms and rotation; then Q to q16, K and V to the cache. */
bool op_heads(struct gpu *gpu, const struct heads *h, const struct cache *cache,
              uint32_t n, void *q16, struct fault *fault);

/* A run's sequences, called groups. A group has some tokens and its own
 * `context` rows of the cache, and sees them up to its last token. Pointers are
 * device memory. */
struct attention {
    const int32_t *tokens; /* [groups + 1]: each group's first token, and n */
    const int32_t *keys;   /* [groups + 1]: running sums of groups' keys */
    const int32_t *pages;  /* [groups]: each group's page; NULL: `page` */
    uint32_t page, context;
    uint32_t groups, ntokens, most_tokens, most_keys; /* most: of a group */
    uint32_t heads, kv_heads, head;
    uint32_t window; /* keys that a token sees; 0: all before it */
    float scale;
    void *workspace;
    uint64_t workspace_nbytes;
};

/* Workspace for launches that split the keys of n tokens. */
uint64_t op_attend_workspace(uint32_t n, uint32_t heads, uint32_t head);
/* The launches' plan, the same for all layers of a run. */
bool op_attend_plan(struct gpu *gpu, const struct attention *a,
                    enum cache_type type, kpk_attention_plan *out,
                    struct fault *fault);
/* q and out [ntokens, heads, head], f16. If q8 is not NULL, it gets what
 * op_quantize16() makes of out, and out is not written; the plan must allow it.
 */
bool op_attend(struct gpu *gpu, const struct attention *a,
               const kpk_attention_plan *plan, const struct cache *cache,
               const void *q, void *out, void *q8, struct fault *fault);

#endif
