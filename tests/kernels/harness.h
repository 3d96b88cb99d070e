/* harness.h - runs kernels on every device and checks what they computed
 *
 * A test program is a table of rows (KT_MAIN), one row for a symbol. The
 * harness opens the pack on each device, runs each row on all and prints
 *
 *     FAIL affine_f16 gfx942 transposed[3] index 17: want 1, got 2 (9 ulp)
 *
 * for each wrong result. A symbol of the module that no row tests fails too.
 *
 * Command line: PROGRAM [-k GLOB] [-d DEVICE] [-s N] [-v]; -k picks symbols, -d
 * one device by ordinal or by processor, -s every Nth row, -v prints each row
 * as it passes. The last line is "N passed, M failed", counted in rows times
 * devices; exit 1 if any failed. KPK_SIM_DEVICES says which devices a simulated
 * GPU has.
 *
 * References are computed in kt_real, which is wider than f64 on x86, so that
 * the kernels' f64 results can be judged too. Expected values never come from
 * code that the kernels share.
 */
#ifndef KT_HARNESS_H
#define KT_HARNESS_H

#include "kpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef long double kt_real;

/* ---- element types (types.c) ---- */

enum kt_type {
    KT_U8,
    KT_I16,
    KT_I32,
    KT_U32,
    KT_I64,
    KT_F8, /* OCP E4M3FN */
    KT_BF16,
    KT_F16,
    KT_F32,
    KT_F64,
    KT_NTYPES
};

const char *kt_name(enum kt_type type); /* "f16" */
size_t kt_size(enum kt_type type);      /* bytes */
bool kt_is_float(enum kt_type type);

/* Element i as a number; exact for every type. NaN for any NaN. */
kt_real kt_get(enum kt_type type, const void *data, size_t i);
/* Element i as an integer (integer types), or its code, zero-extended. */
int64_t kt_get_int(enum kt_type type, const void *data, size_t i);
uint64_t kt_get_bits(enum kt_type type, const void *data, size_t i);

/*
 * The code of v in a float type: rounded once, to nearest, ties to even;
 * overflow gives infinity, for f8 the largest finite value. Integer types
 * truncate and saturate, NaN gives 0.
 */
uint64_t kt_encode(enum kt_type type, kt_real v);
void kt_put(enum kt_type type, void *data, size_t i, kt_real v);
void kt_put_bits(enum kt_type type, void *data, size_t i, uint64_t bits);

/* Spacing of the type's numbers at |v|, at least the smallest subnormal. */
kt_real kt_ulp(enum kt_type type, kt_real v);
/* kt_ulp() at 1, and the largest finite number. */
kt_real kt_eps(enum kt_type type);
kt_real kt_max(enum kt_type type);

/* The longest chain of additions in a sum of n numbers by `threads` threads:
 * ceil(n / threads) + ceil(log2(threads)). */
kt_real kt_depth(size_t n, size_t threads);

/* ---- data (data.c) ---- */

enum kt_data {
    KT_SMALL,   /* floats in [-4, 4), integers in [-100, 100] or [0, 100] */
    KT_WIDE,    /* every magnitude: random exponents, the whole integer range */
    KT_HOSTILE, /* NaN, infinities, both zeros, subnormals, extremes, among
                 * numbers of KT_WIDE */
    KT_CODES,   /* element i has the code i, modulo the type's codes */
    KT_ZERO
};

uint64_t kt_random(uint64_t *state); /* splitmix64 */
void kt_fill(enum kt_type type, void *data, size_t n, enum kt_data what,
             uint64_t seed);
/* malloc(n elements) and kt_fill(); freed with the row. */
struct kt;
void *kt_host(struct kt *t, enum kt_type type, size_t n, enum kt_data what,
              uint64_t seed);
/* Zeroed memory that is freed with the row. */
void *kt_alloc(struct kt *t, size_t nbytes);

/*
 * Is the row's next case this device's turn? Devices of one wave size take
 * turns, so that two of the five default targets run a case, one of each wave
 * size; which two depends on the row and the case. With FULL=1 in the
 * environment every device runs every case, and so does a device that gets no
 * turn in a row. A row must ask in one order on all devices.
 */
bool kt_turn(struct kt *t);

/*
 * Zeroed memory that the same call finds again, as it was left, when the case
 * runs on the next device: for references, which are the same on all. A case
 * must make these calls in one order on all devices, whatever fails there, so
 * they stand before its launch.
 */
struct kt_shared {
    struct kt_shared *next;
    size_t which; /* the case, and the call within it */
    size_t call;
    size_t nbytes;
    void *data;
    bool filled; /* the caller sets it */
};
struct kt_shared *kt_shared(struct kt *t, size_t nbytes);

/* ---- layouts (layout.c) ---- */

#define KT_MAX_RANK 8

enum kt_order {
    KT_CONTIGUOUS,
    KT_TRANSPOSED,      /* dims reversed in memory */
    KT_SLICED,          /* gaps: each row longer than its dim */
    KT_BROADCAST_OUTER, /* stride 0 in the first dim: one row for all */
    KT_BROADCAST_INNER, /* stride 0 in the last dim */
    KT_BROADCAST_ALL,   /* one element */
    KT_ODD_UNIT,        /* contiguous; dims of size 1 have odd strides */
    KT_NORDERS
};

struct kt_layout {
    char name[48]; /* "3x5 transposed" */
    size_t rank;
    size_t dims[KT_MAX_RANK];
    size_t strides[KT_MAX_RANK]; /* elements */
    size_t numel;                /* product of dims */
    size_t extent;               /* elements of memory: last offset + 1 */
};

struct kt_layout kt_layout(size_t rank, const size_t *dims,
                           enum kt_order order);
/*
 * A random layout: dimensions in any order in memory, some with gaps, some with
 * stride 0; dimensions of size 1 have any stride.
 */
struct kt_layout kt_any_layout(size_t rank, const size_t *dims, uint64_t *seed);
/* Offset in elements of logical index i. */
size_t kt_offset(const struct kt_layout *layout, size_t i);
/* Whether a layout is contiguous by the kernels' specification. */
bool kt_is_contiguous(const struct kt_layout *layout);

/* ---- the device (harness.c) ---- */

/* One device under test. */
struct kt {
    kpk_instance *inst;
    int device;
    char target[256];     /* its target ID */
    uint32_t wave_size;   /* lanes */
    const char *symbol;   /* the tested kernel, for messages */
    const char *what;     /* the case; set it before launching */
    uint32_t cluster;     /* blocks of one, along x, in launches; 0: none */
    unsigned long checks; /* elements compared in this row */
    unsigned long failures;
    struct kt_memory *memory;  /* freed with the row */
    struct kt_shared **shared; /* all of the row, on all devices */
    size_t which, call;        /* the case, and kt_shared()'s calls in it */
    size_t row;                /* its number */
    size_t turn, turns;        /* of devices with this wave size */
    bool every_case;
};

/*
 * Device memory of exactly nbytes, freed with the row, holding a copy of
 * `host` (or 0xA5 if NULL). `lead` bytes lie in front of the returned pointer,
 * so a lead of one element gives a pointer that is aligned to no more.
 */
void *kt_device(struct kt *t, const void *host, size_t nbytes, size_t lead);
/*
 * The same for gigabytes, not filled with a pattern. If there is not enough
 * memory, it returns NULL and prints that the case is left out.
 */
void *kt_large_device(struct kt *t, size_t nbytes);
/* Whether the device has this much memory; if not, it prints the same line. */
bool kt_device_holds(struct kt *t, size_t nbytes);
/* Whether the GPU is simulated: a thousand times slower, with the host's memory
 * as its own. */
bool kt_is_simulated(void);
void kt_read(struct kt *t, void *host, const void *device, size_t nbytes);
void kt_write(struct kt *t, void *device, const void *host, size_t nbytes);

/*
 * dims and stride groups of `n` layouts (which share their dims) as the
 * kernels' `info` argument, in device memory. NULL for rank 0.
 */
const size_t *kt_info(struct kt *t, size_t n,
                      const struct kt_layout *const *layouts);

/* Launches t->symbol and waits. False, and reported, if the launch failed. */
bool kt_launch(struct kt *t, const unsigned grid[3], const unsigned block[3],
               size_t shared_nbytes, const kpk_arg *args, size_t nargs);
/* One-dimensional, with up to 32 arguments, each a variable. */
#define KT_LAUNCH(t, grid_x, block_x, shared_nbytes, ...)                      \
    kt_launch((t), (const unsigned[3]){(grid_x), 1, 1},                        \
              (const unsigned[3]){(block_x), 1, 1}, (shared_nbytes),           \
              KPK_ARGS(__VA_ARGS__))

/* Reports a failure of t->symbol in case t->what. */
void kt_fail(struct kt *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- checks (check.c) ---- */

/*
 * |got - want| <= ulps * ulp(want) + abs * scale[i] must hold. `want` may lie
 * beyond the type's range: then infinity (f8: the largest number) is right, and
 * within one ulp of the threshold either.
 */
struct kt_gate {
    kt_real ulps;
    kt_real abs;          /* absolute, times scale[i] if scale is given */
    const kt_real *scale; /* [n] or NULL */
    bool zero_sign;       /* tell -0 from +0 (only where want is a zero) */
};
#define KT_EXACT ((struct kt_gate){0, 0, NULL, false})

/* Compares n elements; prints the first few that are wrong. */
void kt_check(struct kt *t, enum kt_type type, const void *got,
              const kt_real *want, size_t n, struct kt_gate gate);
/* Compares codes; every NaN of a float type equals every other. */
void kt_check_bits(struct kt *t, enum kt_type type, const void *got,
                   const void *want, size_t n);
/* Compares bytes, e.g. bytes that no kernel may write. */
void kt_check_bytes(struct kt *t, const void *got, const void *want,
                    size_t nbytes, const char *of_what);

/* The same for gigabytes of device memory that should be one row over and over.
 */
void kt_check_rows(struct kt *t, const void *device, const void *row,
                   size_t row_nbytes, size_t nbytes);

/* ---- the table of a test program ---- */

struct kt_row {
    const char *symbol;
    void (*run)(struct kt *t, const struct kt_row *row);
    enum kt_type a, b;  /* types of the row, used by the family */
    const void *detail; /* further data for the family */
};

/* `module` is a module of kpk_candle; rows must cover all of its kernels. */
int kt_main(int argc, char **argv, const kpk_module *module,
            const struct kt_row *rows, size_t nrows);
#define KT_MAIN(module, rows)                                                  \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        return kt_main(argc, argv, &(module), (rows),                          \
                       sizeof(rows) / sizeof((rows)[0]));                      \
    }

#endif
