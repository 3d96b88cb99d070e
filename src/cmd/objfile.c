/* objfile.c - archives and the object files in them, changed in memory
 *
 * Formats: System V ABI, "Object Files"; ar(5), System V's variant, which is
 * GNU's, with the symbol index "/" (or "/SYM64/") in front. Every offset in a
 * file is held against its size before it is followed.
 */
#include "objfile.h"
#include "xmalloc.h"

#include "base/elf_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ELF ------------------------------------------------------------ */

struct elf {
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* a copy, [header.e_shnum] */
    uint64_t align;       /* the largest of the sections */
};

static bool inside(uint64_t offset, uint64_t nbytes, uint64_t size)
{
    return offset <= size && nbytes <= size - offset;
}

/* False if it is not what we can change; nothing is left to be freed then. */
static bool read_elf(const struct objfile_bytes *file, struct elf *out)
{
    const uint64_t size = file->nbytes;
    Elf64_Ehdr *h = &out->header;

    if (size < sizeof(*h))
        return false;
    memcpy(h, file->data, sizeof(*h));
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_phnum != 0 ||
        h->e_shnum == 0 ||
        !inside(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), size))
        return false;
    out->sections = cmd_calloc(h->e_shnum, sizeof(*out->sections));
    memcpy(out->sections, file->data + h->e_shoff,
           h->e_shnum * sizeof(*out->sections));
    out->align = 16;
    for (size_t i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = &out->sections[i];

        if ((s->sh_type != SHT_NOBITS &&
             !inside(s->sh_offset, s->sh_size, size)) ||
            (s->sh_addralign & (s->sh_addralign - 1)) != 0 ||
            s->sh_addralign > 65536) {
            free(out->sections);
            return false;
        }
        if (out->align < s->sh_addralign)
            out->align = s->sh_addralign;
    }
    return true;
}

/* The end of a part of a file; 0 if it is too large. */
static uint64_t end_of(uint64_t offset, uint64_t nbytes)
{
    return inside(offset, nbytes, INT64_MAX) ? offset + nbytes : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t whole_elf(const unsigned char *bytes, size_t nbytes)
{
    uint64_t whole = sizeof(Elf64_Ehdr);
    Elf64_Ehdr h;
    Elf64_Shdr s;
    Elf64_Phdr p;

    if (nbytes < whole)
        return whole;
    memcpy(&h, bytes, sizeof(h));
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
        return 0;
    whole = larger(whole, end_of(h.e_shoff, h.e_shnum * sizeof(s)));
    whole = larger(whole, end_of(h.e_phoff, h.e_phnum * sizeof(p)));
    if (whole > nbytes)
        return whole;
    /* Now each table lies in the file or has an impossible place. */
    if (!inside(h.e_shoff, h.e_shnum * sizeof(s), nbytes))
        h.e_shnum = 0;
    if (!inside(h.e_phoff, h.e_phnum * sizeof(p), nbytes))
        h.e_phnum = 0;
    for (size_t i = 0; i < h.e_shnum; i++) {
        memcpy(&s, bytes + h.e_shoff + i * sizeof(s), sizeof(s));
        if (s.sh_type != SHT_NOBITS)
            whole = larger(whole, end_of(s.sh_offset, s.sh_size));
    }
    /* Segments count only without sections: with split-off debug information
     * the sizes of segments are wrong. */
    for (size_t i = 0; h.e_shnum == 0 && i < h.e_phnum; i++) {
        memcpy(&p, bytes + h.e_phoff + i * sizeof(p), sizeof(p));
        whole = larger(whole, end_of(p.p_offset, p.p_filesz));
    }
    return whole;
}

/* The section with exactly this extent, if no other section overlaps it and no
 * relocation refers to it; else 0. */
static size_t lone_section(const struct elf *elf, size_t at, size_t nbytes)
{
    size_t found = 0;

    for (size_t i = 1; i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];

        if (s->sh_type == SHT_NOBITS || s->sh_size == 0)
            continue;
        if (s->sh_offset == at && s->sh_size == nbytes && !found)
            found = i;
        else if (s->sh_offset < at + nbytes && at < s->sh_offset + s->sh_size)
            return 0;
    }
    for (size_t i = 1; found && i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];

        if ((s->sh_type == SHT_REL || s->sh_type == SHT_RELA) &&
            s->sh_info == found && s->sh_size > 0)
            return 0;
    }
    /* The section must not contain the ELF headers. */
    if (at < sizeof(Elf64_Ehdr) ||
        (elf->header.e_shoff < at + nbytes &&
         at < elf->header.e_shoff + elf->header.e_shnum * sizeof(Elf64_Shdr)))
        return 0;
    return found;
}

/* Symbols of a section: its start alone, which gets the new size. With
 * `data` NULL it is only asked whether that can be done. */
static bool resize_symbols(const struct elf *elf, const unsigned char *old,
                           unsigned char *data, size_t section, size_t nbytes)
{
    for (size_t i = 1; i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];

        if (s->sh_type != SHT_SYMTAB)
            continue;
        for (uint64_t k = 0; k < s->sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym symbol;

            memcpy(&symbol,
                   (data ? data : old) + s->sh_offset + k * sizeof(symbol),
                   sizeof(symbol));
            if (symbol.st_shndx != section)
                continue;
            if (symbol.st_value != 0)
                return false;
            if (symbol.st_size)
                symbol.st_size = nbytes;
            if (data)
                memcpy(data + s->sh_offset + k * sizeof(symbol), &symbol,
                       sizeof(symbol));
        }
    }
    return true;
}

bool objfile_resize(struct objfile_bytes *member, size_t at, size_t nbytes,
                    const struct objfile_bytes *content)
{
    const uint64_t old_tail = at + nbytes;
    uint64_t new_tail = at + content->nbytes;
    struct elf elf;
    unsigned char *data = NULL;
    size_t total;
    size_t section;

    if (!read_elf(member, &elf))
        return false;
    section = lone_section(&elf, at, nbytes);
    /* Bytes behind the section move by a multiple of the alignment. */
    new_tail += (old_tail - new_tail) & (elf.align - 1);
    total = (size_t)(member->nbytes - old_tail + new_tail);
    if (section && resize_symbols(&elf, member->data, NULL, section, 0))
        data = cmd_calloc(1, total);
    if (!data) {
        free(elf.sections);
        return false;
    }
    memcpy(data, member->data, at);
    memcpy(data + at, content->data, content->nbytes);
    memcpy(data + new_tail, member->data + old_tail,
           member->nbytes - (size_t)old_tail);
    if (elf.header.e_shoff >= old_tail)
        elf.header.e_shoff += new_tail - old_tail;
    for (size_t i = 1; i < elf.header.e_shnum; i++) {
        if (i != section && elf.sections[i].sh_offset >= old_tail)
            elf.sections[i].sh_offset += new_tail - old_tail;
    }
    elf.sections[section].sh_size = content->nbytes;
    memcpy(data, &elf.header, sizeof(elf.header));
    memcpy(data + elf.header.e_shoff, elf.sections,
           elf.header.e_shnum * sizeof(*elf.sections));
    (void)resize_symbols(&elf, NULL, data, section, content->nbytes);
    free(elf.sections);
    free(member->data);
    member->data = data;
    member->nbytes = total;
    return true;
}

/* ---- ar ------------------------------------------------------------- */

#define AR_MAGIC "!<arch>\n"
enum { AR_MAGIC_NBYTES = 8, AR_NBYTES = 60, AR_SIZE = 48, AR_END = 58 };

/* A member header's old and new offset, for the index. */
struct moved {
    uint64_t from, to;
};

struct copy {
    struct objfile_bytes out;
    size_t room;
    struct moved *moved;
    size_t nmoved;
    size_t moved_room;
    size_t index_at; /* its content in `out`; 0 without one */
    size_t index_nbytes;
    int index_width; /* bytes of an index number: 4 or 8 */
};

bool objfile_is_archive(const unsigned char *bytes, size_t nbytes)
{
    return nbytes >= AR_MAGIC_NBYTES &&
           memcmp(bytes, AR_MAGIC, AR_MAGIC_NBYTES) == 0;
}

static void append(struct copy *copy, const void *bytes, size_t nbytes)
{
    if (copy->room - copy->out.nbytes < nbytes) {
        copy->room = (copy->out.nbytes + nbytes) * 2;
        copy->out.data = cmd_realloc(copy->out.data, copy->room);
    }
    if (nbytes)
        memcpy(copy->out.data + copy->out.nbytes, bytes, nbytes);
    copy->out.nbytes += nbytes;
}

static void remember_move(struct copy *copy, uint64_t from)
{
    if (copy->nmoved == copy->moved_room) {
        copy->moved_room = copy->moved_room * 2 + 64;
        copy->moved =
            cmd_realloc(copy->moved, copy->moved_room * sizeof(*copy->moved));
    }
    copy->moved[copy->nmoved++] = (struct moved){from, copy->out.nbytes};
}

/* A decimal field; false if it is none. */
static bool read_size(const unsigned char *at, size_t *out)
{
    size_t n = 0;
    int i = 0;

    for (; i < 10 && at[i] >= '0' && at[i] <= '9'; i++)
        n = n * 10 + (size_t)(at[i] - '0');
    *out = n;
    for (int k = i; k < 10; k++) {
        if (at[k] != ' ')
            return false;
    }
    return i > 0;
}

/* The size that a member's header states; false if it is no header. */
static bool read_member(const unsigned char *header, size_t *out)
{
    return memcmp(header + AR_END, "`\n", 2) == 0 &&
           read_size(header + AR_SIZE, out);
}

static void append_member(struct copy *copy, const unsigned char *header,
                          const struct objfile_bytes *member)
{
    unsigned char changed[AR_NBYTES];
    char size[24];

    memcpy(changed, header, AR_NBYTES);
    (void)snprintf(size, sizeof(size), "%-10zu", member->nbytes);
    memcpy(changed + AR_SIZE, size, 10);
    append(copy, changed, AR_NBYTES);
    append(copy, member->data, member->nbytes);
    append(copy, "\n", member->nbytes & 1);
}

static uint64_t big_endian(const unsigned char *at, int nbytes)
{
    uint64_t n = 0;

    for (int i = 0; i < nbytes; i++)
        n = n << 8 | at[i];
    return n;
}

/* Bytes of an index number if the member is the index; else 0. */
static int index_width(const unsigned char *header)
{
    return memcmp(header, "/ ", 2) == 0         ? 4
           : memcmp(header, "/SYM64/ ", 8) == 0 ? 8
                                                : 0;
}

/* The end of the last header that an index names; 0 if the index is damaged. */
static uint64_t whole_index(const unsigned char *at, size_t nbytes, int width)
{
    const uint64_t room = nbytes / (size_t)width;
    const uint64_t n = room ? big_endian(at, width) : 0;
    uint64_t whole = 0;

    for (uint64_t i = 1; n < room && i <= n; i++)
        whole =
            larger(whole, end_of(big_endian(at + i * (uint64_t)width, width),
                                 AR_NBYTES));
    return whole;
}

static uint64_t whole_archive(const unsigned char *bytes, size_t nbytes)
{
    uint64_t whole = AR_MAGIC_NBYTES;
    size_t at = AR_MAGIC_NBYTES;

    while (at < nbytes) {
        const unsigned char *header = bytes + at;
        const size_t left = nbytes - at;
        size_t member;
        int width;

        if (left < AR_NBYTES)
            return larger(whole, at + AR_NBYTES);
        if (!read_member(header, &member))
            return 0;
        whole = larger(whole, at + AR_NBYTES + member);
        if (member > left - AR_NBYTES)
            return whole;
        width = index_width(header);
        if (width)
            whole =
                larger(whole, whole_index(header + AR_NBYTES, member, width));
        at += AR_NBYTES + member + (member & 1);
    }
    return whole;
}

uint64_t objfile_whole_nbytes(const unsigned char *bytes, size_t nbytes)
{
    if (objfile_is_archive(bytes, nbytes))
        return whole_archive(bytes, nbytes);
    if (nbytes > SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0)
        return whole_elf(bytes, nbytes);
    return 0;
}

/* The index: a count, that many places of member headers, and names. */
static const char *move_index(struct copy *copy)
{
    const int width = copy->index_width;
    unsigned char *at = copy->out.data + copy->index_at;
    uint64_t n;

    if (!copy->index_at)
        return NULL;
    if (copy->index_nbytes < (size_t)width)
        return "its symbol index is cut short";
    n = big_endian(at, width);
    if (n > copy->index_nbytes / (size_t)width - 1)
        return "its symbol index is cut short";
    for (uint64_t i = 1; i <= n; i++) {
        const uint64_t from = big_endian(at + i * (uint64_t)width, width);
        size_t low = 0;
        size_t high = copy->nmoved;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (copy->moved[middle].from < from)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == copy->nmoved || copy->moved[low].from != from)
            return "its symbol index names a place where no member begins";
        for (int k = 0; k < width; k++)
            at[i * (uint64_t)width + (uint64_t)k] =
                (unsigned char)(copy->moved[low].to >> 8 * (width - 1 - k));
    }
    return NULL;
}

/* Copies a member, changed by `change`. False if `change` stops the copy. */
static bool copy_member(struct copy *copy, const unsigned char *header,
                        size_t from, size_t nbytes, objfile_change *change,
                        void *context)
{
    struct objfile_bytes member = {NULL, nbytes};
    bool go_on = true;

    if (index_width(header)) {
        copy->index_at = copy->out.nbytes + AR_NBYTES;
        copy->index_nbytes = nbytes;
        copy->index_width = index_width(header);
    }
    remember_move(copy, from - AR_NBYTES);
    member.data = cmd_malloc(nbytes);
    memcpy(member.data, header + AR_NBYTES, nbytes);
    if (nbytes > SELFMAG && memcmp(member.data, ELFMAG, SELFMAG) == 0)
        go_on = change(context, from, &member);
    if (go_on)
        append_member(copy, header, &member);
    free(member.data);
    return go_on;
}

/* Refuses archives of another kind than GNU's, by members that only other kinds
 * have. NULL: not such a member. */
static const char *foreign_member(const unsigned char *header, bool has_index)
{
    if (memcmp(header, "#1/", 3) == 0 || memcmp(header, "__.SYMDEF", 9) == 0)
        return "it is an archive of BSD's or Darwin's kind; prune changes "
               "GNU's. "
               "Make one: `ar x` takes the members out, `ar rcs` archives them";
    if (has_index && memcmp(header, "/ ", 2) == 0)
        return "it is an archive of COFF's kind; prune changes GNU's. Make "
               "one: "
               "`ar x` takes the members out, `ar rcs` archives them";
    return NULL;
}

const char *objfile_each_member(const unsigned char *bytes, size_t nbytes,
                                objfile_change *change, void *context,
                                struct objfile_bytes *out)
{
    struct copy copy = {.room = 0};
    const char *fault = NULL;
    size_t at = AR_MAGIC_NBYTES;

    append(&copy, AR_MAGIC, AR_MAGIC_NBYTES);
    while (!fault && at < nbytes) {
        const unsigned char *header = bytes + at;
        size_t member;

        if (nbytes - at < AR_NBYTES || !read_member(header, &member) ||
            member > nbytes - at - AR_NBYTES) {
            fault = "a member of the archive is damaged or cut short";
            break;
        }
        fault = foreign_member(header, copy.index_at > 0);
        if (fault)
            break;
        if (!copy_member(&copy, header, at + AR_NBYTES, member, change,
                         context))
            fault = "";
        at += AR_NBYTES + member + (member & 1);
    }
    if (!fault)
        fault = move_index(&copy);
    free(copy.moved);
    if (fault)
        free(copy.out.data);
    else
        *out = copy.out;
    return fault;
}
