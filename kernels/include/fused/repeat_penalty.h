/*
 * repeat_penalty.h - makes the tokens of a context less likely
 *
 * input    [vocab] of T
 * output   [vocab]: input, but for the tokens of the context: a number below 0
 *          times the penalty, any other divided by it
 * context  [n_context] tokens; those that are not below vocab are passed over
 *
 * A token counts once, however often the context has it. output is not input.
 * Any 1-D grid and block. f64 is computed in f64, the others in f32.
 */
#pragma once

#include "convert.h"
#include "device.h"

template <typename T>
DEV void repeat_penalty(const T *input, T *output, const u32 *context,
                        u32 vocab, u32 n_context, f32 penalty)
{
    using A = calc_t<T>;
    const u32 each = div_up(vocab, (u32)gridDim.x); /* tokens of a block */
    const u32 first = min_of(vocab, (u32)blockIdx.x * each);
    const u32 end = first + min_of(vocab - first, each);

    for (u32 i = first + threadIdx.x; i < end; i += blockDim.x)
        output[i] = input[i];
    __syncthreads();
    for (u32 j = threadIdx.x; j < n_context; j += blockDim.x) {
        const u32 i = context[j];

        if (i < first || i >= end)
            continue;
        const A x = convert<A>(input[i]);

        output[i] = convert<T>(x >= 0 ? x / (A)penalty : x * (A)penalty);
    }
}
