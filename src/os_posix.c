/* os_posix.c - locks, libraries and memory of Linux and its like */
/* For RTLD_DEFAULT, dladdr, dl_iterate_phdr, secure_getenv and versionsort; the
 * name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "os.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- locks --------------------------------------------------------------- */

void kpk_i_lock(kpk_i_mutex *mutex)
{
    (void)pthread_mutex_lock(mutex);
}

bool kpk_i_try_lock(kpk_i_mutex *mutex)
{
    return pthread_mutex_trylock(mutex) == 0;
}

void kpk_i_unlock(kpk_i_mutex *mutex)
{
    (void)pthread_mutex_unlock(mutex);
}

void kpk_i_read_lock(kpk_i_rwlock *lock)
{
    (void)pthread_rwlock_rdlock(lock);
}

void kpk_i_read_unlock(kpk_i_rwlock *lock)
{
    (void)pthread_rwlock_unlock(lock);
}

void kpk_i_write_lock(kpk_i_rwlock *lock)
{
    (void)pthread_rwlock_wrlock(lock);
}

void kpk_i_write_unlock(kpk_i_rwlock *lock)
{
    (void)pthread_rwlock_unlock(lock);
}

void kpk_i_run_once(kpk_i_once *once, void (*call)(void))
{
    (void)pthread_once(once, call);
}

void kpk_i_at_fork(void (*in_child)(void))
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* ---- names and folders of libraries -------------------------------------- */

/* The newest known is 8, of ROCm 10. */
static const char *const hip_folders[] = {"/opt/rocm/lib/", NULL};
const struct kpk_i_library kpk_i_hip_library = {
    .stem = "libamdhip64",
    .newest = 20,
    .oldest = 5,
    .folders = hip_folders,
    .root = "/opt/rocm",
    .absent = "none of libamdhip64.so.20 to .so.5 and libamdhip64.so can be "
              "used, in the loader's path, in /opt/rocm/lib/ and in "
              "/opt/rocm/core-*/lib/",
    .advice = "Install ROCm's HIP runtime, 5.0 or newer (package "
              "hip-runtime-amd, or libamdhip64 in distributions), or set "
              "KPK_HIP_LIBRARY to the path of a libamdhip64.so"};

/* Folders of the driver. CUDA's toolkit has a stub of the same name, which may
 * come before the driver in the loader's path. */
#if defined(__aarch64__)
#define CUDA_FOLDER "/usr/lib/aarch64-linux-gnu/"
#else
#define CUDA_FOLDER "/usr/lib/x86_64-linux-gnu/"
#endif
static const char *const cuda_folders[] = {CUDA_FOLDER, "/usr/lib64/",
                                           "/usr/lib/wsl/lib/",
                                           "/run/opengl-driver/lib/", NULL};
const struct kpk_i_library kpk_i_cuda_library = {.stem = "libcuda",
                                                 .newest = 3,
                                                 .oldest = 1,
                                                 .folders = cuda_folders,
                                                 .absent =
                                                     "there is no libcuda.so.1",
                                                 .advice = "Install NVIDIA's"
                                                           " driver"};

const struct kpk_i_library kpk_i_rccl_library = {
    .stem = "librccl",
    .newest = 2,
    .oldest = 1,
    .folders = hip_folders,
    .root = "/opt/rocm",
    .absent = "librccl.so.1 is neither in the loader's path nor in "
              "/opt/rocm/lib/ and /opt/rocm/core-*/lib/",
    .advice = "Install ROCm's RCCL (package rccl), or set KPK_RCCL_LIBRARY to "
              "the path of a librccl.so.1"};
const struct kpk_i_library kpk_i_nccl_library = {
    .stem = "libnccl",
    .newest = 3,
    .oldest = 2,
    .folders = cuda_folders,
    .absent = "there is no libnccl.so.2",
    .advice = "Install NVIDIA's NCCL (package libnccl2), or set "
              "KPK_NCCL_LIBRARY to the path of a libnccl.so.2"};

void kpk_i_library_name(const struct kpk_i_library *library, const char *folder,
                        int number, char *out, size_t nbytes)
{
    if (number < 0)
        (void)snprintf(out, nbytes, "%s%s.so", folder, library->stem);
    else
        (void)snprintf(out, nbytes, "%s%s.so.%d", folder, library->stem,
                       number);
}

static int is_core(const struct dirent *entry)
{
    return strncmp(entry->d_name, "core-", 5) == 0;
}

/* ROOT/core-10.1/lib/, then ROOT/core-7.14/lib/, as ROCm installs its releases
 * beside each other since 7.14. */
bool kpk_i_each_release(const struct kpk_i_library *library,
                        kpk_i_release *call, void *what)
{
    struct dirent **list = NULL;
    int n = scandir(library->root, &list, is_core, versionsort);
    bool found = false;

    for (; n > 0; n--) {
        char folder[400];

        (void)snprintf(folder, sizeof(folder), "%s/%s/lib/", library->root,
                       list[n - 1]->d_name);
        found = found || call(library, folder, what);
        free(list[n - 1]);
    }
    free(list);
    return found;
}

/* ---- libraries ----------------------------------------------------------- */

void *kpk_i_library_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

const char *kpk_i_library_error(void)
{
    return dlerror();
}

bool kpk_i_library_is_absent(const char *name, const char *error)
{
    return strncmp(error, name, strlen(name)) == 0 &&
           strstr(error, "No such file or directory");
}

void kpk_i_library_close(void *handle)
{
    (void)dlclose(handle);
}

void *kpk_i_library_symbol(void *handle, const char *name)
{
    return dlsym(handle == KPK_I_PROCESS ? RTLD_DEFAULT : handle, name);
}

const char *kpk_i_library_file(void *handle)
{
    struct link_map *map = NULL;

    if (handle != KPK_I_PROCESS && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        return map->l_name;
    return NULL;
}

const char *kpk_i_file_with(const void *address)
{
    Dl_info info = {.dli_fname = NULL};

    (void)dladdr(address, &info);
    return info.dli_fname;
}

/* ---- libraries in the process -------------------------------------------- */

/* True for libamdhip64.so.7, and for libamdhip64-1f2e3d.so.7: Python's wheels
 * rename libraries like this. */
static bool has_stem(const char *name, const char *stem)
{
    const char *slash = strrchr(name, '/');
    const char *file = slash ? slash + 1 : name;
    const size_t n = strlen(stem);

    return strncmp(file, stem, n) == 0 && (file[n] == '.' || file[n] == '-');
}

/* An object's DT_SONAME, whatever its file's name; "" without one. */
static const char *own_name(const struct dl_phdr_info *info)
{
    static const ElfW(Dyn) nothing = {.d_tag = DT_NULL};
    const ElfW(Dyn) *entry = &nothing;
    uintptr_t strings = 0;
    size_t at = 0;

    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + /* NOLINT: an address */
                                   info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = entry->d_un.d_ptr;
        else if (entry->d_tag == DT_SONAME)
            at = entry->d_un.d_val;
    }
    if (strings < info->dlpi_addr) /* the vDSO's is not relocated */
        strings += info->dlpi_addr;
    return at ? (const char *)strings + at : ""; /* NOLINT: an address */
}

struct mapped {
    const char *stem;
    size_t skip; /* copies of the name to skip */
    char path[4096];
};

static int find_mapped(struct dl_phdr_info *info, size_t nbytes, void *out)
{
    struct mapped *m = out;

    (void)nbytes;
    if (!*info->dlpi_name ||
        (!has_stem(info->dlpi_name, m->stem) &&
         !has_stem(own_name(info), m->stem)) ||
        m->skip-- > 0)
        return 0;
    (void)snprintf(m->path, sizeof(m->path), "%s", info->dlpi_name);
    return 1;
}

/* The loader is asked to open it when it walks its list no more: its locks are
 * taken in another order then. */
void *kpk_i_library_loaded(const struct kpk_i_library *library, size_t i)
{
    struct mapped m = {.stem = library->stem, .skip = i};

    return dl_iterate_phdr(find_mapped, &m) > 0
               ? dlopen(m.path, RTLD_NOW | RTLD_NOLOAD)
               : NULL;
}

/* ---- the process --------------------------------------------------------- */

/* The first object is the program; dynamic ones name their interpreter. */
static int has_interpreter(struct dl_phdr_info *info, size_t nbytes, void *out)
{
    (void)nbytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(bool *)out = true;
    return 1; /* the others do not matter */
}

struct place {
    uintptr_t address;
    bool found;
};

/* Looks in the first object only: the program. */
static int has_address(struct dl_phdr_info *info, size_t nbytes, void *out)
{
    struct place *place = out;

    (void)nbytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        place->found |=
            place->address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
            info->dlpi_phdr[i].p_memsz;
    return 1; /* the others do not matter */
}

bool kpk_i_is_in_program(const void *address)
{
    struct place place = {(uintptr_t)address, false};

    (void)dl_iterate_phdr(has_address, &place);
    return place.found;
}

/* A shared library that is loaded into a static program brings a second C
 * library, and crashes. */
bool kpk_i_program_is_static(void)
{
    bool interpreter = false;

    (void)dl_iterate_phdr(has_interpreter, &interpreter);
    return !interpreter;
}

const void *kpk_i_object_with(const void *address)
{
    Dl_info info = {.dli_fbase = NULL};

    (void)dladdr(address, &info);
    return info.dli_fbase;
}

const char *kpk_i_secure_getenv(const char *name)
{
    return secure_getenv(name);
}

uint64_t kpk_i_now_ms(void)
{
    struct timespec t = {.tv_sec = 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void kpk_i_host_name(char out[KPK_I_HOST_NBYTES])
{
    out[0] = 0;
    (void)gethostname(out, KPK_I_HOST_NBYTES);
    out[KPK_I_HOST_NBYTES - 1] = 0; /* a long name is cut */
}

/* Without MADV_POPULATE_WRITE each page faults. */
void kpk_i_touch_pages(void *memory, size_t nbytes)
{
#ifdef MADV_POPULATE_WRITE
    const long page = sysconf(_SC_PAGESIZE);

    if (page > 0) {
        const size_t mask = (size_t)page - 1;
        const size_t skip = (size_t)(-(uintptr_t)memory & mask);

        if (nbytes > skip)
            (void)madvise((char *)memory + skip, (nbytes - skip) & ~mask,
                          MADV_POPULATE_WRITE);
    }
#else
    (void)memory;
    (void)nbytes;
#endif
}
