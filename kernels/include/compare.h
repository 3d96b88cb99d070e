/* compare.h - conditions that are the same for a whole wave */
#pragma once

#include "device.h"

#if KPK_NVIDIA
#define compare_here(v) (v)
#else
/* v, uniform over lanes, in a form that makes the compiler branch on a
 * comparison with v here. By itself it prefers masks of comparisons, which keep
 * the single scalar ALU of CDNA's compute units busy. The two moves that this
 * costs run on the vector ALU. */
DEV u32 compare_here(u32 v)
{
    /* volatile, it would stop scalar loads */
    asm("" : "+v"(v));

    return uniform(v);
}
#endif

/*
 * A view's dims and strides, in memory that nothing writes while the kernel
 * runs. Else AMD reads them by vector loads behind any place that may store.
 */
#if KPK_NVIDIA
typedef const size_t constant_size;
#else
typedef const __attribute__((address_space(4))) size_t constant_size;
#endif
DEV constant_size *constant_sizes(const size_t *info)
{
    return (constant_size *)info;
}
