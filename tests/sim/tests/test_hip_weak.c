/* test_hip_weak.c - KPK_SIM_WEAK: compiled kernels whose workgroups hand values
 * on, with and without the fences that they need
 */
#include "hip_test.h"

#include "sim/base/config.h"
#include "sim/hip/kpk_sim.h"
#include "sim/isa/fault_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 12, SEEDS = 100, NUMBERS = 3000, ENTRY = 128 };

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100",
                                      "gfx1201"};
static const char *const devices[] = {
    "KPK_SIM_DEVICES=gfx90a,gfx942,gfx1030,gfx1100,gfx1201", NULL};
enum { NDEVICES = sizeof(targets) / sizeof(*targets) };

static char *memory; /* of the current device */
enum { NBYTES = 65536, AT_WORK = 16384, AT_INDEX = 20480 };

static hipFunction_t kernel_of(int device, const char *program,
                               const char *name)
{
    hipFunction_t f = NULL;
    hipModule_t module;
    size_t n;

    EXPECT(hipSuccess, hipSetDevice(device));
    EXPECT(hipSuccess, hipModuleLoadData(&module, read_program(targets[device],
                                                               program, &n)));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, name));
    EXPECT(hipSuccess, hipMalloc((void **)&memory, NBYTES));
    return f;
}

static void launch(hipFunction_t f, unsigned groups, unsigned threads,
                   void **params, uint64_t seed)
{
    kpkSimConfig()->weak = seed;
    EXPECT(hipSuccess, hipModuleLaunchKernel(f, groups, 1, 1, threads, 1, 1, 0,
                                             NULL, params, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    kpkSimConfig()->weak = 1;
}

/* ---- a list that groups lengthen and read ---- */

/* How many seeds give a wrong value. */
static unsigned wrong_lists(int device, const char *name)
{
    hipFunction_t f = kernel_of(device, "fences", name);
    char *wrong = memory + AT_INDEX;
    void *params[] = {&memory, &wrong};
    unsigned n = 0, count;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        EXPECT(hipSuccess, hipMemset(memory, 0, NBYTES));
        launch(f, GROUPS, 64, params, seed);
        EXPECT(hipSuccess,
               hipMemcpy(&count, wrong, sizeof(count), hipMemcpyDeviceToHost));
        n += count > 0;
    }
    return n;
}

static void lists(void)
{
    for (int i = 0; i < NDEVICES; i++)
        if (wrong_lists(i, "list_ordered"))
            fail_msg("%s: values are wrong in spite of fences", targets[i]);
    if (wrong_lists(0, "list_relaxed"))
        fail_msg("gfx90a: its one L2 hands on what a wait has completed");
    sim_forget_warning();
    if (wrong_lists(1, "list_relaxed") < SEEDS / 10)
        fail_msg("gfx942: no value is wrong without fences");
    if (!strstr(sim_last_warning(), "stale read") ||
        !strstr(sim_last_warning(), "lacks 'buffer_wbl2 sc1'"))
        fail_msg("gfx942: %s", sim_last_warning());
}

static void test_a_list_fails_on_gfx942_alone(void **state)
{
    (void)state;
    in_child(devices, lists);
}

/* ---- the greatest of many numbers ---- */

/* How many seeds give a wrong place, or leave the work memory used. */
static unsigned wrong_places(int device, const char *program, uint64_t end)
{
    static float numbers[NUMBERS];
    hipFunction_t f = kernel_of(device, program, "argmax");
    char *work = memory + AT_WORK, *index = memory + AT_INDEX;
    unsigned numel = NUMBERS, wrong = 0;
    void *params[] = {&memory, &index, &work, &numel};

    EXPECT(hipSuccess, hipMemset(memory, 0, NBYTES));
    for (uint64_t seed = 0; seed < end; seed++) {
        const unsigned groups = 1 + (unsigned)seed % 17;
        unsigned place, greatest = (unsigned)(seed * 977 % NUMBERS);
        uint64_t left[2];

        for (unsigned i = 0; i < NUMBERS; i++)
            numbers[i] = (float)(i % 100);
        numbers[greatest] = 1000;
        EXPECT(hipSuccess, hipMemcpy(memory, numbers, sizeof(numbers),
                                     hipMemcpyHostToDevice));
        launch(f, groups, 64, params, seed);
        EXPECT(hipSuccess,
               hipMemcpy(&place, index, sizeof(place), hipMemcpyDeviceToHost));
        EXPECT(hipSuccess,
               hipMemcpy(left, work, sizeof(left), hipMemcpyDeviceToHost));
        if (place != greatest || left[0] || left[1]) {
            wrong++;
            EXPECT(hipSuccess, hipMemset(work, 0, sizeof(left)));
        }
    }
    return wrong;
}

static void places(void)
{
    for (int i = 0; i < NDEVICES; i++) {
        if (wrong_places(i, "fences", SEEDS))
            fail_msg("%s: argmax is wrong", targets[i]);
        if (!wrong_places(i, "fences_without", SEEDS))
            fail_msg("%s: argmax is right without its release", targets[i]);
    }
}

static void test_argmax_needs_its_release(void **state)
{
    (void)state;
    in_child(devices, places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_fails_on_gfx942_alone),
        cmocka_unit_test(test_argmax_needs_its_release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
