/* made_cubin.h - makes cubins of one kernel that does nothing
 *
 * The layout is that of ptxas: gen/read/cubin.c.
 */
#ifndef IMPORT_CUBIN_H
#define IMPORT_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct made_param {
    uint16_t offset;
    uint16_t nbytes;
};

struct made_cubin {
    const char *kernel;
    enum { MADE_KERNEL, MADE_WEAK_KERNEL, MADE_DEVICE_FUNCTION } is;
    unsigned sm;       /* 90 is sm_90 */
    bool before_13;    /* as CUDA 11 and 12 write the header */
    bool accelerators; /* the mark of sm_90a */
    unsigned release;  /* 130 is CUDA 13.0 */
    const struct made_param *params;
    uint16_t nparams;
    uint16_t param_nbytes; /* stated in the file */
    bool large_params;     /* listed like parameters above 4 KiB */
    uint32_t registers;
    uint32_t stack_nbytes;
    uint32_t calls_stack_nbytes; /* with what it calls; 0: not stated */
    uint32_t shared_nbytes;      /* with what the system reserves */
    uint32_t max_threads[3];     /* 0: not stated */
    uint32_t reqd_block[3];      /* 0: not stated */
    uint8_t extra_tag;           /* one more record of the kernel, if not 0 */
    bool waits;                  /* its code has the instruction */
    const char *options; /* the assembler's, as its note has them, or NULL */
};

/* The file, to be freed. Ends the program without memory. */
unsigned char *make_cubin(const struct made_cubin *spec, size_t *nbytes);

#endif
