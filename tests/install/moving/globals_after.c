/* globals_after.c - the same with kpack; events are HIP's as before */
#include "after.h"
#include "before.h"

#include <kpack/ways.h>

static unsigned count(kpk_instance *gpu, void *saw, int nblocks)
{
    const kpk_kernel *count_in;
    const unsigned three = 3;
    unsigned last;
    hipEvent_t start, stop;
    float ms;
    kpk_launch_options options = {
        .shape = {{(uint32_t)nblocks, 1, 1}, {64, 1, 1}, 0},
        .flags = KPK_LAUNCH_COOPERATIVE};

    OK(kpk_kernel_get(gpu, "count_in", &count_in));
    OK(kpk_global_write(gpu, "counter", "step", 0, &three, sizeof(three)));
    HIP(hipEventCreate(&start));
    HIP(hipEventCreate(&stop));
    HIP(hipEventRecord(start, NULL));
    OK(kpk_launch_ex(count_in, &options, KPK_ARGS(saw)));
    HIP(hipEventRecord(stop, NULL));
    HIP(hipEventSynchronize(stop));
    HIP(hipEventElapsedTime(&ms, start, stop));
    fprintf(stderr, "%g ms\n", (double)ms);
    OK(kpk_copy_from(gpu, &last, (unsigned *)saw + nblocks - 1, sizeof(last)));
    HIP(hipEventDestroy(start));
    HIP(hipEventDestroy(stop));
    return last;
}

int main(void)
{
    enum { NBLOCKS = 8 };
    kpk_instance *gpu;
    void *saw;

    OK(kpk_open(&kpk_ways, 0, &gpu));
    OK(kpk_malloc(gpu, NBLOCKS * sizeof(unsigned), &saw));
    printf("%d blocks counted to %u\n", NBLOCKS, count(gpu, saw, NBLOCKS));
    OK(kpk_free(gpu, saw));
    OK(kpk_close(gpu));
    return 0;
}
