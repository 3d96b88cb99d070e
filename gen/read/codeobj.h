/* codeobj.h - what kpack-gen knows of one code object, of AMDGPU or NVIDIA
 *
 * A reader of what the file says of its kernels, at build time only: the
 * metadata note of AMDGPU code objects, the sections .nv.info of cubins, the
 * entries of PTX. Every number in the file is checked before it is used: a
 * damaged or hostile file is refused with a sentence and never read out of
 * bounds.
 */
#ifndef KPK_GEN_CODEOBJ_H
#define KPK_GEN_CODEOBJ_H

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
    char target[CODEOBJ_TARGET_MAX]; /* as the file says */
    unsigned cov;      /* AMDGPU: code object version, 3 to 6; a cubin: CUDA's
                        * release, 130 is 13.0; PTX: its ISA's, 78 is 7.8 */
    bool knows_suffix; /* a cubin that says whether it is for sm_90 or sm_90a */
    struct codeobj_kernel *kernels; /* sorted by name, as strcmp */
    size_t nkernels;
};

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

/* Whether a name is sm_NN or compute_NN, with its suffix if it has one. */
bool codeobj_is_nvidia_target(const char *name);

/* Whether a name is a target ID that a code object may have. */
bool codeobj_is_target(const char *name);

/* The offset where a kernel's last argument ends; the size of its segment if
 * it has no list of arguments: then the segment is one packed buffer, which
 * kpk_launch_packed() fills. */
uint32_t codeobj_packed_nbytes(const struct codeobj_kernel *k);

/* Whether a file is PTX: text whose first word is .version. */
bool codeobj_is_ptx(const void *data, size_t nbytes);

/* Internal to the reader, its parts for NVIDIA's files. */
struct Elf;
bool codeobj_read_cubin(struct codeobj *co, struct Elf *elf,
                        char error[CODEOBJ_ERROR_MAX]);
bool codeobj_read_ptx(struct codeobj *co, char error[CODEOBJ_ERROR_MAX]);

/* Internal to the reader: writes the sentence; false. */
bool codeobj_fail(char error[CODEOBJ_ERROR_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Internal to the reader: fills the kernels from the metadata note. */
bool codeobj_read_metadata(struct codeobj *co, const void *note, size_t nbytes,
                           char error[CODEOBJ_ERROR_MAX]);

#endif
