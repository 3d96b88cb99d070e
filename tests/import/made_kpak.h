/* made_kpak.h - makes AMD's kernel archives, and libraries whose code is in
 * them */
#ifndef IMPORT_KPAK_H
#define IMPORT_KPAK_H

#include <stdbool.h>
#include <stddef.h>

struct made_kpak_entry {
    const char *key, *target;
    const void *data;
    size_t nbytes;
};

/* Makes an archive with these entries, grouped by key; the caller frees it.
 * Ends the program if there is no memory. */
unsigned char *make_kpak(const char *group, const struct made_kpak_entry *e,
                         size_t n, bool zstd, size_t *nbytes);

/* Makes a host library with nunits wrappers, marked HIPK, and a reference to
 * archives; the caller frees it. */
unsigned char *make_hipk(const char *name, char *const *paths, size_t npaths,
                         size_t nunits, size_t *nbytes);

#endif
