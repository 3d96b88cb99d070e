/* peer_library.c - products and convolutions of the pack, for a program in
 * Python
 *
 * Linked with libkpack.a into a shared library, which peer.py loads beside
 * torch. A product is made by gemm_plan.h's choosing call, as a host's is.
 */
#include <kpack.h>
#include <kpack/candle.h>
#include <kpack/candle/gemm_plan.h>

#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

static kpk_instance *gpu;
static struct {
    kpk_gemm_product product;
    kpk_gemm_plan plan;
} plans[4096];
static int nplans;

EXPORTED const char *peer_error(void)
{
    return kpk_error_message();
}

EXPORTED int peer_open(void)
{
    return kpk_open(&kpk_candle, 0, &gpu) != KPK_OK;
}

/* A plan's number, or -1; says in words what it is. */
EXPORTED int peer_plan(int type, uint32_t trans_a, uint32_t trans_b, uint32_t m,
                       uint32_t n, uint32_t k, uint32_t batch,
                       uint64_t workspace_nbytes, char *words, size_t nwords)
{
    const int i = nplans;
    kpk_gemm_plan *plan;

    if (i == (int)(sizeof(plans) / sizeof(plans[0])))
        return -1;
    plan = &plans[i].plan;
    plans[i].product = (kpk_gemm_product){
        (kpk_gemm_type)type, trans_a, trans_b, m, n, k, batch};
    if (kpk_gemm_choose(gpu, &kpk_module_gemm, &plans[i].product,
                        workspace_nbytes, plan) != KPK_OK)
        return -1;
    (void)snprintf(words, nwords, "%s, %u splits", plan->kernel, plan->splits);
    nplans++;
    return i;
}

/* Operands without gaps. */
EXPORTED int peer_gemm(int i, const void *a, const void *b, void *c,
                       void *workspace, void *stream)
{
    const kpk_gemm_product *const p = &plans[i].product;
    const kpk_gemm_operands operands = {.a = a,
                                        .b = b,
                                        .c = c,
                                        .lda = p->trans_a ? p->m : p->k,
                                        .ldb = p->trans_b ? p->k : p->n,
                                        .ldc = p->n,
                                        .stride_a = (int64_t)p->m * p->k,
                                        .stride_b = (int64_t)p->k * p->n,
                                        .stride_c = (int64_t)p->m * p->n,
                                        .alpha = 1};

    return kpk_gemm_launch(gpu, p, &plans[i].plan, &operands, workspace,
                           stream) != KPK_OK;
}

/* conv2d_TYPE as candle launches it; info: of both, as the kernel takes it */
EXPORTED int peer_conv2d(const char *name, size_t nsrc, size_t nout, size_t w,
                         size_t h, size_t stride, size_t padding,
                         const void *info, const void *src, const void *filter,
                         void *dst, void *stream)
{
    const size_t dilation = 1;
    const kpk_kernel *kernel;
    kpk_shape shape;

    if (kpk_kernel_get(gpu, name, &kernel) != KPK_OK ||
        kpk_kernel_shape(kernel, nout, 0, &shape) != KPK_OK)
        return 1;
    return kpk_launch(kernel, &shape, stream,
                      KPK_ARGS(nsrc, w, h, stride, padding, dilation, info, src,
                               filter, dst)) != KPK_OK;
}
