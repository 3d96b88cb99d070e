/* file.c - a whole file in memory */
#include "util/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Grows while it reads: the size that the system tells may be wrong, as a
 * pipe's is. */
static bool read_all(FILE *f, size_t most, unsigned char **out, size_t *nbytes,
                     char error[FILE_ERROR_MAX])
{
    unsigned char *data = NULL;
    size_t used = 0, room = 0, n;
    struct stat s;

    if (fstat(fileno(f), &s) == 0 && s.st_size > 0) {
        if (S_ISREG(s.st_mode) && (size_t)s.st_size > most)
            goto too_large;
        if ((size_t)s.st_size <= most)
            room = (size_t)s.st_size / 2 + 1; /* doubled below */
    }
    do {
        unsigned char *more = realloc(data, 2 * (room = room ? room : 4096));

        if (!more) {
            snprintf(error, FILE_ERROR_MAX, "out of memory");
            goto failed;
        }
        data = more;
        room *= 2;
        n = fread(data + used, 1, room - 1 - used, f);
        used += n;
        if (used > most)
            goto too_large;
    } while (used == room - 1);
    if (ferror(f)) {
        snprintf(error, FILE_ERROR_MAX, "%s", strerror(errno));
        goto failed;
    }
    data[used] = '\0';
    *out = data;
    *nbytes = used;
    return true;
too_large:
    snprintf(error, FILE_ERROR_MAX, "larger than %zu MiB", most >> 20);
failed:
    free(data);
    return false;
}

bool file_read(const char *path, size_t most, unsigned char **out,
               size_t *nbytes, char error[FILE_ERROR_MAX])
{
    FILE *f = fopen(path, "rb");
    bool ok;

    if (!f) {
        snprintf(error, FILE_ERROR_MAX, "%s", strerror(errno));
        return false;
    }
    ok = read_all(f, most, out, nbytes, error);
    (void)fclose(f);
    return ok;
}

bool file_read_start(const char *path, void *out, size_t room, size_t *nbytes,
                     char error[FILE_ERROR_MAX])
{
    FILE *f = fopen(path, "rb");
    bool ok = false;

    if (f) {
        *nbytes = fread(out, 1, room, f);
        ok = !ferror(f);
    }
    if (!ok)
        snprintf(error, FILE_ERROR_MAX, "%s", strerror(errno));
    if (f)
        (void)fclose(f);
    return ok;
}

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
