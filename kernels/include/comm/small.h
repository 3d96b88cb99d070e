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

/* Ranks whose pieces are asked for at once: no more fit NVIDIA's registers. */
constexpr u32 RANKS_AT_ONCE = KPK_NVIDIA ? 4 : COMM_RANKS;

/* A piece's words in a slot. Each word has data and the call's number, so that
 * it is its own flag; words of medium.h differ. */
struct NumberedWords {
    static constexpr u32 count = WORDS_PER_PIECE;

    static DEV_MEMBER void load(const u64 *at, u64 w[count])
    {
        system_load_two(at, w);
        system_load_two(at + 2, w + 2);
    }
    static DEV_MEMBER bool are_here(const CommGroup &g, const u64 w[count])
    {
        bool here = true;

        UNROLL
        for (u32 k = 0; k < count; k++)
            here &= (u32)(w[k] >> 32) == g.call;
        return here;
    }
    static DEV_MEMBER Pack<u32, 4> data(const u64 w[count])
    {
        Pack<u32, 4> data;

        UNROLL
        for (u32 k = 0; k < count; k++)
            data[k] = (u32)w[k];
        return data;
    }
    static DEV_MEMBER u64 *piece(u64 *slot, u64 i)
    {
        return slot + i * count;
    }
    /* the next call has another number */
    static DEV_MEMBER void leave(u64 *)
    {
    }
    template <typename T> static DEV_MEMBER Piece<T> sent(const Piece<T> &piece)
    {
        return piece;
    }
};

/* A rank's slots for incoming messages, one for each sending rank. */
template <typename Words> struct Mailbox {
    u64 *slots;
    u64 words; /* from a rank's slot to the next */

    DEV_MEMBER u64 *at(u32 rank, u64 i) const
    {
        return Words::piece(slots + rank * words, i);
    }
};

/*
 * all[k * Batch + s] is piece i + k * step of rank first + s, if it has a bit
 * in `senders`, whose lowest bit is rank `first`, and k is below `there`. Up to
 * 32 pieces. Ahead: the addresses are worked out before the wait, once.
 */
template <typename T, u32 Batch, u32 count, bool Ahead = false, typename Words>
DEV void receive_batch(CommGroup &g, const Mailbox<Words> &box, u32 first,
                       u32 senders, u64 i, u64 step, u32 there, Piece<T> *all)
{
    u64 w[count * Batch][Words::count];
    u64 *ahead[count * Batch];

#if KPK_NVIDIA
    if constexpr (Ahead) {
        UNROLL
        for (u32 j = 0; j < count * Batch; j++) {
            ahead[j] = box.at(first + j % Batch, i + j / Batch * step);
            asm volatile("" : "+l"(ahead[j]));
        }
    }
#endif
    const auto at = [&](u32 j) {
        if constexpr (Ahead)
            return ahead[j];
        else
            return box.at(first + j % Batch, i + j / Batch * step);
    };
    const auto ask = [&](u32 missing) {
        UNROLL
        for (u32 j = 0; j < count * Batch; j++)
            if (missing >> j & 1)
                Words::load(at(j), w[j]);
    };
    const auto asked = [&] {
        u32 all_asked = 0;

        UNROLL
        for (u32 k = 0; k < count; k++)
            if (k < there)
                all_asked |= (senders & ((1u << Batch) - 1)) << k * Batch;
        return known_nowhere(all_asked);
    };
    ask(asked());
    wait_until(g, [&](u32 &peer) {
        const u32 wanted = asked();
        u32 missing = 0;

        UNROLL
        for (u32 j = 0; j < count * Batch; j++)
            if (wanted >> j & 1)
                missing |= Words::are_here(g, w[j]) ? 0 : 1u << j;
        if (missing) {
            peer = first + log2_of(missing) % Batch;
            ask(missing);
        }
        return missing == 0;
    });
    const u32 taken = asked();

    UNROLL
    for (u32 j = 0; j < count * Batch; j++) {
        all[j] = bits_as<Piece<T>>(Words::data(w[j]));
        if (taken >> j & 1)
            Words::leave(at(j));
    }
}

/* This rank's mailbox for small messages. */
DEV Mailbox<NumberedWords> small_box(const CommGroup &g)
{
    return {small_slot(g, g.own, 0), g.small_nbytes / 4};
}

/* Piece i of every rank that has a bit in `senders`, into all[]. */
template <typename T>
DEV void receive_pieces(CommGroup &g, u32 senders, u64 i,
                        Piece<T> all[COMM_RANKS])
{
    UNROLL
    for (u32 s = 0; s < COMM_RANKS; s += RANKS_AT_ONCE)
        if (s == 0 || senders >> s)
            receive_batch<T, RANKS_AT_ONCE, 1>(g, small_box(g), s, senders >> s,
                                               i, 0, 1, all + s);
}

/* Sends source(peer, i), piece i for that rank; Same: one for all ranks. */
template <typename T, bool Same, typename Source>
DEV void send_to_others(const CommGroup &g, u64 i, Source source)
{
    const Piece<T> same = Same ? source(0u, i) : Piece<T>{};

    UNROLL_RANKS
    for (u32 p = 0; p < COMM_RANKS; p++) {
        if (p >= g.ranks)
            break;
        if (p != g.rank)
            send_piece<T>(g, small_slot(g, g.memory[p], g.rank), i,
                          Same ? same : source(p, i));
    }
}

DEV u32 all_ranks(const CommGroup &g)
{
    return (1u << g.ranks) - 1;
}

/*
 * pieces[k], this rank's number i + k * step, become the ranks' sums if k is
 * below `there`: as sum_of(), but few ranks at a time, for kernels that have
 * few registers. Norm: a norm follows. It then pays to add pieces as words and
 * to work out addresses ahead; alone, a sum is slower for it.
 */
template <typename T, bool Norm = false, u32 count, typename Words>
DEV void receive_sums(CommGroup &g, const Mailbox<Words> &box, u64 i, u64 step,
                      u32 there, Piece<T> (&pieces)[count])
{
    constexpr u32 Batch = 4 / count; /* no more fit the registers */
    const u32 others = all_ranks(g) & ~(1u << g.rank);

    UNROLL
    for (u32 k = 0; k < count; k++)
        pieces[k] = Words::sent(pieces[k]);
    if (KPK_NVIDIA && g.ranks == 2) { /* the same bits in either order */
        Piece<T> other[count];

        receive_batch<T, 1, count, Norm>(g, box, g.rank ^ 1, 1, i, step, there,
                                         other);
        UNROLL
        for (u32 k = 0; k < count; k++) {
            if constexpr (Norm) {
                pieces[k] = sum_of_two<T>(pieces[k], other[k]);
            } else {
                UNROLL
                for (u32 e = 0; e < per16<T>::value; e++)
                    pieces[k][e] = convert<T>(convert<f32>(pieces[k][e]) +
                                              convert<f32>(other[k][e]));
            }
        }
        return;
    }
    sum_in_batches<T, Batch>(
        g, pieces, [&](u32 first, Piece<T>(&all)[count][Batch]) {
            receive_batch<T, Batch, count>(g, box, first, others >> first, i,
                                           step, there, all[0]);
        });
}

/*
 * Sends pieces and takes the pieces of the other ranks.
 *
 *   Same     every rank gets the same piece
 *   senders  a bit for each rank that sends
 *   source   (peer, i): piece i for that rank; a rank's own too
 *   sink     (i, all): takes piece i of every sender, its own among them
 */
template <typename T, bool Same, typename Source, typename Sink>
DEV void exchange_small(CommGroup &g, u64 npieces, u32 senders, Source source,
                        Sink sink)
{
    const bool sends = senders >> g.rank & 1;

    NO_UNROLL
    for (u64 i = global_thread(); sends && i < npieces; i += global_threads())
        send_to_others<T, Same>(g, i, source);
    NO_UNROLL
    for (u64 i = global_thread(); i < npieces; i += global_threads()) {
        const Piece<T> own = sends ? source(g.rank, i) : Piece<T>{};
        Piece<T> all[COMM_RANKS];

        receive_pieces<T>(g, senders & ~(1u << g.rank), i, all);
        put_own(g, own, all);
        sink(i, all);
    }
}

/* in, out  n elements of each rank; out may be in */
template <typename T>
DEV void all_reduce_small(CommGroup &g, const T *in, T *out, u64 n)
{
    exchange_small<T, true>(
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
    exchange_small<T, false>(
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
    exchange_small<T, true>(
        g, pieces_of<T>(n), all_ranks(g),
        [&](u32, u64 i) { return piece_at(in, n, i); },
        [&](u64 i, const Piece<T> *all) {
            const u32 ranks = known_nowhere(g.ranks);
            const u64 length = known_nowhere(n);

            UNROLL
            for (u32 s = 0; s < COMM_RANKS; s++)
                if (s < ranks)
                    put_piece(out + s * length, length, i, all[s]);
        });
    comm_end(g);
}

/*
 * in  [n] of rank `root`, unused elsewhere; out  [n] of every rank; in may be
 * out. The root receives no data, so it waits until the other ranks have begun.
 */
template <typename T>
DEV void broadcast_small(CommGroup &g, const T *in, T *out, u64 n, u32 root)
{
    tell_others(g, COMM_BEGUN);
    exchange_small<T, true>(
        g, pieces_of<T>(n), 1u << root,
        [&](u32, u64 i) { return piece_at(in, n, i); },
        [&](u64 i, const Piece<T> *all) {
            Piece<T> piece = all[0];
            UNROLL
            for (u32 s = 1; s < COMM_RANKS; s++)
                if (s == root)
                    piece = all[s];
            put_piece(out, n, i, piece);
        });
    wait_for_others(g, COMM_BEGUN);
    comm_end(g);
}
