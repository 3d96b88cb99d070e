/* make_bundle.c - writes an offload bundle of files
 *
 *   make_bundle OUT VERSION METHOD ID=FILE...
 *
 * VERSION 0 is a plain bundle, 1 to 3 a compressed one of METHOD zlib or zstd.
 * METHOD offload makes offload binaries of VERSION 1 or 2, of which an ID is
 * TRIPLE,PROCESSOR.
 */
#include "made_code_object.h"
#include "read_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 16 };

static unsigned char *make_offloads(const struct made_entry *entries, size_t n,
                                    unsigned version, size_t *nbytes)
{
    struct made_image images[MAX_ENTRIES];

    for (size_t i = 0; i < n; i++) {
        char *comma = strchr(entries[i].id, ',');

        if (!comma)
            exit(2);
        *comma = '\0';
        images[i] = (struct made_image){entries[i].id, comma + 1,
                                        entries[i].data, entries[i].nbytes};
    }
    return make_offload(images, n, version, nbytes);
}

int main(int argc, char **argv)
{
    struct made_entry entries[MAX_ENTRIES] = {
        {"host-x86_64-unknown-linux-gnu-", "", 0}};
    size_t n = 1, nbytes;
    unsigned char *data;
    unsigned version;
    FILE *f;

    if (argc < 5 || argc > MAX_ENTRIES + 2) {
        fputs("usage: make_bundle OUT VERSION METHOD ID=FILE...\n", stderr);
        return 2;
    }
    for (int i = 4; i < argc; i++, n++) {
        char *sign = strrchr(argv[i], '=');

        if (!sign)
            return 2;
        *sign = '\0';
        entries[n].id = argv[i];
        entries[n].data = read_file(sign + 1, &entries[n].nbytes);
    }
    version = (unsigned)strtoul(argv[2], NULL, 10);
    if (strcmp(argv[3], "offload") == 0)
        data = make_offloads(entries + 1, n - 1, version, &nbytes);
    else
        data = make_bundle(entries, n, 4096, &nbytes);
    if (version && strcmp(argv[3], "offload") != 0)
        data = compress_bundle(data, nbytes, version,
                               strcmp(argv[3], "zstd") == 0, &nbytes);
    f = fopen(argv[1], "wb");
    if (!f || fwrite(data, nbytes, 1, f) != 1 || fclose(f) != 0)
        fail(argv[1]);
    return 0;
}
