/* drm.h - memory without an address, for kmt_alloc.c */
#ifndef SIM_THUNK_DRM_H
#define SIM_THUNK_DRM_H

#include "kmt.h"

#include <stdbool.h>

/* Allocates memory to be mapped later; returns a handle instead of an address.
 */
kmt_status thunk_piece_new(uint32_t node, uint64_t nbytes, void **handle);
/* False if the handle is not of this kind. */
bool thunk_piece_free(void *handle);

#endif
