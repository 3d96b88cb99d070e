/*
 * team.h - threads that share a row, and reductions across them
 *
 * A team: the threads of a block that work on a common row. Its result is the
 * same bits run after run: no atomics, a fixed tree, and a tree in which every
 * thread ends with the same value (the operations commute).
 *
 * A team is packed when its threads are neighbours and its size is a power of
 * two. Then it reduces by lane exchange in groups of 32 (a whole wave32, half a
 * wave64: exchanges with a mask below 32 never leave the half, so lanes that do
 * not exist are never read), and across groups through one scratch slot a
 * group. Any other block shape goes through a tree in LDS.
 */
#pragma once

#include "reduce/numbers.h"
#include "walk.h"

constexpr u32 max_block = 1024;
constexpr u32 group_size = 32;
constexpr u32 max_groups = max_block / group_size;

struct team {
    u32 size;   /* threads that share the row */
    u32 rank;   /* this thread in the team */
    u32 thread; /* this thread in the block */
    u32 first;  /* the team's first thread in the block */
    u32 step;   /* distance of two neighbours of the team in the block */
    bool packed;
};

DEV team make_team(u32 size, u32 rank, u32 first, u32 step)
{
    team t;

    t.size = size;
    t.rank = rank;
    t.thread = first + rank * step;
    t.first = first;
    t.step = step;
    t.packed = step == 1 && (size & (size - 1)) == 0;
    return t;
}

/*
 * One block in 2^result takes the rows of its neighbours, which leave at once.
 * The result is at most `most`, and 0 if too few blocks would remain.
 */
constexpr u32 log_busy_threads = 20; /* several times as many as a GPU holds */

DEV u32 log2_blocks_shared(u32 blocks, u32 threads, u32 most,
                           u32 log_enough = log_busy_threads)
{
    const u64 times = (u64)blocks * threads >> log_enough;

    return min_of(log2_of((u32)times | 1), most);
}

DEV u32 power_of_two_at_least(u32 n)
{
    return n <= 1 ? 1 : 1u << (32 - __clz((int)(n - 1)));
}

/* idempotent: op(a, a) is a; of other operations A{} is the empty value */
struct larger {
    static constexpr bool idempotent = true;

    template <typename A> DEV_MEMBER A operator()(A a, A b) const
    {
        return max_number(a, b);
    }
};

/* two values for a single reduction */
template <typename A> struct two {
    A a, b;
};

struct plus {
    static constexpr bool idempotent = false;

    template <typename A> DEV_MEMBER A operator()(A a, A b) const
    {
        return a + b;
    }
    template <typename A> DEV_MEMBER two<A> operator()(two<A> x, two<A> y) const
    {
        return {x.a + y.a, x.b + y.b};
    }
};

/*
 * v, but numbers that follow from v are computed after this place: the compiler
 * would take it out of the loop around, into scalar registers that AMD's GPUs
 * run short of (a lane mask takes two). uniform_here() is for values that are
 * the same for a whole wave. Without optimisation nothing is taken out, and
 * clang can't copy the VGPR that a value then is in to an SGPR.
 */
DEV u32 lane_here(u32 v)
{
#if !KPK_NVIDIA
    asm volatile("" : "+v"(v));
#endif
    return v;
}

DEV u32 uniform_here(u32 v)
{
#if !KPK_NVIDIA && defined(__OPTIMIZE__)
    asm volatile("" : "+s"(v));
#endif
    return v;
}

/* LDS for reductions of A */
template <typename A> struct team_scratch {
    A (*slot)[max_groups]; /* two sets of the groups' partial results */
    A *all;                /* max_block values, for teams that are not packed */

    /* a constructor, because clang -O0 would make a constant of LDS addresses,
     * which is impossible */
    DEV_MEMBER team_scratch(A (*s)[max_groups], A *a) : slot(s), all(a)
    {
    }
};

/* op over `size` neighbouring lanes (a power of two, at most 32), to all */
template <typename A, typename Op> DEV A lanes_reduce(A v, u32 size, Op op)
{
    if (size == group_size)
        return join_lanes(v, op);
    if (!KPK_NVIDIA && size == group_size / 2)
        return join_lanes<16>(v, op);
    for (u32 mask = size / 2; mask > 0; mask /= 2)
        v = op(v, shfl_xor(v, mask));
    return v;
}

template <typename A, typename Op>
DEV A loose_team_reduce(const team &t, A *all, A v, Op op)
{
    all[t.thread] = v;
    __syncthreads();
    for (u32 half = power_of_two_at_least(t.size) / 2; half > 0; half /= 2) {
        if (t.rank < half && t.rank + half < t.size)
            all[t.thread] = op(all[t.thread], all[t.thread + half * t.step]);
        __syncthreads();
    }
    v = all[t.first];
    __syncthreads();
    return v;
}

/*
 * The team's values under op, to all of its threads. All threads of the block
 * must call it together. `turn` alternates 0, 1, 0, ... from call to call: the
 * barrier of the next call keeps this call's slots until all have read them.
 */
template <typename A, typename Op>
DEV A team_reduce(const team &t, const team_scratch<A> &scratch, u32 turn, A v,
                  Op op)
{
    if (!t.packed)
        return loose_team_reduce(t, scratch.all, v, op);
    v = lanes_reduce(v, t.size < group_size ? t.size : group_size, op);
    if (t.size > group_size) {
        const u32 groups = t.size / group_size;
        const u32 lane = t.thread % group_size;

        if (lane == 0)
            scratch.slot[turn][t.thread / group_size] = v;
        __syncthreads();
        v = scratch.slot[turn][t.first / group_size + (lane & (groups - 1))];
        if (!Op::idempotent && lane >= groups)
            v = A{}; /* adds nothing */
        v = lanes_reduce(v, group_size, op);
    }
    return v;
}
