/*
 * tensor.h - elements and rows of tensors with strides
 *
 * Any 1-D grid of any block takes the elements in turn, the first dimension
 * fastest. Where the outer dimensions are 1 nothing is divided: a host that
 * joins dimensions which lie one behind the other saves the time.
 *
 * All kernels of module ggml wait for the launch before them (early.h) first of
 * all.
 */
#pragma once

#include "../../host/ggml_tensor.h"
#include "division.h"
#include "early.h"

typedef kpk_ggml_tensor Tensor;

/* an element's place in each dimension */
typedef kpk_ggml_place Place;

DEV u32 rows_of(const Tensor &t)
{
    return t.ne[1] * t.ne[2] * t.ne[3];
}

/* number i of the places of ne, the first `done` dimensions left out */
template <u32 done = 0> DEV Place place_of(u32 i, const u32 (&ne)[4])
{
    Place p = {};
    u32 outer = 1;

    UNROLL
    for (u32 d = done + 1; d < 4; d++)
        outer *= ne[d];
    p.i[done] = i;
    if (outer == 1)
        return p;
    UNROLL
    for (u32 d = done; d < 3; d++) {
        const u32 whole = divide_uniform(p.i[d], ne[d]);

        p.i[d] -= whole * ne[d];
        p.i[d + 1] = whole;
    }
    return p;
}

/* the place in a tensor that is repeated to fill another one */
DEV Place repeated(Place p, const u32 (&ne)[4])
{
    UNROLL
    for (u32 d = 0; d < 4; d++)
        if (p.i[d] >= ne[d])
            p.i[d] %= ne[d];
    return p;
}

template <typename T> DEV T *address_of(const Tensor &t, const Place &p)
{
    u8 *at = static_cast<u8 *>(t.data);

    UNROLL
    for (u32 d = 0; d < 4; d++)
        at += (i64)p.i[d] * t.nb[d];
    return reinterpret_cast<T *>(at);
}

template <typename T> DEV T value_at(const Tensor &t, const Place &p)
{
    return *address_of<const T>(t, p);
}

/* The elements of a row, with any stride. */
template <typename T> struct Row {
    u8 *first;
    i64 step;

    DEV_MEMBER Row(const Tensor &t, const Place &p)
        : first(address_of<u8>(t, p)), step(t.nb[0])
    {
    }
    DEV_MEMBER T &operator[](u32 c) const
    {
        return *reinterpret_cast<T *>(first + (i64)c * step);
    }
};

/* fn(i) for this thread's share of n */
template <class Fn> DEV void each_of(u32 n, Fn fn)
{
    const u64 step = global_threads();

    meet_launches();
    NO_UNROLL
    for (u64 i = global_thread(); i < n; i += step)
        fn((u32)i);
}

/* fn(place) for this thread's share of a tensor's elements */
template <class Fn> DEV void each_place(const Tensor &t, Fn fn)
{
    each_of(t.ne[0] * rows_of(t), [&](u32 i) { fn(place_of(i, t.ne)); });
}
