/*
 * order.h - the values of a block's threads joined as the reference joins them
 *
 * A tree pairs slot t with t + B/2, then B/4 and so on, of a block of B. Sums
 * of floats keep that order (fast.h).
 */
#pragma once

#include "reduce/operations.h"

/* P slots of a thread; the tree first joins slots that are P / 2 apart */
template <typename OP, u32 P>
DEV typename OP::value join_own_slots(typename OP::value (&slot)[P])
{
    const OP op;

    UNROLL
    for (u32 half = P / 2; half > 0; half /= 2)
        UNROLL
    for (u32 i = 0; i < half; i++)
        slot[i] = op(slot[i], slot[i + half]);
    return slot[0];
}

/*
 * Joins slots lane, lane + 32, ... below `size`, 128 or more, as the
 * reference's tree does. The four slots that meet first, size / 4 apart, come
 * from four(the first slot). Fours are joined in the tree's order, by their
 * numbers with the bits reversed, so that few wait.
 */
template <typename OP, typename F>
DEV typename OP::value join_slots(u32 size, u32 lane, F four)
{
    using V = typename OP::value;
    const OP op;
    const u32 fours = size / (4 * group_size); /* 1, 2, 4 or 8 */
    const u32 unused = 32 - (31 - (u32)__clz((int)fours));
    V sum = OP::start(), wait1 = sum, wait2 = sum, wait4 = sum;

    NO_UNROLL
    for (u32 i = 0; i < fours; i++) {
        sum = four(lane + (__brev(2 * i) >> (unused - 1)) * group_size);
        if ((i & 1) == 0) {
            wait1 = sum;
            continue;
        }
        sum = op(wait1, sum);
        if ((i & 2) == 0) {
            wait2 = sum;
            continue;
        }
        sum = op(wait2, sum);
        if ((i & 4) == 0)
            wait4 = sum;
        else
            sum = op(wait4, sum);
    }
    return sum;
}

/* to thread 0 of the block, in the order of the reference's tree */
template <typename OP>
DEV typename OP::value join_in_order(const team &t, typename OP::value *slot,
                                     typename OP::value v)
{
    const OP op;

    if (!t.packed)
        return loose_team_reduce(t, slot, v, op);
    if (t.size <= group_size)
        return lanes_reduce(v, t.size, op);
    slot[t.rank] = v;
    __syncthreads();
    if (t.rank >= group_size)
        return v;
    if (t.size == 2 * group_size)
        v = op(slot[t.rank], slot[t.rank + group_size]);
    else
        v = join_slots<OP>(t.size, t.rank, [&](u32 s) {
            const u32 apart = t.size / 4;

            return op(op(slot[s], slot[s + 2 * apart]),
                      op(slot[s + apart], slot[s + 3 * apart]));
        });
    return lanes_reduce(v, group_size, op);
}
