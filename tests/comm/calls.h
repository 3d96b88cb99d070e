/* calls.h - a group of ranks, the calls that it makes, and their results */
#ifndef KPK_TESTS_COMM_CALLS_H
#define KPK_TESTS_COMM_CALLS_H

#include "kpack/candle/comm_group.h"

#include <stdbool.h>
#include <stddef.h>

enum { MOST = KPK_COMM_MOST_RANKS, MOST_BY_LIBRARY = 10 };
enum { LARGEST = 25000, CALLS = 12 };
enum { OUT_NBYTES = sizeof(float) * CALLS * LARGEST }; /* of one rank */

/* Counts of checks in this process. `where` begins each failure's message. */
extern unsigned passed, failed;
extern const char *where;

bool check(bool holds, const char *what);
/* A failure ends the process: nothing after it can work. */
void need(kpk_status st, const char *what);

struct rank {
    kpk_instance *inst; /* NULL of another process */
    void *stream;
    float *in, *out; /* [CALLS][LARGEST] each, on the device */
};

struct group {
    uint32_t n;
    struct rank ranks[MOST_BY_LIBRARY];
    kpk_comm *comm;
};

extern const kpk_comm_options options_of_tests;

/* Number of devices if ranks share them; else 0. */
extern uint32_t ndevices;

/* Opens and closes a rank's instance, stream, inputs and result memory. */
void open_rank(struct group *g, uint32_t r, int device);
void close_rank(struct group *g, uint32_t r);
void clear(const struct group *g, uint32_t r);

/* The group makes these calls in a row, small and large ones of all kinds, and
 * none waits for the host. */
extern const struct call {
    kpk_comm_op op;
    uint32_t n, root;
} calls[CALLS];

void launch(struct group *g, uint32_t c, uint32_t r);

/* Waits for a rank's calls and fetches its results. */
void fetch(const struct group *g, uint32_t r, float *out);

/* Compares all ranks' results with sums in double precision. */
void check_results(uint32_t n, float *const *out);

/* ---- nomem.c ------------------------------------------------------------ */

/* Opens groups of the ranks' instances with less memory than they need. */
void check_no_memory(const struct group *g);

/* ---- processes.c -------------------------------------------------------- */

/* A group of n processes, on devices 0 to n - 1, of which the first and the
 * last are killed in turn; with FULL=1 each. `devices` is KPK_SIM_DEVICES of
 * them, or NULL; `library` is a stand-in for RCCL that they go through, or
 * NULL. */
void run_processes(const char *devices, const char *library, uint32_t n);

/* ---- library.c ---------------------------------------------------------- */

/* The file of the stand-in, beside the program. */
const char *stand_in(void);

/* In a child, whose devices are simulated: groups of one process by it. */
void run_by_library(uint32_t n);

/* In a child, on this machine's GPUs: by its RCCL or NCCL. */
void run_by_own_library(uint32_t n);

#endif
