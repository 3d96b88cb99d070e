/* test_hip_peer.c - access of kernels to memory of other devices
 *
 * Expected results follow AMD's runtime: memory is mapped for all devices at
 * once, when some device is given access to its owner, or by a copy or fill
 * from another device; and it stays mapped.
 */
#include "hip_test.h"

#include "sim/hip/kpk_sim.h"

#include <stdlib.h>
#include <string.h>

enum { NDEVICES = 3, N = 64 };

static const char *const three[] = {"KPK_SIM_DEVICES=gfx942,gfx1100,gfx90a",
                                    NULL};
static const char *const targets[NDEVICES] = {"gfx942", "gfx1100", "gfx90a"};
static void *images[NDEVICES];
static hipModule_t modules[NDEVICES];

static void load_modules(void)
{
    int i;
    size_t n;

    for (i = 0; i < NDEVICES; i++) {
        images[i] = read_api(targets[i], &n);
        EXPECT(hipSuccess, hipSetDevice(i));
        EXPECT(hipSuccess, hipModuleLoadData(&modules[i], images[i]));
    }
    EXPECT(hipSuccess, hipSetDevice(0));
}

/* c[i] = c[i] * 2 + k by a kernel of that device; says what became of it. */
static hipError_t step(int device, unsigned *c, unsigned k)
{
    unsigned n = N;
    void *params[] = {&c, &k, &n};
    hipFunction_t f = NULL;
    hipError_t error;
    int now = -1;

    EXPECT(hipSuccess, hipGetDevice(&now));
    EXPECT(hipSuccess, hipSetDevice(device));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, modules[device], "step"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    error = hipDeviceSynchronize();
    kpkSimClearFault();
    EXPECT(hipSuccess, hipSetDevice(now));
    return error;
}

/* Allocates zeroed memory on the device. */
static void *allocate(int device)
{
    unsigned *p = NULL;
    int now = -1;

    EXPECT(hipSuccess, hipGetDevice(&now));
    EXPECT(hipSuccess, hipSetDevice(device));
    EXPECT(hipSuccess, hipMalloc((void **)&p, N * sizeof(*p)));
    EXPECT(hipSuccess, hipMemset(p, 0, N * sizeof(*p)));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipSetDevice(now));
    return p;
}

static void expect_all(const void *p, unsigned want)
{
    unsigned got[N], i;

    EXPECT(hipSuccess, hipMemcpy(got, p, sizeof(got), hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(got[i], want);
}

static void touch_without_access(void)
{
    unsigned *p[NDEVICES];
    int owner, device;

    load_modules();
    for (owner = 0; owner < NDEVICES; owner++)
        p[owner] = allocate(owner);
    for (device = 0; device < NDEVICES; device++)
        for (owner = 0; owner < NDEVICES; owner++)
            EXPECT(owner == device ? hipSuccess : hipErrorIllegalAddress,
                   step(device, p[owner], 5));
    for (owner = 0; owner < NDEVICES; owner++)
        expect_all(p[owner], 5); /* its own kernel's, and no other's */
}

static void test_touch_without_access_faults(void **state)
{
    (void)state;
    in_child(three, touch_without_access);
}

static void read_of_the_report(void)
{
    unsigned *p, k = 1, n = N;
    void *params[] = {&p, &k, &n};
    hipFunction_t f = NULL;

    load_modules();
    p = allocate(1);
    EXPECT(hipSuccess, hipModuleGetFunction(&f, modules[0], "step"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    assert_int_equal(kpkSimLastFaultKind(), SIM_FAULT_MEMORY);
    assert_non_null(strstr(kpkSimLastFault(), "of another device"));
    assert_non_null(strstr(kpkSimLastFault(), "hipDeviceEnablePeerAccess()"));
}

static void test_fault_names_the_cause(void **state)
{
    (void)state;
    in_child(three, read_of_the_report);
}

static void atomics_without_access(void)
{
    float *own, *f;
    double *d;
    void *params[] = {&f, &d, &own};
    hipFunction_t add = NULL;

    load_modules();
    own = allocate(0);
    f = allocate(1);
    d = allocate(1);
    EXPECT(hipSuccess, hipModuleGetFunction(&add, modules[0], "add_floats"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    kpkSimClearFault();
    expect_all(f, 0);
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
}

static void test_atomics_need_access_too(void **state)
{
    (void)state;
    in_child(three, atomics_without_access);
}

static void access_that_is_enabled(void)
{
    unsigned *before, *after, *later, *mine;

    load_modules();
    mine = allocate(0);
    before = allocate(1);
    EXPECT(hipErrorInvalidValue, hipDeviceEnablePeerAccess(1, 1));
    EXPECT(hipErrorInvalidDevice, hipDeviceEnablePeerAccess(0, 0));
    EXPECT(hipErrorInvalidDevice, hipDeviceEnablePeerAccess(NDEVICES, 0));
    EXPECT(hipErrorInvalidDevice, hipDeviceEnablePeerAccess(-1, 0));
    EXPECT(hipErrorPeerAccessNotEnabled, hipDeviceDisablePeerAccess(1));
    EXPECT(hipErrorIllegalAddress, step(0, before, 1));
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipErrorPeerAccessAlreadyEnabled, hipDeviceEnablePeerAccess(1, 0));
    after = allocate(1);
    EXPECT(hipSuccess, step(0, before, 1));
    EXPECT(hipSuccess, step(0, after, 2));
    expect_all(before, 1);
    expect_all(after, 2);
    /* Access goes one way. */
    EXPECT(hipErrorIllegalAddress, step(1, mine, 1));
    /* A third device comes along with the first. */
    EXPECT(hipSuccess, step(2, before, 1));
    EXPECT(hipErrorIllegalAddress, step(2, mine, 1));

    EXPECT(hipErrorInvalidDevice, hipDeviceDisablePeerAccess(0));
    EXPECT(hipErrorInvalidDevice, hipDeviceDisablePeerAccess(NDEVICES));
    EXPECT(hipSuccess, hipDeviceDisablePeerAccess(1));
    EXPECT(hipErrorPeerAccessNotEnabled, hipDeviceDisablePeerAccess(1));
    later = allocate(1);
    EXPECT(hipErrorIllegalAddress, step(0, later, 1));
    EXPECT(hipSuccess, step(0, before, 0)); /* stays mapped */
    expect_all(before, 6);
    expect_all(later, 0);
}

static void test_access_that_is_enabled(void **state)
{
    (void)state;
    in_child(three, access_that_is_enabled);
}

static void one_of_two_guests_leaves(void)
{
    unsigned *p;

    load_modules();
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipSuccess, hipSetDevice(2));
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipSuccess, hipDeviceDisablePeerAccess(1));
    p = allocate(1); /* mapped on all devices, because device 0 has access */
    EXPECT(hipSuccess, step(0, p, 1));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipDeviceDisablePeerAccess(1));
    EXPECT(hipErrorIllegalAddress, step(0, allocate(1), 1));
}

static void test_one_of_two_guests_leaves(void **state)
{
    (void)state;
    in_child(three, one_of_two_guests_leaves);
}

static void copies_and_fills(void)
{
    unsigned *a, *b, *c, *d, host[N] = {7};

    load_modules();
    a = allocate(0);
    b = allocate(1);
    c = allocate(1);
    d = allocate(2);
    /* A copy from the host maps the memory on no other device. */
    EXPECT(hipSuccess, hipMemcpy(b, host, sizeof(host), hipMemcpyHostToDevice));
    EXPECT(hipErrorIllegalAddress, step(0, b, 1));
    EXPECT(hipSuccess, hipMemcpyPeer(b, 1, a, 0, sizeof(host)));
    expect_all(b, 0);
    EXPECT(hipSuccess, step(0, b, 1));
    EXPECT(hipSuccess, step(1, a, 1));
    EXPECT(hipErrorIllegalAddress, step(0, c, 1));     /* was not copied */
    EXPECT(hipSuccess, hipMemset(d, 0, sizeof(host))); /* by device 0 */
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, step(1, d, 1));
    expect_all(d, 1);
}

static void test_copies_and_fills_map(void **state)
{
    (void)state;
    in_child(three, copies_and_fills);
}

static void memory_for_all(void)
{
    unsigned *pinned, *managed;
    int i;

    load_modules();
    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, N * sizeof(*pinned), 0));
    EXPECT(hipSuccess,
           hipMallocManaged((void **)&managed, N * sizeof(*managed), 1));
    memset(pinned, 0, N * sizeof(*pinned));
    memset(managed, 0, N * sizeof(*managed));
    for (i = 0; i < NDEVICES; i++) {
        EXPECT(hipSuccess, step(i, pinned, 1));
        EXPECT(hipSuccess, step(i, managed, 1));
    }
    assert_int_equal(pinned[N - 1], 7);
    assert_int_equal(managed[N - 1], 7);
}

static void test_pinned_and_managed_memory_is_for_all(void **state)
{
    (void)state;
    in_child(three, memory_for_all);
}

static void memory_of_pools(void)
{
    hipMemAccessDesc access = {{hipMemLocationTypeDevice, 0},
                               hipMemAccessFlagsProtReadWrite};
    hipMemPool_t pool = NULL;
    unsigned *old, *new;

    load_modules();
    EXPECT(hipSuccess, hipDeviceGetDefaultMemPool(&pool, 1));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipMallocAsync((void **)&old, N * sizeof(*old), NULL));
    EXPECT(hipSuccess, hipMemset(old, 0, N * sizeof(*old)));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipErrorIllegalAddress, step(0, old, 1));
    EXPECT(hipSuccess, hipMemPoolSetAccess(pool, &access, 1));
    EXPECT(hipSuccess, hipMallocAsync((void **)&new, N * sizeof(*new), NULL));
    EXPECT(hipSuccess, hipMemset(new, 0, N * sizeof(*new)));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, step(0, old, 1));
    EXPECT(hipSuccess, step(0, new, 1));
    EXPECT(hipErrorIllegalAddress, step(2, old, 1));
    EXPECT(hipErrorIllegalAddress, step(2, new, 1));
    EXPECT(hipSuccess, step(1, new, 1));
    expect_all(old, 1);
    expect_all(new, 3);
}

static void test_pools_give_access_by_device(void **state)
{
    (void)state;
    in_child(three, memory_of_pools);
}

/* As HIP has it from 5.3 on. */
struct prop {
    int type, requested;
    hipMemLocation location;
    void *metadata;
    unsigned char flags[8];
};

static void mapped_memory(void)
{
    const size_t size = 4096;
    const struct prop prop = {.type = hipMemAllocationTypePinned,
                              .location = {hipMemLocationTypeDevice, 1}};
    hipMemAccessDesc access = {{hipMemLocationTypeDevice, 1},
                               hipMemAccessFlagsProtReadWrite};
    hipMemGenericAllocationHandle_t handle;
    void *p;

    load_modules();
    EXPECT(hipSuccess, hipMemCreate(&handle, size, (const void *)&prop, 0));
    EXPECT(hipSuccess, hipMemAddressReserve(&p, size, 0, NULL, 0));
    EXPECT(hipSuccess, hipMemMap(p, size, 0, handle, 0));
    EXPECT(hipSuccess, hipMemSetAccess(p, size, &access, 1));
    EXPECT(hipSuccess, hipMemset(p, 0, size));
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipSuccess, step(1, p, 1));
    EXPECT(hipErrorIllegalAddress, step(0, p, 1)); /* hipMemSetAccess() rules */
    access.location.id = 0;
    EXPECT(hipSuccess, hipMemSetAccess(p, size, &access, 1));
    EXPECT(hipSuccess, step(0, p, 1));
}

static void test_mapped_memory_has_rules_of_its_own(void **state)
{
    (void)state;
    in_child(three, mapped_memory);
}

static void only_visible_devices(void)
{
    size_t n;
    int i;

    /* The program's devices 0 and 1 are the machine's third and first. */
    for (i = 0; i < 2; i++) {
        images[i] = read_api(i ? "gfx942" : "gfx90a", &n);
        EXPECT(hipSuccess, hipSetDevice(i));
        EXPECT(hipSuccess, hipModuleLoadData(&modules[i], images[i]));
    }
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, step(0, allocate(0), 1));
    EXPECT(hipSuccess, step(1, allocate(1), 1));
    EXPECT(hipErrorIllegalAddress, step(0, allocate(1), 1));
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipSuccess, step(0, allocate(1), 1));
    EXPECT(hipErrorIllegalAddress, step(1, allocate(0), 1));
}

static void test_devices_are_those_that_are_visible(void **state)
{
    static const char *const environment[] = {
        "KPK_SIM_DEVICES=gfx942,gfx1100,gfx90a", "HIP_VISIBLE_DEVICES=2,0",
        NULL};

    (void)state;
    in_child(environment, only_visible_devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touch_without_access_faults),
        cmocka_unit_test(test_fault_names_the_cause),
        cmocka_unit_test(test_atomics_need_access_too),
        cmocka_unit_test(test_access_that_is_enabled),
        cmocka_unit_test(test_one_of_two_guests_leaves),
        cmocka_unit_test(test_copies_and_fills_map),
        cmocka_unit_test(test_pinned_and_managed_memory_is_for_all),
        cmocka_unit_test(test_pools_give_access_by_device),
        cmocka_unit_test(test_mapped_memory_has_rules_of_its_own),
        cmocka_unit_test(test_devices_are_those_that_are_visible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
