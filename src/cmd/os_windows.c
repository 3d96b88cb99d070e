/* os_windows.c - system functions of the command, for Windows */
#include "os.h"

#include "base/file.h"
#include "base/utf16.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* behind windows.h */
#include <shellapi.h>

const char os_zstd[] = "libzstd.dll";

/* ---- words and console ------------------------------------------------------
 */

static UINT console_before;

static void put_console_back(void)
{
    (void)SetConsoleOutputCP(console_before);
}

/* argv has the words in the code page of the machine; the wide ones have all
 * letters. They last as long as the process. */
static void take_wide_words(int *argc, char ***argv)
{
    int n = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &n);
    char **words = wide ? calloc((size_t)n + 1, sizeof(*words)) : NULL;

    for (int i = 0; words && i < n; i++) {
        const size_t nbytes = 4 * wcslen(wide[i]) + 1;

        words[i] = malloc(nbytes);
        if (!words[i] || !utf16_to_utf8(wide[i], words[i], nbytes))
            return;
    }
    if (words) {
        *argc = n;
        *argv = words;
    }
}

/* Files that go to standard output must not get other line ends. */
void os_begin(int *argc, char ***argv)
{
    take_wide_words(argc, argv);
    (void)_setmode(_fileno(stdout), _O_BINARY);
    console_before = GetConsoleOutputCP();
    if (console_before) {
        (void)SetConsoleOutputCP(CP_UTF8);
        (void)atexit(put_console_back);
    }
}

/* ---- memory ---------------------------------------------------------------
 */

const unsigned char *os_find(const unsigned char *in, size_t in_nbytes,
                             const unsigned char *bytes, size_t nbytes)
{
    const unsigned char *end = in + in_nbytes;
    const unsigned char *at = in;

    while ((size_t)(end - at) >= nbytes) {
        at = memchr(at, bytes[0], (size_t)(end - at) - nbytes + 1);
        if (!at)
            return NULL;
        if (memcmp(at, bytes, nbytes) == 0)
            return at;
        at++;
    }
    return NULL;
}

bool os_make_room(struct os_room *out, size_t nbytes)
{
    SYSTEM_INFO system;
    DWORD before;
    size_t page, room;

    GetSystemInfo(&system);
    page = system.dwPageSize;
    room = (nbytes + page - 1) / page * page;
    out->pages_nbytes = room + page;
    out->pages = VirtualAlloc(NULL, out->pages_nbytes, MEM_RESERVE | MEM_COMMIT,
                              PAGE_READWRITE);
    if (!out->pages || !VirtualProtect((char *)out->pages + room, page,
                                       PAGE_NOACCESS, &before))
        return false;
    out->bytes = (unsigned char *)out->pages + room - nbytes;
    return true;
}

void os_free_room(struct os_room *room)
{
    if (room->pages)
        (void)VirtualFree(room->pages, 0, MEM_RELEASE);
}

bool os_next_data(FILE *file, uint64_t at, uint64_t size, uint64_t *from,
                  uint64_t *to)
{
    (void)file;
    *from = at;
    *to = size;
    return at < size;
}

/* A temporary one, which the system removes when it is closed. */
bool os_begin_text(struct os_text *out)
{
    wchar_t folder[UTF16_MAX];
    wchar_t path[UTF16_MAX];
    const DWORD n = GetTempPathW(UTF16_MAX, folder);

    if (n == 0 || n > UTF16_MAX || !GetTempFileNameW(folder, L"kpk", 0, path))
        return false;
    out->file = _wfopen(path, L"w+bD");
    return out->file != NULL;
}

bool os_end_text(struct os_text *text)
{
    const int64_t n = _ftelli64(text->file);
    bool ok = false;

    text->text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (text->text && file_seek(text->file, 0)) {
        text->nbytes = (size_t)n;
        text->text[n] = '\0';
        ok = fread(text->text, 1, text->nbytes, text->file) == text->nbytes;
    }
    (void)fclose(text->file);
    return ok;
}

/* ---- replacing a file --------------------------------------------------- */

struct os_place os_look(const char *path)
{
    const enum file_kind kind = file_kind(path);

    return (struct os_place){.exists = kind != FILE_NONE,
                             .straight =
                                 kind != FILE_NONE && kind != FILE_REGULAR};
}

char *os_writable(const char *path)
{
    wchar_t wide[UTF16_MAX];

    return utf16_of(path, wide) && _waccess(wide, 2) == 0
               ? file_whole_path(path)
               : NULL;
}

/* While it is open, no other process can remove the file. */
FILE *os_create(const char *path, int *lock)
{
    wchar_t wide[UTF16_MAX];
    FILE *file;
    int fd;

    *lock = -1;
    if (!utf16_of(path, wide) ||
        _wsopen_s(&fd, wide, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY,
                  _SH_DENYRW, _S_IREAD | _S_IWRITE) != 0)
        return NULL;
    file = _fdopen(fd, "wb");
    if (!file)
        (void)_close(fd);
    return file;
}

void os_set_mode(int lock, unsigned mode)
{
    (void)lock; /* a new file has its folder's rights */
    (void)mode;
}

void os_let_go(int lock)
{
    (void)lock;
}

static int errno_of(DWORD error)
{
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND
               ? ENOENT
           : error == ERROR_DISK_FULL ? ENOSPC
                                      : EACCES;
}

bool os_replace(const char *from, const char *to)
{
    wchar_t wide_from[UTF16_MAX];
    wchar_t wide_to[UTF16_MAX];

    if (!utf16_of(from, wide_from) || !utf16_of(to, wide_to))
        return false;
    if (MoveFileExW(wide_from, wide_to,
                    MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return true;
    errno = errno_of(GetLastError());
    return false;
}

void os_remove(const char *path)
{
    wchar_t wide[UTF16_MAX];

    if (utf16_of(path, wide))
        (void)DeleteFileW(wide);
}

long os_process(void)
{
    return (long)GetCurrentProcessId();
}

/* An open file cannot be removed: the next command's os_sweep() does it. */
void os_heed_signals(const char *path, volatile sig_atomic_t *is_there)
{
    (void)path;
    (void)is_there;
}

struct sweeping {
    const char *folder;
    bool (*is)(const char *name);
};

static bool sweep_file(const char *name, void *what)
{
    const struct sweeping *sweeping = what;
    char path[UTF16_MAX];

    if (sweeping->is(name) &&
        (size_t)snprintf(path, sizeof(path), "%s/%s", sweeping->folder, name) <
            sizeof(path))
        os_remove(path); /* not if somebody writes it */
    return true;
}

void os_sweep(const char *folder, bool (*is)(const char *name))
{
    struct sweeping sweeping = {folder, is};

    (void)file_each(folder, sweep_file, &sweeping);
}
