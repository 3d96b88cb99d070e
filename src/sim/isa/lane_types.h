/* lane_types.h - the types that a lane computes in
 *
 * A row of an instruction table names one for each operand. The type decides
 * how many registers an operand takes, how constants are widened, what neg,
 * abs, clamp and omod mean, and the C type that the row's expression sees.
 *
 *   token   C type   registers  in a constant
 */
#ifndef SIM_ISA_LANE_TYPES_H
#define SIM_ISA_LANE_TYPES_H

#include <stdint.h>
#include <string.h>

__extension__ typedef _Float16 half_t;

/* clang-format off */
#define LANE_TYPES(X)                                                        \
    X(none,   uint32_t, 0) /* no operand, or one parsed from raw text */     \
    X(u32,    uint32_t, 1)                                                   \
    X(i32,    int32_t,  1)                                                   \
    X(f32,    float,    1)                                                   \
    X(u16,    uint16_t, 1) /* 16-bit types: low half, or high by .h/op_sel */\
    X(i16,    int16_t,  1)                                                   \
    X(f16,    half_t,   1)                                                   \
    X(bf16,   uint16_t, 1) /* bits */                                        \
    X(u64,    uint64_t, 2)                                                   \
    X(i64,    int64_t,  2)                                                   \
    X(f64,    double,   2)                                                   \
    X(pku16,  uint32_t, 1) /* packed: op_sel, op_sel_hi, neg_lo and neg_hi */\
    X(pkf16,  uint32_t, 1) /* are the handler's; a constant stands in the */ \
    X(pkbf16, uint32_t, 1) /* low half */                                    \
    X(pkf32,  uint64_t, 2) /* a constant stands in both halves */            \
    X(mask,   uint64_t, 0) /* one bit per lane, in SGPRs */                  \
    X(tuple,  uint32_t, 0) /* several registers; the handler reads them */   \
    X(tuplef16, uint32_t, 0)                                                 \
    X(tuplef32, uint32_t, 0)                                                 \
    X(tuplef64, uint32_t, 0)
/* clang-format on */

enum lane_type {
#define X(token, ctype, nregs) T_##token,
    LANE_TYPES(X)
#undef X
        NUM_LANE_TYPES
};

#define X(token, ctype, nregs) typedef ctype lane_##token;
LANE_TYPES(X)
#undef X

/* Storage of a temporary and pointers, by the width of a type's registers. */
#define RAW_u32 uint32_t
#define RAW_i32 uint32_t
#define RAW_f32 uint32_t
#define RAW_u16 uint32_t
#define RAW_i16 uint32_t
#define RAW_f16 uint32_t
#define RAW_bf16 uint32_t
#define RAW_pku16 uint32_t
#define RAW_pkf16 uint32_t
#define RAW_pkbf16 uint32_t
#define RAW_u64 uint64_t
#define RAW_i64 uint64_t
#define RAW_f64 uint64_t
#define RAW_pkf32 uint64_t

/* A lane's value out of, and into, the raw array. 16-bit types lie in the low
 * halves of 32-bit lanes. */
#define BITS_IN_LANE(type)                                                     \
    static inline lane_##type get_##type(const RAW_##type *p)                  \
    {                                                                          \
        lane_##type v;                                                         \
        memcpy(&v, p, sizeof(v));                                              \
        return v;                                                              \
    }                                                                          \
    static inline void put_##type(RAW_##type *p, lane_##type v)                \
    {                                                                          \
        *p = 0;                                                                \
        memcpy(p, &v, sizeof(v));                                              \
    }
BITS_IN_LANE(u32)
BITS_IN_LANE(i32)
BITS_IN_LANE(f32)
BITS_IN_LANE(u16)
BITS_IN_LANE(i16)
BITS_IN_LANE(f16)
BITS_IN_LANE(bf16)
BITS_IN_LANE(pku16)
BITS_IN_LANE(pkf16)
BITS_IN_LANE(pkbf16)
BITS_IN_LANE(u64)
BITS_IN_LANE(i64)
BITS_IN_LANE(f64)
BITS_IN_LANE(pkf32)

#endif
