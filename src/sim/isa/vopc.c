/* vopc.c - vector compares: a bit per lane into an SGPR mask
 *
 * v_cmpx writes EXEC too; on gfx9 besides a mask, later instead of one, which
 * is why those have rows of their own.
 */
#include "fp.h"
#include "vop.h"

/* Inactive lanes get 0 bits. */
static void write_cmp(struct wave *w, const struct insn *in, uint64_t hits)
{
    sim_dst_mask(w, &in->op[0], hits & w->mask);
}

static void write_cmpx(struct wave *w, const struct insn *in, uint64_t hits)
{
    if (w->target->major < 10)
        sim_dst_mask(w, &in->op[0], hits & w->mask);
    set_mask_sreg(w, SREG_EXEC, hits & w->mask);
}

/* name, type, condition */
/* clang-format off */
#define CMP_INT(X, t)                \
    X(f_##t,  t, t, ((void)a, (void)b, false)) \
    X(lt_##t, t, t, a < b)           \
    X(eq_##t, t, t, a == b)          \
    X(le_##t, t, t, a <= b)          \
    X(gt_##t, t, t, a > b)           \
    X(ne_##t, t, t, a != b)          \
    X(ge_##t, t, t, a >= b)          \
    X(t_##t,  t, t, ((void)a, (void)b, true))

#define CMP_FLOAT(X, t)              \
    X(f_##t,   t, t, ((void)a, (void)b, false)) \
    X(lt_##t,  t, t, a < b)          \
    X(eq_##t,  t, t, EQUAL_##t(a, b))         \
    X(le_##t,  t, t, a <= b)         \
    X(gt_##t,  t, t, a > b)          \
    X(lg_##t,  t, t, a < b || a > b) \
    X(ge_##t,  t, t, a >= b)         \
    X(o_##t,   t, t, EQUAL_##t(a, a) && EQUAL_##t(b, b)) \
    X(u_##t,   t, t, !EQUAL_##t(a, a) || !EQUAL_##t(b, b)) \
    X(nge_##t, t, t, !(a >= b))      \
    X(nlg_##t, t, t, !(a < b || a > b)) \
    X(ngt_##t, t, t, !(a > b))       \
    X(nle_##t, t, t, !(a <= b))      \
    X(neq_##t, t, t, !EQUAL_##t(a, b))         \
    X(nlt_##t, t, t, !(a < b))       \
    X(t_##t,   t, t, ((void)a, (void)b, true))

#define CMP_TABLE(X)                                       \
    CMP_INT(X, u16) CMP_INT(X, i16) CMP_INT(X, u32)        \
    CMP_INT(X, i32) CMP_INT(X, u64) CMP_INT(X, i64)        \
    CMP_FLOAT(X, f16) CMP_FLOAT(X, f32) CMP_FLOAT(X, f64)  \
    X(class_f16, f16, u16, fp_class_f16(a) & b)            \
    X(class_f32, f32, u32, fp_class_f32(a) & b)            \
    X(class_f64, f64, u32, fp_class_f64(a) & b)

#define VOPC_ALIASES(X)                                    \
    X(v_cmp_tru_f16,  v_cmp_t_f16)                         \
    X(v_cmp_tru_f32,  v_cmp_t_f32)                         \
    X(v_cmp_tru_f64,  v_cmp_t_f64)                         \
    X(v_cmpx_tru_f16, v_cmpx_t_f16)                        \
    X(v_cmpx_tru_f32, v_cmpx_t_f32)                        \
    X(v_cmpx_tru_f64, v_cmpx_t_f64)                        \
    X(gfx9_v_cmpx_tru_f16, gfx9_v_cmpx_t_f16)              \
    X(gfx9_v_cmpx_tru_f32, gfx9_v_cmpx_t_f32)              \
    X(gfx9_v_cmpx_tru_f64, gfx9_v_cmpx_t_f64)
/* clang-format on */

/* The bits are gathered 32 at a time, as the lane loop is blocked. */
#define CMP_HITS(name, at, bt, cond)                                           \
    static uint64_t hits_##name(struct wave *w, const struct insn *in,         \
                                unsigned first)                                \
    {                                                                          \
        uint64_t hits = 0;                                                     \
        SRC(a, first, at);                                                     \
        SRC(b, first + 1, bt);                                                 \
                                                                               \
        for (unsigned block = 0; block < w->nlanes; block += 32) {             \
            uint32_t some = 0;                                                 \
                                                                               \
            for (unsigned i = 0; i < 32; i++) {                                \
                lane_##at a = GET(a, at, block + i);                           \
                lane_##bt b = GET(b, bt, block + i);                           \
                                                                               \
                some |= (uint32_t)((cond) ? 1 : 0) << i;                       \
            }                                                                  \
            hits |= (uint64_t)some << block;                                   \
        }                                                                      \
        return hits;                                                           \
    }                                                                          \
    static void cmp_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        write_cmp(w, in, hits_##name(w, in, 1));                               \
    }                                                                          \
    static void cmpx_##name(struct wave *w, const struct insn *in)             \
    {                                                                          \
        write_cmpx(w, in, hits_##name(w, in, sim_first_source(in)));           \
    }
CMP_TABLE(CMP_HITS)

#define CMP_ROW(name, at, bt, cond)                                            \
    {"v_cmp_" #name, cmp_##name, CLASS_VALU, {T_mask, T_##at, T_##bt}, 0},
#define CMPX_ROW(name, at, bt, cond)                                           \
    {"v_cmpx_" #name, cmpx_##name, CLASS_VALU, {T_##at, T_##bt}, ROW_NO_DST},
#define CMPX_GFX9_ROW(name, at, bt, cond)                                      \
    {"gfx9_v_cmpx_" #name,                                                     \
     cmpx_##name,                                                              \
     CLASS_VALU,                                                               \
     {T_mask, T_##at, T_##bt},                                                 \
     0},

static const struct insn_row rows[] = {CMP_TABLE(CMP_ROW) CMP_TABLE(CMPX_ROW)
                                           CMP_TABLE(CMPX_GFX9_ROW)};
static const struct insn_alias aliases[] = {VOPC_ALIASES(ALIAS)};

ROW_SET(vopc, rows, aliases);
