/* import_host_elf.c - the code objects in objects and programs of the host */
#include "pack/import_host_elf.h"

#include <gelf.h>
#include <string.h>

#include "base/bundle.h"
#include "pack/import_bundle.h"
#include "pack/import_library.h"
#include "util/alloc_or_exit.h"

/* Behind a prefix; NULL if the text does not begin with it. */
static const char *behind(const char *text, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

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

        /* .hip_fatbin_segment is something else; .llvm.offloading.relocatable
         * has offload binaries, too. */
        if (rest && (!*rest || *rest == '.' || kinds[i].kind == SECTION_ENTRY))
            return kinds[i].kind;
    }
    return SECTION_OTHER;
}

/* As -fgpu-rdc leaves them: a section for each target, mostly of bitcode.
 * False for the host's, which is a placeholder. */
static bool add_entry_section(const struct import_found *f, const char *id,
                              const unsigned char *data, size_t nbytes)
{
    const struct bundle_entry entry = {id, strlen(id), data, nbytes};
    char target[BUNDLE_TARGET_MAX];

    if (!bundle_entry_target(&entry, target))
        return false;
    import_image(f, data, nbytes, target);
    return true;
}

/* Adds a section's code objects; false if it is not for GPU code. */
static bool add_section(struct import_found *f, const char *name, size_t number,
                        const unsigned char *data, size_t nbytes)
{
    switch (section_kind(name)) {
    case SECTION_BUNDLES:
        import_bundles(f, data, nbytes,
                       number ? alloc_text("%s.%zu", f->place->module, number)
                              : f->place->module);
        return true;
    case SECTION_ENTRY:
        return add_entry_section(f, behind(name, "__CLANG_OFFLOAD_BUNDLE__"),
                                 data, nbytes);
    default:
        return false;
    }
}

void import_host_elf(struct import_found *f, unsigned char *data, size_t nbytes)
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
        f->what = alloc_text("%s: ", name);
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
        import_bad(f->in, f->place->file, ".nv_fatbin: %s", import_no_fatbin);
    else if (n == 0)
        import_host(f->in, f->place->file,
                    "an ELF file, but neither an AMDGPU code object nor one of "
                    "the host with GPU code (.hip_fatbin, .llvm.offloading)");
out:
    if (elf)
        elf_end(elf);
}
