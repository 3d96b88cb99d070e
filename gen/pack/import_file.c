/* import_file.c - the code objects in one file of a tree
 *
 * A file is what its first bytes say: an AMDGPU ELF, a cubin, PTX, a bundle, an
 * offload binary, an archive of AMD's, or an ELF of the host with sections of
 * these or a reference to such archives. Containers that
 * are known, but not read, are refused with what to do. Other files are passed
 * over, unless their names claim that they hold code objects.
 */
#include "pack/import.h"

#include "util/file.h"
#include "base/sha256.h"
#include "base/bundle.h"
#include "base/kpak.h"
#include "read/offload.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* A code object on its way in. */
struct found {
    struct import *in;
    const struct import_place *place;
    const char *module;
    const char *what; /* "" or where in the file, for messages */
};

/* Behind a prefix; NULL if the text does not begin with it. */
static const char *behind(const char *text, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

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
    if (in->nbytes > IMPORT_TREE_NBYTES_MAX) {
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

/* ---- known formats that are not read ------------------------------------- */

static const char no_fatbin[] =
    "NVIDIA's fat binary, which kpack does not read; take its parts out first "
    "(cuobjdump -xelf all -xptx all)";
static const char no_bitcode[] =
    "LLVM bitcode, not a code object; compile without -fgpu-rdc, or link the "
    "device code first";

static const struct foreign {
    const char *magic;
    size_t nbytes;
    bool holds_code; /* for GPUs: refused whatever the file's name is */
    bool of_host;    /* a static archive, which a tree of AMD's may have */
    const char *message;
} foreign[] = {
    {"\x50\xed\x55\xba", 4, true, false, no_fatbin},
    {"!<arch>\n", 8, true, true,
     "an archive; take its members out first (ar x)"},
    {"!<thin>\n", 8, true, true,
     "a thin archive, of the names of object files alone; import those"},
    {"BC\xc0\xde", 4, false, false, no_bitcode},
    {"\xde\xc0\x17\x0b", 4, false, false, no_bitcode},
    {"\x03\x02\x23\x07", 4, false, false,
     "SPIR-V, not a code object; compile it for a processor first"},
};

/* The row of the data's format; NULL for a format without a row. */
static const struct foreign *find_foreign(const unsigned char *data,
                                          size_t nbytes)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (nbytes >= foreign[i].nbytes &&
            memcmp(data, foreign[i].magic, foreign[i].nbytes) == 0)
            return &foreign[i];
    return NULL;
}

/* Adds an image that should be a code object for a target. */
static void add_image(const struct found *f, const unsigned char *data,
                      size_t nbytes, const char *target)
{
    const struct foreign *known = find_foreign(data, nbytes);

    if (known)
        import_bad(f->in, f->place->file, "%s%s", f->what, known->message);
    else
        add_object(f, data, nbytes, target);
}

void import_image(struct import *in, const struct import_place *place,
                  const char *what, const unsigned char *data, size_t nbytes,
                  const char *target)
{
    const struct found f = {in, place, place->module, what};

    add_image(&f, data, nbytes, target);
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
            add_image(f, entry.data, entry.nbytes, target);
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

/* The label of an image. PTX for sm_90 is compute_90's. */
static const char *label_of(const struct offload_image *image)
{
    const char *number = behind(image->target, "sm_");

    return number && codeobj_is_ptx(image->data, image->nbytes)
               ? memory_text("compute_%s", number)
               : image->target;
}

/* The images for GPUs in an offload binary; returns its size, 0 if it is
 * damaged. */
static size_t add_offload(struct found *f, const unsigned char *data,
                          size_t nbytes, size_t *nimages)
{
    const char *where = f->what;
    struct offload offload;
    struct offload_image image;

    if (offload_open(&offload, data, nbytes)) {
        while (offload_next(&offload, &image)) {
            if (!image.nbytes || !offload_image_is_gpu(&image))
                continue;
            ++*nimages;
            f->what = memory_text("%simage for %s: ", where, image.target);
            add_image(f, image.data, image.nbytes, label_of(&image));
        }
        f->what = where;
    }
    if (offload.message)
        import_bad(f->in, f->place->file, "%s%s", where, offload.message);
    return offload.message ? 0 : offload.nbytes;
}

/* How many zero bytes a stretch begins with. */
static size_t zeros(const unsigned char *data, size_t nbytes)
{
    size_t n = 0;

    while (n < nbytes && data[n] == 0)
        n++;
    return n;
}

/* Objects from number `first` on: the k-th code object for a target becomes
 * part of module NAME.k. If no target comes twice, all become module NAME. */
static void number_by_target(struct import *in, size_t first, const char *name)
{
    size_t *numbers = memory_new(in->nobjects - first, sizeof(*numbers));
    bool any = false;

    for (size_t i = first; i < in->nobjects; i++)
        for (size_t k = i; k-- > first && !numbers[i - first];)
            if (strcmp(in->objects[k].object.co->target,
                       in->objects[i].object.co->target) == 0) {
                numbers[i - first] = numbers[k - first] + 1;
                any = true;
            }
    for (size_t i = first; i < in->nobjects; i++)
        in->objects[i].place.module =
            any ? memory_text("%s.%zu", name, numbers[i - first]) : name;
    free(numbers);
}

/* Offload binaries, of which each has an image for another target or is of
 * another source; returns how many bytes they take, 0 if one is damaged. */
static size_t add_offloads(struct found *f, const unsigned char *data,
                           size_t nbytes)
{
    const size_t first = f->in->nobjects;
    size_t at = 0, nimages = 0, used = 0;

    while (offload_is(data + at, nbytes - at)) {
        used = add_offload(f, data + at, nbytes - at, &nimages);
        if (used == 0)
            return 0;
        at += used;
        at += zeros(data + at, nbytes - at);
    }
    if (nimages == 0)
        import_bad(f->in, f->place->file,
                   "%sthe offload binary has no image for AMDGPU or NVIDIA",
                   f->what);
    number_by_target(f->in, first, f->module);
    return at;
}

/* Whether data is a bundle or an offload binary. */
static bool is_bundle(const unsigned char *data, size_t nbytes)
{
    return bundle_kind(data, nbytes) != BUNDLE_NONE || offload_is(data, nbytes);
}

/* A bundle of any kind; returns how many bytes of the file it takes. */
static size_t add_any_bundle(struct found *f, const unsigned char *data,
                             size_t nbytes)
{
    char error[BUNDLE_ERROR_MAX];
    unsigned char *plain;
    size_t plain_nbytes, used;

    if (offload_is(data, nbytes))
        return add_offloads(f, data, nbytes);
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
        if (!is_bundle(data + at, nbytes - at)) {
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
        f->in->objects[i].place.module = memory_text(
            "%s%s", module, f->in->objects[i].place.module + strlen(f->module));
}

/* ---- ELF ----------------------------------------------------------------- */

/* A section's name; "" if the section has no bytes. */
static const char *name_of(Elf *elf, Elf_Scn *section, size_t names,
                           GElf_Shdr *h)
{
    const char *name;

    if (!gelf_getshdr(section, h) || h->sh_type == SHT_NOBITS)
        return "";
    name = elf_strptr(elf, names, h->sh_name);
    return name ? name : "";
}

/* Kinds of sections in the host's objects and programs, by name. */
enum section_kind {
    SECTION_OTHER,
    SECTION_BUNDLES, /* bundles, plain or compressed, or offload binaries */
    SECTION_ENTRY,   /* one bundle entry; the name ends with its ID */
    SECTION_FATBIN,  /* NVIDIA's */
};

static enum section_kind section_kind(const char *name)
{
    static const struct {
        const char *prefix;
        enum section_kind kind;
    } kinds[] = {
        {".hip_fatbin", SECTION_BUNDLES},
        {".llvm.offloading", SECTION_BUNDLES},
        {"__CLANG_OFFLOAD_BUNDLE__", SECTION_ENTRY},
        {".nv_fatbin", SECTION_FATBIN},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *rest = behind(name, kinds[i].prefix);

        /* .hip_fatbin_segment is another section, .llvm.offloading.relocatable
         * is one more of its kind. */
        if (rest && (!*rest || *rest == '.' || kinds[i].kind == SECTION_ENTRY))
            return kinds[i].kind;
    }
    return SECTION_OTHER;
}

/* As -fgpu-rdc leaves them: a section for each target, mostly of bitcode.
 * False for the host's, which is a placeholder. */
static bool add_entry_section(const struct found *f, const char *id,
                              const unsigned char *data, size_t nbytes)
{
    const struct bundle_entry entry = {id, strlen(id), data, nbytes};
    char target[BUNDLE_TARGET_MAX];

    if (!bundle_entry_target(&entry, target))
        return false;
    add_image(f, data, nbytes, target);
    return true;
}

/* Adds what a section holds; false if that is no GPU code. */
static bool add_section(struct found *f, const char *name, size_t number,
                        const unsigned char *data, size_t nbytes)
{
    switch (section_kind(name)) {
    case SECTION_BUNDLES:
        add_bundles(f, data, nbytes,
                    number ? memory_text("%s.%zu", f->place->module, number)
                           : f->place->module);
        return true;
    case SECTION_ENTRY:
        return add_entry_section(f, behind(name, "__CLANG_OFFLOAD_BUNDLE__"),
                                 data, nbytes);
    default:
        return false;
    }
}

/* A file of the host's without code. Its name may say that it has to have
 * some: of the host's files .so and .a do not. */
static void add_host(const struct found *f, const char *message)
{
    const char *file = f->place->file, *dot = strrchr(file, '.');

    if (import_claims_code(file) && strcmp(dot, ".so") != 0 &&
        strcmp(dot, ".a") != 0)
        import_bad(f->in, file, "%s", message);
    else
        import_host(f->in, file, message);
}

/* Objects and programs of the host. */
static void add_host_elf(struct found *f, unsigned char *data, size_t nbytes)
{
    Elf *elf;
    Elf_Scn *section = NULL;
    size_t names = 0, n = 0, number = 0;
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
        const enum section_kind kind = section_kind(name);

        nvidia |= kind == SECTION_FATBIN;
        if (kind == SECTION_OTHER || kind == SECTION_FATBIN)
            continue;
        f->what = memory_text("%s: ", name);
        if (h.sh_offset > nbytes || h.sh_size > nbytes - h.sh_offset) {
            import_bad(f->in, f->place->file,
                       "truncated: %s lies outside the file", name);
            n++;
        } else {
            n += add_section(f, name, number, data + h.sh_offset,
                             (size_t)h.sh_size);
        }
        number += kind == SECTION_BUNDLES;
    }
    if (n == 0 && nvidia)
        import_bad(f->in, f->place->file, ".nv_fatbin: %s", no_fatbin);
    else if (n == 0)
        add_host(f, "an ELF file, but neither an AMDGPU code object nor one of "
                    "the host with GPU code (.hip_fatbin, .llvm.offloading)");
out:
    if (elf)
        elf_end(elf);
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

/* A library that refers to AMD's archives is followed when all files have been
 * read; its own sections for code are zeros. Its names are many, as in x.so and
 * x.so.1, and all of them may be followed. */
static bool is_library(const struct found *f, const unsigned char *data,
                       size_t nbytes)
{
    struct hipk hipk;
    enum hipk_kind kind;

    if (!is_elf(data, nbytes))
        return false;
    kind = hipk_open(&hipk, data, nbytes);
    if (kind == HIPK_MOVED) {
        import_library(f->in, f->place, &hipk);
        return true;
    }
    if (kind == HIPK_DAMAGED && errno == ENOMEM)
        memory_none();
    if (kind == HIPK_DAMAGED)
        import_bad(f->in, f->place->file, "%s; copy the library again",
                   hipk.error);
    hipk_close(&hipk);
    return kind == HIPK_DAMAGED;
}

/* By its first bytes, or by its name: then it is damaged. */
static bool is_archive(const char *file, const unsigned char *data,
                       size_t nbytes)
{
    const char *dot = strrchr(file, '.');

    return kpak_is(data, nbytes) || (dot && strcmp(dot, ".kpack") == 0);
}

const char *const import_endings[] = {".co",    ".hsaco", ".hipfb", ".fatbin",
                                      ".o",     ".so",    ".a",     ".out",
                                      ".cubin", ".ptx",   ".kpack", NULL};

bool import_claims_code(const char *file)
{
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && import_endings[i]; i++)
        if (strcmp(dot, import_endings[i]) == 0)
            return true;
    return false;
}

/* Comments may stand in front of PTX, but not as many as this. */
enum { START_NBYTES = 1 << 20 };

/* A tree may hold large files without code, so only their beginnings are
 * read. */
static bool may_hold_code(struct import *in, const char *file)
{
    static unsigned char start[START_NBYTES];
    const struct foreign *known;
    char error[FILE_ERROR_MAX];
    size_t n;

    if (import_claims_code(file))
        return true;
    if (!file_read_start(file, start, sizeof(start), &n, error)) {
        import_bad(in, file, "%s", error);
        return false;
    }
    known = find_foreign(start, n);
    return is_bundle(start, n) || is_elf(start, n) || kpak_is(start, n) ||
           (known && known->holds_code) || codeobj_is_ptx(start, n);
}

void import_file(struct import *in, const struct import_place *place,
                 const char *original)
{
    struct found f = {in, place, place->module, ""};
    const struct foreign *known;
    unsigned char *data;
    size_t nbytes;
    char error[FILE_ERROR_MAX];

    if (!may_hold_code(in, place->file))
        return;
    if (!file_read(place->file, IMPORT_FILE_NBYTES_MAX, &data, &nbytes,
                   error)) {
        import_bad(in, place->file, "%s", error);
        return;
    }
    known = find_foreign(data, nbytes);
    if (is_library(&f, data, nbytes))
        ; /* import_libraries() follows it */
    else if (original &&
             (is_bundle(data, nbytes) || is_elf(data, nbytes) ||
              kpak_is(data, nbytes) || codeobj_is_ptx(data, nbytes)))
        fprintf(stderr, "%s: note: passed over, for %s is there\n", place->file,
                original);
    else if (is_bundle(data, nbytes))
        add_bundles(&f, data, nbytes, place->module);
    else if (is_archive(place->file, data, nbytes))
        import_archive(in, place, data, nbytes);
    else if (is_elf(data, nbytes) && !is_gpu_elf(data, nbytes))
        add_host_elf(&f, data, nbytes);
    else if (known && known->of_host)
        add_host(&f, known->message);
    else
        add_image(&f, data, nbytes, "");
    free(data);
}
