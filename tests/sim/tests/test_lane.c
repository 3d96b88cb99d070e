/* test_lane.c - moves between lanes: DPP, permutes, readlane; and SDWA */
#include "valu.h"

#include <stdio.h>

enum { OLD = 7000 }; /* the destination's old value */

static struct asm_state *numbered(const char *target, unsigned wave)
{
    struct asm_state *st = asm_new(target, wave);

    for (unsigned i = 0; i < 64; i++) {
        st->v[1][i] = 100 + i;
        st->v[0][i] = OLD + i;
    }
    return st;
}

/* ---- DPP: source lane of each lane; -1: keeps its value; -2: gets 0 ---- */

typedef int dpp_source(int lane);

static int quad(int i)
{
    return (i & ~3) | "\3\0\2\1"[i & 3];
}
static int shl3(int i)
{
    return i % 16 + 3 < 16 ? i + 3 : -1;
}
static int shr1(int i)
{
    return i % 16 ? i - 1 : -1;
}
static int shr1_zero(int i)
{
    return i % 16 ? i - 1 : -2;
}
static int ror4(int i)
{
    return i / 16 * 16 + (i % 16 + 12) % 16;
}
static int mirror(int i)
{
    return i / 16 * 16 + 15 - i % 16;
}
static int half_mirror(int i)
{
    return i / 8 * 8 + 7 - i % 8;
}
static int bcast15(int i)
{
    return i < 16 ? -1 : i / 16 * 16 - 1;
}
static int bcast15_odd(int i)
{
    return i / 16 % 2 ? i / 16 * 16 - 1 : -1;
}
static int bcast31(int i)
{
    return i < 32 ? -1 : 31;
}
static int newbcast5(int i)
{
    return i / 16 * 16 + 5;
}
static int wave_shl(int i)
{
    return i == 63 ? -1 : i + 1;
}
static int wave_rol(int i)
{
    return (i + 1) % 64;
}
static int wave_shr(int i)
{
    return i - 1;
}
static int wave_ror(int i)
{
    return (i + 63) % 64;
}
static int banks(int i)
{
    return i / 4 % 2 ? -1 : i ^ 1;
}
static int rows(int i)
{
    return i / 16 % 2 ? i ^ 1 : -1;
}
static int xmask6(int i)
{
    return i ^ 6;
}
static int eight(int i)
{
    return i / 8 * 8 + (7 - i % 8 + 3) % 8;
}

static const struct {
    const char *target, *text;
    dpp_source *from;
} dpp_cases[] = {
    {"gfx942", "quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf", quad},
    {"gfx942", "row_shl:3 row_mask:0xf bank_mask:0xf", shl3},
    {"gfx942", "row_shr:1 row_mask:0xf bank_mask:0xf", shr1},
    {"gfx942", "row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", shr1_zero},
    {"gfx942", "row_ror:4 row_mask:0xf bank_mask:0xf", ror4},
    {"gfx942", "row_mirror row_mask:0xf bank_mask:0xf", mirror},
    {"gfx942", "row_half_mirror row_mask:0xf bank_mask:0xf", half_mirror},
    {"gfx942", "row_bcast:15 row_mask:0xf bank_mask:0xf", bcast15},
    {"gfx942", "row_bcast:15 row_mask:0xa bank_mask:0xf", bcast15_odd},
    {"gfx942", "row_bcast:31 row_mask:0xf bank_mask:0xf", bcast31},
    {"gfx942", "row_newbcast:5 row_mask:0xf bank_mask:0xf", newbcast5},
    {"gfx942", "wave_shl:1 row_mask:0xf bank_mask:0xf", wave_shl},
    {"gfx942", "wave_rol:1 row_mask:0xf bank_mask:0xf", wave_rol},
    {"gfx942", "wave_shr:1 row_mask:0xf bank_mask:0xf", wave_shr},
    {"gfx942", "wave_ror:1 row_mask:0xf bank_mask:0xf", wave_ror},
    {"gfx942", "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0x5", banks},
    {"gfx942", "quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0xf", rows},
    {"gfx1030", "quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf", quad},
    {"gfx1030", "row_shr:1 row_mask:0xf bank_mask:0xf", shr1},
    {"gfx1030", "row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", shr1_zero},
    {"gfx1100", "row_share:5 row_mask:0xf bank_mask:0xf", newbcast5},
    {"gfx1201", "row_xmask:6 row_mask:0xf bank_mask:0xf", xmask6},
    {"gfx1100", "dpp8:[2,1,0,7,6,5,4,3]", eight},
    {"gfx1201", "row_mirror row_mask:0xf bank_mask:0xf", mirror},
};

static void test_dpp_reads_other_lanes(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(dpp_cases) / sizeof(dpp_cases[0]); n++) {
        unsigned wave = strncmp(dpp_cases[n].target, "gfx9", 4) ? 32 : 64;
        struct asm_state *st = numbered(dpp_cases[n].target, wave);
        char text[256];

        /* 64-bit moves go register by register, and vop2 with DPP adds. */
        snprintf(text, sizeof(text),
                 "v_mov_b32 v5, 1\nv_mov_b32 v2, v0\nv_mov_b32_dpp v0, v1 %s\n"
                 "v_add_f32_dpp v2, v1, v1 %s",
                 dpp_cases[n].text, dpp_cases[n].text);
        asm_run(st, text);
        for (int i = 0; i < (int)wave; i++) {
            int from = dpp_cases[n].from(i);
            uint32_t want = from == -1   ? OLD + (unsigned)i
                            : from == -2 ? 0
                                         : 100 + (unsigned)from;

            if (st->v[0][i] != want)
                fail_msg("%s %s lane %d: want %u, got %u", dpp_cases[n].target,
                         dpp_cases[n].text, i, want, st->v[0][i]);
            /* Sums of denormals: integer sums of the bits. */
            want = from == -1 ? OLD + (unsigned)i
                              : 100 + (unsigned)i +
                                    (from == -2 ? 0 : 100 + (unsigned)from);
            if (st->v[2][i] != want)
                fail_msg("sum %s %s lane %d: want %u, got %u",
                         dpp_cases[n].target, dpp_cases[n].text, i, want,
                         st->v[2][i]);
        }
        asm_free(st);
    }
}

static void test_dpp_sources_that_are_off(void **state)
{
    struct asm_state *st = numbered("gfx1100", 32);

    (void)state;
    st->s[SREG_EXEC] = 0xfffffffd; /* lane 1 is off */
    asm_run(st,
            "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\nv_mov_b32 v4, v0\n"
            "v_mov_b32 v5, v0\n"
            "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
            "v_mov_b32_dpp v3, v1 row_shr:1 row_mask:0xf bank_mask:0xf "
            "bound_ctrl:1\n"
            "v_mov_b32_dpp v4, v1 row_shr:1 row_mask:0xf bank_mask:0xf fi:1\n"
            "v_mov_b32_dpp v5, v1 dpp8:[1,1,1,1,1,1,1,1]");
    assert_int_equal(st->v[2][2], OLD + 2);
    assert_int_equal(st->v[3][2], 0);
    assert_int_equal(st->v[4][2], 101);
    assert_int_equal(st->v[5][3], 0);
    assert_int_equal(st->v[2][3], 102);
    asm_free(st);
}

/* ---- readlane and its kin ---- */

static void test_readlane_does_not_look_at_exec(void **state)
{
    struct asm_state *st = numbered("gfx942", 64);

    (void)state;
    st->s[SREG_EXEC] = 0xff00;
    st->s[SREG_EXEC + 1] = 0;
    st->s[20] = 67; /* lane 3 of 64 */
    asm_run(st, "v_readlane_b32 s0, v1, 5\nv_readlane_b32 s1, v1, s20\n"
                "v_readfirstlane_b32 s2, v1\nv_writelane_b32 v0, s20, 1\n"
                "s_mov_b64 exec, 0\nv_readfirstlane_b32 s3, v1");
    assert_int_equal(st->s[0], 105);
    assert_int_equal(st->s[1], 103);
    assert_int_equal(st->s[2], 108);
    assert_int_equal(st->s[3], 100);
    assert_int_equal(st->v[0][1], 67);
    assert_int_equal(st->v[0][2], OLD + 2);
    asm_free(st);
}

static void test_mbcnt_counts_lower_lanes(void **state)
{
    struct asm_state *st = numbered("gfx942", 64);

    (void)state;
    asm_run(st, "v_mbcnt_lo_u32_b32 v2, -1, 0\nv_mbcnt_hi_u32_b32 v2, -1, v2\n"
                "s_mov_b32 s0, 0x55555555\nv_mbcnt_lo_u32_b32 v3, s0, 7");
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(st->v[2][i], i);
        assert_int_equal(st->v[3][i], 7 + (i < 32 ? (i + 1) / 2 : 16));
    }
    asm_free(st);
}

static void test_permlane16_takes_a_lane_of_the_row(void **state)
{
    struct asm_state *st = numbered("gfx1100", 32);

    (void)state;
    st->s[4] = 0x76543210;
    st->s[5] = 0xffffffff;
    asm_run(st, "v_mov_b32 v2, v0\nv_permlane16_b32 v0, v1, s4, s5\n"
                "v_permlanex16_b32 v2, v1, s4, s5");
    for (unsigned i = 0; i < 32; i++) {
        unsigned lane = i % 16 < 8 ? i % 16 : 15;

        assert_int_equal(st->v[0][i], 100 + i / 16 * 16 + lane);
        assert_int_equal(st->v[2][i], 100 + (1 - i / 16) * 16 + lane);
    }
    asm_free(st);
}

static void test_permlane16_of_lanes_that_are_off(void **state)
{
    struct asm_state *st = numbered("gfx1030", 32);

    (void)state;
    st->s[4] = st->s[5] = 0; /* all from lane 0 of the row */
    st->s[SREG_EXEC] = 0xfffffffe;
    asm_run(st, "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\n"
                "v_permlane16_b32 v0, v1, s4, s5\n"
                "v_permlane16_b32 v2, v1, s4, s5 op_sel:[1,0]\n"
                "v_permlane16_b32 v3, v1, s4, s5 op_sel:[0,1]");
    assert_int_equal(st->v[0][1], OLD + 1);
    assert_int_equal(st->v[2][1], 100);
    assert_int_equal(st->v[3][1], 0);
    assert_int_equal(st->v[0][17], 116);
    asm_free(st);
}

static void test_permlane64_swaps_halves(void **state)
{
    struct asm_state *st = numbered("gfx1100", 64);

    (void)state;
    asm_run(st, "v_permlane64_b32 v0, v1");
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(st->v[0][i], 100 + (i + 32) % 64);
    asm_free(st);
}

static void test_permlane16_var_takes_a_selector_per_lane(void **state)
{
    struct asm_state *st = numbered("gfx1201", 32);

    (void)state;
    for (unsigned i = 0; i < 32; i++)
        st->v[3][i] = 16 * i + (i * 7) % 16; /* the low four bits count */
    asm_run(st, "v_permlane16_var_b32 v0, v1, v3\n"
                "v_permlanex16_var_b32 v2, v1, v3");
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(st->v[0][i], 100 + i / 16 * 16 + i * 7 % 16);
        assert_int_equal(st->v[2][i], 100 + (1 - i / 16) * 16 + i * 7 % 16);
    }
    asm_free(st);
}

static void test_permlane_swap_exchanges_rows(void **state)
{
    struct asm_state *st = numbered("gfx950", 64);

    (void)state;
    asm_run(st, "v_mov_b32 v2, v0\nv_mov_b32 v3, v1\n"
                "v_permlane16_swap_b32 v0, v1\nv_permlane32_swap_b32 v2, v3");
    for (unsigned i = 0; i < 64; i++) {
        bool odd = i / 16 % 2, high = i >= 32;

        assert_int_equal(st->v[0][i], odd ? 100 + i - 16 : OLD + i);
        assert_int_equal(st->v[1][i], odd ? 100 + i : OLD + i + 16);
        assert_int_equal(st->v[2][i], high ? 100 + i - 32 : OLD + i);
        assert_int_equal(st->v[3][i], high ? 100 + i : OLD + i + 32);
    }
    asm_free(st);
}

static void test_swap_exchanges_registers_of_active_lanes(void **state)
{
    struct asm_state *st = numbered("gfx942", 64);

    (void)state;
    st->s[SREG_EXEC] = 2;
    st->s[SREG_EXEC + 1] = 0;
    asm_run(st, "v_swap_b32 v0, v1");
    assert_int_equal(st->v[0][1], 101);
    assert_int_equal(st->v[1][1], OLD + 1);
    assert_int_equal(st->v[0][2], OLD + 2);
    asm_free(st);
}

static void test_swap_b16_exchanges_halves(void **state)
{
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    st->v[0][3] = 0x11112222;
    st->v[1][3] = 0x33334444;
    asm_run(st, "v_swap_b16 v0.h, v1.l");
    assert_int_equal(st->v[0][3], 0x44442222);
    assert_int_equal(st->v[1][3], 0x33331111);
    asm_run(st, "v_swap_b16 v0.l, v0.h");
    assert_int_equal(st->v[0][3], 0x22224444);
    asm_free(st);
}

static void test_movrel_counts_from_m0(void **state)
{
    struct asm_state *st = numbered("gfx1030", 32);

    (void)state;
    for (unsigned k = 0; k < 8; k++)
        st->v[10 + k][3] = 1000 + k;
    asm_run(st, "s_mov_b32 m0, 3\nv_movrels_b32 v0, v10\n"
                "v_movreld_b32 v20, v11\nv_movrelsd_b32 v21, v12");
    assert_int_equal(st->v[0][3], 1003);
    assert_int_equal(st->v[23][3], 1001);
    assert_int_equal(st->v[24][3], 1005);
    st->s[SREG_M0] = 300;
    assert_false(asm_try(st, "v_movrels_b32 v0, v10"));
    asm_free(st);
}

/* ---- SDWA ---- */

static uint32_t sdwa(const char *text)
{
    struct asm_state *st = asm_new("gfx90a", 64);
    uint32_t d;

    st->v[0][9] = 0x11223344;
    st->v[1][9] = 0x80f17f05;
    st->v[2][9] = 0x00030201;
    asm_run(st, text);
    d = st->v[0][9];
    asm_free(st);
    return d;
}

static void test_sdwa_picks_bytes_and_words(void **state)
{
    static const struct {
        const char *mods;
        uint32_t want;
    } cases[] = {
        {"dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_1",
         5 + 2},
        {"dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:BYTE_2",
         0x80 + 3},
        {"dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0",
         0x80f1 + 0x201},
        {"dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_0",
         0x600},
        {"dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 "
         "src1_sel:BYTE_0",
         0x11220644},
        {"dst_sel:BYTE_2 dst_unused:UNUSED_SEXT src0_sel:BYTE_2 "
         "src1_sel:BYTE_0",
         0xfff20000},
        {"dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
         "src1_sel:DWORD",
         0x81063344},
        {"dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:WORD_1 "
         "src1_sel:BYTE_0",
         0xffff80f2},
    };
    char text[256];

    (void)state;
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        snprintf(text, sizeof(text), "v_add_u32_sdwa v0, v1, v2 %s",
                 cases[n].mods);
        if (sdwa(text) != cases[n].want)
            fail_msg("%s: want %#x, got %#x", text, cases[n].want, sdwa(text));
    }
    assert_int_equal(
        sdwa("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD "
             "dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:BYTE_0"),
        0xfffffff2);
    assert_int_equal(sdwa("v_cvt_f32_u32_sdwa v0, v1 dst_sel:DWORD "
                          "dst_unused:UNUSED_PAD src0_sel:BYTE_1"),
                     bits_of(127));
}

/* ---- VOPD: both halves read before either writes ---- */

static void test_pairs_read_before_they_write(void **state)
{
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        st->v[0][i] = bits_of(3);
        st->v[1][i] = bits_of(5);
        st->v[2][i] = st->v[3][i] = bits_of(7);
    }
    asm_run(st, "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\n"
                "v_dual_mul_f32 v4, v0, v2 :: v_dual_add_f32 v7, v1, v3");
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(st->v[0][i], bits_of(5));
        assert_int_equal(st->v[1][i], bits_of(3));
        assert_int_equal(st->v[4][i], bits_of(35));
        assert_int_equal(st->v[7][i], bits_of(10));
    }
    asm_free(st);
}

static void check_pair(const char *target, const char *first,
                       const char *second, float want_first, float want_second)
{
    struct asm_state *st = asm_new(target, 32);
    char text[256];

    for (unsigned i = 0; i < 32; i++) {
        st->v[0][i] = bits_of(3);
        st->v[1][i] = bits_of(-0.5f);
        st->v[2][i] = bits_of(8);
        st->v[3][i] = bits_of(0.25f);
        st->v[4][i] = bits_of(100);
        st->v[7][i] = bits_of(1000);
    }
    snprintf(text, sizeof(text), "v_dual_%s :: v_dual_%s", first, second);
    asm_run(st, text);
    if (st->v[4][9] != bits_of(want_first) ||
        st->v[7][9] != bits_of(want_second))
        fail_msg("%s on %s: want %a, %a, got %a, %a", text, target,
                 (double)want_first, (double)want_second,
                 (double)as_f32(st->v[4][9]), (double)as_f32(st->v[7][9]));
    asm_free(st);
}

static void test_pairs_compute_as_their_single_forms(void **state)
{
    (void)state;
    check_pair("gfx1100", "max_f32 v4, v0, v2", "min_f32 v7, v1, v3", 8, -0.5f);
    check_pair("gfx1201", "max_num_f32 v4, v0, v2", "min_num_f32 v7, v1, v3", 8,
               -0.5f);
    check_pair("gfx1100", "subrev_f32 v4, v0, v2", "sub_f32 v7, v1, v3", 5,
               -0.75f);
    check_pair("gfx1100", "fmac_f32 v4, v0, v2", "fmac_f32 v7, v1, v3", 124,
               999.875f);
    check_pair("gfx1100", "mul_dx9_zero_f32 v4, v0, v2", "mul_f32 v7, v1, v3",
               24, -0.125f);
    check_pair("gfx1201", "fmaak_f32 v4, v0, v2, 0x3f800000",
               "fmamk_f32 v7, v1, 0x3f800000, v3", 25, -0.25f);
}

static void test_accvgpr_mov(void **state)
{
    struct asm_state *st = numbered("gfx90a", 64);

    (void)state;
    asm_run(st, "v_accvgpr_write_b32 a1, v1\nv_accvgpr_mov_b32 a2, a1\n"
                "v_accvgpr_read_b32 v3, a2");
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(st->v[3][i], 100 + i);
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dpp_reads_other_lanes),
        cmocka_unit_test(test_dpp_sources_that_are_off),
        cmocka_unit_test(test_readlane_does_not_look_at_exec),
        cmocka_unit_test(test_mbcnt_counts_lower_lanes),
        cmocka_unit_test(test_permlane16_takes_a_lane_of_the_row),
        cmocka_unit_test(test_permlane16_of_lanes_that_are_off),
        cmocka_unit_test(test_permlane64_swaps_halves),
        cmocka_unit_test(test_permlane16_var_takes_a_selector_per_lane),
        cmocka_unit_test(test_permlane_swap_exchanges_rows),
        cmocka_unit_test(test_swap_exchanges_registers_of_active_lanes),
        cmocka_unit_test(test_swap_b16_exchanges_halves),
        cmocka_unit_test(test_movrel_counts_from_m0),
        cmocka_unit_test(test_sdwa_picks_bytes_and_words),
        cmocka_unit_test(test_pairs_read_before_they_write),
        cmocka_unit_test(test_pairs_compute_as_their_single_forms),
        cmocka_unit_test(test_accvgpr_mov),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
