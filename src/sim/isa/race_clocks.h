/* race_clocks.h - what race_order.h keeps of a wave and of its operations */
#ifndef SIM_ISA_RACE_CLOCKS_H
#define SIM_ISA_RACE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Times of a pending operation. */
struct race_times {
    uint32_t clock; /* the group's, at its issue */
    uint64_t seen;  /* when the flags that it reads were written */
};

struct race_order {
    uint32_t oldest; /* clock of the oldest pending operation; 0: none */
    /* Of the running instruction: */
    uint64_t released; /* when it wrote a flag; 0: it has not */
    uint64_t seen;
};

#endif
