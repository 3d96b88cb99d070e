/* fuzz_scan.c - any bytes as a file that `kpack list`, verify and prune look
 * into: packs by their heads, and archives of object files */
#define _GNU_SOURCE /* memfd_create */
#include "../../src/cmd/objfile.h"
#include "../../src/cmd/search.h"
#include "fuzz.h"
#include "mutate.h"

#include <elf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Decodes every code object found. */
static void scan(const uint8_t *data, size_t nbytes)
{
    char path[64];
    struct scan found;
    const int fd = memfd_create("fuzz", 0);

    if (fd < 0 || write(fd, data, nbytes) != (ssize_t)nbytes)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (search_file(path, &found))
        for (size_t i = 0; i < found.n; i++) {
            unsigned char *content = NULL;

            if (!found.found[i].fault)
                FUZZ_ASSERT(*found.found[i].target < 127);
            if (scan_is_object(&found.found[i]) &&
                !scan_content(&found, &found.found[i], &content))
                free(content);
        }
    search_free(&found);
    close(fd);
}

/* Gives the sections of an object file other sizes, as prune does; and what is
 * no section. */
static bool shrink(void *context, size_t from, struct objfile_bytes *member)
{
    static unsigned char zeros[64];
    Elf64_Ehdr header;
    Elf64_Shdr section;

    (void)context;
    for (size_t i = 0; i < 16 && member->nbytes >= sizeof(header); i++) {
        const struct objfile_bytes content = {zeros, 9 * i % sizeof(zeros)};

        memcpy(&header, member->data, sizeof(header));
        if (header.e_shoff > member->nbytes ||
            (i + 1) * sizeof(section) > member->nbytes - header.e_shoff)
            break;
        memcpy(&section, member->data + header.e_shoff + i * sizeof(section),
               sizeof(section));
        (void)objfile_resize(member, (size_t)section.sh_offset,
                             (size_t)section.sh_size - (from % 7 == 5),
                             &content);
    }
    return from % 7 != 6;
}

static void change(const uint8_t *data, size_t nbytes)
{
    struct objfile_bytes out = {NULL, 0};
    struct objfile_bytes whole = {malloc(nbytes + 1), nbytes};

    if (!whole.data)
        abort();
    memcpy(whole.data, data, nbytes);
    if (objfile_is_archive(data, nbytes) &&
        !objfile_each_member(data, nbytes, shrink, NULL, &out))
        free(out.data);
    (void)shrink(NULL, 0, &whole);
    free(whole.data);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    stderr = fopen("/dev/null", "w"); /* a sentence for nearly every input */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    scan(data, nbytes);
    change(data, nbytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed)
{
    return mutate_archive(data, nbytes, most, seed);
}
