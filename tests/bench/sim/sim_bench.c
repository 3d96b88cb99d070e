/* sim_bench.c - measures the simulated GPU: execution and decoding
 *
 * usage: bench-sim KERNELS.hsaco CODE.hsaco [KERNEL]
 *
 * Runs on device 0 with one worker thread; prints for each kernel active-lane
 * instructions a second (vector instructions times active lanes) and all
 * instructions a second, and how long decoding all of CODE.hsaco takes. With
 * KERNEL that one only, for counters of the processor: `perf stat`.
 */
#include "sim/base/loader.h"
#include "sim/hip/kpk_sim.h"
#include "sim/isa/code_cache.h"
#include "sim/isa/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
int hipModuleLoad(hipModule_t *module, const char *file);
int hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name);
int hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy,
                          unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **args,
                          void **extra);
int hipMalloc(void **p, size_t n);
int hipMemset(void *p, int value, size_t n);
int hipDeviceSynchronize(void);
const char *hipGetErrorName(int error);

#define CHECK(call) check((call), #call)

static void check(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, hipGetErrorName(error));
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run(hipModule_t module, const char *name, unsigned n, void *in,
                void *out)
{
    enum { GROUPS = 64, REPEATS = 5 };
    void *args[] = {&in, &out, &n};
    double best = 1e9;
    struct sim_stats stats;
    hipFunction_t f;

    CHECK(hipModuleGetFunction(&f, module, name));
    for (int i = 0; i <= REPEATS; i++) { /* the first one decodes */
        const double begin = cpu_seconds();
        double seconds;

        kpkSimResetStats();
        CHECK(hipModuleLaunchKernel(f, GROUPS, 1, 1, 256, 1, 1, 0, NULL, args,
                                    NULL));
        CHECK(hipDeviceSynchronize());
        seconds = cpu_seconds() - begin;
        if (i > 0 && seconds < best)
            best = seconds;
    }
    kpkSimGetStats(&stats);
    printf("%-12s %8.1f %10.2f\n", name, (double)stats.lane_insns / best * 1e-6,
           (double)stats.insns / best * 1e-6);
}

static void decode(const char *path)
{
    struct sim_device *const device = sim_device_get(0);
    struct sim_code_object *object;
    FILE *file = fopen(path, "rb");
    size_t size, ninsns = 0;
    uint64_t at = UINT64_MAX;
    struct sim_code *code;
    char why[256], *bytes;
    double begin;

    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    size = (size_t)ftell(file);
    (void)fseek(file, 0, SEEK_SET);
    bytes = malloc(size);
    if (!bytes || fread(bytes, 1, size, file) != size) {
        perror(path);
        exit(1);
    }
    (void)fclose(file);
    if (sim_code_object_load(device, bytes, size, &object, why) !=
        SIM_LOAD_OK) {
        fprintf(stderr, "%s: %s\n", path, why);
        exit(1);
    }
    begin = cpu_seconds();
    code = sim_code_of(sim_mem_find(object->kernels[0].entry), device->target);
    for (uint32_t k = 0; k < object->nkernels; k++)
        if (object->kernels[k].entry < at)
            at = object->kernels[k].entry;
    while (at + 4 <= code->base + code->size) { /* text and later bytes */
        const struct insn *in =
            sim_decode(code, at, object->kernels[0].wave_size);

        ninsns++;
        at += in->size ? in->size : 4;
    }
    printf("decoding     %8.3f s for %s: %.2f MB, %zu instructions\n",
           cpu_seconds() - begin, path, (double)size * 1e-6, ninsns);
    sim_code_object_free(object);
    free(bytes);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned n; /* rounds in the kernel's loop */
    } kernels[] = {
        {"bench_fma", 2000},    {"bench_mixed", 500},   {"bench_scalar", 3000},
        {"bench_stream", 1000}, {"bench_gather", 2000}, {"bench_tile", 100},
        {"bench_matrix", 100},  {"bench_swap", 200},    {"bench_divide", 200},
    };
    const char *const only = argc == 4 ? argv[3] : NULL;
    hipModule_t module;
    void *in, *out;

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: bench-sim KERNELS.hsaco CODE.hsaco [KERNEL]\n");
        return 2;
    }
    kpkSimConfig()->threads = 1;
    CHECK(hipMalloc(&in, 1024));
    CHECK(hipMalloc(&out, (size_t)64 * 256 * 4));
    CHECK(hipMemset(in, 0x3e, 1024));
    CHECK(hipModuleLoad(&module, argv[1]));
    printf("device 0: %s\n", sim_device_get(0)->target_id);
    printf("million a second a core: active-lane instructions, instructions\n");
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (!only || strcmp(only, kernels[i].name) == 0)
            run(module, kernels[i].name, kernels[i].n, in, out);
    if (!only)
        decode(argv[2]);
    return 0;
}
