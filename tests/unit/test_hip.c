/* test_hip.c - where HIP is found, and how the devices of each release read
 *
 * HIP is bound once in a process, so each case is a process of its own: the
 * test runs itself again with the case's name and environment. A HIP that is
 * installed on this machine is hidden from the cases that want none.
 */
/* link: -Wl,--wrap=dlopen,--wrap=dlerror,--wrap=dlsym */
/* link: -Wl,--wrap=dladdr,--wrap=dlinfo,--wrap=dl_iterate_phdr */
/* link: -Wl,--wrap=scandir */
#define _GNU_SOURCE /* Dl_info, dl_iterate_phdr */
#include "unit_checks.h"

#include "fake_hip.h"
#include "hip.h"
#include "system.h"
#include "test_pack.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[3000]; /* has this program and the fakes */
static pid_t parent;      /* runs each case as a child */

static const char *beside(const char *file)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return path;
}

/* ---- the cases, each in its own process: 0 is a success ---- */

/* HIP on this machine: names of the files that the loader finds,
 * blank-separated, NULL for every name; and the folder /opt/rocm. */
static const char *shown;
static const char *rocm = "/nowhere";
static const char *error_text; /* dlerror()'s; "" for none at all */

void *__real_dlopen(const char *name, int mode);
void *__wrap_dlopen(const char *name, int mode);
char *__real_dlerror(void);
char *__wrap_dlerror(void);
int __real_scandir(const char *path, struct dirent ***list,
                   int (*filter)(const struct dirent *),
                   int (*order)(const struct dirent **,
                                const struct dirent **));
int __wrap_scandir(const char *path, struct dirent ***list,
                   int (*filter)(const struct dirent *),
                   int (*order)(const struct dirent **,
                                const struct dirent **));

/* The last name asked for, and its replacement. */
static char asked[600], instead[4800];

static bool is_shown(const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = shown; at; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && memcmp(at, name, n) == 0)
            return true;
    }
    return !shown || strncmp(name, "libamdhip64", 11) != 0;
}

static const char opt_rocm[] = "/opt/rocm";
enum { ROOT_NBYTES = sizeof(opt_rocm) - 1 };

void *__wrap_dlopen(const char *name, int mode)
{
    snprintf(asked, sizeof(asked), "%s", name);
    if (strncmp(name, opt_rocm, ROOT_NBYTES) == 0)
        snprintf(instead, sizeof(instead), "%s%s", rocm, name + ROOT_NBYTES);
    else
        snprintf(instead, sizeof(instead), "%s%s",
                 is_shown(name) ? "" : "/nowhere/", name);
    return __real_dlopen(instead, mode);
}

int __wrap_scandir(const char *path, struct dirent ***list,
                   int (*filter)(const struct dirent *),
                   int (*order)(const struct dirent **, const struct dirent **))
{
    return __real_scandir(strcmp(path, opt_rocm) == 0 ? rocm : path, list,
                          filter, order);
}

char *__wrap_dlerror(void)
{
    static char told[5400];
    char *text = __real_dlerror();
    const size_t n = strlen(instead);

    if (error_text)
        return *error_text ? (char *)error_text : NULL;
    if (!text || strncmp(text, instead, n) != 0)
        return text;
    snprintf(told, sizeof(told), "%s%s", asked, text + n);
    return told;
}

/* The loader's answers about libraries, set by a test. */
static const char *absent_function; /* dlsym() does not find it */
static bool nameless;               /* no library has a file */
static bool no_interpreter;         /* no program names one */

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);
int __real_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info);
int __real_dlinfo(void *handle, int request, void *info);
int __wrap_dlinfo(void *handle, int request, void *info);
typedef int each_object(struct dl_phdr_info *, size_t, void *);
int __real_dl_iterate_phdr(each_object *callback, void *data);
int __wrap_dl_iterate_phdr(each_object *callback, void *data);

void *__wrap_dlsym(void *handle, const char *name)
{
    if (absent_function && strcmp(name, absent_function) == 0)
        return NULL;
    return __real_dlsym(handle, name);
}

int __wrap_dladdr(const void *address, Dl_info *info)
{
    const int found = __real_dladdr(address, info);

    info->dli_fname = nameless ? NULL : info->dli_fname;
    return found;
}

int __wrap_dlinfo(void *handle, int request, void *info)
{
    return nameless ? -1 : __real_dlinfo(handle, request, info);
}

int __wrap_dl_iterate_phdr(each_object *callback, void *data)
{
    struct dl_phdr_info none_at_all = {0};
    struct dl_phdr_info other = {.dlpi_name = "/lib/libamdhip64helper.so"};
    int stopped;

    if (no_interpreter)
        return callback(&none_at_all, sizeof(none_at_all), data);
    stopped = __real_dl_iterate_phdr(callback, data);
    return stopped ? stopped : callback(&other, sizeof(other), data);
}

static int none(void)
{
    int n = 7;

    shown = "";
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(n == 7);
    EXPECT(strstr(kpk_error_message(),
                  "none of libamdhip64.so.20 to .so.5 and libamdhip64.so can "
                  "be used, in the loader's path, in /opt/rocm/lib/ and in "
                  "/opt/rocm/core-*/lib/. Install"));
    EXPECT(kpk_error_driver() == 0);
    /* Asked again, it looks again. */
    EXPECT(setenv("KPK_HIP_LIBRARY", beside("fake_hip.so"), 1) == 0);
    fake_hip_load("fake_hip.so");
    EXPECT(kpk_device_count(&n) == KPK_OK);
    EXPECT(n == 2);
    return 0;
}

static int by_variable(void)
{
    const char *given = getenv("KPK_HIP_LIBRARY");
    const char *path;
    int version;

    EXPECT(kpk_driver_info(KPK_HIP, &version, &path) == KPK_OK);
    EXPECT(given && strcmp(path, given) == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_OK);
    return 0;
}

static int by_wrong_variable(void)
{
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(),
                  "KPK_HIP_LIBRARY names /nowhere/lib.so, which does not "
                  "load: "));
    EXPECT(strstr(kpk_error_message(), "Correct the variable"));
    return 0;
}

static int by_name(void)
{
    const char *path;

    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "libamdhip64.so.7"));
    return 0;
}

/* A release newer than every known release comes before an older one. */
static int by_newer_name(void)
{
    const char *path;

    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "/libamdhip64.so.10"));
    return 0;
}

/* The newest file has no device, the next one has. */
static int by_next_with_device(void)
{
    const char *path;
    int n;

    EXPECT(setenv("FAKE_HIP_IDLE", "libamdhip64.so.7", 1) == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "/libamdhip64.so.6"));
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 1);
    return 0;
}

/* Where none has a device the newest is it. */
static int by_name_without_device(void)
{
    const char *path;
    int n = 7;

    shown = "libamdhip64.so.7 libamdhip64.so.6";
    EXPECT(setenv("FAKE_HIP_IDLE", "libamdhip64.so", 1) == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "/libamdhip64.so.7"));
    EXPECT(kpk_platform_device_count(KPK_HIP, &n) == KPK_OK && n == 0);
    return 0;
}

static const char *name_folder(const char *name);

/* Several ROCm releases outside the loader's path: 10.1 is newer than 7.14. */
static int by_newest_release(void)
{
    const char *path;

    shown = "";
    rocm = name_folder("rocm");
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "/core-10.1/lib/libamdhip64.so.8"));
    return 0;
}

/* ROCm's one folder comes before its releases. */
static int by_folder(void)
{
    const char *path;

    shown = "";
    rocm = name_folder("flat");
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "_flat/lib/libamdhip64.so.7"));
    return 0;
}

static int lacking_a_function(void)
{
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "fake_hip_broken.so is no HIP runtime"));
    EXPECT(strstr(kpk_error_message(), "it has no hipStreamSynchronize"));
    return 0;
}

/* The first file found is none that can be used; the second is. */
static int by_next_name(void)
{
    const char *path;

    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "libamdhip64.so.6"));
    return 0;
}

/* The message names each file with the file's fault. */
static int by_no_name(void)
{
    shown = "libamdhip64.so.7 libamdhip64.so.6";
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "/opt/rocm/core-*/lib/ (/"));
    EXPECT(strstr(kpk_error_message(),
                  "/libamdhip64.so.7: it has no hipStreamSynchronize; /"));
    EXPECT(strstr(kpk_error_message(),
                  "/libamdhip64.so.6: it has no hipStreamSynchronize). Inst"));
    return 0;
}

/* The messages ask for 5.0: so does the search. */
static int of_hip_4(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip_5.so");

    fake->version = 40221155;
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "fake_hip_5.so"));
    EXPECT(strstr(kpk_error_message(), "it is HIP 4.2. HIP of ROCm 5.0 or"));
    fake->version = 50000000;
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_OK);
    return 0;
}

/* The same for a library that the program has linked; none is loaded beside
 * it. */
static int in_process_unusable(void)
{
    EXPECT(dlopen(beside("fake_hip_broken.so"), RTLD_NOW | RTLD_GLOBAL));
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(),
                  "the HIP library in this process, linked or preloaded, is no "
                  "HIP runtime that kpack can use: it has no hipStreamS"));
    return 0;
}

/* The program has loaded an unusable library by its usual name. */
static int in_process_by_name_unusable(void)
{
    EXPECT(dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL));
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "in this process, "));
    EXPECT(strstr(kpk_error_message(), "/libamdhip64.so.7 is no HIP runtime"));
    nameless = true; /* the loader need not know a file */
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "linked or preloaded, is no HIP"));
    /* The program loads a usable one, too: the unusable library is then no
     * failure. */
    nameless = false;
    (void)fake_hip_load("fake_hip.so");
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_OK);
    EXPECT(strstr(kpk_error_message(), "linked or preloaded, is no HIP"));
    return 0;
}

/* Every function that HIP may lack: without those that are needed it is not
 * used, and the sentence names the function. */
static int each_function_lacking(void)
{
    static const struct {
        bool need;
        const char *name;
    } functions[] = {
#define X(need, result, name, args) {need, #name},
        KPK_HIP_TABLE(X) KPK_HIP_NEWER_TABLE(X)
#undef X
    };

    EXPECT(setenv("KPK_HIP_LIBRARY", beside("fake_hip.so"), 1) == 0);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        const char *name = functions[i].name;
        int status = -1;
        pid_t child;

        if (strcmp(name, "hipMalloc") == 0)
            continue; /* the one that the fake's hipGetProcAddress() knows */
        if (strcmp(name, "hipModuleLoadData") == 0)
            absent_function = NULL;
        (void)fflush(NULL);
        child = fork();
        if (child == 0) {
            kpk_status st;

            absent_function = name;
            st = kpk_driver_info(KPK_HIP, NULL, NULL);
            if (functions[i].need ? st != KPK_ERR_NO_DRIVER ||
                                        !strstr(kpk_error_message(), name)
                                  : st != KPK_OK) {
                fprintf(stderr, "without %s: %s, %s\n", name,
                        kpk_status_name(st), kpk_error_message());
                exit(1);
            }
            exit(0);
        }
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT(status == 0);
    }
    return 0;
}

/* A file of that name that is no library; a loader that gives no reason; an
 * empty variable, which counts as none. */
static int no_library(void)
{
    shown = "libamdhip64.so.7";
    EXPECT(setenv("KPK_HIP_LIBRARY", "", 1) == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "core-*/lib/ (libamdhip64.so.7: /"));
    EXPECT(strstr(kpk_error_message(), "). Install"));
    error_text = "libamdhip64.so.7: it is Monday";
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(),
                  "; libamdhip64.so.7: libamdhip64.so.7: it is Monday; "));
    error_text = "";
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "/opt/rocm/core-*/lib/. Install"));
    EXPECT(setenv("KPK_HIP_LIBRARY", "/nowhere/lib.so", 1) == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "does not load: no reason given"));
    /* a library, and nothing of HIP's */
    EXPECT(setenv("KPK_HIP_LIBRARY", "libm.so.6", 1) == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "is no HIP runtime"));
    no_interpreter = true;
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "linked with -static"));
    return 0;
}

/* A HIP that does not say its version or its file serves all the same. */
static int unknown_version(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    const kpk_module *const newest = &test_module_newest;
    const kpk_shape shape = kpk_shape_1d(1, 1);
    const kpk_kernel *kernel;
    kpk_instance *inst;
    const char *path;
    int version = 7;

    nameless = true;
    fake->fail_name = "hipRuntimeGetVersion";
    EXPECT(kpk_driver_info(KPK_HIP, &version, &path) == KPK_OK);
    EXPECT(version == 0);
    EXPECT(strcmp(path, "a HIP library") == 0);
    EXPECT(kpk_open(&test_pack, 0, &inst) == KPK_OK);
    EXPECT(kpk_kernel_get(inst, "noargs", &kernel) == KPK_OK);
    EXPECT(kpk_launch(kernel, &shape, KPK_STREAM_PER_THREAD, NULL, 0) ==
           KPK_OK);
    EXPECT(kpk_close(inst) == KPK_OK);
    fake->fail_name = "hipModuleLoadData";
    EXPECT(kpk_open_modules(&newest, 1, 0, &inst) == KPK_OK);
    EXPECT(kpk_load(inst, NULL) == KPK_ERR_DRIVER);
    EXPECT(!strstr(kpk_error_message(), "is read from HIP"));
    EXPECT(kpk_close(inst) == KPK_OK);
    return 0;
}

static int newest_code_on_older_hip(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    const kpk_module *const newest = &test_module_newest;
    kpk_instance *inst;

    fake->version = 60200000;
    fake->fail_name = "hipModuleLoadData";
    EXPECT(kpk_open_modules(&newest, 1, 0, &inst) == KPK_OK);
    EXPECT(kpk_load(inst, NULL) == KPK_ERR_DRIVER);
    EXPECT(strstr(kpk_error_message(),
                  "(code object version 6 is read from HIP 6.3 on, this is HIP "
                  "6.2: rebuild the pack with COV=5"));
    EXPECT(kpk_close(inst) == KPK_OK);
    return 0;
}

static void *find_hip(void *unused)
{
    (void)unused;
    return kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_OK ? &shown : NULL;
}

/* Two threads look for HIP at once: one finds it, and the other waits. */
static int two_at_once(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    pthread_t threads[2];
    void *found;

    fake->hold_name = "hipRuntimeGetVersion";
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&threads[i], NULL, find_hip, NULL) == 0);
    while (!fake->held)
        usleep(1000);
    usleep(50000); /* until the other one waits, too */
    fake->released = 1;
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(threads[i], &found) == 0 && found);
    EXPECT(fake->ncalls == 1);
    return 0;
}

/* ---- fork() ---- */

static kpk_instance *forking;

static void *load_beta(void *unused)
{
    (void)unused;
    return kpk_load(forking, "beta") == KPK_OK ? forking : NULL;
}

/* A child whose parent was loading in another thread: no lock of the library
 * and none of HIP's would ever be free there. */
static int child_of_fork(const kpk_kernel *kernel)
{
    const kpk_shape shape = kpk_shape_1d(1, 1);
    const kpk_launch_item item = {kernel, shape, &forking, NULL, 0};
    const kpk_kernel *another;
    void *ptr;
    int n;

    alarm(600); /* should a lock never be free */
    EXPECT(kpk_kernel_get(forking, "torn", &another) == KPK_ERR_UNSUPPORTED);
    EXPECT(strstr(kpk_error_message(), "survives fork()"));
    EXPECT(kpk_launch(kernel, &shape, NULL, NULL, 0) == KPK_ERR_UNSUPPORTED);
    EXPECT(kpk_malloc(forking, 1, &ptr) == KPK_ERR_UNSUPPORTED);
    EXPECT(kpk_device_count(&n) == KPK_ERR_UNSUPPORTED);
    kpk_i_hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = NULL;
    EXPECT(kpk_launch_all(&item, 1, KPK_LAUNCH_COOPERATIVE) ==
           KPK_ERR_UNSUPPORTED);
    EXPECT(strstr(kpk_error_message(), "survives fork()"));
    EXPECT(kpk_open(&test_pack, 0, &forking) == KPK_ERR_UNSUPPORTED);
    EXPECT(kpk_close(forking) == KPK_ERR_UNSUPPORTED); /* gone all the same */
    return 0;
}

static int forked_while_loading(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    const kpk_kernel *kernel;
    pthread_t thread;
    int status = -1;
    void *loaded;
    pid_t child;

    EXPECT(kpk_open(&test_pack, 0, &forking) == KPK_OK);
    EXPECT(kpk_kernel_get(forking, "noargs", &kernel) == KPK_OK);
    fake->hold_name = "hipModuleLoadData";
    EXPECT(pthread_create(&thread, NULL, load_beta, NULL) == 0);
    while (!fake->held)
        usleep(1000);
    (void)fflush(NULL);
    child = fork();
    if (child == 0)
        exit(child_of_fork(kernel));
    EXPECT(waitpid(child, &status, 0) == child);
    fake->released = 1;
    EXPECT(pthread_join(thread, &loaded) == 0 && loaded);
    EXPECT(status == 0);
    EXPECT(kpk_close(forking) == KPK_OK);
    return 0;
}

/* The parent is looking for HIP in another thread. */
static int forked_while_searching(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    pthread_t thread;
    int status = -1;
    void *found;
    pid_t child;

    fake->hold_name = "hipRuntimeGetVersion";
    EXPECT(pthread_create(&thread, NULL, find_hip, NULL) == 0);
    while (!fake->held)
        usleep(1000);
    (void)fflush(NULL);
    child = fork();
    if (child == 0) {
        alarm(600); /* should a lock never be free */
        exit(kpk_driver_info(KPK_HIP, NULL, NULL) != KPK_ERR_UNSUPPORTED);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    fake->released = 1;
    EXPECT(pthread_join(thread, &found) == 0 && found);
    EXPECT(status == 0);
    return 0;
}

/* Where no HIP was found, the child may look for one. */
static int forked_without_hip(void)
{
    int status = -1;
    pid_t child;

    shown = "";
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    child = fork();
    if (child == 0) {
        EXPECT(setenv("KPK_HIP_LIBRARY", beside("fake_hip.so"), 1) == 0);
        exit(kpk_driver_info(KPK_HIP, NULL, NULL) != KPK_OK);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(status == 0);
    return 0;
}

/* HIP from 7.0 on passes a buffer on whose contents no metadata lists. */
static int unlisted_arguments_of_hip_7(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    const kpk_shape shape = kpk_shape_1d(1, 1);
    const kpk_value values[] = {kpk_u64(1), kpk_u64(2), kpk_u64(3)};
    unsigned char buffer[40];
    const kpk_kernel *kernel;
    kpk_instance *inst;

    for (size_t i = 0; i < sizeof(buffer); i++)
        buffer[i] = (unsigned char)i;
    fake->version = 70000000;
    EXPECT(kpk_open(&test_pack, 0, &inst) == KPK_OK);
    EXPECT(kpk_kernel_get(inst, "unlisted", &kernel) == KPK_OK);
    EXPECT(kpk_launch_packed(kernel, &shape, NULL, buffer, 40) == KPK_OK);
    EXPECT(fake->last.has_extra && fake->last.extra_nbytes == 24);
    EXPECT(memcmp(fake->last.extra, buffer, 24) == 0);
    EXPECT(kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_NATURAL, values,
                             3) == KPK_OK);
    EXPECT(fake->last.extra[16] == 3);
    EXPECT(kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_NATURAL, values,
                             2) == KPK_ERR_KERNEL_ARGS);
    EXPECT(kpk_close(inst) == KPK_OK);
    return 0;
}

/* The program has a HIP of its own: KPK_HIP_LIBRARY does not matter then. */
static int in_process(void)
{
    const char *path;

    EXPECT(dlopen(beside("fake_hip_5.so"), RTLD_NOW | RTLD_GLOBAL));
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "fake_hip_5.so"));
    return 0;
}

/* As in_process, but loaded privately, as interpreters load extensions. */
static int in_process_privately(void)
{
    const char *path;

    EXPECT(dlopen(beside("fake_hip_5.so"), RTLD_NOW | RTLD_LOCAL));
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "fake_hip_5.so"));
    return 0;
}

/* Loaded privately, of a release that no table knows, with a known one in the
 * loader's path: no second copy is loaded. */
static int in_process_newer(void)
{
    const char *path;

    EXPECT(dlopen(beside("fake_hip.so"), RTLD_NOW | RTLD_LOCAL));
    EXPECT(unsetenv("KPK_HIP_LIBRARY") == 0);
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "fake_hip.so"));
    return 0;
}

/* As a wheel of Python renames it: the name of the file tells. */
static int in_process_renamed(void)
{
    const char *path;

    EXPECT(dlopen("libamdhip64-1f2e3d.so.7", RTLD_NOW | RTLD_LOCAL));
    EXPECT(kpk_driver_info(KPK_HIP, NULL, &path) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "the HIP library in this process, /"));
    EXPECT(strstr(kpk_error_message(), "/libamdhip64-1f2e3d.so.7 is no HIP"));
    return 0;
}

static int describe(const char *file, const char *name, uint64_t memory,
                    unsigned units, unsigned cooperative,
                    unsigned cooperative_multi)
{
    struct fake_hip *fake = fake_hip_load(file);
    kpk_device device;

    fake->version = 70226000;
    EXPECT(kpk_device_get(0, &device) == KPK_OK);
    EXPECT(strcmp(device.name, name) == 0);
    EXPECT(strcmp(device.target, "gfx90a:sramecc+:xnack-") == 0);
    EXPECT(device.memory_nbytes == memory);
    EXPECT(device.lds_nbytes == 65536);
    EXPECT(device.wave_size == 64);
    EXPECT(device.max_block == 1024);
    EXPECT(device.max_block_dim[0] == 1024);
    EXPECT(device.max_block_dim[1] == 1024);
    EXPECT(device.max_block_dim[2] == 512);
    EXPECT(device.max_grid[0] == 2147483647);
    EXPECT(device.max_grid[1] == 65536);
    EXPECT(device.max_grid[2] == 65535);
    EXPECT(device.compute_units == units);
    EXPECT(device.cooperative == cooperative);
    EXPECT(device.cooperative_multi == cooperative_multi);
    EXPECT(kpk_device_get(1, &device) == KPK_OK);
    EXPECT(strcmp(device.target, "gfx1100") == 0);
    EXPECT(kpk_device_get(2, &device) == KPK_ERR_NO_DEVICE);
    EXPECT(kpk_device_get(0, NULL) == KPK_ERR_ARG);
    EXPECT(kpk_device_count(NULL) == KPK_ERR_ARG);
    fake->fail_name = "hipGetDeviceCount";
    EXPECT(kpk_device_get(0, &device) == KPK_ERR_DRIVER);
    EXPECT(kpk_error_driver() == 999);
    return 0;
}

/* Its device says that it does cooperative launches; it has no call for them.
 */
static int layout_of_hip_5(void)
{
    return describe("fake_hip_5.so", "Old Layout", 16000000001u, 104, 0, 0);
}

static int layout_of_hip_6(void)
{
    return describe("fake_hip.so", "New Layout", 64000000001u, 228, 1, 1);
}

/* hipGetProcAddress() is asked for every function, and dlsym() for what it
 * does not know. */
static int proc_address(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    int n;

    EXPECT(kpk_device_count(&n) == KPK_OK);
    EXPECT(fake->nproc_addresses >= 18);
    return 0;
}

static int no_device(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    kpk_instance *inst;
    int n = 7;

    fake->ndevices = 0;
    EXPECT(kpk_device_count(&n) == KPK_OK);
    EXPECT(n == 0);
    EXPECT(kpk_open(&test_pack, 0, &inst) == KPK_ERR_NO_DEVICE);
    EXPECT(strstr(kpk_error_message(), "sees a GPU"));
    return 0;
}

/* HIP before 6.1 has hipExtModuleLaunchKernel under its C++ name, and HIP
 * before 5.5 no cooperative launch. */
static int older_launches(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip_5.so");
    kpk_launch_options options = {.shape = kpk_shape_1d(3, 2)};
    kpk_launch_item item = {.shape = kpk_shape_1d(1, 1)};
    kpk_launch_item items[2] = {item, item};
    const kpk_kernel *kernel;
    kpk_instance *inst;
    int event;

    fake->version = 50230000;
    EXPECT(kpk_open(&test_pack, 0, &inst) == KPK_OK);
    EXPECT(kpk_kernel_get(inst, "noargs", &kernel) == KPK_OK);
    options.stop_event = &event;
    EXPECT(kpk_launch_ex(kernel, &options, NULL, 0) == KPK_OK);
    EXPECT(fake->last.stop_event == &event);
    options.stop_event = NULL;
    options.flags = KPK_LAUNCH_COOPERATIVE;
    EXPECT(kpk_launch_ex(kernel, &options, NULL, 0) == KPK_ERR_UNSUPPORTED);
    EXPECT(strstr(kpk_error_message(),
                  "a cooperative launch needs "
                  "hipModuleLaunchCooperativeKernel, which HIP 5.2 ("));
    item.kernel = kernel;
    EXPECT(kpk_launch_all(&item, 1, KPK_LAUNCH_COOPERATIVE) ==
           KPK_ERR_UNSUPPORTED);
    EXPECT(fake->nlaunches == 1);
    /* HIP 5.2 crashes on the thread's own stream: found before the first of
     * several launches. */
    items[0].kernel = items[1].kernel = kernel;
    items[1].stream = KPK_STREAM_PER_THREAD;
    EXPECT(kpk_launch_all(items, 2, 0) == KPK_ERR_UNSUPPORTED);
    EXPECT(strstr(kpk_error_message(), "KPK_STREAM_PER_THREAD"));
    EXPECT(fake->nlaunches == 1);
    EXPECT(kpk_close(inst) == KPK_OK);
    return 0;
}

/* After a fault each call fails. Opening says so, as far as kpack has heard of
 * it. */
static int fault(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    static const int faults[] = {214, 700, 702, 710, 714, 719};
    static const int others[] = {1, 701, 703, 713, 720, 999};
    kpk_instance *inst, *again;

    EXPECT(kpk_open(&test_pack, 1, &inst) == KPK_OK);
    fake->fail_name = "hipStreamSynchronize";
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        fake->fail_error = others[i];
        EXPECT(kpk_sync(inst, NULL) == KPK_ERR_DRIVER);
        EXPECT(!strstr(kpk_error_message(), "faulted"));
    }
    fake->fail_name = "hipDeviceSynchronize";
    EXPECT(kpk_open(&test_pack, 1, &again) == KPK_OK); /* is not asked */
    EXPECT(kpk_close(again) == KPK_OK);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        fake->fail_name = "hipStreamSynchronize";
        fake->fail_error = faults[i];
        EXPECT(kpk_sync(inst, NULL) == KPK_ERR_DRIVER);
        EXPECT(kpk_error_driver() == faults[i]);
        EXPECT(strstr(kpk_error_message(),
                      ". A kernel or the GPU has faulted: every later call on "
                      "this GPU fails until the process ends, kpk_open() too. "
                      "Start the program again"));
        fake->fail_name = "hipDeviceSynchronize";
        EXPECT(kpk_open(&test_pack, 1, &again) == KPK_ERR_DRIVER);
        EXPECT(kpk_error_driver() == faults[i]);
        EXPECT(strstr(kpk_error_message(),
                      "cannot open device 1 (gfx1100) after a fault in this "
                      "process: hipDeviceSynchronize returned"));
        EXPECT(strstr(kpk_error_message(), "Start the program again"));
        EXPECT(fake->get_current() == 0);
    }
    fake->fail_name = "hipSetDevice";
    EXPECT(kpk_open(&test_pack, 1, &again) == KPK_ERR_DRIVER);
    /* A device that works, or works again, is opened. */
    fake->fail_name = NULL;
    EXPECT(kpk_open(&test_pack, 1, &again) == KPK_OK);
    EXPECT(kpk_close(again) == KPK_OK);
    EXPECT(kpk_close(inst) == KPK_OK);
    return 0;
}

/* clang-format off */
#define CASE_TABLE(X)                                                     \
    /* case               KPK_HIP_LIBRARY        LD_LIBRARY_PATH */       \
    X(none,               NULL,                  "/nowhere")              \
    X(by_variable,        "fake_hip.so",         "/nowhere")              \
    X(by_wrong_variable,  "/nowhere/lib.so",     "/nowhere")              \
    X(by_name,            NULL,                  "names")                 \
    X(by_next_name,       NULL,                  "next")                  \
    X(by_newer_name,      NULL,                  "newer")                 \
    X(by_next_with_device, NULL,                 "idle")                  \
    X(by_name_without_device, NULL,              "idle")                  \
    X(by_newest_release,  NULL,                  "/nowhere")              \
    X(by_folder,          NULL,                  "/nowhere")              \
    X(by_no_name,         NULL,                  "broken")                \
    X(of_hip_4,           NULL,                  "/nowhere")              \
    X(in_process_unusable, NULL,                 "/nowhere")              \
    X(in_process_by_name_unusable, NULL,         "broken")                \
    X(each_function_lacking, NULL,               "/nowhere")              \
    X(no_library,         NULL,                  "text")                  \
    X(unknown_version,    NULL,                  "/nowhere")              \
    X(newest_code_on_older_hip, NULL,            "/nowhere")              \
    X(two_at_once,        NULL,                  "/nowhere")              \
    X(forked_while_loading, NULL,                "/nowhere")              \
    X(forked_while_searching, NULL,              "/nowhere")              \
    X(forked_without_hip, NULL,                  "/nowhere")              \
    X(unlisted_arguments_of_hip_7, NULL,         "/nowhere")              \
    X(lacking_a_function, "fake_hip_broken.so",  "/nowhere")              \
    X(in_process,         "fake_hip.so",         "names")                 \
    X(in_process_privately, "fake_hip.so",       "names")                 \
    X(in_process_newer,   NULL,                  "older")                 \
    X(in_process_renamed, "fake_hip.so",         "renamed")               \
    X(layout_of_hip_5,    NULL,                  "/nowhere")              \
    X(layout_of_hip_6,    NULL,                  "/nowhere")              \
    X(proc_address,       NULL,                  "/nowhere")              \
    X(older_launches,     NULL,                  "/nowhere")              \
    X(fault,              NULL,                  "/nowhere")              \
    X(no_device,          NULL,                  "/nowhere")
/* clang-format on */

static int run_case(const char *name)
{
#define X(id, variable, path)                                                  \
    if (strcmp(name, #id) == 0)                                                \
        return id();
    CASE_TABLE(X)
#undef X
    fprintf(stderr, "no case %s\n", name);
    return 1;
}

/* ---- the parent ---- */

/* Folders in which the fakes have the names of releases. */
static const struct {
    const char *folder;
    const char *files[2]; /* fakes */
    const char *names[2];
} name_table[] = {
    {"names", {"fake_hip.so"}, {"libamdhip64.so.7"}},
    {"text", {"/dev/null"}, {"libamdhip64.so.7"}},
    {"next",
     {"fake_hip_broken.so", "fake_hip.so"},
     {"libamdhip64.so.7", "libamdhip64.so.6"}},
    {"broken",
     {"fake_hip_broken.so", "fake_hip_broken.so"},
     {"libamdhip64.so.7", "libamdhip64.so.6"}},
    {"newer",
     {"fake_hip.so", "fake_hip_5.so"},
     {"libamdhip64.so.10", "libamdhip64.so.5"}},
    {"idle",
     {"fake_hip_5.so", "fake_hip.so"},
     {"libamdhip64.so.7", "libamdhip64.so.6"}},
    {"older", {"fake_hip_5.so"}, {"libamdhip64.so.7"}},
    {"renamed", {"fake_hip_broken.so"}, {"libamdhip64-1f2e3d.so.7"}},
    {"flat", {NULL}, {NULL}},
    {"flat/lib", {"fake_hip.so"}, {"libamdhip64.so.7"}},
    {"rocm", {NULL}, {NULL}},
    {"rocm/lib", {"fake_hip_broken.so"}, {"libamdhip64.so"}},
    {"rocm/core-7.14", {NULL}, {NULL}},
    {"rocm/core-7.14/lib", {"fake_hip_5.so"}, {"libamdhip64.so.7"}},
    {"rocm/core-10.2", {NULL}, {NULL}}, /* has no HIP */
    {"rocm/core-10.1", {NULL}, {NULL}},
    {"rocm/core-10.1/lib", {"fake_hip.so"}, {"libamdhip64.so.8"}},
};
enum { NFOLDERS = sizeof(name_table) / sizeof(name_table[0]) };

static const char *name_folder(const char *name)
{
    static char path[3200];

    snprintf(path, sizeof(path), "%s/test_hip_%d_%s", folder, (int)parent,
             name);
    return path;
}

static void link_path(int f, int i, char path[3300])
{
    snprintf(path, 3300, "%s/%s", name_folder(name_table[f].folder),
             name_table[f].names[i]);
}

static void make_names(void)
{
    char path[3300];

    for (int f = 0; f < NFOLDERS; f++) {
        assert_int_equal(mkdir(name_folder(name_table[f].folder), 0777), 0);
        for (int i = 0; i < 2 && name_table[f].files[i]; i++) {
            const char *file = name_table[f].files[i];

            link_path(f, i, path);
            assert_int_equal(symlink(*file == '/' ? file : beside(file), path),
                             0);
        }
    }
}

static void remove_names(void)
{
    char path[3300];

    for (int f = NFOLDERS; f-- > 0;) {
        for (int i = 0; i < 2 && name_table[f].files[i]; i++) {
            link_path(f, i, path);
            assert_int_equal(unlink(path), 0);
        }
        assert_int_equal(rmdir(name_folder(name_table[f].folder)), 0);
    }
}

static void run_in_child(const char *name, const char *variable,
                         const char *path)
{
    int status;

    if (*path != '/')
        path = name_folder(path);
    if (variable && *variable != '/')
        variable = beside(variable);
    status = run_again((const char *const[]){name, NULL},
                       (const char *const[]){"KPK_HIP_LIBRARY", variable,
                                             "LD_LIBRARY_PATH", path, NULL});
    if (status != 0)
        fail_msg("case %s ended with wait status %d", name, status);
}

static void test_hip_is_found_and_read_in_every_case(void **state)
{
    (void)state;
    make_names();
#define X(id, variable, path) run_in_child(#id, variable, path);
    CASE_TABLE(X)
#undef X
    remove_names();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hip_is_found_and_read_in_every_case),
    };
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

    if (n <= 0)
        return 1;
    folder[n] = '\0';
    *strrchr(folder, '/') = '\0';
    parent = argc == 2 ? getppid() : getpid();
    if (argc == 2)
        return run_case(argv[1]);
    return cmocka_run_group_tests_name("hip", tests, NULL, NULL);
}
