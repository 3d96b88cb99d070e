/* fused.h - what the tests of the fused steps share */
#ifndef FUSED_H
#define FUSED_H

#include "../harness.h"

/* f32's unit roundoff: the kernels compute in f32 */
#define V 0x1p-24L
#define NCASES(cases) (sizeof(cases) / sizeof((cases)[0]))

/* ---- the tests, for the table in fused.c ---- */

enum norm_kind { NUMBERS, SUMS, QUANTS }; /* the stored numbers or sums */
enum made { PLAIN, SILU, GELU };

/* row->detail points to an enum norm_kind, */
void fused_run_norm(struct kt *t, const struct kt_row *row);
/* to a bool: gelu, not silu, */
void fused_run_gated(struct kt *t, const struct kt_row *row);
/* to an enum made; */
void fused_run_made(struct kt *t, const struct kt_row *row);
/* is not NULL if each row has an answer, and not the last alone; */
void fused_run_argmax(struct kt *t, const struct kt_row *row);
/* and NULL for other kernels. */
void fused_run_norm_twice(struct kt *t, const struct kt_row *row);
void fused_run_softmax(struct kt *t, const struct kt_row *row);
void fused_run_rope(struct kt *t, const struct kt_row *row);
void fused_run_rope_table(struct kt *t, const struct kt_row *row);
void fused_run_heads(struct kt *t, const struct kt_row *row);
void fused_run_penalty(struct kt *t, const struct kt_row *row);
void fused_run_sample(struct kt *t, const struct kt_row *row);

/* ---- common.c ---- */

enum { NEOX = 1 }; /* the flag of rope_pos and attention_heads */

/* Rows of a negative width: nobody writes. The buffers have 64 columns. */
enum { NEG_COLS = 64, NEG_ROWS = 2, NEG_WIDTHS = 3 };
extern const int32_t fused_negative_widths[NEG_WIDTHS];

void fused_check_untouched(struct kt *t, const void *dst, size_t nbytes);

/* A block: its scale is right, and its quants are the nearest, or next to a
 * tie. `slack` is the values' relative error. of_quants: the block's sum is the
 * sum of the quants. */
void fused_check_block(struct kt *t, const uint8_t *block, const kt_real *want,
                       size_t count, kt_real slack, bool of_quants);

/* A row of blocks for each row of n numbers; `slack` as above. */
void fused_check_blocks(struct kt *t, const uint8_t *got, const kt_real *want,
                        size_t rows, size_t n, size_t padded, kt_real slack);

/* y = x / sqrt(mean(x^2) + eps) * alpha, alpha null for 1 */
void fused_wide_norm(const kt_real *x, const float *alpha, size_t n, float eps,
                     kt_real *y);

#endif
