/* globals_before.c - a module's variable, events, a cooperative launch */
#include "before.h"

static unsigned count(hipModule_t module, void *saw, int nblocks)
{
    hipFunction_t count_in;
    hipDeviceptr_t step;
    size_t nbytes;
    const unsigned three = 3;
    unsigned last;
    hipEvent_t start, stop;
    float ms;
    void *params[] = {&saw};

    HIP(hipModuleGetFunction(&count_in, module, "count_in"));
    HIP(hipModuleGetGlobal(&step, &nbytes, module, "step"));
    HIP(hipMemcpyHtoD(step, (void *)&three, sizeof(three)));
    HIP(hipEventCreate(&start));
    HIP(hipEventCreate(&stop));
    HIP(hipEventRecord(start, NULL));
    HIP(hipModuleLaunchCooperativeKernel(count_in, (unsigned)nblocks, 1, 1, 64,
                                         1, 1, 0, NULL, params));
    HIP(hipEventRecord(stop, NULL));
    HIP(hipEventSynchronize(stop));
    HIP(hipEventElapsedTime(&ms, start, stop));
    fprintf(stderr, "%g ms\n", (double)ms);
    HIP(hipMemcpy(&last, (unsigned *)saw + nblocks - 1, sizeof(last),
                  hipMemcpyDeviceToHost));
    HIP(hipEventDestroy(start));
    HIP(hipEventDestroy(stop));
    return last;
}

int main(int argc, char **argv)
{
    enum { NBLOCKS = 8 };
    hipDeviceProp_t device;
    hipModule_t module;
    void *saw;
    char path[4096];

    if (argc != 2)
        return fprintf(stderr, "globals KERNELS\n"), 2;
    HIP(hipGetDeviceProperties(&device, 0));
    snprintf(path, sizeof(path), "%s/%.*s/counter.hsaco", argv[1],
             (int)strcspn(device.gcnArchName, ":"), device.gcnArchName);
    HIP(hipModuleLoad(&module, path));
    HIP(hipMalloc(&saw, NBLOCKS * sizeof(unsigned)));
    printf("%d blocks counted to %u\n", NBLOCKS, count(module, saw, NBLOCKS));
    HIP(hipFree(saw));
    HIP(hipModuleUnload(module));
    return 0;
}
