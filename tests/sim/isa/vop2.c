/* vop2.c - vector instructions of two sources */
#include "vop.h"

/* clang-format off */
#define VOP2_TABLE(X)                                                  \
    /* mnemonic        d    a    b    what one lane does */            \
    X(v_and_b32,      u32, u32, u32, d = a & b)                        \
    X(v_or_b32,       u32, u32, u32, d = a | b)                        \
    X(v_xor_b32,      u32, u32, u32, d = a ^ b)                        \
    X(v_lshlrev_b32,  u32, u32, u32, d = b << (a & 31))                \
    X(v_lshrrev_b32,  u32, u32, u32, d = b >> (a & 31))                \
    X(v_ashrrev_i32,  i32, u32, i32, d = b >> (a & 31))                \
    X(v_add_u32,      u32, u32, u32, d = a + b)                        \
    X(v_sub_u32,      u32, u32, u32, d = a - b)                        \
    X(v_subrev_u32,   u32, u32, u32, d = b - a)                        \
    X(v_add_f32,      f32, f32, f32, d = a + b)                        \
    X(v_sub_f32,      f32, f32, f32, d = a - b)                        \
    X(v_subrev_f32,   f32, f32, f32, d = b - a)                        \
    X(v_mul_f32,      f32, f32, f32, d = a * b)

#define VOP2_ALIASES(X)                                                \
    X(v_add_nc_u32,   v_add_u32)                                       \
    X(v_sub_nc_u32,   v_sub_u32)                                       \
    X(v_subrev_nc_u32, v_subrev_u32)
/* clang-format on */

VOP2_TABLE(VOP_RUN2)

static const struct insn_row rows[] = {VOP2_TABLE(VOP_ROW2)};
static const struct insn_alias aliases[] = {VOP2_ALIASES(ALIAS)};

ROW_SET(vop2, rows, aliases);
