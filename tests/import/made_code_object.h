/* made_code_object.h - makes code objects like those of hand-written kernels
 *
 * They hold one kernel, whose code is nothing, in the layout that assemblers
 * and linkers leave: enough for everything that reads code objects without
 * running them. The tests that run kernels use real ones.
 */
#ifndef IMPORT_CODE_OBJECT_H
#define IMPORT_CODE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

struct made_arg {
    const char *name; /* NULL: the entry has none */
    uint32_t offset, size;
    const char *kind; /* "by_value" if NULL */
};

struct made_object {
    const char *kernel;
    uint32_t e_flags;     /* 0x54c: gfx942, any features */
    unsigned abi_version; /* code object version less 2 */
    unsigned wave_size;
    uint32_t kernarg_nbytes; /* stated in the metadata */
    uint32_t lds_nbytes;
    const struct made_arg *args;
    size_t nargs;
    size_t nbytes; /* least size of the file; code fills it up */
};

/* Arguments in slots of 16 bytes with their padding listed, as a list of
 * letters tells: p pointer, u 32 bits. Returns how many entries that makes. */
size_t slot_args(const char *letters, struct made_arg *out, size_t room);

/* The file, to be freed. Ends the program without memory. */
unsigned char *make_object(const struct made_object *spec, size_t *nbytes);

/* An offload bundle of n entries, or, with version 1 to 3, a compressed one
 * (method 0 zlib, 1 zstd); to be freed. */
struct made_entry {
    const char *id;
    const void *data;
    size_t nbytes;
};
unsigned char *make_bundle(const struct made_entry *entries, size_t n,
                           size_t alignment, size_t *nbytes);
unsigned char *compress_bundle(const void *plain, size_t plain_nbytes,
                               unsigned version, unsigned method,
                               size_t *nbytes);

/* An offload binary of version 2; with version 1, one for each image. Images
 * lie at multiples of 8 bytes. To be freed. */
struct made_image {
    const char *triple, *target; /* NULL: it has none */
    const void *data;
    size_t nbytes;
};
unsigned char *make_offload(const struct made_image *images, size_t n,
                            unsigned version, size_t *nbytes);

#endif
