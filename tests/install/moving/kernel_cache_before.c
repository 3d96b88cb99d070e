/* kernel_cache_before.c - kernels by name, their files loaded once */
#include "before.h"

static struct cached {
    char name[64];
    hipModule_t module;
    struct cached *next;
} * cache;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

/* get_kernel("KERNELS/gfx942", "affine", "affine_f32") */
static hipFunction_t get_kernel(const char *folder, const char *name,
                                const char *kernel)
{
    hipFunction_t function;
    struct cached *at;

    pthread_mutex_lock(&cache_lock);
    for (at = cache; at && strcmp(at->name, name) != 0; at = at->next)
        ;
    if (!at) {
        char path[4096];

        at = calloc(1, sizeof(*at));
        if (!at || strlen(name) >= sizeof(at->name))
            exit(1);
        snprintf(at->name, sizeof(at->name), "%s", name);
        snprintf(path, sizeof(path), "%s/%s.hsaco", folder, name);
        HIP(hipModuleLoad(&at->module, path));
        at->next = cache;
        cache = at;
    }
    HIP(hipModuleGetFunction(&function, at->module, kernel));
    pthread_mutex_unlock(&cache_lock);
    return function;
}

static void affine(const char *folder, size_t n, void *x, void *y)
{
    hipFunction_t f = get_kernel(folder, "affine", "affine_f32");
    size_t rank = 1, *info = NULL; /* contiguous */
    float mul = 2, plus = 1;
    void *params[] = {&n, &rank, &info, &x, &y, &mul, &plus};

    HIP(hipModuleLaunchKernel(f, (unsigned)(n + 255) / 256, 1, 1, 256, 1, 1, 0,
                              NULL, params, NULL));
}

int main(int argc, char **argv)
{
    enum { N = 777 };
    hipDeviceProp_t device;
    char folder[4000];
    float x[N];
    void *dx;

    if (argc != 2)
        return fprintf(stderr, "kernel_cache KERNELS\n"), 2;
    HIP(hipGetDeviceProperties(&device, 0));
    snprintf(folder, sizeof(folder), "%s/%.*s", argv[1],
             (int)strcspn(device.gcnArchName, ":"), device.gcnArchName);
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    HIP(hipMalloc(&dx, sizeof(x)));
    HIP(hipMemcpy(dx, x, sizeof(x), hipMemcpyHostToDevice));
    affine(folder, N, dx, dx);
    affine(folder, N, dx, dx); /* out of the cache */
    HIP(hipMemcpy(x, dx, sizeof(x), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        if (x[i] != 4.0f * (float)i + 3.0f)
            return printf("x[%d] = %g\n", i, (double)x[i]), 1;
    printf("x[%d] = %g\n", N - 1, (double)x[N - 1]);
    HIP(hipFree(dx));
    while (cache) {
        struct cached *next = cache->next;

        HIP(hipModuleUnload(cache->module));
        free(cache);
        cache = next;
    }
    return 0;
}
