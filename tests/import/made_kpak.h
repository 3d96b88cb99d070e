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

/* An archive for the targets of its entries, grouped by key, to be freed. Ends
 * the program without memory. */
unsigned char *make_kpak(const char *group, const struct made_kpak_entry *e,
                         size_t n, bool zstd, size_t *nbytes);

/* A library of the host with so many wrappers, marked HIPK, and a reference to
 * archives; to be freed. */
unsigned char *make_hipk(const char *name, char *const *paths, size_t npaths,
                         size_t nunits, size_t *nbytes);

#endif
