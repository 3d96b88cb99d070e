/* gpu_bench.c - loads the rows' kernels, times them, prints the table */
#include "gpu_bench.h"
#include "bench_cuda.h"
#include "shapes.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK BENCH_CHECK
#define MAX_RUNS 50

static CUdeviceptr held[64]; /* the current row's memory */
static size_t nheld;

size_t bench_size(enum bench_type type)
{
    static const size_t sizes[] = {1, 4, 8, 2, 2, 4, 8};

    return sizes[type];
}

uint64_t bench_empty(size_t nbytes)
{
    CUdeviceptr p;

    if (nheld == sizeof(held) / sizeof(held[0]))
        bench_die("bench_empty", "too many buffers in one row");
    CHECK(cuda.cuMemAlloc(&p, nbytes ? nbytes : 1));
    held[nheld++] = p;
    return p;
}

uint64_t bench_upload(const void *data, size_t nbytes)
{
    const CUdeviceptr p = bench_empty(nbytes);

    CHECK(cuda.cuMemcpyHtoD(p, data, nbytes));
    return p;
}

/* Uploads `nbytes` of pattern and repeats it up to `total`. */
static uint64_t repeat(const void *pattern, size_t nbytes, size_t total)
{
    const CUdeviceptr p = bench_empty(total);
    size_t done = nbytes < total ? nbytes : total;

    CHECK(cuda.cuMemcpyHtoD(p, pattern, done));
    while (done < total) {
        const size_t n = total - done < done ? total - done : done;

        CHECK(cuda.cuMemcpyDtoD(p + done, p, n));
        done += n;
    }
    return p;
}

/* A random number in [-1, 1) in the type, or a random integer. */
static void put_random(enum bench_type type, void *to)
{
    const uint32_t r = bench_next_random();
    const float f = (float)(r >> 8) * 0x1p-23f - 1.0f;
    const double d = f;
    const uint16_t half = (uint16_t)((r & 0x83ffu) | 0x3800u); /* 0.5 .. 1 */
    uint32_t bits;

    switch (type) {
    case BENCH_F32:
        memcpy(to, &f, 4);
        break;
    case BENCH_F64:
        memcpy(to, &d, 8);
        break;
    case BENCH_F16:
        memcpy(to, &half, 2);
        break;
    case BENCH_BF16:
        memcpy(&bits, &f, 4);
        bits >>= 16;
        memcpy(to, &bits, 2);
        break;
    default:
        memset(to, 0, bench_size(type));
        memcpy(to, &r, bench_size(type) < 4 ? bench_size(type) : 4);
        break;
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

uint64_t bench_random(enum bench_type type, size_t n)
{
    const size_t size = bench_size(type);
    size_t m = least(n, 1 << 20);
    char *pattern = malloc(m * size + 1);
    uint64_t p;

    if (!pattern)
        bench_die("bench_random", "out of memory");
    for (size_t i = 0; i < m; i++)
        put_random(type, pattern + i * size);
    p = repeat(pattern, m * size, n * size);
    free(pattern);
    return p;
}

uint64_t bench_blocks(size_t nblocks, size_t block, int f16_at, int nf16)
{
    const size_t m = least(nblocks, 1 << 14);
    unsigned char *pattern = malloc(m * block + 4);
    uint64_t p;

    if (!pattern)
        bench_die("bench_blocks", "out of memory");
    for (size_t i = 0; i < m * block; i++)
        pattern[i] = (unsigned char)bench_next_random();
    for (size_t b = 0; b < m && f16_at >= 0; b++)
        for (int k = 0; k < nf16; k++) {
            const uint16_t half =
                (uint16_t)(0x2000u | (bench_next_random() & 0x3ffu));

            memcpy(pattern + b * block + (size_t)f16_at + 2 * (size_t)k, &half,
                   2);
        }
    p = repeat(pattern, m * block, nblocks * block);
    free(pattern);
    return p;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static CUevent start, stop;

/* Milliseconds: the median of `runs` launches (or copies if f is NULL). */
static float time_runs(CUfunction f, struct bench_launch *l, unsigned runs)
{
    void *args[BENCH_MAX_ARGS];
    float ms[MAX_RUNS];

    for (unsigned i = 0; i < l->nargs; i++)
        args[i] = &l->args[i];
    for (unsigned i = 0; i < runs + 3; i++) {
        CHECK(cuda.cuEventRecord(start, NULL));
        if (f)
            CHECK(cuda.cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2],
                                      l->block[0], l->block[1], l->block[2],
                                      l->shared_nbytes, NULL, args, NULL));
        else
            CHECK(cuda.cuMemcpyDtoDAsync(l->args[0], l->args[1], l->args[2],
                                         NULL));
        CHECK(cuda.cuEventRecord(stop, NULL));
        CHECK(cuda.cuEventSynchronize(stop));
        if (i >= 3)
            CHECK(cuda.cuEventElapsedTime(&ms[i - 3], start, stop));
    }
    qsort(ms, runs, sizeof(ms[0]), by_value);
    return ms[runs / 2];
}

static void release(void)
{
    while (nheld)
        CHECK(cuda.cuMemFree(held[--nheld]));
}

static double measure_copy(void)
{
    const size_t n = (size_t)1 << 30;
    struct bench_launch l = {0};
    double gbs;

    l.args[0] = bench_empty(n);
    l.args[1] = bench_random(BENCH_F32, n / 4);
    l.args[2] = n;
    gbs = 2.0 * (double)n / time_runs(NULL, &l, 20) / 1e6;
    release();
    return gbs;
}

/* NULL if there is no such cubin. */
static CUmodule load(const char *dir, const char *module)
{
    char path[512];
    CUmodule m;

    snprintf(path, sizeof(path), "%s/%s.cubin", dir, module);
    return cuda.cuModuleLoad(&m, path) == 0 ? m : NULL;
}

static void run_table(const struct bench_row *row, const char *dir,
                      const char *glob, double copy_gbs)
{
    const char *module = "";
    CUmodule m = NULL;

    for (; row->symbol; row++) {
        struct bench_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
        CUfunction f;
        float ms;

        if (fnmatch(glob, row->symbol, 0) != 0)
            continue;
        if (strcmp(module, row->module) != 0)
            m = load(dir, module = row->module);
        if (!m || cuda.cuModuleGetFunction(&f, m, row->symbol) != 0) {
            printf("%-34s %-40s not in %s/%s.cubin\n", row->symbol, row->label,
                   dir, module);
            continue;
        }
        row->prepare(&l, row);
        if (l.shared_nbytes > 48 * 1024) /* 8: max dynamic shared size */
            CHECK(cuda.cuFuncSetAttribute(f, 8, (int)l.shared_nbytes));
        ms = time_runs(f, &l, 15);
        printf("%-34s %-40s %9.4f ms %8.0f GB/s %5.1f %%", row->symbol,
               row->label, (double)ms, l.nbytes / ms / 1e6,
               100 * l.nbytes / ms / 1e6 / copy_gbs);
        if (l.nops > 0)
            printf(" %8.2f Tops/s", l.nops / ms / 1e9);
        printf("\n");
        fflush(stdout);
        release();
    }
}

static int large_cases(const char *glob, const char *dir)
{
    static const struct bench_row *const tables[] = {
        bench_elementwise, bench_indexing, bench_conv, bench_reduce,
        bench_quantized};
    double copy_gbs;

    CHECK(cuda.cuEventCreate(&start, 0));
    CHECK(cuda.cuEventCreate(&stop, 0));
    copy_gbs = measure_copy();
    printf("copy ceiling: %.0f GB/s (1 GiB device to device, read and "
           "written)\n\n",
           copy_gbs);
    printf("%-34s %-40s %12s %13s %7s\n", "kernel", "case", "median", "moved",
           "of copy");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        run_table(tables[i], dir, glob, copy_gbs);
    return 0;
}

int main(int argc, char **argv)
{
    char name[128];
    CUdevice device;
    CUcontext context;
    int version = 0;

    if (argc == 3 && strcmp(argv[1], "list") == 0)
        return bench_list_shapes(argv[2]);
    if (argc < 4 || (strcmp(argv[1], "large") != 0 && argc < 5)) {
        fprintf(stderr, "usage: bench-gpu large GLOB CUBINS\n"
                        "       bench-gpu shapes GLOB TABLE.csv CUBINS "
                        "[OTHERS' CUBINS]...\n"
                        "       bench-gpu list TABLE.csv\n");
        return 2;
    }
    bench_bind_cuda();
    CHECK(cuda.cuInit(0));
    CHECK(cuda.cuDeviceGet(&device, 0));
    CHECK(cuda.cuDeviceGetName(name, sizeof(name), device));
    CHECK(cuda.cuDriverGetVersion(&version));
    CHECK(cuda.cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuda.cuCtxSetCurrent(context));
    printf("device: %s, CUDA driver %d.%d\n", name, version / 1000,
           version % 1000 / 10);
    if (strcmp(argv[1], "large") == 0)
        return large_cases(argv[2], argv[3]);
    return bench_shapes(argv[3], argv[2], (const char *const *)argv + 4,
                        (unsigned)argc - 4);
}
