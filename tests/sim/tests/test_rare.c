/* test_rare.c - instructions that compilers seldom make: LDS pairs and wraps,
 * blocks, addresses by thread, named barriers, hints */
#include "memory_test.h"

/* ---- LDS ---- */

static void put_lds(struct asm_state *st, unsigned at, uint32_t v)
{
    memcpy(st->lds + at, &v, 4);
}

static void one_lane(struct asm_state *st)
{
    st->s[SREG_EXEC] = 1;
    st->s[SREG_EXEC + 1] = 0;
}

static void test_wrap_takes_off_or_puts_on(void **state)
{
    static const uint32_t cases[][4] = {
        {10, 3, 100, 7}, {3, 3, 100, 0}, {2, 3, 100, 102}};

    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        struct asm_state *st = asm_new("gfx906", 64);

        one_lane(st);
        put_lds(st, 8, cases[n][0]);
        st->v[1][0] = 4;
        st->v[2][0] = cases[n][1];
        st->v[3][0] = cases[n][2];
        asm_run(st, "ds_wrap_rtn_b32 v5, v1, v2, v3 offset:4");
        assert_int_equal(st->v[5][0], cases[n][0]);
        assert_int_equal(dword_at(st->lds + 8), cases[n][3]);
        asm_free(st);
    }
}

static void test_conditional_exchange_looks_at_the_top_bits(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        struct asm_state *st = asm_new("gfx942", 64);

        one_lane(st);
        put_lds(st, 8, 11);
        put_lds(st, 12, 22);
        st->v[1][0] = 8;
        st->v[2][0] = 33 | (n & 1 ? 1u << 31 : 0);
        st->v[3][0] = 44 | (n & 2 ? 1u << 31 : 0);
        asm_run(st, "ds_condxchg32_rtn_b64 v[4:5], v1, v[2:3]");
        assert_int_equal(st->v[4][0], 11);
        assert_int_equal(st->v[5][0], 22);
        assert_int_equal(dword_at(st->lds + 8), n & 1 ? 33 : 11);
        assert_int_equal(dword_at(st->lds + 12), n & 2 ? 44 : 22);
        asm_free(st);
    }
}

static void test_src2_takes_its_operand_from_lds(void **state)
{
    static const struct {
        const char *text;
        uint32_t address, want;
    } cases[] = {
        {"ds_add_src2_u32 v1 offset:2", 16, 100 + 7},
        {"ds_sub_src2_u32 v1 offset:2", 16, 93},
        {"ds_rsub_src2_u32 v1 offset:2", 16, (uint32_t)-93},
        {"ds_max_src2_i32 v1 offset:2", 16, 100},
        {"ds_write_src2_b32 v1 offset:2", 16, 7},
        {"ds_xor_src2_b32 v1 offset:2", 16, 100 ^ 7},
        /* the distance in the address: -2 dwords */
        {"ds_add_src2_u32 v1 offset:32768", 16 | (uint32_t)-2 << 17, 100 + 9},
    };

    (void)state;
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct asm_state *st = asm_new("gfx906", 64);

        one_lane(st);
        put_lds(st, 8, 9);
        put_lds(st, 16, 100);
        put_lds(st, 24, 7);
        st->v[1][0] = cases[n].address;
        asm_run(st, cases[n].text);
        if (dword_at(st->lds + 16) != cases[n].want)
            fail_msg("%s: want %u, got %u", cases[n].text, cases[n].want,
                     dword_at(st->lds + 16));
        asm_free(st);
    }
}

static void test_two_addresses_of_lds(void **state)
{
    static const struct {
        const char *target, *load, *store, *exchange;
        unsigned unit, nbytes;
    } cases[] = {
        {"gfx942", "ds_read2_b32 v[4:5], v1 offset0:3 offset1:9",
         "ds_write2_b32 v1, v8, v10 offset0:3 offset1:9",
         "ds_wrxchg2_rtn_b32 v[4:5], v1, v8, v10 offset0:3 offset1:9", 4, 4},
        {"gfx942", "ds_read2st64_b32 v[4:5], v1 offset0:3 offset1:9",
         "ds_write2st64_b32 v1, v8, v10 offset0:3 offset1:9",
         "ds_wrxchg2st64_rtn_b32 v[4:5], v1, v8, v10 offset0:3 offset1:9", 256,
         4},
        {"gfx906", "ds_read2_b64 v[4:7], v1 offset0:3 offset1:9",
         "ds_write2_b64 v1, v[8:9], v[10:11] offset0:3 offset1:9",
         "ds_wrxchg2_rtn_b64 v[4:7], v1, v[8:9], v[10:11] offset0:3 offset1:9",
         8, 8},
        {"gfx1100", "ds_load_2addr_stride64_b64 v[4:7], v1 offset0:3 offset1:9",
         "ds_store_2addr_stride64_b64 v1, v[8:9], v[10:11] offset0:3 offset1:9",
         "ds_storexchg_2addr_stride64_rtn_b64 v[4:7], v1, v[8:9], v[10:11] "
         "offset0:3 offset1:9",
         512, 8},
        {"gfx1201", "ds_load_2addr_b32 v[4:5], v1 offset0:3 offset1:9",
         "ds_store_2addr_b32 v1, v8, v10 offset0:3 offset1:9",
         "ds_storexchg_2addr_rtn_b32 v[4:5], v1, v8, v10 offset0:3 offset1:9",
         4, 4},
        {"gfx1201", "ds_load_2addr_b64 v[4:7], v1 offset0:3 offset1:9",
         "ds_store_2addr_b64 v1, v[8:9], v[10:11] offset0:3 offset1:9",
         "ds_storexchg_2addr_rtn_b64 v[4:7], v1, v[8:9], v[10:11] offset0:3 "
         "offset1:9",
         8, 8},
        {"gfx1100", "ds_load_2addr_stride64_b32 v[4:5], v1 offset0:3 offset1:9",
         "ds_store_2addr_stride64_b32 v1, v8, v10 offset0:3 offset1:9",
         "ds_storexchg_2addr_stride64_rtn_b32 v[4:5], v1, v8, v10 offset0:3 "
         "offset1:9",
         256, 4},
    };

    (void)state;
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct asm_state *st = asm_new(cases[n].target, 32);
        unsigned words = cases[n].nbytes / 4;

        one_lane(st);
        st->v[1][0] = 32;
        for (unsigned i = 0; i < sizeof(st->lds); i++)
            st->lds[i] = (uint8_t)(i * 7 + i / 256);
        for (unsigned k = 0; k < 2; k++)
            for (unsigned w = 0; w < words; w++)
                st->v[8 + 2 * k + w][0] = 0x1000 * (k + 1) + w;
        for (unsigned step = 0; step < 3; step++) {
            uint8_t before[2][8];

            for (unsigned k = 0; k < 2; k++)
                memcpy(before[k], st->lds + 32 + (k ? 9 : 3) * cases[n].unit,
                       8);
            asm_run(st, step == 0   ? cases[n].load
                        : step == 1 ? cases[n].exchange
                                    : cases[n].store);
            for (unsigned k = 0; k < 2; k++)
                for (unsigned w = 0; w < words; w++) {
                    unsigned at = 32 + (k ? 9 : 3) * cases[n].unit + 4 * w;

                    if (step < 2)
                        assert_int_equal(st->v[4 + k * words + w][0],
                                         dword_at(before[k] + 4 * w));
                    if (step > 0)
                        assert_int_equal(dword_at(st->lds + at),
                                         st->v[8 + 2 * k + w][0]);
                }
            for (unsigned k = 0; k < 2 && step == 1; k++)
                memset(st->lds + 32 + (k ? 9 : 3) * cases[n].unit, 0, 4);
        }
        asm_free(st);
    }
}

static void test_a_counter_of_the_wave_moves_by_its_lanes(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[SREG_EXEC] = 0xf0;
    st->s[SREG_EXEC + 1] = 1;
    st->s[SREG_M0] = 64 << 16;
    put_lds(st, 72, 100);
    asm_run(st, "ds_append v1 offset:8\nds_consume v2 offset:8\n"
                "ds_consume v3 offset:8\nds_nop");
    assert_int_equal(st->v[1][5], 100);
    assert_int_equal(st->v[2][32], 105);
    assert_int_equal(st->v[3][7], 100);
    assert_int_equal(dword_at(st->lds + 72), 95);
    asm_free(st);
}

static void test_addresses_by_thread(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);
    struct asm_state *st = asm_new("gfx1030", 32);

    (void)state;
    set64(st, 2, a->base);
    st->s[SREG_M0] = 128;
    for (unsigned lane = 0; lane < 32; lane++)
        st->v[6][lane] = lane * 3;
    asm_run(st, "global_load_dword_addtid v4, s[2:3] offset:16\n"
                "global_store_dword_addtid v6, s[2:3] offset:512\n"
                "ds_write_addtid_b32 v6 offset:4\n"
                "ds_read_addtid_b32 v7 offset:4\n");
    for (unsigned lane = 0; lane < 32; lane++) {
        assert_int_equal(st->v[4][lane], dword_at(a->bytes + 16 + 4 * lane));
        assert_int_equal(dword_at(a->bytes + 512 + 4 * lane), lane * 3);
        assert_int_equal(dword_at(st->lds + 132 + 4 * lane), lane * 3);
        assert_int_equal(st->v[7][lane], lane * 3);
    }
    asm_free(st);
    st = asm_new("gfx1100", 32);
    set64(st, 2, a->base);
    asm_run(st, "global_load_addtid_b32 v4, s[2:3] offset:16\n"
                "global_store_addtid_b32 v4, s[2:3] offset:256\n");
    assert_memory_equal(a->bytes + 256, a->bytes + 16, 128);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_blocks_move_the_registers_that_m0_names(void **state)
{
    struct sim_alloc *a = counting_bytes(8192);
    struct asm_state *st = asm_new("gfx1201", 32);

    (void)state;
    set64(st, 2, a->base);
    st->s[SREG_M0] = 0x80000005;
    for (unsigned lane = 0; lane < 32; lane++)
        st->v[1][lane] = 128 * lane;
    for (unsigned r = 8; r < 40; r++)
        st->v[r][3] = 99;
    asm_run(st, "global_load_block v[8:39], v1, s[2:3]\n"
                "global_store_block v1, v[8:39], s[2:3] offset:4096\n"
                "s_mov_b32 m0, 3\n"
                "scratch_store_block off, v[8:39], off offset:8\n"
                "scratch_load_block v[50:81], off, off offset:8\n");
    for (unsigned r = 0; r < 32; r++)
        assert_int_equal(st->v[8 + r][3], r == 0 || r == 2 || r == 31
                                              ? dword_at(a->bytes + 384 + 4 * r)
                                              : 99);
    assert_memory_equal(a->bytes + 4096 + 384, a->bytes + 384, 4);
    assert_int_equal(a->bytes[4096 + 384 + 4], (uint8_t)(4096 + 384 + 5));
    assert_int_equal(st->v[50][3], st->v[8][3]);
    assert_int_equal(st->v[51][3], 99);
    asm_free(st);
    sim_mem_free(a->base);
}

/* ---- waves ---- */

/* Two of four waves meet at barrier 3; the others do not wait for them. */
static void test_named_barriers_hold_their_members_alone(void **state)
{
    struct sim_alloc *a = counting_bytes(64);
    uint64_t arguments[] = {a->base};
    struct asm_launch l = {.target = "gfx1201",
                           .wave_size = 32,
                           .text = "s_load_b64 s[4:5], s[0:1], 0x0\n"
                                   "v_and_b32 v0, 0x3ff, v0\n"
                                   "v_readfirstlane_b32 s6, v0\n"
                                   "s_lshr_b32 s6, s6, 5\n"
                                   "v_mov_b32 v1, 0\n"
                                   "v_mov_b32 v2, 77\n"
                                   "s_mov_b32 m0, 0x20003\n"
                                   "s_cmp_eq_u32 s6, 0\n"
                                   "s_cbranch_scc0 1f\n"
                                   "s_barrier_init m0\n"
                                   "1:\n"
                                   "s_barrier_signal -1\n"
                                   "s_barrier_wait -1\n"
                                   "s_cmp_gt_u32 s6, 1\n"
                                   "s_cbranch_scc1 3f\n"
                                   "s_barrier_join 3\n"
                                   "s_cmp_eq_u32 s6, 1\n"
                                   "s_cbranch_scc1 2f\n"
                                   "ds_store_b32 v1, v2\n"
                                   "2:\n"
                                   "s_barrier_signal 3\n"
                                   "s_barrier_wait 1\n"
                                   "ds_load_b32 v3, v1\n"
                                   "v_mov_b32 v4, s6\n"
                                   "v_lshlrev_b32 v4, 2, v4\n"
                                   "global_store_b32 v4, v3, s[4:5]\n"
                                   "s_get_barrier_state s7, 3\n"
                                   "v_mov_b32 v5, s7\n"
                                   "global_store_b32 v4, v5, s[4:5] offset:16\n"
                                   "3:\n"
                                   "s_endpgm",
                           .groups = 1,
                           .block = 128,
                           .lds_nbytes = 64,
                           .kernarg = arguments,
                           .kernarg_nbytes = sizeof(arguments)};

    (void)state;
    if (!asm_dispatch(&l))
        fail_msg("%s", l.fault.text);
    assert_int_equal(dword_at(a->bytes), 77);
    assert_int_equal(dword_at(a->bytes + 4), 77);
    assert_int_equal(dword_at(a->bytes + 16), 2 << 16 | 1);
    sim_mem_free(a->base);
}

static void test_a_named_barrier_nobody_completes_is_a_fault(void **state)
{
    struct asm_launch l = {.target = "gfx1201",
                           .wave_size = 32,
                           .text = "s_mov_b32 m0, 0x30002\n"
                                   "s_barrier_init m0\n"
                                   "s_barrier_join 2\n"
                                   "s_barrier_signal 2\n"
                                   "s_barrier_wait 1\n",
                           .groups = 1,
                           .block = 32};

    (void)state;
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_BARRIER);
    assert_non_null(strstr(l.fault.text, "barrier 2"));
    l.text = "s_barrier_wait 1";
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_BARRIER);
}

/* Every group waits for a word that the last one writes, with few threads. */
static void test_groups_that_spin_let_others_come(void **state)
{
    static const char *const waits[] = {"", "s_sleep 1\n"};

    (void)state;
    for (unsigned sleeps = 0; sleeps < 2; sleeps++) {
        struct sim_alloc *a = counting_bytes(64);
        uint64_t arguments[] = {a->base};
        char text[512];
        struct asm_launch l = {.target = "gfx942",
                               .wave_size = 64,
                               .text = text,
                               .groups = 9,
                               .block = 64,
                               .kernarg = arguments,
                               .kernarg_nbytes = sizeof(arguments)};

        memset(a->bytes, 0, 64);
        snprintf(text, sizeof(text),
                 "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                 "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\n"
                 "s_mov_b64 exec, 1\n"
                 "s_cmp_eq_u32 s2, 8\n"
                 "s_cbranch_scc0 1f\n"
                 "global_store_dword v1, v2, s[4:5] sc0 sc1\n"
                 "1:\n%s"
                 "global_load_dword v3, v1, s[4:5] sc0 sc1\n"
                 "s_waitcnt vmcnt(0)\n"
                 "v_cmp_eq_u32 vcc, 0, v3\n"
                 "s_cbranch_vccnz 1b\n"
                 "global_atomic_add v1, v2, s[4:5] offset:4\n",
                 waits[sleeps]);
        if (!asm_dispatch(&l))
            fail_msg("%s", l.fault.text);
        assert_int_equal(dword_at(a->bytes + 4), 9);
        sim_mem_free(a->base);
    }
}

static void test_registers_do_not_become_more(void **state)
{
    struct asm_state *st = asm_new("gfx1201", 32);

    (void)state;
    asm_run(st, "s_alloc_vgpr 64\ns_cselect_b32 s4, 1, 2");
    assert_int_equal(st->s[4], 1);
    asm_run(st, "s_alloc_vgpr 0x200\ns_cselect_b32 s4, 1, 2");
    assert_int_equal(st->s[4], 2);
    asm_free(st);
}

static void test_hints_change_nothing(void **state)
{
    static const struct {
        const char *target, *text;
    } lines[] = {
        {"gfx942", "s_nop 3\ns_setprio 2\ns_sleep 1\ns_wakeup\ns_sethalt 0\n"
                   "s_setkill 0\ns_incperflevel 1\ns_decperflevel 1\n"
                   "s_ttracedata\ns_sendmsg sendmsg(MSG_INTERRUPT)\n"
                   "s_waitcnt 0\nv_nop\ns_icache_inv"},
        {"gfx1030", "s_inst_prefetch 1\ns_clause 3\ns_waitcnt_vscnt null, 0\n"
                    "s_waitcnt_vmcnt null, 0\ns_waitcnt_expcnt null, 0\n"
                    "s_waitcnt_lgkmcnt null, 0\ns_waitcnt_depctr 0xffff\n"
                    "s_ttracedata_imm 1\ns_version 1\nv_pipeflush"},
        {"gfx1100", "s_delay_alu instid0(VALU_DEP_1)\ns_wait_idle\n"
                    "s_set_inst_prefetch_distance 1\ns_wait_event 1"},
        {"gfx1201", "s_wait_loadcnt 0\ns_wait_storecnt 0\ns_wait_dscnt 0\n"
                    "s_wait_kmcnt 0\ns_wait_loadcnt_dscnt 0\n"
                    "s_wait_storecnt_dscnt 0\ns_wait_alu 0xfffd\n"
                    "s_sleep_var 1\ns_wait_samplecnt 0\ns_wait_bvhcnt 0\n"
                    "s_wait_expcnt 0"},
    };

    (void)state;
    for (size_t n = 0; n < sizeof(lines) / sizeof(lines[0]); n++) {
        bool wide = strncmp(lines[n].target, "gfx9", 4) == 0;
        struct asm_state *st = asm_new(lines[n].target, wide ? 64 : 32);
        uint32_t before[SREG_FLAT_SCRATCH];
        uint32_t v0 = st->v[0][0];

        memcpy(before, st->s, sizeof(before));
        asm_run(st, lines[n].text);
        assert_memory_equal(before, st->s, sizeof(before));
        assert_int_equal(st->v[0][0], v0);
        asm_free(st);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap_takes_off_or_puts_on),
        cmocka_unit_test(test_conditional_exchange_looks_at_the_top_bits),
        cmocka_unit_test(test_src2_takes_its_operand_from_lds),
        cmocka_unit_test(test_two_addresses_of_lds),
        cmocka_unit_test(test_a_counter_of_the_wave_moves_by_its_lanes),
        cmocka_unit_test(test_addresses_by_thread),
        cmocka_unit_test(test_blocks_move_the_registers_that_m0_names),
        cmocka_unit_test(test_named_barriers_hold_their_members_alone),
        cmocka_unit_test(test_a_named_barrier_nobody_completes_is_a_fault),
        cmocka_unit_test(test_groups_that_spin_let_others_come),
        cmocka_unit_test(test_registers_do_not_become_more),
        cmocka_unit_test(test_hints_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
