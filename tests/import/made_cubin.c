/* made_cubin.c - writes a cubin section by section */
#include "made_cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 16, EM_CUDA_NUMBER = 190, SHT_CUDA_INFO = 0x70000000 };

/* The sections, in their order in the file. */
enum {
    NONE,
    NAMES,
    STRINGS,
    SYMBOLS,
    INFO,
    INFO_KERNEL,
    TEXT,
    SHARED,
    TOOL,
    NSECTIONS
};

static const char reserved[] = ".nv.reservedSmem.offset0";

struct out {
    unsigned char *data;
    size_t n;
    Elf64_Shdr headers[NSECTIONS];
};

static void put(struct out *o, const void *from, size_t n)
{
    if (n > FILE_MAX - o->n)
        abort();
    memcpy(o->data + o->n, from, n);
    o->n += n;
}

static void put_u16(struct out *o, unsigned value)
{
    const uint16_t v = (uint16_t)value;

    put(o, &v, sizeof(v));
}

static void put_u32(struct out *o, uint32_t value)
{
    put(o, &value, sizeof(value));
}

static void put_u32s(struct out *o, const uint32_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_u32(o, values[i]);
}

static void begin(struct out *o, int section, uint32_t type)
{
    o->n = (o->n + 7) & ~(size_t)7;
    o->headers[section].sh_type = type;
    o->headers[section].sh_offset = o->n;
    o->headers[section].sh_addralign = 8;
}

static void end(struct out *o, int section)
{
    o->headers[section].sh_size = o->n - o->headers[section].sh_offset;
}

/* The head of a record whose value is n bytes, or, if n is 0, 16 bits. */
static void record(struct out *o, unsigned tag, unsigned n)
{
    const unsigned char head[2] = {n ? 4 : 3, (unsigned char)tag};

    put(o, head, sizeof(head));
    if (n)
        put_u16(o, n);
}

static void put_kernel_info(struct out *o, const struct made_cubin *spec)
{
    record(o, 0x37, 4);
    put_u32(o, spec->release);
    for (uint16_t i = spec->nparams; i-- > 0;) {
        record(o, spec->large_params ? 0x45 : 0x17, 12);
        put_u32(o, 0);
        put_u16(o, i);
        put_u16(o, spec->params[i].offset);
        put_u32(o, spec->large_params
                       ? 0x05000000 | spec->params[i].nbytes
                       : (uint32_t)spec->params[i].nbytes << 18 | 0x1f000);
    }
    record(o, 0x19, 0);
    put_u16(o, spec->param_nbytes);
    if (spec->max_threads[0]) {
        record(o, 0x05, 12);
        put_u32s(o, spec->max_threads, 3);
    }
    if (spec->reqd_block[0]) {
        record(o, 0x10, 12);
        put_u32s(o, spec->reqd_block, 3);
    }
    if (spec->extra_tag) {
        record(o, spec->extra_tag, 4);
        put_u32(o, 0);
    }
}

static void put_symbols(struct out *o, const struct made_cubin *spec)
{
    Elf64_Sym symbol = {0};

    put(o, &symbol, sizeof(symbol));
    symbol.st_name = 1;
    symbol.st_info = ELF64_ST_INFO(
        spec->is == MADE_WEAK_KERNEL ? STB_WEAK : STB_GLOBAL, STT_FUNC);
    symbol.st_other = spec->is == MADE_DEVICE_FUNCTION ? 0 : 0x10;
    symbol.st_shndx = TEXT;
    symbol.st_size = 128;
    put(o, &symbol, sizeof(symbol));
    if (spec->sm < 90) /* there the system reserves no shared memory */
        return;
    symbol = (Elf64_Sym){.st_name = 2 + (uint32_t)strlen(spec->kernel),
                         .st_info = ELF64_ST_INFO(STB_WEAK, STT_OBJECT),
                         .st_size = 4};
    put(o, &symbol, sizeof(symbol));
}

/* A section's name, of which the kernel's may be the end. */
static void put_name(struct out *o, int section, const char *prefix,
                     const char *kernel)
{
    o->headers[section].sh_name =
        (uint32_t)(o->n - o->headers[NAMES].sh_offset);
    put(o, prefix, strlen(prefix));
    put(o, kernel, strlen(kernel) + 1);
}

unsigned char *make_cubin(const struct made_cubin *spec, size_t *nbytes)
{
    /* ACQBULK, as ptxas 13 writes it for griddepcontrol.wait */
    static const unsigned char wait[16] = {0x2e, 0x78, [13] = 0xe2, 0x0f};
    unsigned char code[128] = {0};
    struct out o = {.data = calloc(1, FILE_MAX)};
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                    EV_CURRENT, spec->before_13 ? 0x33 : 0x41,
                    spec->before_13 ? 7 : 8},
        .e_type = ET_EXEC,
        .e_machine = EM_CUDA_NUMBER,
        .e_version = EV_CURRENT,
        .e_flags = spec->before_13 ? spec->sm << 16 | spec->sm |
                                         (spec->accelerators ? 0x800 : 0)
                                   : 0x6000000 | spec->sm << 8 | 4,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = NSECTIONS,
        .e_shstrndx = NAMES};

    if (!o.data)
        abort();
    if (spec->waits)
        memcpy(code + 48, wait, sizeof(wait));
    o.n = sizeof(head);
    begin(&o, NAMES, SHT_STRTAB);
    put(&o, "", 1);
    put_name(&o, NAMES, ".shstrtab", "");
    put_name(&o, STRINGS, ".strtab", "");
    put_name(&o, SYMBOLS, ".symtab", "");
    put_name(&o, INFO, ".nv.info", "");
    put_name(&o, INFO_KERNEL, ".nv.info.", spec->kernel);
    put_name(&o, TEXT, ".text.", spec->kernel);
    put_name(&o, SHARED, ".nv.shared.", spec->kernel);
    put_name(&o, TOOL, ".note.nv.tkinfo", "");
    end(&o, NAMES);
    begin(&o, STRINGS, SHT_STRTAB);
    put(&o, "", 1);
    put(&o, spec->kernel, strlen(spec->kernel) + 1);
    put(&o, reserved, sizeof(reserved));
    end(&o, STRINGS);
    begin(&o, SYMBOLS, SHT_SYMTAB);
    put_symbols(&o, spec);
    end(&o, SYMBOLS);
    o.headers[SYMBOLS].sh_link = STRINGS;
    o.headers[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    begin(&o, INFO, SHT_CUDA_INFO);
    record(&o, 0x2f, 8);
    put_u32s(&o, (const uint32_t[]){1, spec->registers}, 2);
    record(&o, 0x11, 8);
    put_u32s(&o, (const uint32_t[]){1, spec->stack_nbytes}, 2);
    if (spec->calls_stack_nbytes) {
        record(&o, 0x12, 8);
        put_u32s(&o, (const uint32_t[]){1, spec->calls_stack_nbytes}, 2);
    }
    end(&o, INFO);
    begin(&o, INFO_KERNEL, SHT_CUDA_INFO);
    put_kernel_info(&o, spec);
    end(&o, INFO_KERNEL);
    begin(&o, TEXT, SHT_PROGBITS);
    put(&o, code, sizeof(code));
    end(&o, TEXT);
    begin(&o, TOOL, SHT_NOTE);
    if (spec->options)
        put(&o, spec->options, strlen(spec->options) + 1);
    end(&o, TOOL);
    o.headers[SHARED].sh_type = SHT_NOBITS;
    o.headers[SHARED].sh_size = spec->shared_nbytes;
    begin(&o, NONE, SHT_NULL); /* aligns */
    head.e_shoff = o.n;
    o.headers[NONE] = (Elf64_Shdr){0};
    put(&o, o.headers, sizeof(o.headers));
    memcpy(o.data, &head, sizeof(head));
    *nbytes = o.n;
    return o.data;
}
