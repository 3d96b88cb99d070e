/* cubin.h - reads a cubin, NVIDIA's code object for one processor */
#ifndef KPK_GEN_CUBIN_H
#define KPK_GEN_CUBIN_H

#include "read/codeobj.h"

struct Elf;

bool cubin_is(struct Elf *elf);

/*
 * cubin_read() fills the target, the version and the kernels of `co`, whose
 * bytes `elf` was made from. False, with a sentence in error, if the cubin is
 * damaged.
 */
bool cubin_read(struct codeobj *co, struct Elf *elf,
                char error[CODEOBJ_ERROR_MAX]);

#endif
