/* archive.c - AMD's kernel archives, and libraries whose code is there */
#include "archive.h"
#include "json.h"
#include "xmalloc.h"

#include "base/elf_types.h"
#include "base/file.h"
#include "base/hipk.h"
#include "base/kpak.h"
#include "base/sha256.h"
#include "base/target_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One archive: the file itself, or what a library's search path led to. */
struct archive {
    char *path;
    struct scan *file; /* another file's bytes; NULL: the scan's own */
    struct kpak kpak;
    size_t search; /* number of the search path that led to the file */
    size_t nunits; /* how many of the library's units have code here */
};

struct archives {
    bool is_library;
    struct hipk hipk;
    struct archive *list;
    size_t n;
    size_t ndamaged;
    bool *has; /* [hipk.nunits], whether an archive has the unit */
};

/* ---- code objects -------------------------------------------------------- */

/* Fields of e_flags, from code object version 4 on: LLVM's AMDGPU usage,
 * "Header". */
enum {
    MACHINE_AMDGPU = 224,
    FLAGS_MACH = 0xff,
    FLAGS_XNACK = 0x300,
    FLAGS_XNACK_OFF = 0x200,
    FLAGS_XNACK_ON = 0x300,
    FLAGS_SRAMECC = 0xc00,
    FLAGS_SRAMECC_OFF = 0x800,
    FLAGS_SRAMECC_ON = 0xc00,
};

/* Whether a code object's flags agree with its label. */
static bool fits_label(uint32_t flags, const char *target)
{
    static const struct {
        const char *setting;
        uint32_t mask, value;
    } settings[] = {
        {":xnack+", FLAGS_XNACK, FLAGS_XNACK_ON},
        {":xnack-", FLAGS_XNACK, FLAGS_XNACK_OFF},
        {":sramecc+", FLAGS_SRAMECC, FLAGS_SRAMECC_ON},
        {":sramecc-", FLAGS_SRAMECC, FLAGS_SRAMECC_OFF},
    };
    static const struct {
        const char *name;
        uint32_t mach;
    } targets[] = {
#define PROCESSOR_ROW(name, mach, ...) {#name, mach},
#define GENERIC_ROW(name, mach, major, minor, step, generic, ...)              \
    {generic, mach},
        KPK_PROCESSOR_TABLE(PROCESSOR_ROW) KPK_GENERIC_TABLE(GENERIC_ROW)
#undef GENERIC_ROW
#undef PROCESSOR_ROW
    };
    const size_t n = strcspn(target, ":");

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (strstr(target, settings[i].setting) &&
            (flags & settings[i].mask) != settings[i].value)
            return false;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        if (strlen(targets[i].name) == n &&
            memcmp(targets[i].name, target, n) == 0)
            return (flags & FLAGS_MACH) == targets[i].mach;
    return true; /* a target that is not listed */
}

/* Fills the head from the bytes; the fault is NULL if they are a code object
 * for the target. */
static const char *read_object(struct found *found, const unsigned char *bytes)
{
    Elf64_Ehdr h;

    if (found->head.nbytes < sizeof(h) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return "not an ELF file";
    memcpy(&h, bytes, sizeof(h));
    if (h.e_machine != MACHINE_AMDGPU)
        return "not a code object for AMDGPU";
    if (!fits_label(h.e_flags, found->target))
        return "it is for another target than the archive says";
    found->head.cov = h.e_ident[EI_ABIVERSION] + 2u;
    sha256(bytes, (size_t)found->head.nbytes, found->head.sha256);
    return NULL;
}

static void add_entry(struct scan *scan, const struct archive *archive,
                      const struct kpak_entry *e)
{
    const struct scan *file = archive->file ? archive->file : scan;
    struct found *found = scan_add(scan);
    unsigned char *bytes = NULL;

    found->file = archive->path;
    found->at = (size_t)(e->stored - file->bytes);
    found->pack = *archive->kpak.group ? archive->kpak.group : "-";
    found->module = e->key;
    found->target = e->target;
    found->stored = e->stored;
    found->head.nbytes = e->nbytes;
    found->head.stored_nbytes = e->stored_nbytes;
    found->head.codec = archive->kpak.zstd ? KPK_CODEC_ZSTD : KPK_CODEC_NONE;
    found->fault = scan_decode(found, &bytes);
    if (!found->fault)
        found->fault = read_object(found, bytes);
    free(bytes);
}

/* ---- archives ------------------------------------------------------------ */

/* Adds an archive; false, with a sentence printed, if it is not sound. */
static bool add_archive(struct archives *all, const char *path,
                        struct scan *file, const struct scan *bytes,
                        size_t search)
{
    struct archive *archive;
    const size_t nbytes = strlen(path) + 1;
    char *copy = memcpy(cmd_malloc(nbytes), path, nbytes);

    all->list = cmd_realloc(all->list, (all->n + 1) * sizeof(*all->list));
    archive = &all->list[all->n];
    *archive = (struct archive){.path = copy, .file = file, .search = search};
    if (kpak_open(&archive->kpak, bytes->bytes, bytes->nbytes)) {
        all->n++;
        return true;
    }
    if (errno == ENOMEM)
        cmd_no_memory();
    (void)fprintf(stderr, "kpack: %s: AMD's kernel archive is %s\n", path,
                  archive->kpak.error);
    kpak_close(&archive->kpak);
    free(copy);
    all->ndamaged++;
    return false;
}

bool archive_is(const struct scan *scan)
{
    struct hipk hipk;
    const bool is = kpak_is(scan->bytes, scan->nbytes) ||
                    hipk_open(&hipk, scan->bytes, scan->nbytes) != HIPK_NONE;

    if (!kpak_is(scan->bytes, scan->nbytes))
        hipk_close(&hipk);
    return is;
}

bool archive_scan(struct scan *scan)
{
    if (!kpak_is(scan->bytes, scan->nbytes))
        return false;
    scan->archives = cmd_calloc(1, sizeof(*scan->archives));
    if (add_archive(scan->archives, scan->path, NULL, scan, 0)) {
        const struct archive *archive = &scan->archives->list[0];

        for (size_t i = 0; i < archive->kpak.n; i++)
            add_entry(scan, archive, &archive->kpak.entries[i]);
    }
    return true;
}

bool archive_is_sound(const struct scan *scan)
{
    return scan->archives->n > 0;
}

/* ---- libraries ----------------------------------------------------------- */

/* The number of the library's translation unit that a key names, or nunits if
 * it names none. In older archives the key of a library with one unit is the
 * library's name, without a number. */
static size_t unit_of(const struct hipk *hipk, const char *key)
{
    const size_t n = strlen(hipk->name);
    char *end;
    unsigned long number;

    if (strncmp(key, hipk->name, n) != 0)
        return hipk->nunits;
    if (key[n] == '\0')
        return hipk->nunits == 1 ? 0 : hipk->nunits;
    if (key[n] != '#' || key[n + 1] < '0' || key[n + 1] > '9')
        return hipk->nunits;
    number = strtoul(key + n + 1, &end, 10);
    return *end || number > hipk->nunits ? hipk->nunits : number;
}

/* The library's own entries of an archive, which are sorted by key. */
static void add_units(struct scan *scan, struct archive *archive)
{
    struct archives *all = scan->archives;
    size_t last = all->hipk.nunits;

    for (size_t i = 0; i < archive->kpak.n; i++) {
        const struct kpak_entry *e = &archive->kpak.entries[i];
        const size_t unit = unit_of(&all->hipk, e->key);

        if (unit == all->hipk.nunits)
            continue;
        archive->nunits += unit != last;
        last = unit;
        all->has[unit] = true;
        add_entry(scan, archive, e);
    }
}

static bool is_known(const struct archives *all, const char *path)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].path, path) == 0)
            return true;
    return false;
}

/* Reports a file that cannot be read; it counts as damaged. */
static void cannot_read(struct scan *scan, const char *path)
{
    if (errno == ENOMEM)
        cmd_no_memory();
    (void)fprintf(stderr, "kpack: %s: cannot read %s: %s\n", scan->path, path,
                  strerror(errno));
    scan->archives->ndamaged++;
}

/* Files alone: a pipe would be waited for. */
static void add_file(struct scan *scan, const char *path, size_t search)
{
    struct archives *all = scan->archives;
    struct scan *file;
    enum file_kind kind;

    if (is_known(all, path))
        return;
    kind = file_kind(path);
    if (kind == FILE_NONE)
        cannot_read(scan, path);
    if (kind != FILE_REGULAR)
        return;
    file = cmd_calloc(1, sizeof(*file));
    if (!scan_read(path, file))
        all->ndamaged++;
    else if (add_archive(all, path, file, file, search))
        return;
    scan_free(file);
    free(file);
}

static void follow_path(struct scan *scan, const char *folder, size_t search)
{
    char *resolved = hipk_resolve(folder, scan->archives->hipk.paths[search]);
    char **paths = NULL;
    size_t n = 0;

    if (!resolved || !hipk_find(resolved, &paths, &n))
        cannot_read(scan, scan->archives->hipk.paths[search]);
    for (size_t i = 0; i < n; i++) {
        add_file(scan, paths[i], search);
        free(paths[i]);
    }
    free(paths);
    free(resolved);
}

bool archive_scan_library(struct scan *scan)
{
    struct archives *all;
    struct hipk hipk;
    const enum hipk_kind kind = hipk_open(&hipk, scan->bytes, scan->nbytes);
    char *folder;

    if (kind == HIPK_NONE)
        return false;
    if (kind == HIPK_DAMAGED && errno == ENOMEM)
        cmd_no_memory();
    all = scan->archives = cmd_calloc(1, sizeof(*all));
    if (kind == HIPK_DAMAGED) {
        (void)fprintf(stderr, "kpack: %s: %s\n", scan->path, hipk.error);
        hipk_close(&hipk);
        all->ndamaged++;
        return false;
    }
    all->is_library = true;
    all->hipk = hipk;
    all->has = cmd_calloc(hipk.nunits + 1, sizeof(*all->has));
    folder = file_whole_path(scan->path);
    if (folder) {
        *strrchr(folder, '/') = '\0';
        for (size_t i = 0; i < hipk.npaths; i++)
            follow_path(scan, folder, i);
    } else {
        cannot_read(scan, "its folder");
    }
    free(folder);
    /* Now that the list does not move. */
    for (size_t i = 0; i < all->n; i++)
        add_units(scan, &all->list[i]);
    return true;
}

void archive_free(struct scan *scan)
{
    struct archives *all = scan->archives;

    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++) {
        kpak_close(&all->list[i].kpak);
        if (all->list[i].file)
            scan_free(all->list[i].file);
        free(all->list[i].file);
        free(all->list[i].path);
    }
    hipk_close(&all->hipk);
    free(all->has);
    free(all->list);
    free(all);
    scan->archives = NULL;
}

static size_t count_missing(const struct archives *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->hipk.nunits; i++)
        n += !all->has[i];
    return n;
}

size_t archive_faults(const struct scan *scan)
{
    return scan->archives
               ? scan->archives->ndamaged + count_missing(scan->archives)
               : 0;
}

/* ---- reports ------------------------------------------------------------- */

static const char *scheme_of(const struct archive *archive)
{
    return archive->kpak.zstd ? "zstd-per-kernel" : "none";
}

static void print_targets(const struct archive *archive)
{
    for (size_t i = 0; i < archive->kpak.ntargets; i++)
        printf("%s%s", i ? " " : "", archive->kpak.targets[i]);
}

static size_t count_keys(const struct archive *archive)
{
    const struct kpak *kpak = &archive->kpak;
    size_t n = 0;

    for (size_t i = 0; i < kpak->n; i++)
        n += i == 0 ||
             strcmp(kpak->entries[i - 1].key, kpak->entries[i].key) != 0;
    return n;
}

static void print_archive(const struct archive *archive)
{
    printf("AMD's kernel archive %s\n  group %s, family %s, compression %s\n"
           "  for: ",
           archive->path, *archive->kpak.group ? archive->kpak.group : "-",
           *archive->kpak.family ? archive->kpak.family : "-",
           scheme_of(archive));
    print_targets(archive);
    printf("\n  %zu keys, %zu code objects\n", count_keys(archive),
           archive->kpak.n);
}

static void print_path(const struct archives *all, size_t search)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += all->list[i].search == search;
    printf("  %s: ", all->hipk.paths[search]);
    if (n == 0)
        printf("none is there\n");
    else
        printf("%zu %s there\n", n, n == 1 ? "is" : "are");
    for (size_t i = 0; i < all->n; i++) {
        if (all->list[i].search != search)
            continue;
        printf("    %s (", all->list[i].path);
        print_targets(&all->list[i]);
        printf("): %zu of %zu units\n", all->list[i].nunits, all->hipk.nunits);
    }
}

static void print_library(const struct archives *all)
{
    const size_t nmissing = count_missing(all);
    size_t first = 0;

    printf("%s: %zu translation unit%s, whose code lies in AMD's archives:\n",
           all->hipk.name, all->hipk.nunits, all->hipk.nunits == 1 ? "" : "s");
    for (size_t i = 0; i < all->hipk.npaths; i++)
        print_path(all, i);
    if (nmissing == 0)
        return;
    while (all->has[first])
        first++;
    printf("  MISSING: the code of %zu translation unit%s, from %s#%zu on, is "
           "in none of them\n",
           nmissing, nmissing == 1 ? "" : "s", all->hipk.name, first);
}

void archive_print(const struct scan *scan, bool whole)
{
    const struct archives *all = scan->archives;

    if (all && all->is_library)
        print_library(all);
    else if (all && whole && all->n)
        print_archive(&all->list[0]);
}

static void json_archive(const struct archives *all,
                         const struct archive *archive)
{
    json_open(NULL, '{');
    json_string("file", archive->path);
    json_string("group", archive->kpak.group);
    json_string("family", archive->kpak.family);
    json_string("compression", scheme_of(archive));
    json_open("targets", '[');
    for (size_t i = 0; i < archive->kpak.ntargets; i++)
        json_string(NULL, archive->kpak.targets[i]);
    json_close(']');
    json_number("keys", count_keys(archive));
    json_number("objects", archive->kpak.n);
    if (all->is_library) {
        json_string("search_path", all->hipk.paths[archive->search]);
        json_number("units", archive->nunits);
    }
    json_close('}');
}

void archive_json(const struct scan *scan)
{
    const struct archives *all = scan->archives;

    if (!all)
        return;
    if (all->is_library) {
        json_open("library", '{');
        json_string("name", all->hipk.name);
        json_number("units", all->hipk.nunits);
        json_number("missing", count_missing(all));
        json_open("search_paths", '[');
        for (size_t i = 0; i < all->hipk.npaths; i++)
            json_string(NULL, all->hipk.paths[i]);
        json_close(']');
        json_close('}');
    }
    json_open("archives", '[');
    for (size_t i = 0; i < all->n; i++)
        json_archive(all, &all->list[i]);
    json_close(']');
}
