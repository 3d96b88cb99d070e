/* sop.h - how scalar instructions fetch, compute and write
 *
 * As in vop.h, a row's expression sees its sources as `a` and `b`, the result
 * as `d`, and SCC as `scc`, which it may read and set.
 */
#ifndef SIM_ISA_SOP_H
#define SIM_ISA_SOP_H

#include "vop.h"

#define SCALAR_32(type)                                                        \
    static inline lane_##type sget_##type(const struct wave *w,                \
                                          const struct operand *o)             \
    {                                                                          \
        uint32_t bits = sim_src_scalar32(w, o);                                \
                                                                               \
        return get_##type(&bits);                                              \
    }                                                                          \
    static inline void sput_##type(struct wave *w, const struct operand *o,    \
                                   lane_##type v)                              \
    {                                                                          \
        uint32_t bits;                                                         \
                                                                               \
        put_##type(&bits, v);                                                  \
        sim_dst_scalar32(w, o, bits);                                          \
    }
#define SCALAR_64(type)                                                        \
    static inline lane_##type sget_##type(const struct wave *w,                \
                                          const struct operand *o)             \
    {                                                                          \
        uint64_t bits = sim_src_scalar64(w, o);                                \
                                                                               \
        return get_##type(&bits);                                              \
    }                                                                          \
    static inline void sput_##type(struct wave *w, const struct operand *o,    \
                                   lane_##type v)                              \
    {                                                                          \
        uint64_t bits;                                                         \
                                                                               \
        put_##type(&bits, v);                                                  \
        sim_dst_scalar64(w, o, bits);                                          \
    }
SCALAR_32(u32)
SCALAR_32(i32)
SCALAR_32(f32)
SCALAR_32(f16)
SCALAR_64(u64)
SCALAR_64(i64)

#define SOP_RUN1(name, dt, at, expr)                                           \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        lane_##at a = sget_##at(w, &in->op[1]);                                \
        lane_##dt d;                                                           \
        bool scc = w->scc;                                                     \
                                                                               \
        expr;                                                                  \
        w->scc = scc;                                                          \
        sput_##dt(w, &in->op[0], d);                                           \
    }
#define SOP_ROW1(name, dt, at, expr)                                           \
    {#name, run_##name, CLASS_SALU, {T_##dt, T_##at}, ROW_QUIET},

#define SOP_RUN2(name, dt, at, bt, expr)                                       \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        lane_##at a = sget_##at(w, &in->op[1]);                                \
        lane_##bt b = sget_##bt(w, &in->op[2]);                                \
        lane_##dt d;                                                           \
        bool scc = w->scc;                                                     \
                                                                               \
        expr;                                                                  \
        w->scc = scc;                                                          \
        sput_##dt(w, &in->op[0], d);                                           \
    }
#define SOP_ROW2(name, dt, at, bt, expr)                                       \
    {#name, run_##name, CLASS_SALU, {T_##dt, T_##at, T_##bt}, ROW_QUIET},

/* Reads its destination: `d` holds the old value. */
#define SOP_RUN1_ACC(name, dt, at, expr)                                       \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        lane_##at a = sget_##at(w, &in->op[1]);                                \
        lane_##dt d = sget_##dt(w, &in->op[0]);                                \
        bool scc = w->scc;                                                     \
                                                                               \
        expr;                                                                  \
        w->scc = scc;                                                          \
        sput_##dt(w, &in->op[0], d);                                           \
    }

/* No destination but SCC. */
#define SOPC_RUN(name, at, bt, expr)                                           \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        lane_##at a = sget_##at(w, &in->op[0]);                                \
        lane_##bt b = sget_##bt(w, &in->op[1]);                                \
                                                                               \
        w->scc = (expr);                                                       \
    }
#define SOPC_ROW(name, at, bt, expr)                                           \
    {#name, run_##name, CLASS_SALU, {T_##at, T_##bt}, ROW_NO_DST | ROW_QUIET},

/* SIMM16, as a signed number. */
static inline int32_t simm16(const struct insn *in)
{
    return (int16_t)(in->raw & 0xffff);
}

#endif
