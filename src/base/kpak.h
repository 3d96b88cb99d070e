/* kpak.h - reads AMD's kernel archives (NAME_TARGET.kpack)
 *
 * AMD calls the format "kpack", too. Such an archive lies beside a library of
 * ROCm 7.13 and later and has the library's code objects: "KPAK", version 1,
 * the offset of a table of contents, which is MessagePack and ends the file.
 * The table has for each binary ("lib/librocrand.so#0") and each target ID one
 * code object, stored as it is or in a zstd frame of its own. Layout: ROCm's
 * rocm-systems, shared/kpack.
 *
 * Every number is held against the file before it is followed, and what is
 * allocated is bounded by the table's own bytes. Nothing is decompressed here:
 * the generator links libzstd, the command loads it when it meets a frame.
 */
#ifndef KPK_GEN_KPAK_H
#define KPK_GEN_KPAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KPAK_ERROR_MAX 256
/* One code object's, decompressed. */
#define KPAK_NBYTES_MAX ((uint64_t)1 << 30)

struct kpak_entry {
    const char *key;    /* the binary's, "lib/librocrand.so#0" */
    const char *target; /* "gfx90a:xnack+" */
    uint64_t ordinal;   /* the blob's or frame's; two entries may share it */
    const unsigned char *stored; /* in the file's bytes */
    size_t stored_nbytes;
    size_t nbytes; /* the code object's: stored_nbytes if not compressed */
};

/* Texts are the archive's and end with a NUL; all are printable and without
 * blanks. */
struct kpak {
    const char *group;    /* "blas"; "" if the archive does not say */
    const char *family;   /* "gfx110X-all"; likewise */
    const char **targets; /* the listed target IDs */
    size_t ntargets;
    bool zstd;                  /* each code object is a zstd frame */
    struct kpak_entry *entries; /* sorted by key and target, as strcmp */
    size_t n;
    char error[KPAK_ERROR_MAX]; /* the fault, in a sentence */
    char *texts;
};

/* By the first bytes. */
bool kpak_is(const void *data, size_t nbytes);

/*
 * kpak_open() reads the table of contents.
 *
 *   data  the whole file, which the archive points into
 *
 * False, with a sentence in error, if the archive is not sound; also without
 * memory, with errno ENOMEM. kpak_close() frees it in any case.
 */
bool kpak_open(struct kpak *kpak, const void *data, size_t nbytes);
void kpak_close(struct kpak *kpak);

#endif
