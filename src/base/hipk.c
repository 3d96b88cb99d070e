/* hipk.c - reads where a library's code was moved to */
#include "hipk.h"
#include "elf_types.h"
#include "file.h"

#include "msgpack_scan.h"
#include "number.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_NBYTES_MAX = 1000, /* name, path */
    WRAPPER_NBYTES = 24,
    UNITS_MAX = 1 << 20,
    PLACEHOLDER_NBYTES = sizeof(HIPK_PLACEHOLDER) - 1,
};
#define HIPK_MAGIC 0x4b504948u

struct stretch {
    const unsigned char *data;
    size_t nbytes;
};

__attribute__((format(__printf__, 2, 3))) static enum hipk_kind
damaged(struct hipk *hipk, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(hipk->error, sizeof(hipk->error), format, args);
    va_end(args);
    errno = 0;
    return HIPK_DAMAGED;
}

static enum hipk_kind no_memory(struct hipk *hipk)
{
    (void)damaged(hipk, "no memory for the names of its archives");
    errno = ENOMEM;
    return HIPK_DAMAGED;
}

/* ---- ELF ----------------------------------------------------------------- */

struct elf {
    struct stretch file;
    Elf64_Ehdr h;
    struct stretch names;
};

static bool section(const struct elf *elf, size_t i, Elf64_Shdr *out)
{
    if (i >= elf->h.e_shnum)
        return false;
    memcpy(out, elf->file.data + elf->h.e_shoff + i * sizeof(*out),
           sizeof(*out));
    return true;
}

/* A section's bytes in the file. */
static bool content(const struct elf *elf, const Elf64_Shdr *s,
                    struct stretch *out)
{
    if (s->sh_type == SHT_NOBITS || s->sh_offset > elf->file.nbytes ||
        s->sh_size > elf->file.nbytes - s->sh_offset)
        return false;
    *out = (struct stretch){elf->file.data + s->sh_offset, (size_t)s->sh_size};
    return true;
}

static bool open_elf(struct elf *elf, const unsigned char *data, size_t nbytes)
{
    Elf64_Ehdr *h = &elf->h;
    Elf64_Shdr names;

    elf->file = (struct stretch){data, nbytes};
    if (nbytes < sizeof(*h))
        return false;
    memcpy(h, data, sizeof(*h));
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB &&
           h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shoff <= nbytes &&
           h->e_shnum * sizeof(Elf64_Shdr) <= nbytes - h->e_shoff &&
           section(elf, h->e_shstrndx, &names) &&
           content(elf, &names, &elf->names);
}

/* False if the file has none of that name. */
static bool find_section(const struct elf *elf, const char *name,
                         Elf64_Shdr *out)
{
    const size_t nbytes = strlen(name) + 1;

    for (size_t i = 0; section(elf, i, out); i++)
        if (out->sh_name <= elf->names.nbytes &&
            nbytes <= elf->names.nbytes - out->sh_name &&
            memcmp(elf->names.data + out->sh_name, name, nbytes) == 0)
            return true;
    return false;
}

/* ---- the two sections ----------------------------------------------- */

/* A copy of a text, which must be printable; NULL, with the sentence, if it is
 * not to be had. */
static char *copy_text(struct hipk *hipk, struct msgpack *m, const char *what)
{
    const char *text;
    size_t nbytes;
    char *copy;

    if (!msgpack_take_text(m, &text, &nbytes) || nbytes == 0 ||
        nbytes > TEXT_NBYTES_MAX) {
        (void)damaged(hipk,
                      ".rocm_kpack_ref is damaged: no %s of 1 to %d "
                      "bytes",
                      what, TEXT_NBYTES_MAX);
        return NULL;
    }
    for (size_t i = 0; i < nbytes; i++)
        if (text[i] <= ' ' || text[i] > '~') {
            (void)damaged(hipk,
                          ".rocm_kpack_ref: its %s is not of printable "
                          "ASCII characters without blanks",
                          what);
            return NULL;
        }
    copy = malloc(nbytes + 1);
    if (!copy) {
        (void)no_memory(hipk);
        return NULL;
    }
    memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    return copy;
}

static enum hipk_kind read_paths(struct hipk *hipk, struct msgpack *m)
{
    uint64_t n;

    if (hipk->paths || !msgpack_take_list(m, &n) || n == 0 ||
        n > HIPK_PATHS_MAX)
        return damaged(hipk,
                       ".rocm_kpack_ref is damaged: not one list of 1 to %d "
                       "kpack_search_paths",
                       HIPK_PATHS_MAX);
    hipk->paths = calloc(n, sizeof(*hipk->paths));
    if (!hipk->paths)
        return no_memory(hipk);
    for (; hipk->npaths < n; hipk->npaths++) {
        hipk->paths[hipk->npaths] = copy_text(hipk, m, "search path");
        if (!hipk->paths[hipk->npaths])
            return HIPK_DAMAGED;
    }
    return HIPK_MOVED;
}

/* Bytes behind the map, such as zeros, are the section's padding. */
static enum hipk_kind read_reference(struct hipk *hipk, struct msgpack m)
{
    uint64_t n;

    if (!msgpack_scan(m.at, (size_t)(m.end - m.at)) ||
        !msgpack_take_map(&m, &n))
        return damaged(hipk, ".rocm_kpack_ref is damaged: no MessagePack map");
    while (n--) {
        static const char name[] = "kernel_name";
        static const char paths[] = "kpack_search_paths";
        const char *key = "";
        size_t nbytes = 0;

        if (!msgpack_take_text(&m, &key, &nbytes) && !msgpack_skip(&m))
            return damaged(hipk, ".rocm_kpack_ref is damaged: a key is cut");
        if (nbytes == strlen(name) && memcmp(key, name, nbytes) == 0) {
            if (hipk->name)
                return damaged(hipk, ".rocm_kpack_ref is damaged: kernel_name "
                                     "is there twice");
            hipk->name = copy_text(hipk, &m, "kernel_name");
            if (!hipk->name)
                return HIPK_DAMAGED;
        } else if (nbytes == strlen(paths) && memcmp(key, paths, nbytes) == 0) {
            if (read_paths(hipk, &m) != HIPK_MOVED)
                return HIPK_DAMAGED;
        } else {
            (void)msgpack_skip(&m); /* the whole map has been walked */
        }
    }
    if (!hipk->name || !hipk->paths)
        return damaged(hipk, ".rocm_kpack_ref is damaged: no %s",
                       hipk->name ? "kpack_search_paths" : "kernel_name");
    return HIPK_MOVED;
}

/* Wrappers: magic, version, a pointer to the reference, and their number. */
static enum hipk_kind count_units(struct hipk *hipk, struct stretch wrappers)
{
    hipk->nunits = wrappers.nbytes / WRAPPER_NBYTES;
    if (wrappers.nbytes % WRAPPER_NBYTES || hipk->nunits > UNITS_MAX)
        return damaged(hipk,
                       ".hipFatBinSegment is damaged: %zu bytes are no list of "
                       "wrappers of %d",
                       wrappers.nbytes, WRAPPER_NBYTES);
    for (size_t i = 0; i < hipk->nunits; i++)
        if (number_read(wrappers.data + i * WRAPPER_NBYTES, 4) != HIPK_MAGIC)
            return damaged(hipk,
                           ".hipFatBinSegment is damaged: wrapper %zu is not "
                           "marked HIPK, but the library has a "
                           ".rocm_kpack_ref",
                           i);
    return HIPK_MOVED;
}

enum hipk_kind hipk_open(struct hipk *hipk, const void *data, size_t nbytes)
{
    struct elf elf;
    struct stretch bytes;
    Elf64_Shdr s;
    enum hipk_kind kind;

    *hipk = (struct hipk){.nunits = 0};
    if (!open_elf(&elf, data, nbytes) ||
        !find_section(&elf, ".rocm_kpack_ref", &s))
        return HIPK_NONE;
    if (!content(&elf, &s, &bytes))
        return damaged(hipk, "truncated: .rocm_kpack_ref lies outside the "
                             "file");
    kind = read_reference(
        hipk, (struct msgpack){bytes.data, bytes.data + bytes.nbytes});
    if (kind != HIPK_MOVED || !find_section(&elf, ".hipFatBinSegment", &s))
        return kind;
    if (!content(&elf, &s, &bytes))
        return damaged(hipk, "truncated: .hipFatBinSegment lies outside the "
                             "file");
    return count_units(hipk, bytes);
}

void hipk_close(struct hipk *hipk)
{
    for (size_t i = 0; i < hipk->npaths; i++)
        free(hipk->paths[i]);
    free(hipk->paths);
    free(hipk->name);
    *hipk = (struct hipk){.nunits = 0};
}

/* ---- paths --------------------------------------------------------------- */

char *hipk_resolve(const char *folder, const char *path)
{
    const bool absolute = *path == '/';
    const size_t room = (absolute ? 0 : strlen(folder)) + strlen(path) + 3;
    char *out = malloc(room);
    size_t n = 0;

    if (!out)
        return NULL;
    if (!absolute) {
        n = strlen(folder);
        memcpy(out, folder, n);
    }
    while (n > 0 && out[n - 1] == '/')
        n--;
    while (*path) {
        const size_t part = strcspn(path, "/");

        if (part == 2 && memcmp(path, "..", 2) == 0) {
            while (n > 0 && out[--n] != '/')
                ;
        } else if (part > 0 && !(part == 1 && *path == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, part);
            n += part;
        }
        path += part + (path[part] == '/');
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = '\0';
    return out;
}

/* A copy of a path with a target in each placeholder's place. */
static char *substitute(const char *path, const char *target, size_t n)
{
    const size_t nbytes = strlen(path);
    char *out = malloc((nbytes / PLACEHOLDER_NBYTES + 1) * n + nbytes + 1);
    char *to = out;

    while (out && *path) {
        if (strncmp(path, HIPK_PLACEHOLDER, PLACEHOLDER_NBYTES) == 0) {
            memcpy(to, target, n);
            to += n;
            path += PLACEHOLDER_NBYTES;
        } else {
            *to++ = *path++;
        }
    }
    if (out)
        *to = '\0';
    return out;
}

struct found {
    char **paths;
    size_t n;
};

/* Adds a path, which is the list's then, if there is such a file. */
static bool add_path(struct found *found, char *path)
{
    char **more;

    if (!path)
        return false;
    if (file_kind(path) == FILE_NONE) {
        free(path);
        return errno == ENOENT || errno == ENOTDIR;
    }
    more = realloc(found->paths, (found->n + 1) * sizeof(*more));
    if (!more) {
        free(path);
        return false;
    }
    found->paths = more;
    found->paths[found->n++] = path;
    return true;
}

/* The target in a file's name, by the component of a path that the name stands
 * for: k placeholders, all for one target, `fixed` other bytes, and `before` of
 * these in front of the first placeholder. NULL if there is none. */
static const char *target_in(const char *name, size_t before, size_t fixed,
                             size_t k, size_t *n)
{
    const size_t nbytes = strlen(name);

    if (k == 0 || nbytes < fixed || (nbytes - fixed) % k)
        return NULL;
    *n = (nbytes - fixed) / k;
    return strncmp(name + before, "gfx", 3) == 0 && *n > 3 ? name + before
                                                           : NULL;
}

static bool add_entry(struct found *found, const char *resolved,
                      const char *component, size_t nbytes, const char *name)
{
    char *pattern = text_copy(component, nbytes), *whole = NULL;
    const char *at = pattern, *target;
    size_t k = 0, n;
    bool ok = pattern != NULL;

    while (ok && (at = strstr(at, HIPK_PLACEHOLDER))) {
        k++;
        at += PLACEHOLDER_NBYTES;
    }
    target =
        ok ? target_in(name,
                       (size_t)(strstr(pattern, HIPK_PLACEHOLDER) - pattern),
                       nbytes - k * PLACEHOLDER_NBYTES, k, &n)
           : NULL;
    if (target) {
        whole = substitute(pattern, target, n);
        ok = whole && (strcmp(whole, name) != 0 ||
                       add_path(found, substitute(resolved, target, n)));
    }
    free(whole);
    free(pattern);
    return ok;
}

struct entries {
    struct found *found;
    const char *resolved, *component;
};

static bool add_named(const char *name, void *what)
{
    const struct entries *entries = what;

    return add_entry(entries->found, entries->resolved, entries->component,
                     strcspn(entries->component, "/"), name);
}

/* The entries of the folder of the first component with a placeholder. */
static bool add_entries(struct found *found, const char *resolved)
{
    struct entries entries = {found, resolved,
                              strstr(resolved, HIPK_PLACEHOLDER)};
    char *folder;
    bool ok;

    while (entries.component[-1] != '/') /* a resolved path begins with one */
        entries.component--;
    folder = text_copy(resolved, (size_t)(entries.component - resolved));
    ok = folder && (file_each(folder, add_named, &entries) || errno == ENOENT ||
                    errno == ENOTDIR);
    free(folder);
    return ok;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool hipk_find(const char *resolved, char ***out, size_t *n)
{
    struct found found = {NULL, 0};
    const bool ok = strstr(resolved, HIPK_PLACEHOLDER)
                        ? add_entries(&found, resolved)
                        : add_path(&found, strdup(resolved));

    if (!ok) {
        const int why = errno;

        while (found.n > 0)
            free(found.paths[--found.n]);
        free(found.paths);
        errno = why;
        return false;
    }
    if (found.n)
        qsort(found.paths, found.n, sizeof(*found.paths), by_text);
    *out = found.paths;
    *n = found.n;
    return true;
}
