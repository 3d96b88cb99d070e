/*
 * gemm_plan.h - which kernel of module gemm makes a product, and launching it
 *
 *     kpk_gemm_product product = {KPK_GEMM_BF16, 0, 1, m, n, k, 1};
 *     kpk_gemm_plan plan;
 *
 *     kpk_gemm_choose(inst, &kpk_module_gemm, &product, nbytes, &plan);
 *     kpk_gemm_launch(inst, &product, &plan, &operands, workspace, stream);
 *
 * A plan depends on sizes and device alone: it can be made once and used for
 * every product of that size. Nothing is allocated, measured or kept.
 */
#ifndef KPACK_GEMM_PLAN_H
#define KPACK_GEMM_PLAN_H

#include <kpack.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kpk_gemm_type {
    KPK_GEMM_F16 = 0,
    KPK_GEMM_BF16 = 1,
    KPK_GEMM_F32 = 2,
    KPK_GEMM_F64 = 3
} kpk_gemm_type;

/* C = alpha A B + beta C + bias, for each matrix of a batch. */
typedef struct kpk_gemm_product {
    kpk_gemm_type type;
    uint32_t trans_a; /* 0: A is stored as [m, k], row-major; 1: as [k, m] */
    uint32_t trans_b; /* 0: B is stored as [k, n]; 1: as [n, k] */
    uint32_t m, n, k;
    uint32_t batch;
} kpk_gemm_product;

typedef struct kpk_gemm_plan {
    char kernel[24]; /* "gemm_nt_bf16_m128" */
    char join[16];   /* "gemm_join_bf16"; "" if K is not split */
    kpk_shape shape, join_shape;
    uint32_t splits;
    /* Blocks of a cluster, along x, as kpk_launch_options has them; 0 for no
     * clusters. The blocks of a cluster share tiles, or the copies of B for two
     * tiles; neither takes a join. */
    uint32_t cluster;
    uint64_t workspace_nbytes; /* device memory, aligned to 16; maybe 0 */
    /* If the kernel is slow with rows that are not aligned: the kernel that
     * copies them ("gemm_align_bf16", else ""), and the places of A and B in
     * the workspace, 0 for a matrix that is not copied. */
    char align[20];
    uint64_t aligned_a, aligned_b;
} kpk_gemm_plan;

/*
 * kpk_gemm_choose() picks the kernel, the launch shape and into how many parts
 * K is split, or how many blocks share a tile, so that the device is busy and
 * little is computed in vain.
 *
 *   inst     its device counts, and which code of the module runs there
 *   module   &kpk_module_gemm of inst's pack
 *   product  read during the call only
 *   workspace_nbytes
 *            the caller's device memory for splits; 0 for none,
 *            UINT64_MAX to learn from out how much would be used. On NVIDIA's
 *            GPUs it also holds aligned copies of A and B of f16 and bf16, if
 *            their rows are not multiples of 16 bytes and copies save time
 *   out      the plan; left alone on failure
 *
 * kpk_gemm_choose_for() is the same without a device, for a target ID and a
 * number of compute units.
 *
 * A product with m, n or batch 0 has a plan, too: one block, which writes
 * nothing. Fail with KPK_ERR_ARG for a NULL or a type that there is not,
 * KPK_ERR_NO_ROW if module is not that of gemm. Any thread may call.
 */
kpk_status kpk_gemm_choose(const kpk_instance *inst, const kpk_module *module,
                           const kpk_gemm_product *product,
                           uint64_t workspace_nbytes, kpk_gemm_plan *out);
kpk_status kpk_gemm_choose_for(const kpk_module *module, const char *target,
                               uint32_t compute_units,
                               const kpk_gemm_product *product,
                               uint64_t workspace_nbytes, kpk_gemm_plan *out);

/*
 * kpk_gemm_choose_sums() is kpk_gemm_choose() for a C of f32 with A and B of
 * f16 or bf16: results are not rounded to A's type. K is split in two at least,
 * and the join stores the sums. For few rows, whose sums are small beside B.
 *
 * Fails with KPK_ERR_NO_ROW if the workspace has no room for two splits, or K
 * has a single step.
 */
kpk_status kpk_gemm_choose_sums(const kpk_instance *inst,
                                const kpk_module *module,
                                const kpk_gemm_product *product,
                                uint64_t workspace_nbytes, kpk_gemm_plan *out);

/*
 * Where the operands lie: device memory, aligned to an element at least.
 *
 *   lda, ldb, ldc    elements from row to row, of A and B as they lie
 *   stride_a ...     elements from matrix to matrix of the batch: any sign, 0
 *                    for one A or B for all
 *   bias             [n] of C's type, or NULL
 *   alpha, beta      rounded to f32 but for f64; with beta 0, C is not read
 */
typedef struct kpk_gemm_operands {
    const void *a, *b;
    void *c;
    const void *bias;
    uint32_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    double alpha, beta;
} kpk_gemm_operands;

/*
 * kpk_gemm_launch() starts the kernels of a plan and returns without waiting.
 * It copies A or B to aligned rows if the operand is not aligned and the plan
 * has room for a copy. A kernel of f16 or bf16 may begin while the launch
 * before it still runs, and waits for that launch itself (KPK_LAUNCH_EARLY).
 *
 *   workspace  device memory of plan->workspace_nbytes, which must stay until
 *              the kernels are done; NULL if this is 0
 *   stream     a hipStream_t of the instance's device; NULL for the default one
 *
 * Fails with KPK_ERR_ARG for a NULL or a leading dimension below a row's
 * length; otherwise as kpk_kernel_get() and kpk_launch(). Only loading the
 * module, the first time, allocates memory.
 */
kpk_status kpk_gemm_launch(kpk_instance *inst, const kpk_gemm_product *product,
                           const kpk_gemm_plan *plan,
                           const kpk_gemm_operands *operands, void *workspace,
                           void *stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
