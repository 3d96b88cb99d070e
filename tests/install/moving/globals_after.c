/* globals_after.c - the same with kpack */
#include "after.h"

#include <kpack/ways.h>

static unsigned count(kpk_instance *gpu, void *saw, int nblocks)
{
    const kpk_kernel *count_in;
    const unsigned three = 3;
    unsigned last;
    void *start, *stop;
    float ms;
    kpk_launch_options options = {
        .shape = {{(uint32_t)nblocks, 1, 1}, {64, 1, 1}, 0},
        .flags = KPK_LAUNCH_COOPERATIVE};

    OK(kpk_kernel_get(gpu, "count_in", &count_in));
    OK(kpk_global_write(gpu, "counter", "step", 0, &three, sizeof(three)));
    OK(kpk_event_create(gpu, 0, &start));
    OK(kpk_event_create(gpu, 0, &stop));
    OK(kpk_event_record(gpu, start, NULL));
    OK(kpk_launch_ex(count_in, &options, KPK_ARGS(saw)));
    OK(kpk_event_record(gpu, stop, NULL));
    OK(kpk_event_sync(gpu, stop));
    OK(kpk_event_elapsed(gpu, start, stop, &ms));
    fprintf(stderr, "%g ms\n", (double)ms);
    OK(kpk_copy_from(gpu, &last, (unsigned *)saw + nblocks - 1, sizeof(last)));
    OK(kpk_event_destroy(gpu, start));
    OK(kpk_event_destroy(gpu, stop));
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
