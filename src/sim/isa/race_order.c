/* race_order.c - what a wave's waits, write-backs and invalidations order for
 * other workgroups */
#include "race_order.h"

#include "../base/group_races.h"
#include "scope_rules.h"
#include "wave.h"

void sim_order_flag(struct wave *w, uint64_t at, unsigned n,
                    enum flag_access how)
{
    struct races *r = w->run->races;
    struct race_order *o = &w->order;
    const uint64_t group = w->group->index;

    if (how != FLAG_WRITE) {
        const uint64_t time = sim_races_flag_time(r, at, n);

        if (time > o->seen && time != o->released) /* by another lane */
            o->seen = time;
    }
    if (how == FLAG_READ)
        return;
    if (!o->released) {
        const uint32_t done = o->oldest ? o->oldest : sim_races_clock(r, group);

        o->released = sim_races_release(
            r, group, done, !sim_scope_rules(w->target)->write_back);
    }
    sim_races_flag(r, at, n, o->released);
}

void sim_order_drop(struct wave *w, const struct insn *in)
{
    if (in->reach & (REACH_DROPS_L0 | REACH_DROPS_L1))
        sim_races_drop(w->run->races, w->group->index,
                       in->reach & REACH_DROPS_L0, in->reach & REACH_DROPS_L1);
}

struct race_times sim_order_issue(struct wave *w)
{
    struct races *r = w->run->races;
    struct race_order *o = &w->order;
    const uint64_t group = w->group->index;
    const struct race_times times = {sim_races_clock(r, group), o->seen};

    o->seen = o->released = 0;
    sim_races_tick(r, group);
    return times;
}

void sim_order_complete(struct wave *w, const struct insn *in,
                        const struct race_times *times)
{
    if (in->waits.returns)
        sim_races_see(w->run->races, w->group->index, times->seen);
    if (in->reach & REACH_WRITES_BACK)
        sim_races_write_back(w->run->races, w->group->index, times->clock);
}
