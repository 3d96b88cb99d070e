/* loader.c - an AMDGPU ELF becomes memory, kernels and globals
 *
 * Three passes: the headers and target ID are read from the file, the loadable
 * segments are copied into device memory and relocated, and then symbols and
 * metadata (code_metadata.c) are read and checked against what was loaded.
 * Every offset that the file states is checked before it is followed; reads go
 * through sim_load_at_file() and sim_load_at_image(), which return NULL for a
 * range that is not there.
 */
#define _GNU_SOURCE
#include "loader.h"

#include "allocation.h"
#include "code_metadata.h"
#include "elf_view.h"
#include "host_access.h"

#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_AMDGPU = 224,
    OSABI_AMDGPU_HSA = 64,
    ABI_V3 = 1, /* ELF ident byte 8 */
    ABI_V4 = 2,
    ABI_V6 = 4,
    GENERIC_VERSION_MIN = 1,
    PAGE = 4096
};

/* AMDGPU relocation numbers that a dynamic table may hold. */
enum {
    R_NONE = 0,
    R_ABS32_LO = 1,
    R_ABS32_HI = 2,
    R_ABS64 = 3,
    R_ABS32 = 6,
    R_RELATIVE64 = 13
};

/* ---- headers ------------------------------------------------------------ */

/* No caller of hipModuleLoadData() gives a size: the headers have to. */
static uint64_t size_by_headers(const Elf64_Ehdr *h, const uint8_t *file)
{
    uint64_t end = h->e_phoff + (uint64_t)h->e_phnum * h->e_phentsize;
    uint64_t sections = h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize;
    Elf64_Phdr p;
    unsigned i;

    for (i = 0; i < h->e_phnum; i++) {
        memcpy(&p, file + h->e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_offset + p.p_filesz > end)
            end = p.p_offset + p.p_filesz;
    }
    return sections > end ? sections : end;
}

static enum sim_load_status read_header(struct loader *l)
{
    Elf64_Ehdr *h = &l->header;

    if (l->size < sizeof(*h) || memcmp(l->file, ELFMAG, SELFMAG) != 0)
        return sim_load_fail(l, SIM_LOAD_NOT_ELF,
                             "the image is not an ELF file");
    memcpy(h, l->file, sizeof(*h));
    if (h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != MACHINE_AMDGPU ||
        h->e_ident[EI_OSABI] != OSABI_AMDGPU_HSA)
        return sim_load_fail(
            l, SIM_LOAD_NOT_ELF,
            "the ELF file is for machine %u, OS ABI %u and not for an "
            "AMD GPU",
            h->e_machine, h->e_ident[EI_OSABI]);
    if (h->e_type != ET_DYN)
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "the code object is not linked (ELF type %u)",
                             h->e_type);
    if (h->e_phentsize != sizeof(Elf64_Phdr))
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "program headers have %u bytes", h->e_phentsize);
    if (l->size == SIZE_MAX)
        l->size = size_by_headers(h, l->file);
    if (!sim_load_at_file(l, h->e_phoff,
                          (uint64_t)h->e_phnum * sizeof(Elf64_Phdr)))
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "the program headers lie outside the file");
    return SIM_LOAD_OK;
}

static enum sim_feature feature_v4(unsigned field)
{
    return field == 2   ? SIM_FEATURE_OFF
           : field == 3 ? SIM_FEATURE_ON
                        : SIM_FEATURE_NONE;
}

static const char *generic_name(unsigned mach)
{
    static const struct {
        unsigned mach;
        const char *name;
    } rows[] = {
        {0x51, "gfx9-generic"},    {0x52, "gfx10-1-generic"},
        {0x53, "gfx10-3-generic"}, {0x54, "gfx11-generic"},
        {0x59, "gfx12-generic"},   {0x5f, "gfx9-4-generic"},
    };
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].mach == mach)
            return rows[i].name;
    return NULL;
}

/* The target ID is in e_flags; its layout depends on the ABI version. */
static enum sim_load_status check_target(struct loader *l)
{
    unsigned abi = l->header.e_ident[EI_ABIVERSION];
    uint32_t flags = l->header.e_flags;
    unsigned mach = flags & 0xff, version = flags >> 24;
    const struct sim_target *t = sim_target_by_mach(mach);
    const char *generic = generic_name(mach);
    enum sim_feature sramecc, xnack;
    char reason[256];

    if (abi < ABI_V3 || abi > ABI_V6)
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "code object ABI version %u is not supported",
                             abi);
    if (generic && (abi != ABI_V6 || version < GENERIC_VERSION_MIN))
        return sim_load_fail(
            l, SIM_LOAD_WRONG_TARGET,
            "%s needs code object version 6 and generic version %d, "
            "the file has ABI version %u and generic version %u",
            generic, GENERIC_VERSION_MIN, abi, version);
    if (!generic && !t)
        return sim_load_fail(
            l, SIM_LOAD_WRONG_TARGET,
            "the code is for an unknown processor (MACH 0x%02x)", mach);
    if (abi == ABI_V3) { /* a clear bit means off; there is no "any" */
        xnack = flags & 0x100 ? SIM_FEATURE_ON : SIM_FEATURE_OFF;
        sramecc = flags & 0x200 ? SIM_FEATURE_ON : SIM_FEATURE_OFF;
        if (t && !t->has_xnack)
            xnack = SIM_FEATURE_NONE;
        if (t && !t->has_sramecc)
            sramecc = SIM_FEATURE_NONE;
    } else {
        xnack = feature_v4(flags >> 8 & 3);
        sramecc = feature_v4(flags >> 10 & 3);
    }
    if (!sim_device_accepts(l->object->device, generic ? generic : t->name,
                            sramecc, xnack, reason))
        return sim_load_fail(l, SIM_LOAD_WRONG_TARGET, "%s", reason);
    return SIM_LOAD_OK;
}

/* ---- segments ----------------------------------------------------------- */

static enum sim_load_status collect_segments(struct loader *l)
{
    unsigned i;

    for (i = 0; i < l->header.e_phnum; i++) {
        Elf64_Phdr p;

        memcpy(&p, l->file + l->header.e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_type == PT_DYNAMIC) {
            l->dynamic = p;
            l->has_dynamic = true;
        }
        if (p.p_type != PT_LOAD || p.p_memsz == 0)
            continue;
        if (l->nload == SIM_MAX_SEGMENTS)
            return sim_load_fail(l, SIM_LOAD_CORRUPT,
                                 "more than %d loadable segments",
                                 SIM_MAX_SEGMENTS);
        if (p.p_filesz > p.p_memsz ||
            !sim_load_at_file(l, p.p_offset, p.p_filesz))
            return sim_load_fail(l, SIM_LOAD_CORRUPT,
                                 "segment %u lies outside the file", i);
        if (p.p_memsz > UINT32_MAX || p.p_vaddr > UINT32_MAX)
            return sim_load_fail(l, SIM_LOAD_CORRUPT, "segment %u is too large",
                                 i);
        if (l->nload && p.p_vaddr < l->load[l->nload - 1].p_vaddr +
                                        l->load[l->nload - 1].p_memsz)
            return sim_load_fail(l, SIM_LOAD_CORRUPT,
                                 "segment %u overlaps another", i);
        l->load[l->nload++] = p;
    }
    if (l->nload == 0)
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "nothing to load in the file");
    l->lowest = l->load[0].p_vaddr & ~(uint64_t)(PAGE - 1);
    return SIM_LOAD_OK;
}

static enum sim_load_status load_segments(struct loader *l)
{
    struct sim_mem_part parts[SIM_MAX_SEGMENTS];
    uint32_t i;

    for (i = 0; i < l->nload; i++) {
        parts[i].offset = l->load[i].p_vaddr - l->lowest;
        parts[i].size = l->load[i].p_memsz;
        parts[i].readonly = !(l->load[i].p_flags & PF_W);
    }
    if (!sim_mem_alloc_parts(l->object->device->ordinal, parts, l->nload,
                             SIM_MEM_CODE, l->object->segments))
        return sim_load_fail(l, SIM_LOAD_NO_MEMORY,
                             "no device memory for the code object");
    l->object->nsegments = l->nload;
    for (i = 0; i < l->nload; i++) {
        const struct sim_alloc *a = l->object->segments[i];

        if (l->load[i].p_filesz)
            memcpy(a->bytes, l->file + l->load[i].p_offset,
                   l->load[i].p_filesz);
        sim_mem_mark_written(a->base, a->size);
    }
    return SIM_LOAD_OK;
}

/* ---- the dynamic section ------------------------------------------------ */

struct dynamic {
    uint64_t hash, gnu_hash, rela, nrela, jmprel, njmprel;
};

/* Counts symbols by the GNU hash table, whose last chain ends at the last
 * symbol. */
static bool count_gnu_hash(const struct loader *l, uint64_t at, uint64_t *n)
{
    uint32_t head[4], bucket, last = 0, entry, i;
    const uint8_t *p = sim_load_at_image(l, at, sizeof(head));
    uint64_t buckets, chains;

    if (!p)
        return false;
    memcpy(head, p, sizeof(head)); /* nbuckets, symoffset, bloom size, shift */
    buckets = at + 16 + (uint64_t)head[2] * 8;
    chains = buckets + (uint64_t)head[0] * 4;
    for (i = 0; i < head[0]; i++) {
        p = sim_load_at_image(l, buckets + (uint64_t)i * 4, 4);
        if (!p)
            return false;
        memcpy(&bucket, p, 4);
        if (bucket > last)
            last = bucket;
    }
    if (last < head[1]) {
        *n = head[1];
        return true;
    }
    do {
        p = sim_load_at_image(l, chains + (uint64_t)(last - head[1]) * 4, 4);
        if (!p)
            return false;
        memcpy(&entry, p, 4);
        last++;
    } while (!(entry & 1));
    *n = last;
    return true;
}

static enum sim_load_status read_dynamic(struct loader *l, struct dynamic *d)
{
    uint64_t offset;
    const uint8_t *p;
    Elf64_Dyn entry;
    uint32_t head[2];

    memset(d, 0, sizeof(*d));
    if (!l->has_dynamic)
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "the file has no dynamic section");
    for (offset = 0; offset + sizeof(entry) <= l->dynamic.p_memsz;
         offset += sizeof(entry)) {
        p = sim_load_at_image(l, l->dynamic.p_vaddr + offset, sizeof(entry));
        if (!p)
            return sim_load_fail(
                l, SIM_LOAD_CORRUPT,
                "the dynamic section is not part of a segment");
        memcpy(&entry, p, sizeof(entry));
        if (entry.d_tag == DT_NULL)
            break;
        switch (entry.d_tag) {
        case DT_SYMTAB:
            l->symbols = entry.d_un.d_ptr;
            break;
        case DT_STRTAB:
            l->strings = entry.d_un.d_ptr;
            break;
        case DT_STRSZ:
            l->nstrings = entry.d_un.d_val;
            break;
        case DT_HASH:
            d->hash = entry.d_un.d_ptr;
            break;
        case DT_GNU_HASH:
            d->gnu_hash = entry.d_un.d_ptr;
            break;
        case DT_RELA:
            d->rela = entry.d_un.d_ptr;
            break;
        case DT_RELASZ:
            d->nrela = entry.d_un.d_val / sizeof(Elf64_Rela);
            break;
        case DT_JMPREL:
            d->jmprel = entry.d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            d->njmprel = entry.d_un.d_val / sizeof(Elf64_Rela);
            break;
        default:
            break;
        }
    }
    if (d->hash && (p = sim_load_at_image(l, d->hash, sizeof(head)))) {
        memcpy(head, p, sizeof(head));
        l->nsymbols = head[1];
    } else if (!d->gnu_hash || !count_gnu_hash(l, d->gnu_hash, &l->nsymbols)) {
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "the symbol table has no readable hash table");
    }
    if (l->nsymbols &&
        (!sim_load_at_image(l, l->symbols, l->nsymbols * sizeof(Elf64_Sym)) ||
         l->nstrings == 0 || !sim_load_at_image(l, l->strings, l->nstrings) ||
         *sim_load_at_image(l, l->strings + l->nstrings - 1, 1) != '\0'))
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "the symbol table lies outside the segments");
    return SIM_LOAD_OK;
}

/* Symbol `i` (< nsymbols) and its name; NULL if the name lies outside. */
static const char *symbol_at(const struct loader *l, uint64_t i, Elf64_Sym *out)
{
    memcpy(out,
           sim_load_at_image(l, l->symbols + i * sizeof(*out), sizeof(*out)),
           sizeof(*out));
    if (out->st_name >= l->nstrings)
        return NULL;
    return (const char *)sim_load_at_image(l, l->strings, l->nstrings) +
           out->st_name;
}

static enum sim_load_status relocate_one(struct loader *l, const Elf64_Rela *r)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), word;
    uint64_t index = ELF64_R_SYM(r->r_info), value = 0;
    uint8_t *where;

    if (type == R_NONE)
        return SIM_LOAD_OK;
    if (type != R_RELATIVE64) {
        Elf64_Sym symbol;
        const char *name;

        if (index >= l->nsymbols || !(name = symbol_at(l, index, &symbol)))
            return sim_load_fail(
                l, SIM_LOAD_CORRUPT, "a relocation names symbol %llu of %llu",
                (unsigned long long)index, (unsigned long long)l->nsymbols);
        if (symbol.st_shndx == SHN_UNDEF) {
            if (ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
                return sim_load_fail(l, SIM_LOAD_UNRESOLVED,
                                     "undefined symbol %.200s", name);
        } else {
            value = symbol.st_shndx == SHN_ABS
                        ? symbol.st_value
                        : sim_load_address(l, symbol.st_value);
        }
    } else {
        value = sim_load_address(l, 0);
    }
    value += (uint64_t)r->r_addend;
    where = sim_load_at_image(l, r->r_offset,
                              type == R_ABS64 || type == R_RELATIVE64 ? 8 : 4);
    if (!where)
        return sim_load_fail(
            l, SIM_LOAD_CORRUPT,
            "a relocation patches 0x%llx, outside the segments",
            (unsigned long long)r->r_offset);
    switch (type) {
    case R_ABS64:
    case R_RELATIVE64:
        memcpy(where, &value, 8);
        return SIM_LOAD_OK;
    case R_ABS32_HI:
        value >>= 32;
        /* fall through */
    case R_ABS32:
    case R_ABS32_LO:
        word = (uint32_t)value;
        memcpy(where, &word, 4);
        return SIM_LOAD_OK;
    default:
        return sim_load_fail(l, SIM_LOAD_UNRESOLVED,
                             "unknown relocation type %u", type);
    }
}

static enum sim_load_status relocate(struct loader *l, uint64_t table,
                                     uint64_t n)
{
    enum sim_load_status status;
    Elf64_Rela r;
    uint64_t i;

    for (i = 0; i < n; i++) {
        const uint8_t *p =
            sim_load_at_image(l, table + i * sizeof(r), sizeof(r));

        if (!p)
            return sim_load_fail(l, SIM_LOAD_CORRUPT,
                                 "the relocations lie outside the segments");
        memcpy(&r, p, sizeof(r));
        status = relocate_one(l, &r);
        if (status != SIM_LOAD_OK)
            return status;
    }
    return SIM_LOAD_OK;
}

static enum sim_load_status read_globals(struct loader *l)
{
    struct sim_code_object *o = l->object;
    Elf64_Sym symbol;
    const char *name;
    uint64_t i;

    o->globals = calloc(l->nsymbols + 1, sizeof(o->globals[0]));
    if (!o->globals)
        return sim_load_fail(l, SIM_LOAD_NO_MEMORY,
                             "no memory for the globals");
    for (i = 1; i < l->nsymbols; i++) {
        name = symbol_at(l, i, &symbol);
        if (!name)
            return sim_load_fail(l, SIM_LOAD_CORRUPT,
                                 "the name of a symbol lies outside its table");
        if (symbol.st_shndx == SHN_UNDEF) {
            /* AMD's loader passes over what has no type: it is missing only
             * to a relocation. */
            if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK ||
                ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT)
                continue;
            return sim_load_fail(l, SIM_LOAD_UNRESOLVED,
                                 "undefined symbol %.200s", name);
        }
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT)
            continue;
        if (!sim_load_at_image(l, symbol.st_value, symbol.st_size))
            return sim_load_fail(l, SIM_LOAD_CORRUPT,
                                 "symbol %.200s lies outside the segments",
                                 name);
        o->globals[o->nglobals].name = strdup(name);
        o->globals[o->nglobals].address = sim_load_address(l, symbol.st_value);
        o->globals[o->nglobals].size = symbol.st_size;
        if (!o->globals[o->nglobals++].name)
            return sim_load_fail(l, SIM_LOAD_NO_MEMORY,
                                 "no memory for the globals");
    }
    return SIM_LOAD_OK;
}

/* ---- the whole ---------------------------------------------------------- */

static enum sim_load_status load(struct loader *l)
{
    struct dynamic d;
    enum sim_load_status status = read_header(l);

    if (status == SIM_LOAD_OK)
        status = check_target(l);
    if (status == SIM_LOAD_OK)
        status = collect_segments(l);
    if (status == SIM_LOAD_OK)
        status = load_segments(l);
    if (status == SIM_LOAD_OK)
        status = read_dynamic(l, &d);
    if (status == SIM_LOAD_OK)
        status = relocate(l, d.rela, d.nrela);
    if (status == SIM_LOAD_OK)
        status = relocate(l, d.jmprel, d.njmprel);
    if (status == SIM_LOAD_OK)
        status = read_globals(l);
    if (status == SIM_LOAD_OK)
        status = sim_load_metadata(l);
    return status;
}

enum sim_load_status sim_code_object_load(struct sim_device *device,
                                          const void *elf, size_t size,
                                          struct sim_code_object **out,
                                          char why[256])
{
    struct loader l = {.file = elf, .size = size, .why = why};
    enum sim_load_status status;

    *out = NULL;
    l.object = calloc(1, sizeof(*l.object));
    if (!l.object)
        return sim_load_fail(&l, SIM_LOAD_NO_MEMORY,
                             "no memory for the code object");
    l.object->device = device;
    status = load(&l);
    if (status != SIM_LOAD_OK) {
        sim_code_object_free(l.object);
        return status;
    }
    l.object->abi_version = l.header.e_ident[EI_ABIVERSION];
    *out = l.object;
    return SIM_LOAD_OK;
}
