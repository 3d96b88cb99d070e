/*
 * comm/medium.h - messages of a few MB, in one direction with one barrier
 *
 * Each rank writes its input into a slot of every other rank's workspace. When
 * the same block of the others has done so, the block adds up. Words carry no
 * flags, so a message moves half of small.h's bytes, and no rank waits for the
 * others before it writes, as it does in large.h.
 *
 * A long message goes in steps: while one is on its way, the step before it is
 * added up.
 *
 *   slots  [2][ranks][slot_nbytes], from byte `begin` of a workspace on: as
 *          small.h's, by the number of the call and the rank that sends
 */
#pragma once

#include "comm/large.h"

/* A kernel's arguments, of which slot_nbytes is whole cache lines. */
struct MediumSlots {
    u64 begin, slot_nbytes;

    template <typename T>
    DEV_MEMBER T *of(const CommGroup &g, u8 *memory, u32 from) const
    {
        return reinterpret_cast<T *>(
            memory + begin + ((g.call & 1) * g.ranks + from) * slot_nbytes);
    }
};

/*
 * send(from, to) and then take(from, to) for 0 <= from < to <= n, `each` at a
 * time or more: COMM_STEPS times at most. What is taken has been sent by the
 * same block of every rank. n and `each` are a block's.
 */
template <typename Send, typename Take>
DEV void in_steps(CommGroup &g, u32 n, u32 each, Send send, Take take)
{
    if (!KPK_NVIDIA) { /* too few scalar registers for steps */
        if (n > 0) {
            send(0, n);
            meet_others(g, halfway(0));
            take(0, n);
        }
        return;
    }
    const u32 span = max_of(max_of(each, 1u), div_up<u32>(n, COMM_STEPS));
    u32 before = 0;

    NO_UNROLL
    for (u32 from = 0, step = 0; before < n; from += span, step++) {
        if (from < n) {
            send(from, min_of(from + span, n));
            tell_others(g, halfway(step));
        }
        if (step > 0) {
            wait_for_others(g, halfway(step - 1));
            take(before, min_of(from, n));
            before = min_of(from, n);
        }
    }
}

/* Piece i, and the elements behind it, to all other ranks. */
template <typename T>
DEV void push_piece(const CommGroup &g, const MediumSlots &slots, u64 i,
                    const Piece<T> &piece)
{
    UNROLL_RANKS
    for (u32 p = 0; p < COMM_RANKS; p++) {
        if (p >= g.ranks)
            break;
        if (p != g.rank)
            store_pack<per16<T>::value>(slots.of<T>(g, g.memory[p], g.rank) +
                                            i * per16<T>::value,
                                        piece);
    }
}

/* pieces[k], this rank's number i + k * step, become the ranks' sums. */
template <typename T, u32 count>
DEV void add_pushed(const CommGroup &g, const MediumSlots &slots, u64 i,
                    u64 step, Piece<T> (&pieces)[count])
{
    constexpr u32 each = per16<T>::value, BATCH = 4;
    const u64 slot = slots.slot_nbytes / sizeof(T);

    sum_in_batches<T, BATCH>(
        g, pieces, [&](u32 first, Piece<T>(&all)[count][BATCH]) {
            const u32 ranks = known_nowhere(g.ranks);
            const u32 rank = known_nowhere(g.rank);
            const T *from = slots.of<T>(g, g.own, first) + i * each;

            UNROLL
            for (u32 s = 0; s < BATCH; s++)
                if (first + s < ranks && first + s != rank) {
                    UNROLL
                    for (u32 k = 0; k < count; k++)
                        all[k][s] =
                            load_pack<each>(from + s * slot + k * step * each);
                }
        });
}

/* The sum of the ranks' pieces i, of which this rank's is `own`. */
template <typename T>
DEV Piece<T> pushed_sum(const CommGroup &g, const MediumSlots &slots, u64 i,
                        const Piece<T> &own)
{
    Piece<T> sum[1] = {own};

    add_pushed(g, slots, i, 0, sum);
    return sum[0];
}

template <u32 n> struct Count {
    static constexpr u32 value = n;
};

/*
 * do_some(at, count) for the pieces at, at + step ... below `whole`, `count` of
 * them at once, and do_one(at) for the others below `end`. Loads of several
 * pieces go ahead of their writes, as no load does by itself.
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

    in_steps(
        g, (u32)div_up(pieces, threads), rounds,
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
                    put_piece(out, n, at,
                              pushed_sum(g, slots, at, piece_at(in, n, at)));
                });
        });
    comm_end(g);
}
