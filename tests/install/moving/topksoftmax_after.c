/* topksoftmax_after.c - the same kernel out of an imported pack */
#include "after.h"

#include <kpack/hand.h>

/* make PACK=hand IMPORT=KERNELS made the pack */
static void topk(const kpk_kernel *kernel, void *indices, void *weights,
                 void *logits, uint32_t ntokens)
{
    const kpk_shape shape = {{(ntokens + 3) / 4, 1, 1}, {256, 1, 1}, 0};
    const kpk_value args[] = {
        kpk_ptr(indices), kpk_ptr(weights), kpk_ptr(logits), kpk_u32(ntokens),
        kpk_u32(128),     kpk_u32(4),       kpk_u32(1),      kpk_u32(16)};

    OK(kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_SLOTS, args, 8));
}

int main(void)
{
    enum { N = 7, EXPERTS = 128, K = 4 };
    static float logits[N][EXPERTS];
    int32_t indices[N][K];
    float weights[N][K];
    void *di, *dw, *dl;
    kpk_instance *gpu;
    const kpk_kernel *kernel;

    OK(kpk_open(&kpk_hand, 0, &gpu));
    OK(kpk_kernel_get(gpu, "_ZN4test19topksoftmax_4x128x4E", &kernel));
    for (int i = 0; i < N; i++)
        for (int e = 0; e < EXPERTS; e++)
            logits[i][e] = (float)(e * (37 + 2 * i) % EXPERTS) / 16;
    OK(kpk_malloc(gpu, sizeof(indices), &di));
    OK(kpk_malloc(gpu, sizeof(weights), &dw));
    OK(kpk_malloc(gpu, sizeof(logits), &dl));
    OK(kpk_copy_to(gpu, dl, logits, sizeof(logits)));
    topk(kernel, di, dw, dl, N);
    OK(kpk_copy_from(gpu, indices, di, sizeof(indices)));
    OK(kpk_copy_from(gpu, weights, dw, sizeof(weights)));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++)
            printf("%3d %.4f%s", indices[i][k], (double)weights[i][k],
                   k < K - 1 ? "  " : "\n");
    OK(kpk_free(gpu, di));
    OK(kpk_free(gpu, dw));
    OK(kpk_free(gpu, dl));
    OK(kpk_close(gpu));
    return 0;
}
