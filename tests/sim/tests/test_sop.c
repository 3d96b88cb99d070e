/* test_sop.c - scalar instructions against values worked out by hand */
#include "asm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* One instruction on s[2:3] and s[4:5], result in s[0:1]. */
struct scalar_case {
    const char *text;
    uint64_t a, b, d;
    bool scc_in, scc;
};

/* clang-format off */
static const struct scalar_case cases[] = {
    /* text                              a                   b           d                    SCC in, out */
    {"s_add_u32 s0, s2, s4",             0xffffffff,         1,          0,                   0, 1},
    {"s_add_u32 s0, s2, s4",             7,                  1,          8,                   1, 0},
    {"s_addc_u32 s0, s2, s4",            0xffffffff,         0,          0,                   1, 1},
    {"s_addc_u32 s0, s2, s4",            0xffffffff,         0xffffffff, 0xffffffff,          1, 1},
    {"s_sub_u32 s0, s2, s4",             0,                  1,          0xffffffff,          0, 1},
    {"s_subb_u32 s0, s2, s4",            5,                  5,          0xffffffff,          1, 1},
    {"s_subb_u32 s0, s2, s4",            6,                  5,          0,                   1, 0},
    {"s_add_i32 s0, s2, s4",             0x7fffffff,         1,          0x80000000,          0, 1},
    {"s_add_i32 s0, s2, s4",             0xffffffff,         1,          0,                   1, 0},
    {"s_sub_i32 s0, s2, s4",             0x80000000,         1,          0x7fffffff,          0, 1},
    {"s_min_i32 s0, s2, s4",             0xffffffff,         1,          0xffffffff,          0, 1},
    {"s_min_u32 s0, s2, s4",             0xffffffff,         1,          1,                   1, 0},
    {"s_max_i32 s0, s2, s4",             0xffffffff,         1,          1,                   1, 0},
    {"s_cselect_b32 s0, s2, s4",         3,                  9,          3,                   1, 1},
    {"s_cselect_b32 s0, s2, s4",         3,                  9,          9,                   0, 0},
    {"s_cselect_b64 s[0:1], s[2:3], 0",  0x123456789abcdef0, 0,          0x123456789abcdef0,  1, 1},
    {"s_and_b64 s[0:1], s[2:3], -1",     0x8000000000000000, 0,          0x8000000000000000,  0, 1},
    {"s_lshl_b32 s0, s2, s4",            1,                  33,         2,                   0, 1},
    {"s_lshl_b64 s[0:1], s[2:3], s4",    1,                  65,         2,                   0, 1},
    {"s_lshr_b64 s[0:1], s[2:3], s4",    1,                  1,          0,                   1, 0},
    {"s_ashr_i32 s0, s2, s4",            0x80000000,         31,         0xffffffff,          0, 1},
    {"s_ashr_i64 s[0:1], s[2:3], s4",    0x8000000000000000, 63,         0xffffffffffffffff,  0, 1},
    {"s_bfm_b32 s0, s2, s4",             4,                  30,         0xc0000000,          1, 1},
    {"s_bfe_u32 s0, s2, s4",             0xdeadbeef,         0x80008,    0xbe,                0, 1},
    {"s_bfe_u32 s0, s2, s4",             0xdeadbeef,         0x00008,    0,                   1, 0},
    {"s_bfe_u32 s0, s2, s4",             0xdeadbeef,         0x1c0018,   0xde,                0, 1},
    {"s_bfe_i32 s0, s2, s4",             0xdeadbeef,         0x80008,    0xffffffbe,          0, 1},
    {"s_bfe_i32 s0, s2, s4",             0xdeadbeef,         0x40010,    0xfffffffd,          0, 1},
    {"s_bfe_i32 s0, s2, s4",             0xdeadbeef,         0x200010,   0xffffdead,          0, 1},
    {"s_bfe_u64 s[0:1], s[2:3], s4",     0xdeadbeef12345678, 0x100030,   0xdead,              0, 1},
    {"s_bfe_i64 s[0:1], s[2:3], s4",     0xdeadbeef12345678, 0x100030,   0xffffffffffffdead,  0, 1},
    {"s_mul_hi_u32 s0, s2, s4",          0xffffffff,         0xffffffff, 0xfffffffe,          0, 0},
    {"s_mul_hi_i32 s0, s2, s4",          0xffffffff,         2,          0xffffffff,          0, 0},
    {"s_mul_i32 s0, s2, s4",             0x10001,            0x10001,    0x20001,             1, 1},
    {"s_pack_lh_b32_b16 s0, s2, s4",     0x11112222,         0x33334444, 0x33332222,          1, 1},
    {"s_not_b32 s0, s2",                 0xffffffff,         0,          0,                   1, 0},
    {"s_brev_b32 s0, s2",                0x80000001,         0,          0x80000001,          1, 1},
    {"s_brev_b64 s[0:1], s[2:3]",        1,                  0,          0x8000000000000000,  0, 0},
    {"s_bcnt1_i32_b64 s0, s[2:3]",       0xf00000000000000f, 0,          8,                   0, 1},
    {"s_ff1_i32_b32 s0, s2",             0,                  0,          0xffffffff,          0, 0},
    {"s_ff1_i32_b64 s0, s[2:3]",         0x100000000,        0,          32,                  0, 0},
    {"s_flbit_i32_b32 s0, s2",           1,                  0,          31,                  0, 0},
    {"s_flbit_i32 s0, s2",               0xffffffff,         0,          0xffffffff,          0, 0},
    {"s_flbit_i32 s0, s2",               0xfffffff0,         0,          28,                  0, 0},
    {"s_sext_i32_i8 s0, s2",             0x80,               0,          0xffffff80,          0, 0},
    {"s_abs_i32 s0, s2",                 0x80000000,         0,          0x80000000,          0, 1},
    {"s_quadmask_b32 s0, s2",            0x10f0,             0,          0xa,                 0, 1},
    {"s_wqm_b32 s0, s2",                 0x1040,             0,          0xf0f0,              0, 1},
    {"s_movk_i32 s0, 0x8000",            0,                  0,          0xffff8000,          0, 0},
    {"s_cmp_gt_i32 s2, s4",              1,                  0xffffffff, 0,                   0, 1},
    {"s_cmp_gt_u32 s2, s4",              1,                  0xffffffff, 0,                   1, 0},
    {"s_cmpk_eq_u32 s2, 0xffff",         0xffff,             0,          0,                   0, 1},
    {"s_cmpk_eq_i32 s2, 0xffff",         0xffffffff,         0,          0,                   0, 1},
    {"s_bitcmp1_b64 s[2:3], s4",         0x100000000,        96,         0,                   0, 1},
    {"s_mov_b64 s[0:1], 1.0",            0,                  0,          0x3ff0000000000000,  0, 0},
    {"s_mov_b32 s0, 1.0",                0,                  0,          0x3f800000,          0, 0},
    {"s_mov_b64 s[0:1], -5",             0,                  0,          0xfffffffffffffffb,  0, 0},
    {"s_mov_b64 s[0:1], 0x80000000",     0,                  0,          0x80000000,          0, 0},
    {"s_mov_b32 s0, 0.15915494",         0,                  0,          0x3e22f983,          0, 0},
};
/* clang-format on */

static void set64(struct asm_state *st, unsigned reg, uint64_t v)
{
    st->s[reg] = (uint32_t)v;
    st->s[reg + 1] = (uint32_t)(v >> 32);
}

static void test_scalar_instructions_give_value_and_scc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct scalar_case *c = &cases[i];
        struct asm_state *st = asm_new("gfx942", 64);
        bool wide = strstr(c->text, "s[0:1],") != NULL;
        uint64_t got;

        set64(st, 0, 0);
        set64(st, 2, c->a);
        set64(st, 4, c->b);
        st->scc = c->scc_in;
        asm_run(st, c->text);
        got = wide ? st->s[0] | (uint64_t)st->s[1] << 32 : st->s[0];
        if (got != c->d || st->scc != c->scc)
            fail_msg("%s of %llx, %llx: want %llx scc %d, got %llx scc %d",
                     c->text, (unsigned long long)c->a,
                     (unsigned long long)c->b, (unsigned long long)c->d, c->scc,
                     (unsigned long long)got, st->scc);
        asm_free(st);
    }
}

static void test_saveexec_keeps_old_exec_and_sets_scc(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    set64(st, SREG_EXEC, 0xff00);
    set64(st, 2, 0x0ff0);
    asm_run(st, "s_andn2_saveexec_b64 s[0:1], s[2:3]\n"
                "s_mov_b64 s[4:5], exec");
    assert_int_equal(st->s[0], 0xff00);
    assert_int_equal(st->s[4], 0x00f0);
    assert_true(st->scc);
    asm_free(st);

    st = asm_new("gfx1100", 32);
    st->s[SREG_EXEC] = 0xf;
    st->s[2] = 0xf0;
    asm_run(st, "s_and_saveexec_b32 s0, s2\n"
                "s_mov_b32 s1, exec_lo");
    assert_int_equal(st->s[0], 0xf);
    assert_int_equal(st->s[1], 0);
    assert_false(st->scc);
    asm_free(st);
}

static void test_branches_and_calls_reach_their_targets(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    asm_run(st, "s_mov_b32 s0, 0\n"
                "s_getpc_b64 s[4:5]\n"
                "here: s_add_u32 s4, s4, fn-here\n"
                "s_addc_u32 s5, s5, 0\n"
                "s_swappc_b64 s[30:31], s[4:5]\n"
                "s_swappc_b64 s[30:31], s[4:5]\n"
                "s_mov_b32 s1, 10\n"
                "loop: s_add_u32 s0, s0, 1\n"
                "s_sub_u32 s1, s1, 1\n"
                "s_cmp_lg_u32 s1, 0\n"
                "s_cbranch_scc1 loop\n"
                "s_endpgm\n"
                "fn: s_add_u32 s0, s0, 0x100\n"
                "s_setpc_b64 s[30:31]\n");
    assert_int_equal(st->s[0], 0x20a);
    asm_free(st);
}

static void test_setreg_changes_rounding_of_scalar_floats(void **state)
{
    struct asm_state *st = asm_new("gfx1201", 32);

    (void)state;
    st->s[2] = 0x3f800000; /* 1 + 2^-30 lies between 1 and the next float */
    st->s[3] = 0x30800000;
    asm_run(st, "s_add_f32 s0, s2, s3\n"
                "s_round_mode 1\n"
                "s_add_f32 s1, s2, s3\n"
                "s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 4)\n"
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2\n"
                "s_add_f32 s5, s2, s3");
    assert_int_equal(st->s[0], 0x3f800000);
    assert_int_equal(st->s[1], 0x3f800001);
    assert_int_equal(st->s[4], 1);
    assert_int_equal(st->s[5], 0x3f800000);
    asm_free(st);
}

static void test_null_reads_zero_and_takes_writes(void **state)
{
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    asm_run(st, "s_mov_b32 null, 7\n"
                "s_mov_b32 s0, null\n"
                "s_add_u32 null, s0, -1\n"
                "s_mov_b64 s[2:3], null");
    assert_int_equal(st->s[0], 0);
    assert_int_equal(st->s[2], 0);
    asm_free(st);
}

static void test_unknown_hardware_state_is_a_fault(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    assert_false(asm_try(st, "s_nop 0\n.long 0xffffffff"));
    assert_int_equal(st->fault.kind, SIM_FAULT_ILLEGAL_INSN);
    assert_int_equal(st->fault.pc, 4);
    assert_false(asm_try(st, "s_trap 2"));
    assert_int_equal(st->fault.kind, SIM_FAULT_TRAP);
    assert_false(asm_try(st, "s_mov_b64 s[0:1], 0\ns_setpc_b64 s[0:1]"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar_instructions_give_value_and_scc),
        cmocka_unit_test(test_saveexec_keeps_old_exec_and_sets_scc),
        cmocka_unit_test(test_branches_and_calls_reach_their_targets),
        cmocka_unit_test(test_setreg_changes_rounding_of_scalar_floats),
        cmocka_unit_test(test_null_reads_zero_and_takes_writes),
        cmocka_unit_test(test_unknown_hardware_state_is_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
