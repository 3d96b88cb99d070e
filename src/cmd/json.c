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

/* RFC 8259, section 7: quotes, backslashes and control characters. */
void json_string(const char *key, const char *value)
{
    begin(key);
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
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
