/* lane.c - instructions that move values between lanes or through an index */
#include "fault_report.h"
#include "vop.h"

static unsigned lane_index(const struct wave *w, const struct operand *o)
{
    return sim_src_scalar32(w, o) & (w->nlanes - 1);
}

/* ---- one lane ---- */

static void run_v_readlane_b32(struct wave *w, const struct insn *in)
{
    SRC(a, 1, u32);

    sim_dst_scalar32(w, &in->op[0], a_raw[lane_index(w, &in->op[2])]);
}

/* The lowest active lane, or lane 0 if none is. */
static void run_v_readfirstlane_b32(struct wave *w, const struct insn *in)
{
    unsigned lane = w->mask ? (unsigned)__builtin_ctzll(w->mask) : 0;
    SRC(a, 1, u32);

    sim_dst_scalar32(w, &in->op[0], a_raw[lane]);
}

/* Whether the lane is active does not matter. */
static void run_v_writelane_b32(struct wave *w, const struct insn *in)
{
    uint32_t value = sim_src_scalar32(w, &in->op[1]);

    (*tuple_reg(w, &in->op[0], 0))[lane_index(w, &in->op[2])] = value;
}

/* ---- permutations ---- */

/*
 * Lane i gets the value of lane from[i]. An inactive source lane counts only
 * with FI (op_sel[0]); without it the lane keeps what it has, or gets 0 with
 * BOUND_CTRL (op_sel[1]).
 */
static void permute(struct wave *w, const struct insn *in, const uint32_t *src,
                    const uint8_t from[MAX_LANES])
{
    bool fi = in->op_sel & 1 || in->dpp.fi;
    bool bound_ctrl = in->op_sel & 2 || in->dpp.bound_ctrl;
    uint32_t d[MAX_LANES] = {0};
    uint64_t write = 0;

    for (unsigned i = 0; i < w->nlanes; i++) {
        bool valid = fi || (w->mask >> from[i] & 1);

        d[i] = valid ? src[from[i]] : 0;
        write |= (uint64_t)(valid || bound_ctrl) << i;
    }
    w->mask &= write;
    sim_write32(w, &in->op[0], d);
}

/* Nibble n of two scalars names the source of lane n of each row. */
static void permlane16(struct wave *w, const struct insn *in, unsigned other)
{
    uint64_t sel = sim_src_scalar32(w, &in->op[2]) |
                   (uint64_t)sim_src_scalar32(w, &in->op[3]) << 32;
    uint8_t from[MAX_LANES];
    SRC(a, 1, u32);

    for (unsigned i = 0; i < w->nlanes; i++)
        from[i] = (uint8_t)(((i & 0x30) ^ other) | (sel >> (i % 16 * 4) & 15));
    permute(w, in, a_raw, from);
}

static void run_v_permlane16_b32(struct wave *w, const struct insn *in)
{
    permlane16(w, in, 0);
}

static void run_v_permlanex16_b32(struct wave *w, const struct insn *in)
{
    permlane16(w, in, 16);
}

/* The same with a selector per lane. */
static void permlane16_var(struct wave *w, const struct insn *in,
                           unsigned other)
{
    uint8_t from[MAX_LANES];
    SRC(a, 1, u32);
    SRC(b, 2, u32);

    for (unsigned i = 0; i < w->nlanes; i++)
        from[i] = (uint8_t)(((i & 0x30) ^ other) | (b_raw[i] & 15));
    permute(w, in, a_raw, from);
}

static void run_v_permlane16_var_b32(struct wave *w, const struct insn *in)
{
    permlane16_var(w, in, 0);
}

static void run_v_permlanex16_var_b32(struct wave *w, const struct insn *in)
{
    permlane16_var(w, in, 16);
}

/* Swaps the halves of a wave of 64; source lanes need not be active. */
static void run_v_permlane64_b32(struct wave *w, const struct insn *in)
{
    uint32_t d[MAX_LANES];
    SRC(a, 1, u32);

    if (w->nlanes == 32)
        return;
    LANES(i)
    d[i] = a_raw[i ^ 32];
    sim_write32(w, &in->op[0], d);
}

/* For each lane i with the bit clear, swaps lane i | bit of the first register
 * and lane i of the second. */
static void permlane_swap(struct wave *w, const struct insn *in, unsigned bit)
{
    uint32_t *d = *tuple_reg(w, &in->op[0], 0);
    uint32_t *s = *tuple_reg(w, &in->op[1], 0);
    bool fi = in->dpp.fi, zero = in->dpp.bound_ctrl;

    for (unsigned i = 0; i < w->nlanes; i++) {
        unsigned j = i | bit;
        uint32_t up = s[i], down = d[j];
        bool on_i = w->mask >> i & 1, on_j = w->mask >> j & 1;

        if (i & bit)
            continue;
        if (on_j && (on_i || fi || zero))
            d[j] = on_i || fi ? up : 0;
        if (on_i && (on_j || fi || zero))
            s[i] = on_j || fi ? down : 0;
    }
}

static void run_v_permlane16_swap_b32(struct wave *w, const struct insn *in)
{
    permlane_swap(w, in, 16);
}

static void run_v_permlane32_swap_b32(struct wave *w, const struct insn *in)
{
    permlane_swap(w, in, 32);
}

/* ---- counting lower lanes ---- */

static inline uint32_t lower_lanes(size_t lane, unsigned first)
{
    if (lane < first)
        return 0;
    lane -= first;
    return lane >= 32 ? UINT32_MAX : (1u << lane) - 1;
}

static void mbcnt(struct wave *w, const struct insn *in, unsigned first)
{
    SRC(a, 1, u32);
    SRC(b, 2, u32);
    DST(u32);

    LANES(i)
    d_raw[i] = b_raw[i] +
               (uint32_t)__builtin_popcount(a_raw[i] & lower_lanes(i, first));
    DST_DONE(u32);
}

static void run_v_mbcnt_lo_u32_b32(struct wave *w, const struct insn *in)
{
    mbcnt(w, in, 0);
}

static void run_v_mbcnt_hi_u32_b32(struct wave *w, const struct insn *in)
{
    mbcnt(w, in, 32);
}

/* ---- registers chosen by M0 ---- */

/* The operand moved on by `by` registers; false, with a fault, if past the
 * wave's registers. */
static bool relative(struct wave *w, const struct operand *o, uint32_t by,
                     struct operand *moved)
{
    uint64_t reg = (uint64_t)o->reg + by;

    *moved = *o;
    if (o->kind != OPERAND_VGPR || reg >= w->nvgprs) {
        sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                        "M0 leads to v%llu but the kernel was given %u of them",
                        (unsigned long long)reg, w->nvgprs);
        return false;
    }
    moved->reg = (uint16_t)reg;
    wave_uses(w, (unsigned)reg + 1, 0);
    return true;
}

static void movrel(struct wave *w, const struct insn *in, uint32_t src_by,
                   uint32_t dst_by)
{
    struct operand d, s = in->op[1];
    uint32_t value[MAX_LANES];

    if (!relative(w, &in->op[0], dst_by, &d))
        return;
    if (s.kind == OPERAND_VGPR) {
        if (!relative(w, &in->op[1], src_by, &s))
            return;
        memcpy(value, w->v[s.reg], sizeof(value));
    } else {
        LANES(i)
        value[i] = sim_src_scalar32(w, &s);
    }
    sim_write32(w, &d, value);
}

static void run_v_movrels_b32(struct wave *w, const struct insn *in)
{
    movrel(w, in, w->s[SREG_M0], 0);
}

static void run_v_movreld_b32(struct wave *w, const struct insn *in)
{
    movrel(w, in, 0, w->s[SREG_M0]);
}

static void run_v_movrelsd_b32(struct wave *w, const struct insn *in)
{
    movrel(w, in, w->s[SREG_M0], w->s[SREG_M0]);
}

static void run_v_movrelsd_2_b32(struct wave *w, const struct insn *in)
{
    movrel(w, in, w->s[SREG_M0] & 0x3ff, w->s[SREG_M0] >> 16 & 0x3ff);
}

static void run_v_swaprel_b32(struct wave *w, const struct insn *in)
{
    struct operand d, s;
    uint32_t tmp[MAX_LANES];

    if (!relative(w, &in->op[0], w->s[SREG_M0] >> 16 & 0x3ff, &d) ||
        !relative(w, &in->op[1], w->s[SREG_M0] & 0x3ff, &s))
        return;
    memcpy(tmp, w->v[d.reg], sizeof(tmp));
    sim_write32(w, &d, w->v[s.reg]);
    sim_write32(w, &s, tmp);
}

/* clang-format off */
#define LANE_TABLE(X)                                  \
    X(v_readlane_b32,         u32, u32, u32)           \
    X(v_readfirstlane_b32,    u32, u32)                \
    X(v_writelane_b32,        u32, u32, u32)           \
    X(v_permlane16_b32,       u32, u32, u32, u32)      \
    X(v_permlanex16_b32,      u32, u32, u32, u32)      \
    X(v_permlane16_var_b32,   u32, u32, u32)           \
    X(v_permlanex16_var_b32,  u32, u32, u32)           \
    X(v_permlane64_b32,       u32, u32)                \
    X(v_permlane16_swap_b32,  u32, u32)                \
    X(v_permlane32_swap_b32,  u32, u32)                \
    X(v_mbcnt_lo_u32_b32,     u32, u32, u32)           \
    X(v_mbcnt_hi_u32_b32,     u32, u32, u32)           \
    X(v_movrels_b32,          u32, u32)                \
    X(v_movreld_b32,          u32, u32)                \
    X(v_movrelsd_b32,         u32, u32)                \
    X(v_movrelsd_2_b32,       u32, u32)                \
    X(v_swaprel_b32,          u32, u32)
/* clang-format on */

#define TYPES_2(d, a) T_##d, T_##a
#define TYPES_3(d, a, b) T_##d, T_##a, T_##b
#define TYPES_4(d, a, b, c) T_##d, T_##a, T_##b, T_##c
#define TYPES_N(a, b, c, d, name, ...) name
#define TYPES(...)                                                             \
    TYPES_N(__VA_ARGS__, TYPES_4, TYPES_3, TYPES_2, )(__VA_ARGS__)
#define LANE_ROW(name, ...)                                                    \
    {#name, run_##name, CLASS_VALU, {TYPES(__VA_ARGS__)}, 0},

static const struct insn_row rows[] = {LANE_TABLE(LANE_ROW)};

ROW_SET_NO_ALIASES(lane, rows);
