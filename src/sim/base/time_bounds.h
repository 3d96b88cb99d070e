/* time_bounds.h - lower bounds of a launch's time on a card
 *
 * A bound is the time that one pipe needs for its share of the work if nothing
 * ever waits for anything: published peak rates, all caches as good as they
 * can be, work spread evenly. The launch takes longer than the largest of
 * them, on hardware often much longer. No bound is a prediction.
 */
#ifndef SIM_BASE_TIME_BOUNDS_H
#define SIM_BASE_TIME_BOUNDS_H

#include "cards.h"
#include "counters.h"

/* X(name, name in reports) */
#define SIM_PIPES(X)                                                           \
    X(MATRIX, "matrix pipe")                                                   \
    X(VALU, "vector ALU")                                                      \
    X(TRANS, "transcendental unit")                                            \
    X(SALU, "scalar ALU")                                                      \
    X(LDS, "LDS")                                                              \
    X(L1, "vector cache")                                                      \
    X(DRAM, "DRAM")                                                            \
    X(ATOMICS, "atomics")
enum sim_pipe {
#define X(name, word) SIM_PIPE_##name,
    SIM_PIPES(X)
#undef X
        SIM_NPIPES
};

struct sim_bounds {
    const struct sim_card *card;
    double ns[SIM_NPIPES]; /* lower bounds of time */
    enum sim_pipe largest;
    double dram_bytes;      /* traffic that DRAM must carry */
    double waves_per_simd;  /* resident, if the grid is large enough */
    double in_flight_bytes; /* loads of a CU with these waves; 0: no loads */
    double needed_bytes;    /* for the card's latency times bandwidth */
    double dies_percent;    /* the busiest die's work if groups that work were
                               dealt evenly, of what it has; 100 at best */
};

/*
 * Computes the bounds of a launch from its counters. With `large_grid` all of
 * the card's compute units share the work, however few groups the launch has,
 * as they would in a grid of many such groups.
 */
void sim_bounds_of(const struct sim_card *card, const struct sim_stats *stats,
                   bool large_grid, struct sim_bounds *out);

/* Prints the bounds of a launch of a kernel (NULL: unknown) on the card that
 * stands for a processor to stderr. */
void sim_bounds_print(const char *kernel, const char *processor,
                      const struct sim_stats *stats);

#endif
