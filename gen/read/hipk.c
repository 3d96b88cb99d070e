/* hipk.c - reads where a library's code was moved to */
#include "read/hipk.h"

#include "base/number.h"
#include "read/msgpack_scan.h"

#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_NBYTES_MAX = 1000, /* name, path */
    WRAPPER_NBYTES = 24,
    UNITS_MAX = 1 << 20,
};
#define HIPK_MAGIC 0x4b504948u

struct stretch {
    const unsigned char *data;
    size_t nbytes;
};

__attribute__((format(printf, 2, 3))) static enum hipk_kind
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

/* A pattern for glob(): "gfx*" for the placeholder, all else as it stands. */
static char *pattern_of(const char *resolved)
{
    static const char target[] = "gfx*";
    char *out = malloc(2 * strlen(resolved) + sizeof(target));
    char *to = out;

    if (!out)
        return NULL;
    while (*resolved) {
        if (strncmp(resolved, HIPK_PLACEHOLDER, strlen(HIPK_PLACEHOLDER)) ==
            0) {
            to = stpcpy(to, target);
            resolved += strlen(HIPK_PLACEHOLDER);
            continue;
        }
        if (strchr("*?[]\\", *resolved))
            *to++ = '\\';
        *to++ = *resolved++;
    }
    *to = '\0';
    return out;
}

bool hipk_find(const char *resolved, char ***out, size_t *n)
{
    char *pattern = pattern_of(resolved);
    glob_t found = {0};
    const int status = pattern ? glob(pattern, 0, NULL, &found) : GLOB_NOSPACE;
    bool ok = status == 0 || status == GLOB_NOMATCH;

    free(pattern);
    *n = 0;
    *out = ok ? calloc(found.gl_pathc + 1, sizeof(**out)) : NULL;
    ok = *out != NULL;
    for (size_t i = 0; ok && i < found.gl_pathc; i++) {
        (*out)[i] = strdup(found.gl_pathv[i]);
        ok = (*out)[i] != NULL;
        *n += ok;
    }
    globfree(&found);
    if (!ok && *out) {
        while (*n > 0)
            free((*out)[--*n]);
        free(*out);
        *out = NULL;
    }
    return ok;
}
