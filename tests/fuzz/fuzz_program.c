/* fuzz_program.c - any bytes as a file of a tree that is imported: programs
 * with bundles in them, bundles, code objects, archives */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"
#include "mutate.h"
#include "pack/import_file.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Turns LeakSanitizer off: an import's memory lives as long as the command. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return 1;
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
    char path[64];
    struct import in = {.pack = "fuzz", .root = "."};
    /* targets in a file's name */
    static const char *const labels[] = {"", "gfx942", "sm_90a"};
    const struct import_place place = {.file = path,
                                       .label = labels[nbytes % 3],
                                       .kind = "",
                                       .folder = "",
                                       .path = "fuzz",
                                       .module = "fuzz"};
    const int fd = memfd_create("fuzz", 0);

    if (fd < 0 || write(fd, data, nbytes) != (ssize_t)nbytes)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    import_file(&in, &place, NULL);
    for (size_t i = 0; i < in.nobjects; i++) {
        FUZZ_ASSERT(in.objects[i].object.co->nbytes > 0);
        codeobj_free((struct codeobj *)in.objects[i].object.co);
    }
    free(in.objects);
    close(fd);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed)
{
    return mutate_elf(data, nbytes, most, seed);
}
