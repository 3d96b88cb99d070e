/* import_file.c - the code objects in one file of a tree
 *
 * A file is what its first bytes say: an AMDGPU ELF, a cubin, PTX, a bundle, or
 * an ELF of the host with bundles in its section .hip_fatbin. Other files are
 * passed over, unless their names claim that they hold code objects.
 */
#include "model/import.h"

#include "base/file.h"
#include "base/sha256.h"
#include "read/bundle.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NBYTES_MAX ((size_t)2 << 30)
/* Of all files together; they are held in memory until they are written. */
#define TREE_NBYTES_MAX ((uint64_t)4 << 30)

/* A code object on its way in. */
struct found {
    struct import *in;
    const struct import_place *place;
    const char *module;
    const char *what; /* "" or where in the file, for messages */
};

/* A label may leave features out, but not name others. A cubin that does not
 * say so itself is for sm_90a if its label does. */
static bool label_fits(const char *label, struct codeobj *co)
{
    const size_t n = strlen(label);
    const char *target = co->target;

    if (codeobj_is_nvidia(co))
        return n == 0 || codeobj_take_target(co, label);
    if (strncmp(label, target, n) != 0)
        return false;
    return n == 0 || target[n] == '\0' ||
           (target[n] == ':' && !strchr(label, ':'));
}

/* A module's name stands in the heads of its code objects, where tools look
 * for it: they take printable ASCII without blanks. */
static bool is_name(const char *module)
{
    enum { NAME_MAX_NBYTES = 1024 };
    size_t n = 0;

    while (module[n] > ' ' && module[n] <= '~')
        n++;
    return module[n] == '\0' && n > 0 && n < NAME_MAX_NBYTES;
}

static void add_object(const struct found *f, const unsigned char *data,
                       size_t nbytes, const char *entry)
{
    const char *label = f->place->label;
    struct import *in = f->in;
    char error[CODEOBJ_ERROR_MAX];
    struct codeobj *co = codeobj_parse(f->place->file, data, nbytes, error);
    struct import_object *object;

    if (!co) {
        import_bad(in, f->place->file, "%s%s", f->what, error);
        return;
    }
    if (!is_name(f->module)) {
        import_bad(in, f->place->file,
                   "rename it: a module's name is of printable ASCII "
                   "characters without blanks, 1,023 at most");
        codeobj_free(co);
        return;
    }
    if (!label_fits(label, co) || !label_fits(entry, co)) {
        import_bad(in, f->place->file, "%sis for %s, but labelled %s", f->what,
                   co->target, label_fits(label, co) ? entry : label);
        codeobj_free(co);
        return;
    }
    in->nbytes += nbytes;
    if (in->nbytes > TREE_NBYTES_MAX) {
        import_bad(in, f->place->file, "the tree has more than 4 GiB");
        codeobj_free(co);
        return;
    }
    in->objects = memory_grow(in->objects, in->nobjects, sizeof(*in->objects));
    object = &in->objects[in->nobjects++];
    *object = (struct import_object){.place = *f->place, .object.co = co};
    object->place.module = f->module;
    sha256(co->data, co->nbytes, object->object.sha256);
}

/* ---- bundles ------------------------------------------------------------- */

/* The AMDGPU code objects of a plain bundle; 0 bytes of extent if it is
 * damaged, which has been said then. */
static size_t add_bundle(struct found *f, const unsigned char *data,
                         size_t nbytes)
{
    const char *where = f->what;
    struct bundle bundle;
    struct bundle_entry entry;
    size_t n = 0;

    if (bundle_open(&bundle, data, nbytes)) {
        while (bundle_next(&bundle, &entry)) {
            char target[BUNDLE_TARGET_MAX];

            if (!entry.nbytes || !bundle_entry_target(&entry, target))
                continue;
            n++;
            f->what = memory_text("%sentry %.*s: ", where, (int)entry.id_nbytes,
                                  entry.id);
            if (entry.nbytes >= 4 && memcmp(entry.data, "BC\xc0\xde", 4) == 0)
                import_bad(f->in, f->place->file,
                           "%sLLVM bitcode, not a code object; compile without "
                           "-fgpu-rdc, or link the device code first",
                           f->what);
            else
                add_object(f, entry.data, entry.nbytes, target);
        }
        f->what = where;
    }
    if (bundle.message)
        import_bad(f->in, f->place->file, "%s%s", where, bundle.message);
    else if (n == 0)
        import_bad(f->in, f->place->file,
                   "%sthe bundle has no code object for AMDGPU", where);
    return bundle.message ? 0 : bundle.extent;
}

/* A bundle of either kind; returns how many bytes of the file it takes. */
static size_t add_any_bundle(struct found *f, const unsigned char *data,
                             size_t nbytes)
{
    char error[BUNDLE_ERROR_MAX];
    unsigned char *plain;
    size_t plain_nbytes, used;

    if (bundle_kind(data, nbytes) == BUNDLE_PLAIN)
        return add_bundle(f, data, nbytes);
    if (!bundle_expand(data, nbytes, &plain, &plain_nbytes, &used, error)) {
        import_bad(f->in, f->place->file, "%s%s", f->what, error);
        return 0;
    }
    if (add_bundle(f, plain, plain_nbytes) == 0)
        used = 0;
    free(plain);
    return used;
}

/* How many zero bytes a stretch begins with. */
static size_t zeros(const unsigned char *data, size_t nbytes)
{
    size_t n = 0;

    while (n < nbytes && data[n] == 0)
        n++;
    return n;
}

/* Bundles one behind the other, as in a program of several sources: the first
 * is module NAME, or NAME.0 if there are more, which NAME.1 and so on are. */
static void add_bundles(struct found *f, const unsigned char *data,
                        size_t nbytes, const char *module)
{
    size_t at = zeros(data, nbytes), first = f->in->nobjects, n = 0, used;

    if (at == nbytes) {
        import_bad(f->in, f->place->file, "%sno bundle in it", f->what);
        return;
    }
    for (; at < nbytes;
         at += used + zeros(data + at + used, nbytes - at - used)) {
        if (bundle_kind(data + at, nbytes - at) == BUNDLE_NONE) {
            import_bad(f->in, f->place->file,
                       "%sno bundle at byte %zu, but something else", f->what,
                       at);
            return;
        }
        f->module = memory_text("%s.%zu", module, n++);
        used = add_any_bundle(f, data + at, nbytes - at);
        if (used == 0)
            return;
    }
    for (size_t i = first; n == 1 && i < f->in->nobjects; i++)
        f->in->objects[i].place.module = module;
}

/* ---- ELF ----------------------------------------------------------------- */

/* "" of a section without bytes. */
static const char *name_of(Elf *elf, Elf_Scn *section, size_t names,
                           GElf_Shdr *h)
{
    const char *name;

    if (!gelf_getshdr(section, h) || h->sh_type == SHT_NOBITS)
        return "";
    name = elf_strptr(elf, names, h->sh_name);
    return name ? name : "";
}

static const char no_fatbin[] =
    "NVIDIA's fat binary, which kpack does not read; take its parts out first "
    "(cuobjdump -xelf all -xptx all)";

/* Objects and programs of the host. */
static void add_host_elf(struct found *f, unsigned char *data, size_t nbytes)
{
    Elf *elf;
    Elf_Scn *section = NULL;
    size_t names = 0, n = 0;
    bool nvidia = false;

    elf_version(EV_CURRENT);
    elf = elf_memory((char *)data, nbytes);
    if (!elf || elf_getshdrstrndx(elf, &names) != 0) {
        import_bad(f->in, f->place->file,
                   "a damaged ELF file of the host: no section names");
        goto out;
    }
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr h;
        const char *name = name_of(elf, section, names, &h);

        nvidia |= strcmp(name, ".nv_fatbin") == 0;
        if (strcmp(name, ".hip_fatbin") != 0)
            continue;
        f->what = ".hip_fatbin: ";
        if (h.sh_offset > nbytes || h.sh_size > nbytes - h.sh_offset)
            import_bad(f->in, f->place->file,
                       "truncated: .hip_fatbin lies outside the file");
        else
            add_bundles(f, data + h.sh_offset, (size_t)h.sh_size,
                        n ? memory_text("%s.%zu", f->place->module, n)
                          : f->place->module);
        n++;
    }
    if (n == 0 && nvidia)
        import_bad(f->in, f->place->file, ".nv_fatbin: %s", no_fatbin);
    else if (n == 0)
        import_bad(f->in, f->place->file,
                   "an ELF file, but neither an AMDGPU code object nor one of "
                   "the host with GPU code (.hip_fatbin)");
out:
    if (elf)
        elf_end(elf);
}

const char *const import_endings[] = {".co",    ".hsaco", ".hipfb", ".fatbin",
                                      ".o",     ".so",    ".a",     ".out",
                                      ".cubin", ".ptx",   NULL};

bool import_claims_code(const char *file)
{
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && import_endings[i]; i++)
        if (strcmp(dot, import_endings[i]) == 0)
            return true;
    return false;
}

/* The first bytes of NVIDIA's fat binaries. */
static bool is_nvidia_fatbin(const unsigned char *data, size_t nbytes)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};

    return nbytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

/* An ELF file for a GPU, by its machine; anything of the host is not. */
static bool is_gpu_elf(const unsigned char *data, size_t nbytes)
{
    enum { MACHINE = 18, OF_CUDA = 190, OF_AMDGPU = 224 };

    return nbytes < MACHINE + 2 ||
           (data[MACHINE + 1] == 0 &&
            (data[MACHINE] == OF_AMDGPU || data[MACHINE] == OF_CUDA));
}

static bool is_elf(const unsigned char *data, size_t nbytes)
{
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F'};

    return nbytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

static bool is_archive(const unsigned char *data, size_t nbytes)
{
    return nbytes >= 8 && memcmp(data, "!<arch>\n", 8) == 0;
}

/* Comments may stand in front of PTX, but not as many as this. */
enum { START_NBYTES = 1 << 20 };

/* Of other files no more is read than what tells them from code: a tree may
 * hold large ones. */
static bool may_hold_code(struct import *in, const char *file)
{
    static unsigned char start[START_NBYTES];
    char error[FILE_ERROR_MAX];
    size_t n;

    if (import_claims_code(file))
        return true;
    if (!file_read_start(file, start, sizeof(start), &n, error)) {
        import_bad(in, file, "%s", error);
        return false;
    }
    return bundle_kind(start, n) != BUNDLE_NONE || is_elf(start, n) ||
           is_nvidia_fatbin(start, n) || is_archive(start, n) ||
           codeobj_is_ptx(start, n);
}

void import_file(struct import *in, const struct import_place *place,
                 const char *original)
{
    struct found f = {in, place, place->module, ""};
    unsigned char *data;
    size_t nbytes;
    char error[FILE_ERROR_MAX];

    if (!may_hold_code(in, place->file))
        return;
    if (!file_read(place->file, FILE_NBYTES_MAX, &data, &nbytes, error)) {
        import_bad(in, place->file, "%s", error);
        return;
    }
    if (original && (bundle_kind(data, nbytes) != BUNDLE_NONE ||
                     is_elf(data, nbytes) || codeobj_is_ptx(data, nbytes)))
        fprintf(stderr, "%s: note: passed over, for %s is there\n", place->file,
                original);
    else if (bundle_kind(data, nbytes) != BUNDLE_NONE)
        add_bundles(&f, data, nbytes, place->module);
    else if (is_elf(data, nbytes) && !is_gpu_elf(data, nbytes))
        add_host_elf(&f, data, nbytes);
    else if (is_nvidia_fatbin(data, nbytes))
        import_bad(in, place->file, "%s", no_fatbin);
    else if (is_archive(data, nbytes))
        import_bad(in, place->file,
                   "an archive; take its members out first (ar x)");
    else if (import_claims_code(place->file) || is_elf(data, nbytes) ||
             codeobj_is_ptx(data, nbytes))
        add_object(&f, data, nbytes, "");
    free(data);
}
