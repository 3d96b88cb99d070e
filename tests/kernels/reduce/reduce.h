/* reduce.h - shared by the tests of reductions and norms */
#ifndef REDUCE_H
#define REDUCE_H

#include "../harness.h"

#define V 0x1p-24L /* unit roundoff of f32 */

/* ---- the tests, for the table in reduce.c ---- */

enum op { SUM, SMALL_SUM, MIN, MAX, ARGMIN, ARGMAX };
enum cumsum { CUMSUM_ROWS, CUMSUM_TILES, CUMSUM_OFFSETS };
enum rope { ROPE_I, ROPE, ROPE_THD };

/* row->detail points to an enum op, */
void reduce_run_fast(struct kt *t, const struct kt_row *row);
/* to a bool: layernorm, not rmsnorm, */
void reduce_run_norm(struct kt *t, const struct kt_row *row);
/* to an enum cumsum, */
void reduce_run_cumsum(struct kt *t, const struct kt_row *row);
/* to an enum rope. */
void reduce_run_rope(struct kt *t, const struct kt_row *row);
/* NULL for other kernels. */
void reduce_run_sum(struct kt *t, const struct kt_row *row);
void reduce_run_softmax(struct kt *t, const struct kt_row *row);

/* ---- common.c ---- */

/* Unit roundoff of the type in which a type's sums are computed. */
kt_real reduce_inner_roundoff(enum kt_type type);

void reduce_name_case(struct kt *t, const char *what, size_t n, size_t threads);

/* Rows of large launches repeat themselves after so many. */
enum { PERIOD = 7 };

enum rows_data {
    SMALL,
    HUGE_SPREAD, /* +-1e4: exp() of the differences under- and overflows */
    ONE_MINUS_INF,
    ALL_MINUS_INF,
    WITH_NAN,
    WITH_INF,
    CONSTANT, /* 12345.678 */
    FAR_MEAN, /* 1000 and a little */
    BIG,      /* 7e9 */
    ZEROS,
    HUGE_ROWS, /* the second, fourth ... up to the greatest of f32, or f16 */
    TINY,      /* 1e-30, f16 1e-4 */
    LEAST,     /* subnormal f32 and bf16 */
    EQUAL_HUGE /* a constant near f32's greatest, or f16's */
};

/* Turns row x[first..first + n) of random numbers into data of kind `what`. */
void reduce_fill_row(enum kt_type type, void *x, size_t first, size_t n,
                     enum rows_data what);

#endif
