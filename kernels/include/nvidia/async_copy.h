/* async_copy.h - sm_80's copies to LDS that the lane which asked waits for */
#pragma once

#include "device.h"

/* An address in LDS. The compiler must not see where it comes from: it would
 * work it out anew for each copy. */
DEV u32 lds_copy_address(const void *p)
{
    u32 address = (u32)__cvta_generic_to_shared(p);

    asm("" : "+r"(address));
    return address;
}

/* Both addresses are multiples of 16. Through L1, or past it: what one
 * workgroup alone reads need not go there. */
enum class Through { l1, l2 };

template <Through T> DEV void async_copy_16(u32 to, const u8 *from)
{
    if constexpr (T == Through::l1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to),
                     "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                     "l"(from)
                     : "memory");
}

/* the first nbytes of 16, past L1; the rest becomes zero */
DEV void async_copy_part(u32 to, const u8 *from, u32 nbytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "r"(nbytes)
                 : "memory");
}

/* The same of n: 4 or 8, by L1. */
template <u32 n> DEV void async_copy_few(u32 to, const u8 *from, u32 nbytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to),
                 "l"(from), "n"(n), "r"(nbytes)
                 : "memory");
}

/* What is copied of a step of a product: all, or its rows first, which are
 * weights, and its columns later. */
enum class StepPart { all, rows, columns };

/* The lane's copies since the last call become a group. */
DEV void async_copies_end()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for all of the lane's groups but the last `Later`. */
template <int Later> DEV void async_copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
}
