/* kpack-embed.c - the command: files in, a C array of their bytes out
 *
 *   xxd -p -c 32 | kpack-embed xxd OUT SYMBOL FILE...
 *   kpack-embed incbin OUT SYMBOL FILE...
 *   kpack-embed incbin-large OUT SYMBOL FILE...
 *   kpack-embed incbin-coff OUT SYMBOL FILE...
 *
 * The array concatenates the files. `xxd` reads them as xxd's hex and writes
 * one string literal, which a C compiler reads about 15 times faster than a
 * list of numbers. `incbin` has the assembler read the files, `incbin-large`
 * for the section of large data, `incbin-coff` for Windows' object files.
 * Either way a NUL ends the array, for the driver takes PTX as a string. SYMBOL
 * - takes the name that the head at the front of the first file gives (struct
 * kpk_blob).
 *
 * It needs nothing but the C library: archives of prebuilt kernels build it
 * where they are unpacked. Silent on success. OUT appears complete or not at
 * all. A fault is reported as `FILE: what`, with status 1.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kpack/format.h"
#include "write/blob_symbol.h"

enum { LINE_MAX_NBYTES = 32 };

static bool fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

/* A string of a head; NULL if it does not end within the head's bytes. */
static const char *text_at(const char *head, size_t nbytes, uint32_t at)
{
    return at < nbytes && memchr(head + at, 0, nbytes - at) ? head + at : NULL;
}

/* Reads the symbol's name in a head. */
static bool read_symbol(const char *path, char out[BLOB_SYMBOL_MAX])
{
    char bytes[4096];
    struct kpk_blob head;
    const char *pack, *module, *target;
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        return fail(path, strerror(errno));
    n = fread(bytes, 1, sizeof(bytes), f);
    (void)fclose(f);
    if (n < sizeof(head) || memcmp(bytes, "KPACK BLOB", 10) != 0)
        return fail(path, "no head of a code object; name the array");
    memcpy(&head, bytes, sizeof(head));
    pack = text_at(bytes, n, head.pack);
    module = text_at(bytes, n, head.module);
    target = text_at(bytes, n, head.target);
    if (!pack || !module || !target)
        return fail(path, "a damaged head");
    blob_symbol(out, pack, module, target);
    return true;
}

static bool add_size(const char *path, unsigned long long *nbytes)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return fail(path, strerror(errno));
    *nbytes += (unsigned long long)s.st_size;
    return true;
}

/* Turns lines of hex from standard input into lines of a string literal.
 * Returns the number of bytes. */
static unsigned long long write_hex(FILE *f)
{
    char line[2 * LINE_MAX_NBYTES + 3], text[4 * LINE_MAX_NBYTES + 4];
    unsigned long long total = 0;

    while (fgets(line, sizeof(line), stdin)) {
        size_t n = 0;

        text[n++] = '"';
        for (const char *c = line;
             isxdigit((unsigned char)c[0]) && isxdigit((unsigned char)c[1]);
             c += 2, total++) {
            text[n++] = '\\';
            text[n++] = 'x';
            text[n++] = c[0];
            text[n++] = c[1];
        }
        text[n++] = '"';
        text[n++] = '\n';
        (void)fwrite(text, 1, n, f);
    }
    return total;
}

static bool write_literal(FILE *f, const char *symbol,
                          unsigned long long nbytes)
{
    unsigned long long n;

    fprintf(f,
            "/* Written by kpack-embed from xxd; do not edit. */\n"
            "extern const unsigned char %s[] "
            "__attribute__((visibility(\"hidden\")));\n"
            "__attribute__((aligned(64))) const unsigned char %s[%llu] =\n",
            symbol, symbol, nbytes + 1);
    n = write_hex(f);
    fputs(";\n", f);
    if (n == nbytes)
        return true;
    fprintf(stderr, "kpack-embed: xxd gave %llu bytes of %llu; is it there?\n",
            n, nbytes);
    return false;
}

static void begin_elf(FILE *f, const char *symbol, unsigned long long nbytes,
                      bool large)
{
    fprintf(f,
            "__asm__(\".section .%srodata,\\\"a%s\\\"\\n\"\n"
            "        \".p2align 6\\n\"\n"
            "        \".globl %s\\n\"\n"
            "        \".hidden %s\\n\"\n"
            "        \".type %s, %%object\\n\"\n"
            "        \".size %s, %llu\\n\"\n"
            "        \"%s:\\n\"\n",
            large ? "l" : "", large ? "l" : "", symbol, symbol, symbol, symbol,
            nbytes + 1, symbol);
}

/* The format has neither sizes nor visibility. */
static void begin_coff(FILE *f, const char *symbol)
{
    fprintf(f,
            "__asm__(\".section .rdata,\\\"dr\\\"\\n\"\n"
            "        \".p2align 6\\n\"\n"
            "        \".globl %s\\n\"\n"
            "        \"%s:\\n\"\n",
            symbol, symbol);
}

static void write_incbin(FILE *f, const char *how, const char *symbol,
                         unsigned long long nbytes, char *const *files,
                         int nfiles)
{
    const bool coff = strcmp(how, "incbin-coff") == 0;

    fputs("/* Written by kpack-embed; do not edit. */\n", f);
    if (coff)
        begin_coff(f, symbol);
    else
        begin_elf(f, symbol, nbytes, strcmp(how, "incbin-large") == 0);
    for (int i = 0; i < nfiles; i++)
        fprintf(f, "        \".incbin \\\"%s\\\"\\n\"\n", files[i]);
    fprintf(f, "        \".byte 0\\n\"\n        \"%s\\n\");\n",
            coff ? ".text" : ".previous");
}

/* Writes to OUT.tmp and renames, so that a failure leaves no half a file. */
static bool embed(const char *how, const char *out, const char *symbol,
                  char *const *files, int nfiles)
{
    const bool by_xxd = strcmp(how, "xxd") == 0;
    unsigned long long nbytes = 0;
    char temporary[4096];
    FILE *f;
    bool ok = true;

    for (int i = 0; i < nfiles; i++)
        if (!add_size(files[i], &nbytes))
            return false;
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", out) >=
        sizeof(temporary))
        return fail(out, strerror(ENAMETOOLONG));
    f = fopen(temporary, "w");
    if (!f)
        return fail(temporary, strerror(errno));
    if (by_xxd)
        ok = write_literal(f, symbol, nbytes);
    else
        write_incbin(f, how, symbol, nbytes, files, nfiles);
    if (ferror(f))
        ok = fail(temporary, "cannot be written");
    if (fclose(f) != 0 && ok)
        ok = fail(temporary, strerror(errno));
    if (ok && rename(temporary, out) != 0)
        ok = fail(out, strerror(errno));
    if (!ok)
        (void)remove(temporary);
    return ok;
}

int main(int argc, char **argv)
{
    char symbol[BLOB_SYMBOL_MAX];

    if (argc < 5 ||
        (strcmp(argv[1], "xxd") != 0 && strcmp(argv[1], "incbin") != 0 &&
         strcmp(argv[1], "incbin-large") != 0 &&
         strcmp(argv[1], "incbin-coff") != 0)) {
        fputs(
            "usage: kpack-embed xxd|incbin|incbin-large|incbin-coff OUT SYMBOL "
            "FILE...\n",
            stderr);
        return 2;
    }
    if (strcmp(argv[3], "-") != 0)
        snprintf(symbol, sizeof(symbol), "%s", argv[3]);
    else if (!read_symbol(argv[4], symbol))
        return 1;
    return embed(argv[1], argv[2], symbol, argv + 4, argc - 4) ? 0 : 1;
}
