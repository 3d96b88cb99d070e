/* codeobj_read.h - reads a code object from its file */
#ifndef KPK_GEN_CODEOBJ_READ_H
#define KPK_GEN_CODEOBJ_READ_H

#include "base/codeobj_parse.h"

/* codeobj_parse() for a file; without the path in `error`, too. */
struct codeobj *codeobj_read(const char *path, char error[CODEOBJ_ERROR_MAX]);

#endif
