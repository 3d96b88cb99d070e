/* async_copy.h - sm_80's cp.async to LDS: each lane waits for its own copies */
#pragma once

#include "device.h"

/* An address in LDS whose origin is hidden from the compiler, which would
 * compute it again for each copy. */
DEV u32 lds_copy_address(const void *p)
{
    u32 address = (u32)__cvta_generic_to_shared(p);

    asm("" : "+r"(address));
    return address;
}

/* async_copy_16() copies through L1 or past it: bytes that one workgroup alone
 * reads need not fill L1. Addresses in memory and LDS are multiples of 16. */
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

/* past L1, and only if `go` */
DEV void async_copy_16_if(bool go, u32 to, const void *from)
{
    asm volatile("{\n\t.reg .pred go;\n\tsetp.ne.u32 go, %2, 0;\n\t"
                 "@go cp.async.cg.shared.global [%0], [%1], 16;\n\t}" ::"r"(to),
                 "l"(from), "r"((u32)go)
                 : "memory");
}

/* the first nbytes of 16, past L1; the rest becomes zero */
DEV void async_copy_part(u32 to, const void *from, u32 nbytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "r"(nbytes)
                 : "memory");
}

/* The first nbytes of n, 4 or 8, through L1; the rest becomes zero. */
template <u32 n>
DEV void async_copy_narrow(u32 to, const void *from, u32 nbytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to),
                 "l"(from), "n"(n), "r"(nbytes)
                 : "memory");
}

/* The part of a product's step to copy: all, or first the rows, which are
 * weights, and later the columns. */
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
