/* over_files.c - runs a fuzz target over files, without libFuzzer
 *
 *   over_files FOLDER...
 *
 * For other compilers and tools than libFuzzer's: gcov (tests/branches).
 */
#include "mutate.h"

#include <dirent.h>
#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/* Stands in for libFuzzer's function, and changes nothing. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes, size_t most)
{
    (void)data;
    (void)most;
    return nbytes;
}

static void run_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");

    if (!f)
        return;
    (void)LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), f));
    (void)fclose(f);
}

int main(int argc, char **argv)
{
    unsigned n = 0;

    if (LLVMFuzzerInitialize)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
            char path[4096];

            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            run_file(path);
            n++;
        }
        if (dir)
            (void)closedir(dir);
    }
    printf("%u passed, 0 failed\n", n);
    return n ? 0 : 1;
}
