/* occupancy.h - how many waves of a kernel a SIMD holds */
#ifndef KPK_GEN_OCCUPANCY_H
#define KPK_GEN_OCCUPANCY_H

#include "kpack/format.h"

struct occupancy {
    unsigned waves; /* of a SIMD at once, with that block; 0: it does not fit */
    unsigned most;  /* that the SIMD has room for */
    unsigned block; /* threads in a block: the kernel's own, or 256 */
};

struct occupancy occupancy_of(const char *target,
                              const struct kpk_kernel_attrs *attrs);

#endif
