/* cubin.c - reads what a cubin says of its kernels
 *
 * A cubin is an ELF file of NVIDIA's. Kernels are global functions of its
 * symbol table; sections .nv.info.NAME hold a kernel's parameters as records
 * of a format, a tag and a value. NVIDIA documents neither. The tags below
 * were read off what ptxas 11.8 to 13.0 write for known kernels; tests hold
 * them against AMD's lists of the same kernels, and on a GPU against
 * cuFuncGetParamInfo() and cuFuncGetAttribute().
 */
#include "cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf64.h"
#include "number.h"

/* OS ABIs of cubins: of CUDA 13, and of earlier releases. */
enum { OSABI_CUDA_13 = 0x41, OSABI_CUDA = 0x33 };

#define EM_CUDA_NUMBER 190

/* In the flags of earlier releases' cubins: made for one processor's own
 * features, as sm_90a. Source: EF_CUDA_ACCELERATORS_V1 of LLVM's ELF.h. */
enum { ACCELERATORS = 0x800 };

/* In a symbol's st_other. */
enum { STO_ENTRY = 0x10 };

/* Tags of records. */
enum {
    MAX_THREADS = 0x05,
    REQNTID = 0x10,
    FRAME_SIZE = 0x11,
    MIN_STACK_SIZE = 0x12,
    KPARAM_INFO = 0x17,
    CBANK_PARAM_SIZE = 0x19,
    REGCOUNT = 0x2f,
    CUDA_API_VERSION = 0x37,
    KPARAM_INFO_V2 = 0x45
};

enum {
    FORMAT_BYTES = 4, /* a size of 16 bits, then bytes; else 16 bits */
    NO_KERNEL_MAX_THREADS = 1024,
    REGISTERS = 65536, /* of a multiprocessor */
    SHARED_RESERVED_NBYTES = 0x400,
    ARGS_MAX = 4096
};

static bool fail(char error[CODEOBJ_ERROR_MAX], const char *what,
                 const char *name)
{
    snprintf(error, CODEOBJ_ERROR_MAX, "%s%s", what, name);
    return false;
}

static uint32_t u32_at(const unsigned char *at)
{
    return (uint32_t)number_read(at, 4);
}

static uint16_t u16_at(const unsigned char *at)
{
    return (uint16_t)number_read(at, 2);
}

/* A section's content. */
struct bytes {
    const unsigned char *at; /* NULL: it has none */
    size_t nbytes;
};

/* ---- records ------------------------------------------------------------ */

struct record {
    unsigned tag;
    const unsigned char *value; /* [nbytes] */
    size_t nbytes;
};

/* Takes the record at *at; false at the end, or if the record is cut off. */
static bool next_record(const unsigned char **at, const unsigned char *end,
                        struct record *out)
{
    const unsigned char *head = *at;

    if (end - head < 4)
        return false;
    out->tag = head[1];
    out->value = head + 2;
    out->nbytes = 2;
    if (head[0] == FORMAT_BYTES) {
        out->value = head + 4;
        out->nbytes = u16_at(head + 2);
        if ((size_t)(end - out->value) < out->nbytes)
            return false;
    }
    *at = out->value + out->nbytes;
    return true;
}

/* ---- one kernel --------------------------------------------------------- */

static bool grow_args(struct codeobj_kernel *k, size_t n)
{
    struct codeobj_arg *args = realloc(k->args, n * sizeof(*args));

    if (!args)
        return false;
    memset(args + k->nargs, 0, (n - k->nargs) * sizeof(*args));
    k->args = args;
    for (; k->nargs < n; k->nargs++) {
        args[k->nargs].name = strdup("");
        if (!args[k->nargs].name)
            return false;
    }
    return true;
}

/* {index u32, ordinal u16, offset u16, size u32 << 18}, last one first. Where
 * they end beyond 4 KiB, the size is the third field's lower half. */
static bool read_param(struct codeobj_kernel *k, const struct record *r,
                       char error[CODEOBJ_ERROR_MAX])
{
    size_t ordinal;

    if (r->nbytes < 12)
        return fail(error, "a short record of a parameter of ", k->name);
    ordinal = u16_at(r->value + 4);
    if (ordinal >= ARGS_MAX)
        return fail(error, "too many parameters: ", k->name);
    if (ordinal >= k->nargs && !grow_args(k, ordinal + 1))
        return fail(error, "out of memory", "");
    k->args[ordinal].offset = u16_at(r->value + 6);
    k->args[ordinal].size = r->tag == KPARAM_INFO ? u32_at(r->value + 8) >> 18
                                                  : u16_at(r->value + 8);
    k->args[ordinal].kind = KPK_ARG_UNKNOWN;
    return true;
}

static bool read_block(uint32_t block[3], const struct record *r,
                       const struct codeobj_kernel *k,
                       char error[CODEOBJ_ERROR_MAX])
{
    if (r->nbytes < 12)
        return fail(error, "a short record of threads of ", k->name);
    for (size_t i = 0; i < 3; i++)
        block[i] = u32_at(r->value + 4 * i);
    return true;
}

/* Checks that the listed parameters are complete. */
static bool check_params(const struct codeobj_kernel *k,
                         char error[CODEOBJ_ERROR_MAX])
{
    uint32_t end = 0;

    for (size_t i = 0; i < k->nargs; i++) {
        if (k->args[i].size == 0 || k->args[i].offset < end)
            return fail(error,
                        "the parameters have gaps or overlap: ", k->name);
        end = k->args[i].offset + k->args[i].size;
    }
    if (end > k->attrs.kernarg_nbytes)
        return fail(error,
                    "the parameters are more than the kernel takes: ", k->name);
    return true;
}

static bool read_kernel(struct codeobj *co, struct codeobj_kernel *k,
                        const struct bytes *data, char error[CODEOBJ_ERROR_MAX])
{
    const unsigned char *at = data->at;
    const unsigned char *end = at + data->nbytes;
    uint32_t most[3] = {NO_KERNEL_MAX_THREADS, 1, 1};
    struct record r;

    while (next_record(&at, end, &r)) {
        bool ok = true;

        if (r.tag == KPARAM_INFO || r.tag == KPARAM_INFO_V2)
            ok = read_param(k, &r, error);
        else if (r.tag == CUDA_API_VERSION && r.nbytes >= 2)
            co->cov = u16_at(r.value);
        else if (r.tag == CBANK_PARAM_SIZE)
            k->attrs.kernarg_nbytes = u16_at(r.value);
        else if (r.tag == MAX_THREADS || r.tag == REQNTID)
            ok = read_block(most, &r, k, error);
        if (ok && r.tag == REQNTID)
            memcpy(k->attrs.reqd_block, most, sizeof(most));
        if (!ok)
            return false;
    }
    if (at != end)
        return fail(error, "a damaged list of parameters: ", k->name);
    k->attrs.max_block = most[0] * most[1] * most[2];
    return check_params(k, error);
}

/* A kernel that waits for earlier launches has an instruction for it, ACQBULK.
 * NVIDIA does not document the encoding; this is that of sm_90 to sm_121. */
static void find_wait(struct codeobj_kernel *k, const struct bytes *code)
{
    enum { INSN_NBYTES = 16, OPCODE = 0xfff, ACQBULK = 0x82e };

    for (size_t i = 0; i + INSN_NBYTES <= code->nbytes; i += INSN_NBYTES)
        if ((u16_at(code->at + i) & OPCODE) == ACQBULK)
            k->attrs.waits = 1;
}

/* ---- the file ----------------------------------------------------------- */

struct file {
    struct codeobj *co;
    const struct elf64 *elf;
    Elf64_Shdr symbols; /* the section */
    size_t nsymbols;
    bool shared_reserved;
};

static const char *section_name(const struct file *f, const Elf64_Shdr *h)
{
    const char *name = elf64_string(f->elf, f->elf->names, h->sh_name);

    return name ? name : "";
}

static struct bytes content(const struct file *f, const Elf64_Shdr *h)
{
    return (struct bytes){elf64_content(f->elf, h), (size_t)h->sh_size};
}

/* The rest of a name after `prefix`; NULL for a name without the prefix. */
static const char *after(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 && name[n] ? name + n : NULL;
}

static struct codeobj_kernel *find_kernel(const struct file *f,
                                          const char *name)
{
    return codeobj_find(f->co, name, strlen(name));
}

static bool find_symbols(struct file *f, char error[CODEOBJ_ERROR_MAX])
{
    for (size_t i = 0; i < f->elf->nsections; i++) {
        f->symbols = elf64_section(f->elf, i);
        if (f->symbols.sh_type != SHT_SYMTAB)
            continue;
        if (content(f, &f->symbols).at)
            f->nsymbols = f->symbols.sh_size / sizeof(Elf64_Sym);
        return true;
    }
    return fail(error, "no symbol table", "");
}

static const char *symbol_name(const struct file *f, size_t i, Elf64_Sym *sym)
{
    const char *name =
        i < f->nsymbols ? elf64_symbol(f->elf, &f->symbols, i, sym) : NULL;

    return name && *name ? name : NULL;
}

/* Kernels are marked functions with global or, for instances of templates, weak
 * symbols. Device functions that were linked apart have no mark. */
static bool find_kernels(struct file *f, char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj *co = f->co;
    const char *twice;

    co->kernels = calloc(f->nsymbols + 1, sizeof(*co->kernels));
    if (!co->kernels)
        return fail(error, "out of memory", "");
    for (size_t i = 0; i < f->nsymbols; i++) {
        Elf64_Sym sym;
        const char *name = symbol_name(f, i, &sym);

        if (name && strcmp(name, ".nv.reservedSmem.offset0") == 0)
            f->shared_reserved = true;
        if (!name || ELF64_ST_TYPE(sym.st_info) != STT_FUNC ||
            ELF64_ST_BIND(sym.st_info) == STB_LOCAL ||
            !(sym.st_other & STO_ENTRY) || sym.st_shndx == SHN_UNDEF)
            continue;
        co->kernels[co->nkernels].name = strdup(name);
        if (!co->kernels[co->nkernels++].name)
            return fail(error, "out of memory", "");
    }
    twice = codeobj_sort(co);
    if (twice)
        return fail(error, "two kernels of one name: ", twice);
    return true;
}

/* Stack of the kernel alone, or of the kernel with its callees: keeps the
 * larger size. */
static void read_stack(struct codeobj_kernel *k, uint32_t nbytes)
{
    if (nbytes == UINT32_MAX) /* recursion or unknown callees */
        k->attrs.uses_dynamic_stack = 1;
    else if (nbytes > k->attrs.scratch_nbytes)
        k->attrs.scratch_nbytes = nbytes;
}

/* Records of the whole file: registers and stack. */
static bool read_global(struct file *f, const struct bytes *data,
                        char error[CODEOBJ_ERROR_MAX])
{
    const unsigned char *at = data->at;
    const unsigned char *end = at + data->nbytes;
    struct record r;

    while (next_record(&at, end, &r)) {
        struct codeobj_kernel *k;
        const char *name;
        Elf64_Sym sym;

        if ((r.tag != REGCOUNT && r.tag != FRAME_SIZE &&
             r.tag != MIN_STACK_SIZE) ||
            r.nbytes < 8)
            continue;
        name = symbol_name(f, u32_at(r.value), &sym);
        k = name ? find_kernel(f, name) : NULL;
        if (k && r.tag == REGCOUNT)
            k->attrs.vgprs = u16_at(r.value + 4);
        else if (k)
            read_stack(k, u32_at(r.value + 4));
    }
    return at == end ? true : fail(error, "a damaged section .nv.info", "");
}

static bool read_sections(struct file *f, char error[CODEOBJ_ERROR_MAX])
{
    size_t ninfos = 0;

    if (f->elf->nsections < f->elf->stated_nsections)
        return fail(error, "a section header lies outside the file", "");
    for (size_t i = 0; i < f->elf->nsections; i++) {
        const Elf64_Shdr h = elf64_section(f->elf, i);
        const struct bytes data = content(f, &h);
        struct codeobj_kernel *k;
        const char *kernel;
        const char *name;

        if (h.sh_type != SHT_NOBITS &&
            (h.sh_offset > f->co->nbytes ||
             h.sh_size > f->co->nbytes - h.sh_offset))
            return fail(error, "truncated: a section lies outside the file",
                        "");
        name = section_name(f, &h);
        kernel = after(name, ".nv.shared.");
        k = kernel ? find_kernel(f, kernel) : NULL;
        if (k)
            k->attrs.lds_nbytes = (uint32_t)h.sh_size;
        kernel = after(name, ".text.");
        k = kernel ? find_kernel(f, kernel) : NULL;
        if (k && data.at)
            find_wait(k, &data);
        if (strcmp(name, ".nv.info") != 0 && !after(name, ".nv.info."))
            continue;
        if (!data.at)
            return fail(error, "an empty section ", name);
        kernel = after(name, ".nv.info.");
        k = kernel ? find_kernel(f, kernel) : NULL;
        if (kernel && !k)
            continue; /* a device function's section */
        if (!(k ? read_kernel(f->co, k, &data, error)
                : read_global(f, &data, error)))
            return false;
        ninfos += k != NULL;
    }
    if (ninfos != f->co->nkernels)
        return fail(error, "a kernel without a section .nv.info of its own",
                    "");
    return true;
}

/* The suffix of the processor stands in what the assembler was called with:
 * "-arch sm_90a" in a note, which CUDA 12 and later write. */
static void read_suffix(struct file *f)
{
    static const char option[] = "-arch sm_";
    const size_t n = sizeof(option) - 1;
    const char *number = f->co->target + strlen("sm_");
    const size_t ndigits = strlen(number);

    for (size_t s = 0; s < f->elf->nsections; s++) {
        const Elf64_Shdr h = elf64_section(f->elf, s);
        const struct bytes data = content(f, &h);

        if (!data.at || strcmp(section_name(f, &h), ".note.nv.tkinfo") != 0)
            continue;
        for (size_t i = 0; i + n + ndigits < data.nbytes; i++) {
            const char *at = (const char *)data.at + i;
            const char next = at[n + ndigits];

            if (memcmp(at, option, n) != 0 ||
                memcmp(at + n, number, ndigits) != 0 ||
                (next >= '0' && next <= '9'))
                continue;
            f->co->knows_suffix = true;
            if (next == 'a' || next == 'f')
                strncat(f->co->target, &next, 1);
            return;
        }
    }
}

/* Sets attributes that need several records. */
static void finish_kernel(const struct file *f, struct codeobj_kernel *k)
{
    const uint32_t registers = (k->attrs.vgprs + 7u) & ~7u;
    const uint32_t fit = registers ? REGISTERS / registers & ~31u : UINT32_MAX;

    if (fit < k->attrs.max_block)
        k->attrs.max_block = fit;
    if (f->shared_reserved && k->attrs.lds_nbytes >= SHARED_RESERVED_NBYTES)
        k->attrs.lds_nbytes -= SHARED_RESERVED_NBYTES;
    k->attrs.kernarg_align = 8;
    k->attrs.wave_size = 32;
}

bool cubin_is(const struct elf64 *elf)
{
    return elf->head.e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->head.e_ident[EI_DATA] == ELFDATA2LSB &&
           elf->head.e_machine == EM_CUDA_NUMBER;
}

bool cubin_read(struct codeobj *co, const struct elf64 *elf,
                char error[CODEOBJ_ERROR_MAX])
{
    struct file f = {.co = co, .elf = elf};
    const Elf64_Ehdr h = elf->head;
    const unsigned abi = h.e_ident[EI_OSABI];

    if ((abi != OSABI_CUDA && abi != OSABI_CUDA_13) || h.e_type != ET_EXEC)
        return fail(error, "a file of NVIDIA's, but no linked cubin", "");
    co->knows_suffix = abi == OSABI_CUDA && (h.e_flags & ACCELERATORS);
    snprintf(co->target, sizeof(co->target), "sm_%u%s",
             (unsigned)(abi == OSABI_CUDA_13 ? h.e_flags >> 8 : h.e_flags) &
                 0xffu,
             co->knows_suffix ? "a" : "");
    if (!co->knows_suffix)
        read_suffix(&f);
    if (!find_symbols(&f, error) || !find_kernels(&f, error) ||
        !read_sections(&f, error))
        return false;
    if (co->nkernels == 0)
        return fail(error, "no kernels", "");
    for (size_t i = 0; i < co->nkernels; i++)
        finish_kernel(&f, &co->kernels[i]);
    return true;
}
