/* test_index.c - vector registers chosen by M0: gfx9's index mode
 *
 * After the table of the CDNA manual's section on VGPR indexing: M0[7:0] is
 * added to the registers of the operands that M0[15:12] names.
 */
#include "asm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

enum { SRC0 = 1, SRC1 = 2, SRC2 = 4, DST = 8 };

/* v[r] holds 1000 r + lane; a[r] 500000 more. */
static uint32_t value(unsigned reg, unsigned lane)
{
    return 1000 * reg + lane;
}

static struct asm_state *numbered(const char *target)
{
    struct asm_state *st = asm_new(target, 64);

    for (unsigned r = 0; r < 256; r++)
        for (unsigned lane = 0; lane < 64; lane++) {
            st->v[r][lane] = value(r, lane);
            st->a[r][lane] = value(r, lane) + 500000;
        }
    st->s[2] = 5;
    return st;
}

static uint32_t float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

struct index_case {
    const char *target;
    unsigned mode;
    const char *text; /* runs with index 5 */
    char file;        /* file of the checked register: v, a or s */
    unsigned reg;     /* its number; lane 3 must hold `want` */
    uint32_t want;
};

/* clang-format off */
static const struct index_case index_cases[] = {
    {"gfx942", SRC0, "v_mov_b32 v20, v1",               'v', 20, 6003},
    {"gfx942", DST,  "v_mov_b32 v20, v1",               'v', 25, 1003},
    {"gfx942", SRC0 | DST, "v_mov_b32 v20, v1",         'v', 25, 6003},
    {"gfx942", SRC1, "v_sub_u32 v20, v1, v1",           'v', 20, 1003 - 6003u},
    {"gfx942", SRC0, "v_sub_u32 v20, v1, v1",           'v', 20, 5000},
    {"gfx942", SRC2, "v_add3_u32 v20, v1, v1, v1",      'v', 20, 8009},
    {"gfx942", SRC0, "v_mov_b32 v20, 7",                'v', 20, 7},
    {"gfx942", SRC0, "v_mov_b32 v20, s2",               'v', 20, 5},
    {"gfx942", SRC0 | SRC1, "v_add_u32_e64 v20, s2, v1", 'v', 20, 6008},
    {"gfx942", SRC1, "v_cndmask_b32_e64 v20, v1, v1, s[4:5]", 'v', 20, 6003},
    {"gfx942", DST,  "v_writelane_b32 v20, s2, 3",      'v', 25, 5},
    {"gfx942", DST,  "v_writelane_b32 v20, s2, 4",      'v', 25, 25003},
    {"gfx942", SRC0, "v_readlane_b32 s8, v1, 3",        's', 8,  6003},
    {"gfx942", DST | SRC1 | SRC2, "v_readlane_b32 s8, v1, 3", 's', 8, 1003},
    {"gfx942", SRC0, "v_readfirstlane_b32 s8, v1",      's', 8,  6000},
    {"gfx942", SRC0, "v_mov_b64 v[20:21], v[2:3]",      'v', 21, 8003},
    {"gfx942", SRC0, "v_accvgpr_read_b32 v20, a1",      'v', 20, 506003},
    {"gfx942", DST,  "v_accvgpr_write_b32 a1, v1",      'a', 6,  1003},
    {"gfx942", SRC0, "v_mov_b32_dpp v20, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 'v', 20, 6002},
    {"gfx942", SRC0, "v_mov_b32_sdwa v20, v1 dst_sel:DWORD src0_sel:WORD_0", 'v', 20, 6003},
    /* preserved bytes come from the indexed destination */
    {"gfx906", DST,  "v_mov_b32_sdwa v20, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0",
                     'v', 25, (25003 & ~0xff00u) | (1003 & 255) << 8},
    {"gfx906", SRC0, "v_lshlrev_b32 v20, v1, v2",       'v', 20, 2003u << (6003 & 31)},
    /* the literal of madmk stands between: v3 is source 2 */
    {"gfx906", SRC2, "v_madmk_f32 v20, v30, 0x40000000, v31", 'v', 20, 0x41200000 /* 10 */},
    {"gfx942", 0,    "v_mov_b32 v20, v1",               'v', 20, 1003},
    {"gfx942", SRC0, "s_set_gpr_idx_idx s3\nv_mov_b32 v20, v1", 'v', 20, 8003},
    {"gfx942", SRC0, "s_set_gpr_idx_mode 0x8\nv_mov_b32 v20, v1", 'v', 25, 1003},
    {"gfx942", SRC0, "s_mov_b32 m0, 0x8009\nv_mov_b32 v20, v1", 'v', 29, 1003},
    {"gfx942", SRC0, "s_set_gpr_idx_off\nv_mov_b32 v20, v1", 'v', 20, 1003},
    {"gfx942", SRC0, "s_set_gpr_idx_off\ns_set_gpr_idx_mode 0x1\nv_mov_b32 v20, v1", 'v', 20, 1003},
    {"gfx942", SRC0, "s_getreg_b32 s8, hwreg(HW_REG_MODE, 27, 1)", 's', 8, 1},
    {"gfx942", SRC0, "s_set_gpr_idx_off\ns_getreg_b32 s8, hwreg(HW_REG_MODE, 27, 1)", 's', 8, 0},
    {"gfx942", SRC0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 0\nv_mov_b32 v20, v1", 'v', 20, 1003},
    /* memory instructions do not take part */
    {"gfx942", SRC0 | SRC1 | DST, "ds_write_b32 v0, v1\nds_read_b32 v20, v0", 'v', 20, 1003},
};
/* clang-format on */

static uint32_t found(const struct asm_state *st, const struct index_case *c)
{
    return c->file == 's'   ? st->s[c->reg]
           : c->file == 'a' ? st->a[c->reg][3]
                            : st->v[c->reg][3];
}

static void test_index_moves_the_operands_that_the_mode_names(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(index_cases) / sizeof(index_cases[0]); n++) {
        const struct index_case *c = &index_cases[n];
        struct asm_state *st = numbered(c->target);
        char text[320];

        st->s[3] = 7;
        st->s[4] = st->s[5] = UINT32_MAX;
        for (unsigned lane = 0; lane < 64; lane++)
            st->v[0][lane] = 4 * lane;
        for (unsigned lane = 0; lane < 64; lane++) {
            st->v[30][lane] = float_bits(1);
            st->v[36][lane] = float_bits(8);
        }
        snprintf(text, sizeof(text), "s_set_gpr_idx_on s2, 0x%x\n%s", c->mode,
                 c->text);
        asm_run(st, text);
        if (found(st, c) != c->want)
            fail_msg("%s mode %u, %s: want %u in %c%u, got %u", c->target,
                     c->mode, c->text, c->want, c->file, c->reg, found(st, c));
        asm_free(st);
    }
}

static void test_mac_reads_the_register_that_it_writes(void **state)
{
    struct asm_state *st = numbered("gfx906");

    (void)state;
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[1][lane] = float_bits(3);
        st->v[2][lane] = float_bits(4);
        st->v[20][lane] = float_bits(100);
        st->v[25][lane] = float_bits(1);
    }
    asm_run(st, "s_set_gpr_idx_on s2, 0x8\nv_mac_f32 v20, v1, v2");
    assert_int_equal(st->v[25][3], float_bits(13));
    assert_int_equal(st->v[20][3], float_bits(100));
    asm_free(st);
}

static void test_matrix_operands_are_indexed_as_others(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    /* 4x4x1: D[i][j] of each block is A[i] * B[j] */
    for (unsigned lane = 0; lane < 64; lane++) {
        st->a[6][lane] = float_bits(2);
        st->v[2][lane] = float_bits((float)(lane % 4 + 1));
    }
    st->s[2] = 5;
    asm_run(st, "s_set_gpr_idx_on s2, 0x1\n"
                "v_mfma_f32_4x4x1_16b_f32 a[20:23], a1, v2, 0");
    assert_int_equal(st->a[20][2], float_bits(6));
    asm_free(st);
}

static void test_an_index_past_the_registers_faults(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[2] = 255;
    assert_false(asm_try(st, "s_set_gpr_idx_on s2, 0x1\nv_mov_b32 v20, v1"));
    assert_int_equal(st->fault.kind, SIM_FAULT_ILLEGAL_INSN);
    assert_false(asm_try(st, "s_set_gpr_idx_on s2, 0x1\n"
                             "v_accvgpr_read_b32 v20, a1"));
    assert_non_null(strstr(st->fault.text, "a1 to a256"));
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_moves_the_operands_that_the_mode_names),
        cmocka_unit_test(test_mac_reads_the_register_that_it_writes),
        cmocka_unit_test(test_matrix_operands_are_indexed_as_others),
        cmocka_unit_test(test_an_index_past_the_registers_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
