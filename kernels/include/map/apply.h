/* apply.h - a function applied to packs in registers */
#pragma once

#include "map/pack.h"

struct None {
}; /* stands for an operand that a function does not have */

/*
 * The work that a function does for an element:
 *
 *   COPY   none: moves data, so the code for tiles pays
 *   LIGHT  a few instructions
 *   MILD   HEAVY in f64, otherwise a dozen instructions
 *   HEAVY  many: a loop over a pack's elements, not unrolled
 */
enum Weight { COPY, LIGHT, MILD, HEAVY };

template <typename T> struct operand_size {
    static constexpr u32 value = sizeof(T);
};
template <> struct operand_size<None> {
    static constexpr u32 value = 1;
};

/* A pack for each operand. */
template <u32 k, typename A, typename B, typename C> struct Inputs {
    Raw<A, k> a;
    Raw<B, k> b;
    Raw<C, k> c;
};

template <typename R, u32 n, u32 nops, typename F, typename A, typename B,
          typename C>
DEV Pack<R, n> apply_all(F f, const Pack<A, n> &a, const Pack<B, n> &b,
                         const Pack<C, n> &c)
{
    Pack<R, n> r;
    UNROLL
    for (u32 e = 0; e < n; e++) {
        if constexpr (nops == 1)
            r[e] = f(a[e]);
        else if constexpr (nops == 2)
            r[e] = f(a[e], b[e]);
        else
            r[e] = f(a[e], b[e], c[e]);
    }
    return r;
}

/*
 * Applies f to a pack. A heavy f goes over the pack in a loop, four elements at
 * a time. The raw words rotate, so each turn of the loop unpacks the same
 * words.
 */
template <Weight weight, u32 k, u32 nops, typename R, typename A, typename B,
          typename C, typename F>
DEV Raw<R, k> apply(F f, const Inputs<k, A, B, C> &in)
{
    /* f8 is decoded and encoded by a dozen instructions each */
    constexpr bool heavy = weight == HEAVY || is_same<A, f8>::value;
    if constexpr (heavy && nops < 3 && k >= 8) {
        constexpr u32 each = 4, nparts = k / each;
        typedef Pack<Raw<A, each>, nparts> RingA;
        typedef Pack<Raw<B, each>, nparts> RingB;
        RingA a = bits_as<RingA>(in.a);
        RingB b = bits_as<RingB>(in.b);
        Pack<Raw<R, each>, nparts> out;
        NO_UNROLL
        for (u32 w = 0; w < nparts; w++) {
            turn(out, bits_as<Raw<R, each>>(apply_all<R, each, nops>(
                          f, pack_of<each, A>(a[0]), pack_of<each, B>(b[0]),
                          Pack<C, each>())));
            turn(a, a[0]);
            if constexpr (nops > 1)
                turn(b, b[0]);
        }
        return bits_as<Raw<R, k>>(out);
    } else {
        return bits_as<Raw<R, k>>(apply_all<R, k, nops>(
            f, pack_of<k, A>(in.a), pack_of<k, B>(in.b), pack_of<k, C>(in.c)));
    }
}
