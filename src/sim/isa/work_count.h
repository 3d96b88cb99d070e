/* work_count.h - counts the work of each pipe, for waves that have a struct
 * flight
 *
 * Callers test w->flight first, so the simulator loses no time if no bounds are
 * wanted.
 */
#ifndef SIM_ISA_WORK_COUNT_H
#define SIM_ISA_WORK_COUNT_H

#include "lane_places.h"

enum work_kind { WORK_LOADS, WORK_STORES, WORK_ATOMIC, WORK_ATOMIC_RETURNS };

/*
 * A wave's loads in flight. The unit of time is one memory latency: a load
 * issued at time t completes at t + 1, and a wait advances the wave's time to
 * the completion of the last load that it waits for. Computing takes no time.
 */
enum { FLIGHT_MOST = 64 };
struct flight {
    uint32_t now;
    unsigned first, n;          /* of a ring */
    uint32_t done[FLIGHT_MOST]; /* times of arrival, in order */
};

/* Called before an instruction runs; counts ALU work, waits, and LDS work that
 * does not depend on addresses. */
void sim_work_insn(struct wave *w, const struct insn *in);

/* Counts an access of nbytes per lane in memory, scratch or LDS. */
void sim_work_vmem(struct wave *w, const struct places *p, unsigned nbytes,
                   enum work_kind kind);

/* The same for instructions on images: up to MAX_TEXELS places in memory. */
void sim_work_texels(struct wave *w, const uint64_t *at, unsigned n,
                     unsigned nbytes, enum work_kind kind);

/* How many segments of `size` bytes n places touch; n is up to MAX_TEXELS. */
unsigned sim_work_segments(const uint64_t *at, unsigned n, unsigned nbytes,
                           unsigned size);

void sim_work_scalar(struct wave *w, uint64_t at, unsigned n, bool write);

/* Counts an LDS access of n bytes per lane, at these offsets or contiguous. */
void sim_work_lds(struct wave *w, uint64_t mask, const uint32_t *offset,
                  unsigned n);
void sim_work_lds_row(struct wave *w, uint64_t mask, unsigned n);

#endif
