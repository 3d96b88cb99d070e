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
#define KPK_FORMAT_VERSION 2u

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
    uint16_t wave_size; /* 32 or 64 */
    uint8_t uses_dynamic_stack;
    uint8_t has_hidden_args;
    uint8_t reserved[2];
};

/* One code object: a module compiled for one target. */
struct kpk_code_object {
    uint32_t target;           /* string offset of the target ID */
    uint32_t cov;              /* code object version: 3, 4, 5 or 6 */
    const unsigned char *data; /* the ELF, 16-byte aligned at least */
    const unsigned int *nbytes;
    const struct kpk_kernel_attrs *attrs; /* [nkernels], in kernel order */
    uint8_t sha256[32];                   /* of the ELF */
};

/* Types of a configuration table's columns. */
enum kpk_cell_type { KPK_CELL_INT, KPK_CELL_FLOAT, KPK_CELL_STRING };

struct kpk_column {
    uint32_t name; /* string offset */
    uint32_t type; /* enum kpk_cell_type */
};

union kpk_cell_data {
    int64_t i;
    double f;
    uint32_t s; /* string offset */
};

/* Which kernel and target a row of a configuration table is for. */
struct kpk_row_key {
    uint32_t kernel; /* index into kpk_module.kernels */
    uint32_t target; /* string offset of a processor's name; 0 for any */
};

/* A CSV file that lies beside a module's kernels: one row for a kernel (and a
 * target), the columns that the file has besides `kernel` and `target`. */
struct kpk_table {
    uint32_t name; /* string offset: the file's name less ".csv" */
    uint32_t ncolumns;
    uint32_t nrows;
    const struct kpk_column *columns; /* [ncolumns], in the file's order */
    const struct kpk_row_key *keys;   /* [nrows], by kernel, then file order */
    const union kpk_cell_data *cells; /* [nrows][ncolumns] */
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
    const struct kpk_table *tables; /* [ntables], sorted by name */
    uint32_t ntables;
};

struct kpk_pack {
    uint32_t format; /* KPK_FORMAT_VERSION */
    uint32_t nmodules;
    const char *name;
    const struct kpk_module *const *modules; /* sorted by name */
};

#endif
