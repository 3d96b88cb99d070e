/* test_hip_occupancy.c - how many blocks a multiprocessor holds
 *
 * Expected numbers are worked out by hand from what AMD publishes: registers
 * of a SIMD and the granule in which waves take them, waves of a SIMD, SIMDs
 * of a compute unit (of a pair of them from gfx10 on), 64 KiB of LDS.
 */
#include "hip_test.h"

#include <stdlib.h>

hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t *nbytes,
                                                    const void *stub,
                                                    int blocks, int block);
void **__hipRegisterFatBinary(const void *wrapper);
void __hipUnregisterFatBinary(void **binary);
void __hipRegisterFunction(void **binary, const void *stub,
                           const char *device_name, const char *name,
                           unsigned limit, void *tid, void *bid, dim3 *block,
                           dim3 *grid, int *wave_size);

/*
 * `empty` takes next to no registers: the waves of a SIMD are the limit, 8 of
 * 64 lanes on 4 SIMDs, or 16 of 32 on 4. `wide` takes 96: of gfx9's 512 five
 * waves may have so many, of gfx1030's 1024 ten, of gfx1100's 1536 sixteen.
 */
static const struct row {
    const char *target, *kernel;
    int block;
    size_t dynamic; /* LDS */
    int blocks;
} rows[] = {
    {"gfx90a", "empty", 64, 0, 32},    {"gfx90a", "empty", 1, 0, 32},
    {"gfx90a", "empty", 65, 0, 16},    {"gfx90a", "empty", 256, 0, 8},
    {"gfx90a", "empty", 1024, 0, 2},   {"gfx90a", "empty", 1025, 0, 0},
    {"gfx90a", "empty", 64, 16384, 4}, {"gfx90a", "empty", 64, 16385, 3},
    {"gfx90a", "empty", 64, 65536, 1}, {"gfx90a", "empty", 64, 65537, 0},
    {"gfx90a", "wide", 64, 0, 20},     {"gfx90a", "wide", 256, 0, 5},
    {"gfx90a", "wide", 320, 0, 4},     {"gfx90a", "wide", 1024, 0, 1},
    {"gfx942", "empty", 64, 0, 32},    {"gfx942", "wide", 64, 0, 20},
    {"gfx942", "wide", 64, 4096, 16},  {"gfx942", "small", 64, 0, 32},
    {"gfx942", "small", 64, 65280, 1}, {"gfx942", "small", 64, 65281, 0},
    {"gfx1030", "empty", 32, 0, 64},   {"gfx1030", "empty", 33, 0, 32},
    {"gfx1030", "empty", 65, 0, 21},   {"gfx1030", "empty", 1024, 0, 2},
    {"gfx1030", "wide", 64, 0, 20},    {"gfx1030", "wide", 256, 0, 5},
    {"gfx1030", "wide", 1024, 0, 1},   {"gfx1030", "wide", 64, 8192, 8},
    {"gfx1100", "empty", 64, 0, 32},   {"gfx1100", "wide", 64, 0, 32},
    {"gfx1100", "wide", 256, 0, 8},    {"gfx1100", "wide", 1024, 0, 2},
};

static void occupancy_by_rows(void)
{
    size_t i, n;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const char *const order[] = {"gfx90a", "gfx942", "gfx1030",
                                            "gfx1100"};
        const struct row *r = &rows[i];
        void *image = read_api(r->target, &n);
        hipModule_t module;
        hipFunction_t f;
        int device, blocks = -1;

        for (device = 0; order[device] != r->target; device++)
            assert_true(device < 3);
        EXPECT(hipSuccess, hipSetDevice(device));
        EXPECT(hipSuccess, hipModuleLoadData(&module, image));
        EXPECT(hipSuccess, hipModuleGetFunction(&f, module, r->kernel));
        EXPECT(hipSuccess, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                               &blocks, f, r->block, r->dynamic));
        if (blocks != r->blocks)
            fail_msg("%s on %s in blocks of %d, %zu bytes: %d blocks, not %d",
                     r->kernel, r->target, r->block, r->dynamic, blocks,
                     r->blocks);
        blocks = -1;
        EXPECT(hipSuccess,
               hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                   &blocks, f, r->block, r->dynamic, 1));
        assert_int_equal(blocks, r->blocks);
        EXPECT(hipSuccess, hipModuleUnload(module));
        free(image);
    }
}

static const char *const four[] = {
    "KPK_SIM_DEVICES=gfx90a,gfx942,gfx1030,gfx1100", NULL};

static void test_blocks_of_a_multiprocessor(void **state)
{
    (void)state;
    in_child(four, occupancy_by_rows);
}

/* The block that fills a multiprocessor best, and the grid that fills all. */
static void best_blocks(void)
{
    static const struct {
        const char *target, *kernel;
        int limit;
        size_t dynamic;
        int block, blocks; /* of each multiprocessor */
    } best[] = {
        {"gfx90a", "empty", 0, 0, 1024, 2},
        {"gfx90a", "empty", 256, 0, 256, 8},
        {"gfx90a", "wide", 0, 0, 1024, 1},
        {"gfx90a", "wide", 256, 0, 256, 5},
        {"gfx942", "empty", 100, 0, 128, 16},
        {"gfx942", "empty", 0, 40000, 1024, 1},
        {"gfx1030", "empty", 100, 0, 128, 16},
        {"gfx1030", "wide", 0, 0, 1024, 1},
        {"gfx1100", "wide", 0, 0, 1024, 2},
        {"gfx1100", "wide", 64, 0, 64, 32},
    };
    static const char *const order[] = {"gfx90a", "gfx942", "gfx1030",
                                        "gfx1100"};
    size_t i, n;

    for (i = 0; i < sizeof(best) / sizeof(best[0]); i++) {
        void *image = read_api(best[i].target, &n);
        int device, grid = -1, block = -1, processors;
        hipModule_t module;
        hipFunction_t f;

        for (device = 0; order[device] != best[i].target; device++)
            assert_true(device < 3);
        EXPECT(hipSuccess, hipSetDevice(device));
        EXPECT(hipSuccess,
               hipDeviceGetAttribute(
                   &processors, hipDeviceAttributeMultiprocessorCount, device));
        EXPECT(hipSuccess, hipModuleLoadData(&module, image));
        EXPECT(hipSuccess, hipModuleGetFunction(&f, module, best[i].kernel));
        EXPECT(hipSuccess,
               hipModuleOccupancyMaxPotentialBlockSize(
                   &grid, &block, f, best[i].dynamic, best[i].limit));
        if (block != best[i].block || grid != best[i].blocks * processors)
            fail_msg("row %zu: %d blocks of %d, not %d of %d", i, grid, block,
                     best[i].blocks * processors, best[i].block);
        EXPECT(hipErrorInvalidValue,
               hipModuleOccupancyMaxPotentialBlockSize(NULL, &block, f, 0, 0));
        EXPECT(hipErrorInvalidValue,
               hipModuleOccupancyMaxPotentialBlockSize(&grid, NULL, f, 0, 0));
        EXPECT(hipSuccess, hipModuleUnload(module));
        free(image);
    }
}

static void test_best_block_and_grid(void **state)
{
    (void)state;
    in_child(four, best_blocks);
}

/* A cooperative grid may have as many blocks as are resident at once. */
static void cooperative_grids(void)
{
    size_t n;
    void *image = read_api("gfx90a", &n);
    hipModule_t module;
    hipFunction_t f;
    int processors;

    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "empty"));
    EXPECT(hipSuccess,
           hipDeviceGetAttribute(&processors,
                                 hipDeviceAttributeMultiprocessorCount, 0));
    EXPECT(hipSuccess,
           hipModuleLaunchCooperativeKernel(f, 2 * (unsigned)processors, 1, 1,
                                            1024, 1, 1, 0, NULL, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipErrorCooperativeLaunchTooLarge,
           hipModuleLaunchCooperativeKernel(f, 2 * (unsigned)processors + 1, 1,
                                            1, 1024, 1, 1, 0, NULL, NULL));
    EXPECT(hipErrorCooperativeLaunchTooLarge,
           hipModuleLaunchCooperativeKernel(f, 2 * (unsigned)processors, 1, 1,
                                            1024, 1, 1, 40000, NULL, NULL));
    EXPECT(hipSuccess, hipModuleUnload(module));
    free(image);
}

/*
 * LDS that a launch may ask for, of kernels that programs know by their stubs:
 * `empty` has none of its own, `small` 256 bytes. AMD's HIP 7.2.4
 * gives the same answers.
 */
static const struct {
    int device, blocks, block;
    size_t empty, small;
} left_over[] = {
    {1, 1, 1, 65536, 65024},
    {1, 1, 2048, 65536, 65024},
    {1, 2, 64, 32768, 32256},
    {1, 3, 64, 21504, 21504},
    {1, 5, 64, 12800, 12800},
    {1, 8, 64, 8192, 7680},
    {1, 33, 64, 2048, 1536},
    {1, 100, 1, 512, 0},
    {1, 40, 1024, 32768, 32256},
    {1, 2, 1025, 65536, 65024},
    {1, 257, 1, 0, (size_t)-512},
    {2, 1, 1, 65536, 64512},
    {2, 3, 64, 21504, 21504},
    {2, 5, 64, 12288, 12288},
    {2, 100, 1, 0, 0},
    {2, 64, 512, 16384, 15360},
};

static void available_by_rows(void)
{
    static const char *const order[] = {"gfx90a", "gfx942", "gfx1030"};
    static const char empty = 0, small = 0; /* the stubs */
    size_t i, n, got;

    for (i = 0; i < sizeof(left_over) / sizeof(left_over[0]); i++) {
        struct {
            unsigned magic, version;
            const void *image, *unused;
        } wrapper = {0x48495046, 1, read_api(order[left_over[i].device], &n),
                     NULL};
        void **binary = __hipRegisterFatBinary(&wrapper);
        int blocks = left_over[i].blocks, block = left_over[i].block;

        EXPECT(hipSuccess, hipSetDevice(left_over[i].device));
        __hipRegisterFunction(binary, &empty, "empty", "empty", ~0u, NULL, NULL,
                              NULL, NULL, NULL);
        __hipRegisterFunction(binary, &small, "small", "small", ~0u, NULL, NULL,
                              NULL, NULL, NULL);
        EXPECT(hipSuccess, hipOccupancyAvailableDynamicSMemPerBlock(
                               &got, &empty, blocks, block));
        assert_int_equal(got, left_over[i].empty);
        EXPECT(hipSuccess, hipOccupancyAvailableDynamicSMemPerBlock(
                               &got, &small, blocks, block));
        assert_int_equal(got, left_over[i].small);
        EXPECT(hipErrorInvalidValue,
               hipOccupancyAvailableDynamicSMemPerBlock(NULL, &empty, 1, 64));
        EXPECT(hipErrorInvalidValue,
               hipOccupancyAvailableDynamicSMemPerBlock(&got, &empty, 0, 64));
        EXPECT(hipErrorInvalidValue,
               hipOccupancyAvailableDynamicSMemPerBlock(&got, &empty, 1, 0));
        EXPECT(hipErrorInvalidValue,
               hipOccupancyAvailableDynamicSMemPerBlock(&got, &empty, 1, 2049));
        EXPECT(hipErrorInvalidDeviceFunction,
               hipOccupancyAvailableDynamicSMemPerBlock(&got, NULL, 1, 64));
        EXPECT(hipErrorInvalidDeviceFunction,
               hipOccupancyAvailableDynamicSMemPerBlock(&got, &got, 1, 64));
        __hipUnregisterFatBinary(binary);
        free((void *)(uintptr_t)wrapper.image);
    }
}

static void test_shared_memory_that_is_left_for_a_launch(void **state)
{
    (void)state;
    in_child(four, available_by_rows);
}

static void test_cooperative_grids_fit_the_device(void **state)
{
    (void)state;
    in_child(four, cooperative_grids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_a_multiprocessor),
        cmocka_unit_test(test_best_block_and_grid),
        cmocka_unit_test(test_cooperative_grids_fit_the_device),
        cmocka_unit_test(test_shared_memory_that_is_left_for_a_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
