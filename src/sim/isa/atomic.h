/* atomic.h - what atomic operations do to a value */
#ifndef SIM_ISA_ATOMIC_H
#define SIM_ISA_ATOMIC_H

#include <stdint.h>

/* An atomic operation: the new value from the old one, the data operand and,
 * for compare-and-swap, what to compare with. Values of 32 bits use the low
 * half. */
typedef uint64_t atomic_fn(uint64_t old, uint64_t data, uint64_t compare);

/* clang-format off */
#define ATOMIC_FNS(X)                                                         \
    X(swap32) X(swap64) X(cmpswap32) X(cmpswap64) X(add32) X(add64)           \
    X(sub32) X(sub64) X(smin32) X(smin64) X(umin32) X(umin64) X(smax32)       \
    X(smax64) X(umax32) X(umax64) X(and64) X(or64) X(xor64) X(inc32)          \
    X(inc64) X(dec32) X(dec64) X(clamp_sub32) X(cond_sub32) X(fcmpswap32)     \
    X(fcmpswap64) X(fmin32) X(fmin64) X(fmax32) X(fmax64) X(fadd32)           \
    X(fadd64) X(pk_add_f16) X(pk_add_bf16) X(rsub32) X(rsub64)                \
    X(fadd32_daz) X(fadd32_ftz) X(fadd32_flush)
#define X(name) atomic_fn sim_atomic_##name;
ATOMIC_FNS(X)
#undef X
/* clang-format on */

#endif
