/* report_occupancy.h - how many waves of a kernel a SIMD holds */
#ifndef KPK_GEN_OCCUPANCY_H
#define KPK_GEN_OCCUPANCY_H

#include "kpack/format.h"

struct occupancy {
    unsigned waves; /* waves at once on a SIMD; 0: the block does not fit */
    unsigned most;  /* room for waves on a SIMD */
    unsigned block; /* threads in a block: the kernel's own, or 256 */
};

struct occupancy occupancy_of(const char *target,
                              const struct kpk_kernel_attrs *attrs);

#endif
