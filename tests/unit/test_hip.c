/* test_hip.c - where HIP is found, and how the devices of each release read
 *
 * HIP is bound once in a process, so each case is a process of its own: the
 * test runs itself again with the case's name and environment.
 */
#include "unit.h"

#include "fake_hip.h"
#include "test_pack.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[3000]; /* of this program and the fakes */

static const char *beside(const char *file)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return path;
}

/* ---- the cases, each in its own process: 0 if all is as it should be ---- */

#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n  last message: %s\n",         \
                    __FILE__, __LINE__, #condition, kpk_error_message());      \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static int none(void)
{
    static const char *const tried[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                        "libamdhip64.so.5", "libamdhip64.so"};
    int n = 7;

    /* A machine with a HIP of its own cannot show what happens without. */
    for (size_t i = 0; i < 4; i++) {
        if (dlopen(tried[i], RTLD_LAZY)) {
            printf("case none left out: %s is installed\n", tried[i]);
            return 0;
        }
    }

    EXPECT(kpk_device_count(&n) == KPK_ERR_NO_HIP);
    EXPECT(n == 7);
    EXPECT(strstr(kpk_error_message(),
                  "none of libamdhip64.so.7, libamdhip64.so.6, "
                  "libamdhip64.so.5, libamdhip64.so loads. Install"));
    EXPECT(kpk_error_hip() == 0);
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

    EXPECT(kpk_hip_info(&version, &path) == KPK_OK);
    EXPECT(given && strcmp(path, given) == 0);
    EXPECT(kpk_hip_info(NULL, NULL) == KPK_OK);
    return 0;
}

static int by_wrong_variable(void)
{
    EXPECT(kpk_hip_info(NULL, NULL) == KPK_ERR_NO_HIP);
    EXPECT(strstr(kpk_error_message(),
                  "KPK_HIP_LIBRARY names /nowhere/lib.so, which does not "
                  "load: "));
    EXPECT(strstr(kpk_error_message(), "Correct the variable"));
    return 0;
}

static int by_name(void)
{
    const char *path;

    EXPECT(kpk_hip_info(NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "libamdhip64.so.7"));
    return 0;
}

static int lacking_a_function(void)
{
    EXPECT(kpk_hip_info(NULL, NULL) == KPK_ERR_NO_HIP);
    EXPECT(strstr(kpk_error_message(), "it has no hipStreamSynchronize"));
    return 0;
}

/* The program has a HIP of its own: KPK_HIP_LIBRARY does not matter then. */
static int in_process(void)
{
    const char *path;

    EXPECT(dlopen(beside("fake_hip_5.so"), RTLD_NOW | RTLD_GLOBAL));
    EXPECT(kpk_hip_info(NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "fake_hip_5.so"));
    return 0;
}

/* As in_process, but loaded privately, as interpreters load extensions. */
static int in_process_privately(void)
{
    const char *path;

    EXPECT(dlopen(beside("fake_hip_5.so"), RTLD_NOW | RTLD_LOCAL));
    EXPECT(kpk_hip_info(NULL, &path) == KPK_OK);
    EXPECT(strstr(path, "fake_hip_5.so"));
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
    EXPECT(kpk_device_get(0, &device) == KPK_ERR_HIP);
    EXPECT(kpk_error_hip() == 999);
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
    EXPECT(strstr(kpk_error_message(), "sees no GPU"));
    return 0;
}

/* HIP before 6.1 has hipExtModuleLaunchKernel under its C++ name, and HIP
 * before 5.5 no cooperative launch. */
static int older_launches(void)
{
    struct fake_hip *fake = fake_hip_load("fake_hip_5.so");
    kpk_launch_options options = {.shape = kpk_shape_1d(3, 2)};
    kpk_launch_item item = {.shape = kpk_shape_1d(1, 1)};
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
    X(lacking_a_function, "fake_hip_broken.so",  "/nowhere")              \
    X(in_process,         "fake_hip.so",         "names")                 \
    X(in_process_privately, "fake_hip.so",       "names")                 \
    X(layout_of_hip_5,    NULL,                  "/nowhere")              \
    X(layout_of_hip_6,    NULL,                  "/nowhere")              \
    X(proc_address,       NULL,                  "/nowhere")              \
    X(older_launches,     NULL,                  "/nowhere")              \
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

/* A folder in which the fake has the name of a release. */
static struct {
    char folder[3100];
    char link[3200];
} names;

static void make_names(void)
{
    snprintf(names.folder, sizeof(names.folder), "%s/test_hip_%d", folder,
             (int)getpid());
    snprintf(names.link, sizeof(names.link), "%s/libamdhip64.so.7",
             names.folder);
    assert_int_equal(mkdir(names.folder, 0777), 0);
    assert_int_equal(symlink(beside("fake_hip.so"), names.link), 0);
}

static void remove_names(void)
{
    assert_int_equal(unlink(names.link), 0);
    assert_int_equal(rmdir(names.folder), 0);
}

static void set_or_unset(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

static void run_in_child(const char *name, const char *variable,
                         const char *path)
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (variable && *variable != '/')
            variable = beside(variable);
        set_or_unset("KPK_HIP_LIBRARY", variable);
        set_or_unset("LD_LIBRARY_PATH",
                     strcmp(path, "names") == 0 ? names.folder : path);
        execl("/proc/self/exe", "test_hip", name, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
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
    if (argc == 2)
        return run_case(argv[1]);
    return cmocka_run_group_tests_name("hip", tests, NULL, NULL);
}
