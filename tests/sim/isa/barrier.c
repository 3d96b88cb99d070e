/* barrier.c - workgroup barriers and the end of waves
 *
 * s_barrier holds a wave until every wave of the group that has not ended is
 * at it. gfx12 splits it: s_barrier_signal counts the wave in, s_barrier_wait
 * holds it until all have been counted; only barrier -1, the workgroup's, is
 * there for compiled code.
 *
 * Waves that stand at different s_barrier instructions, and waves that ended
 * while others wait, get along on hardware but are a barrier that not all
 * work-items reach: a fault.
 */
#include "exec.h"

static void end_barrier_fault(struct wave *w, const struct wave *waiting)
{
    sim_fault_raise(w, SIM_FAULT_BARRIER, -1, 0,
                    "wave %u ended while wave %u waits at a barrier that not "
                    "all work-items of the group reach",
                    w->index, waiting->index);
}

void sim_wave_end(struct wave *w)
{
    struct group *g = w->group;

    w->state = WAVE_ENDED;
    g->nended++;
    for (unsigned i = 0; i < g->nwaves && w->run->config.barriers; i++)
        if (g->waves[i].state == WAVE_AT_BARRIER) {
            end_barrier_fault(w, &g->waves[i]);
            return;
        }
    sim_barrier_update(g);
}

void sim_barrier(struct wave *w)
{
    struct group *g = w->group;

    w->state = WAVE_AT_BARRIER;
    w->barrier_pc = w->insn_pc;
    g->barrier_waiting++;
    for (unsigned i = 0; i < g->nwaves && w->run->config.barriers; i++) {
        const struct wave *other = &g->waves[i];

        if (other->state == WAVE_ENDED && !other->never_ran) {
            sim_fault_raise(w, SIM_FAULT_BARRIER, -1, 0,
                            "wave %u has ended without reaching this barrier",
                            other->index);
            return;
        }
        if (other->state == WAVE_AT_BARRIER &&
            other->barrier_pc != w->insn_pc) {
            sim_fault_raise(
                w, SIM_FAULT_BARRIER, -1, 0,
                "wave %u waits at another barrier (+0x%llx)", other->index,
                (unsigned long long)(other->barrier_pc - w->run->entry));
            return;
        }
    }
    sim_barrier_update(g);
}

static bool known_barrier(struct wave *w, int32_t id)
{
    if (id == -1)
        return true;
    sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                    "the simulator has no barrier %d, only -1", id);
    return false;
}

void sim_barrier_signal(struct wave *w, int32_t id, bool is_first)
{
    struct group *g = w->group;

    if (!known_barrier(w, id))
        return;
    if (is_first)
        w->scc = g->barrier_signals == 0;
    w->barrier_phase = g->barrier_phase;
    g->barrier_signals++;
    sim_barrier_update(g);
}

void sim_barrier_wait(struct wave *w, int32_t id)
{
    struct group *g = w->group;

    if (!known_barrier(w, id) || g->barrier_phase != w->barrier_phase)
        return;
    w->state = WAVE_AT_BARRIER;
    w->barrier_pc = w->insn_pc;
    w->split_barrier = true;
}

static void wake(struct group *g, bool split)
{
    for (unsigned i = 0; i < g->nwaves; i++) {
        struct wave *w = &g->waves[i];

        if (w->state == WAVE_AT_BARRIER && w->split_barrier == split) {
            w->state = WAVE_RUNS;
            w->split_barrier = false;
        }
    }
}

void sim_barrier_update(struct group *g)
{
    unsigned here = g->nwaves - g->nended;

    if (here == 0)
        return;
    if (g->barrier_waiting == here) {
        g->barrier_waiting = 0;
        g->lds_epoch++;
        wake(g, false);
    }
    if (g->barrier_signals == here) {
        g->barrier_signals = 0;
        g->barrier_phase++;
        g->lds_epoch++;
        wake(g, true);
    }
}
