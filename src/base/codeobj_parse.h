/* codeobj_parse.h - reads code objects: AMDGPU's, cubins, PTX */
#ifndef KPK_BASE_CODEOBJ_PARSE_H
#define KPK_BASE_CODEOBJ_PARSE_H

#include "codeobj.h"

/*
 * codeobj_parse() reads and checks a code object.
 *
 *   path   kept for messages
 *   data   copied
 *   error  what is wrong with it, without the path, on failure
 *
 * Returns NULL on failure; free with codeobj_free().
 */
struct codeobj *codeobj_parse(const char *path, const void *data, size_t nbytes,
                              char error[CODEOBJ_ERROR_MAX]);

#endif
