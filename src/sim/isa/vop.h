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
#include "operand.h"

/* ---- the parts of a handler ---- */

/* Fetches a source, by the width of its registers. */
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
