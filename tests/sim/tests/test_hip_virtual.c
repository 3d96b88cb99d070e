/* test_hip_virtual.c - address space and memory apart: what is mapped where,
 * who may touch it, and memory that another process made */
#define _GNU_SOURCE
#include "hip_test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, N = PAGE / sizeof(unsigned) };

/* As HIP has it from 5.3 on. */
struct prop {
    int type, requested;
    hipMemLocation location;
    void *metadata;
    unsigned char flags[8];
};

static const struct prop on_first = {
    .type = hipMemAllocationTypePinned,
    .location = {.type = hipMemLocationTypeDevice}};

static hipError_t create(hipMemGenericAllocationHandle_t *memory, size_t size,
                         const struct prop *prop, unsigned long long flags)
{
    return hipMemCreate(memory, size, (const hipMemAllocationProp *)prop,
                        flags);
}

static void *image;
static hipModule_t module;
static hipFunction_t step; /* c[i] = c[i] * 2 + k */

static int set_up(void **state)
{
    size_t n;

    (void)state;
    image = read_api("gfx942", &n);
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&step, module, "step"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    EXPECT(hipSuccess, hipModuleUnload(module));
    free(image);
    return 0;
}

static void may(void *p, size_t n, int device, hipMemAccessFlags flags)
{
    const hipMemAccessDesc desc = {
        .location = {hipMemLocationTypeDevice, device}, .flags = flags};

    EXPECT(hipSuccess, hipMemSetAccess(p, n, &desc, 1));
}

/* Runs a kernel that reads and writes n values at an address. */
static hipError_t run_step(unsigned *at, unsigned n)
{
    unsigned k = 1;
    void *params[] = {&at, &k, &n};
    hipError_t error;

    EXPECT(hipSuccess, hipModuleLaunchKernel(step, (n + 255) / 256, 1, 1, 256,
                                             1, 1, 0, NULL, params, NULL));
    error = hipDeviceSynchronize();
    if (error != hipSuccess) {
        EXPECT(hipSuccess, hipDeviceReset());
        EXPECT(hipSuccess, hipModuleLoadData(&module, image));
        EXPECT(hipSuccess, hipModuleGetFunction(&step, module, "step"));
    }
    return error;
}

static void test_memory_is_mapped_used_and_given_back(void **state)
{
    hipMemGenericAllocationHandle_t memory, again;
    struct prop prop;
    size_t before, during, granularity;
    unsigned host[N], i;
    unsigned *p;

    (void)state;
    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    EXPECT(hipSuccess,
           hipMemGetAllocationGranularity(&granularity, (const void *)&on_first,
                                          hipMemAllocationGranularityMinimum));
    assert_int_equal(granularity, PAGE);
    EXPECT(hipSuccess, create(&memory, PAGE, &on_first, 0));
    EXPECT(hipSuccess, hipMemGetInfo(&during, NULL));
    assert_int_equal(before - during, PAGE);
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, 4 * PAGE,
                                            (size_t)1 << 21, NULL, 0));
    assert_int_equal((uintptr_t)p % (1 << 21), 0);
    EXPECT(hipSuccess, hipMemMap(p + N, PAGE, 0, memory, 0));
    EXPECT(hipSuccess,
           hipMemGetAllocationPropertiesFromHandle((void *)&prop, memory));
    assert_int_equal(prop.type, hipMemAllocationTypePinned);
    EXPECT(hipSuccess, hipMemRelease(memory));
    EXPECT(hipErrorInvalidValue, hipMemRelease(memory)); /* twice */
    may(p + N, PAGE, 0, hipMemAccessFlagsProtReadWrite);
    EXPECT(hipSuccess, hipMemsetD32(p + N, 5, N));
    EXPECT(hipSuccess, run_step(p + N, N));
    EXPECT(hipSuccess, hipMemcpy(host, p + N, PAGE, hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(host[i], 11);
    /* To the byte: copies that start before the memory or leave it fail. */
    EXPECT(hipErrorInvalidValue,
           hipMemcpy(host, p + N - 1, 4, hipMemcpyDeviceToHost));
    EXPECT(hipErrorInvalidValue,
           hipMemcpy(host, p + N + 1, PAGE, hipMemcpyDeviceToHost));
    EXPECT(hipSuccess, hipMemRetainAllocationHandle(&again, p + N + 5));
    assert_ptr_equal(again, memory);
    EXPECT(hipErrorInvalidValue, hipMemAddressFree(p, 4 * PAGE)); /* in use */
    EXPECT(hipSuccess, hipMemUnmap(p + N, PAGE));
    EXPECT(hipErrorInvalidValue, hipMemUnmap(p + N, PAGE));
    EXPECT(hipSuccess, hipMemGetInfo(&during, NULL));
    assert_int_equal(before - during, PAGE);
    EXPECT(hipSuccess, hipMemRelease(again));
    EXPECT(hipSuccess, hipMemAddressFree(p, 4 * PAGE));
    EXPECT(hipErrorInvalidValue, hipMemAddressFree(p, 4 * PAGE));
    EXPECT(hipSuccess, hipMemGetInfo(&during, NULL));
    assert_int_equal(before, during);
}

static void test_kernels_reach_what_is_mapped_and_no_more(void **state)
{
    hipMemGenericAllocationHandle_t memory;
    unsigned *p;

    (void)state;
    EXPECT(hipSuccess, create(&memory, PAGE, &on_first, 0));
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, 3 * PAGE, 0, NULL, 0));
    EXPECT(hipErrorIllegalAddress, run_step(p + N, 1));
    EXPECT(hipSuccess, hipMemMap(p + N, PAGE, 0, memory, 0));
    may(p + N, PAGE, 0, hipMemAccessFlagsProtReadWrite);
    EXPECT(hipSuccess, run_step(p + N, N));
    EXPECT(hipErrorIllegalAddress, run_step(p + N, N + 1));
    EXPECT(hipErrorIllegalAddress, run_step(p + N - 1, 1));
    EXPECT(hipSuccess, hipMemUnmap(p + N, PAGE));
    EXPECT(hipErrorIllegalAddress, run_step(p + N, 1));
    EXPECT(hipSuccess, hipMemRelease(memory));
    EXPECT(hipSuccess, hipMemAddressFree(p, 3 * PAGE));
}

static void test_memory_at_two_places_is_the_same(void **state)
{
    hipMemGenericAllocationHandle_t memory;
    unsigned *p, *q, value = 0;

    (void)state;
    EXPECT(hipSuccess, create(&memory, 2 * PAGE, &on_first, 0));
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, 2 * PAGE, 0, NULL, 0));
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&q, PAGE, 0, NULL, 0));
    EXPECT(hipSuccess, hipMemMap(p, 2 * PAGE, 0, memory, 0));
    EXPECT(hipSuccess, hipMemMap(q, PAGE, 0, memory, 0));
    may(p, 2 * PAGE, 0, hipMemAccessFlagsProtReadWrite);
    may(q, PAGE, 0, hipMemAccessFlagsProtReadWrite);
    EXPECT(hipSuccess, hipMemsetD32(p, 7, 2 * N));
    EXPECT(hipSuccess, run_step(q, N));
    EXPECT(hipSuccess, hipMemcpy(&value, p + N - 1, 4, hipMemcpyDefault));
    assert_int_equal(value, 15);
    EXPECT(hipSuccess, hipMemcpy(&value, p + N, 4, hipMemcpyDefault));
    assert_int_equal(value, 7);
    EXPECT(hipSuccess, hipMemUnmap(p, 2 * PAGE));
    EXPECT(hipSuccess, hipMemcpy(&value, q + 1, 4, hipMemcpyDefault));
    assert_int_equal(value, 15);
    EXPECT(hipSuccess, hipMemUnmap(q, PAGE));
    EXPECT(hipSuccess, hipMemRelease(memory));
    EXPECT(hipSuccess, hipMemAddressFree(p, 2 * PAGE));
    EXPECT(hipSuccess, hipMemAddressFree(q, PAGE));
}

/* A buffer that grows: what is mapped side by side is one to copies, fills and
 * kernels, and is unmapped in one go. */
static void test_mappings_that_adjoin(void **state)
{
    hipMemGenericAllocationHandle_t memory[2];
    unsigned host[2 * N], i;
    unsigned *p;

    (void)state;
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, 3 * PAGE, 0, NULL, 0));
    for (i = 0; i < 2; i++) {
        EXPECT(hipSuccess, create(&memory[i], PAGE, &on_first, 0));
        EXPECT(hipSuccess, hipMemMap(p + i * N, PAGE, 0, memory[i], 0));
        EXPECT(hipSuccess, hipMemRelease(memory[i]));
    }
    may(p, 2 * PAGE, 0, hipMemAccessFlagsProtReadWrite);
    for (i = 0; i < 2 * N; i++)
        host[i] = i;
    EXPECT(hipSuccess, hipMemcpy(p, host, 2 * PAGE, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, run_step(p, 2 * N));
    memset(host, 0, sizeof(host));
    EXPECT(hipSuccess, hipMemcpy(host, p, 2 * PAGE, hipMemcpyDeviceToHost));
    for (i = 0; i < 2 * N; i++)
        assert_int_equal(host[i], 2 * i + 1);
    EXPECT(hipSuccess, hipMemset(p + 1, 0, 2 * PAGE - 8));
    EXPECT(hipErrorInvalidValue, hipMemset(p + 1, 0, 2 * PAGE));
    EXPECT(hipSuccess, hipMemcpy(host, p, 2 * PAGE, hipMemcpyDeviceToHost));
    assert_int_equal(host[0], 1);
    for (i = 1; i < 2 * N - 1; i++)
        assert_int_equal(host[i], 0);
    assert_int_equal(host[2 * N - 1], 4 * N - 1);
    EXPECT(hipErrorInvalidValue, hipMemUnmap(p, PAGE / 2));
    EXPECT(hipErrorInvalidValue, hipMemUnmap(p, 3 * PAGE));
    EXPECT(hipSuccess, hipMemUnmap(p, 2 * PAGE));
    EXPECT(hipSuccess, hipMemAddressFree(p, 3 * PAGE));
}

static void test_access_is_each_device_s_own(void **state)
{
    hipMemGenericAllocationHandle_t memory;
    hipMemLocation where = {hipMemLocationTypeDevice, 0};
    unsigned long long flags = 9;
    unsigned *p, value;
    hipModule_t on_second;
    hipFunction_t there;
    unsigned k = 1, n = 1;
    void *params[] = {&p, &k, &n};

    (void)state;
    EXPECT(hipSuccess, create(&memory, PAGE, &on_first, 0));
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, PAGE, 0, NULL, 0));
    EXPECT(hipErrorInvalidValue, hipMemGetAccess(&flags, &where, p));
    EXPECT(hipSuccess, hipMemMap(p, PAGE, 0, memory, 0));
    EXPECT(hipSuccess, hipMemGetAccess(&flags, &where, p));
    assert_int_equal(flags, hipMemAccessFlagsProtNone);
    EXPECT(hipErrorInvalidValue, hipMemset(p, 0, 4));
    EXPECT(hipErrorIllegalAddress, run_step(p, 1));
    may(p, PAGE, 0, hipMemAccessFlagsProtReadWrite);
    EXPECT(hipSuccess, hipMemset(p, 0, 4));
    EXPECT(hipSuccess, run_step(p, 1));
    may(p, PAGE, 0, hipMemAccessFlagsProtRead);
    EXPECT(hipSuccess, hipMemGetAccess(&flags, &where, p + N - 1));
    assert_int_equal(flags, hipMemAccessFlagsProtRead);
    EXPECT(hipErrorIllegalAddress, run_step(p, 1)); /* it writes */
    may(p, PAGE, 0, hipMemAccessFlagsProtReadWrite);
    /* The second device has none until it is given some. */
    where.id = 1;
    EXPECT(hipSuccess, hipMemGetAccess(&flags, &where, p));
    assert_int_equal(flags, hipMemAccessFlagsProtNone);
    may(p, PAGE, 1, hipMemAccessFlagsProtReadWrite);
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipModuleLoadData(&on_second, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&there, on_second, "step"));
    EXPECT(hipSuccess, hipModuleLaunchKernel(there, 1, 1, 1, 64, 1, 1, 0, NULL,
                                             params, NULL));
    EXPECT(hipSuccess, hipMemcpy(&value, p, 4, hipMemcpyDefault));
    assert_int_equal(value, 3);
    may(p, PAGE, 1, hipMemAccessFlagsProtNone);
    EXPECT(hipSuccess, hipModuleLaunchKernel(there, 1, 1, 1, 64, 1, 1, 0, NULL,
                                             params, NULL));
    EXPECT(hipErrorIllegalAddress, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipDeviceReset());
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipMemUnmap(p, PAGE));
    EXPECT(hipSuccess, hipMemRelease(memory));
    EXPECT(hipSuccess, hipMemAddressFree(p, PAGE));
}

static void test_refusals(void **state)
{
    hipMemGenericAllocationHandle_t memory;
    struct prop prop = on_first;
    const hipMemAccessDesc desc = {.location = {hipMemLocationTypeDevice, 0},
                                   .flags = hipMemAccessFlagsProtReadWrite};
    hipMemAccessDesc bad = desc;
    size_t free_nbytes;
    char *p, *q;
    int fd;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipMemAddressReserve(NULL, PAGE, 0, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemAddressReserve((void **)&p, PAGE, 0, NULL, 1));
    EXPECT(hipErrorInvalidValue,
           hipMemAddressReserve((void **)&p, 0, 0, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemAddressReserve((void **)&p, PAGE - 1, 0, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemAddressReserve((void **)&p, PAGE, 3, NULL, 0));
    EXPECT(hipErrorInvalidValue, create(NULL, PAGE, &prop, 0));
    EXPECT(hipErrorInvalidValue, create(&memory, PAGE, NULL, 0));
    EXPECT(hipErrorInvalidValue, create(&memory, PAGE, &prop, 1));
    EXPECT(hipErrorInvalidValue, create(&memory, PAGE - 1, &prop, 0));
    EXPECT(hipSuccess, hipMemGetInfo(&free_nbytes, NULL));
    EXPECT(hipErrorOutOfMemory,
           create(&memory, free_nbytes / PAGE * PAGE + PAGE, &prop, 0));
    prop.location.id = 2; /* only devices 0 and 1 exist */
    EXPECT(hipErrorInvalidValue, create(&memory, PAGE, &prop, 0));
    prop = on_first;
    prop.requested = hipMemHandleTypeWin32;
    EXPECT(hipErrorNotSupported, create(&memory, PAGE, &prop, 0));

    EXPECT(hipSuccess, create(&memory, PAGE, &on_first, 0));
    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, 2 * PAGE, 0, NULL, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(NULL, PAGE, 0, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p, 0, 0, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p, PAGE, PAGE, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p, PAGE, 0, NULL, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p, PAGE, 0, memory, 1));
    EXPECT(hipErrorInvalidValue, hipMemMap(p + 8, PAGE, 0, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p, 2 * PAGE, 0, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p + 2 * PAGE, PAGE, 0, memory, 0));
    EXPECT(hipSuccess, hipMalloc((void **)&q, PAGE)); /* not reserved */
    EXPECT(hipErrorInvalidValue, hipMemMap(q, PAGE, 0, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemRetainAllocationHandle(&memory, q));
    EXPECT(hipSuccess, hipFree(q));
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, PAGE, &desc, 1));
    EXPECT(hipSuccess, hipMemMap(p, PAGE, 0, memory, 0));
    EXPECT(hipErrorInvalidValue, hipMemMap(p, PAGE, 0, memory, 0)); /* again */
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, 0, &desc, 1));
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, PAGE + 1, &desc, 1));
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, PAGE, NULL, 1));
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, PAGE, &desc, 0));
    bad.location.id = -1;
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, PAGE, &bad, 1));
    bad = desc;
    bad.flags = (hipMemAccessFlags)2;
    EXPECT(hipErrorInvalidValue, hipMemSetAccess(p, PAGE, &bad, 1));
    EXPECT(hipErrorInvalidValue, hipFree(p)); /* needs hipMemUnmap() */
    EXPECT(hipErrorInvalidValue,              /* made without a way out */
           hipMemExportToShareableHandle(
               &fd, memory, hipMemHandleTypePosixFileDescriptor, 0));
    EXPECT(hipSuccess, hipMemUnmap(p, PAGE));
    EXPECT(hipSuccess, hipMemRelease(memory));
    EXPECT(hipSuccess, hipMemAddressFree(p, 2 * PAGE));
}

/* ---- two processes ------------------------------------------------------ */

static void send_descriptor(int to, int fd)
{
    char byte = 0, control[CMSG_SPACE(sizeof(fd))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    assert_int_equal(sendmsg(to, &message, 0), 1);
}

static int receive_descriptor(int from)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    const struct cmsghdr *c;
    int fd;

    assert_int_equal(recvmsg(from, &message, 0), 1);
    c = CMSG_FIRSTHDR(&message);
    if (!c)
        return -1; /* none came; HIP refuses it */
    memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

static unsigned *map_whole(hipMemGenericAllocationHandle_t memory)
{
    unsigned *p;

    EXPECT(hipSuccess, hipMemAddressReserve((void **)&p, PAGE, 0, NULL, 0));
    EXPECT(hipSuccess, hipMemMap(p, PAGE, 0, memory, 0));
    may(p, PAGE, 0, hipMemAccessFlagsProtReadWrite);
    return p;
}

/* The other process doubles what it finds and adds 1. */
static void double_what_comes(int from)
{
    hipMemGenericAllocationHandle_t memory;
    int fd = receive_descriptor(from);
    unsigned *p;

    set_up(NULL);
    EXPECT(hipErrorInvalidValue,
           hipMemImportFromShareableHandle(
               NULL, &fd, hipMemHandleTypePosixFileDescriptor));
    EXPECT(hipSuccess, hipMemImportFromShareableHandle(
                           &memory, &fd, hipMemHandleTypePosixFileDescriptor));
    close(fd);
    p = map_whole(memory);
    EXPECT(hipSuccess, run_step(p, N));
    exit(0);
}

static void between_processes(void)
{
    struct prop prop = on_first;
    hipMemGenericAllocationHandle_t memory;
    unsigned *p, host[N], i;
    int ends[2], fd = -1, status;
    pid_t other;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    other = fork(); /* before either of them calls HIP */
    assert_true(other >= 0);
    close(ends[other == 0 ? 0 : 1]); /* the other one's */
    if (other == 0)
        double_what_comes(ends[1]);
    prop.requested = hipMemHandleTypePosixFileDescriptor;
    EXPECT(hipSuccess, create(&memory, PAGE, &prop, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemExportToShareableHandle(&fd, memory, hipMemHandleTypeNone, 0));
    EXPECT(hipErrorInvalidValue,
           hipMemExportToShareableHandle(
               &fd, memory, hipMemHandleTypePosixFileDescriptor, 1));
    EXPECT(hipSuccess,
           hipMemExportToShareableHandle(
               &fd, memory, hipMemHandleTypePosixFileDescriptor, 0));
    p = map_whole(memory);
    for (i = 0; i < N; i++)
        host[i] = i;
    EXPECT(hipSuccess, hipMemcpy(p, host, PAGE, hipMemcpyHostToDevice));
    send_descriptor(ends[0], fd);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    EXPECT(hipSuccess, hipMemcpy(host, p, PAGE, hipMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        assert_int_equal(host[i], 2 * i + 1);
}

static void test_memory_of_another_process(void **state)
{
    static const char *const environment[] = {"KPK_SIM_DEVICES=gfx942", NULL};

    (void)state;
    in_child(environment, between_processes);
}

int main(void)
{
    const struct CMUnitTest apart[] = {
        cmocka_unit_test(test_memory_of_another_process),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_mapped_used_and_given_back),
        cmocka_unit_test(test_kernels_reach_what_is_mapped_and_no_more),
        cmocka_unit_test(test_memory_at_two_places_is_the_same),
        cmocka_unit_test(test_mappings_that_adjoin),
        cmocka_unit_test(test_access_is_each_device_s_own),
        cmocka_unit_test(test_refusals),
    };
    int failed;

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx942", 1);
    failed = cmocka_run_group_tests(apart, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, set_up, tear_down);
}
