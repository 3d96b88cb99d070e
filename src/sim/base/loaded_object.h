/* loaded_object.h - a loaded code object: its kernels, globals and segments */
#ifndef SIM_BASE_LOADED_OBJECT_H
#define SIM_BASE_LOADED_OBJECT_H

#include "processor.h"

#include <stddef.h>

enum sim_load_status {
    SIM_LOAD_OK,
    SIM_LOAD_NOT_ELF,      /* not an AMDGPU ELF at all */
    SIM_LOAD_CORRUPT,      /* an ELF with contradictions */
    SIM_LOAD_WRONG_TARGET, /* for another processor or feature setting */
    SIM_LOAD_UNRESOLVED,   /* undefined symbol or unknown relocation */
    SIM_LOAD_NO_MEMORY
};

struct sim_arg {
    char *name; /* may be NULL */
    uint32_t offset, size;
    uint32_t pointee_align; /* alignment for pointers into LDS */
    char value_kind[28];    /* "by_value", "global_buffer", "hidden_..." */
};

/* A kernel as its metadata and descriptor describe it. */
struct sim_kernel {
    char *name;
    uint64_t descriptor; /* address of the 64-byte descriptor */
    uint64_t entry;      /* address of the first instruction */
    uint32_t kernarg_nbytes, kernarg_align;
    uint32_t lds_nbytes, scratch_nbytes;
    uint32_t max_block;
    uint32_t reqd_block[3];
    uint32_t vgprs, agprs, sgprs, wave_size;
    uint32_t sgpr_spills, vgpr_spills;
    bool uses_dynamic_stack, uniform_work_group_size;
    struct sim_arg *args; /* explicit ones first, in order, then hidden */
    uint32_t nargs, nexplicit;
};

enum { SIM_MAX_SEGMENTS = 16 };

struct sim_global {
    char *name;
    uint64_t address;
    uint64_t size;
};

/* A format of printf(), by the hash that kernels know it by. */
struct sim_format {
    uint64_t hash;
    char *text;
};

struct sim_code_object {
    struct sim_device *device;
    struct sim_alloc *segments[SIM_MAX_SEGMENTS]; /* ascending addresses */
    uint32_t nsegments;
    struct sim_kernel *kernels;
    struct sim_global *globals;
    struct sim_format *formats;
    uint32_t nkernels, nglobals, nformats;
    uint32_t abi_version; /* ELF ident byte 8: 2 V4, 3 V5, 4 V6 */
};

void sim_code_object_free(struct sim_code_object *object);

const struct sim_kernel *
sim_code_object_kernel(const struct sim_code_object *object, const char *name);

#endif
