/* hip.c - finds the machine's HIP runtime and binds its functions
 *
 * HIP is never linked: a program that embeds kernels starts on machines that
 * have no ROCm. A copy that is in the process already always wins, because
 * two copies of libamdhip64 are two independent runtimes whose handles do not
 * mix.
 */
/* For RTLD_DEFAULT, dladdr and secure_getenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct kpk_i_hip kpk_i_hip;

static pthread_mutex_t bind_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool bound;

static const char *const library_names[] = {
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
    "libamdhip64.so"};

enum { NNAMES = sizeof(library_names) / sizeof(library_names[0]) };

typedef hipError_t get_proc_address(const char *, void **, int, uint64_t,
                                    void *);

/* Where the functions are looked up. */
struct source {
    void *handle; /* of dlopen(), or RTLD_DEFAULT, which is NULL */
    get_proc_address *get_proc;
};

/* ISO C has no conversion from void * to a function pointer; POSIX promises
 * that the bytes mean the same. */
static void store_function(void *slot, void *address)
{
    memcpy(slot, &address, sizeof(address));
}

/* hipGetProcAddress() knows names that a release maps to newer variants, and
 * so is asked first. Older releases do not have it. */
static void look_up(const struct source *from, const char *name, void *slot)
{
    /* Below 600 it would map names to the layouts of HIP 5. */
    const int as_of_version = 600;
    void *address = NULL;

    if (from->get_proc &&
        from->get_proc(name, &address, as_of_version, 0, NULL) != hipSuccess)
        address = NULL;
    if (!address)
        address = dlsym(from->handle, name);
    store_function(slot, address);
}

static const char *file_of(const struct kpk_i_hip *hip)
{
    Dl_info info;
    void *address;

    memcpy(&address, &hip->hipModuleLoadData, sizeof(address));
    if (dladdr(address, &info) && info.dli_fname)
        return info.dli_fname;
    return "a HIP library";
}

/* Binds all rows; the first needed one that is missing is the failure. */
static kpk_status bind_functions(struct source *from, const char *what)
{
    struct kpk_i_hip hip;
    const char *missing = NULL;

    store_function(&from->get_proc, dlsym(from->handle, "hipGetProcAddress"));
#define X(need, result, name, args)                                            \
    look_up(from, #name, &hip.name);                                           \
    if ((need) && !hip.name && !missing)                                       \
        missing = #name;
    KPK_HIP_TABLE(X)
    KPK_HIP_NEWER_TABLE(X)
#undef X
    /* HIP up to 6.0 exports this one as a C++ function only. */
    if (!hip.hipExtModuleLaunchKernel)
        look_up(from,
                "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12"
                "ihipStream_tPPvS4_P11ihipEvent_tS6_j",
                &hip.hipExtModuleLaunchKernel);
    if (missing)
        return kpk_i_fail(KPK_ERR_NO_HIP,
                          "%s is no HIP runtime that kpack can use: it has no "
                          "%s. HIP of ROCm 5.0 or newer for AMD GPUs is needed",
                          what, missing);
    hip.version = 0;
    if (hip.hipRuntimeGetVersion(&hip.version) != hipSuccess)
        hip.version = 0; /* no reason to fail: only messages need it */
    hip.path = file_of(&hip);
    kpk_i_hip = hip;
    return KPK_OK;
}

/* A copy that is in the process: linked, preloaded, or loaded privately by
 * someone, which RTLD_DEFAULT does not see. */
static bool find_loaded(struct source *from)
{
    from->handle = RTLD_DEFAULT;
    if (dlsym(RTLD_DEFAULT, "hipModuleLoadData"))
        return true;
    for (size_t i = 0; i < NNAMES; i++) {
        from->handle = dlopen(library_names[i], RTLD_NOW | RTLD_NOLOAD);
        if (from->handle)
            return true;
    }
    return false;
}

static void *load_by_variable(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        const char *why = dlerror();
        (void)kpk_i_fail(KPK_ERR_NO_HIP,
                         "KPK_HIP_LIBRARY names %s, which does not load: %s. "
                         "Correct the variable, or unset it to search the "
                         "system's libraries",
                         path, why ? why : "no reason given");
    }
    return handle;
}

/* True if dlerror()'s text only says that there is no such library. */
static bool only_absent(const char *why, const char *name)
{
    return strncmp(why, name, strlen(name)) == 0 &&
           strstr(why, "No such file or directory");
}

static void *load_by_name(void)
{
    char tried[1024];
    struct kpk_i_text text = {tried, sizeof(tried)};

    tried[0] = '\0';
    for (size_t i = 0; i < NNAMES; i++) {
        const char *name = library_names[i];
        void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        const char *why;

        if (handle)
            return handle;
        why = dlerror();
        kpk_i_append(&text, "%s%s", i ? ", " : "", name);
        /* A library that is there but lacks one of its own is worth saying. */
        if (why && !only_absent(why, name))
            kpk_i_append(&text, " (%s)", why);
    }
    (void)kpk_i_fail(KPK_ERR_NO_HIP,
                     "no HIP runtime on this machine: none of %s loads. "
                     "Install ROCm's HIP runtime (package hip-runtime-amd, or "
                     "libamdhip64 in distributions), or set KPK_HIP_LIBRARY to "
                     "the path of a libamdhip64.so",
                     tried);
    return NULL;
}

static kpk_status find_and_bind(void)
{
    const char *variable = secure_getenv("KPK_HIP_LIBRARY");
    struct source from = {NULL, NULL};
    kpk_status st;

    if (find_loaded(&from)) {
        st = bind_functions(&from, "the HIP library in this process");
    } else if (variable && *variable) {
        from.handle = load_by_variable(variable);
        st = from.handle ? bind_functions(&from, variable) : KPK_ERR_NO_HIP;
    } else {
        from.handle = load_by_name();
        st = from.handle ? bind_functions(&from, "the libamdhip64 found")
                         : KPK_ERR_NO_HIP;
    }
    /* The handle is kept for the life of the process once it is in use. */
    if (st != KPK_OK && from.handle != RTLD_DEFAULT)
        (void)dlclose(from.handle);
    return st;
}

kpk_status kpk_i_hip_bind(void)
{
    kpk_status st = KPK_OK;

    if (atomic_load_explicit(&bound, memory_order_acquire))
        return KPK_OK;
    (void)pthread_mutex_lock(&bind_lock);
    if (!atomic_load_explicit(&bound, memory_order_relaxed)) {
        st = find_and_bind();
        if (st == KPK_OK)
            atomic_store_explicit(&bound, true, memory_order_release);
    }
    (void)pthread_mutex_unlock(&bind_lock);
    return st;
}

kpk_status kpk_hip_info(int *version, const char **path)
{
    kpk_status st = kpk_i_hip_bind();

    if (st != KPK_OK)
        return st;
    if (version)
        *version = kpk_i_hip.version;
    if (path)
        *path = kpk_i_hip.path;
    return KPK_OK;
}
