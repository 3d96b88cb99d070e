/* json.c - writes JSON, to standard output unless told otherwise */
#include "json.h"
#include "xmalloc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static bool need_comma;
static int depth;
static FILE *stream; /* in memory; NULL: standard output */

void json_to(FILE *file)
{
    stream = file;
}

/* main() reports what is lost of standard output. A stream in memory has no
 * mark of it: glibc's does not set ferror(). */
__attribute__((format(__printf__, 1, 0))) static void
emit_all(const char *format, va_list args)
{
    if (vfprintf(stream ? stream : stdout, format, args) < 0 && stream)
        cmd_no_memory();
}

__attribute__((format(__printf__, 1, 2))) static void emit(const char *format,
                                                           ...)
{
    va_list args;

    va_start(args, format);
    emit_all(format, args);
    va_end(args);
}

static void begin(const char *key)
{
    if (need_comma)
        emit(",");
    if (depth)
        emit("\n%*s", 2 * depth, "");
    need_comma = true;
    if (key)
        emit("\"%s\": ", key); /* keys are ours: nothing to escape */
}

void json_open(const char *key, char bracket)
{
    begin(key);
    emit("%c", bracket);
    need_comma = false;
    depth++;
}

void json_close(char bracket)
{
    depth--;
    if (need_comma)
        emit("\n%*s", 2 * depth, "");
    emit("%c", bracket);
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
    /* Refuses overlong forms, surrogates, and values that are no characters. */
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
 * escaped; bytes that are not UTF-8 become U+FFFD. */
void json_string(const char *key, const char *value)
{
    const unsigned char *c = (const unsigned char *)value;

    begin(key);
    emit("\"");
    while (*c) {
        const size_t n = character_nbytes(c);

        if (n == 0)
            emit("\\ufffd");
        else if (*c == '"' || *c == '\\')
            emit("\\%c", *c);
        else if (*c < 0x20)
            emit("\\u%04x", *c);
        else
            emit("%.*s", (int)n, (const char *)c);
        c += n ? n : 1;
    }
    emit("\"");
}

void json_number(const char *key, uint64_t value)
{
    begin(key);
    emit("%" PRIu64, value);
}

void json_raw(const char *key, const char *format, ...)
{
    va_list args;

    begin(key);
    va_start(args, format);
    emit_all(format, args);
    va_end(args);
}

void json_bool(const char *key, bool value)
{
    begin(key);
    emit(value ? "true" : "false");
}

void json_end(void)
{
    emit("\n");
    need_comma = false;
}
