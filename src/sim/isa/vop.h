/* vop.h - how vector instructions fetch, compute and write
 *
 * A row such as
 *     X(v_lshlrev_b32, u32, u32, u32, d = b << (a & 31))
 * becomes, through VOP_RUN2, a function that fetches its sources (modifiers,
 * constants, DPP and SDWA applied), runs the expression for every lane in a
 * loop that the compiler turns into vector code, and writes the result where
 * the lane is active; through VOP_ROW2 it becomes the row that the decoder
 * looks up. The expression also runs for lanes that are off, on whatever is
 * in their registers: it must be defined for every input (no host division by
 * zero, no shift past the width). `w`, `in` and the lane number `i` may be
 * used in it.
 *
 * A handler that needs more is written out with the same parts:
 *
 *     static void run_v_foo(struct wave *w, const struct insn *in)
 *     {
 *         SRC(a, 1, f32); // a_raw: op[1]'s bits in each lane
 *         DST(f32);       // d_raw: where op[0]'s bits go
 *         LANES(i)
 *             put_f32(&d_raw[i], GET(a, f32, i) * 2);
 *         DST_DONE(f32);
 *     }
 */
#ifndef SIM_ISA_VOP_H
#define SIM_ISA_VOP_H

#include "insn_rows.h"
#include "wave.h"

/* ---- sources ---- */

/* One 32-bit value per lane; 16-bit types use its low half. */
const uint32_t *sim_src32_slow(struct wave *w, const struct insn *in,
                               unsigned k, uint32_t tmp[MAX_LANES]);
const uint64_t *sim_src64(struct wave *w, const struct insn *in, unsigned k,
                          uint64_t tmp[MAX_LANES]);

static inline const uint32_t *src32(struct wave *w, const struct insn *in,
                                    unsigned k, uint32_t tmp[MAX_LANES])
{
    const struct operand *o = &in->op[k];

    if (o->splat)
        return o->splat;
    if (!o->plain || (w->flushes16 && in->fp == FP_OF_64))
        return sim_src32_slow(w, in, k, tmp);
    return o->kind == OPERAND_VGPR ? w->v[o->reg] : w->a[o->reg];
}

/*
 * f16 is computed in f32, where f16's denormals are normal. The flushing that
 * MODE asks for is done here, on operands (bit 0 of the field) and results (bit
 * 1) of the types f16 and pkf16.
 */
enum flush_side { FLUSH_SOURCE, FLUSH_RESULT };
const uint32_t *sim_flush16(const struct wave *w, const struct insn *in,
                            unsigned type, enum flush_side side,
                            const uint32_t *value, uint32_t tmp[MAX_LANES]);

/* A lane mask (v_cndmask, carry in). */
uint64_t sim_src_mask(const struct wave *w, const struct operand *o);

/* Special operands: neither registers nor constants. */
uint32_t sim_special32(const struct wave *w, const struct operand *o);
uint64_t sim_special64(const struct wave *w, const struct operand *o);

/* Any scalar source. The decoder has made a constant of null. */
static inline uint32_t sim_src_scalar32(const struct wave *w,
                                        const struct operand *o)
{
    if (o->kind == OPERAND_SGPR)
        return w->s[o->reg];
    return o->kind == OPERAND_CONST ? (uint32_t)o->value : sim_special32(w, o);
}

static inline uint64_t sim_src_scalar64(const struct wave *w,
                                        const struct operand *o)
{
    if (o->kind == OPERAND_SGPR)
        return o->width == 1 ? w->s[o->reg] : sreg64(w, o->reg);
    return o->kind == OPERAND_CONST ? o->value : sim_special64(w, o);
}

/* Register `index` of a tuple operand (matrix tiles, wide data), without
 * modifiers. The operand is no constant: those are in operand.value. */
static inline vreg *tuple_reg(struct wave *w, const struct operand *o,
                              unsigned index)
{
    return o->kind == OPERAND_AGPR ? &w->a[o->reg + index]
                                   : &w->v[o->reg + index];
}

/* ---- destinations ---- */

/* Writes op[0] from one value per lane: omod, clamp, SDWA, halves, EXEC. */
void sim_dst32_slow(struct wave *w, const struct insn *in,
                    const uint32_t value[MAX_LANES]);
void sim_dst64(struct wave *w, const struct insn *in,
               const uint64_t value[MAX_LANES]);

/* Writes any operand's register(s) under w->mask, with no modifiers. */
void sim_write32(struct wave *w, const struct operand *o,
                 const uint32_t value[MAX_LANES]);
void sim_write64(struct wave *w, const struct operand *o,
                 const uint64_t value[MAX_LANES]);

/* Writes a lane mask. The caller sets the bits of inactive lanes, too (0 for
 * compares). */
void sim_dst_mask(struct wave *w, const struct operand *o, uint64_t mask);

static inline void sim_dst_scalar32(struct wave *w, const struct operand *o,
                                    uint32_t value)
{
    w->s[o->reg] = value; /* null's slot is never read */
}

static inline void sim_dst_scalar64(struct wave *w, const struct operand *o,
                                    uint64_t value)
{
    if (o->reg != SREG_NULL)
        set_sreg64(w, o->reg, value);
}

static inline uint32_t *dst32(struct wave *w, const struct insn *in,
                              uint32_t tmp[MAX_LANES])
{
    if (in->plain_dst && w->mask == w->full)
        return *tuple_reg(w, &in->op[0], 0);
    return tmp;
}

static inline void dst32_done(struct wave *w, const struct insn *in,
                              const uint32_t *d, const uint32_t *tmp)
{
    if (d == tmp)
        sim_dst32_slow(w, in, d);
}

/* ---- DPP (dpp.c) and SDWA (sdwa.c) ---- */

/*
 * Moves `src` between lanes as in->dpp says into `out`. Lanes that get no
 * value and may not be written are taken out of w->mask.
 */
void sim_dpp_move32(struct wave *w, const struct insn *in, const uint32_t *src,
                    uint32_t out[MAX_LANES]);

/* Selects and extends a byte or word of each lane as o->sel and o->sext say. */
void sim_sdwa_select(const struct operand *o, const uint32_t *src,
                     uint32_t out[MAX_LANES], unsigned nlanes);

/* Puts `value` into the part of `old` that the instruction's dst_sel names. */
void sim_sdwa_merge(const struct insn *in, const uint32_t *value,
                    const uint32_t *old, uint32_t out[MAX_LANES],
                    unsigned nlanes);

/* ---- the parts of a handler ---- */

/* Runs a statement for each lane; in blocks of 32 so that it vectorises. */
#define LANES(i)                                                               \
    for (size_t i##_block = 0; i##_block < w->nlanes; i##_block += 32)         \
    _Pragma("GCC ivdep") for (size_t i = i##_block; i < i##_block + 32; i++)

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

#define FETCH_u32 src32
#define FETCH_i32 src32
#define FETCH_f32 src32
#define FETCH_u16 src32
#define FETCH_i16 src32
#define FETCH_f16 src32
#define FETCH_bf16 src32
#define FETCH_pku16 src32
#define FETCH_pkf16 src32
#define FETCH_pkbf16 src32
#define FETCH_u64 sim_src64
#define FETCH_i64 sim_src64
#define FETCH_f64 sim_src64
#define FETCH_pkf32 sim_src64

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

/* `name_raw` points at operand k's value in each lane. */
#define SRC(name, k, type)                                                     \
    RAW_##type name##_tmp[MAX_LANES] __attribute__((aligned(64)));             \
    const RAW_##type *name##_raw = FETCH_##type(w, in, k, name##_tmp)

#define GET(name, type, i) get_##type(&name##_raw[i])

#define DST(type)                                                              \
    RAW_##type d_tmp[MAX_LANES] __attribute__((aligned(64)));                  \
    RAW_##type *d_raw = _Generic(d_tmp, uint32_t *                             \
                                 : dst32, uint64_t *                           \
                                 : sim_dst64_begin)(w, in, d_tmp)
#define DST_DONE(type)                                                         \
    _Generic(d_tmp, uint32_t *                                                 \
             : dst32_done, uint64_t *                                          \
             : sim_dst64_done)(w, in, d_raw, d_tmp)

static inline uint64_t *sim_dst64_begin(struct wave *w, const struct insn *in,
                                        uint64_t *tmp)
{
    (void)w;
    (void)in;
    return tmp;
}

static inline void sim_dst64_done(struct wave *w, const struct insn *in,
                                  const uint64_t *d, const uint64_t *tmp)
{
    (void)tmp;
    sim_dst64(w, in, d);
}

/* ---- rows: NAME, type of d, types of a, b, c, what one lane does ---- */

#define VOP_RUN1(name, dt, at, expr)                                           \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        SRC(a, 1, at);                                                         \
        DST(dt);                                                               \
        LANES(i)                                                               \
        {                                                                      \
            lane_##at a = GET(a, at, i);                                       \
            lane_##dt d;                                                       \
            expr;                                                              \
            put_##dt(&d_raw[i], d);                                            \
        }                                                                      \
        DST_DONE(dt);                                                          \
    }
#define VOP_ROW1(name, dt, at, expr)                                           \
    {#name, run_##name, CLASS_VALU, {T_##dt, T_##at}, 0},

#define VOP_RUN2(name, dt, at, bt, expr)                                       \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        SRC(a, 1, at);                                                         \
        SRC(b, 2, bt);                                                         \
        DST(dt);                                                               \
        LANES(i)                                                               \
        {                                                                      \
            lane_##at a = GET(a, at, i);                                       \
            lane_##bt b = GET(b, bt, i);                                       \
            lane_##dt d;                                                       \
            expr;                                                              \
            put_##dt(&d_raw[i], d);                                            \
        }                                                                      \
        DST_DONE(dt);                                                          \
    }
#define VOP_ROW2(name, dt, at, bt, expr)                                       \
    {#name, run_##name, CLASS_VALU, {T_##dt, T_##at, T_##bt}, 0},

#define VOP_RUN3(name, dt, at, bt, ct, expr)                                   \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        SRC(a, 1, at);                                                         \
        SRC(b, 2, bt);                                                         \
        SRC(c, 3, ct);                                                         \
        DST(dt);                                                               \
        LANES(i)                                                               \
        {                                                                      \
            lane_##at a = GET(a, at, i);                                       \
            lane_##bt b = GET(b, bt, i);                                       \
            lane_##ct c = GET(c, ct, i);                                       \
            lane_##dt d;                                                       \
            expr;                                                              \
            put_##dt(&d_raw[i], d);                                            \
        }                                                                      \
        DST_DONE(dt);                                                          \
    }
#define VOP_ROW3(name, dt, at, bt, ct, expr)                                   \
    {#name, run_##name, CLASS_VALU, {T_##dt, T_##at, T_##bt, T_##ct}, 0},

/* The destination is a source too (v_fmac): `d` holds its old value. */
#define VOP_RUN2_ACC(name, dt, at, bt, expr)                                   \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        SRC(a, 1, at);                                                         \
        SRC(b, 2, bt);                                                         \
        SRC(old, 0, dt);                                                       \
        DST(dt);                                                               \
        LANES(i)                                                               \
        {                                                                      \
            lane_##at a = GET(a, at, i);                                       \
            lane_##bt b = GET(b, bt, i);                                       \
            lane_##dt d = GET(old, dt, i);                                     \
            expr;                                                              \
            put_##dt(&d_raw[i], d);                                            \
        }                                                                      \
        DST_DONE(dt);                                                          \
    }
#define VOP_ROW2_ACC VOP_ROW2

#endif
