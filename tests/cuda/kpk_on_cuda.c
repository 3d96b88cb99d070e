/* kpk_on_cuda.c - the calls of kpack.h that the kernel tests need, on CUDA
 *
 * With it instead of libkpack.a, the programs of tests/kernels run the sm_NN
 * cubins on an NVIDIA GPU: the same rows, the same references. KPK_CUBINS is
 * the folder of the cubins, build/hsaco/sm_90 unless set. Cubins have no second
 * names: kernels/aliases.csv tells the first ones.
 */
#include "kpack.h"

#include "../bench/gpu/cuda_api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_api cuda;

struct kpk_module {
    const char *name;
};

struct kpk_instance {
    CUmodule module;
};

/* A kernel is the driver's own handle under our name. */
struct kpk_kernel;

#define MODULE(name)                                                           \
    extern const kpk_module kpk_module_##name;                                 \
    const kpk_module kpk_module_##name = {#name};
MODULE(affine)
MODULE(binary)
MODULE(cast)
MODULE(conv)
MODULE(fill)
MODULE(gemm)
MODULE(indexing)
MODULE(mmvq_gguf)
MODULE(quantized)
MODULE(reduce)
MODULE(sort)
MODULE(ternary)
MODULE(unary)
MODULE(vector_add)

static char message[512];

static kpk_status fail(kpk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static kpk_status fail(kpk_status status, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    return status;
}

const char *kpk_error_message(void)
{
    return message;
}

static kpk_status check(CUresult result, const char *what)
{
    const char *name = "unknown error";

    if (result == 0)
        return KPK_OK;
    cuda.cuGetErrorName(result, &name);
    return fail(KPK_ERR_HIP, "%s: %s", what, name);
}
#define CHECK(call) check((call), #call)

/* ---- the device ---- */

kpk_status kpk_device_count(int *out)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);

    if (!lib)
        return fail(KPK_ERR_NO_HIP, "no CUDA driver: %s", dlerror());
#define BIND(name, exported, args)                                             \
    *(void **)&cuda.name = dlsym(lib, #exported);                              \
    if (!cuda.name)                                                            \
        return fail(KPK_ERR_NO_HIP, #exported " is not in libcuda.so.1");
    CUDA_TABLE(BIND)
#undef BIND
    *out = 1; /* one is enough to test on */
    return CHECK(cuda.cuInit(0));
}

kpk_status kpk_device_get(int device, kpk_device *out)
{
    enum { MAJOR = 75, MINOR = 76 }; /* compute capability */
    CUdevice d;
    int major, minor;
    kpk_status st = CHECK(cuda.cuDeviceGet(&d, device));

    memset(out, 0, sizeof(*out));
    out->wave_size = 32;
    if (st == KPK_OK)
        st = CHECK(cuda.cuDeviceGetAttribute(&major, MAJOR, d));
    if (st == KPK_OK)
        st = CHECK(cuda.cuDeviceGetAttribute(&minor, MINOR, d));
    if (st == KPK_OK)
        snprintf(out->target, sizeof(out->target), "sm_%d%d", major, minor);
    return st;
}

kpk_status kpk_open_modules(const kpk_module *const *modules, size_t n,
                            int device, kpk_instance **out)
{
    const char *dir = getenv("KPK_CUBINS");
    kpk_instance *inst = calloc(1, sizeof(*inst));
    char path[512];
    CUcontext context;
    kpk_status st;

    if (!inst || n != 1)
        abort();
    snprintf(path, sizeof(path), "%s/%s.cubin", dir ? dir : "build/hsaco/sm_90",
             modules[0]->name);
    st = CHECK(cuda.cuDevicePrimaryCtxRetain(&context, device));
    if (st == KPK_OK)
        st = CHECK(cuda.cuCtxSetCurrent(context));
    if (st == KPK_OK)
        st = check(cuda.cuModuleLoad(&inst->module, path), path);
    if (st == KPK_OK)
        *out = inst;
    else
        free(inst);
    return st;
}

kpk_status kpk_close(kpk_instance *inst)
{
    free(inst);
    return KPK_OK;
}

/* ---- memory ---- */

static CUdeviceptr address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

kpk_status kpk_malloc(kpk_instance *inst, size_t nbytes, void **out)
{
    CUdeviceptr p = 0;
    const kpk_status st = CHECK(cuda.cuMemAlloc(&p, nbytes));

    (void)inst;
    *out = (void *)(uintptr_t)p;
    return st;
}

kpk_status kpk_free(kpk_instance *inst, void *p)
{
    (void)inst;
    return CHECK(cuda.cuMemFree(address(p)));
}

kpk_status kpk_fill(kpk_instance *inst, void *dst, uint8_t value, size_t nbytes)
{
    (void)inst;
    return CHECK(cuda.cuMemsetD8(address(dst), value, nbytes));
}

kpk_status kpk_copy_to(kpk_instance *inst, void *dst, const void *src,
                       size_t nbytes)
{
    (void)inst;
    return CHECK(cuda.cuMemcpyHtoD(address(dst), src, nbytes));
}

kpk_status kpk_copy_from(kpk_instance *inst, void *dst, const void *src,
                         size_t nbytes)
{
    (void)inst;
    return CHECK(cuda.cuMemcpyDtoH(dst, address(src), nbytes));
}

/* ---- kernels ---- */

/* text with each `from` in it replaced; false if it has none or is too long */
static bool replace(char *out, size_t size, const char *text, const char *from,
                    const char *to)
{
    const char *at = strstr(text, from);
    size_t used = 0;

    if (!at)
        return false;
    for (; at; text = at + strlen(from), at = strstr(text, from)) {
        const int n = snprintf(out + used, size - used, "%.*s%s",
                               (int)(at - text), text, to);

        if (n < 0 || (size_t)n >= size - used)
            return false;
        used += (size_t)n;
    }
    return (size_t)snprintf(out + used, size - used, "%s", text) < size - used;
}

/* Looks for the kernel by the names that it may be the second one of. */
static CUresult find_aliased(CUfunction *f, CUmodule module, const char *name)
{
    FILE *csv = fopen("kernels/aliases.csv", "r");
    CUresult result = 500; /* not found */
    char line[256], first[256];

    while (csv && result != 0 && fgets(line, sizeof(line), csv)) {
        char *rest = NULL;
        const char *of = strtok_r(line, ",\n", &rest);
        const char *text = strtok_r(NULL, ",\n", &rest);
        const char *alias = strtok_r(NULL, ",\n", &rest);

        if (of && alias && replace(first, sizeof(first), name, alias, text))
            result = cuda.cuModuleGetFunction(f, module, first);
    }
    if (csv)
        (void)fclose(csv);
    return result;
}

kpk_status kpk_kernel_get(kpk_instance *inst, const char *name,
                          const kpk_kernel **out)
{
    CUfunction f = NULL;
    CUresult result = cuda.cuModuleGetFunction(&f, inst->module, name);

    if (result != 0)
        result = find_aliased(&f, inst->module, name);
    *out = (const kpk_kernel *)(const void *)f;
    return check(result, name);
}

kpk_status kpk_launch(const kpk_kernel *kernel, const kpk_shape *s,
                      void *stream, const kpk_arg *args, size_t nargs)
{
    enum { MAX_DYNAMIC_SHARED = 8 };
    CUfunction f = (CUfunction)(void *)(uintptr_t)kernel;
    void *values[KPK_MAX_ARGS];
    kpk_status st = KPK_OK;

    for (size_t i = 0; i < nargs; i++)
        values[i] = (void *)(uintptr_t)args[i].value;
    if (s->shared_nbytes > 48 * 1024)
        st = CHECK(cuda.cuFuncSetAttribute(f, MAX_DYNAMIC_SHARED,
                                           (int)s->shared_nbytes));
    if (st == KPK_OK)
        st = CHECK(cuda.cuLaunchKernel(f, s->grid[0], s->grid[1], s->grid[2],
                                       s->block[0], s->block[1], s->block[2],
                                       s->shared_nbytes, stream, values, NULL));
    return st;
}

kpk_status kpk_sync(kpk_instance *inst, void *stream)
{
    (void)inst;
    (void)stream;
    return CHECK(cuda.cuCtxSynchronize());
}

/* ---- what a cubin does not tell: every kernel asked for is taken to be ----
 */

size_t kpk_module_kernel_count(const kpk_module *module)
{
    (void)module;
    return 0;
}

kpk_status kpk_module_kernel(const kpk_module *module, size_t kernel,
                             kpk_kernel_decl *out)
{
    (void)out;
    return fail(KPK_ERR_ARG, "%s: kernel %zu is not listed", module->name,
                kernel);
}

kpk_status kpk_module_find_kernel(const kpk_module *module, const char *name,
                                  size_t *out)
{
    (void)module;
    (void)name;
    *out = 0;
    return KPK_OK;
}
