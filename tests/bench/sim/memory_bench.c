/* memory_bench.c - how kernels use memory on the simulated GPU, and
 * instructions
 *
 * usage: LD_LIBRARY_PATH=build/sim bench-memory
 *
 * For each kernel and device: the share of the bytes moved between memory and
 * chip, in whole segments of 64 bytes, that lanes asked for, and the vector
 * instructions (times active lanes) that an element costs. Both at the shape of
 * candle's callers and at the recommended one, in one grid. A kernel that moves
 * contiguous data must ask for at least 95 % of what is moved; the last line
 * counts. Other rows are for readers alone.
 *
 * At candle's shape this grid is a small one, in which a thread takes one
 * element (kernels/include/walk.h). A wave of 32 then asks for half a segment
 * of bytes, and the next wave for the other half: 95 % of what a wave can ask
 * for is the bound there.
 */
#include "sim/hip/kpk_sim.h"

#include <kpack.h>
#include <kpack/candle.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 18, SIDE = 512, COLUMNS = 1024 };

enum family {
    UNARY,  /* n, rank, info, in, out */
    AFFINE, /* the same, mul, add */
    BINARY, /* n, rank, info, lhs, rhs, out */
    WHERE,  /* n, rank, info, condition, t, f, out */
    FILL,   /* out, value, n */
    FAST,   /* n, columns, rank, info, in, out */
    SOFTMAX,
    NORM,
    SELECT, /* index_select of whole rows */
    ROPE,
    POOL,
    COLUMNS_OF_IMAGE
};

enum layout { CONTIGUOUS, TRANSPOSED };

static const struct row {
    const char *kernel;
    enum family family;
    enum layout layout;
    size_t size; /* bytes of a scalar, of T */
} rows[] = {
    {"affine_f32", AFFINE, CONTIGUOUS, 4},
    {"affine_f16", AFFINE, CONTIGUOUS, 2},
    {"affine_u8", AFFINE, CONTIGUOUS, 1},
    {"fill_f32", FILL, CONTIGUOUS, 4},
    {"badd_f32", BINARY, CONTIGUOUS, 4},
    {"badd_bf16", BINARY, CONTIGUOUS, 2},
    {"badd_f64", BINARY, CONTIGUOUS, 8},
    {"lt_f32", BINARY, CONTIGUOUS, 4},
    {"ugelu_f32", UNARY, CONTIGUOUS, 4},
    {"ugelu_f16", UNARY, CONTIGUOUS, 2},
    {"uexp_f64", UNARY, CONTIGUOUS, 8},
    {"cast_f32_f16", UNARY, CONTIGUOUS, 4},
    {"cast_u8_f32", UNARY, CONTIGUOUS, 4},
    {"where_u8_f32", WHERE, CONTIGUOUS, 4},
    {"ucopy_f32", UNARY, TRANSPOSED, 4},
    {"ucopy_f16", UNARY, TRANSPOSED, 2},
    {"ucopy_u8", UNARY, TRANSPOSED, 1},
    {"fast_sum_f32", FAST, CONTIGUOUS, 4},
    {"fast_sum_f16", FAST, CONTIGUOUS, 2},
    {"fast_argmax_f32", FAST, CONTIGUOUS, 4},
    {"softmax_f32", SOFTMAX, CONTIGUOUS, 4},
    {"rmsnorm_f32", NORM, CONTIGUOUS, 4},
    {"layernorm_f32", NORM, CONTIGUOUS, 4},
    {"layernorm_bf16", NORM, CONTIGUOUS, 2},
    {"is_u32_f32", SELECT, CONTIGUOUS, 4},
    {"rope_f32", ROPE, CONTIGUOUS, 4},
    {"max_pool2d_f32", POOL, CONTIGUOUS, 4},
    {"im2col_f32", COLUMNS_OF_IMAGE, CONTIGUOUS, 4},
};

/* Bytes per element of each operand, for kernels with an operand of another
 * type than T. */
static const struct {
    const char *kernel;
    size_t operands[4];
} mixed[] = {
    {"lt_f32", {4, 4, 1}},
    {"cast_f32_f16", {4, 2}},
    {"cast_u8_f32", {1, 4}},
    {"where_u8_f32", {1, 4, 4, 4}},
};

static void check(kpk_status status)
{
    if (status == KPK_OK)
        return;
    fprintf(stderr, "bench-memory: %s\n", kpk_error_message());
    exit(1);
}

/* All of a device's buffers hold zeros: ids and data that any kernel takes. */
struct buffers {
    void *in[3], *out, *info;
};

static void allocate(kpk_instance *gpu, struct buffers *b)
{
    for (int i = 0; i < 3; i++) {
        check(kpk_malloc(gpu, (size_t)N * 8, &b->in[i]));
        check(kpk_fill(gpu, b->in[i], 0, (size_t)N * 8));
    }
    check(kpk_malloc(gpu, (size_t)N * (size_t)(9 * 4), &b->out));
    check(kpk_malloc(gpu, 64 * 8, &b->info));
}

static void release(kpk_instance *gpu, const struct buffers *b)
{
    for (int i = 0; i < 3; i++)
        check(kpk_free(gpu, b->in[i]));
    check(kpk_free(gpu, b->out));
    check(kpk_free(gpu, b->info));
}

static void put_info(kpk_instance *gpu, const struct buffers *b,
                     const uint64_t *info, size_t n)
{
    check(kpk_copy_to(gpu, b->info, info, n * sizeof(*info)));
}

/* How many elements the row's kernel makes. */
static uint64_t elements_of(const struct row *r)
{
    return r->family == COLUMNS_OF_IMAGE ? (uint64_t)N * 9 : N;
}

static kpk_shape contract_shape(const struct row *r)
{
    kpk_shape shape = kpk_shape_1d(r->family == ROPE   ? N / 2
                                   : r->family == POOL ? N / 4
                                                       : elements_of(r),
                                   1024);

    if (r->family >= FAST && r->family <= NORM)
        shape.grid[0] = N / COLUMNS;
    if (r->family == SOFTMAX) {
        shape.block[0] = 1;
        shape.block[1] = 32;
    }
    return shape;
}

static void launch_elementwise(kpk_instance *gpu, const kpk_kernel *kernel,
                               const kpk_shape *shape, const struct row *r,
                               const struct buffers *b)
{
    const uint64_t view[] = {SIDE, SIDE, 1, SIDE};
    uint64_t n = N, rank = 2, scalar = 0;
    const void *info = r->layout == TRANSPOSED ? b->info : NULL;
    const kpk_arg affine[] = {
        {&n, 8},      {&rank, 8},         {&info, 8},        {&b->in[0], 8},
        {&b->out, 8}, {&scalar, r->size}, {&scalar, r->size}};
    float value = 0;

    switch (r->family) {
    case UNARY:
        put_info(gpu, b, view, 4);
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(n, rank, info, b->in[0], b->out)));
        break;
    case AFFINE:
        check(kpk_launch(kernel, shape, NULL, affine, 7));
        break;
    case BINARY:
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(n, rank, info, b->in[0], b->in[1], b->out)));
        break;
    case WHERE:
        check(kpk_launch(
            kernel, shape, NULL,
            KPK_ARGS(n, rank, info, b->in[0], b->in[1], b->in[2], b->out)));
        break;
    default: /* FILL */
        check(kpk_launch(kernel, shape, NULL, KPK_ARGS(b->out, value, n)));
        break;
    }
}

static void launch_over_rows(kpk_instance *gpu, const kpk_kernel *kernel,
                             const kpk_shape *shape, const struct row *r,
                             const struct buffers *b)
{
    const uint64_t lines[] = {N / COLUMNS, COLUMNS, COLUMNS, 1};
    uint64_t n = N, two = 2, columns = COLUMNS;
    int32_t ncols = COLUMNS, block = (int32_t)shape->block[0];
    float eps = 1e-5f;
    void *null = NULL;

    if (r->family == FAST) {
        put_info(gpu, b, lines, 4);
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(n, columns, two, b->info, b->in[0], b->out)));
    } else if (r->family == SOFTMAX) {
        check(
            kpk_launch(kernel, shape, NULL, KPK_ARGS(b->in[0], b->out, ncols)));
    } else if (r->kernel[0] == 'l') {
        check(kpk_launch(
            kernel, shape, NULL,
            KPK_ARGS(b->in[0], b->out, null, null, ncols, block, eps)));
    } else {
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(b->in[0], b->out, null, ncols, block, eps)));
    }
}

/* Lookups, rotations and images. */
static void launch_other(kpk_instance *gpu, const kpk_kernel *kernel,
                         const kpk_shape *shape, const struct row *r,
                         const struct buffers *b)
{
    const uint64_t ids[] = {N / COLUMNS, 1};
    const uint64_t image[] = {1, 4, 256, 256, N, 65536, 256, 1};
    uint64_t n = N, one = 1, two = 2, three = 3, side = 256;
    uint64_t select[] = {1, N / COLUMNS, N / COLUMNS, COLUMNS};
    uint64_t taps = elements_of(r);
    uint32_t heads = 8, td = N / 8, d = 128, none = 0;

    switch (r->family) {
    case SELECT:
        put_info(gpu, b, ids, 2);
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(n, one, b->info, b->in[0], b->in[1], b->out,
                                  select[0], select[1], select[2], select[3])));
        break;
    case ROPE:
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(b->in[0], b->in[1], b->in[2], b->out, heads,
                                  td, d, none)));
        break;
    case POOL:
        put_info(gpu, b, image, 8);
        check(kpk_launch(
            kernel, shape, NULL,
            KPK_ARGS(n, two, two, two, two, b->info, b->in[0], b->out)));
        break;
    default: /* COLUMNS_OF_IMAGE */
        put_info(gpu, b, image, 8);
        check(kpk_launch(kernel, shape, NULL,
                         KPK_ARGS(taps, side, side, three, three, one, one, one,
                                  b->info, b->in[0], b->out)));
        break;
    }
}

/*
 * Launches the row's kernel; `contract` is candle's shape, else the recommended
 * one. Returns how many elements it makes, 0 if there is no such shape.
 */
static double launch(kpk_instance *gpu, const struct row *r,
                     const struct buffers *b, bool contract)
{
    const bool by_row = r->family >= FAST && r->family <= NORM;
    const kpk_kernel *kernel;
    kpk_shape shape = contract_shape(r);

    check(kpk_kernel_get(gpu, r->kernel, &kernel));
    if (!contract) {
        const kpk_status status =
            kpk_kernel_shape(kernel, by_row ? N / COLUMNS : elements_of(r),
                             by_row ? COLUMNS : 0, &shape);

        if (status == KPK_ERR_NO_ROW)
            return 0;
        check(status);
    }
    if (r->family <= FILL)
        launch_elementwise(gpu, kernel, &shape, r, b);
    else if (by_row)
        launch_over_rows(gpu, kernel, &shape, r, b);
    else
        launch_other(gpu, kernel, &shape, r, b);
    check(kpk_sync(gpu, NULL));
    return (double)elements_of(r);
}

/* The share that waves can ask for whose threads take an element each. */
static double share_of_elements(const struct row *r, unsigned wave)
{
    enum { SEGMENT = 64 };
    const size_t same[4] = {r->size};
    const size_t *operands = same;
    double asked = 0;
    double moved = 0;

    for (size_t i = 0; i < sizeof(mixed) / sizeof(mixed[0]); i++)
        if (strcmp(mixed[i].kernel, r->kernel) == 0)
            operands = mixed[i].operands;
    for (int i = 0; i < 4; i++) {
        const size_t nbytes = operands[i] * wave;
        const size_t segments = (nbytes + SEGMENT - 1) / SEGMENT;

        asked += (double)nbytes;
        moved += (double)(segments * SEGMENT);
    }
    return asked / moved;
}

/* Prints a cell; whether the kernel asks for enough of what it moves. */
static bool measure(kpk_instance *gpu, const struct row *r,
                    const struct buffers *b, bool contract,
                    int (*get)(struct sim_stats *), void (*reset)(void))
{
    const double share =
        contract ? share_of_elements(r, kpk_instance_device(gpu)->wave_size)
                 : 1;
    struct sim_stats s;
    double made, asked, moved;

    reset();
    made = launch(gpu, r, b, contract);
    if (made == 0) {
        printf("  %17s", "-");
        return true;
    }
    get(&s);
    asked = (double)(s.bytes_read + s.bytes_written);
    moved = (double)(s.segment_bytes_read + s.segment_bytes_written);
    printf("  %6.1f %% %8.1f", 100 * asked / moved,
           (double)s.lane_insns / made);
    return asked >= 0.95 * share * moved;
}

int main(void)
{
    int (*get)(struct sim_stats *);
    void (*reset)(void);
    unsigned passed = 0, failed = 0;
    int ndevices;
    void *hip; /* the library's handle */

    check(kpk_device_count(&ndevices));
    hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&get = hip ? dlsym(hip, "kpkSimGetStats") : NULL;
    *(void **)&reset = hip ? dlsym(hip, "kpkSimResetStats") : NULL;
    if (!get || !reset) {
        fprintf(stderr, "bench-memory: this is no simulated GPU: run it with "
                        "LD_LIBRARY_PATH=build/sim\n");
        return 1;
    }
    printf("asked of moved, lane instructions an element; at candle's shape, "
           "then at the recommended one\n\n");
    for (int i = 0; i < ndevices; i++) {
        struct buffers b;
        kpk_device device;
        kpk_instance *gpu;

        check(kpk_device_get(i, &device));
        check(kpk_open(&kpk_candle, i, &gpu));
        allocate(gpu, &b);
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            const struct row *r = &rows[k];
            bool ok;

            printf("%-26s %-16s", device.target, r->kernel);
            ok = measure(gpu, r, &b, true, get, reset);
            ok = measure(gpu, r, &b, false, get, reset) && ok;
            ok = ok || r->layout != CONTIGUOUS || r->family > FILL;
            printf("%s\n", ok ? "" : "  BELOW 95 %");
            passed += ok;
            failed += !ok;
        }
        release(gpu, &b);
        check(kpk_close(gpu));
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
