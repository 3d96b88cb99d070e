/* barrier.c - workgroup barriers and the end of waves
 *
 * s_barrier holds a wave until every wave of the group that has not ended is
 * at it. gfx12 splits it: s_barrier_signal counts the wave in, s_barrier_wait
 * holds it until all have been counted. Barrier -1 is the workgroup's; those
 * from 1 on are named, made by s_barrier_init with a number of members, and a
 * wave waits for the one that it has joined.
 *
 * Not all work-items may reach a barrier, in two forms. A wave ends while
 * others wait: hardware lets the others go on, so this is a warning, and a
 * fault with KPK_SIM_BARRIERS=2. And lanes that were off at a barrier go on
 * after it (work-items that have returned stay off): a fault, because they ran
 * on without the others. Structured control flow brings lanes back with a
 * logical instruction on EXEC, whereas assembly that narrows EXEC on purpose
 * around a barrier moves the old value back, and is left alone.
 */
#include "barrier.h"
#include "fault_report.h"
#include "lds_marks.h"

/* Wave `ended` does not reach the barrier of wave `waiting`; `w` is the one of
 * the two that runs. */
static void missed(struct wave *w, const struct wave *ended,
                   const struct wave *waiting)
{
    if (w->run->config.barriers > 1)
        sim_fault_raise(w, SIM_FAULT_BARRIER, -1, 0,
                        "wave %u ends without reaching the barrier that wave "
                        "%u waits at (KPK_SIM_BARRIERS=1 warns and goes on)",
                        ended->index, waiting->index);
    else if (w->run->config.barriers)
        sim_warn(w, SIM_FAULT_BARRIER, -1,
                 "wave %u ends without reaching the barrier that wave %u waits "
                 "at; it goes on without the ended wave, as on hardware "
                 "(KPK_SIM_BARRIERS=2 makes this an error, 0 is silent)",
                 ended->index, waiting->index);
}

/* Raises a fault if no wave can run and one of them waits at a named barrier.
 */
static void check_deadlock(struct wave *w)
{
    const struct group *g = w->group;
    const struct wave *waiting = NULL;

    for (unsigned i = 0; i < g->nwaves; i++) {
        const struct wave *other = &g->waves[i];

        if (other->state == WAVE_RUNS || other->state == WAVE_YIELDS)
            return;
        if (other->state == WAVE_AT_BARRIER && other->waits_for_joined)
            waiting = other;
    }
    if (waiting)
        sim_fault_raise(w, SIM_FAULT_BARRIER, -1, 0,
                        "no wave goes on: wave %u waits at barrier %u, which "
                        "%u of %u members have signalled",
                        waiting->index, waiting->joined,
                        g->named[waiting->joined].signals,
                        g->named[waiting->joined].members);
}

static void wake(struct group *g, bool split)
{
    for (unsigned i = 0; i < g->nwaves; i++) {
        struct wave *w = &g->waves[i];

        if (w->state == WAVE_AT_BARRIER && !w->waits_for_joined &&
            w->split_barrier == split) {
            w->state = WAVE_RUNS;
            w->split_barrier = false;
        }
    }
}

/* Wakes the waves of a group whose barrier is complete. */
static void wake_if_complete(struct group *g)
{
    unsigned here = g->nwaves - g->nended;

    if (here == 0)
        return;
    if (g->barrier_waiting == here) {
        g->barrier_waiting = 0;
        sim_lds_new_epoch(g);
        wake(g, false);
    }
    if (g->barrier_signals == here) {
        g->barrier_signals = 0;
        g->barrier_phase++;
        sim_lds_new_epoch(g);
        wake(g, true);
    }
}

void sim_wave_end(struct wave *w)
{
    struct group *g = w->group;

    w->state = WAVE_ENDED;
    g->nended++;
    check_deadlock(w);
    if (w->state == WAVE_FAULTED)
        return;
    for (unsigned i = 0; i < g->nwaves; i++)
        if (g->waves[i].state == WAVE_AT_BARRIER &&
            !g->waves[i].waits_for_joined) {
            missed(w, w, &g->waves[i]);
            break;
        }
    if (!g->faulted)
        wake_if_complete(g);
}

static void note_absent_lanes(struct wave *w)
{
    if (!w->run->config.barriers)
        return;
    w->barrier_pc = w->insn_pc;
    w->absent = w->start_exec & ~wave_exec(w);
}

/* EXEC set by a move, or to all lanes (spills of whole registers). */
static bool sets_exec_whole(const struct insn *in)
{
    if (!in->row)
        return true;
    return strncmp(in->row->name, "s_mov", 5) == 0 ||
           (in->nops > 1 && in->op[in->nops - 1].kind == OPERAND_CONST);
}

void sim_barrier_check_absent(struct wave *w, const struct insn *in)
{
    uint64_t back = wave_exec(w) & w->absent;

    if (back == 0 || w->state == WAVE_FAULTED)
        return;
    w->absent &= ~back;
    if (!sets_exec_whole(in))
        sim_fault_raise(w, SIM_FAULT_BARRIER, __builtin_ctzll(back), 0,
                        "this work-item goes on, but did not reach the barrier "
                        "at +0x%llx that others of its wave waited at "
                        "(KPK_SIM_BARRIERS=0 lets it)",
                        (unsigned long long)(w->barrier_pc - w->run->entry));
}

void sim_barrier(struct wave *w)
{
    struct group *g = w->group;

    w->state = WAVE_AT_BARRIER;
    note_absent_lanes(w);
    g->barrier_waiting++;
    for (unsigned i = 0; i < g->nwaves; i++)
        if (g->waves[i].state == WAVE_ENDED && !g->waves[i].never_ran) {
            missed(w, &g->waves[i], w);
            break;
        }
    if (!g->faulted)
        wake_if_complete(g);
}

static bool known_barrier(struct wave *w, int32_t id)
{
    if (id == -1)
        return true;
    sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                    "the simulator has no barrier %d, only -1 and named ones",
                    id);
    return false;
}

/* ---- named barriers ---- */

static struct named_barrier *named(struct wave *w, int32_t id)
{
    if (id >= 1 && id < NUM_NAMED_BARRIERS)
        return &w->group->named[id];
    sim_fault_raise(w, SIM_FAULT_BARRIER, -1, 0,
                    "barrier %d is none of the %d named ones", id,
                    NUM_NAMED_BARRIERS - 1);
    return NULL;
}

void sim_barrier_init(struct wave *w, int32_t id, unsigned members)
{
    struct named_barrier *b = named(w, id);

    if (b)
        *b = (struct named_barrier){.members = members};
}

void sim_barrier_join(struct wave *w, int32_t id)
{
    if (!named(w, id))
        return;
    w->joined = (uint8_t)id;
    w->joined_done = false;
}

static void complete_named(struct group *g, int32_t id)
{
    g->named[id].signals = 0;
    sim_lds_new_epoch(g);
    for (unsigned i = 0; i < g->nwaves; i++) {
        struct wave *w = &g->waves[i];

        if (w->joined != id)
            continue;
        w->joined_done = !w->waits_for_joined;
        if (w->waits_for_joined)
            w->state = WAVE_RUNS;
        w->waits_for_joined = false;
    }
}

void sim_barrier_signal_named(struct wave *w, int32_t id, unsigned members,
                              bool is_first)
{
    struct named_barrier *b = named(w, id);

    if (!b)
        return;
    if (members)
        b->members = members;
    if (is_first)
        w->scc = b->signals == 0;
    if (++b->signals >= b->members)
        complete_named(w->group, id);
}

static void wait_for_joined(struct wave *w)
{
    if (!named(w, w->joined))
        return;
    if (w->joined_done) {
        w->joined_done = false;
        return;
    }
    w->state = WAVE_AT_BARRIER;
    w->waits_for_joined = true;
    check_deadlock(w);
}

/* ---- the workgroup's, split ---- */

void sim_barrier_signal(struct wave *w, int32_t id, bool is_first)
{
    struct group *g = w->group;

    if (!known_barrier(w, id))
        return;
    if (is_first)
        w->scc = g->barrier_signals == 0;
    note_absent_lanes(w);
    w->barrier_phase = g->barrier_phase;
    g->barrier_signals++;
    wake_if_complete(g);
}

void sim_barrier_wait(struct wave *w, int32_t id)
{
    struct group *g = w->group;

    if (id > 0) {
        wait_for_joined(w);
        return;
    }
    if (!known_barrier(w, id) || g->barrier_phase != w->barrier_phase)
        return;
    w->state = WAVE_AT_BARRIER;
    w->split_barrier = true;
}
