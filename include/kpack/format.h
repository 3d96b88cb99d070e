/* format.h - the constant tables of which a pack is made
 *
 * Generated C includes this header and nothing else of kpack does but the
 * runtime. Programs use kpack.h, which keeps these types opaque.
 *
 * Names are offsets into the module's string table and not pointers, and every
 * per-kernel record is free of pointers: a pack of 700 kernels adds a handful
 * of relocations per module to a position-independent program, none per
 * kernel. All tables are read-only.
 */
#ifndef KPACK_FORMAT_H
#define KPACK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Changes with every incompatible change below; the runtime checks it. */
#define KPK_FORMAT_VERSION 1u

/* Kinds of explicit arguments: `.value_kind` of the code object's metadata. */
enum kpk_arg_kind {
    KPK_ARG_BY_VALUE,
    KPK_ARG_GLOBAL_BUFFER,
    KPK_ARG_DYNAMIC_SHARED_POINTER,
    KPK_ARG_OTHER /* sampler, image, pipe, queue */
};

/* One explicit argument. Hidden arguments are not listed. */
struct kpk_arg_desc {
    uint32_t name;   /* string offset; 0 (the empty string) if unknown */
    uint32_t offset; /* bytes from the start of the kernarg segment */
    uint32_t size;   /* bytes */
    uint32_t kind;   /* enum kpk_arg_kind */
};

/* What all targets of a module agree on for one kernel. */
struct kpk_kernel_desc {
    uint32_t name;            /* string offset */
    uint32_t first_arg;       /* index into kpk_module.args */
    uint32_t nargs;           /* explicit arguments */
    uint32_t explicit_nbytes; /* end of the last explicit argument */
};

/* What one kernel needs on one target: the code object's metadata. */
struct kpk_kernel_attrs {
    uint32_t kernarg_nbytes; /* whole segment, hidden arguments included */
    uint32_t kernarg_align;
    uint32_t lds_nbytes;     /* static, per workgroup */
    uint32_t scratch_nbytes; /* per work-item */
    uint32_t max_block;      /* work-items in a workgroup */
    uint32_t reqd_block[3];  /* 0, 0, 0 if not required */
    uint16_t vgprs;
    uint16_t agprs;
    uint16_t sgprs;
    uint16_t vgpr_spills;
    uint16_t sgpr_spills;
    uint16_t wave_size;      /* 32 or 64 */
    uint8_t uses_dynamic_stack;
    uint8_t has_hidden_args;
    uint8_t reserved[2];
};

/* One code object: a module compiled for one target. */
struct kpk_code_object {
    uint32_t target;         /* string offset of the target ID */
    uint32_t cov;            /* code object version: 3, 4, 5 or 6 */
    const unsigned char *data; /* the ELF, 16-byte aligned at least */
    const unsigned int *nbytes;
    const struct kpk_kernel_attrs *attrs; /* [nkernels], in kernel order */
    uint8_t sha256[32];      /* of the ELF */
};

struct kpk_module {
    uint32_t format; /* KPK_FORMAT_VERSION */
    uint32_t name;   /* string offset */
    const char *strings;
    const struct kpk_kernel_desc *kernels; /* sorted by name, as strcmp */
    const struct kpk_arg_desc *args;
    const struct kpk_code_object *objects; /* sorted by target ID */
    uint32_t nkernels;
    uint32_t nobjects;
};

struct kpk_pack {
    uint32_t format; /* KPK_FORMAT_VERSION */
    uint32_t nmodules;
    const char *name;
    const struct kpk_module *const *modules; /* sorted by name */
};

#endif
