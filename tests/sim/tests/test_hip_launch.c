/* test_hip_launch.c - launches in all forms, and what each release refuses */
#include "hip_test.h"

#include "sim/hip/kpk_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern hipError_t
mangled_launch(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz,
               uint32_t bx, uint32_t by, uint32_t bz, size_t shared,
               hipStream_t stream, void **params, void **extra,
               hipEvent_t start, hipEvent_t stop,
               uint32_t flags) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModu"
                                       "leSymbol_tjjjjjjmP12"
                                       "ihipStream_tPPvS4_P11ihipEvent_tS6_j");

static void *image;
static hipModule_t module;

static int set_up(void **state)
{
    size_t n;

    (void)state;
    image = read_api("gfx942", &n);
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    EXPECT(hipSuccess, hipModuleUnload(module));
    free(image);
    return 0;
}

static hipFunction_t function(const char *name)
{
    hipFunction_t f = NULL;

    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, name));
    return f;
}

/* ---- arguments ---------------------------------------------------------- */

struct pair {
    char tag;
    double value;
};

/* As `mixed` declares them; natural alignment gives the kernarg layout. */
struct mixed_arguments {
    char a;
    short b;
    int c;
    long d;
    struct pair e;
    double *out;
};

static void expect_mixed(double *device)
{
    static const double want[6] = {-3, -300, 70000, 5e9, 9, 0.25};
    double got[6];

    EXPECT(hipSuccess, hipMemcpyDtoH(got, device, sizeof(got)));
    assert_memory_equal(got, want, sizeof(got));
    EXPECT(hipSuccess, hipMemset(device, 0, sizeof(got)));
}

static void test_arguments_by_pointers_and_by_buffer(void **state)
{
    hipFunction_t f = function("mixed");
    struct mixed_arguments m;
    size_t size = sizeof(m), too_short = sizeof(m) - 8;
    void *params[] = {&m.a, &m.b, &m.c, &m.d, &m.e, &m.out};
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &m,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    double *out;

    (void)state;
    memset(&m, 0x55, sizeof(m));
    m.a = -3;
    m.b = -300;
    m.c = 70000;
    m.d = 5000000000;
    m.e.tag = 9;
    m.e.value = 0.25;
    EXPECT(hipSuccess, hipMalloc((void **)&out, 6 * sizeof(double)));
    m.out = out;
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    expect_mixed(out);
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    expect_mixed(out);
    /* The caller may change the arguments' memory after the call. */
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    memset(&m, 0, sizeof(m));
    m.out = NULL;
    expect_mixed(out);

    EXPECT(hipErrorInvalidValue,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, extra));
    EXPECT(hipErrorInvalidValue,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    extra[3] = &too_short;
    EXPECT(hipErrorInvalidValue,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    extra[3] = &size;
    extra[4] = NULL; /* the end mark of CUDA */
    EXPECT(hipErrorInvalidValue,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    extra[4] = HIP_LAUNCH_PARAM_END;
    extra[1] = NULL;
    EXPECT(hipErrorInvalidValue,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    EXPECT(hipSuccess, hipFree(out));
}

static void test_kernel_without_arguments(void **state)
{
    hipFunction_t f = function("no_arguments");
    hipDeviceptr_t counter;
    size_t none = 0, some = 8;
    char buffer[8] = {0};
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, buffer,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &none, HIP_LAUNCH_PARAM_END};
    int value;

    (void)state;
    EXPECT(hipSuccess, hipModuleGetGlobal(&counter, NULL, module, "counter"));
    EXPECT(hipSuccess, hipMemsetD32(counter, 0, 1));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 3, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    EXPECT(hipSuccess, hipMemcpyDtoH(&value, counter, 4));
    assert_int_equal(value, 4);
    extra[3] = &some;
    EXPECT(hipErrorLaunchOutOfResources,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
}

static void test_constants_and_globals_reach_the_kernel(void **state)
{
    hipFunction_t f = function("read_table");
    hipDeviceptr_t table;
    int values[16], got[16], i, *out;
    void *params[] = {&out};

    (void)state;
    for (i = 0; i < 16; i++)
        values[i] = 10 * i;
    EXPECT(hipSuccess, hipModuleGetGlobal(&table, NULL, module, "table"));
    EXPECT(hipSuccess, hipMemcpyHtoD(table, values, sizeof(values)));
    EXPECT(hipSuccess, hipMalloc((void **)&out, 64));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 16, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(got, out, 64));
    for (i = 0; i < 16; i++)
        assert_int_equal(got[i], 10 * i * (1 + i % 4));
    EXPECT(hipSuccess, hipFree(out));
}

/* Compilers load three dwords as four where that stays in the padding. */
static void test_last_arguments_are_read_with_their_padding(void **state)
{
    hipFunction_t f = function("tail");
    unsigned a = 30, b = 12, got = 0, *out;
    bool negate = false;
    void *params[] = {&out, &a, &b, &negate};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&out, 4));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(&got, out, 4));
    assert_int_equal(got, 42);
    EXPECT(hipSuccess, hipFree(out));
}

/* clock64() runs at the rate that the device states, wall_clock64() at 100 MHz.
 * An interval of wall_clock64() is longer than the interval between the two
 * inner readings of clock64(), and shorter than between the outer ones, however
 * long the host leaves the kernel waiting. */
static void test_kernels_have_two_clocks(void **state)
{
    enum { CLOCK_RATE = 5, WALL_CLOCK_RATE = 10017 };
    hipFunction_t f = function("clocks");
    uint64_t ticks[7], *out;
    int shader_khz, wall_khz, i;
    void *params[] = {&out};
    double rate, wall, inside, outside;

    (void)state;
    EXPECT(hipSuccess, hipDeviceGetAttribute(
                           &shader_khz, (hipDeviceAttribute_t)CLOCK_RATE, 0));
    EXPECT(hipSuccess,
           hipDeviceGetAttribute(&wall_khz,
                                 (hipDeviceAttribute_t)WALL_CLOCK_RATE, 0));
    assert_int_equal(wall_khz, 100000);
    EXPECT(hipSuccess, hipMalloc((void **)&out, sizeof(ticks)));
    for (i = 0; i < 2; i++) /* decoding takes time, too: not the second time */
        EXPECT(hipSuccess, hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL,
                                                 params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(ticks, out, sizeof(ticks)));
    rate = (double)shader_khz / wall_khz;
    wall = (double)(ticks[4] - ticks[1]);
    inside = (double)(ticks[3] - ticks[2]);
    outside = (double)(ticks[5] - ticks[0]);
    if (!(inside <= (wall + 1) * rate + 1 && outside >= (wall - 1) * rate - 1))
        fail_msg("%g ticks of the wall's clock are between %g and %g of the "
                 "shader's at %g times its rate",
                 wall, inside, outside, rate);
    EXPECT(hipSuccess, hipFree(out));
}

/* Groups that wait for a time to come wait side by side, with one thread too:
 * some group starts before the one before it ends. */
static void wait_side_by_side(void)
{
    enum { GROUPS = 32, TICKS = 5000000 /* 50 ms */ };
    unsigned long long times[2 * GROUPS], *out;
    long long ticks = TICKS;
    void *params[] = {&ticks, &out};
    hipFunction_t f = NULL;
    hipModule_t own = NULL;
    unsigned overlaps = 0, i;
    size_t n;
    void *code = read_api("gfx942", &n);

    EXPECT(hipSuccess, hipModuleLoadData(&own, code));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "let_time_pass"));
    EXPECT(hipSuccess, hipMalloc((void **)&out, sizeof(times)));
    EXPECT(hipSuccess, hipModuleLaunchKernel(f, GROUPS, 1, 1, 1, 1, 1, 0, NULL,
                                             params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(times, out, sizeof(times)));
    for (i = 0; i < GROUPS; i++)
        assert_true(times[2 * i + 1] - times[2 * i] >= TICKS);
    for (i = 1; i < GROUPS; i++)
        overlaps += times[2 * i] < times[2 * i - 1];
    assert_int_not_equal(overlaps, 0);
    free(code);
}

static void test_groups_wait_for_the_clock_side_by_side(void **state)
{
    static const char *const one[] = {"KPK_SIM_THREADS=1", NULL};

    (void)state;
    in_child(one, wait_side_by_side);
}

/* ---- float atomics on fine-grained memory ------------------------------- */

struct floats {
    float f, old;
    double d;
};

/* The launch ends with that error; what it left is the caller's to free. */
static struct floats *add_one(unsigned host_flags, hipError_t want)
{
    hipModule_t own;
    hipFunction_t f;
    size_t n;
    void *code = read_api("gfx90a", &n);
    struct floats *p;
    void *params[3];
    float *pf, *pold;
    double *pd;

    EXPECT(hipSuccess, hipModuleLoadData(&own, code));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "add_floats"));
    EXPECT(hipSuccess, hipHostMalloc((void **)&p, sizeof(*p), host_flags));
    p->f = 5;
    p->old = 7;
    p->d = 5;
    pf = &p->f;
    pd = &p->d;
    pold = &p->old;
    params[0] = &pf;
    params[1] = &pd;
    params[2] = &pold;
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(want, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipModuleUnload(own));
    free(code);
    return p;
}

static void drop_on_gfx90a(void)
{
    struct floats *p = add_one(0, hipSuccess);

    assert_true(p->f == 5 && p->d == 5 && p->old == 0);
    EXPECT(hipSuccess, hipHostFree(p));
    p = add_one(0x80000000u, hipSuccess); /* non-coherent */
    assert_true(p->f == 6 && p->d == 6 && p->old == 5);
    EXPECT(hipSuccess, hipHostFree(p));
}

static void report_on_gfx90a(void)
{
    add_one(0, hipErrorLaunchFailure);
    assert_int_equal(kpkSimLastFaultKind(), SIM_FAULT_DROPPED);
    assert_non_null(strstr(kpkSimLastFault(), "fine-grained"));
}

static void test_gfx90a_drops_float_atomics_on_fine_grained_memory(void **state)
{
    static const char *const plain[] = {"KPK_SIM_DEVICES=gfx90a", NULL};
    static const char *const report[] = {"KPK_SIM_DEVICES=gfx90a",
                                         "KPK_SIM_DROPPED=1", NULL};

    (void)state;
    in_child(plain, drop_on_gfx90a);
    in_child(report, report_on_gfx90a);
}

/* ---- dimensions --------------------------------------------------------- */

enum { WIDTH = 10, HEIGHT = 5, DEPTH = 2 };

/* 9 values for each of the 10 x 5 x 2 items, in blocks of 4 x 2 x 1. */
static void test_partial_groups_know_their_size(void **state)
{
    hipFunction_t f = function("places");
    static unsigned got[DEPTH][HEIGHT][WIDTH][9];
    unsigned *out, width = WIDTH, height = HEIGHT, x, y, z;
    void *params[] = {&out, &width, &height};
    hipEvent_t start, stop;
    float ms = -1;

    (void)state;
    EXPECT(hipSuccess, hipEventCreate(&start));
    EXPECT(hipSuccess, hipEventCreate(&stop));
    EXPECT(hipSuccess, hipMalloc((void **)&out, sizeof(got)));
    EXPECT(hipSuccess, hipMemset(out, 0xff, sizeof(got)));
    EXPECT(hipSuccess,
           hipExtModuleLaunchKernel(f, WIDTH, HEIGHT, DEPTH, 4, 2, 1, 0, NULL,
                                    params, NULL, start, stop, 0));
    EXPECT(hipSuccess, hipEventSynchronize(stop));
    EXPECT(hipSuccess, hipEventElapsedTime(&ms, start, stop));
    assert_true(ms > 0);
    EXPECT(hipSuccess, hipMemcpyDtoH(got, out, sizeof(got)));
    for (z = 0; z < DEPTH; z++)
        for (y = 0; y < HEIGHT; y++)
            for (x = 0; x < WIDTH; x++) {
                const unsigned want[9] = {
                    x < 8 ? 4 : 2, y < 4 ? 2 : 1, 1, 3, 3, 2, x, y, z};

                assert_memory_equal(got[z][y][x], want, sizeof(want));
            }
    EXPECT(hipSuccess, hipFree(out));
    EXPECT(hipSuccess, hipEventDestroy(start));
    EXPECT(hipSuccess, hipEventDestroy(stop));
}

/* clang's default: the compiler relies on complete blocks. */
static void test_uniform_kernel_refuses_partial_groups(void **state)
{
    hipModule_t own;
    hipFunction_t f;
    size_t bytes;
    int n = 0;
    void *code = read_program("gfx942", "streams", &bytes);
    void *params[] = {&n};

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&own, code));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "_Z12add_to_totali"));
    EXPECT(hipErrorInvalidValue,
           hipExtModuleLaunchKernel(f, 65, 1, 1, 64, 1, 1, 0, NULL, params,
                                    NULL, NULL, NULL, 0));
    EXPECT(hipSuccess, hipModuleUnload(own));
    free(code);
}

static void test_mangled_name_is_the_same_function(void **state)
{
    hipFunction_t f = function("places");
    unsigned got[9], *out, width = 1, height = 1;
    void *params[] = {&out, &width, &height};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&out, sizeof(got)));
    EXPECT(hipSuccess, mangled_launch(f, 1, 1, 1, 4, 2, 1, 0, NULL, params,
                                      NULL, NULL, NULL, 0));
    EXPECT(hipSuccess, hipMemcpyDtoH(got, out, sizeof(got)));
    assert_int_equal(got[0], 1);
    EXPECT(hipSuccess, hipFree(out));
}

/* As AMD's runtime answered: what the caller passes counts for nothing. */
static void test_pointers_into_lds_are_placed_by_the_runtime(void **state)
{
    static const unsigned want[] = {3, 8, 12, 16, 9, 1};
    hipFunction_t f = function("local_pointers");
    unsigned local = 4096, n = 9, got[6] = {0}, *at;
    void *params[] = {&at, &local, &local, &n, &local, &local};
    struct {
        unsigned *at;
        unsigned a, b, n, c, d;
    } buffer;
    size_t size = sizeof(buffer);
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&at, sizeof(got)));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 3, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(got, at, sizeof(got)));
    assert_memory_equal(got, want, sizeof(got));
    buffer.at = at;
    buffer.a = buffer.b = buffer.c = buffer.d = local;
    buffer.n = n;
    EXPECT(hipSuccess, hipMemset(at, 0, sizeof(got)));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 3, 1, 1, 0, NULL, NULL, extra));
    EXPECT(hipSuccess, hipMemcpyDtoH(got, at, sizeof(got)));
    assert_memory_equal(got, want, sizeof(got));
    EXPECT(hipErrorLaunchOutOfResources, /* 20 bytes are the pointers' */
           hipModuleLaunchKernel(f, 1, 1, 1, 3, 1, 1, 65536 - 19, NULL, params,
                                 NULL));
    EXPECT(hipSuccess, hipFree(at));
}

static void test_dynamic_lds(void **state)
{
    hipFunction_t f = function("reverse");
    unsigned values[256], *data, i;
    void *params[] = {&data};

    (void)state;
    for (i = 0; i < 256; i++)
        values[i] = i;
    EXPECT(hipSuccess, hipMalloc((void **)&data, sizeof(values)));
    EXPECT(hipSuccess, hipMemcpyHtoD(data, values, sizeof(values)));
    EXPECT(hipSuccess, hipModuleLaunchKernel(f, 2, 1, 1, 128, 1, 1, 128 * 4,
                                             NULL, params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(values, data, sizeof(values)));
    for (i = 0; i < 256; i++)
        assert_int_equal(values[i], i / 128 * 128 + 127 - i % 128);
    EXPECT(hipSuccess, hipFree(data));
}

struct refusal {
    hipError_t five, six, seven; /* answers by release */
    unsigned grid[3], block[3], shared;
};

static const struct refusal refusals[] = {
    /* InvalidValue 1, OutOfMemory 2, InvalidConfiguration 9, LaunchFailure 719;
     * of releases 5 and 7 as AMD's own libraries answer */
    {1, 1, 1, {0, 1, 1}, {64, 1, 1}, 0},
    {1, 9, 1, {1, 1, 1}, {64, 0, 1}, 0},
    {9, 1, 1, {1, 1, 1}, {1025, 1, 1}, 0},
    {9, 1, 1, {1, 1, 1}, {32, 33, 1}, 0},
    {2, 1, 1, {1, 1, 1}, {64, 1, 1}, 65537},
    {9, 9, 1, {0x7fffffff, 1, 1}, {64, 1, 1}, 0},
    {1, 1, 1, {0x80000000u, 1, 1}, {1, 1, 1}, 0},
    {719, 719, 719, {1, 1, 1}, {65, 1, 1}, 0}, /* __launch_bounds__(64) */
    {0, 0, 0, {1, 1, 1}, {64, 1, 1}, 0},
};

static void refuse(int release)
{
    hipModule_t m;
    hipFunction_t f;
    size_t i;
    int *out;
    void *params[] = {&out};
    int unknown;

    EXPECT(hipSuccess, hipModuleLoadData(&m, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, m, "small"));
    EXPECT(hipSuccess, hipMalloc((void **)&out, 4));
    EXPECT(hipSuccess, hipMemset(out, 0, 4));
    for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const struct refusal *r = &refusals[i];
        hipError_t want = release == 5   ? r->five
                          : release == 6 ? r->six
                                         : r->seven;

        EXPECT(want,
               hipModuleLaunchKernel(f, r->grid[0], r->grid[1], r->grid[2],
                                     r->block[0], r->block[1], r->block[2],
                                     r->shared, NULL, params, NULL));
    }
    EXPECT(release == 7 ? hipErrorContextIsDestroyed : hipErrorInvalidValue,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0,
                                 (hipStream_t)(void *)&unknown, params, NULL));
    EXPECT(
        release == 5 ? hipErrorInvalidImage : hipErrorInvalidHandle,
        hipModuleLaunchKernel(NULL, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    /* The kernel was loaded on device 0. */
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipErrorInvalidDevice,
           hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipFree(out));
    EXPECT(hipSuccess, hipModuleUnload(m));
}

static void refuse_5(void)
{
    refuse(5);
}

static void refuse_6(void)
{
    refuse(6);
}

static void refuse_7(void)
{
    refuse(7);
}

static void test_refusals_by_release(void **state)
{
    static const char *const five[] = {"KPK_SIM_HIP_VERSION=5", NULL};
    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};
    static const char *const seven[] = {"KPK_SIM_HIP_VERSION=7", NULL};
    size_t n;

    (void)state;
    image = read_api("gfx942", &n);
    in_child(five, refuse_5);
    in_child(six, refuse_6);
    in_child(seven, refuse_7);
    free(image);
}

static void test_ext_launch_refusals(void **state)
{
    hipFunction_t f = function("small");
    int *out = NULL;
    void *params[] = {&out};

    (void)state;
    EXPECT(hipErrorInvalidValue,
           hipExtModuleLaunchKernel(f, 0, 1, 1, 64, 1, 1, 0, NULL, params, NULL,
                                    NULL, NULL, 0));
    EXPECT(hipErrorInvalidConfiguration,
           hipExtModuleLaunchKernel(f, 64, 1, 1, 0, 1, 1, 0, NULL, params, NULL,
                                    NULL, NULL, 0));
    EXPECT(hipErrorInvalidConfiguration,
           hipExtModuleLaunchKernel(f, 64, 64, 1, 64, 64, 1, 0, NULL, params,
                                    NULL, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipExtModuleLaunchKernel(f, 64, 1, 1, 64, 1, 1, 70000, NULL, params,
                                    NULL, NULL, NULL, 0));
}

/* HIP 6 tells zeros from blocks that are too large. */
static void ext_launch_refusals_6(void)
{
    static const uint32_t zeros[4][4] = {
        {0, 1, 64, 1}, {64, 0, 64, 1}, {64, 1, 0, 1}, {64, 1, 64, 0}};
    hipModule_t own;
    hipFunction_t f;
    int *out = NULL, i;
    void *params[] = {&out};
    void *extra[] = {HIP_LAUNCH_PARAM_END};

    EXPECT(hipSuccess, hipModuleLoadData(&own, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "small"));
    for (i = 0; i < 4; i++)
        EXPECT(hipErrorInvalidConfiguration,
               hipExtModuleLaunchKernel(f, zeros[i][0], zeros[i][1], 1,
                                        zeros[i][2], zeros[i][3], 1, 0, NULL,
                                        params, NULL, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipExtModuleLaunchKernel(f, 64, 1, 1, UINT32_MAX, 1, 1, 0, NULL,
                                    params, NULL, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipExtModuleLaunchKernel(f, 64, 64, 1, 64, 64, 1, 0, NULL, params,
                                    NULL, NULL, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipExtModuleLaunchKernel(f, 0, 1, 1, 64, 1, 1, 0, NULL, params,
                                    extra, NULL, NULL, 0));
}

static void test_ext_launch_refusals_of_6(void **state)
{
    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};
    size_t n;

    (void)state;
    image = read_api("gfx942", &n);
    in_child(six, ext_launch_refusals_6);
    free(image);
}

/* A block of more work-items than the grid has shrinks to the grid, also for a
 * kernel that is compiled for whole blocks. */
static void test_a_block_larger_than_the_grid(void **state)
{
    enum { ITEMS = 5 };
    static const unsigned before[ITEMS] = {1, 2, 3, 4, 5};
    static const unsigned want[ITEMS] = {5, 4, 3, 2, 1};
    unsigned *data, got[ITEMS];
    hipModule_t own;
    hipFunction_t f;
    size_t bytes;
    void *code = read_program("gfx942", "streams", &bytes);
    void *params[] = {&data};

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&own, code));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "_Z14reverse_blocksPj"));
    EXPECT(hipSuccess, hipMalloc((void **)&data, sizeof(before)));
    EXPECT(hipSuccess,
           hipMemcpyHtoD(data, (void *)(uintptr_t)before, sizeof(before)));
    EXPECT(hipSuccess,
           hipExtModuleLaunchKernel(f, ITEMS, 1, 1, 64, 1, 1, sizeof(before),
                                    NULL, params, NULL, NULL, NULL, 0));
    EXPECT(hipSuccess, hipMemcpyDtoH(got, data, sizeof(got)));
    assert_memory_equal(got, want, sizeof(want));
    EXPECT(hipSuccess, hipFree(data));
    EXPECT(hipSuccess, hipModuleUnload(own));
    free(code);
}

/* The largest grid of an empty kernel ends in a short time, and its groups are
 * counted. */
static void test_largest_grid_of_an_empty_kernel(void **state)
{
    const unsigned most = 0x7fffffff;
    hipFunction_t f = function("empty");
    struct sim_stats stats;
    hipModule_t own;
    size_t n;
    void *code = read_api("gfx1100", &n);

    (void)state;
    kpkSimResetStats();
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, most, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(kpkSimGetStats(&stats), 1);
    assert_int_equal(stats.workgroups, most);
    assert_int_equal(stats.waves, most);
    assert_int_equal(stats.insns, most);
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 3, 2, 1, 65, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(kpkSimGetStats(&stats), 2);
    assert_int_equal(stats.workgroups, most + 6ull);
    assert_int_equal(stats.waves, most + 12ull);

    EXPECT(hipSuccess, hipSetDevice(1)); /* gfx1100: another encoding */
    EXPECT(hipSuccess, hipModuleLoadData(&own, code));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "empty"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, most, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipModuleUnload(own));
    EXPECT(hipSuccess, hipSetDevice(0));
    free(code);
}

static void test_cooperative_launch(void **state)
{
    hipFunction_t f = function("small");
    int *out, value;
    void *params[] = {&out};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&out, 4));
    EXPECT(hipSuccess, hipMemset(out, 0, 4));
    EXPECT(hipSuccess, hipModuleLaunchCooperativeKernel(f, 1, 1, 1, 64, 1, 1, 0,
                                                        NULL, params));
    EXPECT(hipSuccess, hipMemcpyDtoH(&value, out, 4));
    assert_int_equal(value, 64);
    EXPECT(hipErrorCooperativeLaunchTooLarge,
           hipModuleLaunchCooperativeKernel(f, 1000000, 1, 1, 64, 1, 1, 0, NULL,
                                            params));
    EXPECT(hipErrorInvalidValue,
           hipModuleLaunchCooperativeKernel(f, 0x7fffffff, 1, 1, 64, 1, 1, 0,
                                            NULL, params));
    EXPECT(hipSuccess, hipFree(out));
}

/* By a structure with attributes, which may make a cooperative one of it. */
struct attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int cooperative;
    } value;
};
struct config {
    unsigned grid[3], block[3], shared;
    hipStream_t stream;
    struct attribute *attributes;
    unsigned n;
};
hipError_t hipDrvLaunchKernelEx(const struct config *config, hipFunction_t f,
                                void **params, void **extra);

static void test_launch_with_attributes(void **state)
{
    enum { COOPERATIVE = 2, PRIORITY = 8, UNKNOWN = 77 };
    struct attribute list[] = {{.id = PRIORITY}, {.id = COOPERATIVE}};
    struct config c = {.grid = {1, 1, 1}, .block = {64, 1, 1}};
    hipFunction_t f = function("small");
    int *out, value;
    void *params[] = {&out};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&out, 4));
    EXPECT(hipSuccess, hipDrvLaunchKernelEx(&c, f, params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(&value, out, 4));
    assert_int_equal(value, 64);
    c.attributes = list;
    c.n = 2;
    c.grid[0] = 1000000; /* too many to be resident, and no matter here */
    c.block[0] = 1;
    list[1].value.cooperative = 1;
    EXPECT(hipErrorCooperativeLaunchTooLarge,
           hipDrvLaunchKernelEx(&c, f, params, NULL));
    c.grid[0] = 1;
    c.block[0] = 64;
    EXPECT(hipSuccess, hipDrvLaunchKernelEx(&c, f, params, NULL));
    list[0].id = UNKNOWN;
    EXPECT(hipErrorInvalidValue, hipDrvLaunchKernelEx(&c, f, params, NULL));
    EXPECT(hipErrorInvalidValue, hipDrvLaunchKernelEx(NULL, f, params, NULL));
    EXPECT(hipErrorInvalidValue, hipDrvLaunchKernelEx(&c, NULL, params, NULL));
    EXPECT(hipSuccess, hipFree(out));
}

/* ---- faults ------------------------------------------------------------- */

static void test_fault_becomes_a_sticky_error(void **state)
{
    hipFunction_t f = function("store_at");
    long index = 4;
    char base[32];
    int *p;
    void *params[] = {&p, &index};

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 16));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    EXPECT(hipErrorIllegalAddress,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(kpkSimLastFaultKind(), SIM_FAULT_MEMORY);
    assert_non_null(strstr(kpkSimLastFault(), "store_at"));
    snprintf(base, sizeof(base), "%lx", (unsigned long)(uintptr_t)(p + 4));
    assert_non_null(strstr(kpkSimLastFault(), base));
    /* The other device goes on. */
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipSetDevice(0));
    kpkSimClearFault();
    assert_string_equal(kpkSimLastFault(), "");
    index = 3;
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipFree(p));
    /* Freed memory is told from a wild pointer. */
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    assert_int_equal(kpkSimLastFaultKind(), SIM_FAULT_USE_AFTER_FREE);
    kpkSimClearFault();
}

static void test_counters(void **state)
{
    hipFunction_t f = function("spin");
    unsigned turns = 10, *out;
    void *params[] = {&turns, &out};
    struct sim_stats s;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&out, 128 * 4));
    kpkSimResetStats();
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 3, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(kpkSimGetStats(&s), 1);
    assert_int_equal(s.workgroups, 3);
    assert_int_equal(s.waves, 6);
    assert_int_equal(s.bytes_written, 3 * 128 * 4);
    assert_true(s.insns > 6 * 10 && s.valu > 0 && s.vmem == 6);
    EXPECT(hipSuccess, hipFree(out));
}

/* ---- threads ------------------------------------------------------------ */

enum { THREADS = 8, LAUNCHES = 20 };

static void *launch_many(void *pointer)
{
    unsigned values[64], i, k, n = 64, *data;
    void *params[] = {&data, &k, &n};
    hipFunction_t f = function("step");
    hipStream_t stream;
    hipError_t error;

    (void)pointer;
    if (hipStreamCreate(&stream) != hipSuccess ||
        hipMalloc((void **)&data, sizeof(values)) != hipSuccess)
        return (void *)1;
    error = hipMemsetAsync(data, 0, sizeof(values), stream);
    for (k = 0; k < LAUNCHES && error == hipSuccess; k++)
        error = hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, params,
                                      NULL);
    if (error == hipSuccess)
        error = hipMemcpyAsync(values, data, sizeof(values),
                               hipMemcpyDeviceToHost, stream);
    for (i = 0; i < 64 && error == hipSuccess; i++) {
        unsigned want = 0;

        for (k = 0; k < LAUNCHES; k++)
            want = want * 2 + k;
        if (values[i] != want)
            error = hipErrorUnknown;
    }
    if (hipFree(data) != hipSuccess || hipStreamDestroy(stream) != hipSuccess)
        error = hipErrorUnknown;
    return error == hipSuccess ? NULL : (void *)1;
}

static void test_many_threads_launch_the_same_function(void **state)
{
    pthread_t threads[THREADS];
    void *result;
    int i;

    (void)state;
    for (i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, NULL),
                         0);
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        assert_null(result);
    }
}

/* Unloading waits for nobody; what was launched still runs. */
static void test_unload_while_queued(void **state)
{
    unsigned turns = 20000, *out, value = 0;
    void *params[] = {&turns, &out};
    hipStream_t stream;
    hipModule_t own;
    hipFunction_t f;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&stream));
    EXPECT(hipSuccess, hipMalloc((void **)&out, 64 * 4));
    EXPECT(hipSuccess, hipMemset(out, 0, 64 * 4));
    EXPECT(hipSuccess, hipModuleLoadData(&own, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, own, "spin"));
    EXPECT(hipSuccess, hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream,
                                             params, NULL));
    EXPECT(hipSuccess, hipModuleUnload(own));
    EXPECT(hipSuccess, hipStreamSynchronize(stream));
    EXPECT(hipSuccess, hipMemcpyDtoH(&value, out + 1, 4));
    assert_int_not_equal(value, 0);
    EXPECT(hipSuccess, hipFree(out));
    EXPECT(hipSuccess, hipStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest by_release[] = {
        cmocka_unit_test(test_refusals_by_release),
        cmocka_unit_test(test_groups_wait_for_the_clock_side_by_side),
        cmocka_unit_test(test_ext_launch_refusals_of_6),
        cmocka_unit_test(
            test_gfx90a_drops_float_atomics_on_fine_grained_memory),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_by_pointers_and_by_buffer),
        cmocka_unit_test(test_kernel_without_arguments),
        cmocka_unit_test(test_constants_and_globals_reach_the_kernel),
        cmocka_unit_test(test_last_arguments_are_read_with_their_padding),
        cmocka_unit_test(test_kernels_have_two_clocks),
        cmocka_unit_test(test_partial_groups_know_their_size),
        cmocka_unit_test(test_uniform_kernel_refuses_partial_groups),
        cmocka_unit_test(test_mangled_name_is_the_same_function),
        cmocka_unit_test(test_dynamic_lds),
        cmocka_unit_test(test_pointers_into_lds_are_placed_by_the_runtime),
        cmocka_unit_test(test_ext_launch_refusals),
        cmocka_unit_test(test_a_block_larger_than_the_grid),
        cmocka_unit_test(test_largest_grid_of_an_empty_kernel),
        cmocka_unit_test(test_cooperative_launch),
        cmocka_unit_test(test_launch_with_attributes),
        cmocka_unit_test(test_fault_becomes_a_sticky_error),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_many_threads_launch_the_same_function),
        cmocka_unit_test(test_unload_while_queued),
    };
    int failed;

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    failed = cmocka_run_group_tests(by_release, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, set_up, tear_down);
}
