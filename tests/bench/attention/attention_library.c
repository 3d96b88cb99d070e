/* attention_library.c - module attention's choosing call, for beside_torch.py
 *
 * Functions return NULL, or what went wrong.
 */
#include <stddef.h>
#include <stdint.h>

#include <kpack/candle/attention_plan.h>

#define EXPORT __attribute__((visibility("default")))

extern const kpk_module kpk_module_attention;

static kpk_instance *inst;

static const char *said(kpk_status status)
{
    return status == KPK_OK ? NULL : kpk_error_message();
}

EXPORT const char *bench_open(int device)
{
    static const kpk_module *const modules[] = {&kpk_module_attention};

    return said(kpk_open_modules(modules, 1, device, &inst));
}

EXPORT size_t bench_sizeof_args(void)
{
    return sizeof(kpk_attention2_args);
}

/* A plan is in memory of the caller's, of at least 256 bytes. */
_Static_assert(sizeof(kpk_attention_plan) <= 256, "what callers have");

EXPORT const char *bench_choose(const kpk_attention2_args *args, int type,
                                int cache, kpk_attention_plan *plan)
{
    return said(kpk_attention2_choose(
        inst, &kpk_module_attention, (kpk_attention_type)type,
        (kpk_attention_cache)cache, args, UINT64_MAX, plan));
}

EXPORT const char *bench_kernel(const kpk_attention_plan *plan)
{
    return plan->kernel;
}

EXPORT unsigned bench_splits(const kpk_attention_plan *plan)
{
    return plan->splits;
}

EXPORT uint64_t bench_workspace(const kpk_attention_plan *plan)
{
    return plan->workspace_nbytes;
}

EXPORT const char *bench_launch(const kpk_attention2_args *args,
                                const kpk_attention_plan *plan, void *workspace,
                                void *stream)
{
    return said(kpk_attention2_launch(inst, args, plan, workspace, stream));
}
