/*
 * ring.h - a ring of stages in LDS: copies run ahead of the work on them
 *
 * Stage number i lies in slot i modulo Stages. A ring has two flavours.
 *
 * By barriers, who copies and who works need not wait for the whole block. Each
 * keeps its own end of the ring. `full` of a slot counts the threads or bytes
 * that bring a stage, `empty` those that need it no more.
 *
 *     in.fill();     waits until the slot is empty
 *     ...            copies, which arrive at in.full()
 *     in.next();
 *
 *     out.wait();    waits until the stage is there
 *     ...            works
 *     out.release(); by as many threads as init() said
 *     out.next();
 *
 * By cp.async, every thread copies and works, and waits for its own copies. A
 * barrier of the warp or block follows wait().
 *
 *     ring.fill([&](u32 stage) { ... });   first `Ahead` times
 *     ring.wait<Ahead>();
 *     __syncthreads();
 *     ring.fill(...);                      if Ahead < Stages; else last
 *     ...                                  works on ring.to_read()
 *     ring.release();
 */
#pragma once

#include "nvidia/copy/async_copy.h"
#if KPK_SM >= 90
#include "nvidia/copy/bulk_copy.h"

/* One end of a ring: a slot, with the parity of its phase. */
template <u32 Stages> struct RingEnd {
    u32 barriers; /* LDS address of RingBarriers */
    u32 slot, phase;

    DEV_MEMBER u32 full() const
    {
        return barriers + slot * 8;
    }
    DEV_MEMBER u32 empty() const
    {
        return full() + Stages * 8;
    }
    DEV_MEMBER void next()
    {
        slot = slot + 1 == Stages ? 0 : slot + 1;
        if (slot == 0)
            phase ^= 1;
    }
    DEV_MEMBER void fill() const
    {
        barrier_wait(empty(), phase ^ 1);
    }
    DEV_MEMBER void wait() const
    {
        barrier_wait(full(), phase);
    }
    DEV_MEMBER void release() const
    {
        barrier_arrive(empty());
    }
};

/* A ring's barriers, in LDS. */
template <u32 Stages> struct RingBarriers {
    u64 full[Stages], empty[Stages];

    /* One thread calls this, then the block synchronizes. filling, working: the
     * numbers of producer and consumer threads that arrive for a stage. */
    DEV_MEMBER void init(u32 filling, u32 working)
    {
        for (u32 i = 0; i < Stages; i++)
            init_slot(i, filling, working);
    }
    DEV_MEMBER void init_slot(u32 i, u32 filling, u32 working)
    {
        barrier_init(&full[i], filling);
        barrier_init(&empty[i], working);
    }
    DEV_MEMBER RingEnd<Stages> first() const
    {
        return {lds_address(full), 0, 0};
    }
};
#endif

/* A ring by cp.async: Stages of nbytes, from LDS address `begin` on, of which
 * the first `filled` are filled. */
template <u32 Stages, u32 nbytes> struct CopyRing {
    u32 begin, in, out; /* the ring, the slots to fill and to read */

    DEV_MEMBER explicit CopyRing(u32 lds, u32 filled = 0)
        : begin(lds), in(filled), out(0)
    {
    }
    static DEV_MEMBER u32 after(u32 slot)
    {
        return slot + 1 == Stages ? 0 : slot + 1;
    }
    DEV_MEMBER u32 to_fill() const
    {
        return begin + in * nbytes;
    }
    DEV_MEMBER u32 to_read() const
    {
        return begin + out * nbytes;
    }
    template <class Copy> DEV_MEMBER void fill(Copy copy)
    {
        copy(to_fill());
        filled();
    }
    /* The copies since the last stage are a stage. */
    DEV_MEMBER void filled()
    {
        async_copies_end();
        in = after(in);
    }
    /* Waits for the first of the `Ahead` stages being filled. */
    template <u32 Ahead> static DEV_MEMBER void wait()
    {
        async_copies_wait<(int)Ahead - 1>();
    }
    DEV_MEMBER void release()
    {
        out = after(out);
    }
};
