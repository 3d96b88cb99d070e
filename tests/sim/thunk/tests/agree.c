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
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *library;
static void *images[3];

/* Calls NAME with arguments of which HIP's functions have nothing but words. */
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

    /* HIP 7 does not fill these in where there are no images. */
    FN(hipDeviceGetAttribute)(&images, 10014, 0);
    for (i = 0; i < 95; i++)
        if (i != 24 && ((int)images || (i != 44 && i != 50 && i != 51)))
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
 * and managed memory by the driver's page faults (772, 24). */
static void properties(void)
{
    static unsigned char p[2048];
    unsigned i;

    CALL(hipGetDeviceProperties, NOTHING, 0);
    CALL(hipGetDeviceProperties, p, 99);
    CALL(hipGetDeviceProperties, p, 0);
    printf("name %s, architecture %s\n", (char *)p, (char *)p + 396);
    for (i = 256; i < 792; i += 4) {
        int v;

        if ((i >= 396 && i < 652) || (i >= 696 && i < 712) || i == 764 ||
            i == 772)
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

/* What is remembered of a call that failed. */
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
