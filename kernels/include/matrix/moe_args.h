/* moe_args.h - the arguments of products with experts' matrices */
#pragma once

#include "device.h"

struct MoeSizes {
    u32 experts, topk, m, n, k;
};

/* a size from an argument; a negative one counts as 0 */
DEV u32 size_of_arg(i32 v)
{
    return v > 0 ? (u32)v : 0;
}

DEV MoeSizes moe_sizes(i32 experts, i32 topk, i32 m, i32 n, i32 k)
{
    return {size_of_arg(experts), max_of(size_of_arg(topk), 1u), size_of_arg(m),
            size_of_arg(n), size_of_arg(k)};
}

/* A product with dense experts, as moe_gemm.h has it. */
template <typename T, typename R> struct MoeProduct {
    const T *input, *weights;
    const i32 *sorted, *offsets;
    const f32 *topk_weights;
    R *output;
    MoeSizes size;

    /* the index in `sorted` of an expert's first row */
    DEV_MEMBER u32 place_of(u32 expert) const
    {
        return (u32)min_of(max_of(offsets[expert], 0), (i32)size.m);
    }
    DEV_MEMBER u32 rows_from(u32 first, u32 expert) const
    {
        return max_of(place_of(expert + 1), first) - first;
    }
    /* the output's row that `sorted` has there, ~0: none */
    DEV_MEMBER u32 row_at(u32 place) const
    {
        const u32 r = (u32)sorted[place];

        return r < size.m ? r : ~0u;
    }
};
