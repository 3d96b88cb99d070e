/* pattern.c - patterns of names, as a shell has them */
#include "pattern.h"

#include <stddef.h>

/* The end of a set that begins behind '[', and whether it has the byte; NULL if
 * it has no end, so that '[' is a byte as any other. */
static const char *match_set(const char *at, char byte, bool *has)
{
    const bool other = *at == '!' || *at == '^';
    const char *first = at += other;
    bool found = false;

    for (; *at && (*at != ']' || at == first); at++) {
        if (at[1] == '-' && at[2] && at[2] != ']') {
            found |= at[0] <= byte && byte <= at[2];
            at += 2;
        } else {
            found |= *at == byte;
        }
    }
    *has = found != other;
    return *at ? at + 1 : NULL;
}

/* The pattern behind what stands for one byte; NULL if it does not. */
static const char *match_byte(const char *pattern, char byte)
{
    const char *end;
    bool has;

    if (*pattern == '[' && (end = match_set(pattern + 1, byte, &has)))
        return has ? end : NULL;
    return *pattern == '?' || *pattern == byte ? pattern + 1 : NULL;
}

/* The last '*' takes one byte more whenever what follows does not match. */
bool pattern_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *taken = name;

    while (*name) {
        const char *next = NULL;

        if (*pattern == '*') {
            star = ++pattern;
            taken = name;
            continue;
        }
        if (*pattern)
            next = match_byte(pattern, *name);
        if (next) {
            pattern = next;
            name++;
        } else if (star) {
            pattern = star;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
