/* json.c - writes JSON to standard output */
#include "cmd.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static bool need_comma;
static int depth;

static void begin(const char *key)
{
    if (need_comma)
        putchar(',');
    if (depth)
        printf("\n%*s", 2 * depth, "");
    need_comma = true;
    if (key)
        printf("\"%s\": ", key); /* keys are ours: nothing to escape */
}

void json_open(const char *key, char bracket)
{
    begin(key);
    putchar(bracket);
    need_comma = false;
    depth++;
}

void json_close(char bracket)
{
    depth--;
    if (need_comma)
        printf("\n%*s", 2 * depth, "");
    putchar(bracket);
    need_comma = true;
}

/* How many bytes the character has that begins here; 0 if it is not UTF-8, as
 * names of files need not be. RFC 3629, section 4. */
static size_t character_nbytes(const unsigned char *at)
{
    const size_t n = at[0] < 0x80                    ? 1
                     : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                     : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                     : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                     : 0;
    /* Not what has a shorter form, surrogates, and what is no character. */
    const unsigned char least = at[0] == 0xe0   ? 0xa0
                                : at[0] == 0xf0 ? 0x90
                                                : 0x80;
    const unsigned char most = at[0] == 0xed   ? 0x9f
                               : at[0] == 0xf4 ? 0x8f
                                               : 0xbf;

    if (n > 1 && (at[1] < least || at[1] > most))
        return 0;
    for (size_t i = 2; i < n; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return n;
}

/* RFC 8259, sections 7 and 8.1: quotes, backslashes and control characters are
 * escaped; what is not UTF-8 becomes the character that stands for such. */
void json_string(const char *key, const char *value)
{
    const unsigned char *c = (const unsigned char *)value;

    begin(key);
    putchar('"');
    while (*c) {
        const size_t n = character_nbytes(c);

        if (n == 0)
            fputs("\\ufffd", stdout);
        else if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            printf("%.*s", (int)n, (const char *)c);
        c += n ? n : 1;
    }
    putchar('"');
}

void json_number(const char *key, uint64_t value)
{
    begin(key);
    printf("%" PRIu64, value);
}

void json_raw(const char *key, const char *format, ...)
{
    va_list args;

    begin(key);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
}

void json_bool(const char *key, bool value)
{
    begin(key);
    fputs(value ? "true" : "false", stdout);
}

void json_end(void)
{
    putchar('\n');
    need_comma = false;
}
