/* bench_cuda.c - finds the CUDA driver and its functions */
#include "bench_cuda.h"
#include "bench_launch.h"

#include <dlfcn.h>

struct cuda_api cuda;

void bench_check(CUresult result, const char *what)
{
    const char *name = "unknown error";

    if (result == 0)
        return;
    if (cuda.cuGetErrorName)
        cuda.cuGetErrorName(result, &name);
    bench_die(what, name);
}

void bench_bind_cuda(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);

    if (!lib)
        bench_die("no CUDA driver on this machine", dlerror());
#define BIND(name, exported, args)                                             \
    *(void **)&cuda.name = dlsym(lib, #exported);                              \
    if (!cuda.name)                                                            \
        bench_die(#exported, "not in libcuda.so.1");
    CUDA_TABLE(BIND)
#undef BIND
}
