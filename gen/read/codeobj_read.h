/* codeobj_read.h - reads code objects: AMDGPU's, cubins, PTX */
#ifndef KPK_GEN_CODEOBJ_READ_H
#define KPK_GEN_CODEOBJ_READ_H

#include "read/codeobj.h"

/*
 * codeobj_read() reads and checks a code object.
 *
 *   path   the file; kept for messages
 *   error  what is wrong with it, without the path, on failure
 *
 * Returns NULL on failure; free with codeobj_free().
 */
struct codeobj *codeobj_read(const char *path, char error[CODEOBJ_ERROR_MAX]);

/*
 * codeobj_parse() is codeobj_read() for bytes that are in memory already. They
 * are copied.
 */
struct codeobj *codeobj_parse(const char *path, const void *data, size_t nbytes,
                              char error[CODEOBJ_ERROR_MAX]);

#endif
