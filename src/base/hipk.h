/* hipk.h - reads where a library's code was moved to
 *
 * AMD's tools move the code objects of a library into archives beside it
 * (read/kpak.h). The library keeps a wrapper for each translation unit in
 * .hipFatBinSegment, whose magic becomes "HIPK", and a section .rocm_kpack_ref:
 * MessagePack with the library's name in the archives, and their paths.
 */
#ifndef KPK_GEN_HIPK_H
#define KPK_GEN_HIPK_H

#include <stdbool.h>
#include <stddef.h>

#define HIPK_ERROR_MAX 256
#define HIPK_PATHS_MAX 64
#define HIPK_PLACEHOLDER "@GFXARCH@"

struct hipk {
    char *name;   /* "lib/librocrand.so"; unit i is NAME#i in the archives */
    char **paths; /* relative to the library's folder; printable */
    size_t npaths;
    size_t nunits;
    char error[HIPK_ERROR_MAX];
};

enum hipk_kind { HIPK_NONE, HIPK_MOVED, HIPK_DAMAGED };

/*
 * hipk_open() looks for the two sections.
 *
 * Returns HIPK_NONE if the file is no little-endian ELF64 file with a section
 * .rocm_kpack_ref; HIPK_DAMAGED, with a sentence in error, if these are not
 * sound, or without memory, with errno ENOMEM. hipk_close() frees it in any
 * case.
 */
enum hipk_kind hipk_open(struct hipk *hipk, const void *data, size_t nbytes);
void hipk_close(struct hipk *hipk);

/* Resolves one of the paths against the library's folder, which is absolute.
 * The result has no ".." and still has the placeholder. The caller frees it;
 * NULL without memory. */
char *hipk_resolve(const char *folder, const char *path);

/*
 * hipk_find() finds the files that a resolved path may mean, with any one
 * target for all of its placeholders, sorted.
 *
 *   out  n paths, each to be freed, and the list
 *
 * False, with errno, if a folder cannot be read or without memory.
 */
bool hipk_find(const char *resolved, char ***out, size_t *n);

#endif
