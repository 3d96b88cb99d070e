/* launch_bench.c - what a typed launch costs beside an untyped one
 *
 * Under the unit tests' fake HIP, which does next to nothing: what is measured
 * is kpack's own part of a launch, and what is asked before one. Both ways take
 * turns, and each is given by its fastest turn, so that other work of the
 * machine counts little.
 */
#include <kpack/candle/affine.h>
#include <kpack/candle/vector_add.h>

#include "fake_hip.h"

#include <stdio.h>
#include <time.h>

enum { TURNS = 60, LAUNCHES = 20000 };

static double now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct bench {
    const kpk_affine_kernels *affine;
    const kpk_vector_add_kernels *vector_add;
    const kpk_kernel *affine_f32, *add;
    kpk_shape shape;
};

/* Not inlined, so that no compiler knows the arguments. */
__attribute__((noinline)) static kpk_status
typed_affine(const struct bench *b, size_t n, float *x, float by)
{
    return kpk_affine_f32(b->affine, &b->shape, NULL, n, 0, NULL, x, x, by, 1);
}

__attribute__((noinline)) static kpk_status
untyped_affine(const struct bench *b, size_t n, float *x, float by)
{
    const size_t rank = 0, *info = NULL;
    const float one = 1;

    return kpk_launch(b->affine_f32, &b->shape, NULL,
                      KPK_ARGS(n, rank, info, x, x, by, one));
}

__attribute__((noinline)) static kpk_status
typed_add(const struct bench *b, size_t n, float *x, float by)
{
    (void)by;
    return kpk_vector_add(b->vector_add, &b->shape, NULL, x, x, x, (uint32_t)n);
}

__attribute__((noinline)) static kpk_status
untyped_add(const struct bench *b, size_t n, float *x, float by)
{
    const uint32_t count = (uint32_t)n;

    (void)by;
    return kpk_launch(b->add, &b->shape, NULL, KPK_ARGS(x, x, x, count));
}

typedef kpk_status launch(const struct bench *b, size_t n, float *x, float by);

/* Nanoseconds a launch in one turn. */
static double turn(launch *l, const struct bench *b, float *x)
{
    const double begin = now_ns();

    for (int i = 0; i < LAUNCHES; i++)
        if (l(b, 1000, x, 2))
            return -1;
    return (now_ns() - begin) / LAUNCHES;
}

static int compare(const char *kernel, const struct bench *b, float *x,
                   launch *typed, launch *untyped)
{
    double best[2] = {1e9, 1e9};

    for (int i = 0; i < TURNS; i++) {
        const double a = turn(typed, b, x), c = turn(untyped, b, x);

        if (a < 0 || c < 0)
            return 1;
        best[0] = a < best[0] ? a : best[0];
        best[1] = c < best[1] ? c : best[1];
    }
    printf("%-12s typed %6.1f ns  untyped %6.1f ns  typed/untyped %.3f\n",
           kernel, best[0], best[1], best[0] / best[1]);
    return 0;
}

/* Times getting a loaded kernel, in a pack of MODULES. */
static int time_get(kpk_instance *gpu)
{
    const kpk_kernel *kernel;
    double best = 1e9;

    for (int t = 0; t < TURNS; t++) {
        const double begin = now_ns();
        double ns;

        for (int i = 0; i < LAUNCHES; i++)
            if (kpk_kernel_get(gpu, i & 1 ? "affine_f32" : "vector_add",
                               &kernel))
                return 1;
        ns = (now_ns() - begin) / LAUNCHES;
        best = ns < best ? ns : best;
    }
    printf("kpk_kernel_get() of a loaded kernel %6.1f ns\n", best);
    return 0;
}

/* Times finding a loaded kernel's launch shape. */
static int time_shape(const kpk_kernel *kernel)
{
    kpk_shape shape;
    double best = 1e9;

    for (int t = 0; t < TURNS; t++) {
        const double begin = now_ns();
        double ns;

        for (int i = 0; i < LAUNCHES; i++)
            if (kpk_kernel_shape(kernel, (uint64_t)1000 + (uint64_t)i, 0,
                                 &shape))
                return 1;
        ns = (now_ns() - begin) / LAUNCHES;
        best = ns < best ? ns : best;
    }
    printf("kpk_kernel_shape() of a loaded kernel %5.1f ns\n", best);
    return 0;
}

int main(void)
{
    struct bench b = {0};
    kpk_instance *gpu;
    float x[4];

    (void)fake_hip_load("fake_hip.so");
    b.shape = kpk_shape_1d(1000, 256);
    if (kpk_open(&kpk_candle, 0, &gpu) ||
        kpk_affine_kernels_get(gpu, &b.affine) ||
        kpk_vector_add_kernels_get(gpu, &b.vector_add) ||
        kpk_kernel_get(gpu, "affine_f32", &b.affine_f32) ||
        kpk_kernel_get(gpu, "vector_add", &b.add) ||
        compare("vector_add", &b, x, typed_add, untyped_add) ||
        compare("affine_f32", &b, x, typed_affine, untyped_affine) ||
        time_get(gpu) || time_shape(b.affine_f32) || kpk_close(gpu))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    return 0;
}
