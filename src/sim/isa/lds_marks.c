/* lds_marks.c - detects races between waves of a workgroup in LDS */
#include "lds_marks.h"
#include "fault_report.h"

#include <stdio.h>

enum { MANY = 255 }; /* several waves: readers, or writers of one value */

static uint32_t mark(uint32_t epoch, uint32_t writer, uint32_t reader)
{
    return epoch << 16 | writer << 8 | reader;
}

static uint32_t writer_of(uint32_t m)
{
    return m >> 8 & 255;
}

static uint32_t reader_of(uint32_t m)
{
    return m & 255;
}

/* The wave, counted from 1, with which an access of `me` races; MANY for one of
 * several waves, 0 for none. */
static inline uint32_t rival(uint32_t m, uint32_t epoch, uint32_t me,
                             bool writes)
{
    const uint32_t now = m >> 16 == epoch ? m : 0;
    const uint32_t writer = writer_of(now), reader = reader_of(now);
    const bool reads_one_value = writer == MANY && !writes;

    if (writer && writer != me && !reads_one_value)
        return writer;
    return writes && reader && reader != me ? reader : 0;
}

static inline uint32_t touched(uint32_t m, uint32_t epoch, uint32_t me,
                               bool writes)
{
    const uint32_t now = m >> 16 == epoch ? m : 0;
    const uint32_t writer = writer_of(now), reader = reader_of(now);

    if (writes)
        return mark(epoch, me, reader);
    return mark(epoch, writer, reader == 0 || reader == me ? me : MANY);
}

uint64_t sim_lds_marks_nbytes(const struct run *run)
{
    if (run->config.races)
        return run->lds_nbytes * sizeof(uint32_t);
    return run->nwaves > 1 ? (run->lds_nbytes + 3) / 4 * sizeof(uint32_t) : 0;
}

void sim_lds_new_epoch(struct group *g)
{
    if (++g->lds_epoch)
        return;
    g->lds_epoch = 1;
    if (g->lds_marks)
        memset(g->lds_marks, 0, sim_lds_marks_nbytes(g->run));
}

bool sim_lds_check_race(struct wave *w, uint32_t offset, unsigned n,
                        enum access how, int lane)
{
    struct group *g = w->group;
    const uint32_t me = w->index + 1;
    const bool writes = how == ACCESS_WRITE;

    for (unsigned i = 0; i < n; i++) {
        uint32_t *m = &g->lds_marks[offset + i];
        const uint32_t other = rival(*m, g->lds_epoch, me, writes);
        char name[24] = "another wave";

        if (other) {
            if (other != MANY)
                snprintf(name, sizeof(name), "wave %u", other - 1);
            sim_fault_raise(
                w, SIM_FAULT_RACE, lane, offset + i,
                "%s LDS byte %u, which %s %s, with no barrier between",
                writes ? "writes" : "reads", offset + i, name,
                writer_of(*m) == other ? "wrote" : "read");
            return false;
        }
        *m = touched(*m, g->lds_epoch, me, writes);
    }
    return true;
}

/* ---- a whole instruction ---- */

static bool any_rival(const uint32_t *marks, unsigned n, uint32_t epoch,
                      uint32_t me, bool writes)
{
    uint32_t any = 0;

    for (unsigned i = 0; i < n; i++)
        any |= rival(marks[i], epoch, me, writes);
    return any != 0;
}

static void touch_row(uint32_t *marks, unsigned n, uint32_t epoch, uint32_t me,
                      bool writes)
{
    for (unsigned i = 0; i < n; i++)
        marks[i] = touched(marks[i], epoch, me, writes);
}

/* One lane, for places that do not lie in a row. */
static inline uint32_t lane_rivals(const uint32_t *marks, uint64_t at,
                                   unsigned ndwords, uint32_t epoch,
                                   uint32_t me, bool writes)
{
    uint32_t any = 0;

    for (unsigned d = 0; at % 4 == 0 && d < ndwords; d++)
        any |= rival(marks[at / 4 + d], epoch, me, writes);
    return any;
}

static inline void touch_lane(uint32_t *marks, uint64_t at, unsigned ndwords,
                              uint32_t epoch, uint32_t me, bool writes)
{
    if (at % 4 == 0)
        for (unsigned d = 0; d < ndwords; d++)
            marks[at / 4 + d] = touched(marks[at / 4 + d], epoch, me, writes);
}

/* Whether one of a lane's dwords races. Stores of equal values do not race. */
static bool races(struct wave *w, uint64_t at, unsigned ndwords,
                  const vreg *stores, int lane)
{
    struct group *g = w->group;
    uint32_t *marks = g->lds_marks + at / 4;

    for (unsigned d = 0; d < ndwords; d++) {
        if (!rival(marks[d], g->lds_epoch, w->index + 1, stores != NULL))
            continue;
        if (!stores || memcmp(g->lds + at + 4 * d, &stores[d][lane], 4) != 0)
            return true;
        marks[d] = mark(g->lds_epoch, MANY, reader_of(marks[d]));
    }
    return false;
}

/* For an instruction with rivals: finds the lane that races. */
static void find_race(struct wave *w, const struct places *p, unsigned ndwords,
                      const vreg *stores)
{
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        const uint64_t at = p->at[lane];

        if (at % 4 || !races(w, at, ndwords, stores, lane))
            continue;
        sim_warn(w, SIM_FAULT_RACE, lane,
                 "%s LDS at byte %llu, which another wave %s, with no barrier "
                 "between: the result depends on the order of the waves "
                 "(KPK_SIM_RACES=1 makes this an error and names the other "
                 "wave, KPK_SIM_SLICE sets another order)",
                 stores ? "writes" : "reads", (unsigned long long)at,
                 stores ? "reads or wrote" : "wrote");
        return;
    }
}

void sim_lds_watch(struct wave *w, const struct places *p, unsigned nbytes,
                   bool side_by_side, const vreg *stores)
{
    struct group *g = w->group;
    const uint32_t me = w->index + 1, epoch = g->lds_epoch;
    const bool writes = stores != NULL;
    const unsigned ndwords = nbytes / 4;
    uint32_t any = 0;

    if (!g->lds_marks || ndwords == 0 || sim_warned(w, SIM_FAULT_RACE))
        return;
    if (side_by_side && p->at[0] % 4 == 0) {
        uint32_t *row = g->lds_marks + p->at[0] / 4;

        if (any_rival(row, w->nlanes * ndwords, epoch, me, writes))
            find_race(w, p, ndwords, stores);
        else
            touch_row(row, w->nlanes * ndwords, epoch, me, writes);
        return;
    }
    for (uint64_t m = p->lanes; m; m &= m - 1)
        any |= lane_rivals(g->lds_marks, p->at[__builtin_ctzll(m)], ndwords,
                           epoch, me, writes);
    if (any) {
        find_race(w, p, ndwords, stores);
        return;
    }
    for (uint64_t m = p->lanes; m; m &= m - 1)
        touch_lane(g->lds_marks, p->at[__builtin_ctzll(m)], ndwords, epoch, me,
                   writes);
}
