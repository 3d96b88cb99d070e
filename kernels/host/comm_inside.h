/*
 * comm_inside.h - a group of GPUs, for the files of comm_group.h
 *
 * tests/comm/test_comm.c includes it too; it is not installed.
 */
#ifndef KPACK_COMM_INSIDE_H
#define KPACK_COMM_INSIDE_H

#include "comm_group.h"
#include "comm_workspace_inside.h"

#include <kpack/host_code.h>

#include <stdatomic.h>
#include <stdbool.h>

enum {
    PIECE = 16, /* bytes that a thread moves at once */
    MOST_SMALL_NBYTES = 1 << 20
};

_Static_assert((int)KPK_COMM_MOST_RANKS == (int)COMM_RANKS,
               "ranks of a workspace");

struct comm_buffer {
    struct comm_buffer *next;
    uint64_t nbytes;
    char *of[KPK_COMM_MOST_RANKS];
};

struct kpk_comm {
    kpk_instance **insts; /* by rank; NULL of another process */
    /* RCCL's or NCCL's name, or NULL, and its communicator of each rank. The
     * fields below for workspaces and buffers serve module comm's kernels. */
    const char *engine;
    struct ncclComm **library;
    char *workspaces[KPK_COMM_MOST_RANKS];
    uint32_t ranks, blocks; /* blocks: at most as many as run at once */
    uint32_t small_nbytes, limit_ms;
    uint32_t small_sum_nbytes; /* small_nbytes for all-reduces and norms */
    uint64_t medium_nbytes;    /* whole lines */
    uint64_t slot_nbytes;      /* of a slot for a medium message or a share */
    uint64_t large_nbytes;
    bool by_library;     /* the caller asked for RCCL or NCCL */
    bool share_a_device; /* some ranks are on one device */
    struct comm_buffer *buffers;
    /* The first timeout that a check found; it ends the group. Low 16 bits: 1 +
     * the rank that did not come, or SOME; high bits: the rank that waited. */
    _Atomic uint32_t missed;
    struct kpk_i_party party; /* its gather is NULL in one process */
};

enum { SOME = 0xffff }; /* see kpk_comm.missed */

static inline uint64_t comm_div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static inline uint64_t comm_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t comm_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Offsets in a workspace, in bytes. */
uint64_t kpk_i_comm_results_at(const kpk_comm *comm);
uint64_t kpk_i_comm_medium_at(const kpk_comm *comm);

/* Fails with KPK_ERR_TIMEOUT once a wait for a rank has timed out. The message
 * names `call`. */
kpk_status kpk_i_comm_usable(const kpk_comm *comm, const char *call);

/* Fails with KPK_ERR_ARG, saying that the rank belongs to another process. */
kpk_status kpk_i_comm_not_here(const char *call, uint32_t rank);

#endif /* KPACK_COMM_INSIDE_H */
