/*
 * axis.h - one spatial axis of a convolution, in one form for both directions
 *
 * Positions i = 0 .. count - 1 stand for outputs first + i * step; tap number n
 * = 0 .. taps - 1 is kernel element k0 + n * kstep and reads input
 *
 *     q = i * stride + offset + n * reach,  dropped outside 0 .. length - 1
 *
 * A plain convolution is one such axis. A transposed one of stride s is s of
 * them, one for each remainder of the output index: there, output t takes the
 * taps with t + padding - k * dilation divisible by s, the same taps for all t
 * of a remainder, and walks the input one by one. So no thread tries a tap that
 * gives nothing.
 */
#pragma once

#include "division.h"

/* I is i32 if every number fits, to save registers, else i64 */
template <typename I> struct Axis {
    I length;                /* of the input */
    I first, step, count;    /* outputs */
    I stride, offset, reach; /* inputs */
    I k0, kstep, taps;       /* kernel elements */

    DEV_MEMBER I output(I i) const
    {
        return first + i * step;
    }
    DEV_MEMBER I input(I i, I n) const
    {
        return i * stride + offset + n * reach;
    }
    DEV_MEMBER bool has(I q) const
    {
        return q >= 0 && q < length;
    }
    DEV_MEMBER I element(I n) const
    {
        return k0 + n * kstep;
    }
};

template <typename I>
DEV Axis<I> plain_axis(I length, I outputs, I k, I stride, I padding,
                       I dilation)
{
    return {length, 0, 1, outputs, stride, -padding, dilation, 0, 1, k};
}

/* the outputs t with t mod stride = remainder */
template <typename I>
DEV Axis<I> transposed_axis(I length, I outputs, I k, I stride, I padding,
                            I dilation, I remainder)
{
    Axis<I> a = {length, remainder, stride, 0, 1, 0, 0, 0, 1, 0};
    const I jump = dilation % stride;
    I left = (remainder + padding) % stride; /* of tap e */
    I e = 0;

    if (outputs > remainder)
        a.count = (outputs - remainder + stride - 1) / stride;
    /* Find the first tap that falls on an input. Such taps recur with a period
     * of at most `stride`. */
    for (; e < k && left != 0 && e < stride; e++)
        left = left >= jump ? left - jump : left + stride - jump;
    if (e == k || left != 0)
        return a;
    a.k0 = e;
    a.offset = (remainder + padding - e * dilation) / stride;
    /* Find the period; the search may stop once it exceeds the last tap. */
    for (left = jump; left != 0 && a.kstep < k - e; a.kstep++)
        left = left + jump >= stride ? left + jump - stride : left + jump;
    a.taps = (k - e + a.kstep - 1) / a.kstep;
    a.reach = -(a.kstep * dilation / stride);
    return a;
}
