/* gguf_numbers.h - rows of dequantize_block_ and get_rows_ */
#ifndef GGUF_NUMBERS_H
#define GGUF_NUMBERS_H

#include "gguf_ref.h"
#include "harness.h"

/* how callers launch it, and what the third argument counts */
struct dequantize_shape {
    enum gguf_id id;
    unsigned elems, threads; /* of a workgroup */
    size_t unit;             /* elements; 0: no third argument */
};

struct rows_shape {
    enum gguf_id id;
    unsigned threads;
    size_t per_group; /* columns to a workgroup as launched */
};

/* rows: dequantize_block_* to row->a; get_rows_*; get_rows_* of numbers */
void run_dequantize(struct kt *t, const struct kt_row *row);
void run_get_rows(struct kt *t, const struct kt_row *row);
void run_get_float_rows(struct kt *t, const struct kt_row *row);

#endif
