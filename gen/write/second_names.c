/* second_names.c - gives kernels of a code object second names
 *
 * Nothing in a relocatable object depends on where its sections lie: longer
 * ones of strings, symbols and notes are written behind the rest of the file,
 * and the section headers point there. Existing bytes stay, so that no index of
 * a section, symbol or string changes.
 */
#include "write/second_names.h"

#include <elf.h>
#include <errno.h>
#include <msgpack.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack_scan.h"
#include "pack/alias.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"

#define EM_AMDGPU_NUMBER 224
#define NT_AMDGPU_METADATA_TYPE 32
#define FILE_NBYTES_MAX ((size_t)1 << 30)

struct bytes {
    unsigned char *data;
    size_t nbytes;
};

/* A second name, and the kernel's own. */
struct name {
    char *alias;
    char *kernel;
};

struct work {
    const char *path, *module;
    const struct csv *rules;
    char *error;
    struct bytes file;
    Elf64_Ehdr header;
    Elf64_Shdr *sections;   /* [header.e_shnum], the headers to be written */
    size_t symbols, note;   /* numbers of sections */
    size_t at, desc_nbytes; /* the metadata's place and size in the note */
    msgpack_unpacked metadata;
    struct name *names; /* [nnames], in the order of kernels */
    size_t nnames;
    struct bytes new_note, new_symbols, new_strings;
};

__attribute__((format(printf, 2, 3))) static bool fail(const struct work *w,
                                                       const char *format, ...)
{
    const int n =
        snprintf(w->error, SECOND_NAMES_ERROR_MAX, "%.400s: ", w->path);
    va_list list;

    va_start(list, format);
    vsnprintf(w->error + n, SECOND_NAMES_ERROR_MAX - (size_t)n, format, list);
    va_end(list);
    return false;
}

/* ---- reading the object file --------------------------------------------- */

static bool in_file(const struct work *w, uint64_t offset, uint64_t nbytes)
{
    return offset <= w->file.nbytes && nbytes <= w->file.nbytes - offset;
}

static bool read_header(struct work *w)
{
    Elf64_Ehdr *h = &w->header;
    uint64_t nbytes;

    if (w->file.nbytes < sizeof(*h))
        return fail(w, "not an ELF file");
    memcpy(h, w->file.data, sizeof(*h));
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL ||
        h->e_machine != EM_AMDGPU_NUMBER)
        return fail(w, "not a relocatable object for AMDGPU");
    nbytes = (uint64_t)h->e_shnum * sizeof(*w->sections);
    if (h->e_shentsize != sizeof(*w->sections) || h->e_shnum == 0 ||
        !in_file(w, h->e_shoff, nbytes))
        return fail(w, "its section headers lie outside the file");
    w->sections = malloc((size_t)nbytes);
    if (!w->sections)
        return fail(w, "out of memory");
    memcpy(w->sections, w->file.data + h->e_shoff, (size_t)nbytes);
    for (size_t i = 0; i < h->e_shnum; i++)
        if (w->sections[i].sh_type != SHT_NOBITS &&
            !in_file(w, w->sections[i].sh_offset, w->sections[i].sh_size))
            return fail(w, "section %zu lies outside the file", i);
    return true;
}

/* Finds the metadata among the notes of a section. */
static bool find_metadata(struct work *w, const Elf64_Shdr *section)
{
    const unsigned char *data = w->file.data + section->sh_offset;
    const uint64_t nbytes = section->sh_size;
    uint64_t at = 0;

    while (nbytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        uint64_t name, desc;

        memcpy(&note, data + at, sizeof(note));
        name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
        desc = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        at += sizeof(note);
        if (name > nbytes - at || note.n_descsz > nbytes - at - name)
            return false;
        if (note.n_type == NT_AMDGPU_METADATA_TYPE && note.n_namesz == 7 &&
            memcmp(data + at, "AMDGPU", 7) == 0) {
            w->at = (size_t)(at + name);
            w->desc_nbytes = note.n_descsz;
            return true;
        }
        if (desc > nbytes - at - name)
            return false;
        at += name + desc;
    }
    return false;
}

static bool find_sections(struct work *w)
{
    size_t strings;

    for (size_t i = 0; i < w->header.e_shnum; i++) {
        const Elf64_Shdr *s = &w->sections[i];

        if (s->sh_type == SHT_SYMTAB)
            w->symbols = i;
        if (s->sh_type == SHT_NOTE && !w->note && find_metadata(w, s))
            w->note = i;
    }
    if (!w->symbols || !w->note)
        return fail(w, "no symbols, or no AMDGPU metadata note");
    strings = w->sections[w->symbols].sh_link;
    if (strings >= w->header.e_shnum ||
        w->sections[strings].sh_type != SHT_STRTAB)
        return fail(w, "its symbols have no strings");
    return true;
}

static bool is_text(const msgpack_object *o, const char *text)
{
    return o->type == MSGPACK_OBJECT_STR && o->via.str.size == strlen(text) &&
           memcmp(o->via.str.ptr, text, o->via.str.size) == 0;
}

static const msgpack_object *get(const msgpack_object *map, const char *key)
{
    for (uint32_t i = 0;
         map->type == MSGPACK_OBJECT_MAP && i < map->via.map.size; i++)
        if (is_text(&map->via.map.ptr[i].key, key))
            return &map->via.map.ptr[i].val;
    return NULL;
}

static const msgpack_object *kernels_of(const struct work *w)
{
    const msgpack_object *list = get(&w->metadata.data, "amdhsa.kernels");

    return list && list->type == MSGPACK_OBJECT_ARRAY ? list : NULL;
}

static bool read_metadata(struct work *w)
{
    const unsigned char *data =
        w->file.data + w->sections[w->note].sh_offset + w->at;
    size_t offset = 0;

    if (!msgpack_scan(data, w->desc_nbytes) ||
        msgpack_unpack_next(&w->metadata, (const char *)data, w->desc_nbytes,
                            &offset) != MSGPACK_UNPACK_SUCCESS)
        return fail(w, "the metadata note is not a msgpack map");
    return true;
}

/* ---- names --------------------------------------------------------------- */

/* The kernel with a name, its own or a second one; NULL without one. */
static const char *taken_by(const struct work *w, const char *name)
{
    const msgpack_object *list = kernels_of(w);

    for (size_t i = 0; i < w->nnames; i++)
        if (strcmp(w->names[i].alias, name) == 0)
            return w->names[i].kernel;
    for (uint32_t i = 0; i < list->via.array.size; i++) {
        const msgpack_object *own = get(&list->via.array.ptr[i], ".name");

        if (own && is_text(own, name))
            return name;
    }
    return NULL;
}

static bool add_name(struct work *w, const char *kernel, const char *alias)
{
    const char *taken = taken_by(w, alias);
    struct name *names;

    if (taken)
        return fail(w, "alias %s of %s is taken by %s (%s)", alias, kernel,
                    taken, w->rules->path);
    names = realloc(w->names, (w->nnames + 1) * sizeof(*names));
    if (!names)
        return fail(w, "out of memory");
    w->names = names;
    names[w->nnames] = (struct name){strdup(alias), strdup(kernel)};
    if (!names[w->nnames].alias || !names[w->nnames].kernel) {
        free(names[w->nnames].alias);
        free(names[w->nnames].kernel);
        return fail(w, "out of memory");
    }
    w->nnames++;
    return true;
}

/* Reports a name that is too long: metadata entries are found by their whole
 * names. */
static bool fail_name(const struct work *w, const char *kernel)
{
    return fail(w,
                "the name of kernel %.60s has a zero byte or %d bytes or more: "
                "no second name can be made of it",
                kernel, ALIAS_NAME_MAX);
}

static bool make_names(struct work *w)
{
    const msgpack_object *list = kernels_of(w);
    char kernel[ALIAS_NAME_MAX], alias[ALIAS_NAME_MAX];
    bool whole;

    for (uint32_t i = 0; list && i < list->via.array.size; i++) {
        const msgpack_object *own = get(&list->via.array.ptr[i], ".name");

        if (!own || own->type != MSGPACK_OBJECT_STR)
            return fail(w, "a kernel without a name");
        snprintf(kernel, sizeof(kernel), "%.*s", (int)own->via.str.size,
                 own->via.str.ptr);
        whole = strlen(kernel) == own->via.str.size;
        for (size_t rule = 0; rule < w->rules->nrows; rule++)
            if (alias_make(w->rules, rule, w->module, kernel, alias) &&
                !(whole ? add_name(w, kernel, alias) : fail_name(w, kernel)))
                return false;
    }
    return true;
}

/* ---- longer sections ----------------------------------------------------- */

static void pack_text(msgpack_packer *packer, const char *text,
                      const char *ending)
{
    msgpack_pack_str(packer, strlen(text) + strlen(ending));
    msgpack_pack_str_body(packer, text, strlen(text));
    msgpack_pack_str_body(packer, ending, strlen(ending));
}

/* A kernel's entry once more, under another name. */
static void pack_second(msgpack_packer *packer, const msgpack_object *entry,
                        const char *alias)
{
    msgpack_pack_map(packer, entry->via.map.size);
    for (uint32_t i = 0; i < entry->via.map.size; i++) {
        const msgpack_object_kv *kv = &entry->via.map.ptr[i];

        msgpack_pack_object(packer, kv->key);
        if (is_text(&kv->key, ".name"))
            pack_text(packer, alias, "");
        else if (is_text(&kv->key, ".symbol"))
            pack_text(packer, alias, ".kd");
        else
            msgpack_pack_object(packer, kv->val);
    }
}

static void pack_kernels(const struct work *w, msgpack_packer *packer,
                         const msgpack_object *list)
{
    size_t next = 0;

    msgpack_pack_array(packer, list->via.array.size + w->nnames);
    for (uint32_t i = 0; i < list->via.array.size; i++) {
        const msgpack_object *entry = &list->via.array.ptr[i];

        msgpack_pack_object(packer, *entry);
        while (next < w->nnames &&
               is_text(get(entry, ".name"), w->names[next].kernel))
            pack_second(packer, entry, w->names[next++].alias);
    }
}

static void pack_metadata(const struct work *w, msgpack_packer *packer)
{
    const msgpack_object *root = &w->metadata.data;
    const msgpack_object *kernels = kernels_of(w);

    msgpack_pack_map(packer, root->via.map.size);
    for (uint32_t i = 0; i < root->via.map.size; i++) {
        const msgpack_object_kv *kv = &root->via.map.ptr[i];

        msgpack_pack_object(packer, kv->key);
        if (&kv->val == kernels)
            pack_kernels(w, packer, kernels);
        else
            msgpack_pack_object(packer, kv->val);
    }
}

/* `head` bytes of a section, `middle`, and what stands from `tail` on. */
static bool join(const struct work *w, const Elf64_Shdr *section, size_t head,
                 struct bytes middle, size_t tail, struct bytes *out)
{
    const unsigned char *old = w->file.data + section->sh_offset;
    const size_t rest = (size_t)section->sh_size - tail;

    out->nbytes = head + middle.nbytes + rest;
    out->data = malloc(out->nbytes + 1);
    if (!out->data)
        return fail(w, "out of memory");
    memcpy(out->data, old, head);
    memcpy(out->data + head, middle.data, middle.nbytes);
    memcpy(out->data + head + middle.nbytes, old + tail, rest);
    return true;
}

/* The packer of the metadata ignores the result of this function. */
static int write_or_exit(void *buffer, const char *from, size_t nbytes)
{
    if (msgpack_sbuffer_write(buffer, from, nbytes) != 0)
        alloc_none();
    return 0;
}

static bool make_note(struct work *w)
{
    const Elf64_Shdr *section = &w->sections[w->note];
    const size_t padded = (w->desc_nbytes + 3) & ~(size_t)3;
    const size_t tail = w->at + padded < section->sh_size
                            ? w->at + padded
                            : (size_t)section->sh_size;
    /* The note's head: sizes of name and descriptor, type; then the name. */
    const size_t size_at = w->at - 8 - sizeof(Elf64_Nhdr) + 4;
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    uint32_t nbytes;
    bool ok;

    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, write_or_exit);
    pack_metadata(w, &packer);
    nbytes = (uint32_t)buffer.size;
    while (buffer.size % 4)
        (void)write_or_exit(&buffer, "", 1);
    ok = join(w, section, w->at,
              (struct bytes){(unsigned char *)buffer.data, buffer.size}, tail,
              &w->new_note);
    if (ok)
        memcpy(w->new_note.data + size_at, &nbytes, sizeof(nbytes));
    msgpack_sbuffer_destroy(&buffer);
    return ok;
}

/* Finds the symbol NAME followed by `ending`; false if there is none. */
static bool find_symbol(const struct work *w, const char *name,
                        const char *ending, Elf64_Sym *out)
{
    const Elf64_Shdr *symbols = &w->sections[w->symbols];
    const Elf64_Shdr *strings = &w->sections[symbols->sh_link];
    const char *text = (const char *)w->file.data + strings->sh_offset;
    const size_t n = strlen(name), nbytes = n + strlen(ending) + 1;

    for (size_t at = 0; at + sizeof(*out) <= symbols->sh_size;
         at += sizeof(*out)) {
        memcpy(out, w->file.data + symbols->sh_offset + at, sizeof(*out));
        if (out->st_shndx != SHN_UNDEF && out->st_name < strings->sh_size &&
            nbytes <= strings->sh_size - out->st_name &&
            memcmp(text + out->st_name, name, n) == 0 &&
            memcmp(text + out->st_name + n, ending, nbytes - n) == 0)
            return true;
    }
    return false;
}

static bool add_symbol(const struct work *w, const struct name *name,
                       const char *ending, FILE *symbols, FILE *strings)
{
    const Elf64_Shdr *old = &w->sections[w->sections[w->symbols].sh_link];
    Elf64_Sym symbol;

    if (!find_symbol(w, name->kernel, ending, &symbol))
        return fail(w, "kernel %s has no symbol %s%s", name->kernel,
                    name->kernel, ending);
    symbol.st_name = (uint32_t)(old->sh_size + (uint64_t)ftell(strings));
    fprintf(strings, "%s%s", name->alias, ending);
    fputc('\0', strings);
    return fwrite(&symbol, sizeof(symbol), 1, symbols) == 1;
}

static bool make_symbols(struct work *w)
{
    const Elf64_Shdr *symbols = &w->sections[w->symbols];
    const Elf64_Shdr *strings = &w->sections[symbols->sh_link];
    struct bytes added[2] = {{NULL, 0}, {NULL, 0}};
    FILE *f = alloc_stream((char **)&added[0].data, &added[0].nbytes);
    FILE *g = alloc_stream((char **)&added[1].data, &added[1].nbytes);
    bool ok = true;

    for (size_t i = 0; ok && i < w->nnames; i++)
        ok = add_symbol(w, &w->names[i], "", f, g) &&
             add_symbol(w, &w->names[i], ".kd", f, g);
    (void)fclose(f);
    (void)fclose(g);
    ok = ok &&
         join(w, symbols, (size_t)symbols->sh_size, added[0],
              (size_t)symbols->sh_size, &w->new_symbols) &&
         join(w, strings, (size_t)strings->sh_size, added[1],
              (size_t)strings->sh_size, &w->new_strings);
    free(added[0].data);
    free(added[1].data);
    return ok;
}

/* ---- the new file -------------------------------------------------------- */

static void pad(FILE *f, size_t alignment)
{
    while (ftell(f) % (long)alignment)
        if (fputc(0, f) == EOF)
            break;
}

static void write_section(FILE *f, Elf64_Shdr *section,
                          const struct bytes *content)
{
    pad(f, 8);
    section->sh_offset = (uint64_t)ftell(f);
    section->sh_size = content->nbytes;
    (void)fwrite(content->data, 1, content->nbytes, f);
}

/* The file's header is written again, now that the place of the section headers
 * is known. */
static bool write_file(FILE *f, struct work *w)
{
    (void)fwrite(w->file.data, 1, w->file.nbytes, f);
    if (w->nnames == 0)
        return true;
    write_section(f, &w->sections[w->note], &w->new_note);
    write_section(f, &w->sections[w->sections[w->symbols].sh_link],
                  &w->new_strings);
    write_section(f, &w->sections[w->symbols], &w->new_symbols);
    pad(f, 8);
    w->header.e_shoff = (uint64_t)ftell(f);
    (void)fwrite(w->sections, sizeof(*w->sections), w->header.e_shnum, f);
    if (fseek(f, 0, SEEK_SET) != 0)
        return fail(w, "%s", strerror(errno));
    (void)fwrite(&w->header, sizeof(w->header), 1, f);
    return true;
}

bool second_names_write(FILE *f, const char *path, const char *module,
                        const struct csv *rules,
                        char error[SECOND_NAMES_ERROR_MAX])
{
    struct work w = {
        .path = path, .module = module, .rules = rules, .error = error};
    char why[FILE_ERROR_MAX];
    bool ok;

    msgpack_unpacked_init(&w.metadata);
    if (!alias_is_table(rules)) {
        snprintf(error, SECOND_NAMES_ERROR_MAX,
                 "%.400s:1: wants the columns module, text and alias",
                 rules->path);
        ok = false;
    } else if (!file_read(path, FILE_NBYTES_MAX, &w.file.data, &w.file.nbytes,
                          why)) {
        ok = fail(&w, "%s", why);
    } else {
        ok = read_header(&w) && find_sections(&w) && read_metadata(&w) &&
             make_names(&w);
    }
    if (ok && w.nnames)
        ok = make_note(&w) && make_symbols(&w);
    ok = ok && write_file(f, &w);
    for (size_t i = 0; i < w.nnames; i++) {
        free(w.names[i].alias);
        free(w.names[i].kernel);
    }
    free(w.names);
    free(w.sections);
    free(w.file.data);
    free(w.new_note.data);
    free(w.new_symbols.data);
    free(w.new_strings.data);
    msgpack_unpacked_destroy(&w.metadata);
    return ok;
}
