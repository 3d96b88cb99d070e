/*
 * comm/medium.h - messages of a few MB, in one direction without barriers
 *
 * Each rank writes its input into a slot of every other rank's workspace. Words
 * of 64 bits are their own flags, as in small.h, but carry data alone: a word
 * that has not come is EMPTY, all bits set, which is two or four NaNs. A sender
 * replaces data with these bits by other NaNs. The reader of a word sets it to
 * EMPTY.
 *
 * A long message goes in steps: while a step is on its way, the previous one is
 * added up.
 *
 *   slots  [2][ranks][slot_nbytes], from byte `begin` of a workspace on: as in
 *          small.h, by the number of the call and the rank that sends. All
 *          slots of a call are EMPTY when it ends; the call after the next uses
 *          them again
 */
#pragma once

#include "comm/large.h"
#include "comm/small.h"

constexpr u64 EMPTY = ~(u64)0;

/* Pieces whose first words lie side by side, before their second words: an AMD
 * lane stores 8 bytes at once, and neighbouring lanes store neighbours. */
constexpr u32 WORD_RUN = KPK_NVIDIA ? 1 : COMM_RUN / 8;

/* A piece as words that are EMPTY until they arrive; members as in
 * NumberedWords. */
struct PlainWords {
    static constexpr u32 count = 2;

    static DEV_MEMBER void load(const u64 *at, u64 w[count])
    {
        system_load_two(at, w, WORD_RUN);
    }
    static DEV_MEMBER bool are_here(const CommGroup &, const u64 w[count])
    {
        return w[0] != EMPTY && w[1] != EMPTY;
    }
    static DEV_MEMBER Pack<u32, 4> data(const u64 w[count])
    {
        return {(u32)w[0], (u32)(w[0] >> 32), (u32)w[1], (u32)(w[1] >> 32)};
    }
    static DEV_MEMBER u64 *piece(u64 *slot, u64 i)
    {
        return slot + i / WORD_RUN * (count * WORD_RUN) + i % WORD_RUN;
    }
    static DEV_MEMBER void leave(u64 *at)
    {
        system_store_two(at, EMPTY, EMPTY, WORD_RUN);
    }
    /* NaNs remain NaNs */
    template <typename T> static DEV_MEMBER Piece<T> sent(const Piece<T> &piece)
    {
        Pack<u64, 2> w = bits_as<Pack<u64, 2>>(piece);

        UNROLL
        for (u32 k = 0; k < count; k++)
            w[k] -= w[k] == EMPTY;
        return bits_as<Piece<T>>(w);
    }
};

/* A kernel's arguments. slot_nbytes is a multiple of 2 * WORD_RUN words. */
struct MediumSlots {
    u64 begin, slot_nbytes;

    DEV_MEMBER u64 *of(const CommGroup &g, u8 *memory, u32 from) const
    {
        return reinterpret_cast<u64 *>(
            memory + begin + ((g.call & 1) * g.ranks + from) * slot_nbytes);
    }
    DEV_MEMBER Mailbox<PlainWords> box(const CommGroup &g) const
    {
        return {of(g, g.own, 0), slot_nbytes / 8};
    }
};

/* Stores piece i in a slot. */
template <typename T>
DEV void post_piece(u64 *slot, u64 i, const Piece<T> &piece)
{
    const Pack<u64, 2> w = bits_as<Pack<u64, 2>>(PlainWords::sent(piece));

    system_store_two(PlainWords::piece(slot, i), w[0], w[1], WORD_RUN);
}

/* Sends piece i to all other ranks. */
template <typename T>
DEV void push_piece(const CommGroup &g, const MediumSlots &slots, u64 i,
                    const Piece<T> &piece)
{
    UNROLL_RANKS
    for (u32 p = 0; p < COMM_RANKS; p++) {
        if (p >= g.ranks)
            break;
        if (p != g.rank)
            post_piece<T>(slots.of(g, g.memory[p], g.rank), i, piece);
    }
}

/* pieces[k], this rank's number i + k * step, become the ranks' sums. */
template <typename T, u32 count>
DEV void add_pushed(CommGroup &g, const MediumSlots &slots, u64 i, u64 step,
                    Piece<T> (&pieces)[count])
{
    receive_sums<T>(g, slots.box(g), i, step, count, pieces);
}

template <u32 n> struct Count {
    static constexpr u32 value = n;
};

/*
 * do_some(at, count) for the pieces at, at + step ... below `whole`, `count` of
 * them at once, and do_one(at) for the others below `end`. With several pieces
 * at once, all their loads come before their stores.
 */
template <u32 at_once, typename Some, typename One>
DEV void for_pieces(u64 at, u64 step, u64 whole, u64 end, Some do_some,
                    One do_one)
{
    if (KPK_NVIDIA) { /* AMD's have no scalar registers for more loops */
        whole = min_of(whole, end);
        NO_UNROLL
        for (; at + (at_once - 1) * step < whole; at += at_once * step)
            do_some(at, Count<at_once>{});
        NO_UNROLL
        for (; at < whole; at += step)
            do_some(at, Count<1>{});
    }
    NO_UNROLL
    for (; at < end; at += step)
        do_one(at);
}

/* p[k] is the whole piece at + k * step of `in`, aligned to 16 bytes. */
template <typename T, u32 count>
DEV void load_pieces(const T *in, u64 at, u64 step, Piece<T> (&p)[count])
{
    UNROLL
    for (u32 k = 0; k < count; k++)
        p[k] =
            load_pack<per16<T>::value>(in + (at + k * step) * per16<T>::value);
}
template <typename T, u32 count>
DEV void store_pieces(T *out, u64 at, u64 step, const Piece<T> (&p)[count])
{
    UNROLL
    for (u32 k = 0; k < count; k++)
        store_pack<per16<T>::value>(out + (at + k * step) * per16<T>::value,
                                    p[k]);
}

/* in, out  n elements of each rank; out may be in
 * rounds   pieces that a thread sends in a step */
template <typename T>
DEV void all_reduce_medium(CommGroup &g, const MediumSlots &slots, const T *in,
                           T *out, u64 n, u32 rounds)
{
    constexpr u32 each = per16<T>::value;
    const u64 pieces = pieces_of<T>(n), threads = global_threads();
    const u64 sent = is_aligned(in, 16) ? n / each : 0;
    const u64 taken = is_aligned(out, 16) ? sent : 0;
    const u32 each_thread = (u32)div_up(pieces, threads);

    comm_begin(g, each_thread);
    in_steps<false>(
        g, each_thread, rounds,
        [&](u32 from, u32 to) {
            for_pieces<4>(
                from * threads + global_thread(), threads, sent,
                min_of(pieces, to * threads),
                [&](u64 at, auto count) {
                    Piece<T> p[count.value];

                    load_pieces(in, at, threads, p);
                    UNROLL
                    for (u32 k = 0; k < count.value; k++)
                        push_piece(g, slots, at + k * threads, p[k]);
                },
                [&](u64 at) { push_piece(g, slots, at, piece_at(in, n, at)); });
        },
        [&](u32 from, u32 to) {
            for_pieces<2>(
                from * threads + global_thread(), threads, taken,
                min_of(pieces, to * threads),
                [&](u64 at, auto count) {
                    Piece<T> p[count.value];

                    load_pieces(in, at, threads, p);
                    add_pushed(g, slots, at, threads, p);
                    store_pieces(out, at, threads, p);
                },
                [&](u64 at) {
                    Piece<T> p[1] = {piece_at(in, n, at)};

                    add_pushed(g, slots, at, threads, p);
                    put_piece(out, n, at, p[0]);
                });
        });
    comm_end(g);
}
