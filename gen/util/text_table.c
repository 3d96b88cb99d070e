/* text_table.c - a table of strings that are referred to by offset
 *
 * The text is one array of NUL-terminated strings. A hash table of offsets,
 * with open addressing, finds known strings.
 */
#include "util/text_table.h"

#include "base/keyed_hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct strings {
    char *text;
    size_t used, room;
    uint32_t *slots; /* offsets; 0 is free */
    size_t n, nslots;
    uint64_t key; /* the hash's key: names come from untrusted files */
};

struct strings *strings_new(void)
{
    struct strings *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->used = 1; /* the empty string */
    s->key = keyed_hash_key(s);
    return s;
}

void strings_free(struct strings *s)
{
    if (!s)
        return;
    free(s->text);
    free(s->slots);
    free(s);
}

/* The slot with the text, or the free slot for it. */
static uint32_t *find_slot(const struct strings *s, uint32_t *slots, size_t n,
                           const char *text)
{
    size_t at = keyed_hash_slot(
        keyed_hash_bytes(s->key, KEYED_HASH_EMPTY, text, strlen(text)), n - 1);

    while (slots[at] && strcmp(s->text + slots[at], text) != 0)
        at = (at + 1) & (n - 1);
    return &slots[at];
}

static int more_slots(struct strings *s)
{
    const size_t n = s->nslots ? 2 * s->nslots : 64;
    uint32_t *slots = calloc(n, sizeof(*slots));

    if (!slots)
        return 0;
    for (size_t i = 0; i < s->nslots; i++)
        if (s->slots[i])
            *find_slot(s, slots, n, s->text + s->slots[i]) = s->slots[i];
    free(s->slots);
    s->slots = slots;
    s->nslots = n;
    return 1;
}

static int more_text(struct strings *s, size_t nbytes)
{
    size_t room = s->room ? s->room : 4096;
    char *text;

    while (room - s->used < nbytes)
        room *= 2;
    if (room > UINT32_MAX)
        return 0;
    text = room == s->room ? s->text : realloc(s->text, room);
    if (!text)
        return 0;
    if (!s->text)
        text[0] = '\0';
    s->text = text;
    s->room = room;
    return 1;
}

uint32_t strings_add(struct strings *s, const char *text)
{
    const size_t nbytes = strlen(text) + 1;
    uint32_t *slot;

    if (nbytes == 1)
        return 0;
    if (!more_text(s, nbytes) || (2 * s->n >= s->nslots && !more_slots(s)))
        return UINT32_MAX;
    slot = find_slot(s, s->slots, s->nslots, text);
    if (!*slot) {
        *slot = (uint32_t)s->used;
        memcpy(s->text + s->used, text, nbytes);
        s->used += nbytes;
        s->n++;
    }
    return *slot;
}

void strings_write(FILE *f, const struct strings *s)
{
    fputs("static const char strings[] =\n    \"\\0\"\n", f);
    for (size_t at = 1; at < s->used; at += strlen(s->text + at) + 1) {
        fputs("    \"", f);
        for (const char *c = s->text + at; *c; c++)
            if (isalnum((unsigned char)*c) || strchr("_.:+-$/", *c))
                fputc(*c, f);
            else
                fprintf(f, "\\%03o", (unsigned)(unsigned char)*c);
        fputs("\\0\"\n", f);
    }
    fputs("    ;\n\n", f);
}
