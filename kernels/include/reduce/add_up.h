/* add_up.h - cumulative sums of a line by a block */
#pragma once

#include "reduce/team.h"

/* the types for sums and comparisons of T */
template <typename T> struct kept {
    using sum = float; /* f16, bf16, f32 */
    using order = float;
};
template <> struct kept<double> {
    using sum = double;
    using order = double;
};
template <> struct kept<u8> {
    using sum = u32;
    using order = u32;
};
template <> struct kept<u32> {
    using sum = u32;
    using order = u32;
};
template <> struct kept<i64> {
    using sum = u64; /* wraps */
    using order = i64;
};

template <typename A> DEV A add_up_group(A sum, u32 lane, u32 lanes)
{
    for (u32 d = 1; d < lanes; d *= 2) {
        const A before = shfl_up(sum, d);

        if (lane >= d)
            sum += before;
    }
    return sum;
}

/* cumulative sums of n elements by a block; returns the last one */
template <typename T>
DEV typename kept<T>::sum add_up_line(const T *src, T *dst, u32 n)
{
    using A = typename kept<T>::sum;
    constexpr u32 each = 16 / sizeof(T);
    __shared__ A slot[2][max_groups]; /* the groups' sums, of two rounds */
    const u32 lanes = min_of((u32)blockDim.x, group_size);
    const u32 groups = blockDim.x / lanes;
    const u32 lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
    A carry = 0;
    u32 turn = 0;

    for (u32 first = 0; first < n; first += each * blockDim.x, turn ^= 1) {
        const u32 mine = first + threadIdx.x * each;
        A x[each];

        UNROLL
        for (u32 k = 0; k < each; k++)
            x[k] = mine + k < n ? convert<A>(src[mine + k]) : A(0);
        UNROLL
        for (u32 k = 1; k < each; k++)
            x[k] += x[k - 1];

        const A up_to = add_up_group(x[each - 1], lane, lanes);
        A before = shfl_up(up_to, 1);

        if (lane == lanes - 1)
            slot[turn][group] = up_to;
        __syncthreads();

        const A sums =
            add_up_group(lane < groups ? slot[turn][lane] : A(0), lane, lanes);
        const A groups_before = shfl(sums, group - 1);

        before = lane > 0 ? before : A(0);
        if (group > 0)
            before += groups_before;
        before += carry;
        carry += shfl(sums, groups - 1);
        UNROLL
        for (u32 k = 0; k < each; k++)
            if (mine + k < n)
                dst[mine + k] = convert<T>(before + x[k]);
    }
    return carry;
}
