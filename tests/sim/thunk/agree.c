/* agree.c - one table of HIP calls, and what a runtime answers
 *
 *   agree LIBRARY GROUP FILE...
 *
 * Runs a group of calls through a HIP library and prints a line for each: the
 * call, its status, and what it gave. check-hip has two libraries print and
 * compares. Only results that follow from the call are printed: no addresses,
 * no handles. FILE... are code objects: one of the first device, then one of
 * another processor, then one that is too new for HIP 5.2.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *library;
static void *images[3];

/* Calls function NAME; the arguments are integers and pointers only. */
#define FN(name) ((int (*)())function(#name)) /* NOLINT: any arguments */

static void *function(const char *name)
{
    void *f = dlsym(library, name);

    if (!f) {
        printf("%s is missing\n", name);
        exit(2);
    }
    return f;
}

static void say(const char *what, int status)
{
    printf("%s: %d\n", what, status);
}

static void say_value(const char *what, int status, long long value)
{
    if (status == 0)
        printf("%s: 0, %lld\n", what, value);
    else
        say(what, status);
}

/* A call and its status; a call and an integer that it gave. */
#define CALL(name, ...) say(#name "(" #__VA_ARGS__ ")", FN(name)(__VA_ARGS__))
#define GIVES(value, name, ...)                                                \
    do {                                                                       \
        int status_ = FN(name)(__VA_ARGS__);                                   \
                                                                               \
        say_value(#name "(" #__VA_ARGS__ ")", status_, value);                 \
    } while (0)

static char *const NOTHING = NULL;

/* ---- devices ---- */

static void devices(void)
{
    int n = -1, major = -1, minor = -1;
    char name[256] = "";
    size_t bytes = 0;

    CALL(hipInit, 1);
    CALL(hipInit, 0);
    CALL(hipGetDeviceCount, NOTHING);
    GIVES(n, hipGetDeviceCount, &n);
    CALL(hipGetDevice, NOTHING);
    GIVES(n, hipGetDevice, &n);
    CALL(hipSetDevice, -1);
    CALL(hipSetDevice, 99);
    CALL(hipDeviceGet, NOTHING, 0);
    CALL(hipDeviceGet, &n, -1);
    CALL(hipDeviceGet, &n, 99);
    GIVES(n, hipDeviceGet, &n, 0);
    CALL(hipDeviceGetName, NOTHING, 10, 0);
    CALL(hipDeviceGetName, name, 0, 0);
    CALL(hipDeviceGetName, name, -1, 0);
    CALL(hipDeviceGetName, name, 256, 99);
    CALL(hipDeviceGetName, name, 256, 0);
    printf("the name: %s\n", name);
    CALL(hipDeviceGetName, name, 4, 0);
    printf("the name, short: %s\n", name);
    CALL(hipDeviceComputeCapability, &major, &minor, 99);
    GIVES(major * 100 + minor, hipDeviceComputeCapability, &major, &minor, 0);
    CALL(hipDeviceComputeCapability, NOTHING, &minor, 0);
    CALL(hipDeviceTotalMem, NOTHING, 0);
    CALL(hipDeviceTotalMem, &bytes, 99);
    GIVES((long long)bytes, hipDeviceTotalMem, &bytes, 0);
    CALL(hipDriverGetVersion, NOTHING);
    CALL(hipRuntimeGetVersion, NOTHING);
    CALL(hipDeviceCanAccessPeer, NOTHING, 0, 1);
    GIVES(n, hipDeviceCanAccessPeer, &n, 0, 0);
    GIVES(n, hipDeviceCanAccessPeer, &n, 0, 1);
    CALL(hipDeviceCanAccessPeer, &n, 0, 99);
    CALL(hipDeviceEnablePeerAccess, 0, 0);
    CALL(hipDeviceEnablePeerAccess, 1, 1);
    CALL(hipDeviceEnablePeerAccess, 1, 0);
    CALL(hipDeviceEnablePeerAccess, 1, 0);
    CALL(hipDeviceEnablePeerAccess, 99, 0);
    CALL(hipDeviceDisablePeerAccess, 1);
    CALL(hipDeviceDisablePeerAccess, 1);
    CALL(hipDeviceGetPCIBusId, NOTHING, 20, 0);
    CALL(hipDeviceGetPCIBusId, name, 20, 0);
    printf("the bus: %s\n", name);
    CALL(hipDeviceGetPCIBusId, name, 20, 99);
    CALL(hipSetDeviceFlags, 0x99);
    CALL(hipDeviceSynchronize);
}

/* Two attributes are pointers: room for one. */
static void attribute(int number)
{
    long long room = -1;
    int value, status = FN(hipDeviceGetAttribute)(&room, number, 0);
    char what[64];

    memcpy(&value, &room, sizeof(value));
    snprintf(what, sizeof(what), "attribute %d", number);
    say_value(what, status, value);
}

static void attributes(void)
{
    int value, i;
    long long images = 0;

    /* HIP 7 leaves 44, 50 and 51 unset on devices without images. */
    FN(hipDeviceGetAttribute)(&images, 10014, 0);
    for (i = 0; i < 95; i++)
        if (i != 24 && i != 9 &&
            ((int)images || (i != 44 && i != 50 && i != 51)))
            attribute(i);
    for (i = 10000; i < 10016; i++)
        if (i != 10006 && i != 10007 && i != 10011)
            attribute(i);
    CALL(hipDeviceGetAttribute, &value, 123456, 0);
    CALL(hipDeviceGetAttribute, &value, 56, 99);
    CALL(hipDeviceGetAttribute, NOTHING, 56, 0);
}

/* The older layout, by words; the pointers in it are left out, and what the
 * two machines differ in: whether the host reaches device memory (764, 10011)
 * and managed memory by the driver's page faults (772, 780, 24, 9). On
 * devices without images HIP 7 does not set the sizes of textures. */
static void properties(void)
{
    static unsigned char p[2048];
    long long images = 0;
    unsigned i;

    FN(hipDeviceGetAttribute)(&images, 10014, 0);
    CALL(hipGetDeviceProperties, NOTHING, 0);
    CALL(hipGetDeviceProperties, p, 99);
    CALL(hipGetDeviceProperties, p, 0);
    printf("name %s, architecture %s\n", (char *)p, (char *)p + 396);
    for (i = 256; i < 792; i += 4) {
        int v;

        if ((i >= 396 && i < 652) || (i >= 696 && i < 712) || i == 764 ||
            i == 772 || i == 780 ||
            (!(int)images && (i == 676 || i == 684 || i == 688)))
            continue;
        memcpy(&v, p + i, sizeof(v));
        printf("properties at %u: %d\n", i, v);
    }
}

static void errors(void)
{
    int e;

    for (e = -1; e < 1100; e = e == 910 ? 1052 : e + 1) { /* later ones grow */
        const char *name =
            ((const char *(*)(int))function("hipGetErrorName"))(e);
        const char *text =
            ((const char *(*)(int))function("hipGetErrorString"))(e);

        if (name && strcmp(name, "hipErrorUnknown") != 0)
            printf("error %d: %s, its text is %s\n", e, name,
                   !text                     ? "missing"
                   : strcmp(name, text) == 0 ? "the name"
                                             : "a phrase");
    }
}

/* ---- memory ---- */

static void memory(void)
{
    static char host[4096];
    char *p = NULL, *q = NULL, *pinned = NULL, *end;
    size_t size = 0;
    unsigned flags = 99;

    CALL(hipMalloc, NOTHING, 100);
    CALL(hipMalloc, &p, (size_t)0);
    printf("nothing was allocated: %d\n", p == NULL);
    CALL(hipMalloc, &p, (size_t)1 << 50);
    CALL(hipMalloc, &p, (size_t)1000);
    CALL(hipMalloc, &q, (size_t)1000);
    CALL(hipMemcpy, p, host, (size_t)1000, 1);
    CALL(hipMemcpy, host, p, (size_t)1000, 2);
    CALL(hipMemcpy, q, p, (size_t)1000, 3);
    CALL(hipMemcpy, q, p, (size_t)1000, 4);
    CALL(hipMemcpy, host, p, (size_t)0, 2);
    CALL(hipMemcpy, NOTHING, p, (size_t)0, 2);
    CALL(hipMemcpy, NOTHING, p, (size_t)10, 2);
    CALL(hipMemcpy, p, NOTHING, (size_t)10, 1);
    CALL(hipMemcpy, host, host + 2000, (size_t)10, 0);
    CALL(hipMemcpy, p, host, (size_t)10, 5);
    CALL(hipMemcpy, p, host, (size_t)10, -1);
    CALL(hipMemcpy, p, host, (size_t)1001, 1);
    CALL(hipMemset, NOTHING, 0, (size_t)10);
    CALL(hipMemset, p, 0, (size_t)0);
    CALL(hipMemset, p, 0, (size_t)1000);
    CALL(hipMemset, p, 0, (size_t)1001);
    CALL(hipMemsetD8, p, 1, (size_t)10);
    CALL(hipMemsetD16, p, 1, (size_t)10);
    CALL(hipMemsetD32, p, 1, (size_t)250);
    CALL(hipMemcpyHtoD, p, host, (size_t)100);
    CALL(hipMemcpyDtoH, host, p, (size_t)100);
    CALL(hipMemcpyDtoD, q, p, (size_t)100);
    CALL(hipMemGetAddressRange, &end, &size, p + 10);
    printf("the range begins at the allocation: %d, size %zu\n", end == p,
           size);
    CALL(hipMemGetAddressRange, &end, &size, host);
    CALL(hipFree, NOTHING);
    CALL(hipFree, host);
    CALL(hipFree, p);
    CALL(hipFree, p);
    CALL(hipFree, q);
    CALL(hipHostMalloc, NOTHING, (size_t)100, 0);
    CALL(hipHostMalloc, &pinned, (size_t)0, 0);
    CALL(hipHostMalloc, &pinned, (size_t)100, 0x12345678);
    CALL(hipHostMalloc, &pinned, (size_t)100, 0);
    CALL(hipHostGetDevicePointer, &end, pinned, 0);
    printf("pinned memory has one address: %d\n", end == pinned);
    CALL(hipHostGetDevicePointer, &end, host, 0);
    GIVES(flags, hipHostGetFlags, &flags, pinned);
    CALL(hipHostGetFlags, &flags, host);
    CALL(hipHostFree, NOTHING);
    CALL(hipHostFree, host);
    CALL(hipHostFree, pinned);
    CALL(hipHostFree, pinned);
    CALL(hipHostRegister, NOTHING, (size_t)100, 0);
    CALL(hipHostRegister, host, (size_t)0, 0);
    CALL(hipHostRegister, host, (size_t)4096, 0);
    CALL(hipHostUnregister, host);
    CALL(hipHostUnregister, host);
    CALL(hipHostUnregister, NOTHING);
    CALL(hipMallocManaged, NOTHING, (size_t)100, 1);
    CALL(hipMallocManaged, &p, (size_t)100, 99);
    CALL(hipMallocManaged, &p, (size_t)100, 1);
    CALL(hipFree, p);
}

static void pointers(void)
{
    static char host[64];
    char *p, *pinned;
    struct {
        int type, device;
        void *on_device, *on_host;
        int managed;
        unsigned flags;
    } a;

    FN(hipMalloc)(&p, (size_t)1000);
    FN(hipHostMalloc)(&pinned, (size_t)1000, 0);
    CALL(hipPointerGetAttributes, NOTHING, p);
    CALL(hipPointerGetAttributes, &a, NOTHING);
    CALL(hipPointerGetAttributes, &a, host);
    memset(&a, 0, sizeof(a));
    GIVES(a.type * 10 + a.device, hipPointerGetAttributes, &a, p);
    printf("device memory: same %d, host %d, managed %d, flags %u\n",
           a.on_device == p, a.on_host != NULL, a.managed, a.flags);
    GIVES(a.type * 10 + a.device, hipPointerGetAttributes, &a, p + 100);
    printf("in the middle: %d\n", a.on_device == p + 100);
    GIVES(a.type * 10 + a.device, hipPointerGetAttributes, &a, pinned);
    printf("pinned memory: same %d, host %d, managed %d, flags %u\n",
           a.on_device == pinned, a.on_host == pinned, a.managed, a.flags);
}

/* ---- modules and launches ---- */

static void *kernel(void *image, const char *name)
{
    void *module = NULL, *f = NULL;

    if (FN(hipModuleLoadData)(&module, image) ||
        FN(hipModuleGetFunction)(&f, module, name))
        printf("the kernel %s could not be loaded\n", name);
    return f;
}

static void modules(void)
{
    static char garbage[4096] = "no ELF file";
    void *module = NULL, *f = NULL, *global = NULL;
    size_t size = 0;

    CALL(hipModuleLoadData, NOTHING, images[0]);
    CALL(hipModuleLoadData, &module, NOTHING);
    CALL(hipModuleLoadData, &module, garbage);
    CALL(hipModuleLoadData, &module, images[1]);
    if (images[2])
        CALL(hipModuleLoadData, &module, images[2]);
    CALL(hipModuleLoad, &module, NOTHING);
    CALL(hipModuleLoad, &module, "/nonexistent/file");
    CALL(hipModuleLoadDataEx, &module, images[0], 0, NOTHING, NOTHING);
    CALL(hipModuleUnload, module);
    CALL(hipModuleLoadData, &module, images[0]);
    CALL(hipModuleGetFunction, NOTHING, module, "step");
    CALL(hipModuleGetFunction, &f, module, NOTHING);
    CALL(hipModuleGetFunction, &f, module, "");
    CALL(hipModuleGetFunction, &f, module, "nothing_there");
    CALL(hipModuleGetFunction, &f, NOTHING, "step");
    CALL(hipModuleGetFunction, &f, module, "step");
    CALL(hipModuleGetGlobal, &global, &size, module, "nothing_there");
    CALL(hipModuleGetGlobal, &global, &size, NOTHING, "counter");
    GIVES((long long)size, hipModuleGetGlobal, &global, &size, module,
          "counter");
    CALL(hipModuleUnload, NOTHING);
    CALL(hipModuleUnload, module);
    CALL(hipModuleUnload, module);
}

#define LAUNCH(...) CALL(hipModuleLaunchKernel, __VA_ARGS__)

static void launches(void)
{
    struct {
        void *p;
        unsigned k, n;
    } a = {NULL, 1, 0};
    void *f = kernel(images[0], "step"), *none = NULL;
    void *params[] = {&a.p, &a.k, &a.n};
    size_t size = sizeof(a);
    void *extra[] = {(void *)1, &a, (void *)2, &size, (void *)3};
    int value, status, attribute;
    char what[64];

    FN(hipMalloc)(&a.p, (size_t)4096);
    LAUNCH(f, 1, 1, 1, 64, 1, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 64, 1, 1, 0, none, none, extra);
    LAUNCH(f, 1, 1, 1, 64, 1, 1, 0, none, params, extra);
    LAUNCH(none, 1, 1, 1, 64, 1, 1, 0, none, params, none);
    LAUNCH(f, 0, 1, 1, 64, 1, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 0, 1, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 64, 0, 1, 0, none, params, none);
    LAUNCH(f, 1, 0, 1, 64, 1, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 1025, 1, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 64, 32, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 1024, 1, 1, 0, none, params, none);
    LAUNCH(f, 1, 1, 1, 64, 1, 1, 65536, none, params, none);
    LAUNCH(f, 1, 1, 1, 64, 1, 1, 65537, none, params, none);
    CALL(hipDeviceSynchronize);
    for (attribute = 0; attribute < 12; attribute++) {
        snprintf(what, sizeof(what), "function attribute %d", attribute);
        value = -1;
        status = FN(hipFuncGetAttribute)(&value, attribute, f);
        say_value(what, status, value);
    }
    CALL(hipFuncGetAttribute, NOTHING, 0, f);
    CALL(hipFuncGetAttribute, &value, 0, none);
    GIVES(value, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, &value, f,
          64, (size_t)0);
    CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, &value, f, 0,
         (size_t)0);
    CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, NOTHING, f, 64,
         (size_t)0);
}

/* Pointers into LDS: the runtime says where they point. */
static void local_pointers(void)
{
    static const unsigned passed[][5] = {
        {0, 0, 7, 0, 0}, {64, 128, 7, 1024, 4096}, {3, 5, 9, 11, 13}};
    static const unsigned dynamic[] = {0, 512};
    void *f = kernel(images[0], "local_pointers"), *none = NULL;
    size_t i, k;

    for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        for (k = 0; k < 2; k++) {
            struct {
                void *p;
                unsigned v[5];
            } a;
            void *params[] = {&a.p,    &a.v[0], &a.v[1],
                              &a.v[2], &a.v[3], &a.v[4]};
            unsigned got[6] = {0};

            memcpy(a.v, passed[i], sizeof(a.v));
            FN(hipMalloc)(&a.p, (size_t)4096);
            LAUNCH(f, 1, 1, 1, 64, 1, 1, dynamic[k], none, params, none);
            CALL(hipMemcpy, got, a.p, sizeof(got), 2);
            printf("pointers into LDS: %u %u %u %u, a number: %u\n", got[0],
                   got[1], got[2], got[3], got[4]);
        }
}

/* ---- streams and events ---- */

static void streams(void)
{
    void *s = NULL, *none = NULL, *a = NULL, *b = NULL;
    unsigned flags = 99;
    int least = 99, greatest = 99, priority = 99;
    float ms = 0;

    CALL(hipStreamCreate, NOTHING);
    CALL(hipStreamCreateWithFlags, &s, 77);
    CALL(hipStreamCreateWithFlags, NOTHING, 0);
    CALL(hipStreamCreateWithFlags, &s, 1);
    GIVES(flags, hipStreamGetFlags, s, &flags);
    CALL(hipStreamGetFlags, s, NOTHING);
    GIVES(priority, hipStreamGetPriority, s, &priority);
    CALL(hipStreamGetPriority, s, NOTHING);
    CALL(hipStreamQuery, s);
    CALL(hipStreamSynchronize, s);
    CALL(hipStreamQuery, none);
    CALL(hipStreamSynchronize, none);
    CALL(hipStreamWaitEvent, s, none, 0);
    CALL(hipStreamDestroy, none);
    CALL(hipStreamAddCallback, s, NOTHING, NOTHING, 0);
    GIVES(least * 100 + greatest, hipDeviceGetStreamPriorityRange, &least,
          &greatest);
    CALL(hipEventCreate, NOTHING);
    CALL(hipEventCreateWithFlags, &a, 0x1234);
    CALL(hipEventCreate, &a);
    CALL(hipEventCreateWithFlags, &b, 2);
    CALL(hipEventQuery, a);
    CALL(hipEventQuery, none);
    CALL(hipEventSynchronize, a);
    CALL(hipEventSynchronize, none);
    CALL(hipEventRecord, none, none);
    CALL(hipEventElapsedTime, &ms, a, a);
    CALL(hipEventRecord, a, s);
    CALL(hipEventSynchronize, a);
    CALL(hipEventQuery, a);
    CALL(hipEventElapsedTime, &ms, a, a);
    CALL(hipEventElapsedTime, NOTHING, a, a);
    CALL(hipEventElapsedTime, &ms, none, a);
    CALL(hipEventRecord, b, s);
    CALL(hipEventSynchronize, b);
    CALL(hipEventElapsedTime, &ms, a, b);
    CALL(hipStreamWaitEvent, s, a, 0);
    CALL(hipEventDestroy, none);
    CALL(hipEventDestroy, a);
    CALL(hipEventDestroy, b);
    CALL(hipStreamDestroy, s);
}

/* ---- streams that record ---- */

/*
 * Calls while a stream is captured, in the three modes. A line is a capture's
 * mode; in it, six cells: for the three modes that a thread may set for itself,
 * the call by the thread that captures and by another. A cell has the call's
 * status, what asking for the capture's state answers, the state, what the
 * capture's end answers, and the types of the nodes that were recorded.
 *
 * One row a call: a name, the release that has it, and the call. `s` records,
 * `o` is another stream, "_null" the default one, with captured streams that
 * wait for it and that do not. Event `done` was recorded on another
 * stream, `before` on `s` before the capture, `inside` during the capture.
 */
#define CAPTURED_CALLS(X)                                                      \
    X(hipMalloc, 5, hipMalloc, &p, (size_t)64)                                 \
    X(hipMallocManaged, 5, hipMallocManaged, &p, (size_t)64, 1)                \
    X(hipMallocPitch, 5, hipMallocPitch, &p, &n, (size_t)64, (size_t)2)        \
    X(hipMemAllocPitch, 5, hipMemAllocPitch, &p, &n, (size_t)64, (size_t)2, 4) \
    X(hipExtMallocWithFlags, 5, hipExtMallocWithFlags, &p, (size_t)64, 0)      \
    X(hipHostMalloc, 5, hipHostMalloc, &p, (size_t)64, 0)                      \
    X(hipMallocHost, 5, hipMallocHost, &p, (size_t)64)                         \
    X(hipMemAllocHost, 5, hipMemAllocHost, &p, (size_t)64)                     \
    X(hipHostAlloc, 5, hipHostAlloc, &p, (size_t)64, 0)                        \
    X(hipFree, 5, hipFree, c->fresh)                                           \
    X(hipFree_NULL, 5, hipFree, NOTHING)                                       \
    X(hipHostFree, 5, hipHostFree, c->pinned)                                  \
    X(hipFreeHost, 5, hipFreeHost, c->pinned)                                  \
    X(hipHostRegister, 5, hipHostRegister, plain, (size_t)4096, 0)             \
    X(hipHostUnregister, 5, hipHostUnregister, plain)                          \
    X(hipHostGetDevicePointer, 5, hipHostGetDevicePointer, &p, c->pinned, 0)   \
    X(hipHostGetFlags, 5, hipHostGetFlags, &n, c->pinned)                      \
    X(hipMemGetInfo, 5, hipMemGetInfo, &n, &n)                                 \
    X(hipMemGetAddressRange, 5, hipMemGetAddressRange, &p, &n, a)              \
    X(hipMemPtrGetInfo, 5, hipMemPtrGetInfo, a, &n)                            \
    X(hipPointerGetAttributes, 5, hipPointerGetAttributes, room, a)            \
    X(hipMemAdvise, 5, hipMemAdvise, managed, (size_t)4096, 1, 0)              \
    X(hipMemPrefetchAsync, 5, hipMemPrefetchAsync, managed, (size_t)4096, 0,   \
      c->s)                                                                    \
    X(hipMemPrefetchAsync_o, 5, hipMemPrefetchAsync, managed, (size_t)4096, 0, \
      c->o)                                                                    \
    X(hipMemRangeGetAttribute, 7, hipMemRangeGetAttribute, room, (size_t)4, 1, \
      managed, (size_t)4096)                                                   \
    X(hipMemcpy, 5, hipMemcpy, a, b, (size_t)64, 3)                            \
    X(hipMemcpy_plain, 5, hipMemcpy, a, plain, (size_t)64, 1)                  \
    X(hipMemcpyHtoD, 5, hipMemcpyHtoD, a, plain, (size_t)64)                   \
    X(hipMemcpyDtoH, 5, hipMemcpyDtoH, plain, a, (size_t)64)                   \
    X(hipMemcpyDtoD, 5, hipMemcpyDtoD, a, b, (size_t)64)                       \
    X(hipMemcpy2D, 5, hipMemcpy2D, a, (size_t)16, b, (size_t)16, (size_t)8,    \
      (size_t)2, 3)                                                            \
    X(hipMemcpyPeer, 5, hipMemcpyPeer, a, 0, b, 0, (size_t)64)                 \
    X(hipMemset, 5, hipMemset, a, 1, (size_t)64)                               \
    X(hipMemsetD8, 5, hipMemsetD8, a, 1, (size_t)64)                           \
    X(hipMemsetD16, 5, hipMemsetD16, a, 1, (size_t)32)                         \
    X(hipMemsetD32, 5, hipMemsetD32, a, 1, (size_t)16)                         \
    X(hipMemset2D, 5, hipMemset2D, a, (size_t)16, 1, (size_t)8, (size_t)2)     \
    X(hipMemcpyAsync, 5, hipMemcpyAsync, a, b, (size_t)64, 3, c->s)            \
    X(hipMemcpyAsync_o, 5, hipMemcpyAsync, a, b, (size_t)64, 3, c->o)          \
    X(hipMemcpyAsync_null, 5, hipMemcpyAsync, a, b, (size_t)64, 3, NOTHING)    \
    X(hipMemcpyHtoDAsync, 5, hipMemcpyHtoDAsync, a, pinned, (size_t)64, c->s)  \
    X(hipMemcpyDtoHAsync, 5, hipMemcpyDtoHAsync, pinned, a, (size_t)64, c->s)  \
    X(hipMemcpyDtoDAsync, 5, hipMemcpyDtoDAsync, a, b, (size_t)64, c->s)       \
    X(hipMemcpyDtoDAsync_o, 5, hipMemcpyDtoDAsync, a, b, (size_t)64, c->o)     \
    X(hipMemcpyWithStream, 5, hipMemcpyWithStream, a, b, (size_t)64, 3, c->s)  \
    X(hipMemcpyWithStream_o, 5, hipMemcpyWithStream, a, b, (size_t)64, 3,      \
      c->o)                                                                    \
    X(hipMemcpyWithStream_null, 5, hipMemcpyWithStream, a, b, (size_t)64, 3,   \
      NOTHING)                                                                 \
    X(hipMemcpy2DAsync, 5, hipMemcpy2DAsync, a, (size_t)16, b, (size_t)16,     \
      (size_t)8, (size_t)2, 3, c->s)                                           \
    X(hipMemcpyPeerAsync, 5, hipMemcpyPeerAsync, a, 0, b, 0, (size_t)64, c->s) \
    X(hipMemcpyPeerAsync_o, 5, hipMemcpyPeerAsync, a, 0, b, 0, (size_t)64,     \
      c->o)                                                                    \
    X(hipMemsetAsync, 5, hipMemsetAsync, a, 1, (size_t)64, c->s)               \
    X(hipMemsetAsync_o, 5, hipMemsetAsync, a, 1, (size_t)64, c->o)             \
    X(hipMemsetAsync_null, 5, hipMemsetAsync, a, 1, (size_t)64, NOTHING)       \
    X(hipMemsetD8Async, 5, hipMemsetD8Async, a, 1, (size_t)64, c->s)           \
    X(hipMemsetD32Async, 5, hipMemsetD32Async, a, 1, (size_t)16, c->s)         \
    X(hipMemset2DAsync, 7, hipMemset2DAsync, a, (size_t)16, 1, (size_t)8,      \
      (size_t)2, c->s)                                                         \
    X(hipStreamSynchronize, 5, hipStreamSynchronize, c->s)                     \
    X(hipStreamSynchronize_o, 5, hipStreamSynchronize, c->o)                   \
    X(hipStreamSynchronize_null, 5, hipStreamSynchronize, NOTHING)             \
    X(hipStreamQuery, 5, hipStreamQuery, c->s)                                 \
    X(hipStreamQuery_o, 5, hipStreamQuery, c->o)                               \
    X(hipStreamQuery_null, 5, hipStreamQuery, NOTHING)                         \
    X(hipStreamWaitEvent, 5, hipStreamWaitEvent, c->s, done, 0)                \
    X(hipStreamWaitEvent_o, 5, hipStreamWaitEvent, c->o, done, 0)              \
    X(hipStreamWaitEvent_null, 5, hipStreamWaitEvent, NOTHING, done, 0)        \
    X(hipStreamCreate, 5, hipStreamCreate, &p)                                 \
    X(hipStreamCreateWithFlags, 5, hipStreamCreateWithFlags, &p, 1)            \
    X(hipStreamDestroy_o, 5, hipStreamDestroy, c->spare)                       \
    X(hipStreamGetFlags, 5, hipStreamGetFlags, c->s, &n)                       \
    X(hipStreamGetPriority, 5, hipStreamGetPriority, c->s, &n)                 \
    X(hipStreamIsCapturing_null, 5, hipStreamIsCapturing, NOTHING, &n)         \
    X(hipStreamGetCaptureInfo, 5, hipStreamGetCaptureInfo, c->s, &n, &m)       \
    X(hipStreamBeginCapture, 5, hipStreamBeginCapture, c->s, 0)                \
    X(hipStreamAddCallback, 5, hipStreamAddCallback, c->s, nothing, NOTHING,   \
      0)                                                                       \
    X(hipStreamAddCallback_o, 5, hipStreamAddCallback, c->o, nothing, NOTHING, \
      0)                                                                       \
    X(hipLaunchHostFunc, 7, hipLaunchHostFunc, c->s, nothing, NOTHING)         \
    X(hipLaunchHostFunc_o, 7, hipLaunchHostFunc, c->o, nothing, NOTHING)       \
    X(hipStreamWriteValue32, 5, hipStreamWriteValue32, c->s, a, 1, 0)          \
    X(hipStreamWriteValue32_o, 5, hipStreamWriteValue32, c->o, a, 1, 0)        \
    X(hipStreamWriteValue64, 5, hipStreamWriteValue64, c->s, a, 1l, 0)         \
    X(hipStreamAttachMemAsync, 5, hipStreamAttachMemAsync, c->s, managed,      \
      (size_t)4096, 4)                                                         \
    X(hipEventCreate, 5, hipEventCreate, &p)                                   \
    X(hipEventDestroy, 5, hipEventDestroy, c->event)                           \
    X(hipEventRecord, 5, hipEventRecord, c->event, c->s)                       \
    X(hipEventRecord_o, 5, hipEventRecord, c->event, c->o)                     \
    X(hipEventRecord_null, 5, hipEventRecord, c->event, NOTHING)               \
    X(hipEventQuery, 5, hipEventQuery, done)                                   \
    X(hipEventQuery_new, 5, hipEventQuery, c->event)                           \
    X(hipEventSynchronize, 5, hipEventSynchronize, done)                       \
    X(hipEventSynchronize_new, 5, hipEventSynchronize, c->event)               \
    X(hipEventElapsedTime, 5, hipEventElapsedTime, room, done, done)           \
    X(hipDeviceSynchronize, 5, hipDeviceSynchronize, NOTHING)                  \
    X(hipCtxSynchronize, 5, hipCtxSynchronize, NOTHING)                        \
    X(hipSetDevice, 5, hipSetDevice, 0)                                        \
    X(hipGetDevice, 5, hipGetDevice, &n)                                       \
    X(hipDeviceSetCacheConfig, 5, hipDeviceSetCacheConfig, 0)                  \
    X(hipDeviceGetCacheConfig, 5, hipDeviceGetCacheConfig, &n)                 \
    X(hipDeviceSetSharedMemConfig, 5, hipDeviceSetSharedMemConfig, 0)          \
    X(hipDeviceGetSharedMemConfig, 5, hipDeviceGetSharedMemConfig, &n)         \
    X(hipDeviceGetLimit, 5, hipDeviceGetLimit, &n, 2)                          \
    X(hipDeviceGetAttribute, 5, hipDeviceGetAttribute, &n, 0, 0)               \
    X(hipDeviceGetStreamPriorityRange, 5, hipDeviceGetStreamPriorityRange, &n, \
      &m)                                                                      \
    X(hipDeviceEnablePeerAccess, 5, hipDeviceEnablePeerAccess, 1, 0)           \
    X(hipDeviceDisablePeerAccess, 5, hipDeviceDisablePeerAccess, 1)            \
    X(hipDeviceGetDefaultMemPool, 5, hipDeviceGetDefaultMemPool, &p, 0)        \
    X(hipDeviceGetMemPool, 5, hipDeviceGetMemPool, &p, 0)                      \
    X(hipDeviceSetMemPool, 5, hipDeviceSetMemPool, 0, pool)                    \
    X(hipMemPoolCreate, 5, hipMemPoolCreate, &p, pool_properties)              \
    X(hipMemPoolTrimTo, 5, hipMemPoolTrimTo, pool, (size_t)0)                  \
    X(hipMemPoolGetAttribute, 5, hipMemPoolGetAttribute, pool, 4, room)        \
    X(hipMallocAsync, 7, hipMallocAsync, &p, (size_t)64, c->s)                 \
    X(hipDeviceGraphMemTrim, 7, hipDeviceGraphMemTrim, 0)                      \
    X(hipModuleLoadData, 5, hipModuleLoadData, &p, images[0])                  \
    X(hipModuleUnload, 5, hipModuleUnload, c->module)                          \
    X(hipModuleGetFunction, 5, hipModuleGetFunction, &p, c->module, "step")    \
    X(hipModuleGetGlobal, 5, hipModuleGetGlobal, &p, &n, c->module, "counter") \
    X(hipFuncGetAttribute, 5, hipFuncGetAttribute, &n, 0, f)                   \
    X(hipModuleLaunchKernel, 7, hipModuleLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, \
      c->s, NOTHING, NOTHING)                                                  \
    X(hipModuleLaunchKernel_o, 5, hipModuleLaunchKernel, f, 1, 1, 1, 1, 1, 1,  \
      0, c->o, NOTHING, NOTHING)                                               \
    X(hipModuleLaunchKernel_null, 5, hipModuleLaunchKernel, f, 1, 1, 1, 1, 1,  \
      1, 0, NOTHING, NOTHING, NOTHING)                                         \
    X(hipGraphCreate, 5, hipGraphCreate, &p, 0)                                \
    X(hipGraphInstantiate, 5, hipGraphInstantiate, &p, graph, NOTHING,         \
      NOTHING, (size_t)0)                                                      \
    X(hipGraphLaunch, 5, hipGraphLaunch, exec, c->s)                           \
    X(hipGraphLaunch_o, 5, hipGraphLaunch, exec, c->o)                         \
    X(hipGraphLaunch_null, 5, hipGraphLaunch, exec, NOTHING)                   \
    X(hipMalloc3D, 5, hipMalloc3D, room, box)                                  \
    X(hipMallocArray, 5, hipMallocArray, &p, format, (size_t)16, (size_t)2, 0) \
    X(hipMemset3D, 5, hipMemset3D, pitched, 1, box)                            \
    X(hipMemset3DAsync, 7, hipMemset3DAsync, pitched, 1, box, c->s)            \
    X(hipMemcpy3D, 5, hipMemcpy3D, &boxes)                                     \
    X(hipMemcpy3DAsync, 5, hipMemcpy3DAsync, &boxes, c->s)                     \
    X(hipMemsetD2D8, 7, hipMemsetD2D8, a, (size_t)16, 1, (size_t)8, (size_t)2) \
    X(hipMemsetD2D8Async, 7, hipMemsetD2D8Async, a, (size_t)16, 1, (size_t)8,  \
      (size_t)2, c->s)                                                         \
    X(hipStreamWaitValue32, 5, hipStreamWaitValue32, c->s, a, 0, 0, -1)        \
    X(hipStreamWaitValue32_o, 5, hipStreamWaitValue32, c->o, a, 0, 0, -1)      \
    X(hipStreamWaitEvent_before, 5, hipStreamWaitEvent, c->s, c->before, 0)    \
    X(hipStreamWaitEvent_before_o, 5, hipStreamWaitEvent, c->o, c->before, 0)  \
    X(hipStreamWaitEvent_new, 5, hipStreamWaitEvent, c->s, c->event, 0)        \
    X(hipStreamWaitEvent_inside, 5, hipStreamWaitEvent, c->s, c->inside, 0)    \
    X(hipStreamWaitEvent_inside_o, 5, hipStreamWaitEvent, c->o, c->inside, 0)  \
    X(hipEventQuery_before, 5, hipEventQuery, c->before)                       \
    X(hipEventQuery_inside, 5, hipEventQuery, c->inside)                       \
    X(hipEventSynchronize_before, 5, hipEventSynchronize, c->before)           \
    X(hipEventSynchronize_inside, 5, hipEventSynchronize, c->inside)           \
    X(hipEventElapsedTime_inside, 5, hipEventElapsedTime, room, c->before,     \
      c->inside)                                                               \
    X(hipEventRecord_inside_o, 5, hipEventRecord, c->inside, c->o)             \
    X(hipEventRecordWithFlags, 7, hipEventRecordWithFlags, c->event, c->s, 1)  \
    X(hipDeviceSetLimit, 7, hipDeviceSetLimit, 2, (size_t)8388608)             \
    X(hipMemPoolSetAttribute, 5, hipMemPoolSetAttribute, pool, 4, room)        \
    X(hipExtModuleLaunchKernel, 7, hipExtModuleLaunchKernel, f, 1, 1, 1, 1, 1, \
      1, (size_t)0, c->s, NOTHING, NOTHING, NOTHING, NOTHING, 0)               \
    X(hipModuleLaunchCooperativeKernel, 7, hipModuleLaunchCooperativeKernel,   \
      f, 1, 1, 1, 1, 1, 1, 0, c->s, NOTHING)                                   \
    X(hipModuleOccupancyMaxPotentialBlockSize, 7,                              \
      hipModuleOccupancyMaxPotentialBlockSize, &n, &m, f, (size_t)0, 0)        \
    X(hipLibraryLoadData, 7, hipLibraryLoadData, &p, images[0], NOTHING,       \
      NOTHING, 0, NOTHING, NOTHING, 0)                                         \
    X(hipMemAdvise_v2, 7, hipMemAdvise_v2, managed, (size_t)4096, 1, place)    \
    X(hipMemPrefetchAsync_v2, 7, hipMemPrefetchAsync_v2, managed,              \
      (size_t)4096, place, 0, c->o)                                            \
    X(hipMemAddressReserve, 7, hipMemAddressReserve, &p, (size_t)65536,        \
      (size_t)0, NOTHING, 0l)                                                  \
    X(hipMemCreate, 7, hipMemCreate, &p, (size_t)2097152, &physical, 0l)       \
    X(hipStreamCreateWithPriority, 5, hipStreamCreateWithPriority, &p, 1, 0)   \
    X(hipStreamCopyAttributes, 7, hipStreamCopyAttributes, c->s, c->o)         \
    X(hipStreamGetId, 7, hipStreamGetId, c->s, &n)                             \
    X(hipMemcpy3DPeer, 7, hipMemcpy3DPeer, &peers)                             \
    X(hipMemcpy3DPeerAsync, 7, hipMemcpy3DPeerAsync, &peers, c->s)             \
    X(hipMallocFromPoolAsync, 7, hipMallocFromPoolAsync, &p, (size_t)64, pool, \
      c->s)                                                                    \
    X(hipMallocFromPoolAsync_o, 7, hipMallocFromPoolAsync, &p, (size_t)64,     \
      pool, c->o)                                                              \
    X(hipFreeAsync, 7, hipFreeAsync, c->pooled, c->s)                          \
    X(hipFreeAsync_o, 7, hipFreeAsync, c->pooled, c->o)                        \
    X(hipMallocAsync_o, 7, hipMallocAsync, &p, (size_t)64, c->o)               \
    X(hipGetDeviceFlags, 5, hipGetDeviceFlags, &n)                             \
    X(hipSetDeviceFlags, 5, hipSetDeviceFlags, 0)                              \
    X(hipDevicePrimaryCtxRetain, 5, hipDevicePrimaryCtxRetain, &p, 0)          \
    X(hipPointerSetAttribute, 7, hipPointerSetAttribute, &zero, 6, a)          \
    X(hipGraphUpload, 7, hipGraphUpload, exec, c->s)                           \
    X(hipGraphUpload_o, 7, hipGraphUpload, exec, c->o)                         \
    X(hipEventCreateWithFlags, 5, hipEventCreateWithFlags, &p, 2)              \
    X(hipStreamAddCallback_null, 5, hipStreamAddCallback, NOTHING, nothing,    \
      NOTHING, 0)                                                              \
    X(hipLaunchHostFunc_null, 7, hipLaunchHostFunc, NOTHING, nothing, NOTHING) \
    X(hipStreamWriteValue32_null, 7, hipStreamWriteValue32, NOTHING, a, 1, 0)  \
    X(hipMemcpyAsync_plain, 7, hipMemcpyAsync, a, plain, (size_t)64, 1, c->s)  \
    X(hipMemcpyAsync_plain_o, 7, hipMemcpyAsync, a, plain, (size_t)64, 1,      \
      c->o)                                                                    \
    X(hipMemsetD16Async, 7, hipMemsetD16Async, a, 1, (size_t)32, c->s)         \
    X(hipStreamWaitValue64, 5, hipStreamWaitValue64, c->s, a, 0l, 0, -1l)      \
    X(hipStreamSynchronize_thread, 7, hipStreamSynchronize, per_thread)        \
    X(hipMemsetAsync_thread, 7, hipMemsetAsync, a, 1, (size_t)64, per_thread)  \
    X(hipStreamGetCaptureInfo_v2, 7, hipStreamGetCaptureInfo_v2, c->s, &n, &m, \
      &p, &node, &bytes)                                                       \
    X(hipStreamUpdateCaptureDependencies, 7,                                   \
      hipStreamUpdateCaptureDependencies, c->s, NOTHING, (size_t)0, 0)         \
    X(hipArrayGetInfo, 7, hipArrayGetInfo, room, room + 16, &n, array)         \
    X(hipArrayGetDescriptor, 7, hipArrayGetDescriptor, room, array)            \
    X(hipArray3DGetDescriptor, 7, hipArray3DGetDescriptor, room, array)        \
    X(hipMemcpy2DToArray, 7, hipMemcpy2DToArray, array, (size_t)0, (size_t)0,  \
      a, (size_t)16, (size_t)8, (size_t)2, 3)                                  \
    X(hipMemcpy2DFromArray, 7, hipMemcpy2DFromArray, a, (size_t)16, array,     \
      (size_t)0, (size_t)0, (size_t)8, (size_t)2, 3)                           \
    X(hipMemcpy2DToArrayAsync, 7, hipMemcpy2DToArrayAsync, array, (size_t)0,   \
      (size_t)0, a, (size_t)16, (size_t)8, (size_t)2, 3, c->s)                 \
    X(hipMemcpy2DFromArrayAsync, 7, hipMemcpy2DFromArrayAsync, a, (size_t)16,  \
      array, (size_t)0, (size_t)0, (size_t)8, (size_t)2, 3, c->s)              \
    X(hipMemcpyHtoA_Array, 7, hipMemcpyHtoA, array, (size_t)0, pinned,         \
      (size_t)8)                                                               \
    X(hipMemcpyAtoH_Array, 7, hipMemcpyAtoH, pinned, array, (size_t)0,         \
      (size_t)8)                                                               \
    X(hipMemcpyHtoAAsync_Array, 7, hipMemcpyHtoAAsync, array, (size_t)0,       \
      pinned, (size_t)8, c->s)                                                 \
    X(hipGetLastError, 5, hipGetLastError, NOTHING)

enum captured_call {
#define X(tag, since, name, ...) CALL_##tag,
    CAPTURED_CALLS(X)
#undef X
        NCALLS
};

static const struct {
    const char *tag;
    int since;
} captured_calls[] = {
#define X(tag, since, name, ...) {#tag, since},
    CAPTURED_CALLS(X)
#undef X
};

struct capture {
    enum captured_call call;
    void *s, *o, *spare, *event, *module;
    void *before, *inside; /* events of `s` */
    char *fresh, *pinned, *pooled;
    int status, thread_mode;
    bool has_arrays;
};

/* Structures of HIP that calls take by value or by address. */
struct place {
    int type, id;
};
struct box {
    size_t width, height, depth;
};
struct pitched {
    void *p;
    size_t pitch, width, height;
};
struct physical { /* hipMemAllocationProp */
    int type, handle;
    struct place place;
    void *unused;
    unsigned flags[2];
};

struct peers {
    void *src_array;
    struct box src_at;
    struct pitched src;
    int src_device;
    void *dst_array;
    struct box dst_at;
    struct pitched dst;
    int dst_device;
    struct box size;
};
struct boxes {
    void *src_array;
    struct box src_at;
    struct pitched src;
    void *dst_array;
    struct box dst_at;
    struct pitched dst;
    struct box size;
    int kind;
};

static void nothing(void)
{
}

static void *make_call(void *capture)
{
    static char *a, *b, *managed, *pinned;
    static void *done, *f, *pool, *graph, *exec, *array;
    static char plain[8192] __attribute__((aligned(4096)));
    static unsigned pool_properties[22] = {1, 0, 1, 0};
    static int format[] = {8, 0, 0, 0, 1};
    static long room[256];
    const struct place place = {1, 0};
    const struct box box = {8, 2, 1};
    const struct pitched pitched = {a, 16, 16, 2};
    const struct physical physical = {.type = 1, .place = place};
    struct peers peers = {.src = {b, 16, 16, 2}, .dst = pitched, .size = box};
    void *per_thread = (void *)2;
    size_t bytes = 64, zero = 0;
    struct boxes boxes = {
        .src = {b, 16, 16, 2}, .dst = pitched, .size = box, .kind = 3};
    struct capture *c = capture;
    void *p = NULL, *node;
    long n = 0, m = 0;
    int mode;

    if (!a) {
        FN(hipMalloc)(&a, (size_t)4096);
        FN(hipMalloc)(&b, (size_t)4096);
        FN(hipMallocManaged)(&managed, (size_t)4096, 1);
        FN(hipHostMalloc)(&pinned, (size_t)4096, 0);
        FN(hipEventCreate)(&done);
        FN(hipEventRecord)(done, c->o);
        FN(hipEventSynchronize)(done);
        FN(hipDeviceGetDefaultMemPool)(&pool, 0);
        FN(hipGraphCreate)(&graph, 0);
        FN(hipGraphAddEmptyNode)(&node, graph, NOTHING, (size_t)0);
        FN(hipGraphInstantiate)
        (&exec, graph, NOTHING, NOTHING, (size_t)0);
        f = kernel(images[0], "empty");
        FN(hipMallocArray)(&array, format, (size_t)16, (size_t)2, 0);
        c->has_arrays = array != NULL;
        return NULL;
    }
    mode = c->thread_mode;
    FN(hipThreadExchangeStreamCaptureMode)(&mode);
    switch (c->call) {
#define X(tag, since, name, ...)                                               \
    case CALL_##tag:                                                           \
        c->status = FN(name)(__VA_ARGS__);                                     \
        break;
        CAPTURED_CALLS(X)
#undef X
    case NCALLS:
        break;
    }
    FN(hipThreadExchangeStreamCaptureMode)(&mode);
    return NULL;
}

/* Makes objects again that a call used up. */
static void make_ready(struct capture *c)
{
    if (!c->spare)
        FN(hipStreamCreateWithFlags)(&c->spare, 1);
    if (!c->fresh)
        FN(hipMalloc)(&c->fresh, (size_t)64);
    if (!c->pooled && strstr(captured_calls[c->call].tag, "hipFreeAsync"))
        FN(hipMallocAsync)(&c->pooled, (size_t)64, c->spare);
    if (!c->pinned)
        FN(hipHostMalloc)(&c->pinned, (size_t)64, 0);
    if (!c->module)
        FN(hipModuleLoadData)(&c->module, images[0]);
}

static void forget_what_went(struct capture *c)
{
    if (c->status != 0)
        return;
    if (c->call == CALL_hipStreamDestroy_o)
        c->spare = NULL;
    if (c->call == CALL_hipEventDestroy)
        c->event = NULL;
    if (c->call == CALL_hipFree)
        c->fresh = NULL;
    if (strstr(captured_calls[c->call].tag, "hipFreeAsync"))
        c->pooled = NULL;
    if (c->call == CALL_hipHostFree || c->call == CALL_hipFreeHost)
        c->pinned = NULL;
    if (c->call == CALL_hipModuleUnload)
        c->module = NULL;
}

/* A row's results in text: a line for each mode. */
struct captured_row {
    char name[64], line[3][160];
};

static void add_text(char *line, const char *format, ...)
{
    size_t n = strlen(line);
    va_list args;

    va_start(args, format);
    vsnprintf(line + n, sizeof(((struct captured_row *)0)->line[0]) - n, format,
              args);
    va_end(args);
}

/* One cell of the table: begins a capture, makes the call, ends it. */
static void capture_cell(struct capture *c, int release, int mode,
                         bool elsewhere, char *line)
{
    enum { COPY = 2, COPY_OF_A_LINE = 9 }; /* of HIP 5 */
    void *graph = NULL, *nodes[16];
    size_t n = 0, i;
    int status = -1, ended, type = -1;
    pthread_t thread;

    make_ready(c);
    FN(hipEventCreate)(&c->event);
    FN(hipEventCreate)(&c->inside);
    FN(hipStreamBeginCapture)(c->s, mode);
    FN(hipEventRecord)(c->inside, c->s);
    if (!elsewhere)
        make_call(c);
    else if (pthread_create(&thread, NULL, make_call, c) == 0)
        pthread_join(thread, NULL);
    ended = FN(hipStreamIsCapturing)(c->s, &status);
    add_text(line, " %d:%d/%d", c->status, ended, status);
    ended = FN(hipStreamEndCapture)(c->s, &graph);
    add_text(line, "/%d", ended);
    if (ended == 0 && graph && FN(hipGraphGetNodes)(graph, NOTHING, &n) == 0 &&
        n && n <= 16 && FN(hipGraphGetNodes)(graph, nodes, &n) == 0)
        for (i = 0; i < n; i++) {
            FN(hipGraphNodeGetType)(nodes[i], &type);
            if (release == 5 && type == COPY_OF_A_LINE)
                type = COPY; /* later releases do not tell them apart */
            add_text(line, "%c%d", i ? '+' : '=', type);
        }
    forget_what_went(c);
    if (status != 1 || n) { /* removes the capture's traces */
        FN(hipStreamDestroy)(c->s);
        FN(hipEventDestroy)(c->before);
        c->s = NULL;
        if (strstr(captured_calls[c->call].tag, "_o")) {
            FN(hipStreamDestroy)(c->o);
            c->o = NULL;
        }
    }
    FN(hipEventDestroy)(c->inside);
    if (c->event)
        FN(hipEventDestroy)(c->event);
    FN(hipGetLastError)();
}

static void capture_row(struct capture *c, int release, int flags,
                        struct captured_row *row)
{
    static const char *const modes[] = {"global:", "thread-local:", "relaxed:"};
    int mode, i;

    snprintf(row->name, sizeof(row->name), "%s%s", captured_calls[c->call].tag,
             flags ? ", non-blocking" : "");
    for (mode = 0; mode < 3; mode++) {
        add_text(row->line[mode], "%s", modes[mode]);
        for (i = 0; i < 6; i++) {
            if (!c->s) {
                FN(hipStreamCreateWithFlags)(&c->s, flags);
                FN(hipEventCreate)(&c->before);
                FN(hipEventRecord)(c->before, c->s);
                FN(hipStreamSynchronize)(c->s);
            }
            if (!c->o)
                FN(hipStreamCreateWithFlags)(&c->o, 1);
            c->thread_mode = i / 2;
            capture_cell(c, release, mode, i % 2, row->line[mode]);
        }
    }
}

/* Calls that gave the same stand together. */
static void print_rows(struct captured_row *rows, size_t n)
{
    size_t i, k;
    int mode;

    for (i = 0; i < n; i++) {
        if (!rows[i].name[0])
            continue; /* stands above */
        for (k = n; k-- > i + 1;)
            if (memcmp(rows[i].line, rows[k].line, sizeof(rows[i].line)) != 0)
                continue;
            else
                rows[k].line[0][0] = '\0';
        printf("%s\n", rows[i].name);
        for (k = i + 1; k < n; k++)
            if (rows[k].name[0] && !rows[k].line[0][0]) {
                printf("%s\n", rows[k].name);
                rows[k].name[0] = '\0';
            }
        for (mode = 0; mode < 3; mode++)
            printf("    %s\n", rows[i].line[mode]);
    }
}

static void captures(void)
{
    static struct captured_row rows[2 * NCALLS];
    struct capture c = {.call = NCALLS};
    int release = 0, flags;
    size_t n = 0, i;

    FN(hipRuntimeGetVersion)(&release);
    release /= 10000000;
    FN(hipStreamCreateWithFlags)(&c.o, 1);
    make_call(&c); /* makes objects that every cell uses */
    for (flags = 0; flags < 2; flags++) {
        c.s = c.o = NULL;
        for (i = 0; i < NCALLS; i++) {
            c.call = (enum captured_call)i;
            if (captured_calls[i].since <= release &&
                (c.has_arrays || !strstr(captured_calls[i].tag, "Array")) &&
                (!flags || strstr(captured_calls[i].tag, "_null") ||
                 strstr(captured_calls[i].tag, "Async_o")))
                capture_row(&c, release, flags, &rows[n++]);
        }
    }
    print_rows(rows, n);
}

/* ---- memory apart from addresses, of HIP 7 ---- */

struct access {
    struct place place;
    int flags;
};

static void virtual_memory(void)
{
    enum { PINNED = 1, ON_DEVICE = 1, READ = 1, READ_WRITE = 3 };
    const struct physical how = {.type = PINNED, .place = {ON_DEVICE, 0}};
    const struct access both[] = {{{ON_DEVICE, 0}, READ_WRITE},
                                  {{ON_DEVICE, 1}, READ_WRITE}};
    void *none = NULL, *first = NULL, *second = NULL, *s = NULL, *f;
    char *at = NULL, *async = NULL;
    size_t size = 0, n = (size_t)2 << 20;
    unsigned long long flags = 99;
    unsigned host[64], k = 5, count = 64, i;
    void *params[] = {&at, &k, &count};

    GIVES((long long)size, hipMemGetAllocationGranularity, &size, &how, 0);
    CALL(hipMemAddressReserve, NOTHING, n, (size_t)0, NOTHING, 0l);
    CALL(hipMemAddressReserve, &at, (size_t)0, (size_t)0, NOTHING, 0l);
    CALL(hipMemAddressReserve, &at, 2 * n, (size_t)0, NOTHING, 0l);
    CALL(hipMemCreate, NOTHING, n, &how, 0l);
    CALL(hipMemCreate, &first, n, NOTHING, 0l);
    CALL(hipMemCreate, &first, n, &how, 0l);
    CALL(hipMemCreate, &second, n, &how, 0l);
    CALL(hipMemMap, at, n, (size_t)0, none, 0l);
    CALL(hipMemMap, at, n, (size_t)0, first, 0l);
    CALL(hipMemMap, at + n, n, (size_t)0, second, 0l);
    CALL(hipMemSetAccess, at, 2 * n, &both[0], (size_t)1);
    CALL(hipMemSetAccess, at, n, &both[1], (size_t)1);
    GIVES((long long)flags, hipMemGetAccess, &flags, &both[0].place, at);
    CALL(hipMemsetD32, at, 3, n / 4 + 64); /* into the second */
    f = kernel(images[0], "step");
    LAUNCH(f, 1, 1, 1, 64, 1, 1, 0, none, params, none);
    CALL(hipMemcpyDtoH, host, at, sizeof(host));
    for (i = 0; i < 64 && host[i] == 11; i++)
        ;
    printf("a kernel wrote %u\n", i);
    CALL(hipMemcpyDtoD, at, at + n, sizeof(host));
    CALL(hipMemcpyDtoH, host, at, sizeof(host));
    printf("the second has %u\n", host[63]);
    /* The same memory at another place. */
    CALL(hipMemUnmap, at, n);
    CALL(hipMemUnmap, at + n, n);
    CALL(hipMemMap, at, n, (size_t)0, second, 0l);
    CALL(hipMemSetAccess, at, n, &both[0], (size_t)1);
    CALL(hipMemcpyDtoH, host, at, sizeof(host));
    printf("it has %u there, too\n", host[0]);
    CALL(hipMemRelease, second);
    CALL(hipMemUnmap, at, n);
    CALL(hipMemRelease, first);
    CALL(hipMemAddressFree, at, 2 * n);
    /* Pools are made of such memory. */
    FN(hipStreamCreateWithFlags)(&s, 1);
    CALL(hipMallocAsync, &async, (size_t)1000, s);
    CALL(hipMemsetAsync, async, 7, (size_t)1000, s);
    CALL(hipMemcpyAsync, host, async, sizeof(host), 2, s);
    CALL(hipFreeAsync, async, s);
    CALL(hipStreamSynchronize, s);
    printf("a pool's memory has %x\n", host[9]);
}

/* The error remembered after a failed call. */
static void last_error(void)
{
    int n;

    CALL(hipGetLastError);
    FN(hipSetDevice)(99);
    CALL(hipPeekAtLastError);
    CALL(hipGetLastError);
    CALL(hipGetLastError);
    FN(hipSetDevice)(99);
    FN(hipGetDeviceCount)(&n);
    CALL(hipPeekAtLastError);
    CALL(hipGetLastError);
}

static void contexts(void)
{
    void *ctx = NULL, *none = NULL;
    int n = -1;

    CALL(hipCtxGetCurrent, &ctx);
    CALL(hipCtxGetDevice, &n);
    CALL(hipDevicePrimaryCtxRetain, &ctx, 0);
    CALL(hipDevicePrimaryCtxRetain, &ctx, 99);
    CALL(hipDevicePrimaryCtxRelease, 0);
    CALL(hipDevicePrimaryCtxRelease, 99);
    CALL(hipCtxSynchronize);
    CALL(hipCtxDestroy, none);
    CALL(hipDeviceReset);
}

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {
    {"devices", devices},       {"attributes", attributes},
    {"properties", properties}, {"errors", errors},
    {"memory", memory},         {"pointers", pointers},
    {"modules", modules},       {"launches", launches},
    {"streams", streams},       {"last_error", last_error},
    {"contexts", contexts},     {"local_pointers", local_pointers},
    {"captures", captures},     {"virtual_memory", virtual_memory},
};

static void *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    long n;
    bool ok = false;

    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) > 0 &&
        fseek(f, 0, SEEK_SET) == 0) {
        bytes = aligned_alloc(4096, ((size_t)n + 4095) & ~(size_t)4095);
        ok = bytes && fread(bytes, 1, (size_t)n, f) == (size_t)n;
    }
    if (f)
        (void)fclose(f);
    if (ok)
        return bytes;
    free(bytes);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t g;
    int i;

    if (argc < 5) {
        fprintf(stderr, "usage: agree LIBRARY GROUP FILE FILE [FILE]\n");
        return 2;
    }
    for (i = 3; i < argc && i < 6; i++)
        images[i - 3] = read_file(argv[i]);
    library = dlopen(argv[1], RTLD_NOW);
    if (!library || !images[0] || !images[1]) {
        fprintf(stderr, "agree: %s\n", library ? "no code object" : dlerror());
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
        if (strcmp(groups[g].name, argv[2]) == 0) {
            groups[g].run();
            fflush(NULL);
            _exit(0); /* without the runtime's farewell */
        }
    fprintf(stderr, "agree: no group %s\n", argv[2]);
    return 2;
}
