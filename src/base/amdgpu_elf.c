/* amdgpu_elf.c - reads the ELF side of an AMDGPU code object */
#include "amdgpu_elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amdgpu_metadata.h"
#include "elf64.h"
#include "target_id.h"

#define EM_AMDGPU_NUMBER 224
#define OSABI_AMDGPU_HSA 64
#define NT_AMDGPU_METADATA_TYPE 32
#define KERNEL_DESCRIPTOR_NBYTES 64

/* No code object reaches as far in memory. */
#define SEGMENTS_END_MAX (UINT64_C(1) << 40)

/* The sign that a two-bit field of e_flags stands for: "", "-" or "+". */
static const char *feature_sign(unsigned bits)
{
    return bits == 3 ? "+" : bits == 2 ? "-" : "";
}

/*
 * The target ID in e_flags. Version 3 has one bit a feature, on or off;
 * versions 4 to 6 have two: unsupported, any, off, on. "Unsupported" and "any"
 * both leave the feature out of the name.
 */
static bool read_target(struct codeobj *co, uint32_t flags,
                        char error[CODEOBJ_ERROR_MAX])
{
    const struct target_processor *p = target_processor_find(flags & 0xffu);
    unsigned xnack = flags >> 8 & 3u;
    unsigned sramecc = flags >> 10 & 3u;
    const char *xnack_sign, *sramecc_sign;

    if (!p)
        return codeobj_fail(error, "unknown processor 0x%02x in e_flags",
                            (unsigned)(flags & 0xffu));
    if (p->generic && co->cov != 6)
        return codeobj_fail(error, "%s in a code object of version %u, wants 6",
                            p->name, co->cov);
    if (co->cov == 3) {
        sramecc = p->sramecc ? 2 + (flags >> 9 & 1u) : 0;
        xnack = p->xnack ? 2 + (flags >> 8 & 1u) : 0;
    }
    sramecc_sign = feature_sign(sramecc);
    xnack_sign = feature_sign(xnack);
    if ((*sramecc_sign && !p->sramecc) || (*xnack_sign && !p->xnack))
        return codeobj_fail(error,
                            "%s has no such feature as e_flags 0x%x says",
                            p->name, (unsigned)flags);
    snprintf(co->target, sizeof(co->target), "%s%s%s%s%s", p->name,
             *sramecc_sign ? ":sramecc" : "", sramecc_sign,
             *xnack_sign ? ":xnack" : "", xnack_sign);
    return true;
}

static bool read_header(struct codeobj *co, const struct elf64 *elf,
                        char error[CODEOBJ_ERROR_MAX])
{
    const Elf64_Ehdr h = elf->head;

    if (h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_AMDGPU_NUMBER)
        return codeobj_fail(error,
                            "an ELF file, but not for AMDGPU (machine %u)",
                            (unsigned)h.e_machine);
    if (h.e_ident[EI_OSABI] != OSABI_AMDGPU_HSA || h.e_type != ET_DYN)
        return codeobj_fail(error,
                            "not a linked code object for HSA (OS ABI %u, "
                            "type %u)",
                            (unsigned)h.e_ident[EI_OSABI], (unsigned)h.e_type);
    if (h.e_ident[EI_ABIVERSION] < 1 || h.e_ident[EI_ABIVERSION] > 4)
        return codeobj_fail(error,
                            "unknown code object version (ABI version %u)",
                            (unsigned)h.e_ident[EI_ABIVERSION]);
    co->cov = h.e_ident[EI_ABIVERSION] + 2u;
    return read_target(co, h.e_flags, error);
}

/* Whether [offset, offset + nbytes) lies in the file. */
static bool in_file(const struct codeobj *co, uint64_t offset, uint64_t nbytes)
{
    return offset <= co->nbytes && nbytes <= co->nbytes - offset;
}

/* Refuses a truncated file: all loadable segments must lie in the file. */
static bool check_segments(const struct codeobj *co, const struct elf64 *elf,
                           char error[CODEOBJ_ERROR_MAX])
{
    size_t nload = 0;
    uint64_t end = 0; /* end of the segments so far, in memory */

    if (elf->nsections < elf->stated_nsections)
        return codeobj_fail(
            error, "truncated: section header %zu lies outside the file",
            elf->nsections);
    if (elf->nsegments < elf->head.e_phnum)
        return codeobj_fail(error, "program header %zu lies outside the file",
                            elf->nsegments);
    for (size_t i = 0; i < elf->nsegments; i++) {
        const Elf64_Phdr p = elf64_segment(elf, i);

        if (p.p_type == PT_LOAD || p.p_type == PT_NOTE)
            if (!in_file(co, p.p_offset, p.p_filesz))
                return codeobj_fail(
                    error, "truncated: segment %zu lies outside the file", i);
        if (p.p_type != PT_LOAD)
            continue;
        if (p.p_memsz < p.p_filesz || p.p_vaddr < end ||
            p.p_memsz > SEGMENTS_END_MAX - p.p_vaddr ||
            p.p_vaddr > SEGMENTS_END_MAX)
            return codeobj_fail(
                error,
                "segment %zu overlaps the one before it, or is of a "
                "size that cannot be",
                i);
        end = p.p_vaddr + p.p_memsz;
        nload++;
    }
    if (nload == 0)
        return codeobj_fail(error, "no segment to load");
    return true;
}

/* The metadata in one PT_NOTE segment; false without an error if absent. */
static bool find_note(const struct codeobj *co, const Elf64_Phdr *p,
                      const void **note, size_t *nbytes)
{
    const unsigned char *at = co->data + p->p_offset;
    size_t left = (size_t)p->p_filesz;

    while (left >= 12) {
        uint32_t head[3]; /* name size, descriptor size, type */
        uint64_t name, desc;

        memcpy(head, at, sizeof(head));
        name = ((uint64_t)head[0] + 3) & ~UINT64_C(3);
        desc = ((uint64_t)head[1] + 3) & ~UINT64_C(3);
        if (name > left - 12 || head[1] > left - 12 - name)
            return false;
        if (head[2] == NT_AMDGPU_METADATA_TYPE && head[0] == 7 &&
            memcmp(at + 12, "AMDGPU", 7) == 0) {
            *note = at + 12 + name;
            *nbytes = head[1];
            return true;
        }
        if (12 + name + desc > left)
            return false;
        at += 12 + name + desc;
        left -= (size_t)(12 + name + desc);
    }
    return false;
}

static bool read_note(struct codeobj *co, const struct elf64 *elf,
                      char error[CODEOBJ_ERROR_MAX])
{
    for (size_t i = 0; i < elf->nsegments; i++) {
        const Elf64_Phdr p = elf64_segment(elf, i);
        const void *note;
        size_t nbytes;

        if (p.p_type == PT_NOTE && find_note(co, &p, &note, &nbytes))
            return amdgpu_metadata_read(co, note, nbytes, error);
    }
    return codeobj_fail(error, "no AMDGPU metadata note");
}

/* Every kernel of the metadata has its descriptor, NAME.kd, to be loaded. */
static bool check_descriptors(const struct codeobj *co, const struct elf64 *elf,
                              char error[CODEOBJ_ERROR_MAX])
{
    bool *seen = calloc(co->nkernels + 1, sizeof(*seen));
    bool ok = seen != NULL;

    if (!seen)
        return codeobj_fail(error, "out of memory");
    for (size_t s = 0; s < elf->nsections; s++) {
        const Elf64_Shdr h = elf64_section(elf, s);
        const size_t n =
            h.sh_type == SHT_DYNSYM ? h.sh_size / sizeof(Elf64_Sym) : 0;

        for (size_t i = 0; i < n && elf64_content(elf, &h); i++) {
            Elf64_Sym sym;
            const char *name = elf64_symbol(elf, &h, i, &sym);
            const struct codeobj_kernel *k;
            const size_t length = name ? strlen(name) : 0;

            if (length < 4 || strcmp(name + length - 3, ".kd") != 0)
                continue;
            k = codeobj_find(co, name, length - 3);
            if (k && sym.st_size == KERNEL_DESCRIPTOR_NBYTES &&
                sym.st_shndx != SHN_UNDEF)
                seen[k - co->kernels] = true;
        }
    }
    for (size_t i = 0; ok && i < co->nkernels; i++)
        if (!seen[i])
            ok = codeobj_fail(error, "kernel %s has no descriptor %s.kd",
                              co->kernels[i].name, co->kernels[i].name);
    free(seen);
    return ok;
}

bool amdgpu_elf_read(struct codeobj *co, const struct elf64 *elf,
                     char error[CODEOBJ_ERROR_MAX])
{
    return read_header(co, elf, error) && check_segments(co, elf, error) &&
           read_note(co, elf, error) && check_descriptors(co, elf, error);
}
