/* import_library.c - libraries whose code lies in AMD's kernel archives
 *
 * A library adds the archives that its search paths lead to. Each of its
 * translation units must have a code object in one of them: so archives of
 * another build are refused now, not when a kernel is missing.
 */
#include "pack/import_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pack/import_archive.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"

void import_library(struct import *in, const struct import_place *place,
                    const struct hipk *hipk)
{
    in->libraries =
        alloc_grow(in->libraries, in->nlibraries, sizeof(*in->libraries));
    in->libraries[in->nlibraries++] =
        (struct import_library){place->file, *hipk};
    in->is_amds = true;
}

/* The archives that one library's search paths lead to. */
struct search {
    const struct import_library *library;
    size_t *archives; /* numbers in import.archives */
    size_t n;
    const char *outside; /* the first path that leads out of the tree */
};

/* Reads an archive that the walk over the tree has skipped, because the
 * folder's name begins with a dot or the file has another extension. */
static void read_archive(struct import *in, const char *real)
{
    const struct import_place place = {
        .file = alloc_text("%s%s", in->root, real + strlen(in->real_root)),
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
        if (import_find_archive(in, real) == in->narchives)
            read_archive(in, real);
        number = import_find_archive(in, real);
        if (number < in->narchives) {
            s->archives = alloc_grow(s->archives, s->n, sizeof(*s->archives));
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
        alloc_none();
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

/* Whether one of the library's archives has the module. If none is where the
 * library looks, as in packages unpacked into several folders, any archive of
 * the tree may have it. */
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
        char *key = alloc_text("%s#%zu", hipk->name, i);

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
            alloc_none();
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
    const struct import_ending *ending = import_ending_of(file);

    if (ending && !ending->of_host) {
        import_bad(in, file, "%s", message);
        return;
    }
    in->hosts = alloc_grow(in->hosts, in->nhosts, sizeof(*in->hosts));
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
