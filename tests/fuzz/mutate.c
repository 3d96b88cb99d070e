/* mutate.c - changes that keep the shape of a file */
#include "mutate.h"

#include <elf.h>
#include <stdio.h>

/* An own random generator: a seed gives the same change on every system. */
static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return n ? (*state >> 33) % n : 0;
}

/* A number that may be wrong in the usual ways. */
static uint64_t odd_number(uint64_t *state, uint64_t old, uint64_t nbytes)
{
    const uint64_t odd[] = {0,
                            1,
                            old + 1,
                            old - 1,
                            old * 2,
                            old / 2,
                            old + 8,
                            nbytes,
                            nbytes - 1,
                            nbytes + 1,
                            nbytes - old,
                            UINT32_MAX,
                            UINT64_C(1) << 31,
                            UINT64_MAX,
                            UINT64_MAX - 7,
                            UINT64_MAX - old,
                            draw(state, 256),
                            draw(state, nbytes + 1)};

    return odd[draw(state, sizeof(odd) / sizeof(odd[0]))];
}

static void change_number(uint8_t *at, size_t width, uint64_t *state,
                          uint64_t nbytes)
{
    uint64_t value = 0;

    memcpy(&value, at, width);
    value = odd_number(state, value, nbytes);
    memcpy(at, &value, width);
}

struct field {
    size_t at, width;
};

/* clang-format off */
#define FIELD(type, name) {offsetof(type, name), sizeof(((type *)0)->name)}
static const struct field file_fields[] = {
    FIELD(Elf64_Ehdr, e_ident[EI_OSABI]), FIELD(Elf64_Ehdr, e_ident[EI_ABIVERSION]),
    FIELD(Elf64_Ehdr, e_type), FIELD(Elf64_Ehdr, e_machine), FIELD(Elf64_Ehdr, e_entry),
    FIELD(Elf64_Ehdr, e_phoff), FIELD(Elf64_Ehdr, e_shoff), FIELD(Elf64_Ehdr, e_flags),
    FIELD(Elf64_Ehdr, e_phentsize), FIELD(Elf64_Ehdr, e_phnum),
    FIELD(Elf64_Ehdr, e_shentsize), FIELD(Elf64_Ehdr, e_shnum), FIELD(Elf64_Ehdr, e_shstrndx)};
static const struct field section_fields[] = {
    FIELD(Elf64_Shdr, sh_name), FIELD(Elf64_Shdr, sh_type), FIELD(Elf64_Shdr, sh_flags),
    FIELD(Elf64_Shdr, sh_addr), FIELD(Elf64_Shdr, sh_offset), FIELD(Elf64_Shdr, sh_size),
    FIELD(Elf64_Shdr, sh_link), FIELD(Elf64_Shdr, sh_info), FIELD(Elf64_Shdr, sh_addralign),
    FIELD(Elf64_Shdr, sh_entsize)};
static const struct field segment_fields[] = {
    FIELD(Elf64_Phdr, p_type), FIELD(Elf64_Phdr, p_offset), FIELD(Elf64_Phdr, p_vaddr),
    FIELD(Elf64_Phdr, p_filesz), FIELD(Elf64_Phdr, p_memsz), FIELD(Elf64_Phdr, p_align)};
static const struct field symbol_fields[] = {
    FIELD(Elf64_Sym, st_name), FIELD(Elf64_Sym, st_info), FIELD(Elf64_Sym, st_shndx),
    FIELD(Elf64_Sym, st_value), FIELD(Elf64_Sym, st_size)};
/* clang-format on */

/* Changes a field in a record of a table, if the table lies in the file. */
static void change_record(uint8_t *data, size_t nbytes, uint64_t table,
                          uint64_t n, size_t record, const struct field *fields,
                          size_t nfields, uint64_t *state)
{
    const struct field *f = &fields[draw(state, nfields)];
    const uint64_t at = table + draw(state, n) * record + f->at;

    if (n && table < nbytes && at < nbytes && f->width <= nbytes - at)
        change_number(data + at, f->width, state, nbytes);
}

/* Bytes of a section, which keeps its size: text, notes, symbols. */
static void change_section(uint8_t *data, size_t nbytes, const Elf64_Ehdr *h,
                           uint64_t *state)
{
    const uint64_t at =
        h->e_shoff + draw(state, h->e_shnum) * sizeof(Elf64_Shdr);
    Elf64_Shdr s;
    size_t n;

    if (!h->e_shnum || h->e_shoff > nbytes || at > nbytes ||
        nbytes - at < sizeof(s))
        return;
    memcpy(&s, data + at, sizeof(s));
    if (s.sh_type == SHT_NOBITS || s.sh_offset >= nbytes || !s.sh_size)
        return;
    n = s.sh_size < nbytes - s.sh_offset ? (size_t)s.sh_size
                                         : nbytes - (size_t)s.sh_offset;
    if ((s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM) && draw(state, 2))
        change_record(data, nbytes, s.sh_offset, n / sizeof(Elf64_Sym),
                      sizeof(Elf64_Sym), symbol_fields,
                      sizeof(symbol_fields) / sizeof(symbol_fields[0]), state);
    else if (s.sh_type == SHT_NOTE && n >= 12 && draw(state, 3) == 0)
        change_number(data + s.sh_offset + 4 * draw(state, 3), 4, state, n);
    else
        (void)LLVMFuzzerMutate(data + s.sh_offset, n, n);
}

size_t mutate_elf(uint8_t *data, size_t nbytes, size_t most, unsigned seed)
{
    uint64_t state = seed;
    Elf64_Ehdr h;

    if (nbytes < sizeof(h) || memcmp(data, ELFMAG, SELFMAG) != 0 ||
        draw(&state, 20) == 0)
        return LLVMFuzzerMutate(data, nbytes, most);
    memcpy(&h, data, sizeof(h));
    switch (draw(&state, 6)) {
    case 0:
        change_record(data, nbytes, 0, 1, 0, file_fields,
                      sizeof(file_fields) / sizeof(file_fields[0]), &state);
        break;
    case 1:
        change_record(data, nbytes, h.e_phoff, h.e_phnum, sizeof(Elf64_Phdr),
                      segment_fields,
                      sizeof(segment_fields) / sizeof(segment_fields[0]),
                      &state);
        break;
    case 2:
        change_record(data, nbytes, h.e_shoff, h.e_shnum, sizeof(Elf64_Shdr),
                      section_fields,
                      sizeof(section_fields) / sizeof(section_fields[0]),
                      &state);
        break;
    default:
        change_section(data, nbytes, &h, &state);
    }
    return nbytes;
}

/* ---- archives ------------------------------------------------------- */

enum { MAGIC_NBYTES = 8, HEADER_NBYTES = 60, SIZE_AT = 48, MOST_MEMBERS = 64 };

struct member {
    size_t at, nbytes; /* with its header and padding */
};

/* The members that lie in the file as their headers say. */
static size_t find_members(const uint8_t *data, size_t nbytes,
                           struct member members[MOST_MEMBERS])
{
    size_t n = 0;
    size_t at = MAGIC_NBYTES;

    while (n < MOST_MEMBERS && at < nbytes && nbytes - at >= HEADER_NBYTES) {
        size_t size = HEADER_NBYTES;
        size_t content = 0;

        for (size_t i = 0; i < 10; i++) {
            const uint8_t c = data[at + SIZE_AT + i];

            if (c >= '0' && c <= '9')
                content = content * 10 + (size_t)(c - '0');
        }
        size += content + content % 2;
        if (size > nbytes - at)
            size = nbytes - at;
        members[n++] = (struct member){at, size};
        at += size;
    }
    return n;
}

static size_t remove_member(uint8_t *data, size_t nbytes, struct member m)
{
    memmove(data + m.at, data + m.at + m.nbytes, nbytes - m.at - m.nbytes);
    return nbytes - m.nbytes;
}

static size_t copy_member(uint8_t *data, size_t nbytes, size_t most,
                          struct member m)
{
    if (m.nbytes > most - nbytes)
        return nbytes;
    memmove(data + m.at + m.nbytes, data + m.at, nbytes - m.at);
    return nbytes + m.nbytes;
}

/* Its content as an ELF file, or as bytes, in the room that it has. */
static void change_content(uint8_t *data, struct member m, unsigned seed)
{
    if (m.nbytes > HEADER_NBYTES)
        (void)mutate_elf(data + m.at + HEADER_NBYTES, m.nbytes - HEADER_NBYTES,
                         m.nbytes - HEADER_NBYTES, seed);
}

static void change_size(uint8_t *data, struct member m, uint64_t *state)
{
    char digits[32];

    (void)snprintf(digits, sizeof(digits), "%-10llu",
                   (unsigned long long)odd_number(
                       state, m.nbytes - HEADER_NBYTES, m.nbytes));
    memcpy(data + m.at + SIZE_AT, digits, 10);
}

size_t mutate_archive(uint8_t *data, size_t nbytes, size_t most, unsigned seed)
{
    struct member members[MOST_MEMBERS], m;
    uint64_t state = seed;
    size_t n;

    if (nbytes < MAGIC_NBYTES || memcmp(data, "!<arch>\n", MAGIC_NBYTES) != 0)
        return mutate_elf(data, nbytes, most, seed);
    n = find_members(data, nbytes, members);
    if (n == 0 || draw(&state, 20) == 0)
        return LLVMFuzzerMutate(data, nbytes, most);
    m = members[draw(&state, n)];
    switch (draw(&state, 6)) {
    case 0:
        return remove_member(data, nbytes, m);
    case 1:
        return copy_member(data, nbytes, most, m);
    case 2:
        change_size(data, m, &state);
        return nbytes;
    case 3: /* another field in the member's header */
        (void)LLVMFuzzerMutate(data + m.at, HEADER_NBYTES, HEADER_NBYTES);
        return nbytes;
    default:
        change_content(data, m, seed);
        return nbytes;
    }
}
