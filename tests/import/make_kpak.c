/* make_kpak.c - writes AMD's kernel archives, and libraries that refer to them
 *
 *   make_kpak OUT none|zstd GROUP KEY@TARGET=FILE...   an archive
 *   make_kpak OUT library NAME UNITS PATH...           a library
 *
 * Entries with the same key must be adjacent.
 */
#include "made_kpak.h"
#include "read_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 64 };

static unsigned char *archive(int argc, char **argv, size_t *nbytes)
{
    struct made_kpak_entry entries[MAX_ENTRIES];
    size_t n = 0;

    for (int i = 4; i < argc && n < MAX_ENTRIES; i++, n++) {
        char *sign = strrchr(argv[i], '='), *at = strchr(argv[i], '@');

        if (!sign || !at)
            exit(2);
        *sign = *at = '\0';
        entries[n].key = argv[i];
        entries[n].target = at + 1;
        entries[n].data = read_file(sign + 1, &entries[n].nbytes);
    }
    return make_kpak(argv[3], entries, n, strcmp(argv[2], "zstd") == 0, nbytes);
}

int main(int argc, char **argv)
{
    unsigned char *data;
    size_t nbytes;
    FILE *f;

    if (argc < 5) {
        fputs("usage: make_kpak OUT none|zstd GROUP KEY@TARGET=FILE...\n"
              "       make_kpak OUT library NAME UNITS PATH...\n",
              stderr);
        return 2;
    }
    data = strcmp(argv[2], "library") == 0
               ? make_hipk(argv[3], argv + 5, (size_t)(argc - 5),
                           strtoul(argv[4], NULL, 10), &nbytes)
               : archive(argc, argv, &nbytes);
    f = fopen(argv[1], "wb");
    if (!f || fwrite(data, nbytes, 1, f) != 1 || fclose(f) != 0)
        fail(argv[1]);
    free(data);
    return 0;
}
