/* ptx.h - reads PTX, the text that NVIDIA's driver compiles */
#ifndef KPK_BASE_PTX_H
#define KPK_BASE_PTX_H

#include "codeobj.h"

/* Whether a file is PTX: text whose first word is .version. */
bool ptx_is(const void *data, size_t nbytes);

/* Fills the target, the version and the kernels of `co` from its bytes. False,
 * with a sentence in error, if the text is damaged. */
bool ptx_read(struct codeobj *co, char error[CODEOBJ_ERROR_MAX]);

#endif
