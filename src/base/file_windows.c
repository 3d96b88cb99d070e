/* file_windows.c - files and folders of Windows, whose names are UTF-16 */
#include "file.h"
#include "utf16.h"

#include <direct.h>
#include <errno.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

static enum file_kind kind_of(const struct _stat64 *status)
{
    return (status->st_mode & _S_IFMT) == _S_IFREG   ? FILE_REGULAR
           : (status->st_mode & _S_IFMT) == _S_IFCHR ? FILE_DEVICE
                                                     : FILE_OTHER;
}

enum file_kind file_kind(const char *path)
{
    wchar_t wide[UTF16_MAX];
    struct _stat64 status;

    return utf16_of(path, wide) && _wstat64(wide, &status) == 0
               ? kind_of(&status)
               : FILE_NONE;
}

enum file_kind file_kind_of(FILE *file, uint64_t *nbytes)
{
    struct _stat64 status;

    *nbytes = 0;
    if (_fstat64(_fileno(file), &status) != 0)
        return FILE_NONE;
    *nbytes = (uint64_t)status.st_size;
    return kind_of(&status);
}

FILE *file_open(const char *path, const char *mode)
{
    wchar_t wide[UTF16_MAX];
    wchar_t wide_mode[UTF16_MAX];

    return utf16_of(path, wide) && utf16_of(mode, wide_mode)
               ? _wfopen(wide, wide_mode)
               : NULL;
}

bool file_seek(FILE *file, uint64_t at)
{
    return _fseeki64(file, (int64_t)at, SEEK_SET) == 0;
}

bool file_each(const char *folder, bool (*call)(const char *name, void *what),
               void *what)
{
    wchar_t pattern[UTF16_MAX];
    WIN32_FIND_DATAW entry;
    HANDLE dir;
    bool ok = true;

    if (!utf16_of(folder, pattern))
        return false;
    if (wcslen(pattern) + 3 > UTF16_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    wcscat(pattern, L"\\*");
    dir = FindFirstFileW(pattern, &entry);
    if (dir == INVALID_HANDLE_VALUE) {
        errno = ENOENT;
        return false;
    }
    do {
        char name[UTF16_MAX];

        ok = utf16_to_utf8(entry.cFileName, name, sizeof(name)) &&
             call(name, what);
    } while (ok && FindNextFileW(dir, &entry));
    (void)FindClose(dir);
    return ok;
}

char *file_whole_path(const char *path)
{
    wchar_t wide[UTF16_MAX];
    wchar_t whole[UTF16_MAX];
    char *text = NULL;

    if (file_kind(path) == FILE_NONE || !utf16_of(path, wide))
        return NULL;
    if (_wfullpath(whole, wide, UTF16_MAX))
        text = malloc(4 * UTF16_MAX);
    if (text && !utf16_to_utf8(whole, text, 4 * UTF16_MAX)) {
        free(text);
        return NULL;
    }
    for (char *c = text; c && *c; c++)
        if (*c == '\\')
            *c = '/';
    return text;
}

bool file_make_folder(const char *path)
{
    wchar_t wide[UTF16_MAX];

    return utf16_of(path, wide) && _wmkdir(wide) == 0;
}
