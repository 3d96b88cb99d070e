/*
 * comm/large.h - messages of any size, read from the memory of the others
 *
 * Each rank reads its part of the others' inputs, which they have written in
 * earlier launches. A block waits until the same block of the other ranks has
 * begun, and ends when they have read what they need. An all-reduce has two
 * steps: each rank adds up its share of the pieces into `results` of its
 * workspace, then copies the shares of all. Both steps of a block take the same
 * pieces of each share, so blocks wait for their like alone.
 */
#pragma once

#include "comm/group.h"

template <typename T> struct CommInputs {
    const T *of[COMM_RANKS]; /* by rank */
};

#define COMM_INPUT_PARAMETERS(T)                                               \
    const T *in0, const T *in1, const T *in2, const T *in3, const T *in4,      \
        const T *in5, const T *in6, const T *in7
#define COMM_INPUTS(T)                                                         \
    CommInputs<T>                                                              \
    {                                                                          \
        {                                                                      \
            in0, in1, in2, in3, in4, in5, in6, in7                             \
        }                                                                      \
    }

template <typename T> DEV T *results_of(const CommGroup &g, u8 *memory)
{
    const u64 slots = 2ull * g.ranks * (g.small_nbytes / 4) * 8;

    return reinterpret_cast<T *>(memory + COMM_SLOTS + slots);
}

/* Piece i of all ranks from element `first` of their inputs on, n elements. */
template <typename T, typename Sink>
DEV void pull(const CommGroup &g, const CommInputs<T> &in, u64 first, u64 n,
              Sink sink)
{
    for (u64 i = global_thread(); i < pieces_of<T>(n); i += global_threads()) {
        Piece<T> all[COMM_RANKS];
        UNROLL
        for (u32 s = 0; s < COMM_RANKS; s++)
            if (s < g.ranks)
                all[s] = piece_at(in.of[s] + first, n, i);
        sink(i, all);
    }
}

/* in, out  n elements of each rank; out may be in */
template <typename T>
DEV void all_reduce_large(CommGroup &g, const CommInputs<T> &in, T *out, u64 n)
{
    constexpr u32 each = per16<T>::value;
    const u64 share = div_up<u64>(pieces_of<T>(n), g.ranks) * each;
    const u64 first = min_of<u64>(g.rank * share, n);
    const u64 length = min_of<u64>(share, n - first);
    T *results = results_of<T>(g, memory_of(g, g.rank));

    tell_others(g, COMM_BEGUN);
    wait_for_others(g, COMM_BEGUN);
    pull(g, in, first, length, [&](u64 i, const Piece<T> *all) {
        store_pack<each>(results + i * each, sum_of<T>(g, all));
    });
    tell_others(g, COMM_HALFWAY);
    wait_for_others(g, COMM_HALFWAY);
    for (u64 i = global_thread(); i < share / each; i += global_threads())
        UNROLL
    for (u32 s = 0; s < COMM_RANKS; s++)
        if (s < g.ranks && s * share < n)
            put_piece(
                out + s * share, n - s * share, i,
                load_pack<each>(results_of<T>(g, g.memory[s]) + i * each));
    comm_end(g);
}

/* in  [ranks, n]; out  [n], this rank's row of the sum, no part of in */
template <typename T>
DEV void reduce_scatter_large(CommGroup &g, const CommInputs<T> &in, T *out,
                              u64 n)
{
    tell_others(g, COMM_BEGUN);
    wait_for_others(g, COMM_BEGUN);
    pull(g, in, g.rank * n, n, [&](u64 i, const Piece<T> *all) {
        put_piece(out, n, i, sum_of<T>(g, all));
    });
    tell_others(g, COMM_HALFWAY);
    wait_for_others(g, COMM_HALFWAY);
    comm_end(g);
}

/* in  [n]; out  [ranks, n]; in may be this rank's row of out */
template <typename T>
DEV void all_gather_large(CommGroup &g, const CommInputs<T> &in, T *out, u64 n)
{
    tell_others(g, COMM_BEGUN);
    wait_for_others(g, COMM_BEGUN);
    pull(g, in, 0, n, [&](u64 i, const Piece<T> *all) {
        UNROLL
        for (u32 s = 0; s < COMM_RANKS; s++)
            if (s < g.ranks && in.of[s] != out + s * n)
                put_piece(out + s * n, n, i, all[s]);
    });
    tell_others(g, COMM_HALFWAY);
    wait_for_others(g, COMM_HALFWAY);
    comm_end(g);
}

/* in  [n] of rank `root`, unused elsewhere; out  [n] of every rank; in may be
 * out */
template <typename T>
DEV void broadcast_large(CommGroup &g, const CommInputs<T> &in, T *out, u64 n,
                         u32 root)
{
    const T *from = in.of[0];
    UNROLL
    for (u32 s = 1; s < COMM_RANKS; s++)
        if (s == root)
            from = in.of[s];
    tell_others(g, COMM_BEGUN);
    wait_for_others(g, COMM_BEGUN);
    if (from != out)
        for (u64 i = global_thread(); i < pieces_of<T>(n);
             i += global_threads())
            put_piece(out, n, i, piece_at(from, n, i));
    tell_others(g, COMM_HALFWAY);
    wait_for_others(g, COMM_HALFWAY);
    comm_end(g);
}
