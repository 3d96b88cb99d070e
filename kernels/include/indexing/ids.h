/*
 * ids.h - indices that come from a tensor
 *
 * The largest value of the index type is a marker, 'no element'. Negative ids
 * and ids past the end are treated like it: a read gives 0, a write is left
 * out. No id makes a kernel touch memory outside its buffers.
 */
#pragma once

#include "division.h"
#include "walk.h"

template <typename I> DEV I id_marker()
{
    constexpr bool is_signed = (I)-1 < (I)0;

    return (I)(~(u64)0 >> (64 - 8 * sizeof(I) + is_signed));
}

/* Whether id is an index of `dim` elements; negative ids become huge. */
template <typename I> DEV bool is_element(I id, u64 dim)
{
    return id != id_marker<I>() && (u64)(i64)id < dim;
}
