/* fuzz_second_names.c - any bytes as an object whose kernels get second names
 */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"
#include "mutate.h"
#include "write/second_names.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Gives the file of a descriptor names by rules; true, and the new file in
 * `out`, if it is accepted. */
static bool name(int fd, const char *rules, int out)
{
    char path[64], error[SECOND_NAMES_ERROR_MAX] = "", why[CSV_ERROR_MAX];
    struct csv *csv = csv_parse("fuzz", rules, strlen(rules), why);
    FILE *f = fdopen(out, "w");
    bool ok;

    if (!csv || !f)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ok = second_names_write(f, path, "m", csv, error);
    FUZZ_ASSERT(ok || strncmp(error, path, strlen(path)) == 0);
    (void)fclose(f);
    csv_free(csv);
    return ok;
}

/* Reads the object that second_names_write() makes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const int in = memfd_create("in", 0), out = memfd_create("out", 0);

    if (in < 0 || out < 0 || write(in, data, nbytes) != (ssize_t)nbytes)
        abort();
    if (name(in, "module,text,alias\n*,k,second\nm,zz,zero\n", dup(out)))
        FUZZ_ASSERT(name(out, "module,text,alias\nother,k,z\n",
                         memfd_create("again", 0)));
    close(in);
    close(out);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed)
{
    return mutate_elf(data, nbytes, most, seed);
}
