/* test_hip_reach.c - a host that reaches device memory (a large BAR), and a
 * device that reaches the program's own (XNACK)
 */
#define _GNU_SOURCE
#include "hip_test.h"

#include "sim/hip/kpk_sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64, PAGE = 4096, LARGE_BAR = 10011, PAGEABLE = 65 };

static hipModule_t module;

static int attribute(int number)
{
    int value = -1;

    EXPECT(hipSuccess,
           hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)number, 0));
    return value;
}

static void load(const char *target)
{
    static void *volatile image; /* stays with the module; no leak */
    size_t n;

    image = read_api(target, &n);
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
}

/* c[i] = c[i] * 2 + k in a kernel; says what became of it. */
static hipError_t step(unsigned *c, unsigned k)
{
    unsigned n = N;
    void *params[] = {&c, &k, &n};
    hipFunction_t f = NULL;
    hipError_t error;

    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "step"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    error = hipDeviceSynchronize();
    kpkSimClearFault();
    return error;
}

/* Whether a write at that place kills the process. */
static int kills(volatile unsigned *p)
{
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        *p = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/* ---- a large BAR -------------------------------------------------------- */

static void host_reaches_device_memory(void)
{
    unsigned *p, i, got[N];

    assert_int_equal(attribute(LARGE_BAR), 1);
    load("gfx942");
    EXPECT(hipSuccess, hipMalloc((void **)&p, sizeof(got)));
    for (i = 0; i < N; i++)
        p[i] = i;
    EXPECT(hipSuccess, step(p, 7));
    EXPECT(hipSuccess, hipMemcpy(got, p, sizeof(got), hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++) {
        assert_int_equal(p[i], 2 * i + 7);
        assert_int_equal(got[i], 2 * i + 7);
    }
    EXPECT(hipSuccess, hipMemset(p, 0, sizeof(got)));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(p[N - 1], 0);
    /* Kernels are held to the byte all the same, and freed memory is gone. */
    EXPECT(hipErrorIllegalAddress, step(p + 1, 7));
    EXPECT(hipSuccess, hipFree(p));
    assert_true(kills(p));
}

static void test_large_bar(void **state)
{
    static const char *const bar[] = {"KPK_SIM_LARGE_BAR=1", NULL};
    static const char *const strict[] = {"KPK_SIM_LARGE_BAR=1",
                                         "KPK_SIM_UNINIT=1", NULL};

    (void)state;
    in_child(bar, host_reaches_device_memory);
    in_child(strict, host_reaches_device_memory);
}

/* Pages that the host wrote count as written, no others. */
static void hosts_writes_are_seen(void)
{
    const unsigned per_page = PAGE / sizeof(unsigned);
    unsigned *p, *q, *pooled;

    load("gfx942");
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64 * PAGE));
    EXPECT(hipSuccess, hipMalloc((void **)&q, 64 * PAGE));
    p[40 * per_page] = 1;
    EXPECT(hipSuccess, step(p + 40 * per_page, 1));
    assert_int_equal(p[40 * per_page], 3);
    EXPECT(hipErrorLaunchFailure, step(p + 50 * per_page, 1));
    /* A copy carries "written" marks along. */
    EXPECT(hipSuccess, hipMemcpy(q, p, 64 * PAGE, hipMemcpyDeviceToDevice));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, step(q + 40 * per_page, 1));
    EXPECT(hipErrorLaunchFailure, step(q + 50 * per_page, 1));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipFree(q));
    /* Memory that a pool hands out again is new. */
    EXPECT(hipSuccess, hipMallocAsync((void **)&pooled, PAGE, NULL));
    pooled[0] = 1;
    EXPECT(hipSuccess, step(pooled, 1));
    EXPECT(hipSuccess, hipFreeAsync(pooled, NULL));
    EXPECT(hipSuccess, hipMallocAsync((void **)&q, PAGE, NULL));
    assert_ptr_equal(q, pooled);
    EXPECT(hipErrorLaunchFailure, step(q, 1));
}

static void test_writes_through_a_large_bar_are_seen(void **state)
{
    static const char *const strict[] = {"KPK_SIM_LARGE_BAR=1",
                                         "KPK_SIM_UNINIT=1", NULL};

    (void)state;
    in_child(strict, hosts_writes_are_seen);
}

static void host_reaches_mapped_memory(void)
{
    const struct {
        int type, handles, location, device;
        void *meta;
        uint64_t flags;
    } memory = {.type = 1, .location = 1};
    hipMemAccessDesc access = {.location = {hipMemLocationTypeDevice, 0},
                               .flags = hipMemAccessFlagsProtReadWrite};
    hipMemGenericAllocationHandle_t handle;
    hipDeviceptr_t at = NULL;
    unsigned *p;

    load("gfx942");
    EXPECT(hipSuccess, hipMemAddressReserve(&at, 2 * PAGE, 0, NULL, 0));
    EXPECT(hipSuccess, hipMemCreate(&handle, PAGE, (const void *)&memory, 0));
    EXPECT(hipSuccess, hipMemMap(at, PAGE, 0, handle, 0));
    EXPECT(hipSuccess, hipMemSetAccess(at, PAGE, &access, 1));
    p = (unsigned *)at;
    p[N - 1] = 4;
    EXPECT(hipSuccess, step(p, 1));
    assert_int_equal(p[N - 1], 9);
    assert_true(kills(p + PAGE / sizeof(*p)));
    EXPECT(hipSuccess, hipMemUnmap(at, PAGE));
    assert_true(kills(p));
    EXPECT(hipSuccess, hipMemRelease(handle));
    EXPECT(hipSuccess, hipMemAddressFree(at, 2 * PAGE));
}

static void test_large_bar_with_virtual_memory(void **state)
{
    static const char *const bar[] = {"KPK_SIM_LARGE_BAR=1", NULL};

    (void)state;
    in_child(bar, host_reaches_mapped_memory);
}

static void test_no_large_bar_unless_asked_for(void **state)
{
    (void)state;
    assert_int_equal(attribute(LARGE_BAR), 0);
}

/* ---- XNACK -------------------------------------------------------------- */

static void device_reaches_the_program(void)
{
    static unsigned of_the_program[N];
    unsigned *own = malloc(N * sizeof(*own)), *large, *readonly, *pinned;
    int value = 0;

    assert_int_equal(attribute(PAGEABLE), 1);
    load("gfx90a");
    assert_non_null(own);
    memset(own, 0, N * sizeof(*own));
    EXPECT(hipSuccess, step(own, 3));
    assert_int_equal(own[N - 1], 3);
    EXPECT(hipSuccess, step(of_the_program, 4));
    assert_int_equal(of_the_program[N - 1], 4);
    free(own);
    large = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(large != MAP_FAILED);
    EXPECT(hipSuccess, step(large, 5));
    assert_int_equal(large[N - 1], 5);
    EXPECT(hipSuccess, hipMemAdvise(large, PAGE, hipMemAdviseSetReadMostly, 0));
    EXPECT(hipSuccess, hipMemRangeGetAttribute(&value, sizeof(value),
                                               hipMemRangeAttributeReadMostly,
                                               large, PAGE));
    assert_int_equal(value, 1);
    EXPECT(hipSuccess, hipMemPrefetchAsync(large, PAGE, 0, NULL));
    EXPECT(hipSuccess, hipStreamAttachMemAsync(NULL, large, PAGE, 1));
    /* Kernels may not use unmapped pages, nor write read-only ones. */
    assert_int_equal(munmap(large, 2 * PAGE), 0);
    EXPECT(hipErrorIllegalAddress, step(large, 5));
    EXPECT(hipErrorInvalidValue,
           hipMemAdvise(large, PAGE, hipMemAdviseSetReadMostly, 0));
    readonly = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(readonly != MAP_FAILED);
    EXPECT(hipErrorIllegalAddress, step(readonly, 5));
    /* Allocations keep their limits. */
    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, N * sizeof(*own), 0));
    EXPECT(hipErrorIllegalAddress, step(pinned + 1, 5));
    EXPECT(hipSuccess, hipHostFree(pinned));
    EXPECT(hipErrorIllegalAddress, step(pinned, 5));
    EXPECT(hipSuccess, hipMalloc((void **)&pinned, N * sizeof(*own)));
    EXPECT(hipErrorIllegalAddress, step(pinned + 1, 5));
    EXPECT(hipSuccess, hipFree(pinned));
}

static void test_xnack_reaches_the_programs_memory(void **state)
{
    static const char *const on[] = {"KPK_SIM_DEVICES=gfx90a:xnack+", NULL};

    (void)state;
    in_child(on, device_reaches_the_program);
}

/* A kernel reads memory of the program, which takes it away meanwhile. */
static void memory_goes(const char *how, unsigned *runs)
{
    unsigned *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *params[] = {&p, &runs};
    hipFunction_t f = NULL;

    assert_true(p != MAP_FAILED);
    *runs = 0;
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "watch"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    while (!*(volatile unsigned *)runs)
        usleep(100);
    usleep(20000);
    if (*how == 'u')
        assert_int_equal(munmap(p, PAGE), 0);
    else
        assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    assert_non_null(strstr(kpkSimLastFault(), "while the kernel ran"));
    kpkSimClearFault();
    if (*how != 'u')
        assert_int_equal(munmap(p, PAGE), 0);
}

static void programs_memory_goes_while_a_kernel_runs(void)
{
    unsigned *runs, *own = calloc(N, sizeof(*own));

    load("gfx90a");
    assert_non_null(own);
    EXPECT(hipSuccess, hipHostMalloc((void **)&runs, sizeof(*runs), 0));
    memory_goes("unmapped", runs);
    memory_goes("protected", runs);
    /* The device is none the worse for it. */
    EXPECT(hipSuccess, step(own, 3));
    assert_int_equal(own[N - 1], 3);
    free(own);
    EXPECT(hipSuccess, hipHostFree(runs));
}

/* The exit status of a child that touches an unmapped address. */
static int wild_childs_status(void)
{
    volatile unsigned *volatile nowhere = (volatile unsigned *)64;
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        *nowhere = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void end(int number)
{
    (void)number;
    _exit(7);
}

/* The program's own faults go where they went before a kernel ran. */
static void programs_handlers_stay(void)
{
    unsigned *own = calloc(N, sizeof(*own));
    int status;

    load("gfx90a");
    assert_non_null(own);
    signal(SIGSEGV, SIG_DFL);
    EXPECT(hipSuccess, step(own, 3));
    status = wild_childs_status();
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    signal(SIGSEGV, end);
    EXPECT(hipSuccess, step(own, 3));
    status = wild_childs_status();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    free(own);
}

static void test_memory_that_goes_while_a_kernel_runs(void **state)
{
    static const char *const on[] = {"KPK_SIM_DEVICES=gfx90a:xnack+", NULL};

    (void)state;
    in_child(on, programs_memory_goes_while_a_kernel_runs);
    in_child(on, programs_handlers_stay);
}

static void device_does_not(void)
{
    static unsigned of_the_program[N];

    assert_int_equal(attribute(PAGEABLE), 0);
    load("gfx90a");
    EXPECT(hipErrorIllegalAddress, step(of_the_program, 4));
    assert_int_equal(of_the_program[N - 1], 0);
    EXPECT(hipErrorInvalidValue,
           hipMemAdvise(of_the_program, 4, hipMemAdviseSetReadMostly, 0));
    EXPECT(hipErrorInvalidValue,
           hipStreamAttachMemAsync(NULL, of_the_program, 4, 1));
}

static void test_without_xnack_it_is_out_of_reach(void **state)
{
    static const char *const off[] = {"KPK_SIM_DEVICES=gfx90a:xnack-", NULL};

    (void)state;
    in_child(off, device_does_not);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* children first: the runtime reads its environment once */
        cmocka_unit_test(test_large_bar),
        cmocka_unit_test(test_writes_through_a_large_bar_are_seen),
        cmocka_unit_test(test_large_bar_with_virtual_memory),
        cmocka_unit_test(test_xnack_reaches_the_programs_memory),
        cmocka_unit_test(test_memory_that_goes_while_a_kernel_runs),
        cmocka_unit_test(test_without_xnack_it_is_out_of_reach),
        cmocka_unit_test(test_no_large_bar_unless_asked_for),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
