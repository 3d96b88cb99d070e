/* codeobj.c - reads a code object: the ELF side of AMDGPU's here, NVIDIA's in
 * cubin.c and ptx.c */
#include "read/codeobj.h"

#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "target_table.h"

#define EM_AMDGPU_NUMBER 224
#define EM_CUDA_NUMBER 190
#define OSABI_AMDGPU_HSA 64
#define NT_AMDGPU_METADATA_TYPE 32
#define KERNEL_DESCRIPTOR_NBYTES 64

/* No code object reaches as far in memory. */
#define SEGMENTS_END_MAX (UINT64_C(1) << 40)

/* A pack of more than this is a mistake or an attack. */
#define FILE_NBYTES_MAX (1u << 30)

struct processor {
    const char *name;
    unsigned mach;
    bool sramecc;
    bool xnack;
    bool generic;
};

#define GENERIC_ROW(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave)                                                      \
    {name, mach, sramecc, xnack, true},
#define PROCESSOR_ROW(name, mach, major, minor, step, generic, sramecc, xnack, \
                      wave)                                                    \
    {#name, mach, sramecc, xnack, false},
static const struct processor processors[] = {
    KPK_GENERIC_TABLE(GENERIC_ROW) KPK_PROCESSOR_TABLE(PROCESSOR_ROW)};

bool codeobj_fail(char error[CODEOBJ_ERROR_MAX], const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(error, CODEOBJ_ERROR_MAX, format, list);
    va_end(list);
    return false;
}

static const struct processor *find_processor(unsigned mach)
{
    for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++)
        if (processors[i].mach == mach)
            return &processors[i];
    return NULL;
}

/* Takes ":FEATURE+" or ":FEATURE-" off the front of *at if it is there. */
static void take_feature(const char **at, const char *feature)
{
    const size_t n = strlen(feature);

    if (strncmp(*at, feature, n) == 0 && ((*at)[n] == '+' || (*at)[n] == '-'))
        *at += n + 1;
}

bool codeobj_is_target(const char *name)
{
    for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
        const struct processor *p = &processors[i];
        const char *at = name + strlen(p->name);

        if (strncmp(name, p->name, strlen(p->name)) != 0)
            continue;
        if (p->sramecc)
            take_feature(&at, ":sramecc");
        if (p->xnack)
            take_feature(&at, ":xnack");
        if (!*at)
            return true;
    }
    return false;
}

bool codeobj_is_nvidia_target(const char *name)
{
    const size_t prefix = strncmp(name, "sm_", 3) == 0        ? 3
                          : strncmp(name, "compute_", 8) == 0 ? 8
                                                              : 0;
    const size_t n = strspn(name + prefix, "0123456789");
    const char *suffix = name + prefix + n;

    return prefix && (n == 2 || n == 3) && name[prefix] != '0' &&
           (!*suffix || ((*suffix == 'a' || *suffix == 'f') && !suffix[1]));
}

bool codeobj_is_nvidia(const struct codeobj *co)
{
    return codeobj_is_nvidia_target(co->target);
}

bool codeobj_take_target(struct codeobj *co, const char *target)
{
    const size_t n = strlen(co->target);
    const bool is_hopper =
        strcmp(co->target, "sm_90a") == 0 && strcmp(target, "sm_90") == 0;

    if (strcmp(co->target, target) == 0)
        return true;
    if (is_hopper) {
        co->target[strlen(target)] = '\0';
        return true;
    }
    if (co->knows_suffix || strncmp(co->target, "sm_", 3) != 0 ||
        !codeobj_is_nvidia_target(target) ||
        strncmp(co->target, target, n) != 0 ||
        strspn(target + n, "af") != strlen(target + n))
        return false;
    snprintf(co->target, sizeof(co->target), "%s", target);
    return true;
}

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
    const struct processor *p = find_processor(flags & 0xffu);
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

static bool read_header(struct codeobj *co, Elf *elf,
                        char error[CODEOBJ_ERROR_MAX])
{
    GElf_Ehdr h;

    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &h))
        return codeobj_fail(error, "not an ELF file");
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

/* Refuses a truncated file: every segment for the loader must lie in it. */
static bool check_segments(const struct codeobj *co, Elf *elf,
                           char error[CODEOBJ_ERROR_MAX])
{
    size_t n, nload = 0;
    uint64_t end = 0; /* end of the segments so far, in memory */

    if (elf_getphdrnum(elf, &n) != 0)
        return codeobj_fail(error, "no program headers");
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;

        if (!gelf_getphdr(elf, (int)i, &p))
            return codeobj_fail(error,
                                "program header %zu lies outside the file", i);
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
static bool find_note(const struct codeobj *co, const GElf_Phdr *p,
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

static bool read_note(struct codeobj *co, Elf *elf,
                      char error[CODEOBJ_ERROR_MAX])
{
    size_t n = 0;

    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        const void *note;
        size_t nbytes;

        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_NOTE &&
            find_note(co, &p, &note, &nbytes))
            return codeobj_read_metadata(co, note, nbytes, error);
    }
    return codeobj_fail(error, "no AMDGPU metadata note");
}

/* The kernel of a descriptor's name, which has ".kd" behind it. */
static const struct codeobj_kernel *find_kernel(const struct codeobj *co,
                                                const char *name, size_t nbytes)
{
    size_t low = 0, high = co->nkernels;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct codeobj_kernel *k = &co->kernels[middle];
        int order = strncmp(k->name, name, nbytes);

        if (order == 0 && k->name[nbytes] == '\0')
            return k;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Every kernel of the metadata has its descriptor, NAME.kd, to be loaded. */
static bool check_descriptors(const struct codeobj *co, Elf *elf,
                              char error[CODEOBJ_ERROR_MAX])
{
    bool *seen = calloc(co->nkernels + 1, sizeof(*seen));
    bool ok = seen != NULL;
    Elf_Scn *section = NULL;

    if (!seen)
        return codeobj_fail(error, "out of memory");
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr h;
        Elf_Data *data;
        size_t n;

        if (!gelf_getshdr(section, &h) || h.sh_type != SHT_DYNSYM)
            continue;
        data = elf_getdata(section, NULL);
        n = data && h.sh_entsize ? data->d_size / sizeof(Elf64_Sym) : 0;
        for (size_t i = 0; i < n; i++) {
            GElf_Sym sym;
            const char *name;
            const struct codeobj_kernel *k;
            size_t length;

            if (!gelf_getsym(data, (int)i, &sym))
                continue;
            name = elf_strptr(elf, h.sh_link, sym.st_name);
            length = name ? strlen(name) : 0;
            if (length < 4 || strcmp(name + length - 3, ".kd") != 0)
                continue;
            k = find_kernel(co, name, length - 3);
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

static bool is_cubin(Elf *elf)
{
    GElf_Ehdr h;

    return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &h) &&
           h.e_ident[EI_CLASS] == ELFCLASS64 &&
           h.e_ident[EI_DATA] == ELFDATA2LSB && h.e_machine == EM_CUDA_NUMBER;
}

struct codeobj *codeobj_parse(const char *path, const void *data, size_t nbytes,
                              char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj *co = calloc(1, sizeof(*co));
    Elf *elf = NULL;
    bool ok = false;

    if (!co || !(co->path = strdup(path)) || !(co->data = malloc(nbytes + 1))) {
        codeobj_fail(error, "out of memory");
        goto out;
    }
    memcpy(co->data, data, nbytes);
    co->nbytes = nbytes;
    if (codeobj_is_ptx(data, nbytes)) {
        ok = codeobj_read_ptx(co, error);
        goto out;
    }
    elf_version(EV_CURRENT);
    elf = elf_memory((char *)co->data, nbytes);
    if (!elf) {
        codeobj_fail(error, "not an ELF file");
        goto out;
    }
    if (is_cubin(elf)) {
        ok = codeobj_read_cubin(co, elf, error);
        goto out;
    }
    ok = read_header(co, elf, error) && check_segments(co, elf, error) &&
         read_note(co, elf, error) && check_descriptors(co, elf, error);
out:
    if (elf)
        elf_end(elf);
    if (!ok) {
        codeobj_free(co);
        co = NULL;
    }
    return co;
}

struct codeobj *codeobj_read(const char *path, char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj *co;
    unsigned char *data;
    size_t nbytes;

    if (!file_read(path, FILE_NBYTES_MAX, &data, &nbytes, error))
        return NULL;
    co = codeobj_parse(path, data, nbytes, error);
    free(data);
    return co;
}

uint32_t codeobj_packed_nbytes(const struct codeobj_kernel *k)
{
    /* Arguments ascend (metadata.c): the last one in the list ends last. */
    const struct codeobj_arg *last = k->nargs ? &k->args[k->nargs - 1] : NULL;

    if (last)
        return last->offset + last->size;
    return k->attrs.has_hidden_args ? 0 : k->attrs.kernarg_nbytes;
}

void codeobj_free(struct codeobj *co)
{
    if (!co)
        return;
    for (size_t i = 0; i < co->nkernels; i++) {
        for (size_t j = 0; j < co->kernels[i].nargs; j++)
            free(co->kernels[i].args[j].name);
        free(co->kernels[i].args);
        free(co->kernels[i].name);
        free(co->kernels[i].symbol);
    }
    free(co->kernels);
    free(co->data);
    free(co->path);
    free(co);
}
