/* test_block.c - code runs by blocks, and memory by whole waves: what counts
 *
 * Nothing of that may be seen: not in results, not in the counters, and not in
 * what a fault says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "asm.h"

#include <stdio.h>

static void a_loop_into_the_middle(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    asm_run(st, "s_mov_b32 s0, 0\n"
                "s_mov_b32 s1, 0\n"
                "s_add_u32 s0, s0, 1\n"
                "again: s_add_u32 s1, s1, 1\n"
                "s_nop 0\n"
                "s_cmp_lt_u32 s1, 10\n"
                "s_cbranch_scc1 again");
    assert_int_equal(st->s[0], 1);
    assert_int_equal(st->s[1], 10);
    assert_int_equal(st->stats.salu, 3 + 2 * 10);
    assert_int_equal(st->stats.branch, 10);
    assert_int_equal(st->stats.other, 10 + 1); /* and s_endpgm */
    asm_free(st);
}

/* Longer than any block. */
static void a_long_way(void **state)
{
    enum { N = 300 };
    struct asm_state *st = asm_new("gfx1100", 32);
    char text[N * 24] = "s_mov_b32 s0, 0\n";
    size_t n = strlen(text);

    (void)state;
    for (int i = 0; i < N; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "s_add_u32 s0, s0, %d\n", i % 5 + 1);
    asm_run(st, text);
    assert_int_equal(st->s[0], 3 * N);
    assert_int_equal(st->stats.insns, N + 2);
    asm_free(st);
}

/* Instructions behind a fault in the same block do not run and do not count. */
static void a_fault_in_the_middle(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->v[0][0] = 0;
    st->v[1][0] = 0;
    st->s[3] = 7;
    assert_false(asm_try(st, "s_nop 0\n"
                             "s_mov_b32 s2, 1\n"
                             "s_mov_b64 exec, 1\n"
                             "global_load_dword v2, v[0:1], off\n"
                             "s_mov_b32 s3, 1\n"
                             "v_mov_b32 v3, 0"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    assert_non_null(strstr(st->fault.text, "global_load_dword"));
    assert_int_equal(st->fault.pc, 12);
    assert_int_equal(st->s[2], 1);
    assert_int_equal(st->s[3], 7);
    assert_int_equal(st->stats.insns, 4);
    assert_int_equal(st->stats.salu, 2);
    assert_int_equal(st->stats.vmem, 1);
    assert_int_equal(st->stats.valu, 0);
    asm_free(st);
}

/* EXEC counts for the instruction that comes next. */
static void lanes_change_within(void **state)
{
    struct asm_state *st = asm_new("gfx1030", 32);

    (void)state;
    asm_run(st, "v_mov_b32 v0, 1\n"
                "s_mov_b32 exec_lo, 0xff\n"
                "v_mov_b32 v0, 2\n"
                "s_mov_b32 exec_lo, 0x3\n"
                "v_mov_b32 v0, 3");
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(st->v[0][i], i < 2 ? 3 : i < 8 ? 2 : 1);
    assert_int_equal(st->stats.lane_insns, 32 + 8 + 2);
    asm_free(st);
}

/* MODE counts for the instruction that comes next: here round up. */
static void mode_changes_within(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    asm_run(st, "v_mov_b32 v0, 1.0\n"
                "v_mov_b32 v1, 0x30000000\n"
                "v_add_f32 v2, v0, v1\n"
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n"
                "v_add_f32 v3, v0, v1\n"
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0\n"
                "v_add_f32 v4, v0, v1");
    assert_int_equal(st->v[2][5], 0x3f800000);
    assert_int_equal(st->v[3][5], 0x3f800001);
    assert_int_equal(st->v[4][5], 0x3f800000);
    asm_free(st);
}

/* Extra cycles of 32 lanes, by the rule: the lanes of one bank take turns. */
static unsigned extra_cycles(const uint32_t offset[32])
{
    unsigned depth[32] = {0}, worst = 0;

    for (unsigned i = 0; i < 32; i++)
        if (i == 0 || offset[i] / 4 != offset[i - 1] / 4)
            depth[offset[i] / 4 % 32]++;
    for (unsigned bank = 0; bank < 32; bank++)
        worst = depth[bank] > worst ? depth[bank] : worst;
    return worst - 1;
}

static void conflicts_of_every_stride(void **state)
{
    (void)state;
    for (int stride = -132; stride <= 132; stride++) {
        struct asm_state *st = asm_new("gfx942", 64);
        uint32_t offset[64];
        unsigned expected;

        for (int i = 0; i < 64; i++)
            st->v[1][i] = offset[i] = (uint32_t)(16384 + i * stride);
        expected = extra_cycles(offset) + extra_cycles(offset + 32);
        asm_run(st, "ds_read_u8 v0, v1");
        assert_int_equal(st->stats.lds_bank_conflicts, expected);
        asm_free(st);
    }
}

/* Side by side, one step apart, backwards, with a lane off: all the same. */
static void values_of_every_order(void **state)
{
    static const struct {
        const char *text; /* v4 and on from LDS, then from v4 back, 4 KB on */
        unsigned ndwords;
    } cases[] = {{"ds_read_b32 v4, v1\nds_write_b32 v1, v4 offset:4096", 1},
                 {"ds_read_b64 v[4:5], v1\n"
                  "ds_write_b64 v1, v[4:5] offset:4096",
                  2},
                 {"ds_read_b96 v[4:6], v1\n"
                  "ds_write_b96 v1, v[4:6] offset:4096",
                  3},
                 {"ds_read_b128 v[4:7], v1\n"
                  "ds_write_b128 v1, v[4:7] offset:4096",
                  4}};
    static const int strides[] = {4, 8, 12, 16, 32, -16};

    (void)state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (unsigned k = 0; k < 12; k++) {
            const int stride = strides[k / 2];
            const uint64_t exec = k % 2 ? ~(UINT64_C(1) << 17) : UINT64_MAX;
            struct asm_state *st = asm_new("gfx942", 64);
            uint8_t expected[65536];

            for (unsigned i = 0; i < 8192; i++)
                st->lds[i] = (uint8_t)(i * 7 ^ i >> 8);
            memcpy(expected, st->lds, sizeof(expected));
            for (int i = 0; i < 64; i++)
                st->v[1][i] = (uint32_t)(1024 + i * stride);
            memcpy(&st->s[SREG_EXEC], &exec, sizeof(exec));
            asm_run(st, cases[c].text);
            for (unsigned i = 0; i < 64; i++)
                for (unsigned d = 0; d < cases[c].ndwords; d++) {
                    const uint8_t *from = &expected[st->v[1][i] + 4 * d];

                    if (!(exec >> i & 1))
                        continue;
                    assert_memory_equal(&st->v[4 + d][i], from, 4);
                    memcpy(&expected[4096 + st->v[1][i] + 4 * d], from, 4);
                }
            assert_memory_equal(st->lds, expected, sizeof(expected));
            asm_free(st);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_into_the_middle),
        cmocka_unit_test(a_long_way),
        cmocka_unit_test(a_fault_in_the_middle),
        cmocka_unit_test(lanes_change_within),
        cmocka_unit_test(mode_changes_within),
        cmocka_unit_test(conflicts_of_every_stride),
        cmocka_unit_test(values_of_every_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
