/* offload.h - reads LLVM's offload binaries
 *
 * clang puts device code of several targets into them with
 * --offload-new-driver, and llvm-offload-binary (once clang-offload-packager)
 * writes files of them. An offload binary begins with 10 FF 10 AD and has one
 * image (version 1) or more (version 2), each with the triple and the processor
 * that it is for; several stand one behind the other. Layout: LLVM's
 * llvm/Object/OffloadBinary.h. Every number is held against the bytes at hand
 * before it is followed.
 */
#ifndef KPK_GEN_OFFLOAD_H
#define KPK_GEN_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFFLOAD_TEXT_MAX 64

/* By the first bytes. */
bool offload_is(const void *data, size_t nbytes);

/* A walk over the images of one offload binary. */
struct offload {
    const unsigned char *data;
    size_t nbytes; /* size of the offload binary, by its header */
    unsigned version;
    size_t at; /* offset of the next image's record */
    uint64_t nimages;
    uint64_t next;       /* number of the next image */
    const char *message; /* NULL, or the fault of the offload binary */
};

struct offload_image {
    char triple[OFFLOAD_TEXT_MAX]; /* "amdgcn-amd-amdhsa"; "" if it has none */
    char target[OFFLOAD_TEXT_MAX]; /* "gfx90a:xnack+", "sm_90"; likewise */
    const unsigned char *data;
    size_t nbytes;
};

/*
 * offload_open() starts the walk, offload_next() takes one image. Both say
 * false at a damaged file, with offload->message set; offload_next() also at
 * the end, with none.
 */
bool offload_open(struct offload *offload, const void *data, size_t nbytes);
bool offload_next(struct offload *offload, struct offload_image *out);

/* Whether an image is for a GPU of AMD's or NVIDIA's: not the host's, and not
 * SPIR-V. */
bool offload_image_is_gpu(const struct offload_image *image);

#endif
