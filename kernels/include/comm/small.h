/*
 * comm/small.h - messages of a few hundred KB, in one step without barriers
 *
 * A sender stores its data straight into a slot of the receiver's workspace.
 * Each word of 64 bits has 32 bits of data and the number of the call, so that
 * a word is its own flag: a receiver reads it until the number is right. No
 * fence is needed, because nothing else is handed over, and a message takes the
 * time of one store. It moves twice the bytes.
 *
 *   slots  [2][ranks][small_nbytes / 4] u64: of calls with an even number and
 *          an odd one, from each rank. A call that has ended was begun by all
 *          (group.h), so every rank has read the slots of the call before it
 *
 * A word of 2^32 calls ago looks like one of this call.
 */
#pragma once

#include "comm/group.h"

constexpr u32 WORDS_PER_PIECE = 4;

DEV u64 *small_slot(const CommGroup &g, u8 *memory, u32 from)
{
    const u64 words = g.small_nbytes / 4;

    return reinterpret_cast<u64 *>(memory + COMM_SLOTS) +
           ((g.call & 1) * g.ranks + from) * words;
}

template <typename T>
DEV void send_piece(const CommGroup &g, u64 *slot, u64 i, const Piece<T> &piece)
{
    const Pack<u32, 4> data = bits_as<Pack<u32, 4>>(piece);
    const u64 flag = (u64)g.call << 32;
    u64 *to = slot + i * WORDS_PER_PIECE;

    system_store_two(to, flag | data[0], flag | data[1]);
    system_store_two(to + 2, flag | data[2], flag | data[3]);
}

template <typename T>
DEV Piece<T> receive_piece(CommGroup &g, u8 *own, u32 from, u64 i)
{
    const u64 *at = small_slot(g, own, from) + i * WORDS_PER_PIECE;
    u64 w[WORDS_PER_PIECE];
    Pack<u32, 4> data;

    system_load_two(at, w);
    system_load_two(at + 2, w + 2);
    wait_until(g, own, from, [&]() {
        bool here = true;
        UNROLL
        for (u32 k = 0; k < WORDS_PER_PIECE; k++)
            here &= (u32)(w[k] >> 32) == g.call;
        if (!here) {
            system_load_two(at, w);
            system_load_two(at + 2, w + 2);
        }
        return here;
    });
    UNROLL
    for (u32 k = 0; k < WORDS_PER_PIECE; k++)
        data[k] = (u32)w[k];
    return bits_as<Piece<T>>(data);
}

/*
 * Sends pieces and takes what the others have sent.
 *
 *   senders  a bit for each rank that sends
 *   source   (peer, i): piece i for that rank; a rank's own too
 *   sink     (i, all): takes piece i of every sender, its own among them
 */
template <typename T, typename Source, typename Sink>
DEV void exchange_small(CommGroup &g, u64 npieces, u32 senders, Source source,
                        Sink sink)
{
    u8 *own = memory_of(g, g.rank);

    if (senders >> g.rank & 1)
        for (u64 i = global_thread(); i < npieces; i += global_threads())
            UNROLL
    for (u32 p = 0; p < COMM_RANKS; p++)
        if (p < g.ranks && p != g.rank)
            send_piece<T>(g, small_slot(g, g.memory[p], g.rank), i,
                          source(p, i));
    for (u64 i = global_thread(); i < npieces; i += global_threads()) {
        Piece<T> all[COMM_RANKS];
        UNROLL
        for (u32 s = 0; s < COMM_RANKS; s++)
            if (senders >> s & 1)
                all[s] =
                    s == g.rank ? source(s, i) : receive_piece<T>(g, own, s, i);
        sink(i, all);
    }
}

DEV u32 all_ranks(const CommGroup &g)
{
    return (1u << g.ranks) - 1;
}

/* in, out  n elements of each rank; out may be in */
template <typename T>
DEV void all_reduce_small(CommGroup &g, const T *in, T *out, u64 n)
{
    exchange_small<T>(
        g, pieces_of<T>(n), all_ranks(g),
        [&](u32, u64 i) { return piece_at(in, n, i); },
        [&](u64 i, const Piece<T> *all) {
            put_piece(out, n, i, sum_of<T>(g, all));
        });
    comm_end(g);
}

/* in  [ranks, n]; out  [n], this rank's row of the sum */
template <typename T>
DEV void reduce_scatter_small(CommGroup &g, const T *in, T *out, u64 n)
{
    exchange_small<T>(
        g, pieces_of<T>(n), all_ranks(g),
        [&](u32 p, u64 i) { return piece_at(in + p * n, n, i); },
        [&](u64 i, const Piece<T> *all) {
            put_piece(out, n, i, sum_of<T>(g, all));
        });
    comm_end(g);
}

/* in  [n]; out  [ranks, n]; in may be this rank's row of out */
template <typename T>
DEV void all_gather_small(CommGroup &g, const T *in, T *out, u64 n)
{
    exchange_small<T>(
        g, pieces_of<T>(n), all_ranks(g),
        [&](u32, u64 i) { return piece_at(in, n, i); },
        [&](u64 i, const Piece<T> *all) {
            UNROLL
            for (u32 s = 0; s < COMM_RANKS; s++)
                if (s < g.ranks)
                    put_piece(out + s * n, n, i, all[s]);
        });
    comm_end(g);
}

/*
 * in  [n] of rank `root`, unused elsewhere; out  [n] of every rank; in may be
 * out. Root hears nothing of the others, and must know that they have begun.
 */
template <typename T>
DEV void broadcast_small(CommGroup &g, const T *in, T *out, u64 n, u32 root)
{
    tell_others(g, COMM_BEGUN);
    exchange_small<T>(
        g, pieces_of<T>(n), 1u << root,
        [&](u32, u64 i) { return piece_at(in, n, i); },
        [&](u64 i, const Piece<T> *all) {
            UNROLL
            for (u32 s = 0; s < COMM_RANKS; s++)
                if (s == root)
                    put_piece(out, n, i, all[s]);
        });
    wait_for_others(g, COMM_BEGUN);
    comm_end(g);
}
