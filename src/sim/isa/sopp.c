/* sopp.c - program flow, waits, hints and messages
 *
 * The interpreter finishes every instruction before the next, so waits and
 * hints have nothing to do; they are rows all the same, because what has no
 * row is an error.
 */
#include "barrier.h"
#include "fault_report.h"
#include "hint.h"
#include "mode.h"
#include "sop.h"

static void branch_if(struct wave *w, const struct insn *in, bool condition)
{
    if (condition)
        wave_jump(w, w->pc + (uint64_t)((int64_t)simm16(in) * 4));
}

static uint64_t vcc(const struct wave *w)
{
    return mask_sreg(w, SREG_VCC);
}

/* clang-format off */
#define BRANCH_TABLE(X)                          \
    X(s_branch,          true)                   \
    X(s_cbranch_scc0,    !w->scc)                \
    X(s_cbranch_scc1,    w->scc)                 \
    X(s_cbranch_vccz,    vcc(w) == 0)            \
    X(s_cbranch_vccnz,   vcc(w) != 0)            \
    X(s_cbranch_execz,   wave_exec(w) == 0)      \
    X(s_cbranch_execnz,  wave_exec(w) != 0)      \
    X(s_cbranch_cdbgsys, false)                  \
    X(s_cbranch_cdbguser, false)                 \
    X(s_cbranch_cdbgsys_or_user, false)          \
    X(s_cbranch_cdbgsys_and_user, false)

#define NOTHING_TABLE(X)                                                     \
    X(s_nop) X(s_wakeup) X(s_setkill) X(s_waitcnt) X(s_sethalt) X(s_setprio) \
    X(s_sendmsg) X(s_sendmsghalt) X(s_icache_inv) X(s_incperflevel)          \
    X(s_decperflevel) X(s_ttracedata) X(s_ttracedata_imm) X(s_clause)        \
    X(s_inst_prefetch) X(s_set_inst_prefetch_distance) X(s_delay_alu)        \
    X(s_waitcnt_depctr) X(s_wait_alu) X(s_wait_idle) X(s_wait_event)         \
    X(s_wait_loadcnt) X(s_wait_storecnt) X(s_wait_samplecnt)                 \
    X(s_wait_bvhcnt) X(s_wait_expcnt) X(s_wait_dscnt) X(s_wait_kmcnt)        \
    X(s_wait_loadcnt_dscnt) X(s_wait_storecnt_dscnt) X(s_wait_asynccnt)      \
    X(s_wait_tensorcnt) X(s_wait_xcnt) X(s_singleuse_vdst) X(s_set_vgpr_msb) \
    X(s_barrier_leave) X(s_setprio_inc_wg)
/* clang-format on */

#define BRANCH_RUN(name, condition)                                            \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        branch_if(w, in, condition);                                           \
    }
#define BRANCH_ROW(name, condition)                                            \
    {#name, run_##name, CLASS_BRANCH, {T_none}, ROW_RAW | ROW_QUIET},
BRANCH_TABLE(BRANCH_RUN)

#define NOTHING_ROW(name)                                                      \
    {#name, sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},

static void run_s_endpgm(struct wave *w, const struct insn *in)
{
    (void)in;
    sim_wave_end(w);
}

static void run_s_barrier(struct wave *w, const struct insn *in)
{
    (void)in;
    sim_barrier(w);
}

static void run_s_barrier_wait(struct wave *w, const struct insn *in)
{
    sim_barrier_wait(w, simm16(in));
}

static void run_s_sleep(struct wave *w, const struct insn *in)
{
    (void)in;
    w->state = WAVE_YIELDS;
}

/* Trap 2 is used by __builtin_trap() and assert(). Trap 3 stops for a debugger;
 * without one the wave continues. */
static void run_s_trap(struct wave *w, const struct insn *in)
{
    unsigned id = in->raw & 0xff;

    if (id != 3)
        sim_fault_raise(w, SIM_FAULT_TRAP, -1, 0,
                        "the kernel gave up (s_trap %u)", id);
}

static void run_s_code_end(struct wave *w, const struct insn *in)
{
    (void)in;
    sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                    "the program ran past its end");
}

static void run_s_round_mode(struct wave *w, const struct insn *in)
{
    sim_wave_set_mode(w, (w->mode & ~0xfu) | (in->raw & 0xf));
}

static void run_s_denorm_mode(struct wave *w, const struct insn *in)
{
    sim_wave_set_mode(w, (w->mode & ~0xf0u) | (in->raw & 0xf) << 4);
}

static void run_s_set_gpr_idx_off(struct wave *w, const struct insn *in)
{
    (void)in;
    w->gpr_idx = false;
    w->mode &= ~(uint32_t)MODE_GPR_IDX_EN;
}

static void run_s_set_gpr_idx_mode(struct wave *w, const struct insn *in)
{
    w->s[SREG_M0] = (w->s[SREG_M0] & ~0xf000u) | (in->raw & 15) << 12;
}

/* clang-format off */
static const struct insn_row rows[] = {
    BRANCH_TABLE(BRANCH_ROW)
    NOTHING_TABLE(NOTHING_ROW)
    {"s_endpgm",       run_s_endpgm,       CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_endpgm_saved", run_s_endpgm,       CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_barrier",      run_s_barrier,      CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_barrier_wait", run_s_barrier_wait, CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_sleep",        run_s_sleep,        CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_monitor_sleep", run_s_sleep,       CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_trap",         run_s_trap,         CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_code_end",     run_s_code_end,     CLASS_OTHER, {T_none}, ROW_RAW},
    {"s_round_mode",   run_s_round_mode,   CLASS_SALU,  {T_none}, ROW_RAW | ROW_SETS_MODE},
    {"s_denorm_mode",  run_s_denorm_mode,  CLASS_SALU,  {T_none}, ROW_RAW | ROW_SETS_MODE},
    {"s_set_gpr_idx_off",  run_s_set_gpr_idx_off,  CLASS_SALU, {T_none}, ROW_RAW},
    {"s_set_gpr_idx_mode", run_s_set_gpr_idx_mode, CLASS_SALU, {T_none}, ROW_RAW},
};
/* clang-format on */

ROW_SET_NO_ALIASES(sopp, rows);
