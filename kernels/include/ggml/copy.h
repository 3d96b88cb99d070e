/*
 * copy.h - elements from any layout to any other, and repeated ones
 *
 * Element i of the source becomes element i of the result, whatever the shapes
 * of both: each has the first dimension fastest. No element of the result may
 * be one of the source, unless both are the same one.
 */
#pragma once

#include "ggml/tensor.h"

template <typename From, typename To>
DEV void ggml_copy(const Tensor &src, const Tensor &out)
{
    bool alike = true;

    UNROLL
    for (u32 d = 0; d < 4; d++)
        alike = alike && src.ne[d] == out.ne[d];
    each_of(out.ne[0] * rows_of(out), [&](u32 i) {
        const Place p = place_of(i, out.ne);

        *address_of<To>(out, p) =
            convert<To>(value_at<From>(src, alike ? p : place_of(i, src.ne)));
    });
}

/* the source is repeated along each dimension to fill the result */
template <typename T> DEV void ggml_repeat(const Tensor &src, const Tensor &out)
{
    each_place(out, [&](const Place &p) {
        *address_of<T>(out, p) = value_at<T>(src, repeated(p, src.ne));
    });
}
