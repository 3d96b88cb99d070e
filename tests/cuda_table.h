/* cuda_table.h - some of the CUDA driver's functions, found at run time
 *
 * Who includes it has defined CUDA_TABLE(X) before: a row X(name, (arguments))
 * for each function, by its exported name. Results are a CUresult, 0 if good.
 */
#ifndef TESTS_CUDA_TABLE_H
#define TESTS_CUDA_TABLE_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static struct {
#define X(name, args) int(*name) args;
    CUDA_TABLE(X)
#undef X
} cuda;

/* Fills `cuda` from a driver that dlopen() gave. Returns NULL, or a missing
 * function's name. */
static const char *fill_cuda(void *driver)
{
#define X(name, args)                                                          \
    {                                                                          \
        void *at = dlsym(driver, #name);                                       \
        if (!at)                                                               \
            return #name;                                                      \
        memcpy(&cuda.name, &at, sizeof(at));                                   \
    }
    CUDA_TABLE(X)
#undef X
    return NULL;
}

#endif
