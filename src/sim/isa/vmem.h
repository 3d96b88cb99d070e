/* vmem.h - loads, stores and atomics that vector lanes make
 *
 * An encoding works out where each lane's data is (struct places); what is then
 * read, written or updated is the same for global, flat, scratch and buffer
 * instructions and is here, with the table of their names.
 */
#ifndef SIM_ISA_VMEM_H
#define SIM_ISA_VMEM_H

#include "access.h"
#include "atomic.h"
#include "vop.h"

void sim_vmem_load(struct wave *w, const struct places *p,
                   const struct operand *dst, struct form form);
void sim_vmem_store(struct wave *w, const struct places *p,
                    const struct operand *src, struct form form);

/*
 * For instructions that access up to MAX_TEXELS places of `nbytes` in global
 * memory: each place is checked (loads: sim_global()), then the instruction is
 * counted once. `kind` is one of enum work_kind.
 */
bool sim_vmem_put(struct wave *w, uint64_t at, const uint8_t *bytes,
                  unsigned nbytes, int lane);
void sim_vmem_count(struct wave *w, const uint64_t *at, unsigned n,
                    unsigned nbytes, unsigned kind);

/* Loads to LDS at M0 + offset + lane * step; lanes not in p->lanes store 0.
 * sim_lds_step() is 4 bytes, or 16 for loads of more than a dword. */
unsigned sim_lds_step(struct form form);
void sim_vmem_load_lds(struct wave *w, const struct places *p, int32_t offset,
                       unsigned step, struct form form);

/* Copies between memory and each lane's place in LDS. A load copies nbytes of
 * its value. */
void sim_vmem_load_lds_at(struct wave *w, const struct places *p,
                          const struct places *to, unsigned nbytes,
                          struct form form);
void sim_vmem_store_lds(struct wave *w, const struct places *p,
                        const struct places *from, unsigned nbytes);

/*
 * Transposing loads, for matrix operands. A lane loads n values of `nbits`. The
 * values of 16 lanes are a row-major matrix of 16 columns, a row for every
 * 16 / n lanes. Each lane receives n values of one column. EXEC is ignored.
 */
void sim_vmem_load_transposed(struct wave *w, const struct places *p,
                              const struct operand *dst, unsigned nbytes,
                              unsigned nbits);

/* `dst` is NULL if the instruction does not return the old value. */
void sim_vmem_atomic(struct wave *w, const struct places *p,
                     const struct operand *dst, const struct operand *data,
                     unsigned nbytes, bool has_compare, atomic_fn *fn);

/* One atomic operation for the whole wave; false if it faulted. */
bool sim_scalar_atomic(struct wave *w, uint64_t addr, unsigned nbytes,
                       uint64_t data, uint64_t compare, atomic_fn *fn,
                       uint64_t *old);

/* clang-format off */
/* X(prefix, name up to gfx10, name from gfx11 on, bytes, sign, d16) */
#define VMEM_LOADS(X, p)                                        \
    X(p, load_ubyte,         load_u8,         1,  false, 0)     \
    X(p, load_sbyte,         load_i8,         1,  true,  0)     \
    X(p, load_ushort,        load_u16,        2,  false, 0)     \
    X(p, load_sshort,        load_i16,        2,  true,  0)     \
    X(p, load_dword,         load_b32,        4,  false, 0)     \
    X(p, load_dwordx2,       load_b64,        8,  false, 0)     \
    X(p, load_dwordx3,       load_b96,        12, false, 0)     \
    X(p, load_dwordx4,       load_b128,       16, false, 0)     \
    X(p, load_ubyte_d16,     load_d16_u8,     1,  false, 1)     \
    X(p, load_ubyte_d16_hi,  load_d16_hi_u8,  1,  false, 2)     \
    X(p, load_sbyte_d16,     load_d16_i8,     1,  true,  1)     \
    X(p, load_sbyte_d16_hi,  load_d16_hi_i8,  1,  true,  2)     \
    X(p, load_short_d16,     load_d16_b16,    2,  false, 1)     \
    X(p, load_short_d16_hi,  load_d16_hi_b16, 2,  false, 2)
#define VMEM_STORES(X, p)                                       \
    X(p, store_byte,         store_b8,        1,  false, 0)     \
    X(p, store_short,        store_b16,       2,  false, 0)     \
    X(p, store_dword,        store_b32,       4,  false, 0)     \
    X(p, store_dwordx2,      store_b64,       8,  false, 0)     \
    X(p, store_dwordx3,      store_b96,       12, false, 0)     \
    X(p, store_dwordx4,      store_b128,      16, false, 0)     \
    X(p, store_byte_d16_hi,  store_d16_hi_b8, 1,  false, 2)     \
    X(p, store_short_d16_hi, store_d16_hi_b16, 2, false, 2)
/* X(prefix, name, name from gfx11 on, bytes, compares, function) */
#define VMEM_ATOMICS(X, p)                                              \
    X(p, atomic_swap,        atomic_swap_b32,     4, false, swap32)     \
    X(p, atomic_cmpswap,     atomic_cmpswap_b32,  4, true,  cmpswap32)  \
    X(p, atomic_add,         atomic_add_u32,      4, false, add32)      \
    X(p, atomic_sub,         atomic_sub_u32,      4, false, sub32)      \
    X(p, atomic_smin,        atomic_min_i32,      4, false, smin32)     \
    X(p, atomic_umin,        atomic_min_u32,      4, false, umin32)     \
    X(p, atomic_smax,        atomic_max_i32,      4, false, smax32)     \
    X(p, atomic_umax,        atomic_max_u32,      4, false, umax32)     \
    X(p, atomic_and,         atomic_and_b32,      4, false, and64)      \
    X(p, atomic_or,          atomic_or_b32,       4, false, or64)       \
    X(p, atomic_xor,         atomic_xor_b32,      4, false, xor64)      \
    X(p, atomic_inc,         atomic_inc_u32,      4, false, inc32)      \
    X(p, atomic_dec,         atomic_dec_u32,      4, false, dec32)      \
    X(p, atomic_csub,        atomic_csub_u32,     4, false, clamp_sub32)\
    X(p, atomic_sub_clamp,   atomic_sub_clamp_u32, 4, false, clamp_sub32)\
    X(p, atomic_cond_sub,    atomic_cond_sub_u32, 4, false, cond_sub32) \
    X(p, atomic_fcmpswap,    atomic_cmpswap_f32,  4, true,  fcmpswap32) \
    X(p, atomic_fmin,        atomic_min_f32,      4, false, fmin32)     \
    X(p, atomic_fmax,        atomic_max_f32,      4, false, fmax32)     \
    X(p, atomic_min_num_f32, atomic_fmin_f32,     4, false, fmin32)     \
    X(p, atomic_max_num_f32, atomic_fmax_f32,     4, false, fmax32)     \
    X(p, atomic_add_f32,     atomic_fadd_f32,     4, false, fadd32)     \
    X(p, atomic_pk_add_f16,  atomic_fadd_pk_f16,  4, false, pk_add_f16) \
    X(p, atomic_pk_add_bf16, atomic_fadd_pk_bf16, 4, false, pk_add_bf16)\
    X(p, atomic_swap_x2,     atomic_swap_b64,     8, false, swap64)     \
    X(p, atomic_cmpswap_x2,  atomic_cmpswap_b64,  8, true,  cmpswap64)  \
    X(p, atomic_add_x2,      atomic_add_u64,      8, false, add64)      \
    X(p, atomic_sub_x2,      atomic_sub_u64,      8, false, sub64)      \
    X(p, atomic_smin_x2,     atomic_min_i64,      8, false, smin64)     \
    X(p, atomic_umin_x2,     atomic_min_u64,      8, false, umin64)     \
    X(p, atomic_smax_x2,     atomic_max_i64,      8, false, smax64)     \
    X(p, atomic_umax_x2,     atomic_max_u64,      8, false, umax64)     \
    X(p, atomic_and_x2,      atomic_and_b64,      8, false, and64)      \
    X(p, atomic_or_x2,       atomic_or_b64,       8, false, or64)       \
    X(p, atomic_xor_x2,      atomic_xor_b64,      8, false, xor64)      \
    X(p, atomic_inc_x2,      atomic_inc_u64,      8, false, inc64)      \
    X(p, atomic_dec_x2,      atomic_dec_u64,      8, false, dec64)      \
    X(p, atomic_fcmpswap_x2, atomic_cmpswap_f64,  8, true,  fcmpswap64) \
    X(p, atomic_fmin_x2,     atomic_min_f64,      8, false, fmin64)     \
    X(p, atomic_fmax_x2,     atomic_max_f64,      8, false, fmax64)     \
    X(p, atomic_add_f64,     atomic_fadd_f64,     8, false, fadd64)
/* clang-format on */

#define VMEM_ALIAS(p, old, new, a, b, c) {#p "_" #new, #p "_" #old},

#endif
