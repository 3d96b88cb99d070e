/* cubin.h - reads a cubin, NVIDIA's code object for one processor */
#ifndef KPK_BASE_CUBIN_H
#define KPK_BASE_CUBIN_H

#include "codeobj.h"

struct elf64;

bool cubin_is(const struct elf64 *elf);

/*
 * cubin_read() fills the target, the version and the kernels of `co`, whose
 * bytes `elf` was made from. False, with a sentence in error, if the cubin is
 * damaged.
 */
bool cubin_read(struct codeobj *co, const struct elf64 *elf,
                char error[CODEOBJ_ERROR_MAX]);

#endif
