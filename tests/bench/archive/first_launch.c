/* first_launch.c - how long a program takes to its first results, with code
 * objects inside it or in one of AMD's archives beside it
 *
 *   launch TARGET                    inside, compiled with -DINSIDE
 *   launch TARGET ARCHIVE [READER]   beside
 *
 * The program launches a kernel of each of three modules and checks the
 * results. Printed: milliseconds that it takes to have the three code objects
 * in memory; from main() until the first result is there; until all are.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 256, NKERNELS = 3, MOST_ARGS = 7 };

static double milliseconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "%s failed\n", what);
    exit(1);
}
#define NEED(x) ((x) ? (void)0 : fail(#x))

static const char *const names[NKERNELS][2] = {{"fill", "fill_f32"},
                                               {"affine", "affine_f32"},
                                               {"vector_add", "vector_add"}};

struct arg {
    void *value;
    size_t nbytes;
};
#define ARG(x)                                                                 \
    {                                                                          \
        &(x), sizeof(x)                                                        \
    }

/* Functions that differ between the ways. */
static void bind(char **argv);
static void get_code(char **argv);
static void open_gpu(void);
static void find(int i); /* kernel i can be launched then */
static void *allocate(size_t nbytes);
static void launch(int i, const struct arg *args, size_t nargs);
static void wait_and_read(const void *from, float *to);

#ifdef INSIDE
#include <kpack/candle.h>

static kpk_instance *gpu;
static const kpk_kernel *kernels[NKERNELS];

static const kpk_module *const modules[] = {&kpk_module_candle__fill,
                                            &kpk_module_candle__affine,
                                            &kpk_module_candle__vector_add};

static void bind(char **argv)
{
    (void)argv;
}

static void get_code(char **argv)
{
    for (int i = 0; i < NKERNELS; i++) {
        kpk_object object;
        size_t k;

        NEED(kpk_module_find_object(modules[i], argv[1], &k) == KPK_OK);
        NEED(kpk_module_object(modules[i], k, &object) == KPK_OK);
    }
}

static void open_gpu(void)
{
    NEED(kpk_open_modules(modules, NKERNELS, 0, &gpu) == KPK_OK);
}

static void find(int i)
{
    NEED(kpk_kernel_get(gpu, names[i][1], &kernels[i]) == KPK_OK);
}

static void *allocate(size_t nbytes)
{
    void *out;

    NEED(kpk_malloc(gpu, nbytes, &out) == KPK_OK);
    return out;
}

static void launch(int i, const struct arg *args, size_t nargs)
{
    const kpk_shape shape = kpk_shape_1d(N, N);
    kpk_arg list[MOST_ARGS];

    for (size_t k = 0; k < nargs; k++)
        list[k] = (kpk_arg){args[k].value, args[k].nbytes};
    NEED(kpk_launch(kernels[i], &shape, NULL, list, nargs) == KPK_OK);
}

static void wait_and_read(const void *from, float *to)
{
    NEED(kpk_sync(gpu, NULL) == KPK_OK);
    NEED(kpk_copy_from(gpu, to, from, N * sizeof(float)) == KPK_OK);
}
#else
#include "base/kpak.h"

#include <dlfcn.h>
#include <zstd.h>

#define HIP_TABLE(X)                                                           \
    X(hipModuleLoadData, (void **, const void *))                              \
    X(hipModuleGetFunction, (void **, void *, const char *))                   \
    X(hipMalloc, (void **, size_t))                                            \
    X(hipMemcpy, (void *, const void *, size_t, int))                          \
    X(hipDeviceSynchronize, (void))                                            \
    X(hipModuleLaunchKernel,                                                   \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, void *, void **, void **))
#define READER_TABLE(X)                                                        \
    X(kpack_open, (const char *, void **))                                     \
    X(kpack_get_kernel, (void *, const char *, const char *, void **, size_t *))
#define X(name, args) static int(*name) args;
HIP_TABLE(X)
READER_TABLE(X)
#undef X

static void *images[NKERNELS], *functions[NKERNELS];

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);

    if (!address)
        fail(name);
    return address;
}

static void bind(char **argv)
{
    const char *reader = argv[2] ? argv[3] : NULL;
    void *hip = dlopen("libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
    void *amd = reader ? dlopen(reader, RTLD_NOW | RTLD_LOCAL) : NULL;

    NEED(hip && (amd || !reader));
#define X(name, args)                                                          \
    {                                                                          \
        void *address = symbol(library, #name);                                \
        memcpy(&(name), &address, sizeof(address));                            \
    }
#define library hip
    HIP_TABLE(X)
#undef library
#define library amd
    if (amd) {
        READER_TABLE(X)
    }
#undef library
#undef X
}

static void *read_all(const char *path, size_t *nbytes)
{
    FILE *f = fopen(path, "rb");
    void *data;

    NEED(f && fseek(f, 0, SEEK_END) == 0);
    *nbytes = (size_t)ftell(f);
    data = malloc(*nbytes);
    NEED(data && fseek(f, 0, SEEK_SET) == 0 &&
         fread(data, 1, *nbytes, f) == *nbytes && fclose(f) == 0);
    return data;
}

static void take(const struct kpak *kpak, const char *target, int i)
{
    for (size_t k = 0; k < kpak->n; k++) {
        const struct kpak_entry *e = &kpak->entries[k];

        if (strcmp(e->key, names[i][0]) != 0 || strcmp(e->target, target) != 0)
            continue;
        images[i] = (void *)(uintptr_t)e->stored;
        if (!kpak->zstd)
            return;
        images[i] = malloc(e->nbytes);
        NEED(images[i] && ZSTD_decompress(images[i], e->nbytes, e->stored,
                                          e->stored_nbytes) == e->nbytes);
        return;
    }
    fail(names[i][0]);
}

static void get_code(char **argv)
{
    struct kpak kpak;
    void *archive;
    size_t nbytes;

    NEED(argv[1] && argv[2]);
    if (argv[3]) {
        NEED(kpack_open(argv[2], &archive) == 0);
        for (int i = 0; i < NKERNELS; i++)
            NEED(kpack_get_kernel(archive, names[i][0], argv[1], &images[i],
                                  &nbytes) == 0);
        return;
    }
    archive = read_all(argv[2], &nbytes);
    NEED(kpak_open(&kpak, archive, nbytes));
    for (int i = 0; i < NKERNELS; i++)
        take(&kpak, argv[1], i);
}

static void open_gpu(void)
{
}

static void find(int i)
{
    void *module;

    NEED(hipModuleLoadData(&module, images[i]) == 0);
    NEED(hipModuleGetFunction(&functions[i], module, names[i][1]) == 0);
}

static void *allocate(size_t nbytes)
{
    void *out;

    NEED(hipMalloc(&out, nbytes) == 0);
    return out;
}

static void launch(int i, const struct arg *args, size_t nargs)
{
    void *params[MOST_ARGS];

    for (size_t k = 0; k < nargs; k++)
        params[k] = args[k].value;
    NEED(hipModuleLaunchKernel(functions[i], 1, 1, 1, N, 1, 1, 0, NULL, params,
                               NULL) == 0);
}

static void wait_and_read(const void *from, float *to)
{
    enum { DEVICE_TO_HOST = 2 };

    NEED(hipDeviceSynchronize() == 0);
    NEED(hipMemcpy(to, from, N * sizeof(float), DEVICE_TO_HOST) == 0);
}
#endif

int main(int argc, char **argv)
{
    const double start = milliseconds();
    float value = 3, mul = 2, add = 1, out[N];
    size_t n = N, rank = 0;
    uint32_t n32 = N;
    void *a, *b, *none = NULL;
    double code, first;

    (void)argc;
    bind(argv);
    code = -milliseconds();
    get_code(argv);
    code += milliseconds();
    open_gpu();
    find(0);
    a = allocate(sizeof(out));
    b = allocate(sizeof(out));
    launch(0, (struct arg[]){ARG(a), ARG(value), ARG(n)}, 3);
    wait_and_read(a, out);
    first = milliseconds() - start;
    NEED(out[N - 1] == 3);
    find(1);
    launch(1,
           (struct arg[]){ARG(n), ARG(rank), ARG(none), ARG(a), ARG(b),
                          ARG(mul), ARG(add)},
           MOST_ARGS);
    find(2);
    launch(2, (struct arg[]){ARG(a), ARG(b), ARG(a), ARG(n32)}, 4);
    wait_and_read(a, out);
    printf("%.2f %.2f %.2f\n", code, first, milliseconds() - start);
    NEED(out[0] == 10 && out[N - 1] == 10);
    return 0;
}
