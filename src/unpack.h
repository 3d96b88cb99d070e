/* unpack.h - the bytes of a code object, decompressed where need be */
#ifndef KPK_UNPACK_H
#define KPK_UNPACK_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* A code object's bytes, decompressed if need be; NULL if it was taken out. */
kpk_status kpk_i_object_bytes(const kpk_module *module, size_t object,
                              const unsigned char **out);

/* A module has been loaded from those bytes (1), or unloaded (-1). */
void kpk_i_use_object(const kpk_module *module, size_t object, int by);

/* Gives back what has been decompressed and no loaded module uses. Nobody may
 * hold bytes any more that kpk_module_object() has given. */
void kpk_i_forget_unpacked(void);

#pragma GCC visibility pop

#endif
