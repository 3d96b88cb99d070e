/* sopk.c - scalar instructions with a 16-bit constant, hardware registers */
#include "clock.h"
#include "hint.h"
#include "mode.h"
#include "sop.h"

/* clang-format off */
#define SOPK_COMPARES(X)                                 \
    /* mnemonic         type  constant           SCC */  \
    X(s_cmpk_eq_i32,    i32,  simm16(in),        a == b) \
    X(s_cmpk_lg_i32,    i32,  simm16(in),        a != b) \
    X(s_cmpk_gt_i32,    i32,  simm16(in),        a > b)  \
    X(s_cmpk_ge_i32,    i32,  simm16(in),        a >= b) \
    X(s_cmpk_lt_i32,    i32,  simm16(in),        a < b)  \
    X(s_cmpk_le_i32,    i32,  simm16(in),        a <= b) \
    X(s_cmpk_eq_u32,    u32,  in->raw & 0xffff,  a == b) \
    X(s_cmpk_lg_u32,    u32,  in->raw & 0xffff,  a != b) \
    X(s_cmpk_gt_u32,    u32,  in->raw & 0xffff,  a > b)  \
    X(s_cmpk_ge_u32,    u32,  in->raw & 0xffff,  a >= b) \
    X(s_cmpk_lt_u32,    u32,  in->raw & 0xffff,  a < b)  \
    X(s_cmpk_le_u32,    u32,  in->raw & 0xffff,  a <= b)
/* clang-format on */

#define COMPARE_RUN(name, type, constant, expr)                                \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        lane_##type a = sget_##type(w, &in->op[0]);                            \
        lane_##type b = constant;                                              \
                                                                               \
        w->scc = (expr);                                                       \
    }
#define COMPARE_ROW(name, type, constant, expr)                                \
    {#name, run_##name, CLASS_SALU, {T_##type, T_none}, ROW_NO_DST},

SOPK_COMPARES(COMPARE_RUN)

static void run_s_movk_i32(struct wave *w, const struct insn *in)
{
    sput_i32(w, &in->op[0], simm16(in));
}

static void run_s_cmovk_i32(struct wave *w, const struct insn *in)
{
    if (w->scc)
        sput_i32(w, &in->op[0], simm16(in));
}

static void run_s_addk_i32(struct wave *w, const struct insn *in)
{
    int32_t d;

    w->scc = __builtin_add_overflow(sget_i32(w, &in->op[0]), simm16(in), &d);
    sput_i32(w, &in->op[0], d);
}

static void run_s_mulk_i32(struct wave *w, const struct insn *in)
{
    sput_u32(w, &in->op[0], sget_u32(w, &in->op[0]) * (uint32_t)simm16(in));
}

static void run_s_call_b64(struct wave *w, const struct insn *in)
{
    sput_u64(w, &in->op[0], w->pc);
    wave_jump(w, w->pc + (uint64_t)((int64_t)simm16(in) * 4));
}

/* ---- hardware registers ---- */

enum hwreg {
    HWREG_MODE = 1,
    HWREG_STATUS = 2,
    HWREG_TRAPSTS = 3,
    HWREG_HW_ID = 4,
    HWREG_GPR_ALLOC = 5,
    HWREG_LDS_ALLOC = 6,
    HWREG_IB_STS = 7,
    HWREG_SH_MEM_BASES = 15,
    HWREG_FLAT_SCR_LO = 20, /* gfx10 on; XCC_ID on gfx942 */
    HWREG_FLAT_SCR_HI = 21,
    HWREG_XNACK_MASK = 22,
    HWREG_HW_ID1 = 23,
    HWREG_HW_ID2 = 24,
    HWREG_IB_STS2 = 28,
    HWREG_SHADER_CYCLES = 29,
    HWREG_SHADER_CYCLES_HI = 30
};

static uint32_t read_hwreg(const struct wave *w, unsigned id)
{
    switch (id) {
    case HWREG_MODE:
        return w->mode;
    case HWREG_STATUS:
        return w->scc | (uint32_t)(wave_exec(w) == 0) << 9 |
               (uint32_t)(mask_sreg(w, SREG_VCC) == 0) << 10;
    case HWREG_SH_MEM_BASES:
        return (uint32_t)(PRIVATE_BASE >> 48 | SHARED_BASE >> 48 << 16);
    case HWREG_FLAT_SCR_LO:
        return w->target->major >= 10 ? w->s[SREG_FLAT_SCRATCH] : 0;
    case HWREG_FLAT_SCR_HI:
        return w->target->major >= 10 ? w->s[SREG_FLAT_SCRATCH + 1] : 0;
    case HWREG_HW_ID:
    case HWREG_HW_ID1:
        return w->index & 15;
    case HWREG_SHADER_CYCLES:
        return (uint32_t)sim_shader_clock(w->target) &
               (w->target->major >= 12 ? UINT32_MAX : 0xfffff);
    case HWREG_SHADER_CYCLES_HI:
        return (uint32_t)(sim_shader_clock(w->target) >> 32);
    default: /* state of the hardware that has no counterpart here */
        return 0;
    }
}

static void write_hwreg(struct wave *w, unsigned id, uint32_t value)
{
    switch (id) {
    case HWREG_MODE:
        sim_wave_set_mode(w, value);
        break;
    case HWREG_STATUS:
        w->scc = value & 1;
        break;
    case HWREG_FLAT_SCR_LO:
        w->s[SREG_FLAT_SCRATCH] = value;
        break;
    case HWREG_FLAT_SCR_HI:
        w->s[SREG_FLAT_SCRATCH + 1] = value;
        break;
    default:
        break;
    }
}

/* SIMM16: register in 5:0, first bit in 10:6, number of bits less one above. */
static unsigned hwreg_shift(const struct insn *in)
{
    return in->raw >> 6 & 31;
}

static uint32_t hwreg_mask(const struct insn *in)
{
    unsigned nbits = (in->raw >> 11 & 31) + 1;

    return nbits == 32 ? UINT32_MAX : (1u << nbits) - 1;
}

static void run_s_getreg_b32(struct wave *w, const struct insn *in)
{
    const unsigned id = in->raw & 63;
    const uint32_t value = read_hwreg(w, id);

    w->nclocks += id == HWREG_SHADER_CYCLES;
    sput_u32(w, &in->op[0], value >> hwreg_shift(in) & hwreg_mask(in));
}

static void run_s_setreg(struct wave *w, const struct insn *in)
{
    unsigned shift = hwreg_shift(in), id = in->raw & 63;
    uint32_t mask = hwreg_mask(in) << shift;
    uint32_t value = sget_u32(w, &in->op[1]) << shift;

    write_hwreg(w, id, (read_hwreg(w, id) & ~mask) | (value & mask));
}

/* ---- loops over the halves of a wave of 64 lanes ---- */

static void run_s_subvector_loop_begin(struct wave *w, const struct insn *in)
{
    uint32_t *exec = &w->s[SREG_EXEC];

    if (exec[0] == 0 && exec[1] == 0) {
        wave_jump(w, w->pc + (uint64_t)((int64_t)simm16(in) * 4));
    } else if (exec[0] == 0) {
        sput_u32(w, &in->op[0], exec[0]);
    } else {
        sput_u32(w, &in->op[0], exec[1]);
        exec[1] = 0;
    }
}

static void run_s_subvector_loop_end(struct wave *w, const struct insn *in)
{
    uint32_t *exec = &w->s[SREG_EXEC];
    uint32_t saved = sget_u32(w, &in->op[0]);

    if (exec[1] != 0) {
        exec[0] = saved;
    } else if (saved != 0) {
        exec[1] = saved;
        sput_u32(w, &in->op[0], exec[0]);
        exec[0] = 0;
        wave_jump(w, w->pc + (uint64_t)((int64_t)simm16(in) * 4));
    }
}

/* clang-format off */
static const struct insn_row rows[] = {
    SOPK_COMPARES(COMPARE_ROW)
    {"s_movk_i32",  run_s_movk_i32,  CLASS_SALU,   {T_u32, T_none}, 0},
    {"s_cmovk_i32", run_s_cmovk_i32, CLASS_SALU,   {T_u32, T_none}, 0},
    {"s_addk_i32",  run_s_addk_i32,  CLASS_SALU,   {T_u32, T_none}, 0},
    {"s_mulk_i32",  run_s_mulk_i32,  CLASS_SALU,   {T_u32, T_none}, 0},
    {"s_call_b64",  run_s_call_b64,  CLASS_BRANCH, {T_u64, T_none}, 0},
    {"s_getreg_b32", run_s_getreg_b32, CLASS_SALU, {T_u32, T_none}, 0},
    {"s_setreg_b32", run_s_setreg,   CLASS_SALU,   {T_none, T_u32}, ROW_SETS_MODE},
    {"s_setreg_imm32_b32", run_s_setreg, CLASS_SALU, {T_none, T_u32}, ROW_SETS_MODE},
    {"s_subvector_loop_begin", run_s_subvector_loop_begin, CLASS_BRANCH, {T_u32, T_none}, 0},
    {"s_subvector_loop_end", run_s_subvector_loop_end, CLASS_BRANCH, {T_u32, T_none}, 0},
    {"s_version",          sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_waitcnt_vscnt",    sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_waitcnt_vmcnt",    sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_waitcnt_expcnt",   sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_waitcnt_lgkmcnt",  sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},
};
#define SOPK_ALIASES(X)                 \
    X(s_addk_co_i32, s_addk_i32)
static const struct insn_alias aliases[] = {SOPK_ALIASES(ALIAS)};
/* clang-format on */

ROW_SET(sopk, rows, aliases);
