/* made_kpak.c - makes AMD's kernel archives, and libraries whose code is in
 * them */
#include "made_kpak.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct bytes {
    unsigned char *data;
    size_t n;
};

static void add(struct bytes *b, const void *data, size_t nbytes)
{
    b->data = realloc(b->data, b->n + nbytes + 1);
    if (!b->data)
        exit(1);
    if (nbytes)
        memcpy(b->data + b->n, data, nbytes);
    b->n += nbytes;
}

static void add_byte(struct bytes *b, unsigned byte)
{
    const unsigned char one = (unsigned char)byte;

    add(b, &one, 1);
}

static void add_number(struct bytes *b, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++)
        add_byte(b, value >> 8 * i & 0xff);
}

static void align(struct bytes *b, size_t to)
{
    while (b->n % to)
        add_byte(b, 0);
}

/* ---- MessagePack: each object in its shortest form ------------------ */

static void big_endian(struct bytes *b, uint64_t value, int nbytes)
{
    while (nbytes-- > 0)
        add_byte(b, value >> 8 * nbytes & 0xff);
}

static void pack_number(struct bytes *b, uint64_t value)
{
    int log = 0; /* of the bytes */

    if (value < 0x80) {
        add_byte(b, (unsigned)value);
        return;
    }
    while (log < 3 && value >> (8 << log))
        log++;
    add_byte(b, 0xcc + (unsigned)log);
    big_endian(b, value, 1 << log);
}

static void pack_text(struct bytes *b, const char *text)
{
    const size_t n = strlen(text);

    if (n < 32) {
        add_byte(b, 0xa0 + (unsigned)n);
    } else {
        add_byte(b, n < 256 ? 0xd9 : 0xda);
        big_endian(b, n, n < 256 ? 1 : 2);
    }
    add(b, text, n);
}

/* `few` is the form of up to 15 objects, `more` that of 16 bits. */
static void pack_head(struct bytes *b, unsigned few, unsigned more, size_t n)
{
    add_byte(b, n < 16 ? few + (unsigned)n : more);
    if (n >= 16)
        big_endian(b, n, 2);
}

static void pack_map(struct bytes *b, size_t n)
{
    pack_head(b, 0x80, 0xde, n);
}

static void pack_list(struct bytes *b, size_t n)
{
    pack_head(b, 0x90, 0xdc, n);
}

static void pack_pair(struct bytes *b, const char *key, const char *value)
{
    pack_text(b, key);
    pack_text(b, value);
}

static void pack_count(struct bytes *b, const char *key, uint64_t value)
{
    pack_text(b, key);
    pack_number(b, value);
}

/* ---- archives ------------------------------------------------------------ */

static bool is_new_target(const struct made_kpak_entry *e, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(e[k].target, e[i].target) == 0)
            return false;
    return true;
}

static size_t count_targets(const struct made_kpak_entry *e, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += is_new_target(e, i);
    return count;
}

/* How many entries from the first on have its key. */
static size_t run_of(const struct made_kpak_entry *e, size_t n)
{
    size_t run = 1;

    while (run < n && strcmp(e[0].key, e[run].key) == 0)
        run++;
    return run;
}

static void add_frame(struct bytes *b, const struct made_kpak_entry *e)
{
    const size_t room = ZSTD_compressBound(e->nbytes);
    void *frame = malloc(room);
    size_t n;

    if (!frame)
        exit(1);
    n = ZSTD_compress(frame, room, e->data, e->nbytes, 3);
    if (ZSTD_isError(n))
        exit(1);
    add_number(b, n, 4);
    add(b, frame, n);
    free(frame);
}

static void pack_entries(struct bytes *b, const struct made_kpak_entry *e,
                         size_t n)
{
    size_t nkeys = 0;

    for (size_t i = 0; i < n; i += run_of(e + i, n - i))
        nkeys++;
    pack_text(b, "toc");
    pack_map(b, nkeys);
    for (size_t i = 0; i < n;) {
        const size_t run = run_of(e + i, n - i);

        pack_text(b, e[i].key);
        pack_map(b, run);
        for (const size_t end = i + run; i < end; i++) {
            pack_text(b, e[i].target);
            pack_map(b, 4);
            pack_pair(b, "type", "hsaco");
            pack_count(b, "ordinal", i);
            pack_count(b, "original_size", e[i].nbytes);
            pack_text(b, "metadata");
            pack_map(b, 1);
            pack_pair(b, "made", "by a test");
        }
    }
}

unsigned char *make_kpak(const char *group, const struct made_kpak_entry *e,
                         size_t n, bool zstd, size_t *nbytes)
{
    struct bytes b = {0}, toc = {0};
    size_t *at = calloc(n + 1, sizeof(*at));
    size_t from, toc_at;

    if (!at)
        exit(1);
    add(&b, "KPAK\1\0\0\0\0\0\0\0\0\0\0\0", 16);
    align(&b, 64);
    from = b.n;
    if (zstd)
        add_number(&b, n, 4);
    for (size_t i = 0; i < n; i++) {
        if (zstd) {
            add_frame(&b, &e[i]);
            continue;
        }
        align(&b, 64);
        at[i] = b.n;
        add(&b, e[i].data, e[i].nbytes);
    }
    pack_map(&toc, zstd ? 8 : 7);
    pack_count(&toc, "format_version", 1);
    pack_pair(&toc, "group_name", group);
    pack_pair(&toc, "gfx_arch_family", n ? e[0].target : "");
    pack_text(&toc, "gfx_arches");
    pack_list(&toc, count_targets(e, n));
    for (size_t i = 0; i < n; i++)
        if (is_new_target(e, i))
            pack_text(&toc, e[i].target);
    pack_pair(&toc, "compression_scheme", zstd ? "zstd-per-kernel" : "none");
    if (zstd) {
        pack_count(&toc, "zstd_offset", from);
        pack_count(&toc, "zstd_size", b.n - from);
    } else {
        pack_text(&toc, "blobs");
        pack_list(&toc, n);
        for (size_t i = 0; i < n; i++) {
            pack_map(&toc, 2);
            pack_count(&toc, "offset", at[i]);
            pack_count(&toc, "size", e[i].nbytes);
        }
    }
    pack_entries(&toc, e, n);
    toc_at = b.n;
    add(&b, toc.data, toc.n);
    for (int i = 0; i < 8; i++)
        b.data[8 + i] = (unsigned char)(toc_at >> 8 * i);
    free(toc.data);
    free(at);
    *nbytes = b.n;
    return b.data;
}

/* ---- libraries ----------------------------------------------------------- */

unsigned char *make_hipk(const char *name, char *const *paths, size_t npaths,
                         size_t nunits, size_t *nbytes)
{
    static const char names[] =
        "\0.rocm_kpack_ref\0.hipFatBinSegment\0.hip_fatbin\0.shstrtab";
    static const unsigned char zeros[4096];
    const Elf64_Shdr none = {.sh_type = SHT_NULL};
    Elf64_Shdr reference = {.sh_name = 1, .sh_type = SHT_PROGBITS};
    Elf64_Shdr wrappers = {.sh_name = 17, .sh_type = SHT_PROGBITS};
    Elf64_Shdr fatbin = {.sh_name = 35, .sh_type = SHT_PROGBITS};
    Elf64_Shdr strings = {.sh_name = 47, .sh_type = SHT_STRTAB};
    Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 5,
        .e_shstrndx = 4};
    struct bytes b = {0};

    add(&b, &head, sizeof(head));
    reference.sh_offset = b.n;
    pack_map(&b, 2);
    pack_text(&b, "kpack_search_paths");
    pack_list(&b, npaths);
    for (size_t i = 0; i < npaths; i++)
        pack_text(&b, paths[i]);
    pack_pair(&b, "kernel_name", name);
    reference.sh_size = b.n - reference.sh_offset;
    align(&b, 8);
    wrappers.sh_offset = b.n;
    for (size_t i = 0; i < nunits; i++) {
        add(&b, "HIPK", 4);
        add_number(&b, 1, 4);
        add_number(&b, reference.sh_offset, 8);
        add_number(&b, i, 8);
    }
    wrappers.sh_size = b.n - wrappers.sh_offset;
    align(&b, 4096);
    fatbin.sh_offset = b.n;
    fatbin.sh_size = sizeof(zeros);
    add(&b, zeros, sizeof(zeros));
    strings.sh_offset = b.n;
    strings.sh_size = sizeof(names);
    add(&b, names, sizeof(names));
    align(&b, 8);
    head.e_shoff = b.n;
    add(&b, &none, sizeof(none));
    add(&b, &reference, sizeof(reference));
    add(&b, &wrappers, sizeof(wrappers));
    add(&b, &fatbin, sizeof(fatbin));
    add(&b, &strings, sizeof(strings));
    memcpy(b.data, &head, sizeof(head));
    *nbytes = b.n;
    return b.data;
}
