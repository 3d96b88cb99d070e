/* query.h - queries of loaded kernels */
#ifndef KPK_QUERY_H
#define KPK_QUERY_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* kpk_occupancy() without the lock. For launches: the caller must not unload
 * their module meanwhile. */
kpk_status kpk_i_occupancy(const kpk_kernel *kernel, uint32_t block,
                           size_t shared_nbytes, uint32_t *out);

#pragma GCC visibility pop

#endif
