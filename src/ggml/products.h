/* products.h - products of matrices */
#ifndef KPK_GGML_PRODUCTS_H
#define KPK_GGML_PRODUCTS_H

#include "launch.h"

/* MUL_MAT and MUL_MAT_ID; false as ops_node() */
bool mul_mat(struct run *run, const struct ggml_tensor *t);
bool mul_mat_id(struct run *run, const struct ggml_tensor *t);

/* Whether MUL_MAT reads its columns as Q8_1, which shared() holds. A row has
 * blocks_columns() numbers, zeros behind `columns`. */
bool mul_mat_reads_blocks(const struct ggml_tensor *t);
/* The same of MUL_MAT_ID. */
bool mul_mat_id_reads_blocks(const struct run *run,
                             const struct ggml_tensor *t);
/*
 * mul_mat_of_rows() is a product that reads blocks, of the first `rows` rows of
 * memory that begins with t's matrix: those of `n` matrices, each with a
 * product of the same columns. out has `rows` numbers for each column.
 */
bool mul_mat_of_rows(struct run *run, const struct ggml_tensor *t, int64_t rows,
                     int n, void *out);
/* mul_mat_two() launches two products of the same columns in Q8_1, to run at
 * the same time: the second one on run->side. */
bool mul_mat_two(struct run *run, const struct ggml_tensor *a,
                 const struct ggml_tensor *b);
int32_t blocks_columns(int64_t columns);
size_t blocks_nbytes(int64_t columns, int64_t n);

#endif
