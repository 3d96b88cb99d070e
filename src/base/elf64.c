/* elf64.c - the parts of a little-endian ELF file of 64 bits */
#include "elf64.h"

#include <stdint.h>
#include <string.h>

static bool inside(const struct elf64 *elf, uint64_t at, uint64_t nbytes)
{
    return at <= elf->nbytes && nbytes <= elf->nbytes - at;
}

/* The entries of a table that lie in the file. */
static size_t entries(const struct elf64 *elf, uint64_t at, size_t n,
                      size_t stated_nbytes, size_t nbytes)
{
    if (at == 0 || at > elf->nbytes || stated_nbytes != nbytes)
        return 0;
    return n < (elf->nbytes - at) / nbytes ? n : (elf->nbytes - at) / nbytes;
}

bool elf64_open(struct elf64 *out, const void *data, size_t nbytes)
{
    const Elf64_Ehdr *h = &out->head;

    *out = (struct elf64){.data = data, .nbytes = nbytes};
    if (nbytes < sizeof(*h) || memcmp(data, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&out->head, data, sizeof(*h));
    out->nsegments = entries(out, h->e_phoff, h->e_phnum, h->e_phentsize,
                             sizeof(Elf64_Phdr));
    out->nsections =
        entries(out, h->e_shoff, SIZE_MAX, h->e_shentsize, sizeof(Elf64_Shdr));
    out->stated_nsections = h->e_shnum;
    out->names = h->e_shstrndx;
    if (out->nsections && h->e_shnum == 0) /* more than fit there */
        out->stated_nsections = elf64_section(out, 0).sh_size;
    if (out->nsections && h->e_shstrndx == SHN_XINDEX)
        out->names = elf64_section(out, 0).sh_link;
    if (out->nsections > out->stated_nsections)
        out->nsections = out->stated_nsections;
    return true;
}

Elf64_Phdr elf64_segment(const struct elf64 *elf, size_t i)
{
    Elf64_Phdr out;

    memcpy(&out, elf->data + elf->head.e_phoff + i * sizeof(out), sizeof(out));
    return out;
}

Elf64_Shdr elf64_section(const struct elf64 *elf, size_t i)
{
    Elf64_Shdr out;

    memcpy(&out, elf->data + elf->head.e_shoff + i * sizeof(out), sizeof(out));
    return out;
}

const unsigned char *elf64_content(const struct elf64 *elf,
                                   const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_NOBITS || section->sh_size == 0 ||
        !inside(elf, section->sh_offset, section->sh_size))
        return NULL;
    return elf->data + section->sh_offset;
}

const char *elf64_string(const struct elf64 *elf, size_t table, size_t at)
{
    const unsigned char *content;
    Elf64_Shdr section;

    if (table >= elf->nsections)
        return NULL;
    section = elf64_section(elf, table);
    content =
        section.sh_type == SHT_STRTAB ? elf64_content(elf, &section) : NULL;
    /* A table ends with a NUL, so every string in it does. */
    if (!content || at >= section.sh_size ||
        content[section.sh_size - 1] != '\0')
        return NULL;
    return (const char *)content + at;
}

const char *elf64_symbol(const struct elf64 *elf, const Elf64_Shdr *table,
                         size_t i, Elf64_Sym *out)
{
    const unsigned char *content = elf64_content(elf, table);

    if (!content || i >= table->sh_size / sizeof(*out))
        return NULL;
    memcpy(out, content + i * sizeof(*out), sizeof(*out));
    return elf64_string(elf, table->sh_link, out->st_name);
}
