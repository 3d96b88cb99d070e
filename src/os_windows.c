/* os_windows.c - locks, libraries and memory of Windows
 *
 * Texts of the system are UTF-16 and become UTF-8 here. A library without a
 * folder is looked for beside the program and in the system's folder alone: the
 * current folder and PATH may be anybody's.
 */
/* Windows 8.1, for its locks and its functions that end with Ex2. */
#define _WIN32_WINNT 0x0603
#include "os.h"

#include "base/utf16.h"

#include <stdio.h>
#include <stdlib.h>
/* behind windows.h */
#include <psapi.h>

enum { ERROR_NCHARS = 512 };

/* ---- locks --------------------------------------------------------------- */

_Static_assert(sizeof(kpk_i_mutex) == sizeof(SRWLOCK) &&
                   sizeof(kpk_i_once) == sizeof(INIT_ONCE),
               "os.h declares them without windows.h");

void kpk_i_lock(kpk_i_mutex *mutex)
{
    AcquireSRWLockExclusive((SRWLOCK *)mutex);
}

bool kpk_i_try_lock(kpk_i_mutex *mutex)
{
    return TryAcquireSRWLockExclusive((SRWLOCK *)mutex) != 0;
}

void kpk_i_unlock(kpk_i_mutex *mutex)
{
    ReleaseSRWLockExclusive((SRWLOCK *)mutex);
}

void kpk_i_read_lock(kpk_i_rwlock *lock)
{
    AcquireSRWLockShared((SRWLOCK *)lock);
}

void kpk_i_read_unlock(kpk_i_rwlock *lock)
{
    ReleaseSRWLockShared((SRWLOCK *)lock);
}

void kpk_i_write_lock(kpk_i_rwlock *lock)
{
    AcquireSRWLockExclusive((SRWLOCK *)lock);
}

void kpk_i_write_unlock(kpk_i_rwlock *lock)
{
    ReleaseSRWLockExclusive((SRWLOCK *)lock);
}

void kpk_i_run_once(kpk_i_once *once, void (*call)(void))
{
    BOOL pending = FALSE;

    (void)InitOnceBeginInitialize((INIT_ONCE *)once, 0, &pending, NULL);
    if (!pending)
        return;
    call();
    (void)InitOnceComplete((INIT_ONCE *)once, 0, NULL);
}

void kpk_i_at_fork(void (*in_child)(void))
{
    (void)in_child; /* Windows has no fork() */
}

/* ---- names and folders of libraries -------------------------------------- */

/* AMD's driver and HIP SDK put amdhip64_7.dll into the system's folder, HIP 5
 * and older amdhip64.dll. */
static const char *const no_folders[] = {NULL};
const struct kpk_i_library kpk_i_hip_library = {
    .stem = "amdhip64",
    .newest = 20,
    .oldest = 6,
    .folders = no_folders,
    .absent = "none of amdhip64_20.dll to amdhip64_6.dll and amdhip64.dll can "
              "be used, in the system's folder and beside the program",
    .advice = "Install AMD's graphics driver or HIP SDK, or set "
              "KPK_HIP_LIBRARY to the path of an amdhip64_7.dll"};

/* Its name has no number. */
const struct kpk_i_library kpk_i_cuda_library = {
    .stem = "nvcuda",
    .newest = 0,
    .oldest = 1,
    .folders = no_folders,
    .absent = "there is no nvcuda.dll",
    .advice = "Install NVIDIA's driver"};

const struct kpk_i_library kpk_i_rccl_library = {
    .stem = "rccl",
    .newest = 1,
    .oldest = 1,
    .folders = no_folders,
    .absent = "there is no rccl.dll",
    .advice = "Set KPK_RCCL_LIBRARY to the path of one"};
const struct kpk_i_library kpk_i_nccl_library = {
    .stem = "nccl",
    .newest = 2,
    .oldest = 2,
    .folders = no_folders,
    .absent = "there is no nccl.dll",
    .advice = "Set KPK_NCCL_LIBRARY to the path of one"};

void kpk_i_library_name(const struct kpk_i_library *library, const char *folder,
                        int number, char *out, size_t nbytes)
{
    if (number < 0)
        (void)snprintf(out, nbytes, "%s%s.dll", folder, library->stem);
    else
        (void)snprintf(out, nbytes, "%s%s_%d.dll", folder, library->stem,
                       number);
}

bool kpk_i_each_release(const struct kpk_i_library *library,
                        kpk_i_release *call, void *what)
{
    (void)library; /* no library has a root here */
    (void)call;
    (void)what;
    return false;
}

/* ---- libraries ----------------------------------------------------------- */

static _Thread_local struct {
    DWORD number;
    char text[ERROR_NCHARS];
} last_error;

static bool has_folder(const char *name)
{
    return strpbrk(name, "/\\:") != NULL;
}

void *kpk_i_library_open(const char *name)
{
    WCHAR path[UTF16_MAX];
    WCHAR whole[UTF16_MAX];
    HMODULE module = NULL;
    DWORD n;

    if (!utf16_of(name, path)) {
        last_error.number = ERROR_INVALID_NAME;
        return NULL;
    }
    if (!has_folder(name)) {
        module = LoadLibraryExW(path, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    } else {
        /* With an absolute path, the libraries that this one needs are also
         * searched in its folder. */
        n = GetFullPathNameW(path, UTF16_MAX, whole, NULL);
        if (n > 0 && n < UTF16_MAX)
            module = LoadLibraryExW(whole, NULL,
                                    LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR |
                                        LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    }
    last_error.number = module ? ERROR_SUCCESS : GetLastError();
    return module;
}

const char *kpk_i_library_error(void)
{
    WCHAR text[ERROR_NCHARS];
    DWORD n;

    if (last_error.number == ERROR_SUCCESS)
        return NULL;
    n = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM |
                           FORMAT_MESSAGE_IGNORE_INSERTS |
                           FORMAT_MESSAGE_MAX_WIDTH_MASK,
                       NULL, last_error.number, 0, text, ERROR_NCHARS, NULL);
    while (n > 0 && wcschr(L" \r\n.", text[n - 1]))
        text[--n] = L'\0';
    if (n == 0 ||
        !utf16_to_utf8(text, last_error.text, sizeof(last_error.text)))
        (void)snprintf(last_error.text, sizeof(last_error.text), "error %lu",
                       last_error.number);
    return last_error.text;
}

/* The error is the same for a library that another one needs. */
bool kpk_i_library_is_absent(const char *name, const char *error)
{
    WCHAR path[UTF16_MAX];
    WCHAR found[UTF16_MAX];

    (void)error;
    return last_error.number == ERROR_MOD_NOT_FOUND && utf16_of(name, path) &&
           SearchPathW(NULL, path, NULL, UTF16_MAX, found, NULL) == 0;
}

void kpk_i_library_close(void *handle)
{
    if (handle)
        (void)FreeLibrary(handle);
}

/* Programs do not link a driver's functions on Windows: a program that uses the
 * driver has loaded its library, and kpk_i_library_loaded() finds the library.
 */
void *kpk_i_library_symbol(void *handle, const char *name)
{
    FARPROC function;
    void *address = NULL;

    if (handle == KPK_I_PROCESS)
        return NULL;
    function = GetProcAddress(handle, name);
    memcpy(&address, &function, sizeof(address));
    return address;
}

/* ---- names of files ------------------------------------------------------ */

/* The system has no names that stay, so they are kept here, for the libraries
 * that this process uses: a driver or two. */
static struct file {
    HMODULE module;
    char name[UTF16_MAX];
} files[8];
static size_t nfiles;
static kpk_i_mutex files_lock = KPK_I_MUTEX_FRESH;

static bool read_name(HMODULE module, char *out, size_t nbytes)
{
    WCHAR path[UTF16_MAX];
    const DWORD n = GetModuleFileNameW(module, path, UTF16_MAX);

    return n > 0 && n < UTF16_MAX && utf16_to_utf8(path, out, nbytes);
}

/* After FreeLibrary() another module may get the same address. */
const char *kpk_i_library_file(void *handle)
{
    const char *name = NULL;
    char now[UTF16_MAX];

    if (handle == KPK_I_PROCESS || !read_name(handle, now, sizeof(now)))
        return NULL;
    kpk_i_lock(&files_lock);
    for (size_t i = 0; i < nfiles && !name; i++)
        if (files[i].module == (HMODULE)handle &&
            strcmp(files[i].name, now) == 0)
            name = files[i].name;
    if (!name && nfiles < sizeof(files) / sizeof(files[0])) {
        files[nfiles].module = handle;
        memcpy(files[nfiles].name, now, sizeof(now));
        name = files[nfiles++].name;
    }
    kpk_i_unlock(&files_lock);
    return name;
}

static HMODULE module_with(const void *address)
{
    HMODULE module = NULL;

    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                 GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                             address, &module);
    return module;
}

const char *kpk_i_file_with(const void *address)
{
    HMODULE module = module_with(address);

    return module ? kpk_i_library_file(module) : NULL;
}

/* ---- libraries in the process -------------------------------------------- */

/* True for amdhip64.dll, amdhip64_7.dll, and amdhip64-1f2e3d.dll: Python's
 * wheels rename libraries like this. Windows ignores the case of letters. */
static bool has_stem(const char *path, const char *stem)
{
    const char *slash = strrchr(path, '\\');
    const char *file = slash ? slash + 1 : path;
    const size_t n = strlen(stem);

    return _strnicmp(file, stem, n) == 0 && file[n] && strchr("._-", file[n]);
}

void *kpk_i_library_loaded(const struct kpk_i_library *library, size_t i)
{
    enum { MOST = 1024 };
    HMODULE modules[MOST];
    HMODULE held;
    DWORD nbytes = 0;

    if (!K32EnumProcessModules(GetCurrentProcess(), modules, sizeof(modules),
                               &nbytes))
        return NULL;
    for (size_t m = 0; m < MOST && m < nbytes / sizeof(modules[0]); m++) {
        char name[UTF16_MAX];

        if (!read_name(modules[m], name, sizeof(name)) ||
            !has_stem(name, library->stem) || i-- > 0)
            continue;
        /* Adds a reference, which the caller closes. */
        return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                                  (const WCHAR *)modules[m], &held)
                   ? held
                   : NULL;
    }
    return NULL;
}

/* ---- the process --------------------------------------------------------- */

const void *kpk_i_object_with(const void *address)
{
    return module_with(address);
}

bool kpk_i_is_in_program(const void *address)
{
    return module_with(address) == GetModuleHandleW(NULL);
}

bool kpk_i_program_is_static(void)
{
    return false; /* every program has the system's loader */
}

/* A program that runs as an administrator has its user's environment, as every
 * program of that user: there is nothing like setuid. */
const char *kpk_i_secure_getenv(const char *name)
{
    static _Thread_local char value[UTF16_MAX];
    WCHAR wide_name[UTF16_MAX];
    WCHAR wide[UTF16_MAX];
    DWORD n;

    if (!utf16_of(name, wide_name))
        return NULL;
    SetLastError(ERROR_SUCCESS);
    n = GetEnvironmentVariableW(wide_name, wide, UTF16_MAX);
    if (n >= UTF16_MAX || (n == 0 && GetLastError() != ERROR_SUCCESS))
        return NULL;
    wide[n] = L'\0';
    return utf16_to_utf8(wide, value, sizeof(value)) ? value : NULL;
}

uint64_t kpk_i_now_ms(void)
{
    return GetTickCount64();
}

void kpk_i_host_name(char out[KPK_I_HOST_NBYTES])
{
    DWORD n = KPK_I_HOST_NBYTES;

    out[0] = 0;
    (void)GetComputerNameA(out, &n);
}

void kpk_i_touch_pages(void *memory, size_t nbytes)
{
    (void)memory; /* each page faults by itself */
    (void)nbytes;
}
