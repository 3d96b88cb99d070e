/* test_cuda_driver.c - how a process finds CUDA's driver, and what it may lack
 *
 * A process finds a driver once. So each case is a process of its own: this
 * program, started again. The driver is the fake of fake_cuda.c.
 */
/* link: -Wl,--wrap=dlsym,--wrap=dladdr,--wrap=dlerror */
/* link: -Wl,--wrap=dl_iterate_phdr,--wrap=dlopen */
/* For setenv and fork; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "unit_checks.h"

#include "cuda_pack.h"
#include "fake_cuda.h"
#include "fake_hip.h"
#include "system.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fake_cuda *cuda;

/* ---- the answers of the loader, set by tests ------------------------ */

static const char *hidden; /* functions of these names, blank-separated */
static bool nameless;      /* no library has a file */
static bool speechless;    /* dlerror() has nothing to say */
static bool no_interpreter;
static const char *files;     /* stands for the driver's existing files */
static int start_error;       /* what cuInit() returns, if not 0 */
static int nstarts_left = -1; /* ... so often; -1: always */

void *__real_dlopen(const char *name, int mode);
void *__wrap_dlopen(const char *name, int mode);

static char opened[1024]; /* every opened name, in order */

void *__wrap_dlopen(const char *name, int mode)
{
    if (!strstr(name, "libcuda.so") || strncmp(name, "/nowhere", 8) == 0)
        return __real_dlopen(name, mode);
    (void)snprintf(opened + strlen(opened), sizeof(opened) - strlen(opened),
                   "%s ", name);
    return files && !strstr(name, "so.3")
               ? __real_dlopen(files, mode)
               : __real_dlopen("/nowhere/libcuda.so", mode);
}

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);
int __real_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info);
char *__real_dlerror(void);
char *__wrap_dlerror(void);
typedef int each_object(struct dl_phdr_info *, size_t, void *);
int __real_dl_iterate_phdr(each_object *callback, void *data);
int __wrap_dl_iterate_phdr(each_object *callback, void *data);

static void *real_start;

static int no_start(unsigned flags)
{
    int (*start)(unsigned);

    memcpy(&start, &real_start, sizeof(real_start));
    if (nstarts_left == 0)
        return start(flags);
    nstarts_left -= nstarts_left > 0;
    return start_error;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    int (*const instead)(unsigned) = no_start;
    const size_t n = strlen(name);
    void *address;

    if (start_error && strcmp(name, "cuInit") == 0) {
        real_start = __real_dlsym(handle, name);
        memcpy(&address, &instead, sizeof(address));
        return address;
    }

    for (const char *at = hidden; at; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && memcmp(at, name, n) == 0)
            return NULL;
    }
    return __real_dlsym(handle, name);
}

int __wrap_dladdr(const void *address, Dl_info *info)
{
    return nameless ? 0 : __real_dladdr(address, info);
}

char *__wrap_dlerror(void)
{
    char *text = __real_dlerror();

    return speechless ? NULL : text;
}

int __wrap_dl_iterate_phdr(each_object *callback, void *data)
{
    struct dl_phdr_info none = {0};

    return no_interpreter ? callback(&none, sizeof(none), data)
                          : __real_dl_iterate_phdr(callback, data);
}

/* ---- the cases ----------------------------------------------------------- */

/* No HIP: CUDA's devices begin at 0. */
static int alone(void)
{
    kpk_instance *gpu;
    const kpk_kernel *k;
    kpk_device device;
    int n;

    EXPECT(kpk_device_count(&n) == KPK_OK && n == 2);
    EXPECT(kpk_device_get(0, &device) == KPK_OK);
    EXPECT(device.platform == KPK_CUDA && device.index == 0);
    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_OK);
    EXPECT(kpk_kernel_get(gpu, "scale", &k) == KPK_OK);
    EXPECT(kpk_close(gpu) == KPK_OK);
    EXPECT(strcmp(kpk_error_message(), "") == 0); /* nothing has failed */
    EXPECT(kpk_driver_info(KPK_HIP, NULL, NULL) == KPK_ERR_NO_DRIVER);
    return 0;
}

/* A driver without a card is no failure. */
static int no_card(void)
{
    kpk_instance *gpu;
    int n = 7;

    cuda->init_error = 100;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 0);
    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_ERR_NO_DEVICE);
    EXPECT(says("sees a GPU") && says("nvidia-smi"));
    return 0;
}

static int stub(void)
{
    int n;

    cuda->init_error = 34;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("is a stub of CUDA's toolkit"));
    EXPECT(kpk_error_driver() == 34);
    EXPECT(says("KPK_HIP_LIBRARY names /nowhere"));
    return 0;
}

static int mismatch(void)
{
    int n;

    cuda->init_error = 803;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("does not start") && says("restart the machine"));
    EXPECT(kpk_error_driver() == 803);
    /* Messages about other faults do not blame the releases. */
    cuda->init_error = 999;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("does not start: cuInit returned") && !says("restart"));
    cuda->init_error = 0; /* the next call tries again */
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 2);
    return 0;
}

/* The fake that nobody has loaded yet. */
static int names_fake_cuda(void)
{
    const char *path;
    char beside[FAKE_PATH_MAX];

    if (kpk_driver_info(KPK_HIP, NULL, &path) != KPK_OK)
        return 0;
    (void)snprintf(beside, sizeof(beside), "%.*sfake_cuda.so",
                   (int)(strrchr(path, '/') + 1 - path), path);
    return setenv("KPK_CUDA_LIBRARY", beside, 1) == 0;
}

static const char *fake_file(void)
{
    static char path[FAKE_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);

    path[n > 0 ? n : 0] = '\0';
    (void)snprintf(strrchr(path, '/'), 20, "/fake_cuda.so");
    return path;
}

/* A driver that does not start is not kept, and so its file's name is not
 * either. HIP's devices go on, and what CUDA's driver said is told where one of
 * its devices may be meant. */
static int unloaded(void)
{
    struct fake_hip *hip = fake_hip_load("fake_hip.so");
    kpk_device device;
    int n = 7;

    EXPECT(names_fake_cuda());
    start_error = 3;
    EXPECT(kpk_device_get(2, &device) == KPK_ERR_NO_DEVICE);
    EXPECT(says("there are 2 GPUs: the highest number is 1. CUDA's are not "
                "among them: the CUDA driver (/") &&
           says("fake_cuda.so) does not start: cuInit returned"));
    hip->ndevices = 0;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 0);
    EXPECT(kpk_device_get(0, &device) == KPK_ERR_NO_DEVICE);
    EXPECT(says("neither HIP (/") &&
           says("fake_hip.so) nor CUDA (the CUDA "
                "driver (/") &&
           says("fake_cuda.so) does not start: cuInit returned") &&
           says(") sees a GPU"));
    start_error = 0;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 1);
    return 0;
}

/* Without CUDA the message about a device does not mention CUDA. */
static int absent(void)
{
    struct fake_hip *hip = fake_hip_load("fake_hip.so");
    kpk_device device;

    EXPECT(kpk_device_get(2, &device) == KPK_ERR_NO_DEVICE);
    EXPECT(says("the highest number is 1") && !says("CUDA"));
    hip->ndevices = 0;
    EXPECT(kpk_device_get(0, &device) == KPK_ERR_NO_DEVICE);
    EXPECT(says("nor CUDA (no CUDA driver: KPK_CUDA_LIBRARY names "
                "/nowhere/libcuda.so.1"));
    return 0;
}

/* One sentence names both searches. */
static int neither(void)
{
    kpk_instance *gpu;
    int n;

    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("KPK_HIP_LIBRARY names /nowhere, which does not load"));
    EXPECT(says("For NVIDIA GPUs: no CUDA driver"));
    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_ERR_NO_DRIVER);
    return 0;
}

static int not_looked_for(void)
{
    int n;

    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("KPK_CUDA_LIBRARY is empty"));
    return 0;
}

static int no_driver(void)
{
    int n;

    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("is no CUDA driver that kpack can use: it has no cu"));
    return 0;
}

/* Its graphs do not keep that a launch begins early. */
static int driver_of_12_2(void)
{
    const kpk_launch_options options = {.shape = {{1, 1, 1}, {1, 1, 1}, 0},
                                        .flags = KPK_LAUNCH_EARLY};
    kpk_instance *gpu;
    const kpk_kernel *k;
    uint64_t x = 0;
    double by = 1;

    cuda->version = 12020;
    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_OK);
    EXPECT(kpk_kernel_get(gpu, "scale", &k) == KPK_OK);
    EXPECT(kpk_launch_ex(k, &options, KPK_ARGS(x, by)) == KPK_OK);
    EXPECT(strcmp(cuda->last.kernel, "scale") == 0);
    EXPECT(cuda->last.early == 0);
    EXPECT(kpk_close(gpu) == KPK_OK);
    return 0;
}

/* Functions that an old driver lacks. */
static int old_driver(void)
{
    void *graph;
    kpk_launch_options options = {.shape = {{1, 1, 1}, {1, 1, 1}, 0}};
    kpk_device device;
    kpk_instance *gpu;
    const kpk_kernel *k;
    uint32_t blocks;
    uint64_t x = 0;
    double by = 1;

    hidden = "cuLaunchCooperativeKernel cuLaunchKernelEx "
             "cuGraphInstantiateWithFlags "
             "cuOccupancyMaxActiveBlocksPerMultiprocessor "
             "cuOccupancyMaxPotentialBlockSize";
    nameless = true;
    cuda->fail_name = "cuDriverGetVersion";
    cuda->fail_error = 1;
    EXPECT(kpk_device_get(0, &device) == KPK_OK);
    EXPECT(device.cooperative == 0);
    cuda->fail_name = NULL;
    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_OK);
    EXPECT(kpk_kernel_get(gpu, "scale", &k) == KPK_OK);
    options.flags = KPK_LAUNCH_COOPERATIVE;
    EXPECT(kpk_launch_ex(k, &options, KPK_ARGS(x, by)) == KPK_ERR_UNSUPPORTED);
    EXPECT(says("a CUDA driver"));
    options.flags = KPK_LAUNCH_ANY_ORDER;
    EXPECT(kpk_launch_ex(k, &options, KPK_ARGS(x, by)) == KPK_OK);
    options.flags = 0;
    options.cluster[0] = 2;
    EXPECT(kpk_launch_ex(k, &options, KPK_ARGS(x, by)) == KPK_ERR_UNSUPPORTED);
    EXPECT(says("launches no clusters of blocks"));
    options.cluster[0] = 0;
    options.flags = KPK_LAUNCH_EARLY; /* a permission */
    EXPECT(kpk_launch_ex(k, &options, KPK_ARGS(x, by)) == KPK_OK);
    EXPECT(cuda->last.early == 0);
    options.flags = 0;
    EXPECT(kpk_occupancy(k, 64, 0, &blocks) == KPK_ERR_UNSUPPORTED);
    EXPECT(kpk_occupancy_shape(k, 0, 0, &options.shape) == KPK_ERR_UNSUPPORTED);
    EXPECT(kpk_graph_instantiate(gpu, &x, &graph) == KPK_ERR_UNSUPPORTED);
    EXPECT(says("a graph needs cuGraphInstantiateWithFlags"));
    EXPECT(kpk_close(gpu) == KPK_OK);
    /* A module fails to load, and the driver cannot tell the module's CUDA
     * release. */
    cuda->fail_name = "cuModuleLoadData";
    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_OK);
    EXPECT(kpk_kernel_get(gpu, "scale", &k) == KPK_ERR_DRIVER);
    EXPECT(!says("it was made by"));
    EXPECT(kpk_close(gpu) == KPK_OK);
    return 0;
}

/* The driver is in the process: linked, or loaded for all to see. */
static int in_process(void)
{
    int n;

    EXPECT(dlopen(getenv("KPK_CUDA_LIBRARY"), RTLD_NOW | RTLD_GLOBAL));
    EXPECT(setenv("KPK_CUDA_LIBRARY", "/nowhere", 1) == 0);
    cuda->init_error = 3;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("does not start: ") && !says("restart"));
    cuda->init_error = 0;
    hidden = "cuMemAlloc_v2";
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("the CUDA driver in this process is no CUDA driver"));
    hidden = NULL;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 2);
    return 0;
}

static int no_reason(void)
{
    int n;

    speechless = true;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(
        says("no CUDA driver: KPK_CUDA_LIBRARY names /nowhere/libcuda.so.1"));
    no_interpreter = true;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("the CUDA driver, a shared library, cannot be loaded into it"));
    return 0;
}

/* The program has loaded the driver, for itself only (RTLD_LOCAL). */
static int in_process_privately(void)
{
    int n;

    EXPECT(setenv("KPK_CUDA_LIBRARY", "/nowhere", 1) == 0);
    cuda->init_error = 3;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("does not start: "));
    cuda->init_error = 0;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 2);
    EXPECT(*opened == '\0');
    return 0;
}

#ifdef __aarch64__
#define DEBIANS_FOLDER "/usr/lib/aarch64-linux-gnu"
#else
#define DEBIANS_FOLDER "/usr/lib/x86_64-linux-gnu"
#endif

/* Without a variable: the driver's name, then folders that the loader may not
 * know. */
static int no_file(void)
{
    int n;

    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("no CUDA driver: there is no libcuda.so.1 (libcuda.so.3: "));
    EXPECT(strstr(
        opened,
        "libcuda.so.3 libcuda.so.2 libcuda.so.1 libcuda.so " DEBIANS_FOLDER
        "/libcuda.so.3 "));
    EXPECT(strstr(opened, " /usr/lib/wsl/lib/libcuda.so.1 "));
    *opened = '\0';
    speechless = true;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(strstr(kpk_error_message(), "there is no libcuda.so.1"));
    EXPECT(!says("libcuda.so.3"));
    return 0;
}

/* A stub of a toolkit stands before the driver. */
static int stub_first(void)
{
    int n;

    files = fake_file();
    start_error = 34;
    nstarts_left = 2;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 1);
    EXPECT(strcmp(opened, "libcuda.so.3 libcuda.so.2 libcuda.so.1 "
                          "libcuda.so ") == 0);
    return 0;
}

/* All are stubs: the first one's fault is told. */
static int stubs_alone(void)
{
    int n;

    files = fake_file();
    start_error = 34;
    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_DRIVER);
    EXPECT(says("is a stub of CUDA's toolkit"));
    EXPECT(kpk_error_driver() == 34);
    return 0;
}

/* A driver that sees no card is one, if no other sees any. */
static int idle_first(void)
{
    int n = 7;

    files = fake_file();
    start_error = 100;
    nstarts_left = 1;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 1);
    return 0;
}

static int idle_alone(void)
{
    int n = 7;

    files = fake_file();
    start_error = 100;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 0);
    return 0;
}

/* More devices than kpack has room for: the first ones count. */
static int many_cards(void)
{
    int n;

    cuda->ndevices = 65;
    EXPECT(kpk_device_count(&n) == KPK_OK && n == 64);
    return 0;
}

static void *allocate(void *gpu)
{
    void *x = NULL;

    return kpk_malloc(gpu, 8, &x) == KPK_OK && kpk_free(gpu, x) == KPK_OK
               ? gpu
               : NULL;
}

/* Two threads are the first on a device: its context is retained once. */
static int two_at_once(void)
{
    pthread_t threads[2];
    kpk_instance *gpu;
    void *done;

    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_OK);
    cuda->no_context = 1;
    EXPECT(allocate(gpu) == NULL);
    cuda->no_context = 0;
    cuda->fail_name = "cuDeviceGet";
    cuda->fail_error = 3;
    EXPECT(allocate(gpu) == NULL && says("cuDeviceGet returned"));
    cuda->fail_name = NULL;
    atomic_store(&cuda->nretains, 0);
    cuda->slow = 1;
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&threads[i], NULL, allocate, gpu) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(threads[i], &done) == 0 && done);
    EXPECT(cuda->nretains == 1);
    EXPECT(kpk_close(gpu) == KPK_OK);
    return 0;
}

/* The parent driver's memory is lost in the child, and no leak: LeakSanitizer
 * asks this function. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
static int is_child;

int __lsan_is_turned_off(void)
{
    return is_child;
}

static int forked(void)
{
    kpk_instance *gpu;
    const kpk_kernel *k;
    int status = -1;
    pid_t child;
    int n;

    EXPECT(kpk_open(&pack, 0, &gpu) == KPK_OK);
    EXPECT(kpk_kernel_get(gpu, "scale", &k) == KPK_OK);
    (void)fflush(NULL);
    child = fork();
    is_child = child == 0;
    if (is_child)
        exit(!(kpk_device_count(&n) == KPK_ERR_UNSUPPORTED &&
               kpk_open(&pack, 0, &gpu) == KPK_ERR_UNSUPPORTED &&
               allocate(gpu) == NULL && says("survives fork()") &&
               kpk_close(gpu) == KPK_ERR_UNSUPPORTED));
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(status == 0);
    EXPECT(kpk_close(gpu) == KPK_OK);
    return 0;
}

/* clang-format off */
/* case, KPK_CUDA_LIBRARY; FAKE is the fake driver, NONE unsets it */          \
#define CASE_TABLE(X)                                                          \
    X(alone,          "FAKE")                                                  \
    X(no_card,        "FAKE")                                                  \
    X(stub,           "FAKE")                                                  \
    X(mismatch,       "FAKE")                                                  \
    X(unloaded,       "/nowhere")                                              \
    X(absent,         "/nowhere/libcuda.so.1")                                 \
    X(neither,        "/nowhere/libcuda.so.1")                                 \
    X(not_looked_for, "")                                                      \
    X(no_driver,      "libm.so.6")                                             \
    X(old_driver,     "FAKE")                                                  \
    X(driver_of_12_2, "FAKE")                                                  \
    X(in_process,     "FAKE")                                                  \
    X(in_process_privately, "FAKE")                                            \
    X(no_file,        "NONE")                                                  \
    X(stub_first,     "NONE")                                                  \
    X(stubs_alone,    "NONE")                                                  \
    X(idle_first,     "NONE")                                                  \
    X(idle_alone,     "NONE")                                                  \
    X(no_reason,      "/nowhere/libcuda.so.1")                                 \
    X(many_cards,     "FAKE")                                                  \
    X(two_at_once,    "FAKE")                                                  \
    X(forked,         "FAKE")
    /* clang-format on */

    static void run_in_child(const char *name, const char *library)
{
    const int status = run_again(
        (const char *const[]){name, NULL},
        (const char *const[]){"KPK_CUDA_LIBRARY", library, "LD_LIBRARY_PATH",
                              "/nowhere", "KPK_HIP_LIBRARY", "/nowhere", NULL});

    if (status != 0)
        fail_msg("case %s ended with wait status %d", name, status);
}

static void test_driver_is_found_in_every_case(void **state)
{
    (void)state;
#define X(id, library) run_in_child(#id, library);
    CASE_TABLE(X)
#undef X
}

static int run_case(const char *name)
{
    char path[FAKE_PATH_MAX];
    const char *wanted = getenv("KPK_CUDA_LIBRARY");

    if (wanted && strcmp(wanted, "FAKE") == 0) {
        cuda = fake_cuda_load(path);
        (void)setenv("KPK_CUDA_LIBRARY", path, 1);
    }
    if (wanted && strcmp(wanted, "NONE") == 0)
        (void)unsetenv("KPK_CUDA_LIBRARY");
#define X(id, library)                                                         \
    if (strcmp(name, #id) == 0)                                                \
        return id();
    CASE_TABLE(X)
#undef X
    fprintf(stderr, "no case %s\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_is_found_in_every_case),
    };

    if (argc > 1)
        return run_case(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
