/* products.h - products of matrices */
#ifndef KPK_GGML_PRODUCTS_H
#define KPK_GGML_PRODUCTS_H

#include "launch.h"

/* MUL_MAT and MUL_MAT_ID; false as ops_node() */
bool mul_mat(struct run *run, const struct ggml_tensor *t);
bool mul_mat_id(struct run *run, const struct ggml_tensor *t);

#endif
