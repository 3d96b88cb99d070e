/* amdgpu_metadata.h - reads the metadata note of an AMDGPU code object */
#ifndef KPK_BASE_AMDGPU_METADATA_H
#define KPK_BASE_AMDGPU_METADATA_H

#include "codeobj.h"

/* Fills the kernels of `co` from a note. False, with a sentence in error, if
 * the note is damaged. */
bool amdgpu_metadata_read(struct codeobj *co, const void *note, size_t nbytes,
                          char error[CODEOBJ_ERROR_MAX]);

#endif
