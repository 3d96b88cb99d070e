/* read_file.h - a whole file in memory, or the end of the program */
#ifndef KPK_TESTS_IMPORT_READ_FILE_H
#define KPK_TESTS_IMPORT_READ_FILE_H

#include <stdio.h>
#include <stdlib.h>

_Noreturn static void fail(const char *path)
{
    perror(path);
    exit(1);
}

static void *read_file(const char *path, size_t *nbytes)
{
    FILE *f = fopen(path, "rb");
    unsigned char *data;
    long end;

    if (!f || fseek(f, 0, SEEK_END) != 0 || (end = ftell(f)) < 0 ||
        fseek(f, 0, SEEK_SET) != 0)
        fail(path);
    *nbytes = (size_t)end;
    data = malloc(*nbytes + 1);
    if (!data || fread(data, 1, *nbytes, f) != *nbytes || fclose(f) != 0)
        fail(path);
    return data;
}

#endif
