/* ggml_test.h - tensors with strides for the tests of module ggml */
#ifndef GGML_TEST_H
#define GGML_TEST_H

#include "../../../kernels/host/ggml_tensor.h"
#include "../gguf_ref.h"
#include "../harness.h"

/* f32's unit roundoff: the kernels compute in f32 */
#define V 0x1p-24L
#define NCASES(cases) (sizeof(cases) / sizeof((cases)[0]))

enum lie {
    DENSE,
    REVERSED, /* the first dimension is the outermost in memory */
    GAPS      /* behind every row, matrix and element 3 of the last dimension */
};

struct gt {
    enum kt_type type;
    kpk_ggml_tensor t; /* data: on the device, by gt_place() */
    size_t n, nbytes;
    void *host;
};

/* Filled with `what`; freed with the row. */
struct gt gt_make(struct kt *t, enum kt_type type, const uint32_t ne[4],
                  enum lie lie, enum kt_data what, uint64_t seed);
/* A tensor of zeroed blocks, `units` in a row, with a block between rows. */
struct gt gt_blocks(struct kt *t, const struct gguf_format *f, uint32_t units,
                    const uint32_t ne[4]);
/* Copies it to the device. */
void gt_place(struct kt *t, struct gt *g);
/* Where element i lies, in elements from the first. */
size_t gt_at(const struct gt *g, size_t i);
kt_real gt_get(const struct gt *g, size_t i);
/* The element that i of `to` has in a tensor repeated to fill it. */
size_t gt_repeated(const struct gt *g, const struct gt *to, size_t i);
/* Places an empty result. */
struct gt gt_result(struct kt *t, enum kt_type type, const uint32_t ne[4],
                    enum lie lie);
/* Compares a result, and that nothing was written between its elements. `skip`,
 * if given, says which elements must not have been written either. */
void gt_check(struct kt *t, const struct gt *out, const kt_real *want,
              const bool *skip, struct kt_gate gate);

/* ALiBi: 2^(-max_bias / p) to the powers 1, 2, ... for the first p heads, p a
 * power of two, and odd powers of its root for the others. 1 for max_bias 0. */
kt_real gt_slope(size_t head, size_t heads, kt_real max_bias);

/* ---- the tests, for the table in ggml.c ---- */

void ggml_run_binary(struct kt *t, const struct kt_row *row);
void ggml_run_unary(struct kt *t, const struct kt_row *row);
void ggml_run_gate(struct kt *t, const struct kt_row *row);
void ggml_run_copy(struct kt *t, const struct kt_row *row);
void ggml_run_repeat(struct kt *t, const struct kt_row *row);
/* row->detail points to the format's number for blocks, and is NULL else */
void ggml_run_get_rows(struct kt *t, const struct kt_row *row);
void ggml_run_set_rows(struct kt *t, const struct kt_row *row);
void ggml_run_set_blocks(struct kt *t, const struct kt_row *row);
void ggml_run_product(struct kt *t, const struct kt_row *row);
void ggml_run_slopes(struct kt *t, const struct kt_row *row);
void ggml_run_norm(struct kt *t, const struct kt_row *row);
void ggml_run_cumsum(struct kt *t, const struct kt_row *row);
void ggml_run_argmax(struct kt *t, const struct kt_row *row);
void ggml_run_keep_band(struct kt *t, const struct kt_row *row);
void ggml_run_arange(struct kt *t, const struct kt_row *row);
void ggml_run_roll(struct kt *t, const struct kt_row *row);
void ggml_run_timestep(struct kt *t, const struct kt_row *row);
void ggml_run_im2col(struct kt *t, const struct kt_row *row);
void ggml_run_pool(struct kt *t, const struct kt_row *row);
void ggml_run_conv_transpose(struct kt *t, const struct kt_row *row);
void ggml_run_upscale(struct kt *t, const struct kt_row *row);
void ggml_run_soft_max(struct kt *t, const struct kt_row *row);
void ggml_run_soft_max_part(struct kt *t, const struct kt_row *row);
void ggml_run_soft_max_join(struct kt *t, const struct kt_row *row);
void ggml_run_rope(struct kt *t, const struct kt_row *row);
void ggml_run_rope_table(struct kt *t, const struct kt_row *row);
void ggml_run_heads(struct kt *t, const struct kt_row *row);
void ggml_run_normed_heads(struct kt *t, const struct kt_row *row);
void ggml_run_choose_experts(struct kt *t, const struct kt_row *row);
void ggml_run_add_up_experts(struct kt *t, const struct kt_row *row);

#endif
