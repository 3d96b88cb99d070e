/*
 * comm/medium.h - messages of a few MB, in one step with one barrier
 *
 * Each rank writes its input into a slot of every other rank's workspace. When
 * the same block of the others has done so, the block adds up. Words carry no
 * flags, so a message moves half of small.h's bytes, and no rank waits for the
 * others before it writes, as it does in large.h.
 *
 *   slots  [2][ranks][slot_nbytes], from byte `slots` of a workspace on: as
 *          small.h's, by the number of the call and the rank that sends
 */
#pragma once

#include "comm/large.h"

/* A kernel's last arguments, of which slot_nbytes is whole cache lines. */
struct MediumSlots {
    u64 begin, slot_nbytes;

    template <typename T>
    DEV_MEMBER T *of(const CommGroup &g, u8 *memory, u32 from) const
    {
        return reinterpret_cast<T *>(
            memory + begin + ((g.call & 1) * g.ranks + from) * slot_nbytes);
    }
};

/* in, out  n elements of each rank; out may be in */
template <typename T>
DEV void all_reduce_medium(CommGroup &g, const MediumSlots &slots, const T *in,
                           T *out, u64 n)
{
    constexpr u32 each = per16<T>::value;

    NO_UNROLL
    for (u64 i = global_thread(); i < pieces_of<T>(n); i += global_threads()) {
        const Piece<T> piece = piece_at(in, n, i);

        UNROLL_RANKS
        for (u32 p = 0; p < COMM_RANKS; p++) {
            if (p >= g.ranks)
                break;
            if (p != g.rank)
                store_pack<each>(slots.of<T>(g, g.memory[p], g.rank) + i * each,
                                 piece);
        }
    }
    meet_others(g, COMM_HALFWAY);
    NO_UNROLL
    for (u64 i = global_thread(); i < pieces_of<T>(n); i += global_threads()) {
        const u32 ranks = known_nowhere(g.ranks), rank = known_nowhere(g.rank);
        const T *first = slots.of<T>(g, g.own, 0) + i * each;
        const Piece<T> own = piece_at(in, n, i);
        Piece<T> all[COMM_RANKS];

        UNROLL
        for (u32 s = 0; s < COMM_RANKS; s++)
            if (s < ranks && s != rank)
                all[s] = load_pack<each>(first +
                                         s * (slots.slot_nbytes / sizeof(T)));
        put_own(g, own, all);
        put_piece(out, n, i, sum_of<T>(g, all));
    }
    comm_end(g);
}
