/* library.c - the files that may be a driver's library
 *
 * A copy that is in the process is found by what the loader has mapped, under
 * whatever number. Files are tried from the newest number that a release may
 * come to have down to the oldest that is served: a release that is not known
 * here yet is found, and a machine keeps old ones beside the one that it uses.
 */
/* For dl_iterate_phdr and versionsort; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "library.h"
#include "error.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what is mapped ------------------------------------------------------ */

/* libamdhip64.so.7, and libamdhip64-1f2e3d.so.7, as wheels of Python rename
 * it. */
static bool has_stem(const char *name, const char *stem)
{
    const char *slash = strrchr(name, '/');
    const char *file = slash ? slash + 1 : name;
    const size_t n = strlen(stem);

    return strncmp(file, stem, n) == 0 && (file[n] == '.' || file[n] == '-');
}

/* An object's DT_SONAME, whatever its file's name; "" without one. */
static const char *own_name(const struct dl_phdr_info *info)
{
    static const ElfW(Dyn) nothing = {.d_tag = DT_NULL};
    const ElfW(Dyn) *entry = &nothing;
    uintptr_t strings = 0;
    size_t at = 0;

    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + /* NOLINT: an address */
                                   info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = entry->d_un.d_ptr;
        else if (entry->d_tag == DT_SONAME)
            at = entry->d_un.d_val;
    }
    if (strings < info->dlpi_addr) /* the vDSO's is not relocated */
        strings += info->dlpi_addr;
    return at ? (const char *)strings + at : ""; /* NOLINT: an address */
}

struct mapped {
    const char *stem;
    size_t skip; /* so many that have the name */
    char path[4096];
};

static int find_mapped(struct dl_phdr_info *info, size_t nbytes, void *out)
{
    struct mapped *m = out;

    (void)nbytes;
    if (!*info->dlpi_name ||
        (!has_stem(info->dlpi_name, m->stem) &&
         !has_stem(own_name(info), m->stem)) ||
        m->skip-- > 0)
        return 0;
    (void)snprintf(m->path, sizeof(m->path), "%s", info->dlpi_name);
    return 1;
}

/* The loader is asked to open it when it walks its list no more: its locks are
 * taken in another order then. */
void *kpk_i_mapped_library(const struct kpk_i_library *library, size_t i)
{
    struct mapped m = {.stem = library->stem, .skip = i};

    return dl_iterate_phdr(find_mapped, &m) > 0
               ? dlopen(m.path, RTLD_NOW | RTLD_NOLOAD)
               : NULL;
}

/* ---- files --------------------------------------------------------------- */

/* True if dlerror()'s text only says that there is no such library. */
static bool only_absent(const char *why, const char *name)
{
    return strncmp(why, name, strlen(name)) == 0 &&
           strstr(why, "No such file or directory");
}

void kpk_i_tried(struct kpk_i_tried *tried, const char *name, const char *why)
{
    struct kpk_i_text text = {tried->why + strlen(tried->why), 0};

    text.room = sizeof(tried->why) - (size_t)(text.at - tried->why);
    kpk_i_append(&text, "%s%s: %s", *tried->why ? "; " : "", name, why);
}

void *kpk_i_open_library(const char *name, struct kpk_i_tried *tried)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *error = handle ? NULL : dlerror();

    /* Report a library that is present but whose own dependency is missing. */
    if (error && !only_absent(error, name))
        kpk_i_tried(tried, name, error);
    return handle;
}

/* All numbers in one folder, which ends with a slash, or in the loader's. */
static bool in_folder(const struct kpk_i_library *library, const char *folder,
                      kpk_i_try_file *try, void *what)
{
    char name[512];

    for (int n = library->newest; n >= library->oldest; n--) {
        (void)snprintf(name, sizeof(name), "%s%s.so.%d", folder, library->stem,
                       n);
        if (try(name, what))
            return true;
    }
    (void)snprintf(name, sizeof(name), "%s%s.so", folder, library->stem);
    return try(name, what);
}

static int is_core(const struct dirent *entry)
{
    return strncmp(entry->d_name, "core-", 5) == 0;
}

/* ROOT/core-10.1/lib/, then ROOT/core-7.14/lib/, as ROCm installs its releases
 * beside each other since 7.14. */
static bool in_releases(const struct kpk_i_library *library,
                        kpk_i_try_file *try, void *what)
{
    struct dirent **list = NULL;
    int n = scandir(library->root, &list, is_core, versionsort);
    bool found = false;

    for (; n > 0; n--) {
        char folder[400];

        (void)snprintf(folder, sizeof(folder), "%s/%s/lib/", library->root,
                       list[n - 1]->d_name);
        found = found || in_folder(library, folder, try, what);
        free(list[n - 1]);
    }
    free(list);
    return found;
}

bool kpk_i_each_file(const struct kpk_i_library *library, kpk_i_try_file *try,
                     void *what)
{
    bool found = in_folder(library, "", try, what);

    for (size_t i = 0; library->folders[i] && !found; i++)
        found = in_folder(library, library->folders[i], try, what);
    return found || (library->root && in_releases(library, try, what));
}
