/* export.c - kpack extract --kpack: writes packs as AMD's kernel archives
 *
 * One archive for each pack and target, and a list of kernels for each pack.
 * All code objects are held against their SHA-256 before the first file is
 * written, each file appears whole or not at all, and a list is written after
 * the archives that it names.
 */
#include "export.h"
#include "exit_status.h"
#include "file_name.h"
#include "hex.h"
#include "json.h"
#include "kpak_write.h"
#include "objects.h"
#include "os.h"
#include "own_pack.h"
#include "search.h"
#include "whole_file.h"
#include "xmalloc.h"

#include "base/elf_types.h"

#include <stdlib.h>
#include <string.h>

/* ---- code objects --------------------------------------------------- */

struct item {
    const char *pack;
    const char *target;
    char *key; /* the code object's key in the archive */
    const uint8_t *sha256;
    const unsigned char *data; /* NULL: damaged */
    size_t nbytes;
    const char *fault;
    void *owned; /* the buffer behind `data`, to be freed; or NULL */
};

struct export
{
    const char *folder;
    const char *source; /* for messages */
    const char *suffix; /* ends a key, after the module's name */
    struct item *items;
    size_t n, room;
    size_t nnvidia; /* left out */
};

/* The suffix once: the module of an imported archive is called by its key. */
static char *key_of(const struct export *export, const char *module)
{
    const size_t n = strlen(module), m = strlen(export->suffix);
    const bool has = n > m && strcmp(module + n - m, export->suffix) == 0;
    char *key = cmd_malloc(n + m + 1);

    memcpy(key, module, n + 1);
    if (!has)
        memcpy(key + n, export->suffix, m + 1);
    return key;
}

/* NULL if it is NVIDIA's: AMD's archives have no place for that. */
static struct item *add(struct export *export, const char *pack,
                        const char *module, const char *target)
{
    struct item *item;

    if (strcmp(cmd_extension(target), "hsaco") != 0) {
        export->nnvidia++;
        return NULL;
    }
    if (export->n == export->room) {
        export->room = 2 * export->room + 64;
        export->items =
            cmd_realloc(export->items, export->room * sizeof(*export->items));
    }
    item = &export->items[export->n++];
    *item = (struct item){
        .pack = pack, .target = target, .key = key_of(export, module)};
    return item;
}

static kpk_status gather_pack(struct export *export)
{
    for (size_t m = 0; m < kpk_pack_module_count(cmd_pack); m++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, m);

        for (size_t i = 0; i < kpk_module_object_count(module); i++) {
            kpk_object object = {.data = NULL};
            kpk_status st = kpk_module_object_info(module, i, &object);
            struct item *item = NULL;

            if (st == KPK_OK && object.nbytes) /* skips pruned code objects */
                item = add(export, kpk_pack_name(cmd_pack),
                           kpk_module_name(module), object.target);
            if (item)
                st = kpk_module_object(module, i, &object);
            if (st != KPK_OK)
                return st;
            if (!item)
                continue;
            item->sha256 = object.sha256;
            item->data = object.data;
            item->nbytes = object.nbytes;
        }
    }
    return KPK_OK;
}

static void gather_scan(struct export *export, const struct scan *scan)
{
    for (size_t i = 0; i < scan->n; i++) {
        const struct found *found = &scan->found[i];
        unsigned char *bytes = NULL;
        struct item *item = NULL;

        if (scan_is_object(found))
            item = add(export, found->pack, found->module, found->target);
        if (!item)
            continue;
        item->sha256 = found->head.sha256;
        item->nbytes = (size_t)found->head.nbytes;
        item->fault = scan_content(scan, found, &bytes);
        item->data = item->owned = bytes;
    }
}

/* ---- one code object for each key ----------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = strcmp(x->pack, y->pack);

    if (!order)
        order = strcmp(x->target, y->target);
    if (!order)
        order = strcmp(x->key, y->key);
    if (!order)
        order = memcmp(x->sha256, y->sha256, 32);
    if (!order) /* a copy that is whole first */
        order = !x->data - !y->data;
    return order;
}

static bool same_pack(const struct item *a, const struct item *b)
{
    return strcmp(a->pack, b->pack) == 0;
}

static bool same_archive(const struct item *a, const struct item *b)
{
    return same_pack(a, b) && strcmp(a->target, b->target) == 0;
}

static size_t run_of(const struct item *items, size_t n,
                     bool (*same)(const struct item *, const struct item *))
{
    size_t i = 1;

    while (i < n && same(&items[0], &items[i]))
        i++;
    return i;
}

static void free_item(struct item *item)
{
    free(item->key);
    free(item->owned);
}

/* Sorts them and drops copies. False, with a sentence printed, if an archive
 * would have two code objects of one key, or none that is whole. */
static bool settle(struct export *export)
{
    size_t kept = 0;

    if (export->n) /* qsort() must not get NULL */
        qsort(export->items, export->n, sizeof(*export->items), by_key);
    for (size_t i = 0; i < export->n; i++) {
        struct item *item = &export->items[i];
        struct item *last = kept ? &export->items[kept - 1] : NULL;

        if (!last || !same_archive(last, item) ||
            strcmp(last->key, item->key) != 0) {
            struct item swap = export->items[kept];

            export->items[kept++] = *item;
            if (kept - 1 != i)
                *item = swap;
        } else if (memcmp(last->sha256, item->sha256, 32) != 0) {
            (void)fprintf(stderr,
                          "kpack: %s has two different code objects \"%s\" for "
                          "%s in pack %s; an archive holds one of a name. "
                          "`kpack extract --all` writes both\n",
                          export->source, item->key, item->target, item->pack);
            return false;
        }
    }
    while (export->n > kept)
        free_item(&export->items[--export->n]);
    for (size_t i = 0; i < export->n; i++) {
        if (export->items[i].data)
            continue;
        (void)fprintf(stderr, "kpack: %s: code object \"%s\" for %s: %s\n",
                      export->source, export->items[i].key,
                      export->items[i].target, export->items[i].fault);
        return false;
    }
    return true;
}

/* ---- the kernels of a code object ------------------------------------------
 * A kernel NAME is the symbol NAME.kd: LLVM's AMDGPUUsage, "Symbols".
 */

struct symbols {
    const unsigned char *at;
    size_t n;
    const char *names;
    size_t names_nbytes;
};

static bool inside(const struct item *item, uint64_t offset, uint64_t nbytes)
{
    return offset <= item->nbytes && nbytes <= item->nbytes - offset;
}

static bool read_section(const struct item *item, const Elf64_Ehdr *header,
                         size_t i, Elf64_Shdr *out)
{
    if (i >= header->e_shnum)
        return false;
    memcpy(out, item->data + header->e_shoff + i * sizeof(*out), sizeof(*out));
    return true;
}

/* False if it is no whole ELF64 file with such a table. */
static bool find_symbols(const struct item *item, struct symbols *out)
{
    Elf64_Shdr table = {0}, names = {0};
    Elf64_Ehdr header;
    size_t i = 0;

    if (item->nbytes < sizeof(header))
        return false;
    memcpy(&header, item->data, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof(table) ||
        !inside(item, header.e_shoff, (uint64_t)header.e_shnum * sizeof(table)))
        return false;
    do {
        if (!read_section(item, &header, i++, &table))
            return false;
    } while (table.sh_type != SHT_DYNSYM);
    if (!read_section(item, &header, table.sh_link, &names) ||
        !inside(item, table.sh_offset, table.sh_size) ||
        !inside(item, names.sh_offset, names.sh_size) || names.sh_size == 0 ||
        item->data[names.sh_offset + names.sh_size - 1] != '\0')
        return false;
    *out = (struct symbols){
        item->data + table.sh_offset, (size_t)table.sh_size / sizeof(Elf64_Sym),
        (const char *)item->data + names.sh_offset, (size_t)names.sh_size};
    return true;
}

/* The name of symbol i's kernel, to be freed; NULL if the symbol belongs to no
 * kernel. */
static char *kernel_name(const struct symbols *symbols, size_t i)
{
    static const char end[] = ".kd";
    const char *name;
    Elf64_Sym symbol;
    size_t n;
    char *out;

    memcpy(&symbol, symbols->at + i * sizeof(symbol), sizeof(symbol));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= symbols->names_nbytes)
        return NULL;
    name = symbols->names + symbol.st_name;
    n = strlen(name);
    if (n < sizeof(end) || strcmp(name + n - strlen(end), end) != 0)
        return NULL;
    n -= strlen(end);
    out = memcpy(cmd_malloc(n + 1), name, n);
    out[n] = '\0';
    return out;
}

static bool check_kernels(const struct export *export)
{
    for (size_t i = 0; i < export->n; i++) {
        struct symbols symbols;

        if (find_symbols(&export->items[i], &symbols))
            continue;
        (void)fprintf(stderr,
                      "kpack: %s: \"%s\" for %s in pack %s is no code object "
                      "for AMD's GPUs: it has no whole symbol table\n",
                      export->source, export->items[i].key,
                      export->items[i].target, export->items[i].pack);
        return false;
    }
    return true;
}

/* ---- files ---------------------------------------------------------- */

/* "PACK_TARGET.kpack", as search paths of AMD's libraries have it, or
 * "PACK.json" without a target; to be freed. */
static char *file_name(const char *pack, const char *target)
{
    const size_t room = strlen(pack) + (target ? strlen(target) : 0) + 16;
    char *name = cmd_malloc(room);

    (void)snprintf(name, room, target ? "%s_%s.kpack" : "%s.json", pack,
                   target);
    cmd_file_name(name);
    return name;
}

static int write_into(const char *folder, const char *name, const void *data,
                      size_t nbytes)
{
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = cmd_malloc(room);
    int status;

    (void)snprintf(path, room, "%s/%s", folder, name);
    status = cmd_write_file(path, data, nbytes, NULL);
    free(path);
    return status;
}

static int write_archive(const char *folder, const struct item *items, size_t n)
{
    struct kpak_object *objects = cmd_calloc(n, sizeof(*objects));
    char *name = file_name(items[0].pack, items[0].target);
    unsigned char *bytes;
    size_t nbytes;
    int status;

    for (size_t i = 0; i < n; i++)
        objects[i] =
            (struct kpak_object){items[i].key, items[i].data, items[i].nbytes};
    bytes = kpak_write(items[0].pack, items[0].target, objects, n, &nbytes);
    status = write_into(folder, name, bytes, nbytes);
    free(bytes);
    free(name);
    free(objects);
    return status;
}

static void json_kernels(const struct item *item)
{
    char *library = file_name(item->pack, item->target);
    struct symbols symbols = {.n = 0};
    char hex[65];

    cmd_hex(item->sha256, hex);
    (void)find_symbols(item, &symbols); /* check_kernels() found them */
    for (size_t i = 0; i < symbols.n; i++) {
        char *name = kernel_name(&symbols, i);

        if (!name)
            continue;
        json_open(NULL, '{');
        json_string("library", library);
        json_string("toc_key", item->key);
        json_string("symbol", name);
        json_string("sha256", hex);
        json_close('}');
        free(name);
    }
    free(library);
}

/* Writes the list; allocates all memory before it creates the file. */
static int write_list(const char *folder, const struct item *items, size_t n)
{
    char *name = file_name(items[0].pack, NULL);
    struct os_text text = {NULL, NULL, 0};
    int status;

    if (!os_begin_text(&text))
        cmd_no_memory();
    json_to(text.file);
    json_open(NULL, '{');
    json_string("pack", items[0].pack);
    json_open("kernels", '[');
    for (size_t i = 0; i < n; i++)
        json_kernels(&items[i]);
    json_close(']');
    json_close('}');
    json_end();
    json_to(NULL);
    if (!os_end_text(&text))
        cmd_no_memory();
    status = write_into(folder, name, text.text, text.nbytes);
    free(text.text);
    free(name);
    return status;
}

/* Names of packs in a file may be any: two may become one name of a file. */
static bool check_names(const struct export *export)
{
    const struct item *items = export->items;
    bool differ = true;

    for (size_t i = 0; i < export->n && differ;
         i += run_of(items + i, export->n - i, same_archive)) {
        char *name = file_name(items[i].pack, items[i].target);

        for (size_t k = 0; k < i && differ;
             k += run_of(items + k, export->n - k, same_archive)) {
            char *other = file_name(items[k].pack, items[k].target);

            differ = strcmp(name, other) != 0;
            free(other);
        }
        if (!differ)
            (void)fprintf(stderr,
                          "kpack: %s has two packs whose archives would both "
                          "be called %s; `kpack extract --all` writes their "
                          "code objects\n",
                          export->source, name);
        free(name);
    }
    return differ;
}

static int write_all(const struct export *export)
{
    const struct item *items = export->items;
    const size_t n = export->n;
    int status = EXIT_DONE;

    if (!cmd_make_folder(export->folder))
        return cmd_write_failed(export->folder);
    for (size_t i = 0; i < n && status == EXIT_DONE;) {
        const size_t pack = run_of(items + i, n - i, same_pack);
        const size_t end = i + pack;

        for (size_t k = i; k < end && status == EXIT_DONE;) {
            const size_t these = run_of(items + k, end - k, same_archive);

            status = write_archive(export->folder, items + k, these);
            k += these;
        }
        if (status == EXIT_DONE)
            status = write_list(export->folder, items + i, pack);
        i = end;
    }
    return status;
}

/* ---- the command ---------------------------------------------------- */

static int finish(struct export *export)
{
    if (export->nnvidia)
        (void)fprintf(stderr,
                      "kpack: %zu code object%s for NVIDIA's GPUs left out: "
                      "AMD's archives hold AMD's code\n",
                      export->nnvidia, export->nnvidia == 1 ? "" : "s");
    if (!settle(export) || !check_kernels(export) || !check_names(export))
        return EXIT_NO;
    if (export->n)
        return write_all(export);
    (void)fprintf(stderr,
                  "kpack: %s has no code object for AMD's GPUs: no archive is "
                  "written\n",
                  export->source);
    return EXIT_NO;
}

static int wrong(const char *what)
{
    (void)fprintf(stderr, "kpack: %s\n", what);
    return EXIT_USAGE;
}

/* A key's suffix; NULL if there is no such kind. */
static const char *suffix_of(const char *keys)
{
    return !keys || strcmp(keys, "module") == 0 ? ""
           : strcmp(keys, "path") == 0          ? ".co"
                                                : NULL;
}

int cmd_export(const struct options *options)
{
    const char *suffix = suffix_of(options->keys);
    struct export export = {options->kpack, "the pack of this command", suffix,
                            .n = 0};
    struct scan scan = {.n = 0};
    kpk_status st;
    int status;

    if (!options->kpack)
        return wrong("--keys says what code objects are called in the archives "
                     "of --kpack DIR, which is not given");
    if (options->output || options->all)
        return wrong("--kpack DIR writes all code objects into that folder: "
                     "give it without -o and --all");
    if (options->nwords > 1)
        return wrong("extract --kpack DIR takes no word, for the pack of this "
                     "command, or FILE, for the packs in it");
    if (strcmp(options->kpack, "-") == 0)
        return wrong("--kpack writes several files: give it a folder");
    if (!suffix)
        return wrong("--keys is module or path");
    if (!options->nwords) {
        st = gather_pack(&export);
        status = st == KPK_OK ? finish(&export) : cmd_failed(st);
    } else {
        export.source = options->words[0];
        status = EXIT_NO;
        if (search_file(options->words[0], &scan) &&
            !objects_print_faults(&scan)) {
            gather_scan(&export, &scan);
            status = finish(&export);
        }
    }
    while (export.n > 0)
        free_item(&export.items[--export.n]);
    free(export.items);
    search_free(&scan);
    return status;
}
