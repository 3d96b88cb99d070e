/* vector_add_before.c - a kernel out of a file that lies beside the program */
#include "before.h"

/* KERNELS/gfx942/vector_add.hsaco, and so on for each processor */
static hipFunction_t load(const char *folder, hipModule_t *module)
{
    hipDeviceProp_t device;
    hipFunction_t function;
    char path[4096];

    HIP(hipGetDeviceProperties(&device, 0));
    snprintf(path, sizeof(path), "%s/%.*s/vector_add.hsaco", folder,
             (int)strcspn(device.gcnArchName, ":"), device.gcnArchName);
    HIP(hipModuleLoad(module, path));
    HIP(hipModuleGetFunction(&function, *module, "vector_add"));
    return function;
}

static void add(const char *folder, void *a, void *b, void *c, uint32_t n)
{
    hipModule_t module;
    hipFunction_t vector_add = load(folder, &module);
    void *params[] = {&a, &b, &c, &n};

    HIP(hipModuleLaunchKernel(vector_add, (n + 255) / 256, 1, 1, 256, 1, 1, 0,
                              NULL, params, NULL));
    HIP(hipDeviceSynchronize());
    HIP(hipModuleUnload(module));
}

int main(int argc, char **argv)
{
    enum { N = 1000 };
    float a[N], b[N], c[N];
    void *da, *db, *dc;

    if (argc != 2)
        return fprintf(stderr, "vector_add KERNELS\n"), 2;
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f;
    HIP(hipMalloc(&da, sizeof(a)));
    HIP(hipMalloc(&db, sizeof(b)));
    HIP(hipMalloc(&dc, sizeof(c)));
    HIP(hipMemcpy(da, a, sizeof(a), hipMemcpyHostToDevice));
    HIP(hipMemcpy(db, b, sizeof(b), hipMemcpyHostToDevice));
    add(argv[1], da, db, dc, N);
    HIP(hipMemcpy(c, dc, sizeof(c), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        if (c[i] != (float)i + 0.5f)
            return printf("c[%d] = %g\n", i, (double)c[i]), 1;
    printf("c[%d] = %g\n", N - 1, (double)c[N - 1]);
    HIP(hipFree(da));
    HIP(hipFree(db));
    HIP(hipFree(dc));
    return 0;
}
