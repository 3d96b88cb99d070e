/* test_occupancy.c - how many waves of a kernel a SIMD holds at once
 *
 * Wanted values are worked out by hand from AMD's ISA manuals: the registers of
 * a SIMD's file, in granules, and the LDS of a compute unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "report/report_occupancy.h"

static void test_registers_and_lds_bound_the_waves(void **state)
{
    static const struct {
        const char *target;
        struct kpk_kernel_attrs attrs;
        unsigned waves, most, block;
    } cases[] = {
        /* 512 registers: 8 waves with 64 each, 4 with 128, 5 with 96 */
        {"gfx942",
         {.vgprs = 64, .max_block = 1024, .wave_size = 64},
         8,
         8,
         256},
        {"gfx942",
         {.vgprs = 128, .max_block = 256, .wave_size = 64},
         4,
         8,
         256},
        {"gfx942", {.vgprs = 90, .max_block = 64, .wave_size = 64}, 5, 8, 64},
        {"gfx942", {.vgprs = 0, .max_block = 64, .wave_size = 64}, 8, 8, 64},
        /* the kernel's own block; 64 KiB of LDS hold one block with 40 */
        {"gfx90a:xnack+",
         {.vgprs = 8,
          .max_block = 1024,
          .reqd_block = {32, 4, 2},
          .lds_nbytes = 40960,
          .wave_size = 64},
         1,
         8,
         256},
        /* gfx908 keeps AGPRs in a file of their own */
        {"gfx908",
         {.vgprs = 32, .agprs = 64, .max_block = 64, .wave_size = 64},
         4,
         10,
         64},
        {"gfx908",
         {.vgprs = 64, .agprs = 32, .max_block = 64, .wave_size = 64},
         4,
         10,
         64},
        /* 1536 registers for 32 lanes, half as many for 64 */
        {"gfx1100",
         {.vgprs = 96, .max_block = 32, .wave_size = 32},
         16,
         16,
         32},
        {"gfx1100", {.vgprs = 96, .max_block = 64, .wave_size = 64}, 8, 16, 64},
        /* 128 KiB of LDS of two compute units hold two blocks with 48 */
        {"gfx1030",
         {.vgprs = 8, .max_block = 256, .lds_nbytes = 49152, .wave_size = 32},
         4,
         16,
         256},
        {"gfx9-4-generic:xnack-",
         {.vgprs = 128, .max_block = 256, .wave_size = 64},
         4,
         8,
         256},
        /* unknown sizes run nowhere, and nothing on unknown processors */
        {"gfx942", {.max_block = 64}, 0, 8, 64},
        {"gfx942", {.wave_size = 64}, 0, 8, 0},
        {"gfx94", {.vgprs = 8, .max_block = 64, .wave_size = 64}, 0, 0, 256},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct occupancy got =
            occupancy_of(cases[i].target, &cases[i].attrs);

        if (got.waves != cases[i].waves || got.most != cases[i].most ||
            got.block != cases[i].block)
            fail_msg("case %zu: %u of %u waves, blocks of %u", i, got.waves,
                     got.most, got.block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers_and_lds_bound_the_waves),
    };

    return cmocka_run_group_tests_name("occupancy", tests, NULL, NULL);
}
