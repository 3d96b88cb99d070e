/* card.c - what kpack adds to a launch and to a start on an NVIDIA GPU
 *
 *   card              launches of kpack beside the driver's, and
 *                     kpk_kernel_get() of a loaded kernel
 *   card start HOW    the time from a process's start to a kernel's first
 * result on the host: as a user's program has it (kpack), and with calls of the
 * driver alone (raw). HOW names the pack's code in the output
 *
 * All ways take turns in one process, so that clocks and other work of the
 * machine count alike. A turn is a burst that fits the driver's queue: the GPU
 * never holds the host up, and what is timed is the host's part. The middle of
 * the turns is what counts.
 */
#define _GNU_SOURCE /* setenv, mkdtemp and posix_spawn; the name is glibc's */
#include <kpack.h>
#include <kpack/bench_launch.h>
#include <kpack/bench_launch/empty.h>

#include "../../scratch.h"

#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 2001, BURST = 200, GETS = 100000, STARTS = 7 };

/* The driver's functions by their exported names; results are a CUresult. */
#define CUDA_TABLE(X)                                                          \
    X(cuInit, (unsigned))                                                      \
    X(cuDeviceGet, (int *, int))                                               \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                \
    X(cuCtxSetCurrent, (void *))                                               \
    X(cuModuleLoadData, (void **, const void *))                               \
    X(cuModuleGetFunction, (void **, void *, const char *))                    \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                     \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                             \
    X(cuLaunchKernel,                                                          \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, void *, void **, void **))
#include "../../cuda_table.h"

static void die(const char *what)
{
    fprintf(stderr, "card: %s\n", what);
    exit(1);
}

static void need(kpk_status st)
{
    if (st != KPK_OK)
        die(kpk_error_message());
}

static void need_cuda(int error, const char *call)
{
    if (error != 0) {
        fprintf(stderr, "card: %s returned %d\n", call, error);
        exit(1);
    }
}
#define CUDA(name, args) need_cuda(cuda.name args, #name)

static void find_driver(const char *path)
{
    void *driver = dlopen(path, RTLD_NOW);
    const char *lacks;

    if (!driver)
        die(dlerror());
    lacks = fill_cuda(driver);
    if (lacks) {
        fprintf(stderr, "card: the CUDA driver has no %s\n", lacks);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), ascending);
    return values[n / 2];
}

/* CUDA's first device, by kpack's number. */
static int first_card(kpk_device *out)
{
    int ndevices;

    need(kpk_device_count(&ndevices));
    for (int d = 0; d < ndevices; d++) {
        need(kpk_device_get(d, out));
        if (out->platform == KPK_CUDA)
            return d;
    }
    die("no device of CUDA's");
    return -1;
}

/* ---- launches ---- */

struct bench {
    kpk_instance *gpu;
    const kpk_empty_kernels *typed;
    const kpk_kernel *nothing, *seven;
    void *raw_nothing, *raw_seven; /* CUfunctions */
    kpk_shape shape;
    float *x; /* of the device */
};

/* A launch per call. Not inlined, so that the compiler does not know the
 * arguments. */
#define WAY static __attribute__((noinline)) int

WAY raw_nothing(const struct bench *b, size_t n, float by)
{
    (void)n, (void)by;
    return cuda.cuLaunchKernel(b->raw_nothing, b->shape.grid[0], 1, 1,
                               b->shape.block[0], 1, 1, 0, NULL, NULL, NULL);
}

WAY typed_nothing(const struct bench *b, size_t n, float by)
{
    (void)n, (void)by;
    return (int)kpk_nothing(b->typed, &b->shape, NULL);
}

WAY checked_nothing(const struct bench *b, size_t n, float by)
{
    (void)n, (void)by;
    return (int)kpk_launch(b->nothing, &b->shape, NULL, NULL, 0);
}

WAY raw_seven(const struct bench *b, size_t n, float by)
{
    size_t rank = 0, *info = NULL;
    float *x = b->x, one = 1;
    void *params[] = {&n, &rank, &info, &x, &x, &by, &one};

    return cuda.cuLaunchKernel(b->raw_seven, b->shape.grid[0], 1, 1,
                               b->shape.block[0], 1, 1, 0, NULL, params, NULL);
}

WAY typed_seven(const struct bench *b, size_t n, float by)
{
    return (int)kpk_seven(b->typed, &b->shape, NULL, n, 0, NULL, b->x, b->x, by,
                          1);
}

WAY checked_seven(const struct bench *b, size_t n, float by)
{
    const size_t rank = 0, *info = NULL;
    const float one = 1;

    return (int)kpk_launch(b->seven, &b->shape, NULL,
                           KPK_ARGS(n, rank, info, b->x, b->x, by, one));
}

typedef int way(const struct bench *b, size_t n, float by);

/* Nanoseconds a launch in one burst. */
static double burst(way *launch, const struct bench *b)
{
    double begin;
    double took;
    int failed = 0;

    need(kpk_sync(b->gpu, NULL));
    begin = now_ns();
    for (int i = 0; i < BURST; i++)
        failed |= launch(b, 0, 2);
    took = (now_ns() - begin) / BURST;
    if (failed)
        die("a launch failed");
    return took;
}

static void compare(const char *kernel, const struct bench *b,
                    way *const ways[3])
{
    static const char *const names[] = {"cuLaunchKernel", "typed", "checked"};
    static double times[3][TURNS];
    double raw = 0;

    for (int t = 0; t < TURNS; t++)
        for (int w = 0; w < 3; w++) /* another first each time */
            times[(t + w) % 3][t] = burst(ways[(t + w) % 3], b);
    for (int w = 0; w < 3; w++) {
        const double ns = middle(times[w], TURNS);

        raw = w == 0 ? ns : raw;
        printf("%-22s %-15s %8.1f ns  %.3f\n", kernel, names[w], ns, ns / raw);
    }
}

/* No context is current: kpack makes the device's current for the launch and
 * restores the old one; the driver alone cannot launch. */
static void compare_bare(const struct bench *b)
{
    static double times[2][TURNS];

    for (int t = 0; t < TURNS; t++) {
        times[0][t] = burst(typed_seven, b);
        times[1][t] = burst(checked_seven, b);
    }
    for (int w = 0; w < 2; w++)
        printf("%-22s %-15s %8.1f ns\n", "7, no current context",
               w ? "checked" : "typed", middle(times[w], TURNS));
}

static void time_get(kpk_instance *gpu)
{
    static double times[101];
    const kpk_kernel *kernel = NULL;

    for (int t = 0; t < 101; t++) {
        const double begin = now_ns();

        for (int i = 0; i < GETS; i++)
            if (kpk_kernel_get(gpu, i & 1 ? "nothing" : "seven", &kernel))
                die(kpk_error_message());
        times[t] = (now_ns() - begin) / GETS;
    }
    printf("%-38s %8.1f ns\n", "kpk_kernel_get() of a loaded kernel",
           middle(times, 101));
}

static void launches(void)
{
    static way *const nothing[] = {raw_nothing, typed_nothing, checked_nothing};
    static way *const seven[] = {raw_seven, typed_seven, checked_seven};
    struct bench b = {0};
    const char *path = NULL;
    kpk_device device;
    void *context = NULL;
    void *x = NULL;
    int version = 0;
    const int d = first_card(&device);

    need(kpk_driver_info(KPK_CUDA, &version, &path));
    find_driver(path);
    need(kpk_open(&kpk_bench_launch, d, &b.gpu));
    need(kpk_empty_kernels_get(b.gpu, &b.typed));
    need(kpk_kernel_get(b.gpu, "nothing", &b.nothing));
    need(kpk_kernel_get(b.gpu, "seven", &b.seven));
    need(kpk_kernel_raw(b.nothing, NULL, &b.raw_nothing));
    need(kpk_kernel_raw(b.seven, NULL, &b.raw_seven));
    need(kpk_malloc(b.gpu, 256, &x));
    b.x = x;
    b.shape = kpk_shape_1d(1, 32);
    CUDA(cuDeviceGet, (&version, device.index));
    CUDA(cuDevicePrimaryCtxRetain, (&context, version));
    CUDA(cuCtxSetCurrent, (context));

    printf("%s, %s, one block of 32 threads, %d turns of %d launches\n",
           device.name, device.target, TURNS, BURST);
    compare("empty", &b, nothing);
    compare("7 arguments", &b, seven);
    CUDA(cuCtxSetCurrent, (NULL));
    compare_bare(&b);
    time_get(b.gpu);
    need(kpk_free(b.gpu, x));
    need(kpk_close(b.gpu));
}

/* ---- from a process's start ---- */

/* The steps of a user's program. */
static void first_by_kpack(void)
{
    const kpk_shape shape = kpk_shape_1d(1, 32);
    const kpk_kernel *answer;
    kpk_instance *gpu;
    kpk_device device;
    unsigned value = 0;
    void *out;

    need(kpk_open(&kpk_bench_launch, first_card(&device), &gpu));
    need(kpk_kernel_get(gpu, "answer", &answer));
    need(kpk_malloc(gpu, sizeof(value), &out));
    need(kpk_launch(answer, &shape, NULL, KPK_ARGS(out)));
    need(kpk_copy_from(gpu, &value, out, sizeof(value)));
    if (value != 42)
        die("the first result is wrong");
}

/* The same by the driver's calls, with the code that kpack would choose. */
static void first_by_driver(const void *code)
{
    void *context = NULL;
    void *module = NULL;
    void *function = NULL;
    uint64_t out = 0;
    unsigned value = 0;
    int device = 0;
    void *params[] = {&out};

    find_driver("libcuda.so.1");
    CUDA(cuInit, (0));
    CUDA(cuDeviceGet, (&device, 0));
    CUDA(cuDevicePrimaryCtxRetain, (&context, device));
    CUDA(cuCtxSetCurrent, (context));
    CUDA(cuModuleLoadData, (&module, code));
    CUDA(cuModuleGetFunction, (&function, module, "answer"));
    CUDA(cuMemAlloc_v2, (&out, sizeof(value)));
    CUDA(cuLaunchKernel, (function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    CUDA(cuMemcpyDtoH_v2, (&value, out, sizeof(value)));
    if (value != 42)
        die("the first result is wrong");
}

/* Milliseconds until the child, this program, says that it has the result. */
static double child_ms(char *self, char *how, char *target)
{
    char *argv[] = {self, (char *)"child", how, target, NULL};
    posix_spawn_file_actions_t actions;
    double begin;
    double took;
    char byte = 0;
    int ends[2];
    int status = 0;
    pid_t child;

    if (pipe(ends) != 0 || posix_spawn_file_actions_init(&actions) != 0)
        die("no pipe");
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    begin = now_ns();
    if (posix_spawn(&child, self, &actions, NULL, argv, environ) != 0)
        die("the program does not start itself");
    (void)close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        die("a child failed");
    took = (now_ns() - begin) / 1e6;
    (void)close(ends[0]);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (waitpid(child, &status, 0) != child || status != 0)
        die("a child failed");
    return took;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* The driver keeps what it compiles of PTX: with an empty folder each time, and
 * with what the time before left there. */
static void start(char *self, const char *how, char *target)
{
    static char *const ways[] = {(char *)"kpack", (char *)"raw"};
    double cold[2][STARTS], warm[2][STARTS];

    for (int t = 0; t < STARTS; t++)
        for (int w = 0; w < 2; w++) {
            char folder[SCRATCH_PATH_MAX];

            if (!scratch_folder(folder) ||
                setenv("CUDA_CACHE_PATH", folder, 1) != 0)
                die("no folder for the driver's cache");
            cold[w][t] = child_ms(self, ways[w], target);
            warm[w][t] = child_ms(self, ways[w], target);
            if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
                die("the driver's cache is not removed");
        }
    for (int w = 0; w < 2; w++)
        printf("start to first result, %s, %-6s %7.1f ms, again %7.1f ms\n",
               how, ways[w], middle(cold[w], STARTS), middle(warm[w], STARTS));
}

/* The timed process of `start`. */
static void child(const char *how, const char *target)
{
    const kpk_module *module = kpk_pack_find(&kpk_bench_launch, "empty");
    kpk_selection code;
    kpk_object object;

    if (strcmp(how, "kpack") == 0) {
        first_by_kpack();
    } else {
        need(kpk_select(module, target, &code));
        need(kpk_module_object(module, code.object, &object));
        first_by_driver(object.data);
    }
    if (write(1, "!", 1) != 1)
        die("nobody listens");
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        launches();
    } else if (argc == 3 && strcmp(argv[1], "start") == 0) {
        kpk_device device;

        (void)first_card(&device);
        start(argv[0], argv[2], device.target);
    } else if (argc == 4 && strcmp(argv[1], "child") == 0) {
        child(argv[2], argv[3]);
    } else {
        die("usage: card [start HOW]");
    }
    return 0;
}
