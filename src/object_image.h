/* object_image.h - a code object's bytes as the driver takes them */
#ifndef KPK_OBJECT_IMAGE_H
#define KPK_OBJECT_IMAGE_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* A code object's bytes, decompressed if need be. Fails unless they have the
 * target's format: an AMDGPU ELF, a cubin or PTX. */
kpk_status kpk_i_object_image(const kpk_module *module, size_t object,
                              const unsigned char **out);

#pragma GCC visibility pop

#endif
