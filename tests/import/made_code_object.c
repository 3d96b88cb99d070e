/* made_code_object.c - makes code objects like those of hand-written kernels
 *
 * Layout: LLVM AMDGPUUsage, "ELF Code Object" and "Code Object Metadata";
 * bundles: clang's ClangOffloadBundler; offload binaries: OffloadBinary.h.
 */
#include "made_code_object.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* ---- bytes that grow ----------------------------------------------------- */

struct bytes {
    unsigned char *data;
    size_t n, room;
};

static void *or_exit(void *memory)
{
    if (memory)
        return memory;
    fputs("out of memory\n", stderr);
    exit(1);
}

/* Room for n zeros at the end; where they are. */
static size_t add_zeros(struct bytes *b, size_t n)
{
    const size_t at = b->n;

    if (b->room - b->n < n) {
        b->room = 2 * (b->n + n) + 256;
        b->data = or_exit(realloc(b->data, b->room));
    }
    memset(b->data + at, 0, n);
    b->n += n;
    return at;
}

static size_t add(struct bytes *b, const void *data, size_t n)
{
    const size_t at = add_zeros(b, n);

    memcpy(b->data + at, data, n);
    return at;
}

static void align(struct bytes *b, size_t alignment)
{
    (void)add_zeros(b, (alignment - b->n % alignment) % alignment);
}

static void add_number(struct bytes *b, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++, value >>= 8)
        (void)add(b, &(unsigned char){(unsigned char)value}, 1);
}

/* ---- msgpack ------------------------------------------------------------- */

static void pack_head(struct bytes *b, unsigned char fix, size_t fix_max,
                      unsigned char wide, size_t n)
{
    if (n <= fix_max) {
        add_number(b, fix | n, 1);
        return;
    }
    add_number(b, wide, 1); /* 16 bits, big-endian */
    add_number(b, n >> 8, 1);
    add_number(b, n, 1);
}

static void pack_map(struct bytes *b, size_t n)
{
    pack_head(b, 0x80, 15, 0xde, n);
}

static void pack_list(struct bytes *b, size_t n)
{
    pack_head(b, 0x90, 15, 0xdc, n);
}

static void pack_text(struct bytes *b, const char *text)
{
    pack_head(b, 0xa0, 31, 0xda, strlen(text));
    (void)add(b, text, strlen(text));
}

static void pack_number(struct bytes *b, const char *key, uint32_t value)
{
    pack_text(b, key);
    add_number(b, 0xce, 1);
    for (int shift = 24; shift >= 0; shift -= 8)
        add_number(b, value >> shift, 1);
}

static void pack_arg(struct bytes *b, const struct made_arg *arg)
{
    pack_map(b, arg->name ? 4 : 3);
    if (arg->name) {
        pack_text(b, ".name");
        pack_text(b, arg->name);
    }
    pack_number(b, ".offset", arg->offset);
    pack_number(b, ".size", arg->size);
    pack_text(b, ".value_kind");
    pack_text(b, arg->kind ? arg->kind : "by_value");
}

/* No amdhsa.target, and version [1, 0] whatever the ELF says: as AMD's. */
static struct bytes make_metadata(const struct made_object *spec)
{
    struct bytes b = {0};
    char symbol[512];

    snprintf(symbol, sizeof(symbol), "%s.kd", spec->kernel);
    pack_map(&b, 2);
    pack_text(&b, "amdhsa.kernels");
    pack_list(&b, 1);
    pack_map(&b, 12);
    pack_text(&b, ".args");
    pack_list(&b, spec->nargs);
    for (size_t i = 0; i < spec->nargs; i++)
        pack_arg(&b, &spec->args[i]);
    pack_number(&b, ".group_segment_fixed_size", spec->lds_nbytes);
    pack_number(&b, ".kernarg_segment_align", 4);
    pack_number(&b, ".kernarg_segment_size", spec->kernarg_nbytes);
    pack_number(&b, ".max_flat_workgroup_size", 256);
    pack_text(&b, ".name");
    pack_text(&b, spec->kernel);
    pack_number(&b, ".private_segment_fixed_size", 0);
    pack_text(&b, ".reqd_workgroup_size");
    pack_list(&b, 3);
    (void)add(&b, "\xcd\x01\x00\x01\x01", 5); /* 256, 1, 1 */
    pack_number(&b, ".sgpr_count", 96);
    pack_text(&b, ".symbol");
    pack_text(&b, symbol);
    pack_number(&b, ".vgpr_count", 128);
    pack_number(&b, ".wavefront_size", spec->wave_size);
    pack_text(&b, "amdhsa.version");
    pack_list(&b, 2);
    (void)add(&b, "\x01\x00", 2);
    return b;
}

size_t slot_args(const char *letters, struct made_arg *out, size_t room)
{
    size_t n = 0;

    for (uint32_t slot = 0; letters[slot] && n + 4 <= room; slot++) {
        const uint32_t at = 16 * slot;
        const uint32_t used = letters[slot] == 'p' ? 8 : 4;

        out[n++] = (struct made_arg){"arg", at, used,
                                     used == 8 ? "global_buffer" : NULL};
        for (uint32_t pad = used; pad < 16; pad += used)
            out[n++] = (struct made_arg){"pad", at + pad, used, NULL};
    }
    return n;
}

/* ---- ELF ----------------------------------------------------------------- */

enum { NOTE = 1, DYNSYM, DYNSTR, RODATA, TEXT, SHSTRTAB, NSECTIONS };

static size_t add_section(struct bytes *b, Elf64_Shdr *h, uint32_t type,
                          size_t alignment, const void *data, size_t n)
{
    align(b, alignment);
    h->sh_type = type;
    h->sh_addralign = alignment;
    h->sh_offset = h->sh_addr = add_zeros(b, 0);
    h->sh_size = n;
    (void)add(b, data, n);
    return h->sh_offset;
}

static void add_note(struct bytes *b, Elf64_Shdr *h,
                     const struct made_object *spec)
{
    struct bytes metadata = make_metadata(spec), note = {0};

    add_number(&note, 7, 4);
    add_number(&note, metadata.n, 4);
    add_number(&note, 32, 4);
    (void)add(&note, "AMDGPU\0", 8);
    (void)add(&note, metadata.data, metadata.n);
    align(&note, 4);
    (void)add_section(b, h, SHT_NOTE, 4, note.data, note.n);
    free(metadata.data);
    free(note.data);
}

/* The kernel's code and its descriptor NAME.kd, which follow. */
static void add_symbols(struct bytes *b, Elf64_Shdr *h, const char *kernel)
{
    Elf64_Sym symbols[3] = {0};
    const size_t length = strlen(kernel);
    struct bytes names = {0};

    (void)add(&names, "", 1);
    symbols[1].st_name = 1;
    symbols[1].st_info = STB_GLOBAL << 4 | STT_FUNC;
    symbols[1].st_shndx = TEXT;
    (void)add(&names, kernel, length + 1);
    symbols[2].st_name = (uint32_t)names.n;
    symbols[2].st_info = STB_GLOBAL << 4 | STT_OBJECT;
    symbols[2].st_shndx = RODATA;
    symbols[2].st_size = 64;
    (void)add(&names, kernel, length);
    (void)add(&names, ".kd", 4);
    (void)add_section(b, &h[DYNSYM], SHT_DYNSYM, 8, symbols, sizeof(symbols));
    h[DYNSYM].sh_entsize = sizeof(symbols[0]);
    h[DYNSYM].sh_link = DYNSTR;
    h[DYNSYM].sh_info = 1;
    (void)add_section(b, &h[DYNSTR], SHT_STRTAB, 1, names.data, names.n);
    free(names.data);
}

static void name_sections(struct bytes *b, Elf64_Shdr *h)
{
    static const char *const names[NSECTIONS] = {
        "", ".note", ".dynsym", ".dynstr", ".rodata", ".text", ".shstrtab"};
    struct bytes all = {0};

    for (size_t i = 0; i < NSECTIONS; i++)
        h[i].sh_name = (uint32_t)add(&all, names[i], strlen(names[i]) + 1);
    (void)add_section(b, &h[SHSTRTAB], SHT_STRTAB, 1, all.data, all.n);
    free(all.data);
}

unsigned char *make_object(const struct made_object *spec, size_t *nbytes)
{
    static const unsigned char end[] = {0x00, 0x00, 0x81, 0xbf}; /* s_endpgm */
    Elf64_Ehdr e = {0};
    Elf64_Phdr p[2] = {0};
    Elf64_Shdr h[NSECTIONS] = {0};
    unsigned char descriptor[64] = {0};
    struct bytes b = {0};

    (void)add_zeros(&b, sizeof(e) + sizeof(p));
    add_note(&b, &h[NOTE], spec);
    add_symbols(&b, h, spec->kernel);
    (void)add_section(&b, &h[RODATA], SHT_PROGBITS, 64, descriptor,
                      sizeof(descriptor));
    (void)add_section(&b, &h[TEXT], SHT_PROGBITS, 256, end, sizeof(end));
    while (b.n + sizeof(h) < spec->nbytes) {
        (void)add(&b, end, sizeof(end));
        h[TEXT].sh_size += sizeof(end);
    }
    name_sections(&b, h);
    align(&b, 8);
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    e.e_ident[EI_DATA] = ELFDATA2LSB;
    e.e_ident[EI_VERSION] = EV_CURRENT;
    e.e_ident[EI_OSABI] = 64;
    e.e_ident[EI_ABIVERSION] = (unsigned char)spec->abi_version;
    e.e_type = ET_DYN;
    e.e_machine = 224;
    e.e_version = EV_CURRENT;
    e.e_phoff = sizeof(e);
    e.e_shoff = add(&b, h, sizeof(h));
    e.e_flags = spec->e_flags;
    e.e_ehsize = sizeof(e);
    e.e_phentsize = sizeof(p[0]);
    e.e_phnum = 2;
    e.e_shentsize = sizeof(h[0]);
    e.e_shnum = NSECTIONS;
    e.e_shstrndx = SHSTRTAB;
    p[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_filesz = h[SHSTRTAB].sh_offset,
                        .p_memsz = h[SHSTRTAB].sh_offset,
                        .p_align = 4096};
    p[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                        .p_flags = PF_R,
                        .p_offset = h[NOTE].sh_offset,
                        .p_vaddr = h[NOTE].sh_offset,
                        .p_paddr = h[NOTE].sh_offset,
                        .p_filesz = h[NOTE].sh_size,
                        .p_memsz = h[NOTE].sh_size,
                        .p_align = 4};
    memcpy(b.data, &e, sizeof(e));
    memcpy(b.data + sizeof(e), p, sizeof(p));
    *nbytes = b.n;
    return b.data;
}

/* ---- bundles ------------------------------------------------------------- */

unsigned char *make_bundle(const struct made_entry *entries, size_t n,
                           size_t alignment, size_t *nbytes)
{
    struct bytes b = {0};
    size_t at = 32;

    for (size_t i = 0; i < n; i++)
        at += 24 + strlen(entries[i].id);
    (void)add(&b, "__CLANG_OFFLOAD_BUNDLE__", 24);
    add_number(&b, n, 8);
    for (size_t i = 0; i < n; i++) {
        at = (at + alignment - 1) / alignment * alignment;
        add_number(&b, at, 8);
        add_number(&b, entries[i].nbytes, 8);
        add_number(&b, strlen(entries[i].id), 8);
        (void)add(&b, entries[i].id, strlen(entries[i].id));
        at += entries[i].nbytes;
    }
    for (size_t i = 0; i < n; i++) {
        align(&b, alignment);
        (void)add(&b, entries[i].data, entries[i].nbytes);
    }
    *nbytes = b.n;
    return b.data;
}

unsigned char *compress_bundle(const void *plain, size_t plain_nbytes,
                               unsigned version, unsigned method,
                               size_t *nbytes)
{
    const size_t header = version > 2 ? 32 : version > 1 ? 24 : 20;
    const size_t room = ZSTD_compressBound(plain_nbytes) + 1024;
    unsigned char *packed = or_exit(malloc(room));
    uLongf packed_nbytes = room;
    struct bytes b = {0};

    if (method == 1)
        packed_nbytes = ZSTD_compress(packed, room, plain, plain_nbytes, 3);
    else
        (void)compress2(packed, &packed_nbytes, plain, plain_nbytes, 6);
    (void)add(&b, "CCOB", 4);
    add_number(&b, version, 2);
    add_number(&b, method, 2);
    if (version > 1)
        add_number(&b, header + packed_nbytes, version > 2 ? 8 : 4);
    add_number(&b, plain_nbytes, version > 2 ? 8 : 4);
    add_number(&b, 0, 8); /* the hash, which no one reads */
    (void)add(&b, packed, packed_nbytes);
    free(packed);
    *nbytes = b.n;
    return b.data;
}

/* ---- offload binaries ---------------------------------------------------- */

static void put_number(struct bytes *b, size_t at, uint64_t value)
{
    for (size_t i = 0; i < 8; i++, value >>= 8)
        b->data[at + i] = (unsigned char)value;
}

static void add_offload(struct bytes *b, const struct made_image *images,
                        size_t n, unsigned version)
{
    const size_t start = b->n, string_nbytes = version == 1 ? 16 : 24;
    size_t records, strings;

    (void)add(b, "\x10\xff\x10\xad", 4);
    add_number(b, version, 4);
    add_number(b, 0, 8); /* the size, when it is known */
    add_number(b, 32, 8);
    add_number(b, version == 1 ? 40 : n, 8);
    records = add_zeros(b, n * 40);
    strings = add_zeros(b, n * 2 * string_nbytes);
    for (size_t i = 0; i < n; i++) {
        const char *const texts[] = {"triple", images[i].triple, "arch",
                                     images[i].target};
        const size_t record = records + i * 40;
        size_t nstrings = 0;

        put_number(b, record, 2 | 4 << 16); /* bitcode of HIP: a lie */
        put_number(b, record + 8, strings + i * 2 * string_nbytes - start);
        for (size_t k = 0; k < 4; k += 2) {
            const size_t string = strings + (i * 2 + nstrings) * string_nbytes;
            size_t at;

            if (!texts[k + 1])
                continue;
            at = add(b, texts[k], strlen(texts[k]) + 1);
            put_number(b, string, at - start);
            at = add(b, texts[k + 1], strlen(texts[k + 1]) + 1);
            put_number(b, string + 8, at - start);
            if (version > 1)
                put_number(b, string + 16, strlen(texts[k + 1]));
            nstrings++;
        }
        put_number(b, record + 16, nstrings);
        align(b, 8);
        put_number(b, record + 24, b->n - start);
        (void)add(b, images[i].data, images[i].nbytes);
        put_number(b, record + 32, images[i].nbytes);
    }
    align(b, 8);
    put_number(b, start + 8, b->n - start);
}

unsigned char *make_offload(const struct made_image *images, size_t n,
                            unsigned version, size_t *nbytes)
{
    struct bytes b = {0};

    if (version > 1)
        add_offload(&b, images, n, version);
    for (size_t i = 0; version == 1 && i < n; i++)
        add_offload(&b, &images[i], 1, version);
    *nbytes = b.n;
    return b.data;
}
