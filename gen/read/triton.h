/* triton.h - what Triton says of a kernel in the JSON file beside it
 *
 * Triton's compiler leaves NAME.json beside NAME.hsaco or NAME.cubin: how many
 * warps a program has, how much shared memory, and how much memory the last
 * arguments point to, which no source of the kernel has. Fields: those that
 * triton/compiler/compiler.py and the backends' compiler.py write.
 */
#ifndef KPK_GEN_TRITON_H
#define KPK_GEN_TRITON_H

#include <stddef.h>
#include <stdint.h>

#define TRITON_ERROR_MAX 512
#define TRITON_NAME_MAX 1024

struct triton {
    char kernel[TRITON_NAME_MAX]; /* "" if it does not say */
    char processor[64]; /* "gfx942"; "" without a processor, and for NVIDIA,
                           whose JSON has a number */
    uint32_t num_warps, num_ctas;
    uint32_t shared_nbytes; /* dynamic, which every launch needs */
    uint32_t global_scratch_nbytes, global_scratch_align; /* of a program */
    uint32_t profile_scratch_nbytes, profile_scratch_align;
    unsigned nscratch; /* last arguments that are pointers to scratch memory:
                        * global's, then profile's; 0 if it is not known */
};

enum triton_status {
    TRITON_READ,
    TRITON_OTHER, /* JSON of another program */
    TRITON_BAD    /* with a sentence in error */
};

enum triton_status triton_read(const char *path, struct triton *out,
                               char error[TRITON_ERROR_MAX]);

/* The same for text in memory, which ends with a NUL that is not counted. */
enum triton_status triton_parse(const char *text, size_t nbytes,
                                struct triton *out,
                                char error[TRITON_ERROR_MAX]);

#endif
