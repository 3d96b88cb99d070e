/* topksoftmax_before.c - a hand-written kernel whose arguments are 16-byte
 * slots */
#include "before.h"

struct pointer_slot {
    void *value;
    uint64_t pad;
};
struct u32_slot {
    uint32_t value, pad[3];
};

static void topk(hipFunction_t kernel, void *indices, void *weights,
                 void *logits, uint32_t ntokens)
{
    struct {
        struct pointer_slot indices, weights, logits;
        struct u32_slot ntokens, nexperts, k, renormalize, out_stride;
    } args = {{indices, 0}, {weights, 0}, {logits, 0}, {ntokens, {0}},
              {128, {0}},   {4, {0}},     {1, {0}},    {16, {0}}};
    size_t nbytes = sizeof(args);
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &nbytes,
                     HIP_LAUNCH_PARAM_END};

    HIP(hipModuleLaunchKernel(kernel, (ntokens + 3) / 4, 1, 1, 256, 1, 1, 0,
                              NULL, NULL, extra));
}

int main(int argc, char **argv)
{
    enum { N = 7, EXPERTS = 128, K = 4 };
    static float logits[N][EXPERTS];
    int32_t indices[N][K];
    float weights[N][K];
    void *di, *dw, *dl;
    hipDeviceProp_t device;
    hipModule_t module;
    hipFunction_t kernel;
    char path[4096];

    if (argc != 2)
        return fprintf(stderr, "topksoftmax KERNELS\n"), 2;
    HIP(hipGetDeviceProperties(&device, 0));
    snprintf(path, sizeof(path), "%s/%.*s/topksoftmax/topksoftmax_4x128x4.co",
             argv[1], (int)strcspn(device.gcnArchName, ":"),
             device.gcnArchName);
    HIP(hipModuleLoad(&module, path));
    HIP(hipModuleGetFunction(&kernel, module,
                             "_ZN4test19topksoftmax_4x128x4E"));
    for (int i = 0; i < N; i++)
        for (int e = 0; e < EXPERTS; e++)
            logits[i][e] = (float)(e * (37 + 2 * i) % EXPERTS) / 16;
    HIP(hipMalloc(&di, sizeof(indices)));
    HIP(hipMalloc(&dw, sizeof(weights)));
    HIP(hipMalloc(&dl, sizeof(logits)));
    HIP(hipMemcpy(dl, logits, sizeof(logits), hipMemcpyHostToDevice));
    topk(kernel, di, dw, dl, N);
    HIP(hipMemcpy(indices, di, sizeof(indices), hipMemcpyDeviceToHost));
    HIP(hipMemcpy(weights, dw, sizeof(weights), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++)
            printf("%3d %.4f%s", indices[i][k], (double)weights[i][k],
                   k < K - 1 ? "  " : "\n");
    HIP(hipFree(di));
    HIP(hipFree(dw));
    HIP(hipFree(dl));
    HIP(hipModuleUnload(module));
    return 0;
}
