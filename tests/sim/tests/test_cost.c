/* test_cost.c - cycles of matrix instructions against published peaks
 *
 * A peak is what a card's fastest instruction of a type reaches on all of its
 * compute units, so cycles, cards and clocks are checked at once. Peaks are
 * those of AMD's data sheets and product pages, dense, in 10^12 operations a
 * second.
 */
#include "sim/base/cards.h"
#include "sim/base/processor.h"
#include "sim/isa/insn_rows.h"
#include "sim/isa/matrix_cycles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *arch, *target, *type;
    double peak;
} peaks[] = {
    {"CDNA1", "gfx908", "f32", 46.1},   {"CDNA1", "gfx908", "f16", 184.6},
    {"CDNA1", "gfx908", "bf16", 92.3},  {"CDNA1", "gfx908", "i8", 184.6},
    {"CDNA2", "gfx90a", "f64", 47.9},   {"CDNA2", "gfx90a", "f32", 47.9},
    {"CDNA2", "gfx90a", "f16", 191.5},  {"CDNA2", "gfx90a", "bf16_1k", 191.5},
    {"CDNA2", "gfx90a", "i8", 191.5},   {"CDNA3", "gfx942", "f64", 163.4},
    {"CDNA3", "gfx942", "f32", 163.4},  {"CDNA3", "gfx942", "xf32", 653.7},
    {"CDNA3", "gfx942", "f16", 1307.4}, {"CDNA3", "gfx942", "bf16", 1307.4},
    {"CDNA3", "gfx942", "fp8", 2614.9}, {"CDNA3", "gfx942", "i8", 2614.9},
    {"CDNA4", "gfx950", "f64", 78.6},   {"CDNA4", "gfx950", "f32", 157.3},
    {"CDNA4", "gfx950", "f16", 2516.6}, {"CDNA4", "gfx950", "bf16", 2516.6},
    {"CDNA4", "gfx950", "i8", 5033.2},  {"CDNA4", "gfx950", "f8f6f4", 10066.3},
    {"RDNA3", "gfx1100", "f16", 122.8}, {"RDNA3", "gfx1100", "bf16", 122.8},
    {"RDNA3", "gfx1100", "iu8", 122.8}, {"RDNA3", "gfx1100", "iu4", 245.6},
    {"RDNA4", "gfx1201", "f16", 194.6}, {"RDNA4", "gfx1201", "bf16", 194.6},
    {"RDNA4", "gfx1201", "fp8", 389.3}, {"RDNA4", "gfx1201", "iu8", 389.3},
    {"RDNA4", "gfx1201", "iu4", 778.6},
};

static const struct {
    const char *arch, *name;
    unsigned cycles;
} rows[] = {
#define X(arch, name, cycles, beside) {#arch, #name, cycles},
    MATRIX_CYCLES(X)
#undef X
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Multiplications and additions of an instruction, from its name: MxNxK, and
 * the blocks ("_4b"), which older names leave out. */
static double operations(const char *name)
{
    static const struct {
        const char *part;
        unsigned blocks;
    } old[] = {{"_32x32x2bf16", 2}, {"_16x16x2bf16", 4}, {"_4x4x2bf16", 16}};
    const struct insn_row *row = sim_row_find(name);
    unsigned long mnk[3], blocks = 1;
    const char *p;
    char *end;

    assert_non_null(row);
    p = strchr(row->name, 'x'); /* the first of MxNxK */
    while (p[-1] != '_')
        p--;
    for (int i = 0; i < 3; i++) {
        mnk[i] = strtoul(p, &end, 10);
        assert_true(end > p);
        p = end + 1;
    }
    blocks = *end == '_' ? strtoul(p, &end, 10) : 1;
    blocks = *end == 'b' && end > p ? blocks : 1;
    for (size_t i = 0; i < COUNT(old); i++)
        if (strstr(row->name, old[i].part))
            blocks = old[i].blocks;
    return 2. * (double)(mnk[0] * mnk[1] * mnk[2] * blocks);
}

static bool is_sparse(const char *name)
{
    return strstr(name, "smfmac") || strstr(name, "swmmac");
}

/* Whether the last part of the name, after the shape, is this type: "f16" of
 * "_16x16x16f16" and "_16x16x16_f16", not of "bf16". */
static bool is_of(const char *name, const char *type)
{
    size_t n = strlen(name), len = strlen(type);
    const char *at = name + n - len;

    if (n <= len || strcmp(at, type) != 0)
        return false;
    return at[-1] == '_' || (at[-1] >= '0' && at[-1] <= '9');
}

static double rate(const struct sim_card *card, size_t row)
{
    double simds = card->compute_units.value *
                   sim_target_by_name(card->target)->simds_per_cu;

    return operations(rows[row].name) / rows[row].cycles * simds *
           card->clock_mhz.value * 1e-6;
}

static void test_fastest_instructions_reach_the_published_peaks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(peaks); i++) {
        const struct sim_card *card = sim_card_of(peaks[i].target);
        double best = 0;

        for (size_t r = 0; r < COUNT(rows); r++)
            if (strcmp(rows[r].arch, peaks[i].arch) == 0 &&
                !is_sparse(rows[r].name) && is_of(rows[r].name, peaks[i].type))
                best = fmax(best, rate(card, r));
        if (fabs(best / peaks[i].peak - 1) > 0.002)
            fail_msg("%s, %s: the table gives %.1f, published are %.1f",
                     card->name, peaks[i].type, best, peaks[i].peak);
    }
}

/* Sparse ones do twice the work of dense ones of the architecture's fastest
 * type at most; every row is an instruction that the simulator knows. */
static void test_no_instruction_beats_its_architecture(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(rows); r++) {
        const struct sim_card *card = NULL;
        double most = 0;

        for (size_t i = 0; i < COUNT(peaks); i++)
            if (strcmp(rows[r].arch, peaks[i].arch) == 0) {
                card = sim_card_of(peaks[i].target);
                most = fmax(most, peaks[i].peak);
            }
        assert_non_null(card);
        assert_true(rate(card, r) <=
                    most * (is_sparse(rows[r].name) ? 2.002 : 1.002));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fastest_instructions_reach_the_published_peaks),
        cmocka_unit_test(test_no_instruction_beats_its_architecture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
