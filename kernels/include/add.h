/* add.h - a + b in the type itself: one rounding, integers wrap */
#pragma once

#include "device.h"

template <typename T> DEV T add_in_type(T a, T b)
{
    if constexpr (traits<T>::is_small)
        return convert<T>((float)a + (float)b);
    else if constexpr (traits<T>::is_float)
        return a + b;
    else
        return (T)((u64)a + (u64)b); /* wraps */
}
