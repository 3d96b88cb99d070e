/* cards.h - graphics cards: published peak rates, with their sources */
#ifndef SIM_BASE_CARDS_H
#define SIM_BASE_CARDS_H

#include <stdbool.h>

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

extern const struct sim_card sim_cards[];
extern const unsigned sim_ncards;

/* The card that stands for a processor, NULL if none does. */
const struct sim_card *sim_card_of(const char *processor);

#endif
