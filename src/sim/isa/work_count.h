/* work_count.h - counts the work of each pipe, for waves that have a struct
 * flight
 *
 * Callers test w->flight first, so that nothing is spent where bounds are not
 * asked for.
 */
#ifndef SIM_ISA_WORK_COUNT_H
#define SIM_ISA_WORK_COUNT_H

#include "lane_places.h"

enum work_kind { WORK_LOADS, WORK_STORES, WORK_ATOMIC, WORK_ATOMIC_RETURNS };

/*
 * Loads that a wave has under way. Time counts in latencies of memory: a load
 * that is issued at time t is there at t + 1, and a wait moves the wave's time
 * to when the last load that it needs is there. Computing takes no time.
 */
enum { FLIGHT_MOST = 64 };
struct flight {
    uint32_t now;
    unsigned first, n;          /* of a ring */
    uint32_t done[FLIGHT_MOST]; /* times of arrival, in order */
};

/* Before an instruction runs: ALUs, waits, LDS without addresses. */
void sim_work_insn(struct wave *w, const struct insn *in);

/* An access by vector lanes, of nbytes each; in memory, scratch or LDS. */
void sim_work_vmem(struct wave *w, const struct places *p, unsigned nbytes,
                   enum work_kind kind);

/* The same for instructions on images: up to MAX_TEXELS places in memory. */
void sim_work_texels(struct wave *w, const uint64_t *at, unsigned n,
                     unsigned nbytes, enum work_kind kind);

/* How many segments of `size` bytes up to MAX_TEXELS places touch. */
unsigned sim_work_segments(const uint64_t *at, unsigned n, unsigned nbytes,
                           unsigned size);

void sim_work_scalar(struct wave *w, uint64_t at, unsigned n, bool write);

/* An LDS access at these offsets; of consecutive bytes of a wave's lanes. */
void sim_work_lds(struct wave *w, uint64_t mask, const uint32_t *offset,
                  unsigned n);
void sim_work_lds_row(struct wave *w, uint64_t mask, unsigned n);

#endif
