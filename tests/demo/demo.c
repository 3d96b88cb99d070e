/* demo.c - opens two modules on a GPU, runs a kernel of each, checks them
 *
 * On a machine with a GPU that is device 0. Under the simulated HIP runtime
 * it is every simulated device, one after the other, so that each target of
 * the pack is seen at work.
 *
 * Exit status: 0 PASSED, 1 FAILED, 3 there is no HIP runtime or no GPU.
 */
#include <kpack.h>
#include <kpack/candle.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_GPU = 3 };

/* Not a multiple of anything a kernel could be tuned for. */
enum { N = 100003, ROWS = 131, COLS = 257 };

/* Prints what was being done and kpack's own words; used by every step. */
static bool ok(kpk_status st, const char *step)
{
    if (st != KPK_OK)
        printf("  %s: %s\n", step, kpk_error_message());
    return st == KPK_OK;
}

/* |got - want| in units of want's last place, want being computed in double;
 * endless for a NaN, which is what nothing has written. */
static double error_in_ulp(float got, double want)
{
    float nearest = (float)want;
    double ulp =
        (double)nextafterf(fabsf(nearest), INFINITY) - (double)fabsf(nearest);

    return isnan(got) ? INFINITY : fabs((double)got - want) / ulp;
}

/* Host and device copies of three arrays, for one check. */
struct arrays {
    float *host[3];
    void *device[3];
};

static void free_arrays(kpk_instance *gpu, struct arrays *a)
{
    for (int i = 0; i < 3; i++) {
        free(a->host[i]);
        (void)kpk_free(gpu, a->device[i]);
    }
}

/* The first two are filled and copied, the third is for the result. */
static bool make_arrays(kpk_instance *gpu, struct arrays *a, size_t n)
{
    const size_t nbytes = n * sizeof(float);

    memset(a, 0, sizeof(*a));
    for (int i = 0; i < 3; i++) {
        a->host[i] = calloc(n, sizeof(float));
        if (!a->host[i] ||
            !ok(kpk_malloc(gpu, nbytes, &a->device[i]), "malloc"))
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        a->host[0][i] = 0.25f + (float)(i % 1009) / 7.0f;
        a->host[1][i] = 0.5f + (float)(i % 2003) / 3.0f;
    }
    return ok(kpk_copy_to(gpu, a->device[0], a->host[0], nbytes), "copy") &&
           ok(kpk_copy_to(gpu, a->device[1], a->host[1], nbytes), "copy") &&
           ok(kpk_fill(gpu, a->device[2], 0xff, nbytes), "fill");
}

static bool report(const char *what, double worst, double allowed)
{
    printf("  %-34s worst error %.2f ulp: %s\n", what, worst,
           worst <= allowed ? "ok" : "WRONG");
    return worst <= allowed;
}

/* c = a + b. One rounding, so half a unit in the last place. */
static bool check_vector_add(kpk_instance *gpu, double *worst)
{
    const kpk_kernel *kernel;
    const kpk_shape shape = kpk_shape_1d(N, 256);
    uint32_t n = N;
    struct arrays a;
    bool good =
        make_arrays(gpu, &a, N) &&
        ok(kpk_kernel_get(gpu, "vector_add", &kernel), "get") &&
        ok(kpk_launch(kernel, &shape, NULL,
                      KPK_ARGS(a.device[0], a.device[1], a.device[2], n)),
           "launch") &&
        ok(kpk_copy_from(gpu, a.host[2], a.device[2], N * sizeof(float)),
           "copy");

    *worst = 0;
    for (size_t i = 0; good && i < N; i++)
        *worst = fmax(*worst, error_in_ulp(a.host[2][i], (double)a.host[0][i] +
                                                             a.host[1][i]));
    free_arrays(gpu, &a);
    return good && report("vector_add, 100003 elements", *worst, 0.5);
}

/* out = in^T * 1.5 + 0.125, the transposed view by strides. The product and
 * the sum may be rounded each or as one: one unit in the last place. */
static bool check_affine(kpk_instance *gpu, double *worst)
{
    const size_t numel = (size_t)ROWS * COLS;
    const size_t rank = 2;
    /* dims of the view, then its strides in elements */
    const size_t info[4] = {COLS, ROWS, 1, COLS};
    const float mul = 1.5f;
    const float add = 0.125f;
    const kpk_shape shape = kpk_shape_1d(numel, 1024);
    const kpk_kernel *kernel;
    void *device_info = NULL;
    struct arrays a;
    bool good =
        make_arrays(gpu, &a, numel) &&
        ok(kpk_malloc(gpu, sizeof(info), &device_info), "malloc") &&
        ok(kpk_copy_to(gpu, device_info, info, sizeof(info)), "copy") &&
        ok(kpk_kernel_get(gpu, "affine_f32", &kernel), "get") &&
        ok(kpk_launch(kernel, &shape, NULL,
                      KPK_ARGS(numel, rank, device_info, a.device[0],
                               a.device[2], mul, add)),
           "launch") &&
        ok(kpk_copy_from(gpu, a.host[2], a.device[2], numel * sizeof(float)),
           "copy");

    *worst = 0;
    for (size_t i = 0; good && i < numel; i++) {
        const float x = a.host[0][i % ROWS * COLS + i / ROWS];

        *worst =
            fmax(*worst, error_in_ulp(a.host[2][i], (double)x * mul + add));
    }
    (void)kpk_free(gpu, device_info);
    free_arrays(gpu, &a);
    return good && report("affine_f32, 257 x 131 transposed", *worst, 1.0);
}

static bool run_on(int ordinal, double *worst)
{
    const kpk_module *const modules[] = {&kpk_module_vector_add,
                                         &kpk_module_affine};
    kpk_instance *gpu = NULL;
    kpk_device device;
    kpk_selection selection;
    double error = 0;
    bool good;

    *worst = 0;
    good = ok(kpk_device_get(ordinal, &device), "device");

    if (!good)
        return false;
    printf("device %d: %s, %s\n", ordinal, device.name, device.target);
    good = ok(kpk_open_modules(modules, 2, ordinal, &gpu), "open") &&
           ok(kpk_instance_selection(gpu, "affine", &selection), "select");
    if (good) {
        printf("  code object %s: %s\n", selection.target, selection.why);
        good = check_vector_add(gpu, &error);
        *worst = fmax(*worst, error);
        good = check_affine(gpu, &error) && good;
        *worst = fmax(*worst, error);
    }
    good = ok(kpk_close(gpu), "close") && good;
    printf("  %s on %s, worst error %.2f ulp\n", good ? "PASSED" : "FAILED",
           device.target, *worst);
    return good;
}

int main(void)
{
    const char *path = NULL;
    kpk_device first;
    double worst = 0;
    int ndevices = 0;
    int nfailed = 0;
    int version = 0;

    if (!ok(kpk_device_get(0, &first), "device") ||
        !ok(kpk_driver_info(first.platform, &version, &path), "driver"))
        return NO_GPU;
    if (first.platform == KPK_HIP)
        printf("HIP %d.%d from %s\n", version / 10000000,
               version / 100000 % 100, path);
    else
        printf("CUDA driver %d.%d from %s\n", version / 1000,
               version / 10 % 100, path);
    if (strstr(first.name, "(simulated)")) {
        printf("No GPU is used: the devices are simulated on the CPU.\n");
        if (!ok(kpk_device_count(&ndevices), "count"))
            return NO_GPU;
    } else {
        ndevices = 1;
    }
    for (int i = 0; i < ndevices; i++) {
        double error;

        nfailed += !run_on(i, &error);
        worst = fmax(worst, error);
    }
    printf("%s: vector_add and affine_f32 on %d device%s, %d wrong, worst "
           "error %.2f ulp\n",
           nfailed ? "FAILED" : "PASSED", ndevices, ndevices == 1 ? "" : "s",
           nfailed, worst);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("cannot write to standard output");
        return 1;
    }
    return nfailed ? 1 : 0;
}
