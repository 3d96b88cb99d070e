/* kpack-report.c - the command: prints a code object's content as JSON
 *
 *   kpack-report MODULE FILE >OUT
 *
 * It prints one JSON object: the sizes of the file's parts, and each kernel's
 * registers, memory, occupancy, and instructions by class. `make report` makes
 * a page from the output for a whole pack.
 */
#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/codeobj_read.h"
#include "report/report_occupancy.h"

/* ---- classes of instructions ---------------------------------------- */

/* The first row whose prefix the mnemonic has says its class. page.html names
 * classes in this order. */
enum class {
    MATRIX,
    VECTOR,
    SPECIAL,
    SCALAR,
    LOAD,
    MEMORY,
    LDS,
    BRANCH,
    WAIT,
    NCLASSES
};

static const struct {
    const char *prefix;
    enum class class;
} prefixes[] = {
    {"v_mfma", MATRIX},    {"v_smfmac", MATRIX}, {"v_wmma", MATRIX},
    {"v_swmmac", MATRIX},  {"v_exp_", SPECIAL},  {"v_log_", SPECIAL},
    {"v_rcp_", SPECIAL},   {"v_rsq_", SPECIAL},  {"v_sqrt_", SPECIAL},
    {"v_sin_", SPECIAL},   {"v_cos_", SPECIAL},  {"v_s_", SPECIAL},
    {"v_", VECTOR},        {"s_load", LOAD},     {"s_buffer_", LOAD},
    {"s_wait", WAIT},      {"s_nop", WAIT},      {"s_delay_alu", WAIT},
    {"s_barrier", WAIT},   {"s_clause", WAIT},   {"s_sleep", WAIT},
    {"s_code_end", WAIT},  {"s_sendmsg", WAIT},  {"s_branch", BRANCH},
    {"s_cbranch", BRANCH}, {"s_setpc", BRANCH},  {"s_swappc", BRANCH},
    {"s_call", BRANCH},    {"s_endpgm", BRANCH}, {"s_", SCALAR},
    {"global_", MEMORY},   {"flat_", MEMORY},    {"buffer_", MEMORY},
    {"scratch_", MEMORY},  {"tbuffer_", MEMORY}, {"image_", MEMORY},
    {"ds_", LDS},          {"", SCALAR},
};

static enum class class_of(const char *mnemonic) {
    size_t i = 0;

    while (strncmp(mnemonic, prefixes[i].prefix, strlen(prefixes[i].prefix)) !=
           0) i++;
    return prefixes[i].class;
}

static LLVMDisasmContextRef disassembler(const struct codeobj *co,
                                         unsigned wave_size)
{
    char processor[CODEOBJ_TARGET_MAX];
    char features[32];

    (void)snprintf(processor, sizeof(processor), "%s", co->target);
    processor[strcspn(processor, ":")] = '\0';
    (void)snprintf(features, sizeof(features), "+wavefrontsize%u", wave_size);
    return LLVMCreateDisasmCPUFeatures(
        "amdgcn-amd-amdhsa", processor,
        strncmp(processor, "gfx9", 4) == 0 ? "" : features, NULL, 0, NULL,
        NULL);
}

/* Counts instructions by class. Bytes that do not disassemble, such as a table
 * in the code, are skipped. */
static void count_instructions(LLVMDisasmContextRef context,
                               const unsigned char *code, uint64_t nbytes,
                               unsigned long counts[NCLASSES])
{
    char text[512];
    uint64_t at = 0;

    while (at < nbytes) {
        const size_t n = LLVMDisasmInstruction(
            context, (uint8_t *)code + at, nbytes - at, at, text, sizeof(text));
        const char *mnemonic = text;

        if (n == 0) {
            at += 4;
            continue;
        }
        while (isspace((unsigned char)*mnemonic))
            mnemonic++;
        counts[class_of(mnemonic)]++;
        at += n;
    }
}

/* ---- the file ------------------------------------------------------- */

struct parts {
    uint64_t code, metadata, symbols;
};

struct code {
    const unsigned char *data;
    uint64_t nbytes;
};

static void measure_parts(Elf *elf, struct parts *out)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr h;

        if (!gelf_getshdr(section, &h))
            continue;
        if (h.sh_type == SHT_NOTE)
            out->metadata += h.sh_size;
        else if (h.sh_flags & SHF_EXECINSTR)
            out->code += h.sh_size;
        else if (h.sh_type != SHT_PROGBITS && h.sh_type != SHT_NOBITS &&
                 h.sh_type != SHT_DYNAMIC)
            out->symbols += h.sh_size;
    }
}

/* Finds a function symbol's code in the file; false if there is none. */
static bool code_of_symbol(const struct codeobj *co, Elf *elf,
                           const GElf_Sym *symbol, struct code *out)
{
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    GElf_Shdr h;
    uint64_t at;

    if (!section || !gelf_getshdr(section, &h) || h.sh_type == SHT_NOBITS ||
        symbol->st_value < h.sh_addr)
        return false;
    at = symbol->st_value - h.sh_addr;
    if (at > h.sh_size || symbol->st_size > h.sh_size - at ||
        h.sh_offset > co->nbytes || h.sh_size > co->nbytes - h.sh_offset)
        return false;
    *out = (struct code){co->data + h.sh_offset + at, symbol->st_size};
    return true;
}

static struct code find_code(const struct codeobj *co, Elf *elf,
                             const char *kernel)
{
    struct code code = {NULL, 0};
    Elf_Scn *section = NULL;

    while (!code.data && (section = elf_nextscn(elf, section))) {
        GElf_Shdr h;
        Elf_Data *data;
        GElf_Sym symbol;

        if (!gelf_getshdr(section, &h) || h.sh_type != SHT_DYNSYM)
            continue;
        data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(elf, h.sh_link, symbol.st_name);

            if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && name &&
                strcmp(name, kernel) == 0 &&
                code_of_symbol(co, elf, &symbol, &code))
                break;
        }
    }
    return code;
}

/* ---- JSON ----------------------------------------------------------- */

/* A name from a file: nothing of it may end the string, or the script element
 * of the page that it gets into. */
static void print_string(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ' || strchr("\"\\<>&", *c) || *c > '~')
            printf("\\u%04x", *c);
        else
            putchar(*c);
    putchar('"');
}

/* In the order of page.html's columns. */
static void print_kernel(const struct codeobj *co, Elf *elf,
                         LLVMDisasmContextRef context,
                         const struct codeobj_kernel *kernel)
{
    const struct kpk_kernel_attrs *a = &kernel->attrs;
    const struct code code = find_code(co, elf, kernel->name);
    unsigned long counts[NCLASSES] = {0};
    struct occupancy occupancy = occupancy_of(co->target, a);

    count_instructions(context, code.data, code.nbytes, counts);
    putchar('[');
    print_string(kernel->name);
    printf(",%llu,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,[",
           (unsigned long long)code.nbytes, a->vgprs, a->agprs, a->sgprs,
           (unsigned)a->lds_nbytes, (unsigned)a->scratch_nbytes,
           (unsigned)a->vgpr_spills + a->sgpr_spills, (unsigned)a->max_block,
           a->wave_size, occupancy.waves, occupancy.most, occupancy.block);
    for (int i = 0; i < NCLASSES; i++)
        printf("%s%lu", i ? "," : "", counts[i]);
    printf("]]");
}

static bool print_object(const char *module, const struct codeobj *co)
{
    LLVMDisasmContextRef contexts[2] = {disassembler(co, 32),
                                        disassembler(co, 64)};
    Elf *elf = elf_memory((char *)co->data, co->nbytes);
    struct parts parts = {0, 0, 0};

    if (!contexts[0] || !contexts[1] || !elf) {
        (void)fprintf(stderr, "%s: LLVM cannot disassemble code for %s\n",
                      co->path, co->target);
        return false;
    }
    measure_parts(elf, &parts);
    printf("{\"module\":");
    print_string(module);
    printf(",\"target\":");
    print_string(co->target);
    printf(",\"bytes\":%zu,\"code\":%llu,\"metadata\":%llu,\"symbols\":%llu,"
           "\"kernels\":[",
           co->nbytes, (unsigned long long)parts.code,
           (unsigned long long)parts.metadata,
           (unsigned long long)parts.symbols);
    for (size_t i = 0; i < co->nkernels; i++) {
        printf("%s\n", i ? "," : "");
        print_kernel(co, elf, contexts[co->kernels[i].attrs.wave_size == 64],
                     &co->kernels[i]);
    }
    printf("]}\n");
    (void)elf_end(elf);
    LLVMDisasmDispose(contexts[0]);
    LLVMDisasmDispose(contexts[1]);
    return true;
}

int main(int argc, char **argv)
{
    char error[CODEOBJ_ERROR_MAX];
    struct codeobj *co;
    bool ok;

    if (argc != 3) {
        (void)fputs("usage: kpack-report MODULE FILE\n", stderr);
        return 2;
    }
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    co = codeobj_read(argv[2], error);
    if (!co) {
        (void)fprintf(stderr, "%s: %s\n", argv[2], error);
        return 1;
    }
    if (codeobj_is_nvidia(co)) /* LLVM ends the program */
        (void)fprintf(stderr, "%s: is for %s, not for AMDGPU\n", co->path,
                      co->target);
    ok = !codeobj_is_nvidia(co) && print_object(argv[1], co);
    codeobj_free(co);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ok ? 0 : 1;
    (void)fprintf(stderr, "kpack-report: cannot write to standard output: %s\n",
                  strerror(errno));
    return 1;
}
