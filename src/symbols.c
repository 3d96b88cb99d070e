/* symbols.c - what a code object exports, read from its ELF symbol table
 *
 * Every offset comes from the file and is held against its size before it is
 * followed. ELF: System V ABI, "Symbol Table"; that a kernel is exported as a
 * descriptor NAME.kd beside its code NAME: LLVM AMDGPUUsage, "Symbols". Cubins
 * have no dynamic symbols, and nvcc makes variables local to the file, which
 * CUDA finds all the same.
 */
#include "error.h"
#include "module.h"
#include "object_image.h"
#include "select_sm.h"

#include "base/number.h"

#include <string.h>

struct elf {
    const unsigned char *data;
    uint64_t nbytes;
    bool is_cubin;
};

/* Field offsets and sizes of ELF64. */
enum {
    EH_SHOFF = 40,
    EH_SHENTSIZE = 58,
    EH_SHNUM = 60,
    SH_TYPE = 4,
    SH_OFFSET = 24,
    SH_SIZE = 32,
    SH_LINK = 40,
    SH_NBYTES = 64,
    SYM_INFO = 4,
    SYM_SHNDX = 6,
    SYM_SIZE = 16,
    SYM_NBYTES = 24,
    SHT_SYMTAB = 2,
    SHT_DYNSYM = 11,
    STT_OBJECT = 1,
    STT_FUNC = 2,
    STB_LOCAL = 0,
    STB_GLOBAL = 1,
    STB_WEAK = 2
};

static bool inside(const struct elf *elf, uint64_t offset, uint64_t nbytes)
{
    return offset <= elf->nbytes && nbytes <= elf->nbytes - offset;
}

static const unsigned char *section(const struct elf *elf, uint64_t i)
{
    const uint64_t at = number_read(elf->data + EH_SHOFF, 8);
    const uint64_t n = number_read(elf->data + EH_SHNUM, 2);

    if (i >= n || number_read(elf->data + EH_SHENTSIZE, 2) != SH_NBYTES ||
        !inside(elf, at, n * SH_NBYTES))
        return NULL;
    return elf->data + at + i * SH_NBYTES;
}

/* A section's bytes; false if they are not all in the file. */
static bool contents(const struct elf *elf, const unsigned char *header,
                     struct elf *out)
{
    const uint64_t offset = number_read(header + SH_OFFSET, 8);
    const uint64_t nbytes = number_read(header + SH_SIZE, 8);

    if (!inside(elf, offset, nbytes))
        return false;
    *out = (struct elf){elf->data + offset, nbytes, elf->is_cubin};
    return true;
}

static bool find_tables(const struct elf *elf, struct elf *symbols,
                        struct elf *names)
{
    const uint64_t type = elf->is_cubin ? SHT_SYMTAB : SHT_DYNSYM;
    const unsigned char *header;

    for (uint64_t i = 0; (header = section(elf, i)) != NULL; i++) {
        const unsigned char *strings;

        if (number_read(header + SH_TYPE, 4) != type)
            continue;
        strings = section(elf, number_read(header + SH_LINK, 4));
        return strings && contents(elf, header, symbols) &&
               contents(elf, strings, names) && names->nbytes > 0 &&
               names->data[names->nbytes - 1] == '\0';
    }
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

/* Kernels are the symbols in the module's list. Variables are the other global
 * objects, except kernel descriptors. */
static bool describe(const kpk_module *module, const unsigned char *at,
                     const struct elf *names, kpk_symbol *out)
{
    const uint64_t name = number_read(at, 4);
    const unsigned type = at[SYM_INFO] & 15u;
    const unsigned binding = at[SYM_INFO] >> 4;

    const bool is_local =
        names->is_cubin && type == STT_OBJECT && binding == STB_LOCAL;
    const bool is_weak = /* such as instances of kernel templates */
        names->is_cubin && type == STT_FUNC && binding == STB_WEAK;

    if (name == 0 || name >= names->nbytes ||
        (binding != STB_GLOBAL && !is_local && !is_weak) ||
        number_read(at + SYM_SHNDX, 2) == 0)
        return false;
    out->name = (const char *)names->data + name;
    if (is_local && strchr("$.", out->name[0]))
        return false; /* the compiler's own, such as literals of text */
    out->nbytes = 0;
    out->kind = KPK_SYMBOL_KERNEL;
    for (uint32_t i = 0; i < module->nkernels; i++) {
        if (strcmp(out->name, kpk_i_string(module, module->kernels[i].name)) ==
            0)
            return true;
    }
    out->kind = KPK_SYMBOL_VARIABLE;
    out->nbytes = number_read(at + SYM_SIZE, 8);
    return type == STT_OBJECT && !ends_with(out->name, ".kd");
}

kpk_status kpk_module_symbols(const kpk_module *module, size_t object,
                              kpk_symbol *out, size_t room, size_t *count)
{
    const unsigned char *data = NULL;
    kpk_object info = {.data = NULL};
    struct elf elf;
    struct elf symbols;
    struct elf names;
    struct kpk_i_sm sm;
    size_t n = 0;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(count);
    if (room)
        KPK_I_NEED(out);
    st = kpk_module_object_info(module, object, &info);
    if (st == KPK_OK && info.nbytes == 0)
        st = kpk_i_fail(KPK_ERR_NO_TARGET,
                        "module %s has no code object for %s any more: `kpack "
                        "prune` took it out",
                        kpk_module_name(module), info.target);
    if (st == KPK_OK)
        st = kpk_i_object_image(module, object, &data);
    if (st != KPK_OK)
        return st;
    (void)kpk_i_sm_parse(info.target, &sm);
    if (sm.is_ptx)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "module %s for %s is PTX, a text without a symbol "
                          "table: ask a cubin of the module",
                          kpk_module_name(module), info.target);
    elf = (struct elf){data, info.nbytes, sm.number != 0};
    if (!find_tables(&elf, &symbols, &names))
        return kpk_i_fail(KPK_ERR_FORMAT,
                          "the code object of module %s for %s has no whole "
                          "symbol table: it is damaged",
                          kpk_module_name(module), info.target);
    for (uint64_t i = 0; i < symbols.nbytes / SYM_NBYTES; i++) {
        kpk_symbol symbol;

        if (!describe(module, symbols.data + i * SYM_NBYTES, &names, &symbol))
            continue;
        if (n < room)
            out[n] = symbol;
        n++;
    }
    *count = n;
    return KPK_OK;
}
