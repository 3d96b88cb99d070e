#include "levels.h"

#include <kpack.h>
#include <kpack/halves/halve.h>

#include <stdio.h>

int levels_halve(float *samples, unsigned n)
{
    const size_t nbytes = n * sizeof(*samples);
    const kpk_shape shape = kpk_shape_1d(n, 64);
    const kpk_halve_kernels *kernels;
    kpk_instance *gpu = NULL;
    void *x = NULL;
    kpk_status st = kpk_open(&kpk_halves, 0, &gpu);

    if (st == KPK_OK)
        st = kpk_halve_kernels_get(gpu, &kernels);
    if (st == KPK_OK)
        st = kpk_malloc(gpu, nbytes, &x);
    if (st == KPK_OK)
        st = kpk_copy_to(gpu, x, samples, nbytes);
    if (st == KPK_OK)
        st = kpk_halve(kernels, &shape, NULL, x, n);
    if (st == KPK_OK)
        st = kpk_copy_from(gpu, samples, x, nbytes);
    if (st != KPK_OK)
        fprintf(stderr, "levels: %s\n", kpk_error_message());
    if (x)
        kpk_free(gpu, x);
    kpk_close(gpu);
    return st == KPK_OK ? 0 : -1;
}
