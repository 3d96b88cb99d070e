/* fences.hip - kernels whose workgroups hand values on, with and without what
 * orders them
 *
 * Launched by tests/sim/tests/test_hip_weak.c. fences_without.hip is the same
 * without argmax.h's release.
 */
#include "device.h"

#ifdef WITHOUT_RELEASE
#define fence_release()
#endif
#include "fused/argmax.h"

KERNEL argmax(const f32 *logits, u32 *index, u64 *work, u32 n)
{
    argmax_last(logits, index, work, 1, n);
}

/*
 * A list that every group lengthens by an entry and then reads, as a hash table
 * with chains does: entry 0 is its head, and next is an entry's number.
 * Published for a benchmark (logic-rewrite of HeCBench, change 292), without
 * order: the entry's value is a plain store, and the swap that publishes the
 * entry is relaxed. It ran on an MI250X and failed on an MI300X.
 */
struct entry {
    u32 value, next;
    u32 unused[30]; /* each has a cache line of its own */
};

template <bool ordered> DEV void lengthen_and_read(entry *list, u32 *wrong)
{
    const u32 own = blockIdx.x + 1;
    u32 at = 0;

    if (threadIdx.x)
        return;
    list[own].value = own + 1000;
    if (ordered)
        fence_release();
    for (;;) {
        u32 next = __hip_atomic_load(&list[at].next, __ATOMIC_RELAXED,
                                     __HIP_MEMORY_SCOPE_AGENT);

        if (next == 0 && __hip_atomic_compare_exchange_strong(
                             &list[at].next, &next, own, __ATOMIC_RELAXED,
                             __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
            break;
        at = next;
    }
    at = 0;
    while ((at = __hip_atomic_load(&list[at].next, __ATOMIC_RELAXED,
                                   __HIP_MEMORY_SCOPE_AGENT))) {
        if (ordered)
            fence_acquire();
        if (__hip_atomic_load(&list[at].value, __ATOMIC_RELAXED,
                              __HIP_MEMORY_SCOPE_AGENT) != at + 1000)
            atomicAdd(wrong, 1u);
    }
}

KERNEL list_relaxed(entry *list, u32 *wrong)
{
    lengthen_and_read<false>(list, wrong);
}

KERNEL list_ordered(entry *list, u32 *wrong)
{
    lengthen_and_read<true>(list, wrong);
}
