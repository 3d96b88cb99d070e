/* gguf_product.h - what the tests of GGUF kernels share: data, and rows of
 * quantize_q8_1 and of the products with one to eight columns */
#ifndef GGUF_PRODUCT_H
#define GGUF_PRODUCT_H

#include "gguf_ref.h"
#include "harness.h"

size_t round_up(size_t n, size_t to);

/* Sets t->what; the text lives as long as the row. */
void name_case(struct kt *t, const char *what, size_t a, size_t b);

/* nblocks blocks on the device, and a copy in *host. `tail` bytes of NaNs
 * follow that belong to nobody. */
const void *device_blocks(struct kt *t, enum gguf_id id, size_t nblocks,
                          enum gguf_data data, size_t tail, size_t lead,
                          uint8_t **host);

/* Reports a value beyond its bound, the first few of a row. */
void check_near(struct kt *t, size_t i, double got, double want, double bound);

struct product {
    enum gguf_id id;
    size_t cols;      /* in the symbol; tiled products: 0, any */
    size_t tile_rows; /* for a workgroup */
    size_t tile_cols;
    bool in_blocks; /* the columns' stride is told in blocks; dst is whole */
    bool few_rows;  /* another format has the cases of very many rows */
};

struct product_case {
    const char *name;
    size_t nrows, nblocks, ncols;
    enum gguf_data data;
    /* POISONED: NaNs behind the weights and in the columns' padding, odd
     * strides, sums that do not fit the quants; HOSTILE: odd alignments too;
     * CUT: dst takes fewer rows than the matrix has; FAINT: columns whose
     * scales are subnormal f16; LARGE, SMALL: tame, but for columns up to the
     * largest numbers that Q8_1 has, with sums that it has not, or around
     * 1e-5 */
    enum { TAME, POISONED, HOSTILE, CUT, FAINT, LARGE, SMALL } data_around;
};

/* results are of type row->a */
void run_product(struct kt *t, const struct kt_row *row,
                 const struct product_case *c);
/* runs a product in grid_x workgroups in x; 0: as many as candle launches */
void run_product_on(struct kt *t, const struct kt_row *row,
                    const struct product_case *c, unsigned grid_x);

/* The specification's example of Q4_0: ncols rows and columns of n numbers. */
void run_example(struct kt *t, size_t n, size_t ncols, float unit,
                 const double *want);

/* rows: mat-vec kernels, whose detail is a product; quantize_q8_1 of row->a */
void run_mat_vec(struct kt *t, const struct kt_row *row);
void run_quantize(struct kt *t, const struct kt_row *row);
void run_quantize_quants(struct kt *t, const struct kt_row *row);

/* clang-format off */
#define PRODUCT(symbol, run, type, ...)                                         \
    {symbol, run, type, KT_F32, &(const struct product){__VA_ARGS__}},
/* a row for each number of columns; `in_blocks` as in struct product */
#define MAT_VEC(name, type, id, in_blocks)                                    \
    PRODUCT(name "_cuda1", run_mat_vec, type, id, 1, 1, 1, in_blocks, false) \
    PRODUCT(name "_cuda2", run_mat_vec, type, id, 2, 2, 2, in_blocks, false) \
    PRODUCT(name "_cuda3", run_mat_vec, type, id, 3, 2, 3, in_blocks, false) \
    PRODUCT(name "_cuda4", run_mat_vec, type, id, 4, 2, 4, in_blocks, false) \
    PRODUCT(name "_cuda5", run_mat_vec, type, id, 5, 2, 5, in_blocks, false) \
    PRODUCT(name "_cuda6", run_mat_vec, type, id, 6, 2, 6, in_blocks, false) \
    PRODUCT(name "_cuda7", run_mat_vec, type, id, 7, 2, 7, in_blocks, false) \
    PRODUCT(name "_cuda8", run_mat_vec, type, id, 8, 2, 8, in_blocks, false)
/* clang-format on */

#endif
