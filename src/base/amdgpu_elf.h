/* amdgpu_elf.h - reads an AMDGPU code object, an ELF file */
#ifndef KPK_BASE_AMDGPU_ELF_H
#define KPK_BASE_AMDGPU_ELF_H

#include "codeobj.h"

struct elf64;

/*
 * amdgpu_elf_read() fills the target, the version and the kernels of `co`,
 * whose bytes `elf` was made from. False, with a sentence in error, if they are
 * no code object, or a damaged one.
 */
bool amdgpu_elf_read(struct codeobj *co, const struct elf64 *elf,
                     char error[CODEOBJ_ERROR_MAX]);

#endif
