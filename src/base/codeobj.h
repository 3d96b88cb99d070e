/* codeobj.h - one code object, of AMDGPU or NVIDIA
 *
 * Readers fill it (codeobj_parse.h) from the metadata note of AMDGPU code
 * objects, the sections .nv.info of cubins, the entries of PTX. A reader checks
 * every number in the file before it uses it: a damaged or hostile file is
 * refused with a sentence and never read out of bounds.
 */
#ifndef KPK_BASE_CODEOBJ_H
#define KPK_BASE_CODEOBJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kpack/format.h"

/* "gfx9-4-generic:sramecc+:xnack-" and room to spare. */
#define CODEOBJ_TARGET_MAX 64
#define CODEOBJ_ERROR_MAX 512

/* One explicit argument; hidden ones are left out. */
struct codeobj_arg {
    char *name; /* "" if the file has none */
    uint32_t offset;
    uint32_t size;
    enum kpk_arg_kind kind;
};

struct codeobj_kernel {
    char *name;
    char *symbol; /* name in the file; NULL: `name` */
    struct codeobj_arg *args;
    size_t nargs;
    struct kpk_kernel_attrs attrs;
};

struct codeobj {
    char *path;
    unsigned char *data; /* the whole file */
    size_t nbytes;
    char target[CODEOBJ_TARGET_MAX]; /* from the file */
    unsigned cov;      /* AMDGPU: code object version, 3 to 6; a cubin: CUDA's
                        * release, 130 is 13.0; PTX: its ISA's, 78 is 7.8 */
    bool knows_suffix; /* a cubin that records whether it is sm_90 or sm_90a */
    struct codeobj_kernel *kernels; /* sorted by name, as strcmp */
    size_t nkernels;
};

/* NULL is allowed. */
void codeobj_free(struct codeobj *co);

/* A cubin or PTX. */
bool codeobj_is_nvidia(const struct codeobj *co);

/*
 * codeobj_take_target() says that the file was made for `target`. A cubin made
 * for sm_90a may look like one for sm_90 (of CUDA before 12): it takes the
 * suffix. One for sm_90a was made for sm_90, too: no other GPU has a compute
 * capability of 9.
 *
 * False if the file is for something else.
 */
bool codeobj_take_target(struct codeobj *co, const char *target);

/* The offset where a kernel's last argument ends; the size of its segment if
 * it has no list of arguments: then the segment is one packed buffer, which
 * kpk_launch_packed() fills. */
uint32_t codeobj_packed_nbytes(const struct codeobj_kernel *k);

/* Sorts the kernels by name. A name that two kernels have; NULL if all names
 * differ. */
const char *codeobj_sort(struct codeobj *co);

/* Finds a kernel by the nbytes of its name, after codeobj_sort(); NULL without
 * one. */
struct codeobj_kernel *codeobj_find(const struct codeobj *co, const char *name,
                                    size_t nbytes);

/* For readers: writes an error message; returns false. */
bool codeobj_fail(char error[CODEOBJ_ERROR_MAX], const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));

#endif
