/* sop1.c - scalar instructions of one source */
#define _GNU_SOURCE /* roundevenf */
#include "barrier.h"
#include "clock.h"
#include "fault_report.h"
#include "sop.h"

#include <math.h>

static uint64_t reverse_bits(uint64_t v, unsigned nbits)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < nbits; i++)
        r |= (v >> i & 1) << (nbits - 1 - i);
    return r;
}

/* Position of the lowest set bit, -1 for 0. */
static int32_t find_low(uint64_t v)
{
    return v ? __builtin_ctzll(v) : -1;
}

/* The number of zeros above the highest set bit; -1 if no bit is set. */
static int32_t leading_zeros(uint64_t v, int nbits)
{
    return v ? __builtin_clzll(v) - (64 - nbits) : -1;
}

/* Copies of the sign at the top (the sign among them), -1 if nothing else. */
static int32_t leading_signs(int64_t v, int nbits)
{
    return leading_zeros((uint64_t)(v < 0 ? ~v : v), nbits);
}

/* Sets all bits in each group of four with a set bit. */
static uint64_t whole_quads(uint64_t v)
{
    v |= v >> 1;
    v |= v >> 2;
    v &= UINT64_C(0x1111111111111111);
    return v * 15;
}

/* One bit per group of four bits: whether any is set. */
static uint64_t quad_mask(uint64_t v)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < 16; i++)
        r |= (uint64_t)((v >> 4 * i & 15) != 0) << i;
    return r;
}

/* Each bit twice. */
static uint64_t replicate_bits(uint32_t v)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < 32; i++)
        r |= (uint64_t)(v >> i & 1) * 3 << 2 * i;
    return r;
}

/* Conversions cut off the fraction, hold to the range and take NaN to 0. */
static int32_t to_i32(float v)
{
    if (isnan(v))
        return 0;
    if (v >= 2147483648.0f)
        return INT32_MAX;
    return v <= -2147483648.0f ? INT32_MIN : (int32_t)v;
}

static uint32_t to_u32(float v)
{
    if (isnan(v) || v <= 0)
        return 0;
    return v >= 4294967296.0f ? UINT32_MAX : (uint32_t)v;
}

static half_t half_of_bits(uint32_t bits)
{
    return get_f16(&bits);
}

/* clang-format off */
#define SOP1_TABLE(X)                                                             \
    /* mnemonic           d    a    what it does */                               \
    X(s_mov_b32,         u32, u32, d = a)                                         \
    X(s_mov_b64,         u64, u64, d = a)                                         \
    X(s_not_b32,         u32, u32, d = ~a; scc = d != 0)                          \
    X(s_not_b64,         u64, u64, d = ~a; scc = d != 0)                          \
    X(s_wqm_b32,         u32, u32, d = (uint32_t)whole_quads(a); scc = d != 0)    \
    X(s_wqm_b64,         u64, u64, d = whole_quads(a); scc = d != 0)              \
    X(s_brev_b32,        u32, u32, d = (uint32_t)reverse_bits(a, 32))             \
    X(s_brev_b64,        u64, u64, d = reverse_bits(a, 64))                       \
    X(s_bcnt0_i32_b32,   i32, u32, d = 32 - __builtin_popcount(a); scc = d != 0)  \
    X(s_bcnt0_i32_b64,   i32, u64, d = 64 - __builtin_popcountll(a); scc = d != 0)\
    X(s_bcnt1_i32_b32,   i32, u32, d = __builtin_popcount(a); scc = d != 0)       \
    X(s_bcnt1_i32_b64,   i32, u64, d = __builtin_popcountll(a); scc = d != 0)     \
    X(s_ff0_i32_b32,     i32, u32, d = find_low(~a))                              \
    X(s_ff0_i32_b64,     i32, u64, d = find_low(~a))                              \
    X(s_ff1_i32_b32,     i32, u32, d = find_low(a))                               \
    X(s_ff1_i32_b64,     i32, u64, d = find_low(a))                               \
    X(s_flbit_i32_b32,   i32, u32, d = leading_zeros(a, 32))                      \
    X(s_flbit_i32_b64,   i32, u64, d = leading_zeros(a, 64))                      \
    X(s_flbit_i32,       i32, i32, d = leading_signs(a, 32))                      \
    X(s_flbit_i32_i64,   i32, i64, d = leading_signs(a, 64))                      \
    X(s_sext_i32_i8,     i32, u32, d = (int32_t)(a << 24) >> 24)                                 \
    X(s_sext_i32_i16,    i32, u32, d = (int16_t)a)                                \
    X(s_quadmask_b32,    u32, u32, d = (uint32_t)quad_mask(a); scc = d != 0)      \
    X(s_quadmask_b64,    u64, u64, d = quad_mask(a); scc = d != 0)                \
    X(s_abs_i32,         u32, u32, d = (int32_t)a < 0 ? -a : a; scc = d != 0)     \
    X(s_bitreplicate_b64_b32, u64, u32, d = replicate_bits(a))                    \
    X(s_ceil_f32,        f32, f32, d = ceilf(a))                                  \
    X(s_floor_f32,       f32, f32, d = floorf(a))                                 \
    X(s_trunc_f32,       f32, f32, d = truncf(a))                                 \
    X(s_rndne_f32,       f32, f32, d = roundevenf(a))                             \
    X(s_ceil_f16,        f16, f16, d = (half_t)ceilf(a))                          \
    X(s_floor_f16,       f16, f16, d = (half_t)floorf(a))                         \
    X(s_trunc_f16,       f16, f16, d = (half_t)truncf(a))                         \
    X(s_rndne_f16,       f16, f16, d = (half_t)roundevenf(a))                     \
    X(s_cvt_f32_i32,     f32, i32, d = (float)a)                                  \
    X(s_cvt_f32_u32,     f32, u32, d = (float)a)                                  \
    X(s_cvt_i32_f32,     i32, f32, d = to_i32(a))                                 \
    X(s_cvt_u32_f32,     u32, f32, d = to_u32(a))                                 \
    X(s_cvt_f16_f32,     f16, f32, d = (half_t)a)                                 \
    X(s_cvt_f32_f16,     f32, f16, d = a)                                         \
    X(s_cvt_hi_f32_f16,  f32, u32, d = half_of_bits(a >> 16))

#define SOP1_ACC_TABLE(X)                                                         \
    X(s_cmov_b32,        u32, u32, if (scc) d = a)                                \
    X(s_cmov_b64,        u64, u64, if (scc) d = a)                                \
    X(s_bitset0_b32,     u32, u32, d &= ~(1u << (a & 31)))                        \
    X(s_bitset1_b32,     u32, u32, d |= 1u << (a & 31))                           \
    X(s_bitset0_b64,     u64, u32, d &= ~(UINT64_C(1) << (a & 63)))               \
    X(s_bitset1_b64,     u64, u32, d |= UINT64_C(1) << (a & 63))

/* `a` the source, `e` EXEC: EXEC becomes the expression, SCC whether it has a
 * lane, and the destination what EXEC was. */
#define SAVEEXEC_TABLE(X)                                                         \
    X(s_and_saveexec,    a & e)                                                   \
    X(s_or_saveexec,     a | e)                                                   \
    X(s_xor_saveexec,    a ^ e)                                                   \
    X(s_nand_saveexec,   ~(a & e))                                                \
    X(s_nor_saveexec,    ~(a | e))                                                \
    X(s_xnor_saveexec,   ~(a ^ e))                                                \
    X(s_andn1_saveexec,  ~a & e)                                                  \
    X(s_andn2_saveexec,  a & ~e)                                                  \
    X(s_orn1_saveexec,   ~a | e)                                                  \
    X(s_orn2_saveexec,   a | ~e)

/* The destination becomes the new EXEC too. */
#define WREXEC_TABLE(X)                                                           \
    X(s_andn1_wrexec,    ~a & e)                                                  \
    X(s_andn2_wrexec,    a & ~e)

#define SOP1_ALIASES(X)                          \
    X(s_ctz_i32_b32, s_ff1_i32_b32)              \
    X(s_ctz_i32_b64, s_ff1_i32_b64)              \
    X(s_clz_i32_u32, s_flbit_i32_b32)            \
    X(s_clz_i32_u64, s_flbit_i32_b64)            \
    X(s_cls_i32, s_flbit_i32)                    \
    X(s_cls_i32_i64, s_flbit_i32_i64)            \
    X(s_and_not0_saveexec_b32, s_andn1_saveexec_b32) \
    X(s_and_not0_saveexec_b64, s_andn1_saveexec_b64) \
    X(s_and_not1_saveexec_b32, s_andn2_saveexec_b32) \
    X(s_and_not1_saveexec_b64, s_andn2_saveexec_b64) \
    X(s_or_not0_saveexec_b32, s_orn1_saveexec_b32)   \
    X(s_or_not0_saveexec_b64, s_orn1_saveexec_b64)   \
    X(s_or_not1_saveexec_b32, s_orn2_saveexec_b32)   \
    X(s_or_not1_saveexec_b64, s_orn2_saveexec_b64)   \
    X(s_and_not0_wrexec_b32, s_andn1_wrexec_b32)     \
    X(s_and_not0_wrexec_b64, s_andn1_wrexec_b64)     \
    X(s_and_not1_wrexec_b32, s_andn2_wrexec_b32)     \
    X(s_and_not1_wrexec_b64, s_andn2_wrexec_b64)
/* clang-format on */

/* Some rows keep SCC, some set it anew. */
/* cppcheck-suppress redundantInitialization */
SOP1_TABLE(SOP_RUN1)
SOP1_ACC_TABLE(SOP_RUN1_ACC)

#define EXEC_RUN(name, bits, ctype, get, put, expr, result)                    \
    static void run_##name##_b##bits(struct wave *w, const struct insn *in)    \
    {                                                                          \
        ctype a = get(w, &in->op[1]);                                          \
        ctype e = (ctype)sreg64(w, SREG_EXEC);                                 \
        ctype new_exec = (ctype)(expr);                                        \
                                                                               \
        w->scc = new_exec != 0;                                                \
        put(w, &in->op[0], result);                                            \
        memcpy(&w->s[SREG_EXEC], &new_exec, sizeof(new_exec));                 \
    }
#define SAVEEXEC_RUN(name, expr)                                               \
    EXEC_RUN(name, 32, uint32_t, sget_u32, sput_u32, expr, e)                  \
    EXEC_RUN(name, 64, uint64_t, sget_u64, sput_u64, expr, e)
#define WREXEC_RUN(name, expr)                                                 \
    EXEC_RUN(name, 32, uint32_t, sget_u32, sput_u32, expr, new_exec)           \
    EXEC_RUN(name, 64, uint64_t, sget_u64, sput_u64, expr, new_exec)
#define EXEC_ROW(name, expr)                                                   \
    {#name "_b32", run_##name##_b32, CLASS_SALU, {T_u32, T_u32}, 0},           \
        {#name "_b64", run_##name##_b64, CLASS_SALU, {T_u64, T_u64}, 0},

SAVEEXEC_TABLE(SAVEEXEC_RUN)
WREXEC_TABLE(WREXEC_RUN)

/* ---- jumps ---- */

static void run_s_getpc_b64(struct wave *w, const struct insn *in)
{
    sput_u64(w, &in->op[0], w->pc);
}

static void run_s_setpc_b64(struct wave *w, const struct insn *in)
{
    wave_jump(w, sget_u64(w, &in->op[0]));
}

static void run_s_swappc_b64(struct wave *w, const struct insn *in)
{
    uint64_t to = sget_u64(w, &in->op[1]);

    sput_u64(w, &in->op[0], w->pc);
    wave_jump(w, to);
}

/* ---- registers chosen by M0 ---- */

/* How far gfx9's indexed vector operands move; the rest is in sopc.c. */
static void run_s_set_gpr_idx_idx(struct wave *w, const struct insn *in)
{
    w->s[SREG_M0] = (w->s[SREG_M0] & ~0xffu) | (sget_u32(w, &in->op[0]) & 0xff);
}

static bool sgpr_index_ok(struct wave *w, unsigned reg, unsigned width)
{
    if (reg + width <= SREG_VCC)
        return true;
    sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                    "M0 leads to s%u, which does not exist", reg);
    return false;
}

static void run_s_movrels(struct wave *w, const struct insn *in)
{
    struct operand from = in->op[1];
    uint32_t reg = from.reg + w->s[SREG_M0];

    if (!sgpr_index_ok(w, reg, from.width))
        return;
    from.reg = (uint16_t)reg;
    if (from.width == 2)
        sput_u64(w, &in->op[0], sget_u64(w, &from));
    else
        sput_u32(w, &in->op[0], sget_u32(w, &from));
}

static void run_s_movreld(struct wave *w, const struct insn *in)
{
    struct operand to = in->op[0];
    uint32_t reg = to.reg + w->s[SREG_M0];

    if (!sgpr_index_ok(w, reg, to.width))
        return;
    to.reg = (uint16_t)reg;
    if (to.width == 2)
        sput_u64(w, &to, sget_u64(w, &in->op[1]));
    else
        sput_u32(w, &to, sget_u32(w, &in->op[1]));
}

static void run_s_movrelsd_2_b32(struct wave *w, const struct insn *in)
{
    struct operand to = in->op[0], from = in->op[1];
    uint32_t m0 = w->s[SREG_M0];

    to.reg = (uint16_t)(to.reg + (m0 >> 16 & 0x3ff));
    from.reg = (uint16_t)(from.reg + (m0 & 0x3ff));
    if (sgpr_index_ok(w, to.reg, 1) && sgpr_index_ok(w, from.reg, 1))
        sput_u32(w, &to, sget_u32(w, &from));
}

/* ---- barriers of gfx12, and clocks ---- */

/* The operand is an inline constant or M0, read from the encoding's low byte
 * because LLVM prints it without a type. M0 may give the number of members of a
 * named barrier too. */
static int32_t barrier_id(const struct wave *w, const struct insn *in,
                          unsigned *members)
{
    unsigned src = in->raw & 0xff;

    *members = 0;
    if (src == 125) {
        *members = w->s[SREG_M0] >> 16 & 0x7f;
        return (int32_t)(w->s[SREG_M0] & 31);
    }
    return src <= 192 ? (int32_t)src - 128 : 192 - (int32_t)src;
}

static void signal_barrier(struct wave *w, const struct insn *in, bool is_first)
{
    unsigned members;
    int32_t id = barrier_id(w, in, &members);

    if (id > 0)
        sim_barrier_signal_named(w, id, members, is_first);
    else
        sim_barrier_signal(w, id, is_first);
}

static void run_s_barrier_signal(struct wave *w, const struct insn *in)
{
    signal_barrier(w, in, false);
}

static void run_s_barrier_signal_isfirst(struct wave *w, const struct insn *in)
{
    signal_barrier(w, in, true);
}

static void run_s_barrier_init(struct wave *w, const struct insn *in)
{
    unsigned members;
    int32_t id = barrier_id(w, in, &members);

    sim_barrier_init(w, id, members);
}

static void run_s_barrier_join(struct wave *w, const struct insn *in)
{
    unsigned members;

    sim_barrier_join(w, barrier_id(w, in, &members));
}

/* Bit 0: the barrier exists; from bit 4: signals; from bit 16: members. */
static void run_s_get_barrier_state(struct wave *w, const struct insn *in)
{
    const struct group *g = w->group;
    unsigned members, signals = g->barrier_signals;
    int32_t id = barrier_id(w, in, &members);

    members = g->nwaves;
    if (id > 0 && id < NUM_NAMED_BARRIERS) {
        members = g->named[id].members;
        signals = g->named[id].signals;
    }
    sput_u32(w, &in->op[0], members << 16 | signals << 4 | 1);
}

/* Registers cannot become more here than a wave starts with: asking for more
 * fails, as on hardware that has none left. */
static void run_s_alloc_vgpr(struct wave *w, const struct insn *in)
{
    w->scc = sget_u32(w, &in->op[0]) <= w->nvgprs;
}

static void run_s_sleep_var(struct wave *w, const struct insn *in)
{
    (void)in;
    w->state = WAVE_YIELDS;
}

/* Messages that answer: the realtime clock is the one that compilers use. */
static void run_s_sendmsg_rtn(struct wave *w, const struct insn *in)
{
    enum { GET_REALTIME = 0x83 };
    const bool is_clock = (in->raw & 0xff) == GET_REALTIME;
    const uint64_t v = is_clock ? sim_realtime() : 0;

    w->nclocks += is_clock;
    if (in->op[0].width == 2)
        sput_u64(w, &in->op[0], v);
    else
        sput_u32(w, &in->op[0], (uint32_t)v);
}

/* clang-format off */
static const struct insn_row rows[] = {
    SOP1_TABLE(SOP_ROW1)
    SOP1_ACC_TABLE(SOP_ROW1)
    SAVEEXEC_TABLE(EXEC_ROW)
    WREXEC_TABLE(EXEC_ROW)
    {"s_getpc_b64",       run_s_getpc_b64,      CLASS_BRANCH, {T_u64}, 0},
    {"s_setpc_b64",       run_s_setpc_b64,      CLASS_BRANCH, {T_u64}, ROW_NO_DST},
    {"s_swappc_b64",      run_s_swappc_b64,     CLASS_BRANCH, {T_u64, T_u64}, 0},
    {"s_set_gpr_idx_idx", run_s_set_gpr_idx_idx, CLASS_SALU,  {T_u32}, ROW_NO_DST},
    {"s_movrels_b32",     run_s_movrels,        CLASS_SALU,   {T_u32, T_u32}, 0},
    {"s_movrels_b64",     run_s_movrels,        CLASS_SALU,   {T_u64, T_u64}, 0},
    {"s_movreld_b32",     run_s_movreld,        CLASS_SALU,   {T_u32, T_u32}, 0},
    {"s_movreld_b64",     run_s_movreld,        CLASS_SALU,   {T_u64, T_u64}, 0},
    {"s_movrelsd_2_b32",  run_s_movrelsd_2_b32, CLASS_SALU,   {T_u32, T_u32}, 0},
    {"s_barrier_signal",  run_s_barrier_signal, CLASS_OTHER,  {T_none}, ROW_RAW},
    {"s_barrier_signal_isfirst", run_s_barrier_signal_isfirst, CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_get_barrier_state", run_s_get_barrier_state, CLASS_OTHER, {T_u32, T_none}, 0},
    {"s_sendmsg_rtn_b32", run_s_sendmsg_rtn,    CLASS_OTHER,  {T_u32, T_none}, 0},
    {"s_sendmsg_rtn_b64", run_s_sendmsg_rtn,    CLASS_OTHER,  {T_u64, T_none}, 0},
    {"s_barrier_init",    run_s_barrier_init,   CLASS_OTHER,  {T_none}, ROW_RAW},
    {"s_barrier_join",    run_s_barrier_join,   CLASS_OTHER,  {T_none}, ROW_RAW},
    {"s_alloc_vgpr",      run_s_alloc_vgpr,     CLASS_OTHER,  {T_u32}, ROW_NO_DST},
    {"s_sleep_var",       run_s_sleep_var,      CLASS_OTHER,  {T_none}, ROW_RAW},
};
static const struct insn_alias aliases[] = {SOP1_ALIASES(ALIAS)};
/* clang-format on */

ROW_SET(sop1, rows, aliases);
