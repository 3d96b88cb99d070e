/*
 * comm/large.h - messages of any size, read from other ranks' memory
 *
 * Each rank reads its part of the other ranks' inputs, which earlier launches
 * wrote. A block waits until the block with its number has begun on all other
 * ranks, and ends when these blocks have read all inputs. Blocks wait only for
 * blocks with the same number.
 */
#pragma once

#include "comm/group.h"

template <typename T> using CommInputs = RankPointers<const T, COMM_ARGUMENTS>;
template <typename T>
using CommTargets = RankPointers<T, COMM_ARGUMENTS + COMM_RANKS * 8>;

DEV void meet_others(CommGroup &g, u32 flags)
{
    tell_others(g, flags);
    wait_for_others(g, flags);
}

/*
 * send(from, to) and then take(from, to) for 0 <= from < to <= n, `each` at a
 * time or more; n and `each` are a block's. With Flags, COMM_STEPS times at
 * most, what is taken has been sent by the same block of every rank.
 */
template <bool Flags, typename Send, typename Take>
DEV void in_steps(CommGroup &g, u32 n, u32 each, Send send, Take take)
{
    if (!KPK_NVIDIA) { /* too few scalar registers for steps */
        if (n > 0) {
            send(0, n);
            if (Flags)
                meet_others(g, halfway(0));
            take(0, n);
        }
        return;
    }
    const u32 least = Flags ? div_up<u32>(n, COMM_STEPS) : 1;
    const u32 span = max_of(each, max_of(least, 1u));
    u32 before = 0;

    NO_UNROLL
    for (u32 from = 0, step = 0; before < n; from += span, step++) {
        if (from < n) {
            send(from, min_of(from + span, n));
            if (Flags)
                tell_others(g, halfway(step));
        }
        if (step > 0) {
            if (Flags)
                wait_for_others(g, halfway(step - 1));
            take(before, min_of(from, n));
            before = min_of(from, n);
        }
    }
}

/* Loads piece i of n elements that start at element `first` of each rank's
 * input. */
template <typename T, bool Aligned>
DEV void pull_piece(const CommGroup &g, const CommInputs<T> &in, u64 first,
                    u64 n, u64 i, Piece<T> all[COMM_RANKS])
{
    constexpr u32 each = per16<T>::value;
    const u32 ranks = known_nowhere(g.ranks);

    UNROLL
    for (u32 s = 0; s < COMM_RANKS; s++)
        if (s < ranks)
            all[s] = Aligned ? load_pack<each>(in[s] + first + i * each)
                             : piece_at(in[s] + first, n, i);
}

/* Whether element `first` of all ranks' inputs is aligned to 16 bytes. */
template <typename T, u32 offset>
DEV bool are_aligned(const CommGroup &g, const RankPointers<T, offset> &in,
                     u64 first)
{
    u64 low_bits = first * sizeof(T);

    UNROLL_RANKS
    for (u32 s = 0; s < COMM_RANKS; s++) {
        if (s >= g.ranks)
            break;
        low_bits |= (u64)in[s];
    }
    return low_bits % 16 == 0;
}

/* Calls sink(i, all ranks' piece i) for each piece of this thread. */
template <typename T, typename Sink>
DEV void pull(const CommGroup &g, const CommInputs<T> &in, u64 first, u64 n,
              Sink sink)
{
    const u64 whole = are_aligned(g, in, first) ? n / per16<T>::value : 0;
    u64 i = global_thread();
    Piece<T> all[COMM_RANKS];

    /* Loads two pieces at a time: the compiler moves no load ahead of the
     * sink's writes. */
    NO_UNROLL
    for (; KPK_NVIDIA && i + global_threads() < whole;
         i += 2 * global_threads()) {
        Piece<T> next[COMM_RANKS];

        pull_piece<T, true>(g, in, first, n, i, all);
        pull_piece<T, true>(g, in, first, n, i + global_threads(), next);
        sink(i, all);
        sink(i + global_threads(), next);
    }
    NO_UNROLL
    for (; i < whole; i += global_threads()) {
        pull_piece<T, true>(g, in, first, n, i, all);
        sink(i, all);
    }
    NO_UNROLL
    for (; i < pieces_of<T>(n); i += global_threads()) {
        pull_piece<T, false>(g, in, first, n, i, all);
        sink(i, all);
    }
}

/* To all ranks: piece i from element `first` of their sums on, n elements. */
template <typename T>
DEV void put_sum(const CommGroup &g, const CommTargets<T> &to, u64 first, u64 n,
                 u64 i, const Piece<T> &sum)
{
    UNROLL_RANKS
    for (u32 s = 0; s < COMM_RANKS; s++) {
        if (s >= g.ranks)
            break;
        put_piece(to[s] + first, n, i, sum);
    }
}

/* in  [ranks, n]; out  [n], this rank's row of the sum, no part of in */
template <typename T>
DEV void reduce_scatter_large(CommGroup &g, const CommInputs<T> &in, T *out,
                              u64 n)
{
    meet_others(g, COMM_BEGUN);
    pull(g, in, g.rank * n, n, [&](u64 i, const Piece<T> *all) {
        put_piece(out, n, i, sum_of<T>(g, all));
    });
    meet_others(g, halfway(0));
    comm_end(g);
}

/* in  [n]; out  [ranks, n]; in may be this rank's row of out */
template <typename T>
DEV void all_gather_large(CommGroup &g, const CommInputs<T> &in, T *out, u64 n)
{
    meet_others(g, COMM_BEGUN);
    pull(g, in, 0, n, [&](u64 i, const Piece<T> *all) {
        const u32 ranks = known_nowhere(g.ranks);
        UNROLL
        for (u32 s = 0; s < COMM_RANKS; s++)
            if (s < ranks && in[s] != out + s * n)
                put_piece(out + s * n, n, i, all[s]);
    });
    meet_others(g, halfway(0));
    comm_end(g);
}

/* in  [n] of rank `root`, unused elsewhere; out  [n] of every rank; in may be
 * out */
template <typename T>
DEV void broadcast_large(CommGroup &g, const CommInputs<T> &in, T *out, u64 n,
                         u32 root)
{
    const T *from = in[root];

    meet_others(g, COMM_BEGUN);
    if (from != out) {
        NO_UNROLL
        for (u64 i = global_thread(); i < pieces_of<T>(n);
             i += global_threads())
            put_piece(out, n, i, piece_at(from, n, i));
    }
    meet_others(g, halfway(0));
    comm_end(g);
}
