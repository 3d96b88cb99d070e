/* add.h - a + b of a type that sums are kept in: integers wrap */
#pragma once

#include "device.h"

template <typename T> DEV T add_in_type(T a, T b)
{
    if constexpr (traits<T>::is_float)
        return a + b;
    else
        return (T)((u64)a + (u64)b); /* wraps */
}
