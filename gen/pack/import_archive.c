/* import_archive.c - AMD's kernel archives in a tree, and the libraries whose
 * code lies in them
 *
 * An archive's code objects are modules by their keys, wherever the archive
 * lies: those for other targets are in other archives. Each archive of a tree
 * is read once, by whatever name and way it was found. A library adds the
 * archives that its search paths lead to, and wants each of its translation
 * units in one of them: archives of another build are found out here, and not
 * when a kernel is missing.
 */
#include "pack/import.h"

#include "util/file.h"
#include "base/kpak.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

/* ---- archives ------------------------------------------------------------ */

/* The number of the archive of that path without links; in->narchives if it
 * has not been read. */
static size_t find_archive(const struct import *in, const char *real)
{
    size_t i = 0;

    while (i < in->narchives && strcmp(in->archives[i].real, real) != 0)
        i++;
    return i;
}

/* Modules of one key come together from all archives of a tree: what a module
 * belongs to follows from its key. */
static struct import_place place_of(const struct import_place *archive,
                                    const char *key)
{
    const char *first = strchr(key, '/'), *last = strrchr(key, '/');
    struct import_place place = *archive;

    place.path = place.module = memory_text("%s", key);
    place.kind = first ? memory_text("%.*s", (int)(first - key), key)
                       : place.path + strlen(place.path);
    place.folder = last ? memory_text("%.*s", (int)(last - key), key)
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
        memory_none();
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
    char *what = memory_text("%s for %s: ", e->key, e->target);
    unsigned char *data = zstd ? expand(e) : NULL;

    if (zstd && !data)
        import_bad(in, place.file,
                   "%sdamaged: its zstd frame does not hold the %zu bytes that "
                   "the archive says; copy the archive again",
                   what, e->nbytes);
    else
        import_image(in, &place, what, data ? data : e->stored, e->nbytes,
                     e->target);
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
        real = memory_text("%s", place->file);
    if (find_archive(in, real) < in->narchives) {
        free(real);
        return;
    }
    in->archives =
        memory_grow(in->archives, in->narchives, sizeof(*in->archives));
    in->archives[in->narchives++] = (struct import_archive){real, place->file};
    if (!kpak_open(&kpak, data, nbytes)) {
        if (errno == ENOMEM)
            memory_none();
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

/* ---- libraries ----------------------------------------------------------- */

void import_library(struct import *in, const struct import_place *place,
                    const struct hipk *hipk)
{
    in->libraries =
        memory_grow(in->libraries, in->nlibraries, sizeof(*in->libraries));
    in->libraries[in->nlibraries++] =
        (struct import_library){place->file, *hipk};
    in->is_amds = true;
}

bool import_is_inside(const struct import *in, const char *real)
{
    const size_t n = strlen(in->real_root);

    /* The root folder / has a length of 1. */
    return strncmp(real, in->real_root, n) == 0 &&
           (n == 1 || real[n] == '/' || real[n] == '\0');
}

/* The archives that one library's search paths lead to. */
struct search {
    const struct import_library *library;
    size_t *archives; /* numbers in import.archives */
    size_t n;
    const char *outside; /* the first path that leads out of the tree */
};

/* Reads an archive that the walk did not come by: in a folder whose name
 * begins with a dot, or under a name that does not say what it is. */
static void read_archive(struct import *in, const char *real)
{
    const struct import_place place = {
        .file = memory_text("%s%s", in->root, real + strlen(in->real_root)),
        .label = ""};
    char error[FILE_ERROR_MAX];
    unsigned char *data;
    size_t nbytes;

    if (!file_read(place.file, IMPORT_FILE_NBYTES_MAX, &data, &nbytes, error)) {
        import_bad(in, place.file, "%s", error);
        return;
    }
    import_archive(in, &place, data, nbytes);
    free(data);
}

static void add_found(struct import *in, struct search *s, const char *file)
{
    char *real = realpath(file, NULL);
    struct stat status;
    size_t number;

    if (!real || !import_is_inside(in, real)) {
        import_bad(in, s->library->file,
                   "its archive %s is a link that leads out of the tree; put a "
                   "copy of the archive in its place",
                   file);
    } else if (stat(real, &status) != 0) {
        import_bad(in, file, "%s", strerror(errno));
    } else if (S_ISREG(status.st_mode)) {
        if (find_archive(in, real) == in->narchives)
            read_archive(in, real);
        number = find_archive(in, real);
        if (number < in->narchives) {
            s->archives = memory_grow(s->archives, s->n, sizeof(*s->archives));
            s->archives[s->n++] = number;
        }
    }
    free(real);
}

static void cannot_follow(struct import *in,
                          const struct import_library *library,
                          const char *path)
{
    if (errno == ENOMEM)
        memory_none();
    import_bad(in, library->file, "its search path %s: %s", path,
               strerror(errno));
}

static void follow_path(struct import *in, struct search *s, const char *folder,
                        const char *path)
{
    char *resolved = hipk_resolve(folder, path);
    char **found = NULL;
    size_t n = 0;

    if (resolved && !import_is_inside(in, resolved))
        s->outside = s->outside ? s->outside : path;
    else if (!resolved || !hipk_find(resolved, &found, &n))
        cannot_follow(in, s->library, path);
    for (size_t i = 0; i < n; i++) {
        add_found(in, s, found[i]);
        free(found[i]);
    }
    free(found);
    free(resolved);
}

/* In one of the library's archives; in any of the tree if none is where the
 * library looks, as in packages that were not unpacked into one folder. */
static bool has_module(const struct import *in, const struct search *s,
                       const char *key)
{
    for (size_t i = 0; i < in->nobjects; i++) {
        const struct import_place *place = &in->objects[i].place;

        if (strcmp(place->module, key) != 0)
            continue;
        if (s->n == 0)
            return true;
        for (size_t k = 0; k < s->n; k++)
            if (place->file == in->archives[s->archives[k]].file)
                return true;
    }
    return false;
}

/* The first unit that has no code object; the number of units if all have one.
 * Older archives have no number behind the name of a library of one unit. */
static size_t first_missing(const struct import *in, const struct search *s)
{
    const struct hipk *hipk = &s->library->hipk;
    bool has = true;
    size_t i = 0;

    for (; i < hipk->nunits && has; i += has) {
        char *key = memory_text("%s#%zu", hipk->name, i);

        has = has_module(in, s, key) ||
              (hipk->nunits == 1 && has_module(in, s, hipk->name));
        free(key);
    }
    return i;
}

static void follow_library(struct import *in,
                           const struct import_library *library)
{
    const struct hipk *hipk = &library->hipk;
    struct search s = {.library = library};
    char *folder = realpath(library->file, NULL);
    size_t missing;

    if (!folder) {
        if (errno == ENOMEM)
            memory_none();
        import_bad(in, library->file, "%s", strerror(errno));
        return;
    }
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < hipk->npaths; i++)
        follow_path(in, &s, folder, hipk->paths[i]);
    missing = first_missing(in, &s);
    if (missing == hipk->nunits && s.n == 0)
        fprintf(stderr,
                "%s: note: its archives are in another folder than the library "
                "looks in\n",
                library->file);
    else if (s.n == 0 && s.outside)
        import_bad(in, library->file,
                   "its code lies in AMD's archives, and their path %s leads "
                   "out of the tree; import the folder that holds both",
                   s.outside);
    else if (s.n == 0)
        import_bad(in, library->file,
                   "its code lies in AMD's archives, and none of them is "
                   "there: %s from the library's folder; copy them there",
                   hipk->paths[0]);
    else if (missing < hipk->nunits)
        import_bad(in, library->file,
                   "none of its %zu archives has a code object of %s#%zu: they "
                   "are of another build, or not all of them are there",
                   s.n, hipk->name, missing);
    else if (s.outside)
        fprintf(stderr,
                "%s: note: not followed, for it leads out of the tree: %s\n",
                library->file, s.outside);
    free(s.archives);
    free(folder);
}

void import_host(struct import *in, const char *file, const char *message)
{
    in->hosts = memory_grow(in->hosts, in->nhosts, sizeof(*in->hosts));
    in->hosts[in->nhosts++] = (struct import_host){file, message};
}

static void judge_hosts(struct import *in)
{
    if (in->nhosts && in->is_amds)
        fprintf(stderr,
                "%s: note: passed over, as %zu files of the host in a tree "
                "with AMD's archives, for it has no code for GPUs to take\n",
                in->hosts[0].file, in->nhosts);
    else
        for (size_t i = 0; i < in->nhosts; i++)
            import_bad(in, in->hosts[i].file, "%s", in->hosts[i].message);
}

void import_libraries(struct import *in)
{
    for (size_t i = 0; i < in->nlibraries; i++)
        if (in->libraries[i].hipk.nunits)
            follow_library(in, &in->libraries[i]);
        else
            fprintf(stderr,
                    "%s: note: passed over, for no translation unit of it has "
                    "code for GPUs\n",
                    in->libraries[i].file);
    judge_hosts(in);
    for (size_t i = 0; i < in->nlibraries; i++)
        hipk_close(&in->libraries[i].hipk);
}
