/* file_posix.c - files and folders of Linux and its like */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static enum file_kind kind_of(const struct stat *status)
{
    return S_ISREG(status->st_mode)   ? FILE_REGULAR
           : S_ISCHR(status->st_mode) ? FILE_DEVICE
                                      : FILE_OTHER;
}

enum file_kind file_kind(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? kind_of(&status) : FILE_NONE;
}

enum file_kind file_kind_of(FILE *file, uint64_t *nbytes)
{
    struct stat status;

    *nbytes = 0;
    if (fstat(fileno(file), &status) != 0)
        return FILE_NONE;
    *nbytes = (uint64_t)status.st_size;
    return kind_of(&status);
}

FILE *file_open(const char *path, const char *mode)
{
    return fopen(path, mode);
}

bool file_seek(FILE *file, uint64_t at)
{
    return fseek(file, (long)at, SEEK_SET) == 0;
}

bool file_each(const char *folder, bool (*call)(const char *name, void *what),
               void *what)
{
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    bool ok = true;
    int why;

    if (!dir)
        return false;
    while (ok && (errno = 0, entry = readdir(dir)))
        ok = call(entry->d_name, what);
    why = errno;
    (void)closedir(dir);
    errno = why;
    return ok && why == 0;
}

char *file_whole_path(const char *path)
{
    return realpath(path, NULL);
}

bool file_make_folder(const char *path)
{
    return mkdir(path, 0777) == 0;
}
