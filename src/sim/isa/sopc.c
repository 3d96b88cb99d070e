/* sopc.c - scalar compares */
#include "mode.h"
#include "sop.h"

/* clang-format off */
#define SOPC_TABLE(X)                                       \
    /* mnemonic         a    b    SCC */                    \
    X(s_cmp_eq_i32,    i32, i32, a == b)                    \
    X(s_cmp_lg_i32,    i32, i32, a != b)                    \
    X(s_cmp_gt_i32,    i32, i32, a > b)                     \
    X(s_cmp_ge_i32,    i32, i32, a >= b)                    \
    X(s_cmp_lt_i32,    i32, i32, a < b)                     \
    X(s_cmp_le_i32,    i32, i32, a <= b)                    \
    X(s_cmp_eq_u32,    u32, u32, a == b)                    \
    X(s_cmp_lg_u32,    u32, u32, a != b)                    \
    X(s_cmp_gt_u32,    u32, u32, a > b)                     \
    X(s_cmp_ge_u32,    u32, u32, a >= b)                    \
    X(s_cmp_lt_u32,    u32, u32, a < b)                     \
    X(s_cmp_le_u32,    u32, u32, a <= b)                    \
    X(s_cmp_eq_u64,    u64, u64, a == b)                    \
    X(s_cmp_lg_u64,    u64, u64, a != b)                    \
    X(s_bitcmp0_b32,   u32, u32, !(a >> (b & 31) & 1))      \
    X(s_bitcmp1_b32,   u32, u32, a >> (b & 31) & 1)         \
    X(s_bitcmp0_b64,   u64, u32, !(a >> (b & 63) & 1))      \
    X(s_bitcmp1_b64,   u64, u32, a >> (b & 63) & 1)         \
    FLOAT_COMPARES(X, f32)                                  \
    FLOAT_COMPARES(X, f16)

#define FLOAT_COMPARES(X, t)                                \
    X(s_cmp_lt_##t,    t,   t,   a < b)                     \
    X(s_cmp_eq_##t,    t,   t,   a == b)                    \
    X(s_cmp_le_##t,    t,   t,   a <= b)                    \
    X(s_cmp_gt_##t,    t,   t,   a > b)                     \
    X(s_cmp_lg_##t,    t,   t,   a < b || a > b)            \
    X(s_cmp_ge_##t,    t,   t,   a >= b)                    \
    X(s_cmp_o_##t,     t,   t,   a == a && b == b)          \
    X(s_cmp_u_##t,     t,   t,   a != a || b != b)          \
    X(s_cmp_nge_##t,   t,   t,   !(a >= b))                 \
    X(s_cmp_nlg_##t,   t,   t,   !(a < b || a > b))         \
    X(s_cmp_ngt_##t,   t,   t,   !(a > b))                  \
    X(s_cmp_nle_##t,   t,   t,   !(a <= b))                 \
    X(s_cmp_neq_##t,   t,   t,   !(a == b))                 \
    X(s_cmp_nlt_##t,   t,   t,   !(a < b))
/* clang-format on */

SOPC_TABLE(SOPC_RUN)

/* gfx9's indexing of vector registers: which operands, and by how much. Other
 * instructions may change M0 meanwhile. */
static void run_s_set_gpr_idx_on(struct wave *w, const struct insn *in)
{
    unsigned enable = in->raw >> 8 & 15; /* SSRC1's code is the mask */

    w->s[SREG_M0] = (w->s[SREG_M0] & ~0xf0ffu) |
                    (sget_u32(w, &in->op[0]) & 0xff) | enable << 12;
    w->gpr_idx = true;
    w->mode |= MODE_GPR_IDX_EN;
}

/* gfx9: bit S1[4:0] of S0. */
static void run_s_setvskip(struct wave *w, const struct insn *in)
{
    const bool skips =
        sget_u32(w, &in->op[0]) >> (sget_u32(w, &in->op[1]) & 31) & 1;

    sim_wave_set_mode(w, (w->mode & ~(uint32_t)MODE_VSKIP) |
                             (skips ? MODE_VSKIP : 0));
}

/* clang-format off */
static const struct insn_row rows[] = {
    SOPC_TABLE(SOPC_ROW)
    {"s_setvskip", run_s_setvskip, CLASS_SALU, {T_u32, T_u32}, ROW_NO_DST | ROW_SETS_MODE},
    {"s_set_gpr_idx_on", run_s_set_gpr_idx_on, CLASS_SALU, {T_u32, T_none}, ROW_NO_DST | ROW_SETS_MODE},
};

/* clang-format on */

ROW_SET_NO_ALIASES(sopc, rows);
