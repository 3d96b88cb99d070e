/*
 * attention_plan.h - which kernel of module attention, and launching it
 *
 *     kpk_attention_args args = {.q = q, .k = k, ...};
 *     kpk_attention_plan plan;
 *
 *     kpk_attention_choose(inst, &kpk_module_attention, KPK_ATTENTION_BF16,
 *                          KPK_ATTENTION_SAME, &args, nbytes, &plan);
 *     kpk_attention_launch(inst, &args, &plan, workspace, stream);
 *
 * kpk_attention2_choose() and kpk_attention2_launch() do the same for
 * kpk_attention2_args, which adds sinks, a mask, and V of another width than K.
 * Both pairs choose kernels of the first form, attention_*, if the arguments
 * fit these, else kernels of the second form, attention2_*. Heads wider than
 * 256 need the second form.
 *
 * A plan depends on sizes and device alone, not on where tensors lie: it can be
 * made once and used for every call with the same sizes. Nothing is allocated,
 * measured or kept.
 */
#ifndef KPACK_ATTENTION_PLAN_H
#define KPACK_ATTENTION_PLAN_H

#include <kpack.h>

#include "attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/* the type of Q and O */
typedef enum kpk_attention_type {
    KPK_ATTENTION_F16 = 0,
    KPK_ATTENTION_BF16 = 1
} kpk_attention_type;

/* the format of K and V */
typedef enum kpk_attention_cache {
    KPK_ATTENTION_SAME = 0, /* as Q */
    KPK_ATTENTION_Q8_0 = 1,
    KPK_ATTENTION_Q4_0 = 2
} kpk_attention_cache;

typedef struct kpk_attention_plan {
    char kernel[32]; /* "attention2_decode_bf16_576_q8_0" */
    char join[24];   /* a second launch: "attention_join_bf16" afterwards, or
                      * "attention2_q8_0_to_bf16", which unpacks K and V before;
                      * "" if there is none */
    kpk_shape shape, join_shape;
    uint32_t splits;
    uint32_t cluster; /* blocks of a cluster, which joins its splits; 1: none */
    uint32_t quantizes;        /* 1 if args.o_q8_1 may be given */
    uint64_t workspace_nbytes; /* device memory, aligned to 16; 0 for no join */
} kpk_attention_plan;

/*
 * kpk_attention_choose() picks the kernel, the launch shape and into how many
 * parts the keys are split, so that the device is busy.
 *
 *   inst     its device and its target count
 *   module   &kpk_module_attention of inst's pack
 *   args     of which b, h, h_k, d, seqlen_q, seqlen_k, total_q and the windows
 *            are read, during the call only; splits and partial are not
 *   workspace_nbytes
 *            the caller's device memory for splits; 0 for none,
 *            UINT64_MAX to learn from out how much would be used
 *   out      the plan; left alone on failure
 *
 * kpk_attention_choose_for() is the same without a device, for a target ID and
 * a number of compute units.
 *
 * kpk_attention2_choose() and kpk_attention2_choose_for() are the same for
 * arguments of the second form. They also read d_v, and whether sinks and mask
 * are NULL.
 *
 * Fail with KPK_ERR_ARG for a NULL, a type that there is not, a d or d_v that
 * no kernel takes, heads that those of K do not divide, or a reserved member
 * that is not zero; KPK_ERR_NO_ROW if module is not that of attention. Any
 * thread may call.
 */
kpk_status
kpk_attention_choose(const kpk_instance *inst, const kpk_module *module,
                     kpk_attention_type type, kpk_attention_cache cache,
                     const kpk_attention_args *args, uint64_t workspace_nbytes,
                     kpk_attention_plan *out);
kpk_status kpk_attention_choose_for(const kpk_module *module,
                                    const char *target, uint32_t compute_units,
                                    kpk_attention_type type,
                                    kpk_attention_cache cache,
                                    const kpk_attention_args *args,
                                    uint64_t workspace_nbytes,
                                    kpk_attention_plan *out);
kpk_status
kpk_attention2_choose(const kpk_instance *inst, const kpk_module *module,
                      kpk_attention_type type, kpk_attention_cache cache,
                      const kpk_attention2_args *args,
                      uint64_t workspace_nbytes, kpk_attention_plan *out);
kpk_status kpk_attention2_choose_for(const kpk_module *module,
                                     const char *target, uint32_t compute_units,
                                     kpk_attention_type type,
                                     kpk_attention_cache cache,
                                     const kpk_attention2_args *args,
                                     uint64_t workspace_nbytes,
                                     kpk_attention_plan *out);

/*
 * kpk_attention_launch() starts the kernels of a plan and returns without
 * waiting.
 *
 *   args       all of them but splits and partial, which the plan has
 *   workspace  device memory of plan->workspace_nbytes, which must stay until
 *              the kernels are done; NULL where that is 0
 *   stream     a hipStream_t of the instance's device; NULL for the default one
 *
 * kpk_attention2_launch() is the same for arguments of the second form.
 *
 * Fail with KPK_ERR_ARG for a NULL, for a block table without a page size, for
 * o_q8_1 where the plan's kernel writes o, and for sinks, a mask or a d_v that
 * the plan was not made for; otherwise as kpk_kernel_get() and kpk_launch().
 * Only loading the module, the first time, allocates memory.
 */
kpk_status kpk_attention_launch(kpk_instance *inst,
                                const kpk_attention_args *args,
                                const kpk_attention_plan *plan, void *workspace,
                                void *stream);
kpk_status kpk_attention2_launch(kpk_instance *inst,
                                 const kpk_attention2_args *args,
                                 const kpk_attention_plan *plan,
                                 void *workspace, void *stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
