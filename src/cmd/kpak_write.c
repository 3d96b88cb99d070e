/* kpak_write.c - writes AMD's kernel archives
 *
 * The command is linked with no MessagePack library: a table of contents needs
 * maps, lists, texts and numbers of it, and only to be written.
 */
#include "kpak_write.h"
#include "xmalloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, ALIGN = 64, HEADER_NBYTES = 16 };

struct bytes {
    unsigned char *data;
    size_t n, room;
};

static void append(struct bytes *to, const void *data, size_t nbytes)
{
    if (nbytes > to->room - to->n) {
        to->room = 2 * to->room + nbytes + 256;
        to->data = cmd_realloc(to->data, to->room);
    }
    if (nbytes)
        memcpy(to->data + to->n, data, nbytes);
    to->n += nbytes;
}

static void pad(struct bytes *to)
{
    static const unsigned char zeros[ALIGN];

    append(to, zeros, (ALIGN - to->n % ALIGN) % ALIGN);
}

static void little_endian(unsigned char *at, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* ---- MessagePack: github.com/msgpack/msgpack, spec.md --------------- */

/* The form of a number or of a length. Below `nfixed` it is part of the first
 * byte; else it follows that byte, big-endian, in as few bytes as possible. */
struct form {
    unsigned char fixed;
    uint64_t nfixed;
    unsigned char
        wide[4]; /* first byte of the form with 1, 2, 4, 8 bytes; 0: none */
};

static const struct form
    /* clang-format off */
    number_form = {0x00, 128, {0xcc, 0xcd, 0xce, 0xcf}},
    text_form   = {0xa0,  32, {0xd9, 0xda, 0xdb, 0}},
    list_form   = {0x90,  16, {0,    0xdc, 0xdd, 0}},
    map_form    = {0x80,  16, {0,    0xde, 0xdf, 0}};
/* clang-format on */

static void put(struct bytes *to, const struct form *form, uint64_t value)
{
    unsigned char out[9];
    int nbytes = 1, i = 0;

    if (value < form->nfixed) {
        out[0] = (unsigned char)(form->fixed | value);
        append(to, out, 1);
        return;
    }
    while (!form->wide[i] || (nbytes < 8 && value >> (8 * nbytes))) {
        nbytes *= 2;
        i++;
    }
    out[0] = form->wide[i];
    for (int k = 0; k < nbytes; k++)
        out[1 + k] = (unsigned char)(value >> (8 * (nbytes - 1 - k)));
    append(to, out, 1 + (size_t)nbytes);
}

static void put_text(struct bytes *to, const char *text)
{
    put(to, &text_form, strlen(text));
    append(to, text, strlen(text));
}

static void put_pair(struct bytes *to, const char *key, uint64_t value)
{
    put_text(to, key);
    put(to, &number_form, value);
}

static void put_texts(struct bytes *to, const char *key, const char *value)
{
    put_text(to, key);
    put_text(to, value);
}

/* ---- the archive ---------------------------------------------------- */

static void put_table(struct bytes *to, const char *group, const char *target,
                      const struct kpak_object *objects, size_t n)
{
    uint64_t at = ALIGN;

    put(to, &map_form, 7);
    put_pair(to, "format_version", VERSION);
    put_texts(to, "group_name", group);
    put_texts(to, "gfx_arch_family", target);
    put_text(to, "gfx_arches");
    put(to, &list_form, 1);
    put_text(to, target);
    put_texts(to, "compression_scheme", "none");
    put_text(to, "blobs");
    put(to, &list_form, n);
    for (size_t i = 0; i < n; i++) {
        put(to, &map_form, 2);
        put_pair(to, "offset", at);
        put_pair(to, "size", objects[i].nbytes);
        at += (objects[i].nbytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    put_text(to, "toc");
    put(to, &map_form, n);
    for (size_t i = 0; i < n; i++) {
        put_text(to, objects[i].key);
        put(to, &map_form, 1);
        put_text(to, target);
        put(to, &map_form, 3);
        put_texts(to, "type", "hsaco");
        put_pair(to, "ordinal", i);
        put_pair(to, "original_size", objects[i].nbytes);
    }
}

unsigned char *kpak_write(const char *group, const char *target,
                          const struct kpak_object *objects, size_t n,
                          size_t *nbytes)
{
    unsigned char header[HEADER_NBYTES] = {'K', 'P', 'A', 'K'};
    struct bytes to = {.data = NULL};

    append(&to, header, sizeof(header));
    pad(&to);
    for (size_t i = 0; i < n; i++) {
        append(&to, objects[i].data, objects[i].nbytes);
        pad(&to);
    }
    little_endian(header + 4, VERSION, 4);
    little_endian(header + 8, to.n, 8);
    memcpy(to.data, header, sizeof(header));
    put_table(&to, group, target, objects, n);
    *nbytes = to.n;
    return to.data;
}
