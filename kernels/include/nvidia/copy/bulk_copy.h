/* bulk_copy.h - sm_90's copies to LDS that a barrier there counts */
#pragma once

#include "device.h"

/*
 * A barrier's phases are numbered from 0. A phase ends when all threads have
 * arrived and all bytes have come that the arrivals announced.
 */
DEV u32 lds_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

/* One thread calls this; the workgroup must synchronize before it uses the
 * barrier. */
DEV void barrier_init(u64 *barrier, u32 arrivals)
{
    asm volatile(
        "mbarrier.init.shared.b64 [%0], %1;\n\t"
        "fence.mbarrier_init.release.cluster;" ::"r"(lds_address(barrier)),
        "r"(arrivals)
        : "memory");
}

/* Functions take a barrier as a pointer, or as its lds_address(). */
DEV void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier)
                 : "memory");
}
DEV void barrier_arrive(u64 *barrier)
{
    barrier_arrive(lds_address(barrier));
}

/* Arrives when all of this thread's cp.async copies are complete. */
DEV void barrier_arrive_after_copies(u32 barrier)
{
    asm volatile(
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier)
        : "memory");
}
DEV void barrier_arrive_after_copies(u64 *barrier)
{
    barrier_arrive_after_copies(lds_address(barrier));
}

/* arrives */
DEV void barrier_expect(u64 *barrier, u32 nbytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                     lds_address(barrier)),
                 "r"(nbytes)
                 : "memory");
}

/* starts a copy; size and both addresses are multiples of 16 */
DEV void bulk_copy(u64 *barrier, u8 *lds, const u8 *from, u32 nbytes)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%1], [%2], %3, [%0];" ::"r"(lds_address(barrier)),
        "r"(lds_address(lds)), "l"(from), "r"(nbytes)
        : "memory");
}

DEV void barrier_wait(u32 barrier, u32 phase)
{
    asm volatile("{\n\t"
                 ".reg .pred over;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared.b64 over, [%0], %1;\n\t"
                 "@!over bra again;\n\t"
                 "}" ::"r"(barrier),
                 "r"(phase & 1)
                 : "memory");
}
DEV void barrier_wait(u64 *barrier, u32 phase)
{
    barrier_wait(lds_address(barrier), phase);
}

/* ends the barrier: its memory may be used again */
DEV void barrier_end(u64 *barrier)
{
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(lds_address(barrier))
                 : "memory");
}

/* True in one lane; the whole warp must call it. The compiler then knows that
 * one lane runs the branch, and makes no loop over lanes for a copy's operands.
 */
DEV bool elect_lane()
{
    u32 elected;

    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "elect.sync _|p, 0xffffffff;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(elected));
    return elected != 0;
}
