/* sm_table.h - the NVIDIA processors that kpack knows
 *
 * Processors are sm_NN: major * 10 + minor of the compute capability. One that
 * is newer than this table needs no row: the rules in select_sm.c work on its
 * number. A row is needed for what the number does not tell, and for its own
 * launch shapes of attention and gemm.
 *
 * Source: CUDA C++ Programming Guide, "Compute Capabilities"; the targets that
 * nvcc 13.0 lists.
 */
#ifndef KPK_SM_TABLE_H
#define KPK_SM_TABLE_H

/* clang-format off */
/*
 * X(number, tegra, shared)
 *
 *   number  NN of sm_NN
 *   tegra   1 for a chip with its GPU built in: its cubins and other
 *           processors' do not mix
 *   shared  KiB of shared memory that a block can have
 */
#define KPK_SM_TABLE(X) \
    X(75,  0,  64)      \
    X(80,  0, 163)      \
    X(86,  0,  99)      \
    X(87,  1, 163)      \
    X(88,  1,  99)      \
    X(89,  0,  99)      \
    X(90,  0, 227)      \
    X(100, 0, 227)      \
    X(103, 0, 227)      \
    X(110, 1, 227)      \
    X(120, 0,  99)      \
    X(121, 0,  99)
/* clang-format on */

#endif
