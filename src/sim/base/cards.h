/* cards.h - graphics cards, and lower bounds of a launch's time on them
 *
 * A bound is the time that one pipe needs for its share of the work if nothing
 * ever waits for anything: published peak rates, all caches as good as they
 * can be, work spread evenly. The launch takes longer than the largest of
 * them, on hardware often much longer. No bound is a prediction.
 */
#ifndef SIM_BASE_CARDS_H
#define SIM_BASE_CARDS_H

#include "../run/dispatch.h"

/* X(field, its meaning and unit) */
#define SIM_CARD_NUMBERS(X)                                                    \
    X(compute_units, "compute units")                                          \
    X(clock_mhz, "clock in MHz, the highest that the maker names")             \
    X(dram_gbs, "DRAM bandwidth in GB/s")                                      \
    X(dram_latency_ns, "latency of DRAM in ns, for bytes in flight alone")     \
    X(l1_line, "bytes of a line of the vector cache, one line a clock")        \
    X(l2_channels, "channels of the L2, one atomic request a clock each")      \
    X(dies, "dies that groups are dealt to in turn")

struct sim_card_number {
    double value;
    const char *source;
};

struct sim_card {
    const char *target; /* processor */
    const char *name;
    bool scalar_per_simd; /* RDNA: each SIMD has a scalar unit, else a CU has */
#define X(field, what) struct sim_card_number field;
    SIM_CARD_NUMBERS(X)
#undef X
};

/* X(name, what reports call it) */
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

extern const struct sim_card sim_cards[];
extern const unsigned sim_ncards;

/* The card that stands for a processor, NULL if none does. */
const struct sim_card *sim_card_of(const char *processor);

const char *sim_pipe_name(enum sim_pipe pipe);

/*
 * Computes the bounds of a launch from its counters. With `large_grid` all of
 * the card's compute units share the work, however few groups the launch has,
 * as they would in a grid of many such groups.
 */
void sim_bounds_of(const struct sim_card *card, const struct sim_stats *stats,
                   bool large_grid, struct sim_bounds *out);

/* Prints the bounds of a launch to stderr. */
void sim_bounds_print(const struct sim_dispatch *dispatch,
                      const struct sim_stats *stats);

#endif
