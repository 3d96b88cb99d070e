/* import_archive.c - AMD's kernel archives in a tree
 *
 * A code object's key names its module, wherever the archive lies: archives for
 * other targets have the module's other code objects. Each archive of a tree is
 * read once, by whatever name and way it was found.
 */
#include "pack/import_archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/kpak.h"
#include "pack/import_image.h"
#include "util/alloc_or_exit.h"

size_t import_find_archive(const struct import *in, const char *real)
{
    size_t i = 0;

    while (i < in->narchives && strcmp(in->archives[i].real, real) != 0)
        i++;
    return i;
}

/* Code objects with equal keys, from all archives of a tree, make one module.
 * The key alone decides its kind and folder. */
static struct import_place place_of(const struct import_place *archive,
                                    const char *key)
{
    const char *first = strchr(key, '/'), *last = strrchr(key, '/');
    struct import_place place = *archive;

    place.path = place.module = alloc_text("%s", key);
    place.kind = first ? alloc_text("%.*s", (int)(first - key), key)
                       : place.path + strlen(place.path);
    place.folder = last ? alloc_text("%.*s", (int)(last - key), key)
                        : place.path + strlen(place.path);
    return place;
}

/* A frame's content, to be freed; NULL if its size is not the archive's. */
static unsigned char *expand(const struct kpak_entry *e)
{
    const unsigned long long stated =
        ZSTD_getFrameContentSize(e->stored, e->stored_nbytes);
    unsigned char *data;

    if (stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != e->nbytes)
        return NULL;
    data = malloc(e->nbytes);
    if (!data)
        alloc_none();
    if (ZSTD_findFrameCompressedSize(e->stored, e->stored_nbytes) ==
            e->stored_nbytes &&
        ZSTD_decompress(data, e->nbytes, e->stored, e->stored_nbytes) ==
            e->nbytes)
        return data;
    free(data);
    return NULL;
}

static void add_entry(struct import *in, const struct import_place *archive,
                      const struct kpak_entry *e, bool zstd)
{
    const struct import_place place = place_of(archive, e->key);
    char *what = alloc_text("%s for %s: ", e->key, e->target);
    const struct import_found found = {in, &place, place.module, what};
    unsigned char *data = zstd ? expand(e) : NULL;

    if (zstd && !data)
        import_bad(in, place.file,
                   "%sdamaged: its zstd frame does not hold the %zu bytes that "
                   "the archive says; copy the archive again",
                   what, e->nbytes);
    else
        import_image(&found, data ? data : e->stored, e->nbytes, e->target);
    free(data);
    free(what);
}

void import_archive(struct import *in, const struct import_place *place,
                    const unsigned char *data, size_t nbytes)
{
    char *real = realpath(place->file, NULL);
    uint64_t total = 0;
    struct kpak kpak;

    if (!real)
        real = alloc_text("%s", place->file);
    if (import_find_archive(in, real) < in->narchives) {
        free(real);
        return;
    }
    in->archives =
        alloc_grow(in->archives, in->narchives, sizeof(*in->archives));
    in->archives[in->narchives++] = (struct import_archive){real, place->file};
    if (!kpak_open(&kpak, data, nbytes)) {
        if (errno == ENOMEM)
            alloc_none();
        import_bad(in, place->file,
                   "AMD's kernel archive is %s; copy it again, or leave it out",
                   kpak.error);
        kpak_close(&kpak);
        return;
    }
    in->is_amds = true;
    for (size_t i = 0; i < kpak.n; i++)
        total += kpak.entries[i].nbytes;
    if (total > IMPORT_TREE_NBYTES_MAX)
        import_bad(in, place->file, "its code objects have more than 4 GiB");
    else if (kpak.n == 0)
        import_bad(in, place->file, "AMD's kernel archive has no code object");
    else
        for (size_t i = 0; i < kpak.n; i++)
            add_entry(in, place, &kpak.entries[i], kpak.zstd);
    kpak_close(&kpak);
}
