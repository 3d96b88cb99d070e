/* drm.h - memory without an address, for kmt_alloc.c */
#ifndef SIM_THUNK_DRM_H
#define SIM_THUNK_DRM_H

#include "kmt.h"

#include <stdbool.h>

/* Memory that is to be mapped later; the handle stands where an address would.
 */
kmt_status thunk_piece_new(uint32_t node, uint64_t nbytes, void **handle);
/* False if it is no such handle. */
bool thunk_piece_free(void *handle);

#endif
