/* hip.c - finds the machine's HIP runtime and binds its functions
 *
 * HIP is never linked: a program that embeds kernels starts on machines that
 * have no ROCm. A copy that is in the process already always wins, because two
 * copies of libamdhip64 are two independent runtimes whose handles do not mix.
 * Among the machine's files the first with a device wins: other files may be
 * left from an older release.
 */
#include "hip.h"
#include "error.h"
#include "hip_device.h"
#include "library.h"
#include "process.h"

static const char *same_name(const char *hip_name)
{
    return hip_name;
}

static const char *no_log(void)
{
    return "";
}

struct kpk_i_gpu kpk_i_hip = {
    .describe = kpk_i_hip_describe,
    .enter = kpk_i_hip_enter,
    .leave = kpk_i_hip_leave,
    .call_name = same_name,
    .failed_name = same_name,
    .compile_log = no_log,
    .platform = KPK_HIP,
    .title = "HIP",
};

/* Older releases are refused. */
enum { LEAST_VERSION = 50000000 };

typedef hipError_t get_proc_address(const char *, void **, int, uint64_t,
                                    void *);

/* The library in which functions are looked up. */
struct source {
    void *handle; /* a library's, or KPK_I_PROCESS */
    get_proc_address *get_proc;
};

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
        address = kpk_i_library_symbol(from->handle, name);
    kpk_i_store_function(slot, address);
}

static const char *file_of(const struct kpk_i_gpu *hip)
{
    const char *file;
    void *address;

    memcpy(&address, &hip->hipModuleLoadData, sizeof(address));
    file = kpk_i_file_with(address);
    return file ? file : "a HIP library";
}

static const char *file_of_handle(void *handle, const char *otherwise)
{
    const char *file = kpk_i_library_file(handle);

    return file ? file : otherwise;
}

/* Binds all rows; false, with a reason, if the library cannot be used. */
static bool bind_functions(struct source *from, struct kpk_i_text *why)
{
    struct kpk_i_gpu hip = kpk_i_hip;
    const char *missing = NULL;

    kpk_i_store_function(
        &from->get_proc,
        kpk_i_library_symbol(from->handle, "hipGetProcAddress"));
#define X(need, result, name, args)                                            \
    look_up(from, #name, &hip.name);                                           \
    if ((need) && !hip.name)                                                   \
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
    if (missing) {
        kpk_i_append(why, "it has no %s", missing);
        return false;
    }
    hip.version = 0;
    if (hip.hipRuntimeGetVersion(&hip.version) != hipSuccess)
        hip.version = 0; /* unknown: accepted, may be new enough */
    hip.major = hip.version / 10000000;
    hip.minor = hip.version / 100000 % 100;
    if (hip.version && hip.version < LEAST_VERSION) {
        kpk_i_append(why, "it is HIP %d.%d", hip.major, hip.minor);
        return false;
    }
    hip.path = file_of(&hip);
    kpk_i_hip = hip;
    return true;
}

static kpk_status unusable(const char *what, const char *file, const char *why)
{
    return kpk_i_fail(KPK_ERR_NO_DRIVER,
                      "%s%s is no HIP runtime that kpack can use: %s. HIP of "
                      "ROCm 5.0 or newer for AMD GPUs is needed",
                      what, file, why);
}

enum { REASON_NBYTES = 256 };

/* Binds a copy that is in the process. */
static kpk_status use_handle(void *handle)
{
    struct source from = {handle, NULL};
    char reason[REASON_NBYTES] = "";
    struct kpk_i_text why = {reason, sizeof(reason)};

    if (bind_functions(&from, &why))
        return KPK_OK;
    return unusable("the HIP library in this process, ",
                    file_of_handle(handle, "linked or preloaded,"), reason);
}

/* A copy that is in the process: linked, preloaded, or loaded privately by
 * someone, which the process as a whole does not see. If none can be used no
 * other is loaded beside it. False: the process has no copy. */
static bool use_loaded(kpk_status *st)
{
    bool any = kpk_i_library_symbol(KPK_I_PROCESS, "hipModuleLoadData") != NULL;
    void *handle;

    if (any)
        *st = use_handle(KPK_I_PROCESS);
    for (size_t i = 0;
         !(any && *st == KPK_OK) &&
         (handle = kpk_i_library_loaded(&kpk_i_hip_library, i)) != NULL;
         i++) {
        any = true;
        *st = use_handle(handle);
        if (*st != KPK_OK)
            kpk_i_library_close(handle);
    }
    return any;
}

static kpk_status use_variable(const char *path)
{
    struct source from = {kpk_i_library_open(path), NULL};
    char reason[REASON_NBYTES] = "";
    struct kpk_i_text why = {reason, sizeof(reason)};
    kpk_status st;

    if (!from.handle)
        return kpk_i_does_not_load("", "KPK_HIP_LIBRARY", path);
    if (bind_functions(&from, &why))
        return KPK_OK;
    st = unusable("KPK_HIP_LIBRARY: ", file_of_handle(from.handle, path),
                  reason);
    kpk_i_library_close(from.handle);
    return st;
}

struct search {
    struct kpk_i_tried tried;
    void *idle; /* the first that can be used, but has no device */
};

/* One that has been asked for its devices is not closed again: it may have
 * threads that run. */
static bool use_file(const char *name, void *what)
{
    struct search *search = what;
    struct source from = {kpk_i_open_library(name, &search->tried), NULL};
    char reason[REASON_NBYTES] = "";
    struct kpk_i_text why = {reason, sizeof(reason)};
    int ndevices = 0;

    if (!from.handle)
        return false;
    if (!bind_functions(&from, &why)) {
        kpk_i_tried(&search->tried, file_of_handle(from.handle, name), reason);
        kpk_i_library_close(from.handle);
        return false;
    }
    (void)kpk_i_hip.hipGetDeviceCount(&ndevices); /* fails without a device */
    if (!search->idle)
        search->idle = from.handle;
    return ndevices > 0;
}

static kpk_status use_files(void)
{
    struct search search = {.idle = NULL};

    if (kpk_i_each_file(&kpk_i_hip_library, use_file, &search))
        return KPK_OK;
    if (search.idle)
        return use_handle(search.idle);
    return kpk_i_fail(KPK_ERR_NO_DRIVER,
                      "no HIP runtime on this machine: %s%s%s%s. %s",
                      kpk_i_hip_library.absent, *search.tried.why ? " (" : "",
                      search.tried.why, *search.tried.why ? ")" : "",
                      kpk_i_hip_library.advice);
}

static kpk_status find_and_bind(void)
{
    const char *variable = kpk_i_secure_getenv("KPK_HIP_LIBRARY");
    kpk_status st = KPK_OK;

    if (kpk_i_program_is_static())
        return kpk_i_fail(KPK_ERR_NO_DRIVER,
                          "this program is linked with -static, and the HIP "
                          "runtime, a shared library, cannot be loaded into "
                          "it. Link it without -static; libkpack.a is part of "
                          "it either way");
    if (use_loaded(&st))
        return st;
    return variable && *variable ? use_variable(variable) : use_files();
}

kpk_status kpk_i_hip_bind(void)
{
    static atomic_bool bound;

    return kpk_i_bind_once(&bound, find_and_bind);
}
