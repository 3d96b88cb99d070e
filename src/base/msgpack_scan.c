/* msgpack_scan.c - walks msgpack without making anything of it
 *
 * The format: https://github.com/msgpack/msgpack/blob/master/spec.md
 */
#include "msgpack_scan.h"

#include <stdint.h>

enum { DEPTH_MAX = 16 };

/* An object's form, by its first byte: a length of length_nbytes bytes; then
 * length + fixed bytes, or in lists and maps length * objects objects. */
struct form {
    uint8_t first, last; /* range of first bytes with this form */
    uint8_t length_nbytes;
    uint8_t fixed;
    uint8_t objects; /* per unit of length: 0, 1 or 2 */
};

static const struct form forms[] = {
    {0xc0, 0xc0, 0, 0, 0}, {0xc2, 0xc3, 0, 0, 0}, /* nil, booleans */
    {0xc4, 0xc4, 1, 0, 0}, {0xc5, 0xc5, 2, 0, 0}, /* bytes */
    {0xc6, 0xc6, 4, 0, 0}, {0xc7, 0xc7, 1, 1, 0}, /* and extensions */
    {0xc8, 0xc8, 2, 1, 0}, {0xc9, 0xc9, 4, 1, 0}, {0xca, 0xca, 0, 4, 0},
    {0xcb, 0xcb, 0, 8, 0},                        /* floats */
    {0xcc, 0xcc, 0, 1, 0}, {0xcd, 0xcd, 0, 2, 0}, /* integers */
    {0xce, 0xce, 0, 4, 0}, {0xcf, 0xcf, 0, 8, 0}, {0xd0, 0xd0, 0, 1, 0},
    {0xd1, 0xd1, 0, 2, 0}, {0xd2, 0xd2, 0, 4, 0}, {0xd3, 0xd3, 0, 8, 0},
    {0xd4, 0xd4, 0, 2, 0}, {0xd5, 0xd5, 0, 3, 0}, /* extensions */
    {0xd6, 0xd6, 0, 5, 0}, {0xd7, 0xd7, 0, 9, 0}, {0xd8, 0xd8, 0, 17, 0},
    {0xd9, 0xd9, 1, 0, 0}, /* strings */
    {0xda, 0xda, 2, 0, 0}, {0xdb, 0xdb, 4, 0, 0}, {0xdc, 0xdc, 2, 0, 1},
    {0xdd, 0xdd, 4, 0, 1},                        /* lists */
    {0xde, 0xde, 2, 0, 2}, {0xdf, 0xdf, 4, 0, 2}, /* maps */
};

/* The rest of an object after the length. */
struct rest {
    uint64_t nbytes;
    uint64_t nobjects;
};

/* Forms whose length is in the first byte. */
static bool short_form(uint8_t first, struct rest *out)
{
    out->nbytes = out->nobjects = 0;
    if (first >= 0xa0 && first <= 0xbf)
        out->nbytes = first & 0x1fu; /* a string */
    else if (first >= 0x90 && first <= 0x9f)
        out->nobjects = first & 0x0fu; /* a list */
    else if (first >= 0x80 && first <= 0x8f)
        out->nobjects = UINT64_C(2) * (first & 0x0fu); /* a map */
    else
        return first <= 0x7f || first >= 0xe0; /* an integer */
    return true;
}

/* Reads an object's first bytes off the front. */
static bool take_head(const uint8_t **at, const uint8_t *end, struct rest *out)
{
    const uint8_t first = *(*at)++;
    uint64_t length = 0;

    if (short_form(first, out))
        return true;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct form *f = &forms[i];

        if (first < f->first || first > f->last)
            continue;
        if (end - *at < f->length_nbytes)
            return false;
        for (int n = 0; n < f->length_nbytes; n++)
            length = length << 8 | *(*at)++;
        out->nbytes = f->fixed + (f->objects ? 0 : length);
        out->nobjects = f->objects * length;
        return true;
    }
    return false; /* 0xc1 is never used */
}

bool msgpack_skip(struct msgpack *m)
{
    uint64_t left[DEPTH_MAX] = {1}; /* objects to come at each depth */
    size_t depth = 0;

    for (;;) {
        struct rest rest;

        while (left[depth] == 0) {
            if (depth == 0)
                return true;
            depth--;
        }
        left[depth]--;
        if (m->at == m->end || !take_head(&m->at, m->end, &rest) ||
            rest.nbytes > (uint64_t)(m->end - m->at) ||
            rest.nobjects > (uint64_t)(m->end - m->at))
            return false;
        m->at += rest.nbytes;
        if (rest.nobjects == 0)
            continue;
        if (++depth == DEPTH_MAX)
            return false;
        left[depth] = rest.nobjects;
    }
}

bool msgpack_scan(const void *data, size_t nbytes)
{
    struct msgpack m = {data, (const uint8_t *)data + nbytes};

    return msgpack_skip(&m);
}

/* ---- taking one object of a wanted kind --------------------------------- */

static bool take(struct msgpack *m, uint8_t *first, struct rest *rest)
{
    const uint8_t *at = m->at;

    if (at == m->end)
        return false;
    *first = *at;
    if (!take_head(&at, m->end, rest) ||
        rest->nbytes > (uint64_t)(m->end - at) ||
        rest->nobjects > (uint64_t)(m->end - at))
        return false;
    m->at = at;
    return true;
}

bool msgpack_take_text(struct msgpack *m, const char **text, size_t *nbytes)
{
    struct msgpack from = *m;
    struct rest rest;
    uint8_t first;

    if (!take(&from, &first, &rest) ||
        !((first >= 0xa0 && first <= 0xbf) || (first >= 0xd9 && first <= 0xdb)))
        return false;
    *text = (const char *)from.at;
    *nbytes = (size_t)rest.nbytes;
    m->at = from.at + rest.nbytes;
    return true;
}

bool msgpack_take_number(struct msgpack *m, uint64_t *out)
{
    struct msgpack from = *m;
    struct rest rest;
    uint8_t first;

    if (!take(&from, &first, &rest) ||
        !(first <= 0x7f || (first >= 0xcc && first <= 0xcf)))
        return false;
    *out = first <= 0x7f ? first : 0;
    for (uint64_t i = 0; i < rest.nbytes; i++)
        *out = *out << 8 | *from.at++;
    m->at = from.at;
    return true;
}

/* A list if `objects` is 1, a map if it is 2. */
static bool take_several(struct msgpack *m, unsigned objects, uint64_t *n)
{
    static const uint8_t firsts[][3] = {{0x90, 0xdc, 0xdd}, {0x80, 0xde, 0xdf}};
    const uint8_t *of = firsts[objects - 1];
    struct msgpack from = *m;
    struct rest rest;
    uint8_t first;

    if (!take(&from, &first, &rest) ||
        ((first & 0xf0) != of[0] && first != of[1] && first != of[2]))
        return false;
    *n = rest.nobjects / objects;
    m->at = from.at;
    return true;
}

bool msgpack_take_list(struct msgpack *m, uint64_t *n)
{
    return take_several(m, 1, n);
}

bool msgpack_take_map(struct msgpack *m, uint64_t *n)
{
    return take_several(m, 2, n);
}
