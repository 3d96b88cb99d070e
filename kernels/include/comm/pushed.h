/*
 * comm/pushed.h - all-reduces of any size, in which each rank sums a share
 *
 * Each rank sends its input for every other rank's share into a slot of that
 * rank, as medium.h does, adds up its own share, and writes the sums to all
 * ranks.
 *
 * Sums are written to the results of all ranks. If other GPUs cannot write
 * there, sums go to the workspaces, and each rank copies its own results.
 *
 * On AMD's GPUs, where two GPUs that write one cache line could lose bytes,
 * shares are whole cache lines of a workspace. Results in place, used only on
 * NVIDIA's GPUs, begin anywhere; these GPUs keep both ranks' bytes of a line.
 */
#pragma once

#include "comm/medium.h"

/* Elements that each rank adds up of n: whole lines. */
template <typename T> DEV u64 share_of(const CommGroup &g, u64 n)
{
    constexpr u32 line = COMM_LINE / sizeof(T);

    return div_up<u64>(n, g.ranks * line) * line;
}

/* The ranks' shares of n sums, from this rank's workspace to `out`. */
template <typename T>
DEV void copy_results(const CommGroup &g, const T *own, T *out, u64 n,
                      u64 share)
{
    if (own == out)
        return;
    NO_UNROLL
    for (u64 i = global_thread(); i < share / per16<T>::value;
         i += global_threads()) {
        UNROLL_RANKS
        for (u64 s = 0; s < COMM_RANKS; s++) {
            const u64 begin = s * share;

            if (s >= g.ranks || begin >= n)
                break;
            put_piece(out + begin, n - begin, i,
                      piece_at(own + begin, n - begin, i));
        }
    }
}

template <typename T> using PushedTargets = RankPointers<T, COMM_ARGUMENTS + 8>;

/*
 * in      n elements of each rank
 * to      where the ranks take the sum: out of each rank, which may be its in,
 *         or memory aligned to 16 bytes in its workspace
 * out     n elements; copied from `to` of this rank unless it is that
 * rounds  pieces of a share that a thread sends in a step
 */
template <typename T>
DEV void all_reduce_pushed(CommGroup &g, const MediumSlots &slots, const T *in,
                           const PushedTargets<T> &to, T *out, u64 n,
                           u32 rounds)
{
    constexpr u32 each = per16<T>::value;
    const u64 share = share_of<T>(g, n), threads = global_threads();
    const u64 first = min_of<u64>(g.rank * share, n);
    const u64 length = min_of<u64>(share, n - first);
    const bool aligned = is_aligned(in, 16) && are_aligned(g, to, 0);
    const u32 each_thread = (u32)div_up<u64>(share / each, threads);

    comm_begin(g, each_thread);
    in_steps<false>(
        g, each_thread, rounds,
        [&](u32 from, u32 end) {
            NO_UNROLL
            for (u32 next = 1; next < g.ranks; next++) { /* send all shares */
                const u32 p = (g.rank + next) % g.ranks;
                const u64 begin = min_of<u64>(p * share, n);
                const u64 count = min_of<u64>(share, n - begin);
                const T *part = in + begin;
                u64 *slot = slots.of(g, g.memory[p], g.rank);

                for_pieces<4>(
                    from * threads + global_thread(), threads,
                    aligned ? count / each : 0,
                    min_of(pieces_of<T>(count), end * threads),
                    [&](u64 at, auto some) {
                        Piece<T> v[some.value];

                        load_pieces(part, at, threads, v);
                        UNROLL
                        for (u32 k = 0; k < some.value; k++)
                            post_piece<T>(slot, at + k * threads, v[k]);
                    },
                    [&](u64 at) {
                        post_piece<T>(slot, at, piece_at(part, count, at));
                    });
            }
        },
        [&](u32 from, u32 end) {
            for_pieces<2>(
                from * threads + global_thread(), threads,
                aligned ? length / each : 0,
                min_of(pieces_of<T>(length), end * threads),
                [&](u64 at, auto count) {
                    Piece<T> v[count.value];

                    load_pieces(in + first, at, threads, v);
                    add_pushed(g, slots, at, threads, v);
                    NO_UNROLL
                    for (u32 next = 0; next < g.ranks; next++)
                        store_pieces(to[(g.rank + next) % g.ranks] + first, at,
                                     threads, v);
                },
                [&](u64 at) {
                    Piece<T> v[1] = {piece_at(in + first, length, at)};

                    add_pushed(g, slots, at, threads, v);
                    UNROLL_RANKS
                    for (u32 s = 0; s < COMM_RANKS; s++) {
                        if (s >= g.ranks)
                            break;
                        put_piece(to[s] + first, length, at, v[0]);
                    }
                });
        });
    meet_others(g, COMM_BEGUN);
    copy_results(g, static_cast<const T *>(to[g.rank]), out, n, share);
    comm_end(g);
}
