/*
 * comm_workspace_inside.h - what lies where in a rank's workspace
 *
 * Each rank of a group has a workspace, which all ranks' kernels reach. Kernels
 * (kernels/include/comm), host code and tests/comm/test_comm.c read its layout
 * here; it is not installed. A workspace holds
 *
 *   COMM_EPOCH    [COMM_BLOCKS] u32: how many calls this rank has made. Blocks
 *                 of a launch advance all of them, so that any grid finds its
 *                 own
 *   COMM_FAILED   u32: 0, or 1 + the rank that was waited for in vain
 *   COMM_BEGUN    [COMM_BLOCKS][COMM_RANKS] u32: the last call that this block
 *                 of that rank has begun
 *   COMM_HALFWAY  [COMM_STEPS][COMM_BLOCKS][COMM_RANKS] u32: the last call of
 *                 which it has done this step
 *   COMM_PARTS    [COMM_BLOCKS][COMM_PART_WORDS] u64: what blocks of this rank
 *                 that share a row tell each other (summed_norm.h)
 *   COMM_SLOTS    [2][ranks][small_nbytes / 4] u64: small messages, from each
 *                 rank (small.h); 4 * ranks * small_nbytes bytes
 *
 * and from whole cache lines on, at places that the host gives the kernels
 *
 *   results  [large_nbytes], up to whole lines of each rank: sums of this rank,
 *            for the others (large.h, summed_norm.h)
 *   medium   [2][ranks][slot_nbytes]: messages of a few MB, and shares of
 *            larger ones, all ones where no word has come (medium.h)
 */
#ifndef KPACK_COMM_WORKSPACE_INSIDE_H
#define KPACK_COMM_WORKSPACE_INSIDE_H

enum {
    COMM_RANKS = 8,
    COMM_BLOCKS = 128,   /* most of a launch */
    COMM_THREADS = 512,  /* most of a block */
    COMM_STEPS = 8,      /* most of a call */
    COMM_MOST_PARTS = 8, /* blocks that share a row */
    COMM_PART_WORDS = 4,
    COMM_LINE = 128, /* bytes of a cache line */
    COMM_RUN = 256   /* bytes of a run of words (medium.h) */
};

/* Bytes from the start of a workspace. */
enum {
    COMM_EPOCH = 0,
    COMM_FAILED = COMM_EPOCH + COMM_BLOCKS * 4,
    COMM_BEGUN = 1024,
    COMM_HALFWAY = COMM_BEGUN + COMM_BLOCKS * COMM_RANKS * 4,
    COMM_PARTS = COMM_HALFWAY + COMM_STEPS * COMM_BLOCKS * COMM_RANKS * 4,
    COMM_SLOTS = 49152
};

#endif /* KPACK_COMM_WORKSPACE_INSIDE_H */
